"""Words lines about a session and its launches: their names, what was measured, why a launch is incomplete, what disturbed it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from imb.model.facts import fact
from imb.model.outcomes import incomplete_reason, longer_budget, only_rows_missing, with_message
from imb.model.statuses import SuiteStatus
from imb.model.units import count_of, size
from imb.report.terminal import say
from imb.store.reading import read_each
from imb.store.store import SHORT

if TYPE_CHECKING:
    from imb.runner.experiment import SessionEnd
    from imb.runner.session import FinishedLaunch, Item, Plan
    from imb.store.store import Archive

_USAGE_ERRORS = (1, SuiteStatus.USAGE)


def title_of(plan: Plan) -> str:
    if not plan.campaign:
        return f"session {plan.id}"
    return f"campaign {plan.campaign}, session {plan.id}, seed {plan.seed}"


def launch_line(archive: Archive, plan: Plan, ended: FinishedLaunch) -> str:
    """A line with the run of a launch, the launch's name and how much it measured."""
    from imb.runner import session

    problem = problem_of(archive, plan, ended)
    reason = f": {problem}" if problem else ""
    item = plan.items[ended.number - 1]
    number, comma, cell = launch_name(plan, item).partition(", ")
    launch_round = f", round {item.turn}" if plan.campaign else ""
    launch = f"{number} of {len(plan.items)}{comma}{cell}, IMB-{item.component}{launch_round}"
    note = f" ({ended.note})" if ended.note else ""
    return f"{ended.run[:SHORT]}  {launch}: {session.measured_amount(archive, ended)} in {ended.seconds or 0:.1f} s{reason}{note}"


def problem_of(archive: Archive, plan: Plan, ended: FinishedLaunch, *, budgeted: bool = False) -> str:
    """Why a launch is incomplete, with a printed message or a remedy; empty if it is complete. `budgeted`: time limits of single launches
    derive from --budget."""
    item_limit = plan.items[ended.number - 1].timeout
    if budgeted and item_limit and ended.outcome == "timed_out":
        return incomplete_reason(ended.outcome, None, None, item_limit, "--budget")
    clause = incomplete_reason(
        ended.outcome,
        ended.status,
        ended.problem,
        item_limit or plan.timeout,
        "" if item_limit else "--timeout",
    )
    if ended.outcome == "timed_out":
        option = " (--timeout SECONDS)" if ended.problem else ""
        return f"{clause}; if it did not hang, give a longer limit{option}"
    if ended.outcome == "failed" and clause != ended.problem:
        reason = _reason(archive, plan, ended)
        if reason and only_rows_missing(ended.status):
            return reason  # names the first missing row
        return with_message(clause, reason)
    return clause


def is_usage_error(archive: Archive, ended: FinishedLaunch) -> bool:
    """Whether the suite refused its arguments, so that another launch would fail as well: it printed its one line and wrote no records."""
    from imb.store.names import reason_of

    if ended.outcome != "failed" or ended.status not in _USAGE_ERRORS:
        return False
    run = archive.run(ended.run)
    return not run.part("records.jsonl") and (reason_of(run) or "").startswith("IMB-")


def launch_name(plan: Plan, item: Item) -> str:
    """`launch 3`, or in a campaign `launch 3, NAME/VARIANT, 8 ranks`."""
    if not plan.campaign:
        return f"launch {item.number}"
    return f"launch {item.number}, {plan.campaign}/{plan.variants[item.variant].name}, {count_of(item.ranks or 0, 'rank')}"


def _reason(archive: Archive, plan: Plan, ended: FinishedLaunch) -> str:
    """The recorded problem, else the first failure row, else the reason that launcher or MPI printed, else empty."""
    from imb.model.records import Failure
    from imb.store.names import reason_of

    if ended.problem:
        return ended.problem
    if failure := next(archive.run(ended.run).records().of(Failure), None):
        length = "" if failure.bytes is None else f", {size(failure.bytes)}"
        remedy = ""
        if failure.cause == "over_budget":
            remedy = f"; {longer_budget(bool(plan.campaign) and plan.command != 'ab')}"
        return f"{failure.benchmark}{length}: {failure.reason}{remedy}"
    reason = reason_of(archive.run(ended.run))
    return reason or ""


def disturbance(archive: Archive, runs: Iterable[str]) -> str | None:
    """The warning that other processes disturbed these runs, with the largest number of CPUs that they used; None if they did not."""
    from imb.model.foreign_load import BUSIER_CPUS, foreign_load_warning

    facts = read_each(runs, lambda run: archive.run(run).facts(), optional=True)
    largest = max((fact(float, each, "load", "other_cpus") or 0.0 for each in facts), default=0.0)
    return foreign_load_warning(largest) if largest > BUSIER_CPUS else None


def warn_of_others(archive: Archive, runs: Iterable[str]) -> None:
    """Print a warning if other processes disturbed these runs."""
    if line := disturbance(archive, runs):
        say(f"imb: {line}", err=True)


def report_incomplete(executed: SessionEnd) -> bool:
    """Print a line on standard error if launches were incomplete or skipped. Returns whether there were such launches."""
    over, left_out = executed.over, executed.left_out
    incomplete = [ended.run[:SHORT] for ended in over if ended.outcome != "measured"]
    if incomplete:
        say(
            f"imb: {len(incomplete)} of {count_of(len(over), 'launch')} incomplete; see `imb show {incomplete[0]}`",
            err=True,
        )
    if left_out:
        say(
            f"imb: {count_of(left_out, 'launch')} skipped; retry with `imb run --resume {executed.plan.id}`",
            err=True,
        )
    return bool(incomplete or left_out)
