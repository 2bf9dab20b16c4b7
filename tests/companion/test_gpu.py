"""GPUs of a host and memory of messages: doctor, launches, conditions, diagnosis. Without a GPU: a tree of sysfs, and NVML in Python."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from companion import fake_mpi, machines
from companion.door import Imb
from imb.archive.store import Archive
from imb.diagnose import Diagnosis, Limits, Thresholds, diagnose
from imb.judge.condition_diff import differences
from imb.measure import campaign
from imb.model.gpus import Gpu, Link, arguments, memory_of, same_address, uses_gpu
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import (
    GpuSupport,
    Memory,
    Options,
    Record,
    Records,
    Run,
    Settings,
    UsedGpu,
    decode,
    encode,
)
from imb.mpi import gpu_checks, gpu_support, gpus, installations
from imb.mpi.doctor import Check
from imb.mpi.installations import Installation

NVIDIA = "0000:17:00.0"


def device(tree: Path, address: str = NVIDIA, *, slot: str = "32.0 GT/s PCIe", **files: str) -> Path:
    """A device of PCI below a port, and its link in the folder of devices."""
    told = {
        "vendor": "0x10de",
        "device": "0x2335",
        "class": "0x030200",
        "numa_node": "0",
        "current_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_speed": "32.0 GT/s PCIe",
        "max_link_width": "16",
    } | files
    port = tree / "devices" / f"port-{address}"
    folder = port / address
    folder.mkdir(parents=True)
    (port / "max_link_speed").write_text(slot + "\n")
    for name, text in told.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape") + b"\n")
    (tree / "modules" / "nvidia").mkdir(parents=True, exist_ok=True)
    (tree / "modules" / "nvidia" / "version").write_text("570.86.10\n")
    (folder / "driver").symlink_to(tree / "modules" / "nvidia")
    (tree / "pci").mkdir(exist_ok=True)
    (tree / "pci" / address).symlink_to(folder)
    return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without GPUs and without NVML."""
    monkeypatch.setattr(gpus, "DEVICES", tmp_path / "pci")
    monkeypatch.setattr(gpus, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(gpu_checks, "NODES", tmp_path / "nodes")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return tmp_path


class NVMLError(Exception):
    """As the package has it."""


def nvml(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> list[str]:
    """NVML of one GPU; an answer that is an exception is raised. Returns the calls of its start and end."""
    calls: list[str] = []
    module = ModuleType("pynvml")
    speed = SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=26562))
    said: dict[str, Any] = {
        "nvmlDeviceGetHandleByPciBusId": "handle",
        "nvmlSystemGetDriverVersion": b"570.86.10",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetNvLinkState": NVMLError(),
        "nvmlDeviceGetFieldValues": [speed],
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=141 * 2**30),
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetTotalEccErrors": 0,
    } | answers

    def answering(answer: Any) -> Callable[..., Any]:
        def call(*words: Any) -> Any:
            value = answer(*words) if callable(answer) else answer
            if isinstance(value, Exception):
                raise value
            return value

        return call

    for name, answer in said.items():
        setattr(module, name, answering(answer))
    constants = {
        "NVMLError": NVMLError,
        "nvmlInit": lambda: calls.append("init"),
        "nvmlShutdown": lambda: calls.append("shutdown"),
        "NVML_SUCCESS": 0,
        "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON": 90,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1,
        "NVML_VOLATILE_ECC": 0,
    }
    for name, value in constants.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return calls


def findings() -> dict[str, Check]:
    return {one.what: one for one in gpu_checks.checks(gpus.of_host(nvml=True))}


def test_a_host_without_gpus_has_none(tree: Path) -> None:
    assert gpus.of_host() == []
    assert findings()["GPUs"].found == "none"


def test_gpus_are_found_without_any_library(tree: Path) -> None:
    device(tree)
    device(tree, "0000:63:00.0", vendor="0x1002", **{"class": "0x120000"}, product_name="Instinct")
    device(tree, "0000:00:02.0", vendor="0x8086", **{"class": "0x030000"})
    device(tree, "0000:01:00.0", **{"class": "0x020000"})  # a network adapter
    device(tree, "0000:02:00.0", vendor="0x1a03", **{"class": "0x030000"})  # a console
    device(tree, "0000:03:00.0", vendor="0x8086", **{"class": "0x120000"})  # no GPU of Intel has this class
    found = {gpu.address: gpu for gpu in gpus.of_host()}
    assert list(found) == ["0000:00:02.0", NVIDIA, "0000:63:00.0"]
    assert [gpu.vendor for gpu in found.values()] == ["Intel", "NVIDIA", "AMD"]
    assert found[NVIDIA].name == "NVIDIA 0x2335" and found["0000:63:00.0"].name == "Instinct"
    assert found[NVIDIA].driver == "nvidia 570.86.10"
    assert found[NVIDIA].link.rate == pytest.approx(63.0e9, rel=1e-3)


@pytest.mark.parametrize(
    ("speed", "width", "rate"),
    [(2.5, 16, 4e9), (5.0, 8, 4e9), (8.0, 16, 15.754e9), (16.0, 16, 31.508e9), (64.0, 16, 121e9)],
)
def test_rates_of_pcie_links(speed: float, width: int, rate: float) -> None:
    assert Link(speed=speed, width=width).rate == pytest.approx(rate, rel=1e-3)


def test_an_idle_link_is_limited_by_what_it_can_and_by_its_port() -> None:
    idle = Link(speed=2.5, width=8, max_speed=32.0, max_width=16, slot_speed=16.0)
    assert str(idle) == "PCIe 16 GT/s x8"
    assert Link().rate is None and Link(speed=2.5).rate is None


@pytest.mark.parametrize(
    ("files", "what", "advice"),
    [
        ({"current_link_width": "8"}, "PCIe", "8 of 16 lanes"),
        ({"slot": "16.0 GT/s PCIe", "current_link_speed": "16.0 GT/s PCIe"}, "PCIe", "the port above it"),
        ({"current_link_speed": "2.5 GT/s PCIe"}, "PCIe", "an idle GPU lowers"),
    ],
)
def test_a_link_below_its_maximum_is_a_warning(
    tree: Path, files: dict[str, str], what: str, advice: str
) -> None:
    device(tree, **files)
    found = findings()[f"GPU {NVIDIA}: {what}"]
    assert found.level == "warning" and advice in found.advice


def test_a_healthy_gpu_gives_no_warning(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    calls = nvml(monkeypatch, nvmlDeviceGetNvLinkState=lambda _, link: 1 if link < 12 else NVMLError())
    found = findings()
    assert {one.level for one in found.values()} == {"ok"}
    assert found[f"GPU {NVIDIA}"].found == "NVIDIA H200, 141 GiB, driver nvidia 570.86.10"
    assert found[f"GPU {NVIDIA}: NVLink"].found == "12 links up, 319 GB/s in one direction"
    assert calls == ["init", "shutdown"]


def test_nvml_findings(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    nvml(
        monkeypatch,
        nvmlDeviceGetNvLinkState=lambda _, link: [1, 0][link] if link < 2 else NVMLError(),
        nvmlDeviceGetPcieReplayCounter=7,
        nvmlDeviceGetTotalEccErrors=2,
    )
    found = findings()
    assert found[f"GPU {NVIDIA}: NVLink"].level == "warning"
    assert found[f"GPU {NVIDIA}: PCIe replays"].found == "7"
    assert found[f"GPU {NVIDIA}: ECC"].level == "problem"
    nvml(monkeypatch, nvmlDeviceGetEccMode=[0, 0])
    assert findings()[f"GPU {NVIDIA}: ECC"].level == "warning"


def test_nvml_that_knows_nothing_leaves_what_sysfs_says(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    plain = gpus.of_host()
    nvml(monkeypatch, nvmlDeviceGetHandleByPciBusId=NVMLError())
    assert gpus.of_host(nvml=True) == plain
    calls = nvml(monkeypatch)

    def fails() -> None:
        raise NVMLError

    monkeypatch.setattr(sys.modules["pynvml"], "nvmlInit", fails)
    assert gpus.of_host(nvml=True) == plain and calls == []


def test_a_gpu_of_another_numa_node(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    for node, cpus, distance in ((0, "0-1", "10 21"), (1, "2-3", "21 10")):
        (tree / "nodes" / f"node{node}").mkdir(parents=True)
        (tree / "nodes" / f"node{node}" / "cpulist").write_text(cpus + "\n")
        (tree / "nodes" / f"node{node}" / "distance").write_text(distance + "\n")
    device(tree, numa_node="1")
    device(tree, "0000:18:00.0", numa_node="0")
    device(tree, "0000:19:00.0", numa_node="-1")
    found = findings()
    far = found[f"GPU {NVIDIA}: NUMA"]
    assert (far.level, far.found) == ("warning", "node 1, no allowed CPU on it, distance 21")
    assert found["GPU 0000:18:00.0: NUMA"].level == "ok"
    assert found["GPU 0000:19:00.0: NUMA"].level == "ok"


def test_a_gpu_without_a_driver(tree: Path) -> None:
    (device(tree) / "driver").unlink()
    found = findings()[f"GPU {NVIDIA}"]
    assert (found.level, found.found) == ("warning", "NVIDIA 0x2335, no driver")


def test_names_of_devices_are_data(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree, vendor="0x1002", product_name="\x1b[31mevil\u202e\nname\udcff")
    (gpu,) = gpus.of_host()
    assert gpu.name == "?[31mevil? name\\xff"
    device(tree, "0000:18:00.0", current_link_width="²", numa_node="x", max_link_speed="Unknown")
    nvml(monkeypatch, nvmlDeviceGetName=b"\x1b]0;title\x07")
    assert gpus.of_host(nvml=True)[1].name == "?]0;title?"


# What MPIs say


def mpi_of(folder: Path, flavour: Any, **tools: str) -> Installation:
    (folder / "bin").mkdir(parents=True)
    for name, text in {"mpicxx": "", "mpiexec": "", **tools}.items():
        (folder / "bin" / name).write_text(
            f"#!/bin/sh\ncat <<'EOF_'\n{text}\nEOF_\nexit {int(name == 'mpicxx')}\n"
        )  # compiles nothing
        (folder / "bin" / name).chmod(0o755)
    wrapper, launcher = (str(folder / "bin" / name) for name in ("mpicxx", "mpiexec"))
    return Installation(flavour=flavour, version="MPI 1.0", major=1, wrapper=wrapper, launcher=launcher)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("mca:mpi:base:param:mpi_built_with_cuda_support:value:true", "yes"),
        (
            "mca:mpi:base:param:mpi_built_with_cuda_support:value:false\n"
            "mca:accelerator:null:version:mca:2.1.0\nmca:accelerator:rocm:version:component:5.0.7",
            "yes",
        ),
        (
            "mca:mpi:base:param:mpi_built_with_cuda_support:value:false\nmca:accelerator:null:version:mca:2.1",
            "no",
        ),
        ("mca:btl:self:version:mca:2.1.0", "unknown"),
    ],
)
def test_open_mpi_by_ompi_info(tmp_path: Path, text: str, answer: str) -> None:
    found = gpu_support.support(mpi_of(tmp_path / "mpi", "openmpi", ompi_info=text))
    assert found.answer == answer and "ompi_info" in found.source


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ("'--prefix=/opt' '--with-cuda=/usr/local/cuda' '--with-device=ch4:ucx'", "yes"),
        ("--without-cuda --with-device=ch4:ofi", "no"),
        ("--with-cuda=no", "no"),
        ("--with-device=ch4:ofi", "unknown"),
    ],
)
def test_mpich_by_its_configure_line(tmp_path: Path, options: str, answer: str) -> None:
    said = gpu_support.support(
        mpi_of(tmp_path / "mpi", "mpich", mpichversion=f"MPICH Version: 4.3\nMPICH configure: {options}")
    )
    assert said.answer == answer and said.source.startswith("mpichversion")


def test_mpich_that_is_told_not_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = mpi_of(tmp_path / "mpi", "mpich", mpichversion="MPICH configure: --with-cuda=/usr")
    monkeypatch.setenv("MPIR_CVAR_ENABLE_GPU", "0")
    assert gpu_support.support(mpi).answer == "no"


def test_intel_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = mpi_of(tmp_path / "mpi", "intel")
    monkeypatch.delenv("I_MPI_OFFLOAD", raising=False)
    assert gpu_support.support(mpi)[:2] == ("no", "I_MPI_OFFLOAD is unset")
    monkeypatch.setenv("I_MPI_OFFLOAD", "1")
    assert gpu_support.support(mpi).answer == "yes"


def test_no_support_is_a_warning_only_where_there_is_a_gpu(tree: Path) -> None:
    mpi = mpi_of(tree / "mpi", "mpich", mpichversion="MPICH configure: --without-cuda")
    (without,) = gpu_support.checks(mpi, [])
    assert (without.level, without.advice) == ("ok", "")
    device(tree)
    (with_one,) = gpu_support.checks(mpi, gpus.of_host())
    assert with_one.level == "warning" and "--with-cuda" in with_one.advice


def test_doctor_lists_gpus_and_what_the_mpi_says(
    tree: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tree, current_link_width="8")
    mpi = mpi_of(
        tree / "mpi", "openmpi", ompi_info="mca:mpi:base:param:mpi_built_with_cuda_support:value:true"
    )
    monkeypatch.setattr(installations, "find", lambda _: mpi)
    said = imb("doctor", "--mpi", "openmpi", "--json")
    found = {one["what"]: one for one in map(json.loads, said.out.splitlines())}
    assert found[f"GPU {NVIDIA}: PCIe"]["level"] == "warning"
    assert found["MPI 1.0: GPU memory"]["found"] == "yes (ompi_info: mpi_built_with_cuda_support true)"


# Launches


@pytest.mark.parametrize(
    ("memory", "gpu", "words"),
    [
        (None, None, []),
        ("cuda", None, ["-memory", "cuda"]),
        ("CUDA, host", "1", ["-memory", "cuda,host", "-gpu", "1"]),
        ("d,H", "round_robin", ["-memory", "D,H", "-gpu", "round_robin"]),
        (None, 0, ["-gpu", "0"]),
    ],
)
def test_options_of_the_suite(memory: str | None, gpu: Any, words: list[str]) -> None:
    assert arguments(memory, gpu) == words


@pytest.mark.parametrize(
    ("memory", "gpu", "message"),
    [
        ("cude", None, "--memory: no such kind: cude; did you mean cuda?"),
        ("", None, "--memory: no such kind: an empty word; choose from host"),
        ("cuda,host,host", None, "--memory: too many kinds"),
        ("\x1b[31m", None, r"--memory: no such kind: ?[31m"),
        ("cuda", "first", "--gpu: no GPU: first; give a number, local_rank or round_robin"),
        ("cuda", "-1", "--gpu: no GPU: -1"),
    ],
)
def test_wrong_kinds_are_usage_errors(imb: Imb, tmp_path: Path, memory: str, gpu: Any, message: str) -> None:
    words = ["run", *fake_mpi.make(tmp_path / "mpi"), f"--memory={memory}", "PingPong", "--dry-run"]
    said = imb(*words, *([f"--gpu={gpu}"] if gpu else []))
    assert (said.code, said.out) == (2, "") and message in said.err


def test_run_passes_memory_and_gpu_on(imb: Imb, tmp_path: Path) -> None:
    fake = fake_mpi.make(tmp_path / "mpi")
    said = imb(
        "run", *fake, "--memory", "cuda,host", "--gpu", "1", "PingPong", "--dry-run", "--", "-msglog", "4"
    )
    assert said.code == 0, said.err
    assert "PingPong -memory cuda,host -gpu 1 -msglog 4" in said.out
    assert "-memory" not in imb("run", *fake, "PingPong", "--dry-run").out


def test_launches_with_gpu_memory_record_the_gpus_of_the_host(
    tree: Path, imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tree)
    nvml(monkeypatch)
    fake = fake_mpi.make(tree / "mpi")
    for label, words in (("device", ["--memory", "cuda"]), ("host", [])):
        said = imb("run", *fake, *words, "PingPong", "--label", label, "--classic")
        assert said.code == 0, said.err
    labels = {run: tags.labels[0] for run, tags in archive.tags().items()}
    found = {labels[name]: archive.run(name).facts()["conditions"]["gpus"] for name in archive.ids()}
    assert found["host"] == []
    (one,) = found["device"]
    assert (one["name"], one["address"], one["link"]["width"]) == ("NVIDIA H200", NVIDIA, 16)


def test_ab_passes_memory_to_variants_that_have_none(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    fake = fake_mpi.make(tmp_path / "mpi")
    words = ["--a", "", "--b", "memory=host", "--memory", "cuda", "--gpu", "1", "--launches", "1"]
    said = imb("ab", *words, *fake, "--name", "x", "--classic", "PingPong")
    assert said.code in (0, 10, 11, 12), said.err
    commands = {
        tuple(tags.labels): archive.run(run).facts()["command"] for run, tags in archive.tags().items()
    }
    texts = {labels[0]: " ".join(command) for labels, command in commands.items()}
    assert "-memory cuda -gpu 1" in texts["x/a"] and "-memory host -gpu 1" in texts["x/b"]


def test_files_have_no_gpu_memory(imb: Imb, tmp_path: Path) -> None:
    said = imb("run", *fake_mpi.make(tmp_path / "mpi"), "--memory", "cuda", "io", "--dry-run")
    assert said.code == 2 and "IMB-IO" in said.err


def test_a_campaign_over_kinds_of_memory(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    text = f"""benchmarks = ["PingPong"]
[common]
mpi = "{options[1]}"
programs = "{options[3]}"
[variants.host]
[variants.device]
memory = "cuda"
gpu = 0
"""
    (tmp_path / "c.toml").write_text(text)
    said = imb("campaign", tmp_path / "c.toml", "--launches", "1", "--dry-run")
    assert said.code == 0, said.err
    assert sum("-memory cuda -gpu 0" in line for line in said.out.splitlines()) == 1
    assert sum("-memory" not in line for line in said.out.splitlines()) == 1
    (tmp_path / "c.toml").write_text(text.replace('"cuda"', '"cude"'))
    said = imb("campaign", tmp_path / "c.toml", "--dry-run")
    assert said.code == 2 and "variant device: memory: no such kind: cude; did you mean cuda?" in said.err


def test_the_ready_campaign() -> None:
    made, _ = campaign.read_campaign(Path(__file__).parents[2] / "examples" / "gpu-memory.toml")
    found = {name: campaign.gpu_arguments(one) for name, one in campaign.variants(made).items()}
    assert found["host"] == ["-memory", "host"]
    assert found["device"] == ["-memory", "D"] and found["managed"] == ["-memory", "M"]


def test_variants_of_ab_say_their_memory() -> None:
    assert campaign.spoken("memory=cuda,host gpu=1").memory == "cuda,host"
    both = campaign.merged(
        campaign.VariantSettings(memory="cuda"), campaign.spoken("UCX_TLS=tcp memory=host")
    )
    assert campaign.gpu_arguments(both) == ["-memory", "host"]


@pytest.mark.parametrize(
    ("words", "uses"),
    [
        (["-memory", "host"], False),
        (["-memory", "H,H"], False),
        (["-memory", "H", "D"], True),
        (["-memory", "host,cuda"], True),
        (["-memory", "pinned"], True),
        (["-mem_alloc_type", "cpu"], False),
        (["-mem_alloc_type", "device"], True),
        (["-gpu", "0"], True),
        (["-load", "device"], True),
        (["-load", "cpu"], False),
        (["PingPong"], False),
        (["-memory"], False),
    ],
)
def test_which_launches_use_gpus(words: list[str], uses: bool) -> None:
    assert uses_gpu(words) is uses


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
    """PingPong of messages in this kind of memory; None: records from before -memory."""
    more: dict[str, Any] = {"options": Options(settings=Settings())}
    if kind:
        more = {
            "options": Options(settings=Settings(), memory=Memory(send=kind, receive=receive or kind)),
            "gpus": list(cards),
            "gpu_support": GpuSupport(answer="yes", source="MPIX_Query_cuda_support"),
        }
    rows = machines.curve(lambda n: 2e-6 + n / rate)
    return machines.launch(rows, hosts=("n0", "n0"), **more)


def launch(*args: Any, name: str = "x", links: Iterable[Gpu] = (), host: str = "n0", **kwargs: Any) -> Launch:
    import msgspec

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
    assert said["options"]["memory"] == {"send": "cuda", "receive": "host", "load": "cpu"}
    assert said["gpus"][0]["bus_address"] == NVIDIA
    again = decode(line)
    assert isinstance(again, Run) and again == run and memory_of(again) == "cuda to host"
    (before, *_) = records(None)
    assert isinstance(before, Run) and memory_of(before) == "host" and memory_of(Run()) is None
    assert {"gpus", "gpu_support"}.isdisjoint(json.loads(encode(before)))
    assert "memory" not in json.loads(encode(before))["options"]


def test_other_memory_is_a_condition_that_differs() -> None:
    host, cuda = launch(None), launch("cuda", cards=[used(0), used(1)])
    found = {one.name: (one.a, one.b) for one in differences(side(host), side(cuda))}
    assert found["memory of messages"] == (["host"], ["cuda"])
    assert found["GPUs of ranks"][0] == ["none"]
    assert found["GPU memory, by the MPI"] == (["not asked"], ["yes by MPIX_Query_cuda_support"])
    assert not [one for one in differences(side(host), side(launch(None))) if "emory" in one.name]


def test_a_load_on_the_gpu_is_a_condition_and_no_memory() -> None:
    def loaded(where: str | None) -> Launch:
        found = launch(None)
        assert found.run.options
        found.run.component = "NBC"
        if where:
            found.run.options.memory = Memory(load=where)
        return found

    (one,) = differences(side(loaded(None)), side(loaded("device")))
    assert (one.name, one.a, one.b) == ("overlap load on", ["cpu"], ["device"])
    assert not [note for note in judged(loaded("device")).notes if "host memory" in note]


def test_gpu_driver_and_link_are_conditions() -> None:
    x16 = Gpu(address=NVIDIA, vendor="NVIDIA", name="H", link=Link(speed=16.0, width=16))
    x8 = Gpu(address=NVIDIA, vendor="NVIDIA", name="H", link=Link(speed=16.0, width=8))
    newer = used(0)
    newer.driver = "13.0"
    a = side(launch("cuda", cards=[used(0)], links=[x16]))
    for other, word in (
        (launch("cuda", cards=[used(0)], links=[x8]), "x8"),
        (launch("cuda", cards=[newer], links=[x16]), "13.0"),
    ):
        (found,) = [one for one in differences(a, side(other)) if one.name == "GPUs of ranks"]
        assert word in found.b[0] and word not in found.a[0]


def test_addresses_of_pci_are_compared_by_value() -> None:
    assert same_address("00000000:17:00.0", "0000:17:00.0") and same_address("0000:C1:00.0", "0:c1:00.0")
    assert not same_address("0001:17:00.0", "0000:17:00.0")


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
    found = {one["memory"] for one in map(json.loads, imb("ls", "--json").out.splitlines())}
    assert found == {"host", "cuda"}
    shown = imb("show", "c").out
    assert "memory       cuda" in shown and f"NVIDIA H200 0 on n0 at {NVIDIA}, ranks 0" in shown
    assert "GPU support  yes by MPIX_Query_cuda_support" in shown
    assert "\nGPU" not in imb("show", "h").out
    exported = csv.DictReader(imb("export", "c", "--format", "csv").out.splitlines())
    assert {one["memory"] for one in exported} == {"cuda"}


# Diagnosis


def card(address: str, *, lanes: int = 16, nvlink: float | None = None) -> Gpu:
    link = Link(speed=2.5, width=lanes, max_speed=16.0, max_width=16)
    return Gpu(address=address, vendor="NVIDIA", name="H", link=link, nvlinks=4, nvlink_rate=nvlink)


def judged(found: Launch, **limits: float) -> Diagnosis:
    return diagnose(side(found), Thresholds(), Limits(**limits))


TWO = (used(0), used(1, "0000:18:00.0", index=1))
LINKS = (card(NVIDIA), card("0000:18:00.0"))


def of_rule(found: Diagnosis) -> list[tuple[str, str]]:
    return [(one.level, one.found) for one in found.findings if one.rule == "gpu-link"]


def test_bandwidth_of_device_memory_against_its_pcie_link() -> None:
    ((level, text),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=12.5e9)))
    assert level == "warning" and text.startswith("12.3 of 31.5 GB/s of this PCIe link (16 GT/s x16) (39%)")
    ((level, _),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=26e9)))
    assert level == "information"
    ((level, text),) = of_rule(judged(launch("cuda", cards=TWO, links=LINKS, rate=26e9), gpu_link=20e9))
    assert level == "warning" and "of 20 GB/s of --gpu-link" in text


def test_the_slower_link_and_nvlink_are_the_limit() -> None:
    slower = (card(NVIDIA), card("0000:18:00.0", lanes=8))
    assert "16 GT/s x8" in of_rule(judged(launch("cuda", cards=TWO, links=slower)))[0][1]
    nvlinked = [card(one.address, nvlink=100e9) for one in LINKS]
    assert "of 100 GB/s of the NVLinks" in of_rule(judged(launch("cuda", cards=TWO, links=nvlinked)))[0][1]
    to_host = launch("cuda", receive="host", cards=TWO, links=nvlinked)
    assert "PCIe link" in of_rule(judged(to_host))[0][1]


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (launch("cuda", cards=[used(0), used(1)], links=LINKS), "ranks 0 and 1 use one GPU"),
        (launch("cuda", cards=TWO, links=LINKS, host="n7"), "of the host that launches only"),
        (launch("cuda", cards=()), "do not have the GPUs of ranks 0 and 1"),
        (launch("cuda", cards=TWO, links=[Gpu(address=g.address, vendor="NVIDIA", name="H") for g in LINKS]), "does not show"),
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
    assert any("--memory" in one for one in said.notes)


def test_diagnose_takes_the_rate_of_the_link(imb: Imb, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    machines.save(folder / "1.jsonl", records("cuda", cards=TWO, rate=12e9))
    said = imb("diagnose", folder, "--gpu-link", "25GB/s")
    assert said.code == 1 and "of 25 GB/s of --gpu-link" in said.out
