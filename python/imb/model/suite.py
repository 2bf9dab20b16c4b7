"""Finds the suite's sources, the schema of its records, and the executables in the package."""

from functools import lru_cache
from importlib import metadata
from pathlib import Path, PurePosixPath

from imb.model.errors import ImbError


def suite_folder() -> Path:
    """The folder with CMakeLists.txt, cmake/, src/ and schema/. Raises ImbError in a broken installation."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_suite", package.parents[1]):
        if (folder / "schema" / "record.schema.json").is_file():
            return folder
    raise ImbError(f"no schema/record.schema.json in {package / '_suite'}: reinstall openimb")


@lru_cache
def packaged_programs() -> Path | None:
    """The folder of the package's programs, or None if the package has none. They choose the MPI's binary interface when they start
    (imb.mpi.prebuilt_programs)."""
    try:
        files = metadata.files("openimb") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if PurePosixPath(file).parts[-4:-1] == ("libexec", "openimb", "mpich"):
            return Path(str(file.locate())).resolve().parents[3] / "bin"
    return None
