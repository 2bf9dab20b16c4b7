#!/usr/bin/env python3
"""How often `imb health` suspects a host that is as it was, and which slowdowns it sees: drawn values, and recorded launches in time order.

    bench/health.py [--draws 100000] [--write docs/evidence/verdicts.md]

A figure has n values of separate sessions, and a check LAUNCHES values; all are drawn alike. Then the values of a check, or those of a
check and of the sessions, have a part in common. The recorded launches are the 64 of the whole table of IMB-MPI1 in bench/pool.parquet, in
their order: successive launches are a check, launches of all other times the sessions. Deterministic. --write puts the figures
between the marks of a page.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from imb.health.limits import APART, ENOUGH, FEWEST, LAUNCHES, false_alarms, rank_of_limit
from numpy.typing import NDArray
from pages import table_of, written_into

Values = NDArray[np.float64]
Random = np.random.Generator
POOL = Path(__file__).resolve().parent / "pool.parquet"
SEED = 43
BLOCK = 10_000  # draws at once

NOISES: dict[str, Callable[[Random, tuple[int, int]], Values]] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "Student's t, 3 degrees of freedom": lambda random, shape: random.standard_t(3, size=shape),
    "normal, 5 % of values 10 deviations slower": lambda random, shape: (
        random.normal(size=shape) + 10 * (random.random(shape) < 0.05)
    ),
    "two states, 2:1, 20 deviations apart": lambda random, shape: (
        random.normal(size=shape) + 20 * (random.random(shape) < 1 / 3)
    ),
}


def beyond(sessions: Values, check: Values) -> NDArray[np.bool_]:
    """Whether all values of a check are beyond the limit; a row per draw."""
    rank = rank_of_limit(sessions.shape[1])
    limit = np.partition(sessions, -rank, axis=1)[:, -rank]
    found: NDArray[np.bool_] = check.min(axis=1) > limit
    return found


def one_in(share: float) -> str:
    return "none" if share == 0 else f"1 in {1 / share:,.0f}"


def false_figures(draws: int) -> Iterator[list[str]]:
    """Of independent values, and with a correlation of the values of a check."""
    yield ["noise", "sessions", "correlation in a check", "formula", "false suspects"]
    for name, noise in NOISES.items():
        for many in (FEWEST, ENOUGH):
            yield [
                name,
                str(many),
                "0",
                one_in(false_alarms(many, rank_of_limit(many))),
                drawn(noise, many, 0, draws),
            ]
    for correlation in (0.3, 0.6, 0.9):
        yield [
            "normal",
            str(ENOUGH),
            f"{correlation:g}",
            "",
            drawn(NOISES["normal"], ENOUGH, correlation, draws),
        ]


def drawn(
    noise: Callable[[Random, tuple[int, int]], Values], many: int, correlation: float, draws: int
) -> str:
    random = np.random.default_rng(SEED)
    suspects = 0
    for _ in range(draws // BLOCK):
        sessions, check = noise(random, (BLOCK, many)), noise(random, (BLOCK, LAUNCHES))
        if correlation:
            check = np.sqrt(correlation) * noise(random, (BLOCK, 1)) + np.sqrt(1 - correlation) * check
        suspects += int(beyond(sessions, check).sum())
    return f"{one_in(suspects / draws)} ({suspects} of {draws:,})"


def seen_figures(draws: int) -> Iterator[list[str]]:
    """What a check says that it sees, and how often it does."""
    yield ["noise (log-normal)", "sessions", "sees (median)", "found if so much slower"]
    random = np.random.default_rng(SEED)
    many_draws = draws // 20
    for spread in (0.02, 0.05, 0.17):
        for many in (FEWEST, ENOUGH):
            every = random.normal(0, spread, (many_draws, many, LAUNCHES))
            sessions = every[:, np.arange(many), np.arange(many) % LAUNCHES]
            rank = rank_of_limit(many)
            limit = np.partition(sessions, -rank, axis=1)[:, -rank]
            slowdown = limit - every.min(axis=(1, 2))
            check = random.normal(0, spread, (many_draws, LAUNCHES)) + slowdown[:, None]
            share = beyond(sessions, check).mean()
            yield [
                f"{100 * spread:g} %",
                str(many),
                f"{100 * np.expm1(np.median(slowdown)):.1f} %",
                f"{100 * share:.1f} %",
            ]


def recorded() -> tuple[Values, float]:
    """Launches in their order (rows) by benchmark and length (columns); seconds from one to the next."""
    table = pq.read_table(POOL, filters=[("series", "=", "table")]).to_pydict()
    keys = sorted(set(zip(table["benchmark"], table["bytes"], strict=True)))
    place = {key: at for at, key in enumerate(keys)}
    found = np.full((max(table["number"]), len(keys)), np.nan)
    columns = (table[name] for name in ("number", "benchmark", "bytes", "seconds"))
    for number, benchmark, length, seconds in zip(*columns, strict=True):
        found[number - 1, place[benchmark, length]] = seconds
    times = np.array(sorted({time.removesuffix("Z") for time in table["started"]}), dtype="datetime64[s]")
    apart = float((times[-1] - times[0]).astype(np.int64)) / (len(times) - 1)
    return found[:, np.isfinite(found).all(axis=0)], apart


def recorded_figures() -> Iterator[list[str]]:
    """Checks of successive launches."""
    yield ["launches", "sessions", "checks", "false suspects", "two checks 5 min apart"]
    values, apart = recorded()
    later = int(np.ceil(APART.total_seconds() / apart))
    random = np.random.default_rng(SEED)
    for name, used, first in (
        ("in their order", values, 0),
        ("in random order", random.permuted(values, axis=0), 0),
        ("in their order", values, ENOUGH),
    ):
        single: list[float] = []
        twice: list[float] = []
        starts = range(first, len(used) - LAUNCHES + 1)
        for start in starts:
            check = slice(start, start + LAUNCHES)
            second = slice(start + later, start + later + LAUNCHES)
            both = second.stop <= len(used)
            rest = (
                used[:first]
                if first
                else np.delete(used, np.r_[check, second] if both else np.r_[check], axis=0)
            )
            suspects = beyond(rest.T, used[check].T)
            single.append(float(suspects.mean()))
            if both:
                twice.append(float((suspects & beyond(rest.T, used[second].T)).mean()))
        yield [
            name,
            f"the first {first}" if first else "all others",
            f"{len(starts)} of each of {used.shape[1]} rows",
            one_in(float(np.mean(single))),
            one_in(float(np.mean(twice))) if twice else "-",
        ]


def report(draws: int) -> str:
    """All figures, in Markdown."""
    return "\n\n".join(
        [
            f"**False suspects** of one metric, {draws:,} draws:",
            table_of(list(false_figures(draws))),
            f"**What a check sees**, {draws // 20:,} draws:",
            table_of(list(seen_figures(draws))),
            "**Recorded launches**, one every 18 s, on a shared machine with states (launches differ by 15 % to 30 %):",
            table_of(list(recorded_figures())),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=100_000)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    figures = report(options.draws)
    print(figures)
    if options.write:
        options.write.write_text(written_into(options.write.read_text(), "health", figures))


if __name__ == "__main__":
    main()
