"""Which way the messages of a launch went: by the bytes that its rows asked for and the bytes that interfaces counted. Pure.

Rule. Rows of long messages (LONG) show how many bytes went from rank to rank, on one host and between hosts. Of each row,
an interface's share is what it counted, less background, over what was asked for; of a launch, the median over these rows.

- All interfaces together counted less than NOTHING of it: shared memory, if the ranks are on one host.
- They counted at least ALL of it: the interfaces that have a part of it (PART) carried the messages.
- In between: in part over these interfaces.
- Unknown: too few bytes (FEWEST), no counters, or nothing counted between two hosts.

Why these numbers: what passes an interface is counted once at least, and headers and acknowledgements only add to it (5 %
in Ethernet frames of 1500 bytes, 0.1 % on loopback), so a share lies at 0 or above 1. The tolerance is for bytes asked
for, which follow from the middle sample's repetitions where samples are not read and are then too many by up to a factor
of two on a busy machine, and for background that differs from row to row. Background is what rows of short messages (SHORT)
saw per second at least, less HEADERS bytes for each message.
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
Kind: TypeAlias = Literal["shared memory", "interfaces", "in part", "unknown"]

LONG, SHORT = 4096, 64  # bytes of a message; below LONG, headers are most of what an interface counts
NOTHING, ALL = 0.2, 0.5  # shares of the bytes asked for
PART = 0.1  # of what was counted
FEWEST = 2e5  # bytes asked for by all rows: the launcher's own traffic is negligible beside them
FEWEST_OF_A_ROW = 2e4
HEADERS = 500  # bytes at most of a short message, its answer and the launcher's own traffic
LOOPBACK = re.compile(r"lo\d*$")
WINDOW = 256  # messages in flight of Uniband and Biband


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The way of all messages of a launch that stay on a host, or of all that leave it. `interfaces`: name -> share of the bytes
    asked for, the largest first; `above`: interfaces that counted the same bytes once more (a bond, IP over InfiniBand).
    `asked`, `counted`: bytes over `rows` rows; `share`: median over rows; `why`: what is missing where it is unknown."""

    placement: Placement
    kind: Kind
    asked: float
    counted: float = 0.0
    rows: int = 0
    share: float = 0.0
    interfaces: dict[str, float] = {}
    above: list[str] = []
    why: str = ""

    @property
    def name(self) -> str:
        """`shared memory`, `loopback TCP`, `eth0`, `eth0 and eth1`, `unknown`: without figures."""
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
    """Bytes that go from rank to rank in all repetitions of a row: on one host, and between hosts."""

    within: float
    between: float

    def of(self, placement: Placement) -> float:
        return self.within if placement == "intra-node" else self.between


def ways(run: Run, rows: Iterable[Result]) -> list[Way]:
    """The ways of a launch: one for messages within hosts, one for those between hosts, where it has such messages."""
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
            if traffic is not None and traffic.of(placement) > 0
        ]
        if parts:
            paths.append(_way(placement, parts, background, listed))
    return paths


def mean_repetitions(sampled: Iterable[Sample]) -> dict[int, int]:
    """Mean repetitions of a sample, by number of the row."""
    totals: dict[int, tuple[int, int]] = {}
    for sample in sampled:
        total, count = totals.get(sample.row, (0, 0))
        totals[sample.row] = total + (sample.repetitions or 0), count + 1
    return {row: round(total / count) for row, (total, count) in totals.items()}


def set_repetitions(rows: Iterable[Result], mean: Mapping[int, int]) -> list[Result]:
    """Rows of a launch in passes with the mean over their samples instead of the middle sample's repetitions: the evidence
    is of all samples, and on a busy machine their repetitions differ."""
    return [
        msgspec.structs.replace(row, repetitions=mean[row.row])
        if row.row is not None and row.row in mean
        else row
        for row in rows
    ]


def paths_summary(paths: Iterable[Way]) -> str | None:
    """`within a host: shared memory; between hosts: eth0`; None where no path is known."""
    titles = {"intra-node": "within a host", "inter-node": "between hosts"}
    return "; ".join(f"{titles[path.placement]}: {path}" for path in paths) or None


def transports_reported(facts: Mapping[str, Any]) -> str | None:
    """`the MPI itself: netmod ucx`: the transports in the facts of a launch, as the MPI reports them; None where it was not
    asked."""
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
    """Seconds in which these were timed. PingPong's time is that of one way of two; a row of overlap is measured twice."""
    if row.time_overlapped_seconds is not None:
        each = row.time_overlapped_seconds + (row.time_pure_seconds or 0.0)
    else:
        each = (row.time_max_seconds or 0.0) * timed_ways(row.benchmark)
    return each * repetitions_of(row)


def timed_ways(benchmark: str) -> int:
    """Messages one after the other in a repetition whose time is divided by their number."""
    return 2 if benchmark.lower().startswith("pingpong") else 1


def traffic_of(row: Result, hosts: Mapping[int, str], window: int = WINDOW) -> RowTraffic | None:
    """What a row asks for; None where that is not known. `hosts`: by world rank.

    Of collectives the fewest bytes that any algorithm moves, where all ranks are on one host or each is on its own: else
    the algorithm decides which ranks communicate. Times two in rows of overlap, which are measured twice.
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

# How a name begins -> from, to and number of messages, of p ranks with w messages in flight.
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
    """Lengths that go from rank to rank in one repetition."""
    all_to_all = benchmark.lower().startswith("all_")  # All_put_all, All_get_all
    least = _LEAST.get("alltoall" if all_to_all else collective_models.family(benchmark) or "")
    return least(processes) if least and processes > 1 else None


def _counted(row: Result) -> dict[str, float]:
    """Bytes by interface; each is counted where it is sent and where it is received."""
    totals: dict[str, float] = {}
    for interface in (row.evidence.interfaces if row.evidence else None) or []:
        totals[interface.name] = (
            totals.get(interface.name, 0.0) + (interface.sent_bytes + interface.received_bytes) / 2
        )
    return totals


def _background(rows: Iterable[Result]) -> dict[str, float]:
    """Bytes per second by interface that rows of short messages saw at least, and that were not their own."""
    rates = []
    for row in rows:
        if row.evidence is None or (row.bytes or 0) > SHORT or row.benchmark in ("Uniband", "Biband"):
            continue
        if (seconds := seconds_of(row)) > 0:
            own_bytes = HEADERS * _messages(row) * repetitions_of(row)
            rates.append(
                {name: max(0.0, count - own_bytes) / seconds for name, count in _counted(row).items()}
            )
    names = {name for by_name in rates for name in by_name}
    return {name: min(by_name.get(name, 0.0) for by_name in rates) for name in names}


def _messages(row: Result) -> float:
    """Messages of one repetition; where the algorithm is not known, as many as a dissemination has."""
    processes = row.processes or 1
    pairs = _pairs(row.benchmark, processes, WINDOW)
    if pairs is not None:
        return float(sum(count for *_, count in pairs))
    return float(max(_collective_factor(row.benchmark, processes) or 0, processes * processes.bit_length()))


def _way(
    placement: Placement,
    parts: list[tuple[Result, RowTraffic]],
    background: Mapping[str, float],
    listed: bool,
) -> Way:
    long = [
        (row, traffic)
        for row, traffic in parts
        if (row.bytes or 0) >= LONG and traffic.of(placement) >= FEWEST_OF_A_ROW and row.evidence is not None
    ]
    expected = sum(traffic.of(placement) for _, traffic in long)
    if not listed and not any(_counted(row) for row, _ in parts):
        why = "the records have no counters of interfaces"
    elif not any((row.bytes or 0) >= LONG for row, _ in parts):
        why = f"no message of {LONG} bytes or more"
    elif expected < FEWEST:
        why = "too few bytes were asked for"
    else:
        return _judged(placement, long, background)
    return Way(placement=placement, kind="unknown", asked=expected, rows=len(long), why=why)


def _judged(
    placement: Placement, long: list[tuple[Result, RowTraffic]], background: Mapping[str, float]
) -> Way:
    shares: list[dict[str, float]] = []
    counted = 0.0
    for row, traffic in long:
        by_name = {
            name: max(0.0, count - background.get(name, 0.0) * seconds_of(row))
            for name, count in _counted(row).items()
            if _may_carry(name, placement, traffic)
        }
        counted += sum(by_name.values())
        shares.append({name: count / traffic.of(placement) for name, count in by_name.items()})
    names = {name for row_shares in shares for name in row_shares}
    middle = {name: median(row_shares.get(name, 0.0) for row_shares in shares) for name in names}
    way = way_of(placement, sum(traffic.of(placement) for _, traffic in long), middle)
    return msgspec.structs.replace(way, rows=len(long), counted=counted)


def way_of(placement: Placement, expected: float, shares: Mapping[str, float]) -> Way:
    """The way according to the rule; `shares`: what each interface counted over what was asked for."""
    total = sum(shares.values())
    carriers = {
        name: shares[name]
        for name in sorted(shares, key=lambda name: -shares[name])
        if shares[name] >= PART * total
    }
    carriers, above = _layers(carriers)
    share = sum(carriers.values())
    way = Way(placement=placement, kind="interfaces", asked=expected, counted=total * expected, share=share)
    if share >= NOTHING:
        kind: Kind = "interfaces" if share >= ALL else "in part"
        return msgspec.structs.replace(way, kind=kind, interfaces=carriers, above=above)
    if placement == "intra-node":
        return msgspec.structs.replace(way, kind="shared memory")
    return msgspec.structs.replace(way, kind="unknown", why="no interface counted what went between hosts")


def _may_carry(name: str, placement: Placement, traffic: RowTraffic) -> bool:
    """Loopback never leaves a host. Where a row also has messages between hosts, other interfaces carry those."""
    loopback = bool(LOOPBACK.match(name))
    if placement == "inter-node":
        return not loopback
    return loopback or traffic.between == 0


def _layers(carriers: dict[str, float]) -> tuple[dict[str, float], list[str]]:
    """Bytes that two layers counted, as a bond and its members do, are in the sum twice. Returns the layer with more
    interfaces (of two interfaces the one that counted less), and the name of the interface that is left out."""
    total = sum(carriers.values())
    for name, share in carriers.items():
        rest = total - share
        if share >= ALL and rest >= ALL and abs(share - rest) <= PART * share and len(carriers) > 1:
            kept = {other: part for other, part in carriers.items() if other != name}
            return kept, [name]
    return carriers, []
