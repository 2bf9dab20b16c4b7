"""Rules about the variance components: launches outside the dominant state, and the component that dominates."""

from __future__ import annotations

from collections.abc import Iterator

from imb.diagnose.case import Case, Finding
from imb.judge.remedies import remedy, verdict
from imb.judge.usual import alike, explanation, names
from imb.model.units import counted


def usual_state(case: Case) -> Iterator[Finding]:
    """Launches in passes whose fastest state is slower than the usual one."""
    for group in alike(case.variance.unusual):
        yield Finding(
            level="warning",
            rule="usual-state",
            where=names(group),
            found=f"{counted(len(group), 'launch')} of {len(case.side.launches)} {explanation(group)}",
            advice="figures are those of a slower machine: repeat these launches, with a larger -budget if this is frequent, or "
            "exclude them",
            evidence={
                "launches": [one.launch for one in group],
                "probe_seconds": [one.probe_seconds for one in group],
                "usual_seconds": group[0].usual_seconds,
                "launches_in_usual_state": group[0].others,
            },
            weight=max(one.ratio for one in group),
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
