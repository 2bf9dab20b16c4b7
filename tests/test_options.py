"""Options that messages, help and rows name: each exists."""

import json
import re

import lab
import pytest
from imb.model.record_versions import in_version_2
from lab import TOP

SOURCES = sorted((TOP / "src").rglob("*.h")) + sorted((TOP / "src").rglob("*.cpp"))
TABLE = (TOP / "src/cli/options.cpp").read_text()
NAMES = set(re.findall(r'\.(?:name|alias) = "(\w+)"', TABLE))
# A word that begins with one dash, in the text of a string.
NAMED = re.compile(r"(?<![\w\-+.\\])-([a-z][a-z_]+)(?![\w=]|-\w)")
# Not of the suite: the launcher's number of processes, which examples have.
FOREIGN = {"np"}


def test_every_option_that_a_message_names_exists() -> None:
    assert len(NAMES) > 80
    named: dict[str, str] = {}
    for path in SOURCES:
        code = re.sub(r"(?m)//.*$|^#include.*$", "", path.read_text())
        for text in re.findall(r'"((?:\\.|[^"\\\n])*)"', code):
            for name in NAMED.findall(text):
                named.setdefault(name, f"{path.relative_to(TOP)}: {text}")
    pages = [*(TOP / "docs").glob("*.md"), TOP / "README.md", *(TOP / "python/imb").rglob("*.py")]
    for path in pages:
        for name in re.findall(r"(?<![\w\-+.\\/=])-([a-z]+_[a-z_]+)(?![\w=]|-\w)", path.read_text()):
            named.setdefault(name, str(path.relative_to(TOP)))
    assert len(named) > 40, "the search for names in messages finds too few"
    assert {name: place for name, place in named.items() if name not in NAMES | FOREIGN} == {}


FIRST = [json.loads(line) for line in (TOP / "tests/companion/data/options-1.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("recorded", FIRST, ids=lambda one: f"{one['component']} {one['command_line'][-1]}")
def test_options_in_records_of_version_1_compare_with_those_of_today(mpi, recorded, tmp_path):
    """Launches with many options, as recorded in version 1. An option that both records have has one value."""
    before = in_version_2(recorded)["options"]
    words = recorded["command_line"][1:]
    done = lab.run(mpi, len(recorded["ranks"]), words, component=recorded["component"], records=tmp_path)
    causes = {record["cause"] for record in done.records if record["record"] == "failure"}
    # Open MPI 5.0 lacks partitioned communication.
    assert done.code == 0 or causes == {"unavailable"}, done.errors
    now = done.records[0]["options"]
    assert {name: before[name] for name in now.keys() & before.keys()} == {
        name: now[name] for name in now.keys() & before.keys()
    }
    assert now.keys() - before.keys() <= {
        "off_cache",
        "seed",
        "gpu",
        "gpu_check",
        "load",
        "matrix",
        "threads",
        "pin_threads",
    }
