#!/usr/bin/env python3
"""How often a file of `imb tune` makes a cell slower, and how near its choices are to the best: on launches of known truth.

    bench/tune.py [--draws 1000] [--write docs/evidence-tuning.md]
    bench/tune.py --record bench/tune.json --smpi BUILD     # the truth: tables of SimGrid, about three minutes

The truth is what SimGrid's SMPI takes on a fat tree of 16 hosts, for each collective, algorithm and length; two runs are the same to the
last bit. The default is what SMPI chooses as Open MPI would. Algorithms that abort, hang or deliver wrong data are left out, as `imb tune`
screens them out. Launches are drawn from it with noise, and searched and proven by `imb.judge.tuning`, which `imb tune` uses. Beside it stands the
usual script: three launches of each algorithm, the smallest mean wins.

*Slower*: files in which a cell takes longer than without the file. *Within*: cells whose time is within the margin of the best algorithm's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from imb.judge.tuning import Proof, Search
from numpy.typing import NDArray
from pages import table_of, written_into

Values = NDArray[np.float64]
TRUTH = Path(__file__).resolve().parent / "tune.json"
MARGIN = 0.05
PROBE_SPREAD = 0.05  # logarithm: of the state probe of launches in one state
SLOW = math.log(2.5)
CONTROLS = 20  # rows
LAUNCHES_OF_SCRIPT = 3
COLLECTIVES = ("Allgather", "Allreduce", "Alltoall", "Bcast", "Reduce")
RANKS = 16
LENGTHS = ",".join(str(4 << n) for n in range(17))  # bytes; some algorithms divide by 0 bytes


class Noise(NamedTuple):
    """Standard deviations of logarithms: of a row, and common to a launch; the share of launches in a slow state."""

    name: str
    row: float
    launch: float = 0.0
    slow: float = 0.0


NOISES = (
    Noise("2 %", 0.02),
    Noise("2 %, slow 10 %", 0.02, slow=0.1),
    Noise("2 %, slow 20 %", 0.02, slow=0.2),
    Noise("2 %, slow 30 %", 0.02, slow=0.3),
    Noise("4 %, launch 17 %", 0.04, launch=0.17),
    Noise("17 %", 0.17),
)


class Truth(NamedTuple):
    """Logarithms of seconds of each collective, shape (lengths, algorithms); the default is the first one."""

    name: str
    groups: list[Values]


class Launched(NamedTuple):
    """Logarithms of seconds; the state probe in seconds; the mean logarithm of rows that no file changes."""

    logs: Values
    probe: float
    control: float


class Machine:
    """Draws launches."""

    def __init__(self, noise: Noise, seed: int) -> None:
        self.noise = noise
        self.random = np.random.default_rng(seed)
        self.launches = 0

    def launch(self, logs: Values) -> Launched:
        """All of it in one launch."""
        self.launches += 1
        slow = SLOW * (self.random.random() < self.noise.slow)
        level = slow + self.random.normal(0, self.noise.launch) if self.noise.launch else slow
        probe = math.exp(slow + self.random.normal(0, PROBE_SPREAD)) * 1e-6
        control = level + self.random.normal(0, self.noise.row, CONTROLS).mean()
        return Launched(
            logs + level + self.random.normal(0, self.noise.row, logs.shape), probe, float(control)
        )


class Drawn(NamedTuple):
    """Of one draw: whether a cell is slower; cells within the margin; launches; cells that were changed; whether a file was made."""

    slower: bool
    within: float
    launches: int
    changed: int
    file: bool


def tuned(truth: Truth, noise: Noise, seed: int, *, apart: bool) -> Drawn:
    """As `imb tune` does. `apart`: candidates have launches of their own."""
    machine = Machine(noise, seed)
    choices = []
    for logs in truth.groups:
        search = Search(logs.shape[0], logs.shape[1], MARGIN)
        while rounds := search.rounds_needed():
            for _ in range(rounds):
                search.add(_round(machine, logs, *search.needed(), apart=apart)[None])
        choices.append(search.chosen())
    default = np.concatenate([logs[:, 0] for logs in truth.groups])
    proposed = np.concatenate(
        [logs[range(len(logs)), one] for logs, one in zip(truth.groups, choices, strict=True)]
    )
    changed = np.concatenate(choices) > 0
    proof = Proof([bool(one) for one in changed], MARGIN)
    while pairs := proof.pairs_needed():
        file = np.where(proof.changed, proposed, default)
        launched = [(machine.launch(default), machine.launch(file)) for _ in range(pairs)]
        proof.add(
            np.array([without.logs - with_it.logs for without, with_it in launched]),
            np.array([[without.probe, with_it.probe] for without, with_it in launched]),
            np.array([without.control - with_it.control for without, with_it in launched]),
        )
    final = np.where(proof.changed, proposed, default) if proof.good else default
    return _drawn(truth, final, machine.launches, proof.good)


def _round(
    machine: Machine, logs: Values, cells: Sequence[int], candidates: Sequence[int], *, apart: bool
) -> Values:
    found = np.full(logs.shape, np.nan)
    if not apart:
        found[np.ix_(cells, candidates)] = machine.launch(logs[np.ix_(cells, candidates)]).logs
        return found
    for candidate in candidates:
        launched = machine.launch(logs[cells, candidate])
        found[cells, candidate] = launched.logs - launched.control
    return found


def by_script(truth: Truth, noise: Noise, seed: int) -> Drawn:
    """The smallest mean of three launches of each algorithm, all collectives in one launch, as far as they have so many."""
    machine = Machine(noise, seed)
    final = []
    most = 0
    for logs in truth.groups:
        means = np.empty(logs.shape)
        for candidate in range(logs.shape[1]):
            seen = [machine.launch(logs[:, candidate]).logs for _ in range(LAUNCHES_OF_SCRIPT)]
            means[:, candidate] = np.exp(seen).mean(axis=0)
        most = max(most, LAUNCHES_OF_SCRIPT * logs.shape[1])
        final.append(logs[range(len(logs)), means.argmin(axis=1)])
    return _drawn(truth, np.concatenate(final), machine.launches, True)


def _drawn(truth: Truth, final: Values, launches: int, file: bool) -> Drawn:
    default = np.concatenate([logs[:, 0] for logs in truth.groups])
    best = np.concatenate([logs.min(axis=1) for logs in truth.groups])
    return Drawn(
        bool((final > default + 1e-9).any()),
        float((final <= best + math.log1p(MARGIN) + 1e-9).mean()),
        launches,
        int((final != default).sum()),
        file,
    )


FEWER = {"imb tune, own launches": 5}  # takes so many times as long, and has a part of the draws
METHODS: dict[str, Callable[[Truth, Noise, int], Drawn]] = {
    "imb tune": lambda truth, noise, seed: tuned(truth, noise, seed, apart=False),
    "imb tune, own launches": lambda truth, noise, seed: tuned(truth, noise, seed, apart=True),
    "smallest mean of 3": by_script,
}


def _draws(task: tuple[Truth, Noise, str, int, int]) -> list[Drawn]:
    truth, noise, method, first, last = task
    return [METHODS[method](truth, noise, seed) for seed in range(first, last)]


def truths(text: str) -> list[Truth]:
    """The recorded tables; and the same where the default is the best of all."""
    known = json.loads(text)["collectives"]
    groups = [
        np.log(np.array([one["default"], *one["algorithms"].values()], dtype=np.float64).T)
        for one in known.values()
    ]
    best = [np.column_stack([logs.min(axis=1), logs[:, 1:]]) for logs in groups]
    return [Truth("as Open MPI chooses", groups), Truth("default is best", best)]


def figures(text: str, draws: int) -> str:
    """Tables of all truths, noises and methods."""
    parts = []
    each = max(1, draws // (8 * (os.cpu_count() or 1)))
    with ProcessPoolExecutor() as pool:
        for truth in truths(text):
            rows = [["noise", "method", "slower", "95 %", "within", "changed", "no file", "launches"]]
            tasks = [
                [
                    (truth, noise, method, at, min(at + each, draws // FEWER.get(method, 1)))
                    for at in range(0, draws // FEWER.get(method, 1), each)
                ]
                for noise in NOISES
                for method in METHODS
            ]
            done = pool.map(_draws, [task for tasks_ in tasks for task in tasks_])
            for tasks_ in tasks:
                found = [one for _ in tasks_ for one in next(done)]
                rows.append([tasks_[0][1].name, tasks_[0][2], *_columns(found)])
            cells = sum(len(logs) for logs in truth.groups)
            candidates = sum(logs.shape[1] - 1 for logs in truth.groups)
            parts.append(
                f"Truth: {truth.name}. {cells} cells of {len(truth.groups)} collectives, {candidates} algorithms; {draws} draws each, a fifth with own launches.\n\n{table_of(rows)}"
            )
    return "\n\n".join(parts)


def _columns(found: Sequence[Drawn]) -> Iterator[str]:
    from scipy.special import betaincinv

    slower, many = sum(one.slower for one in found), len(found)
    low = betaincinv(slower, many - slower + 1, 0.025) if slower else 0.0
    high = betaincinv(slower + 1, many - slower, 0.975) if slower < many else 1.0
    yield f"{slower / many:.1%}"
    yield f"{low:.1%} to {high:.1%}"
    yield f"{np.mean([one.within for one in found]):.2%}"
    yield f"{np.mean([one.changed for one in found]):.1f}"
    yield f"{np.mean([not one.file for one in found]):.1%}"
    yield f"{np.median([one.launches for one in found]):.0f}"


# --- Recording -------------------------------------------------------------------------------------------------------

SETTINGS = (
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    *(f"smpi/{call}:0" for call in ("wtime", "init", "test", "iprobe")),
    *(f"smpi/{call}:0:0:0" for call in ("os", "or", "ois")),
    "network/model:CM02",
    *(f"network/{factor}-factor:1" for factor in ("latency", "bandwidth")),
    *(f"network/{factor}:0" for factor in ("weight-S", "TCP-gamma", "crosstraffic")),
)
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="tree" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="12.5GBps" lat="500ns"
 topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,1"/>
</platform>
"""
LIMIT = 60.0  # seconds of a launch: those that hang or have no end in sight


def record(build: Path, smpirun: str) -> str:
    """JSON: of each collective its lengths, seconds of the default and of each algorithm, and which were left out."""
    made = {}
    for collective in COLLECTIVES:
        option = collective.lower()
        default = seconds_of(build, smpirun, collective, ["smpi/coll-selector:ompi"])
        if isinstance(default, str):
            raise SystemExit(f"{collective}: the default {default}")
        algorithms, left_out = {}, {}
        for name in names_of(build, smpirun, option):
            found = seconds_of(build, smpirun, collective, [f"smpi/{option}:{name}"])
            if isinstance(found, str):
                left_out[name] = found
            elif found.keys() == default.keys():
                algorithms[name] = list(found.values())
            else:
                left_out[name] = "lacks lengths"
            print(f"{collective} {name}: {left_out.get(name, 'recorded')}", flush=True)
        made[collective] = {
            "bytes": list(default),
            "default": list(default.values()),
            "algorithms": algorithms,
            "left_out": left_out,
        }
    head = {
        "unit": "seconds",
        "ranks": RANKS,
        "platform": PLATFORM,
        "settings": list(SETTINGS),
        "default": "smpi/coll-selector:ompi",
    }
    return re.sub(
        r"\[[^\[\]{}]*\]",
        lambda one: re.sub(r"\s+", " ", one[0]),
        json.dumps(head | {"collectives": made}, indent=1),
    )


def names_of(build: Path, smpirun: str, option: str) -> list[str]:
    """The algorithms that SMPI lists where it does not know one; `default` and those that choose among others are not among them."""
    code, text, _ = simulated(build, smpirun, ["Barrier"], [f"smpi/{option}:bogus"])
    found = re.search(r"Valid algorithms: (.*)\.", text)
    choosers = ("default", "automatic", "ompi", "mpich", "impi", "mvapich2")
    chosen = [name for name in found[1].split(", ") if name not in choosers] if found else []
    if not chosen:
        raise SystemExit(f"no algorithms of {option} listed (status {code}):\n{text[-2000:]}")
    return chosen


def seconds_of(build: Path, smpirun: str, collective: str, settings: Sequence[str]) -> dict[int, float] | str:
    """Of each length; why there are none: it hung, ended badly or had wrong data."""
    words = f"{collective} -npmin {RANKS} -msgsize {LENGTHS} -iter 2 -iter_policy off -root_shift off".split()
    code, _, records = simulated(build, smpirun, [*words, "-check"], settings)
    rows = [row for row in records if row["record"] == "result"]
    if code == -signal.SIGKILL:
        return "hangs"
    if any(row.get("defects") for row in rows):
        return "delivers wrong data"
    if code:
        return "ends badly"
    return {row["bytes"]: float(f"{row['time_max_seconds']:.5g}") for row in rows if row["bytes"]}


def simulated(
    build: Path, smpirun: str, words: Sequence[str], settings: Sequence[str]
) -> tuple[int, str, list[dict]]:
    """Exit status, output and records of a launch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(PLATFORM)
        (folder / "hosts.txt").write_text("".join(f"n{host}\n" for host in range(RANKS)))
        command = [
            smpirun,
            "-np",
            str(RANKS),
            "-platform",
            "platform.xml",
            "-hostfile",
            "hosts.txt",
            "-no-privatize",
        ]
        command += ["--log=xbt_cfg.thresh:warning", *(f"--cfg={one}" for one in (*SETTINGS, *settings))]
        command += [str(build / "bin/IMB-MPI1"), *words, "-json", "records.jsonl"]
        with (folder / "out.txt").open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                code = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = -signal.SIGKILL
        text = (folder / "out.txt").read_text(errors="replace")
        kept = folder / "records.jsonl"
        lines = kept.read_text().splitlines() if kept.exists() else []
        return code, text, [json.loads(line) for line in lines if line.endswith("}")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--write", type=Path, help="page with marks for the figures")
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--smpi", type=Path, metavar="BUILD", help="build of the suite for SMPI")
    parser.add_argument("--smpirun", default="smpirun")
    asked = parser.parse_args()
    if asked.record:
        if not asked.smpi:
            parser.error("--record needs --smpi")
        asked.record.write_text(record(asked.smpi.absolute(), asked.smpirun) + "\n")
        return
    found = figures(TRUTH.read_text(), asked.draws)
    if asked.write:
        asked.write.write_text(written_into(asked.write.read_text(), "figures", found))
    print(found)


if __name__ == "__main__":
    main()
