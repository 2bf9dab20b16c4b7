"""Finds the launches among runs that measured nothing, with the reason of each."""

from __future__ import annotations

from collections.abc import Iterable

from imb.diagnose import FailedLaunch
from imb.model.observations import Side
from imb.store.files import FileRun
from imb.store.names import reason_of
from imb.store.store import StoredRun


def failed_launches(runs: Iterable[StoredRun | FileRun], side: Side | None = None) -> list[FailedLaunch]:
    """The launches among these runs without a row in `side` (the sample set of the runs) that were not repeated."""
    launches = [*side.launches, *side.replaced] if side else []
    measured = {launch.content.partition("#")[0] for launch in launches if launch.rows or launch.failures}
    unmeasured = {run.id: run for run in runs if run.id not in measured}.values()
    with_facts = ((run, run.facts()) for run in unmeasured)
    return [
        FailedLaunch(run.name, facts, reason_of(run))
        for run, facts in with_facts
        if facts.get("kind") == "launch"
    ]
