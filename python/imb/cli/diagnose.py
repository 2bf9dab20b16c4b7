"""imb diagnose"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import ArchiveOption, SideArgument, columns_of_text
from imb.model.errors import ImbError
from imb.model.units import counted

if TYPE_CHECKING:
    from imb.diagnose import Diagnosis

_MARKS = {"problem": ("✗", "red"), "warning": ("!", "yellow"), "information": ("i", "cyan")}


class Format(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    json = "json"


def command(
    side: SideArgument = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link", metavar="RATE", help="Of the network in one direction, as 100Gb/s or 12.5GB/s."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="RATE", help="Of a NUMA node's memory, as STREAM's copy tells it: 20GB/s."
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME=VALUE",
            help="Change a threshold; `--thresholds` lists them. Repeatable.",
        ),
    ] = None,
    thresholds: Annotated[bool, typer.Option("--thresholds", help="List the thresholds and end.")] = False,
    format: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.terminal,
    archive: ArchiveOption = None,
) -> None:
    """Tells what looks wrong in results, with the numbers that say so and what to try next.

    Judged are medians over all launches of the side: defects and failures; latency and bandwidth against what is usual,
    and against the link and the memory where you say what they can do; spread over ranks, and which rank is the slowest;
    spread between launches; the parts of variance of launches in passes (within a launch, states of the machine,
    launches), which of them dominates, and launches that never saw the usual state; tails of repetitions; cliffs, plateaus and changes of protocol over message lengths;
    collectives against what PingPong implies; overlap. Behind the findings stands the latency-bandwidth model of every
    curve, with 95 % intervals and how far it is off.

    Exit status: 0 nothing found, or only information; 1 warnings or problems; 2 unusable input.

    \b
    Examples:
      imb diagnose baseline
      imb diagnose 3fa9 --link 100Gb/s --threshold rank_spread=2
      imb diagnose results/monday.log --format markdown > findings.md
    """
    from imb import diagnose
    from imb.archive.names import load
    from imb.archive.store import Archive
    from imb.cli.peers import variance_of
    from imb.render import findings

    limits = diagnose.Thresholds().with_values(threshold or [])
    if thresholds:
        for name, about in diagnose.described().items():
            typer.echo(f"{name:<16} {getattr(limits, name):<8g} {about}")
        return
    known = diagnose.Limits(
        link=diagnose.rate(link) if link else None, memory=diagnose.rate(memory) if memory else None
    )
    if not side:
        raise ImbError("SIDE is missing: a label, a run, a file or a query; see `imb diagnose --help`")
    store = Archive(archive)
    loaded = load(store, side)
    found = diagnose.diagnose(loaded, limits, known, variance_of(store, loaded))
    if format is Format.json:
        typer.echo(findings.json(found))
    elif format is Format.markdown:
        typer.echo(findings.markdown(found))
    else:
        _show(found)
    raise typer.Exit(0 if found.healthy else 1)


def _show(found: Diagnosis) -> None:
    from rich.console import Console

    from imb.render.findings import MODEL_HEADINGS, model_rows
    from imb.render.variance import block

    console = Console(highlight=False)
    console.print(f"{found.side}: {counted(found.launches, 'launch')}", markup=False)
    for one in found.findings:
        mark, colour = _MARKS[one.level]
        console.print()
        console.print(f"[{colour}]{mark} {one.level}, {one.rule}[/]  ", end="")
        console.print(one.where, markup=False, soft_wrap=True)
        console.print(f"    {one.found}", markup=False, soft_wrap=True)
        console.print(f"    → {one.advice}", markup=False, soft_wrap=True)
    if found.models:
        typer.echo("\nt(n) = latency + n / bandwidth, 95 % intervals")
        typer.echo(columns_of_text(MODEL_HEADINGS, model_rows(found)))
    if found.variance:
        console.print()
        for line in block(found.variance):
            console.print(line, markup=False, soft_wrap=True)
    for note in found.notes:
        console.print(f"not judged: {note}", markup=False, soft_wrap=True)
    levels = [one.level for one in found.findings]
    console.print(
        f"\n{counted(levels.count('problem'), 'problem')}, {counted(levels.count('warning'), 'warning')}, "
        f"{levels.count('information')} for information"
    )
