"""imb startup"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import ArchiveOption, FormatOption, LabelOption
from imb.cli.launching import (
    BindOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    LimitOption,
    MpiOption,
    PpnOption,
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
from imb.model.units import counted
from imb.report.terminal import json_data, say
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.model.startup import Spread, Summary
    from imb.runner.session import Plan

FIRST = ("--ranks", "--launches", "--mpi", "--hosts", "--ppn", "--launcher", "--label", "--format")


def command(
    ranks: Annotated[
        str | None,
        typer.Option(
            "--ranks",
            metavar="N,N...",
            help="Numbers of ranks.",
            show_default="1, 2, 4, ... and as many as the hosts, the allocation or this machine offer",
        ),
    ] = None,
    launches: Annotated[
        int, typer.Option("--launches", min=1, metavar="N", help="Launch each number of ranks N times.")
    ] = 5,
    timeout: LimitOption = 120,
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

    Each launch is a Barrier of one repetition, kept as a run. Output, for each number of ranks: the whole launch, from the start of the
    launcher to its exit; the time until the last rank calls MPI_Init (launcher, network of daemons, exec, loader); MPI_Init
    of the slowest rank, and its difference from the fastest; MPI_Finalize with the exit of ranks and launcher.

    \b
    Examples:
      imb startup
      imb startup --mpi openmpi --ranks 1,2,4,8 --launches 11 --label before
      imb startup --launcher srun --hosts node1,node2 --ppn 64 --format json

    Exit status: 0 measured, 1 some launches failed, 2 usage error, 130 interrupted.
    \f
    Figures are medians over launches with their range. The first launch of each number of ranks, which may have to read
    programs and libraries from disk, is apart. Between hosts, times before MPI_Init and after MPI_Finalize are as exact as
    the clocks of the hosts agree.
    """
    import msgspec

    from imb.runner import session, startup

    numbers = numbers_of(ranks) if ranks else None
    intent = intent_of(max(numbers) if numbers else None, hosts, ppn, bind, cpus, env, launcher)
    refuse_missing_cpus(intent)
    installation, folder = prepare(mpi, programs)
    store = Archive(archive)
    plan = startup.plan_startup(
        mpi=installation,
        programs=folder,
        intent=intent,
        ranks=numbers or startup.doubling(startup.offered(intent)),
        launches=launches,
        timeout=timeout,
        labels=label or [],
    )
    build_for([plan], installation, programs)
    plan = msgspec.structs.replace(plan, command="startup", report={"format": format})
    session.save(store, plan)
    raise typer.Exit(
        report(store, launch_all(store, plan, results_to_stderr=True, commands=False, verbose=verbose))
    )


def report(store: Archive, executed: SessionEnd) -> int:
    """Print where the time of the launches went; the exit status."""
    plan = executed.plan
    summaries = summaries_of(store, plan)
    if plan.report["format"] == "json":
        _print_json(plan, summaries)
    else:
        _print(plan, summaries, ",".join(plan.variants[0].intent.hosts))
    failed = sum(summary.failed for summary in summaries)
    if failed:
        say(f"imb: {failed} of {len(plan.items)} launches failed; see `imb show RUN`", err=True)
    return 1 if failed else 0


def numbers_of(text: str) -> list[int]:
    """`1,2,4`, ascending. Raises ImbError."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise ImbError(f"--ranks: not numbers of ranks: {text}; give some such as 1,2,4")
    return sorted(set(map(int, words)))


def summaries_of(archive: Archive, plan: Plan) -> list[Summary]:
    """The summary of the launches of each number of ranks."""
    from imb.model.startup import Times, summary_of, times_of
    from imb.runner import session

    over = session.done(archive, plan)
    launches: dict[int, list[tuple[str | None, Times | None]]] = {}
    for item in plan.items:
        ended = over.get(item.number)  # None: skipped, as an equal launch was refused or could not be started
        run = archive.run(ended.run) if ended else None
        measured = ended is not None and ended.outcome == "measured"
        times = times_of(run.records().records, run.facts()) if run and measured else None
        launches.setdefault(item.ranks or 0, []).append((ended.run if ended else None, times))
    return [summary_of(ranks, timed) for ranks, timed in launches.items()]


def _print_json(plan: Plan, summaries: Sequence[Summary]) -> None:
    import msgspec

    document = {
        "session": plan.id,
        "mpi": plan.variants[0].mpi.version,
        "unit": "seconds",
        "ranks": msgspec.to_builtins(summaries),
    }
    json_data(document)


def _print(plan: Plan, summaries: Sequence[Summary], hosts: str) -> None:
    from imb.model.startup import largest_part
    from imb.report.terminal import Screen

    several = plan.items[-1].turn > 1
    statistic = (
        f"medians of {counted(plan.items[-1].turn - 1, 'launch')} [range]" if several else "1 launch each"
    )
    first_note = "; the first launch is apart" if several else ""
    say(
        f"{plan.variants[0].mpi.version}, {f'hosts {hosts}' if hosts else 'this host'}: ms, {statistic}{first_note}"
    )
    headings = ["ranks", "launch", "before MPI_Init", "MPI_Init", "fastest rank", "suite", "finalize + exit"]
    rows = [
        [
            str(summary.ranks),
            *map(_cell, (summary.launch, summary.before_init, summary.init)),
            *map(_median, (summary.init_fastest, summary.suite)),
            _cell(summary.finalize_exit),
            *([_milliseconds(summary.first.launch) if summary.first else "-"] if several else []),
        ]
        for summary in summaries
    ]
    headings += ["first"] if several else []
    Screen().table(headings, rows, right=range(len(headings)))
    measured = [summary for summary in summaries if summary.launch]
    if measured and (part := largest_part(measured[-1])):
        growth = ""
        if len(measured) > 1 and measured[0].launch and measured[-1].launch:
            factor = measured[-1].launch.median / measured[0].launch.median
            growth = f"; {factor:.1f} times the launch of {counted(measured[0].ranks, 'rank')}"
        say(f"{counted(measured[-1].ranks, 'rank')}: {part[1]:.0%} of the launch is {part[0]}{growth}")
    if any(summary.launch and summary.before_init is None for summary in summaries):
        say("imb: warning: the clocks of the hosts differ; times before MPI_Init are unknown", err=True)


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    middle = _milliseconds(spread.median)
    if spread.min == spread.max:
        return middle
    return f"{middle} [{_milliseconds(spread.min)}, {_milliseconds(spread.max)}]"


def _median(spread: Spread | None) -> str:
    return _milliseconds(spread.median) if spread else "-"


def _milliseconds(seconds: float) -> str:
    value = seconds * 1e3
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
