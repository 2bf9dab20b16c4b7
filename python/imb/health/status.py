"""Exit statuses of `imb health`. A scheduler drains a host whose health check does not exit with 0, so the status of an error is 0. With
--strict it is not 0, but never 1, which is the status of a bad host."""

from __future__ import annotations

from collections.abc import Callable

from imb.report.terminal import say

BAD = 111  # a bad host, within imb: no error has this status; the process exits with 1 for it
_OWN_ERROR = 3  # with --strict, an error of imb


def main(words: list[str], run: Callable[[list[str]], int]) -> int:
    """The exit status of the process. `run`: runs the command line and returns the status of other commands."""
    try:
        status = run(words)
    except Exception as error:
        say(f"imb: an error of imb: {type(error).__name__}: {error}", err=True)
        status = _OWN_ERROR
    strict = {1: _OWN_ERROR}.get(status, status) if "--strict" in words else 0
    return 1 if status == BAD else strict
