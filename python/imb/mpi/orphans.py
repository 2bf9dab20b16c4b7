"""Ends processes that outlive their launcher, and launchers that outlive their `imb` (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import sys
import threading
import time
from collections.abc import Iterator

import psutil

from imb.model.errors import ImbError
from imb.mpi.host import answer_of

MARK = "IMB_LAUNCH"  # environment variable of every process of a launch; its value identifies the launch
_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
_ROUNDS = 10  # repetitions of the search for processes, since a process that is ended may leave others
_GRACE = 1.0  # seconds
# PR_SET_PDEATHSIG (1) survives exec. It is set after fork; then the parent's number tells whether the parent has ended already.
# The time of day at exec goes to a pipe, since Python takes longer to start than some launchers.
_WITH_PARENT = """
import ctypes, os, sys, time
ctypes.CDLL(None).prctl(1, 15)
if os.getppid() != int(sys.argv[1]):
    sys.exit(143)
pipe = int(sys.argv[2])
if pipe >= 0:
    os.set_inheritable(pipe, False)
    os.write(pipe, repr(time.time()).encode())
try:
    os.execv(sys.argv[3], sys.argv[4:])
except OSError as error:
    sys.exit(f"imb: cannot start {sys.argv[3]}: {error.strerror}")
"""


_lock = threading.Lock()
_adopting = 0  # number of running launches


@contextlib.contextmanager
def adopt_orphans() -> Iterator[str]:
    """A context with a mark that identifies a launch. While it lasts, processes that a launcher leaves behind become children of this process.
    Later they do not, since this process would not wait for them and they would remain as zombies."""
    _adopt(1)
    try:
        yield secrets.token_hex(8)
    finally:
        _adopt(-1)


def _adopt(more: int) -> None:
    global _adopting
    with _lock:
        _adopting += more
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(_adopting > 0), 0, 0, 0)


def bind_to_parent(words: list[str], path: str | None, pipe: int = -1) -> list[str]:
    """The command, with the program found on `path`, extended so that it gets SIGTERM when this process ends and writes its start time to
    `pipe` (on Linux). Raises ImbError if there is no such program."""
    program = shutil.which(words[0], path=path)
    if program is None:
        raise ImbError(f"cannot start {words[0]}: no such program; check the PATH")
    if sys.platform != "linux":
        return words
    return [sys.executable, "-I", "-S", "-c", _WITH_PARENT, str(os.getpid()), str(pipe), program, *words]


class LauncherStart:
    """The time at which the launcher began: the time that `bind_to_parent` writes, or the creation time of its process."""

    def __init__(self) -> None:
        self._read = -1
        self._created = time.time()

    @contextlib.contextmanager
    def pipe_end(self) -> Iterator[int]:
        """A context with the write end of a pipe for the start time, or -1 if there is none."""
        if sys.platform != "linux":
            yield -1
            return
        self._read, write = os.pipe()
        try:
            yield write
        except BaseException:
            os.close(self._read)
            raise
        finally:
            os.close(write)

    def start_time(self) -> float:
        """The start time in seconds since 1970-01-01 UTC. Call it once, after the launcher has ended."""
        if self._read < 0:
            return self._created
        os.set_blocking(self._read, False)
        try:
            return float(os.read(self._read, 100))
        except (OSError, ValueError):
            return self._created
        finally:
            os.close(self._read)


def end(mark: str) -> None:
    """Ends the processes of this launch whose parent has ended, and their descendants."""
    ended: set[int] = set()
    for number in range(_ROUNDS):
        processes = _processes_with(mark)
        if not processes:
            break
        ended |= {process.pid for process in processes}
        for (
            process
        ) in processes:  # psutil compares start times, so a reused process number cannot hit another process
            with contextlib.suppress(psutil.Error):
                process.terminate() if number == 0 else process.kill()
        psutil.wait_procs(processes, timeout=_GRACE)
    for pid in ended:  # waits for processes that became children of this process while they ended
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _processes_with(mark: str) -> list[psutil.Process]:
    processes: set[psutil.Process] = set()
    for child in answer_of(lambda: psutil.Process().children()) or []:
        with contextlib.suppress(psutil.Error):
            if child.status() != psutil.STATUS_ZOMBIE and child.environ().get(MARK) == mark:
                processes |= {child, *child.children(recursive=True)}
    return list(processes)
