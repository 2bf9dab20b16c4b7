"""Time over the launches of each side, with changes of level."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from imb.compare.bands import NO_LENGTH, Band, band_of
from imb.compare.log_speeds import keys_without_band
from imb.history.session_history import History, HistorySettings, history
from imb.history.steps import FEWEST
from imb.model.errors import ImbError
from imb.model.observations import Key, Side
from imb.model.units import percent_text
from imb.report.marks import letter, positive_values, short_number
from imb.stats.arrays import Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import group_means, nanmedian


def history_of(sides: Sequence[Side]) -> dict[str, Any] | None:
    """Data of the history chart, in the order of time: for each curve and band, the geometric mean of time
    relative to each row's median, and where new levels begin. None if no side has five launches, or no row
    has a history (-arrival xN)."""
    if max(len(side.launches) for side in sides) < 5:
        return None
    ordered = [_sort_by_date(side) for side in sides]
    dated = all(launch.run.date for side in ordered for launch in side.launches)
    groups: dict[Key, dict[Band, list[Key]]] = {}
    for key in dict.fromkeys(key for side in ordered for key in side.all_keys()):
        if key.arrival_width_seconds is not None:
            continue  # the width differs in every launch
        band = _band_of(key, ordered)
        groups.setdefault(key.curve(), {}).setdefault(band, []).append(key)
    if not groups:
        return None
    histories = [_history(side, ANY_FALSE / len(sides)) for side in ordered]
    curves: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for curve, of_bands in groups.items():
        drawn: list[dict[str, Any]] = []
        for band, keys in of_bands.items():
            name = band.title
            if band == NO_LENGTH and keys[0].bytes is not None:
                name = "other sizes" if any(key.bytes for key in keys) else "0 bytes"
            logs = [np.log(positive_values(np.array([side.values(key) for key in keys]))) for side in ordered]
            levels = [_levels(of_side) for of_side in logs]
            where = [
                _changes(of_side, curve, band, side) for of_side, side in zip(histories, ordered, strict=True)
            ]
            for number, places in enumerate(where):
                changes += _change_rows(
                    places, levels[number], ordered[number], letter(number), str(curve), name
                )
            drawn.append(
                {
                    "band": name,
                    "values": [[short_number(value) for value in values] for values in levels],
                    "changes": where,
                }
            )
        curves.append({"title": str(curve), "bands": drawn})
    changes.sort(key=lambda change: -change["weight"])
    first = next(
        (i for i, entry in enumerate(curves) if changes and entry["title"] == changes[0]["curve"]), 0
    )
    return {
        "about": "A point is a launch: the geometric mean of its times in a size band, 1 is the median of the side's "
        "launches. Dashed lines are where a new level begins, by sessions, as imb watch finds it.",
        "curves": curves,
        "first": first,
        "dated": dated,
        "changes": changes[:40],
        "no_changes": no_changes_text(histories),
        "sides": [
            {
                "letter": letter(number),
                "dates": [launch.run.date or "" for launch in side.launches],
                "names": [launch.name for launch in side.launches],
            }
            for number, side in enumerate(ordered)
        ],
    }


def _levels(logs: Values) -> Values:
    """For each launch, the geometric mean over rows, each relative to its median over launches. logs: shape
    (rows, launches)."""
    against = logs - nanmedian(logs, axis=1)[:, None]
    return np.exp(group_means(against.T, np.ones((len(logs), 1))))[:, 0]


def _band_of(key: Key, sides: Sequence[Side]) -> Band:
    """The band in which imb watch has the row, or NO_LENGTH."""
    seconds = nanmedian(positive_values(np.concatenate([side.values(key) for side in sides])))
    timed = not keys_without_band([key], np.array([seconds]), "time")
    return (band_of(key.bytes) if timed else None) or NO_LENGTH


def _history(side: Side, level: float) -> History | None:
    """The history as `imb watch` judges it, or None if no launch has a date."""
    with suppress(ImbError):
        return history(side, HistorySettings(level=level))
    return None


def _changes(judged: History | None, curve: Key, band: Band, side: Side) -> list[int]:
    """Indices of the launches of `side` at which a new level of this curve and band begins."""
    runs = {
        judged.sessions[place].runs[0]
        for event in (judged.events if judged else [])
        if judged and any((change.curve, change.band) == (curve, band) for change in event.changes)
        for place in (event.session, event.until)
        if place is not None
    }
    return [number for number, launch in enumerate(side.launches) if launch.name in runs]


def no_changes_text(histories: Sequence[History | None]) -> str:
    """The text that replaces an empty table of changes."""
    if any(each is None or each.verdict == "too little history" for each in histories):
        return f"Changes of level are found in histories of {FEWEST} sessions or more, with dates."
    if any(each is not None and each.verdict == "too noisy" for each in histories):
        return "Too noisy: no change of level can be found."
    return "No change of level."


def _change_rows(
    places: Sequence[int], values: Values, side: Side, side_letter: str, curve: str, band: str
) -> list[dict[str, Any]]:
    edges = [0, *places, len(values)]
    rows = []
    for before, at, after in zip(edges, edges[1:], edges[2:], strict=False):
        old, new = (float(np.exp(np.nanmean(np.log(part)))) for part in (values[before:at], values[at:after]))
        launch = side.launches[at]
        rows.append(
            {
                "side": side_letter,
                "curve": curve,
                "band": band,
                "launch": launch.name,
                "date": launch.run.date or "",
                "before": f"{old:.3f}",
                "after": f"{new:.3f}",
                "change": f"{percent_text(new / old - 1, 1, signed=True)} time",
                "weight": abs(float(np.log(new / old))),
            }
        )
    return rows


def _sort_by_date(side: Side) -> Side:
    launches = sorted(side.launches, key=lambda launch: launch.run.date or "")
    return Side(name=side.name, launches=launches)
