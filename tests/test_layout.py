"""-layout: messages whose elements lie apart."""

import itertools

import lab
import pytest
from collectives import COLLECTIVES

LAYOUTS = ["vector:1:8", "vector:3:7", "indexed", "struct"]
SIZES = [0, 1, 29, 36, 1024, 100000]
TRANSFERS = [
    "PingPong",
    "PingPongSpecificSource",
    "PingPongAnySource",
    "PingPing",
    "PingPingSpecificSource",
    "PingPingAnySource",
    "Sendrecv",
    "Exchange",
]
SENT = [*TRANSFERS, "Bcast", "Gather", "Scatter", "Allgather", "Alltoall"]
REDUCTIONS = {name for name, row in COLLECTIVES.items() if row.reduces}
WITHOUT = {"MPI1": {*REDUCTIONS, "Barrier"}, "P2P": set()}
NEEDS = {"Stencil2D": 6, "Stencil3D": 8}  # products of two and of three numbers above 1; 5 is none


def few(sizes: list[int]) -> str:
    return f"-iter 3 -warm_up off -check -time 60 -msgsize {','.join(map(str, sizes))}"


@pytest.mark.parametrize(
    ("ranks", "layout"), [*itertools.product([2, 3], LAYOUTS), (4, "vector:3:7"), (5, "struct")]
)
@pytest.mark.parametrize("component", ["MPI1", "P2P"])
def test_every_layout_is_complete_and_correct(mpi, component, layout, ranks, tmp_path):
    names = [
        name for name in lab.right_names(mpi, component, on_two=ranks < 4) if ranks >= NEEDS.get(name, 0)
    ]
    sizes = SIZES if ranks == 2 else [1, 100]
    done = lab.run(
        mpi,
        ranks,
        f"{few(sizes)} {lab.SHORT_WINDOW[component]} -layout {layout} {' '.join(names)}",
        component=component,
        records=tmp_path,
    )
    failed = {record["benchmark"] for record in done.records if record["record"] == "failure"}
    assert failed == WITHOUT[component] & set(names), done.text
    measured = {row["benchmark"] for row in done.rows}
    assert measured | failed >= set(names), done.text
    assert all(row["defects"] == 0 for row in done.rows)
    assert done.code == (3 if failed else 0), done.errors
    assert f"-layout {layout}" in done.text
    assert done.records[0]["options"]["layout"] == layout


@pytest.mark.parametrize(("ranks", "layout"), [(2, "vector:3:7"), (2, "indexed"), (3, "struct")])
def test_nonblocking_collectives_are_complete_and_correct(mpi, layout, ranks, tmp_path):
    """Those that overlap and their pure forms; of reductions and of Ibarrier a failure row each."""
    names = lab.right_names(mpi, "NBC")
    words = f"{few([1, 100])} -npmin {ranks} -layout {layout} {lab.SHORT_LOAD} {' '.join(names)}"
    done = lab.run(mpi, ranks, words, component="NBC", records=tmp_path)
    without = {f"I{name.lower()}{flavor}" for name in WITHOUT["MPI1"] for flavor in ("", "_pure")}
    failed = {record["benchmark"] for record in done.records if record["record"] == "failure"}
    assert failed == without & set(names), done.text
    measured = [name for name in names if name not in failed]
    assert [row["benchmark"] for row in done.rows] == [name for name in measured for _ in range(2)]
    assert {row["defects"] for row in done.rows} == {0} and done.code == 3, done.errors


@pytest.mark.parametrize("type_name", ["int", "double", "float"])
def test_layouts_of_other_types(mpi, type_name, tmp_path):
    names = "PingPong Exchange Alltoall Allgatherv Bcast"
    for mode in ("", "-off_cache 0.5,64", "-in_place on"):
        words = f"{few([0, 8, 4096])} -data_type {type_name} -layout vector:1:5 {mode} {names}"
        done = lab.run(mpi, 2, words, records=tmp_path)
        assert done.code == 0, done.errors
        assert len(done.rows) == 3 * len(names.split())
        assert all(row["defects"] == 0 for row in done.rows)


def test_nonblocking_and_persistent_and_threads(mpi, tmp_path):
    for component, name in (("NBC", "Ialltoall"), ("MPI4", "Sendrecv_persist"), ("MT", "ExchangeMT")):
        if name not in lab.right_names(mpi, component):
            continue
        size = "-count 1,50" if component == "MT" else "-msgsize 4,200"
        words = f"-iter 3 -warm_up off -check {size} -layout vector:1:4 {name}"
        done = lab.run(mpi, 2, words.replace("-iter 3", "-repeat 3") if component == "MT" else words, component=component,
                       records=tmp_path)  # fmt: skip
        assert done.code == 0, done.errors
        assert [row["defects"] for row in done.rows] == [0, 0]


@pytest.mark.parametrize("how", ["flip", "drop"])
def test_check_finds_a_lying_mpi(mpi, liars, how, tmp_path):
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_mpi.cpp')}", f"LIE_HOW={how}", "LIE_RANK=1"]
    words = f"-iter 3 -warm_up off -check -msgsize 64 -layout vector:2:8 {' '.join(SENT)}"
    done = lab.run(mpi, 2, words, records=tmp_path, wrap=wrap)
    assert {row["benchmark"] for row in done.rows if row["defects"] > 0} == set(SENT), done.text
