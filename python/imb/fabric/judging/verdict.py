"""Results of the judgment of sweeps: suspects with effects, endpoints that do not answer, and values for each
size. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from imb.stats.arrays import Values

BenchmarkSize = tuple[str, int]  # benchmark and bytes
SweepState = Literal["healthy", "bad", "inconclusive"]
ElementKind = Literal["core", "host", "pair", "link", "switch", "group", "route"]


@dataclass(frozen=True)
class Suspect:
    """An element that may be slow. `named`: it is significant among all elements, and no other one
    explains the same times about as well. Otherwise it should be measured again.

    effect: 0.10 takes 10 % longer; `interval`: its 95 % confidence interval, for this element alone.
    `p_value`: adjusted for all elements of all sweeps. `endpoints`: one of a host or core, two of a pair,
    and for a link the endpoints whose pairs cross it. `alternatives`: elements that explain the same pairs;
    `separable`: more passes of these pairs may separate them. `score`: effect in standard errors, 0 for
    pairs.
    """

    kind: ElementKind
    name: str
    endpoints: tuple[int, ...]
    effect: float
    interval: tuple[float, float]
    p_value: float
    benchmark: str
    bytes: int
    named: bool
    alternatives: tuple[str, ...] = ()
    next: str = ""
    separable: bool = True
    way: str = ""
    undecided: bool = False
    score: float = 0.0


@dataclass(frozen=True)
class AsymmetricPair:
    """A pair that takes longer from a to b than from b to a; `effect`: by this share."""

    a: int
    b: int
    effect: float
    p_value: float
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class PairToRetest:
    """A pair that another launch should measure. It is not slow enough to be a suspect: some of many healthy
    pairs are as slow."""

    a: int
    b: int
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class Populations:
    """Two groups of endpoints (`of` is "endpoints") or of pairs (`of` is "pairs") with different levels.
    `slower`: indices of slower endpoints, empty for pairs; `share`: share of all that is slower; `effect`:
    how much longer the slower group takes, a share."""

    of: Literal["endpoints", "pairs"]
    slower: tuple[int, ...]
    share: float
    effect: float
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class SizeResult:
    """The result of one benchmark and size.

    `level_seconds`: level of the class of pairs with the least distance; `classes`: name and median seconds
    of each class of pairs. `noise`: spread of one measurement; `scatter`: spread of pairs beyond it; both are
    standard deviations of logarithms. `detectable`: the effect of one host that is named in 99 of 100 sweeps,
    a share. `endpoint_effects`: shape (endpoints,), 0.10 if its pairs take 10 % longer, NaN if unknown.
    `widened`: factor by which healthy endpoints vary more than their pairs explain. `of_links`: as
    `detectable`, for a link with fewer pairs than 90 % of the links; 0 if there are no links or they differ
    by nature.
    """

    benchmark: str
    bytes: int
    level_seconds: float
    classes: tuple[tuple[str, float], ...]
    noise: float
    scatter: float
    passes: int
    pairs: int
    detectable: float
    endpoint_effects: Values
    widened: float = 1.0
    of_links: float = 0.0


@dataclass(frozen=True)
class SweepVerdict:
    """`state`: "bad" if an element is named, or an endpoint (or nearly all of them) does not answer;
    "inconclusive" if a slow element is not excluded; otherwise "healthy". `suspects`: named ones first,
    then by effect. `silent_together`: endpoints that stopped responding while they exchanged messages, so one of
    the two may only have waited. `unjudged`: links and groups of links that all pairs of a distance cross, so
    that no other link can be compared with them."""

    state: SweepState
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = ()
    per_size: tuple[SizeResult, ...] = ()
    silent: tuple[int, ...] = ()
    asymmetric: tuple[AsymmetricPair, ...] = ()
    populations: tuple[Populations, ...] = field(default=())
    silent_together: tuple[tuple[int, int], ...] = ()
    unjudged: tuple[str, ...] = ()
    screened: tuple[PairToRetest, ...] = ()


NOTHING = SweepVerdict("inconclusive", notes=("no pairs were measured",))
