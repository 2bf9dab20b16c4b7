"""Outputs that the pages of the docs show are what the program prints today."""

from __future__ import annotations

import sys

import lab
import pytest

sys.path.insert(0, str(lab.TOP / "tools"))

import recordings

NAMED = recordings.all_blocks()


@pytest.mark.parametrize("name", NAMED)
def test_what_pages_show(name: str) -> None:
    """Blocks of a recording: each line of them is printed, in this order, and what is left out is marked."""
    assert not recordings.stale(name, NAMED[name]), f"tools/recordings.py {name} writes these blocks anew"


def test_other_outputs_have_a_reason() -> None:
    """A block with output has the name of its recording above it, or a comment why there is none."""
    found = {page.name: recordings.unmarked(page) for page in recordings.pages()}
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
