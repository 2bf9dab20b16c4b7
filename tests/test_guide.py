"""docs/adding-a-benchmark.md: its example is built as the page has it, runs, and is checked."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import guide
import lab
import pytest

PAGE = lab.TOP / "docs" / "adding-a-benchmark.md"
NAME = "Reduce_bcast"
# Not on the page: a root that sends two messages from the buffer in which the others receive them.
TWO = "Bcast_of_two"
BCAST_OF_TWO = """
#include "benchmarks/collective.h"
namespace openimb {
struct Bcast_of_two {
  static constexpr Spec spec{
      .name = "Bcast_of_two", .send = Extent::none, .receive = Extent::two, .rooted = true, .shares_buffer = true};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    call::broadcast(lap.receive, c.count, c.type, lap.root, c.comm);
    call::broadcast(lap.receive + c.span, c.count, c.type, lap.root, c.comm);
  }
  static Expected expects(const Endpoint& e) { return {{e.root, 0, 0, 2 * e.elements}}; }
};
}  // namespace openimb
"""
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


def write_changed_files(folder: Path) -> None:
    """The files that the page makes or changes, at their places below `folder`."""
    for file, text in guide.changed_files(PAGE).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    catalog = folder / "src/benchmarks/mpi1.h"
    lines = catalog.read_text().replace('#include "benchmarks/reduce_bcast.h"', '#include "two.h"', 1)
    catalog.write_text(lines.replace(f"{NAME},", f"{NAME}, {TWO},", 1))
    page = (folder / "src/benchmarks/reduce_bcast.h").resolve()
    (folder / "src/two.h").write_text(f'#pragma once\n#include "{page}"\n{BCAST_OF_TWO}')


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
def test_two_messages_in_the_buffer_that_a_root_shares_are_checked(program, liars, tmp_path):
    words = f"-check -iter 4 -msgsize 0,72,20000 -npmin 3 {TWO}"
    done = launch(program, 3, f"{words} -root_shift on", tmp_path)
    assert done.code == 0, done.text + done.errors
    assert len(done.rows) == 3 and {row["defects"] for row in done.rows} == {0}
    library = liars(program[0], "lying_mpi.cpp")
    done = launch(program, 3, words, tmp_path, f"LD_PRELOAD={library} LIE_HOW=flip LIE_RANK=1")
    assert done.code == 4 and done.rows[-1]["defects"] > 0


# By what is wrong with it: members of a benchmark that must not compile. The first one is right.
CLOSE = "template <class C> static void close(const C&) {}"
MEMBERS = {
    "right": "static constexpr Members members{.close = true, .updates = true};"
    f"{CLOSE} static bool updates(const Endpoint&) {{ return true; }}",
    "not_listed": CLOSE,
    "misspelled": "static constexpr Members members{.updates = true};"
    "static bool upddates(const Endpoint&) { return true; }",
    "misspelled_list": f"static constexpr Members membres{{.close = true}}; {CLOSE}",
    "another_list": f"static constexpr bool members = true; {CLOSE}",
    "other_arguments": "static constexpr Members members{.close = true};"
    "template <class C> static void close(const C&, int) {}",
    "another_type": "static constexpr Members members{.updates = true};"
    "static int updates(const Endpoint&) { return 1; }",
    "a_value": "static constexpr Members members{.takes_part = true}; static constexpr bool takes_part = true;",
    "no_view": "static constexpr Members members{.prepare = true};"
    "template <class C> static int prepare(const C&, const LapPlan&) { return 1; }",
    "in_its_loop": "struct Loop { template <class C> static void step(const C&, const Lap&) {}"
    + CLOSE
    + "};",
}


@pytest.mark.needs_mpi
def test_members_that_the_engine_would_not_find_do_not_compile():
    [mpi] = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    entries = json.loads((mpi.build / "compile_commands.json").read_text())
    entry = next(each for each in entries if each["file"] == str(lab.TOP / "src/benchmarks/mpi1.cpp"))
    words = shlex.split(entry["command"])
    words = [*words[: words.index("-o")], "-fsyntax-only", "-x", "c++", "-"]

    def compiled_text(use: str) -> subprocess.CompletedProcess[str]:
        structs = "".join(
            f"struct {name} {{ static constexpr Spec spec{{}};\n"
            f"template <class C> static void step(const C&, const Lap&) {{}}\n"
            f"static Expected expects(const Endpoint&) {{ return {{}}; }}\n{members}\n}};\n"
            for name, members in MEMBERS.items()
        )
        text = f'#include "engine/batch.h"\nnamespace openimb {{\n{structs}{use}\n}}\n'
        return subprocess.run(words, input=text, capture_output=True, text=True, cwd=mpi.build)

    judged = [
        f'static_assert({"" if name == "right" else "!"}Benchmark<{name}>, "{name}");' for name in MEMBERS
    ]
    done = compiled_text("\n".join(judged) + "Entry made() { return entry<right>(); }")
    assert done.returncode == 0, done.stderr
    done = compiled_text("Entry made() { entry<other_arguments>(); return entry<misspelled>(); }")
    assert done.returncode != 0
    assert "members: not the optional members that this benchmark and its Loop have" in done.stderr
    assert "cannot be called: engine/pattern.h" in done.stderr


@pytest.mark.needs_mpi
@pytest.mark.parametrize("how", ["flip", "drop", "shift", "late", "stale"])
def test_a_lying_mpi_is_found_in_the_example(program, liars, how, tmp_path):
    library = liars(program[0], "lying_mpi.cpp")
    words = f"-check -iter 3 -msgsize 72 {NAME}"
    lied = launch(program, 2, words, tmp_path, f"LD_PRELOAD={library} LIE_HOW={how} LIE_RANK=1")
    assert lied.code == 4 and all(row["defects"] > 0 for row in lied.rows)


def test_example_is_short():
    code = next(code for file, where, _, code in guide.blocks(PAGE) if not where)
    body = re.search(r"(?ms)^struct .*?^\};", code)
    assert body and len(body[0].splitlines()) <= 10


def test_what_the_page_names_exists():
    text = PAGE.read_text()
    tree = "\n".join(path.read_text() for path in (lab.TOP / "src").rglob("*.h"))
    for path in re.findall(r"`((?:src|tests|cmake)/[\w/.]+\.(?:h|cpp|py|cmake))`", text):
        made = any(path == file for file, where, *_ in guide.blocks(PAGE) if not where)
        assert made or (lab.TOP / path).exists(), path
    for header in re.findall(r"`(\w+\.h)`", text):
        assert list((lab.TOP / "src").rglob(header)), header
    for member in (
        "prepare",
        "view",
        "epoch",
        "close",
        "post",
        "takes_part",
        "peer_of",
        "updates",
        "members",
    ):
        assert f"`{member}" in text and member in (lab.TOP / "src/engine/pattern.h").read_text()
    for name in re.findall(r"\| `([A-Z]\w+)` \|$", text):
        assert f"struct {name}" in tree, name
