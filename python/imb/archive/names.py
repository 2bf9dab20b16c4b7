"""What a name on the command line means: a run, a label, files, a query; and the launches in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from imb.archive.store import SHORT, Archive, StoredRun
from imb.model.errors import ImbError
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import read


def load(archive: Archive, what: str) -> Side:
    """The launches that `what` names; several names are divided by commas. Raises ImbError where there is none.

    A name is a label (all runs that have it), the beginning of a run's name, a file or folder of logs or records (which
    need not be in the archive), or a query: SQL that begins with SELECT or FROM and answers with a column `run`.
    """
    if what.lstrip()[:7].upper().startswith(("SELECT", "FROM")):
        runs = [archive.run(name) for name in _asked(archive, what)]
        launches = [launch for run in runs for launch in _of_run(run)]
    else:
        names = list(filter(None, (word.strip() for word in what.split(","))))
        launches = [launch for name in names for launch in _named(archive, name)]
    if not any(launch.rows for launch in launches):
        raise ImbError(f"{what}: there is no result in it")
    return Side(name=what, launches=launches)


def side_of(archive: Archive, runs: Iterable[str], name: str) -> Side:
    """The launches of these runs, by whole name. Raises ImbError where there is no result in them."""
    launches = [launch for run in runs for launch in _of_run(archive.run(run))]
    if not any(launch.rows for launch in launches):
        raise ImbError(f"{name}: there is no result in it", status=1)
    return Side(name=name, launches=launches)


def launches_in(archive: Archive, run: str) -> list[Launch]:
    """Those of a run, by whole name."""
    return list(_of_run(archive.run(run)))


def _named(archive: Archive, name: str) -> Iterator[Launch]:
    path = Path(name).expanduser()
    runs = _runs_named(archive, name)
    if runs:
        for run in runs:
            yield from _of_run(run)
    elif path.exists():
        yield from _of_files(path)
    else:
        raise ImbError(
            f"{name} is neither a run or label of {archive.folder} nor a file; `imb ls` shows runs and labels"
        )


def _runs_named(archive: Archive, name: str) -> list[StoredRun]:
    ids = archive.ids()
    present = set(ids)
    labelled = [run for run, tags in archive.tags().items() if name in tags.labels and run in present]
    if labelled:
        return [archive.run(run) for run in labelled]
    found = [run for run in ids if len(name) >= 4 and run.startswith(name.lower())]
    if len(found) > 1:
        raise ImbError(f"{len(found)} runs begin with {name}; give more digits of one of them")
    return [archive.run(run) for run in found]


def _of_run(run: StoredRun) -> Iterator[Launch]:
    return launches_of(run.records(), run.id[:SHORT], run.facts(), lambda: run.records(samples=True))


def _of_files(path: Path) -> Iterator[Launch]:
    from imb.archive.importer import files_in
    from imb.logs import read_log

    for file in files_in([path]):
        text = file.read_bytes()
        is_records = text.lstrip()[:10] == b'{"record":'
        if is_records:
            again = partial(read, text, str(file), samples=True)
            yield from launches_of(read(text, str(file)), str(file), whole=again)
        else:
            yield from launches_of(read_log(text, str(file)), str(file))


def _asked(archive: Archive, sql: str) -> Iterable[str]:
    import duckdb

    from imb.archive.index import Index

    try:
        answer = Index(archive).connect().sql(sql)
        columns = answer.columns if answer else []
        if "run" not in columns:
            raise ImbError(
                f'the query must answer with a column run, as in "SELECT run FROM runs"; not {sql!r}'
            )
        return list(dict.fromkeys(str(row[columns.index("run")]) for row in answer.fetchall()))
    except duckdb.Error as error:
        raise ImbError(f"the query fails: {' '.join(str(error).split())[:400]}") from error
