"""Association of disturbances with slowness: tests within and between launches with a bounded rate of false
alarms. Pure.

Arrays in, numbers out. A test returns the one-sided p-value of the null hypothesis that the disturbance is
not associated with slowness. docs/evidence/diagnosis.md explains the choice of these tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from imb.stats.arrays import Values

Groups = npt.NDArray[np.intp]

BLOCKS, FEWEST_BLOCKS = 20, 8  # number of blocks of time in a launch: usual and least
AROUND = 4  # a sample's neighbors are this many samples before it and after it
FEWEST_LAUNCHES = (
    6  # five launches have 120 orders: a p-value of 1/120 is too large if several causes are tested
)
_DRAWS = 20000


def divide_by_neighbors(times: Values, groups: Groups) -> Values:
    """Each sample's time divided by the median of its neighbors: the `AROUND` samples of the same row before
    it and after it. 1 if the row has one sample. States of the machine last longer than that, so differences
    between them hardly count."""
    ratios = np.ones(len(times))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        if len(at) < 2:
            continue
        padded = np.pad(times[at], AROUND, constant_values=np.nan)
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1)
        ratios[at] = times[at] / np.nanmedian(np.delete(windows, AROUND, axis=1), axis=1)
    return ratios


def rank_in_rows(values: Values, groups: Groups) -> Values:
    """Ranks from -0.5 to 0.5 among the values of the same row; equal values share their mean rank. 0 if the
    row has one value."""
    ranks = np.zeros(len(values))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        if len(at) > 1:
            ranks[at] = _ranks(values[at]) / (len(at) - 1) - 0.5
    return ranks


def test_within_launch(amounts: Values, seconds: Values, slowness: Values, groups: Groups) -> float | None:
    """The p-value over the samples of a launch, in the order of time, or None if there are too few samples.
    All arrays have shape (samples,). `amounts`: of the disturbance; `seconds`: duration of the sample;
    `slowness`: `rank_in_rows` of `divide_by_neighbors`; `groups`: number of the sample's row.

    A slow sample lasts longer, so more happens in it by chance. So each amount counts minus the amount
    expected from the mean rate of the row and the duration of the sample. The product with slowness is 0 in
    the mean if the disturbance comes at a constant rate, whatever made samples slow. Neighboring samples
    depend on each other, so products are summed over blocks of time, and Student's test uses these sums. A
    single disturbance, however large, is in one block and proves nothing.
    """
    expected = np.zeros(len(amounts))
    for group in np.unique(groups):
        at = groups == group
        total = seconds[at].sum()
        expected[at] = amounts[at].sum() / total * seconds[at] if total > 0 else 0.0
    return _test_above_zero((amounts - expected) * slowness)


def trimmed_share(lost: Values, seconds: Values) -> float:
    """Share of the seconds that was lost, without the tenth of the samples (at least one) that lost most; 0
    if fewer than five are left. `lost`, `seconds`: shape (samples,).

    Use it for a loss that is part of the measured time, such as waiting for a CPU. All samples may lose
    alike, for example if a process alternates with a rank on its CPU; then no sample stands out. A single
    disturbance, however large, is trimmed.
    """
    kept = np.argsort(lost, kind="stable")[: len(lost) - max(1, -(-len(lost) // 10))]
    total = seconds[kept].sum()
    return float(lost[kept].sum() / total) if len(kept) >= 5 and total > 0 else 0.0


def _test_above_zero(values: Values) -> float | None:
    """One-sided p-value of Student's test that the mean is above 0, on sums over blocks of time, because
    neighboring values depend on each other. None if there are too few values."""
    count = min(BLOCKS, len(values) // 3)
    if count < FEWEST_BLOCKS:
        return None
    sums = np.array([part.sum() for part in np.array_split(values, count)])
    spread = sums.std(ddof=1)
    if not spread > 0:
        return 1.0
    return float(stdtr(count - 1, -sums.mean() / (spread / np.sqrt(count))))


def test_between_launches(rates: Values, slowness: Values) -> float | None:
    """The p-value over launches: correlation of values, by permutation of the launches. None if there are too
    few launches.

    Launches are interleaved, so under the null hypothesis all orders are equally likely. The test uses
    values, not ranks: if five of ten launches are disturbed, ranks within the five are chance, and no
    correlation of ranks would be certain. One launch of ten that is extreme in both values is so by chance in
    one order of ten.
    """
    count = len(rates)
    if count < FEWEST_LAUNCHES:
        return None
    a, b = rates - rates.mean(), slowness - slowness.mean()
    if not a.any() or not b.any():
        return 1.0
    from scipy.stats import permutation_test  # a lazy import: docs/evidence/verdicts.md has what it costs

    tested = permutation_test(
        (a,),
        lambda orders, axis: (orders * b).sum(axis=axis),
        permutation_type="pairings",
        vectorized=True,
        alternative="greater",
        n_resamples=_DRAWS,  # up to 7 launches have fewer orders, and all are tried
        rng=np.random.default_rng(1),
    )
    return float(tested.pvalue)


def _ranks(values: Values) -> Values:
    """Ranks from 0; equal values share their mean rank."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(len(values))
    _, places = np.unique(values, return_inverse=True)
    return np.asarray(np.bincount(places, ranks) / np.bincount(places))[places]
