"""Whether launches of both sides were interleaved, or all of one side measured before the other. Pure.

A machine that drifts makes a difference out of an order. Interleaved launches have it on both sides. Launches of A that all precede
those of B have it on one, and nothing in their figures separates it from a difference between A and B.
"""

from __future__ import annotations

from collections.abc import Iterator

from imb.judge.pairing import began, session_of
from imb.model.observations import Launch, Side

APART = 0.2  # share of the pairs in which the launch of A came first (or last), below which launches were not interleaved


def share_before(a: Side, b: Side, *, one_session: bool) -> float | None:
    """Of all launches of A and B in the same session, the share of pairs in which that of A was first; launches of the same
    moment, and of the same round of a campaign, count half. None: the order is not known."""
    shares = [
        0.5 if first == second else float(first < second)
        for one in a.launches
        for other in b.launches
        for first, second in _places(one, other, one_session)
    ]
    return sum(shares) / len(shares) if shares else None


def _places(one: Launch, other: Launch, one_session: bool) -> Iterator[tuple[object, object]]:
    """Where both were in the order of time, comparable with each other; nothing where that is not known."""
    same = one_session or session_of(one) == session_of(other)
    if not same:
        return
    turns = one.facts.get("turn"), other.facts.get("turn")
    if session_of(one) and session_of(one) == session_of(other) and all(isinstance(x, int) for x in turns):
        yield turns
    elif (first := began(one)) and (second := began(other)):
        yield first, second


def not_interleaved(a: Side, b: Side, *, one_session: bool) -> str | None:
    """Why an order in time may look like a difference; None where launches were interleaved, or their order is not known."""
    share = share_before(a, b, one_session=one_session)
    if share is None or APART <= share <= 1 - APART:
        return None
    first, second = (a, b) if share > 0.5 else (b, a)
    return (
        f"not interleaved: {'all' if share in (0, 1) else 'most'} launches of {first.letter} came before those of {second.letter}, so a drift of the"
        " machine looks like a difference; measure them interleaved (imb ab, imb campaign)"
    )
