"""Verdicts without a topology: hosts below leaf switches, which nothing tells but their times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from companion.fabric.test_fabric_model import made, named, truth
from imb.fabric.judging.inference import judge_sweeps
from imb.fabric.judging.sweep import Sweep
from imb.fabric.judging.verdict import SweepVerdict
from imb.stats.arrays import Numbers


def of_leaves(
    count: int,
    below: int,
    slow: range = range(0),
    by: float = 0.0,
    *,
    both: bool = False,
    far: int | None = None,
    noise: float = 0.01,
    seed: int = 1,
) -> Sweep:
    """`slow`: hosts that take longer, `both`: two of them take longer twice; `far`: a leaf switch whose pairs with others take `by` longer."""

    def longer(a: Numbers, b: Numbers) -> Any:
        slow_a, slow_b = np.isin(a, slow), np.isin(b, slow)
        ends = slow_a.astype(int) + slow_b if both else slow_a | slow_b
        if far is not None:
            ends = ends + ((a // below == far) != (b // below == far))
        return 1.3 ** (a // below != b // below) * (1 + by) ** ends - 1

    return made(count, longer, passes=4, noise=noise, seed=seed)


def judged(*args: Any, **fields: Any) -> SweepVerdict:
    return judge_sweeps([of_leaves(*args, **fields)], None)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("hosts", "below", "many", "by"),
    [(64, 8, 3, 0.1), (64, 8, 4, 0.2), (64, 8, 8, 0.2), (64, 8, 16, 1.0), (64, 8, 12, 0.2), (128, 16, 16, 0.2)],
)  # fmt: skip
def test_slow_hosts_of_one_switch_are_no_farther_switch(
    hosts: int, below: int, many: int, by: float, both: bool
) -> None:
    """All at once, and two whole switches: their own pairs are near, and slow."""
    verdict = judged(hosts, below, range(below, below + many), by, both=both)
    assert named(verdict) == {f"n{one}" for one in range(below, below + many)}, verdict
    whole = [note for note in verdict.notes if "the switch that they share may be the cause" in note]
    assert both or len(whole) == many // below, verdict.notes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("hosts", "below"), [(16, 4), (64, 8), (64, 32), (96, 12)])
def test_switches_are_seen_in_a_healthy_sweep(hosts: int, below: int, seed: int) -> None:
    verdict = judged(hosts, below, seed=seed)
    assert (verdict.state, verdict.suspects) == ("healthy", ())
    assert any(f"{hosts // below} groups of endpoints" in note for note in verdict.notes), verdict.notes


def test_slow_hosts_of_a_switch_in_a_group_stand_apart() -> None:
    """Switches of a group are nearer than groups; slow hosts of one switch are not far from the others."""

    def longer(a: Numbers, b: Numbers) -> Any:
        slow = np.isin(a, [17, 18, 19]) | np.isin(b, [17, 18, 19])
        return (1.0 + 0.15 * (a // 4 != b // 4) + 0.3 * (a // 32 != b // 32)) * (1 + 0.2 * slow) - 1

    verdict = judge_sweeps([made(256, longer, passes=4, noise=0.02)], None)
    classes = [name for name, _ in verdict.per_size[0].classes if "slower group" not in name]
    assert len(classes) == 2, verdict.per_size[0].classes
    # These three are nearer to each other than to the rest, and slow: not healthy, and no list of names that may be wrong.
    assert (verdict.state, [one.slower for one in verdict.populations]) == ("inconclusive", [(17, 18, 19)])


@pytest.mark.parametrize("seed", range(5))
def test_slow_hosts_of_a_switch_that_is_not_seen_are_not_healthy(seed: int) -> None:
    """Their own pairs are near, so about as fast as all others, and too many pairs are missing to see the switches: slow, or farther away."""

    def longer(a: Numbers, b: Numbers) -> Any:
        slow = np.isin(a, [17, 18, 19]) | np.isin(b, [17, 18, 19])
        return (1.0 + 0.12 * (a // 4 != b // 4)) * (1 + 0.1 * slow) - 1

    sweep = made(64, longer, passes=4, noise=0.02, seed=seed)
    kept = np.tile(np.random.default_rng(seed).random(64 * 63 // 2) < 0.8, 4)
    kept |= (sweep.a // 4 == 4) & (sweep.b // 4 == 4)
    columns = {name: getattr(sweep, name)[kept] for name in ("a", "b", "passes", "rounds", "seconds")}
    verdict = judge_sweeps([replace(sweep, **columns)], None)
    assert (verdict.state, [one.slower for one in verdict.populations]) == ("inconclusive", [(17, 18, 19)])
    assert any("3 endpoints stand apart: near each other" in note for note in verdict.notes)


def test_a_switch_that_all_others_are_far_from_is_not_healthy() -> None:
    """Its uplink may be slow, or it may be in another room: no sweep alone tells which. Its own pairs are as fast as those of others."""
    verdict = judged(64, 8, by=0.3, far=2)
    assert (verdict.state, named(verdict)) == ("inconclusive", set())
    [group] = verdict.populations
    assert (group.of, group.slower) == ("endpoints", tuple(range(16, 24)))
    assert group.effect == pytest.approx(0.3, abs=0.02)
    assert any(
        "another switch, or a slow uplink; give the switches (--topology)" in note for note in verdict.notes
    )


@pytest.mark.parametrize("noise", ["normal 17%", "rounds 17%"])
@pytest.mark.parametrize("fault", ["uplink", "uplink out"])
@pytest.mark.slow
def test_a_slow_uplink_drains_no_host(fault: str, noise: str) -> None:
    """Noise hides that single hosts are near the others; they are compared with their group."""
    found = truth.drawn(
        truth.fabric_of("blind", 64, 8), fault, 0.1, noise, range(3), 600.0, 1, "Pair_Bandwidth"
    )
    assert (found["right"], found["drained"]) == (3, 0), found


@pytest.mark.slow
def test_two_slow_uplinks_and_a_slow_host_below_one() -> None:
    """The host is named, as it is slower than the others of its switch."""

    def longer(a: Numbers, b: Numbers) -> Any:
        beyond = 1.0 + 0.3 * (a // 8 != b // 8)
        for leaf in (2, 5):
            beyond = beyond * (1 + 0.15 * ((a // 8 == leaf) != (b // 8 == leaf)))
        return beyond * (1 + 0.2 * ((a == 20) | (b == 20))) - 1

    for seed in range(5):
        verdict = judge_sweeps([made(64, longer, passes=16, noise=0.17, seed=seed)], None)
        assert named(verdict) == {"n20"}, verdict.suspects
        groups = [*range(16, 24)], [*range(40, 48)]
        assert sorted([*one.slower] for one in verdict.populations) == [*groups], verdict.populations
        assert len({note for note in verdict.notes if "8 endpoints stand apart" in note}) == 2


def test_a_silent_host_hides_no_switch() -> None:
    sweep = of_leaves(64, 8, range(8, 11), 0.2)
    silent = np.where((sweep.a == 40) | (sweep.b == 40), np.nan, sweep.seconds)
    verdict = judge_sweeps([replace(sweep, seconds=silent)], None)
    assert (verdict.silent, named(verdict)) == ((40,), {"n8", "n9", "n10"})


def test_long_tails_are_no_suspects() -> None:
    """A pair that noise alone explains does not make a sweep inconclusive: else hardly one in such noise is healthy. After one launch it may be doubted."""
    verdicts = []
    for seed in range(10):
        sweep = made(64, lambda a, b: 0.0 * a, passes=8, noise=0.0, seed=seed)
        tails = np.random.default_rng(seed).laplace(0, 0.05, 64 * 63 // 2)
        noisy = replace(sweep, seconds=sweep.seconds * np.exp(np.tile(tails, 8)))
        verdicts.append(judge_sweeps([noisy], None))
        assert verdicts[-1].state != "bad"
        twice = replace(noisy, launches=(sweep.passes >= 4).astype(np.int32))
        verdicts[-1] = judge_sweeps([twice], None)
    assert sum(one.state == "healthy" for one in verdicts) >= 8, verdicts
    assert not any(named(one) for one in verdicts)
    assert not any(
        suspect.p_value >= 0.5 for one in verdicts if one.state == "healthy" for suspect in one.suspects
    )
