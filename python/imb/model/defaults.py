"""Defaults that the help of commands states and the rest of `imb` uses. They are here, so that no help page needs NumPy."""

from __future__ import annotations

RELEVANT = 0.05  # smallest change that matters, as a share
RELEVANT_STEP = 0.02  # smallest step of a history that is reported, as a share
BANDS = "1-32,64-4K,8K-256K,512K-4M"  # of message sizes
LAUNCHES = 10  # of each variant, if they do not stop when decided
SEGMENTS = 100  # in which imb ab interleaves launches
