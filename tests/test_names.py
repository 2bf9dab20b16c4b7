"""schema/benchmarks.json lists the benchmarks that every built program of every MPI has."""

import json
import re
import subprocess
import sys
from typing import Any, get_args

import lab
import pytest
import test_codegen
import test_simulated
import test_simulated_nonblocking
from imb.model.records import PARTS, Component

sys.path.insert(0, str(lab.TOP / "tools"))
from benchmark_names import lasting
from collectives import COLLECTIVES

NAMES = json.loads((lab.TOP / "schema" / "benchmarks.json").read_text())
COMPONENTS = [component["name"] for component in NAMES["components"]]


def printed(mpi: lab.Mpi, component: str) -> Any:
    """Without a launcher, as `make names` and scripts call it."""
    words = [str(mpi.program(component)), "-list", "json"]
    return json.loads(subprocess.check_output(words, env=lab.environment(mpi), timeout=60))


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_program_lists_these_benchmarks(any_mpi: lab.Mpi, component: str) -> None:
    if not any_mpi.program(component).exists():
        lab.missing(f"IMB-{component} of {any_mpi.key}")
    assert lasting(printed(any_mpi, component)) == NAMES, "run `make names` after an intended change"


def test_there_is_one_list_of_components() -> None:
    """CMake and the Makefile read it; those that cannot read it say the same."""
    assert (lab.TOP / "src" / "benchmarks" / "components.txt").read_text().split() == COMPONENTS
    assert "$(COMPONENTS:%=IMB-%): IMB-%: %" in (lab.TOP / "Makefile").read_text()
    assert set(get_args(Component)) == set(PARTS) == set(COMPONENTS)
    schema = json.loads((lab.TOP / "schema" / "record.schema.json").read_text())
    assert set(schema["$defs"]["run"]["properties"]["component"]["enum"]) == set(COMPONENTS)
    packaging = lab.TOP / "packaging"
    for file in (*packaging.glob("easybuild/*.eb"), packaging / "spack" / "package.py"):
        _, _, names = file.read_text().partition("for name in (")
        assert re.findall(r"[A-Z0-9]+", names.partition(")")[0]) == COMPONENTS, file


def test_every_program_is_a_component(any_mpi: lab.Mpi) -> None:
    programs = {path.name.removeprefix("IMB-") for path in (any_mpi.build / "bin").glob("IMB-*")}
    assert programs <= set(COMPONENTS)


def test_lab_reads_names_in_their_order() -> None:
    assert lab.names("MPI1")[:2] == ["PingPong", "PingPongSpecificSource"]
    by_default, others = (lab.names("NBC", default=default) for default in (True, False))
    assert sorted(by_default + others) == sorted(lab.names("NBC"))
    assert "Ibcast" in by_default and "Ibcast_pure" in others


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_benchmark_has_its_calls_in_the_machine_code(component: str) -> None:
    patterns = {  # names in two components
        "WindowCreation": "Window",
        "FencedAccumulate": "Accumulate",
        "PairsPingPong": "PingPong",
        "PairsPingPing": "PingPing",
    }
    patterns |= test_codegen.OF_THREADS if component == "MT" else {}
    covered = {patterns.get(name, name) for name in test_codegen.BENCHMARKS[component]}
    if component == "MPI1":  # second names, without loops of their own
        covered |= {"PingPongAnySource", "PingPingAnySource"}
    if component == "MPI4":  # of which the collectives have one loop
        covered |= {
            name for name in lab.names(component) if re.fullmatch(r"[A-Z][a-z_]+_persist(_pure)?", name)
        }
        covered.remove("PersistentLoop")
    assert covered == set(lab.names(component))


def test_every_benchmark_has_its_time_on_the_simulated_machine() -> None:
    """But neighborhood collectives and matched probes, which SMPI lacks."""
    formulas = test_simulated.TRANSFERS.keys() | COLLECTIVES.keys()
    assert formulas == {name for name in lab.names("MPI1") if not re.match("Neighbor_|.*_mprobe", name)}
    with_load = {name for name in lab.names("NBC") if not name.endswith("_pure") and "neighbor" not in name}
    assert set(test_simulated_nonblocking.NONBLOCKING) == with_load
