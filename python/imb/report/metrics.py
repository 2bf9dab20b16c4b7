"""Results for monitoring and CI services: one value per row, the median over the exported launches."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from imb.model.figures import FIGURES
from imb.model.observations import Key, completion_time_of, key_of
from imb.model.records import Failure, Record, Result, Run
from imb.model.units import count_of


class MpiSeries(NamedTuple):
    """A row, measured with one MPI."""

    mpi: str
    key: Key


Measured = dict[MpiSeries, list[Result]]

_HELP = {
    "seconds": "Seconds, median over launches.",
    "percent": "Percent, median over launches.",
    "share": "From 0 to 1, median over launches.",
    "change": "Relative change, median over launches.",
    "bytes_per_second": "Bytes per second, median over launches.",
    "messages_per_second": "Messages per second, median over launches.",
}


def measured_series(launches: Iterable[Sequence[Record]]) -> tuple[Measured, int]:
    """The rows of each series, in the order of the first launch that has them, and the number of failure rows."""
    rows: Measured = {}
    failures = 0
    for records in launches:
        run = Run()
        for record in records:
            if isinstance(record, Run):
                run = record
            elif isinstance(record, Result):
                mpi = (run.mpi and run.mpi.name) or ""
                rows.setdefault(MpiSeries(mpi, key_of(record, run)), []).append(record)
            failures += isinstance(record, Failure)
    return rows, failures


def prometheus(rows: Measured, failures: int) -> str:
    """Gauges in Prometheus' text format 0.0.4, for node_exporter's textfile collector, which refuses
    timestamps. Source: prometheus.io, "Exposition formats"."""
    lines: list[str] = []

    def gauge(name: str, help_text: str, samples: Sequence[tuple[str, float]]) -> None:
        if not samples:
            return
        lines.extend([f"# HELP openimb_{name} {help_text}", f"# TYPE openimb_{name} gauge"])
        lines.extend(f"openimb_{name}{labels} {value!r}" for labels, value in samples)

    for figure in FIGURES:
        by_series = ((series, _values(results, figure.name)) for series, results in rows.items())
        gauge(
            figure.name,
            _HELP[figure.unit],
            [(_labels(series), float(median(values))) for series, values in by_series if values],
        )
    defects = [
        (series, [row.defects for row in results if row.defects is not None])
        for series, results in rows.items()
    ]
    gauge(
        "defects",
        "Wrong bytes found by -check.",
        [(_labels(series), float(sum(each))) for series, each in defects if each],
    )
    gauge(
        "launches",
        "Launches that measured the row.",
        [(_labels(series), float(len(each))) for series, each in rows.items()],
    )
    gauge("failed_rows", "Rows that could not be measured.", [("", float(failures))])
    return "\n".join([*lines, "# EOF", ""])


def github_benchmark(rows: Measured) -> str:
    """JSON for github-action-benchmark, tool customSmallerIsBetter: the time of the slowest rank in
    microseconds, with the interval of a single launch in passes, or the extremes of several launches."""
    entries = []
    for series, results in rows.items():
        times = [
            time for row in results if (time := completion_time_of(row)) is not None and math.isfinite(time)
        ]
        if not times:
            continue
        entry = {"name": str(series.key), "unit": "usec", "value": _usec(median(times))}
        width = results[0].half_width if len(results) == 1 else None
        if len(times) > 1:
            entry["range"] = f"{_usec(min(times)):g} to {_usec(max(times)):g}"
        elif width is not None:
            entry["range"] = f"± {_usec(width * times[0]):g}"
        launches = count_of(len(times), "launch")
        entry["extra"] = f"{series.mpi}, {launches}" if series.mpi else launches
        entries.append(entry)
    return json.dumps(_distinguish_names(entries), indent=2, ensure_ascii=False) + "\n"


def _distinguish_names(entries: list[dict[str, object]]) -> list[dict[str, object]]:
    """The entries, with the MPI in a name that occurs several times: the service identifies a series by its
    name."""
    names = [entry["name"] for entry in entries]
    for entry in entries:
        if names.count(entry["name"]) > 1:
            entry["name"] = f"{entry['name']} ({str(entry['extra']).rsplit(', ', 1)[0]})"
    return entries


def _values(results: Sequence[Result], name: str) -> list[float]:
    values = (getattr(row, name) for row in results)
    return [value for value in values if value is not None and math.isfinite(value)]


def _usec(seconds: float) -> float:
    return float(f"{seconds * 1e6:.6g}")


def _labels(series: MpiSeries) -> str:
    key = series.key
    named = {
        "component": key.component,
        "benchmark": key.benchmark,
        "mode": key.mode,
        "variant": key.variant,
        "processes": key.processes,
        "threads": key.threads if key.threads > 1 else None,
        "groups": key.group_count if (key.group_count or 1) > 1 else None,
        "group": key.group,
        "bytes": key.bytes,
        "in_flight": key.in_flight,
        "start": key.start,
        "arrival_width_seconds": key.arrival_width_seconds,
        "mpi": series.mpi or None,
    }
    return "{" + ",".join(_label(name, value) for name, value in named.items() if value is not None) + "}"


def _label(name: str, value: object) -> str:
    text = re.sub(r'[\\"]', lambda match: "\\" + match[0], str(value)).replace("\n", r"\n")
    return f'{name}="{text}"'
