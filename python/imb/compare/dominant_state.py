"""Launches in passes that were outside the dominant state of their machine. Pure.

A launch records the probes of the fastest state that it saw: its reference. Launches with the same
surroundings (hosts, CPUs of ranks, MPI, launcher arguments, variables) and the same ranks in a table should
have the same reference. The dominant state is the fastest state that is the reference of at least one launch
in five. A launch was outside the dominant state if its reference is slower by more than launches of one state
differ. docs/evidence/verdicts.md explains how the limit was chosen, and its error rates.
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

FEWEST = 3  # launches; if two differ, either may be in the dominant state
LEAST_RATIO = 1.25  # least ratio of probe times between two states; closer states hardly change rows
EXPECTED = 0.10  # expected standard deviation of log reference probes among launches in one state
EXPECTED_WEIGHT = 4.0  # degrees of freedom that EXPECTED counts as
LEVEL = 0.995  # confidence of the one-sided prediction limit
SHARE = 0.2  # least share of launches that have the dominant state as their reference
_SAME = ("hosts", "processes", "mpi.name", "intent.extra", "memory")


class Ranks(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks that exchange probes with each other."""

    processes: int | None
    group_count: int | None
    group: int | None
    members: tuple[int, ...] = ()


class LaunchOutsideState(msgspec.Struct, frozen=True, kw_only=True):
    """A launch outside the dominant state on these ranks. `probe_seconds`, `dominant_seconds`: seconds per probe
    in its fastest state and in the dominant state. `others`: number of launches whose reference is the
    dominant state."""

    launch: str
    ranks: Ranks
    probe_seconds: float
    dominant_seconds: float
    others: int

    @property
    def ratio(self) -> float:
        """How many times as long its probes take as in the dominant state."""
        return self.probe_seconds / self.dominant_seconds


def launches_outside_dominant_state(
    launches: Iterable[Launch], earlier: Iterable[Launch] = ()
) -> list[LaunchOutsideState]:
    """The `launches` that are outside the dominant state, in the order given. `earlier` launches only help to
    define that state."""
    distinct = list({launch.name: launch for launch in launches}.values())
    judged = {launch.name for launch in distinct}
    levels: dict[tuple[object, Ranks], list[tuple[str, float]]] = {}
    for launch in [*distinct, *(other for other in earlier if other.name not in judged)]:
        references = references_of(launch)
        same = surroundings(launch) if references else None
        for ranks, reference in references.items():
            levels.setdefault((same, ranks), []).append((launch.name, reference))
    by_launch: dict[str, list[LaunchOutsideState]] = {}
    for (_, ranks), entries in levels.items():
        seconds = np.array([probe for _, probe in entries])
        is_dominant, is_away = split_by_state(np.log(seconds))
        for at in np.flatnonzero(is_away):
            name = entries[int(at)][0]
            if name in judged:
                by_launch.setdefault(name, []).append(
                    LaunchOutsideState(
                        launch=name,
                        ranks=ranks,
                        probe_seconds=float(seconds[at]),
                        dominant_seconds=float(np.median(seconds[is_dominant])),
                        others=int(is_dominant.sum()),
                    )
                )
    return [each for launch in distinct for each in by_launch.get(launch.name, [])]


def split_by_state(logs: Values) -> tuple[Mask, Mask]:
    """Which launches define the dominant state, and which are outside it, from the logarithms of their
    reference probes. All shapes are (launches,). A launch is in neither if it is faster than the dominant
    state, or if there are too few launches."""
    count = len(logs)
    is_dominant, is_away = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    if count < FEWEST:
        return is_dominant, is_away
    order = np.argsort(logs, kind="stable")
    values = logs[order]
    enough = math.ceil(SHARE * count)
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and values[end] <= limit(values[begin:end]):
            end += 1
        if end - begin >= enough:
            is_dominant[order[begin:end]] = True
            is_away[order[end:]] = True
            break
        begin = end
    return is_dominant, is_away


def limit(values: Values) -> float:
    """The slowest reference probe, as a logarithm, that still belongs to the state of these launches: a
    one-sided prediction limit. Few launches estimate the spread poorly, so EXPECTED counts as additional
    launches."""
    count = len(values)
    squares = float(((values - values.mean()) ** 2).sum())
    degrees = count - 1 + EXPECTED_WEIGHT
    spread = math.sqrt((squares + EXPECTED_WEIGHT * EXPECTED**2) / degrees)
    reach = float(stdtrit(degrees, LEVEL)) * spread * math.sqrt(1 + 1 / count)
    return float(values.mean()) + max(math.log(LEAST_RATIO), reach)


def references_of(launch: Launch) -> dict[Ranks, float]:
    """Seconds per exchange of the probes in the fastest state, by the ranks that exchanged them; empty
    without probes."""
    references: dict[Ranks, float] = {}
    for row in launch.rows.values():
        if row.passes and row.passes.states and (probe := row.passes.states[0].probe_seconds) > 0:
            references.setdefault(ranks_of(row), probe)
    return references


def ranks_of(row: Result) -> Ranks:
    """The ranks that exchange the probes of a row."""
    groups = row.groups or []
    has_members = row.group is not None and row.group < len(groups)
    return Ranks(
        processes=row.processes,
        group_count=row.group_count,
        group=row.group,
        members=tuple(groups[row.group or 0]) if has_members else (),
    )


def surroundings(launch: Launch) -> tuple[object, ...]:
    """What must be equal in two launches so that they should see the same states. If the CPUs of all ranks
    are known, the requested binding does not count."""
    cpus = tuple(rank.cpus for rank in launch.run.ranks or [])
    conditions = [BY_ID[id] for id in (_SAME if cpus and all(cpus) else (*_SAME, "intent.bind"))]
    same = [
        (id, text)
        for id, text in conditions_of(launch, conditions).items()
        if BY_ID.get(id) in conditions or (id.startswith("$") and not describes_job(id))
    ]
    return (*sorted(same), cpus)


def group_alike(outside: Iterable[LaunchOutsideState]) -> list[list[LaunchOutsideState]]:
    """Group launches that were compared with the same dominant state. Each launch appears once, with the
    ranks on which it is farthest from that state."""
    worst: dict[str, LaunchOutsideState] = {}
    for each in outside:
        if each.launch not in worst or each.ratio > worst[each.launch].ratio:
            worst[each.launch] = each
    groups: dict[tuple[float, int], list[LaunchOutsideState]] = {}
    for each in worst.values():
        groups.setdefault((each.dominant_seconds, each.others), []).append(each)
    return list(groups.values())


def names(group: Sequence[LaunchOutsideState]) -> str:
    """`launch 3fa9`, `launches 3fa9, 77c1`."""
    return f"launch{'es' if len(group) > 1 else ''} {', '.join(each.launch for each in group)}"


def explanation(group: Sequence[LaunchOutsideState]) -> str:
    """Their probe times, and the probe time of the dominant state."""
    first = group[0]
    seconds = _range([decimal(each.probe_seconds * 1e6) for each in group])
    ratios = _range([f"{each.ratio:.2f}" for each in group])
    return (
        f"{'were' if len(group) > 1 else 'was'} outside the dominant state of the machine: in {'their' if len(group) > 1 else 'its'}"
        f" fastest state a probe takes {seconds} µs, {ratios} times as long as in the dominant one ({us(first.dominant_seconds)},"
        f" {count_of(first.others, 'other launch')})"
    )


def sentences_of(outside: Iterable[LaunchOutsideState]) -> list[str]:
    """One sentence for each group of `group_alike`."""
    return [f"{names(group)} {explanation(group)}" for group in group_alike(outside)]


def _range(texts: Sequence[str]) -> str:
    ordered = sorted(set(texts), key=float)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
