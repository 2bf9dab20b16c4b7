"""How much a sweep measures. The help of `imb fabric` states it, without NumPy."""

from __future__ import annotations

FIRST = 4  # first passes of a sweep, two in each direction
QUICK_FIRST = 3  # first passes of a quick search, whose pairs have one direction
DOUBLED = 4  # most times that the passes are doubled
FURTHER = 600.0  # without --budget, further passes end within this many seconds
