"""imb query"""

from __future__ import annotations

import csv
import enum
import sys
from typing import Annotated

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption, columns_of_text
from imb.model.text import one_line


class Format(enum.StrEnum):
    """How the answer is printed."""

    table = "table"
    csv = "csv"
    json = "json"


def command(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")],
    format: Annotated[Format, typer.Option("--format", "-f", help="Output format.")] = Format.table,
    archive: ArchiveOption = None,
) -> None:
    """Query the archive in SQL (DuckDB). Reads these tables only, and changes nothing: one SELECT statement.

    \b
    Tables (DESCRIBE results lists the columns):
      runs      one row per run: run, date, program, version, component, processes,
                mpi, command, state, rows, failures, conditions (JSON), ...
      results   one row per measured point: run, benchmark, mode, processes, bytes,
                repetitions, time_min_seconds, time_max_seconds, bytes_per_second, ...
      failures  one row per point that could not be measured: run, benchmark, cause, ...
      labels    run, label

    \b
    Examples:
      imb query "SELECT label, min(time_max_seconds) * 1e6 AS us
                 FROM results JOIN labels USING (run)
                 WHERE benchmark = 'PingPong' AND bytes = 0 GROUP BY label ORDER BY us"
      imb query --format csv "FROM runs" > runs.csv
    """
    from imb.archive.sql import ask

    names, rows = ask(Archive(archive), sql)
    if format is Format.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([names, *rows])
    elif format is Format.json:
        import msgspec

        lines = [
            msgspec.json.encode(dict(zip(names, row, strict=True)), enc_hook=str).decode() for row in rows
        ]
        typer.echo("".join(f"{line}\n" for line in lines), nl=False)
    else:
        cells = [["" if value is None else one_line(str(value)) for value in row] for row in rows]
        typer.echo(columns_of_text([one_line(name) for name in names], cells))
