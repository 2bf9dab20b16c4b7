"""The transports that the MPI of a session reports."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection
from pathlib import Path

from imb.model.errors import ImbError
from imb.model.mpis import MpiLibrary, transports_in
from imb.mpi import launch
from imb.mpi.launchers import Command
from imb.runner.session import Item, Plan, asking_command_of

_SECONDS = 20.0  # time limit of a launch that reports transports; it takes about one second

_reported: dict[tuple[str, int, int | None], str | None] = {}  # by session, variant and ranks


def reported_transports(plan: Plan, item: Item, hide: Collection[str]) -> tuple[str | None, bool]:
    """The transports that the MPI reports, or None; and whether the user interrupted the launch that asks. That launch runs once per session,
    variant and number of ranks."""
    interrupted = False
    key = plan.id, item.variant, item.ranks
    if key not in _reported:
        _reported[key] = None
        with contextlib.suppress(ImbError, OSError):
            if command := asking_command_of(plan, item):
                known = plan.variants[item.variant].mpi.known
                _reported[key], interrupted = ask_transports(known, command, hide)
    return _reported[key], interrupted


def ask_transports(mpi: MpiLibrary, command: Command, hide: Collection[str] = ()) -> tuple[str | None, bool]:
    """Runs a launch in which the MPI reports its transports; returns them, or None, and whether the user interrupted it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        ended = launch.run(command, output=output, errors=Path(folder, "errors"), timeout=_SECONDS, hide=hide)
        return transports_in(mpi, output.read_text(errors="replace")), ended.outcome == "interrupted"
