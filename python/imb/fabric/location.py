"""The location of many values with long tails or several modes: Huber's (Ann. Math. Stat. 35 (1964) 73). Arrays in, figures out. Pure.

A median of two modes jumps between them. This location does not, as long as its bound is wider than the modes are apart; so all
values of one sweep have one bound.
"""

from __future__ import annotations

import numpy as np

from imb.fabric.medians import median, quantile
from imb.fabric.pairs import TO_DEVIATION
from imb.fabric.sweep import Values

_BOUND = 1.5  # standard deviations
_MOST = 0.9  # share of values that counts in full, at least
_STEPS = 8
_SAME = 1e-12  # of the bound


def bound(away: Values, least: float) -> float:
    """What counts in full: one bound for all, as the median absolute deviation of few values is narrow where there are two modes."""
    size = np.abs(away - median(away)) if len(away) else np.zeros(1)
    return max(_BOUND * TO_DEVIATION * median(size), quantile(size, _MOST), _BOUND * least)


def location(values: Values, scale: float, begin: float | None = None) -> float:
    """Huber's, from the median (`begin`, if it is known); `scale`: values farther away count as this far."""
    if not len(values):  # every pair crosses a slow component
        return 0.0
    found = median(values) if begin is None else begin
    for _ in range(_STEPS):
        away, inside = _bounded(values - found, scale)
        step = float(away.sum()) / len(away) / inside
        found += step
        if abs(step) <= _SAME * scale:  # from then on, the same values are within
            break
    return found


def deviation(values: Values, scale: float, around: float | None = None) -> float:
    """Standard deviation of one value in Huber's location (`around`, if it is known), from its asymptotic variance."""
    if not len(values):
        return 0.0
    around = location(values, scale) if around is None else around
    away, inside = _bounded(values - around, scale)
    return float(np.sqrt(np.mean(away**2)) / inside)


def _bounded(away: Values, scale: float) -> tuple[Values, float]:
    """Clipped deviations, and the share within the bound, at least a half."""
    within = np.count_nonzero(np.abs(away) < scale) / len(away)
    return away.clip(-scale, scale), max(within, 0.5)
