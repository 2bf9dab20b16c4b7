"""imb plot"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imb.cli.common import SIDE, ArchiveOption
from imb.cli.extras import need
from imb.model.units import counted


def command(
    sides: Annotated[list[str], typer.Argument(metavar="SIDE...", help=SIDE, show_default=False)],
    benchmark: Annotated[
        list[str] | None,
        typer.Option("--benchmark", "-b", metavar="NAME", help="Only this benchmark; may be repeated."),
    ] = None,
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
            help="A file .png, .svg or .pdf; without it the terminal shows it.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Stands above the picture.")] = None,
    archive: ArchiveOption = None,
) -> None:
    """Draws curves over message length: medians over launches, shaded from the 10th to the 90th percentile.

    Both axes are logarithmic. There is a chart per benchmark and layout, with all sides in it. A file is drawn by
    Matplotlib, so it looks the same everywhere; on a terminal intervals are left out.

    \b
    Examples:
      imb plot baseline --benchmark PingPong
      imb plot before after -b PingPong -b Allreduce -o xpmem.svg
      imb plot 3fa9 --metric bandwidth -b Sendrecv -o sendrecv.pdf
    """
    need("imb plot", "matplotlib" if output else "plotext")
    from imb.archive.names import load
    from imb.archive.store import Archive
    from imb.render.picture import draw, lines_of, text

    store = Archive(archive)
    lines = lines_of([load(store, side) for side in sides], metric, benchmark or [])
    if output:
        draw(lines, metric, output, title)
        charts = len({line.benchmark for line in lines})
        typer.echo(f"{output}: {counted(charts, 'chart')} of {counted(len(sides), 'side')}")
        return
    from rich.console import Console

    typer.echo(text(lines, metric, width=min(Console().width, 100)))
