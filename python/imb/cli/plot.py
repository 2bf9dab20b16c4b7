"""imb plot"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imb.cli.common import SIDE, ArchiveOption, BenchmarkOption
from imb.cli.extras import need
from imb.model.errors import ImbError
from imb.model.units import counted
from imb.render.terminal import Screen, say


def command(
    sides: Annotated[list[str], typer.Argument(metavar="SIDE...", help=SIDE, show_default=False)],
    benchmark: BenchmarkOption = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="time, time_min, time_max, pure, p50, p90, p99, bandwidth, messages, overlap.",
        ),
    ] = "time",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write (.png, .svg, .pdf); default: the terminal.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the picture.")] = None,
    archive: ArchiveOption = None,
) -> None:
    """Plot curves over message length: medians over launches, shaded from the 10th to the 90th percentile.

    Both axes are logarithmic. One chart per benchmark and layout has all sample sets. On a terminal, percentiles are
    not drawn.

    \b
    Examples:
      imb plot baseline --benchmark PingPong
      imb plot before after -b PingPong -b Allreduce -o xpmem.svg
      imb plot 3fa9 --metric bandwidth -b Sendrecv -o sendrecv.pdf
    """
    if title is not None and not output:
        raise ImbError("--title is of a picture; add --output FILE")
    need("imb plot", "matplotlib" if output else "plotext")
    from imb.archive.files import sources_of
    from imb.archive.names import named_runs, side_from
    from imb.archive.outputs import refuse_overwriting
    from imb.archive.store import Archive
    from imb.render.picture import draw, lines_of, terminal_chart

    store = Archive(archive)
    runs = [list(named_runs(store, side)) for side in sides]
    if output:
        refuse_overwriting(store, output, (path for of in runs for path in sources_of(of)), "--output")
    loaded = [side_from(of, side, status=2) for of, side in zip(runs, sides, strict=True)]
    lines = lines_of(loaded, metric, benchmark or [])
    if output:
        draw(lines, metric, output, title)
        charts = len({line.benchmark for line in lines})
        say(f"{output}: {counted(charts, 'chart')} of {counted(len(sides), 'sample set')}")
        return
    for chart in terminal_chart(lines, metric, width=min(Screen().width, 100)):
        say(*chart, "")
