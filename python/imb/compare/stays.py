"""How long the machine stays in its dominant state and away from it, by the times of probes. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec
import numpy as np

from imb.compare.usual import Ranks, ranks_of, references_of
from imb.model.observations import Launch
from imb.model.records import MachineState
from imb.stats.arrays import Mask, Values

# Samples that vote on the state of the one in their middle: less than three in a row are a disturbance.
NEIGHBORS = 5
FEWEST = 20  # samples of a launch; fewer do not show how long a state lasts


class Timeline(msgspec.Struct, frozen=True):
    """Probes of one launch on the same ranks: seconds since its start, ascending, and seconds per exchange, shape (samples,)."""

    at: Values
    probes: Values


class Stays(msgspec.Struct, frozen=True, kw_only=True):
    """Mean lengths in seconds: of a stay in the dominant state, of one away from it, None where no end of one was seen.
    `away`: share of the time. `changes` that were seen in `seconds` of observation. `lengths` of the stays away, the longest
    first; the ends of a launch cut some of them off."""

    usual: float | None
    away_from_it: float | None
    away: float
    changes: int
    seconds: float
    lengths: list[float] = []

    def budget(self, chance: float = 0.05) -> float | None:
        """Seconds after which a launch has seen the dominant state with a probability of 1 - `chance`; None where the length of
        stays is not known. The larger one of two: with exponential stays, and with stays as they were seen, as some machines
        have many short and a few long ones."""
        if self.away_from_it is None:
            return None
        exponential = self.away_from_it * float(np.log(max(self.away / chance, 1.0)))
        return max(exponential, self._as_seen(chance))

    def _as_seen(self, chance: float) -> float:
        """A launch of b seconds misses the dominant state where it begins in a stay away that lasts for b more: of all moments
        the share sum(max(length - b, 0)) / seconds."""
        lengths = np.array(self.lengths)
        allowed = chance * self.seconds
        if lengths.sum() <= allowed:
            return 0.0
        # Of the k longest stays, sum(length) - k b is `allowed`.
        sums, counts = np.cumsum(lengths), np.arange(1, len(lengths) + 1)
        return float(((sums - allowed) / counts).max())


def timelines(launch: Launch) -> dict[Ranks, Timeline]:
    """By the ranks that exchange probes; empty where there are none. A sample counts once, with the geometric mean of its two
    probes. Reads the samples of the launch."""
    if not references_of(launch):
        return {}
    by_ranks: dict[Ranks, list[tuple[float, float]]] = {}
    ranks = {key: ranks_of(row) for key, row in launch.rows.items()}
    for key, sample in launch.sampled():
        before, after = sample.probe_before_seconds or 0.0, sample.probe_after_seconds or 0.0
        if key in ranks and sample.at_seconds is not None and before > 0 and after > 0:
            by_ranks.setdefault(ranks[key], []).append((sample.at_seconds, math.sqrt(before * after)))
    lines = {}
    for group, pairs in by_ranks.items():
        at, probes = np.array(sorted(pairs)).T
        lines[group] = Timeline(at, probes)
    return lines


def stays(launches: Iterable[tuple[Timeline, list[MachineState], bool]]) -> Stays | None:
    """The stays of several launches together. Of each: its timeline, its states (the fastest first), and whether the fastest one is
    the dominant state. None where nothing was observed.

    A stay that the end of a launch cuts off has no length, but its time counts: the mean length is the time in a state over
    the number of ends seen (the maximum likelihood of an exponential distribution with censoring).
    """
    time = np.zeros(2)
    ends = np.zeros(2, dtype=np.int64)
    lengths: list[float] = []
    for line, states, reference_is_usual in launches:
        if len(line.at) < FEWEST or not states:
            continue
        away = away_at(line, states, reference_is_usual)
        lengths += lengths_of(line.at, away)
        step = np.diff(line.at)
        time += np.array([step[~away[:-1]].sum(), step[away[:-1]].sum()])
        changed = away[1:] != away[:-1]
        ends += np.array([(changed & ~away[:-1]).sum(), (changed & away[:-1]).sum()])
    if not time.sum() > 0:
        return None
    usual, away_from_it = (
        float(seconds / count) if count else None for seconds, count in zip(time, ends, strict=True)
    )
    return Stays(
        usual=usual,
        away_from_it=away_from_it,
        away=float(time[1] / time.sum()),
        changes=int(ends.sum()),
        seconds=float(time.sum()),
        lengths=sorted(lengths, reverse=True),
    )


def lengths_of(at: Values, away: Mask) -> list[float]:
    """Seconds of each stay away, from its first sample to the first one after it, or the last one."""
    edges = np.flatnonzero(np.diff(away.astype(np.int64), prepend=0, append=0))
    begins, ends = edges[::2], np.minimum(edges[1::2], len(at) - 1)
    return [float(length) for length in at[ends] - at[begins]]


def away_at(line: Timeline, states: list[MachineState], reference_is_usual: bool) -> Mask:
    """Whether the machine was away from its dominant state at each sample: by the nearest level, and the vote of neighbors."""
    if len(states) < 2 or not reference_is_usual:
        return np.full(len(line.at), not reference_is_usual)
    middle = np.sqrt(states[0].probe_seconds * states[1].probe_seconds)
    slow = line.probes > middle
    padded = np.pad(slow.astype(np.int64), NEIGHBORS // 2, mode="edge")
    return np.asarray(np.convolve(padded, np.ones(NEIGHBORS, dtype=np.int64), "valid") > NEIGHBORS // 2)
