"""Is B as fast as A? Effects with intervals and verdicts, of rows and of bands of lengths. Pure.

The launch is the unit of replication. Everything is judged on the logarithm of the metric, and told as the **speed
multiplier** of B over A: above 1, B is faster (more bandwidth, more messages); 2.00 is twice as fast. docs/verdicts.md
says how a verdict is reached and what it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from imb.samples import Key, Side

Verdict: TypeAlias = Literal["faster", "slower", "same", "cannot tell"]


class Band(msgspec.Struct, frozen=True):
    """Lengths from `first` to `last` bytes, both included. Both None: rows that have no length, as of Barrier."""

    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """`64-4K`; K is 2^10."""
        return ""

    def has(self, length: int | None) -> bool:
        """Whether a row of this length belongs here."""
        return False


BANDS = (Band(0, 32), Band(64, 4096), Band(8192, 262144), Band(524288, 4194304))


def parse_bands(text: str) -> tuple[Band, ...]:
    """From `0-32,64-4K,8K-256K,512K-4M`. Raises ImbError."""
    raise NotImplementedError


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`relevant`: the smallest change that matters, 0.05 is 5 %. `false_discovery`: of what is called faster or slower
    at most this share, in the mean, is neither; where nothing differs, the probability that anything is called so.
    `benchmarks`: only these, in any case; empty: all. `force`: compare intra-node with inter-node all the same."""

    metric: str = "time"
    relevant: float = 0.05
    confidence: float = 0.95
    false_discovery: float = 0.01
    bands: tuple[Band, ...] = BANDS
    benchmarks: tuple[str, ...] = ()
    force: bool = False


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Of B against A. `speed` > 1: B is faster. [`low`, `high`] covers it with Settings.confidence; None: too few
    launches to say. `p`: of no difference; `q`: p adjusted for all that was looked at (rows among rows, bands among
    bands). `spread`: standard deviation between launches of one side, of the logarithm, so 0.05 is about 5 %.
    `launches_a`, `launches_b`: how many had it."""

    speed: float
    low: float | None
    high: float | None
    p: float | None
    q: float | None
    spread: float | None
    launches_a: int
    launches_b: int
    verdict: Verdict
    needed: int | None  # launches a side that find a change of Settings.relevant in 19 of 20 comparisons


class RowEffect(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `a`, `b`: medians over launches of the metric, in its unit (seconds, bytes/s, ...)."""

    key: Key
    a: float
    b: float
    effect: Effect


class BandEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one curve (benchmark, mode, layout; its `bytes` is None) whose lengths lie in the band, together:
    of each launch the geometric mean counts."""

    curve: Key
    band: Band
    rows: int
    effect: Effect


class Difference(msgspec.Struct, frozen=True):
    """A condition that was not the same in all launches: its values on side A and on side B, each once."""

    name: str
    a: list[str]
    b: list[str]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What `imb compare` says. `verdict` is that of the bands together: slower where any band is; else cannot tell
    where a slowdown that matters is not excluded in some band; else faster where any is; else same. `warnings` are
    sentences, the most important first. `only_a`, `only_b`: rows that the other side lacks (not judged)."""

    name_a: str
    name_b: str
    launches_a: int
    launches_b: int
    settings: Settings
    verdict: Verdict
    conditions: list[Difference]
    warnings: list[str]
    bands: list[BandEffect]
    rows: list[RowEffect]
    only_a: list[Key]
    only_b: list[Key]


def compare(a: Side, b: Side, settings: Settings | None = None) -> Comparison:
    """Judges B against A. Raises ImbError where they have no row in common, where one is intra-node and the other
    inter-node (unless forced), or where the metric does not exist."""
    raise NotImplementedError


def differences(a: Side, b: Side) -> list[Difference]:
    """Conditions that differ between or within the sides, by name."""
    raise NotImplementedError


def worst(effects: Sequence[Effect], relevant: float) -> Verdict:
    """The verdict of several together, as of Comparison."""
    raise NotImplementedError
