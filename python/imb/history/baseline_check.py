"""Check of results against a baseline: the choice of the baseline, and a comparison per metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from imb.compare.comparison import BandEffect, CompareSettings, Comparison, ComparisonVerdict, Effect, compare
from imb.compare.effects import overall_verdict
from imb.compare.pairing import counted_sessions, separate_sessions, session_of
from imb.compare.session_bound import FACTOR
from imb.history import prediction
from imb.history.session_history import HistorySettings, levels_by_session
from imb.model.baseline_record import Baseline, Hardware, machine_of, placement_of, placements_of
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, refuse_unknown_metric
from imb.model.units import count_of, percent_text
from imb.stats.error_rates import FALSE_CHECK
from imb.stats.shift import FEWEST as FEWEST_SESSIONS

MORE = 10  # notes also state what a check finds with this many sessions of the baseline


class BaselineCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a check: a comparison per metric, and notes to print before it."""

    name: str
    version: int
    placement: str | None
    machine: Hardware
    warnings: list[str]
    comparisons: list[Comparison]


def choose(baselines: Sequence[Baseline], machine: Hardware, placement: str | None) -> Baseline:
    """The newest baseline of this machine and placement. An unknown machine or placement fits any. Raises
    ImbError if no baseline fits."""
    fits = [
        baseline
        for baseline in baselines
        if baseline.machine.is_same(machine) is not False
        and (None in (baseline.placement, placement) or baseline.placement == placement)
    ]
    if not fits:
        raise ImbError(
            f"baseline {baselines[-1].name} has nothing for {placement or 'unknown placement'} on {machine}, only: {placements_of(baselines)};"
            " set one of this kind with `imb baseline set`, or use --force"
        )
    return fits[-1]


def shortage_of(baseline: Baseline) -> str | None:
    """The launches and sessions of a baseline and advice, if they are too few, or None if they are enough."""
    sessions = [session_of(launch) for launch in baseline.side().launches]
    session_count = len(separate_sessions(baseline.side()))
    launches = count_of(len(sessions), "launch")
    advice = (
        f"take {prediction.FEWEST} sessions (days, boots, allocations; more than an hour apart) of five launches or more;"
        f" with fewer, a check of one session is inconclusive, unless a band is {FACTOR:g} times as slow or --with-old is given"
    )
    if None in sessions:
        return f"{launches} of unknown session (a log without a date); {advice}"
    if session_count < prediction.FEWEST:
        return f"{launches} of {count_of(session_count, 'session')}; {advice}"
    return None


def check(
    baseline: Baseline,
    side: Side,
    tolerances: Mapping[str, float] | None = None,
    *,
    old: Side | None = None,
    earlier: Sequence[Launch] = (),
    force: bool = False,
    assume_one_session: bool = False,
    assume_stable: bool = False,
) -> BaselineCheck:
    """Judge a side against a baseline, by each metric that has a tolerance. `old`: launches with the MPI,
    programs and settings of the baseline, interleaved with this side; they replace the launches of the
    baseline. `earlier` launches help to define the dominant state. Raises ImbError."""
    machine = machine_of(side)
    warnings: list[str] = []
    same = baseline.machine.is_same(machine)
    if same is None:
        warnings.append("unknown whether baseline and results come from the same machine")
    elif not same:
        warnings.append(f"the baseline comes from another machine: {baseline.machine} against {machine}")
    if None in (baseline.placement, placement_of(side)):
        warnings.append(
            "unknown whether baseline and results have the same placement (intra-node or inter-node)"
        )
    reference = old or baseline.side()
    limits = {**baseline.tolerances, **(tolerances or {})}
    for metric in limits:
        refuse_unknown_metric(metric)
    return BaselineCheck(
        name=baseline.name,
        version=baseline.version,
        placement=baseline.placement,
        machine=baseline.machine,
        warnings=warnings,
        comparisons=[
            _add_remedy(
                _judge_by_prediction(
                    compare(
                        reference,
                        side,
                        CompareSettings(
                            metric=metric,
                            relevant=relevant,
                            force=force,
                            assume_one_session=assume_one_session,
                            assume_stable=assume_stable,
                        ),
                        earlier,
                    ),
                    reference,
                    side,
                ),
                reference,
            )
            for metric, relevant in limits.items()
        ],
    )


def _judge_by_prediction(comparison: Comparison, reference: Side, side: Side) -> Comparison:
    """The comparison, judged by the prediction interval of the baseline's sessions (imb.history.prediction)
    if the results have too few sessions for a test and the baseline has enough. Otherwise the comparison is
    unchanged."""
    sessions = [_group_by_session(each) for each in (reference, side)]
    if comparison.remedy is None or None in sessions:
        return comparison
    before, after = (of_side or {} for of_side in sessions)
    if (
        len(before) < prediction.FEWEST
        or not 0 < len(after) < FEWEST_SESSIONS
        or before.keys() & after.keys()
    ):
        return comparison
    settings = comparison.settings
    levels, members = levels_by_session(
        [*before.values(), *after.values()], HistorySettings(metric=settings.metric, bands=settings.bands)
    )
    places = list(members)
    new = prediction.predict(levels[: len(before)], levels[len(before) :])
    limit, half = new.limit(), new.half_width(settings.confidence)
    bands: list[BandEffect] = []
    for band in comparison.bands:
        if (band.curve, band.band) not in members:  # below 50 ns in most sessions
            bands.append(band)
            continue
        at = places.index((band.curve, band.band))
        effect = _effect(band.effect, float(new.size[at]), float(limit[at]), float(half[at]), settings)
        bands.append(msgspec.structs.replace(band, effect=effect))
    finite = limit[np.isfinite(limit)]
    detectable = float(np.expm1(np.median(finite))) if len(finite) else None
    note = (
        f"{count_of(len(after), 'session')} of B: judged by the prediction interval of {len(before)} sessions of A; at most 1 false alarm"
        f" in {round(1 / FALSE_CHECK)} checks"
    )
    if detectable is not None:
        note += f"; slowdowns below {percent_text(detectable, 1)} may be missed (median band)"
        fewer = prediction.limit_with(levels[: len(before)], 2 * len(before))
        if fewer is not None and detectable > settings.relevant:
            note += f", with {2 * len(before)} sessions of A below {_percent(fewer)}; --with-old finds smaller ones in one session"
    return msgspec.structs.replace(
        comparison,
        verdict=overall_verdict([band.effect for band in bands], [], settings.relevant),
        settings=msgspec.structs.replace(settings, false_discovery=FALSE_CHECK),
        bands=bands,
        unit="session",
        sessions_a=len(before),
        sessions_b=len(after),
        detectable=detectable,
        needed=None,
        inconclusive=None,
        remedy=None,
        warnings=[note, *comparison.warnings[comparison.warnings.index(comparison.remedy) + 1 :]],
    )


def _group_by_session(side: Side) -> dict[str, list[Launch]] | None:
    """Launches with rows, by session, or None if the session of a launch is unknown."""
    sessions: dict[str, list[Launch]] = {}
    for launch, session in zip(side.launches, counted_sessions(side), strict=True):
        if session is None:
            return None
        if launch.rows:
            sessions.setdefault(session, []).append(launch)
    return sessions


def _effect(old: Effect, size: float, limit: float, half: float, settings: CompareSettings) -> Effect:
    """The effect of a band that is slower by `size`, a logarithm. `limit`: the largest |size| of an unchanged
    band; `half`: half width of the interval of this band alone. If `size` is NaN (too few sessions have the
    band), the effect is `old`."""
    if not np.isfinite(size):
        return old
    least = float(np.log1p(settings.relevant))
    verdict: ComparisonVerdict = "inconclusive"
    if abs(size) > limit:
        verdict = "differs" if abs(size) < least else "slower" if size > 0 else "faster"
    elif abs(size) + half < least:
        verdict = "same"
    alone, family = ((float(np.exp(-size - width)), float(np.exp(-size + width))) for width in (half, limit))
    differs = abs(size) > limit
    confidence = 1 - FALSE_CHECK if differs else settings.confidence
    return msgspec.structs.replace(
        old, speed=float(np.exp(-size)), low=alone[0], high=alone[1], p=None, q=None, verdict=verdict, needed=None,
        simultaneous=family, interval=family if differs else alone, adjusted=differs, confidence=confidence,
    )  # fmt: skip


def _add_remedy(comparison: Comparison, reference: Side) -> Comparison:
    """The comparison; if it is inconclusive, with a note on what this check can detect and what helps if
    sessions differ: more sessions of the baseline, or the old build or setting measured again beside the new
    one."""
    if comparison.inconclusive is None:
        return comparison
    sessions = _group_by_session(reference) or {}
    settings = HistorySettings(metric=comparison.settings.metric, bands=comparison.settings.bands)
    finds = (
        f"this check finds only bands that are {FACTOR:g} times as slow"
        if comparison.bands
        else "this check finds nothing"
    )
    power = ""
    if len(sessions) > 1:
        levels, _ = levels_by_session(list(sessions.values()), settings)
        few, many = (prediction.limit_with(levels, count) for count in (prediction.FEWEST, MORE))
        if few is not None and many is not None:
            power = (
                f" (if they differ as these {len(sessions)} do: {_percent(few)} with {prediction.FEWEST} sessions, {_percent(many)} with {MORE};"
                " median band)"
            )
    remedy = (
        f"{finds}; smaller slowdowns need {prediction.FEWEST} sessions of the baseline and 1 of the results{power},"
        f" {FEWEST_SESSIONS} sessions of each, or --with-old, which measures the old build or setting again beside the new one"
    )
    first, *rest = comparison.warnings
    return msgspec.structs.replace(comparison, warnings=[first, remedy, *rest])


def _percent(size: float) -> str:
    """A difference of logarithms as a percentage."""
    return percent_text(float(np.expm1(size)), 0)
