"""Pictures: that files are what their names say, and what stands in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from companion.door import Imb
from companion.machines import curve, launch, message, save
from imb.model.errors import ImbError
from imb.report.picture import lines_of
from imb.store.names import load
from imb.store.store import Archive


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = curve(message) + curve(message, "Bcast", 8, "collective")
    return save(tmp_path / "x.jsonl", launch(rows) + launch(rows[:24]))


@pytest.mark.slow
def test_files_are_what_their_names_say(imb: Imb, file: Path, tmp_path: Path) -> None:
    for end, first in ((".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")):
        picture = tmp_path / f"curve{end}"
        said = imb("report", file, "-o", picture)
        assert said.code == 0 and "2 charts of 1 sample set" in said.out
        assert picture.read_bytes().startswith(first)


def test_names_of_sides_are_text_in_a_drawing(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A $ is no formula, a < no element, and a leading _ does not hide a line."""
    monkeypatch.chdir(tmp_path)
    for name in ("_a$x_{1}$<b>&", "b"):
        save(tmp_path / name, launch(curve(message)))
    said = imb("report", "_a$x_{1}$<b>&", "b", "-o", "x.svg", "--title", "a$b$c")
    assert said.code == 0
    drawing = (tmp_path / "x.svg").read_text()
    assert "PingPong, 2 ranks" in drawing and "a$b$c" in drawing
    assert "&lt;b&gt;&amp;" in drawing and "<b>" not in drawing


def test_the_terminal_shows_both_sides(imb: Imb, file: Path, tmp_path: Path) -> None:
    slow = save(tmp_path / "slow.jsonl", launch(curve(lambda n: 4 * message(n))))
    said = imb("report", file, slow, "--benchmark", "pingpong", "--format", "terminal")
    assert said.code == 0
    assert "PingPong, 2 ranks: \u00b5s over bytes" in said.out and "Bcast" not in said.out
    drawing = said.out.split("\nA ")[0]
    assert drawing.count("A") > 10 and drawing.count("B") > 10


def test_the_ninth_side_has_the_mark_of_its_legend(imb: Imb, tmp_path: Path) -> None:
    files = []
    for factor in range(1, 10):
        rows = curve(lambda size, times=float(factor): times * message(size))  # type: ignore[misc]
        files.append(save(tmp_path / f"{factor}.jsonl", launch(rows)))
    said = imb("report", *files, "--benchmark", "pingpong", "--format", "terminal")
    drawing, legend = said.out.split("\nA ")
    assert "\nI " in legend and drawing.count("I") > 10


def test_lines_are_medians_and_percentiles_of_launches(archive: Archive, tmp_path: Path) -> None:
    times = (1e-6, 2e-6, 3e-6, 4e-6, 5e-6)
    rows = [record for t in times for record in launch(curve(lambda n, t=t: t))]  # type: ignore[misc]
    side = load(archive, str(save(tmp_path / "x.jsonl", rows)))
    (line,) = lines_of([side], "time", [])  # of the slowest rank
    assert line.middle[0] == pytest.approx(3.03)
    (line,) = lines_of([side], "time_avg", [])
    assert (line.middle[0], line.low[0], line.high[0]) == pytest.approx((3.0, 1.4, 4.6))
    (line,) = lines_of([side], "bandwidth", [])
    assert line.lengths[0] == 1 and line.middle[0] == pytest.approx(1 / 3)  # a length of 0 has no bandwidth


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "speed"], "choose from time"),
        (["--benchmark", "Pong"], "did you mean PingPong?"),
        (["--benchmark", "Exchange"], "choose from PingPong, Bcast"),
        (["--metric", "overlap"], "no curve"),
        (["-o", "x.gif"], "must end in .html, .png, .svg or .pdf"),
    ],
)
def test_mistakes_say_what_would_be_right(imb: Imb, file: Path, words: list[str], said: str) -> None:
    answer = imb("report", file, "-o", "x.svg", *words)
    assert answer.code == 2 and said in answer.err and answer.err.count("\n") == 1


def test_an_unknown_metric_is_an_error(archive: Archive, file: Path) -> None:
    with pytest.raises(ImbError):
        lines_of([load(archive, str(file))], "nothing", [])


def test_show_refuses_a_benchmark_that_is_not_there(imb: Imb, file: Path) -> None:
    said = imb("show", file, "-b", "PingPnog")
    assert said.code == 2 and said.err == "imb: no such benchmark: PingPnog; did you mean PingPong?\n"
