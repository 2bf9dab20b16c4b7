"""A comparison as tables: for the terminal, readable without color in 100 columns, and as Markdown."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from imb.compare.comparison import Band, BandEffect, Comparison, Effect, RowEffect
from imb.compare.condition_diff import names_of_sides
from imb.compare.effects import may_be_slower
from imb.compare.repeated_looks import Looks
from imb.compare.session_bound import FACTOR
from imb.model.observations import Key
from imb.model.units import (
    abridge,
    change_digits,
    count_of,
    decimal,
    percent_digits,
    percent_text,
    size,
    unit_of,
)
from imb.report.marks import (
    CHANGED,
    MARKS,
    bracketed_interval,
    factor,
    interval_of,
    legend,
    short_speedup,
    size_of,
    slower_or_faster,
    speedup,
    word_of,
)
from imb.report.markup import escape_html, escape_pipes
from imb.stats.shift import FEWEST

if TYPE_CHECKING:
    from imb.report.terminal import Screen

_COLORS = {
    "faster": "green",
    "slower": "red",
    "same": "default",
    "slightly faster": "green",
    "slightly slower": "red",
    "inconclusive": "dim",
}
_SHOWN = 8  # values of a condition that are shown


class Grid(NamedTuple):
    """Bands of the curves of one layout. `cells`: by row of the table and band, None if the curve lacks the
    band."""

    title: str
    names: list[str]
    bands: list[Band]
    cells: list[list[BandEffect | None]]


def grids(effects: Iterable[BandEffect]) -> list[Grid]:
    """One table per layout (ranks, groups, mode): benchmarks by bands."""
    layouts: dict[str, list[BandEffect]] = {}
    for effect in effects:
        layouts.setdefault(_layout(effect.curve), []).append(effect)
    all_grids = []
    for title, of_layout in layouts.items():
        bands = list(dict.fromkeys(effect.band for effect in of_layout))
        bands.sort(key=lambda band: (band.first is None, band.first or 0))
        lines: dict[str, dict[Band, BandEffect]] = {}
        for effect in of_layout:
            lines.setdefault(effect.curve.benchmark, {})[effect.band] = effect
        cells = [[line.get(band) for band in bands] for line in lines.values()]
        all_grids.append(Grid(title, list(lines), bands, cells))
    return all_grids


def headline(comparison: Comparison) -> list[str]:
    """Lines that say what is compared, and which values are shown."""
    how = ", judged in pairs" if comparison.pairs else ""
    settings = comparison.settings
    looks = [looks_in_words(comparison.sequential)] if comparison.sequential else []
    a, b = sides_in_words(comparison)
    return [
        f"A: {a}, {count_of(comparison.launches_a, 'launch')}",
        f"B: {b}, {count_of(comparison.launches_b, 'launch')}{how}",
        *looks,
        f"Speedup of B over A by {settings.metric.replace('_', ' ')} [interval];"
        f" smallest relevant change {percent_text(settings.relevant)}.",
    ]


def looks_in_words(looks: Looks) -> str:
    """How launches stopped, as a sentence."""
    if not looks.share:
        return (
            f"Launched until decided: {count_of(looks.rounds, 'round')} of at most {looks.most};"
            f" first look after round {looks.first}."
        )
    why = f" ({looks.stopped})" if looks.stopped else ""
    return (
        f"Launched until decided: {count_of(looks.rounds, 'round')} of at most {looks.most}{why},"
        f" {count_of(looks.looks, 'look')}; intervals and verdicts allow for all looks."
    )


def sides_in_words(comparison: Comparison) -> tuple[str, str]:
    """Names of the sides: `MPICH 5.0.2 (ab/a)`; only the names that the user gave if no known condition
    differs."""
    names = names_of_sides(comparison.conditions)
    if names is None:
        return comparison.name_a, comparison.name_b
    return f"{names[0]} ({comparison.name_a})", f"{names[1]} ({comparison.name_b})"


def verdict_in_words(comparison: Comparison, a: str = "A", b: str = "B") -> str:
    """The verdict as a sentence without its period. `a`, `b`: letters of the sides."""
    if comparison.inconclusive and comparison.verdict == "inconclusive":
        return f"Inconclusive: {comparison.inconclusive}"
    if names := names_of_sides(comparison.conditions):
        a, b = f"{names[0]} ({a})", f"{names[1]} ({b})"
    relevant = percent_text(comparison.settings.relevant)
    if comparison.verdict == "differs":
        return difference_line(comparison, b)
    if comparison.verdict in ("slower", "faster", "mixed"):
        return _changes(comparison, a, b)
    if comparison.verdict == "not slower":
        where = "band" if comparison.bands else "row"
        undecided = _undecided_counts(comparison)
        return f"{b} is not slower by {relevant} or more in any {where}" + (
            f"; {undecided}" if undecided else ""
        )
    if comparison.verdict == "same":
        undecided = _undecided_counts(comparison)
        return f"{b} is as fast as {a}" + (f"; {undecided}" if undecided else "")
    if comparison.states and comparison.states.may_be_slower:
        return f"Inconclusive: fewer launches of {b} were in the fast state"
    return f"Inconclusive: {_undecided_reason(comparison, b, relevant)}"


def _undecided_reason(comparison: Comparison, b: str, relevant: str) -> str:
    """Why the comparison is inconclusive."""
    if faster := _places_of(comparison, "faster"):
        return f"{b} is faster in {faster}; elsewhere a slowdown of {relevant} or more is not excluded"
    noun, effects = (
        ("band", [band.effect for band in comparison.bands])
        if comparison.bands
        else ("row", [row.effect for row in comparison.rows])
    )
    fewest = max(min(effect.launches_a, effect.launches_b) for effect in effects)
    if fewest < FEWEST and comparison.unit != "session":
        return f"too few launches ({fewest} on a side; a verdict needs {FEWEST} or more)"
    open_ones = sum(may_be_slower(effect, comparison.settings.relevant) for effect in effects)
    return (
        f"a slowdown of {relevant} or more is not excluded in {open_ones} of {count_of(len(effects), noun)}"
    )


def _changes(comparison: Comparison, a: str, b: str) -> str:
    """The sentence on the bands in which B is slower, and those in which it is faster."""
    slower, faster = _places_of(comparison, "slower"), _places_of(comparison, "faster")
    if comparison.verdict == "mixed" and slower and faster:
        return f"Mixed: {b} is faster than {a} in {faster}, slower in {slower}"
    word, where = ("faster", faster) if comparison.verdict == "faster" else ("slower", slower)
    if not where:  # the shares of launches in the fast state decided
        return f"{b} is {word} than {a}"
    opposite = _places_of(comparison, "slightly faster" if word == "slower" else "slightly slower")
    return f"{b} is {word} than {a} in {where}" + (
        f"; slightly {'faster' if word == 'slower' else 'slower'} in {opposite}" if opposite else ""
    )


def _places_of(comparison: Comparison, word: str) -> str:
    """Bands (if none, rows) whose verdict is `word`, and the largest difference: `4 bands up to 256 KiB
    (most: Bcast, 1-32 bytes, 12 % faster)`. Empty if there are none."""
    bands = [band for band in comparison.bands if word_of(band.effect.verdict, band.effect.speed) == word]
    rows = [row for row in comparison.rows if word_of(row.effect.verdict, row.effect.speed) == word]
    effects = [each.effect for each in bands or rows]
    if not effects:
        return ""
    largest = max(range(len(effects)), key=lambda at: abs(math.log(effects[at].speed)))
    place = f"{bands[largest].curve.benchmark}, {bands[largest].band.title}" if bands else str(rows[largest])
    most = f"{place}, {size_of(effects[largest].speed)}"
    if len(effects) == 1:
        return f"1 {'band' if bands else 'row'} ({most})"
    every = "all " if len(effects) == len(comparison.bands if bands else comparison.rows) else ""
    extent = _extent(bands, comparison.bands)
    return f"{every}{count_of(len(effects), 'band' if bands else 'row')}{extent} (most: {most})"


def _extent(bands: Sequence[BandEffect], all_bands: Sequence[BandEffect]) -> str:
    """` up to 256 KiB` if longer messages were also measured, ` from 512 KiB` if shorter ones were; else
    empty."""
    first, last = (_ends(effects) for effects in (bands, all_bands))
    if first is None or last is None or first == last:
        return ""
    if first[0] == last[0]:
        return f" up to {size(first[1])}"
    return f" from {size(first[0])}" if first[1] == last[1] else ""


def _ends(bands: Sequence[BandEffect]) -> tuple[int, int] | None:
    """The shortest and the longest message size of these bands, in bytes, or None if they have no sizes."""
    firsts = [effect.band.first for effect in bands if effect.band.first is not None]
    lasts = [effect.band.last for effect in bands if effect.band.last is not None]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def whole_word(comparison: Comparison) -> str:
    """The verdict on the whole comparison as it is shown: `differs` becomes slightly slower if any effect is
    slower, else slightly faster."""
    effects = [*(each.effect for each in comparison.bands), *(each.effect for each in comparison.rows)]
    speeds = [effect.speed for effect in effects if effect.verdict == "differs"]
    return word_of(comparison.verdict, min(speeds, default=1.0))


def _undecided_counts(comparison: Comparison) -> str:
    """`17 of 27 rows inconclusive by themselves`, and bands likewise; empty if all are decided."""
    parts = []
    for noun, effects in (
        ("band", [each.effect for each in comparison.bands]),
        ("row", [each.effect for each in comparison.rows]),
    ):
        many = sum(effect.verdict == "inconclusive" for effect in effects)
        if many:
            parts.append(f"{many} of {count_of(len(effects), noun)}")
    return f"{' and '.join(parts)} inconclusive by themselves" if parts else ""


def difference_line(comparison: Comparison, b: str = "B") -> str:
    """The band or row that makes the comparison `differs`, and its difference. Slower ones have priority,
    then bands, then the largest difference."""
    places = [
        *((band.effect, f"{band.curve}, {band.band.title}") for band in comparison.bands),
        *((row.effect, str(row)) for row in comparison.rows),
    ]
    ranked = []
    for number, (effect, where) in enumerate(places):
        if effect.verdict == "differs":
            shown = interval_of(effect)
            word, share, low, high = slower_or_faster(effect.speed, *(shown[:2] if shown else (None, None)))
            confidence = percent_text(effect.confidence or 0)
            ranked.append(
                (
                    (word == "slower", number < len(comparison.bands), share),
                    (word, share, low, high, confidence, where),
                )
            )
    word, share, low, high, confidence, where = max(ranked, key=lambda entry: entry[0])[1]
    ends = f"{confidence} interval {percent_digits(low)} to {percent_digits(high)} %"
    relevant = percent_text(comparison.settings.relevant)
    return f"{b} is {percent_digits(share)} % {word} ({ends}), less than the relevant {relevant}, in {where}"


def summary(comparison: Comparison) -> str:
    """The verdict, and the number of bands and rows by verdict."""
    return " ".join(filter(None, [f"{verdict_in_words(comparison)}.", _counts(comparison)]))


def _counts(comparison: Comparison) -> str:
    """`Bands: 11 slower, 1 inconclusive. Rows: 63 slower.`"""
    parts = []
    for noun, effects in (
        ("Bands", [band.effect for band in comparison.bands]),
        ("Rows", [row.effect for row in comparison.rows]),
    ):
        counts = Counter(word_of(effect.verdict, effect.speed) for effect in effects)
        if effects:
            counted_words = ", ".join(f"{counts[word]} {word}" for word in MARKS if counts[word])
            parts.append(f"{noun}: {counted_words}.")
    return " ".join(parts)


def error_rate(comparison: Comparison) -> str:
    """How often a difference is false, as a sentence. Empty if no band or row changed."""
    if comparison.inconclusive and comparison.verdict != "inconclusive":
        return f"The verdict comes from a fixed {FACTOR:g}x threshold, not from a test, and has no stated error rate."
    effects = [*(band.effect for band in comparison.bands), *(row.effect for row in comparison.rows)]
    is_called_different = comparison.verdict in CHANGED or any(
        effect.verdict in CHANGED for effect in effects
    )
    return f"{comparison.settings.error_rate()}." if is_called_different else ""


def basis(comparison: Comparison) -> str:
    """Which intervals are shown, and the error rate."""
    return f"{comparison.settings.intervals()}. {error_rate(comparison)}".rstrip()


def rows_to_show(comparison: Comparison, everything: bool) -> list[RowEffect]:
    """Rows that changed, or all rows."""
    return [row for row in comparison.rows if everything or row.effect.verdict in CHANGED]


def print_comparison(
    comparison: Comparison, *, all_rows: bool = False, title: str = "", notes: Sequence[str] = ()
) -> None:
    """Print the comparison on the terminal: the verdict, bands, rows, then notes. `title`: text before the
    verdict; `notes`: further notes."""
    from imb.report.terminal import Screen

    screen = Screen(width=Screen().width if sys.stdout.isatty() else 100)
    screen.line((f"{title}{verdict_in_words(comparison)}.", "bold"))
    screen.line(_counts(comparison))
    for text in headline(comparison):
        screen.line(text)
    for grid in grids(comparison.bands):
        screen.line()
        screen.line((grid.title, "bold"))
        screen.table(
            ("benchmark", *_headings(grid)),
            [
                (name, *((cell(band.effect), _color(band.effect)) if band else "" for band in cells))
                for name, cells in zip(grid.names, grid.cells, strict=True)
            ],
            fold=range(len(grid.bands) + 1),
        )
    if comparison.bands:
        screen.line(legend(comparison.settings.relevant))
    _print_rows(screen, comparison, all_rows)
    screen.line()
    if not comparison.conditions:
        screen.line("No known environment differences.")
    else:
        screen.line(("Environment differences", "bold"))
        rows = [
            (difference.name, abridge(difference.a, _SHOWN), abridge(difference.b, _SHOWN))
            for difference in comparison.conditions
        ]
        screen.table(("condition", "A", "B"), rows, fold=range(3))
    screen.line()
    for note in (*notes, *comparison.warnings):
        screen.line(f"! {note}")
    for remark in comparison.remarks:
        screen.line(remark)
    screen.line(basis(comparison))


def _print_rows(screen: Screen, comparison: Comparison, all_rows: bool) -> None:
    rows = rows_to_show(comparison, all_rows)
    screen.line()
    if not rows:
        screen.line(
            f"{_unchanged_line(comparison)}; --rows lists {'it' if len(comparison.rows) == 1 else 'them'}."
        )
        return
    title = "Rows" if all_rows else f"Rows that changed; --rows lists all {len(comparison.rows)}"
    screen.line((title, "bold"))
    screen.table(
        _row_headings(comparison),
        [(*_row_figures(row, comparison), (_speedup_text(row.effect), _color(row.effect))) for row in rows],
        right=(1, 2, 3),
        fold=[0],
    )


def _row_headings(comparison: Comparison) -> list[str]:
    unit = unit_of(comparison.settings.metric)[0]
    return ["row", f"A {unit}".strip(), f"B {unit}".strip(), "Δ%", "speedup of B"]


def _row_figures(row: RowEffect, comparison: Comparison) -> tuple[str, str, str, str]:
    """The cells under `_row_headings`, without the speedup."""
    return str(row), figure(row.a, comparison), figure(row.b, comparison), change_digits(row.b / row.a)


def _unchanged_line(comparison: Comparison) -> str:
    """The line that replaces the rows if none changed. If the comparison is inconclusive, it
    gives the number of rows by verdict, or the largest ratio if rows were not judged."""
    number = count_of(len(comparison.rows), "row")
    if not comparison.inconclusive and any(band.effect.verdict in CHANGED for band in comparison.bands):
        return f"None of {number} changed significantly by itself"
    if not comparison.rows or (not comparison.inconclusive and comparison.verdict != "inconclusive"):
        return f"No significant difference in {number}"
    if not comparison.inconclusive:
        same = sum(row.effect.verdict == "same" for row in comparison.rows)
        return f"{number}: {len(comparison.rows) - same} inconclusive" + (f", {same} same" if same else "")
    with_bytes = [row for row in comparison.rows if row.key.bytes] or comparison.rows
    farthest = max(
        with_bytes, key=lambda row: abs(math.log(row.effect.speed)) if row.effect.speed > 0 else 0.0
    )
    return f"{number} not judged; largest ratio {factor(farthest.effect.speed)}x: {farthest}"


def _headings(grid: Grid) -> list[str]:
    return [band.title for band in grid.bands]


def cell(effect: Effect) -> str:
    """`2.28x ▲ [2.21, 2.35]`"""
    return f"{short_speedup(effect.speed, effect.verdict)} {bracketed_interval(effect)}".rstrip()


def comparison_markdown(comparison: Comparison, *, all_rows: bool = False) -> str:
    """The comparison as Markdown: pipe tables under headings of level 3."""
    lines = [
        f"**{escape_html(summary(comparison))}**",
        "",
        *(f"- {escape_html(text)}" for text in headline(comparison)),
    ]
    for grid in grids(comparison.bands):
        headings = _headings(grid)
        lines += ["", f"### {escape_html(grid.title)}", "", escape_pipes(["benchmark", *headings])]
        lines += ["|---" + "|---" * len(headings) + "|"]
        lines += [
            escape_pipes([escape_html(name), *(_speedup_text(band.effect) if band else "" for band in cells)])
            for name, cells in zip(grid.names, grid.cells, strict=True)
        ]
    rows = rows_to_show(comparison, all_rows)
    if rows:
        lines += ["", "### Rows" if all_rows else "### Rows that changed", ""]
        lines += [escape_pipes(_row_headings(comparison)), "|---|---:|---:|---:|---|"]
        for row in rows:
            name, *figures = _row_figures(row, comparison)
            lines.append(escape_pipes([escape_html(name), *figures, _speedup_text(row.effect)]))
    if comparison.conditions:
        lines += [
            "",
            "### Environment differences",
            "",
            escape_pipes(["condition", "A", "B"]),
            "|---|---|---|",
        ]
        lines += [
            escape_pipes(
                [
                    escape_html(difference.name),
                    escape_html(abridge(difference.a, _SHOWN)),
                    escape_html(abridge(difference.b, _SHOWN)),
                ]
            )
            for difference in comparison.conditions
        ]
    same = [] if comparison.conditions else ["No known environment differences."]
    notes = [*same, *comparison.warnings, *comparison.remarks, basis(comparison)]
    lines += ["", "### Notes", "", *(f"- {escape_html(line)}" for line in notes)]
    return "\n".join(lines) + "\n"


def figure(value: float, comparison: Comparison) -> str:
    """A median in the unit of the metric."""
    return decimal(value * unit_of(comparison.settings.metric)[1])


def _color(effect: Effect) -> str:
    return _COLORS[word_of(effect.verdict, effect.speed)]


def _speedup_text(effect: Effect) -> str:
    return f"{speedup(effect)} {bracketed_interval(effect)}".rstrip()


def _layout(curve: Key) -> str:
    """The layout of a curve, without its benchmark: `8 ranks`."""
    layout = str(curve).removeprefix(curve.benchmark).removeprefix(", ")
    layout = layout or "unknown number of ranks"
    return f"{curve.component}, {layout}" if curve.component else layout
