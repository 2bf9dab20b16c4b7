"""Typed records of schema/record.schema.json, and JSON lines of them.

Results read from other people's logs are the same records; what a log does not say is None. Times are
seconds, lengths bytes, rates per second. The schema is the definition: its descriptions are not repeated here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

SCHEMA = "openimb-record/1"

Component: TypeAlias = Literal["MPI1", "EXT", "IO", "NBC", "RMA"]
Kind: TypeAlias = Literal[
    "single_transfer", "multiple_transfer", "parallel_transfer", "collective", "synchronisation"
]
Mode: TypeAlias = Literal["aggregate", "non_aggregate"]
Multi: TypeAlias = Literal["off", "summary", "each_group"]
Cause: TypeAlias = Literal[
    "out_of_memory",
    "int_overflow",
    "time_out",
    "invalid_processes",
    "unavailable",
    "no_space",
    "io_error",
]
State: TypeAlias = Literal["complete", "interrupted", "aborted"]
QUANTILES = ("min", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.5", "p99.9", "p99.99", "max")


class Settings(msgspec.Struct, kw_only=True):
    """The guide's table of parameters, as in force."""

    min_message_log: int | None = None
    max_message_log: int | None = None
    iteration_policy: str | None = None
    repetitions: int | None = None
    non_aggregate_repetitions: int | None = None
    overall_volume_bytes: int | None = None
    seconds_per_sample: float | None = None
    barriers: int | None = None
    warm_up_repetitions: int | None = None
    target_cpu_seconds: float | None = None
    max_memory_bytes: int | None = None
    cache_size_bytes: int | None = None
    cache_line_bytes: int | None = None


class Element(msgspec.Struct):
    """One MPI element."""

    type: str
    contiguity: str = "base"


class Map(msgspec.Struct):
    """-map PxQ."""

    rows: int
    columns: int


class Options(msgspec.Struct, kw_only=True):
    """What was in force."""

    standard_mode: bool | None = None
    settings: Settings | None = None
    lengths_bytes: list[int] | None = None
    zero_size: bool | None = None
    min_processes: int | None = None
    multi: Multi | None = None
    map: Map | None = None
    data: Element | None = None
    reduction: Element | None = None
    thread_level: str | None = None
    warm_up: bool | None = None
    root_shift: bool | None = None
    synchronise_each: bool | None = None
    own_barrier: bool | None = None
    message_pause: bool | None = None
    window: int | None = None
    progress: int | None = None
    window_kind: str | None = None
    aggregate_mode: str | None = None
    info: dict[str, str] | None = None
    file_sync: str | None = None
    reorder: int | None = None
    parts: int | None = None
    check: bool | None = None
    every_repetition: bool | None = None
    show_tail: bool | None = None
    dump_file: str | None = None
    bytes_per_megabyte: float | None = None


class File(msgspec.Struct, kw_only=True):
    """Where IMB-IO's files lie."""

    path: str
    file_system: str | None = None


class OffCache(msgspec.Struct):
    """The cache that -off_cache avoids."""

    cache_size_bytes: int
    cache_line_bytes: int


class Mpi(msgspec.Struct, kw_only=True):
    """The MPI library."""

    standard: str | None = None
    name: str | None = msgspec.field(default=None, name="library")
    thread_level: str | None = None

    @property
    def known_as(self) -> str | None:
        """The library's name, of old logs, which have none, the version of the standard."""
        return self.name or self.standard


class Platform(msgspec.Struct, kw_only=True):
    """uname of rank 0's machine."""

    machine: str | None = None
    system: str | None = None
    release: str | None = None
    kernel: str | None = None


class Rank(msgspec.Struct):
    """Where one rank runs; `cpus` as in "0-3", None: not known."""

    rank: int
    host: str
    cpus: str | None = None


class Clock(msgspec.Struct):
    """What times are taken with."""

    source: str
    resolution_seconds: float | None = None


class Build(msgspec.Struct):
    """How the executable was made."""

    compiler: str
    flags: str


class Run(msgspec.Struct, kw_only=True, tag_field="record", tag="run"):
    """What is known before the first point. `program` is OpenIMB, Intel MPI Benchmarks or OSU Micro-Benchmarks."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset(["file", "load_flops_per_second"])

    schema: str = SCHEMA
    program: str | None = None
    version: str | None = None
    component: Component | None = None
    date: str | None = None
    command_line: list[str] | None = None
    benchmarks: list[str] | None = None
    options: Options | None = None
    file: File | None = None
    load_flops_per_second: float | None = None
    off_cache: OffCache | None = None
    mpi: Mpi | None = None
    platform: Platform | None = None
    ranks: list[Rank] | None = None
    clock: Clock | None = None
    build: Build | None = None
    environment: dict[str, str] | None = None


class Result(msgspec.Struct, kw_only=True, tag_field="record", tag="result"):
    """One row: one length on one layout, measured. `line` is its line in a foreign log.

    Records of older versions have no `threads`: each process had one.
    """

    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        [
            "threads",
            "groups",
            "slowest_thread",
            "time_overlapped_seconds",
            "time_pure_seconds",
            "time_cpu_seconds",
            "overlap_percent",
            "load_drift",
            "bytes_per_second",
            "messages_per_second",
            "defects",
            "hints",
            "quantiles",
            "line",
        ]
    )

    benchmark: str
    kind: Kind | None = None
    mode: Mode | None = None
    multi: Multi | None = None
    processes: int | None = None
    threads: int = 1
    group_count: int | None = None
    group: int | None = None
    groups: list[list[int]] | None = None
    bytes: int | None = None
    repetitions: int | None = None
    time_min_seconds: float | None = None
    time_max_seconds: float | None = None
    time_avg_seconds: float | None = None
    slowest_rank: int | None = None
    slowest_thread: int | None = None
    time_overlapped_seconds: float | None = None
    time_pure_seconds: float | None = None
    time_cpu_seconds: float | None = None
    overlap_percent: float | None = None
    load_drift: float | None = None
    bytes_per_second: float | None = None
    messages_per_second: float | None = None
    defects: int | None = None
    hints: dict[str, str] | None = None
    quantiles: dict[str, float | None] | None = None
    line: int | None = None


class Failure(msgspec.Struct, kw_only=True, tag_field="record", tag="failure"):
    """One point, or with `bytes` None one benchmark, that could not be measured."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        ["threads", "groups", "needed_bytes", "free_bytes", "seconds_per_repetition", "line"]
    )

    benchmark: str
    kind: Kind | None = None
    mode: Mode | None = None
    multi: Multi | None = None
    processes: int | None = None
    threads: int = 1
    group_count: int | None = None
    group: int | None = None
    groups: list[list[int]] | None = None
    bytes: int | None = None
    cause: Cause | None = None
    needed_bytes: int | None = None
    free_bytes: int | None = None
    seconds_per_repetition: float | None = None
    detail: str | None = None
    help: str | None = None
    line: int | None = None


class End(msgspec.Struct, kw_only=True, tag_field="record", tag="end"):
    """How the launch ended. Without it a launch was cut off."""

    OPTIONAL: ClassVar[frozenset[str]] = frozenset()

    state: State
    reason: str | None = None
    measured: int | None = None
    failed: int | None = None
    defects: int | None = None

    @property
    def exit_status(self) -> int:
        """The program's, as far as it depends on what was measured."""
        if self.defects:
            return 4
        return 3 if self.failed or self.state != "complete" else 0


Record: TypeAlias = Run | Result | Failure | End


class Problem(msgspec.Struct, frozen=True):
    """Something in a file that is not what it should be. `line` counts from 1; 0: the file as a whole."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Records(msgspec.Struct, frozen=True):
    """Every good line of a file, and what was wrong with the others, in order."""

    records: list[Record]
    problems: list[Problem]

    def of(self, kind: type[Any]) -> Iterator[Any]:
        """The records of one type, in order."""
        return (record for record in self.records if isinstance(record, kind))


_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()


def decode(line: bytes) -> Record:
    """One record of one JSON line. Raises msgspec.MsgspecError (ValueError) where it is none.

    Fields that the schema does not know are passed over: a later version may have more.
    """
    return _decoder.decode(line)


def encode(record: Record) -> bytes:
    """One JSON line with its newline; what is None is null, or left out where the schema leaves it out."""
    fields = msgspec.to_builtins(record)
    left_out = record.OPTIONAL
    if isinstance(record, Failure) and record.cause == "time_out":
        left_out -= {"seconds_per_repetition"}  # null there says that the time was no number
    if isinstance(record, Run) and record.component == "IO":
        left_out = frozenset()  # null: not known, or no load was asked for
    return _encoder.encode({k: v for k, v in fields.items() if v is not None or k not in left_out}) + b"\n"


def read(text: bytes, name: str) -> Records:
    """The records in JSON lines. All good lines are kept; a torn last line and foreign ones become problems.

    `name` is what problems call the file.
    """
    records: list[Record] = []
    problems: list[Problem] = []
    lines = text.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            records.append(decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            torn = number == len(lines)  # the last line has no newline: it was being written
            words = "a torn last line" if torn else f"no record of {SCHEMA}"
            problems.append(Problem(name, number, f"{words} ({str(error)[:200]}); the other lines are good"))
    return Records(records, problems)


def read_file(path: Path) -> Records:
    """`read` of a file. Raises OSError."""
    return read(path.read_bytes(), str(path))


def write(records: Iterable[Record]) -> bytes:
    """JSON lines."""
    return b"".join(map(encode, records))
