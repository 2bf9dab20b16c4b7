"""Differences that are too large for sessions to explain them, by the bound of docs/evidence/verdicts.md, where sessions are too few for a
test. Pure."""

from __future__ import annotations

import warnings

import numpy as np

from imb.model.units import count_of
from imb.stats.arrays import Values
from imb.stats.shift import FEWEST

FACTOR = 4.0  # states of one machine that were recorded are up to 2.5 times as slow
# Not p90, p99 and overlap, which differ by as much between sessions.
METRICS = frozenset({"time", "time_avg", "time_min", "p50", "bandwidth", "messages"})


def session_bound_signs(a: Values, b: Values) -> list[int]:
    """Of each column -1 where every launch of B is more than FACTOR times as slow as the slowest of A, 1 where every one is as much
    faster than the fastest, else 0. a, b: logarithms of speed, shape (launches, columns), NaN where a launch lacks it; FEWEST launches
    of a side decide something."""
    enough = np.minimum(np.isfinite(a).sum(axis=0), np.isfinite(b).sum(axis=0)) >= FEWEST
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without any launch
        slower = np.nanmax(b, axis=0) < np.nanmin(a, axis=0) - np.log(FACTOR)
        faster = np.nanmin(b, axis=0) > np.nanmax(a, axis=0) + np.log(FACTOR)
    signs: list[int] = (enough * (faster.astype(int) - slower.astype(int))).tolist()
    return signs


def bound_reason(signs: list[int], a: str, b: str) -> str:
    """Why bands have a verdict in a comparison that permits none by test. `a`, `b`: letters of the sides."""
    return (
        f"{sum(map(abs, signs))} of {count_of(len(signs), 'band')} judged by a bound, not by a test: every launch of {b} is a factor of"
        f" {FACTOR:g} or more away from all of {a}, and sessions of one machine are not"
    )
