"""Labels and notes: their changes, and which labels can be given: those that a command takes again as a name.

Labels that an earlier version stored are read, shown and removed whatever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from imb.model.errors import ImbError
from imb.model.text import is_printable, one_line

QUERY = "sql:"  # begins a name that is a query
_LONGEST = 200  # characters


class Tags(msgspec.Struct):
    """Labels, in the order in which they were given, and notes."""

    labels: list[str] = []
    notes: list[str] = []


class LabelChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file in labels/."""

    run: str
    at: str
    by: str
    add: list[str] = []
    remove: list[str] = []
    note: str | None = None


def replay(changes: Iterable[LabelChange]) -> dict[str, Tags]:
    """The labels and notes that are left after these changes."""
    tags: dict[str, Tags] = {}
    for change in changes:
        tag = tags.setdefault(change.run, Tags())
        tag.labels = [label for label in tag.labels if label not in (*change.remove, *change.add)]
        tag.labels.extend(dict.fromkeys(change.add))
        if change.note:
            tag.notes.append(change.note)
    return tags


def checked(labels: Sequence[str]) -> list[str]:
    """The same labels. Raises ImbError for one that no command would take as a name."""
    for label in labels:
        if reason := _reason(label):
            raise ImbError(f"label {label[: _LONGEST + 1]!r}: {reason}")
    return list(labels)


def from_title(title: str) -> str | None:
    """A label of the title of a section in a log, which is any text; None where nothing of it can be one."""
    words = " ".join(one_line(title).replace(",", ";").split())
    label = words.removeprefix(QUERY)[:_LONGEST].strip()
    return label if label and not _reason(label) else None


def _reason(label: str) -> str | None:
    """What is wrong and what is allowed; None: nothing."""
    if not label or label != label.strip() or len(label) > _LONGEST:
        return f"use 1 to {_LONGEST} characters, without leading or trailing blanks"
    if not is_printable(label):
        return "contains a control character; use printable characters"
    if "," in label:
        return "contains a comma, which separates names; use another character"
    if label.lower().startswith(QUERY):
        return f"begins with {QUERY}, which marks a query; choose another label"
    return None
