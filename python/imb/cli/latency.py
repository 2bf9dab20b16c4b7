"""imb latency"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import ArchiveOption, LabelOption
from imb.cli.launch_lines import problem_of
from imb.cli.launching import (
    ClassicOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    LimitOption,
    MpiOption,
    ProgramsOption,
    SessionEnd,
    VerboseOption,
    build_for,
    intent_of,
    launch_all,
    prepare,
    refuse_missing_cpus,
)
from imb.model.errors import ImbError
from imb.model.units import NOT_KNOWN, counted, decimal, known_width
from imb.report.terminal import say
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.model.intent import Intent
    from imb.model.observations import Launch
    from imb.model.records import Result

SECONDS = 2.0  # budget of a launch in passes
REPETITIONS = 10000  # of a classic launch
LONGEST = 2**31 - 1  # bytes: a count of MPI is an int
WIDE = 0.2  # half width of the interval, as a share; above it a warning is printed

FIRST = ("--cpus", "--hosts", "--launches", "--bytes", "--budget", "--mpi", "--env", "--label")


def command(
    cpus: CpusOption = None,
    hosts: HostsOption = None,
    launches: Annotated[int, typer.Option("--launches", min=1, metavar="N", help="Launch N times.")] = 5,
    length: Annotated[
        int, typer.Option("--bytes", min=0, max=LONGEST, metavar="N", help="Message length.")
    ] = 1,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=0.1,
            max=1e7,
            metavar="SECONDS",
            help="Duration of each launch.",
            show_default=f"{SECONDS:g}",
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
        ),
    ] = None,
    timeout: LimitOption = 60,
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
    its repetitions. Output: the median over launches, half of the 95 % interval of their mean (+-), and quantiles over
    launches. Each launch is kept as a run.

    \b
    Examples:
      imb latency
      imb latency --cpus 0,1 --launches 11 --budget 5
      imb latency --hosts node1,node2 --mpi openmpi

    Exit status: 0 measured, 1 some launches failed, 2 usage error.
    """
    import msgspec

    from imb.runner import passes, session

    if budget is not None and (classic or repetitions is not None):
        raise ImbError("--budget needs passes; omit --classic and --repetitions")

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
        arguments += ["-budget", f"{_seconds(budget, timeout):g}"]
    plan = session.run_plan(
        mpi=installation, programs=folder, intent=intent, selection={"MPI1": ["PingPong"]}, arguments=arguments,
        launches=launches, timeout=timeout, labels=label or [],
        sampling=passes.Sampling(classic=classic or repetitions is not None),
    )  # fmt: skip
    build_for([plan], installation, programs)
    plan = msgspec.structs.replace(plan, command="latency")
    session.save(store, plan)
    raise typer.Exit(
        report(store, launch_all(store, plan, results_to_stderr=True, commands=False, verbose=verbose))
    )


def report(store: Archive, executed: SessionEnd) -> int:
    """Print the latency of these launches; the exit status. Raises ImbError."""
    from imb.store.names import launches_in

    plan, ends = executed.plan, executed.over
    launches = [launch for ended in ends for launch in launches_in(store, ended.run)]
    arguments = plan.items[0].arguments
    length = int(arguments[arguments.index("-msgsize") + 1])
    variant = plan.variants[0]
    rows = [row for launch in launches for row in launch.rows.values()]
    measured = [row for row in rows if row.bytes == length and row.time_max_seconds]
    failed = [
        f"{ended.run[:SHORT]}: {problem}" for ended in ends if (problem := problem_of(store, plan, ended))
    ]
    if not measured:
        raise ImbError(
            f"no launch has results; {failed[0] if failed else 'no row was measured'};"
            f" see `imb show {ends[0].run[:SHORT]}`",
            status=1,
        )
    say(
        f"{_summary(measured)}; {counted(length, 'byte')}, {_endpoints(variant.intent)}, {variant.mpi.version}"
    )
    _warn(store, measured, launches)
    if len(measured) < len(plan.items):
        say(
            f"imb: {len(plan.items) - len(measured)} of {len(plan.items)} launches failed; {failed[0] if failed else '`imb ls` shows them'}",
            err=True,
        )
        return 1
    return 0


def _warn(archive: Archive, rows: Sequence[Result], launches: Sequence[Launch]) -> None:
    """Print a warning on standard error where the latency was disturbed, with the disturbances."""
    from imb.cli.peers import earlier
    from imb.compare.usual import sentences_of, unusual

    disturbances = sentences_of(unusual(launches, earlier(archive, launches)))
    if (half_width := _half_width(rows)) is not None and half_width > WIDE:
        disturbances.append(f"the interval is wider than +-{100 * WIDE:.0f} %")
    if disturbances:
        say(f"imb: warning: {'; '.join(disturbances)}; repeat on an idle machine", err=True)


def _endpoints(intent: Intent) -> str:
    cpus, hosts = ",".join(map(str, intent.cpus)), ",".join(intent.hosts)
    return f"CPUs {cpus}" if cpus else f"hosts {hosts}" if hosts else "this host"


def _seconds(budget: float | None, timeout: float) -> float:
    """The budget of a launch in passes. Raises ImbError where its time limit would end it before."""
    if budget is not None and budget >= timeout:
        raise ImbError(f"--budget {budget:g} needs a --timeout above it, not {timeout:g}")
    return budget or min(SECONDS, 0.75 * timeout)


def _summary(rows: Sequence[Result]) -> str:
    """The median and quantiles of the latency in microseconds."""
    import numpy as np

    from imb.stats.medians import percentiles

    times = np.array([(row.time_max_seconds or 0) * 1e6 for row in rows])
    half_width = _half_width(rows)
    percent = (half_width or 0) * 100
    width = f"+-{percent:.{0 if percent >= 10 else 1}f} %" if known_width(half_width) else NOT_KNOWN
    one_way = "one way" if half_width is None else f"one way {width}"
    if len(times) == 1:
        return f"{decimal(times[0])} µs {one_way} (1 launch)"
    least, low, middle, high, most = map(decimal, percentiles(times, (0, 25, 50, 75, 100)))
    return f"{middle} µs {one_way} (min {least}, p25 {low}, p75 {high}, max {most} of {len(times)} launches)"


def _half_width(rows: Sequence[Result]) -> float | None:
    """Half of the 95 % interval as a share: over launches, or over the samples of a single launch; None: classic, or not known."""
    from imb.stats.shift import level_of

    if any(row.passes is None for row in rows):
        return None
    if len(rows) == 1:
        return rows[0].half_width
    mean, _, high = level_of([row.time_max_seconds or 0 for row in rows])
    return high / mean - 1
