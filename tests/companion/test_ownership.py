"""A session of another user is not carried out unasked; secrets are in no file that `imb` writes."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import imb as package
import lab
import msgspec
import pytest
from companion import fake_mpi
from companion.cluster import until
from companion.door import Imb
from imb.model import secrecy
from imb.model.baseline_record import Baseline
from imb.model.errors import ImbError
from imb.mpi import host_conditions
from imb.mpi.secret_filter import SecretFilter
from imb.runner.ownership import make_session_folder
from imb.store.durable_files import create
from imb.store.store import Archive

PACKAGE = Path(package.__file__).parents[1]
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


@pytest.mark.parametrize(
    ("what", "mode"), [("plan.json", 0o620), ("plan.json", 0o602), (".", 0o770), (".", 0o702)]
)
def test_a_plan_that_others_may_write_is_not_executed(
    imb: Imb, archive: Archive, tmp_path: Path, theirs: str, what: str, mode: int
) -> None:
    place = archive.folder / "sessions" / theirs / what
    place.chmod(mode)
    for words in (["run", "--resume"], ["run", "--resume", theirs], ["campaign", "--resume"]):
        said = imb(*words)
        assert said.code == 2 and len(said.err.splitlines()) == 1, words
        assert f"{place.resolve()} (mode 0{mode:o})" in said.err and "chmod go-w" in said.err
    assert not (tmp_path / "mark").exists()
    place.chmod(mode & 0o755)
    assert imb("run", "--resume", theirs).code == 0
    assert (tmp_path / "mark").exists()


def test_a_plan_that_is_a_link_or_a_pipe_is_not_read(imb: Imb, archive: Archive, theirs: str) -> None:
    plan = archive.folder / "sessions" / theirs / "plan.json"
    plan.rename(plan.with_name("kept"))
    for make in (lambda: plan.symlink_to("kept"), lambda: os.mkfifo(plan)):
        make()
        said = imb("run", "--resume", theirs)
        assert said.code == 2 and f"cannot read {plan}" in said.err and len(said.err.splitlines()) == 1
        assert "you have no session" in imb("run", "--resume").err
        plan.unlink()


def test_several_users_share_a_folder_of_sessions(archive: Archive, tmp_path: Path) -> None:
    """None of them may rename the folders of others."""
    before = os.umask(0o002)
    try:
        make_session_folder(tmp_path / "shared" / "sessions" / "one")
        create(tmp_path / "fixed", b"", 0o644)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "shared" / "sessions").stat().st_mode) == 0o1775
    assert stat.S_IMODE((tmp_path / "shared" / "sessions" / "one").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "fixed").stat().st_mode) == 0o644


# --- Baselines: launcher, programs and arguments are executed again ---------------------------------------------------


@pytest.fixture
def recorded(imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of an MPI that a baseline's runs were launched with; empty."""
    if os.geteuid():
        pytest.skip("only root can give files to another user")
    log = tmp_path / "log"
    monkeypatch.setenv("FAKE_LOG", str(log))
    options = fake_mpi.make(tmp_path / "mpi")
    assert imb("run", "PingPong", *options, "--classic", "--label", "before").code == 0
    log.unlink()
    return log


def fake_words(folder: Path) -> list[object]:
    """The options of the MPI that is in this folder already."""
    return ["--mpi", folder / "mpi", "--programs", folder / "mpi" / "bin"]


def given_to(user: int, folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


@pytest.mark.parametrize("whose", ["the baseline", "its run"])
def test_the_baseline_of_another_user_is_not_measured_again(
    imb: Imb, archive: Archive, recorded: Path, whose: str
) -> None:
    """Nor one that this user has set from runs of another one."""
    if whose == "its run":
        given_to(STRANGER, archive.folder / "runs")
    assert imb("baseline", "set", "base", "before").code == 0
    if whose == "the baseline":
        given_to(STRANGER, archive.folder / "baselines")
    for words in ([], ["--with-old", "--setting", "FAKE_TIME=2"]):
        said = imb("baseline", "check", "base", *words)
        assert said.code == 2 and "--force-owner" in said.err and len(said.err.splitlines()) == 1, said
        assert (str(STRANGER) in said.err) == (whose == "the baseline")
    assert not recorded.exists()
    assert imb("baseline", "check", "base", "before").code != 2  # nothing is executed
    assert imb("baseline", "check", "base", "--force-owner").code != 2
    assert recorded.exists()


def test_a_run_of_another_user_with_several_launches_is_not_measured_again(
    imb: Imb, archive: Archive, recorded: Path, tmp_path: Path
) -> None:
    """Its launches have other names than the run: RUN#1, RUN#2."""
    records = tmp_path / "mpi" / "bin" / "records-2"
    records.write_bytes(records.read_bytes() * 2)
    archive.remove(archive.ids()[0])
    assert imb("run", "PingPong", *fake_words(tmp_path), "--classic", "--label", "before").code == 0
    recorded.unlink()
    given_to(STRANGER, archive.folder / "runs")
    assert imb("baseline", "set", "base", "before").code == 0
    said = imb("baseline", "check", "base")
    assert said.code == 2 and "other users may have written" in said.err and not recorded.exists(), said


@pytest.mark.usefixtures("recorded")
def test_a_baseline_states_whose_its_runs_were(imb: Imb, archive: Archive) -> None:
    """Else it is not read: what is unknown may be another user's."""
    assert imb("baseline", "set", "base", "before").code == 0
    text = (archive.folder / "baselines" / "base" / "0001.json").read_bytes()
    assert msgspec.json.decode(text, type=Baseline).launches
    without = re.sub(rb'"foreign":\s*(true|false),', b"", text)
    assert without != text
    with pytest.raises(msgspec.ValidationError, match="foreign"):
        msgspec.json.decode(without, type=Baseline)


def test_a_baseline_that_others_may_write_is_not_measured_again(
    imb: Imb, archive: Archive, recorded: Path
) -> None:
    assert imb("baseline", "set", "base", "before").code == 0
    file = archive.folder / "baselines" / "base" / "0001.json"
    file.chmod(0o664)
    said = imb("baseline", "check", "base")
    assert said.code == 2 and "(mode 0664)" in said.err and not recorded.exists()
    file.chmod(0o644)
    assert imb("baseline", "check", "base").code != 2
    assert recorded.exists()


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


def telling(folder: Path) -> list[object]:
    """An MPI whose launcher writes its arguments, which every user may see, to `seen` and its variables to `had`, and prints $MY_TOKEN
    and $API_TOKEN."""
    options = fake_mpi.make(folder / "mpi")
    launcher = folder / "mpi" / "bin" / "mpiexec"
    tell = f'echo "$@" >> {folder}/seen; printenv >> {folder}/had; echo "with $MY_TOKEN and $API_TOKEN."\n'
    launcher.write_text(launcher.read_text().replace("time=1 ", f"{tell}time=1 ", 1))
    return options


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    "name", ["API_KEY", "MY_TOKEN", "UCX_AUTH", "DB_PASSWORD", "The_Secret", "OMPI_MCA_cookie"]
)
def test_no_secret_is_recorded(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mpi = telling(tmp_path)
    monkeypatch.setenv(f"UCX_{name}", SECRET)
    said = imb("run", "PingPong", *mpi, "--classic", "--env", f"{name}={SECRET}", "--env", "FAKE_TIME=2")
    assert said.code == 0, said.err
    assert f"{name}={SECRET}\n" in (tmp_path / "had").read_text()  # the launch has it
    seen = (tmp_path / "seen").read_text()
    assert f"-x {name} " in seen and "-x FAKE_TIME=2" in seen and SECRET not in seen
    assert not files_with(archive.folder, SECRET) and SECRET not in said.err + said.out
    (run,) = map(archive.run, archive.ids())
    facts = run.facts()
    assert name in facts["intent"]["env"] and facts["intent"]["env"]["FAKE_TIME"] == "2"
    assert f"UCX_{name}" in facts["conditions"]["environment"]


def test_a_resumed_session_takes_secrets_from_the_environment(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi, seen = telling(tmp_path), tmp_path / "seen"
    monkeypatch.delenv("MY_TOKEN", raising=False)
    assert imb("run", "PingPong", *mpi, "--classic", "--env", f"MY_TOKEN={SECRET}").code == 0
    (session,) = (archive.folder / "sessions").iterdir()
    (session / "0001.json").unlink()
    seen.unlink()
    said = imb("run", "--resume", session.name)
    assert said.code == 2 and "MY_TOKEN" in said.err and not seen.exists()
    monkeypatch.setenv("MY_TOKEN", "another-secret")
    assert imb("run", "--resume", session.name).code == 0
    assert "MY_TOKEN=another-secret\n" in (tmp_path / "had").read_text()
    assert not files_with(archive.folder, "another-secret")
    outputs = [archive.run(run).part("output.txt") for run in archive.ids()]
    assert outputs == [b"with (hidden) and .\n"] * 2


def test_a_variable_is_passed_on_by_its_name(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that its value is in no command line, nor in that of `imb`."""
    options = telling(tmp_path)
    monkeypatch.setenv("MY_TOKEN", SECRET)
    monkeypatch.setenv("FAKE_TIME", "2")
    assert imb("run", "PingPong", *options, "--classic", "--env", "MY_TOKEN", "--env", "FAKE_TIME").code == 0
    assert "-x MY_TOKEN -x FAKE_TIME=2 " in (tmp_path / "seen").read_text()
    assert archive.run(archive.ids()[0]).part("output.txt") == b"with (hidden) and .\n"


def test_output_has_no_secrets_while_the_launch_runs(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor when `imb` is killed, and goes on where the variable is not set."""
    options = telling(tmp_path)
    hold = tmp_path / "hold"
    hold.touch()
    environment = {**os.environ, "API_TOKEN": SECRET, "FAKE_HOLD": str(hold), "PYTHONPATH": str(PACKAGE)}
    command = [sys.executable, "-m", "imb", "run", "PingPong", *map(str, options), "--classic"]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: bool(files_with(tmp_path / "archive", "with  and")))
        (part,) = archive.folder.glob("sessions/*/0001.part")
        for file in (part / "output.txt", part / "stderr.txt", part.parent / "plan.json"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(part.parent.stat().st_mode) == 0o700
    finally:
        killed.kill()
        killed.wait()
    hold.unlink()
    until(
        lambda: (part / "output.txt").read_bytes() == b"with  and (hidden).\n"
    )  # when the launcher has ended too
    assert not files_with(archive.folder, SECRET)
    monkeypatch.delenv("API_TOKEN", raising=False)
    assert imb("run", "--resume").code == 0
    outputs = {archive.run(run).part("output.txt") for run in archive.ids()}
    assert outputs == {b"with  and (hidden).\n", b"with  and .\n"}


def test_a_text_in_pieces_loses_its_secrets_and_nothing_else() -> None:
    values = [b"ab", b"abcab", b"b", b"long\nin two lines", b"cc-"]
    text = b"abcabcab long\nin two linesabca-long\nin two cabcc-cc"
    whole = b"".join([(both := SecretFilter(values, b"#")).feed(text), both.end()])
    assert whole == b"#c# ##ca-long\nin two c##cc"
    for size in range(1, len(text)):
        masked = SecretFilter(values, b"#")
        pieces = [masked.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert b"".join([*pieces, masked.end()]) == whole, size


def test_conditions_name_secrets_without_their_values() -> None:
    found = host_conditions.steering_variables(
        {"UCX_AUTH_TOKEN": SECRET, "FI_KEY": SECRET, "UCX_TLS": "rc"}.items()
    )
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
ARGUMENTS = ["-genv MY_PASSWORD {}", "--env MY_KEY={}", "--mca oob_auth {}", "--token {}"]
ARGUMENTS += ["--mca mca_base_env_list A=1;MY_TOKEN={};B=2"]
HEADERS = [
    "curl -H 'Authorization: Bearer {}' u",
    'curl -H "X-Auth-Token: {}" u',
    "curl -H Authorization:{} u",
    "curl -HAuthorization:{} u",
    "curl -sH'X-Auth-Token:{}' u",
    "curl --header='X-Auth-Token:{}' u",
    "curl --header=X-Auth-Token:{} u",
    "sh -c 'curl -H \"Authorization: Basic {}\" u'",
    "curl --header='Cookie: a=b; session={}' u",
    """curl -d '{{"user": "me", "password": "{}"}}' u""",
]


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
@pytest.mark.slow
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
@pytest.mark.slow
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


def test_a_secret_among_launcher_arguments_is_passed_by_environment(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    options = f"-x OMPI_TOKEN={SECRET} -x FAKE_TIME=2"
    assert imb("campaign", secretive(tmp_path, "true", options, seen)).code == 0
    assert "-x OMPI_TOKEN -x FAKE_TIME=2 " in seen.read_text() and SECRET not in seen.read_text()
    assert not files_with(archive.folder, SECRET)
    for run in map(archive.run, archive.ids()):
        assert run.facts()["command_environment"] == {"OMPI_TOKEN": "***"}
        assert run.facts()["intent"]["extra"][:2] == ["-x", "OMPI_TOKEN=***"]


@pytest.mark.parametrize("command", HEADERS)
def test_secrets_of_headers_and_members_are_masked_and_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What curl gets, an argument a line, is the same again when the value is in the environment."""
    (tmp_path / "curl").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "curl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    whole = command.format(SECRET)
    shown = secrecy.hidden_command(whole)
    assert (
        SECRET not in shown
        and "***" in shown
        and shown.startswith("curl " if command[0] == "c" else "sh -c ")
    )
    assert any(SECRET in value for value in secrecy.secret_values(commands=[whole]))
    for name in ("Authorization", "X_Auth_Token", "password"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("Cookie", f"a=b; session={SECRET}")

    def got(text: str) -> str:
        return subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True).stdout

    assert got(secrecy.revealed_command(shown)) == got(whole) != ""


def test_other_users_do_not_see_secrets_of_a_real_launch(
    mpi: lab.Mpi, imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """The program that is launched finds its variables, and all command lines of the system."""
    program = tmp_path / "IMB-MPI1"
    program.write_text(
        f'#!/bin/sh\necho "$MY_TOKEN $MY_KEY" > {tmp_path}/had\n'
        f'cat /proc/[0-9]*/cmdline 2> /dev/null | tr "\\0" " " > {tmp_path}/seen\necho "$MY_TOKEN"; exit 3\n'
    )
    program.chmod(0o755)
    option = {"openmpi": "-x MY_KEY=", "mpich": "-genv MY_KEY "}[mpi.flavor]
    file = tmp_path / "real.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 1\nprocesses = 1\n[common]\nmpi = "{mpi.wrapper}"\nprograms = "{tmp_path}"\n'
        f'[variants.a]\nenv = {{ MY_TOKEN = "{SECRET}" }}\nlauncher_options = "{option}{SECRET}-2"\n'
    )
    assert imb("campaign", file).code == 1
    assert (tmp_path / "had").read_text() == f"{SECRET} {SECRET}-2\n"
    seen = (tmp_path / "seen").read_text()
    assert str(program) in seen and SECRET not in seen
    assert archive.run(archive.ids()[0]).part("output.txt") == b"(hidden)\n"
    assert not files_with(archive.folder, SECRET)


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
    assert seen.read_text().count("-x OMPI_TOKEN ") == 3  # two launches, and one that asks for transports
    assert had.read_text() == "an other's $word\n" * 2
    assert not files_with(archive.folder, "an other's $word")


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "DB_PASSWORD",
        "SSH_AUTH_SOCK",
        "PGPASSWORD",
        "SSHPASS",
        "MYSQL_PASS",
        "API_KEY",
        "APIKEY",
        "apiKey",
        "accessKey",
        "X-Auth-Token",
        "Authorization",
        "XAUTHORITY",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AUTHTOKEN",
        "MPD_SECRETWORD",
        "SLURM_JWT",
        "MUNGE_KEY",
        "SSH_KEY2",
        "SESSION_COOKIE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "DB_CREDS",
        "KEY_FILE",
        "PASSPHRASE",
        "UCX_AUTH_TOKEN",
        "FI_KEY",
        "OMPI_MCA_oob_auth",
        "client_secret",
        "token",
        "pass",
        "auth",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert secrecy.hide_secrets({name: "x"}) == {name: "(hidden)"}


@pytest.mark.parametrize(
    "name",
    [
        "UCX_IB_PKEY",
        "UCX_RC_MLX5_MKEY_ALIAS",
        "UCX_IB_MLX5_SMKEY_BLOCK_SIZE",
        "UCX_IB_MAX_IDLE_RKEY_COUNT",
        "UCX_RKEY_PTR_SEG_SIZE",
        "UCX_RKEY_MPOOL_MAX_MD",
        "MPICH_RMA_PASSIVE",
        "FI_OFI_RXM_PASSTHRU",
        "FI_CXI_PROV_KEY_CACHE",
        "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY",
        "MPICH_CH4_OFI_ENABLE_MR_PROV_KEY",
        "OMPI_MCA_btl_openib_pkey",
        "OMPI_MCA_mtl_psm_ib_pkey",
        "OMPI_MCA_plm_rsh_pass_libpath",
        "OMPI_MCA_plm_rsh_pass_environ_mca_params",
        "PRTE_MCA_plm_ssh_pass_libpath",
        "PRTE_MCA_plm_ssh_pass_environ_mca_params",
        "PSM2_PKEY",
        "PSM2_FLOW_CREDITS",
        "PSM_SET_HCA_PKEY",
        "I_MPI_AUTH_METHOD",
        "NCCL_IB_PKEY",
        "MV2_DEFAULT_PKEY",
        "GIT_AUTHOR_NAME",
        "TOKENIZERS_PARALLELISM",
        "LD_BYPASS",
        "MONKEY",
        "KEYBOARD",
        "COMPASS",
    ],
)
def test_names_of_settings_that_are_no_secrets(name: str) -> None:
    """Their values are compared, and a resumed session has them."""
    assert secrecy.hide_secrets({name: "x"}) == {name: "x"}


def test_a_comparison_sees_settings_whose_names_look_like_secrets(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = fake_mpi.make(tmp_path / "mpi")
    for side, value in (("a", "0x7fff"), ("b", "0x8001")):
        monkeypatch.setenv("FI_CXI_PROV_KEY_CACHE", value)
        words = ["--env", f"UCX_IB_PKEY={value}", "--label", side, "--launches", 2]
        assert imb("run", "PingPong", *mpi, *words).code == 0
    said = imb("compare", "a", "b", "--assume-stable")
    for name in ("UCX_IB_PKEY", "FI_CXI_PROV_KEY_CACHE"):
        assert re.search(rf"{name}.*0x7fff.*0x8001", said.out), said.out
    monkeypatch.delenv("FI_CXI_PROV_KEY_CACHE")
    session = max((archive.folder / "sessions").iterdir())
    (session / "0002.json").unlink()
    assert imb("run", "--resume", session.name).code == 0  # without UCX_IB_PKEY in the environment


URLS = [
    "git clone https://me:{}@git.site/tools",
    "git clone https://{}@git.site/tools",
    "curl --proxy http://me:{}@proxy:3128 u",
    "pip install --index-url='https://me:{}@pypi.site/simple' x",
    "export HTTPS_PROXY=http://me:{}@proxy:3128; true",
    'sh -c "curl ftp://me:{}@host/file"',
]


@pytest.mark.parametrize("command", URLS)
def test_passwords_of_urls_are_masked_and_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("git", "curl", "pip"):
        (tmp_path / name).write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    whole = command.format(SECRET)
    shown = secrecy.hidden_command(whole)
    assert shown == command.format("***")
    assert SECRET in secrecy.secret_values(commands=[whole])
    with pytest.raises(ImbError, match="variable password_"):
        secrecy.revealed_command(shown)
    for name in ("me_git_site", "git_site", "me_proxy", "me_pypi_site", "me_host"):
        monkeypatch.setenv(f"password_{name}", SECRET)

    def got(text: str) -> str:
        return subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True).stdout

    assert got(secrecy.revealed_command(shown)) == got(whole)


def test_no_password_of_a_url_is_recorded_or_printed(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In set-up, variables, launcher arguments, and what a command that fails prints."""
    url = f"https://me:{SECRET}@git.site/x"
    seen = tmp_path / "seen"
    monkeypatch.setenv("UCX_PROXY", url)
    file = secretive(tmp_path, f"true {url}", f"-x SITE={url}", seen)
    file.write_text(file.read_text() + f'env = {{ PROXY = "{url}" }}\n')
    said = imb("campaign", file)
    assert said.code == 0 and "https://me:***@git.site/x" in said.err and SECRET not in said.out + said.err
    shown = imb("show", archive.ids()[0])
    assert shown.code == 0 and SECRET not in shown.out
    assert not files_with(archive.folder, SECRET) and not files_with(tmp_path / "cache", SECRET)
    file.write_text(file.read_text().replace(f"true {url}", f"echo no access to {url}; false", 1))
    said = imb("campaign", file)
    assert said.code == 1 and "no access to https://me:***@git.site/x" in said.err, said.err
    assert SECRET not in said.out + said.err


def test_words_that_are_no_secrets_stay() -> None:
    for command in (
        "ssh -o StrictHostKeyChecking=no -o PasswordAuthentication=no node1 true",
        "API_TOKEN=$API_TOKEN ./prepare",
        'curl -H "Authorization: Bearer $API_TOKEN" -H "Accept: text/plain" u',
        "docker run -v keys:/etc/keys; ssh authserver:22 true",
        "curl http://host:80/a?mail=me@site; ssh me@host:22; git clone ssh://git@host/x https://me:$PASSWORD@host",
        "modprobe xpmem; echo 'it is done' \"really\" it\\'s",
        "export UCX_TLS=tcp KEYS= && test -e $FAKE_LOG.idle || { echo 'in use'; exit 3; }",
    ):
        assert secrecy.hidden_command(command) == command
    words = "--export ALL,B=1 --mca btl self,tcp -x MY_TOKEN --bind-to core --env A=b -n 2 --export=ALL,B=1 -genv UCX_TLS tcp"
    assert " ".join(secrecy.hidden_arguments(words.split())) == words
