"""Charts in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotext

from imb.model.text import one_line
from imb.report.tables import Table

LEAST, MOST = 1e-12, 1e15  # µs or MB/s; values outside cannot be measurements and would squeeze the others


def curve(table: Table, *, width: int) -> list[str] | None:
    """Lines of a chart of bandwidth, or else time, over message size, both logarithmic. None if fewer than
    three sizes have a value above 0."""
    rate = any(result.bytes_per_second for result in table.results)
    points = []
    for result in table.results:
        value = (
            result.bytes_per_second
            if rate
            else result.completion_seconds or (0.0 if result.is_by_clock else result.time_avg_seconds)
        )
        value = (value or 0.0) * (1e-6 if rate else 1e6)
        if result.bytes and LEAST < value < MOST:
            points.append((result.bytes, value))
    lengths, values = [length for length, _ in points], [value for _, value in points]
    if len(set(lengths)) < 3:
        return None
    figure = plotext.figure
    figure.clear()
    figure.plot_size(width, 16)
    figure.theme("clear")
    figure.title(f"{one_line(table.title)}: {'MB/s' if rate else 'µs'} over bytes")
    figure.draw(figure.signal(lengths, values))
    scale(figure, lengths, values)
    return chart_lines(figure)


def scale(figure: Any, x: Sequence[float], y: Sequence[float], *, linear: bool = False) -> None:
    """Make axes logarithmic. An axis stays linear if all its values are equal, because plotext's limits then
    reach below 0; so does y if `linear`."""
    for axis, values in enumerate((x, y)):
        if len(set(values)) > 1 and not (axis == 1 and linear):
            figure.ruler(axis, 0).scale("log")


def chart_lines(figure: Any) -> list[str]:
    """The lines of a chart, without colors."""
    return [line.rstrip() for line in str(plotext.uncolorize(str(figure.build()))).split("\n")]
