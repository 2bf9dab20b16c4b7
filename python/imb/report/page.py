"""A self-contained HTML file: a report on sides, a comparison, or a history. Jinja escapes every text that
comes from users.

templates/page.html.j2 shows the page and page.js draws its charts; neither loads anything from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from markupsafe import Markup

from imb import __version__
from imb.compare.comparison import Comparison
from imb.diagnose import Diagnosis
from imb.history.session_history import History
from imb.model.observations import Side
from imb.model.text import one_line
from imb.model.units import count_of
from imb.report import colors, history_text, page_charts
from imb.report.comparison_text import sides_in_words
from imb.report.findings import MODEL_HEADINGS, model_rows
from imb.report.marks import letter
from imb.report.panels import IN_PASSES, Section, compared_sections, sections_of
from imb.report.speed_history import history_of
from imb.report.summary import comparison_summary, difference_row, repeatability, shown_conditions

_DIFFERING = "Conditions that are not the same in all launches"


def report_page(
    sides: Sequence[Side],
    comparisons: Sequence[Comparison],
    diagnoses: Sequence[Diagnosis],
    *,
    title: str | None = None,
    now: datetime | None = None,
) -> str:
    """A report on the sides. `comparisons`: of the first side with each other side; `diagnoses`: one per
    side; both may be empty."""
    sections = sections_of(sides, comparisons)
    history = history_of(sides)
    conditions = shown_conditions(sides)
    names = sides_in_words(comparisons[0]) if len(comparisons) == 1 else [side.name for side in sides]
    heats = []
    if len(sides) == 1 and len(sides[0].launches) >= 3:
        heats.append(repeatability(sides[0]))
    rows = sum(len(launch.rows) for side in sides for launch in side.launches)
    launches = sum(len(side.launches) for side in sides)
    page = {
        "title": title or _title(sides),
        "subtitle": f"{count_of(launches, 'launch')}, {count_of(rows, 'row')}"
        + (f", measured {_dates(sides)}" if _dates(sides) else ""),
        "sides": [
            {
                "letter": letter(i),
                "name": names[i],
                "about": _description(side),
                "runs": list(dict.fromkeys(launch.name for launch in side.launches)),
            }
            for i, side in enumerate(sides)
        ],
        "verdicts": [comparison_summary(comparison, 0, i + 1) for i, comparison in enumerate(comparisons)],
        "findings": [
            {"side": diagnosis.side, "all": diagnosis.findings, "notes": diagnosis.notes}
            for diagnosis in diagnoses
        ]
        if diagnoses
        else None,
        "heats": heats,
        "conditions": conditions,
        "conditions_caption": _DIFFERING,
        "levels": _levels(diagnoses),
        "sections": sections,
        "charts_note": "Lines are medians over launches, both axes are logarithmic, shaded is what lies between the 10th "
        "and the 90th percentile of launches."
        if any(len(side.launches) > 1 for side in sides)
        else "Both axes are logarithmic."
        + (
            " Shaded is the 95 % interval of the median over the passes of the launch."
            if any(
                panel.interval == IN_PASSES
                for section in sections
                for layout in section.layouts
                for panel in layout.panels
                if not panel.speed
            )
            else ""
        ),
        "history": history,
        "models": [
            {"side": diagnosis.side, "headings": MODEL_HEADINGS, "rows": model_rows(diagnosis)}
            for diagnosis in diagnoses
            if diagnosis.models
        ],
        "made": creation_time(now),
    }
    return _render(page, sections, history)


def comparison_page(comparison: Comparison) -> str:
    """The page of `imb compare --format html`: verdict, bands, conditions that differ, and every row."""
    names = [comparison.name_a, comparison.name_b]
    counts = [comparison.launches_a, comparison.launches_b]
    sections = compared_sections(comparison)
    page = {
        "title": f"{names[1]} against {names[0]}",
        "subtitle": f"{count_of(len(comparison.rows), 'row')} and {count_of(len(comparison.bands), 'band')} compared",
        "sides": [
            {"letter": letter(i), "name": name, "about": count_of(counts[i], "launch"), "runs": []}
            for i, name in enumerate(sides_in_words(comparison))
        ],
        "verdicts": [comparison_summary(comparison, 0, 1)],
        "findings": None,
        "heats": [],
        "conditions": [difference_row(difference) for difference in comparison.conditions],
        "conditions_caption": _DIFFERING,
        "levels": "",
        "sections": sections,
        "charts_note": "Lines are medians over launches; axes are logarithmic. The speedup of B over A is shaded by its "
        f"interval. {comparison.settings.intervals()}.",
        "history": None,
        "models": [],
        "made": None,
    }
    return _render(page, sections, None)


def history_page(result: History) -> str:
    """The page of `imb watch --format html`: steps with their first runs, and the sessions in the order of
    time."""
    history, findings = history_text.history_chart(result), history_text.findings(result)
    page = {
        "title": result.name,
        "subtitle": f"{history_text.history_extent(result)}: {result.verdict}",
        "sides": [],
        "verdicts": [],
        "findings": [{"side": result.name, "all": findings, "notes": result.notes, "heading": "Note"}]
        if findings or result.notes
        else None,
        "heats": [],
        "conditions": [],
        "conditions_caption": "",
        "levels": "",
        "sections": [],
        "charts_note": "",
        "history": history,
        "models": [],
        "made": None,
    }
    return _render(page, [], history)


def _render(page: dict[str, Any], sections: Sequence[Section], history: dict[str, Any] | None) -> str:
    order = [("Verdict", "verdict", page["verdicts"])]
    order += [(heat["short"], heat["id"], True) for heat in page["heats"]]
    order += [("Charts", "charts", sections), ("Findings", "findings", page["findings"] is not None)]
    order += [("Environment", "conditions", page["conditions"]), ("History", "history", history)]
    order += [("Model", "model", page["models"])]
    page["contents"] = [(name, anchor) for name, anchor, shown in order if shown]
    drawn = bool(history) or any(section.is_drawn for section in sections)
    return render_template("page.html.j2", page, page_charts.charts_of(sections, history), drawn=drawn)


def creation_time(now: datetime | None) -> str | None:
    """The time of creation that a page shows, or None if it shows none."""
    return now.strftime("%Y-%m-%d %H:%M") if now else None


def render_template(
    name: str, page: dict[str, Any], charts: dict[str, Any], *, drawn: bool, package: str = "imb.report"
) -> str:
    """Render a template of a package. `charts`: data for page.js; `drawn`: whether the page has charts."""
    from plotly.offline import get_plotlyjs

    template, css, js = _template(name, package)
    text: str = template.render(
        page=page,
        version=__version__,
        css=Markup(colors.css() + css),
        js=Markup(js),
        dashes=colors.DASH_ARRAYS,
        drawn=drawn,
        plotly=Markup(get_plotlyjs()) if drawn else "",
        data=_embed(charts),
    )
    return text


@cache
def _template(name: str, package: str) -> tuple[Any, str, str]:
    """A template, and the style and script of all pages. An undefined name in the template is an error, not a
    blank."""
    from importlib.resources import files

    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("imb.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_clean,
    )
    folder = files("imb.report") / "templates"
    return (
        environment.get_template(name),
        (folder / "page.css").read_text("utf-8"),
        (folder / "page.js").read_text("utf-8"),
    )


def _clean(value: Any) -> Any:
    """A value that a template prints: a text from outside becomes one line, without characters that change
    the writing direction."""
    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _clean_all(data: Any) -> Any:
    if isinstance(data, dict):
        return {_clean(name): _clean_all(value) for name, value in data.items()}
    return [_clean_all(item) for item in data] if isinstance(data, list) else _clean(data)


def _embed(data: object) -> Markup:
    """JSON that cannot end a script element or begin a comment."""
    text = msgspec.json.encode(_clean_all(msgspec.to_builtins(data))).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _levels(diagnoses: Sequence[Diagnosis]) -> str:
    """The number of findings by level."""
    levels = [finding.level for diagnosis in diagnoses for finding in diagnosis.findings]
    by_level = ((levels.count(level), level) for level in ("problem", "warning"))
    return ", ".join(count_of(count, level) for count, level in by_level if count)


def _title(sides: Sequence[Side]) -> str:
    names = [side.name for side in sides]
    return f"{names[1]} against {names[0]}" if len(names) == 2 else ", ".join(names)


def _description(side: Side) -> str:
    hosts = dict.fromkeys(host for launch in side.launches for host in launch.hosts())
    placements = {launch.placement() for launch in side.launches} - {None}
    words = [count_of(len(side.launches), "launch"), *sorted(map(str, placements))]
    words += (
        [f"on {', '.join(hosts)}"] if 0 < len(hosts) <= 4 else [f"on {len(hosts)} hosts"] if hosts else []
    )
    return ", ".join(words)


def _dates(sides: Sequence[Side]) -> str:
    dates = sorted(launch.run.date[:10] for side in sides for launch in side.launches if launch.run.date)
    if not dates:
        return ""
    return dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
