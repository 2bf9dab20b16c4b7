"""Runs that a file holds, read without being stored. They are what an import would store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from imb.archive import sources
from imb.archive.entries import Entry
from imb.archive.importer import files_in, read_for_import
from imb.archive.store import FORMAT, Content, Manifest, file_facts, name_of
from imb.model.errors import ImbError
from imb.model.records import Problem, Records, read


class FileRun:
    """A run that a file holds; reads as a StoredRun does. `name` is the path of the file, `path#2` of the second run in it;
    `problems` are the lines of the file that were not understood."""

    def __init__(
        self, name: str, path: Path, content: Content, entry: Entry, problems: list[Problem]
    ) -> None:
        self.name = name
        self.path = path
        self.content = content
        self.problems = problems
        self.entry = entry
        # In the tables of the index this run is known by its path: the archive may have the same content.
        entry.manifest = Manifest(format=FORMAT, id=name, added="", host="", imb="", files={})

    @cached_property
    def id(self) -> str:
        """The name that the archive gives to the same content."""
        return name_of(file_facts(self.content.parts()))

    def part(self, name: str) -> bytes | None:
        """The bytes of `records.jsonl`, `output.txt` or `facts.json`; None where there are none."""
        return self.content.parts().get(name)

    def facts(self) -> dict[str, Any]:
        """As the archive would keep them."""
        return dict(self.content.facts)

    def records(self, *, samples: bool = False) -> Records:
        """The records, or what the log says in records; `samples` as of records.read."""
        if self.content.records is None:
            found = [record for launch in self.entry.launches for record in launch.records()]
            return Records(found, self.problems)
        if samples:
            return read(self.content.records, self.name, samples=True)
        return Records(self.entry.records, self.problems)


def sources_of(runs: Iterable[object]) -> list[Path]:
    """The files that these runs were read from; none of stored ones."""
    return [run.path for run in runs if isinstance(run, FileRun)]


def runs_in(path: Path) -> Iterator[FileRun]:
    """The runs of a file, or of all files in a folder. Raises ImbError where there is none, or a file cannot be read."""
    reasons: list[str] = []
    empty = True
    for file in files_in([path]):
        try:
            report, found = read_for_import(file)
        except sources.Unreadable as error:
            raise ImbError(f"{file}: {error}") from error
        reasons += map(str, report.problems[:1])
        for number, (content, entry) in enumerate(found, 1):
            empty = False
            name = f"{file}#{number}" if len(found) > 1 else str(file)
            yield FileRun(name, file, content, entry, report.problems)
    if empty:
        raise ImbError(reasons[0] if reasons else f"{path}: there is no file in this folder")
