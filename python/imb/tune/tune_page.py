"""The page of `imb tune`: verdict, settings that switch the file on, a heat map of all cells."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from imb.model.units import count_of, size
from imb.report.marks import interval_text
from imb.report.page import creation_time, render_template
from imb.tune.cells import DEFAULT
from imb.tune.search import CellResult, TuneResult
from imb.tune.tune_text import headline, notes, screened_lines

_SHADES = ((1.5, "f3"), (1.2, "f2"), (1.0, "f1"))  # least speedup of each shade


def tuning_page(
    result: TuneResult, margin: float, *, mpi: str, session: str, verify: bool, now: datetime | None = None
) -> str:
    """The page as one HTML file that loads nothing."""
    groups = list(dict.fromkeys((each.cell.collective, each.cell.ranks) for each in result.cells))
    lengths = sorted({each.cell.bytes for each in result.cells})
    cells = {(each.cell.collective, each.cell.ranks, each.cell.bytes): each for each in result.cells}
    good = bool(result.changed_cells()) and not result.slower and not result.stopped
    slug = "slower" if result.slower else "inconclusive" if result.stopped else "faster" if good else "same"
    word, *more = re.split("[:,;] ", headline(result, margin, verify=verify), maxsplit=1)
    page: dict[str, Any] = {
        "title": f"Tuning of {mpi}",
        "subtitle": f"session {session}; {count_of(len(result.cells), 'cell')}",
        "slug": slug,
        "mark": {"slower": "✗", "inconclusive": "?", "faster": "✓"}.get(slug, "="),
        "word": word,
        "sentence": "".join(more),
        "contents": [("Verdict", "verdict"), ("Cells", "cells"), ("Notes", "notes")],
        "switch": [f"{name}={value}" for name, value in result.switch.environment.items()]
        if result.switch
        else [],
        "caption": "What the file has in each cell, with the speedup over no file and its interval",
        "columns": [f"{name}, {count_of(ranks, 'rank')}" for name, ranks in groups],
        "rows": [
            {"title": size(length), "cells": [_cell(cells.get((*group, length))) for group in groups]}
            for length in lengths
        ],
        "legend": "Shaded: confirmed to be faster, from 1, 1.2 and 1.5 times on. An interval is at the level of the test of its cell."
        " In brackets: what was tried and not confirmed.",
        "screened": list(screened_lines(result)),
        "notes": list(notes(result)),
        "made": creation_time(now),
    }
    return render_template("tune.html.j2", page, {}, drawn=False, package="imb.tune")


def _cell(outcome: CellResult | None) -> dict[str, str] | None:
    if outcome is None:
        return None
    judged, sub = outcome.judged, ""
    if judged and judged.pairs and (outcome.chosen != DEFAULT or outcome.tried != DEFAULT):
        sub = f"{judged.speedup:.2f}x {interval_text(judged.low, judged.high)}"
    if outcome.chosen == DEFAULT:
        shade = "l2" if judged and judged.verdict == "slower" else ""
        return {
            "shade": shade,
            "text": "default" if outcome.tried == DEFAULT else f"({outcome.tried})",
            "sub": sub,
        }
    speedup = judged.speedup if judged else 0.0
    shade = next((name for least, name in _SHADES if speedup >= least), "l2")
    return {"shade": shade, "text": str(outcome.chosen), "sub": sub}
