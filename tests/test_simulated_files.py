"""IMB-IO on the simulated machine of test_simulated.py, each host of which has a disk of known bandwidths W and R.

SMPI (3.32) makes of a file a name and a size, on the disk of the host that opens it: no data is stored, so nothing is
checked here, and what two hosts write to one file goes to two disks. Its calls cost:

 - Writing n bytes takes n / W, reading them n / R, whatever the offset. The page cache does not exist.
 - MPI_File_sync is a barrier.
 - A collective call with an offset tells all ranks where everybody begins, and where everybody ends: two Allgathers of
   8 bytes; then each transfers its part, as these do not overlap.
 - A call through the shared pointer bars all others until it is complete: one rank transfers at a time, in turns. Its
   collective form has an MPI_Scan of 8 bytes before, that finds each one's place, is the call with an offset, and ends
   with a Bcast of 1 byte.
 - To open a file takes an Allgather and two Bcasts of 8 bytes, to close it three barriers.
 - What lies behind the last byte that the same host wrote is read in no time.

Views do nothing. So individual pointers of all ranks begin at the same byte, and their collective calls, of which the
parts would overlap, exchange data to avoid that: C_Write_Indv and C_Read_Indv are tried with one process alone.
Nonblocking and split collective calls are not implemented. Calls that move nothing end SMPI if their status is
MPI_STATUS_IGNORE: no process may be without a share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import lab
import pytest
from collectives import flood, stages, tree
from test_simulated import Simulation, Switch, about, simulate, times, without_date

pytestmark = pytest.mark.needs_mpi  # a simulated one


@dataclass(frozen=True)
class Storage(Switch):
    """Hosts with a disk each, on a perfect switch."""

    read_bandwidth: int = 2**27  # bytes per second
    write_bandwidth: int = 2**26

    def inside(self, host: int) -> str:
        properties = {"mount": "/", "content": "nothing.txt", "size": "1TiB"}
        words = "".join(f'<prop id="{name}" value="{value}"/>' for name, value in properties.items())
        bandwidths = f'read_bw="{self.read_bandwidth}Bps" write_bw="{self.write_bandwidth}Bps"'
        return f'<disk id="d{host}" {bandwidths}>{words}</disk>'

    def write(self, folder: Path, hosts: int) -> list[str]:
        (folder / "nothing.txt").touch()  # what lies on a disk at the beginning
        return super().write(folder, hosts)


STORAGE = Storage()


def files(
    folder: Path,
    ranks: int,
    arguments: str,
    storage: Storage = STORAGE,
    privatised: bool = False,
    status: int = 0,
) -> Simulation:
    return simulate(
        folder, ranks, arguments, component="IO", switch=storage, privatised=privatised, status=status
    )


def measured(folder: Path, ranks: int, arguments: str, storage: Storage = STORAGE) -> list[dict]:
    return files(folder, ranks, arguments, storage).rows


@dataclass(frozen=True)
class Point:
    """What a row is about: its length is divided over so many processes."""

    net: Storage
    ranks: int
    disk: float  # seconds that a process's share needs

    @property
    def barrier(self) -> float:
        return 2 * flood(self.net, self.ranks, 0) if self.ranks > 1 else 0.0

    @property
    def told(self) -> float:
        """An Allgather, or a Scan, of 8 bytes."""
        return flood(self.net, self.ranks, 8) if self.ranks > 1 else 0.0


# --- Times from first principles: seconds until all ranks have had one repetition ------------------------------------


def at_once(here: Point) -> float:
    return here.disk


def in_turns(here: Point) -> float:
    return here.ranks * here.disk


def after_exchange(here: Point) -> float:
    return 2 * here.told + here.disk


def in_order(here: Point) -> float:
    return here.told + after_exchange(here) + tree(here.net, here.ranks, 1)


def open_and_close(here: Point) -> float:
    told = here.told + 2 * tree(here.net, here.ranks, 8)
    return told + 1 / here.net.write_bandwidth + 3 * here.barrier


WRITES: dict[str, Callable[[Point], float]] = {
    "S_Write_Indv": at_once,
    "S_Write_Expl": at_once,
    "P_Write_Indv": at_once,
    "P_Write_Shared": in_turns,
    "P_Write_Priv": at_once,
    "P_Write_Expl": at_once,
    "C_Write_Shared": in_order,
    "C_Write_Expl": after_exchange,
}
READS: dict[str, Callable[[Point], float]] = {
    "S_Read_Indv": at_once,
    "S_Read_Expl": at_once,
    "P_Read_Indv": at_once,
    "P_Read_Shared": in_turns,
    "P_Read_Priv": at_once,
    "P_Read_Expl": at_once,
    "C_Read_Shared": in_order,
    "C_Read_Expl": after_exchange,
}
NOT_DIVIDED = {"C_Write_Indv": at_once, "C_Read_Indv": at_once}
ALL = WRITES | READS | NOT_DIVIDED | {"Open_Close": open_and_close}
BARRIERS = {"standard": 3, "never": 1}  # of what completes writing; MPI_File_sync is one
LENGTHS = (2**16, 2**20)
REPETITIONS = {1: 8, 2: 8, 16: 4}


def words(names: Iterable[str], repetitions: int) -> str:
    lengths = ",".join(map(str, LENGTHS))
    return f"{' '.join(names)} -msgsize {lengths} -iter {repetitions},9999,{repetitions} -iter_policy off"


def point(row: dict, net: Storage = STORAGE) -> Point:
    bandwidth = net.write_bandwidth if "_Write_" in row["benchmark"] else net.read_bandwidth
    return Point(net, row["processes"], row["bytes"] / row["processes"] / bandwidth)


def completion(row: dict, fsync: str = "standard", net: Storage = STORAGE) -> float:
    """Of what was written. A file of one's own was opened by one process, and there is nobody to wait for."""
    alone = row["benchmark"] not in WRITES or row["benchmark"].endswith("_Priv")
    return 0.0 if alone else BARRIERS[fsync] * point(row, net).barrier


def seconds(row: dict, fsync: str = "standard", net: Storage = STORAGE) -> float:
    """Per repetition. Completed is each of them, or, aggregate, all of them together."""
    together = row["repetitions"] if row.get("mode") == "aggregate" else 1
    return ALL[row["benchmark"]](point(row, net)) + completion(row, fsync, net) / together


def expected(row: dict, fsync: str = "standard", net: Storage = STORAGE) -> tuple[float, float, float]:
    """Least, mean and largest time."""
    wanted = seconds(row, fsync, net)
    if row["benchmark"] != "P_Read_Shared" or row["processes"] == 1:
        return wanted, wanted, wanted
    # Who had the first turn has ended when the others have one more. Rank 0 is last after a barrier, as it sends the
    # others away and goes on when they have gone; its last turn is at the end of the file, which others wrote.
    ranks, turns, disk = row["processes"], row["repetitions"], point(row, net).disk
    before = (turns - 1) * ranks
    ends = [before + turn for turn in (*range(1, ranks), ranks - 1)]
    return ends[0] * disk / turns, sum(ends) * disk / turns / ranks, ends[-1] * disk / turns


def assert_as_expected(rows: list[dict], fsync: str = "standard", net: Storage = STORAGE) -> None:
    for row in rows:
        wanted = expected(row, fsync, net)
        assert times(row) == tuple(about(each) for each in wanted), (row, wanted)


# --- All benchmarks --------------------------------------------------------------------------------------------------


def test_every_blocking_benchmark_has_its_time() -> None:
    nonblocking = {name for name in lab.names("IO") if "_IWrite_" in name or "_IRead_" in name}
    assert set(ALL) == set(lab.names("IO")) - nonblocking


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_every_benchmark_takes_what_the_disks_imply(ranks, tmp_path):
    """Blocking ones, on 1, 2, 4, ... processes, while the others wait."""
    names = WRITES | READS | {"Open_Close": open_and_close} | (NOT_DIVIDED if ranks == 1 else {})
    rows = measured(tmp_path, ranks, words(names, REPETITIONS[ranks]))
    counts = [2**power for power in range(stages(ranks) + 1)]
    points = [(row["benchmark"], row.get("mode"), row["processes"], row["bytes"]) for row in rows]
    assert sorted(points, key=str) == sorted(
        (
            (name, mode, count, length)
            for name in names
            for count in (counts if name[:2] != "S_" else counts[:1])
            for mode in modes(name)
            for length in (LENGTHS if name != "Open_Close" else (0,))
        ),
        key=str,
    )
    assert {row["repetitions"] for row in rows} == {REPETITIONS[ranks]}
    assert_as_expected(rows)
    if ranks <= 2:
        assert all(times(row) == expected(row) for row in rows), "not to the last bit"
    for row in rows:
        if row["benchmark"] != "Open_Close":
            rate = row["bytes"] / row["time_max_seconds"]
            assert row["bytes_per_second"] == pytest.approx(rate, rel=1e-9)


def modes(name: str) -> list[str | None]:
    if "_Write_" in name:
        return ["aggregate", "non_aggregate"]
    return ["aggregate"] if "_Read_" in name else [None]


def test_without_sync_writes_are_completed_by_one_barrier(tmp_path):
    rows = measured(tmp_path, 16, words(WRITES, 4) + " -fsync never")
    assert len(rows) == (5 * len(WRITES) - 4 * 2) * 2 * len(LENGTHS)  # two of them with one process only
    assert_as_expected(rows, "never")


def test_what_one_process_has_more_of_takes_longer(tmp_path):
    """A portion that cannot be divided evenly: the first ranks have one byte more."""
    rows = measured(tmp_path, 2, "P_Read_Expl P_Read_Priv -npmin 2 -msgsize 3,1048577 -iter 8")
    assert len(rows) == 4
    for row in rows:
        less = row["bytes"] // 2
        wanted = [share / STORAGE.read_bandwidth for share in (less, less + 1)]
        assert (row["time_min_seconds"], row["time_max_seconds"]) == tuple(wanted)
        assert row["slowest_rank"] == 0


# --- A known change is seen, and nothing else ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [Storage(read_bandwidth=2**26), Storage(write_bandwidth=2**25)], ids=["read", "write"]
)
def test_a_slower_disk_shows_as_just_that(other, tmp_path):
    rows = measured(tmp_path, 2, words(WRITES | READS, 8), other)
    assert_as_expected(rows, net=other)


def test_a_slower_network_shows_in_what_needs_one(tmp_path):
    """Completion, and collective calls."""
    other = Storage(latency=2 * STORAGE.latency)
    arguments = words(WRITES | READS, 8) + " -npmin 2"
    before = measured(tmp_path / "before", 2, arguments)
    after = measured(tmp_path / "after", 2, arguments, other)
    assert_as_expected(after, net=other)
    slower = {
        row["benchmark"]
        for was, row in zip(before, after, strict=True)
        if row["time_max_seconds"] > was["time_max_seconds"]
    }
    assert slower == {
        *("P_Write_Indv", "P_Write_Shared", "P_Write_Expl"),
        *("C_Write_Shared", "C_Write_Expl", "C_Read_Shared", "C_Read_Expl"),
    }


# --- Modes of the loop -----------------------------------------------------------------------------------------------


def test_other_loops_give_the_same_times(tmp_path):
    """Every repetition timed, a barrier before each, another barrier, moving buffers."""
    arguments = words(("S_Write_Expl", "P_Write_Expl", "C_Write_Expl", "P_Read_Priv", "C_Read_Expl"), 8)
    for mode in (
        "-show_tail yes",
        "-sync on -aggregate_mode non_aggregate",
        "-imb_barrier on",
        "-off_cache 1,64",
    ):
        rows = measured(tmp_path / mode, 2, f"{arguments} {mode}")
        assert_as_expected(rows)


def test_last_of_aggregated_repetitions_has_the_completion(tmp_path):
    """-show_tail: all others have the time of their transfer alone."""
    for row in measured(tmp_path, 2, words(("P_Write_Expl", "P_Read_Expl"), 8) + " -show_tail yes"):
        transfer = ALL[row["benchmark"]](point(row))
        end = completion(row)
        least = transfer if row["mode"] == "aggregate" else transfer + end
        quantiles = row["quantiles"]
        assert [quantiles[name] for name in ("min", "p50", "p75")] == [about(least)] * 3
        assert quantiles["max"] == about(transfer + end), row


def test_groups_have_disks_of_their_own(tmp_path):
    """-multi 1: two pairs at once, a row for each, the times of one."""
    rows = measured(
        tmp_path, 4, words(("P_Write_Expl", "P_Write_Priv", "P_Read_Expl"), 8) + " -multi 1 -npmin 2"
    )
    assert {(row["processes"], row["group_count"]) for row in rows} == {(2, 2), (4, 1)}
    assert_as_expected(rows)


# --- Repetitions -----------------------------------------------------------------------------------------------------


def test_time_limit_gives_as_many_repetitions_as_fit(tmp_path):
    """-time: the quotient, rounded down; one repetition too long is a time-out, and the next length is tried."""
    arguments = "S_Write_Expl S_Read_Expl -msgsize 65536,1048576 -iter 64,9999,64 -time "
    for row in measured(tmp_path / "some", 1, f"{arguments} 0.03"):
        assert row["repetitions"] == int(0.03 / seconds(row)), row
    between = 2**19 / STORAGE.write_bandwidth
    done = files(tmp_path / "one", 1, f"{arguments} {between}")
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(failure["benchmark"], failure["bytes"]) for failure in failures] == [
        ("S_Write_Expl", LENGTHS[1])
    ] * 2  # in both modes
    assert [row["bytes"] for row in done.rows] == [LENGTHS[0]] * 2 + list(LENGTHS)


def test_two_runs_leave_the_same_records_and_no_file(tmp_path):
    first, again = (
        files(tmp_path, 2, words(WRITES | READS, 4) + " -show_tail yes", privatised=privatised).records
        for privatised in (False, True)
    )
    assert without_date(again) == without_date(first)
    assert not list(tmp_path.glob("IMB_out*"))
