"""What a comparison judges: logarithms of speed by launch and row, and their means over bands. Pure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from imb.model.errors import ImbError
from imb.model.observations import METRICS, MORE_IS_BETTER, Key, Side
from imb.model.records import Result
from imb.stats.arrays import Values
from imb.stats.medians import group_means, membership, nanmedian

PRINTED = 1e-8  # seconds: the last digit of a classic table
NO_MESSAGE = 5e-8  # seconds: a message between two ranks takes longer
TIMES = (
    "time_max",
    "time_avg",
    "time_overlapped",
    "time_by_rate",
)  # times that `time` may be, the best first


class Logs(NamedTuple):
    """Logarithms of speed, `a` and `b`, shape (launches, rows): more is faster; NaN if a launch lacks the
    row.

    `rounding`: standard deviation of these logarithms due to printed digits; `middle_a`, `middle_b`: medians
    of the metric over launches; all of shape (rows,). `unmeasured`: rows of both sides that have no value
    above 0 on one side; they are not in `keys`. `by_other`: rows that are judged by another time than the
    completion time, because a side lacks it; by the name of that time. `alone`: rows that belong to no band
    (`keys_without_band`).
    """

    keys: list[Key]
    a: Values
    b: Values
    rounding: Values
    middle_a: Values
    middle_b: Values
    unmeasured: list[Key]
    by_other: Mapping[str, Sequence[Key]] = MappingProxyType({})
    alone: frozenset[Key] = frozenset()


def logs_of(a: Side, b: Side, keys: list[Key], metric: str) -> Logs:
    """The logarithms of speed of these rows. Raises ImbError if no row has a value above 0 on both sides."""
    sign = 1.0 if metric in MORE_IS_BETTER else -1.0
    by_other: dict[str, list[Key]] = {}
    if metric == "time":
        values_a, values_b, by_other = _times(a, b, keys)
    else:
        values_a, values_b = (_matrix(side, keys, METRICS[metric]) for side in (a, b))
    by_side = [np.asarray(np.isfinite(values).any(axis=0)) for values in (values_a, values_b)]
    good = np.logical_and(*by_side)
    if not good.any():
        raise ImbError(f"no row of {a.name} and {b.name} has a {metric} above 0 on both sides")
    values_a, values_b = values_a[:, good], values_b[:, good]
    with np.errstate(over="ignore"):
        middle_a, middle_b = nanmedian(values_a), nanmedian(values_b)
    rounding = np.zeros(len(middle_a))
    if metric not in MORE_IS_BETTER:
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.vstack([values_a, values_b]) / PRINTED
            printed = np.all(np.isnan(steps) | (np.abs(steps - np.rint(steps)) < 1e-4), axis=0)
            share = np.minimum(PRINTED / np.sqrt(12) / np.minimum(middle_a, middle_b), 1.0)
        rounding = np.where(printed, share, 0.0)
    measured = [key for key, is_good in zip(keys, good, strict=True) if is_good]
    return Logs(
        measured,
        sign * np.log(values_a),
        sign * np.log(values_b),
        rounding,
        middle_a,
        middle_b,
        [key for key, is_good in zip(keys, good, strict=True) if not is_good],
        by_other,
        keys_without_band(measured, np.minimum(middle_a, middle_b), metric),
    )


QUANTILES = ("p50", "p90", "p99")


def add_quantiles(both: Logs, a: Side, b: Side, metric: str) -> tuple[Logs, list[str | None]]:
    """`both`, with quantiles of the samples as further columns if the metric is a time and both sides have
    them. Also returns each column's quantile, or None for the metric itself."""
    parts = [both]
    names: list[str | None] = [None] * len(both.keys)
    for quantile in QUANTILES if metric == "time" else ():
        if not all(
            any(row.quantiles for launch in side.launches for row in launch.rows.values()) for side in (a, b)
        ):
            break
        with suppress(ImbError):  # none on one of them
            parts.append(logs_of(a, b, both.keys, quantile))
            names += [quantile] * len(parts[-1].keys)
    if len(parts) == 1:
        return both, names
    return (
        both._replace(
            keys=[key for part in parts for key in part.keys],
            a=np.hstack([part.a for part in parts]),
            b=np.hstack([part.b for part in parts]),
            rounding=np.hstack([part.rounding for part in parts]),
            middle_a=np.hstack([part.middle_a for part in parts]),
            middle_b=np.hstack([part.middle_b for part in parts]),
        ),
        names,
    )


def keys_without_band(keys: Sequence[Key], values: Values, metric: str) -> frozenset[Key]:
    """Rows of 0 bytes, and rows whose time is too short for a message between two ranks; `values` of the
    metric, by row. In a band they would count as much as other rows, although rounding dominates them: a Bcast
    of 0 bytes takes 0.01 µs, and half of that is a rounding step."""
    is_time = metric not in MORE_IS_BETTER
    return frozenset(
        key
        for key, value in zip(keys, values, strict=True)
        if key.bytes == 0 or (is_time and key.bytes is not None and value < NO_MESSAGE)
    )


def _times(a: Side, b: Side, keys: list[Key]) -> tuple[Values, Values, dict[str, list[Key]]]:
    """The times of the rows on both sides, shape (launches, rows). Each row uses the first of TIMES that
    every launch with this row has, or else the first that both sides have; so completion time is never
    compared with the mean over ranks. The last item lists the rows that use another time although some launch
    has their completion time."""
    figures = {name: tuple(_matrix(side, keys, _take(name)) for side in (a, b)) for name in TIMES}
    present = {name: [np.isfinite(values) for values in both] for name, both in figures.items()}
    any_time = [np.logical_or.reduce([present[name][side] for name in TIMES]) for side in (0, 1)]
    times = [np.full_like(figures[TIMES[0]][side], np.nan) for side in (0, 1)]
    by_other: dict[str, list[Key]] = {}
    for column, key in enumerate(keys):

        def all_have(name: str, column: int = column) -> bool:
            return all(
                bool((present[name][side][:, column] == any_time[side][:, column]).all()) for side in (0, 1)
            )

        def both_have(name: str, column: int = column) -> bool:
            return all(bool(present[name][side][:, column].any()) for side in (0, 1))

        usable = [name for name in TIMES if both_have(name)]
        chosen = next(filter(all_have, usable), usable[0] if usable else None)
        if chosen is None:
            continue
        for side in (0, 1):
            times[side][:, column] = figures[chosen][side][:, column]
        if chosen != TIMES[0] and any(present[TIMES[0]][side][:, column].any() for side in (0, 1)):
            by_other.setdefault(chosen, []).append(key)
    return times[0], times[1], by_other


def _take(name: str) -> Callable[[Result], float | None]:
    """A function that reads a time from a row. Rows whose repetitions begin at agreed times have only a
    completion time."""
    if name == TIMES[0]:
        return lambda row: row.completion_seconds
    return lambda row: None if row.is_by_clock else METRICS[name](row)


def _matrix(side: Side, keys: list[Key], take: Callable[[Result], float | None]) -> Values:
    """Values above 0, shape (launches, rows); NaN if a launch lacks one."""
    figures = np.full((len(side.launches), len(keys)), np.nan)
    for number, launch in enumerate(side.launches):
        for column, key in enumerate(keys):
            row = launch.rows.get(key)
            value = take(row) if row is not None else None
            if value is not None and 0 < value < np.inf:
                figures[number, column] = value
    return figures


def session_means(values: Values, sessions: Sequence[int]) -> Values:
    """Means over the launches of each session, shape (sessions, columns). `sessions`: each launch's session
    number."""
    numbers = np.asarray(sessions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a session without this row
        return np.array(
            [np.nanmean(values[numbers == session], axis=0) for session in range(numbers.max() + 1)]
        )


def band_means(both: Logs, members: Sequence[Sequence[int]]) -> tuple[Values, Values, Values]:
    """Means over bands: of A and of B, shape (launches, bands), and their standard deviation due to rounding,
    shape (bands,).

    Each mean covers the rows of the band that the launch has, relative to the row's reference: the midpoint
    between the medians of the two sides. Without the reference, a missing row would look like a change of
    speed.
    """
    reference = (nanmedian(both.a) + nanmedian(both.b)) / 2
    belongs = membership(members, both.a.shape[1])
    rounding = np.sqrt((both.rounding**2 @ belongs) / belongs.sum(axis=0))
    return group_means(both.a - reference, belongs), group_means(both.b - reference, belongs), rounding


def levels_of_launches(logs: Values) -> Values:
    """Each launch's median over its rows, relative to the row's median over launches; shape (launches,), NaN
    if it has no row."""
    return nanmedian(logs - nanmedian(logs), axis=1)
