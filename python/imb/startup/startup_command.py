"""imb startup"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.cli.common import ArchiveOption, FormatOption, LabelOption
from imb.cli.launching import (
    BindOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
    PpnOption,
    ProgramsOption,
    TimeoutOption,
    VerboseOption,
    build_for,
    intent_of,
    prepare,
    refuse_missing_cpus,
)
from imb.cli.option_groups import METHOD, SUBJECT
from imb.model.errors import ImbError
from imb.store.store import Archive


def command(
    ranks: Annotated[
        str | None,
        typer.Option(
            "--ranks",
            metavar="N,N...",
            help="Numbers of ranks.",
            show_default="1, 2, 4, ... and as many as the hosts, the allocation or this machine offer",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    launches: Annotated[
        int,
        typer.Option(
            "--launches",
            min=1,
            metavar="N",
            help="Launch each number of ranks N times.",
            rich_help_panel=METHOD,
        ),
    ] = 5,
    timeout: TimeoutOption = None,
    verbose: VerboseOption = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    bind: BindOption = None,
    hosts: HostsOption = None,
    ppn: PpnOption = None,
    cpus: CpusOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    format: FormatOption = "terminal",
    label: LabelOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Measure how long an MPI takes to start ranks, and which part takes how long.

    Each launch is a Barrier of one repetition, kept as a run. For each number of ranks, the output has the whole launch, from the start of
    the launcher to its exit; the time until the last rank calls MPI_Init (launcher, network of daemons, exec, loader); MPI_Init
    of the slowest rank and of the fastest one; the time of the suite itself; and MPI_Finalize with the exit of ranks and launcher.

    \b
    Examples:
      imb startup
      imb startup --mpi openmpi --ranks 1,2,4,8 --launches 11 --label before
      imb startup --launcher srun --hosts node1,node2 --ppn 64 --format json

    Exit status: 0 measured, 1 some launches failed, 2 usage error, 130 interrupted.
    \f
    Values are medians over launches with their range. The first launch of each number of ranks, which may have to read
    programs and libraries from disk, has a column of its own. Between hosts, times before MPI_Init and after MPI_Finalize are
    only as exact as the clocks of the hosts agree.
    """
    from imb.experiments.session_loop import carry_out
    from imb.runner import session
    from imb.startup import startup_planning
    from imb.startup.startup_experiment import StartupExperiment, StartupSettings

    numbers = numbers_of(ranks) if ranks else None
    intent = intent_of(max(numbers) if numbers else None, hosts, ppn, bind, cpus, env, launcher)
    refuse_missing_cpus(intent)
    installation, folder = prepare(mpi, programs)
    store = Archive(archive)
    plan = startup_planning.plan_startup(
        mpi=installation,
        programs=folder,
        intent=intent,
        ranks=numbers or startup_planning.doubling_counts(startup_planning.offered_ranks(intent)),
        launches=launches,
        timeout=timeout,
        labels=label or [],
    )
    build_for([plan], installation, programs)
    plan = session.set_settings(plan, "startup", StartupSettings(format=format))
    session.save(store, plan)
    raise typer.Exit(carry_out(StartupExperiment(store, plan), plan, verbose=verbose))


def numbers_of(text: str) -> list[int]:
    """`1,2,4`, ascending. Raises ImbError."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise ImbError(f"--ranks: not numbers of ranks: {text}; give some such as 1,2,4")
    return sorted(set(map(int, words)))
