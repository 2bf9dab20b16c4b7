"""Launches of machines that exist as a formula only, so that what is found in them is known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from imb.model.records import BenchmarkKind, End, Rank, Record, Result, Run, write

LENGTHS = (0, *(2**i for i in range(23)))
LATENCY, BANDWIDTH, REDUCED = 1.5e-6, 10e9, 20e9  # seconds, bytes per second


def message(n: float) -> float:
    """The latency-bandwidth machine."""
    return LATENCY + n / BANDWIDTH


# What the usual algorithms take on it, of P ranks and n bytes; one transfer at a time for every rank.
COLLECTIVES: dict[str, Callable[[int, float], float]] = {
    "Bcast": lambda p, n: np.log2(p) * message(n),
    "Allreduce": lambda p, n: np.log2(p) * (message(n) + n / REDUCED),
    "Reduce": lambda p, n: np.log2(p) * (message(n) + n / REDUCED),
    "Allgather": lambda p, n: np.log2(p) * LATENCY + (p - 1) * n / BANDWIDTH,
    "Alltoall": lambda p, n: (p - 1) * message(n),
    "Scatter": lambda p, n: np.log2(p) * LATENCY + (p - 1) * n / BANDWIDTH,
    "Gather": lambda p, n: np.log2(p) * LATENCY + (p - 1) * n / BANDWIDTH,
}


def row(
    benchmark: str, processes: int, n: int | None, seconds: float, kind: BenchmarkKind, **more: Any
) -> Result:
    """As the suite writes it: single transfers have a rate."""
    rate = {"bytes_per_second": n / seconds} if kind != "collective" and n is not None else {}
    fields: dict[str, Any] = {
        "benchmark": benchmark,
        "kind": kind,
        "multi": "off",
        "processes": processes,
        "group_count": 1,
        "bytes": n,
        "repetitions": 100,
        "time_min_seconds": seconds * 0.99,
        "time_max_seconds": seconds * 1.01,
        "time_avg_seconds": seconds,
        **rate,
        **more,
    }
    return Result(**fields)


def launch(
    rows: Iterable[Record],
    *,
    hosts: tuple[str, ...] = ("n0",) * 8,
    date: str = "2026-01-01T00:00:00Z",
    **run: Any,
) -> list[Record]:
    """One launch with its first and last record."""
    ranks = [Rank(number, host, str(number)) for number, host in enumerate(hosts)]
    first = Run(program="OpenIMB", version="0.1.0", component="MPI1", date=date, ranks=ranks, **run)
    return [first, *rows, End(state="complete")]


def healthy(random: np.random.Generator, *, processes: int = 8, noise: float = 0.03) -> list[Record]:
    """All rows of a machine that does what the formula says; a row is off by `noise` (standard deviation), the whole
    launch by as much again."""
    whole = np.exp(random.normal(0, noise))

    def noisy(seconds: float) -> float:
        return float(seconds * whole * np.exp(random.normal(0, noise)))

    rows: list[Record] = []
    for n in LENGTHS:
        rows.append(row("PingPong", 2, n, noisy(message(n)), "single_transfer"))
    for n in LENGTHS:
        rows.append(row("Sendrecv", processes, n, noisy(message(n)), "parallel_transfer"))
    for name, seconds in COLLECTIVES.items():
        for n in LENGTHS:
            rows.append(row(name, processes, n, noisy(seconds(processes, n)) if n else 5e-8, "collective"))
    rows.append(row("Barrier", processes, None, noisy(np.log2(processes) * LATENCY), "synchronisation"))
    return rows


def curve(
    seconds: Callable[[int], float],
    name: str = "PingPong",
    processes: int = 2,
    kind: BenchmarkKind = "single_transfer",
) -> list[Record]:
    """One benchmark over all lengths, without noise."""
    return [row(name, processes, n, seconds(n), kind) for n in LENGTHS]


def save(path: Path, records: Iterable[Record]) -> Path:
    path.write_bytes(write(records))
    return path
