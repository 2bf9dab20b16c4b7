"""The history of launches: on the terminal, and as parts of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from imb.compare.comparison import Band
from imb.history.session_history import AFTER, BLIND, Change, ChangePoint, History, NewestDeviation
from imb.model.observations import Key
from imb.model.units import count_of, percent_number, percent_text
from imb.report.marks import NOT_ESTIMABLE, is_estimable, short_number, slower_or_faster
from imb.report.speed_history import no_changes_text
from imb.stats.error_rates import FALSE_CHECK

MOST = 8  # changes of one session that the terminal shows; other formats show all


def history_text(history: History) -> str:
    """The verdict, a line on the sessions, a block per session with a change, and the smallest step that
    would be found."""
    since = history.settings.since
    past = [event for event in history.events if event.until is not None]
    news = [event for event in history.events if event.until is None and event.date >= (since or "")]
    lines = [_verdict_line(history, news), f"{history.name}: {history_extent(history)}"]
    earlier = [event for event in history.events if event.until is None and event.date < (since or "")]
    lines += _blocks(news, history)
    if history.drifts:
        lines += ["", "drift over the whole history, no step"]
        lines += [f"  {_series(drift)}: {change_amount(drift)}" for drift in history.drifts]
    lines += ["", *(f"note: {note}" for note in history.notes)] if history.notes else []
    if history.newest:
        lines += ["", f"newest session: {newest_amount(history)}; measure again"]
    if since and not news and not history.verdict.startswith("too "):
        lines += ["", f"no step since {since}{'; earlier:' if earlier else ''}"]
    elif earlier:
        lines += ["", f"before {since}:"]
    elif history.verdict == "no change":
        lines.append("no step that lasts" if past else "no step found")
    lines += _blocks(earlier, history)
    if past:
        lines += ["", "past:", *_blocks(past, history)]
    if history.detectable is not None and history.detectable <= BLIND:
        lines += [""] if earlier or past else []
        lines.append(
            f"steps below {percent_text(history.detectable, 1)} may be missed (five sessions after them, median series, power 95 %)"
        )
    if history.limit is not None and history.limit <= BLIND:
        lines.append(
            f"changes of a single session below {percent_text(history.limit, 1)} may be missed (median series; false alarms: at most 1"
            f" in {round(1 / FALSE_CHECK)} checks)"
        )
    return "".join(_remove_controls(line) + "\n" for line in lines)


def _verdict_line(history: History, news: Sequence[ChangePoint]) -> str:
    """`Slower: 1 step, on 2026-03-16.`"""
    if history.verdict == "too little history":
        return f"Inconclusive: too little history ({count_of(len(history.sessions), 'session')})."
    if history.verdict == "too noisy":
        return "Inconclusive: too noisy."
    if history.verdict == "no change":
        return f"No change{f' since {history.settings.since}' if history.settings.since else ''}."
    slower = history.verdict == "slower"
    dates = [
        event.date[:10] for event in news if any((change.speed < 1) == slower for change in event.changes)
    ]
    causes = (
        [f"{count_of(len(dates), 'step')}, {'the first ' if len(dates) > 1 else ''}on {dates[0]}"]
        if dates
        else []
    )
    if any((drift.speed < 1) == slower for drift in history.drifts):
        causes.append("a drift over the whole history")
    if any((series.speed < 1) == slower for series in history.newest):
        causes.append("the newest session")
    return f"{history.verdict.capitalize()}: {'; '.join(causes)}."


def _blocks(events: Sequence[ChangePoint], history: History) -> list[str]:
    lines = []
    for event in events:
        lines += ["", f"{_direction(event)} from {_place_of(event)}{_end(event, history)}"]
        lines += [f"  {_series(change)}: {change_amount(change)}" for change in event.changes[:MOST]]
        if len(event.changes) > MOST:
            lines.append(f"  and {len(event.changes) - MOST} more: --format json")
        lines.append(f"  {_conditions(event)}")
    return lines


def newest_amount(history: History) -> str:
    """The largest deviation of the newest session: `46 % slower in Scatter, 8 ranks, 64-4K bytes and 17 more
    series than ...`."""
    first, *rest = history.newest
    word, size, *_ = slower_or_faster(first.speed, None, None)
    more = f" and {len(rest)} more series" if rest else ""
    text = (
        f"{percent_text(size, 1)} {word} in {_series(first)}{more} than {first.earlier} earlier sessions;"
        f" normal range ±{percent_text(first.limit, 1)} (1 check in {round(1 / FALSE_CHECK)} is outside)"
    )
    last = len(history.sessions) - 1
    if first.since == last:
        return text
    text += f"; {word} since {history.sessions[first.since].date[:10]} ({last - first.since + 1} sessions)"
    if history.detectable is not None and size >= history.detectable:
        text += f", a step of this size is usually found within {AFTER} sessions"
    return text


def history_extent(history: History) -> str:
    """`40 sessions from 2026-10-01 to 2026-11-09, 57 series (curve and size band)`."""
    dates = (
        f" from {history.sessions[0].date[:10]} to {history.sessions[-1].date[:10]}"
        if history.sessions
        else ""
    )
    return f"{count_of(len(history.sessions), 'session')}{dates}, {len(history.series)} series (curve and size band)"


def change_amount(change: Change) -> str:
    """`12.3 % slower (95 % CI 9.8 to 14.9 %)`. Slower means more time, or less bandwidth."""
    word, size, low, high = slower_or_faster(change.speed, change.low, change.high)
    if not is_estimable(change.low, change.high):
        return f"{percent_text(size, 1)} {word} (95 % CI {NOT_ESTIMABLE})"
    return f"{percent_text(size, 1)} {word} (95 % CI {percent_number(low, 1)} to {percent_text(high, 1)})"


def findings(history: History) -> list[dict[str, str]]:
    """Cards of the page: the newest session, then steps in the order of sessions, then drifts."""
    cards = _newest_card(history) + [
        {
            "level": "warning" if "slower" in _direction(event) and event.until is None else "information",
            "rule": "step" if event.until is None else "past",
            "where": f"{_direction(event)} from {_place_of(event)}{_end(event, history)}",
            "found": "; ".join(
                f"{_series(change)}: {change_amount(change)}" for change in event.changes[:MOST]
            )
            + (
                f"; and {len(event.changes) - MOST} more in the table below"
                if len(event.changes) > MOST
                else ""
            ),
            "advice": f"find out what changed; {_conditions(event)}",
        }
        for event in history.events
    ]
    cards += [
        {
            "level": "warning" if drift.speed < 1 else "information",
            "rule": "drift",
            "where": _series(drift),
            "found": f"{change_amount(drift)} over the whole history, no step",
            "advice": "compare the conditions of the first and the last session",
        }
        for drift in history.drifts
    ]
    return cards


def _newest_card(history: History) -> list[dict[str, str]]:
    if not history.newest:
        return []
    last = history.sessions[-1]
    slower = any(series.speed < 1 for series in history.newest) and last.date >= (
        history.settings.since or ""
    )
    return [
        {
            "level": "warning" if slower else "information",
            "rule": "newest session",
            "where": f"newest session: run {last.runs[0]}, {_minute(last.date)}",
            "found": newest_amount(history),
            "advice": "measure again",
        }
    ]


def history_chart(history: History) -> dict[str, Any]:
    """The data of imb.report.speed_history.history_of, with one point per session."""
    places: dict[tuple[Key, Band], list[int]] = {(series.curve, series.band): [] for series in history.series}
    for event in history.events:
        for change in event.changes:
            places[change.curve, change.band] += [event.session, *([event.until] if event.until else [])]
    curves: dict[Key, list[dict[str, Any]]] = {}
    for series in history.series:
        values = [None if value is None else short_number(value) for value in series.slowness]
        curves.setdefault(series.curve, []).append(
            {"band": series.band.title, "values": [values], "changes": [places[series.curve, series.band]]}
        )
    changed = [(event, change) for event in history.events for change in event.changes]
    titles = [str(curve) for curve in curves]
    shown = changed[0][1].curve if changed else history.newest[0].curve if history.newest else None
    return {
        "about": "A point is a session: the geometric mean of a size band, relative to the median session, above 1 is "
        "slower. Dashed lines are steps.",
        "curves": [
            {"title": title, "bands": bands} for title, bands in zip(titles, curves.values(), strict=True)
        ],
        "first": titles.index(str(shown)) if shown else 0,
        "dated": True,
        "no_changes": "No change of level, but the newest session stands out: see the findings."
        if history.newest
        else no_changes_text([history]),
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
                "dates": [session.date for session in history.sessions],
                "names": [", ".join(session.runs) for session in history.sessions],
            }
        ],
    }


def _direction(event: ChangePoint) -> str:
    words = dict.fromkeys("slower" if change.speed < 1 else "faster" for change in event.changes)
    return " and ".join(words)


def _place_of(event: ChangePoint) -> str:
    return f"session {event.session + 1}: run {event.run}, {_minute(event.date)} (last run before: {event.before})"


def _end(event: ChangePoint, history: History) -> str:
    if event.until is None:
        return ""
    back = history.sessions[event.until]
    return (
        f"; the level before is back from session {event.until + 1}: run {back.runs[0]}, {_minute(back.date)}"
    )


def _minute(date: str) -> str:
    """`2026-11-23 04:10` of an ISO date."""
    return date[:16].replace("T", " ")


def _series(change: Change | NewestDeviation) -> str:
    return f"{change.curve}, {change.band.title}"


def _conditions(event: ChangePoint) -> str:
    if not event.conditions:
        return "no known environment differences to the session before"
    changes = (
        f"{difference.name}: {', '.join(difference.a)} -> {', '.join(difference.b)}"
        for difference in event.conditions
    )
    return f"changed since the session before: {'; '.join(changes)}"


def _remove_controls(line: str) -> str:
    """The line without control characters: names and conditions come from logs of other machines."""
    return "".join(sign if sign.isprintable() else "?" for sign in line)
