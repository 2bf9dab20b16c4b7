"""Commands where the system or the command line is odd: one line on standard error, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.test_files_as_names import a_log
from imb.mpi import host_conditions
from imb.store.store import Archive


def test_a_session_of_any_name_is_looked_for(imb: Imb, tmp_path: Path) -> None:
    assert imb("run", "PingPong", *fake_mpi.make(tmp_path / "mpi")).code == 0
    (session,) = [path.name for path in (tmp_path / "archive" / "sessions").iterdir()]
    assert f"session {session}: nothing left to run" in imb("run", "--resume", session[:12]).err
    for name in ("/x", "..", "/", "*", "[", "x/y", "a" * 300):
        said = imb("run", "--resume", name)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith(f"imb: no session {name} in ") and len(said.err.splitlines()) == 1
    empty = imb("run", "--resume", "")  # of a variable that is not set; not the newest one
    assert empty.code == 2 and "a name is empty; give a session, or --resume alone" in empty.err


def test_in_a_folder_that_was_removed(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for words in (["export"], ["ls"], ["query", "FROM runs"], ["report", "x"], ["run", "PingPong"]):
        said = imb(*words)
        assert (said.code, said.out) == (2, "")
        assert said.err == "imb: the current folder: No such file or directory; change to another one\n"


@pytest.mark.parametrize("kind", ["absent", "no folder"])
def test_launches_where_proc_cannot_be_read(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As in a container without it. Figures are there; of the conditions, what is not known is left out."""
    (tmp_path / "file").touch()
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / ("file" if kind == "no folder" else "none")))
    monkeypatch.setattr("os.getloadavg", lambda: exec("raise OSError"))
    host_conditions.machine.cache_clear()
    try:
        options = fake_mpi.make(tmp_path / "mpi")
        said = imb("run", "PingPong", *options, "--launches", "2")
        assert said.code == 0 and said.out.count(": 1 row in ") == 2, said
        monkeypatch.setenv("FAKE_HOLD", str(tmp_path))  # a launch that is killed: its ranks are looked for
        killed = imb("run", "PingPong", *options, "--timeout", "0.3")
        assert killed.code == 1, killed
    finally:
        host_conditions.machine.cache_clear()
    known = archive.run(archive.ids()[0]).facts()["conditions"]
    assert known["load"] is None and known["memory_free_bytes"] is None and known["interfaces"] == []
    assert known["machine"]["memory_bytes"] is None
    monkeypatch.delenv("FAKE_HOLD")
    assert imb("run", "PingPong", *options).code in (0, 1)
    assert imb("show", archive.ids()[0][:10]).code == 0


@pytest.mark.slow
def test_output_that_cannot_be_written(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    """A full disk, which /dev/full is, for each stream."""
    command = [sys.executable, "-m", "imb"]
    with Path("/dev/full").open("wb") as full:
        said = subprocess.run([*command, "--version"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert (said.returncode, said.stderr) == (2, "imb: standard output: No space left on device\n")
        silent = subprocess.run([*command, "show", "x"], stdout=subprocess.PIPE, stderr=full, text=True)
        assert (silent.returncode, silent.stdout) == (2, "")
    read, write = os.pipe()  # whose reader is gone
    os.close(read)
    options = map(str, fake_mpi.make(tmp_path / "mpi"))
    launch = subprocess.run([*command, "run", "PingPong", *options], stdout=subprocess.PIPE, stderr=write)
    os.close(write)
    assert launch.returncode == 0 and b": 1 row in " in launch.stdout


def test_a_query_that_is_no_text(imb: Imb) -> None:
    said = imb("query", "FROM runs WHERE run = '\udcff'")
    assert said.code == 2 and said.err.startswith("imb: not valid UTF-8") and len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["import", ""], ["import", "x", "--archive", ""], ["ls", "--archive", " "]]
)
def test_an_empty_name_is_not_the_current_folder(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").write_bytes(a_log())
    said = imb(*words)
    assert said.code == 2 and said.err.startswith("imb: a name of a file or folder is empty"), said
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    "words", [["compare", "a.jsonl", "b.jsonl"], ["show", "a.jsonl"], ["diagnose", "a.jsonl"]]
)
def test_what_is_printed_of_files_does_not_depend_on_the_archive(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Nor on the cache, which cannot be written here, whatever runs are stored."""
    monkeypatch.chdir(tmp_path)
    for name, seconds in (("a", 1e-6), ("b", 2e-6), ("c", 9e-6)):
        Path(f"{name}.jsonl").write_bytes(fake_mpi.records(seconds, passes=True))
    before = imb(*words)
    assert before.code != 2
    assert imb("import", "c.jsonl").code == 0
    Path("no-folder").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "no-folder"))
    assert imb(*words) == before


def test_an_import_where_the_system_shows_no_affinity(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS."""
    monkeypatch.delattr("os.sched_getaffinity")
    (tmp_path / "x").write_bytes(a_log())
    assert imb("import", tmp_path / "x").code == 0 and len(archive.ids()) == 1


NO_HOME = f"imb: no home folder: HOME is not set, and passwd has no user {os.getuid()}; "
NO_ARCHIVE = f"{NO_HOME}give --archive, or set IMB_ARCHIVE, HOME or XDG_DATA_HOME\n"


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_is_told_what_to_set(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    log = tmp_path / "log"
    log.write_bytes(a_log())
    commands: list[list[object]] = [
        ["ls"],
        ["run", "PingPong", *options],
        ["run", "--resume"],
        ["ab", "--a", "", "--b", "--env X=1", "PingPong", *options],
        ["import", log],
        ["show", "nightly"],
        ["compare", "a", "b"],
        ["watch", "nightly"],
        ["query", "FROM runs"],
        ["export"],
        ["baseline", "list"],
        ["archive", "verify"],
    ]
    for words in commands:
        said = imb(*words)
        assert (said.code, said.out, said.err) == (2, "", NO_ARCHIVE), words
    said = imb("ls", "--archive", "~/archive")
    assert said.code == 2 and said.err == "imb: ~/archive: there is no home folder ~; give an absolute path\n"
    said = imb("build", "--mpi", tmp_path / "mpi")
    assert (said.code, said.err) == (2, f"{NO_HOME}set HOME or XDG_CACHE_HOME\n")


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_reads_files(imb: Imb, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(fake_mpi.records(1e-6, passes=True))
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert imb("show", a).code == 0
    assert imb("compare", a, b).code == 11  # one launch each
    assert imb("diagnose", a).code == 0
    assert imb("report", a, "--output", tmp_path / "page.html").code == 0
    said = imb("export", a)
    assert said.code == 0 and len(said.out.splitlines()) == 2


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_names_an_archive(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    """The cache has no place, and is temporary."""
    options, place = fake_mpi.make(tmp_path / "mpi"), ["--archive", tmp_path / "archive"]
    said = imb("run", "PingPong", *options, "--label", "x", *place)
    assert said.code == 0 and ": 1 row in " in said.out, said.err
    (run,) = archive.ids()
    assert imb("ls", *place).out.splitlines()[-1].startswith(run[:10])
    for words in (["show", "x"], ["query", "FROM runs"], ["export", "x"], ["archive", "verify"]):
        assert imb(*words, *place).code == 0, words
    assert imb("compare", "x", "x", *place).code == 11


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_runs_the_programs_of_the_package(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_mpi.make(tmp_path / "mpi")
    words = ["run", "PingPong", "--mpi", tmp_path / "mpi", "--archive", tmp_path / "archive"]
    said = imb(*words)
    assert (said.code, said.err) == (2, f"{NO_HOME}set HOME or XDG_CACHE_HOME\n")
    (tmp_path / "mpi/lib").mkdir()
    (tmp_path / "mpi/lib/libmpi.so.40").touch()
    monkeypatch.setattr("imb.mpi.prebuilt_programs.packaged_programs", lambda: tmp_path / "mpi/bin")
    said = imb(*words)
    assert said.code == 0 and ": 1 row in " in said.out, said.err


@pytest.mark.usefixtures("no_home")
def test_a_temporary_cache_ends_with_its_process(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(a_log())
    place = ["--archive", str(tmp_path / "archive")]
    assert imb("import", tmp_path / "log", *place).code == 0
    (tmp_path / "tmp").mkdir()
    (tmp_path / "sitecustomize.py").write_text("import pwd\npwd.getpwuid = lambda uid: {}[uid]\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    said = subprocess.run(
        [sys.executable, "-m", "imb", "ls", *place],
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (said.returncode, said.stderr) == (0, "") and len(said.stdout.splitlines()) == 2
    assert not any((tmp_path / "tmp").iterdir())


@pytest.mark.usefixtures("no_home")
def test_doctor_says_that_there_is_no_place_for_a_build(imb: Imb, tmp_path: Path) -> None:
    fake_mpi.make(tmp_path / "mpi")
    said = imb("doctor", "--mpi", tmp_path / "mpi")
    assert said.code == 2, said
    assert "suite: none, and no place for a build: no home folder: HOME is not set" in " ".join(
        said.out.split()
    )
    assert "set HOME or XDG_CACHE_HOME" in said.out


def test_a_home_folder_that_does_not_exist_for_a_name(imb: Imb, tmp_path: Path) -> None:
    said = imb("ls", "--archive", "~no-such-user/archive")
    expected = "imb: ~no-such-user/archive: there is no home folder ~no-such-user; give an absolute path\n"
    assert (said.code, said.err) == (2, expected)
    campaign = tmp_path / "c.toml"
    campaign.write_text('name = "c"\nbenchmarks = ["PingPong"]\n[variants.a]\nmpi = "~no-such-user/mpi"\n')
    said = imb("campaign", campaign)
    assert said.code == 2 and "~no-such-user/mpi: there is no home folder ~no-such-user" in said.err, said
