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
    assert said.code == 0 and "nothing left to run, 1 launch done" in said.err
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


def test_no_secret_that_a_launch_prints_is_recorded(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(
        launcher.read_text()
        + f'echo "PMI: $API_TOKEN, $API_TOKEN-2, $SHORT_KEY"; echo "{SECRET}!" >&2; exit 1\n'
    )
    monkeypatch.setenv("API_TOKEN", "s3cr3t-of-the-site")
    monkeypatch.setenv("OTHER_TOKEN", "s3cr3t-of-the-site-2")
    monkeypatch.setenv("SHORT_KEY", "PMI")
    said = imb("run", "PingPong", *options, "--env", f"MY_PASSWORD={SECRET}")
    assert said.code == 1 and "((hidden)!)" in said.out, said
    run = archive.run(archive.ids()[0])
    assert run.part("output.txt") == b"PMI: (hidden), (hidden), PMI\n"
    assert run.part("stderr.txt") == b"(hidden)!\n"
    assert not files_with(archive.folder, SECRET) and not files_with(archive.folder, "s3cr3t")


# --- Launcher arguments, set-up and tear-down ------------------------------------------------------------------------

COMMANDS = [
    "export API_TOKEN={}; test -n $API_TOKEN",
    "API_TOKEN='{}' true",
    """sh -c 'API_TOKEN="{}"; true'""",
    'sh -c "export API_TOKEN={}"',
    "true --api-token={} || true",
    "echo --api-token {} > /dev/null",
]
ARGUMENTS = ["-x OMPI_TOKEN={}", "-genv MY_PASSWORD {}", "--env MY_KEY={}", "--mca oob_auth {}", "--token {}"]


def secretive(folder: Path, setup: str, options: str, seen: Path) -> Path:
    """A campaign of one variant whose launcher writes its arguments to `seen`."""
    mpi = fake_mpi.make(folder / "mpi")
    launcher = folder / "mpi" / "bin" / "mpiexec"
    launcher.write_text(launcher.read_text().replace("time=1 ", f'echo "$@" >> {seen}\ntime=1 ', 1))
    file = folder / "secretive.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 2\nclassic = true\n[common]\nmpi = "{mpi[1]}"\nprograms = "{mpi[3]}"\n'
        f"[variants.a]\nlauncher_options = '''{options}'''\nsetup = '''{setup}'''\nteardown = '''{setup}'''\n"
    )
    return file


@pytest.mark.parametrize("setup", COMMANDS)
def test_no_secret_of_a_command_is_recorded(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setup: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = secretive(tmp_path, setup.format(SECRET), "", tmp_path / "seen")
    said = imb("campaign", file)
    assert said.code == 0, said.err
    folders = [archive.folder, tmp_path / "data", tmp_path / "cache"]
    assert not [found for folder in folders for found in files_with(folder, SECRET)]
    assert SECRET not in said.err + said.out and "***" in said.err
    assert "***" in (next(archive.folder.glob("sessions/*/setup.log"))).read_text()


@pytest.mark.parametrize("options", ARGUMENTS)
def test_no_secret_of_launcher_arguments_is_recorded(
    imb: Imb, archive: Archive, tmp_path: Path, options: str
) -> None:
    seen = tmp_path / "seen"
    said = imb("campaign", secretive(tmp_path, "true", options.format(SECRET), seen))
    assert said.code == 0, said.err
    assert seen.read_text().count(options.format(SECRET)) == 3  # two launches, one that asks for transports
    assert not files_with(archive.folder, SECRET) and not files_with(tmp_path / "cache", SECRET)
    assert SECRET not in said.err + said.out
    for run in map(archive.run, archive.ids()):
        assert "***" in " ".join(run.facts()["command"]) and "***" in " ".join(run.facts()["intent"]["extra"])
    shown = imb("show", archive.ids()[0])
    assert shown.code == 0 and SECRET not in shown.out


def test_a_session_does_not_go_on_without_its_secrets(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, had = tmp_path / "seen", tmp_path / "had"
    setup = f'export API_TOKEN={SECRET}; echo "$API_TOKEN" >> {had}'
    assert imb("campaign", secretive(tmp_path, setup, f"-x OMPI_TOKEN={SECRET}", seen)).code == 0
    assert had.read_text() == f"{SECRET}\n" * 2
    (session,) = (archive.folder / "sessions").iterdir()
    for file in session.glob("0*.json"):
        file.unlink()
    seen.unlink()
    had.unlink()
    for name in ("OMPI_TOKEN", "API_TOKEN"):
        said = imb("run", "--resume", session.name)
        assert said.code == 2 and f"variable {name}" in said.err and len(said.err.splitlines()) == 1, said
        assert not seen.exists() and not had.exists()
        monkeypatch.setenv(name, "an other's $word")
    assert imb("run", "--resume", session.name).code == 0
    assert seen.read_text().count("-x OMPI_TOKEN=an other's $word") == 2
    assert had.read_text() == "an other's $word\n" * 2
    assert not files_with(archive.folder, "an other's $word")


def test_a_session_is_not_submitted_without_its_secrets(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psij")
    monkeypatch.setenv("HOME", str(tmp_path))  # PSI/J keeps files there
    file = secretive(tmp_path, "true", f"-x OMPI_TOKEN={SECRET}", tmp_path / "seen")
    said = imb("campaign", file, "--submit", "local")
    assert said.code == 2 and "variable OMPI_TOKEN" in said.err and not archive.ids()
    monkeypatch.setenv("OMPI_TOKEN", SECRET)
    assert imb("run", "--resume", "--submit", "local").code == 0
    assert not files_with(tmp_path / "archive", SECRET) and not files_with(tmp_path / ".psij", SECRET)


def test_words_that_are_no_secrets_stay() -> None:
    from imb.model.confidential import hidden_arguments, hidden_command

    for command in (
        "ssh -o StrictHostKeyChecking=no -o PasswordAuthentication=no node1 true",
        "API_TOKEN=$API_TOKEN ./prepare",
        "modprobe xpmem; echo 'it is done' \"really\" it\\'s",
        "export UCX_TLS=tcp KEYS= && test -e $FAKE_LOG.idle || { echo 'in use'; exit 3; }",
    ):
        assert hidden_command(command) == command
    words = "--mca btl self,tcp -x MY_TOKEN --bind-to core --env A=b -n 2 --export=ALL,B=1 -genv UCX_TLS tcp"
    assert " ".join(hidden_arguments(words.split())) == words
