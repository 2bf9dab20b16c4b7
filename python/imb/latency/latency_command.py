"""imb latency"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.cli.common import ArchiveOption, LabelOption
from imb.cli.launching import (
    ClassicOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
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
from imb.runner import passes
from imb.store.store import Archive

SECONDS = 2.0  # budget of a launch in passes
REPETITIONS = 10000  # repetitions of a classic launch
LONGEST = 2**31 - 1  # bytes: a count of MPI is an int


def command(
    cpus: CpusOption = None,
    hosts: HostsOption = None,
    launches: Annotated[
        int, typer.Option("--launches", min=1, metavar="N", help="Launch N times.", rich_help_panel=METHOD)
    ] = 5,
    length: Annotated[
        int,
        typer.Option(
            "--bytes", min=0, max=LONGEST, metavar="N", help="Message size in bytes.", rich_help_panel=SUBJECT
        ),
    ] = 1,
    budget: Annotated[
        float | None,
        typer.Option(
            "--launch-budget",
            min=passes.SHORTEST_BUDGET,
            max=passes.LONGEST_BUDGET,
            metavar="SECONDS",
            help="Duration of each launch.",
            show_default=f"{SECONDS:g}",
            rich_help_panel=METHOD,
        ),
    ] = None,
    classic: ClassicOption = False,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions",
            min=1,
            metavar="N",
            help="Round trips of a classic launch; implies --classic.",
            show_default=str(REPETITIONS),
            rich_help_panel=METHOD,
        ),
    ] = None,
    timeout: TimeoutOption = None,
    verbose: VerboseOption = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    label: LabelOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Measure the one-way latency between two cores or two hosts.

    The latency is half of a PingPong round trip: the median over the samples of a launch; with --classic, the mean over
    its repetitions. Output: the median over launches, half the width of the 95 % interval of their mean (±), and quantiles over
    launches. Each launch is kept as a run.

    \b
    Examples:
      imb latency
      imb latency --cpus 0,1 --launches 11 --launch-budget 5
      imb latency --hosts node1,node2 --mpi openmpi

    Exit status: 0 measured, 1 some launches failed, 2 usage error.
    """
    from imb.experiments.session_loop import carry_out
    from imb.latency.latency_experiment import LatencyExperiment
    from imb.runner import session

    if budget is not None and (classic or repetitions is not None):
        raise ImbError("--launch-budget needs passes; omit --classic and --repetitions")

    intent = intent_of(2, hosts, 1 if hosts and "," in hosts else None, None, cpus, env, launcher)
    if len(intent.cpus) not in (0, 2) or len(intent.hosts) > 2:
        raise ImbError("latency needs two endpoints; give --cpus A,B or --hosts A,B")
    if len(intent.cpus) == 2 and len(set(intent.cpus)) == 1 and len(intent.hosts) < 2:
        raise ImbError(
            f"--cpus {cpus}: both ranks on CPU {intent.cpus[0]} would compete for it; give two CPUs, such as 0,1"
        )
    refuse_missing_cpus(intent)
    installation, folder = prepare(mpi, programs)
    store = Archive(archive)
    arguments = ["-msgsize", str(length)]
    if classic or repetitions is not None:
        arguments += f"-iter {repetitions or REPETITIONS} -iter_policy off -time 0".split()
    else:
        arguments += ["-budget", f"{passes.budget_within(timeout, budget, SECONDS):g}"]
    plan = session.plan_launches(
        mpi=installation, programs=folder, intent=intent, selection={"MPI1": ["PingPong"]}, arguments=arguments,
        launches=launches, timeout=timeout, labels=label or [],
        sampling=passes.Sampling(classic=classic or repetitions is not None),
    )  # fmt: skip
    build_for([plan], installation, programs)
    plan = session.set_settings(plan, "latency")
    session.save(store, plan)
    raise typer.Exit(carry_out(LatencyExperiment(store, plan), plan, verbose=verbose))
