#!/usr/bin/env python3
"""How often a file of `imb tune` makes a cell slower, and how near its choices are to the best: on launches of known truth.

    bench/tune.py [--draws 1000] [--write docs/evidence/tuning.md]
    bench/tune.py --record tree-16 --smpi BUILD     # the truth: tables of SimGrid, about three minutes; 64 ranks and more take longer

The truth is what SimGrid's SMPI takes on simulated machines (bench/simgrid.py), for each collective, algorithm and length; two runs are the
same to the last bit. The default is what SMPI chooses as Open MPI would. Algorithms that abort, hang or deliver wrong data are left out, as
`imb tune` screens them out. Launches are drawn from it with noise, and searched and proven by `imb.tune.search`, which `imb tune` uses.
Beside it stands the usual script: three launches of each algorithm, the smallest mean wins.

*Slower*: files in which a cell takes longer than without the file. *Within*: cells whose time is within the margin of the best algorithm's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from imb.tune.search import LOOKS, Proof, Search
from numpy.typing import NDArray
from pages import table_of, written_into
from simgrid import AS_OPEN_MPI, MACHINES, SETTINGS, Machine, algorithms_of, simulated

Values = NDArray[np.float64]
MARGIN = 0.05
PROBE_SPREAD = 0.05  # logarithm: of the state probe of launches in one state
SLOW = math.log(2.5)
CONTROLS = 20  # rows
LAUNCHES_OF_SCRIPT = 3
COLLECTIVES = ("Allgather", "Allreduce", "Alltoall", "Bcast", "Reduce")
LARGEST = ("Bcast", "Allreduce")  # of the machine on which a launch of the others takes minutes
BUFFERS = 64 << 20  # bytes of all ranks
HANGS_ON_FIRST = "not tried: hangs on the first machine"
LIMIT = 20.0  # seconds of a launch, and times what the default takes: those that hang have no end


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


class Launches:
    """Draws them."""

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


def tuned(truth: Truth, noise: Noise, seed: int, *, apart: bool = False, most: int | None = None) -> Drawn:
    """As `imb tune` does. `apart`: candidates have launches of their own. `most`: pairs for which the budget has time."""
    machine = Launches(noise, seed)
    choices = []
    for logs in truth.groups:
        search = Search(logs.shape[0], logs.shape[1], MARGIN)
        while rounds := search.rounds_needed():
            for _ in range(rounds):
                search.add(_round(machine, logs, *search.next_round(), apart=apart)[None])
        choices.append(search.choices())
    default = np.concatenate([logs[:, 0] for logs in truth.groups])
    proposed = np.concatenate(
        [logs[range(len(logs)), one] for logs, one in zip(truth.groups, choices, strict=True)]
    )
    changed = np.concatenate(choices) > 0
    proof = Proof([bool(one) for one in changed], MARGIN)
    left = most
    while pairs := proof.pairs_needed():
        if left is not None:
            pairs = proof.affordable_pairs(left)
            left -= pairs
            if not pairs and proof.pairs_launched < LOOKS[0]:
                break
            if not pairs:
                proof.end()
                continue
        file = np.where(proof.changed, proposed, default)
        launched = [(machine.launch(default), machine.launch(file)) for _ in range(pairs)]
        proof.add(
            np.array([without.logs - with_it.logs for without, with_it in launched]),
            np.array([[without.probe, with_it.probe] for without, with_it in launched]),
            np.array([without.control - with_it.control for without, with_it in launched]),
        )
    final = np.where(proof.changed, proposed, default) if proof.is_proven else default
    return _drawn(truth, final, machine.launches, proof.is_proven)


def _round(
    machine: Launches, logs: Values, cells: Sequence[int], candidates: Sequence[int], *, apart: bool
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
    machine = Launches(noise, seed)
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


FIRST_MACHINE = "tree-16"
OF_OTHERS = ("imb tune", "smallest mean of 3")
FEWER = {"imb tune, own launches": 5}  # takes so many times as long, and has a part of the draws
METHODS: dict[str, Callable[[Truth, Noise, int], Drawn]] = {
    "imb tune": tuned,
    "imb tune, 20 pairs": lambda truth, noise, seed: tuned(truth, noise, seed, most=20),
    "imb tune, own launches": lambda truth, noise, seed: tuned(truth, noise, seed, apart=True),
    "smallest mean of 3": by_script,
}


def _draws(task: tuple[Truth, Noise, str, int, int]) -> list[Drawn]:
    truth, noise, method, first, last = task
    return [METHODS[method](truth, noise, seed) for seed in range(first, last)]


def truths(machine: str) -> list[Truth]:
    """The recorded tables; and the same where the default is the best of all."""
    known = json.loads(recorded(machine).read_text())["collectives"]
    groups = [
        np.log(np.array([one["default"], *one["algorithms"].values()], dtype=np.float64).T)
        for one in known.values()
    ]
    best = [np.column_stack([logs.min(axis=1), logs[:, 1:]]) for logs in groups]
    return [Truth("as Open MPI chooses", groups), Truth("default is best", best)]


def recorded(machine: str) -> Path:
    """The file of its truth."""
    return Path(__file__).resolve().with_name(f"tune-{machine}.json")


def drawn(
    pool: Executor, truth: Truth, draws: int, methods: Sequence[str]
) -> Iterator[tuple[Noise, str, list[Drawn]]]:
    """All draws of each noise and method."""
    each = max(1, draws // (8 * (os.cpu_count() or 1)))
    tasks = [
        [
            (truth, noise, method, at, min(at + each, draws // FEWER.get(method, 1)))
            for at in range(0, draws // FEWER.get(method, 1), each)
        ]
        for noise in NOISES
        for method in methods
    ]
    done = pool.map(_draws, [task for tasks_ in tasks for task in tasks_])
    for tasks_ in tasks:
        yield tasks_[0][1], tasks_[0][2], [one for _ in tasks_ for one in next(done)]


def full_tables(pool: Executor, draws: int) -> str:
    """Of the first machine: both truths, all noises and methods."""
    parts = []
    for truth in truths(FIRST_MACHINE):
        rows = [["noise", "method", "slower", "95 %", "within", "changed", "no file", "launches"]]
        rows += [
            [noise.name, method, *_columns(found)]
            for noise, method, found in drawn(pool, truth, draws, list(METHODS))
        ]
        cells = sum(len(logs) for logs in truth.groups)
        candidates = sum(logs.shape[1] - 1 for logs in truth.groups)
        parts.append(
            f"Truth: {truth.name}. {cells} cells of {len(truth.groups)} collectives, {candidates} algorithms; {draws} draws each, a fifth with own launches.\n\n{table_of(rows)}"
        )
    return "\n\n".join(parts)


def short_table(pool: Executor, name: str, draws: int) -> str:
    """Of another machine: a row of each noise."""
    ours, best = truths(name)
    cells = sum(len(logs) for logs in ours.groups)
    candidates = sum(logs.shape[1] - 1 for logs in ours.groups)
    known = {
        (truth.name, noise, method): found
        for truth in (ours, best)
        for noise, method, found in drawn(pool, truth, draws, OF_OTHERS)
    }
    rows = [
        ["noise", "slower", "within", "no file", "launches", "slower *", "script slower", "script slower *"]
    ]
    for noise in NOISES:
        slower, _, within, _, no_file, launches = _columns(known[ours.name, noise, OF_OTHERS[0]])
        slower_of_best, script, script_of_best = (
            next(_columns(known[truth.name, noise, method]))
            for truth, method in ((best, OF_OTHERS[0]), (ours, OF_OTHERS[1]), (best, OF_OTHERS[1]))
        )
        rows.append([noise.name, slower, within, no_file, launches, slower_of_best, script, script_of_best])
    return f"{MACHINES[name].title}: {cells} cells of {len(ours.groups)} collectives, {candidates} algorithms; {draws} draws each.\n\n{table_of(rows)}"


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


def record(machine: Machine, collectives: Sequence[str], build: Path, smpirun: str, file: Path) -> None:
    """Writes, after each collective, what is known: its lengths, seconds of the default and of each algorithm, which were left out.
    Collectives that the file has of this machine are not recorded again."""
    program = build / "bin/IMB-MPI1"
    head = {
        "unit": "seconds",
        "ranks": machine.ranks,
        "platform": machine.platform(),
        "settings": list(SETTINGS),
        "default": AS_OPEN_MPI,
    }
    before = json.loads(file.read_text()) if file.exists() else {}
    made: dict[str, Any] = before.pop("collectives", {})
    if before not in ({}, head):
        raise SystemExit(f"{file} is of another machine or of other settings; remove it")
    for collective in collectives:
        if collective in made:
            continue
        default, wall = seconds_of(machine, program, smpirun, collective, AS_OPEN_MPI, None)
        if isinstance(default, str):
            raise SystemExit(f"{collective}: the default {default}")
        algorithms, left_out = {}, {}
        for name in algorithms_of(program, collective, smpirun=smpirun):
            setting = f"smpi/{collective.lower()}:{name}"
            limit = LIMIT * (1 + wall)
            found: dict[int, float] | str = HANGS_ON_FIRST
            took = 0.0
            if machine == MACHINES[FIRST_MACHINE] or name not in hanging(collective):
                found, took = seconds_of(machine, program, smpirun, collective, setting, limit)
            if isinstance(found, str):
                left_out[name] = found
            elif found.keys() == default.keys():
                algorithms[name] = list(found.values())
            else:
                left_out[name] = "lacks lengths"
            print(f"{collective} {name}: {left_out.get(name, 'recorded')}, {took:.1f} s", flush=True)
        made[collective] = {
            "bytes": list(default),
            "default": list(default.values()),
            "algorithms": algorithms,
            "left_out": left_out,
        }
        text = json.dumps(head | {"collectives": made}, indent=1)
        file.write_text(re.sub(r"\[[^\[\]{}]*\]", lambda one: re.sub(r"\s+", " ", one[0]), text) + "\n")


def hanging(collective: str) -> list[str]:
    """Algorithms that hang on the first machine: on others they are not tried, since each takes as long as the limit."""
    left_out = json.loads(recorded(FIRST_MACHINE).read_text())["collectives"][collective]["left_out"]
    return [name for name, why in left_out.items() if why == "hangs"]


def lengths_of(collective: str, ranks: int) -> list[int]:
    """Bytes; some algorithms divide by 0 bytes. All ranks live in one process, whose buffers are limited."""
    blocks = ranks if collective in ("Allgather", "Alltoall") else 1
    return [4 << n for n in range(17) if (4 << n) * blocks * ranks <= BUFFERS]


def seconds_of(
    machine: Machine, program: Path, smpirun: str, collective: str, setting: str, limit: float | None
) -> tuple[dict[int, float] | str, float]:
    """Of each length; or why there are none: it hung, ended badly or had wrong data. And how long that took."""
    lengths = ",".join(map(str, lengths_of(collective, machine.ranks)))
    words = f"{collective} -npmin {machine.ranks} -msgsize {lengths} -iter 2 -iter_policy off -root_shift off -check"
    done = simulated(machine, program, words.split(), [setting], smpirun=smpirun, limit=limit)
    if done.why_bad:
        return done.why_bad, done.wall
    return {
        row["bytes"]: float(f"{row['time_max_seconds']:.5g}") for row in done.rows if row["bytes"]
    }, done.wall


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--machine", choices=MACHINES, help="whose tables; default: all that are recorded")
    parser.add_argument("--write", type=Path, help="page with marks for the figures")
    parser.add_argument("--record", metavar="MACHINE", choices=MACHINES)
    parser.add_argument("--smpi", type=Path, metavar="BUILD", help="build of the suite for SMPI")
    parser.add_argument("--collectives", default="", help="of the record: Bcast,Reduce")
    parser.add_argument("--smpirun", default="smpirun")
    asked = parser.parse_args()
    if asked.record:
        if not asked.smpi:
            parser.error("--record needs --smpi")
        machine, build = MACHINES[asked.record], asked.smpi.absolute()
        collectives = asked.collectives.split(",") if asked.collectives else COLLECTIVES
        if machine.ranks > 64 and not asked.collectives:
            collectives = LARGEST
        record(machine, collectives, build, asked.smpirun, recorded(asked.record))
        return
    with ProcessPoolExecutor() as pool:
        known = [name for name in MACHINES if recorded(name).exists()]
        for name in [asked.machine] if asked.machine else known:
            first = name == FIRST_MACHINE
            found = full_tables(pool, asked.draws) if first else short_table(pool, name, asked.draws)
            if asked.write:
                asked.write.write_text(written_into(asked.write.read_text(), name, found))
            print(found, flush=True)


if __name__ == "__main__":
    main()
