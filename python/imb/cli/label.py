"""imb label"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption, RunArgument
from imb.model.text import one_line


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
    command takes a RUN, a label that only one has will do. A label is one line of 1 to 200 characters, without commas;
    it does not begin with sql:.

    Example: imb label 3fa9 baseline "before the new kernel" --note "quiet machine"
    """
    from imb.archive.names import one_run

    store = Archive(archive)
    found = one_run(store, run)
    if labels or remove or note:
        store.label(found.id, add=labels or [], remove=remove or [], note=note)
    tags = store.tags().get(found.id)
    shown = ", ".join(map(one_line, tags.labels)) if tags and tags.labels else "(no labels)"
    typer.echo(f"{found.id[:SHORT]}  {shown}")
    for text in tags.notes if tags else []:
        typer.echo(f"    {one_line(text)}")
