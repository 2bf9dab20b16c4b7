"""imb label"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption, RunArgument
from imb.model.units import counted
from imb.render.terminal import say


def command(
    run: RunArgument,
    labels: Annotated[list[str] | None, typer.Argument(metavar="LABEL", help="Labels to add.")] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", "-r", metavar="LABEL", help="Remove a label; may be repeated."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", "-n", metavar="TEXT", help="Add a note.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All runs of a label or file.")] = False,
    archive: ArchiveOption = None,
) -> None:
    """Add labels and notes to a run, or show them.

    Labels are stored beside the run, which itself never changes. Several runs may have the same label. A command that
    takes one RUN accepts a label of one run only; here --all takes all runs of it. A label is one line of 1 to 200 characters, without commas; it does not
    begin with sql:.

    Example: imb label 3fa9 baseline "before the new kernel" --note "quiet machine"
    """
    from imb.archive.labels import change_by_me
    from imb.archive.names import some_runs

    store = Archive(archive)
    found = some_runs(store, run, all_of_them=every)
    changes = bool(labels or remove or note)
    if changes:
        store.write_changes(
            [change_by_me(one, add=labels or [], remove=remove or [], note=note) for one in found]
        )
    every_tag = store.tags()
    for one in found:
        tags = every_tag.get(one)
        say(f"{one[:SHORT]}  {', '.join(tags.labels) if tags and tags.labels else '(no labels)'}")
        for text in tags.notes if tags else []:
            say(f"    {text}")
    if every and changes:
        say(f"{counted(len(found), 'run')} labeled")
