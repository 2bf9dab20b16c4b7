"""The design of a session that stops when its comparison is decided. Plan and judge share it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

# Rounds before the first look. If launches come in two kinds (say, two states of the machine), all of one kind are on one side after n
# rounds with a probability of 2^(1 - 2n), and the results do not show it. That is 3 % after three rounds, 0.2 % after five.
FIRST = 5
MOST = 20  # rounds at most, unless the user gives a number
FACT = "until_decided"  # the fact with the design of the campaign, in each of its launches


class SequentialDesign(msgspec.Struct, frozen=True):
    """A look (a test whether the comparison is decided) follows each of the rounds `first` to `most`."""

    first: int = FIRST
    most: int = MOST

    def share(self, rounds: int) -> float:
        """The share of the error rates that the look after round `rounds` may spend. It is proportional to 1 / round: early looks get more, as
        their intervals are wide anyway."""
        if rounds < self.first or self.most < self.first:
            return 0.0
        return 1 / min(rounds, self.most) / sum(1 / n for n in range(self.first, self.most + 1))


def design_of(facts: Mapping[str, Any]) -> SequentialDesign | None:
    """The design in the facts of a launch, or None if its campaign has a fixed number of launches."""
    design = facts.get(FACT)
    return None if design is None else msgspec.convert(design, SequentialDesign)


def round_of(facts: Mapping[str, Any]) -> int:
    """The round of a launch, from 1, or 0 if its campaign has a fixed number of launches."""
    turn = facts.get("turn")
    return turn if isinstance(turn, int) and design_of(facts) else 0
