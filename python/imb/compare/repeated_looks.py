"""Repeated looks at a comparison whose launches stop when it is decided. Pure.

Looking after every round and stopping at the first verdict gives more false verdicts than one look at the
end. So each look is an ordinary comparison at a share of the error rates, and the shares of all looks add up
to 1 (alpha spending: Lan and DeMets, Biometrika 70 (1983) 659; between looks Bonferroni's inequality). All
looks together then keep the error rates of one comparison. docs/evidence/verdicts.md explains the choice of
this method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from imb.model.sequential_design import SequentialDesign, design_of, round_of
from imb.model.units import count_of

if TYPE_CHECKING:
    from imb.model.observations import Launch, Side

METHOD = "alpha spending, shares 1/round"


class Looks(msgspec.Struct, frozen=True, kw_only=True):
    """The repeated looks of a comparison. The launches have `rounds` of at most `most` rounds, and so
    permitted `looks` looks, the first after round `first`. The last look had this `share` of the error rates.
    `stopped`: why launching stopped, or None if it is unknown."""

    method: str = METHOD
    rounds: int
    looks: int
    first: int
    most: int
    share: float
    stopped: str | None = None

    def shares(self) -> Iterator[tuple[int, float]]:
        """Yield the round and the share of each look up to this one; before the first look, only this round
        and 0."""
        design = SequentialDesign(self.first, self.most)
        for rounds in range(min(self.first, self.rounds), self.rounds + 1):
            yield rounds, design.share(rounds)

    @property
    def planning(self) -> float:
        """The share at which power is computed: the share of this look, or of the first look before it."""
        return self.share or SequentialDesign(self.first, self.most).share(self.first) or 1.0


def plan_looks(a: Side, b: Side) -> tuple[Side, Side, Looks | None, list[str]]:
    """The sides with only the launches of the last look, the looks (None if the number of launches was
    fixed), and notes on launches outside the last look.

    A round counts if both sides have it. Judging half a round would be a look without a share of the error
    rates.
    """
    if not any(design_of(launch.facts) for launch in chain(a.launches, b.launches)):
        return a, b, None, []
    notes: list[str] = []
    rounds = _common_rounds(a, b)
    if rounds:
        seen_a, seen_b = (_select_rounds(side, rounds) for side in (a, b))
        left = len(a.launches) + len(b.launches) - len(seen_a.launches) - len(seen_b.launches)
        if left:
            notes.append(f"{count_of(left, 'launch')} of incomplete rounds; not judged")
        a, b = seen_a, seen_b
    else:
        notes.append(
            "launches of a campaign that stopped when decided, compared with other launches; intervals allow for its"
            " repeated looks"
        )
    last: dict[object, tuple[int, SequentialDesign]] = {}
    for launch in chain(a.launches, b.launches):
        if design := design_of(launch.facts):
            session = launch.facts.get("session")
            before = last.get(session, (0, design))[0]
            last[session] = max(before, round_of(launch.facts)), design
    if len(last) > 1 and rounds:
        notes.append(
            f"launches of {len(last)} campaigns that stopped when decided; their joint error rate is unknown"
        )
    design = max((each for _, each in last.values()), key=lambda each: (each.most, each.first))
    last_round = max(turn for turn, _ in last.values())
    looks = Looks(
        rounds=last_round,
        looks=max(0, last_round - design.first + 1),
        first=design.first,
        most=design.most,
        share=design.share(last_round),
    )
    return a, b, looks, notes


def _place(launch: Launch) -> tuple[object, int, object] | None:
    """Session, round and experiment of a launch, or None without these facts."""
    session, turn = launch.facts.get("session"), launch.facts.get("turn")
    if design_of(launch.facts) is None or not isinstance(turn, int):
        return None
    return session, turn, launch.experiment()


def _common_rounds(a: Side, b: Side) -> set[tuple[object, int, object]]:
    """Places that both sides have, up to the last round that is complete in all cells."""
    places = [{place for launch in side.launches if (place := _place(launch))} for side in (a, b)]
    common = places[0] & places[1]
    complete: dict[object, int] = {}
    for session, cell in {(session, cell) for session, _, cell in common}:
        last = max(turn for of_session, turn, of_cell in common if (of_session, of_cell) == (session, cell))
        complete[session] = min(complete.get(session, last), last)
    return {place for place in common if place[1] <= complete[place[0]]}


def _select_rounds(side: Side, rounds: Iterable[tuple[object, int, object]]) -> Side:
    places = set(rounds)

    def select(launches: Sequence[Launch]) -> list[Launch]:
        return [launch for launch in launches if (place := _place(launch)) is None or place in places]

    return msgspec.structs.replace(side, launches=select(side.launches), replaced=select(side.replaced))
