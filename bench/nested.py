#!/usr/bin/env python3
"""Nested random effects (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013) beside `imb.compare.variance`.

    bench/nested.py [--draws 400]

A replay: launches are those recorded in bench/pool.parquet. Spread and interval of the mean from a few of them are held against all 64,
as recorded, and with one of five in a state 2.5 times as slow. Random effects name no launch outside the dominant state.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from imb.compare.variance import spread_of
from numpy.typing import NDArray
from pages import table_of
from scipy.special import gammaincinv, gammaln, stdtrit
from variance import percent
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400)
    options = parser.parse_args()
    logs = recorded()
    print(table_of(list(spreads(logs, options.draws))))


if __name__ == "__main__":
    main()
