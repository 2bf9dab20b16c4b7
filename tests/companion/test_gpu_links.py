"""GPUs in records, conditions and diagnosis: what differs between launches, and the limit of messages between GPUs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from companion import machines
from companion.door import Imb
from imb.compare.condition_diff import differences, unknown_conditions, values_of
from imb.diagnose import Diagnosis, Limits, Thresholds, diagnose
from imb.model.conditions import conditions_of
from imb.model.gpus import Gpu, Link, are_same_address, memory_of
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import (
    GpuSupport,
    Record,
    Records,
    Run,
    UsedGpu,
    decode,
    encode,
)
from imb.store.store import Archive

NVIDIA = "0000:17:00.0"
OTHER = "0000:18:00.0"

# Records and conditions


def used(rank: int, address: str = NVIDIA, host: str = "n0", index: int = 0) -> UsedGpu:
    return UsedGpu(
        host=host,
        index=index,
        name="NVIDIA H200",
        api="cuda",
        driver="12.8",
        bus_address=address,
        ranks=[rank],
    )


def records(
    kind: str | None, *, receive: str | None = None, rate: float = 10e9, cards: Iterable[UsedGpu] = ()
) -> list[Record]:
    """PingPong of messages in this kind of memory; None: in that of the host."""
    more: dict[str, Any] = {"options": {"memory": "host"}}
    if kind:
        more = {
            "options": {"memory": f"{kind},{receive}" if receive else kind},
            "gpus": list(cards),
            "gpu_support": GpuSupport(answer="yes", source="MPIX_Query_cuda_support"),
        }
    rows = machines.curve(lambda n: 2e-6 + n / rate)
    return machines.launch(rows, hosts=("n0", "n0"), **more)


def launch(*args: Any, name: str = "x", links: Iterable[Gpu] = (), host: str = "n0", **kwargs: Any) -> Launch:
    machine = {"host": host, "system": "Linux", "kernel": "Linux 6"}
    facts = {"conditions": {"time": "t", "machine": machine, "gpus": msgspec.to_builtins(list(links))}}
    (found,) = launches_of(Records(records(*args, **kwargs), []), name, facts)
    return found


def side(*launches: Launch, name: str = "side") -> Side:
    return Side(name=name, launches=list(launches))


def test_fields_of_records() -> None:
    (run, *_) = records("cuda", receive="host", cards=[used(0)])
    line = encode(run)
    said = json.loads(line)
    assert said["options"]["memory"] == "cuda,host"
    assert said["gpus"][0]["bus_address"] == NVIDIA
    again = decode(line)
    assert isinstance(again, Run) and again == run and memory_of(again) == "cuda to host"
    (before, *_) = records(None)
    assert isinstance(before, Run) and memory_of(before) == "host" and memory_of(Run()) is None
    assert {"gpus", "gpu_support"}.isdisjoint(json.loads(encode(before)))


def test_other_memory_is_a_condition_that_differs() -> None:
    host, cuda = launch(None), launch("cuda", cards=[used(0), used(1)])
    found = {one.name: (one.a, one.b) for one in differences(side(host), side(cuda))}
    assert found["memory of messages"] == (["host"], ["cuda"])
    assert found["GPUs of ranks"][0] == ["none"]
    assert found["GPU memory, by the MPI"] == (["not asked"], ["yes by MPIX_Query_cuda_support"])
    assert not [one for one in differences(side(host), side(launch(None))) if "emory" in one.name]


def test_a_load_on_the_gpu_is_a_condition_and_no_memory() -> None:
    def loaded(where: str) -> Launch:
        found = launch(None)
        found.run.component = "NBC"
        found.run.set_option("load", where)
        return found

    (one,) = differences(side(loaded("cpu")), side(loaded("device")))
    assert (one.name, one.a, one.b) == ("overlap load on", ["cpu"], ["device"])
    assert not [note for note in judged(loaded("device")).notes if "host memory" in note]


def changed(a: Launch | Side, b: Launch | Side) -> dict[str, tuple[list[str], list[str]]]:
    sides = (one if isinstance(one, Side) else side(one) for one in (a, b))
    return {one.name: (one.a, one.b) for one in differences(*sides)}


FULL = Gpu(
    address=NVIDIA,
    vendor="NVIDIA",
    name="H",
    driver="nvidia 570.86.10",
    link=Link(speed=16.0, width=16),
    nvlinks=12,
    ecc=True,
)


@pytest.mark.parametrize(
    ("change", "name", "values"),
    [
        ({"driver": "nvidia 570.124.06"}, "GPU driver", ("nvidia 570.86.10", "nvidia 570.124.06")),
        ({"link": Link(speed=16.0, width=8)}, "GPU link", ("PCIe 4.0 x16", "PCIe 4.0 x8")),
        ({"nvlinks": 6}, "NVLinks of a GPU", ("12", "6")),
        ({"ecc": False}, "ECC of GPU memory", ("on", "off")),
    ],
)
def test_what_differs_in_a_gpu_is_one_condition(
    change: dict[str, Any], name: str, values: tuple[str, str]
) -> None:
    def of(gpu: Gpu) -> Launch:
        return launch("cuda", cards=[used(0)], links=[gpu])

    (found,) = changed(of(FULL), of(msgspec.structs.replace(FULL, **change))).items()
    assert found == (name, ([values[0]], [values[1]]))


def test_versions_of_the_interface_and_names_are_conditions() -> None:
    newer, other = used(0), used(0)
    newer.driver, other.name = "13.0", "NVIDIA B200"
    found = launch("cuda", cards=[used(0)], links=[FULL])
    assert changed(found, launch("cuda", cards=[newer], links=[FULL])) == {
        "GPU interface": (["cuda 12.8"], ["cuda 13.0"])
    }
    assert changed(found, launch("cuda", cards=[other], links=[FULL])) == {
        "GPU": (["NVIDIA H200"], ["NVIDIA B200"])
    }


def test_unknown_conditions_of_gpus_do_not_differ() -> None:
    known, bare = launch("cuda", cards=[used(0)], links=[FULL]), launch("cuda", cards=[used(0)])
    assert changed(known, bare) == {}
    assert unknown_conditions(*values_of(side(known), side(launch(None)))) == ([], [])


def test_gpus_of_another_host_at_the_same_address_have_no_known_link() -> None:
    """Conditions are those of the host that launched."""
    found = launch("cuda", cards=[used(0, host="n1")], links=[FULL])
    assert "gpu.link" not in conditions_of(found)


def test_gpus_that_vary_alike_on_both_sides_do_not_differ() -> None:
    def varied() -> Side:
        return side(*(launch("cuda", cards=[used(0, host=host)], name=host) for host in ("n0", "n1")))

    assert changed(varied(), varied()) == {}
    assert list(changed(varied(), launch("cuda", cards=[used(0, host="n2")]))) == ["GPUs of ranks"]


def test_gpus_of_many_ranks_are_not_listed() -> None:
    found = conditions_of(launch("cuda", cards=[used(rank, index=rank % 4) for rank in range(17)]))
    assert "gpus" not in found and found["gpu.name"] == "NVIDIA H200"


def test_addresses_of_pci_are_compared_by_value() -> None:
    assert are_same_address("00000000:17:00.0", "0000:17:00.0") and are_same_address(
        "0000:C1:00.0", "0:c1:00.0"
    )
    assert not are_same_address("0001:17:00.0", "0000:17:00.0")


def saved(tmp_path: Path, name: str, *kinds: str | None) -> Path:
    folder = tmp_path / name
    folder.mkdir()
    for number, kind in enumerate(kinds):
        dated = records(kind, rate=10e9 + number, cards=[used(0), used(1)])
        machines.save(folder / f"{number}.jsonl", dated)
    return folder


def test_compare_names_the_memory_and_refuses_a_mixed_side(imb: Imb, tmp_path: Path) -> None:
    host, cuda = saved(tmp_path, "host", None, None), saved(tmp_path, "cuda", "cuda", "cuda")
    said = imb("compare", host, cuda)
    assert "memory of messages" in said.out and said.code in (0, 10, 11, 12)
    mixed = saved(tmp_path, "mixed", None, "cuda")
    said = imb("compare", host, mixed)
    assert said.code == 2 and "several kinds of memory" in said.err
    said = imb("diagnose", mixed)
    assert said.code == 2 and "cuda memory" in said.err


def test_lists_show_the_memory(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    for name, kind in (("h", None), ("c", "cuda")):
        assert imb("import", saved(tmp_path, name, kind), "--label", name).code == 0
    lines = imb("ls").out.splitlines()
    assert sum("(cuda)" in line for line in lines) == 1
    found = {one["memory"] for one in map(json.loads, imb("ls", "--format", "json").out.splitlines())}
    assert found == {"host", "cuda"}
    shown = imb("show", "c").out
    assert "memory       cuda" in shown and f"NVIDIA H200 0 on n0 at {NVIDIA}, ranks 0" in shown
    assert "GPU support  yes by MPIX_Query_cuda_support" in shown
    assert "\nGPU" not in imb("show", "h").out
    exported = csv.DictReader(imb("export", "c", "--format", "csv").out.splitlines())
    assert {one["memory"] for one in exported} == {"cuda"}


# Diagnosis


def card(address: str, *, lanes: int = 16, to: dict[str, int] | None = None) -> Gpu:
    """`to`: NVLinks of 25 GB/s each, by the device at their other end."""
    link = Link(speed=2.5, width=lanes, max_speed=16.0, max_width=16)
    peers = to or {}
    return Gpu(
        address=address,
        vendor="NVIDIA",
        name="H",
        link=link,
        nvlinks=sum(peers.values()),
        nvlink_peers=peers,
        nvlink_rate=25e9 if peers else None,
    )


def judged(found: Launch, **limits: float) -> Diagnosis:
    return diagnose(side(found), Thresholds(), Limits(**limits))


TWO = (used(0), used(1, OTHER, index=1))
APART = (used(0), used(1, host="n1"))
LINKS = (card(NVIDIA), card(OTHER))


def of_rule(found: Diagnosis) -> list[tuple[str, str]]:
    return [(one.level, one.found) for one in found.findings if one.rule == "gpu-link"]


def test_bandwidth_of_device_memory_against_its_pcie_link() -> None:
    ((level, text),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=12.5e9)))
    assert level == "warning" and text.startswith("12.3 of 31.5 GB/s of this PCIe link (4.0 x16) (39 %)")
    ((level, _),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=26e9)))
    assert level == "information"
    ((level, text),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=26e9), gpu_link=20e9))
    assert level == "warning" and "of 20 GB/s of --gpu-link" in text


def limit_of(links: Iterable[Gpu], **more: Any) -> list[tuple[str, str]]:
    """Level, and what the bandwidth is compared with."""
    found = of_rule(judged(launch("cuda", cards=TWO, links=links, **more)))
    return [(level, text.partition(" of ")[2].partition(" at ")[0]) for level, text in found]


def test_the_slower_pcie_link_is_the_limit() -> None:
    ((_, text),) = limit_of((card(NVIDIA), card(OTHER, lanes=8)))
    assert text.startswith("15.8 GB/s of this PCIe link (4.0 x8)")


def test_of_nvlinks_only_those_between_the_pair_are_the_limit() -> None:
    """A board of four GPUs, each with four NVLinks to each of the others."""
    others = {"00000000:19:00.0": 4, "00000000:1A:00.0": 4}
    board = (card(NVIDIA, to={f"0000{OTHER}": 4, **others}), card(OTHER, to={NVIDIA: 4, **others}))
    ((level, text),) = limit_of(board, rate=90e9)
    assert (level, text) == ("information", "100 GB/s of the NVLinks between these GPUs (85 %)")
    ((level, _),) = limit_of(board, rate=45e9)
    assert level == "warning"
    less = (board[0], card(OTHER, to={NVIDIA: 3, **others}))
    assert limit_of(less, rate=60e9)[0][1].startswith("75 GB/s")
    to_host = launch("cuda", receive="host", cards=TWO, links=board)
    assert "PCIe link" in of_rule(judged(to_host))[0][1]


def test_nvlinks_to_a_switch_are_the_limit_together() -> None:
    switched = [card(one.address, to={"switch": 12}) for one in LINKS]
    assert limit_of(switched, rate=250e9)[0][1].startswith("300 GB/s of the NVLinks")


def test_gpus_without_nvlinks_between_them_use_pcie() -> None:
    paired = (card(NVIDIA, to={"0000:19:00.0": 4}), card(OTHER, to={"0000:1a:00.0": 4}))
    ((_, text),) = limit_of(paired)
    assert text.startswith("31.5 GB/s of this PCIe link")


@pytest.mark.parametrize(
    "lacking",
    [
        {"nvlinks": None, "nvlink_peers": None, "nvlink_rate": None},  # without NVML; an AMD GPU
        {"nvlink_rate": None},
        {"nvlink_peers": None},
    ],
)
def test_unknown_links_between_gpus_are_no_absent_ones(lacking: dict[str, Any]) -> None:
    known = [card(one.address, to={"switch": 12}) for one in LINKS]
    links = [msgspec.structs.replace(one, **lacking) for one in known]
    said = judged(launch("cuda", cards=TWO, links=links, rate=200e9))
    assert of_rule(said) == []
    assert any("nvidia-ml-py" in note and "--gpu-link" in note for note in said.notes)
    to_host = launch("cuda", receive="host", cards=TWO, links=links)
    assert len(of_rule(judged(to_host))) == 1


def test_a_gpu_is_the_same_by_its_address_not_by_its_index() -> None:
    """Each rank sees one GPU only: all indices are 0."""
    found = launch("cuda", cards=(used(0), used(1, OTHER, index=0)), links=LINKS)
    assert len(of_rule(judged(found))) == 1
    again = launch("cuda", cards=(used(0), used(1, f"0000{NVIDIA}", index=1)), links=LINKS)
    assert any("use one GPU" in note for note in judged(again).notes)
    nameless = used(1, index=0)
    nameless.bus_address = None
    assert any("use one GPU" in note for note in judged(launch("cuda", cards=(used(0), nameless))).notes)


def test_between_hosts_the_slower_of_both_links_is_the_limit() -> None:
    apart = launch("cuda", cards=APART, links=LINKS, rate=12e9)
    ((level, text),) = of_rule(judged(apart, gpu_link=31.5e9, link=12.5e9))
    assert level == "information" and "of 12.5 GB/s of --link" in text
    ((level, text),) = of_rule(judged(apart, gpu_link=25e9, link=50e9))
    assert level == "warning" and "of 25 GB/s of --gpu-link" in text
    for options in ({"gpu_link": 25e9}, {"link": 50e9}, {}):
        said = judged(apart, **options)
        assert of_rule(said) == [] and any("give --gpu-link and --link" in note for note in said.notes)


@pytest.mark.parametrize("kinds", [("cuda", "cuda_managed"), ("cuda_managed", "cuda")])
def test_managed_memory_of_one_side_is_not_judged(kinds: tuple[str, str]) -> None:
    said = judged(launch(kinds[0], receive=kinds[1], cards=TWO, links=LINKS, rate=80e9))
    assert of_rule(said) == [] and any("managed" in note for note in said.notes)


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (launch("cuda", cards=[used(0), used(1)], links=LINKS), "ranks 0 and 1 use one GPU"),
        (launch("cuda", cards=TWO, links=LINKS, host="n7"), "do not have the links of both GPUs"),
        (launch("cuda", cards=()), "do not have the GPUs of ranks 0 and 1"),
        (launch("cuda", cards=TWO, links=[Gpu(address=g.address, vendor="NVIDIA", name="H", nvlinks=0) for g in LINKS]), "does not show"),
    ],
)  # fmt: skip
def test_without_a_limit_there_is_a_note(found: Launch, note: str) -> None:
    said = judged(found)
    assert of_rule(said) == [] and any(note in one for one in said.notes)


def test_host_memory_has_no_link_of_a_gpu() -> None:
    assert of_rule(judged(launch(None), gpu_link=20e9)) == []
    said = judged(launch("cuda_managed", cards=TWO, links=LINKS), gpu_link=20e9)
    assert of_rule(said) == [] and any("--gpu-link" in one for one in said.notes)


def test_host_yardsticks_do_not_judge_gpu_memory() -> None:
    said = judged(launch("cuda", cards=TWO, links=LINKS), memory=100e9)
    assert not [one for one in said.findings if one.rule in ("memory", "latency")]
    assert any("--memory-bandwidth" in one for one in said.notes)


def test_the_bandwidth_of_host_memory_is_no_kind_of_memory(imb: Imb, tmp_path: Path) -> None:
    machines.save(tmp_path / "1.jsonl", records("cuda", cards=TWO))
    name = "--memory-bandwidth"
    said = imb("diagnose", tmp_path / "1.jsonl", name, "100GB/s")
    assert (
        "--memory-bandwidth is the bandwidth of host memory, and messages are in cuda memory; see --gpu-link"
        in " ".join(said.out.split())
    )
    said = imb("report", tmp_path / "1.jsonl", name, "fast", "-o", tmp_path / "x.html")
    assert said.code == 2 and "not a rate" in said.err


def test_diagnose_takes_the_rate_of_the_link(imb: Imb, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    machines.save(folder / "1.jsonl", records("cuda", cards=TWO, rate=12e9))
    said = imb("diagnose", folder, "--gpu-link", "25GB/s")
    assert said.code == 1 and "of 25 GB/s of --gpu-link" in said.out
