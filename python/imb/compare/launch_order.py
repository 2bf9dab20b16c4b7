"""Order of launches in time: interleaved, or all of one side before the other. Pure.

A drift of the machine affects both sides of interleaved launches alike. If all launches of A precede those of
B, a drift affects one side only, and the measurements cannot separate it from a difference between A and B.
"""

from __future__ import annotations

from imb.compare.pairing import session_of, start_time
from imb.model.observations import Launch, Side

INTERLEAVED = (
    0.2  # launches are interleaved if A came first in at least this share of all pairs, and B in as many
)


def share_before(a: Side, b: Side, *, one_session: bool) -> float | None:
    """The share of pairs (one launch of A, one of B, same session) in which the launch of A came first, or
    None if the order is unknown. Launches that began at the same time, or in the same round of a campaign,
    count as half."""
    shares = [_precedence(of_a, of_b, one_session=one_session) for of_a in a.launches for of_b in b.launches]
    known_shares = [share for share in shares if share is not None]
    return sum(known_shares) / len(known_shares) if known_shares else None


def _precedence(launch: Launch, other: Launch, *, one_session: bool) -> float | None:
    """1 if this launch preceded the other one, 0 if it followed, 0.5 if neither, or None if the order is
    unknown."""
    session = session_of(launch)
    if not one_session and session != session_of(other):
        return None
    turns = launch.facts.get("turn"), other.facts.get("turn")
    if session and session == session_of(other) and isinstance(turns[0], int) and isinstance(turns[1], int):
        return 0.5 * (1 + (turns[0] < turns[1]) - (turns[0] > turns[1]))
    first, second = start_time(launch), start_time(other)
    return 0.5 * (1 + (first < second) - (first > second)) if first and second else None


def order_problem(a: Side, b: Side, *, one_session: bool) -> str | None:
    """Why the order in time may look like a difference, or None if launches were interleaved or their order
    is unknown."""
    share = share_before(a, b, one_session=one_session)
    if share is None or INTERLEAVED <= share <= 1 - INTERLEAVED:
        return None
    first, second = (a, b) if share > 0.5 else (b, a)
    return (
        f"not interleaved: {'all' if share in (0, 1) else 'most'} launches of {first.letter} came before those of {second.letter}, so a drift of the"
        " machine looks like a difference"
    )
