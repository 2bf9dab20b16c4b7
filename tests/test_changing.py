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

PAGE = lab.TOP / "docs" / "changing.md"
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
  RecordReporter out(stdout, "standard output");
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
    """What the page's examples touch, with the changes of the page."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("src", "schema", "tools", "python", "tests/unit"):
        shutil.copytree(lab.TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    changed = guide.changed_files(PAGE)
    assert set(changed) == {
        "src/plan/figures.h",
        "src/result/statistics.cpp",
        "python/imb/logs/collbench_text.py",
        "python/imb/logs/readers.py",
    }
    for file, text in changed.items():
        (folder / file).write_text(text)
    return folder


def printed(words: list[str], folder: Path, **settings: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


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


def test_a_log_format_is_its_reader_and_a_line_of_the_registry(tree: Path, tmp_path: Path) -> None:
    """Detected, shown, stored and compared; a line that was not read is printed, and the exit status is 1."""
    rows = [f"Bcast, 4 ranks, {8 << n} bytes, 1000 repetitions: {1.5 + n}0 us" for n in range(3)]
    (tmp_path / "a.log").write_text("\n".join(["collbench 1.0", *rows, ""]))
    (tmp_path / "torn.log").write_text(
        "\n".join(["collbench 1.0", *rows, "Bcast, 4 ranks, 64 by 2.5 us", ""])
    )

    def imb(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "imb", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(tree / "python"), "IMB_ARCHIVE": str(tmp_path / "archive")},
            capture_output=True,
            text=True,
            timeout=120,
        )

    imported = imb("import", "a.log", "--label", "old")
    assert imported.returncode == 0, imported
    shown = imb("show", "old", "--no-chart")
    assert "collbench" in shown.stdout and "Bcast" in shown.stdout and "1.50" in shown.stdout, shown
    judged = imb("diagnose", "torn.log")
    assert judged.returncode == 1 and "not a row: 'Bcast, 4 ranks, 64 by 2.5 us'" in judged.stderr, judged
    assert "1 row skipped" in judged.stdout, judged
