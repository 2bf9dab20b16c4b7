"""What `imb health` keeps between checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

Session: TypeAlias = Mapping[str, Sequence[float]]  # seconds of its launches by figure


class FigureState(msgspec.Struct, frozen=True):
    """A figure between checks. `beyond`: values in a row beyond the limit, where a check ran out of time for more; `suspect`: when it
    became suspect (ISO 8601)."""

    beyond: int = 0
    suspect: str | None = None
