"""Files that are on the disk when these functions return (fsync)."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SYNCS = 16  # at the same time: the file system writes its journal once for several of them


def sync_path(path: Path) -> None:
    """Writes a file or folder to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems sync no folders
            raise
    finally:
        os.close(handle)


def sync_all(paths: Sequence[Path]) -> None:
    """Syncs these paths only: a sync of whole file systems would delay all users of a shared machine."""
    if len(paths) < _SYNCS:
        _each(paths)
        return
    # A task for each path would cost more CPU time than its sync.
    shares = [paths[first::_SYNCS] for first in range(_SYNCS)]
    with ThreadPoolExecutor(_SYNCS) as pool:
        for _ in pool.map(_each, shares):
            pass


def _each(paths: Iterable[Path]) -> None:
    for path in paths:
        sync_path(path)


def create(path: Path, data: bytes, mode: int) -> None:
    """A new file of this mode, less the umask. Raises OSError."""
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)


def write_whole(path: Path, data: bytes, *, sync: bool = True, mode: int = 0o666) -> None:
    """Writes a file so that it is seen whole or not at all; `mode` less the umask. Raises OSError."""
    write_each({path: data}, sync=sync, mode=mode)


def write_each(files: Mapping[Path, bytes], *, sync: bool = True, mode: int = 0o666) -> None:
    """`write_whole` of several, which are synced at the same time. Raises OSError."""
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}") for path in files}
    try:
        for path, part in parts.items():
            try:
                create(part, files[path], mode)
            except OSError as error:
                error.filename = str(path)  # the error of a full disk names no file
                raise
        if sync:
            sync_all(list(parts.values()))
        for path, part in parts.items():
            part.replace(path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    if sync:
        sync_all(list({path.parent for path in files}))
