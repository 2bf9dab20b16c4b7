"""imb fabric on records of hosts with several interfaces: which one is quiet, which one is slow, and what is no finding."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from companion import fabrics
from companion.door import Imb
from imb.fabric.host_rails import cpus_near
from imb.fabric.judging.rails import Shares, quiet_rails
from imb.fabric.pair_records import read_pairs
from imb.model.conditions import Interface

Parts = dict[str, float]  # of the bytes, by interface
BYTES, REPETITIONS = 1 << 20, 10


def records(
    count: int,
    parts: Callable[[int, int], Parts],
    seconds: Callable[[int, int], float] = lambda a, b: 1.0,
    listed: Sequence[str] | Callable[[int], Sequence[str]] = ("lo", "ib0", "ib1"),
    passes: int = 4,
    scale: float = 1.0,
    everywhere: bool = False,
    noise: float = 0.01,
) -> bytes:
    """`parts`: of what a host exchanges with another one; `seconds`: times as long. `everywhere`: each pair has the counters of all
    hosts, as in records of earlier versions."""
    names = fabrics.hosts(count)
    random = np.random.default_rng(1)
    run: dict[str, Any] = {
        "record": "run",
        "schema": "openimb-record/2",
        "program": "OpenIMB",
        "component": "FABRIC",
        "options": {"endpoint": "host", "seed": 1, "rounds": None, "halves": False, "serial": False},
        "ranks": [
            {"rank": n, "host": host, "interfaces": list(listed(n) if callable(listed) else listed)}
            for n, host in enumerate(names)
        ],
        "endpoints": [{"rank": n, "host": host, "cpus": [0]} for n, host in enumerate(names)],
    }
    lines = [run]
    for number in range(1, passes + 1):
        for order, pairs in enumerate(fabrics.circle(count)):
            counted = [
                {
                    "host": names[end],
                    "name": name,
                    "sent_bytes": part * BYTES * REPETITIONS * scale,
                    "received_bytes": 1e4 * part,
                }
                for a, b in pairs
                for end, other in ((a, b), (b, a))
                for name, part in (*parts(end, other).items(), ("lo", 0.5))
                if part
            ]
            for a, b in pairs:
                mine = [one for one in counted if everywhere or one["host"] in (names[a], names[b])]
                lines.append(
                    {
                        "record": "pair",
                        "benchmark": "Pair_Bandwidth",
                        "bytes": BYTES,
                        "pass": number,
                        "round": order,
                        "a": a,
                        "b": b,
                        "repetitions": REPETITIONS,
                        "time_seconds": 1e-4 * seconds(a, b) * float(np.exp(random.normal(0, noise))),
                        "evidence": {"interfaces": mine},
                    }
                )
    lines.append({"record": "end", "state": "complete"})
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines).encode()


def both(end: int, other: int) -> Parts:
    return {"ib0": 0.5, "ib1": 0.5}


DRAWN = np.random.default_rng(5).integers(2, size=(64, 64))


def rail_of(one: int, other: int) -> int:
    """Which of two rails a pair goes by."""
    return int(DRAWN[min(one, other), max(one, other)])


def by_one(end: int, other: int) -> Parts:
    return {f"ib{rail_of(end, other)}": 1.0}


def judged(imb: Imb, folder: Path, text: bytes) -> tuple[int, dict[str, Any]]:
    (folder / "r.jsonl").write_bytes(text)
    said = imb("fabric", folder / "r.jsonl", "-f", "json")
    return said.code, json.loads(said.out)


def named(found: dict[str, Any]) -> set[str]:
    return {one["name"] for one in found["suspects"] if one["named"]}


@pytest.mark.parametrize("parts", [both, by_one])
def test_healthy_rails_have_no_name(imb: Imb, tmp_path: Path, parts: Callable[[int, int], Parts]) -> None:
    code, found = judged(imb, tmp_path, records(16, parts))
    assert (code, found["quiet_rails"], named(found)) == (0, [], set()), found["summary"]
    assert not any("no host has bytes" in note for note in found["notes"])


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_quiet_rail_of_one_host(imb: Imb, tmp_path: Path, everywhere: bool) -> None:
    """n004 sends everything by ib0, although each of its pairs is as fast as any other."""
    text = records(16, lambda end, _: {"ib0": 1.0} if end == 3 else both(end, 0), everywhere=everywhere)
    code, found = judged(imb, tmp_path, text)
    [rail] = found["quiet_rails"]
    assert (code, rail["host"], rail["name"], rail["share"]) == (10, "n004", "ib1", 0)
    assert rail["usual"] == pytest.approx(0.5) and rail["p_value"] < 0.001
    assert found["summary"] == "bad: too few bytes: rail ib1 of n004" and not found["drain"]
    said = imb("fabric", tmp_path / "r.jsonl")
    assert "rail: ib1 of n004 carries 0 % of the bytes of its host; median of hosts 50 %" in said.out


def test_a_slow_rail_of_one_host(imb: Imb, tmp_path: Path) -> None:
    """The pairs of n004 that go by its ib1 are slow; the other ones are not."""

    def seconds(a: int, b: int) -> float:
        return 1.5 if 3 in (a, b) and rail_of(a, b) else 1.0

    code, found = judged(imb, tmp_path, records(16, by_one, seconds))
    assert (code, named(found), found["quiet_rails"]) == (10, {"ib1 of n004"}, []), found["suspects"]


def test_a_slow_host_is_no_slow_rail(imb: Imb, tmp_path: Path) -> None:
    code, found = judged(imb, tmp_path, records(16, by_one, lambda a, b: 1.5 if 3 in (a, b) else 1.0))
    assert (code, named(found)) == (10, {"n004"}), found["suspects"]


def test_a_slow_rail_of_all_hosts(imb: Imb, tmp_path: Path) -> None:
    code, found = judged(imb, tmp_path, records(16, by_one, lambda a, b: 1.5 if rail_of(a, b) else 1.0))
    assert (code, named(found)) == (10, {"ib1 of all hosts"}), found["suspects"]


@pytest.mark.parametrize("first", [8, 12])
def test_hosts_below_two_switches(imb: Imb, tmp_path: Path, first: int) -> None:
    """30 % longer between them, and no topology: two groups of hosts, although each pair goes by one rail."""
    text = records(16, by_one, lambda a, b: 1.3 if (a < first) != (b < first) else 1.0)
    code, found = judged(imb, tmp_path, text)
    assert (code, named(found)) == (0, set()), found["summary"]
    words = "2 groups of endpoints by their times" if first == 8 else "4 endpoints stand apart"
    assert any(words in note for note in found["notes"]), found["notes"]


def test_a_slow_rail_that_looks_like_two_groups(imb: Imb, tmp_path: Path) -> None:
    """Between the halves all go by ib1, which is slow; so do some pairs inside."""

    def rail(a: int, b: int) -> int:
        return int((a < 8) != (b < 8)) or rail_of(a, b) * rail_of(b, a + 1)

    text = records(
        16, lambda a, b: {f"ib{rail(min(a, b), max(a, b))}": 1.0}, lambda a, b: 1.5 if rail(a, b) else 1.0
    )
    code, found = judged(imb, tmp_path, text)
    assert (code, named(found)) == (10, {"ib1 of all hosts"}), found["summary"]


def test_a_rail_that_no_host_uses_is_a_note(imb: Imb, tmp_path: Path) -> None:
    code, found = judged(
        imb, tmp_path, records(16, lambda a, b: {"ib0": 1.0}, listed=("lo", "eth0", "ib0", "ib1"))
    )
    assert code == 0 and not found["quiet_rails"]
    [note] = [one for one in found["notes"] if "no host has bytes" in one]
    assert "no host has bytes on ib1, all on ib0" in note


def test_a_host_that_went_to_a_rail_of_no_other_host(imb: Imb, tmp_path: Path) -> None:
    """All send by ib0, only n004 by ib1: that rail is used, and the host lacks bytes on the usual one."""
    text = records(16, lambda end, _: {"ib1" if end == 3 else "ib0": 1.0})
    code, found = judged(imb, tmp_path, text)
    [rail] = found["quiet_rails"]
    assert (code, rail["host"], rail["name"], rail["usual"]) == (10, "n004", "ib0", 1), found["summary"]
    assert not any("no host has bytes" in note for note in found["notes"])


OF_TWO_KINDS = {False: ("ib0", "ib1"), True: ("mlx5_0", "mlx5_1")}


@pytest.mark.parametrize("quiet", [None, 3, 12])
def test_hosts_of_two_kinds_have_other_rails(imb: Imb, tmp_path: Path, quiet: int | None) -> None:
    """10 of one kind, 6 of the other: a host is compared with hosts of its kind."""

    def parts(end: int, other: int) -> Parts:
        first, second = OF_TWO_KINDS[end >= 10]
        return {first: 1.0} if end == quiet else {first: 0.5, second: 0.5}

    text = records(16, parts, listed=lambda host: ("lo", *OF_TWO_KINDS[host >= 10]))
    code, found = judged(imb, tmp_path, text)
    bad = {None: [], 3: [("n004", "ib1")], 12: [("n013", "mlx5_1")]}[quiet]
    assert [(one["host"], one["name"]) for one in found["quiet_rails"]] == bad, found["summary"]
    assert code == (10 if bad else 0) and not any("no host has bytes" in note for note in found["notes"])


def test_what_interfaces_do_not_count_proves_nothing() -> None:
    """Of messages that went another way, a tenth of the bytes; and where each host has one interface, nothing is read."""
    quiet = records(8, lambda end, _: {"ib0": 1.0} if end == 3 else both(end, 0), scale=0.1)
    [launch] = read_pairs([quiet], "f")
    assert launch.traffic is None or not len(launch.traffic.end)
    [launch] = read_pairs([records(8, both, listed=("lo", "ib0"))], "f")
    assert launch.traffic is None and len(launch.columns.seconds) == 28 * 4


def test_a_piece_that_arrow_refuses_is_read_line_by_line() -> None:
    """The same pairs, and the bad line as a problem."""
    text = records(8, both)
    lines = text.splitlines(keepends=True)
    [good] = read_pairs([text], "f")
    for bad in (
        b'{"record":"pair","benchmark":3}\n',
        b'{"record":"pair",\n',
        lines[5].replace(b'"pass":', b'"pass":-'),
        lines[5].replace(b'"benchmark":"', b'"benchmark":"\xff'),
    ):
        [launch] = read_pairs([b"".join([*lines[:9], bad, *lines[9:]])], "f")
        assert launch.wrong == 1 and launch.problems[0].line == 10
        for name in ("bytes", "passes", "rounds", "a", "b", "seconds"):
            np.testing.assert_array_equal(getattr(launch.columns, name), getattr(good.columns, name))


def test_healthy_shares_are_seldom_quiet() -> None:
    """At the level of 1 %: pairs that draw one of two rails each, and rails that share all messages with some noise."""
    random = np.random.default_rng(3)
    false = 0
    for hosts in (8, 16, 64):
        for _ in range(300):
            drawn = random.binomial(hosts - 1, 0.5, hosts) / (hosts - 1)
            shared = 0.5 + 0.02 * random.standard_t(5, hosts)
            for part, error in ((drawn, 0.5 / np.sqrt(hosts - 1)), (shared, 0.0)):
                each = np.stack([part, 1 - part], axis=1)
                found = Shares(("ib0", "ib1"), each, np.full(2, error), ())
                false += bool(quiet_rails(found, 0.01))
    assert false <= 18  # of 1,800


def test_pairs_are_pinned_near_their_rail(tmp_path: Path) -> None:
    """A CPU of its NUMA node for each, different ones as far as there are enough; none where a node is not known."""
    cpus = sorted(os.sched_getaffinity(0))[:2]

    def rail(kind: str, name: str, node: int) -> Interface:
        file = tmp_path / "class" / kind / name / "device" / "numa_node"
        file.parent.mkdir(parents=True)
        file.write_text(f"{node}\n")
        return Interface(name=name, rdma=kind == "infiniband", up=True)

    for node, cpu in enumerate((cpus[0], cpus[-1])):
        (tmp_path / "devices/system/node" / f"node{node}").mkdir(parents=True)
        (tmp_path / "devices/system/node" / f"node{node}" / "cpulist").write_text(f"{cpu}\n")
    near = [rail("infiniband", "mlx5_0", 1), rail("infiniband", "mlx5_1", 0), rail("net", "eth0", 0)]
    assert cpus_near(near, tmp_path) == (cpus[-1], cpus[0], cpus[0])
    (tmp_path / "devices/system/node/node0/cpulist").write_text(f"{cpus[0]},{cpus[-1]}\n")
    assert cpus_near(near[1:], tmp_path) == (cpus[0], cpus[-1])
    assert cpus_near([*near, rail("net", "eth1", -1)], tmp_path) == ()
