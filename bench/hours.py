#!/usr/bin/env python3
"""Baseline checks of identical sessions that were recorded hours apart: how often `imb` calls any row or band changed.

    bench/hours.py ARCHIVE LABEL LABEL... [--sessions 3 | --apart] [--draws 300]

Each label has sessions of the same benchmarks and settings, recorded at another time or under another load. Sessions of one
label are the baseline, as many of another one are checked against it, at the margin of a baseline (5 %); beside it, what
launches alone would say. With --apart a side has one session of each time, where sessions that `imb` counts as one are of one
time. Deterministic. Draws from the same sessions are not independent of each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
from imb.compare.comparison import CompareSettings, compare
from imb.compare.pairing import counted_sessions, session_of
from imb.model.observations import Launch, Side
from imb.store.names import load
from imb.store.store import Archive
from pages import table_of
from verdicts import CHANGED, percent

Sessions = list[list[Launch]]


def times_of(archive: Archive, label: str) -> list[Sessions]:
    """The sessions of each time."""
    side = load(archive, label)
    times: dict[str | None, dict[str | None, list[Launch]]] = {}
    for launch, first in zip(side.launches, counted_sessions(side), strict=True):
        times.setdefault(first, {}).setdefault(session_of(launch), []).append(launch)
    return [list(sessions.values()) for sessions in times.values()]


def drawn(times: Sequence[Sessions], many: int | None, random: np.random.Generator) -> list[Launch]:
    """Launches of so many sessions, or of one of each time."""
    if many is None:
        return [launch for sessions in times for launch in sessions[random.integers(len(sessions))]]
    every = [session for sessions in times for session in sessions]
    return [launch for i in random.choice(len(every), many, replace=False) for launch in every[int(i)]]


def checks(archive: Archive, labels: Sequence[str], many: int | None, draws: int) -> Iterator[list[str]]:
    yield [
        "baseline",
        "checked",
        "sessions of each",
        "checks",
        "by launches alone: changed",
        "imb: changed",
        "same",
    ]
    random = np.random.default_rng(1)
    for one, other in permutations(labels, 2):
        of_a, of_b = times_of(archive, one), times_of(archive, other)
        changed = np.zeros((draws, 2))
        same = 0
        for draw in range(draws):
            a, b = (
                Side(name=name, launches=drawn(times, many, random))
                for name, times in ((one, of_a), (other, of_b))
            )
            for column, alone in enumerate((True, False)):
                said = compare(a, b, CompareSettings(assume_one_session=alone, assume_stable=alone))
                verdicts = {band.effect.verdict for band in said.bands} | {
                    row.effect.verdict for row in said.rows
                }
                changed[draw, column] = bool(verdicts & {*CHANGED, "differs"})
                same += said.verdict == "same" and not alone
        alone, judged = changed.mean(axis=0)
        sessions = " and ".join(map(str, sorted({many or len(times) for times in (of_a, of_b)})))
        yield [one, other, sessions, str(draws), percent(alone), percent(judged), percent(same / draws)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("labels", nargs="+", metavar="LABEL")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--sessions", type=int, default=3, help="of each side [3]")
    how.add_argument("--apart", action="store_true", help="one session of each time")
    parser.add_argument("--draws", type=int, default=300, help="for each two labels [300]")
    options = parser.parse_args()
    many = None if options.apart else options.sessions
    print(table_of(list(checks(Archive(options.archive), options.labels, many, options.draws))))


if __name__ == "__main__":
    main()
