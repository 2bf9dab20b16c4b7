"""Durations of the parts of a launch, from its records and the times at which its launcher began and ended."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from imb.model.records import End, Record, Run


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds. `launch`: of the whole launcher; `before_init`: from its start until the last rank calls
    MPI_Init; `init`, `init_fastest`: in MPI_Init, of the slowest and the fastest rank; `finalize_exit`: from
    before MPI_Finalize until the launcher exits; `suite`: the rest, in which the suite measures its Barrier.
    None if the clocks of launching host and ranks differ by more than the value."""

    launch: float
    before_init: float | None
    init: float
    init_fastest: float
    finalize_exit: float | None
    suite: float | None


PARTS = {
    "before_init": "starting processes (before MPI_Init)",
    "init": "MPI_Init",
    "finalize_exit": "MPI_Finalize and exit",
}


def times_of(records: Iterable[Record], facts: Mapping[str, Any]) -> Times | None:
    """The times of a launch, or None if it did not complete or was not a launch of this suite."""
    run: Run | None = None
    end: End | None = None
    for record in records:
        run = record if isinstance(record, Run) else run
        end = record if isinstance(record, End) else end
    launched, exited = facts.get("launched_at"), facts.get("exited_at")
    startup = run.startup if run else None
    if launched is None or exited is None or startup is None or end is None or end.at_seconds is None:
        return None
    began, slowest, fastest = (
        startup.last_began_seconds,
        startup.init_max_seconds,
        startup.init_min_seconds,
    )
    if began is None or slowest is None or fastest is None:
        return None
    before, after = began - launched, exited - end.at_seconds
    known = before >= 0 and after >= 0
    return Times(
        launch=exited - launched,
        before_init=before if known else None,
        init=slowest,
        init_fastest=fastest,
        finalize_exit=after if known else None,
        suite=max(0.0, exited - launched - before - slowest - after) if known else None,
    )


class Spread(msgspec.Struct, frozen=True):
    """Median and range over launches, in seconds."""

    median: float
    min: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Spread | None:
        """The spread of the known values, or None if no value is known."""
        known = [value for value in values if value is not None]
        return cls(statistics.median(known), min(known), max(known)) if known else None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The launches of one number of ranks. `first`: the first launch, which may have to read files from disk.
    `launch` and the fields after it cover the later launches, or the first if it is the only one. `failed`:
    number of launches without times."""

    ranks: int
    launches: int
    failed: int
    runs: list[str]
    first: Times | None
    launch: Spread | None
    before_init: Spread | None
    init: Spread | None
    init_fastest: Spread | None
    finalize_exit: Spread | None
    suite: Spread | None


def summary_of(ranks: int, launches: Sequence[tuple[str | None, Times | None]]) -> Summary:
    """The summary of these launches, in their order: run, or None if the launch was skipped, and times, or
    None if it has none."""
    first = launches[0][1] if launches else None
    later = [times for _, times in launches[1:] if times] or ([first] if first else [])
    return Summary(
        ranks=ranks,
        launches=len(launches),
        failed=sum(times is None for _, times in launches),
        runs=[run for run, _ in launches if run],
        first=first,
        **{name: Spread.of([getattr(times, name) for times in later]) for name in Times.__struct_fields__},
    )


def largest_part(summary: Summary) -> tuple[str, float] | None:
    """The longest part of a launch, and its share of the launch, or None if a part is unknown."""
    parts = {name: getattr(summary, name) for name in PARTS}
    if summary.launch is None or None in parts.values():
        return None
    name = max(parts, key=lambda part: parts[part].median)
    return PARTS[name], parts[name].median / summary.launch.median
