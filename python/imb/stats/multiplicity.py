"""Many bands and rows at once: p-values and intervals that hold for all of them together. Pure.

Rows of a launch depend on each other: a slow launch is slow in most of its rows. Bands and rows are one
family. Two methods bound the probability of *any* false difference in it:

- **Permutation of max-T** (Westfall and Young, Resampling-Based Multiple Testing, 1993; step down). Launches
  are exchanged between the sides (pairs: within each pair), all rows of a launch together, and the largest
  statistic of all bands and rows is recorded. The band or row with the largest observed statistic differs if
  this statistic is among the largest recorded ones. The next is compared with the largest statistics of the
  remaining ones, and so on. This is valid only if launches are exchangeable, so not for bands and rows whose
  spreads differ between the sides.
- **Holm**, Scand. J. Stat. 6 (1979) 65, on Welch's or Student's p-values. It judges bands and rows whose
  spreads differ, and everything if launches permit too few permutations. Bands have most of the weight: they
  are fewer, and a change over many message sizes shows in them first.

Intervals come from the first step only: later steps show that there is a difference, not how large it is.

Statistics with different degrees of freedom are compared as normal scores (Wallace, Ann. Math. Stat. 30
(1959) 1121).

SciPy and statsmodels lack max-T: `permutation_test` has one statistic, and `multipletests` has no
permutation.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from imb.stats.arrays import Values
from imb.stats.medians import nanmedian
from imb.stats.shift import LEAST_SPREAD, Shift, errors_of, errors_of_pairs, moments, pooled_variance

EVERY = 4096  # if there are at most this many permutations, all are used; else DRAWN random ones
DRAWN = 2000
LEAST = 2  # fewest permutations beyond a level: an interval from the largest alone misses too often
LEAST_DRAWN = 5  # the same for random permutations, whose choice adds chance
UNEQUAL = 0.01  # level of the test for unequal spreads in a column
UNEQUAL_IN_THE_MIDDLE = (
    0.1  # level for the median column, which shows more because rows of a launch are alike
)
_CHUNK = 256  # permutations computed at a time, to limit memory
_ROUNDING = 1e-9  # relative difference of a statistic that is summed in another order
_MOST = 1e6  # largest score


class Family(NamedTuple):
    """Columns judged together at one level, shape (columns,): `q`, adjusted p-values; `critical`, half width
    of the simultaneous interval in standard errors. NaN if unknown. A later step may find a difference (`q`)
    although the interval contains 0."""

    q: Values
    critical: Values


def family_of(
    shift: Shift,
    a: Values,
    b: Values,
    rounding: Values,
    middle: Values,
    level: float,
    weights: Values,
    *,
    pairs: bool,
) -> Family:
    """The family of all columns. a, b: shape (launches, columns), as judged; `shift`: their result. `middle`:
    the least variance of each column (imb.stats.shift.middle_variance). `weights`: weights of the columns in
    Holm's method. `level`: the error rate of the family."""
    unequal = np.zeros(shift.p.shape, dtype=bool)
    if not pairs:
        unequal, degrees = unequal_spreads(a, b, rounding)
        # Use the noisier side alone: Welch's degrees of freedom are too many if its few launches agree by chance.
        shift = shift._replace(degrees=np.where(unequal, degrees, shift.degrees))
    by_holm = _holm_family(shift, weights, level)
    if not np.isfinite(shift.p).any() or not permits(len(a), len(b), level, pairs=pairs):
        return by_holm
    permuted = Permutations(shift, a, b, rounding, middle, pairs).family(level)
    both = zip(by_holm, permuted, strict=True)
    return Family(
        *(np.where(unequal, np.fmax(weighted, permutation), permutation) for weighted, permutation in both)
    )


def holm(p: Values, weights: Values | None = None) -> Values:
    """Adjusted p-values by Holm's method. NaN stays NaN and does not count as a test."""
    finite = np.isfinite(p)
    weights = np.where(finite, 1.0 if weights is None else weights, 0.0)
    weights = weights / max(float(weights.sum()), 1e-300)
    adjusted = np.full(p.shape, np.nan)
    scaled = p[finite] / weights[finite]
    order = np.flatnonzero(finite)[np.argsort(scaled, kind="stable")]
    left = np.cumsum(weights[order][::-1])[::-1]
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.sort(scaled) * left))
    return adjusted


def _holm_family(shift: Shift, weights: Values, level: float) -> Family:
    """Holm's p-values with weights, and Bonferroni's intervals."""
    finite = np.isfinite(shift.p)
    shares = np.where(finite, weights, np.nan) / max(float(weights[finite].sum()), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(shift.degrees, -np.abs(shift.difference / shift.error))
    return Family(holm(p, weights), -stdtrit(shift.degrees, level * shares / 2))


def unequal_spreads(a: Values, b: Values, rounding: Values) -> tuple[npt.NDArray[np.bool_], Values]:
    """For each column, whether launches of A and of B have different spreads, by the test of the column or of
    the median column. Also returns the degrees of freedom of the side whose mean is less certain.

    The test is Brown and Forsythe's, J. Am. Stat. Assoc. 69 (1974) 364: Student's test of distances from the
    median, which one outlier does not decide. If the sides have different sizes, only a larger spread of the
    smaller side counts.
    """
    sizes, least = len(a) - len(b), LEAST_SPREAD**2 + np.square(rounding)
    (count_a, far_a, spread_a), (count_b, far_b, spread_b) = (moments(_distances(side)) for side in (a, b))
    variance_a, variance_b = (np.maximum(moments(side)[2], least) for side in (a, b))
    with np.errstate(divide="ignore", invalid="ignore"):
        together = count_a + count_b - 2
        pooled = np.maximum(pooled_variance(count_a, spread_a, count_b, spread_b), least)
        t = (far_a - far_b) / np.sqrt(pooled * (1 / count_a + 1 / count_b))
        t = np.abs(t) if sizes == 0 else t if sizes < 0 else -t
        tails = 2 if sizes == 0 else 1
        of_column = tails * stdtr(together, -t)
        middle = tails * stdtr(len(a) + len(b) - 2, -nanmedian(t))
        degrees = np.where(variance_a / count_a > variance_b / count_b, count_a, count_b) - 1
    return (of_column < UNEQUAL) | (middle < UNEQUAL_IN_THE_MIDDLE), degrees


def _distances(side: Values) -> Values:
    distances: Values = np.abs(side - nanmedian(side))
    return distances


def permits(launches_a: int, launches_b: int, level: float, *, pairs: bool) -> bool:
    """Whether these numbers of launches have enough permutations for this level."""
    smaller = min(launches_a, launches_b)
    permutations = (
        2 ** (smaller - 1)
        if pairs
        else math.comb(launches_a + launches_b, smaller) // (2 if launches_a == launches_b else 1)
    )
    return level * permutations >= LEAST if permutations <= EVERY else level * DRAWN >= LEAST_DRAWN


class Permutations:
    """The largest statistics of permuted launches."""

    def __init__(
        self, shift: Shift, a: Values, b: Values, rounding: Values | float, middle: Values, pairs: bool
    ) -> None:
        """Parameters as in `family_of`."""
        # Degrees of freedom depend only on counts, which are the same in all permutations.
        self._degrees = shift.count_a - 1 if pairs else shift.count_a + shift.count_b - 2
        self._finite = np.isfinite(shift.p)
        self._middle = middle
        self.random = False
        self.scores = self._pair_family(a, b, rounding) if pairs else self._launch_family(a, b, rounding)
        self.observed = scores(np.abs(shift.difference / shift.error), self._degrees)
        if self.random:
            self.scores[0] = self.observed  # the observed order is also a permutation

    def family(self, level: float) -> Family:
        """The family of all columns."""
        columns = np.flatnonzero(self._finite)
        order = columns[np.argsort(-self.observed[columns], kind="stable")]
        # For each step, the largest score of the remaining columns.
        largest = np.maximum.accumulate(self.scores[:, order[::-1]], axis=1)[:, ::-1]
        count = len(largest)
        exceeded = (largest >= self.observed[order] * (1 - _ROUNDING)).sum(axis=0)
        q, critical = np.full(len(self._finite), np.nan), np.full(len(self._finite), np.nan)
        q[order] = np.maximum.accumulate(np.maximum(exceeded, 1) / count)
        place = count - 1 - int(level * count + 1e-9)
        score = np.partition(largest[:, 0], place)[place] * (1 + _ROUNDING)
        critical[order] = students(score, self._degrees[order])
        return Family(q, critical)

    def _pair_family(self, a: Values, b: Values, rounding: Values | float) -> Values:
        difference = b - a
        # Sort the pairs, so that the result does not depend on the order of the launches.
        order = np.argsort(np.abs(_level(difference)), kind="stable")
        difference = difference[order]
        finite = np.isfinite(difference)
        figures = np.where(finite, difference, 0.0)
        count, squares = finite.sum(axis=0), (figures**2).sum(axis=0)
        chunks = []
        signs = self._signs(len(difference))
        for begin in range(0, len(signs), _CHUNK):
            sums = signs[begin : begin + _CHUNK] @ figures
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = sums / count
                variance = np.maximum(squares - count * mean**2, 0.0) / (count - 1)
                error = errors_of_pairs(count, variance, rounding, self._middle)
                chunks.append(scores(np.abs(mean / error), self._degrees))
        return np.vstack(chunks)

    def _launch_family(self, a: Values, b: Values, rounding: Values | float) -> Values:
        both = np.vstack([a, b])
        smaller = min(len(a), len(b))
        order = np.argsort(_level(both), kind="stable")
        both = both[order]
        finite = np.isfinite(both)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.where(finite, both, 0.0).sum(axis=0) / finite.sum(axis=0)
        figures = np.where(finite, both - middle, 0.0)
        present = finite.astype(np.float64)
        sums, squares, counts = figures.sum(axis=0), (figures**2).sum(axis=0), present.sum(axis=0)
        chunks = []
        chosen = self._assignments(len(both), smaller, equal=len(a) == len(b))
        for begin in range(0, len(chosen), _CHUNK):
            part = chosen[begin : begin + _CHUNK]
            count, total, square = part @ present, part @ figures, part @ figures**2
            with np.errstate(divide="ignore", invalid="ignore"):
                sides = [
                    (n, s / n, np.where(n > 1, np.maximum(q - s**2 / n, 0.0) / (n - 1), 0.0))
                    for n, s, q in ((count, total, square), (counts - count, sums - total, squares - square))
                ]
                (count_a, mean_a, variance_a), (count_b, mean_b, variance_b) = sides
                error, _ = errors_of(count_a, variance_a, count_b, variance_b, rounding, self._middle)
                chunks.append(scores(np.abs((mean_b - mean_a) / error), self._degrees))
        return np.vstack(chunks)

    def _signs(self, pairs: int) -> Values:
        """Shape (permutations, pairs): the sign of each pair. If all permutations are used, the first pair
        keeps its sign, because |t| does not depend on it."""
        if 2 ** (pairs - 1) <= EVERY:
            rest = np.array(list(itertools.product((1.0, -1.0), repeat=pairs - 1))).reshape(-1, pairs - 1)
            return np.hstack([np.ones((len(rest), 1)), rest])
        self.random = True
        drawn: Values = np.random.default_rng(1).choice([1.0, -1.0], (DRAWN, pairs))
        return drawn

    def _assignments(self, launches: int, smaller: int, *, equal: bool) -> Values:
        """Shape (permutations, launches): 1 for the launches of the smaller side."""
        distinct = math.comb(launches, smaller) // (2 if equal else 1)
        if distinct <= EVERY:
            places: npt.NDArray[np.int64] = np.array(list(itertools.combinations(range(launches), smaller)))
            if equal:
                places = places[:distinct]  # those that have the first launch
        else:
            self.random = True
            random = np.random.default_rng(1)
            places = np.array([random.permutation(launches)[:smaller] for _ in range(DRAWN)])
        chosen = np.zeros((len(places), launches))
        np.put_along_axis(chosen, places, 1.0, axis=1)
        return chosen


def scores(t: Values, degrees: Values) -> Values:
    """The normal score of |t|, comparable between different degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        normal = (8 * degrees + 1) / (8 * degrees + 3) * np.sqrt(degrees * np.log1p(t**2 / degrees))
    return np.nan_to_num(normal, nan=0.0, posinf=_MOST)


def students(score: float, degrees: Values) -> Values:
    """The |t| of a normal score: the inverse of `scores`."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_score = (score * (8 * degrees + 3) / (8 * degrees + 1)) ** 2
        t: Values = np.sqrt(degrees * np.expm1(of_score / degrees))
    return t


def _level(values: Values) -> Values:
    """Mean of each launch over the columns that it has; 0 if it has none."""
    finite = np.isfinite(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        level: Values = np.nan_to_num(np.where(finite, values, 0.0).sum(axis=1) / finite.sum(axis=1))
    return level
