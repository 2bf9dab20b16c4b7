"""Resolves names on the command line (a run, a label, a file, a query) to runs, for all commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from imb.model.errors import ImbError
from imb.model.notes import note_unread
from imb.model.statuses import Status
from imb.model.text import named_bytes, natural_key, one_line, readable_text, shell_word
from imb.store.labels import QUERY, Tags
from imb.store.reading import read_each
from imb.store.store import SHORT, Archive, StoredRun

if TYPE_CHECKING:
    from imb.model.observations import Launch, Side
    from imb.model.records import Problem, Records
    from imb.store.files import FileRun

LEAST = 4  # least number of digits that can name a run
_NUMBERED = re.compile(r"(.+)#([1-9]\d{0,8})", re.DOTALL | re.ASCII)  # the name of a launch in a file
_LIKE_SQL = re.compile(r"\s*(SELECT|FROM|WITH)\s", re.IGNORECASE)


class NoResult(ImbError):
    """Raised if there are runs, but none of them has a result."""


def load(archive: Archive, names: str) -> Side:
    """The launches of comma-separated names. Raises ImbError if there are none.

    A name is a run or a label (see `stored_names`), a file or folder of logs or records (which need not be in the archive), or
    one of several launches in a file or run (`FILE#2`). Or `names` is a single query: `sql:` and a SELECT statement whose answer
    has a column `run`. Runs with the same content count once.
    """
    return side_from(named_runs(archive, names), names, status=Status.USAGE)


def named_runs(archive: Archive, names: str) -> Iterator[StoredRun | FileRun]:
    """The runs of comma-separated names, as in `load`. Raises ImbError if there are none."""
    return readable_runs(archive, *_names_in(names))


def side_of(archive: Archive, runs: Iterable[str], name: str) -> Side:
    """The launches of the runs with these full names. Raises NoResult if they contain no result."""
    return side_from(read_each(runs, archive.whole_run), name)


def side_from(runs: Iterable[StoredRun | FileRun], name: str, *, status: int = Status.FAILED) -> Side:
    """The launches of these runs; runs with the same content count once. Raises NoResult, with this exit status, if they contain no
    result."""
    side = any_side(runs, name)
    if not any(launch.rows for launch in side.launches):
        raise NoResult(f"no results in {one_line(name)}", status=status)
    return side


def any_side(runs: Iterable[StoredRun | FileRun], name: str) -> Side:
    """`side_from`, but accepts runs without a result."""
    from imb.model.observations import Side  # NumPy: a list needs none
    from imb.model.repeats import split_repeats

    every = list(runs)
    by_id: dict[str, StoredRun | FileRun] = {}
    for run in every:
        by_id.setdefault(run.id, run)
    launches: list[Launch] = []
    problems: list[Problem] = []
    for run in by_id.values():
        records = run.records()
        note_unread(records.problems, lost=not run.is_stored)
        problems += records.problems
        launches += _launches(run, records)
    judged, replaced = split_repeats(launches)
    return Side(
        name=readable_text(name),
        launches=judged,
        replaced=replaced,
        copies=len(every) - len(by_id),
        unread=list(dict.fromkeys(problems)),
    )


def launches_in(archive: Archive, run: str) -> list[Launch]:
    """The launches of the run with this full name."""
    stored = archive.run(run)
    return list(_launches(stored, stored.records()))


def readable_runs(archive: Archive, *names: str) -> Iterator[StoredRun | FileRun]:
    """The runs of these names (see `stored_names`), ready to read. Runs in a file need not be stored. Raises ImbError if there are none."""
    present = archive.ids()
    for name in names:
        for run in _name_to_runs(archive, name, present):
            if not isinstance(run, StoredRun):
                note_unread(run.problems, lost=not run.is_stored)
            yield run


def _name_to_runs(archive: Archive, name: str, present: Sequence[str]) -> Iterable[StoredRun | FileRun]:
    if ids := _ids_named(archive, name, present):
        return read_each(ids, archive.whole_run)
    if path := _path(name):
        from imb.store.files import runs_in

        return runs_in(path)
    if launch := _numbered_launch(name):
        return [launch]
    raise _unknown_name(archive, name)


def _numbered_launch(name: str) -> FileRun | None:
    """The launch of a name such as `FILE#2`, or None if the name has another form or there is no such file."""
    from imb.store.files import runs_in

    split = _NUMBERED.fullmatch(name)
    path = _path(split[1]) if split else None
    if not split or not path or path.is_dir():
        return None
    runs, number = list(runs_in(path)), int(split[2])
    if number > len(runs):
        raise ImbError(f"no launch {number} in {split[1]}; `imb show` lists those that it has")
    return runs[number - 1]


def stored_names(archive: Archive, *names: str) -> list[str]:
    """Full names of the stored runs that these names mean, even if they cannot be read.

    A label means all its runs, the beginning of a run's name means that run, `sql:SELECT ...` means the runs in the column `run` of the
    answer, and a file or folder means the stored runs with the same content. Raises ImbError if there are none, or if a file has
    content that is not stored.
    """
    present = archive.ids()
    return [run for name in names for run in _resolve(archive, name, present, archive.tags)]


def _resolve(
    archive: Archive, name: str, present: Sequence[str], tags: Callable[[], Mapping[str, Tags]]
) -> list[str]:
    """The full names for one name, as in `stored_names`."""
    if ids := _ids_named(archive, name, present, tags):
        return ids
    runs = list(dict.fromkeys(run.id for run in _name_to_runs(archive, name, present)))
    if set(runs) <= set(present):
        return runs
    whole = split[1] if (split := _NUMBERED.fullmatch(name)) and not _path(name) else name
    raise ImbError(
        f"{name} is not in the archive {archive.folder}; store it first: `imb import {shlex.quote(whole)}`"
    )


def record_files(archive: Archive, *names: str) -> list[tuple[str, Path]]:
    """The name and the file of records for each of these runs (see `stored_names`). A file, or one launch in it (`FILE#2`), is returned
    itself, stored or not. For records that are too large to read at once. Raises ImbError if there are none."""
    present = archive.ids()
    by_path: dict[Path, str] = {}
    numbered: dict[str, Path] = {}
    for name in names:
        if ids := _ids_named(archive, name, present):
            for run in read_each(ids, archive.whole_run):
                if "records.jsonl" in run.manifest.files:
                    by_path.setdefault(run.folder / "records.jsonl", run.name)
        elif path := _path(name):
            files = (
                sorted(path.glob("*.jsonl"), key=lambda file: natural_key(file.name))
                if path.is_dir()
                else [path]
            )
            by_path |= {file: str(file) for file in files}
        elif launch := _numbered_launch(name):
            numbered[launch.name] = launch.path
        else:
            raise _unknown_name(archive, name)
    if not by_path and not numbered:
        raise ImbError(f"no records in {one_line(', '.join(names))}")
    return [*((name, path) for path, name in by_path.items()), *numbered.items()]


def runs_to_change(archive: Archive, name: str, *, all_of_them: bool) -> list[str]:
    """Full names of the stored runs that a name means, even if they cannot be read. Raises ImbError if there are none, or if there are
    several and `all_of_them` is False."""
    runs = stored_names(archive, name)
    if len(runs) > 1 and not all_of_them:
        raise ambiguous_error(name, [run[:SHORT] for run in runs], "give the name of one, or --all")
    return runs


def whole_names(archive: Archive, names: Iterable[str], tags: Mapping[str, Tags]) -> set[str]:
    """Full names of the runs that these names mean, as in `stored_names`. `tags`: the archive's tags. Raises ImbError if a name has no run."""
    present = archive.ids()
    return {run for name in names for run in _resolve(archive, name, present, lambda: tags)}


def unknown_label_error(name: str) -> ImbError:
    """The error for a name that no run and no label has."""
    return ImbError(f"no run or label {name!r}; `imb ls` lists them")


def ambiguous_error(name: str, shown: Sequence[str], advice: str = "give the name of one") -> ImbError:
    """The error for a name that means several runs, if the command needs one run."""
    examples = ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")
    return ImbError(f"{name!r} matches {len(shown)} runs: {examples}; {advice}")


def _names_in(text: str) -> list[str]:
    """Splits a text at commas, unless it is a query or a file, which may contain commas."""
    if text.startswith(QUERY):
        return [text]
    if "," in text and (_path(text) or _names_launch_in_file(text)):
        return [text]
    names = list(filter(None, (word.strip() for word in text.split(",")))) or [""]
    if any(name.startswith(QUERY) for name in names):
        raise ImbError(f"a query cannot be combined with other names: {text!r}; give {QUERY}SELECT ... alone")
    return names


def _names_launch_in_file(name: str) -> bool:
    split = _NUMBERED.fullmatch(name)
    return split is not None and _path(split[1]) is not None


def _ids_named(
    archive: Archive, name: str, present: Sequence[str], tags: Callable[[], Mapping[str, Tags]] | None = None
) -> list[str]:
    """Full names of the runs that a name means; empty if no run and no label has it. `present`: the archive's runs. Raises ImbError for
    an empty name: it may come from an unset variable of a shell, and as a path it would be the current folder."""
    if not name.strip():
        raise ImbError("a name is empty; give a run, a label or a file")
    if name.startswith(QUERY):
        return _runs_of_query(archive, name.removeprefix(QUERY))
    return matching_runs(name, present, tags or archive.tags)


def matching_runs(name: str, runs: Sequence[str], tags: Callable[[], Mapping[str, Tags]]) -> list[str]:
    """The runs that have this label, or the run whose name begins with `name`; empty if there are none. Raises ImbError if the names of
    several runs begin with it.

    If `name` has at least as many digits as a displayed name, a run takes precedence over a label; else a label does, as in `2026`.
    """
    begun = [run for run in runs if len(name) >= LEAST and run.startswith(name.lower())]
    if (not begun or len(name) < SHORT) and (labeled := _runs_with_label(name, runs, tags())):
        return labeled
    if len(begun) > 1:
        raise ambiguous_error(name, [run[:SHORT] for run in begun])
    return begun


def _runs_with_label(name: str, runs: Iterable[str], tags: Mapping[str, Tags]) -> list[str]:
    """Those of `runs` that have this label, in the order in which they first got a label."""
    selected = set(runs)
    return [run for run, tag in tags.items() if name in tag.labels and run in selected]


def reason_of(run: StoredRun | FileRun) -> str | None:
    """The line in which launcher or MPI say why the launch of a run failed, or None if they printed none."""
    from imb.readers.launch_errors import reason

    return reason(run.part("stderr.txt") or b"", run.part("output.txt") or b"")


def unreachable_of(run: StoredRun, hosts: Collection[str]) -> dict[str, str]:
    """Host -> reason, for those of `hosts` that the launcher of a run could not reach."""
    from imb.readers.launch_errors import unreachable_hosts

    return unreachable_hosts(run.part("stderr.txt") or b"", hosts)


def _path(name: str) -> Path | None:
    """The existing file or folder with this name, or None."""
    try:
        paths = (Path(spelled).expanduser() for spelled in dict.fromkeys((name, named_bytes(name))))
        return next((path for path in paths if path.exists()), None)
    except (OSError, RuntimeError, ValueError):  # too long; no such user; a NUL
        return None


def _unknown_name(archive: Archive, name: str) -> ImbError:
    if name == "-":
        return ImbError("standard input is not read; write it to a file, and give that")
    if _LIKE_SQL.match(name):
        return ImbError(
            f"no run or label {name!r}; a query begins with {QUERY}, as in '{QUERY}SELECT run ...'"
        )
    present, every = set(archive.ids()), archive.tags()
    removed = [run for run in archive.removed_copies() if len(name) >= LEAST and run.startswith(name.lower())]
    if removed:
        return ImbError(f"run {name} was removed; `imb archive restore {shell_word(name)}` puts it back")
    if any(name in tags.labels for run, tags in every.items() if run not in present):
        return ImbError(
            f"no run {name!r}: those with this label were removed; `imb archive restore {shell_word(name)}`"
        )
    labels = dict.fromkeys(label for run, tags in every.items() if run in present for label in tags.labels)
    if near := get_close_matches(name, labels, 1):
        return ImbError(f"no run, label or file {name!r}; did you mean {near[0]!r}?")
    return ImbError(
        f"no run, label or file {name!r}; `imb ls` lists names ({LEAST} digits or more) and labels of {archive.folder}"
    )


def _launches(run: StoredRun | FileRun, records: Records) -> Iterator[Launch]:
    from imb.model.observations import launches_of  # NumPy: a list needs none

    # A log has no samples, so it need not stay in memory.
    has_samples = isinstance(run, StoredRun) or run.content.records is not None
    again = (lambda: run.records(samples=True)) if has_samples else None
    launches = launches_of(records, run.name, run.facts(), again)
    return (replace(launch, content=f"{run.id}#{number}") for number, launch in enumerate(launches))


def _runs_of_query(archive: Archive, query: str) -> list[str]:
    """Full names of the runs in the answer to a query, each once."""
    from imb.store.sql import ask

    answer = ask(archive, query)
    if "run" not in answer.columns:
        raise ImbError(f'query without a column run: {query!r}; write it like "{QUERY}SELECT run FROM runs"')
    at = answer.columns.index("run")
    runs = list(dict.fromkeys(str(row[at]) for row in answer.rows))
    present = set(archive.ids())
    if unknown := [run for run in runs if run not in present]:
        raise ImbError(
            f"query returned an unknown run: {unknown[0]!r}; the column run must hold complete names"
        )
    if not runs:
        raise ImbError(f"query returned no runs: {query!r}")
    return runs
