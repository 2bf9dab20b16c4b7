"""Reads files of an archive, which may be damaged, from another version, or private to another user.

A function that reads one file raises UnreadableFile. A function that reads several skips an unreadable one with a note.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from imb.model.errors import UNDECODABLE, ImbError
from imb.model.notes import note

_Kind = TypeVar("_Kind")
_Source = TypeVar("_Source")


class UnreadableFile(ImbError):
    """A file of the archive cannot be read. `error`: the exception of the system or the decoder."""

    def __init__(self, path: Path, error: Exception) -> None:
        self.error = error
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
        else:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        super().__init__(f"{path}: cannot be read ({reason})")

    def error_with_advice(self, advice: str) -> ImbError:
        """The error with advice, for a command that needs this file."""
        return ImbError(f"{self}; {advice}")


def read_part(path: Path) -> bytes:
    """The bytes of a file. Raises UnreadableFile."""
    try:
        with _open_regular(path) as file:
            return file.read()
    except OSError as error:
        raise UnreadableFile(path, error) from error


def size_of(path: Path) -> int:
    """The size of a file that this user may read. Raises UnreadableFile."""
    try:
        with _open_regular(path) as file:
            return os.fstat(file.fileno()).st_size
    except OSError as error:
        raise UnreadableFile(path, error) from error


@contextmanager
def _open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Opens a regular file. Refuses a FIFO or device, which another user may put there and which would block or never end. Raises OSError."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        yield file


def refuse_other_size(path: Path, size: int, stored: int) -> None:
    """Raises UnreadableFile if a file does not have the size with which it was stored."""
    if size != stored:
        raise UnreadableFile(path, ValueError(f"damaged: {size} instead of {stored} bytes"))


def read_json(path: Path, kind: type[_Kind]) -> _Kind:
    """The content of a JSON file. Raises UnreadableFile."""
    return json_of(path, read_part(path), kind)


def json_of(path: Path, data: bytes, kind: type[_Kind]) -> _Kind:
    """`read_json` for bytes that were read already. Raises UnreadableFile."""
    try:
        return msgspec.json.decode(data, type=kind)
    except UNDECODABLE as error:
        raise UnreadableFile(path, error) from error


def names_in(folder: Path) -> list[str]:
    """The sorted names of a folder's entries; empty if the folder does not exist. If it cannot be read, adds a note."""
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        note(f"{UnreadableFile(folder, error)}; left out")
        return []


def read_each(
    sources: Iterable[_Source], read: Callable[[_Source], _Kind], *, optional: bool = False
) -> list[_Kind]:
    """The results of `read` for these sources. An unreadable one is skipped with a note. If none can be read, raises the UnreadableFile of the
    first one, unless they are `optional`."""
    contents: list[_Kind] = []
    errors: list[UnreadableFile] = []
    for source in sources:
        try:
            contents.append(read(source))
        except UnreadableFile as error:
            errors.append(error)
    if errors and not contents and not optional:
        raise errors[0]
    for each in errors:
        note(f"{each}; left out")
    return contents


def readable_json(path: Path, kind: type[_Kind], consequence: str = "left out") -> _Kind | None:
    """`read_json`, or None with a note if the file cannot be read. The note ends with `consequence`."""
    try:
        return read_json(path, kind)
    except UnreadableFile as error:
        note(f"{error}; {consequence}")
        return None
