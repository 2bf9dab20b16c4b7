"""imb diagnose"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.common import FORMAT, ArchiveOption, SideArgument
from imb.cli.option_groups import JUDGMENT, Form
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.text import one_line
from imb.model.units import count_of
from imb.report.terminal import LEVEL_MARKS, Screen, columns, say, text_width, wrap_text, write_data

if TYPE_CHECKING:
    from imb.diagnose import Diagnosis

_LISTING = Form("cannot be combined with --thresholds")


def command(
    context: typer.Context,
    side: SideArgument = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            metavar="RATE",
            help="Bandwidth of the network in one direction: 100Gb/s, 12.5GB/s.",
            rich_help_panel=JUDGMENT,
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory-bandwidth",
            metavar="RATE",
            help="Bandwidth of host memory, of a NUMA node (STREAM copy): 20GB/s.",
            rich_help_panel=JUDGMENT,
        ),
    ] = None,
    gpu_link: Annotated[
        str | None,
        typer.Option(
            "--gpu-link",
            metavar="RATE",
            help="Bandwidth of a GPU's link in one direction: 25GB/s.",
            show_default="from the conditions",
            rich_help_panel=JUDGMENT,
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME=VALUE",
            help="Change a threshold (see --thresholds); may be repeated.",
            rich_help_panel=JUDGMENT,
        ),
        _LISTING,
    ] = None,
    thresholds: Annotated[
        bool,
        typer.Option("--thresholds", help="List the thresholds and exit.", rich_help_panel=JUDGMENT),
        _LISTING,
    ] = False,
    format: Annotated[Literal["terminal", "markdown", "json"], FORMAT] = "terminal",
    archive: ArchiveOption = None,
) -> None:
    """Find anomalies in results and suggest what to check next.

    \b
    Checks, on medians over all launches:
      defects and failures, lines that were not read, processes that were started alone
      latency and bandwidth, against common values and against --link and --memory-bandwidth
      bandwidth of messages in GPU memory (imb run --memory cuda), against the GPU's PCIe link or NVLink
      spread over ranks, slowest rank, spread between launches, tails of repetitions
      variance components of launches in passes, launches outside the dominant state
      cliffs, plateaus and protocol changes over message sizes
      collectives against the cost implied by PingPong; overlap, and operations that computation delays

    A latency-bandwidth model of every curve follows, with 95 % intervals and its deviation, or "no fit" and the row that
    contradicts it.

    Launches of several MPI libraries, or measured in passes and classic, are diagnosed one kind at a time.

    Exit status: 0 no finding above information; 1 warnings or problems; 2 usage error.

    \b
    Examples:
      imb diagnose baseline
      imb diagnose 3fa9 --link 100Gb/s --threshold rank_spread=2
      imb diagnose results/monday.log --format markdown > findings.md
    """
    from imb import diagnose
    from imb.experiments.failed_launches import failed_launches
    from imb.experiments.peers import variance_of
    from imb.report import findings
    from imb.store.names import any_side, named_runs
    from imb.store.store import Archive

    threshold_values = diagnose.Thresholds().apply_values(threshold or [])
    if thresholds:
        if side:
            raise ImbError(f"--thresholds lists thresholds and diagnoses nothing; omit {one_line(side)}")
        _LISTING.refuse_others(context)
        for name, description in diagnose.threshold_descriptions().items():
            say(f"{name:<16} {getattr(threshold_values, name):<8g} {description}")
        return
    limits = diagnose.Limits(
        link=diagnose.rate(link) if link else None,
        memory=diagnose.rate(memory) if memory else None,
        gpu_link=diagnose.rate(gpu_link) if gpu_link else None,
    )
    if not side:
        raise ImbError("RESULTS is missing; give a label, a run, a file or a query")
    store = Archive(archive)
    runs = list(named_runs(store, side))
    sample_set = any_side(runs, side)
    failed = failed_launches(runs, sample_set)
    if any(launch.rows or launch.failures for launch in sample_set.launches):
        diagnosis = diagnose.diagnose(
            sample_set, threshold_values, limits, variance_of(store, sample_set), failed
        )
    elif failed:
        diagnosis = diagnose.diagnose_failures(side, failed)
    else:
        raise ImbError(f"no results in {one_line(side)}")
    if format == "json":
        write_data(findings.json(diagnosis) + "\n")
    elif format == "markdown":
        write_data(findings.findings_markdown(diagnosis) + "\n")
    else:
        _show(diagnosis)
    raise typer.Exit(Status.GOOD if diagnosis.is_healthy else Status.FAILED)


def _show(diagnosis: Diagnosis) -> None:
    from imb.report.findings import MODEL, MODEL_HEADINGS, model_rows
    from imb.report.variance_tables import block

    screen = Screen(width=text_width())
    levels = [finding.level for finding in diagnosis.findings]
    screen.line(
        f"{diagnosis.side}: {count_of(levels.count('problem'), 'problem')}, {count_of(levels.count('warning'), 'warning')}, "
        f"{levels.count('information')} information; {count_of(diagnosis.launches, 'launch')}"
    )
    for finding in diagnosis.findings:
        mark, color = LEVEL_MARKS[finding.level]
        screen.line()
        screen.line((f"{mark} {finding.level}, {finding.rule}", color), f"  {finding.where}")
        say(*wrap_text(f"    {finding.found}", indent=0), *wrap_text(f"    next: {finding.advice}"))
    if diagnosis.models:
        table = columns(
            MODEL_HEADINGS,
            model_rows(diagnosis),
            width=text_width(),
            least={"worst": 0, "curve": 16},
        )
        say("", MODEL, *table)
    if diagnosis.variance and (
        lines := block(diagnosis.variance, printed={finding.rule for finding in diagnosis.findings})
    ):
        say("", *(part for line in lines for part in wrap_text(line)))
    for note in diagnosis.notes:
        say(*wrap_text(f"not checked: {note}"))
