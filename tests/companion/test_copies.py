"""The same log twice is one launch, wherever it is: in one sample set, or in both."""

from pathlib import Path

import pytest
from companion.door import Imb
from companion.test_files_as_names import a_log


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three logs, and a folder with each of them twice, with short names, since lines are folded."""
    for folder in ("three", "six"):
        (tmp_path / folder).mkdir()
    for number in range(3):
        (tmp_path / "three" / f"{number}.log").write_bytes(a_log(1.0 + number / 100))
        for copy in "ab":
            (tmp_path / "six" / f"{number}{copy}.log").write_bytes(a_log(1.0 + number / 100))
    (tmp_path / "other.log").write_bytes(a_log(2.0))
    monkeypatch.chdir(tmp_path)
    return Path()


def test_copies_of_a_log_count_once(imb: Imb, logs: Path) -> None:
    out = imb("compare", logs / "six", logs / "other.log").out
    assert f"A: {logs / 'six'}, 3 launches\n" in out
    assert "A: 3 launches have the same content as others of A: each is counted once" in out
    assert "counted once" not in imb("compare", logs / "three", logs / "other.log").out


def test_a_label_and_the_files_of_its_runs_count_once(imb: Imb, logs: Path) -> None:
    imb("import", logs / "three", "--label", "stored")
    out = imb("compare", f"stored,{logs / 'three'}", logs / "other.log").out
    assert "three, 3 launches\n" in out and "A: 3 launches have the same content" in out


def test_the_same_runs_on_both_sides_are_noted(imb: Imb, logs: Path) -> None:
    imb("import", logs / "three", "--label", "stored")
    for a, b in (("stored", logs / "three"), (logs / "three", logs / "six")):
        out = imb("compare", a, b).out
        assert "the same runs on both sides: 3 launches" in out


def test_show_counts_copies_once(imb: Imb, logs: Path) -> None:
    shown = imb("show", logs / "six").out
    assert shown.splitlines()[0].startswith(f"{logs / 'six'}: 3 launches")
    assert "3 runs have the same content as others: each is counted once" in shown
    assert "counted once" not in imb("show", logs / "three").out
