"""Sentences about the largest variance component. Pure."""

from __future__ import annotations

import math

from imb.compare.dominant_state import FEWEST, sentences_of
from imb.compare.variance import CONFIDENCE, NAMES, TARGET, Name, Variance, VarianceComponent
from imb.model.units import (
    MOST_SPREAD,
    NOT_KNOWN,
    count_of,
    known_width,
    percent_text,
    spread_number,
    spread_percent,
)
from imb.stats.arrays import LARGEST_LOG

PARTS: dict[Name, str] = {
    "within": "within a launch",
    "launches": "between launches",
}
_DOMINATES: dict[Name, str] = {
    "within": "the error within a launch dominates",
    "launches": "the spread between launches dominates",
}
FEW_LAUNCHES = 3
MANY = 1000  # largest number of launches that is recommended in figures
UNKNOWN: dict[Name, str] = {
    "within": "too few samples for an interval",
    "launches": "no row has two launches that can be compared",
}


def deviation_percent(deviation: float) -> str:
    """A standard deviation of logarithms as a percentage: `0.42 %`, `4.2 %` or `42 %`."""
    return f"{deviation_number(deviation)} %"


def deviation_number(deviation: float) -> str:
    """`deviation_percent` without its unit."""
    return spread_number(math.expm1(min(deviation, LARGEST_LOG)))


def verdict(variance: Variance, *, figures: bool = True) -> str | None:
    """Which component is the largest, with the values of all; None if no component is known, unless launches
    in passes have rows."""
    if not variance.parts and not (variance.in_passes and variance.rows):
        return None
    first = variance.largest_part
    if first is None and variance.in_passes and (lacking := unknown_parts(variance)):
        return f"largest part unknown: {', '.join(f'{PARTS[name]} ({why})' for name, why in lacking.items())}"
    if first is None:
        return "no spread above 0.01 %"
    shown = ": " + "; ".join(_figure(part, variance) for part in variance.parts) if figures else ""
    if not variance.in_passes:
        return f"launches differ by {deviation_percent(first.typical)}; in classic launches this includes the error of each launch"
    if len(variance.parts) == 1 or variance.certain:
        return f"{_DOMINATES[first.name]}{shown}"
    doubt = f" (not certain with {count_of(variance.launches, 'launch')})"
    return f"largest part: {PARTS[first.name]}{doubt}{shown}"


def unknown_parts(variance: Variance) -> dict[Name, str]:
    """The unknown components, and why each is unknown."""
    return {
        name: "one launch" if name == "launches" and variance.all_launches < 2 else UNKNOWN[name]
        for name in NAMES
        if variance.part(name) is None
    }


def plus_minus(value: float) -> str:
    """Half of an interval, relative, as `±4.2 %`, or `n/a` if it is unknown or too wide."""
    return f"±{spread_percent(value)}" if known_width(value) else NOT_KNOWN


def _figure(part: VarianceComponent, variance: Variance) -> str:
    if part.name == "within":
        wide = (
            f" (95 % interval {plus_minus(variance.half_width)})" if variance.half_width is not None else ""
        )
        return f"within a launch {deviation_percent(part.typical)}{wide}"
    return f"{PARTS[part.name]} {deviation_percent(part.typical)}{limits(part)}"


def limits(part: VarianceComponent) -> str:
    """` (90 % interval 4.0 % to 12 %)` of the component `launches`; empty if there is no interval or it is
    too wide."""
    if part.low == part.high or math.isinf(part.high) or math.expm1(part.low) > MOST_SPREAD:
        return ""
    return f" ({percent_text(CONFIDENCE, 0)} interval {deviation_percent(part.low)} to {deviation_percent(part.high)})"


def advice(variance: Variance) -> str | None:
    """What would reduce the largest component, or None if it is unknown or launches suffice for TARGET."""
    first = variance.largest_part
    if first is None:
        return None
    if first.name == "within":
        return "take more passes (a larger --launch-budget)"
    if (now := variance.precision()) is not None and now <= TARGET:
        return None
    needed = variance.launches_needed()
    many = f"more than {MANY:,}" if needed is None or needed > MANY else f"{needed:,}"
    return f"take more launches: ±{percent_text(TARGET, 0)} needs {many}"


def notes(variance: Variance) -> list[str]:
    """Notes on launches outside the dominant state and on unknown components."""
    sentences = sentences_of(variance.outside_launches)
    lacking = unknown_parts(variance)
    if variance.in_passes and "within" in lacking:
        sentences.append(f"error of a launch's median unknown: {lacking['within']}")
    if variance.all_launches < 2:
        sentences.append("spread of launches unknown: one launch")
    elif variance.launches < FEW_LAUNCHES:
        sentences.append(
            f"spread of launches uncertain: most rows have {count_of(variance.launches, 'launch')}"
        )
    if variance.mixed:
        sentences.append(
            f"{count_of(variance.mixed, 'value')} (of a row and a launch) mix states of the machine, as too few samples saw the fastest;"
            " not compared with others"
        )
    if variance.in_passes and not variance.outside_launches and 1 < variance.all_launches < FEWEST:
        sentences.append(f"detecting launches outside the dominant state needs {FEWEST} launches")
    return sentences
