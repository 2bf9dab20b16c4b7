"""Notes: what a command leaves out because it cannot be read. Whoever runs the command listens; without a listener none is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


def note(line: str) -> None:
    """One line for the listener of this process: what is left out, and why."""
    if _listeners:
        _listeners[-1](line)


@contextmanager
def noted(listener: Callable[[str], None]) -> Iterator[None]:
    """Within this context `listener` gets each note once, however often its file is read."""
    known: set[str] = set()

    def once(line: str) -> None:
        if line not in known:
            known.add(line)
            listener(line)

    _listeners.append(once)
    try:
        yield
    finally:
        _listeners.remove(once)
