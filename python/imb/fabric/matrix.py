"""The matrix of pairs as Plotly figures, in plain dictionaries; page.js shows them."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import takewhile
from typing import Any

import numpy as np

from imb.fabric.judging.matrix_order import Order
from imb.fabric.judging.sweep import Endpoint
from imb.fabric.judging.topology import Topology
from imb.fabric.judging.verdict import Suspect
from imb.model.text import one_line
from imb.report.colors import COLORS, Theme
from imb.report.page_charts import CONFIG, THEMES, template
from imb.stats.arrays import Values
from imb.stats.medians import percentiles, robust_deviation

_OUTLINED = (
    64  # most named endpoints whose rows are outlined; rows thinner than a pixel show only their outline
)
_EVERY_NAME = 64  # most endpoints that all have names at the axes
_LARGE_NAMES = 16  # most endpoints whose names are as large as other text
_SHORT = 18  # characters of a name at an axis
_USUAL = 0.2  # share of the color scale below the usual time
_LEAST = 0.1  # least width of that share, relative to the usual time: noise of a quiet fabric must not look like a fault
_MOST = 0.75  # its largest width: above four times the usual time, all is one color, so that 10 % longer stays visible
# Spreads; a slower pair is drawn even if another pair shares its pixel.
_STRONG = 4.5
# Weights of endpoints that share a pixel with others; matrix.js also has _NO_ANSWER.
_NAMED, _NO_ANSWER = 9.0, 99.0
_SCALES: dict[Theme, list[tuple[float, str]]] = {  # usual is Okabe and Ito's blue, slow is their orange
    "light": [(0, "#f3f7fa"), (_USUAL, "#bcd8ec"), (0.3, "#e2dcd4"), (0.4, "#f6b988"), (0.6, "#e0701c"), (0.8, "#a84300"), (1, "#4f2000")],
    "dark": [(0, "#16222c"), (_USUAL, "#1f5a86"), (0.3, "#5d5f5c"), (0.4, "#a0683a"), (0.6, "#f0833a"), (0.8, "#ffb482"), (1, "#fff0e2")],
}  # fmt: skip


def relative_times(times: Values, endpoints: Sequence[Endpoint], topology: Topology) -> Values:
    """Each time divided by the median of pairs of the same distance, shape (endpoints, endpoints); NaN if a
    host is not in the topology."""
    place = {name: index for index, name in enumerate(topology.hosts)}
    indices = np.array([place.get(endpoint.host, -1) for endpoint in endpoints])
    leaf = np.where(indices >= 0, topology.leaf[indices], -1)
    hops = topology.hops[np.ix_(leaf, leaf)].astype(np.int64)
    same = np.array([endpoint.host for endpoint in endpoints])
    hops[same[:, None] == same[None, :]] = 0
    hops[(leaf < 0)[:, None] | (leaf < 0)[None, :]] = -1
    ratios = np.full(times.shape, np.nan)
    for distance in np.unique(hops[hops >= 0]):
        alike = (hops == distance) & np.isfinite(times)
        if alike.any():
            ratios[alike] = times[alike] / np.median(times[alike])
    return ratios


def drawn_matrices(
    views: Sequence[tuple[str, Values, str, int]],
    endpoints: Sequence[Endpoint],
    order: Order,
    elements: Sequence[Sequence[Suspect]],
    silent: Sequence[int] = (),
) -> dict[str, Any]:
    """The data of page.js. `views`: name, matrix, unit, bytes (0 if there is no rate). `silent`: endpoints
    that do not answer."""
    short = short_names(endpoints)
    ordered = [endpoints[index] for index in order.indices]
    figures = [_figure(values, unit, length, order, elements, silent) for _, values, unit, length in views]
    return {
        "config": CONFIG,
        "sections": [
            {"template": "matrix", "layouts": [{"lengths": [], "charts": [figure]} for figure in figures]}
        ],
        "templates": {"matrix": {theme: _template(theme) for theme in THEMES}},
        "columns": {
            "names": [one_line(endpoint.name) for endpoint in ordered],
            "labels": [_escaped(short[index]) for index in order.indices],
        },
    }


def short_names(endpoints: Sequence[Endpoint]) -> list[str]:
    """Names for the axes, without the domain that all hosts share; long names have an ellipsis."""
    hosts = {endpoint.host for endpoint in endpoints}
    domain = _common_domain(hosts) if len(hosts) > 1 else ""
    names = []
    for endpoint in endpoints:
        name = one_line(f"{endpoint.host.removesuffix(domain)} {endpoint.place}".rstrip())
        names.append(name if len(name) <= _SHORT else f"{name[: _SHORT // 2]}…{name[1 - _SHORT // 2 :]}")
    return names


def _common_domain(hosts: Iterable[str]) -> str:
    """`.example.org`, or empty if there is none or the names are addresses."""
    parts = [host.split(".")[1:][::-1] for host in hosts]
    common = [same[0] for same in takewhile(lambda same: len(set(same)) == 1, zip(*parts, strict=False))]
    return "".join(f".{part}" for part in reversed(common)) if common and not common[0].isdecimal() else ""


def _escaped(name: str) -> str:
    """The name with tags and entities escaped, because Plotly interprets them in texts (but not `&quot;`)."""
    return escape(name, quote=False)


def _figure(
    values: Values,
    unit: str,
    length: int,
    order: Order,
    elements: Sequence[Sequence[Suspect]],
    silent: Sequence[int],
) -> dict[str, Any]:
    index = np.array(order.indices, dtype=np.int64)
    shown = values[np.ix_(index, index)].astype("<f4")
    place = {endpoint: at for at, endpoint in enumerate(order.indices)}
    named = [place[same[0].endpoints[0]] for same in elements if _is_endpoint(same[0])]
    low, high = _range(shown)
    count = len(order.indices)
    heat = {
        "type": "heatmap",
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
        (place[suspect.endpoints[0]], place[suspect.endpoints[1]])
        for same in elements
        for suspect in same[:1]
        if suspect.kind == "pair"
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
    axis = {
        "showgrid": False,
        "range": [-0.5, count - 0.5],
        "constrain": "domain",
        **({"tickfont": {"size": 12}} if count <= _LARGE_NAMES else {}),
    }
    layout = {
        "xaxis": {**axis, "tickangle": -90 if count > 8 else 0, "side": "bottom"},
        "yaxis": {**axis, "range": [count - 0.5, -0.5], "scaleanchor": "x"},
        "hovermode": "closest",
        "shapes": [*_boundaries(order), *_outlines(named, count)],
        "annotations": _numbers(place, elements),
        "margin": {"l": 70, "r": 10, "t": 8, "b": 70},
    }
    return {
        "data": [heat, *([marked] if dots else [])],
        "layout": layout,
        "unit": unit,
        "bytes": length,
        "pairs": _pairs(shown, named, [place[endpoint] for endpoint in silent]),
    }


def _pairs(shown: np.ndarray[Any, Any], named: Sequence[int], silent: Sequence[int]) -> dict[str, Any]:
    """Data for matrix.js: all values (half of them if the matrix is symmetric), the weight of each endpoint
    if several share a pixel, and the time from which a pair is always shown."""
    half = np.array_equal(shown, shown.T, equal_nan=True)
    stored = shown[np.tril_indices(len(shown), -1)] if half else shown
    measured = np.isfinite(shown) & (shown > 0)
    logs = np.log(np.where(measured, shown, 1.0))
    middle, spread = 0.0, 0.0
    if measured.any():
        middle = float(np.median(logs[measured]))
        spread = robust_deviation(logs[measured] - middle)
    apart = np.where(measured, np.clip(logs - middle, -0.5, 0.5), 0.0)
    weights = np.max(
        [apart.sum(axis=axis) / np.maximum(measured.sum(axis=axis), 1) for axis in (0, 1)], axis=0
    )
    weights[named] += _NAMED
    weights[silent] = _NO_ANSWER
    return {
        "bdata": base64.b64encode(np.ascontiguousarray(stored).tobytes()).decode(),
        "half": half,
        "count": len(shown),
        "weights": np.round(weights, 4).tolist(),
        "strong": math.exp(middle + max(_STRONG * spread, _LEAST)),
    }


def _range(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Ends of the color scale, in which the usual time always has the same color. The scale is as wide as the
    noise, and never so wide that a few slow pairs hide all others. The width comes from quartiles: the few
    pairs below one leaf switch do not widen it."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, middle, most = percentiles(finite, (25, 50, 99.8)).tolist()
    if not middle > 0:
        return 0.0, 1.0
    part = min(max(_LEAST, 2.5 * (1 - low / middle), _USUAL / (1 - _USUAL) * (most / middle - 1)), _MOST)
    return middle * (1 - part), middle * (1 + part * (1 - _USUAL) / _USUAL)


def _boundaries(order: Order) -> list[dict[str, Any]]:
    """Lines between groups."""
    ends = np.cumsum([many for _, many in order.groups])[:-1].tolist()
    if len(ends) > 200:
        return []
    return [
        {"type": "line", "opacity": 0.15 if len(ends) > 12 else 1, f"{axis}ref": axis, f"{axis}0": end - 0.5, f"{axis}1": end - 0.5, f"{other}ref": f"{other} domain",
         f"{other}0": 0, f"{other}1": 1}
        for end in ends
        for axis, other in (("x", "y"), ("y", "x"))
    ]  # fmt: skip


def _outlines(named: Sequence[int], count: int) -> list[dict[str, Any]]:
    """Outlines of the row of each named endpoint; if rows are thin, also of its column."""
    axes = (("x", "y"),) if count <= _EVERY_NAME else (("x", "y"), ("y", "x"))
    return [
        {
            "templateitemname": "named",
            "visible": True,
            f"{along}ref": f"{along} domain",
            f"{along}0": 0,
            f"{along}1": 1,
            f"{across}0": at - 0.5,
            f"{across}1": at + 0.5,
        }
        for at in named[:_OUTLINED]
        for along, across in axes
    ]


def _numbers(place: dict[int, int], elements: Sequence[Sequence[Suspect]]) -> list[dict[str, Any]]:
    """The number of each named endpoint beside its row. Numbers that would overlap share a line."""
    room = max(1, math.ceil(len(place) / 40))
    labels: dict[int, tuple[int, list[str]]] = {}
    for number, same in enumerate(elements, 1):
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


def _is_endpoint(suspect: Suspect) -> bool:
    return suspect.named and suspect.kind in ("host", "core") and len(suspect.endpoints) >= 1


def _template(theme: Theme) -> dict[str, Any]:
    colors = COLORS[theme]
    figure_template = template(
        theme,
        [{"marker": {"symbol": "square-open", "size": 9, "color": colors["bad"], "line": {"width": 2}}}],
    )
    figure_template["data"]["heatmap"] = [
        {
            "colorscale": [list(step) for step in _SCALES[theme]],
            "colorbar": {
                "tickfont": {"color": colors["muted"]},
                "title": {"font": {"color": colors["muted"]}},
            },
        }
    ]
    layout = figure_template["layout"]
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
    return figure_template
