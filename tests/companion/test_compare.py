"""imb compare: how verdicts follow from launches, and what a user sees of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
import scipy.stats
from companion.door import Imb, junit_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from imb.compare.comparison import (
    BANDS,
    NO_LENGTH,
    Band,
    CompareSettings,
    Comparison,
    Effect,
    compare,
    parse_bands,
)
from imb.compare.condition_diff import differences, names_of_sides
from imb.compare.effects import overall_verdict, verdict_of
from imb.compare.state_shares import fisher
from imb.model import conditions
from imb.model.errors import ImbError
from imb.model.observations import Key, Launch, Side
from imb.model.records import (
    Build,
    End,
    Failure,
    MachineState,
    Mpi,
    Passes,
    Platform,
    Rank,
    Record,
    Result,
    Run,
    write,
)
from imb.store.store import Archive, Content
from numpy.typing import NDArray

LENGTHS = (0, 8, 64, 1024, 8192, 65536, 524288, 4194304)
HERE = Path(__file__).resolve().parent


def row(benchmark: str, length: int | None, seconds: float | None, **more: Any) -> Result:
    return Result(
        benchmark=benchmark, multi="off", processes=2, group_count=1, bytes=length, time_avg_seconds=seconds, **more
    )  # fmt: skip


def ran(hosts: Sequence[str] = ("a", "a"), **more: Any) -> Run:
    ranks = [Rank(number, host, str(number)) for number, host in enumerate(hosts)]
    plain = Run(
        program="OpenIMB",
        component="MPI1",
        ranks=ranks,
        mpi=Mpi(standard="4.1", name="Some MPI 1.0"),
        build=Build("GNU 12", "-O3"),
        platform=Platform(release="6.1"),
        environment={},
    )
    return msgspec.structs.replace(plain, **more)


def rows_of(
    count: int,
    *,
    spread: float = 0.01,
    factor: Callable[[str, int], float] = lambda name, length: 1.0,
    benchmarks: Iterable[str] = ("PingPong", "Allreduce"),
    seed: int = 1,
) -> list[list[Result]]:
    """Rows of launches that spread by a known share around 1 µs + 1 ns per byte, times `factor`."""
    random = np.random.default_rng(seed)
    launches = []
    for _ in range(count):
        level = random.normal(0, spread)
        launches.append(
            [
                row(name, n, float(np.exp(level + random.normal(0, spread / 3))) * (1e-6 + n * 1e-9) * factor(name, n))
                for name in benchmarks
                for n in LENGTHS
            ]
        )  # fmt: skip
    return launches


def content(
    rows: Sequence[Record],
    run: Run | None = None,
    end: End | None = None,
    facts: dict[str, Any] | None = None,
    **more: Any,
) -> Content:
    """A run of the session `s`."""
    records = write([run or ran(), *rows, end or End(state="complete")])
    return Content(records=records, facts={"session": "s", **(facts or {})}, **more)


def side_of(launches: Sequence[Sequence[Result]], name: str = "side") -> Side:
    def key(one: Result) -> Key:
        return Key(
            component="MPI1", benchmark=one.benchmark, mode=None, multi="off", processes=2,
            group_count=1, group=None, bytes=one.bytes,
        )  # fmt: skip

    return Side(
        name=name,
        launches=[
            Launch(
                name=f"{name}-{number}", run=ran(), facts={"session": "s"}, rows={key(one): one for one in rows}, failures={},
                end=End(state="complete"),
            )
            for number, rows in enumerate(launches)
        ],
    )  # fmt: skip


@pytest.fixture
def before(archive: Archive) -> Archive:
    archive.add_many(content(rows, labels=["before"]) for rows in rows_of(8))
    return archive


# --- Verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alone", "all_", "verdict"),
    [
        ((0.96, 1.04), (0.94, 1.06), "same"),
        ((0.96, 0.99), (0.95, 1.01), "same"),
        ((0.96, 0.99), (0.955, 0.995), "differs"),  # by less than matters
        ((0.90, 0.97), (0.89, 0.99), "slower"),  # 5 % or more is not excluded
        ((1.02, 1.10), (1.01, 1.12), "faster"),
        ((1.01, 1.04), (1.005, 1.06), "differs"),
        ((1.07, 1.10), (1.06, 1.12), "faster"),
        ((0.90, 0.94), (0.89, 0.95), "slower"),
        ((0.90, 0.98), (0.88, 1.01), "inconclusive"),  # among so many rows that is to be expected
        ((0.90, 1.10), (0.85, 1.20), "inconclusive"),
        ((None, None), None, "inconclusive"),
    ],
)
def test_verdict(alone: Any, all_: Any, verdict: str) -> None:
    low, high = alone
    assert verdict_of(low, high, all_, CompareSettings()) == verdict
    assert verdict_of(low, high, all_, CompareSettings(), launches=2) == "inconclusive"


def test_whole_is_slower_where_anything_is_and_cannot_tell_where_that_is_not_excluded() -> None:
    found = compare(side_of(rows_of(8)), side_of(rows_of(8, seed=2), "b"))
    same = found.bands[0].effect
    slower = msgspec.structs.replace(same, verdict="slower", speed=0.5, low=0.4, high=0.6)
    faster = msgspec.structs.replace(same, verdict="faster", speed=2.0, low=1.9, high=2.1)
    unknown = msgspec.structs.replace(same, verdict="inconclusive", low=0.8, high=1.4)
    faster_or_same = msgspec.structs.replace(same, verdict="inconclusive", low=0.99, high=1.2)
    assert found.verdict == same.verdict == "same"
    assert overall_verdict([same, slower], [], 0.05) == overall_verdict([same], [slower], 0.05) == "slower"
    assert (
        overall_verdict([same, faster, slower], [], 0.05)
        == overall_verdict([faster], [slower], 0.05)
        == "mixed"
    )
    assert overall_verdict([same, faster, unknown], [], 0.05) == "inconclusive"
    assert overall_verdict([same], [unknown], 0.05) == "same"  # a row is less certain than its band
    assert overall_verdict([], [unknown], 0.05) == "inconclusive"
    assert (
        overall_verdict([same, faster_or_same], [], 0.05)
        == overall_verdict([faster_or_same] * 2, [], 0.05)
        == "not slower"
    )
    assert overall_verdict([same, faster_or_same, faster], [], 0.05) == "faster"
    a_little = msgspec.structs.replace(same, verdict="differs", speed=0.97, low=0.96, high=0.98)
    more = msgspec.structs.replace(same, verdict="differs", speed=1.03, low=1.02, high=1.04)
    assert overall_verdict([same, unknown], [a_little], 0.05) == "differs"
    assert overall_verdict([a_little, slower], [], 0.05) == "slower"
    assert overall_verdict([same], [more], 0.05) == "differs"
    assert overall_verdict([same, faster], [more], 0.05) == "faster"
    assert overall_verdict([same, unknown], [more], 0.05) == "inconclusive"


def test_a_change_of_some_lengths_is_found_in_their_bands() -> None:
    a = side_of(rows_of(8))
    b = side_of(
        rows_of(8, seed=2, factor=lambda name, n: {"Allreduce": 2.0 if n > 1024 else 1.0}.get(name, 1.0)), "b"
    )
    found = compare(a, b)
    said = {(one.curve.benchmark, str(one.band)): one.effect for one in found.bands}
    assert {where for where, effect in said.items() if effect.verdict == "slower"} == {
        ("Allreduce", "8K-256K"),
        ("Allreduce", "512K-4M"),
    }
    assert said["Allreduce", "8K-256K"].speed == pytest.approx(0.5, rel=0.05)
    assert {effect.verdict for where, effect in said.items() if where[0] == "PingPong"} == {"same"}
    assert found.verdict == "slower" and found.pairs is False
    assert sum(one.effect.verdict == "slower" for one in found.rows) == 4


def test_one_length_alone_is_enough_for_slower() -> None:
    b = side_of(rows_of(8, seed=2, factor=lambda name, n: 3.0 if (name, n) == ("PingPong", 64) else 1.0), "b")
    found = compare(side_of(rows_of(8)), b)
    assert [str(one.key) for one in found.rows if one.effect.verdict == "slower"] == [
        "PingPong, 2 ranks, 64 bytes"
    ]
    assert found.verdict == "slower"


@pytest.mark.parametrize(
    ("metric", "field", "verdict"),
    [("time", "time_avg_seconds", "slower"), ("bandwidth", "bytes_per_second", "faster")],
)
def test_more_is_better_for_rates(metric: str, field: str, verdict: str) -> None:
    sides = []
    for factor, seed in ((1.0, 1), (1.5, 2)):
        random = np.random.default_rng(seed)
        sides.append(
            [
                [msgspec.structs.replace(row("PingPong", n, None), **{field: factor * 1e-3 * random.normal(1, 0.01)})
                 for n in LENGTHS] for _ in range(6)
            ]
        )  # fmt: skip
    assert (
        compare(side_of(sides[0]), side_of(sides[1], "b"), CompareSettings(metric=metric)).verdict == verdict
    )


def seconds(one: Result) -> float:
    assert one.time_avg_seconds is not None
    return one.time_avg_seconds


def longer(launches: list[list[Result]], factors: Iterable[float]) -> list[list[Result]]:
    return [
        [msgspec.structs.replace(one, time_avg_seconds=seconds(one) * factor) for one in rows]
        for rows, factor in zip(launches, factors, strict=True)
    ]


def test_a_band_is_the_geometric_mean_of_its_rows_and_a_missing_row_is_no_step() -> None:
    a, b = rows_of(6), rows_of(6, seed=2)
    exact = compare(side_of(a), side_of(b, "b"))
    two = [[np.mean([np.log(seconds(one)) for one in rows[2:4]]) for rows in side] for side in (a, b)]
    ratio = np.mean(two[0]) - np.mean(two[1])
    assert np.log(exact.bands[1].effect.speed) == pytest.approx(ratio)
    del b[0][2]
    assert compare(side_of(a), side_of(b, "b")).bands[1].effect.speed == pytest.approx(
        np.exp(ratio), rel=0.02
    )


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 6),
    st.floats(0.3, 3.0),
    st.floats(1.0, 1e3),
    st.randoms(),
)
def test_symmetries(seed: int, n: int, m: int, factor: float, scale: float, random: Any) -> None:
    a = rows_of(n, spread=0.05, seed=seed, benchmarks=["Bcast"])
    b = rows_of(m, spread=0.05, seed=seed + 1, factor=lambda *_: factor, benchmarks=["Bcast"])
    found = both(compare(side_of(a), side_of(b, "b")))

    opposite = {"faster": "slower", "slower": "faster"}
    swapped = both(compare(side_of(b), side_of(a, "b")))
    assert [one.verdict for one in found] == [opposite.get(one.verdict, one.verdict) for one in swapped]
    assert ends(found) == pytest.approx(-ends(swapped)[:, [0, 2, 1]], nan_ok=True)

    scaled = both(compare(side_of(longer(a, [scale] * n)), side_of(longer(b, [scale] * m), "b")))
    random.shuffle(a)
    random.shuffle(b)
    shuffled = both(compare(side_of(a), side_of(b, "b")))
    for other in (scaled, shuffled):
        assert [one.verdict for one in found] == [one.verdict for one in other]
        assert ends(found) == pytest.approx(ends(other), nan_ok=True)


def ends(effects: Sequence[Effect]) -> NDArray[np.float64]:
    """Logarithms of speed, low and high by effect."""
    logs: NDArray[np.float64] = np.log(
        np.array([[x.speed, x.low or np.nan, x.high or np.nan] for x in effects], dtype=np.float64)
    )
    return logs


def both(found: Comparison) -> list[Effect]:
    return [*(one.effect for one in found.bands), *(one.effect for one in found.rows)]


def test_pairs_see_what_the_drift_of_a_machine_hides() -> None:
    drift = np.exp(np.linspace(0, 1, 8))
    a = longer(rows_of(8), drift)
    b = longer(rows_of(8, seed=2, factor=lambda *_: 1.1), drift)
    sides = []
    for name, launches in (("a", a), ("b", b)):
        side = side_of(launches, name)
        turns = [{"session": "x", "turn": turn} for turn in range(8)]
        sides.append((side, msgspec.structs.replace(
            side, launches=[msgspec.structs.replace(one, facts=facts) for one, facts in zip(side.launches, turns, strict=True)]
        )))  # fmt: skip
    (plain_a, turns_a), (plain_b, turns_b) = sides
    assert compare(plain_a, plain_b).verdict == "inconclusive"
    found = compare(turns_a, msgspec.structs.replace(turns_b, launches=turns_b.launches[::-1]))
    assert (found.pairs, found.verdict) == (True, "slower")
    fewer = msgspec.structs.replace(turns_b, launches=turns_b.launches[:7])
    found = compare(turns_a, fewer)
    assert (found.pairs, found.launches_a, found.verdict) == (True, 7, "slower")


def test_conditions_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of each launch: they take as long as all else that is read of it."""
    read: list[str] = []

    def conditions_of(launch: Launch) -> dict[str, str]:
        read.append(launch.name)
        return conditions.conditions_of(launch)

    monkeypatch.setattr("imb.compare.condition_diff.conditions_of", conditions_of)
    compare(side_of(rows_of(3), "a"), side_of(rows_of(3, seed=2), "b"))
    assert len(read) == len(set(read)) == 6


def test_bands_are_read_as_they_are_written() -> None:
    assert parse_bands("1-32,64-4K, 8k-256K,512K-4M") == BANDS
    assert ",".join(map(str, BANDS)) == "1-32,64-4K,8K-256K,512K-4M"
    assert (
        str(NO_LENGTH) == "no size"
        and NO_LENGTH.has(None)
        and not NO_LENGTH.has(0)
        and not Band(0, 4).has(None)
    )
    for text in ("", "4", "8-4", "0-32,16-64", "a-b", "-1-5", "0-32,,64-128", "1e3-1e4"):
        with pytest.raises(ImbError, match="band"):
            parse_bands(text)


# --- Through the door ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "code", "verdict"),
    [
        (1.0, 0, "same"),
        (2.0, 10, "slower"),
        (0.5, 0, "faster"),
        (1.05, 11, "inconclusive"),
        (1.03, 12, "differs"),
    ],
)
def test_exit_status_says_the_verdict(
    imb: Imb, before: Archive, factor: float, code: int, verdict: str
) -> None:
    spread = {11: 0.04, 12: 0.002}.get(code, 0.01)
    after = rows_of(8, seed=3, spread=spread, factor=lambda *_: factor)
    before.add_many(content(rows, labels=["after"]) for rows in after)
    said = imb("compare", "before", "after")
    assert (said.code, said.err) == (code, "")
    words = {
        "same": "B is as fast as A.",
        "inconclusive": "Inconclusive: a slowdown of 5 % or more is not excluded in 8 of 8 bands.",
        "differs": "B is 3.",  # and the interval, and where
    }.get(verdict, f"B is {verdict} than A in all 8 bands (most: ")
    assert said.out.startswith(words)
    assert "PingPong" in said.out and "8K-256K bytes" in said.out
    assert max(map(len, said.out.splitlines())) <= 100
    found = msgspec.json.decode(imb("compare", "before", "after", "--format", "json").out, type=Comparison)
    assert (
        found.verdict == verdict and msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
    )
    said = imb("compare", "before", "after", "--format", "junit")
    outcome = {"slower": "failure", "inconclusive": "skipped"}.get(verdict, "passed")
    cases = junit_cases(said.out)
    assert (said.code, cases["verdict", "before, after"]) == (code, outcome)
    properties = ElementTree.fromstring(said.out).findall("testsuite/properties/property")
    assert [one.attrib for one in properties] == [{"name": "verdict", "value": found.verdict}]
    assert len(cases) == 1 + len(found.bands) + len(found.rows)
    ((key, of_row),) = [(one, cases[one]) for one in cases if one[1] == str(found.rows[0])]
    assert key[0].endswith(f".{found.rows[0].key.benchmark}") and (verdict != "slower" or of_row == "failure")


def test_the_headline_names_bands_and_sides(imb: Imb, before: Archive) -> None:
    """The sides by what was chosen for them, the bands by their lengths, and both by the largest difference."""

    def factor(name: str, n: int) -> float:
        return 0.8 if n < 100_000 else 1.5 if name == "Allreduce" else 1.0

    after = rows_of(8, seed=3, factor=factor)
    before.add_many(
        content(rows, ran(mpi=Mpi(standard="4.1", name="Open MPI v5.0.11, built by me")), labels=["after"])
        for rows in after
    )
    out = imb("compare", "before", "after").out
    lines, text = out.splitlines(), " ".join(out.split())
    assert "A: Some MPI 1.0 (before), 8 launches" in lines
    assert "B: Open MPI 5.0.11 (after), 8 launches" in lines
    assert re.match(
        r"Mixed: Open MPI 5\.0\.11 \(B\) is faster than Some MPI 1\.0 \(A\) in 6 bands up to 256 KiB \(most: \w+, [\w-]+ bytes, 2\d % faster\),"
        r" slower in 1 band \(Allreduce, 512K-4M bytes, (49|50|51) % slower\)",
        text,
    ), text
    (changed,) = (line for line in lines if "Δ%" in line)
    assert changed.split()[-4:] == ["Δ%", "speedup", "of", "B"]
    (row,) = (line for line in lines if line.startswith("Allreduce, 2 ranks, 4194304 bytes"))
    assert re.search(r" \+(49|50|51)\.\d  0\.6\dx \(slower\)", row), row


@pytest.mark.parametrize(
    ("of_a", "of_b", "names"),
    [
        ({"environment": {"OMPI_MCA_btl": "sm,self"}}, {"environment": {"OMPI_MCA_btl": "tcp,self"}}, ("btl=sm,self", "btl=tcp,self")),
        ({"environment": {"UCX_TLS": "tcp"}}, {}, ("UCX_TLS=tcp", "UCX_TLS unset")),
        ({"platform": Platform(release="6.1")}, {"platform": Platform(release="6.2")}, ("kernel 6.1", "kernel 6.2")),
        (
            {"environment": {"A": "1", "B": "1", "C": "1"}},
            {"environment": {"A": "2", "B": "2", "C": "2"}},
            ("A=1, B=1, …", "A=2, B=2, …"),
        ),
        ({}, {}, None),
    ],
)  # fmt: skip
def test_sides_are_named_by_what_was_chosen(
    of_a: dict[str, Any], of_b: dict[str, Any], names: tuple[str, str] | None
) -> None:
    sides = []
    for said in (of_a, of_b):
        side = side_of(rows_of(2))
        launches = [msgspec.structs.replace(one, run=ran(**said)) for one in side.launches]
        sides.append(msgspec.structs.replace(side, launches=launches))
    assert names_of_sides(differences(*sides)) == names


@pytest.mark.parametrize(("of_b", "same"), [("on-host sm", True), ("on-host tcp", False)])
def test_settings_that_took_the_same_path_are_named(
    imb: Imb, archive: Archive, of_b: str, same: bool
) -> None:
    """As of UCX_TLS=tcp where the MPI does not use UCX: nothing of it was measured."""
    for label, transports, seed in (("a", "on-host sm", 1), ("b", of_b, 2)):
        facts = {"conditions": {"transports": transports, "environment": {"UCX_TLS": label}}}
        archive.add_many(
            content(rows, ran(environment={"UCX_TLS": label}), facts=facts, labels=[label])
            for rows in rows_of(3, seed=seed)
        )
    out = " ".join(imb("compare", "a", "b").out.split())
    words = "! both sides took the same path: on-host sm; UCX_TLS=a and UCX_TLS=b select no other transport"
    assert (words in out) == same, out


def test_ranks_that_share_cores_are_named_beside_the_verdict(imb: Imb, archive: Archive) -> None:
    facts = {"conditions": {"machine": {"cores": 2}}}
    for seed, label in enumerate("ab"):
        archive.add_many(
            content(rows, ran("aaaa"), facts=facts, labels=[label]) for rows in rows_of(3, seed=seed)
        )
    said = imb("compare", "a", "b")
    assert not said.err, said.err
    out = " ".join(said.out.split())
    assert "! A and B: 4 ranks on 2 cores: ranks share cores, and times mostly show how ranks wait" in out, (
        out
    )
    assert "give at most 2 ranks per host" in out


def test_a_slowdown_in_one_band_is_not_hidden_by_small_gains(imb: Imb, before: Archive) -> None:
    after = rows_of(8, spread=0.002, seed=3, factor=lambda _, n: 1.5 if n > 300_000 else 0.97)
    before.add_many(content(rows, labels=["after"]) for rows in after)
    before.add_many(content(rows, labels=["precise"]) for rows in rows_of(8, spread=0.002, seed=5))
    text = " ".join(imb("compare", "precise", "after").out.split())
    assert "B is slower than A in 2 bands from 512 KiB (most: " in text
    assert "; slightly faster in 6 bands up to 256 KiB (most: " in text
    assert (
        "1.03x △ [" in text
        and "▲ faster, ▼ slower, = same, △ ▽ slightly faster, slower (less than 5 %)" in text
    )


def test_differs_names_the_case(imb: Imb, before: Archive) -> None:
    """By less than matters, with the figures, their confidence and the place."""
    less = rows_of(8, seed=3, spread=0.002, factor=lambda *_: 1.03)
    before.add_many(content(rows, labels=["less"]) for rows in less)
    told = " ".join(imb("compare", "before", "less").out.split())
    assert re.search(
        r"B is 3\.\d % slower \(95 % interval \d\.\d to [34]\.\d %\), less than the relevant 5 %, in \w+, 2 ranks",
        told,
    )


def test_a_change_of_the_margin_is_decided_by_a_test_against_the_margin(imb: Imb, before: Archive) -> None:
    """Of 5 %, no more than 5 % is excluded hardly ever; of 3 % nearly always."""
    for factor, verdict in ((1.05, "slower"), (1.03, "differs")):
        found = compare(
            side_of(rows_of(10, spread=0.004)),
            side_of(rows_of(10, spread=0.004, seed=5, factor=lambda *_, factor=factor: factor), "b"),
        )
        assert found.verdict == verdict and {x.effect.verdict for x in found.bands} == {verdict}


def test_the_first_line_has_the_verdict_and_what_is_undecided(imb: Imb, before: Archive) -> None:
    after = rows_of(8, seed=3, spread=0.01, factor=lambda *_: 0.99)
    before.add_many(content(rows, labels=["after"]) for rows in after)
    said = imb("compare", "before", "after", "--relevant", "2%")
    told = " ".join(said.out.split())
    assert said.code == 0
    assert re.match(
        r"B is not slower by 2 % or more in any band; .*\d+ of 16 rows inconclusive by themselves\.", told
    )


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_verdict_comes_first_then_bands_rows_and_notes(imb: Imb, before: Archive, factor: float) -> None:
    """The error rate is printed once, and only if something changed."""
    before.add_many(content(rows, labels=["after"]) for rows in rows_of(8, seed=3, factor=lambda *_: factor))
    changed = factor > 1
    printed = imb("compare", "before", "after").out
    marked_up = imb("compare", "before", "after", "--format", "markdown").out
    for text, order in (
        (
            printed,
            [
                "B is slower than A" if changed else "B is as fast as A",
                "Bands: ",
                "A: before, 8 launches",
                "MPI1, 2 ranks\n",
                "▲ faster, ▼ slower",
                "Rows that changed" if changed else "No significant difference in 16 rows",
                "No known environment differences.",
                "0-byte rows are judged as rows",
                "Intervals: 99 %",
            ],
        ),
        (
            marked_up,
            ["**B is ", "- A: before", "### MPI1, 2 ranks", *(["### Rows that changed"] if changed else []), "### Notes", "- Intervals: 99 %"],
        ),
    ):  # fmt: skip
        places = [text.find(words) for words in order]
        assert places[0] == 0 and -1 not in places and places == sorted(places), (order, places, text)
        assert " ".join(text.split()).count("Chance of any false difference: at most 1 %.") == changed


def test_bands_that_differ_without_a_row_are_no_contradiction(imb: Imb, archive: Archive) -> None:
    """A band has less noise than each of its rows: the line in place of rows does not say that nothing differs."""
    for seed, label, slowdown in ((1, "before", 1.0), (2, "after", 1.09)):
        random = np.random.default_rng(seed)
        for _ in range(8):
            (rows,) = rows_of(
                1,
                seed=int(random.integers(1_000_000)),
                spread=0.001,
                factor=lambda *_: slowdown * float(np.exp(random.normal(0, 0.08))),  # noqa: B023
            )
            archive.add(content(rows, labels=[label]))
    said = imb("compare", "before", "after")
    assert said.code == 10 and said.out.startswith("B is slower than A in 3 bands")
    assert "None of 16 rows changed significantly by itself; --rows lists them." in said.out


def in_time_order(rows: list[list[Result]], name: str, first: int, step: int) -> Side:
    launches = [
        msgspec.structs.replace(
            launch, facts={"session": "s", "started": f"2026-01-01T{first + step * number:02}:00:00"}
        )
        for number, launch in enumerate(side_of(rows, name).launches)
    ]
    return Side(name=name, launches=launches)


def test_launches_that_were_not_interleaved_are_not_judged() -> None:
    """All of A, then all of B: a drift of the machine looks like a difference."""
    a, b = rows_of(8), rows_of(8, seed=2, factor=lambda *_: 1.2)
    found = compare(in_time_order(a, "a", 0, 1), in_time_order(b, "b", 8, 1))
    assert found.verdict == "inconclusive" and found.remedy == found.warnings[0]
    assert "not interleaved: all launches of A came before those of B" in (found.inconclusive or "")
    assert "measure A and B interleaved" in found.warnings[0] and "--assume-stable" in found.warnings[0]
    stable = CompareSettings(assume_stable=True)
    assert compare(in_time_order(a, "a", 0, 1), in_time_order(b, "b", 8, 1), stable).verdict == "slower"
    assert compare(in_time_order(a, "a", 0, 2), in_time_order(b, "b", 1, 2)).verdict == "slower"


def test_quantiles_are_rows_of_their_own() -> None:
    def with_tail(rows: list[list[Result]], factor: float, seed: int) -> list[list[Result]]:
        noise = np.random.default_rng(seed).normal(0, 0.02, len(rows))
        return [
            [
                msgspec.structs.replace(
                    one, quantiles={"p50": seconds(one), "p99": seconds(one) * factor * float(np.exp(by))}
                )
                for one in launch
            ]
            for launch, by in zip(rows, noise, strict=True)
        ]

    a, b = with_tail(rows_of(8), 4.0, 1), with_tail(rows_of(8, seed=2), 12.0, 2)
    found = compare(side_of(a), side_of(b, "b"))
    assert found.verdict == "slower" and {x.effect.verdict for x in found.bands} == {"same"}
    slower = [row for row in found.rows if row.effect.verdict == "slower"]
    assert {row.quantile for row in slower} == {"p99"} and len(slower) == 16
    assert str(slower[0]).endswith(", p99")


def mostly(rows: list[list[Result]], slow: Iterable[bool]) -> list[list[Result]]:
    """In passes, of which most were in the slow state of the machine."""
    return [
        [
            msgspec.structs.replace(
                one,
                passes=Passes(
                    samples=100,
                    states=[
                        MachineState(1.6e-7, 10 if is_slow else 90, seconds(one)),
                        MachineState(4.1e-7, 90 if is_slow else 10, 2.5 * seconds(one)),
                    ],
                ),
            )
            for one in launch
        ]
        for launch, is_slow in zip(rows, slow, strict=True)
    ]


@pytest.mark.parametrize(
    ("slow_a", "slow_b", "verdict"),
    [(1, 14, "slower"), (14, 1, "faster"), (2, 9, "inconclusive"), (5, 6, "same")],
)
def test_the_share_of_launches_in_the_slow_state_counts(slow_a: int, slow_b: int, verdict: str) -> None:
    """Figures are of the fast state, and equal."""
    a, b = (
        side_of(mostly(rows_of(20, seed=seed), [at < slow for at in range(20)]), name)
        for seed, slow, name in ((1, slow_a, "a"), (2, slow_b, "b"))
    )
    found = compare(a, b)
    assert found.verdict == verdict and {x.effect.verdict for x in found.bands} == {"same"}
    assert found.states and (found.states.fast_a, found.states.fast_b) == (20 - slow_a, 20 - slow_b)
    assert any(f"A {20 - slow_a} of 20, B {20 - slow_b} of 20" in one for one in found.warnings)


@pytest.mark.parametrize("table", [(18, 20, 6, 20), (3, 5, 5, 9), (10, 10, 0, 10)])
def test_shares_are_judged_by_fishers_test(table: tuple[int, int, int, int]) -> None:
    a, all_a, b, all_b = table
    scipys = scipy.stats.fisher_exact([[a, all_a - a], [b, all_b - b]]).pvalue
    assert fisher(*table) == pytest.approx(scipys)


def test_rows_in_no_band_have_their_reasons(imb: Imb, archive: Archive) -> None:
    """A PingPong of 0 bytes does send a message; an Allreduce of 8 bytes in 0.003 µs timed nothing."""

    def fast(name: str, n: int) -> float:
        return 0.003 if (name, n) == ("Allreduce", 8) else 1.0

    for name, seed in (("one", 1), ("two", 2)):
        archive.add_many(content(rows, labels=[name]) for rows in rows_of(6, seed=seed, factor=fast))
    told = " ".join(imb("compare", "one", "two").out.split())
    assert "0-byte rows are judged as rows, not in a band: 2 rows (" in told
    assert (
        "rows below 0.05 µs are judged as rows, not in a band: no operation was timed: 1 row (Allreduce"
        in told
    )
    assert "nothing is sent" not in told and "1-32 bytes" in told and "0-32 bytes" not in told


def test_the_guides_table(imb: Imb, before: Archive) -> None:
    def xpmem(name: str, n: int) -> float:
        band = 0 if n <= 32 else 1 if n <= 4096 else 2 if n <= 262144 else 3
        return 1 / {"PingPong": (1.00, 0.97, 0.85, 2.28), "Allreduce": (0.76, 1.00, 5.44, 10.60)}[name][band]

    before.add_many(
        content(rows, labels=["xpmem"]) for rows in rows_of(8, spread=0.002, factor=xpmem, seed=5)
    )
    before.add_many(content(rows, labels=["default"]) for rows in rows_of(8, spread=0.002, seed=6))
    said = imb("compare", "default", "xpmem")
    assert said.code == 10
    heading, ping_pong, allreduce = (
        next(line for line in said.out.splitlines() if line.startswith(word))
        for word in ("benchmark", "PingPong", "Allreduce")
    )
    assert heading.split() == [
        "benchmark",
        "1-32",
        "bytes",
        "64-4K",
        "bytes",
        "8K-256K",
        "bytes",
        "512K-4M",
        "bytes",
    ]
    cells = re.findall(r"([\d.]+)x ([▲▼△▽=?]) \[([\d.]+), ([\d.]+)\]", ping_pong)
    assert [cell[1] for cell in cells] == ["=", "▽", "▼", "▲"]
    assert [float(cell[0]) for cell in cells] == pytest.approx([1.00, 0.97, 0.85, 2.28], rel=0.01)
    assert [mark for _, mark, *_ in re.findall(r"([\d.]+)x ([▲▼=?]) \[([\d.]+), ([\d.]+)\]", allreduce)] == [
        "▼",
        "=",
        "▲",
        "▲",
    ]


def test_markdown(imb: Imb, before: Archive) -> None:
    hostile = ran(mpi=Mpi(standard="4.1", name="<b>|MPI|</b> *2*\n# x\x1b[31m"))
    before.add_many(
        content(rows, hostile, labels=["after"]) for rows in rows_of(8, seed=3, factor=lambda *_: 2.0)
    )
    said = imb("compare", "before", "after", "--format", "markdown")
    assert said.code == 10
    assert (
        re.search(r"\| PingPong \| \d.\d\dx \(slower\) \[\d.", said.out)
        and "### Rows that changed" in said.out
    )
    assert "\x1b" not in imb("compare", "before", "after").out
    assert r"\<b\>\|MPI\|\</b\> \*2\* \# x?\[31m" in said.out
    tables = [line for line in said.out.splitlines() if line.startswith("|")]
    assert tables and all(re.sub(r"\\\|", "", line).count("|") in (4, 5, 6) for line in tables)


def test_html(imb: Imb, before: Archive) -> None:
    before.add_many(
        content(rows, labels=["<script>after"]) for rows in rows_of(8, seed=3, factor=lambda *_: 2.0)
    )
    said = imb("compare", "before", "<script>after", "--format", "html")
    assert said.code == 10 and said.out.startswith("<!doctype html>") and "<script>after" not in said.out


def test_all_rows(imb: Imb, before: Archive) -> None:
    before.add_many(content(rows, labels=["after"]) for rows in rows_of(8, seed=3))
    assert "4194304 bytes" not in imb("compare", "before", "after").out
    every = imb("compare", "before", "after", "--rows", "--benchmark", "pingpong").out
    assert "PingPong, 2 ranks, 4194304 bytes" in every and "Allreduce" not in every


def test_files_and_labels_and_parts_of_both(imb: Imb, before: Archive, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    folder.mkdir()
    for number, rows in enumerate(rows_of(6, seed=3)):
        (folder / f"{number}.jsonl").write_bytes(content(rows).records or b"")
    said = imb("compare", "before", folder, "--assume-one-session")
    assert said.code == 0 and "6 launches" in said.out
    twice = imb("compare", f"before,{before.ids()[0][:12]}", folder)
    assert "8 launches" in twice.out  # a launch named twice is one


def test_rows_that_are_undecided_are_not_called_without_difference(imb: Imb, archive: Archive) -> None:
    for side, seed in (("before", 1), ("after", 2)):
        archive.add_many(content(rows, labels=[side]) for rows in rows_of(4, spread=0.2, seed=seed))
    said = imb("compare", "before", "after")
    assert said.code == 11 and "No significant difference" not in said.out
    assert re.search(
        r"(?m)^\d+ rows: [1-9]\d* inconclusive(, [1-9]\d* same)?; --rows lists them\.$", said.out
    ), said.out


def test_names_that_a_job_has_for_itself_are_no_conditions(
    imb: Imb, archive: Archive, tmp_path: Path
) -> None:
    """Open MPI tells its ranks addresses and numbers of the job; a variable of the user's stays one."""
    for side, transport in (("before", "sm"), ("after", "tcp")):
        for number, rows in enumerate(rows_of(4)):
            variables = {
                "OMPI_MCA_orte_hnp_uri": f"{side}{number};tcp://h",
                "OMPI_MCA_orte_app_num": "0" if side == "before" else "1",
                "UCX_JOB_NAME": f"{side}-{number}",
                "UCX_TLS": transport,
            }
            archive.add(content(rows, run=ran(environment=variables), labels=[side]))
    out = imb("compare", "before", "after").out
    told = out[out.index("Environment differences") :]
    assert "$UCX_TLS" in told and "OMPI_MCA" not in told and "JOB_NAME" not in told
    pytest.importorskip("plotly")
    page = tmp_path / "report.html"
    for sides in (("before", "after"), ("before",)):
        assert imb("report", *sides, "-o", page).code == 0
        told = page.read_text()
        told = told[: told.index('id="data"')]
        assert "$UCX_TLS" in told and "OMPI_MCA" not in told
        assert len(sides) == 1 or "JOB_NAME" not in told  # four launches may differ by chance
        page.unlink()


def test_conditions_that_differ_come_first(imb: Imb, before: Archive) -> None:
    other = ran(("b", "b"), mpi=Mpi(standard="4.1", name="Other MPI 2"), environment={"UCX_TLS": "sm"})
    facts = {"conditions": {"load": 3.5, "environment": {}, "machine": {"cpu_model": "Slow"}}}
    before.add_many(content(rows, other, facts=facts, labels=["after"]) for rows in rows_of(6, seed=3))
    out = imb("compare", "before", "after").out
    assert out.index("Some MPI 1.0") < out.index("benchmark ")
    told = {line.split("  ")[0]: line.split("  ")[1:] for line in out.splitlines()}
    assert [cell.strip() for cell in told["MPI library"] if cell.strip()] == ["Some MPI 1.0", "Other MPI 2"]
    assert [cell.strip() for cell in told["$UCX_TLS"] if cell.strip()] == ["unset", "sm"]
    assert "hosts" in told and "MPI standard" not in told
    assert "unknown for A only: CPU" in out and "is a log" not in out
    same = imb("compare", "before", "before").out
    assert "No known environment differences" in same and "in both A and B" in same


def in_passes(*words: float) -> Run:
    precision, budget = words
    return ran(options={"precision": precision * 100, "budget": budget})


def test_classic_launches_are_not_compared_with_passes(imb: Imb, before: Archive) -> None:
    before.add_many(content(rows, in_passes(0.01, 30), labels=["passes"]) for rows in rows_of(6, seed=3))
    said = imb("compare", "before", "passes")
    assert said.code == 2 and "'before' was measured classic and 'passes' in passes" in said.err
    command = "imb run Allreduce PingPong --np 2 --classic --label passes-classic;"
    assert f"measure 'passes' again: {command}" in said.err
    forced = imb("compare", "before", "passes", "--force").out
    assert "until each row is within ±1 % or 30 s have passed" in " ".join(forced.split())
    assert "classic" in forced
    mixed = imb("compare", "before,passes", "before")
    assert mixed.code == 2 and "has launches with and without passes" in mixed.err


def test_the_command_that_measures_again_has_the_arguments_of_the_run(imb: Imb, before: Archive) -> None:
    words = "pingpong Allreduce -msglog 2:6 -precision 2 --Budget 30 -check -JSON /tmp/a"
    facts = {"arguments": words.split()}
    before.add_many(
        content(rows, in_passes(0.02, 30), facts=facts, labels=["passes"]) for rows in rows_of(6, seed=3)
    )
    said = imb("compare", "before", "passes")
    command = "imb run Allreduce PingPong --np 2 --classic --label passes-classic -- -msglog 2:6 -check;"
    assert said.code == 2 and f"measure 'passes' again: {command}" in said.err


def test_other_limits_of_passes_are_a_condition(imb: Imb, archive: Archive) -> None:
    for number, budget in enumerate((30, 60)):
        archive.add_many(
            content(rows, in_passes(0.01, budget), labels=[f"{budget}s"]) for rows in rows_of(6, seed=number)
        )
    said = imb("compare", "30s", "60s")
    assert said.code != 2 and re.search(r"passes +until .*30 s", " ".join(said.out.split()))
    assert "options passes" not in said.out


def test_memory_is_not_compared_with_network(imb: Imb, before: Archive) -> None:
    before.add_many(
        content(rows, ran(("a", "b")), labels=["far"]) for rows in rows_of(6, factor=lambda *_: 5.0, seed=3)
    )
    said = imb("compare", "before", "far")
    assert said.code == 2 and "before is intra-node and far is inter-node" in said.err and said.out == ""
    forced = imb("compare", "before", "far", "--force")
    assert forced.code == 10 and re.search(r"placement +intra-node +inter-node", forced.out)
    mixed = imb("compare", "before,far", "before")
    assert mixed.code == 2 and "has intra-node and inter-node launches" in mixed.err


def test_too_few_launches_are_told_with_what_would_do(imb: Imb, before: Archive) -> None:
    for rows in rows_of(3, seed=3, spread=0.03):
        before.add(content(rows, labels=["three"]))
    before.add(content(rows_of(1, seed=4, factor=lambda *_: 3.0)[0], labels=["one"]))
    three = imb("compare", "three", "before").out.replace("\n", " ")
    assert re.search(
        r"3 against 8 launches: minimum detectable change \d+ % .* for 5 % take \d+ launches per side", three
    )
    for number, rows in enumerate(rows_of(8, seed=3, spread=1.5)):
        before.add(content(rows, labels=["wild", "half" if number % 2 else "other"]))
    wild = " ".join(imb("compare", "half", "other").out.split())
    assert (
        "4 against 4 launches: too noisy to judge; rerun on an idle machine, or interleave with --segments"
        in wild
    )
    assert "minimum detectable change" not in wild
    one = imb("compare", "before", "one")
    assert one.code == 11 and "verdicts are same or inconclusive only" in one.out.replace("\n", " ")
    alone = imb("compare", "one", f"{before.ids()[0][:12]}")
    assert alone.code == 11 and "too few to estimate the spread of launches" in alone.out


def test_rows_beyond_the_budget_are_no_failed_launch(imb: Imb, archive: Archive) -> None:
    over = Failure(benchmark="Bcast", multi="off", processes=2, group_count=1, bytes=8, cause="over_budget")
    lost = Failure(benchmark="Bcast", multi="off", processes=2, group_count=1, bytes=8, cause="out_of_memory")
    for label, failure, status in (
        ("plain", None, 0),
        ("short", over, 0),
        ("lost", lost, 0),
        ("dead", over, 9),
    ):
        facts = {"outcome": "failed" if failure else "measured", "exit_status": status}
        archive.add_many(
            content([*rows, *([failure] if failure else [])], facts=facts, labels=[label])
            for rows in rows_of(3)
        )
    out = {label: " ".join(imb("compare", "plain", label).out.split()) for label in ("short", "lost", "dead")}
    assert (
        "B: 3 launches did not reach all rows within the budget of a launch: give a longer --launch-budget"
        in out["short"]
    )
    assert "incomplete" not in out["short"]
    assert "B: 3 launches incomplete: some rows could not be measured" in out["lost"]
    assert "B: 3 launches incomplete: failed with exit status 9" in out["dead"]


def test_a_row_that_one_launch_failed_to_measure_is_one_test_case(imb: Imb, archive: Archive) -> None:
    """An error, which says how fast the row was in the other launches."""
    lost = Failure(
        benchmark="PingPong", multi="off", processes=2, group_count=1, bytes=8, cause="out_of_memory"
    )
    archive.add_many(content(rows, labels=["plain"]) for rows in rows_of(6))
    first, *others = rows_of(6, seed=2)
    kept = [row for row in first if (row.benchmark, row.bytes) != ("PingPong", 8)]
    archive.add(content([*kept, lost], labels=["lost"]))
    archive.add_many(content(rows, labels=["lost"]) for rows in others)
    out = imb("compare", "plain", "lost", "--format", "junit").out
    found = msgspec.json.decode(imb("compare", "plain", "lost", "--format", "json").out, type=Comparison)
    (one,) = (row for row in found.rows if (row.key.benchmark, row.key.bytes) == ("PingPong", 8))
    cases = junit_cases(out)
    assert len(cases) == 1 + len(found.bands) + len(found.rows)
    assert cases["MPI1.PingPong", str(one)] == "error"
    (error,) = ElementTree.fromstring(out).findall(f"testsuite/testcase[@name='{one}']/error")
    wanted = f"out of memory; in the launches that measured it: {one.effect.verdict}: speedup "
    assert error.attrib["message"].startswith(wanted)


def test_what_is_wrong_with_a_side_is_named(imb: Imb, archive: Archive) -> None:
    good, bad = rows_of(5), rows_of(5, seed=2)
    for rows in bad[:2]:
        rows[3].defects = 7
    failure = Failure(
        benchmark="Allreduce", multi="off", processes=2, group_count=1, bytes=4194304, cause="out_of_memory"
    )
    archive.add_many(content([*rows, row("Extra", 0, 1e-6)], labels=["good"]) for rows in good)
    archive.add(Content(records=write([ran(), *bad[0][:9]]), labels=["bad"]))  # cut off
    archive.add(content([*bad[1][:-1], failure], labels=["bad"]))
    archive.add_many(
        content(rows, end=End(state="interrupted"), labels=["bad"])
        for rows in (bad[2], rows_of(1, seed=3)[0])
    )
    archive.add(content(bad[3], facts={"outcome": "timed_out"}, labels=["bad"]))
    slow = [msgspec.structs.replace(one, time_avg_seconds=(one.time_avg_seconds or 0) * 4) for one in bad[4]]
    archive.add(content(slow, labels=["bad"]))
    out = " ".join(imb("compare", "good", "bad").out.split())
    for words in (
        "B: wrong data received in 1 row (PingPong, 2 ranks, 1024 bytes)",
        "B: 1 launch was cut off",
        "B: 2 launches were interrupted",
        "B: 1 launch incomplete: killed at its time limit",
        "B: missing in some launches: 7 rows (Allreduce, 2 ranks, 8 bytes; ",
        "only B has failures: 1 row (Allreduce, 2 ranks, 4194304 bytes): out of memory",
        "only A has 1 row (Extra, 2 ranks, 0 bytes)",
        "times as slow as the others",
    ):
        assert words in out, words
    assert not re.search(r"! A: ", out)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["before", "nothing"], "no run, label or file 'nothing'"),
        (["before", "before", "--relevant", "x"], "--relevant: not a percentage above 0 and below 10000: x"),
        (["before", "before", "--relevant", "0"], "--relevant: not a percentage above 0 and below 10000: 0"),
        (
            ["before", "before", "--relevant", "nan%"],
            "--relevant: not a percentage above 0 and below 10000: nan%",
        ),
        (["before", "before", "--metric", "speed"], "unknown metric: speed; choose from time, "),
        (["before", "before", "--metric", "p99"], "has a p99 above 0 on both sides"),
        (["before", "before", "--bands", "x"], "'x' is not a size band"),
        (
            ["before", "before", "--benchmark", "Bcast"],
            "no such benchmark: Bcast; choose from PingPong, Allreduce",
        ),
        (["before", "four"], "have no row in common: PingPong has processes 2 and 4"),
        (["before", "other"], "have no row in common: their benchmarks differ"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_status_2(
    imb: Imb, before: Archive, words: list[str], says: str
) -> None:
    four = [msgspec.structs.replace(one, processes=4) for one in rows_of(1)[0]]
    before.add(content(four, labels=["four"]))
    before.add(content(rows_of(1, benchmarks=["Bcast"])[0], labels=["other"]))
    said = imb("compare", *words)
    assert (said.code, said.out) == (2, "") and says in said.err and len(said.err.splitlines()) == 1


def test_launches_of_several_components_are_counted_apart(imb: Imb, archive: Archive) -> None:
    for label, seed in (("a", 1), ("b", 2)):
        for turn, (one, other) in enumerate(
            zip(rows_of(6, seed=seed), rows_of(6, seed=seed + 5), strict=True)
        ):
            facts = {"session": "x", "turn": turn}
            archive.add(content(one, labels=[label], facts=facts))
            archive.add(content(other, ran(component="NBC"), labels=[label], facts=facts))
    said = imb("compare", "a", "b")
    assert said.code == 0 and "judged in pairs" in said.out and "lacks" not in said.out
    assert "MPI1, 2 ranks" in said.out and "NBC, 2 ranks" in said.out
    found = msgspec.json.decode(imb("compare", "a", "b", "--format", "json").out, type=Comparison)
    assert {one.launches_a for one in both(found)} == {6}


def test_figures_that_are_none_are_not_judged(imb: Imb, archive: Archive) -> None:
    hostile = [
        row("Zero", 0, 0.0), row("Negative", 8, -1.0), row("Nothing", 8, None), row("[red]Odd[/red]", 8, 1e-6),
        row("Tiny", 8, 5e-324), row("Huge", 8, 1.7e308), row("Never", 10**12, 1.0), row("Barrier", None, 1e-6),
    ]  # fmt: skip
    for label in ("a", "b"):
        archive.add_many(
            content(
                [*hostile, row("PingPong", 8, 1e-6 * (number + 1))],
                labels=[label],
                facts={"turn": number, "label": label},
            )
            for number in range(3)
        )
    said = imb("compare", "a", "b", "--rows")
    assert said.code == 11 and "[red]Odd[/red]" in said.out and "no size" in said.out
    out = " ".join(said.out.split())
    assert "3 rows (Zero, 2 ranks, 0 bytes; Negative, 2 ranks, 8 bytes; Nothing, 2 ranks, 8 bytes)" in out
    assert "1 row outside all size bands" in out
    for form in ("json", "markdown"):
        assert imb("compare", "a", "b", "--format", form).code == 11
    json.loads(imb("compare", "a", "b", "--format", "json").out)


def test_logs_of_others_compare(imb: Imb, tmp_path: Path) -> None:
    log = HERE.parent / "reference"
    text = sorted(log.rglob("*.txt"))[0]
    said = imb("compare", text, text)
    assert said.code in (0, 11) and "in both A and B" in said.out and "is a log" not in said.out


def test_conditions_that_a_log_lacks_are_one_line(imb: Imb, before: Archive) -> None:
    bare = ran(ranks=None, mpi=None, build=None, platform=None, environment=None, options=None)
    before.add_many(content(rows, bare, labels=["log"]) for rows in rows_of(6, seed=3))
    facts = {"conditions": {"load": 3.5, "environment": {}, "machine": {"cpu_model": "Slow"}}}
    before.add_many(content(rows, facts=facts, labels=["known"]) for rows in rows_of(6, seed=4))
    out = imb("compare", "log", "known").out
    assert "A is a log, which lacks most conditions" in out and "unknown for" not in out


def by_clock(
    rows: list[list[Result]], arrival: str | None, width: float | None, seconds: float = 1.0
) -> list[Content]:
    """Launches with -sync_start clock: what the ranks' means say is not what counts."""
    run = ran(options={"sync_start": "clock", "arrival": arrival, "root_shift": True})
    return [
        content(
            [
                msgspec.structs.replace(
                    one,
                    time_max_seconds=1.0,
                    time_from_last_arrival_seconds=seconds * (one.time_avg_seconds or 0),
                    valid_percent=98.0,
                    arrival_width_seconds=width,
                )
                for one in rows_of_launch
            ],
            run,
        )
        for rows_of_launch in rows
    ]


def test_rules_of_starting_are_not_compared_with_each_other(imb: Imb, before: Archive) -> None:
    labeled = {
        "clock": by_clock(rows_of(6, seed=3), None, None),
        "last": by_clock(rows_of(6, seed=4), "last:50", 50e-6),
        "slower": by_clock(rows_of(6, seed=5), "last:50", 50e-6, seconds=1.3),
        "wider": by_clock(rows_of(6, seed=6), "last:x2", 60e-6),
        "wide": by_clock(rows_of(6, seed=7), "last:x2", 61e-6),
    }
    for label, contents in labeled.items():
        before.add_many(msgspec.structs.replace(one, labels=[label]) for one in contents)
    for a, b in (("before", "clock"), ("clock", "last"), ("last", "wide")):
        said = imb("compare", a, b, "--force")
        assert said.code == 2 and "by different rules" in said.err, said.err
    said = imb("compare", "before", "last")
    assert "before: begins at a barrier or none; last: arrival last:50)" in said.err
    said = imb("compare", "wider", "wide")
    assert said.code == 2 and "no row of the same arrival width" in said.err
    assert imb("compare", "last", "slower", "--assume-stable").code == 10
    assert imb("compare", "last", "last", "--assume-stable").code != 10


def test_rows_of_other_widths_are_not_pooled(imb: Imb, archive: Archive) -> None:
    """A has launches of two widths; only those of B's count against it. Where the width was measured, each launch has its own."""

    def add(label: str, arrival: str, width: float, seconds: float, seed: int) -> None:
        contents = by_clock(rows_of(6, seed=seed), arrival, width, seconds)
        archive.add_many(msgspec.structs.replace(one, labels=[label]) for one in contents)

    add("two", "last:50", 50e-6, 1.0, 1)
    add("two", "last:500", 500e-6, 2.0, 2)
    add("one", "last:50", 50e-6, 1.0, 3)
    add("measured", "last:x2", 61.004e-6, 1.0, 4)
    add("measured", "last:x2", 62e-6, 2.0, 5)
    add("again", "last:x2", 60.996e-6, 1.0, 6)
    for a, b, width, only in (
        ("two", "one", None, "arrival last:500"),
        ("measured", "again", 61e-6, "arrival last:x2 (62.00 µs)"),
    ):
        said = imb("compare", a, b, "--assume-stable", "--format", "json")
        found = json.loads(said.out)
        assert found["verdict"] == "same", said.out
        assert {one["key"]["arrival_width_seconds"] for one in found["rows"]} == {width}
        assert len(found["only_a"]) == 2 * len(LENGTHS) and not found["only_b"]
        assert only in imb("compare", a, b, "--assume-stable").out


def test_rows_with_few_valid_repetitions_are_marked(imb: Imb, archive: Archive) -> None:
    shown = [
        row("Bcast", 8, 1.0, time_max_seconds=1.0, valid_percent=0.0, given_up=True),
        row(
            "Bcast",
            16,
            1.0,
            time_max_seconds=1.0,
            valid_percent=40.0,
            time_from_last_arrival_seconds=2e-6,
            time_from_first_arrival_seconds=3e-6,
            start_skew_seconds=1e-6,
            exit_skew_seconds=1e-6,
        ),
    ]
    archive.add_many([content(shown, ran(options={"sync_start": "clock"}), labels=["clock"])])
    lines = imb("show", "clock").out.splitlines()
    none = next(line for line in lines if line.split()[:1] == ["8"])
    few = next(line for line in lines if line.split()[:1] == ["16"])
    assert none.count("n/a") == 4 and "0.00 (few)" in none
    assert "40.00 (few)" in few and "2.00" in few
