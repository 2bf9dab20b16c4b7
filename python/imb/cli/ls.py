"""imb ls"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from imb.cli.common import ArchiveOption, FormatOption
from imb.cli.option_groups import OUTPUT, SESSION, SUBJECT
from imb.model.errors import ImbError
from imb.model.gpus import UNKNOWN
from imb.model.mpis import library_name
from imb.model.text import natural_key
from imb.report import shorten
from imb.report.terminal import columns, say, text_width, write_data
from imb.store.store import SHORT, Archive

_PROGRAMS = {"Intel MPI Benchmarks": "IMB", "OSU Micro-Benchmarks": "OSU"}
# Columns of the index that the list needs.
_INDEX_COLUMNS = [
    "run",
    "added",
    "origin",
    "date",
    "program",
    "version",
    "component",
    "mpi",
    "memory",
    "processes",
    "rows",
    "failures",
    "state",
    "benchmarks",
]

_HEADINGS = ("RUN", "DATE", "PROGRAM", "MPI", "RANKS", "ROWS", "FAILED", "STATE", "BENCHMARKS", "LABELS")
_USUAL_VALUES = {"FAILED": "", "STATE": "complete"}  # a column is left out if all runs have this value
# Least widths of columns on a narrow terminal; 0: the column is left out.
_LEAST_WIDTHS = {"BENCHMARKS": 0, "LABELS": 16, "MPI": 10, "PROGRAM": 8}

_NEWEST = 30  # number of runs that are shown without --newest


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN...]",
            help="Only these: first digits of names (4 or more), labels, or files that are stored.",
            show_default="all",
        ),
    ] = None,
    newest: Annotated[
        int | None,
        typer.Option(
            "--newest",
            "-n",
            min=1,
            metavar="N",
            help="Show the newest N runs.",
            show_default=str(_NEWEST),
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show all runs.", rich_help_panel=OUTPUT)
    ] = False,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", "-l", metavar="LABEL", help="Only runs with this label.", rich_help_panel=SESSION
        ),
    ] = None,
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark", "-b", metavar="NAME", help="Only runs of this benchmark.", rich_help_panel=SUBJECT
        ),
    ] = None,
    format: FormatOption = "terminal",
    archive: ArchiveOption = None,
) -> None:
    """List the runs of the archive, newest first by the date measured.

    Columns: first digits of the run's name, which other commands take; date measured, or "added" and the date added if
    the log has no date; program, with its version if it is not OpenIMB, and the memory of messages if it is not the host's; MPI, if
    the log has it; ranks; rows measured; rows failed, if any; end state, if a run is not complete; benchmarks; labels. A state
    of "-" means that the log has no end: it may have been cut off. Lines are as wide as the terminal, or 100 columns; if they are
    too narrow, benchmarks are left out first. --format json has everything, one object per line.

    \b
    Examples:
      imb ls
      imb ls --all --benchmark Allreduce
      imb ls --format json | jq .command
    """
    from imb.store.index import Index
    from imb.store.names import unknown_label_error, whole_names

    if everything and newest is not None:
        raise ImbError("--all and --newest cannot be combined; give one of them")
    index = Index(Archive(archive))
    if missing := index.archive.missing_problem():
        say(f"imb: {missing}", err=True)
        return
    tags = index.tags()
    named = whole_names(index.archive, names, tags) if names else set()
    runs = index.rows(None if format == "json" else _INDEX_COLUMNS)
    for run in runs:
        run["labels"] = tags[run["run"]].labels if run["run"] in tags else []
    if label is not None and not any(label in run["labels"] for run in runs):
        raise unknown_label_error(label)
    runs = [
        run
        for run in runs
        if (not names or run["run"] in named) and (label is None or label in run["labels"])
    ]
    if benchmark is not None:
        runs = [run for run in runs if benchmark.lower() in (run["benchmarks"] or "").lower().split(", ")]
    runs.sort(
        key=lambda run: (
            _date(run) or run["added"][:19],
            run["added"],
            natural_key(run["origin"] or ""),
            run["run"],
        ),
        reverse=True,
    )
    listed_runs = runs if everything else runs[: newest or _NEWEST]
    if format == "json":
        import msgspec

        write_data("".join(msgspec.json.encode(run).decode() + "\n" for run in listed_runs))
        return
    if not runs:
        if names or label is not None:
            lack = "can be read" if label is None else "has this label"
            message = f"none of these runs {f'has benchmark {benchmark!r}' if benchmark else lack}"
        else:
            scope = f"no run of benchmark {benchmark!r} in" if benchmark else "the archive is empty:"
            message = f"{scope} {index.archive.folder}; add runs with `imb run` or `imb import`"
        say(f"imb: {message}", err=True)
        return
    cells = [_cells(run) for run in listed_runs]
    left_out = {
        name
        for name, usual in _USUAL_VALUES.items()
        if all(row[_HEADINGS.index(name)] == usual for row in cells)
    }
    kept = [column for column, name in enumerate(_HEADINGS) if name not in left_out]
    rows = [[row[column] for column in kept] for row in cells]
    say(*columns([_HEADINGS[column] for column in kept], rows, width=text_width(), least=_LEAST_WIDTHS))
    if len(listed_runs) < len(runs):
        say(f"and {len(runs) - len(listed_runs)} older: imb ls --all")


def _cells(run: dict[str, Any]) -> list[str]:
    program = _PROGRAMS.get(run["program"], run["program"]) or ""
    version = None if program == "OpenIMB" else run["version"]
    return [
        run["run"][:SHORT],
        ((run["date"] or "")[:16] or f"added {run['added'][:16]}").replace("T", " "),
        " ".join(filter(None, [program, version, run["component"], _memory(run)])),
        shorten(library_name(run["mpi"] or "-"), 24),
        str(run["processes"] or "-"),
        str(run["rows"]),
        str(run["failures"] or ""),
        run["state"] or "-",
        shorten(run["benchmarks"] or "-", 36),
        shorten(", ".join(run["labels"]), 60),
    ]


def _memory(run: dict[str, Any]) -> str | None:
    """The kind of memory of messages, or None if it is host memory or unknown."""
    if run["memory"] == UNKNOWN:
        return "(memory unknown)"
    return f"({run['memory']})" if run["memory"] not in (None, "host") else None


def _date(run: dict[str, Any]) -> str | None:
    """Date and time of a run as text that sorts, or None if its log has no date or one in another form."""
    date = run["date"] or ""
    return date[:19] if re.match(r"\d{4}-\d\d-\d\dT", date) else None
