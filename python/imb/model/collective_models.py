"""Predicts the time of a collective from point-to-point times of the same machine.

For every collective, a table lists the usual algorithms, each as the messages on its longest chain. A message of m bytes
takes the time that PingPong measured for m bytes. The expected time is the time of the fastest algorithm. Sources: R. Thakur,
R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", Int. J. High Performance Computing
Applications 19(1), 2005; for the dissemination barrier: D. Hensgen, R. Finkel, U. Manber, 1988.

The model ignores contention: ranks of one node that share its NIC or memory may take longer although nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, log2

MessageRounds = Iterable[tuple[float, float]]  # (number of consecutive messages, bytes of each)


def _halving(p: int, n: float) -> list[tuple[float, float]]:
    """log2 p rounds with n / 2, n / 4, ... bytes."""
    return [(1, n / 2**k) for k in range(1, _log(p) + 1)]


def _log(p: int) -> int:
    return ceil(log2(p))


# Name without v and I -> (algorithm, its rounds for p ranks and length n), ... A length is what one rank contributes, as in IMB.
_ALGORITHMS: dict[str, tuple[tuple[str, Callable[[int, float], MessageRounds]], ...]] = {
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
# Collectives in which ranks also combine data. A tree and recursive doubling combine the whole length in each round, other
# algorithms combine (p - 1) / p of it in total.
_REDUCED = frozenset({"reduce", "allreduce", "reduce_scatter"})


def family(benchmark: str) -> str | None:
    """`Iallgatherv_pure` -> `allgather`; None if the table has no such collective."""
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
    """The expected seconds and the algorithm, or None if the table has no such collective.

    `message(m)`: seconds of a message of m bytes; `combine(m)`: seconds to reduce m bytes.
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
