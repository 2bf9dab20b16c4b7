"""Tables of all rows of a run on the terminal."""

from __future__ import annotations

from collections.abc import Collection

from imb.model.options import PassLimits, pass_limits
from imb.model.records import Failure, Records, Result, Run
from imb.model.units import count_of
from imb.report.terminal import Screen, say

MOST = 1000  # most rows of a table that are shown


def print_tables(
    records: Records, benchmarks: Collection[str] = (), *, chart: bool = False, failures: bool = True
) -> None:
    """Print all rows of a run, or only those of `benchmarks` (lower case), with notes. `chart`: also print
    charts; `failures`: also print a line for each reason why rows are missing."""
    from imb.report.pass_notes import notes_on_passes
    from imb.report.tables import evidence_of, failures_by_reason, quantiles_of, tables_of

    rows = [
        record
        for record in records.records
        if isinstance(record, Result | Failure) and (not benchmarks or record.benchmark.lower() in benchmarks)
    ]
    run: Run = next(records.of(Run), Run())
    limits = pass_limits(run) or PassLimits()
    screen = Screen()
    for table in tables_of(rows, MOST):
        screen.line()
        screen.table(table.headings, table.rows, title=table.title, right=range(len(table.headings)))
        if (hidden := len(table.results) - MOST) > 0:
            say(f"{count_of(hidden, 'row')} more; `imb export` has all of them")
        if tail := quantiles_of(table.results[:MOST]):
            screen.table(tail.headings, tail.rows, title=tail.title, right=range(len(tail.headings)))
        for note in notes_on_passes(table.results, limits):
            say(note)
        if evidence := evidence_of(table.results):
            say(f"system events: {evidence}")
        if chart:
            from imb.report.chart import curve

            if picture := curve(table, width=min(screen.width, 100)):
                say("", *picture)
    for line in failures_by_reason(rows) if failures else ():
        say(f"not measured: {line}")
