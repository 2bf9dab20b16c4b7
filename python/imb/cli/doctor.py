"""imb doctor"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.launching import MpiOption

if TYPE_CHECKING:
    from imb.mpi.doctor import Finding

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


def command(
    mpi: MpiOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where there are warnings.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per finding.")] = False,
) -> None:
    """Tells whether this machine is fit to measure, and what to do where it is not.

    The machine: cores, NUMA, caches, hyperthreads, frequency governor, load, clock source, virtual machine, container,
    shared memory. The tools: compilers, launchers, schedulers. Every MPI found, or the one of --mpi: its transports,
    and a check of one second in which two ranks must start and exchange messages (a small program is compiled first,
    once).

    Exit status: 0 fit, warnings included; 1 warnings, with --strict; 2 problems.

    \b
    Examples:
      imb doctor
      imb doctor --mpi /opt/openmpi-5 --strict
      imb doctor --json | jq 'select(.level != "ok")'
    """
    import msgspec
    from rich.console import Console

    console = Console(highlight=False)
    levels = []
    for finding in _findings(mpi):
        levels.append(finding.level)
        if json:
            typer.echo(msgspec.json.encode(finding).decode())
            continue
        mark, colour = _MARKS[finding.level]
        console.print(f"[{colour}]{mark}[/] ", end="")
        console.print(f"{finding.what}: {finding.found}", markup=False, soft_wrap=True)
        if finding.advice:
            console.print(f"    {finding.advice}", markup=False, soft_wrap=True)
    if not json:
        console.print(f"{levels.count('problem')} problems, {levels.count('warning')} warnings")
    if "problem" in levels:
        raise typer.Exit(2)
    if strict and "warning" in levels:
        raise typer.Exit(1)


def _findings(choice: str | None) -> Iterator[Finding]:
    from imb.mpi import conditions, doctor, installations

    yield from doctor.machine(conditions.gather())
    yield from doctor.tools()
    found = [installations.find(choice)] if choice else installations.find_all()
    if not found:
        yield doctor.Finding("problem", "MPI", "none found", "load its module, or `pip install mpich`")
    for mpi in found:
        yield from doctor.installation(mpi)
