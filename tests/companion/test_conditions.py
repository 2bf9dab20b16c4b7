"""What is read of a machine, and what `imb doctor` makes of it; where a launch is."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.compare.condition_diff import Difference, differences
from imb.model import mpis
from imb.model.conditions import (
    CONDITIONS,
    Conditions,
    Machine,
    condition,
    condition_labeled,
    conditions_of,
)
from imb.model.observations import Side, launches_of
from imb.model.records import Rank, Result, Run, read, write
from imb.mpi import compiler_wrappers, host_conditions, installations, readiness_checks
from imb.mpi.launch import LaunchEnd
from imb.mpi.load import Load, Moment, load_between, moment
from imb.report.page import report_page
from imb.runner.progress import Progress
from imb.store.store import Archive

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
    assert host_conditions.lscpu(json.dumps(flat)) == {"Model name": "A", "NUMA node(s)": "2"}
    assert host_conditions.lscpu(json.dumps(nested)) == {"Vendor ID": "V", "Model name": "A"}
    assert host_conditions.lscpu("lscpu: not found") == {}


def test_conditions_of_this_machine_come_back_from_json() -> None:
    now = host_conditions.gather()
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
    assert host_conditions.steering_variables({**kept, **other}.items()) == dict(sorted(kept.items()))


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
    findings = [finding for finding in readiness_checks.machine_checks(now) if finding.level != "ok"]
    assert [finding.what for finding in findings if finding.what != "/dev/shm"] == ([what] if what else [])
    assert all(finding.advice for finding in findings)


def test_one_core_and_one_node_are_singular() -> None:
    machine = msgspec.structs.replace(QUIET.machine, cores=1, numa_nodes=1)
    checks = {
        check.what: check.found
        for check in readiness_checks.machine_checks(msgspec.structs.replace(QUIET, machine=machine))
    }
    assert (checks["CPU"], checks["NUMA"]) == ("c, 1 core, sockets: 1", "1 node")


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
        (  # in an allocation of two hosts
            "finished",
            0,
            "openimb-check 2 1 60.0 Open MPI\nopenimb-path between 16777216 eth0=16900000 lo=9000000",
            "ok",
            "one way 60.0 µs between two hosts in 0.5 s, long messages by eth0",
        ),
        (
            "finished",
            0,
            "openimb-check 2 1 2.0 Open MPI\nopenimb-path between 16777216 eth0=4096 lo=0",
            "ok",
            "long messages by unknown (no interface counted what went between hosts)",
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
    ended = LaunchEnd(outcome=outcome, status=status, seconds=0.5)
    finding = readiness_checks.launch_check("two ranks", "mpiexec …", ended, text, ["no such device"])
    assert finding.level == level and says in finding.found and bool(finding.advice) == (level != "ok")


def test_cpu_time_of_others_is_what_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()

    def reading(*ticks: int, waiting: int, own: float, at: float) -> Moment:
        (tmp_path / "stat").write_text(f"cpu  {' '.join(map(str, ticks))} 0 0\ncpu0 1 2\nprocs_running 4\n")
        (tmp_path / "pressure" / "cpu").write_text(
            f"some avg10=1.00 avg60=0.10 avg300=0.00 total={waiting}\nfull avg10=0.00 total=7\n"
        )
        found = moment(tmp_path)
        assert found
        return found._replace(own=own, at=at)

    second = os.sysconf("SC_CLK_TCK")
    before = reading(0, 0, 0, 5, 5, 0, 0, 0, waiting=1000, own=3.0, at=10.0)
    after = reading(
        *(20 * second, second, 8 * second, 99, 99, second, 0, 2 * second),
        waiting=5_001_000,
        own=19.0,
        at=20.0,
    )
    assert load_between(before, after) == Load(other_cpus=1.4, stolen_cpus=0.2, runnable=3, pressure=0.5)
    assert load_between(before, before) is None and moment(tmp_path / "none") is None


def with_option(name: str, option: str, value: str) -> Side:
    """A launch with this option in its record."""
    text = (EXAMPLES / "complete.jsonl").read_bytes()
    said = text.replace(b'"check":', f'"{option}":"{value}","check":'.encode())
    return Side(name=name, launches=[*launches_of(read(said, name), name, {})])


@pytest.mark.parametrize(
    ("option", "values", "condition"),
    [
        ("topo", ("2d", "graph:4x2"), "topology of neighborhood collectives"),
        ("load", ("cpu", "device"), "overlap load on"),
        ("sync_mode", ("standard", "lock"), "-sync_mode"),
    ],
)
def test_an_option_in_force_is_a_condition(option: str, values: tuple[str, str], condition: str) -> None:
    a, b = (with_option(name, option, value) for name, value in zip("ab", values, strict=True))
    assert differences(a, b) == [Difference(condition, [values[0]], [values[1]])]
    assert differences(b, b) == []


def test_ids_and_labels_of_conditions_are_of_one_each() -> None:
    """A difference is known by its label."""
    shown = [one for one in CONDITIONS if one.compare != "ignored"]
    for names in ([one.id for one in CONDITIONS], [one.label for one in shown]):
        assert len(set(names)) == len(names)
    for id in (*(one.id for one in shown), "options.sync_mode", "$UCX_TLS"):
        assert condition_labeled(condition(id).label).id == id


def test_facts_of_other_programs_are_compared_under_their_own_names() -> None:
    def side(**facts: Any) -> Side:
        [launch] = with_option("x", "check", "true").launches
        return Side(name="x", launches=[msgspec.structs.replace(launch, facts={"conditions": facts})])

    a, b = (side(**{"": n, "huge_pages": {"size": [n, n]}, "machine": "none"}) for n in (1, 2))
    assert differences(a, b) == [
        Difference("", ["1"], ["2"]),
        Difference("huge pages size", ["1, 1"], ["2, 2"]),
    ]


def in_report(*sides: Side) -> list[tuple[str, bool, list[str]]]:
    """Label, whether it differs and the values of sides, of each condition that a report shows, in its order."""
    text = report_page(sides, [], [])
    rows = re.findall(r'(?s)<tr( class="differs")?><th scope="row">(.*?)</th>((?:<td>.*?</td>)+)</tr>', text)
    return [
        (re.sub(r"<.*?>", "", label).split()[-1], bool(differs), re.findall(r"<td>(.*?)</td>", cells))
        for differs, label, cells in rows
    ]


def test_a_report_lists_options_only_where_they_differ() -> None:
    shown = in_report(*(with_option(name, "sync_mode", name) for name in ("standard", "lock")))
    assert shown[0] == ("-sync_mode", True, ["standard", "lock"])
    assert [label for label, _, _ in shown if label.startswith("-")] == ["-sync_mode"]


def test_a_variable_that_some_launches_have_not_set_differs_in_a_report() -> None:
    def side(*environments: dict[str, str] | None) -> Side:
        [launch] = with_option("x", "check", "true").launches
        runs = [msgspec.structs.replace(launch.run, environment=environment) for environment in environments]
        return Side(name="x", launches=[msgspec.structs.replace(launch, run=run) for run in runs])

    assert in_report(side({"UCX_TLS": "tcp"}, {}))[0] == ("$UCX_TLS", True, ["tcp; unset"])
    assert in_report(side({"UCX_TLS": "tcp"}), side({}))[0] == ("$UCX_TLS", True, ["tcp", "unset"])
    assert in_report(side({"UCX_TLS": "tcp"}), side(None))[0] == ("$UCX_TLS", True, ["tcp", "unknown"])


def test_a_variable_that_imb_set_is_known_by_that_value() -> None:
    """Of a program whose records do not have variables."""
    [launch] = with_option("x", "check", "true").launches
    facts = {"conditions": {"environment": {"UCX_TLS": "tcp"}}, "intent": {"env": {"UCX_TLS": "sm"}}}
    run = msgspec.structs.replace(launch.run, environment=None)
    assert conditions_of(msgspec.structs.replace(launch, run=run, facts=facts))["$UCX_TLS"] == "sm"


@pytest.mark.slow
def test_a_busy_neighbor_is_a_condition(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    """Of launches that wait, so all CPU time is that of others."""
    options = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(launcher.read_text() + "sleep 1\n")
    # Both CPUs or more: what else uses this machine cannot hide them.
    with contextlib.ExitStack() as hogs:
        said = imb("run", "PingPong", *options, "--label", "a")
        for _ in range(2 * (os.cpu_count() or 1)):
            hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            hogs.callback(hog.wait)
            hogs.callback(hog.kill)
        said = imb("run", "PingPong", *options, "--label", "b")
        assert said.code == 0
    loads = {archive.tags()[name].labels[0]: archive.run(name).facts()["load"] for name in archive.ids()}
    assert loads["b"]["other_cpus"] > 0.8 * (os.cpu_count() or 1) and loads["b"]["runnable"] >= 1


def test_a_busy_neighbor_is_named() -> None:
    def side(name: str, *cpus: float) -> Side:
        return Side(name=name, launches=[launch for used in cpus for launch in launches_of(
            read(fake_mpi.records(77.0), name), name, {"load": {"other_cpus": used, "stolen_cpus": 0.0}})])  # fmt: skip

    quiet, busy = side("a", 0.03, 0.03), side("b", 1.4, 1.45, 0.9)
    assert differences(quiet, busy) == [Difference("CPU used by other processes", ["3 %"], ["90 % to 145 %"])]
    assert differences(quiet, side("c", 0.1)) == []
    crowded, more = side("d", 1.2, 1.3), side("e", 1.25)
    for launches, counts in ((crowded, (1, 2)), (more, (3,))):
        for launch, count in zip(launches.launches, counts, strict=True):
            launch.facts["load"]["runnable"] = count
    assert differences(crowded, more) == [Difference("runnable processes at the start", ["1 to 2"], ["3"])]


def test_libraries_behind_one_binary_interface_name_it() -> None:
    """It is no difference, but the executable can be the same because of it."""
    text = (EXAMPLES / "complete.jsonl").read_bytes()

    def side(name: str, library: str, interface: str) -> Side:
        said = text.replace(b"MPICH Version: 4.3.0", library.encode())
        if interface:
            said = said.replace(b'"build":{', f'"build":{{"interface":"{interface}",'.encode())
        return Side(name=name, launches=[*launches_of(read(said, name), name, {})])

    one, other = "MPICH 5", "Intel MPI 2021"
    (found,) = differences(side("a", one, "MPI ABI"), side("b", other, "MPI ABI"))
    assert found == Difference("MPI library", [f"{one}, MPI ABI"], [f"{other}, MPI ABI"])
    assert differences(side("a", one, "MPI ABI"), side("b", one, "MPI ABI")) == []
    assert differences(side("a", one, "MPI ABI"), side("b", other, "MPICH ABI")) == [
        Difference("MPI library", [one], [other]),
        Difference("binary interface", ["MPI ABI"], ["MPICH ABI"]),
    ]
    for of_a in ("", "MPI ABI"):
        assert differences(side("a", one, of_a), side("b", other, "")) == [
            Difference("MPI library", [one], [other])
        ]


def test_compare_and_check_name_a_busy_neighbor(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here its CPU time is made up: 0.03 CPUs, then 1.4."""
    at = busy = 0.0
    rate = 0.03

    def reading() -> Moment:
        nonlocal at, busy
        at, busy = at + 1.0, busy + rate
        return Moment(at=at, busy=busy, stolen=0.0, own=0.0, waiting=None, runnable=0)

    monkeypatch.setattr("imb.mpi.load.moment", reading)
    options = fake_mpi.make(tmp_path / "mpi")
    assert imb("run", "PingPong", *options, "--launches", 3, "--label", "a").code == 0
    assert imb("baseline", "set", "base", "a").code == 0
    rate = 1.4
    assert imb("run", "PingPong", *options, "--launches", 3, "--label", "b").code == 0
    for words in (["compare", "a", "b"], ["baseline", "check", "base", "b"]):
        said = imb(*words)
        [line] = [line for line in said.out.splitlines() if line.startswith("CPU used by other processes")]
        assert line.split("  ", 1)[1].split() == ["3", "%", "140", "%"], said.out
    assert "CPU used" not in imb("compare", "b", "b").out


def test_progress_in_passes_is_the_share_of_the_limits() -> None:
    run, row, sample = (EXAMPLES / "passes.jsonl").read_bytes().splitlines()[:3]
    progress = Progress()
    progress.feed(run)
    progress.feed(row)
    progress.feed(sample.replace(b'"at_seconds":0.0078125', b'"at_seconds":2.5'))
    assert (progress.fraction, progress.benchmark, progress.bytes) == (0.5, "PingPong", 8)
    counted = Progress()
    counted.feed(run.replace(b'"passes":null', b'"passes":4').replace(b'"budget":5', b'"budget":null'))
    counted.feed(sample.replace(b'"pass":1', b'"pass":4'))
    assert counted.fraction == 0.75


def test_progress_knows_the_number_of_counts() -> None:
    progress = Progress()
    options: dict[str, object] = {"msgsize": None, "count": [1, 2, 4, 8], "msglog": "0:22", "npmin": 2}
    for record in (
        Run(component="MT", benchmarks=["PingPongMT"], ranks=[Rank(0, "a"), Rank(1, "a")], options=options),
        Result(benchmark="PingPongMT", multi="off", processes=2, bytes=4),
    ):
        progress.feed(write([record]).strip())
    assert progress.fraction == 0.25


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


@pytest.mark.parametrize(
    ("flavor", "text", "said"),
    [
        (
            "openmpi",
            "Connection summary: (pml)\n  on-host:  all connections are sm\n  off-host: all connections are n/a\n",
            "on-host sm",
        ),
        (
            "openmpi",
            "  on-host:  all connections are tcp\n  off-host: all connections are tcp\n",
            "on-host tcp, off-host tcp",
        ),
        ("mpich", "==== UCX netmod Capability ====\nMPIDI_UCX_RANK_BITS: 16\n", "netmod ucx"),
        (
            "intel",
            "[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n",
            "provider tcp;ofi_rxm",
        ),
        (
            "mpich",
            "provider: tcp, score = 4, pref = 0, FI_SOCKADDR_IN [16] 192.0.2.2\n"
            "==== Capability set configuration ====\nlibfabric provider: sockets - 192.0.2.0/24\n",
            "provider sockets",
        ),
        ("mpich", "openimb-check 2 1 0.5 MPICH\n", None),
        ("other", "on-host: sm\n", None),
    ],
)
def test_transports_that_an_mpi_names_itself(flavor: str, text: str, said: str | None) -> None:
    assert mpis.transports_in(mpis.mpi_of(flavor), text) == said


def test_doctor_has_the_word_of_the_mpi_beside_the_measured_path() -> None:
    text = "openimb-check 2 1 0.3 x\nopenimb-path 33554432 lo=0\n"
    finding = readiness_checks.launch_check(
        "two ranks", "mpiexec", LaunchEnd(outcome="finished", status=0, seconds=0.5), text, [], "on-host sm"
    )
    assert "by shared memory (the MPI itself: on-host sm)" in finding.found


def test_logs_differ_by_their_arguments(imb: Imb, tmp_path: Path) -> None:
    """A log has no options; where the names of output files differ, nothing does."""
    text = (Path(__file__).parents[1] / "reference" / "rma-np2.txt").read_bytes()
    was = b"# IMB-RMA -iter 20 -msglog 2"
    assert was in text
    for name, words in (("a", b""), ("b", b" -sync_mode lock"), ("c", b" -json c.jsonl")):
        (tmp_path / f"{name}.log").write_bytes(text.replace(was, was + words))
    said = imb("compare", tmp_path / "a.log", tmp_path / "b.log")
    assert "-sync_mode lock" in said.out, said.out
    same = imb("compare", tmp_path / "a.log", tmp_path / "c.log")
    assert "-json" not in same.out and "No known environment differences" in same.out, same.out


@pytest.fixture
def beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment with the MPI of two packages: the second has overwritten the launcher of the first."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("mpiexec", "mpirun"):  # copies, as packages have them
        (folder / name).write_text("#!/bin/sh\necho 'HYDRA build details:'\necho '    Version:    5.0.2'\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setattr(installations, "packaged_programs", lambda: tmp_path)
    monkeypatch.setattr(installations, "_folders", lambda: [folder])
    packages = {"mpich": ["5.0.2"], "openmpi": ["5.0.11"]}
    monkeypatch.setattr("importlib.metadata.distributions", lambda name: packages.get(name, []))
    return folder


def test_an_mpi_with_two_launchers_is_listed_once(beside_python: Path) -> None:
    (one,) = installations.find_all()
    assert (one.version, one.launcher) == ("MPICH 5.0.2", str(beside_python / "mpiexec"))


def test_a_package_whose_launcher_is_anothers_is_named(beside_python: Path) -> None:
    assert installations.overwritten_packages(installations.find_all()) == ["openmpi"]


@pytest.mark.parametrize("name", ["mpicxx", "mpiCC", "mpic++", "mpicxx.mpich", "mpiicpx", "smpicxx", "CC"])
def test_wrappers_are_known_by_their_names(name: str) -> None:
    assert compiler_wrappers.is_wrapper(Path("/x", name))
    assert not compiler_wrappers.is_wrapper(Path("/x", "prterun")) and not compiler_wrappers.is_wrapper(
        Path("/x", "python3")
    )
