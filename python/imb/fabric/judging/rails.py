"""Rails: the interfaces of a host, by the bytes that they counted while its pairs exchanged long messages. Pure.

Two findings. A host whose share of bytes on a rail is less than half of that of its peers: its share against the median of all hosts with the same rails,
in units of the larger of two spreads: of hosts (median absolute deviation), and of a mean of so many pairs. One-sided Student's, Bonferroni over hosts and rails. This is a family of its own.
And, where most bytes of a pair went by one rail, the rail is a component like a link: its pairs may be slow (imb.fabric.judging.components).

A rail that no host uses is a note, not a finding: a network for another purpose looks the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.special import stdtr

from imb.fabric.judging.sweep import Endpoint, Rails
from imb.fabric.judging.verdict import QuietRail
from imb.model.path import LOOPBACK
from imb.model.records import Result
from imb.stats.arrays import Indices, Mask, Numbers, Values
from imb.stats.medians import EFFICIENCY, TO_DEVIATION, nanmedian

PART = 0.1  # of all bytes: rails that carry less are not in use
_LESS = 0.5  # of the share of its peers: a rail with less is quiet
_LEAST_SPREAD = 0.02  # of shares: headers and background
_BETTER = 10.0  # times the degrees of freedom, at most, where the spread is known by more than the hosts
_MOSTLY = 0.8  # of the bytes of a pair: the rail that carried them is that of the pair
_FEWEST_HOSTS = 4


@dataclass(frozen=True)
class Shares:
    """`names`: of rails in use; `of`: share of each host's bytes on each of them, NaN where a host has no bytes or
    no such rail; `error`: of such a
    share, by rail, from the pairs of a host; `unused`: names of rails without a byte of any host that differ from one in use by their number only."""

    names: tuple[str, ...]
    of: Values
    error: Values
    unused: tuple[str, ...]


def shares(rails: Rails, count: int) -> Shares:
    """The shares of each host, over all its pairs."""
    rail_count = len(rails.names)
    each = np.bincount(rails.end * rail_count + rails.rail, rails.carried, count * rail_count).reshape(
        count, rail_count
    )
    total = each.sum(axis=1, keepdims=True)
    part = np.divide(each, total, out=np.full(each.shape, np.nan), where=total > 0)
    part[(each == 0) & ~_has_rail(rails, count)] = np.nan
    usual = _median(part)
    used = np.flatnonzero(usual >= PART)
    names = tuple(rails.names[index] for index in used.tolist())
    stems = {_stem(name) for name in names}
    every = dict.fromkeys((*rails.names, *chain.from_iterable(rails.listed)))
    met = {name for name, sent in zip(rails.names, each.sum(axis=0), strict=True) if sent}
    unused = tuple(name for name in every if name not in met and _stem(name) in stems)
    return Shares(names, part[:, used], _error(rails, np.isfinite(part))[used], unused)


def _has_rail(rails: Rails, count: int) -> Mask:
    """Host by rail; a host without a list has them all."""
    listed = rails.listed or ((),) * count
    return np.array(
        [[not interfaces or name in interfaces for name in rails.names] for interfaces in listed], dtype=bool
    )


def _median(columns: Values) -> Values:
    """The median of the known values of each column; 0 where none is known."""
    return np.nan_to_num(nanmedian(np.where(np.isfinite(columns), columns, np.nan)))


def _by_pair(rails: Rails, count: int) -> tuple[Indices, Values]:
    """Host * count + partner, in order; bytes on each rail."""
    each, inverse = np.unique(rails.end.astype(np.int64) * count + rails.other, return_inverse=True)
    rail_count = len(rails.names)
    by_rail = np.bincount(inverse * rail_count + rails.rail, rails.carried, len(each) * rail_count)
    return np.asarray(each, dtype=np.int64), np.asarray(by_rail.reshape(-1, rail_count), dtype=np.float64)


def _error(rails: Rails, has_rail: Mask) -> Values:
    """Standard error of a host's share, by rail, of hosts that have the rail: pairs differ, most where each goes by one rail."""
    count = len(has_rail)
    each, by_rail = _by_pair(rails, count)
    part = by_rail / np.maximum(by_rail.sum(axis=1, keepdims=True), 1.0)
    end = each // count
    pairs = np.maximum(np.bincount(end, minlength=count), 1)[:, None]
    mean = np.stack([np.bincount(end, column, count) for column in part.T], axis=1) / pairs
    away = (part - mean[end]) ** 2
    variance = np.stack([np.bincount(end, column, count) for column in away.T], axis=1) / pairs
    return _median(np.where(has_rail, np.sqrt(variance / pairs), np.nan))


def carried(rows: Iterable[Result], host: str, interfaces: Collection[str]) -> dict[str, float]:
    """Share of the bytes of a host on each interface while these rows were measured; of these `interfaces`, unless others carried all. Empty:
    none counted."""
    total: dict[str, float] = {}
    for row in rows:
        for traffic in (row.evidence.interfaces if row.evidence else None) or []:
            if traffic.host == host and not LOOPBACK.match(traffic.name):
                total[traffic.name] = (
                    total.get(traffic.name, 0.0) + traffic.sent_bytes + traffic.received_bytes
                )
    # A bond counts the bytes of its members once more.
    used = {name: each for name, each in total.items() if name in interfaces} or total
    every = sum(used.values())
    return {name: each / every for name, each in used.items()} if every else {}


def _stem(name: str) -> str:
    """mlx5_0, mlx5_1 and mlx5_1:2 have one."""
    return re.sub(r"\d+(:\d+)?$", "", name)


def quiet_rails(by_host: Shares, level: float) -> tuple[QuietRail, ...]:
    """Rails of single hosts that carry less than half of what they carry on other hosts."""
    have = np.isfinite(by_host.of)
    kinds, kind = np.unique(have, axis=0, return_inverse=True)
    alike = [np.flatnonzero(np.reshape(kind, -1) == number) for number in range(len(kinds))]
    alike = [hosts for hosts in alike if len(hosts) >= _FEWEST_HOSTS]
    tests = sum(int(have[hosts].sum()) for hosts in alike)
    quiet = []
    for hosts in alike:
        rails = np.flatnonzero(have[hosts[0]])
        part = by_host.of[np.ix_(hosts, rails)]
        usual = np.median(part, axis=0)
        between = TO_DEVIATION * np.median(np.abs(part - usual), axis=0)
        spread = np.maximum(np.maximum(between, by_host.error[rails]), _LEAST_SPREAD)
        # Where the spread is not that of few hosts, it is known better (Satterthwaite).
        degrees = max(EFFICIENCY * (len(hosts) - 1), 1.0) * np.minimum(
            spread / np.maximum(between, 1e-9), _BETTER
        )
        p = np.minimum(1.0, stdtr(degrees, (part - usual) / spread) * tests)
        for host, rail in np.argwhere((p <= level) & (part < _LESS * usual)).tolist():
            name = by_host.names[int(rails[rail])]
            quiet.append(
                QuietRail(
                    int(hosts[host]), name, float(part[host, rail]), float(usual[rail]), float(p[host, rail])
                )
            )
    return tuple(sorted(quiet, key=lambda rail: rail.endpoint))


def rail_components(
    rails: Rails, endpoints: Sequence[Endpoint], a: Numbers, b: Numbers
) -> Iterator[tuple[str, tuple[int, ...], Numbers]]:
    """Name, endpoints and pairs (columns of a, b) of each rail of a host, and of each rail of all hosts. A pair crosses a rail of a host that
    carried most of its bytes there, and a rail of all hosts that did so at both ends. Rails that all pairs or none cross are left out."""
    count = len(endpoints)
    used = shares(rails, count).names
    if len(used) < 2:
        return
    each, by_rail = _by_pair(rails, count)
    best = np.argmax(by_rail, axis=1)
    sure = by_rail[np.arange(len(each)), best] >= _MOSTLY * by_rail.sum(axis=1)
    mostly = np.where(sure, best, -1)

    def by(host: Numbers, partner: Numbers) -> Indices:
        keys = host.astype(np.int64) * count + partner
        at = np.minimum(np.searchsorted(each, keys), len(each) - 1)
        return np.where(each[at] == keys, mostly[at], -1)

    at_a, at_b = by(a, b), by(b, a)
    every = np.bincount(np.concatenate([a, b]), minlength=count)
    for rail in (rails.names.index(name) for name in used):
        name = rails.names[rail]
        both = np.flatnonzero((at_a == rail) & (at_b == rail))
        if 0 < len(both) < len(a):
            met = np.unique(np.concatenate([a[both], b[both]])).tolist()
            yield f"{name} of all hosts", tuple(met), both.astype(np.int32)
        first, second = np.flatnonzero(at_a == rail), np.flatnonzero(at_b == rail)
        ends = np.concatenate([a[first], b[second]])
        order = np.argsort(ends, kind="stable")
        columns = np.concatenate([first, second])[order].astype(np.int32)
        limits = np.searchsorted(ends[order], np.arange(count + 1))
        for end in endpoints:
            crossing = columns[limits[end.index] : limits[end.index + 1]]
            if 0 < len(crossing) < every[end.index]:
                yield f"{name} of {end.host}", (end.index,), crossing
