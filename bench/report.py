"""How long a report of many runs takes to make, and to open in Chromium: makes the runs, does both, prints both.

    bench/report.py [--runs 100] [--opens 5]

A run is a whole table of IMB-MPI1: 19 benchmarks on two ranks, 423 rows. Opened means that the page's own script has run
to its end, so that all text and tables are there; drawn, that the charts in view are there too after a jump to them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from imb.model.records import BenchmarkKind, End, Rank, Record, Result, Run, write

TRANSFERS = ("PingPong", "PingPing", "Sendrecv", "Exchange")
COLLECTIVES = (
    *(
        "Allreduce",
        "Reduce",
        "Reduce_local",
        "Reduce_scatter",
        "Reduce_scatter_block",
        "Allgather",
        "Allgatherv",
    ),
    *("Gather", "Gatherv", "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast"),
)
LENGTHS = [0, *(2**i for i in range(23))]


def table(number: int, random: np.random.Generator) -> bytes:
    """One launch; each row is off by 3 %."""
    records: list[Record] = [
        Run(
            program="OpenIMB",
            component="MPI1",
            date=f"2026-{1 + number // 28 % 12:02}-{1 + number % 28:02}T08:00:00Z",
            ranks=[Rank(0, "node", "0"), Rank(1, "node", "1")],
        )
    ]
    for name in (*TRANSFERS, *COLLECTIVES, "Barrier"):
        kind: BenchmarkKind = "single_transfer" if name in TRANSFERS else "collective"
        for n in [None] if name == "Barrier" else LENGTHS if name in TRANSFERS else LENGTHS[:-2]:
            seconds = float((1.5e-6 + (n or 0) / 1e10) * np.exp(random.normal(0, 0.03)))
            records.append(
                Result(
                    benchmark=name,
                    kind=kind,
                    multi="off",
                    processes=2,
                    group_count=1,
                    bytes=n,
                    repetitions=1000,
                    time_min_seconds=seconds * 0.99,
                    time_max_seconds=seconds * 1.01,
                    time_avg_seconds=seconds,
                    bytes_per_second=n / seconds if name in TRANSFERS and n is not None else None,
                )
            )
    return write([*records, End(state="complete")])


def make(folder: Path, output: Path) -> tuple[float, float]:
    """Seconds by the clock and of CPU that `imb report` takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "imb", "report", folder, "-o", output], check=True, stdout=subprocess.DEVNULL
    )
    taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def open_it(file: Path, times: int) -> tuple[list[float], list[float]]:
    """Seconds until the page is there, and until the first charts are, of fresh pages."""
    from playwright.sync_api import sync_playwright

    opened, drawn = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        for _ in range(times):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            start = time.perf_counter()
            page.goto(file.as_uri())
            while not page.evaluate("document.documentElement.dataset.ready"):
                page.wait_for_timeout(5)
            opened.append(time.perf_counter() - start)
            start = time.perf_counter()
            page.evaluate("document.querySelector('[data-section]').scrollIntoView({behavior: 'instant'})")
            page.wait_for_selector("[data-section='0'] .chart[data-drawn] .main-svg")
            drawn.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return opened, drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--opens", type=int, default=5)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    folder = Path(tempfile.mkdtemp(prefix="imb-bench-"))
    try:
        (folder / "runs").mkdir()
        for number in range(options.runs):
            (folder / "runs" / f"{number:04}.jsonl").write_bytes(table(number, random))
        file = folder / "report.html"
        taken, cpu = make(folder / "runs", file)
        print(
            f"report: {options.runs} runs: made in {taken:.1f} s ({cpu:.1f} s of CPU), {file.stat().st_size / 1e6:.1f} MB"
        )
        if not shutil.which("chromium"):
            print("report: not opened: there is no chromium on the PATH")
            return
        opened, drawn = open_it(file, options.opens)
        print(
            f"report: opened in {statistics.median(opened):.2f} s ({min(opened):.2f} to {max(opened):.2f}); "
            f"first charts {statistics.median(drawn):.2f} s after a jump to them"
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
