"""Asks the system about this host. Functions return None if it does not tell, as in a container without /proc."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import psutil

_Answer = TypeVar("_Answer")


def answer_of(question: Callable[[], _Answer]) -> _Answer | None:
    """The result of this function of psutil or the system, or None if it fails because the system does not provide the data."""
    try:
        return question()
    except (OSError, psutil.Error, NotImplementedError, ValueError, LookupError):
        return None


def physical_cores() -> int | None:
    """The number of cores, not counting hyperthreads, or None if unknown."""
    return answer_of(lambda: psutil.cpu_count(logical=False))


def allowed_cpus() -> set[int] | None:
    """The CPUs on which this process may run, or None if the system does not tell, as macOS."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def cores() -> int:
    """The number of cores, or of CPUs if the number of cores is unknown."""
    return physical_cores() or os.cpu_count() or 1
