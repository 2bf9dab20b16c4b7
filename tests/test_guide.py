"""docs/adding-a-benchmark.md: its example is built as the page has it, runs, and is checked."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import lab
import pytest

PAGE = lab.TOP / "docs" / "adding-a-benchmark.md"
NAME = "Reduce_bcast"
LIBRARIES = (
    "app",
    "engine",
    "session",
    "cli",
    "report",
    "result",
    "memory",
    "device",
    "system",
    "mpi",
    "plan",
)


def blocks() -> list[tuple[str, str, str, str]]:
    """(file, "before", "after" or nothing, the text that this refers to, code) of all marked blocks of code."""
    found = re.findall(r"(?ms)^```cpp file=(\S+)(?: (before|after)=([^\n]+))?\n(.*?)^```$", PAGE.read_text())
    assert len(found) == 3 and PAGE.read_text().count("```cpp") == 3
    return found


def write_changed_files(folder: Path) -> None:
    """The files that the page makes or changes, at their places below `folder`."""
    for file, where, anchor, code in blocks():
        target, source = folder / file, lab.TOP / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if not where:
            assert not source.exists(), f"{file} is there already: the page needs another example"
            target.write_text(code)
            continue
        text = (target if target.exists() else source).read_text()
        assert text.count(anchor) == 1, f"{anchor!r} in {file}"
        target.write_text(text.replace(anchor, code + anchor if where == "before" else anchor + "\n" + code))


def compiled(mpi: lab.Mpi, source: str, folder: Path) -> Path:
    """An object of the suite, with the changed files in place of those of the tree."""
    entries = json.loads((mpi.build / "compile_commands.json").read_text())
    entry = next(each for each in entries if each["file"] == str(lab.TOP / source))
    words = shlex.split(entry["command"])
    target = folder / f"{Path(source).stem}.o"
    words[words.index("-o") + 1] = str(target)
    words[1:1] = [f"-I{folder / 'src'}"]
    run([*words, "-O0", "-Wall", "-Wextra", "-Werror"], mpi)
    return target


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


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> tuple[lab.Mpi, Path]:
    """IMB-MPI1 with the page's benchmark, linked with the rest of the build."""
    found = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    if not found:
        lab.missing("a build with MPICH")
    [mpi] = found
    folder = tmp_path_factory.mktemp("guide")
    write_changed_files(folder)
    objects = [
        compiled(mpi, source, folder)
        for source in ("src/app/main.cpp", "src/benchmarks/mpi1.cpp", "src/benchmarks/components.cpp")
    ]
    target = folder / "IMB-MPI1"
    libraries = [mpi.build / f"lib{name}.a" for name in LIBRARIES]
    run([mpi.wrapper, *map(str, objects), *map(str, libraries), "-lrt", "-o", str(target)], mpi)
    return mpi, target


def launch(program: tuple[lab.Mpi, Path], ranks: int, words: str, folder: Path, wrap: str = "") -> lab.Launch:
    mpi, target = program
    # The wrapper runs the page's program instead of the build's.
    exchange = ["sh", "-c", 'program=$0; shift; exec "$program" "$@"', str(target)]
    return lab.run(mpi, ranks, words, records=folder, wrap=["env", *wrap.split(), *exchange])


@pytest.mark.needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_example_runs_and_checks(program, ranks, tmp_path):
    words = f"-check -iter 3 -msgsize 0,72,20000 -npmin {ranks} -root_shift on {NAME} Allreduce"
    done = launch(program, ranks, words, tmp_path)
    assert done.code == 0, done.text + done.errors
    assert [row["benchmark"] for row in done.rows] == [NAME] * 3 + ["Allreduce"] * 3
    assert {row["defects"] for row in done.rows} == {0}
    assert f"  {NAME} " in launch(program, 1, "-list", tmp_path).text


@pytest.mark.needs_mpi
@pytest.mark.parametrize("how", ["flip", "drop", "shift", "late", "stale"])
def test_a_lying_mpi_is_found_in_the_example(program, liars, how, tmp_path):
    library = liars(program[0], "lying_mpi.cpp")
    words = f"-check -iter 3 -msgsize 72 {NAME}"
    lied = launch(program, 2, words, tmp_path, f"LD_PRELOAD={library} LIE_HOW={how} LIE_RANK=1")
    assert lied.code == 4 and all(row["defects"] > 0 for row in lied.rows)


def test_example_is_short():
    code = next(code for file, where, _, code in blocks() if not where)
    body = re.search(r"(?ms)^struct .*?^\};", code)
    assert body and len(body[0].splitlines()) <= 10


def test_what_the_page_names_exists():
    text = PAGE.read_text()
    tree = "\n".join(path.read_text() for path in (lab.TOP / "src").rglob("*.h"))
    for path in re.findall(r"`((?:src|tests|cmake)/[\w/.]+\.(?:h|cpp|py|cmake))`", text):
        made = any(path == file for file, where, *_ in blocks() if not where)
        assert made or (lab.TOP / path).exists(), path
    for header in re.findall(r"`(\w+\.h)`", text):
        assert list((lab.TOP / "src").rglob(header)), header
    for member in ("prepare", "view", "epoch", "close", "post", "takes_part", "peer_of", "updates"):
        assert f"`{member}" in text and member in (lab.TOP / "src/engine/pattern.h").read_text()
    for name in re.findall(r"\| `([A-Z]\w+)` \|$", text):
        assert f"struct {name}" in tree, name
