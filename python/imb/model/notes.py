"""Notes: lines about files, or parts of them, that a command skips because it cannot read them. The program that runs the command listens
to them; without a listener they are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Note(NamedTuple):
    """One line: what is skipped, and why. `is_row`: it is about a line that looks like a result, else about a file. `lost`: rows of a
    file that the user named are missing, so the exit status is 1 (for a stored run, its import had that status)."""

    text: str
    is_row: bool = False
    lost: bool = False


_listeners: list[Callable[[Note], None]] = []


def note(text: str) -> None:
    """Notes that a file or a part of one is skipped."""
    pass_on(Note(text))


def note_unread(problems: Iterable[object], *, lost: bool = True) -> None:
    """Notes that lines that look like results were not read."""
    for problem in map(str, problems):
        pass_on(Note(problem, is_row=True, lost=lost))


def pass_on(entry: Note) -> None:
    """Gives a note to the listener of this process, if there is one."""
    if _listeners:
        _listeners[-1](entry)


@contextmanager
def listen_to_notes(listener: Callable[[Note], None]) -> Iterator[None]:
    """A context in which `listener` gets each note once, even if its file is read several times."""
    known: set[Note] = set()

    def pass_once(entry: Note) -> None:
        if entry not in known:
            known.add(entry)
            listener(entry)

    _listeners.append(pass_once)
    try:
        yield
    finally:
        _listeners.remove(pass_once)
