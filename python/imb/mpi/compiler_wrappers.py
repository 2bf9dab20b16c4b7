"""What a C++ wrapper of an MPI is called, and which launcher belongs to it. Standard library alone: tools/setup.py, which
runs before anything is installed, finds MPIs with it too."""

from __future__ import annotations

import os
import re
from pathlib import Path

WRAPPERS = ("mpicxx", "mpigxx", "mpiicpx", "mpiicpc")  # as named in a prefix, in order of preference
LAUNCHERS = ("mpiexec", "mpirun")


def follow_links(wrapper: Path) -> Path:
    """Follows links: /usr/bin/mpicxx -> /etc/alternatives/mpicxx -> /usr/bin/mpicxx.mpich, whose name gives the launcher's.
    Stops before a program such as opal_wrapper, which acts by the name that it is called by."""
    wrapper = wrapper.absolute()
    for _ in range(8):
        target = wrapper.parent / wrapper.readlink() if wrapper.is_symlink() else None
        if target is None or not target.name.startswith("mpi"):
            break
        wrapper = target
    usual = wrapper.with_name(re.sub(r"^mpi(c\+\+|CC)", "mpicxx", wrapper.name))
    return Path(os.path.normpath(usual if usual.exists() else wrapper))


def is_wrapper(program: Path) -> bool:
    """By its name: mpicxx, mpiCC, mpicxx.mpich, mpiicpc, smpicxx; CC is Cray's."""
    return re.search(r"mpi(i?[cC]|g)|^CC$", program.name) is not None


def wrapper_in(prefix: Path) -> Path | None:
    """The wrapper of an MPI that is installed in this folder."""
    wrappers = (prefix / "bin" / name for name in WRAPPERS)
    return next((wrapper for wrapper in wrappers if os.access(wrapper, os.X_OK)), None)


def launcher_of(wrapper: Path) -> Path:
    """The launcher beside a wrapper; mpicxx.mpich has mpiexec.mpich, smpicxx smpirun. Raises LookupError if there is
    none."""
    suffix = wrapper.name.partition(".")[2]
    names = [f"{name}.{suffix}" for name in LAUNCHERS] if suffix else []
    names = ["smpirun"] if wrapper.name == "smpicxx" else [*names, *LAUNCHERS]
    for name in names:
        if os.access(wrapper.parent / name, os.X_OK):
            return wrapper.parent / name
    raise LookupError(f"no {' or '.join(names)} beside {wrapper}")
