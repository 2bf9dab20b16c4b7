"""From figures to effects: intervals, adjusted p-values, a verdict of each row and band. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np

from imb.judge import stats
from imb.judge.bands import BANDS, Band
from imb.judge.figures import Logs, band_means, by_session
from imb.judge.multiplicity import Family, Permutations, by_holm, permits
from imb.judge.stats import FEWEST, Shift, Values
from imb.model import sequential_design
from imb.model.observations import Key

Verdict: TypeAlias = Literal["faster", "slower", "same", "differs", "inconclusive"]

# `differs`: B is faster or slower, but by less than matters, or by an unclear amount.
EXIT: dict[Verdict, int] = {"faster": 0, "same": 0, "slower": 10, "inconclusive": 11, "differs": 12}
_UNKNOWN = (None, None)
UNTOLD = 700.0  # a logarithm; beyond it there are no numbers


class CompareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: the smallest change that matters, 0.05 is 5 %. `false_discovery`: the probability that any row or band is
    called different that does not differ. `benchmarks`: only these, in any case; empty: all. `force`: compare intra-node
    with inter-node, and passes with single bursts. `assume_one_session`: the user states that all launches are of
    one session (imb.judge.pairing)."""

    metric: str = "time"
    relevant: float = 0.05
    confidence: float = 0.95
    false_discovery: float = 0.01
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    force: bool = False
    assume_one_session: bool = False

    def intervals(self) -> str:
        """What the intervals are that are shown of effects, as a sentence without its point."""
        together, alone = (f"{share * 100:.3g} %" for share in (1 - self.level, self.confidence))
        return f"Intervals: {together}, adjusted for all rows or all bands together; of same: {alone}, of one row or band alone"

    @property
    def level(self) -> float:
        """The share of `false_discovery` for bands, and that for rows."""
        return self.false_discovery / 2


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Of B against A. `speed` > 1: B is faster. [`low`, `high`] covers it with CompareSettings.confidence, of this row or band
    alone; None: too few launches. `simultaneous`: the interval adjusted for all judged rows (bands):
    B differs where it excludes 1, and is slower or faster where it excludes all changes below CompareSettings.relevant.
    `interval`: the one of the two that decided, and the only one that is shown; `adjusted`: it is the simultaneous one. `p`: of no difference; `q`: p
    adjusted for all judged rows (bands). `spread`: standard deviation between launches (sessions, where these are judged) of
    one side, of the logarithm, so 0.05 is about 5 %. `launches_a`, `launches_b`: how many had it. `needed`: launches
    (sessions) a side that find a change of CompareSettings.relevant, made everywhere, in 19 of 20 comparisons; None: the spread is
    not known."""

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
) -> tuple[list[Effect], list[Effect]]:
    """Effects of the rows, in the order of `both.keys`, and of the bands, in that of `members`. `share`: of the error rates,
    for one of several looks (imb.judge.sequential). `sessions`: number of each launch's session, where a session counts as
    one figure.

    Bands come first, at half of the error rate. The other half is that of rows. Where bands differ, rows are tested twice at
    half of that: among all rows, and among those of the bands that differ, where a difference is to be expected. So a
    regression of many lengths is found in its rows too, and that of one length is not lost in its band.
    """
    where = list(members.values())
    bands = _judge(_judged(*band_means(both, where), sessions), pairs, settings, share, [range(len(where))])
    differing = [
        column for columns, band in zip(where, bands, strict=True) if _differs(band) for column in columns
    ]
    families: list[Sequence[int]] = [range(len(both.keys))]
    rows = _judge(
        _judged(both.a, both.b, both.rounding, sessions),
        pairs,
        settings,
        share,
        [*families, differing] if differing else families,
    )
    return rows, bands


def _judged(
    a: Values, b: Values, rounding: Values, sessions: tuple[Sequence[int], Sequence[int]] | None
) -> JudgedFigures:
    counts = [np.isfinite(one).sum(axis=0) for one in (a, b)]
    if sessions:
        a, b = by_session(a, sessions[0]), by_session(b, sessions[1])
    return JudgedFigures(a, b, rounding, *counts)


def _differs(effect: Effect) -> bool:
    return effect.verdict in ("faster", "slower", "differs")


def _judge(
    figures: JudgedFigures,
    pairs: bool,
    settings: CompareSettings,
    share: float,
    families: Sequence[Sequence[int]],
) -> list[Effect]:
    method = stats.shift_of_pairs if pairs else stats.shift
    alone = method(figures.a, figures.b, 1 - (1 - settings.confidence) * share, figures.rounding)
    together = _families(alone, figures, pairs, settings.level, share, families)
    found = stats.at_a_look(alone, share)
    change = float(np.log1p(settings.relevant))
    level = planning_level(settings, share, int(np.isfinite(found.p).sum()))
    needed = np.maximum(stats.launches_needed(found.spread, change, level, pairs=pairs), FEWEST)
    fewest = np.minimum(found.count_a, found.count_b)
    reach = together.critical * found.error
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
            np.exp(np.clip(found.difference, -UNTOLD, UNTOLD)).tolist(),
            _below(found.low),
            _above(found.high),
            told(found.p),
            told(together.q),
            told(found.spread),
            figures.launches_a.tolist(),
            figures.launches_b.tolist(),
            fewest.tolist(),
            told(needed),
            _below(found.difference - reach),
            _above(found.difference + reach),
            strict=True,
        )
    ]


def planning_level(settings: CompareSettings, share: float, many: int) -> float:
    """The level that power is stated for: of one of so many rows or bands; before the first look, of the first one."""
    share = share or sequential_design.SequentialDesign().share(sequential_design.FIRST)
    return settings.level * share / max(many, 1)


def _families(
    found: Shift,
    figures: JudgedFigures,
    pairs: bool,
    level: float,
    share: float,
    families: Sequence[Sequence[int]],
) -> Family:
    """What holds for all columns of the first family. Of a column with several results the most significant one counts, as each family
    has its part of the level."""
    count = len(families)
    if not share:
        return Family(*(np.full(found.p.shape, np.nan) for _ in range(2)))
    part = level / count
    enough = permits(len(figures.a), len(figures.b), part * share, pairs=pairs)
    if enough and np.isfinite(found.p).any():
        shuffled = Permutations(found, figures.a, figures.b, figures.rounding, pairs)
        each = [shuffled.family(columns, part * share) for columns in families]
    else:
        each = [by_holm(found, columns, part * share) for columns in families]
    q, critical = (np.fmin.reduce([getattr(one, name) for one in each]) for name in Family._fields)
    return Family(np.minimum(q * count / share, 1.0), critical)


def _decided(effect: Effect, settings: CompareSettings, launches: int) -> Effect:
    """With its verdict, and the interval that decided it."""
    return _shown(effect, verdict_of(effect.low, effect.high, effect.simultaneous, settings, launches))


def undecided(effect: Effect) -> Effect:
    """The same without a verdict, for a comparison that permits none."""
    return _shown(effect, "inconclusive")


def _shown(effect: Effect, verdict: Verdict) -> Effect:
    """With this verdict and its interval; where the adjusted one is not known, with that of this effect alone."""
    adjusted = verdict != "same" and effect.simultaneous is not None and effect.simultaneous != _UNKNOWN
    interval = effect.simultaneous if adjusted else (effect.low, effect.high)
    return msgspec.structs.replace(
        effect, verdict=verdict, interval=None if interval == _UNKNOWN else interval, adjusted=adjusted
    )


def latched(before: Sequence[Effect], now: Sequence[Effect], settings: CompareSettings) -> list[Effect]:
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
        return undecided(now)
    both = msgspec.structs.replace(
        now, low=low, high=high, simultaneous=wide, p=min(before.p, now.p), q=min(before.q, now.q)
    )
    return _decided(both, settings, min(now.launches_a, now.launches_b))


def _both(
    one: tuple[float | None, float | None] | None, other: tuple[float | None, float | None] | None
) -> tuple[float | None, float | None] | None:
    """What both intervals hold; None: nothing."""
    if one is None or other is None:
        return one or other
    lows, highs = ([x for x in ends if x is not None] for ends in zip(one, other, strict=True))
    low, high = max(lows, default=None), min(highs, default=None)
    return None if low is not None and high is not None and low > high else (low, high)


def together(bands: Sequence[Effect], rows: Sequence[Effect], relevant: float) -> Verdict:
    """Of all bands and rows, the first that is true:

    - slower: some band or row is slower by more than matters;
    - differs: some band or row is slower, by less than matters or an unclear amount;
    - inconclusive: in some band (without bands: some row) a slowdown that matters is not excluded;
    - faster: some band or row is faster by more than matters;
    - differs: some band or row is faster, by less than matters or an unclear amount;
    - same.
    """
    everything = list(chain(bands, rows))
    verdicts = {effect.verdict for effect in everything}
    if "slower" in verdicts:
        return "slower"
    differing = [effect.speed for effect in everything if effect.verdict == "differs"]
    if any(speed < 1 for speed in differing):
        return "differs"
    if any(_maybe_slower(effect, relevant) for effect in bands or rows):
        return "inconclusive"
    return "faster" if "faster" in verdicts else "differs" if differing else "same"


def _maybe_slower(effect: Effect, relevant: float) -> bool:
    few = min(effect.launches_a, effect.launches_b) < FEWEST
    return few or effect.low is None or effect.low < 1 / (1 + relevant)


def verdict_of(
    low: float | None,
    high: float | None,
    simultaneous: tuple[float | None, float | None] | None,
    settings: CompareSettings,
    launches: int = FEWEST,
) -> Verdict:
    """Of one row or band, from the interval of its speedup alone, the adjusted one,
    and the launches (sessions) of the smaller side."""
    if launches < FEWEST:
        return "inconclusive"
    change = 1 + settings.relevant
    wide_low, wide_high = simultaneous or (None, None)
    if wide_low is not None and wide_low > 1:
        return "faster" if wide_low > change else "differs"
    if wide_high is not None and wide_high < 1:
        return "slower" if wide_high < 1 / change else "differs"
    if low is not None and high is not None and low >= 1 / change and high <= change:
        return "same"
    return "inconclusive"


def _below(logs: Values) -> list[float | None]:
    """Lower ends as speedups; None where there is none."""
    return told(np.exp(np.clip(logs, -UNTOLD, None)))


def _above(logs: Values) -> list[float | None]:
    """Upper ends as speedups; None where there is none."""
    with np.errstate(over="ignore"):
        return told(np.exp(np.clip(logs, None, UNTOLD)))


def told(values: Values) -> list[float | None]:
    """What is no number is None."""
    return [value if isfinite(value) else None for value in values.tolist()]
