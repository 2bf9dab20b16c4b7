"""Which MPIs there are: a C++ wrapper, and the launcher that belongs to it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from imb.errors import ImbError

Flavour: TypeAlias = Literal["openmpi", "mpich", "intel", "other"]
WRAPPERS = ("mpicxx", "mpigxx", "mpiicpx", "mpiicpc")  # as named in a prefix, in order of preference
LAUNCHERS = ("mpiexec", "mpirun")
PLACES = ("/usr/lib64/*/bin", "/opt/*/bin", "/opt/*/*/bin", "/usr/local/*/bin")  # where sites put MPIs
_SAYS: tuple[tuple[Flavour, str, str], ...] = (
    ("openmpi", "Open MPI", r"(?:Open MPI|OpenRTE)\) (\S+)"),
    ("intel", "Intel MPI", r"Intel\(R\) MPI Library.*?Version (\S+(?: Update \d+)?)"),
    ("mpich", "MPICH", r"HYDRA[^$]*?Version:\s+(\S+)"),
)
_NAMES = {"openmpi": "openmpi", "ompi": "openmpi", "mpich": "mpich", "intel": "intel", "impi": "intel"}


class Mpi(msgspec.Struct, frozen=True, kw_only=True):
    """An MPI. `major` is its launcher's, 0 where that does not say it; `env` is for wrapper, launcher and program."""

    flavour: Flavour
    version: str
    major: int
    wrapper: str
    launcher: str
    env: dict[str, str] = {}


def output_of(words: list[str], env: Mapping[str, str] | None = None, timeout: float = 20) -> tuple[int, str]:
    """Exit status, and stdout and stderr, of a command that may fail or not be there (127)."""
    try:
        done = subprocess.run(
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
    return done.returncode, done.stdout


def flavour_of(said: str) -> tuple[Flavour, str]:
    """Flavour, and name with version, by what `mpiexec --version` prints."""
    for flavour, name, mark in _SAYS:
        if found := re.search(mark, said):
            return flavour, f"{name} {found[1]}"
    return "other", (said.strip().splitlines() or ["unknown"])[0]


@lru_cache
def _asked(launcher: str) -> tuple[Flavour, str]:
    return flavour_of(output_of([launcher, "--version"])[1])


def launcher_of(wrapper: Path) -> Path:
    """The launcher beside a wrapper; mpicxx.mpich has mpiexec.mpich. Raises ImbError where there is none."""
    suffix = wrapper.name.partition(".")[2]
    names = [*([f"{name}.{suffix}" for name in LAUNCHERS] if suffix else []), *LAUNCHERS]
    for name in names:
        if os.access(wrapper.parent / name, os.X_OK):
            return wrapper.parent / name
    raise ImbError(f"no {' or '.join(names)} beside {wrapper}; name the wrapper of a complete MPI (--mpi)")


def mpi_of(wrapper: Path) -> Mpi:
    """The MPI of a C++ wrapper. Raises ImbError where its launcher is missing."""
    wrapper = _followed(wrapper)
    launcher = launcher_of(wrapper)
    flavour, version = _asked(str(launcher))
    number = re.search(r"(\d+)\.", version)
    return Mpi(
        flavour=flavour,
        version=version,
        major=int(number[1]) if number else 0,
        wrapper=str(wrapper),
        launcher=str(launcher),
        env={"I_MPI_ROOT": str(wrapper.parent.parent)} if flavour == "intel" else {},
    )


def _followed(wrapper: Path) -> Path:
    """Along links among wrappers, as of Debian's alternatives: mpicxx -> mpicxx.openmpi, whose name tells the
    launcher's; but not to a program such as opal_wrapper, which goes by the name it is called by."""
    wrapper = wrapper.absolute()
    for _ in range(8):
        target = wrapper.parent / wrapper.readlink() if wrapper.is_symlink() else None
        if target is None or not target.name.startswith("mpi"):
            break
        wrapper = target
    usual = wrapper.with_name(re.sub(r"^mpi(c\+\+|CC)", "mpicxx", wrapper.name))
    return Path(os.path.normpath(usual if usual.exists() else wrapper))


def find_all() -> list[Mpi]:
    """Every MPI on the PATH, beside this Python, in the usual places, and what `make` has brought into a checkout."""
    found: dict[str, Mpi] = {}
    for wrapper in _candidates():
        try:
            mpi = mpi_of(wrapper)
        except ImbError:
            continue
        if mpi.flavour != "other":
            found.setdefault(mpi.wrapper, mpi)
    return list(found.values())


def _candidates() -> Iterable[Path]:
    checkout = Path(__file__).resolve().parents[2]
    roots = [os.environ[name] for name in ("I_MPI_ROOT", "MPI_HOME", "MPI_ROOT") if os.environ.get(name)]
    folders = [
        *map(Path, filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep))),
        Path(sys.executable).parent,
        *(Path(root, "bin") for root in roots),
        *(folder for place in PLACES for folder in sorted(Path("/").glob(place[1:]))),
        *sorted((checkout / os.environ.get("OPENIMB_ENV", ".env") / "mpi").glob("*/bin")),
    ]
    for folder in {folder.resolve(): folder for folder in reversed(folders)}.values():
        for name in WRAPPERS:
            yield from (
                path
                for path in (folder / name, *(folder / f"{name}.{kind}" for kind in ("openmpi", "mpich")))
                if os.access(path, os.X_OK)
            )


def find(choice: str | None) -> Mpi:
    """The MPI of this name (openmpi, mpich, intel), prefix or wrapper; None: $IMB_MPI, else the first that there is.

    Raises ImbError where there is none.
    """
    choice = choice or os.environ.get("IMB_MPI") or None
    if choice and Path(choice).is_dir():
        for name in WRAPPERS:
            if os.access(Path(choice, "bin", name), os.X_OK):
                return mpi_of(Path(choice, "bin", name))
        raise ImbError(f"no bin/mpicxx in {choice}; give the folder that an MPI is installed in")
    if choice and choice not in _NAMES:
        path = shutil.which(choice)
        if not path:
            raise ImbError(
                f"no MPI {choice}; give openmpi, mpich or intel, a folder with bin/mpicxx, or a C++ wrapper"
            )
        return mpi_of(Path(path))
    for mpi in find_all():
        if choice is None or mpi.flavour == _NAMES[choice]:
            return mpi
    raise ImbError(
        f"no {choice or 'MPI'} found on the PATH or in the usual places; load its module, `pip install mpich`,"
        " or name its folder with --mpi"
    )
