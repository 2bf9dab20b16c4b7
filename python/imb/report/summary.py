"""Parts of a page other than charts: verdicts, heat maps, rows that changed, conditions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from imb.compare.bands import NO_LENGTH, band_of
from imb.compare.comparison import BANDS, Band, Comparison, Effect, RowEffect
from imb.compare.condition_diff import Difference, sort_key, values_of, varies_per_launch
from imb.compare.log_speeds import keys_without_band
from imb.model.conditions import BY_ID, condition
from imb.model.observations import Key, Side
from imb.model.units import change_digits, count_of, decimal, list_first, percent_text, size, unit_of
from imb.report.comparison_text import error_rate, verdict_in_words, whole_word
from imb.report.marks import CHANGED, MARKS, WHOLE_MARKS, bracketed_interval, legend, letter, speedup, word_of
from imb.stats.medians import percentiles


def comparison_summary(comparison: Comparison, a: int, b: int) -> dict[str, Any]:
    """A comparison as a sentence, with its heat map and rows. `a`, `b`: numbers of its sides."""
    counts = Counter(word_of(band.effect.verdict, band.effect.speed) for band in comparison.bands)
    counted_verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in MARKS if counts[verdict])
    changed = [
        band
        for band in sorted(comparison.bands, key=lambda band: band.effect.speed)
        if band.effect.verdict in CHANGED
    ]
    extremes = changed[:1] + changed[-1:] if len(changed) > 1 else changed
    named = "; ".join(
        f"{band.curve.benchmark}, {band.band.title}, {speedup(band.effect)} {bracketed_interval(band.effect)}"
        for band in extremes
    )
    whole = whole_word(comparison)
    return {
        "a": letter(a),
        "b": letter(b),
        "slug": whole.replace(" ", "-"),
        "mark": WHOLE_MARKS[whole],
        "word": verdict_in_words(comparison, letter(a), letter(b)),
        "sentence": f"{count_of(len(comparison.bands), 'size band')}: {counted_verdicts or 'none'}."
        + (f" Extremes: {named}." if named else ""),
        "basis": f"{comparison.launches_a} against {count_of(comparison.launches_b, 'launch')}"
        + (", judged in pairs" if comparison.pairs else "")
        + (", launched until decided" if comparison.sequential else "")
        + f"; smallest relevant change {percent_text(comparison.settings.relevant)}. {error_rate(comparison)}".rstrip(),
        "warnings": comparison.warnings,
        "remarks": comparison.remarks,
        "legend": legend(comparison.settings.relevant),
        "intervals": comparison.settings.intervals(),
        "heat": _speed_heat(comparison, letter(a), letter(b)),
        "rows": _rows(comparison),
        "unit": unit_of(comparison.settings.metric)[0],
    }


def _rows(comparison: Comparison) -> list[dict[str, str]]:
    """Rows that changed, the largest change first: old and new median, change in percent (up to a factor of
    two), speedup, verdict."""
    factor = unit_of(comparison.settings.metric)[1]
    changed = [row for row in comparison.rows if row.effect.verdict in CHANGED]
    changed.sort(key=lambda row: -abs(math.log(row.effect.speed)))
    return [
        {
            "name": str(row),
            "a": decimal(row.a * factor),
            "b": decimal(row.b * factor),
            "change": change_digits(row.b / row.a),
            "speedup": f"{speedup(row.effect)} {bracketed_interval(row.effect)}",
            "mark": MARKS[word_of(row.effect.verdict, row.effect.speed)],
            "verdict": word_of(row.effect.verdict, row.effect.speed),
        }
        for row in changed
    ]


def _speed_heat(comparison: Comparison, a: str, b: str) -> dict[str, Any]:
    bands = list(dict.fromkeys(each.band for each in comparison.bands))
    bands.sort(key=lambda band: float("inf") if band.first is None else band.first)
    by_curve: dict[Key, dict[Band, Effect]] = {}
    for each in comparison.bands:
        by_curve.setdefault(each.curve, {})[each.band] = each.effect
    rows: dict[tuple[Key, Band], list[RowEffect]] = {}
    for row in comparison.rows:
        band = band_of(row.key.bytes, comparison.settings.bands)
        if band is not None and row.quantile is None:
            rows.setdefault((row.key.curve(), band), []).append(row)
    unit, factor = unit_of(comparison.settings.metric)
    return {
        "caption": f"Speedup of {b} over {a} by benchmark and message size, with its interval, and the"
        f" {comparison.settings.metric.replace('_', ' ')} of the band's middle row in {unit}, {a} → {b}."
        f" {comparison.settings.intervals()}.",
        "bands": [band.title for band in bands],
        "rows": [
            {
                "title": str(curve),
                "cells": [
                    _speed_cell(effects.get(band), _middle(rows.get((curve, band), []), unit, factor))
                    for band in bands
                ],
            }
            for curve, effects in by_curve.items()
        ],
    }


def _middle(rows: Sequence[RowEffect], unit: str, factor: float) -> str:
    """The medians of the row in the middle of a band: `256 bytes: 1.53 → 1.98 µs`."""
    if not rows:
        return ""
    row = sorted(rows, key=lambda each: each.key.bytes or 0)[len(rows) // 2]
    length = "" if row.key.bytes is None else f"{size(row.key.bytes)}: "
    return f"{length}{decimal(row.a * factor)} → {decimal(row.b * factor)} {unit}"


def _speed_cell(effect: Effect | None, middle: str) -> dict[str, str] | None:
    if effect is None:
        return None
    ratio = max(effect.speed, 1 / effect.speed)
    shade = ""
    if effect.verdict in CHANGED:
        shade = ("f" if effect.speed > 1 else "l") + ("3" if ratio >= 2 else "2" if ratio >= 1.2 else "1")
    return {
        "shade": shade,
        "text": speedup(effect),
        "mark": MARKS[word_of(effect.verdict, effect.speed)],
        "word": word_of(effect.verdict, effect.speed),
        "sub": bracketed_interval(effect),
        "figures": middle,
    }


def repeatability(side: Side) -> dict[str, Any]:
    """Heat map of the spread of launches, by benchmark and band: 90th over 10th percentile, median over the
    rows of the band."""
    curves: dict[Key, dict[Band, list[float]]] = {}
    for key in side.all_keys():
        values = side.values(key)
        values = values[values > 0]
        if len(values) >= 3:
            low, middle, high = percentiles(values)
            timed = not keys_without_band([key], np.array([middle]), "time")
            band = (band_of(key.bytes) if timed else None) or NO_LENGTH
            curves.setdefault(key.curve(), {}).setdefault(band, []).append(float(high / low))
    bands = [band for band in (*BANDS, NO_LENGTH) if any(band in by_band for by_band in curves.values())]

    def cell(spreads: list[float] | None) -> dict[str, str] | None:
        if not spreads:
            return None
        spread = float(np.median(spreads))
        shade = "l3" if spread >= 1.5 else "l2" if spread >= 1.2 else "l1" if spread >= 1.1 else ""
        return {"shade": shade, "text": f"{spread:.2f}x", "mark": "", "word": "", "sub": "", "figures": ""}

    return {
        "id": "repeatability",
        "short": "Repeatability",
        "heading": "Repeatability",
        "caption": "Spread of launches, by benchmark and message size: 90th over 10th percentile of time",
        "bands": [band.title if band != NO_LENGTH else "other sizes" for band in bands],
        "rows": [
            {"title": str(curve), "cells": [cell(by_band.get(band)) for band in bands]}
            for curve, by_band in curves.items()
        ],
        "note": "Median over the rows of a band; shaded from 1.10, 1.20 and 1.50. 1.00 means launches repeat exactly.",
    }


def shown_conditions(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """Known conditions, those that differ first, with the distinct values of each side. Suite options outside
    the table appear only if they differ. Variables that differ in every launch are left out."""
    of_sides = values_of(*sides)
    launches = sum(len(side.launches) for side in sides)
    rows = []
    for id in sorted({id for values in of_sides for id in values}, key=sort_key):
        cells = [values.get(id, []) for values in of_sides]
        if varies_per_launch(id, [value for values in cells for value in values], launches):
            continue
        differs = len({value for values in cells for value in values}) > 1 or not all(cells)
        if differs or id in BY_ID or not id.startswith("options."):
            rows.append(_difference_row(condition(id).label, cells, differs=differs))
    return sorted(rows, key=lambda row: not row["differs"])


def difference_row(difference: Difference) -> dict[str, Any]:
    """A condition that differs, as a row of the page's table."""
    return _difference_row(difference.name, (difference.a, difference.b), differs=True)


def _difference_row(name: str, cells: Iterable[Sequence[str]], *, differs: bool) -> dict[str, Any]:
    texts = [list_first(values, 6, "; ") or "unknown" for values in cells]
    return {"name": name, "cells": texts, "differs": differs}
