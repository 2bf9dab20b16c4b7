"""imb health: sessions, limits, verdicts and exit statuses, with an MPI that measures what it is told; its rule on drawn values."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import lab
import msgspec
import numpy as np
import pytest
from companion import cluster, fake_mpi
from companion.door import Imb, Said
from imb.health import checks, limits
from imb.health.figure_state import FigureState
from imb.health.health_experiment import CheckExperiment
from imb.health.health_planning import add_launch, learning_plan
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.records import End, Failure, Mpi, Run, write
from imb.mpi import installations, load, suite_build
from imb.runner.experiment import Next

US = 1e-6


def ago(**past: float) -> str:
    return (datetime.now(UTC) - timedelta(**past)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Site:
    """A host with a file of sessions, and an MPI whose next launches take these times (microseconds)."""

    def __init__(self, folder: Path, imb: Imb, times: Path) -> None:
        self.file, self._imb, self._times = folder / "state" / "health.json", imb, times
        self.log = folder / "log"
        self.options = fake_mpi.make(folder / "mpi")

    def __call__(self, *words: object, times: Sequence[int] = ()) -> Said:
        self._times.write_text("".join(f"{time}\n" for time in times))
        self.log.write_text("")
        return self._imb("health", "--file", self.file, *words)

    @property
    def launches(self) -> int:
        return len(self.log.read_text().splitlines())

    def learn(self, sessions: int = 50) -> None:
        """One by the command, and as many others with times of 1.1 to 1.4 µs."""
        said = self("--learn", *self.options, "--np", "2", times=[1] * 4)
        assert said.code == 0 and f"session 1 of 50 in {self.file}: PingPong 8 bytes 1.01 µs" in said.out, (
            said
        )

        def add(kept: dict[str, Any]) -> None:
            [first] = kept["sessions"]
            others = [
                {**first, "at": ago(hours=2 * number),
                 "values": {"PingPong 8 bytes": [(1.1 + 0.3 * (number + turn) / (sessions + 4)) * US for turn in range(4)]}}
                for number in range(sessions, 1, -1)
            ]  # fmt: skip
            kept["sessions"] = [*others, first][:sessions]

        self.edit(add)

    def run_is(self, **facts: Any) -> None:
        """What its launches record of themselves."""
        for file in Path(str(self.options[1]), "bin").glob("records-*"):
            run, *rest = file.read_bytes().splitlines(True)
            changed = {**json.loads(run), **msgspec.to_builtins(facts)}
            file.write_bytes(b"".join([json.dumps(changed).encode() + b"\n", *rest]))

    def learn_again(self, *words: object) -> Said:
        """Less than 50, and the last one long ago."""
        self.edit(lambda kept: kept["sessions"].pop())
        return self("--learn", *words)

    def edit(self, change: Callable[[dict[str, Any]], None]) -> None:
        kept = json.loads(self.file.read_text())
        change(kept)
        self.file.write_text(json.dumps(kept))

    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found


@pytest.fixture
def site(tmp_path: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(
        "imb.health.health_command._start_of_process", time.monotonic
    )  # this process began with the first test
    monkeypatch.setattr(load, "load_between", lambda before, after: None)  # tests beside this one
    found = Site(tmp_path, imb, tmp_path / "times")
    monkeypatch.setenv("FAKE_TIMES", str(tmp_path / "times"))
    monkeypatch.setenv("FAKE_LOG", str(found.log))
    return found


# --- Sessions --------------------------------------------------------------------------------------------------------


def test_sessions_are_learned_an_hour_apart(site: Site, tmp_path: Path) -> None:
    other = fake_mpi.make(tmp_path / "other")[1]
    site.learn(1)
    assert site.launches == limits.LAUNCHES
    assert oct(site.file.stat().st_mode & 0o777) == "0o644"
    said = site("--learn")
    assert said.code == 0 and said.out.startswith("the last session in ") and site.launches == 0

    def earlier(kept: dict[str, Any]) -> None:
        kept["sessions"][-1]["at"] = ago(hours=1)

    site.edit(earlier)
    assert "session 2 of 50" in site("--learn", times=[1]).out
    assert [len(s["values"]["PingPong 8 bytes"]) for s in site.kept()["sessions"]] == [4, 4]
    for words in (["--np", "4"], ["--bytes", "16"], ["-b", "PingPing"], ["--mpi", other]):
        said = site("--learn", *words, "--strict")
        assert said.code == 2 and "has sessions of another MPI, --np, --benchmark or --bytes" in said.err, (
            words
        )

    site.edit(earlier)
    same = ["--np", "2", "--bytes", "8,1048576", "-b", "PingPong", "-b", "Allreduce"]
    said = site("--learn", *site.options, *same, times=[1])  # cron has the same line every hour
    assert said.code == 0 and "session 3 of 50" in said.out, said
    site.edit(lambda kept: kept["sessions"].pop())
    said = site("--strict")
    assert said.code == 2 and "has 2 sessions, a check needs 16" in said.err


def test_the_component_of_sessions_is_built(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build has only those that launches have needed."""
    mpi = Path(str(site.options[1]))
    folder = suite_build.build_folder(suite_build.build_key(installations.find(str(mpi))))
    folder.mkdir(parents=True)
    (folder / "IMB-RMA").touch()
    built = Mock(return_value=mpi / "bin")
    monkeypatch.setattr("imb.cli.launching.build_programs", built)
    said = site("--learn", "--mpi", mpi, "--np", "2", times=[1] * 4)
    assert said.code == 0 and "session 1 of 50" in said.out, said
    assert built.call_args.args[2] == ["MPI1"]


def test_fifty_sessions_are_enough(site: Site) -> None:
    site.learn()
    before = site.file.read_text()
    said = site("--learn")
    assert said.code == 0 and said.out.startswith("50 sessions in ") and site.launches == 0
    assert site.file.read_text() == before


# --- Verdicts --------------------------------------------------------------------------------------------------------


def test_one_launch_within_the_limit_makes_a_host_healthy(site: Site) -> None:
    """What it can see, the formula and the rate measured on the host's own sessions are printed."""
    site.learn()
    assert site(times=[1]).out.startswith("healthy: ") and site.launches == 1
    said = site(times=[9, 9, 9, 1])
    assert said.code == 0 and site.launches == 4
    verdict, sees, wrong = said.out.splitlines()
    assert verdict.startswith("healthy: ") and verdict.endswith(": PingPong 8 bytes 9.01 µs")
    # The fifth largest of 50 is 1.36 µs; the least of all values 1.007 µs. Sessions became faster: the first four are slow.
    assert sees == "sees slowdowns of 34.6 % (PingPong 8 bytes) in 98 of 100 checks"
    assert wrong == (
        "false suspects: 1 in 4,518 checks if values are independent; of the 50 sessions in their order 4,"
        " of 1 check so far 0 (true ones included)"
    )


def test_a_second_suspect_makes_a_host_bad(site: Site) -> None:
    site.learn()

    def first_was(minutes: float) -> None:
        def change(kept: dict[str, Any]) -> None:
            kept["watched"]["PingPong 8 bytes"]["suspect"] = ago(minutes=minutes)

        site.edit(change)

    said = site(times=[2] * 4)
    assert (said.code, said.err, site.launches) == (0, "", 4)
    assert "suspect; nothing measured" in site.learn_again().out
    [line] = said.out.splitlines()
    assert (
        line.startswith("suspect: ") and "PingPong 8 bytes takes " in line and "median of 50 sessions" in line
    )
    first_was(2)
    assert site(times=[2] * 4).out.startswith("suspect: ")  # too soon
    assert site("--strict", times=[2] * 4).code == 11
    first_was(6)
    said = site(times=[2] * 4)
    assert said.code == 1 and said.out.startswith("bad: ") and "; suspect since 20" in said.out
    assert len(said.out.splitlines()) == 1
    assert site("--strict", times=[2] * 4).code == 1
    assert site(times=[1]).out.startswith("healthy: ")  # which clears it
    assert "of 6 checks so far 5" in site(times=[1]).out
    assert site(times=[2] * 4).out.startswith("suspect: ")


def test_hosts_are_listed_with_the_worst_first(site: Site, imb: Imb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one folder, where a job on each host keeps its file."""
    site.learn()
    folder, here = site.file.parent, socket.gethostname()

    def of_host(name: str, **facts: Any) -> None:
        (folder / f"{name}.json").write_text(json.dumps({**site.kept(), "host": name, **facts}))

    def listed() -> tuple[int, list[list[str]]]:
        said = imb("health", "--list", "--file", folder, "--strict")
        assert said.err == "" and said.out.startswith("verdict ")
        rows = said.out.replace("not checked", "not_checked").splitlines()[1:]
        return said.code, [row.split(maxsplit=6) for row in rows]

    of_host("n2")
    of_host("n10", sessions=site.kept()["sessions"][:3])
    code, rows = listed()
    assert (code, len(rows), rows[-1][:2]) == (11, 3, ["learning", "n10"])
    assert {row[0] for row in rows[:2]} == {"not_checked"}
    assert site(times=[1]).out.startswith("healthy: ")
    of_host("n2", last={"at": ago(hours=1), "verdict": "suspect"})
    code, rows = listed()
    assert (code, [row[:2] for row in rows]) == (
        11,
        [["suspect", "n2"], ["learning", "n10"], ["healthy", here]],
    )
    assert site("--strict", times=[9] * 4).code == 11
    site.edit(lambda kept: kept["watched"]["PingPong 8 bytes"].update(suspect=ago(minutes=6)))
    assert site("--strict", times=[9] * 4).code == 1
    code, (worst, *rest) = listed()
    assert (code, worst[:2], worst[4:6]) == (1, ["bad", here], ["3", "2"])
    assert worst[6].startswith("PingPong 8 bytes since 20")

    # A check without an answer does not hide that.
    monkeypatch.setattr(CheckExperiment, "next", lambda *words: Next(stop="out of time"))
    site()
    assert site.kept()["checks"] == 4
    assert listed() == (code, [[*worst[:4], "4", *worst[5:]], *rest])

    (folder / "broken.json").write_text("{")
    said = imb("health", "--list", "--file", site.file)
    assert len(said.out.splitlines()) == 4 and said.code == 1
    assert len(said.err.splitlines()) == 1 and "broken.json is not a file of imb health" in said.err
    assert said.err.endswith("ignored\n")


def test_a_list_of_no_hosts(imb: Imb, tmp_path: Path) -> None:
    for words, line in (
        (["--file", tmp_path], f"imb: no files of imb health in {tmp_path}; measure"),
        (["--within", "2"], "imb: --within cannot be combined with --list"),
    ):
        said = imb("health", "--list", "--strict", *words)
        assert said.code == 2 and said.out == "" and said.err.startswith(line) and said.err.count("\n") == 1


def test_a_check_out_of_time_is_continued_by_the_next(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.learn()

    def last_of_four(kept: dict[str, Any]) -> None:
        kept["watched"] = {"PingPong 8 bytes": {"beyond": 3}}

    def slow_launches(kept: dict[str, Any]) -> None:
        for session in kept["sessions"]:
            session["seconds"] = 1.2

    site.edit(last_of_four)
    said = site(times=[2])
    assert said.out.startswith("suspect: ") and site.launches == 1
    site.edit(slow_launches)
    said = site("--within", "1")
    assert (said.code, site.launches) == (0, 0)
    assert said.out.startswith("inconclusive: ") and "time is up: a launch takes 1.2 s" in said.out
    assert site("--within", "1", "--strict").code == 11
    measured = checks.measure
    monkeypatch.setattr(checks, "measure", lambda *words: measured(*words)._replace(seconds=9.9))
    said = site(times=[2] * 4)
    assert site.launches == 1 and "beyond the limit in 1 of 4 launches; the next check continues" in said.out
    assert "suspect" in site.kept()["watched"]["PingPong 8 bytes"]  # still


# --- What is no verdict ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "no limits: "),
        (["--within", "soon"], "'--within': not a valid number"),
        (["--wihtin", "5"], "No such option: --wihtin"),
        (["--np", "2"], "--np needs --learn"),
        (["--learn", "--within", "5"], "--within cannot be combined with --learn"),
        (["--learn", "-b", "PingPong", "-b", "Accumulate"], "ambiguous benchmark"),
        (["--learn", "-b", "PingPong", "-b", "Ibcast"], "one component, not of MPI1, NBC"),
        (["--learn", "--bytes", "1K"], "--bytes: not message sizes: 1K"),
        (["--learn", "--mpi", "/no/mpi"], "no MPI /no/mpi"),
    ],
)
def test_errors_exit_with_0_unless_strict(site: Site, words: list[str], line: str) -> None:
    said = site(*words)
    assert (said.code, said.out) == (0, "") and line in said.err
    assert len(said.err.splitlines()) == 1
    assert "--learn" in words or not site.file.parent.exists()  # a misspelled name leaves nothing
    assert site(*words, "--strict").code == 2


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_names_the_file(site: Site, imb: Imb) -> None:
    line = (
        f"imb: no home folder: HOME is not set, and passwd has no user {os.getuid()};"
        " give --file, or set HOME or XDG_STATE_HOME\n"
    )
    for words in ([], ["--learn", *site.options], ["--list"]):
        assert imb("health", *words) == Said(0, "", line), words
    assert imb("health", "--strict") == Said(2, "", line)
    site.learn()
    said = site(times=[1] * 4)
    assert said.code == 0 and "healthy" in said.out, said


@pytest.mark.parametrize(
    ("launcher", "why"),
    [
        ("echo 'node is on fire' >&2; exit 7", "the launch did not complete: node is on fire"),
        ("exit 7", "the launch did not complete: failed with exit status 7"),
    ],
)
def test_a_failed_launch_is_inconclusive(site: Site, launcher: str, why: str) -> None:
    site.learn()
    Path(str(site.options[1]), "bin", "mpiexec").write_text(f"#!/bin/sh\n{launcher}\n")
    said = site()
    assert said.code == 0 and said.out.startswith("inconclusive: ") and why in said.out
    assert site("--strict").code == 11


def test_the_cause_of_a_row_that_was_not_measured_is_named(site: Site) -> None:
    site.learn()
    failure = Failure(benchmark="PingPong", processes=2, cause="out_of_memory", detail="3 GiB needed")
    records = Path(str(site.options[1]), "bin", "records-2")
    records.write_bytes(write([Run(component="MPI1"), failure, End(state="complete", measured=0)]))
    said = site()
    assert said.code == 0 and "PingPong was not measured: out of memory: 3 GiB needed" in said.out, said


def test_a_busy_host_is_inconclusive(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.learn()
    busy = load.Load(other_cpus=1.5, stolen_cpus=0.0)
    monkeypatch.setattr(load, "load_between", lambda before, after: busy)
    said = site(times=[2] * 4)
    assert (
        said.out.startswith("inconclusive: ")
        and "PingPong 8 bytes beyond the limit while other processes used 1.5 CPUs" in said.out
    )
    assert site.launches == 1
    assert site(times=[1]).out.startswith("healthy: ")


@pytest.mark.parametrize(
    ("kept", "line", "launches"),
    [
        ({"host": "n17"}, "has sessions of host n17, now ", 0),
        ({"library": "MPICH 3"}, "has sessions of MPI MPICH 3, now MPICH 5.0.2;", 1),
        ({"settings": {"UCX_TLS": "rc"}}, "has sessions of $OMPI_MCA_btl unset, now tcp and $UCX_TLS rc, now unset;", 1),
    ],
)  # fmt: skip
def test_sessions_of_other_conditions_judge_nothing(
    site: Site, kept: dict[str, Any], line: str, launches: int
) -> None:
    """Another host, MPI or setting of its transports: neither checks nor further sessions."""
    site.run_is(mpi=Mpi(name="MPICH 5.0.2"), environment={"OMPI_MCA_btl": "tcp", "OMPI_MCA_x": "1"})
    site.learn()
    assert site.kept()["settings"] == {"OMPI_MCA_btl": "tcp"}
    site.edit(lambda now: now.update(kept))
    before = site.kept()
    said = site("--strict")
    assert said.code == 2 and line in said.err and site.launches == launches
    assert {**site.kept(), "last": None} == {**before, "last": None}
    said = site.learn_again("--strict")
    assert said.code == 2 and line in said.err and site.launches == launches


def test_a_check_that_can_never_judge_is_listed(site: Site, imb: Imb) -> None:
    """It is no bad host; it would stay the last verdict of a check that could."""
    site.run_is(environment={"UCX_TLS": "rc"})
    site.learn()
    assert site(times=[1]).out.startswith("healthy: ")
    site.run_is(environment={"UCX_TLS": "tcp"})
    said = site(times=[1])
    assert (said.code, said.out) == (0, "") and said.err == (
        f"imb: cannot judge: {site.file} has sessions of $UCX_TLS rc, now tcp; remove it and learn again\n"
    )
    listed = imb("health", "--list", "--file", site.file, "--strict")
    assert listed.code == 11 and listed.out.splitlines()[1].startswith("cannot judge ")
    assert listed.out.rstrip().endswith("sessions of $UCX_TLS rc, now tcp")
    site.run_is(environment={"UCX_TLS": "rc"})
    assert site(times=[1]).out.startswith("healthy: ")
    assert "cannot judge" not in imb("health", "--list", "--file", site.file).out
    site.edit(lambda kept: kept.update(last={"at": ago(), "verdict": "bad"}))
    site.edit(lambda kept: kept["watched"]["PingPong 8 bytes"].update(suspect=ago(minutes=6)))
    site.run_is(environment={"UCX_TLS": "tcp"})
    site()
    assert site.kept()["last"]["verdict"] == "bad"  # still


@pytest.mark.parametrize(
    ("flavor", "version", "read"),
    [
        ("openmpi", "Open MPI 5.0.9", ["OMPI_MCA_btl"]),
        ("mpich", "MPICH 5.0.2", ["MPIR_CVAR_NOLOCAL"]),
        ("intel", "Intel MPI 2021.13", ["I_MPI_SHM", "MPIR_CVAR_NOLOCAL"]),
        ("other", "Cray MPICH 8.1", ["MPICH_NO_LOCAL", "MPIR_CVAR_NOLOCAL"]),
        ("other", "unknown", ["I_MPI_SHM", "MPICH_NO_LOCAL", "MPIR_CVAR_NOLOCAL", "OMPI_MCA_btl"]),
    ],
)
def test_variables_of_other_mpis_are_no_conditions(
    site: Site, flavor: str, version: str, read: list[str]
) -> None:
    """A module that sets some for another MPI would refuse every later check; so would files that have them already."""
    both = {"UCX_TLS": "rc"}
    every = ["OMPI_MCA_btl", "MPIR_CVAR_NOLOCAL", "I_MPI_SHM", "MPICH_NO_LOCAL"]
    site.learn()

    def of_this_mpi(kept: dict[str, Any]) -> None:
        kept["mpi"] |= {"flavour": flavor, "version": version}

    site.edit(of_this_mpi)
    for name in every:

        def learned_with_it(kept: dict[str, Any], variable: str = name) -> None:
            kept["settings"] = {**both, variable: "1"}

        site.edit(learned_with_it)
        site.run_is(environment=both)
        kept = checks.load_file(site.file)
        assert kept is not None and checks.transport_variables(
            kept.mpi, {"UCX_TLS": "", name: ""}
        ).keys() == {
            "UCX_TLS",
            *({name} & {*read}),
        }
        if flavor == "openmpi":  # as the launcher is
            said = site(times=[1])
            assert (f"cannot judge: {site.file} has sessions of ${name} 1, now unset" in said.err) == (
                name in read
            )
            assert said.out.startswith("healthy: ") == (name not in read)


def test_a_launcher_that_is_to_use_a_scheduler_is_not_in_a_prolog(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hydra waits for ever for a job that is not there; what chooses another launcher stays."""
    site.learn()
    launcher = Path(str(site.options[1]), "bin", "mpiexec")
    names = (
        "HYDRA_LAUNCHER",
        "HYDRA_BOOTSTRAP",
        "HYDRA_RMK",
        "I_MPI_HYDRA_BOOTSTRAP",
        "PRTE_MCA_plm",
        "OMPI_MCA_ras",
    )
    check = '[ "$HYDRA_LAUNCHER_EXEC" = /usr/bin/ssh ] || { echo "no ssh" >&2; exit 1; }\n'
    check += "".join(f'[ -z "${name}" ] || {{ echo {name} >&2; exit 1; }}\n' for name in names)
    launcher.write_text(launcher.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{check}", 1))
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", "/usr/bin/ssh")
    for name in names:
        monkeypatch.setenv(name, "slurm")
    assert site(times=[1]).out.startswith("healthy: ")
    monkeypatch.setenv("HYDRA_LAUNCHER", "ssh")
    said = site(times=[1])
    assert said.out.startswith("inconclusive: ") and said.out.rstrip().endswith("HYDRA_LAUNCHER"), said


def test_a_file_that_changes_during_a_check_is_left_alone(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who removes it, as after an update of the MPI, does not get its old sessions back."""
    site.learn()
    measured = checks.measure

    def remove(*words: Any) -> checks.HealthLaunch:
        site.file.unlink(missing_ok=True)
        return measured(*words)

    monkeypatch.setattr(checks, "measure", remove)
    said = site("--strict", times=[1])
    assert said.code == 2 and "was changed or removed meanwhile" in said.err
    assert not site.file.exists()


def test_a_launch_without_a_figure_is_no_session(site: Site) -> None:
    """Limits are of figures that all sessions have."""
    site.learn()

    def with_another(kept: dict[str, Any]) -> None:
        for session in kept["sessions"]:
            session["values"]["Allreduce 8 bytes"] = [1.0] * 4

    site.edit(with_another)
    said = site("--strict")
    assert said.code == 11 and "the launch has no time of Allreduce 8 bytes" in said.out
    said = site.learn_again("--strict")
    assert said.code == 11 and "the launch has no time of Allreduce 8 bytes" in said.err
    assert len(site.kept()["sessions"]) == 49


def test_a_clock_that_was_set_back(site: Site) -> None:
    site.learn()
    site.edit(lambda kept: kept["watched"].update({"PingPong 8 bytes": {"suspect": ago(hours=-9)}}))
    assert site(times=[2] * 4).out.startswith("suspect: ")
    assert site.kept()["watched"]["PingPong 8 bytes"]["suspect"] <= ago()
    site(times=[1])

    def later(kept: dict[str, Any]) -> None:
        kept["sessions"][-2]["at"] = ago(hours=-9)

    site.edit(later)
    assert "session 50 of 50" in site.learn_again().out


def test_files_that_are_not_usable(site: Site) -> None:
    site.learn()
    site.file.chmod(0o666)
    assert "others may write it" in site("--strict").err
    site.file.chmod(0o644)
    lock = site.file.with_name(".health.json.lock").open()
    fcntl.flock(lock, fcntl.LOCK_EX)
    said = site("--strict")
    assert said.code == 11 and "another imb health is running" in said.err
    lock.close()
    site.file.write_text('{"format": "openimb-health/1"')
    said = site("--strict")
    assert said.code == 2 and "is not a file of imb health" in said.err


def test_an_error_of_imb_is_no_bad_host(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A traceback exits with 1, and so do some errors of other commands."""
    site.learn()
    monkeypatch.setattr(checks, "measure", Mock(side_effect=ImbError("no build", status=1)))
    said = site()
    assert (said.code, said.err) == (0, "imb: no build\n")
    assert site("--strict").code == 3
    monkeypatch.setattr(limits, "HealthCheck", None)
    said = site()
    assert said.code == 0 and "imb: an error of imb: TypeError: " in said.err
    assert site("--strict").code == 3


def test_a_bad_host_is_bad_whatever_takes_the_verdict(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line does not get to a full disk; the status does."""
    site.learn()
    monkeypatch.setattr(
        "imb.health.health_text.print_verdict",
        Mock(side_effect=OSError(28, "No space left", "standard output")),
    )
    assert site(times=[1]).code == 0
    assert site("--strict", times=[1]).code == 2
    site.edit(lambda kept: kept["watched"].update({"PingPong 8 bytes": {"suspect": ago(minutes=9)}}))
    said = site(times=[2] * 4)
    assert said.code == 1 and "is bad; standard output: No space left" in said.err


# --- Surroundings ----------------------------------------------------------------------------------------------------

_WITHOUT_NUMPY = """
import sys
from imb.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
assert not {"numpy", "scipy", "pyarrow", "duckdb"} & sys.modules.keys()
"""


def alone(
    site: Site, words: Sequence[object], within: int, **more: str
) -> tuple[subprocess.CompletedProcess[str], float]:
    """As a prolog calls it: a process of its own, without HOME; and its seconds."""
    variables = {**os.environ, **more}
    variables.pop("HOME", None)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, *map(str, words), "health", "--file", site.file, "--within", str(within)],
        env=variables,
        capture_output=True,
        text=True,
    )
    return done, time.monotonic() - began


def test_a_check_in_a_prolog(site: Site) -> None:
    """It loads no NumPy, and its launcher gets no variables of a scheduler."""
    site.learn()
    launcher = Path(str(site.options[1]), "bin", "mpiexec")
    refuse = '#!/bin/sh\n[ "$HOME" ] || exit 7; env | grep -E "^(SLURM|PMI|PMIX|PBS)" >&2 && exit 243\n'
    launcher.write_text(launcher.read_text().replace("#!/bin/sh\n", refuse, 1))
    done, _ = alone(
        site,
        ["-c", _WITHOUT_NUMPY],
        10,
        SLURM_JOB_ID="1", SLURM_NODELIST="n[1-2]", PMI_RANK="0", PMIX_RANK="0", PBS_NODEFILE="/x",
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.startswith("healthy: "), done


def test_surroundings_in_which_imb_cannot_start(tmp_path: Path) -> None:
    """Before any command: the current folder is gone, standard output is closed."""
    for begin, line in (
        ("cd gone && rmdir ../gone", "the current folder"),
        ("exec >&-", "standard output is closed"),
    ):
        (tmp_path / "gone").mkdir(exist_ok=True)
        words = [
            "sh",
            "-c",
            f"{begin}; {sys.executable} -m imb health; echo $? >&2; {sys.executable} -m imb health --strict",
        ]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        first, status, second = done.stderr.splitlines()
        assert line in first and line in second and (status, done.returncode) == ("0", 2)


def test_a_launch_is_not_begun_that_would_not_end_in_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left has the seconds in which a launch is ended, too."""
    site.learn()

    def slow_launches(kept: dict[str, Any]) -> None:
        for session in kept["sessions"]:
            session["seconds"] = 1.5

    site.edit(slow_launches)
    assert site("--within", "2").out.startswith("inconclusive: ") and site.launches == 0
    assert site("--within", "3", times=[1]).out.startswith("healthy: ")


@pytest.mark.slow
def test_a_launcher_that_hangs_after_its_records_ends_in_time(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of Open MPI 5 sometimes does. The figures count."""
    site.learn()
    monkeypatch.setattr(checks, "LINGER", 60.0)
    monkeypatch.setenv("FAKE_END", str(tmp_path / "never"))
    said = site("--within", "3", times=[1])
    assert said.out.startswith("healthy: ")
    monkeypatch.setattr(checks, "GRACE", 0.1)
    kept = checks.load_file(site.file)
    assert kept is not None
    plan = add_launch(learning_plan(site.file, kept), kept, 0.5)
    assert 0.5 < checks.measure(plan, plan.items[-1], ()).seconds < 3


@pytest.mark.slow
@pytest.mark.alone
def test_a_launch_that_hangs_ends_in_time(site: Site, tmp_path: Path) -> None:
    site.learn()
    (tmp_path / "hold").touch()
    done, seconds = alone(site, ["-m", "imb"], 2, FAKE_HOLD=str(tmp_path / "hold"))
    assert done.returncode == 0 and done.stdout.startswith("inconclusive: "), done
    assert "the launch did not complete: killed after " in done.stdout or "time is up" in done.stdout
    assert seconds < 2.3  # start and end included


# --- Schedulers ------------------------------------------------------------------------------------------------------

# No other process counts: this machine may have other tests.
_ALONE = f"""#!{sys.executable}
from imb.mpi import load
load.moment = lambda: None
from imb.cli import main
main()
"""


def file_of(path: Path, mpi: lab.Mpi, seconds: float) -> Path:
    """Sessions with this figure; the next value beyond makes the host bad."""
    installation = installations.mpi_of(Path(mpi.wrapper))
    figure = "PingPong 8 bytes"
    session = checks.LearnedSession(at=ago(), seconds=0.5, values={figure: [seconds] * limits.LAUNCHES})
    kept = checks.HealthFile(
        host=socket.gethostname(),
        mpi=installation,
        programs=str(mpi.build / "bin"),
        intent=Intent(ranks=2),
        component="MPI1",
        arguments=["PingPong", "-msgsize", "8", "-iter", "10", "-time", "0.01"],
        sessions=[session] * limits.FEWEST,
        watched={figure: FigureState(beyond=limits.LAUNCHES - 1, suspect=ago(minutes=15))},
    )
    path.unlink(missing_ok=True)
    checks.save(path, kept, None)
    return path


@pytest.mark.needs_mpi
@pytest.mark.alone
def test_a_prolog_and_a_health_check_of_slurm(tmp_path: Path) -> None:
    """With the MPI whose launcher fails with the variables that Slurm sets there. Both drain a bad node, and no other."""
    mpi = next((one for one in lab.MAIN if one.flavor == "openmpi"), lab.MAIN[0])
    imb = tmp_path / "imb"
    imb.write_text(_ALONE)
    imb.chmod(0o755)
    for verdict, seconds in (("healthy", 1.0), ("bad", 1e-12)):
        file_of(tmp_path / f"{verdict}.json", mpi, seconds)
    for name in ("prolog", "healthcheck"):
        script = tmp_path / f"{name}.sh"
        script.write_text(
            f"#!/bin/sh\ncd {tmp_path}; [ -e {name}.on ] || exit 0; read -r verdict < {name}.on\n"
            f"export IMB={imb} IMB_HEALTH={tmp_path}/$verdict.json SLURM_CONF={tmp_path}/slurm.conf PYTHONPATH={lab.TOP}/python\n"
            f"{lab.TOP}/examples/health/{name}.sh; status=$?; echo $verdict >> {name}.done; exit $status\n"
        )
        script.chmod(0o755)
    lines = [
        f"Prolog={tmp_path}/prolog.sh",
        "PrologFlags=Alloc",
        f"HealthCheckProgram={tmp_path}/healthcheck.sh",
    ]
    lines += ["HealthCheckInterval=1", "HealthCheckNodeState=IDLE"]
    with cluster.slurm(tmp_path, nodes=1, more=lines) as conf:
        variables = {**os.environ, "SLURM_CONF": str(conf)}

        def said(*words: str) -> str:
            return subprocess.run(words, env=variables, capture_output=True, text=True).stdout.strip()

        def state() -> str:
            return said("sinfo", "-h", "-o", "%T %E")

        def switch(script: str, verdict: str) -> None:
            (tmp_path / f"{script}.on").write_text(f"{verdict}\n")

        def accepted() -> bool:
            """On a busy machine a check may run out of time, which is no verdict."""
            assert said("srun", "-N1", "echo", "ran") == "ran"
            kept = checks.load_file(tmp_path / "healthy.json")
            return kept is not None and kept.watched == {"PingPong 8 bytes": FigureState()}

        def rejected() -> bool:
            if not said("squeue", "-h"):
                said("sbatch", "-N1", "-o", "/dev/null", "--wrap", "true")
            return state().startswith("drain")

        switch("prolog", "healthy")
        cluster.until(accepted, state)
        switch("prolog", "bad")
        cluster.until(rejected, state)
        assert "prolog" in state().lower(), state()
        said("scancel", "--user=root")
        (tmp_path / "prolog.on").unlink()
        said("scontrol", "update", "nodename=n1", "state=resume")
        switch("healthcheck", "healthy")
        cluster.until(lambda: (tmp_path / "healthcheck.done").exists(), state)
        assert state().startswith("idle")
        file_of(tmp_path / "bad.json", mpi, 1e-12)
        switch("healthcheck", "bad")
        cluster.until(lambda: state().startswith("drain"), state)
        assert "imb health: bad: " in state() and "PingPong 8 bytes takes" in state()


def test_nhc_lines(site: Site) -> None:
    """What NHC's check_cmd_status does with them: a status other than that of -r fails."""
    site.learn()
    [line] = [
        line
        for line in (lab.TOP / "examples" / "health" / "nhc.conf").read_text().splitlines()
        if line[0] != "#"
    ]
    matched, _, check = line.partition(" || ")
    *options, program = (
        check.partition(" /opt/openimb/bin/imb ")[0].split(),
        check.partition("/opt/openimb/bin/imb ")[2],
    )
    assert (matched, options) == ("*", [["check_cmd_status", "-t", "10", "-r", "0"]])
    words = program.split()
    assert words[-2] == "--file" and words[0] == "health"
    assert site(*words[1:-2], times=[1]).code == 0


# --- The rule --------------------------------------------------------------------------------------------------------


def test_the_formula_counts_the_orders() -> None:
    """Of all places that new values can have among all, those in which each new one is beyond the limit."""
    for sessions, rank, launches in ((4, 1, 2), (6, 2, 3), (5, 4, 2)):
        places = list(combinations(range(sessions + launches), launches))
        alarms = 0
        for new in places:
            old = sorted(set(range(sessions + launches)) - set(new))
            alarms += min(new) > old[-rank]
        assert alarms / len(places) == pytest.approx(limits.false_alarms(sessions, rank, launches))
    assert 1 / limits.false_alarms(50, 5, 4) == pytest.approx(4518, abs=0.5)
    assert 1 / limits.false_alarms(10, 2, 8) == pytest.approx(4862, abs=0.5)
    assert (limits.FEWEST, limits.rank_of_limit(16), limits.rank_of_limit(limits.ENOUGH)) == (16, 1, 5)


@pytest.mark.parametrize("degrees", [3, 1000])
def test_drawn_values_have_its_rate(degrees: int) -> None:
    """Whatever the distribution; bench/health.py has more of them, and recorded launches."""
    draws = 100_000
    values = np.random.default_rng(7).standard_t(degrees, (draws, limits.ENOUGH + limits.LAUNCHES))
    rank = limits.rank_of_limit(limits.ENOUGH)
    limit = np.partition(values[:, : limits.ENOUGH], -rank, axis=1)[:, -rank]
    suspects = int((values[:, limits.ENOUGH :].min(axis=1) > limit).sum())
    expected = draws * limits.false_alarms(limits.ENOUGH, rank)
    assert abs(suspects - expected) < 3 * expected**0.5


@pytest.mark.parametrize(
    ("noise", "least", "most"), [(0.02, 0.07, 0.095), (0.05, 0.18, 0.25), (0.17, 0.8, 1.2)]
)
def test_what_a_check_sees(noise: float, least: float, most: float) -> None:
    """8 %, 20 % and a factor of two, in nearly all checks of hosts that are so much slower."""
    random = np.random.default_rng(11)
    seen: list[float] = []
    found = 0
    for _ in range(100):
        drawn = np.exp(random.normal(0, noise, (50, limits.LAUNCHES)))
        sessions = [{"a": values.tolist()} for values in drawn]
        [sensitivity] = limits.sensitivity(sessions)
        seen.append(sensitivity.slowdown)
        check = limits.HealthCheck(limits.limits_of(sessions), {})
        for value in np.exp(random.normal(0, noise, limits.LAUNCHES)) * (1 + sensitivity.slowdown):
            check.add({"a": float(value)})
        found += check.verdict(ago())[0] == "suspect"
    assert least < np.median(seen) < most
    assert found >= 94  # 98 expected


def test_a_usage_error_drains_no_node(imb: Imb) -> None:
    assert "With --strict: 11 suspect or inconclusive, 2 usage error" in " ".join(
        imb("health", "--help").out.split()
    )
    assert imb("health", "--no-such-option").code == 0
    assert imb("health", "--no-such-option", "--strict").code == 2
