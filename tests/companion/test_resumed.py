"""A session that was interrupted ends as the command that began it would have ended; one that is over is not resumed."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb, Said
from imb.store.store import Archive


@pytest.fixture
def fake(tmp_path: Path) -> list[object]:
    return fake_mpi.make(tmp_path / "mpi")


def interrupted(archive: Archive, number: int = 2) -> Path:
    """The newest session as an interruption before this launch leaves it."""
    sessions = (archive.folder / "sessions").iterdir()
    session = max(sessions, key=lambda folder: (folder / "plan.json").stat().st_mtime_ns)
    end = session / f"{number:04d}.json"
    archive.remove(json.loads(end.read_bytes())["run"])
    end.unlink()
    return session


def resumed(imb: Imb, archive: Archive, first: Said, number: int = 2) -> Said:
    session = interrupted(archive, number)
    said = imb("run", "--resume")
    assert f"session {session.name}" in said.err and "1 of" in said.err, said
    assert said.code == first.code, said
    return said


def ab(fake: list[object], *more: object) -> list[object]:
    return ["ab", "--a", "FAKE_TIME=1", "--b", "FAKE_TIME=3", *fake, "--launch-by-launch", *more]


def test_ab_ends_with_its_comparison(imb: Imb, archive: Archive, fake: list[object]) -> None:
    first = imb(*ab(fake, "--launches", 3, "--name", "t", "--relevant", "9%", "--format", "json", "PingPong"))
    again = resumed(imb, archive, first)
    found = [json.loads(said.out) for said in (first, again)]
    assert found[0]["verdict"] == found[1]["verdict"] and found[1]["settings"]["relevant"] == 0.09
    assert [(side["launches_a"], side["launches_b"]) for side in found] == [(3, 3)] * 2


def test_an_interrupt_of_the_comparison_is_continued(
    imb: Imb, archive: Archive, fake: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All launches are over; the verdict is what is left."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("imb.compare.comparison.compare", interrupt)
        stopped = imb(*ab(fake, "--launches", 3, "PingPong"))
    [session] = (archive.folder / "sessions").iterdir()
    assert stopped.code == 130
    assert stopped.err.endswith(f"imb: interrupted; continue with `imb run --resume {session.name}`\n")
    again = imb("run", "--resume")
    assert again.code in (0, 10, 11) and "PingPong" in again.out, again


def test_a_check_ends_with_its_verdict(imb: Imb, archive: Archive, fake: list[object]) -> None:
    assert imb("run", "PingPong", *fake, "--launches", 3, "--label", "x").code == 0
    assert imb("baseline", "set", "b", "x").code == 0
    first = imb("baseline", "check", "b", "--launches", 3, "--format", "json")
    again = resumed(imb, archive, first)
    assert json.loads(again.out)["verdict"] == json.loads(first.out)["verdict"]


def test_a_decided_session_hides_no_interrupted_one(imb: Imb, archive: Archive, fake: list[object]) -> None:
    assert imb("run", "PingPong", *fake, "--launches", 2).code == 0
    session = interrupted(archive)
    said = imb(*ab(fake, "--launches", 8, "--until-decided", "PingPong"))
    assert re.search(r"stopped after [5-7] rounds: ", said.err), said
    said = imb("run", "--resume")
    assert said.code == 0 and session.name in said.err
    assert "1 of 2 launches to run" in said.err


def test_a_dry_run_shows_what_is_left(imb: Imb, archive: Archive, fake: list[object]) -> None:
    assert imb("run", "PingPong", *fake, "--launches", 3).code == 0
    interrupted(archive)
    assert len(imb("run", "--resume", "--dry-run").out.splitlines()) == 1


# --- One meaning in all commands --------------------------------------------------------------------------------------


def campaign(fake: list[object], name: str, file: Path) -> list[object]:
    file = file.with_name(f"{name}.toml")
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 2\nseed = 1\n[common]\nmpi = "{fake[1]}"\nprograms = "{fake[3]}"\n'
        "[variants.a]\n[variants.b]\nenv = { FAKE_TIME = '2' }\n"
    )
    return ["campaign", file]


@pytest.fixture
def unfinished(
    imb: Imb, archive: Archive, fake: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Path]:
    """Sessions that lack a launch, the oldest first."""
    numbers = count(1)  # names have seconds only
    monkeypatch.setattr("imb.runner.session.new_id", lambda: f"20260101T00000{next(numbers)}Z-abcdef")
    sessions = {}
    for name in ("old", "new"):
        assert imb(*campaign(fake, name, tmp_path / name)).code == 0
        sessions[name] = interrupted(archive)
    assert imb(*ab(fake, "--launches", 2, "PingPong")).code in (0, 10, 11)
    sessions["ab"] = interrupted(archive)
    return sessions


def continued(said: Said) -> str:
    """The session, from the line about its launches."""
    [name] = re.findall(r"session (\S+?)[,:].* 1 of 4 launches to run", said.err)
    return str(name)


def test_a_command_resumes_its_newest_unfinished_session(imb: Imb, unfinished: dict[str, Path]) -> None:
    """A session of `imb ab` has a campaign, but is none."""
    assert continued(imb("campaign", "--resume")) == unfinished["new"].name
    assert continued(imb("campaign", "--resume")) == unfinished["old"].name
    assert continued(imb("run", "--resume")) == unfinished["ab"].name


def test_a_campaign_is_resumed_by_its_file_or_its_session(
    imb: Imb, unfinished: dict[str, Path], tmp_path: Path
) -> None:
    session = unfinished["ab"].name
    refused = imb("campaign", "--resume", session)
    assert (refused.code, refused.err) == (
        2,
        f"imb: session {session} is no session of imb campaign; continue it with `imb run --resume {session}`\n",
    )
    missing = imb("campaign", "--resume", tmp_path / "none.toml")
    assert missing.code == 2 and "none.toml: no such file" in missing.err
    unknown = imb("campaign", "--resume", "2020")
    assert unknown.code == 2 and "no session 2020 in " in unknown.err
    assert continued(imb("campaign", tmp_path / "old.toml", "--resume")) == unfinished["old"].name
    assert continued(imb("campaign", "--resume", unfinished["new"].name)) == unfinished["new"].name


def test_a_dry_run_of_a_campaign_shows_what_is_left(imb: Imb, unfinished: dict[str, Path]) -> None:
    shown = [imb(command, "--resume", unfinished["new"].name, "--dry-run") for command in ("campaign", "run")]
    for said in shown:
        heading, command = said.out.splitlines()
        assert re.fullmatch(r"# [ab], 2 ranks: 1 launch", heading) and "PingPong" in command, said
        assert re.fullmatch(r"1 launch, seed 1: about \d+ s\n", said.err)


@pytest.mark.parametrize("command", ["run", "campaign"])
def test_resume_takes_verbose(imb: Imb, unfinished: dict[str, Path], command: str) -> None:
    said = imb(command, "--resume", unfinished["new"].name, "--verbose")
    assert said.code == 0 and " -json " in said.err, said


@pytest.mark.parametrize(
    "command", ["run", "campaign", pytest.param("tune", marks=pytest.mark.slice("tune"))]
)
def test_resume_reads_the_same_in_every_command(imb: Imb, command: str) -> None:
    shown = re.sub(r"\s+", " ", imb(command, "--help").out)
    assert "--resume Resume your newest unfinished session, or SESSION." in shown
    for option in ("--verbose", "--timeout", "--dry-run"):
        value = ["9"] if option == "--timeout" else []
        said = imb(command, "--resume", option, *value)
        assert said.code == 2 and "you have no session" in said.err, said


@pytest.mark.parametrize(
    "words",
    [
        ["run", "PingPong"],
        ["ab", "--a", "", "--b", "FAKE_TIME=2", "--launches", 1, "PingPong"],
        ["ab", "--a", "", "--b", "FAKE_TIME=2", "--launches", 1, "--launch-by-launch", "PingPong"],
        ["campaign"],
        pytest.param(["latency", "--launches", 1], marks=pytest.mark.slice("latency")),
        pytest.param(["startup", "--ranks", 2, "--launches", 1], marks=pytest.mark.slice("startup")),
        pytest.param(["fabric", "--hosts", "a,b"], marks=pytest.mark.slice("fabric")),
    ],
    ids=lambda words: "-".join(map(str, words[:1])),
)
@pytest.mark.slow
def test_a_launch_that_hangs_ends_without_timeout(
    imb: Imb, tmp_path: Path, fake: list[object], monkeypatch: pytest.MonkeyPatch, words: list[object]
) -> None:
    """Every command that launches has the same limit: a launch that writes no new row for long is killed."""
    monkeypatch.setattr("imb.runner.passes.STALL_LEAST", 0.2)
    monkeypatch.setattr("imb.runner.passes.LIMIT_TIMES", 0.01)
    (tmp_path / "hold").touch()
    monkeypatch.setenv("FAKE_HOLD", str(tmp_path / "hold"))
    (tmp_path / "mpi/bin/IMB-FABRIC").symlink_to("IMB-MPI1")
    if words == ["campaign"]:
        file = tmp_path / "c.toml"
        file.write_text('benchmarks = ["PingPong"]\nlaunches = 1\n[variants.a]\n')
        words = ["campaign", file]
        monkeypatch.setenv("IMB_MPI", str(fake[1]))
        file.write_text(f'{file.read_text()}programs = "{fake[3]}"\n')
        said = imb(*words)
    else:
        command, *others = words
        said = imb(command, *fake, *others)
    assert said.code in (1, 11), said
    assert "killed: no new row for 0.2 s; if it did not hang, give a longer limit" in said.out + said.err, (
        said
    )


@pytest.mark.slow
def test_a_launch_that_writes_rows_is_not_ended(
    imb: Imb, tmp_path: Path, fake: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes as a whole."""
    monkeypatch.setattr("imb.runner.passes.STALL_LEAST", 1.0)
    monkeypatch.setattr("imb.runner.passes.LIMIT_TIMES", 0.01)
    launcher = tmp_path / "mpi/bin/mpiexec"
    slow = (
        'if [ "$1" != -version ]; then\nrows=$(($(wc -l < "${0%/*}/records-2") - 1))\nhead -1 "${0%/*}/records-2" > "$1"\n'
        'for i in 1 2 3 4; do sleep 0.5; sed -n 2p "${0%/*}/records-2" >> "$1"; done\ntail -1 "${0%/*}/records-2" >> "$1"\nexit\nfi\n'
    )
    launcher.write_text(launcher.read_text().replace('echo "$name" >>', f'{slow}echo "$name" >>', 1))
    said = imb("run", "PingPong", *fake)
    assert said.code == 0 and re.search(r"in [2-9]\.\d s", said.out), said


@pytest.mark.parametrize(
    ("words", "at_once", "seconds"),
    [
        (["PingPong", "-budget", "2"], 2, 600),  # MPI may need minutes to start
        (["PingPong", "-time", "100"], 1, 1000),
        (["PingPong", "-time", "100"], 2, 2000),  # they take turns
        (["PingPong", "-time", "0"], 1, 3600),  # a row may take any time: an hour is assumed
    ],
)
def test_how_long_a_launch_may_write_no_row(words: list[str], at_once: int, seconds: float) -> None:
    from imb.runner.passes import stall_limit

    assert stall_limit(words, at_once) == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["PingPong", "-budget", "0.5"], 60 + 10 * 2 * 2.5),  # what it asks for, and the start of MPI
        (["PingPong", "-time", "0.5", "-msglog", "3:4"], 60 + 10 * 2 * 0.5 * 3),
        (["PingPong", "-time", "0"], None),
    ],
)
def test_the_time_limit_of_what_is_asked_for(words: list[str], seconds: float | None) -> None:
    from imb.runner.passes import time_limit

    assert time_limit("MPI1", words, 2, 2) == seconds
