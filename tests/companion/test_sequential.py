"""Launches until decided: error rates under repeated looks, and what a comparison makes of such launches."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from companion.door import Imb
from companion.test_compare import content, longer, rows_of, side_of
from imb.compare.comparison import CompareSettings, Comparison, Effect, compare
from imb.compare.effects import combine_looks, verdict_of
from imb.compare.repeated_looks import plan_looks
from imb.model.observations import Side
from imb.model.sequential_design import FACT, FIRST, MOST, SequentialDesign, design_of
from imb.report.comparison_text import comparison_markdown, headline
from imb.report.page import comparison_page
from imb.stats import shift as stats
from imb.store.store import Archive

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import verdicts  # noqa: E402
from verdicts import Launches, Replayed, made, replayed  # noqa: E402

# --- Statistics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [5, 6, 10, 20, 200])
def test_shares_of_all_looks_add_up_to_one(most: int) -> None:
    design = SequentialDesign(most=most)
    shares = [design.share(rounds) for rounds in range(most + 1)]
    assert shares[:FIRST] == [0.0] * FIRST and sum(shares) == pytest.approx(1)
    assert all(first >= later > 0 for first, later in zip(shares[FIRST:], shares[FIRST + 1 :], strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [False, True], ids=["welch", "pairs"])
def test_looking_after_every_round_makes_no_more_errors_than_looking_once(pairs: bool) -> None:
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, MOST, 20000))
    b += 2.0
    design = SequentialDesign()
    missed = peeked = np.zeros(a.shape[1], dtype=bool)
    false = np.zeros(a.shape[1], dtype=bool)
    method = stats.shift_of_pairs if pairs else stats.shift
    for rounds in range(FIRST, MOST + 1):
        share = design.share(rounds)
        found = stats.adjust_to_look(method(a[:rounds], b[:rounds], 1 - 0.05 * share), share)
        missed = missed | (found.low > 2) | (found.high < 2)
        alike = method(a[:rounds], b[:rounds] - 2, 0.95)
        false = false | (stats.adjust_to_look(alike, share).p <= 0.01)
        peeked = peeked | (alike.p <= 0.01)
    assert 0.005 < missed.mean() <= 0.05
    assert 0.001 < false.mean() <= 0.01 < 0.02 < peeked.mean()  # the last: without shares


def test_a_look_before_the_first_says_nothing() -> None:
    found = stats.adjust_to_look(stats.shift(np.zeros((3, 2)), np.ones((3, 2)), 1.0), 0.0)
    assert np.isnan([found.low, found.high, found.p]).all() and (found.difference == 1).all()


def table_of(few: bool = True) -> verdicts.Rows:
    series = verdicts.launches_in(BENCH / "pool.parquet")[0]
    return series["slower" if few else "table"].rows


@pytest.mark.slow
def test_identical_launches_are_not_called_changed_at_any_look() -> None:
    random = np.random.default_rng(2)
    of = table_of()
    for make in (made, verdicts.heavy, verdicts.of_two_kinds):
        found = [
            replayed(of, make(of, 0.01, MOST, random), make(of, 0.01, MOST, random), pairs=False, truth=0.0)
            for _ in range(60)
        ]
        assert np.mean([any(said.changed for said in one.looks.values()) for one in found]) <= 0.02
        missed = [np.max([said.excluded for said in one.looks.values()], axis=0).mean() for one in found]
        assert np.mean(missed) <= 0.05


@pytest.mark.slow
def test_recorded_launches_that_do_not_differ_are_not_called_changed() -> None:
    series = verdicts.launches_in(BENCH / "pool.parquet")[0]
    random = np.random.default_rng(3)
    table: Launches = series["table"]
    found: list[Replayed] = []
    for _ in range(40):
        order = random.permutation(len(table.logs))
        a, b = table.logs[order[:10]], table.logs[order[10:20]]
        found.append(replayed(table.rows, a, b, pairs=False, truth=0.0))
    assert np.mean([any(said.changed for said in one.looks.values()) for one in found]) <= 0.025


@pytest.mark.parametrize(("spread", "rounds"), [(0.005, 5), (0.01, 9)])
@pytest.mark.slow
def test_five_percent_are_found_as_soon_as_the_spread_permits(spread: float, rounds: int) -> None:
    random = np.random.default_rng(4)
    of = table_of()
    found = [
        replayed(
            of, made(of, spread, 20, random), made(of, spread, 20, random) - np.log(1.05), pairs=False, truth=None
        )
        for _ in range(30)
    ]  # fmt: skip
    stopped = [one.looks[one.stop] for one in found]
    assert all(said.decided for said in stopped)
    assert np.mean([(said.bands > 0).mean() for said in stopped]) >= 0.95
    assert np.median([one.stop for one in found]) <= rounds


# --- Comparisons -----------------------------------------------------------------------------------------------------


def stopped(side: Side, session: str | None = "s", most: int = 20, first_turn: int = 1) -> Side:
    """The side as of a campaign until decided."""
    facts: list[dict[str, Any]] = [
        {"campaign": "t", "session": session, "turn": turn, FACT: {"first": FIRST, "most": most}}
        for turn in range(first_turn, len(side.launches) + first_turn)
    ]
    launches = [
        msgspec.structs.replace(one, facts=f) for one, f in zip(side.launches, facts, strict=True)
    ]  # fmt: skip
    return msgspec.structs.replace(side, launches=launches)


def two(count: int, more: int = 0, factor: float = 1.1) -> tuple[Side, Side]:
    a = side_of(rows_of(count + more), "a")
    b = side_of(longer(rows_of(count, seed=2), [factor] * count), "b")
    return stopped(a), stopped(b)


def middle_width(found: Comparison) -> float:
    return float(np.median([(x.effect.high or np.inf) - (x.effect.low or 0) for x in found.bands]))


def test_launches_that_stopped_when_decided_are_judged_as_that() -> None:
    a, b = two(8)
    plain = [
        msgspec.structs.replace(
            side,
            launches=[
                msgspec.structs.replace(one, facts={k: v for k, v in one.facts.items() if k != FACT})
                for one in side.launches
            ],
        )
        for side in (a, b)
    ]
    fixed, found = compare(plain[0], plain[1]), compare(a, b)
    assert fixed.sequential is None and found.sequential is not None
    looks = found.sequential
    assert (looks.rounds, looks.looks, looks.first, looks.most) == (8, 4, 5, 20)
    assert looks.share == pytest.approx(SequentialDesign().share(8)) and looks.stopped is None
    assert middle_width(found) > 1.3 * middle_width(fixed)
    for one, other in zip(found.bands, fixed.bands, strict=True):
        assert one.effect.speed == other.effect.speed
        assert 2 * (other.effect.p or 0) < (one.effect.p or 0) <= (other.effect.p or 0) / looks.share * 1.001
    assert found.verdict == "slower"
    assert (found.needed or 0) >= (fixed.needed or 0)


def test_what_a_look_has_decided_stays_decided() -> None:
    """The margin is met after five rounds, by chance; by that round alone the sixth would leave it open again."""
    a, b = two(6, factor=1.0)
    last = longer([list(b.launches[5].rows.values())], [1.25])
    b.launches[5].rows.update(dict(zip(b.launches[5].rows, last[0], strict=True)))
    five = [msgspec.structs.replace(side, launches=side.launches[:5]) for side in (a, b)]
    at_five, at_six = compare(five[0], five[1]), compare(a, b)
    assert {one.effect.verdict for one in at_five.bands} == {"same"}
    for one, other in zip(at_five.bands, at_six.bands, strict=True):
        assert other.effect.verdict == "same" and other.effect.launches_a == 6
        assert (other.effect.low, other.effect.high) == (one.effect.low, one.effect.high)


def effect(low: float | None, high: float | None, p: float | None) -> Effect:
    """Of which both intervals are the same."""
    both = None if p is None else (low, high)
    verdict = verdict_of(low, high, both, CompareSettings())
    return Effect(
        speed=1.0, low=low, high=high, p=p, q=p, spread=0.01, launches_a=8, launches_b=8, verdict=verdict, needed=9,
        simultaneous=both,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "now", "ends", "verdict"),
    [
        ((0.8, 0.94, 1e-5), (0.85, 1.01, 0.1), (0.85, 0.94), "slower"),
        ((0.8, 0.99, 1e-5), (0.96, 1.01, 0.1), (0.96, 0.99), "differs"),
        ((0.8, 1.2, 0.5), (1.06, 1.3, 1e-5), (1.06, 1.2), "faster"),
        ((0.9, 1.01, 0.2), (0.97, 1.1, 0.3), (0.97, 1.01), "same"),
        ((0.8, 0.9, 1e-5), (0.95, 1.3, 0.1), (0.95, 1.3), "inconclusive"),  # nothing is left
        ((None, None, None), (0.8, 0.9, 1e-5), (0.8, 0.9), "slower"),
        ((0.8, 0.9, 1e-5), (None, None, None), (None, None), "inconclusive"),
    ],
)
def test_looks_add_up(before: Any, now: Any, ends: Any, verdict: str) -> None:
    [found] = combine_looks([effect(*before)], [effect(*now)], CompareSettings())
    assert ((found.low, found.high), found.verdict) == (ends, verdict)


def test_a_round_that_is_not_complete_is_not_judged() -> None:
    whole = compare(*two(7))
    found = compare(*two(7, more=1))
    assert found.sequential == whole.sequential and found.launches_a == 7
    assert found.bands == whole.bands and found.warnings[0].startswith("1 launch of incomplete rounds")


def test_before_the_first_look_nothing_is_decided() -> None:
    found = compare(*two(4, factor=3))
    assert found.sequential and (found.sequential.looks, found.sequential.share) == (0, 0)
    assert found.verdict == "inconclusive" and {x.effect.low for x in found.bands} == {None}
    assert "first look after round 5" in " ".join(headline(found))
    assert "first look after round 5" in comparison_markdown(found) and comparison_page(found)


def test_launches_of_other_campaigns_are_judged_as_if_they_had_been_looked_at() -> None:
    a, b = two(8)
    fresh = side_of(rows_of(10, seed=3), "fresh")
    found = compare(fresh, b)
    assert found.sequential and found.sequential.rounds == 8 and found.launches_a == 10
    assert any("compared with other launches" in warning for warning in found.warnings)
    again = [
        msgspec.structs.replace(side, launches=[*side.launches, *stopped(side_of(rows_of(6, seed=seed), f"x{seed}"), "r").launches])
        for seed, side in ((5, a), (6, b))
    ]  # fmt: skip
    found = compare(again[0], again[1])
    assert found.sequential and (found.sequential.rounds, found.launches_a) == (8, 14)
    assert any("2 campaigns that stopped when decided" in warning for warning in found.warnings)


def test_what_was_measured_in_part_of_a_campaign_decides_about_its_last_round() -> None:
    def of(side: Side, benchmark: str) -> Side:
        return msgspec.structs.replace(
            side,
            launches=[
                msgspec.structs.replace(
                    one,
                    name=f"{one.name}-{benchmark}",
                    run=msgspec.structs.replace(one.run, benchmarks=[benchmark]),
                )
                for one in side.launches
            ],
        )

    a, b = two(7)
    c, d = two(6)
    both = [
        msgspec.structs.replace(one, launches=[*of(one, "x").launches, *of(other, "y").launches])
        for one, other in ((a, c), (b, d))
    ]
    seen_a, seen_b, looks, notes = plan_looks(both[0], both[1])
    assert looks and looks.rounds == 6 and len(seen_a.launches) == len(seen_b.launches) == 12
    assert notes == ["2 launches of incomplete rounds; not judged"]


def test_compare_reads_from_the_archive_how_launches_stopped(imb: Imb, archive: Archive) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        for turn, rows in enumerate(rows_of(6, seed=seed), 1):
            facts = {"campaign": "t", "session": "s", "turn": turn, FACT: {"first": 5, "most": 30}}
            archive.add(content(rows, labels=[f"t/{name}"], facts=facts))
    found = json.loads(imb("compare", "t/a", "t/b", "--format", "json").out)
    assert found["pairs"] is True
    assert found["sequential"]["rounds"] == 6 and found["sequential"]["most"] == 30
    assert "6 rounds of at most 30, 2 looks" in " ".join(imb("compare", "t/a", "t/b").out.split())
    assert design_of({}) is None and design_of({FACT: {"first": 4, "most": 9}}) == SequentialDesign(4, 9)
