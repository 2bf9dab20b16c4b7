"""Which launches in passes were outside the dominant state of their machine. Pure.

A launch calls the fastest state that its probes saw its reference. Launches of the same surroundings (hosts, CPUs of ranks,
MPI, launcher arguments, variables) and the same ranks in a table should agree on it. The dominant state is the fastest that at
least one launch of five calls its reference. A launch whose reference is slower than that, by more than launches of one
state differ, was outside it. docs/evidence/verdicts.md has the choice of the limit, and its error rates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from scipy.special import stdtrit

from imb.model.conditions import BY_ID, conditions_of, describes_job
from imb.model.observations import Launch
from imb.model.records import Result
from imb.model.units import count_of, decimal, us
from imb.stats.arrays import Mask, Values

FEWEST = 3  # launches; of two that differ, either may be in the dominant state
LEAST_RATIO = 1.25  # of probes: states that are closer hardly matter for rows
EXPECTED = 0.10  # standard deviation, logarithm, of the reference probes of launches in one state
EXPECTED_WEIGHT = 4.0  # degrees of freedom that EXPECTED counts as
LEVEL = 0.995  # of the one-sided prediction limit
SHARE = 0.2  # of launches whose fastest state a state must be before it is the dominant one
_SAME = ("hosts", "processes", "mpi.name", "intent.extra", "memory")


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks that exchange probes with each other."""

    processes: int | None
    group_count: int | None
    group: int | None
    members: tuple[int, ...] = ()


class UnusualLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """A launch outside the dominant state on these ranks. Probes of its fastest state and of the dominant state, in seconds;
    `others`: launches that call the dominant state their fastest."""

    launch: str
    ranks: Ranks
    probe_seconds: float
    usual_seconds: float
    others: int

    @property
    def ratio(self) -> float:
        """How many times longer its probes take."""
        return self.probe_seconds / self.usual_seconds


def launches_outside_dominant_state(
    launches: Iterable[Launch], earlier: Iterable[Launch] = ()
) -> list[UnusualLaunch]:
    """Those of `launches` that are outside the dominant state, in the order given; `earlier` ones only help to define that state."""
    distinct = list({launch.name: launch for launch in launches}.values())
    judged = {launch.name for launch in distinct}
    levels: dict[tuple[object, Ranks], list[tuple[str, float]]] = {}
    for launch in [*distinct, *(other for other in earlier if other.name not in judged)]:
        references = references_of(launch)
        same = surroundings(launch) if references else None
        for ranks, reference in references.items():
            levels.setdefault((same, ranks), []).append((launch.name, reference))
    by_launch: dict[str, list[UnusualLaunch]] = {}
    for (_, ranks), entries in levels.items():
        seconds = np.array([probe for _, probe in entries])
        is_usual, is_away = split(np.log(seconds))
        for at in np.flatnonzero(is_away):
            name = entries[int(at)][0]
            if name in judged:
                by_launch.setdefault(name, []).append(
                    UnusualLaunch(
                        launch=name,
                        ranks=ranks,
                        probe_seconds=float(seconds[at]),
                        usual_seconds=float(np.median(seconds[is_usual])),
                        others=int(is_usual.sum()),
                    )
                )
    return [each for launch in distinct for each in by_launch.get(launch.name, [])]


def split(logs: Values) -> tuple[Mask, Mask]:
    """Which launches call the dominant state their fastest, and which are outside it, from the logarithms of their reference
    probes, shape (launches,). A launch in neither is faster than the dominant state, or there are too few launches."""
    count = len(logs)
    is_usual, is_away = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    if count < FEWEST:
        return is_usual, is_away
    order = np.argsort(logs, kind="stable")
    values = logs[order]
    enough = math.ceil(SHARE * count)
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and values[end] <= limit(values[begin:end]):
            end += 1
        if end - begin >= enough:
            is_usual[order[begin:end]] = True
            is_away[order[end:]] = True
            break
        begin = end
    return is_usual, is_away


def limit(values: Values) -> float:
    """The slowest reference probe, logarithm, that still belongs to the state of these launches: a one-sided prediction
    limit. Few launches are a weak estimate of the spread, so EXPECTED counts beside them."""
    count = len(values)
    squares = float(((values - values.mean()) ** 2).sum())
    degrees = count - 1 + EXPECTED_WEIGHT
    spread = math.sqrt((squares + EXPECTED_WEIGHT * EXPECTED**2) / degrees)
    reach = float(stdtrit(degrees, LEVEL)) * spread * math.sqrt(1 + 1 / count)
    return float(values.mean()) + max(math.log(LEAST_RATIO), reach)


def references_of(launch: Launch) -> dict[Ranks, float]:
    """Seconds per exchange of the probes in the fastest state, by the ranks that made them; empty without probes."""
    references: dict[Ranks, float] = {}
    for row in launch.rows.values():
        if row.passes and row.passes.states and (probe := row.passes.states[0].probe_seconds) > 0:
            references.setdefault(ranks_of(row), probe)
    return references


def ranks_of(row: Result) -> Ranks:
    """The ranks that make the probes of a row."""
    groups = row.groups or []
    has_members = row.group is not None and row.group < len(groups)
    return Ranks(
        processes=row.processes,
        group_count=row.group_count,
        group=row.group,
        members=tuple(groups[row.group or 0]) if has_members else (),
    )


def surroundings(launch: Launch) -> tuple[object, ...]:
    """What must be the same before launches are expected to see the same states. Where the CPUs of all ranks are known, the
    requested binding adds nothing."""
    cpus = tuple(rank.cpus for rank in launch.run.ranks or [])
    conditions = [BY_ID[id] for id in (_SAME if cpus and all(cpus) else (*_SAME, "intent.bind"))]
    same = [
        (id, text)
        for id, text in conditions_of(launch, conditions).items()
        if BY_ID.get(id) in conditions or (id.startswith("$") and not describes_job(id))
    ]
    return (*sorted(same), cpus)


def group_alike(outside: Iterable[UnusualLaunch]) -> list[list[UnusualLaunch]]:
    """Launches that were compared with the same dominant state, together; of each launch the ranks where it is farthest from that state."""
    worst: dict[str, UnusualLaunch] = {}
    for each in outside:
        if each.launch not in worst or each.ratio > worst[each.launch].ratio:
            worst[each.launch] = each
    groups: dict[tuple[float, int], list[UnusualLaunch]] = {}
    for each in worst.values():
        groups.setdefault((each.usual_seconds, each.others), []).append(each)
    return list(groups.values())


def names(group: Sequence[UnusualLaunch]) -> str:
    """`launch 3fa9`, `launches 3fa9, 77c1`."""
    return f"launch{'es' if len(group) > 1 else ''} {', '.join(each.launch for each in group)}"


def explanation(group: Sequence[UnusualLaunch]) -> str:
    """How long their probes took, and how long in the dominant state."""
    first = group[0]
    seconds = _range([decimal(each.probe_seconds * 1e6) for each in group])
    ratios = _range([f"{each.ratio:.2f}" for each in group])
    return (
        f"{'were' if len(group) > 1 else 'was'} outside the dominant state of the machine: in {'their' if len(group) > 1 else 'its'}"
        f" fastest state a probe takes {seconds} µs, {ratios} times as long as in the dominant one ({us(first.usual_seconds)},"
        f" {count_of(first.others, 'other launch')})"
    )


def sentences_of(outside: Iterable[UnusualLaunch]) -> list[str]:
    """A sentence for each group of `alike`."""
    return [f"{names(group)} {explanation(group)}" for group in group_alike(outside)]


def _range(texts: Sequence[str]) -> str:
    ordered = sorted(set(texts), key=float)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
