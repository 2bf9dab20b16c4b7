"""Reports in a browser, as their readers have them: headless Chromium, without a network.

`tools/recordings.py --pictures` takes those of docs/images with one of these tests, of a report in $OPENIMB_REPORT.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import lab
import msgspec
import numpy as np
import pytest
from companion import fabrics
from companion.door import Imb
from companion.machines import curve, healthy, launch, message, row
from imb.compare.comparison import compare
from imb.diagnose import diagnose
from imb.model.records import Record, Result, write
from imb.report.colors import COLORS
from imb.report.page import comparison_page, report_page
from imb.store.names import load
from imb.store.store import Archive, Content

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if not found:
        lab.missing("Chromium (Debian: chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lab.missing("the Python package playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        browser.close()


def slower(records: list[Record], factor: float, benchmarks: tuple[str, ...]) -> list[Record]:
    for record in records:
        if isinstance(record, Result) and record.benchmark in benchmarks:
            for field in ("time_min_seconds", "time_avg_seconds", "time_max_seconds"):
                if seconds := getattr(record, field):
                    setattr(record, field, seconds * factor)
    return records


@pytest.fixture(scope="session")
def report() -> Path:
    """Built once, by one of the processes that run tests."""
    return lab.built_once("report", build_report)


def build_report(folder: Path) -> None:
    """Twelve sessions of one launch and eight: Bcast slower on B, Allreduce faster, and from the seventh of A on Alltoall."""
    folder.mkdir()
    archive = Archive(folder / "archive")
    random = np.random.default_rng(11)
    for number in range(20):
        side = "before" if number < 12 else "after"
        rows = healthy(random, noise=0.02)
        slower(rows, 1.25 if number >= 12 else 1.0, ("Bcast", "Gather"))
        slower(rows, 0.6 if number >= 12 else 1.0, ("Allreduce",))
        slower(rows, 1.3 if 6 <= number < 12 else 1.0, ("Alltoall",))
        records = launch(rows, date=f"2026-03-{number % 12 + 1:02}T08:00:00Z", environment={"UCX_TLS": side})
        archive.add(Content(records=write(records), facts={"session": f"s{number}"}, labels=[side]))
    a, b = load(archive, "before"), load(archive, "after")
    (folder / "report.html").write_text(report_page([a, b], [compare(a, b)], [diagnose(a), diagnose(b)]))
    (folder / "comparison.html").write_text(comparison_page(compare(a, b)))
    random = np.random.default_rng(5)
    rows = healthy(random)
    for one in rows[:24]:
        assert isinstance(one, Result)
        one.benchmark = EVIL
    archive.add(
        Content(
            records=write(launch([*rows, row(EVIL, 4, 8, 1e-6, "collective")], hosts=(EVIL,))), labels=[EVIL]
        )
    )
    evil = load(archive, EVIL)
    (folder / "evil.html").write_text(report_page([evil, a], [compare(evil, a)], [diagnose(evil)]))


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page without a network, which fails the test for any request, error or message of the console."""
    yield from _page(chromium)


def _page(chromium: Any, **options: Any) -> Iterator[Any]:
    context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, "offline": True, **options})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(f"console: {message.text}"))
    opened.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    opened.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url)
        ),
    )
    yield opened
    context.close()
    assert wrong == []


def until(page: Any, true: str) -> None:
    """Waits for it. Playwright's own wait_for_function evaluates in the page, which the page's policy forbids."""
    end = time.monotonic() + 20
    while not page.evaluate(true):
        assert time.monotonic() < end, f"never: {true}"
        page.wait_for_timeout(50)


def open_page(page: Any, file: Path) -> None:
    page.goto(file.as_uri())
    until(page, "document.documentElement.dataset.ready !== undefined")


def drawn(page: Any, section: int = 0) -> Any:
    """The charts of a benchmark, drawn."""
    page.locator(f"[data-section='{section}']").scroll_into_view_if_needed()
    page.wait_for_selector(f"[data-section='{section}'] .chart[data-drawn] .main-svg")
    until(
        page,
        f"[...document.querySelectorAll('[data-section=\"{section}\"] .chart')].every((c) => c.dataset.drawn)",
    )
    return page.locator(f"[data-section='{section}'] .chart")


def test_charts_are_drawn_when_they_come_into_view(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    assert page.evaluate("typeof Plotly") == "undefined"  # reading needs no drawing
    assert page.locator(".chart[data-drawn]").count() == 0
    charts = drawn(page)
    assert charts.count() == 3
    assert page.locator(".chart[data-drawn]").count() < page.locator(".chart").count()
    box = charts.first.locator(".main-svg").first.bounding_box()
    assert box and box["width"] > 200 and box["height"] > 150


def test_the_verdict_and_the_first_figures_are_on_the_first_screens(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    top = {
        name: page.locator(name).first.bounding_box()["y"]
        for name in (".verdict", ".facts", ".heat tbody", ".chart", ".finding")
    }
    assert list(top.values()) == sorted(top.values())
    assert top[".verdict"] < 400 and top[".heat tbody"] < 800 and top[".chart"] < 1800


def test_a_chart_that_a_layout_lacks_says_so(page: Any, tmp_path: Path) -> None:
    """Of 8 ranks there is only the row of 0 bytes, which has no length over time."""
    rows = [*curve(message, "Bcast", 4, "collective"), row("Bcast", 8, 0, 1e-6, "collective")]
    archive = Archive(tmp_path / "archive")
    archive.add(Content(records=write(launch(rows)), labels=["x"]))
    (tmp_path / "x.html").write_text(report_page([load(archive, "x")], [], []))
    open_page(page, tmp_path / "x.html")
    charts = drawn(page)
    page.locator("select[data-variant]").select_option(index=1)
    until(page, "document.querySelectorAll('.annotation-text').length > 0")
    assert "no values in this layout" in charts.last.inner_text()


def test_hovering_marks_the_same_length_everywhere(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    charts = drawn(page)
    page.locator("[data-section='0'] summary").click()
    box = charts.nth(0).bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
    page.wait_for_selector("[data-section='0'][data-at]")
    keys = page.locator("[data-section='0'] .key b").all_inner_texts()
    assert len(keys) == 3 and len(set(keys)) == 1 and "B" in keys[0].upper()
    assert "A" in page.locator("[data-section='0'] .key").nth(1).inner_text()
    at = page.locator("[data-section='0']").get_attribute("data-at")
    assert page.locator("[data-section='0'] tr.at").get_attribute("data-at") == at
    assert charts.nth(1).locator(".spikeline").count() > 0
    page.mouse.move(5, 300)
    page.wait_for_selector("[data-section='0']:not([data-at])")
    assert page.locator("[data-section='0'] tr.at").count() == 0


def test_the_keyboard_reads_a_chart_aloud(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    charts = drawn(page)
    charts.nth(0).focus()
    page.keyboard.press("Home")
    said = page.locator("#live").inner_text()
    assert said.startswith("0 bytes: A before 1.5") and "B after 1.5" in said
    page.keyboard.press("ArrowRight")
    assert page.locator("#live").inner_text().startswith("1 byte:")
    charts.nth(2).focus()
    page.keyboard.press("End")
    assert page.locator("#live").inner_text().startswith("4 MiB:")
    assert (
        "same" in page.locator("#live").inner_text() or "inconclusive" in page.locator("#live").inner_text()
    )


def test_everything_that_can_be_reached_shows_its_focus(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.tagName, s.outlineStyle, s.outlineWidth]; })()"
        )
        assert style[1] != "none" and style[2] != "0px", style
        seen.append(style[0])
    assert {"A", "BUTTON"} <= set(seen)


def test_the_theme_follows_the_system_and_is_remembered(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    drawn(page)
    background = "getComputedStyle(document.body).backgroundColor"
    ink = "document.querySelector('.chart[data-drawn] .xtick text').style.fill"
    marker = """(() => {
      const [red, green, blue] = document.querySelector('.chart .point').style.fill.match(/\\d+/g).map(Number);
      return "#" + ((1 << 24) + (red << 16) + (green << 8) + blue).toString(16).slice(1);
    })()"""
    light, gray = page.evaluate(background), page.evaluate(ink)
    assert page.evaluate(marker) == COLORS["light"]["s0"]
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(background) != light
    until(page, f"{ink} !== '{gray}'")  # the charts follow
    assert page.evaluate(marker) == COLORS["dark"]["s0"]
    button = page.locator("#theme")
    assert button.inner_text() == "Theme: auto"
    button.click()
    assert button.inner_text() == "Theme: light" and page.evaluate(background) == light
    button.click()
    assert button.inner_text() == "Theme: dark" and page.evaluate(background) != light
    page.emulate_media(color_scheme="light")
    page.reload()
    assert page.locator("#theme").inner_text() == "Theme: dark" and page.evaluate(background) != light


def test_contrast_is_enough_in_both_themes(page: Any, report: Path) -> None:
    """WCAG 2.1 AA: 4.5 to 1 for text, on the backgrounds of heat map, findings, warnings and verdict."""
    script = """() => {
      const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
      const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
      const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
      const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0.9) return c; } return [255, 255, 255]; };
      const low = [];
      for (const e of document.querySelectorAll("main p, main td, main th, main h1, main h2, main h3, main li, main .tag, main .lohi, main summary, .bar a, caption, footer p")) {
        if (!e.textContent.trim() || !e.getClientRects().length || e.closest(".chart")) continue;
        let opacity = 1; for (let x = e; x; x = x.parentElement) opacity *= Number(getComputedStyle(x).opacity);
        const back = behind(e), ink = rgb(getComputedStyle(e).color).slice(0, 3).map((v, i) => v * opacity + back[i] * (1 - opacity));
        const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 30)} ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
      }
      return [...new Set(low)];
    }"""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        open_page(page, report / "report.html")
        assert page.evaluate(script) == [], scheme


def test_what_users_name_does_nothing_in_a_browser(page: Any, report: Path) -> None:
    open_page(page, report / "evil.html")
    for section in range(page.locator("[data-section]").count()):
        if page.locator(f"[data-section='{section}'] .chart").count():
            drawn(page, section)
    page.locator("#history-chart").scroll_into_view_if_needed()
    page.wait_for_selector("#history-chart[data-drawn]")
    assert "owned" not in page.title() or EVIL in page.title()
    assert page.locator("img").count() == 0
    assert EVIL in page.locator("h1").inner_text()


def test_layouts_are_chosen(page: Any, report: Path) -> None:
    open_page(page, report / "evil.html")
    section = page.locator("[data-section]").filter(has=page.locator("select[data-variant]")).first
    section.scroll_into_view_if_needed()
    assert section.locator("table:visible").count() == 0
    section.locator("summary").click()
    before = section.locator("table:visible caption").inner_text()
    section.locator("select").select_option(index=1)
    assert section.locator("table:visible caption").inner_text() != before


def test_history_shows_where_a_level_begins(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    page.locator("#history-chart").scroll_into_view_if_needed()
    page.wait_for_selector("#history-chart[data-drawn] .main-svg")
    assert "Alltoall" in page.locator("#history-curve option:checked").inner_text()
    assert page.locator("#history-chart .shapelayer path").count() >= 1
    point = page.locator("#history-chart .point").first.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    page.wait_for_selector("#history-chart .hovertext")
    said = page.locator("#history-chart .hovertext").text_content()
    archive = Archive(report / "archive")
    names = [one.name for label in ("before", "after") for one in load(archive, label).launches]
    assert "of the median" in said and any(name in said for name in names)
    assert page.locator("#history-chart .legendtext").first.text_content() == "A, 0 bytes"
    page.select_option("#history-curve", label="Sendrecv, 8 ranks")
    until(page, "document.querySelectorAll('#history-chart .shapelayer path').length === 0")


def test_a_narrow_window_needs_no_sideways_scrolling(chromium: Any, report: Path) -> None:
    for page in _page(chromium, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True):
        open_page(page, report / "report.html")
        drawn(page)
        assert not page.get_by_text("Hover to mark").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        box = page.locator("[data-section='0'] .chart").first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360


def test_a_wide_window_is_used(chromium: Any, report: Path) -> None:
    """Charts side by side to both edges, the history over all of it, no sideways scrolling."""
    for page in _page(chromium, viewport={"width": 1600, "height": 1000}):
        open_page(page, report / "report.html")
        boxes = [one.bounding_box() for one in drawn(page).all()]
        left, right = min(one["x"] for one in boxes), max(one["x"] + one["width"] for one in boxes)
        assert len(boxes) == 3 and len({one["y"] for one in boxes}) == 1
        assert sum(one["width"] for one in boxes) > 0.85 * 1600 and left < 0.08 * 1600 and right > 0.92 * 1600
        for name in (".verdict", ".benchmark", "#history-chart"):
            assert page.locator(name).first.bounding_box()["width"] > 0.88 * 1600, name
        assert page.evaluate("document.documentElement.scrollWidth") <= 1600


def test_printing_draws_every_chart_on_white(page: Any, report: Path) -> None:
    open_page(page, report / "report.html")
    page.locator("#theme").click()
    page.locator("#theme").click()  # dark
    page.emulate_media(media="print")
    until(page, "[...document.querySelectorAll('.chart')].every((c) => c.dataset.drawn)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".top").is_hidden()
    widths = page.evaluate(
        "[...document.querySelectorAll('.panels .chart .main-svg')].map((c) => c.getBoundingClientRect().width)"
    )
    assert max(widths) <= 690  # what A4 leaves
    page.set_viewport_size({"width": 688, "height": 980})
    tops = page.evaluate(
        "[...document.querySelectorAll('[data-section=\"0\"] figure')].map((f) => f.offsetTop)"
    )
    assert len(tops) == 3 and len(set(tops)) == 1  # side by side
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="screen")
    until(page, "document.querySelector('#history-chart .main-svg').getBoundingClientRect().width > 1000")


ALL_DRAWN = "[...document.querySelectorAll('.chart')].every((c) => c.dataset.drawn)"


def test_a_page_that_is_opened_for_paper_has_every_chart(page: Any, report: Path) -> None:
    page.emulate_media(media="print")
    open_page(page, report / "report.html")
    until(page, ALL_DRAWN)
    widths = page.evaluate(
        "[...document.querySelectorAll('.panels .chart .main-svg')].map((c) => c.clientWidth)"
    )
    assert max(widths) <= 690


def test_a_browser_that_does_not_know_what_is_in_view_draws_all(page: Any, report: Path) -> None:
    page.add_init_script("delete window.IntersectionObserver")
    open_page(page, report / "report.html")
    until(page, ALL_DRAWN)


def test_a_browser_without_a_screen_prints_every_chart(report: Path, tmp_path: Path) -> None:
    """By its own option, at once after it has loaded the page: a chart has its title of an axis as text in the PDF."""
    found = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    to_text = shutil.which("pdftotext")
    if not found or not to_text:
        lab.missing("Chromium and pdftotext (Debian: chromium, poppler-utils)")
    paper, page = tmp_path / "page.pdf", report / "report.html"
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    words = [found, "--headless", *root, f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={paper}"]
    subprocess.run([*words, page.as_uri()], check=True, capture_output=True, timeout=60)
    printed = subprocess.run(
        [to_text, "-layout", paper, "-"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    charts = page.read_text().count('data-chart="')
    assert charts > 20 and printed.count("message size, bytes") >= charts - 1  # all but that of the history


@pytest.fixture(scope="session")
def differing(report: Path) -> Path:
    return lab.built_once("differing.html", lambda page: build_differing(report, page))


def build_differing(report: Path, page: Path) -> None:
    """A comparison of sides that differ by many settings, one with a long text, and with more than two warnings."""
    archive = Archive(report / "archive")
    a, b = load(archive, "before"), load(archive, "after")
    for side, value in ((a, "tcp"), (b, "sm")):
        for one in side.launches:
            assert one.run.environment is not None
            one.run.environment |= {f"UCX_SETTING_{number}": value for number in range(30)}
            one.run.environment["UCX_NET_DEVICES"] = ",".join(f"mlx5_{n}:{n}" for n in range(20)) + value
    found = msgspec.structs.replace(compare(a, b), warnings=[f"warning {n}" for n in range(5)])
    page.write_text(report_page([a, b], [found], []))


def test_on_paper_the_speedups_are_not_after_pages_of_conditions(page: Any, differing: Path) -> None:
    open_page(page, differing)
    page.set_viewport_size({"width": 688, "height": 980})
    page.emulate_media(media="print")
    until(page, "[...document.querySelectorAll('.chart')].every((c) => c.dataset.drawn)")
    shown = page.locator(".facts tbody tr").filter(visible=True)
    assert shown.count() == 8 and page.get_by_text("warning 3").is_hidden()
    assert page.locator("summary", has_text="24 more").is_visible()
    assert page.locator("summary", has_text="3 more warnings").is_visible()
    assert page.locator(".heat").first.bounding_box()["y"] < 980  # as high as a sheet
    assert page.locator(".changed").is_visible()


def test_a_phone_shows_both_values_of_a_condition(chromium: Any, differing: Path) -> None:
    for page in _page(chromium, viewport={"width": 400, "height": 800}):
        open_page(page, differing)
        row = page.locator(".facts tr", has_text="UCX_NET_DEVICES").first
        boxes = [one.bounding_box() for one in [*row.locator("th").all(), *row.locator("td").all()]]
        assert len(boxes) == 3 and all(one["x"] >= 0 and one["x"] + one["width"] <= 400 for one in boxes)
        assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"]
        height = sum(one["height"] for one in boxes)
        assert row.bounding_box()["height"] < height + 40  # nothing but the texts
        labels = [
            one.evaluate("(td) => getComputedStyle(td, '::before').content")
            for one in row.locator("td").all()
        ]
        assert all("upper-alpha" in one for one in labels)
        assert page.locator(".facts caption").first.bounding_box()["width"] > 200
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_a_comparison_alone_is_drawn(page: Any, report: Path) -> None:
    open_page(page, report / "comparison.html")
    assert drawn(page).count() == 2
    assert (
        page.locator(".verdict .word")
        .inner_text()
        .startswith("Mixed: UCX_TLS=after (B) is faster than UCX_TLS=before (A) in ")
    )


def fabric_page(imb: Imb, folder: Path, count: int) -> Path:
    """`imb fabric` of hosts below switches whose order is not that of their names; n0003 is slow. Of many hosts a quick sweep."""
    names = fabrics.hosts(count)
    leaf = 2 if count == 4 else 32
    by_leaf = [names[at] for first in range(leaf) for at in range(first, count, leaf)]
    rounds = None if count == 4 else 12
    (folder / "records").write_bytes(
        fabrics.records(names, leaf=count, slow={2: 0.5}, passes=2, most_rounds=rounds)
    )
    topology = fabrics.topology_file(folder / "topology", by_leaf, leaf=leaf)
    said = imb("fabric", folder / "records", "--topology", topology, "--page", folder / "fabric.html")
    assert said.code in (10, 11), said
    return folder / "fabric.html"


@pytest.mark.parametrize("count", [4, 1024])
@pytest.mark.slice("fabric")
def test_a_matrix_of_hosts(page: Any, imb: Imb, tmp_path: Path, count: int) -> None:
    """Order of the topology, names that can be read, figures of the pair under the pointer, and on paper what is shown."""
    open_page(page, fabric_page(imb, tmp_path, count))
    chart = drawn(page).first
    assert "ordered by topology" in page.locator("figcaption").inner_text()
    names = page.locator(".chart .ytick text")
    below = [one.bounding_box() for one in names.all()]
    order = sorted(range(len(below)), key=lambda one: below[one]["y"])
    ticks, boxes = [names.all_text_contents()[one] for one in order], [below[one] for one in order]
    if count == 4:
        assert ticks == ["n001", "n003", "n002", "n004"]
    else:  # the first hosts of switches
        assert 16 <= len(ticks) <= 40 and ticks[:3] == ["n0001", "n0002", "n0003"]
    assert all(above["y"] + above["height"] <= below["y"] + 2 for above, below in pairwise(boxes))
    assert (
        min(box["height"] for box in boxes) >= (12 if count == 4 else 9) and min(b["x"] for b in boxes) >= 0
    )
    place = chart.locator(".nsewdrag").first.bounding_box()
    usual = page.locator("figure .key").inner_text()
    cell = place["width"] / count
    page.mouse.move(place["x"] + 1.5 * cell, place["y"] + cell / 2)
    if count == 4:
        until(page, f"document.querySelector('figure .key').textContent !== {usual!r}")
        assert re.fullmatch(
            r"n001 \u2013 n003: 1\.\d+ times the median", page.locator("figure .key").inner_text()
        )
    assert page.locator(".findings .where").first.inner_text().startswith("n")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 980})
    until(page, "document.querySelector('.chart .main-svg').getBoundingClientRect().width <= 690")
    assert page.locator("figure .key").is_hidden() and page.locator(".fabric select").is_visible()
    assert page.locator("#endpoints").is_visible() == (count == 4)
    box = chart.bounding_box()
    assert box["x"] >= 0 and box["height"] < 900  # a sheet of A4 has it whole
    assert page.pdf(format="A4").startswith(b"%PDF")


def page_of(imb: Imb, folder: Path, records: bytes, *options: object) -> Path:
    (folder / "records").write_bytes(records)
    imb("fabric", folder / "records", *options, "--page", folder / "fabric.html")
    return folder / "fabric.html"


@pytest.mark.slice("fabric")
def test_a_slow_host_is_a_line_however_many_hosts_share_a_pixel(page: Any, imb: Imb, tmp_path: Path) -> None:
    """Its row and its column are cells of the picture, whichever of two hosts of a pixel it is, and a zoom has every host."""
    names, slow = fabrics.hosts(1024), {600: 0.5, 801: 0.1}
    topology = fabrics.topology_file(tmp_path / "topology", names, leaf=1024)
    records = fabrics.records(names, leaf=1024, slow=slow, passes=1)
    open_page(page, page_of(imb, tmp_path, records, "--topology", topology))
    drawn(page)
    line = """(host) => {
      const { z, y0, dy } = document.querySelector(".chart").data[0], at = Math.floor((host + 0.5 - (y0 - dy / 2)) / dy);
      const column = z.map((row) => row[at]), middle = (of) => of.filter((v) => v !== null).sort((a, b) => a - b)[of.length >> 1];
      return [middle(z[at]) / middle(z[3]), middle(column) / middle(z.map((row) => row[3])), z.length];
    }"""
    place = page.locator(".nsewdrag").first.bounding_box()
    for host, by in slow.items():
        across, down, cells = page.evaluate(line, host)
        assert min(across, down) > 1 + 0.8 * by and cells <= place["width"]
    page.mouse.move(place["x"] + 0.4 * place["width"], place["y"] + 0.4 * place["height"])
    page.mouse.down()
    page.mouse.move(place["x"] + 0.7 * place["width"], place["y"] + 0.7 * place["height"], steps=4)
    page.mouse.up()
    until(page, "document.querySelector('.chart').data[0].dy === 1")
    ticks = page.locator(".chart .ytick text").all_text_contents()
    assert 10 < len(ticks) <= 40


@pytest.mark.slice("fabric")
def test_names_of_a_matrix(page: Any, imb: Imb, tmp_path: Path) -> None:
    """The common domain is left out at the axes, long names have an ellipsis, and signs are not escaped twice; nothing is cut."""
    names = [f"node{number:03}.cluster1.hpc.example-university.edu" for number in range(1, 17)]
    open_page(page, page_of(imb, tmp_path, fabrics.records(names, passes=4, slow={3: 0.5})))
    chart = drawn(page).first
    ticks = chart.locator(".ytick text").all_text_contents()
    assert sorted(ticks) == [f"node{number:03}" for number in range(1, 17)]
    place = chart.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(place["x"] + 0.4 * place["width"], place["y"] + 0.7 * place["height"])
    until(page, "document.querySelector('figure .key').textContent.includes('.edu')")
    key = page.locator("figure .key")
    assert key.evaluate("(e) => e.scrollWidth <= e.clientWidth")
    assert page.locator(".commands").evaluate("(e) => e.scrollWidth <= e.clientWidth")
    names = fabrics.hosts(16)
    names[5], names[7] = "x" * 300, "\"</b><i>&amp;'"
    open_page(page, page_of(imb, tmp_path, fabrics.records(names, passes=4, slow={5: 0.5, 7: 0.5})))
    ticks = drawn(page).first.locator(".ytick text").all_text_contents()
    assert names[7] in ticks and max(map(len, ticks)) < 20 and any("…" in one for one in ticks)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert page.locator(".nsewdrag").first.bounding_box()["width"] > 400


@pytest.mark.slice("fabric")
def test_a_pair_that_does_not_answer_has_no_times(page: Any, imb: Imb, tmp_path: Path) -> None:
    lines = fabrics.records(fabrics.hosts(16), passes=4).decode().splitlines()
    for at, line in enumerate(lines):
        if '"record":"pair"' in line and '"a":3,"b":9,' in line:
            kept = line.split(',"repetitions"')[0].replace('"pair"', '"failure"', 1)
            lines[at] = kept + ',"cause":"time_out"}'
    open_page(page, page_of(imb, tmp_path, "\n".join(lines).encode() + b"\n"))
    said = page.locator(".findings").inner_text()
    assert "inf" not in said and "Pair_Latency 8 bytes: the pair does not answer" in said
    drawn(page)
    assert page.locator(".chart .scatterlayer .point").count() == 2  # marked on both sides of the diagonal


@pytest.mark.skipif(
    "OPENIMB_SCREENSHOTS" not in os.environ, reason="OPENIMB_SCREENSHOTS names no folder for pictures"
)
def test_pictures_for_the_docs(chromium: Any, report: Path) -> None:
    folder = Path(os.environ["OPENIMB_SCREENSHOTS"])
    file = Path(os.environ.get("OPENIMB_REPORT", report / "report.html")).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, picture in (("light", "report-verdict.png"), ("dark", "report-charts.png")):
        for page in _page(chromium, color_scheme=scheme, viewport={"width": 1180, "height": 760}):
            open_page(page, file)
            if scheme == "dark":
                charts = drawn(page)
                page.evaluate("document.querySelector('[data-section=\"0\"]').scrollIntoView()")
                page.wait_for_timeout(1500)  # scrolling, and the charts that follow
                place = charts.nth(0).bounding_box()
                page.mouse.move(place["x"] + place["width"] * 0.6, place["y"] + place["height"] * 0.5)
                page.wait_for_selector("[data-section='0'][data-at]")
            page.screenshot(path=folder / picture)
            assert (folder / picture).stat().st_size < 300_000
