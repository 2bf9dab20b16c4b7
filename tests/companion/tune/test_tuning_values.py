"""Tuning files as text: what is written, what is read back, what cannot be expressed. No MPI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from imb.model.errors import ImbError
from imb.mpi.installations import Installation
from imb.tune.cells import DEFAULT, Algorithm, Cell
from imb.tune.mpich import _change, _decide, _text
from imb.tune.openmpi import OpenMpiTuner
from imb.tune.tuner import (
    FileProof,
    cells_in,
    cells_lines,
    choices_in,
    choices_lines,
    proof,
    ranges,
    tuner_of,
)
from imb.tune.watch_library import executed_algorithms, symbols

RING = Algorithm("ring", 4)
BRUCK = Algorithm("bruck", 2)
OMPI_INFO = """mca:coll:tuned:version:"component:5.0.11"
mca:coll:tuned:param:coll_tuned_priority:value:30
mca:coll:tuned:param:coll_tuned_priority:source:default
mca:coll:tuned:param:coll_tuned_use_dynamic_rules:value:false
mca:coll:tuned:param:coll_tuned_use_dynamic_rules:source:default
mca:coll:tuned:param:coll_tuned_use_dynamic_rules:status:writeable
"""
NAMES = {
    "allreduce": "ignore basic_linear nonoverlapping recursive_doubling ring segmented_ring rabenseifner",
    "allgather": "ignore linear bruck recursive_doubling ring neighbor two_proc sparbit",
    "alltoall": "ignore linear pairwise modified_bruck linear_sync two_proc",
    "bcast": "ignore basic_linear chain pipeline split_binary_tree binary_tree binomial knomial",
    "reduce": "ignore linear chain pipeline binary binomial in-order_binary rabenseifner",
    "barrier": "ignore linear double_ring recursive_doubling bruck two_proc tree",
    "scan": "ignore linear recursive_doubling",
}
for _name, _algorithms in NAMES.items():
    for _fact in ("value:ignore", "source:default", "status:writeable"):
        OMPI_INFO += f"mca:coll:tuned:param:coll_tuned_{_name}_algorithm:{_fact}\n"
    for _number, _algorithm in enumerate(_algorithms.split()):
        OMPI_INFO += (
            f"mca:coll:tuned:param:coll_tuned_{_name}_algorithm:enumerator:value:{_number}:{_algorithm}\n"
        )
HAN_INFO = (
    "mca:coll:han:param:coll_han_priority:value:35\nmca:coll:han:param:coll_han_priority:status:writeable\n"
)


def open_mpi(folder: Path, info: str = OMPI_INFO, hosts: int = 1) -> OpenMpiTuner:
    """A tuner that reads this text of ompi_info."""
    folder.mkdir(exist_ok=True)
    (folder / "info").write_text(info)
    (folder / "ompi_info").write_text(f"#!/bin/sh\ncat {folder}/info\n")
    (folder / "ompi_info").chmod(0o755)
    place = str(folder / "mpicxx")
    mpi = Installation(flavor="openmpi", version="Open MPI 5.0.11", major=5, wrapper=place, launcher=place)
    return OpenMpiTuner(mpi, hosts)


def cells(collective: str, ranks: int, *lengths: int) -> list[Cell]:
    return [Cell(collective, ranks, length) for length in lengths]


# --- Which lengths a choice serves -----------------------------------------------------------------------------------


def test_neighbors_of_one_choice_are_a_range_and_others_are_not() -> None:
    measured = cells("Allreduce", 4, 8, 16, 32, 64, 128, 256)
    choices = {**dict.fromkeys(cells("Allreduce", 4, 16, 32, 128), RING), Cell("Allreduce", 4, 64): BRUCK}
    assert ranges(choices, measured) == {
        ("Allreduce", 4): [(16, 32, RING), (64, 64, BRUCK), (128, 128, RING)]
    }


def test_a_measured_length_that_keeps_the_default_parts_a_range() -> None:
    measured = cells("Allreduce", 4, 16, 24, 32)
    assert ranges(dict.fromkeys(cells("Allreduce", 4, 16, 32), RING), measured) == {
        ("Allreduce", 4): [(16, 16, RING), (32, 32, RING)]
    }


def test_cells_and_choices_pass_through_comments() -> None:
    measured = [*cells("Allreduce", 4, 8, 16), *cells("Barrier", 2, 0)]
    choices = {Cell("Allreduce", 4, 16): Algorithm("pipeline", 3, 65536, 4)}
    lines = [f"# {line}" for line in ("made by hand", *cells_lines(measured), *choices_lines(choices))]
    assert list(cells_in(lines)) == measured
    assert choices_in(lines) == choices


# --- Open MPI --------------------------------------------------------------------------------------------------------


def test_classic_file(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    choices = {Cell("Allreduce", 4, 65536): RING}
    switch = tuner.write(choices, choices, tmp_path, ["made by hand\n1 2 3", "for 4 ranks"])
    text = (tmp_path / "openmpi-tuned.conf").read_text()
    assert text.splitlines()[:3] == ["# made by hand 1 2 3", "# for 4 ranks", "# measured Allreduce 4: 65536"]
    rules = [line.partition("#")[0].strip() for line in text.splitlines() if not line.startswith("#")]
    assert rules == [
        "1",
        "2",
        "3",
        "0 1",
        "0 0 0 0",
        "4 3",
        "0 0 0 0",
        "65536 4 0 0",
        "65537 0 0 0",
        "5 1",
        "0 0 0 0",
    ]
    assert switch.environment == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(tmp_path / "openmpi-tuned.conf"),
    }


def test_lengths_of_all_ranks_where_the_library_counts_so(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    tuner.write({Cell("Allgather", 6, 100): BRUCK}, [], tmp_path, [])
    assert "\n600 2 0 0\n601 0 0 0\n" in (tmp_path / "openmpi-tuned.conf").read_text()


def test_neighboring_communicator_sizes_keep_their_own_rules(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    choices = {Cell("Allreduce", 4, 64): RING, Cell("Allreduce", 5, 64): Algorithm("rabenseifner", 6)}
    tuner.write(choices, choices, tmp_path, [])
    text = (tmp_path / "openmpi-tuned.conf").read_text()
    assert "4 3\n0 0 0 0\n64 4 0 0\n65 0 0 0\n5 3\n0 0 0 0\n64 6 0 0\n65 0 0 0\n6 1\n0 0 0 0\n" in text


def test_chains_have_the_fan_out_that_was_measured(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    chain = next(one for one in tuner.algorithms("Bcast") if one.name == "chain")
    variables = tuner.variables("Bcast", chain)
    assert chain.fanout == 4
    assert variables is None  # the text of ompi_info here lists no variable of fan-outs
    assert (
        tuner.forcing_switch("Bcast", chain).environment["OMPI_MCA_coll_tuned_bcast_algorithm_chain_fanout"]
        == "4"
    )
    tuner.write({Cell("Bcast", 4, 2**20): chain}, [], tmp_path, [])
    assert f"{2**20} 2 4 {chain.segment}\n" in (tmp_path / "openmpi-tuned.conf").read_text()


def test_on_several_hosts_han_gives_the_changed_cells_to_tuned(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi", OMPI_INFO + HAN_INFO, hosts=2)
    choices = {Cell("Allreduce", 4, 65536): RING, Cell("Alltoall", 4, 64): Algorithm("pairwise", 2)}
    switch = tuner.write(choices, choices, tmp_path, [])
    lines = (tmp_path / "openmpi-han.conf").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules == [
        "1",
        "2",
        "1",
        "2",
        "3",
        "1 1",
        "0 han",
        "4 3",
        "0 han",
        "65536 tuned",
        "65537 han",
        "5 1",
        "0 han",
    ]  # not Alltoall
    assert switch.environment["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"
    assert tuner.variables("Allreduce", RING) == {
        "coll_tuned_allreduce_algorithm": "4",
        "coll_han_priority": "0",
    }
    assert tuner.variables("Alltoall", Algorithm("pairwise", 2)) == {"coll_tuned_alltoall_algorithm": "2"}
    assert "Reduce" in tuner.related_collectives("Allreduce", DEFAULT)
    tuner.hosts = 1
    again = tuner.write(choices, choices, tmp_path, [])  # on one host it is not there
    assert not (tmp_path / "openmpi-han.conf").exists()
    assert "OMPI_MCA_coll_han_use_dynamic_file_rules" not in again.environment


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (Cell("Scan", 4, 8), "no rule by message size"),
        (Cell("Exscan", 4, 8), "no rule by message size"),
        (Cell("Alltoallv", 4, 8), "no rule by message size"),
        (Cell("Gather", 4, 8), "fails"),
        (Cell("Scatter", 4, 8), "wrong data"),
        (Cell("Allgather", 4, 0), "0 bytes"),
        (Cell("Bcast", 1, 8), "one rank"),
        (Cell("Reduce_scatter_block", 4, 24), "rounds"),
        (Cell("PingPong", 2, 8), "PingPong is not a collective"),
        (Cell("Ibcast", 2, 8), "Ibcast has no rules"),
    ],
)
def test_cells_that_a_rule_cannot_express(tmp_path: Path, cell: Cell, reason: str) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    said = tuner.rule_problem(cell)
    assert said
    assert reason in said
    with pytest.raises(ImbError, match=f"^{cell}: .*{reason}"):
        tuner.write({cell: RING}, [cell], tmp_path / "out", [])
    assert not (tmp_path / "out").exists()


def test_barriers_of_no_bytes_have_a_rule(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    tree = Algorithm("tree", 6)
    tuner.write({Cell("Barrier", 4, 0): tree}, [], tmp_path, [])
    assert "4 2\n0 6 0 0\n1 0 0 0\n" in (tmp_path / "openmpi-tuned.conf").read_text()
    assert tuner.read(tmp_path)[0] == {Cell("Barrier", 4, 0): tree}


def test_algorithms_that_are_known_not_to_serve(tmp_path: Path) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    assert tuner.exclusion_reason(Cell("Allgather", 4, 8), Algorithm("two_proc", 6)) == "for two ranks only"
    assert tuner.exclusion_reason(Cell("Allgather", 2, 8), Algorithm("two_proc", 6)) is None
    assert (
        tuner.exclusion_reason(Cell("Bcast", 4, 8192), Algorithm("pipeline", 3, 8192))
        == "the message is one segment"
    )


def test_a_setting_of_the_user_is_refused(tmp_path: Path) -> None:
    info = OMPI_INFO.replace(
        "coll_tuned_bcast_algorithm:source:default", "coll_tuned_bcast_algorithm:source:environment"
    )
    with pytest.raises(ImbError, match=r"coll_tuned_bcast_algorithm is set.*environment.*unset it"):
        open_mpi(tmp_path / "mpi", info).collectives()
    with pytest.raises(ImbError, match="ompi_info does not list"):
        open_mpi(tmp_path / "other", "nothing").collectives()


CHOICES = st.dictionaries(
    st.builds(
        Cell,
        st.sampled_from(["Allreduce", "Allgather", "Alltoall", "Bcast", "Reduce"]),
        st.integers(2, 9),
        st.integers(1, 1 << 20),
    ),
    st.integers(1, 4),
    max_size=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(numbers=CHOICES, others=st.sets(st.integers(1, 1 << 20), max_size=6))
@pytest.mark.slow
def test_what_is_written_is_read(tmp_path: Path, numbers: dict[Cell, int], others: set[int]) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    choices = {}
    for cell, number in numbers.items():
        choices[cell] = next(one for one in tuner.algorithms(cell.collective) if one.number == number)
    measured = sorted({*choices, *(Cell("Allreduce", 4, length) for length in others)})
    switch = tuner.write(choices, measured, tmp_path, ["header"])
    if not measured:
        return
    assert tuner.read(tmp_path) == (choices, measured, switch)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text + "7\n",
        lambda text: "",
        lambda text: "some other file\n",
        lambda text: text.replace("measured", "seen"),
        lambda text: text.replace("65536 4 0 0", "65536 99 0 0"),
        lambda text: text.replace("65536 4 0 0", "65536 -4 0 0"),
    ],
)
def test_damaged_files_are_refused_in_a_line(tmp_path: Path, change: object) -> None:
    tuner = open_mpi(tmp_path / "mpi")
    tuner.write({Cell("Allreduce", 4, 65536): RING}, [], tmp_path, ["by hand"])
    path = tmp_path / "openmpi-tuned.conf"
    path.write_text(change(path.read_text()))  # type: ignore[operator]
    with pytest.raises(ImbError, match=r"^[^\n]+$"):
        tuner.read(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ImbError, match=r"^[^\n]+$"):
        tuner.read(tmp_path)
    path.unlink()
    with pytest.raises(ImbError, match="cannot read"):
        tuner.read(tmp_path)


# --- MPICH -----------------------------------------------------------------------------------------------------------

TREE: dict[str, Any] = {
    "collective=allreduce": {
        "comm_type=intra": {
            "avg_msg_size<=8": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
            "avg_msg_size=any": {
                "count<pow2": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
                "count=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}},
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
    }
}


def test_tree_changes_in_the_cell_and_nowhere_else() -> None:
    found = ranges({Cell("Allreduce", 4, 64): RING}, cells("Allreduce", 4, 32, 64, 128))
    changed = _change(
        TREE, found, lambda collective, used: {f"algorithm=MPIR_{collective}_intra_{used.name}": {}}
    )
    for ranks in (2, 3, 4, 5, 8):
        for length in (1, 8, 9, 60, 63, 64, 65, 68, 1 << 20):
            cell = Cell("Allreduce", ranks, length)
            is_changed = (ranks, length) == (4, 64)
            wanted = "algorithm=MPIR_Allreduce_intra_ring" if is_changed else _decide(TREE, cell)
            assert _decide(changed, cell) == wanted, cell
    below = json.dumps(changed)
    assert '"is_commutative=no": {"avg_msg_size<=8"' in below  # other operations find the tree of the library
    assert '"is_op_built_in=no": {"avg_msg_size<=8"' in below
    assert (
        changed["collective=allreduce"]["comm_type=inter"] == TREE["collective=allreduce"]["comm_type=inter"]
    )
    assert "comm_size<" not in below.replace("comm_size<=", "")  # the library reads it as <= at places


def test_comments_of_a_tree_cannot_end_it() -> None:
    text = _text({}, ["a */ b", "c\nd"])
    assert json.loads(text.partition("*/")[2]) == {}


# --- Proof -----------------------------------------------------------------------------------------------------------


def test_proof_compares_each_cell() -> None:
    small, large, other = cells("Allreduce", 4, 8, 64, 128)
    own = {cell: frozenset({"doubling"}) for cell in (small, large, other)}
    acts = {**own, large: frozenset({"ring"})}
    forced = {("Allreduce", RING): {large: frozenset({"ring"})}}
    choices = {large: RING}

    def judged(**changes: object) -> FileProof:
        arguments = {"without": own, "with_file": acts, "forced": forced, **changes}
        return proof(choices, [small, large, other], **arguments)  # type: ignore[arg-type]

    assert not judged().wrong and not judged().missing
    assert judged(with_file=own).wrong == {large: "doubling in place of ring"}  # a file that is ignored
    elsewhere = judged(with_file={**acts, small: frozenset({"ring"})})
    assert elsewhere.wrong == {small: "ring in place of doubling"}
    assert judged(with_file={large: acts[large], small: acts[small]}).missing == (other,)
    assert judged(forced={}).missing == (large,)
    replaced = judged(forced={("Allreduce", RING): own}, with_file=own)
    assert not replaced.wrong and not replaced.missing
    assert replaced.alike == (large,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "truncated"),
        ("rank 0 of 1 lost 0\nAllreduce 4 8 0 ring 3\n", "truncated"),
        ("rank 0 of 1 lost 7\nend\n", "too many message sizes"),
        ("rank 0 of 2 lost 0\nend\n", "1 of 2 ranks"),
    ],
)
def test_reports_of_ranks_that_are_not_whole(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "host-1").write_text(text)
    with pytest.raises(ImbError, match=reason):
        executed_algorithms(tmp_path, by_rank=False)


def test_reports_of_ranks_are_read_together(tmp_path: Path) -> None:
    head = "rank {} of 2 lost 0\n"
    rows = "Allreduce 2 8 0 ring 40\nAllreduce 2 8 1 linear 40\nAllreduce 2 8 0 doubling 1\nend\n"
    for rank in (0, 1):
        (tmp_path / f"host-{rank}").write_text(head.format(rank) + rows)
    cell = Cell("Allreduce", 2, 8)
    assert executed_algorithms(tmp_path, by_rank=False) == {
        cell: frozenset({"ring", "doubling"})
    }  # in place: left out
    assert executed_algorithms(tmp_path, by_rank=False, rare=0.5) == {cell: frozenset({"ring"})}
    assert executed_algorithms(tmp_path, by_rank=True, rare=0.5) == {
        cell: frozenset({"rank 0: ring", "rank 1: ring"})
    }


def test_no_reports(tmp_path: Path) -> None:
    with pytest.raises(ImbError, match="0 of all ranks"):
        executed_algorithms(tmp_path / "none", by_rank=False)


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"not a library" * 100, b"\x7fELF\x02\x01" + b"\xff" * 200]
)
def test_symbols_of_what_is_no_library(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "library").write_bytes(data)
    with pytest.raises(ImbError, match="cannot read the symbols"):
        symbols(tmp_path / "library")


def test_other_mpis_cannot_be_tuned() -> None:
    """Also those whose files were never proven to act."""
    for flavor, version, major in (
        ("other", "Cray MPICH 8.1", 0),
        ("openmpi", "Open MPI 6.0.0", 6),
        ("intel", "Intel MPI 2021.18", 2021),
    ):
        mpi = Installation(flavor=flavor, version=version, major=major, wrapper="CC", launcher="srun")
        with pytest.raises(ImbError, match=rf"{version} cannot be tuned; imb tune has been tried with"):
            tuner_of(mpi)
