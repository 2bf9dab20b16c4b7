"""Plans of rounds: a few rounds that find a slow element, and rounds that confirm suspects. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import islice

import numpy as np

from imb.fabric.judging.judge import RANK
from imb.fabric.judging.verdict import SweepVerdict

Round = list[tuple[int, int]]

_FEWEST = 8  # fewest rounds that confirm
_SURE = 5.0  # standard errors that a suspect should have in its fresh passes


def whole_sweep(n: int) -> int:
    """The number of rounds that measure all pairs of n endpoints."""
    return n - 1 + n % 2


def few_rounds(n: int) -> int:
    """The number of rounds of a quick search: at most 2 log2(n) + 4."""
    return min(whole_sweep(n), math.floor(2 * math.log2(n)) + 4) if n > 1 else 0


class Circle(Collection[Round]):
    """Some of all rounds of a circle (Kirkman 1847) in random order, computed on demand. The pairs of a round
    are disjoint, and each pair is in one round, so in any k rounds every endpoint meets k others. With odd n,
    one endpoint idles in each round."""

    def __init__(self, n: int, seed: int, begin: int, end: int) -> None:
        random = np.random.default_rng(seed)
        self.n, self.even = n, n + n % 2
        self.places = random.permutation(self.even)
        self.order = random.permutation(max(self.even - 1, 0))[begin:end] if n > 1 else np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.order)

    def __contains__(self, item: object) -> bool:
        return any(item == other for other in self)

    def __iter__(self) -> Iterator[Round]:
        for at in range(len(self.order)):
            low, high = self.ends(at, at + 1)[:, 0]
            kept = np.flatnonzero(high < self.n)
            pairs = np.stack([low, high], axis=1)[kept[np.argsort(low[kept])]]
            yield [(a, b) for a, b in pairs.tolist()]

    def ends(self, begin: int, end: int) -> np.ndarray:
        """Endpoints of the pairs in rounds `begin` to `end`, shape (2, rounds, pairs): the lower ends, then
        the higher ones. With odd n, the number n means no partner."""
        others, step = self.even - 1, np.arange(self.even // 2)
        turn = self.order[begin:end, None]
        back = (turn - step) % others
        back[:, 0] = others
        pairs: np.ndarray = np.sort(self.places[np.stack([(turn + step) % others, back])], axis=0)
        return pairs


def confirming_rounds(
    verdict: SweepVerdict, n: int, seed: int, measured: int, passes: int, *, again: bool = False
) -> Collection[Round]:
    """Rounds of all endpoints that contain the suspected pairs, and enough pairs of each other suspect to
    confirm its estimated effect.

    If only pairs are suspected, and so many that their controls would take many rounds, they are first
    measured without controls: few will remain for the launch with `again`. `measured`: number of rounds that
    the verdict is based on; `passes`: passes of the rounds that follow.
    """
    whole = whole_sweep(n)
    circle = Circle(n, seed, 0, whole)
    slow = [suspect for suspect in verdict.suspects if suspect.kind == "pair" and len(suspect.endpoints) == 2]
    one_way = [suspect.endpoints for suspect in slow if suspect.way]
    one_way += [(pair.a, pair.b) for pair in verdict.asymmetric]
    both_ways = [suspect.endpoints for suspect in slow if not suspect.way]
    both_ways += [(pair.a, pair.b) for pair in verdict.screened]
    pairs = {(min(pair), max(pair)) for pair in (*one_way, *both_ways)}
    # Both families are ranked by themselves.
    of_controls = 2 / RANK / n  # of one suspect
    needed = max(_FEWEST, max(len(one_way), len(both_ways)) * of_controls)
    if not again and (len(both_ways) == len(verdict.screened) or needed > _FEWEST):
        needed = len(one_way) * of_controls
    before = {(result.benchmark, result.bytes): result.passes for result in verdict.per_size}
    for suspect in verdict.suspects:
        if suspect.score > 0:
            share = before.get((suspect.benchmark, suspect.bytes), 0) / passes * (_SURE / suspect.score) ** 2
            needed = max(needed, _FEWEST, share * measured)
    if not needed < whole:  # also if NaN
        return circle
    having = _pack_rounds(pairs, circle)
    rest = (each for each in circle if pairs.isdisjoint(each))
    return having + list(islice(rest, max(0, math.ceil(needed) - len(having))))


def _pack_rounds(pairs: Collection[tuple[int, int]], circle: Circle) -> list[Round]:
    """These pairs in as few rounds as a first fit finds. Each round is a round of the circle with one of the
    pairs. The other pairs replace pairs that share an end with them, and the ends that remain are paired."""
    groups: list[Round] = []
    for pair in sorted(pairs):
        for group in groups:
            if all(end not in other for other in group for end in pair):
                group.append(pair)
                break
        else:
            groups.append([pair])
    rounds = []
    for group in groups:
        taken = {end for pair in group for end in pair}
        kept = [pair for pair in next(each for each in circle if group[0] in each) if taken.isdisjoint(pair)]
        left = sorted(set(range(circle.n)) - taken - {end for pair in kept for end in pair})
        rounds.append(sorted([*group, *kept, *zip(left[::2], left[1::2], strict=False)]))
    return rounds
