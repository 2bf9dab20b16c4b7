"""Exit statuses of `imb health`.

A scheduler drains a host whose health check does not exit with 0, so an error exits with 0. With --strict an
error does not exit with 0, but never with 1, which is the status of a bad host.
"""

from __future__ import annotations

from collections.abc import Callable

from imb.model.statuses import Status
from imb.report.terminal import say

BAD = 111  # a bad host, inside imb: no error has this status; the process then exits with 1


def main(words: list[str], run: Callable[[list[str]], int]) -> int:
    """The exit status of the process. `run` executes the command line and returns its status."""
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
