"""Variance components of the times of a sample set: two for each row. Pure.

Times are logarithms, components are standard deviations: 0.05 is about 5 %.

within    the error of a launch's median, from its 95 % interval
launches  the spread between launches beyond `within`, without launches outside the dominant state of their machine

docs/evidence/verdicts.md, "Variance components", describes the estimates and how often the largest component
is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
import numpy as np
from scipy.special import gammaincinv, stdtrit

from imb.compare.dominant_state import (
    LaunchOutsideState,
    Ranks,
    launches_outside_dominant_state,
    ranks_of,
    references_of,
)
from imb.model.observations import METRICS, Key, Launch, Side, counted_bytes
from imb.model.records import Result
from imb.stats.arrays import LARGEST_LOG, Values
from imb.stats.medians import known_median
from imb.stats.shift import LEAST_SPREAD

Name: TypeAlias = Literal["within", "launches"]
NAMES: tuple[Name, ...] = ("within", "launches")

CONFIDENCE = 0.90  # of the interval of `launches`; the interval decides whether a component certainly leads
TARGET = 0.05  # the relative precision for which a number of launches is recommended


class RowParts(msgspec.Struct, frozen=True, kw_only=True):
    """The variance components of one row. `launches`: number of launches that saw the dominant state;
    `seconds`: their median time; `bytes_per_second`: the rate at that time, or None if the table has no rate.
    `half_width`: half of a launch's 95 % interval, relative, median over launches. `within`, `between`: the
    components, or None if unknown. `total`: standard deviation between launches, which includes both
    components."""

    key: Key
    launches: int
    seconds: float | None
    bytes_per_second: float | None
    half_width: float | None
    within: float | None
    between: float | None
    total: float | None

    def part(self, name: Name) -> float | None:
        """A component by name."""
        return {"within": self.within, "launches": self.between}[name]

    @property
    def precision(self) -> float | None:
        """Half of the 95 % interval of the mean over launches, relative to the time (and to the rate)."""
        return _half_width_of_mean(self.total, self.launches)


class VarianceComponent(msgspec.Struct, frozen=True, kw_only=True):
    """A component over all rows that have it: the median, the worst row and its value. `low`, `high`: the
    interval of `launches`, with CONFIDENCE; both are `typical` for `within`."""

    name: Name
    typical: float
    worst: float
    worst_row: Key
    low: float
    high: float


class Variance(msgspec.Struct, frozen=True, kw_only=True):
    """The variance components of a side. `parts` has the known components, the largest first. `certain`: the
    lead of the largest is more than chance with so few launches. `launches`: launches of the median row;
    `all_launches`: launches of the side. `half_width`: half of a launch's 95 % interval, median over rows;
    `total`: standard deviation between launches, median over rows.

    `mixed`: number of values (row and launch) that mix several states because too few samples saw the
    fastest. `outside_launches`: launches outside the dominant state. Both are left out of `between`; but on ranks
    where no launch saw the dominant state, launches are compared with each other.
    """

    in_passes: bool
    launches: int
    all_launches: int
    rows: list[RowParts]
    parts: list[VarianceComponent]
    certain: bool
    half_width: float | None
    total: float | None
    mixed: int
    outside_launches: list[LaunchOutsideState]

    @property
    def largest_part(self) -> VarianceComponent | None:
        """The largest component, or None if no component is known or none is above LEAST_SPREAD."""
        return self.parts[0] if self.parts and self.parts[0].typical > LEAST_SPREAD else None

    def part(self, name: Name) -> VarianceComponent | None:
        """A component by name, or None if it is unknown."""
        return next((part for part in self.parts if part.name == name), None)

    def precision(self, launches: int | None = None) -> float | None:
        """Half of the 95 % interval of the mean over `launches` launches, relative. The default is as many as
        the side has."""
        count = self.launches if launches is None else launches
        return _half_width_of_mean(self.total, count)

    def launches_needed(self, target: float = TARGET, most: int = 10_000) -> int | None:
        """Number of launches whose mean has a 95 % interval within ±`target`, or None if more than `most` are
        needed or the spread is unknown."""
        if self.total is None:
            return None
        counts = np.arange(2, most + 1)
        reach = stdtrit(counts - 1.0, 0.975) * self.total / np.sqrt(counts)
        good = np.flatnonzero(reach <= np.log1p(target))
        return int(counts[good[0]]) if len(good) else None


def _half_width_of_mean(deviation: float | None, count: int) -> float | None:
    """Half of the 95 % interval of the mean of `count` launches with this standard deviation, relative, by
    Student's t. None if the deviation is unknown or there are fewer than two launches."""
    if deviation is None or count < 2:
        return None
    reach = float(stdtrit(count - 1, 0.975)) * deviation / math.sqrt(count)
    return math.expm1(min(reach, LARGEST_LOG))


def parts_of(
    side: Side,
    *,
    earlier: Sequence[Launch] = (),
) -> Variance:
    """The variance components of a sample set. `earlier` launches help to define the dominant state."""
    launches = list({launch.name: launch for launch in side.launches}.values())
    away = launches_outside_dominant_state(launches, earlier)
    left_out = _incomparable_launches(launches, away)
    in_passes = any(row.passes for launch in launches for row in launch.rows.values())
    keys = side.all_keys()
    figures = _figures(keys, launches, left_out)
    logs = {key: {name: log for name, (log, _) in by_launch.items()} for key, by_launch in figures.items()}
    rows = [_row(key, launches, figures[key]) for key in keys]
    count = round(known_median([row.launches for row in rows if row.launches]) or 0)
    degrees = (count - 1) * independent_rows(list(logs.values()), [launch.name for launch in launches])
    parts = [part for name in NAMES if (part := _part(name, rows, degrees)) is not None]
    parts.sort(key=lambda part: -part.typical)
    return Variance(
        in_passes=in_passes,
        launches=count,
        all_launches=len(launches),
        rows=rows,
        parts=parts,
        certain=_is_certain(parts),
        half_width=known_median([row.half_width for row in rows]),
        total=known_median([row.total for row in rows]),
        mixed=sum(not _has_one_state(row) for launch in launches for row in launch.rows.values()),
        outside_launches=away,
    )


def _incomparable_launches(
    launches: Sequence[Launch], away: Sequence[LaunchOutsideState]
) -> set[tuple[str, Ranks]]:
    """Launches that are not compared with the others, with their ranks: those outside the dominant state, if
    other launches reached it."""
    left_out = {(each.launch, each.ranks) for each in away}
    reached = {
        ranks
        for launch in launches
        for ranks in references_of(launch)
        if (launch.name, ranks) not in left_out
    }
    return {(name, ranks) for name, ranks in left_out if ranks in reached}


def spread_of(values: Values) -> float:
    """Standard deviation of one launch's value, median-unbiased; NaN for fewer than two values.

    Unlike the median absolute deviation, it shows launches of two kinds.
    """
    count = len(values)
    return (
        math.nan if count < 2 else float(np.std(values, ddof=1)) / math.sqrt(_middle_of_variance(count - 1))
    )


def _middle_of_variance(degrees: float) -> float:
    """Median of the usual estimate of a variance of 1."""
    return 2 * float(gammaincinv(degrees / 2, 0.5)) / degrees


# --- One row -----------------------------------------------------------------------------------------------------


_LogTimes: TypeAlias = dict[str, tuple[float, float | None]]


def _figures(
    keys: Sequence[Key], launches: Sequence[Launch], left_out: set[tuple[str, Ranks]]
) -> dict[Key, _LogTimes]:
    """By row and launch, of launches that can be compared: the logarithm of the time, and its standard error
    or None."""
    return {
        key: {
            launch.name: figure
            for launch in launches
            if (row := launch.rows.get(key)) is not None
            and (launch.name, ranks_of(row)) not in left_out
            and (figure := _figure(row)) is not None
        }
        for key in keys
    }


def _figure(row: Result) -> tuple[float, float | None] | None:
    """The logarithm of a row's time and its standard error, or None unless the row reports the fastest state
    of its launch."""
    time = _time(row)
    return (math.log(time), _error(row)) if time and _has_one_state(row) else None


def _row(key: Key, launches: Sequence[Launch], figures: _LogTimes) -> RowParts:
    rows = [launch.rows[key] for launch in launches if launch.name in figures]
    logs = np.array([log for log, _ in figures.values()])
    errors = [error for _, error in figures.values() if error is not None]
    squares = float(np.mean(np.square(errors))) if errors else None
    total = spread_of(logs)
    between = None if math.isnan(total) else math.sqrt(max(total**2 - (squares or 0.0), 0.0))
    seconds = float(np.exp(np.median(logs))) if len(logs) else None
    counted = known_median([counted_bytes(row) for row in rows])
    return RowParts(
        key=key,
        launches=len(logs),
        seconds=seconds,
        bytes_per_second=counted / seconds if seconds and counted is not None else None,
        half_width=known_median(
            [width for row in rows if (width := row.half_width) is not None and 0 <= width < math.inf]
        ),
        within=None if squares is None else math.sqrt(squares),
        between=between,
        total=None if math.isnan(total) else total,
    )


def _time(row: Result) -> float | None:
    """Seconds, above 0, or None; in passes, the time that the 95 % interval covers."""
    if row.passes:
        time = row.completion_seconds if row.time_overlapped_seconds is None else row.time_overlapped_seconds
    else:
        time = METRICS["time"](row)
    return time if time is not None and 0 < time < math.inf else None


def _has_one_state(row: Result) -> bool:
    """Whether a row reports a single state. If too few samples saw the fastest state, the row reports all
    samples."""
    return row.passes is None or row.passes.reference_state


def _error(row: Result) -> float | None:
    """Standard error of the logarithm of the row's median, from its 95 % interval (src/result/interval.h), or
    None if unknown."""
    passes = row.passes
    if passes is None:
        return None
    factor = 1.959964
    if passes.interval_seconds and 0 < passes.interval_seconds[0] < math.inf:
        low, high = passes.interval_seconds
        return (math.log(high) - math.log(low)) / 2 / factor if low <= high < math.inf else None
    wide = passes.half_width
    return math.log1p(wide) / factor if wide is not None and 0 <= wide < math.inf else None


# --- All rows ----------------------------------------------------------------------------------------------------


def independent_rows(logs: Sequence[Mapping[str, float]], names: Sequence[str]) -> float:
    """The number of independent rows, at least 1, that are as much evidence about the spread of launches as
    these rows.

    An effect of a launch on all its rows counts once, however many rows there are. The ratio of two variances
    measures it: of a row, and of the mean over rows. Few launches are weak evidence about the second
    variance, so its upper 95 % limit is used. `logs`: by row and launch name.
    """
    values = np.array([[row.get(name, math.nan) for name in names] for row in logs]).reshape(-1, len(names))
    values = values[np.isfinite(values).sum(axis=1) >= 2]
    if not len(values):
        return 1.0
    values = values - np.nanmean(values, axis=1, keepdims=True)
    spread = np.sqrt(np.nanmean(values**2, axis=1, keepdims=True))
    values = values[spread[:, 0] > 0] / spread[spread[:, 0] > 0]
    values = values[:, np.isfinite(values).any(axis=0)]
    count = values.shape[1]
    if count < 2 or not len(values):
        return 1.0
    of_means = float(np.mean(np.nanmean(values, axis=0) ** 2))
    most = of_means * (count - 1) / (2 * float(gammaincinv((count - 1) / 2, 0.05)))
    return float(np.clip(1 / most, 1.0, len(values))) if most > 0 else 1.0


def _part(name: Name, rows: Sequence[RowParts], degrees: float) -> VarianceComponent | None:
    by_row = [(value, row.key) for row in rows if (value := row.part(name)) is not None]
    if not by_row:
        return None
    typical = float(np.median([value for value, _ in by_row]))
    worst, where = max(by_row, key=lambda entry: entry[0])
    low = high = typical
    if name == "launches":
        low, high = _interval(rows, typical, degrees)
    return VarianceComponent(name=name, typical=typical, worst=worst, worst_row=where, low=low, high=high)


def _interval(rows: Sequence[RowParts], typical: float, degrees: float) -> tuple[float, float]:
    """The interval of the `launches` component, by chi-square with these degrees of freedom."""
    if degrees < 1:
        return 0.0, math.inf
    total = known_median([row.total for row in rows]) or 0.0
    within = known_median([row.within for row in rows]) or 0.0
    tail = (1 - CONFIDENCE) / 2
    squares = total**2 * _middle_of_variance(degrees) * degrees
    variance_low, variance_high = (
        squares / (2 * float(gammaincinv(degrees / 2, quantile))) for quantile in (1 - tail, tail)
    )
    low, high = (math.sqrt(max(variance - within**2, 0.0)) for variance in (variance_low, variance_high))
    return min(low, typical), max(high, typical)


def _is_certain(parts: Sequence[VarianceComponent]) -> bool:
    return len(parts) == len(NAMES) and all(parts[0].low > other.high for other in parts[1:])
