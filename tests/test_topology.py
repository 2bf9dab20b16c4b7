"""-topo: neighborhood collectives on grids, distributed graphs and random graphs, under both MPIs."""

import lab
import pytest

KINDS = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
NAMES = {
    "MPI1": [f"Neighbor_{kind}" for kind in KINDS],
    "NBC": [f"Ineighbor_{kind}{flavor}" for kind in KINDS for flavor in ("", "_pure")],
}


def names_for(mpi: lab.Mpi, component: str, topology: str) -> list[str]:
    """docs/known-mpi-issues.md: what is wrong on Cartesian topologies is right on graphs."""
    if topology.startswith(("graph", "random")):
        return NAMES[component]
    return [name for name in lab.right_names(mpi, component) if name in NAMES[component]]


def launched(mpi, ranks, topology, component="MPI1", words="", **settings):
    names = " ".join(names_for(mpi, component, topology))
    few = f"-check -iter 3 -msgsize 0,72 -npmin 1 -topo {topology} {words} {lab.SHORT_LOAD} {names}"
    return lab.run(mpi, ranks, few, component=component, **settings)


@pytest.mark.parametrize("component", NAMES)
@pytest.mark.parametrize("ranks", [3, 5])
@pytest.mark.parametrize("topology", ["1d", "3d", "graph", "random"])
def test_every_topology_is_correct_on_groups_of_all_sizes(mpi, component, topology, ranks, tmp_path):
    """1, 2 and 3 processes, and 1, 2, 4 and 5."""
    topology += f":{max(1, ranks - 2)} -seed {ranks}" if topology == "random" else ""
    done = launched(mpi, ranks, topology, component, records=tmp_path)
    assert done.code == 0, done.text + done.errors
    assert {row["defects"] for row in done.rows} == {0}
    assert {row["benchmark"] for row in done.rows} == set(names_for(mpi, component, topology))
    assert {row["processes"] for row in done.rows} == {count for count in (1, 2, 4) if count < ranks} | {
        ranks
    }


@pytest.mark.parametrize(
    ("topology", "titles", "recorded"),
    [
        (
            "1x4",
            ["1 x 1", "2 x 1", "1 x 4"],
            "1x4",
        ),
        ("3D", ["1 x 1 x 1", "2 x 1 x 1", "2 x 2 x 1"], "3d"),
        ("GRAPH", ["graph 1 x 1", "graph 2 x 1", "graph 2 x 2"], "graph:2d"),
        (
            "graph:1x2x2",
            ["graph 1 x 1 x 1", "graph 2 x 1 x 1", "graph 1 x 2 x 2"],
            "graph:1x2x2",
        ),
        (
            "random:2 -seed 5",
            [f"random graph, degree {degree}, seed 5" for degree in (1, 1, 2)],
            "random:2",
        ),
    ],
)
def test_the_topology_is_in_the_title_and_in_the_record(mpi, topology, titles, recorded, tmp_path):
    done = lab.run(
        mpi,
        4,
        f"-check -iter 2 -msgsize 8 -npmin 1 -topo {topology} Neighbor_allgather Bcast",
        records=tmp_path,
    )
    assert done.code == 0 and {row["defects"] for row in done.rows} == {0}, done.text
    names = [table.name for table in lab.tables(done.text)]
    assert names == [*(f"Neighbor_allgather ({title})" for title in titles), *["Bcast"] * 3]
    assert {row["benchmark"] for row in done.rows} == {"Neighbor_allgather", "Bcast"}
    assert done.records[0]["options"]["topo"] == recorded


def test_without_the_option_there_is_no_title(mpi, tmp_path):
    done = lab.run(mpi, 2, "-iter 2 -msgsize 8 Neighbor_allgather", records=tmp_path)
    assert [table.name for table in lab.tables(done.text)] == ["Neighbor_allgather"]
    assert done.records[0]["options"]["topo"] == "2d"


@pytest.mark.parametrize(
    "mode", ["-multi 1 -npmin 2", "-off_cache 0.1,64", "-passes 2", "-contig_type resize_vec"]
)
@pytest.mark.parametrize("topology", ["graph:3d", "random:3"])
def test_topologies_are_correct_in_other_modes(mpi, topology, mode, tmp_path):
    done = launched(mpi, 4, topology, words=f"-data_type double {mode}", records=tmp_path)
    assert done.code == 0 and {row["defects"] for row in done.rows} == {0}, done.text + done.errors


@pytest.mark.parametrize("component", NAMES)
@pytest.mark.parametrize("topology", ["graph", "random:2"])
@pytest.mark.parametrize("how", ["flip", "drop", "shift", "late", "stale"])
def test_check_finds_a_lying_mpi_on_every_topology(mpi, liars, how, topology, component, tmp_path):
    names = [name for name in NAMES[component] if component == "MPI1" or name.endswith("_pure")]
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_mpi.cpp')}", f"LIE_HOW={how}", "LIE_RANK=1"]
    arguments = f"-check -iter 4 -msgsize 64 -npmin 3 -topo {topology} {lab.SHORT_LOAD} {' '.join(names)}"
    lied = lab.run(mpi, 3, arguments, component=component, records=tmp_path, wrap=wrap)
    assert lied.code == 4, lied.text + lied.errors
    caught = {row["benchmark"] for row in lied.rows if row["defects"] > 0}
    assert caught == set(names)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("-topo", "-topo: value missing"),
        ("-topo 4", '"4" is no grid: give its extents, as 4x2, or its dimensions, as 3d'),
        ("-topo 0d", '"0" is below the minimum, 1'),
        ("-topo 6d", '"6" is above the maximum, 5'),
        ("-topo 2x", '"" is not a whole number'),
        ("-topo 0x2", '"0" is below the minimum, 1'),
        ("-topo 1x1x1x1x1x2", "has more than 5 dimensions"),
        ("-topo graph:", '"" is no grid'),
        ("-topo torus:2", '"torus" is neither graph nor random'),
        ("-topo random", "random needs a number of neighbors, as random:3"),
        ("-topo random:0", '"0" is below the minimum, 1'),
        ("-topo random:2", "-topo random:2: with 2 ranks, give at most random:1"),
        ("-topo 4x2", "-topo: a grid of 8 ranks, but groups have 2; give other extents, or 2d"),
        ("-topo graph -seed 3", "-seed: IMB-MPI1 uses it with -topo random:N only; leave it out"),
        ("-seed 3", "-seed: IMB-MPI1 uses it with -topo random:N only; leave it out"),
    ],
)
def test_bad_topologies_are_refused_in_one_line(mpi, words, why):
    refused = lab.run(mpi, 2, f"Neighbor_allgather {words}")
    assert refused.code == 2 and not refused.text
    [line] = refused.own_errors
    assert why in line


def test_other_components_refuse_a_topology(mpi):
    refused = lab.run(mpi, 1, "-topo 2d", component="P2P")
    assert refused.code == 2
    assert refused.own_errors == [
        "IMB-P2P: -topo: IMB-P2P has no benchmark that uses it; leave it out, or run IMB-MPI1 or IMB-NBC"
    ]
