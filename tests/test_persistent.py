"""IMB-MPI4: every benchmark in every mode, on 1 to 5 ranks, under every MPI of the lab; and a lying MPI."""

import re

import lab
import pytest
from test_nonblocking import OVERLAP_FIELDS, process_counts

NAMES = lab.names("MPI4")

TRANSFERS = ["Sendrecv_persist", "Exchange_persist"]
PAIRS = ["Partitioned_PingPong", "Partitioned_overlap"]
CREATION = ["Comm_create", "Comm_split", "Session_init"]
AT_ROOT = [f"{name}_persist{flavor}" for name in ("Gather", "Gatherv", "Reduce") for flavor in ("", "_pure")]
WITHOUT_LENGTH = ["Barrier_persist", "Barrier_persist_pure", *CREATION]

MODES = {
    "standard": "",
    "multi0": "-multi 0 -progress 3",
    "multi1": "-multi 1",
    "off_cache": "-off_cache 0.05,64",
    "sync": "-sync on -imb_barrier on",
    "tail": "-show_tail yes -multi 1",
    "in_place": "-in_place on",
}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, tmp_path):
    if (mode != "standard" and ranks in (1, 5)) or (mode != "multi1" and ranks == 4):
        pytest.skip("the same loops on 2, 3 and 5 ranks say it all; oversubscribed ranks are slow")
    repetitions, sizes = lab.effort(ranks, mode, 4)
    few = f"-iter {repetitions} -msgsize {','.join(map(str, sizes))} -check -time 60 {lab.SHORT_LOAD}"
    names = [name for name in lab.right_names(mpi, "MPI4") if ranks > 1 or name not in PAIRS]
    words = f"{few} {MODES[mode]} {' '.join(names)}"
    done = lab.run(mpi, ranks, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    points = [
        (name, count, size)
        for name in names
        for count in (process_counts(ranks) if name not in PAIRS else [2])
        for size in ([0] if name in WITHOUT_LENGTH else sizes)
    ]
    assert lab.identities(done.rows) == lab.rows_of(points, ranks, words)
    for row in done.rows:
        assert row["defects"] == 0
        assert row["repetitions"] == repetitions
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        late = row["benchmark"] == "Partitioned_overlap"
        overlaps = late or (row["benchmark"].endswith("_persist") and row["benchmark"] not in TRANSFERS)
        assert OVERLAP_FIELDS & row.keys() == (OVERLAP_FIELDS if overlaps else set())
        assert ("early_bird_share" in row) == late
    text_rows = sum(len(table.rows) for table in lab.tables(done.text))
    assert text_rows == len(done.rows)


# Requests for each place of the buffers, and bytes of a request on 2 ranks: docs/definitions.md, "Requests and -mem".
REQUESTS = {"Sendrecv_persist": 2 * 850, "Bcast_persist": 1600 + 2 * 500 + 2}


def test_requests_of_off_cache_count_toward_the_memory_limit(mpi, liars, tmp_path):
    """Of 8 MiB of cache: a row says what it needs, and with so much memory it stays below."""
    from test_failures import Injector, peaks

    words = "-off_cache 8,64 -msgsize 1 -warm_up off -time 60"
    done = lab.run(mpi, 2, f"{words} -mem 0.01 {' '.join(REQUESTS)}", component="MPI4", records=tmp_path)
    assert done.code == 0 and not done.rows, done.text
    places = -(-(16 << 20) // 192)
    needed = {line["benchmark"]: line["needed_bytes"] for line in done.records if line["record"] == "failure"}
    assert needed.keys() == REQUESTS.keys()
    assert needed["Sendrecv_persist"] == 2 * ((places - 1) * 192 + 1) + places * REQUESTS["Sendrecv_persist"]
    assert needed["Bcast_persist"] == (places - 1) * 192 + 1 + places * REQUESTS["Bcast_persist"]
    injector = Injector(mpi, "MPI4", liars(mpi, "peak_memory.cpp"), tmp_path)
    least = peaks(injector.baseline("-iter 1 Barrier_persist_pure"))[0][0]
    for name in REQUESTS:
        most = peaks(injector.baseline(f"{words} -iter 1 {name}"))[0][0]
        assert (most - least) << 10 < needed[name], (name, most, least)


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    names = lab.right_names(mpi, "MPI4")
    arguments = f"-check -iter 4 -msgsize 64 -npmin 3 {lab.SHORT_LOAD} {' '.join(names)}"
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=1", f"LIE_HOW={how}"]
    lied = lab.run(mpi, 3, arguments, component="MPI4", records=tmp_path, wrap=wrap)
    assert lied.code == (0 if how == "none" else 4), lied.text[-2000:] + lied.errors[-2000:]
    # A persistent collective has one root, rank 0, and rank 1 receives nothing from it.
    unseen = {*WITHOUT_LENGTH, *AT_ROOT}
    fooled = set() if how == "none" else {name for name in names if name not in unseen}
    assert {row["benchmark"] for row in lied.rows if row["defects"] > 0} == fooled


def test_messages_have_as_many_parts_as_divide_them(mpi, liars, tmp_path):
    """Counted by the marks, of which a repetition has one for each part."""
    if "Partitioned_PingPong" not in lab.right_names(mpi, "MPI4"):
        refused = lab.run(mpi, 2, "Partitioned_PingPong", component="MPI4")
        assert refused.code == 3 and "hangs in partitioned communication" in refused.text
        return
    library = liars(mpi, "counting_parts.cpp")
    for partitions, bytes_, parts in (
        (8, 64, 8),
        (8, 12, 6),
        (8, 7, 7),
        (8, 1, 1),
        (8, 0, 1),
        (3, 64, 2),
        (1, 64, 1),
    ):
        words = f"-iter 5 -iter_policy off -warm_up off -msgsize {bytes_} -partitions {partitions} Partitioned_PingPong"
        done = lab.run(mpi, 2, words, component="MPI4", wrap=["env", f"LD_PRELOAD={library}"])
        assert done.code == 0, done.errors
        marked = re.findall(r"parts: (\d+) of (\d+) starts", done.errors)
        assert [(int(marks) / int(starts)) for marks, starts in marked] == [parts, parts], done.errors


@pytest.mark.parametrize(
    ("words", "message"),
    [("-partitions 0 Comm_split", "-partitions"), ("-partitions x Comm_split", "-partitions")],
)
def test_wrong_partitions_are_refused(mpi, words, message):
    refused = lab.run(mpi, 1, words, component="MPI4")
    assert refused.code == 2 and message in refused.own_errors[0]
    refused = lab.run(mpi, 1, "-partitions 4 PingPong")
    assert refused.code == 2 and "run IMB-MPI4" in refused.own_errors[0]


@pytest.mark.parametrize("how", ["flip", "drop", "late"])
def test_check_finds_a_lying_root(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    names = [name for name in lab.right_names(mpi, "MPI4") if name in AT_ROOT]
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=0", f"LIE_HOW={how}"]
    words = f"-check -iter 4 -msgsize 64 -npmin 3 {lab.SHORT_LOAD} {' '.join(names)}"
    lied = lab.run(mpi, 3, words, component="MPI4", records=tmp_path, wrap=wrap)
    assert lied.code == 4
    assert {row["benchmark"] for row in lied.rows if row["defects"] > 0} == set(names)


@pytest.mark.parametrize(
    "types", ["-data_type double -red_data_type int", "-contig_type resize", "-contig_type base_vec"]
)
def test_every_data_type_arrives_unharmed(mpi, types, tmp_path):
    words = f"-iter 3 -msgsize 0,200 {types} -check {lab.SHORT_LOAD} {' '.join(lab.right_names(mpi, 'MPI4'))}"
    done = lab.run(mpi, 2, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}
