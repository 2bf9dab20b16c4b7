#!/usr/bin/env python3
"""How often `imb diagnose` names the cause that is there, and how often one that is not; how often the path is right.

    bench/evidence.py [--launches 100] [--mpi openmpi,mpich] [--series cost,path,interface,busy,core] [--build FOLDER]

First the cost of one reading of the counters (bench/evidence_cost.cpp), least and median of many. Then
launches of two ranks, one after the other. In a random half of them (fixed seed) a cause is injected:

path       TCP is forced: the path must be loopback TCP, else shared memory
interface  two hosts (network namespaces on this machine, as root) with two interfaces each: one or the other is forced
busy       a process computes on the CPU of one rank: preemption of that rank must be named, else no cause
core       both ranks are pinned to one CPU: that they share it must be named, else not

Of busy, launches are judged one by one, by their samples, and in sides of ten, by launches: five with the cause and five
without, where the cause must be named, and ten without. A launch without the cause during which other processes of this
machine took more than a twentieth of a CPU is counted by itself: what it names may be there.

Exit status: 0 when everything ran, whatever it shows; else 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(
    0, str(Path(__file__).resolve().parent.parent / "tests/companion")
)  # bench has a module of that name
import cluster  # type: ignore[import-not-found]
import lab
import pytest
from imb.diagnose import diagnose
from imb.model import observations, path, records
from imb.model.intent import Intent
from imb.model.mpis import Host
from imb.mpi import installations
from imb.mpi.launch import run
from imb.mpi.launchers import Command, launch_command

TOP = Path(__file__).resolve().parent.parent
SERIES = ("cost", "path", "interface", "busy", "core")
COSTS = {
    "rank": "of a rank",
    "host": "of the rank that also reads its host",
    "switched": "of a rank that had left its CPU",
}
# The budget makes samples long enough for many bytes, and leaves time to connections that are slow to come about.
QUICK = ["-passes", "8", "-budget", "8", "PingPong", "-msglog", "12:16"]
SAMPLED = ["-budget", "2", "PingPong", "-msglog", "12:16"]
CLASSIC = [
    "PingPong",
    "-msglog",
    "8:16",
    "-iter",
    "1000000,4000",
    "-time",
    "0.1",
]  # rows that outlast time slices
PATIENCE = 120.0  # seconds that a launch has
DISTURBED = 0.05  # CPUs that others took
OF_A_SIDE = 10
TCP = {
    "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
    "mpich": {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
}
BUSY = "while True: pass"


class Failed(Exception):
    """A launch did not measure all."""


@dataclass
class One:
    """A launch: what was injected (None: nothing), what was named, CPUs that others took meanwhile."""

    launch: observations.Launch
    injected: str | None
    named: list[str]
    others: float = 0.0


@dataclass
class Tally:
    """One series under one MPI."""

    name: str
    injected: int = 0
    right: int = 0
    without: int = 0
    false: int = 0
    disturbed: int = 0
    named_disturbed: int = 0
    said: list[str] = field(default_factory=list)

    def add(
        self, with_cause: bool, named: list[str], right: Callable[[list[str]], bool], others: float = 0.0
    ) -> None:
        if with_cause:
            self.injected += 1
            self.right += right(named)
        elif others > DISTURBED:
            self.disturbed += 1
            self.named_disturbed += bool(named)
        else:
            self.without += 1
            self.false += bool(named)
        if (with_cause and not right(named)) or (not with_cause and named):
            self.said.append(f"{'with' if with_cause else 'without'} cause: {'; '.join(named) or 'nothing'}")

    def __str__(self) -> str:
        def share(part: int, whole: int) -> str:
            return f"{part:3} of {whole:3} {part / whole:7.1%}" if whole else f"{'-':>18}"

        return (
            f"{self.name:34}{share(self.right, self.injected)}   {share(self.false, self.without)}   "
            f"{share(self.named_disturbed, self.disturbed)}"
        )


class Lab:
    """Launches under one MPI."""

    def __init__(self, key: str, options: argparse.Namespace, folder: Path) -> None:
        self.key = key
        self.mpi = installations.mpi_of(Path(lab.ALL[key].wrapper))
        self.program = str(Path(options.build).resolve() / key / "bin/IMB-MPI1")
        self.folder = folder
        self.count = 0

    def launch(
        self,
        intent: Intent,
        arguments: Sequence[str],
        around: Callable[[Command], Command] = lambda command: command,
    ) -> tuple[observations.Launch, float]:
        """The launch, and CPUs that others than it and the processes that this one started took meanwhile."""
        self.count += 1
        file = self.folder / f"{self.key}-{self.count}.jsonl"
        words = [self.program, *arguments, "-json", str(file)]
        command = launch_command(self.mpi, intent, words, Host(os.cpu_count() or 1, os.geteuid() == 0))
        began, busy, mine = time.monotonic(), _busy_seconds(), _own_seconds()
        output, errors = self.folder / "output", self.folder / "errors"
        ended = run(around(command), output=output, errors=errors, timeout=PATIENCE)
        if lab.PMIX_DID_NOT_START in errors.read_text(errors="replace"):  # once in some thousands of launches
            ended = run(around(command), output=output, errors=errors, timeout=PATIENCE)
        others = (_busy_seconds() - busy - (_own_seconds() - mine)) / (time.monotonic() - began)
        # 3: a row was not measured in time, as of ranks that share a CPU.
        if ended.outcome != "finished" or ended.status not in (0, 3):
            said = errors.read_text(errors="replace")[-500:]
            raise Failed(f"{command}: {ended.outcome}, exit status {ended.status}: {said}")
        text = file.read_bytes()
        [found] = observations.launches_of(
            records.read(text, file.name), file.name, {}, lambda: records.read(text, file.name, samples=True)
        )
        return found, others


def _busy_seconds() -> float:
    """Of all CPUs of this machine: user, nice, system, and interrupts."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:8]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Of this process and those that it has waited for."""
    return sum(
        of.ru_utime + of.ru_stime
        for of in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


@contextlib.contextmanager
def computing(cpu: int) -> Iterator[None]:
    """A process that does nothing but compute there."""
    busy = subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", BUSY])
    try:
        time.sleep(0.1)
        yield
    finally:
        busy.kill()
        busy.wait()


def halves(count: int, seed: int) -> list[bool]:
    """Which launches have the cause: a random half."""
    order = [number < count // 2 for number in range(count)]
    random.Random(seed).shuffle(order)
    return order


def causes(*launches: observations.Launch) -> list[str]:
    """`preemption of rank 1`, `ranks 0 and 1 share CPU 0 of n0`: what diagnose names."""
    found = diagnose(observations.Side(name="side", launches=launches)).findings
    return [
        f"{one.evidence['cause']} of rank {rank}" if one.rule == "cause" else one.found
        for one in found
        if one.rule in ("cause", "placement")
        for rank in (one.evidence.get("ranks") or ["?"])
    ]


def the_path(launch: observations.Launch) -> str:
    mean = path.mean_repetitions(one for _, one in launch.sampled())
    rows = path.set_repetitions(launch.rows.values(), mean)
    return "; ".join(
        f"{one.name}{f' ({one.why})' if one.why else ''}" for one in path.message_paths(launch.run, rows)
    )


def path_series(place: Lab, options: argparse.Namespace) -> list[Tally]:
    tallies = [Tally(f"{place.key}: path, TCP forced or not")]
    for tcp in progress(place, "path", halves(options.launches, options.seed)):
        launch, _ = place.launch(Intent(ranks=2, env=TCP[place.key] if tcp else {}), QUICK)
        said = the_path(launch)
        wrong = [] if said == "shared memory" else [said]
        tallies[0].add(tcp, [said] if tcp else wrong, lambda named: named == ["loopback TCP"])
    return tallies


def interface_series(place: Lab, options: argparse.Namespace) -> list[Tally]:
    tally = Tally(f"{place.key}: path, eth1 or eth0 forced")
    with tempfile.TemporaryDirectory() as name:
        try:
            hosts = contextlib.ExitStack()
            with hosts:
                two = hosts.enter_context(cluster.hosts(Path(name)))
                cluster.second_wire(two)
                for other in progress(place, "interface", halves(options.launches, options.seed + 1)):
                    device = "eth1" if other else "eth0"
                    env = {**cluster.ACROSS[place.key], cluster.DEVICE[place.key]: device}
                    intent = Intent(ranks=2, hosts=("h1", "h2"), ppn=1, env=env)
                    launch, _ = place.launch(
                        intent,
                        QUICK,
                        lambda command: Command(two.on("h1", command.words), two.environment() | command.env),
                    )
                    said = the_path(launch)
                    wrong = [] if said == "eth0" else [said]
                    tally.add(other, [said] if other else wrong, lambda named: named == ["eth1"])
        except pytest.skip.Exception as missing:
            print(f"{place.key}: interface: {missing}")
            return []
    return [tally]


def busy_series(place: Lab, options: argparse.Namespace) -> list[Tally]:
    alone = Tally(f"{place.key}: busy process, launches")
    classic = Tally(f"{place.key}: busy process, classic launches")
    chance = random.Random(options.seed + 2)
    found: list[One] = []
    for busy in progress(place, "busy", halves(options.launches, options.seed + 2)):
        rank = chance.randrange(2)
        with computing(rank) if busy else contextlib.nullcontext():
            launch, others = place.launch(Intent(ranks=2, cpus=(0, 1)), SAMPLED)
            burst, beside = place.launch(Intent(ranks=2, cpus=(0, 1)), CLASSIC)
        injected = f"preemption of rank {rank}" if busy else None
        one = One(launch, injected, causes(launch), others)
        found.append(one)
        alone.add(busy, one.named, lambda named, it=injected: it in named, others)  # type: ignore[misc]
        classic.add(busy, causes(burst), lambda named, it=injected: it in named, beside)  # type: ignore[misc]
    return [alone, classic, *sides(place, found)]


def sides(place: Lab, found: list[One]) -> list[Tally]:
    """Of ten launches each, by what goes with slow launches."""
    both, half = Tally(f"{place.key}: busy process, sides of ten"), OF_A_SIDE // 2
    disturbed = [one.launch for one in found if one.injected]
    quiet = [one.launch for one in found if not one.injected]
    for i in range(0, min(len(disturbed), len(quiet)) - half + 1, half):
        named = across([*disturbed[i : i + half], *quiet[i : i + half]])
        both.add(True, named, lambda named: any(word.startswith("preemption") for word in named))
    calm = [one.launch for one in found if not one.injected and one.others <= DISTURBED]
    for i in range(0, len(calm) - OF_A_SIDE + 1, OF_A_SIDE):
        both.add(False, across(calm[i : i + OF_A_SIDE]), bool)
    return [both]


def across(launches: Sequence[observations.Launch]) -> list[str]:
    """What the launches as wholes say, without their samples."""
    import msgspec

    return causes(*(msgspec.structs.replace(one, sampled=tuple) for one in launches))


def core_series(place: Lab, options: argparse.Namespace) -> list[Tally]:
    tally = Tally(f"{place.key}: both ranks on one CPU")
    for one in progress(place, "core", halves(options.launches, options.seed + 3)):
        launch, _ = place.launch(Intent(ranks=2, cpus=(0, 0) if one else (0, 1)), QUICK)
        named = [said for said in causes(launch) if "share" in said]
        tally.add(one, named, lambda named: len(named) == 1)
    return [tally]


def cost(folder: Path) -> None:
    """Printed: what one reading costs."""
    program = folder / "evidence_cost"
    sources = [TOP / "bench/evidence_cost.cpp", TOP / "src/system/posix/counter_reader.cpp"]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", "-O2", "-I", TOP / "src", *sources, "-o", program], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    for name, least, middle in map(str.split, lines):
        print(
            f"one reading {COSTS[name]}: {float(middle) / 1e3:.2f} us in the median, at least {float(least) / 1e3:.2f}"
        )


def progress(place: Lab, series: str, halves: list[bool]) -> Iterator[bool]:
    """The same, with a line on standard error where that is a terminal."""
    for number, one in enumerate(halves, start=1):
        if sys.stderr.isatty():
            print(
                f"\r{place.key}: {series} {number} of {len(halves)}\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )
        yield one
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--launches", type=int, default=100, help="of each series and MPI (100)")
    parser.add_argument("--mpi", help="which MPIs, of openmpi and mpich (those that are built)")
    parser.add_argument("--series", default=",".join(SERIES), help=f"which series ({','.join(SERIES)})")
    parser.add_argument("--seed", type=int, default=1, help="of the halves (1)")
    parser.add_argument("--build", default=str(TOP / "build"), help="where MPI/bin/IMB-MPI1 are (build)")
    options = parser.parse_args()
    series = {"path": path_series, "interface": interface_series, "busy": busy_series, "core": core_series}
    chosen = options.series.split(",")
    keys = options.mpi.split(",") if options.mpi else [mpi.key for mpi in lab.MAIN]
    if "cost" in chosen:
        chosen.remove("cost")
        try:
            with tempfile.TemporaryDirectory() as folder:
                cost(Path(folder))
        except subprocess.CalledProcessError as error:
            print(f"bench/evidence.py: {error}", file=sys.stderr)
            return 1
        if not chosen:
            return 0
    print(
        f"{'':34}{'named, with cause':>18}   {'named, without':>18}   {'named, others busy':>18}", flush=True
    )
    try:
        for key in keys:
            if key not in TCP:
                print(f"{key}: no series; TCP can be forced under {' and '.join(TCP)} only")
                continue
            with tempfile.TemporaryDirectory() as folder:
                place = Lab(key, options, Path(folder))
                for name in chosen:
                    for tally in series[name](place, options):
                        print(tally)
                        for line in tally.said[:8]:
                            print(f"    {line[:140]}")
                        sys.stdout.flush()
    except (Failed, KeyError) as error:
        print(f"bench/evidence.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
