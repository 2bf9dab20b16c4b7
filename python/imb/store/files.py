"""Runs that a file holds, read without being stored. They are what an import would store."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from imb.model.errors import UNDECODABLE, ImbError
from imb.model.notes import note_unread
from imb.model.records import Problem, Records, Run, decode, read
from imb.model.text import readable
from imb.store import sources
from imb.store.entries import Entry
from imb.store.importer import files_in, read_for_import
from imb.store.store import FORMAT, Content, Manifest, StoredRun, file_facts, name_of


class FileRun:
    """A run that a file holds; reads as a StoredRun does. `name` is the path of the file, `path#2` for the second run in it;
    `problems` are the lines of this run that were not understood. `stored`: it is one launch of a run in the archive."""

    def __init__(
        self,
        name: str,
        path: Path,
        content: Content,
        entry: Entry,
        problems: list[Problem],
        *,
        stored: bool = False,
    ) -> None:
        self.name = name
        self.path = path
        self.content = content
        self.problems = problems
        self.stored = stored
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
        """The facts as the archive would store them."""
        return dict(self.content.facts)

    def records(self, *, samples: bool = False) -> Records:
        """The records, or what the log says in records; `samples` as in records.read."""
        if self.content.records is None:
            records = [record for launch in self.entry.launches for record in launch.records()]
            return Records(records, self.problems)
        if samples:
            return read(self.content.records, self.name, samples=True)
        return Records(self.entry.records, self.problems)


def sources_of(runs: Iterable[object]) -> list[Path]:
    """The files that these runs were read from; none of stored ones."""
    return [run.path for run in runs if isinstance(run, FileRun)]


def runs_in(path: Path) -> Iterator[FileRun]:
    """The runs of a file, or of all files in a folder. Raises ImbError where there is none, or a file cannot be read."""
    without_runs: list[Problem] = []  # problems of files that have no run
    empty = True
    for file in files_in([path]):
        try:
            report, runs = read_for_import(file)
        except sources.Unreadable as error:
            raise ImbError(f"{file}: {error}") from error
        if not runs:
            without_runs += report.problems
        for number, (content, entry) in enumerate(runs, 1):
            empty = False
            name = readable(f"{file}#{number}" if len(runs) > 1 else str(file))
            yield FileRun(name, file, content, entry, _problems_of(number, runs, report.problems))
    if empty:
        raise ImbError(str(without_runs[0]) if without_runs else f"{path}: there is no file in this folder")
    # A folder may have other text beside logs: no line of it is lost.
    note_unread((problem for problem in without_runs if not problem.line), lost=False)
    note_unread(problem for problem in without_runs if problem.line)


def _problems_of(
    number: int, runs: Sequence[tuple[Content, Entry]], problems: Sequence[Problem]
) -> list[Problem]:
    """The problems in the lines of the run with this number, and those of the file as a whole."""
    lines = ((content.output or b"").count(b"\n") for content, _ in runs[:-1])  # the runs divide the file
    ends = [0, *accumulate(lines), sys.maxsize]
    return [
        problem for problem in problems if not problem.line or ends[number - 1] < problem.line <= ends[number]
    ]


def launch_in(run: StoredRun | FileRun, number: int) -> StoredRun | FileRun | None:
    """The launch that `RUN#2` names where the records of a run are of several launches; None where there is none of this number."""
    text = run.part("records.jsonl") or b""
    starts = list(_launches(text))
    if len(starts) < 2:
        return run if number == 1 else None
    if not 1 <= number <= len(starts):
        return None
    first, end = starts[number - 1], [*starts, len(text)][number]
    before, facts = text.count(b"\n", 0, first), run.facts()
    content = Content(records=text[first:end], facts=facts)
    parsed = read(text[first:end], run.name)
    problems = [msgspec.structs.replace(problem, line=problem.line + before) for problem in parsed.problems]
    entry = Entry(facts, records=parsed.records, problems=len(problems))
    path = run.path if isinstance(run, FileRun) else run.folder / "records.jsonl"
    stored = isinstance(run, StoredRun)
    return FileRun(f"{run.name}#{number}", path, content, entry, problems, stored=stored)


def _launches(text: bytes) -> Iterator[int]:
    """Where the record of each launch begins."""
    at = 0
    for line in text.split(b"\n"):
        with suppress(*UNDECODABLE):
            if b'"run"' in line[:40] and isinstance(decode(line), Run):
                yield at
        at += len(line) + 1
