"""CPU time of other processes during launches, as recorded with each: the figures that commands warn of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from imb.archive.reading import each_readable
from imb.archive.store import Archive
from imb.mpi.load import Load
from imb.render.terminal import say


def load_of(facts: Mapping[str, Any]) -> Load | None:
    """Of one launch; None where it was not recorded."""
    try:
        return msgspec.convert(facts.get("load"), Load)
    except msgspec.ValidationError:
        return None


def others_in_words(archive: Archive, runs: Iterable[str]) -> str | None:
    """CPUs that other processes used, the largest of these runs; None where no run has more than BUSIER_CPUS."""
    from imb.judge.condition_diff import BUSIER_CPUS

    facts = each_readable(runs, lambda run: archive.run(run).facts(), optional=True)
    loads = map(load_of, facts)
    largest = max((load.other_cpus for load in loads if load), default=0.0)
    return f"other processes used {largest:.1f} CPUs" if largest > BUSIER_CPUS else None


def warn(archive: Archive, runs: Iterable[str]) -> None:
    """One line where other processes disturbed these runs."""
    if others := others_in_words(archive, runs):
        say(f"imb: warning: {others}; repeat on an idle machine", err=True)
