"""Runs removed and restored, several runs of one label, what an interrupted import leaves, how runs are listed."""

import os
import re
import socket
import time
from pathlib import Path

import pytest
from companion.door import Imb
from companion.test_files_as_names import a_log
from imb.model.records import End, Mpi, Rank, Result, Run, write
from imb.store.store import Archive, Content


@pytest.fixture
def three(imb: Imb, archive: Archive, tmp_path: Path) -> list[str]:
    """Names of three runs with the label x."""
    for number in range(3):
        (tmp_path / f"{number}.log").write_bytes(a_log(1.0 + number))
    assert imb("import", *tmp_path.glob("?.log"), "--label", "x").code == 0
    return archive.ids()


def test_a_removed_run_is_restored(imb: Imb, archive: Archive, three: list[str]) -> None:
    said = imb("archive", "rm", three[0][:10])
    assert (
        f"imb archive restore {three[0][:10]}" in said.out
        and "imb archive restore" in imb("archive", "rm", "--help").out
    )
    assert len(archive.ids()) == 2
    back = imb("archive", "restore", three[0][:8])
    assert back.code == 0 and back.out.startswith(three[0][:10])
    assert archive.ids() == three and archive.tags()[three[0]].labels == ["x"]
    assert imb("archive", "verify").code == 0
    for name, reason in ((three[0][:10], "already in the archive"), ("nope", "no removed run")):
        said = imb("archive", "restore", name)
        assert said.code == 2 and len(said.err.splitlines()) == 1 and reason in said.err


def test_removed_runs_of_a_label_are_restored(imb: Imb, archive: Archive, three: list[str]) -> None:
    assert imb("archive", "rm", "x", "--all").code == 0 and not archive.ids()
    said = imb("archive", "restore", "x")
    assert said.code == 0 and archive.ids() == three
    assert said.out.splitlines()[-1] == "3 runs restored"


def test_the_undo_of_many_runs_is_a_command_that_works(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    text = b"".join(a_log(1.0 + number) for number in range(5))
    (tmp_path / "five.log").write_bytes(text)
    assert imb("import", tmp_path / "five.log", "--label", "x").code == 0
    before = archive.ids()
    said = imb("archive", "rm", tmp_path / "five.log", "--all")
    assert said.out.splitlines()[-1] == "5 runs removed; undo: imb archive restore with the names above"
    assert imb("archive", "restore", *(line.split()[0] for line in said.out.splitlines()[:-1])).code == 0
    said = imb("archive", "rm", "x", "--all")
    assert said.out.splitlines()[-1] == "5 runs removed; undo: imb archive restore x"
    assert imb("archive", "restore", "x").code == 0 and archive.ids() == before


def test_verify_names_what_does_not_belong_under_runs(imb: Imb, archive: Archive, three: list[str]) -> None:
    imb("archive", "rm", three[0][:10])
    (moved,) = archive.removed_folder.iterdir()
    moved.rename(archive.runs / moved.name)
    said = imb("archive", "verify")
    assert said.code == 1 and f"{archive.runs / moved.name}: does not belong here" in said.err
    (archive.runs / moved.name).rename(moved)
    (archive.runs / "note.txt").write_text("x")
    said = imb("archive", "verify")
    assert said.code == 1 and "note.txt: does not belong here" in said.err


def test_all_runs_of_a_label_are_removed_or_labeled(imb: Imb, archive: Archive, three: list[str]) -> None:
    for words in (["archive", "rm", "x"], ["archive", "label", "x", "y"]):
        said = imb(*words)
        assert said.code == 2 and "matches 3 runs" in said.err and "--all" in said.err
    said = imb("archive", "label", "x", "y", "--all")
    assert said.code == 0 and said.out.splitlines()[-1] == "3 runs labeled"
    assert all(archive.tags()[run].labels == ["x", "y"] for run in three)
    said = imb("archive", "rm", "y", "--all")
    assert said.code == 0 and "3 runs removed" in said.out and not archive.ids()


def remains(archive: Archive, pid: int, host: str, age: float) -> Path:
    """What a killed import leaves."""
    folder = archive.tmp / f"{host}-{pid}-{os.urandom(6).hex()}"
    folder.mkdir()
    (folder / "output.txt").write_text("half")
    os.utime(folder, (time.time() - age,) * 2)
    return folder


def test_remains_of_an_interrupted_import(
    imb: Imb, archive: Archive, three: list[str], tmp_path: Path
) -> None:
    gone, here = 2**22 + 1, socket.gethostname()
    old = [remains(archive, gone, here, 7200) for _ in range(3)]
    kept = [
        remains(archive, gone, here, 60),
        remains(archive, os.getpid(), here, 7200),
        remains(archive, gone, "elsewhere", 7200),
    ]
    said = imb("archive", "verify")
    lines = [line for line in said.out.splitlines() if "incomplete" in line]
    assert said.code == 0 and len(lines) == 1
    assert "6 incomplete runs" in lines[0] and "the next import deletes" in lines[0]
    assert imb("import", tmp_path / "0.log").code == 0
    assert not any(path.exists() for path in old) and all(path.exists() for path in kept)


def dated(path: Path, date: str, microseconds: float) -> Path:
    text = a_log(microseconds).decode()
    lines = text.splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if " part" in line) + 2
    path.write_text("".join([*lines[:at], f"# Date                  : {date}\n", *lines[at:]]))
    return path


def test_runs_are_listed_by_the_date_measured(imb: Imb, tmp_path: Path) -> None:
    for name, date in (
        ("b", "Tue Nov 10 03:00:00 2026"),
        ("a", "Wed Nov 11 03:00:00 2026"),
        ("c", "Sun Nov  1 03:00:00 2026"),
    ):
        assert imb("import", dated(tmp_path / f"{name}.log", date, 1.0 + ord(name))).code == 0
    rows = imb("ls").out.splitlines()[1:]
    assert [row.split()[1] for row in rows] == ["2026-11-11", "2026-11-10", "2026-11-01"]


def test_a_run_without_a_date_shows_when_it_was_added(imb: Imb, three: list[str]) -> None:
    rows = imb("ls").out.splitlines()[1:]
    assert len(rows) == 3 and all("added 20" in row for row in rows)


def test_a_list_fits_and_shows_labels(imb: Imb, archive: Archive) -> None:
    """In 100 columns where it is no terminal; benchmarks give way to labels."""
    many = [Result(benchmark=f"Benchmark{number}", bytes=8) for number in range(20)]
    run = Run(
        program="OpenIMB", version="0.1.0", component="MPI1", date="2026-11-27T08:00:00Z",
        mpi=Mpi(standard="5.0", name="Open MPI v5.0.11, package: ours"), ranks=[Rank(0, "n", "0"), Rank(1, "n", "1")],
    )  # fmt: skip
    archive.add(Content(records=write([run, *many]), labels=["transports/tcp"]))
    lines = imb("ls").out.splitlines()
    assert max(map(len, lines)) <= 100 and "LABELS" in lines[0]
    assert "transports/tcp" in lines[1] and "OpenIMB MPI1" in lines[1] and "Open MPI 5.0.11" in lines[1]
    archive.add(
        Content(
            records=write([run, many[0], End(state="complete")]),
            labels=["a-label-that-is-very-long/" * 3 + "end"],
        )
    )
    lines = imb("ls").out.splitlines()
    assert max(map(len, lines)) <= 100 and any("a-label-that-is" in line for line in lines)


def test_an_unknown_name_is_reported(imb: Imb, three: list[str]) -> None:
    for words in (["ls", "nope"], ["ls", "--label", "nope"]):
        said = imb(*words)
        assert said.code == 2 and re.match(
            r"imb: no run(, label or file| or label) 'nope'; `imb ls` lists .*\n$", said.err
        )
    assert imb("archive", "label", three[0][:10], "only").code == 0
    said = imb("ls", three[1][:10], "--label", "only")
    assert said.code == 0 and said.err == "imb: none of these runs has this label\n"
    assert imb("ls", "x").out.count("\n") == 4
    assert imb("ls", three[0][:8]).out.count("\n") == 2


def test_an_archive_that_does_not_exist(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMB_ARCHIVE", str(tmp_path / "nonexist"))
    listed, verified = imb("ls"), imb("archive", "verify")
    assert (
        listed.err == verified.err and "no archive" in listed.err and (listed.code, verified.code) == (0, 2)
    )
