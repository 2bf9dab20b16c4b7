#!/usr/bin/env python3
"""How often `imb fabric` names the slow element, and how often one that is not slow.

    bench/fabric.py [--draws 1000] [--from 0] [--hosts 64,256,1024] [--seconds 600] [--noise 0.02,recorded] [--passes N] [--differ 0]
        [--blind together]
        [--no-speed] [--no-thresholds]

Sweeps over pairs of a fat tree and of a dragonfly are computed, not run: the time of a pair is that of its distance, divided by
the least speed on its routes, both ways at once as in Pair_Bidirectional, without contention between pairs of a round. bench/fabric_routes.py
shows that SimGrid's messages take the same routes and times. 0 to 3
elements (host, link between switches, switch port of a host) are slowed by 10 % or 50 %. Noise is recorded: deviations of
launches of a row of bench/pool.parquet from its median, runs of successive launches as passes of a pair. Their spread (17 % on the
machine that recorded them, a shared one) is scaled to 2 % unless --noise has `recorded`. A pair keeps its row; each launch begins at
another place of it.

--differ adds a deviation by host, normal with this spread: healthy hosts that are not alike. --blind: the topology is not given, and slow are hosts of one leaf
switch (`together`) or of any (`apart`), as many as --counts has.

Sweeps have the stages of `imb fabric`. Full ones have all pairs in 4 passes, then as many again while
undecided, up to 64; or the passes of --passes. Quick ones have 2 log2(N) + 4 rounds in 3 passes, then other rounds; once all
pairs were measured, as many passes again, up to 48. A further launch confirms what is suspected. Faults in one direction, other noise and files of topologies: bench/truth/fabric.py.
Beside it, on the same data (not with --no-thresholds): thresholds on the mean time of a host's pairs, 5 % above the median of hosts, and
mean + 3 standard deviations of hosts.

Named: of the slowed elements. Or as alternative: it is reported slow beside others that the sweep does not separate it from. False name:
draws with a named element that is not slowed. Confused: a link is named for a slowed host, or the other way round.
Exit status: 0 when everything ran, whatever it shows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from imb.fabric.judging import inference
from imb.fabric.judging.elements import FEWEST, FabricElement, FabricElements, elements_of
from imb.fabric.judging.inference import judge_sweeps
from imb.fabric.judging.round_plans import Circle, Round
from imb.fabric.judging.stages import search
from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.topology import LinkGroup, Topology, graph
from imb.fabric.judging.verdict import SweepVerdict
from imb.stats.arrays import Mask, Numbers
from imb.stats.error_rates import ANY_FALSE

HERE = Path(__file__).resolve().parent
WANTED = 0.1  # slower: not to be missed
LEVEL = ANY_FALSE
Values = npt.NDArray[np.float64]
BASE = 1.0e-6
PER_HOP = 0.15  # of the base, by switch
FAT_TREE = {64: 8, 256: 16, 1024: 32}  # hosts below a leaf, as many spines
# Hosts below a switch, switches of a group, groups.
DRAGONFLY = {64: (4, 4, 4), 256: (4, 8, 8), 1024: (4, 16, 16)}


@dataclass
class Network:
    """`slowable`: links between switches, with the pairs that cross them."""

    name: str
    topology: Topology
    slowable: list[LinkGroup] = field(default_factory=list)


def fat_tree(hosts: int) -> Network:
    """Two levels, as many spines as hosts per leaf; the route to a host uses spine (host mod spines): D-mod-k, as OpenSM's ftree. The
    link of a leaf and a spine is crossed by pairs that use it in either direction."""
    size = FAT_TREE[hosts]
    number = np.arange(hosts)
    leaf, spine = number // size, number % size
    groups: list[LinkGroup] = []
    for x in range(hosts // size):
        inside = leaf == x
        for y in range(size):
            here, there = inside & (spine == y), ~inside & (spine == y)
            parts = ((inside, there), (here, ~inside & ~there))
            groups.append(LinkGroup(f"leaf{x} - spine{y}", "link", parts))
        whole = (inside, ~inside)
        groups.append(LinkGroup(f"all {size} links of leaf{x} to switches", "group", (whole,)))
        groups.append(LinkGroup(f"leaf{x}", "switch", (whole, (inside, inside))))
    hops = np.where(np.eye(hosts // size, dtype=bool), 1, 3).astype(np.int16)
    names = tuple(f"n{one:04}" for one in range(hosts))
    topology = Topology(names, leaf.astype(np.int32), hops, tuple(groups))
    return Network("fat tree", topology, [one for one in groups if one.kind == "link"])


def crosses(group: LinkGroup, a: Numbers, b: Numbers) -> Mask:
    """Which pairs of hosts, given by index, cross the group."""
    crossing = np.zeros(len(a), dtype=bool)
    for first, second in group.parts:
        crossing |= (first[a] & second[b]) | (first[b] & second[a])
    return crossing


def dragonfly(hosts: int) -> Network:
    """Groups of switches, all linked to each other, one link between any two groups, which pairs of these groups cross. The topology,
    which `imb fabric` has from a list of links, knows this only where no other route is as short."""
    per_switch, switches, groups = DRAGONFLY[hosts]
    names = [f"n{one:04}" for one in range(hosts)]
    attached = {
        name: f"g{one // (per_switch * switches)}s{one // per_switch % switches}"
        for one, name in enumerate(names)
    }
    links = [(f"g{g}s{i}", f"g{g}s{j}") for g in range(groups) for i in range(switches) for j in range(i)]
    for one in range(groups):
        for other in range(one):
            links.append((f"g{one}s{other % switches}", f"g{other}s{one % switches}"))
    topology = graph(attached, links)
    number = np.arange(hosts)
    group, switch = number // (per_switch * switches), number // per_switch % switches
    slowable = []
    for link in (one for one in topology.groups if one.kind == "link"):
        (g, i), (h, j) = (map(int, end[1:].split("s")) for end in link.name.split(" - "))
        if g != h:
            parts: tuple[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], ...] = (
                (group == g, group == h),
            )
        else:
            here, there = ((group == g) & (switch == one) for one in (i, j))
            # Hosts at one end, and those of groups whose link begins at the other end.
            parts = (
                (here, there),
                (here, (group != g) & (group % switches == j)),
                (there, (group != g) & (group % switches == i)),
            )
        slowable.append(LinkGroup(link.name, "link", parts))
    return Network("dragonfly", topology, slowable)


NETWORKS = {"fat tree": fat_tree, "dragonfly": dragonfly}


class Noise:
    """Runs of successive deviations of recorded rows."""

    def __init__(self, spread: float | None) -> None:
        table = pq.read_table(HERE / "pool.parquet").to_pydict()
        rows: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
        for series, number, benchmark, size, seconds in zip(
            table["series"],
            table["number"],
            table["benchmark"],
            table["bytes"],
            table["seconds"],
            strict=True,
        ):
            if series == "table" and benchmark in ("PingPong", "PingPing"):
                rows[benchmark, size][number] = seconds
        found = []
        for row in rows.values():
            logs = np.log([row[one] for one in sorted(row)])
            away = logs - np.median(logs)
            scale = 1.4826 * float(np.median(np.abs(away)))
            found.append(away if spread is None else away * (spread / scale))
        length = min(map(len, found))
        self.series = np.array([one[:length] for one in found])

    def draw(self, random: np.random.Generator, passes: int, row: npt.NDArray[np.int64]) -> Values:
        """Of pairs: the row of each; shape (passes, pairs)."""
        pairs = len(row)
        begin = random.integers(self.series.shape[1] - passes + 1, size=pairs)
        found: Values = self.series[row, begin + np.arange(passes)[:, None]]
        return found


class Truth:
    """A network with slowed elements, and the noise of its pairs."""

    def __init__(
        self,
        network: Network,
        count: int,
        slow: float,
        noise: Noise,
        random: np.random.Generator,
        differ: float = 0.0,
        blind: str | None = None,
    ) -> None:
        self.network, self.slow, self.noise = network, slow, noise
        many = len(network.topology.hosts)
        self.rows = random.integers(len(noise.series), size=(many, many))
        hosts = network.topology.hosts
        self.differ = differ * random.standard_normal(len(hosts)) if differ else np.zeros(len(hosts))
        self.slowed: list[tuple[str, str, int]] = []
        kinds = random.choice(["host", "link", "port"], count)
        links = random.choice(len(network.slowable), 3, replace=False)
        some = random.choice(len(hosts), max(count, 3), replace=False)
        self.blind = blind is not None
        if blind:
            kinds = np.full(count, "host")
        if blind == "together":
            below = np.flatnonzero(network.topology.leaf == network.topology.leaf[some[0]])
            some = random.permutation(below)
        for at, kind in enumerate(kinds.tolist()):
            index = int(links[at] if kind == "link" else some[at])
            name = network.slowable[index].name if kind == "link" else hosts[index]
            self.slowed.append((kind, name, index))

    def times(self, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> Values:
        topology = self.network.topology
        hops = topology.hops[topology.leaf[a], topology.leaf[b]]
        factor = np.zeros(len(a))
        for kind, _, index in self.slowed:
            hit = (
                crosses(self.network.slowable[index], a, b) if kind == "link" else (a == index) | (b == index)
            )
            factor = np.maximum(factor, hit * self.slow)
        found: Values = np.log(BASE * (1 + PER_HOP * (hops - 1))) + np.log1p(factor)
        found += self.differ[a] + self.differ[b]
        return found


def sweep_of(
    truth: Truth,
    rounds: Collection[Round] | None,
    random: np.random.Generator,
    first_pass: int,
    many: int,
) -> Sweep:
    """One launch of so many passes; all pairs where there are no rounds."""
    count = len(truth.network.topology.hosts)
    if rounds is None:
        a, b = (one.astype(np.int32) for one in np.triu_indices(count, 1))
        number = np.zeros(len(a), dtype=np.int32)
    elif isinstance(rounds, Circle):  # at once
        a, b = rounds.ends(0, len(rounds)).astype(np.int32).reshape(2, -1)
        number = np.repeat(np.arange(len(rounds), dtype=np.int32), count // 2)
    else:
        flat = np.array([pair for one in rounds for pair in one], dtype=np.int32).reshape(-1, 2)
        a, b = flat[:, 0], flat[:, 1]
        number = np.repeat(np.arange(len(rounds), dtype=np.int32), [len(one) for one in rounds])
    times = truth.times(a, b) + truth.noise.draw(random, many, truth.rows[a, b])
    number_of_pass = np.repeat(np.arange(first_pass, first_pass + many, dtype=np.int32), len(a))
    ends = tuple(Endpoint(at, name) for at, name in enumerate(truth.network.topology.hosts))
    return Sweep(
        ends,
        "Pair_Bidirectional",
        65536,
        np.tile(a, many),
        np.tile(b, many),
        number_of_pass,
        np.tile(number, many),
        np.exp(times.ravel()),
    )


@cache
def whole_elements(network: str, hosts: int) -> FabricElements:
    """Of a sweep of all pairs: the same in each draw."""
    topology = NETWORKS[network](hosts).topology
    a, b = (one.astype(np.int32) for one in np.triu_indices(hosts, 1))
    ends = tuple(Endpoint(at, name) for at, name in enumerate(topology.hosts))
    return elements_of(ends, a, b, topology)


def part_of(whole: FabricElements, columns: npt.NDArray[np.int64]) -> FabricElements:
    """Those of the pairs in these columns, as elements_of has them."""
    member = whole.member[:, columns]
    hash_of = np.random.default_rng(8).integers(1, 2**40, len(columns))
    keys = list(zip(np.diff(member.indptr).tolist(), (member @ hash_of).tolist(), strict=True))
    rows: dict[tuple[int, int], int] = {}
    kept: list[int] = []
    each: list[FabricElement] = []
    for at, (key, one) in enumerate(zip(keys, whole.each, strict=True)):
        if key[0] < FEWEST:
            continue
        if key in rows:
            first = each[rows[key]]
            same = dict.fromkeys((*first.alternatives, one.name, *one.alternatives))
            each[rows[key]] = replace(first, alternatives=tuple(same))
        else:
            rows[key] = len(each)
            each.append(one)
            kept.append(at)
    return FabricElements(tuple(each), member[kept])


@contextmanager
def known_elements(network: Network) -> Iterator[None]:
    """From those of all pairs, as building them is half of the time of a judgment."""

    def known(ends: Sequence[Endpoint], a: Numbers, b: Numbers, *_: Any) -> FabricElements:
        many = len(ends)
        whole = whole_elements(network.name, many)
        if len(a) == many * (many - 1) // 2:
            return whole
        low = a.astype(np.int64)
        return part_of(whole, low * (2 * many - low - 1) // 2 + b - low - 1)

    inference.elements_of = known  # type: ignore[assignment, attr-defined]
    try:
        yield
    finally:
        inference.elements_of = elements_of  # type: ignore[attr-defined]


def joined(parts: Sequence[Sweep]) -> Sweep:
    one = parts[0]
    a, b, passes, rounds, seconds = (
        np.concatenate([getattr(part, key) for part in parts])
        for key in ("a", "b", "passes", "rounds", "seconds")
    )
    numbers = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.a) for part in parts])
    launches = numbers if len(parts) > 1 else None
    return Sweep(one.endpoints, one.benchmark, one.bytes, a, b, passes, rounds, seconds, launches=launches)


def by_thresholds(sweep: Sweep) -> tuple[set[str], set[str]]:
    """Hosts by mean time of their pairs: 5 % above the median host; above mean + 3 standard deviations."""
    count = len(sweep.endpoints)
    ends = np.concatenate([sweep.a, sweep.b])
    mean = np.bincount(ends, np.tile(sweep.seconds, 2), count) / np.maximum(
        np.bincount(ends, minlength=count), 1
    )
    names = np.array([one.name for one in sweep.endpoints])
    return (
        set(names[mean > 1.05 * np.median(mean)].tolist()),
        set(names[mean > mean.mean() + 3 * mean.std()].tolist()),
    )


@dataclass
class Searched:
    """`state`: of the verdict; `named`: elements; `others`: of each significant one, it and its alternatives; `rounds`: different ones; `passes`: of the first."""

    state: str
    named: set[str]
    others: dict[str, set[str]]
    sweep: Sweep
    rounds: int
    passes: int


def searched(truth: Truth, quick: bool, random: np.random.Generator, given: int | None) -> Searched:
    """The stages of `imb fabric`. `given`: passes, None: as many as it takes."""
    topology = None if truth.blind else truth.network.topology
    count = len(truth.network.topology.hosts)
    parts: list[Sweep] = []
    sizes = [("Pair_Bidirectional", 65536)]
    seed = int(random.integers(1 << 30))

    def judge() -> SweepVerdict:
        return judge_sweeps([joined(parts)], topology)

    rounds = passes = done = 0
    with nullcontext() if truth.blind else known_elements(truth.network):
        for stage in search(count, seed, sizes, WANTED, judge, quick=quick, passes=given):
            if stage.why in ("first", "wider"):
                rounds += count - 1 if stage.rounds is None else len(stage.rounds)
            if stage.why in ("first", "again"):
                passes += stage.passes
            parts.append(sweep_of(truth, stage.rounds, random, done, stage.passes))
            done += stage.passes
        verdict = judge()
    whole = joined(parts)
    named = {one.name for one in verdict.suspects if one.named}
    others = {one.name: {one.name, *one.alternatives} for one in verdict.suspects if one.p_value <= LEVEL}
    return Searched(verdict.state, named, others, whole, rounds, passes)


def tally(
    network: Network,
    count: int,
    slow: float,
    quick: bool,
    noise: Noise,
    draws: range,
    seconds: float,
    passes: int | None,
    differ: float,
    thresholds: bool,
    blind: str | None,
) -> Counter[str]:
    found: Counter[str] = Counter()
    begin = time.perf_counter()
    for draw in draws:
        if time.perf_counter() - begin > seconds:
            break
        random = np.random.default_rng([draw, count, int(100 * slow), quick, len(network.topology.hosts)])
        truth = Truth(network, count, slow, noise, random, differ, blind)
        search = searched(truth, quick, random, passes)
        named, others = search.named, search.others
        truly = {name for _, name, _ in truth.slowed}
        hosts = set(network.topology.hosts)
        links = {one.name for one in network.topology.groups}
        found["draws"] += 1
        found["slowed"] += len(truly)
        found["named"] += len(truly & named)
        ambiguous = {name for name in truly - named if any(name in one for one in others.values())}
        found["as alternative"] += len(ambiguous)
        wrong = named - truly
        found["any false name"] += bool(wrong)
        found[search.state] += 1
        found["hosts slowed"] += len(truly & hosts)
        found["host, link named"] += bool(wrong & links) and bool((truly & hosts) - named)
        found["link, host named"] += bool(wrong & hosts) and bool((truly & links) - named)
        found["rounds"] += search.rounds
        found["passes"] += search.passes
        found["by thresholds"] += thresholds
        if not thresholds:
            continue
        for key, guess in zip(("5 %", "3 sigma"), by_thresholds(search.sweep), strict=True):
            found[f"{key}: named"] += len(truly & guess)
            found[f"{key}: false"] += bool(guess - truly)
    return found


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


HEAD = (
    "| network | hosts | noise | sweep | slowed | by | draws | named | or as alternative | draws with a false name | host/link confused "
    "| healthy | rounds | passes | -5 %: named | false | 3 sigma: named | false |\n|" + "---|" * 18
)


def line(network: Network, noise: str, quick: bool, count: int, slow: float, found: Counter[str]) -> str:
    many, draws = found["slowed"], found["draws"]
    confused = found["host, link named"] + found["link, host named"]
    cells = [
        network.name,
        str(len(network.topology.hosts)),
        noise,
        "quick" if quick else "full",
        str(count),
        f"{slow:.0%}" if count else "-",
        str(draws),
        share(found["named"], many),
        share(found["named"] + found["as alternative"], many),
        share(found["any false name"], draws),
        share(confused, many),
        share(found["healthy"], draws),
        f"{found['rounds'] / max(draws, 1):.0f}",
        f"{found['passes'] / max(draws, 1):.1f}",
        *(
            share(found[f"{rule}: {what}"], whole) if found["by thresholds"] else "-"
            for rule in ("5 %", "3 sigma")
            for what, whole in (("named", many), ("false", draws))
        ),
    ]
    return "| " + " | ".join(cells) + " |"


def speed() -> str:
    """1,024 hosts, all pairs, 10 passes."""
    random = np.random.default_rng(1)
    network = fat_tree(1024)
    truth = Truth(network, 2, 0.1, Noise(0.02), random)
    sweep = sweep_of(truth, None, random, 0, 10)
    begin = time.perf_counter()
    verdict = judge_sweeps([sweep], network.topology)
    seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    named = sorted(one.name for one in verdict.suspects if one.named)
    right = named == sorted(name for _, name, _ in truth.slowed)
    return (
        f"1,024 hosts, {len(sweep.seconds):,} times (10 passes): judged in {seconds:.1f} s, at most {memory:.2f} GiB of memory "
        f"with the simulation; {'both' if right else 'not the two'} slowed elements named"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--from", dest="begin", type=int, default=0, help="number of the first draw")
    parser.add_argument("--hosts", default="64,256,1024")
    parser.add_argument("--networks", default="fat tree,dragonfly")
    parser.add_argument("--sweeps", default="full,quick")
    parser.add_argument("--counts", default="0,1,2,3", help="slowed elements")
    parser.add_argument("--slow", default="0.1,0.5")
    parser.add_argument("--noise", default="0.02", help="spreads, or `recorded`")
    parser.add_argument("--seconds", type=float, default=60.0, help="at most, for each row of the table")
    parser.add_argument("--passes", type=int, help="of each launch; else as `imb fabric`")
    parser.add_argument("--differ", type=float, default=0.0, help="spread of healthy hosts")
    parser.add_argument(
        "--blind", choices=["apart", "together"], help="no topology; slow are hosts, so placed"
    )
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-thresholds", action="store_true")
    options = parser.parse_args()
    if not options.no_speed:
        print(speed(), flush=True)
    print(HEAD, flush=True)
    for spread in options.noise.split(","):
        noise = Noise(None if spread == "recorded" else float(spread))
        for name in options.networks.split(","):
            for hosts in map(int, options.hosts.split(",")):
                network = NETWORKS[name](hosts)
                for kind in options.sweeps.split(","):
                    for count in map(int, options.counts.split(",")):
                        for slow in map(float, options.slow.split(",") if count else ["0"]):
                            quick = kind == "quick"
                            found = tally(
                                network,
                                count,
                                slow,
                                quick,
                                noise,
                                range(options.begin, options.begin + options.draws),
                                options.seconds,
                                options.passes,
                                options.differ,
                                not options.no_thresholds,
                                options.blind,
                            )
                            print(line(network, spread, quick, count, slow, found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
