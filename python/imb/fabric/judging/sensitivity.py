"""What would reveal a slow host that a sweep may miss: numbers and sentences. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imb.model.units import percent_text

DIFFERENT = 2.0  # endpoints that vary by this many times what their pairs explain differ by nature, however many passes
# Part of the wanted effect that must be detectable: the estimate is uncertain, and several slow elements reduce it.
SURE = 0.9
MISSED = 2.0  # a verdict that would miss a host slower by this many times the smallest relevant slowdown is inconclusive
HUGE = float(np.log(10.0))  # ten times as long; a larger value has no meaning
_MOST_PASSES = 1000
LACKING = "the topology file lacks hosts, so the distances of their pairs are unknown: add them"


def lacks_hosts(classes: Sequence[str]) -> bool:
    """Whether some class of pairs has an unknown distance."""
    return any(name.startswith("unknown distance") for name in classes)


def times_as_much(detectable: float, wanted: float) -> float:
    """How many times the present passes (or pairs) are needed to detect `wanted`, if they detect `detectable`
    (logarithms): errors fall with the root of their number."""
    return (detectable / wanted / SURE) ** 2


def passes_advice(passes: int, detectable: float, wanted: float, *, whole: bool) -> str:
    """What to do if no number of passes detects `wanted` (a logarithm), or "" if one does. `whole`: all pairs
    were measured."""
    if passes * times_as_much(detectable, wanted) < _MOST_PASSES:
        return ""
    if whole:
        return "more passes do not suffice, and all pairs were measured: measure on an idle fabric, or give a larger --relevant"
    return "more passes of these pairs do not suffice, measure more pairs"


def remedy(
    detectable: float, wanted: float, widened: float, passes: int, classes: Sequence[str], *, whole: bool
) -> str:
    """What would detect an effect of `wanted` (a logarithm): the required passes, if the error falls with the
    root of their number. `classes`: names of the classes of pairs."""
    if passes < 2:
        return "a host may be missed however slow it is: nothing is named that a second pass did not confirm; measure 2 passes or more"
    if not np.isfinite(detectable):
        return "a host may be missed however slow it is; measure more pairs"
    if detectable > HUGE:
        return "far too noisy; measure on an idle fabric"
    head = f"a host slower by less than {percent_text(float(np.expm1(detectable)), 1)} may be missed"
    if lacks_hosts(classes):
        return f"{head}; {LACKING}"
    if widened > DIFFERENT:
        return f"{head}; more passes do not help, as endpoints differ by more than the noise of their pairs"
    if why := passes_advice(passes, detectable, wanted, whole=whole):
        return f"{head}; {why}"
    needed = passes * times_as_much(detectable, wanted)
    return f"{head}; for {percent_text(float(np.expm1(wanted)))} it would need about {np.ceil(needed):.0f} passes"
