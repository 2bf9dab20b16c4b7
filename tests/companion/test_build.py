"""imb build: a small suite for what is built when, and once the real one."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import lab
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb import registry
from imb.cli import launching
from imb.model import mpis as known_mpis
from imb.model import suite
from imb.mpi import existing_builds, installations, suite_build

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(small LANGUAGES CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
find_package(MPI REQUIRED COMPONENTS CXX)
add_executable(IMB-MPI1 src/main.cpp)
target_link_libraries(IMB-MPI1 PRIVATE MPI::MPI_CXX)
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of a suite that builds quickly."""
    folder = tmp_path / "suite"
    (folder / "src" / "benchmarks").mkdir(parents=True)
    (folder / "src" / "benchmarks" / "components.txt").write_text("MPI1\n")
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "src" / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("1"); }\n')
    for module in ("suite_build", "existing_builds"):
        monkeypatch.setattr(f"imb.mpi.{module}.suite_folder", lambda: folder)
    monkeypatch.setenv("CXXFLAGS", "-O0 -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX")
    return folder


def said_by(folder: str) -> str:
    return subprocess.run([Path(folder, "IMB-MPI1")], capture_output=True, text=True, check=True).stdout


@pytest.mark.needs_mpi
def test_builds_lie_side_by_side_and_are_made_when_something_changed(imb: Imb, small: Path) -> None:
    if len(lab.MAIN) < 2:
        lab.missing("Open MPI and MPICH")
    both = [word for mpi in lab.MAIN for word in ("--mpi", mpi.wrapper)]
    said = imb("build", *both)
    assert said.code == 0, said.err
    folders = said.out.split()
    assert len(set(folders)) == 2 and [said_by(folder) for folder in folders] == ["1\n"] * 2
    lines = [line for line in said.err.splitlines() if not line.startswith("building the suite: ")]
    # Before each build; how long it will take depends on what else runs, and is not predicted.
    assert len(lines) == 2
    assert all(re.match(r"building the suite for .* \(/.*\) \.\.\.$", line) for line in lines), lines
    again = imb("build", *both)
    assert (again.out, again.err) == (said.out, "")
    (small / "src" / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("2"); }\n')
    [other] = imb("build", *both[:2]).out.split()
    assert other not in folders and said_by(other) == "2\n" and said_by(folders[0]) == "1\n"


@pytest.mark.needs_mpi
def test_what_make_builds_is_used(imb: Imb, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The executable of the component that is run is taken from there, and brought up to date there; the others are not built."""
    monkeypatch.delenv("CXXFLAGS")
    mpi = lab.MAIN[0] if lab.MAIN else lab.missing("Open MPI or MPICH")
    others = "EXT RMA NBC IO MPI4 P2P MT FABRIC"
    (small / "src" / "benchmarks" / "components.txt").write_text(f"MPI1 {others}\n")
    (small / "CMakeLists.txt").write_text(
        f"{CMAKE}foreach(name IN ITEMS {others})\n add_executable(IMB-${{name}} EXCLUDE_FROM_ALL src/main.cpp)\nendforeach()\n"
    )
    make = small / "build" / "key"
    subprocess.run(
        ["cmake", "-S", small, "-B", make, f"-DMPI_CXX_COMPILER={mpi.wrapper}", "-DCMAKE_BUILD_TYPE=Release"],
        check=True,
        capture_output=True,
    )
    place = launching.build_programs(installations.find(mpi.wrapper), None, ["MPI1"])
    assert said_by(str(place)) == "1\n" and [path.name for path in (make / "bin").iterdir()] == ["IMB-MPI1"]
    (small / "src" / "main.cpp").write_text('#include <cstdio>\nint main() { std::puts("2"); }\n')
    newer = launching.build_programs(installations.find(mpi.wrapper), None, ["MPI1"])
    assert newer != place and said_by(str(newer)) == "2\n" and said_by(str(place)) == "1\n"
    assert [path.name for path in newer.iterdir()] == ["IMB-MPI1"]
    said = imb("build", "--mpi", mpi.wrapper)  # all of them
    assert said.out == f"{newer}\n" and len(list(newer.iterdir())) == 9, said.err


def test_what_make_builds_otherwise_is_not_used(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With another compiler or other flags, which the name of a build does not have then."""
    monkeypatch.delenv("CXXFLAGS")
    _, prefix, *_ = fake_mpi.make(tmp_path / "mpi")
    mpi = installations.find(str(prefix))
    compiler = shutil.which("c++")
    cache = small / "build" / "key" / "CMakeCache.txt"
    cache.parent.mkdir(parents=True)

    def of(**changed: str) -> Path | None:
        entries = {
            "MPI_CXX_COMPILER": mpi.wrapper,
            "CMAKE_CXX_COMPILER": compiler,
            "CMAKE_BUILD_TYPE": "Release",
        }
        lines = (f"{name}:STRING={value}\n" for name, value in {**entries, **changed}.items())
        cache.write_text("".join(lines))
        return suite_build.folder_of_make(mpi, None)

    assert of() == cache.parent
    assert of(CMAKE_CXX_COMPILER=sys.executable) is None
    assert of(CMAKE_EXE_LINKER_FLAGS="-static") is None
    assert of(MPI_CXX_COMPILER="/usr/bin/env") is None


def test_a_dry_run_and_a_usage_error_build_nothing(mpi: lab.Mpi, imb: Imb, small: Path) -> None:
    said = imb("run", "PingPong", "--mpi", mpi.wrapper, "--dry-run")
    assert said.code == 0 and said.err == "", said.err
    assert re.search(rf" {existing_builds.cache_folder()}/\S+/bin/IMB-MPI1 PingPong ", said.out), said.out
    for words in (["--cpus", "0,99999"], ["--cpus", "0,1", "--bind", "core"]):
        said = imb("run", "PingPong", "--mpi", mpi.wrapper, *words)
        assert said.code == 2 and len(said.err.splitlines()) == 1, said.err
    assert not existing_builds.cache_folder().exists()


def test_a_build_shows_that_it_goes_on(
    mpi: lab.Mpi, imb: Imb, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imb.cli.launching.BUILD_BEAT", 0.0)
    said = imb("build", "--mpi", mpi.wrapper)
    assert said.code == 0 and re.search(r"\nbuilding the suite: \d+ % after \d+ s\n", said.err), said.err


def test_an_interrupted_build_goes_on_where_it_was(mpi: lab.Mpi, small: Path) -> None:
    installation = installations.find(mpi.wrapper)

    def interrupted(percent: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suite_build.build(installation, on_percent=interrupted)
    shown: list[float] = []
    place = suite_build.build(installation, on_percent=shown.append)
    assert said_by(str(place)) == "1\n" and len(shown) < 2  # nothing was compiled again
    assert [path.name for path in existing_builds.cache_folder().iterdir()] == [place.parent.name]


def test_a_failed_build_shows_what_the_compiler_says(mpi: lab.Mpi, imb: Imb, small: Path) -> None:
    (small / "src" / "main.cpp").write_text("int main() { return this_is_missing; }\n")
    said = imb("build", "--mpi", mpi.wrapper)
    assert (said.code, said.out) == (1, "")
    assert "main.cpp:1:21: error:" in said.err and "this_is_missing" in said.err
    last = said.err.splitlines()[-1]
    assert last.startswith("imb: build for ") and Path(last.rpartition(" ")[2]).exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--compiler", "no-such-compiler"], "no compiler no-such-compiler"),
        (["--mpi", "/tmp"], "no bin/mpicxx or bin/mpiexec in /tmp"),
        (["--mpi", sys.executable], "is no C++ wrapper of an MPI"),
    ],
)
def test_mistakes(mpi: lab.Mpi, imb: Imb, words: list[str], says: str) -> None:
    said = imb("build", *(words if "--mpi" in words else ["--mpi", mpi.wrapper, *words]))
    assert said.code == 2 and says in said.err


@pytest.mark.needs_mpi
def test_the_suite_is_built_and_runs(imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real sources; one component, without optimization: the others take minutes and are built by `make`, as is, in CI, what needs no MPI."""
    if not lab.MAIN:
        lab.missing("Open MPI or MPICH")
    if not shutil.which("cmake"):
        lab.missing("cmake on the PATH")
    sources, copy = suite.suite_folder(), tmp_path / "suite"
    shutil.copy(Path(suite.__file__).parents[1] / "__init__.py", tmp_path)  # has the version
    for folder in ("src", "cmake"):
        shutil.copytree(sources / folder, copy / folder)
    built = next((mpi.build for mpi in lab.MAIN if lab.IN_CI and (mpi.build / "libsession.a").exists()), "")
    (copy / "CMakeLists.txt").write_text(
        f'set(OPENIMB_PURE_FROM "{built}" CACHE PATH "")\n' + (sources / "CMakeLists.txt").read_text()
    )
    (copy / "src" / "benchmarks" / "components.txt").write_text("MPI1\n")
    monkeypatch.setattr("imb.mpi.suite_build.suite_folder", lambda: copy)
    monkeypatch.setenv("CMAKE_BUILD_TYPE", "Debug")
    monkeypatch.setenv("CXXFLAGS", "-O0 -g0")
    said = imb("run", "PingPong", "--mpi", lab.MAIN[0].wrapper, "--precision", "100%", "--", "-msglog", "2")
    assert said.code == 0, said.err
    assert "building the suite for" in said.err and ": 4 rows in " in said.out
    [folder] = imb("build", "--mpi", lab.MAIN[0].wrapper).out.split()
    assert [program.name for program in Path(folder).iterdir()] == ["IMB-MPI1"]


def test_a_folder_may_have_the_name_of_an_mpi(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are others of this kind, but it was not chosen among them."""
    for name in ("one", "other", "openmpi"):
        fake_mpi.make(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENIMB_ENV", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/one/bin:{tmp_path}/other/bin")
    said = imb("run", "PingPong", "--mpi", "openmpi", "--dry-run")
    assert said.code == 0 and said.err == "" and said.out.startswith(f"{tmp_path}/openmpi/bin/"), said
    said = imb("run", "PingPong", "--mpi", "intel", "--dry-run")
    assert said.code == 2 and "no intel found" in said.err
    (tmp_path / "openmpi").rename(tmp_path / "third")
    said = imb("run", "PingPong", "--mpi", "openmpi", "--dry-run")
    assert said.code == 0 and said.out.startswith(f"{tmp_path}/one/bin/")
    assert re.fullmatch(r"imb: openmpi is .*/one/bin/mpicxx; there is also .*/other/bin/mpicxx\n", said.err)


def test_a_name_of_several_mpis_means_one_of_them_for_every_command(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of the PATH, or what programs are linked with; the others are named."""
    for name in ("one", "other"):
        fake_mpi.make(tmp_path / name)
    monkeypatch.setenv("OPENIMB_ENV", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/one/bin:{tmp_path}/other/bin")
    monkeypatch.setattr("imb.mpi.installations.PLACES", ())
    monkeypatch.setattr("imb.cli.launching.build_programs", lambda *words, **more: tmp_path / "one/bin")
    mpis = {name: f"Open MPI 5.0.9, {tmp_path}/{name}/bin/mpicxx" for name in ("one", "other")}
    programs = ["--programs", tmp_path / "one/bin"]
    health = ["health", "--learn", "--file", tmp_path / "health.json", "--strict", "-b", "PingPong"]
    campaign = tmp_path / "t.toml"
    campaign.write_text('benchmarks = ["PingPong"]\nvariants = { a = { mpi = "openmpi" } }\n')
    fabric = ["fabric", "--hosts", "n1,n2,n3,n4", "--dry-run"]
    for words in (
        ["build", "--mpi", "openmpi"],
        ["doctor", "--mpi", "openmpi"],
        ["run", "PingPong", "--dry-run", "--mpi", "openmpi"],
        ["run", "PingPong", "--dry-run", "--mpi", "openmpi", *programs],
        ["campaign", campaign, "--dry-run"],
        [*fabric, "--mpi", "openmpi"],
        [*fabric, "--mpi", "openmpi", *programs],
        [*health, "--mpi", "openmpi", *programs],
        [*health, "--mpi", "openmpi", *programs],
    ):
        if words[0] not in registry.commands():
            continue
        monkeypatch.setattr("imb.cli.launching._printed", set())
        said = imb(*words)
        line = f"imb: openmpi is {mpis['one']}; there is also {mpis['other']}"
        assert line in said.err.splitlines(), (words, said)
    linked = installations.LinkedMpis((known_mpis.OPEN_MPI,), tmp_path / "other/lib/libmpi.so.40")
    monkeypatch.setattr(installations, "linked_mpis", lambda programs: linked)
    monkeypatch.setattr("imb.cli.launching._printed", set())
    said = imb("run", "PingPong", "--dry-run", "--mpi", "openmpi", *programs)
    assert said.out.startswith(f"{tmp_path}/other/bin/mpiexec"), said
    assert said.err == f"imb: openmpi is {mpis['other']}; there is also {mpis['one']}\n"
