"""Imports log files: writes their runs to the archive and their rows to the index, several files at a time.

Each launch in a log becomes a run. The runs divide all bytes of the file among them, so nothing is lost, and a later version
of imb can read a run again. Only the processes that read logs import the readers, since these processes would have to wait
for an import in the process that starts them.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from imb.model.errors import ImbError
from imb.model.notes import Note, listen_to_notes, pass_on
from imb.model.records import Failure, Problem, Result, is_cut_off
from imb.model.text import natural_key, readable_text
from imb.mpi.host import allowed_cpus, cores
from imb.store import sources
from imb.store.index import Index
from imb.store.labels import change_by_me, label_from_title
from imb.store.store import Archive, Content, Manifest
from imb.store.unfinished_runs import sweep

if TYPE_CHECKING:
    from imb.readers.parsed_log import Log
    from imb.store.entries import Entry

_BATCH_BYTES = 24_000_000  # glibc maps and unmaps every allocation above 32 MB
_BATCH_FILES = 1000


class FileReport(msgspec.Struct):
    """The result for one file. `runs`: names of its runs; `new`: how many of them the archive did not have; `labeled`: how many of the other
    runs got a label; `cut_off`: the last row of each launch without an end."""

    file: str
    runs: list[str] = []
    new: int = 0
    tables: int = 0
    rows: int = 0
    failures: int = 0
    problems: list[Problem] = []
    notes: list[Problem] = []
    cut_off: list[str] = []
    labeled: int = 0


def files_in(paths: Iterable[Path]) -> list[Path]:
    """The files at these paths; for a folder, all files in it and its subfolders, sorted by name.

    Raises ImbError for a path that does not exist.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = (file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            files.extend(sorted(below, key=lambda file: natural_key(str(file))))
        elif path.exists():
            files.append(path)
        else:
            if str(path) == "-":
                raise ImbError("standard input is not read; write the log to a file, and import that")
            raise ImbError(f"there is no file or folder {path}")
    return files


def import_files(
    files: Sequence[Path], archive: Archive, *, labels: Sequence[str] = (), jobs: int | None = None
) -> Generator[FileReport]:
    """Imports files with `jobs` processes (default: as many as cores) and yields a report on each file, in order.

    If the generator is closed early, the files in progress are finished and no more are read.
    """
    sweep(archive)
    batches = list(_batches(files))
    jobs = min(jobs or len(allowed_cpus() or ()) or cores(), len(batches))
    if jobs <= 1:
        for batch in batches:
            yield from _import_batch(batch, archive.folder, labels)
        return
    # "spawn", since Arrow's threads do not survive a fork. Ctrl-C ends the parent; the children finish their current files.
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        folders, all_labels = [archive.folder] * len(batches), [labels] * len(batches)
        for reports, notes in pool.map(_import_apart, batches, folders, all_labels):
            for note in notes:
                pass_on(note)
            yield from reports
    finally:
        pool.shutdown(cancel_futures=True)


def _batches(files: Sequence[Path]) -> Iterator[list[Path]]:
    batch: list[Path] = []
    size = 0
    for file in files:
        with suppress(OSError):  # a later read of the file reports the reason
            size += file.stat().st_size
        batch.append(file)
        if size > _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_for_import(file: Path) -> tuple[FileReport, list[tuple[Content, Entry]]]:
    """The runs of one file as an import would store them, and a report without names of runs.

    Raises sources.UnreadableText, OSError.
    """
    report = FileReport(readable_text(str(file)))
    runs = _runs_of([(report, sources.read_source(file))], ())
    return report, [(content, entry) for _, content, entry in runs]


def _import_apart(
    files: Sequence[Path], folder: Path, labels: Sequence[str]
) -> tuple[list[FileReport], list[Note]]:
    """`_import_batch` for a separate process; also returns its notes."""
    notes: list[Note] = []
    with listen_to_notes(notes.append):
        return _import_batch(files, folder, labels), notes


def _import_batch(files: Sequence[Path], folder: Path, labels: Sequence[str]) -> list[FileReport]:
    """Reads several files, stores their launches in the archive, and adds the new ones to the index."""
    archive = Archive(folder)
    reports = [FileReport(str(file)) for file in files]
    texts: list[tuple[FileReport, bytes]] = []
    for report in reports:
        try:
            texts.append((report, sources.read_source(Path(report.file))))
        except OSError as error:
            report.problems.append(Problem(report.file, 0, f"cannot be read: {error.strerror}"))
        except sources.UnreadableText as error:
            report.problems.append(Problem(report.file, 0, str(error)))
        except MemoryError:
            report.problems.append(Problem(report.file, 0, "needs more memory than there is; divide it"))
    runs = _runs_of(texts, labels)
    index = Index(archive)

    def add_to_index(manifests: Sequence[Manifest | None]) -> None:
        new: dict[str, Entry] = {}
        for (_, _, entry), manifest in zip(runs, manifests, strict=True):
            if manifest and manifest.id not in new:
                entry.manifest = manifest
                new[manifest.id] = entry
        index.add(list(new.values()))

    added = archive.add_many((content for _, content, _ in runs), add_to_index)
    stored: set[str] = set()
    present: dict[str, list[FileReport]] = {}
    for (report, _, _), added_run in zip(runs, added, strict=True):
        report.runs.append(added_run.id)
        report.new += added_run.new
        if added_run.new:
            stored.add(added_run.id)
        elif added_run.id not in stored:
            present.setdefault(added_run.id, []).append(report)
    _label_present(index, present, labels)
    return reports


def _label_present(index: Index, present: Mapping[str, list[FileReport]], labels: Sequence[str]) -> None:
    """Gives the labels to runs that the archive already had. Does not repeat labels from titles of sections, as a user may have removed
    them."""
    tags = index.tags() if present and labels else {}
    lacking = {
        run: [each for each in labels if run not in tags or each not in tags[run].labels] for run in present
    }
    if added := {run: missing for run, missing in lacking.items() if missing}:
        index.archive.write_changes([change_by_me(run, add=missing) for run, missing in added.items()])
        for run in added:
            present[run][0].labeled += 1


def _runs_of(
    texts: Sequence[tuple[FileReport, bytes]], labels: Sequence[str]
) -> list[tuple[FileReport, Content, Entry]]:
    """The runs in these texts, one for each launch."""
    from imb.readers.formats import RECORDS
    from imb.store.entries import parse_safely

    runs: list[tuple[FileReport, Content, Entry]] = []
    for report, text in texts:
        log = parse_safely(text, report.file)
        of_file = _entries_of_records if log.format == RECORDS else _entries_of_log
        runs.extend(of_file(report, text, log, labels))
    return runs


def _entries_of_records(
    report: FileReport, text: bytes, log: Log, labels: Sequence[str]
) -> Iterator[tuple[FileReport, Content, Entry]]:
    """Yields a run for each launch in JSON lines of the suite, with the lines unchanged."""
    from imb.store.entries import Entry

    facts = {"kind": "import", "format": log.format}
    report.problems = log.problems
    launches = log.recorded
    rows = [
        record for launch in launches for record in launch.records if isinstance(record, Result | Failure)
    ]
    report.failures = sum(isinstance(row, Failure) for row in rows)
    report.rows = len(rows) - report.failures
    stops = [*(launch.start for launch in launches[1:]), len(text)]
    line = 1
    for launch, stop in zip(launches, stops, strict=True):
        of_text = text[launch.start : stop]
        first, line = line, line + of_text.count(b"\n")
        if launch.other or (not launch.records and (launch.problems or not of_text.strip())):
            continue
        of_launch = [row for row in launch.records if isinstance(row, Result | Failure)]
        report.tables += len(
            {
                (row.benchmark, row.mode, row.variant, row.multi, row.processes, row.threads)
                for row in of_launch
            }
        )
        content = Content(
            records=of_text,
            facts=facts,
            origin=f"{Path(report.file).absolute()}" + (f":{first}" if len(launches) > 1 else ""),
            labels=labels,
        )
        yield report, content, Entry(facts, records=launch.records, problems=launch.problems)


def _entries_of_log(
    report: FileReport, text: bytes, log: Log, labels: Sequence[str]
) -> Iterator[tuple[FileReport, Content, Entry]]:
    from imb.readers.formats import tables_in_words
    from imb.readers.imb_facts import last_of
    from imb.readers.skipped_lines import separator_in
    from imb.store.entries import Entry

    facts = {"kind": "import", "format": log.format}
    report.problems, report.notes = log.problems, log.notes
    report.tables, report.rows, report.failures = log.counts()
    if not report.rows and not report.failures and b"\0" in text:
        report.problems.append(
            Problem(report.file, 0, "has no table that can be read, and NUL bytes: no text")
        )
        return
    if not report.rows and not report.failures and report.problems:
        return
    if not report.rows and not report.failures and (csv := separator_in(text)):
        message = f"columns are separated by {csv[1]!r}, not by blanks; give the log as it was printed"
        report.problems.append(Problem(report.file, csv[0], message))
        return
    if not log.launches:
        report.problems.append(Problem(report.file, 0, f"there is no table of {tables_in_words()} in it"))
    report.cut_off = [last_of(launch) for launch in log.launches if is_cut_off(launch.run, launch.end)]
    lines_before = bytes_before = 0  # size of the text before a launch
    for number, launch in enumerate(log.launches, 1):
        line = min((item.line or 0 for item in launch.items), default=0) if len(log.launches) > 1 else 0
        lines_before += text.count(b"\n", bytes_before, launch.start)
        bytes_before = launch.start
        for item in (
            launch.items if lines_before else ()
        ):  # from here on, line numbers count within the run's text
            item.line = (item.line or 0) - lines_before
        title = label_from_title(launch.label) if launch.label else None
        launch_text = text[launch.start : launch.stop]
        content = Content(
            output=launch_text,
            facts=facts,
            origin=f"{Path(report.file).absolute()}" + (f":{line}" if line else ""),
            labels=[*([title] if title else []), *labels],
        )
        after = lines_before + launch_text.count(b"\n") if number < len(log.launches) else sys.maxsize
        problems = [
            problem for problem in log.problems if not problem.line or lines_before < problem.line <= after
        ]
        yield report, content, Entry(facts, launches=[launch], problems=problems)
