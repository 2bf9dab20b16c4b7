"""How often verdicts are wrong, and what they find, on the recorded launches; bench/verdicts.py has all the figures."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import verdicts  # noqa: E402
from verdicts import Launches, Said, judge  # noqa: E402


@pytest.fixture(scope="module")
def table() -> Launches:
    return verdicts.launches_in(BENCH / "pool.parquet")[0]["table"]


def drawn(table: Launches, n: int, comparisons: int, factor: float = 1.0) -> list[Said]:
    random = np.random.default_rng(7)
    said = []
    for _ in range(comparisons):
        order = random.permutation(len(table.logs))
        said.append(judge(table.rows, table.logs[order[:n]], table.logs[order[n : 2 * n]] - np.log(factor)))
    return said


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.slow
def test_identical_launches_are_not_called_different(table: Launches, n: int) -> None:
    assert len(table.rows.keys) == 423
    said = drawn(table, n, 100)
    assert np.mean([one.bands.any() or one.rows.any() for one in said]) <= 0.03  # 1 %, of 100 that are drawn
    assert np.mean([np.abs(one.rows).mean() for one in said]) < 1e-3
    assert np.mean([one.excluded.mean() for one in said]) < 0.08


@pytest.mark.slow
def test_what_is_twice_as_slow_is_called_slower(table: Launches) -> None:
    said = drawn(table, 10, 20, factor=2.0)
    assert np.mean([(one.bands > 0).mean() for one in said]) > 0.9
    assert all(one.whole == "slower" and not (one.bands < 0).any() for one in said)


@pytest.mark.slow
def test_five_percent_are_found_where_launches_spread_by_less_than_two() -> None:
    random = np.random.default_rng(8)
    of = verdicts.launches_in(BENCH / "pool.parquet")[0]["slower"].rows
    said = [
        judge(of, verdicts.made(of, 0.015, 10, random), verdicts.made(of, 0.015, 10, random) - np.log(1.05))
        for _ in range(60)
    ]
    assert np.mean([(one.bands > 0).mean() for one in said]) >= 0.95


def test_figures_are_put_between_the_marks_of_a_page() -> None:
    page = "a\n<!-- figures: how -->\nold\n<!-- end of figures -->\nb\n"
    assert verdicts.written_into(page, "figures", "new") == page.replace("old", "\nnew\n")
    with pytest.raises(SystemExit):
        verdicts.written_into("a page without marks", "figures", "new")
