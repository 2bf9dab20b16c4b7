"""Classes of pairs, each with its own level: by distance, and by population of endpoints. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from imb.fabric.judging.sweep import Endpoint
from imb.fabric.judging.topology import Topology
from imb.model.units import count_of
from imb.stats.arrays import Indices, Mask, Values
from imb.stats.medians import median, middles, number_keys, robust_deviation
from imb.stats.shift import LEAST_SPREAD

FEWEST = 3  # fewest pairs of a class
SHARE = 0.25  # if more than this share of the endpoints is slow, they are another population, not bad
_CLUSTERED = 2048  # most endpoints that are searched for groups
_MEASURED = 0.9  # share of all pairs that a search for groups needs
_CHOICE = 1.5  # least gain of log likelihood by groups, per nat of information that names the group of every endpoint
_APART = 5.0  # least distance between two populations, in standard deviations


class Classes(NamedTuple):
    """`of`: class of each pair, or of each pair and direction (first all from the lower endpoint); `names`:
    by class."""

    of: Indices
    names: tuple[str, ...]


def distances(
    endpoints: Sequence[Endpoint], a: npt.NDArray[Any], b: npt.NDArray[Any], topology: Topology | None
) -> Classes:
    """Classes of pairs by distance in the topology; without a topology, pairs within a host and between
    hosts."""
    hosts = {name: index for index, name in enumerate(dict.fromkeys(endpoint.host for endpoint in endpoints))}
    host = np.array([hosts[endpoint.host] for endpoint in endpoints])
    same = host[a] == host[b]
    if topology is None:
        return _compact(np.where(same, 0, 1), ("in a host", "between hosts"))
    leaf = leaves_of(endpoints, topology)
    unknown = (leaf[a] < 0) | (leaf[b] < 0)
    hops = np.where(unknown, -1, topology.hops[leaf[a], leaf[b]].astype(np.int64))
    hops[same] = 0
    values, classes = number_keys(hops + 1, int(hops.max(initial=0)) + 2)
    labels = {0: "unknown distance", 1: "in a host"}
    return _compact(
        classes, tuple(labels.get(distance, count_of(distance - 1, "switch")) for distance in values.tolist())
    )


def leaves_of(endpoints: Sequence[Endpoint], topology: Topology) -> Indices:
    """Index of the switch of each endpoint, -1 if the topology lacks its host."""
    place = {name: int(leaf) for name, leaf in zip(topology.hosts, topology.leaf, strict=True)}
    return np.array([place.get(endpoint.host, -1) for endpoint in endpoints], dtype=np.int64)


def population_classes(
    classes: Classes, slow: Mask, a: npt.NDArray[Any], b: npt.NDArray[Any], way: str = ""
) -> Classes:
    """Classes of pairs, in both directions, by the number of their endpoints in the slower population
    (`slow`). `way`: "sender" or "receiver" if a single slow endpoint counts only as this end."""
    suffixes = ("", ", one of the slower group", ", both of the slower group")
    sender, receiver = slow[np.concatenate([a, b])], slow[np.concatenate([b, a])]
    parts = sender.astype(np.int64) + receiver
    if way:
        parts[(parts == 1) & ~(sender if way == "sender" else receiver)] = 0
    return _compact(
        classes.of * 3 + parts,
        [f"{name}{suffix}" for name in classes.names for suffix in suffixes],
        2 * FEWEST,
    )


def group_by_nearness(
    count: int, a: npt.NDArray[Any], b: npt.NDArray[Any], level: Values, least: float
) -> Indices | None:
    """The group of each endpoint, -1 if it was not measured, or None if endpoints are alike or more than a
    few pairs are missing.

    Pairs within a group are near, such as pairs below one switch. The groups are the cut of an average
    linkage that explains most (Fisher), if it explains more than it costs to name the group of each endpoint.
    `level`: logarithm of the time of each pair; `least`: smallest difference between near and far pairs
    (logarithms).
    """
    measured = np.flatnonzero(np.bincount(np.concatenate([a, b]), minlength=count))
    count_measured = len(measured)
    if (
        not 4 <= count_measured <= _CLUSTERED
        or len(a) < _MEASURED * count_measured * (count_measured - 1) / 2
    ):
        return None
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    away = level - median(level)
    of_endpoint = middles(np.concatenate([a, b]), count, np.concatenate([away, away]))
    # A pair of two slow endpoints takes at least as long as the slower of them.
    first, second = of_endpoint[a], of_endpoint[b]
    away -= np.where((first > 0) & (second > 0), np.maximum(first, second), first + second)
    away -= median(away)
    spread = max(robust_deviation(away), LEAST_SPREAD)
    residual = away
    # Noise has long tails on the slow side; near pairs are on the fast side.
    away = np.minimum(away, 3 * max(spread, least))
    offset = -float(away.min())
    times = np.zeros((count, count))
    times[a, b] = times[b, a] = away
    linked = linkage(squareform(times[np.ix_(measured, measured)], checks=False) + offset, "average")
    sizes = np.concatenate([np.ones(count_measured), linked[:, 3]])
    pairs = sizes[linked[:, 0].astype(np.int64)] * sizes[linked[:, 1].astype(np.int64)]
    near, inside = np.cumsum(pairs), np.cumsum(pairs * (linked[:, 2] - offset))
    total, whole, near, inside = near[-1], inside[-1], near[:-1], inside[:-1]
    apart = (whole - inside) / (total - near) - inside / near
    squares = np.where(apart >= least, near * (total - near) / total * apart**2, 0.0)
    at = int(np.argmax(squares))
    label = np.full(count, -1, dtype=np.int64)
    label[measured] = fcluster(linked, count_measured - 1 - at, "maxclust") - 1
    same = label[a] == label[b]
    if not FEWEST <= int(same.sum()) <= len(a) - FEWEST:
        return None
    within = np.concatenate([residual[mask] - median(residual[mask]) for mask in (same, ~same)])
    spread = max(robust_deviation(within), LEAST_SPREAD)
    groups = int(label.max()) + 1
    return (
        label if squares[at] / (2 * spread**2) >= _CHOICE * count_measured * np.log(max(groups, 2)) else None
    )


def group_classes(classes: Classes, label: Indices, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Classes:
    """Classes of pairs between groups and within a group. All groups share these levels, so a group that is
    slow as a whole still stands out."""
    parts = (label[a] == label[b]).astype(np.int64)
    return _compact(
        classes.of * 2 + np.tile(parts, 2),
        [f"{name}{suffix}" for name in classes.names for suffix in (", between groups", ", in a group")],
        2 * FEWEST,
    )


def _compact(classes: Indices, names: Sequence[str], fewest: int = 1) -> Classes:
    """The classes without empty ones. A class with fewer than `fewest` pairs joins the largest class."""
    pair_counts = np.bincount(classes, minlength=len(names))
    largest = int(np.argmax(pair_counts)) if len(pair_counts) else 0
    used, classes = number_keys(np.where(pair_counts[classes] < fewest, largest, classes), len(names))
    return Classes(classes, tuple(names[index] for index in used.tolist()))


def two_populations(effects: Values, least: float) -> tuple[Mask, float]:
    """Which endpoints belong to the slower of two groups, and by how much it is slower (a logarithm); none
    and 0 if there are no two groups. Each group must have SHARE or more of the endpoints (at least two), and
    they must be clearly apart. The split has the least squares within groups (Fisher, J. Am. Stat. Assoc. 53
    (1958) 789)."""
    none = np.zeros(len(effects), dtype=bool), 0.0
    finite = np.flatnonzero(np.isfinite(effects))
    order = finite[np.argsort(effects[finite], kind="stable")]
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
    slower_by = float(np.median(slow) - np.median(fast))
    within = np.concatenate([fast - np.median(fast), slow - np.median(slow)])
    spread = max(robust_deviation(within), LEAST_SPREAD)
    if slower_by < least or slower_by < _APART * spread or values[split] - values[split - 1] < slower_by / 4:
        return none
    is_slow = np.zeros(len(effects), dtype=bool)
    is_slow[order[split:]] = True
    return is_slow, slower_by
