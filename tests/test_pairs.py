"""IMB-P2P: every benchmark on 1 to 8 ranks, its figures, random partners, options; and a lying MPI."""

import re

import lab
import pytest

NAMES = lab.names("P2P")
HALOS = {"Halo", "simple_halo"}
STENCILS = {"Stencil2D": 2, "Stencil3D": 3}
PAIRS = {"PingPong", "PingPing", "Unirandom", "Birandom", "Multi_pair"}
WINDOW = 4
MODES = {
    "standard": "",
    "off_cache": "-off_cache 0.5,64",
    "tail": "-show_tail yes",
    "passes": "-passes 2",
    "multi1": "-npmin 2 -multi 1",
}


def is_valid(name: str, ranks: int) -> bool:
    """A grid of that many dimensions, each of two processes or more."""
    if name in STENCILS:
        return (ranks, STENCILS[name]) in {(4, 2), (6, 2), (8, 2), (8, 3)}
    return name in HALOS or ranks > 1


def messages(name: str, ranks: int) -> float:
    """Of all processes in the time shown."""
    pairs = ranks // 2
    return {
        "PingPong": pairs,  # half of the round trip
        "PingPing": 2 * pairs,
        "Unirandom": pairs,
        "Birandom": 2 * pairs,
        "Corandom": ranks,
        "Stencil2D": 4 * ranks,
        "Stencil3D": 6 * ranks,
        "SendRecv_Replace": ranks,
        "Halo": 6 * ranks,
        "simple_halo": 6 * ranks,
        "Multi_pair": WINDOW * pairs,
    }[name]


def p2p(mpi: lab.Mpi, ranks: int, words: str, **how) -> lab.Launch:
    return lab.run(mpi, ranks, words, component="P2P", **how)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("mode", MODES)
def test_every_benchmark_is_complete_and_correct(mpi, mode, ranks, tmp_path):
    if mode != "standard" and ranks not in (2, 4):
        pytest.skip("the same loops on 2 and 4 ranks say it all; oversubscribed ranks are slow")
    sizes = [0, 72] if ranks < 5 else [72]
    few = f"-iter 4 -msgsize {','.join(map(str, sizes))} -window_size {WINDOW} -check -time 60"
    done = p2p(mpi, ranks, f"{few} {MODES[mode]} {' '.join(NAMES)}", records=tmp_path)
    valid = [name for name in NAMES if is_valid(name, ranks)]
    assert done.code == (0 if valid == NAMES else 3), done.text[-3000:] + done.errors[-3000:]
    failed = [record for record in done.records if record["record"] == "failure"]
    assert {(each["benchmark"], each["cause"]) for each in failed} == {
        (name, "invalid_processes") for name in NAMES if name not in valid
    }
    got = [(row["benchmark"], row["bytes"]) for row in done.rows if row["processes"] == ranks]
    assert got == [(name, size) for name in valid for size in sizes]
    for row in done.rows:
        assert row["defects"] == 0
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        rate = messages(row["benchmark"], row["processes"]) / row["time_max_seconds"]
        assert row["messages_per_second"] == pytest.approx(rate)
        assert row["bytes_per_second"] == pytest.approx(rate * row["bytes"])
    if mode == "standard":
        cells = [line for table in lab.tables(done.text) for line in table.rows]
        in_tables = [row for row in done.rows if row["benchmark"] != "simple_halo"]
        for row, line in zip(in_tables, cells, strict=True):
            assert float(line[2]) == pytest.approx(row["time_avg_seconds"] * 1e6, abs=0.0051)
            assert float(line[4]) == pytest.approx(row["messages_per_second"], abs=0.51)


def test_the_default_list_is_complete_where_there_is_no_grid(mpi):
    """As the recorded program: stated, and no failure of a launch that did not name them."""
    done = p2p(mpi, 2, "-iter 2 -msglog 1")
    assert done.code == 0 and not done.own_errors
    for name in STENCILS:
        assert f"\n# !! Benchmark {name} is invalid for 2 processes !!\n" in done.text
    assert "All processes entering MPI_Finalize" in done.text
    assert not re.search(r" \n", done.text)
    named = p2p(mpi, 2, "-iter 2 -msglog 1 Stencil2D PingPong")
    assert named.code == 3 and "1 row failed: " in named.own_errors[0]


def test_all_processes_take_part_unless_asked_for_less(mpi, tmp_path):
    done = p2p(mpi, 4, "-iter 2 -msgsize 8 Stencil2D Birandom", records=tmp_path)
    assert [(row["benchmark"], row["processes"]) for row in done.rows] == [("Stencil2D", 4), ("Birandom", 4)]
    assert [table.name for table in lab.tables(done.text)] == ["Stencil2D (2 x 2)", "Birandom"]
    fewer = p2p(mpi, 4, "-npmin 2 -iter 2 -msgsize 8 Stencil2D Birandom", records=tmp_path)
    assert [(row["benchmark"], row["processes"]) for row in fewer.rows] == [
        ("Stencil2D", 4),
        ("Birandom", 2),
        ("Birandom", 4),
    ]


@pytest.mark.parametrize(
    ("halo", "ranks", "title", "neighbors"),
    [
        ("1", 2, "2", 2),
        ("1,corners", 3, "3, corners", 2),
        ("2", 3, "1 x 3", 4),
        ("2,corners", 4, "2 x 2, corners", 8),
        ("3,faces", 2, "1 x 1 x 2", 6),
        ("3,corners", 4, "1 x 2 x 2, corners", 26),
        ("4,corners", 2, "1 x 1 x 1 x 2, corners", 80),
    ],
)
def test_halo_of_any_dimensions(mpi, halo, ranks, title, neighbors, tmp_path):
    words = f"-check -iter 3 -msgsize 0,72 -halo {halo} Halo"
    done = p2p(mpi, ranks, words, records=tmp_path)
    assert done.code == 0, done.text + done.errors
    assert [table.name for table in lab.tables(done.text)] == [f"Halo ({title})"]
    for row in done.rows:
        assert row["defects"] == 0
        assert row["messages_per_second"] == pytest.approx(ranks * neighbors / row["time_max_seconds"])
    assert done.records[0]["options"]["halo"] == halo.removesuffix(",faces")


RECORDED_HALO = (lab.TOP / "tests" / "reference" / "halo-np2.txt").read_text()
LABELED = re.compile(r"(?m)^(\d+)\(x(\d+)\)\(bytes\) (\S+)\(usec\) (\S+)\(Mb/s\)((?: \S+)*)$")


def test_rates_of_halo_are_those_of_simple_halo(mpi, tmp_path):
    recorded = LABELED.findall(RECORDED_HALO)
    assert len(recorded) == 4
    for length, messages, time, rate, _ in recorded:
        assert float(rate) == pytest.approx(int(messages) * int(length) / float(time), rel=1e-5)
    lengths = ",".join(length for length, *_ in recorded)
    words = f"-halo 1 -msgsize {lengths} -mbyte 1e6 -iter 100 Halo simple_halo"
    done = p2p(mpi, 2, words, records=tmp_path)
    lines = LABELED.findall(done.text)
    assert len(done.rows) == 8 and len(lines) == 4
    for row in done.rows:
        assert row["bytes_per_second"] == pytest.approx(4 * row["bytes"] / row["time_max_seconds"])
    for row, (length, messages, time, rate, more) in zip(done.rows[4:], lines, strict=True):
        assert (row["benchmark"], row["bytes"], messages, more) == ("simple_halo", int(length), "4", "")
        assert time == f"{row['time_max_seconds'] * 1e6:g}"
        assert rate == f"{row['bytes_per_second'] / 1e6:g}"


def test_lines_of_simple_halo_state_what_is_asked_for(mpi, tmp_path):
    words = "-halo 2,corners -msgsize 8,1m -iter 3 -mem 10m -npmin 2 -multi 1 -check -passes 2 simple_halo"
    done = p2p(mpi, 5, words, records=tmp_path)
    assert done.code == 0, done.errors
    heads = re.findall(r"(?m)^# Benchmarking .*\n# .*", done.text)
    title = "simple_halo (processes: {}; threads: 1; dimensions: 2; corners)"
    assert heads == [
        f"# Benchmarking Multi-{title.format(2)}\n# ( 2 groups of 2 processes each running simultaneous )",
        f"# Benchmarking {title.format(4)}\n# ( 1 additional process waiting in MPI_Barrier)",
    ]
    behind = [re.sub(r"\S+\(", "(", more) for *_, more in LABELED.findall(done.text)]
    assert set(behind) == {" (group) (+-%) (defects)"} and len(behind) == len(done.rows)
    failures = re.findall(r"(?m)^# 1048576\(x(\d+)\)\(bytes\) out-of-mem\.; needed X=", done.text)
    assert failures == ["16", "32", "40"]


def test_options_without_effect_are_refused(mpi):
    for option, benchmark in (("-halo 2", "Halo"), ("-pairs 1", "Multi_pair"), ("-seed 2", "Unirandom")):
        refused = p2p(mpi, 2, f"{option} PingPong")
        name = option.split()[0]
        assert (refused.code, refused.own_errors) == (
            2,
            [f"IMB-P2P: {name}: no effect on the selected benchmarks; leave it out, or add {benchmark}"],
        )


@pytest.mark.parametrize("types", ["-data_type double", "-contig_type resize", "-contig_type resize_vec"])
def test_every_data_type_arrives_unharmed(mpi, types, tmp_path):
    names = [name for name in NAMES if is_valid(name, 4)]
    done = p2p(mpi, 4, f"-iter 3 -msgsize 200 {types} -check {' '.join(names)}", records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}


def test_so_many_pairs_as_asked_for(mpi, tmp_path):
    words = f"-check -iter 3 -msgsize 72 -window_size {WINDOW} Multi_pair"
    for pairs, option in ((1, "-pairs 1"), (2, "-pairs 2"), (2, "")):
        done = p2p(mpi, 5, f"{words} {option}", records=tmp_path)
        [row] = done.rows
        assert done.code == 0 and row["defects"] == 0
        assert row["messages_per_second"] == pytest.approx(pairs * WINDOW / row["time_max_seconds"])
        assert f"\n# pairs = {pairs}\n# window_size = {WINDOW}\n#---" in done.text


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
@pytest.mark.parametrize("ranks", [4, 8])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, ranks, tmp_path):
    """The rank that lies is in the second half, which receives in Multi_pair."""
    names = [name for name in NAMES if is_valid(name, ranks)] if ranks == 4 else ["Stencil3D"]
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_mpi.cpp')}", f"LIE_RANK={ranks // 2}", f"LIE_HOW={how}"]
    words = f"-check -iter 8 -msgsize 64 -window_size {WINDOW} {' '.join(names)}"
    lied = p2p(mpi, ranks, words, records=tmp_path, wrap=wrap)
    assert lied.code == (0 if how == "none" else 4)
    caught = {row["benchmark"] for row in lied.rows if row["defects"] > 0}
    assert caught == (set() if how == "none" else set(names))


def test_lengths_add_up_and_pauses_are_taken(mpi, tmp_path):
    """As command lines of IMB-P2P have them."""
    words = "-msgsz 12 -msgsz 1k -msgsz 0 -iter 3,1 -msgwr off -msgrd false -pause 200000 PingPong"
    done = p2p(mpi, 2, words, records=tmp_path)
    assert done.code == 0 and not done.own_errors
    assert [row["bytes"] for row in done.rows] == [12, 1024, 0]
    assert done.records[0]["options"]["pause"] == 200000
    warned = p2p(mpi, 2, "-msgsz 8 -iter 2 -msgwr on -msgrd 1 PingPong")
    assert [line.partition(": ")[2] for line in warned.own_errors] == [
        "warning: -msgwr on: no effect; buffers are written before a table, not before each message",
        "warning: -msgrd on: no effect; buffers are not read after each message",
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("-seed -1", '"-1" is below the minimum, 0'),
        ("-seed x", '"x" is not a whole number'),
        ("-halo 0", '"0" is below the minimum, 1'),
        ("-halo 6", '"6" is above the maximum, 5'),
        ("-halo 2,edges", '"edges" is neither faces nor corners'),
        ("-halo 2,faces,corners", "has too many parts"),
        ("-pairs 0", '"0" is below the minimum, 1'),
        ("-pairs 2", "-pairs 2: 2 ranks make 1 pair"),
        ("-pause -1", '"-1" is below the minimum, 0'),
        ("-pause 5 -passes 2", "-pause and -passes cannot be combined"),
        ("-msgsz 4 -msgsize 8", "-msgsize and -msgsz cannot be combined"),
        ("-msgwr maybe", '"maybe" is neither on nor off'),
    ],
)
def test_bad_options_are_refused_in_one_line(mpi, words, why):
    refused = p2p(mpi, 2, f"{words} PingPong")
    assert refused.code == 2 and not refused.text
    [line] = refused.own_errors
    assert why in line


@pytest.mark.parametrize("option", ["-halo 2", "-pairs 1", "-msgwr off", "-msgrd off"])
def test_other_components_refuse_what_only_this_one_has(mpi, option):
    refused = lab.run(mpi, 1, f"{option} Barrier")
    assert refused.code == 2
    assert refused.own_errors == [
        f"IMB-MPI1: {option.split()[0]}: IMB-MPI1 has no benchmark that uses it; leave it out, or run IMB-P2P"
    ]
