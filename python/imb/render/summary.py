"""What a page says before its charts: verdicts, heat maps, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from imb.judge.compare import BANDS, Band, Comparison, Effect
from imb.judge.condition_diff import Difference, conditions_of
from imb.model.observations import MORE_IS_BETTER, Key, Side
from imb.model.units import counted
from imb.render.comparison import verdict_in_words
from imb.render.marks import MARKS, TIMES, TO, letter


def verdict_of(comparison: Comparison, a: int, b: int) -> dict[str, Any]:
    """A comparison in a sentence, with its heat map; `a` and `b` are the numbers of its sides."""
    counts = [
        f"{sum(one.effect.verdict == word for one in comparison.bands)} {said}"
        for word, said in (
            ("slower", "slower"),
            ("faster", "faster"),
            ("same", "the same"),
            ("differs", "different by less than matters or an unclear amount"),
            ("cannot tell", "open"),
        )
    ]
    known = sorted(comparison.bands, key=lambda one: one.effect.speed)
    extremes = (
        f" Slowest: {known[0].curve.benchmark}, {known[0].band}, at {known[0].effect.speed:.2f} times A's speed; "
        f"fastest: {known[-1].curve.benchmark}, {known[-1].band}, at {known[-1].effect.speed:.2f}."
        if known
        else ""
    )
    return {
        "a": letter(a),
        "b": letter(b),
        "slug": comparison.verdict.replace(" ", "-"),
        "mark": MARKS[comparison.verdict],
        "word": verdict_in_words(comparison, letter(a), letter(b)),
        "sentence": f"Of {counted(len(comparison.bands), 'band')} of lengths {', '.join(counts)}; "
        f"{comparison.launches_a} against {counted(comparison.launches_b, 'launch')}"
        + (", judged in pairs" if comparison.pairs else "")
        + (", launched until decided" if comparison.sequential else "")
        + f", changes under {comparison.settings.relevant:.0%} do not matter.{extremes}",
        "warnings": comparison.warnings,
        "relevant": f"{comparison.settings.relevant:.0%}",
        "heat": _speed_heat(comparison, letter(a), letter(b)),
    }


def _speed_heat(comparison: Comparison, a: str, b: str) -> dict[str, Any]:
    bands = list(dict.fromkeys(one.band for one in comparison.bands))
    bands.sort(key=lambda band: float("inf") if band.first is None else band.first)
    by_curve: dict[Key, dict[Band, Effect]] = {}
    for one in comparison.bands:
        by_curve.setdefault(one.curve, {})[one.band] = one.effect
    more = "bandwidth" if comparison.settings.metric in MORE_IS_BETTER else "speed"
    return {
        "caption": f"{more.title()} of {b} over {a} by benchmark and message length in bytes",
        "bands": [str(band) for band in bands],
        "rows": [
            {"title": str(curve), "cells": [_speed_cell(effects.get(band)) for band in bands]}
            for curve, effects in by_curve.items()
        ],
    }


def _speed_cell(effect: Effect | None) -> dict[str, str] | None:
    if effect is None:
        return None
    far = max(effect.speed, 1 / effect.speed)
    shade = ""
    if effect.verdict in ("faster", "slower"):
        shade = ("f" if effect.verdict == "faster" else "l") + (
            "3" if far >= 2 else "2" if far >= 1.2 else "1"
        )
    known = effect.low is not None and effect.high is not None
    return {
        "shade": shade,
        "text": f"{effect.speed:.2f}{TIMES}",
        "mark": MARKS[effect.verdict],
        "word": effect.verdict,
        "sub": f"{effect.low:.2f}{TO}{effect.high:.2f}" if known else "",
    }


def repeatability(side: Side) -> dict[str, Any]:
    """How far launches differ, by benchmark and band: 90th over 10th percentile, median of the band's rows."""
    curves: dict[Key, dict[Band, list[float]]] = {}
    none = Band()
    for key in side.all_keys():
        values = side.values(key)
        values = values[values > 0]
        if len(values) >= 3:
            low, high = np.percentile(values, [10, 90])
            band = next((one for one in BANDS if one.has(key.bytes)), none)
            curves.setdefault(key.curve(), {}).setdefault(band, []).append(float(high / low))
    bands = [band for band in (*BANDS, none) if any(band in of for of in curves.values())]

    def cell(found: list[float] | None) -> dict[str, str] | None:
        if not found:
            return None
        spread = float(np.median(found))
        shade = "l3" if spread >= 1.5 else "l2" if spread >= 1.2 else "l1" if spread >= 1.1 else ""
        return {"shade": shade, "text": f"{spread:.2f}{TIMES}", "mark": "", "word": "", "sub": ""}

    return {
        "id": "repeatability",
        "short": "Repeatability",
        "heading": "Repeatability",
        "caption": "How far launches differ, by benchmark and message length in bytes",
        "bands": [str(band) if band != none else "other lengths" for band in bands],
        "rows": [
            {"title": str(curve), "cells": [cell(of.get(band)) for band in bands]}
            for curve, of in curves.items()
        ],
        "note": "Time of the 90th percentile of launches over that of the 10th, the median of the lengths in the band; shaded "
        "from 1.10, 1.20 and 1.50 on. 1.00 would be launches that repeat exactly.",
    }


def conditions_shown(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """What is known, by name: values of each side, each once. Options of the suite only where they differ."""
    said: list[dict[str, list[str]]] = []
    for side in sides:
        of: dict[str, list[str]] = {}
        for launch in side.launches:
            for name, text in conditions_of(launch):
                values = of.setdefault(name, [])
                if text not in values:
                    values.append(text)
        said.append(of)
    names = dict.fromkeys(name for of in said for name in of if name != "environment")
    rows = []
    for name in names:
        cells = [of.get(name, []) for of in said]
        differs = len({value for values in cells for value in values}) > 1 or (
            len({bool(values) for values in cells}) > 1
        )
        if name.startswith("options ") and not differs:
            continue
        rows.append({"name": name, "cells": [_some(values) for values in cells], "differs": differs})
    return sorted(rows, key=lambda row: not row["differs"])


def difference_shown(one: Difference) -> dict[str, Any]:
    """A condition that differs."""
    return {"name": one.name, "cells": [_some(one.a), _some(one.b)], "differs": True}


def _some(values: Sequence[str]) -> str:
    shown = "; ".join(values[:6])
    return f"{shown} and {len(values) - 6} more" if len(values) > 6 else shown or "not known"
