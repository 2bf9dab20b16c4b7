"""An option that a form of a command would ignore is refused, in one line that says what it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.test_files_as_names import a_log


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["export", "a.log", "--separator", ";", "--format", "json"],
            "--separator works only with csv, not with json",
        ),
        (["show", "a.log", "--output", "--benchmark", "PingPong"], "--output prints the whole output"),
        (["show", "a.log", "--output", "--no-chart"], "--output prints the whole output"),
        (
            ["diagnose", "a.log", "--thresholds"],
            "--thresholds lists thresholds and diagnoses nothing; omit a",
        ),
        (["diagnose", "--thresholds", "--link", "1GB/s"], "--link cannot be combined with --thresholds"),
        (["diagnose", "--thresholds", "-f", "json"], "--format cannot be combined with --thresholds"),
        (
            ["report", "a.log", "--relevant", "1%"],
            "--relevant applies only to a comparison; give two sample sets",
        ),
        (
            ["report", "a.log", "--force"],
            "--force applies only to a comparison; give two sample sets or more",
        ),
        (
            ["report", "a.log", "-f", "terminal", "--title", "t"],
            "--title needs --output FILE",
        ),
        (["report", "a.log", "--metric", "pure"], "--metric applies only to curves; add --format png"),
        (["report", "a.log", "-b", "PingPong"], "--benchmark applies only to curves; add --format png"),
        (["report", "a.log", "-f", "png", "--link", "1GB/s"], "--link applies only to an HTML report"),
        (["ls", "--all", "--newest", "3"], "--all and --newest cannot be combined"),
        (["run", "PingPong", "--force-owner"], "--force-owner is an option of --resume"),
        (["run", "PingPong", "--queue", "q"], "--queue is an option of jobs; add --submit slurm"),
        (["ab", "--a", "", "--b", "", "--account", "x"], "--account is an option of jobs; add --submit"),
        (["run", "--submit", "local", "--minutes", "9"], "--minutes: a local job has no scheduler"),
        (["campaign", "x", "--submit", "local", "--queue", "q"], "--queue: a local job has no scheduler"),
        (
            ["ab", "--a", "", "--b", "", "--segments", "9", "--launch-by-launch"],
            "--launch-by-launch and --segments cannot be combined",
        ),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_bytes(a_log())
    said = imb(*words)
    assert (said.code, said.out) == (2, "") and said.err.startswith(f"imb: {says}"), said
    assert len(said.err.splitlines()) == 1 and not Path("report.html").exists()


@pytest.mark.parametrize(
    "option",
    [
        ["--placement", "intra-node"],
        ["--launches", "3"],
        ["--timeout", "9"],
        ["--with-old"],
        ["--setting", "A=1"],
        ["--mpi", "mpich"],
        ["--programs", "/"],
    ],
)
def test_a_check_of_results_has_no_options_of_launches(imb: Imb, tmp_path: Path, option: list[str]) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(a_log())
    assert imb("baseline", "set", "b", log).code == 0
    said = imb("baseline", "check", "b", log, *option)
    assert said.code == 2 and len(said.err.splitlines()) == 1
    assert f"{option[0]} cannot be combined with existing results: {log}; omit it" in said.err


def test_a_time_limit_of_turns_is_of_interleaved_launches(imb: Imb, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('benchmarks = ["PingPong"]\nturn_timeout = 9\n[variants.a]\n')
    said = imb("campaign", file)
    assert (
        said.code == 2
        and "turn_timeout applies only to interleaved launches; give segments, or omit it" in said.err
    )


def test_a_job_prints_the_command_that_judges_as_asked(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.cli.ab.hand_over", lambda *words: 0)
    monkeypatch.setattr("imb.cli.submitting.require", lambda *words: None)
    said = imb(
        "ab", "--a", "", "--b", "A=1", *fake_mpi.make(tmp_path / "mpi"), "--submit", "slurm", "--name", "t",
        "--relevant", "2%", "--metric", "p50", "--rows", "--format", "json", "PingPong",
    )  # fmt: skip
    assert said.out == "imb compare t/a t/b --relevant 2% --metric p50 --rows --format json\n", said
