"""IMB-IO: every benchmark in every mode, on 1 to 5 ranks, under every MPI of the lab; its files; and an MPI that lies."""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

import lab
import pytest

NAMES = lab.names("IO")  # in the order of the recorded outputs
SINGLE = [name for name in NAMES if name.startswith("S_")]
MANY = [name for name in NAMES if name not in SINGLE]
# Each way to find a place, alone and collective, with a shape of call of its own.
ONE_OF_EACH = [
    "P_Write_Indv",
    "P_IWrite_Shared",
    "C_Write_Expl",
    "P_Read_Priv",
    "C_IRead_Shared",
    "Open_Close",
]
WRITES_THROUGH_SHARED = {name for name in NAMES if "Write_Shared" in name}
SHARED = {name for name in NAMES if name.endswith("_Shared")}
OVERLAP_FIELDS = {
    "time_overlapped_seconds",
    "time_pure_seconds",
    "time_cpu_seconds",
    "overlap_percent",
    "load_drift",
}
TARGET = 0.0005
QUICK = f"-time 60 -set TARGET_CPU_SECS={TARGET}"
FEW = f"-iter 3,1,2 -check {QUICK}"

MODES = {
    "standard": "",
    "multi0": "-multi 0",
    "multi1": "-multi 1",
    "cached": "-off_cache 0.5,64 -fsync never -reorder 1",
    "tail": "-show_tail yes -sync on",
}


def io(mpi: lab.Mpi, ranks: int, words: str, folder: Path, wrap: list[str] | None = None) -> lab.Launch:
    """A launch that keeps its files, and its records, in `folder`."""
    return lab.run(mpi, ranks, words, component="IO", records=folder, folder=folder, wrap=wrap)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "IMB_out" in path.name)


def is_nonblocking(name: str) -> bool:
    return "_IWrite_" in name or "_IRead_" in name


def modes_of(name: str) -> list[str | None]:
    if name == "Open_Close":
        return [None]
    if is_nonblocking(name):
        return ["non_aggregate"]
    return ["aggregate"] if "_Read_" in name else ["aggregate", "non_aggregate"]


def process_counts(name: str, ranks: int, least: int = 1) -> list[int]:
    if name in SINGLE:
        return [1]
    counts, count = [], least
    while count < ranks:
        counts.append(count)
        count *= 2
    return [*counts, ranks]


def says_nothing_new(mpi: lab.Mpi, mode: str, ranks: int) -> str:
    if mpi.flavor == "mpich" and ranks == 3 and mode != "standard":
        return "MPICH spins with more ranks than cores: up to seconds per row"
    wanted = {
        1: ["standard"],
        2: list(MODES),
        3: ["standard", "cached"],  # shares that differ
        4: ["multi1"],  # groups of one and of two
        5: ["standard"],
    }
    return "" if mode in wanted[ranks] else "the same loops on 2 ranks say it all"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, tmp_path):
    if why := says_nothing_new(mpi, mode, ranks):
        pytest.skip(why)
    # 7 bytes: of 2 to 5 ranks each has some, and not all as many.
    lengths = [0, 7] if ranks == 2 and mode == "standard" else [7]
    crowded = mpi.flavor == "mpich" and ranks > 2
    least = 2 if ranks == 4 else ranks if crowded else 2 if ranks > 4 else 1
    names = NAMES
    if crowded:
        names = MANY if ranks == 3 else ONE_OF_EACH
    words = f"{FEW} {MODES[mode]} -npmin {least} -msgsize {','.join(map(str, lengths))} {' '.join(names)}"
    done = io(mpi, ranks, words, tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]

    points = [
        (name, count, transfers, size)
        for name in names
        for count in process_counts(name, ranks, least)
        for transfers in modes_of(name)
        for size in ([0] if name == "Open_Close" else lengths)
    ]
    assert lab.identities(done.rows, lab.POINT_IN_MODE) == lab.rows_of(points, ranks, words)
    for row in done.rows:
        name = row["benchmark"]
        assert row["defects"] == 0, name
        assert row["repetitions"] == (3 if row["mode"] == "aggregate" else 2), name
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        assert OVERLAP_FIELDS & row.keys() == (OVERLAP_FIELDS if is_nonblocking(name) else set()), name
        assert ("bytes_per_second" in row) == (name != "Open_Close" and not is_nonblocking(name)), name
        assert ("quantiles" in row) == (mode == "tail")
    for failed in (record for record in done.records if record["record"] == "failure"):
        pytest.fail(str(failed))
    check_text(done, ranks)
    assert left_in(tmp_path) == []


# With -multi 0 times are those of several groups, so that even of single processes they have extremes.
def check_text(done: lab.Launch, ranks: int) -> None:
    """One table for every benchmark, process count and mode, of its kind, with as many rows as the records."""
    wanted: dict[tuple[str, int, str | None], int] = {}
    for row in done.rows:
        key = (row["benchmark"], row["processes"], row["mode"])
        wanted[key] = wanted.get(key, 0) + 1
    found = lab.tables(done.text)
    assert [(table.name.removeprefix("Multi-"), len(table.rows)) for table in found] == [
        (name, rows) for (name, _, _), rows in wanted.items()
    ]
    told = re.findall(r"(?m)^#    MODE: (.*\S)", done.text)
    assert told == [
        {"aggregate": "AGGREGATE", "non_aggregate": "NON-AGGREGATE"}[m] for _, _, m in wanted if m
    ]
    for table, (name, count, _) in zip(found, wanted, strict=True):
        group_column = ["Group"] if table.columns[0] == "Group" else []
        columns = ["#bytes"] if name != "Open_Close" else []
        columns.append("#repetitions")
        if is_nonblocking(name):
            columns += ["t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]"]
        elif name in SINGLE and (group_column or not table.name.startswith("Multi-")):
            columns += ["t[usec]", "Mbytes/sec"]
        else:
            columns += ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]
            columns += ["Mbytes/sec"] if name != "Open_Close" else []
        assert table.columns == [*group_column, *columns, "defects"], table.name
        if count < ranks and not table.name.startswith("Multi-"):
            assert any("waiting in MPI_Barrier" in line for line in table.head)
    assert "All processes entering MPI_Finalize" in done.text


def test_list_and_order_are_those_of_the_recorded_output(mpi, tmp_path):
    recorded = (lab.TOP / "tests" / "reference" / "io-np2.txt").read_text()
    listed = recorded.partition("# List of Benchmarks to run:")[2].partition("# For nonblocking")[0]
    assert re.findall(r"(?m)^# (\w+)", listed) == NAMES
    ours = lab.run(mpi, 1, "-list", component="IO", folder=tmp_path)
    assert ours.code == 0 and re.findall(r"(?m)^  (\S+)", ours.text) == NAMES
    assert "off by default" not in ours.text
    run = io(mpi, 1, f"-iter 1,1,1 -msgsize 1 {QUICK}", tmp_path)
    assert run.code == 0 and run.records[0]["benchmarks"] == NAMES
    assert list(dict.fromkeys(row["benchmark"] for row in run.rows)) == NAMES


def test_standard_settings_are_those_of_the_guide(mpi, tmp_path):
    done = io(mpi, 1, "-msgsize 1 S_Read_Indv S_IRead_Indv S_Write_Indv -fsync never Open_Close", tmp_path)
    assert done.code == 0
    options = done.records[0]["options"]
    assert options["iter"] == "50,16,10" and options["msglog"] == "0:24"
    assert options["set"][:2] == ["N_BARR=2", "TARGET_CPU_SECS=0.1"]
    assert options["fsync"] == "never" and options["reorder"] == 0 and options["npmin"] == 1
    found = [(row["benchmark"], row["mode"], row["repetitions"]) for row in done.rows]
    assert found == [
        ("S_Read_Indv", "aggregate", 50),
        ("S_IRead_Indv", "non_aggregate", 10),
        ("S_Write_Indv", "aggregate", 50),
        ("S_Write_Indv", "non_aggregate", 10),
        ("Open_Close", None, 10),
    ]
    assert done.records[0]["file"]["path"] == str(tmp_path / "IMB_out")
    # The load's speed is said before anything is measured.
    assert done.records[0]["load_flops_per_second"] > 0
    assert re.search(r"# performance of +\d+\.\d\d MFlops", done.text)


def test_repetitions_are_those_of_the_guide(mpi, tmp_path):
    """MSGSPERSAMPLE of what is completed at the end, MSGS_NONAGGR of what is completed each time; not more than
    OVERALL_VOL bytes."""
    names = "P_Write_Indv P_IWrite_Expl C_Write_Shared C_Read_Expl P_IRead_Priv Open_Close"
    words = f"-iter 40,1,7 -msgsize 0,131072,262144,2097152 -npmin 2 -fsync never {QUICK} {names}"
    done = io(mpi, 2, words, tmp_path)
    assert done.code == 0
    found: dict[tuple[str, str | None], list[int]] = {}
    for row in done.rows:
        found.setdefault((row["benchmark"], row["mode"]), []).append(row["repetitions"])
    many, few = [40, 8, 4, 1], [7, 7, 4, 1]
    assert found == {
        ("P_Write_Indv", "aggregate"): many,
        ("P_Write_Indv", "non_aggregate"): few,
        ("P_IWrite_Expl", "non_aggregate"): few,
        ("C_Write_Shared", "aggregate"): many,
        ("C_Write_Shared", "non_aggregate"): few,
        ("C_Read_Expl", "aggregate"): many,
        ("P_IRead_Priv", "non_aggregate"): few,
        ("Open_Close", None): [7],
    }


def test_throughput_counts_the_whole_portion_once(mpi, tmp_path):
    """All processes together move the length, also with files of their own."""
    names = "S_Write_Expl P_Write_Indv P_Write_Priv P_Read_Priv C_Write_Shared C_Read_Expl"
    done = io(mpi, 2, f"-iter 5,16,3 -msgsize 65539 {QUICK} {names} Open_Close", tmp_path)
    assert done.code == 0
    assert {row["processes"] for row in done.rows} == {1, 2}
    for row in done.rows:
        if row["benchmark"] == "Open_Close":
            assert "bytes_per_second" not in row
        else:
            assert row["bytes_per_second"] == pytest.approx(65539 / row["time_max_seconds"])


def test_overlap_follows_from_the_times_beside_it(mpi, tmp_path):
    names = " ".join(name for name in NAMES if is_nonblocking(name))
    target = 0.01
    words = f"-iter 5,1,3 -msgsize 65536 -npmin 2 -fsync never -time 60 -set TARGET_CPU_SECS={target}"
    done = io(mpi, 2, f"{words} {names}", tmp_path)
    assert done.code == 0 and len(done.rows) == 18
    for row in done.rows:
        pure, cpu, both = (row[f"time_{name}_seconds"] for name in ("pure", "cpu", "overlapped"))
        hidden = max(0.0, min(1.0, (pure + cpu - both) / min(pure, cpu)))
        assert row["overlap_percent"] == pytest.approx(100 * hidden)
        assert row["time_min_seconds"] <= pure <= row["time_max_seconds"]
        # The load is not what the transfer took, but what was asked for, in whole columns of the matrix.
        assert cpu == pytest.approx(target, rel=1e-3)
        # It was computed, unless the speed was found out while others used the processor, which is told.
        assert both > target / 2 or abs(row["load_drift"]) > 0.3
    cells = [row for table in lab.tables(done.text) for row in table.rows]
    for row, line in zip(done.rows, cells, strict=True):
        told = [float(cell) for cell in line[-4:]]
        meant = [1e6 * row[f"time_{name}_seconds"] for name in ("overlapped", "pure", "cpu")]
        assert told == pytest.approx([*meant, row["overlap_percent"]], abs=0.0051)


def test_a_load_that_takes_too_long_is_a_row(mpi, tmp_path):
    words = "-iter 3,1,2 -msgsize 8 -npmin 2 -time 0.1 -set TARGET_CPU_SECS=0.15"
    done = io(mpi, 2, f"{words} -fsync never P_IWrite_Priv P_Read_Priv S_IRead_Expl", tmp_path)
    assert done.code == 0
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(record["benchmark"], record["cause"]) for record in failures] == [
        ("P_IWrite_Priv", "time_out"),
        ("S_IRead_Expl", "time_out"),
    ]
    assert all(record["seconds_per_repetition"] > 0.15 for record in failures)
    assert [row["benchmark"] for row in done.rows] == ["P_Read_Priv"]
    assert left_in(tmp_path) == []
    # With time for one of two repetitions.
    done = io(mpi, 2, f"{words.replace('-time 0.1', '-time 0.25')} -fsync never P_IWrite_Priv", tmp_path)
    assert done.code == 0 and [row["repetitions"] for row in done.rows] == [1]


ONE = f"-iter 2,1,1 -msgsize 64 -npmin 2 -check {QUICK} P_Write_Indv"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Of all files and folders in there, but for the records."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.name != "records.jsonl"
    }


@pytest.mark.parametrize(
    ("asked", "is_at"),
    [
        ("below", "below/IMB_out"),
        (".", "IMB_out"),
        ("{here}/below", "below/IMB_out"),
        ("{here}/mine", "mine"),
        ("below/../below/mine.dat", "below/mine.dat"),
    ],
)
def test_files_are_where_they_were_asked_to_be(mpi, asked, is_at, tmp_path):
    (tmp_path / "below").mkdir()
    before = contents(tmp_path)
    done = io(mpi, 2, f"-file {asked.format(here=tmp_path)} {ONE}", tmp_path)
    assert done.code == 0, done.errors
    assert done.records[0]["file"]["path"] == str(tmp_path / is_at)
    assert re.search(rf"# File +: +{re.escape(str(tmp_path / is_at))}\b", done.text)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("asked", "there", "says"),
    [
        ("mine/IMB_out", "other", "no such folder"),
        ("mine/IMB_out", "mine", "not a folder"),
        ("no/such/folder/file", "other", "no such folder"),
    ],
)
def test_a_folder_that_does_not_exist_is_refused(mpi, asked, there, says, tmp_path):
    (tmp_path / there).write_text("a thesis")
    before = contents(tmp_path)
    done = io(mpi, 2, f"-file {asked} {ONE}", tmp_path)
    assert done.code == 2 and len(done.own_errors) == 1, done.errors
    assert "-file" in done.own_errors[0] and says in done.own_errors[0]
    assert "Benchmarking" not in done.text and not (tmp_path / "records.jsonl").exists()
    assert contents(tmp_path) == before


@pytest.mark.needs_mpi
@pytest.mark.parametrize("output", ["standard output", "standard error"])
def test_what_a_shell_redirects_is_not_overwritten(output, tmp_path):
    """Of a process without a launcher, which has the file itself."""
    mpi = lab.MAIN[0]
    with (tmp_path / "log").open("w") as file:
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        streams["stdout" if output == "standard output" else "stderr"] = file
        done = subprocess.run(
            [mpi.program("MPI1"), "-iter", "1", "-npmin", "1", "-json", "./log", "Barrier"],
            env=lab.environment(mpi),
            cwd=tmp_path,
            text=True,
            check=False,
            **streams,
        )
    kept = (tmp_path / "log").read_text()
    assert done.returncode == 2
    says = f"IMB-MPI1: -json and {output} are the same file"
    assert says in (done.stderr if output == "standard output" else kept)


@pytest.mark.parametrize("asked", ["below", "below/IMB_out", "below/mine"])
def test_what_a_user_has_is_not_touched(mpi, asked, tmp_path):
    """A file, a link to one, and records have the names that `-file` gives."""
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "thesis").write_text("long")
    for name in ("IMB_out", "IMB_out_0", "IMB_out_g0", "IMB_out.shfp.3", "mine", "mine_0", "IMB_out.txt"):
        (below / name).write_text("a thesis")
    for name in ("IMB_out_1", "mine_1"):
        (below / name).symlink_to(tmp_path / "thesis")
    before = contents(tmp_path)
    done = lab.run(mpi, 2, f"-file {asked} -json below/IMB_out_7 {ONE}", component="IO", folder=tmp_path)
    assert done.code == 0, done.errors
    assert (below / "IMB_out_7").read_text().splitlines()[-1].startswith('{"record":"end"')
    (below / "IMB_out_7").unlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("S_IWrite_Indv", {"IMB_out"}),
        ("-npmin 2 P_IWrite_Indv C_IRead_Expl", {"IMB_out"}),
        ("-npmin 2 P_IRead_Priv", {"IMB_out_0", "IMB_out_1"}),
        ("-multi 0 S_IRead_Expl", {"IMB_out_g0", "IMB_out_g1"}),
        ("-multi 1 P_IWrite_Expl", {"IMB_out_g0", "IMB_out_g1", "IMB_out"}),
        ("-multi 0 P_IWrite_Priv", {"IMB_out_g0_0", "IMB_out_g1_0", "IMB_out_0", "IMB_out_1"}),
        ("-file mine -multi 0 P_IWrite_Priv", {"mine_g0_0", "mine_g1_0", "mine_0", "mine_1"}),
    ],
)
def test_files_are_called_what_the_guide_calls_them(mpi, words, names, tmp_path):
    seen = names_while_running(mpi, 2, words, tmp_path)
    assert seen == names


def test_ranks_of_groups_have_files_of_their_own(mpi, tmp_path):
    if mpi.flavor == "mpich":
        pytest.skip("MPICH spins with more ranks than cores")
    seen = names_while_running(mpi, 4, "-multi 0 -npmin 2 P_IWrite_Priv", tmp_path)
    groups = {f"IMB_out_g{group}_{rank}" for group in range(2) for rank in range(2)}
    assert seen == groups | {f"IMB_out_{rank}" for rank in range(4)}


def names_while_running(mpi: lab.Mpi, ranks: int, words: str, folder: Path) -> set[str]:
    """Of all files that were ever seen, without what is unique to the launch. A load of 0.05 s in each of four repetitions keeps them there."""
    load = "-iter 4,1,4 -msgsize 64 -time 60 -fsync never -set TARGET_CPU_SECS=0.05"
    process = lab.start(mpi, ranks, f"{load} {words}".split(), component="IO", folder=folder)
    seen: set[str] = set()
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        # Open MPI tries a lock with a file that is gone at once.
        seen |= {path.name for path in folder.iterdir() if ".locktest." not in path.name}
        time.sleep(0.01)
    assert lab.finish(process).code == 0
    assert not any(folder.iterdir())
    launches = {re.sub(r".*?\.(.*-\d+-\d+)(_.*)?", r"\1", name) for name in seen}
    assert len(launches) == 1
    return {name.replace("." + next(iter(launches)), "") for name in seen}


def test_hints_reach_the_file_and_are_told(mpi, tmp_path):
    words = f"-info cb_buffer_size=3145728 -info some_key=a=b -info cb_buffer_size=1048576 {ONE} P_Read_Priv Open_Close"
    done = io(mpi, 2, words, tmp_path)
    assert done.code == 0, done.errors
    assert done.records[0]["options"]["info"] == ["cb_buffer_size=1048576", "some_key=a=b"]
    for row in done.rows:
        if row["benchmark"] == "Open_Close":
            assert "hints" not in row  # it closes its file before anybody could ask
        else:
            # What the file was opened with, as MPI tells it.
            assert row["hints"]["cb_buffer_size"] == "1048576"
    plain = io(mpi, 2, ONE, tmp_path)
    assert all(row.get("hints", {}).get("cb_buffer_size") != "1048576" for row in plain.rows)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("-fsync sometimes", "standard, never"),
        ("-reorder -1", "-reorder"),
        ("S_Writ_Indv", "did you mean S_Write_Indv?"),
        ("PingPong", "it is in IMB-MPI1"),
    ],
)
def test_mistakes_are_told(mpi, words, says, tmp_path):
    done = lab.run(mpi, 1, words, component="IO", folder=tmp_path)
    assert done.code == 2 and len(done.own_errors) == 1 and says in done.own_errors[0]
    assert not any(tmp_path.iterdir())


def test_aggregate_mode_chooses_tables(mpi, tmp_path):
    for asked in ("aggregate", "non_aggregate"):
        words = f"-aggregate_mode {asked} {ONE} S_IWrite_Indv S_Read_Indv"
        done = io(mpi, 2, words, tmp_path)
        # What has one mode only runs in it.
        assert [(row["benchmark"], row["mode"]) for row in done.rows] == [
            ("P_Write_Indv", asked),
            ("S_IWrite_Indv", "non_aggregate"),
            ("S_Read_Indv", "aggregate"),
        ]


Point = tuple[str, str | None]


def defective(done: lab.Launch) -> set[Point]:
    return {(row["benchmark"], row["mode"]) for row in done.rows if row["defects"] > 0}


def failed(done: lab.Launch) -> set[Point]:
    records = [record for record in done.records if record["record"] == "failure"]
    assert {record["cause"] for record in records} <= {"io_error"}
    return {(record["benchmark"], record["mode"]) for record in records}


@pytest.mark.parametrize("how", ["none", "drop", "shift", "flip", "twice", "lost"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, how, ranks, liars, tmp_path):
    """On one rank those that run on one; on two, of which the last one lies, all others."""
    if how == "twice" and ranks == 1:
        pytest.skip("one process has no shared pointer")
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_files.cpp')}", f"LIE_HOW={how}"]
    names = SINGLE if ranks == 1 else MANY
    words = f"-iter 3,1,2 -msgsize 101 -npmin {ranks} -check {QUICK} -fsync never {' '.join(names)}"
    done = io(mpi, ranks, words, tmp_path, wrap)
    every = {(name, mode) for name in names for mode in modes_of(name)}
    missed: set[Point] = set()
    without_words: set[Point] = (
        set()
    )  # what is not a count of wrong bytes, but a file that is not as it should
    if how == "none":
        missed = every
    if how == "twice":
        missed = {point for point in every if point[0] not in SHARED}
    if how == "drop":
        # The first write of several: the file is as long as it should be, but through a shared pointer.
        without_words = {point for point in every if point[0] in WRITES_THROUGH_SHARED}
    if how == "lost":
        without_words = every
    assert failed(done) == without_words, done.text[-3000:]
    assert defective(done) == every - missed - without_words
    assert {(row["benchmark"], row["mode"]) for row in done.rows} == every - without_words
    assert done.code == (4 if defective(done) else 3 if without_words else 0)
    assert done.records[-1]["defects"] == sum(row["defects"] for row in done.rows)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("mode", ["-multi 1", "-off_cache 0.1,64 -reorder 1", "-show_tail yes -sync on"])
def test_check_finds_a_lying_mpi_in_every_mode(mpi, mode, liars, tmp_path):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_files.cpp')}", "LIE_HOW=flip"]
    names = NAMES if mode == "-multi 1" else MANY
    least = 1 if mode == "-multi 1" else 2
    words = f"-iter 3,1,2 -msgsize 101 -npmin {least} -check {QUICK} -fsync never {mode} {' '.join(names)}"
    done = io(mpi, 2, words, tmp_path, wrap)
    assert done.code == 4
    assert defective(done) == {(name, transfers) for name in names for transfers in modes_of(name)}
    if mode == "-multi 1":
        # Rank 1 lies: of two groups of one process the second.
        assert {row["group"] for row in done.rows if row["group_count"] == 2 and row["defects"] > 0} == {1}
