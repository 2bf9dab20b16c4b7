"""From figures to effects: intervals, adjusted p-values, a verdict of each row and band. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf, isfinite
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from imb.compare.bands import BANDS, Band
from imb.compare.log_speeds import Logs, band_means, session_means
from imb.compare.state_shares import StateShares
from imb.model import sequential_design
from imb.model.observations import Key
from imb.model.statuses import Status
from imb.model.units import percent_text
from imb.stats import shift as stats
from imb.stats.arrays import LARGEST_LOG, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.multiplicity import Family, family_of
from imb.stats.shift import FEWEST, Shift

Verdict: TypeAlias = Literal["faster", "slower", "same", "differs", "mixed", "not slower", "inconclusive"]

# `differs`: B is faster or slower, by less than matters. Of the whole only: `mixed`, slower and faster; `not slower`: a slowdown that
# matters is excluded, a speedup is not.
EXIT: dict[Verdict, int] = {
    "faster": Status.GOOD,
    "same": Status.GOOD,
    "not slower": Status.GOOD,
    "slower": Status.WORSE,
    "mixed": Status.WORSE,
    "inconclusive": Status.UNDECIDED,
    "differs": Status.DIFFERS,
}
BANDS_WEIGHT = 4.0  # of all bands together in Holm's method; all rows together have 1
_UNKNOWN = (None, None)
_BARELY = 1e-9  # a logarithm: less than this is no difference


class CompareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: the smallest change that matters, 0.05 is 5 %. `false_discovery`: the probability that any row or band is
    called different that does not differ. `benchmarks`: only these, in any case; empty: all. `force`: compare intra-node
    with inter-node, and passes with classic launches. `assume_one_session`: the user states that all launches are of
    one session (imb.compare.pairing). `assume_stable`: and that the machine did not drift while A and then B was
    measured (imb.compare.launch_order)."""

    metric: str = "time"
    relevant: float = 0.05
    confidence: float = 0.95
    false_discovery: float = ANY_FALSE
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    force: bool = False
    assume_one_session: bool = False
    assume_stable: bool = False

    def intervals(self) -> str:
        """What the intervals are that are shown of effects, as a sentence without its point."""
        family, alone = (percent_text(share) for share in (1 - self.false_discovery, self.confidence))
        return f"Intervals: {family} for all bands and rows together; where {alone} is written, for that band or row alone"

    def error_rate(self) -> str:
        """What is controlled, as a sentence without its point."""
        return f"Chance of any false difference: at most {percent_text(self.false_discovery)}"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Of B against A. `speed` > 1: B is faster. [`low`, `high`] covers it with CompareSettings.confidence, for this row or band
    alone, or None if there are too few launches. `simultaneous`: the interval adjusted for all judged bands and rows; B differs where it excludes 1.
    `interval`: the one of the two that decided, and the only one that is shown, with this `confidence`; `adjusted`: it is the
    simultaneous one. `p`: of no difference; `q`: p adjusted for all judged bands and rows. `spread`: standard deviation between
    launches (sessions, where these are judged) of one side, of the logarithm, so 0.05 is about 5 %. `launches_a`, `launches_b`: how
    many launches have the row or band. `needed`: launches (sessions) a side that find a uniform change of CompareSettings.relevant in
    19 of 20 comparisons; None: the spread is not known."""

    speed: float
    low: float | None
    high: float | None
    p: float | None
    q: float | None
    spread: float | None
    launches_a: int
    launches_b: int
    verdict: Verdict
    needed: int | None
    simultaneous: tuple[float | None, float | None] | None = None
    interval: tuple[float | None, float | None] | None = None
    adjusted: bool = False
    confidence: float | None = None


class JudgedFigures(NamedTuple):
    """Figures by launch (session) and column as they are judged, and how many launches have each column."""

    a: Values
    b: Values
    rounding: Values
    launches_a: Values
    launches_b: Values


def effects_of(
    both: Logs,
    members: Mapping[tuple[Key, Band], Sequence[int]],
    settings: CompareSettings,
    *,
    pairs: bool = False,
    share: float = 1.0,
    sessions: tuple[Sequence[int], Sequence[int]] | None = None,
    level: float | None = None,
) -> tuple[list[Effect], list[Effect]]:
    """Effects of the rows, in the order of `both.keys`, and of the bands, in that of `members`: one family. `share`: of the error
    rates, for one of several looks (imb.compare.sequential). `sessions`: number of each launch's session, where a session counts as
    one figure. `level`: of the family, where something else has a part of CompareSettings.false_discovery."""
    level = settings.false_discovery if level is None else level
    method = stats.shift_of_pairs if pairs else stats.shift
    confidence = 1 - (1 - settings.confidence) * share
    groups = [
        figures
        for figures in (
            _judged(*band_means(both, list(members.values())), sessions),
            _judged(both.a, both.b, both.rounding, sessions),
        )
        if figures.a.shape[1]
    ]
    alone = [method(group.a, group.b, confidence, group.rounding) for group in groups]
    shifts = Shift(*map(np.concatenate, zip(*alone, strict=True)))
    figures = JudgedFigures(*(np.concatenate(parts, axis=-1) for parts in zip(*groups, strict=True)))
    sizes = [group.a.shape[1] for group in groups]
    middle = np.repeat(
        [float(stats.middle_variance(group.a, group.b, pairs=pairs)[0]) for group in groups], sizes
    )
    weights = np.repeat(
        [weight / size for weight, size in zip((BANDS_WEIGHT, 1.0)[-len(sizes) :], sizes, strict=True)], sizes
    )
    family = _family(shifts, figures, middle, level * share, weights, pairs=pairs)
    effects = _effects(shifts, family, figures, settings, share, sizes, pairs=pairs)
    return effects[len(members) :], effects[: len(members)]


def _judged(
    a: Values, b: Values, rounding: Values, sessions: tuple[Sequence[int], Sequence[int]] | None
) -> JudgedFigures:
    counts = [np.isfinite(values).sum(axis=0) for values in (a, b)]
    if sessions:
        a, b = session_means(a, sessions[0]), session_means(b, sessions[1])
    return JudgedFigures(a, b, rounding, *counts)


def _family(
    shifts: Shift, figures: JudgedFigures, middle: Values, level: float, weights: Values, *, pairs: bool
) -> Family:
    """Simultaneous p-values, and intervals as half widths. What a later step calls different has an interval that ends at no
    difference (Guilbaud, Biom. J. 50 (2008) 678)."""
    if not level:
        return Family(*(np.full(shifts.p.shape, np.nan) for _ in range(2)))
    family = family_of(shifts, figures.a, figures.b, figures.rounding, middle, level, weights, pairs=pairs)
    reach = family.critical * shifts.error
    differs = family.q <= level
    with np.errstate(invalid="ignore"):
        reach = np.where(differs, np.fmin(reach, np.abs(shifts.difference) - _BARELY), reach)
    return Family(family.q, reach)


def _effects(
    shifts: Shift,
    family: Family,
    figures: JudgedFigures,
    settings: CompareSettings,
    share: float,
    sizes: Sequence[int],
    *,
    pairs: bool,
) -> list[Effect]:
    """The effects of all columns. `sizes`: how many columns are bands, and how many rows."""
    at_look = stats.adjust_to_look(shifts, share)
    change = float(np.log1p(settings.relevant))
    needed = np.concatenate(
        [
            stats.launches_needed(spread, change, planning_level(settings, share, len(spread)), pairs=pairs)
            for spread in np.split(at_look.spread, np.cumsum(sizes)[:-1])
        ]
    )
    fewest = np.minimum(at_look.count_a, at_look.count_b)
    return [
        _decided(
            Effect(
                speed=speed,
                low=low,
                high=high,
                p=p,
                q=q,
                spread=spread,
                launches_a=int(count_a),
                launches_b=int(count_b),
                verdict="inconclusive",
                needed=None if count is None else int(count),
                simultaneous=None if q is None else (from_, to),
            ),
            settings,
            int(few),
        )
        for speed, low, high, p, q, spread, count_a, count_b, few, count, from_, to in zip(
            np.exp(np.clip(at_look.difference, -LARGEST_LOG, LARGEST_LOG)).tolist(),
            _below(at_look.low),
            _above(at_look.high),
            finite_or_none(at_look.p),
            finite_or_none(np.minimum(family.q / (share or 1.0), 1.0)),
            finite_or_none(at_look.spread),
            figures.launches_a.tolist(),
            figures.launches_b.tolist(),
            fewest.tolist(),
            finite_or_none(np.maximum(needed, FEWEST)),
            _below(at_look.difference - family.critical),
            _above(at_look.difference + family.critical),
            strict=True,
        )
    ]


def planning_level(settings: CompareSettings, share: float, many: int) -> float:
    """The level for which power is stated: that of one of so many bands. It counts half of the error rate for bands, less than BANDS_WEIGHT
    gives them, so power is not overstated. Before the first look, the share of that look counts."""
    share = share or sequential_design.SequentialDesign().share(sequential_design.FIRST)
    return settings.false_discovery / 2 * share / max(many, 1)


def _decided(effect: Effect, settings: CompareSettings, launches: int) -> Effect:
    """The effect with its verdict, and the interval that decided it."""
    return _shown(
        effect, verdict_of(effect.low, effect.high, effect.simultaneous, settings, launches), settings
    )


def undecided_effect(effect: Effect, settings: CompareSettings) -> Effect:
    """The same without a verdict, for a comparison that permits none."""
    return _shown(effect, "inconclusive", settings)


def session_bound_effect(effect: Effect, sign: int) -> Effect:
    """An undecided effect with the verdict of the bound of sessions, 1 faster, -1 slower, 0 none. Its interval is of launches, so none
    is shown."""
    if not sign:
        return effect
    verdict: Verdict = "faster" if sign > 0 else "slower"
    return msgspec.structs.replace(effect, verdict=verdict, interval=None, confidence=None, adjusted=False)


def _shown(effect: Effect, verdict: Verdict, settings: CompareSettings) -> Effect:
    """The effect with this verdict, and the interval that is shown with it. If the simultaneous interval is not known, that of this effect alone is shown."""
    alone = verdict in ("same", "differs") or effect.simultaneous in (None, _UNKNOWN)
    interval = (effect.low, effect.high) if alone else effect.simultaneous
    is_known = interval != _UNKNOWN
    return msgspec.structs.replace(
        effect,
        verdict=verdict,
        interval=interval if is_known else None,
        adjusted=not alone,
        confidence=(settings.confidence if alone else 1 - settings.false_discovery) if is_known else None,
    )


def combine_looks(before: Sequence[Effect], now: Sequence[Effect], settings: CompareSettings) -> list[Effect]:
    """Effects after another look. What an earlier look has excluded stays excluded, as the error rates are of all looks
    together: intervals are intersected, the smallest p-values count. Where nothing is left of an interval, which a steady
    difference makes with a probability of 1 - confidence at most, the effect is that of the last look, and undecided."""
    return [_latched(earlier, later, settings) for earlier, later in zip(before, now, strict=True)]


def _latched(before: Effect, now: Effect, settings: CompareSettings) -> Effect:
    if before.low is None or before.high is None or before.p is None or before.q is None:
        return now
    if now.low is None or now.high is None or now.p is None or now.q is None:
        return now
    low, high = max(before.low, now.low), min(before.high, now.high)
    wide = _both(before.simultaneous, now.simultaneous)
    if low > high or wide is None:
        return undecided_effect(now, settings)
    both = msgspec.structs.replace(
        now, low=low, high=high, simultaneous=wide, p=min(before.p, now.p), q=min(before.q, now.q)
    )
    return _decided(both, settings, min(now.launches_a, now.launches_b))


def _both(
    first: tuple[float | None, float | None] | None, other: tuple[float | None, float | None] | None
) -> tuple[float | None, float | None] | None:
    """The intersection of two intervals, or None if it is empty, or neither is known."""
    if first is None or other is None:
        return first or other
    lows, highs = ([end for end in ends if end is not None] for ends in zip(first, other, strict=True))
    low, high = max(lows, default=None), min(highs, default=None)
    return None if low is not None and high is not None and low > high else (low, high)


def overall_verdict(
    bands: Sequence[Effect], rows: Sequence[Effect], relevant: float, states: StateShares | None = None
) -> Verdict:
    """The verdict of all bands and rows, and of the shares of launches in the fast state: the first of these that is true. It is never
    better than a part of it.

    - mixed: something is slower, and something faster, by what matters;
    - slower: something is;
    - differs: something is slower, by less than matters;
    - inconclusive: in some band (without bands: some row) a slowdown that matters is not excluded, or B may be in the slow state
      more often;
    - faster: something is;
    - differs: something is faster, by less than matters;
    - same: every band (without bands: every row) is;
    - not slower.
    """
    everything = list(chain(bands, rows))
    verdicts = {effect.verdict for effect in everything} | ({states.verdict} if states else set())
    if "slower" in verdicts:
        return "mixed" if "faster" in verdicts else "slower"
    small = [effect.speed for effect in everything if effect.verdict == "differs"]
    if any(speed < 1 for speed in small):
        return "differs"
    deciding = bands or rows
    if any(maybe_slower(effect, relevant) for effect in deciding) or (states and states.maybe_slower):
        return "inconclusive"
    if "faster" in verdicts or small:
        return "faster" if "faster" in verdicts else "differs"
    return "same" if all(effect.verdict == "same" for effect in deciding) else "not slower"


def maybe_slower(effect: Effect, relevant: float) -> bool:
    """Whether a slowdown that matters is not excluded."""
    few = min(effect.launches_a, effect.launches_b) < FEWEST
    return few or effect.low is None or effect.low < 1 / (1 + relevant)


def verdict_of(
    low: float | None,
    high: float | None,
    simultaneous: tuple[float | None, float | None] | None,
    settings: CompareSettings,
    launches: int = FEWEST,
) -> Verdict:
    """The verdict of one row or band, from the interval of its speedup alone, the simultaneous interval, and the launches (sessions) of the
    smaller side. The simultaneous interval decides whether it differs; the interval alone then decides whether by less than matters:
    the test against the margin (two one-sided tests: Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657)."""
    if launches < FEWEST:
        return "inconclusive"
    change = 1 + settings.relevant
    within = low is not None and high is not None and low >= 1 / change and high <= change
    wide_low, wide_high = simultaneous or _UNKNOWN
    if (wide_low or 0.0) > 1:
        return "differs" if within else "faster"
    if (inf if wide_high is None else wide_high) < 1:
        return "differs" if within else "slower"
    return "same" if within else "inconclusive"


def _below(logs: Values) -> list[float | None]:
    """Lower ends as speedups; None where there is none."""
    return finite_or_none(np.exp(np.clip(logs, -LARGEST_LOG, None)))


def _above(logs: Values) -> list[float | None]:
    """Upper ends as speedups; None where there is none."""
    with np.errstate(over="ignore"):
        return finite_or_none(np.exp(np.clip(logs, None, LARGEST_LOG)))


def finite_or_none(values: Values) -> list[float | None]:
    """None in place of what is not a finite number."""
    return [value if isfinite(value) else None for value in values.tolist()]
