"""The launches of a baseline once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from imb.measure import session
from imb.model.baselines import Baseline, Hardware
from imb.model.errors import ImbError
from imb.model.text import now
from imb.mpi import conditions
from imb.mpi.installations import Installation
from imb.mpi.launch import Intent

LEAST_PAIRS = 10  # of old and new, unless another number is asked for


def this_machine(nodes: int) -> Hardware:
    """The one that `imb` runs on."""
    here = conditions.gather().machine
    return Hardware(
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


def baseline_plan(
    made: Baseline, mpi: Installation, programs: Path | None, launches: int | None, timeout: float | None
) -> session.Plan:
    """What the baseline was measured with, once more: the same launches, under this MPI. Raises ImbError."""
    label = f"baseline-check/{made.name}"
    cells = cells_of(made)
    variants = [_variant(str(made), mpi, programs, cell) for cell in cells]
    items = [_item(cell, place, place, label) for place, cell in enumerate(cells)]
    turns = launches or max(cells.values())
    rounds = [items] * turns
    return _examined(variants, rounds, timeout)


def plan_with_old(
    made: Baseline,
    old: Installation,
    new: Installation,
    programs: Path | None,
    launches: int | None,
    timeout: float | None,
    *,
    seed: int,
) -> session.Plan:
    """What the baseline was measured with, with its own MPI and programs (`old`) and under the new ones, interleaved: both
    in each round, in random order. Raises ImbError."""
    cells = cells_of(made)
    gone = sorted(
        {said["programs"] for said in map(msgspec.json.decode, cells) if not Path(said["programs"]).is_dir()}
    )
    if gone:
        raise ImbError(
            f"baseline {made}: its programs do not exist: {', '.join(gone)}; restore them, or omit --with-old"
        )
    variants: list[session.Variant] = []
    pairs: list[list[session.Item]] = []
    for place, cell in enumerate(cells):
        variants += [_variant("old", old, None, cell), _variant("new", new, programs, cell)]
        pairs.append(
            [
                _item(cell, place, 2 * place + which, f"baseline-check/{made.name}/{name}")
                for which, name in enumerate(("old", "new"))
            ]
        )
    if all(
        one == other for one, other in zip(_made_by(variants[::2]), _made_by(variants[1::2]), strict=True)
    ):
        raise ImbError(
            f"baseline {made}: old and new are the same MPI and programs; give the new ones with --mpi or --programs"
        )
    random = Random(seed)
    rounds = []
    for _ in range(launches or LEAST_PAIRS):
        cells_of_round = random.sample(pairs, len(pairs))
        rounds.append([item for pair in cells_of_round for item in random.sample(pair, 2)])
    return _examined(variants, rounds, timeout, seed=seed)


def _made_by(variants: list[session.Variant]) -> list[tuple[str, str]]:
    return [(str(Path(one.mpi.place).resolve()), str(Path(one.programs).resolve())) for one in variants]


def cells_of(made: Baseline) -> Counter[bytes]:
    """What was launched, as JSON, and how often. Raises ImbError."""
    refuse_if_imported(made)
    cells: Counter[bytes] = Counter()
    for kept in made.launches:
        names = ("component", "arguments", "intent", "programs")
        cells[msgspec.json.encode({name: kept.facts[name] for name in names})] += 1
    return cells


def _variant(name: str, mpi: Installation, programs: Path | None, cell: bytes) -> session.Variant:
    said = msgspec.json.decode(cell)
    intent = msgspec.convert(said["intent"], Intent)
    return session.Variant(name=name, mpi=mpi, programs=str(programs or said["programs"]), intent=intent)


def _item(cell: bytes, place: int, variant: int, label: str) -> session.Item:
    said = msgspec.json.decode(cell)
    ranks = msgspec.convert(said["intent"], Intent).ranks
    return session.Item(
        0, said["component"], said["arguments"], 0, variant, ranks, labels=[label], cell=place
    )


def _examined(
    variants: list[session.Variant],
    rounds: Sequence[Sequence[session.Item]],
    timeout: float | None,
    seed: int | None = None,
) -> session.Plan:
    ordered = [
        msgspec.structs.replace(item, turn=turn) for turn, items in enumerate(rounds, 1) for item in items
    ]
    found = session.Plan(
        id=session.new_id(),
        created=now(),
        timeout=timeout,
        variants=variants,
        items=[msgspec.structs.replace(item, number=number) for number, item in enumerate(ordered, 1)],
        seed=seed,
    )
    session.examine(found)
    session.refuse_missing_programs(found)
    return found
