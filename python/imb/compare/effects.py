"""Effects of rows and bands: intervals, adjusted p-values and verdicts from logarithms of speed. Pure."""

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
from imb.model.defaults import RELEVANT
from imb.model.observations import Key
from imb.model.statuses import Status
from imb.model.units import percent_text
from imb.stats import shift as stats
from imb.stats.arrays import LARGEST_LOG, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.multiplicity import Family, family_of
from imb.stats.shift import FEWEST, Shift

ComparisonVerdict: TypeAlias = Literal[
    "faster", "slower", "same", "differs", "mixed", "not slower", "inconclusive"
]

# `differs`: B is faster or slower, by less than matters. Two verdicts belong only to a whole comparison: `mixed` (some bands
# slower, others faster) and `not slower` (a slowdown that matters is excluded, a speedup is not).
EXIT: dict[ComparisonVerdict, int] = {
    "faster": Status.GOOD,
    "same": Status.GOOD,
    "not slower": Status.GOOD,
    "slower": Status.WORSE,
    "mixed": Status.WORSE,
    "inconclusive": Status.UNDECIDED,
    "differs": Status.DIFFERS,
}
BANDS_WEIGHT = 4.0  # weight of all bands together in Holm's method; all rows together have 1
_UNKNOWN = (None, None)
_BARELY = 1e-9  # a logarithm; smaller differences count as none


class CompareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: the smallest change that matters, 0.05 is 5 %. `false_discovery`: the probability of any false
    difference. `benchmarks`: judge only these, case-insensitive;
    all if empty. `force`: compare intra-node with inter-node launches, and passes with classic launches.
    `assume_one_session`: the user states that all launches belong to one session (imb.compare.pairing).
    `assume_stable`: the user states that the machine did not drift between the launches of A and those of B
    (imb.compare.launch_order)."""

    metric: str = "time"
    relevant: float = RELEVANT
    confidence: float = 0.95
    false_discovery: float = ANY_FALSE
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    force: bool = False
    assume_one_session: bool = False
    assume_stable: bool = False

    def intervals(self) -> str:
        """Which intervals are shown, as a sentence without its period."""
        family, alone = (percent_text(share) for share in (1 - self.false_discovery, self.confidence))
        return f"Intervals: {family} for all bands and rows together; where {alone} is written, for that band or row alone"

    def error_rate(self) -> str:
        """The error rate that is controlled, as a sentence without its period."""
        return f"Chance of any false difference: at most {percent_text(self.false_discovery)}"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of B against A in one row or band.

    `speed` > 1: B is faster. [`low`, `high`] covers the speedup of this row or band alone, with
    CompareSettings.confidence; both are None if there are too few launches. `simultaneous`: the interval
    adjusted for all judged bands and rows; B differs if it excludes 1. `interval`: the one of the two that
    decided, with this `confidence`; only it is shown. `adjusted`: it is the simultaneous one.

    `p`: p-value of no difference; `q`: p adjusted for all judged bands and rows. `spread`: standard deviation
    of the logarithm between launches of one side (between sessions, if the session is the unit); 0.05 is
    about 5 %. `launches_a`, `launches_b`: number of launches that have the row or band. `needed`: launches
    (sessions) per side that find a uniform change of CompareSettings.relevant in 19 of 20 comparisons, or
    None if the spread is unknown.
    """

    speed: float
    low: float | None
    high: float | None
    p: float | None
    q: float | None
    spread: float | None
    launches_a: int
    launches_b: int
    verdict: ComparisonVerdict
    needed: int | None
    simultaneous: tuple[float | None, float | None] | None = None
    interval: tuple[float | None, float | None] | None = None
    adjusted: bool = False
    confidence: float | None = None


class JudgedFigures(NamedTuple):
    """Logarithms of speed, shape (launches or sessions, columns), as they are judged. `rounding`,
    `launches_a`, `launches_b`, shape (columns,): standard deviation due to printed digits, and number of
    launches that have each column."""

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
    """Effects of the rows, in the order of `both.keys`, and of the bands, in the order of `members`. Rows and
    bands are one family. `share`: share of the error rates that one of several looks may use
    (imb.compare.repeated_looks). `sessions`: each launch's session number, for both sides, if the session is the
    unit. `level`: error rate of the family, if another test uses a part of CompareSettings.false_discovery."""
    level = settings.false_discovery if level is None else level
    method = stats.shift_of_pairs if pairs else stats.shift
    confidence = 1 - (1 - settings.confidence) * share
    groups = [
        figures
        for figures in (
            _judge_figures(*band_means(both, list(members.values())), sessions),
            _judge_figures(both.a, both.b, both.rounding, sessions),
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


def _judge_figures(
    a: Values, b: Values, rounding: Values, sessions: tuple[Sequence[int], Sequence[int]] | None
) -> JudgedFigures:
    counts = [np.isfinite(values).sum(axis=0) for values in (a, b)]
    if sessions:
        a, b = session_means(a, sessions[0]), session_means(b, sessions[1])
    return JudgedFigures(a, b, rounding, *counts)


def _family(
    shifts: Shift, figures: JudgedFigures, middle: Values, level: float, weights: Values, *, pairs: bool
) -> Family:
    """Simultaneous p-values (`q`) and half widths of intervals, as logarithms (`critical`). If a later step
    finds a difference, its interval ends just before no difference (Guilbaud, Biom. J. 50 (2008) 678)."""
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
    """The effects of all columns. `sizes`: the number of band columns and of row columns."""
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
        _decide(
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
            _lower_ends(at_look.low),
            _upper_ends(at_look.high),
            finite_or_none(at_look.p),
            finite_or_none(np.minimum(family.q / (share or 1.0), 1.0)),
            finite_or_none(at_look.spread),
            figures.launches_a.tolist(),
            figures.launches_b.tolist(),
            fewest.tolist(),
            finite_or_none(np.maximum(needed, FEWEST)),
            _lower_ends(at_look.difference - family.critical),
            _upper_ends(at_look.difference + family.critical),
            strict=True,
        )
    ]


def planning_level(settings: CompareSettings, share: float, many: int) -> float:
    """The error rate at which power is computed: the share of one of `many` bands. All bands together count
    as half of the error rate, less than BANDS_WEIGHT gives them, so power is not overstated. A `share` of 0
    (before the first look) counts as the share of the first look."""
    share = share or sequential_design.SequentialDesign().share(sequential_design.FIRST)
    return settings.false_discovery / 2 * share / max(many, 1)


def _decide(effect: Effect, settings: CompareSettings, launches: int) -> Effect:
    """The effect with its verdict, and the interval that decided it."""
    return _select_interval(
        effect, verdict_of(effect.low, effect.high, effect.simultaneous, settings, launches), settings
    )


def undecided_effect(effect: Effect, settings: CompareSettings) -> Effect:
    """The same effect without a verdict, for a comparison that permits none."""
    return _select_interval(effect, "inconclusive", settings)


def session_bound_effect(effect: Effect, sign: int) -> Effect:
    """An undecided effect with the verdict of the bound of sessions: `sign` 1 is faster, -1 slower, 0 none.
    Its interval covers only the spread of launches, so it is not shown."""
    if not sign:
        return effect
    verdict: ComparisonVerdict = "faster" if sign > 0 else "slower"
    return msgspec.structs.replace(effect, verdict=verdict, interval=None, confidence=None, adjusted=False)


def _select_interval(effect: Effect, verdict: ComparisonVerdict, settings: CompareSettings) -> Effect:
    """The effect with this verdict, and the interval that is shown with it. If the simultaneous interval is
    unknown, the interval of this effect alone is shown."""
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
    """Effects after another look. What an earlier look excluded stays excluded, because the error rates hold
    for all looks together: intervals are intersected, and the smallest p-values count. If an intersection is
    empty, the last look gives the effect, and it is undecided; for a steady difference, the probability of
    this is at most 1 - confidence."""
    return [_keep_verdict(earlier, later, settings) for earlier, later in zip(before, now, strict=True)]


def _keep_verdict(before: Effect, now: Effect, settings: CompareSettings) -> Effect:
    if before.low is None or before.high is None or before.p is None or before.q is None:
        return now
    if now.low is None or now.high is None or now.p is None or now.q is None:
        return now
    low, high = max(before.low, now.low), min(before.high, now.high)
    wide = _intersection(before.simultaneous, now.simultaneous)
    if low > high or wide is None:
        return undecided_effect(now, settings)
    both = msgspec.structs.replace(
        now, low=low, high=high, simultaneous=wide, p=min(before.p, now.p), q=min(before.q, now.q)
    )
    return _decide(both, settings, min(now.launches_a, now.launches_b))


def _intersection(
    first: tuple[float | None, float | None] | None, other: tuple[float | None, float | None] | None
) -> tuple[float | None, float | None] | None:
    """The intersection of two intervals, or None if it is empty or both intervals are unknown."""
    if first is None or other is None:
        return first or other
    lows, highs = ([end for end in ends if end is not None] for ends in zip(first, other, strict=True))
    low, high = max(lows, default=None), min(highs, default=None)
    return None if low is not None and high is not None and low > high else (low, high)


def overall_verdict(
    bands: Sequence[Effect], rows: Sequence[Effect], relevant: float, states: StateShares | None = None
) -> ComparisonVerdict:
    """The verdict on all bands and rows, and on the shares of launches in the fast state. It is never better
    than the verdict of a part. The first line that is true counts:

    - mixed: something is slower, and something is faster, by more than matters;
    - slower: something is slower;
    - differs: something is slower, by less than matters;
    - inconclusive: a slowdown that matters is not excluded in some band (without bands: in some row), or B
      may be in the slow state more often;
    - faster: something is faster;
    - differs: something is faster, by less than matters;
    - same: every band (without bands: every row) is the same;
    - not slower: otherwise.
    """
    everything = list(chain(bands, rows))
    verdicts = {effect.verdict for effect in everything} | ({states.verdict} if states else set())
    if "slower" in verdicts:
        return "mixed" if "faster" in verdicts else "slower"
    small = [effect.speed for effect in everything if effect.verdict == "differs"]
    if any(speed < 1 for speed in small):
        return "differs"
    deciding = bands or rows
    if any(may_be_slower(effect, relevant) for effect in deciding) or (states and states.may_be_slower):
        return "inconclusive"
    if "faster" in verdicts or small:
        return "faster" if "faster" in verdicts else "differs"
    return "same" if all(effect.verdict == "same" for effect in deciding) else "not slower"


def may_be_slower(effect: Effect, relevant: float) -> bool:
    """Whether the effect does not exclude a slowdown that matters."""
    few = min(effect.launches_a, effect.launches_b) < FEWEST
    return few or effect.low is None or effect.low < 1 / (1 + relevant)


def verdict_of(
    low: float | None,
    high: float | None,
    simultaneous: tuple[float | None, float | None] | None,
    settings: CompareSettings,
    launches: int = FEWEST,
) -> ComparisonVerdict:
    """The verdict on one row or band. `low`, `high`: interval of its speedup alone; `launches`: launches
    (sessions) of the smaller side. The simultaneous interval decides whether the speedup differs from 1. The
    interval alone then decides whether it differs by less than matters: two one-sided tests (Schuirmann, J.
    Pharmacokinet. Biopharm. 15 (1987) 657)."""
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


def _lower_ends(logs: Values) -> list[float | None]:
    """Lower ends of intervals as speedups, or None if there is none."""
    return finite_or_none(np.exp(np.clip(logs, -LARGEST_LOG, None)))


def _upper_ends(logs: Values) -> list[float | None]:
    """Upper ends of intervals as speedups, or None if there is none."""
    with np.errstate(over="ignore"):
        return finite_or_none(np.exp(np.clip(logs, None, LARGEST_LOG)))


def finite_or_none(values: Values) -> list[float | None]:
    """The values, with None for each value that is not finite."""
    return [value if isfinite(value) else None for value in values.tolist()]
