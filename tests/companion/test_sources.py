"""Files that are no plain logs: each is read, or said to be what it is, in one line, and nothing empty is stored."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from companion.door import Imb
from imb.model.records import Result, Run, write
from imb.store import sources
from imb.store.store import Archive

LOG = Path(__file__).parents[1] / "reference" / "mpi1-np2.txt"


def figures(imb: Imb, sql: str) -> str:
    return imb("query", "-f", "csv", sql).out


@pytest.mark.slow
def test_a_pipe_and_a_device_are_refused_at_once(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = [sys.executable, "-m", "imb"]
    for path, kind in ((tmp_path / "pipe", "a pipe"), (Path("/dev/zero"), "a device")):
        for words in (["import", str(path)], ["compare", str(path), str(path)]):
            done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=60)
            lines = [line for line in done.stderr.splitlines() if line]
            assert done.returncode in (1, 2) and len(lines) == 1 and kind in lines[0], (words, done)
    assert not archive.ids()


def test_an_enormous_file_is_one_line(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    with (tmp_path / "sparse.log").open("wb") as file:
        file.truncate(1 << 36)
    said = imb("import", tmp_path / "sparse.log", LOG)
    assert said.code == 1 and len(said.err.splitlines()) == 1 and "more than 1 GiB" in said.err
    assert len(archive.ids()) == 1  # the other file is imported
    assert "more than 1 GiB" in imb("compare", tmp_path / "sparse.log", LOG).err


def test_a_small_file_that_unpacks_without_end_is_one_line(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LARGEST", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(2 << 20)))
    said = imb("import", "-j", "1", tmp_path / "bomb.gz")
    assert said.code == 1 and len(said.err.splitlines()) == 1 and "unpacks to more than" in said.err
    assert not archive.ids()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "log.gz": gzip.compress,
    "log.xz": lzma.compress,
    "log.bz2": bz2.compress,
    "utf-16.log": lambda text: text.decode().encode("utf-16"),
    "big-endian.log": lambda text: b"\xfe\xff" + text.decode().encode("utf-16-be"),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_logs_and_utf_16_are_read(imb: Imb, archive: Archive, tmp_path: Path, name: str) -> None:
    imb("import", LOG)
    sql = "SELECT benchmark, bytes, time_max_seconds FROM results ORDER BY ALL"
    plain = figures(imb, sql)
    (tmp_path / name).write_bytes(PACKED[name](LOG.read_bytes()))
    assert imb("compare", tmp_path / name, LOG).code in (0, 11)
    imb("archive", "rm", archive.ids()[0][:10])
    said = imb("import", tmp_path / name)
    assert (said.code, said.err) == (0, "") and figures(imb, sql) == plain


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\x28\xb5\x2f\xfd rest", "zstd"),
        (b"PK\x03\x04 rest", "zip"),
        (b"\x7fELF" + LOG.read_bytes(), "an executable"),
        (gzip.compress(LOG.read_bytes())[:200], "cannot be unpacked"),
        (b"\xff\xfea", "not valid UTF-16"),
        (LOG.read_bytes().replace(b"\n", b"\0"), "NUL bytes"),
        (b"\xcf\xfa\0\0" + b"# Benchmarking PingPong\0#bytes #repetitions t[usec]\0", "NUL bytes"),
    ],
)
def test_what_is_no_log_is_said_to_be_what_it_is(
    imb: Imb, archive: Archive, tmp_path: Path, content: bytes, says: str
) -> None:
    (tmp_path / "odd").write_bytes(content)
    said = imb("import", tmp_path / "odd")
    assert said.code == 1 and len(said.err.splitlines()) == 1 and says in said.err
    assert not archive.ids()


def test_a_folder_with_executables_stores_its_logs_only(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "python").write_bytes(Path(sys.executable).resolve().read_bytes())
    (tmp_path / "logs" / "a.log").write_bytes(LOG.read_bytes())
    assert imb("import", tmp_path / "logs").code == 1
    assert [int(n) for n in figures(imb, "SELECT rows FROM runs").split()[1:]] == [
        int(figures(imb, "SELECT count(*) FROM results").split()[1])
    ]


def test_a_label_reaches_a_log_that_is_stored_already(imb: Imb, archive: Archive) -> None:
    imb("import", LOG, "--label", "one")
    said = imb("import", LOG, "--label", "one", "--label", "two")
    assert "0 of them new, 1 other labeled" in said.out
    (run,) = archive.ids()
    assert archive.tags()[run].labels == ["one", "two"]
    before = len(archive.label_files())
    assert "labeled" not in imb("import", LOG, "--label", "two").out
    assert len(archive.label_files()) == before


def test_a_banner_that_is_printed_several_times_is_one_run(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    text = LOG.read_bytes()
    banner = text[: text.index(b"# Benchmarking")]
    (tmp_path / "three.log").write_bytes(banner * 2 + text)
    assert imb("import", tmp_path / "three.log").code == 0
    (run,) = archive.ids()
    assert archive.run(run).part("output.txt") == banner * 2 + text
    first, second = (banner.replace(b"2021.11", version) for version in (b"2021.10", b"2021.11"))
    assert first != second
    (tmp_path / "two.log").write_bytes(first + text)  # another launch, which ended at its start
    imb("import", tmp_path / "two.log")
    assert len(archive.ids()) == 3


ROW = b"            8           20         0.92"


@pytest.mark.parametrize("time", [b"-0.92", b"nan", b"-nan", b"inf", b"-inf", b"1e999"])
def test_a_time_that_is_no_figure_is_a_problem(
    imb: Imb, archive: Archive, tmp_path: Path, time: bytes
) -> None:
    text = LOG.read_bytes()
    assert ROW in text
    (tmp_path / "odd.log").write_bytes(text.replace(ROW, ROW[:-4] + time.rjust(4), 1))
    said = imb("import", tmp_path / "odd.log")
    assert said.code == 1 and len(said.err.splitlines()) == 1
    line = text[: text.index(ROW)].count(b"\n") + 1
    assert f"odd.log:{line}:" in said.err
    sql = "SELECT count(*) FROM results WHERE time_max_seconds < 0 OR NOT isfinite(time_max_seconds)"
    assert figures(imb, sql).split()[1] == "0"
    assert figures(imb, "SELECT count(*) FROM results WHERE time_max_seconds IS NULL").split()[1] == "1"


def test_an_odd_time_of_osu_is_a_problem(imb: Imb, tmp_path: Path) -> None:
    (tmp_path / "osu.log").write_text(
        "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n1                       1.10\n2       -5.00\n4       nan\n"
    )
    said = imb("import", tmp_path / "osu.log")
    assert said.code == 1 and len(said.err.splitlines()) == 2
    sql = "SELECT count(coalesce(time_max_seconds, time_avg_seconds)) AS n FROM results"
    assert figures(imb, sql) == "n\n1\n"


def test_a_negative_time_in_records_is_a_problem(imb: Imb, tmp_path: Path) -> None:
    rows = [
        Result(benchmark="PingPong", processes=2, bytes=n, time_avg_seconds=1e-6 * (4 - n)) for n in (1, 8)
    ]
    (tmp_path / "some.jsonl").write_bytes(write([Run(component="MPI1"), *rows]))
    said = imb("import", tmp_path / "some.jsonl")
    assert said.code == 1 and "some.jsonl:3" in said.err
    sql = "SELECT bytes, time_avg_seconds FROM results ORDER BY bytes"
    assert json.loads(imb("query", "-f", "json", sql).out.splitlines()[1])["time_avg_seconds"] is None
