"""Whether a host is as fast as it was: a rule of order statistics, valid for any distribution. Numbers in,
numbers out. Importing NumPy would take a check too long. Pure.

A session and a check have up to LAUNCHES launches. Each has a value (seconds) of every watched figure. The
limit of a figure is the r-th largest of n values, one per session. A figure is suspect if LAUNCHES values of
a check are all beyond its limit. If these k = LAUNCHES values and the n are exchangeable, they are all among
the r + k - 1 largest with probability C(r + k - 1, k) / C(n + k, k) (Nelson's precedence test, Technometrics
5, 1963). Launches of one check share the state of the machine, so false suspects are more frequent. So a host
is bad only if a second check, APART or more later, finds the same figure beyond its limit, and no check
between them found it within.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from math import comb
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from imb.health.figure_state import FigureState, SessionSeconds

LAUNCHES = 4
ONE_IN = 4500  # a figure has at most one false suspect in this many checks
ENOUGH = 50  # sessions; the limit is then the fifth largest value
APART = timedelta(minutes=5)  # least time between two checks that find a host bad

FigureSeconds: TypeAlias = Mapping[str, float]  # seconds by figure
HealthVerdict: TypeAlias = Literal["healthy", "suspect", "bad", "inconclusive"]


def false_alarms(sessions: int, rank: int, launches: int = LAUNCHES) -> float:
    """The probability that all values of a check exceed the `rank`-th largest of `sessions` values, one per
    session."""
    return comb(rank + launches - 1, launches) / comb(sessions + launches, launches)


def rank_of_limit(sessions: int) -> int:
    """The largest rank with at most one false alarm in ONE_IN checks; 0 if there are too few sessions for
    any."""
    return next(rank for rank in count() if false_alarms(sessions, rank + 1) > 1 / ONE_IN)


FEWEST = next(sessions for sessions in count(1) if rank_of_limit(sessions))


def limits_of(sessions: Sequence[SessionSeconds]) -> dict[str, float]:
    """The limit of each figure. Each session gives one value: the first session the value of its first
    launch, the second of its second launch, and so on in turn, so that all launches of a session share the
    same limits."""
    return _limits(list(enumerate(sessions)))


def _limits(numbered: Sequence[tuple[int, SessionSeconds]]) -> dict[str, float]:
    rank = max(rank_of_limit(len(numbered)), 1)
    return {
        figure: sorted(session[figure][number % len(session[figure])] for number, session in numbered)[-rank]
        for figure in numbered[0][1]
    }


class Sensitivity(NamedTuple):
    """The smallest slowdown of a figure, as a share, that would have put every value of all sessions beyond
    the limit."""

    figure: str
    slowdown: float


def sensitivity(sessions: Sequence[SessionSeconds]) -> list[Sensitivity]:
    """The sensitivity of each figure. A share `found_share` of the checks finds a host with this slowdown."""
    limits = limits_of(sessions)
    return [
        Sensitivity(
            figure,
            max(limits[figure] / min(value for session in sessions for value in session[figure]) - 1, 0.0),
        )
        for figure in limits
    ]


def found_share(sessions: Sequence[SessionSeconds]) -> float:
    """The probability that no value of a check is below the smallest of all sessions, if all values are
    exchangeable."""
    count_of_values = sum(len(next(iter(session.values()))) for session in sessions)
    return count_of_values / (count_of_values + LAUNCHES)


def false_suspects(sessions: Sequence[SessionSeconds]) -> int:
    """The number of sessions that would be suspects if judged as checks, in the order of their launches, by
    the limits of the other sessions."""
    numbered = list(enumerate(sessions))
    return sum(
        any(
            min(session[figure]) > limit
            for figure, limit in _limits([*numbered[:at], *numbered[at + 1 :]]).items()
        )
        for at, session in numbered
    )


class HealthCheck:
    """One check. `undecided`: figures that need another launch; `watched`: their state for the next check."""

    def __init__(self, limits: FigureSeconds, watched: Mapping[str, FigureState]) -> None:
        self.limits = limits
        self.watched = {figure: watched.get(figure, FigureState()) for figure in limits}
        self.undecided = list(limits)
        self.suspects: list[str] = []
        self.values: dict[str, list[float]] = {figure: [] for figure in limits}

    def exceeding_figures(self, values: FigureSeconds) -> list[str]:
        """Undecided figures whose value is beyond the limit."""
        return [figure for figure in self.undecided if values[figure] > self.limits[figure]]

    def add(self, values: FigureSeconds) -> None:
        """Add the values of a launch."""
        for figure in tuple(self.undecided):
            before = self.watched[figure]
            self.values[figure].append(values[figure])
            if values[figure] <= self.limits[figure]:
                self.watched[figure] = FigureState()
            elif before.beyond + 1 < LAUNCHES:
                self.watched[figure] = msgspec.structs.replace(before, beyond=before.beyond + 1)
                continue
            else:
                self.watched[figure] = msgspec.structs.replace(before, beyond=0)
                self.suspects.append(figure)
            self.undecided.remove(figure)

    def verdict(self, now: str) -> tuple[HealthVerdict, dict[str, str]]:
        """The verdict, and for each suspect the time of the check that found it first, or `now`. Call this
        once."""
        since: dict[str, str] = {}
        for figure in self.suspects:
            since[figure] = min(self.watched[figure].suspect or now, now)  # the clock may have been set back
            self.watched[figure] = FigureState(suspect=since[figure])
        if any(_are_apart(first, now) for first in since.values()):
            return "bad", since
        return ("suspect" if since else "inconclusive" if self.undecided else "healthy"), since


def _are_apart(first: str, then: str) -> bool:
    return datetime.fromisoformat(then) - datetime.fromisoformat(first) >= APART


def slowdown_of(values: Iterable[float], sessions: Sequence[SessionSeconds], figure: str) -> float:
    """How much longer these values take than the values of all sessions, as a share, by medians."""
    return median(values) / median(value for session in sessions for value in session[figure]) - 1
