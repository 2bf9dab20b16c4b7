"""Inference from few launches about a difference. Pure.

Values are logarithms, so a difference is the logarithm of a ratio: a machine that is slower for a while is
slower by a share of each time. docs/evidence/verdicts.md explains why Welch's test is used and not a rank
test, with the error rates of both.

The module uses scipy.special, because importing scipy.stats takes longer. docs/evidence/verdicts.md,
"Libraries", lists the functions that are written here, and why. Tests compare every function with
scipy.stats.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri, nctdtrinc, stdtr, stdtrit

from imb.stats.arrays import Values
from imb.stats.medians import nanmedian

# The least spread of launches, as a logarithm. Without it, launches that agree exactly (simulated time) would make any
# difference certain.
LEAST_SPREAD = 1e-4
# Fewest launches per side that can show a difference: if one of two was disturbed, it is unknown which.
FEWEST = 3
PRIOR = 2.0  # the spread of the middle point counts as this many launches


class Shift(NamedTuple):
    """B minus A, by point; arrays of shape (points,). `spread`: standard deviation of one launch around the
    mean of its side; `error`: standard error of the difference, with `degrees` degrees of freedom. NaN if
    there are too few launches: with one against one, only `difference` and the counts are known."""

    difference: Values
    low: Values
    high: Values
    p: Values
    spread: Values
    count_a: Values
    count_b: Values
    error: Values
    degrees: Values


def shift(a: Values, b: Values, confidence: float = 0.95, rounding: Values | float = 0.0) -> Shift:
    """Mean of B minus mean of A, with an interval and the p-value of no difference.

    a, b: shape (launches, points), NaN if a launch lacks a point. `rounding`, shape (points,): standard
    deviation of the values due to printed digits.

    Welch, Biometrika 34 (1947) 28: each side has its own spread. If a side has only one or two launches, its
    spread is unknown, and both sides share one (Student); so one new launch can be compared with a baseline
    of many. The standard error is never less than Student's, which for sides of equal size is Welch's: three
    launches that agree by chance give no certainty against ten that do not.

    Among hundreds of points, launches of some agree by chance, and any difference in these points would
    count. So the standard error of a point is at least the standard error of the median point times sqrt(2 /
    (2 + degrees of freedom)): the spread of all points counts as two launches (after Smyth, Stat. Appl.
    Genet. Mol. Biol. 3 (2004) 3, but it can only widen an interval).
    """
    count_a, mean_a, variance_a = moments(a)
    count_b, mean_b, variance_b = moments(b)
    pooled = pooled_variance(count_a, variance_a, count_b, variance_b)
    error, welch = errors_of(count_a, variance_a, count_b, variance_b, rounding)
    return _judge(mean_b - mean_a, error, welch, confidence, pooled, count_a, count_b)


def pooled_variance(count_a: Values, variance_a: Values, count_b: Values, variance_b: Values) -> Values:
    """The variance that both sides share, weighted by their degrees of freedom; NaN for one launch against
    one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled: Values = (variance_a * (count_a - 1) + variance_b * (count_b - 1)) / (count_a + count_b - 2.0)
    return pooled


def errors_of(
    count_a: Values,
    variance_a: Values,
    count_b: Values,
    variance_b: Values,
    rounding: Values | float,
    middle: Values | None = None,
) -> tuple[Values, Values]:
    """Standard error of a difference as in `shift`, and its degrees of freedom; points are on the last axis.
    `middle`: the variance of the median point (middle_variance). Pass it for permuted launches: if the sides
    differ, their permuted variances contain the difference."""
    least = LEAST_SPREAD**2 + np.square(rounding)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = count_a + count_b - 2.0
        pooled = pooled_variance(count_a, variance_a, count_b, variance_b)
        share_a = np.maximum(variance_a, least) / count_a
        share_b = np.maximum(variance_b, least) / count_b
        few = np.minimum(count_a, count_b) < 3
        size = 1 / count_a + 1 / count_b
        error = np.where(few, 0.0, share_a + share_b)
        error = np.maximum(error, np.maximum(pooled, least) * size)
        typical = _middle(pooled) if middle is None else middle
        error = np.maximum(error, typical * PRIOR / (PRIOR + degrees) * size)
        welch = (share_a + share_b) ** 2 / (share_a**2 / (count_a - 1) + share_b**2 / (count_b - 1))
        return np.sqrt(error), np.where(few, degrees, welch)


def shift_of_pairs(a: Values, b: Values, confidence: float = 0.95, rounding: Values | float = 0.0) -> Shift:
    """As `shift`, for launches in pairs: launch i of A and launch i of B were neighbors in time. Student's
    test of their differences.

    What slows the machine for both cancels in the difference. In return, half as many values estimate the
    spread.
    """
    count, mean, variance = moments(b - a)
    error = errors_of_pairs(count, variance, rounding)
    return _judge(mean, error, count - 1.0, confidence, variance / 2, count, count)


def middle_variance(a: Values, b: Values, *, pairs: bool) -> Values:
    """Variance of the median point, between launches of one side or of the differences of pairs; shape (1,)."""
    if pairs:
        return _middle(moments(b - a)[2])
    (count_a, _, variance_a), (count_b, _, variance_b) = moments(a), moments(b)
    return _middle(pooled_variance(count_a, variance_a, count_b, variance_b))


def errors_of_pairs(
    count: Values, variance: Values, rounding: Values | float, middle: Values | None = None
) -> Values:
    """Standard error of a mean difference as in `shift_of_pairs`; points are on the last axis. `middle`: as
    in errors_of."""
    least = 2 * (LEAST_SPREAD**2 + np.square(rounding))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.maximum(variance, least) / count
        typical = _middle(variance) if middle is None else middle
        errors: Values = np.sqrt(np.maximum(error, typical * PRIOR / (PRIOR + count - 1) / count))
    return errors


def adjust_to_look(judged: Shift, share: float) -> Shift:
    """The result for one of several looks, which has this share of the error rates. `judged` must have its
    interval at 1 - share * (1 - confidence). The p-value then holds for all looks. With a share of 0, only
    the difference is known."""
    if not share:
        unknown = np.full(judged.p.shape, np.nan)
        return judged._replace(low=unknown, high=unknown, p=unknown)
    return judged._replace(p=np.minimum(judged.p / share, 1.0))


def moments(values: Values) -> tuple[Values, Values, Values]:
    """Count, mean and variance over launches, shape (points,). The mean of no launch is NaN; the variance of
    fewer than two is 0."""
    finite = np.isfinite(values)
    count = finite.sum(axis=0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(finite, values, 0.0).sum(axis=0) / count
        squares = np.where(finite, (values - mean) ** 2, 0.0).sum(axis=0)
        variance = np.where(count > 1, squares / (count - 1), 0.0)
    return count, mean, variance


def _middle(variance: Values) -> Values:
    """The variance of the median point. The last axis is kept, with length 1."""
    middle = nanmedian(np.where(np.isfinite(variance), variance, np.nan), axis=-1)[..., None]
    finite: Values = np.nan_to_num(middle)
    return finite


def _judge(
    difference: Values,
    error: Values,
    degrees: Values,
    confidence: float,
    variance: Values,
    count_a: Values,
    count_b: Values,
) -> Shift:
    unknown = ~(degrees > 0)
    degrees = np.where(unknown, np.nan, degrees)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(degrees, -np.abs(difference / error))
        half = stdtrit(degrees, 0.5 + confidence / 2) * error
        spread = np.where(unknown, np.nan, np.sqrt(variance))
    return Shift(
        difference, difference - half, difference + half, p, spread, count_a, count_b, error, degrees
    )


def launches_needed(
    spread: Values | float, change: float, level: float, power: float = 0.95, *, pairs: bool = False
) -> Values:
    """Launches per side with which a difference of `change` has a p-value below `level` in a share `power` of
    all comparisons. This is the inverse of `detectable_difference`: exact up to 100 launches, above that rounded up by
    at most 3 %. NaN for an unknown spread, infinite above a million."""
    counts, changes = _powers(level, power, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        in_spreads = change / np.asarray(spread, dtype=np.float64)
    # Searched in ascending order: many launches detect small changes, few detect only large ones.
    place = np.searchsorted(changes[::-1], in_spreads, side="right")
    needed: Values = np.where(place > 0, counts[::-1][np.maximum(place - 1, 0)], np.inf)
    return np.where(np.isnan(in_spreads), np.nan, needed)


@lru_cache
def _powers(level: float, power: float, pairs: bool) -> tuple[Values, Values]:
    """Launches per side, and the differences that they detect, in units of the spread (descending)."""
    grid = np.unique(np.concatenate([np.arange(2, 101), np.geomspace(100, 1e6, 320).round()]))
    changes = np.array([detectable_difference(1.0, n, n, level, power, pairs=pairs) for n in grid])
    return grid, changes


def detectable_difference(
    spread: float,
    launches_a: float,
    launches_b: float,
    level: float,
    power: float = 0.95,
    *,
    pairs: bool = False,
) -> float:
    """The difference that this many launches detect (p below `level`) in a share `power` of all comparisons.
    Infinite for one launch against one."""
    degrees = launches_a - 1.0 if pairs else launches_a + launches_b - 2.0
    if degrees < 1:
        return float("inf")
    return noncentrality(degrees, level, power) * float(spread * np.sqrt(1 / launches_a + 1 / launches_b))


def noncentrality(degrees: float, level: float, power: float) -> float:
    """The difference, in standard errors, that Student's two-sided test at this level finds with this power.
    It comes from the noncentral t distribution. Above a thousand standard errors it is the limit, in which
    only the estimate of the spread is random: SciPy's function may not return there."""
    critical = stdtrit(degrees, 1 - level / 2)
    if critical > 1000:
        return float(critical * np.sqrt(chdtri(degrees, 1 - power) / degrees))
    return float(nctdtrinc(degrees, 1 - power, critical))


def level_of(values: Sequence[float] | Values) -> tuple[float, float, float]:
    """Geometric mean of the values above 0, with Student's 95 % interval: (mean, low, high). With one value, the
    interval is NaN. Raises ValueError if there is none."""
    logs = _logs(values)
    logs = logs[np.isfinite(logs)]
    if not len(logs):
        raise ValueError("no value above 0")
    mean = float(np.exp(logs.mean()))
    if len(logs) < 2:
        return mean, float("nan"), float("nan")
    half = stdtrit(len(logs) - 1, 0.975) * logs.std(ddof=1) / np.sqrt(len(logs))
    return mean, float(mean * np.exp(-half)), float(mean * np.exp(half))


def _logs(values: Sequence[float] | Values) -> Values:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Values = np.log(np.asarray(values, dtype=np.float64))
    return logs
