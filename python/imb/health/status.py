"""Exit statuses of `imb health`. A scheduler drains a host whose health check does not exit with 0, so the status of an error is 0. With
--strict it is not 0, but never 1, which is the status of a bad host."""

from __future__ import annotations

from collections.abc import Callable

from imb.model.statuses import Status
from imb.report.terminal import say

BAD = 111  # a bad host, within imb: no error has this status; the process exits with 1 for it


def main(words: list[str], run: Callable[[list[str]], int]) -> int:
    """The exit status of the process. `run`: runs the command line and returns the status of other commands."""
    try:
        status = run(words)
    except Exception as error:
        say(f"imb: an error of imb: {type(error).__name__}: {error}", err=True)
        status = Status.INTERNAL
    if status == BAD:
        return Status.FAILED
    if "--strict" not in words:
        return Status.GOOD
    return Status.INTERNAL if status == Status.FAILED else status
