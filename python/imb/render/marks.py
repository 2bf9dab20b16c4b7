"""How pages say numbers and name sides."""

from __future__ import annotations

import numpy as np

from imb.model.observations import Values

MARKS = {"faster": "▲", "slower": "▼", "same": "=", "differs": "≈", "cannot tell": "?"}
TO, TIMES = "\u2013", "\u00d7"  # en dash, multiplication sign


def letter(number: int) -> str:
    """A, B, ... of a side, counted from 0."""
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def positive(values: Values) -> Values:
    """What is not above 0 has no logarithm: NaN."""
    return np.where(values > 0, values, np.nan)


def short(value: float) -> float | None:
    """Four digits are more than a launch repeats; the file stays small."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def digits(value: float | None) -> str:
    """At most three of them, or a dash for what is not known."""
    if value is None:
        return TO
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
