"""Plans of rounds: few of them to find a slow component, and targeted ones on suspects. Pure.

A quick search judges after each stage. It goes on only for suspects, and only while one of them is suspected again: noise names others
at each look. In all it has no more rounds than a full sweep. So each look has a share of the level, and all shares
add up to 1: together they have the level (alpha spending: Lan and DeMets, Biometrika 70 (1983) 659; Bonferroni between looks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from imb.fabric.inference import FEWEST_ENDPOINTS
from imb.fabric.verdict import Suspect, Verdict

Round = list[tuple[int, int]]

TARGETED = 4  # stages of targeted rounds, at most
_FIRST_LOOK = 0.5  # share of the level: most searches end with it
_PARTNERS = 8  # of a suspect, in targeted rounds
_ROUNDS = 16  # targeted rounds at most


def quick_search(n: int, seed: int, judge: Callable[[int], Verdict]) -> Iterator[list[Round]]:
    """The rounds of each stage, which are to be measured before the next one is asked for. `judge`: the verdict on all that was
    measured, in this look, from 1 on."""
    first = quick_rounds(n, seed)
    yield first
    left = whole_sweep(n) - len(first)
    before: set[tuple[str, str]] | None = None
    for look in range(1, TARGETED + 1 if n >= FEWEST_ENDPOINTS else 1):
        if not left:
            return
        verdict = judge(look)
        unclear: set[tuple[str, str]] = {(one.kind, one.name) for one in unclear_suspects(verdict)}
        if not unclear or (before is not None and not unclear & before):
            return
        more = targeted_rounds(verdict, n, seed + look)[:left]
        if not more:
            return
        before = unclear
        left -= len(more)
        yield more


def whole_sweep(n: int) -> int:
    """Rounds of all pairs."""
    return n - 1 + n % 2


def share_of_look(look: int) -> float:
    """Of the level: half for the first look, equal parts for those behind targeted rounds."""
    return _FIRST_LOOK if look == 1 else (1 - _FIRST_LOOK) / TARGETED


def after_quick(verdict: Verdict, n: int, wanted: float, most: int) -> str:
    """What to measure next where a quick search ends undecided: a full sweep, with the passes that show a host slower by `wanted`, of
    `most` at most. The error of a host falls with the root of its pairs and passes."""
    if verdict.state != "inconclusive" or n < FEWEST_ENDPOINTS:
        return ""
    words = f"undecided within --quick; next: a full sweep of {whole_sweep(n):,} rounds (omit --quick)"
    if any(math.isinf(one.detectable) for one in verdict.per_size):
        return f"{words}; too few pairs for an estimate of its passes"
    passes = [0.0]
    for one in verdict.per_size:
        if math.isfinite(one.detectable):
            met = one.pairs / (n * (n - 1) / 2)
            passes.append(one.passes * met * (math.log1p(one.detectable) / math.log1p(wanted)) ** 2)
    many = max(math.ceil(max(passes)), 1)
    if many <= most:
        return f"{words} with --passes {many} or more, for hosts slower by {wanted:.0%}"
    return f"{words} on an idle fabric; a host slower by {wanted:.0%} would need more than {most:,} passes"


def unclear_suspects(verdict: Verdict) -> list[Suspect]:
    """Those that further rounds may name, clear, or separate from others."""
    return [one for one in verdict.suspects if not one.named or one.alternatives]


def quick_rounds(n: int, seed: int) -> list[Round]:
    """At most 2 log2(n) + 4 rounds of disjoint pairs, chosen at random from the n - 1 rounds of a circle in random order (Kirkman 1847),
    so that no pair occurs twice and every endpoint meets as many others; with odd n one endpoint idles in each round."""
    if n < 2:
        return []
    random = np.random.default_rng(seed)
    even = n + n % 2
    order = random.permutation(even)
    most = min(even - 1, math.floor(2 * math.log2(n)) + 4)
    rounds = []
    for one in sorted(random.choice(even - 1, most, replace=False).tolist()):
        places = [(even - 1, one)]
        places += [((one + step) % (even - 1), (one - step) % (even - 1)) for step in range(1, even // 2)]
        pairs = [(int(order[x]), int(order[y])) for x, y in places]
        rounds.append(sorted((min(p), max(p)) for p in pairs if max(p) < n))
    return rounds


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
