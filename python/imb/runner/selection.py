"""Selects benchmarks from the components, classes and names that a user writes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import get_args

from imb.model.catalog import suite_benchmarks
from imb.model.errors import ImbError
from imb.model.records import BenchmarkKind, Component

COMPONENTS: tuple[Component, ...] = get_args(Component)
CLASSES: dict[str, tuple[BenchmarkKind, ...]] = {
    "single": ("single_transfer",),
    "parallel": ("parallel_transfer", "multiple_transfer"),
    "collective": ("collective", "synchronisation"),
}


def select(names: Sequence[str], kind: str | None = None) -> dict[Component, list[str]]:
    """Component -> names of its benchmarks in the given order; an empty list selects the component's default benchmarks.

    A name is a component (mpi1), a benchmark in upper or lower case (pingpong), or both (rma:accumulate). `kind` is a class of IMB's
    guide and limits a component to the benchmarks of that class. Raises ImbError if a name is unknown or ambiguous.
    """
    if kind is not None and kind not in CLASSES:
        raise ImbError(f"no class {kind}; choose from {', '.join(CLASSES)}")
    chosen: dict[Component, list[str]] = {}
    for name in names or ("mpi1",):
        whole = next((component for component in COMPONENTS if component.lower() == name.lower()), None)
        if whole is None:
            component, benchmark = _benchmark(name)
            chosen.setdefault(component, []).append(benchmark)
        elif kind is None:
            chosen.setdefault(whole, [])
        else:
            members = [
                member
                for member, components in suite_benchmarks().items()
                if whole in components and components[whole].kind in CLASSES[kind]
            ]
            if not members:
                raise ImbError(f"{whole} has no benchmarks of class {kind}")
            chosen.setdefault(whole, []).extend(members)
    return chosen


def refuse_files(chosen: dict[Component, list[str]], subject: str) -> None:
    """Raises ImbError if IMB-IO is chosen, since its buffers are always in host memory."""
    if "IO" in chosen:
        raise ImbError(
            f"{subject} cannot be used with IMB-IO, whose buffers are on the host; leave out its benchmarks"
        )


# Names of metrics that users give in place of a benchmark, and the column of PingPong with that metric.
_FIGURES = {"latency": "t of short messages", "bandwidth": "MB/s of long ones"}


def _benchmark(name: str) -> tuple[Component, str]:
    prefix, colon, bare = name.rpartition(":")
    lowered = bare.lower().removeprefix("multi-")
    matches = [
        (component, member)
        for member, components in suite_benchmarks().items()
        for component in components
        if member.lower() == lowered
    ]
    matches = [match for match in matches if not colon or match[0].lower() == prefix.lower()]
    # Unidir_Put belongs to EXT, Unidir_put to RMA, and Accumulate to both.
    matches = [match for match in matches if match[1] == bare] or matches
    if not colon:  # PingPong and PingPing mean IMB-MPI1's unless IMB-P2P is named.
        matches = [match for match in matches if match[0] == "MPI1"] or matches
    if len(matches) > 1:
        raise ImbError(
            f"ambiguous benchmark: {name}; give {' or '.join(f'{component.lower()}:{member}' for component, member in matches)}"
        )
    if matches:
        component, benchmark = matches[0]
        return component, bare if bare.lower().startswith("multi-") else benchmark
    close = difflib.get_close_matches(
        lowered, [*_FIGURES, *(member.lower() for member in suite_benchmarks())], 1
    )
    if close and close[0] in _FIGURES:
        raise ImbError(
            f"no benchmark or component {name}; PingPong measures it, in the column {_FIGURES[close[0]]}"
        )
    spelled = next((member for member in suite_benchmarks() if close and member.lower() == close[0]), None)
    hint = f"did you mean {spelled}?" if spelled else "`IMB-MPI1 -list` prints the names"
    raise ImbError(f"no benchmark or component {name or repr(name)}; {hint}")
