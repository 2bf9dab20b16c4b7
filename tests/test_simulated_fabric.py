"""IMB-FABRIC on the simulated machine of test_simulated.py, where the right time of each pair is known."""

from __future__ import annotations

import itertools
import subprocess
import sys

import lab
import pytest
from test_simulated import SWITCH, WINDOW, Switch, simulate

pytestmark = pytest.mark.needs_mpi  # a simulated one

DIGITS = 5e-6  # records of pairs have six
FEW = f"-msgsize 1024,2048 -iter_policy off -iter 64 -window_size {WINDOW}"
# Of one message: the directions of a cable do not meet.
MESSAGES = {"Pair_Latency": 1, "Pair_Bandwidth": WINDOW, "Pair_Bidirectional": WINDOW}


def seconds(switch: Switch, one: dict) -> float:
    """Two cables, and the messages that share them."""
    messages = MESSAGES[one["benchmark"]]
    cables = switch.cable(one["a"]) + switch.cable(one["b"])
    return (cables + switch.together(messages, one["bytes"]) - 2 * switch.latency) / messages


@pytest.mark.parametrize("ranks", [2, 4, 7])
@pytest.mark.parametrize("how", ["", "-serial"])
@pytest.mark.parametrize("growth", [0, 1 / 2])
def test_every_pair_takes_what_its_cables_imply(ranks, how, growth, tmp_path):
    """Pairs of a round share nothing on a perfect switch. With cables of different lengths, ranks leave the barrier at
    different times, which is in the first of 64 repetitions."""
    switch = Switch(growth=growth)
    done = simulate(tmp_path, ranks, f"{FEW} {how}", component="FABRIC", switch=switch)
    assert done.code == 0, done.errors
    pairs = done.pairs
    assert len(pairs) == len(list(itertools.combinations(range(ranks), 2))) * 3 * 2
    for one in pairs:
        assert one["time_seconds"] == pytest.approx(seconds(switch, one), rel=0.02 if growth else DIGITS), one


def test_with_two_ranks_times_are_those_of_a_message(tmp_path):
    for one in simulate(tmp_path, 2, FEW, component="FABRIC").pairs:
        exact = SWITCH.together(MESSAGES[one["benchmark"]], one["bytes"]) / MESSAGES[one["benchmark"]]
        assert one["time_seconds"] == pytest.approx(exact, rel=DIGITS)


def test_rounds_at_once_take_the_time_of_one(tmp_path):
    """N - 1 rounds of N / 2 pairs: in parallel the time of the sweep grows with N, one after the other with its square."""
    ends = {
        (ranks, how): simulate(tmp_path / f"{ranks}{how}", ranks, f"{FEW} {how}", component="FABRIC").pairs[
            -1
        ]["at_seconds"]
        for ranks in (4, 8)
        for how in ("", "-serial")
    }
    assert ends[8, ""] / ends[4, ""] == pytest.approx(7 / 3, rel=0.15)
    assert ends[8, "-serial"] / ends[8, ""] == pytest.approx(4, rel=0.15)


def test_the_fabrics_of_the_error_rates_are_those_of_simgrid() -> None:
    """Routes, and times with a slow cable."""
    command = [sys.executable, str(lab.TOP / "bench" / "fabric_routes.py"), "--hosts", "64", "--cables", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("2 of 2") == 2, done.stdout + done.stderr


def test_every_benchmark_has_its_time_here() -> None:
    assert list(MESSAGES) == lab.names("FABRIC")
