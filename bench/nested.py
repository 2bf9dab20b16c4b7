#!/usr/bin/env python3
"""Nested random effects (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013) beside `imb.compare.variance`.

    bench/nested.py [--draws 400]

A replay: launches are those recorded in bench/pool.parquet. Spread and interval of the mean from a few of them are held against all 64,
as recorded, and with one of five in a state 2.5 times as slow. Then the largest part of variance, with the recorded launches as the
launches' effects, and samples and states made up. Random effects know samples, states and launches as levels of one hierarchy: they
name no launch outside the dominant state, and no time that a state lasts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from imb.compare.variance import NAMES, Name, parts_of, spread_of
from imb.model.observations import Side
from imb.model.records import MachineState
from numpy.typing import NDArray
from pages import table_of
from scipy.special import gammaincinv, gammaln, stdtrit
from variance import Made, launch, one_is, percent
from verdicts import POOL, launches_in

Values = NDArray[np.float64]
SEED = 38
SLOW = 2.5  # times as long


def recorded() -> Values:
    """Logarithms of times, (launches, rows), of rows that all launches have."""
    logs = launches_in(POOL)[0]["table"].logs
    return logs[:, np.isfinite(logs).all(axis=0)]


def deviation(values: Values) -> float:
    """Square root of the mean square between launches."""
    return float(np.std(values, ddof=1))


def gini(values: Values) -> float:
    """By Gini's mean difference, without bias in the median: the method of version 0.1.0."""
    count = len(values)
    weights = 2 * np.arange(count) - count + 1.0
    mean = 2 * float(weights @ np.sort(values)) / (count * (count - 1))
    of_deviation = np.sqrt(2 / (count - 1)) * np.exp(gammaln(count / 2) - gammaln((count - 1) / 2))
    middle = np.sqrt(2 * gammaincinv((count - 1) / 2, 0.5) / (count - 1)) / of_deviation
    return float(mean * np.sqrt(np.pi) / 2 / middle)


METHODS: dict[str, Callable[[Values], float]] = {
    "Gini": gini,
    "random effects": deviation,
    "the same without bias in the median (imb)": spread_of,
}


def spreads(logs: Values, draws: int) -> Iterator[list[str]]:
    """Of the median row, as a share of that of all launches; and how often the mean of all is in the interval of a row."""
    yield ["launches", "drawn", *(f"{one}: spread / true (5 %, 95 %)" for one in METHODS), *(f"{one}: coverage" for one in METHODS)]  # fmt: skip
    for slow in (False, True):
        for count in (3, 5, 10):
            random = np.random.default_rng([SEED, count])
            ratios: dict[str, list[float]] = {one: [] for one in METHODS}
            inside: dict[str, list[float]] = {one: [] for one in METHODS}
            for _ in range(draws):
                rows = random.choice(logs.shape[1], 60, replace=False)
                own = logs[np.ix_(random.choice(len(logs), count, replace=False), rows)]
                true = np.std(logs[:, rows], axis=0, ddof=1)
                if slow:
                    own[: count // 5] += np.log(SLOW)
                for name, method in METHODS.items():
                    found = np.array([method(one) for one in own.T])
                    ratios[name].append(float(np.median(found) / np.median(true)))
                    reach = stdtrit(count - 1, 0.975) * found / count**0.5
                    inside[name].append(float((np.abs(own.mean(axis=0) - logs[:, rows].mean(axis=0)) <= reach).mean()))  # fmt: skip
            if slow and count < 5:
                continue
            yield [
                str(count),
                "one of five 2.5 times as slow" if slow else "as recorded",
                *("{1:.2f} ({0:.2f}, {2:.2f})".format(*np.quantile(one, [0.05, 0.5, 0.95])) for one in ratios.values()),
                *(percent(float(np.mean(one))) for one in inside.values()),
            ]  # fmt: skip


def contributions(side: Side) -> dict[Name, float]:
    """To the variance of a launch's mean, by the levels samples, states and launches of each row (analysis of variance, unbalanced); the median over rows."""
    found: dict[Name, list[float]] = {name: [] for name in NAMES}
    for key in side.all_keys():
        rows = [one.rows[key] for one in side.launches]
        states: list[list[MachineState]] = [row.passes.states for row in rows if row.passes]
        sizes = [np.array([one.samples for one in of], dtype=np.float64) for of in states]
        logs = [np.log([one.time_median_seconds or 1.0 for one in of]) for of in states]
        own = []  # variance of a sample, by the interval of the median
        for row in rows:
            assert row.passes and row.passes.interval_seconds
            low, high = np.log(row.passes.interval_seconds)
            error = (high - low) / 2 / float(stdtrit(max((row.passes.used or 1) - 1, 1), 0.975)) / 1.2533
            own.append(error**2 * (row.passes.used or 1))
        within = float(np.mean(own)) * 1.2533**2  # of medians
        many = np.array([one.sum() for one in sizes])
        means = np.array([(size * log).sum() / size.sum() for size, log in zip(sizes, logs, strict=True)])
        freedom = sum(len(one) - 1 for one in sizes)
        of_states, per_state = 0.0, 1.0
        if freedom:
            squares = sum(float((size * (log - mean) ** 2).sum()) for size, log, mean in zip(sizes, logs, means, strict=True))  # fmt: skip
            weight = (many.sum() - sum(float((size**2).sum() / size.sum()) for size in sizes)) / freedom
            of_states = max(squares / freedom - within, 0.0) / weight
            per_state = float(np.mean([len(one) for one in sizes]))
        between = float(np.var(means, ddof=1)) - of_states / per_state - within / float(many.mean())
        found["within"].append(within / float(many.mean()))
        found["states"].append(of_states / per_state)
        found["launches"].append(max(between, 0.0))
    return {name: float(np.median(values)) for name, values in found.items()}


def largest(logs: Values, draws: int) -> Iterator[list[str]]:
    """Launches' effects are recorded ones, scaled to what is made."""
    effects = logs - logs.mean(axis=0)
    effects /= np.median(effects.std(axis=0, ddof=1))
    yield ["launches", "one launch", *(f"{name} is the largest: named by imb, by random effects" for name in NAMES)]  # fmt: skip
    for away in (0, 1):
        for count in (3, 5, 10):
            cells = []
            for number, name in enumerate(NAMES):
                random = np.random.default_rng([SEED, count, number])
                ours = theirs = 0
                for _ in range(draws):
                    made = one_is(name, 2.0, 0.5)(random)
                    chosen = effects[np.ix_(random.choice(len(effects), count, replace=False), random.choice(effects.shape[1], made.rows, replace=False))]  # fmt: skip
                    side = with_effects(made, chosen * made.launches, random, away)
                    ours += parts_of(side).parts[0].name == name
                    parts = contributions(side)
                    theirs += max(parts, key=lambda one: parts[one]) == name
                cells.append(f"{percent(ours / draws)}, {percent(theirs / draws)}")
            yield [str(count), "in the slow state only" if away else "as the others", *cells]


def with_effects(made: Made, effects: Values, random: np.random.Generator, away: int) -> Side:
    """Launches of these effects, of which the last `away` saw nothing but the slower state."""
    launches = []
    plain = Made(made.within, made.states, 0.0, 0.0, made.rows, made.usual, made.probes)
    for at, own in enumerate(effects):
        one = launch(plain, f"launch{at}", random, at >= len(effects) - away)
        for row, by in zip(one.rows.values(), np.exp(own), strict=True):
            row.time_min_seconds = row.time_max_seconds = row.time_avg_seconds = float((row.time_max_seconds or 0.0) * by)  # fmt: skip
            assert row.passes and row.passes.interval_seconds
            row.passes.interval_seconds = (row.passes.interval_seconds[0] * by, row.passes.interval_seconds[1] * by)  # fmt: skip
            for state in row.passes.states:
                state.time_median_seconds = (state.time_median_seconds or 0.0) * by
        launches.append(one)
    return Side(name="made", launches=launches)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400)
    options = parser.parse_args()
    logs = recorded()
    print(table_of(list(spreads(logs, options.draws))), table_of(list(largest(logs, options.draws // 2))), sep="\n\n")  # fmt: skip


if __name__ == "__main__":
    main()
