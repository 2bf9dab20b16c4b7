"""Which MPIs the tests run under."""

import atexit
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import lab
import psutil
import pytest
from imb import registry

# Under nohup SIGHUP is ignored, and launches would inherit that. What has a handler is reset for them.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


# Matrices of the judges are small: threads of BLAS wait for each other longer than they compute. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long a test takes on a busy machine says nothing about the code.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

# Launches have a folder of their own for temporary files; this process, and those that pytest-xdist starts, keep to the
# system's.
tempfile.tempdir = os.environ.setdefault("OPENIMB_TESTS_TMPDIR", tempfile.gettempdir())
launches_folder = Path(tempfile.mkdtemp(prefix="openimb-tests-"))
atexit.register(shutil.rmtree, launches_folder, ignore_errors=True)
os.environ["TMPDIR"] = str(launches_folder)


@pytest.fixture(autouse=True)
def no_session_folders() -> Iterator[None]:
    """Removes what Open MPI's killed launchers left, so that a later one with the same process number starts
    (docs/known-mpi-issues.md)."""
    yield
    for folder in launches_folder.glob("ompi.*"):
        pid = folder.name.removeprefix("ompi.")  # of Open MPI 4 a host and a user
        if pid.isdecimal() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def liars() -> Callable[[lab.Mpi, str], Path]:
    """tests/SOURCE as a library for interposing, built once for each MPI."""
    return lab.interposed


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: for tests that write or force many files."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="openimb-", dir=memory) as folder:
        yield Path(folder)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-mpi", action="store_true", help="run the tests that need no MPI; refuse one to these"
    )
    parser.addoption(
        "--with-mpi", action="store_true", help="run the tests that --no-mpi -m 'not browser' leaves out"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs_mpi: needs an MPI, although no fixture says so")
    config.addinivalue_line(
        "markers", "slow: takes seconds; `make check` leaves it out, `make test` does not"
    )
    config.addinivalue_line("markers", "browser: looks at reports in a real one")
    config.addinivalue_line(
        "markers", "alone: judges what was measured; runs beside one other of its kind at most"
    )
    config.addinivalue_line("markers", "slice(name): uses a slice of the companion")
    lab.no_mpi = config.getoption("--no-mpi")
    if lab.no_mpi:
        sys.addaudithook(refuse_real_mpi)


MPI_FIXTURES = ("mpi", "any_mpi")
MPI_PROGRAMS = {"mpicc", "mpicxx", "mpic++", "mpiexec", "mpirun", "prterun", "smpicxx", "smpirun"}


def refuse_real_mpi(event: str, words: tuple[object, ...]) -> None:
    """Of the programs of an MPI, tests that need none start the scripts that they wrote themselves."""
    if event != "subprocess.Popen" or Path(str(words[0])).name.split(".")[0] not in MPI_PROGRAMS:
        return
    program = shutil.which(str(words[0]))
    if program and not Path(program).is_relative_to(tempfile.gettempdir()):
        lab.refuse_mpi(program)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in MPI_FIXTURES:
        if name in metafunc.fixturenames:
            mpis = [] if lab.no_mpi else lab.MAIN if name == "mpi" else lab.REAL
            metafunc.parametrize(name, mpis, ids=lambda mpi: mpi.key)


def needs_mpi(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return bool(item.get_closest_marker("needs_mpi")) or any(name in names for name in MPI_FIXTURES)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        marker = item.get_closest_marker("slice")
        if marker and f"imb.{marker.args[0]}" not in registry.SLICES:
            item.add_marker(pytest.mark.skip(reason=f"imb.{marker.args[0]} is not here"))
    if lab.no_mpi:
        kept = [item for item in items if not needs_mpi(item)]
    elif config.getoption("--with-mpi"):
        kept = [item for item in items if needs_mpi(item) or item.get_closest_marker("browser")]
    else:
        return
    config.hook.pytest_deselected(items=list(set(items) - set(kept)))
    items[:] = kept


def pytest_sessionstart(session: pytest.Session) -> None:
    if lab.no_mpi:
        return
    for what, wanted, found in (
        ("built with", lab.MAIN_KEYS, lab.MAIN),
        ("and programs for", lab.MATRIX_KEYS, lab.REAL),
    ):
        absent = sorted(wanted - {mpi.key for mpi in found})
        if lab.IN_CI and absent:
            pytest.exit(
                f"CI must have the suite {what} all of {sorted(wanted)}; absent: {absent}", returncode=1
            )


def pytest_report_header() -> str:
    if lab.no_mpi:
        return "MPIs: none, as asked for by --no-mpi"
    return "MPIs: " + (
        ", ".join(mpi.key for mpi in lab.ALL.values() if mpi.program().exists()) or "none built"
    )
