"""One process at a time carries out a session; who holds it is said."""

import getpass
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import filelock
import msgspec
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.store.store import Archive


@pytest.fixture
def session(imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a session of two launches, of which none is over."""
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    options = fake_mpi.make(tmp_path / "mpi")
    assert imb("run", "PingPong", "--launches", "2", "--classic", *options).code == 0
    (folder,) = (archive.folder / "sessions").iterdir()
    for file in folder.glob("0*.json"):
        file.unlink()
    return folder


def numbers(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("0*"))


def held_elsewhere(folder: Path) -> Path:
    """As a process of another host leaves it that was killed, or that is at work."""
    file = folder / "owner.json"
    file.write_bytes(
        msgspec.json.encode({"user": "ann", "host": "elsewhere", "pid": 77, "born": 1.0, "since": "today"})
    )
    return file


@pytest.mark.slow
def test_of_two_resumes_at_once_one_is_refused(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("FAKE_HOLD", str(hold))
    words = [sys.executable, "-m", "imb", "run", "--resume", session.name]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"]
    until = time.monotonic() + 60
    while all(process.poll() is None for process in both) and time.monotonic() < until:
        time.sleep(0.05)
    refused, other = sorted(both, key=lambda process: process.poll() is None)
    _, err = refused.communicate(timeout=30)
    hold.unlink()
    _, other_err = other.communicate(timeout=60)
    assert refused.returncode == 2 and other.returncode == 0, (err, other_err)
    assert f"process {other.pid} of {getpass.getuser()} on {socket.gethostname()}" in err
    assert len(err.splitlines()) == 1
    assert numbers(session) == ["0001.json", "0002.json"] and not (session / "owner.json").exists()


def test_a_session_is_held_between_its_launches(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no launch is at work either, as in a set-up or while a run is stored."""
    words = "import sys, time\nfrom imb.cli import main\nimport imb.runner.execution as execution\n"
    words += "execution.execute = lambda *a, **k: (print('between', flush=True), time.sleep(60))\n"
    words += f"main(['run', '--resume', '{session.name}'])"
    process = subprocess.Popen(
        [sys.executable, "-c", words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout and process.stdout.readline() == b"between\n"
    said = imb("run", "--resume")
    process.kill()
    os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
    )  # it stays in the process table, as in a container whose init reaps nothing
    after = imb("run", "--resume")
    process.communicate()
    assert said.code == 2 and f"by process {process.pid} of {getpass.getuser()}" in said.err
    assert after.code == 0, after  # the system frees the lock of a killed process at once


@pytest.mark.slow
def test_a_session_that_died_on_another_host_is_waited_for(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.runner.lock.EXPIRY", 2.0)
    held_elsewhere(session)
    began = time.monotonic()
    said = imb("run", "--resume", session.name)
    assert said.code == 0, said
    assert time.monotonic() - began > 1.0
    assert "process 77 of ann on elsewhere" in said.err and "last heartbeat of" in said.err
    assert numbers(session) == ["0001.json", "0002.json"] and not (session / "owner.json").exists()


def test_a_session_that_died_long_ago_is_not_waited_for(imb: Imb, session: Path) -> None:
    os.utime(held_elsewhere(session), (time.time() - 100,) * 2)
    began = time.monotonic()
    assert imb("run", "--resume", session.name).code == 0
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_a_session_at_work_on_another_host_is_refused(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file system has no locks between hosts: it has heartbeats."""
    monkeypatch.setattr("imb.runner.lock.EXPIRY", 20.0)
    file = held_elsewhere(session)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(1.0):
            os.utime(file)

    alive = threading.Thread(target=beat)
    alive.start()
    said = imb("run", "--resume", session.name)
    stop.set()
    alive.join()
    assert said.code == 2 and "process 77 of ann on elsewhere" in said.err
    assert numbers(session) == [] and file.exists()


def test_a_session_has_heartbeats(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("imb.runner.lock.BEAT", 0.1)
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("FAKE_HOLD", str(hold))
    seen: set[int] = set()

    def watch() -> None:
        until = time.monotonic() + 30
        while len(seen) < 4 and time.monotonic() < until:
            if (session / "owner.json").exists():
                seen.add((session / "owner.json").stat().st_mtime_ns)
            time.sleep(0.05)
        hold.unlink()

    watcher = threading.Thread(target=watch)
    watcher.start()
    assert imb("run", "--resume", session.name).code == 0
    watcher.join()
    assert len(seen) >= 4


@pytest.mark.parametrize("job", ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"])
@pytest.mark.slow
def test_a_job_waits_for_the_last_one_of_its_chain(
    session: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    """A scheduler starts the next job while the one that it ended stores its last launch."""
    last = filelock.FileLock(session / "lock", thread_local=False)
    last.acquire()
    assert imb("run", "--resume", session.name).code == 2
    monkeypatch.setenv(job, "7")
    threading.Timer(0.5, last.release).start()
    assert imb("run", "--resume", session.name).code == 0
