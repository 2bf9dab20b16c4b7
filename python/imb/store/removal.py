"""Finds and restores runs that `imb archive rm` removed from the archive."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from imb.model.errors import ImbError
from imb.store.names import LEAST, matching_runs
from imb.store.store import SHORT, Archive


def removed_runs(archive: Archive, names: Iterable[str]) -> dict[str, Path]:
    """Full name -> latest copy, for the removed runs that these names mean: a label means all its runs, the beginning of a run's name means
    that run. Raises ImbError if there are none, or if the names of several runs begin so."""
    copies, present = archive.removed_copies(), archive.ids()
    absent = sorted(copies.keys() - set(present))
    removed: dict[str, Path] = {}
    for name in names:
        if not (runs := matching_runs(name, absent, archive.tags)):
            raise _not_removed_error(archive, name, present)
        removed |= {run: copies[run] for run in runs}
    return removed


def _not_removed_error(archive: Archive, name: str, present: Iterable[str]) -> ImbError:
    if len(name) >= LEAST and any(run.startswith(name.lower()) for run in present):
        return ImbError(f"run {name!r} is already in the archive {archive.folder}")
    return ImbError(f"no removed run or label {name!r}; removed runs are in {archive.removed_folder}")


def restore(archive: Archive, run_id: str, copy: Path) -> None:
    """Moves a removed run back to its place. Raises ImbError."""
    place = archive.path_of(run_id)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        copy.rename(place)
    except OSError as error:
        raise ImbError(f"cannot restore {run_id[:SHORT]}: {error}") from error
