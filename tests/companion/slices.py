"""Which slice of the companion has a command, also where that slice is taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import lab
import pytest

SLICE_OF_COMMAND = {
    command: entries.parent.name
    for entries in (lab.TOP / "python" / "imb").glob("*/__init__.py")
    for command in re.findall(r'"([a-z]+)": CommandEntry\(', entries.read_text())
}


def with_commands(value: object, commands: Iterable[str]) -> Any:
    """A parameter of a test that uses these commands of `imb`: it goes with their slices."""
    used = {SLICE_OF_COMMAND[command] for command in commands if command in SLICE_OF_COMMAND}
    return pytest.param(value, marks=[pytest.mark.slice(name) for name in used])
