"""-sync_start clock and -arrival: the error of the common clock where clocks are fake, and what rows show where the right
answer is known.

On simulated ranks clocks differ by fake_wtime.cpp and clock_error.cpp (fake_clock.h); nothing else takes time but messages
(test_simulated.py).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import lab
import pytest
from test_simulated import PURE, Switch, simulate

pytestmark = pytest.mark.needs_mpi

SWITCH = Switch(latency=0.5e-6, bandwidth=10**10)  # 1 µs from host to host
LIBRARIES = [
    "engine",
    "clocks",
    "mpi",
    "session",
    "report",
    "result",
    "system",
    "memory",
    "device",
    "plan",
    "model",
]
FAKE = {"FAKE_CLOCK": "1,50e-6"}


@cache
def clock_error(mpi: lab.Mpi) -> Path:
    """tests/clock_error.cpp, linked with the libraries of the suite."""

    def build(target: Path) -> None:
        entries = json.loads((mpi.build / "compile_commands.json").read_text())
        entry = next(each for each in entries if each["file"].endswith("src/benchmarks/mpi1.cpp"))
        words = shlex.split(entry["command"])
        object_file = target.with_suffix(".o").absolute()
        words[words.index("-o") + 1] = str(object_file)
        words[words.index("-c") + 1] = str(lab.TOP / "tests/clock_error.cpp")
        words += ["-DSMPI_CLOCK"] if mpi.flavor == "smpi" else []
        built = [mpi.build / f"lib{name}.a" for name in LIBRARIES]
        pure = lab.TOP / "build" / "mpich"  # in CI the modules without an MPI are built once
        libraries = [str(path if path.exists() else pure / path.name) for path in built]
        link = [mpi.wrapper, str(object_file), *libraries, "-ldl", "-lpthread", "-lrt", "-o", str(target)]
        for command in (words, link):
            done = subprocess.run(
                command, cwd=entry["directory"], env=lab.environment(mpi), capture_output=True, text=True
            )
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr[-3000:]}"

    return lab.built_once(f"clock_error-{mpi.key}", build)


@dataclass(frozen=True)
class Seen:
    """A line of clock_error: microseconds."""

    at: str
    error: float  # the largest
    excess: float  # the largest error of a rank beyond its bound
    bound: float  # the largest
    disagreement: float
    same: bool
    truth: float


def lines_of(text: str) -> tuple[list[Seen], int]:
    lines = [line.split() for line in text.splitlines()]
    seen = [
        Seen(at, float(error), float(excess), float(bound), float(off), same == "1", float(truth))
        for at, error, excess, bound, off, same, truth in (line for line in lines if len(line) == 7)
    ]
    (messages,) = (int(words[1]) for words in lines if words[0] == "messages")
    return seen, messages


class OneWay(Switch):
    """Each way from a host to one of a higher number is `factor` times as long as the way back."""

    factor = 5

    def write(self, folder: Path, hosts: int) -> list[str]:
        lines = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">']
        lines += ['<platform version="4.1">', '<zone id="all" routing="Full">']
        lines += [f'<host id="n{host}" speed="1Gf"/>' for host in range(hosts)]
        latency = 2 * self.latency
        for way, times in (("up", self.factor), ("down", 1)):
            lines.append(
                f'<link id="{way}" latency="{latency * times!r}s" bandwidth="{self.bandwidth}Bps" sharing_policy="FATPIPE"/>'
            )
        for a in range(hosts):
            for b in range(hosts):
                if a != b:
                    lines.append(
                        f'<route src="n{a}" dst="n{b}" symmetrical="NO"><link_ctn id="{"up" if a < b else "down"}"/></route>'
                    )
        lines += ["</zone>", "</platform>"]
        (folder / "platform.xml").write_text("\n".join(lines) + "\n")
        (folder / "hosts.txt").write_text("".join(f"n{host}\n" for host in range(hosts)))
        return ["-platform", "platform.xml", "-hostfile", "hosts.txt"]


def simulated_error(
    folder: Path, ranks: int, *times: str, switch: Switch = SWITCH, **fake: str
) -> tuple[list[Seen], int]:
    mpi = lab.smpi()
    settings = [f"--cfg={each}" for each in (*PURE, "smpi/send-is-detached-thresh:65536")]
    words = [*mpi.launcher, "-np", str(ranks), *switch.write(folder, ranks), "-no-privatize"]
    words += ["--log=root.thresh:error", *settings, str(clock_error(mpi)), "messages", *times]
    env = {**lab.environment(mpi), **FAKE, **fake}
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return lines_of(done.stdout)


@pytest.mark.parametrize("ranks", [2, 3, 7, 64, 256])
def test_errors_of_simulated_clocks_are_within_their_bounds(ranks, tmp_path):
    """Of every rank, after the synchronization, a second and ten later, and again after another one."""
    seen, _ = simulated_error(tmp_path, ranks, "0", "1", "10", "+10", "20")
    assert [one.at for one in seen] == ["0", "1", "10", "+10", "20"]
    assert all(one.excess <= 0 for one in seen), seen
    depth = (ranks - 1).bit_length()
    assert seen[0].bound < 1.5 * depth
    assert all(one.same for one in seen)


@pytest.mark.parametrize(
    ("ranks", "tick"),
    [*((ranks, tick) for ranks in (2, 3, 7, 64) for tick in ("1e-6", "10e-6")), (256, "10e-6")],
)
def test_ticks_widen_the_bounds(ranks, tick, tmp_path):
    seen, _ = simulated_error(tmp_path, ranks, "0", "1", "10", "+10", FAKE_TICK=tick)
    assert all(one.excess <= 0 for one in seen), seen


@pytest.mark.parametrize("ranks", [2, 3, 7, 64, 256])
def test_links_that_are_slower_one_way_bias_within_the_bound_and_show(ranks, tmp_path):
    """The error is half of the difference of the ways on each level, which nobody can see on it; those that are no neighbors
    in the tree do, where there are such."""
    seen, _ = simulated_error(
        tmp_path, ranks, "0", "1", "10", switch=OneWay(latency=0.5e-6, bandwidth=10**10)
    )
    assert all(one.excess <= 0 for one in seen), seen
    first = seen[0]
    assert first.error == pytest.approx(2 * max(rank.bit_count() for rank in range(ranks)), rel=0.05)
    if ranks >= 7:
        assert first.disagreement > first.error / 2


def test_the_first_synchronization_is_short(tmp_path):
    """0.2 s of it are the span. Afterwards, before and after a row of 0.1 s, less than 5 % of it."""
    seen, messages = simulated_error(tmp_path, 1024, "0", "+0")
    assert seen[0].truth < 0.5
    assert 2 * (seen[1].truth - seen[0].truth) < 0.05 * 0.1
    pairs = 1023
    assert messages / pairs <= 2000 / 5


def test_the_first_synchronization_extends_few_exchanges(tmp_path):
    """Where later exchanges are slower than the first ones, as on busy CPUs: a fifth of HCA3's messages at most, and the error
    stays within its bound."""
    seen, messages = simulated_error(tmp_path, 2, "0", "1", FAKE_SLOW="20e-6")
    assert 2 * 9 * 8 < messages <= 2000 / 5
    assert all(one.excess <= 0 for one in seen), seen


def test_a_clock_that_is_set_is_found_at_the_next_synchronization(tmp_path):
    seen, _ = simulated_error(tmp_path, 3, "0", "+1", "+2", "+3", FAKE_STEP="2,1.5,50e-6")
    assert [one.same for one in seen] == [True, True, False, True]
    assert all(one.excess <= 0 for one in seen)


# --- Real ranks: the system's clock is the truth ---------------------------------------------------------------------


def real_error(mpi: lab.Mpi, how: str, *times: str, wrap: Sequence[str] = ()) -> str:
    words = lab.command(mpi, 2, [])
    words[-1:] = [*wrap, str(clock_error(mpi))]
    env = {**lab.environment(mpi), **FAKE}
    done = subprocess.run([*words, how, *times], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["messages", "system"])
def test_errors_of_real_ranks_are_within_their_bounds(mpi, how):
    """By exchanges alone, with fewer messages than a fifth of those of HCA3; and by the system's clock, without any."""
    if mpi not in lab.MAIN:
        pytest.skip("two MPIs")
    seen, messages = lines_of(real_error(mpi, how, "0", "1", "10", "+10"))
    print(mpi.key, how, messages, *seen, sep="\n")
    print("HCA3:", real_error(mpi, "hca3", "0", "1"))
    assert all(one.excess <= 0 for one in seen), seen
    assert messages <= 2000 / 5
    if how == "system":
        assert messages == 0
        assert seen[0].bound < 0.2


@pytest.mark.parametrize("other", ["none", "boot", "time namespace"])
def test_ranks_share_the_clock_of_one_boot_and_one_time_namespace(mpi, other, tmp_path):
    """Otherwise they exchange messages, although their host is the same: the clocks of two time namespaces differ."""
    if mpi not in lab.MAIN:
        pytest.skip("two MPIs")
    if not Path("/proc/self/ns/time").exists():
        pytest.skip("a system without time namespaces")
    boot, log = tmp_path / "boot", tmp_path / "log"
    boot.write_text("01234567-89ab-cdef-0123-456789abcdef\n")
    told = {"boot": f"OTHER_BOOT={boot}", "time namespace": "OTHER_TIME_SPACE=time:[1]"}.get(other, "NONE=1")
    preload = f"LD_PRELOAD={library(mpi, 'other_clock.cpp')}"
    wrap = ["env", preload, "FAIL_RANK=1", f"FAIL_LOG={log}", told]
    seen, messages = lines_of(real_error(mpi, "system", "0", wrap=wrap))
    assert (messages > 0) == (other != "none")
    assert seen[0].excess <= 0
    assert log.exists() == (other != "none")


# --- Rows: exact times of known algorithms ---------------------------------------------------------------------------


def rows_of(folder: Path, ranks: int, words: str, **more: Any) -> list[dict[str, Any]]:
    done = simulate(
        folder, ranks, f"-npmin {ranks} -iter_policy off {words}", switch=SWITCH, eager=True, **more
    )
    return done.rows


def us(seconds: float) -> float:
    return seconds * 1e6


ALGORITHMS = {"bcast": "binomial_tree", "allreduce": "rdb"}


@cache
def library(mpi: lab.Mpi, source: str) -> Path:
    """tests/SOURCE for interposing."""
    flags = ["-shared", "-fPIC", "-O1", "-std=c++20", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
    flags += ["-DSMPI_DELAY"] if mpi.flavor == "smpi" else []

    def build(target: Path) -> None:
        words = [mpi.wrapper, *flags, str(lab.TOP / "tests" / source), "-o", str(target)]
        subprocess.run(words, env=lab.environment(mpi), check=True, capture_output=True)

    return lab.built_once(f"{Path(source).stem}-{mpi.key}-clocks.so", build)


@pytest.fixture
def interposed(monkeypatch):
    """Interposes a library, told by variables, in simulations."""

    def interpose(source: str, **variables: str) -> None:
        monkeypatch.setenv("LD_PRELOAD", str(library(lab.smpi(), source)))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return interpose


def from_last(row: dict[str, Any]) -> float:
    return us(row["time_from_last_arrival_seconds"])


def test_three_rules_of_starting_show_three_times(tmp_path):
    """docs/methodology.md has this table."""
    shown = {}
    for name, rule in {"classic": "", "sync": "-sync on", "clock": "-sync_start clock"}.items():
        words = f"Bcast Allreduce -msgsize 8 -iter 64 -root_shift off {rule}"
        for row in rows_of(tmp_path / name, 8, words, algorithms=ALGORITHMS):
            time = from_last(row) if name == "clock" else us(row["time_max_seconds"])
            shown[name, row["benchmark"]] = f"{time:.2f}"
    assert shown == {
        ("classic", "Bcast"): "1.04",
        ("sync", "Bcast"): "3.02",
        ("clock", "Bcast"): "3.01",
        ("classic", "Allreduce"): "3.02",
        ("sync", "Allreduce"): "4.02",
        ("clock", "Allreduce"): "3.01",
    }


@pytest.mark.parametrize("ranks", [4, 8, 64])
def test_exits_are_those_of_the_algorithm(ranks, tmp_path):
    """Eager, and the length takes no time: the root of a Bcast exits at once, the last rank as many messages later as the tree
    is deep; all ranks of an Allreduce by recursive doubling exit at the same time."""
    switch = Switch(latency=0.5e-6, bandwidth=2**44)
    depth = ranks.bit_length() - 1
    words = f"-npmin {ranks} -iter_policy off -iter 8 -msgsize 8 -root_shift off -sync_start clock"
    for algorithm, levels in {"binomial_tree": depth, "flattree": 1}.items():
        chosen = {"bcast": algorithm, "allreduce": "rdb"}
        done = simulate(
            tmp_path / algorithm,
            ranks,
            f"{words} Bcast Allreduce",
            switch=switch,
            eager=True,
            algorithms=chosen,
        )
        bcast, allreduce = done.rows
        assert from_last(bcast) == pytest.approx(levels, abs=2e-3)
        assert us(bcast["exit_skew_seconds"]) == pytest.approx(levels, abs=2e-3)
        assert us(bcast["start_skew_seconds"]) == pytest.approx(0, abs=2e-3)
        assert from_last(allreduce) == pytest.approx(depth, abs=2e-3)
        assert us(allreduce["exit_skew_seconds"]) == pytest.approx(0, abs=2e-3)
        assert bcast["valid_percent"] == allreduce["valid_percent"] == 100


def test_a_late_rank_changes_which_algorithm_is_better(tmp_path):
    """Of a reduction and a broadcast, most is over when the last rank arrives; recursive doubling waits for it."""
    shown = {}
    for algorithm in ("redbcast", "rdb"):
        for arrival in ("even", "last:2000"):
            words = f"-msgsize 1048576 -iter 8 -arrival {arrival} Allreduce"
            (row,) = rows_of(
                tmp_path / f"{algorithm}-{arrival[:4]}", 8, words, algorithms={"allreduce": algorithm}
            )
            shown[algorithm, arrival] = round(from_last(row))
            assert us(row["arrival_width_seconds"]) == pytest.approx(2000 if arrival != "even" else 0)
            assert us(row["start_skew_seconds"]) == pytest.approx(2000 if arrival != "even" else 0, abs=0.01)
    assert shown == {
        ("redbcast", "even"): 1053,
        ("redbcast", "last:2000"): 423,
        ("rdb", "even"): 318,
        ("rdb", "last:2000"): 318,
    }


def test_widths_follow_the_time_with_even_arrival(tmp_path):
    words = "-msgsize 8 -iter 16 -sync_start clock Allreduce"
    (even,) = rows_of(tmp_path / "even", 8, words, algorithms=ALGORITHMS)
    for pattern in ("first", "last", "ascending"):
        words = f"-msgsize 8 -iter 16 -arrival {pattern}:x3 Allreduce"
        (row,) = rows_of(tmp_path / pattern, 8, words, algorithms=ALGORITHMS)
        width = us(row["arrival_width_seconds"])
        assert width == pytest.approx(3 * from_last(even), rel=0.01)
        assert us(row["start_skew_seconds"]) == pytest.approx(width, rel=0.01)


def test_a_delay_beyond_the_slack_makes_exactly_these_repetitions_invalid(tmp_path, interposed):
    """Behind four agreements that show how long one takes."""
    delayed = (10, 20, 33)
    gates = ",".join(str(4 + i) for i in delayed)
    interposed("delayed_rank.cpp", DELAYED_RANK="2", DELAY_GATES=f"20e-3:{gates}")
    words = "-msgsize 8 -iter 64 -warm_up off -sync_start clock -show_tail on Allreduce"
    (row,) = rows_of(tmp_path, 4, words, algorithms=ALGORITHMS)
    assert row["valid_percent"] == 100 * (64 - len(delayed)) / 64
    assert row["late_rank"] == 2
    assert row["quantiles"]["min"] == pytest.approx(row["quantiles"]["max"], rel=0.01)
    assert row["time_max_seconds"] > 2 * row["time_from_last_arrival_seconds"]  # the mean of all of them


MEDIANS = ("time_from_last_arrival", "time_from_first_arrival", "start_skew", "exit_skew")


def always_late(interposed: Any, rank: int) -> None:
    gates = ",".join(map(str, range(4, 5000)))
    interposed("delayed_rank.cpp", DELAYED_RANK=str(rank), DELAY_GATES=f"20e-3:{gates}")


def shown_by_imb(path: Path) -> list[str]:
    """The cells of the first row in `imb show`."""
    words = [sys.executable, "-m", "imb", "show", str(path)]
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    env["PYTHONPATH"] = str(lab.TOP / "python")
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["bytes"])
    return lines[at + 1].split()


@pytest.mark.parametrize("more", ["-iter 500 -iter_policy off", "-iter 500 -passes 3"])
def test_without_a_valid_repetition_there_is_no_figure(more, tmp_path, interposed):
    """Neither in the text nor in the record, nor where `imb` has read one of them."""
    always_late(interposed, 1)
    words = f"-msgsize 8 {more} -warm_up off -sync_start clock -show_tail on Bcast"
    words = words if "-passes" not in more else words.replace("-show_tail on ", "")
    done = simulate(tmp_path, 2, words, switch=SWITCH, eager=True)
    (row,) = done.rows
    assert row["valid_percent"] == 0 and row["late_rank"] == 1
    assert not {f"{name}_seconds" for name in MEDIANS} & row.keys()
    assert "quantiles" not in row and "last_out_rank" not in row
    for sample in (record for record in done.records if record["record"] == "sample"):
        assert not {f"{name}_seconds" for name in MEDIANS} & sample.keys()
    if "-passes" in more:
        assert row["passes"]["interval_seconds"] is None and row["passes"]["half_width"] is None
    else:
        assert row["given_up"] and row["repetitions"] == 100
    assert "# note: 8 B: 0 % of the repetitions valid; rank 1 was late most often" in done.text
    assert ("given up" in done.text) == bool(row.get("given_up"))
    cells = next(line for line in done.text.splitlines() if line.split()[:1] == ["8"]).split()
    assert cells[5:9] == ["n/a"] * 4 and cells[9] == "0.00"
    for path in (tmp_path / "records.jsonl", tmp_path / "out.txt"):
        cells = shown_by_imb(path)
        assert cells[5:9] == ["n/a"] * 4 and cells[9:11] == ["0.00", "(few)"], cells


@pytest.mark.parametrize("time", ["", "-time 0"])
def test_a_width_is_measured_until_a_repetition_is_valid(time, tmp_path, interposed):
    """Its first 40 repetitions begin late, as on a machine that is busy for a while."""
    words = f"{time} -msgsize 8 -iter 16 -warm_up off -sync_start clock Allreduce"
    (even,) = rows_of(tmp_path / "even", 4, words, algorithms=ALGORITHMS)
    interposed("delayed_rank.cpp", DELAYED_RANK="1", DELAY_GATES=f"20e-3:{','.join(map(str, range(4, 50)))}")
    words = words.replace("-sync_start clock", "-arrival last:x3")
    (row,) = rows_of(tmp_path / "late", 4, words, algorithms=ALGORITHMS)
    assert us(row["arrival_width_seconds"]) == pytest.approx(3 * from_last(even), rel=0.01)


@pytest.mark.parametrize("more", ["", "-passes 3"])
def test_without_a_valid_repetition_there_is_no_width(more, tmp_path, interposed):
    always_late(interposed, 1)
    words = f"-npmin 2 -msgsize 8 {more} -arrival last:x3 Allreduce"
    done = simulate(tmp_path, 2, words, switch=SWITCH, eager=True, status=3)
    (failure,) = (record for record in done.records if record["record"] == "failure")
    assert failure["cause"] == "unavailable"
    assert "no repetition with even arrival was valid" in failure["detail"]
    assert not done.rows


def test_a_group_without_a_valid_repetition_leaves_none_to_all_groups(tmp_path, interposed):
    """A row over all groups has the worst group's figures, and of this one there are none."""
    always_late(interposed, 1)
    words = "-npmin 2 -multi 0 -msgsize 8 -iter 500 -iter_policy off -warm_up off -sync_start clock -show_tail on Bcast"
    done = simulate(tmp_path, 6, words, switch=SWITCH, eager=True)
    (row,) = (row for row in done.rows if row["processes"] == 2)
    assert row["group_count"] == 3 and row["valid_percent"] == 0 and row["given_up"]
    assert not {f"{name}_seconds" for name in MEDIANS} & row.keys()
    assert "quantiles" not in row


def test_a_clock_that_is_set_fails_its_row_and_no_other(tmp_path, interposed):
    """Rows of a tenth of a second: 100 repetitions of 1 ms."""
    interposed("fake_wtime.cpp", FAKE_STEP="1,0.38,50e-6", **FAKE)
    words = "-npmin 3 -iter_policy off -msgsize 8,16,32,64 -iter 100 -arrival last:1000 Bcast"
    done = simulate(tmp_path, 3, words, switch=SWITCH, eager=True, status=3)
    (failure,) = (record for record in done.records if record["record"] == "failure")
    assert (failure["bytes"], failure["cause"]) == (16, "clock_set")
    assert "16 clock-set.; the clock of a rank was set" in done.text
    assert [row["bytes"] for row in done.rows] == [8, 32, 64]
    for row in done.rows:
        assert row["valid_percent"] == 100
        assert us(row["start_skew_seconds"]) == pytest.approx(1000, abs=0.01)


def test_a_clock_that_is_set_in_passes_fails_the_rows_since_the_last_synchronization(tmp_path, interposed):
    """Repetitions of 1 ms: clocks are synchronized every 0.1 s, and the one of a rank is set a second after its launch."""
    interposed("fake_wtime.cpp", FAKE_STEP="1,1,50e-6", **FAKE)
    words = "-npmin 3 -msgsize 8,16,32 -passes 60 -iter 20 -arrival last:1000 Bcast"
    done = simulate(tmp_path, 3, words, switch=SWITCH, eager=True, status=3)
    failures = [record for record in done.records if record["record"] == "failure"]
    assert {failure["cause"] for failure in failures} == {"clock_set"}
    assert len(failures) + len(done.rows) == 3
    for row in done.rows:
        assert us(row["start_skew_seconds"]) == pytest.approx(1000, abs=0.01)


def test_the_rank_last_out_is_named_where_its_lead_exceeds_the_bound(tmp_path, interposed):
    """And where the root stays. By 20 µs here; the bound is 2 µs."""
    interposed("delayed_rank.cpp", DELAYED_RANK="2", DELAY_BCAST="20e-6")
    words = "-msgsize 8 -iter 20 -sync_start clock Bcast"
    for shift, last_out in (("off", 2), ("on", None)):
        (row,) = rows_of(tmp_path / shift, 4, f"{words} -root_shift {shift}")
        assert row.get("last_out_rank") == last_out
        assert us(row["exit_skew_seconds"]) == pytest.approx(21, abs=1.1)
    interposed("delayed_rank.cpp", DELAYED_RANK="2", DELAY_BCAST="1e-6")
    (row,) = rows_of(tmp_path / "within", 4, f"{words} -root_shift off")
    assert "last_out_rank" not in row and us(row["clock_bound_seconds"]) > 1


@pytest.mark.parametrize("more", ["-passes 12", "-precision 5 -budget 3"])
def test_passes_judge_the_time_from_the_last_arrival(more, tmp_path, interposed):
    interposed("fake_wtime.cpp", **FAKE)
    words = f"-npmin 4 -msgsize 8,1024 -check {more} -sync_start clock Allreduce Barrier"
    done = simulate(tmp_path, 4, words, switch=SWITCH, eager=True, algorithms=ALGORITHMS)
    assert len(done.rows) == 3
    for row in done.rows:
        assert from_last(row) == pytest.approx(2, rel=0.2)
        low, high = row["passes"]["interval_seconds"]
        assert low <= row["time_from_last_arrival_seconds"] <= high
        assert row.get("defects", 0) == 0


def test_groups_have_figures_of_their_own(tmp_path, interposed):
    interposed("fake_wtime.cpp", **FAKE)
    words = "-npmin 4 -multi 1 -msgsize 8 -iter 20 -iter_policy off -arrival ascending:30 Allreduce"
    done = simulate(tmp_path, 8, words, switch=SWITCH, eager=True, algorithms=ALGORITHMS)
    groups = [row["group"] for row in done.rows if row["processes"] == 4]
    assert groups == [0, 1]
    for row in done.rows:
        assert us(row["start_skew_seconds"]) == pytest.approx(30, abs=0.05)


def test_time_counts_the_gate_and_the_width(tmp_path):
    words = "-npmin 2 -msgsize 8 -iter 1000 -time 0.1 -arrival last:1000 Allreduce"
    (row,) = simulate(tmp_path, 2, words, switch=SWITCH, eager=True).rows
    assert 50 <= row["repetitions"] <= 100


def test_the_budget_counts_the_gate_the_width_and_synchronizations(tmp_path):
    """A repetition takes 2 µs, and its rank arrives 1 ms late: what a second has room for is some hundred of them, beside the
    first synchronization of 0.2 s."""
    words = "-npmin 2 -msgsize 8,64 -budget 1 -arrival last:1000 Allreduce"
    done = simulate(tmp_path, 2, words, switch=SWITCH, eager=True)
    samples = [record for record in done.records if record["record"] == "sample"]
    late = sum(1e-3 * sample["repetitions"] for sample in samples)
    (end,) = (record for record in done.records if record["record"] == "end")
    assert 0.4 < late < end["seconds"] - 0.2
    assert 0.9 < end["seconds"] < 1.0


@pytest.mark.parametrize(
    ("component", "words", "message"),
    [
        ("MPI1", "-sync_start clock PingPong", "-sync_start"),
        ("MPI1", "-arrival even:3 Bcast", "there is no width"),
        ("MPI1", "-arrival late Bcast", "is not one of even, first, last, ascending, random"),
        ("MPI1", "-sync_start clock -sync off Bcast", "-sync off"),
        ("MPI1", "-arrival last -sync_start barrier Bcast", "-arrival"),
        ("MPI1", "-arrival last -root_shift on Bcast", "-root_shift"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(component, words, message, tmp_path):
    done = simulate(tmp_path, 2, words, component=component, status=2)
    assert message in done.errors


@pytest.mark.parametrize("words", ["-sync_start clock", "-sync on"])
def test_more_ranks_than_cpus_are_noted_before_the_first_row(mpi, words):
    cpu = min(os.sched_getaffinity(0))
    done = lab.run(mpi, 2, f"{words} -msgsize 8 -iter 1 Bcast", wrap=["taskset", "-c", str(cpu)])
    assert done.code == 0, done.errors
    before, _, after = done.text.partition("#bytes")
    assert ("2 ranks on 1 CPU of" in before) == (words == "-sync_start clock")
    assert "2 ranks on" not in after


def test_an_injected_delay_is_the_skew_of_exits(mpi):
    """20 µs on rank 1, within its Bcast. Asserted where the ranks had their CPUs."""
    if mpi not in lab.MAIN:
        pytest.skip("two MPIs")
    preload = f"LD_PRELOAD={library(mpi, 'delayed_rank.cpp')}"
    wrap = ["env", preload, "DELAYED_RANK=1", "DELAY_BCAST=20e-6"]
    words = [
        "-sync_start",
        "clock",
        "-root_shift",
        "off",
        "-msgsize",
        "8",
        "-iter",
        "1000",
        "Bcast",
        "-json",
        "/dev/stdout",
    ]
    done = subprocess.run(
        lab.command(mpi, 2, words, wrap),
        env=lab.environment(mpi),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"record":"result"')]
    (row,) = records
    print(row)
    if row["valid_percent"] > 50:
        assert us(row["exit_skew_seconds"]) == pytest.approx(20, abs=2)
        assert row["last_out_rank"] == 1


def test_a_clock_that_is_set_on_one_of_real_ranks_fails_its_row_and_no_other(mpi, tmp_path):
    """By a millisecond in the third of four rows of 90 repetitions, too few to give a row up: its bounds contradict each other."""
    if mpi not in lab.MAIN:
        pytest.skip("two MPIs")
    preload = f"LD_PRELOAD={library(mpi, 'fake_wtime.cpp')}"
    wrap = ["env", preload, "FAKE_SET=1,260,1e-3"]
    words = [
        "-msgsize",
        "8,64,512,4096",
        "-iter",
        "90",
        "-iter_policy",
        "off",
        "-sync_start",
        "clock",
        "Bcast",
    ]
    records = tmp_path / "records.jsonl"
    done = subprocess.run(
        lab.command(mpi, 2, [*words, "-json", str(records)], wrap),
        env=lab.environment(mpi),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    written = [json.loads(line) for line in records.read_text().splitlines()]
    assert [(one["bytes"], one.get("cause")) for one in written if "bytes" in one] == [
        (8, None),
        (64, None),
        (512, "clock_set"),
        (4096, None),
    ]
    assert written[-1]["record"] == "end" and written[-1]["state"] == "complete"
    assert "512 clock-set.; the clock of a rank was set" in done.stdout
    assert "1 row failed: Bcast, 2 processes, 512 B: clock set: " in done.stderr
