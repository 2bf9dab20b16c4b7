"""What the system shows of this host, or None if it does not, as in a container without /proc."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")


def answer_of(question: Callable[[], Answer]) -> Answer | None:
    """What this function of psutil or of the system returns, or None if the system does not show it, or in another form."""
    try:
        return question()
    except (OSError, psutil.Error, NotImplementedError, ValueError, LookupError):
        return None


def physical_cores() -> int | None:
    """Cores, without their hyperthreads."""
    return answer_of(lambda: psutil.cpu_count(logical=False))


def allowed_cpus() -> set[int] | None:
    """The CPUs that this process may run on, or None if the system does not show them, as macOS."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def cores() -> int:
    """Cores; CPUs where cores are not known."""
    return physical_cores() or os.cpu_count() or 1
