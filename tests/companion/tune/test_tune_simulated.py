"""imb tune where the truth is known: its launches are the suite on SimGrid, which forces algorithms and has exact times."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import lab
import pytest
from companion.door import Imb, Said
from companion.tune.fake_tuning import FakeTuner
from imb.tune import tune_experiment
from imb.tune.cells import Algorithm

sys.path.insert(0, str(lab.TOP / "bench"))
from companion.simulated_launcher import DEFAULT, Simulator
from simgrid import AS_OPEN_MPI, MACHINES

pytestmark = pytest.mark.needs_mpi  # a simulated one

MARGIN = 0.05
Names = Mapping[str, Sequence[str]]  # of algorithms of each collective
_SCRIPT = """#!{python} -S
import sys
sys.path[:0] = {path!r}
from simulated_launcher import Simulator
sys.exit(Simulator(**{values!r}).launch(sys.argv[1:]))
"""


class SimulatedTuner(FakeTuner):
    """SMPI has no tuning files: the launcher reads those of FakeTuner. `names`: algorithms of each collective;
    `chooser`: what chooses among them by default."""

    def __init__(self, names: Names, *, switches: bool = False, chooser: str = AS_OPEN_MPI) -> None:
        super().__init__([], switches=switches)
        self.of_each = names
        self.chooser = chooser

    def collectives(self) -> Sequence[str]:
        return list(self.of_each)

    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        return [Algorithm(name) for name in self.of_each[collective]]


Tune = Callable[..., tuple[Said, Simulator]]


@pytest.fixture
def tune(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tune:
    """`imb tune` of these algorithms on a simulated machine, at these lengths."""
    smpi = lab.smpi()
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr("imb.mpi.launch.GRACE", 0.1)
    monkeypatch.chdir(tmp_path)

    def run(
        machine: str, lengths: Sequence[int], tuner: SimulatedTuner, *words: object
    ) -> tuple[Said, Simulator]:
        values = Simulator(
            machine, str(smpi.program()), smpi.launcher[0], str(kept), list(lengths), tuner.chooser
        )
        path = [str(lab.TOP / folder) for folder in ("tests/companion", "bench")]
        script = _SCRIPT.format(python=sys.executable, path=path, values=values._asdict())
        (tmp_path / "mpi/bin").mkdir(parents=True)
        scripts = {"mpicxx": "#!/bin/sh\necho c++\n", "mpiexec": script, "IMB-MPI1": "#!/bin/sh\n"}
        for name, text in scripts.items():
            (tmp_path / "mpi/bin" / name).write_text(text)
            (tmp_path / "mpi/bin" / name).chmod(0o755)
        monkeypatch.setattr("imb.tune.tuner.tuner_of", lambda mpi, hosts=1: tuner)
        monkeypatch.setattr(tune_experiment, "tuner_of", lambda mpi, hosts=1: tuner)
        said = imb(
            *("tune", "--mpi", tmp_path / "mpi", "--programs", tmp_path / "mpi/bin", "--seed", "1"),
            *("--np", MACHINES[machine].ranks, "--output", tmp_path / "out", "--format", "json", *words),
            *("--", "-msgsize", ",".join(map(str, lengths))),
        )
        return said, values

    return run


def seconds(simulator: Simulator, collective: str, algorithm: str, length: int) -> float:
    """What the simulations took: the truth."""
    return float(simulator.known(collective, algorithm)[str(length)]["time_max_seconds"])


def screened(said: Said) -> dict[tuple[str, str], str]:
    """Why each algorithm that is out in all cells is out."""
    value = json.loads(said.out)["screened"]
    return {(one["collective"], one["algorithm"]): one["why"] for one in value if one["cells"] == one["of"]}


def examine(said: Said, simulator: Simulator, names: Names, folder: Path) -> None:
    """Each choice is within the margin of the best algorithm that works, none is slower than the default, and the file says the same."""
    value = json.loads(said.out)
    assert value["file"] and value["acts"] == "what ranks wrote" and value["unproven"] is None
    rules = json.loads((folder / "rules.json").read_text())["rules"]
    in_file = {(collective, length): name for collective, _, length, name in rules}
    out = screened(said)
    changed = 0
    for cell in value["cells"]:
        key = collective, length = cell["collective"], cell["bytes"]
        able = [DEFAULT, *(name for name in names[collective] if (collective, name) not in out)]
        truth = {name: seconds(simulator, collective, name, length) for name in able}
        best, chosen = min(truth.values()), truth[cell["chosen"]]
        assert chosen <= truth[DEFAULT], cell
        assert chosen <= best * (1 + MARGIN), cell
        assert in_file.get(key, DEFAULT) == cell["chosen"]
        if cell["chosen"] != DEFAULT:
            changed += 1
            low, high = cell["interval"]
            assert cell["verdict"] == "confirmed"
            assert 1 < low < truth[DEFAULT] / chosen < high, cell
    assert len(in_file) == changed
    assert 3 < changed < len(value["cells"])  # the default is the best in some


def test_choices_on_a_fat_tree_are_the_known_best(tune: Tune, tmp_path: Path) -> None:
    """Candidates have launches of their own, which are interleaved."""
    names = {
        "Bcast": ["flattree", "NTSB", "mvapich2_inter_node", "ompi_pipeline"],
        "Allreduce": ["rdb", "rab2", "smp_rsag"],
        "Reduce_scatter": ["ompi_ring"],
    }
    said, simulator = tune("tree-16", (4, 1024, 16384, 262144), SimulatedTuner(names))
    assert said.code == 0, said.err
    examine(said, simulator, names, tmp_path / "out")
    assert screened(said) == {
        ("Bcast", "ompi_pipeline"): "failed with exit status 136",  # it divides by zero
        ("Allreduce", "smp_rsag"): "delivers wrong data",
    }
    assert json.loads(said.out)["notes"] == [
        "Reduce_scatter on 16 ranks is left out: wrong data received with the library's own choice"
    ]


def test_choices_on_a_dragonfly_are_the_known_best(tune: Tune, tmp_path: Path) -> None:
    """Candidates alternate within a launch."""
    names = {
        "Alltoall": ["basic_linear", "2dmesh", "pair", "pair_rma"],
        "Reduce": ["mvapich2_knomial", "rab", "binomial", "scatter_gather"],
    }
    said, simulator = tune("dragonfly-16", (64, 1024, 8192, 65536), SimulatedTuner(names, switches=True))
    assert said.code == 0, said.err
    examine(said, simulator, names, tmp_path / "out")
    assert screened(said) == {
        ("Alltoall", "pair_rma"): "delivers wrong data",
        ("Reduce", "scatter_gather"): "delivers wrong data",
    }


WRONG = "delivers wrong data"
# On 16 ranks, at 4 bytes. `automatic` and the names of MPIs choose among algorithms.
BAD: Mapping[str, Mapping[str, str]] = {
    "Allreduce": dict.fromkeys(["smp_rsag", "smp_rsag_lr", "smp_rsag_rab"], WRONG),
    "Alltoall": {"pair_rma": WRONG},
    "Bcast": {
        "arrival_pattern_aware": "failed with exit status 134",
        "arrival_pattern_aware_wait": "killed after",
        "arrival_scatter": "failed with exit status 139",
        "SMP_linear": "failed with exit status 5",  # the suite ends the run: MPI_ERR_TYPE
        "ompi_split_bintree": "failed with exit status 5",
        "ompi_pipeline": "failed with exit status 136",
        "automatic": "killed after|failed with exit status 139",  # tries all algorithms: which comes first depends on the limit
    },
    "Reduce": dict.fromkeys(["arrival_pattern_aware", "NTSL", "scatter_gather", "automatic"], WRONG),
    "Reduce_scatter": {
        **dict.fromkeys(["ompi", "ompi_basic_recursivehalving", "impi"], WRONG),
        "mpich_noncomm": "failed with exit status 134",
        "automatic": "failed with exit status 134",
    },
}
GOOD = {
    "Allreduce": "rab_rdb",
    "Alltoall": "ring_mpi_barrier",
    "Bcast": "scatter_LR_allgather",
    "Reduce": "ompi_basic_linear",
    "Reduce_scatter": "ompi_ring",
}


def test_all_algorithms_that_do_not_work_are_screened_out(
    tune: Tune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the 100 that SimGrid 3.32 lists for these collectives; those that work, but one of each, are left out here to save time."""
    monkeypatch.setattr("imb.tune.tune_planning.SCREENED", 5.0)
    names = {collective: [*bad, GOOD[collective]] for collective, bad in BAD.items()}
    as_mpich = "smpi/coll-selector:mpich"  # whose Reduce_scatter is right
    tuner = SimulatedTuner(names, switches=True, chooser=as_mpich)
    said, _ = tune("tree-16", [4], tuner)
    assert said.code == 0, said.err
    out = screened(said)
    assert out.keys() == {(collective, name) for collective, bad in BAD.items() for name in bad}
    for (collective, name), why in out.items():
        assert re.match(BAD[collective][name], why), (collective, name, why)
    assert {one["chosen"] for one in json.loads(said.out)["cells"]} == {DEFAULT}
    assert len(json.loads(said.out)["cells"]) == len(BAD) and not (tmp_path / "out").exists()
