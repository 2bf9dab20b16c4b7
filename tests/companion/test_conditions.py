"""What is read of a machine, and what `imb doctor` makes of it; where a launch is."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from imb.measure.progress import Progress
from imb.model.conditions import Conditions, Machine
from imb.mpi import conditions, doctor
from imb.mpi.launch import Ended

EXAMPLES = Path(__file__).resolve().parents[2] / "schema" / "examples"
QUIET = Conditions(
    time="2026-01-01T00:00:00Z",
    machine=Machine(
        host="n1", system="x", kernel="Linux 6", cpu_model="c", cpus=8, cores=8, sockets=1, threads_per_core=1
    ),
    governors=["performance"],
    clock_source="tsc",
    load=0.1,
)


def test_lscpu_flat_and_nested() -> None:
    flat = {"lscpu": [{"field": "Model name:", "data": "A"}, {"field": "NUMA node(s):", "data": "2"}]}
    nested = {
        "lscpu": [{"field": "Vendor ID:", "data": "V", "children": [{"field": "Model name:", "data": "A"}]}]
    }
    assert conditions.lscpu(json.dumps(flat)) == {"Model name": "A", "NUMA node(s)": "2"}
    assert conditions.lscpu(json.dumps(nested)) == {"Vendor ID": "V", "Model name": "A"}
    assert conditions.lscpu("lscpu: not found") == {}


def test_conditions_of_this_machine_come_back_from_json() -> None:
    now = conditions.gather()
    assert now.machine.cpus and now.machine.host and now.load is not None
    assert msgspec.json.decode(msgspec.json.encode(now), type=Conditions) == now


def test_the_environment_that_steers_is_kept_and_secrets_are_not() -> None:
    kept = {
        "UCX_TLS": "rc",
        "OMPI_MCA_pml": "ob1",
        "I_MPI_FABRICS": "shm",
        "OMP_NUM_THREADS": "1",
        "SLURM_JOB_ID": "7",
    }
    other = {"HOME": "/x", "MY_AUTH_TOKEN": "s", "SLURM_CONF": "c", "PATH": "p", "MY_UCX_TLS": "t"}
    assert conditions.steering({**kept, **other}.items()) == dict(sorted(kept.items()))


@pytest.mark.parametrize(
    ("change", "machine", "what"),
    [
        ({"governors": ["performance", "powersave"]}, {}, "frequency governor"),
        ({"clock_source": "hpet"}, {}, "clock source"),
        ({"load": 5.0}, {}, "load"),
        ({}, {"threads_per_core": 2}, "hyperthreads"),
        ({}, {"virtual_machine": "KVM"}, "virtual machine"),
        ({}, {"container": "docker"}, "container"),
        ({}, {"cpus": 10**6}, "CPUs allowed"),
        ({}, {}, None),
    ],
)
def test_each_trouble_is_a_warning_with_advice(
    change: dict[str, Any], machine: dict[str, Any], what: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    now = msgspec.structs.replace(QUIET, machine=msgspec.structs.replace(QUIET.machine, **machine), **change)
    troubles = [finding for finding in doctor.machine(now) if finding.level != "ok"]
    assert [finding.what for finding in troubles if finding.what != "/dev/shm"] == ([what] if what else [])
    assert all(finding.advice for finding in troubles)


@pytest.mark.parametrize(
    ("outcome", "status", "text", "level", "says"),
    [
        ("finished", 0, "openimb-check 2 1 0.300 Open MPI", "ok", "one way 0.300"),
        (
            "finished",
            0,
            "openimb-check 2 1 0.300 Open MPI\nopenimb-path 33554432 eth0=4096 lo=120",
            "ok",
            "by shared memory",
        ),
        (
            "finished",
            0,
            "openimb-check 2 1 9.3 Open MPI\nopenimb-path 33554432 eth0=4096 lo=33600000",
            "warning",
            "by loopback TCP",
        ),
        ("finished", 0, "openimb-check 2 1 4000.0 MPICH", "warning", "4000.0"),
        (
            "finished",
            0,
            "openimb-check 1 1 0.1 x\nopenimb-check 1 1 0.1 x",
            "problem",
            "start as 1 rank each",
        ),
        ("finished", 0, "openimb-check 2 0 0.3 x", "problem", "wrong data"),
        ("finished", 1, "", "problem", "exit status 1: no such device"),
        ("timed_out", -9, "", "problem", "hang"),
    ],
)
def test_verdicts_on_two_ranks(outcome: Any, status: int, text: str, level: str, says: str) -> None:
    ended = Ended(outcome=outcome, status=status, seconds=0.5)
    finding = doctor.verdict("two ranks", "mpiexec …", ended, text, ["no such device"])
    assert finding.level == level and says in finding.found and bool(finding.advice) == (level != "ok")


def test_progress_in_passes_is_the_share_of_the_limits() -> None:
    run, row, sample = (EXAMPLES / "passes.jsonl").read_bytes().splitlines()[:3]
    progress = Progress()
    progress.feed(run)
    progress.feed(row)
    progress.feed(sample.replace(b'"at_seconds":0.0078125', b'"at_seconds":2.5'))
    assert (progress.fraction, progress.benchmark, progress.bytes) == (0.5, "PingPong", 8)
    counted = Progress()
    counted.feed(
        run.replace(b'"most":null', b'"most":4').replace(b'"budget_seconds":5', b'"budget_seconds":null')
    )
    counted.feed(sample.replace(b'"pass":1', b'"pass":4'))
    assert counted.fraction == 0.75


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_progress_only_grows_and_ends_at_one(path: Path) -> None:
    progress = Progress()
    fractions = []
    for line in [b"no record", *path.read_bytes().splitlines()]:
        progress.feed(line)
        fractions.append(progress.fraction)
    assert fractions == sorted(fractions) and fractions[0] == 0 and fractions[-1] == 1
    assert progress.points == sum(
        b'"record":"result"' in s or b'"record":"failure"' in s for s in path.read_bytes().splitlines()
    )
    assert progress.seconds_left(10) == 0
