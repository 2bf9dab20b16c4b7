"""Lines that look like results and were not read, in all that a command reads. `imb` prints them when the command ends."""

from __future__ import annotations

from collections.abc import Iterable

_lines: dict[str, bool] = {}  # each once, in order; whether it makes the exit status 1


def note_unread(problems: Iterable[object], *, lost: bool = True) -> None:
    """Have these printed. `lost`: rows of a named file are missing, so the exit status is 1; the import of a stored run had
    that status already."""
    for problem in map(str, problems):
        _lines[problem] = lost or _lines.get(problem, False)


def taken() -> tuple[list[str], bool]:
    """What was noted since the last call, and whether rows of a file are missing."""
    noted = list(_lines), any(_lines.values())
    _lines.clear()
    return noted
