"""imb rm"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from imb.archive.store import SHORT, Archive
from imb.cli.common import ArchiveOption
from imb.model.units import counted
from imb.render.terminal import say

_FEW = 4  # runs that are named


def command(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="First digits of names (4 or more), labels, or files that are stored.",
        ),
    ],
    every: Annotated[bool, typer.Option("--all", help="Remove all runs of a label or file.")] = False,
    archive: ArchiveOption = None,
) -> None:
    """Remove runs from the archive.

    They are moved to the folder removed/ of the archive; imb restore moves them back. Delete that folder to free the
    space.

    \b
    Examples:
      imb rm 3fa9 81c0
      imb rm test --all
    """
    from imb.archive.names import some_runs

    store = Archive(archive)
    found = list(  # all are known before one is touched
        dict.fromkeys(one for run in runs for one in some_runs(store, run, all_of_them=every))
    )
    for run_id in found:
        say(f"{run_id[:SHORT]} moved to {store.remove(run_id)}")
    if len(found) <= _FEW:
        undo = " ".join(run_id[:SHORT] for run_id in found)
    else:
        labels = {label for tags in store.tags().values() for label in tags.labels}
        undo = " ".join(map(shlex.quote, runs)) if labels.issuperset(runs) else "with the names above"
    say(f"{counted(len(found), 'run')} removed; undo: imb restore {undo}")
