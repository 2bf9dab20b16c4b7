"""Verdicts between sessions and under drift: made launches of a stated model, and recorded ones, through `compare`.

The model, on the logarithmic scale of time: a level of the session (days, boots), common to all rows, plus one of each band
half as large; a random walk within the session; a level of each launch by band; noise of each row half as large as that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from imb.compare.comparison import CompareSettings, Comparison, compare
from imb.compare.effects import Effect
from imb.model.observations import Key, Launch, Side
from imb.model.records import End, Result, Run
from msgspec.structs import replace
from numpy.typing import NDArray

Values = NDArray[np.float64]
Random = np.random.Generator
ALONE = CompareSettings(
    assume_one_session=True, assume_stable=True
)  # what launches alone say: the rule that is not used


class Model(NamedTuple):
    """Standard deviations of the logarithm. `levels` draws levels of sessions with a standard deviation of 1."""

    between: float
    launch: float = 0.01
    drift: float = 0.0
    levels: Callable[[Random, tuple[int, ...]], Values] = lambda random, shape: random.normal(size=shape)


def heavy(random: Random, shape: tuple[int, ...]) -> Values:
    """Student's t with three degrees of freedom."""
    found: Values = random.standard_t(3, shape) / np.sqrt(3)
    return found


def two_kinds(random: Random, shape: tuple[int, ...]) -> Values:
    """One session of four is slower; the others are alike."""
    found: Values = (random.random(shape) < 0.25) / np.sqrt(0.25 * 0.75)
    return found


def session(model: Model, launches: int, place: NDArray[np.int64], random: Random) -> Values:
    """Launches of one session, shape (launches, rows). `place`: the band of each row."""
    bands = int(place.max()) + 1
    level = model.between * (model.levels(random, (1,)) + 0.5 * model.levels(random, (bands,))[place])
    walk = np.cumsum(random.normal(0, model.drift, (launches, 1)), axis=0)
    own: Values = random.normal(0, model.launch, (launches, bands))[:, place]
    found: Values = level + walk + own + random.normal(0, model.launch / 2, (launches, len(place)))
    return found


def side_of(keys: list[Key], logs: Values, sessions: list[str], turns: list[int] | None, name: str) -> Side:
    """Launches with these logarithms of time."""
    launches = []
    for number, (times, of) in enumerate(zip(np.exp(logs) * 1e-5, sessions, strict=True)):
        rows = {
            key: Result(
                benchmark=key.benchmark, multi="off", processes=2, group_count=1, bytes=key.bytes,
                time_max_seconds=float(seconds),
            )
            for key, seconds in zip(keys, times, strict=True)
        }  # fmt: skip
        facts: dict[str, object] = {"session": of}
        if turns:
            facts |= {"turn": turns[number], "cell": 0}
        launches.append(
            Launch(
                name=f"{name}{number}", run=Run(program="OpenIMB"), facts=facts, rows=rows, failures={},
                end=End(state="complete"),
            )
        )  # fmt: skip
    return Side(name=name, launches=launches)


def of_sessions(
    keys: list[Key],
    place: NDArray[np.int64],
    model: Model,
    count: int,
    name: str,
    random: Random,
    slower: float,
) -> Side:
    """Five launches of each of so many sessions."""
    logs = np.vstack([session(model, 5, place, random) for _ in range(count)]) + np.log1p(slower)
    return side_of(keys, logs, [f"{name}{number // 5}" for number in range(len(logs))], None, name)


def interleaved(
    keys: list[Key],
    place: NDArray[np.int64],
    model: Model,
    count: int,
    random: Random,
    slower: float | Values,
) -> tuple[Side, Side]:
    """So many pairs of one session, in random order within a pair. `slower`: B than A, of all rows or of each."""
    logs = session(model, 2 * count, place, random)
    first = random.integers(0, 2, count)
    turns = list(range(1, count + 1))
    at = np.arange(count) * 2
    a, b = logs[at + first], logs[at + 1 - first] + np.log1p(slower)
    return (
        side_of(keys, a, ["s"] * count, turns, "a"),
        side_of(keys, b, ["s"] * count, turns, "b"),
    )


def differs(effect: Effect) -> bool:
    return effect.verdict in ("slower", "faster", "differs")


def changed(found: Comparison) -> bool:
    """Whether anything is called different."""
    effects = [*(one.effect for one in found.bands), *(one.effect for one in found.rows)]
    return any(map(differs, effects))


def found_slower(found: Comparison) -> float:
    """The share of bands that are found to be slower."""
    return float(np.mean([differs(one.effect) and one.effect.speed < 1 for one in found.bands]))


def percent(share: float | np.floating) -> str:
    return f"{share * 100:.1f} %".replace(".0 %", " %")


KINDS = (
    ("1 of each, 10 launches", 0),
    ("3 of each", 3),
    ("5 of each", 5),
    ("10 of each", 10),
)
MODELS = (
    ("sessions differ by 2 %", Model(0.02)),
    ("sessions differ by 5 %", Model(0.05)),
    ("sessions differ by 10 %, heavy tails", Model(0.10, levels=heavy)),
    ("one session of four 20 % slower", Model(0.0866, levels=two_kinds)),
)


def alike(keys: list[Key], place: NDArray[np.int64], draws: int, random: Random) -> Iterator[list[str]]:
    """Two identical campaigns in sessions of their own."""
    yield ["sessions", "model", "comparisons", "by launches alone: changed", "imb compare: changed", "same"]
    for name, model in MODELS:
        for kind, count in KINDS:
            by_launches, by_sessions, same = [], [], []
            for _ in range(draws):
                if count:
                    a, b = (of_sessions(keys, place, model, count, side, random, 0.0) for side in "ab")
                else:
                    a, b = (
                        side_of(keys, session(model, 10, place, random), [side] * 10, None, side)
                        for side in "ab"
                    )
                found = compare(a, b)
                by_launches.append(changed(compare(a, b, ALONE)))
                by_sessions.append(changed(found))
                same.append(found.verdict == "same")
            yield [kind, name, str(draws), *(percent(np.mean(x)) for x in (by_launches, by_sessions, same))]


def slower_by_sessions(
    keys: list[Key], place: NDArray[np.int64], share: float, draws: int, random: Random
) -> Iterator[list[str]]:
    """B slower, in sessions of its own."""
    yield ["sessions of each", *(f"sessions differ by {percent(between)}" for between in (0.005, 0.01, 0.02))]
    for count in (3, 5, 10):
        shares = []
        for between in (0.005, 0.01, 0.02):
            model = Model(between)
            found = [
                compare(
                    of_sessions(keys, place, model, count, "a", random, 0.0),
                    of_sessions(keys, place, model, count, "b", random, share),
                )
                for _ in range(draws)
            ]
            shares.append(percent(np.mean([found_slower(one) for one in found])))
        yield [str(count), *shares]


def in_pairs(
    keys: list[Key], place: NDArray[np.int64], share: float, draws: int, random: Random
) -> Iterator[list[str]]:
    """Interleaved launches of one session on a machine whose speed wanders."""
    yield [
        "pairs",
        "launches differ by",
        "speed wanders, per launch",
        "comparisons",
        "identical: changed",
        f"{percent(share)} slower: bands found",
        "of these called slower at --relevant 2%",
    ]
    for count, launch, drift in ((10, 0.01, 0.0), (10, 0.01, 0.01), (10, 0.01, 0.02), (20, 0.02, 0.02)):
        model = Model(0.05, launch, drift)
        false, found, beyond = [], [], []
        for _ in range(draws):
            false.append(changed(compare(*interleaved(keys, place, model, count, random, 0.0))))
            one = compare(*interleaved(keys, place, model, count, random, share))
            found.append(found_slower(one))
            strict = compare(
                *interleaved(keys, place, model, count, random, share), CompareSettings(relevant=0.02)
            )
            beyond.append(np.mean([x.effect.verdict == "slower" for x in strict.bands]))
        yield [
            str(count), percent(launch), percent(drift), str(draws), percent(np.mean(false)),
            percent(np.mean(found)), percent(np.mean(beyond)),
        ]  # fmt: skip


def unchanged_among_changed(
    keys: list[Key], place: NDArray[np.int64], draws: int, random: Random
) -> Iterator[list[str]]:
    """Half of the bands are slower: is any of the others called different?"""
    yield ["half of the bands slower by", "judged", "comparisons", "any other band called different"]
    changed_row = place % 2 == 1
    for share in (0.05, 0.5, 4.0):
        for in_turns in (True, False):
            false = []
            for _ in range(draws):
                a, b = interleaved(keys, place, Model(0.05), 10, random, changed_row * share)
                if not in_turns:
                    a, b = (
                        replace(
                            one, launches=[replace(launch, facts={"session": "s"}) for launch in one.launches]
                        )
                        for one in (a, b)
                    )
                found = compare(a, b)
                untouched = [
                    one
                    for one in found.bands
                    if not any(
                        key.curve() == one.curve and one.band.has(key.bytes)
                        for key, is_so in zip(keys, changed_row, strict=True)
                        if is_so
                    )
                ]
                false.append(any(differs(one.effect) for one in untouched))
            how = "pair by pair" if in_turns else "by launches"
            yield [percent(share), how, str(draws), percent(np.mean(false))]


def recorded(keys: list[Key], logs: Values) -> Iterator[list[str]]:
    """Recorded launches (logarithms of speed) in the order of time, cut into sessions."""
    yield ["recorded launches", "comparisons", "by launches alone: changed", "imb compare: changed"]
    for name, count, size in (
        ("10 before 10, a session each", 1, 10),
        ("15 before 15, 3 sessions each", 3, 5),
    ):
        many = count * size
        alone, by_sessions = [], []
        for begin in range(len(logs) - 2 * many + 1):
            part = -logs[begin : begin + 2 * many]
            a, b = (
                side_of(keys, half, [f"{side}{number // size}" for number in range(many)], None, side)
                for side, half in (("a", part[:many]), ("b", part[many:]))
            )
            alone.append(changed(compare(a, b, ALONE)))
            by_sessions.append(changed(compare(a, b)))
        yield [name, str(len(alone)), percent(np.mean(alone)), percent(np.mean(by_sessions))]
