"""Changes of level in the histories of many series. Arrays in, steps out. Pure.

Series are logarithms, one value per session, so a step of 0.05 is about 5 %. The error rate holds for all
series and all sessions together: max-T by resampling (Westfall and Young, Resampling-Based Multiple Testing,
1993). Whole sessions are resampled, so series that are slow on the same day stay together. If nothing
changed, sessions are exchangeable except for autocorrelation, which is estimated and added to the resampled
histories (sieve bootstrap: Buehlmann, Bernoulli 3 (1997) 123). Binary segmentation finds several steps
(Vostrikova, Soviet Mathematics Doklady 24 (1981) 55); circular binary segmentation finds levels that end
(Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5 (2004) 557). Each uses half of the level.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtrit

from imb.stats.arrays import Indices, Mask, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import TO_DEVIATION, nanmedian
from imb.stats.shift import LEAST_SPREAD, noncentrality

Cut: TypeAlias = tuple[
    int, ...
]  # session at which a new level begins, and, if the level ends, session at which it ends

FEWEST = 8  # sessions of a history; docs/evidence/history.md has the error rate at this length
SHORTEST = 2  # fewest sessions of a level: a single outlier is no step
NEIGHBORS = 3  # sessions on either side with which a session is compared
OUTLIER = 3.0  # standard deviations from its neighbors beyond which a session is an outlier
DRAWS = 499  # fewest resampled histories
_AT_ONCE = 37  # resampled histories computed at a time
_MOST_CORRELATED = 0.9
_ROUNDING = 1e-6  # equal values give scores below it
_SEED = 20261123  # fixed, so that the same history gets the same result


class Step(NamedTuple):
    """A series has another level from session `at` on. `size`: the new level minus the old one, a logarithm,
    with the interval [`low`, `high`]. `until`: the session from which the old level is back, or None if the
    new level lasts."""

    series: int
    at: int
    size: float
    low: float
    high: float
    until: int | None = None


class Drift(NamedTuple):
    """A series that one straight line describes better than steps. `size`: change from the first session to
    the last, a logarithm, with the interval [`low`, `high`]."""

    series: int
    size: float
    low: float
    high: float


class DetectedSteps(NamedTuple):
    """Steps in the order of sessions, then of series. `correlation`: correlation between the noise of
    neighboring sessions. `sloping`: series that change steadily within their levels, so that their steps may
    be parts of a drift."""

    steps: list[Step]
    drifts: list[Drift]
    correlation: float
    sloping: list[int]


def find_steps(
    logs: Values, level: float = ANY_FALSE, least: float = 0.0, confidence: float = 0.95
) -> DetectedSteps:
    """Steps and drifts of at least `least` (a logarithm) whose interval excludes no change.

    logs: shape (sessions, series), in the order of time, NaN if a session lacks a series. level: probability
    that a history without a change shows any. Intervals have this confidence after selection: false coverage
    rate (Benjamini and Yekutieli, J. Am. Stat. Assoc. 100 (2005) 71). Raises ValueError for fewer than FEWEST
    sessions, and for infinities.
    """
    if len(logs) < FEWEST or np.isinf(logs).any():
        raise ValueError(f"{FEWEST} sessions or more with finite values are required")
    correlation = correlation_of(logs)
    places = _segment(logs, level, correlation, np.random.default_rng(_SEED))
    logs = clip_outliers(logs)
    drifting = [series for series, at in places.items() if _is_drift(logs[:, series], at)]
    share = len(places) / max(1, int(np.isfinite(logs).any(axis=0).sum()))
    adjusted = 1 - (1 - confidence) * share
    steps = [
        Step(series, *step)
        for series, at in places.items()
        if series not in drifting
        for step in _sizes(logs[:, series], at, adjusted, correlation, least)
    ]
    drifts = [Drift(series, *_slope(logs[:, series], adjusted, correlation)) for series in sorted(drifting)]
    return DetectedSteps(
        sorted((step for step in steps if _is_certain(step, least)), key=lambda step: (step.at, step.series)),
        [drift for drift in drifts if _is_certain(drift, least)],
        correlation,
        _sloping(logs, places, level, correlation),
    )


def _is_certain(change: Step | Drift, least: float) -> bool:
    """Whether a change is at least `least` and its interval excludes no change. The search for places uses
    another test, so this is not implied."""
    return abs(change.size) >= least and not change.low <= 0 <= change.high


def detectable_step(logs: Values, correlation: float, level: float, after: int) -> float | None:
    """The step at the end of the history that is found after `after` sessions, with a power of 95 %, in the
    series with the median spread. This is an upper limit, because the level is divided among sessions and
    series (Bonferroni). None if no series has enough sessions."""
    between = np.abs(np.diff(logs, axis=0))
    enough = np.isfinite(between).sum(axis=0) >= FEWEST // 2
    if not enough.any():
        return None
    spreads = _spread(np.nanmedian(between[:, enough], axis=0), correlation)
    degrees = max(1, len(logs) - 2)
    reach = noncentrality(degrees, level / logs.size, 0.95)
    size = 1 / after + 1 / max(1, len(logs) - after)
    return float(np.median(spreads) * reach * np.sqrt(size * (1 + correlation) / (1 - correlation)))


def _spread(between: Values, correlation: float) -> Values:
    """Standard deviation of a session in each series, from median differences of neighbors, which steps do
    not change."""
    spread: Values = np.maximum(TO_DEVIATION * between / np.sqrt(2 * (1 - correlation)), LEAST_SPREAD)
    return spread


def clip_outliers(logs: Values) -> Values:
    """`logs` with single outliers moved to OUTLIER standard deviations from the median of their NEIGHBORS on
    either side (Hampel, J. Am. Stat. Assoc. 69 (1974) 383). A level that lasts is its own median, so it is
    unchanged. Shape (..., sessions, series)."""
    ends = [(0, 0)] * (logs.ndim - 2) + [(NEIGHBORS, NEIGHBORS), (0, 0)]
    padded = np.pad(logs, ends, constant_values=np.nan)
    middle = nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * NEIGHBORS + 1, axis=-2), axis=-1)
    away = nanmedian(np.abs(logs - middle), axis=-2)
    reach = OUTLIER * TO_DEVIATION * away[..., None, :] + LEAST_SPREAD
    bounded: Values = np.clip(logs, middle - reach, middle + reach)
    return bounded


def correlation_of(logs: Values) -> float:
    """Correlation of neighboring sessions, from 0 to 0.9, common to all series.

    1 + correlation is the squared ratio of differences two sessions apart to differences one session apart,
    so levels and steps do not count (after Chakar, Lebarbier, Levy-Leduc and Robin, Bernoulli 23 (2017)
    1408). The largest tenth of the differences is left out: steps and outliers. One standard error is added,
    because an underestimated correlation causes false steps.
    """
    ratios = []
    for series in logs.T:
        finite = series[np.isfinite(series)]
        if len(finite) >= FEWEST and finite.std() > LEAST_SPREAD:
            lag_1, lag_2 = (_mean_without_largest(np.abs(finite[lag:] - finite[:-lag])) for lag in (1, 2))
            if lag_1 > 0 and lag_2 > 0:
                ratios.append(np.log(lag_2 / lag_1))
    if not ratios:
        return 0.0
    likely = float(np.exp(2 * np.mean(ratios))) - 1
    return float(np.clip(likely + len(logs) ** -0.5, 0.0, _MOST_CORRELATED))


def _mean_without_largest(values: Values) -> float:
    return float(np.sort(values)[: max(1, int(0.9 * len(values)))].mean())


def _segment(
    logs: Values, level: float, correlation: float, random: np.random.Generator
) -> dict[int, list[int]]:
    """Sessions at which each series changes, by series. The search uses all series together, so that series
    which change together support each other. Each series then keeps only the cuts that its own levels need."""
    limits: dict[Cut, float] = {}
    parts = [(0, len(logs))]
    while parts:
        begin, end = parts.pop()
        part = logs[begin:end]
        for candidates in (_first_levels(len(part)), _arcs(len(part))):
            limit = _limit(part, candidates, level / 2, correlation, random)
            if limit is not None:
                scores = _scores(clip_outliers(part), candidates)
                best = candidates[int(np.unravel_index(np.argmax(scores), scores.shape)[0])]
                cut = tuple(begin + int(place) for place in best if place)
                limits[cut] = limit
                parts += pairwise([begin, *cut, end])
                break
    kept = {series: _needed_cuts(logs[:, [series]], limits) for series in range(logs.shape[1])}
    return {series: places for series, places in kept.items() if places}


def _needed_cuts(series: Values, limits: dict[Cut, float]) -> list[int]:
    """Sessions of the cuts that this series needs: at each, the score of its two levels exceeds the limit of
    the cut. The weakest cut is dropped first. series: shape (sessions, 1)."""
    cuts = list(limits)
    while cuts:
        places = sorted({0, len(series), *(place for cut in cuts for place in cut)})
        excess = []
        for cut in cuts:
            begin = max(place for place in places if place < cut[0])
            end = min(place for place in places if place > cut[-1])
            inside = (begin, cut[0]) if len(cut) == 1 else cut
            candidate = np.array([inside]) - begin
            excess.append(float(_scores(clip_outliers(series[begin:end]), candidate)[0, 0]) - limits[cut])
        weakest = int(np.argmin(excess))
        if excess[weakest] >= 0:
            return places[1:-1]
        del cuts[weakest]
    return []


def _first_levels(sessions: int) -> Indices:
    """Candidates [0, n) for a first level that is followed by another one; shape (candidates, 2)."""
    ends = np.arange(SHORTEST, sessions - SHORTEST + 1)
    return np.stack([np.zeros_like(ends), ends], axis=1)


def _arcs(sessions: int) -> Indices:
    """Candidates [i, j) for a level inside another one; shape (candidates, 2). The length is at most half of
    the sessions, and candidate lengths grow by a quarter."""
    arcs = [np.empty((0, 2), dtype=np.int64)]
    length = SHORTEST
    while length <= sessions // 2:
        begins = np.arange(SHORTEST, sessions - SHORTEST - length + 1)
        arcs.append(np.stack([begins, begins + length], axis=1))
        length = max(length + 1, round(1.25 * length))
    return np.concatenate(arcs)


def _scores(values: Values, candidates: Indices) -> Values:
    """How much better two levels describe a series than one, if the second has the sessions [i, j) of a
    candidate; shape (..., candidates, series).

    The score is (n - 2) log(squares about one level / squares about two), which is comparable between series
    of different length (Wallace, Ann. Math. Stat. 30 (1959) 1124). values: shape (..., sessions, series), NaN
    if a session lacks a series.
    """
    finite = np.isfinite(values)
    counts = _sums(finite.astype(np.float64), candidates)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = finite.sum(axis=-2, keepdims=True)
        mean = np.sum(values, axis=-2, keepdims=True, where=finite) / count
        centred = np.where(finite, values - mean, 0.0)
        total = np.sum(centred**2, axis=-2, keepdims=True) + LEAST_SPREAD**2 * count
        explained = _sums(centred, candidates) ** 2 * (1 / counts + 1 / (count - counts))
        scores: Values = -(count - 2) * np.log1p(-explained / total)
    enough = (counts >= SHORTEST) & (count - counts >= SHORTEST) & (count >= 2 * SHORTEST + 1)
    return np.where(enough, scores, 0.0)


def _sums(values: Values, candidates: Indices) -> Values:
    sums = np.pad(np.cumsum(values, axis=-2), [(0, 0)] * (values.ndim - 2) + [(1, 0), (0, 0)])
    inside: Values = sums[..., candidates[:, 1], :] - sums[..., candidates[:, 0], :]
    return inside


def _limit(
    part: Values, candidates: Indices, level: float, correlation: float, random: np.random.Generator
) -> float | None:
    """The score that resampled histories without a step reach anywhere with a probability of `level`. None if
    the highest score of `part` is below it; a few resampled histories often show that."""
    if not len(candidates):
        return None
    part = clip_outliers(part)
    finite = np.isfinite(part)
    highest = float(_scores(part, candidates).max(initial=0.0))
    if highest < _ROUNDING:
        return None
    draws = max(DRAWS, int(np.ceil(1 / level)))  # fewer could not show so small a probability
    allowed = int(level * (draws + 1)) - 1  # resampled histories that may have a higher score
    filled = _fill_missing(part, finite, random)
    filled -= filled.mean(axis=0)
    reached: list[Values] = []
    higher = 0
    for begin in range(0, draws, _AT_ONCE):
        count = min(_AT_ONCE, draws - begin)
        order = random.permuted(np.tile(np.arange(len(part)), (count, 1)), axis=1)
        resampled = np.where(finite, _correlate(filled[order], correlation), np.nan)
        reached.append(_scores(resampled, candidates).max(axis=(-2, -1)))
        higher += int((reached[-1] >= highest).sum())
        if higher > allowed:
            return None
    return float(np.sort(np.concatenate(reached))[-allowed - 1])


def _fill_missing(part: Values, finite: Mask, random: np.random.Generator) -> Values:
    """`part` with missing values replaced by random values of the same series."""
    filled = np.where(finite, part, 0.0)
    for series in np.flatnonzero(finite.any(axis=0) & ~finite.all(axis=0)):
        present = finite[:, series]
        filled[~present, series] = random.choice(part[present, series], int((~present).sum()))
    return filled


def _correlate(noise: Values, correlation: float) -> Values:
    """Autoregressive series made from this noise, shape (draws, sessions, series)."""
    if not correlation:
        return noise
    series = np.empty_like(noise)
    series[:, 0] = noise[:, 0] / np.sqrt(1 - correlation**2)
    for session in range(1, noise.shape[1]):
        series[:, session] = correlation * series[:, session - 1] + noise[:, session]
    return series


def _sizes(
    series: Values, places: list[int], confidence: float, correlation: float, least: float
) -> list[tuple[int, float, float, float, int | None]]:
    """Session, size and interval of each step, and the session at which the old level is back or None.
    Student's interval uses the spread of all levels; correlated sessions count as fewer. A level is the old
    one if their difference is less than half of the step, and less than its error or `least`."""
    levels = [level[np.isfinite(level)] for level in np.split(series, places)]
    degrees = max(1, sum(map(len, levels)) - len(levels))
    variance = sum(float(((level - level.mean()) ** 2).sum()) for level in levels) / degrees
    variance = max(variance, LEAST_SPREAD**2) * (1 + correlation) / (1 - correlation)
    reach = float(stdtrit(degrees, 0.5 + confidence / 2))
    steps: list[tuple[int, float, float, float, int | None]] = []
    for number, (at, old, new) in enumerate(zip(places, levels, levels[1:], strict=False)):
        size = float(new.mean() - old.mean())
        half = reach * float(np.sqrt(variance * (1 / len(old) + 1 / len(new))))
        if steps and steps[-1][4] is None:
            first = levels[number - 1]
            error = reach * float(np.sqrt(variance * (1 / len(first) + 1 / len(new))))
            if abs(new.mean() - first.mean()) <= min(max(error, least), abs(steps[-1][1]) / 2):
                steps[-1] = (*steps[-1][:4], at)
                continue
        steps.append((at, size, size - half, size + half, None))
    return steps


def _is_drift(series: Values, places: list[int]) -> bool:
    """Whether a straight line describes the series better than these levels (Schwarz, Ann. Stat. 6 (1978)
    461)."""
    sessions = np.flatnonzero(np.isfinite(series))
    values = series[sessions]
    levels = np.split(series, places)
    squares = sum(float(np.nansum((level - np.nanmean(level)) ** 2)) for level in levels)
    line = np.polyval(np.polyfit(sessions, values, 1), sessions)

    def criterion(squares: float, parameters: int) -> float:
        count = len(values)
        return float(count * np.log(squares / count + LEAST_SPREAD**2) + parameters * np.log(count))

    return criterion(float(((values - line) ** 2).sum()), 2) < criterion(squares, 2 * len(places) + 1)


def _slope(series: Values, confidence: float, correlation: float) -> tuple[float, float, float]:
    """Change along a straight line over the whole history, with its interval."""
    sessions = np.flatnonzero(np.isfinite(series))
    values, time = series[sessions], sessions - sessions.mean()
    slope = float(time @ values / (time @ time))
    residual = values - values.mean() - slope * time
    degrees = len(values) - 2
    variance = (
        max(float(residual @ residual) / degrees, LEAST_SPREAD**2) * (1 + correlation) / (1 - correlation)
    )
    half = float(stdtrit(degrees, 0.5 + confidence / 2)) * float(np.sqrt(variance / (time @ time)))
    length = len(series) - 1
    return slope * length, (slope - half) * length, (slope + half) * length


def _sloping(logs: Values, places: dict[int, list[int]], level: float, correlation: float) -> list[int]:
    """Series whose levels have a common slope (Student's test, Bonferroni)."""
    limit = level / max(1, int(np.isfinite(logs).any(axis=0).sum()))
    sloping = []
    for series in range(logs.shape[1]):
        parts = np.split(np.arange(len(logs)), places.get(series, []))
        levels = [part[np.isfinite(logs[part, series])] for part in parts]
        levels = [part for part in levels if len(part)]
        degrees = sum(map(len, levels)) - len(levels) - 1
        if degrees < FEWEST // 2:
            continue
        time = np.concatenate([part - part.mean() for part in levels])
        values = np.concatenate([logs[part, series] - logs[part, series].mean() for part in levels])
        squares = max(float(time @ time), 1.0)
        slope = float(time @ values) / squares
        variance = max(float(((values - slope * time) ** 2).sum()) / degrees, LEAST_SPREAD**2)
        error = float(np.sqrt(variance / squares * (1 + correlation) / (1 - correlation)))
        if abs(slope) > error * float(stdtrit(degrees, 1 - limit / 2)):
            sloping.append(series)
    return sloping
