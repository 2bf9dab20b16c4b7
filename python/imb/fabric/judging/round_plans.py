"""Plans of rounds: few of them to find a slow component, and some to confirm suspects. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import islice

import numpy as np

from imb.fabric.judging.judge import RANK
from imb.fabric.judging.verdict import Verdict

Round = list[tuple[int, int]]

_FEWEST = 8  # rounds that confirm
_SURE = 5.0  # standard errors that a suspect shall have in its fresh passes


def whole_sweep(n: int) -> int:
    """Rounds of all pairs."""
    return n - 1 + n % 2


def few_rounds(n: int) -> int:
    """Of a quick search: at most 2 log2(n) + 4."""
    return min(whole_sweep(n), math.floor(2 * math.log2(n)) + 4) if n > 1 else 0


class Circle(Collection[Round]):
    """Some of all rounds of a circle (Kirkman 1847) in random order, made when they are asked for: disjoint pairs, each of them once, so that in any k
    rounds every endpoint meets k others. With odd n one endpoint idles in each round."""

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
        """Endpoints of the pairs of some rounds, shape (2, rounds, pairs): the lower ends, then the higher ones; with odd n, n stands for no partner."""
        others, step = self.even - 1, np.arange(self.even // 2)
        turn = self.order[begin:end, None]
        back = (turn - step) % others
        back[:, 0] = others
        pairs: np.ndarray = np.sort(self.places[np.stack([(turn + step) % others, back])], axis=0)
        return pairs


def confirming_rounds(
    verdict: Verdict, n: int, seed: int, measured: int, passes: int, *, again: bool = False
) -> Collection[Round]:
    """Rounds of all endpoints that have the suspected pairs, and enough pairs of each other suspect to confirm its estimated effect. Where pairs alone are
    suspected, and are so many that their controls would take many rounds, they are measured for the first time without them: few will
    be left for a launch `again`. `measured`: rounds that the verdict is based on; `passes`: those that follow."""
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
    if not needed < whole:  # NaN: all
        return circle
    having = _packed(pairs, circle)
    rest = (each for each in circle if pairs.isdisjoint(each))
    return having + list(islice(rest, max(0, math.ceil(needed) - len(having))))


def _packed(pairs: Collection[tuple[int, int]], circle: Circle) -> list[Round]:
    """These pairs in as few rounds as a first fit finds. Each is a round of the circle with one of its pairs: the other ones take the place of those that
    have one of their ends, and the ends that are left are paired."""
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
