"""Measures the other load on this host while a launch runs, from two readings of the kernel's counters: before and after the launch. It
imports only the standard library, since `make run` uses it before anything is installed."""

from __future__ import annotations

import os
import re
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_LEAST = 0.05  # least seconds between two readings, since the counters have steps of 10 ms


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load on the launching host during a launch. `other_cpus`: mean number of CPUs that other processes (not the launch, not `imb`)
    used; `stolen_cpus`: mean number of CPUs that the hypervisor gave to other guests; `runnable`: runnable processes at the start, without
    `imb`; `pressure`: share of the time in which any process, including the launch's, waited for a CPU (PSI)."""

    other_cpus: float
    stolen_cpus: float
    runnable: int | None = None
    pressure: float | None = None


class Moment(NamedTuple):
    """A reading of counters in seconds. `at`: monotonic clock; `busy`: CPU time of all processes; `stolen`: stolen CPU time; `own`: CPU time of
    this process and the children that it has waited for; `waiting`: PSI's time, or None; `runnable`: number of runnable processes, or
    None."""

    at: float
    busy: float
    stolen: float
    own: float
    waiting: float | None
    runnable: int | None


def moment(proc: Path = _PROC) -> Moment | None:
    """The current reading, or None if the system has no /proc/stat."""
    try:
        text = (proc / "stat").read_text()
        # user nice system idle iowait irq softirq steal
        ticks = [int(word) for word in text.partition("\n")[0].split()[1:9]]
        user, nice, system, _, _, irq, softirq, steal = ticks
    except (OSError, ValueError):
        return None
    per_second = os.sysconf("SC_CLK_TCK")
    running = re.search(r"^procs_running (\d+)$", text, re.MULTILINE)
    return Moment(
        at=time.monotonic(),
        busy=(user + nice + system + irq + softirq) / per_second,
        stolen=steal / per_second,
        own=_own_seconds(),
        waiting=_waiting(proc / "pressure" / "cpu"),
        runnable=max(int(running[1]) - 1, 0) if running else None,
    )


def load_between(before: Moment | None, after: Moment | None) -> Load | None:
    """The load between two readings, or None if one is missing or they are too close for the counters."""
    if before is None or after is None or after.at - before.at < _LEAST:
        return None
    seconds = after.at - before.at
    others = (after.busy - before.busy) - (after.own - before.own)
    waited = None
    if before.waiting is not None and after.waiting is not None:
        waited = round(min((after.waiting - before.waiting) / seconds, 1.0), 3)
    return Load(
        other_cpus=round(max(others, 0.0) / seconds, 3),
        stolen_cpus=round(max(after.stolen - before.stolen, 0.0) / seconds, 3),
        runnable=before.runnable,
        pressure=waited,
    )


def _own_seconds() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _waiting(file: Path) -> float | None:
    try:
        match = re.search(r"^some .*\btotal=(\d+)", file.read_text(), re.MULTILINE)
    except OSError:  # the kernel does not provide PSI
        return None
    return int(match[1]) / 1e6 if match else None
