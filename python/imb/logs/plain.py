"""Regular rows to numbers, a column at a time.

A row of IMB's tables has cells of 13 characters: a whole number right-aligned, or one with two decimals. Eight digits
are one 64-bit word, so a column of words becomes a column of numbers with a few operations on whole arrays. Rows that
have anything else are not taken here: the reader then looks at them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.logs.table import CELL, WHOLE, Array

_AT_ONCE = 16384  # rows: the words of a column stay in the cache
_WHOLE = WHOLE | {"msg/sec"}

_BLANKS_5 = np.uint64(0x20_2020_2020)
_LOW_5 = np.uint64(0xFF_FFFF_FFFF)
_ONES, _LOWS = np.uint64(0x0101010101010101), np.uint64(0x0F0F0F0F0F0F0F0F)


def columns_of(blocks: Sequence[bytes], columns: tuple[str, ...]) -> list[Array] | None:
    """All rows of all blocks as one array per column: int64, or float64 as printed. None if a row is not plain.

    Each block is rows of len(columns) * 13 characters with newlines between them.
    """
    text = b"\n".join([*blocks, b""])
    width = CELL * len(columns) + 1
    rows, rest = divmod(len(text), width)
    if rest:
        return None
    done = [np.empty(rows, np.int64 if name in WHOLE else np.float64) for name in columns]
    for first in range(0, rows, _AT_ONCE):
        last = min(rows, first + _AT_ONCE)
        if (_view(text, "u1", width, width - 1, first, last) != 10).any():
            return None
        for i, name in enumerate(columns):
            numbers = _column(text, width, CELL * i, first, last, whole=name in _WHOLE)
            if numbers is None:
                return None
            done[i][first:last] = numbers
    return done


def _view(text: bytes, kind: str, width: int, at: int, first: int, last: int) -> Array:
    """The characters at `at` of rows `first` to `last`, as little-endian words."""
    return np.ndarray((last - first,), kind, text, first * width + at, (width,)).copy()


def _column(text: bytes, width: int, at: int, first: int, last: int, *, whole: bool) -> Array | None:
    if whole:
        # Five blanks and eight digits. A longer number is rare enough for the other way.
        margin = _view(text, "<u8", width, at, first, last) & _LOW_5
        digits = _digits(_view(text, "<u8", width, at + 5, first, last))
        return None if digits is None or (margin != _BLANKS_5).any() else digits
    # Two blanks, eight digits, a dot, two decimals.
    margin = _view(text, "<u2", width, at, first, last)
    digits = _digits(_view(text, "<u8", width, at + 2, first, last))
    end = _view(text, "<u4", width, at + 9, first, last)
    low = end & np.uint32(0x0F0F000F)
    odd = (end ^ np.uint32(0x30302E30)) & np.uint32(0xF0F0FFF0)
    odd |= (low + np.uint32(0x06060006)) & np.uint32(0x10100010)
    if digits is None or odd.any() or (margin != 0x2020).any():
        return None
    decimals = ((low >> np.uint32(16)) & np.uint32(0xF)) * np.uint32(10) + (low >> np.uint32(24))
    # Hundredths are exact, and a division rounds correctly: the double is the one that float() gives.
    return (digits * 100 + decimals) / 100.0


def _digits(words: Array) -> Array | None:
    """The number in each word of blanks followed by at least one digit; None if a word is something else."""
    digit = (words >> np.uint64(4)) & _ONES
    value = words & _LOWS
    odd = (words ^ np.uint64(0x2020202020202020)) & np.uint64(0xE0E0E0E0E0E0E0E0)
    odd |= (value + np.uint64(0x0606060606060606)) & np.uint64(0x1010101010101010)
    odd |= value & ~(digit * np.uint64(15))
    odd |= (digit << np.uint64(8)) & ~digit  # a blank behind a digit
    odd |= (digit >> np.uint64(56)) ^ np.uint64(1)  # the last one is a digit
    if odd.any():
        return None
    value = (value * np.uint64(10) + (value >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    value = (value * np.uint64(100) + (value >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    value = (value * np.uint64(10000) + (value >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return value.astype(np.int64)
