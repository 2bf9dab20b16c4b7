"""The suite for Windows, under Wine: cross-compiled, with Intel MPI for Windows, ranks started by pmi1.py.

Times under Wine mean nothing, and no test looks at them.
"""

import fnmatch
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import lab
import pmi1
import pytest
from test_endings import wait_for
from test_schema import VALIDATOR

pytestmark = pytest.mark.needs_mpi

COMPONENTS = lab.COMPONENTS
WRONG_IN_INTEL_MPI = lab.WRONG["impi"]
FEW = "-iter 2,1,2 -window_size 4 -check -time 60 -set TARGET_CPU_SECS=0.0005"


class Wine:
    """Windows programs in a Wine of their own."""

    def __init__(self, mpi: lab.Mpi, program: str, folder: Path) -> None:
        self.mpi = mpi
        self.program = program
        libraries = Path(mpi.wrapper).parents[1] / "bin"
        own = {"WINEPREFIX": str(folder / "prefix"), "WINEPATH": windows_path(libraries)}
        own |= {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree=;mshtml="}
        self.environment = {**os.environ, **own}

    def start(self, component: str, ranks: int, words: str, folder: Path) -> pmi1.Ranks:
        command = [self.program, str(self.mpi.program(component)), *words.split()]
        return pmi1.Ranks(command, ranks, self.environment, folder)

    def run(self, component: str, ranks: int, words: str, folder: Path) -> lab.Launch:
        return finished(self.start(component, ranks, f"-json records.jsonl {words}", folder), folder)


def finished(launch: pmi1.Ranks, folder: Path) -> lab.Launch:
    done = lab.Launch(*launch.finish(timeout=300))
    records = folder / "records.jsonl"
    if records.exists():
        assert b"\r" not in records.read_bytes()
        done.records = [json.loads(line) for line in records.read_text().splitlines()]
    for record in done.records:
        VALIDATOR.validate(record)
    return done


def windows_path(path: Path) -> str:
    return "Z:" + str(path).replace("/", "\\")


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wine]:
    mpi = lab.windows()
    program = shutil.which("wine64", path=f"{os.environ['PATH']}:/usr/lib/wine")
    if not program:
        lab.missing("Wine (Debian: wine64)")
    server = shutil.which("wineserver64", path=f"{os.environ['PATH']}:/usr/lib/wine") or "wineserver"
    here = Wine(mpi, program, tmp_path_factory.mktemp("wine"))
    Path(here.environment["WINEPREFIX"]).mkdir()
    # One server for all launches: a program that finds one about to end loses its connection.
    subprocess.run([server, "-p"], env=here.environment, check=True)
    # Makes the prefix: two ranks at once would do it twice.
    folder = tmp_path_factory.mktemp("first")
    assert here.run("MPI1", 1, "-version", folder).code == 0
    yield here
    subprocess.run([server, "-k"], env=here.environment, check=False)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("component", COMPONENTS)
def test_every_benchmark_is_complete_and_correct(wine, component, ranks, scratch):
    left_out = (*WRONG_IN_INTEL_MPI, *lab.NOT_OF_TWO)
    names = [name for name in lab.names(component) if name not in left_out]
    lengths = "72" if component == "IO" else "0,72"
    if component == "FABRIC" and ranks == 1:
        pytest.skip("one rank is no pair")
    done = wine.run(component, ranks, f"{FEW} -msgsize {lengths} {' '.join(names)}", scratch)
    measured = done.pairs if component == "FABRIC" else done.rows
    failures = [record for record in done.records if record["record"] == "failure"]
    assert {failure["cause"] for failure in failures} == ({"invalid_processes"} if failures else set())
    assert ranks == 1 or not failures
    assert done.code == (3 if failures else 0), done.text + done.errors
    assert {row["defects"] for row in measured} == {0}
    assert {one["benchmark"] for one in [*failures, *measured]} == set(names)
    named = set(re.findall(r"(?m)^# Benchmarking (\S+)", done.text))  # a grid may be behind it
    assert named >= {row["benchmark"] for row in measured}
    assert sorted(path.name for path in scratch.iterdir()) == ["records.jsonl", "stderr", "stdout"]


def test_facts_of_the_machine(wine, tmp_path):
    done = wine.run("MPI1", 2, "-passes 2 -msgsize 8 -off_cache -1 PingPong", tmp_path)
    run = done.records[0]
    assert run["platform"]["system"] == "Windows" and run["platform"]["machine"] == "AMD64"
    assert "Windows" in run["mpi"]["library"]
    assert {rank["host"] for rank in run["ranks"]} == {socket.gethostname()}
    assert all(rank["cpus"] for rank in run["ranks"])
    assert run["off_cache"]["cache_size_bytes"] > 0
    assert re.search(r"(?m)^# Date  +: \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$", done.text)


@pytest.mark.parametrize(
    ("component", "words", "message"),
    [
        ("MPI1", "PingPon", 'unknown benchmark "PingPon": did you mean PingPong?'),
        (
            "MPI1",
            "-json no/such/folder PingPong",
            '-json: cannot write "no/such/folder": No such file or directory',
        ),
        ("MPI1", "-turns 4,127.0.0.1:1,abc PingPong", "-turns: 127.0.0.1:1: "),
        ("MPI1", "-memory cuda PingPong", "-memory cuda: rank ? on *: nvcuda.dll: "),
        ("MT", "-threads 0 PingPongMT", '-threads: "0" is below the minimum'),
        ("FABRIC", "-endpoint rack Pair_Latency", '-endpoint: "rack"'),
    ],
)
def test_a_usage_error_is_one_line(wine, component, words, message, tmp_path):
    launch = wine.start(component, 2, words, tmp_path)
    done = finished(launch, tmp_path)
    assert done.code == 2 and not done.text
    (line,) = done.own_errors
    assert fnmatch.fnmatchcase(line, f"IMB-{component}: {message}*")


BETWEEN_ROWS, WITHIN_A_ROW = (1, 0.02, 3, "a signal to another rank"), (0, 60, 130, "SIGINT")


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("MPI1 PingPong", BETWEEN_ROWS),
        ("MPI1 PingPong", WITHIN_A_ROW),
        ("MT -threads 2 PingPongMT", BETWEEN_ROWS),
        ("MT -threads 2 PingPongMT", WITHIN_A_ROW),
        ("FABRIC -passes 1000 Pair_Latency", BETWEEN_ROWS),  # between rounds
    ],
    ids=lambda one: one if isinstance(one, str) else one[-1],
)
def test_ctrl_c(wine, name, where, tmp_path):
    """Wine makes Ctrl-C of SIGINT. Rank 0 waits for the end of its row for a moment only, other ranks wait for it."""
    rank, seconds, code, reason = where
    component, _, benchmark = name.partition(" ")
    lengths = "8" if component == "FABRIC" else ",".join(map(str, range(8, 2008, 2)))
    words = f"-json records.jsonl -iter 100000000,100000000 -time {seconds} -msgsize {lengths} {benchmark}"
    launch = wine.start(component, 2, words, tmp_path)
    if component == "FABRIC":  # its text begins before signals are handled
        text, begun = tmp_path / "records.jsonl", '"record":"pair"'
    else:
        text, begun = tmp_path / "stdout", "#bytes"
    wait_for(lambda: text.exists() and begun in text.read_text())
    os.kill(launch.processes[rank].pid, signal.SIGINT)
    done = finished(launch, tmp_path)
    assert done.code == code, done.errors
    assert (done.records[-1]["state"], done.records[-1]["reason"]) == ("interrupted", reason)


def test_files_of_a_killed_launch_are_deleted(wine, tmp_path):
    """By its guardian, the same program once more."""
    files = tmp_path / "files"
    files.mkdir()
    launch = wine.start(
        "IO", 2, f"-file {windows_path(files)} -time 60 -iter 100000000 S_Write_indv", tmp_path
    )
    wait_for(lambda: list(files.glob("IMB_out.*")))
    launch.kill()
    wait_for(lambda: not list(files.iterdir()))


def test_interleaved_launches_take_turns(wine, tmp_path):
    """Each rank announces itself and asks before each segment."""
    listener = socket.create_server(("127.0.0.1", 0))
    tokens, asked = [], []

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rwb", buffering=0) as rank:
            tokens.append(rank.readline())
            while request := rank.read(1):
                asked.append(request)
                rank.write(b".")

    servers = [threading.Thread(target=answer) for _ in range(2)]
    for server in servers:
        server.start()
    words = f"-turns 3,127.0.0.1:{listener.getsockname()[1]},abc -iter 6 -msgsize 8 PingPong"
    done = wine.run("MPI1", 2, words, tmp_path)
    for server in servers:
        server.join(30)
    listener.close()
    assert done.code == 0 and len(done.rows) == 1
    assert tokens == [b"abc\n"] * 2 and set(asked) == {b"r", b"p"}
