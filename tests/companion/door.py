"""What a command of `imb` leaves behind, for tests that give it words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Imb = Callable[..., Said]
