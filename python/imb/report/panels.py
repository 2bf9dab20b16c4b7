"""Charts over message size, and the tables below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from imb.compare.comparison import Comparison, ComparisonVerdict, Effect, RowEffect
from imb.model.observations import Key, Launch, Side
from imb.model.units import count_of, unit_of
from imb.report import shorten
from imb.report.marks import (
    ALONE,
    NOT_ESTIMABLE,
    TIMES,
    TO,
    digits,
    factor,
    interval_of,
    is_estimable,
    letter,
    positive_values,
    short_number,
    short_speedup,
)
from imb.stats.arrays import Values
from imb.stats.medians import percentiles

_TITLES = {"bandwidth": "Bandwidth", "messages": "Message rate", "overlap": "Overlap", "time": "Time"}
_INTERVAL = f"10{TO}90 %"
IN_PASSES = "95 %"  # interval over the passes of a single launch


class Column(NamedTuple):
    """A column of a table, with a cell for each size. `range`: its cells are intervals."""

    cells: list[str]
    range: bool


class ChartLine(msgspec.Struct, kw_only=True):
    """One line of a chart. `y`, `lo`, `hi` have shape (sizes,); speedups keep all digits, so that tables can
    round them as elsewhere. `side` selects color, dash and marker."""

    name: str
    letter: str
    side: int
    y: list[float | None]
    lo: list[float | None]
    hi: list[float | None]
    verdict: list[ComparisonVerdict | None] | None = None

    @property
    def has_spread(self) -> bool:
        """Whether any point has an interval."""
        return any(value is not None for value in self.lo)

    def columns(self) -> list[Column]:
        """Table columns: values, and intervals if there are any."""
        verdicts = self.verdict or [None] * len(self.y)
        values = [
            short_speedup(y, verdict) if verdict and y else digits(y)
            for y, verdict in zip(self.y, verdicts, strict=True)
        ]
        if not self.has_spread:
            return [Column(values, False)]
        between = [
            ""
            if lo is None or hi is None
            else NOT_ESTIMABLE
            if verdict and not is_estimable(lo, hi)
            else f"{factor(lo)}{TO}{factor(hi)}{' (95 %)' if verdict in ALONE else ''}"
            if verdict
            else f"{digits(lo)}{TO}{digits(hi)}"
            for y, lo, hi, verdict in zip(self.y, self.lo, self.hi, verdicts, strict=True)
        ]
        return [Column(values, False), Column(between, True)]


class Panel(msgspec.Struct, kw_only=True):
    """One chart."""

    title: str
    unit: str
    series: list[ChartLine]
    interval: str = _INTERVAL
    legend: bool = False
    speed: bool = False
    linear: bool = False


class Layout(msgspec.Struct, kw_only=True):
    """One layout of a benchmark: its message sizes in bytes, and charts over them."""

    label: str
    x: list[int | None]
    panels: list[Panel]

    @property
    def lengths(self) -> list[str]:
        """Sizes as texts of a table."""
        return [TO if n is None else f"{n:,}" for n in self.x]

    def columns(self) -> list[Column]:
        """Columns of all charts, from left to right."""
        return [column for panel in self.panels for line in panel.series for column in line.columns()]


class Section(msgspec.Struct, kw_only=True):
    """One benchmark. `drawn`: some curve has two sizes, so that charts can be drawn."""

    id: str
    title: str
    layouts: list[Layout]

    @property
    def is_drawn(self) -> bool:
        return any(len(layout.x) > 1 for layout in self.layouts)


def sections_of(sides: Sequence[Side], comparisons: Sequence[Comparison]) -> list[Section]:
    """A section for each benchmark of the sides."""
    effects = [
        {row.key: row.effect for row in comparison.rows if not row.quantile} for comparison in comparisons
    ]
    keys = list(dict.fromkeys(key for side in sides for key in side.all_keys()))
    sections = []
    for number, (title, keys_by_layout) in enumerate(_group_by_benchmark(keys).items()):
        layouts = []
        for label, rows in keys_by_layout.items():
            panels = _panels(sides, rows)
            if effects:
                panels.append(_speeds(effects, rows))
            layouts.append(Layout(label=label, x=[key.bytes for key in rows], panels=panels))
        sections.append(Section(id=f"b{number}", title=title, layouts=_pad_charts(layouts)))
    return sections


def compared_sections(comparison: Comparison) -> list[Section]:
    """A section for each benchmark of a comparison."""
    by_key = {row.key: row for row in comparison.rows if not row.quantile}
    sections = []
    for number, (title, keys_by_layout) in enumerate(_group_by_benchmark(list(by_key)).items()):
        layouts = []
        for label, keys in keys_by_layout.items():
            rows = [by_key[key] for key in keys]
            panels = [
                _medians(comparison, rows),
                _speeds([{row.key: row.effect for row in comparison.rows if not row.quantile}], keys),
            ]
            layouts.append(Layout(label=label, x=[key.bytes for key in keys], panels=panels))
        sections.append(Section(id=f"b{number}", title=title, layouts=layouts))
    return sections


def _group_by_benchmark(keys: Iterable[Key]) -> dict[str, dict[str, list[Key]]]:
    """Title (benchmark and mode) -> layout -> keys, shortest first."""
    keys = list(keys)
    several = {
        key.benchmark for key in keys if len({k.component for k in keys if k.benchmark == key.benchmark}) > 1
    }
    by_title: dict[str, dict[str, list[Key]]] = {}
    for key in keys:
        title = key.benchmark + (f", {key.mode.replace('_', '-')}" if key.mode else "")
        title += f" ({key.component})" if key.benchmark in several and key.component else ""
        by_title.setdefault(title, {}).setdefault(layout_of(key), []).append(key)
    for layouts in by_title.values():
        for rows in layouts.values():
            rows.sort(key=lambda row_key: -1 if row_key.bytes is None else row_key.bytes)
    return by_title


def layout_of(key: Key) -> str:
    """The layout of a row in words: ranks, threads, variant, groups and start."""
    words = [count_of(key.processes, "rank") if key.processes else "unknown number of ranks"]
    if key.threads > 1:
        words.append(count_of(key.threads, "thread"))
    if key.variant is not None:
        words.append(f"variant {key.variant}")
    if (key.group_count or 1) > 1:
        words.append(f"in each of {key.group_count} groups")
    if key.group is not None:
        words.append(f"group {key.group}")
    if key.start is not None:
        words.append(key.curve().start_words())
    return ", ".join(words)


def _panels(sides: Sequence[Side], keys: Sequence[Key]) -> list[Panel]:
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
                lambda side, key: positive_values(side.values(key, "bandwidth")) / 1e6,
            )
        )
    elif any(key.bytes for key in keys):
        panels.append(
            _panel(
                sides,
                keys,
                "Size / time",
                "MB/s",
                lambda side, key: positive_values((key.bytes or 0) / positive_values(side.values(key))) / 1e6,
            )
        )
    return panels


def _panel(
    sides: Sequence[Side], keys: Sequence[Key], title: str, unit: str, take: Callable[[Side, Key], Values]
) -> Panel:
    series = []
    alone = all(len(side.launches) == 1 for side in sides)
    for number, side in enumerate(sides):
        values = np.array([take(side, key) for key in keys])  # (lengths, launches)
        if np.isnan(values).all():
            continue
        low, middle, high = _percentiles(values)
        if alone and title != "Overlap":
            low, high = _pass_intervals(side.launches[0], keys, middle, falls=title != "Time")
        series.append(
            ChartLine(
                name=_named(number, side),
                letter=letter(number) if len(sides) > 1 else "",
                side=number,
                y=middle,
                lo=low,
                hi=high,
            )
        )
    interval = IN_PASSES if alone and any(line.has_spread for line in series) else _INTERVAL
    return Panel(title=title, unit=unit, series=series, interval=interval, legend=len(sides) > 1)


def _pass_intervals(
    launch: Launch, keys: Sequence[Key], middle: Sequence[float | None], *, falls: bool
) -> tuple[list[float | None], list[float | None]]:
    """Low and high ends of each value's interval over the passes of its launch, or None if it is unknown or
    not in passes. `falls`: the value falls if the time rises, as a bandwidth does."""
    intervals: list[tuple[float | None, float | None]] = []
    for key, figure in zip(keys, middle, strict=True):
        row = launch.rows.get(key)
        interval = row.passes.interval_seconds if row and row.passes else None
        time = (row.completion_seconds if row else None) or 0.0
        if figure is None or interval is None or time <= 0 or interval[0] <= 0:
            intervals.append((None, None))
            continue
        shares = [time / end for end in reversed(interval)] if falls else [end / time for end in interval]
        intervals.append((short_number(figure * shares[0]), short_number(figure * shares[1])))
    return [low for low, _ in intervals], [high for _, high in intervals]


def _named(number: int, side: Side) -> str:
    return f"{letter(number)} {shorten(side.name, 28)}"


def _percentiles(values: Values) -> tuple[list[float | None], ...]:
    """The 10th, 50th and 90th percentile over launches, for each size. The outer two are None if fewer than
    two launches have the size."""
    quantiles = percentiles(values)
    few = (~np.isnan(values)).sum(axis=1) < 2
    quantiles[0, few] = quantiles[2, few] = np.nan
    return tuple([short_number(value) for value in row] for row in quantiles)


def _speeds(effects: Sequence[dict[Key, Effect]], keys: Sequence[Key]) -> Panel:
    series = []
    for number, by_key in enumerate(effects, start=1):
        row_effects = [by_key.get(key) for key in keys]
        if not any(row_effects):
            continue
        intervals = [interval_of(effect) if effect else None for effect in row_effects]
        series.append(
            ChartLine(
                name=f"{letter(number)} over A",
                letter=letter(number) if len(effects) > 1 else "",
                side=number,
                y=[effect.speed if effect else None for effect in row_effects],
                lo=[interval.low if interval else None for interval in intervals],
                hi=[interval.high if interval else None for interval in intervals],
                verdict=[effect.verdict if effect else None for effect in row_effects],
            )
        )
    title = "Speedup of B over A" if len(effects) == 1 else "Speedup over A"
    return Panel(
        title=title, unit=TIMES, series=series, interval="interval", speed=True, legend=len(effects) > 1
    )


def _medians(comparison: Comparison, rows: Sequence[RowEffect]) -> Panel:
    metric = comparison.settings.metric
    unit, scale = unit_of(metric)
    names = (comparison.name_a, comparison.name_b)
    nothing: list[float | None] = [None] * len(rows)
    series = [
        ChartLine(
            name=f"{letter(i)} {shorten(names[i], 28)}",
            letter=letter(i),
            side=i,
            y=[short_number((row.a, row.b)[i] * scale) for row in rows],
            lo=nothing,
            hi=nothing,
        )
        for i in range(2)
    ]
    return Panel(
        title=_TITLES.get(metric, metric), unit=unit, series=series, legend=True, linear=metric == "overlap"
    )


def _pad_charts(layouts: list[Layout]) -> list[Layout]:
    """The layouts of a section, all with the same charts as the layout with the most; charts without values
    are empty."""
    most = max(layouts, key=lambda layout: len(layout.panels)).panels
    for layout in layouts:
        for panel in most[len(layout.panels) :]:
            layout.panels.append(msgspec.structs.replace(panel, series=[]))
    return layouts
