"""imb query"""

from __future__ import annotations

import csv
import io
import re
from typing import Annotated, Literal

import typer

from imb.cli.common import FORMAT, ArchiveOption
from imb.model.text import csv_text
from imb.report.terminal import columns, say, write_data
from imb.store.store import SHORT, Archive


def command(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT statement.")],
    format: Annotated[Literal["table", "csv", "json"], FORMAT] = "table",
    archive: ArchiveOption = None,
) -> None:
    """Query the archive in SQL (DuckDB), read only.

    SQL is one SELECT statement over the tables below. The printed table has short names of runs and three significant digits; csv and json have
    whole values.

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
    from imb.store.sql import ask

    names, rows = ask(Archive(archive), sql)
    if format == "csv":
        text = io.StringIO()
        cells = [
            [csv_text(cell) if isinstance(cell, str) else cell for cell in row] for row in (names, *rows)
        ]
        csv.writer(text, lineterminator="\n").writerows(cells)
        write_data(text.getvalue())
    elif format == "json":
        import msgspec

        lines = [
            msgspec.json.encode(dict(zip(names, row, strict=True)), enc_hook=str).decode() for row in rows
        ]
        write_data("".join(f"{line}\n" for line in lines))
    else:
        say(*columns(names, [[_cell(value) for value in row] for row in rows]))
        if not rows:
            say("0 rows")


def _cell(value: object) -> str:
    """The text of a value: run names as other commands print them, and other floating-point numbers with
    three digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
    text = str(value)
    return text[:SHORT] if re.fullmatch("[0-9a-f]{64}", text) else text
