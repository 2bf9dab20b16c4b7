"""The HTML of reports and comparisons as a file: what is in it, and that nothing a user named becomes markup."""

from __future__ import annotations

import json
import re
import warnings
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import lab
import msgspec
import numpy as np
import plotly.graph_objects
import pytest
from companion.door import Imb
from companion.machines import curve, healthy, launch, message, row, save
from imb.compare.comparison import ComparisonVerdict, Effect, compare
from imb.diagnose import diagnose
from imb.model.observations import Side
from imb.model.records import Record, write
from imb.report.comparison_text import cell
from imb.report.marks import bracketed_interval, speedup
from imb.report.page import comparison_page, report_page
from imb.store.names import load
from imb.store.store import Archive, Content

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>\"'&</title></script>{{7*7}}"


class Page(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.data = ""
        self.source = text
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") or "?" if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif not self._inside:
            self.words.append(data)

    def charts(self, section: int) -> list[Any]:
        """Figures of a section in its first layout."""
        found: list[Any] = json.loads(self.data)["sections"][section]["layouts"][0]["charts"]
        return found

    def table(self, caption: str) -> list[dict[str, str]]:
        """Rows of the table with this caption, by heading."""
        for table in re.findall(r"(?s)<table.*?</table>", self.source):
            if f"<caption>{caption}</caption>" in table:
                head, *rows = [
                    [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"(?s)<t[hd].*?</t[hd]>", row)]
                    for row in re.findall(r"(?s)<tr.*?</tr>", table)
                ]
                return [dict(zip(head, row, strict=True)) for row in rows]
        return []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def having(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def fill(archive: Archive, label: str, count: int, factor: float = 1.0, seed: int = 1) -> None:
    random = np.random.default_rng(seed)
    for number in range(count):
        records: list[Record] = []
        for record in launch(healthy(random, noise=0.01), date=f"2026-01-{number + 1:02}T00:00:00Z"):
            for field in ("time_min_seconds", "time_max_seconds", "time_avg_seconds"):
                if getattr(record, field, None):
                    setattr(record, field, getattr(record, field) * factor)
            records.append(record)
        archive.add(Content(records=write(records), facts={"session": "s"}, labels=[label]))


@pytest.fixture
def two(archive: Archive) -> tuple[Side, Side]:
    fill(archive, "before", 6)
    fill(archive, "after", 6, factor=1.3, seed=2)
    return load(archive, "before"), load(archive, "after")


def test_a_report_of_two_sides_says_it_all(imb: Imb, two: tuple[Side, Side], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    said = imb("report", "before", "after", "-o", file)
    assert said.code == 0 and "12 launches" in said.out
    page = Page(file.read_text())
    assert "B is slower than A" in page.text
    assert "0.77x (slower) \u25bc" in page.text  # 1 / 1.3
    headings = {attributes.get("id") for attributes in page.having("h2")}
    assert {"verdict-h1", "findings-h", "conditions-h", "charts-h", "history-h", "model-h"} <= headings
    for title in ("PingPong", "Sendrecv"):
        assert f"{title}: Time over message size." in " ".join(
            str(a.get("aria-label")) for a in page.having("div")
        )
    charts = page.charts(0)
    units = [chart["layout"]["yaxis"]["title"]["text"] for chart in charts]
    assert units == ["\u00b5s", "MB/s", "speedup over A, \u00d7"]
    # The first value is that of 0 bytes, the median of the six launches.
    expected = np.median([one.rows[two[0].all_keys()[0]].time_max_seconds for one in two[0].launches]) * 1e6
    line = next(trace for trace in charts[0]["data"] if trace.get("meta") == 0)
    assert line["y"][0] == pytest.approx(expected, rel=1e-3)
    assert line["text"][0].startswith(f"{expected:.3g} \u00b5s")


def test_rows_in_which_nothing_was_timed_are_in_no_band_of_a_page(imb: Imb, tmp_path: Path) -> None:
    """The row of 4 bytes is below 50 ns and twice as long in every other launch; the one of 8 bytes is always the same."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(6):
        rows = [
            row("Allreduce", 8, 4, (1 + number % 2) * 10e-9, "collective"),
            row("Allreduce", 8, 8, 3e-6, "collective"),
        ]
        save(folder / f"{number}.jsonl", launch(rows, date=f"2026-01-0{number + 1}T00:00:00Z"))
    assert imb("report", folder, "-o", tmp_path / "page.html").code == 0
    page = Page((tmp_path / "page.html").read_text())
    caption = "Spread of launches, by benchmark and message size: 90th over 10th percentile of time"
    (spread,) = page.table(caption)
    assert (spread["1-32 bytes"].strip(), spread["other sizes"].strip()) == ("1.00x", "2.00x")
    drawn = {line["name"]: line["y"] for line in page.charts(-1)[0]["data"]}
    assert set(drawn["1-32 bytes"]) == {1.0} and len(set(drawn["other sizes"])) == 2


def test_a_single_launch_has_a_page_too(imb: Imb, tmp_path: Path) -> None:
    rows = [*curve(message), row("Barrier", 8, None, 3e-6, "synchronisation")]
    said = imb("report", save(tmp_path / "one.jsonl", launch(rows)), "-o", tmp_path / "one.html")
    assert said.code == 0
    page = Page((tmp_path / "one.html").read_text())
    assert "Verdict" not in page.text and "No findings" in page.text
    assert [one["template"] for one in json.loads(page.data)["sections"]] == [
        "lengths",
        "lengths",
    ]  # no history


def test_a_launch_in_passes_has_the_intervals_of_its_rows(imb: Imb, tmp_path: Path) -> None:
    file = lab.TOP / "schema" / "examples" / "passes.jsonl"
    assert imb("report", file, "-o", tmp_path / "one.html").code == 0
    page = Page((tmp_path / "one.html").read_text())
    assert "Shaded is the 95 % interval of the median over the passes of the launch" in page.text
    records = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [one for one in records if one["record"] == "result" and one["passes"]["interval_seconds"]]
    assert rows
    drawn = [
        (x, chart["layout"]["yaxis"]["title"]["text"], line["y"][line["x"].index(x)], lo, hi)
        for number in range(len(json.loads(page.data)["sections"]))
        for chart in page.charts(number)
        for area, line in zip(chart["data"][::2], chart["data"][1::2], strict=True)
        if area
        for x, hi, lo in zip(area["x"], area["y"], reversed(area["y"]), strict=True)
        if hi >= lo and area["x"].index(x) < len(area["x"]) / 2
    ]
    for result in rows:
        low, high = (end / result["time_max_seconds"] for end in result["passes"]["interval_seconds"])
        of_row = {
            title: (lo / y, hi / y)
            for length, title, y, lo, hi in drawn
            if length == (result["bytes"] or 0.5)
        }
        assert of_row["\u00b5s"] == pytest.approx((low, high), rel=2e-3)
        if result.get("bytes_per_second"):
            assert of_row["MB/s"] == pytest.approx((1 / high, 1 / low), rel=2e-3)


def test_rows_without_a_time_are_no_warning(imb: Imb, tmp_path: Path) -> None:
    """Bcast of 0 bytes in 0.00 µs: 0 / 0 is no bandwidth."""
    rows = [row("Bcast", 4, n, 0.0 if n < 2 else 1e-6 * n, "collective") for n in (0, 1, 2, 4)]
    file = save(tmp_path / "x.jsonl", launch(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert imb("report", file, "-o", tmp_path / "x.html").code == 0


def test_what_users_name_is_never_markup(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    rows = launch(
        curve(message, name=EVIL), hosts=(EVIL, "b"), command_line=[EVIL], environment={"UCX_TLS": EVIL}
    )
    archive.add(Content(records=write(rows), labels=[EVIL]))
    archive.add(Content(records=write(launch(curve(lambda n: 2 * message(n), name=EVIL))), labels=["other"]))
    file = tmp_path / "evil.html"
    assert imb("report", EVIL, "other", "-o", file, "--title", EVIL, "--force").code == 0
    compared = imb("compare", EVIL, "other", "--format", "html", "--force").out
    for text in (file.read_text(), compared):
        page = Page(text)
        assert not page.having("img")
        assert len(page.having("script")) == 4  # the theme, the data, Plotly, the page's own
        assert all("onerror" not in attributes for _, attributes in page.tags)
        assert page.having("h1")[0] == {} and EVIL in page.text
        assert "49" not in page.text.split("Findings")[0]  # no template in a template


def test_nothing_is_loaded_from_anywhere(two: tuple[Side, Side]) -> None:
    text = report_page(two, [compare(*two)], [diagnose(side) for side in two])
    page = Page(text)
    loading = [
        a for _, a in page.tags for name in ("src", "href") if re.match(r"(https?:)?//", str(a.get(name, "")))
    ]
    assert loading == []
    policy = next(
        a["content"] for a in page.having("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy and policy.startswith("default-src 'none'")
    assert "http" not in policy


@pytest.mark.slow
def test_tables_have_captions_and_scopes_and_charts_a_text(two: tuple[Side, Side]) -> None:
    page = Page(report_page(two, [compare(*two)], [diagnose(side) for side in two]))
    tables, captions = len(page.having("table")), len(page.having("caption"))
    assert tables == captions > 10
    assert all(heading.get("scope") for heading in page.having("th"))
    charts = [a for a in page.having("div") if "chart" in str(a.get("class", "")).split()]
    assert charts and all(
        a.get("role") == "img" and a.get("aria-label") and a.get("tabindex") == "0" for a in charts
    )
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [str(a.get("href", ""))[1:] for a in page.having("a") if str(a.get("href", "")).startswith("#")]
    assert set(links) <= set(ids)
    assert {"main", "header", "footer", "nav"} <= {tag for tag, _ in page.tags}


@pytest.mark.slow
def test_a_new_level_is_found_and_dated(archive: Archive) -> None:
    fill(archive, "runs", 12)
    side = load(archive, "runs")
    ordered = sorted(side.launches, key=lambda one: one.run.date or "")
    for one in ordered:
        one.facts["session"] = one.name
    for one in ordered[8:]:
        for key, result in one.rows.items():
            if key.benchmark == "Bcast":
                assert result.time_max_seconds
                result.time_max_seconds *= 1.2
    page = Page(report_page([side], [], [], now=datetime(2026, 2, 1)))
    changes = page.table("Changes of level")
    assert changes and {one["benchmark"] for one in changes} == {"Bcast, 8 ranks"}
    assert {one["time"] for one in changes} == {"2026-01-09T00:00:00Z"}
    assert all(one["change"].startswith(("+2", "+19")) for one in changes)
    fill(archive, "steady", 12, seed=3)
    nights = load(archive, "steady")
    for one in nights.launches:
        one.facts["session"] = one.name
    steady = Page(report_page([nights], [], []))
    assert "No change of level" in steady.text and not steady.table("Changes of level")
    for one in ordered:
        one.facts["session"] = "one evening"  # its launches count once
    evening = Page(report_page([side], [], []))
    assert "histories of 8 sessions or more" in evening.text and not evening.table("Changes of level")


def test_every_figure_is_one_that_plotly_knows(two: tuple[Side, Side]) -> None:
    """Plotly's own classes check names and values of all properties."""
    data = json.loads(Page(report_page(two, [compare(*two)], [])).data)
    figures = [chart for one in data["sections"] for layout in one["layouts"] for chart in layout["charts"]]
    assert len(figures) > 20
    for figure in figures[:3] + figures[-1:]:
        for trace in figure["data"]:
            for name, column in trace.pop("columns", {}).items():
                trace[name] = data["columns"][column]
        plotly.graph_objects.Figure(figure)
    for templates in data["templates"].values():
        assert set(templates) == {"light", "dark"}
        for template in templates.values():
            plotly.graph_objects.layout.Template(template)


def test_layouts_of_a_benchmark_share_a_section(imb: Imb, tmp_path: Path) -> None:
    rows = curve(message, "Bcast", 4, "collective") + curve(message, "Bcast", 8, "collective")
    imb("report", save(tmp_path / "x.jsonl", launch(rows)), "-o", tmp_path / "x.html")
    page = Page((tmp_path / "x.html").read_text())
    (section,) = json.loads(page.data)["sections"]
    assert len(section["layouts"]) == 2 and "Layout 4 ranks 8 ranks" in page.text
    assert [a for a in page.having("select") if "data-variant" in a]


def test_a_comparison_alone_is_a_page(two: tuple[Side, Side]) -> None:
    page = Page(comparison_page(compare(*two)))
    assert "B is slower than A" in page.text and "after against before" in page.text
    time, speed = page.charts(0)
    assert [trace.get("name") for trace in time["data"]] == [None, "A before", None, "B after"]
    assert "slower" in speed["data"][-1]["text"][0]


@pytest.mark.slow
def test_all_of_the_suites_tables_have_a_page(imb: Imb, tmp_path: Path) -> None:
    logs = sorted((Path(__file__).parents[1] / "reference").glob("*.txt"))
    for log in logs:
        assert imb("report", log, "-o", tmp_path / "x.html").code == 0, log.name


@pytest.mark.parametrize("words", [["nowhere"], ["x.jsonl", "--relevant", "0%"], ["x.jsonl", "--link", "x"]])
def test_unusable_input_is_one_line(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "x.jsonl", launch(curve(message)))
    said = imb("report", *words)
    assert said.code == 2 and said.err.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_figures_come_first_and_equal_conditions_are_folded(two: tuple[Side, Side]) -> None:
    text = report_page(two, [compare(*two)], [diagnose(side) for side in two])
    page = Page(text)
    order = [str(a["id"]) for a in page.having("h2")]
    assert order[:2] == ["verdict-h1", "charts-h"] and order.index("conditions-h") > order.index("findings-h")
    folded = re.findall(r"(?s)<details><summary>\d+ equal conditions</summary>(.*?)</details>", text)
    assert len(folded) == 1 and ">differs<" not in folded[0] and '<th scope="row">hosts</th>' in folded[0]
    assert "No known environment differences" in page.text
    for side in two:
        assert all(one.name in page.text for one in side.launches)  # which runs these are


def test_what_differs_is_in_the_header_and_beside_the_verdict(two: tuple[Side, Side]) -> None:
    made = []
    for side, value in zip(two, ("sm", "tcp"), strict=True):
        launches = [
            msgspec.structs.replace(
                one, run=msgspec.structs.replace(one.run, environment={"OMPI_MCA_btl": value})
            )
            for one in side.launches
        ]
        made.append(msgspec.structs.replace(side, launches=launches))
    found = compare(made[0], made[1])
    for text in (report_page(made, [found], []), comparison_page(found)):
        assert "btl=tcp (after)" in text[: text.index('id="verdict"')]
        of_verdict = text[text.index('id="verdict"') : text.index('<table class="heat">')]
        assert "btl=tcp (B) is slower than btl=sm (A) in all " in of_verdict
        assert "</span> $OMPI_MCA_btl</th><td>sm</td><td>tcp</td>" in of_verdict
        assert text.count("$OMPI_MCA_btl</th>") == 1
        # A remark on what is in no band is no warning: it is with the legend.
        assert "0-byte rows are judged as rows" not in of_verdict and "0-byte rows are judged" in text


def test_rows_that_changed_have_old_new_change_and_status(two: tuple[Side, Side]) -> None:
    page = Page(report_page(two, [compare(*two)], []))
    found = compare(*two)
    row = next(one for one in found.rows if str(one.key) == "PingPong, 2 ranks, 0 bytes")
    line = f"{row.key} {row.a * 1e6:.2f} {row.b * 1e6:.2f} {(row.b / row.a - 1) * 100:+.1f}"
    assert line in page.text
    assert (
        "(slower) [" in page.text.partition(line)[2][:40]
        and "\u25bc slower" in page.text.partition(line)[2][:60]
    )
    assert " \u2192 " in page.text and "\u00b5s" in page.text  # microseconds in the heat map


@pytest.mark.slow
def test_speedups_have_one_notation(archive: Archive, imb: Imb) -> None:
    """A decimal, whatever the verdict is; on the terminal, in Markdown and on the page."""
    fill(archive, "before", 6)
    fill(archive, "stuck", 6, factor=130.0, seed=2)
    fill(archive, "slow", 6, factor=3.0, seed=3)
    sides = load(archive, "before"), load(archive, "stuck")
    page = Page(report_page(sides, [compare(*sides)], []))
    far = r"0\.007\dx \(slower\) \u25bc \[0\.00\d\d, 0\.00\d\d\]"
    assert re.search(far, page.text)
    stuck, slow = (imb("compare", "before", name, "--rows").out for name in ("stuck", "slow"))
    assert re.search(r"0\.007\dx \(slower\) \[0\.00\d\d, 0\.00\d\d\]", stuck)
    assert re.search(r"0\.007\dx \u25bc \[0\.00", stuck)
    assert re.search(r"0\.3\dx \(slower\) \[0\.3\d, 0\.3\d\]", slow) and "0.33x \u25bc [0.3" in slow
    assert not re.search(r"(?<![/\d.])([3-9]|\d\d+)(\.\d+)?x (\(slower\)|\u25bc)", stuck + slow)
    told = imb("compare", "before", "stuck", "--format", "markdown").out
    assert re.search(r"0\.007\dx \(slower\) \[0\.00\d\d, 0\.00\d\d\]", told)


@pytest.mark.parametrize("factor", [1.3, 1.0, 1.02])
@pytest.mark.slow
def test_a_row_has_one_interval_everywhere(archive: Archive, imb: Imb, factor: float) -> None:
    """The one that decided, whatever the verdict: in JSON, tables, Markdown, and above a chart and in its shaded area."""
    fill(archive, "before", 6)
    fill(archive, "after", 6, factor=factor, seed=2)
    words = ["compare", "before", "after", "--benchmark", "PingPong", "--rows", "--format"]
    found, table, marked_up, html = (
        imb(*words, kind).out for kind in ("json", "terminal", "markdown", "html")
    )
    page = Page(html)
    (line,) = (trace for trace in page.charts(0)[-1]["data"] if trace.get("text"))
    area = page.charts(0)[-1]["data"][2 * line["meta"]]
    for number, judged in enumerate(json.loads(found)["rows"]):
        effect = judged["effect"]
        low, high = effect["interval"]
        assert [low, high] == (
            [effect["low"], effect["high"]]
            if effect["verdict"] in ("same", "differs")
            else effect["simultaneous"]
        )
        shown = f"[{low:.2f}, {high:.2f}]"
        size = judged["key"]["bytes"]
        name = f"PingPong, 2 ranks, {size} byte{'' if size == 1 else 's'} "
        assert any(text.startswith(name) and shown in text for text in table.splitlines()), (name, shown)
        assert any(name in text and shown in text for text in marked_up.splitlines()), (name, shown)
        assert f"{low:.2f}\u2013{high:.2f}" in line["text"][number], (effect, line["text"][number])
        assert area["y"][-1 - number] == pytest.approx(low, rel=1e-3)
        assert effect["confidence"] == (0.95 if effect["verdict"] in ("same", "differs") else 0.99)
    name = (
        "Intervals: 99 % for all bands and rows together; where 95 % is written, for that band or row alone"
    )
    for text in (table, marked_up, page.text):
        assert name in " ".join(text.split())


def effect(verdict: ComparisonVerdict, speed: float, low: float, high: float) -> Effect:
    return Effect(
        speed=speed, low=0.5, high=2.0, p=0.02, q=0.06, spread=0.1, launches_a=8, launches_b=8, verdict=verdict, needed=9,
        simultaneous=(low, high), interval=(low, high), adjusted=True,
    )  # fmt: skip


def test_an_interval_of_a_row_alone_has_its_confidence_beside_it() -> None:
    def alone(verdict: ComparisonVerdict) -> Effect:
        return msgspec.structs.replace(effect(verdict, 0.97, 0.96, 0.98), adjusted=False, confidence=0.95)

    assert (
        bracketed_interval(alone("inconclusive")) == bracketed_interval(alone("same")) == "[0.96, 0.98] 95 %"
    )
    assert bracketed_interval(effect("slower", 0.9, 0.88, 0.92)) == "[0.88, 0.92]"


def test_an_interval_without_an_end_is_open_there() -> None:
    assert bracketed_interval(effect("inconclusive", 0.71, 1e-300, 1.2)) == "[0, 1.20]"
    assert bracketed_interval(effect("inconclusive", 0.71, 0.5, 1e33)) == "[0.50, inf]"


def test_an_interval_that_excludes_nothing_is_not_estimable(archive: Archive, imb: Imb) -> None:
    """Of two launches that differ, on the terminal, in Markdown, JUnit and on pages; an end that is not known stays null in JSON."""
    assert bracketed_interval(effect("inconclusive", 0.71, 1e-300, 1e33)) == "not estimable"
    for label, factors in (("before", (1.0, 1.4)), ("after", (1.0, 1.9))):
        for number, factor in enumerate(factors):
            fill(archive, label, 1, factor=factor, seed=number)
    for kind in ("terminal", "markdown", "html", "junit"):
        text = imb("compare", "before", "after", "--rows", "--format", kind).out
        assert "not estimable" in text and not re.search(r"\[0, |, inf\]", text), (kind, text)
    page = Page(imb("compare", "before", "after", "--format", "html").out)
    (line,) = (trace for trace in page.charts(0)[-1]["data"] if trace.get("text"))
    assert all(text.endswith("inconclusive not estimable") for text in line["text"]), line["text"]
    assert not page.charts(0)[-1]["data"][2 * line["meta"]]  # no area


def test_speedups_cannot_be_read_as_signs() -> None:
    assert speedup(effect("slower", 0.9, 0.88, 0.92)) == "0.90x (slower)"
    assert cell(effect("slower", 0.9, 0.88, 0.92)) == "0.90x \u25bc [0.88, 0.92]"
    assert speedup(effect("slower", 1 / 130, 1 / 140, 1 / 120)) == "0.0077x (slower)"
    assert bracketed_interval(effect("slower", 1 / 130, 1 / 140, 1 / 120)) == "[0.0071, 0.0083]"
    assert speedup(effect("differs", 1 / 226, 1e-9, 0.97)) == "0.0044x (slightly slower)"
    assert bracketed_interval(effect("inconclusive", 0.12, 0.0, 1.2)) == "[0, 1.20]"
    assert speedup(effect("faster", 1.43, 1.4, 1.5)) == "1.43x (faster)"


@pytest.mark.slow
def test_notes_of_a_report_have_the_letters_of_the_page(archive: Archive, imb: Imb, tmp_path: Path) -> None:
    """Of three sets the third is C, and what was measured in another session than A is C too."""
    fill(archive, "first", 6)
    fill(archive, "second", 6, seed=2)
    for one in load(archive, "first").launches:
        records: list[Record] = [one.run, *list(one.rows.values())[:-1]]
        archive.add(Content(records=write(records), facts={"session": "later"}, labels=["third"]))
    imb("report", "first", "second", "third", "-o", tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text()).text
    assert "A and C were measured in different sessions" in text and "only A has 1 row" in text
    assert "A and B were measured" not in text and "only B" not in text
