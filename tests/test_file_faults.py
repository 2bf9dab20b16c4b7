"""IMB-IO when something breaks: no room, a limit, a folder that cannot be written, a rank or the launcher killed. The
words are clear, rows are kept, and no file stays behind."""

import contextlib
import json
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest

# A row ends by its time, not by its number of repetitions: three benchmarks take 15 s however fast the disk is.
LONG = ["-iter", "1000000,1000000,10000", "-time", "0.3", "-msglog", "4:8", "-mem", "2"]


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "IMB_out" in path.name)


def soon_has_files(folder: Path) -> bool:
    """Whether there is a file now or as soon as the next row begins."""
    end = time.monotonic() + 2
    while not left_behind(folder) and time.monotonic() < end:
        time.sleep(0.005)
    return bool(left_behind(folder))


def eventually_gone(folder: Path, seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while left_behind(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not left_behind(folder)


def eventually_ended(records: Path, seconds: float = 3) -> bool:
    """Whether the file of records gets its end."""
    end = time.monotonic() + seconds
    while '"record":"end"' not in (text := records.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    return '"record":"end"' in text


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def limited(kibibytes: int) -> list[str]:
    """Words before a program whose files may not grow beyond that."""
    return ["bash", "-c", f'ulimit -f {kibibytes}; exec "$0" "$@"']


def test_what_does_not_fit_is_a_row_and_the_rest_runs(mpi, small_disk, tmp_path):
    names = "S_Write_Expl P_IWrite_Priv C_Read_Shared Open_Close"
    words = f"-file {small_disk} -msgsize 1m,4096 -iter 4 -set TARGET_CPU_SECS=0.0005 {names}"
    done = lab.run(mpi, 2, words, component="IO", records=tmp_path)
    assert done.code == 3
    failures = [record for record in done.records if record["record"] == "failure"]
    # Tables: 2 of S_Write, 2 each of the others; non-aggregate ones ask for 10 portions.
    assert {record["cause"] for record in failures} == {"no_space"} and len(failures) == 6
    assert sorted({record["needed_bytes"] >> 20 for record in failures}) == [4, 10]
    assert all(0 < record["free_bytes"] <= 3 << 20 for record in failures)
    assert [row["bytes"] for row in done.rows] == [4096] * 6 + [0, 0]
    assert (
        done.text.count('out-of-space.; needed X=   0.004 GB, free    0.003 GB; use flag "-file PATH"') == 3
    )
    assert left_behind(small_disk) == []


def test_what_fills_up_while_it_runs_is_a_row(mpi, small_disk, tmp_path):
    """What another program takes is not foreseen, and met nevertheless."""
    records = tmp_path / "run.jsonl"
    lengths = ",".join(map(str, range(512, 1024, 4)))
    words = f"-file {small_disk} -iter 500,1,500 -msgsize {lengths} -time 60 -json {records} P_Write_Expl"
    launch = lab.start(mpi, 2, words.split(), component="IO")
    end = time.monotonic() + 60
    while not (records.exists() and '"result"' in records.read_text()):
        if time.monotonic() > end:
            os.killpg(launch.pid, signal.SIGKILL)
            pytest.fail("no row")
        time.sleep(0.01)
    with (small_disk / "taken").open("wb", buffering=0) as other, contextlib.suppress(OSError):
        while True:
            other.write(b"x" * 4096)
    done = lab.finish(launch)
    kept = [json.loads(line) for line in records.read_text().splitlines()]
    causes = {record["cause"] for record in kept if record["record"] == "failure"}
    assert done.code == 3 and causes and causes <= {"no_space", "io_error"}
    assert kept[1]["record"] == "result" and kept[-1]["state"] == "complete"
    assert left_behind(small_disk) == []


def test_writes_that_fail_are_rows_with_the_reason(any_mpi, tmp_path):
    names = [
        "S_Write_Expl", "P_Write_Indv", "P_Write_Shared", "P_Write_Priv", "C_Write_Indv", "C_Write_Shared", "C_Write_Expl",
        "P_Read_Priv", "C_IWrite_Expl",
    ]  # fmt: skip
    if any_mpi.key == "deb-openmpi":
        names.pop()  # it crashes when a nonblocking write fails: docs/known-mpi-issues.md
    if any_mpi.key == "impi":
        pytest.skip("Intel MPI's own shared memory is larger than the limit: it ends in MPI_Init")
    limit_mebibytes = 64  # more than MPI libraries want for their own shared memory
    few = "-msgsize 200m,4096 -iter 1,16,1 -mem 2 -npmin 2 -time 60 -set TARGET_CPU_SECS=0.0005"
    done = lab.run(
        any_mpi, 2, [*few.split(), *names], component="IO", records=tmp_path,
        wrap=limited(limit_mebibytes * 1024), folder=tmp_path,
    )  # fmt: skip
    assert done.code == 3, done.text + done.errors
    failures = [record for record in done.records if record["record"] == "failure"]
    tables = [name for name in names for _ in range(1 if "Read" in name or "IWrite" in name else 2)]
    assert [(record["benchmark"], record["cause"], record["bytes"]) for record in failures] == [
        (name, "io_error", 200 << 20) for name in tables
    ]
    for record in failures:
        assert record["detail"].startswith("rank ") and record["help"]
        assert f"io-error.; {record['detail']}" in done.text
        if any_mpi.flavor == "mpich":
            assert "File too large" in record["detail"]
        if any_mpi.key == "deb-openmpi":  # it writes less and says nothing
            assert f"holds {limit_mebibytes << 20} bytes of" in record["detail"]
    assert [(row["benchmark"], row["bytes"]) for row in done.rows] == [(name, 4096) for name in tables]
    assert left_behind(tmp_path) == []


def test_a_folder_that_cannot_be_written(mpi, tmp_path):
    folder = tmp_path / "fixed"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], capture_output=True)
    if made.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    try:
        done = lab.run(mpi, 2, f"-file {folder} S_Write_Expl", component="IO")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
    assert done.code == 2 and not done.text
    (line,) = done.own_errors
    assert line.startswith(f"IMB-IO: -file: cannot create files in {folder}: Read-only file system")
    assert "name a folder that exists and is writable" in line


def ranks_of(program: Path, folder: Path) -> dict[int, int]:
    """pid by world rank of the launch in this folder, without the processes that only guard files."""
    found: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "exe").readlink() != program.resolve():
                continue
            if (entry / "cwd").readlink() != folder.resolve():
                continue
            variables = dict(
                item.split("=", 1) for item in (entry / "environ").read_text().split("\0") if "=" in item
            )
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        rank = variables.get("OMPI_COMM_WORLD_RANK") or variables.get("PMI_RANK")
        if rank is not None:
            found[int(entry.name)] = (int(rank), parent)
    return {rank: pid for pid, (rank, parent) in found.items() if parent not in found}


def running(mpi, tmp_path: Path, names: str):
    """A long launch that has measured something and has files. Open MPI's launcher now and then does not get going: no rank
    starts; then there is a second one."""
    records = tmp_path / "run.jsonl"
    arguments = [*LONG, "-json", str(records), *names.split()]
    for seconds in (30, 60):
        launch = lab.start(mpi, 2, arguments, component="IO", folder=tmp_path)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if records.exists() and records.read_text().count('"result"') >= 2 and left_behind(tmp_path):
                return launch, records
            time.sleep(0.01)
        os.killpg(launch.pid, signal.SIGKILL)
        if mpi.flavor != "openmpi" or records.exists():
            break
        warnings.warn("Open MPI's launcher did not get going; launched again", stacklevel=1)
    pytest.fail("it does not get going")


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("names", ["P_Write_Shared", "P_Write_Priv", "C_Read_Expl"])
def test_a_killed_rank_leaves_rows_and_no_files(mpi, names, rank, tmp_path):
    launch, records = running(mpi, tmp_path, names)
    os.kill(ranks_of(mpi.program("IO"), tmp_path)[rank], signal.SIGKILL)
    done = lab.finish(launch, 30)
    assert done.code in lab.codes_after(mpi, signal.SIGKILL, rank)
    kept = [json.loads(line) for line in records.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert len([record for record in kept if record["record"] == "result"]) >= 2
    assert "All processes entering MPI_Finalize" not in done.text
    assert eventually_gone(tmp_path)


@pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_launcher_that_is_stopped_leaves_no_files(mpi, what, tmp_path):
    launch, records = running(mpi, tmp_path, "P_Write_Shared P_IWrite_Priv")
    launch.send_signal(what)
    done = lab.finish(launch, 30)
    assert done.code in lab.codes_after(mpi, what, "launcher")
    assert eventually_gone(tmp_path)
    # prterun does not always wait for its ranks.
    assert what == signal.SIGKILL or eventually_ended(records)


def test_no_guard_outlives_a_run_that_ended_well(mpi, tmp_path):
    done = lab.run(mpi, 2, "-iter 2 -msgsize 8 S_Write_Expl", component="IO", folder=tmp_path)
    assert done.code == 0
    assert not ranks_of(mpi.program("IO"), tmp_path)


def folder_records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_two_launches_side_by_side_have_files_of_their_own(mpi, tmp_path):
    """One of them is killed; its guardian deletes no file of the other."""
    first, records = running(mpi, tmp_path, "P_Write_Shared P_Write_Priv C_Write_Expl")
    words = "-iter 20,40,10 -msglog 10:12 P_Write_Shared P_Write_Priv C_Read_Expl"
    (tmp_path / "other").mkdir()
    second = lab.run(mpi, 2, words, component="IO", folder=tmp_path, records=tmp_path / "other")
    assert second.code == 0, second.text + second.errors
    assert second.records[0]["file"] == folder_records(records)[0]["file"]
    assert first.poll() is None and soon_has_files(tmp_path)
    os.kill(ranks_of(mpi.program("IO"), tmp_path)[1], signal.SIGKILL)
    words = "-iter 50,40,10 -msglog 10:14 -set SECS_PER_SAMPLE=1 P_Write_Shared P_Write_Priv C_Read_Expl"
    third = lab.run(mpi, 2, words, component="IO", folder=tmp_path, records=tmp_path / "other")
    lab.finish(first, 30)
    assert third.code == 0, third.text + third.errors
    assert not [record for record in third.records if record["record"] == "failure"]
    assert eventually_gone(tmp_path)
