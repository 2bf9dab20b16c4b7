"""imb label"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption, RunArgument
from imb.model.errors import ImbError


def command(
    run: RunArgument,
    labels: Annotated[list[str] | None, typer.Argument(metavar="LABEL", help="Labels to give.")] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", "-r", metavar="LABEL", help="Take a label away; may be repeated."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", "-n", metavar="TEXT", help="Add a note.")] = None,
    archive: ArchiveOption = None,
) -> None:
    """Gives a run labels and notes, or shows those it has.

    Labels are kept beside the run, which itself never changes. A label may be given to several runs; where a
    command takes a RUN, a label that only one has will do.

    Example: imb label 3fa9 baseline "before the new kernel" --note "quiet machine"
    """
    store = Archive(archive)
    found = store.find(run)
    if any(not label.strip() or len(label) > 200 for label in labels or []):
        raise ImbError("a label is 1 to 200 characters, not all of them blanks")
    if labels or remove or note:
        store.label(found.id, add=labels or [], remove=remove or [], note=note)
    tags = store.tags().get(found.id)
    typer.echo(f"{found.id[:SHORT]}  {', '.join(tags.labels) if tags and tags.labels else '(no labels)'}")
    for text in tags.notes if tags else []:
        typer.echo(f"    {text}")
