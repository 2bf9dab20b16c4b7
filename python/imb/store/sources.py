"""Reads files that may be logs: regular files of bounded size, unpacked, as UTF-8. For other files, the error states what they are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from imb.model.errors import ImbError
from imb.model.units import rounded_size

LONGEST = 1 << 34  # most bytes of a file that is read in pieces
_PIECE = 1 << 23  # bytes; larger pieces take longer, since their memory is allocated anew each time
_LONGEST_LINE = 1 << 26  # most bytes of a line
LARGEST = 1 << 30  # most bytes of one unpacked file; its tables need several times as much memory
_PACKED: dict[
    bytes, Callable[[IO[bytes]], Any]
] = {  # beginning of a file -> function that opens it as unpacked bytes
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
}
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "compressed by zstd; unpack it first (zstd -d)",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\x7fELF": "an executable or library, not text",
    b"%PDF": "a PDF document, not text",
    b"PAR1": "a Parquet file, not text",
}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)  # errors if a file cannot be unpacked
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISDIR, "a folder"))


class UnreadableText(ImbError):
    """Raised for a file that is not readable text. The message states what the file is, without its name."""


def blocks(path: Path) -> Iterator[bytes]:
    """Yields the unpacked bytes of a file of up to LONGEST bytes, which may be larger than memory, in pieces of whole lines. Raises UnreadableText, OSError."""
    with _open_unpacked(path) as file:
        rest, total = b"", 0
        while piece := _piece(file):
            total += len(piece)
            if total > LONGEST:
                raise UnreadableText(f"has more than {rounded_size(LONGEST)}; divide it into smaller files")
            end = piece.rfind(b"\n") + 1
            whole, rest = (rest + piece[:end], piece[end:]) if end else (b"", rest + piece)
            if len(rest) > _LONGEST_LINE:
                raise UnreadableText(
                    f"has a line of more than {rounded_size(_LONGEST_LINE)}; it is not a file of records"
                )
            if whole:
                yield whole
        if rest:
            yield rest


def _piece(file: IO[bytes]) -> bytes:
    try:
        return file.read(_PIECE)
    except _DAMAGED as error:
        raise UnreadableText(f"cannot be unpacked: {error}") from error


@contextmanager
def _open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Opens a regular file, unpacked while it is read. Raises UnreadableText, OSError."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        kind = next((name for test, name in _KINDS if test(mode)), "a device")
        raise UnreadableText(f"is {kind}; give a regular file")
    with os.fdopen(descriptor, "rb") as file:
        start = file.read(8)
        file.seek(0)
        if foreign := next((kind for magic, kind in _FOREIGN.items() if start.startswith(magic)), None):
            raise UnreadableText(f"is {foreign}")
        unpack = next((opener for magic, opener in _PACKED.items() if start.startswith(magic)), None)
        if unpack is None:
            yield file
        else:
            with unpack(file) as unpacked:
                yield unpacked


def read_source(path: Path) -> bytes:
    """The text of a file as UTF-8. Raises UnreadableText, OSError."""
    with _open_unpacked(path) as file:
        plain = isinstance(file, io.BufferedReader)
        text = _read_rest(file, os.fstat(file.fileno()).st_size) if plain else _unpack(file)
    return _decode_to_utf_8(text) if text.startswith(_UTF_16) else text


def _read_rest(file: IO[bytes], size: int) -> bytes:
    """The rest of a file, which may grow while it is read. Raises UnreadableText if it is too large."""
    if size > LARGEST:
        raise UnreadableText(_too_large("has"))
    text = file.read(size + 1)  # `read` allocates as many bytes as requested
    if len(text) > size:
        text += file.read(LARGEST)
    if len(text) > LARGEST:
        raise UnreadableText(_too_large("has"))
    return text


def _unpack(file: IO[bytes]) -> bytes:
    try:
        text = file.read(LARGEST + 1)
    except (*_DAMAGED, OSError) as error:
        raise UnreadableText(f"cannot be unpacked: {error}") from error
    if len(text) > LARGEST:
        raise UnreadableText(_too_large("unpacks to"))
    return text


def _too_large(verb: str) -> str:
    return f"{verb} more than {rounded_size(LARGEST)}; divide it into smaller files"


def _decode_to_utf_8(text: bytes) -> bytes:
    try:
        return text.decode("utf-16").encode()
    except UnicodeError as error:
        raise UnreadableText(
            f"is not valid UTF-16, although it begins with its byte order mark: {error}"
        ) from error
