"""imb rails"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import ArchiveOption, LabelOption
from imb.cli.launch_lines import problem_of
from imb.cli.launching import (
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
    ProgramsOption,
    SessionEnd,
    TimeoutOption,
    VerboseOption,
    all_measured,
    build_for,
    intent_of,
    launch_all,
    prepare,
)
from imb.model.errors import ImbError
from imb.model.units import NOT_KNOWN, amount, as_percent, counted, size
from imb.report.terminal import Screen, say
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.model.observations import Launch

LENGTH = 1 << 20
IN_FLIGHT = 64  # messages of a pair
IDLE = 0.5  # of an equal share of the bytes: a rail with less is named
FIRST = ("--hosts", "--pairs", "--launches", "--mpi", "--env", "--launcher", "--label", "--programs")


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
        ),
    ] = None,
    launches: Annotated[int, typer.Option("--launches", min=1, metavar="N", help="Launch N times.")] = 3,
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

    A pair of ranks for each interface (RDMA port, else network interface with an address) of this host, pinned in the
    NUMA node of the interface, sends 1 MiB messages (Uniband). Output: the sum, and by interface its share of the bytes
    that it counted, its rate and how much of its link that is. Both hosts have the interfaces of this one. Each launch
    is kept as a run.

    \b
    Examples:
      imb rails --hosts node1,node2
      imb rails --hosts node1,node2 --pairs 8 --env UCX_MAX_RNDV_RAILS=1

    Exit status: 0 measured, 1 a launch failed or interfaces counted nothing, 2 usage error.
    """
    import msgspec

    from imb.fabric.host_rails import cpus_near, rails_here
    from imb.mpi.allocation import Allocation
    from imb.runner import passes, session

    rails = rails_here()
    if not rails and pairs is None:
        raise ImbError("this host has no interface that is up and has an address; give --pairs")
    pair_count = pairs or len(rails)
    near = cpus_near(rails)
    cpus = ",".join(str(near[pair % len(near)]) for pair in range(pair_count)) if near else None
    intent = intent_of(2 * pair_count, hosts, pair_count, None, cpus, env, launcher)
    host_count = len(intent.hosts) or Allocation.of().nodes or 1
    if host_count != 2:
        raise ImbError(f"rails are measured between two hosts, not {host_count}; give --hosts A,B")
    installation, folder = prepare(mpi, programs)
    arguments = ["-npmin", str(2 * pair_count), "-msgsize", str(LENGTH), "-window_size", str(IN_FLIGHT)]
    plan = session.run_plan(
        mpi=installation, programs=folder, intent=intent, selection={"MPI1": ["Uniband"]}, arguments=arguments,
        launches=launches, timeout=timeout, labels=label or [], sampling=passes.Sampling(),
    )  # fmt: skip
    store = Archive(archive)
    build_for([plan], installation, programs)
    plan = msgspec.structs.replace(plan, command="rails", report={"rails": msgspec.to_builtins(rails)})
    session.save(store, plan)
    raise typer.Exit(
        report(store, launch_all(store, plan, results_to_stderr=True, commands=False, verbose=verbose))
    )


def report(store: Archive, executed: SessionEnd) -> int:
    """Print the sum and the share of each rail; the exit status. Raises ImbError."""
    from itertools import chain
    from statistics import median

    from imb.fabric.judging.rails import carried as shares_of
    from imb.model.conditions import interfaces_in
    from imb.store.names import launches_in

    complete = all_measured(executed)
    measured = [launch for ended in executed.over for launch in launches_in(store, ended.run) if _sum(launch)]
    if not measured:
        problem = next(
            (problem for ended in executed.over if (problem := problem_of(store, executed.plan, ended))),
            "no row was measured",
        )
        raise ImbError(f"no launch has results: {problem}", status=1)
    rails = {
        interface.name: interface
        for interface in interfaces_in({"interfaces": executed.plan.report["rails"]})
    }
    rate = median(map(_sum, measured))
    ranks = measured[0].run.ranks or []
    sender, receiver = ranks[0].host, ranks[-1].host
    pairs = len(ranks) // 2
    say(
        f"{sender} to {receiver}: {amount(rate)}/s, {counted(pairs, 'pair')}, Uniband {size(LENGTH)}, median of"
        f" {counted(len(measured), 'launch')}, {executed.plan.variants[0].mpi.version}"
    )
    shares = [shares_of(launch.rows.values(), sender, rails) for launch in measured]
    if not all(shares):
        say(f"imb: interfaces of {sender} counted nothing: shares of rails are not known", err=True)
        return 1
    names = dict.fromkeys((*rails, *chain.from_iterable(shares)))
    rows, idle = [], []
    for name in names:
        share = median(byte_shares.get(name, 0.0) for byte_shares in shares)
        interface = rails.get(name)
        of_link = (
            as_percent(8 * share * rate / interface.speed, 0) if interface and interface.speed else NOT_KNOWN
        )
        link = interface.link if interface else ""
        rows.append((name, as_percent(share, 0), f"{amount(share * rate)}/s", link or NOT_KNOWN, of_link))
        if share < IDLE / len(names):
            idle.append(name)
    Screen().table(("rail", "share", "rate", "link", "of the link"), rows, right=(1, 2, 3, 4))
    if idle:
        from imb.model.mpis import INTERFACE_SETTINGS

        say(
            f"! {', '.join(idle)} carried less than half of an equal share; {INTERFACE_SETTINGS} choose interfaces"
        )
    return 0 if complete else 1


def _sum(launch: Launch) -> float:
    """Bytes per second of all pairs."""
    return max((row.bytes_per_second or 0.0 for row in launch.rows.values()), default=0.0)
