"""Files of an archive or of the cache that are damaged, of another version, or not readable for this user: each costs one note,
nothing else is lost, and what can be made again is."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb, Said
from companion.test_files_as_names import a_log
from imb.model.records import Result, Run, write
from imb.store.store import Archive, Content, file_facts, name_of

EXAMPLE = Path(__file__).resolve().parents[2] / "schema" / "examples" / "complete.jsonl"
NOBODY = 65534

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "bad byte": lambda data: re.sub(rb'(": ?").', rb"\1" + b"\xff", data, count=1),
    "deep": lambda data: b'{"x":' + b"[" * 100_000,
    "other version": lambda data: b'{"format":"later"}',
}


def launched(number: int) -> Content:
    """As a launch leaves it."""
    row = Result(benchmark="PingPong", multi="off", processes=2, bytes=8, time_max_seconds=1e-6 * number)
    facts = {"kind": "launch", "exit_status": 0, "session": "s", "number": number, "outcome": "measured"}
    records = write([Run(component="MPI1"), row])
    return Content(records=records, output=b"a table\n", stderr=b"", facts=facts, labels=["all"])


def campaign(folder: Path) -> Path:
    options = fake_mpi.make(folder / "mpi")
    file = folder / "c.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\nlaunches = 1\nclassic = true\n[common]\nmpi = "{options[1]}"\n'
        f'programs = "{options[3]}"\n[variants.a]\n'
    )
    return file


def reading(folder: Path) -> list[list[object]]:
    """Commands that read an archive with runs of the label `all`."""
    return [
        ["ls"],
        ["ls", "--format", "json"],
        ["show", "all"],
        ["query", "FROM runs JOIN results USING (run)"],
        ["export"],
        ["export", "all", "--format", "jsonl"],
        ["compare", "all", "all"],
        ["diagnose", "all"],
        ["report", "all", "-o", folder / "page.html"],
        ["baseline", "list"],
        ["archive", "label", "all", "--all"],
        ["campaign", folder / "c.toml", "--dry-run"],
        ["campaign", "--resume", "--dry-run"],
        ["run", "--resume", "--dry-run"],
        ["import", folder / "new.log", "--label", "again"],
    ]


WELL = ("ls", "show", "query", "export", "baseline", "archive", "import", "report")  # end well


def notes(said: Said) -> list[str]:
    return [line for line in said.err.splitlines() if line.startswith("imb: note: ")]


@pytest.fixture(autouse=True)
def every_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imb.cli.app._NOTES", 1000)


def test_each_damaged_file_costs_one_note_in_every_command(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    good = archive.add(launched(1)).id
    (tmp_path / "new.log").write_bytes(a_log(3.0))
    file = campaign(tmp_path)
    assert imb("campaign", file, "--seed", "1").code == 0
    (whole,) = (archive.folder / "sessions").iterdir()
    sessions = [whole.with_name(f"{whole.name}-{number}") for number in range(1 + len(DAMAGES))]
    for copy in sessions:
        shutil.copytree(whole, copy)
        plan = (copy / "plan.json").read_text()
        (copy / "plan.json").write_text(plan.replace(whole.name, copy.name))
    damaged: dict[str, Path] = {}

    def damage(path: Path, kind: str) -> None:
        data = path.read_bytes()
        path.write_bytes(DAMAGES[kind](data))
        assert path.read_bytes() != data
        damaged[str(path)] = path

    for number, kind in enumerate(DAMAGES, 2):
        for part in ("manifest.json", "facts.json"):
            if (part, kind) != ("facts.json", "other version"):  # facts are any object, of the stored size
                run = archive.add(launched(100 * number + len(part))).id
                damage(archive.path_of(run) / part, kind)
        change = archive.label_files()[-1]
        archive.label(good, add=["lost"])
        damage(next(each for each in archive.label_files()[::-1] if each != change), kind)
        damage(sessions[number - 2] / "plan.json", kind)
    run = archive.add(launched(7)).id
    (archive.path_of(run) / "output.txt").unlink()
    damaged["output"] = archive.path_of(run) / "output.txt"
    damage(sessions[-1] / "0001.json", "bad byte")

    for words in reading(tmp_path):
        said = imb(*words)
        assert said.code == 0 or words[0] not in WELL, (words, said)
        lines = notes(said)
        assert len(lines) == len(set(lines)), words
        for name, path in damaged.items():
            assert sum(str(path) in line for line in lines) <= 1, (words, name)
        assert all("cannot be read (" in line for line in lines), lines
        if words[0] == "ls" or words[:2] == ["export", "all"]:
            runs = [path for path in damaged.values() if path.name in ("manifest.json", "facts.json")]
            assert len(runs) == 2 * len(DAMAGES) - 1 and all(str(path) in said.err for path in runs), words
        if words[0] == "ls":
            assert good[:10] in said.out
            of_labels = [path for path in damaged.values() if path.parent == archive.label_folder]
            assert len(of_labels) == len(DAMAGES) and all(str(path) in said.err for path in of_labels)
        if words[0] == "campaign":
            plans = [path for path in damaged.values() if path.name == "plan.json"]
            assert len(plans) == len(DAMAGES) and all(str(path) in said.err for path in plans), said
    said = imb("archive", "verify")
    assert said.code == 1 and all(str(path) in said.err for path in damaged.values())
    broken = next(path for path in damaged.values() if path.name == "manifest.json").parent.name
    assert imb("ls", broken[:10]).err.splitlines()[-1] == "imb: none of these runs can be read"
    for command in (["show", broken[:10]], ["compare", broken[:10], "all"], ["export", broken[:10]]):
        said = imb(*command)
        assert said.code == 2 and f"{broken}/manifest.json: cannot be read" in said.err, command
    assert imb("archive", "rm", broken[:10]).code == 0 and broken not in archive.ids()


def test_many_notes_are_counted(imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imb.cli.app._NOTES", 2)
    for number in range(5):
        (archive.path_of(archive.add(launched(number)).id) / "manifest.json").write_bytes(b"")
    said = imb("ls")
    assert len(notes(said)) == 3
    assert notes(said)[-1] == "imb: note: 3 more files cannot be read; `imb archive verify` lists them"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that other users may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    monkeypatch.setenv("IMB_ARCHIVE", str(folder / "archive"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
def test_what_another_user_keeps_private_costs_one_note(
    imb: Imb, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored with umask 077, between what all may read."""
    archive = Archive(shared / "archive")
    (shared / "new.log").write_bytes(a_log(3.0))
    file = campaign(shared)
    assert imb("campaign", file, "--seed", "1").code == 0
    good = archive.add(launched(1)).id
    before = os.umask(0o077)
    private = archive.add(launched(2)).id
    assert imb("campaign", file, "--seed", "2").code == 0
    os.umask(before)
    archive.path_of(private).parent.chmod(0o755)  # another run may have been there first
    sealed = archive.add(launched(3)).id
    archive.path_of(sealed).parent.chmod(0)
    for words in reading(shared):  # what the commands import must be there before the user changes
        imb(*words)
    (shared / "mine").mkdir()
    for path in (shared / "mine", shared, archive.label_folder, archive.tmp, archive.runs):
        path.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "mine"))
    (shared / "page.html").unlink()
    try:
        if not os.geteuid():
            os.seteuid(NOBODY)
        else:
            for path in (archive.path_of(private), *(archive.folder / "sessions").iterdir()):
                path.chmod(0)
        for words in reading(shared):
            said = imb(*words)
            assert said.code == 0 or words[0] not in WELL, (words, said)
            lines = notes(said)
            assert len(lines) == len(set(lines)) and all("Permission denied" in line for line in lines)
            for path in (archive.path_of(private), archive.path_of(sealed).parent):
                assert sum(str(path) in line for line in lines) <= 1, (words, said)
            if words[0] in ("ls", "query") or words == ["export"]:
                assert str(archive.path_of(private)) in said.err and good[:10] in said.out, (words, said)
        said = imb("archive", "verify")
        assert said.code == 1 and not notes(said) and "sessions" not in said.err
        assert f"{archive.path_of(sealed).parent}: cannot be read (Permission denied)" in said.err
    finally:
        os.seteuid(os.getuid())
        archive.path_of(sealed).parent.chmod(0o700)
        archive.path_of(private).chmod(0o700)
        for path in (archive.folder / "sessions").iterdir():
            path.chmod(0o700)


CACHE_READERS = (["ls", "--format", "json"], ["query", "-f", "csv", "FROM runs ORDER BY run"], ["export"])


@pytest.mark.slow
def test_a_damaged_cache_is_made_again(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    archive.add_many([launched(number) for number in range(3)])
    (tmp_path / "a.log").write_bytes(a_log(3.0))
    assert imb("import", tmp_path / "a.log").code == 0
    expected = [imb(*words) for words in CACHE_READERS]
    assert all((said.code, said.err) == (0, "") for said in expected)
    kinds = {
        re.sub("[0-9a-f-]{20,}", "N", str(path)) for path in (tmp_path / "cache").rglob("*") if path.is_file()
    }
    assert len(kinds) == 6, kinds  # runs, results, failures; columns of these two; labels
    flipped = {"flipped": lambda data: data[:60] + bytes([data[60] ^ 255]) + data[61:]}
    for name, damage in ({"truncated": DAMAGES["truncated"]} | flipped).items():
        for kind in sorted(kinds):
            for mark in list((tmp_path / "cache").rglob("replaced")):
                shutil.rmtree(mark.parent)
            files = [
                f for f in (tmp_path / "cache").rglob("*") if re.sub("[0-9a-f-]{20,}", "N", str(f)) == kind
            ]
            assert files
            for file in files:
                file.write_bytes(damage(file.read_bytes()))
            assert [imb(*words) for words in CACHE_READERS] == expected, (name, kind)


def test_a_merge_does_not_disturb_a_query_of_another_process(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    import duckdb
    from imb.store.index import Index

    ids = [archive.add(launched(number)).id for number in range(4)]
    for part in (ids[:2], ids[2:], ids[1:2]):  # as of several writers
        Index(archive)._take_in(part)
    other = Index(archive)
    monkeypatch.setattr(other, "_merge", lambda: None)
    query: duckdb.DuckDBPyConnection = other.connect()
    assert imb("query", "-f", "csv", "SELECT count(*) AS n FROM results").out == "n\n4\n"
    assert len(other.segments()) == 1
    assert query.sql("SELECT count(DISTINCT run) FROM results").fetchall() == [(4,)]
    monkeypatch.setattr("imb.store.index._KEPT", -1.0)
    archive.add(launched(9))
    Index(archive)._take_in(ids[:1])
    assert imb("query", "-f", "csv", "SELECT count(*) AS n FROM results").out == "n\n5\n"
    assert not list(other.folder.glob("*/replaced"))  # those are deleted in the end


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_a_number_beyond_64_bits_spoils_one_line(
    imb: Imb, archive: Archive, tmp_path: Path, number: int
) -> None:
    lines = EXAMPLE.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"bytes":0' in line and b"result" in line)
    lines[at] = lines[at].replace(b'"bytes":0', b'"bytes":%d' % number)
    (tmp_path / "r.jsonl").write_bytes(b"".join(lines))
    said = imb("import", tmp_path / "r.jsonl", "--label", "x")
    expected = (
        f"r.jsonl:{at + 1}: not a record of openimb-record/2 (whole number of more than 64 bits: {number})"
    )
    assert said.code == 1 and expected in said.err
    for words in (["ls"], ["query", "FROM results"], ["export"], ["show", "x"]):
        said = imb(*words)
        assert said.code == 0 and "Sendrecv" in said.out, (words, said)
        assert all(f"records.jsonl:{at + 1}: " in line for line in said.err.splitlines()), said.err
    said = imb("archive", "verify")
    assert said.code == 0 and f"records.jsonl:{at + 1}: " in said.out


def test_a_run_that_no_column_takes_costs_one_note(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the reason is, once it is stored."""
    good, bad = (archive.add(launched(number)).id for number in (1, 2))
    from imb.store import entries

    tables = entries.index_tables

    def failing(some: list[entries.Entry]) -> object:
        if any(entry.manifest and entry.manifest.id == bad for entry in some):
            raise OverflowError("too large")
        return tables(some)

    monkeypatch.setattr(entries, "index_tables", failing)
    for _ in range(2):
        said = imb("ls")
        assert said.code == 0 and good[:10] in said.out
        assert len(notes(said)) == 1 and f"run {bad[:10]}: cannot be listed" in said.err


def test_a_label_change_follows_those_that_it_has_seen(
    imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the clocks of hosts are."""
    run = archive.add(launched(1)).id[:10]
    assert imb("archive", "label", run, "x").code == 0
    monkeypatch.setattr("imb.store.labels.time.time_ns", lambda: 1)
    assert imb("archive", "label", run, "--remove", "x", "--remove", "all").out == f"{run}  (no labels)\n"
    assert imb("archive", "label", run, "y", "x").out == f"{run}  y, x\n"
    monkeypatch.undo()
    monkeypatch.setenv("IMB_ARCHIVE", str(archive.folder))
    assert imb("archive", "label", run, "--remove", "y").out == f"{run}  x\n"
    assert [len(path.name.split("-")[0]) for path in archive.label_files()] == [20] * 5


def test_adding_the_content_again_repairs_a_run(imb: Imb, archive: Archive) -> None:
    run = archive.add(launched(1)).id
    for name in ("manifest.json", "facts.json", "records.jsonl"):
        for kind in ("bad byte", "truncated", "empty"):
            file = archive.path_of(run) / name
            file.write_bytes(DAMAGES[kind](file.read_bytes()))
            assert imb("archive", "verify").code == 1
            assert archive.add(launched(1)).new and not archive.add(launched(1)).new
            assert imb("archive", "verify").code == 0


def test_an_import_of_stored_runs_writes_nothing(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deleting files that were synced takes longer than storing them."""
    (tmp_path / "many.log").write_bytes(b"".join(a_log(1.0 + number) for number in range(20)))
    assert imb("import", tmp_path / "many.log").code == 0
    synced: list[Path] = []
    monkeypatch.setattr("imb.store.durable_files.sync_path", synced.append)
    assert "20 runs, 0 of them new" in imb("import", tmp_path / "many.log").out
    assert not synced
    assert "20 others labeled" in imb("import", tmp_path / "many.log", "--label", "x").out
    assert [path.name for path in synced].count("labels") == 1


# --- Sessions --------------------------------------------------------------------------------------------------------


@pytest.fixture
def session(imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a session of two launches, all over. The launcher appends to `log`."""
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    options = fake_mpi.make(tmp_path / "mpi")
    assert imb("run", "PingPong", "--launches", "2", "--classic", "--label", "x", *options).code == 0
    (folder,) = (archive.folder / "sessions").iterdir()
    return folder


def launches(tmp_path: Path) -> int:
    return len((tmp_path / "log").read_text().splitlines())


def test_a_launch_whose_end_cannot_be_read_is_found_in_the_archive(
    imb: Imb, archive: Archive, session: Path, tmp_path: Path
) -> None:
    file = session / "0002.json"
    whole = file.read_bytes()
    before = archive.ids(), launches(tmp_path)
    for damage in ("bad byte", "truncated", "empty", "deep"):
        file.write_bytes(DAMAGES[damage](whole))
        said = imb("run", "--resume", session.name)
        assert said.code == 0 and len(notes(said)) == 1 and f"{file}: cannot be read" in said.err, said
        assert (archive.ids(), launches(tmp_path)) == before
        assert imb("archive", "verify").code == 0


def test_what_a_killed_launch_left_is_stored_whatever_its_files_are(
    imb: Imb, archive: Archive, session: Path, tmp_path: Path
) -> None:
    (session / "0002.json").unlink()
    spool = session / "0002.part"
    spool.mkdir()
    (spool / "facts.json").write_bytes(b'{"kind":"\xff"}')
    (spool / "records.jsonl").write_bytes(write([Run(component="MPI1", program="OpenIMB")]))
    (session / "0002.interrupted").write_bytes(b"\xff\xfe nothing\n")
    archive.remove(next(run for run in archive.ids() if archive.run(run).facts()["number"] == 2))
    said = imb("run", "--resume", session.name)
    assert said.code == 0 and len(notes(said)) == 1 and f"{spool}/facts.json: cannot be read" in said.err, (
        said
    )
    facts = [archive.run(run).facts() for run in archive.ids()]
    assert sorted((one["number"], one["outcome"]) for one in facts) == [
        (1, "measured"),
        (2, "interrupted"),
        (2, "measured"),
    ]


def test_an_owner_that_cannot_be_read_counts_by_its_heartbeat(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session / "0002.json").unlink()
    owner = session / "owner.json"
    owner.write_bytes(b'{"user":"\xff"}')
    os.utime(owner, (0, 0))
    assert imb("run", "--resume").code == 0 and not owner.exists()


def test_a_setup_that_cannot_be_read_is_not_passed_over(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LOG", os.devnull)
    file = campaign(tmp_path)
    file.write_text(file.read_text() + 'setup = "true"\nteardown = "true"\n')
    assert imb("campaign", file).code == 0
    (session,) = (archive.folder / "sessions").iterdir()
    (session / "0001.json").unlink()
    for bad in (b'{"variant":"\xff"}', b'{"variant":7}'):
        (session / "standing.json").write_bytes(bad)
        archive.remove(archive.ids()[0]) if archive.ids() else None
        said = imb("campaign", "--resume")
        assert (
            said.code == 2 and f"{session}/standing.json" in said.err and "undo that by hand" in said.err
        ), said


def test_an_error_elsewhere_is_not_one_of_the_archive(
    imb: Imb, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session / "0002.json").rename(session / "kept")

    def fails(error: OSError) -> str:
        def run(*words: object, **options: object) -> None:
            raise error

        monkeypatch.setattr("imb.mpi.launch.run", run)
        shutil.rmtree(session / "0002.part", ignore_errors=True)
        said = imb("run", "--resume", session.name)
        assert said.code == 2
        return said.err.splitlines()[-1]

    assert (
        fails(OSError(2, "No such file or directory", "/opt/mpi/etc"))
        == "imb: /opt/mpi/etc: No such file or directory"
    )
    assert (
        fails(OSError(99, "Cannot assign requested address"))
        == "imb: the system: Cannot assign requested address"
    )
    for error in (
        OSError(28, "No space left on device"),
        OSError(30, "Read-only file system", str(session / "x")),
    ):
        assert "cannot write to the archive" in fails(error)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("closed", ["runs/*", "labels"])
def test_a_folder_of_a_shared_archive_that_another_user_made_is_named(
    imb: Imb, shared: Path, closed: str
) -> None:
    """The archive itself is open to all; `runs/ab` and labels got the umask of their first writer."""
    archive = Archive(shared / "archive")
    archive.add(launched(1))
    for folder in (
        shared,
        archive.folder,
        archive.runs,
        archive.tmp,
        archive.label_folder,
        archive.removed_folder,
    ):
        folder.chmod(0o777)
    if closed == "labels":
        archive.label_folder.chmod(0o755)
        for folder in archive.runs.iterdir():
            folder.chmod(0o777)
    [stored] = archive.ids()
    file = shared / "new.jsonl"
    for number in range(10**6):  # content whose name begins as that of the stored run
        content = fake_mpi.records(1.0 + number)
        facts = {"kind": "import", "format": "openimb-record"}
        parts = Content(records=content, facts=facts).parts()
        if closed == "labels" or name_of(file_facts(parts))[:2] == stored[:2]:
            break
    file.write_bytes(content)
    imb("show", file)  # what the commands import must be there before the user changes
    try:
        os.seteuid(NOBODY)
        said = imb("import", file, "--label", "mine", "--jobs", "1")
    finally:
        os.seteuid(os.getuid())
    place = archive.label_folder if closed == "labels" else archive.path_of(stored).parent
    assert said.code == 2 and f"Permission denied: {place} belongs to root, mode 0755; " in said.err, said
    assert f"`chmod g+w {archive.folder / closed}`" in said.err and "umask 002" in said.err


def test_a_removed_run_is_named_with_the_way_back(imb: Imb, archive: Archive) -> None:
    run = archive.add(launched(1)).id
    assert imb("archive", "rm", run).code == 0
    for name in (run[:4], run[:10], run):
        for words in (["show", name], ["export", name], ["compare", name, name]):
            said = imb(*words)
            assert said.code == 2, said
            assert said.err == f"imb: run {name} was removed; `imb archive restore {name}` puts it back\n"
    assert imb("archive", "restore", run[:10]).code == 0 and imb("show", run[:10]).code == 0


def test_what_is_no_file_is_not_waited_for(imb: Imb, archive: Archive, session: Path) -> None:
    """In a shared archive another user may put a FIFO in the place of a file: opened as a file, it holds a command for ever."""
    first, second = sorted(archive.ids())
    places = [
        archive.path_of(first) / "manifest.json",
        archive.path_of(second) / "facts.json",
        archive.label_files()[0],
        session / "plan.json",
    ]
    for place in places:
        place.unlink()
        os.mkfifo(place)

    def late(number: int, frame: object) -> None:
        raise AssertionError("a command waits for a FIFO")

    before = signal.signal(signal.SIGALRM, late)
    try:
        for words in (
            ["ls"],
            ["export"],
            ["archive", "verify"],
            ["run", "--resume"],
            ["run", "--resume", session.name],
        ):
            signal.alarm(30)
            said = imb(*words)
            assert "(not a regular file)" in said.err + said.out, said
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("change", ['"variant": 0', '"number": 2'])
def test_a_plan_of_launches_that_cannot_be_is_not_carried_out(
    imb: Imb, archive: Archive, session: Path, change: str
) -> None:
    plan = session / "plan.json"
    plan.write_text(plan.read_text().replace(change, f"{change[:-1]}7"))
    (session / "0001.json").unlink()
    for words in ([], ["--dry-run"]):
        said = imb("run", "--resume", session.name, *words)
        assert said.code == 2 and f"{plan}: cannot be read (" in said.err, said
    assert imb("archive", "verify").code == 1
