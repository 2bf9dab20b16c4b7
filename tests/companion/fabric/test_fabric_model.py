"""Slow hosts and links in sweeps over pairs, with made-up times and with recorded ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from imb.fabric.judging.earlier_sweeps import divide_by_past
from imb.fabric.judging.effort import FIRST, QUICK_FIRST
from imb.fabric.judging.inference import judge_sweeps
from imb.fabric.judging.round_plans import Circle, confirming_rounds, few_rounds, whole_sweep
from imb.fabric.judging.stages import (
    CONFIRMING,
    SweepStage,
    next_step_after_quick,
    search,
)
from imb.fabric.judging.sweep import Endpoint, Sweep
from imb.fabric.judging.topology import Topology, graph
from imb.fabric.judging.verdict import PairToRetest, SizeResult, Suspect, SweepVerdict
from imb.stats.arrays import Numbers

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))
from truth import fabric as truth

CORE_PAIRS = Path(__file__).with_name("core-pairs.txt")
Slow = Callable[[Numbers, Numbers], Any]


def made(count: int, slow: Slow, passes: int = 5, noise: float = 0.02, seed: int = 1) -> Sweep:
    a, b = (one.astype(np.int32) for one in np.triu_indices(count, 1))
    logs = (
        np.log(1e-5) + np.log1p(slow(a, b)) + np.random.default_rng(seed).normal(0, noise, (passes, len(a)))
    )
    ends = tuple(Endpoint(at, f"n{at}") for at in range(count))
    number = np.repeat(np.arange(passes, dtype=np.int32), len(a))
    zero = np.zeros(passes * len(a), dtype=np.int32)
    return Sweep(
        ends,
        "Pair_Bandwidth",
        65536,
        np.tile(a, passes),
        np.tile(b, passes),
        number,
        zero,
        np.exp(logs.ravel()),
    )


def tree(children: Mapping[str, Sequence[str]]) -> Topology:
    """Switches with the switches and hosts below them."""
    parents = {name: switch for switch, below in children.items() for name in below}
    links = [(name, switch) for name, switch in parents.items() if name in children]
    return graph({name: switch for name, switch in parents.items() if name not in children}, links)


def named(verdict: SweepVerdict) -> set[str]:
    return {one.name for one in verdict.suspects if one.named}


@pytest.mark.parametrize("by", [0.2, 1.0])
@pytest.mark.parametrize("topology", [False, True])
@pytest.mark.parametrize("count", [4, 5, 6, 8])
def test_one_slow_host_of_few_is_named(count: int, topology: bool, by: float) -> None:
    """It has up to half of all pairs; below two switches, some classes have two pairs."""
    below = (count + 1) // 2
    network = graph({f"n{at}": f"s{at // below}" for at in range(count)}, [("s0", "s1")])
    far = 0.3 if topology else 0.0
    for slow in (0, count - 1):
        for amount in (0.0, by):

            def longer(a: Any, b: Any, slow: int = slow, amount: float = amount) -> Any:
                beyond = 1 + far * (a // below != b // below)
                return beyond * (1 + amount * ((a == slow) | (b == slow))) - 1

            sweep = made(count, longer, passes=8, seed=slow)
            verdict = judge_sweeps([sweep], network if topology else None)
            assert named(verdict) == ({f"n{slow}"} if amount else set()), verdict
            assert verdict.state == ("bad" if amount else "healthy"), verdict


@pytest.mark.parametrize("seed", range(10))
def test_healthy_sweep_names_nothing(seed: int) -> None:
    verdict = judge_sweeps([made(16, lambda a, b: 0.0 * a, seed=seed)], None)
    assert verdict.state == "healthy" and not verdict.suspects


def by_launches(sweep: Sweep, later: npt.NDArray[np.bool_], slower: float) -> Sweep:
    """These pairs were measured in a second launch, in which all take longer."""
    number = later.astype(np.int32)
    seconds = np.where(later, sweep.seconds * (1 + slower), sweep.seconds)
    passes = sweep.passes + number * (sweep.passes.max() + 1)
    order = np.argsort(passes, kind="stable")
    columns = {name: getattr(sweep, name)[order] for name in ("a", "b", "rounds")}
    return replace(sweep, **columns, passes=passes[order], launches=number[order], seconds=seconds[order])


@pytest.mark.parametrize("slower", [0.1, 1.0, -0.3])
@pytest.mark.parametrize("slow", [{}, {5: 0.1}])
@pytest.mark.parametrize("topology", [False, True])
def test_launches_that_differ_are_no_slow_host(topology: bool, slow: dict[int, float], slower: float) -> None:
    """Each pair was in one launch only: first in a few rounds, later in those that follow one host, and some others."""
    few = {pair for one in Circle(32, 1, 0, 14) for pair in one}
    whole = made(32, lambda a, b: sum(by * ((a == at) | (b == at)) for at, by in slow.items()) + 0.0 * a)
    first = np.array([pair in few for pair in zip(whole.a.tolist(), whole.b.tolist(), strict=True)])
    random = np.random.default_rng(3).random(len(first)) < 0.3
    kept = first | (whole.a == 9) | (whole.b == 9) | random
    columns = {name: getattr(whole, name)[kept] for name in ("a", "b", "passes", "rounds", "seconds")}
    sweep = by_launches(replace(whole, **columns), ~first[kept], slower)
    net = (
        tree({f"leaf{at}": [f"n{8 * at + one}" for one in range(8)] for at in range(4)}) if topology else None
    )
    verdict = judge_sweeps([sweep], net)
    assert named(verdict) == {f"n{one}" for one in slow}, verdict.suspects


def two_launches(first: Sweep, second: Sweep, slower: float = 0.0) -> Sweep:
    """Of the same endpoints; all pairs take longer in the second one."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("a", "b", "rounds")
    }
    passes = np.concatenate([first.passes, second.passes + first.passes.max() + 1])
    seconds = np.concatenate([first.seconds, second.seconds * (1 + slower)])
    number = np.repeat(np.arange(2, dtype=np.int32), [len(first.a), len(second.a)])
    return replace(first, **columns, passes=passes, seconds=seconds, launches=number)


def of_hosts(sweep: Sweep, begin: int, end: int) -> Sweep:
    kept = (sweep.a >= begin) & (sweep.b < end)
    columns = {name: getattr(sweep, name)[kept] for name in ("a", "b", "passes", "rounds", "seconds")}
    return replace(sweep, **columns)


@pytest.mark.parametrize("slower", [0.0, 0.35])
@pytest.mark.parametrize("slow", [0.0, 0.5])
def test_a_host_that_only_a_later_launch_has(slow: float, slower: float) -> None:
    """It is as slow as it is, not as the launch is."""
    first = of_hosts(made(24, lambda a, b: 0.0 * a), 0, 23)
    second = made(24, lambda a, b: slow * (b == 23), seed=2)
    verdict = judge_sweeps([two_launches(first, second, slower)], None)
    assert named(verdict) == ({"n23"} if slow else set()), verdict.suspects


@pytest.mark.parametrize(("end", "begin", "slow"), [(47, 23, 47), (40, 20, 40), (32, 16, 32)])
def test_launches_with_other_hosts_are_compared_by_the_pairs_of_both(end: int, begin: int, slow: int) -> None:
    """The slow hosts are in the second one only. Where a sixth of all hosts is slow, and a third is another population, no sweep is healthy."""
    first = of_hosts(made(48, lambda a, b: 0.0 * a), 0, end)
    second = of_hosts(made(48, lambda a, b: 0.5 * (b >= slow), seed=2), begin, 48)
    verdict = judge_sweeps([two_launches(first, second, 0.2)], None)
    assert verdict.state != "healthy"
    assert named(verdict) == ({"n47"} if slow == 47 else set()), verdict.suspects


def test_a_launch_of_few_endpoints_with_many_partners_is_leveled() -> None:
    """Each third endpoint meets all others of these, and first one that no other of them meets: so there are enough disjoint pairs."""
    whole = made(450, lambda a, b: 0.0 * a, passes=1)
    hubs = (whole.a % 3 == 0).astype(int) + (whole.b % 3 == 0)
    later = (hubs == 2) | ((whole.a % 3 == 0) & (whole.b == whole.a + 1))
    kept = later | (hubs == 0) | (whole.b - whole.a <= 8)
    columns = {name: getattr(whole, name)[kept] for name in ("a", "b", "passes", "rounds", "seconds")}
    columns["seconds"] = np.where(later, 1.3, 1.0)[kept] * columns["seconds"]
    verdict = judge_sweeps([replace(whole, **columns, launches=later[kept].astype(np.int32))], None)
    assert verdict.state == "healthy", verdict.notes


def both_ways(sweep: Sweep) -> Sweep:
    """Every second pass the other way, as IMB-FABRIC measures."""
    back = sweep.passes % 2 == 1
    return replace(sweep, a=np.where(back, sweep.b, sweep.a), b=np.where(back, sweep.a, sweep.b))


def slowed(sweep: Sweep, a: int, b: int, effect: float) -> Sweep:
    """Messages from a to b take longer, those from b to a do not."""
    hit = (sweep.a == a) & (sweep.b == b)
    return replace(sweep, seconds=np.where(hit, sweep.seconds * (1 + effect), sweep.seconds))


@pytest.mark.parametrize("passes", [8, 11])
@pytest.mark.parametrize("ends", [(3, 9), (9, 3)])
def test_an_asymmetric_pair_is_named_with_its_direction(passes: int, ends: tuple[int, int]) -> None:
    sweep = slowed(both_ways(made(16, lambda a, b: 0.0 * a, passes=passes)), *ends, 0.5)
    [found] = judge_sweeps([sweep], None).asymmetric
    assert (found.a, found.b) == ends and found.effect == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_a_healthy_sweep_has_no_asymmetric_pair(seed: int) -> None:
    """Nor one whose passes differ, one with a pair that is slow both ways, or one with a single odd time."""
    sweep = both_ways(made(16, lambda a, b: 0.5 * ((a == 3) & (b == 9)), passes=8, seed=seed))
    drift = replace(sweep, seconds=sweep.seconds * (1 + 0.3 * (sweep.passes % 2)))
    odd = replace(sweep, seconds=np.where(np.arange(len(sweep.a)) == 7, 1.0, sweep.seconds))
    for one in (sweep, drift, odd):
        assert not judge_sweeps([one], None).asymmetric


def test_a_round_trip_has_no_direction() -> None:
    sweep = slowed(both_ways(made(16, lambda a, b: 0.0 * a, passes=4)), 3, 9, 0.5)
    assert not judge_sweeps([replace(sweep, benchmark="Pair_Latency")], None).asymmetric


def test_one_time_in_a_direction_is_not_enough() -> None:
    sweep = slowed(both_ways(made(16, lambda a, b: 0.0 * a, passes=3)), 9, 3, 0.5)
    assert not judge_sweeps([sweep], None).asymmetric


def test_a_baseline_of_one_direction_serves_both() -> None:
    """Each direction has its own past where it was measured."""
    past = made(8, lambda a, b: 0.0 * a, passes=3)
    now = both_ways(made(8, lambda a, b: 0.5 * ((a == 3) | (b == 3)), passes=4, seed=2))
    ratios, notes, _ = divide_by_past([now], [past], "before")
    assert len(ratios[0].seconds) == len(now.seconds) and not any("left out" in note for note in notes)
    assert named(judge_sweeps(ratios, None)) == {"n3"}
    always = slowed(now, 5, 6, 3.0)
    ratios, _, _ = divide_by_past([always], [slowed(both_ways(past), 5, 6, 3.0)], "before")
    assert ratios[0].seconds.max() < 2e-6


@pytest.mark.parametrize("effect", [0.1, 0.5])
def test_slow_host(effect: float) -> None:
    verdict = judge_sweeps([made(16, lambda a, b: effect * ((a == 3) | (b == 3)))], None)
    assert verdict.state == "bad" and named(verdict) == {"n3"}
    (suspect,) = verdict.suspects
    assert suspect.interval[0] <= suspect.effect <= suspect.interval[1]
    assert abs(suspect.effect - effect) < 0.03


def test_slow_link_is_no_slow_host() -> None:
    leaves = {f"leaf{x}": [f"n{4 * x + y}" for y in range(4)] for x in range(4)}
    topology = tree({"root": list(leaves), **leaves})
    verdict = judge_sweeps([made(16, lambda a, b: 0.1 * ((a < 4) != (b < 4)))], topology)
    assert named(verdict) == {"leaf0 - root"}


def leaves_of(leaves: int, hosts: int) -> Topology:
    """Hosts below leaf switches, these below one switch."""
    below = {f"leaf{x}": [f"n{hosts * x + y}" for y in range(hosts)] for x in range(leaves)}
    return tree({"root": list(below), **below})


@pytest.mark.parametrize(("leaves", "hosts"), [(3, 4), (3, 16), (4, 4)])
def test_a_slow_trunk_among_siblings(leaves: int, hosts: int) -> None:
    """Of three trunks, each is crossed by most pairs of its distance: the median of these is that of the slow one."""
    topology = leaves_of(leaves, hosts)

    def slow(a: Numbers, b: Numbers) -> Any:
        return 0.3 * ((a < hosts) != (b < hosts))

    verdict = judge_sweeps([made(leaves * hosts, slow)], topology)
    assert named(verdict) == {"leaf0 - root"} and not verdict.unjudged
    healthy = judge_sweeps([made(leaves * hosts, lambda a, b: 0.0 * a)], topology)
    assert healthy.state == "healthy" and not healthy.unjudged


def test_the_only_trunk_is_not_judged() -> None:
    """Slow or not."""
    topology = leaves_of(2, 4)

    def slow(a: Numbers, b: Numbers) -> Any:
        return 0.3 * ((a < 4) != (b < 4))

    for how in (slow, lambda a, b: 0.0 * a):
        verdict = judge_sweeps([made(8, how)], topology)
        assert verdict.unjudged == ("leaf0 - root",)
        [note] = [
            one for one in verdict.notes if one.startswith("not judged without --baseline or a sibling")
        ]
        assert note.endswith(": leaf0 - root (the same pairs cross leaf1 - root and root)"), note


def test_few_hosts_below_another_switch_are_a_group() -> None:
    """Their own pairs are as fast as others, so that they are not slow hosts; no topology says so. Slow ones are named."""

    count, few = 32, 4

    def far(a: Numbers, b: Numbers) -> Any:
        return 0.3 * ((a < few) != (b < few))

    verdict = judge_sweeps([made(count, far)], None)
    assert (verdict.state, named(verdict)) == ("healthy", set()), verdict.suspects
    assert any("4 endpoints stand apart: near each other" in note for note in verdict.notes)
    slow = judge_sweeps([made(count, lambda a, b: 0.3 * ((a < few) | (b < few)))], None)
    assert named(slow) == {f"n{at}" for at in range(few)}
    both = judge_sweeps([made(count, lambda a, b: far(a, b) + 0.5 * ((a == 9) | (b == 9)))], None)
    assert named(both) == {"n9"}


def test_slow_pair_needs_passes() -> None:
    def slow(a: Numbers, b: Numbers) -> Any:
        return 0.5 * ((a == 3) & (b == 9))

    assert named(judge_sweeps([made(16, slow)], None)) == {"n3 - n9"}
    assert not named(judge_sweeps([made(16, slow, passes=1)], None))


def test_silent_endpoint() -> None:
    sweep = made(8, lambda a, b: 0.0 * a)
    sweep.seconds[(sweep.a == 2) | (sweep.b == 2)] = np.nan
    verdict = judge_sweeps([sweep], None)
    assert verdict.state == "bad" and verdict.silent == (2,)


def rounds_of_a_circle(count: int, passes: int) -> Sweep:
    """All pairs in the order of rounds, as a launch records them."""
    sweep = made(count, lambda a, b: 0.0 * a, passes=passes)
    order = np.lexsort(((sweep.a + sweep.b) % (count - 1), sweep.passes))
    columns = {name: getattr(sweep, name)[order] for name in ("a", "b", "passes", "rounds", "seconds")}
    return replace(sweep, **columns)


def test_a_pair_that_no_longer_answers() -> None:
    """Of endpoints that do: as where rank 0 waits for its partner, which ends the launch."""
    sweep = rounds_of_a_circle(8, 3)
    last = np.flatnonzero((np.minimum(sweep.a, sweep.b) == 0) & (np.maximum(sweep.a, sweep.b) == 7))[-1]
    sweep.seconds[last] = np.nan
    verdict = judge_sweeps([sweep], None)
    assert (verdict.state, verdict.silent) == ("bad", ())
    [suspect] = [one for one in verdict.suspects if one.named]
    assert (suspect.kind, suspect.endpoints) == ("pair", (0, 7)) and suspect.next.startswith(
        "the pair does not answer"
    )


def test_an_endpoint_falls_silent_in_a_later_pass() -> None:
    sweep = rounds_of_a_circle(8, 5)
    sweep.seconds[((sweep.a == 2) | (sweep.b == 2)) & (sweep.passes >= 3)] = np.nan
    verdict = judge_sweeps([sweep], None)
    assert verdict.state == "bad" and verdict.silent == (2,) and not verdict.silent_together


def test_one_of_two_may_only_have_waited() -> None:
    sweep = rounds_of_a_circle(8, 5)
    since = np.flatnonzero((sweep.a == 2) & (sweep.b == 5))[2]
    later = np.arange(len(sweep.a)) >= since
    sweep.seconds[later & np.isin(sweep.a, (2, 5)) | later & np.isin(sweep.b, (2, 5))] = np.nan
    verdict = judge_sweeps([sweep], None)
    assert verdict.state == "bad" and verdict.silent == (2, 5)
    assert verdict.silent_together == ((2, 5),)


@pytest.mark.parametrize("count", [2, 3, 8, 64, 101])
def test_rounds_of_a_circle(count: int) -> None:
    """All pairs, each once; as many partners of each endpoint in any number of first rounds."""
    rounds = list(Circle(count, 5, 0, count))
    assert rounds == list(Circle(count, 5, 0, count)) and len(rounds) == whole_sweep(count)
    assert all(len({end for pair in one for end in pair}) == 2 * len(one) for one in rounds)
    every = [pair for one in rounds for pair in one]
    assert len(every) == len(set(every)) == count * (count - 1) // 2
    few = few_rounds(count)
    assert few <= min(2 * np.log2(count) + 4, whole_sweep(count))
    met = np.bincount([end for one in rounds[:few] for pair in one for end in pair])
    assert few - count % 2 <= met.min() and met.max() <= few


def suspecting(*names: str, named: bool = False, undecided: bool = True) -> SweepVerdict:
    """With suspects by name."""
    number = {"a": 1, "b": 2, "c": 3}
    return SweepVerdict(
        "bad" if named else "inconclusive",
        tuple(
            Suspect(
                "host", one, (number[one],), 0.1, (0.0, 0.2), 0.1, "Pair_Latency", 8, named,
                undecided=undecided, score=10.0,
            )
            for one in names
        ),
    )  # fmt: skip


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 16, 17, 64, 256])
@pytest.mark.parametrize("quick", [True, False])
def test_a_search_ends(count: int, quick: bool) -> None:
    """Although the same host stays suspect at each look. It has all rounds at most, and two launches to confirm."""
    sizes = [("Pair_Latency", 8)]
    stages = list(search(count, 1, sizes, 0.1, lambda: suspecting("a"), quick=quick))
    assert [one.why for one in stages].count("confirm") == 2 * (count >= 4)
    assert sum(len(one.rounds or []) for one in stages if one.why in ("first", "wider")) <= whole_sweep(count)
    assert [
        one.why for one in search(count, 1, sizes, 0.1, lambda: SweepVerdict("healthy"), quick=quick)
    ] == ["first"]


@pytest.mark.parametrize("named", [True, False])
def test_what_is_suspected_is_confirmed_by_another_launch(named: bool) -> None:
    """Named or not: earlier passes chose it. It is launched once more if undecided; only then all pairs have further passes."""
    first = suspecting("a", named=named, undecided=not named)
    stages = list(search(64, 1, [("Pair_Latency", 8)], 0.1, lambda: first))
    assert [one.why for one in stages][:2] == ["first", "confirm"]
    assert [one.why for one in stages[2:4]] == ([] if named else ["confirm", "again"])
    assert all(one.why == "again" for one in stages[4:])
    [only] = search(64, 1, [("Pair_Latency", 8)], 0.1, lambda: first, passes=4)
    assert (only.rounds, only.passes) == (None, 4)


def test_an_undecided_quick_search_has_a_next_step() -> None:
    """As many passes of a full sweep as show what was asked for: with them, the same noise is decided."""
    noisy = made(32, lambda a, b: 0.0 * a, passes=3, noise=0.3)
    few = np.isin(noisy.a + 32 * noisy.b, [a + 32 * b for one in Circle(32, 1, 0, 14) for a, b in one])
    columns = {name: getattr(noisy, name)[few] for name in ("a", "b", "passes", "rounds", "seconds")}
    verdict = judge_sweeps([replace(noisy, **columns)], None)
    assert verdict.state == "inconclusive"
    found = re.search(
        r"31 rounds \(omit --quick\) with --passes (\d+) or more",
        next_step_after_quick(verdict, 32, 0.1, 1000),
    )
    assert found
    passes = int(found[1])
    enough = judge_sweeps([made(32, lambda a, b: 0.0 * a, passes=2 * passes, noise=0.3)], None)
    [short] = judge_sweeps([made(32, lambda a, b: 0.0 * a, passes=passes // 4, noise=0.3)], None).per_size
    assert enough.per_size[0].detectable < 0.1 < short.detectable, (passes, enough.per_size)
    assert "more than 5 passes" in next_step_after_quick(verdict, 32, 0.1, 5)
    assert not next_step_after_quick(SweepVerdict("healthy"), 32, 0.1, 1000)


def test_the_next_step_where_few_rounds_are_all() -> None:
    """Not more pairs, but more passes of them, which few rounds with --passes would not have on many hosts."""
    noisy = made(8, lambda a, b: 0.0 * a, passes=3, noise=0.1)
    words = next_step_after_quick(judge_sweeps([noisy], None), 8, 0.1, 1000)
    begin = (
        r"undecided; --quick had all pairs; next: a full sweep \(omit --quick\) with --passes \d+ or more, "
    )
    assert re.match(begin, words), words


def test_a_quick_search_that_was_cut_short_has_a_next_step() -> None:
    """One round of 16 hosts: no host has the pairs to be judged by, so that no number of passes is known."""
    whole = made(16, lambda a, b: 0.0 * a, passes=1)
    one = whole.a // 2 * 2 + 1 == whole.b
    one &= whole.a % 2 == 0
    columns = {name: getattr(whole, name)[one] for name in ("a", "b", "passes", "rounds", "seconds")}
    verdict = judge_sweeps([replace(whole, **columns)], None)
    assert verdict.state == "inconclusive" and verdict.per_size[0].detectable == float("inf")
    words = next_step_after_quick(verdict, 16, 0.1, 1000)
    assert "a full sweep of 15 rounds (omit --quick)" in words
    [note] = [one for one in verdict.notes if "missed" in one]
    assert "a host may be missed however slow it is" in note
    assert "inf" not in words + note


def test_later_looks_have_smaller_shares_of_the_level() -> None:
    """The same fresh passes name a host in a second launch, and not in a ninth one."""
    first, last = (
        made(16, lambda a, b: 0.1 * ((a == 3) | (b == 3)), passes=2, noise=0.07, seed=seed) for seed in (1, 2)
    )
    whole = two_launches(first, last)
    assert whole.launches is not None
    many = replace(whole, launches=np.where(whole.launches == 1, 9, whole.passes % 9))
    p_values = [one.p_value for sweep in (whole, many) for one in judge_sweeps([sweep], None).suspects]
    assert p_values[0] == pytest.approx(p_values[1]) and named(judge_sweeps([whole], None)) == {"n3"}


def of_passes(passes: int, detectable: float, *suspects: Suspect, bytes: int = 8) -> SweepVerdict:
    result = SizeResult("Pair_Latency", bytes, 1e-6, (), 0.1, 0.0, passes, 100, detectable, np.zeros(16))
    return SweepVerdict("inconclusive", suspects, (), (result,))


def stages_of(*verdicts: SweepVerdict) -> list[tuple[int, list[tuple[str, int]]]]:
    """Of a sweep that sees these verdicts, the last one again and again."""
    sizes = [("Pair_Latency", 8), ("Pair_Latency", 64)]
    return [(one.passes, one.sizes) for one in search(64, 1, sizes, 0.1, seeing(verdicts))]


def seeing(verdicts: Sequence[SweepVerdict]) -> Callable[[], SweepVerdict]:
    """One after the other."""
    left = list(verdicts)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_a_sweep_has_more_passes_while_a_slow_host_could_be_missed() -> None:
    both, first = [("Pair_Latency", 8), ("Pair_Latency", 64)], [("Pair_Latency", 8)]
    assert stages_of(of_passes(4, 0.05)) == [(FIRST, both)]
    assert stages_of(of_passes(4, 0.2), of_passes(8, 0.12), of_passes(16, 0.07)) == [
        (4, both),
        (4, first),
        (8, first),
    ]
    every = [passes for passes, _ in stages_of(of_passes(4, 0.1))]
    assert every == [4, 4, 8, 16, 32]


def quick_stages(n: int, *verdicts: SweepVerdict, passes: int | None = None) -> list[SweepStage]:
    sizes = [("Pair_Latency", 8), ("Pair_Bandwidth", 64)]
    return list(search(n, 1, sizes, 0.1, seeing(verdicts), quick=True, passes=passes))


def test_a_quick_search_has_other_rounds_while_a_slow_host_could_be_missed() -> None:
    """And then confirms suspects of a first launch; a later launch has confirmed those of the other size."""
    both, first = [("Pair_Latency", 8), ("Pair_Bandwidth", 64)], [("Pair_Latency", 8)]
    other_size = [("Pair_Bandwidth", 64)]
    other = replace(suspecting("a").suspects[0], benchmark="Pair_Bandwidth", bytes=64)
    suspects = (*suspecting("a").suspects, other)
    found = quick_stages(1024, of_passes(3, 0.15), of_passes(3, 0.11), of_passes(3, 0.05, *suspects))
    assert [one.why for one in found] == ["first", "wider", "wider", "confirm", "confirm"]
    assert [one.passes for one in found] == [QUICK_FIRST, QUICK_FIRST, QUICK_FIRST, CONFIRMING, CONFIRMING]
    assert [one.sizes for one in found] == [both, first, first, other_size, other_size]
    rounds = [one.rounds or () for one in found]
    assert [len(one) for one in rounds[:3]] == [
        24,
        56,
        80,
    ]  # 1.25 times those expected, twice as many at least
    pairs = [pair for three in rounds[:3] for one in three for pair in one]
    assert len(pairs) == len(set(pairs)) == 160 * 512
    assert [one.passes for one in quick_stages(1024, of_passes(3, 0.2), passes=5)] == [5]


def with_links(hosts: float, links: float) -> SweepVerdict:
    verdict = of_passes(3, hosts)
    return replace(verdict, per_size=tuple(replace(one, of_links=links) for one in verdict.per_size))


def test_a_quick_search_has_rounds_for_links() -> None:
    """Not where no number of them suffices; hosts have theirs in any case."""
    hosts = [len(one.rounds or ()) for one in quick_stages(1024, of_passes(3, 0.2), of_passes(3, 0.05))]
    for links in (0.0, 0.1, 50.0, float("inf")):
        found = quick_stages(1024, with_links(0.2, links), of_passes(3, 0.05))
        assert [len(one.rounds or ()) for one in found] == hosts
    both = quick_stages(1024, with_links(0.2, 0.3), of_passes(3, 0.05))
    assert len(both[1].rounds or ()) > 2 * hosts[1]
    assert len(quick_stages(1024, with_links(0.05, 0.2), of_passes(3, 0.05))) == 2
    assert len(quick_stages(1024, with_links(0.05, float("inf")))) == 1
    # Of many endpoints, all pairs are no list.
    assert [one.rounds is None for one in quick_stages(4096, of_passes(3, 3.0), of_passes(3, 0.05))] == [
        False,
        True,
    ]


def test_a_quick_search_has_more_passes_when_all_pairs_were_measured() -> None:
    found = quick_stages(64, *[of_passes(3, 0.2)] * 2, of_passes(6, 0.12))
    assert [one.why for one in found] == ["first", "wider"] + 4 * ["again"]
    assert [len(one.rounds or []) for one in found[:2]] == [16, 47]
    assert [(one.rounds, one.passes) for one in found[2:]] == [(None, 3), (None, 6), (None, 12), (None, 24)]


@pytest.mark.parametrize("detectable", [float("inf"), float("nan"), 2.0])
def test_a_sweep_ends_where_more_passes_would_not_suffice(detectable: float) -> None:
    assert len(stages_of(of_passes(4, detectable))) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_sweep_of_hosts_that_differ_has_no_further_passes(seed: int) -> None:
    """These would not show which of them is slow by nature."""
    own = np.random.default_rng(seed).normal(0, 0.04, 32)
    verdict = judge_sweeps([made(32, lambda a, b: own[a] + own[b], passes=4, seed=seed)], None)
    assert verdict.per_size[0].detectable > 0.1
    assert any("more passes do not help" in note for note in verdict.notes), verdict.notes
    stages = list(search(32, 1, [("Pair_Bandwidth", 65536)], 0.1, lambda: verdict))
    assert all(one.why in ("first", "confirm") for one in stages)


def of_switches(count: int, below: int) -> Topology:
    """All switches below one."""
    switches = {
        f"s{one}": [f"n{at}" for at in range(one * below, (one + 1) * below)] for one in range(count // below)
    }
    return tree({**switches, "top": list(switches)})


@pytest.mark.parametrize("seed", range(20))
def test_two_slow_hosts_of_a_switch_are_not_a_slow_switch(seed: int) -> None:
    """Half of its hosts: most of its pairs are slow."""
    slow = (20, 22)
    sweep = made(
        64, lambda a, b: 0.1 * (np.isin(a, slow) | np.isin(b, slow)), passes=8, noise=0.15, seed=seed
    )
    assert named(judge_sweeps([sweep], of_switches(64, 4))) == {"n20", "n22"}


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_trunk_that_most_pairs_cross_by_different_amounts(seed: int) -> None:
    """As many pairs of a round cross it, each has a part. In units of their past, all pairs have one level."""
    part = np.random.default_rng(seed).uniform(0.8, 2.5, (8, 8))
    sweep = made(8, lambda a, b: part[a, b] * ((a < 4) != (b < 4)), noise=0.01, seed=seed)
    network = of_switches(8, 4)
    verdict = judge_sweeps([sweep], replace(network, hops=np.ones_like(network.hops)))
    [trunk] = verdict.suspects
    assert trunk.named and (trunk.kind, len(trunk.alternatives)) == ("link", 2), verdict.suspects


@pytest.mark.parametrize("cable", [True, False])
def test_a_cable_that_has_the_routes_of_one_host_is_not_that_host(cable: bool) -> None:
    """As in a fat tree whose routes go by destination: the pairs of n3 below its switch do not cross it."""

    def slow(a: Numbers, b: Numbers) -> Any:
        return 0.1 * (((a == 3) | (b == 3)) & ((a >= 8) | (b >= 8) | (not cable)))

    verdict = judge_sweeps([made(64, slow, passes=4)], of_switches(64, 8))
    if not cable:
        assert named(verdict) == {"n3"}
        return
    [suspect] = verdict.suspects
    assert (suspect.kind, suspect.name, suspect.named) == ("route", "routes of n3 beyond s0", True)


@pytest.mark.parametrize(("noise", "draws"), [("normal 17%", (4, 5, 6)), ("rounds 17%", (0, 1, 2))])
@pytest.mark.slow
def test_a_slow_cable_drains_no_host(noise: str, draws: Sequence[int]) -> None:
    """Four hosts of a switch have their routes on it. Few of their pairs are below the switch, so noise may make them as slow as the others."""
    fabric = truth.fabric_of("fat tree", 64, 8)
    fabric = replace(fabric, spine=fabric.spine % 2)
    for draw in draws:
        found = truth.drawn(fabric, "cable", 0.2, noise, range(draw, draw + 1), 600.0, 1, "Pair_Bandwidth")
        assert (found["right"], found["drained"]) == (1, 0), (draw, found)


def test_a_route_may_be_a_cable() -> None:
    """The same pairs do not show which, so the cable is the first of what it could be also."""
    leaves = {f"n{at}": f"leaf{at // 8}" for at in range(64)}
    network = graph(leaves, [(f"leaf{x}", f"spine{y}") for x in range(8) for y in range(8)])
    sweep = made(64, lambda a, b: 0.2 * (((a == 3) | (b == 3)) & ((a >= 8) | (b >= 8))), passes=8, noise=0.05)
    [suspect] = judge_sweeps([sweep], network).suspects
    assert (suspect.kind, suspect.named) == ("route", True)
    assert suspect.alternatives[0] == "a cable of leaf0 to other switches"


def test_a_quick_sweep_with_no_pair_below_a_switch_does_not_name_its_host() -> None:
    """A cable that has the routes of the host may be slow as well."""
    leaves = {f"n{at}": f"leaf{at // 8}" for at in range(64)}
    network = graph(leaves, [(f"leaf{x}", f"spine{y}") for x in range(8) for y in range(8)])
    sweep = made(64, lambda a, b: 0.2 * ((a == 3) | (b == 3)), passes=8, noise=0.02)
    kept = ((sweep.a != 3) & (sweep.b != 3)) | (sweep.a >= 8) | (sweep.b >= 8)
    columns = {name: getattr(sweep, name)[kept] for name in ("a", "b", "passes", "rounds", "seconds")}
    verdict = judge_sweeps([replace(sweep, **columns)], network)
    [suspect] = verdict.suspects
    assert (suspect.name, suspect.named, verdict.state) == ("n3", False, "inconclusive"), suspect
    assert suspect.alternatives == ("a cable of leaf0 to other switches",)
    assert named(judge_sweeps([sweep], network)) == {"n3"}


def test_pairs_that_may_cross_a_slow_link_are_not_named_beside_it() -> None:
    """A ring of four switches: pairs of opposite ones have two shortest routes. One that has none over the link is named."""
    ring = [("s0", "s1"), ("s1", "s2"), ("s2", "s3"), ("s0", "s3")]
    network = graph({f"n{at}": f"s{at // 8}" for at in range(32)}, ring)

    def slow(a: Numbers, b: Numbers) -> Any:
        on_it = (a < 8) & (b >= 8) & (b < 16)
        over_it = ((a == 0) & (b == 16)) | ((a == 1) & (b == 17))
        return 0.5 * (on_it | over_it | ((a == 18) & (b == 26)))

    assert named(judge_sweeps([made(32, slow, passes=8, noise=0.01)], network)) == {"s0 - s1", "n18 - n26"}
    assert network.may_cross("s0 - s1", "n0", "n16") and network.may_cross("s0 - s1", "n17", "n1")
    assert not network.may_cross("s0 - s1", "n18", "n26") and not network.may_cross(
        "s0 - s1", "n0", "elsewhere"
    )


@pytest.mark.parametrize("seed", range(10))
def test_noise_of_two_modes(seed: int) -> None:
    """Each pair is in one of two states: the median of few pairs is that of the one or the other. With few pairs below its switch, a host is not always
    separated from a cable; no other one is named."""
    sweep = made(64, lambda a, b: 0.1 * ((a == 20) | (b == 20)), passes=4, seed=seed)
    pairs = 64 * 63 // 2
    state = np.random.default_rng([seed, 1]).random(pairs) < 0.5
    noisy = replace(sweep, seconds=sweep.seconds * np.exp(0.15 * np.tile(state, 4)))
    verdict = judge_sweeps([noisy], of_switches(64, 8))
    [suspect] = verdict.suspects
    assert "n20" in suspect.name and (suspect.named or suspect.undecided), suspect
    assert named(judge_sweeps([noisy], None)) == {"n20"}
    assert verdict.per_size[0].detectable < 0.1


@pytest.mark.parametrize("kind", ["host", "pair"])
def test_rounds_that_confirm_have_the_suspects_and_all_others(kind: str) -> None:
    """As many partners of each host; a suspected pair is among them."""
    slow: Slow = lambda a, b: 0.5 * ((a == 3) & (b == 9)) if kind == "pair" else 0.2 * ((a == 3) | (b == 3))  # noqa: E731
    verdict = judge_sweeps([made(64, slow, passes=4)], None)
    rounds = list(confirming_rounds(verdict, 64, 1, 63, 6))
    assert 8 <= len(rounds) < 16
    pairs = [pair for one in rounds for pair in one]
    assert np.bincount(np.ravel(pairs)).tolist() == 64 * [len(rounds)] and len(set(pairs)) == len(pairs)
    assert kind == "host" or (3, 9) in pairs


@pytest.mark.parametrize("ends", [64, 17])
def test_many_pairs_that_may_be_slow_are_measured_side_by_side(ends: int) -> None:
    """In a few rounds, each with all endpoints; those that are left, in as many as their controls need."""
    pairs = [(at, at + step) for step in (1, 5) for at in range(0, ends - 5, 3)][: ends // 4]
    verdict = SweepVerdict(
        "healthy", screened=tuple(PairToRetest(a, b, "Pair_Bandwidth", 8) for a, b in pairs)
    )
    rounds = list(confirming_rounds(verdict, ends, 1, ends, 6))
    assert len(rounds) <= 4 and {pair for one in rounds for pair in one} >= set(pairs)
    for one in rounds:
        assert len(set(np.ravel(one).tolist())) == 2 * len(one) == ends - ends % 2
        assert all(a < b for a, b in one)
    left = replace(verdict, screened=verdict.screened[:1])
    again = list(confirming_rounds(left, ends, 1, ends, 6, again=True))
    assert 8 <= len(again) < ends and pairs[0] in again[0]


@pytest.mark.parametrize("draw", [64, 76])
def test_a_pair_that_stands_out_little_is_measured_until_it_does(draw: int) -> None:
    """20 % at a noise of 5 %: after the first launch some healthy ones of 2,016 pairs are nearly as slow."""
    fabric = truth.fabric_of("flat", 64)
    for kind, by in (("pair", 0.2), ("none", 0.0)):
        found = truth.drawn(fabric, kind, by, "normal 5%", range(draw, draw + 1), 60.0, 1, "Pair_Bandwidth")
        assert (found["right"], found["wrong"], found["asymmetric"]) == (int(by > 0), 0, 0), found
        assert found["rounds"] <= 1.3 * 4 * whole_sweep(64)


@pytest.mark.parametrize("seed", range(3))
def test_a_slow_pair_among_hosts_that_are_slow_for_a_pass(seed: int) -> None:
    """Pairs of such hosts are slower than it for as long as that lasts."""
    random = np.random.default_rng(seed)
    first, second = (
        made(64, lambda a, b: 0.2 * ((a == 3) & (b == 9)), passes=passes, seed=10 * seed + passes)
        for passes in (4, 6)
    )
    sweep = two_launches(first, second)
    host = random.random((10, 64)) < 0.03
    for at, of in enumerate(([5, 7], [8, 9, 11], [12, 13])):  # some in most passes of the later launch
        host[4:8, of] |= at == seed
    slow = host[sweep.passes, sweep.a] | host[sweep.passes, sweep.b]
    verdict = judge_sweeps([replace(sweep, seconds=sweep.seconds * (1 + 0.3 * slow))], None)
    assert named(verdict) == {"n3 - n9"}, verdict.suspects


@pytest.mark.parametrize("seed", [10, 40])
def test_a_slow_uplink_is_not_its_hosts(seed: int) -> None:
    """Of four uplinks, one third of whose pairs cross the slow one, little is known of how they vary."""
    leaves = {f"n{at}": f"leaf{at // 16}" for at in range(64)}
    network = graph(leaves, [(f"leaf{x}", f"spine{y}") for x in range(4) for y in range(16)])
    sweep = made(64, lambda a, b: 0.2 * ((a < 16) & (b >= 16)), passes=8, noise=0.24, seed=seed)
    assert named(judge_sweeps([sweep], network)) == {"all 16 links of leaf0 to switches"}


def test_a_pass_in_which_half_of_the_pairs_are_slow() -> None:
    """Does not hide how well the others show a slow host."""
    sweep = made(64, lambda a, b: 0.0 * a, passes=4)
    odd = sweep.passes % 2 == 1  # the other direction
    sweep = replace(sweep, a=np.where(odd, sweep.b, sweep.a), b=np.where(odd, sweep.a, sweep.b))
    slow = (sweep.passes == 2) & (np.random.default_rng(1).random(len(sweep.a)) < 0.55)
    [size] = judge_sweeps([replace(sweep, seconds=sweep.seconds * (1 + slow))], None).per_size
    assert size.detectable < 0.1


def test_recorded_core_pairs_of_two_kinds_of_cores_have_no_name() -> None:
    slow_cores, fast_cores = {0, 3, 4, 5}, {1, 2}
    a, b = (one.astype(np.int32) for one in np.triu_indices(6, 1))
    ends = tuple(Endpoint(at, "board", f"core {at}") for at in range(6))
    zero = np.zeros(15, dtype=np.int32)
    rows = [line.split() for line in CORE_PAIRS.read_text().splitlines() if not line.startswith("#")]
    assert len(rows) == 24
    for size, one, other, between in rows:
        times = [
            float(one if {x, y} <= slow_cores else other if {x, y} <= fast_cores else between)
            for x, y in zip(a.tolist(), b.tolist(), strict=True)
        ]
        sweep = Sweep(ends, "PingPong", int(size), a, b, zero, zero, np.array(times) * 1e-6)
        assert not named(judge_sweeps([sweep], None))
