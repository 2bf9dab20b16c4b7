"""Curves of sides as one picture: a file (Matplotlib), or text on a terminal (plotext)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from imb.model.errors import ImbError, refuse_missing_benchmarks
from imb.model.observations import METRICS, Key, Side
from imb.model.text import one_line
from imb.model.units import short_size, unit_of
from imb.report import shorten
from imb.report.colors import COLORS, SIDES
from imb.stats.medians import percentiles
from imb.store.outputs import write_output

# Colors that color-blind people can distinguish (imb.report.colors); dash and marker repeat the information.
_COLORS = tuple(COLORS["light"][f"s{side}"] for side in range(SIDES))
_MARKERS = "osD^Xv*P"
_DASHES = ("-", "--", ":", "-.")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """Median over launches and the 10th and 90th percentile, all of shape (sizes,), in the unit of the
    picture."""

    name: str
    benchmark: str
    lengths: list[int]
    middle: list[float]
    low: list[float]
    high: list[float]
    side: int


def lines_of(sides: Sequence[Side], metric: str, benchmarks: Sequence[str]) -> list[Line]:
    """One line per side and curve with two sizes or more. Raises ImbError if there is no such curve, or for
    an unknown metric or benchmark."""
    if metric not in METRICS:
        raise ImbError(f"unknown metric: {metric}; choose from {', '.join(METRICS)}")
    factor = unit_of(metric)[1]
    available = list(dict.fromkeys(key.benchmark for side in sides for key in side.all_keys()))
    names = {name.lower() for name in benchmarks}
    refuse_missing_benchmarks(benchmarks, available)
    lines = []
    for number, side in enumerate(sides):
        by_curve: dict[Key, list[Key]] = {}
        for key in side.all_keys():
            if key.bytes is not None and (not names or key.benchmark.lower() in names):
                by_curve.setdefault(key.curve(), []).append(key)
        for curve, keys in by_curve.items():
            values = np.array(
                [side.values(key, metric) for key in sorted(keys, key=lambda row_key: row_key.bytes or 0)]
            )
            has_value = ~np.isnan(values) if metric == "overlap" else values > 0
            measured = np.asarray(has_value.any(axis=1))
            if measured.sum() < 2:
                continue
            low, middle, high = percentiles(values[measured] * factor)
            lengths = sorted(key.bytes or 0 for key in keys)
            lines.append(
                Line(
                    name=_name(number, side, curve, len(sides)),
                    benchmark=one_line(str(curve)),
                    lengths=[n for n, good in zip(lengths, measured, strict=True) if good],
                    middle=middle.tolist(),
                    low=low.tolist(),
                    high=high.tolist(),
                    side=number,
                )
            )
    if not lines:
        raise ImbError(f"no curve has {metric} at two message sizes or more; try --metric time")
    return lines


def draw(lines: Sequence[Line], metric: str, path: Path, form: str, title: str | None = None) -> None:
    """Write a PNG, SVG or PDF (`form`): one chart per benchmark and layout, with all sides. Raises OSError."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    charts = list(dict.fromkeys(line.benchmark for line in lines))
    columns = min(3, len(charts))
    rows = -(-len(charts) // columns)
    style: Any = {
        "font.size": 9,
        "svg.fonttype": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.parse_math": False,  # a $ in a label is a $
        "svg.hashsalt": "imb",
    }
    with rc_context(style):
        width = 7.0 if columns == 1 else 4.2 * columns
        figure = Figure(figsize=(width, (4.2 if columns == 1 else 3.1) * rows + 0.3), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, squeeze=False)
        for chart, axes in zip(charts, grid.flat, strict=False):
            _chart(axes, [line for line in lines if line.benchmark == chart], metric, chart)
        for axes in list(grid.flat)[len(charts) :]:
            axes.set_axis_off()
        if title:
            figure.suptitle(one_line(title), fontweight="bold")
        picture = io.BytesIO()
        figure.savefig(picture, format=form, dpi=160, metadata={"Date": None} if form == "svg" else None)
    write_output(path, picture.getvalue())


def _chart(axes: Any, lines: Sequence[Line], metric: str, title: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    for line in lines:
        color = _COLORS[line.side % len(_COLORS)]
        x = [_place(n) for n in line.lengths]
        if line.low != line.high:
            axes.fill_between(x, line.low, line.high, color=color, alpha=0.18, linewidth=0)
        axes.plot(
            x,
            line.middle,
            color=color,
            linestyle=_DASHES[line.side % len(_DASHES)],
            marker=_MARKERS[line.side % len(_MARKERS)],
            markersize=3.5,
            linewidth=1.6,
            label=line.name,
        )
    longest = max(n for line in lines for n in line.lengths)
    ticks = [n for n in (0, 16, 256, 4096, 65536, 2**20, 2**24, 2**28) if n <= longest]
    axes.set_xscale("log")
    if metric != "overlap":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.xaxis.set_major_locator(FixedLocator([_place(n) for n in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_size(value)))
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlabel("message size, bytes")
    axes.set_ylabel(f"{metric.replace('_', ' ')}, {unit_of(metric)[0]}")
    if len(lines) > 1:
        axes.legend(frameon=False, fontsize=8)


def terminal_chart(lines: Sequence[Line], metric: str, *, width: int) -> list[list[str]]:
    """The charts as lines of text, one chart per benchmark and layout. A letter marks the points of a side."""
    import plotext

    from imb.report.chart import LEAST, MOST, chart_lines, scale

    charts = list(dict.fromkeys(line.benchmark for line in lines))
    drawn = []
    for chart in charts:
        same = [line for line in lines if line.benchmark == chart]
        figure = plotext.figure
        figure.clear()
        figure.plot_size(width, 18)
        figure.theme("clear")
        figure.title(f"{chart}: {unit_of(metric)[0]} over bytes")
        every_x: list[int] = []
        every_y: list[float] = []
        for line in same:
            points = [
                (n, value)
                for n, value in zip(line.lengths, line.middle, strict=True)
                if n > 0 and LEAST < value < MOST
            ]
            if not points:
                continue
            x, y = [n for n, _ in points], [value for _, value in points]
            every_x, every_y = every_x + x, every_y + y
            signal = figure.signal(x, y, marker=line.name[0]) if len(same) > 1 else figure.signal(x, y)
            figure.draw(signal)
        scale(figure, every_x, every_y, linear=metric == "overlap")
        names = [line.name for line in same] if len(same) > 1 else []
        drawn.append([*chart_lines(figure), *names])
    return drawn


def _name(number: int, side: Side, curve: Key, sides: int) -> str:
    """The name of a line. The letter of the side comes first, as in a report, so that no name is empty or
    begins with "_", which hides a line in Matplotlib."""
    return (
        f"{chr(ord('A') + number % 26)} {shorten(one_line(side.name), 40)}"
        if sides > 1
        else one_line(str(curve))
    )


def _place(n: int) -> float:
    """The position of a size on the logarithmic axis; 0 is before size 1."""
    return float(n) if n > 0 else 0.5
