"""imb import"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import ArchiveOption, LabelOption, named_path
from imb.cli.option_groups import OUTPUT
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.report.terminal import Screen, say
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.store.importer import FileReport

_FEW = 20  # with more files, their runs are not listed


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            parser=named_path,
            metavar="FILE...",
            help="Logs, texts that contain tables, JSON lines; folders of them.",
        ),
    ],
    label: LabelOption = None,
    notes: Annotated[
        bool, typer.Option("--notes", help="Show every line that was skipped.", rich_help_panel=OUTPUT)
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, metavar="N", help="Use N cores.", show_default="all"),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Import logs of IMB and of the OSU benchmarks into the archive.

    Reads the tables of IMB 3.x to 2021 and of OpenIMB, all components, also indented, quoted, or between other text;
    failure rows; quantiles of -show_tail; the output of the OSU micro-benchmarks; the suite's own JSON lines. Every
    launch in a file becomes a run, labeled with the title of its section. Its text is kept byte for
    byte. If a file is in the archive already, only --label is added. Files may be compressed by gzip, xz or
    bzip2, or be UTF-16; the decoded text is kept.

    One Mbyte has 2^20 bytes up to IMB 4.x and 10^6 from 2018 on; if a log has no version, the sizes and times of its rows
    show the unit.

    Lines that look like results but cannot be read are reported on standard error with file and line, and the exit
    status is 1; everything else is imported.

    \b
    Examples:
      imb import IMBrun_*.log
      imb import --label "old cluster" results/
    """
    from imb.store.importer import files_in, import_files

    files = files_in(paths)
    if not files:
        raise ImbError("no files in these folders; give logs, or folders that contain some")
    store = Archive(archive)
    try:
        with closing(import_files(files, store, labels=label or [], jobs=jobs)) as reports:
            _render(_show_progress(reports, len(files)), names=len(files) <= _FEW, notes=notes)
    except KeyboardInterrupt:
        message = "interrupted; files read so far are kept; repeat the command to read the rest"
        raise ImbError(message, status=Status.INTERRUPTED) from None


def _show_progress(reports: Iterable[FileReport], files: int) -> Iterable[FileReport]:
    if files < 2 or not sys.stderr.isatty():
        return reports
    from rich.progress import track

    return track(reports, "importing", files, transient=True, console=Screen(err=True).console)


def _render(reports: Iterable[FileReport], *, names: bool, notes: bool) -> None:
    """Print the reports. Exits with 1 if a line could not be read."""
    files = runs = new = labeled = tables = rows = failures = problems = 0
    for report in reports:
        for problem in report.problems:
            say(f"imb: {problem}", err=True)
        for note in report.notes if notes else ():
            say(str(note))
        if report.notes and not notes:
            skipped = f"{count_of(len(report.notes), 'line')} of other text skipped"
            say(f"{report.file}: {skipped}, first: line {report.notes[0].line} (--notes)")
        for last in report.cut_off:
            position = f"after {last}" if last else "before the first row"
            say(f"{report.file}: no end: probably cut off {position}")
        for run in dict.fromkeys(report.runs) if names else ():
            say(f"{run[:SHORT]}  {report.file}")
        files, runs, new = files + 1, runs + len(report.runs), new + report.new
        labeled += report.labeled
        tables, rows = tables + report.tables, rows + report.rows
        failures, problems = failures + report.failures, problems + len(report.problems)
    say(
        f"{count_of(files, 'file')}: {count_of(rows, 'row')} in {count_of(tables, 'table')},"
        f" {count_of(failures, 'failure')}; {count_of(runs, 'run')}, {new} of them new"
        + (f", {count_of(labeled, 'other')} labeled" if labeled else "")
    )
    if problems:
        raise typer.Exit(Status.FAILED)
