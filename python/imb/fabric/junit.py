"""The verdict of `imb fabric` as cases of a JUnit file (imb.report.junit)."""

from __future__ import annotations

import math

from imb.fabric.judging.verdict import Suspect
from imb.fabric.text import Judged, sweep_headline
from imb.report.junit import Case, Outcome

_OUTCOMES: dict[str, Outcome] = {"bad": "failure", "inconclusive": "skipped"}


def cases_of(judged: Judged) -> list[Case]:
    """The whole, then every endpoint, then links and pairs that are suspect. Suspects that are not confirmed are skipped."""
    verdict = judged.verdict
    kind = judged.endpoint_kind
    cases = [Case("verdict", f"{kind}s", _OUTCOMES.get(verdict.state, "passed"), sweep_headline(judged))]
    # The first of a name is kept.
    suspects = {suspect.name: suspect for suspect in reversed(verdict.suspects)}
    for number, endpoint in enumerate(judged.endpoints):
        suspect = suspects.pop(endpoint.name, None)
        if number in verdict.silent:
            cases.append(Case(kind, endpoint.name, "error", "does not answer"))
        elif suspect:
            cases.append(_case_of(suspect))
        else:
            cases.append(Case(kind, endpoint.name, "passed"))
    return cases + [_case_of(suspect) for suspect in suspects.values()]


def _case_of(suspect: Suspect) -> Case:
    if not math.isfinite(suspect.effect):
        return Case(suspect.kind, suspect.name, "error", "does not answer")
    text = f"{suspect.effect:+.1%}, {suspect.benchmark}, {suspect.bytes} bytes"
    if not suspect.named:
        return Case(suspect.kind, suspect.name, "skipped", f"suspect, not confirmed: {text}")
    return Case(suspect.kind, suspect.name, "failure", text)
