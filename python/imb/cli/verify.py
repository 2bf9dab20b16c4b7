"""imb verify"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption
from imb.model.errors import ImbError
from imb.model.notes import noted
from imb.model.units import counted
from imb.render.terminal import say


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Verify only these runs or labels.", show_default="all"),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Verify the integrity of the archive.

    Checks the hash of every file of every run, records against their schema, labels, baselines, and sessions. A run whose records have no
    end is reported as cut off: its results are valid. Changes nothing.

    Exit status: 0 no damage (runs that were cut off included), 1 damage, 2 usage error.
    """
    from imb.archive import names
    from imb.archive.verify import verify_archive
    from imb.measure import stored_sessions

    store = Archive(archive)
    if missing := store.missing():
        raise ImbError(missing)
    chosen = names.stored_names(store, *runs) if runs else None
    damaged = checked = cut_off = 0
    unread: list[str] = []  # folders, and files of sessions
    with noted(lambda one: unread.append(one.text)):
        for finding in verify_archive(store, chosen):
            checked += finding.is_run
            damaged += bool(finding.damage)
            cut_off += finding.cut_off
            for line in finding.damage:
                say(f"imb: {line}", err=True)
            for line in finding.remarks:
                say(line)
        if chosen is None:
            unread += map(str, stored_sessions.unreadable_files(store))
    for line in unread:
        say(f"imb: {line}", err=True)
    damaged += len(unread)
    say(f"{counted(checked, 'run')}: {damaged} damaged, {cut_off} cut off before added")
    if damaged:
        raise typer.Exit(1)
