"""How launches of two sides belong together: as pairs of one session, by session, or not at all. Pure.

A session is what one command of `imb` launched: on one day, after one boot, in one allocation. A log with a
date is also a session. All launches of a session share what differs between sessions (pages, neighbors,
temperature, other users). So the spread of launches alone never judges launches of different sessions.

- Launches with two variants of -alternate are pairs: each launch is on both sides.
- Launches of the same round and session that measured the same cell are pairs: the effect of their session
  cancels in the difference.
- Other launches of the same sessions are compared as launches.
- Sessions of a side that began within SESSIONS_APART of the first of them count as one, because they share what
  differs between hours and days. The time counts from the first launch, not from the session before, so that
  hourly sessions do not merge in a chain.
- If each side has several sessions and they share none, a session counts as one observation: its mean over
  launches. For equal numbers of launches this is the F test of nested random effects (Searle, Casella and
  McCulloch, Variance Components, 1992, section 3.6).
- Otherwise it is unknown how much sessions differ, and the comparison is inconclusive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from imb.model.observations import Launch, Side, are_interleaved
from imb.model.repeats import is_repeat
from imb.model.session_spacing import SESSIONS_APART
from imb.model.units import count_of
from imb.stats.shift import FEWEST

Unit: TypeAlias = Literal["pair", "launch", "session"]

FEWEST_PAIRS = 6  # with fewer pairs, the lost degrees of freedom cost more than pairing gains
ASSUME = "if all were launched in one session, give --assume-one-session"
NAMED = 3  # lost pairs that a note names


class LaunchPlace(NamedTuple):
    """The place of a launch in a plan: session, round (the fact `turn`) and measured cell. `repeat`: the
    launch was interleaved with a repeat, not with the first launch of the plan."""

    session: str
    turn: int
    cell: Hashable
    repeat: bool = False


class Design(NamedTuple):
    """How two sides are judged. `a`, `b`: only the launches that count; pairs have the same index.
    `sessions`: each launch's session number, for both sides, if `unit` is the session. `inconclusive`: why no
    verdict is possible, or None; `remedy`: what would permit one."""

    a: Side
    b: Side
    unit: Unit
    sessions: tuple[list[int], list[int]] | None = None
    inconclusive: str | None = None
    remedy: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_paired(self) -> bool:
        """Whether launches are judged in pairs."""
        return self.unit == "pair"


def session_of(launch: Launch) -> str | None:
    """The session of a launch. A launch from elsewhere, such as a log, is a session by itself if its date is
    known. None if neither is known."""
    session = launch.facts.get("session")
    if isinstance(session, str):
        return session
    return launch.name if start_time(launch) else None


def date_of(launch: Launch) -> str | None:
    """When a launch began, from its records or its launcher, or None if it is unknown."""
    started = launch.facts.get("started")
    return launch.run.date or (started if isinstance(started, str) else None)


def start_time(launch: Launch) -> datetime | None:
    """When a launch began, without a time zone, or None if it is unknown. Logs have local time, records UTC;
    this is exact enough for the order of sessions."""
    with suppress(ValueError):
        return datetime.fromisoformat(date_of(launch) or "").replace(tzinfo=None)
    return None


def known_sessions(side: Side) -> list[str]:
    """The distinct known sessions of a side."""
    return list(dict.fromkeys(filter(None, map(session_of, side.launches))))


def separate_sessions(side: Side) -> list[str]:
    """The distinct known sessions of a side; of sessions that count as one, only the first."""
    return list(dict.fromkeys(filter(None, counted_sessions(side))))


def counted_sessions(side: Side) -> list[str | None]:
    """For each launch, the session that it counts for: the first of the sessions that began within SESSIONS_APART.
    None if its session is unknown."""
    times: dict[str, datetime] = {}
    for launch in side.launches:
        if (session := session_of(launch)) and (when := start_time(launch)):
            times[session] = min(when, times.get(session, when))
    firsts = firsts_within_reach(times)
    sessions = map(session_of, side.launches)
    return [firsts.get(session, session) if session else None for session in sessions]


def firsts_within_reach(times: Mapping[str, datetime]) -> dict[str, str]:
    """For each session, the session that it counts for. `times`: when each session's first launch began. A
    session that begins less than SESSIONS_APART after a session that counts belongs to it; otherwise it counts itself.
    Later sessions do not move this limit."""
    firsts: dict[str, str] = {}
    first = None
    for session in sorted(times, key=lambda name: times[name]):
        if first is None or times[session] - times[first] >= SESSIONS_APART:
            first = session
        firsts[session] = first
    return firsts


def fewest_pairs(a: Side, b: Side) -> int:
    """The number of pairs of one cell from which launches are judged in pairs."""
    return FEWEST if are_interleaved(a, b) or share_launches(a, b) else FEWEST_PAIRS


def share_launches(a: Side, b: Side) -> bool:
    """Whether the sides are two variants of -alternate in the same launches. Their samples alternate, so each
    launch is a pair."""
    labels = {launch.name: launch.run.variants for launch in a.launches if launch.run.variants}
    return any(labels.get(launch.name, launch.run.variants) != launch.run.variants for launch in b.launches)


def design_of(a: Side, b: Side, *, assume_one_session: bool = False) -> Design:
    """How to judge these sides. `assume_one_session`: the user states that all launches belong to one
    session."""
    if paired := _design_of_pairs(a, b):
        return paired
    if assume_one_session:
        days = sorted({date[:10] for side in (a, b) for launch in side.launches if (date := date_of(launch))})
        note = "all launches are assumed to belong to one session (--assume-one-session)"
        if len(days) > 1:
            note += f", although they were measured on {len(days)} days ({days[0]} to {days[-1]}): days may differ by more than launches"
        return Design(a, b, "launch", notes=(note,))
    unknown = [sum(session_of(launch) is None for launch in side.launches) for side in (a, b)]
    if any(unknown):
        return Design(
            a,
            b,
            "launch",
            inconclusive=_unknown_session_reason(a, b, unknown),
            remedy=f"measure {a.letter} and {b.letter} interleaved (imb ab), or, {ASSUME}",
        )
    sessions = [set(map(session_of, side.launches)) for side in (a, b)]
    counts = [Counter(counted_sessions(side)) for side in (a, b)]
    if counts[0].keys() == counts[1].keys() and (len(counts[0]) == 1 or counts[0] == counts[1]):
        return Design(a, b, "launch")
    of_a, of_b = map(len, counts)
    near = (
        f"; those that began within {SESSIONS_APART.seconds // 60} minutes of the first count as one"
        if of_a + of_b < sum(map(len, sessions))
        else ""
    )
    recorded = all("session" in launch.facts for side in (a, b) for launch in side.launches)
    assumed = "" if recorded else f"; {ASSUME}"
    if min(of_a, of_b) < 2 or sessions[0] & sessions[1]:
        return Design(
            a,
            b,
            "launch",
            inconclusive=(
                f"{a.letter} and {b.letter} were measured in different sessions ({of_a} and {of_b}{near}), and launches do not show how far"
                " sessions differ"
            ),
            remedy=f"measure {a.letter} and {b.letter} interleaved (imb ab, imb campaign), or in {FEWEST} sessions or more each{assumed}",
        )
    few = min(of_a, of_b) < FEWEST
    return Design(
        a,
        b,
        "session",
        sessions=(_numbers(a), _numbers(b)),
        inconclusive=(
            f"{a.letter} has {count_of(of_a, 'session')} and {b.letter} {of_b}{near and f' ({near[2:]})'}; a verdict between sessions needs {FEWEST} of each"
            if few
            else None
        ),
        remedy=f"measure more sessions, or {a.letter} and {b.letter} interleaved (imb ab, imb campaign){assumed}"
        if few
        else "",
    )


def _unknown_session_reason(a: Side, b: Side, unknown: Sequence[int]) -> str:
    counts = " and ".join(
        f"{count_of(many, 'launch')} of {side.letter}"
        for side, many in zip((a, b), unknown, strict=True)
        if many
    )
    return (
        f"unknown session of {counts} (logs without a date), and sessions differ by more than their launches"
    )


def _numbers(side: Side) -> list[int]:
    order = {session: number for number, session in enumerate(separate_sessions(side))}
    return [order[session or ""] for session in counted_sessions(side)]


def _design_of_pairs(a: Side, b: Side) -> Design | None:
    """The design with the pairs of both sides, in the order of A, or None if there are too few pairs."""
    places = (_launches(a), _launches(b)) if share_launches(a, b) else (_places(a), _places(b))
    common = [place for place in places[0] if place in places[1]]
    if max(Counter(place.cell for place in common).values(), default=0) < fewest_pairs(a, b):
        return None
    return Design(
        msgspec.structs.replace(a, launches=[places[0][place] for place in common]),
        msgspec.structs.replace(b, launches=[places[1][place] for place in common]),
        "pair",
        notes=tuple(_lost_pairs(a, b, places, common)),
    )


def _launches(side: Side) -> dict[LaunchPlace, Launch]:
    """Launches with rows, each at its own place."""
    return {LaunchPlace(launch.name, 0, _cell_of(launch)): launch for launch in side.launches if launch.rows}


def _cell_of(launch: Launch) -> Hashable:
    cell = launch.facts.get("cell")
    return cell if isinstance(cell, int) else launch.experiment()


def _places(side: Side) -> dict[LaunchPlace, Launch]:
    """Launches with rows, by place. Places with several launches are left out."""
    by_place: dict[LaunchPlace, list[Launch]] = {}
    parts = are_interleaved(side)
    for launch in side.launches:
        session, turn = session_of(launch), launch.facts.get("turn")
        if session is not None and isinstance(turn, int) and launch.rows:
            place = LaunchPlace(session, turn, _cell_of(launch), parts and is_repeat(launch))
            by_place.setdefault(place, []).append(launch)
    return {place: launches[0] for place, launches in by_place.items() if len(launches) == 1}


def _lost_pairs(
    a: Side,
    b: Side,
    places: tuple[dict[LaunchPlace, Launch], dict[LaunchPlace, Launch]],
    common: Sequence[LaunchPlace],
) -> Iterable[str]:
    """Yield notes on launches that are not judged because their partner is missing."""
    shared = {place.session for place in common}
    alone = [
        (side, place)
        for side, of_side, of_other in ((b, places[0], places[1]), (a, places[1], places[0]))
        for place in of_side
        if place.session in shared and place not in of_other
    ]
    if alone:
        why = [_lost_pair_reason(side, place) for side, place in alone[:NAMED]]
        more = "; ..." if len(alone) > NAMED else ""
        yield (
            f"{len(alone)} of {count_of(len(common) + len(alone), 'pair')} lost: {'; '.join(why)}{more};"
            " the other launch of the pair is not judged"
        )
    for side, of_side in ((a, places[0]), (b, places[1])):
        judged = {launch.name for launch in of_side.values()}
        rest = sum(launch.name not in judged for launch in side.launches if launch.rows)
        rest += sum(place.session not in shared for place in of_side)
        if rest:
            yield f"{count_of(rest, 'launch')} of {side.letter} without a partner in the same round of a session; not judged"


def _lost_pair_reason(side: Side, place: LaunchPlace) -> str:
    for launch in side.launches:
        same = session_of(launch) == place.session and launch.facts.get("turn") == place.turn
        if same and not launch.rows and launch.facts.get("cell") in (place.cell, None):
            return f"launch {launch.facts.get('number', launch.name)} of {side.letter} failed"
    return f"{side.letter} has no launch of round {place.turn} (failed or removed)"
