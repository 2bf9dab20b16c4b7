"""The suite's executables in the package, for MPIs with a known binary interface; they need no compiler.

A wheel for Linux has them in PREFIX/libexec/openimb/INTERFACE. The programs in PREFIX/bin choose the interface when they start,
by the launcher that started them (src/launcher/launcher.c). Other installations have no executables.
"""

from __future__ import annotations

from pathlib import Path

from imb.model.mpis import INTERFACES, STANDARD_INTERFACE, BinaryInterface
from imb.model.suite import packaged_programs
from imb.mpi.installations import Installation

_PLACES = ("lib", "lib64", "lib/release")  # folders of an MPI's library in its prefix
_SYSTEM = (
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/usr/local/lib",
)
CHOICE = "OPENIMB_INTERFACE"  # environment variable that tells the programs the interface


def packaged_check() -> Path | None:
    """The package's check program for `imb doctor`, or None if the package has no programs."""
    folder = packaged_programs()
    return folder.parent / "libexec" / "openimb" / "openimb-check" if folder else None


def library_with(mpi: Installation, interface: BinaryInterface) -> Path | None:
    """The library of this MPI with this interface, found as the programs find it, or None."""
    prefix = Path(mpi.launcher).resolve().parent.parent
    folders = [prefix / place for place in _PLACES]
    if prefix == Path("/usr"):
        folders += map(Path, _SYSTEM)
    fitting = (folder for folder in folders if interface != STANDARD_INTERFACE or _is_of(mpi, folder))
    return next(
        (folder / name for folder in fitting for name in interface.libraries if (folder / name).exists()),
        None,
    )


def _is_of(mpi: Installation, folder: Path) -> bool:
    """Whether a library with the standard ABI in this folder belongs to this MPI, judged by the MPI's own library next to it. If there is no such
    library, it may belong to any MPI."""
    owners = {
        interface.key
        for interface in INTERFACES
        if interface != STANDARD_INTERFACE and any((folder / name).exists() for name in interface.libraries)
    }
    own_interface = mpi.product.interface
    return not owners or (own_interface is not None and own_interface.key in owners)


def interface_of(mpi: Installation) -> BinaryInterface | None:
    """The interface that the programs choose under this MPI's launcher, or None if none fits."""
    own_interface = mpi.product.interface
    interfaces = (own_interface, STANDARD_INTERFACE) if own_interface else ()
    return next((interface for interface in interfaces if library_with(mpi, interface)), None)


def programs_for(mpi: Installation) -> Path | None:
    """`packaged_programs` if they fit this MPI, else None."""
    folder = packaged_programs()
    return folder if folder and interface_of(mpi) else None


def prefix_variable(mpi: Installation) -> dict[str, str]:
    """The variable that tells the programs where this MPI is, if its launcher does not start them, as under srun."""
    return {"OPENIMB_MPI_PREFIX": str(Path(mpi.launcher).parent.parent)}


def has_standard(mpi: Installation) -> bool:
    """Whether this MPI has the standard binary interface (MPI 5.0, chapter 20)."""
    return library_with(mpi, STANDARD_INTERFACE) is not None
