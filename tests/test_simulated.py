"""The suite on a simulated machine, where the right answer is known.

SimGrid's SMPI runs the unchanged program; its clock advances only as the platform says. The platform is a perfect
switch: each host has one full-duplex cable to it. With a cable of latency l and bandwidth B,

    message(n) = 2 l + (n + 16) / B        n bytes from host to host, alone on their way; SMPI adds 16 bytes
    together(k, n) = 2 l + k (n + 16) / B  k such messages at once through one end of a cable, which they share

A transfer begins when both sides are there. Receiving, reducing, copying and reading the clock take no time. Every
time below follows from these sentences and from the steps of an algorithm.

l and 1 / B are powers of two, so that the clock, its differences and their quotients are exact in a double. With two
ranks tests therefore compare with ==. With more ranks a cable is shared by 3, 15, 255 messages now and then, which
SimGrid divides; the last bits of the clock are lost then, and the tolerance is 1e-9.

SMPI knows two ways of sending:
 - rendezvous: a send returns when its message has arrived. Every rank then leaves SMPI's barrier at the same moment.
 - eager (SMPI's default below 64 KiB): a send returns at once. Rank 0 leaves the barrier when it has sent the
   releases, the others when these arrive, together(P - 1, 0) later: the exit skew, which is in the first repetition.

`python tests/test_simulated.py` prints what simulating 256 and 1024 ranks costs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import lab
import pytest
from collectives import COLLECTIVES, Formula, flood, message, stages, tree

pytestmark = pytest.mark.needs_mpi  # a simulated one

ENVELOPE = 16  # bytes
EAGER_BELOW = 65536  # bytes
WINDOW = 4  # messages of Uniband and Biband
CABLE = 2.0**-20  # seconds


@dataclass(frozen=True)
class Switch:
    """All hosts on a perfect switch."""

    latency: float = CABLE  # of one cable; two lie between any two hosts
    bandwidth: int = 2**30  # bytes per second, in each direction
    growth: float = 0.0  # the cable of host i is longer by this times i

    def cable(self, host: int) -> float:
        return self.latency * (1 + self.growth * host)

    def message(self, n: int) -> float:
        return self.together(1, n)

    def together(self, messages: int, n: int) -> float:
        return 2 * self.latency + messages * (n + ENVELOPE) / self.bandwidth

    def doubling(self, stages: int, n: int) -> float:
        """One after the other: n bytes, 2 n, 4 n, ..."""
        return sum(self.message(2**stage * n) for stage in range(stages))

    def inside(self, host: int) -> str:
        """What a host has besides its processor."""
        return ""

    def write(self, folder: Path, hosts: int) -> list[str]:
        """The words that tell smpirun about it."""
        lines = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">']
        lines += ['<platform version="4.1">', '<zone id="switch" routing="Cluster">']
        for host in range(hosts):
            lines += [
                f'<host id="n{host}" speed="1Gf">{self.inside(host)}</host>',
                f'<link id="c{host}" latency="{self.cable(host)!r}s" bandwidth="{self.bandwidth}Bps"'
                ' sharing_policy="SPLITDUPLEX"/>',
                f'<host_link id="n{host}" up="c{host}_UP" down="c{host}_DOWN"/>',
            ]
        lines += ['<router id="middle"/>', "</zone>", "</platform>"]
        (folder / "platform.xml").write_text("\n".join(lines) + "\n")
        (folder / "hosts.txt").write_text("".join(f"n{host}\n" for host in range(hosts)))
        return ["-platform", "platform.xml", "-hostfile", "hosts.txt"]


SWITCH = Switch()

# Nothing but the platform may take time: no measured computation, no price per call, no fitted factors.
PURE = (
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    "smpi/wtime:0",
    "smpi/init:0",
    "smpi/test:0",
    "smpi/iprobe:0",
    "smpi/os:0:0:0",
    "smpi/or:0:0:0",
    "smpi/ois:0:0:0",
    "network/model:CM02",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "network/weight-S:0",
    "network/TCP-gamma:0",
    "network/crosstraffic:0",
)


@dataclass
class Simulation(lab.Launch):
    wall_seconds: float = 0
    cpu_seconds: float = 0
    peak_bytes: int = 0  # of the one process in which all ranks live


# A small process between: the peak of one that is started counts what its parent had at that moment.
MEASURED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open("usage.txt", "w") as file:
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=file)
sys.exit(code if code >= 0 else 128 - code)
"""


def simulate(
    folder: Path,
    ranks: int,
    arguments: str,
    *,
    component: str = "MPI1",
    switch: Switch = SWITCH,
    eager: bool = False,
    algorithms: dict[str, str] | None = None,
    call: float = 0.0,
    extra: tuple[str, ...] = (),
    privatised: bool = False,
    status: int = 0,
    timeout: float = 200,
) -> Simulation:
    """Runs one of the programs with one rank per host. `algorithms`: SMPI's for a collective. `call`: seconds that a
    nonblocking send keeps its caller busy. `extra`: more of SimGrid's settings. `privatised`: a copy of the program's
    global variables, in fact of its whole file, for each rank; the suite does not need it."""
    mpi = lab.smpi()
    folder.mkdir(parents=True, exist_ok=True)
    settings = [*PURE, f"smpi/send-is-detached-thresh:{EAGER_BELOW if eager else 0}"]
    settings += [f"smpi/ois:0:{call!r}:0"] if call else []
    settings += [f"smpi/{name}:{algorithm}" for name, algorithm in (algorithms or {}).items()]
    settings += extra
    words = [*mpi.launcher, "-np", str(ranks), *switch.write(folder, ranks)]
    words += [] if privatised else ["-no-privatize"]
    words += [
        "--log=root.thresh:error",
        "--log=xbt_cfg.thresh:warning",
        *(f"--cfg={each}" for each in settings),
    ]
    words += [str(mpi.program(component)), *arguments.split(), "-json", "records.jsonl"]
    begin = time.monotonic()
    with (folder / "out.txt").open("w") as out, (folder / "err.txt").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", MEASURED, *words],
            cwd=folder,
            env=lab.environment(mpi),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        limit = threading.Timer(timeout, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        process.wait()
        limit.cancel()
    usage = folder / "usage.txt"
    cpu_seconds, peak_kibibytes = map(float, usage.read_text().split()) if usage.exists() else (0.0, 0.0)
    records = folder / "records.jsonl"
    done = Simulation(
        process.returncode,
        (folder / "out.txt").read_text(),
        (folder / "err.txt").read_text(),
        [json.loads(line) for line in records.read_text().splitlines()] if records.exists() else [],
        time.monotonic() - begin,
        cpu_seconds,
        int(peak_kibibytes) * 1024,
    )
    assert done.code == status, f"{' '.join(words)}\n{done.text[-3000:]}\n{done.errors[-3000:]}"
    return done


def times(row: dict) -> tuple[float, float, float]:
    return row["time_min_seconds"], row["time_avg_seconds"], row["time_max_seconds"]


def about(seconds: float, ranks: int = 0):
    """To 1e-9; to the last bit with two ranks."""
    return seconds if ranks == 2 else pytest.approx(seconds, rel=1e-9, abs=0)


# --- Times from first principles: seconds per repetition of n bytes on P ranks, rendezvous --------------------------

TRANSFERS: dict[str, Formula] = {
    "PingPong": message,  # half of there and back
    "PingPongSpecificSource": message,
    "PingPongAnySource": message,
    "PingPong_persist": message,
    "PingPing": message,  # the two directions of a cable do not meet
    "PingPingSpecificSource": message,
    "PingPingAnySource": message,
    "Sendrecv": message,  # each cable has one message in and one out
    "Exchange": lambda net, ranks, n: 2 * net.message(n),  # the second receive is posted after the first
    "Uniband": lambda net, ranks, n: net.together(WINDOW, n),
    "Biband": lambda net, ranks, n: net.together(WINDOW, n),
}

ALONE = {name: row.seconds for name, row in COLLECTIVES.items() if not row.among_all}
AMONG_ALL = {name: row.seconds for name, row in COLLECTIVES.items() if row.among_all}


@dataclass(frozen=True)
class Named:
    """An algorithm that SMPI can be told to use."""

    name: str
    seconds: Formula  # until the last rank has ended
    first: Formula | None = None  # until the first has, if it ends earlier


def growing(net: Switch, ranks: int, n: int) -> float:
    """Blocks that double from stage to stage, up to half of all."""
    return net.doubling(stages(ranks), n)


def halving(net: Switch, ranks: int, n: int) -> float:
    """n / 2 bytes, n / 4, ... n / P."""
    return net.doubling(stages(ranks), n // ranks)


def smallest_first(net: Switch, ranks: int, n: int) -> float:
    """A binomial scatter whose every inner node serves its smallest subtree first: the largest starts last."""
    return sum(net.doubling(stage, n) for stage in range(1, stages(ranks) + 1))


def ring(net: Switch, ranks: int, n: int) -> float:
    """P - 1 steps, in each of which every rank sends one message and receives one; or one rank serves P - 1 others."""
    return (ranks - 1) * net.message(n)


def ring_of_parts(net: Switch, ranks: int, n: int) -> float:
    return (ranks - 1) * net.message(n // ranks)


TREES = {
    "Barrier": Named("ompi_recursivedoubling", tree),
    "Bcast": Named("binomial_tree", tree),
    "Reduce": Named("binomial", tree, message),
    "Gather": Named("ompi_binomial", growing, message),
    "Scatter": Named("ompi_binomial", smallest_first, message),
    "Allreduce": Named("rdb", tree),
    "Allgather": Named("rdb", growing),
    "Alltoall": Named("ring", ring),
    "Reduce_scatter": Named("ompi_basic_recursivehalving", halving),
}
RINGS = {
    "Barrier": Named("ompi_bruck", tree),
    "Bcast": Named("flattree", flood),
    "Reduce": Named("flat_tree", ring, message),
    "Gather": Named("ompi_basic_linear", ring, message),
    "Scatter": Named("ompi_basic_linear", ring, message),
    "Allreduce": Named("lr", lambda net, ranks, n: 2 * ring_of_parts(net, ranks, n)),
    "Allgather": Named("ring", ring),
    "Alltoall": Named("pair", ring),
    "Reduce_scatter": Named("ompi_ring", ring_of_parts),
}

# By ranks. SimGrid's work grows with their square; test_a_thousand_ranks has more of them.
REPETITIONS = {2: 64, 16: 8, 64: 4}
SHORT = "-msgsize 1024,2048 -iter_policy off"


SEND_MODES: dict[str, dict[str, Formula]] = {
    "synchronous": {
        name: TRANSFERS[name] for name in ("PingPong", "PingPing", "Exchange", "Uniband", "Biband")
    },
    "buffered": {name: TRANSFERS[name] for name in ("PingPing", "Exchange", "Biband")},
}


@pytest.mark.parametrize("mode", SEND_MODES)
def test_send_modes_take_the_time_of_their_messages(tmp_path, mode):
    formulas = SEND_MODES[mode]
    words = f"{SHORT} -iter 16 -window_size {WINDOW} -send_mode {mode} {' '.join(formulas)}"
    for row in simulate(tmp_path, 2, words).rows:
        seconds = formulas[row["benchmark"]](SWITCH, 2, row["bytes"])
        assert times(row) == (seconds,) * 3, row["benchmark"]


def test_a_synchronous_send_waits_where_a_standard_one_does_not(tmp_path):
    """Eager, the sender of Uniband has nothing to wait for."""

    def least(mode: str) -> float:
        words = f"-msgsize 1024 -iter 16 -window_size {WINDOW} -send_mode {mode} Uniband"
        (row,) = simulate(tmp_path / mode, 2, words, eager=True).rows
        return float(row["time_min_seconds"])

    assert least("standard") == 0
    assert least("synchronous") == SWITCH.together(WINDOW, 1024)


@pytest.mark.parametrize("layout", ["vector:1:4", "vector:3:7", "indexed", "struct"])
def test_gaps_take_no_time(tmp_path, layout):
    """Only the data is sent."""
    names = ["PingPong", "PingPing", "Sendrecv", "Exchange"]
    words = f"{SHORT} -iter 16 -check -layout {layout} {' '.join(names)}"
    for row in simulate(tmp_path, 2, words).rows:
        seconds = TRANSFERS[row["benchmark"]](SWITCH, 2, row["bytes"])
        assert times(row) == (seconds,) * 3, row["benchmark"]
        assert row["defects"] == 0


def test_simulated_ranks_take_no_turns(tmp_path):
    done = simulate(tmp_path, 2, "PingPong -turns 2,127.0.0.1:1,x", status=2)
    assert "all ranks are one process" in done.errors


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_every_benchmark_takes_what_the_platform_implies(ranks, tmp_path):
    """All of IMB-MPI1 in its default mode. Pairs are timed while the other ranks wait: they do not disturb."""
    formulas = TRANSFERS | ALONE | (AMONG_ALL if ranks <= 16 else {})
    done = simulate(
        tmp_path,
        ranks,
        f"{' '.join(formulas)} -npmin {ranks} {SHORT} -iter {REPETITIONS[ranks]} -window_size {WINDOW}",
    )
    assert {row["benchmark"] for row in done.rows} == set(formulas)
    assert len(done.rows) == 2 * len(formulas) - 1  # Barrier has no length
    for row in done.rows:
        wanted = formulas[row["benchmark"]](SWITCH, ranks, row["bytes"])
        assert times(row) == (about(wanted, ranks),) * 3, row
        assert row["repetitions"] == REPETITIONS[ranks]


def split(net: Switch, ranks: int, n: int) -> float:
    """SMPI gathers two numbers of each rank at rank 0, which sends a pointer to the even ranks, then to the odd ones. Each
    half broadcasts the number of its communicator."""
    half = ranks // 2
    to_even = net.together(half - 1, 8) if half > 1 else 0
    return flood(net, ranks, 8) + to_even + net.together(half, 8) + tree(net, half, 4)


PERSISTENT: dict[str, Formula] = {
    "Sendrecv_persist": message,
    "Exchange_persist": lambda net, ranks, n: net.together(
        2, n
    ),  # unlike Exchange, all four are posted at once
    "Comm_create": lambda net, ranks, n: tree(net, ranks, 4),  # SMPI broadcasts the number of the new one
    "Comm_split": split,
}


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_persistent_transfers_take_what_the_platform_implies(ranks, tmp_path):
    """Of IMB-MPI4 what SMPI has."""
    words = f"{' '.join(PERSISTENT)} -npmin {ranks} {SHORT} -iter 8"
    done = simulate(tmp_path, ranks, words, component="MPI4")
    assert {row["benchmark"] for row in done.rows} == set(PERSISTENT)
    for row in done.rows:
        wanted = PERSISTENT[row["benchmark"]](SWITCH, ranks, row["bytes"])
        assert times(row) == (about(wanted, ranks),) * 3, row


def test_neighborhood_collectives_are_unavailable_with_the_reason(tmp_path):
    """SMPI declares them and aborts where they are called."""
    names = [name for name in lab.names("MPI1") if name.startswith("Neighbor_")]
    why = "the simulator has no neighborhood collectives"
    done = simulate(tmp_path / "run", 4, f"{' '.join(names)} Sendrecv -npmin 4 {SHORT} -iter 2", status=3)
    assert {row["benchmark"] for row in done.rows} == {"Sendrecv"}
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(failure["benchmark"], failure["cause"]) for failure in failures] == [
        (name, "unavailable") for name in names
    ]
    assert all(why in failure["detail"] for failure in failures)
    assert done.text.count(why) == len(names)
    listed = simulate(tmp_path / "list", 1, "-list").text.splitlines()
    marked = [line.split()[0] for line in listed if why in line]
    assert marked == names


@pytest.mark.parametrize("ranks", REPETITIONS)
@pytest.mark.parametrize("named", [TREES, RINGS], ids=["trees", "rings"])
def test_named_algorithms_take_the_sum_of_their_steps(named, ranks, tmp_path):
    """With -sync on and a fixed root, as a rooted tree lets some ranks go early. Then the slowest rank's time is the
    algorithm's, and the fastest rank's is that of a leaf: one message."""
    done = simulate(
        tmp_path,
        ranks,
        f"{' '.join(named)} -npmin {ranks} {SHORT} -iter {REPETITIONS[ranks]} -sync on -root_shift off -warm_up off",
        algorithms={benchmark.lower(): algorithm.name for benchmark, algorithm in named.items()},
    )
    assert {row["benchmark"] for row in done.rows} == set(named)
    assert len(done.rows) == 2 * len(named) - 1  # Barrier has no length
    for row in done.rows:
        algorithm = named[row["benchmark"]]
        least, mean, largest = times(row)
        wanted = algorithm.seconds(SWITCH, ranks, row["bytes"])
        first = algorithm.first(SWITCH, ranks, row["bytes"]) if algorithm.first else wanted
        assert (least, largest) == (about(first, ranks), about(wanted, ranks)), row
        assert first * (1 - 1e-9) <= mean <= wanted * (1 + 1e-9), row


# --- All lengths, and what the columns say ---------------------------------------------------------------------------

TURNOVER = {
    "PingPong": 1,
    "PingPing": 1,
    "Sendrecv": 2,
    "Exchange": 4,
    "Uniband": WINDOW,
    "Biband": 2 * WINDOW,
}


def test_all_lengths_and_the_figures_made_from_them(tmp_path):
    """0 to 4 MiB: a straight line. Throughputs are the bytes that the guide counts, over that time; the text shows the
    same numbers in microseconds and units of 2^20 bytes."""
    done = simulate(tmp_path, 2, f"{' '.join(TURNOVER)} -iter 16 -window_size {WINDOW}")
    lengths = [0, *(2**power for power in range(23))]
    assert [(row["benchmark"], row["bytes"]) for row in done.rows] == [
        (b, n) for b in TURNOVER for n in lengths
    ]
    for row in done.rows:
        name, n = row["benchmark"], row["bytes"]
        seconds = TRANSFERS[name](SWITCH, 2, n)
        assert row["time_max_seconds"] == about(seconds), (
            row
        )  # 4 MiB: 10 repetitions, and tenths are not exact
        if n < 2**20:
            assert row["time_max_seconds"] == seconds, row
        assert row["bytes_per_second"] == pytest.approx(TURNOVER[name] * n / seconds, rel=1e-9)
        if name in ("Uniband", "Biband"):
            assert row["messages_per_second"] == pytest.approx(TURNOVER[name] / seconds, rel=1e-9)
    for table in lab.tables(done.text):
        for line in table.rows:
            n, seconds = int(line[0]), TRANSFERS[table.name](SWITCH, 2, int(line[0]))
            rate = TURNOVER[table.name] * n / seconds / 2**20
            if "t[usec]" in table.columns:
                assert line[2:] == [f"{seconds * 1e6:.2f}", f"{rate:.2f}"]
            elif "t_max[usec]" in table.columns:
                assert line[2:] == [f"{seconds * 1e6:.2f}"] * 3 + [f"{rate:.2f}"]
            else:
                assert line[2] == f"{rate:.2f}"


def test_every_mode_of_the_loop_gives_the_same_times(tmp_path):
    """Every repetition timed, a barrier before each, moving buffers, a check before, a fixed root: other loops, the
    same times. All quantiles are the one time."""
    names = "PingPong Sendrecv Exchange Bcast Allreduce Barrier"
    arguments = f"{names} {SHORT} -iter 8 -npmin 16"
    plain = simulate(tmp_path / "plain", 16, arguments).rows
    for mode in (
        "-show_tail yes",
        "-sync on",
        "-off_cache 1,64",
        "-check",
        "-imb_barrier on",
        "-root_shift off",
    ):
        rows = simulate(tmp_path / mode, 16, f"{arguments} {mode}").rows
        for was, row in zip(plain, rows, strict=True):
            assert (was["benchmark"], was["bytes"]) == (row["benchmark"], row["bytes"])
            assert times(row) == tuple(map(about, times(was))), (mode, row)
            assert all(each == about(row["time_max_seconds"]) for each in row.get("quantiles", {}).values())
            assert row.get("defects", 0) == 0
        assert ("quantiles" in rows[0]) == ("-show_tail" in mode)


# --- A known change is seen, and nothing else ------------------------------------------------------------------------

# On 16 ranks: cables that follow one another on the longest path, and bytes (n: 1) that pass the busiest of them.
PATHS = {"PingPong": (2, 1), "Exchange": (4, 2), "Bcast": (8, 4), "Reduce": (2, 15), "Allreduce": (10, 19)}


def test_longer_and_slower_cables_show_as_just_that(tmp_path):
    """Twice the latency adds one old latency per cable on the path; half the bandwidth adds the old transfer times."""
    arguments = f"{' '.join(PATHS)} -npmin 16 {SHORT} -iter 8"
    before = simulate(tmp_path / "before", 16, arguments).rows
    longer = simulate(tmp_path / "longer", 16, arguments, switch=Switch(latency=2 * CABLE)).rows
    slower = simulate(tmp_path / "slower", 16, arguments, switch=Switch(bandwidth=2**29)).rows
    for was, long, slow in zip(before, longer, slower, strict=True):
        cables, messages = PATHS[was["benchmark"]]
        transfer = messages * (was["bytes"] + ENVELOPE) / SWITCH.bandwidth
        for now, added in ((long, cables * CABLE), (slow, transfer)):
            for key in ("time_min_seconds", "time_avg_seconds", "time_max_seconds"):
                assert now[key] - was[key] == about(added), (was, now)


# --- Eager sends: the exact terms that separate t_min from t_max -----------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 16])
def test_eager_sends_leave_the_exit_skew_of_the_barrier(ranks, tmp_path):
    """Rank 0 starts its clock together(P - 1, 0) too early: that time over the repetitions is in t_max, not in t_min.

    In PingPong rank 1 moreover need not wait for the arrival of its last eager message: t_min lacks half a message.
    The quantiles show it as it is: one late repetition, all others exact."""
    repetitions = 8
    names = ("PingPong", "PingPing", "Sendrecv", "Exchange")
    arguments = f"{' '.join(names)} -npmin {ranks} -msgsize 0,1024,65536 -iter {repetitions} -iter_policy off"
    skew = SWITCH.together(ranks - 1, 0)
    for row in simulate(tmp_path / "plain", ranks, arguments, eager=True).rows:
        seconds = TRANSFERS[row["benchmark"]](SWITCH, ranks, row["bytes"])
        half = 0.5 if row["benchmark"] == "PingPong" else 1.0
        early = half * seconds if row["benchmark"] == "PingPong" and row["bytes"] < EAGER_BELOW else 0.0
        assert row["time_max_seconds"] == about(seconds + half * skew / repetitions), row
        assert row["time_min_seconds"] == about(seconds - early / repetitions), row
        assert row["slowest_rank"] == 0
    for row in simulate(tmp_path / "tail", ranks, arguments + " -show_tail yes", eager=True).rows:
        seconds = TRANSFERS[row["benchmark"]](SWITCH, ranks, row["bytes"])
        half = 0.5 if row["benchmark"] == "PingPong" else 1.0
        assert [row["quantiles"][name] for name in ("min", "p50", "p75")] == [about(seconds)] * 3
        assert row["quantiles"]["max"] == about(seconds + half * skew), row


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_own_barrier_lets_all_ranks_go_at_the_same_moment(ranks, tmp_path):
    """-imb_barrier on, eager: after log2 P rounds of the dissemination barrier each rank has waited for each. No skew.

    PingPong still: rank 1 has ended when its last message is under way. With other ranks waiting it goes on into the
    closing barrier, whose first message shares the cable with the last: 16 bytes over all 2 R messages."""
    repetitions = 4
    arguments = (
        f"PingPong PingPing Sendrecv Exchange -npmin {ranks} {SHORT} -iter {repetitions} -imb_barrier on"
    )
    for row in simulate(tmp_path, ranks, arguments, eager=True).rows:
        seconds = TRANSFERS[row["benchmark"]](SWITCH, ranks, row["bytes"])
        if row["benchmark"] == "PingPong":
            disturbed = ENVELOPE / SWITCH.bandwidth if ranks > 2 else 0.0
            assert row["time_max_seconds"] == about(seconds + disturbed / (2 * repetitions)), row
            assert row["time_min_seconds"] == about(seconds * (1 - 1 / (2 * repetitions))), row
        else:
            assert times(row) == (about(seconds, ranks),) * 3, row


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_eager_tree_shares_the_cable_among_all_children(ranks, tmp_path):
    """Eager, a rank of a binomial tree sends to its k children at once: together(k). The child with the largest
    subtree has k - 1 children, and so on: k latencies, and k + (k - 1) + ... + 1 messages through cables. The root
    has no time at all: it has sent, and that is all it is asked."""
    arguments = f"Bcast -npmin {ranks} {SHORT} -iter 2 -sync on -imb_barrier on -root_shift off"
    for row in simulate(tmp_path, ranks, arguments, eager=True, algorithms={"bcast": "binomial_tree"}).rows:
        wanted = sum(SWITCH.together(children, row["bytes"]) for children in range(1, stages(ranks) + 1))
        assert row["time_max_seconds"] == about(wanted), row
        assert row["time_min_seconds"] == 0, row


def test_unsynchronized_loop_lets_a_chain_become_a_pipeline(tmp_path):
    """Bcast along a chain 0, 1, ... P - 1. Alone it takes P - 1 messages. In the loop with a fixed root the next one
    follows as soon as a rank is free, which is after one receive and one send: R of them take P - 1 + 2 (R - 1)."""
    ranks, repetitions = 16, 8
    arguments = f"Bcast -npmin {ranks} {SHORT} -iter {repetitions} -root_shift off"
    chain = {"bcast": "NTSL"}
    for row in simulate(tmp_path / "alone", ranks, f"{arguments} -sync on", algorithms=chain).rows:
        assert row["time_max_seconds"] == about((ranks - 1) * SWITCH.message(row["bytes"]))
    for row in simulate(tmp_path / "loop", ranks, arguments, algorithms=chain).rows:
        steps = ranks - 1 + 2 * (repetitions - 1)
        assert row["time_max_seconds"] == about(steps * SWITCH.message(row["bytes"]) / repetitions)


# --- Groups ----------------------------------------------------------------------------------------------------------


def test_groups_do_not_disturb_each_other_on_a_perfect_switch(tmp_path):
    """-multi: eight pairs at once, four groups of four: the times of one."""
    arguments = f"PingPong PingPing Sendrecv Allreduce -npmin 4 {SHORT} -iter 8"
    alone = {
        (row["benchmark"], row["processes"], row["bytes"]): times(row)
        for row in simulate(tmp_path / "alone", 16, arguments).rows
    }
    for multi, rows_per_point in (("0", lambda processes: 1), ("1", lambda processes: 16 // processes)):
        rows = simulate(tmp_path / multi, 16, f"{arguments} -multi {multi}").rows
        for row in rows:
            assert row["group_count"] == 16 // row["processes"]
            assert times(row) == tuple(map(about, alone[row["benchmark"], row["processes"], row["bytes"]])), (
                row
            )
        counted = {
            key: sum((row["benchmark"], row["processes"], row["bytes"]) == key for row in rows)
            for key in alone
        }
        assert counted == {key: rows_per_point(key[1]) for key in alone}


@pytest.mark.parametrize(
    ("option", "pairs"),
    [
        ("", [[2 * i, 2 * i + 1] for i in range(8)]),
        ("-map 8x2", [[i, i + 8] for i in range(8)]),
        ("-map 4x4", [[i, i + 4] for i in (0, 1, 2, 3, 8, 9, 10, 11)]),
    ],
    ids=["plain", "8x2", "4x4"],
)
def test_map_pairs_the_processes_it_names(option, pairs, tmp_path):
    """Host i has a cable of its own length. So a pair's time tells which two hosts exchanged messages: both cables,
    and the bytes. Groups are numbered by their first process. Ranks leave the barrier apart by at most the difference of two cables; the later one sees no more
    than the messages, and has t_min."""
    repetitions, switch = 8, Switch(growth=1 / 16)
    arguments = f"PingPong -multi 1 {option} -msgsize 0,1024 -iter {repetitions}"
    rows = simulate(tmp_path, 16, arguments, switch=switch).rows
    assert [row["groups"] for row in rows if row["bytes"] == 0] == [[pair] for pair in pairs]
    for row in rows:
        ((a, b),) = row["groups"]
        seconds = switch.cable(a) + switch.cable(b) + (row["bytes"] + ENVELOPE) / switch.bandwidth
        assert row["time_min_seconds"] == about(seconds), row
        most = (switch.cable(15) - switch.cable(0)) / (2 * repetitions)
        assert row["time_max_seconds"] <= (seconds + most) * (1 + 1e-9), row


# --- Repetitions -----------------------------------------------------------------------------------------------------


def test_time_limit_gives_as_many_repetitions_as_fit(tmp_path):
    """-time, with a repetition whose time is known: the quotient, rounded down; whole rounds of the ranks with
    multiple_np; one repetition too long is a time-out, and the next point is tried."""
    limit = 0.001
    names = ("PingPong", "Sendrecv", "Exchange", "Bcast")
    arguments = f"{' '.join(names)} -npmin 16 -msgsize 0,1024 -time {limit}"
    for policy, whole in (("dynamic", 1), ("multiple_np", 16)):
        rows = simulate(tmp_path / policy, 16, f"{arguments} -iter_policy {policy}").rows
        assert len(rows) == 2 * len(names)
        for row in rows:
            repetition = (TRANSFERS | ALONE)[row["benchmark"]](SWITCH, 16, row["bytes"])
            repetition *= 2 if row["benchmark"] == "PingPong" else 1
            round_of = whole if row["processes"] == 16 else min(whole, row["processes"])
            assert row["repetitions"] == int(limit / repetition) // round_of * round_of, row

    between = (SWITCH.message(0) + SWITCH.message(1024)) / 2
    done = simulate(tmp_path / "short", 16, f"Sendrecv -npmin 16 -msgsize 0,1024 -time {between:.9f}")
    assert [row["bytes"] for row in done.rows] == [0]
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(failure["benchmark"], failure["bytes"]) for failure in failures] == [("Sendrecv", 1024)]


# --- Runs that must not differ ---------------------------------------------------------------------------------------


def without_date(records: list[dict]) -> list[dict]:
    return [{key: value for key, value in record.items() if key != "date"} for record in records]


@pytest.mark.parametrize("eager", [False, True], ids=["rendezvous", "eager"])
def test_two_runs_leave_the_same_records(eager, tmp_path):
    """To the last bit, but for the date; also when each rank has global variables of its own: the suite has none that
    matter."""
    arguments = f"{SHORT} -iter 4 -time 1 -check -show_tail yes -multi 1"
    first = simulate(tmp_path / "first", 8, arguments, eager=eager).records
    for name, privatised in (("again", False), ("privatised", True)):
        again = simulate(tmp_path / name, 8, arguments, eager=eager, privatised=privatised).records
        assert without_date(again) == without_date(first)
    assert first[-1]["state"] == "complete" and first[-1]["defects"] == 0


# --- Scale -----------------------------------------------------------------------------------------------------------

SCALES = (256, 1024)


def at_scale(folder: Path, ranks: int) -> Simulation:
    return simulate(folder / str(ranks), ranks, f"Allreduce Barrier -npmin {ranks} {SHORT} -iter 4")


def account(runs: dict[int, Simulation]) -> str:
    """What the runs cost."""
    lines = [
        f"{ranks:5} simulated ranks: {run.wall_seconds:6.1f} s, {run.cpu_seconds:6.1f} s of CPU,"
        f" {run.peak_bytes / 2**20:6.1f} MiB, {run.peak_bytes / ranks / 1024:6.1f} KiB per rank"
        for ranks, run in runs.items()
    ]
    return "\n".join([*lines, f"each rank more: {growth(runs) / 1024:.1f} KiB"])


def growth(runs: dict[int, Simulation]) -> float:
    """Bytes for each rank more, without the memory of SimGrid itself."""
    few, many = SCALES
    return (runs[many].peak_bytes - runs[few].peak_bytes) / (many - few)


def test_a_thousand_ranks(tmp_path, record_property, capsys):
    """1024 ranks finish, and are measured as exactly as two."""
    runs = {ranks: at_scale(tmp_path, ranks) for ranks in SCALES}
    with capsys.disabled():
        print("\n" + account(runs))
    for ranks, run in runs.items():
        record_property(f"wall_seconds_{ranks}", run.wall_seconds)
        record_property(f"bytes_per_rank_{ranks}", run.peak_bytes / ranks)
        points = [(row["benchmark"], row["bytes"]) for row in run.rows]
        assert points == [("Allreduce", 1024), ("Allreduce", 2048), ("Barrier", 0)]
        for row in run.rows:
            assert row["processes"] == ranks
            assert row["time_max_seconds"] == about(ALONE[row["benchmark"]](SWITCH, ranks, row["bytes"]))
        (facts,) = [record for record in run.records if record["record"] == "run"]
        assert [place["rank"] for place in facts["ranks"]] == list(range(ranks))
        assert run.records[-1]["state"] == "complete"
    assert growth(runs) < 128 * 1024  # 98 KiB; 148 with a second communicator and a matrix that nothing uses


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        try:
            print(account({ranks: at_scale(Path(scratch), ranks) for ranks in SCALES}))
        except pytest.skip.Exception as reason:
            print(reason)


if __name__ == "__main__":
    main()
