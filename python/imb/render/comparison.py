"""A comparison as tables: for the terminal, readable without color at 100 columns, and for Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from imb.judge.compare import Band, BandEffect, Comparison, Effect, RowEffect
from imb.judge.condition_diff import names_of_sides
from imb.judge.sequential import Looks
from imb.model.observations import Key
from imb.model.units import abridged, as_percent, counted, decimal, size, unit_of
from imb.render.marks import (
    CHANGED,
    MARKS,
    apart,
    bracketed,
    factor,
    interval_of,
    legend,
    percent,
    short_speedup,
    size_of,
    speedup,
    word_of,
)
from imb.render.markup import escaped, pipes

if TYPE_CHECKING:
    from imb.render.terminal import Screen

_COLORS = {
    "faster": "green",
    "slower": "red",
    "same": "default",
    "slightly faster": "green",
    "slightly slower": "red",
    "inconclusive": "dim",
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
    how = ", judged in pairs" if found.pairs else ""
    settings = found.settings
    looks = [looks_in_words(found.sequential)] if found.sequential else []
    a, b = sides_in_words(found)
    return [
        f"A: {a}, {counted(found.launches_a, 'launch')}",
        f"B: {b}, {counted(found.launches_b, 'launch')}{how}",
        *looks,
        f"Speedup of B over A by {settings.metric.replace('_', ' ')} [interval];"
        f" smallest relevant change {as_percent(settings.relevant)}.",
        f"{settings.intervals()}.",
    ]


def looks_in_words(looks: Looks) -> str:
    """How launches stopped, as a sentence."""
    if not looks.share:
        return (
            f"Launched until decided: {counted(looks.rounds, 'round')} of at most {looks.most};"
            f" first look after round {looks.first}."
        )
    why = f" ({looks.stopped})" if looks.stopped else ""
    return (
        f"Launched until decided: {counted(looks.rounds, 'round')} of at most {looks.most}{why},"
        f" {counted(looks.looks, 'look')}; intervals and verdicts allow for all looks."
    )


def sides_in_words(found: Comparison) -> tuple[str, str]:
    """What the sides are: `MPICH 5.0.2 (ab/a)`; the names by which they were given where nothing is known to differ."""
    names = names_of_sides(found.conditions)
    if names is None:
        return found.name_a, found.name_b
    return f"{names[0]} ({found.name_a})", f"{names[1]} ({found.name_b})"


def verdict_in_words(found: Comparison, a: str = "A", b: str = "B") -> str:
    """The verdict as a sentence without its point. `a`, `b`: letters of the sides."""
    if found.inconclusive and found.verdict == "inconclusive":
        return "Inconclusive"
    if names := names_of_sides(found.conditions):
        a, b = f"{names[0]} ({a})", f"{names[1]} ({b})"
    relevant = as_percent(found.settings.relevant)
    if found.verdict == "differs":
        return differing(found, b)
    if found.verdict in ("slower", "faster", "mixed"):
        return _changed(found, a, b)
    if found.verdict == "not slower":
        where = "band" if found.bands else "row"
        undecided = _undecided(found)
        return f"{b} is not slower by {relevant} or more in any {where}" + (
            f"; {undecided}" if undecided else ""
        )
    if found.verdict == "same":
        undecided = _undecided(found)
        return f"{b} is as fast as {a}" + (f"; {undecided}" if undecided else "")
    if found.states and found.states.maybe_slower:
        return f"Inconclusive: fewer launches of {b} were in the fast state"
    faster = _where(found, "faster")
    return (
        f"Inconclusive: {b} is faster in {faster}; elsewhere a slowdown is not excluded"
        if faster
        else "Inconclusive"
    )


def _changed(found: Comparison, a: str, b: str) -> str:
    """In which bands B is slower, and in which faster."""
    slower, faster = _where(found, "slower"), _where(found, "faster")
    if found.verdict == "mixed" and slower and faster:
        return f"Mixed: {b} is faster than {a} in {faster}, slower in {slower}"
    word, where = ("faster", faster) if found.verdict == "faster" else ("slower", slower)
    if not where:  # the shares of launches in the fast state decided
        return f"{b} is {word} than {a}"
    opposite = _where(found, "slightly faster" if word == "slower" else "slightly slower")
    return f"{b} is {word} than {a} in {where}" + (
        f"; slightly {'faster' if word == 'slower' else 'slower'} in {opposite}" if opposite else ""
    )


def _where(found: Comparison, word: str) -> str:
    """Bands (without one, rows) that are `word`, and the largest difference: `4 bands up to 256 KiB (most: Bcast, 1-32 bytes, 12 % faster)`."""
    bands = [one for one in found.bands if word_of(one.effect.verdict, one.effect.speed) == word]
    rows = [one for one in found.rows if word_of(one.effect.verdict, one.effect.speed) == word]
    effects = [one.effect for one in bands or rows]
    if not effects:
        return ""
    largest = max(range(len(effects)), key=lambda at: abs(math.log(effects[at].speed)))
    place = f"{bands[largest].curve.benchmark}, {bands[largest].band.title}" if bands else str(rows[largest])
    most = f"{place}, {size_of(effects[largest].speed)}"
    if len(effects) == 1:
        return f"1 {'band' if bands else 'row'} ({most})"
    every = "all " if len(effects) == len(found.bands if bands else found.rows) else ""
    extent = _extent(bands, found.bands)
    return f"{every}{counted(len(effects), 'band' if bands else 'row')}{extent} (most: {most})"


def _extent(bands: Sequence[BandEffect], of: Sequence[BandEffect]) -> str:
    """` up to 256 KiB` where longer messages were measured, too, ` from 512 KiB` where shorter ones were."""
    first, last = (_ends(some) for some in (bands, of))
    if first is None or last is None or first == last:
        return ""
    if first[0] == last[0]:
        return f" up to {size(first[1])}"
    return f" from {size(first[0])}" if first[1] == last[1] else ""


def _ends(bands: Sequence[BandEffect]) -> tuple[int, int] | None:
    """The shortest and the longest length of these bands; None without lengths."""
    firsts = [one.band.first for one in bands if one.band.first is not None]
    lasts = [one.band.last for one in bands if one.band.last is not None]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def whole_word(found: Comparison) -> str:
    """The verdict of the whole as it is drawn: what differs is slower where anything is, else faster."""
    effects = [*(one.effect for one in found.bands), *(one.effect for one in found.rows)]
    speeds = [effect.speed for effect in effects if effect.verdict == "differs"]
    return word_of(found.verdict, min(speeds, default=1.0))


def _undecided(found: Comparison) -> str:
    """`17 of 27 rows undecided alone`, and bands; empty where all are decided."""
    parts = []
    for noun, effects in (("band", [x.effect for x in found.bands]), ("row", [x.effect for x in found.rows])):
        many = sum(effect.verdict == "inconclusive" for effect in effects)
        if many:
            parts.append(f"{many} of {counted(len(effects), noun)}")
    return f"{' and '.join(parts)} undecided alone" if parts else ""


def differing(found: Comparison, b: str = "B") -> str:
    """The band or row that makes the whole `differs`, and by how much. Slower ones come first, of these bands, of these the largest."""
    places = [
        *((one.effect, f"{one.curve}, {one.band.title}") for one in found.bands),
        *((one.effect, str(one)) for one in found.rows),
    ]
    ranked = []
    for number, (effect, where) in enumerate(places):
        if effect.verdict == "differs":
            shown = interval_of(effect)
            word, share, low, high = apart(effect.speed, *(shown[:2] if shown else (None, None)))
            confidence = f"{100 * (effect.confidence or 0):.3g} %"
            ranked.append(
                (
                    (word == "slower", number < len(found.bands), share),
                    (word, share, low, high, confidence, where),
                )
            )
    word, share, low, high, confidence, where = max(ranked, key=lambda one: one[0])[1]
    ends = f"{confidence} interval {_share(low)} to {_share(high)} %"
    relevant = as_percent(found.settings.relevant)
    return f"{b} is {_share(share)} % {word} ({ends}), less than the relevant {relevant}, in {where}"


def _share(value: float) -> str:
    return f"{100 * value:.1f}" if value < 0.0995 else f"{100 * value:,.0f}"


def summary(found: Comparison) -> str:
    """One line: the verdict and its basis."""
    parts = [verdict_in_words(found)]
    for noun, effects in (
        ("Bands", [x.effect for x in found.bands]),
        ("Rows", [x.effect for x in found.rows]),
    ):
        counts = Counter(word_of(effect.verdict, effect.speed) for effect in effects)
        if effects:
            parts.append(f"{noun}: " + ", ".join(f"{counts[v]} {v}" for v in MARKS if counts[v]))
    return ". ".join([*parts, error_rate(found)]) + "."


def error_rate(found: Comparison) -> str:
    """What is controlled, as a sentence without its point. The bound of sessions is an assumption about machines, not a test."""
    if found.inconclusive and found.verdict != "inconclusive":
        return "The bound of sessions is no test and has no stated error rate"
    return found.settings.error_rate()


def rows_to_show(found: Comparison, everything: bool) -> list[RowEffect]:
    """Rows that changed, or all."""
    return [row for row in found.rows if everything or row.effect.verdict in CHANGED]


def terminal(screen: Screen, found: Comparison, *, all_rows: bool = False) -> None:
    """Prints it."""
    for text in headline(found):
        screen.line(text)
    screen.line()
    if not found.conditions:
        screen.line("No known environment differences.")
    else:
        screen.line(("Environment differences", "bold"))
        rows = [(one.name, abridged(one.a, _SHOWN), abridged(one.b, _SHOWN)) for one in found.conditions]
        screen.table(("condition", "A", "B"), rows, fold=range(3))
    if found.warnings:
        screen.line()
        for warning in found.warnings:
            screen.line(f"! {warning}")
    for grid in grids(found.bands):
        screen.line()
        screen.line((grid.title, "bold"))
        screen.table(
            ("benchmark", *_headings(grid)),
            [
                (name, *((cell(one.effect), _color(one.effect)) if one else "" for one in cells))
                for name, cells in zip(grid.names, grid.cells, strict=True)
            ],
            fold=range(len(grid.bands) + 1),
        )
    if found.bands:
        screen.line(legend(found.settings.relevant))
        for remark in found.remarks:
            screen.line(remark)
    _print_rows(screen, found, all_rows)
    screen.line()
    screen.line(summary(found))


def _print_rows(screen: Screen, found: Comparison, all_rows: bool) -> None:
    rows = rows_to_show(found, all_rows)
    screen.line()
    if not rows:
        screen.line(f"{_without_change(found)}; --rows lists {'it' if len(found.rows) == 1 else 'them'}.")
        return
    title = "Rows" if all_rows else f"Rows that changed; --rows lists all {len(found.rows)}"
    screen.line((title, "bold"))
    unit = unit_of(found.settings.metric)[0]
    screen.table(
        ("row", f"A {unit}".strip(), f"B {unit}".strip(), "Δ%", "speedup of B"),
        [
            (
                str(row),
                figure(row.a, found),
                figure(row.b, found),
                percent(row.b / row.a),
                (f"{speedup(row.effect)} {bracketed(row.effect)}".rstrip(), _color(row.effect)),
            )
            for row in rows
        ],
        right=(1, 2, 3),
        fold=[0],
    )


def _without_change(found: Comparison) -> str:
    """That no row is called different, which an inconclusive comparison does not show: how many rows are what; where rows could not be
    judged, how far the farthest is apart."""
    number = counted(len(found.rows), "row")
    if not found.rows or (not found.inconclusive and found.verdict != "inconclusive"):
        return f"No significant difference in {number}"
    if not found.inconclusive:
        same = sum(row.effect.verdict == "same" for row in found.rows)
        return f"{number}: {len(found.rows) - same} inconclusive, {same} same"
    with_bytes = [row for row in found.rows if row.key.bytes] or found.rows
    farthest = max(
        with_bytes, key=lambda row: abs(math.log(row.effect.speed)) if row.effect.speed > 0 else 0.0
    )
    return f"{number} not judged; largest difference {factor(farthest.effect.speed)}x: {farthest}"


def _headings(grid: Grid) -> list[str]:
    return [band.title for band in grid.bands]


def cell(effect: Effect) -> str:
    """`2.28x ▲ [2.21, 2.35]`"""
    return f"{short_speedup(effect.speed, effect.verdict)} {bracketed(effect)}".rstrip()


def comparison_markdown(found: Comparison, *, all_rows: bool = False) -> str:
    """Pipe tables under headings of level 3."""
    lines = [f"**{escaped(summary(found))}**", "", *(f"- {escaped(text)}" for text in headline(found))]
    if not found.conditions:
        lines += ["- No known environment differences."]
    else:
        lines += ["", "### Environment differences", "", pipes(["condition", "A", "B"]), "|---|---|---|"]
        lines += [
            pipes([escaped(one.name), escaped(abridged(one.a, _SHOWN)), escaped(abridged(one.b, _SHOWN))])
            for one in found.conditions
        ]
    if told := [*found.warnings, *found.remarks]:
        lines += ["", "### Notes", "", *(f"- {escaped(line)}" for line in told)]
    for grid in grids(found.bands):
        headings = _headings(grid)
        lines += ["", f"### {escaped(grid.title)}", "", pipes(["benchmark", *headings])]
        lines += ["|---" + "|---" * len(headings) + "|"]
        lines += [
            pipes([escaped(name), *(_said(one.effect) if one else "" for one in cells)])
            for name, cells in zip(grid.names, grid.cells, strict=True)
        ]
    rows = rows_to_show(found, all_rows)
    if rows:
        unit = unit_of(found.settings.metric)[0]
        lines += ["", "### Rows" if all_rows else "### Rows that changed", ""]
        lines += [
            pipes(["row", f"A {unit}".strip(), f"B {unit}".strip(), "Δ%", "speedup of B"]),
            "|---|---:|---:|---:|---|",
        ]
        lines += [
            pipes(
                [
                    escaped(str(row)),
                    figure(row.a, found),
                    figure(row.b, found),
                    percent(row.b / row.a),
                    _said(row.effect),
                ]
            )
            for row in rows
        ]
    return "\n".join(lines) + "\n"


def figure(value: float, found: Comparison) -> str:
    """A median in its unit."""
    return decimal(value * unit_of(found.settings.metric)[1])


def _color(effect: Effect) -> str:
    return _COLORS[word_of(effect.verdict, effect.speed)]


def _said(effect: Effect) -> str:
    return f"{speedup(effect)} {bracketed(effect)}".rstrip()


def _layout(curve: Key) -> str:
    """What a curve is of, but for its benchmark: `8 ranks`."""
    words = str(curve).removeprefix(curve.benchmark).removeprefix(", ")
    words = words or "unknown number of ranks"
    return f"{curve.component}, {words}" if curve.component else words
