"""Runs launches. No other module starts a launcher."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Literal, TypeAlias

import msgspec
import psutil

from imb.model.errors import ImbError
from imb.model.mpis import WITH_LAUNCHER
from imb.model.secrecy import HIDDEN
from imb.mpi import filtered_files, orphans
from imb.mpi.allocation import Allocation
from imb.mpi.host import answer_of
from imb.mpi.launchers import Command

LaunchOutcome: TypeAlias = Literal["finished", "timed_out", "interrupted", "lingered"]
GRACE = 5.0  # seconds that a launch has to end after a signal before it is killed
LINGER = 60.0  # seconds that a launcher has to end after the program's last record; Open MPI 5's launcher sometimes hangs
_POLL = 0.1
_SIGNALING = 1.0  # seconds that Slurm needs on a busy machine to signal all processes of a job, one by one


class LaunchEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a launch ended. `status`: exit status, or minus the signal, as in subprocess; `seconds`: duration, without the time in which
    it only lingered; `launched_at`, `exited_at`: times of day at which the launcher began and ended (seconds since 1970-01-01 UTC)."""

    outcome: LaunchOutcome
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
    at_most: float | None = None,
    hide: Collection[str] = (),
    follow: Path | None = None,
    on_line: Callable[[bytes], None] = lambda line: None,
    on_tick: Callable[[float], None] = lambda seconds: None,
    is_over: Callable[[], bool] = lambda: False,
    grace: float | None = None,
    linger: float | None = None,
) -> LaunchEnd:
    """Runs one launch. Its output goes directly to files, so that nothing is lost if it or `imb` is killed. The values in `hide` are
    never written to a file.

    `on_line` gets each complete line of the growing file `follow`; `on_tick` gets the seconds since the start, ten times a second.

    After `timeout` seconds, the launch gets SIGTERM, and after `grace` (default GRACE) more seconds all its processes are killed. Once
    `is_over` returns True, the launch has `linger` (default LINGER) seconds to end, and at most `at_most` seconds in all. Ctrl-C ends
    it at once in the same way; a second Ctrl-C kills it (in the main thread). SIGTERM, which a scheduler sends to end a job, has the
    effect of Ctrl-C. Raises ImbError if the command cannot be started.
    """
    grace = GRACE if grace is None else grace
    linger = LINGER if linger is None else linger
    with (
        orphans.adopt_orphans() as mark,
        filtered_files.open_filtered([output, errors], hide, HIDDEN) as files,
    ):
        process, launched = _start(command, mark, files)
        return _wait_until_ended(
            process, launched, mark, timeout, at_most, _Tail(follow), on_line, on_tick, is_over, grace, linger
        )


def _start(
    command: Command, mark: str, files: Sequence[IO[bytes]]
) -> tuple[subprocess.Popen[bytes], orphans.LauncherStart]:
    env = {**os.environ, **command.env, orphans.MARK: mark}
    launched = orphans.LauncherStart()
    out, err = files
    with out, err, launched.pipe_end() as pipe:
        try:
            process = subprocess.Popen(
                orphans.bind_to_parent(command.words, env.get("PATH"), pipe),
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
def _wait_for_child(pid: int) -> Iterator[Callable[[float], None]]:
    """A context with a function that returns when this child ends, or after the given seconds. subprocess polls only every 50 ms, which is
    longer than some launches need to end."""
    try:
        handle = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old kernel
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


def _wait_until_ended(
    process: subprocess.Popen[bytes],
    launched: orphans.LauncherStart,
    mark: str,
    timeout: float | None,
    at_most: float | None,
    tail: _Tail,
    on_line: Callable[[bytes], None],
    on_tick: Callable[[float], None],
    is_over: Callable[[], bool],
    grace: float,
    linger: float,
) -> LaunchEnd:
    began = time.monotonic()
    outcome: LaunchOutcome = "finished"
    over_at: float | None = None
    exited: float | None = None
    try:
        with sigterm_interrupts(), _wait_for_child(process.pid) as wait:
            while process.poll() is None:
                seconds = time.monotonic() - began
                tail.read(on_line)
                if over_at is None and is_over():
                    over_at = seconds
                if over_at is not None:
                    end = over_at + linger
                    if seconds > (end if at_most is None else min(end, at_most)):
                        outcome = "lingered"
                        break
                elif timeout is not None and seconds > timeout:
                    outcome = "timed_out"
                    break
                on_tick(seconds)
                wait(_POLL)
            exited = time.time()
            if process.returncode and Allocation.of().scheduler == "Slurm":
                time.sleep(
                    _SIGNALING
                )  # Slurm may have ended it; then it also signals this process, a moment later
    except KeyboardInterrupt:
        outcome = "interrupted"
    finally:
        status = _end(process, mark, grace)
        began_at = launched.start_time()
    tail.read(on_line)
    seconds = time.monotonic() - began
    if outcome == "lingered" and over_at is not None:
        seconds = over_at
    return LaunchEnd(
        outcome=outcome, status=status, seconds=seconds, launched_at=began_at, exited_at=exited or time.time()
    )


@contextlib.contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """A context in which SIGTERM has the effect of Ctrl-C, in the main thread."""
    if threading.current_thread() is not threading.main_thread():  # other threads cannot set handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(process: subprocess.Popen[bytes], mark: str, grace: float) -> int:
    """Ends all processes that still run, and returns the exit status. Ranks may have their own process groups and sessions."""
    if process.poll() is None:
        family = _family(process.pid)
        with contextlib.suppress(KeyboardInterrupt, subprocess.TimeoutExpired):
            process.terminate()
            process.wait(grace)
        family = {*family, *_family(process.pid)}
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for member in family:  # psutil compares start times, so a reused number hits no other process
            with contextlib.suppress(psutil.Error):
                member.kill()
        psutil.wait_procs(family, timeout=min(1.0, grace))  # so that the next launch finds idle cores
    status = process.wait()
    if (
        status < 0 or status > 128
    ):  # a signal ended it (a shell reports that as above 128), so it did not end its ranks
        orphans.end(mark)
    if status == -signal.SIGKILL:
        _remove_leftovers(process.pid)
    return status


def _remove_leftovers(pid: int) -> None:
    """Removes temporary folders of a killed launcher that would block a later launcher with the same process number."""
    temporary = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")
    for folder in (Path(temporary) / name for mpi in WITH_LAUNCHER if (name := mpi.leftover_folder(pid))):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid():
                shutil.rmtree(folder)


def _family(pid: int) -> set[psutil.Process]:
    return set(answer_of(lambda: psutil.Process(pid).children(recursive=True)) or [])


class _Tail:
    """Reads the complete lines of a growing file, which may not exist yet."""

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
