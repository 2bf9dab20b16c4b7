"""Is B as fast as A? Effects with intervals and verdicts, of rows and of bands of lengths. Pure.

The launch is the unit of replication. Everything is judged on the logarithm of the metric, and told as the **speed
multiplier** of B over A: above 1, B is faster (more bandwidth, more messages); 2.00 is twice as fast. docs/verdicts.md
says how a verdict is reached and what it does not say.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from imb.judge import sequential, stats
from imb.judge.condition_diff import Difference, differences
from imb.judge.notes import caveats
from imb.judge.stats import FEWEST
from imb.model import sequential_design
from imb.model.errors import ImbError
from imb.model.observations import METRICS, MORE_IS_BETTER, Key, Launch, Side, in_parts
from imb.model.units import short_size

Verdict: TypeAlias = Literal["faster", "slower", "same", "inconclusive"]
Values: TypeAlias = npt.NDArray[np.float64]

EXIT: dict[Verdict, int] = {"faster": 0, "same": 0, "slower": 10, "inconclusive": 11}
FEWEST_PAIRS = (
    6  # fewer pairs lose more by their degrees of freedom than by what they have in common they win
)
USELESS = 5.0  # a logarithm; who can find no smaller change can find none
UNTOLD = 700.0  # a logarithm; beyond it there are no numbers
PRINTED = 1e-8  # seconds: the last digit of a classic table
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


class Band(msgspec.Struct, frozen=True):
    """Lengths from `first` to `last` bytes, both included. Both None: rows that have no length, as of Barrier."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """`64-4K`; K is 2^10."""
        if self.first is None or self.last is None:
            return "no length"
        return f"{short_size(self.first)}-{short_size(self.last)}"

    def has(self, length: int | None) -> bool:
        """Whether a row of this length belongs here."""
        if length is None or self.first is None or self.last is None:
            return length is self.first is self.last is None
        return self.first <= length <= self.last


def band_of(length: int | None, bands: Sequence[Band] | None = None) -> Band | None:
    """The band that a length in bytes is in, NO_LENGTH for no length; None: in no band. `bands`: those of BANDS."""
    return next(
        (band for band in (*(BANDS if bands is None else bands), NO_LENGTH) if band.has(length)), None
    )


BANDS = (Band(0, 32), Band(64, 4096), Band(8192, 262144), Band(524288, 4194304))
NO_LENGTH = Band()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: the smallest change that matters, 0.05 is 5 %. `false_discovery`: of what is called faster or slower
    at most this share, in the mean, is neither; where nothing differs, the probability that anything is called so.
    `benchmarks`: only these, in any case; empty: all. `force`: compare intra-node with inter-node, and passes with single
    bursts, all the same."""

    metric: str = "time"
    relevant: float = 0.05
    confidence: float = 0.95
    false_discovery: float = 0.01
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    force: bool = False

    @property
    def level(self) -> float:
        """The share of `false_discovery` for bands, and that for rows."""
        return self.false_discovery / 2


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Of B against A. `speed` > 1: B is faster. [`low`, `high`] covers it with Settings.confidence; None: too few
    launches to say. `p`: of no difference; `q`: p adjusted for all that was looked at (rows among rows, bands among
    bands). `spread`: standard deviation between launches of one side, of the logarithm, so 0.05 is about 5 %.
    `launches_a`, `launches_b`: how many had it. `needed`: launches a side that find a change of Settings.relevant,
    made everywhere, in 19 of 20 comparisons; None: the spread is not known."""

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


class RowEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `a`, `b`: medians over launches of the metric, in its unit (seconds, bytes/s, ...)."""

    key: Key
    a: float
    b: float
    effect: Effect


class BandEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one curve (benchmark, mode, layout; its `bytes` is None) whose lengths lie in the band, together:
    of each launch the geometric mean counts."""

    curve: Key
    band: Band
    rows: int
    effect: Effect


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What `imb compare` says. `verdict` is that of bands and rows together (`together`). `pairs`: launches were judged
    two by two. `detectable`: the slowdown, 0.1 is 10 %, that so many launches find in 19 of 20 comparisons in half of
    the bands; `needed`: launches a side that would find one of Settings.relevant there. `warnings` are sentences, the
    most important first. `only_a`, `only_b`: rows that the other side lacks (not judged). `sequential`: launches stopped
    when decided; intervals, `p`, `q` and verdicts then hold however often one looks."""

    name_a: str
    name_b: str
    launches_a: int
    launches_b: int
    settings: Settings
    verdict: Verdict
    pairs: bool
    detectable: float | None
    needed: int | None
    conditions: list[Difference]
    warnings: list[str]
    bands: list[BandEffect]
    rows: list[RowEffect]
    only_a: list[Key]
    only_b: list[Key]
    sequential: sequential.Looks | None = None


def compare(a: Side, b: Side, settings: Settings | None = None, earlier: Sequence[Launch] = ()) -> Comparison:
    """Judges B against A; `earlier` launches help to say which ones never saw the usual state of their machine. Raises ImbError where they have no row in common, where one is intra-node and the other
    inter-node, or one in passes and the other not (unless forced), or where metric or benchmark do not exist."""
    settings = settings or Settings()
    a, b, looks, notes = sequential.looked_at(_each_once(a), _each_once(b))
    if settings.metric not in METRICS:
        raise ImbError(f"unknown metric: {settings.metric}; choose from {', '.join(METRICS)}")
    if not settings.force:
        _refuse_other_placement(a, b)
        _refuse_other_sampling(a, b)
    keys, only_a, only_b = _rows_of_both(a, b, settings)
    a, b, pairs = _paired(a, b)
    both = logs_of(a, b, keys, settings.metric)
    members = members_of(both.keys, settings.bands)
    rows, bands = (
        _effects_of_looks(a, b, both, members, settings, pairs, looks)
        if looks
        else effects_of(both, members, settings, pairs=pairs)
    )
    found_rows = [
        RowEffect(key=key, a=float(middle_a), b=float(middle_b), effect=effect)
        for key, middle_a, middle_b, effect in zip(both.keys, both.middle_a, both.middle_b, rows, strict=True)
    ]
    found_bands = [
        BandEffect(curve=curve, band=band, rows=len(where), effect=effect)
        for ((curve, band), where), effect in zip(members.items(), bands, strict=True)
    ]
    deciding = bands or rows
    spread = _median(effect.spread for effect in deciding)
    needed = _median(effect.needed for effect in deciding)
    counts = [
        _median(counts) or 1.0
        for counts in zip(*((x.launches_a, x.launches_b) for x in deciding), strict=True)
    ]
    level = settings.level * (looks.planning if looks else 1.0)
    found = _detectable(spread, counts[0], counts[1], level, pairs)
    made = Comparison(
        name_a=a.name,
        name_b=b.name,
        launches_a=len(a.launches),
        launches_b=len(b.launches),
        settings=settings,
        verdict=together(bands, rows, settings.relevant),
        pairs=pairs,
        detectable=found,
        needed=None if needed is None else round(needed),
        conditions=differences(a, b),
        warnings=[],
        bands=found_bands,
        rows=found_rows,
        only_a=only_a,
        only_b=only_b,
        sequential=looks,
    )
    return msgspec.structs.replace(made, warnings=[*notes, *caveats(a, b, made, both, earlier)])


def effects_of(
    both: Logs,
    members: Mapping[tuple[Key, Band], Sequence[int]],
    settings: Settings,
    *,
    pairs: bool = False,
    share: float = 1.0,
) -> tuple[list[Effect], list[Effect]]:
    """Effects of the rows, in the order of `both.keys`, and of the bands, in that of `members`. `share`: of the error rates,
    for one of several looks (imb.judge.sequential)."""
    rows = _judge(both.a, both.b, both.rounding, pairs, settings, share)
    bands = _judge(*_band_means(both, list(members.values())), pairs, settings, share)
    return rows, bands


def latched(before: Sequence[Effect], now: Sequence[Effect], settings: Settings) -> list[Effect]:
    """Effects after another look. What an earlier look has excluded stays excluded, as the error rates are of all looks
    together: intervals are intersected, the smallest p-values count. Where nothing is left of an interval, which a steady
    difference makes with a probability of 1 - confidence at most, the effect is that of the last look, and undecided."""
    return [_latched(earlier, later, settings) for earlier, later in zip(before, now, strict=True)]


def _latched(before: Effect, now: Effect, settings: Settings) -> Effect:
    if before.low is None or before.high is None or before.p is None or before.q is None:
        return now
    if now.low is None or now.high is None or now.p is None or now.q is None:
        return now
    low, high = max(before.low, now.low), min(before.high, now.high)
    if low > high:
        return msgspec.structs.replace(now, verdict="inconclusive")
    q = min(before.q, now.q)
    fewest = min(now.launches_a, now.launches_b)
    return msgspec.structs.replace(
        now,
        low=low,
        high=high,
        p=min(before.p, now.p),
        q=q,
        verdict=verdict_of(low, high, q, settings, fewest),
    )


def _effects_of_looks(
    a: Side,
    b: Side,
    both: Logs,
    members: Mapping[tuple[Key, Band], Sequence[int]],
    settings: Settings,
    pairs: bool,
    looks: sequential.Looks,
) -> tuple[list[Effect], list[Effect]]:
    """Effects of rows and bands after all looks that were possible, one after the other."""
    turns_a, turns_b = (
        np.array([sequential_design.turn_of(launch.facts) for launch in side.launches]) for side in (a, b)
    )
    fewest = _fewest_pairs(a, b)
    found: tuple[list[Effect], list[Effect]] | None = None
    for rounds, share in looks.shares():
        seen = both._replace(a=both.a[turns_a <= rounds], b=both.b[turns_b <= rounds])
        counts = Counter(
            one.experiment() for one, turn in zip(a.launches, turns_a, strict=True) if turn <= rounds
        )
        two_by_two = pairs and min(counts.values(), default=0) >= fewest
        rows, bands = effects_of(seen, members, settings, pairs=two_by_two, share=share)
        found = (
            (latched(found[0], rows, settings), latched(found[1], bands, settings))
            if found
            else (rows, bands)
        )
    assert found is not None
    return found


def together(bands: Sequence[Effect], rows: Sequence[Effect], relevant: float) -> Verdict:
    """Slower where any band or row is. Else inconclusive where some band (without bands: some row) may be slower by a
    change that matters. Else faster where any band or row is; else same."""
    everything = {effect.verdict for effect in chain(bands, rows)}
    if "slower" in everything:
        return "slower"
    if any(effect.low is None or effect.low < 1 / (1 + relevant) for effect in bands or rows):
        return "inconclusive"
    return "faster" if "faster" in everything else "same"


def verdict_of(
    low: float | None, high: float | None, q: float | None, settings: Settings, launches: int = FEWEST
) -> Verdict:
    """Of one row or band, from the interval of its speed multiplier, its adjusted p-value, and the launches of the
    smaller side."""
    if low is None or high is None or q is None:
        return "inconclusive"
    change = 1 + settings.relevant
    if low >= 1 / change and high <= change:
        return "same"
    if q <= settings.level and launches >= FEWEST:
        if low > 1:
            return "faster"
        if high < 1:
            return "slower"
    return "inconclusive"


def parse_bands(text: str) -> tuple[Band, ...]:
    """From `0-32,64-4K,8K-256K,512K-4M`. Raises ImbError."""
    bands: list[Band] = []
    for word in text.split(","):
        said = re.fullmatch(r"\s*(\d{1,15})([KMG]?)\s*-\s*(\d{1,15})([KMG]?)\s*", word, re.IGNORECASE)
        if said is None:
            raise ImbError(
                f"{word.strip() or text!r} is not a size band; write bands like 0-32,64-4K,8K-256K"
            )
        band = Band(
            int(said[1]) * _UNITS[said[2].upper()],
            int(said[3]) * _UNITS[said[4].upper()],
        )
        if band.last < band.first:  # type: ignore[operator]
            raise ImbError(f"the band {word.strip()} ends before it begins")
        if any(other.has(band.first) or band.has(other.first) for other in bands):
            raise ImbError(
                f"the band {word.strip()} has lengths of another band; a length is in one band only"
            )
        bands.append(band)
    return tuple(bands)


# --- What is compared with what -----------------------------------------------------------------------------------


def _each_once(side: Side) -> Side:
    """A launch that several words named counts once."""
    launches = list({launch.name: launch for launch in side.launches}.values())
    return msgspec.structs.replace(side, launches=launches)


def _refuse_other_placement(a: Side, b: Side) -> None:
    places = _kinds(a, b, Launch.placement, "intra-node and inter-node launches")
    if places:
        raise ImbError(
            f"{a.name} is {places[0]} and {b.name} is {places[1]}: they measure memory and"
            " network; --force compares them anyway"
        )


def _refuse_other_sampling(a: Side, b: Side) -> None:
    def way(launch: Launch) -> str | None:
        if not launch.rows:
            return None
        return "one burst" if launch.passes() == "one burst" else "passes"

    ways = _kinds(a, b, way, "launches with and without passes")
    if ways:
        classic, other = (a, b) if ways[0] == "one burst" else (b, a)
        raise ImbError(
            f"{a.name} was measured in {ways[0]} and {b.name} in {ways[1]}, whose figures differ on the same machine:"
            f" repeat {other.name} with --classic, or {classic.name} without; --force compares them anyway"
        )


def _kinds(a: Side, b: Side, kind: Callable[[Launch], str | None], mixed: str) -> tuple[str, str] | None:
    """Of which kind the launches of each side are, where that differs. Raises ImbError where those of one side are `mixed`."""
    found = [{kind(launch) for launch in side.launches} - {None} for side in (a, b)]
    for side, kinds in zip((a, b), found, strict=True):
        if len(kinds) > 1:
            raise ImbError(f"{side.name} has {mixed}; compare them separately, or use --force")
    of_a, of_b = (next(iter(kinds), None) for kinds in found)
    return (of_a, of_b) if of_a and of_b and of_a != of_b else None


def _rows_of_both(a: Side, b: Side, settings: Settings) -> tuple[list[Key], list[Key], list[Key]]:
    of_a, of_b = a.all_keys(), b.all_keys()
    if settings.benchmarks:
        wanted = {name.lower() for name in settings.benchmarks}
        there = {key.benchmark.lower(): key.benchmark for key in chain(of_a, of_b)}
        if missing := sorted(wanted - there.keys()):
            raise ImbError(f"no such benchmark: {missing[0]}; choose from {', '.join(there.values())}")
        of_a = [key for key in of_a if key.benchmark.lower() in wanted]
        of_b = [key for key in of_b if key.benchmark.lower() in wanted]
    in_a, in_b = set(of_a), set(of_b)
    common = [key for key in of_a if key in in_b]
    if not common:
        raise ImbError(f"{a.name} and {b.name} have no row in common{_why(of_a, of_b)}")
    return common, [key for key in of_a if key not in in_b], [key for key in of_b if key not in in_a]


def _why(of_a: Sequence[Key], of_b: Sequence[Key]) -> str:
    """What tells two rows of one benchmark and length apart, in words; for the first that there are."""
    by_name = {(key.benchmark.lower(), key.bytes): key for key in of_b}
    for key in of_a:
        if other := by_name.get((key.benchmark.lower(), key.bytes)):
            parts = (
                f"{name.replace('_', ' ')} {_said(getattr(key, name))} and {_said(getattr(other, name))}"
                for name in key.__struct_fields__
                if getattr(key, name) != getattr(other, name)
            )
            return f": {key.benchmark} has {', '.join(parts)}"
    names_a, names_b = ({key.benchmark for key in keys} for keys in (of_a, of_b))
    return ": their lengths differ" if names_a & names_b else ": their benchmarks differ"


def _said(value: object) -> str:
    return "(not said)" if value is None else str(value)


def _paired(a: Side, b: Side) -> tuple[Side, Side, bool]:
    """The sides with neighbours in time at the same place, where launches of a campaign came by turns."""
    turns_a, turns_b = _turns(a), _turns(b)
    if turns_a is None or turns_b is None or turns_a.keys() != turns_b.keys():
        return a, b, False
    if min(Counter(turn.what for turn in turns_a).values()) < _fewest_pairs(a, b):
        return a, b, False
    order = list(turns_a)
    return (
        msgspec.structs.replace(a, launches=[turns_a[turn] for turn in order]),
        msgspec.structs.replace(b, launches=[turns_b[turn] for turn in order]),
        True,
    )


def _fewest_pairs(a: Side, b: Side) -> int:
    return FEWEST if in_parts(a, b) else FEWEST_PAIRS


class _Turn(NamedTuple):
    """Where in a campaign a launch was, and what was launched: component, ranks, benchmarks."""

    campaign: str
    turn: int
    what: tuple[str | None, int, tuple[str, ...]]


def _turns(side: Side) -> dict[_Turn, Launch] | None:
    """Launches by turn; None where they do not say, or one turn has several of the same."""
    turns: dict[_Turn, Launch] = {}
    for launch in side.launches:
        campaign, turn = launch.facts.get("campaign"), launch.facts.get("turn")
        if not isinstance(campaign, str) or not isinstance(turn, int):
            return None
        place = _Turn(campaign, turn, launch.experiment())
        if place in turns:
            return None
        turns[place] = launch
    return turns


class Logs(NamedTuple):
    """Logarithms of speed by launch and row, shape (launches, rows): more is faster. `unmeasured`: rows of both sides
    without a figure above 0 on one of them; they are not among `keys`."""

    keys: list[Key]
    a: Values
    b: Values
    rounding: Values
    middle_a: Values
    middle_b: Values
    unmeasured: list[Key]


def logs_of(a: Side, b: Side, keys: list[Key], metric: str) -> Logs:
    """The figures of these rows. Raises ImbError where none is above 0 on both sides."""
    sign = 1.0 if metric in MORE_IS_BETTER else -1.0
    values_a, values_b = (_matrix(side, keys, metric) for side in (a, b))
    known = [np.asarray(np.isfinite(values).any(axis=0)) for values in (values_a, values_b)]
    good = np.logical_and(*known)
    if not good.any():
        raise ImbError(f"no row of {a.name} and {b.name} has a {metric} above 0 on both sides")
    values_a, values_b = values_a[:, good], values_b[:, good]
    with np.errstate(over="ignore"):
        middle_a, middle_b = np.nanmedian(values_a, axis=0), np.nanmedian(values_b, axis=0)
    rounding = np.zeros(len(middle_a))
    if metric not in MORE_IS_BETTER:
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.vstack([values_a, values_b]) / PRINTED
            printed = np.all(np.isnan(steps) | (np.abs(steps - np.rint(steps)) < 1e-4), axis=0)
            share = np.minimum(PRINTED / np.sqrt(12) / np.minimum(middle_a, middle_b), 1.0)
        rounding = np.where(printed, share, 0.0)
    return Logs(
        [key for key, is_good in zip(keys, good, strict=True) if is_good],
        sign * np.log(values_a),
        sign * np.log(values_b),
        rounding,
        middle_a,
        middle_b,
        [key for key, is_good in zip(keys, good, strict=True) if not is_good],
    )


def _matrix(side: Side, keys: list[Key], metric: str) -> Values:
    """Figures above 0 by launch and row; NaN where there is none."""
    take = METRICS[metric]
    figures = np.full((len(side.launches), len(keys)), np.nan)
    for number, launch in enumerate(side.launches):
        for column, key in enumerate(keys):
            row = launch.rows.get(key)
            value = take(row) if row is not None else None
            if value is not None and 0 < value < np.inf:
                figures[number, column] = value
    return figures


def members_of(keys: Sequence[Key], bands: Sequence[Band]) -> dict[tuple[Key, Band], list[int]]:
    """Rows by curve and band."""
    members: dict[tuple[Key, Band], list[int]] = {}
    curves: dict[Key, Key] = {}
    for number, key in enumerate(keys):
        band = band_of(key.bytes, bands)
        if band is not None:
            curve = key.curve()
            members.setdefault((curves.setdefault(curve, curve), band), []).append(number)
    order = list(curves)
    places = {curve: place for place, curve in enumerate(order)}
    ranks = {band: rank for rank, band in enumerate((*bands, NO_LENGTH))}
    return dict(sorted(members.items(), key=lambda item: (places[item[0][0]], ranks[item[0][1]])))


def _band_means(both: Logs, members: Sequence[Sequence[int]]) -> tuple[Values, Values, Values]:
    """Of each launch the mean over those rows of a band that it has, each against the row's reference, which is half-way
    between the sides' medians: without it a missing row would be a step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows that only later launches have
        reference = (np.nanmedian(both.a, axis=0) + np.nanmedian(both.b, axis=0)) / 2
    belongs = np.zeros((len(both.keys), len(members)))
    for number, where in enumerate(members):
        belongs[where, number] = 1.0
    means = []
    for side in (both.a, both.b):
        against = side - reference
        there = np.isfinite(against)
        with np.errstate(invalid="ignore"):
            means.append((np.where(there, against, 0.0) @ belongs) / (there @ belongs))
    rounding = np.sqrt((both.rounding**2 @ belongs) / belongs.sum(axis=0))
    return means[0], means[1], rounding


# --- What is made of it -------------------------------------------------------------------------------------------


def _judge(
    a: Values, b: Values, rounding: Values, pairs: bool, settings: Settings, share: float
) -> list[Effect]:
    method = stats.shift_of_pairs if pairs else stats.shift
    found = stats.at_a_look(method(a, b, 1 - (1 - settings.confidence) * share, rounding), share)
    q = stats.adjusted(found.p)
    change = float(np.log1p(settings.relevant))
    level = settings.level * (share or sequential_design.Design().share(sequential_design.FIRST))
    needed = np.maximum(stats.launches_needed(found.spread, change, level, pairs=pairs), FEWEST)
    fewest = np.minimum(found.count_a, found.count_b)
    return [
        Effect(
            speed=speed,
            low=low,
            high=high,
            p=p,
            q=adjusted,
            spread=spread,
            launches_a=int(count_a),
            launches_b=int(count_b),
            verdict=verdict_of(low, high, adjusted, settings, int(few)),
            needed=None if count is None else int(count),
        )
        for speed, low, high, p, adjusted, spread, count_a, count_b, few, count in zip(
            np.exp(np.clip(found.difference, -UNTOLD, UNTOLD)).tolist(),
            _told(np.exp(np.clip(found.low, -UNTOLD, None))),
            _told(np.exp(np.clip(found.high, None, UNTOLD))),
            _told(found.p),
            _told(q),
            _told(found.spread),
            found.count_a.tolist(),
            found.count_b.tolist(),
            fewest.tolist(),
            _told(needed),
            strict=True,
        )
    ]


def _detectable(
    spread: float | None, launches_a: float, launches_b: float, level: float, pairs: bool
) -> float | None:
    if spread is None:
        return None
    change = stats.detectable(spread, launches_a, launches_b, level, pairs=pairs)
    return float(np.expm1(change)) if change < USELESS else None


def _told(values: Values) -> list[float | None]:
    """What is no number is None."""
    return [value if isfinite(value) else None for value in values.tolist()]


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
