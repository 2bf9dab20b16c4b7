"""Rules about variance components: launches outside the dominant state, and the largest component."""

from __future__ import annotations

from collections.abc import Iterator

from imb.compare.dominant_state import explanation, group_alike, names
from imb.compare.variance_text import advice, verdict
from imb.diagnose.case import Case, Finding
from imb.model.units import count_of


def dominant_state(case: Case) -> Iterator[Finding]:
    """Yield launches in passes whose fastest state is slower than the dominant state."""
    for group in group_alike(case.variance.outside_launches):
        yield Finding(
            level="warning",
            rule="dominant-state",
            where=names(group),
            found=f"{count_of(len(group), 'launch')} of {len(case.side.launches)} {explanation(group)}",
            advice="times are from a slower machine state: repeat these launches, with a larger --launch-budget if this is frequent, or "
            "exclude them",
            evidence={
                "launches": [each.launch for each in group],
                "probe_seconds": [each.probe_seconds for each in group],
                "usual_seconds": group[0].dominant_seconds,
                "launches_in_usual_state": group[0].others,
            },
            weight=max(each.ratio for each in group),
        )


def variance(case: Case) -> Iterator[Finding]:
    """Yield the largest variance component of launches in passes, if it is above the threshold."""
    components, limit = case.variance, case.thresholds.variance
    first = components.largest_part
    if not components.in_passes or first is None or first.typical <= limit:
        return
    yield Finding(
        level="information",
        rule="variance",
        where=f"{count_of(len(components.rows), 'row')}, {count_of(components.all_launches, 'launch')}",
        found=f"{verdict(components)}; standard deviations, medians over rows; worst row {first.worst_row}",
        advice=advice(components) or "",
        evidence={
            "dominates": first.name,
            "certain": components.certain,
            "parts": {part.name: part.typical for part in components.parts},
            "launches": components.launches,
            "launches_needed": components.launches_needed(),
        },
        weight=first.typical / limit,
    )
