"""What a command of `imb` leaves behind, for tests that give it words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from xml.etree import ElementTree


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Imb = Callable[..., Said]


def junit_cases(text: str) -> dict[tuple[str, str], str]:
    """(class name, name) of each test case -> its outcome. Checks what Jenkins' schema (junit-10.xsd) asks for: elements, their
    attributes, counts that are right, cases that are there once."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites" and not root.attrib
    found: dict[tuple[str, str], str] = {}
    for suite in root:
        assert suite.tag == "testsuite" and set(suite.attrib) == {
            "name",
            "tests",
            "failures",
            "errors",
            "skipped",
        }
        outcomes: list[str] = []
        assert [one.tag for one in suite].count("properties") <= 1
        for case in suite.findall("*"):
            if case.tag == "properties":
                assert {(one.tag, *sorted(one.attrib)) for one in case} == {("property", "name", "value")}
                continue
            assert case.tag == "testcase" and set(case.attrib) == {"classname", "name"}
            assert [set(child.attrib) for child in case if child.tag != "system-out"] in ([], [{"message"}])
            (outcome,) = [child.tag for child in case if child.tag != "system-out"] or ["passed"]
            assert outcome in ("passed", "failure", "error", "skipped")
            key = case.attrib["classname"], case.attrib["name"]
            assert key not in found and all(key)
            found[key] = outcome
            outcomes.append(outcome)
        counts = {name: outcomes.count(name.removesuffix("s")) for name in ("failures", "errors")}
        assert {name: int(suite.attrib[name]) for name in counts} == counts
        assert int(suite.attrib["skipped"]) == outcomes.count("skipped")
        assert int(suite.attrib["tests"]) == len(outcomes)
    return found
