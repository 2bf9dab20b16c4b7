"""imb fabric on simulated records: verdict, exit status, topology files, host lists, drain commands, odd files."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from companion import fabrics, fake_mpi
from companion.door import Imb, junit_cases
from imb.fabric.drain import drain_of
from imb.fabric.pair_records import read_pairs
from imb.fabric.topology_text import parse_topology
from imb.model.errors import ImbError
from imb.model.hostlist import expand_hosts
from imb.store.store import Archive


def test_host_lists() -> None:
    assert expand_hosts("node[001-003,7],login1") == ["node001", "node002", "node003", "node7", "login1"]
    for wrong in ("n[1-", "n[3-1]", "n]x", "n[1-99999999999]"):
        with pytest.raises(ImbError):
            expand_hosts(wrong)


def test_slurm_topology() -> None:
    found = parse_topology(
        b"SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n3\nSwitchName=top Switches=s[0-1]\n", "f"
    )
    assert found.attached == {"n1": "s0", "n2": "s0", "n3": "s1"}
    assert found.links == [("s0", "top"), ("s1", "top")]


@pytest.mark.parametrize("text", [b"", b"\0\1", b"hello\n", b"a: b\nb: a\n", b"a: a\n"])
def test_odd_topologies(text: bytes) -> None:
    with pytest.raises(ImbError):
        parse_topology(text, "f")


@pytest.mark.parametrize("host", ["$(reboot)", "a;b", 'a"b', "a,b", "n[1-9]", "-x", "a b", ""])
def test_hostile_names_have_no_drain_command(host: str) -> None:
    assert drain_of(host, "slow", {}) is None


def test_bad_and_healthy(imb: Imb, tmp_path: Path) -> None:
    names = fabrics.hosts(64)
    file, topology = tmp_path / "r.jsonl", fabrics.topology_file(tmp_path / "t", names)
    file.write_bytes(fabrics.records(names, slow={17: 0.5}))
    said = imb("fabric", file, "--topology", topology)
    assert said.code == 10 and said.out.startswith("bad: slow: host n018")
    assert "scontrol update nodename=n018 state=drain" in said.out
    found = json.loads(imb("fabric", file, "--topology", topology, "--format", "json").out)
    assert (found["state"], found["exit_status"]) == ("bad", 10)
    cases = junit_cases(imb("fabric", file, "--topology", topology, "--format", "junit").out)
    assert len(cases) >= 65 and cases["verdict", "hosts"] == cases["host", "n018"] == "failure"
    assert {outcome for key, outcome in cases.items() if key[0] == "host" and key[1] != "n018"} == {"passed"}
    file.write_bytes(fabrics.records(names))
    assert imb("fabric", file, "--topology", topology).code == 0
    cases = junit_cases(imb("fabric", file, "--topology", topology, "--format", "junit").out)
    assert len(cases) == 65 and set(cases.values()) == {"passed"}


def test_odd_records(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "binary", "pipe", "none"):
        said = imb("fabric", tmp_path / name)
        assert said.code == 2 and len(said.err.splitlines()) == 1, said.err


INFINIBAND = """\
# Topology file: generated on Mon Mar  2 08:00:00 2026
vendid=0x2c9
switchguid=0x2c90300000001(2c90300000001)
Switch\t4 "S-0001"\t\t# "leaf1" enhanced port 0 lid 1 lmc 0
[1]\t"H-0001"[1](2c903000a0001) \t\t# "n001 HCA-1" lid 5 4xHDR
[2]\t"H-0002"[1](2c903000a0002) \t\t# "n002 mlx5_0" lid 6 4xHDR
[3]\t"S-0003"[1]\t\t# "spine" lid 3 4xHDR
[4]\t"S-0003"[2]\t\t# "spine" lid 3 4xHDR

Switch\t4 "S-0002"\t\t# "leaf2" enhanced port 0 lid 2 lmc 0
[1]\t"H-0003"[1](2c903000a0003) \t\t# "'n003' mlx5_0" lid 7 4xHDR
[2]\t"H-0002"[2](2c903000a0012) \t\t# "n002 mlx5_0" lid 8 4xHDR
[3]\t"S-0003"[3]\t\t# "spine" lid 3 4xHDR
[4]\t"H-0009"[1](2c903000a0009) \t\t# "Mellanox Technologies Aggregation Node" lid 9 4xHDR

Switch\t3 "S-0003"\t\t# "spine" base port 0 lid 3 lmc 0
[1]\t"S-0001"[3]\t\t# "leaf1" lid 1 4xHDR
[2]\t"S-0001"[4]\t\t# "leaf1" lid 1 4xHDR
[3]\t"S-0002"[3]\t\t# "leaf2" lid 2 4xHDR

vendid=0x2c9
caguid=0x2c903000a0001
Ca\t1 "H-0001"\t\t# "n001 HCA-1"
[1](2c903000a0001) \t"S-0001"[1]\t\t# lid 5 lmc 0 "leaf1" lid 1 4xHDR
Ca\t2 "H-0002"\t\t# "n002 mlx5_0"
[1](2c903000a0002) \t"S-0001"[2]\t\t# lid 6 lmc 0 "leaf1" lid 1 4xHDR
[2](2c903000a0012) \t"S-0002"[2]\t\t# lid 8 lmc 0 "leaf2" lid 2 4xHDR
Ca\t1 "H-0003"\t\t# "'n003' mlx5_0"
[1](2c903000a0003) \t"S-0002"[1]\t\t# lid 7 lmc 0 "leaf2" lid 2 4xHDR
Ca\t1 "H-0009"\t\t# "Mellanox Technologies Aggregation Node"
[1](2c903000a0009) \t"S-0002"[4]\t\t# lid 9 lmc 0 "leaf2" lid 2 4xHDR
"""


def test_output_of_ibnetdiscover() -> None:
    """Hosts by the first word of a description; links once, although both ends list them; a host with two rails."""
    found = parse_topology(INFINIBAND.encode(), "f")
    assert found.attached == {"n001": "leaf1", "n002": "leaf1", "n003": "leaf2"}
    assert sorted(map(sorted, found.links)) == [["leaf1", "spine"], ["leaf1", "spine"], ["leaf2", "spine"]]
    assert found.rails == {"n002": 2}


def test_two_ports_at_one_switch_are_no_rails() -> None:
    text = INFINIBAND.replace('[2](2c903000a0012) \t"S-0002"[2]', '[2](2c903000a0012) \t"S-0001"[5]')
    assert not parse_topology(text.encode(), "f").rails


def test_switches_of_one_description_are_told_apart() -> None:
    text = INFINIBAND.replace("leaf2", "leaf1")
    assert set(parse_topology(text.encode(), "f").attached.values()) == {"leaf1 S-0001", "leaf1 S-0002"}


def test_a_torn_output_of_ibnetdiscover_is_refused() -> None:
    with pytest.raises(ImbError, match="f:1: a port before any node; is this the whole output"):
        parse_topology(INFINIBAND[INFINIBAND.index("[1]") :].encode(), "f")


def infiniband_of(names: Sequence[str], leaf: int) -> str:
    """The same network as fabrics.topology_file()."""
    lines = []
    for number, name in enumerate(names):
        lines += [
            f'Ca\t1 "H-{number}"\t# "{name} HCA-1"',
            f'[1](x) \t"S-{number // leaf}"[{number % leaf + 2}]',
        ]
    for number in range(-(-len(names) // leaf)):
        lines += [f'Switch\t40 "S-{number}"\t# "leaf{number + 1}"', f'[1]\t"S-spine"[{number + 1}]']
    return "\n".join([*lines, 'Switch\t40 "S-spine"\t# "spine"']) + "\n"


def test_a_slow_link_of_an_infiniband_network(imb: Imb, tmp_path: Path) -> None:
    """By its name in the output of ibnetdiscover."""
    names = fabrics.hosts(32)
    text = fabrics.records(names, leaf=8, slow_leaf=2, noise=0.01)
    (tmp_path / "r.jsonl").write_bytes(text)
    (tmp_path / "t").write_text(infiniband_of(names, 8))
    found = json.loads(imb("fabric", tmp_path / "r.jsonl", "--topology", tmp_path / "t", "-f", "json").out)
    named = {
        name for one in found["suspects"] if one["named"] for name in (one["name"], *one["alternatives"])
    }
    assert found["state"] == "bad" and any("leaf3" in name for name in named), found["summary"]


# --- Against the past ------------------------------------------------------------------------------------------------


def test_baseline(imb: Imb, tmp_path: Path) -> None:
    """n018 always was slow, n005 became slow; n033 is new, and n001 is no longer there."""
    names = fabrics.hosts(33)
    before, now = tmp_path / "before.jsonl", tmp_path / "now.jsonl"
    before.write_bytes(fabrics.records(names[:32], leaf=32, slow={17: 0.5}, seed=1))
    now.write_bytes(fabrics.records(names[1:], leaf=32, slow={16: 0.5}, seed=2))
    said = imb("fabric", now, "--baseline", before)
    assert (said.code, said.out.splitlines()[0]) == (
        11,
        f"inconclusive: not judged, as fewer than 3 of their pairs are in {before} (omit --baseline, or make a new one): n033",
    )
    now.write_bytes(fabrics.records(names[1:31], leaf=32, slow={16: 0.5}, seed=2))
    said = imb("fabric", now, "--baseline", before)
    assert (said.code, said.out.splitlines()[0]) == (
        0,
        f"healthy: no part of the fabric is significantly slower by 5.0 % or more than in {before}",
    )
    now.write_bytes(fabrics.records(names[1:], leaf=32, slow={16: 0.5, 3: 0.5}, seed=2))
    said = imb("fabric", now, "--baseline", before)
    assert said.code == 10 and said.out.startswith("bad: slow: host n005\n")
    found = json.loads(imb("fabric", now, "--baseline", before, "-f", "json").out)
    assert found["baseline"] == str(before) and [one["node"] for one in found["drain"]] == ["n005"]
    [of_size] = found["sizes"]
    assert "level_seconds" not in of_size and "classes" not in of_size
    assert of_size["level_ratio"] == pytest.approx(1.0, abs=0.05)
    assert [ratio for _, ratio in of_size["class_ratios"]] == pytest.approx([of_size["level_ratio"]])
    assert f"not in {before}: n033" in found["notes"], found["notes"]
    assert f"in {before}, but not measured now: n001" in found["notes"]


def test_a_fabric_slower_as_a_whole_is_inconclusive(imb: Imb, tmp_path: Path) -> None:
    names = fabrics.hosts(16)
    before, now = tmp_path / "before.jsonl", tmp_path / "now.jsonl"
    before.write_bytes(fabrics.records(names))
    now.write_bytes(fabrics.records(names, slow=dict.fromkeys(range(16), 0.2), seed=2))
    said = imb("fabric", now, "--baseline", before)
    assert (
        said.code == 11 and "longer than in" in said.out and "no single part of the fabric does" in said.out
    )


def test_a_baseline_of_other_hosts_judges_nothing(imb: Imb, tmp_path: Path) -> None:
    before, now = tmp_path / "before.jsonl", tmp_path / "now.jsonl"
    before.write_bytes(fabrics.records(["x1", "x2", "x3", "x4"]))
    now.write_bytes(fabrics.records(fabrics.hosts(8)))
    said = imb("fabric", now, "--baseline", before)
    assert said.code == 11 and f"no pair is in {before}; not judged" in said.out
    said = imb("fabric", now, "--baseline", "nothing-of-this-name")
    assert said.code == 2 and len(said.err.splitlines()) == 1, said.err


def test_what_the_baseline_lacks_is_not_healthy(imb: Imb, tmp_path: Path) -> None:
    """Hosts, those that were silent then, and benchmarks: nothing here says that they are as fast as before."""
    before, now = tmp_path / "before.jsonl", tmp_path / "now.jsonl"
    now.write_bytes(fabrics.records(fabrics.hosts(20), slow={19: 0.5}, passes=4))
    before.write_bytes(fabrics.records(fabrics.hosts(16), passes=4))
    said = imb("fabric", now, "--baseline", before)
    assert said.code == 11, said.out
    line = f"inconclusive: not judged, as fewer than 3 of their pairs are in {before} (omit --baseline, or make a new one): n017, n018, n019, n020"
    assert said.out.startswith(line), said.out
    assert f"70 pairs not in {before}" in said.out  # not their passes
    before.write_bytes(fabrics.records(fabrics.hosts(20), silent=[19], passes=4))
    said = imb("fabric", now, "--baseline", before)
    assert said.code == 11 and "or make a new one): n020" in said.out, said.out
    now.write_bytes(
        fabrics.records(fabrics.hosts(20), passes=4, benchmarks=("Pair_Latency", "Pair_Bandwidth"))
    )
    before.write_bytes(fabrics.records(fabrics.hosts(20), passes=4))
    said = imb("fabric", now, "--baseline", before)
    assert said.code == 11 and f"not measured, or not in {before}: Pair_Bandwidth 1 MiB" in said.out, said.out


# --- Drain -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def scontrol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Slurm was told. It knows no node n018."""
    folder = tmp_path / "slurm"
    folder.mkdir()
    program = folder / "scontrol"
    program.write_text(
        f'#!/bin/sh\nfor one; do printf "[%s]" "$one" >> {folder}/said; done\necho >> {folder}/said\n'
        'case "$2" in *n018) echo "Invalid node name specified" >&2; exit 1;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    (folder / "said").touch()
    return folder / "said"


def launched(folder: Path, hosts: int = 16, **how: Any) -> list[object]:
    """imb fabric with an MPI that gives these records of hosts from n011 on."""
    names = fabrics.hosts(10 + hosts)[10:]
    options = fake_mpi.make(folder)
    shutil.copy(folder / "bin" / "IMB-MPI1", folder / "bin" / "IMB-FABRIC")
    (folder / "bin" / f"records-{hosts}").write_bytes(fabrics.records(names, **how))
    return ["fabric", "--hosts", f"n[011-{10 + hosts:03}]", "-b", "Pair_Latency:8", *options]


@pytest.mark.parametrize(
    ("said", "code", "first"),
    [
        (
            "ssh: Could not resolve hostname n012: Name or service not known",
            10,
            "imb: bad: host n012 cannot be reached (ssh: Could not resolve hostname n012: Name or service not known); nothing",
        ),
        (
            "ssh: connect to host n014.cluster port 22: No route to host",
            10,
            "imb: bad: host n014 cannot be reached (ssh: connect to host n014.cluster port 22: No route to host); nothing",
        ),
        ("ssh: Could not resolve hostname gateway: Name or service not known", 11, "imb: inconclusive: no launch has records: failed with exit status 255 (ssh: Could not resolve hostname gateway"),
        ("no adapter", 11, "imb: inconclusive: no launch has records: failed with exit status 255 (no adapter) (launch "),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [[], ["--quick", "--budget", "30"]], ids=["whole", "quick"])
def test_a_host_that_the_launcher_cannot_reach_is_bad(
    imb: Imb, tmp_path: Path, said: str, code: int, first: str, more: list[str]
) -> None:
    command = launched(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    version = "[ \"$1\" = --version ] && { echo 'mpiexec (Open MPI) 5.0.9'; exit; }"
    launcher.write_text(f"#!/bin/sh\n{version}\necho '{said}' >&2\nexit 255\n")
    ended = imb(*command, *more)
    assert (ended.code, ended.out) == (code, "") and first in ended.err, ended.err
    assert "0 rounds" not in ended.err
    assert ended.err.count(said) == 1  # also where two launches fail alike


def test_drain(imb: Imb, tmp_path: Path, scontrol: Path) -> None:
    command = launched(tmp_path / "mpi", slow={3: 0.5, 7: 0.4})
    printed = imb(*command)
    assert printed.code == 10 and printed.out.count("scontrol update nodename=") == 2
    assert not scontrol.read_text()
    said = imb(*command, "--drain")
    assert said.code == 10 and "drained: n014" in said.out
    assert "imb: n018: scontrol failed with exit status 1: Invalid node name specified" in said.err
    [one, other] = scontrol.read_text().splitlines()
    assert one.startswith("[update][nodename=n014][state=drain][reason=imb fabric: Pair_Latency 8 bytes ")
    assert other.startswith("[update][nodename=n018]")
    listed = json.loads(imb(*command, "--drain", "-f", "json").out)["drain"]
    assert [(one["node"], one["drained"]) for one in listed] == [("n014", True), ("n018", False)]
    assert "Invalid node name" in listed[1]["error"]


@pytest.mark.parametrize("slow", [{}, {20: 0.4}], ids=["uplink", "uplink and host"])
def test_hosts_of_a_slow_uplink_are_not_drained(imb: Imb, tmp_path: Path, slow: dict[int, float]) -> None:
    """They stand apart as a group. One that is slower than the others of its group is drained."""
    records = tmp_path / "records.jsonl"
    names = fabrics.hosts(64)
    records.write_bytes(fabrics.records(names, slow_leaf=2, leaf=8, slow=slow, passes=6, noise=0.03))
    said = imb("fabric", records)
    drained = [line for line in said.out.splitlines() if line.startswith("scontrol")]
    assert said.code == (10 if slow else 11), said.out
    assert said.out.count("8 endpoints stand apart") == 1
    first = "bad: slow: host n021" if slow else "inconclusive: "
    assert said.out.startswith(first) and len(drained) == len(slow), said.out
    assert all("nodename=n021 " in line for line in drained)


def test_a_node_has_its_name_in_the_topology(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of an allocation; inside, the names of the allocation are right."""
    names = fabrics.hosts(16)
    full = [f"{name}.cluster.example.org" for name in names]
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(full, slow={3: 0.5}))
    (tmp_path / "t").write_text("SwitchName=s1 Nodes=n[001-016]\n")
    words = ["fabric", tmp_path / "r.jsonl", "--topology", tmp_path / "t"]
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    assert "scontrol update nodename=n004 state=drain" in imb(*words).out
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", ",".join(full))
    assert "scontrol update nodename=n004.cluster.example.org state=drain" in imb(*words).out


def test_a_healthy_fabric_drains_nothing(imb: Imb, tmp_path: Path, scontrol: Path) -> None:
    said = imb(*launched(tmp_path / "mpi"), "--drain")
    assert said.code == 0 and not scontrol.read_text()


def test_more_than_a_quarter_of_the_hosts_is_not_drained(imb: Imb, tmp_path: Path, scontrol: Path) -> None:
    said = imb(*launched(tmp_path / "mpi", silent=(0, 1, 2, 3, 4, 5, 6)), "--drain")
    assert said.code == 10 and "not drained: 7 of 16 hosts are more than 25 %" in said.err
    assert not scontrol.read_text() and said.out.count("scontrol update") == 7


def test_earlier_records_drain_nothing(imb: Imb, tmp_path: Path, scontrol: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(16), slow={3: 0.5}))
    said = imb("fabric", tmp_path / "r.jsonl", "--drain")
    assert said.code == 2 and "--drain needs a measurement of now" in said.err
    assert not scontrol.read_text()


# --- Pairs without a time ---------------------------------------------------------------------------------------------


def test_a_pair_that_does_not_answer(imb: Imb, tmp_path: Path) -> None:
    """Words, not infinite percent; JSON has null."""
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(16), failed_pair=(3, 9)))
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 10 and said.out.startswith("bad: no answer: pair n004 - n010\n"), said.out
    [row] = [line for line in said.out.splitlines() if line.startswith("1  pair")]
    assert row.split() == ["1", "pair", "n004", "-", "n010", "no", "answer", "Pair_Latency", "8", "bytes"]
    assert "inf" not in said.out and "scontrol" not in said.out
    found = json.loads(imb("fabric", tmp_path / "r.jsonl", "-f", "json").out)
    assert [one["effect"] for one in found["suspects"]] == [None]


@pytest.mark.parametrize(
    ("answering", "words"),
    [(0, "no pair answered"), (2, "only 2 of 20 endpoints answer"), (3, "only 3 of 20 endpoints answer")],
)
def test_where_nearly_nothing_answers_no_host_is_at_fault(
    imb: Imb, tmp_path: Path, answering: int, words: str
) -> None:
    text = fabrics.records(fabrics.hosts(20), silent=range(answering, 20))
    (tmp_path / "r.jsonl").write_bytes(text)
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 10 and said.out.startswith(f"bad: Pair_Latency 8 bytes: {words}; check the"), said
    assert "scontrol" not in said.out and "nan" not in said.out and said.out.count(words) == 1, said.out
    found = json.loads(imb("fabric", tmp_path / "r.jsonl", "-f", "json").out)
    assert not found["silent"] and not found["suspects"] and not found["drain"]


def test_a_network_that_goes_down_during_the_sweep(imb: Imb, tmp_path: Path) -> None:
    """All pairs have times, and none answers in the last pass."""
    names = fabrics.hosts(8)
    before = fabrics.records(names, passes=2, end=False)
    last = fabrics.records(names, passes=1, silent=range(8)).partition(b"\n")[2]
    (tmp_path / "r.jsonl").write_bytes(before + last.replace(b'"pass":1', b'"pass":3'))
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 10 and "no pair answers any more; check" in said.out.splitlines()[0], said.out


def test_one_silent_host_of_four_is_known(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(4), silent=(2,)))
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 10 and said.out.startswith("bad: no answer: host n003\n"), said.out


def test_a_failure_has_its_cause(imb: Imb, tmp_path: Path) -> None:
    names, file = fabrics.hosts(16), tmp_path / "r.jsonl"
    file.write_bytes(fabrics.records(names, silent=(3,), cause="out_of_memory"))
    said = imb("fabric", file)
    assert said.code == 10 and said.out.startswith("bad: failed (out of memory): host n004\n"), said.out
    assert 'reason="imb fabric: failed: out of memory"' in said.out and "no answer" not in said.out
    file.write_bytes(fabrics.records(names, failed_pair=(3, 9), cause="out_of_memory"))
    said = imb("fabric", file)
    assert said.out.startswith("bad: failed (out of memory): pair n004 - n010\n"), said.out
    assert "next: the pair failed: measure it alone" in said.out and "answer" not in said.out
    file.write_bytes(fabrics.records(names, silent=range(16), cause="out_of_memory"))
    said = imb("fabric", file)
    assert said.out.startswith("bad: Pair_Latency 8 bytes: all pairs failed: out of memory\n"), said.out
    file.write_bytes(fabrics.records(names, silent=(3,), cause="no_answer"))
    assert imb("fabric", file).out.startswith("bad: no answer: host n004\n")


def test_the_page_has_causes_and_all_notes(imb: Imb, tmp_path: Path) -> None:
    """Also where no smallest effect can be printed behind them."""
    file, page = tmp_path / "r.jsonl", tmp_path / "p.html"
    file.write_bytes(fabrics.records(fabrics.hosts(16), silent=(3,), cause="out_of_memory"))
    imb("fabric", file, "--page", page)
    text = page.read_text()
    assert "<h3>Failed (out of memory)</h3><p>n004</p>" in text and "No answer</h3>" not in text
    assert "failed (out of memory): n004" not in text  # once, not among the notes again
    file.write_bytes(fabrics.records(fabrics.hosts(4), silent=(3,)))
    said = imb("fabric", file, "--page", page)
    [note] = [line.removeprefix("note: ") for line in said.out.splitlines() if line.startswith("note: ")]
    assert note in page.read_text(), said.out


# --- Launches of different load ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["halves", "one_to_all", "all_to_one"])
def test_rounds_of_another_load_are_judged_apart(imb: Imb, tmp_path: Path, kind: str) -> None:
    names, one, other = fabrics.hosts(8), tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_bytes(fabrics.records(names))
    other.write_bytes(fabrics.records(names, kind=kind))
    said = imb("fabric", one, other)
    assert said.code == 2 and len(said.err.splitlines()) == 1 and "judge them apart" in said.err, said
    assert kind in said.err and "with concurrent pairs" in said.err
    said = imb("fabric", other, "--baseline", one)
    assert (
        said.code != 2 and f"{one} with concurrent pairs: the ratios contain this difference" in said.out
    ), said.out
    assert imb("fabric", other, other).code != 2


def test_serial_rounds_and_concurrent_ones_are_judged_apart(imb: Imb, tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_bytes(fabrics.records(fabrics.hosts(8)))
    other.write_bytes(one.read_bytes().replace(b'"serial":false', b'"serial":true'))
    said = imb("fabric", one, other)
    assert said.code == 2 and "other.jsonl with -serial: " in said.err, said.err


@pytest.mark.parametrize("kind", ["some", "listed"])
def test_rounds_of_a_quick_sweep_are_one_load(imb: Imb, tmp_path: Path, kind: str) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_bytes(fabrics.records(fabrics.hosts(8)))
    other.write_bytes(fabrics.records(fabrics.hosts(8), kind=kind))
    assert imb("fabric", one, other).code != 2


# --- What a sweep cannot decide --------------------------------------------------------------------------------------


def test_two_populations_of_hosts(imb: Imb, tmp_path: Path) -> None:
    """A third of the hosts is slower: another kind of host, not a list of bad ones."""
    names = fabrics.hosts(24)
    (tmp_path / "r.jsonl").write_bytes(
        fabrics.records(names, slow=dict.fromkeys(range(0, 24, 3), 0.3), leaf=24)
    )
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 11 and "scontrol" not in said.out, said.out
    assert "two populations of endpoints: 33.3 % take" in said.out
    assert ": n001, n004, n007, n010, n013, n016, n019, n022" in said.out


def test_two_populations_of_pairs(imb: Imb, tmp_path: Path) -> None:
    """Every tenth pair is slower, and no host or link explains it."""
    names = fabrics.hosts(32)
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(names, leaf=32, slow_pairs=0.1))
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code in (0, 11) and "two populations of pairs: " in said.out, said.out
    assert "measure with --serial" in said.out and "scontrol" not in said.out


def test_suspects_that_are_not_separated(imb: Imb, tmp_path: Path) -> None:
    """Of n001 and n002 below one switch, only n001 met the others: host and link differ by one pair, in noise."""
    names = fabrics.hosts(32)
    text = fabrics.records(names, slow={0: 0.08}, leaf=2, noise=0.06)
    kept = [
        line
        for line in text.splitlines()
        if (b'"a":1,' not in line and b'"b":1,' not in line) or b'"a":0,"b":1,' in line
    ]
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(kept) + b"\n")
    topology = fabrics.topology_file(tmp_path / "t", names, leaf=2)
    said = imb("fabric", tmp_path / "r.jsonl", "--topology", topology)
    assert said.code == 11 and said.out.startswith("inconclusive: one of "), said.out
    assert "is slow; the pairs measured do not separate them" in said.out
    [advice] = [line for line in said.out.splitlines() if line.startswith("next: ")]
    assert advice.startswith("next: measure pairs that cross only one of ") and "n001" in advice, advice
    assert "scontrol" not in said.out


def test_a_noisy_sweep_has_further_passes(imb: Imb, tmp_path: Path) -> None:
    """As many again as there were, until they suffice or would not."""
    command = launched(tmp_path / "mpi", noise=0.08)
    found = json.loads((said := imb(*command, "-f", "json")).out)
    assert len(found["sources"]) > 1, said
    assert "imb: undecided after 4 passes: 4 passes more of Pair_Latency 8 bytes\n" in said.err
    once = json.loads((said := imb(*command, "--passes", "4", "-f", "json")).out)
    assert len(once["sources"]) == 1 and "undecided after" not in said.err


def test_more_pairs_are_not_advised_where_all_were_measured(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(32), noise=0.3, leaf=32))
    said = imb("fabric", tmp_path / "r.jsonl", "--relevant", "0.1%")
    assert said.code == 11 and "measure more" not in said.out, said.out
    assert "all pairs were measured: measure on an idle fabric, or give a larger --relevant" in said.out


def test_a_topology_that_lacks_hosts_is_said_first(imb: Imb, tmp_path: Path) -> None:
    names = fabrics.hosts(64)
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(names, noise=0.17, passes=1))
    topology = fabrics.topology_file(tmp_path / "t", names[:32])
    said = imb("fabric", tmp_path / "r.jsonl", "--topology", topology)
    assert said.code == 11 and said.out.startswith("inconclusive: the topology file lacks hosts, so"), (
        said.out
    )
    assert "more passes" not in said.out


def test_few_endpoints_are_not_sent_to_a_baseline(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(2)))
    said = imb("fabric", tmp_path / "r.jsonl")
    first = "inconclusive: 2 hosts; finding the slow one needs at least 4 hosts"
    assert said.code == 11 and said.out.splitlines()[0] == first, said.out


def test_figures_have_one_style(imb: Imb, tmp_path: Path) -> None:
    """Percent with a space, lengths by their units; a headline is not repeated as a note."""
    text = fabrics.records(fabrics.hosts(24), slow=dict.fromkeys(range(0, 24, 3), 0.3), leaf=24)
    (tmp_path / "r.jsonl").write_bytes(text)
    said = imb("fabric", tmp_path / "r.jsonl")
    assert not re.search(r"[0-9]%|[0-9] B\b", said.out), said.out
    headline = said.out.splitlines()[0].removeprefix("inconclusive: ")
    assert said.out.count(headline) == 1
    assert said.out.splitlines()[-1].endswith("; false alarms: at most 1 of 100 healthy sweeps")
    (tmp_path / "r.jsonl").write_bytes(text.partition(b"\n")[0] + b"\n")
    assert imb("fabric", tmp_path / "r.jsonl").out.count("no pair was measured") == 1


def test_hosts_that_were_not_measured_are_not_healthy(imb: Imb, tmp_path: Path) -> None:
    names = fabrics.hosts(16)
    kept = [
        line
        for line in fabrics.records(names).splitlines()
        if b'"b":15,' not in line and b'"a":15,' not in line
    ]
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(kept) + b"\n")
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 11 and "fewer than 3 of their pairs were measured: n016" in said.out, said.out


def test_a_benchmark_that_was_not_measured_is_not_healthy(imb: Imb, tmp_path: Path) -> None:
    """The records of the launches have the other one."""
    said = imb(*launched(tmp_path / "mpi"), "-b", "Pair_Bandwidth:1048576")
    assert said.code == 11 and said.out.startswith("inconclusive: not measured: Pair_Bandwidth 1 MiB\n"), (
        said.out
    )


def test_a_launch_without_records_ends_the_sweep(imb: Imb, tmp_path: Path) -> None:
    command = launched(tmp_path / "mpi")
    (tmp_path / "mpi" / "bin" / "records-16").unlink()
    said = imb(*command)
    assert said.code == 11 and "undecided" not in said.err and "no launch has records" in said.err, said.err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--", "-passes", "3"], "-passes is set by imb fabric; give --passes instead"),
        (["--quick", "--", "-rounds", "3"], "-rounds is set by imb fabric; omit --quick instead"),
        (["--rounds", "2", "--", "-rounds", "3"], "-rounds is set by imb fabric; give --rounds instead"),
        (["--", "-msgsize", "64"], "-msgsize is set by imb fabric; give -b NAME:BYTES instead"),
        (["--", "--Endpoint", "rank"], "--Endpoint is set by imb fabric; give --endpoint instead"),
        (["--budget", "9", "--", "-pair_timeout", "1"], "-pair_timeout is set by imb fabric; omit --budget"),
        (["--", "-MSGSZ", "64"], "-MSGSZ is set by imb fabric; give -b NAME:BYTES instead"),
        (["--", "-H"], "-H measures nothing; run IMB-FABRIC -H itself"),
        (["--", "-help"], "-help measures nothing; run IMB-FABRIC -help itself"),
        (["--", "Pair_Bidirectional"], "give -b Pair_Bidirectional:BYTES instead"),
        (["--", "-iter", "3", "pair_bidirectional"], "give -b Pair_Bidirectional:BYTES instead"),
        (["--", "r.jsonl"], "r.jsonl: not an IMB argument; NAME goes before --"),
        (["--hosts", ""], "--hosts: no host; give names such as node1,node2, or omit it"),
    ],
)
def test_arguments_that_are_set(imb: Imb, tmp_path: Path, more: list[str], words: str) -> None:
    said = imb(*launched(tmp_path / "mpi"), *more)
    assert said.code == 2 and words in said.err, said.err


OF_LAUNCHES: dict[str, tuple[str, ...]] = {
    "hosts": ("--hosts", "a,b"),
    "endpoint": ("--endpoint", "core"),
    "quick": ("--quick",),
    "budget": ("--budget", "9"),
    "benchmark": ("--benchmark", "Pair_Latency:8"),
    "passes": ("--passes", "3"),
    "rounds": ("--rounds", "2"),
    "serial": ("--serial",),
    "seed": ("--seed", "0"),
    "dry_run": ("--dry-run",),
    "timeout": ("--timeout", "9"),
    "mpi": ("--mpi", "mpich"),
    "programs": ("--programs", "/"),
    "ppn": ("--ppn", "2"),
    "cpus": ("--cpus", "0,1"),
    "env": ("--env", "A=1"),
    "launcher": ("--launcher", "srun"),
    "label": ("--label", "x"),
}


def test_records_have_no_options_of_launches(imb: Imb, tmp_path: Path) -> None:
    from imb.cli.app import app
    from typer.main import get_command

    used = {"names", "topology", "relevant", "baseline", "drain", "page", "format", "archive"}
    options = {one.name for one in get_command(app).commands["fabric"].params}  # type: ignore[attr-defined]
    assert options - used == set(OF_LAUNCHES)
    records = tmp_path / "r.jsonl"
    records.write_bytes(fabrics.records(fabrics.hosts(16)))
    for words in OF_LAUNCHES.values():
        said = imb("fabric", records, *words)
        assert (said.code, said.out) == (2, "")
        assert said.err == (
            f"imb: {words[0]} cannot be combined with RESULTS, which are judged, not run; omit it\n"
        )
    said = imb("fabric", records, "--", "-iter", "3")
    assert (said.code, said.err) == (2, "imb: RESULTS are judged, not run; omit the IMB arguments -iter 3\n")


def test_a_dry_run_runs_nothing(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    said = imb(*launched(tmp_path / "mpi"), "--dry-run")
    assert (
        said.code == 0 and "launch 1: Pair_Latency 8 bytes, 16 ranks (host), 15 rounds, 4 passes" in said.out
    )
    assert "that confirm it" in said.out and "nothing was run" in said.out and not archive.ids()
    said = imb(*launched(tmp_path / "other"), "--quick", "--dry-run")
    assert "12 rounds, 3 passes" in said.out and "other rounds, up to 15 rounds" in said.out


@pytest.mark.parametrize(
    "words",
    [("fabric", "--drian"), ("fabric", "--dri"), ("run", "--sumbit"), ("archive", "label", "--remov")],
)
def test_no_option_that_acts_on_machines_is_suggested(imb: Imb, words: tuple[str, ...]) -> None:
    said = imb(*words)
    assert said.code == 2 and "No such option" in said.err
    assert not any(one in said.err.partition(words[-1])[2] for one in ("--drain", "--submit", "--remove")), (
        said.err
    )


def test_switches_in_ranges() -> None:
    """Each of the spines has all leaves below it."""
    found = parse_topology(b"leaf1: n[1-2]\nleaf2: n[3-4]\nspine[1-2]: leaf[1-2]\n", "f")
    assert found.attached == {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2", "n4": "leaf2"}
    assert sorted(found.links) == [
        ("leaf1", "spine1"),
        ("leaf1", "spine2"),
        ("leaf2", "spine1"),
        ("leaf2", "spine2"),
    ]


def test_variables_that_are_of_other_commands_too_are_no_options(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMB_MPI", "mpich")
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(16)))
    assert imb("fabric", tmp_path / "r.jsonl").code == 0


def test_ranks_per_host_are_of_smaller_endpoints(imb: Imb, tmp_path: Path) -> None:
    said = imb(*launched(tmp_path / "mpi"), "--hosts", "a,b", "--ppn", "2")
    assert said.code == 2 and "--ppn needs endpoints smaller than hosts; add --endpoint" in said.err


@pytest.mark.parametrize(
    ("hosts", "more", "what", "next_step"),
    [
        (16, [], "4 passes", "give --budget or --passes 8"),
        (16, ["--quick"], "3 rounds", "give --budget"),
        # --passes with --quick is of few rounds; the passes of a full sweep are in another note.
        (8, ["--quick"], "3 passes", "give --budget"),
    ],
)
def test_further_passes_end_with_the_budget(
    imb: Imb, tmp_path: Path, hosts: int, more: list[str], what: str, next_step: str
) -> None:
    said = imb(*launched(tmp_path / "mpi", hosts, noise=0.08), "--budget", "2", *more, "-f", "json")
    found = json.loads(said.out)
    assert len(found["sources"]) == 1, said
    [note] = [one for one in found["notes"] if one.startswith(f"no time for {what} more of Pair_Latency ")]
    assert note.endswith(f" left; {next_step}")


def test_a_launch_behind_one_that_was_cut_off(imb: Imb, tmp_path: Path) -> None:
    """The end of a torn line is the beginning of the next launch, whose hosts have the same numbers. A line that was not read is exit 1."""
    torn = fabrics.records(fabrics.hosts(16))
    whole = fabrics.records([f"other{number}" for number in range(16)], slow={3: 0.5}, seed=2)
    for cut in (len(torn) // 2, torn.rindex(b'{"record":"pair"') + 30):
        (tmp_path / "r.jsonl").write_bytes(torn[:cut] + whole)
        said = imb("fabric", tmp_path / "r.jsonl")
        assert said.code == 1 and said.out.startswith("bad: slow: host other3\n"), said
        assert (
            "r.jsonl#1: cut off; what was written is judged" in said.out
            and said.err.count("not a record") == 1
        )
        assert "not a record" not in said.out
    # A line that is no pair, too.
    failure = b'{"record":"failure","benchmark":"Pair_Latency","bytes":8,"pass":1,'
    (tmp_path / "r.jsonl").write_bytes(torn[: torn.index(b"\n", len(torn) // 2) + 1] + failure + whole)
    said = imb("fabric", tmp_path / "r.jsonl")
    assert said.code == 1 and said.out.startswith("bad: slow: host other3\n"), said


@pytest.mark.parametrize("field", ["bytes", "pass", "round", "a", "b"])
@pytest.mark.parametrize("number", ["-1", str(10**30)])
def test_a_pair_with_an_impossible_number(imb: Imb, tmp_path: Path, field: str, number: str) -> None:
    """With blanks, it is read as a record of any kind; without, with all pairs."""
    for blank in ("", " "):
        head, pair, *rest = fabrics.records(fabrics.hosts(16)).decode().splitlines()
        wrong = re.sub(f'"{field}":[0-9]+', f'"{field}":{number}', pair).replace(":", f":{blank}")
        (tmp_path / "r.jsonl").write_text("\n".join([head, wrong, *rest]) + "\n")
        said = imb("fabric", tmp_path / "r.jsonl")
        assert said.code == 1 and "r.jsonl:2: not a record of openimb-record/2" in said.err, said


def test_an_interrupt_names_what_is_kept(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: Archive
) -> None:
    """Of the first launch, too, which is stored when it is interrupted."""
    monkeypatch.setenv("FAKE_END", str(tmp_path / "never"))
    command = launched(tmp_path / "mpi", slow={3: 0.5})

    def interrupt() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if any(one.stat().st_size for one in archive.folder.glob("sessions/*/*/records.jsonl")):
                time.sleep(0.3)
                os.kill(os.getpid(), signal.SIGINT)
                return
            time.sleep(0.02)

    sender = threading.Thread(target=interrupt)
    sender.start()
    said = imb(*command)
    sender.join()
    [run] = archive.ids()
    [session] = sessions(archive)
    assert said.code == 130
    assert said.err.splitlines()[1:] == [
        f"imb: judge what was measured: imb fabric {run[:10]}",
        f"imb: interrupted; continue with `imb run --resume {session}`",
    ]
    judged = imb("fabric", run[:10])
    assert judged.code == 10
    monkeypatch.delenv("FAKE_END")
    resumed = imb("run", "--resume")  # with the verdict of imb fabric, not as a run of benchmarks
    assert resumed.code == 10 and resumed.out.splitlines()[0] == judged.out.splitlines()[0]
    assert "rows" not in resumed.out + resumed.err
    assert len(archive.ids()) == 3  # with the launch that confirms it


# --- Sessions ---------------------------------------------------------------------------------------------------------


def sessions(archive: Archive) -> list[str]:
    return sorted(path.parent.name for path in archive.folder.glob("sessions/*/plan.json"))


def plan_of(archive: Archive) -> dict[str, Any]:
    [file] = archive.folder.glob("sessions/*/plan.json")
    plan: dict[str, Any] = json.loads(file.read_text())
    return plan


def interrupted_at(monkeypatch: pytest.MonkeyPatch, launch: int, *, behind: bool = False) -> None:
    """An interrupt before this launch, or `behind` it, while what it left is judged."""
    from imb.fabric import evaluation
    from imb.runner import execution

    execute, judged_of, count = execution.execute, evaluation.judge_launches, 0

    def executed(*words: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == launch and not behind:
            raise KeyboardInterrupt
        return execute(*words, **options)

    def judged(*words: Any) -> Any:
        if count == launch and behind:
            raise KeyboardInterrupt
        return judged_of(*words)

    monkeypatch.setattr(execution, "execute", executed)
    monkeypatch.setattr(evaluation, "judge_launches", judged)


# How it is measured, and the launches: their stage, the position of their benchmark and size, their passes, and the rounds of their file.
SWEEPS: dict[str, tuple[dict[str, Any], list[str], list[tuple[int, int, int, int | None]]]] = {
    "again": ({"noise": 0.08}, [], [(1, 0, 4, None), (2, 0, 4, None)]),
    "confirm": ({"slow": {3: 0.5}}, [], [(1, 0, 4, None), (2, 0, 3, 16)]),
    "wider": ({"noise": 0.08, "most_rounds": 12}, ["--quick"], [(1, 0, 3, 12), (2, 0, 3, 3), (3, 0, 3, None)]),
    "two sizes": (
        {"noise": 0.08, "benchmarks": ("Pair_Latency", "Pair_Bandwidth")},
        ["-b", "Pair_Bandwidth:1048576"],
        [(1, 0, 4, None), (1, 1, 4, None), (2, 0, 4, None), (3, 0, 8, None), (4, 0, 16, None)],
    ),
    "rounds of the arguments": ({"noise": 0.08}, ["--rounds", "15"], [(1, 0, 4, None)]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SWEEPS)
@pytest.mark.slow
def test_a_sweep_is_one_session_that_is_judged_again_as_it_was(
    imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    how, more, launches = SWEEPS[kind]
    said = imb(*launched(tmp_path / "mpi", **how), *more, "--label", "sweep", "-f", "json")
    plan = plan_of(archive)
    planned = []
    for item in plan["items"]:
        words = item["arguments"]
        passes, file = words[words.index("-passes") + 1], words[-1] if "-pairs_file" in words else None
        rounds = len(Path(file).read_text().splitlines()) if file else None
        planned.append((item["turn"], item["cell"], int(passes), rounds))
        assert item["labels"] == ["sweep"]
    assert planned[: len(launches)] == launches, planned
    assert len(archive.ids()) == len(json.loads(said.out)["sources"]) == len(planned)
    again = imb("run", "--resume")
    assert (again.code, again.out) == (said.code, said.out)
    assert len(archive.ids()) == len(planned) and plan_of(archive) == plan
    by_names = imb("fabric", *json.loads(said.out)["sources"], "-f", "json")
    assert json.loads(by_names.out)["suspects"] == json.loads(said.out)["suspects"]


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("launch", [1, 2, 3, 4])
@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: int, behind: bool
) -> None:
    """As if it had not been interrupted."""
    how, more, _ = SWEEPS["two sizes"]
    command = [*launched(tmp_path / "mpi", **how), *more, "--seed", "7", "-f", "json"]
    whole = json.loads(imb(*command, "--archive", tmp_path / "whole").out)
    archive = tmp_path / "archive"
    with monkeypatch.context() as patched:
        interrupted_at(patched, launch, behind=behind)
        stopped = imb(*command, "--archive", archive)
    judged = [run[:10] for run in Archive(archive).ids()]
    if stopped.code != 130:  # the first launch alone is not judged
        assert behind and launch % 2
        return
    [advice] = [line for line in stopped.err.splitlines() if "judge what was measured" in line] or [""]
    assert sorted(advice.partition("imb fabric ")[2].split()) == sorted(judged)
    resumed = imb("run", "--resume", "--archive", archive)
    found = json.loads(resumed.out)
    assert len(found["sources"]) == len(whole["sources"])
    assert {**found, "sources": []} == {**whole, "sources": []}
    items = plan_of(Archive(archive))["items"]
    assert items == [
        item | {"number": number}
        for number, item in enumerate(plan_of(Archive(tmp_path / "whole"))["items"], 1)
    ]
    assert "session " in resumed.err and " rows " not in resumed.err


def test_a_sweep_that_was_interrupted_between_its_launches_is_the_one_to_resume(
    imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its launches are over, and more would have followed; the newer session is over."""
    how, more, _ = SWEEPS["two sizes"]
    with monkeypatch.context() as patched:
        interrupted_at(patched, 2, behind=True)
        assert imb(*launched(tmp_path / "mpi", **how), *more).code == 130
    [sweep] = sessions(archive)
    assert imb("run", "PingPong", *fake_mpi.make(tmp_path / "other"), "--launches", 1).code == 0
    resumed = imb("run", "--resume")
    assert sweep in resumed.err and resumed.code != 2, resumed
    assert imb("run", "--resume").err.startswith(f"session {max(sessions(archive))}")  # none is unfinished


def test_a_sweep_whose_imb_was_killed_goes_on(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    """In its second launch, whose rounds are in a file. What it left is repeated, and counts once."""
    command, hold = launched(tmp_path / "mpi", slow={3: 0.5}), tmp_path / "hold"
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    first, rest = launcher.read_text().split("\n", 1)
    waits = f'case "$*" in *-pairs_file*) [ -e {hold} ] && exec sleep 60;; esac'
    launcher.write_text(f"{first}\n{waits}\n{rest}")
    hold.touch()
    words = [sys.executable, "-m", "imb", *map(str, command), "--label", "sweep"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not list(archive.folder.glob("sessions/*/0002.part/facts.json")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    assert len(archive.ids()) == 1 and len(plan_of(archive)["items"]) == 2
    hold.unlink()
    resumed = imb("run", "--resume")
    assert resumed.code == 10 and resumed.out.startswith("bad: slow: host n014\n"), resumed
    labeled = [run for run, tags in archive.tags().items() if "sweep" in tags.labels]
    assert len(labeled) == len(plan_of(archive)["items"])


def test_a_resumed_sweep_does_what_was_asked_of_it(
    imb: Imb, tmp_path: Path, archive: Archive, scontrol: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It drains and writes its page; each interrupt names what was measured. A session that was over drains nothing: it is not of now."""
    page = tmp_path / "page.html"
    command = [*launched(tmp_path / "mpi", slow={3: 0.5}), "--drain", "--page", page, "--relevant", "4%"]
    for words in (command, ["run", "--resume"]):
        with monkeypatch.context() as patched:
            interrupted_at(patched, 2 if words == command else 1)
            stopped = imb(*words)
        [run] = archive.ids()
        assert stopped.code == 130 and f"imb: judge what was measured: imb fabric {run[:10]}\n" in stopped.err
    assert not scontrol.read_text() and not page.exists()
    resumed = imb("run", "--resume")
    assert resumed.code == 10 and "drained: n014\n" in resumed.out and f"page: {page}" in resumed.out, resumed
    assert len(scontrol.read_text().splitlines()) == 1 and page.exists()
    assert plan_of(archive)["settings"]["relevant"] == 0.04
    again = imb("run", "--resume")
    assert again.code == 10 and "drained: " not in again.out, again
    assert "scontrol update nodename=n014 state=drain" in again.out
    assert "imb: n014: not drained: the session was over; run the command if you are sure\n" in again.err
    assert len(scontrol.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ([], "no time for 4 passes more of Pair_Latency "),
        (["-b", "Pair_Bandwidth:1048576"], "--budget is used up; Pair_Bandwidth 1 MiB not measured"),
    ],
)
def test_a_sweep_that_its_budget_ended_has_ended(
    imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch, more: list[str], note: str
) -> None:
    """It is judged again with the same notes, and launches nothing."""
    said = imb(*launched(tmp_path / "mpi", noise=0.08), *more, "--budget", "2", "-f", "json")
    assert any(line.startswith(note) for line in json.loads(said.out)["notes"]), said
    runs, plan = archive.ids(), plan_of(archive)
    again = imb("run", "--resume", plan["id"])
    assert (again.code, again.out) == (said.code, said.out)
    assert archive.ids() == runs and plan_of(archive) == plan


def test_the_budget_of_a_sweep_that_goes_on_is_what_is_left(
    imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        interrupted_at(patched, 2)
        command = launched(tmp_path / "mpi", noise=0.08)
        assert imb(*command, "--budget", "60", "-f", "json").code == 130
    file = archive.folder / "sessions" / plan_of(archive)["id"] / "0001.json"
    over = json.loads(file.read_text())
    file.write_text(json.dumps(over | {"wall": 59.5}))
    resumed = imb("run", "--resume")
    notes = json.loads(resumed.out)["notes"]
    assert any(line.startswith("no time for 8 passes more of Pair_Latency ") for line in notes), notes
    assert len(archive.ids()) == 2


def test_a_sweep_of_other_launches_is_judged_and_not_continued(
    imb: Imb, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert imb(*launched(tmp_path / "mpi", noise=0.08)).code == 11
    runs, plan = archive.ids(), plan_of(archive)
    arguments = plan["items"][0]["arguments"]
    arguments[arguments.index("-passes") + 1] = "5"
    [file] = archive.folder.glob("sessions/*/plan.json")
    file.write_text(json.dumps(plan))
    again = imb("run", "--resume")
    assert again.code == 11 and archive.ids() == runs
    assert "note: launch 1 was planned by another version of imb, or for other files; no launch" in again.out


def test_a_topology_that_is_a_folder(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(fabrics.records(fabrics.hosts(16)))
    said = imb("fabric", tmp_path / "r.jsonl", "--topology", tmp_path)
    assert (said.code, said.err) == (2, f"imb: {tmp_path}: is a folder; give a regular file\n")


def test_values_that_are_refused_are_told_in_plain_words(imb: Imb) -> None:
    for words, what in (
        (("--budget", "1"), "'--budget': give a number of at least 2;"),
        (("--budget", "x"), "'--budget': not a valid number;"),
        (("-f", "xml"), "'--format' / '-f': 'xml' is not one of 'terminal', 'json', 'junit';"),
    ):
        said = imb("fabric", *words)
        assert said.code == 2 and f"imb: Invalid value for {what} see `imb fabric --help`" in said.err


@pytest.mark.slow
def test_a_build_takes_its_time_from_the_budget(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imb.fabric import fabric_command

    monkeypatch.setattr(fabric_command, "build_for", lambda *_: time.sleep(1))
    (tmp_path / "hold").touch()
    monkeypatch.setenv("FAKE_HOLD", str(tmp_path / "hold"))
    said = imb(*launched(tmp_path / "mpi"), "--budget", "3.2")
    killed = re.search(r"killed after ([0-9.]+) s \(--budget\)", said.err)
    assert killed and float(killed[1]) <= 2.2, said


@pytest.mark.slow
def test_a_launch_that_the_budget_ends(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name: --timeout was not reached."""
    (tmp_path / "hold").touch()
    monkeypatch.setenv("FAKE_HOLD", str(tmp_path / "hold"))
    said = imb(*launched(tmp_path / "mpi"), "--budget", "2")
    assert said.code == 11 and "killed after 2 s (--budget)" in said.err, said
    said = imb(*launched(tmp_path / "other"), "--budget", "9", "--timeout", "0.5")
    assert said.code == 11 and "killed after 0.5 s (--timeout)" in said.err, said


@pytest.mark.parametrize(("slow", "code"), [({}, 0), ({3: 0.5}, 10)])
def test_a_quick_sweep_that_is_decided_at_once(
    imb: Imb, tmp_path: Path, slow: dict[int, float], code: int
) -> None:
    """One stage: 12 rounds of 16 hosts. What is suspected is confirmed by another one."""
    said = imb(*launched(tmp_path / "mpi", slow=slow), "--quick", "-f", "json")
    found = json.loads(said.out)
    assert (said.code, found["level"]) == (code, 0.01) and len(found["sources"]) == 1 + bool(slow), said
    assert "12 of 15 rounds, 3 passes" in found["notes"]


def test_a_quick_sweep_that_needs_all_pairs(imb: Imb, tmp_path: Path) -> None:
    """Rounds that were not measured yet come before further passes."""
    said = imb(*launched(tmp_path / "mpi", noise=0.08, most_rounds=12), "--quick", "-f", "json")
    assert said.err.splitlines()[1] == "imb: undecided after 12 rounds: 3 rounds more of Pair_Latency 8 bytes"
    [note] = [one for one in json.loads(said.out)["notes"] if one.startswith("15 of 15 rounds, ")]
    assert note.endswith(" passes")


def test_a_quick_sweep_that_was_cut_short(imb: Imb, tmp_path: Path) -> None:
    """One round: no host has pairs enough."""
    said = imb(*launched(tmp_path / "mpi", most_rounds=1, passes=1), "--quick")
    assert said.code == 11 and said.out.startswith("inconclusive: too few pairs: "), said
    assert "a full sweep of 15 rounds (omit --quick); too few pairs for" in said.out + said.err
    assert " inf" not in said.out + said.err


def test_a_quick_sweep_that_stays_undecided(imb: Imb, tmp_path: Path) -> None:
    """No suspect is left to measure again, and the next step is a full sweep."""
    said = imb(*launched(tmp_path / "mpi", noise=0.5, most_rounds=12), "--quick", "-f", "json")
    found = json.loads(said.out)
    assert said.code == 11 and len(found["sources"]) <= 2, said
    assert said.err.count(" more on ") == len(found["sources"]) - 1
    [advice] = [note for note in found["notes"] if note.startswith("undecided within --quick; next: ")]
    assert "a full sweep of 15 rounds (omit --quick)" in advice


def test_a_piece_that_arrow_refuses_is_read_line_by_line() -> None:
    """The same pairs, and the bad line as a problem."""
    text = fabrics.records(fabrics.hosts(8))
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
