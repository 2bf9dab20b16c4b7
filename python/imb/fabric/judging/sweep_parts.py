"""A part of the passes of a sweep: one time for each pair and direction, relative to pairs of the same
distance. Pure.

The time of a pair is the lower median over its passes, so a pair that is slow in half of them or fewer is not
slow. If messages go one way and each direction has two passes or more, each direction has its own time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from imb.fabric.judging.elements import FEWEST, FabricElement, FabricElements
from imb.fabric.judging.sweep import Sweep
from imb.stats.arrays import Indices, Mask, Numbers, Values
from imb.stats.medians import EFFICIENCY, group_by_index, median, middles, robust_deviation, table_by_index
from imb.stats.shift import LEAST_SPREAD

BOTH_WAYS = ("Pair_Latency", "Pair_Bidirectional")  # benchmarks whose time covers both directions
_BOUND = 3.0  # standard deviations; values beyond are moved to this bound
_WHOLE = 0.9  # if an element crosses more of the pairs of a class, its effect cannot be separated from the class level
_MAJORITY = 0.5  # a slow element that crosses more of the pairs of a class raises the class level
_FAST = 25  # percentile that represents fast pairs
_FROM_FAST = 0.6745  # standard deviations from that percentile to the median
_KIND = 4  # with fewer elements of a kind, their variation is unknown
_SEVERAL = 8  # pairs of an endpoint in a pass that show whether it is slow in this pass
_ROBUST = 10  # from this many endpoints on, use the median absolute deviation: a slow link also slows endpoints that use it


@dataclass(frozen=True)
class SweepLayout:
    """What all parts of a sweep share. `good`: records with a time; `key`: pair of each record; `a`, `b`:
    endpoints of each pair; `of`: class of each pair and direction; `logs`: logarithms of the records' times."""

    sweep: Sweep
    good: Mask
    key: Indices
    a: Numbers
    b: Numbers
    of: Indices
    elements: FabricElements
    logs: Values

    @property
    def is_directed(self) -> bool:
        return self.sweep.benchmark not in BOTH_WAYS and bool((self.sweep.a > self.sweep.b).any())

    @cached_property
    def members(self) -> tuple[tuple[FabricElement, ...], Any]:
        """Elements in both directions, and their matrix with a column for each pair and direction.
        Endpoints also occur as senders and as receivers."""
        from scipy.sparse import csr_array, hstack, vstack

        each, member, pairs = self.elements.each, self.elements.member, len(self.a)
        count = len(self.sweep.endpoints)
        ends = [
            element for element in each if element.kind in ("core", "host") and len(element.endpoints) == 1
        ]
        number = np.array([element.endpoints[0] for element in ends], dtype=np.int64)
        columns, entries = np.arange(2 * pairs), np.ones(2 * pairs)
        rows = [hstack([member, member])]
        for first, second in ((self.a, self.b), (self.b, self.a)):
            endpoint = np.concatenate([first, second])
            rows.append(csr_array((entries, (endpoint, columns)), shape=(count, 2 * pairs))[number])
        ways = [
            replace(element, name=f"{element.name} as {way}", way=way)
            for way in ("sender", "receiver")
            for element in ends
        ]
        return (*each, *ways), vstack(rows).tocsr()


class SweepPart:
    """`value`: logarithm of the time of each pair and direction (first all from the lower endpoint, then the
    others), NaN if there is none; without directions, of each pair."""

    def __init__(self, layout: SweepLayout, kept: Mask) -> None:
        self.layout = layout
        selected = kept & layout.good
        pairs = len(layout.a)
        sweep, key, logs = layout.sweep, layout.key[selected], layout.logs[selected].copy()
        passes = sweep.passes[selected].astype(np.int64)
        forward = sweep.a[selected] < sweep.b[selected]
        self.passes = len(np.unique(passes))
        if self.passes > 1 and len(logs):  # level passes; launches are already leveled
            launch = 0 if sweep.launches is None else sweep.launches[selected].astype(np.int64)
            cell = launch * pairs + key
            away = logs - middles(cell, int(cell.max()) + 1, logs)[cell]
            logs -= _fast_of(passes, away)[passes]
        ways = np.bincount(2 * key + forward, minlength=2 * pairs).reshape(-1, 2)
        met = ways.sum(axis=1) > 0
        self.is_directed = layout.is_directed and met.any() and bool(np.median(ways[met].min(axis=1)) >= 2)
        self._key, self._passes, self._logs = key, passes, logs
        self._at = np.where(forward, key, key + pairs) if self.is_directed else key
        table, self.count = table_by_index(self._at, 2 * pairs if self.is_directed else pairs, logs)
        self.noise = _noise(table)
        self.there = self.count > 0
        self.value = self._over_passes(table)
        self.each, self.member = (
            layout.members if self.is_directed else (layout.elements.each, layout.elements.member)
        )
        self.of = layout.of if self.is_directed else layout.of[:pairs]

    @cached_property
    def error(self) -> float:
        """Standard deviation of a value due to the noise of its passes alone; NaN if unknown."""
        return self.noise * 1.25 / float(np.sqrt(max(np.median(self.count[self.there]), 1.0)))

    def _over_passes(self, table: Values) -> Values:
        values, present = np.full(len(self.count), np.nan), self.there
        ordered = np.sort(table, axis=0)
        values[present] = ordered[(self.count[present] - 1) // 2, np.flatnonzero(present)]
        even = (self.count % 2 == 0) & present
        if len(np.unique(self.count[present])) > 1 and np.isfinite(self.noise):
            # The lower median is below the mean by about this amount.
            values[even] += 1.2 * self.noise / self.count[even]
        return values

    @cached_property
    def pair_residuals(self) -> Values:
        """The values relative to other pairs of the same endpoints in each pass. If an endpoint is slow for
        some passes, its single pairs do not look slow."""
        layout, count = self.layout, len(self.layout.sweep.endpoints)
        classes = layout.of[self._at]
        away = self._logs - middles(classes, int(layout.of.max(initial=-1)) + 1, self._logs)[classes]
        begin = self._passes * count
        ends = [begin + column[self._key] for column in (layout.a, layout.b)]
        every = np.concatenate(ends)
        cells = int(every.max(initial=-1)) + 1
        of_endpoint = middles(every, cells, np.tile(away, 2))
        # A median of few pairs is noise, and contains the effect of the pair itself.
        of_endpoint[np.bincount(every, minlength=cells) < max(FEWEST, min(_SEVERAL, count - 1))] = 0.0
        away -= np.maximum(of_endpoint[ends[0]], of_endpoint[ends[1]])  # the slower end decides
        values = self._over_passes(table_by_index(self._at, len(self.count), away)[0])
        return values - median(values[self.there]) if self.there.any() else values

    @cached_property
    def kinds(self) -> Indices:
        """Kind of each element as a number: hosts are compared with hosts, links with links."""
        names: dict[tuple[str, str], int] = {}
        numbers = [names.setdefault((each.kind, each.way), len(names)) for each in self.each]
        return np.array(numbers, dtype=np.int64)

    @cached_property
    def ends(self) -> set[int]:
        """Kinds that are endpoints."""
        return {
            kind
            for kind, element in zip(self.kinds.tolist(), self.each, strict=True)
            if element.kind in ("core", "host")
        }

    @cached_property
    def confounded_elements(self) -> tuple[Mask, Mask]:
        """Two masks. Elements that all pairs of a class and hardly any others cross: their effect cannot be
        separated from the class level. Classes of which another element crosses most pairs."""
        inside = np.zeros(len(self.each))
        counts = self.member @ self.there.astype(np.float64)
        shares = []
        for index in range(int(self.of.max(initial=-1)) + 1):
            in_class = (self.of == index) & self.there
            crossing = self.member @ in_class.astype(np.float64)
            inside += np.where(crossing > _WHOLE * in_class.sum(), crossing, 0.0)
            shares.append(crossing / max(in_class.sum(), 1))
        whole = inside > _WHOLE * np.maximum(counts, 1)
        most = [bool((~whole & (share > _MAJORITY) & (share <= _WHOLE)).any()) for share in shares]
        return whole, np.array(most, dtype=bool)

    def members(self, element: int) -> Indices:
        begin, end = self.member.indptr[element : element + 2]
        columns: Indices = self.member.indices[begin:end].astype(np.int64)
        return columns[self.there[columns]]


class Fit:
    """A part with slow elements. `residual`: of each pair and direction; `covered`: number of slow
    elements that cross it; `spread`: standard deviation of the residuals without the effects of slow
    elements. `previous`: a fit whose levels and spread are reused, or None."""

    def __init__(self, part: SweepPart, chosen: tuple[int, ...], previous: Fit | None = None) -> None:
        self.part, self.chosen = part, chosen
        self.covered = np.zeros(len(part.value), dtype=np.int64)
        for element in chosen:
            self.covered[part.members(element)] += 1
        self.clean = part.there & (self.covered == 0)
        self.levels: Values
        self.residual: Values
        self.spread: float
        if previous is not None:
            self.levels, self.residual, self.spread = previous.levels, previous.residual, previous.spread
            return
        self.levels = np.array([self._level(index) for index in range(int(part.of.max(initial=-1)) + 1)])
        self.residual = part.value - self.levels[part.of]
        residuals = [self.residual[self.exclusive_pairs(element)] for element in chosen]
        away = np.concatenate(
            [self.residual[self.clean], *(values - median(values) for values in residuals if len(values))]
        )
        away = (
            -away[away <= 0] if len(away) else np.zeros(0)
        )  # use the fast side: slow elements are on the other
        floor = (
            part.noise / np.sqrt(np.median(part.count[part.there])) / 2 if np.isfinite(part.noise) else 0.0
        )
        self.spread = max(robust_deviation(away) if len(away) else 0.0, floor, LEAST_SPREAD)

    def _level(self, index: int) -> float:
        """The level of a class: the median over endpoints of their means. Most endpoints are healthy, even if
        most pairs are not."""
        part = self.part
        in_class = np.flatnonzero((part.of == index) & self.clean)
        if not len(in_class):
            in_class = np.flatnonzero((part.of == index) & part.there)
        if not len(in_class):
            return 0.0
        values = part.value[in_class]
        away, center = values - median(values), median(values)
        spread = max(robust_deviation(away), LEAST_SPREAD)
        if self.chosen:
            return center + bounded_mean(away, spread)
        pair = in_class % len(part.layout.a)
        ends, every = np.concatenate([part.layout.a[pair], part.layout.b[pair]]), np.tile(away, 2)
        met = np.bincount(ends, minlength=len(part.layout.sweep.endpoints))
        sums = np.bincount(ends, np.clip(every, -_BOUND * spread, _BOUND * spread), len(met))
        level = center + median(sums[met > 0] / met[met > 0])
        if not part.confounded_elements[1][index]:
            return level
        fast = float(np.percentile(values, _FAST))
        return min(level, fast + _FROM_FAST * (part.noise if np.isfinite(part.noise) else 0.0))

    @cached_property
    def bounded_residuals(self) -> tuple[Values, float]:
        """Bounded residuals in standard deviations, minus the mean of their class; and their standard
        deviation."""
        bounded = np.where(self.part.there, np.clip(self.residual / self.spread, -_BOUND, _BOUND), 0.0)
        clean = self.clean if self.clean.any() else self.part.there
        for index in range(len(self.levels)):
            in_class = self.part.of == index
            inside = bounded[in_class & clean]
            bounded[in_class] -= float(np.mean(inside)) if len(inside) else 0.0
        return bounded * self.part.there, float(
            np.clip(np.std(bounded[clean]) if clean.any() else 1.0, 0.3, 2.0)
        )

    @cached_property
    def scores(self) -> tuple[Values, Values, dict[int, tuple[float, float]]]:
        """Mean of each element on pairs that no slow element covers, in standard errors; the number of
        these pairs; and for each kind the factor by which its elements vary more than that, with its
        degrees of freedom (Satterthwaite 1946)."""
        bounded, deviation = self.bounded_residuals
        clean = self.clean.astype(np.float64)
        counts = self.part.member @ clean
        with np.errstate(all="ignore"):
            scores = self.part.member @ (bounded * clean) / np.sqrt(counts) / deviation
        scores = np.where(counts >= FEWEST, scores, np.nan)
        wider = {}
        pairs = len(np.unique(np.flatnonzero(self.part.there) % max(len(self.part.layout.a), 1)))
        freedom = max(pairs - 1 - len(self.chosen), 1)  # both directions of a pair may share an effect
        for kind in np.unique(self.part.kinds).tolist():
            inside = scores[(self.part.kinds == kind) & np.isfinite(scores)]
            factor, few = 1.0, len(inside) - 1.0
            if len(inside) >= _ROBUST or kind not in self.part.ends:
                few *= EFFICIENCY
                if len(inside) >= _KIND:
                    factor = robust_deviation(inside - median(inside))
            elif len(inside) >= _KIND:  # for few endpoints, the median absolute deviation is often far off
                factor = float(np.std(inside, ddof=1))
            factor, few = max(factor, 1.0), max(few, 1.0)
            wider[kind] = factor, float(factor**4 / (1 / freedom + (factor**2 - 1) ** 2 / few))
        return scores, counts, wider

    def exclusive_pairs(self, element: int) -> Indices:
        """Pairs and directions that cross no other slow element, or all that cross this one if there are
        too few."""
        every = self.part.members(element)
        other = 1 if element in self.chosen else 0
        single = every[self.covered[every] == other]
        return single if len(single) >= FEWEST else every

    def effect(self, element: int) -> float:
        """The effect of an element, a logarithm: the mean of its bounded residuals, but at most the effect
        that its fast pairs show, because all pairs of a slow element are slow."""
        residuals = self.residual[self.exclusive_pairs(element)]
        if not len(residuals):
            return 0.0
        return min(self.mean(element), float(np.percentile(residuals, _FAST)) + _FROM_FAST * self.spread)

    def mean(self, element: int) -> float:
        """The mean of its bounded residuals, also if some pairs of the element do not cross the slow part."""
        residuals = self.residual[self.exclusive_pairs(element)]
        center = median(residuals) if len(residuals) else 0.0
        return center + bounded_mean(residuals - center, self.spread) if len(residuals) else 0.0

    def score(self, element: int) -> float:
        """The score (see `scores`) of a slow element from pairs that cross no other slow one, in units of
        the variation of its kind."""
        bounded, deviation = self.bounded_residuals
        columns = self.exclusive_pairs(element)
        wider = self.scores[2][int(self.part.kinds[element])][0]
        return float(bounded[columns].sum() / np.sqrt(max(len(columns), 1)) / deviation / wider)

    def error(self, element: int, many: float | None = None) -> float:
        """Standard error of an effect over `many` pairs, by default as many as `exclusive_pairs` has, including the error of
        the level."""
        many = len(self.exclusive_pairs(element)) if many is None else many
        wider = self.scores[2][int(self.part.kinds[element])][0]
        variance = 1 / max(many, 1.0) + 1 / max(int(np.count_nonzero(self.clean)), 1)
        return float(self.spread * self.bounded_residuals[1] * wider * variance**0.5)

    def ratio(self, element: int) -> float:
        """Effect in standard errors, unlike scores not bounded."""
        return self.effect(element) / self.error(element)

    def likelihood_gain(self, element: int) -> float:
        """Gain of log likelihood if the pairs of the element are slow by its effect."""
        columns = self.part.members(element)
        columns = columns[self.clean[columns]]
        if len(columns) < FEWEST:
            return 0.0
        away, effect = self.residual[columns] / self.spread, self.effect(element) / self.spread
        return float((huber(away) - huber(away - effect)).sum())


def bounded_mean(away: Values, spread: float) -> float:
    """The mean of bounded values. For values with two modes, a median would be in one mode, not between them."""
    return float(np.mean(np.clip(away, -_BOUND * spread, _BOUND * spread)))


def huber(away: Values) -> Values:
    """Half of the square, linear beyond the bound (Huber, Ann. Math. Stat. 35 (1964) 73)."""
    size = np.abs(away)
    loss: Values = np.where(size <= _BOUND, size**2 / 2, _BOUND * size - _BOUND**2 / 2)
    return loss


def _fast_of(at: Indices, values: Values) -> Values:
    """The first quartile of the values of each index: a disturbance of a pass makes some pairs slower, and
    none faster."""
    ordered, first = group_by_index(at, int(at.max()) + 1, values)
    return np.array(
        [np.percentile(ordered[a:b], _FAST) if b > a else 0.0 for a, b in itertools.pairwise(first.tolist())]
    )


def _noise(table: Values) -> float:
    """Standard deviation of one measurement, from differences of successive ones, so that drift does not
    count; NaN if unknown."""
    between = np.diff(table, axis=0).ravel()[:1_000_000]
    between = between[np.isfinite(between)]
    if len(between) < 3:
        return float("nan")
    return max(robust_deviation(between) / float(np.sqrt(2.0)), LEAST_SPREAD)
