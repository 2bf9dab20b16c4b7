"""Launches of the suite with fake GPUs: libraries of tests/fake_gpu, which the programs load as they load real ones.

Device memory of the fake drivers can only be accessed inside MPI calls and inside the drivers' own copies. Any other
access ends the process.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import lab

HERE = lab.TOP / "tests" / "fake_gpu"
GUARD = "guard.so"
LIBRARIES = {"cuda": "libcuda.so.1", "hip": "libamdhip64.so.6"}
TOUCHED = "fake GPU: the host touched device memory"


def mpi_calls(mpi: lab.Mpi) -> list[str]:
    """The MPI calls of all programs: what they leave undefined."""
    programs = [path for path in map(mpi.program, lab.COMPONENTS) if path.exists()]
    text = subprocess.run(
        ["nm", "-D", "--undefined-only", *map(str, programs)], check=True, capture_output=True, text=True
    ).stdout
    return sorted(set(re.findall(r"(?m)^ *U (MPI_\w+)$", text)))


@functools.cache
def built(mpi: lab.Mpi) -> Path:
    """A folder with the guard, and a folder for each fake driver."""
    return lab.built_once(f"gpu-{mpi.key}", lambda folder: build(mpi, folder))


def build(mpi: lab.Mpi, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "calls.inc").write_text("".join(f"WRAP({name})\n" for name in mpi_calls(mpi)))
    words = [mpi.wrapper, "-std=c++20", "-shared", "-fPIC", "-O1", f"-I{folder}", "-DOMPI_SKIP_MPICXX"]
    calls = lab.TOP / "tests" / "guarded" / "guarded_calls.cpp"
    commands = [[*words, str(HERE / "guard.cpp"), str(calls), "-o", str(folder / GUARD)]]
    for api, library in LIBRARIES.items():
        (folder / api).mkdir(exist_ok=True)
        commands.append([*words, str(HERE / f"{api}.cpp"), "-o", str(folder / api / library)])
    running = [subprocess.Popen(words, env=lab.environment(mpi)) for words in commands]
    assert [one.wait() for one in running] == [0] * len(commands)


@dataclass
class Machine:
    """A machine with fake GPUs. `apis`: whose drivers are installed."""

    mpi: lab.Mpi
    apis: tuple[str, ...] = ("cuda",)
    programs: str = "bin"

    def run(
        self,
        words: str,
        *,
        component: str = "MPI1",
        folder: Path,
        ranks: int = 2,
        timeout: float = 60,
        **settings: object,
    ) -> Run:
        """`settings`: variables of the fake drivers. `folder`: where it runs and leaves its records."""
        place = built(self.mpi)
        reports = folder / "reports"
        for leftover in (reports, folder / "records.jsonl"):
            leftover.unlink(missing_ok=True)
        drivers = [str(place / api) for api in self.apis]
        path = ":".join([*drivers, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
        env = {
            **self.mpi.env,
            **lab.COPIES_TWICE.get(self.mpi.flavor, {}),
            "FAKE_GPU_REPORT": str(reports),
            "LD_LIBRARY_PATH": path,
            **{name: str(value) for name, value in settings.items()},
        }
        mpi = dataclasses.replace(self.mpi, env=env, programs=self.programs)
        wrap = ["env", f"LD_PRELOAD={place / GUARD}"]
        done = lab.run(
            mpi, ranks, words, component=component, records=folder, wrap=wrap, timeout=timeout, folder=folder
        )
        lines = reports.read_text().splitlines() if reports.exists() else []
        return Run(**vars(done), reports=[json.loads(line) for line in lines])


@dataclass
class Run(lab.Launch):
    """`reports`: what each rank's fake driver counted, of ranks that ended in order."""

    reports: list[dict] = dataclasses.field(default_factory=list)

    def calls(self, name: str) -> int:
        return sum(report["calls"].get(name, 0) for report in self.reports)

    def unbalanced(self) -> list[str]:
        """What was not given back."""
        return [
            f"rank {report['rank']}: {what} {number}"
            for report in self.reports
            for what, number in report["balance"].items()
            if number != 0
        ]
