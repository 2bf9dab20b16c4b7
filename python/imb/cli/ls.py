"""imb ls"""

from __future__ import annotations

import typer

from imb.archive import SHORT, Archive
from imb.cli.common import ArchiveOption


def command(archive: ArchiveOption = None) -> None:
    """Lists the runs of the archive."""
    store = Archive(archive)
    for run_id in store.ids():
        typer.echo(f"{run_id[:SHORT]}  {store.run(run_id).manifest.added}")
