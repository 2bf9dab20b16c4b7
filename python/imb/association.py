"""Does a disturbance go with slowness? Tests of series and of launches, whose false alarms are bounded. Pure.

Arrays in, figures out; every function returns a p-value of "it does not", one-sided. docs/companion.md, "Diagnosis", says
why these tests.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

Values = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

BLOCKS, FEWEST_BLOCKS = 20, 8
FEWEST_LAUNCHES = 6  # of five orders of launches one in 120 is the worst: too many for several causes
_EXACT = 7  # launches up to which all orders are tried
_DRAWS = 20000


def ranks_within(values: Values, groups: Groups) -> Values:
    """Ranks from -0.5 to 0.5 among the values of the same group, ties sharing theirs; 0 in a group of one."""
    found = np.zeros(len(values))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        if len(at) > 1:
            found[at] = (_ranks(values[at]) - (len(at) - 1) / 2) / (len(at) - 1)
    return found


def within(amounts: Values, seconds: Values, slowness: Values, groups: Groups) -> float | None:
    """Of samples in the order of time. `amounts`: of the disturbance in each; `seconds`: how long it took; `slowness`: its
    rank among samples of the same row (`ranks_within`); `groups`: number of its row. None: too few samples.

    A slow sample lasts longer, so more happens in it by chance. What counts is therefore the amount less what the row's mean
    rate lets expect of its seconds. Its product with slowness is 0 in the mean where the disturbance comes at a constant
    rate, whatever made samples slow. Samples follow each other closely, so products are added up over blocks of time, and
    Student's test is of these sums: one disturbance, however large, is in one block and proves nothing.
    """
    count = min(BLOCKS, len(amounts) // 3)
    if count < FEWEST_BLOCKS:
        return None
    expected = np.zeros(len(amounts))
    for group in np.unique(groups):
        at = groups == group
        total = seconds[at].sum()
        expected[at] = amounts[at].sum() / total * seconds[at] if total > 0 else 0.0
    products = (amounts - expected) * slowness
    sums = np.array([part.sum() for part in np.array_split(products, count)])
    spread = sums.std(ddof=1)
    if not spread > 0:
        return 1.0
    return float(stdtr(count - 1, -sums.mean() / (spread / np.sqrt(count))))


def between(rates: Values, slowness: Values) -> float | None:
    """Of launches: Spearman's rank correlation, by permutation of the launches. None: too few launches.

    Launches are interleaved, so under "it does not" every order of them is as likely as another.
    """
    count = len(rates)
    if count < FEWEST_LAUNCHES:
        return None
    a, b = _ranks(rates), _ranks(slowness)
    a, b = a - a.mean(), b - b.mean()
    seen = float(a @ b)
    if not a.any() or not b.any():
        return 1.0
    if count <= _EXACT:
        orders = np.array(list(permutations(a)))
    else:
        random = np.random.default_rng(1)
        orders = random.permuted(np.tile(a, (_DRAWS, 1)), axis=1)
    as_far = float((orders @ b >= seen - 1e-9).sum())
    return as_far / len(orders) if count <= _EXACT else (as_far + 1) / (len(orders) + 1)


def _ranks(values: Values) -> Values:
    """From 0; ties share their mean."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values))
    found[order] = np.arange(len(values))
    _, places = np.unique(values, return_inverse=True)
    return np.asarray(np.bincount(places, found) / np.bincount(places))[places]
