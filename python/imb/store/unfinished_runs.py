"""Finds and deletes files in tmp/ of an archive that killed writers left."""

from __future__ import annotations

import os
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

from imb.store.store import Archive

_OLD = 3600  # seconds


def unfinished_runs(archive: Archive) -> list[Path]:
    """The folders of runs that are being written, or whose writer was killed."""
    return sorted(archive.tmp.iterdir()) if archive.tmp.is_dir() else []


def sweep(archive: Archive) -> None:
    """Deletes folders that are older than an hour and whose writer ran on this host and has ended. Whether a writer on another host has ended
    is unknown here."""
    for folder in unfinished_runs(archive):
        host, _, pid = folder.name.rpartition("-")[0].rpartition("-")
        if host != socket.gethostname() or not pid.isdigit() or _is_running(int(pid)):
            continue
        with suppress(OSError):  # another process may delete it at the same time
            if time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # a process of another user
    return True
