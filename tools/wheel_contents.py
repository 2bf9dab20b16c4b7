"""A hook of hatchling: puts what tools/wheel.py built into the wheel. Any other build of the package is pure Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelContents(BuildHookInterface):
    """By $OPENIMB_WHEEL_TREE, a folder with bin, libexec and share, and $OPENIMB_WHEEL_TAG."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        given = os.environ.get("OPENIMB_WHEEL_TREE")
        if not given or version == "editable":
            return
        tree = Path(given)
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["OPENIMB_WHEEL_TAG"]
        build_data["shared_scripts"] = {str(path): path.name for path in sorted((tree / "bin").iterdir())}
        build_data["shared_data"] = {str(tree / name): name for name in ("libexec", "share")}
