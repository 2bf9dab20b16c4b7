"""Which labels can be given: those that a command takes again as a name.

Labels that an earlier version stored are read, shown and removed whatever they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from imb.model.errors import ImbError
from imb.model.text import one_line

QUERY = "sql:"  # begins a name that is a query
_LONGEST = 200  # characters


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
    if not label.isprintable():
        return "contains a control character; use printable characters"
    if "," in label:
        return "contains a comma, which separates names; use another character"
    if label.lower().startswith(QUERY):
        return f"begins with {QUERY}, which marks a query; choose another label"
    return None
