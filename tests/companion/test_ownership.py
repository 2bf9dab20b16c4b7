"""A session of another user is not carried out unasked; secrets are in no file that `imb` writes."""

import os
from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.archive.store import Archive
from imb.mpi import conditions

STRANGER = 12345
SECRET = "hunter2-is-secret"


def campaign(folder: Path, mark: Path) -> Path:
    mpi = fake_mpi.make(folder / "mpi")
    file = folder / "theirs.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 1\nclassic = true\n[common]\nmpi = "{mpi[1]}"\nprograms = "{mpi[3]}"\n'
        f'[variants.a]\nsetup = "touch {mark}"\nteardown = "true"\n'
    )
    return file


@pytest.fixture
def theirs(imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A session that is planned and not carried out yet, of a user that is not the one of the test."""
    if os.geteuid():
        pytest.skip("only root can give files to another user")
    monkeypatch.setenv("FAKE_LOG", "/dev/null")
    made = imb("campaign", campaign(tmp_path, tmp_path / "mark"))
    assert made.code == 0 and (tmp_path / "mark").exists()
    (tmp_path / "mark").unlink()
    (session,) = (archive.folder / "sessions").iterdir()
    for file in session.glob("0*.json"):
        file.unlink()
    return session.name


@pytest.mark.parametrize("what", ["plan.json", "."])
def test_the_session_of_another_user_is_not_resumed(
    imb: Imb, archive: Archive, tmp_path: Path, theirs: str, what: str
) -> None:
    session = archive.folder / "sessions" / theirs
    os.chown(session / what, STRANGER, STRANGER)
    for words in (["run", "--resume"], ["campaign", "--resume"]):
        said = imb(*words)
        assert said.code == 2 and len(said.err.splitlines()) == 1, words
        assert "you have no session" in said.err
    for words in (["run", "--resume", theirs], ["run", "--resume", theirs[:-2], "--submit", "local"]):
        said = imb(*words)
        assert said.code == 2 and str(STRANGER) in said.err and "--force-owner" in said.err, words
    assert not (tmp_path / "mark").exists()
    assert imb("run", "--resume", theirs, "--force-owner").code == 0
    assert (tmp_path / "mark").exists()


def test_the_newest_session_is_the_newest_of_this_user(
    imb: Imb, archive: Archive, tmp_path: Path, theirs: str
) -> None:
    own = imb("run", "PingPong", *fake_mpi.make(tmp_path / "own"), "--classic")
    assert own.code == 0
    newest = archive.folder / "sessions" / "99991231T000000Z-abcdef"
    (archive.folder / "sessions" / theirs).rename(newest)
    plan = newest / "plan.json"
    plan.write_text(plan.read_text().replace(theirs, newest.name))
    os.chown(plan, STRANGER, STRANGER)
    said = imb("run", "--resume")
    assert said.code == 0 and "0 of 1 launches to run" in said.err
    assert not (tmp_path / "mark").exists()


def test_a_copied_plan_that_states_another_user_is_refused(
    imb: Imb, archive: Archive, tmp_path: Path, theirs: str
) -> None:
    plan = archive.folder / "sessions" / theirs / "plan.json"
    assert f'"owner": {os.geteuid()}' in plan.read_text()
    plan.write_text(plan.read_text().replace(f'"owner": {os.geteuid()}', f'"owner": {STRANGER}'))
    assert "--force-owner" in imb("run", "--resume", theirs).err
    assert not (tmp_path / "mark").exists()


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    "name", ["API_KEY", "MY_TOKEN", "UCX_AUTH", "DB_PASSWORD", "The_Secret", "OMPI_MCA_cookie"]
)
def test_no_secret_is_recorded(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    seen = tmp_path / "seen"
    mpi = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(
        launcher.read_text().replace("time=1 ", f'echo "$@" >> {seen}\necho "$@" > /dev/null\ntime=1 ', 1)
    )
    monkeypatch.setenv(f"UCX_{name}", SECRET)
    said = imb("run", "PingPong", *mpi, "--classic", "--env", f"{name}={SECRET}", "--env", "FAKE_TIME=2")
    assert said.code == 0, said.err
    assert f"{name}={SECRET}" in seen.read_text()  # the launch has it
    assert not files_with(archive.folder, SECRET) and SECRET not in said.err + said.out
    (run,) = map(archive.run, archive.ids())
    facts = run.facts()
    assert name in facts["intent"]["env"] and facts["intent"]["env"]["FAKE_TIME"] == "2"
    assert f"UCX_{name}" in facts["conditions"]["environment"]


def test_a_resumed_session_takes_secrets_from_the_environment(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    mpi = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(launcher.read_text().replace("time=1 ", f'echo "$@" >> {seen}\ntime=1 ', 1))
    monkeypatch.delenv("MY_TOKEN", raising=False)
    assert imb("run", "PingPong", *mpi, "--classic", "--env", f"MY_TOKEN={SECRET}").code == 0
    (session,) = (archive.folder / "sessions").iterdir()
    (session / "0001.json").unlink()
    seen.unlink()
    said = imb("run", "--resume", session.name)
    assert said.code == 2 and "MY_TOKEN" in said.err and not seen.exists()
    monkeypatch.setenv("MY_TOKEN", "another")
    assert imb("run", "--resume", session.name).code == 0
    assert "MY_TOKEN=another" in seen.read_text()


def test_conditions_name_secrets_without_their_values() -> None:
    found = conditions.steering({"UCX_AUTH_TOKEN": SECRET, "FI_KEY": SECRET, "UCX_TLS": "rc"}.items())
    assert set(found) == {"UCX_AUTH_TOKEN", "FI_KEY", "UCX_TLS"}
    assert found["UCX_TLS"] == "rc" and SECRET not in found.values()
