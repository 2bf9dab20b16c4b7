"""The user's folders: data, state, and a cache of files that can be computed again."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import platformdirs

from imb.model.errors import ImbError


class NoHome(ImbError):
    """Raised if the user has no home folder, as in a container whose user has no name."""


def data_folder() -> Path:
    """The folder for the archive. Raises NoHome."""
    return _folder(platformdirs.user_data_path, "give --archive, or set IMB_ARCHIVE, HOME or XDG_DATA_HOME")


def state_folder(option: str) -> Path:
    """The folder for what is known about this machine. `option`: the option that names another place. Raises NoHome."""
    return _folder(platformdirs.user_state_path, f"give {option}, or set HOME or XDG_STATE_HOME")


def lasting_cache_folder() -> Path:
    """The cache folder for files that later commands need. Raises NoHome."""
    return _folder(platformdirs.user_cache_path, "set HOME or XDG_CACHE_HOME")


def cache_folder() -> Path:
    """The cache folder for files that each command can compute again. If the user has no home folder, it is temporary."""
    try:
        return lasting_cache_folder()
    except NoHome:
        return _temporary_folder(os.getpid())


def expand_path(path: Path) -> Path:
    """The path with the home folder in place of `~`. Raises ImbError if the user has none."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise ImbError(f"{path}: there is no home folder {path.parts[0]}; give an absolute path") from None


def _folder(folder_of: Callable[[str], Path], advice: str) -> Path:
    try:
        folder = folder_of("openimb")
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():  # old versions of platformdirs do not replace ~
        home = "no absolute path" if os.environ.get("HOME") else "not set"
        raise NoHome(f"no home folder: HOME is {home}, and passwd has no user {os.getuid()}; {advice}")
    return folder


@cache
def _temporary_folder(process: int) -> Path:
    """A temporary folder, which this process removes when it exits."""
    folder = tempfile.mkdtemp(prefix="imb-cache-")

    def remove() -> None:
        if os.getpid() == process:  # a child may inherit this function
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)
