"""Kinds of launches. Only launches of one MPI library, one kind of memory and one method may share a median.
Pure."""

from __future__ import annotations

from collections.abc import Sequence

from imb.model.errors import ImbError
from imb.model.gpus import memory_of
from imb.model.observations import Launch, Side
from imb.model.records import Run
from imb.model.units import count_of


def method_of(launch: Launch) -> str | None:
    """`classic` or `passes`, or None for a launch without rows. A classic mean and a median over passes
    differ on the same machine."""
    if not launch.rows:
        return None
    return "classic" if launch.passes() == "classic" else "passes"


def group_by_kind(launches: Sequence[Launch]) -> dict[str, list[Launch]]:
    """Launches by kind, such as `Open MPI 5.0.11, passes`, in the order of first appearance. A launch without
    rows joins the kind of the others. So does a launch of an unknown MPI if all others use one MPI."""
    libraries = dict.fromkeys(filter(None, (library_of(launch.run) for launch in launches)))
    methods = dict.fromkeys(filter(None, map(method_of, launches)))
    library, method = next(iter(libraries), None), next(iter(methods), None)
    kinds: dict[str, list[Launch]] = {}
    for launch in launches:
        mpi = library_of(launch.run) or (
            library if len(libraries) == 1 else "unknown MPI" if libraries else None
        )
        sampling = method_of(launch) or method or ""
        memory = memory_of(launch.run)
        where = f"{memory} memory" if memory not in (None, "host") else None
        kinds.setdefault(", ".join(filter(None, (mpi, sampling, where))), []).append(launch)
    return kinds


def refuse_other_kinds(side: Side) -> None:
    """Raises ImbError if the side has launches of several kinds."""
    kinds = group_by_kind(side.launches)
    if len(kinds) > 1:
        named = "; ".join(f"{kind} ({count_of(len(launches), 'launch')})" for kind, launches in kinds.items())
        raise ImbError(
            f"{side.name} has launches of different kinds: {named}; name runs of one kind, separated by commas, or with a"
            " query (imb query --help)"
        )


def library_of(run: Run) -> str | None:
    """`Open MPI 5.0.11`, or None if it is unknown."""
    return (run.mpi.known_as or "").partition(",")[0] if run.mpi else None
