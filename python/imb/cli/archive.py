"""imb archive"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from imb.cli.common import ArchiveOption, RunArgument
from imb.cli.help import HelpCommand
from imb.cli.option_groups import ACTING
from imb.model.errors import ImbError
from imb.model.notes import listen_to_notes
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.report.terminal import say
from imb.store.store import SHORT, Archive

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Label, remove, restore and verify runs of the archive.

    \b
    Examples:
      imb archive label 3fa9 baseline
      imb archive rm test --all
      imb archive restore 3fa9
      imb archive verify
    """,
)
_FEW = 4  # most runs that the line with the undo command names
_AllOption = Annotated[bool, typer.Option("--all", help="All runs of a label or file.")]


@app.command("label", cls=HelpCommand)
def label(
    run: RunArgument,
    labels: Annotated[list[str] | None, typer.Argument(metavar="[LABEL...]", help="Labels to add.")] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", "-r", metavar="LABEL", help="Remove a label; may be repeated."),
        ACTING,
    ] = None,
    note: Annotated[str | None, typer.Option("--note", "-n", metavar="TEXT", help="Add a note.")] = None,
    all_runs: _AllOption = False,
    archive: ArchiveOption = None,
) -> None:
    """Add labels and notes to a run, or show them.

    Labels are stored beside the run, which itself never changes. Several runs may have the same label. A command that
    takes one RUN accepts a label of one run only; here --all takes all runs of it. A label is one line of 1 to 200 characters, without commas; it does not
    begin with sql:.

    Example: imb archive label 3fa9 baseline "before the new kernel" --note "quiet machine"
    """
    from imb.store.labels import change_by_me
    from imb.store.names import runs_to_change

    store = Archive(archive)
    runs = runs_to_change(store, run, all_of_them=all_runs)
    changes = bool(labels or remove or note)
    if changes:
        store.write_changes(
            [change_by_me(run_id, add=labels or [], remove=remove or [], note=note) for run_id in runs]
        )
    all_tags = store.tags()
    for run_id in runs:
        tags = all_tags.get(run_id)
        say(f"{run_id[:SHORT]}  {', '.join(tags.labels) if tags and tags.labels else '(no labels)'}")
        for text in tags.notes if tags else []:
            say(f"    {text}")
    if all_runs and changes:
        say(f"{count_of(len(runs), 'run')} labeled")


@app.command("rm", cls=HelpCommand)
def rm(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="First digits of names (4 or more), labels, or files that are stored.",
        ),
    ],
    all_runs: _AllOption = False,
    archive: ArchiveOption = None,
) -> None:
    """Remove runs from the archive.

    They are moved to the folder removed/ of the archive; imb archive restore moves them back. Delete that folder to free
    the space.

    \b
    Examples:
      imb archive rm 3fa9 81c0
      imb archive rm test --all
    """
    from imb.store.names import runs_to_change

    store = Archive(archive)
    runs = list(  # resolve all names before any run is moved
        dict.fromkeys(run for name in names for run in runs_to_change(store, name, all_of_them=all_runs))
    )
    for run in runs:
        say(f"{run[:SHORT]} moved to {store.remove(run)}")
    if len(runs) <= _FEW:
        undo = " ".join(run[:SHORT] for run in runs)
    else:
        labels = {label for tags in store.tags().values() for label in tags.labels}
        undo = " ".join(map(shlex.quote, names)) if labels.issuperset(names) else "with the names above"
    say(f"{count_of(len(runs), 'run')} removed; undo: imb archive restore {undo}")


@app.command("restore", cls=HelpCommand)
def restore(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="First digits of names (4 or more), or labels (all their runs)."
        ),
    ],
    archive: ArchiveOption = None,
) -> None:
    """Restore removed runs: undo imb archive rm.

    Runs in the folder removed/ of the archive are moved back, with their labels and notes.

    Example: imb archive restore 3fa9
    """
    from imb.store import removal

    store = Archive(archive)
    copies = removal.removed_runs(store, names)
    for run, copy in copies.items():
        removal.restore(store, run, copy)
        say(f"{run[:SHORT]} restored")
    if len(copies) > 1:
        say(f"{count_of(len(copies), 'run')} restored")


@app.command("verify", cls=HelpCommand)
def verify(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Verify only these runs or labels.", show_default="all"),
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Verify the integrity of the archive.

    Checks the hash of every file of every run, records against their schema, labels, baselines, and sessions. A run whose records have no
    `end` record is reported as cut off: its results are valid. Lines that were not valid records when they were stored are not damage. Changes nothing.

    Exit status: 0 no damage (runs that were cut off included), 1 damage, 2 usage error.
    """
    from imb.runner import stored_sessions
    from imb.store import names
    from imb.store.verify import verify_archive

    store = Archive(archive)
    if missing := store.missing_problem():
        raise ImbError(missing)
    run_names = names.stored_names(store, *runs) if runs else None
    damaged = checked = cut_off = invalid = 0
    unreadable: list[str] = []  # folders, and files of sessions
    with listen_to_notes(lambda note: unreadable.append(note.text)):
        for finding in verify_archive(store, run_names):
            checked += finding.is_run
            damaged += bool(finding.damage)
            cut_off += finding.cut_off
            invalid += finding.invalid
            for line in finding.damage:
                say(f"imb: {line}", err=True)
            for line in finding.remarks:
                say(line)
        if run_names is None:
            unreadable += map(str, stored_sessions.unreadable_files(store))
    for line in unreadable:
        say(f"imb: {line}", err=True)
    damaged += len(unreadable)
    stored_so = f", {invalid} stored with invalid lines" if invalid else ""
    say(f"{count_of(checked, 'run')}: {damaged} damaged{stored_so}, {cut_off} cut off before added")
    if damaged:
        raise typer.Exit(Status.FAILED)
