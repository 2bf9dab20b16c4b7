"""Which MPIs the tests run under."""

import lab
import pytest


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
