"""The cache may be deleted at any time, by anyone, while others read it: every answer is right, and whoever asks again may fill it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from companion.door import Imb
from companion.test_damage import CACHE_READERS, launched
from companion.test_files_as_names import a_log
from imb.store.index import Index
from imb.store.store import Archive

# Of one process: it reads again and again, and prints each answer.
READER = """
import json, pathlib, sys
from imb.store.index import Index
from imb.store.sql import ask
from imb.store.store import Archive

archive = Archive(pathlib.Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    print(json.dumps([
        sorted(row["run"] for row in Index(archive).rows(["run"])),
        {run: tag.labels for run, tag in sorted(Index(archive).tags().items())},
        ask(archive, "SELECT run, sum(time_max_seconds), count(*) FROM results GROUP BY run ORDER BY run").rows,
        ask(archive, "SELECT run, label FROM labels ORDER BY ALL").rows,
    ]))
"""


def filled(imb: Imb, archive: Archive, folder: Path) -> None:
    archive.add_many([launched(number) for number in range(1, 9)])
    for number in range(3):
        (folder / f"{number}.log").write_bytes(a_log(3.0 + number))
        assert imb("import", folder / f"{number}.log", "--label", f"log-{number}").code == 0


@pytest.mark.slow
def test_every_reader_has_the_right_answer_while_the_cache_is_deleted(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    filled(imb, archive, tmp_path)
    words = [sys.executable, "-c", READER, str(archive.folder)]
    alone = subprocess.run([*words, "1"], capture_output=True, text=True, check=True).stdout
    answer = json.loads(alone)
    assert len(answer[0]) == 11 and len(answer[2]) == 11 and len(answer[3]) == 11
    expected = [imb(*command) for command in CACHE_READERS]
    assert all(said.code == 0 for said in expected)
    readers = [
        subprocess.Popen([*words, "8"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    over = threading.Event()
    deleted = 0

    def delete() -> None:
        nonlocal deleted
        while not over.wait(0.003):
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            deleted += 1

    deleter = threading.Thread(target=delete)
    deleter.start()
    try:
        for _ in range(2):
            for command, before in zip(CACHE_READERS, expected, strict=True):
                now = imb(*command)
                assert (now.code, now.out) == (0, before.out), (command, now)
        said = [reader.communicate(timeout=300) for reader in readers]
    finally:
        over.set()
        deleter.join()
        for reader in readers:
            reader.kill()
            reader.wait()
    assert [(reader.returncode, errors) for reader, (_, errors) in zip(readers, said, strict=True)] == [
        (0, "")
    ] * 3
    for text, _ in said:
        assert text == alone * 8
    assert deleted > 50
    assert [imb(*command) for command in CACHE_READERS] == expected  # and without notes
    assert Index(archive).segments()


def test_a_query_is_asked_again_where_its_files_are_deleted(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(imb, archive, tmp_path)
    expected = [imb(*command) for command in CACHE_READERS[1:]]
    connect = Index.connect
    left = 0

    def deleted_then(index: Index, read: Any = None) -> Any:
        nonlocal left
        made = connect(index, read)
        if left:
            left -= 1
            shutil.rmtree(tmp_path / "cache")
        return made

    monkeypatch.setattr(Index, "connect", deleted_then)
    for command, before in zip(CACHE_READERS[1:], expected, strict=True):
        left = 1
        assert imb(*command) == before, command
        assert left == 0
    left = 1
    said = imb("query", "SELECT nothing FROM runs")  # the fault of the query itself
    assert said.code == 2 and said.err.startswith("imb: query failed: ") and '"nothing" not found' in said.err


def test_a_folder_that_is_deleted_while_it_is_made_is_made_again(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(imb, archive, tmp_path)
    expected = [imb(*command) for command in CACHE_READERS]
    make = os.mkdir
    left = 0

    def deleted_then(path: Path, mode: int = 0o777) -> None:
        nonlocal left
        make(path, mode)
        if left and Path(path).is_relative_to(tmp_path / "cache"):
            left -= 1
            shutil.rmtree(tmp_path / "cache")
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))

    monkeypatch.setattr(os, "mkdir", deleted_then)
    for command, before in zip(CACHE_READERS, expected, strict=True):
        shutil.rmtree(tmp_path / "cache")
        left = 1
        assert imb(*command) == before, command
        assert left == 0


def test_a_file_in_place_of_the_cache_is_named(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    filled(imb, archive, tmp_path)
    shutil.rmtree(tmp_path / "cache" / "openimb")
    (tmp_path / "cache" / "openimb").write_text("")
    said = imb("ls")
    assert said.code == 2 and "cannot write to the cache" in said.err


def test_a_cache_that_is_deleted_again_and_again_is_done_without(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(imb, archive, tmp_path)
    expected = [imb(*command) for command in CACHE_READERS]
    write = Index._write

    def deleted(index: Index, runs: Any, tables: Mapping[str, Any]) -> None:
        write(index, runs, dict(tables))
        if index.folder.is_relative_to(tmp_path / "cache"):
            shutil.rmtree(tmp_path / "cache")

    monkeypatch.setattr(Index, "_write", deleted)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for command, before in zip(CACHE_READERS, expected, strict=True):
        said = imb(*command)
        assert (said.code, said.out) == (0, before.out), command
        (line,) = said.err.splitlines()
        assert line.startswith("imb: note: the cache ") and "was changed or deleted twice" in line
    assert not list((tmp_path / "tmp").iterdir())
    said = imb("import", tmp_path / "0.log", "--label", "again")
    assert (said.code, said.err) == (0, "")


def test_runs_that_two_processes_take_in_are_counted_once(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(imb, archive, tmp_path)
    expected = [imb(*command) for command in CACHE_READERS]
    take_in = Index._take_in

    def with_another(index: Index, new: Sequence[str]) -> list[str]:
        take_in(index, new)
        return take_in(index, new)

    monkeypatch.setattr(Index, "_take_in", with_another)
    for command, before in zip(CACHE_READERS, expected, strict=True):
        shutil.rmtree(tmp_path / "cache")
        assert imb(*command) == before, command
