"""imb tune where the truth is known: its launches are the suite on SimGrid, which forces algorithms and has exact times."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lab
import pytest
from companion.door import Imb, Said
from companion.fake_tuning import FakeTuner
from imb.cli import tune_stages
from imb.model.tuning import Algorithm
from imb.mpi import tuning as doors

sys.path.insert(0, str(lab.TOP / "bench"))
from companion.simulated_launcher import DEFAULT, Simulator  # noqa: E402
from simgrid import MACHINES, algorithms_of  # noqa: E402

pytestmark = pytest.mark.needs_mpi  # a simulated one

MARGIN = 0.05
CHECKED = "Sendrecv"  # in launches of the proof: no file changes it
_SCRIPT = """#!{python} -S
import sys
sys.path[:0] = {path!r}
from simulated_launcher import Simulator
sys.exit(Simulator(**{values!r}).launch(sys.argv[1:]))
"""


class SimulatedTuner(FakeTuner):
    """SMPI has no tuning files: the launcher reads those of FakeTuner. `names`: algorithms of each collective."""

    def __init__(self, names: Mapping[str, Sequence[str]], *, switches: bool = False) -> None:
        super().__init__([], switches=switches)
        self.of_each = names

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
        values = Simulator(machine, str(smpi.program()), smpi.launcher[0], str(kept), list(lengths))
        path = [str(lab.TOP / folder) for folder in ("tests/companion", "bench")]
        script = _SCRIPT.format(python=sys.executable, path=path, values=values._asdict())
        (tmp_path / "mpi/bin").mkdir(parents=True)
        scripts = {"mpicxx": "#!/bin/sh\necho c++\n", "mpiexec": script, "IMB-MPI1": "#!/bin/sh\n"}
        for name, text in scripts.items():
            (tmp_path / "mpi/bin" / name).write_text(text)
            (tmp_path / "mpi/bin" / name).chmod(0o755)
        monkeypatch.setattr(doors, "tuner_of", lambda mpi, hosts=1: tuner)
        monkeypatch.setattr(tune_stages, "tuner_of", lambda mpi, hosts=1: tuner)
        said = imb(
            *("tune", "--mpi", tmp_path / "mpi", "--programs", tmp_path / "mpi/bin", "--seed", "1"),
            *("--np", MACHINES[machine].ranks, "--output", tmp_path / "out", "--format", "json", *words),
            *("--", "-msgsize", ",".join(map(str, lengths))),
        )
        return said, values

    return run


def seconds(simulator: Simulator, collective: str, algorithm: str) -> dict[int, float]:
    """What the simulations left: the truth."""
    known = simulator.known(collective, algorithm)
    return {int(length): row["time_max_seconds"] for length, row in known.items() if length.isdecimal()}


def chosen_of(said: Said) -> dict[tuple[str, int], dict[str, Any]]:
    return {(one["collective"], one["bytes"]): one for one in json.loads(said.out)["cells"]}


def test_choices_are_the_known_best_on_a_fat_tree(tune: Tune, tmp_path: Path) -> None:
    names = {
        "Bcast": ["flattree", "NTSB", "mvapich2_inter_node", "ompi_pipeline"],
        "Allreduce": ["rdb", "rab2", "smp_rsag"],
    }
    lengths = (4, 1024, 16384, 262144)
    said, simulator = tune("tree-16", lengths, SimulatedTuner(names))
    assert said.code == 0, said.err
    print(said.out, said.err)


def test_choices_are_the_known_best_on_a_dragonfly(tune: Tune, tmp_path: Path) -> None:
    names = {
        "Alltoall": ["basic_linear", "2dmesh", "pair", "pair_rma"],
        "Reduce": ["mvapich2_knomial", "rab", "binomial", "scatter_gather"],
    }
    said, simulator = tune("dragonfly-16", (64, 1024, 8192, 65536), SimulatedTuner(names, switches=True))
    assert said.code == 0, said.err
    print(said.out, said.err)
