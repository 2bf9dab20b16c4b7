"""The smallest set of slow components that explains the levels of pairs. Arrays in, arrays out. Pure.

log time of a pair = level of its class + effects of the slow components that it crosses + residual.

Components are found one after the other (orthogonal matching pursuit: Pati, Rezaiifar and Krishnaprasad, Asilomar Conf. (1993) 40),
on bounded residuals (Huber, Ann. Math. Stat. 35 (1964) 73), so that few wild pairs decide nothing. A component slows all pairs that
cross it. So it must explain most of them, and the one that explains most goes first: a slow host has all its pairs, any link only
some of these. A level is the location of pairs that cross no slow component.

Two slow components on one route take as long as the slower of the two (bandwidth), or as both together (latency); all between
is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from imb.fabric.components import FEWEST, Components
from imb.fabric.location import bound, location
from imb.fabric.medians import median
from imb.fabric.pairs import LEAST_SPREAD, TO_DEVIATION
from imb.fabric.sweep import Values

Indices = npt.NDArray[np.int64]

MOST = 24  # components
_BOUND = 3.0  # standard deviations: what is farther away counts as this far
_SCORE = 3.0  # least score of a component that is tried
_TRIED = 12  # components with the largest scores
_AT_HALF = 0.15  # share of pairs that may miss what noise permits
_HOPELESS = 2.0  # times the largest gain: none of those that follow is expected to have as much
_UNSURE = 3.0  # of a log likelihood: components as close as this are alternatives
_SMALL = 500  # pairs: with fewer, a second start is tried
_MAJORITY = 0.5  # share of a class; a component that has more hides in the median of the class
_WHOLE = 0.9  # share of a class that a component may have before the class has no level of its own


@dataclass
class Fit:
    """`chosen`: components; `effects`: of each, of the logarithm; `alone`: how many pairs each has that cross no other one;
    `covered`: how many of them each pair crosses; `levels`: by class; `spread`: standard deviation of residuals. `low`: levels are near the
    fast pairs. `wide`: bound of locations."""

    chosen: list[int]
    effects: list[float]
    alone: list[int]
    covered: npt.NDArray[np.int64]
    levels: Values
    residual: Values
    spread: float
    wide: float
    low: bool = False


class Search:
    """Of one size. `time`: logarithm per pair; `classes`: index of the class of each pair; `least_noise`: standard deviation that
    a pair's figure has at least (from repeats); `least`: effects below half of it are not looked for. `of_class`: places and times of the pairs of
    each class."""

    def __init__(
        self, time: Values, classes: Indices, components: Components, least_noise: float, least: float
    ) -> None:
        self.time, self.classes, self.components = time, classes, components
        self.least_noise = max(least_noise if np.isfinite(least_noise) else 0.0, LEAST_SPREAD)
        self.least = least
        self.many = int(classes.max(initial=-1)) + 1
        places = [np.flatnonzero(classes == one) for one in range(self.many)]
        self.of_class = [(one, time[one]) for one in places]
        self.price = float(np.log(len(components.each) + 1) + 0.5 * np.log(len(time) + 1))
        self.confounded, self.majority = self._shares()

    def _shares(self) -> tuple[npt.NDArray[np.bool_], bool]:
        """Components that all pairs of a class cross, and hardly any other pair: their effect is the level of the class. And whether
        another one is crossed by most pairs of a class, as each of three trunks is."""
        member = self.components.member
        inside, most = np.zeros(member.shape[0]), np.zeros(member.shape[0])
        for one in range(self.many):
            crossing = member @ (self.classes == one).astype(np.float64)
            pairs = len(self.of_class[one][0])
            inside += np.where(crossing > _WHOLE * pairs, crossing, 0.0)
            most = np.maximum(most, crossing / max(pairs, 1))
        found: npt.NDArray[np.bool_] = inside > _WHOLE * self.components.counts
        return found, bool((~found & (most > _MAJORITY) & (most <= _WHOLE)).any())

    def best(self) -> Fit:
        """Of two starts, that which explains more with less: levels at the location of pairs, and, as more than half of the pairs of
        a small sweep or of a class may cross a slow component, near the fast ones."""
        usual = self._grown(low=False)
        many = len(self.time) > _SMALL and not self.majority
        if many or self.least_noise <= LEAST_SPREAD:  # without repeats the noise is unknown
            return usual
        low = self._grown(low=True)
        spread = max(min(usual.spread, low.spread), self.least_noise)
        return min((usual, low), key=lambda fit: self.cost(fit, spread))

    def cost(self, fit: Fit, spread: float) -> float:
        """Half of the deviance, and for each component what its choice among all of them costs; a class costs as much."""
        return float(huber(fit.residual / spread).sum() + 2 * self.price * (len(fit.chosen) + self.many))

    def _grown(self, *, low: bool) -> Fit:
        """Two slow hosts of a switch may look like a slow switch as long as they are unknown: so each that was chosen is left out
        once, for smaller ones that explain more in its place."""
        fit = self._grown_from([], low=low)
        for one in list(fit.chosen):
            if one not in fit.chosen or len(fit.chosen) == MOST:
                continue
            most = self.components.counts[one] / 2
            other = self._grown_from([x for x in fit.chosen if x != one], low=low, most=most, than=fit)
            more = len(other.chosen) - len(fit.chosen)
            if more >= 0 and self._worse(fit, other) > more * self.price + _UNSURE:
                fit = other
        return fit

    def _worse(self, fit: Fit, other: Fit) -> float:
        """How much less one fit explains than another: half of the difference of their deviances."""
        spread = max(min(fit.spread, other.spread), self.least_noise)
        return float((huber(fit.residual / spread) - huber(other.residual / spread)).sum())

    def _grown_from(
        self, begin: Sequence[int], *, low: bool, most: float = np.inf, than: Fit | None = None
    ) -> Fit:
        """`than`: to be better than this one. Given up where as many components as there may be, each twice as good as the best one, would
        not suffice."""
        chosen = list(begin)
        fit = self.fitted(chosen, low=low)
        while len(chosen) < MOST:
            found, gain = self._next(fit, most)
            if found is None:
                break
            if than and self._worse(fit, than) > _HOPELESS * gain * (MOST - len(chosen)):
                return fit
            chosen.append(found)
            fit = self.fitted(chosen, low=low)
        while True:
            weak = [
                one
                for one, effect, alone in zip(fit.chosen, fit.effects, fit.alone, strict=True)
                if effect < self.least / 2 or alone < FEWEST
            ]
            if not weak:
                return fit
            chosen.remove(weak[-1])
            fit = self.fitted(chosen, low=low)

    def scores(self, fit: Fit, *, final: bool = False) -> tuple[Values, Values]:
        """Of each component, on pairs that cross no chosen one: sum of bounded residuals over its standard deviation; and the number of
        these pairs. Not `final`: residuals of slow components that are still to be found do not count in the deviation."""
        clean = fit.covered == 0
        bounded = np.clip(fit.residual / fit.spread, -_BOUND, _BOUND) * clean
        size = np.sqrt(np.sum(bounded**2) / max(clean.sum(), 1))
        member, counts = self.components.member, self.components.counts
        if fit.chosen:
            counts = member @ clean.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = member @ bounded / np.sqrt(counts) / max(size if final else min(size, 1.0), 0.1)
        return np.where(counts >= FEWEST, scores, -np.inf), counts

    def _next(self, fit: Fit, most: float) -> tuple[int | None, float]:
        """Of components with so many pairs at most, and its gain of log likelihood."""
        scores, _ = self.scores(fit)
        scores[self.confounded] = -np.inf
        scores[fit.chosen] = -np.inf
        scores[self.components.counts > most] = -np.inf
        clean = fit.covered == 0
        best, gain = None, 0.0
        for one in np.argsort(-scores, kind="stable")[:_TRIED].tolist():
            if not scores[one] > _SCORE:
                break
            pairs = self.components.pairs(one)
            explained = self._explained(fit, pairs[clean[pairs]])
            if explained > gain:
                best, gain = one, explained
        return best, gain

    def _explained(self, fit: Fit, pairs: Indices) -> float:
        """Gain of log likelihood if these pairs are slow by their location; 0 if too many of them are not."""
        away, spread = fit.residual[pairs], fit.spread
        effect = location(away, fit.wide)
        if effect < self.least / 2:
            return 0.0
        expected = float(ndtr(effect / 2 / spread))
        allowed = _AT_HALF + 2 * np.sqrt(expected * (1 - expected) / len(away))
        if float(np.mean(away > effect / 2)) < expected - allowed:
            return 0.0
        return float((huber(away / spread) - huber((away - effect) / spread)).sum())

    def fitted(self, chosen: list[int], *, low: bool = False, like: Fit | None = None) -> Fit:
        """Levels and effects with these components; each effect from pairs that cross no other of them, if there are enough. `like`: with
        the levels and bounds of this one."""
        covered = np.zeros(len(self.time), dtype=np.int64)
        for one in chosen:
            covered[self.components.pairs(one)] += 1
        levels, wide = (like.levels, like.wide) if like else self._levels(covered == 0, low=low)
        residual = self.time - levels[self.classes]
        least, most = np.zeros(len(residual)), np.zeros(len(residual))
        effects, alone = [], []
        for one in chosen:
            pairs = self.components.pairs(one)
            single = pairs[covered[pairs] == 1]
            alone.append(len(single))
            effect = location(residual[single if len(single) >= FEWEST else pairs], wide)
            effects.append(effect)
            least[pairs] = np.maximum(least[pairs], effect)
            most[pairs] += max(effect, 0.0)
        slow = np.flatnonzero(covered)
        away, low_end, high_end = residual[slow], least[slow], most[slow]
        several = np.maximum(low_end, high_end)
        residual[slow] -= np.where(covered[slow] == 1, low_end, np.clip(away, low_end, several))
        spread = like.spread if like else self._spread(residual, covered == 0)
        return Fit(list(chosen), effects, alone, covered, levels, residual, spread, wide, low)

    def _levels(self, clean: npt.NDArray[np.bool_], *, low: bool) -> tuple[Values, float]:
        """Of classes, and the bound of all locations."""
        levels = np.zeros(self.many)
        times: list[Values] = []
        away: list[Values] = [np.zeros(0)]
        for one, (places, own) in enumerate(self.of_class):
            inside = own[clean[places]]
            times.append(inside if len(inside) >= FEWEST else own)
            if len(times[-1]):
                levels[one] = median(times[-1])
                away.append(inside - levels[one])
        wide = bound(np.concatenate(away), self.least_noise)
        for one, own in enumerate(times):
            if len(own):
                levels[one] = location(own, wide, levels[one])
            if low and len(own) > FEWEST:
                fast = np.sort(own)[: max(len(own) // 3, 2)]
                levels[one] = min(levels[one], np.median(fast) + self.least_noise)
        return levels, wide

    def _spread(self, residual: Values, clean: npt.NDArray[np.bool_]) -> float:
        """From the fast half, since slow components are in the other one."""
        fast = -residual[clean & (residual <= 0)]
        found = TO_DEVIATION * median(fast) if len(fast) else 0.0
        return max(found, self.least_noise)

    def alternatives(self, fit: Fit, at: int) -> list[int]:
        """Components that explain the pairs of `fit.chosen[at]` about as well, best first; at the levels that this fit found, as without
        the component they would be too slow where it has most pairs."""
        one = fit.chosen[at]
        without = self.fitted([*fit.chosen[:at], *fit.chosen[at + 1 :]], like=fit)
        clean = without.covered == 0
        pairs = self.components.pairs(one)
        pairs = pairs[clean[pairs]]
        if len(pairs) < FEWEST:
            return []
        own = self._explained(without, pairs)
        inside = np.zeros(len(self.time))
        inside[pairs] = 1.0
        common = self.components.member @ inside
        close = np.flatnonzero(common >= 0.5 * np.maximum(len(pairs), self.components.counts / 2))
        found = []
        for other in close.tolist():
            if other == one or other in fit.chosen or self.confounded[other]:
                continue
            theirs = self.components.pairs(other)
            theirs = theirs[clean[theirs]]
            if len(theirs) < FEWEST:
                continue
            gain = self._explained(without, theirs)
            if gain > max(own - _UNSURE, 0.0):
                found.append((gain, other))
        return [other for _, other in sorted(found, reverse=True)][:4]


def huber(standardized: Values) -> Values:
    """Half of the square, linear beyond the bound."""
    size = np.abs(standardized)
    found: Values = np.where(size <= _BOUND, size**2 / 2, _BOUND * size - _BOUND**2 / 2)
    return found
