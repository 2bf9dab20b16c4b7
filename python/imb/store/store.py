"""The archive: a folder of immutable runs, to which any number of hosts may write at once.

    ARCHIVE/runs/ab/abcd…/   one run: manifest.json and its content
        records.jsonl        the suite's records (runs of the suite)
        output.txt           standard output, or the imported log, byte for byte
        stderr.txt           standard error
        facts.json           further facts from the writer: command, exit status, conditions
    ARCHIVE/labels/          labels and notes: one small, immutable file per change
    ARCHIVE/removed/         runs that `imb archive rm` removed; `imb archive restore` moves them back
    ARCHIVE/tmp/             runs being written
    ARCHIVE/sessions/        see imb.runner.session
    ARCHIVE/baselines/       see imb.store.baseline_versions

A run's name is the SHA-256 of the hashes of its content. So the same content is the same run, and a run can be
verified. A run is written in tmp/, synced, and renamed to its place, so that it appears complete or not at all, without locks.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from imb import __version__
from imb.model.errors import ImbError
from imb.model.folders import NoHome, data_folder, expand_path
from imb.model.text import now, readable_text, user_name
from imb.store.durable_files import create, sync_all
from imb.store.labels import LabelChange, LabelLog, Tags, change_by_me, replay
from imb.store.reading import (
    UnreadableFile,
    json_of,
    names_in,
    read_json,
    read_part,
    refuse_other_size,
    size_of,
)

if TYPE_CHECKING:
    from imb.model.records import Records

FORMAT = "openimb-run/1"
CONTENT = ("records.jsonl", "output.txt", "stderr.txt", "facts.json")
_MODE = 0o644  # mode of a run's files, less the umask; no group may write, since they never change
SHORT = 10  # digits of a displayed name
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a run. A part that is None does not exist; an empty part does.

    `facts` is any JSON object. By convention, it has `kind` ("launch" or "import") and for a launch `command` (list of words),
    `exit_status`, `started`, `ended` (UTC, ISO 8601) and `conditions` (object). Facts are part of the content that names the run,
    so the place and time of an import belong in `origin`.
    """

    records: bytes | None = None
    output: bytes | None = None
    stderr: bytes | None = None
    facts: Mapping[str, Any] = {}
    origin: str | None = None
    labels: Sequence[str] = ()

    def parts(self) -> dict[str, bytes]:
        """File name -> bytes."""
        facts = msgspec.json.encode(self.facts, order="sorted") if self.facts else None
        pairs = zip(CONTENT, (self.records, self.output, self.stderr, facts), strict=True)
        return {name: data for name, data in pairs if data is not None}


class ArchiveFull(ImbError):
    """Raised if the disk has no room for a run."""


class FileFacts(msgspec.Struct, frozen=True):
    """Hash and length of one file of a run."""

    sha256: str
    bytes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The content of manifest.json. Only `files` determines the name; the other fields describe the run's origin."""

    format: str
    id: str
    added: str
    host: str
    imb: str
    files: dict[str, FileFacts]
    origin: str | None = None


WhileWriting: TypeAlias = Callable[[Sequence[Manifest | None]], None]


class AddedRun(msgspec.Struct, frozen=True):
    """The result of `add`. `new` is False if the archive already had the same content."""

    id: str
    new: bool
    manifest: Manifest


class StoredRun(msgspec.Struct, frozen=True):
    """A run in the archive."""

    folder: Path
    manifest: Manifest

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def name(self) -> str:
        """The displayed name."""
        return self.id[:SHORT]

    @property
    def is_stored(self) -> bool:
        """Whether the run is in the archive; FileRun has the same property."""
        return True

    def part(self, name: str) -> bytes | None:
        """The bytes of one of CONTENT, or None if the run has no such file. Raises UnreadableFile."""
        if (stored := self.manifest.files.get(name)) is None:
            return None
        data = read_part(self.folder / name)
        refuse_other_size(self.folder / name, len(data), stored.bytes)
        return data

    def facts(self) -> dict[str, Any]:
        """The content of facts.json; empty if there is none. Raises UnreadableFile."""
        data = self.part("facts.json")
        return {} if data is None else json_of(self.folder / "facts.json", data, dict[str, Any])

    def refuse_damage(self) -> None:
        """Raises UnreadableFile if facts.json is damaged, or if another file is missing, truncated or unreadable for this user. Reads only
        facts.json; `imb archive verify` reads all files."""
        self.facts()
        for name, stored in self.manifest.files.items():
            refuse_other_size(self.folder / name, size_of(self.folder / name), stored.bytes)

    def records(self, *, samples: bool = False) -> Records:
        """The records of a run of the suite, or the records that were read from its log. `samples` as in records.read."""
        data = self.part("records.jsonl")
        if data is not None:
            from imb.model.records import (
                read,
            )  # imported here like imb.readers below, since a list needs neither

            return read(data, f"{self.id[:SHORT]}/records.jsonl", samples=samples)
        from imb.readers.formats import read_log

        return read_log(self.part("output.txt") or b"", f"{self.id[:SHORT]}/output.txt")


def default_folder() -> Path:
    """$IMB_ARCHIVE, or a folder in the user's XDG data folder. Raises NoHome."""
    folder = os.environ.get("IMB_ARCHIVE")
    return Path(folder) if folder else data_folder() / "archive"


def file_facts(parts: Mapping[str, bytes]) -> dict[str, FileFacts]:
    """Hash and length of each file, by name."""
    return {name: FileFacts(hashlib.sha256(data).hexdigest(), len(data)) for name, data in parts.items()}


def name_of(files: Mapping[str, FileFacts]) -> str:
    """The name of content with these hashes: the SHA-256 of sorted lines `sha256  file`, 64 hex digits."""
    lines = "".join(f"{files[name].sha256}  {name}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


class Archive:
    """An archive in `folder`, which the first write creates; until then the archive is empty. If the user has no home folder and names no
    archive, commands can still read files: the archive is empty, and its folders raise NoHome."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder: Path | NoHome
        try:
            self._folder = expand_path(folder or default_folder()).absolute()
        except NoHome as error:
            self._folder = error
        else:
            if self._folder.exists() and not self._folder.is_dir():
                raise ImbError(
                    f"the archive {self._folder} is a file; give a folder (--archive, $IMB_ARCHIVE)"
                )

    @property
    def has_place(self) -> bool:
        """Whether the archive has a folder, existing or not."""
        return isinstance(self._folder, Path)

    @property
    def folder(self) -> Path:
        """The folder. Raises NoHome."""
        return self.require_place()

    def require_place(self) -> Path:
        """The folder. Raises NoHome."""
        if isinstance(self._folder, NoHome):
            raise self._folder
        return self._folder

    @cached_property
    def runs(self) -> Path:
        return self.folder / "runs"

    @cached_property
    def label_folder(self) -> Path:
        return self.folder / "labels"

    @cached_property
    def removed_folder(self) -> Path:
        return self.folder / "removed"

    @cached_property
    def tmp(self) -> Path:
        return self.folder / "tmp"

    @cached_property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @cached_property
    def baselines(self) -> Path:
        return self.folder / "baselines"

    @cached_property
    def label_log(self) -> LabelLog:
        return LabelLog(self.label_folder)

    @property
    def folders(self) -> Sequence[Path]:
        """All folders of the archive. Other files next to them do not belong to it."""
        if not self.has_place:
            return ()
        return self.runs, self.label_folder, self.removed_folder, self.tmp, self.sessions, self.baselines

    def missing_problem(self) -> str | None:
        """The message that the archive does not exist, or None if it exists."""
        if self.folder.exists():
            return None
        return f"no archive {self.folder}; `imb run` and `imb import` make it, --archive and $IMB_ARCHIVE name another"

    # --- Writing -------------------------------------------------------------------------------------

    def add(self, content: Content) -> AddedRun:
        """Adds a run to the archive; it is on the disk on return. Raises ImbError if it cannot be written."""
        return self.add_many([content])[0]

    def add_many(
        self, contents: Iterable[Content], while_writing: WhileWriting | None = None
    ) -> list[AddedRun]:
        """`add` for several runs, with one sync for all. Returns results in the order of `contents`.

        `while_writing` is called in another thread while the disk writes. It gets the manifests, with None for a run that the archive
        already has. The runs are stored even if it fails.
        """
        try:
            return self._add_many(contents, while_writing or (lambda _: None))
        except OSError as error:
            raise self.refusal(error) from error

    def refusal(self, error: OSError) -> ImbError:
        """The error for an archive that cannot be written."""
        message = f"cannot write to the archive {self.folder}: {error.strerror or error}"
        if error.errno in _FULL:
            return ArchiveFull(f"{message}; make room")
        if isinstance(error, PermissionError) and (closed := self._closed_folder(error)):
            # The first two digits of a name are a folder. Its first writer creates it with their umask.
            several = closed.parent / "*" if closed.parent == self.runs else closed
            owner, mode = user_name(closed.stat().st_uid), stat.S_IMODE(closed.stat().st_mode)
            return ImbError(
                f"{message}: {closed} belongs to {owner}, mode {mode:04o}; to share an archive its owner runs"
                f" `chmod g+w {several}`, and every user `umask 002` before writing; or give another one (--archive, $IMB_ARCHIVE)"
            )
        return ImbError(f"{message}; give another one (--archive, $IMB_ARCHIVE)")

    def _closed_folder(self, error: PermissionError) -> Path | None:
        """The folder of runs, labels or removed runs in which this user may not write, or None if the error concerns another folder."""
        for name in (error.filename2, error.filename):
            folder = Path(name).parent if isinstance(name, str | Path) else self.folder
            while folder != self.folder and folder.is_relative_to(self.folder):
                if folder.is_dir() and not os.access(folder, os.W_OK, effective_ids=True):
                    is_shared = any(
                        folder.is_relative_to(each)
                        for each in (self.runs, self.label_folder, self.removed_folder, self.tmp)
                    )
                    return folder if is_shared else None
                folder = folder.parent
        return None

    def concerns(self, error: OSError) -> bool:
        """Whether an error concerns a file of the archive. The error for a full disk has no file name and counts as such."""
        if not self.has_place:
            return False
        if error.filename is None:
            return error.errno in {*_FULL, errno.EROFS}
        return isinstance(error.filename, str | Path) and Path(error.filename).is_relative_to(self.folder)

    def _add_many(self, contents: Iterable[Content], while_writing: WhileWriting) -> list[AddedRun]:
        self._make_folders()
        staged: list[tuple[Path | None, Manifest, Sequence[str]]] = []
        try:
            staged.extend(self._stage(content) for content in contents)
            new = [None if self.path_of(each.id).exists() else each for _, each, _ in staged]
            with ThreadPoolExecutor(1) as thread:
                finished = thread.submit(while_writing, new)
                sync_all(
                    [
                        path
                        for folder, manifest, _ in staged
                        if folder
                        for path in (*(folder / name for name in (*manifest.files, "manifest.json")), folder)
                    ]
                )
                results = [
                    AddedRun(manifest.id, folder is not None and self._publish(folder, manifest), manifest)
                    for folder, manifest, _ in staged
                ]
        finally:
            for folder, _, _ in staged:
                if folder:
                    shutil.rmtree(folder, ignore_errors=True)
        sync_all(list({self.path_of(added.id).parent for added in results if added.new}))
        changes = [
            change_by_me(added.id, add=labels)
            for (_, _, labels), added in zip(staged, results, strict=True)
            if labels and added.new
        ]
        self.label_log.write(changes)
        finished.result()
        return results

    def _make_folders(self) -> None:
        for folder in (self.runs, self.label_folder, self.removed_folder, self.tmp):
            folder.mkdir(parents=True, exist_ok=True)

    def _stage(self, content: Content) -> tuple[Path | None, Manifest, Sequence[str]]:
        """Writes a run to tmp/. Returns its folder (None if the archive already has the run), manifest and labels."""
        parts = content.parts()
        files = file_facts(parts)
        manifest = Manifest(
            format=FORMAT,
            id=name_of(files),
            added=now(),
            host=socket.gethostname(),
            imb=__version__,
            files=files,
            origin=readable_text(content.origin) if content.origin else None,
        )
        if self._is_whole(self.path_of(manifest.id), manifest):
            return None, manifest, content.labels
        folder = self.tmp / f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}"
        folder.mkdir()
        try:
            for name, data in parts.items():
                create(folder / name, data, _MODE)
            create(folder / "manifest.json", msgspec.json.encode(manifest) + b"\n", _MODE)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder, manifest, content.labels

    def _publish(self, folder: Path, manifest: Manifest) -> bool:
        """Renames a staged run to its place. Returns False if the archive already has it."""
        place = self.path_of(manifest.id)
        place.parent.mkdir(exist_ok=True)
        if place.exists() and not self._is_whole(place, manifest):
            self._take_out(manifest.id)  # moves a damaged copy of the same run away
        try:
            folder.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) and not place.exists():
                raise
            return False
        return True

    @staticmethod
    def _is_whole(place: Path, manifest: Manifest) -> bool:
        """Whether the run at `place` has this content. A run that is private to another user counts as whole."""
        try:
            stored = read_json(place / "manifest.json", Manifest)
            parts = {name: read_part(place / name) for name in manifest.files}
        except UnreadableFile as error:
            return isinstance(error.error, PermissionError)
        return stored.files == manifest.files and file_facts(parts) == manifest.files

    def _take_out(self, run_id: str) -> Path:
        self.removed_folder.mkdir(parents=True, exist_ok=True)
        place = self.removed_folder / f"{run_id}-{time.time_ns()}"
        self.path_of(run_id).rename(place)
        return place

    def remove(self, run_id: str) -> Path:
        """Moves a run to removed/ and returns its new path. Raises ImbError if there is no such run."""
        try:
            return self._take_out(run_id)
        except OSError as error:
            raise ImbError(f"cannot remove {run_id[:SHORT]}: {error.strerror}") from error

    def label(
        self, run_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), note: str | None = None
    ) -> None:
        """Adds and removes labels of a run and adds a note. Raises ImbError if a label is invalid or the change cannot be written."""
        self.write_changes([change_by_me(run_id, add=add, remove=remove, note=note)])

    def write_changes(self, changes: Sequence[LabelChange]) -> None:
        """Writes changes of labels, with one sync for all. Raises ImbError if they cannot be written."""
        try:
            self.label_folder.mkdir(parents=True, exist_ok=True)
            self.label_log.write(changes)
        except OSError as error:
            raise self.refusal(error) from error

    # --- Reading -------------------------------------------------------------------------------------

    def path_of(self, run_id: str) -> Path:
        """The folder of the run with this full name, existing or not."""
        return self.runs / run_id[:2] / run_id

    def ids(self) -> list[str]:
        """Sorted names of all runs. Reads only folders; skips an unreadable one with a note."""
        if not self.has_place:
            return []
        try:
            groups = [entry.name for entry in os.scandir(self.runs)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ImbError(f"cannot read the archive {self.folder}: {error.strerror}") from error
        places = (self.runs / group for group in groups if len(group) == 2)
        return sorted(
            name for place in places if place.is_dir() for name in names_in(place) if len(name) == 64
        )

    def removed_copies(self) -> dict[str, Path]:
        """Name -> latest copy, for the removed runs."""
        copies = sorted(self.removed_folder.glob("?" * 64 + "-*"), key=_removal_time)
        return {copy.name[:64]: copy for copy in copies}

    def run(self, run_id: str) -> StoredRun:
        """The run with this full name. Raises UnreadableFile if its manifest cannot be read."""
        place = self.path_of(run_id)
        return StoredRun(place, read_json(place / "manifest.json", Manifest))

    def whole_run(self, run_id: str) -> StoredRun:
        """`run`, after a check that no file is missing. Raises UnreadableFile."""
        run = self.run(run_id)
        run.refuse_damage()
        return run

    def label_files(self) -> list[Path]:
        """The files in labels/, in the order of the changes. Their names are unique."""
        return self.label_log.files() if self.has_place else []

    def tags(self) -> dict[str, Tags]:
        """Run -> labels and notes, from the files in labels/."""
        return replay(change for _, change in self.label_log.changes()) if self.has_place else {}


def _removal_time(copy: Path) -> int:
    """The time of a copy's removal in nanoseconds, from the end of its name."""
    return int("0" + "".join(filter(str.isdecimal, copy.name[65:])))
