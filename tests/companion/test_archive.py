"""The archive keeps what it was given, whole, from any number of writers."""

import multiprocessing
from pathlib import Path

import pytest
from imb.model.errors import ImbError
from imb.store.labels import replay
from imb.store.names import runs_to_change, stored_names
from imb.store.store import Archive, Content
from msgspec.structs import replace

EXAMPLE = Path(__file__).resolve().parents[2] / "schema" / "examples" / "complete.jsonl"


def launch(text: str = "a table\n") -> Content:
    return Content(
        records=EXAMPLE.read_bytes(),
        output=text.encode(),
        stderr=b"",
        facts={"kind": "launch", "exit_status": 0, "command": ["mpiexec", "-n", "2", "IMB-MPI1"]},
    )


def test_a_run_comes_back_as_it_went_in(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "deep" / "archive")
    added = archive.add(launch())
    (run,) = map(archive.run, stored_names(archive, added.id[:4]))
    assert added.new and run.id == added.id
    assert [run.part(name) for name in ("output.txt", "stderr.txt")] == [b"a table\n", b""]
    assert run.facts()["command"] == ["mpiexec", "-n", "2", "IMB-MPI1"]
    assert len(run.records().records) == len(EXAMPLE.read_bytes().splitlines())
    assert not list(archive.tmp.iterdir())


def test_the_same_content_is_the_same_run(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    first, again, other = (archive.add(launch(text)) for text in ("a", "a", "b"))
    assert (first.id, first.new, again.new, other.new) == (again.id, True, False, True)
    assert archive.ids() == sorted({first.id, other.id})


def test_a_torn_copy_is_replaced_by_a_whole_one(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    run_id = archive.add(launch()).id
    (archive.path_of(run_id) / "records.jsonl").write_bytes(b"{")
    assert archive.add(launch()).new
    assert archive.run(run_id).part("records.jsonl") == EXAMPLE.read_bytes()


def test_labels_and_notes_stay_beside_the_run(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    run_id = archive.add(launch()).id
    before = {path.name: path.read_bytes() for path in archive.path_of(run_id).iterdir()}
    archive.label(run_id, add=["baseline", "quiet"], note="first")
    archive.label(run_id, add=["new"], remove=["quiet"], note="second")
    assert archive.tags()[run_id].labels == ["baseline", "new"]
    assert archive.tags()[run_id].notes == ["first", "second"]
    assert stored_names(archive, "baseline") == [run_id]
    assert {path.name: path.read_bytes() for path in archive.path_of(run_id).iterdir()} == before


def test_runs_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for text in "ab":
        archive.label(archive.add(launch(text)).id, add=["both"])
    with pytest.raises(ImbError, match="'both' matches 2 runs"):
        runs_to_change(archive, "both", all_of_them=False)
    with pytest.raises(ImbError, match="no run, label or file 'missing'"):
        stored_names(archive, "missing")


def test_a_removed_run_is_gone_but_kept(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    run_id = archive.add(launch()).id
    place = archive.remove(run_id)
    assert archive.ids() == [] and (place / "output.txt").read_bytes() == b"a table\n"
    assert archive.add(launch()).new


def test_an_archive_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImbError, match="is a file"):
        Archive(tmp_path / "file")
    with pytest.raises(ImbError, match="cannot write to the archive"):
        Archive(tmp_path / "file" / "below").add(launch())


def write_many(folder: Path, start: int) -> None:
    archive = Archive(folder)
    for text in range(start, start + 30):
        archive.add(launch(str(text)))
    archive.add_many(launch(str(text)) for text in range(50, 60))


def test_two_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=write_many, args=(tmp_path, start)) for start in (0, 15)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    archive = Archive(tmp_path)
    assert {archive.run(run_id).part("output.txt") for run_id in archive.ids()} == {
        str(text).encode() for text in (*range(45), *range(50, 60))
    }
    assert not list(archive.tmp.iterdir()) and not list(archive.removed_folder.iterdir())


def test_a_killed_writer_leaves_no_run(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive._make_folders()
    archive._stage(launch())  # and no more
    assert archive.ids() == [] and list(archive.tmp.iterdir())


def test_no_changes_are_no_tags() -> None:
    assert replay([]) == {}


def test_many_runs_are_synced_without_holding_up_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr("os.sync", lambda: pytest.fail("all file systems are synced"))
    monkeypatch.setattr("imb.store.durable_files.sync_path", lambda path: synced.append(path.name))
    Archive(tmp_path).add_many([launch(str(number)) for number in range(20)])
    assert synced.count("manifest.json") == synced.count("records.jsonl") == 20


def test_labels_of_many_runs_are_synced_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("imb.store.durable_files.sync_path", synced.append)
    archive = Archive(tmp_path)
    added = archive.add_many([replace(launch(str(number)), labels=["x", "y"]) for number in range(20)])
    assert all(archive.tags()[one.id].labels == ["x", "y"] for one in added)
    assert [path.name for path in synced].count("labels") == 1
    assert len({path for path in synced if path.parent == archive.label_folder}) == 20
    assert len(archive.label_files()) == len(list(archive.label_folder.iterdir())) == 20
