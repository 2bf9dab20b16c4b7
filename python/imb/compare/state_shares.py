"""Shares of launches in which the machine was in its fast state, on both sides. Pure.

Launches in passes report the fastest state, so their results do not show whether B is in the slow state more
often. A mean over launches in two states has an interval too wide to show it. Fisher's exact test does (J. R.
Stat. Soc. 85 (1922) 87).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from imb.compare.dominant_state import LEAST_RATIO, Ranks, ranks_of, references_of, split_by_state
from imb.compare.log_speeds import levels_of_launches
from imb.model.observations import Launch, Side
from imb.model.repeats import is_repeat
from imb.stats.arrays import Values

PART = 0.1  # this test's part of the error rate of the comparison
UNLIKE = 0.2  # p-value up to which shares are not called the same
CLEAR = 5.0  # least gap between two groups of launches without probes, in standard deviations within groups


class StateShares(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of launches in the fast state (`fast_a`, `fast_b`) among the launches with a known state
    (`launches_a`, `launches_b`). A launch in passes is in the state of most of its samples. A classic launch
    is in the state of its group, if launches form two groups. `p`: p-value of equal shares, by Fisher's test.
    `verdict` enters the verdict on the comparison; it is inconclusive if shares seem to differ, but not
    clearly enough among so many tests."""

    fast_a: int
    launches_a: int
    fast_b: int
    launches_b: int
    p: float
    verdict: Literal["faster", "slower", "same", "inconclusive"]

    def __str__(self) -> str:
        """`launches in the fast state: A 18 of 20, B 6 of 20 (Fisher's test: p 0.0002)`"""
        return (
            f"launches in the fast state: A {self.fast_a} of {self.launches_a}, B {self.fast_b} of {self.launches_b}"
            f" (Fisher's test: p {self.p:.2g})"
        )

    @property
    def may_be_slower(self) -> bool:
        """Whether B may be in the slow state more often."""
        less = self.fast_b * self.launches_a < self.fast_a * self.launches_b
        return self.verdict == "inconclusive" and less


def state_shares(a: Side, b: Side, logs: tuple[Values, Values], level: float) -> StateShares | None:
    """Compare the shares of launches in the fast state, or return None if launches are in one state. `logs`:
    logarithms of speed, shape (launches, rows), of both sides. `level`: shares differ if their p-value is at
    most this."""
    is_fast = _split_by_probes(a, b) or _split_by_levels(*logs)
    if is_fast is None:
        return None
    counts = [(sum(fast), len(fast)) for fast in is_fast]
    (fast_a, all_a), (fast_b, all_b) = counts
    if not all_a or not all_b or fast_a + fast_b in (0, all_a + all_b):
        return None
    p = fisher(fast_a, all_a, fast_b, all_b)
    differs: Literal["faster", "slower"] = "slower" if fast_b * all_a < fast_a * all_b else "faster"
    return StateShares(
        fast_a=fast_a,
        launches_a=all_a,
        fast_b=fast_b,
        launches_b=all_b,
        p=p,
        verdict=differs if p <= level else "inconclusive" if p <= UNLIKE else "same",
    )


def fisher(fast_a: int, all_a: int, fast_b: int, all_b: int) -> float:
    """Two-sided p-value of Fisher's exact test: the probability of all tables with these sums that are at
    most as likely as this one."""
    fast, whole = fast_a + fast_b, all_a + all_b
    ways = [math.comb(all_a, k) * math.comb(all_b, fast - k) for k in range(fast + 1)]
    return sum(way for way in ways if way <= ways[fast_a]) / math.comb(whole, fast)


def _split_by_probes(a: Side, b: Side) -> tuple[list[bool], list[bool]] | None:
    """For each side, whether each launch in passes is in the fast state, on the ranks that most launches
    have; None without probes. The samples of the launch decide."""
    by_ranks: dict[Ranks, list[tuple[int, float, bool]]] = {}
    for number, side in enumerate((a, b)):
        for launch in planned_launches(side):
            for ranks, reference in references_of(launch).items():
                by_ranks.setdefault(ranks, []).append((number, reference, _is_mostly_fastest(launch, ranks)))
    most = max(by_ranks.values(), key=len, default=[])
    if not most:
        return None
    _, apart = split_by_state(np.log([reference for _, reference, _ in most]))
    fast = [mostly and not slow for (_, _, mostly), slow in zip(most, apart, strict=True)]
    sides = [side for side, _, _ in most]
    return _flags_of_side(fast, sides, 0), _flags_of_side(fast, sides, 1)


def planned_launches(side: Side) -> list[Launch]:
    """The launches of a side as planned, without repeats: repeats would hide that a side is in the slow state
    more often."""
    return [*side.replaced, *(launch for launch in side.launches if not is_repeat(launch))]


def _flags_of_side(fast: Sequence[bool], sides: Sequence[int], side: int) -> list[bool]:
    return [value for value, its_side in zip(fast, sides, strict=True) if its_side == side]


def _is_mostly_fastest(launch: Launch, ranks: Ranks) -> bool:
    """Whether at least half of the samples on these ranks saw the fastest state of the launch."""
    samples = [
        (row.passes.states[0].samples, sum(state.samples for state in row.passes.states))
        for row in launch.rows.values()
        if row.passes and row.passes.states and ranks_of(row) == ranks
    ]
    return 2 * sum(first for first, _ in samples) >= sum(count for _, count in samples)


def _split_by_levels(a: Values, b: Values) -> tuple[list[bool], list[bool]] | None:
    """For each side, whether each launch is in the fast state, by its level over its rows. None unless levels
    form two groups and a side has launches in both: a difference between whole sides is not a difference
    between states."""
    levels = levels_of_launches(np.vstack([a, b]))
    finite = np.isfinite(levels)
    ordered = np.sort(levels[finite])
    if len(ordered) < 3:
        return None
    gaps = np.diff(ordered)
    at = int(gaps.argmax()) + 1
    slow, fast = ordered[:at], ordered[at:]
    within = math.sqrt(float((slow.var() * len(slow) + fast.var() * len(fast)) / len(ordered)))
    if gaps[at - 1] < max(math.log(LEAST_RATIO), CLEAR * within):
        return None
    is_fast = levels >= fast[0]
    of_a, of_b = (
        [bool(value) for value in is_fast[part][finite[part]]]
        for part in (slice(len(a)), slice(len(a), None))
    )
    mixed = any(len(set(states)) > 1 for states in (of_a, of_b))
    return (of_a, of_b) if mixed else None
