#!/usr/bin/env python3
"""What the suite adds to what it measures: each benchmark against the same loop written by hand (bench/bare_loop.cpp,
bench/bare_today.cpp, bench/bare_modes.cpp, bench/bare_overlap.cpp).

The two run interleaved, in pairs of random order, on two ranks bound to a core each. Per launch and point the median of
several batches counts; shown are medians over launches, and their ratio with a bootstrap interval: pairs are drawn
again, so that what slows both is in both. `bare/bare` is the ratio of the bare launches of even to those of odd
number: what this machine calls the same. Then the instructions per repetition, read from both programs.

Allreduce of 0 bytes returns at once: a nanosecond more in the loop would show there first. Read it with care: two bare
loops of the same instruction count, compiled a little differently, differ by some tenths of a nanosecond.
Iallreduce_pure (IMB-NBC) is MPI_Iallreduce and MPI_Wait. Of the one-sided benchmarks the mode is non-aggregate:
Unidir_put (IMB-RMA) ends a repetition with MPI_Win_flush, Unidir_Put (IMB-EXT) with MPI_Win_fence. Of benchmarks with
computation the time with it (t_ovrl) counts; each program computes for as long as it measured without.

P_Write_Expl (IMB-IO) ends a repetition, or, aggregate, all of them, with MPI_File_sync, MPI_Barrier, MPI_File_sync;
P_Read_Expl has nothing to end. Each batch has a file opened anew, in a temporary folder that is in memory where this
machine has such: what is compared is our loop, not a disk. The ratio of bandwidths is that of the times, inverted.

Exit status: 0 when everything ran, whatever it shows; else 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab
import machine_code
from machine_code import Function, Loop

RANKS = 2
LENGTHS = (0, 8)
LENGTHS_ON_FILES = (65536, 1048576)
LENGTHS_OF_PARTS = (8, 1024)
LENGTHS_OF_COPIES = (8, 4096)
LENGTHS_OF_OVERLAPS = (8, 65536)
OVERLAPPED = {
    "NBC": ("Iallreduce", "Ineighbor_alltoall"),
    "MPI4": ("Allreduce_persist", "Alltoall_persist"),
}


@dataclass(frozen=True)
class Contest:
    """What a launch of each program measures. `by_hand`: of each benchmark, the function in bench/`source`.cpp."""

    source: str
    component: str
    by_hand: dict[str, str]
    lengths: tuple[int, ...] = LENGTHS
    options: tuple[str, ...] = ()
    part: str = ""  # of the component, in the program written by hand
    form: str = ""  # of benchmarks that another contest has, too: behind their names
    figure: str = "time_max_seconds"  # of the suite's records

    def named(self, benchmark: str) -> str:
        return f"{benchmark}, {self.form}" if self.form else benchmark

    def benchmarks(self, mpi: lab.Mpi) -> list[str]:
        names = dict.fromkeys(name.partition(",")[0] for name in self.by_hand)
        hangs = mpi.flavor == "openmpi"
        return [name for name in names if not (hangs and name.startswith("Partitioned"))]


def in_sync_mode(mode: str, by_hand: str) -> Contest:
    options = ("-sync_mode", mode, "-aggregate_mode", "non_aggregate")
    return Contest(
        "bare_modes",
        "RMA",
        {"Unidir_put": by_hand},
        options=options,
        part=mode,
        form=f"-sync_mode {mode}",
    )


CONTESTS = (
    Contest("bare_loop", "MPI1", {"PingPong": "ping_pong", "Allreduce": "allreduce"}),
    Contest("bare_loop", "NBC", {"Iallreduce_pure": "iallreduce_and_wait"}),
    Contest("bare_loop", "RMA", {"Unidir_put": "put_and_flush"}),
    Contest("bare_loop", "EXT", {"Unidir_Put": "put_and_fence"}),
    Contest(
        "bare_loop",
        "IO",
        {
            "P_Write_Expl, aggregate": "write_all_and_sync",
            "P_Write_Expl": "write_and_sync",
            "P_Read_Expl": "read_all",
        },
        lengths=LENGTHS_ON_FILES,
    ),
    Contest(
        "bare_today",
        "MPI1",
        {
            "Neighbor_alltoall": "neighbor_alltoall",
            "Neighbor_allgather": "neighbor_allgather",
            "PingPong_mprobe": "ping_pong_with_probe",
        },
    ),
    Contest(
        "bare_today",
        "MPI1",
        {"PingPong": "ping_pong_synchronous"},
        options=("-send_mode", "synchronous"),
        part="synchronous",
        form="-send_mode synchronous",
    ),
    Contest("bare_today", "NBC", {"Ineighbor_alltoall_pure": "ineighbor_alltoall_and_wait"}),
    Contest(
        "bare_today",
        "RMA",
        {"Rput": "put_and_wait", "Rget": "get_and_wait", "Raccumulate": "accumulate_and_wait"},
    ),
    Contest(
        "bare_today",
        "RMA",
        {"Shared_store": "store_and_sync", "Shared_load": "sync_and_load"},
        lengths=LENGTHS_OF_COPIES,
        part="shared",
    ),
    Contest(
        "bare_today",
        "RMA",
        {"Unidir_put": "put_from_post_to_wait"},
        options=("-sync_mode", "pscw", "-aggregate_mode", "non_aggregate"),
        part="pscw",
        form="-sync_mode pscw",
    ),
    Contest("bare_today", "EXT", {"Attach_detach": "attach_and_detach"}, lengths=LENGTHS_OF_COPIES),
    Contest(
        "bare_today",
        "P2P",
        {
            "Unirandom": "unirandom",
            "Birandom": "random_exchange",
            "Corandom": "random_exchange",
            "Multi_pair": "multi_pair",
            "SendRecv_Replace": "send_receive_replace",
            "Halo": "stencil",
        },
        options=("-halo", "2", "-window_size", "16"),
    ),
    Contest(
        "bare_today",
        "P2P",
        {"PingPong": "paired_pingpong", "PingPing": "paired_pingping"},
        part="pairs",
        form="of pairs",
    ),
    Contest(
        "bare_today",
        "MPI4",
        {
            "Sendrecv_persist": "start_two_and_wait",
            "Exchange_persist": "start_four_and_wait",
            "Allreduce_persist_pure": "start_and_wait",
            "Partitioned_PingPong": "ping_pong_in_parts",
            "Partitioned_Exchange": "exchange_in_parts",
        },
        lengths=LENGTHS_OF_PARTS,
    ),
    Contest("bare_today", "MPI4", {"Comm_split": "split_and_free"}, lengths=(0,), part="creation"),
    Contest(
        "bare_today",
        "MT",
        {"PingPongMT": "ping_pong", "AllReduceMT": "allreduce"},
        options=("-thread_level", "multiple", "-threads", "1"),
    ),
    Contest(
        "bare_modes",
        "MPI1",
        {
            "Neighbor_allgatherv": "allgatherv_of_neighbors",
            "Neighbor_alltoallv": "alltoallv_of_neighbors",
            "Neighbor_alltoallw": "alltoallw_of_neighbors",
        },
        part="vectors",
    ),
    Contest(
        "bare_modes",
        "MPI1",
        {"PingPong": "ping_pong_buffered"},
        options=("-send_mode", "buffered"),
        part="buffered",
        form="-send_mode buffered",
    ),
    in_sync_mode("fence", "put_between_fences"),
    in_sync_mode("lock", "put_in_lock"),
    in_sync_mode("lock_all", "put_in_lock_all"),
    in_sync_mode("flush_local", "put_and_flush_local"),
    Contest("bare_modes", "RMA", {"Rget_accumulate": "fetch_and_wait"}, part="fetch"),
    *(
        Contest(
            "bare_overlap",
            component,
            dict.fromkeys(names, "measure_overlap"),
            lengths=LENGTHS_OF_OVERLAPS,
            figure="time_overlapped_seconds",
        )
        for component, names in OVERLAPPED.items()
    ),
    Contest(
        "bare_modes",
        "MPI4",
        {"Comm_create": "create_and_free", "Session_init": "begin_and_end_session"},
        lengths=(0,),
        part="creation",
    ),
)
FIRST_OF_RANK_0 = {
    "PingPong": "MPI_Send",
    "PingPongMT": "MPI_Send",
    "PingPong, of pairs": "MPI_Send",
    "PingPong, -send_mode synchronous": "MPI_Ssend",
    "PingPong, -send_mode buffered": "MPI_Bsend",
    "Unidir_Put": "MPI_Put",
}  # where the ranks differ: its first call
# What machine_code calls the loops of a form.
LOOPS = {
    "PingPong, of pairs": "PairsPingPong",
    "PingPing, of pairs": "PairsPingPing",
    **{
        f"Unidir_put, -sync_mode {mode}": f"Put, -sync_mode {mode}"
        for mode in ("pscw", "fence", "lock", "lock_all")
    },
    "Unidir_put, -sync_mode flush_local": "Put_local",
    "AllReduceMT": "Allreduce",
}
# Where both roles are in one loop of ours, and in two of those written by hand; or ours has one more, of -progress.
TIMES_ALONE = {
    *(name for names in OVERLAPPED.values() for name in names),
    "Multi_pair",
    *(f"Unidir_put, -sync_mode {mode}" for mode in ("pscw", "fence")),
}
START_UP = "start to end"
IN_MEMORY = Path("/dev/shm")
RESAMPLES = 4000
CONFIDENCE = 0.95
# Launchers that take it; others bind in their own way.
BINDING = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}

Samples = dict[str, list[float]]  # seconds per repetition by point: one per batch, or one per launch


class Failed(Exception):
    """A program of the comparison did not run."""


class Duel:
    """Under one MPI: the two programs, and launches of them."""

    def __init__(self, mpi: lab.Mpi, folder: Path, files: Path, options: argparse.Namespace) -> None:
        self.mpi = mpi
        self.folder = folder
        self.file = files / f"bench-{mpi.key}"
        self.options = options
        self.bare = {name: self.built(name) for name in dict.fromkeys(one.source for one in CONTESTS)}

    def built(self, name: str) -> Path:
        source, target = lab.TOP / f"bench/{name}.cpp", self.folder / f"{name}-{self.mpi.key}"
        try:
            machine_code.compile_like_suite(
                self.mpi.build, self.mpi.wrapper, lab.environment(self.mpi), source, target
            )
        except (OSError, RuntimeError, StopIteration) as error:
            raise Failed(f"cannot build {source.name} like the suite in {self.mpi.build}: {error}") from error
        return target

    def launch(self, program: Path, arguments: list[str]) -> tuple[str, float]:
        """stdout and wall time."""
        crowded = (os.cpu_count() or 1) < RANKS
        placing = self.mpi.oversubscribe if crowded else BINDING.get(self.mpi.flavor, [])
        words = [*self.mpi.launcher, *placing, "-n", str(RANKS), str(program), *arguments]
        begin = time.perf_counter()
        try:
            done = subprocess.run(
                words,
                env=lab.environment(self.mpi),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=600,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{' '.join(words)}: {error}") from error
        if done.returncode != 0:
            raise Failed(
                f"{' '.join(words)}: exit status {done.returncode}\n{(done.stdout + done.stderr)[-2000:]}"
            )
        return done.stdout, time.perf_counter() - begin

    def repetitions(self, contest: Contest) -> str:
        """Those with computation take a hundred times as long as others."""
        if contest.component == "IO":
            return str(self.options.portions)
        return str(
            self.options.repetitions // 50 + 1
            if contest.source == "bare_overlap"
            else self.options.repetitions
        )

    def lengths(self, contest: Contest) -> list[str]:
        """A length that differs from the one before is measured again: 0,8,0,8,... gives a batch of each in turn."""
        return [str(length) for length in contest.lengths] * int(self.options.batches)

    def run_bare(self, contest: Contest) -> Samples:
        batches: Samples = {}
        program, component = self.bare[contest.source], contest.component
        file = [str(self.file)] if component == "IO" else []
        text, _ = self.launch(
            program,
            [
                f"{component}/{contest.part}" if contest.part else component,
                self.repetitions(contest),
                *file,
                *self.lengths(contest),
            ],
        )
        for line in text.splitlines():
            if found := re.fullmatch(r"(\w.*) (\d+) (\S+)", line):
                batches.setdefault(point(found[1], int(found[2])), []).append(float(found[3]))
        if contest is CONTESTS[0]:
            batches[START_UP] = [self.launch(program, [])[1]]
        return batches

    def run_ours(self, contest: Contest) -> Samples:
        batches: Samples = {}
        component = contest.component
        records = self.folder / "records.jsonl"
        program = self.mpi.program(component)
        options = ["-msgsize", ",".join(self.lengths(contest)), "-iter_policy", "off", *contest.options]
        repetitions = self.repetitions(contest)
        if component == "IO":
            volume = -(-int(repetitions) * max(LENGTHS_ON_FILES) // 2**20)  # MiB that do not reduce them
            options += ["-iter", f"{repetitions},{volume},{repetitions}"]
            options += ["-npmin", str(RANKS), "-file", str(self.file)]
        else:
            options += ["-iter", f"{repetitions},40,{repetitions}"]
        if component in ("RMA", "EXT") and contest.source == "bare_loop":
            options += ["-aggregate_mode", "non_aggregate"]
        self.launch(program, [*contest.benchmarks(self.mpi), *options, "-json", str(records)])
        for line in records.read_text().splitlines():
            record = json.loads(line)
            if record["record"] == "result":
                aggregate = f"{record['benchmark']}, aggregate"
                together = record.get("mode") == "aggregate" and aggregate in contest.by_hand
                shown = aggregate if together else contest.named(record["benchmark"])
                name = point(shown, record.get("bytes") or 0)
                batches.setdefault(name, []).append(record[contest.figure])
        if contest is CONTESTS[0]:
            batches[START_UP] = [self.launch(program, ["Barrier", "-iter", "1"])[1]]
        return batches


def point(benchmark: str, length: int) -> str:
    return f"{benchmark} {length} B"


def measure(duel: Duel, launches: int, chance: random.Random) -> tuple[Samples, Samples]:
    """Per point the launches' medians: bare, ours."""
    medians: tuple[Samples, Samples] = ({}, {})
    turns: list[tuple[Callable[[Contest], Samples], Samples]] = [
        (duel.run_bare, medians[0]),
        (duel.run_ours, medians[1]),
    ]
    for number in range(1, launches + 1):
        for contest in duel.options.contests:
            chance.shuffle(turns)
            for run, kept in turns:
                for name, batches in run(contest).items():
                    kept.setdefault(name, []).append(median(batches))
        progress(f"{duel.mpi.key}: {number} of {launches} pairs of launches")
    if set(medians[0]) != set(medians[1]):
        raise Failed(f"{duel.mpi.key}: measured different points: {sorted(medians[0])}, {sorted(medians[1])}")
    return medians


def progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{line}\033[K", end="", file=sys.stderr, flush=True)


def interval(statistic: Callable[[], float]) -> tuple[float, float]:
    drawn = sorted(statistic() for _ in range(RESAMPLES))
    outside = round(RESAMPLES * (1 - CONFIDENCE) / 2)
    return drawn[outside], drawn[-1 - outside]


def compare(bare: Sequence[float], ours: Sequence[float], chance: random.Random) -> dict:
    def drawn_ratio() -> float:
        pairs = chance.choices(range(len(bare)), k=len(bare))
        return median(ours[i] for i in pairs) / median(bare[i] for i in pairs)

    ratio, (low, high) = median(ours) / median(bare), interval(drawn_ratio)
    even, odd = bare[0::2], bare[1::2]

    def drawn_own_ratio() -> float:
        return median(chance.choices(even, k=len(even))) / median(chance.choices(odd, k=len(odd)))

    own = (median(even) / median(odd), *interval(drawn_own_ratio)) if odd else None
    return {
        "bare_seconds": list(bare),
        "ours_seconds": list(ours),
        "ratio": ratio,
        "interval": [low, high],
        "same": low <= 1 <= high,
        "bare_to_bare": own,
    }


# --- Machine code ----------------------------------------------------------------------------------------------------


def steps(loop: Loop) -> list[tuple[str, int]]:
    """Around the loop: each MPI call, and the instructions from the call before up to and with this one."""
    found: list[tuple[str, int]] = []
    since = 0
    for instruction in loop.longest(lambda _: 1):
        since += 1
        if instruction.is_call:
            found.append((instruction.callee or "pointer", since))
            since = 0
    return [(found[0][0], found[0][1] + since), *found[1:]] if found else []


def role(benchmark: str, loop: Loop) -> str:
    if benchmark in ("Unidir_put", "Shared_store", "Shared_load"):
        return "rank 0"
    if benchmark not in FIRST_OF_RANK_0:
        return "every rank"
    return "rank 0" if steps(loop)[0][0] == FIRST_OF_RANK_0[benchmark] else "rank 1"


def instructions(duel: Duel) -> list[dict]:
    rows = []
    for contest in duel.options.contests:
        loops = machine_code.timed_loops(duel.mpi.program(contest.component))
        available = contest.benchmarks(duel.mpi)
        for benchmark, function in contest.by_hand.items():
            if benchmark.partition(",")[0] not in available:
                continue
            named = contest.named(benchmark)
            if named in TIMES_ALONE:
                continue
            [by_hand] = machine_code.functions(duel.bare[contest.source], f"{function}(")
            our_loop = machine_code.default_loop(loops, LOOPS.get(named, named)).function
            for name, bare in by_role(named, by_hand).items():
                ours = by_role(named, our_loop)[name]
                rows.append({"benchmark": named, "role": name, "bare": steps(bare), "ours": steps(ours)})
    return rows


def by_role(benchmark: str, function: Function) -> dict[str, Loop]:
    return {
        role(benchmark, loop): loop for loop in sorted(function.loops, key=lambda loop: role(benchmark, loop))
    }


# --- Text ------------------------------------------------------------------------------------------------------------


def shown(seconds: float) -> str:
    for unit, name in ((1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3f} {name}"
    return f"{seconds * 1e9:.2f} ns"


def spread(values: Sequence[float]) -> str:
    return f"{shown(min(values))} .. {shown(max(values))}"


def verdict(row: dict) -> str:
    return "same" if row["same"] else f"{(row['ratio'] - 1) * 100:+.1f} %"


def ratio_text(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.3f} [{low:.3f}, {high:.3f}]"


def aligned(rows: list[list[str]]) -> str:
    """The first column to the left, numbers to the right; the first row heads them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def times_table(points: dict[str, dict]) -> str:
    head = ["", "bare", "min .. max", "ours", "min .. max", "ours/bare [95 %]", "", "bare/bare [95 %]"]
    rows = [head]
    for name, row in points.items():
        bare, ours = row["bare_seconds"], row["ours_seconds"]
        rows.append(
            [
                name,
                shown(median(bare)),
                spread(bare),
                shown(median(ours)),
                spread(ours),
                ratio_text(row["ratio"], *row["interval"]),
                verdict(row),
                ratio_text(*row["bare_to_bare"]) if row["bare_to_bare"] else "",
            ]
        )
    return aligned(rows)


def instructions_table(rows: list[dict]) -> str:
    def total(path: list[tuple[str, int]]) -> int:
        return sum(count for _, count in path)

    def text(path: list[tuple[str, int]]) -> str:
        return ", ".join(f"{count} to {name.removeprefix('MPI_')}" for name, count in path)

    return aligned(
        [
            [
                "instructions per repetition",
                "bare",
                "ours",
                "more",
                "from one call to the next: bare",
                "ours",
            ],
            *(
                [
                    f"{row['benchmark']}, {row['role']}",
                    str(total(row["bare"])),
                    str(total(row["ours"])),
                    f"{total(row['ours']) - total(row['bare']):+d}",
                    text(row["bare"]),
                    text(row["ours"]),
                ]
                for row in rows
            ),
        ]
    )


# --- Main ------------------------------------------------------------------------------------------------------------


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [mpi.key for mpi in lab.REAL]
    parser.add_argument(
        "--mpi", nargs="+", choices=known, metavar="KEY", help=f"of these builds: {', '.join(known)}"
    )
    parser.add_argument("--all", action="store_true", help="every MPI that is built, not only the main ones")
    parser.add_argument(
        "--only", metavar="NAME", help="contests with this benchmark, such as PingPong or Unidir_put"
    )
    parser.add_argument("--launches", type=positive, default=10, help="of each program [10]")
    parser.add_argument("--batches", type=positive, default=21, help="per launch and point [21]")
    parser.add_argument("--repetitions", type=positive, default=20_000, help="per batch [20000]")
    parser.add_argument("--portions", type=positive, default=32, help="repetitions per batch on files [32]")
    parser.add_argument(
        "--folder",
        type=existing_folder,
        help=f"for the files [{IN_MEMORY} where there is one, else that for temporary ones]",
    )
    parser.add_argument("--seed", type=int, help="of the order and the bootstrap [from the clock]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE too")
    options = parser.parse_args(words)
    options.contests = [
        contest
        for contest in CONTESTS
        if options.only in (None, *(name.partition(",")[0] for name in contest.by_hand))
    ]
    if not options.contests:
        parser.error(f"--only {options.only}: no contest has it")
    return options


def positive(word: str) -> int:
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("needs a number from 1 on")
    return number


def existing_folder(word: str) -> Path:
    if not os.access(word, os.W_OK | os.X_OK) or not Path(word).is_dir():
        raise argparse.ArgumentTypeError(f"{word}: needs a folder that exists and is writable")
    return Path(word).absolute()


def bench(mpi: lab.Mpi, options: argparse.Namespace, chance: random.Random) -> dict:
    files_in = options.folder or (IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=files_in) as files:
        duel = Duel(mpi, Path(folder), Path(files), options)
        bare, ours = measure(duel, options.launches, chance)
        progress("")
        points = {name: compare(bare[name], ours[name], chance) for name in ours}
        print(
            f"{mpi.key}: {options.launches} launches of each, {options.batches} batches of {options.repetitions}"
            f" repetitions, on files of {options.portions} in {Path(files).parent}, {RANKS} ranks\n\n{times_table(points)}\n"
        )
        unavailable = machine_code.unavailable()
        rows = [] if unavailable else instructions(duel)
        print(
            f"No instructions: there is no {unavailable}\n"
            if unavailable
            else f"{instructions_table(rows)}\n"
        )
        return {"mpi": mpi.key, "points": points, "instructions": rows}


def main(words: list[str]) -> int:
    options = parse(words)
    mpis = lab.REAL if options.all else lab.MAIN
    if options.mpi:
        mpis = [lab.ALL[key] for key in options.mpi]
    if not mpis:
        print("bench: no MPI is built; start with `make test` or `make bench MPI=openmpi`", file=sys.stderr)
        return 1
    seed = int(time.time()) if options.seed is None else options.seed
    print(f"seed {seed}")
    print(
        "same: the interval holds 1; bare/bare: launches of even to those of odd number, the noise of this machine\n"
    )
    chance = random.Random(seed)
    results, failed = [], False
    for mpi in mpis:
        try:
            results.append(bench(mpi, options, chance))
        except Failed as failure:
            print(f"bench: {failure}", file=sys.stderr)
            failed = True
    if options.json:
        settings = {
            name: getattr(options, name) for name in ("launches", "batches", "repetitions", "portions")
        }
        options.json.write_text(json.dumps({"seed": seed, **settings, "results": results}, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
