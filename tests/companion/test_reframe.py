"""examples/reframe, run by ReFrame with its local scheduler."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import lab
import pytest
from companion import fake_mpi

FOLDER = lab.TOP / "examples" / "reframe"


def reframe(
    tmp_path: Path, name: str, path: str | None = None, **settings: object
) -> "subprocess.CompletedProcess[str]":
    program = Path(sys.executable).with_name("reframe")
    if not program.exists():
        lab.missing("ReFrame")
    words = [
        program,
        "--nocolor",
        "-C",
        FOLDER / "settings.py",
        "-c",
        FOLDER / "openimb.py",
        "--prefix",
        tmp_path / "reframe",
    ]
    words += [word for key, value in settings.items() for word in ("-S", f"{key}={value}")]
    return subprocess.run(
        [*map(str, words), "-n", name, "-r"],
        env={**os.environ, "HOME": str(tmp_path), "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


@pytest.mark.needs_mpi
def test_figures_of_a_real_launch(tmp_path: Path) -> None:
    mpich = next((mpi for mpi in lab.MAIN if mpi.key == "mpich"), None)
    if mpich is None:
        lab.missing("MPICH")
    folder = str(Path(mpich.launcher[0]).parent)
    done = reframe(
        tmp_path, "ImbFigures.*PingPong", folder, program=mpich.program(), imb_options="-iter 20 -msglog 10"
    )
    assert done.returncode == 0, done.stdout
    assert "Ran 1/1 test case(s)" in done.stdout
    figures = {
        line.split()[1]: float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("P: ")
    }
    assert figures["latency:"] > 0 and figures["bandwidth:"] > 0
    # A launch that fails is a failure.
    done = reframe(
        tmp_path, "ImbFigures.*PingPong", folder, program=mpich.program(), imb_options="-mem 0.000001"
    )
    assert done.returncode == 1 and "the launch did not end well" in done.stdout


@pytest.mark.slow
def test_a_baseline_is_made_and_then_held_against(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, mpi, _, programs = fake_mpi.make(tmp_path / "mpi")
    settings: dict[str, Any] = {
        "imb": f"{sys.executable} -m imb", "archive": tmp_path / "archive", "mpi": mpi, "programs": programs,
        "benchmarks": "PingPong", "launches": 6,
    }  # fmt: skip
    done = reframe(tmp_path, "ImbBaseline", **settings)
    assert done.returncode == 0, done.stdout
    assert "P: slowest_band: 1" in done.stdout or "P: slowest_band: 0.99" in done.stdout
    assert len(list((tmp_path / "archive" / "baselines" / "reframe").glob("*.json"))) == 1
    _, new, _, programs = fake_mpi.make(tmp_path / "new")
    script = Path(str(new)) / "bin" / "mpiexec"
    script.write_text(script.read_text().replace("time=1 ", "time=2 "))
    settings |= {"mpi": new, "programs": programs, "check": "--with-old"}
    done = reframe(tmp_path, "ImbBaseline", **settings)
    assert done.returncode == 1 and "verdict of imb: slower" in done.stdout
    assert len(list((tmp_path / "archive" / "baselines" / "reframe").glob("*.json"))) == 1
