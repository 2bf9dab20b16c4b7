"""How slow a host must be to be named, and what more passes would do. Arrays in, figures and words out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from imb.fabric.components import Components
from imb.fabric.pairs import Pairs
from imb.fabric.significance import Effects
from imb.model.units import as_percent

DIFFERENT = 2.0  # times what their pairs explain: endpoints that vary so much differ by nature, whatever the number of passes
SURE = (
    0.9  # of what is wanted: what a sweep detects is an estimate, and less where several components are slow
)
_POWER = 0.99  # with which a detectable effect is named
HUGE = float(np.log(10.0))  # ten times as long: a figure beyond says nothing
_MOST_PASSES = 1000
_FEW = 0.1  # of the links have fewer pairs


LACKING = "the topology file lacks hosts, so the distances of their pairs are unknown: add them"


def lack_hosts(classes: Sequence[str]) -> bool:
    """Whether a class of pairs is that of unknown distances."""
    return any(one.startswith("unknown distance") for one in classes)


def times_as_much(detectable: float, wanted: float) -> float:
    """How many times the passes, or pairs, show `wanted` if those that there are show `detectable` (logarithms): errors fall with their root."""
    return (detectable / wanted / SURE) ** 2


def beyond_passes(passes: int, detectable: float, wanted: float, *, whole: bool) -> str:
    """What to do where no number of passes shows `wanted`; "" where one does. `whole`: all pairs were measured."""
    if passes * times_as_much(detectable, wanted) < _MOST_PASSES:
        return ""
    if whole:
        return "more passes do not suffice, and all pairs were measured: measure on an idle fabric, or give a larger --relevant"
    return "more passes of these pairs do not suffice, measure more pairs"


class Sensitivity:
    """Effects (of a logarithm) that are named in 99 of 100 sweeps, at this p-value and with this least effect. `detectable`: of an endpoint with
    the median number of pairs; infinite where no endpoint is judged. `of_links`: of a link with as many pairs as nine of ten have; 0 without
    links, or where these differ by nature. `widened`: by how much healthy endpoints vary more than their pairs explain."""

    def __init__(
        self, pairs: Pairs, components: Components, effects: Effects, least: float, p_value: float
    ) -> None:
        self.pairs, self.components, self.effects = pairs, components, effects
        self.least, self.p_value = least, p_value
        self.detectable, self.widened = float("inf"), 1.0
        self.of_links = 0.0
        many = np.bincount(np.concatenate([pairs.a, pairs.b]))
        ends = [at for at, one in enumerate(components.each) if one.kind in ("core", "host")]
        met = int(np.count_nonzero(many))
        self.whole = 2 * len(pairs.a) >= met * (met - 1)
        if not ends or not many.any():
            return
        self.widened = effects.wider[int(components.kinds[ends[0]])].factor
        self.detectable = self._named(ends[0], float(np.median(many[many > 0])))
        links = [at for at, one in enumerate(components.each) if one.kind == "link"]
        if links and effects.wider[int(components.kinds[links[0]])].factor <= DIFFERENT:
            counts = np.sort(components.counts[links])
            self.of_links = self._named(links[0], float(counts[int(_FEW * len(links))]))

    def _named(self, component: int, pairs: float) -> float:
        """Of a component of this one's kind with so many pairs."""
        wider = self.effects.wider[int(self.components.kinds[component])]
        error = wider.factor * self.effects.deviation / np.sqrt(pairs)
        degrees = wider.degrees(self.effects.degrees)
        reach = -stdtrit(degrees, self.p_value)
        return float(max(reach * error, self.least) + stdtrit(degrees, _POWER) * error)

    def remedy(self, wanted: float, spread: float, classes: Sequence[str]) -> str:
        """What would show an effect of `wanted`: the passes that are required if their errors are independent, so that the error falls with the root of their
        number. `spread`: of the residuals of pairs; `classes`: names of the classes of pairs."""
        detectable = self.detectable
        if not np.isfinite(detectable):
            return "a host may be missed however slow it is; measure more pairs"
        if detectable > HUGE:
            return "far too noisy; measure on an idle fabric"
        head = f"a host slower by less than {as_percent(np.expm1(detectable), 1)} may be missed"
        if lack_hosts(classes):
            return f"{head}; {LACKING}"
        if self.widened > DIFFERENT:
            return (
                f"{head}; more passes do not help, as endpoints differ by more than the noise of their pairs"
            )
        if why := beyond_passes(self.pairs.repeats, detectable, wanted, whole=self.whole):
            return f"{head}; {why}"
        passes = self.pairs.repeats * times_as_much(detectable, wanted)
        text = f"{head}; for {as_percent(np.expm1(wanted))} it would need about {np.ceil(passes):.0f} passes"
        own = self.pairs.noise / np.sqrt(self.pairs.repeats)
        return f"{text}, apart in time: successive passes are alike" if own < 0.7 * spread else text
