"""How many passes a sweep of all pairs needs. Pure.

A sweep begins with FIRST passes. As long as a slow host could be missed, or a suspect is undecided, as many passes again as there are
follow, up to MOST in all. Each look at what is there has a share of the level (imb.fabric.rounds).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from imb.fabric.rounds import TARGETED
from imb.fabric.verdict import SizeResult, Verdict

FIRST = 4  # two of each direction
MOST = FIRST << TARGETED
_UNLIKELY = 0.5  # adjusted p-value: noise has suspects of single pairs at every look
_SURE = (
    0.9  # of what is wanted: what a sweep detects is an estimate, and less where several components are slow
)
Size = tuple[str, int]


def sweep_search(
    sizes: list[Size], wanted: float, judge: Callable[[int], Verdict]
) -> Iterator[tuple[int, list[Size]]]:
    """The passes of each stage and the sizes that need them, which are to be measured before the next stage is asked for. `judge`: the
    verdict on all that was measured, in this look, from 1 on. `wanted`: a host slower by this is not to be missed."""
    yield FIRST, sizes
    for look in range(1, TARGETED + 1):
        undecided = undecided_sizes(judge(look), wanted)
        if not undecided:
            return
        yield FIRST << (look - 1), [one for one in sizes if one in undecided]


def undecided_sizes(verdict: Verdict, wanted: float) -> set[Size]:
    """Benchmarks and bytes that more passes may decide: with a suspect that is not named though something speaks for it, or in which a
    host slower by `wanted` could be missed, unless far too many passes are missing."""
    found = {
        (one.benchmark, one.bytes) for one in verdict.suspects if not one.named and one.p_value < _UNLIKELY
    }
    return found | {(one.benchmark, one.bytes) for one in verdict.per_size if _short(one, wanted)}


def _short(size: SizeResult, wanted: float) -> bool:
    ratio = math.log1p(size.detectable) / math.log1p(_SURE * wanted)
    return math.isfinite(ratio) and ratio > 1 and size.passes * ratio**2 <= MOST
