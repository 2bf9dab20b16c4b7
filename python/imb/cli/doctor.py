"""imb doctor"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import FormatOption
from imb.cli.launching import MpiOption, chosen_mpi
from imb.cli.option_groups import JUDGMENT
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.report.terminal import LEVEL_MARKS, Screen, say, write_data

if TYPE_CHECKING:
    from imb.mpi.readiness_checks import Check


def command(
    mpi: MpiOption = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if there are warnings.", rich_help_panel=JUDGMENT)
    ] = False,
    format: FormatOption = "terminal",
) -> None:
    """Check that this machine is ready to measure.

    The machine: cores, NUMA, caches, hyperthreads, frequency governor, load, clock source, virtual machine, container,
    shared memory. GPUs: PCIe link, NUMA node and, with NVML (pip install nvidia-ml-py), name, NVLinks, errors. The
    tools: compilers, launchers, schedulers. Every MPI found, or the one of --mpi: its transports, whether it handles
    GPU memory, and a check of one second: two ranks start and exchange messages (a small program is compiled once).

    Exit status: 0 ready, warnings included; 1 warnings, with --strict; 2 problems.

    \b
    Examples:
      imb doctor
      imb doctor --mpi /opt/openmpi-5 --strict
      imb doctor --format json | jq 'select(.level != "ok")'
    """
    import msgspec

    screen = Screen()
    levels = []
    for finding in _findings(mpi):
        levels.append(finding.level)
        if format == "json":
            write_data(msgspec.json.encode(finding).decode() + "\n")
            continue
        mark, color = LEVEL_MARKS[finding.level]
        screen.line((mark, color), f" {finding.what}: {finding.found}")
        if finding.advice:
            screen.line(f"    {finding.advice}")
    if format != "json":
        say(f"{count_of(levels.count('problem'), 'problem')}, {count_of(levels.count('warning'), 'warning')}")
    if "problem" in levels:
        raise typer.Exit(Status.USAGE)
    if strict and "warning" in levels:
        raise typer.Exit(Status.FAILED)


def _findings(choice: str | None) -> Iterator[Check]:
    from imb.model.mpis import PACKAGES
    from imb.mpi import gpu_checks, host_conditions, host_gpus, installations, nvml, readiness_checks

    yield from readiness_checks.machine_checks(host_conditions.gather())
    present = nvml.add_figures(host_gpus.gpus_of_host())
    yield from gpu_checks.checks(present)
    yield from readiness_checks.tools()
    installed = [chosen_mpi(choice)] if choice else installations.find_all()
    if not installed:
        yield readiness_checks.Check(
            "problem",
            "MPI",
            "none found",
            f"load its module, or {PACKAGES}",
        )
    for package in installations.overwritten_packages(installed) if not choice else []:
        yield readiness_checks.Check(
            "warning",
            f"package {package}",
            "installed beside this Python, but its mpiexec is another MPI's",
            "install each MPI in a virtual environment of its own, and name that with --mpi",
        )
    for mpi in installed:
        yield from readiness_checks.installation(mpi)
        yield from gpu_checks.support_checks(mpi, present.gpus)
