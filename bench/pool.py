#!/usr/bin/env python3
"""Records launches that bench/verdicts.py judges the companion's verdicts by, and packs them into one file.

    bench/pool.py record FOLDER --mpi .env/mpi/mpich --programs build/mpich/bin [--tables 64] [--pairs 18] \
        [--duets 24] [--twins 12]
    bench/pool.py pack FOLDER                      # makes bench/pool.parquet
    bench/verdicts.py --write docs/evidence/verdicts.md     # the figures, into the page

`record` makes identical launches of the whole table of IMB-MPI1 on two ranks bound to a core each, and between them, at
random places, pairs of launches of a few benchmarks: one as it is, one with every iteration made longer by a known share
(slow_mpi.cpp); which of the two comes first is random too. Behind them come pairs of the same kind that run at the same time
and measure in turns, as `imb ab --segments 150` has them; and such pairs of which both are as they are. The library that delays is
loaded by all of them, with a share of 0 where nothing is to be delayed. Ended and started again it goes on where it was. Nothing
else should run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from imb.model.intent import Intent
from imb.model.mpis import Host
from imb.model.observations import METRICS, Launch, launches_of
from imb.model.records import read
from imb.mpi import host_conditions, installations
from imb.mpi.launchers import launch_command
from imb.runner.interleave import Conductor

HERE = Path(__file__).resolve().parent

TABLE = ["-iter", "10000", "-time", "0.03"]
FEW = ["-iter", "1000000", "-time", "0.1", "PingPong", "Sendrecv", "Bcast", "Allreduce"]
BY_TURNS = ["-iter", "1000000", "-time", "0.3", *FEW[4:]]
PARTS = 150
POOL = HERE / "pool.parquet"
SERIES = ("table", "as-it-is", "slower", "turns-as-it-is", "turns-slower", "turns-one", "turns-other")


def record(options: argparse.Namespace) -> None:
    mpi = installations.find(options.mpi)
    folder: Path = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libslow_mpi.so"
    source = HERE / "slow_mpi.cpp"
    subprocess.run(
        [mpi.wrapper, "-std=c++20", "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )
    facts = {
        "share": options.share,
        "seed": options.seed,
        "table": TABLE,
        "few": FEW,
        "by_turns": BY_TURNS,
        "parts": PARTS,
        "conditions": around(mpi),
    }
    (folder / "facts.json").write_text(json.dumps(facts))
    plan = launches_in_order(options)
    missing = []
    for place, names in enumerate(plan, start=1):
        files = [folder / f"{name}.jsonl" for name in names]
        if all(file.exists() and b'"record":"end"' in file.read_bytes() for file in files):
            continue
        load, begin = os.getloadavg()[0], time.perf_counter()
        ok = measure(mpi, options, library, files, seed=place)
        taken = time.perf_counter() - begin
        print(
            f"{place} of {len(plan)}: {', '.join(names)}, {taken:.1f} s, load before {load:.2f}", flush=True
        )
        if not ok:  # rows that could not be measured, say: the machine was not quiet
            missing += names
    if missing:
        sys.exit(
            f"{len(missing)} launches failed ({', '.join(missing)}); the same command records them again"
        )


def measure(
    mpi: installations.Installation, options: argparse.Namespace, library: Path, files: list[Path], seed: int
) -> bool:
    """One launch, or several at the same time that measure in turns; whether all did all they should."""
    with Conductor([2] * len(files), seed) as conductor:
        running = []
        for side, file in enumerate(files):
            file.unlink(missing_ok=True)
            series = file.stem.rsplit("-", 1)[0]
            share = options.share if series.endswith("slower") else 0.0
            what = TABLE if series == "table" else BY_TURNS if len(files) > 1 else FEW
            turns = conductor.words(side, PARTS) if len(files) > 1 else []
            intent = Intent(
                ranks=2, bind="core", env={"LD_PRELOAD": str(library), "SLOW_MPI_SHARE": str(share)}
            )
            words = [str(options.programs / "IMB-MPI1"), *what, "-json", str(file), *turns]
            command = launch_command(mpi, intent, words, Host(os.cpu_count() or 1, os.geteuid() == 0))
            running.append(
                subprocess.Popen(command.words, env=os.environ | command.env, stdout=subprocess.DEVNULL)
            )
        statuses: dict[int, int] = {}
        while len(statuses) < len(running):
            for side, process in enumerate(running):
                if side not in statuses and (status := process.poll()) is not None:
                    statuses[side] = status
                    conductor.leave(side)  # it may never have come
            time.sleep(0.2)
    good = not any(statuses.values())
    if not good:
        for file in files:
            file.unlink(missing_ok=True)
    return good


def around(mpi: installations.Installation) -> dict:
    """Conditions, without what only says where it was."""
    known = msgspec.to_builtins(host_conditions.gather(mpi))
    for name in ("host", "cpus_allowed"):
        known["machine"].pop(name)
    return {name: known[name] for name in ("time", "machine", "governors", "clock_source", "load", "mpi")}


def launches_in_order(options: argparse.Namespace) -> list[list[str]]:
    """`table-001`, `as-it-is-001` before or behind `slower-001`, ...: pairs lie between tables, at random. What is in
    one list runs at the same time."""
    shuffled = random.Random(options.seed)
    slots = ["table"] * options.tables + ["pair"] * options.pairs
    shuffled.shuffle(slots)
    counts = {"table": 0, "pair": 0}
    order = []
    for slot in slots:
        counts[slot] += 1
        names = ["table"] if slot == "table" else shuffled.sample(SERIES[1:3], 2)
        order += [[f"{name}-{counts[slot]:03d}"] for name in names]
    for pair, count in ((SERIES[3:5], options.duets), (SERIES[5:], options.twins)):
        order += [[f"{name}-{number:03d}" for name in pair] for number in range(1, count + 1)]
    return order


def pack(options: argparse.Namespace) -> None:
    columns: dict[str, list[object]] = {
        name: [] for name in ("series", "number", "started", "benchmark", "bytes", "seconds")
    }
    launches = 0
    run: Launch | None = None
    for series in SERIES:
        for file in sorted(options.folder.glob(f"{series}-*.jsonl")):
            [launch] = launches_of(read(file.read_bytes(), file.name), file.name)
            if launch.end is None or launch.end.state != "complete":
                sys.exit(f"{file}: this launch did not end well; delete it and record again")
            launches += 1
            run = run or launch
            for key, row in launch.rows.items():
                columns["series"].append(series)
                columns["number"].append(int(file.stem.rsplit("-", 1)[1]))
                columns["started"].append(launch.run.date)
                columns["benchmark"].append(key.benchmark)
                columns["bytes"].append(key.bytes)
                columns["seconds"].append(METRICS["time"](row))
    if run is None:
        sys.exit(f"{options.folder}: no launches; see bench/pool.py record")
    facts = json.loads((options.folder / "facts.json").read_text())
    facts["mpi"] = run.run.mpi.name if run.run.mpi else None
    facts["build"] = msgspec.to_builtins(run.run.build)
    types = {"number": pa.int16(), "bytes": pa.int32(), "seconds": pa.float32()}
    table = pa.table({name: pa.array(cells, types.get(name, pa.string())) for name, cells in columns.items()})
    table = table.replace_schema_metadata({"facts": json.dumps(facts)})
    pq.write_table(
        table, options.output, compression="zstd", compression_level=19, use_byte_stream_split=["seconds"],
        use_dictionary=["series", "number", "started", "benchmark", "bytes"],
    )  # fmt: skip
    print(
        f"{options.output}: {launches} launches, {table.num_rows} rows, {options.output.stat().st_size} bytes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(required=True)
    recording = verbs.add_parser("record", help="launch")
    recording.set_defaults(does=record)
    recording.add_argument("folder", type=Path)
    recording.add_argument("--mpi", default=None, help="as of imb run: name, prefix or wrapper")
    recording.add_argument("--programs", type=lambda text: Path(text).resolve(), required=True)
    recording.add_argument("--tables", type=int, default=64)
    recording.add_argument("--pairs", type=int, default=18)
    recording.add_argument("--duets", type=int, default=24, help="interleaved pairs")
    recording.add_argument("--twins", type=int, default=12, help="the same, neither of them slower")
    recording.add_argument("--share", type=float, default=0.05, help="of an iteration's time, added to it")
    recording.add_argument("--seed", type=int, default=1)
    packing = verbs.add_parser("pack", help="launches of a folder into one Parquet file")
    packing.set_defaults(does=pack)
    packing.add_argument("folder", type=Path)
    packing.add_argument("--output", type=Path, default=POOL)
    options = parser.parse_args()
    options.does(options)


if __name__ == "__main__":
    main()
