"""IMB-P2P on the simulated machine of test_simulated.py, where the right answer is known.

Random partners show in the times, too: with cables of different lengths, a pair takes as long as its two cables.
"""

from __future__ import annotations

import lab
import pytest
from collectives import Formula, message
from test_simulated import SHORT, SWITCH, WINDOW, Switch, about, simulate, times

pytestmark = pytest.mark.needs_mpi  # a simulated one


def at_once(messages: int) -> Formula:
    return lambda net, ranks, n: net.together(messages, n)


PAIRS: dict[str, tuple[Formula, float]] = {  # and the messages of each process in that time
    "PingPong": (message, 0.5),
    "PingPing": (message, 1),  # the two directions of a cable do not meet
    "Unirandom": (message, 0.5),
    "Birandom": (message, 1),
    "Corandom": (message, 1),  # each cable has one message in and one out
    "Stencil2D": (at_once(4), 4),
    "Stencil3D": (at_once(6), 6),
    "SendRecv_Replace": (message, 1),
    **dict.fromkeys(("Halo", "simple_halo"), (at_once(6), 6)),
    "Multi_pair": (at_once(WINDOW), WINDOW / 2),
}
REPETITIONS = {2: 64, 16: 8}


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_every_benchmark_takes_what_the_platform_implies(ranks, tmp_path):
    names = [name for name in PAIRS if ranks > 2 or not name.startswith("Stencil")]
    words = f"{' '.join(names)} {SHORT} -iter {REPETITIONS[ranks]} -window_size {WINDOW}"
    done = simulate(tmp_path, ranks, f"{words} -halo {1 if ranks == 2 else 3}", component="P2P")
    assert {row["benchmark"] for row in done.rows} == set(names)
    for row in done.rows:
        formula, sent = PAIRS[row["benchmark"]]
        seconds = formula(SWITCH, ranks, row["bytes"])
        if row["benchmark"] in ("Halo", "simple_halo") and ranks == 2:
            seconds, sent = SWITCH.together(2, row["bytes"]), 2
        assert times(row) == (about(seconds, ranks),) * 3, row
        assert row["messages_per_second"] == pytest.approx(sent * ranks / seconds, rel=1e-9)
        assert row["bytes_per_second"] == pytest.approx(row["bytes"] * sent * ranks / seconds, rel=1e-9)


@pytest.mark.parametrize(
    ("halo", "ranks", "neighbors"), [("3,corners", 27, 26), ("2", 9, 4), ("2,corners", 9, 8)]
)
def test_halos_of_other_shapes(halo, ranks, neighbors, tmp_path):
    """Three processes in each dimension: all neighbors are others, and each cable has one message of each."""
    done = simulate(tmp_path, ranks, f"Halo -halo {halo} {SHORT} -iter 4", component="P2P")
    assert [row["bytes"] for row in done.rows] == [1024, 2048]
    for row in done.rows:
        seconds = SWITCH.together(neighbors, row["bytes"])
        assert times(row) == (about(seconds, ranks),) * 3, row
        assert row["messages_per_second"] == pytest.approx(neighbors * ranks / seconds, rel=1e-9)


def test_every_benchmark_has_its_time_here() -> None:
    assert list(PAIRS) == lab.names("P2P")


def test_partners_follow_the_seed(tmp_path):
    """Cables that differ make the time of each repetition one of its pairs: equal with the same seed, others with
    another, in the order in which they were drawn."""
    switch = Switch(growth=1 / 16)
    words = f"Unirandom Birandom Corandom {SHORT} -iter 32 -show_tail yes"

    def seconds(name: str, seed: str) -> list[tuple[float, float, float]]:
        return [
            times(row)
            for row in simulate(tmp_path / name, 8, f"{words} {seed}", component="P2P", switch=switch).rows
        ]

    first = seconds("first", "-seed 1")
    assert seconds("again", "-seed 1") == seconds("default", "") == first
    other = seconds("other", "-seed 2")
    assert all(one != another for one, another in zip(first, other, strict=True))
