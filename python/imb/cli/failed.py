"""Launches of a sample set that have no row, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imb.archive.files import FileRun
    from imb.archive.store import StoredRun
    from imb.diagnose import FailedLaunch
    from imb.model.observations import Side


def failed_among(runs: Iterable[StoredRun | FileRun], side: Side | None = None) -> list[FailedLaunch]:
    """Those of these runs that are launches and have no row in `side`, which was made of them; why each failed."""
    from imb import diagnose
    from imb.archive.names import reason_of

    launches = side.launches if side else []
    measured = {one.content.partition("#")[0] for one in launches if one.rows or one.failures}
    each = {run.id: run for run in runs if run.id not in measured}.values()
    every = ((run, run.facts()) for run in each)
    return [
        diagnose.FailedLaunch(run.name, facts, reason_of(run))
        for run, facts in every
        if facts.get("kind") == "launch"
    ]
