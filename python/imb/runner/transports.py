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


class TransportReports:
    """The transports that the MPI of a session reports. The launch that asks runs once per variant and number of ranks."""

    def __init__(self) -> None:
        self._reports: dict[tuple[int, int | None], str | None] = {}

    def ask(self, plan: Plan, item: Item, hide: Collection[str]) -> tuple[str | None, bool]:
        """The transports, or None; and whether the user interrupted the launch that asks."""
        interrupted = False
        key = item.variant, item.ranks
        if key not in self._reports:
            self._reports[key] = None
            with contextlib.suppress(ImbError, OSError):
                if command := asking_command_of(plan, item):
                    known = plan.variants[item.variant].mpi.product
                    self._reports[key], interrupted = ask_transports(known, command, hide)
        return self._reports[key], interrupted


def ask_transports(mpi: MpiLibrary, command: Command, hide: Collection[str] = ()) -> tuple[str | None, bool]:
    """Runs a launch in which the MPI reports its transports; returns them, or None, and whether the user interrupted it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        ended = launch.run(command, output=output, errors=Path(folder, "errors"), timeout=_SECONDS, hide=hide)
        return transports_in(mpi, output.read_text(errors="replace")), ended.outcome == "interrupted"
