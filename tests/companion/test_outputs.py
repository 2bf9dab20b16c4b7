"""Files that commands write: never one that the same command reads, whatever its spelling; whole, and through links and pipes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from companion.door import Imb
from companion.test_files_as_names import a_log
from companion.test_resolver import records
from imb.store.store import Archive


def same(folder: Path, name: str) -> Path:
    return folder / name


def through_a_folder(folder: Path, name: str) -> Path:
    (folder / "sub").mkdir()
    return folder / "sub" / ".." / name


def a_link(folder: Path, name: str) -> Path:
    (folder / f"link-{name}").symlink_to(name)
    return folder / f"link-{name}"


def a_hard_link(folder: Path, name: str) -> Path:
    (folder / f"hard-{name}").hardlink_to(folder / name)
    return folder / f"hard-{name}"


def a_linked_folder(folder: Path, name: str) -> Path:
    (folder / "linked").symlink_to(folder)
    return folder / "linked" / name


SPELLINGS = (same, through_a_folder, a_link, a_hard_link, a_linked_folder)
Spelled = Callable[[Path, str], Path]


@pytest.mark.parametrize("spelled", SPELLINGS)
@pytest.mark.parametrize(
    "words",
    [
        ["export", "run.svg", "-o"],
        ["export", "run.svg", "--format", "json", "-o"],
        ["report", "run.svg", "-f", "html", "-o"],
        ["report", "other.log", "other.log,run.svg", "-f", "svg", "-o"],
        ["report", "run.svg", "-o"],
    ],
)
def test_a_file_that_is_read_is_not_overwritten(
    imb: Imb,
    archive: Archive,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    spelled: Spelled,
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "run.svg"  # what imb report would write, too
    source.write_bytes(records())
    (tmp_path / "other.log").write_bytes(a_log())
    output = spelled(tmp_path, "run.svg")
    said = imb(*words, output)
    assert (said.code, said.out) == (2, "")
    assert said.err == f"imb: --output {output}: this is run.svg, which is read; give another file\n"
    assert source.read_bytes() == records()


def test_no_output_is_a_part_of_the_archive(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(a_log())
    assert imb("import", log).code == 0
    (run,) = archive.ids()
    stored = archive.path_of(run) / "output.txt"
    (tmp_path / "elsewhere").symlink_to(archive.folder)
    for output in (stored, archive.runs / "new.csv", tmp_path / "elsewhere" / "labels" / "new.csv"):
        for words in (["export", run[:10]], ["report", run[:10], "-f", "html"], ["export", log]):
            said = imb(*words, "-o", output)
            assert said.code == 2 and f"this is a file of the archive {archive.folder}" in said.err
    assert stored.read_bytes() == a_log() and imb("archive", "verify").code == 0
    beside = archive.folder / "report.csv"
    assert imb("export", run[:10], "-o", beside).code == 0 and beside.exists()


def test_outputs_replace_files_and_go_through_links_and_pipes(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_bytes(a_log())
    wanted = imb("export", log).out
    target, link, pipe = tmp_path / "target.csv", tmp_path / "link.csv", tmp_path / "pipe.csv"
    target.write_text("old")
    link.symlink_to(target)
    assert imb("export", log, "-o", link).code == 0
    assert link.is_symlink() and target.read_text() == wanted
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    assert imb("export", log, "-o", pipe).code == 0
    reader.join(10)
    assert got == [wanted] and pipe.is_fifo()
    said = imb("export", log, "-o", tmp_path)
    assert (said.code, said.err) == (2, f"imb: {tmp_path} is a folder; give a file\n")


def test_standard_output_by_its_name_is_continued_where_it_is(imb: Imb, tmp_path: Path) -> None:
    log, output = tmp_path / "run.log", tmp_path / "out"
    log.write_bytes(a_log())
    with output.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        command = [sys.executable, "-m", "imb", "export", str(log), "-o", "/dev/stdout"]
        subprocess.run(command, stdout=file, check=True)
        file.write(b"after\n")
    assert output.read_text() == f"before\n{imb('export', log).out}after\n"
    assert Path("/dev/stdout").is_symlink()
