"""Intel MPI for Windows, from its wheels: what a program for Windows is linked with on another system, and its DLLs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "2021.19.0"  # for Linux it needs a libfabric that PyPI does not have
WHEELS = [f"impi-devel=={VERSION}", f"impi-rt=={VERSION}"]
COMPILERS = ("x86_64-w64-mingw32-g++-posix", "x86_64-w64-mingw32-g++")


def compiler() -> str | None:
    """MinGW-w64's, if it is installed."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


def bring(pip: Path, library: Path) -> None:
    """The folder `library`: include, lib and bin. Raises LookupError with the reason."""
    stamp = library.with_name("wheels.stamp")
    if stamp.exists() and stamp.read_text() == VERSION:
        return
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-deps", "--only-binary=:all:", "--platform=win_amd64", "--dest", folder]
        command = [str(pip), "--disable-pip-version-check", "download", *options, *WHEELS]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
            raise LookupError([*errors, "pip failed"][-1])
        shutil.rmtree(library, ignore_errors=True)
        for wheel in Path(folder).glob("*.whl"):
            shutil.unpack_archive(wheel, folder, "zip")
        for part in Path(folder).glob("*.data/data/Library"):
            shutil.copytree(part, library, dirs_exist_ok=True)
    stamp.write_text(VERSION)
