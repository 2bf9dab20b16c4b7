"""Labels and notes of runs: how they change, and which texts can be labels (texts that commands accept as a name).

ARCHIVE/labels/00001795789012345678-3fa9….json is one change; the file is never modified. Changes apply in the order of their numbers.
The number is the time in nanoseconds, or one more than the largest number that its writer found, if that is larger. So a change
follows all changes that its writer saw, even if the clocks of hosts differ.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from imb.model.errors import ImbError
from imb.model.text import is_printable, now, one_line
from imb.store.durable_files import write_each
from imb.store.reading import names_in, readable_json

QUERY = "sql:"  # a name that begins so is a query
_LONGEST = 200  # characters
_NUMBERED = re.compile(r"(\d+).*\.json", re.ASCII)


class Tags(msgspec.Struct):
    """The labels of a run, in the order in which they were given, and its notes."""

    labels: list[str] = []
    notes: list[str] = []


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file in labels/."""

    run: str
    at: str
    by: str
    add: list[str] = []
    remove: list[str] = []
    note: str | None = None


def replay(changes: Iterable[LabelChange]) -> dict[str, Tags]:
    """Run -> its labels and notes after these changes."""
    tags: dict[str, Tags] = {}
    for change in changes:
        tag = tags.setdefault(change.run, Tags())
        tag.labels = [label for label in tag.labels if label not in (*change.remove, *change.add)]
        tag.labels.extend(dict.fromkeys(change.add))
        if change.note:
            tag.notes.append(change.note)
    return tags


def change_by_me(
    run_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), note: str | None = None
) -> LabelChange:
    """A change by this user with the current time. Raises ImbError for an invalid label."""
    return LabelChange(
        run=run_id,
        at=now(),
        by=writer(),
        add=check_labels(add),
        remove=list(remove),
        note=note,
    )


def writer() -> str:
    """`user@host`, as changes and baselines record it."""
    return f"{user()}@{socket.gethostname()}"


def user() -> str:
    """The user who runs `imb`."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container, the user may have no name
        return str(os.getuid())


class LabelLog:
    """The folder labels/ of an archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._changes: dict[str, LabelChange] = {}  # by file name

    def files(self) -> list[Path]:
        """The files, one per change, in the order of the changes."""
        return [self.folder / name for _, name in self._numbered_files()]

    def _numbered_files(self) -> list[tuple[int, str]]:
        matches = ((_NUMBERED.fullmatch(name), name) for name in names_in(self.folder))
        return sorted((int(match[1]), name) for match, name in matches if match)

    def changes(self, files: Iterable[Path] | None = None) -> Iterator[tuple[Path, LabelChange]]:
        """Yields these files, or all files in order, with their contents. A file that cannot be read is skipped with a note."""
        for path in self.files() if files is None else files:
            if path.name not in self._changes:
                change = readable_json(path, LabelChange, "its labels and notes are left out")
                if change is None:
                    continue
                self._changes[path.name] = change
            yield path, self._changes[path.name]

    def write(self, changes: Sequence[LabelChange]) -> None:
        """Adds these changes after all existing ones. Raises OSError."""
        if not changes:
            return
        latest = max((number for number, _ in self._numbered_files()), default=0)
        first = max(time.time_ns(), latest + 1)
        files = {}
        for number, change in enumerate(changes, first):
            name = f"{number:020d}-{change.run[:16]}-{secrets.token_hex(4)}.json"
            files[self.folder / name] = msgspec.json.encode(change) + b"\n"
        write_each(files)


def check_labels(labels: Sequence[str]) -> list[str]:
    """Returns these labels. Raises ImbError for a label that commands would not accept as a name."""
    for label in labels:
        if reason := _reason(label):
            raise ImbError(f"label {label[: _LONGEST + 1]!r}: {reason}")
    return list(labels)


def label_from_title(title: str) -> str | None:
    """A label from the title of a section in a log, which may be any text, or None if the title cannot become a valid label."""
    words = " ".join(one_line(title).replace(",", ";").split())
    label = words.removeprefix(QUERY)[:_LONGEST].strip()
    return label if label and not _reason(label) else None


def _reason(label: str) -> str | None:
    """Why a label is invalid and what is allowed, or None if it is valid."""
    if not label or label != label.strip() or len(label) > _LONGEST:
        return f"use 1 to {_LONGEST} characters, without leading or trailing blanks"
    if not is_printable(label):
        return "contains a control character; use printable characters"
    if "," in label:
        return "contains a comma, which separates names; use another character"
    if label.lower().startswith(QUERY):
        return f"begins with {QUERY}, which marks a query; choose another label"
    return None
