"""imb verify"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption
from imb.model.errors import ImbError
from imb.model.units import counted


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Only these runs or labels.", show_default="all"),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Reads the whole archive and names what is wrong in it.

    Every file of every run must have the hash that the run's name stands for; records must satisfy the schema that
    they name; baselines must be as they were made. A run whose records have no end is named as cut off: its results are good all the same. Changes nothing.

    Exit status: 0 all is well, 1 something is damaged. A run that was cut off before it came here is no damage.
    """
    from imb.archive import names
    from imb.archive.verify import verify_archive

    store = Archive(archive)
    if not store.folder.exists():
        raise ImbError(f"no archive {store.folder}; give the folder of one (--archive, $IMB_ARCHIVE)")
    chosen = [run.id for name in runs for run in names.runs(store, name)] if runs else None
    damaged = checked = cut_off = 0
    for finding in verify_archive(store, chosen):
        checked += finding.is_run
        damaged += bool(finding.damage)
        cut_off += finding.cut_off
        for line in finding.damage:
            typer.echo(f"imb: {line}", err=True)
        for line in finding.remarks:
            typer.echo(line)
    typer.echo(
        f"{counted(checked, 'run')}: {damaged} damaged, {cut_off} cut off before {'it' if cut_off == 1 else 'they'} came here"
    )
    if damaged:
        raise typer.Exit(1)
