"""The tables of IMB 3.x to 2021 and of OpenIMB, in logs or inside other text.

The way: find header rows (they hold "#repetitions"), read the lines above one as its head, and take the rows below
it as one block where they are regular, line by line where they are not. What stands above a table repeats all over a
log, so its meaning is remembered by its bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from imb.logs import preamble as above
from imb.logs.catalogue import KNOWN, component_of, kind_of
from imb.logs.plain import columns_of
from imb.logs.table import CELL, FIELDS, WHOLE, Head, Launch, Log, Stretch, number
from imb.records import (
    QUANTILES,
    Cause,
    Component,
    Element,
    End,
    Failure,
    Mpi,
    Multi,
    Options,
    Platform,
    Problem,
    Run,
)

FORMAT = "imb"
MARK = b"#rep"  # "#repetitions" in every table; "#rep.s" in the oldest
_ALIASES = {"rep.s": "repetitions", "mb/sec": "mbytes/sec", "mbyte/sec": "mbytes/sec", "msgs/sec": "msg/sec"}
_PART: dict[str, Component] = {
    "MPI-1": "MPI1",
    "MPI-2": "EXT",
    "MPI-IO": "IO",
    "MPI-NBC": "NBC",
    "MPI-RMA": "RMA",
}
_CAUSES: tuple[tuple[str, Cause], ...] = (
    ("out-of-mem", "out_of_memory"),
    ("int-overflow", "int_overflow"),
    ("time-out", "time_out"),
    ("out-of-space", "no_space"),
    ("io-error", "io_error"),
)
_NEEDED = re.compile(r"needed X=\s*([\d.]+)\s*GB")
_FREE = re.compile(r"free\s+([\d.]+)\s*GB")
_DRIFT = re.compile(r"# The load of the row above ran (\d+) % (slower|faster)")
_MOST_PROBLEMS = 1000  # of one kind in one file; more are counted


class _Header(NamedTuple):
    prefix: bytes  # what stands before each line: quote marks, a launcher's tag; b"" for blanks
    columns: tuple[str, ...]


def looks_like(text: bytes) -> bool:
    """Whether there may be a table or a banner of IMB in it."""
    return MARK in text or b"MPI Benchmark" in text or b"# OpenIMB " in text


def read_many(files: Sequence[tuple[bytes, str]]) -> list[Log]:
    """Every launch in each log. Never fails: what is not understood becomes a problem with its line.

    `files`: text, and the name that problems call it. Many at once are read faster than one by one.
    """
    readers = [_Reader(text, name) for text, name in files]
    for reader in readers:
        reader.scan()
    _convert(readers)
    return [reader.finish() for reader in readers]


def _convert(readers: Sequence[_Reader]) -> None:
    """Turns all blocks into numbers together; those that turn out not to be plain are read again, row by row."""
    alike: dict[tuple[str, ...], list[Stretch]] = {}
    odd: set[int] = set()
    for reader in readers:
        for launch in reader.log.launches:
            for stretch in launch.stretches():
                if stretch.block:
                    alike.setdefault(stretch.columns, []).append(stretch)
    for columns, stretches in alike.items():
        arrays = columns_of([stretch.block for stretch in stretches], columns)
        first = 0
        for stretch in stretches:
            own = arrays or columns_of([stretch.block], columns)
            if own is None:
                odd.add(id(stretch))
                continue
            stretch.arrays, stretch.first = own, first if arrays else 0
            stretch.block = b""
            first += stretch.count
    if odd:
        for reader in readers:
            reader.read_again(odd)


class _Rows:
    """Rows that were read one by one, on their way to a stretch."""

    def __init__(self, head: Head, columns: tuple[str, ...], line: int) -> None:
        self.head, self.columns, self.line = head, columns, line
        self.clear()

    def clear(self) -> None:
        self.values: list[list[float | int | None]] = []
        self.quantiles: dict[int, dict[str, float | None]] = {}
        self.drift: dict[int, float] = {}

    def add(self, row: list[float | int | None]) -> None:
        self.values.append(row)

    def move_to(self, launch: Launch) -> None:
        if not self.values:
            return
        arrays = [
            np.array(
                [math.nan if value is None else value for value in values],
                np.int64 if name in WHOLE else np.float64,
            )
            for name, values in zip(self.columns, zip(*self.values, strict=True), strict=True)
        ]
        stretch = Stretch(self.head, self.columns, self.line, 0, len(self.values), arrays=arrays)
        stretch.quantiles, stretch.load_drift = self.quantiles or None, self.drift or None
        launch.items.append(stretch)
        self.clear()


class _Reader:
    """One pass over one file."""

    def __init__(self, text: bytes, name: str) -> None:
        self.text = text.replace(b"\r\n", b"\n") if b"\r" in text else text
        self.log = Log(name, FORMAT)
        self.launch: Launch | None = None
        self.titles = above.Titles()
        self.pending: list[above.Event] = []  # since the last table
        self.pending_start = 0
        self.closed = False  # the launch at hand has said that it ended
        self.line_at = 0  # line numbers are counted once, along the way
        self.line = 1
        self.passed_over: list[tuple[int, str]] = []
        self.headers: dict[bytes, _Header | None] = {}

    def scan(self) -> None:
        text, at, start = self.text, 0, 0
        while (mark := text.find(MARK, at)) >= 0:
            row_start = text.rfind(b"\n", 0, mark) + 1
            row_end = text.find(b"\n", mark)
            row_end = len(text) if row_end < 0 else row_end
            header = self.header(text[row_start:row_end])
            if header is None:
                at = row_end
                continue
            head = self.read_above(start, row_start, header.prefix)
            start = at = self.table(head, header, row_start, min(row_end + 1, len(text)))
        self.read_above(start, len(text), b"", last=True)

    # --- Lines ---------------------------------------------------------------------------------------

    def line_of(self, at: int) -> int:
        """Number of the line at this byte; cheap as long as bytes are asked for in order."""
        if at < self.line_at:
            self.line_at, self.line = 0, 1
        self.line += self.text.count(b"\n", self.line_at, at)
        self.line_at = at
        return self.line

    def problem(self, line: int, text: str) -> None:
        self.log.problems.append(Problem(self.log.name, line, text))

    def header(self, row: bytes) -> _Header | None:
        """The columns that a header row names; None where the line only talks of #repetitions."""
        if row not in self.headers:
            if len(self.headers) > 1000:
                self.headers.clear()
            self.headers[row] = _header(row)
        return self.headers[row]

    # --- Above a table -------------------------------------------------------------------------------

    def read_above(self, start: int, stop: int, prefix: bytes, *, last: bool = False) -> Head:
        """Reads the text before a table, or behind the last one."""
        found = above.read(self.text[start:stop], prefix)
        if found.events:
            self.events(found.events, start)
        if last:
            self.flush_events(table=False)
            return Head("")
        if self.launch is None or self.pending or self.closed:
            self.flush_events(table=True, at=start)
        return found.head

    def events(self, events: tuple[above.Event, ...], start: int) -> None:
        for event in events:
            if event.kind == "text":
                self.passed_over.append((start + event.at, event.text))
            elif event.kind == "failure":
                self.benchmark_failure(event, start)
            elif event.kind == "end":
                self.flush_events(table=False)
                if self.launch is not None:
                    self.launch.end = End(state=event.state or "complete", reason=event.text or None)
                    self.closed = True
            elif event.kind == "benchmark":
                pass  # in the head
            else:
                if not self.pending:
                    self.pending_start = start + event.at
                elif event.kind == "banner" and any(earlier.kind == "banner" for earlier in self.pending):
                    self.flush_events(table=False)  # a launch without a table
                    self.pending_start = start + event.at
                self.pending.append(event)

    def benchmark_failure(self, event: above.Event, start: int) -> None:
        """`# !! Benchmark X invalid for N processes !!`"""
        if self.launch is None or self.pending:
            self.flush_events(table=True, at=start + event.at)
        assert self.launch is not None
        self.launch.items.append(
            Failure(
                benchmark=event.benchmark,
                kind=kind_of(event.benchmark, self.launch.run.component),
                processes=event.number,
                cause="invalid_processes" if event.number is not None else "unavailable",
                detail=event.text,
                line=self.line_of(start + event.at),
            )
        )

    def flush_events(self, *, table: bool, at: int = 0) -> None:
        """Starts a launch with the events since the last table, if they or a table ask for one."""
        banner = any(event.kind == "banner" for event in self.pending)
        for event in self.pending:
            if event.kind == "title":
                self.titles.enter(event.text, event.style)
        if table or banner:
            start = self.pending_start if self.pending else at
            facts = _facts([event for event in self.pending if event.kind != "title"])
            # A text without launches before it belongs to its first one: nothing of a file is left over.
            self.launch = Launch(
                facts, 0 if not self.log.launches else start, label=self.titles.path(), items=[]
            )
            self.log.launches.append(self.launch)
            self.pending = []
            self.closed = False
        elif not table:
            self.pending = [event for event in self.pending if event.kind != "title"]

    # --- Tables --------------------------------------------------------------------------------------

    def table(self, head: Head, header: _Header, header_at: int, start: int) -> int:
        """Takes the rows from `start`; returns where the table ends."""
        assert self.launch is not None
        line = self.line_of(header_at)
        if not head.benchmark:
            head = head._replace(benchmark="unknown")
            self.problem(
                line, "a table without a line '# Benchmarking NAME'; its benchmark is called unknown"
            )
        grouped = "group" in header.columns
        head = self.with_multi(head, grouped)
        stop = self.text.find(b"#", start)
        stop = len(self.text) if stop < 0 else stop
        if not header.prefix and (stop < len(self.text) or self.text.endswith(b"\n")):
            rows = block = self.text[start:stop].rstrip()
            # A comment that follows a row at once may stand within the table: about that row, or a warning.
            within = stop < len(self.text) and not self.text.startswith(b"\n\n", start + len(rows))
            if grouped:
                block = block.replace(b"\n\n", b"\n").lstrip(b"\n")
            if not within and (count := _regular_rows(block, len(header.columns))):
                self.launch.items.append(Stretch(head, header.columns, line, start, count, block))
                return start + len(rows) + 1
        return self.irregular(head, header, line, start)

    def with_multi(self, head: Head, grouped: bool) -> Head:
        """The head with `multi` as its title, its columns and the command line tell."""
        assert self.launch is not None
        words = self.launch.run.command_line
        return _with_multi(head, grouped, words is not None and "-multi" in words)

    def irregular(self, head: Head, header: _Header, line: int, start: int) -> int:
        """The rows one by one: indented, quoted, mixed with failures, quantiles or other text, or torn."""
        assert self.launch is not None
        rows = _Rows(head, header.columns, line)
        at_line, end, width = line, start, 0
        foreign: list[tuple[int, str]] = []
        blank = False
        at = start
        while at < len(self.text):
            stop = self.text.find(b"\n", at)
            torn = stop < 0
            stop = len(self.text) if torn else stop
            raw = self.text[at:stop]
            at_line += 1
            here, at = at, stop + 1
            words = _without(raw, header.prefix).decode("utf-8", "replace").rstrip()
            text = words.strip()
            if not text:
                blank = True
                continue
            if torn and width and len(words) < width and text[0] in "0123456789":
                self.problem(at_line, "a torn last row; it is left out")
                end = at
                break
            row = _row(words, header.columns)
            if row is not None:
                width = width or len(words)
                rows.add(row)
            elif text[0] == "[" and rows.values and (quantiles := _quantiles(text)) is not None:
                rows.quantiles[len(rows.values) - 1] = quantiles
            elif text[0] == "#" and rows.values and (drift := _DRIFT.match(text)):
                rows.drift[len(rows.values) - 1] = (1 if drift[2] == "slower" else -1) * int(drift[1]) / 100
            elif failure := _failure(text, header.columns, head, at_line):
                failure.kind = kind_of(head.benchmark, self.launch.run.component)
                rows.move_to(self.launch)
                self.launch.items.append(failure)
            elif above.starts_something(text) or (text[0] == "#" and (blank or not rows.values)):
                break
            elif _damaged(text):
                words = f"no row of {len(header.columns)} columns"
                self.problem(at_line, f"{words}: {text[:60]!r}; the line is left out")
            elif blank or len(foreign) >= 5:
                break
            else:
                foreign.append((here, text))
                continue
            self.passed_over.extend(foreign)  # it stood within the table
            foreign.clear()
            blank, end = False, at
        rows.move_to(self.launch)
        return min(end, len(self.text))

    def read_again(self, odd: set[int]) -> None:
        """Replaces the stretches with these ids, which look regular and are not, by what is in them."""
        for launch in self.log.launches:
            items: list[Stretch | Failure] = []
            for item in launch.items:
                if id(item) not in odd or not isinstance(item, Stretch):
                    items.append(item)
                    continue
                self.launch = Launch(launch.run, 0, items=items)
                stop = self.text.find(b"#", item.at)
                stop = len(self.text) if stop < 0 else stop
                end = self.irregular(item.head, _Header(b"", item.columns), item.line, item.at)
                for event in above.read(self.text[end:stop], b"").events:
                    self.passed_over.append((end + event.at, event.text))
            launch.items = items

    # --- The end -------------------------------------------------------------------------------------

    def finish(self) -> Log:
        launches = self.log.launches
        launches[:] = [launch for launch in launches if launch.items or launch.run.program]
        for launch, following in zip_longest(launches, launches[1:]):
            launch.stop = following.start if following else len(self.text)
            self.complete(launch)
        if launches:
            launches[0].start = 0
        self.passed_over.sort()
        for at, text in self.passed_over[:_MOST_PROBLEMS]:
            self.log.notes.append(Problem(self.log.name, self.line_of(at), f"passed over: {text[:100]}"))
        if (more := len(self.passed_over) - _MOST_PROBLEMS) > 0:
            self.log.notes.append(Problem(self.log.name, 0, f"passed over: {more} more lines"))
        if len(self.log.problems) > _MOST_PROBLEMS:
            more = len(self.log.problems) - _MOST_PROBLEMS
            self.log.problems[_MOST_PROBLEMS:] = [
                Problem(self.log.name, 0, f"{more} more problems like these")
            ]
        return self.log

    def complete(self, launch: Launch) -> None:
        """What is known only when all of a launch was read: its component, and the unit of Mbytes/sec."""
        run = launch.run
        if run.component is None:
            run.component = component_of({item.head.benchmark for item in launch.stretches()})
        if run.options is not None and run.options.bytes_per_megabyte is not None:
            launch.bytes_per_megabyte = run.options.bytes_per_megabyte
            return
        unit = _unit_by_version(run) or _unit_by_arithmetic(launch)
        if unit is None and any("mbytes/sec" in stretch.columns for stretch in launch.stretches()):
            line = next(launch.stretches()).line
            self.log.notes.append(
                Problem(
                    self.log.name,
                    line,
                    "no version and no row tells the unit of Mbytes/sec: taken as 2^20 bytes",
                )
            )
        launch.bytes_per_megabyte = unit or 2.0**20
        run.options = run.options or Options()
        run.options.bytes_per_megabyte = launch.bytes_per_megabyte


@lru_cache(maxsize=5000)
def _with_multi(head: Head, grouped: bool, asked_for: bool) -> Head:
    multi: Multi = "each_group" if grouped else head.multi or ("summary" if asked_for else "off")
    return head._replace(multi=multi)


def _header(row: bytes) -> _Header | None:
    words = row.decode("utf-8", "replace")
    first = words.find("#bytes") if "#bytes" in words else words.find(MARK.decode())
    if (group := re.search(r"\bGroup\s+$", words[:first])) is not None:
        first = group.start()
    columns: list[str] = []
    for token in words[first:].split():
        name = re.sub(r"\[(usec|µsec|μsec|%)\]$", "", token.lstrip("#")).lower()
        columns.append(_ALIASES.get(name, name))
    if not set(columns) <= FIELDS.keys() or len(set(columns)) < max(2, len(columns)):
        return None
    prefix = words[:first].strip()
    return _Header(words[:first].rstrip().encode() if prefix else b"", tuple(columns))


def _without(line: bytes, prefix: bytes) -> bytes:
    """The line without quote marks or a tag. Another rank's tag or a lost mark is not cut."""
    if prefix and line.startswith(prefix):
        return line[len(prefix) :]
    return line


def _regular_rows(block: bytes, columns: int) -> int:
    """Number of rows if their widths may be those of a table's rows, else 0. Converting them looks at every byte."""
    width = columns * CELL + 1
    count, rest = divmod(len(block) + 1, width)
    return count if block and not rest and (count == 1 or block[width - 1] == 10) else 0


def _row(words: str, columns: tuple[str, ...]) -> list[float | int | None] | None:
    tokens = words.split()
    if len(tokens) != len(columns):
        if len(words) != CELL * len(columns):
            return None
        # A number that fills its cell touches its neighbour.
        tokens = [words[i : i + CELL].strip() for i in range(0, len(words), CELL)]
    try:
        return [number(token, name) for token, name in zip(tokens, columns, strict=True)]
    except ValueError:
        return None


def _quantiles(text: str) -> dict[str, float | None] | None:
    """The line that -show_tail prints: twelve times in microseconds."""
    if not text.endswith("]"):
        return None
    try:
        times = [number(token, "t") for token in text[1:-1].split(",")]
    except ValueError:
        return None
    if len(times) != len(QUANTILES):
        return None
    return {name: None if t is None else t / 1e6 for name, t in zip(QUANTILES, times, strict=True)}


def _failure(text: str, columns: tuple[str, ...], head: Head, line: int) -> Failure | None:
    cause = next((cause for words, cause in _CAUSES if words in text), None)
    leading = re.match(r"[\d\s]*", text)
    tokens = leading[0].split() if leading else []
    if cause is None or len(tokens) > len(columns) or any(len(token) > 18 for token in tokens):
        return None
    cells = [int(token) for token in tokens]
    if "group" in columns and len(cells) > 1:
        cells = cells[1:]
    needed_bytes, free_bytes = (_gigabytes(pattern.search(text)) for pattern in (_NEEDED, _FREE))
    return Failure(
        benchmark=head.benchmark,
        mode=head.mode,
        multi=head.multi,
        processes=head.processes,
        group_count=head.group_count,
        groups=[list(group) for group in head.groups] if head.groups else None,
        bytes=cells[0] if cells and "bytes" in columns else None,
        cause=cause,
        needed_bytes=needed_bytes if cause in ("out_of_memory", "no_space") else None,
        free_bytes=free_bytes if cause == "no_space" else None,
        detail=text[leading.end() if leading else 0 :].removeprefix("io-error.; ")[:300],
        line=line,
    )


def _gigabytes(found: re.Match[str] | None) -> int | None:
    try:
        return round(float(found[1]) * 2**30) if found else None
    except (ValueError, OverflowError):
        return None


def _damaged(text: str) -> bool:
    """Whether a line that is no row seems to have been one: nearly all of it digits, dots and blanks."""
    plain = sum(c in "0123456789. " for c in text)
    return len(text.split()) > 1 and any(c.isdigit() for c in text) and plain >= 0.9 * len(text)


def _unit_by_version(run: Run) -> float | None:
    """IMB up to 4.x counts 2^20 bytes, from 2018 on 10^6."""
    if not run.program or not (major := re.match(r"\D{0,2}(\d+)", run.version or "")):
        return None
    if run.program == "OpenIMB":
        return 2.0**20
    return 1e6 if int(major[1]) >= 2017 else 2.0**20


def _unit_by_arithmetic(launch: Launch) -> float | None:
    """Which unit makes length / time come out as the Mbytes/sec printed, over rows that tell them apart."""
    votes = {2.0**20: 0, 1e6: 0}
    for stretch in launch.stretches():
        known = KNOWN.get(stretch.head.benchmark)
        time = "t" if "t" in stretch.columns else "t_max"
        if not known or not known.turnover or not {"mbytes/sec", "bytes", time} <= set(stretch.columns):
            continue
        at = [stretch.columns.index(name) for name in ("bytes", time, "mbytes/sec")]
        for row in stretch.rows(last=8):
            length, t, rate = (row[i] or 0 for i in at)
            if t >= 10 and rate >= 10:  # else rounding hides the 4.9 %
                exact = known.turnover * length / (t * 1e-6)
                for unit in votes:
                    votes[unit] += abs(exact / unit / rate - 1) < 0.01
    best = max(votes, key=lambda unit: votes[unit])
    return best if votes[best] > sum(votes.values()) / 2 else None


def _facts(events: list[above.Event]) -> Run:
    """The run record of a launch from its banner and the command seen before it."""
    said: dict[str, str] = {}
    listed: list[str] = []
    run = Run()
    for event in events:
        if event.kind == "banner":
            said["program"], said["version"], said["part"] = event.parts
        elif event.kind == "fact":
            said.setdefault(event.parts[0], event.text)
        elif event.kind == "listed":
            listed.append(event.text)
        elif event.kind in ("command", "calling"):
            said[event.kind] = event.text
    command = said.get("calling") or said.get("command")
    launcher = re.search(r"IMB-(MPI1|EXT|IO|NBC|RMA)\b", command or "")
    run.program, run.version = said.get("program"), said.get("version")
    run.component = _PART.get(said.get("part", "")) or (launcher[1] if launcher else None)  # type: ignore[assignment]
    run.date = _date(said.get("Date"))
    run.command_line = command.split() if command else None
    run.benchmarks = listed or None
    platform = Platform(
        machine=said.get("Machine"),
        system=said.get("System"),
        release=said.get("Release"),
        kernel=said.get("Version"),
    )
    run.platform = platform if platform != Platform() else None
    mpi = Mpi(
        standard=said.get("MPI Version"),
        name=said.get("MPI Library"),
        thread_level=said.get("MPI Thread Environment") or None,
    )
    run.mpi = mpi if mpi != Mpi() else None
    options = Options(
        data=_element(said.get("MPI_Datatype")), reduction=_element(said.get("MPI_Datatype for reductions"))
    )
    if unit := re.match(r"([\d.eE+]+) bytes per second", said.get("Mbytes/sec", "")):
        with suppress(ValueError):
            options.bytes_per_megabyte = float(unit[1])
    if "Settings" in said:
        options.standard_mode = said["Settings"] == "standard mode"
    if "Results" in said:
        options.check = "verified" in said["Results"]
    run.options = options if options != Options() else None
    return run


def _element(said: str | None) -> Element | None:
    if not said or not (found := re.match(r"MPI_(\w+)(?: \((\w+)\))?", said)):
        return None
    return Element(found[1].lower(), found[2] or "base")


def _date(said: str | None) -> str | None:
    """ISO 8601 without a zone, which logs do not tell; as it stands where it is no date of ctime."""
    if not said:
        return None
    try:
        return datetime.strptime(said, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return said
