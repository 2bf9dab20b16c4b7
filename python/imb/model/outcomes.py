"""Words the reason why a launch is incomplete, for lines of a session, checks, findings and verdicts."""

from __future__ import annotations

from imb.model.statuses import SuiteStatus

WRONG_DATA = "wrong data received"
_ROWS = "some rows could not be measured"
_FAILED_WITH = "failed with "
_FAILURES: dict[int, str] = {
    SuiteStatus.GOOD: _ROWS,
    SuiteStatus.ROWS: _ROWS,
    SuiteStatus.WRONG_DATA: WRONG_DATA,
}


def incomplete_reason(
    outcome: str, status: int | None, problem: str | None, limit: float | None = None, option: str = ""
) -> str:
    """`failed with exit status 5`, `killed after 3 s (--timeout)`; empty if the launch is complete. `outcome`, `status` and `problem` come
    from its facts; `limit`: its time limit in seconds; `option`: the option that set the limit."""
    match outcome:
        case "measured":
            return ""
        case "timed_out" if problem:
            return f"killed: {problem}"
        case "timed_out":
            named = f" ({option})" if option else ""
            return f"killed after {limit:.3g} s{named}" if limit else "killed at its time limit"
        case "failed" if problem and not status:
            return problem
        case "failed":
            return _failure(status or 0)
        case _:
            return problem or outcome


def _failure(status: int) -> str:
    """The meaning of an exit status of the suite or its launcher."""
    if status < 0:
        return f"launcher killed by signal {-status}"
    return _FAILURES.get(status, f"{_FAILED_WITH}exit status {status}")


def only_rows_missing(status: int | None) -> bool:
    """Whether a failed launch with this exit status measured other rows, as far as is known."""
    return status in (None, SuiteStatus.GOOD, SuiteStatus.ROWS)


def with_message(clause: str, message: str | None) -> str:
    """`failed with exit status 1 (no slots left)`: an incomplete_reason with a message that it does not contain."""
    return f"{clause} ({message})" if message and message not in clause else clause


def failure_detail(clause: str, message: str | None) -> str:
    """`exit status 1: no slots left`: the same after a phrase that says that launches failed."""
    short = clause.removeprefix(_FAILED_WITH)
    return f"{short}: {message}" if message else short


def other_ranks_problem(started: int, planned: int) -> str:
    """The problem of a launch whose programs have another number of ranks than planned."""
    return f"{started} instead of {planned} ranks: are launcher and MPI of one kind?"


def unfinished_problem(status: int, *, has_records: bool) -> str:
    """The problem of a launch that wrote no `end` record and whose launcher exited with this status."""
    if not has_records:
        return f"exit status {status}, but no records: the launcher did not start the suite"
    return f"exit status {status}, but the records have no end: the suite stopped before it had measured all"


def stalled_problem(seconds: float) -> str:
    """The problem of a launch that wrote no record for this long."""
    return f"no new row for {seconds:g} s"


def longer_budget(in_campaign_file: bool | None) -> str:
    """The remedy if rows were not reached within the budget of a launch. `in_campaign_file`: whether a campaign file sets that budget, or None
    if this is unknown."""
    places = {
        True: "launch_budget in the campaign file",
        False: "--launch-budget",
        None: "--launch-budget (launch_budget in a campaign file)",
    }
    return f"give a longer {places[in_campaign_file]}"
