"""Parts of variance and launches outside the dominant state, on made-up launches; bench/variance.py has all the figures."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from companion import fake_mpi, machines
from companion.door import Imb
from imb.compare import dominant_state
from imb.compare.comparison import compare
from imb.compare.variance import NAMES, Name, parts_of, spread_of
from imb.compare.variance_text import advice, notes, verdict
from imb.diagnose import diagnose
from imb.experiments.peers import comparable_launches, variance_of
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import (
    End,
    MachineState,
    Passes,
    Record,
    Records,
    Result,
    Run,
    Sample,
    SampledRow,
    write,
)
from imb.report.terminal import say
from imb.report.variance_tables import block
from imb.store.names import load
from imb.store.store import Archive, Content

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import variance as bench  # noqa: E402
from variance import Made, naming, one_is, side, usual_rates  # noqa: E402


def random(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---------------------------------------------------------------- which part is the largest


@pytest.mark.parametrize("largest", NAMES)
@pytest.mark.slow
def test_the_part_that_is_twice_the_others_is_named(largest: Name) -> None:
    found = naming(one_is(largest, 2.0, 0.5), largest, 5, 40, 1)
    assert found.right >= 0.95
    assert found.wrong <= 0.02


def test_parts_are_what_they_were_made_of() -> None:
    made = Made(within=0.04, states=0.08, launches=0.08, common=0.0, rows=60)
    found = parts_of(side(made, 30, random()))
    measured = {part.name: part.typical for part in found.parts}
    assert measured["within"] == pytest.approx(0.04, rel=0.15)
    assert measured["launches"] == pytest.approx(0.08, rel=0.15)
    assert [part.name for part in found.parts] == ["launches", "within"]
    assert found.certain


def test_errors_of_medians_are_no_launches() -> None:
    found = parts_of(side(Made(within=0.1, states=0.0, launches=0.0, rows=60), 10, random()))
    assert found.largest_part is not None
    assert found.largest_part.name == "within"
    others = [part.typical for part in found.parts[1:]]
    assert max(others) < 0.05
    assert found.certain


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_the_spread_has_no_bias_in_the_median(count: int) -> None:
    draws = random().normal(0, 0.1, (4000, count))
    assert np.median([spread_of(draw) for draw in draws]) == pytest.approx(0.1, rel=0.03)


def test_launches_of_two_kinds_are_seen() -> None:
    """Two of five are twice as slow: the median absolute deviation is nothing, the spread is not."""
    kinds = np.log(np.array([1.0, 1.0, 1.0, 2.0, 2.0]))
    assert spread_of(kinds) == pytest.approx(np.std(kinds, ddof=1), rel=0.2)
    assert np.isnan(spread_of(kinds[:1]))


def test_rows_with_one_figure_have_no_spread_between_launches() -> None:
    found = parts_of(side(Made(), 1, random()))
    assert found.part("launches") is None
    assert any("spread of launches unknown" in note for note in notes(found))
    assert found.precision() is None


def test_more_launches_narrow_the_mean() -> None:
    found = parts_of(side(Made(launches=0.3, within=0.01, states=0.01), 10, random()))
    needed = found.launches_needed(0.05)
    assert needed is not None
    assert 80 < needed < 300
    now, then, fewer = found.precision(), found.precision(needed), found.precision(needed - 1)
    assert now is not None and then is not None and fewer is not None
    assert then <= 0.05 < fewer < now


# ---------------------------------------------------------------- words


def test_advice_has_the_number_of_launches() -> None:
    launches = parts_of(side(Made(launches=0.3), 10, random()))
    assert verdict(launches, figures=False) == "the spread between launches dominates"
    assert advice(launches) == f"take more launches: ±5 % needs {launches.launches_needed()}"
    enough = parts_of(side(Made(launches=0.05), 40, random()))
    assert (
        enough.largest_part is not None and enough.largest_part.name == "launches" and advice(enough) is None
    )
    within = parts_of(side(Made(within=0.2, states=0.0, launches=0.0), 10, random()))
    assert verdict(within, figures=False) == "the error within a launch dominates"
    assert advice(within) == "take more passes (a larger --launch-budget)"


def test_a_simulated_machine_has_no_variance() -> None:
    rows = machines.curve(machines.message)
    for row in rows:
        assert isinstance(row, Result)
        seconds = row.time_max_seconds or 0
        row.passes = Passes(
            samples=10, used=10, interval_seconds=(seconds, seconds), half_width=0.0,
            effective_samples=10, states=[MachineState(1e-7, 10, seconds)],
        )  # fmt: skip
    found = parts_of(of(*(machines.launch(rows) for _ in range(3))))
    assert found.largest_part is None
    assert verdict(found) == "no spread above 0.01 %"
    assert advice(found) is None


def of(*launches: list[Record]) -> Side:
    made = [one for i, rows in enumerate(launches) for one in launches_of(Records(rows, []), f"launch{i}")]
    return Side(name="side", launches=made)


def test_single_bursts_tell_launches_only() -> None:
    chance = random()
    found = parts_of(of(*(machines.launch(machines.healthy(chance, noise=0.2)) for _ in range(8))))
    assert [part.name for part in found.parts] == ["launches"]
    shaky = diagnose(of(*(machines.launch(machines.healthy(chance, noise=0.25)) for _ in range(8))))
    assert not [one for one in shaky.findings if one.rule == "variance"]
    (spread,) = [one for one in shaky.findings if one.rule == "launch-spread"]
    assert "launches in passes" in spread.advice


def test_figures_of_all_samples_are_not_compared() -> None:
    made = side(Made(launches=0.01, within=0.005), 5, random())
    for row in made.launches[4].rows.values():
        assert row.passes
        row.passes.reference_state = False
        row.time_max_seconds = 10 * (row.time_max_seconds or 0)
    found = parts_of(made)
    assert found.launches == 4
    assert found.mixed == 24
    between = found.part("launches")
    assert between is not None
    assert between.typical < 0.05
    assert any("too few samples saw the fastest" in note for note in notes(found))


# ---------------------------------------------------------------- the dominant state


def test_launches_that_never_saw_the_usual_state_are_named() -> None:
    for count in (5, 10):
        named, falsely = usual_rates(2.5, 0.1, count, 300, count)
        assert named >= 0.95
        assert falsely <= 0.02


@pytest.mark.parametrize("heavy", [False, True])
def test_launches_of_one_state_are_not_named(heavy: bool) -> None:
    for scatter in (0.02, 0.1) if heavy else (0.02, 0.1, 0.15):
        for count in (3, 5, 10):
            _, falsely = usual_rates(1.0, scatter, count, 300, 3, heavy)
            assert falsely <= 0.02, (scatter, count)


def test_recorded_probes() -> None:
    """Nine launches of the default table on a shared virtual machine, Open MPI; and MPICH, whose launches differ for themselves."""
    seen = np.log([0.163, 0.414, 0.215, 0.210, 0.197, 0.462, 0.192, 0.427, 0.411])
    is_dominant, is_away = dominant_state.split_by_state(seen)
    assert np.flatnonzero(is_dominant).tolist() == [0, 2, 3, 4, 6]
    assert np.flatnonzero(is_away).tolist() == [1, 5, 7, 8]
    _, is_away = dominant_state.split_by_state(
        np.log([1.081, 0.761, 1.101, 0.761, 1.372, 1.061, 1.052, 1.272, 0.761])
    )
    assert not is_away.any()


def test_one_fast_launch_of_many_is_not_the_usual_state() -> None:
    is_dominant, is_away = dominant_state.split_by_state(np.log([0.1, *[0.4] * 9]))
    assert is_dominant.sum() == 9
    assert not is_away.any()


def test_two_launches_say_nothing_about_what_is_usual() -> None:
    assert not dominant_state.split_by_state(np.log([0.16, 0.41]))[1].any()


def test_other_surroundings_have_other_states() -> None:
    made = side(Made(states=0.4, probes=0.02), 5, random(), away=1)
    (named,) = dominant_state.launches_outside_dominant_state(made.launches)
    assert named.launch == "launch4"
    assert named.others == 4
    assert named.ratio == pytest.approx(np.exp(0.4 / np.sqrt(0.24)), rel=0.1)
    made.launches[4].run.environment = {"OMPI_MCA_btl": "self,tcp"}
    assert dominant_state.launches_outside_dominant_state(made.launches) == []


def test_launches_that_are_all_slow_are_compared_with_each_other() -> None:
    """Only earlier launches know the dominant state."""
    made = side(Made(states=0.4, launches=0.1, within=0.01), 10, random(), away=4)
    slow = Side(name="slow", launches=made.launches[6:])
    found = parts_of(slow, earlier=made.launches[:6])
    assert len(found.outside_launches) == 4
    assert found.launches == 4
    assert found.part("launches") is not None
    (said,) = dominant_state.sentences_of(found.outside_launches)
    assert said.startswith("launches launch6, launch7, launch8, launch9 were outside the dominant state")
    assert "6 other launches)" in said


def test_a_launch_in_the_slow_state_adds_nothing_to_the_spread_of_launches() -> None:
    made = side(Made(states=0.4, launches=0.02, within=0.01), 5, random(), away=2)
    found = parts_of(made)
    between = found.part("launches")
    assert between is not None
    assert between.typical < 0.06
    assert found.launches == 3
    assert len(found.outside_launches) == 2


# ---------------------------------------------------------------- through the doors


def lines_of(one: Launch, chance: np.random.Generator, stay: float = 3.0) -> bytes:
    """Records of a launch with samples: the machine changes its state every `stay` seconds of ten."""
    records: list[Record] = [
        msgspec.structs.replace(one.run, date=f"2026-01-01T00:00:{int(one.name[6:]):02d}Z")
    ]
    for number, row in enumerate(one.rows.values()):
        assert row.passes
        records.append(
            SampledRow(
                row=number,
                benchmark=row.benchmark,
                multi=row.multi,
                processes=2,
                group_count=1,
                bytes=row.bytes,
            )
        )
        row.row = number
        for pass_ in range(40):
            at = (pass_ + number / len(one.rows)) / 4
            state = row.passes.states[int(at / stay) % len(row.passes.states)]
            probe = state.probe_seconds * float(np.exp(chance.normal(0, 0.02)))
            records.append(
                Sample(
                    row=number, pass_=pass_ + 1, at_seconds=at, time_max_seconds=row.time_max_seconds,
                    probe_before_seconds=probe, probe_after_seconds=probe,
                )
            )  # fmt: skip
    return write([*records, *one.rows.values(), one.end or End(state="complete")])


@pytest.fixture
def label(archive: Archive) -> Archive:
    """Five launches, of which the last one was outside the dominant state."""
    chance = random()
    made = side(Made(states=0.4, launches=0.2, within=0.01), 5, chance, away=1)
    contents = [Content(records=lines_of(one, chance), labels=["machine"]) for one in made.launches]
    archive.add_many(contents)
    return archive


def test_show_of_a_label(imb: Imb, label: Archive) -> None:
    said = imb("show", "machine")
    assert said.code == 0
    assert "machine: 5 launches" in said.out
    assert "PingPong, 2 ranks" in said.out
    assert "Spread of times: standard deviation, median of 24 rows of 5 launches" in said.out
    assert said.out.count("outside the dominant state of the machine") == 1
    assert imb("show", "machine", "--chart").code == 2
    assert imb("show", "machine", "-b", "Nothing").code == 2
    assert "5 launches" in imb("show", "machine", "-b", "pingpong").out


def test_imb_run_tells_parts_and_the_usual_state_right_away(imb: Imb, tmp_path: Path) -> None:
    """Three launches, and then one in the slower state, on an MPI that writes these records."""
    chance = random()
    made = side(Made(states=0.4), 2, chance, away=1)
    options = fake_mpi.make(tmp_path / "mpi")
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    launcher.write_text(re.sub(r'(?m)^sed "[^"]*"', "cat", launcher.read_text()))
    written = tmp_path / "mpi" / "bin" / "records-2"
    written.write_bytes(lines_of(made.launches[0], chance))
    said = imb("run", "PingPong", *options, "--launches", 3)
    assert said.code == 0
    assert re.search(r"(?m)^ *bytes +launches +t µs$", said.out) and "± %" not in said.out  # equal launches
    # The one cause is named where there is one: then the spread is no property of the machine.
    assert ("other processes used" in said.err) != ("argest part: " in said.out or "dominate" in said.out)
    assert "next: " not in said.out and "outside the dominant state" not in said.out
    written.write_bytes(lines_of(made.launches[1], chance))
    said = imb("run", "PingPong", *options)
    assert said.code == 0
    assert "outside the dominant state of the machine" in said.out
    assert "3 other launches)" in said.out
    assert imb("run", "--resume").out == ""  # it was told


def test_a_run_is_held_against_earlier_ones(imb: Imb, label: Archive) -> None:
    (away,) = dominant_state.launches_outside_dominant_state(load(label, "machine").launches)
    said = imb("show", away.launch)
    assert f"launch {away.launch} was outside the dominant state of the machine" in said.out
    assert "4 other launches)" in said.out
    others = [one.name for one in load(label, "machine").launches if one.name != away.launch]
    assert "outside the dominant state" not in imb("show", others[0]).out


def test_earlier_launches_are_those_of_the_same_machine(archive: Archive, label: Archive) -> None:
    (away,) = dominant_state.launches_outside_dominant_state(load(label, "machine").launches)
    alone = load(label, away.launch)
    assert len(comparable_launches(label, alone.launches)) == 4
    assert variance_of(label, alone).outside_launches
    assert not parts_of(alone).outside_launches
    elsewhere = msgspec.structs.replace(alone.launches[0].run, ranks=[])
    assert comparable_launches(label, [msgspec.structs.replace(alone.launches[0], run=elsewhere)]) == []


def test_earlier_launches_of_one_file_are_counted_each(archive: Archive, label: Archive) -> None:
    """At most 16 of one kind. The file has 40 of them, and as many with one rank more, which are no peers."""
    launches = load(label, "machine").launches
    ids = {
        launch.name: next(run for run in label.ids() if run.startswith(launch.name)) for launch in launches
    }
    one = label.run(ids.pop(launches[0].name)).part("records.jsonl") or b""
    first, *rest = one.splitlines(keepends=True)
    run = json.loads(first)
    run["ranks"].append({**run["ranks"][0], "rank": len(run["ranks"])})
    other = json.dumps(run).encode() + b"\n" + b"".join(rest)
    for name in ids.values():
        label.remove(name)
    label.add(Content(records=(one + other) * 40))
    peers = comparable_launches(label, launches[:1])
    assert len(peers) == 16
    assert {len(peer.run.ranks or []) for peer in peers} == {len(run["ranks"]) - 1}


@pytest.mark.slow
def test_diagnose_names_parts_and_launches(imb: Imb, label: Archive, tmp_path: Path) -> None:
    said = imb("diagnose", "machine", "--format", "json")
    assert said.code == 1
    found = json.loads(said.out)
    rules = {one["rule"]: one for one in found["findings"]}
    assert rules["dominant-state"]["level"] == "warning"
    assert "2.2" in rules["dominant-state"]["found"] or "2.3" in rules["dominant-state"]["found"]
    assert rules["variance"]["evidence"]["dominates"] == "launches"
    assert set(rules["variance"]["evidence"]["parts"]) == set(NAMES)
    assert len(found["variance"]["rows"]) == 24
    text = imb("diagnose", "machine")
    assert "the spread between launches dominates" in text.out and "Spread of times" not in text.out
    quiet = imb("diagnose", "machine", "--threshold", "variance=2", "--format", "markdown")
    assert "Spread of times" in quiet.out
    quiet = imb("diagnose", "machine", "--threshold", "variance=2", "--format", "json")
    assert "variance" not in {one["rule"] for one in json.loads(quiet.out)["findings"]}
    assert imb("report", "machine", "-o", tmp_path / "page.html").code == 0
    assert "outside the dominant state" in (tmp_path / "page.html").read_text()


def test_a_comparison_names_them_and_drops_nothing(imb: Imb, label: Archive) -> None:
    launches = load(label, "machine").launches
    (away,) = dominant_state.launches_outside_dominant_state(launches)
    others = [one.name for one in launches if one.name != away.launch]
    said = imb("compare", f"{others[0]},{others[1]}", f"{others[2]},{away.launch}", "--format", "json")
    (warning,) = [one for one in json.loads(said.out)["warnings"] if "dominant state" in one]
    assert warning.startswith(f"B: launch {away.launch} was outside the dominant state")
    assert json.loads(said.out)["launches_b"] == 2
    a, b = load(label, f"{others[0]},{others[1]}"), load(label, f"{others[2]},{away.launch}")
    assert any("dominant state" in one for one in compare(a, b).warnings)  # the four of them know it, too


def test_text_of_strangers_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    made = side(Made(launches=0.3), 3, random())
    evil = [
        Launch(
            name=one.name, run=one.run, facts={}, failures={}, end=one.end,
            rows={msgspec.structs.replace(key, benchmark="\x1b[2J"): row for key, row in one.rows.items()},
        )
        for one in made.launches
    ]  # fmt: skip
    say(*block(parts_of(Side(name="evil", launches=evil))))
    told = capsys.readouterr().out
    assert "?[2J" in told and "\x1b" not in told


def test_figures_are_put_between_the_marks_of_a_page() -> None:
    page = "a\n<!-- variance: how -->\nold\n<!-- end of variance -->\nb\n"
    assert bench.written_into(page, "variance", "new") == page.replace("old", "\nnew\n")
    with pytest.raises(SystemExit):
        bench.written_into("a page without marks", "variance", "new")


def test_runs_of_one_record_kind_only() -> None:
    """A side without rows has no parts and nothing to say."""
    empty = Side(name="none", launches=[Launch(name="x", run=Run(), facts={}, rows={}, failures={})])
    assert block(parts_of(empty)) == []
    assert verdict(parts_of(empty)) is None


@pytest.mark.slow
def test_a_diagnosis_says_the_parts_of_variance_once(imb: Imb, label: Archive) -> None:
    for words in (("diagnose", "machine"), ("diagnose", "machine", "--format", "markdown")):
        out = " ".join(imb(*words).out.replace("\\", "").split())
        found = parts_of(
            load(label, "machine"), earlier=comparable_launches(label, load(label, "machine").launches)
        )
        advised = advice(found)
        assert advised and out.count(advised) == 1
        for line in notes(found):
            assert out.count(line) <= 1
