#!/usr/bin/env python3
"""How often `imb` names the wrong part of variance, or the wrong launch: on made-up launches, whose truth is known.

    bench/variance.py [--draws 200] [--write docs/evidence/verdicts.md]

A launch is made of samples: of each row, a median with its interval as the suite has it, states of the machine, and an effect
of the launch, common to all rows in part. One part is twice the others, or more. Then launches outside the dominant state
of their machine among others that did. Deterministic. --write puts the figures between the marks of a page.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from imb.compare import dominant_state
from imb.compare.variance import NAMES, Name, parts_of
from imb.model.observations import Launch, Side, key_of
from imb.model.records import End, MachineState, Passes, Rank, Result, Run
from numpy.typing import NDArray
from pages import table_of, written_into

Values = NDArray[np.float64]
PROBE = 0.16e-6  # seconds per exchange, in the dominant state
SAMPLES = 40  # of a row in a launch
SEED = 13


@dataclass
class Made:
    """A machine. `within`, `states`, `launches`: standard deviations, logarithm; `common`: share of the launches' variance that
    all rows of a launch have in common; `usual`: mean share of the samples in the dominant state."""

    within: float = 0.01
    states: float = 0.01
    launches: float = 0.01
    common: float = 0.5
    rows: int = 24
    usual: float = 0.6
    probes: float = 0.02  # standard deviation of a launch's reference probe


def side(made: Made, count: int, random: np.random.Generator, away: int = 0) -> Side:
    """So many launches, of which the last `away` saw nothing but the slower state."""
    return Side(
        name="made",
        launches=[launch(made, f"launch{i}", random, i >= count - away) for i in range(count)],
    )


def launch(made: Made, name: str, random: np.random.Generator, away: bool = False) -> Launch:
    """One launch in passes."""
    run = Run(
        program="OpenIMB",
        component="MPI1",
        ranks=[Rank(number, "n0", "0-1") for number in range(2)],
        options={"budget": 10},
    )
    distance = made.states / np.sqrt(made.usual * (1 - made.usual))
    in_usual = float(np.clip(random.normal(made.usual, 0.1), 0.2, 0.95))
    probe = PROBE * np.exp(random.normal(0, made.probes))
    common = random.normal(0, made.launches * np.sqrt(made.common))
    rows = [
        row(2**number, made, random, common, away, in_usual, distance, probe) for number in range(made.rows)
    ]
    end = End(state="complete", passes=SAMPLES, seconds=10.0)
    return Launch(name=name, run=run, facts={}, rows={key_of(r, run): r for r in rows}, failures={}, end=end)


def row(
    length: int,
    made: Made,
    random: np.random.Generator,
    common: float,
    away: bool,
    in_usual: float,
    distance: float,
    probe: float,
) -> Result:
    """One row, from its samples in each state."""
    own = random.normal(0, made.launches * np.sqrt(1 - made.common))
    level = np.log(1e-6 * (1 + length / 1000)) + common + own
    # The standard error of the median of normal samples is 1.25 of that of the mean.
    used = SAMPLES if away else max(round(SAMPLES * in_usual), 5)
    deviation = made.within * np.sqrt(used) / 1.2533
    samples = np.exp(level + distance * away + random.normal(0, deviation, used))
    middle, low, high = median_with_interval(samples)
    states = [MachineState(float(probe * np.exp(distance * away)), used, middle)]
    if not away and used < SAMPLES:
        others = np.exp(level + distance + random.normal(0, deviation, SAMPLES - used))
        states.append(MachineState(float(probe * np.exp(distance)), len(others), float(np.median(others))))
    return Result(
        benchmark="PingPong",
        kind="single_transfer",
        multi="off",
        processes=2,
        group_count=1,
        bytes=length,
        repetitions=100,
        time_min_seconds=middle,
        time_max_seconds=middle,
        time_avg_seconds=middle,
        passes=Passes(
            samples=SAMPLES,
            used=used,
            interval_seconds=(low, high),
            half_width=max(high - middle, middle - low) / middle,
            effective_samples=float(used),
            states=states,
        ),
    )


def median_with_interval(samples: Values) -> tuple[float, float, float]:
    """Of independent samples: median, and the ends of its 95 % interval (src/result/interval.cpp)."""
    count = len(samples)
    half = min(1.959964 * 0.5 / np.sqrt(count), 0.5)
    low, middle, high = np.quantile(samples, [0.5 - half, 0.5, 0.5 + half])
    return float(middle), float(low), float(high)


# --- Figures ---------------------------------------------------------------------------------------------------------


@dataclass
class Rates:
    """Shares of draws: the largest part named rightly, said to be certain, and certain but wrong."""

    right: float
    certain: float
    wrong: float


def naming(
    made: Callable[[np.random.Generator], Made], largest: Name, count: int, draws: int, seed: int
) -> Rates:
    """How often the largest part is named."""
    random = np.random.default_rng([SEED, seed])
    found = [parts_of(side(made(random), count, random)) for _ in range(draws)]
    right = np.array([one.parts[0].name == largest for one in found])
    certain = np.array([one.certain for one in found])
    return Rates(float(right.mean()), float(certain.mean()), float((certain & ~right).mean()))


def one_is(largest: Name, times: float, common: float) -> Callable[[np.random.Generator], Made]:
    """A machine of which one part is 2 % to 20 %, and `times` the others, or up to twice as many times."""

    def made(random: np.random.Generator) -> Made:
        most = float(np.exp(random.uniform(np.log(0.02), np.log(0.2))))
        others: dict[str, float] = {name: most / times / float(random.uniform(1, 2)) for name in NAMES}
        others[NAMES[random.integers(len(NAMES))]] = most / times
        others[largest] = most
        return Made(within=others["within"], launches=others["launches"], common=common)

    return made


def parts_figures(draws: int) -> Iterator[list[str]]:
    """A line for each number of launches and kind of launches' effects."""
    yield [
        "launches",
        "common to all rows",
        *(f'"{name}" is the largest: found' for name in NAMES),
        "called certain",
        "certain but wrong",
    ]
    for count in (3, 5, 10):
        for common in (0.0, 0.5, 1.0):
            found = [
                naming(one_is(name, 2.0, common), name, count, draws, number)
                for number, name in enumerate(NAMES)
            ]
            yield [
                str(count),
                percent(common),
                *(percent(one.right) for one in found),
                percent(float(np.mean([one.certain for one in found]))),
                percent(float(np.mean([one.wrong for one in found]))),
            ]


def usual_rates(
    ratio: float, scatter: float, count: int, draws: int, seed: int, heavy: bool = False
) -> tuple[float, float]:
    """Of launches outside the dominant state the share that is named, of the others the share that is named falsely.

    One launch of each five, at least one, is away. `scatter`: standard deviation of reference probes of launches in one state;
    `heavy`: Student's t with three degrees of freedom instead of normal."""
    random = np.random.default_rng([SEED, seed])
    away_named = usual_named = away_all = usual_all = 0
    for _ in range(draws):
        noise = random.standard_t(3, count) / np.sqrt(3) if heavy else random.normal(0, 1, count)
        away = np.zeros(count, dtype=bool)
        away[random.choice(count, max(count // 5, 1), replace=False)] = ratio > 1
        logs = np.log(PROBE) + scatter * noise + np.log(ratio) * away
        _, named = dominant_state.split_by_state(logs)
        away_named += int((named & away).sum())
        usual_named += int((named & ~away).sum())
        away_all += int(away.sum())
        usual_all += int((~away).sum())
    return away_named / away_all if away_all else float("nan"), usual_named / usual_all


def usual_figures(draws: int) -> Iterator[list[str]]:
    """A line for each spread of reference probes."""
    ratios = (1.5, 2.0, 2.5)
    yield [
        "probes of launches in one state differ by",
        "launches",
        *(f"state {ratio:g} times as slow" for ratio in ratios),
        "others listed falsely",
        "listed falsely, all in one state",
    ]
    cases = [(0.02, False), (0.05, False), (0.1, False), (0.1, True), (0.15, False)]
    for number, (scatter, heavy) in enumerate(cases):
        for count in (3, 5, 10, 20):
            found = [usual_rates(ratio, scatter, count, 5 * draws, number, heavy) for ratio in ratios]
            none = usual_rates(1.0, scatter, count, 5 * draws, number, heavy)
            yield [
                percent(scatter) + (", heavy tails" if heavy else ""),
                str(count),
                *(percent(one[0]) for one in found),
                percent(max(one[1] for one in found), 2),
                percent(none[1], 2),
            ]


def report(draws: int) -> str:
    """All figures, in Markdown."""
    parts = [
        f"Generated launches of 24 rows with {SAMPLES} samples each. **Largest component**, 2 % to 20 %; the other is at most half of it; {draws} draws"
        " of each kind:",
        table_of(list(parts_figures(draws))),
        f"**Launches outside the dominant state**, one of five; share that is listed; {5 * draws} draws of each kind:",
        table_of(list(usual_figures(draws))),
    ]
    return "\n\n".join(parts)


def percent(share: float, digits: int = 1) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.{digits}f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    figures = report(options.draws)
    print(figures)
    if options.write:
        options.write.write_text(written_into(options.write.read_text(), "variance", figures))


if __name__ == "__main__":
    main()
