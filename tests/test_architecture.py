"""The house as docs/architecture.md draws it: an include that is not listed there is not allowed."""

import re

from lab import TOP

MAY_USE = {
    "plan": set(),
    "result": {"plan"},
    "report": {"plan", "result"},
    "cli": {"plan"},
    "system": set(),
    "mpi": {"plan"},
    "engine": {"plan", "result", "report", "mpi"},
    "benchmarks": {"engine", "mpi", "plan"},
    "app": {"plan", "result", "report", "cli", "system", "mpi", "engine", "benchmarks"},
}
MAY_SEE_MPI = {"mpi", "engine", "benchmarks", "app"}
# The parts of these modules that the unit tests run without MPI.
PURE_FILES = {"engine/timed_loop.h", "engine/expected.h", "engine/content.h", "engine/content.cpp"}
PURE_FILES |= {"engine/cpu_load.h", "engine/file_content.h", "engine/file_content.cpp"}
OPERATING_SYSTEM = re.compile(
    r"<(unistd\.h|sys/.*|sched\.h|signal\.h|csignal|windows\.h|pthread\.h|fcntl\.h)>"
)


def sources():
    for path in sorted((TOP / "src").rglob("*")):
        if path.suffix in (".h", ".cpp"):
            yield path.relative_to(TOP / "src"), path.read_text()


def includes(text):
    return re.findall(r'(?m)^#include ["<]([^">]+)[">]', text)


def test_every_folder_is_a_known_module():
    assert {path.parts[0] for path, _ in sources()} == set(MAY_USE)


def test_no_arrow_that_is_not_allowed():
    wrong = []
    for path, text in sources():
        module = path.parts[0]
        for included in includes(text):
            target = included.split("/")[0]
            if "/" in included and target in MAY_USE and target != module and target not in MAY_USE[module]:
                wrong.append(f"{path} includes {included}")
    assert not wrong


def test_mpi_is_seen_only_where_it_belongs():
    wrong = [
        str(path)
        for path, text in sources()
        if "mpi.h" in includes(text) and path.parts[0] not in MAY_SEE_MPI
    ]
    assert not wrong


def test_pure_parts_of_the_engine_stay_pure():
    for path, text in sources():
        if str(path) in PURE_FILES:
            assert not [
                name for name in includes(text) if name.startswith("mpi") or name == "engine/pattern.h"
            ], path


def test_operating_system_calls_live_in_one_folder():
    folders = {path.parts[0] for path, text in sources() if OPERATING_SYSTEM.search(text)}
    assert folders == {"system"}


def test_documentation_lists_every_module():
    page = (TOP / "docs" / "architecture.md").read_text()
    for module in MAY_USE:
        assert f"| `{module}` |" in page


def test_benchmarks_are_at_most_ten_code_lines():
    """Spec, step and expects together, as the guide to adding one promises."""
    for path in (TOP / "src" / "benchmarks").glob("*.h"):
        for name, body in re.findall(r"(?ms)^struct (\w+)[^;{]*\{\n(.*?)^\};", path.read_text()):
            if "Spec spec" not in body:
                continue
            inside = re.sub(r"(?ms)static constexpr Spec spec\b.*?(\}|\}\(\)|\));\n(?=  |\Z)", "", body)
            code = [
                line for line in inside.splitlines() if line.strip() and not line.strip().startswith("//")
            ]
            code = [line for line in code if line.strip() not in ("}", "template <class C>", "} else {")]
            assert len(code) <= 10, f"{path.name}: {name} has {len(code)} code lines"
