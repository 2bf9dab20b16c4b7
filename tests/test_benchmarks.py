"""Every benchmark, in every mode, on 1 to 5 ranks, under every MPI of the lab: it runs, checks and reports."""

import re

import lab
import pytest

NAMES = lab.names("MPI1")
PAIRS = {"Uniband", "Biband"}
SINGLE = {
    "PingPong",
    "PingPongSpecificSource",
    "PingPongAnySource",
    "PingPong_persist",
    "PingPong_mprobe",
    "PingPing",
    "PingPingSpecificSource",
    "PingPingAnySource",
}

MODES = {
    "standard": "",
    "multi0": "-multi 0",
    "multi1": "-multi 1",
    "off_cache": "-off_cache 0.5,64",
    "sync": "-sync on -imb_barrier on",
    "tail": "-show_tail yes -multi 1",
    "in_place": "-in_place on",
}
FEW = "-iter 6 -msgsize 0,72 -window_size 4 -check -time 60"


def process_counts(name: str, ranks: int) -> list[int]:
    if name in SINGLE:
        return [2] if ranks >= 2 else []
    if name in PAIRS and ranks == 1:
        return []
    counts, count = [], min(2, ranks)
    while count < ranks:
        counts.append(count)
        count *= 2
    return [*counts, ranks]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, tmp_path):
    if (mode in ("sync", "tail") and ranks in (1, 5)) or (mode != "multi1" and ranks == 4):
        pytest.skip("the same loops on 2, 3 and 5 ranks say it all; oversubscribed ranks are slow")
    names = lab.right_names(mpi, "MPI1")
    repetitions, sizes = lab.effort(ranks, mode, 6)
    few = f"-iter {repetitions} -msgsize {','.join(map(str, sizes))} -window_size 4 -check -time 60"
    done = lab.run(mpi, ranks, f"{few} {MODES[mode]} {' '.join(names)}", records=tmp_path)
    impossible = [name for name in names if not process_counts(name, ranks)]
    assert done.code == (3 if impossible else 0), done.text + done.errors
    failures = [record["benchmark"] for record in done.records if record["record"] == "failure"]
    assert failures == impossible

    points = [
        (name, count, size)
        for name in names
        for count in process_counts(name, ranks)
        for size in ([0] if name == "Barrier" else sizes)
    ]
    assert lab.identities(done.rows) == lab.rows_of(points, ranks, MODES[mode])
    for row in done.rows:
        assert row["defects"] == 0
        assert row["repetitions"] == repetitions
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
    assert done.records[-1]["record"] == "end" and done.records[-1]["defects"] == 0

    # The text says the same as the records.
    text_rows = sum(len(table.rows) for table in lab.tables(done.text))
    assert text_rows == len(done.rows)
    assert "All processes entering MPI_Finalize" in done.text


@pytest.mark.parametrize(
    "types",
    [
        "-data_type char -red_data_type int",
        "-data_type int -red_data_type double",
        "-data_type float -red_data_type float -contig_type resize",
        "-data_type double -red_data_type float -contig_type base_vec",
        "-data_type byte -red_data_type double -contig_type resize_vec",
        "-red_data_type char",
    ],
)
def test_every_data_type_arrives_unharmed(mpi, types, tmp_path):
    done = lab.run(mpi, 3, f"{FEW} {types} {' '.join(NAMES)}", records=tmp_path)
    assert done.code == 0, done.text + done.errors
    assert {row["defects"] for row in done.rows} == {0}
    assert {row["benchmark"] for row in done.rows} == set(NAMES)


@pytest.mark.parametrize("types", ["-data_type float16 -red_data_type bfloat16", "-red_data_type float16"])
def test_sixteen_bit_floats_where_the_mpi_has_them(mpi, types, tmp_path):
    done = lab.run(mpi, 2, f"{FEW} {types} {' '.join(NAMES)}", records=tmp_path)
    if done.code == 2:
        assert mpi.flavor == "openmpi", done.errors
        assert len(done.own_errors) == 1 and "this MPI has no such type" in done.own_errors[0]
    else:
        assert done.code == 0 and {row["defects"] for row in done.rows} == {0}


def test_odd_lengths_in_any_order_are_measured_as_given(mpi, tmp_path):
    done = lab.run(mpi, 2, "-msgsize 7,100000,0,5m,3 -iter 3 -check PingPong Allreduce", records=tmp_path)
    sizes = {
        name: [row["bytes"] for row in done.rows if row["benchmark"] == name]
        for name in ("PingPong", "Allreduce")
    }
    assert sizes == {"PingPong": [7, 100000, 0, 5242880, 3], "Allreduce": [8, 100000, 0, 5242880, 4]}
    assert done.code == 0 and {row["defects"] for row in done.rows} == {0}


def test_lengths_above_the_old_limit_are_not_clamped(mpi, tmp_path):
    done = lab.run(mpi, 2, "-msglog 22:24 -iter 1 PingPong", records=tmp_path)
    assert [row["bytes"] for row in done.rows] == [0, 1 << 22, 1 << 23, 1 << 24]


def test_more_than_an_int_can_count(mpi, tmp_path):
    """2 GiB and 8 bytes: large-count calls where the MPI has them, a row that says why where it has not."""
    words = f"-msgsize {2**31 + 8},16 -iter 1 -mem 16 -warm_up off PingPong PingPong_persist"
    done = lab.run(mpi, 2, words, records=tmp_path)
    kinds = [record["record"] for record in done.records]
    if mpi.flavor == "mpich":
        assert done.code == 0 and [row["bytes"] for row in done.rows] == 2 * [2**31 + 8, 16]
    else:
        assert done.code == 0 and kinds == ["run", *["failure", "result"] * 2, "end"]
        assert done.records[1]["cause"] == "int_overflow" and "int-overflow." in done.text


def test_too_much_memory_is_a_row_and_later_lengths_still_run(mpi, tmp_path):
    done = lab.run(mpi, 2, "-msgsize 8,2m,16 -mem 1m -iter 2 PingPong Sendrecv", records=tmp_path)
    assert done.code == 0
    assert [row["bytes"] for row in done.rows] == [8, 16, 8, 16]
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(f["cause"], f["bytes"], f["needed_bytes"]) for f in failures] == [
        ("out_of_memory", 1 << 21, 1 << 22)
    ] * 2
    assert re.search(r"(?m)^ {6}2097152 out-of-mem\.; needed X=   0\.004 GB; use flag \"-mem X\"", done.text)
    assert "All processes entering MPI_Finalize" in done.text


def test_messages_in_flight_that_exceed_the_memory_are_fewer(mpi, tmp_path):
    """Of 0.01 GiB -check needs 2 MiB, the send buffer one message, and the requests of a message 1,700 bytes."""
    done = lab.run(mpi, 2, "-msgsize 8,100000 -mem 0.01 -iter 2 -check Uniband Biband", records=tmp_path)
    assert done.code == 0, done.errors
    assert [(row["bytes"], row.get("in_flight"), row["defects"]) for row in done.rows] == [
        (8, None, 0), (100000, 83, 0)
    ] * 2  # fmt: skip
    for row, messages in zip(done.rows, (256, 83, 2 * 256, 2 * 83), strict=True):
        assert row["messages_per_second"] * row["time_max_seconds"] == pytest.approx(messages)
    note = "# note: 100000 B: 83 messages in flight instead of 256, which exceed -mem 0.01\n"
    assert done.text.count(note) == 2 and done.text.count("# note") == 2


def test_no_length_that_fits_is_a_table_of_failures(mpi, tmp_path):
    """The short warm-up message must not run in buffers that were never allocated."""
    done = lab.run(mpi, 2, "-msgsize 2m -mem 1m -iter 2 Alltoall Reduce", records=tmp_path)
    assert done.code == 0 and done.rows == []
    assert [record["record"] for record in done.records] == ["run", "failure", "failure", "end"]


def test_a_repetition_that_takes_too_long_is_a_row(mpi, tmp_path):
    done = lab.run(mpi, 2, "-msgsize 8m,0 -time 0.0001 -iter 5 PingPong", records=tmp_path)
    assert (done.records[1]["record"], done.records[1]["cause"]) == ("failure", "time_out")
    assert (
        done.code == 0
        and "time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use" in done.text
    )


def test_time_limit_reduces_repetitions_for_all_ranks_alike(mpi, tmp_path):
    done = lab.run(mpi, 2, "-msgsize 1m -time 0.01 -iter 100000,1000000 Sendrecv", records=tmp_path)
    assert done.code == 0
    (row,) = done.rows
    assert 1 <= row["repetitions"] < 100000
    assert row["repetitions"] * row["time_max_seconds"] < 1


def test_policies(mpi, tmp_path):
    def repetitions(options: str) -> list[int]:
        words = f"-msgsize 0,1k,8k -set OVERALL_VOL=40k -npmin 3 -time 60 Bcast {options}"
        done = lab.run(mpi, 3, words, records=tmp_path)
        assert done.code == 0
        return [row["repetitions"] for row in done.rows]

    assert repetitions("-iter 10") == [10, 10, 5]
    assert repetitions("-iter 10,multiple_np") == [9, 9, 3]
    assert repetitions("-iter 10 -iter_policy auto") == [9, 9, 3]
    assert repetitions("-iter 4 -iter_policy off") == [4, 4, 4]


def test_map_and_waiting_processes(mpi, tmp_path):
    done = lab.run(mpi, 5, "-map 2x2 -iter 2 -msgsize 4 -check Allreduce Multi-PingPong", records=tmp_path)
    assert done.code == 0
    blocks = lab.tables(done.text)
    assert [(table.name, table.head[0]) for table in blocks] == [
        ("Allreduce", "# #processes = 2; rank order (rowwise): "),
        ("Allreduce", "# #processes = 4; rank order (rowwise): "),
        ("Multi-PingPong", "# ( 2 groups of 2 processes each running simultaneous ) "),
    ]
    assert blocks[0].head[-1] == "# ( 3 additional processes waiting in MPI_Barrier)"
    assert blocks[1].head[1:] == [
        "#     0    2",
        "# ",
        "#     1    3",
        "# ",
        "# ( 1 additional process waiting in MPI_Barrier)",
    ]
    assert [line for line in blocks[2].head if "Group" in line] == [
        "# Group  0:     0    2",
        "# Group  1:     1    3",
    ]


def test_tail_and_dump_file(mpi, tmp_path):
    dump = tmp_path / "dump.txt"
    done = lab.run(
        mpi,
        2,
        ["-iter", "50", "-msgsize", "8", "-show_tail", "yes", "-dumpfile", str(dump), "PingPong"],
        records=tmp_path,
    )
    assert done.code == 0
    samples = [line.split() for line in dump.read_text().splitlines()]
    assert len(samples) == 50 and {bytes_ for bytes_, _ in samples} == {"8"}
    (line,) = re.findall(r"(?m)^\[ (.*) \]$", done.text)
    values = [float(word) for word in line.split(", ")]
    assert len(values) == 12 and values == sorted(values)
    times = sorted(float(time) for _, time in samples)
    assert values[0] == pytest.approx(times[0], abs=0.006) and values[-1] == pytest.approx(
        times[-1], abs=0.006
    )
    quantiles = done.rows[0]["quantiles"]
    assert quantiles["min"] <= quantiles["p50"] <= quantiles["max"]


def test_times_of_repetitions_count_as_memory(mpi, tmp_path):
    words = "-iter 10000000 -msgsize 8 -mem 1m -show_tail on PingPong"
    done = lab.run(mpi, 2, words, records=tmp_path)
    assert done.code == 0 and done.rows == []
    assert done.records[1]["cause"] == "out_of_memory"
    assert done.records[1]["needed_bytes"] == 16 + 2 * 8 * 5242880


@pytest.mark.parametrize("cache", ["1", "2,4k", "0.1,1"])
def test_no_length_outgrows_its_buffers_off_cache(mpi, cache, tmp_path):
    words = f"-off_cache {cache} -iter 3 -msgsize 0,1,4,63,1000,65536,300000 -npmin 3 -time 60 -check -window_size 4"
    done = lab.run(mpi, 3, f"{words} {' '.join(NAMES)}", records=tmp_path)
    assert done.code == 0, done.errors
    assert {row["defects"] for row in done.rows} == {0}


def test_sizes_of_the_machine_are_read_for_off_cache(mpi, tmp_path):
    done = lab.run(mpi, 2, "-off_cache -1 -iter 3 -msgsize 64 -check -mem 4 PingPong", records=tmp_path)
    assert done.code == 0
    cache = done.records[0]["off_cache"]
    assert cache["cache_size_bytes"] > 100_000 and cache["cache_line_bytes"] in (32, 64, 128, 256)


PENDING = {
    "MPI1": (2, "-iter 3 -msgsize 8,1000 -window_size 4 Uniband Biband PingPing Exchange"),
    "MT": (2, "-repeat 3 -count 16 -threads 2 -window_size 4 UniBandMT BiBandMT"),
    "P2P": (4, "-iter 3 -msgsize 8 -window_size 4 Multi_pair Stencil2D Halo Corandom"),
    "FABRIC": (3, "-iter 3 -msgsize 8 -window_size 4"),
    "FABRIC hub": (3, "-iter 3 -msgsize 8 -window_size 4 -rounds all_to_one"),
}


@pytest.mark.parametrize("what", PENDING)
def test_pending_receives_share_no_memory(mpi, liars, what, tmp_path):
    component = what.partition(" ")[0]
    ranks, words = PENDING[what]
    log = tmp_path / "log"
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'pending_receives.cpp')}", f"FAIL_LOG={log}"]
    done = lab.run(mpi, ranks, words, component=component, records=tmp_path, wrap=wrap)
    assert done.code == 0, done.text[-2000:] + done.errors
    lines = log.read_text().splitlines()
    assert len(lines) == ranks and all(int(line.split()[-1]) > 0 for line in lines if " counted " in line)
    assert not [line for line in lines if "shares" in line]
