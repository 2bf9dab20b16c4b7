"""A screen for slow elements, and their confirmation by passes that the screen did not see. Pure.

The screen repeatedly chooses the element that explains most (orthogonal matching pursuit: Pati, Rezaiifar
and Krishnaprasad, Asilomar Conf. (1993) 40). It may be wrong: noise has long tails and lasts for some passes.
So an element is named only if it is slow again in fresh passes, significantly, and more than every control:
all elements of its kind that are not suspected. If it is healthy, these are exchangeable: it is the slowest
of N + 1 once in N + 1 times, whatever the noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from imb.fabric.judging.elements import FEWEST
from imb.fabric.judging.sweep_parts import Fit, SweepLayout, SweepPart, huber
from imb.stats.arrays import Mask, Values
from imb.stats.medians import median, robust_deviation
from imb.stats.shift import LEAST_SPREAD

SCREEN = 0.02  # approximate share of healthy sweeps in which the screen suspects an element
MOST = 24  # most slow elements
_TRIED = 12  # number of elements with the highest scores from which the best is chosen
_FEW_PEERS = 10  # a kind of link or switch with fewer elements has few peers
_FEW = 8  # with at most this many endpoints, each has a quarter of all pairs or more
_NEAR = 0.8  # share of the least effect that an element must have in each part of the passes
_SCREENED = 3.0  # standard deviations; a pair that is slower than others by more is measured again
_FAR = 4.0  # standard deviations beyond which pairs are suspected, asymmetric, or counted as a population
_PAIRS = 8  # most suspected pairs; with many endpoints, a quarter of their number
_ASYMMETRIC = 4  # most suspected asymmetric pairs
_MANY = 0.01  # if more than this share of all pairs is slow, they are a population
_FEWEST_MANY = 10  # fewer slow pairs are no population
_TAIL = 0.05  # share of pairs that define the tail
RANK = 0.01  # largest chance, by rank alone, that a named pair is among the slowest
_POWER = 0.99  # share of sweeps that find a detectable effect


class RetestResult(NamedTuple):
    """`p_value`: adjusted p-value of no effect in the fresh passes; `again`: the element was slow in the
    earlier passes alone, and in the fresh ones more than all controls."""

    p_value: float
    again: bool


def screen(part: SweepPart, least: float) -> Fit:
    """Find slow elements. Two slow hosts of a switch may look like a slow switch as long as they are
    unknown. So a link or switch is replaced by endpoints if these explain more."""
    every = ~part.confounded_elements[0]
    fit = _grow_fit(part, [], every, least)
    ends = np.array([each.kind in ("core", "host") for each in part.each], dtype=bool)
    price = float(np.log(len(part.each) + 1) + 0.5 * np.log(len(part.value) + 1))
    for element in fit.chosen:
        if not ends[element]:
            other = _grow_fit(part, [each for each in fit.chosen if each != element], every & ends, least)
            spread = min(fit.spread, other.spread)
            more = len(other.chosen) - len(fit.chosen)
            if more >= 0 and _misfit(other, spread) + more * price < _misfit(fit, spread):
                fit = other
    return fit


def _misfit(fit: Fit, spread: float) -> float:
    slow = np.zeros(len(fit.residual))
    for element in fit.chosen:
        columns = fit.part.members(element)
        slow[columns] = np.maximum(slow[columns], fit.effect(element))
    return float(huber((fit.residual - slow)[fit.part.there] / spread).sum())


def _grow_fit(part: SweepPart, begin: list[int], allowed: Mask, least: float) -> Fit:
    chosen = list(begin)
    fit = Fit(part, tuple(chosen))
    # An element with a large share of all pairs, or with few peers, raises the level and the spread of its comparison.
    few = len(part.layout.sweep.endpoints) <= _FEW
    peers = np.bincount(part.kinds, minlength=1)[part.kinds]
    scarce = (peers < _FEW_PEERS) & ~np.isin(part.kinds, list(part.ends))
    while len(chosen) < MOST:
        scores, _, wider = fit.scores
        limits = limits_of(fit)
        over = scores / np.array([wider[kind][0] * limits[kind] for kind in part.kinds.tolist()])
        over[~allowed | np.isnan(over)] = -np.inf
        over[chosen] = -np.inf
        best, gain = -1, 0.0
        tried = [
            element
            for element in np.argsort(-over, kind="stable")[:_TRIED].tolist()
            if few or over[element] > 1
        ]
        for element in dict.fromkeys((*tried, *np.flatnonzero(scarce).tolist())):
            if not np.isfinite(over[element]):
                continue
            slow = fit.effect(element) >= _NEAR * least and (
                over[element] > 1 or is_significant(Fit(part, (*chosen, element)), element, least)
            )
            if slow and (more := fit.likelihood_gain(element)) > gain:
                best, gain = element, more
        if best < 0:
            break
        chosen.append(best)
        fit = Fit(part, tuple(chosen))
    while True:  # elements that were chosen later may explain earlier ones
        weak = [
            element
            for element in chosen
            if not is_significant(fit, element, least)
            or np.count_nonzero(fit.covered[part.members(element)] == 1) < FEWEST
        ]
        if not weak:
            return fit
        chosen.remove(weak[0])
        fit = Fit(part, tuple(chosen))


def limits_of(fit: Fit) -> dict[int, float]:
    """Scores from which elements are suspected, by kind: Student's t, Bonferroni over all elements."""
    element_count = max(len(fit.part.each), 1)
    return {
        kind: -float(stdtrit(freedom, SCREEN / element_count)) for kind, (_, freedom) in fit.scores[2].items()
    }


def is_significant(fit: Fit, element: int, least: float) -> bool:
    """Whether a slow element is significant and large enough alone."""
    return (
        significance(fit, element) > limits_of(fit)[int(fit.part.kinds[element])]
        and fit.effect(element) >= _NEAR * least
    )


def significance(fit: Fit, element: int) -> float:
    """The effect of an element in standard errors: the larger of score and ratio. A score is bounded, so
    with few pairs it stays below the limit for few peers. The ratio of effect and error is small if some of
    the pairs are not slow."""
    return max(fit.score(element), fit.ratio(element))


def confirm(
    first: SweepPart, fresh: SweepPart, chosen: tuple[int, ...], least: float
) -> dict[int, RetestResult]:
    """The result of each of the `chosen` elements that both parts have, by its index."""
    shared = tuple(element for element in chosen if element < min(len(first.each), len(fresh.each)))
    earlier, fit = Fit(first, shared), Fit(fresh, shared)
    results = {}
    scores, counts, wider = fit.scores
    for element in shared:
        kind = int(fresh.kinds[element])
        controls = (fresh.kinds == kind) & (counts >= FEWEST)
        controls[list(shared)] = False
        score = fit.score(element)
        factor, freedom = wider[kind]
        p = float(stdtr(freedom, -significance(fit, element))) * len(shared)
        slower = scores[controls] / factor >= score
        again = not slower.any() and fit.mean(element) >= _NEAR * least
        results[element] = RetestResult(min(1.0, p), again and is_significant(earlier, element, least))
    return results


def similar_elements(fit: Fit, element: int) -> list[int]:
    """Up to four other elements that explain its pairs about as well, the best first: their pairs are
    nearly the same."""
    without = Fit(fit.part, tuple(other for other in fit.chosen if other != element), fit)
    explained = without.likelihood_gain(element)
    inside = np.zeros(len(fit.part.value))
    columns = fit.part.members(element)
    columns = columns[without.clean[columns]]
    inside[columns] = 1.0
    common = fit.part.member @ inside
    counts = fit.part.member @ without.clean.astype(np.float64)
    close = np.flatnonzero(
        (common >= 0.5 * np.maximum(len(columns), counts / 2)) & ~fit.part.confounded_elements[0]
    )
    rivals = []
    for other in close.tolist():
        if (
            other != element
            and other not in fit.chosen
            and (gain := without.likelihood_gain(other)) > max(explained - 3.0, 0.0)
        ):
            rivals.append((gain, other))
    return [other for _, other in sorted(rivals, reverse=True)][:4]


class PairScreen(NamedTuple):
    """`value`: logarithm of the excess time of each pair, NaN if there is none. `suspects`: pairs that may be
    slow, the slowest first; `far`: number of them beyond `_FAR`. `share`, `effect`: share and median excess
    of slow pairs, if they are too many to be single pairs."""

    value: Values
    suspects: list[int]
    far: int = 0
    share: float = 0.0
    effect: float = 0.0


def slow_pairs(fit: Fit, least: float) -> PairScreen:
    """Pairs that are slow in both directions and cross no slow element."""
    single = np.where(fit.clean, fit.part.pair_residuals, np.nan)
    away = _mean_of_directions(single, fit)
    finite = np.isfinite(away)
    spread = robust_deviation(single[fit.clean]) if fit.clean.any() else 0.0
    spread = max(spread, LEAST_SPREAD) / (2**0.5 if fit.part.is_directed else 1.0)
    slow = np.flatnonzero(finite & (np.nan_to_num(away) >= max(least, _SCREENED * spread)))
    far = slow[away[slow] > _FAR * spread]
    if len(far) > max(_MANY * finite.sum(), _FEWEST_MANY):
        return PairScreen(away, [], 0, len(far) / float(finite.sum()), median(away[far]))
    most = max(_PAIRS, len(fit.part.layout.sweep.endpoints) // 4)
    return PairScreen(away, slow[np.argsort(-away[slow], kind="stable")][:most].tolist(), len(far))


def asymmetric_pairs(fit: Fit, least: float) -> PairScreen:
    """How much longer each pair takes from its lower endpoint than back (a logarithm). A suspect is the index
    of a pair, or -1 - index if the way back takes longer."""
    pairs = len(fit.part.layout.a)
    if not fit.part.is_directed:
        return PairScreen(np.full(pairs, np.nan), [])
    away = np.where(fit.clean, fit.part.pair_residuals, np.nan)
    away = away[:pairs] - away[pairs:]
    measured = np.flatnonzero(np.isfinite(away))
    if len(measured) < _FEWEST_MANY:
        return PairScreen(away, [])
    away -= median(away[measured])
    spread = max(robust_deviation(away[measured]), LEAST_SPREAD)
    distant = measured[(np.abs(away[measured]) > _FAR * spread) & (np.abs(away[measured]) >= least)]
    if len(distant) > max(_MANY * len(measured), _FEWEST_MANY):
        return PairScreen(away, [])
    distant = distant[np.argsort(-np.abs(away[distant]), kind="stable")][:_ASYMMETRIC]
    suspects = [pair if away[pair] > 0 else -1 - pair for pair in distant.tolist()]
    return PairScreen(away, suspects, len(suspects))


def confirm_pairs(
    singles: PairScreen, fresh: Values, least: float, *, both_signs: bool, steady: bool
) -> dict[int, RetestResult]:
    """Results by the rank of each suspect among all other pairs of the fresh passes: if it is healthy, any
    pair may be the slowest.

    Bonferroni applies over the suspects. If there are too few pairs for that and the noise of a pass does not
    last (`steady`), suspects are tested one after the other, the slowest first, until one is not confirmed
    (Maurer, Hothorn and Lehmacher 1995).
    """
    where = {code: code if code >= 0 else -1 - code for code in singles.suspects}
    controls = np.isfinite(fresh)
    where = {code: at for code, at in where.items() if controls[at]}
    controls[list(where.values())] = False
    others = np.abs(fresh[controls]) if both_signs else fresh[controls]
    results, last = {}, 0.0
    one_by_one = steady and len(where) > RANK * (len(others) + 1)
    for code, at in where.items():
        value = float(fresh[at] if code >= 0 else -fresh[at])
        p = (1 + int(np.count_nonzero(others >= value))) / (len(others) + 1)
        last = max(last, p) if one_by_one else min(1.0, len(where) * p)
        results[code] = RetestResult(last, value >= _NEAR * least)
    return results


def common_share(first: Values, fresh: Values) -> float:
    """The share of the deviation of pairs that two parts have in common: a natural difference, not noise. It
    is the root of a robust correlation (Gnanadesikan and Kettenring, Biometrics 28 (1972) 81)."""
    both = np.isfinite(first) & np.isfinite(fresh)
    if np.count_nonzero(both) < _FEWEST_MANY:
        return 1.0
    first, fresh = first[both] - median(first[both]), fresh[both] - median(fresh[both])
    more, less = median(np.abs(first + fresh)) ** 2, median(np.abs(first - fresh)) ** 2
    return float(max((more - less) / max(more + less, LEAST_SPREAD**2), 0.0) ** 0.5)


def tail_probability(away: Values, pair: int, share: float) -> float:
    """Probability that a healthy pair is as slow as this one, from the slowest other pairs (Pickands, Ann.
    Stat. 3 (1975) 119). `share`: share of their deviations that is no noise; pairs that differ by nature
    differ in all passes, so passes do not show it."""
    others = np.delete(away, pair)
    others = share * others[np.isfinite(others)]
    tail = min(max(int(_TAIL * len(others)), _FEWEST_MANY), len(others) // 2)
    if tail < 3:
        return 1.0
    slowest = np.partition(others, len(others) - tail - 1)[-tail - 1 :]
    begin = float(slowest.min())
    excess = max(float(slowest.sum() - begin * len(slowest)) / tail, LEAST_SPREAD)
    return float(tail / len(others) * (1 + max(away[pair] - begin, 0.0) / (tail * excess)) ** -tail)


def _mean_of_directions(values: Values, fit: Fit) -> Values:
    """Mean over both directions; at most 0 for a pair that is slow in one direction only."""
    pairs = len(fit.part.layout.a)
    if not fit.part.is_directed:
        return values
    mean = (values[:pairs] + values[pairs:]) / 2
    return np.where(np.minimum(values[:pairs], values[pairs:]) >= mean / 3, mean, np.minimum(mean, 0.0))


def detectable_effect_of(fit: Fit, least: float, kind: str, share: float) -> tuple[float, float]:
    """The effect (a logarithm) that the screen finds in 99 of 100 sweeps, for an element with as many pairs
    as the `share` quantile of its kind; and the factor by which elements of this kind vary more than their
    pairs explain."""
    each, part = fit.part.each, fit.part
    counts = part.member @ part.there.astype(np.float64)
    candidates = [
        at
        for at, element in enumerate(each)
        if _matches_kind(element.kind, kind) and not element.way and counts[at] >= FEWEST
    ]
    if not candidates:
        return float("inf"), 1.0
    pair_count = float(np.sort(counts[candidates])[int(share * (len(candidates) - 1))])
    error = fit.error(candidates[0], pair_count)
    reach = max(limits_of(fit)[int(part.kinds[candidates[0]])] * error, _NEAR * least)
    return max(reach + float(ndtri(_POWER)) * error, least), fit.scores[2][int(part.kinds[candidates[0]])][0]


def _matches_kind(kind: str, wanted: str) -> bool:
    return kind in ("core", "host") if wanted == "host" else kind == wanted


def halves(layout: SweepLayout) -> tuple[Mask, Mask]:
    """Masks of records: those that are screened, and those that confirm. The last of several launches
    confirms, or the later half of the passes of one launch. If launches have different endpoints, the later
    half of each launch confirms."""
    sweep = layout.sweep
    launches = np.zeros(len(sweep.a), dtype=np.int64) if sweep.launches is None else sweep.launches
    numbers = np.unique(launches).tolist()
    ends = [
        {*sweep.a[launches == number].tolist(), *sweep.b[launches == number].tolist()} for number in numbers
    ]
    if len(numbers) > 1 and all(of_launch == ends[0] for of_launch in ends):
        return launches != numbers[-1], launches == numbers[-1]
    later = np.zeros(len(launches), dtype=bool)
    for number in numbers:
        passes = np.unique(sweep.passes[launches == number])
        if len(passes) > 1:
            later |= (launches == number) & (sweep.passes >= passes[len(passes) // 2])
    return ~later, later
