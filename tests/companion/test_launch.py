"""Every launcher's spelling, and the runner."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.mpis import Host, launcher_identity
from imb.mpi.arguments import override_arguments
from imb.mpi.installations import Installation
from imb.mpi.launch import run
from imb.mpi.launchers import Command, launch_command


def made_up(flavor: Any, major: int = 5) -> Installation:
    env = {"I_MPI_ROOT": "/opt/impi"} if flavor == "intel" else {}
    return Installation(
        flavor=flavor, version="x", major=major, wrapper="mpicxx", launcher="mpiexec", env=env
    )


MPICH, OPENMPI4, OPENMPI5, INTEL = (
    made_up("mpich"),
    made_up("openmpi", 4),
    made_up("openmpi", 5),
    made_up("intel"),
)
HOSTS = {"hosts": ("a", "b"), "ppn": 2, "ranks": 4}


@pytest.mark.parametrize(
    ("flavor", "wanted", "root", "words"),
    [
        (MPICH, {}, True, "mpiexec -n 2 P"),
        (MPICH, {"ranks": 9}, False, "mpiexec -n 9 P"),
        (MPICH, HOSTS, False, "mpiexec -n 4 -hosts a,b -ppn 2 P"),
        (MPICH, {"bind": "numa"}, False, "mpiexec -n 2 -bind-to numa P"),
        (MPICH, {"cpus": (0, 3)}, False, "mpiexec -n 2 -bind-to user:0,3 P"),
        (MPICH, {"env": {"UCX_TLS": "tcp,self"}}, False, "mpiexec -n 2 -genv UCX_TLS tcp,self P"),
        (MPICH, {"extra": ("-rmk", "user")}, False, "mpiexec -n 2 -rmk user P"),
        (OPENMPI5, {}, False, "mpiexec -n 2 P"),
        (OPENMPI5, {}, True, "mpiexec --allow-run-as-root -n 2 P"),
        (OPENMPI4, {"ranks": 9}, False, "mpiexec --oversubscribe --bind-to none -n 9 P"),
        (OPENMPI5, {"ranks": 9, "bind": "core"}, False, "mpiexec --oversubscribe --bind-to core -n 9 P"),
        (OPENMPI5, {"ranks": 9, "ppn": 9}, False, "mpiexec --map-by ppr:9:node:OVERSUBSCRIBE --bind-to none -n 9 P"),
        (OPENMPI4, {"ranks": 9, "ppn": 9}, False, "mpiexec --oversubscribe --map-by ppr:9:node --bind-to none -n 9 P"),
        (OPENMPI5, HOSTS, False, "mpiexec --host a:2,b:2 --map-by ppr:2:node -n 4 P"),
        (OPENMPI5, {"hosts": ("a", "b"), "ranks": 3}, False, "mpiexec --host a:2,b:2 -n 3 P"),
        (OPENMPI4, {"bind": "socket"}, False, "mpiexec --bind-to socket -n 2 P"),
        (OPENMPI5, {"bind": "socket"}, False, "mpiexec --bind-to package -n 2 P"),
        (OPENMPI5, {"env": {"A": "b c"}}, False, "mpiexec -x 'A=b c' -n 2 P"),
        (OPENMPI5, {"env": {"A": "b", "MY_TOKEN": "s"}, "extra": ("-x", "KEY=t", "--mca", "btl", "self")}, False, "KEY=t MY_TOKEN=s mpiexec -x A=b -x MY_TOKEN -x KEY --mca btl self -n 2 P"),
        (MPICH, {"env": {"A": "b", "MY_TOKEN": "s"}, "extra": ("-env", "KEY", "t", "-v")}, False, "KEY=t MY_TOKEN=s mpiexec -n 2 -genv A b -v P"),
        (MPICH, {"env": {"A": "b", "MY_TOKEN": "s"}, "extra": ("-genv", "KEY=t", "-v")}, False, "KEY=t MY_TOKEN=s mpiexec -n 2 -genv A b -v P"),
        (INTEL, {"extra": ("-genv", "MY_TOKEN", "s", "-genv", "A", "b")}, False, "I_MPI_ROOT=/opt/impi MY_TOKEN=s mpiexec -n 2 -genv A b P"),
        (MPICH, {"launcher": "srun", "env": {"KEY": "t"}, "extra": ("--export=ALL,MY_TOKEN=s,A=b",)}, False, "KEY=t MY_TOKEN=s srun --mpi=pmi2 --kill-on-bad-exit=1 -n 2 --export=ALL,MY_TOKEN,A=b P"),
        (OPENMPI5, {"cpus": (0, 3)}, False, "mpiexec --bind-to none -n 1 taskset -c 0 P : -n 1 taskset -c 3 P"),
        (OPENMPI4, {"cpus": (1,)}, False, "mpiexec --bind-to none -n 2 taskset -c 1 P"),
        (INTEL, HOSTS, False, "I_MPI_ROOT=/opt/impi mpiexec -n 4 -hosts a,b -ppn 2 P"),
        (INTEL, {"bind": "none"}, True, "I_MPI_ROOT=/opt/impi mpiexec -n 2 -genv I_MPI_PIN 0 P"),
        (INTEL, {"bind": "numa"}, False, "I_MPI_ROOT=/opt/impi mpiexec -n 2 -genv I_MPI_PIN 1 -genv I_MPI_PIN_DOMAIN numa P"),
        (INTEL, {"cpus": (0, 3)}, False, "I_MPI_ROOT=/opt/impi mpiexec -n 2 -genv I_MPI_PIN 1 -genv I_MPI_PIN_PROCESSOR_LIST 0,3 P"),
        (MPICH, {"launcher": "srun"}, False, "srun --mpi=pmi2 --kill-on-bad-exit=1 -n 2 P"),
        (OPENMPI5, {"launcher": "srun", **HOSTS}, False, "srun --mpi=pmix --kill-on-bad-exit=1 -n 4 -N 2 --nodelist=a,b --ntasks-per-node=2 P"),
        (INTEL, {"launcher": "srun", "cpus": (0, 3)}, False, "I_MPI_ROOT=/opt/impi srun --mpi=pmi2 --kill-on-bad-exit=1 -n 2 --cpu-bind=map_cpu:0,3 P"),
        (MPICH, {"launcher": "srun", "bind": "numa", "env": {"A": "b,c"}}, False, "A=b,c srun --mpi=pmi2 --kill-on-bad-exit=1 -n 2 --cpu-bind=ldoms P"),
        (MPICH, {"launcher": "srun", "hosts": ("a",), "ranks": 9}, False, "srun --mpi=pmi2 --kill-on-bad-exit=1 -n 9 -N 1 --nodelist=a --overcommit P"),
    ],
)  # fmt: skip
def test_spelling(flavor: Installation, wanted: dict[str, Any], root: bool, words: str) -> None:
    command = launch_command(flavor, Intent(**{"ranks": 2, **wanted}), ["P"], Host(4, root))
    assert str(command) == words


def test_what_cannot_be_said_is_a_mistake() -> None:
    with pytest.raises(ImbError, match="cannot be combined"):
        launch_command(MPICH, Intent(ranks=2, cpus=(0, 1), bind="core"), ["P"], Host(4))
    hidden = Intent(ranks=2, env={"MY_TOKEN": "s"}, extra=("-genvnone",))
    with pytest.raises(ImbError, match="-genvnone: MY_TOKEN may be secret and is passed by environment"):
        launch_command(MPICH, hidden, ["P"], Host(4))
    with pytest.raises(ImbError, match="unsupported launcher"):
        launch_command(made_up("other"), Intent(ranks=2), ["P"], Host(4))


@pytest.mark.parametrize(
    ("first", "then", "both"),
    [
        ("--mca btl self,sm --mca pml ob1", "--mca btl self,tcp", "--mca pml ob1 --mca btl self,tcp"),
        ("--omca btl a --prtemca btl b", "--mca btl c", "--prtemca btl b --mca btl c"),
        ("-x A=1 -x B", "-x A", "-x B -x A"),
        ("--bind-to core --report-bindings", "--bind-to none", "--report-bindings --bind-to none"),
        ("-genv A 1 -genv B 2 -v", "-genv B 3", "-genv A 1 -v -genv B 3"),
        ("--cpu-bind=cores -v", "--cpu-bind=none", "-v --cpu-bind=none"),
        ("", "-v", "-v"),
        ("-v", "", "-v"),
    ],
)
def test_the_latter_of_two_settings_holds(first: str, then: str, both: str) -> None:
    assert override_arguments(first.split(), then.split()) == both.split()


@pytest.mark.parametrize(
    ("said", "flavor", "version"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs", "openmpi", "Open MPI 4.1.4"),
        ("mpiexec (OpenRTE) 2.1.1\n", "openmpi", "Open MPI 2.1.1"),
        ("HYDRA build details:\n    Version:      5.0.2\n", "mpich", "MPICH 5.0.2"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 2\n", "intel", "Intel MPI 2021.18"),
        ("something else", "other", "something else"),
        ("", "other", "unknown"),
    ],
)
def test_launchers_are_known_by_what_they_say(said: str, flavor: str, version: str) -> None:
    mpi, named = launcher_identity(said)
    assert (mpi.key, named) == (flavor, version)


def script(tmp_path: Path, text: str) -> Command:
    file = tmp_path / "script.py"
    file.write_text(f"import os, signal, subprocess, sys, time\n{text}")
    return Command([sys.executable, str(file)], {"FOR_IT": "yes"})


def test_output_goes_to_files_and_lines_come_live(tmp_path: Path) -> None:
    follow = tmp_path / "lines"
    command = script(
        tmp_path,
        f"print(os.environ['FOR_IT'])\nf = open({str(follow)!r}, 'w')\n"
        "f.write('one\\ntw'); f.flush(); time.sleep(0.5)\nf.write('o\\nthr'); f.flush()\nsys.exit('oh')\n",
    )
    lines: list[tuple[bytes, float]] = []
    ended = run(
        command,
        output=tmp_path / "out",
        errors=tmp_path / "err",
        timeout=20,
        follow=follow,
        on_line=lambda line: lines.append((line, time.monotonic())),
    )
    assert (ended.outcome, ended.status) == ("finished", 1)
    assert (tmp_path / "out").read_text() == "yes\n" and (tmp_path / "err").read_text() == "oh\n"
    assert [line for line, _ in lines] == [b"one", b"two"]
    assert lines[1][1] - lines[0][1] > 0.2


@pytest.mark.slow
def test_hidden_values_are_in_no_file_and_a_stray_process_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the launch's output open when that has ended."""
    monkeypatch.setattr("imb.mpi.filtered_files._GRACE", 0.2)
    command = script(
        tmp_path,
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "os.write(1, b'<%d> hunter2' % child.pid); time.sleep(0.1); os.write(1, b'-secret, hunter')\n"
        "os.write(2, b'\\xffhunter2-secret')\n",
    )
    ended = run(
        command, output=tmp_path / "out", errors=tmp_path / "err", timeout=20, hide={"hunter2-secret"}
    )
    out = (tmp_path / "out").read_bytes()
    os.kill(int(out[1 : out.index(b">")]), signal.SIGKILL)
    assert (ended.outcome, ended.status) == ("finished", 0)
    assert (
        out.partition(b"> ")[2] == b"(hidden), hunter" and (tmp_path / "err").read_bytes() == b"\xff(hidden)"
    )


def test_nothing_is_launched_where_nothing_would_take_secrets_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = script(tmp_path, f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    monkeypatch.setattr("imb.mpi.filtered_files.sys.executable", "/bin/false")
    for secrets in ({"hunter2-secret"}, {"hunter2-secret" * 100_000}):  # more than a pipe holds
        with pytest.raises(ImbError, match="cannot start /bin/false"):
            run(command, output=tmp_path / "out", errors=tmp_path / "err", timeout=20, hide=secrets)
    assert not (tmp_path / "mark").exists()


@pytest.mark.slow
def test_a_launch_that_hangs_is_killed_with_all_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.mpi.launch.GRACE", 0.5)
    command = script(
        tmp_path,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "print(os.getpid(), child.pid, flush=True)\ntime.sleep(1000)\n",
    )
    ended = run(command, output=tmp_path / "out", errors=tmp_path / "err", timeout=1)
    assert (ended.outcome, ended.status) == ("timed_out", -signal.SIGKILL)
    assert 1 < ended.seconds < 10
    end = time.monotonic() + 5
    for pid in map(int, (tmp_path / "out").read_text().split()):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])  # Ctrl-C; a scheduler that ends the job
def test_ctrl_c_asks_the_launch_to_end(tmp_path: Path, sent: signal.Signals) -> None:
    command = script(
        tmp_path,
        "def end(*_):\n    print('ended well', flush=True)\n    sys.exit(3)\n"
        "signal.signal(signal.SIGTERM, end)\nprint('up', flush=True)\ntime.sleep(100)\n",
    )

    def press() -> None:
        end = time.monotonic() + 20  # `run` below waits longer, and says what is missing
        while "up" not in ((tmp_path / "out").read_text() if (tmp_path / "out").exists() else ""):
            if time.monotonic() > end:
                return
            time.sleep(0.05)
        os.kill(os.getpid(), sent)

    before = signal.getsignal(signal.SIGTERM)
    threading.Thread(target=press).start()
    ended = run(command, output=tmp_path / "out", errors=tmp_path / "err", timeout=30)
    assert (ended.outcome, ended.status) == ("interrupted", 3)
    assert "ended well" in (tmp_path / "out").read_text()
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImbError, match="cannot start /no/mpiexec"):
        run(Command(["/no/mpiexec"], {}), output=tmp_path / "o", errors=tmp_path / "e", timeout=1)


def gone(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")
def test_a_launcher_that_is_killed_takes_its_ranks_with_it(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "100"])
    command = script(
        tmp_path,
        "rank = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)'\n"
        "ranks = [subprocess.Popen([sys.executable, '-c', rank], start_new_session=True) for _ in range(2)]\n"
        "print(*(rank.pid for rank in ranks), flush=True)\ntime.sleep(0.5)\nos.kill(os.getpid(), signal.SIGKILL)\n",
    )
    ended = run(command, output=tmp_path / "out", errors=tmp_path / "err", timeout=30)
    assert (ended.outcome, ended.status) == ("finished", -signal.SIGKILL)
    pids = [int(word) for word in (tmp_path / "out").read_text().split()]
    left = [pid for pid in pids if not gone(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(pids) == 2 and not left
    assert other.poll() is None  # a process of no launch is left alone
    other.kill()
    other.wait()


def test_no_code_runs_between_fork_and_exec() -> None:
    sources = Path(__file__).parents[2] / "python" / "imb"
    assert not [path for path in sources.rglob("*.py") if "preexec_fn" in path.read_text()]
