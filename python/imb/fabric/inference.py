"""From sweeps to a verdict: which components are slow, at known error rates. Pure.

Each size is searched for slow components (imb.fabric.search). Those found are tested against no effect; the p-value of a component is
one-sided Student's, with the errors of imb.fabric.significance. All components, pairs and quiet rails of all sweeps are one family, in which
`level` is the probability that anything is named where nothing is slow (Bonferroni over sweeps, and between components, pairs and quiet rails;
Holm over components: valid under any dependence). What is named must also be slower by `least_effect` or more, by its estimate.

This holds where the deviations of healthy pairs are exchangeable between components: noise that does not follow a host or a link. Noise
that does, for a whole sweep, is a slow component; it cannot be told from one by this sweep alone. bench/fabric.py measures how
often names are wrong.

Single pairs are tested after that, in imb.fabric.single_pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr, stdtrit

from imb.fabric.classes import FEWEST, Classes, by_nearness, classes_of, endpoint_effects, with_group
from imb.fabric.components import Components, components_of
from imb.fabric.launches import leveled
from imb.fabric.near import near_groups
from imb.fabric.pairs import Pairs, pairs_of, silent_endpoints, silent_together, unanswered
from imb.fabric.populations import populations_of, whole_groups
from imb.fabric.rails import quiet_rails, shares
from imb.fabric.routes import beyond_its_switch, on_a_slow_route
from imb.fabric.search import Fit, Search
from imb.fabric.sensitivity import Sensitivity
from imb.fabric.significance import Effects, holm
from imb.fabric.single_pairs import asymmetric_pairs, slow_pairs
from imb.fabric.sweep import Sweep, Values
from imb.fabric.topology import Topology
from imb.fabric.verdict import (
    NOTHING,
    Asymmetric,
    Populations,
    QuietRail,
    SizeResult,
    State,
    Suspect,
    Verdict,
)
from imb.model.units import counted, size

FEWEST_ENDPOINTS = 4
_CONFIDENCE = 0.95
_PAIRS_SHARE = 0.2  # of `level` for single pairs, which are many
_RAILS = 0.1  # of `level` for quiet rails, where they are judged
UNLIKELY = 0.5  # adjusted p-value: noise has suspects above it in every sweep
_FARTHER = 10.0  # of a log likelihood: by as much, endpoints are rather farther away than slow
_UNNAMED = 5  # suspects that are listed though they are not named
_MISSES = 2.0  # times least_effect: a verdict that would miss such a host is inconclusive


def judge_sweeps(
    sweeps: Sequence[Sweep],
    topology: Topology | None,
    *,
    level: float = 0.01,
    least_effect: float = 0.05,
    share: float | Mapping[tuple[str, int], float] = 1.0,
) -> Verdict:
    """One verdict of all sweeps, which have the same endpoints. `level`: probability that anything is named in a healthy
    sweep, at most; `least_effect`: what is less slow than this is not named. `share`: of the level, where this is one of several looks, also by
    benchmark and bytes; p-values are adjusted for that, too."""
    if not sweeps:
        return NOTHING
    shares_of = {
        key: share if isinstance(share, float | int) else share.get(key, 1.0)
        for key in ((one.benchmark, one.bytes) for one in sweeps)
    }
    prepared: tuple[Pairs, Components] | None = None
    found: list[_Size] = []
    for sweep in (leveled(one, topology) for one in sweeps):
        pairs = pairs_of(sweep)
        if prepared is not None and sweep.rails is None and _same(prepared[0], pairs):
            components = prepared[1]
        else:
            components = components_of(sweep.endpoints, pairs.a, pairs.b, topology, sweep.rails)
        prepared = (pairs, components) if sweep.rails is None else None
        own = shares_of[sweep.benchmark, sweep.bytes] * level / len(sweeps)
        found.append(_Size(sweep, pairs, components, topology, own, least_effect))
    silent = sorted({one for size in found for one in size.silent})
    suspects = sorted(
        (one for size in found for one in size.suspects),
        key=lambda one: (not one.named, one.kind == "pair", -one.effect),
    )
    suspects = [
        replace(one, p_value=min(1.0, one.p_value * len(sweeps) / shares_of[one.benchmark, one.bytes]))
        for one in suspects
    ]
    listed = [one for one in suspects if one.named or one.p_value < UNLIKELY]
    notes = list(dict.fromkeys(note for size in found for note in size.notes))
    together = tuple(dict.fromkeys(one for size in found for one in silent_together(size.sweep, size.silent)))
    state: State = "healthy"
    quiet = tuple(one for size in found for one in size.quiet)
    if silent or quiet or any(one.named for one in suspects) or any(size.lost for size in found):
        state = "bad"
    elif listed or any(size.unsure for size in found):
        state = "inconclusive"
    # Where too little was measured to decide, hosts that seem slow are a hint. Single pairs are too many for that.
    if state != "healthy":
        listed = [one for one in suspects if one.named or one.p_value < UNLIKELY or one.kind != "pair"]
    return Verdict(
        state,
        tuple(listed),
        tuple(notes),
        tuple(size.result for size in found),
        tuple(silent),
        tuple(one for size in found for one in size.asymmetric),
        tuple(one for size in found for one in size.populations),
        together,
        tuple(dict.fromkeys(one for size in found for one in size.unjudged)),
        tuple(
            replace(one, p_value=min(1.0, one.p_value * len(sweeps) / shares_of[one.benchmark, one.bytes]))
            for one in quiet
        ),
    )


def _same(one: Pairs, other: Pairs) -> bool:
    return np.array_equal(one.a, other.a) and np.array_equal(one.b, other.b)


class _Size:
    """What one sweep shows."""

    def __init__(
        self,
        sweep: Sweep,
        pairs: Pairs,
        components: Components,
        topology: Topology | None,
        level: float,
        least_effect: float,
    ) -> None:
        self.sweep, self.pairs, self.components, self.topology = sweep, pairs, components, topology
        self.level, self.least = level, float(np.log1p(least_effect))
        self.name = f"{sweep.benchmark} {size(sweep.bytes)}"
        self.silent = silent_endpoints(sweep)
        self.lost = unanswered(sweep)
        self.notes: list[str] = [self.lost] if self.lost else []
        self.suspects: list[Suspect] = self._failed()
        self.asymmetric: tuple[Asymmetric, ...] = ()
        self.populations: tuple[Populations, ...] = ()
        self.unjudged: tuple[str, ...] = ()
        self.quiet: tuple[QuietRail, ...] = ()
        self.unsure = False
        self.unclear: list[int] = []  # endpoints that are slow, or far from all others
        count = len(sweep.endpoints)
        if count - len(self.silent) < FEWEST_ENDPOINTS or len(pairs.a) < FEWEST_ENDPOINTS:
            self.unsure = True
            self.notes[:] = self.notes or [
                f"{count - len(self.silent)} endpoints with {counted(len(pairs.a), 'pair')}: "
                f"{FEWEST_ENDPOINTS} endpoints or more are required to separate hosts from links"
            ]
            self.result = self._result(None, np.full(count, np.nan))
            return
        self._search(topology)
        rest = 1.0 if sweep.rails is None else 1 - _RAILS
        self.tests = len(components.each) / (1 - _PAIRS_SHARE) / rest
        self._judge_components()
        single = slow_pairs(
            pairs, self.fit, sweep.endpoints, len(pairs.a) / _PAIRS_SHARE / rest, self.level, self.least
        )
        self.suspects += [
            one
            for one in (
                Suspect(benchmark=sweep.benchmark, bytes=sweep.bytes, **fields) for fields in single.suspects
            )
            if not (topology and on_a_slow_route(one, self.suspects, sweep.endpoints, topology))
        ]
        self.asymmetric = asymmetric_pairs(sweep, self.level, self.least)
        self._populate((single.share, single.effect))
        self._judge_rails()
        effects = endpoint_effects(count, pairs, self._away())
        sensed = Sensitivity(
            self.pairs, self.components, self.effects, self.least, self.level / max(self.tests, 1.0)
        )
        if not sensed.detectable <= np.log1p(_MISSES * least_effect):
            self.unsure = True
            self.notes.append(
                f"{self.name}: "
                + sensed.remedy(float(np.log1p(_MISSES * least_effect)), self.fit.spread, self.classes.names)
            )
        self.result = self._result(self.fit, np.expm1(effects), sensed)

    def _apart(self) -> list[int]:
        """Endpoints that would be slow, and whose own pairs are not: they are far from the others. Empty if there are none."""
        away = np.full((len(self.sweep.endpoints),) * 2, np.nan)
        away[self.pairs.a, self.pairs.b] = away[self.pairs.b, self.pairs.a] = self._away()
        slow: dict[int, float] = {}
        for one, effect in zip(self.fit.chosen, self.fit.effects, strict=True):
            component = self.components.each[one]
            if component.kind in ("core", "host") and len(component.endpoints) == 1:
                slow[component.endpoints[0]] = effect
        own = away[np.ix_(list(slow), list(slow))]
        fast = [float(np.mean(row < effect / 2)) for row, effect in zip(own, slow.values(), strict=True)]
        found = [end for end, share in zip(slow, fast, strict=True) if share > 0.5]
        return found if len(found) >= FEWEST else []

    def _search(self, topology: Topology | None) -> None:
        """A slow rail may look like groups of endpoints, or these like it; and slow hosts of a switch like a switch that is farther away:
        what explains more with less."""
        ends, pairs = self.sweep.endpoints, self.pairs
        self.classes = classes_of(ends, pairs, topology, self.least)
        self.search, self.fit = self._explained(self.classes)
        if self.classes.groups and any(one.kind == "rail" for one in self.components.each):
            self._prefer(classes_of(ends, pairs, topology, self.least, clusters=False))
        if topology is not None or self.classes.slower:
            return
        nested = near_groups(ends, pairs, self.least)
        own = [self.classes.groups] if self.classes.groups else []
        near = nested or []
        choices = dict.fromkeys(map(tuple, (own, own + near[-1:], near[:1], near)))
        for partitions in filter(None, choices):
            self._prefer(by_nearness(ends, pairs, partitions))
        if apart := self._apart():
            far = with_group(self.classes, pairs, apart)
            self._prefer(far, _FARTHER)
            if nested is None and self.classes is far:
                self.unclear = sorted(apart)

    def _prefer(self, classes: Classes, by: float = 0.0) -> None:
        """These, if they explain more with less, by so much of a log likelihood."""
        if np.array_equal(classes.of, self.classes.of):
            return
        search, fit = self._explained(classes)
        spread = max(min(fit.spread, self.fit.spread), search.least_noise)
        if search.cost(fit, spread) + by < self.search.cost(self.fit, spread):
            self.classes, self.search, self.fit = classes, search, fit

    def _explained(self, classes: Classes) -> tuple[Search, Fit]:
        pairs = self.pairs
        least_noise = pairs.noise / np.sqrt(pairs.repeats) if pairs.repeats > 1 else float("nan")
        search = Search(pairs.level, classes.of, self.components, least_noise, self.least)
        return search, search.best()

    def _failed(self) -> list[Suspect]:
        """Pairs that did not answer when they last met, of endpoints that do answer."""
        found = []
        for a, b in self.pairs.failed.tolist():
            if a in self.silent or b in self.silent:
                continue
            name = f"{self.sweep.endpoints[a].name} - {self.sweep.endpoints[b].name}"
            found.append(
                Suspect(
                    kind="pair",
                    name=name,
                    endpoints=(a, b),
                    effect=float("inf"),
                    interval=(float("inf"), float("inf")),
                    p_value=0.0,
                    benchmark=self.sweep.benchmark,
                    bytes=self.sweep.bytes,
                    named=True,
                    next=f"the pair {'failed' if (a, b) in self.sweep.causes else 'does not answer'}: measure it alone",
                )
            )
        return found

    def _away(self) -> Values:
        return self.pairs.level - self.fit.levels[self.classes.of]

    def _judge_components(self) -> None:
        """The least significant component goes until all are significant: what is not would otherwise make the others look slow,
        as its pairs are no reference."""
        weak = []
        while True:
            self.effects = Effects(self.search, self.fit)
            effects, errors = self.effects.effects, self.effects.errors
            p = stdtr(self.effects.freedom, -effects / errors)
            adjusted = holm(p, self.tests)
            if not len(p) or adjusted.max() <= self.level:
                break
            worst = int(np.argmax(p))
            if effects[worst] >= self.least:
                weak.append(self._suspect(worst, float(adjusted[worst])))
            self.fit = self.search.fitted(self.fit.chosen[:worst] + self.fit.chosen[worst + 1 :])
        strong = np.flatnonzero(effects >= self.least).tolist()
        self.suspects += [self._suspect(at, float(adjusted[at])) for at in strong]
        self.suspects += weak[: -_UNNAMED - 1 : -1]

    def _suspect(self, at: int, p_value: float) -> Suspect:
        """Of `fit.chosen[at]`."""
        component = self.components.each[self.fit.chosen[at]]
        close = [self.components.each[other].name for other in self.search.alternatives(self.fit, at)]
        beyond: list[str] = []
        if self.topology is not None and component.kind == "host":
            pairs = self.components.pairs(self.fit.chosen[at])
            alone = pairs[self.fit.covered[pairs] == 1]
            beyond = beyond_its_switch(
                component,
                self.topology,
                self.sweep.endpoints,
                self.pairs,
                alone,
                self._away(),
                self.effects,
                at,
            )
        close += beyond
        named = p_value <= self.level and not close  # one of several is slow: none of them is drained for it
        effect, error = self.effects.effects[at], self.effects.errors[at]
        reach = stdtrit(self.effects.freedom[at], 0.5 + _CONFIDENCE / 2) * error
        return Suspect(
            kind=component.kind,
            name=component.name,
            endpoints=component.endpoints,
            effect=float(np.expm1(effect)),
            interval=(float(np.expm1(effect - reach)), float(np.expm1(effect + reach))),
            p_value=p_value,
            benchmark=self.sweep.benchmark,
            bytes=self.sweep.bytes,
            named=named,
            alternatives=tuple(dict.fromkeys((*component.alternatives, *close))),
            next=self._next(component.name, component.alternatives, close, named),
            separable=not beyond,
        )

    def _next(self, name: str, same: Sequence[str], close: Sequence[str], named: bool) -> str:
        if close:
            return f"measure pairs that cross only one of {', '.join((name, *close))}"
        if not named:
            return f"measure pairs that cross {name} again, and as many that do not"
        if same:
            return f"exchange parts: the same pairs cross {', '.join((name, *same[:3]))}"
        return ""

    def _populate(self, single: tuple[float, float]) -> None:
        found = populations_of(
            self.sweep, self.classes, self.pairs, self.fit.levels, self.least, single, self.unclear
        )
        self.populations = found.populations
        self.unsure |= found.unsure
        self.notes += found.notes
        if self.topology is None:
            self.notes += whole_groups(self.classes, self.suspects, self.sweep)
        self._leave_out()

    def _judge_rails(self) -> None:
        sweep = self.sweep
        if sweep.rails is None:
            return
        found = shares(sweep.rails, len(sweep.endpoints))
        self.quiet = tuple(
            replace(one, benchmark=sweep.benchmark, bytes=sweep.bytes)
            for one in quiet_rails(found, _RAILS * self.level)
        )
        if found.unused:
            self.notes.append(
                f"{self.name}: no host has bytes on {', '.join(found.unused[:4])}, all on "
                f"{', '.join(found.names)}: an unused rail, or a network for another purpose"
            )

    def _leave_out(self) -> None:
        """What all pairs of a distance cross has no peers: trunks of one class are compared where there are three or more."""
        confounded = [self.components.each[one] for one in np.flatnonzero(self.search.confounded).tolist()]
        names = [_with_same_pairs(one.name, one.alternatives[:2]) for one in confounded]
        self.unjudged = tuple(one.name for one in confounded if one.kind in ("link", "group"))
        if names:
            self.notes.append(
                "not judged without --baseline or a sibling trunk, as all pairs of a distance cross it: "
                f"{', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
            )

    def _result(self, fit: Fit | None, effects: Values, sensed: Sensitivity | None = None) -> SizeResult:
        named: tuple[tuple[str, float], ...] = ()
        if fit is not None:
            named = tuple(
                (name, float(np.exp(value)))
                for name, value in zip(self.classes.names, fit.levels, strict=True)
            )
        level = min((seconds for _, seconds in named), default=float("nan"))
        scatter = float("nan")
        if fit is not None:
            own = self.pairs.noise**2 / self.pairs.repeats if self.pairs.repeats > 1 else 0.0
            scatter = float(np.sqrt(max(fit.spread**2 - own, 0.0)))
        return SizeResult(
            self.sweep.benchmark,
            self.sweep.bytes,
            level,
            named,
            self.pairs.noise,
            scatter,
            self.pairs.repeats,
            len(self.pairs.a),
            float(np.expm1(sensed.detectable)) if sensed else float("nan"),
            effects,
            sensed.widened if sensed else 1.0,
            float(np.expm1(sensed.of_links)) if sensed else 0.0,
        )


def _with_same_pairs(name: str, others: Sequence[str]) -> str:
    return f"{name} (the same pairs cross {' and '.join(others)})" if others else name
