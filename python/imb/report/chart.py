"""Charts in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotext

from imb.model.text import one_line
from imb.report.tables import Table

LEAST, MOST = 1e-12, 1e15  # µs or MB/s; what lies outside was not measured and would squeeze all else


def curve(table: Table, *, width: int = 78, height: int = 16) -> list[str] | None:
    """Lines of a chart of throughput, or else time, over length, both logarithmic; None where fewer than three lengths have
    a figure above 0."""
    rate = any(result.bytes_per_second for result in table.results)
    points = []
    for result in table.results:
        value = (
            result.bytes_per_second
            if rate
            else result.completion_seconds or (0.0 if result.by_clock else result.time_avg_seconds)
        )
        value = (value or 0.0) * (1e-6 if rate else 1e6)
        if result.bytes and LEAST < value < MOST:
            points.append((result.bytes, value))
    lengths, values = [length for length, _ in points], [value for _, value in points]
    if len(set(lengths)) < 3:
        return None
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, height)
    figure.theme("clear")
    figure.title(f"{one_line(table.title)}: {'MB/s' if rate else 'µs'} over bytes")
    figure.draw(figure.signal(lengths, values))
    scale(figure, lengths, values)
    return chart_lines(figure)


def scale(figure: Any, x: Sequence[float], y: Sequence[float], *, linear: bool = False) -> None:
    """Logarithmic axes; linear where all figures are equal, since plotext's limits then reach below 0, or for y by request."""
    for axis, values in enumerate((x, y)):
        if len(set(values)) > 1 and not (axis == 1 and linear):
            figure.ruler(axis, 0).scale("log")


def chart_lines(figure: Any) -> list[str]:
    """A chart without colors."""
    return [line.rstrip() for line in str(plotext.uncolorize(str(figure.build()))).split("\n")]
