"""Input of the judgment: endpoints, and one time for each pair, pass and round. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from imb.stats.arrays import Indices, Numbers, Values


@dataclass(frozen=True)
class Endpoint:
    """One rank, which represents a host or a part of it. `place`: "" if the host has one endpoint, else "core
    3" or "numa 1"."""

    index: int
    host: str
    place: str = ""

    @property
    def name(self) -> str:
        return f"{self.host} {self.place}" if self.place else self.host


@dataclass(frozen=True)
class Sweep:
    """Times of one benchmark and size. All arrays have shape (records,), one element per record of a pair.

    a, b: indices into `endpoints`; a is the sender, so a > b is the opposite direction of a pair. `seconds`:
    per message, NaN if the pair failed or did not answer. `launches`: number of the launch, or None if there
    is one launch. `causes`: by pair, the lower endpoint first, why it failed last ("out of memory"), unless
    it did not answer.
    """

    endpoints: tuple[Endpoint, ...]
    benchmark: str
    bytes: int
    a: Numbers
    b: Numbers
    passes: Numbers
    rounds: Numbers
    seconds: Values
    launches: Numbers | None = None
    causes: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        count = len(self.seconds)
        launches = self.rounds if self.launches is None else self.launches
        if not all(len(values) == count for values in (self.a, self.b, self.passes, self.rounds, launches)):
            raise ValueError("arrays of a sweep have different lengths")
        if count and (
            min(self.a.min(), self.b.min()) < 0 or max(self.a.max(), self.b.max()) >= len(self.endpoints)
        ):
            raise ValueError("a pair has an endpoint that the sweep does not have")
        if count and bool((self.a == self.b).any()):
            raise ValueError("a pair has one endpoint twice")

    @property
    def launch_count(self) -> int:
        return 1 if self.launches is None else len(np.unique(self.launches))

    def pair_codes(self) -> Indices:
        """The pair of each record as one number, equal in both directions: lower endpoint * number of
        endpoints + higher endpoint."""
        low, high = np.minimum(self.a, self.b).astype(np.int64), np.maximum(self.a, self.b)
        codes: Indices = low * len(self.endpoints) + high
        return codes
