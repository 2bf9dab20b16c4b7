"""The verdict of `imb fabric` as cases of a JUnit file (imb.report.junit)."""

from __future__ import annotations

import math

from imb.fabric.fabric_text import SweepReport, sweep_headline
from imb.fabric.judging.verdict import Suspect
from imb.model.units import noun_for, percent_text
from imb.report.junit import CaseOutcome, TestCase

_OUTCOMES: dict[str, CaseOutcome] = {"bad": "failure", "inconclusive": "skipped"}


def cases_of(judged: SweepReport) -> list[TestCase]:
    """Test cases: the verdict, every endpoint, then suspected links and pairs. Unconfirmed suspects are
    skipped."""
    verdict = judged.verdict
    kind = judged.endpoint_kind
    cases = [TestCase("verdict", f"{kind}s", _OUTCOMES.get(verdict.state, "passed"), sweep_headline(judged))]
    # Keep the first suspect of each name.
    suspects = {suspect.name: suspect for suspect in reversed(verdict.suspects)}
    for number, endpoint in enumerate(judged.endpoints):
        suspect = suspects.pop(endpoint.name, None)
        if number in verdict.silent:
            cases.append(TestCase(kind, endpoint.name, "error", "does not answer"))
        elif suspect:
            cases.append(_case_of(suspect))
        else:
            cases.append(TestCase(kind, endpoint.name, "passed"))
    return cases + [_case_of(suspect) for suspect in suspects.values()]


def _case_of(suspect: Suspect) -> TestCase:
    if not math.isfinite(suspect.effect):
        return TestCase(suspect.kind, suspect.name, "error", "does not answer")
    text = f"{percent_text(suspect.effect, 1, signed=True)}, {suspect.benchmark}, {suspect.bytes} {noun_for(suspect.bytes, 'byte')}"
    if not suspect.named:
        return TestCase(suspect.kind, suspect.name, "skipped", f"suspect, not confirmed: {text}")
    return TestCase(suspect.kind, suspect.name, "failure", text)
