"""imb import"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from imb.archive import SHORT, Archive
from imb.cli.common import ArchiveOption, counted
from imb.errors import ImbError


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Logs, texts with tables in them, JSON lines; folders of them."
        ),
    ],
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="LABEL", help="Label every run; may be repeated."),
    ] = None,
    notes: Annotated[bool, typer.Option("--notes", help="Show every line that was passed over.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, metavar="N", help="Read on N cores.", show_default="all"),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Reads logs of IMB and of OSU's benchmarks into the archive.

    Knows the tables of IMB 3.x to 2021 and of OpenIMB, all components, also indented, quoted, or between other text;
    failure rows; quantiles of -show_tail; the output of the OSU micro-benchmarks; the suite's own JSON lines. Every
    launch in a file becomes a run, labelled with the title of the section it stands in. Its text is kept byte for
    byte. A file that is in the archive already changes nothing.

    Mbytes/sec are 2^20 bytes up to IMB 4.x and 10^6 from 2018 on; where a text names no version, length and time of
    its rows decide.

    What is not understood is named with file and line on standard error, and the exit status is 1; everything else
    is imported all the same.

    \b
    Examples:
      imb import IMBrun_*.log
      imb import --label "old cluster" results/
    """
    from imb.importer import FileReport, files_in, import_files

    files = files_in(paths)
    if not files:
        raise ImbError("there are no files in these folders; give logs, or folders that have some")
    store = Archive(archive)
    totals = dict.fromkeys(("files", "runs", "new", "tables", "rows", "failures", "problems"), 0)
    reports: Iterable[FileReport] = import_files(files, store, labels=label or [], jobs=jobs)
    if sys.stderr.isatty() and len(files) > 1:
        from rich.console import Console
        from rich.progress import track

        reports = track(reports, "importing", len(files), transient=True, console=Console(stderr=True))
    for report in reports:
        for problem in report.problems:
            typer.echo(f"imb: {problem}", err=True)
        for note in report.notes if notes else ():
            typer.echo(str(note))
        if report.notes and not notes:
            words = counted(len(report.notes), "line")
            typer.echo(
                f"{report.file}: {words} of other text passed over, the first is line {report.notes[0].line} (--notes)"
            )
        if len(files) <= 20:
            for run in dict.fromkeys(report.runs):
                typer.echo(f"{run[:SHORT]}  {report.file}")
        for name, value in zip(
            totals,
            (
                1,
                len(report.runs),
                report.new,
                report.tables,
                report.rows,
                report.failures,
                len(report.problems),
            ),
            strict=True,
        ):
            totals[name] += value
    typer.echo(
        f"{counted(totals['files'], 'file')}: {counted(totals['rows'], 'row')} in {counted(totals['tables'], 'table')},"
        f" {counted(totals['failures'], 'failure')}; {counted(totals['runs'], 'run')}, {totals['new']} of them new"
    )
    if totals["problems"]:
        raise typer.Exit(1)
