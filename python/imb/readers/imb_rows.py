"""Reads the lines of a table of IMB: its header, its rows, and other lines between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from imb.model.records import QUANTILES, Failure, FailureCause
from imb.readers.parsed_log import CELL, FIELDS, Head, LoggedLaunch, Stretch, arrays_of, number

MARK = b"#rep"  # "#repetitions" in every table; "#rep.s" in the oldest
_ALIASES = {"rep.s": "repetitions", "mb/sec": "mbytes/sec", "mbyte/sec": "mbytes/sec", "msgs/sec": "msg/sec"}
CAUSES: tuple[tuple[str, FailureCause], ...] = (
    ("out-of-mem", "out_of_memory"),
    ("int-overflow", "int_overflow"),
    ("time-out", "time_out"),
    ("out-of-space", "no_space"),
    ("io-error", "io_error"),
    ("over-budget", "over_budget"),
    ("no-answer", "no_answer"),
    ("clock-set", "clock_set"),
)
_NEEDED = re.compile(r"needed X=\s*([\d.]+)\s*GB")
_FREE = re.compile(r"free\s+([\d.]+)\s*GB")
# A note after a table that was measured in passes; cells of rows have the same content.
PASSES_NOTE = re.compile(
    r"# note: (?:\d+ of \d+ rows? missed |samples at several levels in |(?:group \d+: )?the machine changed between "
    r"|\d+ rows? with too few samples |\d+ rows? from the samples of a launch that was cut off)"
)
_DRIFT = re.compile(
    r"# note: (?:(?:(?P<bytes>\d+) B)?(?:, )?(?:group (?P<group>\d+))?: )?"
    r"CPU load ran (?P<percent>\d+) % (?P<how>slower|faster) than calibrated"
)

_IN_FLIGHT = re.compile(r"# note: (?P<bytes>\d+) B: (?P<messages>\d{1,9}) messages? in flight instead of ")


Cells: TypeAlias = Sequence[float | int | None]  # of a row


class Header(NamedTuple):
    """The line above a table's rows. `tagged`: it has text before the first column or after the last one."""

    columns: tuple[str, ...]
    tagged: bool = False


class Rows:
    """Collects rows that are read one by one, to become a stretch."""

    def __init__(self, head: Head, columns: tuple[str, ...], line: int) -> None:
        self.head, self.columns, self.line = head, columns, line
        self.clear()

    def clear(self) -> None:
        self.values: list[list[float | int | None]] = []
        self.quantiles: dict[int, dict[str, float | None]] = {}

    def add(self, row: list[float | int | None]) -> None:
        self.values.append(row)

    def take_note(self, text: str, launch: LoggedLaunch) -> bool:
        """Takes a comment line about a row of this table. Returns False if the line is not such a note.

        OpenIMB prints these notes after the blank line at the end of the table, with the row's message size and group.
        """
        if PASSES_NOTE.match(text):
            return True
        if match := _IN_FLIGHT.match(text):
            return self._take_in_flight(int(match["bytes"]), int(match["messages"]), launch)
        if not (match := _DRIFT.match(text)):
            return False
        self.move_to(launch)
        target = [int(match[name]) if match[name] else None for name in ("bytes", "group")]
        for stretch in self._parts_in(launch):
            drift = stretch.load_drift or {}
            for i, row in enumerate(stretch.rows()):
                cells = dict(zip(stretch.columns, row, strict=True))
                if [cells.get("bytes"), cells.get("group")] == target and i not in drift:
                    stretch.load_drift = drift | {i: _drift_of(match)}
                    return True
        return False

    def _take_in_flight(self, length: int, messages: int, launch: LoggedLaunch) -> bool:
        """Takes a note about the rows of all groups with this message size. Returns False if there are none."""
        self.move_to(launch)
        known = False
        for stretch in self._parts_in(launch):
            lengths = [dict(zip(stretch.columns, row, strict=True)).get("bytes") for row in stretch.rows()]
            in_flight = {i: messages for i, row_length in enumerate(lengths) if row_length == length}
            stretch.in_flight = (stretch.in_flight or {}) | in_flight
            known = known or bool(in_flight)
        return known

    def _parts_in(self, launch: LoggedLaunch) -> list[Stretch]:
        """The parts of this table in the launch, in order; failure rows divide a table into parts."""
        parts: list[Stretch] = []
        for item in reversed(launch.items):
            if isinstance(item, Stretch):
                if item.line != self.line:
                    break
                parts.insert(0, item)
        return parts

    def move_to(self, launch: LoggedLaunch) -> None:
        if not self.values:
            return
        arrays = arrays_of(self.columns, self.values)
        stretch = Stretch(self.head, self.columns, self.line, arrays)
        stretch.quantiles = self.quantiles or None
        launch.items.append(stretch)
        self.clear()


def _drift_of(match: re.Match[str]) -> float:
    return (1 if match["how"] == "slower" else -1) * int(match["percent"]) / 100


def header_of(row: bytes) -> Header | None:
    """The columns that a line names, or None if the line is not a header."""
    text = row.decode("utf-8", "replace")
    first = text.find("#bytes") if "#bytes" in text else text.find(MARK.decode())
    if (group := re.search(r"\bGroup\s+$", text[:first])) is not None:
        first = group.start()
    names = [_column_of(token) for token in text[first:].split()]
    columns = tuple(takewhile(FIELDS.__contains__, names))
    if len(columns) < 2 or len(set(columns)) < len(columns):
        return None
    return Header(columns, tagged=len(columns) < len(names) or bool(text[:first].strip()))


def _column_of(token: str) -> str:
    name = re.sub(r"\[(usec|µsec|μsec|%)\]$", "", token.lstrip("#")).lower()
    return _ALIASES.get(name, name)


def further_columns(line: bytes, columns: tuple[str, ...]) -> tuple[str, ...]:
    """If a mail program has wrapped a heading: the columns in the line after it. Empty if that line names no columns."""
    names = tuple(_column_of(token) for token in line.decode("utf-8", "replace").split() if token[0] != "#")
    fits = names and set(names) <= FIELDS.keys() - set(columns) and len(set(names)) == len(line.split())
    return names if fits else ()


def row_of(words: str, columns: tuple[str, ...]) -> list[float | int | None] | None:
    """The cells of a line, in the units of the table, or None if the line is not a row with these columns."""
    tokens = words.split()
    if len(tokens) != len(columns):
        if len(words) != CELL * len(columns):
            return None
        # If a number fills its cell, there is no blank before it.
        tokens = [words[i : i + CELL].strip() for i in range(0, len(words), CELL)]
    try:
        return [number(token, name) for token, name in zip(tokens, columns, strict=True)]
    except ValueError:
        return None


def continues_rows(last: Cells, row: Cells, columns: tuple[str, ...]) -> bool:
    """Whether `row` may follow `last` in a table: its message size is larger, or is equal in a table with groups."""
    if "bytes" not in columns:
        return False
    last_bytes, row_bytes = (each[columns.index("bytes")] or 0 for each in (last, row))
    return row_bytes > last_bytes or (row_bytes == last_bytes and "group" in columns)


def quantiles_of(text: str) -> dict[str, float | None] | None:
    """The quantiles in seconds from a line of -show_tail, which has twelve times in microseconds; None for other lines."""
    if not text.endswith("]"):
        return None
    try:
        times = [number(token, "t") for token in text[1:-1].split(",")]
    except ValueError:
        return None
    if len(times) != len(QUANTILES):
        return None
    return {name: None if t is None else t / 1e6 for name, t in zip(QUANTILES, times, strict=True)}


def failure_of(text: str, columns: tuple[str, ...], head: Head, line: int) -> Failure | None:
    """The failure in a row such as `out-of-mem`; None for other lines."""
    cause = next((cause for words, cause in CAUSES if words in text), None)
    leading = re.match(r"[\d\s]*", text)
    tokens = leading[0].split() if leading else []
    if cause is None or len(tokens) > len(columns) or any(len(token) > 18 for token in tokens):
        return None
    cells = [int(token) for token in tokens]
    if "group" in columns and len(cells) > 1:
        cells = cells[1:]
    needed_bytes, free_bytes = (_gigabytes(pattern.search(text)) for pattern in (_NEEDED, _FREE))
    return Failure(
        **head.place(),
        bytes=cells[0] if cells and "bytes" in columns else None,
        cause=cause,
        needed_bytes=needed_bytes if cause in ("out_of_memory", "no_space") else None,
        free_bytes=free_bytes if cause == "no_space" else None,
        detail=text[leading.end() if leading else 0 :].removeprefix("io-error.; ")[:300],
        line=line,
    )


def _gigabytes(match: re.Match[str] | None) -> int | None:
    try:
        return round(float(match[1]) * 2**30) if match else None
    except (ValueError, OverflowError):
        return None
