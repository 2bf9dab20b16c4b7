"""ThreadSanitizer on the team of threads, with a stand-in for MPI."""

import shutil
import subprocess
from pathlib import Path

import lab
import pytest

TEAM = ["src/engine/thread_team.cpp", "src/engine/team_batch.cpp"]


def assert_no_race(folder: Path, sources: list[str], *more: str) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        lab.missing("a C++ compiler")
    program = folder / "thread_race"
    # What races is a matter of the sources, not of the optimization, which takes most of the time.
    flags = ["-std=c++20", "-O0", "-g", "-fsanitize=thread", "-Isrc", "-pthread"]
    words = [str(compiler), *flags, *more, *sources, *TEAM, "-o", str(program)]
    built = subprocess.run(words, cwd=lab.TOP, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        lab.missing("ThreadSanitizer's library")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        lab.missing("an address space that ThreadSanitizer understands")
    assert done.returncode == 0 and "WARNING: ThreadSanitizer" not in done.stderr, done.stderr[-5000:]


@pytest.mark.slow
def test_the_team_has_no_race(tmp_path: Path) -> None:
    assert_no_race(tmp_path, ["tests/thread_race.cpp"])


@pytest.mark.needs_mpi
def test_patterns_have_no_race(tmp_path: Path) -> None:
    """Of MPICH only the header: with its library threads crash in a hook of UCX under ThreadSanitizer."""
    mpi = lab.ALL.get("mpich")
    if mpi is None:
        lab.missing("MPICH")
    shown = subprocess.run([mpi.wrapper, "-show"], capture_output=True, text=True, check=True)
    folders = [word for word in shown.stdout.split() if word.startswith("-I")]
    defined = ["-DMPICH_SKIP_MPICXX", "-DOPENIMB_PARTITIONED"]
    assert_no_race(tmp_path, ["tests/thread_race_patterns.cpp"], *folders, *defined)
