"""The verdict of `imb health` on the terminal, and what a check can detect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from imb.health import limits
from imb.health.checks import HealthFile
from imb.health.figure_state import SessionSeconds
from imb.health.limits import HealthCheck
from imb.model.units import count_of, percent_text, us
from imb.report.terminal import Screen, say

_STYLES = {"healthy": "bold green", "bad": "bold red"}


def print_verdict(
    learned: HealthFile, check: HealthCheck, verdict: str, since: Mapping[str, str], reason: str | None
) -> None:
    """Print the verdict on one line, and for a healthy host also what the check can detect. `reason`: why the check ended early."""
    sessions = learned.values()
    details = [
        f"{figure} takes {percent_text(limits.slowdown_of(check.values[figure], sessions, figure))} longer than the median of"
        f" {count_of(len(sessions), 'session')}, {us(min(check.values[figure]))} or more in {count_of(len(check.values[figure]), 'launch')},"
        f" limit {us(check.limits[figure])}"
        + (
            f"; suspect since {first}"
            if verdict == "bad"
            else f"; a check {limits.APART.seconds // 60} min later decides"
        )
        for figure, first in since.items()
    ]
    if reason:
        details.append(reason)
    if verdict == "healthy":
        details = [medians([check.values])]
    for figure in check.undecided:
        if beyond := check.watched[figure].beyond:
            details.append(
                f"{figure} beyond the limit in {beyond} of {count_of(limits.LAUNCHES, 'launch')}; the next check continues"
            )
    Screen().line((verdict, _STYLES.get(verdict, "bold yellow")), f": {learned.host}: {'; '.join(details)}")
    if verdict == "healthy":
        say(*sensitivity_lines(learned))


def medians(sessions: Sequence[SessionSeconds]) -> str:
    """The median of each metric over all launches."""
    figures = sessions[0]
    return ", ".join(
        f"{figure} {us(median(value for session in sessions for value in session[figure]))}"
        for figure in figures
    )


def sensitivity_lines(learned: HealthFile) -> list[str]:
    """Lines on what a check can detect, and how often it is wrong."""
    sessions = learned.values()
    count = len(sessions)
    slowdowns = ", ".join(
        f"{percent_text(entry.slowdown) if entry.slowdown < 1 else f'a factor of {1 + entry.slowdown:.1f}'} ({entry.figure})"
        for entry in limits.sensitivity(sessions)
    )
    share = limits.false_alarms(count, limits.rank_of_limit(count)) * len(sessions[0])
    lines = [
        f"sees slowdowns of {slowdowns} in {100 * limits.found_share(sessions):.0f} of 100 checks",
        f"false suspects: 1 in {1 / share:,.0f} checks if values are independent; of the {count_of(count, 'session')} in their order"
        f" {limits.false_suspects(sessions)}",
    ]
    if learned.checks:
        lines[1] += f", of {count_of(learned.checks, 'check')} so far {learned.suspects} (true ones included)"
    return lines
