"""The history of launches: sessions in the order of time, and changes of level in curves. Pure.

The session is the unit of replication: all launches of one evening share the state of the machine, so they
count once, however many there are. imb.history.steps finds the steps; docs/evidence/history.md has its error
rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from imb.compare.bands import members_of
from imb.compare.comparison import BANDS, Band
from imb.compare.condition_diff import Difference, differences
from imb.compare.log_speeds import keys_without_band
from imb.compare.pairing import date_of, firsts_within_reach, session_of, start_time
from imb.history import prediction, steps
from imb.model.defaults import RELEVANT_STEP
from imb.model.errors import ImbError
from imb.model.observations import METRICS, MORE_IS_BETTER, Key, Launch, Side, refuse_unknown_metric
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.stats.arrays import Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import group_means, membership, nanmedian

HistoryVerdict: TypeAlias = Literal["no change", "faster", "slower", "too little history", "too noisy"]
EXIT: dict[HistoryVerdict, int] = {
    "no change": Status.GOOD,
    "faster": Status.GOOD,
    "slower": Status.WORSE,
    "too little history": Status.UNDECIDED,
    "too noisy": Status.UNDECIDED,
}
BLIND = 9.0  # a slowdown; a history that shows only larger ones is too noisy
AFTER = 5  # sessions after a step, for `detectable`
CORRELATED = 0.8  # from this correlation of neighboring sessions on, false steps are frequent


class HistorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: smaller steps are not reported, 0.02 is 2 %. `level`: probability that a history without a
    change shows one. `benchmarks`: judge only these, case-insensitive; all if empty. `since`: only changes
    from this date on count for the verdict."""

    metric: str = "time"
    relevant: float = RELEVANT_STEP
    level: float = ANY_FALSE
    confidence: float = 0.95
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    since: str | None = None


class HistorySession(msgspec.Struct, frozen=True, kw_only=True):
    """`date`: when the first launch of the session began, ISO 8601. `runs`: names of its launches, in the
    order of time."""

    date: str
    runs: list[str]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A curve (its `bytes` is None) in a size band. `slowness`: for each session, the geometric mean over
    rows, relative to the median session; 1.05 is 5 % slower. None if the session has no row of the series.
    `rows`: number of rows."""

    curve: Key
    band: Band
    rows: int
    slowness: list[float | None]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one series. `speed` > 1: faster than before. [`low`, `high`] covers it with
    HistorySettings.confidence, adjusted for the selection of series that changed (false coverage rate)."""

    curve: Key
    band: Band
    rows: int
    speed: float
    low: float
    high: float


class NewestDeviation(msgspec.Struct, frozen=True, kw_only=True):
    """A series in which the newest session is outside the prediction interval of `earlier` sessions (their
    number). `speed` > 1: faster than they. `limit`: the largest slowdown inside the interval, 0.05 is 5 %.
    `since`: index of the first of the consecutive sessions that were outside on the same side when they were
    new."""

    curve: Key
    band: Band
    speed: float
    earlier: int
    limit: float
    since: int


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """Series that change at one session. `session`: index of the first session after the change; `run`,
    `date`: its first launch. `before`: the last launch before the change. `conditions`: what differs between
    these two sessions. `until`: index of the session from which the old level is back, or None if the change
    lasts."""

    session: int
    run: str
    date: str
    before: str
    until: int | None = None
    conditions: list[Difference]
    changes: list[Change]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `imb watch`.

    `drifts`: series that change steadily, from the first session to the last. `correlation`: correlation
    between the noise of neighboring sessions. `detectable`: the slowdown (0.05 is 5 %) that is found within
    five sessions in 19 of 20 cases in the median series, or None if it is unknown.

    `newest`: series in which the last session is outside the prediction interval of earlier ones, the largest
    deviation first. `limit`: the slowdown of the newest session that is found in the median series, or None
    if there are too few sessions.

    `verdict`: slower if any change that counts, or the newest session, is slower; too noisy if no change is
    found and `detectable` (if None, `limit`) is above BLIND.
    """

    name: str
    settings: HistorySettings
    verdict: HistoryVerdict
    sessions: list[HistorySession]
    events: list[ChangePoint]
    drifts: list[Change]
    correlation: float | None
    detectable: float | None
    notes: list[str]
    series: list[Series]
    newest: list[NewestDeviation] = []
    limit: float | None = None


def history(side: Side, settings: HistorySettings | None = None) -> History:
    """The history of these launches. Raises ImbError for an unknown metric, and if no launch has both a date
    and a value."""
    settings = settings or HistorySettings()
    refuse_unknown_metric(settings.metric)
    launches, other_widths = _drop_measured_widths(side.launches)
    names = {name.lower() for name in settings.benchmarks}
    left = {key.benchmark.lower() for launch in launches for key in launch.rows}
    if other_widths and not left & (names or left):
        raise ImbError(f"{side.name}: {other_widths}")
    sessions, undated = sessions_of(launches)
    levels, members = levels_by_session(sessions, settings)
    if not levels.size:
        if undated and not sessions:
            raise ImbError(
                f"{side.name}: no date in {count_of(undated, 'launch')}; a history needs runs of imb, records, or logs with IMB's line # Date"
            )
        raise ImbError(
            f"{side.name}: no row of a size band has a {settings.metric.replace('_', ' ')} above 0; see --bands"
        )
    named = [
        HistorySession(date=date_of(launches[0]) or "", runs=[launch.name for launch in launches])
        for launches in sessions
    ]
    notes = [f"{count_of(undated, 'launch')} without a date; excluded"] if undated else []
    notes += [other_widths] if other_widths else []
    events: list[ChangePoint] = []
    drifts: list[Change] = []
    detected = None
    if len(sessions) >= steps.FEWEST:
        detected = steps.find_steps(
            levels, settings.level, float(np.log1p(settings.relevant)), settings.confidence
        )
        places = list(members.items())
        for at, until in sorted({(step.at, step.until or 0) for step in detected.steps}):
            changes = [
                _change(places[step.series], step)
                for step in detected.steps
                if (step.at, step.until or 0) == (at, until)
            ]
            events.append(
                _event(sessions, at, until or None, sorted(changes, key=lambda change: change.speed))
            )
        drifts = [_change(places[drift.series], drift) for drift in detected.drifts]
        notes += _error_rate_caveats(detected)
    else:
        notes.append(f"{count_of(len(sessions), 'session')}; {steps.FEWEST} or more are needed to find steps")
    newest, limit = _newest_deviations(levels, detected, list(members), settings)
    detectable = _detectable_change(levels, detected, settings) if detected else None
    verdict: HistoryVerdict = "too little history"
    if detected is not None or limit is not None:
        newest_counted = newest if named[-1].date >= (settings.since or "") else []
        verdict = _verdict(events, drifts, newest_counted, settings.since)
    if verdict == "no change" and (limit or 0.0 if detectable is None else detectable) > BLIND:
        verdict = "too noisy"
        notes.append(
            "too noisy: no step can be found; measure more launches in each session, on an idle machine"
        )
    return History(
        name=side.name,
        settings=settings,
        verdict=verdict,
        sessions=named,
        events=events,
        drifts=drifts,
        correlation=detected.correlation if detected else None,
        detectable=detectable,
        notes=notes,
        newest=newest,
        limit=limit,
        series=[
            Series(curve=curve, band=band, rows=len(where), slowness=_slowness(levels[:, number]))
            for number, ((curve, band), where) in enumerate(members.items())
        ],
    )


def _drop_measured_widths(launches: Sequence[Launch]) -> tuple[list[Launch], str | None]:
    """The launches without rows of -arrival xN, whose width differs in every launch, and a note if there were
    any, else None."""
    kept = [
        msgspec.structs.replace(
            launch, rows={key: row for key, row in launch.rows.items() if key.arrival_width_seconds is None}
        )
        for launch in launches
    ]
    if all(len(before.rows) == len(after.rows) for before, after in zip(launches, kept, strict=True)):
        return kept, None
    return kept, (
        "rows of -arrival xN have no history, as ranks arrive over another width in each launch; give the width in microseconds"
        " (-- -arrival last:50)"
    )


def sessions_of(launches: Sequence[Launch]) -> tuple[list[list[Launch]], int]:
    """Launches with rows, each once, by session, both in the order of time; and the number of launches
    without a date. Sessions that begin within SESSIONS_APART of the first count as one, as in comparisons."""
    once = {launch.name: launch for launch in launches if launch.rows}.values()
    dated = sorted(
        ((when, launch) for launch in once if (when := start_time(launch))), key=lambda pair: pair[0]
    )
    times: dict[str, datetime] = {}
    for when, launch in dated:
        times.setdefault(session_of(launch) or "", when)
    firsts = firsts_within_reach(times)
    sessions: dict[str, list[Launch]] = {}
    for _, launch in dated:
        sessions.setdefault(firsts[session_of(launch) or ""], []).append(launch)
    return list(sessions.values()), len(once) - len(dated)


def levels_by_session(
    sessions: Sequence[Sequence[Launch]], settings: HistorySettings
) -> tuple[Values, dict[tuple[Key, Band], list[int]]]:
    """Logarithms of slowness, shape (sessions, series), and for each series the indices of its rows. A level
    is the mean over the rows of a series, each relative to its median over sessions. Otherwise a row that a
    session lacks would look like a step. As in comparisons, rows below NO_MESSAGE or without bytes have no
    series."""
    keys = _select_rows(
        dict.fromkeys(key for session in sessions for launch in session for key in launch.rows), settings
    )
    logs, keys = _figures(sessions, keys, settings.metric)
    sign = -1.0 if settings.metric in MORE_IS_BETTER else 1.0
    with np.errstate(over="ignore"):
        middles = np.exp(sign * nanmedian(logs))
    members = members_of(keys, settings.bands, keys_without_band(keys, middles, settings.metric))
    belongs = membership(list(members.values()), logs.shape[1])
    return group_means(logs - nanmedian(logs), belongs), members


def _select_rows(keys: dict[Key, None], settings: HistorySettings) -> list[Key]:
    names = {name.lower() for name in settings.benchmarks}
    chosen = [key for key in keys if not names or key.benchmark.lower() in names]
    if missing := names - {key.benchmark.lower() for key in chosen}:
        raise ImbError(f"no benchmark {', '.join(sorted(missing))} in these runs")
    return chosen


def _figures(sessions: Sequence[Sequence[Launch]], keys: list[Key], metric: str) -> tuple[Values, list[Key]]:
    """Logarithms of slowness, shape (sessions, rows): medians over the launches of a session, NaN if a
    session lacks the row. Rows without any value above 0 are dropped; the second item has the remaining keys."""
    take = METRICS[metric]
    sign = -1.0 if metric in MORE_IS_BETTER else 1.0
    logs = np.full((len(sessions), len(keys)), np.nan)
    for number, session in enumerate(sessions):
        for column, key in enumerate(keys):
            values = [take(launch.rows[key]) for launch in session if key in launch.rows]
            figures = [value for value in values if value is not None and 0 < value < np.inf]
            if figures:
                logs[number, column] = sign * np.log(np.median(figures))
    good = np.isfinite(logs).any(axis=0)
    return logs[:, good], [key for key, is_good in zip(keys, good, strict=True) if is_good]


def _change(series: tuple[tuple[Key, Band], list[int]], change: steps.Step | steps.Drift) -> Change:
    (curve, band), rows = series
    speed, low, high = (float(np.exp(-size)) for size in (change.size, change.high, change.low))
    return Change(curve=curve, band=band, rows=len(rows), speed=speed, low=low, high=high)


def _error_rate_caveats(detected: steps.DetectedSteps) -> Iterator[str]:
    """Yield why the error rate of steps does not hold for this history."""
    if detected.correlation >= CORRELATED:
        yield (
            f"neighboring sessions are alike (correlation {detected.correlation:.1f}): the error rate of steps does not hold; steps may be"
            " slow changes of the machine"
        )
    if detected.sloping:
        yield (
            f"{len(detected.sloping)} series change steadily (drift): the error rate of steps does not hold; steps in them may be"
            " parts of the drift"
        )


def _event(
    sessions: Sequence[Sequence[Launch]], at: int, until: int | None, changes: list[Change]
) -> ChangePoint:
    before, after = (Side(name="", launches=sessions[number]) for number in (at - 1, at))
    return ChangePoint(
        session=at,
        run=after.launches[0].name,
        date=date_of(after.launches[0]) or "",
        before=before.launches[-1].name,
        until=until,
        conditions=differences(before, after),
        changes=changes,
    )


def _verdict(
    events: Sequence[ChangePoint],
    drifts: Sequence[Change],
    newest: Sequence[NewestDeviation],
    since: str | None,
) -> HistoryVerdict:
    lasting = [event for event in events if event.until is None and event.date >= (since or "")]
    speeds = [change.speed for event in lasting for change in event.changes]
    speeds += [change.speed for change in drifts] + [series.speed for series in newest]
    if any(speed < 1 for speed in speeds):
        return "slower"
    return "faster" if speeds else "no change"


def _detectable_change(
    levels: Values, detected: steps.DetectedSteps, settings: HistorySettings
) -> float | None:
    change = steps.detectable_step(levels, detected.correlation, settings.level, AFTER)
    return None if change is None else max(settings.relevant, float(np.expm1(change)))


def _newest_deviations(
    levels: Values,
    detected: steps.DetectedSteps | None,
    places: Sequence[tuple[Key, Band]],
    settings: HistorySettings,
) -> tuple[list[NewestDeviation], float | None]:
    """Series in which the newest session is outside its limit, and the slowdown that is found in the median
    series or None. A series that drifts has no level, so it is never reported."""
    begins = np.zeros(levels.shape[1], dtype=np.int64)
    for step in detected.steps if detected else []:
        begins[step.series] = max(begins[step.series], step.until or step.at)
    for drift in detected.drifts if detected else []:
        begins[drift.series] = len(levels)
    new = prediction.predict_newest(levels, begins)
    limit = np.maximum(new.limit(), np.log1p(settings.relevant))
    outside = [
        NewestDeviation(
            curve=places[series][0], band=places[series][1], speed=float(np.exp(-new.size[series])),
            earlier=int(new.earlier[series]), limit=float(np.expm1(limit[series])),
            since=len(levels) - 1 - int(new.before[series] if new.before is not None else 0),
        )
        for series in np.flatnonzero(np.abs(new.size) > limit).tolist()
    ]  # fmt: skip
    finite = limit[np.isfinite(limit)]
    typical = float(np.expm1(np.median(finite))) if len(finite) else None
    return sorted(outside, key=lambda entry: -abs(np.log(entry.speed))), typical


def _slowness(levels: Values) -> list[float | None]:
    return [float(np.exp(level)) if np.isfinite(level) else None for level in levels]
