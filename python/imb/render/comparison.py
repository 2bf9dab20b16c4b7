"""A comparison as tables: for the terminal, readable without colour at 100 columns, and for Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from imb.judge.compare import Band, BandEffect, Comparison, Effect, RowEffect, Verdict
from imb.judge.sequential import Looks
from imb.model.observations import Key
from imb.model.units import counted
from imb.render.tables import pipes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

MARKS: dict[Verdict, str] = {"faster": "+", "slower": "-", "same": "=", "differs": "~", "cannot tell": "?"}
LEGEND = "+ faster, - slower, = same, ~ differs by less than matters or an unclear amount, ? inconclusive"
_COLOURS: dict[Verdict, str] = {
    "faster": "green",
    "slower": "red",
    "same": "default",
    "differs": "yellow",
    "cannot tell": "dim",
}
_SHOWN = 8  # values of a condition


class Grid(NamedTuple):
    """Bands of the curves of one layout: `cells` by line and band, None where the curve has none."""

    title: str
    names: list[str]
    bands: list[Band]
    cells: list[list[BandEffect | None]]


def grids(found: Iterable[BandEffect]) -> list[Grid]:
    """The operations guide's table, one per layout (ranks, groups, mode): benchmarks against bands."""
    layouts: dict[str, list[BandEffect]] = {}
    for one in found:
        layouts.setdefault(_layout(one.curve), []).append(one)
    made = []
    for title, of_layout in layouts.items():
        bands = list(dict.fromkeys(one.band for one in of_layout))
        bands.sort(key=lambda band: (band.first is None, band.first or 0))
        lines: dict[str, dict[Band, BandEffect]] = {}
        for one in of_layout:
            lines.setdefault(one.curve.benchmark, {})[one.band] = one
        cells = [[line.get(band) for band in bands] for line in lines.values()]
        made.append(Grid(title, list(lines), bands, cells))
    return made


def headline(found: Comparison) -> list[str]:
    """What is compared with what, and what the figures are."""
    how = ", judged pair by pair" if found.pairs else ""
    settings = found.settings
    looks = [looks_in_words(found.sequential)] if found.sequential else []
    return [
        f"A: {found.name_a}, {found.launches_a} launch{'' if found.launches_a == 1 else 'es'}",
        f"B: {found.name_b}, {found.launches_b} launch{'' if found.launches_b == 1 else 'es'}{how}",
        *looks,
        f"Speed multipliers of B over A by {settings.metric.replace('_', ' ')}: above 1.00x B is faster."
        f" A change of {settings.relevant * 100:.3g} % matters.",
    ]


def looks_in_words(looks: Looks) -> str:
    """How launches stopped, as a sentence."""
    if not looks.share:
        return (
            f"Launched until decided: {counted(looks.rounds, 'round')} of at most {looks.most};"
            f" nothing is decided before round {looks.first}."
        )
    why = f" ({looks.stopped})" if looks.stopped else ""
    return (
        f"Launched until decided: {counted(looks.rounds, 'round')} of at most {looks.most}{why},"
        f" {counted(looks.looks, 'look')}; intervals and verdicts hold for all looks together."
    )


def verdict_in_words(found: Comparison, a: str = "A", b: str = "B") -> str:
    """The verdict as a sentence without its point."""
    if found.inconclusive:
        return "Inconclusive"
    if found.verdict == "differs":
        return f"{b} differs from {a}, by less than matters or by an unclear amount"
    if found.verdict != "cannot tell":
        return f"{b} is {found.verdict} than {a}" if found.verdict != "same" else f"{b} is as fast as {a}"
    faster = sum(band.effect.verdict == "faster" for band in found.bands)
    if not faster:
        return "Cannot tell"
    return f"{b} is faster in {faster} of {len(found.bands)} bands; in others a slowdown is not excluded"


def summary(found: Comparison) -> str:
    """One line: the verdict and what it stands on."""
    parts = [verdict_in_words(found)]
    for noun, effects in (
        ("Bands", [x.effect for x in found.bands]),
        ("Rows", [x.effect for x in found.rows]),
    ):
        counts = Counter(effect.verdict for effect in effects)
        if effects:
            parts.append(f"{noun}: " + ", ".join(f"{counts[v]} {v}" for v in MARKS if counts[v]))
    return ". ".join(parts) + "."


def rows_to_show(found: Comparison, everything: bool) -> list[RowEffect]:
    """Rows that changed, or all."""
    return [row for row in found.rows if everything or row.effect.verdict in ("faster", "slower", "differs")]


def terminal(console: Console, found: Comparison, *, all_rows: bool = False) -> None:
    """Prints it."""
    from rich.table import Table
    from rich.text import Text

    def line(text: str = "") -> None:
        console.print(printable(text), markup=False)

    for text in headline(found):
        line(text)
    line()
    if not found.conditions:
        line("Conditions: none that is known differs.")
    else:
        console.print("Conditions that differ", style="bold")
        shown = Table(box=None, pad_edge=False)
        for heading in ("condition", "A", "B"):
            shown.add_column(heading, overflow="fold")
        for one in found.conditions:
            shown.add_row(*(Text(printable(cell)) for cell in (one.name, _listed(one.a), _listed(one.b))))
        console.print(shown)
    if found.warnings:
        line()
        for warning in found.warnings:
            line(f"! {warning}")
    for grid in grids(found.bands):
        shown = Table(box=None, pad_edge=False)
        shown.add_column("benchmark", overflow="fold")
        for band in grid.bands:
            shown.add_column(f"{band} bytes" if band.first is not None else str(band), no_wrap=True)
        for name, cells in zip(grid.names, grid.cells, strict=True):
            shown.add_row(Text(printable(name)), *(_coloured(one.effect) if one else "" for one in cells))
        line()
        console.print(Text(printable(grid.title), style="bold"))
        console.print(shown)
    if found.bands:
        line(f"{LEGEND}; behind it the interval that decided, which allows for all rows or bands")
    _print_rows(console, found, all_rows)
    line()
    line(summary(found))


def _print_rows(console: Console, found: Comparison, all_rows: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    rows = rows_to_show(found, all_rows)
    console.print()
    if not rows:
        console.print(
            f"Of {len(found.rows)} rows none is faster or slower for all that can be told; --rows shows them.",
            markup=False,
        )
        return
    title = "Rows" if all_rows else f"Rows that changed; --rows shows all {len(found.rows)}"
    console.print(title, style="bold")
    shown = Table(box=None, pad_edge=False)
    shown.add_column("row", overflow="fold")
    unit = _unit(found.settings.metric)
    for heading in (f"A {unit}".strip(), f"B {unit}".strip()):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("speed of B", no_wrap=True)
    for row in rows:
        shown.add_row(
            Text(printable(str(row.key))), figure(row.a, found), figure(row.b, found), _coloured(row.effect)
        )
    console.print(shown)


def _coloured(effect: Effect) -> Text:
    from rich.text import Text

    return Text(cell(effect), style=_COLOURS[effect.verdict])


def cell(effect: Effect) -> str:
    """`2.28x + 2.21-2.35`"""
    return f"{multiplier(effect.speed)}x {MARKS[effect.verdict]} {interval(effect)}".rstrip()


def interval(effect: Effect) -> str:
    """`2.21-2.35`, the interval that decided, or nothing."""
    low, high = effect.interval or (None, None)
    if low is None or high is None:
        return ""
    return f"{multiplier(low)}-{multiplier(high)}"


def multiplier(value: float) -> str:
    """With three digits: 0.85, 10.6, 106; below 0.1 two that count."""
    if value >= 9.995:
        return f"{value:.1f}" if value < 99.95 else f"{value:.0f}" if value < 99999.5 else f"{value:.0e}"
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.1g}"


def markdown(found: Comparison, *, all_rows: bool = False) -> str:
    """Pipe tables under headings of level 3."""
    lines = [f"**{escaped(summary(found))}**", "", *(f"- {escaped(text)}" for text in headline(found))]
    if not found.conditions:
        lines += ["- Conditions: none that is known differs."]
    else:
        lines += ["", "### Conditions that differ", "", pipes(["condition", "A", "B"]), "|---|---|---|"]
        lines += [
            pipes([escaped(one.name), escaped(_listed(one.a)), escaped(_listed(one.b))])
            for one in found.conditions
        ]
    if found.warnings:
        lines += ["", "### Note", "", *(f"- {escaped(warning)}" for warning in found.warnings)]
    for grid in grids(found.bands):
        headings = [f"{band} bytes" if band.first is not None else str(band) for band in grid.bands]
        lines += ["", f"### {escaped(grid.title)}", "", pipes(["benchmark", *headings])]
        lines += ["|---" + "|---" * len(headings) + "|"]
        lines += [
            pipes([escaped(name), *(_said(one.effect) if one else "" for one in cells)])
            for name, cells in zip(grid.names, grid.cells, strict=True)
        ]
    rows = rows_to_show(found, all_rows)
    if rows:
        unit = _unit(found.settings.metric)
        lines += ["", "### Rows" if all_rows else "### Rows that changed", ""]
        lines += [
            pipes(["row", f"A {unit}".strip(), f"B {unit}".strip(), "speed of B"]),
            "|---|---:|---:|---|",
        ]
        lines += [
            pipes([escaped(str(row.key)), figure(row.a, found), figure(row.b, found), _said(row.effect)])
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def printable(text: str) -> str:
    """On one line, without what would steer a terminal."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def escaped(text: str) -> str:
    """For Markdown: nothing of it is markup."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&" else c for c in printable(text))


def figure(value: float, found: Comparison) -> str:
    """A median in its unit."""
    factor = {"µs": 1e6, "MB/s": 1e-6}.get(_unit(found.settings.metric), 1.0)
    return f"{value * factor:.2f}"


def _said(effect: Effect) -> str:
    between = f" ({interval(effect)})" if interval(effect) else ""
    return f"{multiplier(effect.speed)}x {effect.verdict}{between}"


def _unit(metric: str) -> str:
    return {"bandwidth": "MB/s", "messages": "messages/s", "overlap": "%"}.get(metric, "µs")


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:_SHOWN]) + (", …" if len(values) > _SHOWN else "")


def _layout(curve: Key) -> str:
    """What a curve is of, but for its benchmark: `8 ranks`."""
    words = str(curve).removeprefix(curve.benchmark).removeprefix(", ")
    words = words or "not known on how many ranks"
    return f"{curve.component}, {words}" if curve.component else words
