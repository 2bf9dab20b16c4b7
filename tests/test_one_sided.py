"""IMB-EXT and IMB-RMA: every benchmark in every mode, on 1 to 5 ranks, under every MPI of the lab; and a lying MPI."""

import re

import lab
import pytest

NAMES = {component: lab.names(component) for component in ("EXT", "RMA")}
OFF_BY_DEFAULT = {name for component in NAMES for name in lab.names(component, default=False)}
WORDS = {"Fetch_and_op": 4, "Compare_and_swap": 4}  # one element, whatever the lengths asked for
FETCHING = {"Get_accumulate", "Fetch_and_op", "Compare_and_swap", "Rget_accumulate"}
REQUESTS = {"Rput", "Rget", "Raccumulate", "Rget_accumulate"}
SHARED = {"Shared_store", "Shared_load"}
LOCAL = {"Put_local", "Get_local", "Put_all_local", "Get_all_local"}
OWN_COMPLETION = {"Truly_passive_put", *REQUESTS, *SHARED}
MULTIPLE = {"Put_all_local", "Get_all_local", "One_put_all", "One_get_all"}
ALL_WITH_ALL = {"All_put_all", "All_get_all"}
EXCHANGE = {"Exchange_put", "Exchange_get"}
MANAGED = {"Window", "Attach_detach"}  # windows and their memory
SYNC_MODES = {
    "EXT": ["fence", "pscw"],
    "RMA": ["fence", "pscw", "lock", "lock_all", "flush", "flush_local"],
}

MODES = {
    "standard": "",
    "multi0 allocate": "-multi 0 -window allocate",
    "multi1 shared": "-multi 1 -window shared",
    "off_cache dynamic": "-off_cache 0.5,64 -window dynamic",
    "tail own barrier": "-show_tail yes -imb_barrier on -sync on",
}


def both(component: str, name: str) -> list[str | None]:
    """The modes in the order of the reference outputs."""
    if component == "EXT":
        return [None] if name in MANAGED else ["aggregate", "non_aggregate"]
    none = MULTIPLE | ALL_WITH_ALL | EXCHANGE | OWN_COMPLETION
    return [None] if name in none else ["non_aggregate", "aggregate"]


def process_counts(component: str, name: str, ranks: int) -> list[int]:
    anyone = {*MANAGED, "Accumulate"} if component == "EXT" else MULTIPLE | ALL_WITH_ALL | EXCHANGE
    if name not in anyone:
        return [2] if ranks >= 2 else []
    counts, count = [], min(2, ranks)
    while count < ranks:
        counts.append(count)
        count *= 2
    least = 2 if name in MULTIPLE | ALL_WITH_ALL else 1
    return [count for count in [*counts, ranks] if count >= least]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("component", NAMES)
def test_every_benchmark_is_complete_and_correct(mpi, component, mode, ranks, tmp_path):
    if (mode != "standard" and ranks in (1, 5)) or (mode != "multi1 shared" and ranks == 4):
        pytest.skip("the same loops on 2, 3 and 5 ranks say it all; oversubscribed ranks are slow")
    names = NAMES[component]
    repetitions, sizes = lab.effort(ranks, mode, 6)
    few = f"-iter {repetitions},1,{repetitions} -msgsize {','.join(map(str, sizes))} -check -time 60"
    words = f"{few} {MODES[mode]} {' '.join(names)}"
    done = lab.run(mpi, ranks, words, component=component, records=tmp_path)
    impossible = [name for name in names if not process_counts(component, name, ranks)]
    assert done.code == (3 if impossible else 0), done.text + done.errors
    failures = [record["benchmark"] for record in done.records if record["record"] == "failure"]
    assert failures == impossible

    points = [
        (name, count, transfers, size)
        for name in names
        for count in process_counts(component, name, ranks)
        for transfers in both(component, name)
        for size in ([WORDS[name]] if name in WORDS else sizes)
    ]
    assert lab.identities(done.rows, lab.POINT_IN_MODE) == lab.rows_of(points, ranks, words)
    for row in done.rows:
        assert row["defects"] == 0
        assert row["repetitions"] == repetitions
        assert 0 <= row["time_min_seconds"] <= row["time_avg_seconds"] <= row["time_max_seconds"]
        assert ("time_overlapped_seconds" in row) == (row["benchmark"] == "Truly_passive_put")
    text_rows = sum(len(table.rows) for table in lab.tables(done.text))
    assert text_rows == len(done.rows)
    assert "All processes entering MPI_Finalize" in done.text


def completed_by(component: str, mode: str) -> list[str]:
    """The benchmarks that run with this -sync_mode."""
    if component == "EXT":
        return [name for name in NAMES["EXT"] if name not in MANAGED or (name, mode) == ("Window", "fence")]
    own = OWN_COMPLETION | (LOCAL if mode != "flush_local" else set())
    if mode == "flush":
        own -= {"Truly_passive_put"}
    return [name for name in NAMES["RMA"] if name not in own]


SYNCED = [(component, mode) for component, modes in SYNC_MODES.items() for mode in modes]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("component", "mode"), SYNCED)
def test_every_sync_mode_is_complete_and_correct(mpi, component, mode, ranks, tmp_path):
    names = completed_by(component, mode)
    repetitions, sizes = lab.effort(ranks, mode, 6)
    few = f"-iter {repetitions},1,{repetitions} -msgsize {','.join(map(str, sizes))} -check -time 60"
    # With a hint that there are no locks, where none are needed.
    hint = "-info no_locks=true" if mode in ("fence", "pscw") else ""
    words = f"{few} {hint} -sync_mode {mode} {' '.join(names)}"
    done = lab.run(mpi, ranks, words, component=component, records=tmp_path)
    impossible = [name for name in names if not process_counts(component, name, ranks)]
    assert done.code == (3 if impossible else 0), done.text + done.errors
    assert [record["benchmark"] for record in done.records if record["record"] == "failure"] == impossible
    wanted = [
        (name, count, transfers, size)
        for name in names
        for count in process_counts(component, name, ranks)
        for transfers in both(component, name)
        for size in ([WORDS[name]] if name in WORDS else sizes)
    ]
    got = [(row["benchmark"], row["processes"], row["mode"], row["bytes"]) for row in done.rows]
    assert got == wanted
    assert {row["defects"] for row in done.rows} <= {0}
    assert done.records[0]["options"]["sync_mode"] == mode
    assert re.search(rf"# Completion of transfers +: +-sync_mode {mode}\n", done.text)


@pytest.mark.parametrize(
    "mode", ["-off_cache 0.5,64 -window allocate", "-show_tail yes", "-multi 0 -sync on"]
)
@pytest.mark.parametrize(("component", "sync"), SYNCED)
def test_sync_modes_in_other_modes_of_the_loop(mpi, component, sync, mode, tmp_path):
    names = completed_by(component, sync)
    few = "-iter 4,1,4 -msgsize 0,72,4096 -check -time 60"
    words = f"{few} -sync_mode {sync} {mode} {' '.join(names)}"
    done = lab.run(mpi, 2, words, component=component, records=tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}
    assert {row["benchmark"] for row in done.rows} == set(names)


def test_what_has_a_completion_of_its_own_has_no_sync_mode(mpi, tmp_path):
    """A row that states the reason; the others run."""
    for component, mode in SYNCED:
        own = [name for name in NAMES[component] if name not in completed_by(component, mode)]
        words = f"-iter 2 -msgsize 8 -sync_mode {mode} {' '.join(own)} Accumulate"
        done = lab.run(mpi, 2, words, component=component, records=tmp_path)
        failures = [record for record in done.records if record["record"] == "failure"]
        assert [record["benchmark"] for record in failures] == own
        assert {row["benchmark"] for row in done.rows} == {"Accumulate"}
        assert all(
            record["cause"] == "unavailable" and f"not with -sync_mode {mode}" in record["detail"]
            for record in failures
        )


def test_default_lists(mpi):
    for component, names in NAMES.items():
        done = lab.run(mpi, 1, "-list", component=component)
        listed = re.findall(r"(?m)^  (\S+)(.*)$", done.text)
        assert [name for name, _ in listed] == names
        assert {name for name, rest in listed if "off by default" in rest} == OFF_BY_DEFAULT & set(names)


@pytest.mark.parametrize(
    ("asked", "modes"),
    [
        ("aggregate", ["aggregate"]),
        ("non_aggregate", ["non_aggregate"]),
        ("multi", ["non_aggregate", "aggregate"]),
    ],
)
def test_aggregate_mode_chooses_tables(mpi, asked, modes, tmp_path):
    words = f"-aggregate_mode {asked} -iter 3 -msgsize 8 Unidir_put Exchange_put"
    done = lab.run(mpi, 2, words, component="RMA", records=tmp_path)
    assert done.code == 0
    # What has no modes runs in any case.
    assert [(row["benchmark"], row["mode"]) for row in done.rows] == [
        *(("Unidir_put", mode) for mode in modes),
        ("Exchange_put", None),
    ]


def test_repetitions_are_those_of_the_guide(mpi, tmp_path):
    """MSGS_NONAGGR limits what ends in a collective completion; lock and flush need no such limit."""

    def repetitions(component: str, name: str) -> dict[str | None, list[int]]:
        words = f"-iter 40,1,7 -msgsize 4,131072,262144 -time 60 {name}"
        done = lab.run(mpi, 2, words, component=component, records=tmp_path)
        assert done.code == 0
        found: dict[str | None, list[int]] = {}
        for row in done.rows:
            found.setdefault(row["mode"], []).append(row["repetitions"])
        return found

    assert repetitions("EXT", "Window") == {None: [7, 7, 4]}
    assert repetitions("EXT", "Bidir_Put") == {"aggregate": [40, 8, 4], "non_aggregate": [7, 7, 4]}
    assert repetitions("RMA", "Bidir_put") == {"aggregate": [40, 8, 4], "non_aggregate": [40, 8, 4]}


def test_windows_that_mpi_does_not_make_are_told_once_for_a_table(any_mpi, tmp_path):
    if any_mpi.key != "deb-openmpi":
        pytest.skip("only Open MPI 4.1.4 cannot create a window for a single process")
    done = lab.run(any_mpi, 1, "-iter 3 -msglog 4 Window Accumulate", component="EXT", records=tmp_path)
    assert done.code == 3
    assert [(record["record"], record.get("cause")) for record in done.records[1:-1]] == [
        ("failure", "unavailable")
    ] * 3
    assert "# !! Benchmark Window is not available: " in done.text


def test_throughput_counts_every_target(mpi, tmp_path):
    done = lab.run(
        mpi, 3, "-iter 5 -msgsize 4096 -npmin 3 One_put_all One_get_all Bidir_put All_put_all",
        component="RMA", records=tmp_path,
    )  # fmt: skip
    assert done.code == 0
    for row in done.rows:
        targets = {"One_put_all": 2, "One_get_all": 2, "Bidir_put": 1, "All_put_all": None}[row["benchmark"]]
        if targets is None:
            assert "bytes_per_second" not in row
        else:
            assert row["bytes_per_second"] == pytest.approx(4096 * targets / row["time_max_seconds"])
        # One origin: its time is all there is to tell.
        if row["benchmark"].startswith("One"):
            assert row["time_min_seconds"] == row["time_max_seconds"] and row["slowest_rank"] == 0


@pytest.mark.parametrize("window", ["create", "allocate", "shared", "dynamic"])
@pytest.mark.parametrize(
    "types",
    [
        "-data_type double -red_data_type int",
        "-data_type int -red_data_type double -contig_type resize",
        "-data_type float -contig_type base_vec",
        "-red_data_type double -contig_type resize_vec",
        "-red_data_type char",
    ],
)
def test_every_data_type_arrives_unharmed(mpi, types, window, tmp_path):
    for component, names in NAMES.items():
        words = f"-iter 3,1,3 -msgsize 0,200 {types} -window {window} -check {' '.join(names)}"
        done = lab.run(mpi, 2, words, component=component, records=tmp_path)
        assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
        assert {row["defects"] for row in done.rows} == {0}


def test_aggregate_transfers_go_to_memory_of_their_own(mpi, tmp_path):
    """Of 2^20 bytes, as OVERALL_VOL says: more repetitions than fit begin anew, and -mem counts them."""
    words = "-iter 100,1 -iter_policy off -msgsize 65536 -aggregate_mode aggregate -time 60"
    done = lab.run(mpi, 2, f"{words} -check Unidir_put", component="RMA", records=tmp_path)
    assert done.code == 0 and done.rows[0]["repetitions"] == 100
    refused = lab.run(mpi, 2, f"{words} -mem 1m Unidir_put", component="RMA", records=tmp_path)
    assert refused.code == 0 and refused.rows == []
    assert refused.records[1]["needed_bytes"] == 2 * 2**20


def test_hints_are_taken_and_told(mpi, tmp_path):
    words = "-info no_locks=false -info accumulate_ops=same_op -info no_locks=true -info some_key=a=b -iter 3 -msgsize 8"
    done = lab.run(mpi, 2, f"{words} -check Unidir_Put Window", component="EXT", records=tmp_path)
    assert done.code == 0, done.errors
    assert done.records[0]["options"]["info"] == ["no_locks=true", "accumulate_ops=same_op", "some_key=a=b"]


def test_records_have_the_kind_of_windows_that_are_always_of_one(mpi, tmp_path):
    few = "-iter 2 -msgsize 8"
    done = lab.run(mpi, 2, f"{few} Shared_store Shared_load Unidir_put", component="RMA", records=tmp_path)
    kinds = {row["benchmark"]: row.get("window_kind") for row in done.rows}
    assert kinds == {"Shared_store": "shared", "Shared_load": "shared", "Unidir_put": None}
    done = lab.run(mpi, 2, f"{few} Attach_detach Window", component="EXT", records=tmp_path)
    kinds = {row["benchmark"]: row.get("window_kind") for row in done.rows}
    assert kinds == {"Attach_detach": "dynamic", "Window": None}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("-window heap", "create, allocate, shared, dynamic"),
        ("-sync_mode unlock", "standard, fence, pscw, lock, lock_all, flush, flush_local"),
        ("-info nothing", "KEY=VALUE"),
        ("-info =x", "KEY=VALUE"),
        ("-aggregate_mode some", "aggregate, non_aggregate, multi"),
        ("Unidir_Putt", "did you mean Unidir_put?"),
        ("Window", "it is in IMB-EXT"),
    ],
)
def test_mistakes_are_told(mpi, words, says):
    done = lab.run(mpi, 2, words, component="RMA")
    assert done.code == 2 and len(done.own_errors) == 1 and says in done.own_errors[0]


@pytest.mark.parametrize(
    ("component", "says"),
    [("EXT", "give fence or pscw, or run IMB-RMA"), ("MPI1", "has no benchmark that uses it")],
)
def test_sync_modes_that_a_component_lacks(mpi, component, says):
    done = lab.run(mpi, 2, "-sync_mode lock", component=component)
    assert done.code == 2 and len(done.own_errors) == 1 and says in done.own_errors[0]


def test_memory_that_mpi_does_not_have_is_a_row(mpi, tmp_path):
    limit = ["bash", "-c", 'ulimit -v 6000000; exec "$0" "$@"']
    words = "-msgsize 16,8g,32 -mem 64 -iter 2 -aggregate_mode non_aggregate -window allocate Unidir_put"
    done = lab.run(mpi, 2, words, component="RMA", records=tmp_path, wrap=limit)
    causes = [record["cause"] for record in done.records if record["record"] == "failure"]
    assert (done.code, causes) in ((3, ["out_of_memory"]), (0, ["int_overflow"])), done.errors
    assert [row["bytes"] for row in done.rows] == [16, 32]


def caught(done: lab.Launch) -> set[tuple[str, str | None]]:
    return {(row["benchmark"], row["mode"]) for row in done.rows if row["defects"] > 0}


@pytest.mark.parametrize("how", ["flip", "drop", "shift", "stale"])
@pytest.mark.parametrize("component", NAMES)
def test_check_finds_a_lying_mpi_in_every_benchmark(mpi, liars, component, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    names = NAMES[component]
    ranks = 3 if how == "flip" else 2
    arguments = f"-check -iter 4,1,4 -msgsize 64 -npmin {ranks} {' '.join(names)}"

    def run(*variables: str) -> lab.Launch:
        wrap = ["env", f"LD_PRELOAD={library}", "LIE_RANK=0", *variables]
        return lab.run(mpi, ranks, arguments, component=component, records=tmp_path, wrap=wrap)

    if how == "flip":
        honest = run("LIE_HOW=none")
        assert honest.code == 0 and caught(honest) == set()
    # Window puts a single byte, which cannot arrive one byte further.
    every = {(name, mode) for name in names for mode in both(component, name)}
    if how == "shift":
        every.discard(("Window", None))
    lied = run(f"LIE_HOW={how}")
    assert lied.code == 4
    assert caught(lied) == every
    if component == "RMA":
        about_fetched = run(f"LIE_HOW={how}", "LIE_ABOUT=fetch")
        assert caught(about_fetched) >= {pair for pair in every if pair[0] in FETCHING}


@pytest.mark.parametrize("component", NAMES)
def test_check_finds_a_byte_behind_what_was_fetched(mpi, liars, component, tmp_path):
    """A put has no such case: a window ends where its message ends, so MPI refuses another byte."""
    gets = {
        "EXT": ["Unidir_Get", "Bidir_Get"],
        "RMA": [name for name in NAMES["RMA"] if "get" in name.lower()],
    }
    fetching = [name for name in NAMES[component] if name in FETCHING]
    for names, about in (
        ([name for name in gets[component] if name not in FETCHING], "all"),
        (fetching, "fetch"),
    ):
        if not names:
            continue
        wrap = [
            "env",
            f"LD_PRELOAD={liars(mpi, 'lying_mpi.cpp')}",
            "LIE_RANK=0",
            "LIE_HOW=late",
            f"LIE_ABOUT={about}",
        ]
        words = f"-check -iter 4,1,4 -msgsize 64 {' '.join(names)}"
        lied = lab.run(mpi, 2, words, component=component, records=tmp_path, wrap=wrap)
        assert lied.code == 4
        assert caught(lied) == {(name, mode) for name in names for mode in both(component, name)}


@pytest.mark.parametrize(
    "mode",
    ["-multi 0", "-multi 1 -window allocate", "-off_cache 0.1 -window shared", "-contig_type resize_vec"],
)
@pytest.mark.parametrize("component", NAMES)
def test_check_finds_a_lying_mpi_in_every_mode(mpi, liars, component, mode, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", "LIE_HOW=flip", "LIE_RANK=0"]
    # Memory that MPI allocates for a window is gone when Window has freed it: nothing is left to look at.
    names = [name for name in NAMES[component] if not (name == "Window" and "-window" in mode)]
    done = lab.run(
        mpi, 2, f"-check -iter 4,1,4 -msgsize 64 {mode} {' '.join(names)}",
        component=component, records=tmp_path, wrap=wrap,
    )  # fmt: skip
    assert done.code == 4
    assert caught(done) == {(name, transfers) for name in names for transfers in both(component, name)}


@pytest.mark.parametrize("how", ["flip", "drop"])
@pytest.mark.parametrize(("component", "sync"), SYNCED)
def test_check_finds_a_lying_mpi_in_every_sync_mode(mpi, liars, component, sync, how, tmp_path):
    library = liars(mpi, "lying_mpi.cpp")
    wrap = ["env", f"LD_PRELOAD={library}", f"LIE_HOW={how}", "LIE_RANK=0"]
    names = completed_by(component, sync)
    done = lab.run(
        mpi, 2, f"-check -iter 4,1,4 -msgsize 64 -sync_mode {sync} {' '.join(names)}",
        component=component, records=tmp_path, wrap=wrap,
    )  # fmt: skip
    assert done.code == 4
    assert caught(done) == {(name, transfers) for name in names for transfers in both(component, name)}
