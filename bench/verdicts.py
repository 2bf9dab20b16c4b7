#!/usr/bin/env python3
"""How often `imb compare` is wrong, and what it finds: its verdicts on launches of which the truth is known.

    bench/verdicts.py [--pool bench/pool.parquet] [--draws 600] [--write docs/evidence/verdicts.md]

Identical launches (recorded by bench/pool.py) are drawn without overlap into two sides and compared: whatever is called
faster or slower is false. Launches of which every iteration took a known share longer are compared with those as they
were: what is not called slower is missed; likewise pairs of interleaved launches. What this machine's
spread hides is shown with made launches of a smaller spread. Launches until decided (imb.compare.repeated_looks) are replayed round by
round, beside ten fixed rounds of the same launches. Draws from one pool are not independent of each other, so the
figures are less certain than their number of draws suggests. Deterministic. --write puts the figures between the marks of a page.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import scipy.stats
import sessions
from imb.compare.bands import Band, members_of
from imb.compare.effects import CompareSettings, Effect, combine_looks, effects_of, overall_verdict
from imb.compare.log_speeds import Logs, keys_without_band
from imb.compare.pairing import FEWEST_PAIRS
from imb.model import sequential_design
from imb.model.observations import Key
from imb.stats import shift as stats
from imb.stats.multiplicity import holm
from numpy.typing import NDArray
from pages import table_of, written_into

POOL = Path(__file__).resolve().parent / "pool.parquet"
Values = NDArray[np.float64]
SETTINGS = CompareSettings()
CHANGED = ("faster", "slower")
BANDS = 16  # of the table of launches that are needed
MANY = (10, 20, 40, 80, 160, 320, 640, 1280, 2560)


class Launches(NamedTuple):
    """Logarithms of speed by launch (in the order of time) and row; the rows of each band."""

    rows: Rows
    logs: Values


class Rows(NamedTuple):
    """What is measured, and which of it lies in which band."""

    keys: list[Key]
    members: dict[tuple[Key, Band], list[int]]


class Said(NamedTuple):
    """Verdicts of one comparison."""

    whole: str
    bands: Values  # 1 where B differs and is slower, -1 where it is faster, 0 for neither
    rows: Values
    excluded: Values  # bands of which the interval does not hold the truth, 1 or 0
    same: Values  # bands that are called the same, 1 or 0

    @property
    def changed(self) -> bool:
        """Whether any band or row is called different."""
        return bool(self.bands.any() or self.rows.any())

    @property
    def decided(self) -> bool:
        """Whether no band is left open."""
        return bool(np.all((self.bands != 0) | (self.same != 0)))


def launches_in(path: Path) -> tuple[dict[str, Launches], dict]:
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"facts"])
    series: dict[str, dict[tuple[str, int], dict[Key, float]]] = {}
    cells = (
        table.select(["series", "number", "started", "benchmark", "bytes", "seconds"]).to_pydict().values()
    )
    keys: dict[tuple[str, int], Key] = {}
    for name, number, started, benchmark, length, seconds in zip(*cells, strict=True):
        key = keys.setdefault((benchmark, length), key_of(benchmark, length))
        series.setdefault(name, {}).setdefault((started, number), {})[key] = -np.log(seconds)
    made = {}
    for name, by_launch in series.items():
        # Pairs are neighbors by number, tables in the order of time: numbers are given in that order.
        ordered = [by_launch[place] for place in sorted(by_launch, key=lambda place: place[1])]
        of = list(ordered[0])
        made[name] = Launches(
            rows_of(of),
            np.array([[launch[key] for key in of] for launch in ordered]),
        )
    return made, facts


def rows_of(keys: list[Key]) -> Rows:
    """With their bands, as `imb compare` has them."""
    return Rows(
        keys, members_of(keys, SETTINGS.bands, keys_without_band(keys, np.full(len(keys), np.inf), "time"))
    )


def key_of(benchmark: str, length: int) -> Key:
    return Key(
        component="MPI1", benchmark=benchmark, mode=None, multi="off", processes=2,
        group_count=1, group=None, bytes=length,
    )  # fmt: skip


def judge(of: Rows, a: Values, b: Values, *, pairs: bool = False, truth: float = 0.0) -> Said:
    return said_by(*effects(of, a, b, pairs=pairs, share=1.0), truth)


def effects(
    of: Rows, a: Values, b: Values, *, pairs: bool, share: float
) -> tuple[list[Effect], list[Effect]]:
    nothing = np.zeros(len(of.keys))
    both = Logs(of.keys, a, b, nothing, nothing, nothing, [])
    return effects_of(both, of.members, SETTINGS, pairs=pairs, share=share)


def said_by(rows: Sequence[Effect], bands: Sequence[Effect], truth: float) -> Said:
    def sign(effect: Effect) -> float:
        differs = effect.verdict in ("slower", "faster", "differs")
        return float(np.sign(1 - effect.speed)) if differs else 0.0

    outside = [not (band.low or 0) <= np.exp(truth) <= (band.high or np.inf) for band in bands]
    return Said(
        overall_verdict(bands, rows, SETTINGS.relevant),
        np.array([sign(band) for band in bands]),
        np.array([sign(row) for row in rows]),
        np.array(outside, dtype=np.float64),
        np.array([band.verdict == "same" for band in bands], dtype=np.float64),
    )


# --- Figures ---------------------------------------------------------------------------------------------------------


def identical(table: Launches, draws: int, random: np.random.Generator) -> Iterator[list[str]]:
    """Comparisons of launches that do not differ."""
    yield [
        "launches per side",
        "comparisons",
        "any row or band changed",
        "any band",
        "rows changed",
        "95 % intervals that miss",
    ]
    of, logs = table
    there = len(logs)

    def drawn(n: int) -> Iterator[tuple[Values, Values]]:
        for _ in range(draws):
            order = random.permutation(there)
            yield logs[order[:n]], logs[order[n : 2 * n]]

    def after(n: int) -> Iterator[tuple[Values, Values]]:
        for begin in range(there - 2 * n + 1):
            yield logs[begin : begin + n], logs[begin + n : begin + 2 * n]

    def by_turns(n: int) -> Iterator[tuple[Values, Values]]:
        for begin in range(there - 2 * n + 1):
            part = logs[begin : begin + 2 * n]
            swap = random.integers(0, 2, n)
            first, second = np.arange(n) * 2 + swap, np.arange(n) * 2 + 1 - swap
            yield part[first], part[second]

    cases: list[tuple[str, Iterator[tuple[Values, Values]], bool]] = [
        ("10, drawn at random", drawn(10), False),
        ("5, drawn at random", drawn(5), False),
        ("3, drawn at random", drawn(3), False),
        ("10, interleaved in random order", by_turns(10), False),
        ("10, interleaved, judged pair by pair", by_turns(10), True),
        ("10, all of A before all of B", after(10), False),
    ]
    for name, sides, pairs in cases:
        said = [judge(of, a, b, pairs=pairs) for a, b in sides]
        any_band = np.mean([one.bands.any() for one in said])
        anything = np.mean([one.changed for one in said])
        rows = np.mean([np.abs(one.rows).mean() for one in said])
        missed = np.mean([one.excluded.mean() for one in said])
        yield [name, str(len(said)), percent(anything), percent(any_band), percent(rows, 3), percent(missed)]


POWER = [
    "launches per side",
    "comparisons",
    "bands found",
    "called faster",
    "whole: slower or differs",
]


def at_once(
    pairs: tuple[Launches, Launches],
    twins: tuple[Launches, Launches],
    draws: int,
    random: np.random.Generator,
) -> Iterator[list[str]]:
    """Interleaved launches: with a delay against those without, and both without."""
    yield [POWER[0], "time of B", *POWER[1:], "band found least often"]
    names = [f"{curve.benchmark} {band}" for curve, band in pairs[0].rows.members]
    of = pairs[0].rows
    for what, (first, second), same in (("longer", pairs, False), ("the same", twins, True)):
        for n in (3, 5, 10):
            said = []
            for _ in range(draws):
                drawn = random.choice(len(first.logs), n, replace=False)
                a, b = first.logs[drawn], second.logs[drawn]
                if same:  # which of them is called B says nothing
                    swap = random.integers(0, 2, (n, 1)) == 1
                    a, b = np.where(swap, b, a), np.where(swap, a, b)
                said.append(judge(of, a, b, pairs=True))
            found = np.mean([one.bands > 0 for one in said], axis=0)
            least = "" if same else f"{names[int(found.argmin())]}: {percent(found.min())}"
            yield [f"{n} pairs", what, str(len(said)), *power(said), least]


def delayed(
    as_it_is: Launches, slower: Launches, share: float, draws: int, random: np.random.Generator
) -> Iterator[list[str]]:
    """Comparisons of launches with a delay against those without."""
    yield POWER
    of, n = as_it_is.rows, 10
    there = min(len(as_it_is.logs), len(slower.logs))
    for name, pairs in ((f"{n}, drawn at random", False), (f"{n} pairs of neighbors", True)):
        said = []
        for _ in range(draws):
            one = random.choice(there, n, replace=False)
            other = one if pairs else random.choice(there, n, replace=False)
            said.append(judge(of, as_it_is.logs[one], slower.logs[other], pairs=pairs))
        yield [name, str(len(said)), *power(said)]
    # The spread as recorded, the delay exactly as it was set: what the pool is too small to show.
    exact = slower.logs - slower.logs.mean(axis=0) + as_it_is.logs.mean(axis=0) - np.log1p(share)
    for pairs in (False, True):
        for many in MANY:
            said = []
            for _ in range(20):
                one = random.choice(there, many)
                other = one if pairs else random.choice(there, many)
                said.append(judge(of, as_it_is.logs[one], exact[other], pairs=pairs))
            found = power(said)
            enough = np.mean([(one.bands > 0).mean() for one in said]) >= 0.95
            if many in (10, 40, 160, 640) or enough:
                kind = "pairs" if pairs else "launches"
                yield [f"{many} {kind}, drawn with replacement*", "20", *found]
            if enough:
                break


def made(of: Rows, spread: float, n: int, random: np.random.Generator) -> Values:
    """Launches whose bands spread independently of each other, and rows by half as much around their band."""
    place = np.zeros(len(of.keys), dtype=np.int64)
    for number, where in enumerate(of.members.values()):
        place[where] = number
    levels: Values = random.normal(0, spread, (n, len(of.members)))
    own: Values = random.normal(0, spread / 2, (n, len(of.keys)))
    return levels[:, place] + own


def made_up(of: Rows, share: float, draws: int, random: np.random.Generator) -> Iterator[list[str]]:
    """What is found where launches spread less than here: made launches, normal on the logarithmic scale."""
    yield [
        "spread between launches",
        "launches per side",
        "same speed: any row or band changed",
        "slower: bands found",
    ]

    def launch(spread: float, n: int) -> Values:
        return made(of, spread, n, random)

    for spread in (0.005, 0.01, 0.02, 0.03, 0.05, 0.1):
        for n in (5, 10):
            same = [judge(of, launch(spread, n), launch(spread, n)) for _ in range(draws)]
            slow = [judge(of, launch(spread, n), launch(spread, n) - np.log1p(share)) for _ in range(draws)]
            changed = np.mean([one.changed for one in same])
            yield [percent(spread), str(n), percent(changed), power(slow)[0]]


def power(said: Sequence[Said]) -> list[str]:
    return [
        percent(np.mean([(one.bands > 0).mean() for one in said])),
        percent(np.mean([(one.bands < 0).mean() for one in said])),
        percent(np.mean([one.whole in ("slower", "differs") for one in said])),
    ]


class Replayed(NamedTuple):
    """What every look of a comparison until decided would have said, by round; and ten fixed rounds of the same launches."""

    looks: dict[int, Said]
    fixed: Said

    @property
    def stop(self) -> int:
        """The round after which no more is launched."""
        return next((rounds for rounds, said in self.looks.items() if said.decided), max(self.looks))

    def first(self) -> Values:
        """By band, the round that decided it first; infinite where none did."""
        found = np.full(len(self.fixed.bands), np.inf)
        for rounds, said in reversed(self.looks.items()):
            found[(said.bands != 0) | (said.same != 0)] = rounds
        return found


def replayed(of: Rows, a: Values, b: Values, *, pairs: bool, truth: float | None) -> Replayed:
    """Launch i of both sides is of round i. `pairs`: they ran at the same time; else as `imb compare` has it."""
    design = sequential_design.SequentialDesign(most=len(a))

    def effects_at(rounds: int, share: float) -> tuple[list[Effect], list[Effect]]:
        two_by_two = pairs or rounds >= FEWEST_PAIRS
        return effects(of, a[:rounds], b[:rounds], pairs=two_by_two, share=share)

    looks: dict[int, Said] = {}
    rows: list[Effect] = []
    bands: list[Effect] = []
    for rounds in range(design.first, design.most + 1):
        now = effects_at(rounds, design.share(rounds))
        rows = combine_looks(rows, now[0], SETTINGS) if rows else now[0]
        bands = combine_looks(bands, now[1], SETTINGS) if bands else now[1]
        looks[rounds] = said_by(rows, bands, truth or 0.0)
    return Replayed(looks, said_by(*effects_at(10, 1.0), truth or 0.0))


class Case(NamedTuple):
    """Launches to be replayed: `drawn` gives both sides. `truth`: of each band, the logarithm of B's speed over A's; None: it
    is not known."""

    name: str
    of: Rows
    drawn: Callable[[], tuple[Values, Values]]
    pairs: bool = False
    truth: float | None = 0.0


def swapped(a: Values, b: Values, random: np.random.Generator) -> tuple[Values, Values]:
    """In random rounds A and B change places."""
    swap = random.integers(0, 2, (len(a), 1)) == 1
    return np.where(swap, b, a), np.where(swap, a, b)


def cases_alike(
    table: Launches, twins: tuple[Launches, Launches], random: np.random.Generator
) -> Iterator[Case]:
    """Of which neither side is slower."""
    of, logs = table
    most = sequential_design.MOST

    def at_random() -> tuple[Values, Values]:
        order = random.permutation(len(logs))[: 2 * most]
        return logs[order[:most]], logs[order[most:]]

    def in_time() -> tuple[Values, Values]:
        begin = int(random.integers(0, len(logs) - 2 * most + 1))
        part = logs[begin : begin + 2 * most]
        return swapped(part[0::2], part[1::2], random)

    def interleaved() -> tuple[Values, Values]:
        order = random.permutation(len(twins[0].logs))
        return swapped(twins[0].logs[order], twins[1].logs[order], random)

    few = twins[0].rows
    yield Case("recorded, drawn at random, 20", of, at_random)
    yield Case("recorded, neighbors in time, 20", of, in_time)
    yield Case("recorded, interleaved, 10", few, interleaved, pairs=True)

    def two(make: Callable[[int], Values]) -> Callable[[], tuple[Values, Values]]:
        return lambda: (make(most), make(most))

    yield Case("generated, spread 1 %, 20", of, two(lambda n: made(of, 0.01, n, random)))
    yield Case("generated, spread 5 %, 20", few, two(lambda n: made(few, 0.05, n, random)))
    yield Case("generated, heavy tails, 20", few, two(lambda n: heavy(few, 0.01, n, random)))
    yield Case(
        "generated, launches of two kinds, 20", few, two(lambda n: of_two_kinds(few, 0.005, n, random))
    )

    def drifting() -> tuple[Values, Values]:
        both = made(few, 0.01, 2 * most, random) + np.cumsum(random.normal(0, 0.03, (2 * most, 1)), axis=0)
        return swapped(both[0::2], both[1::2], random)

    yield Case("generated, spread 1 %, speed that wanders by 3 %, 20", few, drifting)


def heavy(of: Rows, spread: float, n: int, random: np.random.Generator) -> Values:
    """As `made`, but Student's t with three degrees of freedom."""
    place = np.zeros(len(of.keys), dtype=np.int64)
    for number, where in enumerate(of.members.values()):
        place[where] = number
    levels: Values = random.standard_t(3, (n, len(of.members))) * spread / np.sqrt(3)
    own: Values = random.normal(0, spread / 2, (n, len(of.keys)))
    return levels[:, place] + own


def of_two_kinds(of: Rows, spread: float, n: int, random: np.random.Generator) -> Values:
    """As `made`, but half of the launches have got a place that is 20 % slower."""
    kinds: Values = np.log(1.2) * random.integers(0, 2, (n, 1))
    return made(of, spread, n, random) - kinds


def alike_until_decided(cases: Iterable[Case], draws: int) -> Iterator[list[str]]:
    """What is called changed though nothing differs."""
    yield [
        "launches, rounds at most",
        "comparisons",
        "ten fixed rounds: any row or band changed",
        "when stopped: any row or band changed",
        "at any look",
        "95 % intervals that miss, at any look",
        "bands called same",
        "rounds, median (90 %)",
    ]
    for case in cases:
        found = [replayed(case.of, *case.drawn(), pairs=case.pairs, truth=case.truth) for _ in range(draws)]
        missed = [np.max([said.excluded for said in one.looks.values()], axis=0).mean() for one in found]
        yield [
            case.name,
            str(draws),
            percent(np.mean([one.fixed.changed for one in found])),
            percent(np.mean([one.looks[one.stop].changed for one in found])),
            percent(np.mean([any(said.changed for said in one.looks.values()) for one in found])),
            percent(np.mean(missed)),
            percent(np.mean([one.looks[one.stop].same.mean() for one in found])),
            rounds_of(found),
        ]


def rounds_of(found: Sequence[Replayed]) -> str:
    return spoken(np.quantile([one.stop for one in found], [0.5, 0.9], method="higher"))


def spoken(rounds: Values) -> str:
    middle, most = (f"{value:.0f}" if np.isfinite(value) else "never" for value in rounds)
    return f"{middle} ({most})"


def cases_slower(
    turns: tuple[Launches, Launches],
    neighbors: tuple[Launches, Launches],
    share: float,
    random: np.random.Generator,
) -> Iterator[Case]:
    """Of which B is slower by `share`."""

    def recorded(pair: tuple[Launches, Launches]) -> Callable[[], tuple[Values, Values]]:
        def drawn() -> tuple[Values, Values]:
            order = random.permutation(min(len(pair[0].logs), len(pair[1].logs)))
            return pair[0].logs[order], pair[1].logs[order]

        return drawn

    few = turns[0].rows
    yield Case(f"recorded, interleaved, {len(turns[0].logs)}", few, recorded(turns), True, None)
    count = min(len(one.logs) for one in neighbors)
    yield Case(f"recorded, pairs of neighbors, {count}", few, recorded(neighbors), False, None)
    for curve in ("PingPong", "Allreduce"):
        of, columns = only(few, curve)
        yield Case(
            f"recorded, interleaved, {curve} alone, {len(turns[0].logs)}",
            of,
            recorded(tuple(Launches(of, one.logs[:, columns]) for one in turns)),  # type: ignore[arg-type]
            True,
            None,
        )
    most, slow = sequential_design.MOST, np.log1p(share)

    def two(
        make: Callable[[Rows, float, int, np.random.Generator], Values], spread: float
    ) -> Callable[[], tuple[Values, Values]]:
        return lambda: (make(few, spread, most, random), make(few, spread, most, random) - slow)

    for spread in (0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03):
        yield Case(f"generated, spread {percent(spread, 2)}, {most}", few, two(made, spread), truth=-slow)
    yield Case(f"generated, heavy tails, {most}", few, two(heavy, 0.01), truth=-slow)


def only(of: Rows, *benchmarks: str) -> tuple[Rows, list[int]]:
    """The rows of these benchmarks, and which they are."""
    columns = [number for number, key in enumerate(of.keys) if key.benchmark in benchmarks]
    keys = [of.keys[number] for number in columns]
    return rows_of(keys), columns


def slower_until_decided(cases: Iterable[Case], draws: int) -> Iterator[list[str]]:
    """What is found of a change, and after how many rounds."""
    yield [
        "launches, rounds at most",
        "comparisons",
        "ten fixed rounds: bands found",
        "all bands decided",
        "until decided: all bands decided",
        "bands found",
        "bands called same",
        "rounds, median (90 %)",
        "a band is decided after rounds, median (90 %)",
    ]
    for case in cases:
        found = [replayed(case.of, *case.drawn(), pairs=case.pairs, truth=case.truth) for _ in range(draws)]
        stopped = [one.looks[one.stop] for one in found]
        first = np.concatenate([one.first() for one in found])
        yield [
            case.name,
            str(draws),
            power([one.fixed for one in found])[0],
            percent(np.mean([one.fixed.decided for one in found])),
            percent(np.mean([said.decided for said in stopped])),
            power(stopped)[0],
            percent(np.mean([said.same.mean() for said in stopped])),
            rounds_of(found),
            spoken(np.quantile(first, [0.5, 0.9], method="higher")),
        ]


def others(table: Launches, draws: int, random: np.random.Generator) -> Iterator[list[str]]:
    """What other tests would call changed, of bands; with times as they are, and with those of B half as long again."""
    names = ("imb compare", "Welch alone", "Mann-Whitney, exact", "Yuen, 20 % trimmed")
    yield ["launches per side", "time of B", *names]
    level = SETTINGS.false_discovery / 2

    def said(a: Values, b: Values) -> list[Values]:
        alone = [
            scipy.stats.ttest_ind(a, b, equal_var=False).pvalue,
            scipy.stats.mannwhitneyu(a, b, method="exact").pvalue,
            scipy.stats.ttest_ind(a, b, equal_var=False, trim=0.2).pvalue,
        ]
        return [stats.shift(a, b).p, *alone]

    means = np.array([table.logs[:, where].mean(axis=1) for where in table.rows.members.values()]).T
    for n in (3, 5, 10):
        orders = [random.permutation(len(means)) for _ in range(draws)]
        for longer in (1.0, 1.5, 2.0):
            found = np.array(
                [
                    [
                        holm(p) <= level
                        for p in said(means[order[:n]], means[order[n : 2 * n]] - np.log(longer))
                    ]
                    for order in orders
                ]
            )  # comparisons, tests, bands
            shares = found.any(axis=2).mean(axis=0) if longer == 1.0 else found.mean(axis=(0, 2))
            what = "the same: any band changed" if longer == 1.0 else f"x {longer:.1f}: bands found"
            yield [str(n), what, *map(percent, shares)]


def needed() -> Iterator[list[str]]:
    """What `imb compare` says is needed, of BANDS bands, as a table."""
    changes = (0.02, 0.05, 0.1, 0.2, 0.5)
    yield ["spread between launches", *(f"to find {percent(change)}" for change in changes)]
    for spread in (0.01, 0.02, 0.03, 0.05, 0.1, 0.2):
        counts = [
            stats.launches_needed(spread, np.log1p(change), SETTINGS.false_discovery / 2 / BANDS)
            for change in changes
        ]
        yield [percent(spread), *(f"{max(int(count), stats.FEWEST)}" for count in counts)]


# --- Text ------------------------------------------------------------------------------------------------------------


def percent(share: float | np.floating, digits: int = 1) -> str:
    return f"{share * 100:.{digits}f} %".replace(".0 %", " %")


def spreads(rows: Rows, logs: Values) -> str:
    means = np.array([logs[:, where].mean(axis=1) for where in rows.members.values()])
    least, middle, most = np.quantile(means.std(axis=1, ddof=1), [0, 0.5, 1])
    return f"{percent(least)} to {percent(most)}, median {percent(middle)}"


def report(pool: Path, draws: int) -> str:
    """Four parts of it are computed at the same time, each with random numbers of its own."""
    tasks = (of_other_sessions, of_fixed_launches, of_looks_alike, of_looks_slower)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as processes:
        done = [processes.submit(task, pool, draws) for task in tasks]
        parts = [part for one in done for part in one.result()]
    parts += [
        "**Launches per side needed** to find a change in 19 of 20 comparisons of 16 bands, by formula:",
        table_of(list(needed())),
    ]
    return "\n\n".join(parts)


def of_other_sessions(pool: Path, draws: int) -> list[str]:
    series, facts = launches_in(pool)
    table, slower, share = series["table"], series["slower"], facts["share"]
    few, columns = only(slower.rows, "PingPong", "Allreduce")
    place = np.zeros(len(columns), dtype=np.int64)
    for number, of_band in enumerate(few.members.values()):
        place[of_band] = number
    random = np.random.default_rng(3)
    return [
        f"**Identical campaigns in different sessions**, generated (5 launches per session, which differ by 1 %; {len(columns)} rows)."
        " *By launches alone* is a rule that `imb` does not use:",
        table_of(list(sessions.alike(few.keys, place, draws // 2, random))),
        f"**B {percent(share)} slower, A and B in different sessions**, generated; share of bands found:",
        table_of(list(sessions.slower_by_sessions(few.keys, place, share, draws // 4, random))),
        "**Interleaved launches of one session, judged in pairs**, generated, on a machine whose speed wanders:",
        table_of(list(sessions.in_pairs(few.keys, place, share, draws // 2, random))),
        "**Unchanged bands among changed ones**, ten pairs, generated:",
        table_of(list(sessions.unchanged_among_changed(few.keys, place, draws // 2, random))),
        "**Recorded launches, all of A before all of B**, whole table, cut into sessions:",
        table_of(list(sessions.recorded(table.rows.keys, table.logs))),
    ]


def of_fixed_launches(pool: Path, draws: int) -> list[str]:
    series, facts = launches_in(pool)
    table, as_it_is, slower = series["table"], series["as-it-is"], series["slower"]
    turns, turns_slower = series["turns-as-it-is"], series["turns-slower"]
    twins = series["turns-one"], series["turns-other"]
    random = np.random.default_rng(1)
    share = facts["share"]
    machine = facts["conditions"]["machine"]
    effect = float(np.mean(as_it_is.logs - slower.logs))
    effect_by_turns = float(np.mean(turns.logs - turns_slower.logs))
    where = ", ".join(
        filter(
            None,
            [machine["cpu_model"], f"{machine['cores']} cores", machine["virtual_machine"], facts["mpi"]],
        )
    )
    return [
        f"The pool has {len(table.logs)} launches of the whole table ({len(table.rows.keys)} rows), and {len(slower.logs)} pairs of an"
        f" unchanged launch and one that is {percent(share)} slower ({len(slower.rows.keys)} rows); {where}. Standard deviation of a band between"
        f" launches: {spreads(*table)} (table), {spreads(*as_it_is)} (pairs).",
        f"It also has pairs of launches that ran at the same time and measured each row in {facts['parts']} alternating segments:"
        f" {len(turns.logs)} pairs with one launch {percent(share)} slower, and {len(twins[0].logs)} pairs of unchanged launches. A row took"
        f" {facts['by_turns'][facts['by_turns'].index('-time') + 1]} s. Standard deviation of a band between launches:"
        f" {spreads(*turns)}; standard deviation of the difference between two that ran at the same time:"
        f" {spreads(turns.rows, turns.logs - turns_slower.logs)}.",
        "**Launches that do not differ**, whole table:",
        table_of(list(identical(table, draws, random))),
        f"**At the same time, in alternating segments** (`--segments {facts['parts']}`). The iterations of B take"
        f" {percent(share)} longer, so that bands differ by {percent(np.expm1(effect_by_turns))} on average, or equally long:",
        table_of(list(at_once((turns, turns_slower), twins, draws // 2, random))),
        f"**Each iteration {percent(share)} longer**, one launch after the other: 10 launches per side, drawn from the pool, in which the mean"
        f" difference happens to be {percent(np.expm1(effect))}. Lines with * have the spread of the pool and a difference of exactly"
        f" {percent(share)}; with more launches than were recorded, they are extrapolations:",
        table_of(list(delayed(as_it_is, slower, share, draws // 2, random))),
        f"**Generated launches** with a known spread; B at the same speed or {percent(share)} slower; {len(as_it_is.rows.keys)} rows:",
        table_of(list(made_up(as_it_is.rows, share, max(draws // 5, 20), random))),
        "**Other tests** on bands of the same launches, with the same control of the family-wise error rate (Holm's method):",
        table_of(list(others(table, draws // 4, random))),
    ]


def of_looks_alike(pool: Path, draws: int) -> list[str]:
    series, _ = launches_in(pool)
    cases = cases_alike(
        series["table"], (series["turns-one"], series["turns-other"]), np.random.default_rng(2)
    )
    return [
        "**Launches until decided**, where nothing differs. *At any look* includes looks after the session would have stopped:",
        table_of(list(alike_until_decided(cases, draws // 2))),
    ]


def of_looks_slower(pool: Path, draws: int) -> list[str]:
    series, facts = launches_in(pool)
    turns = series["turns-as-it-is"], series["turns-slower"]
    neighbors = series["as-it-is"], series["slower"]
    share = facts["share"]
    cases = cases_slower(turns, neighbors, share, np.random.default_rng(4))
    return [
        f"**Launches until decided**, B {percent(share)} slower:",
        table_of(list(slower_until_decided(cases, draws // 4))),
    ]


def main(done: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pool", type=Path, default=POOL)
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    options = parser.parse_args()
    figures = report(options.pool, options.draws)
    done(figures)
    if options.write:
        options.write.write_text(written_into(options.write.read_text(), "figures", figures))


if __name__ == "__main__":
    main()
