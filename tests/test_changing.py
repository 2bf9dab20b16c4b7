"""docs/changing.md: the patch of each section is applied, built and used."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import guide
import jsonschema
import lab
import pytest
from companion import fake_mpi
from imb import registry
from imb.compare.condition_diff import Difference, differences
from imb.model.observations import Side, launches_of
from imb.model.records import read

sys.path.insert(0, str(lab.TOP / "bench"))
import machine_code

PAGE = lab.TOP / "docs" / "changing.md"
OPTION = ("src/model/options.h", "src/cli/options.cpp")
FIGURE = ("src/model/figures.h", "src/result/statistics.cpp")
CONDITION = ("python/imb/model/conditions.py", "python/imb/mpi/host_conditions.py")
LOG_FORMAT = ("python/imb/readers/collbench_text.py", "python/imb/readers/formats.py")
MPI_LIBRARY = ("python/imb/model/mpis.py", "python/imb/tune/acme.py", "python/imb/tune/tuner.py")
COMMAND = ("python/imb/cli/environment.py", "python/imb/registry.py")
OPTION_OF_A_COMMAND = ("python/imb/cli/diagnose.py",)
SLICE = (
    "python/imb/spread/__init__.py",
    "python/imb/spread/spread_command.py",
    "python/imb/spread/spread_experiment.py",
    "python/imb/registry.py",
)
EXPERIMENT = (
    "python/imb/spread/__init__.py",
    "python/imb/spread/settle_command.py",
    "python/imb/spread/settle_experiment.py",
)
RULE = ("python/imb/diagnose/spread.py", "python/imb/diagnose/case.py", "python/imb/diagnose/__init__.py")
OPTION_PROGRAM = """
#include <cstdio>
#include "cli/command_line.h"
#include "report/run_record.h"
int main(int, char** argv) {
  using namespace openimb;
  const Spec spec{.name = "Sendrecv", .kind = Kind::parallel_transfer};
  const Program program{.name = "IMB-MPI1", .part = "MPI-1 part", .catalog = {&spec, 1}};
  const auto record = [&](std::vector<std::string> words) {
    const Options options = parse(program, words, 2, [](const std::string&) { return FileText{}; });
    std::fputs(run_record({.component = "MPI1"}, options_in_force(program.catalog, options)).c_str(), stdout);
  };
  record({"-stagger", argv[1]});
  record({});
  try {
    record({"-stagger", "1", "-sync", "on"});
  } catch (const UsageError& error) {
    std::puts(error.what());
  }
  std::puts(help_text(program, "stagger").c_str());
}
"""
PROGRAM = """
#include "model/data_layout.cpp"
#include "plan/groups.cpp"
#include "plan/rounds.cpp"
#include "report/columns.cpp"
#include "report/failure_text.cpp"
#include "report/row_label.cpp"
#include "report/format.cpp"
#include "report/json_writer.cpp"
#include "report/output.cpp"
#include "report/records.cpp"
#include "report/run_record.cpp"
#include "result/statistics.cpp"
#include "figure_lines.h"
int main() {
  using namespace openimb;
  const Table table{.spec = {.name = "Sendrecv", .kind = Kind::parallel_transfer, .messages_per_process = 2},
                    .grouping = make_grouping(2, 2, false, {})};
  RecordReporter out(stdout, "standard output", {});
  out.row(table, measurement_of(table, 8, 10, 1, {.seconds = {1e-6, 3e-6}}));
  std::fputs(figure_lines().c_str(), stdout);
}
"""
READ = """
import sys
from imb.readers.columnar import results_of_records
from imb.model.records import decode
record = decode(sys.stdin.buffer.read())
print(record.imbalance, results_of_records([("a", record)]).column("imbalance")[0])
"""
COMPARED = """
import msgspec
from imb.compare.condition_diff import differences, unknown_conditions, values_of
from imb.model.observations import Launch, Side
from imb.model.records import Run
from imb.mpi.host_conditions import gather
stored = msgspec.to_builtins(gather())
def side(value):
    facts = {"conditions": stored | {"huge_pages": value}}
    return Side(name="", launches=[Launch(name="", run=Run(), facts=facts, rows={}, failures={})])
always, never = side("[always] never"), side("always [never]")
for found in (stored["huge_pages"], differences(always, never), unknown_conditions(*values_of(always, side(None)))):
    print(msgspec.json.encode(found).decode())
"""


NAME, FORM = "Reduce_bcast", "Scan_persist"
# Not on the page: a root that sends two messages from the buffer in which the others receive them.
TWO = "Bcast_of_two"
BCAST_OF_TWO = """
#include "benchmarks/collective.h"
namespace openimb {
struct Bcast_of_two : PatternBase {
  static constexpr Spec spec{
      .name = "Bcast_of_two", .send = Messages::none, .receive = Messages::two, .rooted = true, .shares_buffer = true};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::bcast(it.receive, c.count, c.type, it.root, c.comm);
    call::bcast(it.receive + c.message_stride, c.count, c.type, it.root, c.comm);
  }
  static ExpectedContents expects(const GroupRank& e) { return {{e.root, 0, 0, 2 * e.elements}}; }
};
}  // namespace openimb
"""
LIBRARIES = [
    "app",
    "resolve",
    "engine",
    "clocks",
    "session",
    "cli",
    "report",
    "result",
    "memory",
    "device",
    "system",
    "mpi",
    "plan",
    "model",
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page's examples without an MPI touch, with the changes of the page."""
    folder = tmp_path_factory.mktemp("changed")
    for name in ("src", "schema", "tools", "python", "tests/unit"):
        shutil.copytree(lab.TOP / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    changed: dict[str, str] = {}
    headings = (
        ("An option", OPTION),
        ("A figure", FIGURE),
        ("A condition", CONDITION),
        ("A log format", LOG_FORMAT),
        ("An MPI library", MPI_LIBRARY),
        ("A command", COMMAND),
        ("An option of a command", OPTION_OF_A_COMMAND),
        ("A slice", SLICE),
        ("An experiment", EXPERIMENT),
        ("A diagnosis rule", RULE),
    )
    for heading, files in headings:
        if files == MPI_LIBRARY and "imb.tune" not in registry.SLICES:
            continue
        of_section = guide.changed_files(PAGE, heading, changed)
        assert set(of_section) == set(files)
        changed |= of_section
    for file, text in changed.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    return folder


def printed(words: list[str], folder: Path, **settings: str) -> str:
    done = subprocess.run(
        words, cwd=folder, env=os.environ | settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_an_option_is_its_field_and_its_row(tree: Path) -> None:
    """Records have it, the schema takes it, the companion compares it: none of them was changed."""
    compiler = shutil.which("c++") or lab.missing("a C++ compiler")
    (tree / "option.cpp").write_text(OPTION_PROGRAM)
    parts = {
        "cli": sorted((tree / "src/cli").glob("*.cpp")),
        "model": sorted(path for name in ("model", "plan") for path in (tree / "src" / name).glob("*.cpp")),
        "report": [Path(f"report/{name}.cpp") for name in ("run_record", "json_writer", "format", "catalog")],
    }
    for name, sources in parts.items():  # compiled together, in a fifth of the time
        (tree / f"all_{name}.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))
    words = ["-std=c++20", "-O0", "-Isrc", '-DOPENIMB_VERSION="0"', "option.cpp"]
    printed([compiler, *words, *(f"all_{name}.cpp" for name in parts), "-o", "option"], tree)
    given, without, refused, *help_lines = printed([str(tree / "option"), "2.5"], tree).splitlines()
    values = [json.loads(line)["options"]["stagger"] for line in (given, without)]
    assert values == [2.5, 0]
    assert refused == "-stagger and -sync cannot be combined; give one of them"
    assert help_lines[0] == "-stagger MICROSECONDS"
    options = {"options": json.loads(given)["options"]}
    schema = json.loads((lab.TOP / "schema" / "record.schema.json").read_text())
    [run] = (lab.TOP / "schema" / "examples" / "complete.jsonl").read_text().splitlines()[:1]
    jsonschema.Draft202012Validator(schema).validate(json.loads(run) | options)
    sides = [
        Side(name=name, launches=list(launches_of(read(line.encode(), name), name, {})))
        for name, line in (("a", given), ("b", without))
    ]
    assert differences(*sides) == [Difference("-stagger", ["2.5"], ["0"])]


@pytest.mark.slow
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


def test_a_condition_is_its_row_and_the_line_that_reads_it(tree: Path) -> None:
    done = printed([sys.executable, "-c", COMPARED], tree, PYTHONPATH=str(tree / "python"))
    stored, differences, unknown = map(json.loads, done.splitlines())
    huge_pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    assert stored == (huge_pages.read_text().strip() if huge_pages.exists() else None)
    assert differences == [
        {"name": "transparent huge pages", "a": ["[always] never"], "b": ["always [never]"]}
    ]
    assert unknown == [[], ["transparent huge pages"]]


def imb(tree: Path, folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The command, with the changes of the page."""
    return subprocess.run(
        [sys.executable, "-m", "imb", *words],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(tree / "python"), "IMB_ARCHIVE": str(folder / "archive")}
        | settings,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_a_log_format_is_its_reader_and_a_line_of_the_registry(tree: Path, tmp_path: Path) -> None:
    """Detected, shown, stored and compared; a line that was not read is printed, and the exit status is 1."""
    rows = [f"Bcast, 4 ranks, {8 << n} bytes, 1000 repetitions: {1.5 + n}0 us" for n in range(3)]
    (tmp_path / "a.log").write_text("\n".join(["collbench 1.0", *rows, ""]))
    (tmp_path / "torn.log").write_text(
        "\n".join(["collbench 1.0", *rows, "Bcast, 4 ranks, 64 by 2.5 us", ""])
    )

    imported = imb(tree, tmp_path, "import", "a.log", "--label", "old")
    assert imported.returncode == 0, imported
    shown = imb(tree, tmp_path, "show", "old", "--no-chart")
    assert "collbench" in shown.stdout and "Bcast" in shown.stdout and "1.50" in shown.stdout, shown
    judged = imb(tree, tmp_path, "diagnose", "torn.log")
    assert judged.returncode == 1 and "not a row: 'Bcast, 4 ranks, 64 by 2.5 us'" in judged.stderr, judged
    assert "1 row skipped" in judged.stdout, judged


RECORDS = [
    {"record": "run", "schema": "openimb-record/2", "component": "MPI1", "mpi": {"library": "MPI at hand"}},
    *(
        {
            "record": "result",
            "benchmark": "PingPong",
            "processes": 2,
            "bytes": length,
            "repetitions": repetitions,
            "time_avg_seconds": 1e-6,
        }
        for length, repetitions in ((8, 1000), (4096, 3))
    ),
]


@pytest.mark.slow
@pytest.mark.slice("tune")
def test_an_mpi_library_is_its_class_and_its_tuner(tree: Path, tmp_path: Path) -> None:
    """Found by its launcher, listed in messages, launched, stored, and tuned."""
    from companion.tune import fake_tuning

    options = [str(word) for word in fake_tuning.make(tmp_path / "mpi")]
    launcher = tmp_path / "mpi" / "bin" / "mpiexec"
    text = launcher.read_text().replace("mpiexec (Open MPI) 5.0.9", "Acme MPI 2.1").replace("FAKE_", "ACME_")
    launcher.write_text(text)

    unknown = imb(tree, tmp_path, "run", "--mpi", "nothing")
    assert "give openmpi, mpich, intel or acme, a folder" in unknown.stderr, unknown
    words = ["run", "Bcast", *options, "--np", "4", "--label", "one", "--env"]
    shown = imb(tree, tmp_path, *words, "ACME_X=1", "--dry-run")
    assert shown.stdout.startswith(f"{launcher} -n 4 -x ACME_X=1 "), shown
    assert "Acme MPI 2.1 ignores OMPI_MCA_btl" in imb(tree, tmp_path, *words, "OMPI_MCA_btl=tcp").stderr
    assert "Acme MPI 2.1" in imb(tree, tmp_path, "show", "one", "--no-chart").stdout

    output = tmp_path / "out"
    words = ["--np", "4", "--seed", "1", "--output", str(output), "--format", "json"]
    tuned = imb(tree, tmp_path, "tune", *options, *words, "Allreduce")
    assert tuned.returncode == 0, tuned
    report = json.loads(tuned.stdout)
    assert [cell["chosen"] for cell in report["cells"]] == ["default", "fast", "fast"]
    assert report["unproven"] == "Acme MPI does not report its algorithms"
    rules = json.loads((output / "rules.json").read_text())["rules"]
    assert rules == [["Allreduce", 4, 1024, "fast"], ["Allreduce", 4, 16384, "fast"]]


@pytest.mark.slow
def test_a_command_is_its_module_and_a_line(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    listed = imb(tree, tmp_path, "environment", "records.jsonl")
    assert listed.returncode == 0, listed
    assert re.search(r"(?m)^MPI library +MPI at hand$", listed.stdout), listed
    assert "List the conditions of a run." in imb(tree, tmp_path, "--help").stdout
    unknown = imb(tree, tmp_path, "environment", "nothing")
    assert unknown.returncode == 2 and unknown.stderr.count("\n") == 1, unknown


@pytest.mark.slow
def test_an_option_of_a_command_is_its_parameter(tree: Path, tmp_path: Path) -> None:
    """In its group of the help, refused where a form of the command would ignore it."""
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    words = ["diagnose", "records.jsonl", "--threshold", "repetitions=5", "--rule"]
    assert "few-repetitions" in imb(tree, tmp_path, *words, "few-repetitions").stdout
    other = imb(tree, tmp_path, *words, "cliff")
    assert other.returncode == 0 and "few-repetitions" not in other.stdout, other
    refused = imb(tree, tmp_path, "diagnose", "--thresholds", "--rule", "cliff")
    assert (refused.returncode, refused.stderr) == (
        2,
        "imb: --rule cannot be combined with --thresholds\n",
    )
    options = imb(tree, tmp_path, "diagnose", "--help").stdout.partition("\nOutput:\n")[2]
    assert re.search(r"--rule NAME +Show only findings of this rule\.", options), options


@pytest.mark.slow
def test_a_slice_is_its_folder_and_a_line(tree: Path, tmp_path: Path) -> None:
    """It launches, judges, and is continued; taken out, the rest has no trace of it."""
    options = [str(word) for word in fake_mpi.make(tmp_path / "mpi")]
    done = imb(tree, tmp_path, "spread", "--launches", "3", *options)
    assert done.returncode == 0 and re.fullmatch(r"slowest over fastest launch: 1\.0\d\n", done.stdout), done
    [plan] = (tmp_path / "archive").glob("sessions/*/plan.json")
    assert json.loads(plan.read_text())["settings"] == {"limit": 1.1}
    again = imb(tree, tmp_path, "run", "--resume")
    assert (again.returncode, again.stdout) == (0, done.stdout), again
    assert "Measure how far launches lie apart." in imb(tree, tmp_path, "--help").stdout


@pytest.mark.slow
def test_an_experiment_is_its_room_and_its_lines(tree: Path, tmp_path: Path) -> None:
    """It plans one launch after the other, and continues as it would have."""
    options = [str(word) for word in fake_mpi.make(tmp_path / "mpi")]
    times = tmp_path / "times"
    times.write_text("1\n2\n3\n3\n")
    done = imb(tree, tmp_path, "settle", *options, FAKE_TIMES=str(times))
    assert (done.returncode, done.stdout) == (0, "settled after 4 launches\n"), done
    [session] = (tmp_path / "archive").glob("sessions/*")
    again = imb(tree, tmp_path, "run", "--resume", session.name)
    assert (again.returncode, again.stdout) == (0, done.stdout), again


@pytest.mark.slow
def test_a_diagnosis_rule_is_its_function_its_limit_and_a_line(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    judged = imb(tree, tmp_path, "diagnose", "records.jsonl")
    assert "3 repetitions at 4 KiB; less than 5" in judged.stdout, judged
    healthy = imb(tree, tmp_path, "diagnose", "records.jsonl", "--threshold", "repetitions=2")
    assert "less than" not in healthy.stdout, healthy


# --- A benchmark and a form of one ---------------------------------------------------------------------------------


def mpich() -> lab.Mpi:
    found = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    return found[0] if found else lab.missing("a build with MPICH")


def command_of(mpi: lab.Mpi, output: str) -> list[str]:
    """What compiles this object of the suite, up to its output."""
    entries = json.loads((mpi.build / "compile_commands.json").read_text())
    [command] = [entry["command"] for entry in entries if f" -o {output} " in entry["command"]]
    words = machine_code.without_compiled_headers(shlex.split(command))
    return words[: words.index("-o")]


def run(words: list[str], mpi: lab.Mpi) -> None:
    done = subprocess.run(
        words,
        cwd=mpi.build,
        env=lab.environment(mpi),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"


def cmake() -> str:
    path = f"{lab.ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
    return shutil.which("cmake", path=path) or lab.missing("cmake")


@pytest.fixture(scope="module")
def programs() -> tuple[lab.Mpi, Path]:
    mpi = mpich()
    return mpi, lab.built_once("changed-programs", lambda folder: build_programs(mpi, folder))


def build_programs(mpi: lab.Mpi, folder: Path) -> None:
    """Builds IMB-MPI1 with the page's benchmark, IMB-MPI4 with its form and IMB-NEIGHBOR, linked with the rest of the build."""
    catalog = "src/benchmarks/mpi1.h"
    changed: dict[str, str] = {}
    for heading, files in (
        ("A benchmark", {"mpi1.h", "reduce_bcast.h"}),
        ("A form of a benchmark", {"mpi4.h"}),
        ("A component", {"components.txt", "neighbor.h", "neighbor.cpp"}),
    ):
        of_section = guide.changed_files(PAGE, heading)
        assert set(of_section) == {f"src/benchmarks/{file}" for file in files}
        changed |= of_section
    include = '#include "benchmarks/reduce_bcast.h"\n'
    changed[catalog] = (
        changed[catalog]
        .replace(include, include + '#include "two.h"\n')
        .replace(f"{NAME},", f"{NAME}, {TWO},", 1)
    )
    for file, text in (changed | {"src/two.h": BCAST_OF_TWO}).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    (folder / "cmake").mkdir()
    shutil.copy(lab.TOP / "cmake" / "components.cmake", folder / "cmake")
    run([cmake(), f"-DFOLDER={folder / 'src'}", "-P", str(folder / "cmake" / "components.cmake")], mpi)

    def compiled(like: str, source: str, name: str = "mpi1") -> str:
        """Compiled as this object of the build is."""
        target = folder / f"{name}-{Path(source).name}.o"
        words = [word.replace("COMPONENT=mpi1", f"COMPONENT={name}") for word in command_of(mpi, like)]
        words[1:1] = [f"-I{folder / 'src'}"]
        options = ["-O0", "-Wall", "-Wextra", "-Werror"]
        place = folder if (folder / source).exists() else lab.TOP
        run([*words, *options, "-o", str(target), "-c", str(place / source)], mpi)
        return str(target)

    specs = compiled(
        "CMakeFiles/component_specs.dir/src/benchmarks/components.cpp.o", "src/benchmarks/components.cpp"
    )
    for name in ("MPI1", "MPI4", "NEIGHBOR"):
        key = name.lower()
        objects = [
            compiled("CMakeFiles/IMB-MPI1.dir/src/app/main.cpp.o", "src/app/main.cpp", key),
            compiled(
                "CMakeFiles/catalog_mpi1.dir/src/benchmarks/mpi1.cpp.o", f"src/benchmarks/{key}.cpp", key
            ),
            specs,
        ]
        libraries = [str(mpi.build / f"lib{library}.a") for library in LIBRARIES]
        run([mpi.wrapper, *objects, *libraries, "-lrt", "-o", str(folder / f"IMB-{name}")], mpi)


def launch(
    programs: tuple[lab.Mpi, Path],
    ranks: int,
    words: str,
    folder: Path,
    wrap: str = "",
    component: str = "MPI1",
) -> lab.Launch:
    mpi, built = programs
    # The wrapper runs the changed program instead of the build's.
    exchange = ["sh", "-c", 'program=$0; shift; exec "$program" "$@"', str(built / f"IMB-{component}")]
    return lab.run(mpi, ranks, words, records=folder, wrap=["env", *wrap.split(), *exchange])


@pytest.mark.needs_mpi
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_benchmark_is_a_struct_and_a_line(programs, ranks, tmp_path):
    words = f"-check -iter 3 -msgsize 0,72,20000 -npmin {ranks} -root_shift on {NAME} Allreduce"
    done = launch(programs, ranks, words, tmp_path)
    assert done.code == 0, done.text + done.errors
    assert [row["benchmark"] for row in done.rows] == [NAME] * 3 + ["Allreduce"] * 3
    assert {row["defects"] for row in done.rows} == {0}


@pytest.mark.needs_mpi
def test_a_form_of_a_benchmark_is_a_line(programs, tmp_path):
    words = f"-check -iter 3 -msgsize 0,72 -npmin 3 -time 60 {lab.SHORT_LOAD} {FORM} Bcast_persist"
    done = launch(programs, 3, words, tmp_path, component="MPI4")
    assert done.code == 0, done.text + done.errors
    assert {row["benchmark"] for row in done.rows} == {FORM, "Bcast_persist"}
    assert all(row["defects"] == 0 and row["overlap_percent"] >= 0 for row in done.rows)
    listed = launch(programs, 1, "-list", tmp_path, component="MPI4").text
    assert re.search(rf"(?m)^ *{FORM}\b", listed)


@pytest.mark.needs_mpi
def test_a_program_for_every_mpi_refers_weakly_to_the_calls_of_the_form(programs):
    """MPI_Scan_init is in no list; no MPI call of the component is a strong reference."""
    mpi, folder = programs
    command = command_of(mpi, "CMakeFiles/catalog_mpi4.dir/src/benchmarks/mpi4.cpp.o")
    header = command[command.index("-isystem") + 1]
    script = ["-DFOLDER=" + str(folder / "src"), f"-DCOMPILER={mpi.wrapper};-I{header}"]
    run([cmake(), *script, "-P", str(lab.TOP / "cmake" / "mpi_calls.cmake")], mpi)
    command[1:1] = [f"-I{folder / 'src'}"]
    portable = ["-O0", '-DOPENIMB_PORTABLE="MPICH ABI"', "-include", "mpi/optional.h"]
    target = folder / "portable.o"
    run([*command, *portable, "-o", str(target), "-c", str(lab.TOP / "src/benchmarks/mpi4.cpp")], mpi)
    symbols = [line.split()[-2:] for line in printed(["nm", "-u", str(target)], folder).splitlines()]
    of_mpi = {name: kind for kind, name in symbols if name.startswith("MPI_")}
    assert {"MPI_Scan_init", "MPI_Scan_init_c", "MPI_Start"} <= of_mpi.keys()
    assert {name for name, kind in of_mpi.items() if kind != "w"} <= {"MPI_Wtime"}


@pytest.mark.needs_mpi
def test_a_component_is_a_catalog_and_a_line(programs, tmp_path):
    done = launch(programs, 3, "-check -iter 3 -msgsize 0,72 -npmin 3", tmp_path, component="NEIGHBOR")
    assert done.code == 0, done.text + done.errors
    assert [(row["benchmark"], row["defects"]) for row in done.rows] == [("Exchange", 0)] * 2 + [
        ("Sendrecv", 0)
    ] * 2
    listed = json.loads(launch(programs, 1, "-list json", tmp_path).text)
    assert listed["components"][-1]["name"] == "NEIGHBOR"


@pytest.mark.needs_mpi
def test_two_messages_in_the_buffer_that_a_root_shares_are_checked(programs, liars, tmp_path):
    words = f"-check -iter 4 -msgsize 0,72,20000 -npmin 3 {TWO}"
    done = launch(programs, 3, f"{words} -root_shift on", tmp_path)
    assert done.code == 0, done.text + done.errors
    assert len(done.rows) == 3 and {row["defects"] for row in done.rows} == {0}
    library = liars(programs[0], "lying_mpi.cpp")
    done = launch(programs, 3, words, tmp_path, f"LD_PRELOAD={library} LIE_HOW=flip LIE_RANK=1")
    assert done.code == 4 and done.rows[-1]["defects"] > 0


@pytest.mark.needs_mpi
@pytest.mark.parametrize("how", ["flip", "drop", "shift", "late", "stale"])
def test_a_lying_mpi_is_found_in_the_benchmark(programs, liars, how, tmp_path):
    library = liars(programs[0], "lying_mpi.cpp")
    words = f"-check -iter 3 -msgsize 72 {NAME}"
    lied = launch(programs, 2, words, tmp_path, f"LD_PRELOAD={library} LIE_HOW={how} LIE_RANK=1")
    assert lied.code == 4 and all(row["defects"] > 0 for row in lied.rows)


def test_the_struct_is_short():
    code = next(code for _, where, _, code in guide.blocks(guide.section(PAGE, "A benchmark")) if not where)
    body = re.search(r"(?ms)^struct .*?^\};", code)
    assert body and len(body[0].splitlines()) <= 10


# --- Benchmarks that must not compile --------------------------------------------------------------------------------

SPEC = "static constexpr Spec spec{};"
STEP = "template <class C> static void step(const C&, const Iteration&) {}"
EXPECTS = "static ExpectedContents expects(const GroupRank&) { return {}; }"
CLOSE = "template <class C> static void close(const C&) {}"
OTHER_CLOSE = "template <class C> static void close(const C&, int) {}"


# What is wrong with it -> the member that the compiler must name, and the members that differ from a right one.
WRONG = {
    "without_base": ("PatternBase", ""),
    "no_spec": ("spec", f"{STEP} {EXPECTS}"),
    "no_step": ("step", f"{SPEC} {EXPECTS}"),
    "no_expects": ("expects", f"{SPEC} {STEP}"),
    "misspelled_expects": ("expects", f"{SPEC} {STEP} {EXPECTS.replace('expects', 'expect')}"),
    "other_arguments_of_expects": (
        "expects",
        f"{SPEC} {STEP} static ExpectedContents expects(int) {{ return {{}}; }}",
    ),
    "other_arguments": ("close", OTHER_CLOSE),
    "another_type": ("updates", "static int updates(const GroupRank&) { return 1; }"),
    "a_value": ("takes_part", "static constexpr bool takes_part = true;"),
    "no_view": (
        "prepare",
        "template <class C> static int prepare(const C&, const IterationPlan&) { return 1; }",
    ),
    "in_its_loop": ("close", f"struct Loop : PatternBase {{ {STEP} {OTHER_CLOSE} }};"),
    "no_post": ("post", SPEC.replace("{}", "{.overlap = Overlap::matched}") + STEP + EXPECTS),
}
RIGHT = (
    f"struct Right : PatternBase {{ {SPEC} {STEP} {EXPECTS} {CLOSE}"
    "static bool updates(const GroupRank&) { return true; } };"
)


@pytest.mark.needs_mpi
def test_what_is_no_benchmark_does_not_compile_and_the_compiler_names_the_member() -> None:
    mpi = mpich()
    words = command_of(mpi, "CMakeFiles/catalog_mpi1.dir/src/benchmarks/mpi1.cpp.o")
    lines = [
        '#include "engine/batch.h"',
        "namespace openimb {",
        RIGHT,
        "Entry right() { return entry<Right>(); }",
    ]
    for name, (_, members) in WRONG.items():
        base = "" if name == "without_base" else " : PatternBase"
        text = (
            members
            if SPEC in members or (STEP in members and "Loop" not in members)
            else SPEC + STEP + EXPECTS + members
        )
        lines.append(f"struct {name}{base} {{ {text} }};")
    good = "\n".join([*lines, "}"])
    bad = "\n".join([*lines, *(f'static_assert(Benchmark<{name}>, "<{name}>");' for name in WRONG), "}"])

    def compiled(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words, "-fsyntax-only", "-x", "c++", "-"],
            input=text,
            capture_output=True,
            text=True,
            cwd=mpi.build,
        )

    done = compiled(good)
    assert done.returncode == 0, done.stderr
    done = compiled(bad)
    messages = dict(
        re.findall(r"(?ms)error: static assertion failed: <(\w+)>$(.*?)(?=error:|\Z)", done.stderr)
    )
    assert set(messages) == set(WRONG), done.stderr
    for name, (member, _) in WRONG.items():
        assert re.search(rf"(?:Has_|::|\b){member}\b", messages[name]), f"{name}: {messages[name]}"


# --- What the page names ---------------------------------------------------------------------------------------------


def test_what_the_page_names_exists() -> None:
    text = PAGE.read_text()
    tree = "\n".join(path.read_text() for path in (lab.TOP / "src").rglob("*.h"))
    made = {file for file, where, *_ in guide.blocks(text) if not where}
    for path in re.findall(r"`((?:src|tests|cmake)/[\w/.]+\.(?:h|cpp|py|cmake))`", text):
        assert path in made or (lab.TOP / path).exists(), path
    for header in re.findall(r"`(\w+\.h)`", text):
        assert list((lab.TOP / "src").rglob(header)), header
    bases = "".join((lab.TOP / f"src/engine/{name}.h").read_text() for name in ("pattern", "timed_loop"))
    optional = re.findall(r"(?m)^  (?:static constexpr auto |\} )(\w+)(?: = \[|\{\};)", bases)
    assert len(optional) == 8
    for member in (*optional, "view", "post"):
        assert f"`{member}" in text, member
    for name in re.findall(r"\| `([A-Z]\w+)` \|$", text):
        assert f"struct {name}" in tree, name
