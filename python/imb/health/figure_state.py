"""The state that `imb health` keeps between checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

SessionSeconds: TypeAlias = Mapping[str, Sequence[float]]  # seconds of its launches, by figure


class FigureState(msgspec.Struct, frozen=True):
    """The state of a figure between checks. `beyond`: number of successive values beyond the limit when the
    last check ran out of time; `suspect`: when the figure became suspect, ISO 8601, or None."""

    beyond: int = 0
    suspect: str | None = None
