"""IMB-MT: every benchmark with 1, 2 and 4 threads on 1 to 5 ranks; its options; a lying MPI; threads that take turns."""

import os
import re
import signal
from pathlib import Path

import lab
import pytest
from test_endings import wait_for
from test_faults import ranks_of, records_in

NAMES = lab.names("MT")
BY_DEFAULT = lab.names("MT", default=True)
TRANSFERS = ["PingPongMT", "PingPingMT", "SendRecvMT", "ExchangeMT", "UniBandMT", "BiBandMT"]
PAIRS = {"PingPongMT", "PingPingMT", "UniBandMT", "BiBandMT"}

MODES = {
    "standard": "",
    "shared": f"-comm shared -sync off {' '.join(TRANSFERS)}",
    "in turns": "-thread_level serialized",
    "multi0": "-multi 0 -npmin 2",
    "multi1": "-multi 1 -npmin 2 -show_tail on",
    "off_cache": "-off_cache 0.1,64 -malloc_algo continuous",
    "sync": "-sync on -barrier special -malloc_algo parallel",
    "stride": "-stride 1 -root_shift off -barrier off",
}


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, threads, tmp_path):
    if mode != "standard" and (ranks in (1, 4, 5) or threads == 4):
        pytest.skip("the same loops on 2 and 3 ranks say it all; oversubscribed threads are slow")
    names = [] if "PingPongMT" in MODES[mode] else NAMES
    few = f"-repeat {ranks + 1} -count 0,3,18 -window_size 5 -check -time 60 -threads {threads}"
    done = lab.run(
        mpi, ranks, f"{few} {MODES[mode]} {' '.join(names)}", component="MT", records=tmp_path, timeout=600
    )
    invalid = PAIRS if ranks == 1 else set()
    assert done.code == (3 if invalid else 0), done.text[-3000:] + done.errors[-3000:]
    rows = done.rows
    expected = set(names or TRANSFERS) - invalid
    assert {row["benchmark"] for row in rows} == expected
    for row in rows:
        assert row["defects"] == 0
        assert row["threads"] == threads and row["repetitions"] == ranks + 1
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        if threads > 1:
            each = row["time_of_threads_seconds"]
            assert len(each) == threads and max(each) == row["time_max_seconds"]
            assert each[row["slowest_thread"]] == row["time_max_seconds"]
        else:
            assert "time_of_threads_seconds" not in row
        waits = row.get("time_waiting_of_threads_seconds", [])
        assert len(waits) == (threads if mode == "in turns" and threads > 1 else 0)
        assert all(
            0 <= wait <= time
            for wait, time in zip(waits, row.get("time_of_threads_seconds", []), strict=bool(waits))
        )
    lengths = {row["bytes"] for row in rows if row["benchmark"] != "BarrierMT"}
    assert lengths == {threads * 4 * count for count in (0, 3, 18)}
    for table in lab.tables(done.text):
        assert f"(threads: {threads})" in "\n".join(table.head)
    assert sum(len(table.rows) for table in lab.tables(done.text)) == len(rows)


def test_the_default_list_and_lengths(mpi):
    done = lab.run(mpi, 2, "-repeat 2", component="MT")
    assert done.code == 0
    tables = lab.tables(done.text)
    assert [table.name for table in tables] == BY_DEFAULT
    assert [row[0] for row in tables[0].rows] == ["4", "8", "16", "32"]
    listed = lab.run(mpi, 1, "-list", component="MT").text
    assert re.findall(r"(?m)^  (\S+)", listed) == NAMES


# All options of IMB-MT 2021 with their standard values.
OF_IMB = (
    "-thread_level single -stride 0 -warmup 100 -repeat 1000 -window_size 64 -barrier on -count 1,2,4,8 "
    "-malloc_align 64 -malloc_algo serial -check false -datatype int"
)


def test_the_standard_command_line_of_imb_changes_nothing(mpi, tmp_path):
    names = "-time 1 PingPongMT BarrierMT"
    told, untold = (
        lab.run(mpi, 2, f"{words} {names}", component="MT", records=tmp_path) for words in (OF_IMB, "")
    )
    assert told.code == untold.code == 0 and not told.own_errors
    assert lab.identities(told.rows) == lab.identities(untold.rows)
    assert told.records[0]["options"] == untold.records[0]["options"]


def test_rates_follow_from_the_times(mpi, tmp_path):
    words = "-threads 2 -repeat 20 -count 64 -window_size 8 PingPongMT SendRecvMT UniBandMT BiBandMT"
    done = lab.run(mpi, 2, words, component="MT", records=tmp_path)
    assert done.code == 0
    turnover = {"PingPongMT": 1, "SendRecvMT": 2, "UniBandMT": 1, "BiBandMT": 1}
    for row in done.rows:
        moved = turnover[row["benchmark"]] * row["bytes"]
        assert row["bytes"] == 512
        assert row["bytes_per_second"] == pytest.approx(moved / row["time_max_seconds"])
        if "BandMT" in row["benchmark"]:
            assert row["messages_per_second"] == pytest.approx(2 / row["time_avg_seconds"])
    assert "# window_size = 8\n" in done.text


def test_rates_count_the_processes_that_took_part(mpi, tmp_path):
    """Of four with -stride 3 the middle two have no partner; in passes the row is a median of samples."""
    for words in ("-repeat 20", "-passes 3 -multi 1 -npmin 4"):
        done = lab.run(
            mpi, 4, f"-stride 3 -count 256 {words} UniBandMT BiBandMT", component="MT", records=tmp_path
        )
        assert done.code == 0, done.errors
        assert len(done.rows) == 2
        for row in done.rows:
            assert row["messages_per_second"] == pytest.approx(1 / row["time_avg_seconds"])
            assert row["bytes_per_second"] == pytest.approx(1024 / row["time_max_seconds"])


def test_lengths_beyond_every_number_are_failure_rows(mpi, tmp_path):
    """Of all threads together they exceed 64 bits, of which nothing may be left as a small length."""
    for component, words in (
        ("MT", "-thread_level multiple -threads 16 -msgsize 268435456g AlltoallMT"),
        ("MT", "-thread_level multiple -threads 4 -msgsize 4294967296g PingPongMT BarrierMT"),
        ("MPI1", "-msgsize 4294967296g -npmin 2 PingPong Exchange Alltoall"),
        ("IO", f"-msgsize 4294967296g -npmin 2 -file {tmp_path / 'io'} S_Write_Indv P_Read_Shared"),
    ):
        done = lab.run(mpi, 2, words, component=component, records=tmp_path)
        assert done.code == 0, done.errors
        assert {row["benchmark"] for row in done.rows} == {"BarrierMT"} & set(words.split())
        failures = [record for record in done.records if record["record"] == "failure"]
        assert failures and {failure["cause"] for failure in failures} == {"out_of_memory"}
        assert all(failure["needed_bytes"] >= 2**61 < failure["bytes"] for failure in failures)
        assert "X=-" not in done.text


def test_threads_come_from_the_environment_where_the_level_allows_them(mpi, tmp_path):
    def threads(words: str, number: str) -> set[int]:
        wrap = ["env", f"OMP_NUM_THREADS={number}"]
        done = lab.run(mpi, 2, f"-repeat 2 -count 1 {words}", component="MT", records=tmp_path, wrap=wrap)
        assert done.code == 0, done.errors
        return {row["threads"] for row in done.rows}

    assert threads("PingPongMT", "3") == {1}
    assert threads("-thread_level multiple PingPongMT", "3") == {3}
    assert threads("-thread_level multiple PingPongMT", "2,1") == {2}
    assert threads("-thread_level multiple -threads 1 PingPongMT", "3") == {1}


def test_pinned_threads_run(mpi, tmp_path):
    done = lab.run(
        mpi, 2, "-threads 2 -pin_threads on -repeat 3 -check AllReduceMT", component="MT", records=tmp_path
    )
    assert done.code == 0, done.errors
    assert done.records[0]["options"]["pin_threads"] is True
    assert {row["defects"] for row in done.rows} == {0}


def test_pinned_threads_may_use_one_cpu_each(mpi, tmp_path):
    """As the system has it: the main thread, and another of those that the process has; its MPI may have more."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        lab.missing("two CPUs")
    records = tmp_path / "records.jsonl"
    words = f"-threads 2 -pin_threads on -budget 60 -repeat 2 -count 8 -json {records} PingPongMT"
    wrap = ["taskset", "-c", ",".join(map(str, cpus))]
    launch = lab.start(mpi, 2, words.split(), wrap=wrap, component="MT")
    wait_for(lambda: records.exists() and '"sample"' in records.read_text())
    found = {}
    for rank, pid in ranks_of(launch.pid, mpi.program("MT")).items():
        tasks = {
            int(status.parent.name): re.findall(r"Cpus_allowed_list:\s*(\S+)", status.read_text())[0]
            for status in Path(f"/proc/{pid}/task").glob("*/status")
        }
        found[rank] = (tasks.pop(pid), set(tasks.values()))
    launch.terminate()
    lab.finish(launch, 60)
    assert sorted(found) == [0, 1]
    for rank, (main, others) in found.items():
        first, second = (str(cpus[(2 * rank + thread) % len(cpus)]) for thread in range(2))
        assert main == first and second in others, found


def test_passes_measure_threads_too(mpi, tmp_path):
    words = "-threads 2 -passes 3 -iter 20 -count 64 -check PingPongMT AllReduceMT BarrierMT"
    done = lab.run(mpi, 2, words, component="MT", records=tmp_path)
    assert done.code == 0, done.errors
    assert len(done.rows) == 3 and {row["threads"] for row in done.rows} == {2}
    assert any("time_of_threads_seconds" in record for record in done.records if record["record"] == "sample")


def test_memory_is_that_of_all_threads(mpi, tmp_path):
    words = "-threads 4 -repeat 1 -count 65536 -mem 1m PingPongMT"
    done = lab.run(mpi, 2, words, component="MT", records=tmp_path)
    assert done.code == 0
    (failure,) = (record for record in done.records if record["record"] == "failure")
    assert failure["cause"] == "out_of_memory" and failure["needed_bytes"] == 4 * 2 * 4 * 65536


BAD = {
    "-threads 0 PingPongMT": "-threads",
    "-threads 2 -thread_level single PingPongMT": "not possible with -thread_level single",
    "-threads 2 -comm shared BcastMT": "BcastMT is a collective",
    "-threads 2 -thread_level serialized -sync on BcastMT": "-sync on",
    "-comm both PingPongMT": "-comm",
    "-malloc_align 48 PingPongMT": "not a power of two",
    "-malloc_algo none PingPongMT": "-malloc_algo",
    "-barrier maybe PingPongMT": "not one of on, off, special",
    "-stride 2 PingPongMT": "give at most 1",
    "-count 3 -msgsz 8 PingPongMT": "-count and -msgsz",
    "-datatype float PingPongMT": "-datatype",
    "-count 1 -msglog 3 PingPongMT": "-count and -msglog",
    "-repeat 1 -iter 3 PingPongMT": "-repeat and -iter",
    "-stride -1 PingPongMT": "-stride",
    "-pin_threads perhaps PingPongMT": "-pin_threads",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_options_are_refused(mpi, words):
    done = lab.run(mpi, 2, words, component="MT")
    assert done.code == 2
    (line,) = done.own_errors
    assert BAD[words] in line


def test_options_of_threads_are_refused_elsewhere(mpi):
    done = lab.run(mpi, 1, "-threads 2 PingPong")
    assert done.code == 2 and "IMB-MT" in done.own_errors[0]


def test_a_level_that_is_not_provided_is_refused(mpi, liars):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'single_thread_mpi.cpp')}"]
    refused = lab.run(mpi, 2, "-threads 2 PingPongMT", component="MT", wrap=wrap)
    assert refused.code == 2
    (line,) = refused.own_errors
    assert "MPI provides MPI_THREAD_SINGLE, not MPI_THREAD_MULTIPLE" in line
    one = lab.run(mpi, 2, "-repeat 2 -threads 1 PingPongMT", component="MT", wrap=wrap)
    assert one.code == 0


@pytest.mark.parametrize("rank", [0, 1])
def test_a_level_that_one_rank_lacks_is_refused_by_all(mpi, liars, rank, tmp_path):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'single_thread_mpi.cpp')}", f"FAIL_RANK={rank}"]
    refused = lab.run(mpi, 2, "-threads 2 PingPongMT", component="MT", wrap=wrap, timeout=60)
    assert refused.code == 2
    (line,) = refused.own_errors
    assert f"MPI provides MPI_THREAD_SINGLE on rank {rank}, not MPI_THREAD_MULTIPLE" in line
    one = lab.run(
        mpi,
        2,
        "-thread_level multiple -threads 1 -repeat 2 PingPongMT",
        component="MT",
        wrap=wrap,
        records=tmp_path,
    )
    warning = f"IMB-MT: warning: asked for MPI_THREAD_MULTIPLE, MPI granted MPI_THREAD_SINGLE on rank {rank}"
    assert one.code == 0 and one.own_errors == [warning]
    assert one.records[0]["mpi"]["thread_level"] == "MPI_THREAD_SINGLE"


@pytest.mark.parametrize("words", ["SendRecvMT", "-show_tail on SendRecvMT"])
def test_threads_in_turns_are_never_in_mpi_at_once(mpi, liars, words, tmp_path):
    """MPI_Wtime is a call of MPI, too."""
    log = tmp_path / "log"
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'counting_threads.cpp')}", f"FAIL_LOG={log}", "SLOW_CLOCK=1"]
    arguments = f"-threads 3 -thread_level serialized -check -repeat 20 -warmup 2 -count 8 {words}"
    done = lab.run(mpi, 2, arguments, component="MT", wrap=wrap, records=tmp_path)
    assert done.code == 0, done.errors
    counts = [line for line in log.read_text().splitlines() if " counted " in line]
    assert sorted(counts) == ["rank 0 counted 0", "rank 1 counted 0"]
    assert done.records[0]["clock"]["source"] == "steady_clock"


@pytest.mark.parametrize(("how", "words"), [("error", "MPI reports"), ("memory", "out of memory")])
def test_an_error_in_a_thread_ends_the_job(mpi, liars, how, words, tmp_path):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'fail_in_thread.cpp')}", f"FAIL_HOW={how}"]
    arguments = "-threads 3 -repeat 100 -warmup 0 -count 8 PingPongMT"
    done = lab.run(mpi, 2, arguments, component="MT", records=tmp_path, wrap=wrap, timeout=60)
    assert done.code == 5
    (line,) = [line for line in done.own_errors if "warning" not in line]  # of threads that share CPUs
    assert line.startswith("IMB-MT: rank 1: PingPongMT, 2 processes, 96 B: ") and words in line


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_stops_a_launch_of_threads(mpi, rank, tmp_path):
    """The handler runs in the main thread: others have signals blocked. A crowded machine may have rows that take longer
    than a stop may wait."""
    records = tmp_path / "records.jsonl"
    counts = ",".join(map(str, range(8, 2008)))
    words = f"-threads 3 -repeat 50 -count {counts} -json {records} PingPongMT"
    launch = lab.start(mpi, 2, words.split(), component="MT")
    wait_for(lambda: records.exists() and records.read_text().count('"result"') > 3)
    pid = ranks_of(launch.pid, mpi.program("MT"))[rank]
    blocked = [
        re.findall(r"SigBlk:\s*(\w+)", status.read_text())[0]
        for status in Path(f"/proc/{pid}/task").glob("*/status")
    ]
    terminating = 1 << (signal.SIGTERM - 1)
    assert sum(int(mask, 16) & terminating > 0 for mask in blocked) >= 2
    os.kill(pid, signal.SIGTERM)
    assert lab.finish(launch, 60).code in (3, 128 + signal.SIGTERM)
    (end,) = (record for record in records_in(records) if record["record"] == "end")
    assert end["state"] == "interrupted"


def caught(done: lab.Launch) -> set[str]:
    return {row["benchmark"] for row in done.rows if row["defects"] > 0}


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    words = f"-threads 2 -data_type byte -red_data_type float -check -repeat 4 -msgsize 64 {' '.join(NAMES)}"
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=1", f"LIE_HOW={how}"]
    lied = lab.run(mpi, 2, words, component="MT", records=tmp_path, wrap=wrap)
    assert lied.code == (0 if how == "none" else 4)
    assert caught(lied) == (set() if how == "none" else set(NAMES) - {"BarrierMT"})


@pytest.mark.parametrize("words", ["-datatype char", "-data_type double -red_data_type double"])
def test_every_data_type_arrives_unharmed(mpi, words, tmp_path):
    done = lab.run(
        mpi, 2, f"-threads 2 -repeat 3 -count 50 {words} -check {' '.join(BY_DEFAULT)}",
        component="MT", records=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}


def test_no_header(mpi):
    done = lab.run(mpi, 2, "-noheader -repeat 2 -count 1 PingPongMT", component="MT")
    assert done.code == 0 and done.text.startswith("\n#-----") and "# Date" not in done.text


def test_a_group_without_a_pair_is_a_row(mpi, tmp_path):
    """Of three processes two are a group first, none of which is two away."""
    words = "-npmin 2 -stride 2 -iter 2 -count 1 PingPongMT"
    done = lab.run(mpi, 3, words, component="MT", records=tmp_path)
    assert done.code == 3 and [row["processes"] for row in done.rows] == [3]
    [failure] = [record for record in done.records if record["record"] == "failure"]
    assert failure["cause"] == "invalid_processes" and "-stride 2" in failure["detail"]


def test_threads_that_share_cpus_are_warned_of(mpi):
    words = "-threads 2 -iter 2 -count 1 BarrierMT"
    one = lab.run(mpi, 1, words, component="MT", wrap=["taskset", "-c", "0"])
    assert one.code == 0 and "2 threads of rank 0 share 1 CPU" in one.errors
