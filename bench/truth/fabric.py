"""Sweeps of fabrics whose slow element is known, judged as `imb fabric` does: how often it is named, and how often another one is.

A sweep is computed, not run. The time of a pair is that of its distance, times the slowest element on its route, times noise. The stages are those of the
program: as many passes and launches as it would start. A fat tree has static routes by destination (D-mod-k), which a topology file does not have.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from imb.fabric.judging.inference import judge_sweeps
from imb.fabric.judging.round_plans import Circle, whole_sweep
from imb.fabric.judging.stages import SweepStage, search
from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.sweep_parts import BOTH_WAYS
from imb.fabric.judging.topology import Topology, graph
from imb.fabric.judging.verdict import SweepVerdict
from scipy.stats import beta

Values = npt.NDArray[np.float64]
Ends = npt.NDArray[np.int32]
WANTED = 0.1
T_DEVIATION = 1.134  # robust standard deviation of Student's t with three degrees of freedom
PER_LEAF = {16: 4, 64: 16, 256: 16, 1024: 32}


class Noise:
    """Logarithms by which times of pairs deviate. `pairs` of a launch keep what persists from one launch to the next."""

    def __init__(self, name: str, hosts: int, random: np.random.Generator) -> None:
        self.name, self.hosts, self.random = name, hosts, random
        self.state = random.standard_normal((hosts, hosts))

    def draw(self, passes: int, a: Ends, b: Ends, rounds: npt.NDArray[np.int64]) -> Values:
        """`rounds`: number of the round of each pair."""
        random, shape = self.random, (passes, len(a))
        kind, _, amount = self.name.partition(" ")
        by = float(amount.removesuffix("%")) / 100 if amount.endswith("%") else 0.0
        if kind == "rounds":  # half of the variance is common to a round; both halves have heavy tails
            common = random.standard_t(3, (passes, int(rounds.max()) + 1))[:, rounds]
            found: Values = by * float(np.sqrt(0.5)) / T_DEVIATION * (common + random.standard_t(3, shape))
            return found
        normal = random.standard_normal(shape)
        if kind == "normal":
            return by * normal
        found = 0.02 * normal
        if kind == "tails":  # 5 % of times are longer, by half on average
            found += np.where(random.random(shape) < 0.05, np.log1p(random.exponential(0.5, shape)), 0.0)
        elif kind == "heavy":  # Student's t with two degrees of freedom
            found = 0.03 * random.standard_t(2, shape)
        elif kind == "transients":  # each host is 30 % slower in 3 % of passes
            slow = random.random((passes, self.hosts)) < 0.03
            found += np.log(1.3) * (slow[:, a] | slow[:, b])
        elif kind == "levels":  # each time has one of two levels
            found += 0.15 * (random.random(shape) < 0.5)
        elif kind == "states":  # a host is 30 % slower for as long as a visit lasts, five passes on average
            for row in range(passes):
                slow = self.state[0] > 2.17
                self.state[0] = np.where(
                    random.random(self.hosts) < 0.2, random.standard_normal(self.hosts), self.state[0]
                )
                found[row] += np.log(1.3) * (slow[a] | slow[b])
        elif kind == "correlated":  # passes of a pair, 0.9
            for row in range(passes):
                self.state = 0.9 * self.state + 0.19**0.5 * random.standard_normal(self.state.shape)
                found[row] = 0.05 * self.state[a, b]
        elif kind == "drift":
            found += np.linspace(0.0, 0.2, passes)[:, None]
        elif kind == "bad":  # one pass, in which half of the pairs take twice as long
            found[random.integers(passes)] += 0.7 * (random.random(len(a)) < 0.5)
        elif kind == "differing":  # hosts, by 1 %
            found += 0.01 * (self.state[0][a] + self.state[0][b])
        return found


NOISES = (
    "normal 2%",
    "normal 5%",
    "normal 17%",
    "rounds 17%",
    "tails",
    "heavy",
    "transients",
    "levels",
    "states",
    "correlated",
    "drift",
    "bad pass",
    "differing",
)


@dataclass
class Fabric:
    """`topology`: what a file would have; None: not given. Hosts with the same `spine` share the cables of their routes."""

    hosts: int
    name: str
    topology: Topology | None
    leaf: npt.NDArray[np.int64]
    spine: npt.NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        return [f"n{one}" for one in range(self.hosts)]


def fabric_of(name: str, hosts: int, below: int | None = None) -> Fabric:
    """`below`: hosts of a leaf switch, and spines of a fat tree; None: PER_LEAF."""
    number = np.arange(hosts)
    if name == "flat":
        return Fabric(hosts, name, None, 0 * number, number)
    size = below or PER_LEAF[hosts]
    leaf, spine = number // size, number % size
    attached = {f"n{one}": f"leaf{one // size}" for one in range(hosts)}
    leaves = range(hosts // size)
    spines = ["root"] if name == "tree" else [f"spine{one}" for one in range(size)]
    topology = graph(attached, [(f"leaf{x}", one) for x in leaves for one in spines])
    return Fabric(hosts, name, None if name == "blind" else topology, leaf, spine)


FABRICS = ("flat", "tree", "fat tree", "blind")


@dataclass
class Fault:
    """`right`: names that are right, of elements; `slows`: which pairs, by sender and receiver."""

    right: Callable[[str], bool]
    slows: Callable[[Ends, Ends], npt.NDArray[np.bool_]]


def fault_of(kind: str, fabric: Fabric, random: np.random.Generator) -> Fault:
    """Of an element that is drawn."""
    one = int(random.integers(fabric.hosts))
    leaf = fabric.leaf
    mine = f"n{one}"
    if kind == "none":
        return Fault(lambda name: False, lambda a, b: np.zeros(len(a), dtype=bool))
    if kind in ("both", "sender", "receiver"):
        ends = {"sender": (1, 0), "receiver": (0, 1), "both": (1, 1)}[kind]

        def of_host(a: Ends, b: Ends) -> npt.NDArray[np.bool_]:
            return np.asarray(((a == one) & bool(ends[0])) | ((b == one) & bool(ends[1])))

        return Fault(lambda name: name.split(" as ")[0] == mine, of_host)
    if kind == "pair":
        other = int((one + 1 + random.integers(fabric.hosts - 1)) % fabric.hosts)
        pair = {f"n{one} - n{other}", f"n{other} - n{one}"}
        return Fault(
            lambda name: name in pair, lambda a, b: np.minimum(a, b) * 1000 + np.maximum(a, b) == min(one, other) * 1000 + max(one, other)
        )  # fmt: skip
    outside = np.flatnonzero(leaf != leaf[one])

    def beyond(a: Ends, b: Ends) -> npt.NDArray[np.bool_]:
        return np.asarray((leaf[a] == leaf[one]) != (leaf[b] == leaf[one]))

    place = f"leaf{leaf[one]}"
    if kind == "cable":  # from the switch of a host to a spine: routes to hosts of this spine
        spine = fabric.spine

        def cable(a: Ends, b: Ends) -> npt.NDArray[np.bool_]:
            """Both ways at once where no way is known."""
            there = (leaf[a] == leaf[one]) & (leaf[b] != leaf[one]) & (spine[b] == spine[one])
            here = (leaf[b] == leaf[one]) & (leaf[a] != leaf[one]) & (spine[b] == spine[one])
            return np.asarray(there | here)

        return Fault(
            lambda name: (
                name.split(" as ")[0] not in fabric.names and {place, mine} & {*name.split()} != set()
            ),
            cable,
        )
    if kind in ("uplink", "uplink out"):  # both ways, or from the leaf only
        group = {f"n{at}" for at in np.flatnonzero(leaf == leaf[one]).tolist()}
        assert len(outside)
        return Fault(
            lambda name: place in name.replace(" - ", " ").split() and name not in group,
            beyond if kind == "uplink" else lambda a, b: beyond(a, b) & (leaf[a] == leaf[one]),
        )
    if kind == "leaf":
        group = {f"n{at}" for at in np.flatnonzero(leaf == leaf[one]).tolist()}

        def whole(a: Ends, b: Ends) -> npt.NDArray[np.bool_]:
            return np.asarray((leaf[a] == leaf[one]) | (leaf[b] == leaf[one]))

        return Fault(lambda name: place in name.split() or name in group, whole)
    raise ValueError(kind)


FAULTS = ("none", "both", "sender", "receiver", "pair", "cable", "uplink", "uplink out", "leaf")
SWITCHED = ("cable", "uplink", "uplink out", "leaf")


class Launches:
    """What the launches of one sweep record."""

    def __init__(self, fabric: Fabric, fault: Fault, by: float, noise: Noise, benchmark: str) -> None:
        self.fabric, self.fault, self.by, self.noise, self.benchmark = fabric, fault, by, noise, benchmark
        self.parts: list[tuple[npt.NDArray[Any], ...]] = []
        self.passes = self.round_passes = 0
        self.launches: list[int] = []
        self.rounds = np.zeros((fabric.hosts, fabric.hosts), dtype=np.int64)  # of each pair
        for number, pairs in enumerate(Circle(fabric.hosts, 1, 0, whole_sweep(fabric.hosts))):
            for a, b in pairs:
                self.rounds[a, b] = self.rounds[b, a] = number

    def launch(self, stage: SweepStage) -> None:
        """In every second pass, pairs have the other direction; those of a list have that of the list."""
        if stage.rounds is None:
            low, high = (one.astype(np.int32) for one in np.triu_indices(self.fabric.hosts, 1))
            rounds = self.rounds[low, high]
            self.round_passes += stage.passes * (self.fabric.hosts - 1)
        else:
            flat = np.array([pair for one in stage.rounds for pair in one], dtype=np.int32).reshape(-1, 2)
            low, high = flat[:, 0], flat[:, 1]
            rounds = np.repeat(np.arange(len(stage.rounds)), [len(one) for one in stage.rounds])
            self.round_passes += stage.passes * len(stage.rounds)
        leaf = self.fabric.leaf
        base = np.log(1e-5) + np.log(1.3) * (leaf[low] != leaf[high])
        noise = self.noise.draw(stage.passes, low, high, rounds)
        for number in range(stage.passes):
            a, b = (low, high) if number % 2 == 0 or stage.rounds is not None else (high, low)
            slow = self.fault.slows(a, b)
            if self.benchmark in BOTH_WAYS:
                slow = slow | self.fault.slows(b, a)
            times = np.exp(base + np.log1p(self.by) * slow + noise[number])
            self.parts.append(
                (a, b, np.full(len(a), self.passes), times, np.full(len(a), len(self.launches)))
            )
            self.passes += 1
        self.launches.append(stage.passes)

    def sweep(self) -> Sweep:
        a, b, passes, seconds, number = (np.concatenate(one) for one in zip(*self.parts, strict=True))
        ends = tuple(Endpoint(at, name) for at, name in enumerate(self.fabric.names))
        launches = number.astype(np.int32) if len(self.launches) > 1 else None
        zero = np.zeros(len(a), dtype=np.int32)
        return Sweep(ends, self.benchmark, 1 << 20, a, b, passes.astype(np.int32), zero, seconds, launches=launches)  # fmt: skip


def named_of(verdict: SweepVerdict) -> set[str]:
    """Elements, and pairs that are named for one direction."""
    return {one.name for one in verdict.suspects if one.named}


def drained_of(verdict: SweepVerdict) -> set[str]:
    """Hosts that `imb fabric --drain` takes out of service."""
    return {one.name for one in verdict.suspects if one.named and one.kind in ("core", "host")}


def asymmetric_of(verdict: SweepVerdict, names: Sequence[str]) -> set[str]:
    return {f"{names[one.a]} - {names[one.b]}" for one in verdict.asymmetric}


def stages_of(launches: Launches, topology: Topology | None, seed: int) -> tuple[Iterator[SweepStage], Callable[[], SweepVerdict]]:  # fmt: skip
    def judge() -> SweepVerdict:
        return judge_sweeps([launches.sweep()], topology)

    sizes = [(launches.benchmark, 1 << 20)]
    return search(launches.fabric.hosts, seed, sizes, WANTED, judge), judge


def drawn(fabric: Fabric, kind: str, by: float, noise: str, draws: range, seconds: float, seed: int, benchmark: str) -> Counter[str]:  # fmt: skip
    """Sweeps with this fault: what was named, and the time that they take."""
    found: Counter[str] = Counter()
    begin = time.perf_counter()
    for draw in draws:
        if time.perf_counter() - begin > seconds:
            break
        random = np.random.default_rng([seed, draw, fabric.hosts])
        fault = fault_of(kind, fabric, random)
        launches = Launches(fabric, fault, by, Noise(noise, fabric.hosts, random), benchmark)
        stages, judge = stages_of(launches, fabric.topology, draw)
        for stage in stages:
            launches.launch(stage)
        verdict = judge()
        names = named_of(verdict)
        right = {name for name in names if fault.right(name)}
        apart = (
            kind in ("uplink", "uplink out", "leaf") and fabric.topology is None and bool(verdict.populations)
        )
        asymmetric = asymmetric_of(verdict, fabric.names)
        found["draws"] += 1
        found["right"] += bool(right) or apart
        found["wrong"] += bool(names - right)
        found["drained"] += bool(drained_of(verdict) - right)
        found["asymmetric"] += any(not fault.right(name) and kind not in ("sender", "receiver", "cable", "uplink out") for name in asymmetric)  # fmt: skip
        found[verdict.state] += 1
        found["rounds"] += launches.round_passes
    return found


def interval(count: int, many: int) -> str:
    """Percent, with the exact interval of 95 % (Clopper and Pearson, Biometrika 26 (1934) 404)."""
    if not many:
        return "-"
    low = beta.ppf(0.025, count, many - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, many - count) if count < many else 1.0
    return f"{100 * count / many:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


HEAD = "| fabric | hosts | noise | fault | slower | draws | named rightly, % | wrong name, % | healthy host drained, % | false asymmetric pair, % | healthy, % | rounds x passes |"


def report(draws: int, seed: int) -> str:
    """Sweeps of 64 hosts: healthy ones in each noise, and those with a fault of 20 %, and of 10 % at a noise of 5 %."""
    lines = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    cells = [(noise, "none", 0.0) for noise in NOISES]
    cells += [
        (noise, kind, 0.2) for noise in ("normal 5%", "normal 17%", "transients") for kind in FAULTS[1:]
    ]
    cells += [("normal 5%", kind, 0.1) for kind in FAULTS[1:4]]
    for name in FABRICS:
        fabric = fabric_of(name, 64)
        for noise, kind, by in cells:
            if possible(name, kind):
                found = drawn(fabric, kind, by, noise, range(draws), float("inf"), seed, "Pair_Bandwidth")
                lines.append(row(fabric, noise, kind, by, found))
    return "\n".join(lines)


def possible(fabric: str, kind: str) -> bool:
    return not (fabric == "flat" and kind in SWITCHED) and (fabric, kind) != ("tree", "cable")


def row(fabric: Fabric, noise: str, kind: str, by: float, found: Counter[str]) -> str:
    many = found["draws"]
    cells = [fabric.name, str(fabric.hosts), noise, kind, f"{by:.0%}" if by else "", str(many)]
    cells += [interval(found["right"], many) if by else ""]
    cells += [interval(found[one], many) for one in ("wrong", "drained", "asymmetric", "healthy")]
    return f"| {' | '.join(cells)} | {found['rounds'] / max(many, 1):.0f} |"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.truth.fabric", description=(__doc__ or "").split("\n", 1)[0])  # fmt: skip
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", default="64")
    parser.add_argument("--below", type=int, help="hosts of a leaf switch")
    parser.add_argument("--fabrics", default=",".join(FABRICS))
    parser.add_argument("--noises", default=",".join(NOISES))
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--slower", default="0.1,0.2")
    parser.add_argument("--benchmark", default="Pair_Bandwidth")
    parser.add_argument("--seconds", type=float, default=60.0, help="at most, for each row")
    options = parser.parse_args(arguments)
    print(HEAD + "\n|" + "---|" * (HEAD.count("|") - 1), flush=True)
    for hosts in map(int, options.hosts.split(",")):
        for name in options.fabrics.split(","):
            fabric = fabric_of(name, hosts, options.below)
            for noise in options.noises.split(","):
                for kind in options.faults.split(","):
                    for by in map(float, options.slower.split(",") if kind != "none" else ["0"]):
                        if possible(name, kind):
                            draws = range(options.draws)
                            found = drawn(
                                fabric,
                                kind,
                                by,
                                noise,
                                draws,
                                options.seconds,
                                options.seed,
                                options.benchmark,
                            )
                            print(row(fabric, noise, kind, by, found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
