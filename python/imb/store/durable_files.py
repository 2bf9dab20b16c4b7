"""Writes files so that they are on the disk (fsync) when these functions return."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_SYNCS = 16  # parallel syncs: the file system writes its journal once for several of them


def sync_path(path: Path) -> None:
    """Syncs a file or folder to the disk. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync folders
            raise
    finally:
        os.close(handle)


def sync_all(paths: Sequence[Path]) -> None:
    """Syncs only these paths, since a sync of whole file systems would delay all users of a shared machine."""
    if len(paths) < _SYNCS:
        _sync_each(paths)
        return
    # A task for each path would cost more CPU time than its sync.
    shares = [paths[first::_SYNCS] for first in range(_SYNCS)]
    with ThreadPoolExecutor(_SYNCS) as pool:
        for _ in pool.map(_sync_each, shares):
            pass


def _sync_each(paths: Iterable[Path]) -> None:
    for path in paths:
        sync_path(path)


def create(path: Path, data: bytes, mode: int) -> None:
    """Creates a file with this mode, less the umask, and syncs it. Raises OSError."""
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)


def write_whole(path: Path, data: bytes, *, sync: bool = True, mode: int = 0o666) -> None:
    """Writes a file so that other processes see all of it or the previous state. The umask applies to `mode`. Raises OSError."""
    write_each({path: data}, sync=sync, mode=mode)


def write_each(files: Mapping[Path, bytes], *, sync: bool = True, mode: int = 0o666) -> None:
    """`write_whole` for several files, which are synced at the same time. Raises OSError."""
    parts = {path: path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}") for path in files}
    try:
        for path, part in parts.items():
            try:
                create(part, files[path], mode)
            except OSError as error:
                error.filename = str(path)  # the error for a full disk has no file name
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
