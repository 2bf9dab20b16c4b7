"""Numbers as text, the same everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from imb.model.errors import ImbError


def count_of(count: int, noun: str) -> str:
    """1 row, 2 rows, 1,000 launches."""
    return f"{count:,} {noun_for(count, noun)}"


def noun_for(count: int, noun: str) -> str:
    """`row` or `rows`, for a number that is written without separators."""
    return noun if count == 1 else f"{noun}{'es' if noun.endswith(('ch', 'ss')) else 's'}"


_BINARY = (("G", 30), ("M", 20), ("K", 10))


def size(count: float | None) -> str:
    """`0 bytes`, `64 bytes`, `4 KiB`; always exact: a length that is not a multiple of 1024 stays in bytes."""
    if count is None:
        return "no size"
    n = int(count)
    for prefix, power in _BINARY:
        if n >= 1 << power and n % (1 << power) == 0:
            return f"{n >> power} {prefix}iB"
    return f"{n} {noun_for(n, 'byte')}"


def short_size(count: float) -> str:
    """`4K` for 4096 bytes; a length that is not a multiple of 1024 stays in bytes."""
    n = int(count)
    for prefix, power in _BINARY:
        if n and n % (1 << power) == 0:
            return f"{n >> power}{prefix}"
    return str(n)


def amount(count: float) -> str:
    """A sum of bytes with decimal prefixes: `640 bytes`, `2.0 kB`, `31.4 MB`."""
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= power:
            return f"{count / power:.1f} {unit}"
    return f"{count:.0f} bytes"


def rounded_size(count: float) -> str:
    """A size of memory or of a file with binary prefixes, rounded: `640 bytes`, `63.9 MiB`, `1 GiB`."""
    for prefix, power in _BINARY:
        if count >= 1 << power:
            value = count / (1 << power)
            return f"{value:.3g} {prefix}iB" if value < 999.5 else f"{value:,.0f} {prefix}iB"
    return f"{count:.0f} bytes"


def sizes(lengths: Sequence[int | None]) -> str:
    """A list of up to three sizes, or the number of sizes with the first and the last."""
    if len(lengths) > 3:
        return f"{len(lengths)} message sizes from {size(lengths[0])} to {size(lengths[-1])}"
    return ", ".join(map(size, lengths))


def decimal(value: float) -> str:
    """A value in a table: two decimals; below 0.1 three significant digits, so that a small value is not shown as 0.00; from 10^12
    three digits and an exponent."""
    large = abs(value)
    return f"{value:.2f}" if value == 0 or 0.1 <= large < 1e12 else f"{value:.3g}"


def percent_text(share: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """`36 %`, `0.25 %`, `1,240 %`: three digits, or `decimals` decimals if given. `signed`: `+36 %`."""
    return f"{percent_number(share, decimals, signed=signed)} %"


def percent_number(share: float, decimals: int | None = None, *, signed: bool = False) -> str:
    """`percent_text` without its unit."""
    sign = "+" if signed else ""
    if decimals is None and abs(share) < 9.995:
        return f"{100 * share:{sign}.3g}"
    return f"{100 * share:{sign},.{decimals or 0}f}"


def percent_option(share: float) -> str:
    """`5%`, as options and files have it."""
    return f"{percent_number(share)}%"


def increase_text(share: float, *, signed: bool = True) -> str:
    """`+12.3 %`, or `12.3 %` if not `signed`; a multiple such as `x11` if the value is at least ten times as large; `-` for NaN."""
    if share != share:
        return "-"
    return percent_text(share, 1, signed=signed) if share < 9.995 else f"x{1 + share:.0f}"


def change_digits(ratio: float) -> str:
    """A ratio as a change in percent, `+52.0`; empty beyond a factor of two, as the ratio itself is clearer then."""
    return f"{100 * (ratio - 1):+.1f}" if 0.5 <= ratio <= 2 else ""


def parse_percent(percentage: str) -> float | None:
    """0.05 for `5%` or `5`; None if the text is not a number."""
    try:
        return float(percentage.strip().removesuffix("%")) / 100
    except ValueError:
        return None


def share_of(text: str, option: str) -> float:
    """The share 0.05 from `5%` or `5`. Raises ImbError unless it is above 0 and below 100: a change by a factor of 50 may be the smallest one
    that matters."""
    share = parse_percent(text)
    if share is None or not 0 < share < 100:
        raise ImbError(f"{option}: not a percentage above 0 and below 10000: {text}; give one such as 5%")
    return share


def percent_digits(share: float) -> str:
    """`3.1`, `52`, `1,240`: a difference in percent, with a decimal below 10."""
    return f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:,.0f}"


MOST_SPREAD = 10.0  # a share; a larger spread contains no information


def spread_percent(share: float) -> str:
    """A spread as text: `0.42 %`, `4.2 %`, `42 %`, or `above 1,000 %` (MOST_SPREAD)."""
    return f"{spread_number(share)} %"


def spread_number(share: float) -> str:
    """`spread_percent` without its unit."""
    if share > MOST_SPREAD:
        return f"above {percent_number(MOST_SPREAD)}"
    return percent_number(share, 2 if share < 0.01 else 1 if share < 0.1 else 0)


def us(seconds: float) -> str:
    """Microseconds with their unit."""
    micro = seconds * 1e6
    return f"{decimal(micro)} µs" if micro < 100 else f"{micro:,.0f} µs"


def duration(seconds: float) -> str:
    """`3.21 ms`, `12.4 s`, `1,240 s`."""
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def rough_duration(seconds: float) -> str:
    """A long or estimated duration: `40 s`, `12 min`, `3.5 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


NOT_KNOWN = "n/a"


def known_width(share: float | None) -> TypeGuard[float]:
    """Whether the half width of an interval (a share of the value) is usable: one above 1 says that the value is unknown."""
    return share is not None and share <= 1


def unit_of(metric: str) -> tuple[str, float]:
    """The unit in which a metric is shown, and the factor from its base unit (seconds, bytes per second, ...); 1 MB is 10^6 bytes."""
    units = {"bandwidth": ("MB/s", 1e-6), "messages": ("messages/s", 1.0), "overlap": ("%", 1.0)}
    return units.get(metric, ("µs", 1e6))


def megabytes(per_second: float) -> str:
    """A rate in bytes per second as MB/s (10^6 bytes) or GB/s (10^9 bytes)."""
    if per_second >= 1e9:
        return f"{per_second / 1e9:.2f} GB/s"
    return f"{per_second / 1e6:.1f} MB/s" if per_second >= 1e6 else f"{decimal(per_second / 1e6)} MB/s"


def abridge(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` names, with `…` if there are more: `a, b, …`."""
    return separator.join([*names[:most], *(["…"] if len(names) > most else [])])


def list_first(names: Sequence[str], most: int = 3, separator: str = ", ") -> str:
    """The first `most` names and the number of others: `a, b, c and 4 more`."""
    rest = len(names) - most
    return separator.join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def first_and_others(first: str, others: Sequence[str]) -> str:
    """`PingPong, 2 ranks; also Bcast, 2 ranks and 3 more`."""
    if not others:
        return first
    named = others if len(others) <= 2 else others[:1]
    rest = len(others) - len(named)
    return f"{first}; also {'; '.join(named)}{f' and {rest} more' if rest else ''}"
