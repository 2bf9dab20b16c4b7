"""Writes output files that the user names: replaces a file atomically, and refuses one that the same command reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from imb.model.errors import ImbError
from imb.store.durable_files import write_whole
from imb.store.store import Archive

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self|proc/\d+)/fd/(\d+)")


def identity(path: Path) -> tuple[int, int, str] | None:
    """A key that is equal for all spellings of a path and all links to it: device and inode; for a missing file, device and inode of its
    folder and its name. None if the folder is missing."""
    try:
        status = path.stat()
        return status.st_dev, status.st_ino, ""
    except OSError:
        pass
    try:
        real = _follow_links(path)
        folder = real.parent.stat()
        return folder.st_dev, folder.st_ino, real.name
    except OSError:
        return None


def refuse_overwriting(archive: Archive, output: Path, sources: Iterable[Path], option: str) -> None:
    """Raises ImbError if `output` is a file that the command reads, or part of the archive. Call it before anything is launched or
    written."""
    place = identity(output)
    if source := next((path for path in sources if place and identity(path) == place), None):
        raise ImbError(f"{option} {output}: this is {source}, which is read; give another file")
    archive_folders = {identity(folder) for folder in archive.folders} - {None}
    if any(identity(folder) in archive_folders for folder in _follow_links(output).parents):
        raise ImbError(
            f"{option} {output}: this is a file of the archive {archive.folder}; give one outside of it"
        )


def write_output(path: Path, data: bytes) -> None:
    """Replaces a file atomically; follows links. If the path is /dev/stdout or not a regular file (a pipe, /dev/null), writes the bytes to it.
    Raises OSError, or ImbError for a folder."""
    if path.is_dir():
        raise ImbError(f"{path} is a folder; give a file")
    if (
        descriptor := _descriptor(path)
    ) is not None:  # if opened again, it would write from the start of the file
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(data)
    elif path.exists() and not path.is_file():
        path.write_bytes(data)
    else:
        write_whole(_follow_links(path), data)


def _follow_links(path: Path) -> Path:
    """The target of a path's links, even if it does not exist or the links form a circle (which Path.resolve rejects)."""
    return Path(os.path.realpath(path))


def _descriptor(path: Path) -> int | None:
    """The descriptor of /dev/stdout, /dev/stderr or /dev/fd/N, also through links; None for another path."""
    for _ in range(40):  # the system's limit of links to follow
        if match := _DESCRIPTOR.fullmatch(str(path.absolute())):
            return int(match[1])
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None
