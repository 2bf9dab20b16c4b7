"""The index: the content of the archive's runs in columns, so that lists and queries need not read every run.

Each user has an index of their own in the cache folder. It consists of segments: folders with the files of some runs, which
appear complete and never change. Before the index is read, it adds the archive's runs that no segment has. So a damaged segment
can be dropped: its runs are read again. A replaced segment is kept for a while, since a query of another process may still read
it. The rows are Parquet files, for DuckDB. Only functions that write or read them import Arrow.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from imb.model.errors import UNDECODABLE, unwritable_cache
from imb.model.figures import FIGURES
from imb.model.folders import cache_folder
from imb.model.notes import note
from imb.store.durable_files import write_whole
from imb.store.labels import LabelChange, Tags, replay
from imb.store.reading import UnreadableFile
from imb.store.runs_table import (
    RUNS,
    TableColumns,
    TableFile,
    add_seal,
    arrow_of,
    check_seal,
    decode_table,
    encode_table,
)
from imb.store.store import SHORT, Archive, StoredRun

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from imb.store.entries import Entry

# Increase it if columns change, or what readers extract from logs. Another version, or other figures, use another folder.
VERSION = 8
_FOLDER = f"index-{VERSION}-{zlib.crc32(repr(FIGURES).encode()):08x}"
_RUNS_FILE = "runs.msgpack"
_AT_ONCE = 32_000_000  # bytes of logs to read together
_MANY_SEGMENTS = 64
# Errors from damaged files of the cache.
_DAMAGED: tuple[type[Exception], ...] = (OSError, *UNDECODABLE)
_REPLACED = "replaced"  # this file marks a segment that is no longer read
_KEPT = 3600.0  # seconds to keep such a segment; no query takes longer
_Kind = TypeVar("_Kind")

# Without these, DuckDB may fetch extensions from a network, and a query may name variables of this program.
_ISOLATED: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


def _schemas() -> dict[str, pa.Schema]:
    """The schemas of the tables of rows in a segment."""
    from imb.readers import columnar

    return {"results": columnar.RESULTS, "failures": columnar.FAILURES}


class _IndexChange(Exception):
    """Another process has changed the cache: files are missing, or runs are in two segments."""


class Index:
    """The index of an archive, in this folder or, if None, in the user's cache."""

    def __init__(self, archive: Archive, folder: Path | None = None) -> None:
        self.archive = archive
        if folder is None:
            folder = cache_folder() / _FOLDER / hashlib.sha256(str(archive.folder).encode()).hexdigest()[:16]
        self.folder = folder

    def _retry(self, stack: ExitStack, read: Callable[[Index], _Kind]) -> _Kind:
        """Returns the result of `read`. If another process changes the cache meanwhile, calls it again; if that happens twice, calls it with
        an index in a temporary folder, which is deleted when the stack is closed."""
        for _ in range(2):
            with suppress(_IndexChange):
                return read(self)
        import tempfile

        note(
            f"the cache {self.folder} was changed or deleted twice meanwhile; the archive is read without it"
        )
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="imb-index-"))
        return read(Index(self.archive, Path(folder)))

    # --- Writing -------------------------------------------------------------------------------------

    def add(self, entries: Sequence[Entry]) -> None:
        """Writes runs to a new segment. A run that does not fit into the columns is skipped with a note. Raises ImbError."""
        with suppress(_IndexChange):  # the next reader adds them
            self._add(entries)

    def _add(self, entries: Sequence[Entry]) -> list[str]:
        """`add`; returns the names of the runs in the segment. Raises ImbError, _IndexChange."""
        if not entries:
            return []
        from imb.store.entries import (
            index_tables,
            runs_of,
        )  # imported here, since a list reads neither logs nor records

        try:
            runs, tables = runs_of(entries), index_tables(entries)
        except Exception as error:
            if len(entries) > 1:
                half = len(entries) // 2
                return [*self._add(entries[:half]), *self._add(entries[half:])]
            manifest = entries[0].manifest
            message = f"{type(error).__name__}: {error}"[:200]
            note(
                f"run {manifest.id[:SHORT] if manifest else ''}: cannot be listed, please report this ({message})"
            )
            return []
        self._write(runs, tables)
        return runs["run"]

    def _write(self, runs: TableColumns, tables: dict[str, pa.Table]) -> None:
        """Writes a segment. Raises _IndexChange, or ImbError if the cache cannot be written."""
        try:
            self._write_segment(runs, tables)
        except OSError as error:
            if _was_deleted(error):
                raise _IndexChange from error
            raise unwritable_cache(self.folder, error) from error

    def _write_segment(self, runs: TableColumns, tables: dict[str, pa.Table]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        place = self.folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        part = self.folder / f".{place.name}"
        part.mkdir(parents=True)
        try:
            files: dict[str, TableFile] = {}
            for name, table in tables.items():
                # In most segments, most columns are empty; they are left out, since even an empty column takes time to write (see connect).
                full = [
                    column
                    for column in table.column_names
                    if table.column(column).null_count < table.num_rows
                ]
                table = table.select(full) if full else table
                texts = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
                measured = [field.name for field in table.schema if pa.types.is_floating(field.type)]
                pq.write_table(
                    table,
                    part / f"{name}.parquet",
                    # Measured numbers hardly repeat: their compression would save a tenth of the bytes and take a third more time.
                    compression={
                        column: "none" if column in measured else "lz4" for column in table.column_names
                    },
                    use_dictionary=texts,
                    write_statistics=False,
                )
                files[f"{name}.parquet"] = _state_of(part / f"{name}.parquet")
            (part / _RUNS_FILE).write_bytes(encode_table(runs, files))
            part.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def segments(self) -> list[Path]:
        """The segments that are not replaced, oldest first."""
        return [each for each in self._all_segments() if not (each / _REPLACED).exists()]

    def _all_segments(self) -> list[Path]:
        try:
            present = sorted(self.folder.iterdir())
        except OSError:  # no segment was written yet; for another reason, the next write fails
            return []
        return [each for each in present if each.name[0].isdigit()]

    def _retire(self, segments: Iterable[Path]) -> None:
        """Marks segments as replaced. They are deleted later, since a query of another process may still read them."""
        for segment in segments:
            with suppress(OSError):  # another process has deleted it
                (segment / _REPLACED).touch()
        for segment in self._all_segments():
            with suppress(OSError):
                if time.time() - (segment / _REPLACED).stat().st_mtime > _KEPT:
                    shutil.rmtree(segment, ignore_errors=True)

    def _refresh(self, columns: Sequence[str]) -> tuple[set[str], dict[Path, TableColumns]]:
        """Adds the archive's runs that the index lacks. Returns the names of the archive's runs, and by segment these columns (including
        `run`) of `runs`. If the index was up to date, the columns are read once. Raises _IndexChange."""
        present = set(self.archive.ids())
        tables = self._runs_read(columns)
        known = _names(tables.values())
        if len(known) != len(set(known)) or len(tables) > _MANY_SEGMENTS:
            self._merge()
            tables = self._runs_read(columns)
            known = _names(tables.values())
        if new := sorted(present.difference(known)):
            known += self._take_in(new)
            tables = self._runs_read(columns)
        tables = _drop_copies(tables)
        names = _names(tables.values())
        if len(names) != len(set(names)) or not present.intersection(known).issubset(names):
            raise _IndexChange
        return present, tables

    def _take_in(self, new: Sequence[str]) -> list[str]:
        """Reads new runs and adds them to the index; returns the names of the runs that could be added. Raises _IndexChange."""
        from imb.store.entries import entries_of  # as in add

        added: list[str] = []
        batch: list[StoredRun] = []
        size = 0
        for run_id in new:
            try:
                run = self.archive.run(run_id)
            except UnreadableFile as error:
                if self.archive.path_of(run_id).exists():  # else another process has just removed it
                    note(f"{error}; left out")
                continue
            batch.append(run)
            size += sum(file.bytes for file in run.manifest.files.values())
            if size > _AT_ONCE:
                added += self._add(entries_of(batch))
                batch, size = [], 0
        return added + self._add(entries_of(batch))

    def _runs_read(self, columns: Sequence[str]) -> dict[Path, TableColumns]:
        """Segment -> these columns of `runs`. A damaged segment is dropped; its runs will be added again."""
        tables = {}
        for segment in self.segments():
            try:
                tables[segment], files = decode_table((segment / _RUNS_FILE).read_bytes(), columns)
                if any(_state_of(segment / name) != state for name, state in files.items()):
                    raise ValueError("damaged")
            except _DAMAGED:
                tables.pop(segment, None)
                self._retire([segment])
        return tables

    def _merge(self) -> None:
        """Merges segments into one, if there are many or several have the same run."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        schemas = _schemas()
        old = self.segments()
        present = set(self.archive.ids())
        seen: set[str] = set()
        kept_runs: TableColumns = {name: [] for name in RUNS}
        kept: dict[str, list[pa.Table]] = {name: [] for name in schemas}
        for segment in old:
            try:
                runs, _ = decode_table((segment / _RUNS_FILE).read_bytes(), list(RUNS))
                tables = {name: pq.ParquetFile(segment / f"{name}.parquet").read() for name in schemas}
            except (*_DAMAGED, pa.ArrowException):
                continue
            keep = [run in present and run not in seen for run in runs["run"]]
            for name, values in runs.items():
                kept_runs[name] += compress(values, keep)
            kept_ids = list(compress(runs["run"], keep))
            seen.update(kept_ids)
            for name, table in tables.items():
                chosen = pa.array(kept_ids, pa.string())
                column = table.column("run").cast(pa.string())
                kept[name].append(_complete_columns(table.filter(pc.is_in(column, chosen)), schemas[name]))
        if seen:
            self._write(
                kept_runs,
                {name: pa.concat_tables(tables).unify_dictionaries() for name, tables in kept.items()},
            )
        self._retire(old)

    # --- Reading -------------------------------------------------------------------------------------

    def rows(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """All rows of RUNS for the current runs of the archive, or these columns of them (including `run`), in no particular order."""
        with ExitStack() as stack:
            table = self._retry(stack, lambda index: index._rows_and_segments(columns)[0])
        return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]

    def _rows_and_segments(
        self, columns: Sequence[str] | None = None
    ) -> tuple[TableColumns, list[Path], bool]:
        """The result of `rows` by column; the segments; and whether they have runs that the archive no longer has. Raises _IndexChange."""
        names = columns or list(RUNS)
        present, by_segment = self._refresh(names)
        table = {
            name: list(chain.from_iterable(each[name] for each in by_segment.values())) for name in names
        }
        is_present = [run in present for run in table["run"]]
        removed = not all(is_present)
        if removed:
            table = {name: list(compress(values, is_present)) for name, values in table.items()}
        return table, list(by_segment), removed

    def _columns(self, name: str) -> Path:
        """A Parquet file with all columns of a table and no rows. Raises _IndexChange."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / f"columns-{name}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(_schemas()[name].empty_table(), sink)
        content = sink.getvalue().to_pybytes()
        try:
            kept = path.read_bytes()
        except OSError:
            kept = b""
        if kept != content:
            self._keep(path, content)
        return path

    def _keep(self, path: Path, data: bytes) -> None:
        """Writes a file of this folder. It is not synced, since it can be computed again. Raises ImbError, _IndexChange."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, data, sync=False)
        except OSError as error:
            if _was_deleted(error):
                raise _IndexChange from error
            raise unwritable_cache(self.folder, error) from error

    def tags(self) -> dict[str, Tags]:
        """The result of Archive.tags, but reads only new changes."""
        cache = self.folder / "labels.json"
        try:
            known = msgspec.json.decode(check_seal(cache.read_bytes()), type=dict[str, LabelChange])
        except _DAMAGED:
            known = {}
        files = self.archive.label_files()
        if not files:
            return {}
        unknown = (path for path in files if path.name not in known)
        if new := {path.name: change for path, change in self.archive.label_log.changes(unknown)}:
            known |= new
            with suppress(_IndexChange):  # the next reader reads all changes again
                self._keep(cache, add_seal(msgspec.json.encode(known)))
        return replay(known[path.name] for path in files if path.name in known)

    def answer(self, question: Callable[[duckdb.DuckDBPyConnection], _Kind]) -> _Kind:
        """Calls `question` with a connection from `connect` and returns its result. Calls it again if another process changes files meanwhile."""
        with ExitStack() as stack:
            return self._retry(stack, lambda index: index._answer(question))

    def _answer(self, question: Callable[[duckdb.DuckDBPyConnection], _Kind]) -> _Kind:
        import duckdb

        files: dict[Path, TableFile] = {}
        try:
            return question(self.connect(files))
        except duckdb.Error:
            if _states_of(files) == files:
                raise
            raise _IndexChange from None

    def connect(self, read: dict[Path, TableFile] | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with the up-to-date views runs, results, failures and labels. Adds the files that its queries read to `read`.

        The connection can read only the files of these views, loads no extensions, and its configuration is locked. Raises _IndexChange.
        """
        import duckdb
        import pyarrow as pa

        runs, segments, removed = self._rows_and_segments()
        connection = duckdb.connect(config=_ISOLATED)
        connection.register("present_runs", arrow_of(runs))
        connection.execute("CREATE VIEW runs AS SELECT * FROM present_runs")
        readable: list[str] = []
        for name in ("results", "failures"):
            # Segments leave out empty columns; the first file has all columns and no rows.
            files = [self._columns(name), *(segment / f"{name}.parquet" for segment in segments)]
            if read is not None:
                read |= _states_of(files)
            quoted = ["'" + str(file).replace("'", "''") + "'" for file in files]
            readable += quoted
            listed = ", ".join(quoted)
            only = " WHERE run IN (SELECT run FROM present_runs)" if removed else ""
            source = f"read_parquet([{listed}], union_by_name = true)"
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}{only}")
        tags = [(run, label) for run, tag in self.tags().items() for label in tag.labels]
        columns = [pa.array([tag[i] for tag in tags], pa.string()) for i in range(2)]
        connection.register("all_labels", pa.table(columns, names=["run", "label"]))
        connection.execute("CREATE VIEW labels AS SELECT * FROM all_labels")
        connection.execute(f"SET allowed_paths = [{', '.join(readable)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection


def _was_deleted(error: OSError) -> bool:
    """Whether another process deleted the folder that was used. `mkdir` says that a folder exists if it is deleted just then."""
    if isinstance(error, FileExistsError):
        return not Path(error.filename).is_file()
    return isinstance(error, FileNotFoundError)


def _state_of(file: Path) -> TableFile:
    """The current size and modification time of a file. Raises OSError."""
    state = file.stat()
    return TableFile(state.st_size, state.st_mtime_ns)


def _states_of(files: Iterable[Path]) -> dict[Path, TableFile]:
    """The current state of each file. Raises _IndexChange if one is missing."""
    try:
        return {file: _state_of(file) for file in files}
    except FileNotFoundError as error:
        raise _IndexChange from error


def _names(tables: Iterable[TableColumns]) -> list[str]:
    return [run for table in tables for run in table["run"]]


def _drop_copies(tables: dict[Path, TableColumns]) -> dict[Path, TableColumns]:
    """The segments without those whose runs are all in larger ones. Such copies arise if several processes add the same runs at once."""
    seen: set[str] = set()
    copies: set[Path] = set()
    for segment, table in sorted(tables.items(), key=lambda item: -len(item[1]["run"])):
        if seen.issuperset(table["run"]):
            copies.add(segment)
        seen.update(table["run"])
    return {segment: table for segment, table in tables.items() if segment not in copies}


def _complete_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
