"""Regular rows to numbers, a column at a time.

A row of IMB's tables has cells of 13 characters: a whole number right-aligned, or one with two decimals. Eight digits
are one 64-bit word, so a column of words becomes a column of numbers with a few operations on whole arrays. Rows that
have anything else are not taken here: the reader then looks at them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.logs.table import CELL, WHOLE, Array

_AT_ONCE = 16384  # rows, about: the words of a column and what is computed from them stay in the cache
_WHOLE = WHOLE | {"msg/sec"}

_BLANKS_5 = np.uint64(0x20_2020_2020)
_LOW_5 = np.uint64(0xFF_FFFF_FFFF)
_BLANKS_8 = np.uint64(0x2020202020202020)
_ONES, _LOWS = np.uint64(0x0101010101010101), np.uint64(0x0F0F0F0F0F0F0F0F)
_SIXES, _HIGHS = np.uint64(0x0606060606060606), np.uint64(0xF0F0F0F0F0F0F0F0)
_PAIRS, _FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_EIGHTS = np.uint64(0xFFFFFFFF)
_1, _4, _8, _10, _16 = (np.uint64(n) for n in (1, 4, 8, 10, 16))
_32, _56, _100, _10000 = (np.uint64(n) for n in (32, 56, 100, 10000))


def columns_of(blocks: Sequence[bytes], columns: tuple[str, ...]) -> list[Array] | None:
    """All rows of all blocks as one array per column: int64, or float64 as printed. None if a row is not plain.

    Each block is rows of len(columns) * 13 characters with newlines between them.
    """
    text = b"\n".join([*blocks, b""])
    width = CELL * len(columns) + 1
    rows, rest = divmod(len(text), width)
    if rest:
        return None
    lengths = set(map(len, blocks))
    period = (lengths.pop() + 1) // width if len(lengths) == 1 else 0
    at_once = _AT_ONCE // period * period if 0 < period <= _AT_ONCE else _AT_ONCE
    done = [np.empty(rows, np.int64 if name in WHOLE else np.float64) for name in columns]
    for first in range(0, rows, at_once):
        last = min(rows, first + at_once)
        if (_view(text, "u1", width, width - 1, first, last) != 10).any():
            return None
        for i, name in enumerate(columns):
            numbers = None
            if name in WHOLE and period and at_once % period == 0:
                numbers = _repeated(text, width, CELL * i, first, last, period)
            if numbers is None:
                numbers = _column(text, width, CELL * i, first, last, whole=name in _WHOLE)
            if numbers is None:
                return None
            done[i][first:last] = numbers
    return done


def _view(text: bytes, kind: str, width: int, at: int, first: int, last: int) -> Array:
    """The characters at `at` of rows `first` to `last`, as little-endian words."""
    return np.ndarray((last - first,), kind, text, first * width + at, (width,)).copy()


def _repeated(text: bytes, width: int, at: int, first: int, last: int, period: int) -> Array | None:
    """A column of whole numbers that has the same cells in each table of `period` rows, as lengths nearly always do. None
    where it has not."""
    for offset in (0, 5):  # two words cover the 13 characters
        words = _view(text, "<u8", width, at + offset, first, last).reshape(-1, period)
        if (words != words[0]).any():
            return None
    numbers = _column(text, width, at, first, first + period, whole=True)
    return None if numbers is None else np.tile(numbers, (last - first) // period)


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
    digits *= 100
    digits += decimals
    return digits / 100.0


def _digits(words: Array) -> Array | None:
    """The number in each word of blanks followed by at least one digit; None if a word is something else. Overwrites
    `words`: arrays that are used again stay in the cache."""
    value = np.bitwise_xor(words, _BLANKS_8, out=words)  # a blank is 0 now, a digit 0x10 to 0x19
    digit = value >> _4
    digit &= _ONES
    low = value & _LOWS
    # What is not 0 here is neither blank nor digit. A carry comes only from a byte that is found odd itself.
    odd = np.add(value, _SIXES, out=value)
    odd &= _HIGHS
    odd ^= digit << _4
    work = digit * np.uint64(15)
    np.invert(work, out=work)
    work &= low
    odd |= work
    np.left_shift(digit, _8, out=work)  # a blank behind a digit
    digit ^= _ONES
    work &= digit
    odd |= work
    digit >>= _56  # the last one is a digit
    odd |= digit
    if odd.any():
        return None
    np.right_shift(low, _8, out=work)
    low *= _10
    low += work
    low &= _PAIRS
    np.right_shift(low, _16, out=work)
    low *= _100
    low += work
    low &= _FOURS
    np.right_shift(low, _32, out=work)
    low *= _10000
    low += work
    low &= _EIGHTS
    return low.view(np.int64)
