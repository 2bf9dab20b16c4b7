"""Verdicts as JUnit XML, for the test reports of CI services. Slower is a failure, inconclusive is skipped, a
row that was not measured is an error.

Source: the schema of Jenkins' xUnit plugin, "junit-10.xsd". JUnit has no outcome "inconclusive", and CI
services pass a report with skipped cases, so a gate must use the exit status. A failure would be wrong: most
rows of a comparison may be inconclusive although its verdict is not. The verdict is a property of its suite
and not part of a name, because services identify a test by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from imb.compare.comparison import Comparison
from imb.compare.effects import Effect
from imb.model.observations import Key, Side
from imb.model.text import one_line
from imb.report.comparison_text import cell, summary

CaseOutcome = Literal["passed", "failure", "error", "skipped"]


_OUTCOMES: dict[str, CaseOutcome] = {
    "slower": "failure",
    "mixed": "failure",
    "inconclusive": "skipped",
}


class TestCase(NamedTuple):
    """One test case. `group` is its class name."""

    group: str
    name: str
    outcome: CaseOutcome
    message: str = ""


class Suite(NamedTuple):
    """A comparison or a sweep."""

    name: str
    verdict: str
    cases: Sequence[TestCase]


def document(suites: Iterable[Suite]) -> bytes:
    """The XML file."""
    root = ElementTree.Element("testsuites")
    for name, verdict, cases in suites:
        suite = ElementTree.SubElement(root, "testsuite", name=one_line(name), tests=str(len(cases)))
        for plural, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(plural, str(sum(case.outcome == outcome for case in cases)))
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="verdict", value=verdict)
        for case in cases:
            element = ElementTree.SubElement(
                suite, "testcase", classname=one_line(case.group), name=one_line(case.name)
            )
            message = one_line(case.message)
            if case.outcome != "passed":
                ElementTree.SubElement(element, case.outcome, message=message)
            elif message:
                ElementTree.SubElement(element, "system-out").text = message
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def comparison_cases(comparison: Comparison, b: Side | None = None) -> list[TestCase]:
    """Test cases for the whole comparison, for bands, for rows, and for rows that launches of B failed to
    measure. A row that only some launches measured has one case, an error."""
    cases = [
        TestCase(
            "verdict",
            f"{comparison.name_a}, {comparison.name_b}",
            _OUTCOMES.get(comparison.verdict, "passed"),
            summary(comparison),
        )
    ]
    cases += [
        _effect_case(band.curve, f"{band.curve}, {band.band.title}", band.effect) for band in comparison.bands
    ]
    rows = [_effect_case(row.key, str(row), row.effect) for row in comparison.rows]
    failed = _failed_cases(b) if b else {}
    cases += [_merged(case, failed.pop((case.group, case.name), None)) for case in rows]
    return [*cases, *failed.values()]


def _failed_cases(side: Side) -> dict[tuple[str, str], TestCase]:
    """Test cases for the rows that launches failed to measure, by class name and name."""
    failures = {key: failure for launch in side.launches for key, failure in launch.failures.items()}
    cases = [TestCase(_group(key), str(key), "error", failure.reason) for key, failure in failures.items()]
    return {(case.group, case.name): case for case in cases}


def _merged(case: TestCase, failed: TestCase | None) -> TestCase:
    """One test case for a row that some launches measured and others failed to measure, since a name
    identifies a test."""
    if failed is None:
        return case
    return failed._replace(message=f"{failed.message}; in the launches that measured it: {case.message}")


def _effect_case(key: Key, name: str, effect: Effect) -> TestCase:
    outcome = _OUTCOMES.get(effect.verdict, "passed")
    return TestCase(_group(key), name, outcome, f"{effect.verdict}: speedup {cell(effect)}")


def _group(key: Key) -> str:
    return f"{key.component or 'IMB'}.{key.benchmark}"
