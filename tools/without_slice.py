#!/usr/bin/env python3
"""Writes a copy of the project without one slice of the companion: its folder, its line in python/imb/registry.py and the folder of its
tests are removed.

without_slice.py NAME FOLDER     The rest still passes its tests: make without-slices
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
    folder.mkdir(parents=True)
    for path in TOP.iterdir():
        if path.name in (
            "python",
            "tests",
            "tools",
        ):  # which find the rest of the project from where they are
            shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.name != ".git":
            (folder / path.name).symlink_to(path)
    shutil.rmtree(folder / "python" / "imb" / name)
    shutil.rmtree(folder / "tests" / "companion" / name)
    (folder / "python" / "imb" / "registry.py").write_text(registry.replace(line, ""))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        write_copy(sys.argv[1], Path(sys.argv[2]))
    except ValueError as error:
        sys.exit(f"without_slice: {error}")
