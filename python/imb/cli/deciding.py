"""When a session has launched enough: a look after every round, and which launches are measured again at the end (imb.judge.repeats)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from imb.archive.store import SHORT, Archive
from imb.measure.session import Done, Item, Plan, Until, launch_batches
from imb.model.errors import ImbError
from imb.model.units import counted
from imb.render import terminal

if TYPE_CHECKING:
    from imb.model.observations import Launch, Side

Say = Callable[[str], None]


class Look(NamedTuple):
    """What a look sees: of so many bands (rows, where there are no bands) so many are faster, slower or the same."""

    decided: int
    of: int
    what: str

    def __str__(self) -> str:
        return f"{self.decided} of {counted(self.of, self.what)} decided"

    @property
    def enough(self) -> bool:
        """Whether there is nothing left to decide."""
        return self.decided == self.of


class Deciding:
    """Looks at what a session has so far; without `Plan.until` it never stops anything."""

    def __init__(self, archive: Archive, made: Plan, over: Sequence[Done]) -> None:
        """`over`: what earlier processes launched, whose time counts in the budget too."""
        self._archive, self._made = archive, made
        self._known: dict[str, list[Launch]] = {}
        self._earlier: list[Launch] | None = None
        self._began = time.monotonic() - sum(one.wall or one.seconds or 0.0 for one in over)
        self._round = 0

    def before(self, turn: int, over: Sequence[Done], say: Say) -> str | None:
        """At the beginning of a round: why it is not launched, which is also printed; None: go on."""
        until = self._made.until
        if until is None or turn == self._round:
            return None
        self._round = turn
        begun = any(self._made.items[one.number - 1].turn == turn for one in over)
        if turn == 1 or begun:
            return None
        return self._stops(until, turn - 1, over, say)

    def at_the_end(self, over: Sequence[Done], say: Say) -> str | None:
        """Behind the last round."""
        until = self._made.until
        if until is None:
            return None
        return self._stops(until, until.design.most, over, say)

    def _stops(self, until: Until, rounds: int, over: Sequence[Done], say: Say) -> str | None:
        seconds = time.monotonic() - self._began
        found: Look | None = None
        reason: str | None = None
        words = f"first look after round {until.design.first}"
        if rounds >= until.design.first:
            try:
                found = self.look(over)
                words = str(found)
            except ImbError as error:
                reason, words = "nothing to compare", str(error)
        if found and found.enough:
            reason = "decided"
        elif rounds >= until.design.most:
            reason = reason or "launches spent"
        elif until.budget is not None and seconds * (1 + 1 / rounds) > until.budget:
            reason = reason or "budget spent"
        if reason:
            why = {
                "decided": "",
                "budget spent": f", budget spent (another round would exceed {until.budget or 0:g} s)",
            }.get(reason, f", {reason}")
            say(f"stopped after {counted(rounds, 'round')}{why}: {words}")
        elif found:
            say(f"round {rounds}: {words}")
        return reason

    def look(self, over: Iterable[Done]) -> Look:
        """All variants against the first. Raises ImbError where two cannot be compared."""
        from imb.cli.peers import earlier
        from imb.judge.compare import CompareSettings, compare

        assert self._made.until is not None
        settings = CompareSettings(metric=self._made.until.metric, relevant=self._made.until.relevant)
        first, *others = self._sides(list(over))
        if self._earlier is None:
            # Once: what is usual does not change from look to look.
            self._earlier = earlier(
                self._archive, [*first.launches, *(x for one in others for x in one.launches)]
            )
        found = [compare(first, other, settings, self._earlier) for other in others]
        bands = [one.effect for comparison in found for one in comparison.bands]
        rows = [one.effect for comparison in found for one in comparison.rows]
        decided = sum(effect.verdict != "inconclusive" for effect in bands or rows)
        return Look(decided, len(bands or rows), "band" if bands else "row")

    def _sides(self, over: Sequence[Done]) -> list[Side]:
        from imb.model.observations import Side

        sides = []
        for index, variant in enumerate(self._made.variants):
            runs = [
                one.run
                for one in over
                if self._made.items[one.number - 1].variant == index and one.outcome != "stopped"
            ]
            launches = [launch for run in runs for launch in self._launches(run)]
            if not any(launch.rows for launch in launches):
                raise ImbError(f"no results in {self._made.campaign}/{variant.name}")
            sides.append(Side(name=f"{self._made.campaign}/{variant.name}", launches=launches))
        return sides

    def _launches(self, run: str) -> list[Launch]:
        """Read once: looks become more and rows are many."""
        from imb.archive.names import launches_in

        if run not in self._known:
            self._known[run] = launches_in(self._archive, run)
        return self._known[run]


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
    terminal.say(
        f"imb: {counted(len(again), 'launch')} outside the dominant state of the machine{beside} by the state probe: repeated"
        f" (at most {made.repeats}): {runs}",
        err=True,
    )
    return msgspec.structs.replace(made, items=[*made.items, *again])
