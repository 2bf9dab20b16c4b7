"""What `imb show` and `imb diagnose` print of several launches: no absurd figure, no number cut short, nothing pooled that
does not belong together."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from companion import machines
from companion.door import Imb
from companion.test_variance import label, lines_of, random, side
from imb.compare.variance import parts_of
from imb.compare.variance_text import advice
from imb.model.observations import counted_bytes
from imb.model.records import Mpi, Passes, Record, Result, Run, write
from imb.store.store import Archive, Content
from variance import Made

__all__ = ["label"]  # a fixture


def classic(archive: Archive, name: str, mpi: str, count: int, *, factor: float = 1.0, seed: int = 1) -> None:
    """Classic launches."""
    chance = np.random.default_rng(seed)
    for _ in range(count):
        rows = machines.healthy(chance)
        for row in rows:
            assert isinstance(row, Result)
            row.time_avg_seconds = factor * (row.time_avg_seconds or 0)
            row.time_max_seconds = factor * (row.time_max_seconds or 0)
        archive.add(Content(records=write(machines.launch(rows, mpi=Mpi(name=mpi))), labels=[name]))


def in_passes(archive: Archive, name: str, made: Made, count: int) -> None:
    """Launches in passes."""
    chance = random()
    launches = side(made, count, chance).launches
    archive.add_many([Content(records=lines_of(one, chance), labels=[name]) for one in launches])


# --- Figures of variance components ----------------------------------------------------------------------------------


def test_a_missing_precision_leaves_no_hole_in_the_sentence() -> None:
    """Most rows are of one launch, two rows of three: their spread is known, the precision of a usual row is not."""
    made = side(Made(launches=0.3, rows=8), 3, random())
    for number, launch in enumerate(made.launches[1:]):
        for key in list(launch.rows)[number + 1 :]:
            del launch.rows[key]
    found = parts_of(made)
    assert found.precision() is None
    assert advice(found) == f"take more launches: ±5 % needs {found.launches_needed()}"


def test_no_figure_is_absurd(imb: Imb, archive: Archive) -> None:
    """Two launches, one of which took a hundred thousand times as long."""
    made = side(Made(launches=0.02), 2, random()).launches
    for row in made[1].rows.values():
        row.time_max_seconds = 1e5 * (row.time_max_seconds or 0)
        row.time_avg_seconds = row.time_min_seconds = row.time_max_seconds
    archive.add_many([Content(records=lines_of(one, random()), labels=["far"]) for one in made])
    for command in ("show", "diagnose"):
        said = imb(command, "far").out
        assert "above 1,000 %" in said
        assert not re.search(r"\d{1,3}(,\d{3})+ %", said.replace("above 1,000 %", "")), said
        assert "±5 % needs more than 1,000" in said


def test_unknown_components_are_not_called_small(imb: Imb, archive: Archive) -> None:
    made = side(Made(states=0.0), 2, random()).launches[:1]
    for row in made[0].rows.values():
        assert row.passes
        row.passes = Passes(samples=10, used=10, states=row.passes.states[:1])
    archive.add(Content(records=lines_of(made[0], random()), labels=["one"]))
    said = imb("diagnose", "one").out
    assert "No spread above" not in said
    assert (
        "Largest part unknown: within a launch (too few samples for an interval), between launches (one launch)."
        in " ".join(said.split())
    )


def test_a_note_on_precision_of_barrier_has_no_empty_brackets(imb: Imb, archive: Archive) -> None:
    passes = Passes(samples=40, used=40, half_width=15.6082, shortfall="budget")
    rows: list[Record] = [machines.row("Barrier", 8, None, 2e-6, "synchronisation", passes=passes)]
    made = machines.launch(rows)
    assert isinstance(made[0], Run)
    made[0] = msgspec.structs.replace(made[0], options={"precision": 5, "budget": 5})
    name = archive.add(Content(records=write(made))).id
    said = imb("show", name).out
    assert "missed ±5 %, worst more than ±100 %: the budget was spent" in said
    (line,) = [line.split() for line in said.splitlines() if "2.00" in line]
    assert "n/a" in line and "1561" not in said and "1,561" not in said


def test_headings_are_explained_and_empty_columns_are_hidden(imb: Imb, archive: Archive) -> None:
    in_passes(archive, "passes", Made(), 3)
    said = imb("show", "passes").out
    spread = "within a launch +between launches"
    assert re.search(rf"(?m)^ *bytes +launches +t µs +± % +{spread}$", said)
    assert "then spread, as standard deviations in %" in said.splitlines()[1]
    assert said.splitlines()[3].startswith("PingPong"), said  # data after two lines
    assert "within a launch: error of a launch's median; between launches: how far" in said
    classic(archive, "log", "Some MPI", 3)
    said = imb("show", "log", "-b", "PingPong").out
    assert re.search(r"(?m)^ *bytes +launches +t µs +MB/s +± % +between launches$", said)
    assert "within a launch:" not in said
    assert re.search(
        r"(?m)^ *launches +t µs +± % +between launches$", imb("show", "log", "-b", "Barrier").out
    )


def test_a_column_of_zeros_is_hidden(imb: Imb, archive: Archive) -> None:
    """Logs that are equal but for the date: no spread at all."""
    rows: list[Record] = [*machines.curve(machines.message)]
    for day in (1, 2, 3):
        made = machines.launch(rows, date=f"2026-01-0{day}T00:00:00Z")
        archive.add(Content(records=write(made), labels=["same"]))
    said = imb("show", "same").out
    assert re.search(r"(?m)^ *bytes +launches +t µs +MB/s$", said) and "then spread" not in said


def test_several_launches_show_the_rate_of_their_median_time(imb: Imb, archive: Archive) -> None:
    """Sendrecv counts two messages. The median of these times is 20 µs, so the rate is 2 n / 20 µs; the 95 % interval is that
    of three logarithms by Student's t."""
    n, times = 1000, (19e-6, 20e-6, 21e-6)
    for seconds in times:
        one = machines.row("Sendrecv", 2, n, seconds, "parallel_transfer", time_max_seconds=seconds)
        none = machines.row("Sendrecv", 2, 0, seconds, "parallel_transfer", time_max_seconds=seconds)
        one.bytes_per_second = 2 * n / seconds
        archive.add(Content(records=write(machines.launch([none, one])), labels=["both"]))
    said = imb("show", "both").out
    cells = {line.split()[0]: line.split() for line in said.splitlines() if re.match(r" +\d", line)}
    assert cells["1000"][:4] == ["1000", "3", "20.00", "100.00"]
    assert cells["0"][:4] == ["0", "3", "20.00", "0.00"]
    logs = np.log(times)
    # 4.303: Student's t of two degrees of freedom; 0.693: the median of their chi-square, by degree.
    half = np.expm1(4.303 * float(np.std(logs, ddof=1)) / np.sqrt(0.693) / np.sqrt(3))
    assert float(cells["1000"][4]) == pytest.approx(100 * half, rel=0.05)


def test_a_rate_that_a_log_rounded_counts_whole_messages() -> None:
    row = machines.row("PingPong", 2, 1, 1.18e-6, "single_transfer", time_max_seconds=1.18e-6)
    row.bytes_per_second = 0.85e6  # 0.8475
    assert counted_bytes(row) == 1
    row.bytes_per_second = 0.0  # printed as 0.00
    assert counted_bytes(row) is None


# --- What belongs together -------------------------------------------------------------------------------------------


def test_launches_of_two_libraries_have_a_table_each(imb: Imb, archive: Archive) -> None:
    classic(archive, "nightly", "Fast MPI 1.0", 3)
    classic(archive, "nightly", "Slow MPI 2.0", 2, factor=10, seed=2)
    said = imb("show", "nightly", "-b", "PingPong")
    assert said.code == 0
    first, _, second = said.out.partition("nightly, Slow MPI 2.0, classic: 2 launches")
    assert "nightly, Fast MPI 1.0, classic: 3 launches" in first
    of_zero = [re.search(r"(?m)^ +0 +(\d) +([\d.]+) ", part) for part in (first, second)]
    fast, slow = of_zero
    assert fast and slow and (fast[1], slow[1]) == ("3", "2")
    assert float(slow[2]) == pytest.approx(10 * float(fast[2]), rel=0.3)
    said = imb("diagnose", "nightly")
    assert (said.code, said.out) == (2, "")
    assert said.err == (
        "imb: nightly has launches of different kinds: Fast MPI 1.0, classic (3 launches); Slow MPI 2.0, classic"
        " (2 launches); name runs of one kind, separated by commas, or with a query (imb query --help)\n"
    )


def test_passes_and_single_bursts_have_a_table_each(imb: Imb, archive: Archive) -> None:
    in_passes(archive, "mixed", Made(), 3)
    chance = np.random.default_rng(1)
    rows = machines.healthy(chance, processes=2)
    archive.add(Content(records=write(machines.launch(rows, hosts=("n0", "n0"))), labels=["mixed"]))
    said = imb("show", "mixed").out
    assert "mixed, passes: 3 launches" in said and "mixed, classic: 1 launch" in said
    said = imb("diagnose", "mixed").err
    assert said.startswith(
        "imb: mixed has launches of different kinds: passes (3 launches); classic (1 launch)"
    )


# --- Numbers are never cut short --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_number_is_never_cut_short(archive: Archive, imb: Imb) -> None:
    in_passes(archive, "wide", Made(), 3)
    runs = [one["run"] for one in map(json.loads, imb("ls", "--all", "--format", "json").out.splitlines())]
    for width in ("20", "40", "80"):
        for of in ("wide", runs[0]):
            done = subprocess.run(
                [sys.executable, "-m", "imb", "show", of, "--archive", str(archive.folder)],
                capture_output=True, text=True, env={**os.environ, "COLUMNS": width}, check=True,
            )  # fmt: skip
            assert "…" not in done.stdout and "PingPong" in done.stdout
            assert re.search(
                r"(?m)^ *bytes .*launches$" if of == "wide" else r"(?m)^ *bytes +.*µs.*", done.stdout
            )


def test_a_number_is_never_cut_short_on_a_narrow_terminal() -> None:
    from io import StringIO

    from imb.report.terminal import Screen

    screen = Screen(width=30)
    screen.console.file = StringIO()
    cells = [("name of a row", "123456789.12", "123456789.12", "987654321.98")]
    screen.table(("row", "first", "second", "third"), cells, right=(1, 2, 3))
    said = screen.console.file.getvalue()
    assert "…" not in said and said.count("123456789.12") == 2 and "987654321.98" in said
