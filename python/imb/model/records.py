"""The records of schema/record.schema.json as types, and their JSON lines.

Results from logs of other programs become the same records; a field is None if the log does not have it. Times are
in seconds, lengths in bytes, rates per second. The schema describes each field; its descriptions are not repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from statistics import median, mode
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from imb.model.errors import UNDECODABLE
from imb.model.figures import FIGURES
from imb.model.statuses import SuiteStatus
from imb.model.units import count_of

SCHEMA = "openimb-record/2"
RECORD = b'{"record":'  # the start of every line; within a record, quotes are escaped
RUN = b'{"record":"run"'
SAMPLE = b'{"record":"sample",'  # most lines of a file begin so
PAIR = b'{"record":"pair",'  # most lines of IMB-FABRIC begin so

Component: TypeAlias = Literal["MPI1", "EXT", "IO", "NBC", "RMA", "MPI4", "P2P", "MT", "FABRIC"]
PARTS: dict[Component, str] = {  # as banners name them
    "MPI1": "MPI-1",
    "EXT": "MPI-2",
    "IO": "MPI-IO",
    "NBC": "MPI-NBC",
    "RMA": "MPI-RMA",
    "MPI4": "MPI-4",
    "P2P": "IMB-P2P",
    "MT": "MT",
    "FABRIC": "IMB-FABRIC",
}
BenchmarkKind: TypeAlias = Literal[
    "single_transfer", "multiple_transfer", "parallel_transfer", "collective", "synchronisation"
]
Mode: TypeAlias = Literal["aggregate", "non_aggregate"]
Multi: TypeAlias = Literal["off", "summary", "each_group"]
FailureCause: TypeAlias = Literal[
    "out_of_memory",
    "int_overflow",
    "time_out",
    "invalid_processes",
    "unavailable",
    "no_space",
    "io_error",
    "over_budget",
    "no_answer",
    "clock_set",
]
EndState: TypeAlias = Literal["complete", "interrupted", "aborted"]
# The value of an option on the command line: booleans for on and off, None if the option is not in force.
OptionValue: TypeAlias = bool | int | float | str | list[int | float | str] | None
_Type = TypeVar("_Type")
_ABSENT = msgspec.Meta(extra={"absent": True})
# A field that a record leaves out if it is None; other fields are null then.
OrAbsent: TypeAlias = Annotated[_Type | None, _ABSENT]
_Kind = TypeVar("_Kind", bool, int, float, str, list[Any])
_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Shortfall: TypeAlias = Literal["none", "budget", "passes", "interrupted", "cut_off"]
TIME_FIGURES = tuple(figure.name for figure in FIGURES if figure.unit == "seconds")
SAMPLED_FIGURES = tuple(figure.name for figure in FIGURES if figure.passes != "dropped")
QUANTILES = ("min", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.5", "p99.9", "p99.99", "max")


class File(msgspec.Struct, kw_only=True):
    """The location of IMB-IO's files."""

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
        """The library's name, or the version of the standard (`MPI 3.1`) for old logs, which have no name. None if both are unknown."""
        return self.name or (f"MPI {self.standard}" if self.standard else None)


class Platform(msgspec.Struct, kw_only=True):
    """uname of rank 0's machine."""

    machine: str | None = None
    system: str | None = None
    release: str | None = None
    kernel: str | None = None


class Rank(msgspec.Struct):
    """Where one rank runs. `cpus` is a list such as "0-3", or None if unknown."""

    rank: int
    host: str
    cpus: str | None = None
    interfaces: list[str] | UnsetType = UNSET


class Clock(msgspec.Struct):
    """The clock that measures times."""

    source: str
    resolution_seconds: float | None = None


class Build(msgspec.Struct):
    """How the executable was built."""

    compiler: str
    flags: str
    interface: str | UnsetType = UNSET


class Startup(msgspec.Struct, kw_only=True):
    """The MPI_Init calls of all ranks. Times of day are seconds since 1970-01-01 UTC on the clock of the rank's host."""

    first_began_seconds: float | None = None
    last_began_seconds: float | None = None
    init_min_seconds: float | None = None
    init_max_seconds: float | None = None
    slowest_rank: int | None = None


class EndpointRecord(msgspec.Struct, kw_only=True):
    """An endpoint of IMB-FABRIC, which measures pairs of endpoints: a rank that represents its host, socket, NUMA node or core."""

    rank: int
    host: str
    cpus: list[int] | None = None
    numa: int | None = None
    socket: int | None = None


class UsedGpu(msgspec.Struct, kw_only=True):
    """A GPU as its driver's library describes it, with the ranks that use it. `api`: cuda or hip."""

    host: str
    index: int
    name: str | None = None
    api: str | None = None
    driver: str | None = None
    bus_address: str | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    ranks: list[int] = []


class GpuSupport(msgspec.Struct, kw_only=True):
    """Whether the MPI reports support of device memory (`answer`: yes, no, unknown). `source`: the call, key or setting that tells."""

    answer: str
    source: str | None = None

    def __str__(self) -> str:
        return " by ".join(filter(None, [self.answer, self.source]))


class VariantRecord(msgspec.Struct):
    """A line of -alternate's file: values of the MPI's control variables under which every row is measured."""

    label: str
    variables: dict[str, str] = {}


class Run(msgspec.Struct, kw_only=True, tag_field="record", tag="run"):
    """The run record: what is known before the first row. `program` is OpenIMB, Intel MPI Benchmarks or OSU Micro-Benchmarks."""

    schema: str = SCHEMA
    program: str | None = None
    version: str | None = None
    component: Component | None = None
    date: str | None = None
    command_line: list[str] | None = None
    benchmarks: list[str] | None = None
    options: dict[str, Any] | None = None  # values are OptionValue after decoding
    variants: OrAbsent[list[VariantRecord]] = None
    variables_at_start: OrAbsent[dict[str, str]] = None
    file: OrAbsent[File] = None
    load_flops_per_second: OrAbsent[float] = None
    off_cache: OffCache | None = None
    mpi: Mpi | None = None
    platform: Platform | None = None
    ranks: list[Rank] | None = None
    clock: Clock | None = None
    build: Build | None = None
    environment: dict[str, str] | None = None
    startup: OrAbsent[Startup] = None
    endpoints: OrAbsent[list[EndpointRecord]] = None
    gpus: OrAbsent[list[UsedGpu]] = None
    gpu_support: OrAbsent[GpuSupport] = None

    def hosts(self) -> list[str]:
        """The hosts of the ranks, each once; empty if unknown."""
        return list(dict.fromkeys(rank.host for rank in self.ranks or []))

    def option(self, name: str, kind: type[_Kind]) -> _Kind | None:
        """The value of an option of the suite, or None if the option was not in force, is unknown or has another type."""
        value: Any = (self.options or {}).get(name)
        kinds = (int, float) if kind is float else kind
        return value if isinstance(value, kinds) and isinstance(value, bool) == (kind is bool) else None

    def set_option(self, name: str, value: OptionValue) -> None:
        """Sets an option; readers of logs call this."""
        self.options = {**(self.options or {}), name: value}

    @property
    def has_all_options(self) -> bool:
        """Whether `options` are complete, as in records of the suite; logs have only a few."""
        return "iter" in (self.options or {})


class Counter(msgspec.Struct):
    """One counter over the ranks of a row: the sum, and the largest value with its rank."""

    sum: float
    most: float
    rank: int


class InterfaceBytes(msgspec.Struct):
    """The bytes that a network interface counted."""

    host: str
    name: str
    sent_bytes: float
    received_bytes: float


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What disturbed the ranks during a row. A field is None if it is zero or unknown."""

    COUNTERS: ClassVar[tuple[str, ...]] = (
        "voluntary_switches",
        "involuntary_switches",
        "minor_faults",
        "major_faults",
        "run_delay_seconds",
        "steal_seconds",
    )

    voluntary_switches: Counter | None = None
    involuntary_switches: Counter | None = None
    minor_faults: Counter | None = None
    major_faults: Counter | None = None
    run_delay_seconds: Counter | None = None
    steal_seconds: Counter | None = None
    moved_ranks: list[int] | None = None
    interfaces: list[InterfaceBytes] | None = None


class MachineState(msgspec.Struct):
    """A state of the machine that the probes found, and the samples of a row that were taken in it."""

    probe_seconds: float
    samples: int
    time_median_seconds: float | None = None


class Level(msgspec.Struct):
    """A time around which samples of a row cluster."""

    time_seconds: float
    samples: int


class Passes(msgspec.Struct, kw_only=True):
    """Statistics of the samples of a row. From a text log, only `half_width` is known."""

    samples: int | None = None
    used: int | None = None
    interval_seconds: tuple[float, float] | None = None
    half_width: float | None = None
    effective_samples: float | None = None
    shortfall: Shortfall = "none"
    reference_state: bool = True
    between_states: int = 0
    states: list[MachineState] = []
    levels: list[Level] | UnsetType = UNSET


class Place(msgspec.Struct, kw_only=True):
    """What a row measures, without the message size. `threads`: per process."""

    benchmark: str
    kind: BenchmarkKind | None = None
    mode: Mode | None = None
    variant: OrAbsent[str] = None
    multi: Multi | None = None
    processes: int | None = None
    threads: int = 1
    group_count: int | None = None
    group: int | None = None
    groups: OrAbsent[list[list[int]]] = None


class SampledRow(Place, kw_only=True, tag_field="record", tag="row"):
    """The fields that all samples of a row share."""

    row: int
    in_flight: OrAbsent[int] = None
    bytes: int | None = None


# Sample and Result have fields in common, which tools/figures.py writes from the table of figures. They have no common base class: msgspec
# allows only one base class with fields, which is Place, and records are exported in the order of the fields, as the suite writes them.
class Sample(msgspec.Struct, kw_only=True, tag_field="record", tag="sample", rename={"pass_": "pass"}):
    """One sample of a row that is measured in passes."""

    row: int
    pass_: int
    at_seconds: float | None = None
    repetitions: int | None = None
    time_min_seconds: float | None = None
    time_max_seconds: float | None = None
    time_avg_seconds: float | None = None
    slowest_rank: int | None = None
    slowest_thread: OrAbsent[int] = None
    time_of_threads_seconds: OrAbsent[list[float | None]] = None
    time_waiting_of_threads_seconds: OrAbsent[list[float | None]] = None
    time_overlapped_seconds: OrAbsent[float] = None
    time_pure_seconds: OrAbsent[float] = None
    time_cpu_seconds: OrAbsent[float] = None
    overlap_percent: OrAbsent[float] = None
    early_bird_share: OrAbsent[float] = None
    time_from_last_arrival_seconds: OrAbsent[float] = None
    time_from_first_arrival_seconds: OrAbsent[float] = None
    start_skew_seconds: OrAbsent[float] = None
    exit_skew_seconds: OrAbsent[float] = None
    valid_percent: OrAbsent[float] = None
    clock_disagreement_seconds: OrAbsent[float] = None
    clock_bound_seconds: OrAbsent[float] = None
    arrival_width_seconds: OrAbsent[float] = None
    bytes_per_second: OrAbsent[float] = None
    messages_per_second: OrAbsent[float] = None
    defects: OrAbsent[int] = None
    probe_before_seconds: float | None = None
    probe_after_seconds: float | None = None
    evidence: OrAbsent[Evidence] = None


class Pair(msgspec.Struct, kw_only=True, tag_field="record", tag="pair", rename={"pass_": "pass"}):
    """The measurement of a pair of IMB-FABRIC in one round of one pass. `a` and `b` are indices in `Run.endpoints`. `time_seconds` is the time of
    one message, the larger one of both endpoints."""

    benchmark: str
    bytes: Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
    pass_: _Number
    round: _Number
    a: _Number
    b: _Number
    repetitions: int | None = None
    time_seconds: float | None = None
    time_a_seconds: float | None = None
    time_b_seconds: float | None = None
    at_seconds: float | None = None
    defects: OrAbsent[int] = None
    evidence: OrAbsent[Evidence] = None


class Result(Place, kw_only=True, tag_field="record", tag="result"):
    """One measured row: one message size with one arrangement of ranks. `line` is its line number in a log of another program."""

    window_kind: OrAbsent[str] = None
    in_flight: OrAbsent[int] = None
    bytes: int | None = None
    repetitions: int | None = None
    time_min_seconds: float | None = None
    time_max_seconds: float | None = None
    time_avg_seconds: float | None = None
    slowest_rank: int | None = None
    slowest_thread: OrAbsent[int] = None
    time_of_threads_seconds: OrAbsent[list[float | None]] = None
    time_waiting_of_threads_seconds: OrAbsent[list[float | None]] = None
    time_overlapped_seconds: OrAbsent[float] = None
    time_pure_seconds: OrAbsent[float] = None
    time_cpu_seconds: OrAbsent[float] = None
    overlap_percent: OrAbsent[float] = None
    early_bird_share: OrAbsent[float] = None
    load_drift: OrAbsent[float] = None
    time_from_last_arrival_seconds: OrAbsent[float] = None
    time_from_first_arrival_seconds: OrAbsent[float] = None
    start_skew_seconds: OrAbsent[float] = None
    exit_skew_seconds: OrAbsent[float] = None
    valid_percent: OrAbsent[float] = None
    clock_disagreement_seconds: OrAbsent[float] = None
    clock_bound_seconds: OrAbsent[float] = None
    arrival_width_seconds: OrAbsent[float] = None
    bytes_per_second: OrAbsent[float] = None
    messages_per_second: OrAbsent[float] = None
    defects: OrAbsent[int] = None
    row: OrAbsent[int] = None
    passes: OrAbsent[Passes] = None
    evidence: OrAbsent[Evidence] = None
    hints: OrAbsent[dict[str, str]] = None
    quantiles: OrAbsent[dict[str, float | None]] = None
    late_rank: OrAbsent[int] = None
    last_out_rank: OrAbsent[int] = None
    given_up: OrAbsent[bool] = None
    line: OrAbsent[int] = None

    @property
    def is_by_clock(self) -> bool:
        """Whether repetitions began at agreed times. The means of the ranks then include invalid repetitions."""
        return self.valid_percent is not None

    @property
    def completion_seconds(self) -> float | None:
        """Seconds until the slowest rank completes: its mean, or if repetitions began at agreed times, from the last arrival to the last exit."""
        return self.time_from_last_arrival_seconds if self.is_by_clock else self.time_max_seconds

    @property
    def half_width(self) -> float | None:
        """Half width of the 95 % interval as a share of the median, or None if the row was not measured in passes or has too few samples."""
        return self.passes.half_width if self.passes else None

    @half_width.setter
    def half_width(self, share: float | None) -> None:
        """Sets the half width from a text log; None for `n/a`."""
        self.passes = Passes(half_width=share)


class Failure(Place, kw_only=True, tag_field="record", tag="failure", rename={"pass_": "pass"}):
    """A row that could not be measured; a whole benchmark if `bytes` is None; a pair of IMB-FABRIC if `a` and `b` are set."""

    bytes: int | None = None
    cause: FailureCause | None = None
    needed_bytes: OrAbsent[int] = None
    free_bytes: OrAbsent[int] = None
    seconds_per_repetition: OrAbsent[float] = None
    detail: str | None = None
    help: str | None = None
    line: OrAbsent[int] = None
    a: OrAbsent[int] = None
    b: OrAbsent[int] = None
    pass_: OrAbsent[int] = None
    round: OrAbsent[int] = None

    @property
    def cause_text(self) -> str:
        """`out of memory`"""
        return (self.cause or "unknown cause").replace("_", " ")

    @property
    def reason(self) -> str:
        """`out of memory: 3 GiB needed`"""
        return f"{self.cause_text}: {self.detail}" if self.detail else self.cause_text


class End(msgspec.Struct, kw_only=True, tag_field="record", tag="end"):
    """How the launch ended. A launch without this record was cut off. `passes` and the seconds are set if it was measured in passes."""

    state: EndState
    reason: str | None = None
    measured: int | None = None
    failed: int | None = None
    defects: int | None = None
    at_seconds: OrAbsent[float] = None
    passes: OrAbsent[int] = None
    probes: OrAbsent[bool] = None
    seconds: OrAbsent[float] = None
    measuring_seconds: OrAbsent[float] = None
    observing_seconds: OrAbsent[float] = None

    @property
    def exit_status(self) -> int:
        """The program's exit status, as far as it depends on the results."""
        if self.defects:
            return SuiteStatus.WRONG_DATA
        return SuiteStatus.ROWS if self.failed or self.state != "complete" else SuiteStatus.GOOD


# Programs that print a line at their end.
_WITH_END = frozenset({"OpenIMB", "Intel MPI Benchmarks"})


def is_cut_off(run: Run, end: End | None) -> bool:
    """Whether the end that the program of this run prints is missing."""
    return end is None and run.program in _WITH_END


Record: TypeAlias = Run | SampledRow | Sample | Pair | Result | Failure | End


class Problem(msgspec.Struct, frozen=True):
    """An error in a file. `line` counts from 1 and is 0 if the problem concerns the whole file. `rows`: the number of lines from `line` on that look
    like results and have this problem."""

    file: str
    line: int
    text: str
    rows: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}" if self.line else f"{self.file}: {self.text}"


class Records(msgspec.Struct, frozen=True):
    """The records in the good lines of a file and the problems of the other lines, in order."""

    records: list[Record]
    problems: list[Problem]

    def of(self, kind: type[Any]) -> Iterator[Any]:
        """The records of one type, in order."""
        return (record for record in self.records if isinstance(record, kind))


_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_sample_decoder: msgspec.json.Decoder[Sample] = msgspec.json.Decoder(Sample)
_encoder = msgspec.json.Encoder()


def decode(line: bytes) -> Record:
    """The record in one JSON line. Raises ValueError (msgspec.MsgspecError, UnicodeDecodeError) if the line is not a record.

    Unknown fields are ignored, as later versions may have more. Whole numbers of more than 64 bits are an error, since columns of the
    index and many other programs cannot hold them.
    """
    try:
        record = _decoder.decode(line)
    except RecursionError:
        raise msgspec.ValidationError("nested too deeply") from None
    if isinstance(record, Run) and record.options is not None:
        record.options = (
            None if schema_problem(line) else msgspec.convert(record.options, dict[str, OptionValue])
        )
    if (
        _LONG in line.translate(_DIGITS)
        and (wrong := _find_too_large(msgspec.to_builtins(record))) is not None
    ):
        raise msgspec.ValidationError(f"whole number of more than 64 bits: {wrong}"[:100])
    return record


_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG = (
    b"0" * 19
)  # a long number after all its digits became 0; a regular expression would take longer than the rest of `decode`


def _find_too_large(value: object) -> int | None:
    """The first whole number of more than 64 bits in a record, or None."""
    if isinstance(value, int):
        return None if -(2**63) <= value < 2**63 else value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((wrong for each in inner if (wrong := _find_too_large(each)) is not None), None)


@cache
def absent_fields(kind: type[msgspec.Struct]) -> frozenset[str]:
    """The fields that a record of this kind leaves out if they are None."""
    fields = msgspec.structs.fields(kind)
    return frozenset(
        field.encode_name for field in fields if _ABSENT in getattr(field.type, "__metadata__", ())
    )


def encode(record: Record) -> bytes:
    """One JSON line with its newline. A field that is None becomes null, or is left out if the schema requires that."""
    fields = msgspec.to_builtins(record)
    left_out = absent_fields(type(record))
    if isinstance(record, Failure) and record.cause == "time_out":
        left_out -= {"seconds_per_repetition"}  # null means that the time was not a number
    if isinstance(record, Run) and record.component == "IO":
        left_out -= {"file", "load_flops_per_second"}  # null if unknown or if no load was requested
    kept = {name: value for name, value in fields.items() if value is not None or name not in left_out}
    return _encoder.encode(kept) + b"\n"


class LaunchLines(msgspec.Struct):
    """The records of one launch in a file and the problems of its other lines, in order. `start`: offset of its first byte in the file; it ends
    where the next launch starts. `other`: its records have another schema and are skipped."""

    start: int = 0
    records: list[Record] = []
    problems: list[Problem] = []
    other: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether its end record was read."""
        return bool(self.records) and isinstance(self.records[-1], End)


def read(text: bytes, name: str, *, samples: bool = False) -> Records:
    """The records in JSON lines. All good lines are kept; an incomplete last line and other text become problems.

    `name`: the file's name in problems. `samples`: whether to also return sampled rows and samples of launches in passes, in the
    order of the file, and pairs of IMB-FABRIC. Without it, they are examined and left out; but if a launch was cut off, rows without
    a result are computed from their samples (`passes.shortfall` is `cut_off`).
    """
    launches = read_launches(text, name, samples=samples)
    return Records(
        [record for launch in launches for record in launch.records],
        [problem for launch in launches for problem in launch.problems],
    )


def read_launches(text: bytes, name: str, *, samples: bool = False) -> list[LaunchLines]:
    """`read`, divided by launch: at least one. The first launch begins with the file, each other one with its run record."""
    reading = _RecordReader(name, samples)
    at = 0
    for number, line in enumerate(_lines(text), start=1):
        if not samples and line.startswith(SAMPLE) and reading.take_sample(line):
            pass
        elif line and not line.isspace():
            reading.line(line, number, at, is_last=at + len(line) == len(text))
        at += len(line) + 1
    reading.finish()
    return reading.launches


def _lines(text: bytes, at_once: int = 1 << 20) -> Iterator[bytes]:
    """Yields the lines of a text in portions, since all lines together take more memory than the text."""
    at = 0
    while at < len(text):
        stop = text.find(b"\n", at + at_once)
        stop = len(text) if stop < 0 else stop
        yield from text[at:stop].split(b"\n")
        at = stop + 1


def pieces(line: bytes) -> list[tuple[int, bytes]]:
    """Divides a line that is not a record at the beginnings of records; returns (offset in the line, piece) pairs. Such lines arise if a cut-off
    file and another one are concatenated. Text before the first record is a piece of its own."""
    starts = [found.start() for found in _BEGIN.finditer(line)]
    if not starts or line[: starts[0]].strip():
        starts.insert(0, 0)
    return [(start, line[start:stop]) for start, stop in zip(starts, [*starts[1:], len(line)], strict=True)]


_BEGIN = re.compile(re.escape(RECORD))
_MOST = 1000  # problems kept per launch; further ones are only counted


class _RecordReader:
    """The state while a file of records is read."""

    def __init__(self, name: str, samples: bool) -> None:
        self.name, self.samples = name, samples
        self.current = LaunchLines()
        self.launches = [self.current]
        self.sampled = _SampledRows()
        self.filled = False  # whether the current launch has records, kept or not
        self.unnamed = 0  # number of its problems that are not kept

    def take_sample(self, line: bytes) -> bool:
        """Takes a line if it is a valid sample of the current launch in the suite's own format; returns whether it took it. Most lines are such."""
        if self.current.other or self.current.has_ended or b":-" in line or b": " in line:
            return False
        try:
            _sample_decoder.decode(line)
        except UNDECODABLE:
            return False
        if _LONG in line.translate(_DIGITS):
            return False
        self.filled = True
        self.sampled.lines.append(line)
        return True

    def line(self, line: bytes, number: int, at: int, *, is_last: bool) -> None:
        """Takes a line at offset `at` of the file. `is_last`: it has no newline."""
        try:
            self.take_record(decode(line), line, number, at)
        except UNDECODABLE as error:
            parts = pieces(line)
            if len(parts) == 1 and not parts[0][0]:
                self.take_damaged(line, number, at, error, is_torn=is_last)
                return
            for place, part in parts:
                try:
                    self.take_record(decode(part), part, number, at + place)
                except UNDECODABLE as part_error:
                    torn = is_last and (place, part) == parts[-1]
                    self.take_damaged(part, number, at + place, part_error, is_torn=torn)

    def take_damaged(self, part: bytes, number: int, at: int, error: Exception, *, is_torn: bool) -> None:
        """Takes a line or piece that is not a record."""
        if part.startswith(RUN) and self.filled:
            self.begin(at)
        if not self.current.other:
            message = "incomplete last line" if is_torn else f"not a record of {SCHEMA}"
            self.add_problem(number, f"{message} ({str(error)[:200]}); the other lines are read")

    def add_problem(self, number: int, text: str) -> None:
        if len(self.current.problems) < _MOST:
            self.current.problems.append(Problem(self.name, number, text))
        else:
            self.unnamed += 1

    def begin(self, at: int, *, other: bool = False) -> None:
        """Begins another launch."""
        self.finish()
        self.sampled, self.filled, self.unnamed = _SampledRows(), other, 0
        self.current = LaunchLines(start=at, records=[], problems=[], other=other)
        self.launches.append(self.current)

    def finish(self) -> None:
        """Completes the current launch."""
        self.sampled.complete(self.current.records)
        if self.unnamed:
            lines = f"{count_of(self.unnamed, 'more line')} {'is' if self.unnamed == 1 else 'are'}"
            self.current.problems.append(Problem(self.name, 0, f"{lines} no whole record"))

    def take_record(self, record: Record, line: bytes, number: int, at: int) -> None:
        """Takes a complete record."""
        if isinstance(record, Run):
            if other := schema_problem(line):
                self.begin(at, other=True)
                self.add_problem(number, f"{other}; this version reads {SCHEMA}; skipped")
                return
            if self.filled:
                self.begin(at)
        elif self.current.other:
            return
        elif self.current.has_ended and not isinstance(record, End):
            self.begin(at)
            self.add_problem(
                number,
                "a record after the end of a launch; its run record is missing, so what was launched is not known",
            )
        self.filled = True
        # Nearly all minus signs belong to exponents.
        is_negative = line.count(b"-") != line.count(b"e-")
        if is_negative and isinstance(record, Result | Sample | Pair) and _drop_negative_times(record):
            self.add_problem(number, "negative time; skipped")
        if self.samples or not isinstance(record, SampledRow | Sample | Pair):
            self.current.records.append(record)
        elif isinstance(record, SampledRow):
            self.sampled.rows[record.row] = record
        elif isinstance(record, Sample):
            self.sampled.lines.append(line)


class _Schema(msgspec.Struct):
    schema: str | None = None


_schema_decoder = msgspec.json.Decoder(_Schema)


def schema_problem(line: bytes) -> str | None:
    """What is wrong with the schema of a run record, or None if this version reads it."""
    stated = _schema_decoder.decode(line).schema
    if stated == SCHEMA:
        return None
    return "a run record without a schema" if stated is None else f"records of the schema {stated[:60]!r}"


_PAIR_TIMES = ("time_seconds", "time_a_seconds", "time_b_seconds")


def _drop_negative_times(record: Result | Sample | Pair) -> bool:
    """Sets negative times to None; returns whether there were any. JSON has neither NaN nor infinity."""
    times = _PAIR_TIMES if isinstance(record, Pair) else TIME_FIGURES
    wrong = [figure for figure in times if (getattr(record, figure) or 0.0) < 0]
    for figure in wrong:
        setattr(record, figure, None)
    return bool(wrong)


class _SampledRows:
    """The rows of one launch in passes, and the lines of their samples, which are not decoded until needed."""

    def __init__(self) -> None:
        self.rows: dict[int, SampledRow] = {}
        self.lines: list[bytes] = []

    def complete(self, records: list[Record]) -> None:
        """Inserts results for rows that have samples but no result or failure, before the end record of the launch."""
        if not self.rows:
            return
        measured = {record.row for record in records if isinstance(record, Result)}
        failed = {(*_place(record), record.bytes) for record in records if isinstance(record, Failure)}
        lacking = {
            number: row
            for number, row in self.rows.items()
            if number not in measured
            and not failed & {(*_place(row), length) for length in (row.bytes, None)}
        }
        if not lacking:
            return
        by_row: dict[int, list[Sample]] = {number: [] for number in sorted(lacking)}
        for line in self.lines:
            sample = decode(line)
            if isinstance(sample, Sample) and sample.row in by_row:
                _drop_negative_times(sample)
                by_row[sample.row].append(sample)
        results = [
            row_from_samples(lacking[number], samples) for number, samples in by_row.items() if samples
        ]
        at = len(records) - isinstance(records[-1] if records else None, End)
        records[at:at] = results


def _place(row: SampledRow | Failure) -> tuple[object, ...]:
    return row.benchmark, row.mode, row.variant, row.multi, row.processes, row.threads, row.group_count


def row_from_samples(row: SampledRow, samples: Sequence[Sample]) -> Result:
    """A row computed from at least one sample: plain medians over all states of the machine, without an interval."""
    place = {name: getattr(row, name) for name in row.__struct_fields__}
    figures: dict[str, Any] = {}
    for name in SAMPLED_FIGURES:
        known = [value for sample in samples if (value := getattr(sample, name)) is not None]
        figures[name] = median(known) if known else None
    defects = [sample.defects for sample in samples if sample.defects is not None]
    evidence = [sample.evidence for sample in samples if sample.evidence is not None]
    return Result(
        **place,
        **figures,
        repetitions=round(median([sample.repetitions or 1 for sample in samples])),
        slowest_rank=mode(sample.slowest_rank for sample in samples),
        slowest_thread=mode(sample.slowest_thread for sample in samples),
        defects=sum(defects) if defects else None,
        passes=Passes(
            samples=len(samples), used=len(samples), shortfall="cut_off", reference_state=False, states=[]
        ),
        evidence=sum_evidence(evidence) if evidence else None,
    )


def sum_evidence(several: Iterable[Evidence]) -> Evidence:
    """The sum of several samples' evidence. `most` is the largest value in any sample."""
    total = Evidence()
    moved: dict[int, None] = {}
    by_interface: dict[tuple[str, str], InterfaceBytes] = {}
    for evidence in several:
        for name in Evidence.COUNTERS:
            summed: Counter | None = getattr(total, name)
            extra: Counter | None = getattr(evidence, name)
            if extra is not None:
                most = max(
                    (counter for counter in (summed, extra) if counter), key=lambda counter: counter.most
                )
                setattr(total, name, Counter((summed.sum if summed else 0) + extra.sum, most.most, most.rank))
        moved |= dict.fromkeys(evidence.moved_ranks or [])
        for each in evidence.interfaces or []:
            interface = by_interface.setdefault(
                (each.host, each.name), InterfaceBytes(each.host, each.name, 0, 0)
            )
            interface.sent_bytes += each.sent_bytes
            interface.received_bytes += each.received_bytes
    total.moved_ranks = list(moved) or None
    total.interfaces = list(by_interface.values()) or None
    return total


def write(records: Iterable[Record]) -> bytes:
    """JSON lines."""
    return b"".join(map(encode, records))
