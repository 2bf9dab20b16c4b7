"""Prediction interval for a new session, from earlier sessions, by Student's t. Arrays in, arrays out. Pure.

A column is a series (a curve in a size band); its values are logarithms, one per session. Earlier sessions
show how far sessions differ; so a single new session can be judged if there are FEWEST earlier ones (Hahn and
Meeker, Statistical Intervals, 1991, section 4.7). `level` is divided among the series (Bonferroni).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from imb.stats.arrays import Values
from imb.stats.error_rates import FALSE_CHECK
from imb.stats.shift import LEAST_SPREAD

FEWEST = 5  # earlier sessions that a prediction needs


class Prediction(NamedTuple):
    """Arrays of shape (series,). `size`: mean of the new sessions minus mean of the earlier ones; `error`:
    its standard error, with `degrees` of freedom; `earlier`: number of earlier sessions. `size` and `error`
    are NaN if there are fewer than FEWEST earlier sessions, or if no new session has the series. `before`
    (only of `predict_newest`): number of sessions directly before the newest that were outside their own
    limits on the same side."""

    size: Values
    error: Values
    degrees: Values
    earlier: Values
    before: Values | None = None

    def limit(self) -> Values:
        """The largest |size| of an unchanged session: the probability that any series exceeds it is at most
        FALSE_CHECK."""
        return self._reach(FALSE_CHECK / max(1, int(np.isfinite(self.size).sum())))

    def half_width(self, confidence: float) -> Values:
        """Half the width of the interval of each series alone."""
        return self._reach(1 - confidence)

    def _reach(self, outside: float) -> Values:
        reach: Values = self.error * stdtrit(np.maximum(self.degrees, 1), 1 - outside / 2)
        return reach


def limit_with(earlier: Values, many: int) -> float | None:
    """The limit of one new session in the median series, if there were `many` earlier sessions that differ as
    these do. None if no series has two of these."""
    several = np.isfinite(earlier).sum(axis=0) >= 2
    if not several.any():
        return None
    spread = np.maximum(np.nanstd(earlier[:, several], axis=0, ddof=1), LEAST_SPREAD)
    reach = stdtrit(many - 1, 1 - FALSE_CHECK / several.sum() / 2)
    return float(np.median(spread) * reach * np.sqrt(1 + 1 / many))


def predict(earlier: Values, new: Values) -> Prediction:
    """Predict new sessions from earlier ones. earlier, new: shape (sessions, series), NaN if a session lacks
    a series."""
    counts, several = np.isfinite(earlier).sum(axis=0), np.isfinite(new).sum(axis=0)
    enough = (counts >= FEWEST) & (several > 0)
    size, error = np.full(earlier.shape[1], np.nan), np.full(earlier.shape[1], np.nan)
    if enough.any():
        before, after = earlier[:, enough], new[:, enough]
        size[enough] = np.nanmean(after, axis=0) - np.nanmean(before, axis=0)
        spread = np.maximum(np.nanstd(before, axis=0, ddof=1), LEAST_SPREAD)
        error[enough] = spread * np.sqrt(1 / several[enough] + 1 / counts[enough])
    return Prediction(size, error, counts - 1.0, counts.astype(np.float64))


def predict_newest(logs: Values, begins: npt.NDArray[np.int64]) -> Prediction:
    """Compare the last session with the earlier sessions of its level, which begins at session `begins` of
    each series. A session that was outside its limits when it was new is left out, so that one bad night does
    not hide the next."""
    used = np.where(np.arange(len(logs))[:, None] >= begins, logs, np.nan)
    prediction = predict(used[:-1], used[-1:])
    before = np.zeros(logs.shape[1])
    for at in range(FEWEST, len(logs)):
        prediction = predict(used[:at], used[at : at + 1])
        if at < len(logs) - 1:
            outside = np.abs(prediction.size) > prediction.limit()
            used[at, outside] = np.nan
            side = np.where(outside, np.sign(prediction.size), 0.0)
            before = np.where(side == 0, 0.0, np.where(side == np.sign(before), before + side, side))
    same = np.sign(before) == np.sign(prediction.size)
    return prediction._replace(before=np.where(same, np.abs(before), 0.0))
