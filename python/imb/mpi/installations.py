"""Finds MPI installations: C++ wrappers and the launchers that belong to them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import msgspec

from imb.model import mpis
from imb.model.errors import ImbError
from imb.model.suite import packaged_programs
from imb.mpi import compiler_wrappers, existing_builds

PLACES = (
    "/usr/lib64/*/bin",
    "/opt/*/bin",
    "/opt/*/*/bin",
    "/usr/local/*/bin",
)  # folders in which sites install MPIs


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """An installed MPI. `flavor`: its key in imb.model.mpis; `major`: the launcher's major version, 0 if unknown; `wrapper`: empty if the
    MPI can only start programs, as with packages that contain only the library; `env`: variables for wrapper, launcher and program."""

    flavor: str = msgspec.field(name="flavour")  # the spelling in stored plans
    version: str
    major: int
    wrapper: str
    launcher: str
    env: dict[str, str] = {}

    def __post_init__(self) -> None:
        if self.flavor not in mpis.KEYS:
            raise ValueError(f"no MPI {self.flavor}")

    @property
    def place(self) -> str:
        """The path that identifies it among others: its wrapper, or its launcher if it has no wrapper."""
        return self.wrapper or self.launcher

    @property
    def product(self) -> mpis.MpiLibrary:
        """The knowledge about this kind of MPI."""
        return mpis.mpi_of(self.flavor, self.version, os.environ)

    def ask(self, program: str, *arguments: str) -> str | None:
        """The output of a program of this MPI (`mpiexec` means its launcher), or None if the program is neither next to the wrapper nor next to
        the launcher."""
        if program == "mpiexec":
            return output_of([self.launcher, *arguments], self.env)[1]
        folders = [Path(place).parent for place in (self.place, self.launcher) if place]
        files = [folder / f"{program}{end}" for folder in folders for end in (Path(self.place).suffix, "")]
        present = next((str(file) for file in files if file.is_file()), None)
        return output_of([present, *arguments], self.env)[1] if present else None

    def gpu_support(self, api: str | None = None) -> mpis.GpuAnswer:
        """The support of GPU memory according to the MPI's tools and settings. A launch asks the library itself (`gpu_support` in records)."""
        return self.product.gpu_support(self.ask, os.environ, api)


def output_of(words: list[str], env: Mapping[str, str] | None = None, timeout: float = 20) -> tuple[int, str]:
    """(exit status, stdout and stderr) of a command. If it cannot be started, the status is 127 and the text is the reason."""
    try:
        process = subprocess.run(
            words,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, str(error)
    return process.returncode, process.stdout


@lru_cache
def _identity_of(launcher: str) -> tuple[mpis.MpiLibrary, str]:
    return mpis.launcher_identity(output_of([launcher, "--version"])[1])


def mpi_of(wrapper: Path) -> Installation:
    """The MPI of a C++ wrapper. Raises ImbError if its launcher is missing."""
    wrapper = compiler_wrappers.follow_links(wrapper)
    if version := _cray_version(wrapper):
        return _cray_installation(wrapper, version)
    try:
        launcher = compiler_wrappers.launcher_of(wrapper)
    except LookupError as error:
        raise ImbError(f"{error}; name the wrapper of a complete MPI (--mpi)") from None
    return _installation(str(wrapper), launcher)


def _cray_version(wrapper: Path) -> str | None:
    """`Cray MPICH 8.1.28`, from the program mpichversion next to the wrapper, or None for another MPI."""
    tool = wrapper.with_name("mpichversion")
    cray = mpis.CRAY_MPICH
    named = re.search(cray.version, output_of([str(tool)])[1]) if tool.is_file() else None
    return f"{cray.title} {named[1]}" if named else None


def _cray_installation(wrapper: Path, version: str) -> Installation:
    """Cray MPICH, which has no launcher: the system's launcher starts its programs. Raises ImbError if the system has none."""
    candidates = (wrapper.with_name(name) for name in compiler_wrappers.LAUNCHERS)
    launcher = next((str(path) for path in candidates if os.access(path, os.X_OK)), None)
    launcher = launcher or next(filter(None, map(shutil.which, ("srun", *compiler_wrappers.LAUNCHERS))), None)
    if launcher is None:
        raise ImbError(f"no launcher for {version}: {wrapper}; load the module of srun or mpiexec")
    return Installation(
        flavor=mpis.OTHER.key,
        version=version,
        major=0,
        wrapper=str(wrapper),
        launcher=str(Path(launcher).absolute()),
    )


def _installation(wrapper: str, launcher: Path) -> Installation:
    known, version = _identity_of(str(launcher))
    number = re.search(r"(\d+)\.", version)
    return Installation(
        flavor=known.key if known.key in mpis.KEYS else mpis.OTHER.key,
        version=version,
        major=int(number[1]) if number else 0,
        wrapper=wrapper,
        launcher=str(launcher),
        env=known.environment(str(launcher.parent.parent)),
    )


def find_all() -> list[Installation]:
    """Every MPI that has a wrapper, or for which the package has programs. The order is: on the PATH, next to this Python, in the usual
    places, installed by `make` in a checkout."""
    by_place: dict[str, Installation] = {}
    for folder in _folders():
        for wrapper in _programs_in(folder, compiler_wrappers.WRAPPERS):
            try:
                mpi = mpi_of(wrapper)
            except ImbError:
                continue
            if mpi.product.has_launcher or mpi.version.startswith(mpis.CRAY_MPICH.title):
                by_place.setdefault(mpi.wrapper, mpi)
        if not packaged_programs():
            continue
        launched = {Path(mpi.launcher).resolve() for mpi in by_place.values()}
        places = {_launcher_key(mpi) for mpi in by_place.values()}
        for launcher in _programs_in(folder, compiler_wrappers.LAUNCHERS):
            if launcher.resolve() in launched:
                continue
            mpi = _installation("", launcher.absolute())
            # In a package, mpirun may be a copy of mpiexec.
            if mpi.product.has_launcher and _launcher_key(mpi) not in places:
                by_place.setdefault(str(launcher.resolve()), mpi)
                launched.add(launcher.resolve())
                places.add(_launcher_key(mpi))
    return list(by_place.values())


def _launcher_key(mpi: Installation) -> tuple[Path, str]:
    return Path(mpi.launcher).parent.resolve(), mpi.version


def overwritten_packages(installed: Iterable[Installation]) -> list[str]:
    """Python packages of MPIs whose launcher another package has overwritten, since all of them install bin/mpiexec."""
    folder = Path(sys.executable).parent.resolve()
    flavors = {mpi.flavor for mpi in installed if Path(mpi.launcher).parent.resolve() == folder}
    return [
        known.package
        for known in mpis.WITH_LAUNCHER
        if known.key not in flavors and any(True for _ in metadata.distributions(name=known.package))
    ]


def _programs_in(folder: Path, names: Iterable[str]) -> Iterable[Path]:
    """Yields programs with these names, also with Debian's suffix for the MPI."""
    for name in names:
        yield from (
            path
            for path in (folder / name, *(folder / f"{name}.{known.key}" for known in mpis.WITH_LAUNCHER))
            if os.access(path, os.X_OK)
        )


def _folders() -> Iterable[Path]:
    """The folders that may contain MPIs, each once."""
    checkout = Path(__file__).resolve().parents[3]
    roots = [os.environ[name] for name in mpis.PREFIX_VARIABLES if os.environ.get(name)]
    folders = [
        *map(Path, filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep))),
        Path(sys.executable).parent,
        *(Path(root, "bin") for root in roots),
        *(folder for place in PLACES for folder in sorted(Path("/").glob(place[1:]))),
        *sorted((checkout / os.environ.get("OPENIMB_ENV", ".env") / "mpi").glob("*/bin")),
    ]
    first: dict[Path, Path] = {}
    for folder in folders:
        first.setdefault(folder.resolve(), folder)
    return first.values()


def executable(programs: Path, component: str) -> Path:
    """The path of a component's executable, which may be missing. A package may have renamed it (`mpitests-IMB-MPI1_openmpi`); if several files
    have such names, none is used."""
    usual = programs / f"IMB-{component}"
    renamed = [] if usual.exists() else list(programs.glob(f"*IMB-{component}*"))
    return renamed[0] if len(renamed) == 1 else usual


def missing_program(program: Path) -> str:
    """The message for a missing executable."""
    return f"no program {program}; build it with `imb build`"


class LinkedMpis(NamedTuple):
    """The MPIs that can launch programs, and the MPI library with which the programs are linked."""

    mpis: tuple[mpis.MpiLibrary, ...]
    library: Path | None


def linked_mpis(programs: Path) -> LinkedMpis:
    """The MPIs and library of a program in this folder, from the output of `ldd`. No MPIs if they are unknown, as for static programs
    and scripts."""
    program = next((file for file in sorted(programs.glob("*IMB-*")) if os.access(file, os.X_OK)), None)
    status, printed = output_of(["ldd", str(program)]) if program else (127, "")
    if status:
        return LinkedMpis((), None)
    place = re.search(r"\blibmpi(?:ch)?\.so\.\d+ => (/\S+)", printed)
    return LinkedMpis(mpis.launching_mpis(printed), Path(place[1]) if place else None)


def find_for(choice: str | None, programs: Path) -> Installation:
    """`find` for programs that are built already. If nothing is chosen, or a name that several MPIs have, finds the MPI with which the
    programs are linked.

    Raises ImbError if there is none, or if the chosen MPI cannot launch the programs.
    """
    fitting, library = linked_mpis(programs)
    chosen = choice or os.environ.get("IMB_MPI")
    if chosen or not fitting:
        mpi = find(choice)
        if not fitting or mpi.product in fitting or not mpi.product.has_launcher:
            several = is_name(chosen or "") and mpi.product in fitting
            return (
                max(installations_of(mpi.product), key=lambda each: _nearness(each, library))
                if several
                else mpi
            )
    kind = " or ".join(known.title for known in fitting)
    if chosen:
        raise ImbError(
            f"--programs {programs} is linked with {kind}, but {mpi.launcher} belongs to {mpi.version};"
            f" give --mpi {fitting[0].key}"
        )
    if not (installed := [mpi for mpi in find_all() if mpi.product in fitting]):
        raise ImbError(
            f"--programs {programs} is linked with {kind}, which was not found; name its folder with --mpi"
        )
    return max(installed, key=lambda mpi: _nearness(mpi, library))


def _nearness(mpi: Installation, library: Path | None) -> int:
    """The depth of the MPI's prefix if the library is in it, else 0. So the innermost of nested prefixes is the nearest."""
    prefix = Path(mpi.place).parent.parent
    return len(prefix.parts) if library and prefix in library.parents else 0


def installations_of(known: mpis.MpiLibrary) -> list[Installation]:
    """The installations of an MPI: first those for which `make` has built the suite, then the others in the order of `find_all`."""
    fitting = [mpi for mpi in find_all() if mpi.product is known]
    return sorted(fitting, key=lambda mpi: not existing_builds.make_folder(mpi.wrapper))


def is_name(choice: str) -> bool:
    """Whether a choice is a name that several installations may have, and not a folder."""
    return mpis.mpi_named(choice) is not None and not Path(choice).is_dir()


def find_again(mpi: Installation) -> Installation:
    """The installation that is now at the path of this MPI. Raises ImbError if it no longer exists."""
    if not os.access(mpi.place, os.X_OK):
        raise ImbError(f"no {mpi.place}; load the module of {mpi.version}")
    return mpi_of(Path(mpi.wrapper)) if mpi.wrapper else _installation("", Path(mpi.launcher))


def find(choice: str | None) -> Installation:
    """The MPI with this name (openmpi, impi, ...), prefix or wrapper. None selects $IMB_MPI, or the first MPI if that is not set.

    Raises ImbError if there is no such MPI.
    """
    choice = choice or os.environ.get("IMB_MPI") or None
    if choice and Path(choice).is_dir():
        if wrapper := compiler_wrappers.wrapper_in(Path(choice)):
            return mpi_of(wrapper)
        launchers = _programs_in(Path(choice).absolute() / "bin", compiler_wrappers.LAUNCHERS)
        if launcher := next(iter(launchers), None):
            return _installation("", launcher)
        raise ImbError(f"no bin/mpicxx or bin/mpiexec in {choice}; give the installation folder of an MPI")
    named = mpis.mpi_named(choice or "")
    if choice and not named:
        path = shutil.which(choice)
        if not path:
            raise ImbError(
                f"no MPI {choice}; give {mpis.CHOICES}, a folder with bin/mpicxx or bin/mpiexec, or a C++ wrapper"
            )
        if Path(path).name.partition(".")[0] in compiler_wrappers.LAUNCHERS:
            return _installation("", Path(path).absolute())
        if not compiler_wrappers.is_wrapper(Path(path)):
            raise ImbError(
                f"{choice} is no C++ wrapper of an MPI; give one such as mpicxx, a launcher (mpiexec), or the folder of an MPI"
            )
        return mpi_of(Path(path))
    # If no name is given, an MPI without a launcher is the last choice.
    fitting = (
        installations_of(named) if named else sorted(find_all(), key=lambda mpi: not mpi.product.has_launcher)
    )
    if fitting:
        return fitting[0]
    package = f"`pip install {named.package}`" if named else mpis.PACKAGES
    raise ImbError(
        f"no {choice or 'MPI'} found on the PATH or in the usual places; load its module, name its folder with --mpi,"
        f" or {package}"
    )
