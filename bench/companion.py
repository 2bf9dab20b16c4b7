"""How fast the companion reads logs and lists runs: generates both, times both, prints both. DuckDB's CSV reader on the same
bytes is the yardstick: it divides them into lines, and no more.

    bench/companion.py [--gigabytes 1] [--logs 2000] [--runs 10000] [--folder FOLDER]

The logs are complete ones of IMB-MPI1: 19 benchmarks on several numbers of processes, each number its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BANNER = """#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
#----------------------------------------------------------------
# Date                  : Sat Nov 21 07:05:53 2026
# Machine               : x86_64
# System                : Linux
# Release               : 6.1.0
# Version               : #1 SMP node{number}
# MPI Version           : 3.1
# MPI Thread Environment: 


# Calling sequence was: 

# ./IMB-MPI1 -npmin 2 

# Minimum message length in bytes:   0
# Maximum message length in bytes:   4194304
#
# MPI_Datatype                   :   MPI_BYTE 
# MPI_Datatype for reductions    :   MPI_FLOAT 
# MPI_Op                         :   MPI_SUM  
# 
# 

# List of Benchmarks to run:

# PingPong

"""  # noqa: W291  (as in the real ones)
TIMED = "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
RANGE = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"
COLLECTIVES = [
    "Allreduce",
    "Reduce",
    "Reduce_scatter",
    "Allgather",
    "Allgatherv",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Alltoall",
    "Alltoallv",
    "Bcast",
]
LISTS = 5  # calls of `imb ls --all`
LENGTHS = [0, *(2**i for i in range(23))]


def table(name: str, processes: int, head: str, times: int, rates: int, random: np.random.Generator) -> str:
    rule = "#" + "-" * (len(head.rstrip("\n")) - 1) + "\n"
    base = random.uniform(0.5, 3.0) * processes
    rows = []
    for length in LENGTHS:
        t = [base * (1 + length / 3e3) * random.uniform(0.95, 1.05) for _ in range(times)]
        cells = [*sorted(t), *([length / t[0]] * rates)]
        rows.append(
            f"{length:13d}{min(1000, max(1, 41943040 // max(1, length))):13d}"
            + "".join(f"{c:13.2f}" for c in cells)
        )
    title = f"\n{rule}# Benchmarking {name} \n# #processes = {processes} \n{rule}{head}"
    return title + "\n".join(rows) + "\n"


def log(size: int, random: np.random.Generator) -> str:
    parts: list[str] = []
    total = 0
    processes = 2
    while total < size:
        for name in ("PingPong", "PingPing"):
            parts.append(table(name, 2, TIMED, 1, 1, random))
        for name in ("Sendrecv", "Exchange"):
            parts.append(table(name, processes, RANGE + "   Mbytes/sec\n", 3, 1, random))
        parts.extend(table(name, processes, RANGE + "\n", 3, 0, random) for name in COLLECTIVES)
        total = sum(map(len, parts))
        processes += 2
    return "".join(parts) + "\n\n# All processes entering MPI_Finalize\n\n"


def generate(folder: Path, gigabytes: float, logs: int) -> list[Path]:
    random = np.random.default_rng(1)
    size = int(gigabytes * 1e9 / logs)
    different = [log(size, random) for _ in range(min(logs, max(2, int(4e7 // size))))]
    paths = []
    for number in range(logs):
        path = folder / f"log-{number:06d}.txt"
        path.write_text(BANNER.replace("{number}", str(number)) + different[number % len(different)])
        paths.append(path)
    os.sync()  # writing them is not what is timed
    return paths


def timed(words: list[str], environment: dict[str, str]) -> tuple[float, float, str]:
    """Seconds by the clock, seconds of all cores together, standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    taken = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(words[:3])} ... failed: {done.stderr[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, cpu, done.stdout


YARDSTICK = """
import sys, duckdb
lines = f"read_csv('{sys.argv[1]}/*.txt', columns={{'line': 'VARCHAR'}}, delim='\\x1f', header=false, quote='', escape='',"
lines += " auto_detect=false, strict_mode=false)"
print(duckdb.sql(f"SELECT count(*), sum(length(line)) FROM {lines}").fetchall())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary folder")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="imb-bench-", dir=options.folder))
    imb = str(Path(sys.executable).with_name("imb"))
    try:
        for what, gigabytes, logs in (
            ("read", options.gigabytes, options.logs),
            ("list", options.runs * 2e-5, options.runs),
        ):
            place = folder / what
            (place / "logs").mkdir(parents=True)
            environment = {
                **os.environ,
                # As installed: the companion's modules are compiled once. `ls` is timed when they are.
                "PYTHONDONTWRITEBYTECODE": "",
                "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
                "IMB_ARCHIVE": str(place / "archive"),
                "XDG_CACHE_HOME": str(place / "cache"),
            }
            paths = generate(place / "logs", gigabytes, logs)
            size = sum(path.stat().st_size for path in paths) / 1e9
            taken, cpu, said = timed([imb, "import", str(place / "logs")], environment)
            last = said.strip().splitlines()[-1]
            print(
                f"import: {size:.2f} GB in {logs} logs: {taken:.1f} s, {size * 1e3 / taken:.0f} MB/s, {cpu:.1f} s of CPU; {last}",
                flush=True,
            )
            taken, cpu, _ = timed([sys.executable, "-c", YARDSTICK, str(place / "logs")], environment)
            print(f"        DuckDB's CSV reader: {taken:.1f} s, {cpu:.1f} s of CPU", flush=True)
            timed([imb, "ls"], environment)
            lists = [timed([imb, "ls", "--all"], environment) for _ in range(LISTS)]
            taken, cpu, listed = sorted(lists)[LISTS // 2]
            print(
                f"list: {len(listed.splitlines())} lines: median of {LISTS}: {taken:.2f} s, {cpu:.2f} s of CPU",
                flush=True,
            )
            shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
