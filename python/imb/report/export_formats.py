"""Export of results for other programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from imb.model import records
from imb.model.errors import UNDECODABLE, ImbError
from imb.model.figures import FIGURES
from imb.model.folders import cache_folder
from imb.model.notes import note_unread
from imb.model.records import Counter, Evidence, Failure, Records, Result, Run, Sample, SampledRow
from imb.model.text import csv_text, natural_key
from imb.report import metrics, terminal
from imb.report.markup import escape_html
from imb.report.tables import failures_of, markdown
from imb.report.tables import tables_of as tables_for_reading
from imb.store.entries import index_tables, runs_of
from imb.store.files import FileRun
from imb.store.index import Index
from imb.store.outputs import write_output
from imb.store.runs_table import arrow_of
from imb.store.store import Archive, StoredRun

if TYPE_CHECKING:
    import duckdb

AnyRun: TypeAlias = StoredRun | FileRun


def _results(archive: Archive, runs: Sequence[AnyRun]) -> pa.Table:
    """The results of these runs, with columns about their run and its labels."""
    folder = None if archive.has_place else cache_folder() / "no-archive"
    return Index(archive, folder).answer(lambda connection: _results_of(connection, runs))


def _results_of(connection: duckdb.DuckDBPyConnection, runs: Sequence[AnyRun]) -> pa.Table:
    from_files = [run for run in runs if isinstance(run, FileRun)]
    tables = {name: name for name in ("runs", "results")}
    if from_files:
        entries = [run.entry for run in from_files]
        of_files = {
            "runs": arrow_of(runs_of(entries)),
            "results": _decode_dictionaries(index_tables(entries)["results"]),
        }
        for name in tables:
            connection.register(f"{name}_of_files", of_files[name])
            tables[name] = f"(SELECT * FROM {name} UNION ALL BY NAME SELECT * FROM {name}_of_files)"
    ordered = sorted(runs, key=_sort_key)
    columns = {
        "run": pa.array([run.name if isinstance(run, FileRun) else run.id for run in ordered], pa.string()),
        "name": pa.array([run.name for run in ordered], pa.string()),
        "place": pa.array(range(len(ordered)), pa.int64()),
    }
    connection.register("chosen", pa.table(columns))
    return connection.sql(
        f"""
        SELECT chosen.name AS run, (SELECT string_agg(label, ', ') FROM labels l WHERE l.run = r.run) AS labels,
               u.program, u.version, u.component, u.memory, coalesce(u.date, nullif(u.added, '')) AS date, r.* EXCLUDE (run)
        FROM {tables["results"]} r JOIN chosen USING (run) JOIN {tables["runs"]} u USING (run)
        ORDER BY chosen.place, r.line, r.benchmark, r.processes, r.variant, r.bytes, r.group_index
        """
    ).to_arrow_table()


def _sort_key(run: AnyRun) -> tuple[Any, ...]:
    """Sort key: files first, in their order; then stored runs by the time at which they were added, launches
    of one log by line."""
    if not isinstance(run, StoredRun):
        return ("",)
    return run.manifest.added, natural_key(run.manifest.origin or ""), run.id


def write_csv(
    archive: Archive, runs: Sequence[AnyRun], output: Path | None, separator: str, *, samples: bool = False
) -> None:
    """Write CSV of results or samples, without empty columns. Raises OSError."""
    table = _samples(runs) if samples else _results(archive, runs)
    table = table.select(
        [name for name in table.column_names if table.column(name).null_count < table.num_rows]
    )
    sink = pa.BufferOutputStream()
    options = pa.csv.WriteOptions(delimiter=separator, quoting_style="needed")
    pa.csv.write_csv(_escape_formulas(_decode_dictionaries(table)), sink, options)
    _write(sink.getvalue().to_pybytes(), output)


_OF_SAMPLE = {
    "pass": pa.int64(),
    "at_seconds": pa.float64(),
    "repetitions": pa.int64(),
    **{figure.name: pa.float64() for figure in FIGURES if figure.always},
    "slowest_rank": pa.int64(),
    **{figure.name: pa.float64() for figure in FIGURES if not figure.always and figure.passes != "dropped"},
    "probe_before_seconds": pa.float64(),
    "probe_after_seconds": pa.float64(),
    **{name: pa.float64() for name in Evidence.COUNTERS},
    "moved_ranks": pa.int64(),
    "sent_bytes": pa.float64(),
    "received_bytes": pa.float64(),
}
_OF_ROW = {
    "benchmark": pa.string(),
    "mode": pa.string(),
    "variant": pa.string(),
    "processes": pa.int64(),
    "threads": pa.int64(),
    "group_count": pa.int64(),
    "group": pa.int64(),
    "bytes": pa.int64(),
}


def _samples(runs: Sequence[AnyRun]) -> pa.Table:
    """One row per sample of these runs, in the order in which they were taken. Raises ImbError if there are
    none."""
    tables = []
    for run in runs:
        data = run.part("records.jsonl") or b""
        if records.SAMPLE in data:
            tables.append(_samples_of(records.read(data, run.name, samples=True), run.name))
    if not tables:
        raise ImbError("no samples in these runs; only launches in passes record samples")
    return pa.concat_tables(tables)


def _samples_of(parsed: Records, name: str) -> pa.Table:
    places: dict[int, SampledRow] = {}
    columns: dict[str, list[Any]] = {field: [] for field in (*_OF_ROW, *_OF_SAMPLE)}
    for record in parsed.records:
        if isinstance(record, Run):
            places = {}
        elif isinstance(record, SampledRow):
            places[record.row] = record
        elif isinstance(record, Sample) and (row := places.get(record.row)):
            for field in _OF_ROW:
                columns[field].append(getattr(row, field))
            for field, value in _sample_fields(record).items():
                columns[field].append(value)
    types = {**_OF_ROW, **_OF_SAMPLE}
    count = len(columns["bytes"])
    arrays = {field: pa.array(values, types[field]) for field, values in columns.items()}
    return pa.table({"run": pa.array([name] * count, pa.string()), **arrays})


def _sample_fields(sample: Sample) -> dict[str, Any]:
    evidence = sample.evidence or Evidence()
    cells: dict[str, Any] = {"pass": sample.pass_}
    for name in Evidence.COUNTERS:
        counter: Counter | None = getattr(evidence, name)
        cells[name] = counter.sum if counter else 0.0 if sample.evidence else None
    traffic = evidence.interfaces or []
    cells["moved_ranks"] = len(evidence.moved_ranks or []) if sample.evidence else None
    cells["sent_bytes"] = sum(each.sent_bytes for each in traffic) if traffic else None
    cells["received_bytes"] = sum(each.received_bytes for each in traffic) if traffic else None
    return {name: cells[name] if name in cells else getattr(sample, name) for name in _OF_SAMPLE}


def _decode_dictionaries(table: pa.Table) -> pa.Table:
    """The table with plain strings instead of dictionaries."""
    fields = [
        pa.field(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _escape_formulas(table: pa.Table) -> pa.Table:
    """The table for a spreadsheet: texts of logs and users cannot act as formulas."""
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = (None if text is None else csv_text(text) for text in table.column(number).to_pylist())
            table = table.set_column(number, field, pa.array(texts, pa.string()))
    return table


def write_parquet(archive: Archive, runs: Sequence[AnyRun], output: Path, *, samples: bool = False) -> None:
    """Write Parquet with all columns of results or samples. Raises OSError."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(_decode_dictionaries(_samples(runs) if samples else _results(archive, runs)), sink)
    _write(sink.getvalue().to_pybytes(), output)


def write_json_lines(runs: Sequence[AnyRun], output: Path | None) -> None:
    """Write JSON lines: records of the suite unchanged, other records converted from logs. Importing them
    gives the same runs. Raises OSError."""
    _write(b"".join(each if each.endswith(b"\n") else each + b"\n" for each in _lines(runs)), output)


def write_json(runs: Sequence[AnyRun], output: Path | None) -> None:
    """Write one JSON document, an array of all records. Incomplete lines are left out. Raises OSError."""
    lines = [line for each in _lines(runs) for line in _whole_records(each)]
    _write(b"[\n" + b",\n".join(lines) + b"\n]\n" if lines else b"[]\n", output)


def write_prometheus(runs: Sequence[AnyRun], output: Path | None) -> None:
    """Write gauges for node_exporter's textfile collector. Raises OSError."""
    _write(metrics.prometheus(*_measured_series(runs)).encode(), output)


def write_github_benchmark(runs: Sequence[AnyRun], output: Path | None) -> None:
    """Write data for github-action-benchmark. Raises OSError."""
    _write(metrics.github_benchmark(_measured_series(runs)[0]).encode(), output)


def _lines(runs: Sequence[AnyRun]) -> Iterator[bytes]:
    """Yield the JSON lines of each run. From the second run on, each begins with a run record, so that its
    rows are not attributed to the run before it."""
    for number, run in enumerate(runs):
        text = run.part("records.jsonl") or records.write(run.records().records)
        if number and text.strip() and not _begins_with_run(text):
            text = records.encode(Run()) + text
        if text:
            yield text


def _begins_with_run(text: bytes) -> bool:
    """Whether the first record is a run record, or a damaged line that begins as one."""
    for line in text.splitlines():
        for _, piece in records.pieces(line):
            if piece.startswith(records.RUN):
                return True
            with suppress(*UNDECODABLE):
                return isinstance(records.decode(piece), Run)
    return False


def _whole_records(text: bytes) -> Iterator[bytes]:
    """Yield the lines that are JSON, and the pieces of damaged lines that are."""
    for line in text.splitlines():
        if _is_json(line):
            yield line
        else:
            yield from (piece for _, piece in records.pieces(line) if _is_json(piece))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except UNDECODABLE:
        return False
    return True


def note_unread_rows(archive: Archive, runs: Sequence[AnyRun], *, from_index: bool) -> None:
    """Print notes on lines of stored runs that could not be read as rows or records; their import had exit
    status 1. `from_index`: the index says which runs have such lines; otherwise all runs are read."""
    stored = [run for run in runs if isinstance(run, StoredRun)]
    if from_index and stored:
        damaged = {row["run"] for row in Index(archive).rows(["run", "problems"]) if row["problems"]}
        stored = [run for run in stored if run.id in damaged]
    for run in stored:
        note_unread(run.records().problems, lost=False)


def _measured_series(runs: Sequence[AnyRun]) -> tuple[metrics.Measured, int]:
    return metrics.measured_series(run.records().records for run in sorted(runs, key=_sort_key))


def write_markdown(runs: Sequence[AnyRun], output: Path | None) -> None:
    """Write one chapter per run. Raises OSError."""
    parts = []
    for run in runs:
        parsed = run.records()
        rows = [r for r in parsed.records if isinstance(r, Result | Failure)]
        facts: Run = next(parsed.of(Run), Run())
        program = " ".join(filter(None, [facts.program, facts.version, facts.component]))
        parts.append(
            f"## Run {escape_html(run.name)}: {escape_html(program) or 'program unknown'}\n\n"
            + markdown(tables_for_reading(rows), failures_of(rows))
        )
    _write("\n".join(parts).encode(), output)


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        terminal.write_data(content)
    else:
        write_output(output, content)
