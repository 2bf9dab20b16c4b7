"""What a collective should take, judged by point-to-point times of the same machine.

For every collective the usual algorithms are written down as the messages on their longest chain; such a message of m
bytes takes what PingPong measured for m. The expectation is the cheapest algorithm. Algorithms and their costs: R.
Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", Int. J. High
Performance Computing Applications 19(1), 2005; the dissemination barrier: D. Hensgen, R. Finkel, U. Manber, 1988.

The model knows no contention: ranks of one node that share its NIC or its memory may take longer without a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, log2

Rounds = Iterable[tuple[float, float]]  # how many messages after one another, of how many bytes each


def _halving(p: int, n: float) -> list[tuple[float, float]]:
    """log2 p rounds with n / 2, n / 4, ... bytes."""
    return [(1, n / 2**k) for k in range(1, _log(p) + 1)]


def _log(p: int) -> int:
    return ceil(log2(p))


# Name without v and I -> (algorithm, rounds of p ranks and length n) ...; the length is IMB's: what one rank gives.
_ALGORITHMS: dict[str, tuple[tuple[str, Callable[[int, float], Rounds]], ...]] = {
    "barrier": (("dissemination", lambda p, n: [(_log(p), 0)]),),
    "bcast": (
        ("binomial tree", lambda p, n: [(_log(p), n)]),
        ("scatter and ring allgather", lambda p, n: [*_halving(p, n), (p - 1, n / p)]),
    ),
    "allgather": (
        ("recursive doubling", lambda p, n: [(1, n * 2**k) for k in range(_log(p))]),
        ("ring", lambda p, n: [(p - 1, n)]),
    ),
    "alltoall": (
        ("pairwise exchange", lambda p, n: [(p - 1, n)]),
        ("Bruck", lambda p, n: [(_log(p), n * p / 2)]),
    ),
    "scatter": (("binomial tree", lambda p, n: [(1, n * p / 2**k) for k in range(1, _log(p) + 1)]),),
    "gather": (("binomial tree", lambda p, n: [(1, n * p / 2**k) for k in range(1, _log(p) + 1)]),),
    "reduce": (
        ("binomial tree", lambda p, n: [(_log(p), n)]),
        ("Rabenseifner", lambda p, n: [*_halving(p, n), *_halving(p, n)]),
    ),
    "allreduce": (
        ("recursive doubling", lambda p, n: [(_log(p), n)]),
        ("Rabenseifner", lambda p, n: [*_halving(p, n), *_halving(p, n)]),
    ),
    "reduce_scatter": (
        ("recursive halving", _halving),
        ("pairwise exchange", lambda p, n: [(p - 1, n / p)]),
    ),
}
# Collectives in which ranks also combine data: the whole length in each round of a tree or of recursive doubling, else
# (p - 1) / p of it in all.
_REDUCED = frozenset({"reduce", "allreduce", "reduce_scatter"})


def family(benchmark: str) -> str | None:
    """`Iallgatherv_pure` -> `allgather`; None for what is no collective of the table."""
    name = benchmark.lower().removesuffix("_pure").removesuffix("_block").removeprefix("osu_")
    for candidate in (
        name,
        name.removeprefix("i"),
        name.removesuffix("v"),
        name.removeprefix("i").removesuffix("v"),
    ):
        if candidate in _ALGORITHMS:
            return candidate
    return None


def expected_time(
    benchmark: str,
    processes: int,
    length: float,
    message: Callable[[float], float],
    combine: Callable[[float], float],
) -> tuple[float, str] | None:
    """Seconds, and the algorithm that takes them; None for what is no collective of the table.

    `message(m)`: seconds that a message of m bytes takes; `combine(m)`: seconds to reduce m bytes.
    """
    name = family(benchmark)
    if name is None or processes < 2:
        return None
    estimates = []
    for algorithm, rounds in _ALGORITHMS[name]:
        seconds = sum(count * message(m) for count, m in rounds(processes, length))
        if name in _REDUCED:
            whole = algorithm in ("binomial tree", "recursive doubling")
            share = _log(processes) if whole else (processes - 1) / processes
            seconds += combine(share * length)
        estimates.append((seconds, algorithm))
    return min(estimates)
