"""Which algorithm of a collective is faster than the library's own choice, and whether a file with these choices may be handed out. Pure.

Two steps on separate launches, since the best of many estimates is too good on average:

- **Search**: all candidates side by side, the default among them. From round FIRST on, a candidate that is slower than the best one by ERRORS
  standard errors is out (a race: Maron and Moore, Artif. Intell. Rev. 11 (1997) 193). A cell is settled when those left could be
  better by less than the margin. Nothing is claimed from these figures.
- **Proof**: pairs of fresh launches, with the file and without. A changed cell is confirmed where the lower bound of its speedup
  is above 1, an unchanged one where it is not slower by the margin. FAMILY bounds the probability that any cell is wrongly
  called so, over all cells (Holm), all looks (shares in proportion to their pairs) and all confirmations (half, a quarter, ...). Cells that fail go back to the default, and the rest is confirmed again on fresh pairs.

docs/evidence/tuning.md has the error rates on drawn launches of known truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from imb.compare.dominant_state import split
from imb.stats.arrays import LARGEST_LOG, Mask, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import nanmedian
from imb.stats.multiplicity import holm
from imb.stats.shift import FEWEST, errors_of_pairs, moments
from imb.tune.cells import DEFAULT, Algorithm, Cell, Switch

FIRST = 4  # rounds before any candidate is out
MOST = 20  # rounds of a search; what is open then is chosen by its estimate, and the proof decides
ERRORS = 3.0  # standard errors
PROPOSED = 0.5  # of the margin: a smaller estimated gain is not worth a line in the file
LOOKS = (5, 10, 20, 40)  # pairs
SPARE = 3  # times the pairs of a look are launched at most, where launches are outside the dominant state
FAMILY = ANY_FALSE
RESERVE = 1.2  # half widths of its interval that a gain must have to stay, from the second confirmation that failed on
RESERVE_AT_END = 1.5  # the same when the budget ends: there is time for one more confirmation at most
CONFIRMATIONS = 5  # 0.5, 0.25, ... %; cells that fail even then are many, and there is no file

FAILED = "launches failed"  # why a cell is not decided

Verdict: TypeAlias = Literal[
    "confirmed", "failed", "no time", "below the margin", "slower", "not slower", "inconclusive"
]


class CellVerdict(NamedTuple):
    """A cell at a look: verdict, and speedup of the file over no file with its interval, which holds for all cells and looks together.
    `pairs`: how many have the cell."""

    verdict: Verdict
    speedup: float
    low: float
    high: float
    pairs: int


class CellResult(NamedTuple):
    """Of a cell: what the file has there, what was tried, its speedup in the search (1: the default is the best), how it was judged
    (None: it was not), and why what was tried is not in the file."""

    cell: Cell
    chosen: Algorithm
    tried: Algorithm
    estimate: float
    judged: CellVerdict | None
    why: str = ""


class RejectedCandidate(NamedTuple):
    """A candidate that is out in so many `cells` of those of its collective on so many ranks, and why."""

    collective: str
    ranks: int
    algorithm: Algorithm
    why: str
    cells: int
    of: int


class TuneResult:
    """What came of a session so far. `limited`: cells that a file cannot express, by the reason; `acts`: evidence that the file acts;
    `failed`: why cells are not decided, where that is because launches failed, and how many cells; `unproven`: why that is not known; `alike`: changed cells in which ranks execute the same
    functions without the file; `stopped`: why it is not decided; `evidence`: runs of the proof."""

    def __init__(self) -> None:
        self.cells: list[CellResult] = []
        self.screened: list[RejectedCandidate] = []
        self.limited: dict[str, int] = {}
        self.notes: list[str] = []
        self.acts = ""
        self.unproven = ""
        self.switch: Switch | None = None
        self.stopped = ""
        self.failed: Counter[str] = Counter()
        self.evidence: list[str] = []
        self.pairs = 0
        self.alike = 0
        self.slower = False

    def changed(self) -> list[CellResult]:
        """Cells that leave the default."""
        return [result for result in self.cells if result.chosen != DEFAULT]

    def confirmed(self) -> bool:
        """Whether all cells of a file are faster with it, and none is slower."""
        verdicts = [result.judged.verdict if result.judged else "" for result in self.changed()]
        return not (self.stopped or self.slower) and set(verdicts) == {"confirmed"}


class Search:
    """The race of the candidates of some cells that are measured side by side. Candidate 0 is the default, which is never out."""

    def __init__(self, cells: int, candidates: int, margin: float, alive: Mask | None = None) -> None:
        """`alive`: candidates of each cell, shape (cells, candidates), or None for all."""
        self._margin = math.log1p(margin)
        self._logs: Values = np.empty((0, cells, candidates))
        self.alive: Mask = np.ones((cells, candidates), dtype=np.bool_) if alive is None else alive.copy()
        self.alive[:, 0] = True
        self.settled: Mask = self.alive.sum(axis=1) < 2
        self._rivals: Mask = self.alive.copy()
        self._rivals[:, 0] = False
        self.best = np.zeros(cells, dtype=np.int64)
        self.gain: Values = np.zeros(cells)  # of the best one over the default: logarithm of the speedup

    @property
    def rounds(self) -> int:
        """How many were measured."""
        return len(self._logs)

    def rounds_needed(self) -> int:
        """Rounds to be measured before the next look; 0: the search is over."""
        if self.settled.all() or self.rounds >= MOST:
            return 0
        return FIRST if not self.rounds else 1

    def needed(self) -> tuple[list[int], list[int]]:
        """Cells and candidates of the next round: cells that are not settled, and candidates that are left in any of them."""
        cells = np.flatnonzero(~self.settled)
        candidates = np.asarray(self.alive[cells].any(axis=0)) | (np.arange(self.alive.shape[1]) == 0)
        return [int(cell) for cell in cells], [int(cell) for cell in np.flatnonzero(candidates)]

    def add(self, logs: Values) -> None:
        """Logarithms of seconds, shape (rounds, cells, candidates), NaN where something was not measured."""
        for of_round in logs:
            self._logs = np.concatenate([self._logs, of_round[None]])
            self._look()

    def _look(self) -> None:
        with np.errstate(invalid="ignore"):
            gains = moments(self._logs[:, :, :1] - self._logs)
        count, gain = gains[0], np.where(self.alive & (gains[0] > 0), gains[1], -np.inf)
        gain[:, 0] = 0.0
        unsettled = ~self.settled
        self.best[unsettled] = gain[unsettled].argmax(axis=1)
        self.gain[unsettled] = gain[unsettled].max(axis=1)
        if self.rounds < FIRST:
            return
        best = np.take_along_axis(self._logs, self.best[None, :, None], axis=2)
        count, slower_by, variance = moments(self._logs - best)
        is_best = np.arange(self._logs.shape[2]) == self.best[:, None]
        tested = self.alive & ~is_best & (count >= FIRST)
        # The spread of all that are left widens the errors of those whose few figures agree by chance.
        flat = np.where(tested, variance, np.nan).reshape(1, -1)
        errors = ERRORS * errors_of_pairs(np.maximum(count, 1).reshape(1, -1), flat, 0.0).reshape(count.shape)
        with np.errstate(invalid="ignore"):
            self.alive[tested & (slower_by > errors)] = False
            certain = tested & (errors < self._margin)
        self.alive[:, 0] = True
        # A candidate that was never measured, as all its launches failed, is out as well.
        self.alive[(count == 0) & ~is_best] = False
        self.alive[:, 0] = True
        default_is_out = tested[:, 0] & (slower_by[:, 0] > errors[:, 0])
        rivals = self.alive & ~is_best & ~certain
        rivals[:, 0] &= ~default_is_out
        self.settled |= ~rivals.any(axis=1)

    def _counts(self) -> Values:
        """Rounds in which a candidate and the default were measured, shape (cells, candidates)."""
        counts: Values = np.isfinite(self._logs - self._logs[:, :, :1]).sum(axis=0).astype(np.float64)
        return counts

    def unmeasured(self) -> Mask:
        """Candidates that no round has measured beside the default, shape (cells, candidates)."""
        return np.asarray(self._rivals & (self._counts() == 0))

    def undecided(self) -> list[bool]:
        """Whether too few rounds were measured to call the default of a cell the fastest: fewer than FIRST of some candidate that is left, or
        none of any."""
        few = (self._rivals & self.alive & (self._counts() < FIRST)).any(axis=1)
        nothing = self._rivals.any(axis=1) & (self.unmeasured() == self._rivals).all(axis=1)
        return [bool(cell) for cell in few | nothing]

    def chosen(self) -> list[int]:
        """The candidate that is proposed for each cell; 0: the default."""
        enough = self.gain >= math.log1p(math.expm1(self._margin) * PROPOSED)
        return [int(candidate) for candidate in np.where(enough, self.best, 0)]


class Proof:
    """Confirms the choices of a file: `changed` of its cells leave the default. `family`: the error rate of all that follows."""

    def __init__(
        self,
        changed: Sequence[bool],
        margin: float,
        family: float = FAMILY,
        confirmations: int = CONFIRMATIONS,
    ) -> None:
        self.changed: Mask = np.array(changed, dtype=bool)
        # Cells that went back to the default, as they were judged then.
        self.reverted: list[tuple[int, CellVerdict]] = []
        self.confirmation = 1
        self.over = not self.changed.any()
        self.judged: list[CellVerdict] = []
        self._last: list[CellVerdict] = []
        self._margin = math.log1p(margin)
        self._family = family
        self._most = confirmations
        self._gains: Values = np.empty((0, len(self.changed)))
        self._probes: Values = np.empty((0, 2))
        self._control: Values = np.empty(0)
        self._look = 0  # the next one: its index in LOOKS

    @property
    def level(self) -> float:
        """The error rate of this confirmation."""
        return float(self._family / 2**self.confirmation)

    @property
    def launched(self) -> int:
        """How many pairs this confirmation has."""
        return len(self._gains)

    def pairs_needed(self) -> int:
        """Pairs to be launched before the next look: so many that enough are in the dominant state, if it is as frequent as so far; 0: it is over."""
        if self.over:
            return 0
        clean = int(self._clean().sum())
        share = max(clean, 1) / self.launched if self.launched else 1.0
        most = SPARE * LOOKS[self._look] - self.launched
        return max(1, min(math.ceil((LOOKS[self._look] - clean) / share), most))

    def affordable(self, fit: int, acting: float = 0.0) -> int:
        """Pairs to be launched next, if there is time for `fit` pairs; 0: none. `acting`: the time that a file of fewer cells takes before
        its first pair, in pairs. Where some cells are confirmed and others are not, time is left for another confirmation."""
        needed = self.pairs_needed()
        if self._look and self.confirmation < self._most:
            unconfirmed = self.changed & np.array(
                [cell.verdict != "confirmed" for cell in self.judged], dtype=bool
            )
            if 0 < unconfirmed.sum() < self.changed.sum() and needed + acting + self.launched > fit:
                return 0
        pairs = min(needed, fit)
        return pairs if self.launched + pairs >= LOOKS[0] else 0

    def add(self, gains: Values, probes: Values | None = None, control: Values | None = None) -> None:
        """Logarithms of the speedup, shape (pairs, cells), NaN where a side lacks a cell. `probes`: seconds of the state probe of
        both launches, shape (pairs, 2), NaN where there is none. `control`, shape (pairs,): the mean logarithm of the speedup of
        rows that no file changes. Looks when there are enough pairs."""
        seconds = np.full((len(gains), 2), np.nan) if probes is None else probes
        self._gains = np.concatenate([self._gains, gains])
        self._control = np.append(self._control, np.full(len(gains), np.nan) if control is None else control)
        self._probes = np.concatenate([self._probes, seconds])
        while not self.over and (
            int(self._clean().sum()) >= LOOKS[self._look] or self.launched >= SPARE * LOOKS[self._look]
        ):
            self._take_look(last=self._look == len(LOOKS) - 1)

    def end(self) -> None:
        """Looks for the last time, at the pairs that there are: there is no time for more. What is still open goes back to the default."""
        self._take_look(last=True, in_time=False)

    def _clean(self) -> Mask:
        """Pairs that were measured, and whose launches were both in the dominant state of the machine, by their probes alone."""
        measured: Mask = np.asarray(np.isfinite(self._gains).any(axis=1))
        if not np.isfinite(self._probes[measured]).all() or not measured.any():
            return measured
        _, away = split(np.log(self._probes[measured].reshape(-1)))
        clean = measured.copy()
        clean[measured] = ~away.reshape(-1, 2).any(axis=1)
        return clean

    def _take_look(self, *, last: bool, in_time: bool = True) -> None:
        share = LOOKS[self._look] / sum(LOOKS)
        clean = self._clean()
        level = self.level * share
        now = judge_cells(self._gains[clean], self.changed, self._margin, level, self._control[clean])
        self._last = now
        # What an earlier look has shown stays shown: each look has its share of the level.
        self.judged = [
            before if latest.verdict == "inconclusive" != before.verdict else latest
            for before, latest in zip(self.judged if self._look else now, now, strict=True)
        ]
        slower = [cell.verdict == "slower" for cell in self.judged]
        inconclusive = [cell.verdict == "inconclusive" for cell in self.judged]
        failed = self.changed & np.array(
            [bad or (last and not_yet) for bad, not_yet in zip(slower, inconclusive, strict=True)]
        )
        if failed.any():
            self._revert(failed, "failed" if in_time else "no time")
        elif last or not any(inconclusive) or any(slower):
            self.over = True
        else:
            self._look += 1

    def _revert(self, failed: Mask, why: Verdict) -> None:
        """Gains below the margin go back as well, and later those without reserve: the next confirmation has a lower level, and they
        would fail one after another."""
        for cell in np.flatnonzero(self.changed):
            result = self.judged[int(cell)]
            again = self.confirmation < self._most
            if failed[cell] or (again and not self._has_reserve(self._last[int(cell)], why)):
                verdict: Verdict = why if failed[cell] else "below the margin"
                verdict = "slower" if result.verdict == "slower" else verdict
                self.reverted.append((int(cell), result._replace(verdict=verdict)))
                self.changed[cell] = False
        self._gains, self._probes, self._control = self._gains[:0], self._probes[:0], self._control[:0]
        self._look = 0
        self.confirmation += 1
        if not self.changed.any() or self.confirmation > self._most:
            self.changed[:] = False
            self.over = True

    def _has_reserve(self, result: CellVerdict, why: Verdict) -> bool:
        least = self._margin
        if self.confirmation > 1 or why == "no time":
            half = math.log(result.speedup / result.low) if result.low > 0 else math.inf
            least = max(least, (RESERVE_AT_END if why == "no time" else RESERVE) * half)
        return math.log(result.speedup) >= least

    @property
    def good(self) -> bool:
        """Whether the file may be handed out: it changes something, every changed cell is confirmed, and none is slower."""
        return (
            self.over
            and bool(self.changed.any())
            and not any(cell.verdict == "slower" for cell in self.judged)
        )


class _Estimates(NamedTuple):
    """Of each cell: pairs, mean gain, its standard error, degrees of freedom; NaN where there are too few pairs."""

    pairs: Values
    mean: Values
    error: Values
    degrees: Values

    def half(self, level: Values) -> Values:
        """Of an interval of which each side misses with this probability."""
        width: Values = -stdtrit(self.degrees, level) * self.error
        return width


def judge_cells(
    gains: Values, changed: Mask, margin: float, level: float, control: Values | None = None
) -> list[CellVerdict]:
    """Of each cell, from logarithms of its speedup, shape (pairs, cells). Tests are Holm's with weights: changed cells have half of the
    level, the others the other half. The interval of a cell is at the level of its step, so that it is above 1 where the cell is confirmed. `margin`, a logarithm: what an unchanged cell must not be slower by.
    `control`: of each pair the same of rows that no file changes, whose expectation is 0."""
    both = 2 if changed.any() and not changed.all() else 1
    each = level / both / np.where(changed, int(changed.sum()), int((~changed).sum()))
    estimates = _estimated(gains)
    if control is not None and np.isfinite(control).all() and len(control) > FEWEST:
        # Which one is more certain is decided for all cells together, by the spread of pairs alone.
        adjusted = _estimated(gains, control)
        if float(nanmedian(adjusted.half(each))) < float(nanmedian(estimates.half(each))):
            estimates = adjusted
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(estimates.degrees, -(estimates.mean + np.where(changed, 0.0, margin)) / estimates.error)
    shown = holm(p, each) <= level
    half = estimates.half(level * each / _remaining_weight(p, each, shown))
    low, high = estimates.mean - half, estimates.mean + half
    slower = estimates.mean + estimates.half(each) < 0  # by Bonferroni's limit: a false one costs the file
    cells = []
    for at in range(len(estimates.mean)):
        verdict: Verdict = "inconclusive"
        if shown[at]:
            verdict = "confirmed" if changed[at] else "not slower"
        elif slower[at]:
            verdict = "slower"
        speedup, least, most = (
            float(np.exp(min(values[at], LARGEST_LOG))) for values in (estimates.mean, low, high)
        )
        cells.append(CellVerdict(verdict, speedup, least, most, int(estimates.pairs[at])))
    return cells


def _remaining_weight(p: Values, weights: Values, shown: Mask) -> Values:
    """Of each test the weight of all tests that remain at its step of Holm's method: its own and those of later steps. Of tests that are
    not shown, the weight of all such tests."""
    scaled = np.where(np.isfinite(p), p / weights, np.inf)
    order = np.argsort(scaled, kind="stable")
    left = np.empty(len(p))
    left[order] = np.cumsum(weights[order][::-1])[::-1]
    left[~shown] = weights[~shown].sum()
    return left


def _estimated(gains: Values, control: Values | None = None) -> _Estimates:
    """With a control, what a cell shares with it is taken off: the intercept of a line (Lavenberg and Welch, Management Science 27
    (1981) 322), which costs a degree of freedom."""
    count, mean, variance = moments(gains)
    degrees = count - 1
    width: Values = np.ones(len(count))
    if control is not None:
        finite = np.isfinite(gains)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.where(finite, control[:, None], 0.0).sum(axis=0) / count
            apart = np.where(finite, control[:, None] - middle, 0.0)
            squares = (apart**2).sum(axis=0)
            slope = (apart * np.where(finite, gains - mean, 0.0)).sum(axis=0) / squares
            slope = np.where(squares > 0, slope, 0.0)
            rest = np.where(finite, gains - mean - slope * apart, 0.0)
            degrees = count - 2
            variance = (rest**2).sum(axis=0) / degrees
            mean = mean - slope * middle
            width = np.sqrt(1 + np.where(squares > 0, count * middle**2 / squares, 0.0))
    enough = degrees > 0
    errors = errors_of_pairs(np.maximum(count, 1), np.where(enough, variance, np.nan)[None], 0.0)[0]
    return _Estimates(
        count, mean, np.where(enough, errors * width, np.nan), np.where(enough, degrees, np.nan)
    )
