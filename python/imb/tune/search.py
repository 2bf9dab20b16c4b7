"""Which algorithm of a collective is faster than the library's default, and whether a file with these choices
may be written. Pure.

Two steps use separate launches, because the best of many estimates is too good on average:

- **Search**: all candidates side by side, including the default. From round FIRST on, a candidate that is
  slower than the best one by ERRORS standard errors is dropped (a race: Maron and Moore, Artif. Intell. Rev.
  11 (1997) 193). A cell is settled if the remaining candidates could be better by less than the margin. These
  estimates are never reported as proof.
- **Proof**: pairs of fresh launches, with the file and without. A changed cell is confirmed if the lower
  bound of its speedup is above 1; an unchanged one passes if it is not slower by the margin. FAMILY bounds
  the probability of any wrong decision over all cells (Holm), all looks (shares in proportion to their pairs)
  and all confirmations (half, a quarter, ...). Cells that fail go back to the default, and the others are
  confirmed again on fresh pairs.

docs/evidence/tuning.md has the error rates on simulated launches of known truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from imb.compare.dominant_state import split_by_state
from imb.stats.arrays import LARGEST_LOG, Mask, Values
from imb.stats.error_rates import ANY_FALSE
from imb.stats.medians import nanmedian
from imb.stats.multiplicity import holm
from imb.stats.shift import FEWEST, errors_of_pairs, moments
from imb.tune.cells import DEFAULT, Algorithm, Cell, Switch

FIRST = 4  # rounds before any candidate is dropped
MOST = 20  # most rounds of a search; estimates then choose in unsettled cells, and the proof decides
ERRORS = 3.0  # standard errors by which a dropped candidate is slower
PROPOSED = 0.5  # share of the margin; a smaller estimated gain is not worth a line in the file
LOOKS = (5, 10, 20, 40)  # pairs at each look
SPARE = (
    3  # at most this many times the pairs of a look are launched, if launches are outside the dominant state
)
FAMILY = ANY_FALSE
RESERVE = (
    1.2  # half widths of its interval that a gain must have to stay, from the second failed confirmation on
)
RESERVE_AT_END = 1.5  # the same if the budget ends: there is time for at most one more confirmation
CONFIRMATIONS = 5  # at levels 0.5, 0.25, ... %; if cells fail even then, there is no file

FAILED = "launches failed"  # reason why a cell is not decided

ProofVerdict: TypeAlias = Literal[
    "confirmed", "failed", "no time", "below the margin", "slower", "not slower", "inconclusive"
]


class CellVerdict(NamedTuple):
    """A cell at a look: verdict, and speedup with the file, with an interval that holds for all cells and
    looks together. `pairs`: number of pairs that have the cell."""

    verdict: ProofVerdict
    speedup: float
    low: float
    high: float
    pairs: int


class CellResult(NamedTuple):
    """The result of a cell. `chosen`: the algorithm in the file; `tried`: the algorithm that was tried;
    `estimate`: its speedup in the search (1 if the default is the best); `judged`: its verdict in the proof,
    or None; `why`: why `tried` is not in the file."""

    cell: Cell
    chosen: Algorithm
    tried: Algorithm
    estimate: float
    judged: CellVerdict | None
    why: str = ""


class RejectedCandidate(NamedTuple):
    """A candidate that is dropped in `cells` of the `of` cells of its collective and ranks, and why."""

    collective: str
    ranks: int
    algorithm: Algorithm
    why: str
    cells: int
    of: int


class TuneResult:
    """The result of a session so far.

    `limited`: number of cells that a file cannot express, by reason; `failed`: number of cells that are
    undecided because launches failed, by reason. `proof`: evidence that the file takes effect; `unproven`: why there
    is none; `alike`: number of changed cells in which ranks execute the same functions without the file.
    `stopped`: why the session is undecided, or empty; `evidence`: runs of the proof; `pairs`: number of pairs
    of the proof.
    """

    def __init__(self) -> None:
        self.cells: list[CellResult] = []
        self.screened: list[RejectedCandidate] = []
        self.limited: dict[str, int] = {}
        self.notes: list[str] = []
        self.proof = ""
        self.unproven = ""
        self.switch: Switch | None = None
        self.stopped = ""
        self.failed: Counter[str] = Counter()
        self.evidence: list[str] = []
        self.pairs = 0
        self.alike = 0
        self.slower = False

    def changed_cells(self) -> list[CellResult]:
        """Cells whose algorithm is not the default."""
        return [result for result in self.cells if result.chosen != DEFAULT]

    def is_confirmed(self) -> bool:
        """Whether all changed cells of a file are confirmed and none is slower."""
        verdicts = [result.judged.verdict if result.judged else "" for result in self.changed_cells()]
        return not (self.stopped or self.slower) and set(verdicts) == {"confirmed"}


class Search:
    """The race of the candidates in cells that are measured side by side. Candidate 0 is the default, which
    is never dropped."""

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
        self.gain: Values = np.zeros(cells)  # logarithm of the speedup of the best candidate over the default

    @property
    def rounds(self) -> int:
        """Number of rounds that were measured."""
        return len(self._logs)

    def rounds_needed(self) -> int:
        """Number of rounds to measure before the next look, or 0 if the search is over."""
        if self.settled.all() or self.rounds >= MOST:
            return 0
        return FIRST if not self.rounds else 1

    def next_round(self) -> tuple[list[int], list[int]]:
        """Cells and candidates of the next round: unsettled cells, and candidates that remain in any of them."""
        cells = np.flatnonzero(~self.settled)
        candidates = np.asarray(self.alive[cells].any(axis=0)) | (np.arange(self.alive.shape[1]) == 0)
        return [int(cell) for cell in cells], [int(cell) for cell in np.flatnonzero(candidates)]

    def add(self, logs: Values) -> None:
        """Add rounds: logarithms of seconds, shape (rounds, cells, candidates), NaN if not measured."""
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
        # The spread of all remaining candidates widens the errors of candidates whose few values agree by chance.
        flat = np.where(tested, variance, np.nan).reshape(1, -1)
        errors = ERRORS * errors_of_pairs(np.maximum(count, 1).reshape(1, -1), flat, 0.0).reshape(count.shape)
        with np.errstate(invalid="ignore"):
            self.alive[tested & (slower_by > errors)] = False
            certain = tested & (errors < self._margin)
        self.alive[:, 0] = True
        # Also drop a candidate that was never measured because all its launches failed.
        self.alive[(count == 0) & ~is_best] = False
        self.alive[:, 0] = True
        default_is_out = tested[:, 0] & (slower_by[:, 0] > errors[:, 0])
        rivals = self.alive & ~is_best & ~certain
        rivals[:, 0] &= ~default_is_out
        self.settled |= ~rivals.any(axis=1)

    def _counts(self) -> Values:
        """Number of rounds in which both a candidate and the default were measured, shape (cells,
        candidates)."""
        counts: Values = np.isfinite(self._logs - self._logs[:, :, :1]).sum(axis=0).astype(np.float64)
        return counts

    def unmeasured_candidates(self) -> Mask:
        """Candidates that no round measured beside the default, shape (cells, candidates)."""
        return np.asarray(self._rivals & (self._counts() == 0))

    def undecided_cells(self) -> list[bool]:
        """For each cell, whether too few rounds were measured to call the default the fastest: fewer than
        FIRST of some remaining candidate, or none of any candidate."""
        few = (self._rivals & self.alive & (self._counts() < FIRST)).any(axis=1)
        nothing = self._rivals.any(axis=1) & (self.unmeasured_candidates() == self._rivals).all(axis=1)
        return [bool(cell) for cell in few | nothing]

    def choices(self) -> list[int]:
        """The candidate that is proposed for each cell; 0 is the default."""
        enough = self.gain >= math.log1p(math.expm1(self._margin) * PROPOSED)
        return [int(candidate) for candidate in np.where(enough, self.best, 0)]


class Proof:
    """Confirmation of the choices of a file. `changed`: which of its cells differ from the default. `family`:
    error rate of the whole proof."""

    def __init__(
        self,
        changed: Sequence[bool],
        margin: float,
        family: float = FAMILY,
        confirmations: int = CONFIRMATIONS,
    ) -> None:
        self.changed: Mask = np.array(changed, dtype=bool)
        # Cells that went back to the default, with their verdict at that time.
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
        self._look = 0  # index of the next look in LOOKS

    @property
    def level(self) -> float:
        """The error rate of this confirmation."""
        return float(self._family / 2**self.confirmation)

    @property
    def pairs_launched(self) -> int:
        """Number of pairs of this confirmation."""
        return len(self._gains)

    def pairs_needed(self) -> int:
        """Number of pairs to launch before the next look, or 0 if the proof is over. Enough of them should be
        in the dominant state, if it stays as frequent as so far."""
        if self.over:
            return 0
        clean = int(self._clean_pairs().sum())
        share = max(clean, 1) / self.pairs_launched if self.pairs_launched else 1.0
        most = SPARE * LOOKS[self._look] - self.pairs_launched
        return max(1, min(math.ceil((LOOKS[self._look] - clean) / share), most))

    def affordable_pairs(self, fit: int, proof: float = 0.0) -> int:
        """Number of pairs to launch next if there is time for `fit` pairs; 0 for none. `proof`: duration of
        the launches that examine a file of fewer cells before its first pair, in pairs. If only some cells
        are confirmed, time is left for another confirmation."""
        needed = self.pairs_needed()
        if self._look and self.confirmation < self._most:
            unconfirmed = self.changed & np.array(
                [cell.verdict != "confirmed" for cell in self.judged], dtype=bool
            )
            if 0 < unconfirmed.sum() < self.changed.sum() and needed + proof + self.pairs_launched > fit:
                return 0
        pairs = min(needed, fit)
        return pairs if self.pairs_launched + pairs >= LOOKS[0] else 0

    def add(self, gains: Values, probes: Values | None = None, control: Values | None = None) -> None:
        """Add pairs, and look if there are enough. `gains`: logarithms of the speedup, shape (pairs, cells),
        NaN if a launch lacks a cell. `probes`: seconds of the state probe of both launches, shape (pairs, 2),
        NaN without one. `control`, shape (pairs,): mean logarithm of the speedup of rows that no file
        changes."""
        seconds = np.full((len(gains), 2), np.nan) if probes is None else probes
        self._gains = np.concatenate([self._gains, gains])
        self._control = np.append(self._control, np.full(len(gains), np.nan) if control is None else control)
        self._probes = np.concatenate([self._probes, seconds])
        while not self.over and (
            int(self._clean_pairs().sum()) >= LOOKS[self._look]
            or self.pairs_launched >= SPARE * LOOKS[self._look]
        ):
            self._take_look(last=self._look == len(LOOKS) - 1)

    def end(self) -> None:
        """Look for the last time, at the present pairs, because there is no time for more. Cells that are
        still inconclusive go back to the default."""
        self._take_look(last=True, in_time=False)

    def _clean_pairs(self) -> Mask:
        """Pairs that were measured and whose launches were both in the dominant state of the machine, judged
        by their probes alone."""
        measured: Mask = np.asarray(np.isfinite(self._gains).any(axis=1))
        if not np.isfinite(self._probes[measured]).all() or not measured.any():
            return measured
        _, away = split_by_state(np.log(self._probes[measured].reshape(-1)))
        clean = measured.copy()
        clean[measured] = ~away.reshape(-1, 2).any(axis=1)
        return clean

    def _take_look(self, *, last: bool, in_time: bool = True) -> None:
        share = LOOKS[self._look] / sum(LOOKS)
        clean = self._clean_pairs()
        level = self.level * share
        now = judge_cells(self._gains[clean], self.changed, self._margin, level, self._control[clean])
        self._last = now
        # Keep what an earlier look has shown: each look has its own share of the level.
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

    def _revert(self, failed: Mask, why: ProofVerdict) -> None:
        """Return failed cells to the default, and also cells with a gain below the margin, or later without
        reserve: the next confirmation has a lower level, and they would fail one after another."""
        for cell in np.flatnonzero(self.changed):
            result = self.judged[int(cell)]
            again = self.confirmation < self._most
            if failed[cell] or (again and not self._has_reserve(self._last[int(cell)], why)):
                verdict: ProofVerdict = why if failed[cell] else "below the margin"
                verdict = "slower" if result.verdict == "slower" else verdict
                self.reverted.append((int(cell), result._replace(verdict=verdict)))
                self.changed[cell] = False
        self._gains, self._probes, self._control = self._gains[:0], self._probes[:0], self._control[:0]
        self._look = 0
        self.confirmation += 1
        if not self.changed.any() or self.confirmation > self._most:
            self.changed[:] = False
            self.over = True

    def _has_reserve(self, result: CellVerdict, why: ProofVerdict) -> bool:
        least = self._margin
        if self.confirmation > 1 or why == "no time":
            half = math.log(result.speedup / result.low) if result.low > 0 else math.inf
            least = max(least, (RESERVE_AT_END if why == "no time" else RESERVE) * half)
        return math.log(result.speedup) >= least

    @property
    def is_proven(self) -> bool:
        """Whether the file may be written: it changes something, every changed cell is confirmed, and none is
        slower."""
        return (
            self.over
            and bool(self.changed.any())
            and not any(cell.verdict == "slower" for cell in self.judged)
        )


class _Estimates(NamedTuple):
    """Number of pairs, mean gain, its standard error and degrees of freedom; shape (cells,), NaN if there are
    too few pairs."""

    pairs: Values
    mean: Values
    error: Values
    degrees: Values

    def half_width(self, level: Values) -> Values:
        """Half width of an interval whose ends each miss with probability `level`."""
        width: Values = -stdtrit(self.degrees, level) * self.error
        return width


def judge_cells(
    gains: Values, changed: Mask, margin: float, level: float, control: Values | None = None
) -> list[CellVerdict]:
    """Judge each cell from logarithms of its speedup, shape (pairs, cells).

    Tests are Holm's with weights: changed cells together have half of the level, the others the other half.
    The interval of a cell is at the level of its step, so it is above 1 if the cell is confirmed. `margin`, a
    logarithm: an unchanged cell must not be slower by this. `control`, shape (pairs,): the same logarithm for
    rows that no file changes; its expectation is 0.
    """
    both = 2 if changed.any() and not changed.all() else 1
    each = level / both / np.where(changed, int(changed.sum()), int((~changed).sum()))
    estimates = _estimate(gains)
    if control is not None and np.isfinite(control).all() and len(control) > FEWEST:
        # Choose the more certain estimate for all cells together, by the spread of pairs alone.
        adjusted = _estimate(gains, control)
        if float(nanmedian(adjusted.half_width(each))) < float(nanmedian(estimates.half_width(each))):
            estimates = adjusted
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(estimates.degrees, -(estimates.mean + np.where(changed, 0.0, margin)) / estimates.error)
    shown = holm(p, each) <= level
    half = estimates.half_width(level * each / _remaining_weight(p, each, shown))
    low, high = estimates.mean - half, estimates.mean + half
    slower = (
        estimates.mean + estimates.half_width(each) < 0
    )  # by Bonferroni's limit: a false one costs the file
    cells = []
    for at in range(len(estimates.mean)):
        verdict: ProofVerdict = "inconclusive"
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
    """For each test, the weight of all tests that remain at its step of Holm's method: its own and those of
    later steps. Tests that are not shown have the weight of all such tests."""
    scaled = np.where(np.isfinite(p), p / weights, np.inf)
    order = np.argsort(scaled, kind="stable")
    left = np.empty(len(p))
    left[order] = np.cumsum(weights[order][::-1])[::-1]
    left[~shown] = weights[~shown].sum()
    return left


def _estimate(gains: Values, control: Values | None = None) -> _Estimates:
    """Mean gains and their errors. With a control, the part that a cell shares with it is removed: the
    intercept of a line (Lavenberg and Welch, Management Science 27 (1981) 322), which costs a degree of
    freedom."""
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
