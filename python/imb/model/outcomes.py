"""Words the reason why a launch is incomplete, for lines of a session, checks and verdicts."""

from __future__ import annotations

from imb.model.statuses import SuiteStatus

_ROWS = "some rows could not be measured"
_FAILURES: dict[int, str] = {
    SuiteStatus.GOOD: _ROWS,
    SuiteStatus.ROWS: _ROWS,
    SuiteStatus.WRONG_DATA: "wrong data received",
}


def incomplete_reason(
    outcome: str, status: int | None, problem: str | None, limit: float | None = None, option: str = ""
) -> str:
    """`exit status 5`, `killed after 3 s (--timeout)`; empty if the launch is complete. `outcome`, `status` and `problem` come from its
    facts; `limit`: its time limit in seconds; `option`: the option that set the limit."""
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
    return _FAILURES.get(status, f"failed with exit status {status}")
