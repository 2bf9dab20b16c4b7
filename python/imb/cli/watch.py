"""imb watch"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

import typer

from imb import registry
from imb.cli.common import (
    FORMAT,
    SIDE,
    ArchiveOption,
    BandsOption,
    BenchmarkOption,
    sides_named,
)
from imb.cli.option_groups import JUDGMENT
from imb.model.defaults import BANDS, RELEVANT_STEP
from imb.model.errors import ImbError
from imb.model.units import count_of, percent_option, share_of
from imb.report.terminal import explain_wait, say, write_data, write_json


def command(
    names: Annotated[list[str], typer.Argument(metavar="RESULTS...", help=SIDE, show_default=False)],
    relevant: Annotated[
        str,
        typer.Option(
            "--relevant",
            "-r",
            metavar="PERCENT",
            help="Smallest step that is reported.",
            rich_help_panel=JUDGMENT,
        ),
    ] = percent_option(RELEVANT_STEP),
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="DATE",
            help="Only steps from this date on count (2026-11-23).",
            rich_help_panel=JUDGMENT,
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", metavar="NAME", help="See imb compare.", rich_help_panel=JUDGMENT)
    ] = "time",
    bands: BandsOption = BANDS,
    benchmark: BenchmarkOption = None,
    format: Annotated[Literal["terminal", "json", "html"], FORMAT] = "terminal",
    archive: ArchiveOption = None,
) -> None:
    """Find the sessions of a history at which results became slower or faster.

    A session is what was measured together: one `imb run` or campaign, and whatever begins within 50 minutes of its first launch.
    Each curve and size band is one series. A history of 100 sessions without a change shows a step with a probability of
    at most 1 %, over all series together. Each step is printed with its first run, the size with a 95 % interval, and the
    environment differences to the session before. The newest session is also compared alone with the prediction interval of the
    earlier sessions at its level (five or more): at most 1 false alarm in 1000 checks. docs/evidence/history.md has the method and measured error rates.

    {additions}

    \b
    Examples:
      imb watch nightly
      imb watch nightly --since 2026-11-23 --format json
      imb watch "sql:SELECT run FROM runs WHERE nodes = 'n1'" -b Allreduce
      imb watch nightly --format html > history.html

    Exit status: 0 no slower step, 10 slower step, drift or newest session, 11 too few sessions (fewer than 6) or too noisy, 2 usage error.
    """
    from imb.compare.comparison import parse_bands
    from imb.history.session_history import EXIT, HistorySettings, history
    from imb.model.observations import Side
    from imb.store.store import Archive

    settings = HistorySettings(
        metric=metric,
        relevant=share_of(relevant, "--relevant"),
        bands=parse_bands(bands),
        benchmarks=tuple(benchmark or ()),
        since=_date(since) if since else None,
    )
    store = Archive(archive)
    launches = [launch for side in sides_named(store, *names) for launch in side.launches]
    with explain_wait(f"judging {count_of(len(launches), 'launch')}"):
        judged = history(Side(name=", ".join(names), launches=launches), settings)
    if format == "json":
        write_json(judged)
    elif format == "html":
        from imb.report.page import history_page

        write_data(history_page(judged))
    else:
        from imb.report.history_text import history_text

        say(*history_text(judged).splitlines())
    for entry in registry.watch_entries():
        for line in registry.load(entry.lines)(store):
            say(f"imb: {line}", err=True)
    raise typer.Exit(EXIT[judged.verdict])


command.__doc__ = (command.__doc__ or "").replace(
    "{additions}", " ".join(entry.help for entry in registry.watch_entries())
)


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ImbError(f"--since: not a date: {text}; give one such as 2026-11-23") from None
