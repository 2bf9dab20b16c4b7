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

_SECONDS = 20.0  # time limit of such a launch; it takes one second

_reported: dict[tuple[str, int, int | None], str | None] = {}  # by session, variant and ranks


def reported_transports(plan: Plan, item: Item, hide: Collection[str]) -> tuple[str | None, bool]:
    """The transports, asked for once in a session for each variant and number of ranks; and whether asking was interrupted."""
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
    """The transports that the MPI reports in this launch, which is only made for that; whether it was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        ended = launch.run(command, output=output, errors=Path(folder, "errors"), timeout=_SECONDS, hide=hide)
        return transports_in(mpi, output.read_text(errors="replace")), ended.outcome == "interrupted"
