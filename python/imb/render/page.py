"""One self-contained HTML file: a report on sides, or a comparison. Everything that a user named is escaped by Jinja.

`report_page` and `comparison_page` make what templates/page.html.j2 shows and what page.js draws; both load nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from imb import __version__
from imb.compare import BANDS, Band, Comparison, Effect, RowEffect
from imb.diagnose import Diagnosis
from imb.differing import Difference, conditions_of
from imb.render import shortened
from imb.render.comparison import verdict_in_words
from imb.render.findings import MODEL_HEADINGS, model_rows
from imb.samples import MORE_IS_BETTER, Key, Side
from imb.stats import change_points
from imb.wording import counted

Values = npt.NDArray[np.float64]
MARKS = {"faster": "▲", "slower": "▼", "same": "=", "cannot tell": "?"}
_UNITS = {"bandwidth": ("MB/s", 1e-6), "messages": ("messages/s", 1.0), "overlap": ("%", 1.0)}
_TITLES = {"bandwidth": "Bandwidth", "messages": "Message rate", "overlap": "Overlap", "time": "Time"}
_TO, _TIMES = "\u2013", "\u00d7"  # en dash, multiplication sign
_INTERVAL = f"10{_TO}90 %"


class Column(NamedTuple):
    """Of a table, shape (lengths,)."""

    cells: list[str]
    range: bool


class Series(msgspec.Struct, kw_only=True):
    """One line of a chart; y, lo, hi of shape (lengths,). `side` chooses colour, dash and marker."""

    name: str
    letter: str
    side: int
    y: list[float | None]
    lo: list[float | None]
    hi: list[float | None]
    verdict: list[str | None] | None = None

    @property
    def spread(self) -> bool:
        """Whether there is an interval anywhere."""
        return any(value is not None for value in self.lo)

    def columns(self) -> list[Column]:
        """Values, and intervals where there are any, as a table shows them."""
        marks = [MARKS.get(one or "", "") for one in self.verdict] if self.verdict else [""] * len(self.y)
        values = [f"{_digits(y)} {mark}".strip() for y, mark in zip(self.y, marks, strict=True)]
        if not self.spread:
            return [Column(values, False)]
        between = [
            "" if lo is None or hi is None else f"{_digits(lo)}{_TO}{_digits(hi)}"
            for lo, hi in zip(self.lo, self.hi, strict=True)
        ]
        return [Column(values, False), Column(between, True)]


class Panel(msgspec.Struct, kw_only=True):
    """One chart."""

    title: str
    unit: str
    series: list[Series]
    interval: str = _INTERVAL
    legend: bool = False
    speed: bool = False
    linear: bool = False


class Variant(msgspec.Struct, kw_only=True):
    """One layout of a benchmark: its lengths in bytes, and charts over them."""

    label: str
    x: list[int | None]
    panels: list[Panel]

    @property
    def lengths(self) -> list[str]:
        """As a table shows them."""
        return [_TO if n is None else f"{n:,}" for n in self.x]

    def columns(self) -> list[Column]:
        """Of all charts, from left to right."""
        return [column for panel in self.panels for one in panel.series for column in one.columns()]


class Section(msgspec.Struct, kw_only=True):
    """One benchmark. `drawn`: a curve needs two lengths."""

    id: str
    title: str
    variants: list[Variant]

    @property
    def drawn(self) -> bool:
        return any(len(one.x) > 1 for one in self.variants)


def report_page(
    sides: Sequence[Side],
    comparisons: Sequence[Comparison],
    diagnoses: Sequence[Diagnosis],
    *,
    title: str | None = None,
    now: datetime | None = None,
) -> str:
    """A report on the sides; `comparisons` are of the first with each other one, `diagnoses` of each side, both may be
    empty."""
    sections = _sections(sides, comparisons)
    history = _history(sides)
    conditions = _conditions(sides)
    heats = []
    if len(sides) == 1 and len(sides[0].launches) >= 3:
        heats.append(_repeatability(sides[0]))
    rows = sum(len(launch.rows) for side in sides for launch in side.launches)
    launches = sum(len(side.launches) for side in sides)
    page = {
        "title": title or _title(sides),
        "subtitle": f"{counted(launches, 'launch')}, {counted(rows, 'row')}"
        + (f", measured {_dates(sides)}" if _dates(sides) else ""),
        "sides": [
            {"letter": _letter(i), "name": side.name, "about": _about(side)} for i, side in enumerate(sides)
        ],
        "verdicts": [_verdict(one, 0, i + 1) for i, one in enumerate(comparisons)],
        "findings": [{"side": one.side, "all": one.findings, "notes": one.notes} for one in diagnoses]
        if diagnoses
        else None,
        "heats": heats,
        "conditions": conditions,
        "conditions_caption": "What is known of the launches"
        + (
            "; rows marked ≠ are not the same everywhere."
            if any(row["differs"] for row in conditions)
            else "."
        ),
        "sections": sections,
        "charts_note": "Lines are medians over launches, both axes are logarithmic, shaded is what lies between the 10th "
        "and the 90th percentile of launches."
        if any(len(side.launches) > 1 for side in sides)
        else "Both axes are logarithmic.",
        "history": history,
        "models": [
            {"side": one.side, "headings": MODEL_HEADINGS, "rows": model_rows(one)}
            for one in diagnoses
            if one.models
        ],
        "made": now.strftime("%Y-%m-%d %H:%M") if now else None,
    }
    return _render(page, sections, history)


def comparison_page(comparison: Comparison, *, title: str | None = None, now: datetime | None = None) -> str:
    """What `imb compare --format html` writes: verdict, bands, conditions that differ, and every row."""
    names = [comparison.name_a, comparison.name_b]
    counts = [comparison.launches_a, comparison.launches_b]
    sections = _compared_sections(comparison)
    page = {
        "title": title or f"{names[1]} against {names[0]}",
        "subtitle": f"{counted(len(comparison.rows), 'row')} and {counted(len(comparison.bands), 'band')} compared",
        "sides": [
            {"letter": _letter(i), "name": name, "about": counted(counts[i], "launch")}
            for i, name in enumerate(names)
        ],
        "verdicts": [_verdict(comparison, 0, 1)],
        "findings": None,
        "heats": [],
        "conditions": [_difference(one) for one in comparison.conditions],
        "conditions_caption": "Conditions that are not the same in all launches.",
        "sections": sections,
        "charts_note": "Lines are medians over launches; the speed of B over A has its "
        f"{comparison.settings.confidence:.0%} interval. Axes are logarithmic.",
        "history": None,
        "models": [],
        "made": now.strftime("%Y-%m-%d %H:%M") if now else None,
    }
    return _render(page, sections, None)


def _render(page: dict[str, Any], sections: Sequence[Section], history: dict[str, Any] | None) -> str:
    from plotly.offline import get_plotlyjs

    order = [("Verdict", "verdict", page["verdicts"]), ("Findings", "findings", page["findings"] is not None)]
    order += [(one["short"], one["id"], True) for one in page["heats"]]
    order += [("Conditions", "conditions", page["conditions"]), ("Charts", "charts", sections)]
    order += [("History", "history", history), ("Model", "model", page["models"])]
    page["contents"] = [(name, anchor) for name, anchor, there in order if there]
    template, css, js = _template()
    drawn = bool(history) or any(section.drawn for section in sections)
    text: str = template.render(
        page=page,
        version=__version__,
        css=Markup(css),
        js=Markup(js),
        plotly=Markup(get_plotlyjs()) if drawn else "",
        data=_embedded({"sections": sections, "history": history}),
    )
    return text


@cache
def _template() -> tuple[Any, str, str]:
    """The page, its style and its script; a name that does not exist is an error, not a blank."""
    from importlib.resources import files

    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("imb.render"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    folder = files("imb.render") / "templates"
    return (
        environment.get_template("page.html.j2"),
        (folder / "page.css").read_text("utf-8"),
        (folder / "page.js").read_text("utf-8"),
    )


def _embedded(data: object) -> Markup:
    """JSON that nothing in it can end a script element or begin a comment."""
    text = msgspec.json.encode(data).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


# ---------------------------------------------------------------- charts over length


def _sections(sides: Sequence[Side], comparisons: Sequence[Comparison]) -> list[Section]:
    effects = [{row.key: row.effect for row in one.rows} for one in comparisons]
    keys = list(dict.fromkeys(key for side in sides for key in _keys(side)))
    made = []
    for number, (title, layouts) in enumerate(_by_benchmark(keys).items()):
        variants = []
        for label, rows in layouts.items():
            panels = _measured(sides, rows)
            if effects:
                panels.append(_speeds(effects, rows))
            variants.append(Variant(label=label, x=[key.bytes for key in rows], panels=panels))
        made.append(Section(id=f"b{number}", title=title, variants=_alike(variants)))
    return made


def _compared_sections(comparison: Comparison) -> list[Section]:
    by_key = {row.key: row for row in comparison.rows}
    made = []
    for number, (title, layouts) in enumerate(_by_benchmark(list(by_key)).items()):
        variants = []
        for label, keys in layouts.items():
            rows = [by_key[key] for key in keys]
            panels = [
                _medians(comparison, rows),
                _speeds([{row.key: row.effect for row in comparison.rows}], keys),
            ]
            variants.append(Variant(label=label, x=[key.bytes for key in keys], panels=panels))
        made.append(Section(id=f"b{number}", title=title, variants=variants))
    return made


def _by_benchmark(keys: Iterable[Key]) -> dict[str, dict[str, list[Key]]]:
    """Title (benchmark and mode) -> layout -> keys, shortest first."""
    keys = list(keys)
    several = {
        key.benchmark for key in keys if len({k.component for k in keys if k.benchmark == key.benchmark}) > 1
    }
    found: dict[str, dict[str, list[Key]]] = {}
    for key in keys:
        title = key.benchmark + (f", {key.mode.replace('_', '-')}" if key.mode else "")
        title += f" ({key.component})" if key.benchmark in several and key.component else ""
        found.setdefault(title, {}).setdefault(_layout(key), []).append(key)
    for layouts in found.values():
        for rows in layouts.values():
            rows.sort(key=lambda one: -1 if one.bytes is None else one.bytes)
    return found


def _keys(side: Side) -> list[Key]:
    return side.keys()


def _layout(key: Key) -> str:
    words = [counted(key.processes, "rank") if key.processes else "number of ranks not known"]
    if (key.group_count or 1) > 1:
        words.append(f"in each of {key.group_count} groups")
    if key.group is not None:
        words.append(f"group {key.group}")
    return ", ".join(words)


def _measured(sides: Sequence[Side], keys: Sequence[Key]) -> list[Panel]:
    panels = [_panel(sides, keys, "Time", "µs", lambda side, key: side.values(key) * 1e6)]
    firsts = [row for side in sides for launch in side.launches if (row := launch.rows.get(keys[-1]))]
    if any(row.overlap_percent is not None for row in firsts):
        panel = _panel(sides, keys, "Overlap", "%", lambda side, key: side.values(key, "overlap"))
        return [*panels, msgspec.structs.replace(panel, linear=True)]
    if any(row.bytes_per_second is not None for row in firsts):
        panels.append(
            _panel(
                sides,
                keys,
                "Bandwidth",
                "MB/s",
                lambda side, key: _positive(side.values(key, "bandwidth")) / 1e6,
            )
        )
    elif any(key.bytes for key in keys):
        panels.append(
            _panel(
                sides,
                keys,
                "Length / time",
                "MB/s",
                lambda side, key: _positive((key.bytes or 0) / side.values(key)) / 1e6,
            )
        )
    return panels


def _panel(
    sides: Sequence[Side], keys: Sequence[Key], title: str, unit: str, take: Callable[[Side, Key], Values]
) -> Panel:
    series = []
    for number, side in enumerate(sides):
        values = np.array([take(side, key) for key in keys])  # (lengths, launches)
        if np.isnan(values).all():
            continue
        low, middle, high = _percentiles(values)
        series.append(
            Series(
                name=_named(number, side),
                letter=_letter(number) if len(sides) > 1 else "",
                side=number,
                y=middle,
                lo=low,
                hi=high,
            )
        )
    return Panel(title=title, unit=unit, series=series, legend=len(sides) > 1)


def _percentiles(values: Values) -> tuple[list[float | None], ...]:
    """The 10th, 50th and 90th over launches, of each length; the outer ones where there are two launches."""
    known = ~np.isnan(values)
    found = np.full((3, len(values)), np.nan)
    some = known.any(axis=1)
    if some.any():
        found[:, some] = np.nanpercentile(values[some], [10, 50, 90], axis=1)
    few = known.sum(axis=1) < 2
    found[0, few] = found[2, few] = np.nan
    return tuple([_short(value) for value in row] for row in found)


def _speeds(effects: Sequence[dict[Key, Effect]], keys: Sequence[Key]) -> Panel:
    series = []
    for number, of in enumerate(effects, start=1):
        found = [of.get(key) for key in keys]
        if not any(found):
            continue
        series.append(
            Series(
                name=f"{_letter(number)} over A",
                letter=_letter(number) if len(effects) > 1 else "",
                side=number,
                y=[_short(one.speed) if one else None for one in found],
                lo=[_short(one.low) if one and one.low else None for one in found],
                hi=[_short(one.high) if one and one.high else None for one in found],
                verdict=[one.verdict if one else None for one in found],
            )
        )
    title = "Speed of B over A" if len(effects) == 1 else "Speed over A"
    return Panel(
        title=title, unit=_TIMES, series=series, interval="95 %", speed=True, legend=len(effects) > 1
    )


def _medians(comparison: Comparison, rows: Sequence[RowEffect]) -> Panel:
    metric = comparison.settings.metric
    unit, factor = _UNITS.get(metric, ("µs", 1e6))
    names = (comparison.name_a, comparison.name_b)
    nothing: list[float | None] = [None] * len(rows)
    series = [
        Series(
            name=f"{_letter(i)} {shortened(names[i], 28)}",
            letter=_letter(i),
            side=i,
            y=[_short((row.a, row.b)[i] * factor) for row in rows],
            lo=nothing,
            hi=nothing,
        )
        for i in range(2)
    ]
    return Panel(
        title=_TITLES.get(metric, metric), unit=unit, series=series, legend=True, linear=metric == "overlap"
    )


def _alike(variants: list[Variant]) -> list[Variant]:
    """All layouts of a section have as many charts: those of the one that has most; others leave them empty."""
    most = max(variants, key=lambda one: len(one.panels)).panels
    for one in variants:
        for panel in most[len(one.panels) :]:
            one.panels.append(msgspec.structs.replace(panel, series=[]))
    return variants


# ---------------------------------------------------------------- verdicts, heat maps, conditions


def _verdict(comparison: Comparison, a: int, b: int) -> dict[str, Any]:
    counts = [
        f"{sum(one.effect.verdict == word for one in comparison.bands)} {said}"
        for word, said in (
            ("slower", "slower"),
            ("faster", "faster"),
            ("same", "the same"),
            ("cannot tell", "open"),
        )
    ]
    known = sorted(comparison.bands, key=lambda one: one.effect.speed)
    extremes = (
        f" Slowest: {known[0].curve.benchmark}, {known[0].band}, at {known[0].effect.speed:.2f} times A's speed; "
        f"fastest: {known[-1].curve.benchmark}, {known[-1].band}, at {known[-1].effect.speed:.2f}."
        if known
        else ""
    )
    return {
        "a": _letter(a),
        "b": _letter(b),
        "slug": comparison.verdict.replace(" ", "-"),
        "mark": MARKS[comparison.verdict],
        "word": verdict_in_words(comparison, _letter(a), _letter(b)),
        "sentence": f"Of {counted(len(comparison.bands), 'band')} of lengths {', '.join(counts)}; "
        f"{comparison.launches_a} against {counted(comparison.launches_b, 'launch')}"
        + (", judged in pairs" if comparison.pairs else "")
        + f", changes under {comparison.settings.relevant:.0%} do not matter.{extremes}",
        "warnings": comparison.warnings,
        "relevant": f"{comparison.settings.relevant:.0%}",
        "heat": _speed_heat(comparison, _letter(a), _letter(b)),
    }


def _speed_heat(comparison: Comparison, a: str, b: str) -> dict[str, Any]:
    bands = list(dict.fromkeys(one.band for one in comparison.bands))
    bands.sort(key=lambda band: float("inf") if band.first is None else band.first)
    by_curve: dict[Key, dict[Band, Effect]] = {}
    for one in comparison.bands:
        by_curve.setdefault(one.curve, {})[one.band] = one.effect
    more = "bandwidth" if comparison.settings.metric in MORE_IS_BETTER else "speed"
    return {
        "caption": f"{more.title()} of {b} over {a} by benchmark and message length in bytes",
        "bands": [str(band) for band in bands],
        "rows": [
            {"title": str(curve), "cells": [_speed_cell(effects.get(band)) for band in bands]}
            for curve, effects in by_curve.items()
        ],
    }


def _speed_cell(effect: Effect | None) -> dict[str, str] | None:
    if effect is None:
        return None
    far = max(effect.speed, 1 / effect.speed)
    shade = ""
    if effect.verdict in ("faster", "slower"):
        shade = ("f" if effect.verdict == "faster" else "l") + (
            "3" if far >= 2 else "2" if far >= 1.2 else "1"
        )
    known = effect.low is not None and effect.high is not None
    return {
        "shade": shade,
        "text": f"{effect.speed:.2f}{_TIMES}",
        "mark": MARKS[effect.verdict],
        "word": effect.verdict,
        "sub": f"{effect.low:.2f}{_TO}{effect.high:.2f}" if known else "",
    }


def _repeatability(side: Side) -> dict[str, Any]:
    """How far launches differ, by benchmark and band: 90th over 10th percentile, median of the band's rows."""
    curves: dict[Key, dict[Band, list[float]]] = {}
    none = Band()
    for key in _keys(side):
        values = side.values(key)
        values = values[values > 0]
        if len(values) >= 3:
            low, high = np.percentile(values, [10, 90])
            band = next((one for one in BANDS if one.has(key.bytes)), none)
            curves.setdefault(key.curve(), {}).setdefault(band, []).append(float(high / low))
    bands = [band for band in (*BANDS, none) if any(band in of for of in curves.values())]

    def cell(found: list[float] | None) -> dict[str, str] | None:
        if not found:
            return None
        spread = float(np.median(found))
        shade = "l3" if spread >= 1.5 else "l2" if spread >= 1.2 else "l1" if spread >= 1.1 else ""
        return {"shade": shade, "text": f"{spread:.2f}{_TIMES}", "mark": "", "word": "", "sub": ""}

    return {
        "id": "repeatability",
        "short": "Repeatability",
        "heading": "Repeatability",
        "caption": "How far launches differ, by benchmark and message length in bytes",
        "bands": [str(band) if band != none else "other lengths" for band in bands],
        "rows": [
            {"title": str(curve), "cells": [cell(of.get(band)) for band in bands]}
            for curve, of in curves.items()
        ],
        "note": "Time of the 90th percentile of launches over that of the 10th, the median of the lengths in the band; shaded "
        "from 1.10, 1.20 and 1.50 on. 1.00 would be launches that repeat exactly.",
    }


def _conditions(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """What is known, by name: values of each side, each once. Options of the suite only where they differ."""
    said: list[dict[str, list[str]]] = []
    for side in sides:
        of: dict[str, list[str]] = {}
        for launch in side.launches:
            for name, text in conditions_of(launch):
                values = of.setdefault(name, [])
                if text not in values:
                    values.append(text)
        said.append(of)
    names = dict.fromkeys(name for of in said for name in of if name != "environment")
    rows = []
    for name in names:
        cells = [of.get(name, []) for of in said]
        differs = len({value for values in cells for value in values}) > 1 or (
            len({bool(values) for values in cells}) > 1
        )
        if name.startswith("options ") and not differs:
            continue
        rows.append({"name": name, "cells": [_some(values) for values in cells], "differs": differs})
    return sorted(rows, key=lambda row: not row["differs"])


def _difference(one: Difference) -> dict[str, Any]:
    return {"name": one.name, "cells": [_some(one.a), _some(one.b)], "differs": True}


def _some(values: Sequence[str]) -> str:
    shown = "; ".join(values[:6])
    return f"{shown} and {len(values) - 6} more" if len(values) > 6 else shown or "not known"


# ---------------------------------------------------------------- history


def _history(sides: Sequence[Side]) -> dict[str, Any] | None:
    """Launches in the order of time: of each curve and band the geometric mean of time over its row's median, and where
    a new level begins. None where no side has five launches."""
    if max(len(side.launches) for side in sides) < 5:
        return None
    ordered = [_by_date(side) for side in sides]
    dated = all(launch.run.date for side in ordered for launch in side.launches)
    groups: dict[Key, dict[Band, list[Key]]] = {}
    none = Band()
    for key in dict.fromkeys(key for side in ordered for key in _keys(side)):
        band = next((one for one in BANDS if one.has(key.bytes)), none)
        groups.setdefault(key.curve(), {}).setdefault(band, []).append(key)
    # The probability of a change that is none is 1 % in all of the page together.
    level = 0.01 / max(1, len(sides) * sum(map(len, groups.values())))
    curves: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for curve, of_bands in groups.items():
        drawn: list[dict[str, Any]] = []
        for band, keys in of_bands.items():
            name = "other" if band == none and keys[0].bytes is not None else str(band)
            logs = [np.log(_positive(np.array([side.values(key) for key in keys]))) for side in ordered]
            levels = [_means(of - _centre(of)) for of in logs]
            found = [_changes(values, level) for values in levels]
            for number, places in enumerate(found):
                changes += _told(places, levels[number], ordered[number], _letter(number), str(curve), name)
            drawn.append(
                {"band": name, "values": [[_short(v) for v in values] for values in levels], "changes": found}
            )
        curves.append({"title": str(curve), "bands": drawn})
    changes.sort(key=lambda one: -one["weight"])
    first = next((i for i, one in enumerate(curves) if changes and one["title"] == changes[0]["curve"]), 0)
    return {
        "curves": curves,
        "first": first,
        "dated": dated,
        "changes": changes[:40],
        "sides": [
            {
                "letter": _letter(number),
                "dates": [launch.run.date or "" for launch in side.launches],
                "names": [launch.name for launch in side.launches],
            }
            for number, side in enumerate(ordered)
        ],
    }


def _centre(logs: Values) -> Values:
    """Of every row the median over launches, shape (rows, 1); 0 where no launch has it."""
    centre = np.zeros((len(logs), 1))
    known = (~np.isnan(logs)).any(axis=1)
    if known.any():
        centre[known, 0] = np.nanmedian(logs[known], axis=1)
    return centre


def _means(logs: Values) -> Values:
    """Of shape (rows, launches) the geometric mean over rows, NaN where a launch has none."""
    known = ~np.isnan(logs)
    counts = known.sum(axis=0)
    sums = np.where(known, logs, 0).sum(axis=0)
    return np.where(counts > 0, np.exp(sums / np.maximum(counts, 1)), np.nan)


def _changes(values: Values, level: float) -> list[int]:
    """Indices into `values` where a new level begins; launches without a figure are passed over."""
    known = np.flatnonzero(~np.isnan(values))
    return [int(known[i]) for i in change_points(values[known], level)] if len(known) >= 4 else []


def _told(
    places: Sequence[int], values: Values, side: Side, letter: str, curve: str, band: str
) -> list[dict[str, Any]]:
    edges = [0, *places, len(values)]
    told = []
    for before, at, after in zip(edges, edges[1:], edges[2:], strict=False):
        old, new = (float(np.exp(np.nanmean(np.log(part)))) for part in (values[before:at], values[at:after]))
        launch = side.launches[at]
        told.append(
            {
                "side": letter,
                "curve": curve,
                "band": band,
                "launch": launch.name,
                "date": launch.run.date or "",
                "before": f"{old:.3f}",
                "after": f"{new:.3f}",
                "change": f"{new / old - 1:+.1%} time",
                "weight": abs(float(np.log(new / old))),
            }
        )
    return told


def _by_date(side: Side) -> Side:
    launches = sorted(side.launches, key=lambda launch: launch.run.date or "")
    return Side(name=side.name, launches=launches)


# ---------------------------------------------------------------- words and numbers


def _title(sides: Sequence[Side]) -> str:
    names = [side.name for side in sides]
    return f"{names[1]} against {names[0]}" if len(names) == 2 else ", ".join(names)


def _about(side: Side) -> str:
    hosts = dict.fromkeys(host for launch in side.launches for host in launch.hosts())
    placements = {launch.placement() for launch in side.launches} - {None}
    words = [counted(len(side.launches), "launch"), *sorted(map(str, placements))]
    words += (
        [f"on {', '.join(hosts)}"] if 0 < len(hosts) <= 4 else [f"on {len(hosts)} hosts"] if hosts else []
    )
    return ", ".join(words)


def _dates(sides: Sequence[Side]) -> str:
    found = sorted(launch.run.date[:10] for side in sides for launch in side.launches if launch.run.date)
    if not found:
        return ""
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def _named(number: int, side: Side) -> str:
    return f"{_letter(number)} {shortened(side.name, 28)}"


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"S{number + 1}"


def _positive(values: Values) -> Values:
    """What is not above 0 has no logarithm: NaN."""
    return np.where(values > 0, values, np.nan)


def _short(value: float) -> float | None:
    """Four digits are more than a launch repeats; the file stays small."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


def _digits(value: float | None) -> str:
    if value is None:
        return _TO
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
