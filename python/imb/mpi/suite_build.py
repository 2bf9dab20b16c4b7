"""Builds the suite for an MPI from the sources in the package. The user's cache keeps builds by MPI, compiler and sources.

In a checkout, the build uses the build folder of `make`, so that each file is compiled only once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from imb import __version__
from imb.model.errors import ImbError, unwritable_cache
from imb.model.statuses import Status
from imb.model.suite import suite_folder
from imb.mpi import existing_builds, prebuilt_programs
from imb.mpi.existing_builds import cache_folder
from imb.mpi.installations import Installation, output_of

_PERCENT = re.compile(rb"\[\s*(?:(\d+)%|(\d+)/(\d+))\s*\]")
_ERROR = re.compile(r"error|undefined reference|No such file|not found", re.IGNORECASE)
_FLAGS = ("CXXFLAGS", "LDFLAGS", "CMAKE_BUILD_TYPE")  # environment variables that CMake reads
_MOST = 30  # most lines of a failed build to show


class BuildError(ImbError):
    """A failed build. `words`: the compiler's output."""

    def __init__(self, line: str, words: str) -> None:
        super().__init__(line, status=Status.FAILED)
        self.words = words


def build_key(mpi: Installation, compiler: str | None = None) -> str:
    """The name of a build: MPI and version, and a hash of wrapper, compiler and sources. Raises ImbError."""
    if not mpi.wrapper:
        raise ImbError(
            f"{mpi.version} ({mpi.launcher}) has no C++ wrapper to build with; install its development files,"
            " or the wheel of openimb for this machine, which needs none"
        )
    command = _compiler(mpi, compiler)
    flags = [os.environ.get(name, "") for name in _FLAGS]
    parts = [*flags, mpi.wrapper, mpi.version, command, output_of([command, "--version"])[1], _sources_hash()]
    readable = re.sub(r"[^a-z0-9.]+", "-", mpi.version.lower()).strip("-")
    return f"{readable}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"


def build_folder(key: str) -> Path:
    """The folder for the executables of a build, existing or not."""
    return cache_folder() / key / "bin"


def programs(key: str) -> Path | None:
    """The folder with the executables of a build, or None if it does not exist."""
    folder = build_folder(key) if existing_builds.has_built() else None
    return folder if folder and folder.is_dir() else None


def all_components() -> list[str]:
    """The components that a build of the suite contains, such as "MPI1"."""
    return (suite_folder() / "src" / "benchmarks" / "components.txt").read_text().split()


def has_programs(folder: Path, components: Collection[str]) -> bool:
    """Whether the folder exists and has the executables of these components."""
    return folder.is_dir() and all((folder / f"IMB-{name}").exists() for name in components)


def place_of(mpi: Installation, compiler: str | None = None) -> Path:
    """The folder for the programs for an MPI, existing or not: a build, or the package's programs if there is no build. With a compiler, only a
    build. Raises ImbError if there are no programs and none can be built."""
    packaged = None if compiler else prebuilt_programs.programs_for(mpi)
    if packaged and not (mpi.wrapper and existing_builds.has_built()):
        return packaged  # without build_key, which starts two processes
    native = build_folder(build_key(mpi, compiler))
    return packaged if packaged and not native.is_dir() else native


def folder_of_make(mpi: Installation, compiler: str | None) -> Path | None:
    """The folder in which `make` does the same build, or None."""
    special = compiler or any(os.environ.get(name) for name in _FLAGS)
    return None if special else existing_builds.make_folder(mpi.wrapper, _compiler(mpi, None))


def build(
    mpi: Installation,
    compiler: str | None = None,
    components: Collection[str] = (),
    *,
    on_percent: Callable[[float], None] = lambda percent: None,
) -> Path:
    """Builds the suite and returns the folder with the executables, which appear all at once. An interrupted build continues where it
    stopped; a second build on the same host waits for the first.

    `components`: what to compile in the build folder of `make`, everything if empty. Other builds always compile everything. Raises
    BuildError with the compiler's output, or ImbError if CMake or the compiler is missing.
    """
    key = build_key(mpi, compiler)
    work = cache_folder() / f"{key}.{socket.gethostname()}"
    cmake = tool("cmake")
    make_folder = folder_of_make(mpi, compiler)
    components = components or all_components()
    log = work / "build.log"
    folder = make_folder or work / "work"
    compiler_command = f"-DCMAKE_CXX_COMPILER={_compiler(mpi, compiler)}"
    configure = [cmake, "-S", str(suite_folder()), "-B", str(folder), *_generator()]
    configure += [f"-DMPI_CXX_COMPILER={mpi.wrapper}", compiler_command]
    compiling = [cmake, "--build", str(folder), "--parallel", str(os.cpu_count() or 1)]
    if make_folder:
        compiling += ["--target", *(f"IMB-{name}" for name in components)]
    final = cache_folder() / key
    try:
        work.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder if make_folder else work):
            if not make_folder and has_programs(final / "bin", components):
                return final / "bin"
            for words in (compiling,) if make_folder else (configure, compiling):
                _carry_out(words, mpi, log, on_percent)
            programs = (
                [folder / "bin" / f"IMB-{name}" for name in components]
                if make_folder
                else [*folder.glob("bin/IMB-*")]
            )
            (work / "bin").mkdir(exist_ok=True)
            for program in programs:
                shutil.copy2(program, work / "bin")
            _put(work / "bin", final / "bin")
            shutil.rmtree(work, ignore_errors=True)
    except BuildError:
        kept = log.replace(cache_folder() / f"{key}.log")
        output = _excerpt(kept.read_text(errors="replace"))
        shutil.rmtree(work, ignore_errors=True)
        raise BuildError(f"build for {mpi.version} failed; full log: {kept}", output) from None
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        raise unwritable_cache(cache_folder(), error) from error
    return final / "bin"


def _put(programs: Path, place: Path) -> None:
    """Moves the programs to `place`: the whole folder, or file by file if `place` exists already."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        programs.rename(place)
    except OSError:
        for program in programs.iterdir():
            program.replace(place / program.name)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """A context that holds a lock of the folder, so that no other `imb build` uses it at the same time."""
    with (folder / "imb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _carry_out(words: list[str], mpi: Installation, log: Path, on_percent: Callable[[float], None]) -> None:
    with log.open("ab") as text:
        process = subprocess.Popen(
            words,
            env={**os.environ, **mpi.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            assert process.stdout
            for line in process.stdout:
                text.write(line)
                if match := _PERCENT.search(line):
                    on_percent(float(match[1]) if match[1] else 100 * int(match[2]) / int(match[3]))
        finally:
            process.terminate() if sys.exc_info()[0] else None
            status = process.wait()
    if status:
        raise BuildError("failed", "")


def _excerpt(log: str) -> str:
    """The lines of a build's log from the first error on, or the last lines if no line has an error."""
    lines = log.splitlines()
    first = next((i for i, line in enumerate(lines) if _ERROR.search(line)), max(len(lines) - _MOST, 0))
    return "\n".join(lines[max(first - 1, 0) : first + _MOST])


def _sources_hash() -> str:
    top = suite_folder()
    files = [top / "CMakeLists.txt", *top.glob("cmake/**/*"), *top.glob("src/**/*")]
    digest = hashlib.sha256(__version__.encode())
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f"{file.relative_to(top)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _compiler(mpi: Installation, compiler: str | None) -> str:
    """The path of the compiler. For None, the compiler that the wrapper calls, or the wrapper itself if that is unknown."""
    command = compiler or (output_of([mpi.wrapper, "-show"], mpi.env)[1].split() or [""])[0]
    path = shutil.which(command) if re.fullmatch(r"[\w./+-]+", command) else None
    if path is None and compiler:
        raise ImbError(f"no compiler {compiler}; give a C++ compiler's name or path, such as g++ or clang++")
    return path or mpi.wrapper


def _generator() -> list[str]:
    ninja = _find_program("ninja")
    return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []


def _find_program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def tool(name: str) -> str:
    """The path of a program on the PATH or next to this Python. Raises ImbError if it is missing."""
    path = _find_program(name)
    if path is None:
        raise ImbError(f"no {name}; install it, or `pip install {name}`")
    return path
