"""imb restore"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption
from imb.model.units import counted
from imb.render.terminal import say


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="First digits of names (4 or more), or labels (all their runs)."
        ),
    ],
    archive: ArchiveOption = None,
) -> None:
    """Restore removed runs: undo imb rm.

    Runs that imb rm moved to the folder removed/ of the archive are moved back. They have their labels and notes again.

    Example: imb restore 3fa9
    """
    from imb.archive.removed import removed_runs, restore

    store = Archive(archive)
    found = removed_runs(store, runs)
    for run_id, copy in found.items():
        restore(store, run_id, copy)
        say(f"{run_id[:SHORT]} restored")
    if len(found) > 1:
        say(f"{counted(len(found), 'run')} restored")
