"""How a launch ends: signals near the end, exceptions on one rank, output that cannot be written."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest
from test_faults import ranks_of, records_in


def wait_for(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not get going"
        time.sleep(0.005)


@pytest.mark.alone
@pytest.mark.parametrize("rank", [0, 1])
def test_a_stop_between_rows_ends_in_order_although_finalize_is_slow(mpi, liars, rank, tmp_path):
    """The timer that ends a stuck run must not go off once the session has ended. Rows of some 20 ms let it end in time;
    on a crowded machine one may take longer, hence three attempts."""
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'slow_finalize.cpp')}"]
    lengths = ",".join(map(str, range(8, 2008, 2)))
    codes = []
    for attempt in range(3):
        records = tmp_path / f"records-{attempt}.jsonl"
        words = f"-iter 100000000,100000000 -time 0.01 -msgsize {lengths} -json {records} PingPong"
        launch = lab.start(mpi, 2, words.split(), wrap)
        wait_for(lambda file=records: file.exists() and file.read_text().count('"result"') > 3)
        os.kill(ranks_of(launch.pid, mpi.program())[rank], signal.SIGTERM)
        codes.append(lab.finish(launch, 60).code)
        ends = [record for record in records_in(records) if record["record"] == "end"]
        assert [end["state"] for end in ends] == ["interrupted"]
        if codes[-1] == 3:
            return
    pytest.fail(f"exit statuses {codes}")


@pytest.mark.parametrize(
    ("component", "words"),
    [("RMA", "-check -iter 2 -msglog 12:13 Unidir_put"), ("IO", "-check -iter 2,1,2 P_Read_Expl")],
)
@pytest.mark.parametrize("failing", [1, 8, 14])
@pytest.mark.parametrize("rank", [0, 1])
def test_an_exception_on_one_rank_aborts_the_job_with_one_line(
    mpi, liars, component, words, failing, rank, tmp_path
):
    records = tmp_path / "records.jsonl"
    library = liars(mpi, "failing_allocation.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", "OOM_MIN=256", f"OOM_RANK={rank}", f"OOM_K={failing}"]
    start = time.monotonic()
    launch = lab.start(mpi, 2, [*words.split(), "-json", str(records)], wrap, component, tmp_path)
    done = lab.finish(launch, 20)
    assert time.monotonic() - start < 5
    assert done.code == 5, done.errors
    (line,) = done.own_errors  # without a rank before MPI_Init, with what was under way in a table
    where = r"(\w+, (1 process|2 processes)(, \d+ B)?: )?"
    assert re.fullmatch(rf"IMB-{component}: (rank {rank}: )?{where}out of memory; the run is aborted", line)
    kept = records_in(records) if records.exists() else []
    if len(kept) > 1 or (kept and rank == 0):
        assert (kept[-1]["record"], kept[-1]["state"]) == ("end", "aborted")
        assert kept[-1]["reason"].endswith("out of memory")
        assert kept[-1]["reason"] in line


@pytest.mark.parametrize("option", ["-list", "-help", "-version", "-help iter"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_text_that_cannot_be_printed_is_an_error(mpi, option, where):
    done = subprocess.run(
        ["bash", "-c", f"{mpi.program()} {option} {where}"],
        env=lab.environment(mpi), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    why = "No space left on device" if "full" in where else "Bad file descriptor"
    assert done.returncode == 3
    lines = [line for line in done.stderr.splitlines() if line.startswith("IMB")]
    assert lines == [f"IMB-MPI1: cannot write standard output: {why}"]


def test_rows_beyond_a_limit_are_results_and_one_line_at_the_end(mpi):
    """As IMB's: the status is that of success, and the footer follows. -strict on makes them failures."""
    words = "-npmin 2 -iter 1 -mem 1k -msgsize 8,4096,8192 Sendrecv"
    for strict, code in (("", 0), ("-strict on", 3), ("-strict off", 0)):
        done = lab.run(mpi, 2, f"{strict} {words}")
        assert done.code == code, done.errors
        assert done.text.endswith(
            "\n\n# Finished with 2 failure rows\n# All processes entering MPI_Finalize\n\n"
        )
    (line,) = done.own_errors
    assert line == (
        "IMB-MPI1: 2 rows beyond a limit, the first: Sendrecv, 2 processes, 4096 B: out of memory: "
        "above the limit set by -mem (0.001 GB needed); give more memory with -mem, "
        "or run smaller messages (-msglog) or fewer ranks"
    )
    assert lab.run(mpi, 2, "-npmin 2 -iter 1 Barrier").own_errors == []


def test_a_benchmark_that_cannot_run_is_one_line_at_the_end(mpi):
    done = lab.run(mpi, 1, "-iter 1 -msgsize 8 PingPong")
    assert done.code == 3
    assert done.own_errors == [
        "IMB-MPI1: 1 row failed: PingPong, 1 process: invalid processes: needs at least 2 ranks; "
        "launch more ranks"
    ]


def test_a_thread_level_that_is_not_granted_is_a_warning(mpi, liars):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'single_thread_mpi.cpp')}"]
    done = lab.run(mpi, 2, "-thread_level multiple -iter 1 Barrier", wrap=wrap)
    warning = "IMB-MPI1: warning: asked for MPI_THREAD_MULTIPLE, MPI granted MPI_THREAD_SINGLE"
    assert done.code == 0 and done.own_errors == [warning]
    done = lab.run(mpi, 2, "-iter 1 Barrier", wrap=wrap)
    assert done.code == 0 and done.own_errors == []


@pytest.fixture
def tiny_disk(tmp_path) -> Iterator[Path]:
    """A file system of 8 KiB: a record does not fit into what is left."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("option", ["-json", "-dumpfile"])
def test_every_line_is_whole_when_the_disk_fills_up(mpi, option, tiny_disk):
    file = tiny_disk / "lines"
    done = lab.run(mpi, 2, f"-iter 100 {option} {file} PingPong PingPing Sendrecv -msglog 10")
    assert done.code == 3
    assert done.own_errors == [f'IMB-MPI1: cannot write "{file}": No space left on device']
    lines = file.read_text().splitlines(keepends=True)
    assert sum(map(len, lines)) > 6000 and lines[-1].endswith("\n")
    if option == "-json":
        assert json.loads(lines[0])["record"] == "run" and json.loads(lines[-1])["record"] in (
            "result",
            "end",
        )


@pytest.mark.parametrize("how", ["absolute", "symlink", "hard link", "dangling link"])
def test_one_file_for_two_outputs_is_an_error_however_it_is_spelled(mpi, how, tmp_path):
    first, second = tmp_path / "x", tmp_path / "y"
    if how != "dangling link":
        first.write_text("kept")
    if "link" in how:
        second.symlink_to(first) if how != "hard link" else os.link(first, second)
    other = first if how == "absolute" else second
    done = lab.run(mpi, 2, f"-iter 1 Barrier -json x -dumpfile {other}", folder=tmp_path)
    assert done.code == 2 and len(done.own_errors) == 1 and "same file" in done.own_errors[0]
    assert how == "dangling link" or first.read_text() == "kept"
    assert how != "dangling link" or not first.exists()


@pytest.mark.parametrize("option", ["-input {}", "-msglen {}", "-set @{}"])
@pytest.mark.parametrize("output", ["-json", "-dumpfile"])
def test_an_input_file_is_not_overwritten_through_a_link(mpi, option, output, tmp_path):
    text = {"-input {}": "Barrier\n", "-msglen {}": "8\n", "-set @{}": "N_BARR=1\n"}[option]
    (tmp_path / "in").write_text(text)
    (tmp_path / "out").symlink_to("in")
    words = f"-iter 1 {option.format(tmp_path / 'in')} {output} {tmp_path / 'out'}"
    done = lab.run(mpi, 2, words)
    assert done.code == 2 and "would overwrite" in done.own_errors[0]
    assert (tmp_path / "in").read_text() == text


def test_nothing_is_emptied_when_another_output_cannot_be_opened(mpi, tmp_path):
    (tmp_path / "x").write_text("kept")
    done = lab.run(mpi, 2, f"-iter 1 Barrier -json {tmp_path / 'x'} -dumpfile {tmp_path}/no/such/folder")
    assert done.code == 2 and (tmp_path / "x").read_text() == "kept"


@pytest.mark.parametrize("how", ["plain", "dangling link", "relative"])
def test_a_usage_error_leaves_no_new_file(mpi, how, tmp_path):
    """-json is opened first, and its file does not exist. A link to it is the user's and stays."""
    file = tmp_path / "target" if how == "dangling link" else tmp_path / "x"
    if how == "dangling link":
        (tmp_path / "x").symlink_to("target")
    name = "x" if how == "relative" else str(tmp_path / "x")
    done = lab.run(mpi, 2, f"-iter 1 Barrier -json {name} -dumpfile no/such/folder", folder=tmp_path)
    assert done.code == 2 and "-dumpfile: cannot write" in done.own_errors[0] and not file.exists()
    assert (tmp_path / "x").is_symlink() == (how == "dangling link")


def test_a_file_that_is_created_as_two_outputs_is_deleted(mpi, tmp_path):
    """Two links to a file that does not exist."""
    for name in ("x", "y"):
        (tmp_path / name).symlink_to("target")
    done = lab.run(mpi, 2, "-iter 1 Barrier -json x -dumpfile y", folder=tmp_path)
    assert done.code == 2 and "same file" in done.own_errors[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x", "y"]


def test_files_may_begin_with_a_byte_order_mark(mpi, tmp_path):
    for name, text in {"names": "PingPong\n", "lengths": "8\n", "settings": "N_BARR=3\n"}.items():
        (tmp_path / name).write_text("\ufeff" + text, encoding="utf-8")
    done = lab.run(
        mpi, 2, "-iter 1 -input names -msglen lengths -set @settings", folder=tmp_path, records=tmp_path
    )
    assert done.code == 0, done.errors
    assert [(row["benchmark"], row["bytes"]) for row in done.rows] == [("PingPong", 8)]


@pytest.mark.parametrize("option", ["-input", "-msglen"])
def test_a_very_long_line_is_not_repeated(mpi, option, tmp_path):
    (tmp_path / "long").write_text("x" * 10_000_000)
    done = lab.run(mpi, 2, [option, str(tmp_path / "long")])
    assert done.code == 2 and len(done.own_errors) == 1
    assert len(done.own_errors[0]) < 400 and 'xxx..."' in done.own_errors[0]
