"""What to measure next: the stages of a sweep. After each stage, all that was measured is judged. Pure.

As long as a slow host could be missed, the number of passes is doubled. A quick search has few rounds at
first, so it measures other rounds as long as there are any: new pairs show more than repeated ones. If
something is suspected after the first launch, another launch confirms it, with some rounds of all endpoints,
so that suspects have controls. Single pairs that are only a little slow are many, so they are measured again
before that. What is then undecided is confirmed once more, and then gets further passes of all rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from imb.fabric.judging.effort import DOUBLED, FIRST, QUICK_FIRST
from imb.fabric.judging.inference import FEWEST_ENDPOINTS
from imb.fabric.judging.round_plans import Circle, Round, confirming_rounds, few_rounds, whole_sweep
from imb.fabric.judging.sensitivity import DIFFERENT, times_as_much
from imb.fabric.judging.verdict import BenchmarkSize, SweepVerdict
from imb.model.units import count_of, percent_text

CONFIRMING = 3  # confirming passes in each direction; with two, noise would decide the lower median
# Factor on the rounds that the last look expects to suffice: another launch costs more than some rounds.
_MORE = 1.25
_LISTED = 2048  # most endpoints for which all pairs are listed, because each rank holds the list


class SweepStage(NamedTuple):
    """`rounds`: some of all rounds, or None for all. `sizes`: benchmarks and bytes. `why`: "again": these
    rounds were measured before; "wider": other rounds of all endpoints; "confirm": rounds for suspects."""

    rounds: Collection[Round] | None
    passes: int
    sizes: list[BenchmarkSize]
    why: Literal["first", "again", "wider", "confirm"] = "first"


def search(
    n: int,
    seed: int,
    sizes: list[BenchmarkSize],
    wanted: float,
    judge: Callable[[], SweepVerdict],
    *,
    quick: bool = False,
    passes: int | None = None,
) -> Iterator[SweepStage]:
    """Yield the stages of a sweep. Measure each before the next one is requested. `judge`: returns the
    verdict on all that was measured. `wanted`: a slowdown that must not be missed, as a share. `passes`:
    passes of the only launch, or None."""
    whole = whole_sweep(n)
    rounds_so_far = few_rounds(n) if quick else whole
    passes_so_far = passes or (QUICK_FIRST if quick else FIRST)
    most_passes = (QUICK_FIRST if quick else FIRST) << DOUBLED
    yield SweepStage(Circle(n, seed, 0, rounds_so_far) if quick else None, passes_so_far, sizes)
    if passes or n < FEWEST_ENDPOINTS:
        return
    launched, confirmed = dict.fromkeys(sizes, 1), dict.fromkeys(sizes, 0)
    while True:
        verdict = judge()
        left = whole - rounds_so_far
        if left > 0:  # a few rounds do not search for single pairs
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
            stage = SweepStage(rounds, passes_so_far, [size for size in sizes if size in short], "wider")
            rounds_so_far += more
        elif short:
            stage = SweepStage(None, passes_so_far, [size for size in sizes if size in short], "again")
        elif suspected := [
            size
            for size in sizes
            if (launched[size] == 1 and size in _suspected_sizes(verdict) | screened)
            or (confirmed[size] == 1 and size in undecided_sizes(verdict) | screened)
        ]:
            again = max(confirmed[size] for size in suspected) > 0
            chosen = confirming_rounds(verdict, n, seed, rounds_so_far, 2 * CONFIRMING, again=again)
            # A listed pair has the same direction in all passes.
            ways = [*chosen, *([(b, a) for a, b in pairs] for pairs in chosen)]
            listed = len(ways) * CONFIRMING < whole * FIRST
            stage = SweepStage(
                ways if listed else None, CONFIRMING if listed else FIRST, suspected, "confirm"
            )
        elif left <= 0 and passes_so_far < most_passes and (undecided := undecided_sizes(verdict)):
            stage = SweepStage(None, passes_so_far, [size for size in sizes if size in undecided], "again")
        else:
            return
        yield stage
        passes_so_far *= 2 if stage.why == "again" else 1
        for size in stage.sizes:
            launched[size] += 1
            confirmed[size] += stage.why == "confirm"


def _suspected_sizes(verdict: SweepVerdict) -> set[BenchmarkSize]:
    sizes = {
        (suspect.benchmark, suspect.bytes) for suspect in verdict.suspects if math.isfinite(suspect.effect)
    }
    return sizes | {(pair.benchmark, pair.bytes) for pair in verdict.asymmetric}


def undecided_sizes(verdict: SweepVerdict) -> set[BenchmarkSize]:
    """Benchmarks and bytes that more passes may decide, except those whose endpoints differ by nature."""
    undecided = {
        (suspect.benchmark, suspect.bytes)
        for suspect in verdict.suspects
        if suspect.undecided and suspect.separable
    }
    # Leave out sizes with a named suspect: more passes would cost much and show little.
    undecided -= {(suspect.benchmark, suspect.bytes) for suspect in verdict.suspects if suspect.named}
    return undecided - {
        (result.benchmark, result.bytes) for result in verdict.per_size if result.widened > DIFFERENT
    }


def short_sizes(
    verdict: SweepVerdict, wanted: float, passes: float, most: int, *, links: bool = False
) -> dict[BenchmarkSize, float]:
    """Benchmarks and bytes in which a slowdown of `wanted` (a share) could be missed after so many passes,
    and how many times as many are needed. A host may be slow or, with `links`, one of most links. Passes are
    passes of all pairs; a few rounds are a fraction of one. Sizes that would need more than `most` passes are
    left out."""
    needed: dict[BenchmarkSize, float] = {}
    for result in verdict.per_size:
        if result.widened > DIFFERENT or passes >= most:
            continue
        for detectable in (result.detectable, result.of_links) if links else (result.detectable,):
            times = times_as_much(math.log1p(detectable), math.log1p(wanted))
            if 1 < times <= most / passes:  # false for NaN
                key = result.benchmark, result.bytes
                needed[key] = max(times, needed.get(key, times))
    return needed


def next_step_after_quick(verdict: SweepVerdict, n: int, wanted: float, most: int) -> str:
    """What to measure after a quick search that ended undecided, or "" if it did not: a full sweep with the
    passes that show a slowdown of `wanted` (a share), if these are at most `most`. The error of a host falls
    with the root of its pairs and passes."""
    differ = any(result.widened > DIFFERENT for result in verdict.per_size)  # the notes say so
    # False if too few pairs answered.
    judged = any(not math.isnan(result.detectable) for result in verdict.per_size)
    if verdict.state != "inconclusive" or n < FEWEST_ENDPOINTS or differ or not judged:
        return ""
    note = (
        f"undecided within --quick; next: a full sweep of {count_of(whole_sweep(n), 'round')} (omit --quick)"
    )
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
