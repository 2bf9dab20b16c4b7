"""The largest part of variance and what would help, in sentences. Pure."""

from __future__ import annotations

import math

from imb.compare.usual import FEWEST, sentences_of
from imb.compare.variance import CONFIDENCE, NAMES, TARGET, Name, Variance, VarianceComponent
from imb.model.units import NOT_KNOWN, counted, known_width
from imb.stats.arrays import LARGEST_LOG

PARTS: dict[Name, str] = {
    "within": "within a launch",
    "states": "states of the machine",
    "launches": "between launches",
}
_DOMINATES: dict[Name, str] = {
    "within": "the error within a launch dominates",
    "states": "states of the machine dominate",
    "launches": "the spread between launches dominates",
}
FEW_LAUNCHES = 3
DISTURBED = 0.5  # half of an interval, as a share: no machine at rest is so uncertain
MANY = 1000  # launches; above it no number is printed
MOST = 10.0  # a share; larger ones only show that nothing is known
UNKNOWN: dict[Name, str] = {
    "within": "too few samples for an interval",
    "states": "no probes",
    "launches": "no row has two launches that can be compared",
}


def percent(deviation: float) -> str:
    """A standard deviation of logarithms as `0.42 %`, `4.2 %` or `42 %`."""
    return share(math.expm1(min(deviation, LARGEST_LOG)))


def share(value: float) -> str:
    """A share in the same form; `above 1,000 %` from MOST on."""
    if value > MOST:
        return f"above {100 * MOST:,.0f} %"
    number = 100 * value
    return f"{number:.2f} %" if number < 1 else f"{number:.1f} %" if number < 10 else f"{number:,.0f} %"


def verdict(variance: Variance, *, figures: bool = True) -> str | None:
    """Which part is the largest, with the figures of all; None where no part is known."""
    if not variance.parts:
        return None
    first = variance.dominates
    if first is None and variance.in_passes and (lacking := unknown_parts(variance)):
        return f"largest part unknown: {', '.join(f'{PARTS[name]} ({why})' for name, why in lacking.items())}"
    if first is None:
        return "no spread above 0.01 %"
    shown = ": " + "; ".join(_figure(part, variance) for part in variance.parts) if figures else ""
    if not variance.in_passes:
        return f"launches differ by {percent(first.typical)}; of single bursts this includes the error of each launch"
    if len(variance.parts) == 1 or variance.certain:
        return f"{_DOMINATES[first.name]}{shown}"
    doubt = f" (not certain with {counted(variance.launches, 'launch')})"
    return f"largest part: {PARTS[first.name]}{doubt}{shown}"


def unknown_parts(variance: Variance) -> dict[Name, str]:
    """Components that are not known, and why."""
    return {
        name: "one launch" if name == "launches" and variance.all_launches < 2 else UNKNOWN[name]
        for name in NAMES
        if variance.part(name) is None
    }


def plus_minus(value: float) -> str:
    """Half of an interval, a share: `±4.2 %`; `n/a` where it is not known well enough to be one."""
    return f"±{share(value)}" if known_width(value) else NOT_KNOWN


def _figure(part: VarianceComponent, variance: Variance) -> str:
    if part.name == "within":
        wide = (
            f" (95 % interval {plus_minus(variance.half_width)})" if variance.half_width is not None else ""
        )
        return f"within a launch {percent(part.typical)}{wide}"
    return f"{PARTS[part.name]} {percent(part.typical)}{limits(part)}"


def limits(part: VarianceComponent) -> str:
    """` (90 % interval 4.0 % to 12 %)`, of the launches' part."""
    if part.low == part.high or math.isinf(part.high) or math.expm1(part.low) > MOST:
        return ""
    return f" ({100 * CONFIDENCE:.0f} % interval {percent(part.low)} to {percent(part.high)})"


def remedy(variance: Variance) -> str | None:
    """What would help, in one line with figures; None where nothing is known."""
    if not variance.in_passes:
        return _of_classic(variance)
    first = variance.dominates
    if first is None:
        return None
    if first.name == "launches":
        return _more_launches(variance)
    if first.name == "states":
        return _states(variance)
    return _more_passes(variance)


def _of_classic(variance: Variance) -> str | None:
    if variance.launches < 2:
        return None
    return f"{_more_launches(variance)}; passes (imb run --budget 30) separate launches, states of the machine and errors"


def _more_launches(variance: Variance) -> str:
    now, needed = variance.precision(), variance.needed()
    so_far = (
        f"most rows have {counted(variance.launches, 'launch')}"
        if now is None
        else f"the mean of {variance.launches} has a 95 % interval of {plus_minus(now)}"
        if known_width(now)
        else f"the mean of {variance.launches} is not known within ±100 %"
    )
    target = f"±{100 * TARGET:.0f} %"
    if now is not None and now <= TARGET:
        return f"{so_far}, which more launches would narrow"
    many = f"more than {MANY:,}" if needed is None or needed > MANY else f"{needed:,}"
    return f"take more launches: {so_far}; {target} needs {many}"


def _more_passes(variance: Variance) -> str:
    wide = variance.half_width
    if wide is not None and wide > DISTURBED:
        first = 'find what disturbs the launches (imb doctor; "system events" in imb show RUN), then '
        halved = " halve the error"
    else:
        first = ""
        halved = " halve the error" + (f" to {plus_minus(wide / 2)}" if wide and known_width(wide) else "")
    seconds = 4 * (variance.seconds or 0.0)
    launches = (
        f"launches of {_seconds(seconds)}{_option(variance, seconds)}" if seconds else "four times as many"
    )
    return f"{first}take more passes: {launches}{halved}"


def _states(variance: Variance) -> str:
    stays, length = variance.stays, variance.seconds or 0.0
    unusual = len({each.launch for each in variance.unusual})
    in_dominant = (
        f"{unusual} of {counted(variance.all_launches, 'launch')} outside the dominant state"
        if unusual
        else "every launch saw the dominant state"
    )
    if stays is None:
        return f"{in_dominant}; duration of a state unknown"
    budget = stays.budget()
    if budget is None or stays.usual is None:
        return (
            f"{in_dominant}; launches are too short to see the machine change its state ({counted(stays.changes, 'change')} in"
            f" {_seconds(stays.seconds)}): take launches of {_seconds(4 * length)}{_option(variance, 4 * length)}"
        )
    cycle = (
        f"the machine is in its dominant state for {_seconds(stays.usual)} and away from it for {_seconds(stays.away_from_it or 0)}"
        f" (means of {counted(stays.changes, 'change')})"
    )
    if length >= budget and not unusual and variance.mixed:
        return (
            f"{cycle}; {in_dominant}, but {counted(variance.mixed, 'figure')} mix states: take launches of"
            f" {_seconds(4 * length)}{_option(variance, 4 * length)}"
        )
    if length >= budget and not unusual:
        return f"{cycle}; {in_dominant}, and figures are of that state"
    if unusual:  # stays may well be longer than such a launch
        budget = max(budget, 2 * length)
    seconds = max(_rounded(budget), 1.0)
    return f"{cycle}; {in_dominant}; about 95 % of launches of {_seconds(seconds)}{_option(variance, seconds)} see it"


def _option(variance: Variance, seconds: float) -> str:
    """The option that makes a launch last so long: the one of the limit that ended it."""
    most = variance.limits.passes if variance.limits else None
    if most and variance.seconds and (variance.passes or 0) >= most:
        return f" (imb run -- -passes {math.ceil(most * seconds / variance.seconds)})"
    return f" (imb run --budget {_rounded(seconds):g})"


def _rounded(seconds: float) -> float:
    """Up to two digits."""
    if seconds <= 0:
        return 0.0
    digits = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / digits) * digits


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s"


def notes(variance: Variance) -> list[str]:
    """Notes: launches outside the dominant state, unknown components."""
    sentences = sentences_of(variance.unusual)
    lacking = unknown_parts(variance)
    if variance.in_passes and "states" in lacking:
        sentences.append(f"states of the machine unknown: {lacking['states']}")
    if variance.in_passes and "within" in lacking:
        sentences.append(f"error of a launch's median unknown: {lacking['within']}")
    if variance.all_launches < 2:
        sentences.append("spread of launches unknown: one launch")
    elif variance.launches < FEW_LAUNCHES:
        sentences.append(
            f"spread of launches uncertain: most rows have {counted(variance.launches, 'launch')}"
        )
    if variance.mixed:
        sentences.append(
            f"{counted(variance.mixed, 'figure')} (of a row and a launch) mix states of the machine, as too few samples saw the fastest;"
            " not compared with others"
        )
    if variance.in_passes and not variance.unusual and 1 < variance.all_launches < FEWEST:
        sentences.append(f"detecting launches outside the dominant state needs {FEWEST} launches")
    return sentences
