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
import numpy.typing as npt
from scipy.special import bdtrc, ndtr

from imb.fabric.pairs import LEAST_SPREAD, TO_DEVIATION, Pairs
from imb.fabric.search import Fit
from imb.fabric.sweep import Endpoint, Sweep, Values
from imb.fabric.verdict import Asymmetric

_TRIED = 20  # pairs, the slowest ones
_FAR = 5.0  # standard deviations
_MANY = 0.01  # share of all pairs: so many slow ones are a population
_FEWEST_MANY = 10
_TAIL = 0.05  # share of pairs that show the tail
_BOTH_WAYS = ("Pair_Latency", "Pair_Bidirectional")  # a time is that of both directions


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
    """Pairs of which one direction is slower, from two times or more of each. The difference is that of the lower median of the slow
    direction and the upper median of the fast one, so that one odd time proves nothing. It must exceed the spread of all pairs (normal)
    and the tail of all other pairs; Bonferroni over pairs. This is a family of its own: at most `level` in a healthy sweep."""
    if sweep.benchmark in _BOTH_WAYS or not (sweep.a > sweep.b).any():
        return ()
    pair, difference, sure, forth = _directions(sweep)
    if len(pair) < _FEWEST_MANY:
        return ()
    away = sure - np.median(sure)
    spread = max(TO_DEVIATION * float(np.median(np.abs(away))), LEAST_SPREAD)
    found = []
    far = np.flatnonzero((away > _FAR * spread) & (difference >= least))
    for one in far[np.argsort(-away[far], kind="stable")][:_TRIED].tolist():
        chance = max(2 * float(ndtr(-away[one] / spread)), _beyond_tail(away, one)) * len(pair)
        if chance <= level:
            a, b = divmod(int(pair[one]), len(sweep.endpoints))
            a, b = (a, b) if forth[one] else (b, a)
            effect = float(np.expm1(difference[one]))
            found.append(Asymmetric(a, b, effect, chance, sweep.benchmark, sweep.bytes))
    return tuple(found)


def _directions(sweep: Sweep) -> tuple[npt.NDArray[np.int64], Values, Values, npt.NDArray[np.bool_]]:
    """Of each pair with two times or more in each direction: low * count + high, how much longer the slower direction takes by
    medians, and for sure (negative where the times overlap), whether it is the one from low to high. Logarithms."""
    count = len(sweep.endpoints)
    good = np.isfinite(sweep.seconds) & (sweep.seconds > 0)
    a, b = sweep.a[good].astype(np.int64), sweep.b[good]
    key = 2 * (np.minimum(a, b) * count + np.maximum(a, b)) + (a > b)
    order = np.lexsort((sweep.seconds[good], key))
    times = np.log(sweep.seconds[good][order])
    each, first, many = np.unique(key[order], return_index=True, return_counts=True)
    enough = many > 1
    each, first, many = each[enough], first[enough], many[enough]
    lower, upper = times[first + (many - 1) // 2], times[first + many // 2]
    at = np.flatnonzero((each[:-1] ^ 1 == each[1:]) & (each[:-1] % 2 == 0))
    # What all pairs share is no matter of a pair: passes differ, and each has one direction.
    shared = np.median(lower[at] + upper[at] - lower[at + 1] - upper[at + 1]) / 2 if len(at) else 0.0
    middle = (lower[at] + upper[at] - lower[at + 1] - upper[at + 1]) / 2 - shared
    forth = middle > 0
    sure = np.where(forth, lower[at] - upper[at + 1] - shared, lower[at + 1] - upper[at] + shared)
    return each[at] // 2, np.abs(middle), sure, forth
