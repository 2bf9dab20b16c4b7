"""Variance components of a side: a short block, and tables of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from imb.compare.dominant_state import sentences_of
from imb.compare.variance import Name, RowParts, Variance
from imb.compare.variance_text import (
    PARTS,
    advice,
    deviation_number,
    deviation_percent,
    limits,
    notes,
    plus_minus,
    verdict,
)
from imb.model.units import NOT_KNOWN, count_of, decimal, known_width, spread_number

_HEADINGS = ("bytes", "launches", "t µs", "MB/s", "± %", *PARTS.values())
_EMPTY = {"", "0.00"}  # a column with only these cells is left out
_MEDIANS = 5  # number of headings before the variance components
_MEANINGS: dict[Name, str] = {
    "within": "error of a launch's median",
    "launches": "how far apart launches are",
}
_DOMINANT = (
    "dominant state: the fastest phase of the machine that at least one launch of five reached; launches that never"
    " reached it are slower"
)


def block(variance: Variance, *, printed: Collection[str] = ()) -> list[str]:
    """Lines on the components, on the largest one, on what would reduce it, and notes. `printed`: rules of a
    diagnosis that has already printed some of these lines; they are left out."""
    left_out = set(sentences_of(variance.outside_launches)) if "dominant-state" in printed else set()
    rows = [row for row in variance.rows if row.launches]
    if not rows or not (variance.parts or variance.in_passes):
        return [f"! {line}" for line in sentences_of(variance.outside_launches) if line not in left_out]
    noted = [f"! {line}" for line in notes(variance) if line not in left_out]
    heading = (
        f"Spread of times: standard deviation, median of {count_of(len(rows), 'row')}"
        f" of {count_of(variance.all_launches, 'launch')}; worst row"
    )
    lines = [heading] if variance.parts else []
    titles = {part.name: PARTS[part.name] for part in variance.parts}
    width = max(map(len, titles.values()), default=0)
    for part in variance.parts:
        wide = (
            f" (95 % interval {plus_minus(variance.half_width)})"
            if part.name == "within" and variance.half_width
            else ""
        )
        typical, most = deviation_percent(part.typical), deviation_percent(part.worst)
        worst = f"; {most}: {part.worst_row!s}" if part.worst > part.typical and most != typical else ""
        lines.append(f"  {titles[part.name]:{width}}  {typical:>7}{wide}{limits(part)}{worst}")
    sentences = " ".join(filter(None, map(_sentence, (verdict(variance, figures=False), advice(variance)))))
    shown = [*([] if "variance" in printed else [*lines, sentences]), *noted]
    return [*shown, *_explanation(shown)]


def short_block(variance: Variance, *, cause_known: bool) -> list[str]:
    """Lines on the largest component and how to reduce it, unless the cause of the disturbance is known, and
    on launches outside the dominant state."""
    sentences = map(_sentence, (verdict(variance, figures=False), advice(variance)))
    text = " ".join(filter(None, sentences)) if variance.parts and not cause_known else ""
    shown = [*([text] if text else []), *(f"! {line}" for line in sentences_of(variance.outside_launches))]
    return [*shown, *_explanation(shown)]


def _explanation(lines: Sequence[str]) -> list[str]:
    return [_DOMINANT] if any("dominant state" in line for line in lines) else []


class CurveTable(NamedTuple):
    """A table of one curve. `lines` has shape (rows, headings)."""

    title: str
    headings: list[str]
    lines: list[list[str]]


def tables(variance: Variance, *, spread: bool = True) -> list[CurveTable]:
    """A table per curve: medians over launches, their precision, and the variance components if `spread`;
    `legend` explains the columns. Columns that are empty or zero in all rows are left out."""
    columns = range(len(_HEADINGS) if spread else _MEDIANS)
    several = len({row.key.component for row in variance.rows}) > 1
    curves = [
        (f"IMB-{curve.component} {curve}" if several else str(curve), [_line(row) for row in rows])
        for curve, rows in groupby(variance.rows, key=lambda row: row.key.curve())
    ]
    shown = []
    for title, lines in curves:
        kept = [number for number in columns if any(line[number] not in _EMPTY for line in lines)]
        headings = [_HEADINGS[number] for number in kept]
        shown.append(CurveTable(title, headings, [[line[i] for i in kept] for line in lines]))
    return shown


def legend(curves: Iterable[CurveTable]) -> str:
    """The meaning of the columns of `tables`."""
    headings = {heading for curve in curves for heading in curve.headings}
    lines = [line for curve in curves for line in curve.lines]
    unknown = f" ({NOT_KNOWN}: above 100)" if any(NOT_KNOWN in line for line in lines) else ""
    parts = [
        f"t{', MB/s' if 'MB/s' in headings else ''}: median over launches",
        f"± %: half the width of the 95 % interval of their mean{unknown}" if "± %" in headings else "",
        "then spread, as standard deviations in %" if headings.intersection(PARTS.values()) else "",
    ]
    return "; ".join(filter(None, parts))


def meanings(curves: Iterable[CurveTable]) -> list[str]:
    """The meaning of the variance components in `tables`, as one line or none."""
    headings = {heading for curve in curves for heading in curve.headings}
    spread = [f"{PARTS[name]}: {meaning}" for name, meaning in _MEANINGS.items() if PARTS[name] in headings]
    return ["; ".join(spread)] if spread else []


def _line(row: RowParts) -> tuple[str, ...]:
    def cell(value: float | None) -> str:
        return "" if value is None else deviation_number(value)

    return (
        "" if row.key.bytes is None else str(row.key.bytes),
        str(row.launches),
        "" if row.seconds is None else decimal(row.seconds * 1e6),
        "" if row.bytes_per_second is None else decimal(row.bytes_per_second / 1e6),
        ""
        if row.precision is None
        else spread_number(row.precision)
        if known_width(row.precision)
        else NOT_KNOWN,
        cell(row.within),
        cell(row.between),
    )


def _sentence(text: str | None) -> str | None:
    return f"{text[0].upper()}{text[1:]}." if text else None
