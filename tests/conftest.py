"""Which MPIs the tests run under."""

import functools
from collections.abc import Callable
from pathlib import Path

import lab
import pytest


@pytest.fixture(scope="session")
def liars(tmp_path_factory: pytest.TempPathFactory) -> Callable[[lab.Mpi, str], Path]:
    """tests/SOURCE as a library for interposing, built once for each MPI."""

    @functools.cache
    def library(mpi: lab.Mpi, source: str) -> Path:
        target = tmp_path_factory.mktemp("interposed") / f"{Path(source).stem}-{mpi.key}.so"
        return lab.compile_shared(mpi, lab.TOP / "tests" / source, target)

    return library


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "mpi" in metafunc.fixturenames:
        metafunc.parametrize("mpi", lab.MAIN, ids=lambda mpi: mpi.key)
    if "any_mpi" in metafunc.fixturenames:
        metafunc.parametrize("any_mpi", lab.REAL, ids=lambda mpi: mpi.key)


def pytest_sessionstart(session: pytest.Session) -> None:
    keys = {mpi.key for mpi in lab.MAIN}
    if lab.IN_CI and keys != {"openmpi", "mpich"}:
        pytest.exit(f"CI must have Open MPI and MPICH built, found {sorted(keys)}", returncode=1)


def pytest_report_header() -> str:
    return "MPIs: " + (
        ", ".join(mpi.key for mpi in lab.ALL.values() if mpi.program().exists()) or "none built"
    )
