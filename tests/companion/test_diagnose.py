"""Every rule with a machine that has the fault and one that has not; the faults are known because they were made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from companion import machines
from companion.door import Imb
from companion.machines import LATENCY, LENGTHS, curve, healthy, launch, message, row, save
from hypothesis import given, settings
from hypothesis import strategies as st
from imb.diagnose import (
    Diagnosis,
    Finding,
    Limits,
    Thresholds,
    curves,
    diagnose,
    rate,
    threshold_descriptions,
)
from imb.model import collective_models
from imb.model.errors import ImbError
from imb.model.observations import Side, launches_of
from imb.model.records import End, Failure, Record, Records, Result, Run, write

DATA = Path(__file__).parent / "data"


def side(*launches: Iterable[Record]) -> Side:
    made = [
        one for i, rows in enumerate(launches) for one in launches_of(Records(list(rows), []), f"launch{i}")
    ]
    return Side(name="side", launches=made)


def found(
    rows: Iterable[Record], rule: str, limits: Limits | None = None, **thresholds: float
) -> list[Finding]:
    said = diagnose(side(launch(rows)), Thresholds(**thresholds), limits)
    return [one for one in said.findings if one.rule == rule]


# ---------------------------------------------------------------- healthy machines


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("launches", [1, 5])
def test_a_healthy_machine_has_no_finding_at_all(seed: int, launches: int) -> None:
    random = np.random.default_rng(seed)
    said = diagnose(side(*(launch(healthy(random)) for _ in range(launches))))
    assert said.findings == []
    (ping,) = [model.fit for model in said.models if model.curve.benchmark == "PingPong"]
    assert ping.latency == pytest.approx(machines.LATENCY, rel=0.1)
    assert ping.bandwidth == pytest.approx(machines.BANDWIDTH, rel=0.1)


def test_a_simulated_machine_with_the_algorithms_of_mpich_is_healthy(imb: Imb) -> None:
    """A run of the suite on SMPI's perfect switch; MPICH changes Alltoall at 256 and Reduce at 2048 bytes."""
    said = imb("diagnose", DATA / "simulated-mpich.jsonl", "--format", "json")
    assert said.code == 0
    findings = json.loads(said.out)["findings"]
    assert [(one["where"], one["evidence"]["first_bytes"]) for one in findings] == [
        ("Alltoall, 8 ranks", 256),
        ("Reduce, 8 ranks", 2048),
    ]
    assert {one["level"] for one in findings} == {"information"}


def test_naive_algorithms_on_the_same_machine_are_named(imb: Imb) -> None:
    """SMPI's own algorithms send everything to rank 0 first."""
    said = imb("diagnose", DATA / "simulated-naive.jsonl", "--format", "json")
    assert said.code == 1
    slow = [one for one in json.loads(said.out)["findings"] if one["rule"] == "collective"]
    assert [one["where"] for one in slow] == ["Reduce_scatter, 8 ranks", "Allreduce, 8 ranks"]


# ---------------------------------------------------------------- one rule after the other


def test_defects_and_failures_are_findings() -> None:
    bad = [
        row("Bcast", 8, 64, 1e-6, "collective", defects=3),
        row("Bcast", 8, 128, 1e-6, "collective", defects=0),
    ]
    (one,) = found(bad, "defects")
    assert one.level == "problem" and "3 defects" in one.found and "64 bytes" in one.found
    assert not found(bad[1:], "defects")
    failures: list[Record] = [
        Failure(benchmark="Alltoall", processes=8, bytes=2**22, cause="out_of_memory"),
        Failure(benchmark="PingPong", processes=3, cause="invalid_processes"),
    ]
    (memory, natural) = found(failures, "failures")
    assert (memory.level, natural.level) == ("warning", "information")
    assert "4 MiB" in memory.found and "-mem" in memory.advice


def test_a_launch_that_was_cut_off_is_named() -> None:
    rows = curve(message)
    assert not found(rows, "incomplete")
    whole = launch(rows)
    (one,) = [f for f in diagnose(side(whole[:-1])).findings if f.rule == "incomplete"]
    assert "launch0" in one.where and "cut off" in one.found
    (one,) = diagnose(side([*whole[:-1], End(state="interrupted", reason="SIGINT")])).findings
    assert "SIGINT" in one.found


def test_spread_over_ranks() -> None:
    def rows(name: str, factor: float, n: int = 64) -> list[Record]:
        return [
            row(
                name,
                8,
                n,
                2e-6,
                "collective",
                time_min_seconds=1e-6,
                time_max_seconds=1e-6 * factor,
                slowest_rank=5,
            )
        ]

    (one,) = found(rows("Allreduce", 4.0), "rank-spread")
    assert one.level == "warning" and "4.0 times" in one.found and "rank 5" in one.found
    assert not found(rows("Allreduce", 2.9), "rank-spread")
    assert found(rows("Allreduce", 2.9), "rank-spread", rank_spread=2.0)
    assert not found(rows("Allreduce", 9.0, n=0), "rank-spread")  # nothing was moved
    assert found(rows("Gather", 4.0), "rank-spread")[0].level == "information"


@pytest.mark.parametrize(("slow", "named"), [(1.5, True), (1.05, False)])
def test_the_slowest_rank_is_named_when_it_is_always_the_same(slow: float, named: bool) -> None:
    def rows(ranks: Callable[[int], int]) -> list[Record]:
        return [
            row(
                "Allreduce",
                8,
                n,
                message(n),
                "collective",
                time_max_seconds=slow * message(n),
                slowest_rank=ranks(i),
            )
            for i, n in enumerate(LENGTHS)
        ]

    said = found(rows(lambda i: 6), "slowest-rank")
    assert bool(said) == named
    if said:
        assert "rank 6 (host n0, CPUs 6)" in said[0].found
        # A rank in eight in turn, or one of two ranks, is no slowest rank.
        assert not found(rows(lambda i: i % 8), "slowest-rank")


def test_spread_between_launches() -> None:
    random = np.random.default_rng(1)
    steady = diagnose(side(*(launch(healthy(random, noise=0.02)) for _ in range(8))))
    shaky = diagnose(side(*(launch(healthy(random, noise=0.25)) for _ in range(8))))
    assert "launch-spread" not in {one.rule for one in steady.findings}
    (one,) = [one for one in shaky.findings if one.rule == "launch-spread"]
    assert one.level == "warning" and one.evidence["launches"] == 8
    two = diagnose(side(launch(healthy(random)), launch(healthy(random))))
    assert any("needs three launches, found 2" in note for note in two.notes)


def test_tails_of_repetitions() -> None:
    def rows(p99: float) -> list[Record]:
        return [row("PingPong", 2, 8, 1e-6, "single_transfer", quantiles={"p50": 1e-6, "p99": p99})]

    (one,) = found(rows(5e-6), "tail")
    assert "5.0 times" in one.found
    assert not found(rows(2.9e-6), "tail")


def cliff(n: int, at: int = 65536, by: float = 2.0) -> float:
    return message(n) * (by if n >= at else 1)


def test_cliffs_are_located_and_told_from_growing_bandwidth() -> None:
    (one,) = found(curve(cliff), "cliff")
    assert (one.evidence["from_bytes"], one.evidence["to_bytes"]) == (32768, 65536)
    assert "not regained" in one.found
    assert not found(curve(message), "cliff")
    assert not found(curve(lambda n: cliff(n, by=1.2)), "cliff")
    # Where most of the time is latency, bandwidth grows on right behind the step: no drop, but a switch.
    assert not found(curve(lambda n: cliff(n, at=64)), "cliff")
    (back,) = found(curve(lambda n: message(n) * (3 if n == 2**18 else 1)), "cliff")
    assert back.evidence["to_bytes"] == 2**18 and "regained at 512 KiB" in back.found


def test_a_slow_row_of_a_few_bytes_is_not_called_a_limit_of_long_messages() -> None:
    (one,) = found(curve(lambda n: message(n) * (5 if n == 8 else 1)), "cliff")
    assert "is latency" in one.advice and "cache" not in one.advice
    assert "0.0 MB/s" not in one.found


def test_several_curves_with_one_cliff_are_one_finding() -> None:
    rows = curve(cliff) + curve(cliff, "Bcast", 8, "collective")
    (one,) = found(rows, "cliff")
    assert "PingPong" in one.where and "Bcast" in one.where


def plateau(n: int, at: int = 2**17, share: float = 0.25) -> float:
    """From `at` on no more bandwidth than a share of what the machine has."""
    return max(message(n), n / (share * machines.BANDWIDTH)) if n >= at else message(n)


def test_plateaus_need_a_promise_that_is_broken() -> None:
    (one,) = found(curve(plateau), "plateau")
    assert one.evidence["bandwidth"] == pytest.approx(0.25 * machines.BANDWIDTH, rel=0.01)
    assert not found(curve(message), "plateau")  # it stops growing too, but where latency and bandwidth say
    assert not found(curve(lambda n: plateau(n, share=0.9)), "plateau")


@settings(max_examples=25)
@given(scale=st.floats(1e-3, 1e3), at=st.sampled_from(LENGTHS[8:20]), by=st.floats(1.6, 8))
def test_slower_clocks_leave_cliffs_and_plateaus_where_they_are(scale: float, at: int, by: float) -> None:
    for shape in (lambda n: cliff(n, at, by), lambda n: plateau(n, at, 1 / by)):
        places = []
        for factor in (1.0, scale):
            said = diagnose(side(launch(curve(lambda n, f=factor, s=shape: f * s(n)))))  # type: ignore[misc]
            places.append(
                [
                    (one.rule, one.evidence)
                    for one in said.findings
                    if one.rule in ("cliff", "plateau", "switch")
                ]
            )
        assert [
            (rule, {k: v for k, v in evidence.items() if k.endswith("_bytes")})
            for rule, evidence in places[0]
        ] == [
            (rule, {k: v for k, v in evidence.items() if k.endswith("_bytes")})
            for rule, evidence in places[1]
        ]


@pytest.mark.parametrize("at", [1024, 8192, 65536])
def test_a_switch_of_protocol_is_located_and_no_fault(at: int) -> None:
    def seconds(n: int) -> float:
        return message(n) if n < at else 1.6 * LATENCY + 1.5 * n / machines.BANDWIDTH

    said = diagnose(side(launch(curve(seconds))))
    (one,) = said.findings
    assert (one.rule, one.level) == ("switch", "information")
    assert (one.evidence["last_bytes"], one.evidence["first_bytes"]) == (at // 2, at)
    assert said.is_healthy


def test_collectives_are_held_against_pingpong() -> None:
    def rows(factor: float) -> list[Record]:
        return curve(message) + curve(lambda n: factor * 3 * message(n), "Bcast", 8, "collective")

    (one,) = found(rows(5.0), "collective")
    assert one.where == "Bcast, 8 ranks" and one.evidence["ratio"] > 3
    assert not found(rows(1.0), "collective")
    alone = diagnose(side(launch(rows(5.0)[len(LENGTHS) :])))
    assert any("needs PingPong" in note for note in alone.notes)


def test_pingpong_within_a_node_says_nothing_of_collectives_between_nodes() -> None:
    rows = curve(message) + curve(lambda n: 50 * message(n), "Bcast", 4, "collective")
    said = diagnose(side(launch(rows, hosts=("a", "a", "b", "b"))))
    assert "collective" not in {one.rule for one in said.findings}
    assert any("PingPong is intra-node" in note for note in said.notes)


def test_link_and_memory() -> None:
    two = ("a", "b")
    rows = curve(message)

    def rules(hosts: tuple[str, ...], limits: Limits) -> tuple[list[str], Diagnosis]:
        said = diagnose(side(launch(rows, hosts=hosts)), None, limits)
        return [one.rule for one in said.findings], said

    assert rules(two, Limits(link=10.2e9))[0] == []
    slow, said = rules(two, Limits(link=25e9))
    assert slow == ["link"] and "39 % of the link's 25.00 GB/s" in said.findings[0].found
    assert rules(two, Limits(link=5e9))[0] == ["link"]  # faster than the link can be
    assert rules(("a", "a"), Limits(link=25e9))[1].notes[0].startswith("--link")
    assert rules(("a", "a"), Limits(memory=25e9))[0] == []
    assert rules(("a", "a"), Limits(memory=60e9))[0] == ["memory"]


@pytest.mark.parametrize(
    ("seconds", "hosts", "expected"), [(9e-6, ("a", "a"), 1), (9e-6, ("a", "b"), 0), (3e-5, ("a", "b"), 1)]
)
def test_latency_is_held_against_what_is_usual(seconds: float, hosts: tuple[str, ...], expected: int) -> None:
    said = diagnose(side(launch(curve(lambda n: seconds + n / 1e9), hosts=hosts)))
    assert [one.rule for one in said.findings] == ["latency"] * expected


def test_overlap_and_the_drift_of_its_load() -> None:
    def rows(percent: float, drift: float) -> list[Record]:
        more = {"time_pure_seconds": 1e-4, "time_cpu_seconds": 1e-4, "time_overlapped_seconds": 1.5e-4}
        return [
            row("Ibcast", 8, n, 1e-4, "collective", overlap_percent=percent, load_drift=drift, **more)
            for n in (2**16, 2**18)
        ]

    assert "hides 3 %" in found(rows(3.0, 0.0), "overlap")[0].found
    assert not found(rows(60.0, 0.0), "overlap")
    assert found(rows(60.0, -0.3), "load-drift")[0].level == "warning"
    assert not found(rows(60.0, 0.05), "load-drift")


# ---------------------------------------------------------------- the model and its parts


def test_the_fit_is_that_of_scipy_and_its_interval_covers() -> None:
    from scipy.stats import linregress

    random = np.random.default_rng(7)
    lengths = np.array(LENGTHS, dtype=float)
    hits = 0
    for _ in range(200):
        times = (1e-6 + lengths / 5e9) * (1 + random.normal(0, 0.02, len(lengths)))
        one = curves.fit(lengths, times)
        assert one is not None
        hits += one.latency_low <= 1e-6 <= one.latency_high
    assert 180 <= hits <= 199  # 95 % of 200, and three standard deviations
    # Where all times are nearly equal, weights are too, and it is a plain regression.
    short = np.arange(20.0)
    times = 1 + 1e-6 * short + random.normal(0, 1e-7, 20)
    plain, ours = linregress(short, times), curves.fit(short, times)
    assert ours is not None
    assert ours.per_byte == pytest.approx(plain.slope, rel=1e-4)
    assert ours.latency == pytest.approx(plain.intercept, rel=1e-9)
    width = (ours.per_byte_high - ours.per_byte_low) / 2
    assert width == pytest.approx(plain.stderr * 2.1009, rel=1e-3)  # Student, 18 degrees of freedom


def test_few_points_have_no_model() -> None:
    assert curves.fit(np.array([0.0, 1, 2]), np.array([1.0, 2, 3])) is None
    assert curves.segments(np.array([1.0]), np.array([1.0])) == []


@pytest.mark.parametrize(
    ("benchmark", "processes", "n", "rounds"),
    [
        ("Barrier", 8, 0, 3),  # dissemination: log2 P messages
        ("Bcast", 8, 0, 3),
        ("Ibcast_pure", 8, 0, 3),
        ("Alltoallv", 8, 0, 3),  # Bruck
        ("Allreduce", 5, 0, 3),  # not a power of two: one more
        ("Reduce_scatter_block", 8, 0, 3),
    ],
)
def test_short_collectives_cost_the_rounds_of_the_best_algorithm(
    benchmark: str, processes: int, n: int, rounds: int
) -> None:
    implied = collective_models.expected_time(benchmark, processes, n, lambda m: 1.0, lambda m: 0.0)
    assert implied is not None and implied[0] == rounds


def test_long_collectives_cost_what_the_literature_says() -> None:
    """Thakur et al. 2005: without latency, in units of n beta; of Allgather and Alltoall n is what one rank gives."""
    p, byte = 16, lambda m: m
    said = {
        name: collective_models.expected_time(name, p, 1.0, byte, lambda m: 0.0)
        for name in ("Bcast", "Allgather", "Allreduce", "Scatter", "Alltoall")
    }
    expected = {
        "Bcast": 2 * 15 / 16,
        "Allgather": 15,
        "Allreduce": 2 * 15 / 16,
        "Scatter": 15,
        "Alltoall": 15,
    }
    assert {name: one[0] for name, one in said.items() if one} == pytest.approx(expected)


def test_what_is_no_collective_has_no_cost() -> None:
    assert collective_models.expected_time("PingPong", 2, 1.0, lambda m: m, lambda m: m) is None
    assert collective_models.expected_time("Bcast", 1, 1.0, lambda m: m, lambda m: m) is None


@pytest.mark.parametrize(
    ("seconds", "printed"),
    [
        (message, "1.51 µs to"),
        (lambda n: message(n) if n < 4096 else 6e-6 + n / 10e9, "no fit"),  # a jump to four times the time
        (lambda n: message(n) if n < 2**20 else 1.5e-6 + n / 2e9, "no fit"),  # long messages leave a cache
        (lambda n: 1e-8 * max(n, 1) ** 1.5, "no fit"),
    ],
)
def test_a_model_that_its_rows_contradict_is_not_printed(
    imb: Imb, tmp_path: Path, seconds: Callable[[int], float], printed: str
) -> None:
    file = save(tmp_path / "curve.jsonl", launch(curve(seconds)))
    line = next(line for line in imb("diagnose", file).out.splitlines() if line.startswith("PingPong, 2 "))
    assert printed in line and ("GB/s to" in line) == (printed != "no fit")
    (model,) = json.loads(imb("diagnose", file, "--format", "json").out)["models"]
    assert (model["misfit"] is None) == (printed != "no fit") and not model["extrapolated"]


def test_short_messages_show_no_bandwidth(imb: Imb, tmp_path: Path) -> None:
    """Of 4 KiB at most, 2.1 GB/s: 10 GB/s would be more than any row of the table has."""
    rows = [row for row in curve(message) if isinstance(row, Result) and (row.bytes or 0) <= 4096]
    said = imb("diagnose", save(tmp_path / "short.jsonl", launch(rows))).out
    assert re.search(r"PingPong, 2 ranks +1.5\d µs .* not determined +messages too short", said)


# ---------------------------------------------------------------- the command


def test_the_worst_comes_first_and_the_exit_status_says_so(imb: Imb, tmp_path: Path) -> None:
    rows = [*curve(cliff), row("Bcast", 8, 64, 1e-6, "collective", defects=3)]
    file = save(tmp_path / "bad.jsonl", launch(rows))
    said = imb("diagnose", file)
    assert said.code == 1
    assert said.out.index("defects") < said.out.index("cliff") < said.out.index("information, switch")
    assert "1 problem, 1 warning" in " ".join(said.out.split()[:12])
    assert "t(n) = latency" in said.out
    assert imb("diagnose", file, "--threshold", "cliff=0.9", "--threshold", "nothing=1").err.count("\n") == 1


def test_thresholds_are_listed_changed_and_refused(imb: Imb, tmp_path: Path) -> None:
    file = save(tmp_path / "cliff.jsonl", launch(curve(cliff)))
    assert imb("diagnose", file).code == 1
    assert imb("diagnose", file, "--threshold", "cliff=0.9", "--threshold", "plateau=0.1").code == 0
    listed = imb("diagnose", "--thresholds")
    assert [line.split()[0] for line in listed.out.splitlines()] == list(threshold_descriptions())
    for wrong, right in (
        ("clif=1", "cliff"),
        ("cliff=many", "number"),
        ("cliff=-1", "out of range"),
        ("cliff=nan", "out of range"),
    ):
        said = imb("diagnose", file, "--threshold", wrong)
        assert said.code == 2 and right in said.err, wrong


def test_documented_thresholds_are_those_of_the_program() -> None:
    page = (Path(__file__).parents[2] / "docs" / "evidence" / "diagnosis.md").read_text()
    for name in threshold_descriptions():
        value = getattr(Thresholds(), name)
        assert f"| `{name}` | {value:g} |" in page, name


def test_markdown_escapes_what_users_name(imb: Imb, tmp_path: Path) -> None:
    folder = tmp_path / "a_b|c<script>"
    folder.mkdir()
    save(folder / "x.jsonl", launch(curve(cliff)))
    said = imb("diagnose", folder, "--format", "markdown")
    assert "\\|c\\<script\\>" in said.out
    assert "- **warning, cliff** (PingPong, 2 ranks)" in said.out


@pytest.mark.parametrize("words", [[], ["nowhere"], ["--link", "fast"]])
def test_unusable_input_is_one_line(imb: Imb, tmp_path: Path, words: list[str]) -> None:
    file = save(tmp_path / "x.jsonl", launch(curve(message)))
    said = imb("diagnose", *words, *([file] if words[:1] == ["--link"] else []))
    assert said.code == 2 and said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [("100Gb/s", 12.5e9), ("100 Gbit/s", 12.5e9), ("12.5GB/s", 12.5e9), ("1GiB/s", 2**30), ("8b/s", 1)],
)
def test_rates(text: str, value: float) -> None:
    assert rate(text) == value


@pytest.mark.parametrize("text", ["", "100", "1.2.3GB/s", "-1GB/s", "0Gb/s", "GB/s", "100Gx/s"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(ImbError):
        rate(text)


def test_logs_of_others_can_be_diagnosed(imb: Imb) -> None:
    for log in sorted((Path(__file__).parents[1] / "reference").glob("*.txt")):
        assert imb("diagnose", log, "--format", "json").code in (0, 1), log.name


def test_records_that_say_little(imb: Imb, tmp_path: Path) -> None:
    bare: list[Record] = [
        Run(),
        row("PingPong", 2, None, 1e-6, "single_transfer"),
        row("New", 2, 4, 0.0, "collective"),
    ]
    assert diagnose(side(bare)).findings == []


def test_text_is_no_wider_than_a_hundred_columns(imb: Imb, tmp_path: Path) -> None:
    """Elsewhere than on a terminal; tables lose columns, sentences are folded."""
    file = save(tmp_path / "x.jsonl", launch(healthy(np.random.default_rng(3)))[:-1])  # cut off
    lines = imb("diagnose", file).out.splitlines()
    # Nothing can be folded in the name of a file.
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 100
    (heading,) = (line for line in lines if line.startswith("curve"))
    assert "bandwidth" in heading and "lines" not in heading


@pytest.mark.slow
def test_a_curve_of_many_lengths_is_diagnosed(imb: Imb, tmp_path: Path) -> None:
    """Sums over all pairs of 20,000 lengths would take 32 GB."""
    rows = [
        Result(
            benchmark="PingPong",
            kind="single_transfer",
            multi="off",
            processes=2,
            bytes=length,
            repetitions=1000,
            time_max_seconds=(1e-6 if length < 10_000 else 3e-6) + length * 1e-9,
        )
        for length in range(20_000)
    ]
    file = tmp_path / "many.jsonl"
    file.write_bytes(write([Run(component="MPI1"), *rows, End(state="complete", measured=len(rows))]))
    found = imb("diagnose", file)
    assert found.code == 0 and not found.err, found
    assert "protocol change between 9999 bytes and 10000 bytes: 1.00 µs + size" in found.out, found.out
