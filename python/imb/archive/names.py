"""What a name on the command line means: a run, a label, a file, a query. One resolver for all commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from imb.archive.labels import QUERY
from imb.archive.store import SHORT, Archive, StoredRun
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import RECORD, read
from imb.model.text import one_line

_LEAST = 4  # digits of a run's name that can name it
_LIKE_SQL = re.compile(r"\s*(SELECT|FROM|WITH)\s", re.IGNORECASE)


class NoResult(ImbError):
    """Runs are there, and none of them has a result."""


def load(archive: Archive, what: str) -> Side:
    """The launches that `what` names; several names are divided by commas. Raises ImbError where there is none.

    A name is a run or a label (see `runs`), a file or folder of logs or records (which need not be in the archive), or,
    alone, a query: `sql:` and a SELECT statement that answers with a column `run`.
    """
    launches = [launch for name in _names_in(archive, what) for launch in _named(archive, name)]
    if not any(launch.rows for launch in launches):
        raise NoResult(f"no results in {one_line(what)}")
    return Side(name=what, launches=launches)


def side_of(archive: Archive, runs: Iterable[str], name: str) -> Side:
    """The launches of these runs, by whole name. Raises NoResult where there is no result in them."""
    launches = [launch for run in runs for launch in _of_run(archive.run(run))]
    if not any(launch.rows for launch in launches):
        raise NoResult(f"no results in {one_line(name)}", status=1)
    return Side(name=name, launches=launches)


def launches_in(archive: Archive, run: str) -> list[Launch]:
    """Those of a run, by whole name."""
    return list(_of_run(archive.run(run)))


def runs(archive: Archive, name: str) -> list[StoredRun]:
    """The runs of a name: of a label all that have it; of the beginning of a run's name that run; of `sql:SELECT ...`
    those in the column `run` of the answer. Raises ImbError where there is none."""
    found = _ids_named(archive, name)
    if not found:
        raise _unknown(archive, name)
    return [archive.run(run) for run in found]


def one_run(archive: Archive, name: str) -> StoredRun:
    """The one run of a name. Raises ImbError where there are none or several."""
    found = runs(archive, name)
    if len(found) > 1:
        raise ambiguous(name, [run.id for run in found])
    return found[0]


def ambiguous(name: str, ids: Sequence[str]) -> ImbError:
    """What is said where several runs have a name, and one is wanted."""
    shown = ", ".join(run[:SHORT] for run in ids[:4]) + (", ..." if len(ids) > 4 else "")
    return ImbError(f"{name!r} matches {len(ids)} runs: {shown}; give the name of one")


def _names_in(archive: Archive, what: str) -> list[str]:
    """The names that commas divide. A query, a file, and a label of an earlier version may have commas themselves."""
    if what.startswith(QUERY) or ("," in what and (_labelled(archive, what) or _path(what))):
        return [what]
    names = list(filter(None, (word.strip() for word in what.split(","))))
    if any(name.startswith(QUERY) for name in names):
        raise ImbError(f"a query cannot be combined with other names: {what!r}; give {QUERY}SELECT ... alone")
    return names


def _named(archive: Archive, name: str) -> Iterator[Launch]:
    if ids := _ids_named(archive, name):
        for run in ids:
            yield from _of_run(archive.run(run))
    elif path := _path(name):
        yield from _of_files(path)
    elif _LIKE_SQL.match(name):
        raise _unknown(archive, name)
    else:
        raise ImbError(
            f"no run, label or file: {one_line(name)}; `imb ls` lists runs and labels of {archive.folder}"
        )


def _ids_named(archive: Archive, name: str) -> list[str]:
    """Whole names of runs; empty where `name` is none of a run or label.

    A label cannot hide a run whose shown name is given; shorter names are labels first, as `2026` may be one.
    """
    if name.startswith(QUERY):
        return _asked(archive, name.removeprefix(QUERY))
    begun = [run for run in archive.ids() if len(name) >= _LEAST and run.startswith(name.lower())]
    if (not begun or len(name) < SHORT) and (labelled := _labelled(archive, name)):
        return labelled
    if len(begun) > 1:
        raise ambiguous(name, begun)
    return begun


def _labelled(archive: Archive, name: str) -> list[str]:
    """The runs that have this label, in the order in which they first got it."""
    present = set(archive.ids())
    return [run for run, tags in archive.tags().items() if name in tags.labels and run in present]


def _path(name: str) -> Path | None:
    """The file or folder of this name; None where there is none."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long; no such user; a NUL
        return None


def _unknown(archive: Archive, name: str) -> ImbError:
    if _LIKE_SQL.match(name):
        return ImbError(
            f"no run or label {name!r}; a query begins with {QUERY}, as in '{QUERY}SELECT run ...'"
        )
    if _path(name):
        return ImbError(
            f"no run or label {name!r} in {archive.folder}; it is a file: store it with `imb import`"
        )
    return ImbError(
        f"no run {name!r} in {archive.folder}; `imb ls` lists names (4 digits or more) and labels"
    )


def _of_run(run: StoredRun) -> Iterator[Launch]:
    return launches_of(run.records(), run.id[:SHORT], run.facts(), lambda: run.records(samples=True))


def _of_files(path: Path) -> Iterator[Launch]:
    from imb.archive import sources
    from imb.archive.importer import files_in
    from imb.logs import read_log

    for file in files_in([path]):
        try:
            text = sources.read(file)
        except sources.Unreadable as error:
            raise ImbError(f"{file}: {error}") from error
        is_records = text.lstrip().startswith(RECORD)
        if is_records:
            again = partial(read, text, str(file), samples=True)
            yield from launches_of(read(text, str(file)), str(file), whole=again)
        else:
            yield from launches_of(read_log(text, str(file)), str(file))


def _asked(archive: Archive, query: str) -> list[str]:
    """Whole names of the runs in the answer, each once."""
    from imb.archive.sql import ask

    answer = ask(archive, query)
    if "run" not in answer.columns:
        raise ImbError(f'query without a column run: {query!r}; write it like "{QUERY}SELECT run FROM runs"')
    at = answer.columns.index("run")
    found = list(dict.fromkeys(str(row[at]) for row in answer.rows))
    present = set(archive.ids())
    if strange := [run for run in found if run not in present]:
        raise ImbError(
            f"query returned an unknown run: {strange[0]!r}; the column run must hold complete names"
        )
    if not found:
        raise ImbError(f"query returned no runs: {query!r}")
    return found
