"""IMB-EXT and IMB-RMA on the simulated machine of test_simulated.py, where the right answer is known.

SMPI (3.32) makes one-sided calls of messages on the same cables:

 - A put is one message to the target, a get one message from it. Nothing asks for it and nothing answers. It is under
   way when the call returns, whichever way other messages are sent, and the target's processor has no part in it.
 - Starting one keeps the caller busy for `call` seconds, which is 0 unless a test says otherwise. So k transfers of n
   bytes through one end of a cable, started one after the other, take train(k, n): the cable or the caller is the
   bottleneck.
 - A flush waits until everything has arrived. A local flush waits for what was got; of a put it has nothing to wait
   for, as the bytes were copied when it started.
 - Accumulate is a put that returns on arrival. Get_accumulate and Fetch_and_op are a get, then an accumulate.
   Compare_and_swap is a get, then a put if the two were equal. In timed runs they always are: all are zero.
 - Lock and unlock take no time beyond that of a flush.
 - A fence is two barriers. Between them each rank waits for what it got and for what was put to it.
 - MPI_Wait of a request waits as a local flush does.
 - Post and start are a message of nothing from the target to the origin; complete and wait are one from the origin to
   the target, which leaves with the transfers. Whoever is to get or to be put something waits for that, too.
 - Attaching and detaching take no time.
 - A window is made with an Allgather of 8 bytes, and freed with two barriers.

Three things that SMPI cannot do decide what is asked of it here:

 - While it waits in a flush, a rank bars all others from starting transfers to its window. Origins that are targets
   too therefore stay out of each other's way only when they are in step to the last bit. With more than two ranks
   that needs the suite's own barrier, after which all go at the same moment, and calls that take time.
 - MPI_Win_post blocks until the origin has started, but for eager sends: ranks that are origin and target at once would
   wait forever.
 - An exclusive lock does not wait for those who hold a shared one.
"""

from __future__ import annotations

from collections.abc import Callable

import lab
import pytest
from collectives import flood, message
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

CALL = 2.0**-22  # seconds: longer than 16 bytes are on a cable, shorter than 1040
LENGTHS = (0, 1024, 65536)
SIZES = f"-msgsize {','.join(map(str, LENGTHS))} -iter_policy off"
REPETITIONS = {2: 64, 4: 16, 16: 8}


def wire(net: Switch, n: int) -> float:
    return (n + ENVELOPE) / net.bandwidth


def train(net: Switch, k: int, n: int, call: float) -> float:
    return 2 * net.latency + max(call + k * wire(net, n), k * call + wire(net, n))


# --- Times from first principles: seconds until `count` repetitions, which are completed together, are complete -------

Passive = Callable[[Switch, int, int, int, float], float]


def pair(net: Switch, ranks: int, n: int, count: int, call: float) -> float:
    return train(net, count, n, call)


def one_by_one(net: Switch, ranks: int, n: int, count: int, call: float) -> float:
    """Whatever the mode: each call waits for its message."""
    return count * train(net, 1, n, call)


def there_and_back(net: Switch, ranks: int, n: int, count: int, call: float) -> float:
    return 2 * one_by_one(net, ranks, n, count, call)


def with_all(net: Switch, ranks: int, n: int, count: int, call: float) -> float:
    """Through one's own cable; or each with each, in turn, and all cables are equally busy."""
    return train(net, count * (ranks - 1), n, call)


def with_neighbors(net: Switch, ranks: int, n: int, count: int, call: float) -> float:
    return train(net, 2 * count, n, call)


# Those with targets that do nothing.
ONE_ORIGIN: dict[str, Passive] = {
    "Unidir_put": pair,
    "Unidir_get": pair,
    "Put_local": lambda net, ranks, n, count, call: count * call,
    "Put_all_local": lambda net, ranks, n, count, call: count * (ranks - 1) * call,
    "Get_local": pair,
    "Get_all_local": with_all,
    "One_put_all": with_all,
    "One_get_all": with_all,
    "Accumulate": one_by_one,
    "Get_accumulate": there_and_back,
    "Fetch_and_op": there_and_back,
    "Compare_and_swap": there_and_back,
    "Rput": lambda net, ranks, n, count, call: count * call,
    "Rget": one_by_one,
    "Raccumulate": one_by_one,
}
REQUESTS = ("Rput", "Rget", "Raccumulate")
SHARED = ("Shared_store", "Shared_load")  # not between hosts
CRASHES = "Rget_accumulate"  # docs/known-mpi-issues.md
MANY_ORIGINS: dict[str, Passive] = {
    "Bidir_put": pair,  # the two directions of a cable do not meet
    "Bidir_get": pair,
    "All_put_all": with_all,
    "All_get_all": with_all,
    "Exchange_put": with_neighbors,
    "Exchange_get": with_neighbors,
}
PASSIVE = ONE_ORIGIN | MANY_ORIGINS
WITH_ALL = ("Put_all_local", "Get_all_local", "One_put_all", "One_get_all", "All_put_all", "All_get_all")
WITHOUT_MODES = (
    *(*WITH_ALL, *REQUESTS, "Exchange_put", "Exchange_get", "Window", "Attach_detach"),
    "Truly_passive_put",
)
WORDS = ("Fetch_and_op", "Compare_and_swap")  # 4 bytes, whatever the lengths


def together(row: dict) -> int:
    """Repetitions that are completed together."""
    return int(row["repetitions"]) if row["mode"] == "aggregate" else 1


def passive(row: dict, call: float = 0.0, net: Switch = SWITCH) -> float:
    """Seconds per repetition."""
    count = together(row)
    return PASSIVE[row["benchmark"]](net, row["processes"], row["bytes"], count, call) / count


def in_flight(row: dict, call: float = 0.0) -> bool:
    """Swaps of a sample that are completed together: each waits for what it fetches, what it stores travels while the
    next one fetches. The time lies between that of one message and that of two."""
    if (row["benchmark"], row["mode"]) != ("Compare_and_swap", "aggregate"):
        return False
    two = passive(row, call)
    assert two / 2 < row["time_min_seconds"] <= row["time_max_seconds"] < two, row
    return True


def fenced(net: Switch, n: int, count: int, to_root: bool) -> float:
    """A pair: transfers of n bytes from rank 0 to rank 1, or to_root: from 1 to 0, possibly both; then a fence.

    The first barrier's two messages of 16 bytes leave with the transfers: one from 1 to 0, then one back. Both take
    their share of a cable if a transfer is still on it, and the transfers are then later by 16 bytes. Whichever comes
    last lets the second barrier begin."""
    barrier = 2 * net.message(0)
    first = net.together(count + 1, 0) + net.message(0) if to_root else barrier
    last = 2 * net.latency + count * wire(net, n) + wire(net, 0)
    return max(first, last) + barrier


def two_barriers(net: Switch, ranks: int) -> float:
    return 4 * flood(net, ranks, 0)


def added(net: Switch, ranks: int, n: int, count: int) -> float:
    """All ranks add to rank 0's memory, itself too: its own message passes its cable like all others. Then a fence."""
    return count * net.together(ranks, n) + two_barriers(net, ranks)


def window(net: Switch, ranks: int) -> float:
    """Made, two fences around a copy within rank's own memory, freed."""
    return flood(net, ranks, 8) + 3 * two_barriers(net, ranks)


FENCED = {"Unidir_Put": False, "Unidir_Get": True, "Bidir_Put": True, "Bidir_Get": True}


def active(row: dict, net: Switch = SWITCH) -> float:
    """Seconds per repetition."""
    name, count = row["benchmark"], together(row)
    if name == "Window":
        return window(net, row["processes"])
    if name == "Accumulate":
        return added(net, row["processes"], row["bytes"], count) / count
    return fenced(net, row["bytes"], count, FENCED[name]) / count


def tables_of(rows: list[dict]) -> set[tuple[str, str | None]]:
    return {(row["benchmark"], row["mode"]) for row in rows}


def expected_tables(names: list[str]) -> set[tuple[str, str | None]]:
    return {
        (name, mode)
        for name in names
        for mode in ([None] if name in WITHOUT_MODES else ["aggregate", "non_aggregate"])
    }


def rows_per_table(name: str) -> int:
    return 1 if name in WORDS else len(LENGTHS)


# --- Every benchmark in every mode -----------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [0.0, CALL], ids=["free", "paid"])
def test_passive_targets_take_what_the_platform_implies(call, tmp_path):
    """All of IMB-RMA between two ranks, to the last bit."""
    words = f"{' '.join(PASSIVE)} {SIZES} -iter {REPETITIONS[2]}"
    rows = simulate(tmp_path, 2, words, component="RMA", call=call).rows
    assert tables_of(rows) == expected_tables([*PASSIVE])
    assert len(rows) == sum(rows_per_table(name) for name, _ in expected_tables([*PASSIVE]))
    for row in rows:
        if in_flight(row, call):
            continue
        assert times(row) == (passive(row, call),) * 3, row
        assert row["repetitions"] == REPETITIONS[2]


@pytest.mark.parametrize("ranks", [4, 16])
@pytest.mark.parametrize("many", [False, True], ids=["one origin", "many"])
def test_passive_targets_among_many_ranks(many, ranks, tmp_path):
    """Pairs are timed while the other ranks wait. With one origin only that rank has a time, least and largest are it;
    with many all have the same."""
    names = MANY_ORIGINS if many else ONE_ORIGIN
    words = f"{' '.join(names)} -npmin {ranks} {SIZES} -iter {REPETITIONS[ranks]}"
    barrier = "-imb_barrier on" if many else ""
    rows = simulate(tmp_path, ranks, f"{words} {barrier}", component="RMA", call=CALL).rows
    assert tables_of(rows) == expected_tables([*names])
    for row in rows:
        if in_flight(row, CALL):
            continue
        assert times(row) == (about(passive(row, CALL), ranks),) * 3, row
        assert row["processes"] == (2 if row["mode"] or row["benchmark"] in REQUESTS else ranks)
        if "bytes_per_second" in row:
            moved = (row["processes"] - 1) * row["bytes"]
            assert row["bytes_per_second"] == pytest.approx(moved / passive(row, CALL), rel=1e-9)
        assert many or row["slowest_rank"] == 0


@pytest.mark.parametrize("ranks", REPETITIONS)
def test_fences_take_what_the_platform_implies(ranks, tmp_path):
    """All of IMB-EXT; those of its benchmarks that complete each repetition make MSGS_NONAGGR of them.

    With more than two ranks aggregate Accumulates do not stay in step. They are under way in two or more parties then,
    at times, and the cable of rank 0 does nothing while the next party's bytes are not yet there: a whole number of
    message latencies in all, less than one per repetition."""
    aggregate, single = REPETITIONS[ranks], 4
    names = ["Window", *FENCED, "Accumulate"]
    words = f"-npmin {ranks} {SIZES} -iter {aggregate} -set MSGS_NONAGGR={single}"
    rows = simulate(tmp_path, ranks, words, component="EXT").rows
    assert tables_of(rows) == expected_tables(names)
    assert len(rows) == len(LENGTHS) * len(expected_tables(names))
    for row in rows:
        aggregated = row["mode"] == "aggregate"
        assert row["repetitions"] == (aggregate if aggregated else single)
        assert row["processes"] == (2 if row["benchmark"] in FENCED else ranks)
        if row["benchmark"] == "Accumulate" and aggregated and ranks > 2:
            assert row["time_min_seconds"] == row["time_max_seconds"]
            idle = (row["time_max_seconds"] - active(row)) * aggregate / (2 * CABLE)
            assert idle == pytest.approx(round(idle), abs=1e-5) and 0 <= round(idle) < aggregate, row
        else:
            assert times(row) == (about(active(row), ranks),) * 3, row


@pytest.mark.parametrize("kind", ["create", "allocate", "dynamic"])
@pytest.mark.parametrize("ranks", [2, 16])
def test_every_kind_of_window(kind, ranks, tmp_path):
    """Made as often as there are repetitions, and it takes what its collective steps take. What is moved through it
    takes what it takes through any other."""
    words = f"-window {kind} -npmin {ranks} -msgsize 1024 -iter_policy off -iter 8 -set MSGS_NONAGGR=4"
    for row in simulate(tmp_path / "EXT", ranks, f"Window Unidir_Put {words}", component="EXT").rows:
        wanted = window(SWITCH, ranks) if row["benchmark"] == "Window" else active(row)
        assert times(row) == (about(wanted, ranks),) * 3, row
    for row in simulate(tmp_path / "RMA", ranks, f"Unidir_put One_get_all {words}", component="RMA").rows:
        assert times(row) == (about(passive(row), ranks),) * 3, row


def test_hosts_that_share_no_memory_make_no_shared_windows(tmp_path):
    """Said once for each table, and what needs no window of that kind is not there to run."""
    own = simulate(tmp_path / "own", 2, f"{' '.join(SHARED)} -msglog 3", component="RMA", status=3).records
    assert [record["benchmark"] for record in own if record["record"] == "failure"] == [*SHARED]
    words = "Unidir_put One_put_all -window shared -aggregate_mode aggregate -iter 2 -msglog 3"
    done = simulate(tmp_path, 4, words, component="RMA", status=3)
    failures = [record for record in done.records if record["record"] == "failure"]
    assert [(record["benchmark"], record["cause"]) for record in failures] == [
        ("Unidir_put", "unavailable"),
        ("One_put_all", "unavailable"),
        ("One_put_all", "unavailable"),
    ]
    assert all("share no memory" in record["detail"] for record in failures) and not done.rows


def test_attaching_memory_moves_nothing(tmp_path):
    words = "Attach_detach -msgsize 0,1024 -iter 8 -npmin 4"
    rows = simulate(tmp_path, 4, words, component="EXT").rows
    assert [(row["bytes"], row["processes"], times(row)) for row in rows] == [
        (0, 4, (0.0,) * 3),
        (1024, 4, (0.0,) * 3),
    ]


def synchronized(row: dict, mode: str, call: float = 0.0) -> float:
    """-sync_mode: seconds per repetition, of the slowest rank. Locks take no time beyond that of a flush."""
    name, n, count = row["benchmark"], row["bytes"], together(row)
    lower = name.lower()
    if mode == "flush_local" and name in ("Unidir_put", "One_put_all"):
        return int(row["processes"] - 1) * call  # the bytes are copied
    if mode in ("lock", "lock_all", "flush", "flush_local"):
        return passive(row, call)
    if lower in ("accumulate", "get_accumulate", "fetch_and_op"):  # complete when they return
        alone = passive(row)
        fence = two_barriers(SWITCH, 2)
        return alone + (fence if mode == "fence" else 2 * SWITCH.message(0)) / count
    if mode == "fence":
        return fenced(SWITCH, n, count, lower != "unidir_put") / count
    post, last = SWITCH.message(0), 2 * SWITCH.latency + count * wire(SWITCH, n)
    return (post + last + (wire(SWITCH, 0) if lower == "unidir_put" else 0.0)) / count


PAIRS = ("Unidir_put", "Unidir_get", "Accumulate", "Get_accumulate", "Fetch_and_op")
BOTH = ("Bidir_put", "Bidir_get")


@pytest.mark.parametrize("mode", ["fence", "pscw", "lock", "lock_all", "flush", "flush_local"])
def test_every_sync_mode_takes_what_its_calls_do(mode, tmp_path):
    """Between two ranks, to the last bit. Of an epoch of post and start the slower rank's time: an origin does not wait
    for what it has put."""
    names = PAIRS if mode == "pscw" else PAIRS + BOTH
    words = f"{' '.join(names)} -sync_mode {mode} {SIZES} -iter 8"
    rows = simulate(tmp_path, 2, words, component="RMA").rows
    assert tables_of(rows) == expected_tables([*names])
    for row in rows:
        assert row["time_max_seconds"] == synchronized(row, mode), row
        assert row["repetitions"] == 8
        if mode in ("lock", "lock_all", "flush", "flush_local"):
            assert times(row) == (row["time_max_seconds"],) * 3, row
    if mode == "pscw":
        active_words = words.replace(" ".join(names), "Unidir_Put Unidir_Get -set MSGS_NONAGGR=8")
        active_rows = simulate(tmp_path / "EXT", 2, active_words, component="EXT").rows
        assert len(active_rows) == 4 * len(LENGTHS)
        for row in active_rows:
            assert row["time_max_seconds"] == synchronized(row, mode), row


@pytest.mark.parametrize("mode", ["lock", "lock_all", "flush", "flush_local"])
def test_sync_modes_of_one_rank_with_all_others(mode, tmp_path):
    """All targets are locked and unlocked in each repetition, and all transfers are under way at once."""
    words = f"One_put_all One_get_all -sync_mode {mode} -npmin 4 {SIZES} -iter 8"
    rows = simulate(tmp_path, 4, words, component="RMA", call=CALL).rows
    assert len(rows) == 2 * len(LENGTHS)
    for row in rows:
        assert times(row) == (about(synchronized(row, mode, CALL)),) * 3, row


@pytest.mark.parametrize("mode", ["lock", "lock_all", "flush", "flush_local"])
def test_sync_modes_of_all_ranks_with_all_others(mode, tmp_path):
    """Not of puts that complete locally: ranks are then out of step, and bar each other."""
    names = ["All_get_all", "Exchange_get", *(["All_put_all"] if mode != "flush_local" else [])]
    words = f"{' '.join(names)} -sync_mode {mode} -npmin 4 {SIZES} -iter 8 -imb_barrier on"
    rows = simulate(tmp_path, 4, words, component="RMA", call=CALL).rows
    assert len(rows) == len(names) * len(LENGTHS)
    for row in rows:
        assert times(row) == (about(synchronized(row, mode, CALL)),) * 3, row


@pytest.mark.parametrize(
    ("component", "mode"),
    [("EXT", "pscw"), *(("RMA", mode) for mode in ("fence", "pscw", "lock", "lock_all", "flush_local"))],
)
def test_every_byte_arrives_in_every_sync_mode(component, mode, tmp_path):
    """With eager sends, since MPI_Win_post blocks without."""
    own = {*REQUESTS, *SHARED, CRASHES, "Window", "Attach_detach", "Truly_passive_put"}
    own |= {name for name in lab.names("RMA") if name.endswith("_local")}
    names = [name for name in lab.names(component) if name not in own]
    for ranks in (2, 5):
        words = f"{' '.join(names)} {CHECK} -npmin {ranks} -sync_mode {mode}"
        done = simulate(tmp_path / str(ranks), ranks, words, component=component, eager=True)
        assert tables_of(done.rows) == expected_tables(names)
        assert {row["defects"] for row in done.rows} == {0}


def test_target_that_computes_does_not_delay_a_put(tmp_path):
    """Computing takes no simulated time here, and no transfer needs the target's processor: SMPI is the perfect case,
    t_ovrl is t_pure. Both are means of a repetition. (TARGET_CPU_SECS is 0, as a clock that stands still while one
    computes cannot tell how much computing makes a hundredth of a second.)"""
    words = "Truly_passive_put -msgsize 0,1024 -iter 8 -set TARGET_CPU_SECS=0"
    for ranks in (2, 16):
        done = simulate(tmp_path / str(ranks), ranks, words, component="RMA")
        for row in done.rows:
            wanted = message(SWITCH, 2, row["bytes"])
            assert times(row) == (wanted,) * 3
            assert row["time_overlapped_seconds"] == wanted
            assert row["repetitions"] == 8 and "bytes_per_second" not in row
        (table,) = lab.tables(done.text)
        assert table.columns == ["#bytes", "#repetitions", "t_pure[usec]", "t_ovrl[usec]"]
        for line in table.rows:
            assert line[2:] == [f"{message(SWITCH, 2, int(line[0])) * 1e6:.2f}"] * 2


# --- All lengths, and what the columns say ---------------------------------------------------------------------------


def check_figures(done: Simulation, wanted: Callable[[dict], float], with_throughput: set[str]) -> None:
    """Records and text of all rows. A pair moves n bytes, one rank with all others n for each of them; of all with
    all, of neighbors and of collectives a throughput is not shown."""
    lines = [(table, line) for table in lab.tables(done.text) for line in table.rows]
    for row, (table, line) in zip(done.rows, lines, strict=True):
        if row["benchmark"] in PASSIVE and in_flight(row, CALL):
            continue
        name, seconds = row["benchmark"], wanted(row)
        assert row["time_max_seconds"] == about(seconds), row
        assert table.name == name and line[:2] == [str(row["bytes"]), str(row["repetitions"])]
        assert ("bytes_per_second" in row) == (name in with_throughput)
        if name not in with_throughput:
            assert table.columns[2:] == ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]
            assert line[2:] == [f"{seconds * 1e6:.2f}"] * 3
            continue
        targets = row["processes"] - 1 if name in WITH_ALL else 1
        rate = targets * row["bytes"] / seconds if seconds > 0 else 0.0
        assert row["bytes_per_second"] == pytest.approx(rate, rel=1e-9)
        assert table.columns[2:] == ["t[usec]", "Mbytes/sec"]
        assert line[2:] == [f"{seconds * 1e6:.2f}", f"{rate / 2**20:.2f}"]


@pytest.mark.parametrize(
    ("ranks", "names"), [(2, [*PASSIVE]), (4, ["One_put_all", "One_get_all", "Get_all_local"])]
)
def test_all_lengths_and_the_figures_made_from_them(ranks, names, tmp_path):
    """0 to 4 MiB: a straight line. The last lengths have fewer repetitions, 8 MiB in all."""
    words = f"{' '.join(names)} -npmin {ranks} -iter 16,8"
    done = simulate(tmp_path, ranks, words, component="RMA", call=CALL)
    lengths = {row["bytes"] for row in done.rows if row["benchmark"] == "One_put_all"}
    assert lengths == {0, *(2**power for power in range(23))}
    assert {row["repetitions"] for row in done.rows if row["bytes"] == 2**22} == {2}
    check_figures(
        done,
        lambda row: passive(row, CALL),
        {*PASSIVE} - {"All_put_all", "All_get_all", "Exchange_put", "Exchange_get"},
    )


def test_all_lengths_and_the_figures_of_fences(tmp_path):
    """The same for IMB-EXT. From about 2 KiB on, what is moved is longer on its way than a barrier takes. Lengths near
    that turn are left out: there the barrier's messages meet a part of the transfer only."""
    words = "-msgsize 0,4,64,1024,8192,65536,1048576,4194304 -iter 16,8 -set MSGS_NONAGGR=8"
    done = simulate(tmp_path, 2, f"Window {' '.join(FENCED)} Accumulate {words}", component="EXT")
    assert {row["repetitions"] for row in done.rows if row["bytes"] == 2**22} == {2}
    check_figures(done, active, {*FENCED})


# --- Other loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("component", ["RMA", "EXT"])
def test_every_mode_of_the_loop_gives_the_same_times(component, tmp_path):
    """Every repetition timed, moving buffers, a check before, an own barrier, a barrier before each repetition of a
    collective: other loops, the same times."""
    names = {"RMA": "Unidir_put Bidir_get Put_local One_put_all Exchange_get Fetch_and_op", "EXT": ""}[
        component
    ]
    words = f"{names} -msgsize 1024,65536 -iter 8 -set MSGS_NONAGGR=8"
    for mode in ("-show_tail yes", "-off_cache 1,64", "-check", "-imb_barrier on", "-sync on"):
        rows = simulate(tmp_path / mode, 2, f"{words} {mode}", component=component).rows
        assert len(tables_of(rows)) == {"RMA": 10, "EXT": 11}[component]
        for row in rows:
            wanted = passive(row) if component == "RMA" else active(row)
            assert times(row) == (wanted,) * 3, (mode, row)
            assert row.get("defects", 0) == 0
        assert ("quantiles" in rows[0]) == ("-show_tail" in mode)


def test_quantiles_show_who_pays_for_the_completion(tmp_path):
    """Aggregate: each repetition takes the call that starts it; the last one has the completion of all. Non-aggregate:
    all take the same."""
    repetitions = 8
    words = f"{SIZES} -iter {repetitions} -set MSGS_NONAGGR={repetitions} -show_tail yes"
    names = "Unidir_put Unidir_get Get_local Put_local One_put_all"
    rows = simulate(tmp_path / "RMA", 2, f"{names} {words}", component="RMA", call=CALL).rows
    fences = simulate(tmp_path / "EXT", 2, f"Unidir_Put Unidir_Get {words}", component="EXT").rows
    for row, total, start in [
        *((row, passive(row, CALL) * together(row), CALL) for row in rows),
        *((row, active(row) * together(row), 0.0) for row in fences),
    ]:
        others = start if row["mode"] == "aggregate" else total
        last = total - (together(row) - 1) * start
        assert [row["quantiles"][name] for name in ("min", "p50", "p75", "max")] == [others] * 3 + [last], row


def test_time_limit_gives_as_many_repetitions_as_fit(tmp_path):
    """The quotient, rounded down, and at most MSGS_NONAGGR of those that end in a fence. Of an aggregate sample at
    least as many as of single transfers, as these have but one latency in all; and not more than fit."""
    limit = 0.002  # a tenth of it, for the estimate, has several repetitions
    words = f"-msgsize 1024,65536 -time {limit}"
    rows = simulate(tmp_path / "RMA", 2, f"Unidir_put Exchange_get Accumulate {words}", component="RMA").rows
    fences = simulate(tmp_path / "EXT", 2, f"Unidir_Put Accumulate {words}", component="EXT").rows
    for row, alone, most in [
        *((row, passive(row | {"repetitions": 1}), 1000) for row in rows),
        *(
            (row, active(row | {"repetitions": 1}), 1000 if row["mode"] == "aggregate" else 100)
            for row in fences
        ),
    ]:
        fitting = min(most, int(limit / alone))
        if row["mode"] == "aggregate" and row["benchmark"] in ("Unidir_put", "Unidir_Put"):
            assert fitting < row["repetitions"] <= most
            assert row["repetitions"] * row["time_max_seconds"] <= limit
        elif row["mode"] != "aggregate" or (row["benchmark"] == "Accumulate" and row in rows):
            assert row["repetitions"] == fitting, row


def test_eager_sends_matter_to_barriers_only(tmp_path):
    """RMA: transfers are the same. Rank 0 has left the barrier when it has sent the releases, P - 1 messages of 16
    bytes, so what it puts first shares its cable with them: once in all repetitions. What it gets does not meet them.

    EXT: rank 0 leaves each fence one message before the other rank does, and begins with the next get. It arrives
    one message earlier; barriers alone still take what they take."""
    repetitions = 8
    puts = ("Unidir_put", "One_put_all", "Accumulate")
    words = f"{SIZES} -iter {repetitions} -set MSGS_NONAGGR={repetitions}"
    for ranks in (2, 16):
        names = f"{' '.join(puts)} Unidir_get One_get_all Get_accumulate Compare_and_swap -npmin {ranks}"
        rows = simulate(tmp_path / str(ranks), ranks, f"{names} {words}", component="RMA", eager=True).rows
        for row in rows:
            releases = (ranks - 1) * wire(SWITCH, 0) if row["benchmark"] in puts else 0.0
            if in_flight(row):
                continue
            assert times(row) == (about(passive(row) + releases / repetitions, ranks),) * 3, row
    for row in simulate(tmp_path / "EXT", 2, f"Unidir_Get {words}", component="EXT", eager=True).rows:
        count = together(row)
        last = 2 * SWITCH.latency + count * wire(SWITCH, row["bytes"]) + wire(SWITCH, 0)
        assert times(row) == (max(4 * SWITCH.message(0), last + SWITCH.message(0)) / count,) * 3, row


# --- Groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multi", ["0", "1"])
def test_groups_do_not_disturb_each_other_on_a_perfect_switch(multi, tmp_path):
    """-multi: eight pairs, four groups of four, at once: the times of one, and throughputs of one group."""
    words = f"-npmin 4 {SIZES} -iter 8 -set MSGS_NONAGGR=8 -multi {multi}"
    rows = simulate(tmp_path / "RMA", 16, f"Unidir_put One_put_all {words}", component="RMA").rows
    fences = simulate(tmp_path / "EXT", 16, f"Unidir_Put Bidir_Get {words}", component="EXT").rows
    for row, wanted in [*((row, passive(row)) for row in rows), *((row, active(row)) for row in fences)]:
        assert row["group_count"] == 16 // row["processes"]
        assert times(row) == (about(wanted),) * 3, row
        targets = row["processes"] - 1
        assert row["bytes_per_second"] == pytest.approx(targets * row["bytes"] / wanted, rel=1e-9)
    groups = {processes: 16 // processes if multi == "1" else 1 for processes in (2, 4, 8, 16)}
    assert len(rows) == len(LENGTHS) * (2 * groups[2] + groups[4] + groups[8] + groups[16])
    assert len(fences) == len(LENGTHS) * 4 * groups[2]


@pytest.mark.parametrize(
    ("option", "pairs"),
    [("", [[2 * i, 2 * i + 1] for i in range(8)]), ("-map 8x2", [[i, i + 8] for i in range(8)])],
    ids=["plain", "8x2"],
)
def test_targets_are_the_processes_that_map_names(option, pairs, tmp_path):
    """Host i has a cable of its own length, so a time tells between which two hosts the bytes went. (Not of gets: their
    way is also that of the word by which a waiting target tells rank 0, which is done first, that it waits.)"""
    switch = Switch(growth=1 / 16)
    words = f"Unidir_put Accumulate -multi 1 {option} {SIZES} -iter 8"
    rows = simulate(tmp_path, 16, words, component="RMA", switch=switch).rows
    for mode in ("aggregate", "non_aggregate"):
        shortest = [row["groups"] for row in rows if row["bytes"] == 0 and row["mode"] == mode]
        assert shortest == [[pair] for pair in pairs] * 2
    for row in rows:
        ((a, b),) = row["groups"]
        count = together(row) if row["benchmark"] == "Unidir_put" else 1
        wanted = (switch.cable(a) + switch.cable(b)) / count + wire(switch, row["bytes"])
        assert times(row) == (about(wanted),) * 3, row


# --- What arrives ----------------------------------------------------------------------------------------------------


ALL_NAMES = {
    component: [name for name in lab.names(component) if name not in (*SHARED, CRASHES)]
    for component in ("EXT", "RMA")
}
CHECK = "-msgsize 0,72,4096 -iter 3 -check -set TARGET_CPU_SECS=0 -set MSGS_NONAGGR=3"


def test_every_benchmark_has_its_time() -> None:
    assert {"Window", "Attach_detach", *FENCED, "Accumulate"} == set(ALL_NAMES["EXT"])
    assert {*PASSIVE, "Truly_passive_put"} == set(ALL_NAMES["RMA"])


@pytest.mark.parametrize("component", ALL_NAMES)
@pytest.mark.parametrize("kind", ["create", "allocate", "dynamic"])
def test_every_byte_arrives(kind, component, tmp_path):
    """SMPI moves the bytes it simulates: none is wrong, in any benchmark and mode."""
    names = ALL_NAMES[component]
    for ranks in (2, 5):
        words = f"{' '.join(names)} {CHECK} -npmin {ranks} -window {kind}"
        done = simulate(tmp_path / str(ranks), ranks, words, component=component)
        assert tables_of(done.rows) == expected_tables(names)
        assert {row["defects"] for row in done.rows} == {0}
        assert done.records[-1]["state"] == "complete"


@pytest.mark.parametrize("component", ALL_NAMES)
def test_check_begins_when_the_warm_up_has_ended_everywhere(component, tmp_path):
    """With -iter_policy off no estimate of the time lies between the two, which else would bring all ranks together.
    A target that takes no part must not prepare its memory while the warm-up still adds to it."""
    names = ALL_NAMES[component]
    words = f"{' '.join(names)} {CHECK} -iter_policy off"
    done = simulate(tmp_path, 2, words, component=component)
    assert {row["defects"] for row in done.rows} == {0}


@pytest.mark.parametrize("component", ["EXT", "RMA"])
def test_two_runs_leave_the_same_records(component, tmp_path):
    """To the last bit, but for the date; also when each rank has global variables of its own."""
    words = (
        "-msgsize 0,1024 -iter 4 -check -show_tail yes -multi 1 -set TARGET_CPU_SECS=0 -set MSGS_NONAGGR=4"
    )
    first = simulate(tmp_path / "first", 8, words, component=component).records
    for name, privatised in (("again", False), ("privatised", True)):
        again = simulate(tmp_path / name, 8, words, component=component, privatised=privatised).records
        assert without_date(again) == without_date(first)
    assert first[-1]["state"] == "complete" and first[-1]["defects"] == 0
