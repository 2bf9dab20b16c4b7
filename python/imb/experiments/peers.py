"""Finds earlier launches in the archive that are comparable with the launches of a sample set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from imb.model.gpus import memory_of
from imb.model.observations import Launch, Side
from imb.store.names import launches_in
from imb.store.reading import read_each
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.compare.variance import Variance

MOST = 16  # most earlier launches of one kind, since reading one takes about 30 ms


def comparable_launches(archive: Archive, launches: Sequence[Launch]) -> list[Launch]:
    """Other launches of the archive that are comparable: both were measured in passes, with the same hosts, MPI, number of ranks and memory.

    Ignores members of `launches` that are not in the archive. Returns at most the MOST newest launches of each kind.
    """
    stored = {name[:SHORT] for name in archive.ids()} if any(map(_measured_in_passes, launches)) else set()
    # Output about a file must not depend on the contents of the archive.
    kinds = {
        kind
        for launch in launches
        if launch.name.partition("#")[0] in stored and (kind := _kind_in_passes(launch))
    }
    if not kinds:
        return []
    own_names = {launch.name.partition("#")[0] for launch in launches} | {
        launch.content.partition("#")[0][:SHORT] for launch in launches
    }
    if stored <= own_names:
        return []  # without earlier runs, the index need not be read
    from imb.store.index import Index

    index_rows = Index(archive).rows(["run", "nodes", "mpi", "processes", "memory", "passes", "date"])
    rows = [row for row in index_rows if row["passes"] and row["run"][:SHORT] not in own_names]
    rows.sort(key=lambda row: row["date"] or "", reverse=True)
    remaining = dict.fromkeys(kinds, MOST)
    launches_before: list[Launch] = []
    for row in rows:
        kind = row["nodes"], row["mpi"], row["processes"], row["memory"]
        if (count := remaining.get(kind, 0)) > 0:
            of_run = read_each([row["run"]], lambda run: launches_in(archive, run), optional=True)
            # A file may have many launches, also of other kinds.
            peers = [one for one in chain.from_iterable(of_run) if _kind_in_passes(one) == kind][-count:]
            launches_before += peers
            remaining[kind] -= len(peers)
    return launches_before


def variance_of(archive: Archive, side: Side) -> Variance:
    """The variance components of a sample set, estimated with earlier launches of the archive."""
    from imb.compare.variance import parts_of

    return parts_of(side, earlier=comparable_launches(archive, side.launches))


def _measured_in_passes(launch: Launch) -> bool:
    return launch.passes() != "classic"


def _kind_in_passes(launch: Launch) -> tuple[str | None, str | None, int | None, str | None] | None:
    """The kind of a launch in passes: hosts, MPI library, number of ranks and memory, in the index's format. None
    for a classic launch."""
    if not _measured_in_passes(launch):
        return None
    ranks = len(launch.run.ranks or []) or None
    library = launch.run.mpi.name if launch.run.mpi else None
    return ", ".join(launch.hosts()) or None, library, ranks, memory_of(launch.run)
