"""What a name on the command line means: a run, a label, a file, a query. One resolver for all commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from imb.archive.labels import QUERY
from imb.archive.store import SHORT, Archive, StoredRun
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, launches_of
from imb.model.text import one_line

if TYPE_CHECKING:
    from imb.archive.files import FileRun

LEAST = 4  # digits of a run's name that can name it
_LIKE_SQL = re.compile(r"\s*(SELECT|FROM|WITH)\s", re.IGNORECASE)


class NoResult(ImbError):
    """Runs are there, and none of them has a result."""


def load(archive: Archive, what: str) -> Side:
    """The launches that `what` names; several names are divided by commas. Raises ImbError where there is none.

    A name is a run or a label (see `runs`), a file or folder of logs or records (which need not be in the archive), or,
    alone, a query: `sql:` and a SELECT statement that answers with a column `run`. Runs with the same content count once.
    """
    every = list(named(archive, what))
    # The name of a file's content is a hash of all of it, which one run alone does not need.
    found = list({run.id: run for run in every}.values()) if len(every) > 1 else every
    launches = [launch for run in found for launch in _of_run(run)]
    if not any(launch.rows for launch in launches):
        raise NoResult(f"no results in {one_line(what)}")
    return Side(name=what, launches=launches, copies=len(every) - len(found))


def named(archive: Archive, what: str) -> Iterator[StoredRun | FileRun]:
    """The runs of these names, as of `load`. Raises ImbError where there is none."""
    for name in _names_in(archive, what):
        yield from readable(archive, name)


def side_of(archive: Archive, runs: Iterable[str], name: str) -> Side:
    """The launches of these runs, by whole name. Raises NoResult where there is no result in them."""
    return side_from(map(archive.run, runs), name)


def side_from(runs: Iterable[StoredRun | FileRun], name: str) -> Side:
    """`side_of` of runs that were read."""
    launches = [launch for run in runs for launch in _of_run(run)]
    if not any(launch.rows for launch in launches):
        raise NoResult(f"no results in {one_line(name)}", status=1)
    return Side(name=name, launches=launches)


def launches_in(archive: Archive, run: str) -> list[Launch]:
    """Those of a run, by whole name."""
    return list(_of_run(archive.run(run)))


def readable(archive: Archive, name: str) -> Iterator[StoredRun | FileRun]:
    """The runs of a name, to read: as of `runs`, but those of a file need not be stored. Raises ImbError where there is
    none."""
    if found := _ids_named(archive, name):
        yield from map(archive.run, found)
    elif path := _path(name):
        from imb.archive.files import runs_in

        yield from runs_in(path)
    else:
        raise _unknown(archive, name)


def runs(archive: Archive, name: str) -> list[StoredRun]:
    """The stored runs of a name: of a label all that have it; of the beginning of a run's name that run; of `sql:SELECT ...`
    those in the column `run` of the answer; of a file or folder the runs with the same content. Raises ImbError where there
    is none, or a file has content that is not stored."""
    if found := _ids_named(archive, name):
        return [archive.run(run) for run in found]
    if path := _path(name):
        return _stored(archive, path)
    raise _unknown(archive, name)


def _stored(archive: Archive, path: Path) -> list[StoredRun]:
    from imb.archive.files import runs_in

    found = list(dict.fromkeys(run.id for run in runs_in(path)))
    present = set(archive.ids())
    if any(run not in present for run in found):
        raise ImbError(
            f"{path} is not in the archive {archive.folder}; store it first: `imb import {shlex.quote(str(path))}`"
        )
    return [archive.run(run) for run in found]


def one_run(archive: Archive, name: str) -> StoredRun:
    """The one stored run of a name. Raises ImbError where there are none or several."""
    found = runs(archive, name)
    if len(found) > 1:
        raise ambiguous(name, [run.name for run in found])
    return found[0]


def some_runs(archive: Archive, name: str, *, all_of_them: bool) -> list[StoredRun]:
    """The one stored run of a name, or all of them. Raises ImbError where there is none, or several without
    `all_of_them`."""
    found = runs(archive, name)
    if len(found) > 1 and not all_of_them:
        raise ambiguous(name, [run.name for run in found], "give the name of one, or --all")
    return found


def listed(archive: Archive, name: str) -> list[str]:
    """Whole names of the runs of this label, or of the run whose name begins so. Raises ImbError where there is none."""
    if found := _ids_named(archive, name):
        return found
    raise unknown(name)


def unknown(name: str) -> ImbError:
    """What is said where no run has this name, and a file would be none."""
    return ImbError(f"no run or label {name!r}; `imb ls` lists them")


def ambiguous(name: str, shown: Sequence[str], advice: str = "give the name of one") -> ImbError:
    """What is said where several runs, these, have a name, and one is wanted."""
    some = ", ".join(shown[:4]) + (", ..." if len(shown) > 4 else "")
    return ImbError(f"{name!r} matches {len(shown)} runs: {some}; {advice}")


def _names_in(archive: Archive, what: str) -> list[str]:
    """The names that commas divide. A query, a file, and a label of an earlier version may have commas themselves."""
    if what.startswith(QUERY) or ("," in what and (_labelled(archive, what) or _path(what))):
        return [what]
    names = list(filter(None, (word.strip() for word in what.split(","))))
    if any(name.startswith(QUERY) for name in names):
        raise ImbError(f"a query cannot be combined with other names: {what!r}; give {QUERY}SELECT ... alone")
    return names


def _ids_named(archive: Archive, name: str) -> list[str]:
    """Whole names of runs; empty where `name` is none of a run or label.

    A label cannot hide a run whose shown name is given; shorter names are labels first, as `2026` may be one.
    """
    if name.startswith(QUERY):
        return _asked(archive, name.removeprefix(QUERY))
    begun = [run for run in archive.ids() if len(name) >= LEAST and run.startswith(name.lower())]
    if (not begun or len(name) < SHORT) and (labelled := _labelled(archive, name)):
        return labelled
    if len(begun) > 1:
        raise ambiguous(name, [run[:SHORT] for run in begun])
    return begun


def _labelled(archive: Archive, name: str) -> list[str]:
    """The runs that have this label, in the order in which they first got it."""
    present = set(archive.ids())
    return [run for run, tags in archive.tags().items() if name in tags.labels and run in present]


def reason_of(run: StoredRun | FileRun) -> str | None:
    """Why its launch failed, as the launcher or the MPI printed it; None where nothing was printed."""
    from imb.logs.launch_errors import reason

    return reason(run.part("stderr.txt") or b"", run.part("output.txt") or b"")


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
    return ImbError(
        f"no run, label or file {name!r}; `imb ls` lists names (4 digits or more) and labels of {archive.folder}"
    )


def _of_run(run: StoredRun | FileRun) -> Iterator[Launch]:
    # A log has no samples, and need not be kept in memory to read them.
    has_samples = isinstance(run, StoredRun) or run.content.records is not None
    again = (lambda: run.records(samples=True)) if has_samples else None
    found = launches_of(run.records(), run.name, run.facts(), again)
    return (replace(one, content=f"{run.id}#{number}") for number, one in enumerate(found))


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
