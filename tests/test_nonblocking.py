"""IMB-NBC: every benchmark in every mode, on 1 to 5 ranks, under every MPI of the lab; overlap; and a lying MPI."""

import re

import lab
import pytest

NAMES = lab.names("NBC")
OVERLAP = [name for name in NAMES if not name.endswith("_pure")]
OFF_BY_DEFAULT = set(lab.names("NBC", default=False))
OVERLAP_FIELDS = {
    "time_overlapped_seconds",
    "time_pure_seconds",
    "time_cpu_seconds",
    "overlap_percent",
    "load_drift",
}

MODES = {
    "standard": "",
    "multi0": "-multi 0 -progress 3",
    "multi1": "-multi 1",
    "off_cache": "-off_cache 0.5,64",
    "sync": "-sync on -imb_barrier on",
    "tail": "-show_tail yes -multi 1",
    "in_place": "-in_place on",
}


def process_counts(ranks: int) -> list[int]:
    counts, count = [], min(2, ranks)
    while count < ranks:
        counts.append(count)
        count *= 2
    return [*counts, ranks]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, tmp_path):
    if (mode != "standard" and ranks in (1, 5)) or (mode != "multi1" and ranks == 4):
        pytest.skip("the same loops on 2, 3 and 5 ranks say it all; oversubscribed ranks are slow")
    repetitions, sizes = lab.effort(ranks, mode, 4)
    few = f"-iter {repetitions} -msgsize {','.join(map(str, sizes))} -check -time 60 {lab.SHORT_LOAD}"
    names = lab.right_names(mpi, "NBC")
    words = f"{few} {MODES[mode]} {' '.join(names)}"
    done = lab.run(mpi, ranks, words, component="NBC", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    points = [
        (name, count, size)
        for name in names
        for count in process_counts(ranks)
        for size in ([0] if name.startswith("Ibarrier") else sizes)
    ]
    assert lab.identities(done.rows) == lab.rows_of(points, ranks, words)
    for row in done.rows:
        assert row["defects"] == 0
        assert row["repetitions"] == repetitions
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        assert OVERLAP_FIELDS & row.keys() == (
            set() if row["benchmark"].endswith("_pure") else OVERLAP_FIELDS
        )
    text_rows = sum(len(table.rows) for table in lab.tables(done.text))
    assert text_rows == len(done.rows)
    assert "All processes entering MPI_Finalize" in done.text


def test_pure_flavors_run_when_asked_for(mpi):
    done = lab.run(mpi, 1, "-list", component="NBC")
    listed = re.findall(r"(?m)^  (\S+)(.*)$", done.text)
    assert [name for name, _ in listed] == NAMES
    standard = [name for name in OVERLAP if name not in OFF_BY_DEFAULT]
    assert [name for name, rest in listed if "off by default" not in rest] == standard
    included = lab.run(
        mpi, 2, "-iter 2 -msglog 2 -include Ibcast_pure -exclude " + ",".join(standard[1:]), component="NBC"
    )
    assert [table.name for table in lab.tables(included.text)] == ["Ibcast", "Ibcast_pure"]


def test_overlap_follows_from_the_times_beside_it(mpi, tmp_path):
    words = "-iter 50 -msgsize 8,65536 -time 60 Ialltoall Iallreduce Ibarrier"
    done = lab.run(mpi, 2, words, component="NBC", records=tmp_path)
    assert done.code == 0
    for row in done.rows:
        pure, cpu, both = (row[f"time_{name}_seconds"] for name in ("pure", "cpu", "overlapped"))
        shorter = min(pure, cpu)
        hidden = max(0.0, min(1.0, (pure + cpu - both) / shorter))
        assert row["overlap_percent"] == pytest.approx(100 * hidden)
        assert row["time_min_seconds"] <= pure <= row["time_max_seconds"]
        # It was computed: for some such time as communication takes, and inside the repetition.
        assert 0 < cpu < both
    cells = [row for table in lab.tables(done.text) for row in table.rows]
    for row, line in zip(done.rows, cells, strict=True):
        told = [float(cell) for cell in line[-4:]]
        meant = [1e6 * row[f"time_{name}_seconds"] for name in ("overlapped", "pure", "cpu")]
        assert told == pytest.approx([*meant, row["overlap_percent"]], abs=0.0051)


def test_progress_is_made_inside_the_load(mpi, tmp_path):
    done = lab.run(
        mpi, 2, "-iter 20 -msgsize 1m -progress 20 -check Iallreduce", component="NBC", records=tmp_path
    )
    assert done.code == 0 and done.records[0]["options"]["progress"] == 20
    refused = lab.run(mpi, 2, "-progress -1 Iallreduce", component="NBC")
    assert refused.code == 2 and "-progress" in refused.own_errors[0]


def caught(done: lab.Launch) -> set[str]:
    return {row["benchmark"] for row in done.rows if row["defects"] > 0}


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    names = lab.right_names(mpi, "NBC")
    arguments = f"-check -iter 4 -msgsize 64 -npmin 3 {lab.SHORT_LOAD} {' '.join(names)}"
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=1", f"LIE_HOW={how}"]
    lied = lab.run(mpi, 3, arguments, component="NBC", records=tmp_path, wrap=wrap)
    assert lied.code == (0 if how == "none" else 4)
    fooled = set() if how == "none" else {name for name in names if not name.startswith("Ibarrier")}
    assert caught(lied) == fooled


@pytest.mark.parametrize(
    "types", ["-data_type double -red_data_type int", "-contig_type resize", "-contig_type base_vec"]
)
def test_every_data_type_arrives_unharmed(mpi, types, tmp_path):
    names = lab.right_names(mpi, "NBC")
    words = f"-iter 3 -msgsize 0,200 {types} -check {lab.SHORT_LOAD} {' '.join(names)}"
    done = lab.run(mpi, 2, words, component="NBC", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}
