"""Launches outside the dominant state: which are repeated, and what a comparison makes of the repeats."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from companion import fake_mpi
from companion.door import Imb, Said
from imb.compare.comparison import compare
from imb.compare.repeat_choice import choose_repeats
from imb.model.observations import Launch, Side
from imb.model.repeats import split_repeats
from imb.store.store import Archive

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from truth.compare import Design, drawn, named, repeated, truth_of

APART = Design("apart", spread=(0.01, 0.01), passes=True, apart=True, paired=True)


def launches(slow: set[int], count: int = 10) -> list[Launch]:
    """So many in passes, those with these indices in the slow state only."""
    random = np.random.default_rng(3)
    kinds = [drawn(APART._replace(slow=(share, share)), truth_of("none"), random)[0] for share in (0, 1)]
    return [named(kinds[at in slow].launches[at], at) for at in range(count)]


def with_times(one: Launch, other: Launch) -> Launch:
    """This launch with all times of the other one, and its own probes."""
    rows = {}
    for key, row in one.rows.items():
        times, passes = other.rows[key], row.passes
        assert passes and times.passes
        middle = times.passes.states[0].time_median_seconds
        states = [msgspec.structs.replace(passes.states[0], time_median_seconds=middle)]
        rows[key] = msgspec.structs.replace(
            row,
            time_max_seconds=times.time_max_seconds,
            passes=msgspec.structs.replace(passes, states=states),
        )
    return msgspec.structs.replace(one, rows=rows)


def test_a_launch_outside_the_dominant_state_is_repeated_up_to_the_limit() -> None:
    every = launches({2, 5, 8})
    alone = [[one] for one in every]
    assert choose_repeats(alone, every, 20) == [2, 5, 8]
    assert choose_repeats(alone, every, 2) == [2, 5]
    pairs = [every[at : at + 2] for at in range(0, 10, 2)]
    assert choose_repeats(pairs, every, 20) == [1, 2, 4]
    assert choose_repeats(pairs, every, 5) == [1, 2]  # the third pair would exceed it
    assert choose_repeats(pairs[:1], every, 20) == [] == choose_repeats(alone, every, 0)
    assert choose_repeats(alone[:2], every[:2], 20) == []  # two show no dominant state


def test_the_decision_is_blind_to_results_and_sides() -> None:
    every = launches({2, 5, 8})
    chosen = choose_repeats([[one] for one in every], every, 20)
    for order in np.random.default_rng(1).permutation(np.tile(np.arange(10), (5, 1)), axis=1):
        other = [with_times(one, every[at]) for one, at in zip(every, order, strict=True)]
        assert choose_repeats([[one] for one in other], other, 20) == chosen
        moved = [msgspec.structs.replace(every[at], facts={"variant": str(n)}) for n, at in enumerate(order)]
        found = {moved[at].name for at in choose_repeats([[one] for one in moved], moved, 20)}
        assert found == {every[at].name for at in chosen}


def test_a_repeat_takes_the_place_that_was_recorded() -> None:
    every = launches({2})
    again = named(launches(set())[2], 12, repeats=2)
    judged, replaced = split_repeats([*every, again])
    assert [one.name for one in replaced] == [every[2].name]
    assert {one.name for one in judged} == {one.name for one in (*every, again)} - {every[2].name}
    failed = msgspec.structs.replace(again, facts=again.facts | {"outcome": "failed"})
    assert split_repeats([*every, failed]) == (every, [])
    other = msgspec.structs.replace(again, facts=again.facts | {"session": "another"})
    assert split_repeats([*every, other]) == ([*every, other], [])


def test_a_comparison_judges_the_repeats_and_counts_both() -> None:
    design = APART._replace(slow=(0.1, 0.1), again=0.25)
    random = np.random.default_rng(6)
    sides = next(
        found
        for found in (repeated(design, truth_of("none"), random) for _ in range(50))
        if found[0].replaced and found[1].replaced
    )
    found = compare(*sides)
    many = len(sides[0].replaced)
    assert found.pairs and found.launches_a == found.launches_b == 10 and len(sides[1].replaced) == many
    note = next(text for text in found.warnings if "repeated" in text)
    assert note.startswith(f"{2 * many} launches outside the dominant state were repeated")
    assert f"({many} of A, {many} of B)" in note


def test_repeats_do_not_hide_that_a_side_is_slow_more_often() -> None:
    slow, fast = launches({0, 1, 2, 3, 4, 5, 6, 7}, 10), launches(set())
    slow += [named(fast[at], at + 10, repeats=at) for at in range(8)]
    judged, replaced = split_repeats(slow)
    of_a = [msgspec.structs.replace(one, name=f"A{one.name}") for one in launches(set())]
    a, b = Side(name="A", launches=of_a), Side(name="B", launches=judged, replaced=replaced)
    assert len(judged) == 10
    found = compare(a, b)
    assert found.states is not None
    assert (found.states.fast_a, found.states.fast_b, found.states.launches_b) == (10, 2, 10)
    assert found.states.verdict == "slower" and found.verdict == "slower"


@pytest.mark.parametrize("removed", [False, True])
def test_an_interleaved_repeat_is_never_paired_with_a_launch_of_the_plan(removed: bool) -> None:
    from imb.compare.pairing import design_of

    def interleaved(one: Launch) -> Launch:
        return msgspec.structs.replace(
            one,
            run=msgspec.structs.replace(one.run, options={"turns": 100}),
            facts=one.facts | {"session": "s"},
        )

    sides = []
    for letter in "AB":
        own = [msgspec.structs.replace(one, name=letter + one.name) for one in launches({4})]
        if letter == "A" or not removed:
            own.append(named(own[3], 14, repeats=4))
            own[-1] = msgspec.structs.replace(own[-1], name=f"{letter}14", facts=own[-1].facts | {"turn": 5})
        judged, replaced = split_repeats(map(interleaved, own))
        sides.append(Side(name=letter, launches=judged, replaced=replaced, letter=letter))
    assert len(design_of(*sides).a.launches) == (9 if removed else 10)


# --- imb ab ----------------------------------------------------------------------------------------------------------


def measured(imb: Imb, folder: Path, *words: object) -> Said:
    """`imb ab`, six launches of each, in passes."""
    options = fake_mpi.make(folder)
    (folder / "bin" / "records-2").write_bytes(fake_mpi.records(77.0, passes=True))
    return imb(
        "ab", "--a", "", "--b", "FAKE_TIME=2", *options, "--launches", 6, "--seed", 1, "--name", "t", "--format", "json",
        *words, "PingPong",
    )  # fmt: skip


def repeats_in(archive: Archive) -> list[tuple[int, int | None]]:
    """Number of each launch of the archive, and of the one that it repeats."""
    facts = [archive.run(run).facts() for run in archive.ids()]
    return sorted((one["number"], one.get("repeats")) for one in facts)


@pytest.mark.parametrize("way", ["interleaved", "--launch-by-launch"])
@pytest.mark.slow
def test_ab_repeats_launches_outside_the_dominant_state(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("FAKE_SLOW", "3 8")
    said = measured(imb, tmp_path / "mpi", "--repeats", 5, *([] if way == "interleaved" else [way]))
    again = [3, 4, 7, 8] if way == "interleaved" else [3, 8]
    assert said.code == 10, said.err
    assert "12 of 12 launches to run, at most 5 repeats" in said.err
    assert f"{len(again)} launches outside the dominant state" in said.err and "(at most 5)" in said.err
    planned = [(number, None) for number in range(1, 13)]
    assert repeats_in(archive) == planned + [(13 + at, number) for at, number in enumerate(again)]
    found = json.loads(said.out)
    assert found["verdict"] == "slower" and (found["launches_a"], found["launches_b"]) == (6, 6)
    assert any("repeated, by the state probe alone" in one for one in found["warnings"])
    assert "no result" not in imb("diagnose", "t/a").out  # of those that were repeated
    # Interrupted, the session goes on; no repeat is repeated.
    [folder] = (archive.folder / "sessions").iterdir()
    (folder / f"{12 + len(again):04d}.json").unlink()
    monkeypatch.setenv("FAKE_SLOW", "12 13 14 16")
    resumed = imb("run", "--resume", folder.name)
    assert resumed.code == 10 and f": 1 of {12 + len(again)} launches to run, " in resumed.err
    assert imb("compare", "t/a", "t/b").code == 10


def test_as_many_launches_are_repeated_as_the_limit_says(
    imb: Imb, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SLOW", "3 8")
    said = measured(imb, tmp_path / "mpi")  # a quarter of 12: one pair
    assert "at most 3 repeats" in said.err
    assert repeats_in(archive)[12:] == [(13, 3), (14, 4)]


def test_repeats_need_state_probes_and_no_looks(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    said = imb("ab", "--a", "", "--b", "A=1", *options, "--repeats", 1, "--launches", 1, "PingPong")
    assert "2 of 2 launches to run, at most 1 repeat, " in said.err
    for word, says in (
        ("--classic", "needs the state probes"),
        ("--until-decided", "repeats and until_decided cannot be combined"),
    ):
        said = imb("ab", "--a", "", "--b", "A=1", *options, "--repeats", 2, word, "PingPong")
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1, said.err
