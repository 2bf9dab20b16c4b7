"""ThreadSanitizer on the team of threads, with a stand-in for MPI."""

import shutil
import subprocess
from pathlib import Path

import lab


def test_the_team_has_no_race(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        lab.missing("a C++ compiler")
    program = tmp_path / "thread_race"
    sources = ["tests/thread_race.cpp", "src/engine/thread_team.cpp", "src/engine/team_batch.cpp"]
    flags = ["-std=c++20", "-O1", "-g", "-fsanitize=thread", "-Isrc", "-pthread"]
    words = [str(compiler), *flags, *sources, "-o", str(program)]
    built = subprocess.run(words, cwd=lab.TOP, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        lab.missing("ThreadSanitizer's library")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120)
    if "unexpected memory mapping" in done.stderr:
        lab.missing("an address space that ThreadSanitizer understands")
    assert done.returncode == 0 and "WARNING: ThreadSanitizer" not in done.stderr, done.stderr[-5000:]
