"""Partitioned messages whose parts a team of threads marks; what is measured with a late part."""

import re

import lab
import pytest

TRANSFERS = ["Partitioned_PingPong", "Partitioned_Exchange"]
OVERLAP = "Partitioned_overlap"


@pytest.fixture(autouse=True)
def partitions(mpi):
    if TRANSFERS[0] not in lab.right_names(mpi, "MPI4"):
        pytest.skip(f"{mpi.key} hangs in partitioned communication")


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_parts_of_a_team_arrive(mpi, ranks, threads, tmp_path):
    if ranks == 5 and threads == 4:
        pytest.skip("oversubscribed threads are slow")
    words = (
        f"-threads {threads} -iter 5 -msgsize 0,1,7,64,4096 -check -time 60 {' '.join([OVERLAP, *TRANSFERS])}"
    )
    done = lab.run(mpi, ranks, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["benchmark"] for row in done.rows} == {OVERLAP, *TRANSFERS}
    for row in done.rows:
        assert row["defects"] == 0 and row["repetitions"] == 5
        assert row.get("threads", 1) == threads
        assert "time_of_threads_seconds" not in row  # the main thread has the clock
        assert 0 < row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
    assert {row["bytes"] for row in done.rows} == {0, 1, 7, 64, 4096}
    for table in lab.tables(done.text):
        assert ("(threads: " in "\n".join(table.head)) == (threads > 1)
    assert done.records[0]["options"]["threads"] == threads


@pytest.mark.parametrize("words", ["-multi 1 -npmin 2 -show_tail on", "-off_cache 0.05,64", "-passes 3", ""])
def test_a_team_marks_in_every_mode(mpi, words, tmp_path):
    words = f"-threads 3 -iter 4 -msgsize 12,64 -check {words} {' '.join([OVERLAP, *TRANSFERS])}"
    done = lab.run(mpi, 4, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert done.rows and {row["defects"] for row in done.rows} == {0}


def test_each_thread_marks_its_share(mpi, liars):
    """Neighboring parts of equal numbers; of fewer parts than threads some have none."""
    library = liars(mpi, "counting_parts.cpp")
    for threads, bytes_, shares in (
        (1, 64, [8]),
        (2, 64, [4, 4]),
        (3, 64, [2, 3, 3]),
        (4, 2, [1, 1]),
        (2, 0, [1]),
    ):
        words = (
            f"-iter 5 -iter_policy off -warm_up off -msgsize {bytes_} -threads {threads} Partitioned_PingPong"
        )
        done = lab.run(mpi, 2, words, component="MPI4", wrap=["env", f"LD_PRELOAD={library}"])
        assert done.code == 0, done.errors
        ranks = re.findall(r"parts: (\d+) of (\d+) starts, by thread:([\d ]+)", done.errors)
        assert len(ranks) == 2
        for marks, starts, by_thread in ranks:
            assert int(marks) == sum(shares) * int(starts)
            assert sorted(int(one) // int(starts) for one in by_thread.split()) == shares


@pytest.mark.parametrize("how", ["flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    words = f"-threads 2 -check -iter 4 -msgsize 64 -npmin 3 {' '.join([OVERLAP, *TRANSFERS])}"
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=1", f"LIE_HOW={how}"]
    lied = lab.run(mpi, 3, words, component="MPI4", records=tmp_path, wrap=wrap)
    assert lied.code == 4, lied.text[-2000:] + lied.errors[-2000:]
    assert {row["benchmark"] for row in lied.rows if row["defects"] > 0} == {OVERLAP, *TRANSFERS}


BAD = {
    "-threads 2 Bcast_persist": "-threads: no effect on the selected benchmarks",
    "-threads 2 -thread_level serialized Partitioned_PingPong": "not possible with -thread_level serialized",
    "-threads 2 -thread_level single Partitioned_Exchange": "not possible with -thread_level single",
    "-threads 0 Partitioned_PingPong": "-threads",
    "-comm shared Partitioned_PingPong": "-comm: IMB-MPI4 has no benchmark that uses it; leave it out, or run IMB-MT",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_options_are_refused(mpi, words):
    done = lab.run(mpi, 2, words, component="MPI4")
    assert done.code == 2
    (line,) = done.own_errors
    assert BAD[words] in line


def test_a_level_that_is_not_provided_is_refused(mpi, liars):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'single_thread_mpi.cpp')}"]
    refused = lab.run(mpi, 2, "-threads 2 Partitioned_PingPong", component="MPI4", wrap=wrap)
    assert refused.code == 2
    (line,) = refused.own_errors
    assert "MPI provides MPI_THREAD_SINGLE, not MPI_THREAD_MULTIPLE" in line


@pytest.mark.parametrize(("how", "message"), [("error", "MPI reports"), ("memory", "out of memory")])
def test_an_error_in_a_thread_ends_the_job(mpi, liars, how, message, tmp_path):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'fail_in_thread.cpp')}", f"FAIL_HOW={how}"]
    words = "-threads 3 -iter 100 -warm_up off -msgsize 96 Partitioned_PingPong"
    done = lab.run(mpi, 2, words, component="MPI4", records=tmp_path, wrap=wrap, timeout=60)
    assert done.code == 5
    (line,) = (line for line in done.own_errors if ": warning: " not in line)
    assert line.startswith("IMB-MPI4: rank 1: Partitioned_PingPong, 2 processes, 96 B: ") and message in line


@pytest.mark.parametrize(
    ("leave", "parts"), [("early", 8), ("early", 2), ("early", 1), ("late", 8), ("late", 2)]
)
def test_the_overlap_is_the_share_that_left_early(mpi, liars, leave, parts, tmp_path):
    """By a clock of messages and computation: an MPI that sends each part when it is marked hides all but the last one, and
    one that sends all parts at the end hides nothing."""
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'timed_parts.cpp')}", f"PARTS_LEAVE={leave}"]
    words = f"-iter 20 -iter_policy off -partitions {parts} -msgsize 64 {OVERLAP}"
    done = lab.run(mpi, 2, words, component="MPI4", records=tmp_path, wrap=wrap)
    assert done.code == 0, done.errors
    (row,) = done.rows
    hidden = (parts - 1) / parts if leave == "early" else 0
    assert row["time_pure_seconds"] == pytest.approx(0.016)
    assert row["time_cpu_seconds"] == pytest.approx(0.016)
    assert row["time_overlapped_seconds"] == pytest.approx(0.016 * (2 - hidden))
    assert row["early_bird_share"] == pytest.approx(hidden, abs=1e-6)
    assert row["overlap_percent"] == pytest.approx(100 * row["early_bird_share"])
