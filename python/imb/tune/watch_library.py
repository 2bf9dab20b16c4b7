"""A library that is preloaded into ranks and records what collectives execute: it is compiled for the
installed MPI, and its reports are read."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from imb.model.errors import ImbError
from imb.model.folders import cache_folder
from imb.mpi.installations import Installation, output_of
from imb.mpi.prebuilt_programs import library_with
from imb.tune.cells import Cell

FOLDER = "OPENIMB_WATCH"  # environment variable with the folder into which ranks write
COMPILERS = ("cc", "gcc", "clang", "g++", "clang++")


class LibraryFunction(NamedTuple):
    """A function of the library that implements an algorithm of a collective."""

    function: str
    label: str
    collective: str


class NoWatch(Exception):
    """The library cannot be built. The message is a clause with the reason."""


def library_of(mpi: Installation) -> Path:
    """The MPI's shared library. Raises ImbError if it is not found."""
    interface = mpi.product.interface
    path = library_with(mpi, interface) if interface else None
    if path is None:
        names = " or ".join(interface.libraries) if interface else "its library"
        raise ImbError(f"{mpi.version}: {names} is not beside its launcher: {mpi.launcher}")
    return path


def library_bytes(mpi: Installation) -> bytes:
    """The content of the MPI's shared library. Raises ImbError if it cannot be read."""
    path = library_of(mpi)
    try:
        return path.read_bytes()
    except OSError as error:
        raise ImbError(f"cannot read {path}: {error.strerror}") from error


def symbols(library: Path) -> dict[str, bool]:
    """The dynamic symbols of a library (ELF, 64 bits), and whether it defines each. Raises ImbError."""
    try:
        data = library.read_bytes()
        little = data[5] == 1
        if data[:4] != b"\x7fELF" or data[4] != 2:
            raise ValueError
        order = "<" if little else ">"
        at, size, number = (
            *struct.unpack_from(order + "Q", data, 0x28),
            *struct.unpack_from(order + "HH", data, 0x3A),
        )
        defined: dict[str, bool] = {}
        sections = [struct.unpack_from(order + "IIQQQQIIQQ", data, at + size * i) for i in range(number)]
        for _, kind, _, _, offset, length, link, _, _, entry in sections:
            if kind != 11:  # SHT_DYNSYM
                continue
            names = sections[link][4]
            for place in range(offset, offset + length, entry):
                name, _, _, index = struct.unpack_from(order + "IBBH", data, place)
                end = data.index(b"\0", names + name)
                defined[data[names + name : end].decode(errors="replace")] = index != 0
    except (OSError, ValueError, IndexError, OverflowError, struct.error) as error:
        raise ImbError(
            f"cannot read the symbols of {library}: {getattr(error, 'strerror', None) or 'not a 64-bit ELF library'}"
        ) from error
    defined.pop("", None)
    return defined


def compile_library(
    mpi: Installation, functions: Sequence[LibraryFunction], definitions: Sequence[str]
) -> Path:
    """Compile the library for this MPI into the user's cache, unless it is there, and return its path. Raises
    NoWatch."""
    source = Path(__file__).with_name("watch.c")
    lines = [
        f'WATCH({watched.function}, "{watched.label}", "{watched.collective}")\n' for watched in functions
    ]
    key_parts = [mpi.place, mpi.version, source.read_text(), *lines, *definitions]
    folder = cache_folder() / "watches"
    library = folder / f"{hashlib.sha256(chr(0).join(key_parts).encode()).hexdigest()[:16]}.so"
    if library.exists():
        return library
    compilers = [[path] for name in COMPILERS if (path := shutil.which(name))]
    compilers += [[mpi.wrapper]] if mpi.wrapper else []
    if not compilers:
        raise NoWatch("there is no C compiler to build the library that would watch")
    folder.mkdir(parents=True, exist_ok=True)
    part, listed = library.with_suffix(f".{os.getpid()}"), library.with_suffix(f".{os.getpid()}.h")
    listed.write_text("".join(lines))
    words = ["-x", "c", "-std=gnu11", "-O1", "-shared", "-fPIC", f'-DFUNCTIONS="{listed}"', *definitions]
    try:
        for compiler in compilers:
            status, output = output_of(
                [*compiler, *words, str(source), "-o", str(part), "-ldl"], mpi.env, timeout=60
            )
            if status == 0 and part.exists():
                part.replace(library)
                return library
    finally:
        listed.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
    error = next((line.strip() for line in output.splitlines() if "error" in line), output.strip()[:100])
    raise NoWatch(f"no C compiler builds the library that would watch: {error}")


def executed_algorithms(folder: Path, *, by_rank: bool, rare: float = 0) -> dict[Cell, frozenset[str]]:
    """What ranks reported, without calls in place.

    `by_rank`: ranks execute different functions in the same algorithm, so labels name the rank. `rare`:
    functions with fewer calls are left out, as a share of one rank's part of all calls, because they created
    connections or communicators. Raises ImbError if the report of a rank is missing or truncated.
    """
    executed: dict[Cell, set[str]] = {}
    ranks: set[int] = set()
    expected = 0
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        lines = path.read_text(errors="replace").splitlines()
        first = lines[0].split() if lines else []
        if len(first) != 6 or lines[-1] != "end":
            raise ImbError(f"{path}: truncated report of a rank; what collectives execute is not known")
        if first[5] != "0":
            raise ImbError(f"{path}: too many message sizes to watch; measure fewer collectives at once")
        rank, expected = int(first[1]), int(first[3])
        ranks.add(rank)
        counts: dict[Cell, dict[str, int]] = {}
        for line in lines[1:-1]:
            collective, comm, length, in_place, function, calls = line.split()
            if in_place == "0":
                label = f"rank {rank}: {function}" if by_rank else function
                counts.setdefault(Cell(collective, int(comm), int(length)), {})[label] = int(calls)
        for cell, labels in counts.items():
            least = rare * sum(labels.values()) / cell.ranks
            executed.setdefault(cell, set()).update(
                label for label, calls in labels.items() if calls >= least
            )
    if not ranks or len(ranks) < expected:
        raise ImbError(
            f"{len(ranks)} of {expected or 'all'} ranks reported what they execute; is {folder} shared by the hosts?"
        )
    return {cell: frozenset(labels) for cell, labels in executed.items()}
