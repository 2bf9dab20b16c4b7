"""Finds which path the messages of a launch took, from the requested bytes of its rows and the bytes that interfaces counted. Pure.

Rule. The rows of long messages (LONG) tell how many bytes went from rank to rank, within a host and between hosts. In a row,
the share of an interface is its counted bytes, less background, divided by the requested bytes. The share in a launch is the
median over these rows. The path is

- shared memory, if the ranks are on one host and the shares of all interfaces sum up to less than NOTHING;
- the interfaces with at least PART of the counted bytes, if the sum is at least ALL;
- in part over these interfaces, if the sum is between the two;
- unknown, if fewer than FEWEST bytes were requested, there are no counters, or nothing was counted between two hosts.

Why these numbers: an interface counts each byte that it carries at least once, and headers and acknowledgments only add to
that (5 % in Ethernet frames of 1500 bytes, 0.1 % on loopback). So a true share is 0 or above 1. The tolerance allows for two
errors. The requested bytes may be up to twice too large on a busy machine, if they follow from the middle sample's repetitions
because the samples are not read. And background differs from row to row: it is the lowest rate (bytes per second) in rows of
short messages (SHORT), less HEADERS bytes for each message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from imb.model import collective_models
from imb.model.facts import facts_in
from imb.model.records import Result, Run, Sample
from imb.model.units import percent_text

Placement: TypeAlias = Literal["intra-node", "inter-node"]
PathKind: TypeAlias = Literal["shared memory", "interfaces", "in part", "unknown"]

LONG, SHORT = 4096, 64  # bytes of a message; of shorter messages than LONG, interfaces count mostly headers
NOTHING, ALL = 0.2, 0.5  # shares of the requested bytes
PART = 0.1  # share of the counted bytes
FEWEST = 2e5  # bytes requested in all rows, so that the launcher's own traffic is negligible
FEWEST_OF_A_ROW = 2e4
HEADERS = 500  # most bytes of a short message with its answer and the launcher's own traffic
LOOPBACK = re.compile(r"lo\d*$")
WINDOW = 256  # messages in flight in Uniband and Biband


class MessagePath(msgspec.Struct, frozen=True, kw_only=True):
    """The path of all messages of a launch within hosts, or of all messages between hosts.

    `interfaces`: name -> share of the requested bytes, the largest first; `above`: interfaces that counted the same bytes once more
    (a bond, IP over InfiniBand). `asked`, `counted`: requested and counted bytes in `rows` rows; `share`: median over rows; `why`: the
    reason if the path is unknown.
    """

    placement: Placement
    kind: PathKind
    asked: float
    counted: float = 0.0
    rows: int = 0
    share: float = 0.0
    interfaces: dict[str, float] = {}
    above: list[str] = []
    why: str = ""

    @property
    def name(self) -> str:
        """The path without values: `shared memory`, `loopback TCP`, `eth0`, `eth0 and eth1`, `unknown`."""
        if self.kind in ("shared memory", "unknown"):
            return self.kind
        names = ["loopback TCP" if LOOPBACK.match(name) else name for name in sorted(self.interfaces)]
        carriers = " and ".join(names)
        return f"in part {carriers}" if self.kind == "in part" else carriers

    def __str__(self) -> str:
        """`eth0 and eth1 (51 %, 49 %)`; `unknown (no message of 4096 bytes or more)`."""
        if self.kind == "unknown":
            return f"unknown ({self.why})"
        total = sum(self.interfaces.values())
        if self.kind == "in part":
            return f"{self.name} ({percent_text(self.share, 0)} of the bytes)"
        text = self.name
        if len(self.interfaces) > 1:
            text += f" ({', '.join(percent_text(self.interfaces[name] / total, 0) for name in sorted(self.interfaces))})"
        return text + (f", also counted on {', '.join(self.above)}" if self.above else "")


class RowTraffic(NamedTuple):
    """Bytes that go from rank to rank in all repetitions of a row, within hosts and between hosts."""

    within: float
    between: float

    def bytes_on(self, placement: Placement) -> float:
        return self.within if placement == "intra-node" else self.between


def message_paths(run: Run, rows: Iterable[Result]) -> list[MessagePath]:
    """The paths of a launch: one for messages within hosts and one for messages between hosts, if it has such messages."""
    hosts = {rank.rank: rank.host for rank in run.ranks or []}
    judged = [row for row in rows if (row.processes or 0) <= len(hosts)]
    listed = any(rank.interfaces for rank in run.ranks or [])
    window = run.option("window_size", int) or WINDOW
    traffic_by_row = [
        (row, traffic_of(row, hosts, row.in_flight or window)) for row in judged if run.component != "IO"
    ]
    background = _background(judged)
    paths = []
    placements: tuple[Placement, ...] = ("intra-node", "inter-node")
    for placement in placements:
        parts = [
            (row, traffic)
            for row, traffic in traffic_by_row
            if traffic is not None and traffic.bytes_on(placement) > 0
        ]
        if parts:
            paths.append(_message_path(placement, parts, background, listed))
    return paths


def mean_repetitions(sampled: Iterable[Sample]) -> dict[int, int]:
    """Row number -> mean number of repetitions of its samples."""
    totals: dict[int, tuple[int, int]] = {}
    for sample in sampled:
        total, count = totals.get(sample.row, (0, 0))
        totals[sample.row] = total + (sample.repetitions or 0), count + 1
    return {row: round(total / count) for row, (total, count) in totals.items()}


def set_repetitions(rows: Iterable[Result], mean: Mapping[int, int]) -> list[Result]:
    """The rows of a launch in passes, with the mean repetitions of their samples in place of the middle sample's. The evidence covers
    all samples, whose repetitions differ on a busy machine."""
    return [
        msgspec.structs.replace(row, repetitions=mean[row.row])
        if row.row is not None and row.row in mean
        else row
        for row in rows
    ]


def paths_summary(paths: Iterable[MessagePath]) -> str | None:
    """`within a host: shared memory; between hosts: eth0`, or None if there are no paths."""
    titles = {"intra-node": "within a host", "inter-node": "between hosts"}
    return "; ".join(f"{titles[path.placement]}: {path}" for path in paths) or None


def transports_reported(facts: Mapping[str, Any]) -> str | None:
    """The transports that the MPI reported, from the facts of a launch (`the MPI itself: netmod ucx`), or None if it was not asked."""
    conditions = facts_in(facts, "conditions")
    was_launched = facts.get("outcome") in ("measured", "failed")
    if not was_launched or "transports" not in conditions:
        return None
    return f"the MPI itself: {conditions['transports'] or 'not stated'}"


def repetitions_of(row: Result) -> float:
    """All repetitions that the evidence of a row covers."""
    samples = (row.passes.samples or 1) if row.passes else 1
    return float((row.repetitions or 0) * samples)


def seconds_of(row: Result) -> float:
    """Seconds of all repetitions that the evidence covers. PingPong reports half of a round trip; a row of overlap is measured twice."""
    if row.time_overlapped_seconds is not None:
        each = row.time_overlapped_seconds + (row.time_pure_seconds or 0.0)
    else:
        each = (row.time_max_seconds or 0.0) * messages_per_time(row.benchmark)
    return each * repetitions_of(row)


def messages_per_time(benchmark: str) -> int:
    """The number of consecutive messages in a repetition by which the benchmark divides its time."""
    return 2 if benchmark.lower().startswith("pingpong") else 1


def traffic_of(row: Result, hosts: Mapping[int, str], window: int = WINDOW) -> RowTraffic | None:
    """The requested bytes of a row, or None if unknown. `hosts`: world rank -> host.

    For a collective, these are the fewest bytes that any algorithm moves. They are known only if all ranks are on one host or each
    rank has a host of its own; otherwise the algorithm decides which ranks communicate. Rows of overlap count twice, since they are
    measured twice.
    """
    if not row.bytes or not row.repetitions or row.multi == "each_group":
        return None
    count = repetitions_of(row) * (2 if row.time_overlapped_seconds is not None else 1)
    within = between = 0.0
    for group in row.groups or [list(range(row.processes or 0))]:
        places = [hosts.get(rank, "") for rank in group]
        if not places or "" in places:
            return None
        pairs = _pairs(row.benchmark, len(places), window)
        if pairs is not None:
            for a, b, messages in pairs:
                if places[a] == places[b]:
                    within += messages * row.bytes * count
                else:
                    between += messages * row.bytes * count
            continue
        least = _collective_factor(row.benchmark, len(places))
        if least is None:
            return None
        if len(set(places)) == 1:
            within += least * row.bytes * count
        elif len(set(places)) == len(places):
            between += least * row.bytes * count
        else:
            return None
    return RowTraffic(within, between)


_Pairs: TypeAlias = list[tuple[int, int, int]]

# Beginning of a name -> (from, to, number of messages), ... for p ranks with w messages in flight.
_TRANSFERS: tuple[tuple[str, Callable[[int, int], _Pairs]], ...] = (
    ("pingpong", lambda p, w: [(0, 1, 2)]),
    ("pingping", lambda p, w: [(0, 1, 2)]),
    ("sendrecv", lambda p, w: [(a, (a + 1) % p, 1) for a in range(p)]),
    ("exchange", lambda p, w: [(a, (a + 1) % p, 2) for a in range(p)]),
    ("uniband", lambda p, w: [(a, a + p // 2, w) for a in range(p // 2)]),
    ("biband", lambda p, w: [(a, a + p // 2, 2 * w) for a in range(p // 2)]),
    ("unidir_", lambda p, w: [(0, 1, 1)]),
    ("bidir_", lambda p, w: [(0, 1, 2)]),
    ("one_", lambda p, w: [(0, b, 1) for b in range(1, p)]),
)


def _pairs(benchmark: str, processes: int, window: int) -> _Pairs | None:
    name = benchmark.lower()
    if processes < 2:
        return None
    return next(
        (pairs_of(processes, window) for begin, pairs_of in _TRANSFERS if name.startswith(begin)), None
    )


_LEAST: dict[str, Callable[[int], float]] = {
    "bcast": lambda p: p - 1,
    "scatter": lambda p: p - 1,
    "gather": lambda p: p - 1,
    "reduce": lambda p: p - 1,
    "reduce_scatter": lambda p: p - 1,
    "allreduce": lambda p: 2 * (p - 1),
    "allgather": lambda p: p * (p - 1),
    "alltoall": lambda p: p * (p - 1),
}


def _collective_factor(benchmark: str, processes: int) -> float | None:
    """How many times the message size goes from rank to rank in one repetition, or None if unknown."""
    all_to_all = benchmark.lower().startswith("all_")  # All_put_all, All_get_all
    least = _LEAST.get("alltoall" if all_to_all else collective_models.family(benchmark) or "")
    return least(processes) if least and processes > 1 else None


def _counted_bytes(row: Result) -> dict[str, float]:
    """Bytes by interface name: half of the sent plus received bytes, since both ends of a message count it."""
    totals: dict[str, float] = {}
    for interface in (row.evidence.interfaces if row.evidence else None) or []:
        totals[interface.name] = (
            totals.get(interface.name, 0.0) + (interface.sent_bytes + interface.received_bytes) / 2
        )
    return totals


def _background(rows: Iterable[Result]) -> dict[str, float]:
    """By interface, the lowest rate of other traffic in rows of short messages, in bytes per second."""
    rates = []
    for row in rows:
        if row.evidence is None or (row.bytes or 0) > SHORT or row.benchmark in ("Uniband", "Biband"):
            continue
        if (seconds := seconds_of(row)) > 0:
            own_bytes = HEADERS * _messages(row) * repetitions_of(row)
            rates.append(
                {name: max(0.0, count - own_bytes) / seconds for name, count in _counted_bytes(row).items()}
            )
    names = {name for by_name in rates for name in by_name}
    return {name: min(by_name.get(name, 0.0) for by_name in rates) for name in names}


def _messages(row: Result) -> float:
    """Messages in one repetition; at least as many as in a dissemination if the algorithm is unknown."""
    processes = row.processes or 1
    pairs = _pairs(row.benchmark, processes, WINDOW)
    if pairs is not None:
        return float(sum(count for *_, count in pairs))
    return float(max(_collective_factor(row.benchmark, processes) or 0, processes * processes.bit_length()))


def _message_path(
    placement: Placement,
    parts: list[tuple[Result, RowTraffic]],
    background: Mapping[str, float],
    listed: bool,
) -> MessagePath:
    long = [
        (row, traffic)
        for row, traffic in parts
        if (row.bytes or 0) >= LONG
        and traffic.bytes_on(placement) >= FEWEST_OF_A_ROW
        and row.evidence is not None
    ]
    expected = sum(traffic.bytes_on(placement) for _, traffic in long)
    if not listed and not any(_counted_bytes(row) for row, _ in parts):
        why = "the records have no counters of interfaces"
    elif not any((row.bytes or 0) >= LONG for row, _ in parts):
        why = f"no message of {LONG} bytes or more"
    elif expected < FEWEST:
        why = "too few bytes were asked for"
    else:
        return _judge_shares(placement, long, background)
    return MessagePath(placement=placement, kind="unknown", asked=expected, rows=len(long), why=why)


def _judge_shares(
    placement: Placement, long: list[tuple[Result, RowTraffic]], background: Mapping[str, float]
) -> MessagePath:
    shares: list[dict[str, float]] = []
    counted = 0.0
    for row, traffic in long:
        by_name = {
            name: max(0.0, count - background.get(name, 0.0) * seconds_of(row))
            for name, count in _counted_bytes(row).items()
            if _may_carry(name, placement, traffic)
        }
        counted += sum(by_name.values())
        shares.append({name: count / traffic.bytes_on(placement) for name, count in by_name.items()})
    names = {name for row_shares in shares for name in row_shares}
    middle = {name: median(row_shares.get(name, 0.0) for row_shares in shares) for name in names}
    path = path_by_shares(placement, sum(traffic.bytes_on(placement) for _, traffic in long), middle)
    return msgspec.structs.replace(path, rows=len(long), counted=counted)


def path_by_shares(placement: Placement, expected: float, shares: Mapping[str, float]) -> MessagePath:
    """The path according to the rule. `shares`: interface -> counted bytes divided by requested bytes."""
    total = sum(shares.values())
    carriers = {
        name: shares[name]
        for name in sorted(shares, key=lambda name: -shares[name])
        if shares[name] >= PART * total
    }
    carriers, above = _layers(carriers)
    share = sum(carriers.values())
    path = MessagePath(
        placement=placement, kind="interfaces", asked=expected, counted=total * expected, share=share
    )
    if share >= NOTHING:
        kind: PathKind = "interfaces" if share >= ALL else "in part"
        return msgspec.structs.replace(path, kind=kind, interfaces=carriers, above=above)
    if placement == "intra-node":
        return msgspec.structs.replace(path, kind="shared memory")
    return msgspec.structs.replace(path, kind="unknown", why="no interface counted what went between hosts")


def _may_carry(name: str, placement: Placement, traffic: RowTraffic) -> bool:
    """Whether an interface can carry these messages. Loopback carries no messages between hosts; if a row has such messages, other
    interfaces may have counted them, so only loopback is known to carry messages within hosts."""
    loopback = bool(LOOPBACK.match(name))
    if placement == "inter-node":
        return not loopback
    return loopback or traffic.between == 0


def _layers(carriers: dict[str, float]) -> tuple[dict[str, float], list[str]]:
    """Removes bytes that two layers counted, such as a bond and its members. Returns the layer with more interfaces (of two single
    interfaces, the one that counted less) and the names of the interfaces that are left out."""
    total = sum(carriers.values())
    for name, share in carriers.items():
        rest = total - share
        if share >= ALL and rest >= ALL and abs(share - rest) <= PART * share and len(carriers) > 1:
            kept = {other: part for other, part in carriers.items() if other != name}
            return kept, [name]
    return carriers, []
