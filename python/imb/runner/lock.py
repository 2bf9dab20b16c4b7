"""Ensures that one process at a time executes a session: the process holds a lock and records its identity.

ARCHIVE/sessions/ID/lock         locked (flock) while a process executes the session; the file is never deleted
                    owner.json   the process; touched every BEAT seconds (heartbeat); deleted when the process ends normally

The system releases the lock of a killed process. Some network file systems have locks only within a host, so an
owner on another host counts as dead when its last heartbeat is EXPIRY seconds old. If needed, a process waits until then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import msgspec
import psutil

from imb.model.errors import ImbError
from imb.model.text import now
from imb.mpi.host import answer_of
from imb.runner.session import Plan, folder_of, is_in_job
from imb.store.durable_files import write_whole
from imb.store.labels import user
from imb.store.reading import UnreadableFile, read_json
from imb.store.store import Archive

BEAT = 10.0  # seconds between heartbeats
EXPIRY = 6 * BEAT  # seconds without a heartbeat after which an owner on another host counts as dead
_POLL = 0.2
# Seconds that a job waits for the lock: a scheduler may start the next job of a chain while the previous one still stores its last launch.
_LAST_JOB = 30.0
_NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}  # errors of a file system without locks


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The content of owner.json. `born`: start time of the process, which tells it from a later process with the same number; `since`: UTC,
    ISO 8601."""

    user: str
    host: str
    pid: int
    born: float
    since: str

    def __str__(self) -> str:
        if self == _UNKNOWN:
            return "a process that its owner.json does not name"
        return f"process {self.pid} of {self.user} on {self.host}"


# The owner if the file cannot be read. The file's modification time is still a heartbeat.
_UNKNOWN = Owner(user="", host="", pid=0, born=0, since="")


@contextlib.contextmanager
def hold_lock(archive: Archive, plan: Plan, report: Callable[[str], None]) -> Iterator[None]:
    """A context in which no other process executes the session. `report` gets a line if it must wait.

    Raises ImbError if another process executes the session, or if the files cannot be written.
    """
    folder = folder_of(archive, plan.id)
    file = folder / "owner.json"
    with contextlib.ExitStack() as stack:
        try:
            _lock(folder / "lock", stack)
        except filelock.Timeout:
            raise _refusal(plan, _holder(file)) from None
        except OSError as error:
            raise archive.refusal(error) from error
        _wait_for_owner(plan, file, report)
        try:
            write_whole(file, msgspec.json.encode(_this_process()) + b"\n")
        except OSError as error:
            raise archive.refusal(error) from error
        stack.callback(file.unlink, missing_ok=True)
        stack.enter_context(_beating(file))
        yield


def is_held(archive: Archive, plan: Plan) -> bool:
    """Whether another process executes the session: on this host, whether its process runs; on another host, whether its heartbeat is fresh."""
    file = folder_of(archive, plan.id) / "owner.json"
    if (owner := _owner(file)) is None:
        return False
    if owner.host == socket.gethostname():
        return _is_running_here(owner)
    try:
        return _time_here(file) - _time_of(file) < EXPIRY
    except OSError as error:
        raise archive.refusal(error) from error


def _lock(path: Path, stack: contextlib.ExitStack) -> None:
    """Locks the file; does nothing if the file system has no locks. Raises OSError, or filelock.Timeout if another process has the lock."""
    lock = filelock.FileLock(path, timeout=_LAST_JOB if is_in_job() else 0)
    try:
        stack.enter_context(lock)
    except NotImplementedError:
        pass
    except OSError as error:
        if isinstance(error, filelock.Timeout) or error.errno not in _NO_LOCKS:
            raise


def _wait_for_owner(plan: Plan, file: Path, report: Callable[[str], None]) -> None:
    """Waits until the owner in the file, if there is one, counts as dead. Raises ImbError if it is alive."""
    if (owner := _owner(file)) is None:
        return
    if owner.host == socket.gethostname():
        if _is_running_here(owner):
            raise _refusal(plan, owner)
        return
    last = _time_of(file)
    age = _time_here(file) - last
    if age < EXPIRY:
        last_beat = f"last heartbeat of {owner} {max(age, 0):.0f} s ago"
        report(f"session {plan.id}: {last_beat}; waiting until it is {EXPIRY:.0f} s old")
    until = time.monotonic() + EXPIRY - max(age, 0)
    while time.monotonic() < until:
        time.sleep(_POLL)
        if (latest := _time_of(file)) == 0:  # it has just ended
            return
        if latest != last:
            raise _refusal(plan, owner)


def _is_running_here(owner: Owner) -> bool:
    """Whether the owner, recorded on this host, is another process that still runs."""
    born = _start_time(owner.pid)
    return owner.pid != os.getpid() and born is not None and abs(born - owner.born) < 1


def _holder(file: Path) -> Owner | None:
    """The owner of the lock, or None if the file does not name it within a second. The owner writes the file just after it takes the lock."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        owner = _owner(file)
        if owner and (owner.host != socket.gethostname() or _is_running_here(owner)):
            return owner
        time.sleep(_POLL / 4)
    return None


def _owner(file: Path) -> Owner | None:
    try:
        return read_json(file, Owner)
    except UnreadableFile as error:
        return None if isinstance(error.error, FileNotFoundError) else _UNKNOWN


def _time_of(file: Path) -> float:
    """The modification time in seconds, by the clock of the file system; 0 if the file is missing."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0


def _time_here(file: Path) -> float:
    """The time now by the clock of the file system, since clocks of hosts differ. Raises OSError."""
    lock = file.with_name("lock")
    lock.touch()
    return lock.stat().st_mtime


def _refusal(plan: Plan, owner: Owner | None) -> ImbError:
    return ImbError(
        f"session {plan.id} is being executed by {owner or 'another process'};"
        " wait until it ends, or resume another session with `imb run --resume NAME`"
    )


def _this_process() -> Owner:
    born = _start_time(os.getpid()) or 0.0  # unknown is fine: the lock works without it
    return Owner(user=user(), host=socket.gethostname(), pid=os.getpid(), born=born, since=now())


def _start_time(pid: int) -> float | None:
    """The start time of a process of this host in seconds, or None if it has ended or the system does not tell. A zombie counts as ended,
    since many containers never remove zombies."""
    process = answer_of(lambda: psutil.Process(pid))
    if process is None or answer_of(process.status) == psutil.STATUS_ZOMBIE:
        return None
    return answer_of(process.create_time)


@contextlib.contextmanager
def _beating(file: Path) -> Iterator[None]:
    """Touches the file every BEAT seconds."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(file)

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
