"""What a judgment of sweeps finds: suspects with effects, endpoints that do not answer, and figures for each size. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from imb.stats.arrays import Values

State = Literal["healthy", "bad", "inconclusive"]
Kind = Literal["core", "host", "pair", "link", "switch", "group", "route"]


@dataclass(frozen=True)
class Suspect:
    """A component that is slow. `named`: significant among all components, and no other one explains the same times about as well;
    otherwise it is what to measure again.

    effect: 0.10 takes 10 % longer; `interval` is its 95 % confidence interval, alone. `p_value` is adjusted for all
    components of all sweeps. `endpoints`: one of a host or core, two of a pair; of a link those whose pairs cross it.
    `alternatives`: components that explain the same pairs; `separable`: more passes of these pairs may separate them. `score`: effect in
    standard errors, except of pairs.
    """

    kind: Kind
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
    """A pair that is slower from a to b than from b to a, by this share."""

    a: int
    b: int
    effect: float
    p_value: float
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class PairToRetest:
    """A pair that another launch should measure, too little slow to be a suspect: of many healthy pairs some are."""

    a: int
    b: int
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class Populations:
    """Two groups of endpoints (`of` is "endpoints") or of pairs (`of` is "pairs") of different level. `slower`: indices of
    endpoints, empty for pairs; `share`: part of all that is slower; `effect`: how much longer the slower group takes."""

    of: Literal["endpoints", "pairs"]
    slower: tuple[int, ...]
    share: float
    effect: float
    benchmark: str
    bytes: int


@dataclass(frozen=True)
class SizeResult:
    """One benchmark and size. `level_seconds`: of the class of pairs with least distance; `classes`: name of each class of pairs
    and its median time in seconds; `noise`: spread of one measurement; `scatter`: spread of pairs beyond it (both standard
    deviations of logarithms); `detectable`: the effect of one host that is named in 99 of 100 sweeps; `endpoint_effects`: one
    per endpoint, NaN where there is none (0.10: its pairs take 10 % longer); `widened`: by how much healthy endpoints vary more than
    their pairs explain; `of_links`: as `detectable`, of a link with as many pairs as nine of ten have, 0 where there are none or they differ by nature."""

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
class Verdict:
    """`state`: "bad" if a component is named, or an endpoint (or nearly all of them) does not answer; "inconclusive" if a slow component is not excluded;
    else "healthy". `suspects`: named ones first, then by effect. `silent_together`: silent endpoints that fell silent in an exchange
    with each other, so that one of the two may only have waited. `unjudged`: links and groups of links that all pairs of a distance cross, so that
    there is nothing to compare them with."""

    state: State
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = ()
    per_size: tuple[SizeResult, ...] = ()
    silent: tuple[int, ...] = ()
    asymmetric: tuple[AsymmetricPair, ...] = ()
    populations: tuple[Populations, ...] = field(default=())
    silent_together: tuple[tuple[int, int], ...] = ()
    unjudged: tuple[str, ...] = ()
    screened: tuple[PairToRetest, ...] = ()


NOTHING = Verdict("inconclusive", notes=("no pairs were measured",))
