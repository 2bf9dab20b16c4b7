"""Comparison with earlier sweeps of the same endpoints: the time of each pair divided by its earlier times.
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from imb.fabric.judging.sweep import Sweep
from imb.model.units import count_of, size

RATIO_OF_ONE = 1e-6  # seconds that represent a ratio of 1 in a sweep of ratios


def divide_by_past(
    sweeps: Sequence[Sweep], past: Sequence[Sweep], name: str
) -> tuple[list[Sweep], list[str], float]:
    """Sweeps whose times are divided by the times of the same pair in `past`, which has the same indices of
    endpoints; notes; and the largest median ratio of a sweep. An element that was always slower does not
    stand out; one that became slower does.

    The first time of a pair is divided by its first earlier time, the second by the second, and so on. So the
    spread over passes contains the noise of both, and the judge estimates it from this spread. Pairs without
    earlier times are left out.
    """
    by_size = {(sweep.benchmark, sweep.bytes): sweep for sweep in past}
    compared: list[Sweep] = []
    notes: list[str] = []
    largest = 0.0
    for sweep in sweeps:
        earlier = by_size.get((sweep.benchmark, sweep.bytes))
        ratios = _ratios(sweep, earlier) if earlier else None
        if not np.isfinite(sweep.seconds).any():
            compared.append(sweep)  # no pair answers now
            continue
        if ratios is None or not (np.isfinite(ratios) & (ratios > 0)).any():
            notes.append(f"{sweep.benchmark} {size(sweep.bytes)}: no pair is in {name}; not judged")
            continue
        has_past = ~np.isinf(ratios)
        count = np.int64(len(sweep.endpoints))
        if lost := len(np.unique(sweep.a[~has_past] * count + sweep.b[~has_past])):
            notes.append(
                f"{sweep.benchmark} {size(sweep.bytes)}: {count_of(lost, 'pair')} not in {name}; left out"
            )
        change = float(np.nanmedian(ratios[has_past]))
        largest = max(largest, change)
        notes.append(
            f"{sweep.benchmark} {size(sweep.bytes)}: median of all pairs {change:.3f} times that of {name}"
        )
        compared.append(
            replace(
                sweep,
                a=sweep.a[has_past],
                b=sweep.b[has_past],
                passes=sweep.passes[has_past],
                rounds=sweep.rounds[has_past],
                seconds=ratios[has_past] * RATIO_OF_ONE,
                launches=None if sweep.launches is None else sweep.launches[has_past],
            )
        )
    return compared, notes, largest


def _ratios(sweep: Sweep, past: Sweep) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Each time divided by an earlier time of its pair in the same direction, or else in the opposite one.
    NaN if the pair failed now, infinite if it has no earlier time."""
    ratios = _ratios_of(sweep, past)
    if np.isinf(ratios).any():
        ratios = np.where(np.isinf(ratios), _ratios_of(sweep, replace(past, a=past.b, b=past.a)), ratios)
    return ratios


def _ratios_of(sweep: Sweep, past: Sweep) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    count = np.int64(max(len(sweep.endpoints), len(past.endpoints)))
    good = np.isfinite(past.seconds)
    keys = past.a[good] * count + past.b[good]
    order = np.argsort(keys, kind="stable")
    keys, seconds = keys[order], past.seconds[good][order]
    pairs = sweep.a * count + sweep.b
    by_pair = np.argsort(pairs, kind="stable")
    sorted_pairs = pairs[by_pair]
    # Position of each time among the times of its pair.
    occurrence = np.arange(len(pairs)) - np.searchsorted(sorted_pairs, sorted_pairs)
    first = np.searchsorted(keys, sorted_pairs)
    counts = np.searchsorted(keys, sorted_pairs, side="right") - first
    ratios = np.full(len(pairs), np.inf)
    has_past = counts > 0
    ratios[by_pair[has_past]] = (
        sweep.seconds[by_pair[has_past]] / seconds[first[has_past] + occurrence[has_past] % counts[has_past]]
    )
    return ratios
