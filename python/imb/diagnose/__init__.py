"""Anomalies in results, with their evidence and advice. Pure.

A rule reads the curves of a side and yields findings; RULES lists the rules. Every rule judges medians over
launches. A note says what a rule cannot judge, and why. See docs/evidence/diagnosis.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from imb.compare.kinds import refuse_other_kinds
from imb.compare.variance import Variance
from imb.diagnose import causes, curves, expectations, gpu_link, launches, parts, path_rules, shape, spread
from imb.diagnose.case import (
    LEVELS,
    Case,
    Diagnosis,
    FailedLaunch,
    Finding,
    FindingLevel,
    Limits,
    Model,
    Thresholds,
    rate,
    threshold_descriptions,
)
from imb.model.observations import Side

__all__ = [
    "LEVELS",
    "RULES",
    "Diagnosis",
    "FailedLaunch",
    "Finding",
    "FindingLevel",
    "Limits",
    "Model",
    "Thresholds",
    "diagnose",
    "diagnose_failures",
    "rate",
    "threshold_descriptions",
]  # fmt: skip

RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    launches.unread_lines,
    launches.defects,
    launches.failures,
    launches.separate_ranks,
    launches.ends,
    path_rules.used_paths,
    causes.placement,
    causes.disturbances,
    expectations.latency,
    expectations.peak_bandwidth,
    gpu_link.bandwidth,
    spread.rank_spread,
    spread.slowest_rank,
    spread.launch_spread,
    spread.tails,
    parts.dominant_state,
    parts.variance,
    shape.cliffs,
    shape.plateaus,
    expectations.collectives,
    expectations.overlap,
    expectations.slow_overlap,
    shape.switches,
)


def diagnose_failures(name: str, failed: Sequence[FailedLaunch]) -> Diagnosis:
    """The diagnosis of launches without a result."""
    return Diagnosis(
        side=name,
        launches=len(failed),
        findings=[launches.failed_launch(*launch) for launch in failed],
        models=[],
        notes=[],
        variance=None,
    )


def diagnose(
    side: Side,
    thresholds: Thresholds | None = None,
    limits: Limits | None = None,
    variance: Variance | None = None,
    failed: Sequence[FailedLaunch] = (),
) -> Diagnosis:
    """Apply every rule. `variance`: the variance components of this sample set; if None, they are estimated
    from it alone. `failed`: runs of the sample set without a result. Raises ImbError if launches are of
    several kinds."""
    refuse_other_kinds(side)
    case = Case(side, thresholds or Thresholds(), limits or Limits(), variance, failed)
    findings = [launches.failed_launch(*launch) for launch in failed]
    findings += [finding for rule in RULES for finding in rule(case)]
    findings.sort(key=lambda finding: (LEVELS.index(finding.level), -finding.weight))
    models = [
        Model(
            curve=curve.key,
            fit=curve.fit,
            misfit=curves.misfit(*curve.shape[:2], curve.fit),
            extrapolated=curves.is_beyond(*curve.shape[:2], curve.fit),
        )
        for curve in case.curves
        if curve.fit is not None and curve.communicates
    ]
    return Diagnosis(
        side=side.name,
        launches=len(side.launches),
        findings=findings,
        models=models,
        notes=case.notes,
        variance=case.variance if case.variance.in_passes else None,
    )
