"""Differences too large to be differences between sessions: the bound of docs/evidence/verdicts.md, used if
sessions are too few for a test. Pure."""

from __future__ import annotations

import warnings

import numpy as np

from imb.model.units import count_of
from imb.stats.arrays import Values
from imb.stats.shift import FEWEST

FACTOR = 4.0  # recorded states of one machine differ by a factor of up to 2.5
# Without p90, p99 and overlap: they differ by such a factor between sessions.
METRICS = frozenset({"time", "time_avg", "time_min", "p50", "bandwidth", "messages"})


def session_bound_signs(a: Values, b: Values) -> list[int]:
    """For each column: -1 if every launch of B is more than FACTOR times as slow as the slowest launch of A,
    1 if every launch of B is more than FACTOR times as fast as the fastest of A, otherwise 0. a, b:
    logarithms of speed, shape (launches, columns), NaN if a launch lacks the column. A column with fewer than
    FEWEST launches on a side has 0."""
    enough = np.minimum(np.isfinite(a).sum(axis=0), np.isfinite(b).sum(axis=0)) >= FEWEST
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any launch
        slower = np.nanmax(b, axis=0) < np.nanmin(a, axis=0) - np.log(FACTOR)
        faster = np.nanmin(b, axis=0) > np.nanmax(a, axis=0) + np.log(FACTOR)
    signs: list[int] = (enough * (faster.astype(int) - slower.astype(int))).tolist()
    return signs


def bound_reason(signs: list[int], a: str, b: str) -> str:
    """Why bands have a verdict although the comparison permits no test. `a`, `b`: letters of the sides."""
    return (
        f"{sum(map(abs, signs))} of {count_of(len(signs), 'band')} judged by a bound, not by a test: every launch of {b} is a factor of"
        f" {FACTOR:g} or more away from all of {a}, and sessions of one machine are not"
    )
