"""Reads the table of simple_halo, which IMB-HALO and IMB-P2P print in the same format.

It has no header row. A unit follows each number: `4(x4)(bytes) 2.61713(usec) 6.11358(Mb/s)`. IMB-P2P adds the
group, the precision and the defects in the same way, and prints failures as comment lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from imb.model.catalog import kind_of
from imb.model.records import Failure
from imb.readers.imb_rows import Rows, failure_of, quantiles_of
from imb.readers.parsed_log import Head, LoggedLaunch, lacks_time, megabyte_of, number, time_problem

BENCHMARK = "simple_halo"
MARK = b"simple_halo (processes:"  # in the title
_LENGTH = r"(?P<bytes>\d{1,18})\(x(?P<messages>\d{1,12})\)\(bytes\)"
_ROW = re.compile(_LENGTH + r"(?P<figures>(?: +[^\s()]{1,40}\([^\s()]{1,20}\)){2,})")
_FIGURE = re.compile(r"([^\s()]+)\(([^\s()]+)\)")
_FAILURE = re.compile(r"# " + _LENGTH + r" (?P<words>.+)")
_BROKEN = re.compile(r"\d+\(")
_COLUMNS = {"usec": "t", "Mb/s": "mbytes/sec", "group": "group", "+-%": "+-", "defects": "defects"}


class LabeledRow(NamedTuple):
    """The cells of a line in the units of the table. `unit`: bytes in a megabyte, or None if the row does not tell."""

    columns: tuple[str, ...]
    values: list[float | int | None]
    unit: float | None


def labeled_row(text: str) -> LabeledRow | None:
    """The row in a line without blanks around it, or None if the line is not a row."""
    match = _ROW.fullmatch(text)
    if match is None:
        return None
    figures = [(_COLUMNS.get(unit), word) for word, unit in _FIGURE.findall(match["figures"])]
    names = [name for name, _ in figures if name]
    if len(names) < len(figures) or len(set(names)) < len(names) or names[:2] != ["t", "mbytes/sec"]:
        return None
    columns = ("bytes", *names)
    try:
        values = [int(match["bytes"]), *(number(word, name) for name, word in figures if name)]
    except ValueError:
        return None
    return LabeledRow(columns, values, _unit(int(match["messages"]), *values[:3]))


def _unit(
    messages: int, length: float | int | None, t: float | int | None, rate: float | int | None
) -> float | None:
    if not length or not t or not rate:
        return None
    return megabyte_of(messages * length / (t * 1e-6), rate)


def labeled_failure(text: str, head: Head, line: int) -> Failure | None:
    """The failure in a comment line in place of a row; None for other lines."""
    match = _FAILURE.fullmatch(text)
    return failure_of(f"{match['bytes']} {match['words']}", ("bytes",), head, line) if match else None


class RowsPosition(NamedTuple):
    """The position `at` at which the rows of a table begin; `line`: the line number of its title."""

    text: bytes
    at: int
    line: int


def _line_at(text: bytes, at: int) -> tuple[str, int]:
    """The line that begins at byte `at`, without blanks around it, and the position of the next line."""
    stop = text.find(b"\n", at)
    stop = len(text) if stop < 0 else stop
    return text[at:stop].decode("utf-8", "replace").strip(), stop + 1


def head_at(text: bytes, mark: int) -> tuple[int, int]:
    """The positions of the title that contains position `mark`, and of its first row."""
    title_at = text.rfind(b"\n", 0, mark) + 1
    _, rows_at = _line_at(text, title_at)
    while rows_at < len(text):
        line, next_at = _line_at(text, rows_at)
        if not line.startswith("#") or _FAILURE.fullmatch(line):
            break
        rows_at = next_at
    return title_at, min(rows_at, len(text))


def read_table(
    place: RowsPosition,
    heads: tuple[Head, Head],
    launch: LoggedLaunch,
    at_line: int,
    problem: Callable[[int, str], None],
) -> int:
    """Reads the rows, of which the first is at line `at_line`; returns their end. `heads`: the head for rows without a group, and for rows with
    one."""
    rows, at = Rows(heads[0], (), place.line), place.at
    while at < len(place.text):
        text, next_at = _line_at(place.text, at)
        if row := labeled_row(text):
            if row.columns != rows.columns:
                rows.move_to(launch)
                rows = Rows(heads["group" in row.columns], row.columns, place.line)
            rows.add(row.values)
            _take_unit(launch, row.unit)
            if lacks_time(row.values, row.columns, text.replace("(", " (")):
                problem(at_line, time_problem(text))
        elif failure := labeled_failure(text, heads[0], at_line):
            failure.kind = kind_of(heads[0].benchmark, launch.run.component)
            rows.move_to(launch)
            launch.items.append(failure)
        elif text[:1] == "[" and rows.values and (quantiles := quantiles_of(text)) is not None:
            rows.quantiles[len(rows.values) - 1] = quantiles
        elif _BROKEN.match(text):
            torn = next_at > len(place.text)
            message = "incomplete last row" if torn else f"not a row of {BENCHMARK}: {text[:60]!r}"
            problem(at_line, f"{message}; skipped")
        elif text and not rows.take_note(text, launch):
            if text[:1] == "#" or not _rows_soon(place, next_at):
                break
            problem(at_line, f"not a row of {BENCHMARK}: {text[:60]!r}; skipped")
        at_line, at = at_line + 1, next_at
    rows.move_to(launch)
    return min(at, len(place.text))


def _rows_soon(place: RowsPosition, at: int) -> bool:
    """Whether a row of the same table follows within five lines."""
    for _ in range(5):
        text, at = _line_at(place.text, at)
        if text[:1] == "#" or at > len(place.text):
            return False
        if labeled_row(text):
            return True
    return False


def _take_unit(launch: LoggedLaunch, unit: float | None) -> None:
    """Sets the launch's bytes in a megabyte from a row, unless the launch states them."""
    run = launch.run
    if unit is not None and run.option("mbyte", float) is None:
        run.set_option("mbyte", unit)
