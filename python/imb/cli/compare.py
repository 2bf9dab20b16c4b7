"""imb compare"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.common import (
    FORMAT,
    SIDE,
    USUAL_RELEVANT,
    ArchiveOption,
    AssumeOneSessionOption,
    AssumeStableOption,
    BandsOption,
    BenchmarkOption,
    ForceOption,
    RelevantOption,
    RowsOption,
    sides_named,
)
from imb.cli.extras import require
from imb.cli.option_groups import JUDGMENT
from imb.model.defaults import BANDS
from imb.model.units import count_of, share_of
from imb.report.terminal import explain_wait, write_data, write_json
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.model.observations import Side


def command(
    a: Annotated[str, typer.Argument(metavar="A", help=f"Reference. {SIDE}")],
    b: Annotated[str, typer.Argument(metavar="B", help="Sample set to judge against A; named as A.")],
    relevant: RelevantOption = USUAL_RELEVANT,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="time (of the slowest rank), time_avg, time_min, pure, p50, p90, p99 (where sampled), bandwidth, messages, overlap.",
            rich_help_panel=JUDGMENT,
        ),
    ] = "time",
    bands: BandsOption = BANDS,
    benchmark: BenchmarkOption = None,
    variants: Annotated[
        str | None,
        typer.Option(
            "--variants",
            metavar="LABEL,LABEL",
            help="Variants of -alternate: the first one of A, the second one of B; A and B may be the same runs.",
            rich_help_panel=JUDGMENT,
        ),
    ] = None,
    rows: RowsOption = False,
    format: Annotated[Literal["terminal", "markdown", "json", "junit", "html"], FORMAT] = "terminal",
    force: ForceOption = False,
    assume_one_session: AssumeOneSessionOption = False,
    assume_stable: AssumeStableOption = False,
    archive: ArchiveOption = None,
) -> None:
    """Compare two sets of runs and print a verdict per size band and per row.

    The output shows speedups of B over A with intervals: 2.00x is twice as fast, 0.50x half as fast. A
    verdict is slower or faster, differs (slower or faster by less than --relevant), same (within it), or inconclusive. The unit of replication is the launch, not the repetition: take ten launches of each, interleaved (imb ab).
    docs/comparing.md has the rules, docs/evidence/verdicts.md the method and its error rates.

    \b
    Examples:
      imb compare before after
      imb compare before after --relevant 10% --benchmark Allreduce --rows
      imb compare night night --variants default,ring
      imb compare old-logs/ new-logs/ --format markdown > changes.md
      imb compare "sql:SELECT run FROM runs WHERE date < '2026-10-01'" after

    Exit status: 0 same, faster or not slower, 10 slower or mixed, 11 inconclusive, 12 differs, 2 usage error or nothing to compare.
    \f
    Launches of different sessions (days, boots, allocations) are judged by session, from three sessions of each
    on; with fewer the effects are shown and the verdict is inconclusive. A log with a date is a session by itself; logs within 50
    minutes are one. Without a date the session is unknown: see --assume-one-session. Where no verdict is possible, a band in which
    every launch of B is more than four times as slow as all of A is slower.

    Launches of one session that were not interleaved, all of A before all of B, are inconclusive, since a drift of the machine
    looks like a difference: see --assume-stable.

    The overall verdict is slower if any band or row is, mixed if others are faster; else differs if any is slower by less; else
    inconclusive if a relevant slowdown of some band is not excluded; else faster or differs if any is; else same if every
    band is, else not slower.
    """
    from imb.compare.comparison import EXIT, CompareSettings, compare, parse_bands
    from imb.experiments.peers import comparable_launches

    if format == "html":
        require("imb compare --format html", "jinja2", "plotly")
    settings = CompareSettings(
        metric=metric,
        relevant=share_of(relevant, "--relevant"),
        bands=parse_bands(bands),
        benchmarks=tuple(benchmark or ()),
        force=force,
        assume_one_session=assume_one_session,
        assume_stable=assume_stable,
    )
    store = Archive(archive)
    side_a, side_b = sides_named(store, a, b)
    sides = side_a, side_b
    if variants is not None:
        sides = _variant_sides(sides, variants)
    launches = [launch for side in sides for launch in side.launches]
    with explain_wait(f"comparing {count_of(len(launches), 'launch')}"):
        comparison = compare(*sides, settings, comparable_launches(store, launches))
    if format == "json":
        write_json(comparison)
    elif format == "junit":
        from imb.report import junit

        write_data(
            junit.document(
                [junit.Suite("imb compare", comparison.verdict, junit.comparison_cases(comparison, sides[1]))]
            )
        )
    elif format == "markdown":
        from imb.report.comparison_text import comparison_markdown

        write_data(comparison_markdown(comparison, all_rows=rows))
    elif format == "html":
        from imb.report.page import comparison_page

        write_data(comparison_page(comparison))
    else:
        from imb.report.comparison_text import print_comparison

        print_comparison(comparison, all_rows=rows)
    raise typer.Exit(EXIT[comparison.verdict])


def _variant_sides(sides: tuple[Side, Side], text: str) -> tuple[Side, Side]:
    """Each side with only its variant of -alternate. Raises ImbError."""
    from imb.model.errors import ImbError
    from imb.model.observations import variant_labels, variant_side

    words = text.split(",")
    pairs = [(",".join(words[:n]).strip(), ",".join(words[n:]).strip()) for n in range(1, len(words))]
    if len(pairs) > 1:  # a label may have commas
        known = [variant_labels(side) for side in sides]
        pairs = [(a, b) for a, b in pairs if a in known[0] and b in known[1]]
        if len(pairs) != 1:
            labels = " and ".join(dict.fromkeys(label for each in known for label in each))
            raise ImbError(f"--variants: {text!r} is not two labels; they have {labels or 'none'}")
    if not pairs or not all(pairs[0]):
        raise ImbError(f"--variants: {text!r} is not two labels; for example: --variants default,ring")
    return variant_side(sides[0], pairs[0][0]), variant_side(sides[1], pairs[0][1])
