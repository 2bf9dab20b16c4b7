"""The plan of `imb startup`: launches that measure almost nothing, on several numbers of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from imb.model.intent import Intent
from imb.mpi.allocation import Allocation
from imb.mpi.host import cores
from imb.mpi.installations import Installation
from imb.runner.session import Item, Plan, Variant, plan_of


def plan_startup(
    *,
    mpi: Installation,
    programs: Path,
    intent: Intent,
    ranks: Sequence[int],
    launches: int,
    timeout: float | None,
    labels: Sequence[str],
) -> Plan:
    """The plan. Each round has all numbers of ranks, so that drift of the machine does not look like an
    effect of their number. Raises ImbError."""
    items = [(turn, cell, number) for turn in range(launches) for cell, number in enumerate(ranks)]
    return plan_of(
        [
            Item(
                n,
                "MPI1",
                f"Barrier -npmin {number} -iter 1 -iter_policy off -warm_up off".split(),
                turn + 1,
                ranks=number,
                labels=list(labels),
                cell=cell,
            )
            for n, (turn, cell, number) in enumerate(items, 1)
        ],
        Variant(mpi=mpi, programs=str(programs.absolute()), intent=intent),
        timeout,
    )


def doubling_counts(most: int) -> list[int]:
    """1, 2, 4, ... and `most`."""

    def numbers() -> Iterator[int]:
        number = 1
        while number < most:
            yield number
            number *= 2
        yield most

    return list(numbers())


def offered_ranks(intent: Intent, environment: Mapping[str, str] | None = None) -> int:
    """The number of ranks that fit on the given hosts or CPUs, the allocation, or this machine."""
    each = intent.ppn or cores()
    if intent.hosts:
        return each * len(intent.hosts)
    if intent.cpus:
        return len(intent.cpus)
    allocation = Allocation.of(environment)
    if intent.ppn and allocation.nodes:
        return intent.ppn * allocation.nodes
    return allocation.tasks or (allocation.cpus or each) * max(allocation.nodes, 1)
