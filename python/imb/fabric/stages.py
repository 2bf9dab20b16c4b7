"""What to measure next: the stages of a sweep, after each of which all that was measured is judged. Pure.

As long as a slow host could be missed, as many passes again as there are follow; in a quick search, which has few rounds at first, other
rounds as long as there are any, since pairs that were not measured yet tell more than those measured again. From then on it has targeted
rounds, as long as one suspect is suspected again: noise names others at each look. So each look has a share of the level, and all shares
add up to 1: together they have the level (alpha spending: Lan and DeMets, Biometrika 70 (1983) 659; Bonferroni between looks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Literal, NamedTuple

from imb.fabric.inference import FEWEST_ENDPOINTS, UNLIKELY
from imb.fabric.rounds import Circle, Round, few_rounds, targeted_rounds, whole_sweep
from imb.fabric.sensitivity import DIFFERENT, times_as_much
from imb.fabric.verdict import Suspect, Verdict
from imb.model.units import as_percent

FIRST = 4  # passes, two of each direction
QUICK_FIRST = 3  # of rounds whose pairs have one direction
DOUBLED = 4  # times
TARGETED = 4  # stages of targeted rounds, at most
_FIRST_LOOK = 0.5  # share of the level: most searches end with it
_MORE = (
    1.25  # times the rounds that the last look expects to suffice: another launch costs more than some rounds
)
_LISTED = 2048  # endpoints of which all pairs are listed: each rank has the list
Size = tuple[str, int]


class Stage(NamedTuple):
    """`rounds`: some of all pairs; None: all. `sizes`: benchmarks and bytes. `why`: "again": these rounds were measured before; "wider": other
    rounds of all endpoints; "targeted": rounds of suspects."""

    rounds: Collection[Round] | None
    passes: int
    sizes: list[Size]
    why: Literal["first", "again", "wider", "targeted"] = "first"


def sweep_search(sizes: list[Size], wanted: float, judge: Callable[[int], Verdict]) -> Iterator[Stage]:
    """The stages of a sweep of all pairs, which are to be measured before the next one is asked for. `judge`: the verdict on all that was
    measured, in this look, from 1 on. `wanted`: a host slower by this is not to be missed."""
    passes = FIRST
    yield Stage(None, passes, sizes)
    for look in range(1, DOUBLED + 1):
        undecided = undecided_sizes(judge(look), wanted, passes, FIRST << DOUBLED)
        if not undecided:
            return
        yield Stage(None, passes, [one for one in sizes if one in undecided], "again")
        passes *= 2


def quick_search(
    n: int,
    seed: int,
    sizes: list[Size],
    wanted: float,
    judge: Callable[[int], Verdict],
    passes: int | None = None,
) -> Iterator[Stage]:
    """As sweep_search, of few rounds; of others while a slow host could be missed, of all where more than half are expected to be needed;
    and of targeted ones. In all never more rounds than those of all pairs, and from then on as sweep_search. `passes`: of each stage, with targeted rounds only."""
    many = few_rounds(n)
    each = done = passes or QUICK_FIRST
    yield Stage(Circle(n, seed, 0, many), each, sizes)
    if n < FEWEST_ENDPOINTS:
        return
    whole, most = whole_sweep(n), QUICK_FIRST << DOUBLED
    extra = targeted = 0
    before: set[tuple[str, str]] | None = None
    for look in range(1, looks(n, quick=True)):
        verdict = judge(look)
        left = whole - many - extra
        short = {} if passes else short_sizes(verdict, wanted, done * many / whole, most, links=left > 0)
        if short and left > 0:
            further = max(many, math.ceil(many * (_MORE * max(short.values()) - 1)))
            more = further if 2 * (many + further) <= whole else left
            rounds = None if more == left and n > _LISTED else Circle(n, seed, many, many + more)
            yield Stage(rounds, done, [one for one in sizes if one in short], "wider")
            many += more
            continue
        if passes is None and left <= 0:
            undecided = undecided_sizes(verdict, wanted, done, most)
            if not undecided or done >= most:
                return
            yield Stage(None, done, [one for one in sizes if one in undecided], "again")
            done *= 2
            continue
        unclear: set[tuple[str, str]] = {(one.kind, one.name) for one in unclear_suspects(verdict)}
        if left <= 0 or targeted == TARGETED or not unclear or (before is not None and not unclear & before):
            return
        chosen = targeted_rounds(verdict, n, seed + look)[:left]
        if not chosen:
            return
        before = unclear
        extra += len(chosen)
        targeted += 1
        yield Stage(chosen, each, sizes, "targeted")


def looks(n: int, *, quick: bool) -> int:
    """At most, the last one included: after the first stage, after each that doubles the passes or rounds, and after each targeted one."""
    wider = math.ceil(math.log2(whole_sweep(n) / few_rounds(n))) if n > 1 else 0
    return 1 + DOUBLED + (wider + TARGETED if quick else 0)


def share_of_look(look: int, n: int, *, quick: bool) -> float:
    """Of the level: half for the first look, equal parts for the others."""
    return _FIRST_LOOK if look == 1 else (1 - _FIRST_LOOK) / (looks(n, quick=quick) - 1)


def undecided_sizes(verdict: Verdict, wanted: float, passes: int, most: int) -> set[Size]:
    """Benchmarks and bytes that more passes may decide: with a suspect that is not named though something speaks for it, or that are
    too short; not those whose endpoints differ by nature."""
    found = {
        (one.benchmark, one.bytes) for one in unclear_suspects(verdict) if not one.named and one.separable
    }
    differ = {(one.benchmark, one.bytes) for one in verdict.per_size if one.widened > DIFFERENT}
    return found - differ | short_sizes(verdict, wanted, passes, most).keys()


def short_sizes(
    verdict: Verdict, wanted: float, passes: float, most: int, *, links: bool = False
) -> dict[Size, float]:
    """Those in which a host, or one of most links if `links`, slower by `wanted` could be missed after so many passes (of all pairs: few rounds
    are a part of one), and how many times as much is needed, unless that is more than `most`, or no number of passes would do."""
    found: dict[Size, float] = {}
    for one in verdict.per_size:
        if one.widened > DIFFERENT or passes >= most:
            continue
        for detectable in (one.detectable, one.of_links) if links else (one.detectable,):
            times = times_as_much(math.log1p(detectable), math.log1p(wanted))
            if 1 < times <= most / passes:  # false for NaN
                key = one.benchmark, one.bytes
                found[key] = max(times, found.get(key, times))
    return found


def after_quick(verdict: Verdict, n: int, wanted: float, most: int) -> str:
    """What to measure next where a quick search ends undecided: a full sweep, with the passes that show a host slower by `wanted`, of
    `most` at most. The error of a host falls with the root of its pairs and passes."""
    differ = any(one.widened > DIFFERENT for one in verdict.per_size)  # the notes have that
    judged = any(not math.isnan(one.detectable) for one in verdict.per_size)  # else too few pairs answered
    if verdict.state != "inconclusive" or n < FEWEST_ENDPOINTS or differ or not judged:
        return ""
    words = f"undecided within --quick; next: a full sweep of {whole_sweep(n):,} rounds (omit --quick)"
    if all(one.pairs >= n * (n - 1) // 2 for one in verdict.per_size):
        words = "undecided; --quick had all pairs; next: a full sweep (omit --quick)"
    if any(math.isinf(one.detectable) for one in verdict.per_size):
        return f"{words}; too few pairs for an estimate of its passes"
    passes = [0.0]
    for one in verdict.per_size:
        if math.isfinite(one.detectable):
            met = one.pairs / (n * (n - 1) / 2)
            passes.append(one.passes * met * times_as_much(math.log1p(one.detectable), math.log1p(wanted)))
    many = max(math.ceil(max(passes)), 1)
    if many <= most:
        return f"{words} with --passes {many} or more, for hosts slower by {as_percent(wanted)}"
    return f"{words} on an idle fabric; a host slower by {as_percent(wanted)} would need more than {most:,} passes"


def unclear_suspects(verdict: Verdict) -> list[Suspect]:
    """Those that further rounds may name, clear, or separate from others; not those that noise has at every look."""
    return [one for one in verdict.suspects if one.p_value < UNLIKELY and (not one.named or one.alternatives)]
