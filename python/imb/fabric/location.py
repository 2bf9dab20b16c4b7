"""The location of many values with long tails or several modes: Huber's (Ann. Math. Stat. 35 (1964) 73). Arrays in, figures out. Pure.

A median of two modes jumps between them. This location does not, as long as its bound is wider than the modes are apart; so all
values of one sweep have one bound.
"""

from __future__ import annotations

import numpy as np

from imb.fabric.pairs import TO_DEVIATION
from imb.fabric.sweep import Values

_BOUND = 1.5  # standard deviations
_MOST = 0.9  # share of values that counts in full, at least


def bound(away: Values, least: float) -> float:
    """What counts in full: one bound for all, as the median absolute deviation of few values is narrow where there are two modes."""
    size = np.abs(away - np.median(away)) if len(away) else np.zeros(1)
    usual = TO_DEVIATION * float(np.median(size))
    return max(_BOUND * usual, float(np.quantile(size, _MOST)), _BOUND * least)


def location(values: Values, scale: float) -> float:
    """Huber's, from the median; `scale`: values farther away count as this far."""
    if not len(values):  # every pair crosses a slow component
        return 0.0
    found = float(np.median(values))
    for _ in range(8):
        away = values - found
        inside = max(float(np.mean(np.abs(away) < scale)), 0.5)
        found += float(np.mean(np.clip(away, -scale, scale))) / inside
    return found


def deviation(values: Values, scale: float) -> float:
    """Standard deviation of one value in Huber's location, from its asymptotic variance."""
    if not len(values):
        return 0.0
    away = values - location(values, scale)
    inside = max(float(np.mean(np.abs(away) < scale)), 0.5)
    return float(np.sqrt(np.mean(np.clip(away, -scale, scale) ** 2)) / inside)
