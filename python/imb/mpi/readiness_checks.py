"""Checks whether this machine is ready to measure. Yields findings on conditions and installations, each with advice."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from imb.model.conditions import Conditions, Machine
from imb.model.errors import ImbError, unwritable_cache
from imb.model.folders import NoHome, cache_folder
from imb.model.intent import Intent
from imb.model.mpis import MACROS, TRANSPORT_CHOICES, Host, transports_in
from imb.model.path import LOOPBACK, MessagePath, path_by_shares
from imb.model.suite import packaged_programs
from imb.model.units import count_of, rounded_size
from imb.mpi import existing_builds, host, installations, launch, launchers, prebuilt_programs, suite_build
from imb.mpi.installations import Installation
from imb.mpi.prebuilt_programs import library_with

CheckLevel: TypeAlias = Literal["ok", "warning", "problem"]
SCHEDULERS = {"sbatch": "Slurm", "qsub": "PBS", "bsub": "LSF", "flux": "Flux"}
COMPILERS = ("g++", "clang++", "icpx", "nvc++", "CC")
_CHECK_SECONDS = 20.0  # time limit of a check, which takes about one second


class Check(msgspec.Struct, frozen=True):
    """A finding. `advice`: what the user can do, empty if nothing."""

    level: CheckLevel
    what: str
    found: str
    advice: str = ""


def machine_checks(conditions: Conditions) -> Iterator[Check]:
    """Yields findings on the machine, from its conditions and the limits of this process."""
    machine = conditions.machine
    yield Check("ok", "host", f"{machine.host}, {machine.system}, {machine.kernel}")
    yield Check(
        "ok",
        "CPU",
        f"{machine.cpu_model or 'unknown'}, {count_of(machine.cores, 'core') if machine.cores else '? cores'}, sockets: {machine.sockets or '?'}",
    )
    yield _allowed(machine)
    nodes = count_of(machine.numa_nodes, "node") if machine.numa_nodes else "unknown"
    yield Check("ok", "NUMA", nodes)
    yield Check(
        "ok", "caches", ", ".join(f"{cache.name} {cache.size}" for cache in machine.caches) or "unknown"
    )
    if (machine.threads_per_core or 1) > 1:
        advice = "bind ranks to cores (--bind core), so that no two share one"
        yield Check("warning", "hyperthreads", f"{machine.threads_per_core} threads per core", advice)
    else:
        yield Check("ok", "hyperthreads", "off" if machine.threads_per_core else "unknown")
    yield _governor(conditions)
    yield _load(conditions)
    yield _clock(conditions)
    if machine.virtual_machine:
        advice = (
            "expect noise of other guests: use many launches (--launches), and quantiles rather than means"
        )
        yield Check("warning", "virtual machine", machine.virtual_machine, advice)
    else:
        yield Check("ok", "virtual machine", "none seen")
    if machine.container:
        advice = "is shared memory large enough (df /dev/shm) and the network's device passed in?"
        yield Check("warning", "container", machine.container, advice)
    else:
        yield Check("ok", "container", "none seen")
    yield _shared_memory()


def _allowed(machine: Machine) -> Check:
    allowed = len(cpus) if (cpus := host.allowed_cpus()) else machine.cpus
    if allowed is not None and machine.cpus is not None and allowed < machine.cpus:
        advice = "a job, cpuset or taskset confines this process; ranks inherit that"
        return Check("warning", "CPUs allowed", f"{machine.cpus_allowed} of {machine.cpus}", advice)
    if allowed == 1:
        return Check(
            "warning",
            "CPUs allowed",
            "1",
            "two ranks share one CPU: latencies will include the scheduler's time slices",
        )
    return Check("ok", "CPUs allowed", machine.cpus_allowed or "unknown")


def _governor(conditions: Conditions) -> Check:
    if conditions.governors is None:
        return Check("ok", "frequency governor", "not shown by the kernel")
    slow = [name for name in conditions.governors if name != "performance"]
    if slow:
        advice = "`cpupower frequency-set -g performance` as root, or warm up longer"
        return Check("warning", "frequency governor", ", ".join(conditions.governors), advice)
    return Check("ok", "frequency governor", "performance")


def _load(conditions: Conditions) -> Check:
    if conditions.load is None:
        return Check("ok", "load", "unknown")
    # If there are more runnable processes than half of the cores, a rank is likely to share its core.
    if conditions.load > 0.5 * (conditions.machine.cores or 1):
        return Check(
            "warning",
            "load",
            f"{conditions.load:.2f}",
            "other load is running (see `top`); wait for it to end",
        )
    return Check("ok", "load", f"{conditions.load:.2f}")


def _clock(conditions: Conditions) -> Check:
    if conditions.clock_source in (None, "tsc", "arch_sys_counter", "kvm-clock", "timebase"):
        return Check("ok", "clock source", conditions.clock_source or "unknown")
    advice = "reading it costs a microsecond or more; boot with tsc (clocksource=tsc) if the CPU's is stable"
    return Check("warning", "clock source", conditions.clock_source or "", advice)


def _shared_memory() -> Check:
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError:
        return Check("ok", "/dev/shm", "none")
    if free < 64 * 2**20:
        return Check("problem", "/dev/shm", f"{rounded_size(free)} free", "MPIs keep buffers there: remove leftovers of dead jobs, or enlarge it (docker: --shm-size)")  # fmt: skip
    return Check("ok", "/dev/shm", f"{rounded_size(free)} free")


def tools() -> Iterator[Check]:
    """Yields findings on compilers, CMake, launchers and schedulers on the PATH."""
    compilers = [f"{name} {_version(name)}" for name in COMPILERS if shutil.which(name)]
    needed = packaged_programs() is None
    without = "none" if needed else "none (not needed: the package has the suite's programs)"
    level: CheckLevel = "problem" if needed else "ok"
    if compilers:
        yield Check("ok", "compilers", ", ".join(compilers))
    else:
        advice = "install g++ 11 or later, or load a compiler's module" if needed else ""
        yield Check(level, "compilers", without, advice)
    try:
        yield Check("ok", "cmake", suite_build.tool("cmake"))
    except ImbError as error:
        yield Check(level, "cmake", without, str(error).partition("; ")[2] if needed else "")
    launchers = [path for name in ("srun", "mpiexec", "mpirun") if (path := shutil.which(name))]
    yield Check(
        "ok",
        "launchers on the PATH",
        ", ".join(launchers) or "none (the launchers of the MPIs below are used)",
    )
    schedulers = [name for program, name in SCHEDULERS.items() if shutil.which(program)]
    yield Check("ok", "schedulers on the PATH", ", ".join(schedulers) or "none")


def _version(program: str) -> str:
    match = re.search(r"\d+\.\d+(\.\d+)?", installations.output_of([program, "--version"])[1])
    return match[0] if match else ""


def installation(mpi: Installation) -> Iterator[Check]:
    """Yields findings on one MPI: its transports, and whether two ranks really start. Compiles a small program, in about two seconds."""
    yield Check("ok", mpi.version, mpi.place)
    yield suite_for(mpi)
    yield Check(
        "ok", f"{mpi.version}: transports", mpi.product.built_transports(mpi.ask, os.environ) or "unknown"
    )
    yield _two_ranks(mpi)


def suite_for(mpi: Installation) -> Check:
    """The finding on the programs that `imb run` starts with an MPI."""
    subject = f"{mpi.version}: suite"
    interface = prebuilt_programs.interface_of(mpi)
    if mpi.wrapper and (native := suite_build.programs(suite_build.build_key(mpi))):
        return Check("ok", subject, f"built for it, {native}")
    if packaged_programs() and interface:
        return Check(
            "ok", subject, f"of the package, for the {interface.title} ({library_with(mpi, interface)})"
        )
    if mpi.wrapper:
        try:
            existing_builds.cache_folder()
        except NoHome as error:
            found, _, advice = str(error).partition("; ")
            return Check("problem", subject, f"none, and no place for a build: {found}", advice)
        if folder := suite_build.folder_of_make(mpi, None):
            return Check("ok", subject, f"built by make, {folder}")
        return Check("ok", subject, "built when it is first used (`imb build`)")
    advice = "install the MPI's development files, or the wheel of openimb for this machine"
    return Check("problem", subject, "none, and no C++ wrapper to build it with", advice)


def _two_ranks(mpi: Installation) -> Check:
    subject = f"{mpi.version}: two ranks"
    try:
        program, compiler_output = _find_check(mpi)
    except OSError as error:
        found, _, advice = str(unwritable_cache(Path(error.filename or ""), error)).partition("; ")
        return Check("problem", subject, found, advice)
    if program is None:
        advice = "install the compiler that the wrapper calls (`" + mpi.wrapper + " -show`)"
        return Check("problem", subject, f"the wrapper builds no MPI program: {compiler_output}", advice)
    intent = Intent(ranks=2, env=mpi.product.report)
    command = launchers.launch_command(mpi, intent, [str(program)], Host(host.cores(), os.geteuid() == 0))
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        ended = launch.run(command, output=output, errors=errors, timeout=_CHECK_SECONDS)
        text = output.read_text(errors="replace")
        error_lines = [
            line.strip() for line in errors.read_text(errors="replace").splitlines() if line.strip(" -=*")
        ]
    if ended.outcome == "interrupted":
        raise KeyboardInterrupt
    reported = transports_in(mpi.product, text)
    return launch_check(subject, str(command), ended, text, error_lines, reported)


def launch_check(
    subject: str,
    command: str,
    ended: launch.LaunchEnd,
    text: str,
    error_lines: list[str],
    reported: str | None = None,
) -> Check:
    """The finding of a check launch that has ended, from its standard output and the lines of its standard error. `reported`: the transports
    that the MPI itself reports."""
    match = re.search(r"openimb-check (\d+) (\d) ([\d.]+) (.*)", text)
    hangs = ended.outcome == "timed_out"
    if hangs and not match:
        return Check(
            "problem",
            subject,
            f"hang for {_CHECK_SECONDS:.0f} s",
            f"try `{command}`; usual causes are a firewall and a wrong network device",
        )
    if not match or (ended.status and not hangs):
        return Check(
            "problem",
            subject,
            f"exit status {ended.status}: {(error_lines or ['no output'])[0][:200]}",
            f"try `{command}`",
        )
    if match[1] != "2":
        return Check(
            "problem",
            subject,
            f"start as {match[1]} rank each",
            "the launcher belongs to another MPI: use the one beside the wrapper",
        )
    if match[2] != "1":
        return Check(
            "problem", subject, "received wrong data", "do not use this MPI; see docs/known-mpi-issues.md"
        )
    if hangs:
        return Check(
            "problem",
            subject,
            f"hang at their end, or their launcher does, for {_CHECK_SECONDS:.0f} s",
            "try again; see docs/known-mpi-issues.md",
        )
    path_match = re.search(r"openimb-path( between)? (\d+)((?: \S+=-?\d+)*)", text)
    between = bool(path_match and path_match[1])
    way = _way(between, float(path_match[2]), path_match[3].split()) if path_match else None
    summary = f"one way {match[3]} µs{' between two hosts' if between else ''} in {ended.seconds:.1f} s" + (
        f", long messages by {way}" if way else ""
    )
    summary += f" (the MPI itself: {reported})" if reported else ""
    if between:
        return Check("ok", subject, summary)
    if way and way.interfaces:
        return Check(
            "warning",
            subject,
            summary,
            f"messages within a node should not pass interfaces: see the transports, and the MPI's settings ({TRANSPORT_CHOICES})",
        )
    if float(match[3]) > 50:  # microseconds; between cores of a host it is below 2
        return Check(
            "warning",
            subject,
            summary,
            "very slow: the CPUs are busy, or ranks share one; try --bind core",
        )
    return Check("ok", subject, summary)


def _way(between: bool, expected: float, counts: list[str]) -> MessagePath:
    """The path of the check's messages, from texts such as `lo=1234` (interface and bytes). `between`: the messages go between hosts, so
    loopback carries none of them."""
    pairs = (word.rpartition("=") for word in counts)
    shares = {
        name: max(0.0, float(count)) / expected
        for name, _, count in pairs
        if not (between and LOOPBACK.match(name))
    }
    return path_by_shares("inter-node" if between else "intra-node", expected, shares)


def _find_check(mpi: Installation) -> tuple[Path | None, str]:
    """The check program for an MPI: the package's, or one that is compiled once. If the compiler fails, None and its output."""
    if prebuilt_programs.programs_for(mpi):
        return prebuilt_programs.packaged_check(), ""
    if not mpi.wrapper:
        return None, "there is none"
    source = Path(__file__).with_name("check.cpp")
    key = hashlib.sha256(f"{mpi.wrapper}\0{mpi.version}\0{source.read_text()}".encode()).hexdigest()[:16]
    program = cache_folder() / "checks" / key
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_suffix(f".{os.getpid()}")
        words = [
            mpi.wrapper,
            "-O2",
            *(f"-D{macro}" for macro in MACROS),
            str(source),
            "-o",
            str(part),
        ]
        status, output = installations.output_of(words, mpi.env, timeout=60)
        if status or not part.exists():
            lines = [line.strip() for line in output.splitlines() if line.strip()]
            return None, next(
                (line for line in lines if re.search("error|not found", line)), (lines or ["no output"])[0]
            )
        part.replace(program)
    return program, ""
