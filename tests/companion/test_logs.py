"""Logs of IMB, OpenIMB and OSU become records: everything that is a row, and a word on everything that is not."""

import re
import time
from pathlib import Path

import msgspec
import pytest
from companion import classic_text
from companion.door import Imb
from hypothesis import given, settings
from hypothesis import strategies as st
from imb.model.observations import key_of
from imb.model.options import PassLimits, pass_limits
from imb.model.records import (
    PARTS,
    QUANTILES,
    BenchmarkKind,
    End,
    Failure,
    Mode,
    Result,
    Run,
    read,
)
from imb.readers import columnar
from imb.readers.formats import parse
from imb.readers.imb_facts import run_of
from imb.readers.parsed_log import Log
from imb.readers.preamble import LogEvent

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "schema" / "examples"
HALO = HERE.parent / "reference" / "halo-np2.txt"  # no banner, no columns
REFERENCES = [path for path in sorted(HALO.parent.glob("*.txt")) if path != HALO]
TEXTS = [path.read_bytes() for path in REFERENCES]
ROW = re.compile(rb"^ +\d+ +[\d.]+ ", re.MULTILINE)
INVALID = re.compile(rb"!! Benchmark (\S+) is invalid for")
HEADER = re.compile(rb"#repetitions +[tM]")
TWO_20 = 2.0**20

PINGPONG = b"""
#---------------------------------------------------
# Benchmarking PingPong 
# #processes = 2 
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         3.60         0.00
            1         1000         4.58         0.21
      1048576           40       603.37      1657.34
      4194304           10      2374.49      1684.57
"""  # noqa: W291  (as IMB writes it)


def results(text: bytes) -> list[Result]:
    log = parse(text, "log")
    return [record for launch in log.launches for record in launch.records() if isinstance(record, Result)]


def failures(log: Log) -> list[Failure]:
    return [record for launch in log.launches for record in launch.records() if isinstance(record, Failure)]


@pytest.mark.parametrize("path", REFERENCES, ids=lambda path: path.stem)
def test_every_row_of_the_recorded_outputs_is_read(path: Path) -> None:
    text = path.read_bytes()
    log = parse(text, path.name)
    assert (log.problems, log.notes) == ([], [])
    invalid = INVALID.findall(text)
    assert log.counts() == (len(HEADER.findall(text)), len(ROW.findall(text)), len(invalid))
    [launch] = log.launches
    assert (launch.run.program, launch.run.version) == ("Intel MPI Benchmarks", "2021.11")
    assert launch.run.component == path.stem.partition("-")[0].upper()
    assert launch.end == End(state="complete")
    if launch.run.component == "MT":  # whose banner is a title
        assert {result.threads for result in results(text)} == {2 if "threads2" in path.stem else 1}
        assert all(result.kind for result in results(text))
        return
    assert launch.run.date and launch.run.date.startswith("2026-11-2")
    listed = {name.decode().lower() for name in invalid} | {
        result.benchmark.lower() for result in results(text)
    }
    assert listed == {name.lower() for name in launch.run.benchmarks or []}
    assert all(result.kind for result in results(text))


def test_the_recorded_outputs_have_the_rows_that_were_counted_by_hand() -> None:
    assert [log.counts()[1] for log in (parse(text, "") for text in TEXTS)] == [
        *(33, 50, 322, 81, 26, 29, 16, 10, 50, 7, 28, 28, 43, 7, 30, 32, 84, 36),
    ]


@pytest.mark.parametrize(
    "title", ["4 x 2", "graph 2 x 2 x 1", "random graph, degree 3, seed 18446744073709551615"]
)
def test_the_topology_in_a_title_is_no_name(title: str) -> None:
    text = PINGPONG.replace(b"Benchmarking PingPong", f"Benchmarking Neighbor_alltoall ({title})".encode())
    assert {row.benchmark for row in results(text)} == {"Neighbor_alltoall"}


def test_the_table_of_pairs_has_the_mean_time_and_the_grid_is_no_name() -> None:
    """In IMB-P2P t is no largest time; names that IMB-MPI1 has too are told apart by the columns."""
    text = (REFERENCES[0].parent / "p2p-np8.txt").read_bytes()
    rows = {row.benchmark: row for row in results(text)}
    row = rows["Stencil3D"]
    assert (row.processes, row.bytes, row.repetitions, row.kind) == (8, 4, 2, "parallel_transfer")
    assert row.time_avg_seconds == pytest.approx(330.01e-6) and row.time_max_seconds is None
    assert row.messages_per_second == 17000 and row.bytes_per_second == pytest.approx(0.07e6)
    for only in (text[text.index(b"# Benchmarking PingPong") :], PINGPONG):
        [launch] = parse(only, "excerpt").launches
        assert launch.run.component == ("MPI1" if only is PINGPONG else "P2P")
    [launch] = parse(text, "p2p").launches
    again = results(classic_text.text(launch.records()).encode())
    assert [row.time_avg_seconds for row in again] == [row.time_avg_seconds for row in results(text)]


LABELED = (
    HALO.read_bytes()
    + b"""# 64(x4)(bytes) out-of-mem.; needed X=   1.500 GB; use flag "-mem X"
128(x4)(bytes) 5.12(usec) 95.3674(Mb/s) 1(group) n/a(+-%) 3(defects)
[ 1.00, 2.00, 3.00, 4.00, 5.00, 6.00, 7.00, 8.00, 9.00, 10.00, 11.00, 12.00 ]

256(x4)(bytes) 5.12(usec) 2(Mb
"""
)


def test_lines_of_simple_halo() -> None:
    """Mb/s are of all messages, of which the second number is the count: so the rows tell the unit."""
    log = parse(HALO.read_bytes(), "halo")
    assert (log.problems, log.notes, log.counts()) == ([], [], (1, 4, 0))
    [launch] = log.launches
    assert (launch.run.component, launch.bytes_per_megabyte) == ("P2P", 1e6)
    rows = results(HALO.read_bytes())
    assert [row.bytes for row in rows] == [4, 8, 16, 32]
    first = rows[0]
    assert (first.benchmark, first.kind, first.multi, first.processes) == (
        "simple_halo",
        "parallel_transfer",
        "off",
        2,
    )
    assert (first.group_count, first.threads, first.line, first.repetitions) == (1, 1, 2, None)
    assert first.time_max_seconds == pytest.approx(2.61713e-6)
    assert first.bytes_per_second == pytest.approx(6.11358e6)
    again = results(classic_text.text(launch.records()).encode())  # a log has hundredths
    assert [(row.benchmark, row.bytes) for row in again] == [("simple_halo", row.bytes) for row in rows]
    assert again[0].time_max_seconds == pytest.approx(2.62e-6)
    ours = HALO.read_bytes().replace(b"6.11358", b"5.83036")
    assert parse(ours, "halo").launches[0].bytes_per_megabyte == TWO_20


def test_figures_as_wide_as_their_column_stay_apart() -> None:
    row = Result(
        benchmark="Sendrecv",
        kind="parallel_transfer",
        multi="off",
        processes=2,
        bytes=10**13,
        repetitions=10**12,
        time_min_seconds=12345.678901,
        time_max_seconds=12345.678903,
        time_avg_seconds=12345.678902,
        bytes_per_second=12345678901.0,
    )
    run = Run(component="MPI1", version="1.0", options={"mbyte": 1.0})
    (again,) = results(classic_text.text([run, row, End(state="complete")]).encode())
    assert (again.bytes, again.repetitions) == (row.bytes, row.repetitions)
    assert again.time_max_seconds == pytest.approx(row.time_max_seconds)
    assert again.bytes_per_second == pytest.approx(row.bytes_per_second)


@pytest.mark.parametrize("prefix", [b"", b"   ", b"> ", b"[1,0]<stdout>: "])
def test_what_ours_adds_to_simple_halo_and_what_is_torn(prefix: bytes) -> None:
    text = PINGPONG + LABELED + PINGPONG
    log = parse(b"".join(prefix + line for line in text.splitlines(keepends=True)), "log")
    rows = [each for launch in log.launches for each in launch.records() if isinstance(each, Result)]
    assert [row.benchmark for row in rows] == ["PingPong"] * 4 + ["simple_halo"] * 5 + ["PingPong"] * 4
    last = rows[8]
    assert (last.bytes, last.group, last.multi, last.defects) == (128, 1, "each_group", 3)
    assert last.passes and last.half_width is None
    assert last.quantiles and last.quantiles["max"] == pytest.approx(12e-6)
    [failure] = failures(log)
    assert (failure.benchmark, failure.bytes, failure.cause) == ("simple_halo", 64, "out_of_memory")
    assert failure.needed_bytes == 1.5 * 2**30 and failure.processes == 2
    [problem] = log.problems
    assert "not a row of simple_halo: '256(x4)(bytes) 5.12(usec) 2(Mb'" in str(problem)
    torn = parse(LABELED.rstrip(), "log")
    assert [each.text for each in torn.problems] == ["incomplete last row; skipped"]
    assert parse(b"about simple_halo (processes: 2)\n" + PINGPONG, "log").counts() == (1, 4, 0)
    about = PINGPONG.replace(b"\n            1 ", b"\nabout simple_halo (processes: 2)\n            1 ")
    assert about != PINGPONG and len(parse(about + LABELED, "log").problems) == len(
        parse(LABELED, "log").problems
    )
    lines = LABELED.splitlines(keepends=True)
    strange = parse(b"".join([*lines[:3], b"hello from elsewhere\n", *lines[3:]]), "log")
    assert strange.counts()[1] == parse(LABELED, "log").counts()[1]
    assert "hello" in str(strange.problems[0])


def test_values_of_a_row() -> None:
    row = results(PINGPONG)[2]
    assert row == Result(
        benchmark="PingPong",
        kind="single_transfer",
        multi="off",
        processes=2,
        group_count=1,
        bytes=1048576,
        repetitions=40,
        time_max_seconds=603.37e-6,
        bytes_per_second=1657.34 * TWO_20,
        line=6,
    )


def test_a_page_of_results_imports_as_it_stands() -> None:
    """18 tables between titles, commands and prose; the titles become labels."""
    text = (HERE / "data" / "board.rst").read_bytes()
    log = parse(text, "board.rst")
    assert log.counts() == (18, 432, 0) and not log.problems
    assert len(log.launches) == 18
    assert {launch.bytes_per_megabyte for launch in log.launches} == {TWO_20}
    labels = [launch.label for launch in log.launches]
    assert labels[0] == "Benchmarks / intranode cortex A53 socket"
    assert labels[-1] == "Reference INTEL + Mellanox / internode"
    assert log.launches[8].run.command_line == [
        "mpirun",
        "-mca",
        "btl",
        "self,vader",
        "-np",
        "2",
        "taskset",
        "-c",
        "1,2",
        "IMB-MPI1",
        "PingPong",
    ]
    assert all("skipped: Some words" in note.text or "mpi" in note.text for note in log.notes if note.text)
    assert b"".join(text[launch.start : launch.stop] for launch in log.launches) == text
    for launch in log.launches:
        again = parse(text[launch.start : launch.stop], "part")
        rows = [r for r in launch.records() if isinstance(r, Result)]
        assert [
            (r.bytes, r.bytes_per_second)
            for part in again.launches
            for r in part.records()
            if isinstance(r, Result)
        ] == [(r.bytes, r.bytes_per_second) for r in rows]


def test_indented_tables_between_prose() -> None:
    text = (HERE / "data" / "guide.rst").read_bytes()
    log = parse(text, "guide.rst")
    assert log.counts() == (2, 12, 0) and not log.problems
    [launch] = log.launches
    assert (launch.label, launch.run.component) == ("Operating a cluster / Collectives", "MPI1")
    assert launch.run.command_line == [
        "mpirun",
        "-np",
        "256",
        "IMB-MPI1",
        "-npmin",
        "256",
        "-msglen",
        "sizes.txt",
        "Bcast",
        "Reduce",
    ]
    rows = results(text)
    assert [row.benchmark for row in rows] == ["Bcast"] * 6 + ["Reduce"] * 6
    assert (rows[-1].time_min_seconds, rows[-1].time_max_seconds, rows[-1].processes) == (
        386.93e-6,
        424.22e-6,
        None,
    )


def banner(program: str) -> bytes:
    return f"#{64 * '-'}\n#    {program}, MPI-1 part\n#{64 * '-'}\n# Date                  : Sat Nov 21 07:05:53 2026\n".encode()


@pytest.mark.parametrize(
    ("program", "unit"),
    [
        ("Intel (R) MPI Benchmark Suite V3.2.2", TWO_20),
        ("Intel(R) MPI Benchmarks 4.1 Update 1", TWO_20),
        ("Intel (R) MPI Benchmarks 2018 Update 1", 1e6),
        ("Intel(R) MPI Benchmarks 2019", 1e6),
        ("Intel(R) MPI Benchmarks 2021.11", 1e6),
        ("OpenIMB 0.1.0", TWO_20),
    ],
)
def test_megabytes_are_those_of_the_version(program: str, unit: float) -> None:
    rows = results(banner(program) + PINGPONG)
    assert rows[-1].bytes_per_second == 1684.57 * unit


def test_megabytes_are_those_that_our_banner_states() -> None:
    stated = b"# Mbytes/sec                     :   1000000 bytes per second\n"
    assert results(banner("OpenIMB 0.1.0") + stated + PINGPONG)[-1].bytes_per_second == 1684.57e6


def test_megabytes_without_a_version_follow_from_length_and_time() -> None:
    assert (
        results(PINGPONG.replace(b"1684.57", b"1766.40").replace(b"1657.34", b"1737.87"))[-1].bytes_per_second
        == 1766.40e6
    )
    doubtful = parse(PINGPONG.replace(b"1684.57", b"   3.00").replace(b"1657.34", b"   2.00"), "log")
    assert "unit of Mbytes/sec" in doubtful.assumed[0].text


GROUPS = b"""
#----------------------------------------------------------------
# Benchmarking Multi-PingPong 
# ( 2 groups of 2 processes each running simultaneous ) 
# Group  0:     0    2
# 
# Group  1:     1    3
# 
#----------------------------------------------------------------
        Group       #bytes #repetitions      t[usec]   Mbytes/sec      defects

            0            0           10        96.14         0.00         0.00
            1            0           10        94.54         0.00         3.00

            0            1           10        84.08         0.01         0.00
            1            1           10       205.97         0.00         0.00

                         2 time-out.; Time limit (secs_per_sample) is over; use "-time X" or SECS_PER_SAMPLE to increase time limit.
                         4 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X" or SECS_PER_SAMPLE (IMB_settings.h) to increase time limit.
"""  # noqa: W291


def test_groups_and_defects() -> None:
    log = parse(GROUPS, "log")
    rows = results(GROUPS)
    assert not log.problems
    assert [(row.group, row.groups, row.bytes, row.defects) for row in rows] == [
        (0, [[0, 2]], 0, 0),
        (1, [[1, 3]], 0, 3),
        (0, [[0, 2]], 1, 0),
        (1, [[1, 3]], 1, 0),
    ]
    assert {(row.multi, row.processes, row.group_count) for row in rows} == {("each_group", 2, 2)}
    assert [(failure.cause, failure.bytes, failure.groups) for failure in failures(log)] == [
        ("time_out", size, [[0, 2], [1, 3]]) for size in (2, 4)
    ]


def test_failure_rows_and_what_follows_them() -> None:
    lines = PINGPONG.splitlines(keepends=True)
    memory = b'      2097152 out-of-mem.; needed X=   4.000 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)\n'
    overflow = b"      8388608 int-overflow.; The production rank*size caused int overflow for given sample\n"
    invalid = b"\n# !! Benchmark Exchange invalid for 1 processes !! \n"
    space = b'      4194304 out-of-space.; needed X=   8.000 GB, free    0.500 GB; use flag "-file PATH"\n'
    writing = b"      8388608 io-error.; rank 1: MPI_File_write_at: no such device\n"
    absent = b"\n# !! Benchmark Biband is not available: the MPI has no such call !! \n"
    text = b"".join([*lines[:-1], memory, lines[-1], overflow, space, writing, invalid, absent])
    log = parse(text, "log")
    assert log.counts() == (1, 4, 6) and not log.problems and not log.notes
    assert [(f.benchmark, f.cause, f.bytes, f.needed_bytes, f.processes) for f in failures(log)] == [
        ("PingPong", "out_of_memory", 2097152, 4 * 2**30, 2),
        ("PingPong", "int_overflow", 8388608, None, 2),
        ("PingPong", "no_space", 4194304, 8 * 2**30, 2),
        ("PingPong", "io_error", 8388608, None, 2),
        ("Exchange", "invalid_processes", None, None, 1),
        ("Biband", "unavailable", None, None, None),
    ]
    assert [f.free_bytes for f in failures(log) if f.cause == "no_space"] == [2**29]
    assert [f.detail for f in failures(log) if f.cause == "io_error"] == [
        "rank 1: MPI_File_write_at: no such device"
    ]


@pytest.mark.parametrize(("said", "threads"), [(b"", 1), (b" (threads: 4)", 4)])
def test_threads_are_read_from_the_head(said: bytes, threads: int) -> None:
    text = PINGPONG.replace(b"# #processes = 2 ", b"# #processes = 2" + said + b" ")
    assert (said in text) and {(row.processes, row.threads) for row in results(text)} == {(2, threads)}


def test_quantiles_belong_to_the_row_above() -> None:
    tail = b"[ " + b", ".join(b"%d.50" % i for i in range(12)) + b" ]\n"
    lines = PINGPONG.splitlines(keepends=True)
    text = b"".join([*lines[:7], tail, *lines[7:]])
    log = parse(text, "log")
    rows = results(text)
    assert len(rows) == 4 and not log.problems and not log.notes
    assert rows[0].quantiles == {name: (i + 0.5) / 1e6 for i, name in enumerate(QUANTILES)}
    assert [row.quantiles for row in rows[1:]] == [None] * 3


def test_show_has_quantiles(imb: Imb, tmp_path: Path) -> None:
    lines = PINGPONG.splitlines(keepends=True)
    tail = b"[ " + b", ".join(b"%d.50" % i for i in range(12)) + b" ]\n"
    (tmp_path / "tail.log").write_bytes(b"".join([*lines[:7], tail, *lines[7:]]))
    shown = imb("show", str(tmp_path / "tail.log")).out.partition("quantiles of the repetitions, µs\n")[2]
    names, row = shown.splitlines()[:2]
    assert names.split() == ["bytes", *QUANTILES]
    assert row.split()[1:3] == ["0.50", "1.50"] and row.split()[-1] == "11.50"


# Of IMB-NBC -iter 3 -msglog 3 -multi 1 -npmin 1 Iallreduce Ibarrier on a busy machine.
NOTED = b"""
#------------------------------------------------------------------------------------------
# Benchmarking Multi-Iallreduce 
# ( 2 groups of 1 processes each running simultaneous ) 
# Group  0:     0
# 
# Group  1:     1
# 
#------------------------------------------------------------------------------------------
        Group       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]

            0            0            3         3.31         1.82         1.15         0.00
            1            0            3         3.42         1.98         1.64        12.02

            0            4            3         1.32         1.98         1.14       100.00
            1            4            3         1.98         1.72         1.78        88.58

# note: 0 B, group 1: CPU load ran 87 % faster than calibrated; t_CPU and overlap of this row are unreliable
# note: 4 B, group 0: CPU load ran 187 % slower than calibrated; t_CPU and overlap of this row are unreliable

#-----------------------------------------------------------------------------
# Benchmarking Multi-Ibarrier 
# ( 2 groups of 1 processes each running simultaneous ) 
# Group  0:     0
# 
# Group  1:     1
# 
#-----------------------------------------------------------------------------
        Group #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]

            0            3         0.14         0.05         0.07         0.00
            1            3         0.31         0.06         0.25        10.53

# note: group 1: CPU load ran 40 % faster than calibrated; t_CPU and overlap of this row are unreliable

#-----------------------------------------------------------------------------
# Benchmarking Iallreduce 
# #processes = 2 
#-----------------------------------------------------------------------------
       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            0            3         8.86         6.71         4.33        50.47
            4            3        12.64         4.20         2.38         0.00

# note: 4 B: CPU load ran 90 % slower than calibrated; t_CPU and overlap of this row are unreliable

#-----------------------------------------------------------------------------
# Benchmarking Ibarrier 
# #processes = 2 
#-----------------------------------------------------------------------------
 #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]
            3         9.19         2.06         1.31         0.00

# note: CPU load ran 11 % faster than calibrated; t_CPU and overlap of this row are unreliable


# All processes entering MPI_Finalize

"""  # noqa: W291


def test_notes_on_the_load_belong_to_the_row_that_they_name() -> None:
    log = parse(NOTED, "log")
    assert not log.problems and not log.notes
    rows = results(NOTED)
    assert [(row.benchmark, row.bytes, row.group, row.load_drift) for row in rows] == [
        ("Iallreduce", 0, 0, None),
        ("Iallreduce", 0, 1, -0.87),
        ("Iallreduce", 4, 0, 1.87),
        ("Iallreduce", 4, 1, None),
        ("Ibarrier", 0, 0, None),
        ("Ibarrier", 0, 1, -0.4),
        ("Iallreduce", 0, None, None),
        ("Iallreduce", 4, None, 0.9),
        ("Ibarrier", 0, None, -0.11),
    ]
    written = classic_text.text(row for launch in log.launches for row in launch.records())
    notes = [line for line in NOTED.decode().splitlines() if line.startswith("# note: ")]
    assert [line for line in written.splitlines() if line.startswith("# note: ")] == notes
    assert written.count("\n\n# note: ") == NOTED.count(b"\n\n# note: ") == 4
    assert [row.load_drift for row in results(written.encode())] == [row.load_drift for row in rows]


def test_fewer_messages_in_flight_are_told_and_not_compared_with_more() -> None:
    """Text reads them from the note; rows with other numbers have another key."""
    run = Run(component="MPI1", options={"window_size": 256, "mem": 0.01})
    rows = [
        Result(
            benchmark="Uniband", kind="parallel_transfer", multi="each_group", processes=2, group_count=2, group=group,
            bytes=length, repetitions=10, bytes_per_second=1e6, messages_per_second=1e3, in_flight=messages,
        )
        for length, messages in ((8, None), (100000, 106))
        for group in (0, 1)
    ]  # fmt: skip
    written = classic_text.text([run, *rows])
    [note] = [line for line in written.splitlines() if line.startswith("# note")]
    assert note == "# note: 100000 B: 106 messages in flight instead of 256, which exceed -mem 0.01"
    assert not parse(written.encode(), "log").notes
    assert [row.in_flight for row in results(written.encode())] == [None, None, 106, 106]
    key = key_of(rows[-1], run)
    assert key != key_of(msgspec.structs.replace(rows[-1], in_flight=None), run)
    assert str(key) == "Uniband, 2 groups, group 1, 2 ranks, 100000 bytes, 106 in flight"


def test_notes_reach_rows_that_a_failure_row_divides() -> None:
    failure = b'      1048576 out-of-mem.; needed X=   0.004 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)\n'
    row = b"            4            3        12.64         4.20         2.38         0.00\n"
    note = b"# note: 0 B: CPU load ran 12 % faster than calibrated; t_CPU and overlap of this row are unreliable\n"
    text = NOTED.replace(row, failure + row).replace(b"# note: 4 B: CPU", note + b"# note: 4 B: CPU")
    assert not parse(text, "log").notes
    drifts = {
        row.bytes: row.load_drift for row in results(text) if row.group is None and row.kind == "collective"
    }
    assert drifts == {0: -0.12, 4: 0.9}


def test_a_note_on_a_row_that_is_not_there_is_passed_over() -> None:
    text = NOTED.replace(b"# note: 4 B: CPU", b"# note: 16 B: CPU")
    [note] = parse(text, "log").notes
    assert "skipped: # note: 16 B: CPU load" in note.text
    assert [row.load_drift for row in results(text) if row.benchmark == "Iallreduce"][-1] is None


PASSES = b"""
#    OpenIMB 0.1.0, MPI-1 part, compatible with Intel(R) MPI Benchmarks 4.0
# Mbytes/sec                     :   1048576 bytes per second
# Passes                         :   until each row is within +-0.5 % or 1 pass is done or 2.5 s have passed; figures are medians over passes

#-----------------------------------------------------------------------------
# Benchmarking PingPong 
# #processes = 2 
#-----------------------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec        +-[%]      defects
            8          892         1.90         4.00        0.49%         0.00
           16          902         2.00         8.00       12.50%         0.00
           32          900         2.10        16.00          n/a         1.00
           64 over-budget.; the budget was spent before the first sample; use flag "-budget X"

# note: 1 of 3 rows missed +-0.5 %, worst +-12.50 % (16 B): the budget was spent
# note: samples at several levels in 1 row, for example 16 B: 2.00 usec (67 %), 2.50 usec (33 %)
# note: the machine changed between 2 states: probes of 1.00 usec (88 %), 1.50 usec (10 %); figures are those of the first
# note: 1 row with too few samples in the fastest state: figures are of all samples

#----------------------------------------------------------------
# Benchmarking Barrier 
# #processes = 2 
#----------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]        +-[%]
         1000         1.00         1.50         1.25        0.31%

# 12 passes in 2.4 s, 80 % of it in timed regions


# Finished with 1 failure row
# All processes entering MPI_Finalize

"""  # noqa: W291


def test_text_of_a_launch_in_passes() -> None:
    log = parse(PASSES, "log")
    assert not log.problems and not log.notes
    [launch] = log.launches
    assert pass_limits(launch.run) == PassLimits(passes=1, precision=0.5, budget=2.5)
    rows = results(PASSES)
    assert [(row.bytes, row.half_width, row.defects) for row in rows] == [
        (8, pytest.approx(0.0049), 0),
        (16, 0.125, 0),
        (32, None, 1),
        (0, pytest.approx(0.0031), None),
    ]
    assert all(row.passes for row in rows)
    assert [(failure.cause, failure.bytes) for failure in failures(log)] == [("over_budget", 64)]
    end = launch.end
    assert end and (end.state, end.passes, end.seconds) == ("complete", 12, 2.4)
    assert end.measuring_seconds == pytest.approx(1.92)


def test_passes_of_one_launch_are_not_those_of_the_next() -> None:
    log = parse(PASSES + PINGPONG + b"\n# All processes entering MPI_Finalize\n", "log")
    assert [launch.end and launch.end.passes for launch in log.launches] == [12, None]


def test_passes_are_written_as_the_suite_writes_them() -> None:
    """The expected lines are those of tests/unit/test_report.cpp."""
    text = classic_text.text(read((EXAMPLES / "passes.jsonl").read_bytes(), "passes.jsonl").records)
    for line in (
        "# Passes                         :   until each row is within +-1 % or 5 s have passed; figures are medians over passes",
        "       #bytes #repetitions      t[usec]   Mbytes/sec        +-[%]      defects",
        "           16          500         2.00         3.81       12.50%         0.00",
        "            8          500        78.12     10240000          n/a",
        "# note: 1 of 2 rows missed +-1 %, worst +-12.50 % (16 B): the budget was spent",
        "# note: samples at several levels in 1 row, for example 16 B: 2.00 usec (67 %), 2.50 usec (33 %)",
        "# note: the machine changed between 2 states: probes of 1.00 usec (88 %), 1.50 usec (10 %),"
        " between them (2 %); rows use samples of the first",
        "# note: 1 of 1 row missed +-1 %: the budget was spent",
        '           16 over-budget.; the budget was spent before the first sample; use flag "-budget X"',
        "# 40 passes in 5.2 s, 86 % of it in timed regions",
        "# Finished with 1 failure row and 2 wrong bytes: do not trust these results\n# All processes entering MPI_Finalize",
    ):
        assert line + "\n" in text, line
    log = parse(text.encode(), "log")
    assert not log.problems and not log.notes
    assert [row.half_width for row in results(text.encode())] == [pytest.approx(0.0078), 0.125, None]


def test_rows_made_from_samples_are_named_in_the_text() -> None:
    lines = (EXAMPLES / "passes.jsonl").read_bytes().splitlines(keepends=True)
    cut = read(
        b"".join(
            line
            for line in lines
            if b'"record":"sample"' in line or line.startswith((b'{"record":"row"', b'{"record":"run"'))
        ),
        "cut",
    )
    text = classic_text.text(cut.records)
    notes = [line for line in text.splitlines() if line.startswith("# note")]
    assert notes == [
        "# note: 2 rows from the samples of a launch that was cut off: plain medians of them",
        "# note: 8 B: 200 messages in flight instead of 256, which exceed -mem 1",
        "# note: 1 row from the samples of a launch that was cut off: plain medians of them",
    ]
    assert not parse(text.encode(), "log").notes


def test_a_comment_between_regular_rows_does_not_end_the_table() -> None:
    lines = PINGPONG.splitlines(keepends=True)
    text = b"".join([*lines[:8], b"# a warning from elsewhere\n", *lines[8:]])
    log = parse(text, "log")
    assert [row.bytes for row in results(text)] == [0, 1, 1048576, 4194304] and not log.problems
    assert [(note.line, note.text) for note in log.notes] == [(9, "skipped: # a warning from elsewhere")]


def test_modes() -> None:
    rows = results(TEXTS[0])
    assert {row.mode for row in rows if row.benchmark == "Unidir_Put"} == {"aggregate", "non_aggregate"}
    assert {row.mode for row in rows if row.benchmark == "Window"} == {None}


@pytest.mark.parametrize("prefix", [b"> ", b"    ", b"\t", b"[1,0]<stdout>:", b"  | "])
def test_quoted_logs(prefix: bytes) -> None:
    quoted = b"".join(prefix + line for line in PINGPONG.splitlines(keepends=True))
    log = parse(quoted, "mail")
    assert not log.problems
    assert results(quoted) == results(PINGPONG)


def test_lines_that_end_as_on_windows() -> None:
    assert results(PINGPONG.replace(b"\n", b"\r\n")) == results(PINGPONG)


def test_numbers_that_fill_their_cells() -> None:
    row = b"   1073741824            11234567890.12      1684.57\n"
    assert results(PINGPONG + row)[-1].time_max_seconds == pytest.approx(1234.56789012)
    assert results(PINGPONG + row)[-1].repetitions == 1


def test_numbers_that_are_none() -> None:
    row = b"      8388608            5          nan          inf\n"
    last = results(PINGPONG + row)[-1]
    assert (last.bytes, last.time_max_seconds, last.bytes_per_second) == (8388608, None, None)


def test_a_torn_log_loses_only_its_torn_row() -> None:
    log = parse(PINGPONG[:-5], "log")
    assert log.counts()[1] == 3
    assert [(p.line, "incomplete" in p.text) for p in log.problems] == [(PINGPONG.count(b"\n"), True)]
    assert log.launches[0].end is None


def test_a_damaged_row_is_named_and_the_others_are_kept() -> None:
    damaged = PINGPONG.replace(b"         4.58", b"            ")
    log = parse(damaged, "log")
    assert [row.bytes for row in results(damaged)] == [0, 1048576, 4194304]
    assert [(p.file, p.line) for p in log.problems] == [("log", 8)]
    hidden = PINGPONG.replace(
        b"         4.58", b"       4. 58 "
    )  # of the same width: found when it is converted
    assert [row.bytes for row in results(hidden)] == [0, 1048576, 4194304]
    assert [p.line for p in parse(hidden, "log").problems] == [8]


def test_other_text_in_a_log_is_named() -> None:
    lines = PINGPONG.splitlines(keepends=True)
    text = b"".join([b"WARNING: no fabric\n", *lines[:8], b"node1: link is up\n", *lines[8:], b"Done.\n"])
    log = parse(text, "log")
    assert len(results(text)) == 4 and not log.problems
    assert [(note.line, note.text) for note in log.notes] == [
        (1, "skipped: WARNING: no fabric"),
        (10, "skipped: node1: link is up"),
        (13, "skipped: Done."),
    ]


def test_launches_follow_each_other_in_one_file() -> None:
    end = b"\n\n# All processes entering MPI_Finalize\n\n"
    first, second = (
        banner("Intel(R) MPI Benchmarks 4.1") + PINGPONG + end,
        banner("Intel(R) MPI Benchmarks 2021.11") + PINGPONG,
    )
    log = parse(first + second, "log")
    assert [launch.run.version for launch in log.launches] == ["4.1", "2021.11"]
    assert [(launch.start, launch.stop) for launch in log.launches] == [
        (0, len(first)),
        (len(first), len(first + second)),
    ]
    assert [launch.end is not None for launch in log.launches] == [True, False]
    assert [launch.bytes_per_megabyte for launch in log.launches] == [TWO_20, 1e6]


def test_a_table_without_a_name_is_kept_and_named() -> None:
    text = PINGPONG[PINGPONG.index(b"       #bytes") :]
    log = parse(text, "log")
    assert {row.benchmark for row in results(text)} == {"unknown"} and len(results(text)) == 4
    assert "Benchmarking NAME" in log.problems[0].text


OSU = b"""# OSU MPI Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1                       8.02
4194304             12034.11

+ mpirun -np 4 osu_allreduce -f
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       1.06              1.01              1.11        1000
8                       1.08              1.02              1.13        1000

# OSU MPI Barrier Latency Test v5.9
# Avg Latency(us)
             1.53

# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2
# [ pairs: 2 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1                       9.57        9567845.12

# OSU MPI Latency Test v7.4
# Size          Avg Latency(us)   P50 Tail Lat(us)   P99 Tail Lat(us)        Validation
8                       0.95               0.90               2.10              Pass
16                      0.97               0.90               2.30              Fail
"""


def test_output_of_osu() -> None:
    log = parse(OSU, "osu.txt")
    rows = results(OSU)
    assert not log.problems and [note.line for note in log.notes] == []
    assert [row.benchmark for row in rows] == [
        *["osu_bw"] * 2,
        *["osu_allreduce"] * 2,
        "osu_barrier",
        "osu_mbw_mr",
        *["osu_latency"] * 2,
    ]
    assert rows[1].bytes_per_second == 12034.11e6
    assert (rows[2].time_avg_seconds, rows[2].time_min_seconds, rows[2].repetitions) == (
        1.06e-6,
        1.01e-6,
        1000,
    )
    assert (rows[5].messages_per_second, rows[5].processes) == (9567845.12, 4)
    assert rows[6].quantiles == {"p50": 0.9 / 1e6, "p99": 2.1 / 1e6}
    assert [row.defects for row in rows[6:]] == [0, 1]
    assert [launch.run.version for launch in log.launches] == ["7.4", "7.4", "5.9", "5.6.2", "7.4"]
    assert b"".join(OSU[launch.start : launch.stop] for launch in log.launches) == OSU


# Layouts as in logs that people have published, of OSU's benchmarks 2.0 to 7.5; the numbers are made up.
OSU_LAYOUTS = b"""$ mpirun -np 2 -ppn 1 -m mpihosts osu_latency
# OSU MPI Latency Test (Version 2.0)
# Size Latency (us)
0 1.06
    # OSU MPI-CUDA Bandwidth Test v7.5
    # Datatype: MPI_CHAR.
    # Size      Bandwidth (MB/s)        Validation
    1                       0.91              Pass
# OSU MPI-CUDA Latency Test v4.4.1
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size          Latency (us)
0                       1.26
# OSU MPI_Put Latency Test v5.8
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size          Latency (us)
1                       0.44
# OSU MPI_Fetch_and_op latency Test v5.8
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Size          Latency (us)
8                       0.62

# OSU MPI Non-blocking All-to-All Latency Test v5.6.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
1                      11.05              6.11              5.19              3.45

# OSU MPI Non-Blocking Broadcast Latency Test v7.3
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Size      Overall(us)   Compute(us)   Coll. Init(us)   MPI_Test(us)   MPI_Wait(us)   Pure Comm.(us)   \
Min Comm.(us)   Max Comm.(us)   Overlap(%)
1   4.06   2.01   0.52   0.00   1.53   2.01   1.91   2.11   10.00
Start osu_init
# OSU MPI Init Test v7.5
nprocs: 144, min: 2030 ms, max: 2050 ms, avg: 2040 ms
[1,0]<stdout>:# OSU MPI Multiple Bandwidth / Message Rate Test v7.5.2
[1,0]<stdout>:# [ pairs: 4 ] [ window size: 64 ]
[1,0]<stdout>:# Datatype: MPI_CHAR.
[1,0]<stdout>:# Size                  MB/s        Messages/s
[1,0]<stdout>:1                       8.36        8361985.11
> # OSU MPI All-to-Allv Personalized Exchange Latency Test v5.6.3
> # Size       Avg Latency(us)
> 1                     159.35
"""


def test_layouts_of_osu() -> None:
    log = parse(OSU_LAYOUTS, "osu.txt")
    rows = results(OSU_LAYOUTS)
    assert not log.problems
    assert [row.benchmark for row in rows] == [
        "osu_latency",
        "osu_bw_cuda",
        "osu_latency_cuda",
        "osu_put_latency",
        "osu_fop_latency",
        "osu_ialltoall",
        "osu_ibcast",
        "osu_init",
        "osu_mbw_mr",
        "osu_alltoallv",
    ]
    assert [launch.run.version for launch in log.launches][:2] == ["2.0", "7.5"]
    assert log.launches[0].run.command_line == [
        "mpirun",
        "-np",
        "2",
        "-ppn",
        "1",
        "-m",
        "mpihosts",
        "osu_latency",
    ]
    types = [launch.run.option("data_type", str) for launch in log.launches]
    assert [kind for kind in types if kind] == ["char", "char"]
    assert (rows[1].bytes_per_second, rows[1].defects) == (0.91e6, 0)
    for row, overall, pure, overlap in ((rows[5], 11.05, 5.19, 3.45), (rows[6], 4.06, 2.01, 10.0)):
        assert row.time_overlapped_seconds == pytest.approx(overall * 1e-6)
        assert row.time_pure_seconds == pytest.approx(pure * 1e-6) and row.overlap_percent == overlap
    assert (rows[7].processes, rows[7].time_min_seconds, rows[7].time_max_seconds) == (144, 2.03, 2.05)
    assert rows[8].processes == 8 and rows[8].bytes_per_second == pytest.approx(8.36e6)
    assert rows[9].time_avg_seconds == pytest.approx(159.35e-6)
    # What is passed over is text and comments, never a row.
    assert not [note for note in log.notes if re.match(r"skipped: (\S+ )?\d", note.text)]


@pytest.mark.parametrize("inserted", [b"  ", b"x", b"-1", b"\n", b"# note: text\n", b"\0"])
def test_a_table_under_a_known_head_is_read_as_it_stands(inserted: bytes) -> None:
    """The second of two equal tables is found by its head; what was put into it changes its own rows only."""
    text = TEXTS[0]
    start = text.index(b"#repetitions")
    first_row = text.index(b"\n", start) + 1
    stop = text.index(b"#", first_row)
    table = text[text.rindex(b"\n\n", 0, start) + 1 : stop]
    rows = stop - first_row
    for at in (1, 13, rows // 2, rows - 3, rows - 2):
        cut = len(table) - rows + at
        changed = table[:cut] + inserted + table[cut:]
        alone = results(text[: first_row - (len(table) - rows)] + changed)
        both = results(text[: first_row - (len(table) - rows)] + table + changed)
        strip = lambda found: [msgspec.structs.replace(row, line=None) for row in found]  # noqa: E731
        whole = len(results(text[: first_row - (len(table) - rows)] + table))
        assert strip(both[whole:]) == strip(alone)


def test_tables_of_as_many_rows_with_other_lengths_keep_their_own() -> None:
    other = PINGPONG.replace(b"            1         1000", b"            2          999")
    found = results(PINGPONG + other + PINGPONG + b"\n# All processes entering MPI_Finalize\n")
    ones = [(0, 1000), (1, 1000), (1048576, 40), (4194304, 10)]
    assert [(row.bytes, row.repetitions) for row in found] == [*ones, ones[0], (2, 999), *ones[2:], *ones]


@pytest.mark.parametrize("end", [b"x\n", b"\nx", b"\n\n   x\n", b"\n   4194304\n"])
def test_what_touches_the_end_of_a_table_under_a_known_head_is_not_lost(end: bytes) -> None:
    """As under a head that is read for the first time: the same rows, and a word on the same lines."""
    damaged = PINGPONG.rstrip(b"\n") + end

    def words(log: Log) -> list[str]:
        return [re.sub(r"^.*?\d+: ", "", str(each)) for each in [*log.problems, *log.notes]]

    tail = b"#----\n"
    first, second = parse(damaged + tail, "log"), parse(PINGPONG + damaged + tail, "log")
    assert words(second) == words(first)
    assert second.counts()[1] == first.counts()[1] + 4


@pytest.mark.parametrize(
    "text",
    [*TEXTS, GROUPS, PASSES, OSU, OSU_LAYOUTS, LABELED],
    ids=[*(path.stem for path in REFERENCES), "groups", "passes", "osu", "layouts", "halo"],
)
def test_columns_and_records_say_the_same(text: bytes) -> None:
    log = parse(text, "log")
    rows = [record for launch in log.launches for record in launch.records() if isinstance(record, Result)]
    by_columns = columnar.results_of_launches(("run", launch) for launch in log.launches).to_pylist()
    by_records = columnar.results_of_records(("run", row) for row in rows).to_pylist()
    for row in by_records + by_columns:
        row.pop("groups")  # of the whole table in one, of the row in the other
    key = lambda row: (row["line"], row["bytes"], row["group_index"] or 0)  # noqa: E731
    assert sorted(by_columns, key=key) == sorted(by_records, key=key)


# --- Round trips and damage ----------------------------------------------------------------------------

hundredths = st.integers(0, 10**9).map(lambda n: n / 100)
counts = st.integers(1, 10**7)


@st.composite
def tables(draw: st.DrawFn) -> list[Result]:
    """Rows of one table, of a kind that the classic text has."""
    kinds: list[tuple[BenchmarkKind, str]] = [
        ("single_transfer", "PingPong"),
        ("parallel_transfer", "Sendrecv"),
        ("collective", "Bcast"),
        ("synchronisation", "Barrier"),
        ("collective", "Iallreduce"),
        ("parallel_transfer", "Uniband"),
        ("single_transfer", "Truly_passive_put"),
    ]
    modes: list[Mode | None] = [None, "aggregate", "non_aggregate"]
    (kind, benchmark), mode = draw(st.sampled_from(kinds)), draw(st.sampled_from(modes))
    processes, defects, tail = draw(counts), draw(st.booleans()), draw(st.booleans())
    in_passes = draw(st.booleans())
    threads = draw(st.integers(1, 64))
    rows = []
    for length in sorted(draw(st.sets(st.integers(0, 2**40), min_size=1, max_size=6))):
        times = [draw(hundredths) * 1e-6 for _ in range(4)]
        row = Result(
            benchmark=benchmark,
            kind=kind,
            mode=mode,
            multi="off",
            processes=processes,
            threads=threads,
            group_count=1,
            bytes=0 if kind == "synchronisation" else length,
            repetitions=draw(counts),
        )
        if benchmark == "Iallreduce":
            row.time_overlapped_seconds, row.time_pure_seconds, row.time_cpu_seconds = times[:3]
            row.overlap_percent = draw(st.integers(0, 10000)) / 100
        elif benchmark == "Truly_passive_put":
            row.time_max_seconds, row.time_overlapped_seconds = times[:2]
        elif benchmark != "Uniband":
            row.time_max_seconds = times[0]
            if kind != "single_transfer":
                row.time_min_seconds, row.time_avg_seconds = times[1:3]
        if benchmark in ("PingPong", "Sendrecv", "Uniband"):
            row.bytes_per_second = draw(hundredths) * TWO_20
        if benchmark == "Uniband":
            row.messages_per_second = float(draw(st.integers(0, 10**9)))
        row.defects = draw(st.integers(0, 10**6)) if defects else None
        if in_passes:
            row.half_width = draw(st.none() | st.integers(0, 10**6).map(lambda n: n / 10000))
        row.quantiles = {name: draw(hundredths) * 1e-6 for name in QUANTILES} if tail else None
        rows.append(row)
    return rows


@settings(max_examples=60)
@given(st.lists(tables(), min_size=1, max_size=4))
def test_records_to_text_to_records(made: list[list[Result]]) -> None:
    rows = [row for table in made for row in table]
    run = Run(program="OpenIMB", version="0.1.0", component=None, options={"mbyte": TWO_20})
    text = classic_text.text([run, *rows, End(state="complete")])
    log = parse(text.encode(), "log")
    assert not log.problems and not log.notes
    read = [record for launch in log.launches for record in launch.records()]
    assert isinstance(read[-1], End) and isinstance(read[0], Run) and read[0].version == "0.1.0"
    back = [record for record in read if isinstance(record, Result)]
    assert len(back) == len(rows)
    for was, now in zip(rows, back, strict=True):
        now.line = None
        assert now.half_width == (was.half_width and pytest.approx(was.half_width, rel=1e-9))
        now.passes = was.passes if now.passes else None
        for name in was.__struct_fields__:
            old, new = getattr(was, name), getattr(now, name)
            assert new == (
                pytest.approx(old, rel=1e-9, abs=1e-15) if isinstance(old, float | dict) else old
            ), name


@pytest.mark.parametrize("text", TEXTS, ids=[path.stem for path in REFERENCES])
def test_text_to_records_to_text_to_records(text: bytes) -> None:
    first = [record for launch in parse(text, "").launches for record in launch.records()]
    again = classic_text.text(first).encode()
    keep = (
        "benchmark",
        "mode",
        "processes",
        "group_count",
        "group",
        "bytes",
        "repetitions",
        "time_max_seconds",
    )
    values = [[tuple(getattr(row, name) for name in keep) for row in results(each)] for each in (text, again)]
    assert values[0] == values[1]


@st.composite
def damaged_logs(draw: st.DrawFn) -> bytes:
    """A real log with pieces cut out, doubled, moved, overwritten with junk, or cut short."""
    text = bytearray(draw(st.sampled_from([*TEXTS, OSU, GROUPS, LABELED])))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 200)))
        match draw(st.integers(0, 4)):
            case 0:
                del text[at:end]
            case 1:
                text[at:at] = text[at:end]
            case 2:
                text[at:end] = draw(st.binary(max_size=40))
            case 3:
                text[at:at] = draw(
                    st.sampled_from(
                        [
                            b"\n",
                            b"\r\n",
                            b"\r",
                            b" ",
                            b"#",
                            b"9" * 30,
                            b"nan",
                            b"-1",
                            b"\xff\x00",
                            b"1e999",
                            b"#repetitions",
                            b"[",
                        ]
                    )
                )
            case _:
                del text[end:]
    return bytes(text)


@settings(max_examples=300)
@given(damaged_logs())
@pytest.mark.slow
def test_no_damage_breaks_the_importer(text: bytes) -> None:
    log = parse(text, "log")
    lines = text.count(b"\n") + 1
    assert all(0 <= problem.line <= lines for problem in [*log.problems, *log.notes])
    read = [record for launch in log.launches for record in launch.records()]
    assert sum(isinstance(record, Result) for record in read) == log.counts()[1] <= lines
    assert (
        columnar.results_of_launches(("run", launch) for launch in log.launches).num_rows == log.counts()[1]
    )
    assert b"".join(text[launch.start : launch.stop] for launch in log.launches) in (text, b"")
    classic_text.text(read)


@settings(max_examples=100)
@given(st.data())
def test_nothing_is_silently_dropped(data: st.DataObject) -> None:
    """Where one character of a row becomes another, the row is read, or its line is named."""
    text = bytearray(data.draw(st.sampled_from(TEXTS)))
    rows = [match.start() for match in ROW.finditer(bytes(text))]
    row = data.draw(st.sampled_from(rows))
    stop = text.index(b"\n", row)
    at = data.draw(st.integers(row, stop - 1))
    text[at] = data.draw(st.sampled_from(b" .,x-/7"))
    line = text.count(b"\n", 0, row) + 1
    log = parse(bytes(text), "log")
    named = any(problem.line == line for problem in [*log.problems, *log.notes])
    failed = log.counts()[2] - len(INVALID.findall(text))
    assert log.counts()[1] + failed == len(rows) or (named and log.counts()[1] == len(rows) - 1)


@settings(max_examples=200)
@given(st.binary(max_size=500))
def test_any_bytes_are_read_without_a_crash(junk: bytes) -> None:
    parse(junk, "junk")
    parse(b"#bytes #repetitions t[usec] Mbytes/sec\n" + junk, "junk")
    parse(b"# OSU MPI Latency Test v7\n# Size Latency (us)\n" + junk, "junk")


HEADER_ROW = b"#bytes #repetitions t[usec]\n"
HOSTILE = {
    "one line without an end": b"a=" * 100_000,
    "long assignments": (b"a=" * 2000 + b"\n") * 50,
    "headers alone": HEADER_ROW * 8000,
    "quoted headers alone": (b"x " + HEADER_ROW) * 8000,
    "blank lines": HEADER_ROW + b"\n" * 200_000,
    "comments": b"#\n" * 100_000,
    "rows of other tables": HEADER_ROW + b"1 2\n" * 50_000,
    "overlines": b"====\nab\n====\n" * 15_000,
    "a group of everything": b"# Benchmarking X\n# Group 1: "
    + b"1 " * 100_000
    + b"\n"
    + HEADER_ROW
    + b" 1 2 3.00\n",
    "a command without an end": b"mpirun a \\\n" * 20_000,
    "failures": b"# !! Benchmark X invalid for 3 processes !!\n" * 5000,
    "banners": b"#  Intel(R) MPI Benchmarks 2021, MPI-1 part\n" * 5000,
    "a number without an end": HEADER_ROW + b"9" * 200_000 + b" time-out\n",
    "an open bracket": HEADER_ROW + b" 1 2 3\n" + b"[" * 200_000,
    "rows of OSU": b"# OSU MPI Latency Test v7\n# Size Latency (us)\n" + b"1 2\n" * 40_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.slow
def test_hostile_files_take_no_longer_than_others(name: str) -> None:
    """Seconds for 0.2 MB; what is quadratic takes minutes."""
    start = time.process_time()
    log = parse(HOSTILE[name], "hostile")
    assert time.process_time() - start < 5
    assert len(log.problems) <= 1001 and len(log.notes) <= 1001


@pytest.mark.parametrize("component", PARTS)
def test_the_command_has_the_component(component: str) -> None:
    run = run_of([LogEvent("command", 0, f"mpirun -np 2 ./IMB-{component} PingPong")])
    assert run.component == component
