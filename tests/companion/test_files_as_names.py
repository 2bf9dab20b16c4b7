"""A file is a name like any other: show and export read it, label and rm change only what is stored."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from companion.classic_text import text
from companion.door import Imb
from companion.test_resolver import records
from imb.model.records import End, Result, Run, read, write
from imb.store.store import Archive


def a_log(microseconds: float = 1.0) -> bytes:
    rows = [
        Result(
            benchmark="PingPong",
            multi="off",
            processes=2,
            bytes=size,
            repetitions=1000,
            time_max_seconds=microseconds * size * 1e-7,
            bytes_per_second=1e9,
        )
        for size in (8, 16)
    ]
    return text([Run(component="MPI1", version="1.0"), *rows, End(state="complete")]).encode()


@pytest.fixture(params=["run.jsonl", "run.log"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_bytes(records() if path.suffix == ".jsonl" else a_log())
    return path


def nothing_stored(archive: Archive) -> bool:
    return not archive.folder.exists() or not archive.ids()


def test_show_reads_a_file(imb: Imb, archive: Archive, file: Path) -> None:
    said = imb("show", file)
    assert said.code == 0, said
    assert str(file) in said.out and "PingPong" in said.out and "not stored" in said.out
    (row,) = [line for line in said.out.splitlines() if line.split()[:1] == ["16"]]
    assert "1.60" in row
    assert nothing_stored(archive)


def test_show_reads_a_log_of_several_launches_as_a_label_of_several_runs(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    log = tmp_path / "three.log"
    log.write_bytes(a_log(1.0) + a_log(2.0) + a_log(3.0))
    said = imb("show", log)
    assert said.code == 0 and "3 launches" in said.out and f"{log}#2" in said.out, said
    assert nothing_stored(archive)
    refused = imb("show", log, "--output")
    assert refused.code == 2 and "3 runs" in refused.err


def test_show_prints_the_text_of_a_log(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_bytes(a_log())
    assert imb("show", log, "--output").out.encode() == a_log()


@pytest.mark.parametrize("format", ["csv", "jsonl", "markdown", "parquet"])
def test_export_reads_a_file(imb: Imb, archive: Archive, tmp_path: Path, file: Path, format: str) -> None:
    out = tmp_path / f"out.{format}"
    said = imb("export", file, "--format", format, "--output", out)
    assert said.code == 0, said
    assert nothing_stored(archive)
    match format:
        case "csv":
            rows = list(csv.DictReader(io.StringIO(out.read_text())))
            assert [(row["run"], row["benchmark"], row["bytes"]) for row in rows] == [
                (str(file), "PingPong", "8"),
                (str(file), "PingPong", "16"),
            ]
            assert rows[0]["component"] == "MPI1"
        case "jsonl":
            results = list(read(out.read_bytes(), "out").of(Result))
            assert [row.bytes for row in results] == [8, 16]
        case "parquet":
            assert pq.read_table(out).column("bytes").to_pylist() == [8, 16]
        case "markdown":
            assert "PingPong" in out.read_text() and str(file).replace("_", "\\_") in out.read_text()


def test_export_of_a_file_and_of_a_run_with_the_same_content(imb: Imb, archive: Archive, file: Path) -> None:
    assert imb("import", file, "--label", "kept").code == 0
    alone, both = (imb("export", *names) for names in (["kept"], ["kept", file]))
    assert alone.code == both.code == 0
    rows = [list(csv.DictReader(io.StringIO(said.out))) for said in (alone, both)]
    assert len(rows[0]) == 2 and len(rows[1]) == 4
    assert {row["run"] for row in rows[1]} == {archive.ids()[0][:10], str(file)}


def test_lines_that_cannot_be_read_are_reported(imb: Imb, tmp_path: Path) -> None:
    log = tmp_path / "damaged.log"
    log.write_bytes(a_log().replace(b"1000", b"10x0", 1))
    for words in (["show", log], ["export", log]):
        said = imb(*words)
        assert said.code == 1 and f"imb: {log}:" in said.err, (words, said)


@pytest.mark.parametrize("command", ["show", "export", "archive label", "archive rm"])
def test_a_file_without_a_table_is_refused(imb: Imb, tmp_path: Path, command: str) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("nothing of interest\n")
    said = imb(*command.split(), prose)
    assert said.code == 2 and len(said.err.splitlines()) == 1 and "no table" in said.err, said


def test_label_and_rm_refuse_a_file_that_is_not_stored(imb: Imb, archive: Archive, file: Path) -> None:
    for words in (["archive", "label", file, "x"], ["archive", "rm", file]):
        said = imb(*words)
        assert said.code == 2 and len(said.err.splitlines()) == 1, said
        assert f"imb import {file}" in said.err and str(file) in said.err
    assert nothing_stored(archive) and not archive.tags()


def test_label_and_rm_take_a_file_whose_content_is_stored(imb: Imb, archive: Archive, file: Path) -> None:
    assert imb("import", file).code == 0
    (run,) = archive.ids()
    assert imb("archive", "label", file, "x").out.startswith(run[:10])
    assert archive.tags()[run].labels == ["x"]
    assert imb("archive", "verify", file).code == 0
    assert imb("archive", "rm", file).out.startswith(run[:10]) and not archive.ids()
    assert f"imb import {file}" in imb("archive", "rm", file).err


def test_a_log_of_which_a_part_is_stored_is_refused(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    log = tmp_path / "two.log"
    log.write_bytes(a_log(1.0) + a_log(2.0))
    assert imb("import", log).code == 0
    first, _ = archive.ids()
    several = imb("archive", "rm", log)
    assert several.code == 2 and "2 runs" in several.err
    assert imb("archive", "rm", first[:10]).code == 0
    said = imb("archive", "rm", log)
    assert said.code == 2 and "imb import" in said.err and len(archive.ids()) == 1


def test_a_label_goes_before_a_file_of_the_same_name(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("same").write_bytes(records(7.0))
    Path("kept.jsonl").write_bytes(records())
    assert imb("import", "kept.jsonl", "--label", "same").code == 0
    assert archive.ids()[0][:10] in imb("show", "same").out


def test_the_records_of_a_file_are_exported_as_they_are(imb: Imb, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(write([Run(component="MPI1"), *read(records(), "x").of(Result)]))
    said = imb("export", path, "--format", "jsonl")
    assert said.out.encode() == path.read_bytes()
    assert [json.loads(line)["record"] for line in said.out.splitlines()] == ["run", "result", "result"]
