"""Groups of endpoints that are near each other, such as below one leaf switch, from nothing but times. Pure.

Average linkage of the times of pairs. Its merge of two groups at the height h makes |A| |B| more pairs near, of mean h: so the sum of squares between near
and far pairs follows from the merges alone, for all cuts (Fisher, J. Am. Stat. Assoc. 53 (1958) 789). A cut is made where it explains more than it
costs to tell the group of each endpoint; then each side may be cut again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from imb.fabric.classes import answering, distances, endpoint_effects, groups_by_label, medians_of
from imb.fabric.medians import median
from imb.fabric.pairs import LEAST_SPREAD, TO_DEVIATION, Pairs
from imb.fabric.sweep import Endpoint, Values

_MOST = 2048  # endpoints
_CHOICE = 1.5  # gain of log likelihood for each natural unit that tells in which group an endpoint is
_WIDE = 3.0  # deviations: what is farther away counts as this far
_CUTS = 3
Indices = npt.NDArray[np.int64]
Groups = tuple[tuple[int, ...], ...]


def near_groups(endpoints: Sequence[Endpoint], pairs: Pairs, least: float) -> list[Groups] | None:
    """Partitions, each one finer than that before it; a group may be a single endpoint. Empty where no partition explains enough; None where more
    than a few pairs are missing. `least`: smallest difference of levels (logarithms) between near and far pairs."""
    count = len(endpoints)
    known = answering(count, pairs, _MOST)
    if known is None:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    away = _without_endpoints(endpoints, pairs)
    away -= median(away)
    wide = _WIDE * max(TO_DEVIATION * median(np.abs(away)), least)
    away = np.minimum(away, wide)  # tails of noise are long on this side; near pairs are on the other one
    offset = -float(away.min())
    level = np.zeros((count, count))
    level[pairs.a, pairs.b] = level[pairs.b, pairs.a] = away
    linked = linkage(squareform(level[np.ix_(known, known)], checks=False) + offset, "average")
    merges = _Merges(linked, offset, least)
    cuts: dict[int, Indices] = {}
    parts = [(0, len(linked), away, np.arange(len(away)))]
    while parts and len(cuts) < _CUTS:
        begin, end, own, places = parts.pop(0)
        cut = merges.best(begin, end, own)
        if cut is None:
            continue
        label = np.full(count, -1, dtype=np.int64)
        label[known] = fcluster(linked, len(known) - 1 - cut, "maxclust") - 1
        cuts[cut] = label
        near = label[pairs.a[places]] == label[pairs.b[places]]
        parts += [(begin, cut + 1, own[near], places[near]), (cut + 1, end, own[~near], places[~near])]
    return [groups_by_label(cuts[cut]) for cut in sorted(cuts, reverse=True)]


def _without_endpoints(endpoints: Sequence[Endpoint], pairs: Pairs) -> Values:
    """Levels without the effects of endpoints; a pair of two slow ones takes as long as with the slower of them, at least."""
    away = pairs.level - medians_of(pairs.level, distances(endpoints, pairs.a, pairs.b, None)[0])
    effects = endpoint_effects(len(endpoints), pairs, away)
    a, b = effects[pairs.a], effects[pairs.b]
    found: Values = away - np.where((a > 0) & (b > 0), np.maximum(a, b), a + b)
    return found


class _Merges:
    """Of a linkage: how many pairs each one makes near, and the sum of their levels."""

    def __init__(self, linked: Values, offset: float, least: float) -> None:
        self.endpoints, self.least = len(linked) + 1, least
        sizes = np.concatenate([np.ones(self.endpoints), linked[:, 3]])
        self.pairs = sizes[linked[:, 0].astype(np.int64)] * sizes[linked[:, 1].astype(np.int64)]
        self.sums = self.pairs * (linked[:, 2] - offset)

    def best(self, begin: int, end: int, away: Values) -> int | None:
        """The last merge of near pairs, of the cut of these merges that explains most; None where none explains enough. `away`: of their pairs."""
        if end - begin < 2 or not len(away):
            return None
        near, inside = np.cumsum(self.pairs[begin:end]), np.cumsum(self.sums[begin:end])
        total, whole = near[-1], inside[-1]
        near, inside = near[:-1], inside[:-1]
        apart = (whole - inside) / (total - near) - inside / near
        squares = np.where(apart >= self.least, near * (total - near) / total * apart**2, 0.0)
        at = int(np.argmax(squares))
        spread = max(TO_DEVIATION * median(np.abs(away - median(away))), LEAST_SPREAD)
        groups = self.endpoints - 1 - (begin + at)
        enough = squares[at] / (2 * spread**2) >= _CHOICE * self.endpoints * np.log(max(groups, 2))
        return begin + at if enough else None
