"""Errors that the user can correct."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

import msgspec

from imb.model.statuses import Status

# The errors that msgspec raises if bytes are not the expected JSON: ValueError for bad UTF-8, and its own errors, which do not derive from
# ValueError before version 0.20.
UNDECODABLE: tuple[type[Exception], ...] = (msgspec.MsgspecError, ValueError, RecursionError)


class ImbError(Exception):
    """One line: what was wrong and what would be right. `imb` prints it and exits with `status`."""

    def __init__(self, line: str, status: int = Status.USAGE) -> None:
        super().__init__(line)
        self.status = status


def unwritable_cache(folder: Path, error: OSError) -> ImbError:
    """The error for a cache folder that cannot be written."""
    # The text of Arrow's errors is longer than the reason.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return ImbError(f"cannot write to the cache {folder}: {reason}; make room there, or set XDG_CACHE_HOME")


def refuse_missing_benchmarks(names: Iterable[str], available: Iterable[str]) -> None:
    """Raises ImbError for the first name that is not an available benchmark; ignores case."""
    spelled = {name.lower(): name for name in available}
    for name in names:
        if name.lower() not in spelled:
            near = get_close_matches(name.lower(), spelled, 1)
            hint = (
                f"did you mean {spelled[near[0]]}?" if near else f"choose from {', '.join(spelled.values())}"
            )
            raise ImbError(f"no such benchmark: {name}; {hint}")
