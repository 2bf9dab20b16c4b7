#!/usr/bin/env python3
"""Writes a copy of the companion without one of its slices: its folder and its line in python/imb/registry.py are removed.

without_slice.py NAME FOLDER     FOLDER/imb; for PYTHONPATH. The tests of the rest then pass: make without-slices
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


def write_copy(name: str, folder: Path) -> None:
    """Raises ValueError where there is no such slice."""
    registry = (TOP / "python" / "imb" / "registry.py").read_text()
    line = f'    "imb.{name}",\n'
    if registry.count(line) != 1:
        raise ValueError(f"{name} is not a slice in python/imb/registry.py")
    shutil.rmtree(folder, ignore_errors=True)
    copy = folder / "python" / "imb"
    shutil.copytree(TOP / "python" / "imb", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / name)
    (copy / "registry.py").write_text(registry.replace(line, ""))
    for used in ("CMakeLists.txt", "cmake", "src", "schema"):
        (folder / used).symlink_to(TOP / used)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        write_copy(sys.argv[1], Path(sys.argv[2]))
    except ValueError as error:
        sys.exit(f"without_slice: {error}")
