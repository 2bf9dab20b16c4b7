"""What to measure next: the stages of a sweep, after each of which all that was measured is judged. Pure.

As long as a slow host could be missed, as many passes again as there are follow. A quick search has few rounds; from then on it has targeted
rounds, as long as one suspect is suspected again: noise names others at each look. So each look has a share of the level, and all shares
add up to 1: together they have the level (alpha spending: Lan and DeMets, Biometrika 70 (1983) 659; Bonferroni between looks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from imb.fabric.inference import FEWEST_ENDPOINTS
from imb.fabric.rounds import Round, quick_rounds, targeted_rounds, whole_sweep
from imb.fabric.sensitivity import DIFFERENT, SURE
from imb.fabric.verdict import SizeResult, Suspect, Verdict

FIRST = 4  # passes, two of each direction
QUICK_FIRST = 3  # of rounds whose pairs have one direction
DOUBLED = 4  # times
TARGETED = 4  # stages of targeted rounds, at most
_FIRST_LOOK = 0.5  # share of the level: most searches end with it
_UNLIKELY = 0.5  # adjusted p-value: noise has suspects of single pairs at every look
Size = tuple[str, int]


class Stage(NamedTuple):
    """`rounds`: None: of all pairs. `sizes`: benchmarks and bytes."""

    rounds: list[Round] | None
    passes: int
    sizes: list[Size]


def sweep_search(sizes: list[Size], wanted: float, judge: Callable[[int], Verdict]) -> Iterator[Stage]:
    """The stages of a sweep of all pairs, which are to be measured before the next one is asked for. `judge`: the verdict on all that was
    measured, in this look, from 1 on. `wanted`: a host slower by this is not to be missed."""
    passes = FIRST
    yield Stage(None, passes, sizes)
    for look in range(1, DOUBLED + 1):
        undecided = undecided_sizes(judge(look), wanted, passes, FIRST << DOUBLED)
        if not undecided:
            return
        yield Stage(None, passes, [one for one in sizes if one in undecided])
        passes *= 2


def quick_search(
    n: int,
    seed: int,
    sizes: list[Size],
    wanted: float,
    judge: Callable[[int], Verdict],
    passes: int | None = None,
) -> Iterator[Stage]:
    """As sweep_search, of few rounds and of targeted ones, which are never more than those of all pairs. `passes`: of each stage, without
    further ones."""
    first = quick_rounds(n, seed)
    each = done = passes or QUICK_FIRST
    yield Stage(first, each, sizes)
    if n < FEWEST_ENDPOINTS:
        return
    left = whole_sweep(n) - len(first)
    targeted = 0
    before: set[tuple[str, str]] | None = None
    for look in range(1, DOUBLED + TARGETED + 1):
        verdict = judge(look)
        if passes is None and (short := short_sizes(verdict, wanted, done, QUICK_FIRST << DOUBLED)):
            yield Stage(first, done, [one for one in sizes if one in short])
            done *= 2
            continue
        unclear: set[tuple[str, str]] = {(one.kind, one.name) for one in unclear_suspects(verdict)}
        if not left or targeted == TARGETED or not unclear or (before is not None and not unclear & before):
            return
        more = targeted_rounds(verdict, n, seed + look)[:left]
        if not more:
            return
        before = unclear
        left -= len(more)
        targeted += 1
        yield Stage(more, each, sizes)


def share_of_look(look: int, *, quick: bool) -> float:
    """Of the level: half for the first look, equal parts for the others."""
    others = DOUBLED + TARGETED if quick else DOUBLED
    return _FIRST_LOOK if look == 1 else (1 - _FIRST_LOOK) / others


def undecided_sizes(verdict: Verdict, wanted: float, passes: int, most: int) -> set[Size]:
    """Benchmarks and bytes that more passes may decide: with a suspect that is not named though something speaks for it, or that are
    too short; not those whose endpoints differ by nature."""
    found = {
        (one.benchmark, one.bytes)
        for one in verdict.suspects
        if not one.named and one.separable and one.p_value < _UNLIKELY
    }
    differ = {(one.benchmark, one.bytes) for one in verdict.per_size if one.widened > DIFFERENT}
    return found - differ | short_sizes(verdict, wanted, passes, most)


def short_sizes(verdict: Verdict, wanted: float, passes: int, most: int) -> set[Size]:
    """Those in which a host slower by `wanted` could be missed after so many passes, unless they would need more than `most`, or no number of
    them would do."""
    return {(one.benchmark, one.bytes) for one in verdict.per_size if _short(one, wanted, passes, most)}


def _short(size: SizeResult, wanted: float, passes: int, most: int) -> bool:
    ratio = math.log1p(size.detectable) / (SURE * math.log1p(wanted))
    return (
        size.widened <= DIFFERENT
        and math.isfinite(ratio)
        and ratio > 1
        and passes < most
        and passes * ratio**2 <= most
    )


def after_quick(verdict: Verdict, n: int, wanted: float, most: int) -> str:
    """What to measure next where a quick search ends undecided: a full sweep, with the passes that show a host slower by `wanted`, of
    `most` at most. The error of a host falls with the root of its pairs and passes."""
    differ = any(one.widened > DIFFERENT for one in verdict.per_size)  # the notes have that
    if verdict.state != "inconclusive" or n < FEWEST_ENDPOINTS or differ:
        return ""
    words = f"undecided within --quick; next: a full sweep of {whole_sweep(n):,} rounds (omit --quick)"
    if len(quick_rounds(n, 0)) == whole_sweep(n):
        words = "undecided; --quick had all pairs; next: the same"
    if any(math.isinf(one.detectable) for one in verdict.per_size):
        return f"{words}; too few pairs for an estimate of its passes"
    passes = [0.0]
    for one in verdict.per_size:
        if math.isfinite(one.detectable):
            met = one.pairs / (n * (n - 1) / 2)
            passes.append(one.passes * met * (math.log1p(one.detectable) / (SURE * math.log1p(wanted))) ** 2)
    many = max(math.ceil(max(passes)), 1)
    if many <= most:
        return f"{words} with --passes {many} or more, for hosts slower by {wanted:.0%}"
    return f"{words} on an idle fabric; a host slower by {wanted:.0%} would need more than {most:,} passes"


def unclear_suspects(verdict: Verdict) -> list[Suspect]:
    """Those that further rounds may name, clear, or separate from others."""
    return [one for one in verdict.suspects if not one.named or one.alternatives]
