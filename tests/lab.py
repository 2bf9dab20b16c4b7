"""The MPIs of this machine as tests see them, and launches of the suite under one of them.

`make test` leaves a file .env/mpi/KEY.json for every MPI and a build in build/KEY. A part that is missing is skipped,
or, with OPENIMB_CI set, a failure. Under `pytest --no-mpi` (`make check`) there is none: a test that asks for one fails.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import psutil
import pytest

TOP = Path(__file__).resolve().parent.parent
ENVIRONMENT = TOP / os.environ.get("OPENIMB_ENV", ".env")
IN_CI = bool(os.environ.get("OPENIMB_CI"))
# Open MPI 5's transports over libfabric, which no test needs, search for adapters in every MPI_Init: where none is, one
# sleeps for a second, the other takes a third of the launch.
os.environ.setdefault("OMPI_MCA_btl", "^ofi")
os.environ.setdefault("OMPI_MCA_mtl", "^ofi")
# MPICH's UCX watches memory that is given back, for registrations of adapters: half of the CPU time of a launch.
os.environ.setdefault("UCX_MEM_EVENTS", "no")
# Processes of pytest that launch beside each other (pytest-xdist). Ranks that wait then leave their CPU to the others, by
# tests/yielding_progress.cpp.
AT_ONCE = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if AT_ONCE > 1:
    os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")
    os.environ.setdefault("WAITING_RANKS_SLEEP", "1")


CATALOG = json.loads((TOP / "schema" / "benchmarks.json").read_text())
COMPONENTS = [component["name"] for component in CATALOG["components"]]


def names(component: str, *, default: bool | None = None) -> list[str]:
    """The benchmarks of a component in the suite's order; with `default`, those that run by default or those that do
    not."""
    (found,) = (one for one in CATALOG["components"] if one["name"] == component)
    return [each["name"] for each in found["benchmarks"] if default in (None, each["default"])]


def missing(what: str) -> NoReturn:
    """Skips the test, unless CI must have this part of the lab."""
    if IN_CI:
        pytest.fail(f"{what}: CI must have it")
    pytest.skip(what)


@dataclass(frozen=True)
class Mpi:
    key: str
    flavor: str
    wrapper: str
    launcher: tuple[str, ...]
    oversubscribe: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict, hash=False)
    programs: str = "bin"  # a folder in the build

    @property
    def build(self) -> Path:
        return TOP / "build" / self.key

    def program(self, component: str = "MPI1") -> Path:
        """Built with this MPI, else of the wheel."""
        suffix = ".exe" if self.flavor == "windows" else ""
        native = self.build / self.programs / f"IMB-{component}{suffix}"
        packaged = self.flavor in PACKAGED and self.programs == "bin" and not native.exists()
        return wheel_tree() / "bin" / native.name if packaged else native


no_mpi = False  # pytest --no-mpi
PACKAGED = ("openmpi", "mpich", "intel")  # MPIs for which the wheel has executables


# What an MPI does wrongly or lacks (docs/known-mpi-issues.md).
_ALLTOALL = ("alltoall", "alltoallv", "alltoallw")
_NEIGHBORS = tuple(f"Neighbor_{what}" for what in _ALLTOALL)
_INEIGHBORS = tuple(f"Ineighbor_{what}{flavor}" for what in _ALLTOALL for flavor in ("", "_pure"))
_PERSISTENT = tuple(
    f"{what}_persist{flavor}" for what in ("Allgather", "Gather", "Scatter") for flavor in ("", "_pure")
)
_PARTITIONED = (
    "Partitioned_PingPong",
    "Partitioned_overlap",
    "Partitioned_Exchange",
)  # unavailable with Open MPI
_SINCE_MPI_4 = tuple(
    name
    for name in names("MPI4")
    if name not in ("Sendrecv_persist", "Exchange_persist", "Comm_create", "Comm_split")
)
WRONG = {
    "impi": (*_NEIGHBORS, *_INEIGHBORS, *_PERSISTENT),
    "deb-mpich": (*_NEIGHBORS[1:], *_INEIGHBORS, *_PERSISTENT),
    "openmpi": (*_INEIGHBORS, *_PARTITIONED),
    "deb-openmpi": (*_INEIGHBORS, *_SINCE_MPI_4),
}


NOT_OF_TWO = ("Stencil2D", "Stencil3D")


def right_names(mpi: Mpi, component: str, *, on_two: bool = False) -> list[str]:
    """Without what the MPI is known to do wrongly; `on_two`: without what two processes cannot."""
    left_out = (*WRONG.get(mpi.key, ()), *(NOT_OF_TWO if on_two else ()))
    return [name for name in names(component) if name not in left_out]


def wheel_tree() -> Path:
    """What the wheel of this machine installs into a prefix: bin, libexec."""
    return TOP / "build" / "wheel" / platform.machine() / "tree"


@functools.cache
def _read_mpis() -> dict[str, Mpi]:
    mpis = {}
    for path in sorted((ENVIRONMENT / "mpi").glob("*.json")):
        facts = json.loads(path.read_text())
        mpis[facts["key"]] = Mpi(
            facts["key"],
            facts["flavor"],
            facts["wrapper"],
            tuple(facts["launcher"]),
            tuple(facts["oversubscribe"]),
            facts["env"],
        )
    return mpis


ALL: dict[str, Mpi]
REAL: list[Mpi]  # those with programs
MAIN: list[
    Mpi
]  # the two that every test machine has, built with them; the others run the broad matrix of the wheel

MAIN_KEYS = {"openmpi", "mpich"}
# Of the one wheel, in CI: two releases of both families, and Intel MPI.
MATRIX_KEYS = MAIN_KEYS | {"deb-openmpi", "deb-mpich", "impi"}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """ALL, REAL and MAIN, when a test asks for them."""
        if name not in ("ALL", "REAL", "MAIN"):
            raise AttributeError(f"module 'lab' has no attribute {name!r}")
        refuse_mpi(f"lab.{name}")
        mpis = _read_mpis()
        real = [
            mpi for mpi in mpis.values() if mpi.flavor not in ("smpi", "windows") and mpi.program().exists()
        ]
        main = [mpi for mpi in real if mpi.key in MAIN_KEYS]
        return {"ALL": mpis, "REAL": real, "MAIN": main}[name]


def refuse_mpi(what: str) -> None:
    """Under --no-mpi, fails the test that asks for one."""
    if no_mpi:
        pytest.fail(f"{what}: this test needs an MPI; mark it with @pytest.mark.needs_mpi")


def _only(flavor: str, what: str) -> Mpi:
    refuse_mpi(f"lab.{flavor}()")
    found = [mpi for mpi in _read_mpis().values() if mpi.flavor == flavor and mpi.program().exists()]
    if not found:
        missing(what)
    return found[0]


def smpi() -> Mpi:
    return _only("smpi", "SimGrid's SMPI (Debian: libsimgrid-dev)")


def windows() -> Mpi:
    """The programs for Windows; what starts them is in test_windows.py."""
    return _only("windows", "a build for Windows (Debian: g++-mingw-w64-x86-64-posix)")


@dataclass
class Launch:
    """What a launch left behind."""

    code: int
    text: str
    errors: str
    records: list[dict] = field(default_factory=list)

    @property
    def rows(self) -> list[dict]:
        return [record for record in self.records if record["record"] == "result"]

    @property
    def pairs(self) -> list[dict]:
        """Of IMB-FABRIC, which has no rows."""
        return [record for record in self.records if record["record"] == "pair"]

    @property
    def own_errors(self) -> list[str]:
        """stderr lines that the suite wrote; launchers add their own."""
        return [line for line in self.errors.splitlines() if line.startswith("IMB-")]


def command(
    mpi: Mpi, ranks: int, arguments: list[str], wrap: list[str] | None = None, component: str = "MPI1"
) -> list[str]:
    crowded = is_crowded(ranks)
    words = [*mpi.launcher, *(mpi.oversubscribe if crowded else ()), "-n", str(ranks)]
    wrap = wrap or []
    if crowded and mpi.key in MAIN_KEYS:
        wrap = yielding(mpi, wrap)
    return [*words, *wrap, str(mpi.program(component)), *arguments]


def is_crowded(ranks: int) -> bool:
    """Whether there are more ranks than CPUs, with those of the other processes of pytest."""
    return ranks * AT_ONCE > (os.cpu_count() or 1)


def yielding(mpi: Mpi, wrap: list[str]) -> list[str]:
    """`wrap`, with the library that makes waiting ranks give their CPU away behind those that it interposes."""
    library = interposed(mpi, "yielding_progress.cpp")
    if any(word.startswith("LD_PRELOAD=") for word in wrap):
        return [f"{word}:{library}" if word.startswith("LD_PRELOAD=") else word for word in wrap]
    return ["env", f"LD_PRELOAD={library}", *wrap]


# Of all processes that run tests: the first one makes it, and removes it.
if "OPENIMB_TESTS_SHARED" not in os.environ:
    os.environ["OPENIMB_TESTS_SHARED"] = tempfile.mkdtemp(prefix="openimb-shared-")
    atexit.register(shutil.rmtree, os.environ["OPENIMB_TESTS_SHARED"], ignore_errors=True)


def built_once(name: str, build: Callable[[Path], object]) -> Path:
    """A file or folder that build(path) makes: once for all processes that run tests."""
    place, part = (Path(os.environ["OPENIMB_TESTS_SHARED"]) / one for one in (name, f"{name}.part"))
    with part.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            build(part)
            part.rename(place)
    return place


@functools.cache
def interposed(mpi: Mpi, source: str) -> Path:
    """tests/SOURCE as a library for interposing."""
    return built_once(
        f"{Path(source).stem}-{mpi.key}.so",
        lambda target: compile_shared(mpi, TOP / "tests" / source, target),
    )


# What ranks on one host use anyway: the search for others takes a quarter of the CPU time of a launch.
WITHIN_A_HOST = {
    "mpich": {"UCX_TLS": "self,posix,cma"},
    "openmpi": {"OMPI_MCA_btl": "self,sm", "OMPI_MCA_pml": "ob1", "PMIX_MCA_gds": "hash"},
}
# Without single-copy transports, where the kernel reads memory of a rank that is outside of MPI calls.
COPIES_TWICE = {
    "mpich": {
        "UCX_TLS": "self,posix",
        "MPIR_CVAR_CH4_CMA_ENABLE": "0",
        "MPIR_CVAR_CH4_XPMEM_ENABLE": "0",
    },
    "openmpi": {"OMPI_MCA_smsc": "^cma,knem,xpmem"},
}


def environment(mpi: Mpi) -> dict[str, str]:
    return {**os.environ, **WITHIN_A_HOST.get(mpi.key, {}), **mpi.env}


def start(
    mpi: Mpi,
    ranks: int,
    arguments: list[str],
    wrap: list[str] | None = None,
    component: str = "MPI1",
    folder: Path | None = None,
) -> subprocess.Popen:
    """A launch in its own process group, so that all of it can be ended. `wrap`: words before the program; `folder`:
    where it runs."""
    return subprocess.Popen(
        command(mpi, ranks, arguments, wrap, component),
        env=environment(mpi),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


PMIX_DID_NOT_START = "PMIx server's listener thread failed to start"


# What the launchers of Open MPI and MPICH say of ranks that ended in failure.
SAW_THE_END = ("prterun detected that one or more processes exited with non-zero status", "Abort(")


class Hangs(Exception):
    """A launch that does not end. `alone`: all ranks have gone, and the launcher itself says so."""

    def __init__(self, process: subprocess.Popen, timeout: float) -> None:
        launcher_is_there = process.poll() is None
        # Ranks are in groups of their own under some launchers, in sessions under others.
        below: set[int] = set()
        with contextlib.suppress(psutil.Error):
            below = {one.pid for one in psutil.Process(process.pid).children(recursive=True)}
        alive = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error, ProcessLookupError):
                ours = one.pid in below or os.getsid(one.pid) == process.pid
                if ours and one.status() != psutil.STATUS_ZOMBIE:
                    if one.pid != process.pid:
                        alive.append(f"{one.pid} {one.cmdline()}")
                    one.kill()
        text, errors = process.communicate()
        super().__init__(
            f"hangs after {timeout} s: {process.args!r}; below it: {alive}\n{text[-3000:]}\n{errors[-3000:]}"
        )
        self.alone = launcher_is_there and not alive and any(words in errors for words in SAW_THE_END)


def finish(process: subprocess.Popen, timeout: float = 120) -> Launch:
    """Raises Hangs."""
    try:
        text, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Hangs(process, timeout) from None
    return Launch(process.returncode, text, errors)


def run(
    mpi: Mpi,
    ranks: int,
    arguments: str | list[str],
    *,
    component: str = "MPI1",
    records: Path | None = None,
    wrap: list[str] | None = None,
    timeout: float = 300,
    folder: Path | None = None,
) -> Launch:
    """One launch; with `records`, a folder, its JSON lines are read too. `wrap`: words before the program; `folder`:
    where it runs."""
    words = arguments.split() if isinstance(arguments, str) else list(arguments)
    file = records / "records.jsonl" if records else None
    if file:
        words += ["-json", str(file)]

    def launch() -> Launch:
        return finish(start(mpi, ranks, words, wrap, component, folder), timeout)

    # Mishaps of launchers, each once in some hundreds or thousands of launches: that of Open MPI 5 or of MPICH does not end,
    # although all ranks have, and one has said so; the server of Open MPI 5 does not start, so that nothing of ours has run yet.
    try:
        done = launch()
    except Hangs as hang:
        if not hang.alone:
            raise
        warnings.warn(f"the launcher {hang}", stacklevel=2)
        done = launch()
    if PMIX_DID_NOT_START in done.errors and not done.text:
        done = launch()
    if file and file.exists():
        done.records = [json.loads(line) for line in file.read_text().splitlines()]
    return done


def codes_after(mpi: Mpi, number: int, target: int | str) -> set[int]:
    """Exit statuses of a launch of which rank `target`, or the launcher, got a signal.

    3 after an orderly stop. Rank 0 leaves with 128 + the signal if the point at hand takes longer than the launcher
    may wait; other ranks wait for rank 0. Each launcher has its own ways with a killed rank and with its own end.
    """
    if number == signal.SIGKILL:
        if target == "launcher":
            return {-number}
        return {number} if mpi.flavor == "mpich" else {128 + number}
    if target == "launcher" and mpi.flavor == "openmpi" and number in (signal.SIGTERM, signal.SIGINT):
        return {1}  # it forwards others
    return {3} if target not in (0, "launcher") else {3, 128 + number}


# Of benchmarks of overlap: their computation takes ten times as long otherwise.
SHORT_LOAD = "-set TARGET_CPU_SECS=0.001"
# By component: each message in flight has its own buffer, and a window of 256 takes a minute to check.
SHORT_WINDOW = dict.fromkeys(("MPI1", "P2P", "MT", "FABRIC"), "-window_size 4")


def effort(ranks: int, mode: str, most: int) -> tuple[int, list[int]]:
    """How many repetitions of which lengths, where every benchmark runs: with more ranks than cores, of which each barrier
    takes milliseconds, as many as have every rank for a root."""
    crowded = ranks == 5 or (ranks > 2 and mode != "standard")
    return (ranks, [72]) if crowded else (most, [0, 72])


def rows_of(points: list[tuple], ranks: int, words: str) -> list[tuple]:
    """The rows to expect of points (benchmark, processes, ...), each with its group: with -multi 1 every group of a point has
    one, else there is one without a group."""
    return [
        (*point, group)
        for point in points
        for group in (range(ranks // point[1]) if "-multi 1" in words else [None])
    ]


POINT = ("benchmark", "processes", "bytes")
POINT_IN_MODE = ("benchmark", "processes", "mode", "bytes")


def identities(rows: list[dict], point: tuple[str, ...] = POINT) -> list[tuple]:
    """Of rows, what `rows_of` makes of points."""
    return [tuple(row[name] for name in (*point, "group")) for row in rows]


@dataclass
class Table:
    """One table of the text output."""

    name: str
    head: list[str]
    columns: list[str]
    rows: list[list[str]]


def tables(text: str) -> list[Table]:
    found: list[Table] = []
    for block in re.split(r"(?m)^(?=#-+\n# Benchmarking )", text)[1:]:
        lines = block.splitlines()
        end = next(i for i, line in enumerate(lines[1:], 1) if line.startswith("#---"))
        rows = [line.split() for line in lines[end + 2 :] if re.match(r" +\d", line)]
        # Between the rule and the columns may be the mode.
        columns = next(line for line in lines[end + 1 :] if not line.startswith("#")).split()
        name = lines[1].removeprefix("# Benchmarking ").strip()
        found.append(Table(name, lines[2:end], columns, rows))
    return found


def compile_shared(mpi: Mpi, source: Path, target: Path) -> Path:
    """A shared library for interposing, built with the MPI's own wrapper."""
    subprocess.run(
        [
            mpi.wrapper,
            "-shared",
            "-fPIC",
            "-O1",
            "-DOMPI_SKIP_MPICXX",
            "-DMPICH_SKIP_MPICXX",
            "-Wl,--as-needed",
            str(source),
            "-o",
            str(target),
        ],
        env=environment(mpi),
        check=True,
        capture_output=True,
        text=True,
    )
    return target
