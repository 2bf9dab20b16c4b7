"""Marks, speedups and short numbers, equal on the terminal and on pages; letters of sides."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from imb.compare.comparison import ComparisonVerdict, Effect
from imb.model.units import percent_digits, percent_text
from imb.stats.arrays import Values

# No mark can be mistaken for the sign of a number.
MARKS = {
    "faster": "▲",
    "slower": "▼",
    "same": "=",
    "slightly faster": "△",
    "slightly slower": "▽",
    "inconclusive": "?",
}
WHOLE_MARKS = {**MARKS, "mixed": "◆", "not slower": "≥"}
ALONE = frozenset({"same", "differs"})  # verdicts that the interval of a band or row alone decides
CHANGED: frozenset[ComparisonVerdict] = frozenset({"faster", "slower", "differs"})
NOT_ESTIMABLE = "not estimable"
TO, TIMES = "\u2013", "\u00d7"  # en dash, multiplication sign
_LEAST = 1e-6  # least speedup that counts as known; no benchmark differs by so much


def legend(relevant: float) -> str:
    """All marks with their meaning, on one line."""
    less = f"less than {percent_text(relevant)}"
    return f"▲ faster, ▼ slower, = same, △ ▽ slightly faster, slower ({less}), ? inconclusive"


def word_of(verdict: ComparisonVerdict, speed: float) -> str:
    """The verdict on a band or row as it is shown. `differs` becomes slightly slower or slightly faster."""
    return f"slightly {'slower' if speed < 1 else 'faster'}" if verdict == "differs" else verdict


class Interval(NamedTuple):
    """The interval of a speedup; 0 and infinity are unknown ends. `confidence`: in percent, or None if it
    holds for all bands and rows together (CompareSettings.intervals)."""

    low: float
    high: float
    confidence: float | None


def interval_of(effect: Effect) -> Interval | None:
    """The interval of an effect that is shown everywhere, or None if it is unknown."""
    if effect.interval is None:
        return None
    low, high = effect.interval
    alone = None if effect.adjusted else 100 * (effect.confidence or 0.95)
    return Interval(low or 0.0, math.inf if high is None else high, alone)


def speedup(effect: Effect) -> str:
    """`0.90x (slower)`, `1.43x (faster)`, `0.0056x (slower)`; the number never depends on the verdict."""
    return f"{factor(effect.speed)}x ({word_of(effect.verdict, effect.speed)})"


def short_speedup(speed: float, verdict: ComparisonVerdict) -> str:
    """The speedup with a mark for the verdict: `0.90x ▼`."""
    return f"{factor(speed)}x {MARKS[word_of(verdict, speed)]}"


def bracketed_interval(effect: Effect) -> str:
    """The interval next to `speedup`: `[0.88, 0.92]`; `[0.98, 1.01] 95 %` if it holds for this band or row
    alone; `not estimable`; or empty if it is unknown."""
    interval = interval_of(effect)
    if interval is None:
        return ""
    if not is_estimable(interval.low, interval.high):
        return NOT_ESTIMABLE
    return interval_text(interval.low, interval.high) + (
        "" if interval.confidence is None else f" {interval.confidence:.3g} %"
    )


def is_estimable(low: float, high: float) -> bool:
    """Whether an interval of a speedup excludes anything. NaN is an unknown end."""
    return low >= _LEAST or high <= 1 / _LEAST


def has_both_ends(low: float, high: float) -> bool:
    """Whether both ends of an interval of a speedup are known, so that it can be drawn."""
    return low >= _LEAST and high <= 1 / _LEAST


def interval_text(low: float, high: float) -> str:
    """An interval of a speedup as text, used everywhere: `[0.88, 0.92]`, or that it cannot be estimated."""
    return f"[{factor(low)}, {factor(high)}]" if is_estimable(low, high) else NOT_ESTIMABLE


def factor(speed: float) -> str:
    """A speedup as text, used everywhere: `0.57`, `2.28`, `10.6`, `106`, `0.028`; `0` and `inf` for unknown
    ends of an interval."""
    if speed < _LEAST:
        return "0"
    return "inf" if speed > 1 / _LEAST else _digits(speed)


def _digits(value: float) -> str:
    """The value with two decimals; from 10 up with three digits, below 0.1 with two."""
    if value < 9.995:
        return f"{value:.2f}" if value >= 0.0995 else f"{value:#.2g}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}" if value < 99999.5 else f"{value:.0e}"


def slower_or_faster(speed: float, low: float | None, high: float | None) -> tuple[str, float, float, float]:
    """A speedup and its interval as a word and three shares: `("slower", 0.03, 0.01, 0.05)` for 0.97 [0.95,
    0.99]. Slower means more time, or less bandwidth. If an end is unknown, the second share is 0 or the last
    is infinite."""
    if speed < 1:
        return "slower", 1 / speed - 1, 1 / (high or 1) - 1, 1 / low - 1 if low else math.inf
    return "faster", speed - 1, (low or 1) - 1, math.inf if high is None else high - 1


def size_of(speed: float) -> str:
    """A difference in words: `52 % slower`, `3.1 % faster`; above a factor of two `58.6 times as slow`, `2.28
    times as fast`."""
    word, share, *_ = slower_or_faster(speed, None, None)
    if share < 1:
        return f"{percent_digits(share)} % {word}"
    return f"{_digits(1 + share)} times as {'slow' if word == 'slower' else 'fast'}"


def letter(number: int) -> str:
    """The letter of a side, counted from 0: A, B, ..., Z, S27, S28, ..."""
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def positive_values(values: Values) -> Values:
    """The values, with NaN for values that have no logarithm (0 or less)."""
    return np.where(values > 0, values, np.nan)


def short_number(value: float) -> float | None:
    """The value with four digits, or None if it is not finite. Launches repeat less exactly, and the file
    stays small."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def digits(value: float | None) -> str:
    """The value with at most three digits, or a dash if it is unknown."""
    if value is None:
        return TO
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
