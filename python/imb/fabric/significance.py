"""Effects of components and their standard errors. Arrays in, arrays out. Pure.

An effect is the location of the pairs that cross one component only, against the location of the pairs that cross none (both
Huber's, Ann. Math. Stat. 35 (1964) 73, with his asymptotic variance, so that neither long tails nor two modes make the error too
small). The pairs themselves show the error. The noise of passes does not enter: successive passes are alike, and
their noise would promise too much.

Healthy components of a kind differ by nature, too. The spread of their scores, where it is wider than the pairs explain, widens the
error of all (empirical null: Efron, J. Am. Stat. Assoc. 99 (2004) 96). It comes from few components, so it has few degrees of
freedom (Satterthwaite, Biometrics Bull. 2 (1946) 110).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from imb.fabric.components import FEWEST
from imb.fabric.location import bound, deviation, location
from imb.fabric.pairs import TO_DEVIATION
from imb.fabric.search import Fit, Search
from imb.fabric.sweep import Values

_KIND = 6  # components of a kind that show how healthy ones vary
_OF_A_DEVIATION = 0.37  # efficiency of the median absolute deviation


@dataclass(frozen=True)
class Wider:
    """`factor`: 1 or more, by which healthy components vary more than their pairs explain; from `components` of them."""

    factor: float
    components: int

    def degrees(self, pairs: float) -> float:
        """Of freedom, where the error of pairs has `pairs`."""
        excess = self.factor**2 - 1.0
        few = max(_OF_A_DEVIATION * (self.components - 1), 1.0)
        return float(self.factor**4 / (1.0 / pairs + excess**2 / few))


class Effects:
    """Of one size. `deviation`: standard deviation of one pair in a mean of pairs; `degrees`: of freedom of it; `wider`: by kind of
    component; `effects`, `errors`, `freedom`: of each chosen component."""

    def __init__(self, search: Search, fit: Fit) -> None:
        self.search, self.fit = search, fit
        clean = fit.covered == 0
        own = [times[clean[places]] for places, times in search.of_class]
        levels = fit.levels.copy()
        scale = self.scale = bound(_away(own, levels), search.least_noise)
        for one, inside in enumerate(own):
            if len(inside) >= FEWEST:
                levels[one] = location(inside, scale)
        residual = _away(own, levels)
        self.clean = max(len(residual), 1)
        self.degrees = float(max(len(residual) - search.many - len(fit.chosen), 3))
        self.deviation = max(
            deviation(residual, scale) * np.sqrt(self.clean / self.degrees),
            search.least_noise,
        )
        self._judge(search.time - levels[search.classes])

    def _judge(self, away: Values) -> None:
        fit, components = self.fit, self.search.components
        effects, errors = [], []
        for one in fit.chosen:
            pairs = components.pairs(one)
            alone = pairs[fit.covered[pairs] == 1]
            values = away[alone if len(alone) >= FEWEST else pairs]
            effects.append(location(values, self.scale))
            spread = max(self.deviation, deviation(values, self.scale, effects[-1]))
            errors.append(spread * np.sqrt(1 / max(len(alone), 1) + 1 / self.clean))
        self.effects, self.errors = np.array(effects), np.array(errors)
        self.wider = self._wider()
        kinds = [int(components.kinds[one]) for one in fit.chosen]
        self.errors *= [self.wider[kind].factor for kind in kinds]
        self.freedom = np.array([self.wider[kind].degrees(self.degrees) for kind in kinds])

    def _wider(self) -> dict[int, Wider]:
        scores, _ = self.search.scores(self.fit, final=True)
        # Slow ones too: without the upper tail of healthy ones that differ, the rest would look alike.
        scores[self.fit.chosen] = self.effects / self.errors
        known = np.isfinite(scores)
        kinds = self.search.components.kinds
        found = {}
        for kind in np.unique(kinds).tolist():
            inside = scores[known & (kinds == kind)]
            inside = inside if len(inside) >= _KIND else scores[known]
            factor = 1.0
            if len(inside) > 1:
                factor = max(factor, TO_DEVIATION * float(np.median(np.abs(inside - np.median(inside)))))
            found[kind] = Wider(factor, len(inside))
        return found


def _away(own: Sequence[Values], levels: Values) -> Values:
    """Deviations of the values of each class from its level."""
    found: Values = np.concatenate(
        [np.zeros(0), *(values - at for values, at in zip(own, levels, strict=True))]
    )
    return found


def holm(p: Values, tests: float) -> Values:
    """P-values adjusted for `tests` of them, of which these are the smallest (Holm, Scand. J. Stat. 6 (1979) 65)."""
    order: npt.NDArray[np.int64] = np.argsort(p, kind="stable")
    adjusted = np.ones(len(p))
    steps = np.maximum(tests - np.arange(len(p)), 1.0)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * steps))
    return adjusted
