"""Which launches of a session are measured again, once all that was planned is over (imb.judge.repeats decides)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from imb.archive.store import SHORT, Archive
from imb.measure.session import Done, Item, Plan, launch_batches
from imb.model.units import counted
from imb.render.terminal import say


def with_repeats(archive: Archive, made: Plan, over: Sequence[Done]) -> Plan | None:
    """The plan with the launches that are to be repeated, which one line on standard error names; None: there are none, or they are
    in the plan already."""
    ended = {one.number: one for one in over}
    if not made.repeats or any(item.repeats for item in made.items) or len(ended) < len(made.items):
        return None
    from imb.archive.names import launches_in
    from imb.judge.repeats import to_repeat

    measured = {
        number: launches_in(archive, one.run) for number, one in ended.items() if one.outcome == "measured"
    }
    batches = [
        items for items in launch_batches(made, made.items) if all(item.number in measured for item in items)
    ]
    chosen = to_repeat(
        [[launch for item in items for launch in measured[item.number]] for items in batches],
        [launch for launches in measured.values() for launch in launches],
        made.repeats,
    )
    again: list[Item] = []
    for item in (item for index in chosen for item in batches[index]):
        number = len(made.items) + len(again) + 1
        again.append(msgspec.structs.replace(item, number=number, repeats=item.number))
    if not again:
        return None
    runs = ", ".join(ended[item.repeats or 0].run[:SHORT] for item in again)
    beside = ", or beside one that is," if made.parts > 1 else ""
    say(
        f"imb: {counted(len(again), 'launch')} outside the dominant state of the machine{beside} by the state probe: repeated"
        f" (at most {made.repeats}): {runs}",
        err=True,
    )
    return msgspec.structs.replace(made, items=[*made.items, *again])
