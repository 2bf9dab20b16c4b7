"""Builds as recipes for IMB call them: the Makefile with IMB's variables and targets, beside a stand-in for CMake that
writes down how it was called; and where executables look for their MPI."""

from __future__ import annotations

import importlib.util
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

    def touch(self, *names: str) -> None:
        for name in names:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).touch()

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


# What the Makefile needs before it asks for an MPI.
NEEDED = (
    "tools/windows_mpi.py",
    "python/imb/mpi/compiler_wrappers.py",
    "python/imb/model/mpis.py",
    ".env/bin/cmake",
)


@pytest.mark.parametrize("name", ["mpi", "mpi~5.0", "mpi (new)"])
def test_an_mpi_is_looked_for_once(sources: Sources, name: str) -> None:
    """Whatever its folder is called; and again where its wrapper is missing."""
    sources.touch(*NEEDED)
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


# A wrapper, a launcher and an mpi.h of which only what setup.py looks at is there.
WRAPPER = """#!/bin/sh
case "$*" in
  -show) echo /bin/true ;;
  *-dM*) printf '%s\\n' {macros} ;;
  *) while [ "$1" != -o ]; do shift; done; : >"$2" ;;
esac
"""
HYDRA = "HYDRA build details:\n    Version:                                 {}\n"
MPICH = ['#define MPICH_VERSION "4.9"']
MVAPICH = [*MPICH, '#define MVAPICH2_VERSION "2.3"']
OPEN_MPI = ["#define OPEN_MPI 1"]


def an_mpi(folder: Path, macros: list[str], version: str) -> Path:
    """Returns its wrapper."""
    folder.mkdir(parents=True)
    quoted = " ".join(f"'{macro}'" for macro in macros)
    for name, text in (
        ("mpicxx", WRAPPER.format(macros=quoted)),
        ("mpiexec", f"#!/bin/sh\ncat <<'end'\n{version}end\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder / "mpicxx"


@dataclass
class Choosing:
    """setup.py beside an .env that has downloaded MPICH already."""

    env: Path
    folders: list[Path]

    def __call__(self, purpose: str, choice: str) -> tuple[str, str]:
        """Key and wrapper for make, and the line that is printed."""
        made = self.env / "made.mk"
        path = ":".join([*map(str, self.folders), "/usr/sbin"])  # without MPIs of this machine
        done = subprocess.run(
            [sys.executable, lab.TOP / "tools" / "setup.py", purpose, choice, made],
            env={"PATH": f"{path}:{self.env / 'sh'}", "OPENIMB_ENV": str(self.env)},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        key, wrapper = (
            re.findall(rf"^{name} := (.*)$", made.read_text(), re.M)[0] for name in ("KEY", "MPI_WRAPPER")
        )
        return f"{key} {wrapper}", done.stderr


def test_make_run_takes_an_mpi_of_the_path(tmp_path: Path) -> None:
    """A build, for developers and tests, has the pinned one."""
    env = tmp_path / "env"
    downloaded = an_mpi(env / "mpi" / "mpich" / "bin", MPICH, HYDRA.format("5.0.2"))
    requirement = re.findall(r'"(mpich==[^"]*)"', (lab.TOP / "tools" / "setup.py").read_text())[0]
    (env / "mpi" / "mpich" / "mpich.stamp").write_text(f"{env / 'mpi' / 'mpich'}\n{requirement}\n")
    (env / "sh").mkdir()
    (env / "sh" / "cat").symlink_to("/bin/cat")
    folders = [tmp_path / name for name in ("ompi", "mvapich", "mpich")]
    choosing = Choosing(env, folders)
    an_mpi(folders[0], OPEN_MPI, "mpiexec (Open MPI) 4.1.4\n")
    an_mpi(folders[1], MVAPICH, HYDRA.format("3.2"))
    pinned = f"mpich {downloaded}"
    chosen, said = choosing("run", "mpich")  # MVAPICH's launcher is MPICH's, too; its library is not
    assert chosen == pinned and "PATH" not in said

    own = an_mpi(folders[2], MPICH, HYDRA.format("4.9"))
    chosen, said = choosing("run", "mpich")
    assert chosen.endswith(f" {own}") and not chosen.startswith("mpich ")
    other = requirement.replace("==", " ")
    assert said == f"setup: MPI=mpich: MPICH 4.9, {own} (of the PATH; MPI=pypi-mpich downloads {other})\n"
    for purpose, choice in (("mpi", "mpich"), ("run", "pypi-mpich")):
        assert choosing(purpose, choice)[0] == pinned

    (own.parent / "mpiexec").unlink()  # one that cannot launch
    chosen, said = choosing("run", "mpich")
    assert chosen == pinned and f"setup: MPI=mpich: {own} of the PATH is not used: no mpiexec" in said


def test_make_asks_for_the_mpi_of_a_run_again_where_the_path_changes(sources: Sources) -> None:
    """It looks for one of `run` and one of `build` apart."""
    sources.touch(*NEEDED, "tools/foreign_load.py")
    asks = "import sys\nfrom pathlib import Path\nopen('asked', 'a').write(sys.argv[1] + '\\n')\n"
    asks += "Path(sys.argv[3]).parent.mkdir(parents=True, exist_ok=True)\nPath(sys.argv[3]).write_text('KEY := k\\nMPI_LAUNCHER := true\\n')\n"
    (sources.folder / "tools" / "setup.py").write_text(asks)
    words = ["MPI=mpich", f"PYTHON={sys.executable}"]
    for _ in range(2):
        sources.make("-n", "build", *words)
        sources.make("-n", "run", "COMPANION=no", *words)
    assert sources.read("asked").split() == ["mpi", "run"]
    (sources.folder / "bin" / "mpicxx.mpich").write_text("#!/bin/sh\n")
    (sources.folder / "bin" / "mpicxx.mpich").chmod(0o755)
    sources.make("-n", "build", *words)
    sources.make("-n", "run", "COMPANION=no", *words)
    assert sources.read("asked").split() == ["mpi", "run", "run"]


# What stands for cmake, which configures a build, and for ninja, which builds IMB-MPI1.
CONFIGURE = '#!/bin/sh\nmkdir -p "$4" && : >"$4/build.ninja"\n'
NINJA = '#!/bin/sh\nmkdir -p "$2/bin" && echo "#!/bin/sh" >"$2/bin/IMB-MPI1" && chmod +x "$2/bin/IMB-MPI1"\n'


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_make_run_ends_with_what_puts_its_programs_on_the_path(sources: Sources, shell: str) -> None:
    """Those of its MPI, before others of the PATH; but not the Python and the IMB-MPI1 of a downloaded MPI."""
    env, top = sources.folder / ".env", sources.folder
    sources.touch(*NEEDED, "tools/foreign_load.py")
    (top / "tools/progress.py").write_text("import subprocess, sys; sys.exit(subprocess.call(sys.argv[2:]))")
    real = lab.TOP / "tools" / "setup.py"
    (top / "tools/setup.py").write_text(
        f"import sys; sys.path.insert(0, {str(real.parent)!r}); import setup; from pathlib import Path\n"
        f"setup.TOP, setup.ENV = Path({str(top)!r}), Path({str(env)!r}); setup.main(sys.argv[1:])\n"
    )
    wrapper = an_mpi(env / "mpi/mpich/bin", MPICH, HYDRA.format("5.0.2"))
    requirement = re.findall(r'"(mpich==[^"]*)"', real.read_text())[0]
    (env / "mpi/mpich/mpich.stamp").write_text(f"{env}/mpi/mpich\n{requirement}\n")
    others = [wrapper.parent / name for name in ("python3", "IMB-MPI1")]
    for path, text in (
        *((env / "bin" / name, text) for name, text in (("cmake", CONFIGURE), ("ninja", NINJA), ("imb", ""))),
        *((path, "#!/bin/sh\n") for path in (*others, top / "bin/mpiexec")),
    ):
        path.write_text(text)
        path.chmod(0o755)
    os.utime(env / "bin/imb", (2e9, 2e9))  # newer than pyproject.toml
    sources.touch("pyproject.toml")
    said = subprocess.run(
        ["make", "run", "MPI=pypi-mpich", f"PYTHON={sys.executable}"],
        cwd=top, env={"PATH": sources.path, "OPENIMB_ENV": ".env"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    last = said.stdout.splitlines()[-1]
    assert last == "next: source .env/activate    # puts imb, mpirun and IMB-* on the PATH"
    script = "for name in imb IMB-MPI1 mpiexec mpicxx python3; do readlink -f $(command -v $name); done; echo $PATH"
    twice = (
        ". .env/activate && . .env/activate"
        if shell == "sh"
        else "source .env/activate; source .env/activate"
    )
    found = subprocess.check_output(
        [shell, "-ec", f"{twice}; {script}"], cwd=top, env={"PATH": sources.path}, text=True
    ).split()
    mine = [env / "bin/imb", top / "build/mpich/bin/IMB-MPI1", wrapper.with_name("mpiexec"), wrapper]
    assert found[:4] == list(map(str, mine)) and not found[4].startswith(str(env))
    assert found[5].count(str(env / "bin")) == 1


PROGRESS = lab.TOP / "tools" / "progress.py"


@pytest.mark.slow
def test_progress_of_a_build(tmp_path: Path) -> None:
    """Its counter every few seconds; errors and the exit status are the command's."""
    script = "echo \"ninja: Entering directory 'b'\"; printf '%s\\n' \"$NINJA_STATUS\"; echo '[3/8] Building a.o'; echo 'a.cpp:1: warning: x'; sleep 4.5; echo 'ninja: build stopped'; exit 3"
    done = subprocess.run(
        [sys.executable, PROGRESS, "building build/mpich", "sh", "-c", script],
        env={**os.environ, "COLUMNS": "60"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stdout.splitlines() == ["[%f/%t] ", "a.cpp:1: warning: x", "ninja: build stopped"]
    assert done.stderr.splitlines() == ["building build/mpich: [3/8] 37 %, 4 s"]


def test_progress_fits_the_terminal() -> None:
    spec = importlib.util.spec_from_file_location("progress", PROGRESS)
    assert spec and spec.loader
    progress = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(progress)
    assert progress.line("configuring build/mpich", 0, 0, 4.1, 80) == "configuring build/mpich: 4 s"
    long = progress.line("building build/" + "x" * 80, 9, 41, 20.2, 40)
    assert long.startswith("building build/x") and long.endswith("x: [9/41] 21 %, 20 s") and len(long) == 39
