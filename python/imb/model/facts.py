"""Facts of a launch: what `imb` keeps beside its records. JSON of any version, or of another program: nothing in it is certain."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

_Type = TypeVar("_Type")


def fact(kind: type[_Type], facts: object, *names: str) -> _Type | None:
    """The value at this path; None where there is none of this type."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, dict) else None
    try:
        return msgspec.convert(facts, kind)
    except msgspec.ValidationError:
        return None


def facts_in(facts: object, *names: str) -> dict[str, Any]:
    """The object at this path; empty where there is none."""
    return fact(dict[str, Any], facts, *names) or {}
