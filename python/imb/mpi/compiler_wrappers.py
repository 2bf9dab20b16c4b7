"""Knows the names of MPIs' C++ wrappers and the launchers that belong to them. It imports only the standard library, since
tools/setup.py uses it before anything is installed."""

from __future__ import annotations

import os
import re
from pathlib import Path

WRAPPERS = ("mpicxx", "mpigxx", "mpiicpx", "mpiicpc")  # names in an MPI's bin folder, in order of preference
LAUNCHERS = ("mpiexec", "mpirun")


def follow_links(wrapper: Path) -> Path:
    """Follows links, such as /usr/bin/mpicxx -> /etc/alternatives/mpicxx -> /usr/bin/mpicxx.mpich, since the last name tells the launcher's
    name. Stops before a program such as opal_wrapper, whose behavior depends on the name under which it is called."""
    wrapper = wrapper.absolute()
    for _ in range(8):
        target = wrapper.parent / wrapper.readlink() if wrapper.is_symlink() else None
        if target is None or not target.name.startswith("mpi"):
            break
        wrapper = target
    usual = wrapper.with_name(re.sub(r"^mpi(c\+\+|CC)", "mpicxx", wrapper.name))
    return Path(os.path.normpath(usual if usual.exists() else wrapper))


def is_wrapper(program: Path) -> bool:
    """Whether a program is a C++ wrapper, by its name: mpicxx, mpiCC, mpicxx.mpich, mpiicpc, smpicxx, or Cray's CC."""
    return re.search(r"mpi(i?[cC]|g)|^CC$", program.name) is not None


def wrapper_in(prefix: Path) -> Path | None:
    """The wrapper of the MPI that is installed in this folder, or None."""
    wrappers = (prefix / "bin" / name for name in WRAPPERS)
    return next((wrapper for wrapper in wrappers if os.access(wrapper, os.X_OK)), None)


def launcher_of(wrapper: Path) -> Path:
    """The launcher in the folder of a wrapper: mpiexec.mpich for mpicxx.mpich, smpirun for smpicxx. Raises LookupError if there is
    none."""
    suffix = wrapper.name.partition(".")[2]
    names = [f"{name}.{suffix}" for name in LAUNCHERS] if suffix else []
    names = ["smpirun"] if wrapper.name == "smpicxx" else [*names, *LAUNCHERS]
    for name in names:
        if os.access(wrapper.parent / name, os.X_OK):
            return wrapper.parent / name
    raise LookupError(f"no {' or '.join(names)} beside {wrapper}")
