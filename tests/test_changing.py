"""docs/changing.md: its examples are applied to a copy of the project and used."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import guide
import jsonschema
import lab
import pytest
from imb.judge.condition_diff import Difference, differences
from imb.model.observations import Side, launches_of
from imb.model.records import read

PAGE = lab.TOP / "docs" / "changing.md"
OPTION = ("src/plan/options.h", "src/cli/options.cpp")
FIGURE = ("src/plan/figures.h", "src/result/statistics.cpp")
OPTION_PROGRAM = """
#include <cstdio>
#include "cli/command_line.h"
#include "report/run_record.h"
int main(int, char** argv) {
  using namespace openimb;
  const Spec spec{.name = "Sendrecv", .kind = Kind::parallel_transfer};
  const Program program{.name = "IMB-MPI1", .part = "MPI-1 part", .catalogue = {&spec, 1}};
  const auto record = [&](std::vector<std::string> words) {
    const Options options = parse(program, words, 2, [](const std::string&) { return FileText{}; });
    std::fputs(run_record({.component = "MPI1"}, options_in_force(program.catalogue, options)).c_str(), stdout);
  };
  record({"-arrival", argv[1]});
  record({});
  try {
    record({"-arrival", "1", "-sync", "on"});
  } catch (const UsageError& error) {
    std::puts(error.what());
  }
  std::puts(help_text(program, "arrival").c_str());
}
"""
PROGRAM = """
#include "plan/data_layout.cpp"
#include "plan/layout.cpp"
#include "plan/rounds.cpp"
#include "report/columns.cpp"
#include "report/failure_text.cpp"
#include "report/format.cpp"
#include "report/json_writer.cpp"
#include "report/output.cpp"
#include "report/records.cpp"
#include "report/run_record.cpp"
#include "result/statistics.cpp"
#include "figure_lines.h"
int main() {
  using namespace openimb;
  const Table table{.spec = {.name = "Sendrecv", .kind = Kind::parallel_transfer, .turnover = 2},
                    .layout = make_layout(2, 2, false, {})};
  RecordReporter out(stdout, "standard output", {});
  out.row(table, measurement_of(table, 8, 10, 1, {.seconds = {1e-6, 3e-6}}));
  std::fputs(figure_lines().c_str(), stdout);
}
"""
READ = """
import sys
from imb.logs.columnar import results_of_records
from imb.model.records import decode
record = decode(sys.stdin.buffer.read())
print(record.imbalance, results_of_records([("a", record)]).column("imbalance")[0])
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page's option and figure touch, with the changes of the page."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("src", "schema", "tools", "python", "tests/unit"):
        shutil.copytree(lab.TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    changed = guide.changed_files(PAGE)
    assert set(changed) == {*OPTION, *FIGURE}
    for file, text in changed.items():
        (folder / file).write_text(text)
    return folder


def printed(words: list[str], folder: Path, **settings: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_option_is_its_field_and_its_row(tree: Path) -> None:
    """Records have it, the schema takes it, the companion compares it: none of them was changed."""
    compiler = shutil.which("c++") or lab.missing("a C++ compiler")
    (tree / "option.cpp").write_text(OPTION_PROGRAM)
    parts = [
        *sorted((tree / "src/cli").glob("*.cpp")),
        *sorted((tree / "src/plan").glob("*.cpp")),
        *(
            tree / "src/report" / f"{name}.cpp"
            for name in ("run_record", "json_writer", "format", "catalogue")
        ),
    ]
    words = ["-std=c++20", "-O0", "-Isrc", '-DOPENIMB_VERSION="0"', "option.cpp"]
    printed([compiler, *words, *map(str, parts), "-o", "option"], tree)
    given, without, refused, *help_lines = printed([str(tree / "option"), "2.5"], tree).splitlines()
    values = [json.loads(line)["options"]["arrival"] for line in (given, without)]
    assert values == [2.5, 0]
    assert refused == "-arrival and -sync cannot be combined; give one of them"
    assert help_lines[0] == "-arrival MICROSECONDS"
    options = {"options": json.loads(given)["options"]}
    schema = json.loads((lab.TOP / "schema" / "record.schema.json").read_text())
    [run] = (lab.TOP / "schema" / "examples" / "complete.jsonl").read_text().splitlines()[:1]
    jsonschema.Draft202012Validator(schema).validate(json.loads(run) | options)
    sides = [
        Side(name=name, launches=list(launches_of(read(line.encode(), name), name, {})))
        for name, line in (("a", given), ("b", without))
    ]
    assert differences(*sides) == [Difference("-arrival", ["2.5"], ["0"])]


def test_a_figure_is_its_row_and_the_code_that_measures_it(tree: Path) -> None:
    compiler = shutil.which("c++") or lab.missing("a C++ compiler")
    (tree / "program.cpp").write_text(PROGRAM)
    printed([compiler, "-std=c++20", "-O0", "-Isrc", "-Itests/unit", "program.cpp", "-o", "program"], tree)
    record, *figures = printed([str(tree / "program")], tree).splitlines(keepends=True)
    assert json.loads(record)["imbalance"] == 0.5
    schema = tree / "schema" / "record.schema.json"
    assert not jsonschema.Draft202012Validator(json.loads(schema.read_text())).is_valid(json.loads(record))
    (tree / "schema" / "figures.jsonl").write_text("".join(figures))
    printed([sys.executable, "tools/figures.py"], tree)
    jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(json.loads(record))
    (tree / "record").write_text(record)
    with (tree / "record").open() as lines:
        done = subprocess.run(
            [sys.executable, "-c", READ],
            stdin=lines,
            env=os.environ | {"PYTHONPATH": str(tree / "python")},
            capture_output=True,
            text=True,
        )
    assert done.stdout == "0.5 0.5\n", done.stderr
