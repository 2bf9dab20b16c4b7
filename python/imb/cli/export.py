"""imb export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from imb.cli.common import FORMAT, ArchiveOption, readable_sources
from imb.cli.option_groups import OUTPUT
from imb.model.errors import ImbError
from imb.store.reading import read_each
from imb.store.store import Archive


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="Names or labels of runs, files of logs or records, or 'sql:SELECT run ...'.",
            show_default="all",
        ),
    ] = None,
    format: Annotated[
        Literal["csv", "json", "jsonl", "parquet", "markdown", "prometheus", "github-benchmark"],
        FORMAT,
    ] = "csv",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write.",
            show_default="standard output",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            "-s",
            metavar="CHARACTER",
            help="Separator of CSV cells.",
            show_default=",",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option(
            "--samples",
            help="Export samples of launches in passes instead of results (csv, parquet).",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    archive: ArchiveOption = None,
) -> None:
    """Export results for other programs.

    \b
    csv       a row per measured point; seconds, bytes, bytes per second;
              empty columns are left out
    json      the runs' records (schema/record.schema.json), an array
    jsonl     the same as JSON lines, as the suite wrote them
    parquet   as csv, with types and all columns
    markdown  a table per benchmark
    prometheus        gauges for node_exporter: medians over the runs
    github-benchmark  times for github-action-benchmark
                      (customSmallerIsBetter): medians over the runs

    A label selects all its runs. A file is read, not stored.

    \b
    Examples:
      imb export baseline --separator ';' > baseline.csv
      imb export 3fa9 --samples > samples.csv
      imb export IMBrun_*.log --format parquet --output results.parquet
    """
    from imb.report import export_formats
    from imb.store.files import sources_of
    from imb.store.outputs import refuse_overwriting

    if separator is not None and format != "csv":
        raise ImbError(f"--separator works only with csv, not with {format}")
    if separator is None:
        separator = ","
    if len(separator) != 1 or separator in '"\n\r.+-' or separator.isalnum():
        raise ImbError(
            f"--separator: not one punctuation character that no number has: {separator!r}; give one such as ';'"
        )
    if output is None and format == "parquet":
        raise ImbError("parquet needs --output FILE")
    if samples and format not in ("csv", "parquet"):
        raise ImbError(
            f"--samples: not with --format {format}; use csv or parquet (json and jsonl have them always)"
        )
    store = Archive(archive)
    if not runs:
        store.require_place()
    selected = readable_sources(store, runs) if runs else read_each(store.ids(), store.whole_run)
    if output:
        refuse_overwriting(store, output, sources_of(selected), "--output")
    export_formats.note_unread_rows(store, selected, from_index=format in ("csv", "parquet") and not samples)
    match format:
        case "csv":
            export_formats.write_csv(store, selected, output, separator, samples=samples)
        case "parquet":
            assert output
            export_formats.write_parquet(store, selected, output, samples=samples)
        case "json":
            export_formats.write_json(selected, output)
        case "jsonl":
            export_formats.write_json_lines(selected, output)
        case "markdown":
            export_formats.write_markdown(selected, output)
        case "prometheus":
            export_formats.write_prometheus(selected, output)
        case "github-benchmark":
            export_formats.write_github_benchmark(selected, output)
