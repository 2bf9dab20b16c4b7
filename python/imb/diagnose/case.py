"""Input and output of rules: thresholds, curves, findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta

from imb.compare.variance import Variance, parts_of
from imb.diagnose import curves
from imb.diagnose.series import SampleSeries, series_of
from imb.model import options
from imb.model.errors import ImbError
from imb.model.observations import Key, Side
from imb.model.options import Memory
from imb.model.records import Result
from imb.stats.arrays import Values
from imb.stats.medians import nanmedian

FindingLevel: TypeAlias = Literal["problem", "warning", "information"]
LEVELS: tuple[FindingLevel, ...] = get_args(FindingLevel)


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits from which rules report a finding. `--threshold NAME=VALUE` changes one."""

    rank_spread: Annotated[float, Meta(description="t_max / t_min over ranks, of one row")] = 3.0
    slowest_share: Annotated[
        float, Meta(description="share of rows in which the same rank is the slowest")
    ] = 0.5
    slowest_excess: Annotated[
        float, Meta(description="t_max / t_avg above which the slowest rank of a row counts")
    ] = 1.1
    launch_spread: Annotated[
        float,
        Meta(description="90th over 10th percentile of launches, of one row"),
    ] = 1.2
    variance: Annotated[
        float, Meta(description="standard deviation of the largest variance component, of the median row")
    ] = 0.05
    tail: Annotated[float, Meta(description="p99 / p50 of the repetitions of one row")] = 3.0
    cliff: Annotated[
        float, Meta(description="share of its bandwidth that a curve loses from one message size to the next")
    ] = 0.3
    plateau: Annotated[
        float, Meta(description="bandwidth of long messages over that predicted from shorter ones")
    ] = 0.67
    switch: Annotated[float, Meta(description="relative jump of time between two linear segments")] = 0.15
    collective: Annotated[
        float, Meta(description="time of a collective over what point-to-point times imply")
    ] = 3.0
    link_share: Annotated[float, Meta(description="best bandwidth as a share of the link's (--link)")] = 0.9
    gpu_link_share: Annotated[
        float, Meta(description="best bandwidth of GPU memory as a share of the GPU link's")
    ] = 0.7
    memory_share: Annotated[
        float, Meta(description="bandwidth of the longest message over half of --memory-bandwidth")
    ] = 0.5
    latency_intra: Annotated[float, Meta(description="seconds of a short message within a node")] = 5e-6
    latency_inter: Annotated[float, Meta(description="seconds of a short message between nodes")] = 20e-6
    overlap_excess: Annotated[
        float, Meta(description="time with computation over the sum of transfer and computation, in one row")
    ] = 2.0
    overlap: Annotated[float, Meta(description="overlap in percent, of 64 KiB and longer")] = 20.0
    cause: Annotated[
        float,
        Meta(description="share of time that a cause costs in affected samples or launches"),
    ] = 0.05
    load_drift: Annotated[float, Meta(description="relative change of computation speed during a row")] = 0.1

    def apply_values(self, words: Sequence[str]) -> Thresholds:
        """The thresholds, changed by `NAME=VALUE` texts. Raises ImbError."""
        changes: dict[str, float] = {}
        for word in words:
            name, _, value = word.partition("=")
            name = name.strip().replace("-", "_")
            if name not in self.__struct_fields__:
                near = get_close_matches(name, self.__struct_fields__, 1)
                hint = (
                    f"did you mean {near[0]}?" if near else f"choose from {', '.join(self.__struct_fields__)}"
                )
                raise ImbError(f"unknown threshold: {name}; {hint}")
            try:
                changes[name] = float(value)
            except ValueError:
                raise ImbError(f"--threshold: not a number: {word}; give one, as in {name}=2.5") from None
            if not 0 <= changes[name] < float("inf"):
                raise ImbError(f"--threshold: out of range: {word}; give a finite number, 0 or more")
        return msgspec.structs.replace(self, **changes)


def threshold_descriptions() -> dict[str, str]:
    """The quantity that each threshold limits, by name."""
    hints = get_type_hints(Thresholds, include_extras=True)
    return {name: get_args(hints[name])[1].description for name in Thresholds.__struct_fields__}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Known limits of the hardware, in bytes per second. `link`: network link, one direction; `memory`:
    reading and writing together, as STREAM's copy counts; `gpu_link`: link of a GPU, one direction."""

    link: float | None = None
    memory: float | None = None
    gpu_link: float | None = None


def rate(text: str) -> float:
    """Bytes per second of `100Gb/s`, `12.5 GB/s` or `20GiB/s`; b is bits, B is bytes. Raises ImbError."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([kKMGT]?)(i?)([bB])(?:it)?(?:/s|ps)\s*", text)
    try:
        number = float(match[1]) if match else 0.0
    except ValueError:
        number = 0.0
    if not match or not number > 0:
        raise ImbError(f"not a rate: {text!r}; give one such as 100Gb/s (bits) or 20GB/s (bytes)")
    prefix: float = (1024.0 if match[3] else 1000.0) ** " KMGT".index(match[2].upper() or " ")
    return number * prefix / (8 if match[4] == "b" else 1)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`found` is a sentence with the decisive numbers; `evidence` has all numbers (times in seconds, sizes in
    bytes). `weight` is the value divided by the threshold: 1 is just over it."""

    level: FindingLevel
    rule: str
    where: str
    found: str
    advice: str
    evidence: dict[str, Any] = {}
    weight: float = 1.0


class FailedLaunch(NamedTuple):
    """A run without a result. `reason`: what the launcher or the MPI printed."""

    name: str
    facts: Mapping[str, Any]
    reason: str | None


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The latency-bandwidth model of one curve. `misfit`: why it does not describe the curve, or None if it
    does. `extrapolated`: its bandwidth is higher than the bandwidth of any row."""

    curve: Key
    fit: curves.CurveFit
    misfit: str | None
    extrapolated: bool


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Findings, the worst first; notes list what could not be judged. `variance`: variance components, or
    None if no launch was in passes."""

    side: str
    launches: int
    findings: list[Finding]
    models: list[Model]
    notes: list[str]
    variance: Variance | None = None

    @property
    def is_healthy(self) -> bool:
        """Whether all findings are information only."""
        return all(finding.level == "information" for finding in self.findings)


_OSU_TRANSFER = re.compile(r"osu_(latency|bw)(_(cuda|rocm|openacc|managed))?")


class Curve:
    """One benchmark on one layout over message sizes. `rows`: by launch and size, None if a launch lacks the
    row; `times`: seconds, shape (launches, sizes), NaN if missing."""

    def __init__(self, key: Key, keys: list[Key], side: Side) -> None:
        self.key = key
        self.keys = sorted(keys, key=lambda row_key: -1 if row_key.bytes is None else row_key.bytes)
        self.rows: list[list[Result | None]] = [
            [launch.rows.get(row_key) for row_key in self.keys] for launch in side.launches
        ]
        first = next(row for rows in self.rows for row in rows if row is not None)
        self.kind = first.kind
        metric = "pure" if first.time_pure_seconds is not None else "time"
        self.times: Values = np.array([side.values(row_key, metric) for row_key in self.keys]).T
        self.times[~(self.times > 0)] = np.nan

    @cached_property
    def medians(self) -> Values:
        """Seconds, shape (sizes,); NaN if no launch has the row."""
        return nanmedian(self.times)

    @cached_property
    def shape(self) -> tuple[Values, Values, Values]:
        """Message sizes (n,), median times (n,) and times by launch (launches, n) of the rows that have both
        size and time.

        A collective of 0 bytes moves no message, so its row is left out.
        """
        least = 1 if self.kind == "collective" else 0
        good = [
            i
            for i, key in enumerate(self.keys)
            if key.bytes is not None and key.bytes >= least and self.medians[i] > 0
        ]
        lengths = np.array([self.keys[i].bytes for i in good], dtype=np.float64)
        return lengths, self.medians[good], self.times[:, good]

    @cached_property
    def fit(self) -> curves.CurveFit | None:
        """The latency-bandwidth model of the medians, or None if it cannot be fitted."""
        return curves.fit(*self.shape[:2])

    @cached_property
    def segments(self) -> list[curves.Segment]:
        """The straight lines that the medians form."""
        return curves.segments(*self.shape[:2])

    def numbers(self, take: Callable[[Result], float | None]) -> Values:
        """A value of every row, shape (launches, sizes); NaN if a row lacks it."""
        values = [[None if row is None else take(row) for row in rows] for rows in self.rows]
        return np.array(
            [[np.nan if value is None else value for value in row] for row in values], dtype=np.float64
        )

    @property
    def is_transfer(self) -> bool:
        """Whether the benchmark moves messages between two ranks and counts each message once per repetition."""
        moves = self.kind == "single_transfer" or _OSU_TRANSFER.fullmatch(self.key.benchmark) is not None
        return moves and self.key.processes in (2, None)

    @property
    def communicates(self) -> bool:
        return self.key.benchmark != "Reduce_local" and self.key.component != "IO"


def _why_not_one_curve(keys: Sequence[Key]) -> str:
    """Why several rows have the same size."""
    if any(key.arrival_width_seconds is not None for key in keys):
        return "ranks arrive over another width in each launch"
    return "launches have different numbers of messages in flight"


class Case:
    """The input of the rules: side, thresholds, limits and curves; and the notes that rules write."""

    def __init__(
        self,
        side: Side,
        thresholds: Thresholds,
        limits: Limits,
        variance: Variance | None = None,
        failed: Sequence[FailedLaunch] = (),
    ) -> None:
        self.side, self.thresholds, self.limits = side, thresholds, limits
        self.failed = {run.name for run in failed}
        self.variance = variance or parts_of(side)
        self.notes: list[str] = []
        by_curve: dict[Key, list[Key]] = {}
        for key in side.all_keys():
            by_curve.setdefault(key.curve(), []).append(key)
        self.curves = []
        for curve, keys in by_curve.items():
            if len({key.bytes for key in keys}) == len(keys):
                self.curves.append(Curve(curve, keys, side))
            else:
                self.note(f"{curve}: {_why_not_one_curve(keys)}; diagnose one launch")

    @cached_property
    def series(self) -> list[SampleSeries | None]:
        """The samples of each launch, or None if no sample of the launch was observed."""
        return [series_of(launch) for launch in self.side.launches]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @cached_property
    def crowded_cores(self) -> int | None:
        """Number of cores of a host that had more ranks than cores in some launch, or None if no host had."""
        return next((crowding[1] for launch in self.side.launches if (crowding := launch.crowding())), None)

    @cached_property
    def memory(self) -> Memory | None:
        """The kind of memory of the messages, or None if it is host memory. All launches of a sample set have
        one kind."""
        kinds = (options.memory(launch.run) for launch in self.side.launches)
        return next((kind for kind in kinds if kind and {*kind} != {"host"}), None)

    @property
    def bind_advice(self) -> str:
        """Advice on giving each rank a core."""
        if self.crowded_cores is None:
            return "bind ranks to cores (--bind core, --cpus)"
        return f"launch at most {self.crowded_cores} ranks per host: ranks outnumber cores"

    def placement(self, processes: int | None) -> str | None:
        """`intra-node` or `inter-node` for the first `processes` ranks, or None if it is unknown or differs
        between launches."""
        placements = set()
        for launch in self.side.launches:
            ranks = (launch.run.ranks or [])[:processes]
            hosts = {rank.host for rank in ranks}
            placements.add(None if not hosts else "intra-node" if len(hosts) == 1 else "inter-node")
        return placements.pop() if len(placements) == 1 else None
