"""Installations without the extras: what needs one says so in a line, and all else works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from companion.machines import curve, launch, message, save
from imb.registry import commands
from imb.store.store import Archive

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "reference"
# Libraries that commands need, by the extra that brings them.
EXTRAS = {
    "report": ("jinja2", "plotly"),
    "plot": ("matplotlib", "plotext"),
    "submit": ("psij",),
}
LIBRARIES = [library for libraries in EXTRAS.values() for library in libraries]
BROUGHT = ["markupsafe", "narwhals", "PIL"]  # by these libraries, and by no other


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None of the libraries of extras can be imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in LIBRARIES + BROUGHT]:
        monkeypatch.delitem(sys.modules, name)
    for library in LIBRARIES + BROUGHT:
        monkeypatch.setitem(sys.modules, library, None)
    for name in ("imb.report.chart", "imb.report.page", "imb.report.picture"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield


@pytest.fixture
def logs(imb: Imb, hidden: None) -> None:
    for label, log in zip("ab", sorted(REFERENCE.glob("mpi1-*.txt")), strict=False):
        assert imb("import", log, "--label", label).code == 0


def test_extras_are_those_of_the_package() -> None:
    """And the core does not bring them."""
    project = tomllib.loads((lab.TOP / "pyproject.toml").read_text())["project"]
    packages = {"psij": "psij-python"}
    for extra, libraries in EXTRAS.items():
        brought = [words.partition(">=")[0] for words in project["optional-dependencies"][extra]]
        assert brought == [packages.get(library, library) for library in libraries]
    core = {words.partition(">=")[0] for words in project["dependencies"]}
    assert not core & {packages.get(library, library) for library in LIBRARIES}
    assert all(">=" in words for words in project["dependencies"])


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["report", "a"], 'imb: imb report needs jinja2 and plotly; pip install jinja2 plotly'),
        (["compare", "a", "b", "--format", "html"],
         'imb: imb compare --format html needs jinja2 and plotly; pip install jinja2 plotly'),
        (["report", "a", "-f", "terminal"], "imb: imb report --format terminal needs plotext; pip install 'plotext<7'"),
        (["report", "a", "-o", "a.svg"], 'imb: imb report --format svg needs matplotlib; pip install matplotlib'),
        (["show", "a", "--chart"], "imb: imb show --chart needs plotext; pip install 'plotext<7'"),
    ],
)  # fmt: skip
def test_a_command_without_its_extra_is_one_line(imb: Imb, words: list[str], says: str) -> None:
    said = imb(*words)
    assert (said.code, said.out, said.err) == (2, "", says + "\n")


@pytest.mark.usefixtures("hidden")
def test_nothing_is_planned_where_it_cannot_be_submitted(imb: Imb, archive: Archive, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    file = tmp_path / "trial.toml"
    file.write_text(
        f'benchmarks = ["PingPong"]\n[variants.a]\nmpi = "{options[1]}"\nprograms = "{options[3]}"\n'
    )
    ab = ["ab", "--a", "A=1", "--b", "A=2", *options, "PingPong"]
    for words in (["run", "PingPong", *options], ["campaign", file], ab):
        said = imb(*words, "--submit", "local")
        assert (said.code, said.err) == (2, "imb: --submit needs psij; pip install psij-python\n")
    assert not list(archive.folder.glob("sessions/*"))


@pytest.mark.usefixtures("logs")
def test_all_else_needs_no_extra(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    for words in (
        ["run", "PingPong", *options, "--label", "r"],
        [
            "ab",
            "--a",
            "FAKE_TIME=1",
            "--b",
            "FAKE_TIME=1",
            *options,
            "--launches",
            "2",
            "--name",
            "t",
            "PingPong",
        ],
        ["compare", "t/a", "t/b"],
        ["compare", "t/a", "t/b", "--format", "markdown"],
        ["ls"],
        ["show", "r"],
        ["diagnose", "r"],
        ["query", "SELECT count(*) FROM runs"],
        ["export", "r"],
        ["archive", "label", "r", "more"],
        ["baseline", "set", "base", "t/a"],
        ["baseline", "check", "base", "t/b"],
        ["archive", "rm", "r"],
        ["archive", "verify"],
    ):
        said = imb(*words)
        assert "pip install" not in said.err and said.code in (0, 1, 10, 11), (words, said.err)


@pytest.mark.parametrize("name", commands())
def test_help_needs_no_extra(name: str) -> None:
    """In a process of its own, which has imported nothing before."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({LIBRARIES + BROUGHT!r}))"
    begin = f"{hide}; from imb.cli import main; main(['{name}', '--help'])"
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("Usage: imb")


# --- Processes of their own ----------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """Files of records that can be compared."""
    return [str(save(tmp_path / f"{name}.jsonl", launch(curve(message)))) for name in "ab"]


def commands_of_the_core(files: list[str]) -> list[tuple[list[str], int]]:
    """Each with its exit status: two launches alone are inconclusive."""
    return [
        (["import", *files, "--label", "both"], 0),
        (["ls"], 0),
        (["show", "both"], 0),
        (["compare", *files], 11),
        (["diagnose", files[0]], 0),
        (["query", "SELECT count(*) FROM runs"], 0),
        (["export", "both", "--format", "csv"], 0),
        (["archive", "verify"], 0),
    ]


@pytest.fixture
def core() -> Path:
    """The folder of programs of an environment with the lowest versions of the dependencies, and nothing else."""
    folder = lab.ENVIRONMENT / "core" / "bin"
    if not (folder / "imb").exists():
        lab.missing("an installation without extras (make lowest)")
    return folder


def test_the_core_installation_has_the_lowest_versions(core: Path) -> None:
    project = tomllib.loads((lab.TOP / "pyproject.toml").read_text())["project"]
    lowest = dict(words.split(">=") for words in project["dependencies"])
    ask = "import platform, sys; from importlib.metadata import version; print(platform.python_version(), *map(version, sys.argv[1:]))"
    done = subprocess.run([core / "python", "-c", ask, *lowest], capture_output=True, text=True, check=True)
    python, *versions = done.stdout.split()
    if f">={python}" != project["requires-python"]:  # and a newer one has no wheels of some
        lab.missing(f"Python {project['requires-python'].removeprefix('>=')} (make lowest)")

    def plain(version: str) -> str:
        return re.sub(r"(\.0)+$", "", version)

    found = dict(zip(lowest, map(plain, versions), strict=True))
    assert found == {name: plain(version) for name, version in lowest.items()}


@pytest.mark.slow
def test_a_core_installation_does_what_needs_no_extra(core: Path, two: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(lab.TOP / "python")}
    options = [str(word) for word in fake_mpi.make(tmp_path / "mpi")]
    page = ["--format", "html"]
    needing = [
        (["report", two[0]], "imb report needs jinja2 and plotly", "jinja2 plotly"),
        (["compare", *two, *page], "imb compare --format html needs jinja2 and plotly", "jinja2 plotly"),
        (["report", two[0], "-f", "terminal"], "imb report --format terminal needs plotext", "'plotext<7'"),
        (["report", two[0], "-o", "a.svg"], "imb report --format svg needs matplotlib", "matplotlib"),
        (["run", "PingPong", *options, "--submit", "local"], "--submit needs psij", "psij-python"),
    ]
    for words, code in [*commands_of_the_core(two), (["run", "PingPong", *options], 0)]:
        done = subprocess.run([core / "imb", *words], env=env, capture_output=True, text=True)
        assert done.returncode == code and "Traceback" not in done.stderr and done.stdout, (
            words,
            done.stderr,
        )
    for words, what, packages in needing:
        done = subprocess.run([core / "imb", *words], env=env, capture_output=True, text=True)
        line = f"imb: {what}; pip install {packages}\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", line), words


def test_a_table_is_printed_before_statistics_are_imported_and_mpi_ends(tmp_path: Path) -> None:
    """The first `imb run` of a terminal shows its rows at once; SciPy, Arrow and the judge take longer to import, and
    Open MPI takes most of a second to end."""
    options = [str(word) for word in fake_mpi.make(tmp_path / "mpi")]
    run = """
import io, os, sys
from imb.cli import main
from imb.report import run_tables
class Terminal(io.TextIOWrapper):
    def isatty(self): return True
sys.stdout = Terminal(sys.stdout.buffer, line_buffering=True)
def print_tables(*words, ours=run_tables.print_tables, **options):
    ours(*words, **options)
    open(os.environ["FAKE_END"], "x").close()
    found = {name.partition(".")[0] for name in sys.modules} | {name for name in sys.modules if name.startswith("imb.")}
    print("loaded:", *sorted(found))
run_tables.print_tables = print_tables
main(sys.argv[1:])
"""
    words = ["run", "PingPong", *options, "--archive", str(tmp_path / "archive")]
    env = os.environ | {"FAKE_END": str(tmp_path / "shown")}
    done = subprocess.run([sys.executable, "-c", run, *words], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    head, loaded = (
        done.stdout.split("loaded:")[0],
        set(done.stdout.split("loaded:")[1].splitlines()[0].split()),
    )
    assert "PingPong" in head
    assert not loaded & {
        "scipy",
        "pyarrow",
        "duckdb",
        "imb.compare",
        "imb.history",
        "imb.diagnose",
        *LIBRARIES,
    }


@pytest.mark.slow
def test_the_core_imports_no_library_of_an_extra(two: list[str]) -> None:
    """Where all are installed."""
    run = (
        "import sys; from imb.cli import main\n"
        "try: main(sys.argv[2:])\n"
        "finally: print('loaded:', *sorted(set(sys.argv[1].split(',')) & set(sys.modules)), file=sys.stderr)"
    )
    for words, code in commands_of_the_core(two):
        done = subprocess.run(
            [sys.executable, "-c", run, ",".join(LIBRARIES), *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr.splitlines()[-1]) == (code, "loaded:"), (words, done.stderr)
