"""CPU time of other processes during launches, as recorded with each: the figures that commands warn of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from imb.archive.store import Archive
from imb.mpi.load import Load
from imb.render.terminal import say

MOST = 0.2  # CPUs; what the system itself uses on an idle machine is far below


def load_of(facts: Mapping[str, Any]) -> Load | None:
    """Of one launch; None where it was not recorded."""
    try:
        return msgspec.convert(facts.get("load"), Load)
    except msgspec.ValidationError:
        return None


def largest(archive: Archive, runs: Iterable[str]) -> float:
    """CPUs that other processes used, the largest of these runs; 0 where none is known."""
    loads = (load_of(archive.run(run).facts()) for run in runs)
    return max((load.other_cpus for load in loads if load), default=0.0)


def warn(archive: Archive, runs: Iterable[str]) -> None:
    """One line where other processes used more than MOST."""
    if (cpus := largest(archive, runs)) > MOST:
        say(f"imb: warning: {in_words(cpus)}; repeat on an idle machine", err=True)


def in_words(cpus: float) -> str:
    return f"other processes used {cpus:.1f} CPUs"
