"""The content of a log before its conversion to records: launches, and stretches of rows under one head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from imb.model.catalog import kind_of
from imb.model.figures import FIGURES
from imb.model.records import (
    TIME_FIGURES,
    End,
    Failure,
    LaunchLines,
    Mode,
    Multi,
    Problem,
    Record,
    Result,
    Run,
)
from imb.model.units import NOT_KNOWN

Array: TypeAlias = npt.NDArray[Any]
CELL = 13  # characters of a cell in a table of IMB
MEGABYTES = (2.0**20, 1e6)  # bytes that programs count as a megabyte in Mbytes/sec

# Name of a column without its unit -> field of Result. In tables, times are in microseconds.
FIELDS = {
    "group": "group",
    "bytes": "bytes",
    "repetitions": "repetitions",
    "t": "time_max_seconds",
    **{figure.head.partition("[")[0].lower(): figure.name for figure in FIGURES if figure.head},
    "+-": "half_width",
    "defects": "defects",
}
WHOLE = frozenset({"group", "bytes", "repetitions"})
TIMES = frozenset(column for column, field in FIELDS.items() if field in TIME_FIGURES)
# In tables of passive targets, t_pure is the time of the whole group, and there is no t_CPU.
PASSIVE = ("bytes", "repetitions", "t_pure", "t_ovrl")
# In tables of IMB-P2P, t is the mean over processes.
MEAN_AND_RATE = frozenset({"t", "msg/sec"})


class Head(NamedTuple):
    """The facts above a table."""

    benchmark: str
    mode: Mode | None = None
    multi: Multi | None = None
    processes: int | None = None
    threads: int = 1
    group_count: int | None = None
    groups: tuple[tuple[int, ...], ...] | None = None
    variant: str | None = None

    def place(self) -> dict[str, Any]:
        """The fields of a record that the head states."""
        groups = [list(group) for group in self.groups] if self.groups else None
        return {**self._asdict(), "groups": groups}


class Stretch(msgspec.Struct, gc=False):
    """Rows under one head. `columns`: keys of FIELDS; `line`: line number of the table's header row; `arrays`: the printed numbers, one array
    of shape (rows,) per column, with NaN for missing or non-finite numbers."""

    head: Head
    columns: tuple[str, ...]
    line: int
    arrays: Sequence[Any]
    quantiles: dict[int, dict[str, float | None]] | None = None
    load_drift: dict[int, float] | None = None
    in_flight: dict[int, int] | None = None

    def rows(self, last: int | None = None) -> Iterator[tuple[float | int | None, ...]]:
        """Yields all rows, or the last `last` ones, as numbers; None in place of a number that is not finite."""
        start = 0 if last is None else max(0, self.count - last)
        for row in zip(*(array[start:].tolist() for array in self.arrays), strict=True):
            yield tuple(None if value != value else value for value in row)

    def lengths(self) -> set[int | None]:
        """The message sizes; {None} if the table has no such column."""
        return set(self.arrays[self.columns.index("bytes")].tolist()) if "bytes" in self.columns else {None}

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.arrays[0])


class LoggedLaunch(msgspec.Struct):
    """One launch in a log: bytes `start` to `stop` of the file. `label`: the title of the section that contains it."""

    run: Run
    start: int
    stop: int = 0
    end: End | None = None
    label: str | None = None
    unsupported: str | None = None  # the component's name if it is not supported
    bytes_per_megabyte: float = 2.0**20
    items: list[Stretch | Failure] = []

    def stretches(self) -> Iterator[Stretch]:
        """The stretches in the order of the log."""
        return (item for item in self.items if isinstance(item, Stretch))

    def records(self) -> Iterator[Record]:
        """Yields the run, results and failures in the order of the log, and the end if the log has one."""
        yield self.run
        for item in self.items:
            if isinstance(item, Failure):
                yield item
            else:
                yield from results_of(item, self)
        if self.end:
            yield self.end


class Log(msgspec.Struct):
    """The content of a file. `launches`: from a log; `recorded`: from JSON lines; `problems`: lines that were not understood; `assumed`: facts
    that the log does not state, or that records cannot store; `notes`: skipped lines."""

    name: str
    format: str
    launches: list[LoggedLaunch] = []
    recorded: list[LaunchLines] = []
    problems: list[Problem] = []
    assumed: list[Problem] = []
    notes: list[Problem] = []

    def counts(self) -> tuple[int, int, int]:
        """The numbers of tables, rows and failures."""
        lines: set[int] = set()
        rows = failures = 0
        for launch in self.launches:
            for item in launch.items:
                if isinstance(item, Stretch):
                    lines.add(item.line)
                    rows += item.count
                else:
                    failures += 1
        return len(lines), rows, failures


def number(token: str, column: str) -> float | int | None:
    """A cell as a number, or None if the number is not finite or is a negative time. Raises ValueError if the cell is not a number."""
    if column in WHOLE:
        whole = int(token)
        if not 0 <= whole < 2**63:
            raise ValueError(token)
        return whole
    if token == NOT_KNOWN and (column == "+-" or column in TIMES):
        return None
    value = float(token.removesuffix("%") if column == "+-" else token)
    return value if abs(value) < 1e300 and not (value < 0 and column in TIMES) else None


def arrays_of(columns: Sequence[str], rows: Iterable[Sequence[float | int | None]]) -> list[Array]:
    """An array for each column, as in Stretch, from at least one row; None becomes NaN."""
    return [
        np.array(
            [np.nan if value is None else value for value in values],
            np.int64 if name in WHOLE else np.float64,
        )
        for name, values in zip(columns, zip(*rows, strict=True), strict=True)
    ]


def megabyte_of(bytes_per_second: float, printed: float) -> float | None:
    """The value of MEGABYTES with which this rate (bytes per second) is printed as `printed`, or None if none fits."""
    return next((unit for unit in MEGABYTES if abs(bytes_per_second / unit / printed - 1) < 0.01), None)


def lacks_time(values: Sequence[float | int | None], columns: Sequence[str], row: str) -> bool:
    """Whether a row has an invalid time (negative, NaN or infinite), for which `number` returns None. A time that the row marks as unknown is
    not invalid."""
    pairs = zip(values, columns, strict=True)
    missing = sum(value is None and (name in TIMES or name == "+-") for value, name in pairs)
    return missing > row.split().count(NOT_KNOWN)


def time_problem(row: str) -> str:
    """The text of the problem for a row with an invalid time."""
    return f"invalid time (negative, infinite or not a number): {row[:60]!r}; skipped"


def figures(
    columns: Sequence[str], arrays: Sequence[Array], bytes_per_megabyte: float | Array
) -> dict[str, Array]:
    """Field of Result -> values of shape (rows,) in the units of records (seconds, bytes per second, shares); NaN if there is no number.

    `arrays`: the printed numbers, shape (rows,) each; `bytes_per_megabyte`: one number, or one per row. Only this function converts units
    and knows the tables whose columns have another meaning.
    """
    by_field: dict[str, Array] = {}
    for name, values in zip(columns, arrays, strict=True):
        if name in TIMES:
            values = values / 1e6
        elif name == "mbytes/sec":
            values = values * bytes_per_megabyte
        elif name == "+-":
            values = values / 100
        by_field[FIELDS[name]] = values
    if tuple(columns[:4]) == PASSIVE:
        by_field["time_max_seconds"] = by_field.pop("time_pure_seconds")
    if set(columns) >= MEAN_AND_RATE:
        by_field["time_avg_seconds"] = by_field.pop("time_max_seconds")
    if "bytes" not in by_field:
        by_field["bytes"] = np.zeros(len(arrays[0]), np.int64)
    return by_field


def results_of(stretch: Stretch, launch: LoggedLaunch) -> Iterator[Result]:
    """Yields the rows of a stretch as records."""
    head = stretch.head
    place = {**head.place(), "kind": kind_of(head.benchmark, launch.run.component)}
    by_field = figures(stretch.columns, stretch.arrays, launch.bytes_per_megabyte)
    for i, row in enumerate(zip(*(values.tolist() for values in by_field.values()), strict=True)):
        result = Result(
            **place,
            quantiles=(stretch.quantiles or {}).get(i),
            load_drift=(stretch.load_drift or {}).get(i),
            in_flight=(stretch.in_flight or {}).get(i),
            line=stretch.line,
        )
        for field, value in zip(by_field, row, strict=True):
            setattr(result, field, None if value != value else value)
        if result.defects is not None:
            result.defects = int(result.defects)  # a column with missing values has floats
        if result.group is not None and head.groups and result.group < len(head.groups):
            result.groups = [list(head.groups[result.group])]
        yield result
