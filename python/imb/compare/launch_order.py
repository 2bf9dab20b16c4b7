"""Whether launches of both sides were interleaved, or all of one side measured before the other. Pure.

A machine that drifts makes a difference out of an order. Interleaved launches have it on both sides. Launches of A that all precede
those of B have it on one, and nothing in their figures separates it from a difference between A and B.
"""

from __future__ import annotations

from imb.compare.pairing import session_of, start_time
from imb.model.observations import Launch, Side

INTERLEAVED = 0.2  # launches are interleaved if the launch of A came first in at least this share of the pairs, and last in as many


def share_before(a: Side, b: Side, *, one_session: bool) -> float | None:
    """Of all launches of A and B in the same session, the share of pairs in which that of A was first; launches of the same
    moment, and of the same round of a campaign, count half. None: the order is not known."""
    shares = [_precedence(of_a, of_b, one_session=one_session) for of_a in a.launches for of_b in b.launches]
    known_shares = [share for share in shares if share is not None]
    return sum(known_shares) / len(known_shares) if known_shares else None


def _precedence(launch: Launch, other: Launch, *, one_session: bool) -> float | None:
    """1 where this launch preceded the other one, 0 where it followed, or None if it is not known."""
    session = session_of(launch)
    if not one_session and session != session_of(other):
        return None
    turns = launch.facts.get("turn"), other.facts.get("turn")
    if session and session == session_of(other) and isinstance(turns[0], int) and isinstance(turns[1], int):
        return 0.5 * (1 + (turns[0] < turns[1]) - (turns[0] > turns[1]))
    first, second = start_time(launch), start_time(other)
    return 0.5 * (1 + (first < second) - (first > second)) if first and second else None


def order_problem(a: Side, b: Side, *, one_session: bool) -> str | None:
    """Why an order in time may look like a difference; None where launches were interleaved, or their order is not known."""
    share = share_before(a, b, one_session=one_session)
    if share is None or INTERLEAVED <= share <= 1 - INTERLEAVED:
        return None
    first, second = (a, b) if share > 0.5 else (b, a)
    return (
        f"not interleaved: {'all' if share in (0, 1) else 'most'} launches of {first.letter} came before those of {second.letter}, so a drift of the"
        " machine looks like a difference"
    )
