"""The history of launches: on the terminal, and as the parts of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from imb.judge.compare import Band
from imb.judge.history import AFTER, BLIND, Change, ChangePoint, History, Newest
from imb.judge.prediction import LEVEL
from imb.model.observations import Key
from imb.model.units import as_percent, counted
from imb.render.history import without_changes
from imb.render.marks import apart, short

MOST = 8  # changes of one session on the terminal; the other formats have all


def history_text(found: History) -> str:
    """A line on the sessions, a block per session with a change, the smallest step that would be found."""
    lines = [f"{found.name}: {about(found)}"]
    since = found.settings.since
    past = [event for event in found.events if event.until is not None]
    news = [event for event in found.events if event.until is None and event.date >= (since or "")]
    earlier = [event for event in found.events if event.until is None and event.date < (since or "")]
    lines += _blocks(news, found)
    if found.drifts:
        lines += ["", "drift over the whole history, no step"]
        lines += [f"  {_series(one)}: {change_amount(one)}" for one in found.drifts]
    lines += ["", *(f"note: {note}" for note in found.notes)] if found.notes else []
    if found.newest:
        lines += ["", f"newest session: {newest_amount(found)}; measure again"]
    if since and not news and not found.verdict.startswith("too "):
        lines += ["", f"no step since {since}{'; earlier:' if earlier else ''}"]
    elif earlier:
        lines += ["", f"before {since}:"]
    elif found.verdict == "no change":
        lines.append("no step that lasts" if past else "no step found")
    lines += _blocks(earlier, found)
    if past:
        lines += ["", "past:", *_blocks(past, found)]
    if found.detectable is not None and found.detectable <= BLIND:
        lines += [""] if earlier or past else []
        lines.append(
            f"steps below {as_percent(found.detectable, 1)} may be missed (five sessions after them, median series, power 95 %)"
        )
    if found.limit is not None and found.limit <= BLIND:
        lines.append(
            f"changes of a single session below {as_percent(found.limit, 1)} may be missed (median series; false alarms: at most 1"
            f" check in {round(1 / LEVEL)}, or 1 in 10 histories of 100 nights)"
        )
    return "".join(_printable(line) + "\n" for line in lines)


def _blocks(events: Sequence[ChangePoint], found: History) -> list[str]:
    lines = []
    for event in events:
        lines += ["", f"{_what(event)} from {_where(event)}{_end(event, found)}"]
        lines += [f"  {_series(one)}: {change_amount(one)}" for one in event.changes[:MOST]]
        if len(event.changes) > MOST:
            lines.append(f"  and {len(event.changes) - MOST} more: --format json")
        lines.append(f"  {_conditions(event)}")
    return lines


def newest_amount(found: History) -> str:
    """Of the series that is off most, in words: `46 % slower in Scatter, 8 ranks, 64-4K bytes and 17 more series than ...`."""
    first, *rest = found.newest
    word, size, *_ = apart(first.speed, None, None)
    more = f" and {len(rest)} more series" if rest else ""
    text = (
        f"{as_percent(size, 1)} {word} in {_series(first)}{more} than {first.earlier} earlier sessions;"
        f" normal range ±{as_percent(first.limit, 1)} (1 check in {round(1 / LEVEL)} is outside)"
    )
    last = len(found.sessions) - 1
    if first.since == last:
        return text
    text += f"; {word} since {found.sessions[first.since].date[:10]} ({last - first.since + 1} sessions)"
    if found.detectable is not None and size >= found.detectable:
        text += f", a step of this size is usually found within {AFTER} sessions"
    return text


def about(found: History) -> str:
    """`40 sessions from 2026-10-01 to 2026-11-09, 57 series (curve and size band)`."""
    dates = f" from {found.sessions[0].date[:10]} to {found.sessions[-1].date[:10]}" if found.sessions else ""
    return (
        f"{counted(len(found.sessions), 'session')}{dates}, {len(found.series)} series (curve and size band)"
    )


def change_amount(change: Change) -> str:
    """`12.3 % slower (95 % CI 9.8 to 14.9 %)`; slower is more time, or less bandwidth."""
    word, size, low, high = apart(change.speed, change.low, change.high)
    return f"{100 * size:.1f} % {word} (95 % CI {100 * low:.1f} to {100 * high:.1f} %)"


def findings(found: History) -> list[dict[str, str]]:
    """Cards of the page: the newest session, then steps, the first session first."""
    cards = _newest_card(found) + [
        {
            "level": "warning" if "slower" in _what(event) and event.until is None else "information",
            "rule": "step" if event.until is None else "past",
            "where": f"{_what(event)} from {_where(event)}{_end(event, found)}",
            "found": "; ".join(f"{_series(one)}: {change_amount(one)}" for one in event.changes[:MOST])
            + (
                f"; and {len(event.changes) - MOST} more in the table below"
                if len(event.changes) > MOST
                else ""
            ),
            "advice": f"find out what changed; {_conditions(event)}",
        }
        for event in found.events
    ]
    cards += [
        {
            "level": "warning" if one.speed < 1 else "information",
            "rule": "drift",
            "where": _series(one),
            "found": f"{change_amount(one)} over the whole history, no step",
            "advice": "compare the conditions of the first and the last session",
        }
        for one in found.drifts
    ]
    return cards


def _newest_card(found: History) -> list[dict[str, str]]:
    if not found.newest:
        return []
    last = found.sessions[-1]
    slower = any(one.speed < 1 for one in found.newest) and last.date >= (found.settings.since or "")
    return [
        {
            "level": "warning" if slower else "information",
            "rule": "newest session",
            "where": f"newest session: run {last.runs[0]}, {last.date[:16].replace('T', ' ')}",
            "found": newest_amount(found),
            "advice": "measure again",
        }
    ]


def charted(found: History) -> dict[str, Any]:
    """As imb.render.history.history_of, with a point per session."""
    places: dict[tuple[Key, Band], list[int]] = {(one.curve, one.band): [] for one in found.series}
    for event in found.events:
        for change in event.changes:
            places[change.curve, change.band] += [event.session, *([event.until] if event.until else [])]
    curves: dict[Key, list[dict[str, Any]]] = {}
    for one in found.series:
        values = [None if value is None else short(value) for value in one.slowness]
        curves.setdefault(one.curve, []).append(
            {"band": one.band.title, "values": [values], "changes": [places[one.curve, one.band]]}
        )
    changed = [(event, change) for event in found.events for change in event.changes]
    titles = [str(curve) for curve in curves]
    shown = changed[0][1].curve if changed else found.newest[0].curve if found.newest else None
    return {
        "about": "A point is a session: the geometric mean of a size band, relative to the median session, above 1 is "
        "slower. Dashed lines are steps.",
        "curves": [
            {"title": title, "bands": bands} for title, bands in zip(titles, curves.values(), strict=True)
        ],
        "first": titles.index(str(shown)) if shown else 0,
        "dated": True,
        "no_changes": "No change of level, but the newest session stands out: see the findings."
        if found.newest
        else without_changes([found]),
        "changes": [
            {
                "side": "A",
                "curve": str(change.curve),
                "band": change.band.title,
                "launch": event.run,
                "date": event.date,
                "before": "1.000",
                "after": f"{1 / change.speed:.3f}",
                "change": change_amount(change),
            }
            for event, change in changed
        ],
        "sides": [
            {
                "letter": "A",
                "dates": [session.date for session in found.sessions],
                "names": [", ".join(session.runs) for session in found.sessions],
            }
        ],
    }


def _what(event: ChangePoint) -> str:
    words = dict.fromkeys("slower" if one.speed < 1 else "faster" for one in event.changes)
    return " and ".join(words)


def _where(event: ChangePoint) -> str:
    return f"session {event.session + 1}: run {event.run}, {event.date[:16].replace('T', ' ')} (last run before: {event.before})"


def _end(event: ChangePoint, found: History) -> str:
    if event.until is None:
        return ""
    back = found.sessions[event.until]
    return f"; the level before is back from session {event.until + 1}: run {back.runs[0]}, {back.date[:16].replace('T', ' ')}"


def _series(change: Change | Newest) -> str:
    return f"{change.curve}, {change.band.title}"


def _conditions(event: ChangePoint) -> str:
    if not event.conditions:
        return "no known environment differences to the session before"
    said = (f"{one.name}: {', '.join(one.a)} -> {', '.join(one.b)}" for one in event.conditions)
    return f"changed since the session before: {'; '.join(said)}"


def _printable(line: str) -> str:
    """Names and conditions come from logs of other machines: no control characters on a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in line)
