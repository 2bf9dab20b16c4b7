"""Comparisons of launches of known truth, by the function that `imb compare` and `imb ab` use.

Logarithms of time. A launch has a level of its own (as far as rows are correlated), one of each band and one of each row. The
spread that a design states is that of a row, all three together. B differs from A in nothing, everywhere, in one band, in one row,
or is slower in one benchmark and faster in another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from math import log1p
from typing import NamedTuple

import msgspec
import numpy as np
from imb.compare.comparison import Comparison, compare
from imb.compare.effects import Effect
from imb.compare.repeat_choice import choose_repeats
from imb.compare.session_bound import session_bound_signs
from imb.model.observations import Key, Launch, Side
from imb.model.records import End, MachineState, Passes, Result, Run
from imb.model.repeats import split_repeats
from numpy.typing import NDArray
from scipy.special import betaincinv

Values = NDArray[np.float64]
Random = np.random.Generator
Noise = Callable[[Random, tuple[int, ...]], Values]

BENCHMARKS = ("PingPong", "Allreduce", "Bcast")
LENGTHS = (4, 16, 256, 1024, 4096, 16384, 131072, 524288, 4194304)
KEYS = [
    Key(component="MPI1", benchmark=name, mode=None, multi="off", group=None, processes=2, group_count=1, bytes=length)
    for name in BENCHMARKS
    for length in LENGTHS
]  # fmt: skip
PLACE = np.array(
    [4 * at + band for at in range(3) for band in (0, 0, 1, 1, 1, 2, 2, 3, 3)]
)  # band of each row
CHANGE = 0.05
STATES = 2.5  # times as long in the slow state
PROBE, PROBES = 1.6e-7, 0.05  # seconds of a probe, and its spread between launches of one state
DIFFERENT = ("slower", "faster", "differs")
ORDERED = datetime(2026, 1, 1)


def normal(random: Random, shape: tuple[int, ...]) -> Values:
    return random.normal(size=shape)


def heavy(random: Random, shape: tuple[int, ...]) -> Values:
    """Student's t with three degrees of freedom, of a standard deviation of 1."""
    found: Values = random.standard_t(3, shape) / np.sqrt(3)
    return found


def skewed(random: Random, shape: tuple[int, ...]) -> Values:
    """Exponential: launches are slower than usual, never much faster."""
    return random.exponential(size=shape) - 1


class Design(NamedTuple):
    """`a`, `b`: launches. `spread`: of each side. `common`: share of the variance that all rows of a launch have in common.
    `apart`: launches in passes see one state each, so a slow one has no figures of the fast state. `again`: a launch outside the dominant
    state is repeated, for at most this share of the launches; interleaved: with the one beside it.
    `missing`: share of rows that a launch lacks. `outliers`: share of launches that are twice as slow. `slow`: share of launches in
    the slow state; `passes`: figures are of the fast state, the share is of a launch's samples. `drift`: of the machine, per launch.
    `paired`: interleaved, in rounds of one session; else in one session in random order, or in this `order`."""

    name: str
    a: int = 10
    b: int = 10
    spread: tuple[float, float] = (0.02, 0.02)
    noise: Noise = normal
    common: float = 1 / 3
    missing: float = 0.0
    outliers: float = 0.0
    slow: tuple[float, float] = (0.0, 0.0)
    passes: bool = False
    drift: float = 0.0
    trend: float = 0.0
    paired: bool = False
    order: str = "random"
    tail: float | None = None
    session: float = 0.0
    apart: bool = False
    again: float = 0.0


QUIET = (0.01, 0.01)
DESIGNS = (
    *(Design(f"{n} against {n}", n, n) for n in (3, 5, 10, 20)),
    *(Design(f"{n} against {n}, quiet", n, n, QUIET) for n in (3, 5, 10)),
    Design("3 against 20", 3, 20),
    Design("5 against 20", 5, 20),
    Design("20 against 5", 20, 5),
    Design("10 against 10, B five times noisier", spread=(0.01, 0.05)),
    Design("10 against 10, B twice as noisy", spread=(0.01, 0.02)),
    Design("5 against 5, B five times noisier", 5, 5, (0.01, 0.05)),
    Design("5 against 20, A five times noisier", 5, 20, (0.05, 0.01)),
    Design("20 against 5, A five times noisier", 20, 5, (0.05, 0.01)),
    Design("5 pairs", 5, 5, QUIET, paired=True),
    Design("6 pairs", 6, 6, QUIET, paired=True),
    Design("10 pairs", paired=True),
    Design("10 pairs, drift of 2 % per launch", paired=True, drift=0.02),
    Design("10 pairs, heavy tails", noise=heavy, paired=True),
    Design("10 pairs, B five times noisier", spread=(0.01, 0.05), paired=True),
    Design("5 against 5, heavy tails", 5, 5, noise=heavy),
    Design("10 against 10, heavy tails", noise=heavy),
    Design("10 against 10, skewed", noise=skewed),
    Design("5 against 20, skewed", 5, 20, noise=skewed),
    Design("10 against 10, 5 % of launches twice as slow", outliers=0.05),
    Design("10 against 10, rows independent", common=0.0),
    Design("10 against 10, rows correlated by 0.9", common=0.9),
    Design("5 against 5, rows correlated by 0.9", 5, 5, common=0.9),
    Design("10 against 10, 20 % of rows missing", missing=0.2),
    Design("10 pairs, 20 % of rows missing", missing=0.2, paired=True),
    Design("10 against 10, half of launches in a slow state", slow=(0.5, 0.5)),
    Design("20 against 20, 30 % of launches in a slow state", 20, 20, slow=(0.3, 0.3)),
    Design("10 against 10, passes, 30 % of launches mostly slow", slow=(0.3, 0.3), passes=True),
    Design("10 of A before 10 of B, drift of 1 % per launch", drift=0.01, order="blocks"),
    Design("10 of A before 10 of B, trend of 0.5 % per launch", trend=0.005, order="blocks"),
    Design("5 of A before 5 of B, drift of 2 % per launch", 5, 5, drift=0.02, order="blocks"),
    Design("3 sessions of each, one of four 20 % slower", 15, 15, session=0.2),
    Design("5 sessions of each, one of four 20 % slower", 25, 25, session=0.2),
)  # fmt: skip
UNEQUAL_STATES = (
    Design("20 against 20, slow state: A 10 %, B 70 % of launches", 20, 20, slow=(0.1, 0.7)),
    Design("20 against 20, passes, mostly slow: A 10 %, B 70 %", 20, 20, slow=(0.1, 0.7), passes=True),
    Design("10 against 10, passes, mostly slow: A 10 %, B 70 %", 10, 10, slow=(0.1, 0.7), passes=True),
)
REPEATED = tuple(
    Design(
        f"10 {'pairs' if paired else 'against 10'}, 2.5 times as slow in {states[0]:.0%}"
        + (f" of A, {states[1]:.0%} of B" if states[0] != states[1] else "")
        + (f", up to {again:.0%} repeated" if again else ""),
        spread=QUIET, slow=states, passes=True, apart=True, paired=paired, again=again,
    )
    for paired in (False, True)
    for states in ((0.0, 0.0), (0.1, 0.1), (0.2, 0.2), (0.3, 0.3), (0.1, 0.5))
    for again in (0.0, 0.25)
)  # fmt: skip
TAILS = (
    Design("10 against 10, p99 three times as long", tail=3.0),
    Design("5 against 5, p99 three times as long", 5, 5, tail=3.0),
    Design("10 against 10, with p99, nothing differs", tail=1.0),
)


# How far sessions of one machine differ (logarithm), for the bound of imb.compare.session_bound.
SESSIONS: dict[str, Noise] = {
    "differ by 10 %": lambda random, shape: 0.1 * normal(random, shape),
    "differ by 30 %, heavy tails": lambda random, shape: 0.3 * heavy(random, shape),
    "a third in a state 2.5 times as slow": lambda random, shape: (
        np.log(STATES) * (random.random(shape) < 1 / 3)
    ),
    "a third of launches in a state 5 times as slow": lambda random, shape: 0.1 * normal(random, shape),
    "one of twenty 5 times as slow": lambda random, shape: np.log(5) * (random.random(shape) < 0.05),
}
SLOWER = (1.0, 2.0, 5.0, 10.0, 100.0)


class JudgedDraw(NamedTuple):
    """A comparison, and by how much B is slower in each row (logarithm)."""

    found: Comparison
    truth: Values


def truth_of(kind: str, change: float = CHANGE) -> Values:
    truth = np.zeros(len(KEYS))
    if kind == "all":
        truth[:] = log1p(change)
    elif kind == "band":
        truth[PLACE == 5] = log1p(change)
    elif kind == "row":
        truth[12] = log1p(change)
    elif kind == "mixed":
        truth[PLACE < 4], truth[PLACE >= 8] = log1p(change), -log1p(change)
    return truth


def drawn(design: Design, truth: Values, random: Random) -> tuple[Side, Side]:
    """Both sides."""
    if design.again:
        return repeated(design, truth, random)
    counts = design.a, design.b
    order = np.repeat([0, 1], counts)
    if design.paired:
        first = random.integers(0, 2, design.a)
        order = np.column_stack([first, 1 - first]).ravel()
    elif design.order == "random":
        order = random.permutation(order)
    wander = np.cumsum(random.normal(0, design.drift, len(order))) if design.drift else np.zeros(len(order))
    wander = wander + design.trend * np.arange(len(order))
    sides = []
    for side, count in enumerate(counts):
        own = (1 - design.common) / 2
        shares = np.sqrt([design.common, own, own]) * design.spread[side]
        logs = (
            shares[0] * design.noise(random, (count, 1))
            + shares[1] * design.noise(random, (count, int(PLACE.max()) + 1))[:, PLACE]
            + shares[2] * design.noise(random, (count, len(KEYS)))
        )
        logs += wander[order == side][:, np.newaxis]
        logs += np.log(2) * (random.random((count, 1)) < design.outliers)
        slow = random.random(count) < design.slow[side]
        if not design.passes:
            logs += np.log(STATES) * slow[:, np.newaxis]
        if design.session:
            level = design.session * (random.random(count // 5) < 0.25) + random.normal(0, 0.02, count // 5)
            logs += np.repeat(level, 5)[:, np.newaxis]
        logs += truth * side
        logs[random.random(logs.shape) < design.missing] = np.nan
        tail = random.normal(np.log(4), 0.05, logs.shape) + np.log(design.tail or 1) * side
        times = [ORDERED + timedelta(minutes=int(at)) for at in np.flatnonzero(order == side)]
        if design.session:
            times = [ORDERED + timedelta(days=at // 5 * 2 + side, minutes=at % 5) for at in range(count)]
        probes = np.exp(random.normal(0, PROBES, count)) if design.apart else np.ones(count)
        launches = [
            launch_of(
                design, "ab"[side], at, logs[at], bool(slow[at]), times[at], np.exp(logs[at] + tail[at]), float(probes[at])
            )
            for at in range(count)
        ]  # fmt: skip
        sides.append(Side(name="AB"[side], launches=launches))
    return sides[0], sides[1]


def repeated(design: Design, truth: Values, random: Random) -> tuple[Side, Side]:
    """Both sides, after `imb` has repeated what is outside the dominant state."""
    planned, again = (drawn(design._replace(again=0.0), truth, random) for _ in range(2))
    rounds = list(zip(*(side.launches for side in planned), strict=True))
    repeats = list(zip(*(side.launches for side in again), strict=True))
    each = range(len(rounds))
    orders = random.permuted(np.tile([0, 1], (len(rounds), 1)), axis=1).tolist()
    places = (
        [[(at, 0), (at, 1)] for at in each]
        if design.paired
        else [[(at, n)] for at in each for n in orders[at]]
    )
    found = choose_repeats(
        [[rounds[at][side] for at, side in of] for of in places],
        [one for of in rounds for one in of],
        int(design.again * 2 * len(rounds)),
    )
    chosen = [one for index in found for one in places[index]]
    sides = []
    for number, side in enumerate(planned):
        own = [named(one, at) for at, one in enumerate(side.launches)]
        own += [named(repeats[at][number], at + len(rounds), repeats=at) for at, of in chosen if of == number]
        judged, replaced = split_repeats(own)
        sides.append(Side(name=side.name, launches=judged, replaced=replaced))
    return sides[0], sides[1]


def named(one: Launch, number: int, **more: object) -> Launch:
    return msgspec.structs.replace(
        one,
        name=f"{one.name[0]}{number}",
        facts={**one.facts, "number": number, "outcome": "measured", **more},
    )


def launch_of(
    design: Design,
    side: str,
    number: int,
    logs: Values,
    slow: bool,
    time: datetime,
    tail: Values,
    probe: float,
) -> Launch:
    session = f"{side}{number // 5}" if design.session else "s"
    facts: dict[str, object] = {"session": session, "started": time.isoformat()}
    facts |= {"turn": number + 1, "cell": 0} if design.paired else {}
    rows = {}
    for key, value, longest in zip(KEYS, np.exp(logs) * 1e-5, tail * 1e-5, strict=True):
        if not np.isfinite(value):
            continue
        row = Result(
            benchmark=key.benchmark, multi="off", processes=2, group_count=1, bytes=key.bytes, time_max_seconds=float(value)
        )  # fmt: skip
        if design.tail:
            row.quantiles = {"p50": float(value), "p99": float(longest)}
        if design.passes:
            many = (10, 90) if slow else (95, 5)
            states = [
                MachineState(PROBE * probe, many[0], float(value)),
                MachineState(PROBE * probe * STATES, many[1], float(value * STATES)),
            ]
            if design.apart:
                states = [msgspec.structs.replace(states[slow], samples=100)]
                row.time_max_seconds = states[0].time_median_seconds
            row.passes = Passes(samples=100, used=states[0].samples, states=states)
        rows[key] = row
    return Launch(
        name=f"{side}{number}", run=Run(program="OpenIMB"), facts=facts, rows=rows, failures={}, end=End(state="complete")
    )  # fmt: skip


def judged(design: Design, kind: str, draws: int, seed: int, change: float = CHANGE) -> list[JudgedDraw]:
    """So many comparisons of a design."""
    random = np.random.default_rng([seed, *design.name.encode(), *kind.encode()])
    truth = truth_of(kind, change)
    return [JudgedDraw(compare(*drawn(design, truth, random)), truth) for _ in range(draws)]


def differs(effect: Effect) -> bool:
    return effect.verdict in DIFFERENT


def changed(one: JudgedDraw) -> bool:
    """Whether anything is called different."""
    effects = [*(x.effect for x in one.found.bands), *(x.effect for x in one.found.rows)]
    return one.found.verdict in (*DIFFERENT, "mixed") or any(map(differs, effects))


def rows_of(one: JudgedDraw) -> Iterator[tuple[Effect, float]]:
    truths = dict(zip(KEYS, one.truth, strict=True))
    for row in one.found.rows:
        if row.quantile is None:
            yield row.effect, truths[row.key]


def bands_of(one: JudgedDraw) -> Iterator[tuple[Effect, float]]:
    for band in one.found.bands:
        of = [
            t
            for key, t in zip(KEYS, one.truth, strict=True)
            if key.curve() == band.curve and band.band.has(key.bytes)
        ]
        yield band.effect, float(np.mean(of))


def rightly(effects: Sequence[tuple[Effect, float]]) -> tuple[int, int]:
    """Of those that differ: found in the right direction, and all."""
    true = [(effect, truth) for effect, truth in effects if truth]
    return sum(differs(effect) and (effect.speed < 1) == (truth > 0) for effect, truth in true), len(true)


def wrongly(one: JudgedDraw) -> bool:
    """Whether anything that does not differ is called different, or differs the other way."""
    return any(
        differs(effect) and (not truth or (effect.speed < 1) != (truth > 0))
        for effect, truth in (*rows_of(one), *bands_of(one))
    )


def rate(count: int, of: int) -> str:
    """`0.5 % (0.1 to 1.8)`, with an exact interval of 95 % (Clopper and Pearson, Biometrika 26 (1934) 404)."""
    if not of:
        return ""
    low = betaincinv(count, of - count + 1, 0.025) if count else 0.0
    high = betaincinv(count + 1, of - count, 0.975) if count < of else 1.0
    return f"{100 * count / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else ""


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])


def whole(found: Sequence[JudgedDraw]) -> str:
    counts = Counter(one.found.verdict for one in found)
    return ", ".join(f"{verdict} {share(count, len(found))}" for verdict, count in counts.most_common())


def beyond(noise: str, sessions: int, slower: float, draws: int, seed: int) -> int:
    """How many of so many comparisons of `sessions` with one, five launches each, have a band beyond the bound of sessions."""
    random = np.random.default_rng([seed, sessions, *noise.encode()])
    found = 0
    for _ in range(draws):
        logs = np.repeat(SESSIONS[noise](random, (sessions + 1, 1)), 5, axis=0) + random.normal(
            0, 0.02, (5 * sessions + 5, 12)
        )
        if "of launches" in noise:
            logs += np.log(5) * (random.random((len(logs), 1)) < 1 / 3)
        found += any(session_bound_signs(-logs[:-5], -logs[-5:] - np.log(slower)))
    return found


def bounds(draws: int, seed: int) -> list[list[str]]:
    """Of how many comparisons any of 12 bands is beyond the bound, by sessions, and by how much slower B is."""
    rows = [
        [
            "sessions",
            "against one",
            "nothing differs",
            *(f"{slower:g} times as slow" for slower in SLOWER[1:]),
        ]
    ]
    for noise in SESSIONS:
        for sessions in (1, 3):
            counts = [beyond(noise, sessions, slower, draws, seed) for slower in SLOWER]
            rows.append(
                [noise, str(sessions), rate(counts[0], draws), *(share(count, draws) for count in counts[1:])]
            )
    return rows


def report(draws: int, seed: int) -> str:
    """Every design with nothing, and those that can find anything with a change."""
    level: list[list[str]] = [["nothing differs", "anything called different (95 % interval)", "whole"]]
    power: list[list[str]] = [
        ["B 5 % slower everywhere", "bands found", "rows found", "anything wrong", "whole"]
    ]
    for design in DESIGNS:
        alike = judged(design, "none", draws, seed)
        level.append([design.name, rate(sum(map(changed, alike)), draws), whole(alike)])
        power.append([design.name, *found_in(judged(design, "all", max(draws // 4, 10), seed))])
    some: list[list[str]] = [["part of B", "design", "bands found", "rows found", "anything wrong", "whole"]]
    for kind, change in (("band", 0.05), ("row", 0.1), ("mixed", 0.05), ("band", 0.5), ("mixed", 0.5)):
        for design in (Design("10 against 10, quiet", spread=QUIET), Design("10 pairs, quiet", spread=QUIET, paired=True)):  # fmt: skip
            found = judged(design, kind, max(draws // 2, 10), seed, change)
            some.append([f"{kind}, {change:.0%}", design.name, *found_in(found)])
    other: list[list[str]] = [["design", "whole", "anything called different"]]
    for design in (*UNEQUAL_STATES, *TAILS):
        found = judged(design, "none", max(draws // 4, 10), seed)
        other.append([design.name, whole(found), rate(sum(map(changed, found)), len(found))])
    margin: list[list[str]] = [["B slower by", "10 pairs, quiet: bands", "whole"]]
    for change in (0.02, 0.04, 0.05, 0.06, 0.08):
        found = judged(
            Design("10 pairs, quiet", spread=QUIET, paired=True), "all", max(draws // 4, 10), seed, change
        )
        bands = Counter(band.effect.verdict for one in found for band in one.found.bands)
        total = sum(bands.values())
        margin.append([f"{change:.0%}", ", ".join(f"{v} {share(c, total)}" for v, c in bands.most_common()), whole(found)])  # fmt: skip
    again = [["states", "nothing differs, anything called different", "whole", "B 5 % slower: bands found", "rows found", "anything wrong", "whole"]]  # fmt: skip
    for design in REPEATED:
        alike = judged(design, "none", draws, seed)
        power_of = found_in(judged(design, "all", draws, seed))
        again.append([design.name, rate(sum(map(changed, alike)), draws), whole(alike), *power_of])
    return "\n\n".join(map(table, (level, power, some, other, margin, again, bounds(10 * draws, seed))))


def found_in(found: Sequence[JudgedDraw]) -> list[str]:
    bands, rows = ([rightly(list(of(one))) for one in found] for of in (bands_of, rows_of))
    return [
        share(*np.sum(bands, axis=0)),
        share(*np.sum(rows, axis=0)),
        rate(sum(map(wrongly, found)), len(found)),
        whole(found),
    ]
