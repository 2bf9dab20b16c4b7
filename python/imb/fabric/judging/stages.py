"""What to measure next: the stages of a sweep, after each of which all that was measured is judged. Pure.

As long as a slow host could be missed, as many passes again as there are follow; in a quick search, which has few rounds at first, other
rounds as long as there are any, since new pairs show more than those measured again. Where something is suspected after the first launch,
another one confirms it: some rounds of all endpoints, so that the suspects have controls. Single pairs that
stand out little are many, and are measured once more before that. What is undecided then is confirmed once more, and then has
further passes of all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from imb.fabric.judging.inference import FEWEST_ENDPOINTS
from imb.fabric.judging.round_plans import Circle, Round, confirming_rounds, few_rounds, whole_sweep
from imb.fabric.judging.sensitivity import DIFFERENT, times_as_much
from imb.fabric.judging.verdict import Verdict
from imb.model.units import percent_text

FIRST = 4  # passes, two of each direction
CONFIRMING = 3  # of each direction: of two, the lower median is the smaller one, which noise decides
QUICK_FIRST = 3  # of rounds whose pairs have one direction
DOUBLED = 4  # times that the passes are doubled, at most
# Times the rounds that the last look expects to suffice: another launch costs more than some rounds.
_MORE = 1.25
_LISTED = 2048  # endpoints of which all pairs are listed: each rank has the list
Size = tuple[str, int]


class Stage(NamedTuple):
    """`rounds`: some of all pairs, or None for all. `sizes`: benchmarks and bytes. `why`: "again": these rounds were measured before; "wider": other
    rounds of all endpoints; "confirm": what is suspected."""

    rounds: Collection[Round] | None
    passes: int
    sizes: list[Size]
    why: Literal["first", "again", "wider", "confirm"] = "first"


def search(
    n: int,
    seed: int,
    sizes: list[Size],
    wanted: float,
    judge: Callable[[], Verdict],
    *,
    quick: bool = False,
    passes: int | None = None,
) -> Iterator[Stage]:
    """The stages of a sweep, which are to be measured before the next one is asked for. `judge`: the verdict on all that was
    measured. `wanted`: a host slower by this is not to be missed. `passes`: of the only launch."""
    whole = whole_sweep(n)
    rounds_so_far = few_rounds(n) if quick else whole
    passes_so_far = passes or (QUICK_FIRST if quick else FIRST)
    most_passes = (QUICK_FIRST if quick else FIRST) << DOUBLED
    yield Stage(Circle(n, seed, 0, rounds_so_far) if quick else None, passes_so_far, sizes)
    if passes or n < FEWEST_ENDPOINTS:
        return
    launched, confirmed = dict.fromkeys(sizes, 1), dict.fromkeys(sizes, 0)
    while True:
        verdict = judge()
        left = whole - rounds_so_far
        if left > 0:  # few rounds do not look for single pairs
            verdict = replace(verdict, screened=())
        screened = {(pair.benchmark, pair.bytes) for pair in verdict.screened}
        short = short_sizes(
            verdict, wanted, passes_so_far * rounds_so_far / whole, most_passes, links=left > 0
        )
        if short and left > 0:
            further = max(rounds_so_far, math.ceil(rounds_so_far * (_MORE * max(short.values()) - 1)))
            more = further if 2 * (rounds_so_far + further) <= whole else left
            rounds = (
                None if more == left and n > _LISTED else Circle(n, seed, rounds_so_far, rounds_so_far + more)
            )
            stage = Stage(rounds, passes_so_far, [size for size in sizes if size in short], "wider")
            rounds_so_far += more
        elif short:
            stage = Stage(None, passes_so_far, [size for size in sizes if size in short], "again")
        elif suspected := [
            size
            for size in sizes
            if (launched[size] == 1 and size in _suspected(verdict) | screened)
            or (confirmed[size] == 1 and size in undecided_sizes(verdict) | screened)
        ]:
            again = max(confirmed[size] for size in suspected) > 0
            chosen = confirming_rounds(verdict, n, seed, rounds_so_far, 2 * CONFIRMING, again=again)
            # Pairs of a list have the same direction in all passes.
            ways = [*chosen, *([(b, a) for a, b in pairs] for pairs in chosen)]
            listed = len(ways) * CONFIRMING < whole * FIRST
            stage = Stage(ways if listed else None, CONFIRMING if listed else FIRST, suspected, "confirm")
        elif left <= 0 and passes_so_far < most_passes and (undecided := undecided_sizes(verdict)):
            stage = Stage(None, passes_so_far, [size for size in sizes if size in undecided], "again")
        else:
            return
        yield stage
        passes_so_far *= 2 if stage.why == "again" else 1
        for size in stage.sizes:
            launched[size] += 1
            confirmed[size] += stage.why == "confirm"


def _suspected(verdict: Verdict) -> set[Size]:
    sizes = {
        (suspect.benchmark, suspect.bytes) for suspect in verdict.suspects if math.isfinite(suspect.effect)
    }
    return sizes | {(pair.benchmark, pair.bytes) for pair in verdict.asymmetric}


def undecided_sizes(verdict: Verdict) -> set[Size]:
    """Benchmarks and bytes that more passes may decide; not those whose endpoints differ by nature."""
    undecided = {
        (suspect.benchmark, suspect.bytes)
        for suspect in verdict.suspects
        if suspect.undecided and suspect.separable
    }
    # Sizes with a named suspect: more passes cost much and show little.
    undecided -= {(suspect.benchmark, suspect.bytes) for suspect in verdict.suspects if suspect.named}
    return undecided - {
        (result.benchmark, result.bytes) for result in verdict.per_size if result.widened > DIFFERENT
    }


def short_sizes(
    verdict: Verdict, wanted: float, passes: float, most: int, *, links: bool = False
) -> dict[Size, float]:
    """Those in which a host, or one of most links if `links`, slower by `wanted` could be missed after so many passes (of all pairs: few rounds
    are a part of one), and how many times as much is needed, unless that is more than `most`, or no number of passes would do."""
    needed: dict[Size, float] = {}
    for result in verdict.per_size:
        if result.widened > DIFFERENT or passes >= most:
            continue
        for detectable in (result.detectable, result.of_links) if links else (result.detectable,):
            times = times_as_much(math.log1p(detectable), math.log1p(wanted))
            if 1 < times <= most / passes:  # false for NaN
                key = result.benchmark, result.bytes
                needed[key] = max(times, needed.get(key, times))
    return needed


def next_step_after_quick(verdict: Verdict, n: int, wanted: float, most: int) -> str:
    """What to measure next where a quick search ends undecided: a full sweep, with the passes that show a host slower by `wanted`, of
    `most` at most. The error of a host falls with the root of its pairs and passes."""
    differ = any(result.widened > DIFFERENT for result in verdict.per_size)  # the notes have that
    # Not judged: too few pairs answered.
    judged = any(not math.isnan(result.detectable) for result in verdict.per_size)
    if verdict.state != "inconclusive" or n < FEWEST_ENDPOINTS or differ or not judged:
        return ""
    note = f"undecided within --quick; next: a full sweep of {whole_sweep(n):,} rounds (omit --quick)"
    if all(result.pairs >= n * (n - 1) // 2 for result in verdict.per_size):
        note = "undecided; --quick had all pairs; next: a full sweep (omit --quick)"
    if any(math.isinf(result.detectable) for result in verdict.per_size):
        return f"{note}; too few pairs for an estimate of its passes"
    passes = [0.0]
    for result in verdict.per_size:
        if math.isfinite(result.detectable):
            met = result.pairs / (n * (n - 1) / 2)
            passes.append(
                result.passes * met * times_as_much(math.log1p(result.detectable), math.log1p(wanted))
            )
    needed_passes = max(math.ceil(max(passes)), 1)
    if needed_passes <= most:
        return f"{note} with --passes {needed_passes} or more, for hosts slower by {percent_text(wanted)}"
    return f"{note} on an idle fabric; a host slower by {percent_text(wanted)} would need more than {most:,} passes"
