"""Reads the runs in a file without storing them. They equal the runs that an import would store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from imb.model.errors import ImbError
from imb.model.notes import note_unread
from imb.model.records import Problem, Records, read
from imb.model.text import readable_text
from imb.store import sources
from imb.store.entries import Entry
from imb.store.importer import files_in, read_for_import
from imb.store.store import FORMAT, Content, Manifest, file_facts, name_of


class FileRun:
    """A run in a file, with the interface of StoredRun. `name`: the path of the file, or `path#2` for the second of several runs in it;
    `problems`: lines of this run that were not understood."""

    is_stored = False

    def __init__(self, name: str, path: Path, content: Content, entry: Entry) -> None:
        self.name = name
        self.path = path
        self.content = content
        self.entry = entry
        self.problems = entry.problems
        # The index's tables name this run by its path, since the archive may have a run with the same content.
        entry.manifest = Manifest(format=FORMAT, id=name, added="", host="", imb="", files={})

    @cached_property
    def id(self) -> str:
        """The name that a run with this content has in the archive."""
        return name_of(file_facts(self.content.parts()))

    def part(self, name: str) -> bytes | None:
        """The bytes of `records.jsonl`, `output.txt` or `facts.json`, or None if the run has no such part."""
        return self.content.parts().get(name)

    def facts(self) -> dict[str, Any]:
        """The facts as the archive would store them."""
        return dict(self.content.facts)

    def records(self, *, samples: bool = False) -> Records:
        """The records of the run, or the records that were read from its log. `samples` as in records.read."""
        if self.content.records is None:
            records = [record for launch in self.entry.launches for record in launch.records()]
            return Records(records, self.problems)
        if samples:
            return Records(read(self.content.records, self.name, samples=True).records, self.problems)
        return Records(self.entry.records, self.problems)


def sources_of(runs: Iterable[object]) -> list[Path]:
    """The files of those runs that were read from files; stored runs have none."""
    return [run.path for run in runs if isinstance(run, FileRun)]


def runs_in(path: Path) -> Iterator[FileRun]:
    """The runs of a file, or of all files in a folder. Raises ImbError if there is none, or a file cannot be read."""
    without_runs: list[Problem] = []  # problems of files that have no run
    empty = True
    for file in files_in([path]):
        try:
            report, runs = read_for_import(file)
        except sources.UnreadableText as error:
            raise ImbError(f"{file}: {error}") from error
        if not runs:
            without_runs += report.problems
        for number, (content, entry) in enumerate(runs, 1):
            empty = False
            name = readable_text(f"{file}#{number}" if len(runs) > 1 else str(file))
            yield FileRun(name, file, content, entry)
        named = [problem for _, entry in runs for problem in entry.problems]
        if runs and (others := [problem for problem in report.problems if problem not in named]):
            note_unread(
                others
            )  # problems of launches that become no run, since their records have another schema
    if empty:
        raise ImbError(str(without_runs[0]) if without_runs else f"{path}: there is no file in this folder")
    # A folder may contain text files that are not logs: their lines do not count as lost.
    note_unread((problem for problem in without_runs if not problem.line), lost=False)
    note_unread(problem for problem in without_runs if problem.line)
