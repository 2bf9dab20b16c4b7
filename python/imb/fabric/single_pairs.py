"""Single pairs that no component explains, and pairs that are slower in one direction. Pure.

Noise of single measurements has long tails, and there are half a million pairs. So a pair is named by two tests, both of which it must
pass. By its repeats: if each repeat of a healthy pair exceeds x with the probability of all measurements of the sweep, the number of
repeats that do is binomial. By its level, as successive repeats are alike: beyond the tail of the levels of all other pairs, exponential
in the logarithm (Pickands, Ann. Stat. 3 (1975) 119), which is a power law of the time. One pass, or two, name no pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtrc, ndtr, stdtr

from imb.fabric.pairs import LEAST_SPREAD, TO_DEVIATION, Pairs
from imb.fabric.search import Fit
from imb.fabric.sweep import Endpoint, Sweep, Values
from imb.fabric.verdict import Asymmetric

_TRIED = 20  # pairs, the slowest ones
_FAR = 5.0  # standard deviations
_MANY = 0.01  # share of all pairs: so many slow ones are a population
_FEWEST_MANY = 10
_TAIL = 0.05  # share of pairs that show the tail


class Single(NamedTuple):
    """`suspects`: fields of a Suspect. `share`, `effect`: of a population of slow pairs; 0 where there is none."""

    suspects: list[dict[str, Any]]
    share: float
    effect: float


def slow_pairs(
    pairs: Pairs, fit: Fit, endpoints: Sequence[Endpoint], tests: float, level: float, least: float
) -> Single:
    """Tests of all pairs that cross no slow component; `tests`: size of the family."""
    away = np.where(fit.covered == 0, fit.residual, 0.0)
    slow = np.flatnonzero((away >= least) & (away > _FAR * fit.spread))
    many = len(slow) > max(_MANY * len(away), _FEWEST_MANY)
    if many or not len(slow):
        return Single(
            [], len(slow) / len(away) if many else 0.0, float(np.median(away[slow])) if many else 0.0
        )
    base = pairs.level - fit.residual
    each = pairs.times - base
    known = np.isfinite(each)
    total = int(known.sum())
    found = []
    for one in slow[np.argsort(-away[slow], kind="stable")][:_TRIED].tolist():
        own = each[known[:, one], one]
        half = (len(own) + 1) // 2
        at = float(np.sort(own)[len(own) - half])  # half of the repeats are this slow or slower
        # Other pairs only: else a slow pair is its own tail.
        exceeded = int(np.count_nonzero(each >= at)) - int(np.count_nonzero(own >= at))
        tail = (exceeded + 1) / max(total - len(own) + 1, 1)
        p = max(
            float(bdtrc(half - 1, len(own), tail)),
            float(ndtr(-away[one] / fit.spread)),
            _beyond_tail(away, one),
        )
        error = max(fit.spread, LEAST_SPREAD)
        a, b = int(pairs.a[one]), int(pairs.b[one])
        adjusted = min(1.0, p * tests)
        named = adjusted <= level
        found.append(
            {
                "kind": "pair",
                "name": f"{endpoints[a].name} - {endpoints[b].name}",
                "endpoints": (a, b),
                "effect": float(np.expm1(away[one])),
                "interval": (
                    float(np.expm1(away[one] - 1.96 * error)),
                    float(np.expm1(away[one] + 1.96 * error)),
                ),
                "p_value": adjusted,
                "named": named,
                "next": "" if named else "measure the pair again: it was slow in too few passes to be named",
            }
        )
    named_only = [one for one in found if one["named"]]
    rest = [one for one in found if not one["named"] and len(pairs.times) > 2]
    return Single([*named_only, *rest[:3]], 0.0, 0.0)


def _beyond_tail(away: Values, one: int) -> float:
    """Probability that a pair is as slow as this one, by the slowest other pairs; with the uncertainty of their mean excess."""
    others = np.delete(away, one)
    many = min(max(int(_TAIL * len(others)), _FEWEST_MANY), len(others) // 2)
    if many < 3:
        return 1.0
    slowest = np.partition(others, len(others) - many - 1)[-many - 1 :]
    begin = float(slowest.min())
    excess = max(float(slowest.sum() - begin * len(slowest)) / many, LEAST_SPREAD)
    return float(many / len(others) * (1 + max(away[one] - begin, 0.0) / (many * excess)) ** -many)


def asymmetric_pairs(sweep: Sweep, level: float, least: float) -> tuple[Asymmetric, ...]:
    """Pairs that were measured in both directions (a < b and a > b), in three passes or more each, and differ. Student's test of
    differences between passes, Bonferroni over pairs; the spread is that of all pairs at least."""
    back = sweep.a > sweep.b
    if not back.any():
        return ()
    count = len(sweep.endpoints)
    low, high = np.minimum(sweep.a, sweep.b).astype(np.int64), np.maximum(sweep.a, sweep.b)
    good = np.isfinite(sweep.seconds) & (sweep.seconds > 0)
    key = (low * count + high) * (int(sweep.passes.max(initial=0)) + 1) + sweep.passes
    forth_key, forth_at = np.unique(np.where(good & ~back, key, -1), return_index=True)
    back_key, back_at = np.unique(np.where(good & back, key, -1), return_index=True)
    common, one, other = np.intersect1d(forth_key, back_key, return_indices=True)
    one, other = one[common >= 0], other[common >= 0]
    difference = np.log(sweep.seconds[forth_at[one]]) - np.log(sweep.seconds[back_at[other]])
    pair = low[forth_at[one]] * count + high[forth_at[one]]
    names, where = np.unique(pair, return_inverse=True)
    where = np.reshape(where, -1)
    many = np.bincount(where)
    if not len(many) or many.max() < 3:
        return ()
    mean = np.bincount(where, difference) / many
    squares = np.bincount(where, (difference - mean[where]) ** 2)
    degrees = np.maximum(many - 1.0, 1.0)
    usual = TO_DEVIATION * float(np.median(np.abs(difference - np.median(difference))))
    spread = np.maximum(np.sqrt(squares / degrees), max(usual, LEAST_SPREAD))
    p = np.minimum(1.0, 2 * stdtr(degrees, -np.abs(mean) / (spread / np.sqrt(many))) * len(names))
    found = []
    for at in np.flatnonzero((many >= 3) & (p <= level) & (np.abs(mean) >= least)).tolist():
        a, b = divmod(int(names[at]), count)
        if mean[at] < 0:
            a, b = b, a
        found.append(
            Asymmetric(a, b, float(np.expm1(abs(mean[at]))), float(p[at]), sweep.benchmark, sweep.bytes)
        )
    return tuple(found)
