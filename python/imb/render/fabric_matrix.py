"""The matrix of pairs as Plotly figures, plain dictionaries; page.js shows them."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from imb.fabric.order import Order
from imb.fabric.sweep import Endpoint, Values
from imb.fabric.topology import Topology
from imb.fabric.verdict import Suspect
from imb.model.observations import percentiles
from imb.model.text import one_line
from imb.render.colors import COLORS, Theme
from imb.render.page_charts import CONFIG, THEMES, template

_OUTLINED = 64  # rows of named endpoints that have an outline; where a row is less than a pixel, it is all there is to see
_EVERY_NAME = 64  # and up to which each has its name at the axes
_LARGE_NAMES = 16  # and up to which these are as large as other text
_SCALES: dict[Theme, list[str]] = {  # Okabe and Ito's blue is usual, orange is slow
    "light": ["#f3f7fa", "#b4d4ec", "#f6c8a5", "#d55e00", "#6b2f00"],
    "dark": ["#1b2a36", "#20608f", "#8f6a3c", "#f0833a", "#ffd9b8"],
}


def relative(times: Values, endpoints: Sequence[Endpoint], topology: Topology) -> Values:
    """Each time over the median of pairs of the same distance; NaN where a host is not in the topology."""
    place = {name: index for index, name in enumerate(topology.hosts)}
    known = np.array([place.get(one.host, -1) for one in endpoints])
    leaf = np.where(known >= 0, topology.leaf[known], -1)
    hops = topology.hops[np.ix_(leaf, leaf)].astype(np.int64)
    same = np.array([one.host for one in endpoints])
    hops[same[:, None] == same[None, :]] = 0
    hops[(leaf < 0)[:, None] | (leaf < 0)[None, :]] = -1
    found = np.full(times.shape, np.nan)
    for distance in np.unique(hops[hops >= 0]):
        alike = (hops == distance) & np.isfinite(times)
        if alike.any():
            found[alike] = times[alike] / np.median(times[alike])
    return found


def drawn_matrices(
    views: Sequence[tuple[str, Values, str, int]],
    endpoints: Sequence[Endpoint],
    order: Order,
    components: Sequence[Sequence[Suspect]],
) -> dict[str, Any]:
    """All that page.js shows. `views`: name, matrix, unit, bytes (0: no rate)."""
    names = [_shown(endpoints[one].name) for one in order.indices]
    figures = [_figure(values, unit, length, order, components) for _, values, unit, length in views]
    return {
        "config": CONFIG,
        "sections": [
            {"template": "matrix", "layouts": [{"lengths": [], "charts": [one]} for one in figures]}
        ],
        "templates": {"matrix": {theme: _template(theme) for theme in THEMES}},
        "columns": {"names": names},
    }


def _shown(name: str) -> str:
    """Plotly reads tags in texts; the characters of names stay characters."""
    return escape(one_line(name))


def _figure(
    values: Values, unit: str, length: int, order: Order, components: Sequence[Sequence[Suspect]]
) -> dict[str, Any]:
    index = np.array(order.indices, dtype=np.int64)
    shown = values[np.ix_(index, index)].astype("<f4")
    place = {one: at for at, one in enumerate(order.indices)}
    low, high = _range(shown)
    count = len(order.indices)
    heat = {
        "type": "heatmap",
        "columns": {"x": "names", "y": "names"},
        "z": {
            "dtype": "f4",
            "bdata": base64.b64encode(shown.tobytes()).decode(),
            "shape": f"{count}, {count}",
        },
        "zmin": low,
        "zmax": high,
        "hoverinfo": "none",
        "xgap": 1 if count <= _EVERY_NAME else 0,
        "ygap": 1 if count <= _EVERY_NAME else 0,
        "colorbar": {
            "title": {"text": unit, "side": "right"},
            "thickness": 14,
            "outlinewidth": 0,
            "x": 1.05,
            "len": 0.8,
        },
    }
    pairs = [
        (place[s.endpoints[0]], place[s.endpoints[1]])
        for same in components
        for s in same[:1]
        if s.kind == "pair"
    ]
    dots = [*pairs, *((b, a) for a, b in pairs)]
    marked = {
        "type": "scatter",
        "x": [x for x, _ in dots],
        "y": [y for _, y in dots],
        "mode": "markers",
        "hoverinfo": "skip",
        "showlegend": False,
    }
    ticks = {"dtick": 1} if count <= _EVERY_NAME else {"nticks": 32}
    axis = {
        "type": "category",
        "showgrid": False,
        "range": [-0.5, count - 0.5],
        "constrain": "domain",
        **({"tickfont": {"size": 12}} if count <= _LARGE_NAMES else {}),
        **ticks,
    }
    layout = {
        "xaxis": {**axis, "tickangle": -90 if count > 8 else 0, "side": "bottom"},
        "yaxis": {**axis, "range": [count - 0.5, -0.5], "scaleanchor": "x"},
        "hovermode": "closest",
        "shapes": [*_boundaries(order), *_outlines(place, components)],
        "annotations": _numbers(place, components),
        "margin": {"l": 70, "r": 10, "t": 8, "b": 70},
    }
    return {"data": [heat, *([marked] if dots else [])], "layout": layout, "unit": unit, "bytes": length}


def _range(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Ends of the color scale: without the last thousandths, which would hide all else, and never so narrow that noise looks
    like a fault."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    low, middle, most = percentiles(known, (0.2, 50, 99.8)).tolist()
    return min(low, 0.95 * middle), max(most, 1.3 * middle)


def _boundaries(order: Order) -> list[dict[str, Any]]:
    """Lines between groups."""
    ends = np.cumsum([many for _, many in order.groups])[:-1].tolist()
    if len(ends) > 200:
        return []
    return [
        {"type": "line", "opacity": 0.3 if len(ends) > 12 else 1, f"{axis}ref": axis, f"{axis}0": end - 0.5, f"{axis}1": end - 0.5, f"{other}ref": f"{other} domain",
         f"{other}0": 0, f"{other}1": 1}
        for end in ends
        for axis, other in (("x", "y"), ("y", "x"))
    ]  # fmt: skip


def _outlines(place: dict[int, int], components: Sequence[Sequence[Suspect]]) -> list[dict[str, Any]]:
    """Around the row of each named endpoint."""
    rows = [place[same[0].endpoints[0]] for same in components if _is_endpoint(same[0])][:_OUTLINED]
    return [
        {
            "templateitemname": "named",
            "visible": True,
            "xref": "x domain",
            "x0": 0,
            "x1": 1,
            "y0": row - 0.5,
            "y1": row + 0.5,
        }
        for row in rows
    ]


def _numbers(place: dict[int, int], components: Sequence[Sequence[Suspect]]) -> list[dict[str, Any]]:
    """The number of each named endpoint beside its row; those that would be on top of each other share a line."""
    room = max(1, math.ceil(len(place) / 40))
    labels: dict[int, tuple[int, list[str]]] = {}
    for number, same in enumerate(components, 1):
        if _is_endpoint(same[0]):
            row = place[same[0].endpoints[0]]
            labels.setdefault(row // room, (row, []))[1].append(str(number))
    return [
        {
            "xref": "x domain",
            "x": 1,
            "xanchor": "left",
            "y": row,
            "text": "◂ " + ", ".join(numbers),
            "showarrow": False,
        }
        for row, numbers in labels.values()
    ]


def _is_endpoint(one: Suspect) -> bool:
    return one.named and one.kind in ("host", "core") and len(one.endpoints) >= 1


def _template(theme: Theme) -> dict[str, Any]:
    colors = COLORS[theme]
    scale = _SCALES[theme]
    steps = [[number / (len(scale) - 1), color] for number, color in enumerate(scale)]
    made = template(
        theme,
        [{"marker": {"symbol": "square-open", "size": 9, "color": colors["bad"], "line": {"width": 2}}}],
    )
    made["data"]["heatmap"] = [
        {
            "colorscale": steps,
            "colorbar": {
                "tickfont": {"color": colors["muted"]},
                "title": {"font": {"color": colors["muted"]}},
            },
        }
    ]
    layout = made["layout"]
    layout["plot_bgcolor"] = colors["calm-bg"]
    layout["annotationdefaults"] = {"font": {"color": colors["bad"], "size": 13}}
    layout["shapes"] = [
        {"name": "named", "visible": False, "type": "rect", "line": {"color": colors["bad"], "width": 1.5}}
    ]
    layout["xaxis"] = {
        **layout["xaxis"],
        "showspikes": False,
        "tickfont": {"color": colors["muted"], "size": 9},
    }
    layout["yaxis"] = {**layout["yaxis"], "tickfont": {"color": colors["muted"], "size": 9}}
    return made
