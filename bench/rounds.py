#!/usr/bin/env python3
"""How many rounds `imb ab --until-decided` could need at least: the recorded interleaved pairs, replayed with better tests.

    bench/rounds.py [--pool bench/pool.parquet] [--draws 1000]

Every test judges the bands by Holm's method at the looks and shares of imb.compare.repeated_looks, and stops when every band
differs. They differ in what they know of a band's spread between pairs:

Student's t      its own pairs so far, as `imb` does
moderated t      its own pairs and, weighted by how alike they are, those of all other bands (Smyth, Stat. Appl. Genet.
                 Mol. Biol. 3 (2004) 3): valid only if the spreads of bands come from one inverse gamma distribution
known spread     that of all recorded pairs, which no campaign can know: the bound

Deterministic.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats
from imb.model.sequential_design import SequentialDesign
from verdicts import POOL, SETTINGS, Values, launches_in

LEVEL = SETTINGS.false_discovery / 4  # of bands


def student(pairs: Values, _: Values) -> Values:
    """p-values of the bands: columns."""
    return np.asarray(scipy.stats.ttest_1samp(pairs, 0).pvalue)


def known(pairs: Values, spread: Values) -> Values:
    return np.asarray(2 * scipy.stats.norm.sf(np.abs(pairs.mean(axis=0)) * np.sqrt(len(pairs)) / spread))


def moderated(pairs: Values, _: Values) -> Values:
    freedom, variances = len(pairs) - 1, pairs.var(axis=0, ddof=1)
    prior, common = prior_of(variances, freedom)
    variances = (prior * common + freedom * variances) / (prior + freedom)
    t = np.abs(pairs.mean(axis=0)) / np.sqrt(variances / len(pairs))
    return np.asarray(2 * scipy.stats.t.sf(t, prior + freedom))


def prior_of(variances: Values, freedom: int) -> tuple[float, float]:
    """Degrees of freedom and middle of the distribution of the bands' variances, by the moments of their logarithms."""
    logs = np.log(variances) - scipy.special.digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(logs.var(ddof=1) - scipy.special.polygamma(1, freedom / 2))
    most = 200.0  # the bands do not differ
    half = most / 2
    if excess > scipy.special.polygamma(1, half):
        half = float(scipy.optimize.brentq(lambda x: scipy.special.polygamma(1, x) - excess, 1e-3, half))
    return 2 * half, float(np.exp(logs.mean() + scipy.special.digamma(half) - np.log(half)))


def decided_after(pairs: Values, test: Callable[[Values, Values], Values], first: int, spread: Values) -> int:
    """The round; one more than there are where never. A decision of a look is final."""
    design = SequentialDesign(first=first)
    least = np.full(pairs.shape[1], np.inf)
    for rounds in range(first, len(pairs) + 1):
        least = np.minimum(least, test(pairs[:rounds], spread) / (LEVEL * design.share(rounds)))
        if np.all(np.sort(least) * np.arange(len(least), 0, -1) <= 1):
            return rounds
    return len(pairs) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", type=Path, default=POOL)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    series, _ = launches_in(options.pool)
    one, other = series["turns-as-it-is"], series["turns-slower"]
    logs = one.logs - other.logs
    pairs = np.array([logs[:, where].mean(axis=1) for where in one.rows.members.values()]).T
    spread = pairs.std(axis=0, ddof=1)
    print(
        f"rounds until all {pairs.shape[1]} bands of {len(pairs)} recorded interleaved pairs are decided, 10 %, median, 90 %"
    )
    for first in (3, 5):
        for name, test in (("Student's t", student), ("moderated t", moderated), ("known spread", known)):
            random = np.random.default_rng(1)
            after = [
                decided_after(random.permutation(pairs), test, first, spread) for _ in range(options.draws)
            ]
            low, middle, high = np.quantile(after, [0.1, 0.5, 0.9], method="higher")
            print(f"first look after {first}  {name:14}{low:4}{middle:4}{high:4}")


if __name__ == "__main__":
    main()
