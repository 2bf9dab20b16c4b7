"""Classes of pairs that have a level each: distance, and groups of endpoints that differ. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from imb.fabric.medians import by_index, median, numbered
from imb.fabric.pairs import LEAST_SPREAD, TO_DEVIATION, Pairs, pairs_of
from imb.fabric.sweep import Endpoint, Sweep, Values
from imb.fabric.topology import Topology

Indices = npt.NDArray[np.int64]

FEWEST = 3  # pairs of a class
SHARE = 0.25  # of the endpoints: so many slow ones are another population, not bad ones
_APART = 5.0  # standard deviations between two populations
_CLUSTERED = 256  # endpoints: in larger sweeps only near pairs make groups (imb.fabric.near)
_PROFILE = 0.7  # quantile over partners
_MEASURED = 0.9  # share of pairs


class Classes(NamedTuple):
    """`of`: class of each pair; `names`: by class. `slower`: endpoints of a second, slower population, by how much (of the logarithm).
    `groups`: of endpoints, by their pairs; empty where all are alike."""

    of: Indices
    names: tuple[str, ...]
    slower: tuple[int, ...]
    by: float
    groups: tuple[tuple[int, ...], ...]


def classes_of(
    endpoints: Sequence[Endpoint],
    pairs: Pairs,
    topology: Topology | None,
    least: float,
    *,
    clusters: bool = True,
) -> Classes:
    """Distances from the topology, else pairs within a host and between hosts; then populations of endpoints, and, where the
    distances are unknown, groups of endpoints (`clusters`)."""
    named = distances(endpoints, pairs.a, pairs.b, topology)
    effects = endpoint_effects(len(endpoints), pairs, pairs.level - medians_of(pairs.level, named[0]))
    slow, by = two_populations(effects, least)
    if slow.any():
        parts = slow[pairs.a].astype(np.int64) + slow[pairs.b]
        named = _refined(named, parts, ("", ", one of the slower group", ", both of the slower group"))
    groups: tuple[tuple[int, ...], ...] = ()
    if topology is None and clusters:
        label = _clusters(len(endpoints), pairs, effects, least)
        if label is not None:
            groups = groups_by_label(label)
            if not slow.any():
                low = np.minimum(label[pairs.a], label[pairs.b])
                high = np.maximum(label[pairs.a], label[pairs.b])
                many = len(groups)
                names = [
                    f", in group {x + 1}" if x == y else f", groups {x + 1} and {y + 1}"
                    for x in range(many)
                    for y in range(many)
                ]
                named = _refined(named, low * many + high, names)
    if slow.any() and not groups:
        groups = (tuple(np.flatnonzero(~slow).tolist()), tuple(np.flatnonzero(slow).tolist()))
    return Classes(*named, tuple(np.flatnonzero(slow).tolist()), by, groups)


def groups_by_label(label: Indices) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(np.flatnonzero(label == one).tolist()) for one in range(int(label.max()) + 1))


def labels_of(groups: Sequence[Sequence[int]], count: int) -> Indices:
    """Number of the group of each endpoint, -1 without one."""
    label = np.full(count, -1)
    for one, inside in enumerate(groups):
        label[list(inside)] = one
    return label


def with_group(classes: Classes, pairs: Pairs, inside: Sequence[int]) -> Classes:
    """The pairs of these endpoints have levels of their own; they and all others are two groups, if there were none."""
    count = int(max(pairs.a.max(), pairs.b.max())) + 1
    mine = np.zeros(count, dtype=bool)
    mine[list(inside)] = True
    parts = mine[pairs.a].astype(np.int64) + mine[pairs.b]
    named = _refined((classes.of, classes.names), parts, (", in group 1", ", groups 1 and 2", ", in group 2"))
    two = (tuple(np.flatnonzero(~mine).tolist()), tuple(np.flatnonzero(mine).tolist()))
    return Classes(*named, classes.slower, classes.by, classes.groups or two)


def by_nearness(
    endpoints: Sequence[Endpoint], pairs: Pairs, partitions: Sequence[Sequence[tuple[int, ...]]]
) -> Classes:
    """Levels of pairs by the partitions, each one finer than that before it, of which both endpoints are in one group: no group has one of its own, so one that is
    slow as a whole is no distance."""
    shared = np.zeros(len(pairs.a), dtype=np.int64)
    for groups in partitions:
        label = labels_of(groups, len(endpoints))
        shared += label[pairs.a] == label[pairs.b]
    words = [
        ", between groups",
        ", in a group",
        *(f", in a group of level {depth}" for depth in range(2, len(partitions) + 1)),
    ]
    named = _refined(distances(endpoints, pairs.a, pairs.b, None), shared, words)
    return Classes(*named, (), 0.0, tuple(partitions[0]))


def distances(
    endpoints: Sequence[Endpoint], a: npt.NDArray[Any], b: npt.NDArray[Any], topology: Topology | None
) -> tuple[Indices, tuple[str, ...]]:
    """Class of each pair, and the names of classes."""
    hosts = {name: index for index, name in enumerate(dict.fromkeys(one.host for one in endpoints))}
    host = np.array([hosts[one.host] for one in endpoints])
    same = host[a] == host[b]
    if topology is None:
        return _compact(np.where(same, 0, 1), ("in a host", "between hosts"))
    place = {name: index for index, name in enumerate(topology.hosts)}
    leaf = np.array([int(topology.leaf[place[one.host]]) if one.host in place else -1 for one in endpoints])
    unknown = (leaf[a] < 0) | (leaf[b] < 0)
    hops = np.where(unknown, -1, topology.hops[leaf[a], leaf[b]].astype(np.int64))
    hops[same] = 0
    values, of = numbered(hops + 1, int(hops.max(initial=0)) + 2)
    words = {0: "unknown distance", 1: "in a host", 2: "1 switch"}
    return _compact(of, tuple(words.get(one, f"{one - 1} switches") for one in values.tolist()))


def _compact(of: Indices, names: Sequence[str]) -> tuple[Indices, tuple[str, ...]]:
    """Without empty classes; those with fewer than FEWEST pairs are part of the largest one."""
    many = np.bincount(of, minlength=len(names))
    largest = int(np.argmax(many)) if len(many) else 0
    there, of = numbered(np.where(many[of] < FEWEST, largest, of), len(names))
    return of, tuple(names[one] for one in there.tolist())


def _refined(
    named: tuple[Indices, tuple[str, ...]], parts: Indices, words: Sequence[str]
) -> tuple[Indices, tuple[str, ...]]:
    of, names = named
    many = len(words)
    return _compact(of * many + parts, [f"{name}{word}" for name in names for word in words])


def medians_of(level: Values, of: Indices) -> Values:
    found = np.zeros(len(level))
    for one in range(int(of.max(initial=-1)) + 1):
        inside = of == one
        found[inside] = median(level[inside]) if inside.any() else np.nan
    return found


def endpoint_effects(count: int, pairs: Pairs, away: Values) -> Values:
    """Median of each endpoint over its partners; NaN for one without a pair."""
    own, first = by_index(np.concatenate([pairs.a, pairs.b]), count, np.concatenate([away, away]))
    found = np.full(count, np.nan)
    for one, (begin, end) in enumerate(pairwise(first.tolist())):
        if begin < end:
            found[one] = median(own[begin:end])
    return found


def two_populations(effects: Values, least: float) -> tuple[npt.NDArray[np.bool_], float]:
    """Endpoints of the slower of two groups, and by how much, where both have SHARE or more of all endpoints (more than one
    endpoint) and are clearly apart: split at least squares within groups (Fisher, J. Am. Stat. Assoc. 53 (1958) 789)."""
    none = np.zeros(len(effects), dtype=bool), 0.0
    known = np.flatnonzero(np.isfinite(effects))
    order = known[np.argsort(effects[known], kind="stable")]
    values = effects[order]
    count = len(values)
    fewest = max(2, int(np.floor(SHARE * count)) + 1)
    if count < 2 * fewest:
        return none
    at = np.arange(fewest, count - fewest + 1)
    sums = np.cumsum(values)
    between = at * (count - at) * (sums[at - 1] / at - (sums[-1] - sums[at - 1]) / (count - at)) ** 2
    split = int(at[np.argmax(between)])
    fast, slow = values[:split], values[split:]
    by = float(np.median(slow) - np.median(fast))
    within = np.concatenate([fast - np.median(fast), slow - np.median(slow)])
    spread = max(TO_DEVIATION * float(np.median(np.abs(within))), LEAST_SPREAD)
    if by < least or by < _APART * spread or values[split] - values[split - 1] < by / 4:
        return none
    found = np.zeros(len(effects), dtype=bool)
    found[order[split:]] = True
    return found, by


def answering(count: int, pairs: Pairs, most: int) -> Indices | None:
    """Endpoints with a pair; None where more than a few of their pairs are missing, and where there are more than `most`."""
    known = np.flatnonzero(np.bincount(np.concatenate([pairs.a, pairs.b]), minlength=count))
    many = len(known)
    return known if 4 <= many <= most and len(pairs.a) >= _MEASURED * many * (many - 1) / 2 else None


def _clusters(count: int, pairs: Pairs, effects: Values, least: float) -> Indices | None:
    """Endpoints whose times to their partners have the same pattern (average linkage, SciPy), -1 for those without a pair; None where all are
    alike, where more than a few pairs are missing, or where an endpoint is like no other one."""
    known = answering(count, pairs, _CLUSTERED)
    if known is None:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    many = len(known)
    level = np.full((count, count), np.nan)
    level[pairs.a, pairs.b] = level[pairs.b, pairs.a] = pairs.level - effects[pairs.a] - effects[pairs.b]
    level = level[np.ix_(known, known)]
    distance = np.zeros((many, many))
    for one in range(many - 1):
        away = level[one] - level[one + 1 :]
        away -= np.nanmedian(away, axis=1, keepdims=True)
        distance[one, one + 1 :] = np.nanquantile(np.abs(away), _PROFILE, axis=1)
    distance += distance.T
    linked = linkage(squareform(distance, checks=False), "average")
    noise = float(np.median(linked[: max(many // 2, 1), 2]))
    label = fcluster(linked, max(4 * noise, least), "distance") - 1
    sizes = np.bincount(label)
    if len(sizes) < 2 or sizes.min() < 2 or len(sizes) > many // 2:
        return None
    found = np.full(count, -1, dtype=np.int64)
    found[known] = label
    return found


def groups_of(sweep: Sweep, least_effect: float = 0.05) -> tuple[tuple[int, ...], ...]:
    """Groups of endpoints by their times, such as the cores of a socket; () where all are alike."""
    pairs = pairs_of(sweep)
    found: Classes = classes_of(sweep.endpoints, pairs, None, float(np.log1p(least_effect)))
    return found.groups
