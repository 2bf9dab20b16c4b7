"""Order of endpoints in which a matrix of pairs shows blocks: by topology, or else by clustering, or else by
name. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.topology import Topology
from imb.model.text import natural_key
from imb.stats.arrays import Values

_MEASURED = 0.5  # share of all pairs that clustering needs


class Order(NamedTuple):
    """`by`: topology, clustering or name. `groups`: name and number of endpoints of each group of successive
    endpoints; empty if there are no groups."""

    by: str
    indices: tuple[int, ...]
    groups: tuple[tuple[str, int], ...] = ()


def matrix(sweep: Sweep) -> Values:
    """Median seconds of each pair over passes, shape (endpoints, endpoints); NaN if not measured or failed.
    If only one direction was measured, it is used for both."""
    count = len(sweep.endpoints)
    medians = np.full((count, count), np.nan)
    good = np.isfinite(sweep.seconds)
    if not good.any():
        return medians
    keys = sweep.a[good].astype(np.int64) * count + sweep.b[good]
    order = np.lexsort((sweep.seconds[good], keys))
    keys, seconds = keys[order], sweep.seconds[good][order]
    pairs, first, counts = np.unique(keys, return_index=True, return_counts=True)
    middle = (seconds[first + (counts - 1) // 2] + seconds[first + counts // 2]) / 2
    medians[pairs // count, pairs % count] = middle
    return np.where(np.isnan(medians), medians.T, medians)


def order_of(endpoints: Sequence[Endpoint], times: Values, topology: Topology | None) -> Order:
    """The order of the endpoints. `times`: the matrix of any sweep."""
    by_name = sorted(range(len(endpoints)), key=lambda index: natural_key(endpoints[index].name))
    if topology is not None and topology.leaves:
        leaf_of = {host: topology.leaves[topology.leaf[i]] for i, host in enumerate(topology.hosts)}
        place = {name: i for i, name in enumerate(_leaves(topology))}
        leaves = [leaf_of.get(endpoint.host, "") for endpoint in endpoints]
        if any(leaves):
            indices = sorted(by_name, key=lambda index: place.get(leaves[index], len(place)))
            return Order("topology", tuple(indices), _runs([leaves[index] or "unknown" for index in indices]))
    if 1 < len({endpoint.host for endpoint in endpoints}) < len(endpoints):
        return Order("name", tuple(by_name), _runs([endpoints[index].host for index in by_name]))
    count = len(endpoints)
    if count > 2 and np.isfinite(times).sum() >= _MEASURED * count * (count - 1):
        return Order("clustering", tuple(_cluster_order(times)))
    return Order("name", tuple(by_name))


def _leaves(topology: Topology) -> list[str]:
    """Names of leaf switches, near ones adjacent."""
    count = len(topology.leaves)
    apart = topology.hops[~np.eye(count, dtype=bool)]
    if count < 3 or apart.min() == apart.max():
        return sorted(topology.leaves, key=natural_key)
    return [topology.leaves[index] for index in _cluster_order(topology.hops.astype(np.float64))]


def _cluster_order(distances: Values) -> list[int]:
    """Rows in the order of a cluster tree (average linkage)."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    full = np.where(np.isnan(distances), np.nanmedian(distances), distances)
    full = (full + full.T) / 2
    np.fill_diagonal(full, 0.0)
    return [int(index) for index in leaves_list(linkage(squareform(full, checks=False), "average"))]


def _runs(names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    runs: list[tuple[str, int]] = []
    for name in names:
        if runs and runs[-1][0] == name:
            runs[-1] = (name, runs[-1][1] + 1)
        else:
            runs.append((name, 1))
    return tuple(runs)
