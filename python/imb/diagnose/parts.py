"""Rules about the parts of variance: launches that never saw the usual state, and the part that dominates."""

from __future__ import annotations

from collections.abc import Iterator

from imb.diagnose.case import Case, Finding
from imb.remedies import remedy, verdict
from imb.usual import words
from imb.wording import counted


def usual_state(case: Case) -> Iterator[Finding]:
    """Launches in passes whose fastest state is slower than the usual one."""
    away = case.variance.unusual
    for one in {one.launch: one for one in sorted(away, key=lambda one: one.ratio)}.values():
        (said,) = words([one])
        yield Finding(
            level="warning",
            rule="usual-state",
            where=f"launch {one.launch}",
            found="it " + said.removeprefix(f"launch {one.launch} "),
            advice="its figures are those of a slower machine: leave it out or repeat it, with a larger -budget where this "
            "happens often (imb diagnose, rule variance, says how large)",
            evidence={
                "probe_seconds": one.probe_seconds,
                "usual_seconds": one.usual_seconds,
                "launches_in_usual_state": one.others,
            },
            weight=one.ratio,
        )


def variance(case: Case) -> Iterator[Finding]:
    """The largest part of variance, where rows are off by it noticeably; takes launches in passes."""
    found, limit = case.variance, case.thresholds.variance
    first = found.dominates
    if not found.in_passes or first is None or first.typical <= limit:
        return
    yield Finding(
        level="information",
        rule="variance",
        where=f"{counted(len(found.rows), 'row')}, {counted(found.all_launches, 'launch')}",
        found=f"{verdict(found)}; standard deviations, medians over rows; worst row {first.worst_row}",
        advice=remedy(found) or "",
        evidence={
            "dominates": first.name,
            "certain": found.certain,
            "parts": {part.name: part.typical for part in found.parts},
            "launches": found.launches,
            "launches_needed": found.needed(),
        },
        weight=first.typical / limit,
    )
