"""Finds existing builds of the suite: imb's builds in the user's cache, and builds of `make` in a checkout."""

from __future__ import annotations

import os
import re
from pathlib import Path

from imb.model.folders import NoHome, lasting_cache_folder
from imb.model.suite import suite_folder

_ENTRY = re.compile(r"(?m)^(\w+):\w+=(.*)$")
# Settings of a standard build of `make`. CMake writes ON and OFF.
_DEFAULTS = {
    "CMAKE_BUILD_TYPE": "Release",
    "CMAKE_CXX_FLAGS": "",
    "CMAKE_CXX_FLAGS_RELEASE": "-O3 -DNDEBUG",
    "CMAKE_EXE_LINKER_FLAGS": "",
    "OPENIMB_PURE": "OFF",
    "OPENIMB_SANITIZE": "OFF",
    "OPENIMB_INTERFACE": "",
    "OPENIMB_PROGRAM_PREFIX": "",
    "OPENIMB_PROGRAM_SUFFIX": "",
}


def cache_folder() -> Path:
    """The folder of all builds that imb made. Raises NoHome."""
    return lasting_cache_folder() / "builds"


def has_built() -> bool:
    """Whether imb has built anything."""
    try:
        return cache_folder().is_dir()
    except NoHome:
        return False


def make_folder(wrapper: str, compiler: str | None = None) -> Path | None:
    """The newest folder in which `make` builds the suite for the MPI of this wrapper, from the sources of this imb, with this compiler (None:
    any). None if there is no such folder or it belongs to another user."""
    caches = []
    for cache in (suite_folder() / "build").glob("*/CMakeCache.txt"):
        if not os.access(cache.parent, os.W_OK) or not os.access(cache, os.R_OK):
            continue
        entries = dict(_ENTRY.findall(cache.read_text(errors="replace")))
        is_default = all(entries.get(name, value) == value for name, value in _DEFAULTS.items())
        expected = {"MPI_CXX_COMPILER": wrapper, **({"CMAKE_CXX_COMPILER": compiler} if compiler else {})}
        if is_default and all(_is_same(entries.get(name, ""), path) for name, path in expected.items()):
            caches.append(cache)
    return max(caches, key=lambda cache: cache.stat().st_mtime).parent if caches else None


def _is_same(first: str, second: str) -> bool:
    return bool(first and second) and Path(first).resolve() == Path(second).resolve()
