"""Facts of a launch: the data that `imb` stores beside the records. They are JSON from any version of imb or another program, so no path and no
type in them is certain."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Type = TypeVar("_Type")


def fact(kind: type[_Type], facts: object, *names: str) -> _Type | None:
    """The value at this path, or None if it is missing or has another type."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, dict) else None
    try:
        return msgspec.convert(facts, kind)
    except msgspec.ValidationError:
        return None


def facts_in(facts: object, *names: str) -> dict[str, Any]:
    """The object at this path, or an empty one if it is missing."""
    return fact(dict[str, Any], facts, *names) or {}
