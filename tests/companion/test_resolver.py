"""What a name means is the same for every command; a label is what its user can give again."""

import os
from pathlib import Path

import pytest
from companion.door import Imb, Said
from imb.model.records import Result, Run, write
from imb.store.labels import LabelChange
from imb.store.store import Archive, Content

QUERY = "SELECT run FROM runs"
ODD = ["from-monday", "select-gcc", "FROM", "with space", "select 1", "2026"]


def records(microseconds: float = 1.0) -> bytes:
    rows = [
        Result(
            benchmark="PingPong",
            multi="off",
            processes=2,
            bytes=size,
            time_avg_seconds=microseconds * size * 1e-7,
        )
        for size in (8, 16)
    ]
    return write([Run(component="MPI1"), *rows])


def stored(archive: Archive, label: str | None = None, microseconds: float = 1.0) -> str:
    return archive.add(Content(records=records(microseconds), labels=[label] if label else [])).id


def uses(imb: Imb, name: object, folder: Path) -> dict[str, Said]:
    """Every command that reads what a name means."""
    return {
        "show": imb("show", name),
        "export": imb("export", name),
        "diagnose": imb("diagnose", name),
        "compare": imb("compare", name, name),
        "report": imb("report", name, "-o", folder / "page.html"),
        "curves": imb("report", name, "-f", "terminal"),
        "baseline": imb("baseline", "set", "kept", name),
    }


@pytest.mark.parametrize("label", ODD)
def test_a_label_is_never_taken_for_sql(imb: Imb, archive: Archive, tmp_path: Path, label: str) -> None:
    run = stored(archive)
    assert imb("archive", "label", run[:10], label).code == 0
    for command, said in uses(imb, label, tmp_path).items():
        assert said.code != 2 and "sql" not in said.err, (command, said)
    assert imb("archive", "label", label, "more").out.startswith(run[:10])
    assert imb("archive", "verify", label).code == 0
    assert imb("ls", "--label", label).out.count(run[:10]) == 1
    assert imb("archive", "rm", label).out.startswith(run[:10])


def test_a_file_is_never_taken_for_sql(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(archive)
    monkeypatch.chdir(tmp_path)
    for name in ("from_file.log", "select.jsonl", "from me.jsonl"):
        Path(name).write_bytes(records())
        assert imb("compare", name, name).code in (0, 11)
        assert imb("report", name, "-f", "terminal").code == 0


def test_a_query_has_its_prefix_in_every_command(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    stored(archive)
    for command, said in uses(imb, f"sql:{QUERY}", tmp_path).items():
        assert said.code != 2, (command, said)
    for command, said in uses(imb, QUERY, tmp_path).items():
        assert said.code == 2 and "sql:" in said.err and len(said.err.splitlines()) == 1, (command, said)
    assert "sql:" in imb("archive", "rm", QUERY).err and "sql:" in imb("archive", "label", QUERY, "x").err
    assert len(archive.ids()) == 1


def test_a_query_must_answer_with_runs(imb: Imb, archive: Archive) -> None:
    stored(archive, "a")
    assert "column run" in imb("show", "sql:SELECT 1").err
    said = imb("compare", "a", "sql:SELECT '../../../etc' AS run")
    assert said.code == 2 and "unknown run: '../../../etc'" in said.err
    assert imb("compare", "a", "sql:SELECT run FROM runs WHERE run = 'x'").code == 2


@pytest.mark.parametrize(
    "label", ["", "   ", "a,b", "a\nb", "a\tb", "a\x1b[31m", "sql:FROM runs", "x" * 201, " a", "a\u202eb"]
)
def test_a_label_that_could_not_be_used_is_refused(
    imb: Imb, archive: Archive, tmp_path: Path, label: str
) -> None:
    run = stored(archive)
    (tmp_path / "some.jsonl").write_bytes(records(2.0))
    for said in (
        imb("archive", "label", run[:10], label),
        imb("import", "--label", label, tmp_path / "some.jsonl"),
        imb("run", "--label", label, "--mpi", tmp_path, "--programs", tmp_path),
    ):
        assert said.code == 2 and "label" in said.err and len(said.err.splitlines()) == 1
        assert "\x1b" not in said.err
    assert len(archive.ids()) == 1 and not archive.tags()


def odd_label(archive: Archive, run: str, label: str) -> None:
    """As another program may have written it."""
    import msgspec

    change = LabelChange(run=run, at="2026-01-01T00:00:00Z", by="x@y", add=[label])
    archive.label_folder.mkdir(parents=True, exist_ok=True)
    (archive.label_folder / f"00000000000000000001-{run[:16]}-abcd.json").write_bytes(
        msgspec.json.encode(change)
    )


def test_an_odd_label_in_the_archive_is_read_and_removed(imb: Imb, archive: Archive) -> None:
    run, label = stored(archive), "two\nlines"
    odd_label(archive, run, label)
    assert imb("compare", label, label).code in (0, 11)
    assert run[:10] in imb("show", label).out
    assert imb("archive", "label", run[:10], "--remove", label).code == 0
    assert archive.tags()[run].labels == []


def test_a_label_cannot_take_the_place_of_a_run(imb: Imb, archive: Archive) -> None:
    mine, other = stored(archive), stored(archive, microseconds=2.0)
    imb("archive", "label", other[:10], mine[:10])
    assert imb("archive", "rm", mine[:10]).out.startswith(mine[:10])


def test_a_label_of_several_runs(imb: Imb, archive: Archive) -> None:
    runs = [stored(archive, "a", t) for t in (1.0, 2.0, 3.0)]
    shown = imb("show", "a")
    assert shown.code == 0 and all(run[:10] in shown.out for run in runs)
    for words in (
        ["archive", "rm", "a"],
        ["archive", "label", "a", "b"],
        ["show", "a", "--output"],
        ["show", "a", "--chart"],
    ):
        said = imb(*words)
        assert said.code == 2 and "3 runs" in said.err and runs[0][:10] in said.err, words
    assert len(archive.ids()) == 3


def test_a_label_of_runs_without_results_lists_them(imb: Imb, archive: Archive) -> None:
    runs = [archive.add(Content(output=b"crashed", facts={"number": n}, labels=["a"])).id for n in (1, 2, 3)]
    said = imb("show", "a")
    assert said.code == 0 and all(run[:10] in said.out for run in runs)


def test_a_label_change_is_read_once(imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [stored(archive, f"label-{number}", number) for number in (1, 2, 3)]
    reads: list[Path] = []
    opened = os.open

    def counted(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        reads.append(Path(path))
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", counted)
    assert imb("export", "label-1", "label-2", "label-3").code == 0
    assert imb("archive", "verify", *runs).code == 0
    files = [path for path in reads if path.parent == archive.label_folder and path.suffix == ".json"]
    assert len(files) == len(set(files)) == 3


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("fabric", ""), marks=pytest.mark.slice("fabric")),
        pytest.param(("fabric", "r.jsonl", "--baseline", ""), marks=pytest.mark.slice("fabric")),
        ("show", ""),
        ("export", ""),
        ("archive", "rm", ""),
        ("archive", "label", "", "new"),
        ("compare", "", "r.jsonl"),
        ("compare", "r.jsonl", ","),
        ("baseline", "set", "b", ""),
    ],
)
def test_an_empty_name_is_not_the_current_folder(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.jsonl").write_bytes(records())
    said = imb(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err == "imb: a name is empty; give a run, a label or a file\n"


@pytest.mark.parametrize("command", [pytest.param("fabric", marks=pytest.mark.slice("fabric")), "show"])
def test_standard_input_is_not_a_name(imb: Imb, command: str) -> None:
    said = imb(command, "-")
    assert (said.code, said.err) == (
        2,
        "imb: standard input is not read; write it to a file, and give that\n",
    )
