"""imb fabric on simulated records: verdict, exit status, topology files, host lists, drain commands, odd files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from companion import fabrics
from companion.door import Imb
from imb.logs.topology_text import parse_topology
from imb.measure.drain import drain_of
from imb.model.errors import ImbError
from imb.model.hostlist import expanded


def test_host_lists() -> None:
    assert expanded("node[001-003,7],login1") == ["node001", "node002", "node003", "node7", "login1"]
    for wrong in ("n[1-", "n[3-1]", "n]x", "n[1-99999999999]"):
        with pytest.raises(ImbError):
            expanded(wrong)


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
    file.write_bytes(fabrics.records(names))
    assert imb("fabric", file, "--topology", topology).code == 0


def test_odd_records(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "pipe")
    for name in ("empty", "binary", "pipe", "none"):
        said = imb("fabric", tmp_path / name)
        assert said.code == 2 and len(said.err.splitlines()) == 1, said.err
