"""Experiments with rounds: a look after every round decides whether the session stops, and some launches are repeated at the end
(imb.compare.repeat_choice)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from imb.model.errors import ImbError
from imb.model.units import count_of
from imb.runner import session
from imb.runner.experiment import ArchivedExperiment, Next, R, S, Say
from imb.runner.session import FinishedLaunch, Item, Plan, launch_batches
from imb.store.store import SHORT, Archive

if TYPE_CHECKING:
    from imb.model.observations import Launch, Side


class Look(NamedTuple):
    """A look at the comparison: `decided` of `total` bands have a verdict (faster, slower or the same); rows if there are no bands."""

    decided: int
    total: int
    unit: str

    def __str__(self) -> str:
        return f"{self.decided} of {count_of(self.total, self.unit)} decided"

    @property
    def is_decided(self) -> bool:
        """Whether all of them are decided."""
        return self.decided == self.total


class Rounds(ArchivedExperiment[S, R]):
    """An experiment whose launches are planned in rounds. With `Plan.until`, a look after every round decides whether to stop. With
    `Plan.repeats`, some launches are repeated at the end."""

    def __init__(self, archive: Archive, plan: Plan) -> None:
        super().__init__(archive, plan)
        self._launches_by_run: dict[str, list[Launch]] = {}
        self._earlier: list[Launch] | None = None
        over = session.finished_launches(archive, plan).values()  # earlier launches also use the budget
        self._began = time.monotonic() - sum(ended.counted_seconds for ended in over)
        self._round = 0

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        if turn is not None:
            return Next(stop=self._examine_round(plan, over, turn, say))
        stop = self._stop_reason(plan, plan.until.design.most, over, say) if plan.until else None
        return Next(add_repeats(self.archive, plan, over, say), stop)

    def _examine_round(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int, say: Say) -> str | None:
        """Why round `turn` is not launched, or None if it is launched. Prints the reason."""
        if plan.until is None or turn == self._round:
            return None
        self._round = turn
        begun = any(plan.items[ended.number - 1].turn == turn for ended in over)
        if turn == 1 or begun:
            return None
        return self._stop_reason(plan, turn - 1, over, say)

    def _stop_reason(self, plan: Plan, rounds: int, over: Sequence[FinishedLaunch], say: Say) -> str | None:
        """Why no round follows after `rounds` rounds, or None if one follows. Prints the reason."""
        until = plan.until
        assert until is not None
        seconds = time.monotonic() - self._began
        look: Look | None = None
        reason: str | None = None
        status = f"first look after round {until.design.first}"
        if rounds >= until.design.first:
            try:
                look = self._look(plan, over)
                status = str(look)
            except ImbError as error:
                reason, status = "nothing to compare", str(error)
        if look and look.is_decided:
            reason = "decided"
        elif rounds >= until.design.most:
            reason = reason or "launches spent"
        elif until.budget is not None and seconds * (1 + 1 / rounds) > until.budget:
            reason = reason or "budget spent"
        if reason:
            detail = {
                "decided": "",
                "budget spent": f", budget spent (another round would exceed {until.budget or 0:g} s)",
            }.get(reason, f", {reason}")
            say(f"stopped after {count_of(rounds, 'round')}{detail}: {status}")
        elif look:
            say(f"round {rounds}: {status}")
        return reason

    def _look(self, plan: Plan, over: Iterable[FinishedLaunch]) -> Look:
        """Compares all variants with the first one. Raises ImbError if two cannot be compared."""
        from imb.compare.comparison import CompareSettings, compare
        from imb.experiments.peers import comparable_launches

        assert plan.until is not None
        settings = CompareSettings(metric=plan.until.metric, relevant=plan.until.relevant)
        first, *others = self._sides(plan, list(over))
        if self._earlier is None:
            # Read once, since the earlier launches do not change between looks.
            self._earlier = comparable_launches(
                self.archive, [*first.launches, *(launch for other in others for launch in other.launches)]
            )
        comparisons = [compare(first, other, settings, self._earlier) for other in others]
        bands = [band.effect for comparison in comparisons for band in comparison.bands]
        rows = [row.effect for comparison in comparisons for row in comparison.rows]
        decided = sum(effect.verdict != "inconclusive" for effect in bands or rows)
        return Look(decided, len(bands or rows), "band" if bands else "row")

    def _sides(self, plan: Plan, over: Sequence[FinishedLaunch]) -> list[Side]:
        from imb.model.observations import Side

        sides = []
        for index, variant in enumerate(plan.variants):
            runs = [
                ended.run
                for ended in over
                if plan.items[ended.number - 1].variant == index and ended.outcome != "stopped"
            ]
            launches = [launch for run in runs for launch in self._launches(run)]
            if not any(launch.rows for launch in launches):
                raise ImbError(f"no results in {plan.campaign}/{variant.name}")
            sides.append(Side(name=f"{plan.campaign}/{variant.name}", launches=launches))
        return sides

    def _launches(self, run: str) -> list[Launch]:
        """The launches in a run. Each run is read only once for all looks."""
        from imb.store.names import launches_in

        if run not in self._launches_by_run:
            self._launches_by_run[run] = launches_in(self.archive, run)
        return self._launches_by_run[run]


def add_repeats(archive: Archive, plan: Plan, over: Sequence[FinishedLaunch], say: Say) -> Plan | None:
    """The plan with repeats added at its end, or None if there are none or the plan already has them. Prints a line that names them."""
    by_number = {ended.number: ended for ended in over}
    if not plan.repeats or any(item.repeats for item in plan.items) or len(by_number) < len(plan.items):
        return None
    from imb.compare.repeat_choice import choose_repeats
    from imb.store.names import launches_in

    measured = {
        number: launches_in(archive, ended.run)
        for number, ended in by_number.items()
        if ended.outcome == "measured"
    }
    batches = [
        items for items in launch_batches(plan, plan.items) if all(item.number in measured for item in items)
    ]
    indices = choose_repeats(
        [[launch for item in items for launch in measured[item.number]] for items in batches],
        [launch for launches in measured.values() for launch in launches],
        plan.repeats,
    )
    repeats: list[Item] = []
    for item in (item for index in indices for item in batches[index]):
        number = len(plan.items) + len(repeats) + 1
        repeats.append(msgspec.structs.replace(item, number=number, repeats=item.number))
    if not repeats:
        return None
    runs = ", ".join(by_number[item.repeats or 0].run[:SHORT] for item in repeats)
    beside = ", or beside one that is," if plan.parts > 1 else ""
    say(
        f"imb: {count_of(len(repeats), 'launch')} outside the dominant state of the machine{beside} by the state probe: repeated"
        f" (at most {plan.repeats}): {runs}"
    )
    return msgspec.structs.replace(plan, items=[*plan.items, *repeats])
