"""Prepares runs for the index: the facts of the archive about each run, and the content of its log or records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from imb.model.gpus import memory_of
from imb.model.notes import note
from imb.model.records import End, Failure, Problem, Record, Result, Run
from imb.readers import columnar
from imb.readers.formats import parse, reader_of
from imb.readers.parsed_log import Log, LoggedLaunch
from imb.store.reading import UnreadableFile
from imb.store.runs_table import RUNS, TableColumns
from imb.store.store import Manifest, StoredRun


class Entry(msgspec.Struct):
    """One run before it is written to a segment: the archive's facts about it, its content, and the problems of its lines and of its file."""

    facts: dict[str, Any]
    manifest: Manifest | None = None
    launches: list[LoggedLaunch] = []
    records: list[Record] = []
    problems: list[Problem] = []

    def row(self) -> dict[str, Any]:
        """The run's row in the table RUNS."""
        assert self.manifest
        runs = [record for record in self.records if isinstance(record, Run)] or [
            launch.run for launch in self.launches
        ]
        ends = [record for record in self.records if isinstance(record, End)] or [
            each.end for each in self.launches if each.end
        ]
        run = runs[0] if runs else Run()
        failures = [record for record in self.records if isinstance(record, Failure)]
        failures += [item for launch in self.launches for item in launch.items if isinstance(item, Failure)]
        results = [record for record in self.records if isinstance(record, Result)]
        stretches = [stretch for launch in self.launches for stretch in launch.stretches()]
        places = [(record.benchmark, record.processes, record.group_count) for record in results]
        places += [(record.benchmark, record.processes, record.group_count) for record in failures]
        heads = {
            id(stretch.head): stretch.head for stretch in stretches
        }  # few objects, slow to compare, so their ids are compared
        places += [(head.benchmark, head.processes, head.group_count) for head in heads.values()]
        command = self.facts.get("command") or run.command_line
        conditions = self.facts.get("conditions")
        return {
            "run": self.manifest.id,
            "added": self.manifest.added,
            "kind": _text(self.facts.get("kind")),
            "program": run.program,
            "version": run.version,
            "component": run.component,
            "date": run.date or _text(self.facts.get("started")),
            "benchmarks": ", ".join(dict.fromkeys(name for name, _, _ in places)) or None,
            "processes": len(run.ranks or [])
            or max(((processes or 0) * (groups or 1) for _, processes, groups in places), default=0)
            or None,
            "nodes": ", ".join(run.hosts()) or None,
            "mpi": run.mpi.name if run.mpi else None,
            "memory": memory_of(run),
            "command": " ".join(map(str, command)) if isinstance(command, list) else None,
            "exit_status": self.facts.get("exit_status"),
            "state": ends[-1].state if ends else None,
            "rows": len(results) + sum(stretch.count for stretch in stretches),
            "failures": len(failures),
            "defects": sum(result.defects or 0 for result in results)
            if any(result.defects is not None for result in results)
            else None,
            "problems": len(self.problems),
            "passes": ends[-1].passes if ends else None,
            "bytes": sum(file.bytes for file in self.manifest.files.values()),
            "origin": self.manifest.origin,
            "host": self.manifest.host,
            "campaign": _text(self.facts.get("campaign")),
            "conditions": msgspec.json.encode(conditions).decode() if conditions else None,
        }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    """The value if a column can hold it, else None: numbers in foreign files may add up to more than 64 bits."""
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


def runs_of(entries: Sequence[Entry]) -> TableColumns:
    """These runs as rows of the index's table `runs`."""
    rows = [entry.row() for entry in entries]
    return {
        name: [_integer(row[name]) if kind is int else row[name] for row in rows]
        for name, kind in RUNS.items()
    }


def index_tables(entries: Sequence[Entry]) -> dict[str, pa.Table]:
    """The rows of these runs in the index's tables `results` and `failures`."""
    named = [(entry.manifest.id, entry) for entry in entries if entry.manifest]
    from_logs = [(run, launch) for run, entry in named for launch in entry.launches]
    from_records = [
        (run, record) for run, entry in named for record in entry.records if isinstance(record, Result)
    ]
    failures = [
        (run, record) for run, entry in named for record in entry.records if isinstance(record, Failure)
    ]
    failures += [
        (run, item) for run, launch in from_logs for item in launch.items if isinstance(item, Failure)
    ]
    results = [columnar.results_of_launches(from_logs)]
    if from_records:
        results.append(columnar.results_of_records(from_records))
    return {
        # Writing a column with several dictionaries takes four times as long.
        "results": pa.concat_tables(results).unify_dictionaries(),
        "failures": columnar.failures_of_records(failures),
    }


def entries_of(runs: Iterable[StoredRun]) -> list[Entry]:
    """The content of these runs. A run that cannot be read is skipped with a note."""
    entries = []
    for run in runs:
        try:
            entry = Entry(run.facts(), run.manifest)
            if "records.jsonl" in run.manifest.files:
                content = run.records()
                entry.records, entry.problems = content.records, content.problems
            else:
                log = parse_safely(run.part("output.txt") or b"", "")
                entry.launches, entry.problems = log.launches, log.problems
        except UnreadableFile as error:
            note(f"{error}; left out")
            continue
        entries.append(entry)
    return entries


def parse_safely(text: bytes, name: str) -> Log:
    """`parse`, but if a reader raises an exception (which it should not), the result is an empty log with a problem."""
    try:
        return parse(text, name)
    except Exception as error:
        message = f"the importer fails on it, please report this ({type(error).__name__}: {error})"
        return Log(name, reader_of(text).format, problems=[Problem(name, 0, message[:300])])
