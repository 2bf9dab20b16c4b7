"""Launcher command lines, and one runner of them.

`spell` is pure. Sources of the spellings: the manual pages of Hydra's and Open MPI's mpiexec, prterun and srun, the
reference of Intel MPI.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Literal, TypeAlias

import msgspec
import psutil

from imb.model.confidential import HIDDEN, is_secret
from imb.model.errors import ImbError
from imb.model.suite import packaged_programs
from imb.mpi import arguments, masking, orphans, prebuilt
from imb.mpi.allocation import Allocation
from imb.mpi.host import answer_of
from imb.mpi.installations import Installation

Bind: TypeAlias = Literal["core", "socket", "numa", "none"]
Outcome: TypeAlias = Literal["finished", "timed_out", "interrupted", "lingered"]
GRACE = 5.0  # seconds that a launch has to end by itself when asked to
LINGER = 60.0  # and after the program's last record: sometimes Open MPI 5's launcher hangs there
_POLL = 0.1
_TURN = (
    1.0  # seconds in which Slurm, on a busy machine, has sent a signal to all processes of a job, one by one
)
_OPENMPI_BINDS = {"socket": {4: "socket", 5: "package"}}
_INTEL_DOMAINS = {"core": "core", "socket": "socket", "numa": "numa"}
_SRUN_BINDS = {"core": "cores", "socket": "sockets", "numa": "ldoms", "none": "none"}


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted. `cpus`: the system's numbers of the CPUs that ranks are pinned to, in order of rank, again from
    the start where there are more ranks. `extra`: further launcher arguments, as they are."""

    ranks: int
    hosts: tuple[str, ...] = ()
    ppn: int | None = None
    bind: Bind | None = None
    cpus: tuple[int, ...] = ()
    env: Mapping[str, str] = {}
    launcher: Literal["mpiexec", "srun"] = "mpiexec"
    extra: tuple[str, ...] = ()

    def per_host(self, nodes: int = 0) -> int:
        """Ranks on the fullest host; without `hosts` they are on so many nodes, 0: on one."""
        return self.ppn or -(-self.ranks // (len(self.hosts) or nodes or 1))


class Command(msgspec.Struct, frozen=True):
    """Arguments, and variables to set for them."""

    words: list[str]
    env: dict[str, str]

    def __str__(self) -> str:
        """For a shell."""
        return " ".join([*(f"{k}={shlex.quote(v)}" for k, v in self.env.items()), shlex.join(self.words)])


def spell(
    mpi: Installation, intent: Intent, program: Sequence[str], *, cores: int, root: bool, nodes: int = 0
) -> Command:
    """The command that launches `program` so. `cores`: of a host; `root`: whether root launches; `nodes`: those of the
    allocation, 0: none is known. Values that may be secret are in the command's environment only.

    Raises ImbError where the launcher does not support what is requested.
    """
    if intent.cpus and intent.bind:
        raise ImbError("--cpus and --bind exclude each other; --cpus pins each rank to one CPU")
    kind = {"openmpi": "openmpi", "intel": "hydra", "mpich": "hydra"}.get(mpi.flavor)
    kind = "srun" if intent.launcher == "srun" else kind
    if kind is None:
        raise ImbError(
            f"{mpi.launcher} is an unsupported launcher ({mpi.version}); supported: Hydra, Open MPI, Intel MPI, srun"
        )
    extra, secret = arguments.open_and_secret(intent.extra, kind)
    secret |= {name: value for name, value in intent.env.items() if is_secret(name)}
    intent = msgspec.structs.replace(intent, extra=tuple(extra))
    if kind == "srun":
        return _with(secret, _srun(mpi, intent, program, cores, nodes))
    if kind == "openmpi":
        return _with(secret, _openmpi(mpi, intent, program, cores, root, nodes))
    arguments.refuse_hidden_variables(extra, list(secret))
    return _with(secret, (_intel if mpi.flavor == "intel" else _hydra)(mpi, intent, program))


def _with(secret: Mapping[str, str], command: Command) -> Command:
    return Command(command.words, {**command.env, **secret})


def _open(variables: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in variables.items() if not is_secret(name)}


def _hydra(mpi: Installation, intent: Intent, program: Sequence[str]) -> Command:
    words = [mpi.launcher, "-n", str(intent.ranks), *_hydra_hosts(intent)]
    if intent.cpus:
        words += ["-bind-to", "user:" + ",".join(map(str, intent.cpus))]
    elif intent.bind:
        words += ["-bind-to", intent.bind]
    for name, value in _open(intent.env).items():
        words += ["-genv", name, value]
    return Command([*words, *intent.extra, *program], dict(mpi.env))


def _intel(mpi: Installation, intent: Intent, program: Sequence[str]) -> Command:
    words = [mpi.launcher, "-n", str(intent.ranks), *_hydra_hosts(intent)]
    pins: dict[str, str] = {}
    if intent.cpus:
        pins = {"I_MPI_PIN": "1", "I_MPI_PIN_PROCESSOR_LIST": ",".join(map(str, intent.cpus))}
    elif intent.bind == "none":
        pins = {"I_MPI_PIN": "0"}
    elif intent.bind:
        pins = {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": _INTEL_DOMAINS[intent.bind]}
    for name, value in {**pins, **_open(intent.env)}.items():
        words += ["-genv", name, value]
    return Command([*words, *intent.extra, *program], dict(mpi.env))


def _hydra_hosts(intent: Intent) -> list[str]:
    words = ["-hosts", ",".join(intent.hosts)] if intent.hosts else []
    return [*words, "-ppn", str(intent.ppn)] if intent.ppn else words


def _openmpi(
    mpi: Installation, intent: Intent, program: Sequence[str], cores: int, root: bool, nodes: int
) -> Command:
    crowded = intent.per_host(nodes) > cores
    words = [mpi.launcher]
    if root:
        words.append("--allow-run-as-root")
    if crowded and not (intent.ppn and mpi.major >= 5):
        words.append("--oversubscribe")
    if intent.hosts:
        words += ["--host", ",".join(f"{host}:{intent.per_host()}" for host in intent.hosts)]
    if intent.ppn:
        # Of 5.0 on --oversubscribe is a --map-by too, of which there may be one.
        words += ["--map-by", f"ppr:{intent.ppn}:node" + ":OVERSUBSCRIBE" * (crowded and mpi.major >= 5)]
    # The numbers of --cpu-set and pe-list are those of cores in some versions; taskset's are the system's in all.
    bind = "none" if intent.cpus or (crowded and not intent.bind) else intent.bind
    if bind:
        words += ["--bind-to", _OPENMPI_BINDS.get(bind, {}).get(min(max(mpi.major, 4), 5), bind)]
    for name, value in intent.env.items():
        words += ["-x", name if is_secret(name) else f"{name}={value}"]
    words += intent.extra
    if not intent.cpus:
        return Command([*words, "-n", str(intent.ranks), *program], dict(mpi.env))
    if len(set(intent.cpus)) == 1:
        pinned = ["taskset", "-c", str(intent.cpus[0])]
        return Command([*words, "-n", str(intent.ranks), *pinned, *program], dict(mpi.env))
    for rank in range(intent.ranks):
        cpu = str(intent.cpus[rank % len(intent.cpus)])
        words += [*([":"] if rank else []), "-n", "1", "taskset", "-c", cpu, *program]
    return Command(words, dict(mpi.env))


def _srun(mpi: Installation, intent: Intent, program: Sequence[str], cores: int, nodes: int) -> Command:
    # Open MPI starts through PMIx alone; MPICH and Intel MPI through PMI-2 wherever Slurm is.
    words = ["srun", "--mpi=" + ("pmix" if mpi.flavor == "openmpi" else "pmi2"), "--kill-on-bad-exit=1"]
    words += ["-n", str(intent.ranks)]
    if intent.hosts:
        words += ["-N", str(len(intent.hosts)), "--nodelist=" + ",".join(intent.hosts)]
    if intent.ppn:
        words += [f"--ntasks-per-node={intent.ppn}"]
    if intent.per_host(nodes) > cores and (intent.hosts or nodes):
        words.append("--overcommit")
    if intent.cpus:
        words.append("--cpu-bind=map_cpu:" + ",".join(map(str, intent.cpus)))
    elif intent.bind:
        words.append(f"--cpu-bind={_SRUN_BINDS[intent.bind]}")
    # srun passes its own environment on; --export cannot pass a value with a comma.
    told = prebuilt.telling(mpi) if Path(program[0]).parent == packaged_programs() else {}
    return Command([*words, *intent.extra, *program], {**told, **mpi.env, **intent.env})


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a launch ended. `status`: exit status, or minus the signal, as subprocess has it. `seconds`: until then, or until
    it was over and only lingered. `launched_at`, `exited_at`: times of day at which the launcher began and ended (seconds
    since 1970-01-01 UTC)."""

    outcome: Outcome
    status: int
    seconds: float
    launched_at: float | None = None
    exited_at: float | None = None


def run(
    command: Command,
    *,
    output: Path,
    errors: Path,
    timeout: float | None,
    hide: Collection[str] = (),
    follow: Path | None = None,
    on_line: Callable[[bytes], None] = lambda line: None,
    on_tick: Callable[[float], None] = lambda seconds: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Ended:
    """Runs one launch, its output going straight to files, so that nothing is lost whoever is killed; without the values to
    `hide`, which are never in a file.

    `on_line` gets each complete line of the file `follow` while it grows; `on_tick` the seconds since the start, ten
    times a second. After `timeout` seconds the launch is asked to end, and killed with all its processes after `GRACE`
    more. From when it `is_over` it has `LINGER` seconds instead. Ctrl-C does the same at once; a second one kills (in the
    main thread). SIGTERM, which a scheduler sends to a job that it ends, is taken as Ctrl-C. Raises ImbError where the
    command cannot be started.
    """
    with orphans.adopting() as mark, masking.printed_to([output, errors], hide, HIDDEN) as files:
        process, launched = _started(command, mark, files)
        return _see_through(process, launched, mark, timeout, _Tail(follow), on_line, on_tick, is_over)


def _started(
    command: Command, mark: str, files: Sequence[IO[bytes]]
) -> tuple[subprocess.Popen[bytes], orphans.Launched]:
    env = {**os.environ, **command.env, orphans.MARK: mark}
    launched = orphans.Launched()
    out, err = files
    with out, err, launched.told() as pipe:
        try:
            process = subprocess.Popen(
                orphans.with_parent(command.words, env.get("PATH"), pipe),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                pass_fds=[pipe] if pipe >= 0 else [],
            )
        except OSError as error:
            raise ImbError(f"cannot start {command.words[0]}: {error.strerror}") from error
    return process, launched


@contextlib.contextmanager
def _watched(pid: int) -> Iterator[Callable[[float], None]]:
    """A function that returns when this child ends, or so many seconds later. subprocess looks every 50 ms only, which is
    longer than some launches take to end."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # another system than Linux, or an old one
        yield time.sleep
        return
    ends = select.poll()
    ends.register(handle, select.POLLIN)

    def wait(seconds: float) -> None:
        ends.poll(seconds * 1000)

    try:
        yield wait
    finally:
        os.close(handle)


def _see_through(
    process: subprocess.Popen[bytes],
    launched: orphans.Launched,
    mark: str,
    timeout: float | None,
    tail: _Tail,
    on_line: Callable[[bytes], None],
    on_tick: Callable[[float], None],
    is_over: Callable[[], bool],
) -> Ended:
    began = time.monotonic()
    outcome: Outcome = "finished"
    said_over: float | None = None
    exited: float | None = None
    try:
        with sigterm_interrupts(), _watched(process.pid) as wait:
            while process.poll() is None:
                seconds = time.monotonic() - began
                tail.read(on_line)
                if said_over is None and is_over():
                    said_over = seconds
                if said_over is not None:
                    if seconds > said_over + LINGER:
                        outcome = "lingered"
                        break
                elif timeout is not None and seconds > timeout:
                    outcome = "timed_out"
                    break
                on_tick(seconds)
                wait(_POLL)
            exited = time.time()
            if process.returncode and Allocation.of().scheduler == "Slurm":
                time.sleep(_TURN)  # was it Slurm that ended it, which is about to end us too?
    except KeyboardInterrupt:
        outcome = "interrupted"
    finally:
        status = _end(process, mark)
        began_at = launched.at()
    tail.read(on_line)
    seconds = time.monotonic() - began
    if outcome == "lingered" and said_over is not None:
        seconds = said_over
    return Ended(
        outcome=outcome, status=status, seconds=seconds, launched_at=began_at, exited_at=exited or time.time()
    )


@contextlib.contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM is taken as Ctrl-C; in the main thread."""
    if threading.current_thread() is not threading.main_thread():  # others may set no handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes], mark: str) -> int:
    """Ends what runs still, and returns the exit status. Ranks may be in groups and sessions of their own."""
    if process.poll() is None:
        family = _family(process.pid)
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            process.terminate()
            process.wait(GRACE)
        family = {*family, *_family(process.pid)}
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for member in family:  # psutil compares start times: no stranger with a reused number is hit
            with contextlib.suppress(psutil.Error):
                member.kill()
        psutil.wait_procs(family, timeout=1)  # the next launch is to find the cores free
    status = process.wait()
    if status < 0 or status > 128:  # ended by a signal, or a shell reports that: it did not end its ranks
        orphans.end(mark)
    if status == -signal.SIGKILL:
        _remove_session_folder(process.pid)
    return status


def _remove_session_folder(pid: int) -> None:
    """Open MPI 5's launcher removes it itself unless killed. A later one with the same number would refuse to start."""
    temporary = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
    folder = Path(temporary) / f"ompi.{pid}"
    with contextlib.suppress(OSError):
        if folder.lstat().st_uid == os.geteuid():
            shutil.rmtree(folder)


def _family(pid: int) -> set[psutil.Process]:
    return set(answer_of(lambda: psutil.Process(pid).children(recursive=True)) or [])


class _Tail:
    """Complete lines of a growing file, which may not be there yet."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.file: IO[bytes] | None = None
        self.rest = b""

    def read(self, on_line: Callable[[bytes], None]) -> None:
        if self.file is None and self.path is not None:
            with contextlib.suppress(OSError):
                self.file = self.path.open("rb")
        if self.file is not None:
            *lines, self.rest = (self.rest + self.file.read()).split(b"\n")
            for line in lines:
                on_line(line)
