"""Sides (sample sets): launches of the same experiment, with their rows by key. compare, baseline, diagnose and report read them.

The launch is the unit of replication: a side of n launches has at most n values of a row, however many repetitions each
launch contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np

from imb.model.errors import ImbError
from imb.model.facts import fact
from imb.model.options import pass_limits
from imb.model.records import (
    Component,
    End,
    Failure,
    Mode,
    Multi,
    Problem,
    Records,
    Result,
    Run,
    Sample,
    SampledRow,
    is_cut_off,
)
from imb.model.units import decimal, noun_for
from imb.stats.arrays import Values

_Row = TypeVar("_Row")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """Identifies what a row measures: rows with equal keys are compared. A field is None if a log does not have it."""

    component: Component | None
    benchmark: str
    mode: Mode | None
    variant: str | None = None  # label of the variant of -alternate
    multi: Multi | None
    processes: int | None
    threads: int = 1
    group_count: int | None
    group: int | None
    bytes: int | None
    in_flight: int | None = None  # messages in flight, if fewer than -window_size
    start: str | None = (
        None  # if repetitions begin at agreed times: `clock`, or the value of -arrival, such as `last:50`
    )
    arrival_width_seconds: float | None = None  # measured width for -arrival xN, rounded as in tables

    def curve(self) -> Key:
        """The key of a line in a chart: without the message size."""
        return msgspec.structs.replace(self, bytes=None, in_flight=None, arrival_width_seconds=None)

    def __str__(self) -> str:
        """`Allreduce, 8 ranks, 64 bytes`: only what differs from the defaults."""
        words = [self.benchmark]
        words += [self.mode.replace("_", "-")] if self.mode else []
        words += [f"variant {self.variant}"] if self.variant is not None else []
        words += [f"{self.group_count} groups"] if (self.group_count or 1) > 1 else []
        words += [f"group {self.group}"] if self.group is not None else []
        words += [f"{self.processes} {noun_for(self.processes, 'rank')}"] if self.processes else []
        words += [f"{self.threads} threads"] if self.threads > 1 else []
        words += [f"{self.bytes} {noun_for(self.bytes, 'byte')}"] if self.bytes is not None else []
        words += [f"{self.in_flight} in flight"] if self.in_flight is not None else []
        words += [self.start_words()] if self.start is not None else []
        return ", ".join(words)

    def start_words(self) -> str:
        """`begins by clock`, `arrival last:50`, `arrival last:x2 (9.03 µs)`, or `begins at a barrier or none`."""
        if self.start is None:
            return "begins at a barrier or none"
        if self.start == "clock":
            return "begins by clock"
        width = self.arrival_width_seconds
        return f"arrival {self.start}" + ("" if width is None else f" ({decimal(width * 1e6)} µs)")


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """One launch. `name`: its run in the archive, or its file. `rows`: if several rows have the same key, the first one. `last`: the last
    row, failed or not. `end`: None if the launch was cut off or a log does not show its end. `sampled`: reads the samples of a launch in
    passes, in order of time. `content`: equal for launches that the archive would store as the same run; empty if unknown."""

    name: str
    run: Run
    facts: dict[str, Any]
    rows: dict[Key, Result]
    failures: dict[Key, Failure]
    last: Key | None = None
    end: End | None = None
    sampled: Callable[[], Sequence[tuple[Key, Sample]]] = tuple
    content: str = ""

    @property
    def is_cut_off(self) -> bool:
        """Whether the end that the program prints is missing."""
        return is_cut_off(self.run, self.end)

    def hosts(self) -> list[str]:
        return self.run.hosts()

    def placement(self) -> str | None:
        """`intra-node` or `inter-node`, or None if the hosts are unknown."""
        hosts = self.hosts()
        return None if not hosts else "intra-node" if len(hosts) == 1 else "inter-node"

    def crowding(self) -> tuple[int, int] | None:
        """(ranks, cores) if a host has more ranks than cores, as far as known; else None."""
        ranks = max(Counter(rank.host for rank in self.run.ranks or []).values(), default=0)
        cores = fact(int, self.facts, "conditions", "machine", "cores")
        return (ranks, cores) if cores and ranks > cores else None

    def passes(self) -> str:
        """`until each row is within ±1 %`, or `classic` if each row was measured in one burst."""
        if limits := pass_limits(self.run):
            return str(limits)
        return "in passes" if any(row.passes for row in self.rows.values()) else "classic"

    def experiment(self) -> tuple[str | None, int, tuple[str, ...]]:
        """What was launched: component, ranks, benchmarks."""
        return self.run.component, len(self.run.ranks or []), tuple(self.run.benchmarks or [])


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A sample set. `name`: the run, label, file or query that the user gave. `copies`: number of runs that were left out because another run
    of the set has the same content. `unread`: lines of its runs that look like results but were not read. `replaced`: launches that a
    repeat replaces (imb.model.repeats). `letter`: its name in notes on a comparison."""

    name: str
    launches: Sequence[Launch]
    copies: int = 0
    unread: Sequence[Problem] = ()
    replaced: Sequence[Launch] = ()
    letter: str = ""

    def all_keys(self) -> list[Key]:
        """The keys of all launches, each once, in the order of the first launch that has it."""
        return list(dict.fromkeys(key for launch in self.launches for key in launch.rows))

    def values(self, key: Key, metric: str = "time") -> Values:
        """The metric of a row in each launch, shape (launches,); NaN if a launch lacks it."""
        take = METRICS[metric]
        rows = (launch.rows.get(key) for launch in self.launches)
        figures = [take(row) if row is not None else None for row in rows]
        values: Values = np.array([np.nan if value is None else value for value in figures], dtype=np.float64)
        return values


_WIDTH_DIGITS = 8  # decimals of seconds: a hundredth of a microsecond
_ROUNDED = 0.02  # a share: largest error of rate times time in a log, which prints both with two decimals


def _quantile(name: str) -> Callable[[Result], float | None]:
    return lambda row: (row.quantiles or {}).get(name)


def time_of(row: Result | Sample) -> float | None:
    """Seconds, or None if unknown: the mean over ranks. Other tables have no such mean: then the time with load (overlap), X / rate
    (tables with only rates), or the time from the last arrival to the last exit (repetitions that begin at agreed times)."""
    if row.valid_percent is not None:
        return row.time_from_last_arrival_seconds
    for value in (row.time_avg_seconds, row.time_max_seconds, row.time_overlapped_seconds):
        if value is not None:
            return value
    return None if isinstance(row, Sample) else _time_by_rate(row)


def completion_time_of(row: Result) -> float | None:
    """The time of the slowest rank in seconds, or `time_of` if the row does not have it."""
    return row.completion_seconds if row.completion_seconds is not None else time_of(row)


def counted_bytes(row: Result) -> float | None:
    """Bytes that the row's rate counts per completion time, or None if there is no rate or a log rounded it to zero. The bytes are rounded to a
    whole number of messages if the difference can be a rounding error of the log."""
    seconds = completion_time_of(row)
    if row.bytes == 0 and row.bytes_per_second is not None:
        return 0.0
    if not row.bytes or not row.bytes_per_second or not seconds:
        return None
    messages = row.bytes_per_second * seconds / row.bytes
    whole = round(messages)
    return row.bytes * (whole if abs(messages - whole) <= _ROUNDED * whole else messages)


def _time_by_rate(row: Result) -> float | None:
    return row.bytes / row.bytes_per_second if row.bytes and row.bytes_per_second else None


# In seconds, except MORE_IS_BETTER. `time` ends when the slowest rank has completed.
METRICS: dict[str, Callable[[Result], float | None]] = {
    "time": completion_time_of,
    "time_min": lambda row: row.time_min_seconds,
    "time_max": lambda row: row.time_max_seconds,
    "time_avg": lambda row: row.time_avg_seconds,
    "time_overlapped": lambda row: row.time_overlapped_seconds,
    "time_by_rate": _time_by_rate,
    "pure": lambda row: row.time_pure_seconds,
    "p50": _quantile("p50"),
    "p90": _quantile("p90"),
    "p99": _quantile("p99"),
    "bandwidth": lambda row: row.bytes_per_second,
    "messages": lambda row: row.messages_per_second,
    "overlap": lambda row: row.overlap_percent,
}
MORE_IS_BETTER = frozenset({"bandwidth", "messages", "overlap"})


def refuse_unknown_metric(metric: str) -> None:
    """Raises ImbError if METRICS does not have it."""
    if metric not in METRICS:
        raise ImbError(f"unknown metric: {metric}; choose from {', '.join(METRICS)}")


def launches_of(
    records: Records,
    name: str,
    facts: dict[str, Any] | None = None,
    whole: Callable[[], Records] | None = None,
) -> Iterator[Launch]:
    """Yields a launch for each run record, with the rows after it. Records without a run record become a launch of an unknown run.
    `whole` reads the same file with samples; needed if `records` were read without them."""
    several = sum(1 for _ in records.of(Run)) > 1
    run: Run | None = None
    rows: dict[Key, Result] = {}
    failures: dict[Key, Failure] = {}
    last: Key | None = None
    end: End | None = None
    count = 0

    def finished_launch() -> Launch:
        title = f"{name}#{count}" if several else name
        number = max(count, 1)
        return Launch(
            name=title,
            run=run or Run(),
            facts=facts or {},
            rows=rows,
            failures=failures,
            last=last,
            end=end,
            sampled=lambda: _samples_in(whole() if whole else records, number),
        )

    for record in records.records:
        if isinstance(record, Run):
            if run is not None or rows or failures:
                yield finished_launch()
            run, rows, failures, last, end = record, {}, {}, None, None
            count += 1
        elif isinstance(record, Result):
            last = key_of(record, run)
            rows.setdefault(last, record)
        elif isinstance(record, Failure):
            last = key_of(record, run)
            failures.setdefault(last, record)
        elif isinstance(record, End):
            end = record
    if run is not None or rows or failures:
        yield finished_launch()


def _samples_in(records: Records, number: int) -> list[tuple[Key, Sample]]:
    """The samples of launch `number` (from 1), in order of time, as in the file."""
    count = 0
    run: Run | None = None
    rows: dict[int, SampledRow] = {}
    samples = []
    for record in records.records:
        if isinstance(record, Run):
            count, run, rows = count + 1, record, {}
        elif max(count, 1) != number:
            continue
        elif isinstance(record, SampledRow):
            rows[record.row] = record
        elif isinstance(record, Sample) and record.row in rows:
            samples.append((key_of(rows[record.row], run, record.arrival_width_seconds), record))
    return samples


def key_of(row: Result | Failure | SampledRow, run: Run | None, width: float | None = None) -> Key:
    """The key of a row of this run. `width`: the width of its arrivals in seconds, if a sample has it instead of the row."""
    start = _start_of(run)
    if isinstance(row, Result):
        start = start or ("clock" if row.is_by_clock else None)
        width = row.arrival_width_seconds
    measured = start is not None and ":x" in start and width is not None
    return Key(
        component=run.component if run else None,
        benchmark=row.benchmark,
        mode=row.mode,
        variant=row.variant,
        multi=row.multi,
        processes=row.processes,
        threads=row.threads,
        group_count=row.group_count,
        group=row.group,
        bytes=row.bytes,
        in_flight=None if isinstance(row, Failure) else row.in_flight,
        start=start,
        arrival_width_seconds=round(width, _WIDTH_DIGITS) if measured and width is not None else None,
    )


def _start_of(run: Run | None) -> str | None:
    if run is None or run.option("sync_start", str) != "clock":
        return None
    return run.option("arrival", str) or "clock"


def variant_labels(side: Side) -> Sequence[str]:
    """The labels of all variants of -alternate, in order."""
    return list(
        dict.fromkeys(variant.label for launch in side.launches for variant in launch.run.variants or [])
    )


def variant_side(side: Side, label: str) -> Side:
    """The rows of a side under one variant of -alternate. Their keys have no variant and no measured width of arrivals (which all
    variants of a launch share), so that variants of the same launches can be compared. Raises ImbError if no launch has the variant."""
    labels = variant_labels(side)
    if label not in labels:
        known = f"; they have {', '.join(labels)}" if labels else "; none was launched with -alternate"
        raise ImbError(f"no launch of {side.name} has the variant {label}{known}")
    launches = [
        _launch_under(launch, label)
        for launch in side.launches
        if label in {variant.label for variant in launch.run.variants or []}
    ]
    return msgspec.structs.replace(side, name=f"{side.name}, {label}", launches=launches)


def _launch_under(launch: Launch, label: str) -> Launch:
    def rows(by_key: dict[Key, _Row]) -> dict[Key, _Row]:
        return {key_without(key): row for key, row in by_key.items() if key.variant == label}

    def key_without(key: Key) -> Key:
        return msgspec.structs.replace(key, variant=None, arrival_width_seconds=None)

    variants = [variant for variant in launch.run.variants or [] if variant.label == label]
    return msgspec.structs.replace(
        launch,
        run=msgspec.structs.replace(launch.run, variants=variants),
        rows=rows(launch.rows),
        failures=rows(launch.failures),
        sampled=lambda: [
            (key_without(key), sample) for key, sample in launch.sampled() if key.variant == label
        ],
    )


def are_interleaved(*sides: Side) -> bool:
    """Whether all launches were interleaved with others: rows in alternating segments (imb.runner.interleave)."""
    segments = (launch.run.option("turns", int) for side in sides for launch in side.launches)
    return all((count or 1) > 1 for count in segments)
