"""Many rows and bands at once: p-values and intervals that hold for all of them together. Pure.

Rows of a launch depend on each other: a launch that is slow is slow in most of its rows. Two methods hold under any
dependence, and both bound the probability of *any* false difference:

- **Permutation of max-T** (Westfall and Young, Resampling-Based Multiple Testing, 1993; step down): which launch is of
  which side is permuted (of pairs: which of the two), all rows of a launch together, and the largest |t| of all rows is
  noted. The row with the largest |t| differs where it is among the largest of these; then the next one is held against the
  largest |t| of the rows that are left, and so on. Used where the launches permit enough permutations.
- **Holm**, Scand. J. Stat. 6 (1979) 65, on Student's p-values: elsewhere.

Neither SciPy (`permutation_test` has one statistic) nor statsmodels (`multipletests` has no max-T) has the first one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from imb.judge.stats import Shift, Values, errors_of, errors_of_pairs, middle_variance

EVERY = 4096  # permutations; up to so many all are taken, else DRAWN at random
DRAWN = 2000
LEAST_DRAWN = 5  # of those drawn that a level must have, since which are drawn is chance
_CHUNK = 256  # permutations at a time: memory
_ROUNDING = 1e-9  # of a statistic: what is summed in another order is the same


class Family(NamedTuple):
    """What is judged together at one level: `q`, adjusted p-values; `critical`, how many standard errors the interval that
    `q` belongs to reaches to each side. Shape (points,); NaN where nothing is known."""

    q: Values
    critical: Values


def holm(p: Values) -> Values:
    """Adjusted p-values; NaN stays NaN and counts as nothing that was looked at."""
    found = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    scaled = p[order] * (len(order) - np.arange(len(order)))
    found[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return found


def by_holm(found: Shift, columns: Sequence[int], level: float) -> Family:
    """Of these columns."""
    p = np.full(found.p.shape, np.nan)
    p[columns] = found.p[columns]
    adjusted = holm(p)
    many = max(int(np.isfinite(p).sum()), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(p > 0, adjusted / p, many)
        # The interval that excludes no difference exactly where the adjusted p-value is at most the level.
        times = np.where(adjusted >= 1, many, np.clip(times, 1, many))
        critical = -stdtrit(found.degrees, level / times / 2)
    return Family(adjusted, np.where(np.isfinite(p), critical, np.nan))


def permits(launches_a: int, launches_b: int, level: float, *, pairs: bool) -> bool:
    """Whether so many launches have enough permutations for this level."""
    few = min(launches_a, launches_b)
    many = (
        2 ** (few - 1)
        if pairs
        else math.comb(launches_a + launches_b, few) // (2 if launches_a == launches_b else 1)
    )
    return level * many >= 1 if many <= EVERY else level * DRAWN >= LEAST_DRAWN


class Permutations:
    """The largest statistics of permuted launches, of any set of columns."""

    def __init__(self, found: Shift, a: Values, b: Values, rounding: Values | float, pairs: bool) -> None:
        """a, b: shape (launches, columns), as they were judged; `found` is their result."""
        known = np.isfinite(found.p)
        # Of counts alone, since it must be the same in all permutations.
        degrees = np.where(known, found.count_a - 1 if pairs else found.count_a + found.count_b - 2, np.nan)
        self._even = not known.any() or np.nanmin(degrees) == np.nanmax(degrees)
        self._degrees = degrees
        self._middle = middle_variance(a, b, pairs=pairs)
        self.random = False
        self.scores = self._of_pairs(a, b, rounding) if pairs else self._of_launches(a, b, rounding)
        self.observed = self._score(np.abs(found.difference / found.error)[np.newaxis])[0]
        if self.random:
            self.scores[0] = self.observed  # it is one of them

    def family(self, columns: Sequence[int], level: float) -> Family:
        """Of these columns."""
        known = np.zeros(len(self.observed), dtype=bool)
        known[columns] = np.isfinite(self._degrees[columns])
        q = np.full(len(known), np.nan)
        critical = np.full(len(known), np.nan)
        if not known.any():
            return Family(q, critical)
        columns_ = np.flatnonzero(known)
        order = columns_[np.argsort(-self.observed[columns_], kind="stable")]
        # Of each step the largest of the columns that are left.
        largest = np.maximum.accumulate(self.scores[:, order[::-1]], axis=1)[:, ::-1]
        count = len(largest)
        observed = self.observed[order]
        exceeded = (largest >= observed * (1 - _ROUNDING)).sum(axis=0)
        stepwise = np.maximum.accumulate(np.maximum(exceeded, 1) / count)
        allowed = int(level * count + 1e-9)
        scores = np.partition(largest, count - 1 - allowed, axis=0)[count - 1 - allowed] * (1 + _ROUNDING)
        # Behind the first column that does not differ no other is tested.
        first = int(np.searchsorted(stepwise, allowed / count, side="right"))
        scores[first:] = scores[min(first, len(scores) - 1)]
        q[order] = stepwise
        critical[order] = scores if self._even else -stdtrit(self._degrees[order], np.exp(-scores) / 2)
        return Family(q, critical)

    def _score(self, t: Values) -> Values:
        """Comparable between columns: |t|, or where launches lack rows the logarithm of its p-value."""
        t = np.nan_to_num(t, nan=0.0, posinf=0.0)
        if self._even:
            return t
        with np.errstate(divide="ignore", invalid="ignore"):
            scores: Values = -np.log(2 * stdtr(self._degrees, -t))
        return np.nan_to_num(scores, nan=0.0, posinf=700.0)

    def _of_pairs(self, a: Values, b: Values, rounding: Values | float) -> Values:
        difference = b - a
        order = np.argsort(np.abs(_level(difference)), kind="stable")  # whatever the order of launches
        difference = difference[order]
        there = np.isfinite(difference)
        figures = np.where(there, difference, 0.0)
        count, squares = there.sum(axis=0), (figures**2).sum(axis=0)
        found = []
        signs = self._signs(len(difference))
        for begin in range(0, len(signs), _CHUNK):
            sums = signs[begin : begin + _CHUNK] @ figures
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = sums / count
                variance = np.maximum(squares - count * mean**2, 0.0) / (count - 1)
                error = errors_of_pairs(count, variance, rounding, self._middle)
                found.append(self._score(np.abs(mean / error)))
        return np.vstack(found)

    def _of_launches(self, a: Values, b: Values, rounding: Values | float) -> Values:
        both = np.vstack([a, b])
        small = min(len(a), len(b))
        order = np.argsort(_level(both), kind="stable")
        both = both[order]
        there = np.isfinite(both)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.where(there, both, 0.0).sum(axis=0) / there.sum(axis=0)
        figures = np.where(there, both - middle, 0.0)
        have = there.astype(np.float64)
        sums, squares, counts = figures.sum(axis=0), (figures**2).sum(axis=0), have.sum(axis=0)
        found = []
        chosen = self._chosen(len(both), small, equal=len(a) == len(b))
        for begin in range(0, len(chosen), _CHUNK):
            part = chosen[begin : begin + _CHUNK]
            count, total, square = part @ have, part @ figures, part @ figures**2
            with np.errstate(divide="ignore", invalid="ignore"):
                moments = [
                    (n, s / n, np.where(n > 1, np.maximum(q - s**2 / n, 0.0) / (n - 1), 0.0))
                    for n, s, q in ((count, total, square), (counts - count, sums - total, squares - square))
                ]
                (count_a, mean_a, variance_a), (count_b, mean_b, variance_b) = moments
                error, _ = errors_of(count_a, variance_a, count_b, variance_b, rounding, self._middle)
                found.append(self._score(np.abs((mean_b - mean_a) / error)))
        return np.vstack(found)

    def _signs(self, many: int) -> Values:
        """Shape (permutations, pairs); the first pair keeps its sign, since |t| has none."""
        if 2 ** (many - 1) <= EVERY:
            rest = np.array(list(itertools.product((1.0, -1.0), repeat=many - 1))).reshape(-1, many - 1)
            return np.hstack([np.ones((len(rest), 1)), rest])
        self.random = True
        drawn: Values = np.random.default_rng(1).choice([1.0, -1.0], (DRAWN, many))
        return drawn

    def _chosen(self, many: int, small: int, *, equal: bool) -> Values:
        """Shape (permutations, launches): 1 for those of the smaller side."""
        distinct = math.comb(many, small) // (2 if equal else 1)
        if distinct <= EVERY:
            places: npt.NDArray[np.int64] = np.array(list(itertools.combinations(range(many), small)))
            if equal:
                places = places[:distinct]  # those that have the first launch
        else:
            self.random = True
            random = np.random.default_rng(1)
            places = np.array([random.permutation(many)[:small] for _ in range(DRAWN)])
        chosen = np.zeros((len(places), many))
        np.put_along_axis(chosen, places, 1.0, axis=1)
        return chosen


def _level(values: Values) -> Values:
    """Mean of each launch over what it has."""
    there = np.isfinite(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        level: Values = np.nan_to_num(np.where(there, values, 0.0).sum(axis=1) / there.sum(axis=1))
    return level
