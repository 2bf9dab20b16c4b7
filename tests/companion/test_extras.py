"""Installations without the extras: what needs one says so in a line, and all else works."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.archive.store import Archive
from imb.cli import COMMANDS
from imb.cli.extras import EXTRAS

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "reference"
LIBRARIES = [library for libraries in EXTRAS.values() for library in libraries]
BROUGHT = ["markupsafe", "narwhals", "PIL"]  # by these libraries, and by no other


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None of the libraries of extras can be imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in LIBRARIES + BROUGHT]:
        monkeypatch.delitem(sys.modules, name)
    for library in LIBRARIES + BROUGHT:
        monkeypatch.setitem(sys.modules, library, None)
    for name in ("imb.render.chart", "imb.render.page", "imb.render.picture"):
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
        (["report", "a"], 'imb: imb report needs jinja2 and plotly; pip install "openimb[report]"'),
        (["compare", "a", "b", "--format", "html"],
         'imb: imb compare --format html needs jinja2 and plotly; pip install "openimb[report]"'),
        (["plot", "a"], 'imb: imb plot needs plotext; pip install "openimb[plot]"'),
        (["plot", "a", "-o", "a.svg"], 'imb: imb plot needs matplotlib; pip install "openimb[plot]"'),
        (["show", "a", "--chart"], 'imb: imb show --chart needs plotext; pip install "openimb[plot]"'),
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
        assert (said.code, said.err) == (2, 'imb: --submit needs psij; pip install "openimb[submit]"\n')
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
        ["latency", *options, "--bytes", "8", "--launches", "2"],
        ["compare", "t/a", "t/b"],
        ["compare", "t/a", "t/b", "--format", "markdown"],
        ["ls"],
        ["show", "r"],
        ["diagnose", "r"],
        ["query", "SELECT count(*) FROM runs"],
        ["export", "r"],
        ["label", "r", "more"],
        ["baseline", "set", "base", "t/a"],
        ["baseline", "check", "base", "t/b"],
        ["rm", "r"],
        ["verify"],
    ):
        said = imb(*words)
        assert "openimb[" not in said.err and said.code in (0, 1, 10, 11), (words, said.err)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_needs_no_extra(name: str) -> None:
    """In a process of its own, which has imported nothing before."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({LIBRARIES + BROUGHT!r}))"
    begin = f"{hide}; from imb.cli import main; main(['{name}', '--help'])"
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("Usage: imb")
