"""imb run, doctor: real launches."""

import contextlib
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lab
import psutil
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.model.catalog import kind_of
from imb.model.errors import ImbError
from imb.model.records import Failure, Result, Run, write
from imb.runner.selection import CLASSES, COMPONENTS, select
from imb.store.store import Archive

QUICK = [
    "--precision",
    "100%",
    "--launch-budget",
    "5",
]  # two dozen passes, and time to have them on a busy machine


def with_(mpi: lab.Mpi) -> list[object]:
    return ["--mpi", mpi.wrapper, "--programs", mpi.build / "bin"]


def runs_of(imb: Imb) -> list[dict[str, Any]]:
    return [json.loads(line) for line in imb("ls", "--all", "--format", "json").out.splitlines()]


def test_every_launch_becomes_a_run_with_all_that_is_known(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb(
        "run", "pingpong", "nbc:ibcast_pure", *with_(mpi), "--launches", "2", "--label", "trial", "--cpus", "1,0",
        "--env", "UCX_LOG_LEVEL=error", *QUICK, "--", "-msglog", "3", "-iter", "10",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert len(said.out.partition("\n\n")[0].splitlines()) == 4 and ": 5 rows in " in said.out
    stored = [archive.run(name) for name in archive.ids()]
    assert len(stored) == 4
    for run in stored:
        facts = run.facts()
        # The command that was shown, folded and without the file of its records, is the one that was recorded.
        assert " ".join(facts["command"]).partition(" -json ")[0] in said.err.replace(" \\\n    ", " ")
        assert (facts["exit_status"], facts["outcome"]) == (0, "measured")
        assert facts["conditions"]["machine"]["kernel"] and facts["conditions"]["mpi"]
        assert b"All processes entering MPI_Finalize" in (run.part("output.txt") or b"")
        assert run.part("stderr.txt") is not None
        about: Run = next(run.records().of(Run))
        assert [rank.cpus for rank in about.ranks or []] == ["1", "0"]
        assert about.environment == {"UCX_LOG_LEVEL": "error"} or "UCX_LOG_LEVEL" in str(facts["command"])
        assert archive.tags()[run.id].labels == ["trial"]
    assert len({run.facts()["campaign"] for run in stored}) == 1
    assert {run["benchmarks"] for run in runs_of(imb)} == {"PingPong", "Ibcast_pure"}
    assert imb("archive", "verify").code == 0
    assert imb("run", "--resume").out == ""  # nothing is left to do


@pytest.mark.alone
def test_launches_in_passes_tell_their_parts_of_variance(mpi: lab.Mpi, imb: Imb) -> None:
    words = ["--launches", 3, "--label", "parts", "--", "-passes", 100, "-msglog", "3:6"]
    said = imb("run", "PingPong", *with_(mpi), *words)
    assert said.code == 0, said.err
    _, _, table = said.out.partition("\n\n")
    assert re.match(r"PingPong, 2 ranks\nbytes +launches +t µs +MB/s( +± %)? *\n +0 ", table), said.out
    assert said.out.endswith("next: `imb show parts`\n")
    disturbed = "other processes used" in said.err  # the one cause, in place of statistics
    assert disturbed == ("argest part" not in table and "dominate" not in table)
    shown = imb("show", "parts")
    assert "parts: 3 launches" in shown.out
    block = shown.out[
        shown.out.index("Spread of times: standard deviation, median of 5 rows of 3 launches") :
    ]
    # A machine may be in its fastest state so seldom that no row has an interval.
    known = re.search(r"\n  within a launch +[\d.,]+ % \(95 % interval (±[\d.,]+ %|n/a)\)", block)
    assert known or "error of a launch's median unknown: too few samples for an interval" in block
    heading = re.search(r"(?m)^ *bytes +launches +t µs +MB/s( +± %)?", shown.out)
    # No interval where fewer than two launches of a row count, and the reason is there.
    reasons = ("outside the dominant state of the machine", "error of a launch's median unknown")
    assert heading and (heading[1] or any(reason in shown.out for reason in reasons)), shown.out


def test_a_piped_run_prints_its_table(mpi: lab.Mpi, imb: Imb) -> None:
    """As on a terminal: rows, then the line of the launch, which has why rows are missing."""
    said = imb("run", "PingPong", *with_(mpi), "--", "-msglog", "3:4", "-mem", "1e-8")
    rows = re.search(r"PingPong, 2 ranks\n *bytes +repetitions +t_min µs .*\n +0 ", said.out)
    assert rows and rows.start() < said.out.index("launch 1 of 1, IMB-MPI1: "), said.out
    assert said.code == 1 and said.out.count("PingPong, 8 bytes: ") == 1 and "16 bytes" not in said.out
    shown = imb("show", said.out.splitlines()[-1][:10]).out
    assert re.search(r"(?m)^not measured: PingPong, 2 ranks, 8 bytes and 1 other row: ", shown), shown


def test_a_launch_that_hangs_is_reported_and_the_others_follow(
    mpi: lab.Mpi, imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.mpi.launch.GRACE", 0.1)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "IMB-MPI1").write_text("#!/bin/sh\ntrap '' TERM\necho began\nsleep 120\n")
    (programs / "IMB-MPI1").chmod(0o755)
    (programs / "IMB-RMA").symlink_to(mpi.program("RMA"))
    before = session_folders()
    said = imb(
        "run", "pingpong", "rma:unidir_put", "--mpi", mpi.wrapper, "--programs", programs, "--timeout", "6", *QUICK,
        "--", "-msglog", "2", "-iter", "5",
    )  # fmt: skip
    assert said.code == 1
    first, second = said.out.splitlines()
    assert "IMB-MPI1" in first and "killed after 6 s (--timeout)" in first
    assert "IMB-RMA" in second and re.search(r"[1-9]\d* rows in", second) and "exit" not in second
    outcomes = {archive.run(name).facts()["outcome"] for name in archive.ids()}
    assert outcomes == {"timed_out", "measured"}
    assert not left_over(str(programs))
    assert session_folders() <= before  # docs/known-mpi-issues.md


def session_folders() -> set[Path]:
    """What launchers of Open MPI have for temporary files."""
    return set(Path(os.environ["TMPDIR"]).glob("ompi.*"))


@pytest.mark.parametrize(("memory", "code"), [("1", 0), ("0.00001", 1)])
def test_a_launcher_that_does_not_end_costs_no_results(
    mpi: lab.Mpi,
    imb: Imb,
    archive: Archive,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: str,
    code: int,
) -> None:
    """As Open MPI 5's now and then does not. The second launch is one that could not measure all."""
    monkeypatch.setattr("imb.mpi.launch.LINGER", 1.0)
    monkeypatch.setattr("imb.mpi.launch.GRACE", 0.3)
    (tmp_path / "bin").mkdir()
    real = " ".join(shlex.quote(word) for word in mpi.launcher)
    for name, text in (
        ("mpicxx", f'exec {mpi.wrapper} "$@"'),
        ("mpiexec", f'{real} "$@"; case "$*" in *-version) ;; *) trap "" TERM; sleep 120;; esac'),
    ):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    programs = mpi.program("MPI1").parent
    for _ in range(2):
        said = imb(
            "run", "Alltoall", "--mpi", tmp_path, "--programs", programs, "--launches", "2", "--timeout", "30",
            *QUICK, "--", "-msglog", "14", "-iter", "3", "-mem", memory,
        )  # fmt: skip
        if mpi.flavor != "openmpi" or not re.search(r": 0 rows in .*--timeout", said.out):
            break
        warnings.warn("Open MPI's launcher did not get going; launched again", stacklevel=1)
    assert said.code == code
    assert said.out.count(" (launcher did not exit within 1 s of the last record and was killed") == 2
    assert (" not measured in " in said.out) == bool(code)
    begun = [line.split()[0] for line in said.out.splitlines() if "  launch " in line]
    facts = [archive.run(name).facts() for name in archive.ids() if name.startswith(tuple(begun))]
    assert len(facts) == 2
    assert {one["outcome"] for one in facts} == {"failed" if code else "measured"}
    assert {one["exit_status"] for one in facts} == {3 if code else 0}
    assert not left_over(str(tmp_path / "bin"))


def test_failure_rows_are_told(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    said = imb("run", "Alltoall", *with_(mpi), *QUICK, "--", "-mem", "0.00001", "-msglog", "14", "-iter", "3")
    assert said.code == 1 and "not measured in" in said.out
    [name] = archive.ids()
    assert (archive.run(name).facts()["exit_status"], archive.run(name).facts()["outcome"]) == (0, "failed")


def test_a_time_out_is_explained_by_itself(imb: Imb, tmp_path: Path) -> None:
    """Not by a line of the launcher or a transport that was there anyway."""
    options = fake_mpi.make(tmp_path / "mpi")
    row = Failure(
        benchmark="PingPong", processes=2, bytes=4096, cause="time_out", detail="no time for one repetition"
    )
    whole = fake_mpi.records(77.0).splitlines()
    (tmp_path / "mpi" / "bin" / "records-2").write_bytes(
        b"\n".join([*whole[:2], write([row]).strip(), *whole[2:]]) + b"\n"
    )
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(launcher.read_text() + "echo '[x] UCX WARN unused variable' >&2\nexit 3\n")
    said = imb("run", "PingPong", *options)
    assert said.code == 1 and "UCX" not in said.out
    assert " s: PingPong, 4 KiB: time out: no time for one repetition\n" in said.out


def test_rows_beyond_the_budget_name_the_option(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    row = Failure(benchmark="PingPong", processes=2, bytes=4096, cause="over_budget", detail="no time")
    whole = fake_mpi.records(77.0).splitlines()
    (tmp_path / "mpi" / "bin" / "records-2").write_bytes(
        b"\n".join([*whole[:2], write([row]).strip(), *whole[2:]]).replace(
            b'"exit_status":0', b'"exit_status":3'
        )
        + b"\n"
    )
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(launcher.read_text() + "exit 3\n")
    said = imb("run", "PingPong", *options)
    assert said.code == 1 and "over budget: no time; give a longer --launch-budget\n" in said.out, said.out
    said = imb("ab", "--a", "", "--b", "FAKE_TIME=2", *options, "--launches", 1, "PingPong")
    assert "over budget: no time; give a longer --launch-budget\n" in said.err, said.err


@pytest.mark.slow
def test_a_launch_without_a_new_row_is_told_and_goes_on(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.runner.progress.QUIET", 0.4)
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("FAKE_HOLD", str(hold))
    release = threading.Timer(2.0, hold.unlink)
    release.start()
    said = imb("run", "PingPong", *fake_mpi.make(tmp_path / "mpi"))
    release.join()
    assert said.code == 0, said.err
    lines = [line for line in said.err.splitlines() if "no new row" in line]
    assert lines[0].startswith(
        "imb: launch 1: no new row for 0.4 s: no record was written yet; it is killed after 600 s without one"
    )
    assert 2 <= len(lines) <= 3  # each tells twice the time of the one before
    [name] = archive.ids()
    assert archive.run(name).facts()["outcome"] == "measured"


def test_ranks_that_share_a_cpu_are_told_at_once(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    said = imb("run", "PingPong", *options, "--cpus", "0,0")
    assert "imb: warning: ranks 0 and 1 share CPU 0; times include waiting for it" in said.err
    assert "share CPU" not in imb("run", "PingPong", *options, "--cpus", "0,1").err


def test_a_killed_imb_run_is_resumed(mpi: lab.Mpi, imb: Imb, archive: Archive) -> None:
    words = ["PingPong", "--launches", "2", *map(str, with_(mpi)), "--"]
    words += [
        "-msglog",
        "14",
        "-iter",
        "100",
        "-pause",
        "200000",
    ]  # 3.2 s each: longer than `imb` takes to start
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", "run", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    [session] = wait_for(lambda: list(archive.folder.glob("sessions/*/0001.json")))
    wait_for(
        lambda: [f for f in session.parent.glob("0002.part/records.jsonl") if b'"result"' in f.read_bytes()]
    )
    said = imb("run", "--resume")
    assert said.code == 2 and f"is being executed by process {process.pid}" in said.err
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = set(archive.ids())
    assert len(before) == 1
    wait_for(lambda: not left_over(str(archive.folder)))  # no ranks are left behind
    said = imb("run", "--resume")
    assert said.code == 0, said.err
    assert before < set(archive.ids())
    facts = [archive.run(name).facts() for name in archive.ids()]
    measured = sorted(fact["turn"] for fact in facts if fact["outcome"] == "measured")
    assert measured == [1, 2]
    # What the killed launch had measured is kept too.
    cut = [fact for fact in facts if fact["outcome"] == "interrupted"]
    assert len(cut) == 1 and len(facts) == 3
    assert imb("archive", "verify").code == 0
    assert not list(session.parent.glob("*.part"))


@pytest.mark.parametrize(
    ("words", "measured"),
    [
        (["--classic", "--", "-iter_policy", "off", "-iter", "20000", "-time", "60"], b'"record":"result"'),
        (["--launch-budget", "60", "--precision", "0.001%"], b'"record":"sample"'),
    ],
    ids=["classic", "passes"],
)
def test_ctrl_c_keeps_what_is_done(mpi: lab.Mpi, archive: Archive, words: list[str], measured: bytes) -> None:
    words = ["PingPong", *map(str, with_(mpi)), *words]
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(
        lambda: [
            f for f in archive.folder.glob("sessions/*/0001.part/records.jsonl") if measured in f.read_bytes()
        ]
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and "imb run --resume" in err and "interrupted" in out
    [name] = archive.ids()
    assert archive.run(name).facts()["outcome"] == "interrupted"
    assert list(archive.run(name).records().of(Result))


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_launch_does_not_count_beside_its_repetition(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    log, hold = tmp_path / "log", tmp_path / "hold"
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("FAKE_HOLD", str(hold))
    hold.touch()
    words = ["PingPong", *map(str, fake_mpi.make(tmp_path / "mpi")), "--label", "intr", "--launches", "3"]
    process = subprocess.Popen(
        [sys.executable, "-m", "imb", "run", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for(lambda: [log] if log.exists() else [])
    process.send_signal(sent)
    process.wait(30)
    hold.unlink()
    assert imb("run", "--resume").code == 0
    assert "intr: 3 launches" in imb("show", "intr").out
    outcomes = {name: archive.run(name).facts()["outcome"] for name in archive.ids()}
    tags = archive.tags()
    assert sorted(outcomes.values()) == ["interrupted", "measured", "measured", "measured"]
    labeled = {name for name in outcomes if "intr" in tags[name].labels}
    assert labeled == {name for name, outcome in outcomes.items() if outcome == "measured"}
    [cut] = set(outcomes) - labeled
    assert tags[cut].notes[0].startswith("interrupted; repeated as ")
    assert not list(archive.folder.glob("sessions/*/*.interrupted"))


@pytest.mark.slow
def test_resume_takes_the_newest_session_that_is_neither_finished_nor_running(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, hold = tmp_path / "log", tmp_path / "hold"
    options = fake_mpi.make(tmp_path / "mpi")
    names = ["older", "finished", "running"]
    for number, name in enumerate(names):
        assert imb("run", "PingPong", *options, "--launches", 2, "--label", name).code == 0
        [session] = set((archive.folder / "sessions").iterdir()) - {
            archive.folder / "sessions" / f"2026010{n}T000000Z-abcdef" for n in range(number)
        }
        new = f"2026010{number}T000000Z-abcdef"
        plan = session / "plan.json"
        plan.write_text(plan.read_text().replace(session.name, new))
        session.rename(session.with_name(new))
    older, finished, running = sorted((archive.folder / "sessions").iterdir())
    for session in (older, running):
        (session / "0002.json").unlink()
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.setenv("FAKE_HOLD", str(hold))
    hold.touch()
    words = [sys.executable, "-m", "imb", "run", "--resume", running.name]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: [log] if log.exists() else [])
    monkeypatch.delenv("FAKE_HOLD")
    shown = imb("run", "--resume", "--dry-run")
    said = imb("run", "--resume")
    hold.unlink()
    assert process.wait(30) == 0
    assert said.code == 0 and f"session {older.name}: 1 of 2 launches to run" in said.err, said
    assert shown.code == 0 and finished.exists()


@pytest.mark.needs_mpi
def test_a_local_job_leaves_the_same_records(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("psij")
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    monkeypatch.setenv("HOME", str(tmp_path))  # PSI/J keeps files there
    said = imb(
        "run",
        "PingPong",
        *with_(lab.MAIN[0]),
        "--submit",
        "local",
        *QUICK,
        "--",
        "-msglog",
        "2",
        "-iter",
        "5",
    )
    assert said.code == 0, said.err
    assert said.out.startswith("local job ") and ": 4 rows in " in said.out
    [name] = archive.ids()
    assert archive.run(name).facts()["outcome"] == "measured" and archive.run(name).part("records.jsonl")


@pytest.mark.alone
@pytest.mark.needs_mpi
@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["--classic", "--", "-iter", "2000", "-iter_policy", "off", "-msglog", "18"], "PingPong"),
        (
            ["--launch-budget", "2", "--precision", "0.001%", "--", "-msglog", "18"],
            r"pass \d+ (PingPong|Bcast)",
        ),
    ],
    ids=["classic", "passes"],
)
def test_progress_is_live_on_a_terminal(tmp_path: Path, words: list[str], where: str) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    words = ["PingPong", "Bcast", *map(str, with_(lab.MAIN[0])), *words]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "imb", "run", *words], stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        deadline = threading.Timer(60, process.kill)
        deadline.start()
        shown = b""
        while part := terminal_said(ours):
            shown += part
        deadline.cancel()
    os.close(ours)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(rf"launch 1/1 {where} \d+ bytes .* \d+ s left", text)
    assert re.search(
        r"[\r\n][0-9a-f]{10}  launch 1 of 1, IMB-MPI1: 40 rows in [\d.]+ s\r?$", text, re.MULTILINE
    )


def terminal_said(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other side is closed
        return b""


def test_doctor_examines_machine_and_installation(mpi: lab.Mpi, imb: Imb) -> None:
    said = imb("doctor", "--mpi", mpi.wrapper, "--format", "json")
    assert said.code == 0, said.out
    findings = {finding["what"]: finding for finding in map(json.loads, said.out.splitlines())}
    assert {
        "NUMA",
        "caches",
        "hyperthreads",
        "frequency governor",
        "load",
        "clock source",
        "container",
    } <= set(findings)
    [ranks] = [finding for what, finding in findings.items() if what.endswith("two ranks")]
    assert re.match(r"one way [\d.]+ µs", ranks["found"])
    warned = any(finding["level"] == "warning" for finding in findings.values())
    assert imb("doctor", "--mpi", mpi.wrapper, "--strict").code == warned


def test_doctor_finds_a_broken_installation(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (
        ("mpicxx", "echo 'mpicxx: error: no compiler here' >&2; exit 1"),
        ("mpiexec", "echo 'mpiexec (Open MPI) 5.0.9'"),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    said = imb("doctor", "--mpi", tmp_path)
    assert said.code == 2 and "✗ Open MPI 5.0.9: two ranks: the wrapper builds no MPI program" in said.out
    assert "no compiler here" in said.out and "install the compiler" in said.out
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "mpicxx"))
    said = imb("doctor", "--mpi", tmp_path)
    assert said.code == 2 and "✗ Open MPI 5.0.9: two ranks: cannot write to the cache " in said.out, said


@pytest.mark.needs_mpi
def test_a_launcher_of_another_mpi_is_noticed(imb: Imb, tmp_path: Path) -> None:
    """It starts N programs of one rank each, which all end well."""
    if len(lab.MAIN) < 2:
        lab.missing("Open MPI and MPICH")
    mpich, openmpi = (next(mpi for mpi in lab.MAIN if mpi.key == key) for key in ("mpich", "openmpi"))
    words = ["PingPong", "--", "-msglog", "1", "-iter", "2", "-npmin", "1"]
    for one, other, kind in ((mpich, openmpi, "Open MPI"), (openmpi, mpich, "MPICH or Intel MPI")):
        said = imb("run", "--mpi", one.wrapper, "--programs", other.build / "bin", *words)
        assert said.code == 2 and f"is linked with {kind}, but {Path(one.wrapper).parent}" in said.err
        assert len(said.err.splitlines()) == 1 and f"give --mpi {other.key}" in said.err
    script = tmp_path / "IMB-MPI1"  # what it is linked with is not seen
    script.write_text(f'#!/bin/sh\nexec {openmpi.program("MPI1")} "$@"\n')
    script.chmod(0o755)
    said = imb("run", "--mpi", mpich.wrapper, "--programs", tmp_path, *words)
    assert said.code == 1 and ("1 instead of 2 ranks" in said.out or "failed with exit status" in said.out)


@pytest.mark.needs_mpi
@pytest.mark.parametrize("first", ["mpich", "openmpi"])
def test_programs_are_launched_by_the_mpi_that_they_are_linked_with(
    imb: Imb, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    if len(lab.MAIN) < 2:
        lab.missing("Open MPI and MPICH")
    monkeypatch.delenv("IMB_MPI", raising=False)
    mpis = {mpi.key: mpi for mpi in lab.MAIN}
    monkeypatch.setenv("PATH", f"{Path(mpis[first].wrapper).parent}:{os.environ['PATH']}")
    for mpi in mpis.values():
        said = imb("run", "PingPong", "--programs", mpi.build / "bin", "--dry-run")
        assert said.code == 0 and said.out.startswith(str(Path(mpi.wrapper).parent)), said


@pytest.mark.needs_mpi  # asks those of the machine, too, what they are
def test_the_mpi_on_the_path_is_before_that_of_a_checkout(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMB_MPI", raising=False)
    programs = tmp_path / "path" / "bin"
    for place in ("path", "env/mpi/one"):
        fake_mpi.make(tmp_path / place)
    monkeypatch.setenv("OPENIMB_ENV", str(tmp_path / "env"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    said = imb("run", "PingPong", "--programs", programs, "--dry-run")
    assert said.code == 0 and said.out.startswith(f"{programs}/mpiexec "), said
    named = imb("run", "PingPong", "--programs", programs, "--dry-run", "--mpi", tmp_path / "env/mpi/one")
    assert named.out.startswith(f"{tmp_path}/env/mpi/one/bin/mpiexec ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["PingPing", "PingPongg"], "did you mean PingPong?"),
        ([""], "no benchmark or component ''; `IMB-MPI1 -list` prints the names"),
        (
            ["latency"],
            "no benchmark or component latency; PingPong measures it, in the column t of short messages",
        ),
        (["bandwith"], "PingPong measures it, in the column MB/s of long ones"),
        (["PingPong", "--map", "2"], "not PxQ: 2"),
        (["PingPong", "--cpus", "a"], "not CPU numbers: a"),
        (["PingPong", "--env", "A"], "not NAME=VALUE: A"),
        (["PingPong", "--env", "A B=1"], "not NAME=VALUE: A B=1"),
        (
            ["PingPong", "--cpus", "0,1,0", "--np", "2"],
            "--cpus: 3 CPUs for 2 ranks: 0,1,0; give at most one per rank",
        ),
        (["PingPong", "--cpus", "0,99999"], "--cpus: no CPU 99999 on this host; give numbers from 0 to"),
        (["PingPong", "-msglog", "4"], "IMB arguments follow `--`"),
        (["PingPong", "-npmin", "4"], "IMB arguments follow `--`"),
        (["PingPong", "--mpi", "nompi"], "no MPI nompi"),
        (["ext", "--class", "parallel"], "EXT has no benchmarks of class parallel"),
        (["unidir_put"], "ambiguous benchmark: unidir_put; give ext:Unidir_Put or rma:Unidir_put"),
        (["Accumulate"], "ambiguous benchmark: Accumulate; give ext:Accumulate or rma:Accumulate"),
        (["--resume"], "no session in "),
        (["--resume", "--np", "4"], "--np cannot be combined with --resume"),
        (["--resume", "-l", "x"], "--label cannot be combined with --resume"),
        (["--resume", "one", "two"], "too many arguments: one two"),
    ],
)
def test_mistakes_are_one_line(imb: Imb, words: list[str], says: str) -> None:
    said = imb("run", *words)
    assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1


def test_more_ranks_than_cores_are_reported(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: 2)
    options = fake_mpi.make(tmp_path / "mpi")
    said = imb("run", "PingPong", *options, "--np", "4", "--label", "many")
    assert said.code == 0 and "imb: warning: 4 ranks on 2 cores: ranks share cores" in said.err
    assert "share cores" not in imb("run", "PingPong", *options, "--np", "2").err
    said = imb("run", "PingPong", *options, "--np", "2000")
    line = "imb: 2000 ranks on 2 cores would stall this host; give --np of at most 200, or --hosts\n"
    assert (said.code, said.err) == (2, line)


def test_names_find_their_components() -> None:
    assert select([]) == {"MPI1": []}
    assert select(["pingpong", "Unidir_put", "Unidir_Put", "ext:unidir_get", "Multi-Bcast"]) == {
        "MPI1": ["PingPong", "Multi-Bcast"],
        "RMA": ["Unidir_put"],
        "EXT": ["Unidir_Put", "Unidir_Get"],
    }
    assert select(["rma:accumulate", "EXT:Accumulate"]) == {"RMA": ["Accumulate"], "EXT": ["Accumulate"]}
    assert select(["mpi1"], "parallel") == {"MPI1": ["Sendrecv", "Exchange", "Uniband", "Biband"]}
    assert "Barrier" in select(["mpi1"], "collective")["MPI1"]
    assert select(["pingpong_PERSIST", "exscan", "ialltoallw_pure", "neighbor_alltoall"]) == {
        "MPI1": ["PingPong_persist", "Exscan", "Neighbor_alltoall"],
        "NBC": ["Ialltoallw_pure"],
    }


def test_only_the_suite_s_benchmarks_are_chosen() -> None:
    """A log may have Ireduce_scatter_block; the suite would refuse to run it."""
    for component in COMPONENTS:
        for kind in CLASSES:
            with contextlib.suppress(ImbError):  # a class without benchmarks
                assert set(select([component], kind)[component]) <= set(lab.names(component))
    with pytest.raises(
        ImbError, match="no benchmark or component Ireduce_scatter_block; did you mean Reduce_scatter_block"
    ):
        select(["Ireduce_scatter_block"])
    assert kind_of("Ireduce_scatter_block", None) == "collective"


def wait_for(what: Any, seconds: float = 30) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)
    return found


def left_over(word: str) -> list[str]:
    """Processes whose command line has this word."""
    done = subprocess.run(["ps", "-eo", "stat,pid,args"], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if word in line and not line.startswith("Z")]
    return [line for line in lines if line.split()[1] != str(os.getpid())]


@pytest.fixture
def small_disk(archive: Archive) -> Iterator[Path]:
    """An archive on a file system of 256 kB."""
    if os.geteuid():
        lab.missing("root, who mounts")
    archive.folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", archive.folder])
    if made.returncode:
        lab.missing("the right to mount")
    yield archive.folder
    subprocess.run(["umount", "--lazy", archive.folder], check=True)


@pytest.mark.needs_mpi
def test_a_full_disk_is_one_line_and_nothing_is_lost(imb: Imb, archive: Archive, small_disk: Path) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    said = imb(
        "run",
        "PingPong",
        *with_(lab.MAIN[0]),
        "--launches",
        "9",
        "--classic",
        "--",
        "-iter",
        "2",
        "-msglog",
        "20",
    )
    assert said.code == 2 and said.err.splitlines()[-1].startswith("imb: cannot write to the archive"), (
        said.err
    )
    assert "No space left on device; make room, then `imb run --resume " in said.err
    before = len(archive.ids())
    assert 0 < before < 9 and imb("archive", "verify").code == 0
    again = imb("import", Path(__file__).parent.parent / "reference")
    assert again.code == 2 and len(again.err.splitlines()) == 1 and "No space left on device" in again.err
    assert imb("archive", "verify").out.count("whose writer was killed") == 0  # nothing half written is left
    subprocess.run(["mount", "-o", "remount,size=9m", small_disk], check=True)
    assert imb("run", "--resume").code == 0
    # The launch that met the end of the disk has been kept as well.
    outcomes = [archive.run(name).facts()["outcome"] for name in archive.ids()]
    assert (
        sorted(set(outcomes)) in (["interrupted", "measured"], ["measured"])
        and outcomes.count("measured") == 9
    )
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for words in (["run", "PingPong", *with_(lab.MAIN[0])], ["archive", "label", archive.ids()[0], "x"]):
        said = imb(*words)
        assert said.code == 2 and len(said.err.splitlines()) == 1 and "Read-only file system" in said.err


@pytest.mark.needs_mpi
def test_a_launch_without_room_for_its_last_note_counts_once(imb: Imb, archive: Archive) -> None:
    """It is in the archive, and its session does not know: as where the disk was full in between."""
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    words = ["--launches", "2", "--classic", "--label", "a", "--", "-iter", "2", "-msglog", "2"]
    assert imb("run", "PingPong", *with_(lab.MAIN[0]), *words).code == 0
    first = min(archive.ids(), key=lambda run: archive.run(run).facts()["number"])
    facts = archive.run(first).facts()
    folder = archive.folder / "sessions" / facts["session"]
    (folder / "0001.json").unlink()
    (folder / "0001.part").mkdir()
    (folder / "0001.part" / "facts.json").write_text(json.dumps(facts))
    for change in archive.label_files():
        change.unlink()
    again = imb("run", "--resume", facts["session"])
    assert again.code == 0 and "nothing left to run, 2 launches done" in again.err
    assert len(archive.ids()) == 2 and Archive(archive.folder).tags()[first].labels == ["a"]
    assert not (folder / "0001.part").exists()


@pytest.mark.needs_mpi
def test_words_that_are_no_text(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bytes that are no UTF-8, as Python has them."""
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    short = [*with_(lab.MAIN[0]), *QUICK, "--", "-msglog", "1", "-iter", "2"]
    for words, says in (
        (["--label", "a\udcff"], "label 'a\\udcff': contains a control character"),
        (["--env", "A=a\udcff"], "not valid UTF-8"),
    ):
        said = imb("run", "PingPong", *words, *short)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1
    monkeypatch.setenv("UCX_NOTE", "a\udcff")
    assert imb("run", "PingPong", *short).code == 0
    [name] = archive.ids()
    assert archive.run(name).facts()["conditions"]["environment"]["UCX_NOTE"] == "a\\xff"
    log = tmp_path / "a\udcff.log"
    log.write_bytes((Path(__file__).parent.parent / "reference" / "mpi1-np2.txt").read_bytes())
    said = imb("import", log)
    assert said.code == 0 and "a\\udcff.log" in said.out
    assert {archive.run(run).manifest.origin for run in archive.ids()} == {None, str(tmp_path / "a\\xff.log")}


@pytest.mark.needs_mpi
def test_a_launcher_that_is_not_there(imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    monkeypatch.setenv("PATH", "/nowhere")
    said = imb("run", "PingPong", *with_(lab.MAIN[0]), "--launcher", "srun")
    assert (
        said.code == 2
        and said.err.splitlines()[-1] == "imb: cannot start srun: no such program; check the PATH"
    )
    assert not archive.ids() and not list(archive.folder.glob("sessions/*/*.part"))


def test_a_launcher_that_is_killed(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    """The launcher is this test's own: it kills itself."""
    (tmp_path / "bin").mkdir()
    for name, text in (
        ("mpicxx", "exit 1"),
        ("mpiexec", 'case "$1" in --version) echo "mpiexec (Open MPI) 5.0.9";; *) kill -9 $$;; esac'),
        ("IMB-MPI1", "exit 0"),
    ):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    said = imb("run", "PingPong", "--mpi", tmp_path, "--programs", tmp_path / "bin", "--launches", "2")
    assert said.code == 1 and said.out.count("launcher killed by signal 9") == 2
    assert {archive.run(name).facts()["exit_status"] for name in archive.ids()} == {-9}


def test_a_real_launcher_that_is_killed_takes_its_ranks_with_it(mpi: lab.Mpi, archive: Archive) -> None:
    words = [sys.executable, "-m", "imb", "run", "PingPong", *map(str, with_(mpi)), "--launch-budget", "60"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ranks() -> list[psutil.Process]:
        below = psutil.Process(running.pid).children(recursive=True)
        return [one for one in below if one.name().startswith("IMB-MPI1")]

    end = time.monotonic() + 60
    while len(started := ranks()) < 2 and time.monotonic() < end:
        time.sleep(0.1)
    (launcher,) = psutil.Process(running.pid).children()
    launcher.kill()
    running.wait(60)
    assert len(started) >= 2
    left = [one for one in started if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    for one in left:
        one.kill()
    assert not left
    assert {archive.run(name).facts()["exit_status"] for name in archive.ids()} == {-9}
