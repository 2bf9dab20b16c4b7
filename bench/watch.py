#!/usr/bin/env python3
"""How often `imb watch` finds steps that are none, and steps that are there; Otava on the same series.

    bench/watch.py [--histories 1000] [--steps 200] [--otava FOLDER] [--write docs/evidence/history.md]

Histories are made up (independent, correlated, drifting, heavy-tailed, with outliers, with gaps) or drawn from the recorded
launches of bench/pool.parquet. A history has SERIES series, of which a step hits HIT. Apache Otava's dependencies are not
needed for its arithmetic: pip install --no-deps --target FOLDER apache-otava
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from imb.compare.comparison import BANDS
from imb.history import steps
from imb.stats.arrays import Values
from pages import table_of, written_into

HERE = Path(__file__).resolve().parent
SERIES, HIT, AFTER, SPREAD, STEP = 20, 6, 5, 0.015, 0.05
LEAST = float(np.log1p(0.02))  # as of imb watch
Random = np.random.Generator


def independent(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """Half of the variance is that of the session."""
    common, own = random.normal(size=(sessions, 1)), random.normal(size=(sessions, SERIES))
    made: Values = spread * np.sqrt(0.5) * (common + own)
    return made


def correlated(share: float) -> Callable[..., Values]:
    def made(random: Random, sessions: int, spread: float = SPREAD) -> Values:
        values = independent(random, sessions, spread)
        for session in range(1, sessions):
            values[session] *= np.sqrt(1 - share**2)
            values[session] += share * values[session - 1]
        return values

    return made


def bunches(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """Five in a row, as of one evening, have the half of the variance that is the session's in common. `imb watch` counts them as one."""
    common = random.normal(size=(-(-sessions // 5), 1)).repeat(5, axis=0)[:sessions]
    made: Values = spread * np.sqrt(0.5) * (common + random.normal(size=(sessions, SERIES)))
    return made


def drifting(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """10 % slower from the first session to the last one."""
    return independent(random, sessions, spread) + np.linspace(0, 0.1, sessions)[:, None]


def heavy(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """Student's t with three degrees of freedom."""
    common, own = (random.standard_t(3, (sessions, width)) for width in (1, SERIES))
    made: Values = spread * np.sqrt(0.5 / 3) * (common + own)
    return made


def outliers(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """One session in twenty is slower, by eight standard deviations in the mean."""
    odd = random.random((sessions, 1)) < 0.05
    made: Values = independent(random, sessions, spread) + spread * odd * random.exponential(8, (sessions, 1))
    return made


def gaps(random: Random, sessions: int, spread: float = SPREAD) -> Values:
    """One figure in five is missing."""
    values = independent(random, sessions, spread)
    values[random.random(values.shape) < 0.2] = np.nan
    return values


def recorded() -> Callable[..., Values]:
    """Launches of the pool, each taken as a session, drawn at random. They have the spread that they have."""
    table = pq.read_table(HERE / "pool.parquet", filters=[("series", "=", "table")]).to_pylist()
    rows: dict[tuple[str, int | None], dict[int, float]] = {}
    for one in table:
        rows.setdefault((one["benchmark"], one["bytes"]), {})[one["number"]] = one["seconds"]
    numbers = sorted({one["number"] for one in table})
    members: dict[tuple[str, int], list[Values]] = {}
    for (benchmark, length), seconds in rows.items():
        band = next((place for place, one in enumerate(BANDS) if one.has(length)), len(BANDS))
        logs = np.log([seconds.get(number, np.nan) for number in numbers])
        members.setdefault((benchmark, band), []).append(logs - np.nanmedian(logs))
    pool = np.array([np.nanmean(of, axis=0) for of in members.values()]).T

    def made(random: Random, sessions: int, spread: float = SPREAD) -> Values:
        chosen = random.choice(pool.shape[1], SERIES, replace=False)
        values: Values = pool[random.integers(len(pool), size=sessions)][:, chosen]
        return values

    return made


Judge = Callable[[Values], set[int]]  # sessions at which some series of a history has a step


def ours(logs: Values) -> set[int]:
    return {step.at for step in steps.find_steps(logs, least=LEAST).steps}


def otava(p: float) -> Judge:
    from otava.analysis import compute_change_points  # type: ignore[import-not-found]

    def judge(logs: Values) -> set[int]:
        found = set()
        for series in np.exp(logs).T:
            known = np.flatnonzero(np.isfinite(series))
            points, _ = compute_change_points(
                series[known].tolist(), window_len=50, max_pvalue=p, min_magnitude=0.02
            )
            found |= {int(known[one.index]) for one in points}
        return found

    return judge


def share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))


def alarms(judge: Judge, made: Callable[..., Values], sessions: int, count: int) -> float:
    """Share of histories without a change in which one is found."""
    random = np.random.default_rng(1)
    return share(bool(judge(made(random, sessions))) for _ in range(count))


def power(
    judge: Judge, made: Callable[..., Values], sessions: int, count: int, spread: float, step: float
) -> float:
    """Share of histories in which a step is found, at most two sessions off, AFTER sessions after it."""
    random = np.random.default_rng(2)

    def one() -> bool:
        logs = made(random, sessions, spread)
        logs[-AFTER:, :HIT] += np.log1p(step)
        return any(abs(at - (sessions - AFTER)) <= 2 for at in judge(logs))

    return share(one() for _ in range(count))


def smallest(sessions: int, count: int, spread: float) -> str:
    """The smallest step that is found in 95 %, to half a percent."""
    found = (
        step
        for step in np.arange(0.02, 0.3, 0.005)
        if power(ours, independent, sessions, count, spread, step) >= 0.95
    )
    step = next(found, None)
    return "above 30 %" if step is None else f"{step:.1%}"


def page(options: argparse.Namespace) -> str:
    judges: dict[str, Judge] = {"imb watch": ours}
    if options.otava:
        sys.path.insert(0, str(options.otava))
        judges |= {"Otava": otava(0.001), f"Otava, p / {SERIES * 100}": otava(0.01 / SERIES / 100)}
    kinds: dict[str, Callable[..., Any]] = {
        "independent": independent,
        "correlation 0.3": correlated(0.3),
        "correlation 0.6": correlated(0.6),
        "bunches of five, each counted": bunches,
        "drift of 10 %": drifting,
        "heavy tails": heavy,
        "outliers": outliers,
        "20 % missing": gaps,
        "recorded launches": recorded(),
    }
    names = [f"{what}: {name}" for what in ("false", "found") for name in judges]
    rows = [["sessions", "history", *names]]
    for sessions in (100, 30, 12):
        for name, made in kinds.items():
            both = [
                (options.histories, options.steps) if judge is ours else (options.yardstick,) * 2
                for judge in judges.values()
            ]
            wrong = [
                alarms(one, made, sessions, n) for one, (n, _) in zip(judges.values(), both, strict=True)
            ]
            right = [
                power(one, made, sessions, n, SPREAD, STEP)
                for one, (_, n) in zip(judges.values(), both, strict=True)
            ]
            cells = [f"{100 * one:.1f} %" for one in (*wrong, *right)]
            rows.append([str(sessions), name, *cells])
            print(*rows[-1], sep="; ", file=sys.stderr, flush=True)
    spreads = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
    found = [["sessions", *(f"{one:.1%}" for one in spreads)]]
    for sessions in (100, 30, 12):
        count = max(40, options.steps // 4)
        found.append([str(sessions), *(smallest(sessions, count, spread) for spread in spreads)])
        print(*found[-1], sep="; ", file=sys.stderr, flush=True)
    return (
        f"{options.histories} histories without a change and {options.steps} with a step of each kind; Otava was given the"
        f" first {options.yardstick} of either.\n\n{table_of(rows)}\n\nSmallest step found within {AFTER} sessions in 95 % of"
        f" independent histories, by the standard deviation of a session:\n\n{table_of(found)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--histories", type=int, default=1000, help="without a change, of each kind")
    parser.add_argument("--steps", type=int, default=200, help="histories with a step, of each kind")
    parser.add_argument(
        "--yardstick", type=int, default=100, help="histories that Otava sees, of either sort"
    )
    parser.add_argument("--otava", type=Path, help="folder with Apache Otava")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the tables between the marks of this page"
    )
    options = parser.parse_args()
    made = page(options)
    if options.write:
        text = written_into(options.write.read_text("utf-8"), "figures", made)
        options.write.write_text(text, encoding="utf-8")
    else:
        print(made)


if __name__ == "__main__":
    main()
