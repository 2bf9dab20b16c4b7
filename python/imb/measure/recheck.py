"""The launches of a baseline once more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from imb.measure import session
from imb.model.baselines import Baseline, Machine
from imb.model.errors import ImbError
from imb.model.text import now
from imb.mpi import conditions
from imb.mpi.installations import Mpi
from imb.mpi.launch import Intent


def this_machine(nodes: int) -> Machine:
    """The one that `imb` runs on."""
    here = conditions.gather().machine
    return Machine(
        nodes=nodes,
        hosts=[here.host],
        cpu_model=here.cpu_model,
        cores=here.cores,
        sockets=here.sockets,
        threads_per_core=here.threads_per_core,
    )


def refuse_if_imported(made: Baseline) -> None:
    """Raises ImbError where it is not known how its launches were made."""
    if any(kept.facts.get("intent") is None or kept.facts.get("arguments") is None for kept in made.launches):
        raise ImbError(
            f"baseline {made} was not launched by imb; give the results to check (check {made.name} SIDE)"
        )


def plan(
    made: Baseline, mpi: Mpi, programs: Path | None, launches: int | None, timeout: float | None
) -> session.Plan:
    """What the baseline was measured with, once more: the same launches, under this MPI. Raises ImbError."""
    refuse_if_imported(made)
    cells: Counter[bytes] = Counter()
    for kept in made.launches:
        names = ("component", "arguments", "intent", "programs")
        cells[msgspec.json.encode({name: kept.facts[name] for name in names})] += 1
    variants: list[session.Variant] = []
    items: list[session.Item] = []
    for cell in cells:
        said = msgspec.json.decode(cell)
        intent = msgspec.convert(said["intent"], Intent)
        variants.append(
            session.Variant(
                name=str(made), mpi=mpi, programs=str(programs or said["programs"]), intent=intent
            )
        )
        items.append(
            session.Item(0, said["component"], said["arguments"], 0, len(variants) - 1, intent.ranks)
        )
    turns = launches or max(cells.values())
    label = f"baseline-check/{made.name}"
    ordered = [
        msgspec.structs.replace(item, turn=turn, labels=[label])
        for turn in range(1, turns + 1)
        for item in items
    ]
    found = session.Plan(
        id=session.new_id(),
        created=now(),
        timeout=timeout,
        variants=variants,
        items=[msgspec.structs.replace(item, number=number) for number, item in enumerate(ordered, 1)],
    )
    session.examine(found)
    return found
