"""The state of the machine in which launches are compared with each other. Pure.

The figures of a launch are those of the fastest state that it saw. Where a machine has states close to each other, the fastest
state may differ between launches: one saw 0.17 and 0.21 µs, another 0.21 and 0.43 µs. The records have the median of a row in
every state, so launches can be compared in a state that they have in common: the one that most of them saw, or the fastest of
several such states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence, Set

import numpy as np

from imb.compare.usual import LEAST_RATIO, Ranks, states_of
from imb.model.observations import Launch
from imb.model.records import MachineState, Result

Chosen = Mapping[
    tuple[str, Ranks], int
]  # by launch and ranks: index of the state in which the launch is compared
NEAR = 1.1  # levels of probes that are treated as one state
FEWEST_SAMPLES = 3  # of a row in a state, before their median stands for the row, as in the suite


def common_state(levels: Sequence[Sequence[float]]) -> list[int | None]:
    """Of each launch, the index of the common state among its states; None: the launch did not see the common state.

    `levels`: by launch, seconds of a probe in each of its states. States of several launches are one where they are closer
    than LEAST_RATIO; two states of one launch never are. The fastest state of a launch is good enough where it is NEAR.
    """
    clusters = [
        [(math.log(seconds), launch, at)]
        for launch, of_launch in enumerate(levels)
        for at, seconds in enumerate(of_launch)
    ]
    clusters.sort()
    while True:
        gaps = [
            (after[-1][0] - before[0][0], at)
            for at, (before, after) in enumerate(itertools.pairwise(clusters))
            if not {launch for _, launch, _ in before} & {launch for _, launch, _ in after}
        ]
        gap, at = min(gaps, default=(math.inf, 0))
        if gap > math.log(LEAST_RATIO):
            break
        clusters[at : at + 2] = [clusters[at] + clusters[at + 1]]
    common = max(clusters, key=len, default=[])  # the first of several: the fastest
    index = {launch: at for _, launch, at in common}
    level = math.exp(float(np.median([log for log, _, _ in common]))) if common else math.nan
    return [
        0 if of_launch and max(of_launch[0] / level, level / of_launch[0]) <= NEAR else index.get(launch)
        for launch, of_launch in enumerate(levels)
    ]


def common_states(
    launches: Sequence[Launch], left_out: Set[tuple[str, Ranks]] = frozenset()
) -> dict[tuple[str, Ranks], int]:
    """By name and ranks the index of the state in which these launches are compared; a launch that did not see it is compared
    in its fastest state, 0. `left_out`: names and ranks that are not compared."""
    by_ranks: dict[Ranks, list[tuple[str, list[MachineState]]]] = {}
    for launch in launches:
        for ranks, states in states_of(launch).items():
            if (launch.name, ranks) not in left_out:
                by_ranks.setdefault(ranks, []).append((launch.name, states))
    return {
        (name, ranks): index or 0
        for ranks, entries in by_ranks.items()
        for (name, _), index in zip(
            entries,
            common_state([[state.probe_seconds for state in states] for _, states in entries]),
            strict=True,
        )
    }


def in_state(row: Result, index: int) -> tuple[float, float] | None:
    """Seconds of a row in a state of its launch, and the share by which its error is larger than in the fastest; None where
    too few of its samples saw that."""
    states = row.passes.states if row.passes else []
    if index >= len(states):
        return None
    state, first = states[index], states[0]
    if state.samples < FEWEST_SAMPLES or not state.time_median_seconds or state.time_median_seconds <= 0:
        return None
    return state.time_median_seconds, float(np.sqrt(max(first.samples, 1) / state.samples))
