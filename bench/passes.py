#!/usr/bin/env python3
"""How far launches differ: classic rows, one burst each, beside rows measured in passes with states.

    bench/passes.py [--launches 9] [--budget 30] [--mpi openmpi,mpich] [--keep FOLDER] [--arguments "..."]

On two ranks bound to a core each, interleaved launches of three kinds: classic; classic with so many repetitions that it
takes about as long as one in passes (rows are still one burst); in passes. The spread of a row is (largest - least) /
median over launches, over all of them and over each three in a row; shown are the median over rows and the 90th
percentile. A launch in passes whose fastest state is not the one that is usual among them (imb.compare.dominant_state) is named and counted,
not judged; the others are compared by the figures of their fastest states, and by those of the state that most of them saw.

Then the share of the time that measures, that of probes and counters, how often a launch's 95 % interval holds the
median over all launches, and how often the interval over three and over five launches holds the median over the others.
Then the share of the time that measures of two launches that take turns, 27 rows of 0.2 s each. Then states and intervals on series whose truth is known, and intervals on recorded ones (bench/made_up.cpp).

Exit status: 0 when everything ran, whatever it shows; else 1.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab
import scipy.stats
from imb.compare.dominant_state import split_by_state
from imb.runner.interleave import Conductor

TOP = Path(__file__).resolve().parent.parent
BINDING = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}
LONGEST_TURNS = 1200.0  # seconds; launches in turns that take longer hang
FEWEST_RECORDED = 1000  # samples of a row
DRAWS = 200  # of launches whose interval is held against the others
ROWS_IN_TURNS, PARTS = ["-msglog", "8:15", "PingPong", "Sendrecv", "Allreduce"], 100

Key = tuple[str, int]


class Failed(Exception):
    """A launch did not measure all."""


@dataclass
class Launch:
    times: dict[Key, float] = field(default_factory=dict)
    intervals: dict[Key, tuple[float, float]] = field(default_factory=dict)
    reference: float | None = None  # seconds per exchange, of the fastest state
    seconds: float = 0
    measuring: float = 0
    observing: float = 0
    passes: int = 0


def launch(mpi: lab.Mpi, arguments: list[str], records: Path) -> Launch:
    words = [*mpi.launcher, "-n", "2", *BINDING.get(mpi.flavor, []), str(mpi.program("MPI1"))]
    done = subprocess.run(
        [*words, "-json", str(records), *arguments],
        env={**os.environ, **mpi.env},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{mpi.key}: exit status {done.returncode}: {done.stderr.strip() or done.stdout[-300:]}")
    found = Launch()
    with records.open() as lines:
        for line in lines:
            if line.startswith(('{"record":"sample"', '{"record":"row"', '{"record":"run"')):
                continue
            take(found, json.loads(line))
    return found


def take(found: Launch, record: dict) -> None:
    if record["record"] == "end":
        found.seconds = record.get("seconds", 0)
        found.measuring = record.get("measuring_seconds", 0)
        found.observing = record.get("observing_seconds", 0)
        found.passes = record.get("passes", 0)
    if record["record"] != "result":
        return
    key = record["benchmark"], record["bytes"]
    found.times[key] = record["time_max_seconds"]
    passes = record.get("passes")
    if not passes:
        return
    if passes["interval_seconds"]:
        low, high = passes["interval_seconds"]
        found.intervals[key] = low, high
    if passes["states"]:
        found.reference = passes["states"][0]["probe_seconds"]


def spread(launches: list[Launch]) -> list[float]:
    """Of each row."""
    rows = []
    for key in launches[0].times:
        times = [one.times[key] for one in launches]
        if all(time > 0 for time in times):
            rows.append((max(times) - min(times)) / median(times))
    return rows


def described(rows: list[float]) -> str:
    if not rows:
        return "        -        -"
    return f"{median(rows):9.3f}{float(np.quantile(rows, 0.9)):9.3f}"


def spreads(launches: list[Launch]) -> str:
    threes = [launches[i : i + 3] for i in range(0, len(launches) - 2, 3)]
    of_threes = [row for three in threes for row in spread(three)]
    return described(of_threes) + "   " + (described(spread(launches)) if len(launches) > 1 else "")


def usual(launches: list[Launch]) -> list[Launch]:
    """Those whose fastest state is the one that is usual on this machine (imb.compare.dominant_state); all where that cannot be told."""
    known = [(one, one.reference) for one in launches if one.reference]
    is_dominant, _ = split_by_state(np.log([reference for _, reference in known]))
    return [one for (one, _), is_it in zip(known, is_dominant, strict=True) if is_it] or launches


def covered(launches: list[Launch]) -> float:
    """Share of the intervals that hold the median over launches."""
    held = []
    for key in launches[0].times:
        middle = median(one.times[key] for one in launches)
        held += [
            one.intervals[key][0] <= middle <= one.intervals[key][1]
            for one in launches
            if key in one.intervals
        ]
    return float(np.mean(held)) if held else float("nan")


def over_launches(launches: list[Launch], count: int) -> str:
    """How often the 95 % interval over so many launches, Student's of logarithms, holds the median over the other launches;
    over draws of launches, of all rows."""
    if len(launches) < count + 2:
        return "too few launches"
    random = np.random.default_rng(1)
    times = np.log([[one.times[key] for key in launches[0].times] for one in launches])
    quantile = scipy.stats.t.ppf(0.975, count - 1) / np.sqrt(count)
    held = []
    for _ in range(DRAWS):
        order = random.permutation(len(launches))
        drawn, others = times[order[:count]], times[order[count:]]
        off = np.abs(drawn.mean(axis=0) - np.median(others, axis=0))
        held.append(off <= quantile * drawn.std(axis=0, ddof=1))
    return f"{np.mean(held):.1%}"


def in_turns(mpi: lab.Mpi, folder: Path) -> None:
    """Two launches that measure in turns, as `imb ab --segments` has them: in passes, and classic rows in segments."""
    for kind, words in (
        ("in passes", ["-budget", "5.4"]),
        ("classic", ["-time", "0.2", "-iter", "1000000,100000"]),
    ):
        files = [folder / f"{mpi.key}-turns-{side}.jsonl" for side in range(2)]
        begun = time.monotonic()
        with Conductor([2, 2], 1) as conductor:
            both = [
                subprocess.Popen(
                    [*mpi.launcher, "-n", "2", *BINDING.get(mpi.flavor, []), str(mpi.program("MPI1")),
                     *words, *ROWS_IN_TURNS, *conductor.words(side, PARTS), "-json", str(file)],
                    env={**os.environ, **mpi.env}, stdout=subprocess.DEVNULL,
                )
                for side, file in enumerate(files)
            ]  # fmt: skip
            statuses: dict[int, int] = {}
            while len(statuses) < len(both):
                if time.monotonic() - begun > LONGEST_TURNS:
                    for one in both:
                        one.kill()
                for side, one in enumerate(both):
                    if side not in statuses and (status := one.poll()) is not None:
                        statuses[side] = status
                        conductor.leave(side)  # it may never have come
                time.sleep(0.02)
        seconds = time.monotonic() - begun
        if any(statuses.values()):
            raise Failed(f"{mpi.key}: launches in turns: exit statuses {list(statuses.values())}")
        measuring, rows = 0.0, 0
        for file in files:
            records = [json.loads(line) for line in file.read_text().splitlines()]
            results = [one for one in records if one["record"] == "result"]
            rows = len(results)
            if kind == "in passes":
                measuring += records[-1]["measuring_seconds"]
            else:
                measuring += sum(timed(one) for one in results)
        print(
            f"{mpi.key}: two launches in turns, {kind}, {rows} rows of 0.2 s each: {seconds:.1f} s, {measuring / seconds:.0%} measures"
        )


def timed(result: dict) -> float:
    """Seconds; PingPong's time is that of one way of two."""
    ways = 2 if result["benchmark"] == "PingPong" else 1
    return float(result["time_max_seconds"] * result["repetitions"] * ways)


def compare(mpi: lab.Mpi, options: argparse.Namespace, folder: Path) -> None:
    arguments = options.arguments.split()
    kinds: dict[str, list[Launch]] = {"classic": [], "classic, as long": [], "passes": []}
    for number in range(options.launches):
        print(
            f"\r{mpi.key}: launch {number + 1} of {options.launches}\x1b[K",
            end="",
            file=sys.stderr,
            flush=True,
        )

        def records(kind: str, number: int = number) -> Path:
            return folder / (f"{mpi.key}-{kind}-{number + 1}.jsonl" if options.keep else "records.jsonl")

        kinds["classic"].append(launch(mpi, arguments, records("classic")))
        # The estimate of what a repetition takes costs a tenth more.
        per_row = options.budget / 1.1 / len(kinds["classic"][0].times)
        many = ["-iter", "100000000,100000000", "-time", f"{per_row:.4f}"]
        kinds["classic, as long"].append(launch(mpi, [*many, *arguments], records("long")))
        kinds["passes"].append(launch(mpi, ["-budget", str(options.budget), *arguments], records("passes")))
    print("\r\x1b[K", end="", file=sys.stderr)
    print(
        f"\n{mpi.key}: {len(kinds['classic'][0].times)} rows, {options.launches} launches of each kind, interleaved"
    )
    print(f"{'(largest - least) / median of a row':40}{'three launches':>18}   {'all':>18}")
    print(f"{'':40}{'median':>9}{'90 %':>9}   {'median':>9}{'90 %':>9}")
    for name, launches in kinds.items():
        print(f"{name:40}{spreads(launches)}")
    passes = kinds["passes"]
    judged = usual(passes)
    print(f"{'passes, in the dominant state':40}{spreads(judged)}")
    away = len(passes) - len(judged)
    levels = ", ".join(f"{one.reference * 1e6:.3f}" if one.reference else "-" for one in passes)
    print(
        f"{away} of {len(passes)} launches had another fastest state than the usual one; probes of each one's fastest state, us: {levels}"
    )
    share = [one.measuring / one.seconds for one in passes]
    probes = [one.observing / one.seconds for one in passes]
    count = [one.passes for one in passes]
    print(
        f"passes {min(count)} to {max(count)}; of the time, {median(share):.1%} measures, "
        f"{median(probes):.1%} is for probes and counters"
    )
    print(f"intervals of a launch that hold the median over launches: {covered(judged):.1%}")
    for some in (3, 5):
        print(
            f"intervals over {some} launches that hold the median over the others: {over_launches(judged, some)}"
        )


def recorded(mpi: lab.Mpi, folder: Path) -> list[list[float]]:
    """Of each row the times of its samples in the reference state, in the order of time; those with too few are left out."""
    words = ["-passes", "3000", "-msgsize", "8,65536", "PingPong", "Allreduce"]
    path = folder / f"{mpi.key}-recorded.jsonl"
    launch(mpi, words, path)
    samples: dict[int, list[dict]] = {}
    states: dict[int, list[float]] = {}
    with path.open() as lines:
        for line in lines:
            record = json.loads(line)
            if record["record"] == "sample":
                samples.setdefault(record["row"], []).append(record)
            elif record["record"] == "result":
                states[record["row"]] = [one["probe_seconds"] for one in record["passes"]["states"]]
    series = [
        [one["time_max_seconds"] for one in of_row if in_reference(one, states[row])]
        for row, of_row in samples.items()
    ]
    return [one for one in series if len(one) >= FEWEST_RECORDED]


def in_reference(sample: dict, states: list[float]) -> bool:
    """Whether both probes are nearer to the first state than to another."""
    return all(
        not probe or min(states, key=lambda level: abs(math.log(probe / level))) == states[0]
        for probe in (sample.get("probe_before_seconds"), sample.get("probe_after_seconds"))
        if states
    )


def made_up(options: argparse.Namespace, recorded_ones: list[list[float]], folder: Path) -> None:
    lines = folder / "recorded.txt"
    lines.write_text("".join(" ".join(map(repr, one)) + "\n" for one in recorded_ones))
    run_made_up("all", options.series, TOP / "src", lines, folder)
    if options.before:
        print(f"\nThe same intervals by {options.before}", flush=True)
        before = folder / "before"
        (before / "result").mkdir(parents=True)
        for name in ("result/interval.h", "result/interval.cpp"):
            git = ["git", "-C", str(TOP), "show", f"{options.before}:src/{name}"]
            (before / name).write_bytes(subprocess.run(git, check=True, capture_output=True).stdout)
        run_made_up("intervals", options.series, before, lines, folder)


def run_made_up(what: str, series: int, intervals: Path, lines: Path, folder: Path) -> None:
    """With the method of intervals in `intervals`/result."""
    program = folder / "made_up"
    names = ("result/passes", "result/statistics", "result/states", "result/quantile")
    sources = [
        TOP / "bench/made_up.cpp",
        intervals / "result/interval.cpp",
        *(TOP / f"src/{name}.cpp" for name in names),
    ]
    include = [f"-I{intervals}", f"-I{TOP / 'src'}"]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", "-O2", *include, *sources, "-o", program], check=True)
    subprocess.run([program, what, str(series), lines], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--launches", type=int, default=9, help="of each kind; 0: none (9)")
    parser.add_argument("--budget", type=float, default=30, help="seconds of a launch in passes (30)")
    parser.add_argument("--mpi", help="which MPIs, such as openmpi,mpich (the main ones that are built)")
    parser.add_argument("--arguments", default="", help="of IMB-MPI1 (none: the default table)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the records of all launches there")
    parser.add_argument("--series", type=int, default=300, help="made-up ones of each kind; 0: none (300)")
    parser.add_argument(
        "--before", metavar="REVISION", help="show the intervals of that revision, too: side by side"
    )
    parser.add_argument(
        "--turns", action=argparse.BooleanOptionalAction, default=True, help="measure launches in turns (yes)"
    )
    options = parser.parse_args()
    keys = [mpi.key for mpi in lab.MAIN] if options.mpi is None else filter(None, options.mpi.split(","))
    mpis = [lab.ALL[key] for key in keys]
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory() as name:
            for mpi in mpis if options.launches else []:
                compare(mpi, options, options.keep or Path(name))
            for mpi in mpis if options.turns else []:
                in_turns(mpi, Path(name))
            if options.series:
                print(flush=True)
                series = [one for mpi in mpis for one in recorded(mpi, options.keep or Path(name))]
                made_up(options, series, Path(name))
    except (Failed, subprocess.CalledProcessError) as error:
        print(f"bench/passes.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
