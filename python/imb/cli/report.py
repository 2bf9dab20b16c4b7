"""imb report"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.common import (
    SIDE,
    USUAL_RELEVANT,
    ArchiveOption,
    AssumeOneSessionOption,
    AssumeStableOption,
    BenchmarkOption,
    ForceOption,
    RelevantOption,
    runs_named,
    sides_from,
)
from imb.cli.extras import require
from imb.cli.option_groups import ALL_FORMS, JUDGMENT, OUTPUT, Form
from imb.model.errors import ImbError
from imb.model.units import amount, count_of, share_of
from imb.report.terminal import Screen, explain_wait, say
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.compare.comparison import CompareSettings
    from imb.diagnose import Limits, Thresholds
    from imb.model.observations import Side
    from imb.store.files import FileRun
    from imb.store.store import StoredRun

Format = Literal["html", "png", "svg", "pdf", "terminal"]
_PAGES = ("html", "htm")
_PICTURES: tuple[Format, ...] = ("png", "svg", "pdf")
_CURVES = Form("applies only to an HTML report; omit it, or give --format html")
_ONE_SET = Form("applies only to a comparison; give two sample sets or more")  # a page of one sample set


def command(
    context: typer.Context,
    sides: Annotated[list[str], typer.Argument(metavar="RESULTS...", help=SIDE, show_default=False)],
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="Output format.",
            show_default="by FILE's name, else html",
            rich_help_panel=OUTPUT,
        ),
        ALL_FORMS,
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write.",
            show_default="report.html, report.png ...",
            rich_help_panel=OUTPUT,
        ),
        ALL_FORMS,
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="Title of the page or picture.", rich_help_panel=OUTPUT),
        ALL_FORMS,
    ] = None,
    benchmark: Annotated[BenchmarkOption, _CURVES] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Metric of the curves: time, time_min, time_max, pure, p50, p90, p99, bandwidth, messages, overlap.",
            rich_help_panel=JUDGMENT,
        ),
        _CURVES,
    ] = "time",
    relevant: RelevantOption = USUAL_RELEVANT,
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="RATE", help="See imb diagnose.", rich_help_panel=JUDGMENT),
        _ONE_SET,
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory-bandwidth", metavar="RATE", help="See imb diagnose.", rich_help_panel=JUDGMENT
        ),
        _ONE_SET,
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option("--threshold", metavar="NAME=VALUE", help="See imb diagnose.", rich_help_panel=JUDGMENT),
        _ONE_SET,
    ] = None,
    force: ForceOption = False,
    assume_one_session: AssumeOneSessionOption = False,
    assume_stable: AssumeStableOption = False,
    archive: ArchiveOption = None,
) -> None:
    """Write an HTML report of one sample set or several, or draw their curves.

    Several are compared with the first.

    \b
    html      verdict and speedups per size band (with two sample sets or more), charts over
              message size, findings, history, environment, latency-bandwidth model; one file,
              which works offline and can be printed
    png, svg, pdf  curves over message size: medians over launches, shaded from the 10th to
              the 90th percentile; a chart per benchmark and layout, both axes logarithmic
    terminal  the same curves as characters, without percentiles

    \b
    Examples:
      imb report before after -o xpmem.html --title "XPMEM on and off"
      imb report ompi mpich intel --link 100Gb/s
      imb report before after -b PingPong -b Allreduce -o xpmem.svg
      imb report baseline --benchmark PingPong --format terminal

    Exit status: 0 written; 2 usage error. Verdicts and findings do not change it: see imb compare, imb diagnose.
    \f
    Sample sets of different sessions, and logs, are judged as by imb compare: see --assume-one-session there.
    """
    output_format, path = _format_and_file(format, output)
    if output_format == "html":
        require("imb report", "jinja2", "plotly")
    else:
        require(
            f"imb report --format {output_format}", "plotext" if output_format == "terminal" else "matplotlib"
        )
    from imb import diagnose
    from imb.compare.comparison import CompareSettings
    from imb.store.files import sources_of
    from imb.store.outputs import refuse_overwriting, write_output

    limits = diagnose.Limits(
        link=diagnose.rate(link) if link else None, memory=diagnose.rate(memory) if memory else None
    )
    thresholds = diagnose.Thresholds().apply_values(threshold or [])
    settings = CompareSettings(
        relevant=share_of(relevant, "--relevant"),
        force=force,
        assume_one_session=assume_one_session,
        assume_stable=assume_stable,
    )
    if output_format != "html":
        _CURVES.refuse_others(context)
    else:
        _CURVES.refuse_marked(context, "applies only to curves; add --format png, svg, pdf or terminal")
        if len(sides) == 1:
            _ONE_SET.refuse_others(context)
    if path is None and title is not None:
        raise ImbError("--title needs --output FILE")
    store = Archive(archive)
    runs = runs_named(store, sides)
    if path:
        refuse_overwriting(
            store, path, (source for runs_of_side in runs for source in sources_of(runs_of_side)), "--output"
        )
    sample_sets = sides_from(runs, sides)
    if output_format == "html":
        assert path
        with explain_wait("judging launches and writing the page"):
            page = _page_of(store, sample_sets, runs, title, settings, thresholds, limits)
        write_output(path, page)
        launches = sum(len(side.launches) for side in sample_sets)
        say(f"{path}: {count_of(launches, 'launch')}, {amount(len(page))}")
    else:
        _draw(sample_sets, metric, benchmark or [], path, output_format, title)


def _format_and_file(format: Format | None, output: Path | None) -> tuple[Format, Path | None]:
    """The format, by default from the name of the file, and the file, or None for the terminal. Raises
    ImbError."""
    suffix = output.suffix.lower().removeprefix(".") if output else ""
    if format == "terminal":
        if output:
            raise ImbError("--format terminal writes no file; omit --output")
        return format, None
    if format is None and output and suffix not in (*_PAGES, *_PICTURES):
        raise ImbError(f"--output {output}: the name must end in .html, .png, .svg or .pdf; or give --format")
    by_name: Format = next((picture for picture in _PICTURES if picture == suffix), "html")
    output_format = format or by_name
    return output_format, output or Path(f"report.{output_format}")


def _page_of(
    store: Archive,
    sides: list[Side],
    runs: list[list[StoredRun | FileRun]],
    title: str | None,
    settings: CompareSettings,
    thresholds: Thresholds,
    limits: Limits,
) -> bytes:
    from datetime import datetime

    from imb import diagnose
    from imb.compare.comparison import compare
    from imb.experiments.failed_launches import failed_launches
    from imb.experiments.peers import comparable_launches, variance_of
    from imb.report.marks import letter
    from imb.report.page import report_page

    return report_page(
        sides,
        [
            compare(
                sides[0],
                side,
                settings,
                comparable_launches(store, [*sides[0].launches, *side.launches]),
                (letter(0), letter(number)),
            )
            for number, side in enumerate(sides[1:], start=1)
        ],
        [
            diagnose.diagnose(
                side, thresholds, limits, variance_of(store, side), failed_launches(runs_of_side, side)
            )
            for runs_of_side, side in zip(runs, sides, strict=True)
        ],
        title=title,
        now=datetime.now(),
    ).encode()


def _draw(
    sides: list[Side], metric: str, benchmarks: list[str], path: Path | None, format: str, title: str | None
) -> None:
    """Draw curves into a file or on the terminal."""
    from imb.report.picture import draw, lines_of, terminal_chart

    lines = lines_of(sides, metric, benchmarks)
    if path:
        draw(lines, metric, path, format, title)
        charts = len({line.benchmark for line in lines})
        say(f"{path}: {count_of(charts, 'chart')} of {count_of(len(sides), 'sample set')}")
        return
    for chart in terminal_chart(lines, metric, width=min(Screen().width, 100)):
        say(*chart, "")
