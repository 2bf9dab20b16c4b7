"""Which pairs of hosts cross which link, switch or group of links. Pure.

A group of links is stored as rectangles of host sets (`parts`): a pair crosses it if one host is in the first
set and the other host in the second set of any part. A link of a tree is one rectangle (hosts below it, all
others); a link of a fat tree with static routes is two. 1,024 hosts and 1,000 links take some MB, and sums
over the pairs of a group are matrix products.

Distances are stored by leaf switch: `hops[leaf[a], leaf[b]]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from imb.stats.arrays import Indices, Mask, Numbers, Values

GroupKind = Literal["link", "switch", "group"]


@dataclass(frozen=True)
class LinkGroup:
    """`parts`: masks over the hosts of the topology; parts do not overlap, so each pair is in at most one.
    `alternatives`: names of elements that the same pairs cross."""

    name: str
    kind: GroupKind
    parts: tuple[tuple[Mask, Mask], ...]
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topology:
    """`hosts`: names; `leaf`: index of each host's leaf switch; `hops`: number of switches between hosts of
    two leaf switches; `leaves`: names of the leaf switches. `cables`: indices of the switches at the ends of
    each link; `distance`: distances between switches; `switch`: index of each host's switch."""

    hosts: tuple[str, ...]
    leaf: Numbers
    hops: npt.NDArray[np.int16]
    groups: tuple[LinkGroup, ...]
    leaves: tuple[str, ...] = ()
    cables: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    distance: Indices | None = None
    switch: Indices | None = None

    def has_several_links(self, leaf: int) -> bool:
        """Whether several links lead from a leaf switch to other switches, so that a route takes one of them."""
        inside = self.leaf == leaf
        return any(
            group.kind == "group" and len(group.parts) == 1 and np.array_equal(group.parts[0][0], inside)
            for group in self.groups
        )

    def may_cross(self, link: str, a: str, b: str) -> bool:
        """Whether a shortest route between these hosts crosses a link; perhaps not all do. False if routes
        are unknown."""
        if (
            self.distance is None
            or self.switch is None
            or link not in self.cables
            or not {a, b} <= {*self.hosts}
        ):
            return False
        u, v = self.cables[link]
        start, stop = (int(self.switch[self.hosts.index(host)]) for host in (a, b))
        length = self.distance[start, stop]
        return any(
            self.distance[start, near] + 1 + self.distance[far, stop] == length
            for near, far in ((u, v), (v, u))
        )


def graph(attached: Mapping[str, str], links: Iterable[tuple[str, str]]) -> Topology:
    """The topology from each host's switch and the links between switches (listed twice for two parallel
    links).

    A pair certainly crosses a link if all shortest routes do. Otherwise it depends on routing tables, which
    are not read. So for a fat tree the topology has the uplinks of each leaf switch as one group; for a tree
    and a dragonfly it has each link.
    """
    hosts = tuple(attached)
    link_counts: dict[tuple[str, str], int] = {}
    for first, second in links:
        if first != second:
            ends = (min(first, second), max(first, second))
            link_counts[ends] = link_counts.get(ends, 0) + 1
    switches = sorted({*attached.values(), *(name for ends in link_counts for name in ends)})
    number = {name: index for index, name in enumerate(switches)}
    edges = [(number[first], number[second]) for first, second in link_counts]
    distance, routes = _shortest_routes(len(switches), edges)
    leaves = sorted({number[name] for name in attached.values()})
    leaf = np.array([leaves.index(number[name]) for name in attached.values()], dtype=np.int32)
    between, ways = distance[np.ix_(leaves, leaves)], routes[np.ix_(leaves, leaves)]
    reachable = between < _FAR
    groups: list[LinkGroup] = []
    cables: dict[str, tuple[int, int]] = {}
    for (u, v), (ends, count) in zip(edges, link_counts.items(), strict=True):
        crosses = (distance[leaves, u][:, None] + 1 + distance[v, leaves][None, :] == between) & reachable
        crosses &= routes[leaves, u][:, None] * routes[v, leaves][None, :] >= ways
        if parts := _parts(crosses, leaf):
            name = f"{ends[0]} - {ends[1]}" + (f" ({count} links)" if count > 1 else "")
            groups.append(LinkGroup(name, "link" if count == 1 else "group", parts))
            cables[name] = (u, v)
    for index, name in enumerate(switches):
        crosses = (distance[leaves, index][:, None] + distance[index, leaves][None, :] == between) & reachable
        crosses &= routes[leaves, index][:, None] * routes[index, leaves][None, :] >= ways
        if index in leaves:
            inside = leaf == leaves.index(index)
            parts = ((inside, ~inside),)
            degree = sum(count for ends, count in link_counts.items() if name in ends)
            if degree > 1:
                groups.append(LinkGroup(f"all {degree} links of {name} to switches", "group", parts))
            groups.append(LinkGroup(name, "switch", (*parts, (inside, inside))))
        elif parts := _parts(np.triu(crosses), leaf):
            groups.append(LinkGroup(name, "switch", parts))
    hops = np.where(reachable, between + 1, _FAR).astype(np.int16)
    names = tuple(switches[index] for index in leaves)
    return Topology(hosts, leaf, hops, tuple(groups), names, cables, distance, np.array(leaves)[leaf])


_FAR = 10_000


def _shortest_routes(count: int, edges: Sequence[tuple[int, int]]) -> tuple[Indices, Values]:
    """Lengths of shortest routes between switches, and their number; both of shape (switches, switches)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    matrix = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
    lengths = shortest_path(matrix, directed=False, unweighted=True) if count else np.zeros((0, 0))
    distance = np.where(np.isfinite(lengths), lengths, _FAR).astype(np.int64)
    adjacent = (matrix + matrix.T).toarray()
    routes = np.eye(count)
    for length in range(1, int(distance[distance < _FAR].max(initial=0)) + 1):
        routes += np.where(distance == length, np.where(distance == length - 1, routes, 0.0) @ adjacent, 0.0)
    return distance, routes


def _parts(on: Mask, leaf: Numbers) -> tuple[tuple[Mask, Mask], ...]:
    """Rectangles of hosts from pairs of leaf switches; equal rows form one rectangle."""
    rows = np.flatnonzero(on.any(axis=1))
    if not len(rows):
        return ()
    _, first, where = np.unique(np.packbits(on[rows], axis=1), axis=0, return_index=True, return_inverse=True)
    number = np.full(len(on), -1)
    number[rows] = np.reshape(where, -1)
    return tuple((number[leaf] == group, on[rows[row], leaf]) for group, row in enumerate(first.tolist()))
