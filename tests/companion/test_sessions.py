"""Sessions, pairs and what a comparison may conclude from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.test_compare import content, longer, ran, row, rows_of, side_of
from imb.compare.comparison import CompareSettings, compare
from imb.model.observations import Side
from imb.model.records import End, Result, write
from imb.store.store import Archive, Content


def placed(side: Side, facts: Iterable[dict[str, Any]]) -> Side:
    """With these facts, launch by launch."""
    launches = [
        msgspec.structs.replace(one, facts=said) for one, said in zip(side.launches, facts, strict=True)
    ]
    return msgspec.structs.replace(side, launches=launches)


def turns(session: str, numbers: Iterable[int], cell: int = 0) -> list[dict[str, Any]]:
    return [
        {"session": session, "turn": turn, "cell": cell, "number": 10 + turn, "campaign": "x"}
        for turn in numbers
    ]


def drifting(count: int, factor: float = 1.1) -> tuple[Side, Side]:
    """Turns of a campaign on a machine that becomes three times slower."""
    drift = np.exp(np.linspace(0, 1, count))
    a = longer(rows_of(count), drift)
    b = longer(rows_of(count, seed=2, factor=lambda *_: factor), drift)
    every = range(1, count + 1)
    return placed(side_of(a, "a"), turns("s", every)), placed(side_of(b, "b"), turns("s", every))


def without(side: Side, *turn: int) -> Side:
    launches = [one for one in side.launches if one.facts["turn"] not in turn]
    return msgspec.structs.replace(side, launches=launches)


# --- Pairs -----------------------------------------------------------------------------------------------------------


def test_a_launch_that_is_missing_costs_its_own_pair() -> None:
    a, b = drifting(10)
    found = compare(a, without(b, 7))
    assert (found.unit, found.verdict, found.launches_a, found.launches_b) == ("pair", "slower", 9, 9)
    assert any(
        "1 of 10 pairs lost: B has no launch of round 7 (failed or removed)" in one for one in found.warnings
    )


def test_a_launch_without_rows_is_said_to_have_failed() -> None:
    a, b = drifting(10)
    a.launches[2].rows.clear()
    found = compare(a, b)
    assert (found.unit, found.verdict, found.launches_b) == ("pair", "slower", 9)
    assert any("1 of 10 pairs lost: launch 13 of A failed" in one for one in found.warnings)


def test_the_same_campaign_again_adds_pairs() -> None:
    sides = []
    for side, other in zip(drifting(8), drifting(8), strict=True):
        again = placed(other, turns("another", range(1, 9)))
        again = msgspec.structs.replace(
            again, launches=[msgspec.structs.replace(one, name=f"{one.name}-again") for one in again.launches]
        )
        sides.append(msgspec.structs.replace(side, launches=[*side.launches, *again.launches]))
    found = compare(sides[0], sides[1])
    assert (found.unit, found.launches_a, found.sessions_a, found.verdict) == ("pair", 16, 2, "slower")
    assert not any("lost" in one for one in found.warnings)


def test_launches_of_one_turn_are_paired_by_what_they_measured() -> None:
    """Two components of a campaign with the same number of ranks."""
    made = []
    for side in drifting(8):
        cells = [
            msgspec.structs.replace(one, name=f"{one.name}-{cell}", facts={**one.facts, "cell": cell})
            for one in side.launches
            for cell in (0, 1)
        ]
        made.append(msgspec.structs.replace(side, launches=cells))
    found = compare(made[0], without(made[1], 3))
    assert (found.unit, found.launches_a) == ("pair", 14)
    assert any("2 of 16 pairs lost" in one for one in found.warnings)


def test_launches_of_other_sessions_beside_pairs_are_not_judged() -> None:
    a, b = drifting(8)
    extra = placed(side_of(rows_of(3, seed=9), "extra"), turns("other", range(1, 4)))
    more = msgspec.structs.replace(b, launches=[*b.launches, *extra.launches])
    found = compare(a, more)
    assert (found.unit, found.launches_b, found.verdict) == ("pair", 8, "slower")
    assert any(one.startswith("3 launches of B without a partner") for one in found.warnings)


@pytest.mark.slow
def test_a_removed_run_costs_its_pair_and_the_campaign_again_adds_pairs(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    words = [
        "--a", "FAKE_TIME=1", "--b", "FAKE_TIME=2", *fake_mpi.make(tmp_path / "mpi"), "--launches", 8,
        "--name", "t", "--format", "json", "PingPong",
    ]  # fmt: skip
    assert imb("ab", *words).code == 10
    facts = [archive.run(name).facts() for name in archive.ids()]
    assert {(one["turn"], one["cell"]) for one in facts} == {(turn, 0) for turn in range(1, 9)}
    assert all(one["session"] and one["host"] for one in facts)
    victim = next(name for name in archive.ids() if archive.run(name).facts()["turn"] == 5)
    assert imb("archive", "rm", victim).code == 0
    found = json.loads(imb("compare", "t/a", "t/b", "--format", "json").out)
    assert (found["pairs"], found["launches_a"], found["launches_b"]) == (True, 7, 7)
    assert any("1 of 8 pairs lost" in one for one in found["warnings"])
    assert imb("ab", *words).code == 10
    found = json.loads(imb("compare", "t/a", "t/b", "--format", "json").out)
    assert (found["pairs"], found["launches_a"], found["sessions_b"]) == (True, 15, 2)


# --- Sessions --------------------------------------------------------------------------------------------------------


def days(
    count: int, *, spread: float, seed: int, launches: int = 5, factor: float = 1.0
) -> list[list[Result]]:
    """Launches 1 % apart, of days that are `spread` apart, day by day."""
    random = np.random.default_rng(seed)
    found = []
    for day in range(count):
        level = float(np.exp(random.normal(0, spread))) * factor
        found += rows_of(launches, seed=seed * 100 + day, factor=lambda *_, level=level: level)
    return found


def of_days(
    name: str, count: int, launches: int = 5, apart: timedelta = timedelta(days=1), **more: Any
) -> Side:
    """`apart`: from the beginning of a session to that of the next one; its launches are a minute apart."""
    rows = days(count, launches=launches, **more)
    facts = []
    for number in range(len(rows)):
        session, launch = divmod(number, launches)
        began = datetime(2026, 11, 1, 2, 0) + session * apart + timedelta(minutes=launch)
        facts.append({"session": f"{name}{session}", "started": began.isoformat()})
    return placed(side_of(rows, name), facts)


def test_launches_of_different_sessions_are_not_judged_by_the_spread_of_launches() -> None:
    found = compare(of_days("a", 1, spread=0, seed=1), of_days("b", 1, spread=0, seed=2, factor=1.2))
    assert (found.verdict, found.sessions_a, found.sessions_b) == ("inconclusive", 1, 1)
    assert "different sessions" in (found.inconclusive or "")
    assert found.warnings[0] == found.remedy and "imb ab" in found.warnings[0]
    assert {one.effect.verdict for one in found.bands} == {"inconclusive"}
    assert all(one.effect.interval and one.effect.speed < 0.9 for one in found.bands)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(121.0, "slower"), (3.9, "inconclusive"), (1 / 121, "inconclusive")]
)
def test_what_no_session_explains_is_slower(factor: float, verdict: str) -> None:
    """One session against one: four times as slow as the slowest launch is beyond what sessions differ by. Faster is no pass."""
    a, b = of_days("a", 1, spread=0, seed=1), of_days("b", 1, spread=0, seed=2, factor=factor)
    found = compare(a, b)
    assert found.verdict == verdict and found.inconclusive
    bands = {one.effect.verdict for one in found.bands}
    assert bands == ({"inconclusive"} if 1 < factor < 4 else {"slower" if factor > 1 else "faster"})
    assert {one.effect.verdict for one in found.rows} == {"inconclusive"}
    if factor > 4:
        assert found.warnings[0].startswith(
            "8 of 8 bands judged by a bound, not by a test: every launch of B is a factor of 4 or more away"
        )
    few = msgspec.structs.replace(b, launches=b.launches[:2])
    assert compare(a, few).verdict == "inconclusive"


@pytest.mark.slow
def test_identical_campaigns_of_different_days_are_not_called_changed() -> None:
    """Days that differ by 10 %, launches of a day by 1 %: by launches alone nearly all would be called changed."""
    changed = 0
    for seed in range(60):
        sides = [of_days(name, 5, spread=0.1, seed=2 * seed + at) for at, name in enumerate("ab")]
        found = compare(sides[0], sides[1])
        assert found.unit == "session"
        changed += found.verdict in ("slower", "faster", "differs")
    assert changed <= 2


def test_a_change_is_found_between_sessions_that_agree() -> None:
    a, b = of_days("a", 6, spread=0.005, seed=1), of_days("b", 6, spread=0.005, seed=2, factor=1.2)
    found = compare(a, b)
    assert (found.unit, found.verdict, found.inconclusive) == ("session", "slower", None)
    assert {one.effect.launches_a for one in found.bands} == {30}
    same = compare(a, of_days("c", 6, spread=0.005, seed=3))
    assert same.verdict == "same"


def test_sessions_in_a_row_count_as_one() -> None:
    """They do not show how far hours differ: three in a row and three in a row hours later are one against one."""

    def sides(minutes: int) -> tuple[Side, Side]:
        apart = timedelta(minutes=minutes)
        first = of_days("a", 3, spread=0.001, seed=1, apart=apart)
        return first, of_days("b", 3, spread=0.001, seed=2, factor=1.2, apart=apart)

    found = compare(*sides(6))
    assert (found.verdict, found.unit) == ("inconclusive", "launch")
    assert "(1 and 1; those that began within 50 minutes of the first count as one)" in (
        found.inconclusive or ""
    )
    found = compare(*sides(90))
    assert (found.verdict, found.unit, found.sessions_a) == ("slower", "session", 3)
    one_near = compare(sides(90)[0], sides(20)[1])
    assert (one_near.verdict, one_near.unit) == ("inconclusive", "launch")


def test_hourly_sessions_do_not_merge() -> None:
    """The time counts from the first launch of a session, so the sessions between them do not make one of the first and the last."""
    a, b = (
        of_days(name, 5, spread=0.005, seed=seed, apart=timedelta(hours=1)) for seed, name in enumerate("ab")
    )
    found = compare(a, b)
    assert (found.unit, found.sessions_a, found.sessions_b) == ("session", 5, 5)
    a, b = (
        of_days(name, 5, spread=0.005, seed=seed, apart=timedelta(minutes=20))
        for seed, name in enumerate("ab")
    )
    found = compare(a, b)
    assert (found.sessions_a, found.verdict) == (2, "inconclusive")


def test_two_sessions_are_too_few() -> None:
    found = compare(of_days("a", 2, spread=0, seed=1), of_days("b", 4, spread=0, seed=2, factor=2.0))
    assert (found.verdict, found.unit) == ("inconclusive", "session")
    assert "2 sessions and B 4; a verdict between sessions needs 3" in (found.inconclusive or "")


def test_two_folders_of_logs_show_effects_and_say_what_is_missing(imb: Imb, tmp_path: Path) -> None:
    for name, factor, seed in (("old", 1.0, 1), ("new", 2.0, 2)):
        (tmp_path / name).mkdir()
        for number, rows in enumerate(rows_of(6, seed=seed, factor=lambda *_, factor=factor: factor)):
            (tmp_path / name / f"{number}.jsonl").write_bytes(content(rows).records or b"")
    said = imb("compare", tmp_path / "old", tmp_path / "new")
    out = " ".join(said.out.split())
    assert said.code == 11 and "0.50x ?" in out
    assert out.startswith("Inconclusive: unknown session of 6 launches of A and 6 launches of B")
    assert out.count("unknown session of") == 1
    assert re.search(r"\d+ rows not judged; largest ratio 0\.\d+x: PingPong", out), out
    assert "No significant difference" not in out
    assert "--assume-one-session" in out
    said = imb("compare", tmp_path / "old", tmp_path / "new", "--assume-one-session")
    out = " ".join(said.out.split())
    assert said.code == 10 and "0.50x (slower)" in out and "assumed to belong to one session" in out


def test_a_report_judges_logs_of_one_session_as_compare_does(imb: Imb, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    for name, factor, seed in (("old", 1.0, 1), ("new", 2.0, 2)):
        (tmp_path / name).mkdir()
        for number, rows in enumerate(rows_of(6, seed=seed, factor=lambda *_, factor=factor: factor)):
            (tmp_path / name / f"{number}.jsonl").write_bytes(content(rows).records or b"")
    pages = []
    for words in ([], ["--assume-one-session"]):
        page = tmp_path / f"page{len(words)}.html"
        assert imb("report", tmp_path / "old", tmp_path / "new", "-o", page, *words).code == 0
        pages.append(" ".join(page.read_text().split()))
    alone, together = pages
    assert "unknown session of" in alone and "assumed to belong to one session" not in alone
    assert "assumed to belong to one session" in together and "unknown session of" not in together


# --- What decides ----------------------------------------------------------------------------------------------------


def test_slower_is_slower_by_more_than_matters() -> None:
    a = side_of(rows_of(10, spread=0.003))
    slightly = side_of(rows_of(10, spread=0.003, seed=2, factor=lambda *_: 1.03), "b")
    found = compare(a, slightly)
    assert found.verdict == "differs" and {x.effect.verdict for x in found.bands} == {"differs"}
    for one in found.bands:
        low, high = one.effect.simultaneous or (None, None)
        assert high is not None and high < 1 and (low or 0) < (one.effect.low or 0)
        # That it is by less than matters is decided by the interval of the band alone.
        assert one.effect.interval == (one.effect.low, one.effect.high) and one.effect.confidence == 0.95
    assert compare(a, slightly, CompareSettings(relevant=0.01)).verdict == "slower"
    assert compare(side_of(rows_of(10, spread=0.003, seed=3), "c"), a).verdict == "same"


def test_an_undecided_row_shows_the_interval_that_did_not_decide() -> None:
    found = compare(side_of(rows_of(6)), side_of(rows_of(6, seed=2, factor=lambda *_: 1.015), "b"))
    effects = [*(x.effect for x in found.rows), *(x.effect for x in found.bands)]
    for effect in (one for one in effects if one.verdict == "inconclusive"):
        low, high = effect.interval or (None, None)
        assert low is not None and high is not None and low <= 1 <= high


def test_same_needs_as_many_launches_as_changed() -> None:
    found = compare(side_of(rows_of(2, spread=1e-5)), side_of(rows_of(2, spread=1e-5, seed=2), "b"))
    assert {x.effect.verdict for x in found.bands} == {"inconclusive"} and found.verdict == "inconclusive"


def test_the_whole_is_not_the_same_while_a_row_is_slower() -> None:
    def one_row(name: str, n: int) -> float:
        return 1.04 if (name, n) == ("PingPong", 64) else 1.0

    found = compare(
        side_of(rows_of(12, spread=0.002)), side_of(rows_of(12, spread=0.002, seed=2, factor=one_row), "b")
    )
    assert found.verdict == "differs"
    assert [str(x.key) for x in found.rows if x.effect.verdict == "differs"] == [
        "PingPong, 2 ranks, 64 bytes"
    ]


def test_rows_that_send_nothing_drag_no_band() -> None:
    def nothing(name: str, n: int) -> float:
        return 4.0 if n == 0 else 1.0

    found = compare(side_of(rows_of(8)), side_of(rows_of(8, seed=2, factor=nothing), "b"))
    bands = {str(x.band): x.effect for x in found.bands if x.curve.benchmark == "Allreduce"}
    assert bands["1-32"].speed == pytest.approx(1, rel=0.05)
    zero = [x for x in found.rows if x.key.bytes == 0]
    assert {x.effect.verdict for x in zero} == {"slower"} and found.verdict == "slower"
    assert any("2 rows" in one and "not in a band" in one for one in found.remarks)


# --- Completion time -------------------------------------------------------------------------------------------------


def times(count: int, largest: float | None, mean: float, seed: int) -> list[list[Result]]:
    random = np.random.default_rng(seed)
    return [
        [
            row("Allreduce", n, mean * 1e-6 * noise, time_max_seconds=largest and largest * 1e-6 * noise)
            for n in (8, 64)
        ]
        for noise in random.normal(1, 0.003, count)
    ]


def test_collectives_are_judged_by_the_slowest_rank() -> None:
    found = compare(side_of(times(6, 2.0, 1.0, 1)), side_of(times(6, 3.0, 1.0, 2), "b"))
    assert found.verdict == "slower" and found.rows[0].a == pytest.approx(2e-6, rel=0.01)
    by_mean = compare(
        side_of(times(6, 2.0, 1.0, 1)),
        side_of(times(6, 3.0, 1.0, 2), "b"),
        CompareSettings(metric="time_avg"),
    )
    assert by_mean.verdict == "same"


def test_the_slowest_rank_is_never_compared_with_the_mean() -> None:
    found = compare(side_of(times(6, 2.0, 1.0, 1)), side_of(times(6, None, 1.0, 2), "b"))
    assert found.verdict == "same" and found.rows[0].a == pytest.approx(1e-6, rel=0.01)
    assert any("2 rows" in one and "judged by t_avg" in one for one in found.warnings)


# --- Baselines -------------------------------------------------------------------------------------------------------


def kept(archive: Archive, label: str, sessions: int, factor: float = 1.0) -> None:
    machine = {"cpu_model": "X1", "cores": 8, "sockets": 1, "threads_per_core": 2}
    for session in range(sessions):
        for number in range(5):
            archive.add(
                Content(
                    records=fake_mpi.records(
                        1e-6 * factor * (1 + 0.001 * number + 0.002 * session), ("n1", "n1"), rows=8
                    ),
                    facts={"conditions": {"machine": machine}, "session": f"{label}{session}"},
                    labels=[label],
                )
            )


def test_a_baseline_wants_five_sessions(imb: Imb, archive: Archive) -> None:
    kept(archive, "one", 1)
    kept(archive, "three", 3)
    said = imb("baseline", "set", "fabric", "one")
    assert said.code == 0 and "5 launches of 1 session; take 5 sessions" in said.err
    said = imb("baseline", "set", "fabric", "three")
    assert said.code == 0 and "15 launches of 3 sessions; take 5 sessions" in said.err
    assert (
        "with fewer, a check of one session is inconclusive, unless a band is 4 times as slow or --with-old is given"
        in said.err
    )
    kept(archive, "later", 3, 1.3)
    assert imb("baseline", "check", "fabric", "later").code == 10
    kept(archive, "once", 1, 1.3)
    said = imb("baseline", "check", "fabric", "once")
    out = " ".join(said.out.split())
    assert said.code == 11 and "different sessions (3 and 1)" in out and "--with-old" in out


def test_bands_that_do_not_differ_stay_same_among_many_that_do() -> None:
    """The spread of launches is told within sides: permuted ones of sides that differ have the difference in it."""

    def factor(name: str, length: int) -> float:
        return 1.0 if (name, length) in {("PingPong", 0), ("PingPong", 8)} else 2.0

    called = 0
    for seed in range(20):
        a = side_of(rows_of(8, spread=0.002, seed=1000 + 2 * seed))
        b = side_of(rows_of(8, spread=0.002, factor=factor, seed=1001 + 2 * seed), "b")
        first = compare(a, b).bands[0]
        assert (first.curve.benchmark, first.band.first) == ("PingPong", 1)
        called += first.effect.verdict != "same"
    assert called <= 1


# --- Logs ------------------------------------------------------------------------------------------------------------


def logs(folder: Path, days: int, factor: float = 1.0, *, first: int = 1, hour: int = 2) -> Path:
    """A log a day, as `imb` did not launch it: its date is all that is known of its session."""
    folder.mkdir()
    for day, rows in enumerate(rows_of(days, seed=first, factor=lambda *_: factor), first):
        began = f"2026-11-{day:02}T{hour:02}:00:00Z"
        (folder / f"{day}.jsonl").write_bytes(write([ran(date=began), *rows, End(state="complete")]))
    return folder


def test_logs_with_dates_are_sessions(imb: Imb, tmp_path: Path) -> None:
    """One log a day, five of each: compare and watch come to one conclusion."""
    old, new = logs(tmp_path / "old", 5), logs(tmp_path / "new", 5, 1.12, first=11)
    said = imb("compare", old, new, "--format", "json")
    found = json.loads(said.out)
    assert (said.code, found["verdict"], found["unit"]) == (10, "slower", "session")
    assert (found["sessions_a"], found["sessions_b"]) == (5, 5)
    for number, path in enumerate(sorted(new.iterdir())):
        path.rename(old / f"{11 + number}.jsonl")
    assert imb("watch", old).code == 10


def test_logs_of_one_hour_are_one_session(imb: Imb, tmp_path: Path) -> None:
    for name, hour in (("old", 2), ("new", 3)):
        (tmp_path / name).mkdir()
        for minute, rows in enumerate(rows_of(5, seed=hour, factor=lambda *_, hour=hour: float(hour))):
            began = f"2026-11-01T{hour:02}:{minute:02}:00Z"
            (tmp_path / name / f"{minute}.jsonl").write_bytes(
                write([ran(date=began), *rows, End(state="complete")])
            )
    said = imb("compare", tmp_path / "old", tmp_path / "new")
    out = " ".join(said.out.split())
    assert said.code == 11 and "different sessions (1 and 1; those that began within 50 minutes" in out
    assert "if all were launched in one session, give --assume-one-session" in out


def test_logs_without_dates_have_no_session(imb: Imb, tmp_path: Path) -> None:
    old, new = logs(tmp_path / "old", 5), logs(tmp_path / "new", 5, 1.12, first=11)
    (new / "x.jsonl").write_bytes(write([ran(), *rows_of(1)[0], End(state="complete")]))
    said = imb("compare", old, new)
    assert said.code == 11 and "unknown session of 1 launch of B" in " ".join(said.out.split())


def test_sessions_that_decide_nothing_state_what_they_can_detect(imb: Imb, archive: Archive) -> None:
    """Three sessions of each that differ by 4 % among themselves."""
    machine = {"cpu_model": "X1", "cores": 8, "sockets": 1, "threads_per_core": 2}
    for label, factor in (("old", 1.0), ("new", 1.02)):
        for session, spread in enumerate((0.96, 1.0, 1.04)):
            records = fake_mpi.records(1e-6 * factor * spread, ("n1", "n1"), rows=8)
            facts = {"conditions": {"machine": machine}, "session": f"{label}{session}"}
            archive.add(Content(records=records, facts=facts, labels=[label]))
    said = imb("compare", "old", "new")
    assert said.code == 11
    found = re.search(r"3 against 3 sessions: minimum detectable change (\d+) %", " ".join(said.out.split()))
    assert found and 10 < int(found[1]) < 100
