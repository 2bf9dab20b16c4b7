"""Charts of a page as complete Plotly figures, in plain dictionaries: traces, axes and ticks.

A template per theme adds the colors. templates/page.js only shows the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from imb.model.units import short_size, size
from imb.report.colors import COLORS, DASHES, SIDES, SYMBOLS, Theme, shade
from imb.report.marks import TIMES, has_both_ends, short_number, word_of
from imb.report.panels import ChartLine, Layout, Panel, Section

_FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif'
THEMES: tuple[Theme, ...] = ("light", "dark")
CONFIG = {"responsive": True, "displaylogo": False, "displayModeBar": False, "doubleClick": "reset"}
_LENGTHS = (0, *(16**power for power in range(1, 9)))
_ONE_TWO_FIVE = [digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5)]
_ROOM = 1 / 11  # least distance between two labels, as a share of the axis


def charts_of(sections: Sequence[Section], history: dict[str, Any] | None) -> dict[str, Any]:
    """The data of page.js: figures by section, layout and chart, and their templates. The last section is the
    history, if there is one. The layouts of the history are curves, and its traces name `columns` that all
    curves share."""
    shown = [
        {"template": "lengths", "layouts": [_layout(layout) for layout in section.layouts]}
        for section in sections
    ]
    templates = {"lengths": {theme: template(theme, _lines_over_length(theme)) for theme in THEMES}}
    if history:
        shown.append(
            {
                "template": "history",
                "layouts": [_history_layout(history, curve) for curve in history["curves"]],
            }
        )
        templates["history"] = {theme: template(theme, _lines_over_time(theme, history)) for theme in THEMES}
    return {
        "config": CONFIG,
        "sections": shown,
        "templates": templates,
        "columns": _columns(history) if history else {},
    }


def _columns(history: dict[str, Any]) -> dict[str, list[Any]]:
    """Times and names of the launches of each side."""
    columns: dict[str, list[Any]] = {}
    for side in history["sides"]:
        dates, names = side["dates"], side["names"]
        columns[f"time {side['letter']}"] = dates if history["dated"] else list(range(1, len(dates) + 1))
        columns[f"run {side['letter']}"] = [escape(name) for name in names]
    return columns


def _layout(layout: Layout) -> dict[str, Any]:
    return {
        "lengths": [size(n) for n in layout.x],
        "charts": [_chart(layout, panel) for panel in layout.panels],
    }


def _chart(layout: Layout, panel: Panel) -> dict[str, Any]:
    """A chart with two traces per side, its interval and its line, so that they match the order of the
    template's colors."""
    x = [_place(n) for n in layout.x]
    traces: list[dict[str, Any]] = []
    for line in panel.series:
        traces += [{}] * (2 * line.side - len(traces))  # sides without values in this chart
        traces += [_interval(x, line), _line(x, panel, line)]
    return {"data": traces, "layout": _axes(layout, panel) if panel.series else _empty_chart()}


def _interval(x: Sequence[float], line: ChartLine) -> dict[str, Any]:
    """The outline of the shaded area."""
    ends = [
        (at, lo, hi)
        for at, lo, hi in zip(x, line.lo, line.hi, strict=True)
        if lo is not None and hi is not None
        if line.verdict is None or has_both_ends(lo, hi)
    ]
    if not ends:
        return {}
    return {
        "x": [at for at, _, _ in ends] + [at for at, _, _ in reversed(ends)],
        "y": [short_number(hi) for _, _, hi in ends] + [short_number(lo) for _, lo, _ in reversed(ends)],
    }


def _line(x: Sequence[float], panel: Panel, line: ChartLine) -> dict[str, Any]:
    """The line of a side. The page shows `text` above the chart while a size is marked; `meta` is the number
    of the side."""
    values, *between = (column.cells for column in line.columns())
    verdicts = line.verdict or [None] * len(x)
    text = [
        " ".join(
            filter(
                None,
                (
                    value,
                    "" if panel.speed or y is None else panel.unit,
                    word_of(verdict, y) if verdict and y else "",
                    *(column[i] for column in between),
                ),
            )
        )
        for i, (value, y, verdict) in enumerate(zip(values, line.y, verdicts, strict=True))
    ]
    y = [None if value is None else short_number(value) for value in line.y]
    return {"x": list(x), "y": y, "text": text, "name": line.name, "meta": line.side}


def _axes(layout: Layout, panel: Panel) -> dict[str, Any]:
    first, last = math.log10(_place(layout.x[0])), math.log10(_place(layout.x[-1]))
    span = (first - 0.15, last + 0.15)
    ticks = _lengths_with_room(layout.x if len(layout.x) <= 6 else _LENGTHS, span)
    return {
        "xaxis": {
            "type": "log",
            "range": span,
            "tickvals": [_place(n) for n in ticks],
            "ticktext": [short_size(n) for n in ticks],
            "title": {"text": "message size, bytes"},
        },
        "yaxis": {
            "type": "linear" if panel.linear else "log",
            "rangemode": "tozero" if panel.linear else "normal",
            "title": {"text": f"speedup over A, {TIMES}" if panel.speed else panel.unit},
            "tickformat": ",.3~r" if panel.speed else ",~r",
            **_ticks(panel),
        },
        # 1: as fast as A
        "shapes": [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1}]
        if panel.speed
        else [],
    }


def _ticks(panel: Panel) -> dict[str, Any]:
    """Ticks of the y axis: powers of ten if there are several, 1-2-5 for speedups, otherwise Plotly's choice."""
    values = [y for line in panel.series for y in line.y if y and y > 0]
    decades = math.log10(max(values) / min(values)) if values else 0.0
    if panel.speed and 0.7 < decades < 4:
        return {"tickvals": _ONE_TWO_FIVE}
    return {"nticks": 6} if panel.linear or decades <= 1.5 else {"dtick": 1}


def _empty_chart() -> dict[str, Any]:
    """An empty chart; another layout of this benchmark has values in it."""
    note = {"text": "no values in this layout", "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
    return {
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
        "annotations": [{**note, "showarrow": False}],
    }


def _place(n: int | None) -> float:
    """The position of a size on the logarithmic axis. 0 and None are half a step before size 1."""
    return float(n) if n else 0.5


def _lengths_with_room(lengths: Sequence[int | None], span: tuple[float, float]) -> list[int]:
    """Sizes whose labels have room on the axis. `span`: decimal logarithms of the ends of the axis."""
    kept: list[int] = []
    for n in (length or 0 for length in lengths):
        at = math.log10(_place(n))
        last = math.log10(_place(kept[-1])) if kept else -math.inf
        if span[0] <= at <= span[1] and at - last >= _ROOM * (span[1] - span[0]):
            kept.append(n)
    return kept


def _history_layout(history: dict[str, Any], curve: dict[str, Any]) -> dict[str, Any]:
    """A layout with one chart: a trace per band and side, in the order of `_lines_over_time`, and a dashed
    line per new level."""
    sides, dated = history["sides"], history["dated"]
    traces: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for number, band in enumerate(curve["bands"]):
        for place, side in enumerate(sides):
            values = band["values"][place]
            has_values = any(value is not None for value in values)
            trace = {
                "columns": {"x": f"time {side['letter']}", "text": f"run {side['letter']}"},
                "y": values,
                "name": escape(f"{side['letter']}, {band['band']}" if len(sides) > 1 else band["band"]),
            }
            traces.append(trace if has_values else {})
            for change in band["changes"][place]:
                at = side["dates"][change] if dated else change + 0.5
                style = f"change {_color(history, number, place)}"
                shapes.append({"templateitemname": style, "visible": True, "x0": at, "x1": at})
    figure = {
        "data": traces,
        "layout": {
            "showlegend": True,
            "hovermode": "closest",
            "margin": {"l": 56, "r": 10, "t": 34, "b": 44},
            "xaxis": {"showspikes": False, **({"type": "date"} if dated else {"title": {"text": "launch"}})},
            "yaxis": {"title": {"text": "time over median"}},
            "shapes": shapes,
        },
    }
    return {"lengths": [], "charts": [figure]}


def _color(history: dict[str, Any], band: int, side: int) -> int:
    """Index of the color: by side if there are several sides, otherwise by band."""
    return (side if len(history["sides"]) > 1 else band) % SIDES


def _lines_over_length(theme: Theme) -> list[dict[str, Any]]:
    """Styles of the interval and the line of each side. Plotly assigns them to traces in this order."""
    lines: list[dict[str, Any]] = []
    for side in range(SIDES):
        color = COLORS[theme][f"s{side}"]
        lines += [
            {
                "mode": "lines",
                "fill": "toself",
                "fillcolor": shade(color, 0.18),
                "line": {"width": 0},
                "hoverinfo": "skip",
            },
            {
                "mode": "lines+markers",
                "line": {"color": color, "width": 2, "dash": DASHES[side]},
                "marker": {"color": color, "size": 5, "symbol": SYMBOLS[side]},
                "hoverinfo": "none",
            },
        ]
    return lines


def _lines_over_time(theme: Theme, history: dict[str, Any]) -> list[dict[str, Any]]:
    """Styles of each side in each band. Plotly assigns them to traces in this order."""
    return [
        {
            "mode": "markers" if history["dated"] else "lines+markers",
            "line": {"color": (color := COLORS[theme][f"s{_color(history, band, side)}"]), "width": 1},
            "marker": {"color": color, "size": 6, "symbol": SYMBOLS[band]},
            "hovertemplate": "%{y:.3f} of the median<br>%{text}<extra>%{fullData.name}</extra>",
        }
        for band in range(len(SYMBOLS))
        for side in range(len(history["sides"]))
    ]


def template(theme: Theme, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The settings that all charts with these line styles share in a theme."""
    colors = COLORS[theme]
    ink, muted = colors["ink"], colors["muted"]
    axis = {
        "gridcolor": colors["grid"],
        "linecolor": colors["line"],
        "zeroline": False,
        "ticks": "",
        "tickangle": 0,
        "tickfont": {"color": muted, "size": 11},
        "automargin": True,
        "exponentformat": "none",
        "title": {"font": {"color": muted, "size": 12}, "standoff": 6},
    }
    spike = {
        "showspikes": True,
        "spikemode": "across",
        "spikethickness": 1,
        "spikedash": "solid",
        "spikecolor": muted,
    }
    changes = [
        {
            "name": f"change {number}",
            "visible": False,  # shown by the figures that name it
            "type": "line",
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": colors[f"s{number}"], "width": 1.5, "dash": "dash"},
        }
        for number in range(SIDES)
    ]
    return {
        "data": {"scatter": list(lines)},
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": colors["card"],
            "font": {"family": _FONT, "color": ink, "size": 12},
            "margin": {"l": 56, "r": 8, "t": 6, "b": 42},
            "hovermode": "x",
            "showlegend": False,
            "hoverlabel": {
                "bgcolor": colors["card"],
                "bordercolor": colors["line"],
                "font": {"color": ink, "size": 12},
            },
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"color": ink}},
            "xaxis": {**axis, **spike},
            "yaxis": axis,
            "shapedefaults": {"line": {"color": muted, "width": 1}},
            "annotationdefaults": {"font": {"color": muted, "size": 12}},
            "shapes": changes,
        },
    }
