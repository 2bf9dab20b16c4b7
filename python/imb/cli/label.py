"""imb label"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption, RunArgument
from imb.render.terminal import say


def command(
    run: RunArgument,
    labels: Annotated[list[str] | None, typer.Argument(metavar="LABEL", help="Labels to add.")] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", "-r", metavar="LABEL", help="Remove a label; may be repeated."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", "-n", metavar="TEXT", help="Add a note.")] = None,
    archive: ArchiveOption = None,
) -> None:
    """Add labels and notes to a run, or show them.

    Labels are stored beside the run, which itself never changes. Several runs may have the same label. A command that
    takes one RUN accepts a label of one run only. A label is one line of 1 to 200 characters, without commas; it does not
    begin with sql:.

    Example: imb label 3fa9 baseline "before the new kernel" --note "quiet machine"
    """
    from imb.archive.names import one_run

    store = Archive(archive)
    found = one_run(store, run)
    if labels or remove or note:
        store.label(found.id, add=labels or [], remove=remove or [], note=note)
    tags = store.tags().get(found.id)
    say(f"{found.id[:SHORT]}  {', '.join(tags.labels) if tags and tags.labels else '(no labels)'}")
    for text in tags.notes if tags else []:
        say(f"    {text}")
