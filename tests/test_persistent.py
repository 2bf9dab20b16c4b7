"""IMB-MPI4: every benchmark in every mode, on 1 to 5 ranks, under every MPI of the lab; and a lying MPI."""

import re

import lab
import pytest
from test_nonblocking import OVERLAP_FIELDS, process_counts

NAMES = lab.names("MPI4")

TRANSFERS = ["Sendrecv_persist", "Exchange_persist"]
CREATION = ["Comm_create", "Comm_split", "Session_init"]
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


def available(mpi: lab.Mpi) -> list[str]:
    """Of an MPI without MPI 4.0's calls what is left."""
    done = lab.run(mpi, 1, "-list", component="MPI4")
    return [name for name in NAMES if not re.search(rf"(?m)^  {name} .*this MPI", done.text)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(any_mpi, mode, ranks, tmp_path):
    if any_mpi not in lab.MAIN and (mode != "multi1" or ranks > 2):
        pytest.skip("the modes differ on our side of MPI")
    if (mode != "standard" and ranks in (1, 5)) or (mode != "multi1" and ranks == 4):
        pytest.skip("the same loops on 2, 3 and 5 ranks say it all; oversubscribed ranks are slow")
    repetitions, sizes = lab.effort(ranks, mode, 4)
    few = f"-iter {repetitions} -msgsize {','.join(map(str, sizes))} -check -time 60"
    names = available(any_mpi)
    words = f"{few} {MODES[mode]} {' '.join(names)}"
    done = lab.run(any_mpi, ranks, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    multi = re.findall(r"-multi (\d)", words)
    wanted = []
    for name in names:
        for count in process_counts(ranks):
            groups = ranks // count if multi else 1
            for size in [0] if name in WITHOUT_LENGTH else sizes:
                each = range(groups) if multi == ["1"] else [None]
                wanted += [(name, count, size, group) for group in each]
    got = [(row["benchmark"], row["processes"], row["bytes"], row["group"]) for row in done.rows]
    assert got == wanted
    for row in done.rows:
        assert row["defects"] == 0
        assert row["repetitions"] == repetitions
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        overlaps = row["benchmark"].endswith("_persist") and row["benchmark"] not in TRANSFERS
        assert OVERLAP_FIELDS & row.keys() == (OVERLAP_FIELDS if overlaps else set())
    text_rows = sum(len(table.rows) for table in lab.tables(done.text))
    assert text_rows == len(done.rows)


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    arguments = f"-check -iter 4 -msgsize 64 -npmin 3 {' '.join(NAMES)}"
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=1", f"LIE_HOW={how}"]
    lied = lab.run(mpi, 3, arguments, component="MPI4", records=tmp_path, wrap=wrap)
    assert lied.code == (0 if how == "none" else 4), lied.text[-2000:] + lied.errors[-2000:]
    # A persistent collective has one root, rank 0, and rank 1 receives nothing from it.
    at_root = {
        f"{name}_persist{flavor}" for name in ("Gather", "Gatherv", "Reduce") for flavor in ("", "_pure")
    }
    unseen = {*WITHOUT_LENGTH, *at_root}
    fooled = set() if how == "none" else {name for name in NAMES if name not in unseen}
    assert {row["benchmark"] for row in lied.rows if row["defects"] > 0} == fooled


@pytest.mark.parametrize("how", ["flip", "drop"])
def test_check_finds_a_lying_root(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    names = ["Gather_persist", "Gatherv_persist_pure", "Reduce_persist"]
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=0", f"LIE_HOW={how}"]
    words = f"-check -iter 4 -msgsize 64 -npmin 3 {' '.join(names)}"
    lied = lab.run(mpi, 3, words, component="MPI4", records=tmp_path, wrap=wrap)
    assert lied.code == 4
    assert {row["benchmark"] for row in lied.rows if row["defects"] > 0} == set(names)


@pytest.mark.parametrize(
    "types", ["-data_type double -red_data_type int", "-contig_type resize", "-contig_type base_vec"]
)
def test_every_data_type_arrives_unharmed(mpi, types, tmp_path):
    words = f"-iter 3 -msgsize 0,200 {types} -check {' '.join(NAMES)}"
    done = lab.run(mpi, 2, words, component="MPI4", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}
