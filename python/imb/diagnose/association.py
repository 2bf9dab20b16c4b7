"""Association of disturbances with slowness: tests of series and of launches with bounded false alarms. Pure.

Arrays in, figures out. A test returns the one-sided p-value of the null hypothesis that the disturbance has no association with
slowness. docs/evidence/diagnosis.md has the reasons for these tests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from imb.stats.arrays import Values

Groups = npt.NDArray[np.intp]

BLOCKS, FEWEST_BLOCKS = 20, 8  # of time, in a launch
AROUND = 4  # samples before and after a sample that are its neighbors
FEWEST_LAUNCHES = (
    6  # five launches have 120 orders: a p-value of 1/120 is too large where several causes are tested
)
_DRAWS = 20000


def beside_neighbors(times: Values, groups: Groups) -> Values:
    """Each sample's time over the median of its neighbors in time of the same row, the `AROUND` samples before and after
    it; 1 in a row of one. States of the machine last longer than that, so what differs between them counts for little."""
    ratios = np.ones(len(times))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        if len(at) < 2:
            continue
        padded = np.pad(times[at], AROUND, constant_values=np.nan)
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1)
        ratios[at] = times[at] / np.nanmedian(np.delete(windows, AROUND, axis=1), axis=1)
    return ratios


def ranks_within(values: Values, groups: Groups) -> Values:
    """Ranks from -0.5 to 0.5 among the values of the same row, ties sharing theirs; 0 in a row of one."""
    ranks = np.zeros(len(values))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        if len(at) > 1:
            ranks[at] = _ranks(values[at]) / (len(at) - 1) - 0.5
    return ranks


def test_within_launch(amounts: Values, seconds: Values, slowness: Values, groups: Groups) -> float | None:
    """The test of the samples of a launch, in the order of time. `amounts`: of the disturbance in each; `seconds`: how long it took; `slowness`:
    `ranks_within` of `beside_neighbors`; `groups`: number of its row. None if there are too few samples.

    A slow sample lasts longer, so more happens in it by chance. What counts is therefore the amount less what the row's mean
    rate lets expect of its seconds. Its product with slowness is 0 in the mean where the disturbance comes at a constant
    rate, whatever made samples slow. Samples follow each other closely, so products are added up over blocks of time, and
    Student's test is of these sums: one disturbance, however large, is in one block and proves nothing.
    """
    expected = np.zeros(len(amounts))
    for group in np.unique(groups):
        at = groups == group
        total = seconds[at].sum()
        expected[at] = amounts[at].sum() / total * seconds[at] if total > 0 else 0.0
    return _above_zero((amounts - expected) * slowness)


def trimmed_share(lost: Values, seconds: Values) -> float:
    """Share of the seconds that was lost, without the tenth of the samples (one at least) that lost most; 0 where less than
    five are left.

    For what is a part of the time itself, such as waiting for a CPU. All samples may have it alike, for example if a process alternates with
    a rank on its CPU: then none stands out, and none needs to. One disturbance, however large, is trimmed.
    """
    kept = np.argsort(lost, kind="stable")[: len(lost) - max(1, -(-len(lost) // 10))]
    total = seconds[kept].sum()
    return float(lost[kept].sum() / total) if len(kept) >= 5 and total > 0 else 0.0


def _above_zero(values: Values) -> float | None:
    """Student's test of the sums over blocks of time, as series follow themselves closely."""
    count = min(BLOCKS, len(values) // 3)
    if count < FEWEST_BLOCKS:
        return None
    sums = np.array([part.sum() for part in np.array_split(values, count)])
    spread = sums.std(ddof=1)
    if not spread > 0:
        return 1.0
    return float(stdtr(count - 1, -sums.mean() / (spread / np.sqrt(count))))


def test_between_launches(rates: Values, slowness: Values) -> float | None:
    """The test of launches: correlation of values, by permutation of the launches. None if there are too few launches.

    Launches are interleaved, so under the null hypothesis all orders of them are equally likely. Values and not ranks: where
    five launches of ten are disturbed, ranks within the five are chance, and no correlation of ranks would be certain.
    One launch of ten that stands out in both does so by chance in one order of ten.
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
        n_resamples=_DRAWS,  # up to 7 launches that is more than there are orders, and all are tried
        rng=np.random.default_rng(1),
    )
    return float(tested.pvalue)


def _ranks(values: Values) -> Values:
    """From 0; ties share their mean."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(len(values))
    _, places = np.unique(values, return_inverse=True)
    return np.asarray(np.bincount(places, ranks) / np.bincount(places))[places]
