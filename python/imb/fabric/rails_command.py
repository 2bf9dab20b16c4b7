"""imb rails"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.cli.common import ArchiveOption, LabelOption
from imb.cli.launching import (
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
)
from imb.cli.option_groups import METHOD, SUBJECT
from imb.model.errors import ImbError
from imb.store.store import Archive

IN_FLIGHT = 64  # messages of a pair that are in flight at once


def command(
    hosts: HostsOption = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs",
            min=1,
            metavar="K",
            help="Pairs of ranks.",
            show_default="one for each rail of this host",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    launches: Annotated[
        int, typer.Option("--launches", min=1, metavar="N", help="Launch N times.", rich_help_panel=METHOD)
    ] = 3,
    timeout: TimeoutOption = 120,
    verbose: VerboseOption = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    label: LabelOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Measure the bandwidth between two hosts over all their rails at once.

    For each interface of this host (RDMA port, else network interface with an address), a pair of ranks sends messages of 1 MiB
    (Uniband), pinned to the NUMA node of the interface. The output is the total and, for each interface, its share of the
    counted bytes, its rate and how much of its link that is. Both hosts must have the same interfaces as this one. Each launch
    is kept as a run.

    \b
    Examples:
      imb rails --hosts node1,node2
      imb rails --hosts node1,node2 --pairs 8 --env UCX_MAX_RNDV_RAILS=1

    Exit status: 0 measured, 1 a launch failed or interfaces counted nothing, 2 usage error.
    """

    from imb.experiments.session_loop import carry_out
    from imb.fabric.host_rails import cpus_of_rails, rails_here
    from imb.fabric.rails_experiment import LENGTH, RailsExperiment, RailsSettings
    from imb.mpi.allocation import Allocation
    from imb.runner import passes, session

    rails = rails_here()
    if not rails and pairs is None:
        raise ImbError("this host has no interface that is up and has an address; give --pairs")
    pair_count = pairs or len(rails)
    near = cpus_of_rails(rails)
    cpus = ",".join(str(near[pair % len(near)]) for pair in range(pair_count)) if near else None
    intent = intent_of(2 * pair_count, hosts, pair_count, None, cpus, env, launcher)
    host_count = len(intent.hosts) or Allocation.of().nodes or 1
    if host_count != 2:
        raise ImbError(f"rails are measured between two hosts, not {host_count}; give --hosts A,B")
    installation, folder = prepare(mpi, programs)
    arguments = ["-npmin", str(2 * pair_count), "-msgsize", str(LENGTH), "-window_size", str(IN_FLIGHT)]
    plan = session.plan_launches(
        mpi=installation, programs=folder, intent=intent, selection={"MPI1": ["Uniband"]}, arguments=arguments,
        launches=launches, timeout=timeout, labels=label or [], sampling=passes.Sampling(),
    )  # fmt: skip
    store = Archive(archive)
    build_for([plan], installation, programs)
    plan = session.set_settings(plan, "rails", RailsSettings(rails=rails))
    session.save(store, plan)
    raise typer.Exit(carry_out(RailsExperiment(store, plan), plan, verbose=verbose))
