"""What happens when something breaks: an MPI that lies, a rank that dies, a signal, a disk that is full."""

import json
import os
import signal
import time
from pathlib import Path

import lab
import pytest
from test_benchmarks import NAMES


def records_in(path: Path) -> list[dict]:
    """All whole lines; a launch that was killed may leave the last one torn."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


@pytest.mark.parametrize("how", ["none", "flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", f"LIE_HOW={how}"]
    arguments = f"-check -iter 4 -msgsize 64 -npmin 3 -window_size 4 {' '.join(NAMES)}"
    # With rank 1 lying: it is in every group, also in those of two.
    lied = lab.run(mpi, 3, arguments, records=tmp_path, wrap=[*wrap, "LIE_RANK=1"])
    if how == "none":
        assert lied.code == 0 and {row["defects"] for row in lied.rows} == {0}
        return
    assert lied.code == 4
    caught = {row["benchmark"] for row in lied.rows if row["defects"] > 0}
    assert caught == set(NAMES) - {"Barrier"}
    assert "wrong bytes: do not trust these results\n" in lied.text
    assert lied.records[-1]["defects"] == sum(row["defects"] for row in lied.rows)
    text_defects = [float(row[-1]) for table in lab.tables(lied.text) for row in table.rows]
    assert text_defects == [row["defects"] for row in lied.rows]


@pytest.mark.parametrize(
    "mode",
    [
        "-multi 0",
        "-multi 1",
        "-off_cache 0.1",
        "-sync on",
        "-contig_type resize",
        "-contig_type base_vec",
        "-contig_type resize_vec",
    ],
)
def test_check_finds_a_lying_mpi_in_every_mode(mpi, liars, mode, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_HOW=flip", "LIE_RANK=1"]
    names = [name for name in NAMES if name != "Barrier"]
    done = lab.run(
        mpi, 4, f"-check -iter 4 -msgsize 64 {mode} {' '.join(names)}", records=tmp_path, wrap=wrap
    )
    assert done.code == 4
    assert {row["benchmark"] for row in done.rows if row["defects"] > 0} == set(names)
    if mode == "-multi 1":
        blamed = {row["group"] for row in done.rows if row["defects"] > 0 and row["processes"] == 2}
        assert blamed == {0}


def is_below(process: int, ancestor: int) -> bool:
    """Whether a process was started by another one, or by one that this started."""
    while process not in (0, ancestor):
        try:
            status = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(status.rpartition(")")[2].split()[1])
    return process == ancestor


def ranks_of(launcher: int, program: Path) -> dict[int, int]:
    """pid by world rank of the program's processes below a launcher; other tests may run the same program."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "exe").readlink() != program.resolve() or not is_below(int(entry.name), launcher):
                continue
            variables = dict(
                item.split("=", 1) for item in (entry / "environ").read_text().split("\0") if "=" in item
            )
        except OSError:
            continue
        for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
            if name in variables:
                found[int(variables[name])] = int(entry.name)
                break
    return found


def start_and_wait_for_rows(mpi, records: Path, rows: int = 5):
    # A point takes about 0.1 s, so that a signal finds one under way and many to come.
    arguments = [
        "-iter",
        "100000000,100000000",
        "-time",
        "0.05",
        "-msglog",
        "20",
        "-json",
        str(records),
        "PingPong",
        "PingPing",
    ]
    process = lab.start(mpi, 2, arguments)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if records.exists() and records.read_text().count('"record":"result"') >= rows:
            return process
        time.sleep(0.01)
    process.kill()
    pytest.fail(f"no rows: {process.communicate()}")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_ends_the_launch_and_keeps_the_rows(mpi, victim, tmp_path):
    records = tmp_path / "records.jsonl"
    process = start_and_wait_for_rows(mpi, records)
    os.kill(ranks_of(process.pid, mpi.program())[victim], signal.SIGKILL)
    done = lab.finish(process, timeout=60)
    assert done.code in lab.codes_after(mpi, signal.SIGKILL, victim)
    kept = records_in(records)
    assert kept[0]["record"] == "run" and sum(record["record"] == "result" for record in kept) >= 5
    assert "All processes entering MPI_Finalize" not in done.text
    # The text has the same rows.
    assert sum(len(table.rows) for table in lab.tables(done.text)) >= 5


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_a_rank_stops_all_with_an_end_record(mpi, rank, name, tmp_path):
    records = tmp_path / "records.jsonl"
    process = start_and_wait_for_rows(mpi, records)
    os.kill(ranks_of(process.pid, mpi.program())[rank], getattr(signal, name))
    done = lab.finish(process, timeout=60)
    assert done.code in lab.codes_after(mpi, getattr(signal, name), rank)
    end = records_in(records)[-1]
    assert end["record"] == "end" and end["state"] == "interrupted"
    assert end["measured"] >= 5
    assert "All processes entering MPI_Finalize" not in done.text


def test_under_nohup_a_closed_session_does_not_end_a_run(mpi, tmp_path):
    records = tmp_path / "records.jsonl"
    words = f"-iter 100000000,100000000 -time 0.1 -msglog 18:20 -json {records} PingPong"
    process = lab.start(mpi, 2, words.split(), wrap=["nohup"], folder=tmp_path)
    deadline = time.monotonic() + 60
    while not (records.exists() and '"record":"result"' in records.read_text()):
        assert time.monotonic() < deadline, "no rows"
        time.sleep(0.01)
    for pid in ranks_of(process.pid, mpi.program()).values():
        os.kill(pid, signal.SIGHUP)
    done = lab.finish(process, timeout=60)
    assert done.code == 0, done.errors
    end = records_in(records)[-1]
    assert (end["record"], end["state"], end["measured"]) == ("end", "complete", 4)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_to_the_launcher_keeps_the_rows(mpi, name, tmp_path):
    records = tmp_path / "records.jsonl"
    process = start_and_wait_for_rows(mpi, records)
    process.send_signal(getattr(signal, name))
    done = lab.finish(process, timeout=60)
    assert done.code in lab.codes_after(mpi, getattr(signal, name), "launcher")
    kept = records_in(records)
    assert sum(record["record"] == "result" for record in kept) >= 5
    assert kept[-1]["record"] == "end" and kept[-1]["state"] == "interrupted"


def test_a_full_disk_is_said_once_and_the_run_goes_on(mpi):
    done = lab.run(mpi, 2, "-json /dev/full -iter 2 -msglog 2 PingPong")
    assert done.code == 3
    assert len([line for line in done.errors.splitlines() if "/dev/full" in line]) == 1
    assert len(lab.tables(done.text)[0].rows) == 4


def test_a_full_disk_under_the_tables_is_said_too(mpi):
    import subprocess

    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(mpi.program()), "-iter", "2", "-msglog", "2", "Sendrecv"],
            env=lab.environment(mpi), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 3 and "No space left on device" in done.stderr


def test_a_machine_without_memory_gives_rows_and_goes_on(mpi, tmp_path):
    limit = ["bash", "-c", 'ulimit -v 6000000; exec "$0" "$@"']
    done = lab.run(mpi, 2, "-msgsize 16,8g,32 -mem 64 -iter 2 PingPong", records=tmp_path, wrap=limit)
    assert [row["bytes"] for row in done.rows] == [16, 32]
    causes = [record["cause"] for record in done.records if record["record"] == "failure"]
    assert (done.code, causes) in ((3, ["out_of_memory"]), (0, ["int_overflow"])), done.errors
