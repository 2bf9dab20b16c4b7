#!/usr/bin/env python3
"""Messages beyond 2 GiB with -check: what MPI programs do today, one repetition of each benchmark.

Counts and displacements beyond an int are rare, so no test of the suite has room for them all. Each benchmark runs on two
ranks (stencils on more) if all buffers fit into --memory, else on one, which is its own neighbor; where not even these
fit, with a message that is shorter and buffers that are longer than 2 GiB, and a second time in memory that repeats
(repeated_memory.cpp) without -check. A row is what was measured, or why not.

Exit status: 0 if no row has defects and none failed; else 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab

LENGTH = 2**31 + 8
GIB = 2**30
TOO_LARGE = "does not fit"
SENDS = ("synchronous", "buffered")
SYNCS = ("fence", "pscw", "lock", "lock_all", "flush", "flush_local")
NEIGHBORS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
RANKS = {"Stencil2D": (4,), "Stencil3D": (8,)}  # of others: two, or one
# Component, options, benchmarks. Options first that shorten what a rank has to hold.
RUNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("P2P", "", ("PingPong", "PingPing", "Unirandom", "Birandom", "Corandom", "SendRecv_Replace")),
    ("P2P", "", ("Stencil2D", "Stencil3D")),
    ("P2P", "-halo 1", ("Halo", "simple_halo")),
    ("P2P", "-window_size 2", ("Multi_pair",)),
    ("RMA", "", ("Rput", "Rget", "Raccumulate", "Rget_accumulate", "Shared_store", "Shared_load")),
    ("EXT", "", ("Attach_detach",)),
    ("MPI4", "", ("Sendrecv_persist", "Exchange_persist", "Partitioned_PingPong", "Partitioned_overlap")),
    ("MPI4", "", ("Partitioned_Exchange",)),
    ("MPI1", "", ("PingPong_mprobe",)),
    *(("MPI1", "-topo 1d", (f"Neighbor_{name}",)) for name in NEIGHBORS),
    *(("MPI1", f"-send_mode {mode}", ("PingPong",)) for mode in SENDS),
    *(("RMA", f"-sync_mode {mode}", ("Unidir_put", "Unidir_get")) for mode in SYNCS),
    ("EXT", "-sync_mode pscw", ("Unidir_Put", "Unidir_Get", "Accumulate")),
    ("MPI1", "-layout vector:1:2", ("PingPong",)),
    ("MPI1", "-in_place on", ("Allreduce", "Reduce", "Allgather", "Gather", "Scatter", "Alltoall")),
    ("MPI4", "", tuple(name for name in lab.names("MPI4") if name.endswith("_persist_pure"))),
    ("NBC", "-topo 1d", tuple(f"Ineighbor_{name}_pure" for name in NEIGHBORS)),
    ("MT", "-threads 2", tuple(name for name in lab.names("MT") if name != "BarrierMT")),
)


class Launch:
    def __init__(
        self, mpi: lab.Mpi, component: str, words: str, ranks: int, seconds: float, wrap: Sequence[str] = ()
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            records = Path(folder) / "records.jsonl"
            command = [*mpi.launcher, "-n", str(ranks), *wrap, str(mpi.program(component)), *words.split()]
            begin = time.monotonic()
            try:
                done = subprocess.run(
                    [*command, "-json", str(records)],
                    env=lab.environment(mpi),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=seconds,
                )
                self.ending = f"exit {done.returncode}"
                self.errors = (done.stderr.strip() or done.stdout.strip()).splitlines()
            except subprocess.TimeoutExpired:
                self.ending, self.errors = f"no end within {seconds:.0f} s", []
            self.seconds = time.monotonic() - begin
            text = records.read_text() if records.exists() else ""
        self.records = [json.loads(line) for line in text.splitlines()]

    def of(self, kind: str) -> list[dict]:
        return [record for record in self.records if record["record"] == kind]


def words_for(
    component: str, options: str, name: str, ranks: int, length: int, memory: float, check: str = "-check"
) -> str:
    lengths = f"-count {length // 4}" if component == "MT" else f"-msgsize {length}"
    repeat = "-repeat 1" if component == "MT" else f"-iter 1 -npmin {ranks}"
    level = "-thread_level multiple " if component == "MT" else ""
    return f"{name} {level}{options} {lengths} {repeat} -warm_up off {check} -time 600 -mem {memory:.6f}"


def needed(mpi: lab.Mpi, component: str, options: str, name: str, ranks: int, length: int) -> int | str:
    """Bytes of a process, or why it does not run."""
    launch = Launch(mpi, component, words_for(component, options, name, ranks, length, 1e-6), ranks, 60)
    for failure in launch.of("failure"):
        if failure["cause"] == "out_of_memory":
            return int(failure["needed_bytes"])
        return f"{failure['cause']}: {failure.get('detail') or ''}".strip()
    if launch.of("result"):
        return 0
    return " ".join([launch.ending, *launch.errors[-1:]])


def choice(
    mpi: lab.Mpi, component: str, options: str, name: str, most: float
) -> tuple[int, int, float] | str:
    """Ranks, length and GiB of a process: the longest message for which all fits; or why there is none."""
    reasons = []
    for length in (LENGTH, LENGTH // 64 * 24):
        for ranks in RANKS.get(name, (2, 1)):
            why = needed(mpi, component, options, name, ranks, length)
            if isinstance(why, str):
                reasons.append(why)
            elif why * ranks <= most * GIB:
                return ranks, length, why / GIB
            else:
                reasons.append(TOO_LARGE)
    return TOO_LARGE if TOO_LARGE in reasons else reasons[0]


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=list(lab.ALL), default="mpich", help="of these builds [mpich]")
    parser.add_argument(
        "--memory", type=float, default=12, metavar="GIB", help="for all buffers of a launch [12]"
    )
    parser.add_argument("--seconds", type=float, default=300, help="for one launch [300]")
    parser.add_argument("--only", default="", metavar="TEXT", help="benchmarks whose line contains this")
    parser.add_argument("--repeated", action="store_true", help="only in memory that repeats")
    options = parser.parse_args(words)
    mpi, wrong = lab.ALL[options.mpi], False

    def measure(title: str, component: str, line: str, ranks: int, memory: str, wrap: Sequence[str]) -> None:
        nonlocal wrong
        launch = Launch(mpi, component, line, ranks, options.seconds, wrap)
        rows = launch.of("result")
        good = bool(rows) and not any(row.get("defects") for row in rows) and launch.ending == "exit 0"
        wrong = wrong or not good
        said = ", ".join(
            f"{row['bytes']} B" + (f": {row['defects']} defects" if "defects" in row else "") for row in rows
        )
        said += "".join(f"; {each['cause']}" for each in launch.of("failure"))
        end = "" if good else f"; {launch.ending} {' '.join(launch.errors[-1:])}"
        each = "rank" if ranks == 1 else "ranks"
        print(f"{title}: {ranks} {each}, {memory}: {said}{end} ({launch.seconds:.0f} s)", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        source = Path(__file__).with_name("repeated_memory.cpp")
        library = lab.compile_shared(mpi, source, Path(folder) / "librepeated_memory.so")
        for component, more, names in RUNS:
            for name in names:
                title = f"IMB-{component} {name} {more}".strip()
                if options.only not in title:
                    continue
                chosen = choice(mpi, component, more, name, 0 if options.repeated else options.memory)
                if not isinstance(chosen, str):
                    ranks, length, memory = chosen
                    line = words_for(component, more, name, ranks, length, memory + 0.01)
                    measure(title, component, line, ranks, f"{ranks * memory:.1f} GiB", ())
                    if length >= LENGTH:
                        continue
                elif chosen != TOO_LARGE:
                    print(f"{title}: not run: {chosen}", flush=True)
                    wrong = True
                    continue
                ranks = RANKS.get(name, (2,))[0]
                line = words_for(component, more, name, ranks, LENGTH, 1024, check="")
                measure(
                    title, component, line, ranks, "in memory that repeats", ["env", f"LD_PRELOAD={library}"]
                )
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
