"""imb startup: real launches, launches with known delays, and a launcher that fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.test_allocation import FLUX, SLURM
from companion.test_resumed import resumed
from companion.test_run import with_
from imb.model.intent import Intent
from imb.model.records import End, Rank, Record, Result, Run, Startup, write
from imb.startup.startup_planning import doubling_counts, offered_ranks
from imb.startup.times import Times, summary_of, times_of
from imb.store.store import Archive

PARTS = ("before_init", "init", "finalize_exit")


def summaries(out: str) -> dict[int, dict[str, Any]]:
    return {one["ranks"]: one for one in json.loads(out)["ranks"]}


@pytest.mark.alone
def test_all_parts_of_real_launches(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb(
        "startup", *with_(mpi), "--ranks", "2,1", "--launches", "3", "--label", "s", "--format", "json"
    )
    assert said.code == 0, said.err
    found = summaries(said.out)
    assert list(found) == [1, 2]
    for one in found.values():
        assert (one["launches"], one["failed"], len(one["runs"])) == (3, 0, 3)
        whole = one["launch"]["median"]
        assert all(0 < one[name]["min"] <= one[name]["median"] <= one[name]["max"] < whole for name in PARTS)
        assert one["init_fastest"]["median"] <= one["init"]["median"]
        first = one["first"]
        parts = sum(first[name] for name in (*PARTS, "suite"))
        assert (
            first["launch"] <= parts + 1e-6 and parts < first["launch"] + 0.05
        )  # MPI_Init may end earlier elsewhere
    runs = [archive.run(name) for name in archive.ids()]
    assert {run.id for run in runs} == {run for one in found.values() for run in one["runs"]}
    assert all(archive.tags()[run.id].labels == ["s"] for run in runs)
    assert all(next(run.records().of(Run)).startup for run in runs)
    assert imb("archive", "verify").code == 0


@pytest.mark.alone
def test_known_delays_are_in_their_parts(
    mpi: lab.Mpi, liars: Callable[[lab.Mpi, str], Path], imb: Imb, archive: Archive
) -> None:
    words = ["--ranks", "2", "--launches", "2", "--format", "json"]
    plain = summaries(imb("startup", *with_(mpi), *words).out)[2]
    late = ":".join(str(liars(mpi, f"slow_{part}.cpp")) for part in ("start", "finalize"))
    slow = summaries(imb("startup", *with_(mpi), *words, "--env", f"LD_PRELOAD={late}").out)[2]
    assert slow["init"]["min"] >= 0.3 and slow["finalize_exit"]["min"] >= 0.4
    assert slow["launch"]["min"] >= 0.7
    assert slow["init"]["min"] - slow["init_fastest"]["max"] > 0.15
    assert plain["init"]["min"] < 0.3 + slow["init_fastest"]["max"]
    for run in slow["runs"]:
        startup = next(archive.run(run).records().of(Run)).startup
        assert startup and startup.slowest_rank == 1


LAUNCHER = r"""#!/bin/sh
[ "$1" = --version ] && { echo 'mpiexec (Open MPI) 5.0.9'; exit; }
ranks=2
while [ $# -gt 1 ]; do
    case $1 in -n) ranks=$2;; esac
    shift
done
[ "$1" = -version ] && exit
[ $ranks = 4 ] && { echo 'not enough slots' >&2; exit 7; }
sleep 0.2
sed "s/1111.0/$(date +%s.%N)/g" "${0%/*}/records-$ranks" > "$1.part"
sleep 0.1
sed "s/2222.0/$(date +%s.%N)/" "$1.part" > "$1"
sleep 0.15
"""


@pytest.fixture
def fake(tmp_path: Path) -> list[object]:
    """An MPI that calls MPI_Init 0.2 s after the start, needs 0.05 s for it, and 0.15 s for MPI_Finalize; not with 4 ranks."""
    options = fake_mpi.make(tmp_path / "mpi")
    (tmp_path / "mpi" / "bin" / "mpiexec").write_text(LAUNCHER)
    times = Startup(
        first_began_seconds=1111.0,
        last_began_seconds=1111.0,
        init_min_seconds=0.03,
        init_max_seconds=0.05,
        slowest_rank=0,
    )
    for ranks in (1, 2):
        run = Run(component="MPI1", ranks=[Rank(n, "here") for n in range(ranks)], startup=times)
        row = Result(benchmark="Barrier", processes=ranks, group_count=1, bytes=0, time_max_seconds=1e-6)
        end = End(state="complete", measured=1, at_seconds=2222.0)
        (tmp_path / "mpi" / "bin" / f"records-{ranks}").write_bytes(write([run, row, end]))
    return options


@pytest.mark.slow
def test_the_table_has_the_times_of_a_known_launcher(imb: Imb, fake: list[object]) -> None:
    said = imb("startup", *fake, "--ranks", "1,2", "--launches", "3")
    assert said.code == 0, said.err
    title, heads, *rows, verdict = said.out.splitlines()
    assert "$ " not in said.err and "launch 1 of" not in said.err  # the table only
    assert title == (
        "Open MPI 5.0.9, this host: ms, medians of 2 launches [range]; the first launch is apart"
    )
    assert heads.split("  ")[0] == "ranks" and heads.rstrip().endswith("first")
    for ranks, row in zip("12", rows, strict=True):
        cells = row.replace(", ", ",").replace(" [", "[").split()
        number, launch, before, init, fastest, suite, after, first = cells
        assert (number, init, fastest) == (ranks, "50.0", "30.0")
        assert 450 <= float(launch.partition("[")[0]) < 1500 and float(first) >= 450
        assert 200 <= float(before.partition("[")[0]) < 1000
        assert 0 <= float(suite) < 500
        assert 150 <= float(after.partition("[")[0]) < 800
    assert verdict.startswith("2 ranks: ") and verdict.endswith(" times the launch of 1 rank")


@pytest.mark.slow
def test_a_launch_that_fails_is_a_line_and_others_go_on(imb: Imb, fake: list[object]) -> None:
    said = imb("startup", *fake, "--ranks", "1,2,4", "--launches", "2")
    assert said.code == 1
    failed = [line for line in said.err.splitlines() if "not enough slots" in line]
    assert len(failed) == 2 and all("failed with exit status 7" in line for line in failed)
    (advised,) = re.findall(r"\nimb: 2 of 6 launches failed; see `imb (show \w+)`\n$", said.err)
    assert "outcome      failed" in imb(*advised.split()).out
    rows = [line.split() for line in said.out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["1", "2", "2"] and rows[2][1] == "ranks:"  # no row of dashes for 4
    nothing = imb("startup", *fake, "--ranks", "4", "--launches", "1")
    assert (nothing.code, nothing.out) == (1, "") and "1 of 1 launch failed" in nothing.err
    found = summaries(imb("startup", *fake, "--ranks", "4", "--launches", "1", "--format", "json").out)
    assert (found[4]["failed"], found[4]["launch"], found[4]["first"]) == (1, None, None)


def test_launches_that_are_skipped_are_failures(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    version = "[ \"$1\" = --version ] && { echo 'mpiexec (Open MPI) 5.0.9'; exit; }"
    launcher.write_text(f"#!/bin/sh\n{version}\necho 'IMB-MPI1: no such option' >&2\nexit 2\n")
    said = imb("startup", *options, "--ranks", "2", "--launches", "3", "--format", "json")
    assert said.code == 1 and "imb: 3 of 3 launches failed" in said.err, said
    (one,) = json.loads(said.out)["ranks"]
    assert (one["launches"], one["failed"], len(one["runs"])) == (3, 3, 1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ranks", "0"], "--ranks: not numbers of ranks: 0; give some such as 1,2,4"),
        (["--ranks", "1,,2"], "--ranks: not numbers of ranks: 1,,2"),
        (["--ranks", "two"], "--ranks: not numbers of ranks: two"),
        (["--launches", "0"], "--launches"),
        (["--cpus", "0", "--bind", "core"], "--cpus and --bind cannot be combined"),
        (["--cpus", "99999"], "no CPU 99999 on this host"),
    ],
)
def test_usage_errors(imb: Imb, fake: list[object], words: list[str], says: str) -> None:
    said = imb("startup", *fake, *words)
    assert said.code == 2 and said.out == ""
    assert says in said.err and len(said.err.splitlines()) == 1, said.err


def test_numbers_of_ranks() -> None:
    assert doubling_counts(1) == [1]
    assert doubling_counts(8) == [1, 2, 4, 8]
    assert doubling_counts(6) == [1, 2, 4, 6]


def times(began: float, ended: float) -> Times | None:
    startup = Startup(
        first_began_seconds=began - 1,
        last_began_seconds=began,
        init_min_seconds=0.5,
        init_max_seconds=1.0,
        slowest_rank=3,
    )
    records: list[Record] = [Run(startup=startup), End(state="complete", at_seconds=ended)]
    return times_of(records, {"launched_at": 100.0, "exited_at": 110.0})


def test_times_of_records() -> None:
    found = Times(launch=10.0, before_init=2.0, init=1.0, init_fastest=0.5, finalize_exit=4.0, suite=3.0)
    assert times(102.0, 106.0) == found
    # The clock of the ranks' host is behind, or ahead.
    for began, ended in ((99.0, 103.0), (107.0, 111.0)):
        skewed = times(began, ended)
        assert skewed and (skewed.before_init, skewed.init, skewed.finalize_exit) == (None, 1.0, None)
    facts = {"launched_at": 100.0, "exited_at": 110.0}
    assert times_of([Run(), End(state="complete", at_seconds=106.0)], facts) is None
    assert times_of([Run()], facts) is None
    one = summary_of(2, [("a", None), ("b", found)])
    assert (one.failed, one.first, one.launch and one.launch.median) == (1, None, 10.0)


def test_startup_ends_with_its_times(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    first = imb(
        "startup", *fake_mpi.make(tmp_path / "mpi"), "--ranks", 2, "--launches", 2, "--format", "json"
    )
    again, before = (json.loads(said.out) for said in (resumed(imb, archive, first), first))
    assert again.keys() == before.keys() and again["session"] == before["session"]


def test_how_many_ranks_are_offered() -> None:
    bare = Intent(ranks=2)
    each = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "3", "SLURM_CPUS_ON_NODE": "16"}
    assert offered_ranks(bare, SLURM) == 96 and offered_ranks(bare, each) == 48
    assert offered_ranks(Intent(ranks=2, ppn=4), each) == offered_ranks(Intent(ranks=2, ppn=4), SLURM) == 12
    assert offered_ranks(Intent(ranks=2, hosts=("a", "b"), ppn=8), SLURM) == 16
    assert offered_ranks(Intent(ranks=2, cpus=(0, 2, 4)), {}) == 3
    assert offered_ranks(bare, {}) >= 1
    assert offered_ranks(bare, {"PE_HOSTFILE": "/none", "NSLOTS": "16", "NHOSTS": "2"}) == 16
    assert offered_ranks(bare, FLUX) == 8
