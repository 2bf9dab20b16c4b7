"""Plans of rounds: few of them to find a slow component, and targeted ones on suspects. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np

from imb.fabric.verdict import Verdict

Round = list[tuple[int, int]]

_PARTNERS = 8  # of a suspect, in targeted rounds
_ROUNDS = 16  # targeted rounds at most


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

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)

    def __iter__(self) -> Iterator[Round]:
        for at in range(len(self.order)):
            low, high = self.ends(at, at + 1)[:, 0]
            kept = np.flatnonzero(high < self.n)
            pairs = np.stack([low, high], axis=1)[kept[np.argsort(low[kept])]]
            yield [(a, b) for a, b in pairs.tolist()]

    def ends(self, begin: int, end: int) -> np.ndarray:
        """Of the pairs of some rounds: (2, rounds, pairs), the lower ones first; with odd n, n stands for none."""
        others, step = self.even - 1, np.arange(self.even // 2)
        one = self.order[begin:end, None]
        back = (one - step) % others
        back[:, 0] = others
        found: np.ndarray = np.sort(self.places[np.stack([(one + step) % others, back])], axis=0)
        return found


def targeted_rounds(verdict: Verdict, n: int, seed: int) -> list[Round]:
    """Disjoint pairs of each suspect with endpoints that are none, and as many pairs without a suspect; none where there is no
    suspect."""
    random = np.random.default_rng([seed, 1])
    ends = {one for suspect in verdict.suspects if len(suspect.endpoints) <= 2 for one in suspect.endpoints}
    others = np.array(
        [one for one in range(n) if one not in ends and one not in verdict.silent], dtype=np.int64
    )
    wanted: dict[tuple[int, int], None] = {}

    def want(a: int, b: int) -> None:
        if a != b:
            wanted[min(a, b), max(a, b)] = None

    for suspect in verdict.suspects:
        inside = np.array([one for one in suspect.endpoints if one not in verdict.silent], dtype=np.int64)
        if suspect.kind == "pair" and len(inside) == 2:
            want(int(inside[0]), int(inside[1]))
        outside = np.setdiff1d(others, inside) if len(inside) > 2 else others
        outside = outside if len(outside) else others
        if not len(inside) or not len(outside):
            continue
        few = random.choice(inside, min(len(inside), _PARTNERS), replace=False).tolist()
        for one in few:
            many = max(_PARTNERS // max(len(few) // 2, 1), 2)
            for other in random.choice(outside, min(len(outside), many), replace=False).tolist():
                want(one, other)
        for one, other in pairwise(few):  # pairs inside, which may not cross a link
            want(one, other)
    return _packed(list(wanted), others, random)


def _packed(pairs: Round, others: np.ndarray, random: np.random.Generator) -> list[Round]:
    """Rounds of disjoint pairs; endpoints that are no suspects and idle are paired, as reference."""
    rounds: list[Round] = []
    busy: list[set[int]] = []
    for a, b in pairs:
        at = next((at for at, used in enumerate(busy) if a not in used and b not in used), len(rounds))
        if at == len(rounds):
            rounds.append([])
            busy.append(set())
        rounds[at].append((a, b))
        busy[at] |= {a, b}
    del rounds[_ROUNDS:]
    for one, used in zip(rounds, busy, strict=False):
        idle = random.permutation([x for x in others.tolist() if x not in used]).tolist()
        one += [(min(p), max(p)) for p in zip(idle[::2], idle[1::2], strict=False)]
        one.sort()
    return rounds
