"""Outputs that the pages of the docs show are what the program prints today."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import lab
import psutil
import pytest
from companion import fake_mpi
from companion.slices import with_commands
from imb.mpi import installations

sys.path.insert(0, str(lab.TOP / "tools"))

import record
import recordings

NAMED = recordings.all_blocks()


def _commands_in(blocks: list[recordings.Block]) -> set[str]:
    words = [step.words for block in blocks for step in block.steps]
    return {command[1] for command in words if command[:1] == ["imb"]}


@pytest.mark.parametrize(
    "name", [with_commands(name, _commands_in(blocks)) for name, blocks in NAMED.items()]
)
def test_what_pages_show(name: str) -> None:
    """Blocks of a recording: each line of them is printed, in this order, and what is left out is marked."""
    assert not recordings.stale(name, NAMED[name]), f"tools/recordings.py {name} writes these blocks anew"


def test_other_outputs_have_a_reason() -> None:
    """A block with output has the name of its recording above it, or a comment why there is none."""
    found = {str(page.relative_to(lab.TOP)): recordings.unmarked(page) for page in recordings.pages()}
    assert not {page: commands for page, commands in found.items() if commands}


def test_recordings_are_small_and_used() -> None:
    files = list(recordings.FOLDER.iterdir())
    assert {file.name.removesuffix(".tar.xz") for file in files} <= set(NAMED)
    assert sum(file.stat().st_size for file in files) < 500_000


PRINTED = ["A: old, 5 launches", "", "row     us", "PingPong 8 B  1.03", "PingPong 16 B  1.05", "slower"]


@pytest.mark.parametrize(
    ("shown", "stale"),
    [
        (PRINTED, None),
        (["…", "row     us", "…", "slower"], None),
        (["A: old, …", "…"], None),
        (["row     us", "…"], "row     us"),
        (["…", "row  us", "…"], "row  us"),
        (["…", "PingPong 8 B  1.04", "…"], "PingPong 8 B  1.04"),
        (["…", "row     us", "PingPong 16 B  1.05", "…"], "PingPong 16 B  1.05"),
        (["…", "slower", "row     us", "…"], "row     us"),
        (["…", "row     us"], "after row     us"),
    ],
)
def test_lines_that_are_not_printed_are_found(shown: list[str], stale: str | None) -> None:
    """Another heading or figure, a line left out without a mark, another order, more lines at the end."""
    assert recordings.stale_line(shown, PRINTED) == stale


def test_blocks_are_written_anew() -> None:
    """What was shown is shown, with a column more, another figure and a line between; the rest stays out."""
    shown = ["…", "row     us", "PingPong 16 B  1.05", "…", "slow …"]
    now = ["A: old, 5 launches", "row     us   ±", "a rule", "PingPong 16 B  1.07 2", "more", "slow by much"]
    after = recordings.renewed(shown, now)
    assert after == ["…", "row     us   ±", "a rule", "PingPong 16 B  1.07 2", "…", "slow …"]
    assert recordings.stale_line(after, now) is None


class Made(record.Scratch):
    """With builds that need not be there."""

    def _link_builds(self) -> None:
        pass


def test_a_command_in_the_background_ends_with_what_is_measured_beside_it(tmp_path: Path) -> None:
    """Also where that fails."""
    scratch = Made(tmp_path)
    pid = tmp_path / "work" / "pid"
    command = "sh -c 'echo $$ >new; mv new pid; while :; do sleep 1; done'"
    with pytest.raises(SystemExit), record.in_background(command, scratch):
        while not pid.exists():
            time.sleep(0.01)
        sys.exit("not all was measured")
    assert not psutil.pid_exists(int(pid.read_text()))


def test_words_for_mpis_are_those_that_make_builds_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever others the machine has, and whether `make` has built with them."""
    of_make, system = tmp_path / "env" / "mpi", tmp_path / "system"
    for folder in (of_make / "mpich", of_make / "openmpi", system):
        fake_mpi.make(folder)
    (of_make / "mpich" / "bin" / "mpiexec").write_text("#!/bin/sh\necho HYDRA build details\n")
    monkeypatch.setenv("OPENIMB_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("PATH", str(system / "bin"))
    record._mpis.cache_clear()
    (tmp_path / "scratch").mkdir()
    scratch = Made(tmp_path / "scratch")
    for name, value in scratch.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("IMB_MPI")
    found = installations.find("openmpi")
    record._mpis.cache_clear()
    assert found.wrapper == str(of_make / "openmpi" / "bin" / "mpicxx")
