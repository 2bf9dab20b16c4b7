"""Comparison of two sides: effects with intervals and verdicts, of rows and of bands of message sizes. Pure.

The launch is the unit of replication; if each side has several sessions, the session is
(imb.compare.pairing). All statistics use the logarithm of the metric. They are printed as the **speedup** of
B over A: above 1, B is faster (more bandwidth, more messages); 2.00 is twice as fast.
docs/evidence/verdicts.md explains how a verdict is reached, and its limits.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import msgspec
import numpy as np

from imb.compare import pairing, repeated_looks, session_bound
from imb.compare.bands import BANDS as BANDS
from imb.compare.bands import NO_LENGTH as NO_LENGTH
from imb.compare.bands import Band as Band
from imb.compare.bands import members_of
from imb.compare.bands import parse_bands as parse_bands
from imb.compare.comparison_notes import caveats, remarks
from imb.compare.condition_diff import Difference, differences, values_of
from imb.compare.effects import EXIT as EXIT
from imb.compare.effects import CompareSettings as CompareSettings
from imb.compare.effects import ComparisonVerdict as ComparisonVerdict
from imb.compare.effects import Effect as Effect
from imb.compare.effects import (
    combine_looks,
    effects_of,
    overall_verdict,
    planning_level,
    session_bound_effect,
    undecided_effect,
)
from imb.compare.kinds import method_of
from imb.compare.launch_order import order_problem
from imb.compare.log_speeds import Logs, add_quantiles, band_means, logs_of
from imb.compare.state_shares import PART, StateShares, state_shares
from imb.model import sequential_design
from imb.model.errors import ImbError, refuse_missing_benchmarks
from imb.model.gpus import memory_of
from imb.model.observations import METRICS, Key, Launch, Side
from imb.model.suite_arguments import NAME_LISTS, PASSES, SET_BY_IMB, option_name
from imb.stats import shift as stats
from imb.stats.medians import known_median

_NAMED = 4  # benchmarks that a command names; if there are more, it names their executables
LARGEST_DETECTABLE = 5.0  # a logarithm; above it, no minimum detectable change is given


class RowEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `a`, `b`: medians of the metric over launches, in its unit (seconds, bytes/s, ...).
    `quantile`: p50, p90 or p99 if the row judges this quantile of the samples, or None if it judges the
    metric."""

    key: Key
    a: float
    b: float
    effect: Effect
    quantile: str | None = None

    def __str__(self) -> str:
        """`Allreduce, 8 ranks, 64 bytes, p99`"""
        return f"{self.key}, {self.quantile}" if self.quantile else str(self.key)


class BandEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one curve (benchmark, mode, layout; its `bytes` is None) whose message sizes lie in the
    band. Each launch counts as the geometric mean over these `rows` (a number)."""

    curve: Key
    band: Band
    rows: int
    effect: Effect


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `imb compare`.

    `verdict` combines bands, rows and states (`overall_verdict`). `unit`: what counts as one observation;
    `pairs`: launches were judged in pairs. `sessions_a`, `sessions_b`: numbers of known sessions.
    `inconclusive`: why these launches permit no verdict, or None if they permit one; bands beyond the bound
    of sessions (imb.compare.session_bound) have a verdict nevertheless. `remedy`: the warning that says what
    would permit a verdict.

    `detectable`: the uniform slowdown (0.1 is 10 %) that so many launches find in 19 of 20 comparisons, in
    the median band. `needed`: launches per side that find a slowdown of CompareSettings.relevant in that
    band. `warnings` are sentences, the most important first; `remarks` explain the bands. `states`: launches
    in the fast state, or None if the machine has only one state. `only_a`, `only_b`: rows that the other side
    lacks; they are not judged. `sequential`: the looks, if launches stopped when decided; intervals, `p`, `q`
    and verdicts then hold for any number of looks.
    """

    name_a: str
    name_b: str
    launches_a: int
    launches_b: int
    settings: CompareSettings
    verdict: ComparisonVerdict
    pairs: bool
    detectable: float | None
    needed: int | None
    conditions: list[Difference]
    warnings: list[str]
    remarks: list[str] = []
    bands: list[BandEffect]
    rows: list[RowEffect]
    only_a: list[Key]
    only_b: list[Key]
    sequential: repeated_looks.Looks | None = None
    unit: pairing.Unit = "launch"
    sessions_a: int = 0
    sessions_b: int = 0
    inconclusive: str | None = None
    remedy: str | None = None
    states: StateShares | None = None


def compare(
    a: Side,
    b: Side,
    settings: CompareSettings | None = None,
    earlier: Sequence[Launch] = (),
    letters: tuple[str, str] = ("A", "B"),
) -> Comparison:
    """Judge B against A. `earlier` launches help to find launches outside the dominant state of their
    machine. `letters`: how notes name the sides.

    Raises ImbError if the metric or a benchmark does not exist, or if the sides have no row in common. Unless
    forced, raises ImbError also if one side is intra-node and the other inter-node, if only one side was
    measured in passes, or if a side mixes kinds of memory.
    """
    settings = settings or CompareSettings()
    a, b = (
        msgspec.structs.replace(side, letter=letter) for side, letter in zip((a, b), letters, strict=True)
    )
    a, b, looks, notes = repeated_looks.plan_looks(_drop_duplicates(a), _drop_duplicates(b))
    if settings.metric not in METRICS:
        raise ImbError(f"unknown metric: {settings.metric}; choose from {', '.join(METRICS)}")
    if not settings.force:
        _refuse_other_placement(a, b)
        _refuse_other_sampling(a, b)
        _refuse_mixed_memory(a, b)
    keys, only_a, only_b = _match_rows(a, b, settings)
    design = pairing.design_of(a, b, assume_one_session=settings.assume_one_session)
    if design.unit == "launch" and not design.inconclusive and not settings.assume_stable:
        design = design._replace(
            inconclusive=order_problem(a, b, one_session=settings.assume_one_session),
            remedy=f"measure {a.letter} and {b.letter} interleaved (imb ab, imb campaign), or, if the machine did not drift, give --assume-stable",
        )
    count = pairing.separate_sessions if design.sessions else pairing.known_sessions
    session_counts = len(count(a)), len(count(b))
    a, b, pairs = design.a, design.b, design.is_paired
    both = logs_of(a, b, keys, settings.metric)
    judged, quantiles = add_quantiles(both, a, b, settings.metric)
    members = members_of(both.keys, settings.bands, both.alone)
    level = settings.false_discovery * (looks.share if looks else 1.0)
    states = state_shares(a, b, (both.a, both.b), level * PART) if design.unit != "session" else None
    of_family = settings.false_discovery * (1 - PART if states else 1)
    rows, bands = (
        _effects_of_looks(design, judged, members, settings, looks, of_family)
        if looks
        else effects_of(judged, members, settings, pairs=pairs, sessions=design.sessions, level=of_family)
    )
    beyond: list[int] = []
    if design.inconclusive:
        rows, bands = (
            [undecided_effect(effect, settings) for effect in effects] for effects in (rows, bands)
        )
        states = states and msgspec.structs.replace(states, verdict="inconclusive")
        if members and settings.metric in session_bound.METRICS:
            beyond = session_bound.session_bound_signs(*band_means(both, list(members.values()))[:2])
            bands = [session_bound_effect(effect, sign) for effect, sign in zip(bands, beyond, strict=True)]
    row_effects = [
        RowEffect(key=key, a=float(middle_a), b=float(middle_b), effect=effect, quantile=quantile)
        for key, middle_a, middle_b, effect, quantile in zip(
            judged.keys, judged.middle_a, judged.middle_b, rows, quantiles, strict=True
        )
    ]
    band_effects = [
        BandEffect(curve=curve, band=band, rows=len(where), effect=effect)
        for ((curve, band), where), effect in zip(members.items(), bands, strict=True)
    ]
    deciding = bands or rows
    spread = known_median(effect.spread for effect in deciding)
    needed = known_median(effect.needed for effect in deciding)
    counts = [
        known_median(of_side) or 1.0
        for of_side in zip(*((effect.launches_a, effect.launches_b) for effect in deciding), strict=True)
    ]
    if design.sessions:
        counts = [float(count) for count in session_counts]
    level = planning_level(settings, looks.planning if looks else 1.0, len(deciding))
    least_change = _detectable_change(spread, counts[0], counts[1], level, pairs)
    of_a, of_b = values_of(a, b)
    verdict = (
        _session_bound_verdict(beyond)
        if design.inconclusive
        else overall_verdict(bands, rows, settings.relevant, states)
    )
    remedy: str | None = None
    if design.inconclusive:  # the reason is part of an inconclusive verdict
        remedy = design.remedy if verdict == "inconclusive" else f"{design.inconclusive}; {design.remedy}"
    comparison = Comparison(
        name_a=a.name,
        name_b=b.name,
        launches_a=len(a.launches),
        launches_b=len(b.launches),
        settings=settings,
        verdict=verdict,
        pairs=pairs,
        detectable=least_change,
        needed=None if needed is None else round(needed),
        conditions=differences(a, b, values=(of_a, of_b)),
        warnings=[],
        bands=band_effects,
        rows=row_effects,
        only_a=only_a,
        only_b=only_b,
        sequential=looks,
        unit=design.unit,
        sessions_a=session_counts[0],
        sessions_b=session_counts[1],
        inconclusive=design.inconclusive,
        remedy=remedy,
        states=states,
    )
    why = session_bound.bound_reason(beyond, a.letter, b.letter) if any(beyond) else None
    notes = [
        *filter(None, [why, remedy, str(states) if states else None]),
        *notes,
        *design.notes,
    ]
    return msgspec.structs.replace(
        comparison,
        warnings=[*notes, *caveats(a, b, comparison, both, (of_a, of_b), earlier)],
        remarks=list(remarks(both)),
    )


def _session_bound_verdict(signs: Sequence[int]) -> ComparisonVerdict:
    """The verdict of a comparison if only bands beyond the bound of sessions have a verdict. A gain in these
    bands does not exclude a loss in others."""
    if -1 not in signs:
        return "inconclusive"
    return "mixed" if 1 in signs else "slower"


# --- What is compared with what -----------------------------------------------------------------------------------


def _drop_duplicates(side: Side) -> Side:
    """The side with each launch once, even if several names select it."""
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
    methods = _kinds(a, b, method_of, "launches with and without passes")
    if methods:
        classic, other = (a, b) if methods[0] == "classic" else (b, a)
        raise ImbError(
            f"{classic.name!r} was measured classic and {other.name!r} in passes, which differ on the same machine;"
            f" measure {other.name!r} again: {_classic_command(classic, other)}; --force compares them anyway"
        )


def _classic_command(classic: Side, other: Side) -> str:
    """The command that measures the rows that both sides have as `classic`, without passes."""
    keys = [{key for launch in side.launches for key in launch.rows} for side in (classic, other)]
    both = keys[0] & keys[1] or keys[1]
    names = sorted({key.benchmark for key in both})
    if len(names) > _NAMED:
        names = sorted({key.component.lower() for key in both if key.component}) or names
    ranks = max((key.processes for key in both if key.processes), default=2)
    label = f"{other.name}-classic" if re.fullmatch(r"[\w.-]+", other.name) else "classic"
    arguments = _arguments_of(
        next((launch for launch in other.launches if both & set(launch.rows)), other.launches[0])
    )
    rest = ["--", *arguments] if arguments else []
    return shlex.join(["imb", "run", *names, "--np", str(ranks), "--classic", "--label", label, *rest])


def _arguments_of(launch: Launch) -> list[str]:
    """The IMB arguments of a launch without benchmark names, options of passes, and the file of its records."""
    arguments = launch.facts.get("arguments") or (launch.run.command_line or [])[1:]
    named = {
        name.lower() for name in [*(launch.run.benchmarks or []), *(key.benchmark for key in launch.rows)]
    }
    kept: list[str] = []
    previous = ""
    for word in map(str, arguments):
        is_name = word.lower() in named and option_name(previous) not in NAME_LISTS
        if not (is_name or {option_name(previous), option_name(word)} & {*PASSES, *SET_BY_IMB}):
            kept.append(word)
        previous = word
    return kept


def _rows_of_other_widths(a: Side, b: Side, keys: Sequence[Key]) -> set[Key]:
    """Rows of -alternate variants whose ranks arrived over different widths on the two sides. Variants of one
    launch have the same width."""

    def widths(side: Side, key: Key) -> set[float]:
        rows = (launch.rows.get(key) for launch in side.launches)
        return {row.arrival_width_seconds for row in rows if row and row.arrival_width_seconds is not None}

    return {key for key in keys if widths(a, key) != widths(b, key)}


def _refuse_mixed_memory(a: Side, b: Side) -> None:
    """Raises ImbError if one side has several kinds of memory. The two sides may differ in memory: it is then
    a condition that differs."""
    _kinds(a, b, lambda launch: memory_of(launch.run), "launches with messages in several kinds of memory")


def _kinds(a: Side, b: Side, kind: Callable[[Launch], str | None], mixed: str) -> tuple[str, str] | None:
    """The kind of launches of each side, or None if the sides do not differ. Raises ImbError if one side has
    several kinds; `mixed` describes them."""
    by_side = [{kind(launch) for launch in side.launches} - {None} for side in (a, b)]
    for side, kinds in zip((a, b), by_side, strict=True):
        if len(kinds) > 1:
            raise ImbError(f"{side.name} has {mixed}; compare them separately, or use --force")
    of_a, of_b = (next(iter(kinds), None) for kinds in by_side)
    return (of_a, of_b) if of_a and of_b and of_a != of_b else None


def _match_rows(a: Side, b: Side, settings: CompareSettings) -> tuple[list[Key], list[Key], list[Key]]:
    of_a, of_b = a.all_keys(), b.all_keys()
    if settings.benchmarks:
        names = {name.lower() for name in settings.benchmarks}
        refuse_missing_benchmarks(settings.benchmarks, [key.benchmark for key in chain(of_a, of_b)])
        of_a = [key for key in of_a if key.benchmark.lower() in names]
        of_b = [key for key in of_b if key.benchmark.lower() in names]
    in_a, in_b = set(of_a), set(of_b)
    common = [key for key in of_a if key in in_b]
    other = _rows_of_other_widths(a, b, [key for key in common if key.arrival_width_seconds is None])
    in_a, in_b = in_a - other, in_b - other
    common = [key for key in common if key not in other]
    if not common:
        raise ImbError(
            _arrival_reason(a, b, of_a, of_b)
            or f"{a.name} and {b.name} have no row in common{_key_difference(of_a, of_b)}"
        )
    return common, [key for key in of_a if key not in in_b], [key for key in of_b if key not in in_a]


def _arrival_reason(a: Side, b: Side, of_a: Sequence[Key], of_b: Sequence[Key]) -> str | None:
    """Why rows cannot be compared if they differ only in when the ranks arrive, or None if they differ in
    more."""

    def keys_without(keys: Sequence[Key], **changes: None) -> set[Key]:
        return {msgspec.structs.replace(key, arrival_width_seconds=None, **changes) for key in keys}

    if keys_without(of_a) & keys_without(of_b):
        return (
            f"{a.name} and {b.name} have no row of the same arrival width; give it in microseconds (-- -arrival last:50), or compare"
            " variants of one launch"
        )
    if not keys_without(of_a, start=None) & keys_without(of_b, start=None):
        return None
    rules = (
        f"{side.name}: {', '.join(sorted({key.start_words() for key in keys_without(keys)}))}"
        for side, keys in ((a, of_a), (b, of_b))
    )
    return f"the ranks of these launches begin repetitions by different rules ({'; '.join(rules)}); compare launches of one rule"


def _key_difference(of_a: Sequence[Key], of_b: Sequence[Key]) -> str:
    """Why sides have no row in common: how the first two rows of the same benchmark and length differ."""
    by_name = {(key.benchmark.lower(), key.bytes): key for key in of_b}
    for key in of_a:
        if other := by_name.get((key.benchmark.lower(), key.bytes)):
            parts = (
                f"{name.replace('_', ' ')} {_text_or_unknown(getattr(key, name))} and {_text_or_unknown(getattr(other, name))}"
                for name in key.__struct_fields__
                if getattr(key, name) != getattr(other, name)
            )
            return f": {key.benchmark} has {', '.join(parts)}"
    names_a, names_b = ({key.benchmark for key in keys} for keys in (of_a, of_b))
    return ": their message sizes differ" if names_a & names_b else ": their benchmarks differ"


def _text_or_unknown(value: object) -> str:
    return "unknown" if value is None else str(value)


def _effects_of_looks(
    design: pairing.Design,
    both: Logs,
    members: Mapping[tuple[Key, Band], Sequence[int]],
    settings: CompareSettings,
    looks: repeated_looks.Looks,
    level: float,
) -> tuple[list[Effect], list[Effect]]:
    """Effects of rows and bands after every look that was possible, combined in order. Different sessions
    have no rounds in common; if the session is the unit, only the last look counts, at its share of the error
    rates."""
    if design.sessions:
        return effects_of(both, members, settings, share=looks.share, sessions=design.sessions, level=level)
    a, b, pairs = design.a, design.b, design.is_paired
    turns_a, turns_b = (
        np.array([sequential_design.round_of(launch.facts) for launch in side.launches]) for side in (a, b)
    )
    fewest = pairing.fewest_pairs(a, b)
    effects: tuple[list[Effect], list[Effect]] | None = None
    for rounds, share in looks.shares():
        at_look = both._replace(a=both.a[turns_a <= rounds], b=both.b[turns_b <= rounds])
        counts = Counter(
            launch.experiment() for launch, turn in zip(a.launches, turns_a, strict=True) if turn <= rounds
        )
        two_by_two = pairs and max(counts.values(), default=0) >= fewest
        rows, bands = effects_of(at_look, members, settings, pairs=two_by_two, share=share, level=level)
        effects = (
            (combine_looks(effects[0], rows, settings), combine_looks(effects[1], bands, settings))
            if effects
            else (rows, bands)
        )
    assert effects is not None
    return effects


def _detectable_change(
    spread: float | None, launches_a: float, launches_b: float, level: float, pairs: bool
) -> float | None:
    if spread is None:
        return None
    change = stats.detectable_difference(spread, launches_a, launches_b, level, pairs=pairs)
    return float(np.expm1(change)) if change < LARGEST_DETECTABLE else None


_WORST_FIRST: tuple[ComparisonVerdict, ...] = (
    "slower",
    "mixed",
    "differs",
    "inconclusive",
    "not slower",
    "faster",
    "same",
)


def worst_verdict(comparisons: Sequence[Comparison]) -> ComparisonVerdict:
    """The worst verdict of several comparisons."""
    return min((comparison.verdict for comparison in comparisons), key=_WORST_FIRST.index)
