"""Builds as recipes for IMB call them: the Makefile with IMB's variables and targets, beside a stand-in for CMake that
writes down how it was called; and where executables look for their MPI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import lab
import pytest

CMAKE = """#!/bin/sh
echo "$@" >>calls
case $1 in
  -S) echo "$CXXFLAGS" >cxxflags; echo "$LDFLAGS" >ldflags; env >environment ;;
  --build) mkdir -p build/classic/bin
    for word; do case $word in IMB-*) : >build/classic/bin/$word ;; esac; done ;;
esac
"""
ALL = {f"IMB-{name}" for name in lab.COMPONENTS}


@dataclass
class Sources:
    """What of the sources the Makefile reads, beside a PATH with the stand-in and wrappers."""

    folder: Path
    path: str

    def make(self, *words: str, **env: str) -> list[str]:
        """Returns how CMake was called."""
        (self.folder / "calls").write_text("")
        unset = ("CC", "CXX", "MAKEFLAGS", "MAKELEVEL", "MPI_HOME", "OPENIMB_ENV")
        around = {name: value for name, value in os.environ.items() if name not in unset}
        done = subprocess.run(
            ["make", *words],
            cwd=self.folder,
            env={**around, "PATH": self.path, **env},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return (self.folder / "calls").read_text().splitlines()

    def read(self, name: str) -> str:
        return (self.folder / name).read_text().strip()

    def programs(self) -> set[str]:
        return {path.name for path in self.folder.glob("IMB-*")}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name in ("Makefile", "CMakeLists.txt", "src/benchmarks/components.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(lab.TOP / name, tmp_path / name)
    for file in ("bin/cmake", "bin/mpicxx", "mpi/bin/mpicxx", "mpi/bin/mpicxx.own"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CMAKE if path.name == "cmake" else "#!/bin/sh\necho /bin/true -I/include\n")
        path.chmod(0o755)
    return Sources(tmp_path, f"{tmp_path}/bin:/usr/bin:/bin")


def test_all(sources: Sources) -> None:
    """As Spack calls it, whose recipe installs IMB-* of this folder; only the last TARGET reaches make."""
    configure, build = sources.make(
        "-j3", "TARGET=MPI1", "TARGET=EXT", CC=f"{sources.folder}/mpi/bin/mpicc.own", CXX="g++"
    )
    assert (
        f"-DMPI_CXX_COMPILER={sources.folder}/mpi/bin/mpicxx.own -DCMAKE_CXX_COMPILER=/bin/true" in configure
    )
    assert "--parallel 3 " in build and set(re.findall(r"IMB-\S+", build)) == sources.programs() == ALL
    assert not {"CC=", "CXX=", "MAKEFLAGS="} & set(re.findall(r"(?m)^\w+=", sources.read("environment")))


def test_one_target(sources: Sources) -> None:
    _, build = sources.make("IMB-MPI1_GPU")
    assert build.endswith("--target IMB-MPI1")
    assert sources.programs() == {"IMB-MPI1", "IMB-MPI1_GPU"}
    (build,) = sources.make("EXT", "JOBS=5")
    assert build.endswith("--parallel 5 --target IMB-EXT")


def test_the_mpi_of_mpi_home_unless_a_wrapper_is_named(sources: Sources) -> None:
    home = f"MPI_HOME={sources.folder}/mpi"
    for words, place in (
        (["MPI_HOME=/none"], "bin"),
        ([home], "mpi/bin"),
        ([home, "CC=mpicc"], "bin"),
    ):
        assert f"-DMPI_CXX_COMPILER={sources.folder}/{place}/mpicxx " in sources.make("MPI1", *words)[0]


def test_flags_also_when_they_change(sources: Sources) -> None:
    """From the command line and the environment."""
    flags = ["CPPFLAGS=-DCHECK", "OPTFLAGS=-g '-DA=\"b c\"'", "LDFLAGS=-Wl,-z,relro"]
    configure, _ = sources.make("MPI1", *flags, CXXFLAGS="-fno-plt")
    assert sources.read("cxxflags") == "-DCHECK -g '-DA=\"b c\"' -fno-plt"
    assert sources.read("ldflags") == "-Wl,-z,relro"
    assert "CMAKE_BUILD_TYPE" not in configure
    assert len(sources.make("MPI1", *flags, CXXFLAGS="-fno-plt")) == 1  # configured already
    assert len(sources.make("MPI1", *flags, CXXFLAGS="-fplt")) == 2
    assert len(sources.make("MPI1", CXXFLAGS="-fplt")) == 2
    assert len(sources.make("MPI1", CXXFLAGS="-fplt", LDFLAGS="-s")) == 2
    assert (sources.read("cxxflags"), sources.read("ldflags")) == ("-fplt", "-s")


def test_executables_may_be_copied(mpi: lab.Mpi) -> None:
    """RUNPATH has no folder of the build, and no empty entry, which would be the current folder."""
    dynamic = subprocess.check_output(["readelf", "-d", mpi.program()], text=True)
    entries = [entry for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) for entry in path.split(":")]
    assert not [entry for entry in entries if not entry.startswith("/") or str(lab.TOP / "build") in entry]


SETUP = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(lab.TOP / "tools")!r})
import setup
Path("asked").open("a").write("asked\\n")
wrapper = Path(sys.argv[2], "bin", "mpicxx")
mpi = setup.Mpi("key", "", "mpich", "MPICH 5", str(wrapper), "", ["mpiexec"], [])
setup.write(Path(sys.argv[3]), setup.make_lines(mpi, sys.argv[3]))
sys.exit(not wrapper.exists())
"""


@pytest.mark.parametrize("name", ["mpi", "mpi~5.0", "mpi (new)"])
def test_an_mpi_is_looked_for_once(sources: Sources, name: str) -> None:
    """Whatever its folder is called; and again where its wrapper is missing."""
    for file in (
        "tools/windows_mpi.py",
        "python/imb/mpi/compiler_wrappers.py",
        "python/imb/model/mpis.py",
        ".env/bin/cmake",
    ):
        (sources.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (sources.folder / file).touch()
    (sources.folder / "tools" / "setup.py").write_text(SETUP)
    (sources.folder / "mpi").rename(sources.folder / name)
    words = ["-n", "build", f"MPI={name}", f"PYTHON={sys.executable}"]
    for _ in range(2):
        sources.make(*words)
        assert sources.read("asked").split() == ["asked"]
    (sources.folder / name / "bin" / "mpicxx").unlink()
    with pytest.raises(AssertionError, match="Error 1"):
        sources.make(*words)
    assert sources.read("asked").split() == ["asked"] * 2
