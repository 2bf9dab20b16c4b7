"""Repeats: launches that replace launches during which the machine was outside its dominant state. The session records the link from a repeat to
the replaced launch; judges read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from imb.model.observations import Launch

FACT = "repeats"  # the fact with the number (in the session) of the launch that a repeat replaces


class RepeatSplit(NamedTuple):
    """The launches that are judged, and the launches that repeats replace."""

    judged: Sequence[Launch]
    replaced: Sequence[Launch]


def is_repeat(launch: Launch) -> bool:
    """Whether this launch replaces another one."""
    return isinstance(launch.facts.get(FACT), int)


def split_repeats(launches: Iterable[Launch]) -> RepeatSplit:
    """Splits launches by the recorded link only. An incomplete repeat replaces nothing: the first launch is judged, and the repeat is in
    neither list."""
    every = list(launches)
    planned = {
        (launch.facts.get("session"), launch.facts.get("number")) for launch in every if not is_repeat(launch)
    }
    complete = {
        (launch.facts.get("session"), launch.facts[FACT])
        for launch in every
        if is_repeat(launch) and launch.rows and launch.facts.get("outcome") == "measured"
    }

    def counts(launch: Launch) -> bool:
        place = launch.facts.get("session"), launch.facts.get(FACT) or launch.facts.get("number")
        return (place in complete or place not in planned) if is_repeat(launch) else place not in complete

    return RepeatSplit(
        [launch for launch in every if counts(launch)],
        [launch for launch in every if not is_repeat(launch) and not counts(launch)],
    )
