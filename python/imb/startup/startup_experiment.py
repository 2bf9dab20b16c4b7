"""`imb startup`: duration of the parts of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from imb.model.statuses import Status
from imb.model.units import count_of, percent_text
from imb.report.terminal import say, write_json
from imb.runner.experiment import ArchivedExperiment, SessionEnd, Shows
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.runner.session import Plan
    from imb.startup.times import Spread, Summary


class StartupSettings(msgspec.Struct, frozen=True):
    """Output format of the times."""

    format: Literal["terminal", "json"] = "terminal"


class StartupExperiment(ArchivedExperiment[StartupSettings, "list[Summary]"]):
    """Sessions of `imb startup`."""

    Settings = StartupSettings
    shows = Shows(measured=False)

    def judge(self, executed: SessionEnd) -> list[Summary]:
        return summaries_of(self.archive, executed.plan)

    def render(self, result: list[Summary], executed: SessionEnd) -> int:
        plan = executed.plan
        if self.settings.format == "json":
            _print_json(plan, result)
        else:
            _print(plan, result, ",".join(plan.variants[0].intent.hosts))
        failed = sum(summary.failed for summary in result)
        if failed:
            runs = [ended.run[:SHORT] for ended in executed.over if ended.outcome != "measured"]
            advice = f"; see `imb show {runs[0]}`" if runs else ""
            say(f"imb: {failed} of {count_of(len(plan.items), 'launch')} failed{advice}", err=True)
        return Status.FAILED if failed else Status.GOOD


def summaries_of(archive: Archive, plan: Plan) -> list[Summary]:
    """One summary per number of ranks."""
    from imb.runner import session
    from imb.startup.times import Times, summary_of, times_of

    over = session.finished_launches(archive, plan)
    launches: dict[int, list[tuple[str | None, Times | None]]] = {}
    for item in plan.items:
        ended = over.get(
            item.number
        )  # None if skipped because an equal launch was refused or could not be started
        run = archive.run(ended.run) if ended else None
        measured = ended is not None and ended.outcome == "measured"
        times = times_of(run.records().records, run.facts()) if run and measured else None
        launches.setdefault(item.ranks or 0, []).append((ended.run if ended else None, times))
    return [summary_of(ranks, timed) for ranks, timed in launches.items()]


def _print_json(plan: Plan, summaries: Sequence[Summary]) -> None:
    document = {
        "session": plan.id,
        "mpi": plan.variants[0].mpi.version,
        "unit": "seconds",
        "ranks": msgspec.to_builtins(summaries),
    }
    write_json(document)


def _print(plan: Plan, summaries: Sequence[Summary], hosts: str) -> None:
    from imb.report.terminal import Screen
    from imb.startup.times import largest_part

    summaries = [summary for summary in summaries if summary.launch or summary.first]
    if not summaries:  # standard error has the reasons
        return
    several = plan.items[-1].turn > 1
    statistic = (
        f"medians of {count_of(plan.items[-1].turn - 1, 'launch')} [range]" if several else "1 launch each"
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
            growth = f"; {factor:.1f} times the launch of {count_of(measured[0].ranks, 'rank')}"
        say(
            f"{count_of(measured[-1].ranks, 'rank')}: {percent_text(part[1], 0)} of the launch is {part[0]}{growth}"
        )
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
