"""Results as tables with only the columns that they have, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from imb.model.figures import FIGURES, Figure
from imb.model.records import QUANTILES, Counter, Failure, Result, sum_evidence
from imb.model.units import (
    NOT_KNOWN,
    abridge,
    amount,
    count_of,
    decimal,
    duration,
    known_width,
    noun_for,
    size,
)
from imb.report.markup import escape_html, escape_pipes


def _heading(figure: Figure) -> tuple[str, float]:
    """The heading of a figure's column, and the factor that converts its values to the heading's unit."""
    if figure.unit == "bytes_per_second":
        return "MB/s", 1e-6
    if figure.unit == "messages_per_second":
        return "messages/s", 1
    name = figure.head.partition("[")[0]
    if figure.unit == "seconds":
        return f"{name} µs", 1e6
    return f"{name} %", 1 if figure.unit == "percent" else 100


# Field of a result, heading, factor. A MB is 10^6 bytes everywhere in the companion.
_COLUMNS: tuple[tuple[str, str, float | None], ...] = (
    ("group", "group", None),
    ("bytes", "bytes", None),
    ("repetitions", "repetitions", None),
    *((figure.name, *_heading(figure)) for figure in FIGURES if figure.head),
    ("half_width", "± %", 100),
    ("defects", "defects", None),
)
# Columns of repetitions that begin at agreed times. A row without a valid repetition has the column but no value.
_OF_VALID = (
    "time_from_last_arrival_seconds",
    "time_from_first_arrival_seconds",
    "start_skew_seconds",
    "exit_skew_seconds",
)
_FEW = 50  # a row with fewer percent of valid repetitions is marked
_SEEN = 4  # most ranks and interfaces that are named


class Table(NamedTuple):
    """Results of one benchmark on one layout."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    results: list[Result]


def tables_of(records: Iterable[Result | Failure], most: int | None = None) -> list[Table]:
    """One table per benchmark and layout, in order; failures are left to `failures_of`. `most`: only the
    first `most` rows of each table become text."""
    results = [record for record in records if isinstance(record, Result)]
    tables = []
    for title, same in groupby(results, key=title_of):
        rows = list(same)
        columns = [
            column
            for column in _COLUMNS
            if any(
                getattr(row, column[0]) is not None
                or (column[0] == "half_width" and row.passes)
                or (column[0] in _OF_VALID and row.is_by_clock)
                for row in rows
            )
        ]
        cells = [[_cell_of(row, field, factor) for field, _, factor in columns] for row in rows[:most]]
        headings = [heading for _, heading, _ in columns]
        if "t_min µs" not in headings:  # the classic table's t
            headings = ["t µs" if heading == "t_max µs" else heading for heading in headings]
        tables.append(Table(title, headings, cells, rows))
    return tables


def quantiles_of(results: Sequence[Result]) -> Table | None:
    """Quantiles of the repetitions of rows that were measured with -show_tail, or None if no row was."""
    rows = [row for row in results if row.quantiles]
    names = [name for name in QUANTILES if any((row.quantiles or {}).get(name) is not None for row in rows)]
    if not names:
        return None
    cells = [
        [_cell(row.bytes, None), *(_cell((row.quantiles or {}).get(name), 1e6) for name in names)]
        for row in rows
    ]
    return Table("quantiles of the repetitions, µs", ["bytes", *names], cells, rows)


def title_of(record: Result | Failure) -> str:
    """`PingPong, 2 groups of 2 ranks, aggregate`"""
    words = [record.benchmark]
    if (record.group_count or 1) > 1:
        words.append(f"{record.group_count} groups of {count_of(record.processes or 0, 'rank')}")
    elif record.processes is not None:
        words.append(count_of(record.processes, "rank"))
    if record.threads > 1:
        words.append(f"{record.threads} threads")
    if record.mode:
        words.append(record.mode.replace("_", "-"))
    if record.variant is not None:
        words.append(f"variant {record.variant}")
    return ", ".join(words)


def failures_of(records: Iterable[Result | Failure]) -> list[str]:
    """One line per failure."""
    return [f"{_failed_row(record)}: {record.reason}" for record in records if isinstance(record, Failure)]


def failures_by_reason(records: Iterable[Result | Failure]) -> list[str]:
    """One line per reason: its first row, and the number of other rows."""
    rows: dict[str, list[Failure]] = {}
    for record in records:
        if isinstance(record, Failure):
            rows.setdefault(record.reason, []).append(record)
    lines = []
    for reason, (first, *others) in rows.items():
        more = f" and {count_of(len(others), 'other row')}" if others else ""
        lines.append(f"{_failed_row(first)}{more}: {reason}")
    return lines


def _failed_row(record: Failure) -> str:
    return title_of(record) + ("" if record.bytes is None else f", {size(record.bytes)}")


def evidence_of(results: Iterable[Result]) -> str | None:
    """System events of the ranks of these rows, on one line, or None if there were none or they are unknown."""
    evidence = [row.evidence for row in results if row.evidence]
    total = sum_evidence(evidence)
    disturbed = [
        _count(total.involuntary_switches, "involuntary switch"),
        _count(total.major_faults, "major page fault"),
        _seconds(total.run_delay_seconds, "run delay"),
        _seconds(total.steal_seconds, "steal"),
    ]
    words = [word for word in disturbed if word]
    if total.moved_ranks:
        ranks = sorted(total.moved_ranks)
        shown = abridge(list(map(str, ranks)), _SEEN)
        words.append(f"moved to another CPU: {noun_for(len(ranks), 'rank')} {shown}")
    busiest = sorted(total.interfaces or [], key=lambda each: -(each.sent_bytes + each.received_bytes))
    words += [
        f"{each.name} on {each.host}: {amount(each.sent_bytes)} sent, {amount(each.received_bytes)} received"
        for each in busiest[:_SEEN]
    ]
    words += ["…"] if len(busiest) > _SEEN else []
    return "; ".join(words) or None


def _count(counter: Counter | None, noun: str) -> str | None:
    return f"{counter.sum:.0f} {noun_for(round(counter.sum), noun)}" if counter else None


def _seconds(counter: Counter | None, label: str) -> str | None:
    return f"{label} {duration(counter.sum)}" if counter else None


def markdown(tables: Sequence[Table], failures: Sequence[str]) -> str:
    """Pipe tables under headings of level 3."""
    parts = []
    for table in tables:
        lines = [
            f"### {escape_html(table.title)}",
            "",
            escape_pipes(table.headings),
            "|" + "---:|" * len(table.headings),
        ]
        parts.append("\n".join([*lines, *map(escape_pipes, table.rows)]))
    if failures:
        parts.append("\n".join(["### Not measured", "", *(f"- {escape_html(line)}" for line in failures)]))
    return "\n\n".join(parts) + "\n"


def _cell_of(row: Result, field: str, factor: float | None) -> str:
    value = getattr(row, field)
    unknown_width = field == "half_width" and row.passes and not known_width(row.half_width)
    if unknown_width or (field in _OF_VALID and row.is_by_clock and value is None):
        return NOT_KNOWN
    few = field == "valid_percent" and value is not None and value < _FEW
    return _cell(value, factor) + (" (few)" if few else "")


def _cell(value: float | int | None, factor: float | None) -> str:
    if value is None:
        return ""
    return str(value) if factor is None else decimal(value * factor)
