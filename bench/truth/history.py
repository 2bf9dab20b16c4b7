"""Histories of nightly and hourly sessions of known truth, judged as `imb watch` and `imb baseline check` judge them.

A history has SERIES series (BENCHMARKS times BANDS); half of the variance of a session is common to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

import numpy as np
from imb.history.session_history import History, history, sessions_of
from imb.model.observations import Key, Launch, Side
from imb.model.records import End, Result, Run
from numpy.typing import NDArray
from scipy.special import betaincinv

Values = NDArray[np.float64]
Random = np.random.Generator
Noise = Callable[[Random, int], Values]

BENCHMARKS = ("PingPong", "Exchange", "Allreduce", "Bcast", "Alltoall")
BANDS = (8, 1024, 32768, 1 << 20)  # a length of each band
SERIES = len(BENCHMARKS) * len(BANDS)
SPREAD = 0.015  # standard deviation of a session
NIGHTS = 60
LASTS = 6  # sessions of a temporary slowdown
FIRST = datetime(2026, 1, 1, 2)
KEYS = [
    Key(
        component="MPI1",
        benchmark=name,
        mode=None,
        multi="off",
        group=None,
        processes=2,
        group_count=1,
        bytes=length,
    )
    for name in BENCHMARKS
    for length in BANDS
]


# --- Noise: logarithms of shape (sessions, SERIES) -------------------------------------------------------


def independent(random: Random, sessions: int) -> Values:
    common, own = random.normal(size=(sessions, 1)), random.normal(size=(sessions, SERIES))
    made: Values = SPREAD * np.sqrt(0.5) * (common + own)
    return made


def heavy_tails(random: Random, sessions: int) -> Values:
    """Student's t with three degrees of freedom, of the same standard deviation."""
    common, own = (random.standard_t(3, (sessions, width)) for width in (1, SERIES))
    made: Values = SPREAD * np.sqrt(0.5 / 3) * (common + own)
    return made


def outliers(random: Random, sessions: int) -> Values:
    """One session in twenty is slower, by eight standard deviations in the mean."""
    odd = random.random((sessions, 1)) < 0.05
    made: Values = independent(random, sessions) + SPREAD * odd * random.exponential(8, (sessions, 1))
    return made


def correlated(share: float) -> Noise:
    def made(random: Random, sessions: int) -> Values:
        values = independent(random, sessions)
        for session in range(1, sessions):
            values[session] *= np.sqrt(1 - share**2)
            values[session] += share * values[session - 1]
        return values

    return made


def drift(random: Random, sessions: int) -> Values:
    """10 % from the first session to the last."""
    return independent(random, sessions) + np.linspace(0, 0.1, sessions)[:, None]


def random_walk(random: Random, sessions: int) -> Values:
    made: Values = np.cumsum(independent(random, sessions), axis=0)
    return made


def gaps(random: Random, sessions: int) -> Values:
    """One figure in five is missing."""
    values = independent(random, sessions)
    values[random.random(values.shape) < 0.2] = np.nan
    return values


NOISE: dict[str, Noise] = {
    "independent": independent,
    "heavy tails": heavy_tails,
    "outliers, 5 % of sessions": outliers,
    "20 % missing": gaps,
    "correlation 0.5": correlated(0.5),
    "correlation 0.9": correlated(0.9),
    "drift of 10 %": drift,
    "random walk": random_walk,
}


# --- Through the public functions ------------------------------------------------------------------------


def launches_of(logs: Values, apart: timedelta = timedelta(days=1), name: str = "s") -> list[Launch]:
    """A launch a session, at so much from each other; the start varies by up to five minutes."""
    launches = []
    jitter = np.random.default_rng(len(logs)).integers(0, 300, len(logs))
    for number, figures in enumerate(logs):
        when = (FIRST + number * apart + timedelta(seconds=int(jitter[number]))).strftime(
            "%Y-%m-%dT%H:%M:%SZ"
        )
        rows = {
            key: Result(
                benchmark=key.benchmark, multi="off", processes=2, group_count=1, bytes=key.bytes,
                time_max_seconds=float(1e-5 * np.exp(figure)),
            )
            for key, figure in zip(KEYS, figures, strict=True)
            if np.isfinite(figure)
        }  # fmt: skip
        launches.append(
            Launch(
                name=f"{name}{number}", run=Run(program="OpenIMB", date=when), facts={"session": f"{name}{number}"},
                rows=rows, failures={}, end=End(state="complete"),
            )
        )  # fmt: skip
    return launches


def watched(logs: Values) -> History:
    return history(Side(name="nightly", launches=launches_of(logs)))


def steps_of(found: History) -> set[int]:
    return {event.session for event in found.events}


def names_a_temporary(found: History, begin: int) -> bool:
    """Whether a slowdown that begins there is reported, two sessions off at most, with its end."""
    return any(
        abs(event.session - begin) <= 2 and event.until is not None and abs(event.until - begin - LASTS) <= 2
        for event in found.events
    )


# --- Rates ---------------------------------------------------------------------------------------------


def rate(hits: Iterable[bool]) -> str:
    """`3.0 % (1.7 to 4.9)`: a share and its exact 95 % interval (Clopper and Pearson, Biometrika 26 (1934) 404)."""
    of = list(hits)
    count, yes = len(of), sum(of)
    low = float(betaincinv(yes, count - yes + 1, 0.025)) if yes else 0.0
    high = float(betaincinv(yes + 1, count - yes, 0.975)) if yes < count else 1.0
    return f"{100 * yes / count:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def table(rows: Iterable[Iterable[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * lines[0].count(" | ") + "---|")
    return "\n".join(lines)


def hourly(seed: int) -> Iterator[list[str]]:
    yield ["sessions that follow each other", "counted"]
    logs = independent(np.random.default_rng(seed), 500)
    for name, apart in (("hourly", 60), ("every two hours", 120), ("every 20 minutes", 20)):
        sessions, _ = sessions_of(launches_of(logs, timedelta(minutes=apart)))
        yield [f"500, {name}", str(len(sessions))]


def false_steps(draws: int, seed: int) -> Iterator[list[str]]:
    yield [
        "nights",
        "noise",
        "a step where there is none",
        "a note says that the rate does not hold",
        "step and no note",
    ]
    for nights in (NIGHTS, 20):
        for name, noise in NOISE.items():
            random = np.random.default_rng(seed)
            steps, noted = [], []
            for _ in range(draws):
                found = watched(noise(random, nights))
                steps.append(bool(found.events))
                noted.append(any("error rate" in note for note in found.notes))
            yield [
                str(nights),
                name,
                rate(steps),
                rate(noted),
                rate(s and not n for s, n in zip(steps, noted, strict=True)),
            ]


def true_steps(draws: int, seed: int) -> Iterator[list[str]]:
    """Of six of the series."""
    yield [
        "nights",
        "slower",
        "lasting, 5 nights old",
        "lasting, from the middle",
        f"{LASTS} nights in the middle, found",
        "exit 10",
    ]
    for nights in (NIGHTS, 30):
        for slower in (0.05, 0.1, 0.2, 0.5):
            random = np.random.default_rng(seed)
            recent, middle, temporary, status = [], [], [], []
            for _ in range(draws):
                logs = independent(random, nights)
                logs[-5:, :6] += np.log1p(slower)
                recent.append(any(abs(at - nights + 5) <= 2 for at in steps_of(watched(logs))))
                logs = independent(random, nights)
                begin = nights // 2
                logs[begin:, :6] += np.log1p(slower)
                middle.append(any(abs(at - begin) <= 2 for at in steps_of(watched(logs))))
                logs = independent(random, nights)
                logs[begin : begin + LASTS, :6] += np.log1p(slower)
                found = watched(logs)
                temporary.append(names_a_temporary(found, begin))
                status.append(found.verdict == "slower")
            yield [
                str(nights),
                f"{100 * slower:.0f} %",
                rate(recent),
                rate(middle),
                rate(temporary),
                rate(status),
            ]


def newest(draws: int, seed: int) -> Iterator[list[str]]:
    """The last night alone: nothing, or slower in six series."""
    sizes = (0.05, 0.1, 0.2, 0.5)
    yield [
        "earlier",
        "noise",
        "unchanged: named",
        "unchanged: exit 10",
        *(f"+{100 * one:.0f} %: exit 10" for one in sizes),
        "+50 % after one bad night",
    ]
    for earlier in (5, 8, 10, 30, NIGHTS):
        for name, noise in NOISE.items() if earlier in (10, NIGHTS) else [("independent", independent)]:
            random = np.random.default_rng(seed)
            named, alarm = [], []
            hits: dict[float, list[bool]] = {size: [] for size in (*sizes, -1)}
            for draw in range(draws):
                logs = noise(random, earlier + 1)
                found = watched(logs)
                named.append(bool(found.newest))
                alarm.append(found.verdict == "slower")
                if draw % 5 == 0:
                    for size in hits:
                        worse = logs.copy()
                        worse[-1, :6] += np.log1p(abs(size) if size > 0 else 0.5)
                        if size < 0:
                            worse[earlier // 2] += np.log1p(0.5)
                        hits[size].append(watched(worse).verdict == "slower")
            yield [str(earlier), name, rate(named), rate(alarm), *map(rate, hits.values())]


def hundred_nights(draws: int, seed: int) -> Iterator[list[str]]:
    """`imb watch` after each of a hundred nights; the history begins with ten."""
    yield [
        "noise",
        "nights with exit 10",
        "histories with such a night",
        "of these by the newest session alone",
    ]
    for name in ("independent", "heavy tails", "outliers, 5 % of sessions", "correlation 0.5"):
        random = np.random.default_rng(seed)
        nights, histories, alone = [], [], []
        for _ in range(draws):
            logs = NOISE[name](random, 110)
            launches = launches_of(logs)
            alarms, by_newest = [], []
            for night in range(11, 111):
                found = history(Side(name="nightly", launches=launches[:night]))
                alarms.append(found.verdict == "slower")
                by_newest.append(alarms[-1] and not found.events and not found.drifts)
            nights += alarms
            histories.append(any(alarms))
            alone.append(any(by_newest))
        yield [name, rate(nights), rate(histories), rate(alone)]


def report(draws: int, seed: int) -> str:
    """All tables, as Markdown."""
    parts = [
        ("Sessions", hourly(seed)),
        ("Steps where there are none", false_steps(draws, seed)),
        ("Steps and temporary slowdowns", true_steps(max(20, draws // 4), seed)),
        ("The newest night", newest(draws, seed)),
        ("A hundred nights", hundred_nights(max(10, draws // 20), seed)),
    ]
    return "\n\n".join(f"**{title}**\n\n{table(rows)}" for title, rows in parts)
