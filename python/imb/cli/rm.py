"""imb rm"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption
from imb.render.terminal import say


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="First digits of names (4 or more), labels of one run, or files that are stored.",
        ),
    ],
    archive: ArchiveOption = None,
) -> None:
    """Remove runs from the archive.

    They are moved to the folder removed/ of the archive. Move a folder back to runs/ to restore it, or delete it to
    free the space.

    Example: imb rm 3fa9 81c0
    """
    from imb.archive.names import one_run

    store = Archive(archive)
    found = [one_run(store, run).id for run in runs]  # all are known before one is touched
    for run_id in dict.fromkeys(found):
        say(f"{run_id[:SHORT]} moved to {store.remove(run_id)}")
