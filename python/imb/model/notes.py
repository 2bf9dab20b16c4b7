"""Notes: what a command leaves out because it cannot be read. The program that runs the command listens; without a listener none is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Note(NamedTuple):
    """One line: what is left out, and why. `is_row`: a line that looks like a result; others are files. `lost`: rows of a named
    file are missing, so the exit status is 1; the import of a stored run had that status already."""

    text: str
    is_row: bool = False
    lost: bool = False


_listeners: list[Callable[[Note], None]] = []


def note(text: str) -> None:
    """A file or a part of one is left out."""
    pass_on(Note(text))


def note_unread(problems: Iterable[object], *, lost: bool = True) -> None:
    """Lines that look like results were not read."""
    for problem in map(str, problems):
        pass_on(Note(problem, is_row=True, lost=lost))


def pass_on(entry: Note) -> None:
    """A note for the listener of this process."""
    if _listeners:
        _listeners[-1](entry)


@contextmanager
def listen_to_notes(listener: Callable[[Note], None]) -> Iterator[None]:
    """Within this context `listener` gets each note once, however often its file is read."""
    known: set[Note] = set()

    def once(entry: Note) -> None:
        if entry not in known:
            known.add(entry)
            listener(entry)

    _listeners.append(once)
    try:
        yield
    finally:
        _listeners.remove(once)
