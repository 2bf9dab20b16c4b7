"""Conditions that differ between two sides, or among the launches of one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import TypeAlias

import msgspec

from imb.model.conditions import (
    CONDITIONS,
    Condition,
    LeastDifference,
    condition,
    condition_labeled,
    conditions_of,
    describes_job,
    knows_environment,
)
from imb.model.facts import fact
from imb.model.mpis import OpenMpi, library_name
from imb.model.observations import Side
from imb.model.units import abridge

_NAMED = 2  # settings in the name of a side
_LONGEST = 40  # characters of each setting
_PLACES = {row.id: place for place, row in enumerate(CONDITIONS)}

ConditionValues: TypeAlias = dict[
    str, list[str]
]  # the conditions of a side: distinct texts by id of the condition


class Difference(msgspec.Struct, frozen=True):
    """A condition, named by its label, that was not the same in all launches: its distinct values on side A
    and on side B."""

    name: str
    a: list[str]
    b: list[str]

    @property
    def condition(self) -> Condition:
        return condition_labeled(self.name)


def sort_key(id: str) -> tuple[int, str]:
    """A key that sorts conditions: first those of CONDITIONS, in its order, then others by label."""
    return _PLACES.get(id, len(_PLACES)), condition(id).label


def differences(
    a: Side, b: Side, *, values: tuple[ConditionValues, ConditionValues] | None = None
) -> list[Difference]:
    """Conditions that are known on both sides and differ between the sides or within one; the most important
    first. `values`: the conditions of both sides, if the caller has them."""
    of_a, of_b = values or values_of(a, b)
    launches = len(a.launches) + len(b.launches)
    differing = [
        Difference(condition(id).label, of_a[id], of_b[id])
        for id in sorted(of_a.keys() & of_b.keys(), key=sort_key)
        if _differ(id, of_a[id], of_b[id]) and not varies_per_launch(id, [*of_a[id], *of_b[id]], launches)
    ]
    return [
        *(_add_interface(difference, of_a, of_b) for difference in differing),
        *_numeric_differences(a, b),
    ]


def names_of_sides(differing: Sequence[Difference]) -> tuple[str, str] | None:
    """Names for A and B: their MPI libraries, or else other settings that were chosen and differ; None if no
    chosen setting differs. Consequences of a choice (transports, CPUs of ranks) and the state of the machine
    never name a side."""
    chosen = {
        difference.condition.id: (difference.a[0], difference.b[0])
        for difference in differing
        if difference.condition.names_side
        and len(difference.a) == len(difference.b) == 1
        and difference.a != difference.b
    }
    libraries = [library_name(library) for library in chosen.pop("mpi.name", ())]
    if libraries and libraries[0] != libraries[1]:
        return libraries[0], libraries[1]
    if any(id.startswith("$") for id in chosen):
        chosen.pop("intent.extra", None)  # a launcher turns its arguments into variables
    ids = sorted(chosen, key=lambda id: not id.startswith("$"))
    if not ids:
        return None
    a, b = ([_setting(id, chosen[id][side]) for id in ids] for side in (0, 1))
    return abridge(a, _NAMED), abridge(b, _NAMED)


def common_path(of_a: ConditionValues, of_b: ConditionValues, differing: Sequence[Difference]) -> str | None:
    """A sentence if sides that differ in a setting sent their messages over the same path, so that the
    setting selected no other transport. None if the paths differ or are unknown."""
    names = names_of_sides(differing)
    ids = [difference.condition.id for difference in differing]
    if names is None or not any(id.startswith("$") or id == "intent.extra" for id in ids):
        return None
    ways = [(of_a.get(id), of_b.get(id)) for id in ("path", "transports")]
    paths = [(first, second) for first, second in ways if first and second]
    if not paths or any(first != second or len(first) > 1 for first, second in paths):
        return None
    return f"both sides took the same path: {paths[0][0][0]}; {names[0]} and {names[1]} select no other transport"


def _setting(id: str, value: str) -> str:
    """`btl=tcp`, `UCX_TLS unset`, `kernel 6.2.0`; launcher arguments are unchanged."""
    if id.startswith("$"):
        variable = id[1:].removeprefix(OpenMpi.variables[0])
        text = f"{variable} unset" if value == "unset" else f"{variable}={value}"
    else:
        row = condition(id)
        text = value if row.names_side == "value" else f"{row.label} {value}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _add_interface(difference: Difference, of_a: ConditionValues, of_b: ConditionValues) -> Difference:
    """If both sides have the same binary interface (ABI), add it to the difference between MPI libraries: one
    executable may then have run with both. Other differences are returned unchanged."""
    interfaces = [values.get("build.interface", []) for values in (of_a, of_b)]
    if difference.condition.id != "mpi.name" or interfaces[0] != interfaces[1] or len(interfaces[0]) != 1:
        return difference
    a, b = ([f"{library}, {interfaces[0][0]}" for library in side] for side in (difference.a, difference.b))
    return Difference(difference.name, a, b)


def unknown_conditions(of_a: ConditionValues, of_b: ConditionValues) -> tuple[list[str], list[str]]:
    """Labels of the conditions that are known for B only, and of those that are known for A only."""
    without_gpus = ["none"] in (of_a.get("gpus"), of_b.get("gpus"))
    listed = [row for row in CONDITIONS if not (without_gpus and row.id.startswith("gpu."))]
    return (
        [row.label for row in listed if row.id in of_b and row.id not in of_a],
        [row.label for row in listed if row.id in of_a and row.id not in of_b],
    )


def _differ(id: str, a: Sequence[str], b: Sequence[str]) -> bool:
    return set(a) != set(b) if condition(id).compare == "set" else len({*a, *b}) > 1


def varies_per_launch(id: str, values: Sequence[str], launches: int) -> bool:
    """Whether an environment variable has a different value in every launch, such as a job number. This is no
    difference between sides."""
    return id.startswith("$") and (describes_job(id) or (launches > 4 and len(set(values)) == launches))


def values_of(*sides: Side) -> list[ConditionValues]:
    """For each side, the distinct texts of each condition, by id, in the order of launches. A launch without
    a condition adds no text. If other launches have a variable, it is `unset` in launches whose environment
    is known."""
    texts = [[conditions_of(launch) for launch in side.launches] for side in sides]
    unset = {
        id: "unset" for of_side in texts for of_launch in of_side for id in of_launch if id.startswith("$")
    }
    values: list[ConditionValues] = []
    for side, of_side in zip(sides, texts, strict=True):
        each: dict[str, dict[str, None]] = {}
        for launch, of_launch in zip(side.launches, of_side, strict=True):
            for id, text in ({**unset, **of_launch} if knows_environment(launch) else of_launch).items():
                each.setdefault(id, {})[text] = None
        values.append({id: list(distinct) for id, distinct in each.items()})
    return values


def _numeric_differences(a: Side, b: Side) -> Iterator[Difference]:
    """Yield conditions that are numbers and differ, as their ranges over launches."""
    for row in CONDITIONS:
        if isinstance(row.compare, LeastDifference):
            of_a, of_b = (_numbers(row, side) for side in (a, b))
            if of_a and of_b and abs(median(of_a) - median(of_b)) >= row.compare.least:
                yield Difference(row.label, [row.compare.range(of_a)], [row.compare.range(of_b)])


def _numbers(row: Condition, side: Side) -> list[float]:
    values = (fact(float, launch.facts, *row.id.split(".")) for launch in side.launches)
    return [value for value in values if value is not None]
