"""Variance components of a side: a short block, and a table of rows."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from imb.judge.remedies import PARTS, limits, notes, percent, remedy, share, verdict
from imb.judge.usual import words
from imb.judge.variance import RowParts, Variance
from imb.model.units import counted, decimal

ROW_HEADINGS = ("bytes", "launches", "t µs", "± %", "within %", "states %", "launches %")


def block(found: Variance, *, told: Collection[str] = ()) -> list[str]:
    """Lines: the components, the largest one, how to reduce it, notes. `told`: rules of a diagnosis that have printed
    some of this already; it is omitted."""
    left_out = set(words(found.unusual)) if "usual-state" in told else set()
    rows = [row for row in found.rows if row.launches]
    if not rows or not found.parts:
        return [f"! {line}" for line in words(found.unusual) if line not in left_out]
    noted = [f"! {line}" for line in notes(found) if line not in left_out]
    lines = [
        f"Variance components: standard deviation, median of {counted(len(rows), 'row')}"
        f" of {counted(found.all_launches, 'launch')}; worst row"
    ]
    titles = {part.name: PARTS[part.name] for part in found.parts}
    width = max(map(len, titles.values()), default=0)
    for part in found.parts:
        wide = (
            f" (95 % interval ±{share(found.half_width)})"
            if part.name == "within" and found.half_width
            else ""
        )
        worst = f"; {percent(part.worst)}: {part.worst_row!s}" if part.worst > part.typical else ""
        lines.append(f"  {titles[part.name]:{width}}  {percent(part.typical):>7}{wide}{limits(part)}{worst}")
    said = " ".join(filter(None, map(_sentence, (verdict(found, figures=False), remedy(found)))))
    return [*([] if "variance" in told else [*lines, said]), *noted]


def tables(found: Variance) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Of each curve its title and lines of ROW_HEADINGS: median of launches, half width of a launch's interval, parts."""
    made = []
    for curve, rows in groupby(found.rows, key=lambda row: row.key.curve()):
        made.append((str(curve), [_line(row) for row in rows]))
    return made


def _line(row: RowParts) -> tuple[str, ...]:
    def cell(value: float | None) -> str:
        return "" if value is None else percent(value).removesuffix(" %")

    return (
        "" if row.key.bytes is None else str(row.key.bytes),
        str(row.launches),
        "" if row.seconds is None else decimal(row.seconds * 1e6),
        "" if row.half_width is None else f"{row.half_width * 100:.2f}",
        cell(row.within),
        cell(row.states),
        cell(row.between),
    )


def _sentence(text: str | None) -> str | None:
    return f"{text[0].upper()}{text[1:]}." if text else None
