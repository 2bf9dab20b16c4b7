"""IMB-NBC on the simulated machine of test_simulated.py, where the right answer is known.

SMPI (3.32) posts all messages of a nonblocking collective at once, when it starts: one rank with all others, or each
with each. None has a second stage, the sums of a reduction are made when the operation completes and take no time:

 - Ibcast, Iscatter, Igather, Ireduce and their kin: P - 1 messages through the root's cable.
 - Iallgather, Ialltoall and their kin: each rank's message to each. Iallreduce too; every rank adds up for itself.
 - Iscan, Iexscan: each rank's message to all above it. Rank 0's cable and the last one's carry P - 1 messages.
 - Ireduce_scatter: the same with parts of n / P bytes. Ibarrier: the same with empty messages; rank 0 does not wait
   for the others before it answers them.

So a blocking relative may take longer, as it has two stages: Allreduce, Reduce_scatter, Barrier.

The network carries posted messages while their ranks compute: overlap is perfect, t_ovrl = max(t_pure, t_CPU).
Whatever a rank does itself inside an MPI call cannot overlap with its computing. Three settings make it do something:

 - `call`: starting a message keeps the sender busy for so long. The load begins after that, t_ovrl = call + t_CPU
   where t_pure = call + message: a share of message / (call + message) overlaps.
 - `copy`: receiving an eager message takes so long per byte, in the call that completes the operation. Without
   -progress that is MPI_Wait, after the load: t_ovrl = t_CPU + copy. With it, it is the first MPI_Test that finds all
   messages there. That happens within the load, so t_CPU grows by the copy, and t_ovrl = t_CPU: perfect again.
 - `test`: an MPI_Test without success takes so long for the operation itself and for each of its messages.

SMPI cannot have no overlap on a network that takes time: messages never wait for an MPI call. On a network that takes
no time (2^-100 seconds a byte, which adds nothing to a clock of 53 bits) everything is copying: t_ovrl = t_pure + t_CPU,
none. The settings in between give every share, exactly.

The load is counted in units of 2^-30 seconds: t_CPU is t_pure rounded to that. Unless told otherwise SMPI drops
computations below a microsecond, and takes what ends within the same nanosecond for simultaneous.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import lab
import pytest
from collectives import COLLECTIVES
from test_simulated import (
    CABLE,
    ENVELOPE,
    SWITCH,
    Simulation,
    Switch,
    about,
    simulate,
    times,
    without_date,
)

pytestmark = pytest.mark.needs_mpi  # a simulated one

UNIT = 2.0**-30  # seconds of computing
LENGTHS = (1024, 2048)
SIZES = f"-msgsize {','.join(map(str, LENGTHS))} -iter_policy off"
REPETITIONS = {2: 64, 4: 16, 16: 8}
# Each repetition alone, from a moment that all ranks share, with a fixed root.
ALONE = "-sync on -imb_barrier on -root_shift off -warm_up off"


FROM_ROOT = {"Ibcast", "Iscatter", "Iscatterv"}
ROOTED = {f"I{name.lower()}" for name, row in COLLECTIVES.items() if row.rooted}
PREFIXES = ("Iscan", "Iexscan")
OFF_BY_DEFAULT = ("Ialltoallw", *PREFIXES)
NONBLOCKING = {f"I{name.lower()}": row.nonblocking for name, row in COLLECTIVES.items() if row.nonblocking}
ALL = " ".join(NONBLOCKING)


def nbc(folder: Path, ranks: int, words: str, *, extra: tuple[str, ...] = (), **how) -> Simulation:
    extra = ("smpi/cpu-threshold:0", "surf/precision:1e-13", *extra)
    return simulate(folder, ranks, words, component="NBC", extra=extra, **how)


def copying(per_byte: float) -> tuple[str, ...]:
    return (f"smpi/or:0:0:{per_byte!r}",)


def slow_tests(seconds: float) -> tuple[str, ...]:
    return (f"smpi/test:{seconds!r}", "smpi/grow-injected-times:no")


def in_units(seconds: float) -> float:
    """Halves upwards."""
    return int(seconds / UNIT + 0.5) * UNIT


def shown(row: dict) -> tuple[float, float, float, float]:
    keys = ("time_overlapped_seconds", "time_pure_seconds", "time_cpu_seconds", "overlap_percent")
    return tuple(row[key] for key in keys)


def overlap(t_ovrl: float, t_pure: float, t_cpu: float, ranks: int = 0) -> tuple:
    """What a row shows of these three, which must not be disturbed by rounding."""
    saved = t_pure + t_cpu - t_ovrl
    percent = 100 * saved / min(t_pure, t_cpu)
    assert -1e-9 <= percent <= 100 + 1e-9
    close = pytest.approx(percent, rel=1e-9, abs=1e-9)
    perfect_or_none = ranks == 2 and percent in (0, 100)
    return (*(about(each, ranks) for each in (t_ovrl, t_pure, t_cpu)), percent if perfect_or_none else close)


def points(rows: list[dict]) -> list[tuple[str, int]]:
    return [(row["benchmark"], row["bytes"]) for row in rows]


def expected_points(suffix: str = "") -> list[tuple[str, int]]:
    return [(name + suffix, n) for name in NONBLOCKING for n in ((0,) if name == "Ibarrier" else LENGTHS)]


# --- Both flavors of every benchmark --------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_pure_flavors_take_what_the_platform_implies(ranks, tmp_path):
    """Started and waited for: no load, and nothing about one."""
    names = " ".join(f"{name}_pure" for name in NONBLOCKING)
    done = nbc(tmp_path, ranks, f"{names} -npmin {ranks} {SIZES} -iter {REPETITIONS[ranks]}")
    assert sorted(points(done.rows)) == sorted(expected_points("_pure"))
    for row in done.rows:
        wanted = NONBLOCKING[row["benchmark"].removesuffix("_pure")](SWITCH, ranks, row["bytes"])
        assert times(row) == (about(wanted, ranks),) * 3, row
        assert row["repetitions"] == REPETITIONS[ranks]
        assert not {"time_overlapped_seconds", "time_cpu_seconds", "overlap_percent", "load_drift"} & set(row)
    for table in lab.tables(done.text):
        assert table.columns[-3:] == ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_what_the_network_does_alone_overlaps_in_full(ranks, tmp_path):
    """All benchmarks that a run without names has, which are those with a load, and those off by default. It costs
    nothing: the network needs as long as the load."""
    words = f"-npmin {ranks} {SIZES} -iter {REPETITIONS[ranks]} -include {','.join(OFF_BY_DEFAULT)}"
    rows = nbc(tmp_path, ranks, words).rows
    assert sorted(points(rows)) == sorted(expected_points())
    for row in rows:
        wanted = NONBLOCKING[row["benchmark"]](SWITCH, ranks, row["bytes"])
        assert times(row) == (about(wanted, ranks),) * 3, row
        assert shown(row) == overlap(wanted, wanted, wanted, ranks), row
        assert row["load_drift"] == (0 if ranks == 2 else pytest.approx(0, abs=1e-9))
        assert row["repetitions"] == REPETITIONS[ranks]


def test_every_mode_of_the_loop_overlaps_alike(tmp_path):
    """Other loops, the same times; the quantiles are of the pure run. The check finds nothing wrong."""
    plain = nbc(tmp_path / "plain", 4, f"{ALL} -npmin 4 {SIZES} -iter 8").rows
    for mode in (
        "-show_tail yes",
        "-sync on",
        "-off_cache 1,64",
        "-check",
        "-imb_barrier on",
        "-root_shift off",
    ):
        done = nbc(tmp_path / mode, 4, f"{ALL} -npmin 4 {SIZES} -iter 8 {mode}")
        for was, row in zip(plain, done.rows, strict=True):
            assert (was["benchmark"], was["bytes"]) == (row["benchmark"], row["bytes"])
            assert times(row) == tuple(map(about, times(was))), (mode, row)
            assert shown(row) == tuple(map(about, shown(was))), (mode, row)
            assert all(each == about(row["time_max_seconds"]) for each in row.get("quantiles", {}).values())
            assert ("quantiles" in row) == ("-show_tail" in mode)
            assert row.get("defects") == (0 if "-check" in mode else None)


@pytest.mark.parametrize("ranks", [2, 8])
@pytest.mark.parametrize("eager", [False, True], ids=["rendezvous", "eager"])
def test_check_finds_nothing_wrong_and_two_runs_are_alike(eager, ranks, tmp_path):
    """Both flavors, all groups, with calls in between, to the last bit."""
    names = " ".join(f"{name} {name}_pure" for name in NONBLOCKING)
    words = f"{names} {SIZES} -iter 3 -check -show_tail yes -multi 1 -npmin {min(ranks, 4)} -progress 2"
    first = nbc(tmp_path / "first", ranks, words, eager=eager)
    assert sorted(set(points(first.rows))) == sorted(expected_points() + expected_points("_pure"))
    assert all(row["defects"] == 0 for row in first.rows)
    assert first.records[-1]["state"] == "complete" and first.records[-1]["defects"] == 0
    again = nbc(tmp_path / "again", ranks, words, eager=eager)
    assert without_date(again.records) == without_date(first.records)


# --- The load --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bandwidth", "longer"), [(2**31, True), (2**32, False)], ids=["up", "down"])
def test_load_is_the_pure_time_in_whole_units(bandwidth, longer, tmp_path):
    """Bytes that take half a unit, or a quarter of one. t_ovrl is the longer of the two, the load or the messages; the
    other is hidden in full."""
    net = Switch(bandwidth=bandwidth)
    for row in nbc(tmp_path, 2, "Iallgather Ibcast -msgsize 1,1025 -iter 8", switch=net).rows:
        pure = net.message(row["bytes"])
        load = in_units(pure)
        assert load != pure and (load > pure) == longer
        assert times(row) == (pure,) * 3
        assert shown(row)[:3] == (max(pure, load), pure, load), row
        assert row["overlap_percent"] == about(100)


def test_processor_that_slows_down_is_seen_and_calibrated_anew(tmp_path):
    """Host 1 computes at half its speed from a moment on that falls into the pure run with 4 MiB: there every load
    takes it twice as long, and the row says so. Its partner waits in each repetition but the first. What is shown is
    of rank 1, which has the largest t_ovrl. Before, and after a new calibration, nothing disturbs."""
    moment, repetitions, large = 0.1, 16, 2**22

    @dataclass(frozen=True)
    class Tired(Switch):
        def write(self, folder: Path, hosts: int) -> list[str]:
            words = super().write(folder, hosts)
            file = folder / "platform.xml"
            (folder / "speed.txt").write_text(f"0.0 1.0\n{moment} 0.5\n")
            tireless, tired = (
                '<host id="n1" speed="1Gf">',
                '<host id="n1" speed="1Gf" speed_file="speed.txt">',
            )
            assert tireless in file.read_text()
            file.write_text(file.read_text().replace(tireless, tired))
            return words

    words = f"Iallgather -msgsize 1024,{large},2048 -iter {repetitions} -iter_policy off -warm_up off"
    rows = nbc(tmp_path, 2, words, switch=Tired()).rows
    assert [row["bytes"] for row in rows] == [1024, large, 2048]
    for row in rows:
        pure = SWITCH.message(row["bytes"])
        slower = 2 if row["bytes"] == large else 1
        assert times(row) == (about(pure),) * 3, row
        assert shown(row) == overlap(slower * pure, pure, slower * pure), row
        assert row["load_drift"] == pytest.approx(slower - 1, abs=1e-9), row


# --- What a rank does itself does not overlap ------------------------------------------------------------------------


def test_time_spent_in_starting_messages_does_not_overlap(tmp_path):
    """Between two ranks. Where each sends, each is late by a call. With a root that moves on each pays it every other
    time, and meanwhile the other already computes: half a call."""
    call = 2.0**-21
    rows = nbc(tmp_path, 2, f"{ALL} {SIZES} -iter 8 -imb_barrier on", call=call).rows
    assert sorted(points(rows)) == sorted(expected_points())
    for row in rows:
        name = row["benchmark"]
        pure = call + NONBLOCKING[name](SWITCH, 2, row["bytes"])
        busy = call / 2 if name in ROOTED else call
        assert times(row) == (pure,) * 3, row
        assert shown(row) == overlap(busy + pure, pure, pure, 2), row


def copied(name: str, ranks: int, n: int) -> int:
    """Bytes that the rank with most to receive receives."""
    if name == "Ibarrier":
        return 0
    messages = 1 if name in FROM_ROOT else ranks - 1
    return messages * (n // ranks if name == "Ireduce_scatter" else n)


@pytest.mark.parametrize("ranks", REPETITIONS)
@pytest.mark.parametrize("per_byte", [2.0**-31, 2.0**-29], ids=["fast", "slow"])
def test_copying_in_the_wait_does_not_overlap(per_byte, ranks, tmp_path):
    """Eager: who only sends is done at once, and has t_min. Who receives waits for all messages, then copies them, one
    after the other. That is left when the load is done; the network's part is hidden."""
    words = f"{ALL} -npmin {ranks} {SIZES} -iter {REPETITIONS[ranks]} {ALONE}"
    rows = nbc(tmp_path, ranks, words, eager=True, extra=copying(per_byte)).rows
    assert sorted(points(rows)) == sorted(expected_points())
    for row in rows:
        name = row["benchmark"]
        copy = copied(name, ranks, row["bytes"]) * per_byte
        pure = copy + NONBLOCKING[name](SWITCH, ranks, row["bytes"])
        assert row["time_max_seconds"] == about(pure, ranks), row
        only_sends = name in ROOTED or name in PREFIXES  # some rank does
        assert row["time_min_seconds"] == (0 if only_sends else about(pure, ranks)), row
        load = in_units(pure)
        if name == "Ibarrier":
            assert row["overlap_percent"] == about(100)
        else:
            assert shown(row) == overlap(load + copy, pure, load, ranks), row
        assert row["slowest_rank"] == (1 if name in FROM_ROOT else row["slowest_rank"])


def test_on_a_network_that_takes_no_time_nothing_overlaps(tmp_path):
    """t_ovrl = t_pure + t_CPU, to the last bit. Ibarrier has nothing to copy, and takes no time."""
    instant = Switch(latency=0.0, bandwidth=2**100)
    words = f"{ALL} {SIZES} -iter 8 {ALONE}"
    for row in nbc(tmp_path, 2, words, eager=True, switch=instant, extra=copying(UNIT)).rows:
        copy = copied(row["benchmark"], 2, row["bytes"]) * UNIT
        assert row["time_max_seconds"] == copy, row
        assert shown(row) == (2 * copy, copy, copy, 0), row
        assert row["load_drift"] == 0


# --- -progress -------------------------------------------------------------------------------------------------------


def test_parts_of_the_load_add_up_to_the_whole(tmp_path):
    """MPI_Test takes no time, and the network needs none: whatever their number, the same records."""
    words = f"{ALL} -npmin 4 -msgsize 1040 -iter_policy off -iter 4"
    rows = {
        tests: nbc(tmp_path / str(tests), 4, f"{words} -progress {tests}").rows for tests in (0, 1, 2, 7, 50)
    }
    for row in rows[0]:
        pure = NONBLOCKING[row["benchmark"]](SWITCH, 4, row["bytes"])
        assert shown(row) == overlap(pure, pure, in_units(pure)), row
    for tests in rows:
        for was, row in zip(rows[0], rows[tests], strict=True):
            assert (was["benchmark"], was["bytes"]) == (row["benchmark"], row["bytes"])
            assert shown(row) == tuple(map(about, shown(was))), (tests, row)


def test_as_many_tests_as_asked_for(tmp_path):
    """Tests that take time, all of them too early: messages take as long as the load without tests. They count as
    computing, t_CPU is the load and N tests. All of it is hidden, as t_ovrl is no longer than that."""
    seconds = 2.0**-28
    messages = {"Ibcast": 1, "Ireduce": 1, "Iallgather": 2, "Iallreduce": 2, "Ibarrier": 2}
    for tests in (1, 3, 8):
        words = f"{' '.join(messages)} {SIZES} -iter 8 {ALONE} -progress {tests}"
        for row in nbc(tmp_path / str(tests), 2, words, extra=slow_tests(seconds)).rows:
            name = row["benchmark"]
            pure = NONBLOCKING[name](SWITCH, 2, row["bytes"])
            load = pure + tests * (1 + messages[name]) * seconds
            assert shown(row) == (about(load, 0), pure, about(load, 0), about(100)), (tests, row)
            assert times(row) == (pure,) * 3


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_test_in_time_lets_the_rank_copy_within_the_load(ranks, tmp_path):
    """As in the wait, but for the first of N tests at which all messages are there. It is in time if N of N + 1 parts
    of the load, which is as long as messages and copy, are no shorter than the messages. The copy then counts as
    computing. More tests never make it worse."""
    names = ("Ibcast", "Igather", "Ireduce", "Iallgather", "Iallreduce", "Ireduce_scatter")
    seen = set()
    before = dict.fromkeys(((name, n) for name in names for n in LENGTHS), 0.0)
    for tests in (0, 1, 2, 4, 8):
        words = f"{' '.join(names)} -npmin {ranks} {SIZES} -iter 8 {ALONE} -progress {tests}"
        for row in nbc(tmp_path / str(tests), ranks, words, eager=True, extra=copying(UNIT)).rows:
            name, n = row["benchmark"], row["bytes"]
            network = NONBLOCKING[name](SWITCH, ranks, n)
            copy = copied(name, ranks, n) * UNIT
            pure = network + copy
            units = round(pure / UNIT)
            in_time = units // (tests + 1) * tests * UNIT >= network
            wanted = (pure + copy, pure, pure + copy if in_time else pure)
            assert shown(row) == overlap(*wanted, ranks), (tests, row)
            assert row["overlap_percent"] >= before[name, n] - 1e-9
            before[name, n] = row["overlap_percent"]
            seen.add((tests, in_time))
    assert {(0, False), (1, False), (4, False), (4, True), (8, True)} <= seen


# --- Groups ----------------------------------------------------------------------------------------------------------


def test_each_group_computes_as_long_as_its_own_slowest_needs(tmp_path):
    """-multi with cables of different lengths: pairs have times of their own, and loads. Together, one row: that of
    the pair with the longest cables. Ranks leave the barrier apart by at most the difference of two cables."""
    repetitions, switch = 64, Switch(growth=1 / 4)
    words = f"Iallgather Ibcast -npmin 2 -msgsize 0,1024 -iter {repetitions} -iter_policy off"
    pairs = [[2 * i, 2 * i + 1] for i in range(4)]
    most = (switch.cable(7) - switch.cable(0)) / repetitions
    assert most < CABLE / 16

    def check(row: dict, pair: list[int]) -> None:
        seconds = sum(map(switch.cable, pair)) + (row["bytes"] + ENVELOPE) / switch.bandwidth
        t_ovrl, t_pure, t_cpu, percent = shown(row)
        slack = 1 + 1e-9
        assert seconds <= t_pure * slack and t_pure <= (seconds + most) * slack, row
        assert seconds - UNIT <= t_cpu * slack and t_cpu <= (seconds + most + UNIT) * slack, row
        assert max(t_pure, t_cpu) - most - UNIT <= t_ovrl <= max(t_pure, t_cpu) + most + UNIT, row
        assert percent == pytest.approx(100, abs=100 * (2 * most + UNIT) / seconds)

    rows = [
        row
        for row in nbc(tmp_path / "1", 8, f"{words} -multi 1", switch=switch).rows
        if row["processes"] == 2
    ]
    assert [row["groups"] for row in rows] == [[pair] for pair in pairs] * (len(rows) // 4)
    assert len(rows) == 2 * 2 * 4
    for row in rows:
        check(row, row["groups"][0])
    rows = [
        row
        for row in nbc(tmp_path / "0", 8, f"{words} -multi 0", switch=switch).rows
        if row["processes"] == 2
    ]
    assert len(rows) == 2 * 2
    for row in rows:
        assert row["group_count"] == 4 and row["slowest_rank"] in pairs[-1]
        check(row, pairs[-1])


def test_groups_do_not_disturb_each_other(tmp_path):
    """Two fours at once: the overlap of one, and that of all eight."""
    words = f"{ALL} -npmin 4 {SIZES} -iter 4"
    alone = {
        (row["benchmark"], row["processes"], row["bytes"]): shown(row)
        for row in nbc(tmp_path / "alone", 8, words).rows
    }
    rows = nbc(tmp_path / "multi", 8, f"{words} -multi 1").rows
    counted = dict.fromkeys(alone, 0)
    for row in rows:
        key = (row["benchmark"], row["processes"], row["bytes"])
        assert shown(row) == tuple(map(about, alone[key])), row
        counted[key] += 1
    assert counted == {key: 8 // key[1] for key in alone}


# --- All lengths, and what the columns say ---------------------------------------------------------------------------


def test_all_lengths_and_the_figures_made_from_them(tmp_path):
    """0 to 4 MiB, both flavors. The text shows what the records have. No throughput."""
    names = ("Ibcast", "Iallgather", "Ireduce_scatter", "Ibarrier")
    words = f"{' '.join(f'{name} {name}_pure' for name in names)} -iter 16,8"
    done = nbc(tmp_path, 2, words, eager=True, extra=copying(UNIT))
    lines = [(table, line) for table in lab.tables(done.text) for line in table.rows]
    lengths = [row["bytes"] for row in done.rows if row["benchmark"] == "Ibcast"]
    assert lengths == [0, *(2**power for power in range(23))]
    percents = set()
    for row, (table, line) in zip(done.rows, lines, strict=True):
        loaded = "_pure" not in row["benchmark"]
        barrier = row["benchmark"].startswith("Ibarrier")
        assert table.name == row["benchmark"] and "bytes_per_second" not in row
        first = ["#repetitions"] if barrier else ["#bytes", "#repetitions"]
        start = [str(row["repetitions"])] if barrier else [str(row["bytes"]), str(row["repetitions"])]
        if loaded:
            t_ovrl, t_pure, t_cpu, percent = shown(row)
            figures = [f"{seconds * 1e6:.2f}" for seconds in (t_ovrl, t_pure, t_cpu)] + [f"{percent:.2f}"]
            columns = ["t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]"]
            saved = 100 * (t_pure + t_cpu - t_ovrl) / min(t_pure, t_cpu)
            assert percent == pytest.approx(min(100.0, max(0.0, saved)), abs=1e-9), row
            percents.add(round(percent))
        else:
            least, mean, largest = times(row)
            figures = [f"{seconds * 1e6:.2f}" for seconds in (least, largest, mean)]
            columns = ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]
        assert table.columns == first + columns and line == start + figures, row
    assert len(percents) > 5, "too alike to tell anything"
