"""Other processes that use CPUs during launches: what commands print of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.model.foreign_load import leaves_too_few_cpus
from imb.model.records import End, Passes, Rank, Result, Run, write
from imb.mpi.load import Load
from imb.store.store import Archive


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two launches, the second one beside other processes."""
    loads = iter([0.05, 1.1, 0.98, 0.01, 0.01])
    monkeypatch.setattr(
        "imb.mpi.load.load_between",
        lambda before, after: Load(other_cpus=next(loads), stolen_cpus=0.0, runnable=2, pressure=0.5),
    )


WARNING = "imb: warning: other processes used 1.1 CPUs; repeat on an idle machine"


@pytest.mark.usefixtures("busy")
def test_run_warns_once_of_the_largest_load(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    said = imb("run", "PingPong", *options, "--launches", "2", "--label", "two")
    assert said.code == 0 and said.err.count("warning") == 1 and WARNING in said.err.splitlines()
    said = imb("run", "PingPong", *options, "--label", "busy")
    assert "other processes used 1.0 CPUs" in said.err
    assert "other load   0.98 CPUs" in imb("show", "busy").out
    said = imb("run", "PingPong", *options, "--label", "idle")
    assert "warning" not in said.err
    assert "other load   0.01 CPUs" in imb("show", "idle").out


def measuring(folder: Path, half_width: float) -> list[object]:
    """An MPI whose launches measure 8 bytes in passes, with an interval of so much."""
    options = fake_mpi.make(folder)
    row = Result(
        benchmark="PingPong",
        processes=2,
        group_count=1,
        bytes=8,
        time_avg_seconds=1e-6,
        time_max_seconds=1e-6,
        passes=Passes(samples=20, half_width=half_width),
    )
    run = Run(component="MPI1", ranks=[Rank(number, "here") for number in range(2)])
    (folder / "bin" / "records-2").write_bytes(write([run, row, End(state="complete", measured=1)]))
    return [*options, "--bytes", "8", "--launches", "1"]


@pytest.mark.parametrize(
    ("others", "cpus", "ranks", "busy"),
    [(0.1, 2, 2, False), (0.3, 2, 2, True), (0.3, 2, 4, True), (5.9, 8, 2, False), (6.1, 8, 2, True)],
)
def test_ranks_need_what_others_leave(others: float, cpus: int, ranks: int, busy: bool) -> None:
    assert leaves_too_few_cpus(others, cpus, ranks) is busy


def test_make_run_warns_before_it_launches() -> None:
    """By a program without packages, in the words of `imb run`."""
    cpus = os.cpu_count() or 1
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cpus)]
    try:
        tool = Path(__file__).parents[2] / "tools" / "foreign_load.py"
        done = subprocess.run(
            [sys.executable, "-I", "-S", tool, str(cpus)], capture_output=True, text=True, timeout=60
        )
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    used = re.fullmatch(
        r"make: warning: other processes used (\d+\.\d) CPUs; repeat on an idle machine\n", done.stderr
    )
    assert done.returncode == 0 and done.stdout == "" and used, done
    assert 0.2 < float(used[1]) <= cpus + 0.2
