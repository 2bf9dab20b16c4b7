"""What writers that were killed leave in tmp/ of an archive."""

from __future__ import annotations

import os
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

from imb.store.store import Archive

_OLD = 3600  # seconds


def remains(archive: Archive) -> list[Path]:
    """The folders of runs that are being written, and of those whose writer was killed."""
    return sorted(archive.tmp.iterdir()) if archive.tmp.is_dir() else []


def sweep(archive: Archive) -> None:
    """Deletes what is older than an hour, if its writer ran on this host and has ended. Writers of other hosts cannot be seen
    from here."""
    for folder in remains(archive):
        host, _, pid = folder.name.rpartition("-")[0].rpartition("-")
        if host != socket.gethostname() or not pid.isdigit() or _is_running(int(pid)):
            continue
        with suppress(OSError):  # another process deletes it too
            if time.time() - folder.stat().st_mtime > _OLD:
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # of another user
    return True
