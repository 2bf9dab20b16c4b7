"""imb report"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from imb.cli.common import (
    SIDE,
    ArchiveOption,
    AssumeOneSessionOption,
    AssumeStableOption,
    refuse_options,
    share_of,
)
from imb.cli.extras import need
from imb.model.units import amount, counted
from imb.render.terminal import say

# What a page of one sample set uses.
_OF_ONE = {"sides", "output", "title", "link", "memory", "threshold", "archive"}


def command(
    context: typer.Context,
    sides: Annotated[list[str], typer.Argument(metavar="SIDE...", help=SIDE, show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    relevant: Annotated[
        str,
        typer.Option("--relevant", "-r", metavar="PERCENT", help="Smallest relevant change."),
    ] = "5%",
    link: Annotated[str | None, typer.Option("--link", metavar="RATE", help="See imb diagnose.")] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory-bandwidth", "--memory", metavar="RATE", help="See imb diagnose."),
    ] = None,
    threshold: Annotated[
        list[str] | None, typer.Option("--threshold", metavar="NAME=VALUE", help="See imb diagnose.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Compare even intra-node with inter-node launches, and passes with single bursts."
        ),
    ] = False,
    assume_one_session: AssumeOneSessionOption = False,
    assume_stable: AssumeStableOption = False,
    archive: ArchiveOption = None,
) -> None:
    """Write an HTML report of one sample set, or of several compared with the first.

    Contents: verdict and speedups per size band (with two sample sets or more), charts over message length, findings,
    history, environment, latency-bandwidth model. The page is one file, works offline and can be printed.

    Sample sets of different sessions, and logs, are judged as by imb compare: see --assume-one-session there.

    Exit status: 0 written; 2 usage error. Verdicts and findings do not change it: see imb compare, imb diagnose.

    \b
    Examples:
      imb report baseline
      imb report before after -o xpmem.html --title "XPMEM on and off"
      imb report ompi mpich intel --link 100Gb/s
    """
    need("imb report", "jinja2", "plotly")
    from datetime import datetime

    from imb import diagnose
    from imb.archive.files import sources_of
    from imb.archive.names import named_runs, side_from
    from imb.archive.outputs import refuse_overwriting, write_output
    from imb.archive.store import Archive
    from imb.cli.failed import failed_among
    from imb.cli.peers import earlier, variance_of
    from imb.judge.compare import CompareSettings, compare
    from imb.render.marks import letter
    from imb.render.page import report_page

    limits = diagnose.Limits(
        link=diagnose.rate(link) if link else None, memory=diagnose.rate(memory) if memory else None
    )
    thresholds = diagnose.Thresholds().with_values(threshold or [])
    settings = CompareSettings(
        relevant=share_of(relevant, "--relevant"),
        force=force,
        assume_one_session=assume_one_session,
        assume_stable=assume_stable,
    )
    if len(sides) == 1:
        refuse_options(context, _OF_ONE, "is of a comparison; give two sample sets or more")
    store = Archive(archive)
    runs = [list(named_runs(store, side)) for side in sides]
    refuse_overwriting(store, output, (path for of in runs for path in sources_of(of)), "--output")
    loaded = [side_from(of, side, status=2) for of, side in zip(runs, sides, strict=True)]
    page = report_page(
        loaded,
        [
            compare(
                loaded[0],
                other,
                settings,
                earlier(store, [*loaded[0].launches, *other.launches]),
                (letter(0), letter(number)),
            )
            for number, other in enumerate(loaded[1:], start=1)
        ],
        [
            diagnose.diagnose(side, thresholds, limits, variance_of(store, side), failed_among(of, side))
            for of, side in zip(runs, loaded, strict=True)
        ],
        title=title,
        now=datetime.now(),
    )
    write_output(output, page.encode())
    launches = sum(len(side.launches) for side in loaded)
    say(f"{output}: {counted(launches, 'launch')}, {amount(len(page.encode()))}")
