#!/usr/bin/env python3
"""Baseline checks of identical sessions that were recorded hours apart: how often `imb` calls any row or band changed.

    bench/hours.py ARCHIVE LABEL LABEL... [--sessions 3] [--draws 300]

Each label has sessions of the same benchmarks and settings, recorded at another time or under another load. Sessions of one
label are the baseline, as many of another one are checked against it, at the margin of a baseline (5 %); beside it, what
launches alone would say. Deterministic. Draws from the same sessions are not independent of each other.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
from imb.archive.names import load
from imb.archive.store import Archive
from imb.judge.compare import CompareSettings, compare
from imb.model.observations import Launch, Side
from pages import table_of
from verdicts import CHANGED, percent


def sessions_of(archive: Archive, label: str) -> list[list[Launch]]:
    found: dict[str, list[Launch]] = {}
    for launch in load(archive, label).launches:
        found.setdefault(str(launch.facts["session"]), []).append(launch)
    return list(found.values())


def checks(archive: Archive, labels: Sequence[str], many: int, draws: int) -> Iterator[list[str]]:
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
        of_a, of_b = sessions_of(archive, one), sessions_of(archive, other)
        changed = np.zeros((draws, 2))
        same = 0
        for draw in range(draws):
            a, b = (
                Side(
                    name=name,
                    launches=[
                        launch for i in random.choice(len(of), many, replace=False) for launch in of[int(i)]
                    ],
                )
                for name, of in ((one, of_a), (other, of_b))
            )
            for column, alone in enumerate((True, False)):
                said = compare(a, b, CompareSettings(assume_one_session=alone))
                verdicts = {band.effect.verdict for band in said.bands} | {
                    row.effect.verdict for row in said.rows
                }
                changed[draw, column] = bool(verdicts & {*CHANGED, "differs"})
                same += said.verdict == "same" and not alone
        alone, judged = changed.mean(axis=0)
        yield [one, other, str(many), str(draws), percent(alone), percent(judged), percent(same / draws)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("labels", nargs="+", metavar="LABEL")
    parser.add_argument("--sessions", type=int, default=3, help="of each side [3]")
    parser.add_argument("--draws", type=int, default=300, help="for each two labels [300]")
    options = parser.parse_args()
    print(table_of(list(checks(Archive(options.archive), options.labels, options.sessions, options.draws))))


if __name__ == "__main__":
    main()
