"""Reports lines of a log of IMB that were not read. Lines that look like results become problems, one per block; others become notes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from imb.model.records import Problem
from imb.model.units import count_of
from imb.readers.imb_rows import CAUSES, row_of

_WHOLE = re.compile(r"\d{1,18}")
_ROW = re.compile(
    r"(?:^|\s)\d{1,18}\s+\d{1,18}(?:\s+\d{1,12}\.\d\d)+(?:\s|$)"
    r"|(?:^|\s)\d{1,18}\(x\d{1,12}\)\(bytes\) +[\d.]+\(usec\)"
    rf"|^\d[\d\s]{{0,60}}\s(?:{'|'.join(name for name, _ in CAUSES)})\b"
)
_FIGURE = re.compile(r"\d{1,12}\.\d{2}")
_CELL = re.compile(r"\d+([.,]\d+)?")
_MOST = 1000  # most notes or problems of one file; further ones are only counted
_NEAR = 3  # most lines between rows of one block, since output of several ranks alternates
_FEWEST = 3  # least number of cells of a row without a heading

_Item = TypeVar("_Item")


class UnreadRow(NamedTuple):
    """A line that looks like a row. `heading`, `columns`: line number and columns of the heading above it, or 0 and () if there is none."""

    line: int
    heading: int
    columns: tuple[str, ...]
    text: str

    def move_lines(self, line: Callable[[int], int]) -> UnreadRow:
        """The row with line numbers converted by `line`."""
        return self._replace(line=line(self.line), heading=line(self.heading))


def is_damaged(text: str) -> bool:
    """Whether a line that is not a row seems to have been one: at least 90 % of it are digits, dots, commas and blanks."""
    plain = sum(c in "0123456789., " for c in text)
    return len(text.split()) > 1 and any(c.isdigit() for c in text) and plain >= 0.9 * len(text)


def is_broken(text: str) -> bool:
    """Whether a line within a table seems to be a row with other text inserted."""
    tokens = text.split()
    return len(tokens) > 1 and bool(_WHOLE.fullmatch(tokens[0]) and _FIGURE.fullmatch(tokens[-1]))


def looks_like_row(text: str) -> bool:
    """Whether a line outside of tables seems to contain a row: whole numbers followed by numbers with two decimals, or a failure row."""
    if "." not in text and "-" not in text:  # a quick test that covers nearly all lines
        return False
    if _ROW.search(text):
        return True
    tokens = text.split()
    if len(tokens) < _FEWEST or not _WHOLE.fullmatch(tokens[0]) or not _FIGURE.fullmatch(tokens[-1]):
        return False
    return all(_WHOLE.fullmatch(token) or _FIGURE.fullmatch(token) for token in tokens)


def problems_of(name: str, rows: Iterable[UnreadRow]) -> list[Problem]:
    """The problems of a file: one for all rows with a decimal comma, one for each block of other rows."""
    ordered = sorted(set(rows))
    commas = [row for row in ordered if _has_decimal_comma(row)]
    problems = []
    if commas:
        have = "has" if len(commas) == 1 else "have"
        message = f"{count_of(len(commas), 'row')} {have} a decimal comma: {commas[0].text[:60]!r}; skipped: replace commas by points"
        problems.append(Problem(name, commas[0].line, message, len(commas)))
        ordered = [row for row in ordered if not _has_decimal_comma(row)]
    blocks: list[list[UnreadRow]] = []
    for row in ordered:
        last = blocks[-1][-1] if blocks else None
        if last and last.heading == row.heading and row.line - last.line <= _NEAR:
            blocks[-1].append(row)
        else:
            blocks.append([row])
    problems += [_problem(name, block) for block in blocks]
    return sorted(problems, key=lambda problem: problem.line)


def _problem(name: str, block: Sequence[UnreadRow]) -> Problem:
    first, last = block[0], block[-1]
    if len(block) == 1:
        message = f"not a row of {len(first.columns)} columns" if first.heading else "a row without a heading"
        return Problem(name, first.line, f"{message}: {first.text[:60]!r}; skipped")
    rows = f"lines {first.line}-{last.line}: {len(block):,} rows"
    message = f"do not fit the heading of line {first.heading}" if first.heading else "without a heading"
    return Problem(name, first.line, f"{rows} {message}; skipped", len(block))


def _has_decimal_comma(row: UnreadRow) -> bool:
    return (
        "," in row.text
        and "." not in row.text
        and bool(row.columns)
        and row_of(row.text.replace(",", "."), row.columns) is not None
    )


def separator_in(text: bytes) -> tuple[int, str] | None:
    """The number of the first line with numbers in columns separated by semicolons or commas, as in CSV, and that separator. None if the first
    MiB has no such line."""
    lines = text[: 2**20].decode(errors="replace").splitlines()
    for sign in ";,":  # semicolon first, since a comma may be a decimal comma
        for number, line in enumerate(lines, 1):
            cells = [cell.strip(' "') for cell in line.split(sign)]
            if len(cells) >= _FEWEST and sum(map(bool, map(_CELL.fullmatch, cells))) >= _FEWEST - 1:
                return number, sign
    return None


def notes_of(
    name: str, lines: Sequence[tuple[int, str]], line_of: Callable[[int], int], more: int = 0
) -> list[Problem]:
    """A note for each skipped line. `lines`: (position in the file, text), in order; `line_of`: converts a position to a line number; `more`: the
    number of further skipped lines."""
    notes = [Problem(name, line_of(at), f"skipped: {text[:100]}") for at, text in lines[:_MOST]]
    if (more := more + max(0, len(lines) - _MOST)) > 0:
        notes.append(Problem(name, 0, f"skipped: {more} more lines"))
    return notes


def items_outside(
    spans: Sequence[tuple[int, int]], items: Iterable[_Item], place_of: Callable[[_Item], int]
) -> list[_Item]:
    """The items whose place (a line number or position) is outside of all spans. Spans are sorted pairs of the first place and the place after
    the last one."""
    firsts = [first for first, _ in spans]

    def is_inside(place: int) -> bool:
        number = bisect_right(firsts, place)
        return number > 0 and place < spans[number - 1][1]

    return [item for item in items if not is_inside(place_of(item))]


def limit_problems(problems: list[Problem]) -> list[Problem]:
    """The first of these problems, and the number of the others."""
    if (more := len(problems) - _MOST) <= 0:
        return problems
    return [*problems[:_MOST], Problem(problems[0].file, 0, f"{more} more problems like these")]
