"""Steps in histories: the arithmetic by simulation, and `imb watch` through the door."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from companion.door import Imb
from companion.machines import curve, launch, message, save
from imb.history import prediction, steps
from imb.history.session_history import CORRELATED, sessions_of
from imb.model.observations import Launch
from imb.model.records import Platform, Result, Run, write
from imb.report import terminal
from imb.stats.arrays import Values
from imb.store import names

FIVE = float(np.log(1.05))
# The Nile's yearly flow at Aswan from 1871 on (Cobb, Biometrika 65 (1978) 243): it fell after 1898.
NILE = [
    *(1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140),
    *(1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969),
    *(831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759),
    *(781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890),
    *(744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740),
]  # fmt: skip


def noise(random: np.random.Generator, sessions: int, series: int, spread: float = 0.01) -> Values:
    """Half of the variance is that of the session."""
    of_session = random.normal(0, spread, (sessions, 1))
    made: Values = (of_session + random.normal(0, spread, (sessions, series))) / np.sqrt(2)
    return made


def heavy(random: np.random.Generator, sessions: int, series: int) -> Values:
    """One session in twenty stands out."""
    odd = random.random((sessions, 1)) < 0.05
    return noise(random, sessions, series) + odd * random.exponential(0.1, (sessions, 1))


def correlated(random: np.random.Generator, sessions: int, series: int) -> Values:
    made = noise(random, sessions, series)
    for session in range(1, sessions):
        made[session] += 0.4 * made[session - 1]
    return made


def gaps(random: np.random.Generator, sessions: int, series: int) -> Values:
    made = noise(random, sessions, series)
    made[random.random(made.shape) < 0.2] = np.nan
    return made


@pytest.mark.parametrize("made", [noise, heavy, correlated, gaps])
@pytest.mark.slow
def test_histories_without_a_change_show_none(made: Any) -> None:
    """At most 1 % of them: of 100, five or more with a probability of 0.3 %."""
    random = np.random.default_rng(20261101)
    alarms = [
        bool(steps.find_steps(made(random, sessions, 12)).steps) for sessions in (12, 40) for _ in range(50)
    ]
    assert sum(alarms) <= 4


@pytest.mark.parametrize("made", [noise, heavy, gaps])
@pytest.mark.slow
def test_a_step_of_five_percent_is_found_within_five_sessions(made: Any) -> None:
    random = np.random.default_rng(20261102)
    found = 0
    for _ in range(20):
        logs = made(random, 60, 12)
        logs[55:, :4] += FIVE
        found += any(abs(step.at - 55) <= 1 and step.size > 0 for step in steps.find_steps(logs).steps)
    assert found >= 19


def test_no_interval_of_a_step_contains_no_change() -> None:
    """In a short history a step that is certain may have an interval that is not: correlated sessions count as fewer."""
    random, found = np.random.default_rng(20261127), []
    for _ in range(30):
        logs = random.normal(0, 0.01, (10, 4))
        logs[5:] += FIVE
        found += steps.find_steps(logs).steps
    assert len(found) > 20 and all(step.low > 0 for step in found)


def test_what_changed_is_named_with_its_size() -> None:
    logs = noise(np.random.default_rng(1), 60, 12, 0.005)
    logs[30:, 3] += 0.10
    logs[45:, [3, 7]] -= 0.06
    found = steps.find_steps(logs)
    assert [(step.series, step.at) for step in found.steps] == [(3, 30), (3, 45), (7, 45)]
    assert not found.drifts
    for step, size in zip(found.steps, (0.10, -0.06, -0.06), strict=True):
        assert step.low < size < step.high and step.high - step.low < 0.03
    assert [step.series for step in steps.find_steps(logs, least=0.08).steps] == [3]


@pytest.mark.slow
def test_intervals_cover_what_they_promise() -> None:
    random = np.random.default_rng(2)
    covered = []
    for _ in range(60):
        logs = noise(random, 40, 8)
        logs[20:, :2] += 0.08
        covered += [step.low <= 0.08 <= step.high for step in steps.find_steps(logs).steps if step.at == 20]
    assert len(covered) > 80 and np.mean(covered) >= 0.93


def test_the_nile_fell_after_1898() -> None:
    [step] = steps.find_steps(np.log(np.array(NILE, dtype=np.float64))[:, np.newaxis]).steps
    assert 1871 + step.at == 1899 and np.exp(step.size) == pytest.approx(850 / 1098, abs=0.02)


def test_one_session_that_stands_out_is_no_step() -> None:
    logs = noise(np.random.default_rng(3), 30, 6)
    logs[17] += 0.5
    logs[-1] += 0.5
    assert not steps.find_steps(logs).steps


@pytest.mark.parametrize(("seed", "size"), [(1, 0.05), (2, 0.1), (3, 0.5), (4, -0.1)])
def test_a_level_that_came_to_an_end_is_past(seed: int, size: float) -> None:
    logs = noise(np.random.default_rng(seed), 50, 12)
    logs[20:26, :4] += size
    found = steps.find_steps(logs)
    assert {(step.at, step.until) for step in found.steps} == {(20, 26)}
    assert {step.series for step in found.steps} <= {0, 1, 2, 3} and len(found.steps) >= (
        4 if abs(size) > 0.05 else 2
    )
    assert all(abs(step.size - size) < 0.025 for step in found.steps) and not found.drifts


def test_a_level_between_two_others_is_not_past() -> None:
    logs = noise(np.random.default_rng(5), 60, 6, 0.005)
    logs[20:30, 2] += 0.20
    logs[30:, 2] += 0.05
    found = steps.find_steps(logs)
    assert [(one.series, one.at, one.until) for one in found.steps] == [(2, 20, None), (2, 30, None)]


@pytest.mark.parametrize("share", [0.9, 1.0])
def test_a_walk_is_told_from_independent_sessions(share: float) -> None:
    logs = noise(np.random.default_rng(7), 60, 12)
    assert steps.find_steps(logs).correlation < CORRELATED
    for session in range(1, 60):
        logs[session] += share * logs[session - 1]
    assert steps.find_steps(logs).correlation >= CORRELATED


def test_a_drift_that_looks_like_steps_is_told() -> None:
    logs = noise(np.random.default_rng(8), 60, 12)
    assert not steps.find_steps(logs).sloping
    assert len(steps.find_steps(logs + np.linspace(0, 0.15, 60)[:, None]).sloping) > 6


def test_a_drift_is_no_step() -> None:
    logs = noise(np.random.default_rng(4), 60, 6, 0.005)
    logs[:, 2] += np.linspace(0, 0.15, 60)
    found = steps.find_steps(logs)
    assert not found.steps and [one.series for one in found.drifts] == [2]
    assert found.drifts[0].low < 0.15 < found.drifts[0].high


def test_two_steps_in_one_direction_are_no_drift() -> None:
    logs = noise(np.random.default_rng(5), 60, 6, 0.005)
    logs[20:, 2] += 0.08
    logs[40:, 2] += 0.08
    found = steps.find_steps(logs)
    assert [(one.series, one.at) for one in found.steps] == [(2, 20), (2, 40)] and not found.drifts


def test_correlation_is_seen_and_steps_are_none() -> None:
    random = np.random.default_rng(6)
    logs = noise(random, 400, 10)
    assert steps.correlation_of(logs) < 0.2
    logs[200:] += 0.1
    assert steps.correlation_of(logs) < 0.2
    for session in range(1, 400):
        logs[session] += 0.6 * logs[session - 1]
    assert 0.5 < steps.correlation_of(logs) < 0.8


def test_equal_figures_have_no_step_and_exact_ones_do() -> None:
    logs = np.zeros((20, 3))
    assert steps.find_steps(logs) == steps.DetectedSteps([], [], 0.0, [])
    logs[12:, 1] = 0.05
    assert [(one.series, one.at) for one in steps.find_steps(logs).steps] == [(1, 12)]


@pytest.mark.parametrize("logs", [np.zeros((7, 2)), np.full((20, 2), np.inf)])
def test_what_cannot_be_judged_is_refused(logs: Values) -> None:
    with pytest.raises(ValueError, match="8 sessions"):
        steps.find_steps(logs)


def test_series_without_a_figure_are_passed_over() -> None:
    logs = noise(np.random.default_rng(7), 30, 4, 0.005)
    logs[:, 1] = np.nan
    logs[:26, 2] = np.nan
    logs[20:, 0] += 0.1
    assert [(one.series, one.at) for one in steps.find_steps(logs).steps] == [(0, 20)]


def at(date: str, **facts: Any) -> Launch:
    made = Launch(name=date, run=Run(date=date), facts=facts, rows={}, failures={})
    made.rows[None] = Result(benchmark="PingPong", bytes=8)  # type: ignore[index]
    return made


def test_sessions_are_what_was_measured_together() -> None:
    launches = [
        at("2026-01-02T03:40:00"),
        at("2026-01-02T03:00:00Z"),
        at("2026-01-02T09:00:00Z"),
        at("2026-01-03T00:10:00Z", session="s"),
        at("2026-01-04T00:00:00Z", session="t"),
        at("2026-01-05T00:10:00Z", session="s"),
        at(""),
    ]
    found, undated = sessions_of(launches)
    assert [[one.name[8:13] for one in of] for of in found] == [
        ["02T03", "02T03"],
        ["02T09"],
        ["03T00", "05T00"],
        ["04T00"],
    ]
    assert undated == 1


def test_sessions_of_one_evening_count_as_one() -> None:
    """Bunches of sessions that are alike would be steps. A session takes in what begins within 50 minutes of its first launch."""
    launches = [
        at("2026-01-02T20:00:00Z", session="a"),
        at("2026-01-02T20:40:00Z", session="b"),
        at("2026-01-02T21:30:00Z", session="b"),
        at("2026-01-02T21:00:00Z", session="c"),
        at("2026-01-02T21:49:00Z", session="d"),
        at("2026-01-02T20:50:00Z", session="a"),
    ]
    found, _ = sessions_of(launches)
    assert [[one.name[11:16] for one in of] for of in found] == [
        ["20:00", "20:40", "20:50", "21:30"],
        ["21:00", "21:49"],
    ]


def test_hourly_sessions_are_not_one() -> None:
    days = [f"2026-01-{2 + hour // 24:02}T{hour % 24:02}:0{hour % 7}:00Z" for hour in range(100)]
    found, _ = sessions_of([at(when, session=when) for when in days])
    assert len(found) == 100


# --- imb watch ---------------------------------------------------------------------------------------


def nights(
    folder: Path,
    count: int,
    first_bad: int | None = None,
    change: float = 1.1,
    last_bad: int = 99,
    arrivals: tuple[str, str] | None = None,
) -> Path:
    """Logs of so many nights, two launches each; from one night on Bcast takes longer and the kernel is another one. `arrivals`:
    how ranks arrive, before and from that night on."""
    random = np.random.default_rng(8)
    folder.mkdir()
    for night in range(count):
        is_bad = first_bad is not None and first_bad <= night <= last_bad
        for number in range(2):
            rows = []
            for name in ("Bcast", "Allreduce"):
                factor = change if is_bad and name == "Bcast" else 1.0
                factor *= float(np.exp(random.normal(0, 0.005)))
                rows += curve(lambda n, f=factor: f * message(n), name, 8, "collective")  # type: ignore[misc]
            platform = Platform(release="6.2.0" if is_bad else "6.1.0")
            date = f"2026-03-{night + 1:02}T02:0{number}:00Z"
            options = {"sync_start": "clock", "arrival": arrivals[is_bad]} if arrivals else None
            records = launch(rows, date=date, platform=platform, options=options)
            save(folder / f"{night:02}-{number}.jsonl", records)
    return folder


@pytest.mark.slow
def test_a_slower_night_is_named_with_its_kernel(imb: Imb, tmp_path: Path) -> None:
    assert imb("import", nights(tmp_path / "n", 20, 15), "--label", "nightly").code == 0
    said = imb("watch", "nightly", "--format", "json")
    assert said.code == 10
    found = json.loads(said.out)
    assert found["verdict"] == "slower" and len(found["sessions"]) == 20
    (event,) = found["events"]
    assert event["session"] == 15 and event["date"] == "2026-03-16T02:00:00Z"
    assert event["run"] == found["sessions"][15]["runs"][0]
    assert event["before"] == found["sessions"][14]["runs"][1]
    assert event["conditions"] == [{"name": "kernel", "a": ["6.1.0"], "b": ["6.2.0"]}]
    assert {one["curve"]["benchmark"] for one in event["changes"]} == {"Bcast"}
    assert len(event["changes"]) == 4
    assert all(one["low"] < 1 / 1.1 < one["high"] for one in event["changes"])

    said = imb("watch", "nightly")
    assert said.code == 10
    assert f"slower from session 16: run {event['run']}, 2026-03-16 02:00" in said.out
    assert "Bcast, 8 ranks, 64-4K bytes: 10." in said.out or "Bcast, 8 ranks, 64-4K bytes: 9." in said.out
    assert "changed since the session before: kernel: 6.1.0 -> 6.2.0" in said.out

    said = imb("watch", "nightly", "--format", "html")
    assert said.code == 10 and "kernel: 6.1.0 -&gt; 6.2.0" in said.out
    assert f"<td>{event['run']}</td>" in said.out and "A point is a session" in said.out

    assert imb("watch", "nightly", "--since", "2026-03-16").code == 10
    assert imb("watch", "nightly", "--since", "2026-03-17").code == 0
    assert imb("watch", "nightly", "-b", "allreduce").code == 0


def test_slow_nights_that_are_over_are_reported_as_past(imb: Imb, tmp_path: Path) -> None:
    said = imb("watch", nights(tmp_path / "n", 24, 12, 1.3, last_bad=17))
    assert said.code == 0 and "no step that lasts\n\npast:\n\nslower from session 13:" in said.out
    assert "the level before is back from session 19: run 18-0.jsonl" in said.out.replace(
        str(tmp_path / "n") + "/", ""
    )
    assert "changed since the session before: kernel: 6.1.0 -> 6.2.0" in said.out
    found = json.loads(imb("watch", tmp_path / "n", "--format", "json").out)
    assert found["verdict"] == "no change" and [
        (one["session"], one["until"]) for one in found["events"]
    ] == [(12, 18)]
    said = imb("watch", tmp_path / "n", "--format", "html")
    assert said.code == 0 and "the level before is back from session 19" in said.out


def test_a_faster_night_is_no_failure(imb: Imb, tmp_path: Path) -> None:
    said = imb("watch", nights(tmp_path / "n", 20, 12, 0.8))
    assert said.code == 0 and "faster from session 13" in said.out and " % faster (95 % CI 2" in said.out


def test_another_rule_of_starting_is_no_step(imb: Imb, tmp_path: Path) -> None:
    """Rows of other rules and widths are other rows."""
    said = imb("watch", nights(tmp_path / "same", 24, 12, 1.3, arrivals=("last:50", "last:50")))
    assert said.code == 10 and "Bcast, 8 ranks, arrival last:50, " in said.out
    said = imb("watch", nights(tmp_path / "other", 24, 12, 1.3, arrivals=("last:50", "last:100")))
    assert said.code == 0 and "no step found" in said.out
    found = json.loads(imb("watch", tmp_path / "other", "--format", "json").out)
    assert {one["curve"]["start"] for one in found["series"]} == {"last:50", "last:100"}


def test_measured_widths_have_no_history(imb: Imb, tmp_path: Path) -> None:
    """Of -arrival xN each launch has its own. No verdict follows from them; the other rows have one."""
    folder = nights(tmp_path / "n", 12, arrivals=("last:x2", "last:x2"))
    for number, file in enumerate(sorted(folder.iterdir())):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if line.get("benchmark") == "Bcast":
                line |= {"valid_percent": 100.0, "arrival_width_seconds": (50 + number) * 1e-6}
                line["time_from_last_arrival_seconds"] = line["time_max_seconds"]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = imb("watch", folder, "-b", "allreduce")
    assert said.code == 0 and "note: rows of -arrival xN have no history" in said.out
    said = imb("watch", folder, "-b", "bcast")
    assert said.code == 2 and "rows of -arrival xN have no history" in said.err
    said = imb("report", folder, "--output", tmp_path / "r.html")
    assert said.code == 0
    said = imb("diagnose", folder)
    assert "not checked: Bcast, 8 ranks, arrival last:x2: ranks arrive over another width in each" in said.out
    assert "Bcast" in imb("diagnose", sorted(folder.iterdir())[0]).out


def test_rows_in_which_nothing_was_timed_are_in_no_series(imb: Imb, tmp_path: Path) -> None:
    """As in comparisons: rows of 0 bytes, and rows below 50 ns, such as a Bcast to no rank. Here only they change, and in
    the last folder there are no others."""
    folder = nights(tmp_path / "n", 20)

    def change(seconds: float, keep: Callable[[Any], bool]) -> None:
        for night, file in enumerate(sorted(folder.iterdir())):
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            lines = [line for line in lines if line["record"] != "result" or keep(line)]
            for line in lines:
                if line.get("bytes", 99) <= 2:
                    line["time_max_seconds"] = line["time_avg_seconds"] = seconds * (2 if night >= 24 else 1)
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    change(60e-9, lambda line: True)
    assert imb("watch", folder).code == 10
    change(10e-9, lambda line: True)
    said = imb("watch", folder, "--bands", "0-4,8-4K")
    assert said.code == 0, said.out
    series = json.loads(imb("watch", folder, "--bands", "0-4,8-4K", "--format", "json").out)["series"]
    assert {one["rows"] for one in series if one["band"]["last"] == 4} == {1}  # the one of 4 bytes
    change(10e-9, lambda line: line["bytes"] <= 2)
    said = imb("watch", folder)
    assert (said.code, said.err) == (
        2,
        f"imb: {folder}: no row of a size band has a time above 0; see --bands\n",
    )


def test_nights_without_a_change(imb: Imb, tmp_path: Path) -> None:
    said = imb("watch", nights(tmp_path / "n", 12))
    assert said.code == 0 and "no step found" in said.out
    assert re.search(r"steps below \d+\.\d % may be missed \(five sessions after", said.out)
    assert "newest session" not in said.out
    said = imb("watch", tmp_path / "n", "--format", "html")
    assert 'class="finding ' not in said.out and "No change of level." in said.out
    assert "Note: neighboring sessions are alike (correlation" in said.out  # as on the terminal


def test_only_steps_since_a_date_are_news(imb: Imb, tmp_path: Path) -> None:
    folder = nights(tmp_path / "n", 20, 12, 1.1)
    said = imb("watch", folder, "--since", "2026-03-18")
    assert said.code == 0 and "no step found" not in said.out
    news, _, earlier = said.out.partition("no step since 2026-03-18; earlier:")
    assert "session 13" not in news and "slower from session 13" in earlier
    said = imb("watch", folder, "--since", "2026-03-10")
    assert said.code == 10 and "slower from session 13" in said.out and "earlier" not in said.out
    said = imb("watch", folder, "-b", "Allreduce", "--since", "2026-03-18")
    assert said.code == 0 and "no step since 2026-03-18\n" in said.out


def test_one_slow_night_is_an_alarm(imb: Imb, tmp_path: Path) -> None:
    said = imb("watch", nights(tmp_path / "n", 14, 13, 1.5))
    assert said.code == 10 and "slower from" not in said.out
    assert re.search(
        r"(?m)^newest session: (49|50)\.\d % slower in Bcast, 8 ranks, \S+ bytes and 3 more series than 13 earlier sessions;"
        r" normal range ±\d\.\d % \(1 check in 1000 is outside\); measure again$",
        said.out,
    )
    found = json.loads(imb("watch", tmp_path / "n", "--format", "json").out)
    assert found["verdict"] == "slower" and not found["events"]
    assert found["newest"][0]["curve"]["benchmark"] == "Bcast" and found["newest"][0]["earlier"] == 13
    assert 0.02 <= found["newest"][0]["limit"] < 0.1 and 0.02 <= found["limit"] < 0.1
    assert imb("watch", tmp_path / "n", "-b", "Allreduce").code == 0
    assert imb("watch", tmp_path / "n", "--since", "2026-03-15").code == 0
    assert imb("watch", nights(tmp_path / "faster", 14, 13, 0.7)).code == 0


def test_the_page_has_the_newest_session_that_the_verdict_is_about(imb: Imb, tmp_path: Path) -> None:
    """Two slow nights are no step yet: the page of their verdict has nothing else."""
    folder = nights(tmp_path / "n", 14, 12, 1.4)
    said = imb("watch", folder)
    assert said.code == 10 and "slower from" not in said.out
    assert (
        "; slower since 2026-03-13 (2 sessions), a step of this size is usually found within 5 sessions; measure"
        in said.out
    )
    said = imb("watch", folder, "--format", "html")
    assert said.code == 10 and "No change of level." not in said.out
    text = said.out[: said.out.index('id="data"')]
    assert re.search(r"<p class=\"where\">newest session: run \S*13-0.jsonl, 2026-03-14 02:00</p>", text)
    assert re.search(r"<p>\d\d\.\d % slower in Bcast, 8 ranks, .* since 2026-03-13 \(2 sessions\)", text)
    assert 'class="finding l-warning"' in text and "the newest session stands out: see the findings" in text


@pytest.mark.parametrize("made", [noise, gaps, correlated])
@pytest.mark.slow
def test_an_unchanged_newest_session_is_no_alarm(made: Any) -> None:
    """At most 0.1 % of checks: of 90, two or more with a probability of 0.4 %."""
    random = np.random.default_rng(20261103)
    alarms = 0
    for sessions in (6, 12, 40):
        for _ in range(30):
            logs = made(random, sessions, 12)
            new = prediction.predict_newest(logs, np.zeros(12, dtype=np.int64))
            alarms += bool((np.abs(new.size) > new.limit()).any())
    assert alarms <= 1


def test_one_bad_night_does_not_hide_the_next() -> None:
    logs = noise(np.random.default_rng(9), 20, 4)
    begins = np.zeros(4, dtype=np.int64)
    logs[10] += 0.5
    new = prediction.predict_newest(logs, begins)
    assert (new.earlier == 18).all() and (new.limit() < 0.1).all()
    logs[19, 2] += 0.2
    new = prediction.predict_newest(logs, begins)
    assert (np.abs(new.size) > new.limit()).tolist() == [False, False, True, False]


def test_the_newest_session_is_judged_by_its_own_level() -> None:
    logs = noise(np.random.default_rng(10), 20, 3)
    logs[12:, 1] += 0.3
    new = prediction.predict_newest(logs, np.array([0, 12, 16]))
    assert new.earlier.tolist() == [19, 7, 3] and abs(new.size[1]) < new.limit()[1]
    assert np.isnan(new.size[2])


@pytest.mark.slow
def test_a_wait_is_explained_on_a_terminal_only(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*words: Any, ours: Any = names.side_from, **settings: Any) -> Any:
        time.sleep(0.5)
        return ours(*words, **settings)

    folder = nights(tmp_path / "n", 6)
    monkeypatch.setattr(names, "side_from", slow)
    monkeypatch.setattr(terminal, "PATIENCE", 0.1)
    pytest.importorskip("plotly")
    for words in (
        ("watch", folder),
        ("compare", folder, folder),
        ("report", folder, "-o", tmp_path / "page.html"),
    ):
        assert not imb(*words).err, words
        (tmp_path / "page.html").unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            patch.setattr("sys.stderr.isatty", lambda: True)
            said = imb(*words)
        runs = 24 if words[0] == "compare" else 12
        assert f"imb: reading {runs} runs ...\n" in said.err, (words, said)


def test_too_few_nights(imb: Imb, tmp_path: Path) -> None:
    said = imb("watch", nights(tmp_path / "n", 5))
    assert said.code == 11 and "5 sessions; 8 or more are needed to find steps" in said.out
    said = imb("watch", nights(tmp_path / "six", 6, 5, 2.0))
    assert (
        said.code == 10
        and "8 or more are needed to find steps" in said.out
        and "than 5 earlier sessions" in said.out
    )


def test_a_history_in_which_nothing_can_be_seen_is_not_called_unchanged(imb: Imb, tmp_path: Path) -> None:
    random, folder = np.random.default_rng(4), tmp_path / "n"
    folder.mkdir()
    for night in range(14):
        factor = float(np.exp(random.normal(0, 2)))
        rows = curve(lambda n, f=factor: f * message(n), "Bcast", 8, "collective")  # type: ignore[misc]
        save(folder / f"{night:02}.jsonl", launch(rows, date=f"2026-03-{night + 1:02}T02:00:00Z"))
    for words in ((), ("--since", "2026-03-10")):
        said = imb("watch", folder, *words)
        assert said.code == 11 and "note: too noisy: no step can be found; measure more launches" in said.out
        assert (
            "may be missed" not in said.out
            and "no step found" not in said.out
            and "no step since" not in said.out
        )
    said = imb("watch", folder, "--format", "html")
    assert (
        said.code == 11
        and ": too noisy</p>" in said.out
        and "Note: too noisy: no step can be found" in said.out
    )
    assert "Too noisy: no change of level can be found." in said.out and "No change of level" not in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--since", "yesterday"], "imb: --since: not a date: yesterday; give one such as 2026-11-23"),
        (["--metric", "speed"], "unknown metric: speed"),
        (["-b", "Gather"], "no benchmark gather in these runs"),
        (["no-such-label"], "no-such-label"),
    ],
)
def test_usage_errors(imb: Imb, tmp_path: Path, words: list[str], says: str) -> None:
    said = imb("watch", nights(tmp_path / "n", 2), *words)
    assert said.code == 2 and says in said.err and said.err.count("\n") == 1 and not said.out


def test_control_characters_of_a_log_stay_off_the_terminal(imb: Imb, tmp_path: Path) -> None:
    folder = nights(tmp_path / "n", 16, 10)
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b'"6.2.0"', b'"6.2\\u001b[31m"'))
    said = imb("watch", folder)
    assert said.code == 10 and "6.2?[31m" in said.out and "\x1b" not in said.out


def test_a_step_is_found_at_a_small_level() -> None:
    """As of one of 20 sides of a report."""
    random = np.random.default_rng(3)
    logs = random.normal(0, 0.01, (40, 3))
    logs[20:] += 0.3
    assert {step.at for step in steps.find_steps(logs, 0.01 / 20).steps} == {20}


def test_files_without_dates_are_no_history(imb: Imb, tmp_path: Path) -> None:
    """What is missing is named."""
    for number in range(2):
        run = Run(program="OpenIMB", component="MPI1")
        row = Result(benchmark="PingPong", processes=2, bytes=8, time_max_seconds=1e-6 * (number + 1))
        (tmp_path / f"{number}.jsonl").write_bytes(write([run, row]))
    said = imb("watch", tmp_path)
    assert (
        said.code == 2 and "no date in 2 launches; a history needs runs of imb, records, or logs" in said.err
    )
