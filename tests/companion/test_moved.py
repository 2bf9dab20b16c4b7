"""Spellings of the previous version: each works, and one line on standard error has the new one."""

from __future__ import annotations

from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.machines import curve, launch, message, save
from imb.store.store import Archive

END = "; the old spelling ends with this version"


@pytest.fixture
def run(imb: Imb, tmp_path: Path, archive: Archive) -> str:
    assert imb("import", save(tmp_path / "x.jsonl", launch(curve(message)))).code == 0
    return archive.ids()[0]


def test_commands_that_are_those_of_the_archive_now(imb: Imb, run: str) -> None:
    for words in (
        ["label", run[:8], "x"],
        ["rm", "x"],
        ["restore", run[:8]],
        ["verify", run[:8]],
        ["label", "x", "y"],
    ):
        said = imb(*words)
        assert (
            said.code == 0 and said.err == f"imb: note: imb {words[0]} is now imb archive {words[0]}{END}\n"
        )
    assert imb("archive", "label", run[:8]).out.endswith("  x, y\n")


def test_plot_is_a_format_of_report(imb: Imb, run: str, tmp_path: Path) -> None:
    said = imb("plot", run[:8], "-b", "PingPong")
    assert said.code == 0 and "us over bytes" in said.out.replace("\u00b5", "u")
    assert said.err == f"imb: note: imb plot is now imb report --format terminal{END}\n"
    said = imb("plot", run[:8], "--output", tmp_path / "x.svg")
    assert said.code == 0 and (tmp_path / "x.svg").read_bytes().startswith(b"<?xml")
    assert said.err == f"imb: note: imb plot is now imb report{END}\n"


def test_options_with_one_spelling(imb: Imb, run: str) -> None:
    said = imb("ls", "--json")
    assert said.code == 0 and said.out == imb("ls", "--format", "json").out
    assert said.err == f"imb: note: --json is now --format json{END}\n"
    said = imb("diagnose", run[:8], "--memory=20GB/s")
    assert said.out == imb("diagnose", run[:8], "--memory-bandwidth", "20GB/s").out
    assert said.err == f"imb: note: --memory is now --memory-bandwidth{END}\n"


def test_options_that_are_keys_of_a_file_now(imb: Imb, tmp_path: Path) -> None:
    words = [
        "ab",
        "--a",
        "A=1",
        "--b",
        "A=2",
        *fake_mpi.make(tmp_path / "mpi"),
        "--launches",
        1,
        "--name",
        "t",
    ]
    said = imb(*words, "--turn-timeout", 30, "--parts", 2, "PingPong", "--", "-msglog", "3")
    lines = said.err.splitlines()
    assert lines[:2] == [
        "imb: note: --turn-timeout is now turn_timeout in the file of imb campaign; the option ends with this version",
        f"imb: note: --parts is now --segments{END}",
    ]
    assert any("-msglog 3" in line for line in lines) and not any("No such option" in line for line in lines)


def test_a_key_of_a_campaign_file(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    mpi, programs = options[1], options[3]
    file = tmp_path / "c.toml"
    text = f"""benchmarks = ["PingPong"]
KEY = 3
common = {{ mpi = "{mpi}", programs = "{programs}" }}
[variants.a]
"""
    dry = {}
    for key in ("parts", "segments"):
        file.write_text(text.replace("KEY", key))
        dry[key] = imb("campaign", file, "--dry-run", "--seed", 1)
    assert dry["parts"].code == 0 and dry["parts"].out == dry["segments"].out
    assert f"imb: note: {file}: parts is now segments{END}" in dry["parts"].err.splitlines()
