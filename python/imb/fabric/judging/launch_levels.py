"""Leveling of launches that differ as a whole. Pure.

With few rounds, a pair may be in one launch only. An effect that all pairs of this launch share would then
look like an effect of their endpoints.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from imb.fabric.judging.classes import FEWEST, distances
from imb.fabric.judging.sweep import Sweep
from imb.fabric.judging.topology import Topology
from imb.stats.arrays import Indices, Mask, Values
from imb.stats.medians import median, number_keys, table_by_index


def level_launches(sweep: Sweep, topology: Topology | None) -> Sweep:
    """The sweep, with the times of each launch except the first divided by the factor by which this launch is
    slower than earlier ones.

    New pairs are compared with pairs of the same distance, if half of the endpoints are in disjoint new
    pairs: the pairs of one endpoint would show the endpoint as much as the launch. Pairs with an endpoint
    that no earlier launch measured do not count. Otherwise pairs that were measured before give the factor.
    If there are none, or the first launch has all pairs, the sweep is unchanged.
    """
    numbers = [] if sweep.launches is None else np.flatnonzero(np.bincount(sweep.launches)).tolist()
    good = np.isfinite(sweep.seconds) & (sweep.seconds > 0)
    if len(numbers) < 2 or not good.any():
        return sweep
    count = len(sweep.endpoints)
    codes, at = number_keys(sweep.pair_codes()[good], count * count)
    a, b = codes // count, codes % count
    classes, _ = distances(sweep.endpoints, a, b, topology)
    logs, launch = np.log(sweep.seconds[good]), np.asarray(sweep.launches)[good]
    if np.bincount(at[launch == numbers[0]], minlength=len(codes)).all():
        return sweep  # every pair can be compared with its own earlier times
    before = np.full(len(codes), np.nan)  # earlier level of each pair
    met = np.zeros(count, dtype=bool)
    slower = np.zeros(len(logs))
    for number in numbers:
        in_launch = launch == number
        pairs, now = _medians(at[in_launch], logs[in_launch])
        if len(pairs) and met.any():
            ends = a[pairs], b[pairs]
            offset = _offset(now, before, pairs, classes, ends, met)
            now = now - offset
            slower[in_launch] = offset
        new = np.isnan(before[pairs])
        before[pairs[new]] = now[new]
        met[a[pairs]] = met[b[pairs]] = True
    if not slower.any():
        return sweep
    seconds = sweep.seconds.copy()
    seconds[good] *= np.exp(-slower)
    return replace(sweep, seconds=seconds)


def _offset(
    now: Values,
    before: Values,
    pairs: Indices,
    classes: Indices,
    ends: tuple[Indices, Indices],
    met: Mask,
) -> float:
    """The logarithm of the factor of a launch with these `pairs`, whose logarithms of time are `now`.
    `before`: levels of all pairs, NaN if not measured; `classes`: their distances; `ends`: endpoints of
    `pairs`; `met`: endpoints that were measured before."""
    finite = np.isfinite(before)
    levels = np.array(
        [median(before[finite & (classes == distance)]) for distance in range(int(classes.max()) + 1)]
    )
    usual = levels[classes[pairs]]
    new = ~finite[pairs] & met[ends[0]] & met[ends[1]] & np.isfinite(usual)
    away = (now - usual)[new]
    enough = int(np.ceil(met.sum() / 4))
    if len(away) < enough or not _are_disjoint(ends[0][new], ends[1][new], enough):
        again = finite[pairs]
        away = (now - before[pairs])[again]
    return median(away) if len(away) >= FEWEST else 0.0


def _are_disjoint(a: Indices, b: Indices, enough: int) -> bool:
    """Whether `enough` of these pairs share no endpoint, if each endpoint takes its first free partner. The
    pairs are sorted."""
    used = np.zeros(int(max(a.max(initial=-1), b.max(initial=-1))) + 1, dtype=bool)
    disjoint = 0
    each, first = np.unique(a, return_index=True)
    last = np.append(first, len(a))[1:]
    for endpoint, begin, end in zip(each.tolist(), first.tolist(), last.tolist(), strict=True):
        partners = b[begin:end]
        if used[endpoint] or not len(free := partners[~used[partners]]):
            continue
        used[endpoint] = used[free[0]] = True
        disjoint += 1
        if disjoint >= enough:
            return True
    return False


def _medians(at: Indices, values: Values) -> tuple[Indices, Values]:
    """The indices that occur, and the lower median of the values of each."""
    indices, places = number_keys(at, int(at.max(initial=-1)) + 1)
    table, counts = table_by_index(places, len(indices), values)
    return indices, np.sort(table, axis=0)[(counts - 1) // 2, np.arange(len(indices))]
