"""The page of `imb fabric`: verdict, the matrix of pairs as a heat map, elements beside it, a table of
endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from imb.fabric.fabric_text import (
    SweepReport,
    basis,
    certainty,
    detectable_effect,
    elements,
    group_silent_by_cause,
    line_of,
    notes_below_table,
    sweep_headline,
)
from imb.fabric.judging.matrix_order import matrix, order_of
from imb.fabric.judging.topology import Topology
from imb.fabric.judging.verdict import Suspect
from imb.fabric.matrix import drawn_matrices, relative_times
from imb.model.units import list_first, percent_text, size
from imb.report.page import creation_time, render_template

_SHOWN = 30  # most elements that are listed
_LOOKS = {"healthy": ("faster", "✓"), "bad": ("slower", "✗"), "inconclusive": ("inconclusive", "?")}


def fabric_page(
    judged: SweepReport, topology: Topology | None, drains: Sequence[str], *, now: datetime | None = None
) -> str:
    """The page as one HTML file that loads nothing. `drains`: drain commands, as text."""
    verdict, endpoints = judged.verdict, judged.endpoints
    slug, mark = _LOOKS[verdict.state]
    word, _, sentence = sweep_headline(judged).partition(": ")
    times = [matrix(sweep) for sweep in judged.sweeps]
    views: list[tuple[str, Any, str, int]] = []
    for sweep, seconds in zip(judged.sweeps, times, strict=True):
        name = f"{sweep.benchmark} {size(sweep.bytes)}"
        if judged.baseline:
            views.append((f"{name}, against {judged.baseline}", seconds * 1e6, f"times {judged.baseline}", 0))
            continue
        if topology is not None:  # this view comes first: in it, distance does not look like a fault
            ratio = relative_times(seconds, endpoints, topology)
            views.append((f"{name}, relative to pairs of the same distance", ratio, "times the median", 0))
        views.append((name, seconds * 1e6, "µs", sweep.bytes))
    order = order_of(endpoints, times[0] if times else np.empty((0, 0)), topology)
    suspected, silent = elements(judged), group_silent_by_cause(judged)
    foot = detectable_effect(judged)
    page = {
        "title": f"Fabric of {len(endpoints):,} {'endpoints' if judged.endpoint_kind != 'host' else 'hosts'}",
        "subtitle": list_first(judged.sources, 4),
        "slug": slug,
        "mark": mark,
        "word": word,
        "sentence": sentence,
        "basis": "; ".join(filter(None, (basis(judged), foot))),
        "contents": [("Verdict", "verdict"), ("Matrix", "matrix"), ("Endpoints", "endpoints")],
        "matrices": [name for name, *_ in views],
        "caption": f"Median over passes, ordered by {order.by}{_directions(judged)}",
        "hint": "Hover for the figures of a pair; drag to zoom, double-click to reset.",
        "elements": [_card(number, same, judged.level) for number, same in enumerate(suspected[:_SHOWN], 1)],
        "more": max(0, len(suspected) - _SHOWN),
        "silent": silent,
        "drains": list(drains),
        "lines": [
            line
            for line in notes_below_table(judged)
            if line != foot and not line.startswith(("next:", *(f"{label}:" for label in silent)))
        ],
        "sizes": [f"{result.benchmark} {size(result.bytes)}" for result in verdict.per_size],
        "effects": _effects(judged),
        "made": creation_time(now),
    }
    return render_template(
        "fabric.html.j2",
        page,
        drawn_matrices(views, endpoints, order, suspected, verdict.silent),
        drawn=bool(views),
        package="imb.fabric",
    )


def _directions(judged: SweepReport) -> str:
    both = any(((sweep.a < sweep.b).any() and (sweep.a > sweep.b).any()) for sweep in judged.sweeps)
    return "; from the row's endpoint to the column's" if both else ""


def _card(number: int, same: Sequence[Suspect], level: float) -> dict[str, Any]:
    first = same[0]
    return {
        "number": number,
        "named": first.named,
        "certainty": certainty(first, level),
        "kind": first.kind,
        "name": first.name,
        "lines": [line_of(suspect) for suspect in same],
        "alternatives": list_first(
            list(dict.fromkeys(name for suspect in same for name in suspect.alternatives)), 6
        ),
        "next": next((suspect.next for suspect in same if suspect.next), ""),
    }


def _effects(judged: SweepReport) -> list[dict[str, Any]]:
    """Effects of each endpoint by size, the slowest endpoint first."""
    columns = [np.asarray(result.endpoint_effects) for result in judged.verdict.per_size]
    if not columns or any(len(column) != len(judged.endpoints) for column in columns):
        return []
    table = np.array(columns)
    worst = np.where(np.isnan(table), -np.inf, table).max(axis=0)
    return [
        {
            "name": judged.endpoints[index].name,
            "cells": [
                "-" if np.isnan(value) else percent_text(float(value), 1, signed=True)
                for value in table[:, index]
            ],
        }
        for index in np.argsort(-worst, kind="stable")
    ]
