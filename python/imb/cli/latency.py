"""imb latency"""

from __future__ import annotations

import statistics
from typing import Annotated

import typer

from imb.archive import Archive
from imb.cli.common import ArchiveOption
from imb.cli.launching import (
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
    ProgramsOption,
    intent_of,
    prepare,
)
from imb.errors import ImbError
from imb.wording import counted


def command(
    cpus: CpusOption = None,
    hosts: HostsOption = None,
    launches: Annotated[int, typer.Option("--launches", min=1, metavar="N", help="Launch N times.")] = 5,
    length: Annotated[int, typer.Option("--bytes", min=0, metavar="N", help="Of the message.")] = 1,
    repetitions: Annotated[
        int, typer.Option("--repetitions", min=1, metavar="N", help="Round trips per launch.")
    ] = 10000,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="End a launch that takes longer.")
    ] = 60,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    label: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="LABEL", help="Label every run; may be repeated."),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Tells the one-way latency between two cores or two hosts, in one line.

    It is half of a PingPong's round trip, a mean over the repetitions of a launch; quantiles are over launches, since
    launches differ more than repetitions. Each launch is kept as a run.

    Exit status: 0 well, 1 some launches failed, 2 a mistake.

    \b
    Examples:
      imb latency
      imb latency --cpus 0,1 --launches 11
      imb latency --hosts node1,node2 --mpi openmpi
    """
    from imb import session
    from imb.records import Result

    intent = intent_of(2, hosts, 1 if hosts and "," in hosts else None, None, cpus, env, launcher)
    if len(intent.cpus) not in (0, 2) or len(intent.hosts) > 2:
        raise ImbError("a latency is between two: give --cpus A,B or --hosts A,B")
    found, folder = prepare(mpi, programs)
    store = Archive(archive)
    words = f"-msgsize {length} -iter {repetitions} -iter_policy off -time 0".split()
    made = session.plan(
        mpi=found, programs=folder, intent=intent, selection={"MPI1": ["PingPong"]}, arguments=words,
        launches=launches, timeout=timeout, labels=label or [],
    )  # fmt: skip
    session.save(store, made)
    times: list[float] = []
    for item in made.items:
        [over] = session.execute(store, made, [item])
        if over.outcome == "interrupted":
            raise KeyboardInterrupt
        results = store.run(over.run).records().of(Result)
        times += [r.time_max_seconds * 1e6 for r in results if r.bytes == length and r.time_max_seconds]
    if not times:
        raise ImbError(
            f"no launch measured anything; `imb run --resume {made.id}` and `imb ls` tell more", status=1
        )
    typer.echo(f"{_summary(times)}; {counted(length, 'byte')}, {_where(cpus, hosts)}, {found.version}")
    if len(times) < launches:
        typer.echo(
            f"imb: {launches - len(times)} of {launches} launches failed; `imb ls` shows them", err=True
        )
        raise typer.Exit(1)


def _where(cpus: str | None, hosts: str | None) -> str:
    return f"CPUs {cpus}" if cpus else f"hosts {hosts}" if hosts else "this host"


def _summary(times: list[float]) -> str:
    """Median first. Microseconds."""
    if len(times) == 1:
        return f"{times[0]:.2f} µs one way (1 launch)"
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return (
        f"{middle:.2f} µs one way (min {min(times):.2f}, p25 {low:.2f}, p75 {high:.2f}, max {max(times):.2f}"
        f" of {len(times)} launches)"
    )
