"""imb fabric launches: on the cores of this host, on hosts that are namespaces, in Slurm; and launches that go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lab
import psutil
import pytest
from companion import cluster
from companion.door import Imb, Said
from companion.fabric.switched import TOPOLOGY, Switched, switched
from imb.fabric import drain
from imb.fabric.drain import Drain
from imb.store.store import Archive

pytestmark = pytest.mark.alone  # endpoints are judged by what they measure

LATENCY = ["-b", "Pair_Latency:8", "--passes", "2"]


def with_(mpi: lab.Mpi) -> list[object]:
    return ["--mpi", mpi.wrapper, "--programs", mpi.build / "bin"]


def test_cores_of_this_host(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    cores = psutil.cpu_count(logical=False) or 1
    if cores < 2:
        pytest.skip("one core")
    said = imb("fabric", "--endpoint", "core", *with_(mpi), *LATENCY, "--label", "cores", "-f", "json")
    found = json.loads(said.out)
    assert said.code == found["exit_status"] in (0, 10, 11), said.err
    assert len(found["endpoints"]) == cores and len({one["place"] for one in found["endpoints"]}) == cores
    if cores < 4:
        assert found["state"] == "inconclusive" and "needs at least 4" in found["summary"]
    [run] = archive.ids()
    assert found["sources"] == [run[:10]]
    for words in (("ls",), ("show", "cores"), ("archive", "verify")):
        assert imb(*words).code == 0, words
    again = json.loads(imb("fabric", "cores", "-f", "json").out)
    assert (again["state"], again["sizes"]) == (found["state"], found["sizes"])


def test_the_budget_ends_a_quick_sweep(mpi: lab.Mpi, imb: Imb) -> None:
    began = time.monotonic()
    said = imb("fabric", "--endpoint", "core", "--quick", "--budget", "20", *with_(mpi))
    assert said.code in (0, 10, 11), said.err
    assert time.monotonic() - began < 60  # with the start of an MPI on a busy machine


def test_a_launch_that_fails(mpi: lab.Mpi, imb: Imb, tmp_path: Path, archive: Archive) -> None:
    program = tmp_path / "IMB-FABRIC"
    program.write_text("#!/bin/sh\necho no adapter >&2\nexit 7\n")
    program.chmod(0o755)
    said = imb(
        "fabric", "--endpoint", "core", "--ppn", "2", "--mpi", mpi.wrapper, "--programs", tmp_path, *LATENCY
    )
    assert said.code == 11 and "inconclusive: no launch has records" in said.err, said.err
    assert len(archive.ids()) == 1 and imb("ls").code == 0


def test_options_that_the_suite_refuses(mpi: lab.Mpi, imb: Imb) -> None:
    words = ["fabric", "--endpoint", "core", "--ppn", "2", *with_(mpi), *LATENCY, "--", "-rounds", "ring"]
    said = imb(*words)
    assert (said.code, said.out) == (2, "")
    assert '-rounds: "ring" is neither a number nor one_to_all nor all_to_one' in said.err


@pytest.mark.needs_mpi
def test_interrupted(archive: Archive) -> None:
    mpi = lab.MAIN[0]
    words = [
        "fabric",
        "--endpoint",
        "core",
        "--ppn",
        "2",
        *with_(mpi),
        "-b",
        "Pair_Latency:8",
        "--passes",
        "1000000",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", *map(str, words)], stderr=subprocess.PIPE, text=True
    )
    try:
        cluster.until(lambda: any(archive.folder.glob("sessions/*/*/records.jsonl")))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.terminate()
    assert process.returncode == 130 and "Traceback" not in said, said


# --- Hosts -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Switched]:
    with switched(tmp_path_factory.mktemp("net")) as found:
        for host in found.names:
            found.limit_host(host, 100)
        found.limit_trunk(400)
        yield found


def at(net: Switched, mpi: lab.Mpi, tmp_path: Path, *words: object) -> Said:
    """imb fabric on h1, over all hosts."""
    (tmp_path / "topology").write_text(TOPOLOGY)
    environment = {**cluster.ACROSS[mpi.key], cluster.DEVICE[mpi.key]: "eth0"}
    if mpi.key == "openmpi":
        environment["OMPI_MCA_mpi_yield_when_idle"] = "1"
    options = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]
    command = ["fabric", "--hosts", "h[1-8]", *with_(mpi), *options, "--topology", tmp_path / "topology"]
    done = subprocess.run(
        net.on("h1", [sys.executable, "-m", "imb", *command, "-f", "json", *words]),
        env=net.environment(),
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


BANDWIDTH = [
    "-b", "Pair_Bandwidth:32768", "--passes", "3", "--", "-iter", "3", "-set", "N_WARMUP=1", "-window_size", "8",
]  # fmt: skip
PROLOG = ["--quick", "--budget", "30", *BANDWIDTH]


def test_a_slow_host_is_named_in_a_prolog(net: Switched, mpi: lab.Mpi, tmp_path: Path) -> None:
    net.limit_host("h3", 50)
    try:
        said = at(net, mpi, tmp_path, *PROLOG)
    finally:
        net.limit_host("h3", 100)
    found = json.loads(said.out)
    named = [one["name"] for one in found["suspects"] if one["named"]]
    assert (said.code, found["exit_status"], named) == (10, 10, ["h3"]), said
    assert [one["node"] for one in found["drain"]] == ["h3"]
    assert "7 of 7 rounds, 3 passes" in found["notes"]


def test_a_healthy_fabric_passes_a_prolog(net: Switched, mpi: lab.Mpi, tmp_path: Path) -> None:
    """On a busy machine, the few passes may not suffice for a verdict; but nothing is named, and the trunk is not judged."""
    said = at(net, mpi, tmp_path, *PROLOG)
    found = json.loads(said.out)
    assert said.code == found["exit_status"] == {"healthy": 0, "inconclusive": 11}[found["state"]], said
    assert not any(one["named"] for one in found["suspects"]) and not found["drain"], said
    assert found["unjudged"] == ["core - leaf1"] and len(found["endpoints"]) == 8
    next_steps = [one for one in found["notes"] if one.startswith("undecided; --quick had all pairs; next: ")]
    assert len(next_steps) == (said.code == 11)


def test_a_prolog_without_an_answer(mpi: lab.Mpi, imb: Imb) -> None:
    said = imb("fabric", "--quick", "--budget", "30", "--rounds", "2", *with_(mpi))
    assert (said.code, said.out) == (2, "") and "--quick has rounds of its own" in said.err


def test_a_host_that_falls_silent(net: Switched, mpi: lab.Mpi, tmp_path: Path, archive: Archive) -> None:
    """Once pairs are recorded: a rank that stops while MPI starts ends the launch, or the launcher waits for it."""

    def measures() -> bool:
        files = archive.folder.glob("sessions/*/*/records.jsonl")
        return any(b'"record":"pair"' in one.read_bytes() for one in files)

    with net.stopped("h8", measures):
        words = [*BANDWIDTH, "-pair_timeout", "1", "-time", "0.5"]
        said = at(net, mpi, tmp_path, *words)
    found = json.loads(said.out)
    assert said.code in (10, 11), said
    # A rank that was in an exchange with it waits forever, and is silent, too; then neither is drained. If that is rank 0, on h1,
    # the launch ends with this pair.
    of_rank_0 = not found["silent"] and "no answer: pair h1 - h8" in found["summary"]
    assert said.code == 11 or of_rank_0 or ("h8" in found["silent"] and len(found["silent"]) <= 2), said
    assert [one["node"] for one in found["drain"]] == (["h8"] if found["silent"] == ["h8"] else []), said


# --- Slurm -----------------------------------------------------------------------------------------------------------


def test_drain_in_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster.slurm(tmp_path, nodes=3) as conf:
        monkeypatch.setenv("SLURM_CONF", str(conf))
        one, other = (
            Drain("n2", "imb fabric: Pair_Latency 8 bytes 12.3 % longer"),
            Drain("n3", "imb fabric: no answer"),
        )
        assert drain.drain_node(one) is None
        subprocess.run(str(other), shell=True, check=True)
        said = subprocess.run(
            ["sinfo", "-h", "-N", "-o", "%N %T %E"], capture_output=True, text=True, check=True
        ).stdout
        states = dict(line.split(" ", 1) for line in said.splitlines())
        assert states["n1"].startswith("idle") and states["n2"] == f"drained {one.reason}"
        assert states["n3"] == f"drained {other.reason}"
        assert "exit status 1" in str(drain.drain_node(Drain("n9", "x")))


def test_in_an_allocation(mpi: lab.Mpi, tmp_path: Path, archive: Archive) -> None:
    (tmp_path / "slurm").mkdir()
    with cluster.slurm(tmp_path / "slurm") as conf:
        environment = {**os.environ, "SLURM_CONF": str(conf), **cluster.ACROSS[mpi.key]}
        words = ["--endpoint", "core", "--ppn", "2", *with_(mpi), *LATENCY, "-f", "json"]
        done = subprocess.run(
            [
                "salloc",
                "-Q",
                "-N2",
                "--ntasks-per-node=2",
                sys.executable,
                "-m",
                "imb",
                "fabric",
                *map(str, words),
            ],
            env=environment,
            capture_output=True,
            text=True,
        )
    found = json.loads(done.stdout)
    # Both nodes are this machine, so of their ranks two are endpoints, or as many as it has cores.
    assert done.returncode in (0, 10, 11) and 1 < len(found["endpoints"]) <= 4, done
    [run] = archive.ids()
    assert "SLURM_JOB_ID" in archive.run(run).facts()["conditions"]["environment"]
