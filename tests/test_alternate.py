"""-alternate: variants of the MPI's variables within one launch, that they act, and what happens where they cannot."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import lab
import pytest
from test_passes import check_results

ELEMENTS = 16384  # floats; an Allreduce of 64 KiB
SHORT = f"-time 60 -msgsize {4 * ELEMENTS} -npmin 4"
RULES = "OMPI_MCA_coll_tuned_use_dynamic_rules"
OPEN_MPI, MPICH = "coll_tuned_allreduce_algorithm", "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
ON_ONE_HOST = "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE=0"
Libraries = Callable[[lab.Mpi, str], Path]


def variants_for(mpi: lab.Mpi) -> tuple[str, str]:
    """Two variants beside the default, and the variable that they set."""
    if mpi.flavor == "openmpi":
        return f"default\nring {OPEN_MPI}=ring\nlinear {OPEN_MPI}=1  # basic_linear\n", OPEN_MPI
    lines = [f"{name} {ON_ONE_HOST} {MPICH}={name}\n" for name in ("ring", "recursive_doubling")]
    return "default\n" + "".join(lines), MPICH


@pytest.fixture
def alternating(any_mpi: lab.Mpi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lab.Mpi:
    """An MPI whose algorithms variables choose, with `variants.txt` in the folder."""
    if any_mpi.flavor not in ("openmpi", "mpich") or any_mpi.key == "deb-mpich":
        pytest.skip("no variables for algorithms")
    monkeypatch.setenv(RULES, "1")
    monkeypatch.setenv("MPIR_CVAR_NOLOCAL", "1")  # else MPICH's messages on one host do not pass through UCX
    (tmp_path / "variants.txt").write_text(variants_for(any_mpi)[0])
    return any_mpi


def launch(mpi: lab.Mpi, folder: Path, words: str = "", *, ranks: int = 4, **keys: object) -> lab.Launch:
    words = f"-alternate {folder / 'variants.txt'} {SHORT} {words} Allreduce"
    return lab.run(mpi, ranks, words, records=folder, **keys)  # type: ignore[arg-type]


def counted(done: lab.Launch) -> dict[int, dict[str, int]]:
    """By value of the variable, how often which algorithm ran."""
    found: dict[int, dict[str, int]] = {}
    for value, what, times in re.findall(r"counted: (-?\d+) (\w+) (\d+)", done.errors):
        found.setdefault(int(value), {})[what] = int(times)
    return found


def repetitions(done: lab.Launch) -> dict[str, int]:
    """Measured, by variant."""
    rows = {record["row"]: record["variant"] for record in done.records if record["record"] == "row"}
    total = dict.fromkeys(rows.values(), 0)
    for record in done.records:
        if record["record"] == "sample":
            total[rows[record["row"]]] += record["repetitions"]
    return total


def test_each_variant_runs_its_algorithm(alternating, liars: Libraries, tmp_path):
    mpi = alternating
    variable = variants_for(mpi)[1]
    preload = f"LD_PRELOAD={liars(mpi, 'counting_algorithms.cpp')}"
    wrap = ["env", preload, f"COUNT_VARIABLE={variable}", f"COUNT_ELEMENTS={ELEMENTS}"]
    done = launch(mpi, tmp_path, "-check -passes 4", wrap=wrap)
    assert done.code == 0, done.errors
    assert all(row["defects"] == 0 for row in done.rows)
    measured, found = repetitions(done), counted(done)
    if mpi.flavor == "openmpi":
        # Before the first write no Allreduce has this length.
        assert found.keys() == {0, 1, 4}
        for value, label, algorithm in ((1, "linear", "basic_linear"), (4, "ring", "ring")):
            assert found[value].keys() == {"calls", algorithm}, found
            assert found[value]["calls"] == found[value][algorithm] >= measured[label]
        assert not found[0].keys() & {"basic_linear"}
        assert found[0]["calls"] >= measured["default"]
    else:
        # Four ranks: a ring has three steps of reduction and three of distribution; doubling has two.
        for value, label, messages in ((8, "ring", 6), (3, "recursive_doubling", 2)):
            assert found[value]["sends"] == messages * found[value]["calls"], found
            assert found[value]["calls"] >= measured[label]
        assert found[0]["calls"] >= measured["default"]


def test_samples_alternate_and_tables_are_apart(alternating, tmp_path):
    done = launch(alternating, tmp_path, "-passes 6 -msgsize 8,64")
    assert done.code == 0, done.errors
    check_results(done)
    labels = [line.split()[0] for line in variants_for(alternating)[0].splitlines()]
    assert [(row["variant"], row["bytes"]) for row in done.rows] == [(x, n) for x in labels for n in (8, 64)]
    heads = re.findall(r"# Benchmarking Allreduce \n# #processes = 4 \n# variant = (\S+)\n", done.text)
    assert heads == labels
    rows = {record["row"]: record for record in done.records if record["record"] == "row"}
    order = [rows[record["row"]]["variant"] for record in done.records if record["record"] == "sample"]
    turns = [order[at : at + 3] for at in range(0, len(order), 3)]
    assert len(turns) == 12 and all(sorted(turn) == sorted(labels) for turn in turns)
    assert {turn[0] for turn in turns} == set(labels)
    run = done.records[0]
    assert [one["label"] for one in run["variants"]] == labels
    assert run["variants"][0]["variables"] == {}
    variable = variants_for(alternating)[1]
    assert run["variables_at_start"][variable] == "0"
    assert all(variable in one["variables"] for one in run["variants"][1:])


def test_precision_ends_the_passes_of_all_variants_together(alternating, tmp_path):
    done = launch(alternating, tmp_path, "-precision 100 -passes 40")
    assert done.code == 0, done.errors
    counts = {row["variant"]: row["passes"]["samples"] for row in done.rows}
    assert len(counts) == 3 and len(set(counts.values())) == 1


def test_variants_share_the_memory(mpi, liars: Libraries, tmp_path, monkeypatch):
    """Twenty variants need as much as one, but for communicators."""
    from test_failures import Injector, peaks

    monkeypatch.setenv(RULES, "1")
    variable = OPEN_MPI if mpi.flavor == "openmpi" else MPICH
    injector = Injector(mpi, "MPI1", liars(mpi, "peak_memory.cpp"), tmp_path)
    used = []
    for many in (1, 20):
        file = tmp_path / f"{many}.txt"
        file.write_text("".join(f"v{i} {variable}={i % 4}\n" for i in range(many)))
        outcome = injector.baseline(f"-alternate {file} -passes 1 -iter 1 -npmin 2 -msgsize 16m Bcast")
        used.append(peaks(outcome)[0][0])
    assert used[1] - used[0] < 24 << 10, used  # kB; a buffer has 16 MiB


@pytest.mark.needs_mpi
def test_variants_of_many_tables_need_few_communicators(tmp_path):
    """MPICH has some 2,000; 14 tables of 160 variants are more."""
    mpi = next((mpi for mpi in lab.MAIN if mpi.flavor == "mpich"), None) or lab.missing("MPICH")
    names = "Bcast Allreduce Reduce Reduce_scatter Allgather Allgatherv Scatter Scatterv Gather Gatherv Alltoall Alltoallv PingPong PingPing"
    file = tmp_path / "variants.txt"
    file.write_text("".join(f"v{i} MPIR_CVAR_BCAST_MIN_PROCS={i}\n" for i in range(160)))
    done = lab.run(mpi, 2, f"-alternate {file} -passes 1 -iter 2 -msgsize 4 {names}")
    assert done.code == 0, done.errors
    assert done.text.count("# Benchmarking") == 160 * len(names.split())


ERRORS: dict[str, tuple[dict[str, str | None], str]] = {
    "unknown variable": (
        {"openmpi": "x coll_tuned_allreduce_algoritm=1", "mpich": "x MPIR_CVAR_ALLREDUCE_INTRA_ALGORITM=1"},
        r"x: this MPI has no variable \S+; did you mean (coll_tuned|MPIR_CVAR)_\w+\?",
    ),
    "read-only": (
        {"openmpi": "x coll_tuned_allreduce_algorithm_count=3", "mpich": None},
        r"x: coll_tuned_allreduce_algorithm_count: this MPI cannot change it after MPI_Init; set it in the environment",
    ),
    "acts in MPI_Init only": (
        {"openmpi": None, "mpich": "x MPIR_CVAR_CH4_NETMOD=ofi"},
        r"x: MPIR_CVAR_CH4_NETMOD: MPICH reads it only in MPI_Init; set it in the environment and compare launches",
    ),
    "which processes share a host": (
        {"openmpi": None, "mpich": "x MPIR_CVAR_NOLOCAL=1"},
        r"x: MPIR_CVAR_NOLOCAL: MPICH reads it only in MPI_Init; set it in the environment and compare launches",
    ),
    "no such word": (
        {"openmpi": f"x {OPEN_MPI}=fast", "mpich": f"x {MPICH}=fast"},
        r"x: \w+=fast: the value is not one of \w+ \(0\), .*ring \(\d\).*",
    ),
    "no such number": (
        {"openmpi": f"x {OPEN_MPI}=99", "mpich": f"x {MPICH}=99"},
        r"x: \w+=99: (this MPI refuses it: .+|the value is not one of auto \(0\), .+)",
    ),
    "a text that is too long": (
        {"openmpi": f"x coll_tuned_dynamic_rules_filename={'y' * 5000}", "mpich": f"x MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={'y' * 5000}"},
        r"x: \w+: the text is too long; this MPI takes \d+ characters",
    ),
    "a text for a number": (
        {"openmpi": "x coll_tuned_init_tree_fanout=many", "mpich": "x MPIR_CVAR_BCAST_MIN_PROCS=many"},
        r"x: \w+=many: the value is not a whole number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_what_cannot_be_set_is_an_error_before_anything_is_measured(mpi, what, tmp_path, monkeypatch):
    monkeypatch.setenv(RULES, "1")
    lines, message = ERRORS[what]
    if lines[mpi.flavor] is None:
        pytest.skip("it has no such variables")
    (tmp_path / "variants.txt").write_text(f"default\n{lines[mpi.flavor]}\n")
    (tmp_path / "records.jsonl").write_text("kept\n")
    done = lab.run(
        mpi,
        2,
        ["-alternate", str(tmp_path / "variants.txt"), "-json", str(tmp_path / "records.jsonl"), "Bcast"],
    )
    assert done.code == 2 and not done.text.strip(), done.text
    [line] = done.own_errors
    assert re.fullmatch(f"IMB-MPI1: -alternate: {message}", line)
    assert (tmp_path / "records.jsonl").read_text() == "kept\n"


@pytest.mark.needs_mpi
def test_open_mpi_ignores_the_variables_without_rules(tmp_path, monkeypatch):
    mpi = next((mpi for mpi in lab.MAIN if mpi.flavor == "openmpi"), None) or lab.missing("Open MPI")
    monkeypatch.delenv(RULES, raising=False)
    (tmp_path / "variants.txt").write_text(f"default\nring {OPEN_MPI}=ring\n")
    done = lab.run(mpi, 2, ["-alternate", str(tmp_path / "variants.txt"), "Bcast"])
    assert done.code == 2 and done.own_errors == [
        f"IMB-MPI1: -alternate: ring: {OPEN_MPI}: Open MPI ignores it unless {RULES}=1 is in the environment of all ranks"
    ]


@pytest.mark.needs_mpi
def test_mpich_is_told_of_collectives_of_the_device(tmp_path):
    mpi = next((mpi for mpi in lab.MAIN if mpi.flavor == "mpich"), None) or lab.missing("MPICH")
    (tmp_path / "variants.txt").write_text(f"default\nring {MPICH}=ring\nboth {ON_ONE_HOST} {MPICH}=ring\n")
    done = lab.run(mpi, 2, f"-alternate {tmp_path / 'variants.txt'} -passes 1 -msgsize 8 Allreduce")
    assert done.code == 0 and done.own_errors == [
        f"IMB-MPI1: warning: -alternate: ring: {MPICH} has no effect if MPICH uses device collectives, as it does on one"
        f" host; also set {ON_ONE_HOST}"
    ]


@pytest.mark.needs_mpi
def test_the_simulator_has_no_variables(tmp_path):
    from test_simulated import simulate

    (tmp_path / "variants.txt").write_text("default\n")
    done = simulate(tmp_path, 2, f"-alternate {tmp_path / 'variants.txt'} Bcast", status=2)
    assert "IMB-MPI1: -alternate: this MPI has no control variables (MPI_T)" in done.errors


@pytest.mark.parametrize("rank", [0, 1])
def test_a_variable_that_one_rank_cannot_set_is_an_error_of_all(mpi, rank, liars, tmp_path, monkeypatch):
    """The first write is of the trial."""
    from test_failures import Injector

    monkeypatch.setenv(RULES, "1")
    (tmp_path / "variants.txt").write_text(variants_for(mpi)[0])
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), tmp_path)
    outcome = injector.launch(
        f"-alternate {tmp_path / 'variants.txt'} -passes 2 -msgsize 8 Allreduce",
        FAIL_CALL="MPI_T_cvar_write",
        FAIL_RANK=rank,
        FAIL_AT=1,
    )
    assert outcome.injected and outcome.done, outcome.hang
    assert outcome.done.code == 2, outcome.done.errors
    [line] = outcome.done.own_errors
    assert re.match(r"IMB-MPI1: -alternate: ring: \w+=\d: this MPI refuses it: .+", line)
    assert not outcome.done.text.strip()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_variable_that_cannot_be_set_any_more_ends_the_job(mpi, rank, liars, tmp_path, monkeypatch):
    """After the trial's writes, while it is measured: a sample under other values must not count."""
    from test_failures import ABORTED, Injector

    monkeypatch.setenv(RULES, "1")
    (tmp_path / "variants.txt").write_text(variants_for(mpi)[0])
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), tmp_path)
    words = f"-alternate {tmp_path / 'variants.txt'} -passes 2 -msgsize 8 -npmin 2 Allreduce"
    outcome = injector.launch(words, FAIL_CALL="MPI_T_cvar_write", FAIL_RANK=rank, FAIL_AT=30)
    assert outcome.injected and outcome.done, outcome.hang
    assert outcome.done.code == ABORTED, outcome.done.errors
    [line] = outcome.done.own_errors
    assert re.fullmatch(
        rf"IMB-MPI1: rank {rank}: Allreduce, 2 processes, .*variant \w+: \w+=\d+: this MPI refuses it: .+; the run is aborted",
        line,
    )


def test_windows_and_requests_are_made_under_their_variant(mpi, tmp_path, monkeypatch):
    monkeypatch.setenv(RULES, "1")
    (tmp_path / "variants.txt").write_text(variants_for(mpi)[0])
    for component, name in (("NBC", "Iallreduce"), ("RMA", "Unidir_put"), ("EXT", "Unidir_Put")):
        done = lab.run(
            mpi,
            2,
            f"-alternate {tmp_path / 'variants.txt'} -passes 2 -iter 4 -msgsize 64 -check {lab.SHORT_LOAD} {name}",
            component=component,
            records=tmp_path,
        )
        assert done.code == 0, done.errors
        assert {row["variant"] for row in done.rows} == {
            line.split()[0] for line in variants_for(mpi)[0].splitlines()
        }


def test_records_name_the_variant_everywhere(mpi, tmp_path, monkeypatch):
    """Of a row that fails, too."""
    monkeypatch.setenv(RULES, "1")
    (tmp_path / "variants.txt").write_text(variants_for(mpi)[0])
    done = lab.run(
        mpi,
        2,
        f"-alternate {tmp_path / 'variants.txt'} -passes 1 -mem 0.001 -msgsize 8,4m Allreduce",
        records=tmp_path,
    )
    assert done.code == 0
    kinds = [(record["record"], record["variant"]) for record in done.records if "variant" in record]
    assert {kind for kind, _ in kinds} == {"row", "result", "failure"}
    assert sum(kind == "failure" for kind, _ in kinds) == 3
    assert json.loads((tmp_path / "records.jsonl").read_text().splitlines()[-1])["failed"] == 3


@pytest.mark.alone  # ranks that wait for their CPUs begin late
def test_ranks_arrive_alike_under_all_variants(alternating, tmp_path):
    """xN is a multiple of what the operation takes under the first variant."""
    words = f"-alternate {tmp_path / 'variants.txt'} -msgsize 8 -passes 3 -arrival last:x2 Allreduce"
    done = lab.run(alternating, 2, words, records=tmp_path)
    assert done.code == 0, done.errors
    assert len({row["variant"] for row in done.rows}) == 3
    (width,) = {row["arrival_width_seconds"] for row in done.rows}
    assert width > 0
