#!/usr/bin/env python3
"""The price of a binary interface: instructions of MPI calls under MPICH's interface and under the standard ABI.

For MPIs that have both, MPICH 5 and Intel MPI 2021.18. The wheel's executables for the interfaces (build/wheel, of
`make wheel`) run on two ranks, both in valgrind: with one of them in it, Intel MPI hangs at its start. Callgrind counts one function of
rank 0, each call of it. A build with the MPI itself is counted too if there is one (build/KEY, of `make build`).

A call that waits has the instructions of its polls too. The count of a call is the smallest that at least 3 % of its
calls have: that of a call that does not wait. "in the function" leaves out what it calls: the conversion of handles
is there.

Exit status: 0 when every count was the same in all launches; 1 when one was not; 2 when nothing could be counted.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab
from pages import table_of, written_into

PAGE = lab.TOP / "docs/evidence/abi.md"
LIBRARIES = {"mpich": "libmpi.so.12", "mpi-abi": "libmpi_abi.so.1"}  # of each interface
FEWEST = 0.03  # of the calls; the first ten of a launch can differ


@dataclass(frozen=True)
class Case:
    call: str
    component: str
    arguments: str
    note: str = ""


PUT = "-aggregate_mode non_aggregate Unidir_put"
CASES = (
    Case("MPI_Send", "MPI1", "PingPong"),
    Case("MPI_Recv", "MPI1", "PingPong"),
    Case("MPI_Allreduce", "MPI1", "Allreduce"),
    Case("MPI_Put", "RMA", PUT, "window of MPI_Win_create"),
    Case("MPI_Put", "RMA", f"-window allocate {PUT}", "of MPI_Win_allocate"),
    Case("MPI_Win_flush", "RMA", PUT, "window of MPI_Win_create"),
)


class Failed(Exception):
    """A launch that did not count."""


@dataclass(frozen=True)
class Cost:
    """Instructions of one call."""

    total: int
    itself: int  # without the functions that it calls


@dataclass(frozen=True)
class Counted:
    cost: Cost
    share: float  # of the calls


def costs(lines: Iterable[str], function: str) -> list[Cost]:
    """Of each call, from a file of callgrind's that has a part for each (--dump-after)."""
    found: list[Cost] = []
    names: dict[str, str] = {}
    itself, inside, called, dumped = 0, False, False, False
    for line in lines:
        if line.startswith("part:"):
            itself, inside, dumped = 0, False, False
        elif line.startswith("desc: Trigger:"):
            dumped = "--dump-after" in line  # the last part is of the end of the program
        elif name := re.match(r"(c?fn)=\((\d+)\)(?: (.+))?", line):
            if name[3]:
                names[name[2]] = name[3]
            if name[1] == "fn":
                inside = names[name[2]] == function
        elif line.startswith("calls="):
            called = True  # the next line is of what is called
        elif line.startswith("totals:") and dumped:
            found.append(Cost(int(line.split()[1]), itself))
        elif re.match(r"[+*\d-]", line):
            itself += int(line.split()[1]) if inside and not called else 0
            called = False
    return found


def counted(calls: list[Cost]) -> Counted:
    """Raises Failed where no count is frequent enough."""
    frequent = {cost: times for cost, times in Counter(calls).items() if times >= FEWEST * len(calls)}
    if not frequent:
        raise Failed("each call waits for another time; count again on a machine with less load")
    cost = min(frequent, key=lambda cost: cost.total)
    return Counted(cost, frequent[cost] / len(calls))


def launch(mpi: lab.Mpi, program: Path, case: Case, repetitions: int, folder: Path) -> Counted:
    file = folder / "callgrind.out"
    function = f"P{case.call}"  # MPI_... is another name of it, which callgrind does not use
    count = [f"--callgrind-out-file={file}", f"--toggle-collect={function}", f"--dump-after={function}"]
    words = [str(program), "-iter", str(repetitions), "-msgsize", "8", *case.arguments.split()]
    first = ["-n", "1", "valgrind", "--tool=callgrind", "--combine-dumps=yes", *count, *words]
    second = [":", "-n", "1", "valgrind", "--tool=none", *words]
    env = {**lab.environment(mpi), "LD_LIBRARY_PATH": str(libraries(mpi))}
    command = [*mpi.launcher, *first, *second]
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    if done.returncode != 0:
        raise Failed(
            f"exit status {done.returncode}\n{' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}"
        )
    with file.open() as lines:
        return counted(costs(lines, function))


def libraries(mpi: lab.Mpi) -> Path:
    return Path(mpi.wrapper).parent.parent / "lib"


def version(mpi: lab.Mpi) -> str:
    return str(json.loads((lab.ENVIRONMENT / "mpi" / f"{mpi.key}.json").read_text())["version"])


def programs(mpi: lab.Mpi, component: str) -> dict[str, Path]:
    """By interface; "native": built with this MPI."""
    home = lab.wheel_tree() / "libexec" / "openimb"
    found = {"native": mpi.build / "bin" / f"IMB-{component}"}
    for interface in LIBRARIES:
        suite = (
            home / interface / "openimb-suite"
        )  # knows its component by the name under which it is started
        if suite.exists():
            found[interface] = lab.TOP / "build" / "abi" / interface / f"IMB-{component}"
            found[interface].parent.mkdir(parents=True, exist_ok=True)
            found[interface].unlink(missing_ok=True)
            found[interface].symlink_to(suite)
    return {key: program for key, program in found.items() if program.exists()}


def measured(mpi: lab.Mpi, case: Case, options: argparse.Namespace, folder: Path) -> dict[str, list[Counted]]:
    """Of each interface, one of each launch."""
    found = {}
    for interface, program in programs(mpi, case.component).items():
        print(f"\r{mpi.key}: {case.call}, {interface}\x1b[K", end="", file=sys.stderr, flush=True)
        found[interface] = [
            launch(mpi, program, case, options.repetitions, folder) for _ in range(options.launches)
        ]
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return found


def shown(launches: list[Counted] | None) -> str:
    """The count; all of them where they differ."""
    return ", ".join(map(str, sorted({one.cost.total for one in launches}))) if launches else "-"


def row(title: str, case: Case, found: dict[str, list[Counted]]) -> list[str]:
    usual, standard = (found[interface][0].cost for interface in LIBRARIES)
    added = standard.total - usual.total
    share = min(one.share for launches in found.values() for one in launches)
    return [
        title,
        f"`{case.call}`" + f", {case.note}" * bool(case.note),
        *(shown(found.get(interface)) for interface in ("native", *LIBRARIES)),
        f"{added:+d} ({added / usual.total:+.1%})".replace("%", " %"),
        f"{standard.itself - usual.itself:+d}",
        f"{share:.0%}".replace("%", " %"),
    ]


def repeats(found: dict[str, list[Counted]]) -> bool:
    return all(len({one.cost for one in launches}) == 1 for launches in found.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--mpi", help="which MPIs, such as mpich,impi (all that have both interfaces)")
    parser.add_argument("--repetitions", type=int, default=1000, help="of a launch (1000)")
    parser.add_argument("--launches", type=int, default=2, help="of each executable and call (2)")
    parser.add_argument("--write", action="store_true", help=f"the table into {PAGE.relative_to(lab.TOP)}")
    options = parser.parse_args()
    keys = list(lab.ALL) if options.mpi is None else options.mpi.split(",")
    mpis = [lab.ALL[key] for key in keys if key in lab.ALL]
    mpis = [mpi for mpi in mpis if all((libraries(mpi) / name).exists() for name in LIBRARIES.values())]
    if not mpis:
        lacking = "no MPI with libmpi.so.12 and libmpi_abi.so.1: make build MPI=mpich"
    elif not lab.wheel_tree().exists():
        lacking = "no executables for the interfaces: make wheel"
    else:
        lacking = "" if shutil.which("valgrind") else "no valgrind"
    if lacking:
        print(f"bench/abi.py: {lacking}", file=sys.stderr)
        return 2
    titles = ["MPI", "call", "native build", "`mpich`", "`mpi-abi`", "added", "in the function", "calls"]
    rows, all_repeat = [titles], True
    try:
        with tempfile.TemporaryDirectory() as name:
            for mpi in mpis:
                for case in CASES:
                    found = measured(mpi, case, options, Path(name))
                    rows.append(row(version(mpi), case, found))
                    all_repeat = all_repeat and repeats(found)
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"{table_of(rows)}\n\nbench/abi.py: {mpi.key}: {case.call}: {error}", file=sys.stderr)
        return 2
    print(table_of(rows))
    if options.write:
        PAGE.write_text(written_into(PAGE.read_text(), "counts", table_of(rows)))
    return 0 if all_repeat else 1


if __name__ == "__main__":
    sys.exit(main())
