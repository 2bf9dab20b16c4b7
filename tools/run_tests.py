#!/usr/bin/env python3
"""The parts that `make test` runs its tests in.

run_tests.py run NAME PROCESSES ARG ...   pytest with these arguments, in so many processes; files of tests among them: only
                                          these. What fails beside other tests is run once more alone, and that counts.
run_tests.py total NAME ...               what failed, the last line of each part, and one line of all tests

What pytest prints also goes to build/tests/NAME.txt, and how long each test took to NAME.xml.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "build" / "tests"
TESTS_FAILED = 1  # pytest's exit status
WORDS = ("failed", "passed", "skipped", "xfailed", "xpassed", "error")


def pytest(file: Path, words: list[str]) -> int:
    """Its exit status."""
    times = ["--durations=25", "--durations-min=3", f"--junitxml={file.with_suffix('.xml')}"]
    everything = [] if any(word.startswith("tests/") for word in words) else ["tests"]
    command = [sys.executable, "-m", "pytest", *everything, *times, *words]
    with (
        file.open("wb") as copy,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process,
    ):
        assert process.stdout
        while text := process.stdout.read1():  # type: ignore[attr-defined]
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
            copy.write(text)
    return process.returncode


def files_of(name: str) -> tuple[Path, Path]:
    """Of a part, and of what is run again alone."""
    return FOLDER / f"{name}.txt", FOLDER / f"{name}-again.txt"


def run(name: str, processes: int, words: list[str]) -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    first, again = files_of(name)
    again.unlink(missing_ok=True)
    if processes == 1:
        return pytest(first, words)
    code = pytest(first, ["-n", str(processes), "--dist", "worksteal", "--cache-clear", *words])
    if code != TESTS_FAILED:
        return code
    print("== what failed, alone", flush=True)
    return pytest(again, ["--last-failed", "--last-failed-no-failures", "none", *words])


def total(names: list[str]) -> None:
    counts: Counter[str] = Counter()
    seconds = 0.0
    ends = []
    for name in names:
        first, again = files_of(name)
        for file in (first, again):
            if not file.exists():
                continue
            lines = file.read_text(errors="replace").splitlines() or ["no output"]
            decides = file == again or not again.exists()
            found = {
                word.removesuffix("s"): int(number)
                for number, word in re.findall(r"(\d+) ([a-z]+)", lines[-1])
            }
            counts.update(
                {word: n for word, n in found.items() if decides or word not in ("failed", "error")}
            )
            if took := re.search(r" in ([\d.]+)s", lines[-1]):
                seconds += float(took[1])
            ends += [line for line in lines if decides and line.startswith(("FAILED ", "ERROR "))]
            ends.append(f"{file.stem}: {lines[-1].strip('= ')}")
    print("\n".join(ends))
    print(", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word]), f"in {seconds:.2f}s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        sys.exit(run(sys.argv[2], int(sys.argv[3]), sys.argv[4:]))
    total(sys.argv[2:])
