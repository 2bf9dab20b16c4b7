"""Processes that outlive their launcher, and a launcher that outlives its `imb` (Linux)."""

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

MARK = "IMB_LAUNCH"  # a variable of every process of a launch; its value names the launch
_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_ROUNDS = 10  # of searching for processes: one that is ended may leave others
_GRACE = 1.0  # seconds
# PR_SET_PDEATHSIG (1) lasts over exec. It is set after fork, where a parent that has ended already is noticed by its number.
# The time of day at exec goes to a pipe: Python itself takes longer to start than some launchers.
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
_adopting = 0  # launches that run


@contextlib.contextmanager
def adopt_orphans() -> Iterator[str]:
    """A mark that names a launch. While a launch runs, processes that a launcher leaves behind become children of this process.
    Afterwards they do not: this process would not wait for processes of others, and they would stay as zombies."""
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
    """The command, found on `path`, which gets SIGTERM when this process ends. The time of day at which it begins is written
    to `pipe`, on Linux. Raises ImbError if there is no such program."""
    program = shutil.which(words[0], path=path)
    if program is None:
        raise ImbError(f"cannot start {words[0]}: no such program; check the PATH")
    if sys.platform != "linux":
        return words
    return [sys.executable, "-I", "-S", "-c", _WITH_PARENT, str(os.getpid()), str(pipe), program, *words]


class LauncherStart:
    """When the launcher began: what `bind_to_parent` writes, else when its process was made."""

    def __init__(self) -> None:
        self._read = -1
        self._created = time.time()

    @contextlib.contextmanager
    def pipe_end(self) -> Iterator[int]:
        """The end of a pipe for it; -1: none."""
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

    def at(self) -> float:
        """To be called once, when the launcher has ended."""
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
    """Ends the processes of this launch whose parent has ended, with all theirs."""
    ended: set[int] = set()
    for number in range(_ROUNDS):
        processes = _processes_with(mark)
        if not processes:
            break
        ended |= {process.pid for process in processes}
        for process in processes:  # psutil compares start times: no stranger with a reused number is hit
            with contextlib.suppress(psutil.Error):
                process.terminate() if number == 0 else process.kill()
        psutil.wait_procs(processes, timeout=_GRACE)
    for pid in ended:  # those that became children of this process while they ended
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _processes_with(mark: str) -> list[psutil.Process]:
    processes: set[psutil.Process] = set()
    for child in answer_of(lambda: psutil.Process().children()) or []:
        with contextlib.suppress(psutil.Error):
            if child.status() != psutil.STATUS_ZOMBIE and child.environ().get(MARK) == mark:
                processes |= {child, *child.children(recursive=True)}
    return list(processes)
