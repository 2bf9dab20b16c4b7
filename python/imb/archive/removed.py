"""Runs that `imb rm` took out of the archive, and their way back."""

from __future__ import annotations

from imb.archive.names import LEAST, ambiguous
from imb.archive.store import SHORT, Archive
from imb.model.errors import ImbError


def removed_runs(archive: Archive, name: str) -> list[str]:
    """Whole names of the removed runs that have this label, or of the one whose name begins so. Raises ImbError where there
    is none, or several names begin so."""
    tags, present = archive.tags(), set(archive.ids())
    every = [run for run in dict.fromkeys(archive.removed_ids()) if run not in present]
    begun = [run for run in every if len(name) >= LEAST and run.startswith(name.lower())]
    labelled = [run for run in every if run in tags and name in tags[run].labels]
    if labelled and (not begun or len(name) < SHORT):
        return labelled
    if len(begun) > 1:
        raise ambiguous(name, [run[:SHORT] for run in begun])
    if not begun and any(len(name) >= LEAST and run.startswith(name.lower()) for run in present):
        raise ImbError(f"run {name!r} is already in the archive {archive.folder}")
    if not begun:
        raise ImbError(f"no removed run or label {name!r}; removed runs are in {archive.removed}")
    return begun


def restore(archive: Archive, run_id: str) -> None:
    """Moves the copy of a run that was removed last back to its place. Raises ImbError."""
    place = archive.path_of(run_id)
    try:
        copies = archive.removed.glob(f"{run_id}-*")
        last = max(copies, key=lambda copy: int("0" + "".join(filter(str.isdigit, copy.name[65:]))))
        place.parent.mkdir(parents=True, exist_ok=True)
        last.rename(place)
    except (OSError, ValueError) as error:
        raise ImbError(f"cannot restore {run_id[:SHORT]}: {error}") from error
