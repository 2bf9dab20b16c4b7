"""Rounds of a session that stops when its comparison is decided: shared by plan and judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

# Rounds before the first look. Where launches are of two kinds, n rounds put all of one kind on one side with a
# probability of 2 to the power 1 - 2n, and nothing in their figures shows it: 3 % after three, 0.2 % after five.
FIRST = 5
MOST = 20  # rounds at most, unless more or fewer are asked for
FACT = "until_decided"  # the fact with the design of the campaign, in each of its launches


class SequentialDesign(msgspec.Struct, frozen=True):
    """Looks are taken after rounds `first` to `most`; after fewer rounds nothing is decided."""

    first: int = FIRST
    most: int = MOST

    def share(self, rounds: int) -> float:
        """The part of the error rates that is spent at the look after this round: proportional to 1 / round, so that early looks,
        whose intervals are wide anyway, get more."""
        if rounds < self.first or self.most < self.first:
            return 0.0
        return 1 / min(rounds, self.most) / sum(1 / n for n in range(self.first, self.most + 1))


def design_of(facts: Mapping[str, Any]) -> SequentialDesign | None:
    """The design in the facts of a launch; None where its campaign had a fixed number of launches."""
    design = facts.get(FACT)
    return None if design is None else msgspec.convert(design, SequentialDesign)


def round_of(facts: Mapping[str, Any]) -> int:
    """The round of a launch; 0, before all rounds, of one whose campaign had a fixed number of launches."""
    turn = facts.get("turn")
    return turn if isinstance(turn, int) and design_of(facts) else 0
