"""The house as docs/architecture.md draws it: an include that is not listed there is not allowed."""

import ast
import importlib
import re
from collections import Counter
from typing import Any

from imb import registry
from imb.model.statuses import Status
from imb.runner.experiment import ArchivedExperiment, Experiment
from lab import TOP

MAY_USE = {
    "model": set(),
    "plan": {"model"},
    "result": {"model"},
    "report": {"model", "plan", "result"},
    "cli": {"model", "plan"},
    "system": set(),
    "device": {"model", "system"},
    "memory": {"model", "device"},
    "session": {"model", "plan", "result", "report"},
    "mpi": {"model"},
    "clocks": {"model", "plan", "session", "mpi", "system"},
    "engine": {"model", "plan", "session", "memory", "mpi", "device", "clocks"},
    "benchmarks": {"engine", "mpi", "model", "plan"},
    "resolve": {
        "model",
        "plan",
        "result",
        "cli",
        "system",
        "device",
        "session",
        "mpi",
        "engine",
        "benchmarks",
    },
    "app": set(),
}
MAY_USE["app"] = set(MAY_USE) - {"app"}
MAY_SEE_MPI = {"mpi", "clocks", "engine", "benchmarks", "resolve", "app"}
# The parts of these modules that the unit tests run without MPI.
PURE_FILES = {"engine/timed_loop.h", "engine/expected.h", "engine/content.h", "engine/content.cpp"}
PURE_FILES |= {
    "engine/thread_team.h",
    "engine/thread_team.cpp",
    "engine/team_batch.h",
    "engine/team_batch.cpp",
}
PURE_FILES |= {
    "engine/cpu_load.h",
    "engine/device_load.h",
    "engine/file_content.h",
    "engine/file_content.cpp",
    "clocks/offset.h",
    "clocks/offset.cpp",
    "clocks/slack.h",
    "clocks/tree.h",
}
OPERATING_SYSTEM = re.compile(
    r"<(unistd\.h|sys/.*|sched\.h|signal\.h|csignal|pthread\.h|fcntl\.h|netdb\.h|dirent\.h|dlfcn\.h|poll\.h"
    r"|windows\.h|winsock2\.h|io\.h)>|\b(getpid|setenv|localtime_r|gmtime_r|strerror_r|usleep|ssize_t)\b"
)

CHECK = TOP / "python/imb/mpi/check.cpp"


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
    folders = {path.parts[:2] for path, text in sources() if OPERATING_SYSTEM.search(text)}
    assert folders == {("system", "posix"), ("system", "windows")}
    # The check of `imb doctor` is compiled by users, too.
    assert not OPERATING_SYSTEM.search(CHECK.read_text())


SYSTEM_MACRO = re.compile(
    r"\b(_WIN32|_WIN64|_MSC_VER|__MINGW32__|__MINGW64__|__CYGWIN__|__linux(?:__)?|__gnu_linux__|__APPLE__|__MACH__"
    r"|__unix(?:__)?|__FreeBSD__|__NetBSD__|__OpenBSD__|__ANDROID__)\b"
)


def own_sources():
    """What is compiled of us: the suite, the wheel's launcher and the check of `imb doctor`."""
    yield from sources()
    for path in [*(TOP / "src").rglob("*.c"), CHECK]:
        yield path.relative_to(TOP / "src" if path.is_relative_to(TOP / "src") else TOP), path.read_text()


def test_operating_systems_are_named_in_one_folder():
    """No macro of an operating system, in conditions or elsewhere. Compilers differ in model/attributes.h."""
    found = {path for path, text in own_sources() if SYSTEM_MACRO.search(text)}
    assert {str(path) for path in found if path.parts[:2] != ("system", "posix")} == {"model/attributes.h"}


def test_conditions_are_of_the_mpi():
    """Outside of src/system: what CMake found in the MPI, the simulator, and the default of -check (CPPFLAGS=-DCHECK)."""
    found_by_cmake = (TOP / "cmake/MpiFeatures.cmake").read_text()
    known = set(re.findall(r"openimb_mpi_feature\((\w+)", found_by_cmake)) | {
        "OPENIMB_PORTABLE",
        "OPENIMB_LARGE_COUNT_UNDECLARED",
    }
    conditions = {
        (str(path), name)
        for path, text in own_sources()
        if path.parts[0] != "system"
        for line in re.findall(r"(?m)^ *# *(?:el)?if.*", text)
        for name in re.findall(r"\w+", line.partition("//")[0])[1:]
        if name not in known and name != "defined"
    }
    attributes = "model/attributes.h"
    of_a_test = ("launcher/launcher.c", "OPENIMB_SYSTEM_FOLDERS")
    of_imb = ("app/launch.cpp", "CHECK")
    assert conditions == {(attributes, "_MSC_VER"), (attributes, "__clang__"), of_a_test, of_imb}


def test_each_concern_is_there_for_every_system():
    folders = {
        name: {path.name for path, _ in sources() if path.parts[:2] == ("system", name)}
        for name in ("posix", "windows")
    }
    own = {"socket_connection.h", "last_error.cpp", "last_error.h", "stop_event.h"}
    assert folders["posix"] - own == folders["windows"] - own


def test_compilers_differ_in_one_file():
    """Attributes and extensions of GCC, which others lack, are macros there."""
    of_gcc = re.compile(
        r"\[\[gnu::|__attribute__|__builtin_|__extension__|__typeof__|__GNUC__|__PRETTY_FUNCTION__"
    )
    found = {str(path) for path, text in sources() if of_gcc.search(text)}
    assert found == {"model/attributes.h", "system/posix/signals.cpp"}


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
            # What a benchmark owns is made in lines of its own.
            inside = re.sub(r"(?ms)^  static auto prepare\(.*?^  \}\n", "", inside)
            code = [
                line for line in inside.splitlines() if line.strip() and not line.strip().startswith("//")
            ]
            code = [line for line in code if line.strip() not in ("}", "template <class C>", "} else {")]
            assert len(code) <= 10, f"{path.name}: {name} has {len(code)} code lines"


def without_literals(text):
    """Without comments, strings and characters; lines keep their numbers."""
    literal = r'//[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])*\'|(?m:^ *#(?:.*\\\n)*.*$)'
    return re.sub(literal, lambda found: "\n" * found[0].count("\n"), text)


def uncalled_members(header, texts):
    """Static member functions of a header's structs whose names occur in no code but where members are declared."""
    declared, code = r"(?m)^  static [^;{}()=]*\b(\w+)\(", without_literals("\n".join(texts))
    elsewhere = Counter(re.findall(r"\w+", code)) - Counter(re.findall(declared, code))
    return [name for name in re.findall(declared, without_literals(header)) if name not in elsewhere]


def test_every_member_of_a_benchmark_is_called():
    """The engine finds optional members by name: one that is misspelled would be left out without a word."""
    texts = [text for _, text in sources()]
    headers = [text for path, text in sources() if path.parts[0] == "benchmarks" and path.suffix == ".h"]
    unused = uncalled_members("\n".join(headers), texts)
    assert not unused, f"no code calls these members of benchmarks; misspelled? {unused}"
    made_up = "struct Made {\n  static bool upddates(const GroupRank& e) { return true; }\n};\n"
    assert uncalled_members(made_up, [*texts, made_up]) == ["upddates"]
    assert not uncalled_members(made_up.replace("upddates", "updates"), texts)


# The companion's core rooms, as docs/architecture.md lists them: imports go down only. Slices may use them; they use no slice.
ROOMS = [
    "cli",
    "experiments",
    "report",
    "diagnose",
    "history",
    "compare",
    "runner",
    "store",
    "mpi",
    "readers",
    "model",
    "stats",
]
SLICES = [name.removeprefix("imb.") for name in registry.SLICES]
PURE_ROOMS = {"diagnose", "history", "compare"}  # observations in, verdicts and findings out
# The same of slices, by file or folder.
PURE_PARTS: dict[str, set[str]] = {
    "startup": {"times.py"},
    "fabric": {"judging", "pair_records.py"},
    "tune": {"search.py", "cells.py"},
    "health": {"limits.py", "figure_state.py"},
}
PURE_MAY_USE = {"compare", "model", "stats"}


def python_sources():
    for path in sorted((TOP / "python" / "imb").rglob("*.py")):
        yield path.relative_to(TOP / "python" / "imb"), path.read_text()


def rooms_used(text):
    """Rooms that are imported anywhere in a file, in functions and for type checkers too."""
    return set(re.findall(r"(?m)^\s*(?:from|import) imb\.(\w+)", text))


def test_every_python_file_is_in_a_room():
    folders = {path.parts[0] for path, _ in python_sources() if len(path.parts) > 1}
    assert folders == {*ROOMS, *SLICES}
    assert {str(path) for path, _ in python_sources() if len(path.parts) == 1} == {
        "__init__.py",
        "__main__.py",
        "registry.py",
    }


def test_imports_go_down_the_rooms_only():
    wrong = []
    for path, text in python_sources():
        room = path.parts[0]
        if room not in ROOMS:
            continue
        allowed = set(ROOMS[ROOMS.index(room) :]) | {"registry"}
        if room in PURE_ROOMS:
            allowed = {room, *PURE_MAY_USE}
        wrong += [f"{path} imports imb.{used}" for used in rooms_used(text) - allowed]
    assert not wrong


def test_slices_use_the_core_and_no_other_slice():
    wrong = []
    for path, text in python_sources():
        room = path.parts[0]
        if room in SLICES:
            allowed = {*ROOMS, "registry", room}
            if not path.stem.endswith("_command"):
                allowed -= {"cli"}  # experiments are judged without the options of commands
            pure_parts = PURE_PARTS.get(room, set())
            if path.parts[1] in pure_parts:
                allowed = {room, *PURE_MAY_USE}
                own = set(re.findall(rf"(?m)^\s*from imb\.{room}\.(\w+)", text))
                pure = {name.removesuffix(".py") for name in pure_parts}
                wrong += [f"{path} imports imb.{room}.{used}" for used in own - pure]
            wrong += [f"{path} imports imb.{used}" for used in rooms_used(text) - allowed]
    assert not wrong


def test_the_core_names_no_slice():
    """Neither its commands nor its modules, in texts and comments as well. The registry has its line."""
    commands = "|".join(name for each in registry.entries()[1:] for name in each.commands)
    named = re.compile(rf"\bimb ({commands})\b|\bimb\.({'|'.join(SLICES)})\b")
    wrong = [
        f"{path}: {found[0]}"
        for path, text in python_sources()
        if path.parts[0] in ROOMS
        for found in named.finditer(text)
    ]
    assert not wrong


def test_no_import_circle():
    named = {
        ".".join(("imb", *path.with_suffix("").parts)).removesuffix(".__init__"): text
        for path, text in python_sources()
    }
    every = set(named)
    modules: dict[str, set[str]] = {name: set() for name in named}
    for name, text in named.items():
        for module, names in re.findall(r"(?m)^from (imb[\w.]*) import \(?([^)\n]*(?:\n    [^)]*)?)", text):
            parts = {f"{module}.{one}" for one in re.findall(r"(?:^|,)\s*(\w+)", names)}
            modules[name] |= parts if parts <= every else {module} | parts
    left = {name: (used & set(modules)) - {name} for name, used in modules.items()}
    while ready := {name for name, used in left.items() if not used}:
        left = {name: used - ready for name, used in left.items() if name not in ready}
    assert not left


def public_types(text):
    """Names of the classes and type aliases of a module. An alias is assigned to a name in CamelCase."""
    for node in ast.parse(text).body:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        names += [node.name] if isinstance(node, ast.ClassDef) else []
        yield from (
            name for name in names if re.fullmatch(r"(?:[A-Z][a-z0-9]*)+", name) and not name.isupper()
        )


def test_names_of_modules_and_of_types_are_unique():
    """So that a name leads to one place. A plural is no other name. Types that begin with _ belong to their module."""
    modules = Counter(
        path.stem.strip("_").removesuffix("s")
        for path, _ in python_sources()
        if path.stem not in ("__init__", "__main__")
    )
    types = Counter(name for _, text in python_sources() for name in public_types(text))
    assert {"Run", "BenchmarkKind"} <= types.keys()
    assert [name for name, count in modules.items() if count > 1] == []
    assert [name for name, count in types.items() if count > 1] == []


def experiments():
    """All classes of experiments by name."""
    for path, text in python_sources():
        if re.search(r"(?m)^class \w+Experiment\(", text):
            importlib.import_module(".".join(("imb", *path.with_suffix("").parts)))
    found: dict[str, Any] = {}
    classes: list[Any] = [Experiment]
    while classes:
        found |= {one.__name__: one for one in classes}
        classes = [derived for one in classes for derived in one.__subclasses__()]
    return found


def test_every_command_that_launches_has_an_experiment():
    """A command with --programs launches them: it passes an experiment to a loop, or a plan from which `carry_out_plan` makes the experiment."""
    classes, launching = experiments(), {}
    for name, entry in registry.commands().items():
        text = (TOP / "python" / f"{entry.module.replace('.', '/')}.py").read_text()
        if "ProgramsOption" in text:
            launching[name] = [one for one in re.findall(r"\b(\w+)\(", text) if one in classes]
            launching[name] += re.findall(r"\bsession_loop\.carry_out_plan\(", text)
    assert "run" in launching
    assert launching.get("health") in (None, ["CheckExperiment", "LearnExperiment"])
    assert not [name for name, found in launching.items() if not found]


def test_no_command_uses_another():
    """What several commands need is in a module of its own."""
    modules = {entry.module for entry in registry.commands().values()}
    used = re.compile(r"(?m)^\s*(?:from|import) (imb[\w.]*)(?: import (\w+))?")
    wrong = []
    for path, text in python_sources():
        for module, name in used.findall(text):
            wrong += [f"{path} imports {one}" for one in {module, f"{module}.{name}"} & modules]
    assert not wrong


def test_stored_experiments_can_be_resumed():
    """Each is in the registry, by the command that its plan names."""
    registered = {registry.load(name) for each in registry.entries() for name in each.experiments.values()}
    classes = {one for one in experiments().values() if issubclass(one, ArchivedExperiment)}
    assert {one for one in classes if not one.__abstractmethods__} == registered


def test_launches_begin_in_a_loop_that_executes_an_experiment():
    """Sessions in the archive have one, health checks another. Two more modules launch, but measure nothing: they ask an MPI for its
    transports and run the check of `imb doctor`."""
    loops = {"runner/execution.py": ("execution.execute", "experiments/session_loop.py")}
    if "health" in SLICES:
        loops["health/checks.py"] = ("checks.measure", "health/health_loop.py")
    started = {str(path) for path, text in python_sources() if re.search(r"\blaunch\.run\(", text)}
    assert started == {*loops, "runner/transports.py", "mpi/readiness_checks.py"}
    for call, loop in loops.values():
        assert {str(path) for path, text in python_sources() if f"{call}(" in text} == {loop}


def test_documentation_lists_every_room_and_slice():
    page = (TOP / "docs" / "architecture.md").read_text()
    picture = page.partition("core       ")[2].partition("```")[0]
    for room in [*ROOMS, *SLICES]:
        assert f"| `{room}` |" in page, room
        assert re.search(rf"(?m)(^| {{3}}){room} {{2}}", picture), room


def test_first_line_of_a_room_says_what_it_is_for():
    for room in [*ROOMS, *SLICES]:
        first = (TOP / "python" / "imb" / room / "__init__.py").read_text().splitlines()[0]
        assert re.match(r'"""[A-Z].{20,}\."""$|"""[A-Z].{20,}\.$', first), room


# Names of two things, where each is called so by those who use it.
def test_one_helper_for_percentiles_and_one_room_for_units():
    """Those of launches are imb.stats.medians.percentiles; figures become text in imb.model.units."""
    percentile = re.compile(r"\b(?:np|statistics)\.(?:nan)?(?:quantiles?|percentile)\(")
    unit = re.compile(
        r"\{[^{}\n]*(?:[*/] ?(?:1e[369]|1000|2\*\*[123]0)|>> ?[123]0)(?::[^{}]*)?\} ?[kMGmµ]?[iBsb]"
    )
    percent = re.compile(r"\{[^{}\"\n]*(?:\b[12]00 \*|\* 100\b)[^\"\n]*\}|:[+,.\d]*%\}")
    # Scores of tests; bits per second; IMB's own layout; GPUs' memory and links, which have units of makers.
    percentiles = {"stats/medians.py", "fabric/judging/classes.py", "fabric/judging/sweep_parts.py"}
    units = {"model/units.py", "model/conditions.py", "mpi/gpu_checks.py", "diagnose/gpu_link.py"}
    texts = {str(path): text for path, text in python_sources()}
    assert {path for path, text in texts.items() if percentile.search(text)} <= percentiles
    assert {path for path, text in texts.items() if unit.search(text)} <= units
    # Values of the suite's options, and checks of 100.
    percents = {"model/units.py", "runner/passes.py", "health/health_text.py"}
    assert {path for path, text in texts.items() if percent.search(text)} <= percents


def test_exit_statuses_have_one_home():
    """They are imb.model.statuses; the help of a command explains no other."""
    written = re.compile(
        r"\bstatus: int = \d|\bstatus=\d|\bExit\(\d|\breturn (?:1[012]|130)\b|\b(?:EXIT|STATUS)\b.*= \{[^}]*: \d"
    )
    explained = re.compile(r"Exit status: (.*?)(?:\n\n|\n    (?:\"\"\"|\\f))", re.DOTALL)
    number = re.compile(r"(?:^|[:;,(] )(\d+) ")
    known = {str(int(status)) for status in Status}
    texts = {str(path): text for path, text in python_sources()}
    assert {path for path, text in texts.items() if written.search(text)} == set()
    helps = [(path, help_text) for path, text in texts.items() for help_text in explained.findall(text)]
    assert len(helps) > 12
    assert [(path, text) for path, text in helps if not set(number.findall(text)) <= known] == []


def test_error_rates_have_one_home():
    """imb.stats.error_rates, for the rates that several verdicts keep."""
    written = re.compile(r"\b(?:level|false_discovery): float = \d|\b(?:LEVEL|FAMILY) = 0\.00?1\b")
    assert {str(path) for path, text in python_sources() if written.search(text)} == set()


def test_one_door_to_the_terminal():
    """Text of logs and users is cleaned in imb.report.terminal; what prints elsewhere would let it through."""
    prints = re.compile(
        r"typer\.echo|typer\.secho|(?<![\w.])print\(|\bConsole\(|std(out|err)\.(buffer|write)"
    )
    assert {str(path) for path, text in python_sources() if prints.search(text)} == {"report/terminal.py"}
