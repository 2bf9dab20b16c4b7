"""Where histories of many series change their level. Arrays in, steps out. Pure.

Series are logarithms of one figure per session, so a step of 0.05 is about 5 %. The error rate holds for all series and
all sessions together: max-T by resampling (Westfall and Young, Resampling-Based Multiple Testing, 1993). Sessions are
resampled whole, so series that are slow on the same day stay so. One session is like the next where nothing changed, but
for autocorrelation, which is estimated and put into the resampled histories (sieve bootstrap: Buehlmann, Bernoulli 3 (1997)
123). Several steps are found by binary segmentation (Vostrikova, Soviet Mathematics Doklady 24 (1981) 55).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from imb.judge.prediction import LEAST_SPREAD
from imb.judge.stats import noncentrality

Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

FEWEST = 8  # sessions of a history; docs/watch.md has the error rate at this length
SHORTEST = 2  # sessions of a level: one session that stands out is no step
NEIGHBORS = 3  # sessions on either side that decide whether one stands out
OUTLIER = 3.0  # standard deviations
DRAWS = 499  # resampled histories
_AT_ONCE = 37  # of them
_MOST_CORRELATED = 0.9
_ROUNDING = 1e-6  # scores below it are those of equal figures
_SEED = 20261123  # the same history gets the same answer


class Step(NamedTuple):
    """A series has another level from session `at` on. `size`: of the logarithm, the new level less the old one, with an
    interval [`low`, `high`]."""

    series: int
    at: int
    size: float
    low: float
    high: float


class Drift(NamedTuple):
    """A series that one straight line describes better than its steps; `size`: from the first session to the last one."""

    series: int
    size: float
    low: float
    high: float


class Found(NamedTuple):
    """Ordered by session, then by series. `correlation`: of the noise of one session with that of the next one."""

    steps: list[Step]
    drifts: list[Drift]
    correlation: float


def find_steps(logs: Values, level: float = 0.01, least: float = 0.0, confidence: float = 0.95) -> Found:
    """Steps and drifts of at least `least` (of the logarithm).

    logs: shape (sessions, series), in the order of time, NaN where a session lacks a series; infinities are refused.
    level: probability that a history without a change shows one anywhere. Intervals have this confidence after
    selection: false coverage rate (Benjamini and Yekutieli, J. Am. Stat. Assoc. 100 (2005) 71). Raises ValueError for
    fewer than FEWEST sessions, and for infinities.
    """
    if len(logs) < FEWEST or np.isinf(logs).any():
        raise ValueError(f"{FEWEST} sessions or more with finite figures are required")
    correlation = correlation_of(logs)
    places = _segmented(logs, level, correlation, np.random.default_rng(_SEED))
    logs = clipped(logs)
    drifting = [series for series, at in places.items() if _is_drift(logs[:, series], at)]
    share = len(places) / max(1, int(np.isfinite(logs).any(axis=0).sum()))
    wanted = 1 - (1 - confidence) * share
    steps = [
        Step(series, *one)
        for series, at in places.items()
        if series not in drifting
        for one in _sizes(logs[:, series], at, wanted, correlation)
    ]
    drifts = [Drift(series, *_slope(logs[:, series], wanted, correlation)) for series in sorted(drifting)]
    return Found(
        sorted((one for one in steps if abs(one.size) >= least), key=lambda one: (one.at, one.series)),
        [one for one in drifts if abs(one.size) >= least],
        correlation,
    )


def detectable_step(
    logs: Values, correlation: float, level: float, after: int, power: float = 0.95
) -> float | None:
    """The step at the end of the history that is found when `after` sessions follow it, in `power` of all cases, in the
    series with the median spread. An upper limit: the level is divided among sessions and series (Bonferroni). None where
    no series has a spread."""
    between = np.abs(np.diff(logs, axis=0))
    known = np.isfinite(between).sum(axis=0) >= FEWEST // 2
    if not known.any():
        return None
    spreads = _spread(np.nanmedian(between[:, known], axis=0), correlation)
    degrees = max(1, len(logs) - 2)
    reach = noncentrality(degrees, level / logs.size, power)
    size = 1 / after + 1 / max(1, len(logs) - after)
    return float(np.median(spreads) * reach * np.sqrt(size * (1 + correlation) / (1 - correlation)))


def _spread(between: Values, correlation: float) -> Values:
    """Standard deviations of a session, from median differences of neighbors, in which steps do not count."""
    spread: Values = np.maximum(1.4826 * between / np.sqrt(2 * (1 - correlation)), LEAST_SPREAD)
    return spread


def clipped(logs: Values) -> Values:
    """For sizes: sessions that stand out alone, moved to OUTLIER standard deviations from the median of their NEIGHBORS on either side
    (Hampel, J. Am. Stat. Assoc. 69 (1974) 383). A level that lasts is its own median, so it stays."""
    middle = np.full(logs.shape, np.nan)
    for session in range(len(logs)):
        near = logs[max(0, session - NEIGHBORS) : session + NEIGHBORS + 1]
        some = np.isfinite(near).any(axis=0)
        middle[session, some] = np.nanmedian(near[:, some], axis=0)
    away = np.abs(logs - middle)
    some = np.isfinite(away).any(axis=0)
    reach = np.zeros(logs.shape[1])
    reach[some] = OUTLIER * 1.4826 * np.nanmedian(away[:, some], axis=0) + LEAST_SPREAD
    return np.clip(logs, middle - reach, middle + reach)


def correlation_of(logs: Values) -> float:
    """Correlation of neighboring sessions, from 0 to 0.9, the same for all series: 1 + correlation is the ratio of squared
    differences two sessions apart to those one session apart, so levels and steps do not count (after Chakar, Lebarbier,
    Levy-Leduc and Robin, Bernoulli 23 (2017) 1408). The largest tenth of differences is left out: steps and outliers. One
    standard error is added, because a correlation that is missed makes false steps."""
    ratios = []
    for series in logs.T:
        known = series[np.isfinite(series)]
        if len(known) >= FEWEST and known.std() > LEAST_SPREAD:
            one, two = (_without_largest(np.abs(known[lag:] - known[:-lag])) for lag in (1, 2))
            if one > 0 and two > 0:
                ratios.append(np.log(two / one))
    if not ratios:
        return 0.0
    likely = float(np.exp(2 * np.mean(ratios))) - 1
    return float(np.clip(likely + len(logs) ** -0.5, 0.0, _MOST_CORRELATED))


def _without_largest(values: Values) -> float:
    return float(np.sort(values)[: max(1, int(0.9 * len(values)))].mean())


def _segmented(
    logs: Values, level: float, correlation: float, random: np.random.Generator
) -> dict[int, list[int]]:
    """Sessions at which series change, by series. Places are looked for in all series together, so that series which change
    together are seen to; each series keeps those that its own levels need."""
    limits: dict[int, float] = {}
    parts = [(0, len(logs))]
    while parts:
        begin, end = parts.pop()
        part = logs[begin:end]
        if end - begin < 2 * SHORTEST + 1:
            continue
        limit = _limit(part, level, correlation, random)
        if limit is not None:
            scores = _scores(_bounded(part), np.isfinite(part))
            at = begin + SHORTEST + int(np.unravel_index(np.argmax(scores), scores.shape)[0])
            limits[at] = limit
            parts += [(begin, at), (at, end)]
    kept = {series: _needed(logs[:, [series]], limits) for series in range(logs.shape[1])}
    return {series: places for series, places in kept.items() if places}


def _needed(series: Values, limits: dict[int, float]) -> list[int]:
    """Places at which two levels of this series differ by its score's limit, each between its neighbors; the weakest place
    is dropped first. series: shape (sessions, 1)."""
    places = sorted(limits)
    known = np.isfinite(series)
    while places:
        edges = [0, *places, len(series)]
        excess = [
            float(_scores(_bounded(series[begin:end]), known[begin:end])[at - begin - SHORTEST, 0])
            - limits[at]
            for begin, at, end in zip(edges, places, edges[2:], strict=False)
        ]
        weakest = int(np.argmin(excess))
        if excess[weakest] >= 0:
            break
        del places[weakest]
    return places


def _scores(values: Values, known: Mask) -> Values:
    """How much better two levels describe a series than one, shape (..., splits, series): (n - 2) log(squares about one
    level / squares about two), which is comparable between series of different length (Wallace, Ann. Math. Stat. 30 (1959)
    1124). Split s: the second level begins at s + SHORTEST. values: shape (..., sessions, series)."""
    before = np.cumsum(known, axis=-2)
    count = before[..., -1:, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.sum(values, axis=-2, keepdims=True, where=known) / count
        centred = np.where(known, values - mean, 0.0)
        inside = slice(SHORTEST - 1, values.shape[-2] - SHORTEST)
        sums = np.cumsum(centred, axis=-2)[..., inside, :]
        before = before[..., inside, :]
        behind: Values = count - before
        total = np.sum(centred**2, axis=-2, keepdims=True) + LEAST_SPREAD**2 * count
        explained = sums**2 * (1 / before + 1 / behind)
        scores: Values = -(count - 2) * np.log1p(-explained / total)
    enough = (before >= SHORTEST) & (behind >= SHORTEST) & (count >= 2 * SHORTEST + 1)
    return np.where(enough, scores, 0.0)


def _bounded(part: Values) -> Values:
    """Figures at most OUTLIER standard deviations from the median of their series, so that a few outliers hide no step;
    0 where there is none. The order of sessions does not matter to it, so that shuffled histories need no more of it."""
    some = np.isfinite(part).any(axis=0)
    middle, away = np.zeros(part.shape[1]), np.zeros(part.shape[1])
    middle[some] = np.nanmedian(part[:, some], axis=0)
    away[some] = 1.4826 * np.nanmedian(np.abs(part[:, some] - middle[some]), axis=0)
    reach = np.where(
        away > LEAST_SPREAD, OUTLIER * away, np.inf
    )  # most sessions are equal: no scale to go by
    bounded: Values = np.clip(np.where(np.isfinite(part), part, 0.0), middle - reach, middle + reach)
    return bounded


def _limit(part: Values, level: float, correlation: float, random: np.random.Generator) -> float | None:
    """The score that resampled histories without a step reach anywhere with a probability of `level`; None where the
    highest score of `part` is below it, which is often known after few of them."""
    known = np.isfinite(part)
    values = _bounded(part)
    highest = float(_scores(values, known).max(initial=0.0))
    if highest < _ROUNDING:
        return None
    draws = max(DRAWS, int(np.ceil(1 / level)))  # fewer could not show so small a probability
    allowed = int(level * (draws + 1)) - 1  # resampled histories that may be higher
    filled = _filled(values, known, random)
    filled -= filled.mean(axis=0)
    reached: list[Values] = []
    higher = 0
    for begin in range(0, draws, _AT_ONCE):
        count = min(_AT_ONCE, draws - begin)
        order = random.permuted(np.tile(np.arange(len(part)), (count, 1)), axis=1)
        made = _correlated(filled[order], correlation)
        reached.append(_scores(made, known).max(axis=(-2, -1)))
        higher += int((reached[-1] >= highest).sum())
        if higher > allowed:
            return None
    return float(np.sort(np.concatenate(reached))[-allowed - 1])


def _filled(part: Values, known: Mask, random: np.random.Generator) -> Values:
    """What is missing is drawn from the rest of the series."""
    filled = np.where(known, part, 0.0)
    for series in np.flatnonzero(known.any(axis=0) & ~known.all(axis=0)):
        there = known[:, series]
        filled[~there, series] = random.choice(part[there, series], int((~there).sum()))
    return filled


def _correlated(noise: Values, correlation: float) -> Values:
    """Autoregressive series of this noise, shape (draws, sessions, series)."""
    if not correlation:
        return noise
    made = np.empty_like(noise)
    made[:, 0] = noise[:, 0] / np.sqrt(1 - correlation**2)
    for session in range(1, noise.shape[1]):
        made[:, session] = correlation * made[:, session - 1] + noise[:, session]
    return made


def _sizes(
    series: Values, places: list[int], confidence: float, correlation: float
) -> list[tuple[int, float, float, float]]:
    """Place, size and interval of each step. Student, with the spread of all levels; correlated sessions count as fewer."""
    levels = [one[np.isfinite(one)] for one in np.split(series, places)]
    degrees = max(1, sum(map(len, levels)) - len(levels))
    variance = sum(float(((one - one.mean()) ** 2).sum()) for one in levels) / degrees
    variance = max(variance, LEAST_SPREAD**2) * (1 + correlation) / (1 - correlation)
    reach = float(stdtrit(degrees, 0.5 + confidence / 2))
    found = []
    for at, old, new in zip(places, levels, levels[1:], strict=False):
        size = float(new.mean() - old.mean())
        half = reach * float(np.sqrt(variance * (1 / len(old) + 1 / len(new))))
        found.append((at, size, size - half, size + half))
    return found


def _is_drift(series: Values, places: list[int]) -> bool:
    """Whether a straight line describes it better than these levels (Schwarz, Ann. Stat. 6 (1978) 461)."""
    known = np.flatnonzero(np.isfinite(series))
    values = series[known]
    levels = np.split(series, places)
    squares = sum(float(np.nansum((one - np.nanmean(one)) ** 2)) for one in levels)
    line = np.polyval(np.polyfit(known, values, 1), known)

    def criterion(squares: float, parameters: int) -> float:
        count = len(values)
        return float(count * np.log(squares / count + LEAST_SPREAD**2) + parameters * np.log(count))

    return criterion(float(((values - line) ** 2).sum()), 2) < criterion(squares, 2 * len(places) + 1)


def _slope(series: Values, confidence: float, correlation: float) -> tuple[float, float, float]:
    """Change along a straight line over the whole history, with an interval."""
    known = np.flatnonzero(np.isfinite(series))
    values, time = series[known], known - known.mean()
    slope = float(time @ values / (time @ time))
    residual = values - values.mean() - slope * time
    degrees = len(values) - 2
    variance = (
        max(float(residual @ residual) / degrees, LEAST_SPREAD**2) * (1 + correlation) / (1 - correlation)
    )
    half = float(stdtrit(degrees, 0.5 + confidence / 2)) * float(np.sqrt(variance / (time @ time)))
    length = len(series) - 1
    return slope * length, (slope - half) * length, (slope + half) * length
