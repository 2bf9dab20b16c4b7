"""The table of simple_halo: of IMB-HALO, and of IMB-P2P, which prints the same lines.

It has no header row. Each figure has its unit behind it: `4(x4)(bytes) 2.61713(usec) 6.11358(Mb/s)`. IMB-P2P adds the
group, the precision and the defects in the same way, and prints failures as comment lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from imb.logs.imb_rows import failure_of
from imb.logs.table import Head, number
from imb.model.records import Failure

MARK = b"simple_halo (processes:"  # in the title
_LENGTH = r"(?P<bytes>\d{1,18})\(x(?P<messages>\d{1,12})\)\(bytes\)"
_ROW = re.compile(_LENGTH + r"(?P<figures>(?: +[^\s()]{1,40}\([^\s()]{1,20}\)){2,})")
_FIGURE = re.compile(r"([^\s()]+)\(([^\s()]+)\)")
_FAILURE = re.compile(r"# " + _LENGTH + r" (?P<words>.+)")
_BROKEN = re.compile(r"\d+\(")
_COLUMNS = {"usec": "t", "Mb/s": "mbytes/sec", "group": "group", "+-%": "+-", "defects": "defects"}


class LabeledRow(NamedTuple):
    """The cells of a line in the units of the table. `unit`: bytes of a megabyte; None where the row is not decisive."""

    columns: tuple[str, ...]
    values: list[float | int | None]
    unit: float | None


def row_of(text: str) -> LabeledRow | None:
    """None where the line, blanks cut, is no row."""
    found = _ROW.fullmatch(text)
    if found is None:
        return None
    figures = [(_COLUMNS.get(unit), word) for word, unit in _FIGURE.findall(found["figures"])]
    names = [name for name, _ in figures if name]
    if len(names) < len(figures) or len(set(names)) < len(names) or names[:2] != ["t", "mbytes/sec"]:
        return None
    columns = ("bytes", *names)
    try:
        values = [int(found["bytes"]), *(number(word, name) for name, word in figures if name)]
    except ValueError:
        return None
    return LabeledRow(columns, values, _unit(int(found["messages"]), *values[:3]))


def _unit(
    messages: int, length: float | int | None, t: float | int | None, rate: float | int | None
) -> float | None:
    if not length or not t or not rate:
        return None
    exact = messages * length / (t * 1e-6)
    return next((unit for unit in (1e6, 2.0**20) if abs(exact / unit / rate - 1) < 0.01), None)


def labeled_failure(text: str, head: Head, line: int) -> Failure | None:
    """A comment line in place of a row; None for other lines."""
    found = _FAILURE.fullmatch(text)
    return failure_of(f"{found['bytes']} {found['words']}", ("bytes",), head, line) if found else None


def begins_row(text: str) -> bool:
    """Whether a line seems to have been a row."""
    return _BROKEN.match(text) is not None


def ends_head(text: str) -> bool:
    """Whether a line below the title is no part of the head."""
    return not text.startswith("#") or _FAILURE.fullmatch(text) is not None
