"""Converts launches and records to the Arrow tables in the index, which `imb query` sees.

There is one row per result and one per failure, with the record's field names; `run` is the run's name in the archive. The
group's index is called group_index, since GROUP is a keyword of SQL. Quantiles are columns p50_seconds and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from imb.model.catalog import kind_of
from imb.model.figures import FIGURES
from imb.model.records import QUANTILES, TIME_FIGURES, Component, Counter, Evidence, Failure, Passes, Result
from imb.readers.parsed_log import Array, Head, LoggedLaunch, Stretch, figures

_AT_ONCE = 20_000  # records that are converted to columns together
_TEXT = pa.dictionary(pa.int32(), pa.string())
_PLACE = [
    ("run", _TEXT),
    ("benchmark", _TEXT),
    ("kind", _TEXT),
    ("mode", _TEXT),
    ("variant", _TEXT),
    ("multi", _TEXT),
    ("processes", pa.int64()),
    ("threads", pa.int64()),
    ("group_count", pa.int64()),
    ("group_index", pa.int64()),
    ("groups", _TEXT),
    ("bytes", pa.int64()),
]


def _count(counter: Counter | None) -> float | None:
    return counter.sum if counter else None


# Name of a column of rows in passes -> its type, and a function that gets its value from the record.
_OF_PASSES: dict[str, tuple[pa.DataType, Callable[[Passes, Evidence], float | str | None]]] = {
    "samples": (pa.int64(), lambda passes, _: passes.samples),
    "samples_used": (pa.int64(), lambda passes, _: passes.used),
    "half_width": (pa.float64(), lambda passes, _: passes.half_width),
    "interval_low_seconds": (
        pa.float64(),
        lambda passes, _: passes.interval_seconds[0] if passes.interval_seconds else None,
    ),
    "interval_high_seconds": (
        pa.float64(),
        lambda passes, _: passes.interval_seconds[1] if passes.interval_seconds else None,
    ),
    "effective_samples": (pa.float64(), lambda passes, _: passes.effective_samples),
    "machine_states": (pa.int64(), lambda passes, _: len(passes.states) or None),
    "shortfall": (_TEXT, lambda passes, _: passes.shortfall if passes.samples is not None else None),
    "involuntary_switches": (pa.float64(), lambda _, evidence: _count(evidence.involuntary_switches)),
    "major_faults": (pa.float64(), lambda _, evidence: _count(evidence.major_faults)),
    "run_delay_seconds": (pa.float64(), lambda _, evidence: _count(evidence.run_delay_seconds)),
    "steal_seconds": (pa.float64(), lambda _, evidence: _count(evidence.steal_seconds)),
    "moved_ranks": (
        pa.int64(),
        lambda _, evidence: len(evidence.moved_ranks) if evidence.moved_ranks else None,
    ),
}
QUANTILE_COLUMNS = {name: f"{name.replace('.', '_')}_seconds" for name in QUANTILES}
RESULTS = pa.schema(
    [
        *_PLACE,
        ("repetitions", pa.int64()),
        *((name, pa.float64()) for name in TIME_FIGURES),
        ("slowest_rank", pa.int64()),
        ("slowest_thread", pa.int64()),
        *((figure.name, pa.float64()) for figure in FIGURES if figure.unit != "seconds"),
        ("defects", pa.int64()),
        *((name, kind) for name, (kind, _) in _OF_PASSES.items()),
        *((name, pa.float64()) for name in QUANTILE_COLUMNS.values()),
        ("line", pa.int64()),
    ]
)
FAILURES = pa.schema(
    [
        *_PLACE,
        ("cause", _TEXT),
        ("needed_bytes", pa.int64()),
        ("seconds_per_repetition", pa.float64()),
        ("detail", _TEXT),
        ("help", _TEXT),
        ("line", pa.int64()),
    ]
)
_RENAMED = {"group": "group_index"}


class _Dictionary:
    """The dictionary of an Arrow column of texts, which grows with each new text. None stands for a missing text."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def code(self, text: str | None) -> int:
        return -1 if text is None else self.codes.setdefault(text, len(self.codes))

    def spread(self, codes: Any, at: Any) -> pa.Array:
        """The texts of codes[at] as an Arrow array; `codes` and `at` are int32, code -1 is null."""
        texts = pa.array(list(self.codes), pa.string())
        if not self.codes:
            return pa.nulls(len(at), _TEXT)
        if len(self.codes) == 1 and not (codes < 0).any():
            indices = pa.array(np.zeros(len(at), np.int32))
        else:
            rows = codes[at]
            indices = pa.array(rows, mask=rows < 0) if (codes < 0).any() else pa.array(rows)
        return pa.DictionaryArray.from_arrays(indices, texts)


class _StretchGroup(msgspec.Struct):
    """Stretches with the same columns. `head_numbers`, `launch_numbers`: for each stretch, the index of its head in `heads` and of its launch."""

    stretches: list[Stretch] = []
    head_numbers: list[int] = []
    launch_numbers: list[int] = []
    heads: list[tuple[Head, Component | None]] = []
    number_of_head: dict[tuple[int, Component | None], int] = {}  # by identity, since comparing heads is slow


def results_of_launches(launches: Iterable[tuple[str, LoggedLaunch]]) -> pa.Table:
    """The rows of logs as a table with the schema RESULTS. `launches`: (name of the run, launch) pairs."""
    every = list(launches)
    by_columns: dict[tuple[str, ...], _StretchGroup] = {}
    for number, (_, launch) in enumerate(every):
        component = launch.run.component
        for stretch in launch.stretches():
            alike = by_columns.get(stretch.columns)
            if alike is None:
                alike = by_columns[stretch.columns] = _StretchGroup()
            key = (id(stretch.head), component)
            head = alike.number_of_head.get(key)
            if head is None:
                head = alike.number_of_head[key] = len(alike.heads)
                alike.heads.append((stretch.head, component))
            alike.stretches.append(stretch)
            alike.head_numbers.append(head)
            alike.launch_numbers.append(number)
    return pa.concat_tables(
        [
            RESULTS.empty_table(),
            *(_table_of_columns(columns, alike, every) for columns, alike in by_columns.items()),
        ]
    )


def _table_of_columns(
    columns: tuple[str, ...], alike: _StretchGroup, launches: Sequence[tuple[str, LoggedLaunch]]
) -> pa.Table:
    stretches, heads = alike.stretches, alike.heads
    counts = np.array([stretch.count for stretch in stretches], np.int64)
    total = int(counts.sum())
    # There are few heads and launches: their facts are looked up once, and copied to their rows by number.
    by_head = np.repeat(np.array(alike.head_numbers, np.int32), counts)
    by_launch = np.repeat(np.array(alike.launch_numbers, np.int32), counts)

    def texts(each: Iterable[str | None], at: Any = by_head) -> pa.Array:
        dictionary = _Dictionary()
        codes = np.array([dictionary.code(text) for text in each], np.int32)
        return dictionary.spread(codes, at)

    def integers(each: Iterable[int | None]) -> pa.Array:
        values = np.array([-1 if value is None else value for value in each], np.int64)
        rows = values[by_head]
        return pa.array(rows, mask=rows < 0) if (values < 0).any() else pa.array(rows)

    by_name: dict[str, pa.Array] = {
        "run": texts((run for run, _ in launches), by_launch),
        "benchmark": texts(head.benchmark for head, _ in heads),
        "kind": texts(kind_of(head.benchmark, component) for head, component in heads),
        "mode": texts(head.mode for head, _ in heads),
        "variant": texts(head.variant for head, _ in heads),
        "multi": texts(head.multi for head, _ in heads),
        "processes": integers(head.processes for head, _ in heads),
        "threads": integers(head.threads for head, _ in heads),
        "group_count": integers(head.group_count for head, _ in heads),
        "groups": texts(_groups(head.groups) for head, _ in heads),
        "line": pa.array(np.repeat(np.array([stretch.line for stretch in stretches], np.int64), counts)),
    }
    units = np.array([launch.bytes_per_megabyte for _, launch in launches])
    megabytes: float | Array = units[by_launch] if (units != units[0]).any() else float(units[0])
    for field, values in figures(
        columns,
        [np.concatenate(parts) for parts in zip(*(each.arrays for each in stretches), strict=True)],
        megabytes,
    ).items():
        if field == "defects":
            whole_numbers = np.nan_to_num(values, nan=0, posinf=0).astype(np.int64)
            by_name[field] = pa.array(whole_numbers, mask=np.isnan(values))
        else:
            by_name[_RENAMED.get(field, field)] = pa.array(values, from_pandas=True)
    if any(stretch.quantiles or stretch.load_drift for stretch in stretches):
        by_name |= _extras(stretches)
    kinds = {field.type for field in RESULTS if field.name not in by_name}
    nulls = {
        kind: pa.nulls(total, kind) for kind in kinds
    }  # most columns are all null and share one array per type
    arrays = [by_name[field.name] if field.name in by_name else nulls[field.type] for field in RESULTS]
    return pa.table(arrays, schema=RESULTS)


def _extras(stretches: Sequence[Stretch]) -> dict[str, pa.Array]:
    drift: list[float | None] = []
    quantiles: dict[str, list[float | None]] = {name: [] for name in QUANTILES}
    for stretch in stretches:
        for i in range(stretch.count):
            drift.append((stretch.load_drift or {}).get(i))
            row = (stretch.quantiles or {}).get(i, {})
            for name, values in quantiles.items():
                values.append(row.get(name))
    columns = {QUANTILE_COLUMNS[name]: pa.array(values, pa.float64()) for name, values in quantiles.items()}
    return columns | {"load_drift": pa.array(drift, pa.float64())}


def _groups(groups: Sequence[Sequence[int]] | None) -> str | None:
    return msgspec.json.encode(groups).decode() if groups else None


def results_of_records(results: Iterable[tuple[str, Result]]) -> pa.Table:
    """Results as a table with the schema RESULTS. `results`: (name of the run, record) pairs."""
    return _table_of_records(results, RESULTS)


def failures_of_records(failures: Iterable[tuple[str, Failure]]) -> pa.Table:
    """Failures as a table with the schema FAILURES. `failures`: (name of the run, record) pairs."""
    return _table_of_records(failures, FAILURES)


def _table_of_records(records: Iterable[tuple[str, Result | Failure]], schema: pa.Schema) -> pa.Table:
    """The records as a table. Converts a part at a time, since columns take ten times as much memory as lists of Python objects."""
    rest = iter(records)
    parts = []
    while part := list(islice(rest, _AT_ONCE)):
        runs, only = (list(each) for each in zip(*part, strict=True))
        nulls = {kind: pa.nulls(len(part), kind) for kind in {field.type for field in schema}}
        columns = [_column(runs, only, field) for field in schema]
        arrays = [
            nulls[field.type] if column is None else column
            for field, column in zip(schema, columns, strict=True)
        ]
        parts.append(pa.table(arrays, schema=schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _column(runs: Sequence[str], records: Sequence[Result | Failure], field: pa.Field) -> pa.Array | None:
    """A field of these records as a column, or None if no record has a value for it."""
    name = field.name
    values: list[Any]
    if name == "run":
        return pa.array(runs, field.type)
    if name == "groups":
        values = [_groups(record.groups) for record in records]
    elif name in _OF_PASSES:
        values = [_passes_value(record, name) for record in records] if _have(records, "passes") else []
    elif name in _QUANTILE_OF:
        column = _QUANTILE_OF[name]
        values = [_quantile_of(record, column) for record in records] if _have(records, "quantiles") else []
    else:
        values = list(map(attrgetter("group" if name == "group_index" else name), records))
    return None if values.count(None) == len(values) else pa.array(values, field.type)


def _have(records: Sequence[Result | Failure], name: str) -> bool:
    """Whether any of these results has this field (passes or quantiles); most do not."""
    return any(isinstance(record, Result) and getattr(record, name) for record in records)


def _quantile_of(record: Result | Failure, name: str) -> float | None:
    return record.quantiles.get(name) if isinstance(record, Result) and record.quantiles else None


def _passes_value(record: Result | Failure, name: str) -> float | str | None:
    if not isinstance(record, Result) or record.passes is None:
        return None
    return _OF_PASSES[name][1](record.passes, record.evidence or Evidence())


_QUANTILE_OF = {column: name for name, column in QUANTILE_COLUMNS.items()}
