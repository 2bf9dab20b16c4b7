"""Elements of a fabric that may be slow (hosts, links, switches), and the measured pairs that cross each of them. Pure.

A sparse matrix has a row per element and a column per pair: for 1,024 hosts and 1,100 links it has some 5
million entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.topology import Topology
from imb.fabric.judging.verdict import ElementKind
from imb.stats.arrays import Indices, Numbers, Values

FEWEST = 3  # fewest pairs of an element that is judged
# If the same pairs cross several elements, the one with the lowest number is named.
_RANK = {"core": 0, "host": 1, "link": 2, "switch": 3, "group": 4, "pair": 5}


@dataclass(frozen=True)
class FabricElement:
    """`endpoints`: the endpoint itself, or the endpoints whose pairs cross the element. `alternatives`:
    elements that the same measured pairs cross. `way`: "sender" or "receiver" if the element is an
    endpoint in this role."""

    kind: ElementKind
    name: str
    endpoints: tuple[int, ...]
    alternatives: tuple[str, ...] = ()
    way: str = ""


@dataclass(frozen=True)
class FabricElements:
    """`member`: SciPy's CSR matrix, elements by pairs."""

    each: tuple[FabricElement, ...]
    member: Any

    @cached_property
    def counts(self) -> Values:
        counts: Values = np.diff(self.member.indptr).astype(np.float64)
        return counts

    @cached_property
    def kinds(self) -> Indices:
        """Kind of each element as a number: hosts are compared with hosts, links with links."""
        return np.array([_RANK[element.kind] for element in self.each], dtype=np.int64)

    def pairs(self, element: int) -> Indices:
        """Columns of the pairs that cross an element."""
        begin, end = self.member.indptr[element : element + 2]
        columns: Indices = self.member.indices[begin:end]
        return columns


def elements_of(
    endpoints: Sequence[Endpoint],
    a: Numbers,
    b: Numbers,
    topology: Topology | None,
) -> FabricElements:
    """Endpoints, hosts with several endpoints and their links, and groups of links. Elements with fewer
    than FEWEST pairs are left out. Elements that the same measured pairs cross are merged."""
    from scipy.sparse import csr_array

    column = np.full((len(endpoints), len(endpoints)), -1, dtype=np.int32)
    column[a, b] = column[b, a] = np.arange(len(a), dtype=np.int32)
    hash_of = np.random.default_rng(7).integers(1, 2**40, len(a))
    by_pairs: dict[tuple[int, int], tuple[FabricElement, Numbers]] = {}
    for element, crossing in _candidates(endpoints, column, topology):
        if len(crossing) < FEWEST:
            continue
        key = (len(crossing), int(hash_of[crossing].sum()))
        if key in by_pairs:
            first = by_pairs[key][0]
            same = tuple(dict.fromkeys((*first.alternatives, element.name)))
            by_pairs[key] = (
                FabricElement(
                    first.kind,
                    first.name,
                    first.endpoints,
                    tuple(name for name in same if name != first.name),
                ),
                by_pairs[key][1],
            )
        else:
            by_pairs[key] = (element, crossing)
    rows = [crossing for _, crossing in by_pairs.values()]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    if starts[-1] <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)  # else SciPy also has indices of 8 bytes
    indices = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
    member = csr_array((np.ones(len(indices)), indices, starts), shape=(len(rows), len(a)))
    return FabricElements(tuple(element for element, _ in by_pairs.values()), member)


def _candidates(
    endpoints: Sequence[Endpoint], column: Numbers, topology: Topology | None
) -> Iterator[tuple[FabricElement, Numbers]]:
    """Yield all elements with their pairs. If several have the same pairs, the first one is named."""
    hosts: dict[str, list[int]] = {}
    for endpoint in endpoints:
        hosts.setdefault(endpoint.host, []).append(endpoint.index)
        row = column[endpoint.index]
        yield (
            FabricElement("core" if endpoint.place else "host", endpoint.name, (endpoint.index,)),
            row[row >= 0],
        )
    if len(hosts) > 1:
        for host, inside in hosts.items():
            if len(inside) > 1:
                rest = np.setdiff1d(np.arange(len(endpoints)), inside)
                out = _rectangle(column, np.array(inside), rest)
                within = np.unique(_rectangle(column, np.array(inside), np.array(inside)))
                yield FabricElement("host", host, tuple(inside)), np.concatenate([out, within])
                yield FabricElement("link", f"link of {host}", tuple(inside)), out
    if topology is None:
        return
    place = {name: index for index, name in enumerate(topology.hosts)}
    where = np.array([place.get(endpoint.host, len(place)) for endpoint in endpoints])
    order = sorted(topology.groups, key=lambda group: _RANK[group.kind])
    for group in order:
        crossing: list[Numbers] = []
        ends: set[int] = set()
        for first, second in group.parts:
            same = first is second or np.array_equal(first, second)
            ours, theirs = (np.flatnonzero(np.append(mask, False)[where]) for mask in (first, second))
            pairs = _rectangle(column, ours, theirs)
            crossing.append(np.unique(pairs) if same else pairs)
            ends.update(ours.tolist(), theirs.tolist())
        smallest = min((first for first, _ in group.parts), key=np.count_nonzero)
        members = (
            tuple(np.flatnonzero(np.append(smallest, False)[where]).tolist())
            if len(group.parts) == 1
            else tuple(sorted(ends))
        )
        yield FabricElement(group.kind, group.name, members, group.alternatives), np.concatenate(crossing)


def _rectangle(column: Numbers, first: Indices, second: Indices) -> Numbers:
    """The measured pairs between two sets of endpoints."""
    block = column[np.ix_(first, second)].ravel()
    columns: Numbers = block[block >= 0]
    return columns


def hardly_measured_endpoints(sweep: Sweep) -> list[str]:
    """Names of endpoints that met too few others to be judged. A meeting without an answer counts."""
    count = len(sweep.endpoints)
    measured = np.zeros(count * count, dtype=bool)
    measured[sweep.pair_codes()] = True
    met = np.flatnonzero(measured)
    partners = np.bincount(np.concatenate([met // count, met % count]), minlength=count)
    fewest = min(FEWEST, count - 1)
    return [endpoint.name for endpoint in sweep.endpoints if partners[endpoint.index] < fewest]
