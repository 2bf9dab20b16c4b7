"""imb rm"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption


def command(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Names (4 digits or more) or labels that one run has."),
    ],
    archive: ArchiveOption = None,
) -> None:
    """Takes runs out of the archive.

    They are moved to the archive's folder removed/, where nothing looks for them: move a folder back under runs/ to
    have it again, or delete it there to have the space.

    Example: imb rm 3fa9 81c0
    """
    from imb.archive.names import one_run

    store = Archive(archive)
    found = [one_run(store, run).id for run in runs]  # all are known before one is touched
    for run_id in dict.fromkeys(found):
        typer.echo(f"{run_id[:SHORT]} is now {store.remove(run_id)}")
