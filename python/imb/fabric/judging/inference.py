"""From sweeps to a verdict: which elements are slow, at known error rates. Pure.

A part of the passes of each size is screened for slow elements, and the other passes confirm suspects
(imb.fabric.judging.judge). Sizes share the level (Bonferroni), and so do looks: the verdict on the k-th
launch has 1 / (k (k + 1)) of it. A named element must be slower by `least_effect` or more.

If noise affects one host during the whole sweep, it looks like a slow host; one sweep cannot separate the
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtrit

from imb.fabric.judging.classes import (
    Classes,
    distances,
    group_by_nearness,
    group_classes,
    leaves_of,
    population_classes,
    two_populations,
)
from imb.fabric.judging.elements import FEWEST, FabricElements, elements_of
from imb.fabric.judging.judge import (
    RANK,
    RetestResult,
    asymmetric_pairs,
    common_share,
    confirm,
    confirm_pairs,
    detectable_effect_of,
    halves,
    screen,
    significance,
    similar_elements,
    slow_pairs,
    tail_probability,
)
from imb.fabric.judging.launch_levels import level_launches
from imb.fabric.judging.pairs import (
    mutually_silent_pairs,
    silent_endpoints,
    unanswered_pairs,
    unknown_silence_reason,
)
from imb.fabric.judging.sensitivity import MISSED, remedy
from imb.fabric.judging.sweep import Sweep
from imb.fabric.judging.sweep_parts import Fit, SweepLayout, SweepPart, bounded_mean
from imb.fabric.judging.topology import Topology
from imb.fabric.judging.verdict import (
    NOTHING,
    AsymmetricPair,
    PairToRetest,
    Populations,
    SizeResult,
    Suspect,
    SweepState,
    SweepVerdict,
)
from imb.model.defaults import RELEVANT
from imb.model.units import count_of, percent_text, size
from imb.stats.arrays import Indices, Mask, Numbers, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import median, middles, number_keys

FEWEST_ENDPOINTS = 4
_UNDECIDED = 0.05  # largest p-value of a suspect that more passes may confirm
_TAIL = 0.05  # largest p-value, by the tail of all other pairs, of a named pair
_DOUBTED = 0.5  # largest such p-value of a pair that is measured again
_FEW = 0.1  # the reported sensitivity is that of a link at this quantile of the number of pairs
_SEVERAL = 0.1  # if a larger share of pairs is slow, slow hosts may be among them
_ALIKE = 1.5  # a pair that crosses a slow link may have up to this many times its effect
_95 = 1.96
_SURE = 3.0  # standard errors that noise exceeds in 1 of 700 cases


def judge_sweeps(
    sweeps: Sequence[Sweep],
    topology: Topology | None,
    *,
    level: float = ANY_FALSE,
    least_effect: float = RELEVANT,
) -> SweepVerdict:
    """One verdict on all sweeps, which have the same endpoints. `level`: largest probability that anything is
    named in a healthy sweep; `least_effect`: a smaller slowdown, as a share, is never named."""
    if not sweeps:
        return NOTHING
    prepared: SweepLayout | None = None
    sizes: list[_Size] = []
    for sweep in (level_launches(each, topology) for each in sweeps):
        prepared = _layout(sweep, topology, prepared)
        launches = sweep.launch_count
        sizes.append(
            _Size(prepared, topology, level / len(sweeps) / (launches * (launches + 1)), least_effect)
        )
    silent = sorted({endpoint for each in sizes for endpoint in each.silent})
    suspects = sorted(
        (suspect for each in sizes for suspect in each.suspects),
        key=lambda suspect: (not suspect.named, suspect.kind == "pair", -suspect.effect),
    )
    notes = list(dict.fromkeys(note for each in sizes for note in each.notes))
    together = tuple(
        dict.fromkeys(pair for each in sizes for pair in mutually_silent_pairs(each.sweep, each.silent))
    )
    state: SweepState = "healthy"
    asymmetric = tuple(pair for each in sizes for pair in each.asymmetric)
    if silent or asymmetric or any(suspect.named for suspect in suspects) or any(each.lost for each in sizes):
        state = "bad"
    elif any(suspect.undecided for suspect in suspects) or any(each.unsure for each in sizes):
        state = "inconclusive"
    return SweepVerdict(
        state,
        tuple(suspects),
        tuple(notes),
        tuple(each.result for each in sizes),
        tuple(silent),
        asymmetric,
        tuple(groups for each in sizes for groups in each.populations),
        together,
        tuple(dict.fromkeys(link for each in sizes for link in each.unjudged)),
        tuple(pair for each in sizes for pair in each.screened),
    )


def _layout(sweep: Sweep, topology: Topology | None, before: SweepLayout | None) -> SweepLayout:
    """The layout of a sweep. It reuses the elements of the sweep `before` if that has the same pairs."""
    count = len(sweep.endpoints)
    good = np.isfinite(sweep.seconds) & (sweep.seconds > 0)
    codes, at = number_keys(sweep.pair_codes()[good], count * count)
    key = np.zeros(len(good), dtype=np.int64)
    key[good] = at
    a, b = (codes // count).astype(np.int32), (codes % count).astype(np.int32)
    logs = np.zeros(len(good))
    logs[good] = np.log(sweep.seconds[good])
    elements: FabricElements
    if before is not None and np.array_equal(before.a, a) and np.array_equal(before.b, b):
        elements = before.elements
    else:
        elements = elements_of(sweep.endpoints, a, b, topology)
    return SweepLayout(sweep, good, key, a, b, _distances(sweep, a, b, topology).of, elements, logs)


def _distances(sweep: Sweep, a: Numbers, b: Numbers, topology: Topology | None) -> Classes:
    """Classes of pairs by distance, equal in both directions."""
    classes = distances(sweep.endpoints, a, b, topology)
    return classes._replace(of=np.tile(classes.of, 2))


class _Size:
    """The findings of one sweep: one benchmark and size."""

    def __init__(
        self, layout: SweepLayout, topology: Topology | None, level: float, least_effect: float
    ) -> None:
        sweep = layout.sweep
        self.layout, self.sweep, self.topology = layout, sweep, topology
        self.level = level
        self.least = float(np.log1p(least_effect))
        self.name = f"{sweep.benchmark} {size(sweep.bytes)}"
        self.silent = silent_endpoints(sweep)
        self.lost = unknown_silence_reason(sweep)
        self.notes: list[str] = [self.lost] if self.lost else []
        self.suspects: list[Suspect] = self._failed_pairs()
        self.asymmetric: list[AsymmetricPair] = []
        self.screened: list[PairToRetest] = []
        self.populations: list[Populations] = []
        self.unjudged: tuple[str, ...] = ()
        self.unsure = False
        count = len(sweep.endpoints)
        if count - len(self.silent) < FEWEST_ENDPOINTS or len(layout.a) < FEWEST_ENDPOINTS:
            self.unsure = True
            self.notes[:] = self.notes or [
                f"{count - len(self.silent)} endpoints with {count_of(len(layout.a), 'pair')}: "
                f"{FEWEST_ENDPOINTS} endpoints or more are required to separate hosts from links"
            ]
            self.result = SizeResult(
                sweep.benchmark,
                sweep.bytes,
                float("nan"),
                (),
                float("nan"),
                float("nan"),
                _passes(layout),
                len(layout.a),
                float("nan"),
                np.full(count, np.nan),
            )
            return
        self.classes = _distances(sweep, layout.a, layout.b, topology)
        first, later = halves(self.layout)
        self.whole = screen(SweepPart(self.layout, first | later), self.least)
        self.group_of: Indices | None = None
        if topology is None and self._find_groups():
            self.whole = screen(SweepPart(self.layout, first | later), self.least)
        apart = set[int]()
        if self._find_populations():
            self.whole = screen(SweepPart(self.layout, first | later), self.least)
        elif topology is None:
            while group := self._find_distant_group(apart):
                apart |= set(group)
                self.whole = screen(SweepPart(self.layout, first | later), self.least)
        self.all_passes, self.fresh = self.whole.part, SweepPart(self.layout, later)
        self.first = SweepPart(self.layout, first)
        self.launches = sweep.launch_count
        self._judge_elements()
        self._judge_pairs()
        self._list_unjudged()
        self._judge_sensitivity()

    def _failed_pairs(self) -> list[Suspect]:
        """Suspects for pairs that did not answer when they last met, although both endpoints answer others."""
        suspects = []
        for a, b in unanswered_pairs(self.sweep):
            if a in self.silent or b in self.silent:
                continue
            why = "failed" if (a, b) in self.sweep.causes else "does not answer"
            infinite = float("inf")
            suspects.append(
                Suspect(
                    "pair", self._pair(a, b), (a, b), infinite, (infinite, infinite), 0.0,
                    self.sweep.benchmark, self.sweep.bytes, True, next=f"the pair {why}: measure it alone",
                )
            )  # fmt: skip
        return suspects

    def _pair(self, a: int, b: int, word: str = "-") -> str:
        return f"{self.sweep.endpoints[a].name} {word} {self.sweep.endpoints[b].name}"

    def _find_groups(self) -> bool:
        """Find groups of endpoints by their times, because the switches are unknown. Returns whether there
        are any."""
        layout = self.layout
        middle = middles(layout.key[layout.good], len(layout.a), layout.logs[layout.good])
        of = self.classes.of[: len(middle)]
        for index in range(len(self.classes.names)):
            middle[of == index] -= median(middle[of == index])
        label = group_by_nearness(len(self.sweep.endpoints), layout.a, layout.b, middle, self.least)
        if label is None:
            return False
        self.group_of = label
        self.classes = group_classes(self.classes, label, layout.a, layout.b)
        self.layout = replace(layout, of=self.classes.of)
        groups = np.bincount(label[label >= 0])
        if groups.min() > 1:
            self.notes.append(f"{self.name}: {count_of(len(groups), 'group')} of endpoints by their times")
        return True

    def _find_populations(self) -> bool:
        """Return whether more than a quarter of the endpoints is slower: they are then another kind of host,
        not bad ones."""
        layout, count = self.layout, len(self.sweep.endpoints)
        part = self.whole.part
        links = tuple(at for at in self.whole.chosen if part.each[at].kind not in ("core", "host"))
        fit = Fit(part, links)
        slow, by = two_populations(endpoint_effects(fit, fit.clean), self.least)
        if not slow.any():
            return False
        self.classes = population_classes(self.classes, slow, layout.a, layout.b)
        self.layout = replace(layout, of=self.classes.of)
        slower = float(np.expm1(by))
        self._add_population(np.flatnonzero(slow).tolist(), slower)
        self.notes.append(
            f"{self.name}: two groups of endpoints; the pairs of {int(slow.sum())} of {count} take {percent_text(slower, 1)} longer per endpoint"
        )
        return True

    def _find_distant_group(self, known: set[int]) -> list[int]:
        """Without a topology, find a group of suspected endpoints, none of them `known`, that are near each
        other and far from all others: they are below another switch, or its uplink is slow. From then on they
        are compared only with each other. Empty if there is none."""
        for at in self.whole.chosen:
            element = self.whole.part.each[at]
            if element.kind not in ("core", "host") or len(element.endpoints) > 1:
                continue
            group, slower = self._near_suspects(at)
            if len(group) >= FEWEST and known.isdisjoint(group):
                self._add_distant_group(group, float(np.expm1(slower)), element.way)
                return group
        return []

    def _near_suspects(self, at: int) -> tuple[list[int], float]:
        """The endpoints that are about as slow as a suspected one, and by how much they are slower (a
        logarithm), if they are near each other. Otherwise an empty list and 0."""
        layout, fit, element = self.layout, self.whole, self.whole.part.each[at]
        end = element.endpoints[0]
        effects = np.nan_to_num(endpoint_effects(fit, fit.part.there, element.way))
        like = effects >= fit.effect(at) / 2
        core, limit = like, fit.effect(at) / 2
        if self.group_of is not None and self.group_of[end] >= 0:
            group = self.group_of == self.group_of[end]
            half = median(effects[group]) / 2
            members = np.count_nonzero(group & (effects >= half))
            if group.sum() >= FEWEST and half >= self.least / 4 and 2 * members > group.sum():
                core, like, limit = group, effects >= half, half
        places = np.flatnonzero(fit.part.there)
        a, b = (column[places % len(layout.a)] for column in (layout.a, layout.b))
        usual = core & (effects <= 4 * limit)  # slower endpoints are slow themselves
        values = fit.residual[places[usual[a] & usual[b]]]
        sure = 0.0 if core is like else _SURE * _median_error(fit.spread, len(values))
        if not core[end] or len(values) < FEWEST or median(values) >= max(limit, sure):
            return [], 0.0
        near = core.copy() if core is not like else np.zeros(len(core), dtype=bool)
        for endpoint in np.flatnonzero(like & ~near).tolist():  # one may be slow itself, and not in the group
            inside = ((a == endpoint) & core[b]) | ((b == endpoint) & core[a])
            own = fit.residual[places[inside]]
            near[endpoint] = not len(own) or median(own) < limit + _SURE * _median_error(fit.spread, len(own))
        return np.flatnonzero(near).tolist(), median(effects[near]) if near.any() else 0.0

    def _add_distant_group(self, group: Sequence[int], slower: float, way: str) -> None:
        """Record a group that stands apart, perhaps in one direction only. Its pairs get their own classes."""
        layout = self.layout
        slow = np.zeros(len(self.sweep.endpoints), dtype=bool)
        slow[list(group)] = True
        self.classes = population_classes(self.classes, slow, layout.a, layout.b, way)
        self.layout = replace(layout, of=self.classes.of)
        # With only two switches, it is unknown which group stands apart.
        several = self.group_of is None
        if self.group_of is not None:
            others = self.group_of[~slow]
            several = int(np.count_nonzero(np.bincount(others[others >= 0]) > 1)) > 1
        self._add_population(group, slower, unsure=several)
        self.notes.insert(  # an inconclusive verdict has its first note as reason
            0,
            f"{self.name}: {count_of(len(group), 'endpoint')} stand apart: near each other, and {percent_text(slower, 1)} longer to all others: "
            "another switch, or a slow uplink; give the switches (--topology), or compare with --baseline",
        )

    def _add_population(self, group: Sequence[int], slower: float, *, unsure: bool = True) -> None:
        """Record a group of slower endpoints as a population instead of a list of slow hosts. The cores of
        one host may differ by design, so they do not make the verdict `unsure`."""
        share = len(group) / len(self.sweep.endpoints)
        self.populations.append(
            Populations("endpoints", tuple(group), share, slower, self.sweep.benchmark, self.sweep.bytes)
        )
        self.unsure |= unsure and len({endpoint.host for endpoint in self.sweep.endpoints}) > 1

    # --- Elements ---------------------------------------------------------------------------------------------------

    def _judge_elements(self) -> None:
        chosen = self.whole.chosen
        results = confirm(self.first, self.fresh, chosen, self.least)
        self.final = self.whole
        slow = []
        for at in chosen:
            suspect = self._suspect(at, results.get(at))
            self.suspects.append(suspect)
            if suspect.named or suspect.undecided:
                slow.append(at)
        self.final = Fit(self.all_passes, tuple(slow))
        self._note_slow_groups()

    def _suspect(self, at: int, result: RetestResult | None) -> Suspect:
        """A suspect. It is named if fresh passes confirm it and no other element explains its pairs about
        as well."""
        element = self.all_passes.each[at]
        effect, error = self.final.effect(at), self.final.error(at)
        p = 1.0 if result is None else result.p_value
        confirmed = result is not None and result.again and p <= self.level and effect >= self.least
        others = [self.all_passes.each[other].name for other in similar_elements(self.final, at)]
        kind, name, advice, separable = element.kind, element.name, "", True
        cables: list[str] = []
        if not element.way or confirmed:
            route = self._route(at, effect)
            cable = f"a cable of {self._leaf(element.endpoints[0])} to other switches" if route else ""
            if route == "route":
                kind, name = "route", f"routes of {name} beyond {self._leaf(element.endpoints[0])}"
                cables, others = [cable], [other for other in others if other != element.name]
            elif route:
                others.append(cable)
        if others:
            advice = (
                ""
                if len(self.layout.a) >= self._possible_pairs()
                else f"measure pairs that cross only one of {', '.join((name, *others))}"
            )
            separable = others[0].startswith("a cable of") and self._passes_explain_noise()
        elif not confirmed:
            advice = f"measure {name} again"
        elif element.alternatives:
            crossed = ", ".join((name, *element.alternatives[:3]))
            advice = f"replace one part after the other: the same pairs cross {crossed}"
        undecided = (
            bool(others)
            if confirmed
            else result is None or self.launches == 1 or (p <= _UNDECIDED and effect >= self.least)
        )
        return Suspect(
            kind, name, element.endpoints, float(np.expm1(effect)),
            (float(np.expm1(effect - _95 * error)), float(np.expm1(effect + _95 * error))),
            p, self.sweep.benchmark, self.sweep.bytes, confirmed and not others,
            tuple(dict.fromkeys((*cables, *element.alternatives, *others))), advice, separable, element.way, undecided,
            significance(self.final, at),
        )  # fmt: skip

    def _passes_explain_noise(self) -> bool:
        """Whether the spread of pairs is explained by their passes. Otherwise pairs differ by nature, however
        many passes there are."""
        return bool(self.final.spread < 1.5 * self.all_passes.error)

    def _note_slow_groups(self) -> None:
        """Add a note if all hosts of a group are named, because what they share may be slow instead."""
        slow = {suspect.endpoints[0] for suspect in self.suspects if suspect.named and suspect.kind == "host"}
        groups = [] if self.group_of is None else range(int(self.group_of.max()) + 1)
        for group in groups if len(groups) > 2 else ():
            inside = np.flatnonzero(self.group_of == group).tolist()
            if len(inside) >= FEWEST and slow.issuperset(inside):
                some = ", ".join(self.sweep.endpoints[endpoint].name for endpoint in inside[:3])
                self.notes.append(
                    f"{self.name}: all {len(inside)} hosts of a group ({some}, ...) are slow: the switch that "
                    "they share may be the cause; give the switches (--topology)"
                )

    def _possible_pairs(self) -> int:
        count = len(self.sweep.endpoints) - len(self.silent)
        return count * (count - 1) // 2

    def _leaf(self, endpoint: int) -> str:
        assert self.topology is not None
        leaf = int(leaves_of(self.sweep.endpoints, self.topology)[endpoint])
        return self.topology.leaves[leaf] if self.topology.leaves else "its switch"

    def _route(self, at: int, effect: float) -> str:
        """Whether a host is also slow to hosts below its own switch: "" if so, as slow hosts are; "route" if
        not; "?" if it is unknown. Noise gives a wrong answer with a probability below `level`, for all
        suspects together."""
        element = self.all_passes.each[at]
        if self.topology is None or element.kind != "host" or len(element.endpoints) != 1:
            return ""
        leaf = leaves_of(self.sweep.endpoints, self.topology)
        switch = int(leaf[element.endpoints[0]])
        under, columns = leaf == switch, self.final.exclusive_pairs(at)
        below = columns[self._are_inside(columns, under)]
        if switch < 0 or np.count_nonzero(under) < 2 or len(below) == len(columns):
            return ""
        if len(below) < FEWEST and not self.topology.has_several_links(switch):
            return ""
        if not len(below):
            return "?"
        values = self.final.residual[below]
        inside = median(values) + bounded_mean(values - median(values), self.final.spread)
        error = self.final.spread / np.sqrt(len(below))
        freedom = self.final.scores[2][int(self.all_passes.kinds[at])][1]
        sure = (
            -float(stdtrit(freedom, self.level / len(self.final.chosen)))
            * self.final.bounded_residuals[1]
            * error
        )
        if inside >= max(effect / 2 + error, sure):
            return ""
        return "route" if inside <= min(effect / 2 - error, effect - sure) else "?"

    def _are_inside(self, columns: Indices, under: Mask) -> Mask:
        """Which pairs have both ends in a group (`under`: mask of endpoints)."""
        pair = columns % len(self.layout.a)
        return np.asarray(under[self.layout.a[pair]] & under[self.layout.b[pair]])

    # --- Pairs --------------------------------------------------------------------------------------------------------

    def _judge_pairs(self) -> None:
        chosen = self.final.chosen
        parts = [
            Fit(part, tuple(at for at in chosen if at < len(part.each))) for part in (self.first, self.fresh)
        ]
        for judge, both_signs in ((slow_pairs, False), (asymmetric_pairs, True)):
            first, last, every = (judge(fit, self.least) for fit in (*parts, self.final))
            if every.share:
                if not self.populations:
                    self._add_slow_pairs(every.share, every.effect)
                continue
            nature = 1.0 if self.launches == 1 else common_share(first.value, last.value)
            results = confirm_pairs(
                first, last.value, self.least, both_signs=both_signs, steady=self._passes_explain_noise()
            )
            suspects = [
                *first.suspects,
                *(code for code in every.suspects if code not in first.suspects),
            ]
            for code in suspects:
                at = code if code >= 0 else -1 - code
                value = every.value[at] if code >= 0 else -every.value[at]
                if not np.isfinite(value) or value < self.least:
                    continue
                result = results.get(code)
                values = np.abs(every.value) if both_signs else every.value
                share = 1.0 if result is None else nature
                tail = tail_probability(values, at, share) * np.isfinite(values).sum()
                named = (
                    not self._crosses_slow_route(at, float(value))
                    and result is not None
                    and result.again
                    and result.p_value <= RANK
                    and tail <= _TAIL
                )
                doubted = code in (*first.suspects[: first.far], *every.suspects[: every.far])
                undecided = not named and tail <= _DOUBTED and doubted and self.launches == 1
                self._add_pair(code, float(value), result, named, undecided, both_signs)

    def _add_pair(
        self, code: int, value: float, result: RetestResult | None, named: bool, undecided: bool, way: bool
    ) -> None:
        at = code if code >= 0 else -1 - code
        a, b = int(self.layout.a[at]), int(self.layout.b[at])
        a, b = (a, b) if code >= 0 else (b, a)
        p = 1.0 if result is None else result.p_value
        if way and named:
            self.asymmetric.append(
                AsymmetricPair(a, b, float(np.expm1(value)), p, self.sweep.benchmark, self.sweep.bytes)
            )
            return
        if not named and not undecided:
            again = self.launches == 1 or (self.launches == 2 and result is not None and result.again)
            if not way and again and self._passes_explain_noise():
                self.screened.append(PairToRetest(a, b, self.sweep.benchmark, self.sweep.bytes))
            return
        reach = _95 * 1.25 * self.final.spread
        self.suspects.append(
            Suspect(
                "pair", self._pair(a, b, "to" if way else "-"), (a, b), float(np.expm1(value)),
                (float(np.expm1(value - reach)), float(np.expm1(value + reach))),
                p, self.sweep.benchmark, self.sweep.bytes, named,
                next="" if named else "measure the pair again", way="sender" if way else "", undecided=undecided,
            )
        )  # fmt: skip

    def _crosses_slow_route(self, pair: int, effect: float) -> bool:
        """Whether a named link or route may make a pair slow: the pair is about as slow as a link that one of
        its shortest routes crosses, or as a route out of its switch, whose cable it may share."""
        if self.topology is None:
            return False
        ends = [int(column[pair]) for column in (self.layout.a, self.layout.b)]
        a, b = (self.sweep.endpoints[end].host for end in ends)
        leaf = leaves_of(self.sweep.endpoints, self.topology)
        leaves = {int(leaf[end]) for end in ends}
        return any(
            suspect.named
            and np.expm1(effect) <= _ALIKE * suspect.effect
            and (
                len(leaves) == 2 and int(leaf[suspect.endpoints[0]]) in leaves
                if suspect.kind == "route"
                else self.topology.may_cross(suspect.name, a, b)
            )
            for suspect in self.suspects
        )

    def _add_slow_pairs(self, share: float, effect: float) -> None:
        longer = float(np.expm1(effect))
        self.populations.append(
            Populations("pairs", (), share, longer, self.sweep.benchmark, self.sweep.bytes)
        )
        self.unsure |= share > _SEVERAL
        self.notes.append(
            f"{self.name}: {percent_text(share)} of pairs take {percent_text(longer, 1)} longer, "
            "and no host or link explains them; routes or contention may: measure with --serial"
        )

    # --- The rest -----------------------------------------------------------------------------------------------------

    def _list_unjudged(self) -> None:
        """List links that all pairs of a distance cross: no other link can be compared with them."""
        confounded = [
            self.layout.elements.each[at]
            for at in np.flatnonzero(self.all_passes.confounded_elements[0]).tolist()
            if at < len(self.layout.elements.each)
        ]
        links = [element for element in confounded if element.kind in ("link", "group")]
        self.unjudged = tuple(link.name for link in links)
        if links:
            names = [_same_pairs_phrase(link.name, link.alternatives[:2]) for link in links]
            self.notes.append(
                "not judged without --baseline or a sibling trunk, as all pairs of a distance cross it: "
                f"{', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
            )

    def _judge_sensitivity(self) -> None:
        sweep, layout = self.sweep, self.layout
        effects = endpoint_effects(self.final, self.all_passes.there)
        hosts, widened = detectable_effect_of(self.whole, self.least, "host", 0.5)
        links = [element for element in layout.elements.each if element.kind == "link"]
        of_links = 0.0
        if links:
            of_links, wider = detectable_effect_of(self.whole, self.least, "link", _FEW)
            of_links = 0.0 if wider > 2.0 else of_links
        wanted = float(np.log1p(MISSED * float(np.expm1(self.least))))
        met = np.bincount(np.concatenate([layout.a, layout.b]))
        ends = int(np.count_nonzero(met))
        whole = 2 * len(layout.a) >= ends * (ends - 1)
        repeats = _passes(layout)
        judged = [end for at in self.whole.chosen for end in self.all_passes.each[at].endpoints]
        if not hosts <= wanted:
            self.unsure = True
            self.notes.append(
                f"{self.name}: " + remedy(hosts, wanted, widened, repeats, self.classes.names, whole=whole)
            )
        elif (far_off := np.flatnonzero(np.delete(np.nan_to_num(effects), judged) > 2 * wanted)).size:
            self.unsure = True
            self.notes.append(
                f"{self.name}: {count_of(len(far_off), 'endpoint')} slower by more than {percent_text(float(np.expm1(2 * wanted)))}, "
                "though not beyond what endpoints differ by; measure again"
            )
        named = tuple(
            (name, float(np.exp(value)))
            for name, value in zip(self.classes.names, self.final.levels, strict=True)
        )
        error = float(np.nan_to_num(self.all_passes.error))
        self.result = SizeResult(
            sweep.benchmark,
            sweep.bytes,
            min((seconds for _, seconds in named), default=float("nan")),
            named,
            self.all_passes.noise,
            float(np.sqrt(max(self.final.spread**2 - error**2, 0.0))),
            repeats,
            len(layout.a),
            float(np.expm1(hosts)),
            np.expm1(effects),
            widened,
            float(np.expm1(of_links)),
        )


def _passes(layout: SweepLayout) -> int:
    """How often a pair was measured, median over pairs."""
    return int(np.median(np.bincount(layout.key[layout.good], minlength=1)))


def endpoint_effects(fit: Fit, kept: Mask, way: str = "") -> Values:
    """For each endpoint, the mean of its bounded residuals over these pairs; NaN without a pair. `way`: only
    as "sender" or "receiver"."""
    layout, places = fit.part.layout, np.flatnonzero(kept)
    pair, count = places % len(layout.a), len(layout.sweep.endpoints)
    if way:
        ends = np.where((places < len(layout.a)) == (way == "sender"), layout.a[pair], layout.b[pair])
        residuals = fit.residual[places]
    else:
        ends, residuals = np.concatenate([layout.a[pair], layout.b[pair]]), np.tile(fit.residual[places], 2)
    middle = middles(ends, count, residuals)
    away = np.clip(residuals - middle[ends], -3 * fit.spread, 3 * fit.spread)
    with np.errstate(all="ignore"):
        effects: Values = middle + np.bincount(ends, away, count) / np.bincount(ends, minlength=count)
    return effects


def _median_error(spread: float, count: int) -> float:
    """Standard error of the median of `count` values."""
    return float(1.25 * spread / np.sqrt(max(count, 1)))


def _same_pairs_phrase(name: str, others: Sequence[str]) -> str:
    return f"{name} (the same pairs cross {' and '.join(others)})" if others else name
