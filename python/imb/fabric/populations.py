"""Endpoints or pairs that differ as a group from the others: what a verdict says of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from imb.fabric.classes import FEWEST, Classes, labels_of
from imb.fabric.pairs import Pairs
from imb.fabric.sweep import Sweep, Values
from imb.fabric.verdict import Populations, Suspect
from imb.model.units import as_percent, counted, size


class Differing(NamedTuple):
    """`unsure`: endpoints may be slow without being named."""

    populations: tuple[Populations, ...]
    notes: tuple[str, ...]
    unsure: bool


def populations_of(
    sweep: Sweep,
    classes: Classes,
    pairs: Pairs,
    levels: Values,
    least: float,
    single: tuple[float, float],
    unclear: Sequence[int] = (),
) -> Differing:
    """`levels`: of classes, logarithms of seconds; `least`: the smallest difference of them that counts; `single`: share of pairs that take longer, and by how
    much (of the logarithm); `unclear`: endpoints that may be slow, or far from all others."""
    found: list[Populations] = []
    notes: list[str] = []
    what = f"{sweep.benchmark} {size(sweep.bytes)}"
    unsure = False
    one_host = len({one.host for one in sweep.endpoints}) == 1  # its cores differ by design
    share, effect = single
    if classes.slower:
        part = len(classes.slower) / len(sweep.endpoints)
        slower = float(np.expm1(classes.by))
        found.append(Populations("endpoints", classes.slower, part, slower, sweep.benchmark, sweep.bytes))
        unsure = not one_host
        notes.append(
            f"{what}: two groups of endpoints; the pairs of {len(classes.slower)} of "
            f"{len(sweep.endpoints)} take {as_percent(slower, 1)} longer per endpoint"
        )
    elif not one_host:
        slow = slow_groups(classes, pairs, levels, least)
        if unclear:  # too few pairs to see which endpoints are near each other
            mine = np.isin(pairs.a, unclear).astype(np.int64) + np.isin(pairs.b, unclear)
            by = float(np.median(pairs.level[mine == 1]) - np.median(pairs.level[mine == 0]))
            slow.append((tuple(unclear), by, False))
        for group, by, inside in slow:
            part, slower = len(group) / len(sweep.endpoints), float(np.expm1(by))
            found.append(Populations("endpoints", group, part, slower, sweep.benchmark, sweep.bytes))
            unsure = True
            why = ", and with each other: slow" if inside else ": slow, or farther away"
            notes.append(
                f"{what}: a group of {len(group)} endpoints takes {as_percent(slower, 1)} longer with all others{why}; give the switches "
                "(--topology), or compare with --baseline"
            )
    if share:
        longer = float(np.expm1(effect))
        found.append(Populations("pairs", (), share, longer, sweep.benchmark, sweep.bytes))
        notes.append(
            f"{what}: {as_percent(share)} of pairs take {as_percent(longer, 1)} longer, "
            "and no host or link explains them; routes or contention may: measure with -serial"
        )
    if len(classes.groups) > 1 and not classes.slower:
        notes.append(f"{what}: {counted(len(classes.groups), 'group')} of endpoints by their times")
    return Differing(tuple(found), tuple(notes), unsure)


def whole_groups(classes: Classes, suspects: Sequence[Suspect], sweep: Sweep) -> list[str]:
    """Notes on groups of three hosts or more all of which are named: what they share may be slow instead."""
    slow = {one.endpoints[0] for one in suspects if one.named and one.kind == "host"}
    found = []
    for inside in classes.groups if len(classes.groups) > 2 else ():
        if len(inside) >= FEWEST and slow.issuperset(inside):
            some = ", ".join(sweep.endpoints[one].name for one in inside[:3])
            found.append(
                f"{sweep.benchmark} {size(sweep.bytes)}: all {len(inside)} hosts of a group ({some}, ...) are slow: the switch that "
                "they share may be the cause; give the switches (--topology)"
            )
    return found


def slow_groups(
    classes: Classes, pairs: Pairs, levels: Values, least: float
) -> list[tuple[tuple[int, ...], float, bool]]:
    """Groups that take longer with each other group than these do with their nearest ones: by how much at least, and whether their own
    pairs do, too, which a farther switch does not explain. Three groups or more that have a level of their own with each other one."""
    many = len(classes.groups)
    if many < 3 or len(classes.names) <= 2:
        return []
    label = labels_of(classes.groups, int(max(pairs.a.max(), pairs.b.max())) + 1)
    level = np.full((many, many), np.nan)
    x, y = label[pairs.a], label[pairs.b]
    level[x, y] = level[y, x] = levels[classes.of]
    own = level.diagonal().copy()
    np.fill_diagonal(level, np.nan)
    nearest = np.nanmin(level, axis=1)
    found = []
    for one, inside in enumerate(classes.groups):
        by = float(nearest[one] - np.median(np.delete(nearest, one)))
        if by >= least:
            others = np.delete(own, one)
            others = others[np.isfinite(others)]  # a group of one has no pairs of its own
            found.append((inside, by, bool(len(others) and own[one] - np.median(others) >= least)))
    return found
