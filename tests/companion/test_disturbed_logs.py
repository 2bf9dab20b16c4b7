"""Logs with text around each line, or between lines: rows are those of the log as it was printed, or a problem is reported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
import pytest
from companion.test_logs import GROUPS, LABELED, NOTED, OSU, OSU_LAYOUTS, PASSES, PINGPONG
from hypothesis import given, settings
from hypothesis import strategies as st
from imb.model.records import Result
from imb.readers.formats import parse
from imb.readers.parsed_log import Log

TEXTS = {path.stem: path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("reference/*.txt"))}
TEXTS |= {"groups": GROUPS, "notes": NOTED, "passes": PASSES, "pingpong": PINGPONG, "labeled": LABELED}
TEXTS |= {f"osu {at}": b"# OSU" + each for at, each in enumerate(OSU.split(b"# OSU")[1:])}
TEXTS |= {f"osu layout {at}": text for at, text in enumerate([OSU, OSU_LAYOUTS])}
START = datetime(2020, 3, 2, 9, 59, 57, 990_000, UTC)


def at(line: int) -> datetime:
    return START + timedelta(milliseconds=47 * line)


FRONTS: dict[str, Callable[[int], str]] = {
    "mpirun -tag-output": lambda _: "[1,0]<stdout>:",
    "mpirun -timestamp-output": lambda n: f"{at(n):%a %b %e %H:%M:%S %Y}[1,0]<stdout>:",
    "srun -l": lambda _: "0: ",
    "ISO": lambda n: f"{at(n).isoformat(timespec='milliseconds')}Z ",
    "ts": lambda n: f"{at(n):%b %d %H:%M:%S} ",
    "ts -s": lambda n: f"{at(n):%H:%M:%S} ",
    "ts %.s": lambda n: f"{at(n).timestamp():.6f} ",
    "dmesg": lambda n: f"[{n * 1.37 + 12:12.6f}] ",
    "syslog": lambda n: f"{at(n):%b %e %H:%M:%S} n1 job[4711]: ",
    "logging": lambda n: f"{at(n):%Y-%m-%d %H:%M:%S,%f} INFO ",
    "date": lambda n: f"[{at(n):%a %b %e %H:%M:%S %Y}] ",
    "cat -n": lambda n: f"{n:6d}\t",
    "grep -n": lambda n: f"{n}:",
    "numbers of an editor": lambda n: f"{n:4d} | ",
    "mail": lambda _: "> ",
}
BACKS: dict[str, Callable[[int], str]] = {
    "numbers": lambda n: f"  {n}",
    "bar": lambda _: " |",
    "erased": lambda _: "\x1b[K",
    "Windows": lambda _: "\r",
}
BOXES = {
    "help": b"-" * 74
    + b"\nWARNING: a process of this job does not\nfind its adapter.\n\n  Local host: n1\n"
    + b"-" * 74
    + b"\n",
    "trace": b"[n1:04711] *** Process received signal ***\n"
    + b"".join(b"[n1:04711] [ %d] /lib64/libmpi.so.1(fn%d+0x10) [0x7f0000]\n" % (n, n) for n in range(9)),
    "termination": b"=" * 83
    + b"\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   EXIT CODE: 9\n"
    + b"=" * 83
    + b"\n",
    "text": b"\nsome words\n\nand others\n",
}


def around(text: bytes, front: Callable[[int], str], back: Callable[[int], str]) -> bytes:
    lines = text.removesuffix(b"\n").split(b"\n")
    return b"".join(front(n).encode() + line + back(n).encode() + b"\n" for n, line in enumerate(lines, 1))


def rows_of(log: Log) -> list[Result]:
    """The rows without their lines."""
    records = [record for launch in log.launches for record in launch.records()]
    return [msgspec.structs.replace(record, line=None) for record in records if isinstance(record, Result)]


def nothing(_: int) -> str:
    return ""


@pytest.mark.parametrize("back", ["", *BACKS])
@pytest.mark.parametrize("front", ["", *FRONTS])
def test_text_around_each_line_changes_no_row(front: str, back: str) -> None:
    for name in ("mpi1-np2", "groups", "osu 0", "osu 1"):
        text = TEXTS[name]
        log = parse(around(text, FRONTS.get(front, nothing), BACKS.get(back, nothing)), "log")
        assert rows_of(log) == rows_of(parse(text, "log")), name
        assert not log.problems, name


def test_a_part_of_a_log_has_its_tag_twice() -> None:
    """It was pasted from a log of another launch, tags included."""
    front = FRONTS["mpirun -tag-output"]
    log = parse(around(OSU + around(PINGPONG, front, nothing), front, nothing), "log")
    assert rows_of(log) == rows_of(parse(OSU + PINGPONG, "log"))


def padded(line: int, first: int) -> str:
    """The front of dmesg, 100 s at line `first`."""
    return f"[{line - first + 100:12.6f}] "


def test_a_padded_time_before_lines_gets_another_digit() -> None:
    """dmesg pads its seconds with blanks; from some line on they have a blank less."""
    for first in range(1, NOTED.count(b"\n") + 2):
        log = parse(around(NOTED, partial(padded, first=first), nothing), "log")
        assert rows_of(log) == rows_of(parse(NOTED, "log")), first
        assert not log.problems and not log.notes, first


def test_colors_change_no_row() -> None:
    for name, text in TEXTS.items():
        log = parse(around(text, lambda _: "\x1b[1;32m", lambda _: "\x1b[0m"), "log")
        assert rows_of(log) == rows_of(parse(text, "log")), name


@pytest.mark.parametrize(
    ("name", "boxes"),
    [
        ("ext-np4-multi1", [(60, "text"), (61, "termination")]),
        ("rma-np4", [(1, "termination"), (34, "termination")]),
        ("mpi1-np6-map2x3-multi0", [(3, "help"), (14, "help")]),
    ],
)
def test_what_is_between_two_messages_is_in_neither(name: str, boxes: list[tuple[int, str]]) -> None:
    lines = TEXTS[name].splitlines(keepends=True)
    for place, kind in boxes:
        lines.insert(place, BOXES[kind])
    assert rows_of(parse(b"".join(lines), "log")) == rows_of(parse(TEXTS[name], "log"))


@settings(max_examples=60)
@given(st.data())
def test_a_disturbed_log_loses_no_row_in_silence(data: st.DataObject) -> None:
    text = TEXTS[data.draw(st.sampled_from(sorted(name for name in TEXTS if len(TEXTS[name]) < 10_000)))]
    before = rows_of(parse(text, "log"))
    lines = text.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(0, 2))):
        lines.insert(data.draw(st.integers(0, len(lines))), BOXES[data.draw(st.sampled_from(sorted(BOXES)))])
    front = FRONTS.get(data.draw(st.sampled_from(["", *FRONTS])), nothing)
    back = BACKS.get(data.draw(st.sampled_from(["", *BACKS])), nothing)
    log = parse(around(b"".join(lines), front, back), "log")
    assert log.problems or rows_of(log) == before
