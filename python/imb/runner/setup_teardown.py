"""Sets variants of a campaign up and tears them down. Every setup gets its teardown, even if `imb` was killed.

ARCHIVE/sessions/ID/standing.json is written before a setup begins and deleted after a successful teardown. So an `imb` that
resumes the session finds the variant that a killed `imb` left set up.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import msgspec

from imb.model.errors import ImbError
from imb.model.secrecy import hidden_command, revealed_command
from imb.model.statuses import Status
from imb.mpi.filtered_files import open_private
from imb.runner import session
from imb.store.durable_files import write_whole
from imb.store.reading import UnreadableFile, read_json
from imb.store.store import Archive

_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
_STOPS = (signal.SIGTERM, signal.SIGHUP)  # a scheduler or a closed terminal sends these


class SetUpVariant(msgspec.Struct, frozen=True):
    """The content of standing.json: the index of the variant that is set up."""

    variant: int


class SetupState:
    """A context that knows the variant that is set up, and tears it down at its end, whatever the reason. The caller must own the session's
    lock (imb.runner.lock)."""

    def __init__(self, archive: Archive, plan: session.Plan, report: Callable[[str], None]) -> None:
        self.plan = plan
        self.report = report
        self.folder = session.folder_of(archive, plan.id)
        self.file = self.folder / "standing.json"
        self.now: int | None = None
        self.failed: set[int] = set()
        self._before: dict[int, object] = {}

    def __enter__(self) -> SetupState:
        if not self.plan.has_setup:
            return self
        if self.file.exists():
            left = self._read_state()
            self.report(f"{self._name(left.variant)} is still set up from an earlier run")
            self.now = left.variant
            self._tear_down()
        if threading.current_thread() is threading.main_thread():
            # A signal that nohup ignores stays ignored.
            stops = [number for number in _STOPS if signal.getsignal(number) is signal.SIG_DFL]
            self._before = {number: signal.signal(number, _interrupt) for number in stops}
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._tear_down()
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]

    def switch(self, variant: int) -> bool:
        """Tears another variant down, if needed, and sets this one up. Returns False if its setup failed.

        Raises ImbError if a teardown fails: later launches would not have their settings.
        """
        if variant in self.failed:
            return False
        if self.now is not None and self._commands(self.now) == self._commands(variant):
            return True
        self._tear_down()
        if not any(self._commands(variant)):
            return True
        self._mark(variant)
        for command in self.plan.variants[variant].setup:
            if problem := self._carry_out("setup", variant, command):
                self.failed.add(variant)
                self.report(f"{problem}; its launches are skipped; retry with --resume")
                self._tear_down()
                return False
        return True

    def _read_state(self) -> SetUpVariant:
        """The content of standing.json. Raises ImbError if it cannot be read, so that the variant is unknown."""
        advice = "a variant is still set up; undo that by hand and delete the file, then resume"
        try:
            left = read_json(self.file, SetUpVariant)
        except UnreadableFile as error:
            raise error.error_with_advice(advice) from error
        if not 0 <= left.variant < len(self.plan.variants):
            raise ImbError(f"{self.file}: no variant of this session; {advice}")
        return left

    def _mark(self, variant: int) -> None:
        self.now = variant
        write_whole(self.file, msgspec.json.encode(SetUpVariant(variant)) + b"\n")

    def _tear_down(self) -> None:
        if self.now is None:
            return
        variant, self.now = self.now, None
        with _signals_deferred():
            problems = [
                self._carry_out("teardown", variant, command)
                for command in self.plan.variants[variant].teardown
            ]
            if problem := next(filter(None, problems), None):
                raise ImbError(
                    f"{problem}; undo its effects by hand, then repeat the teardown with --resume",
                    status=Status.FAILED,
                )
            self.file.unlink(missing_ok=True)

    def _commands(self, variant: int) -> tuple[list[str], list[str]]:
        return self.plan.variants[variant].setup, self.plan.variants[variant].teardown

    def _name(self, variant: int) -> str:
        return f"{self.plan.campaign}/{self.plan.variants[variant].name}"

    def _carry_out(self, step: str, variant: int, command: str) -> str | None:
        """Runs one command, in its own process group, so that the terminal's Ctrl-C does not reach it. Returns an error message, or
        None if it succeeded.

        Raises ImbError if a hidden value is not in the environment.
        """
        whole, command = revealed_command(command), hidden_command(command)
        self.report(f"{step} of {self._name(variant)}: {command}")
        variables = {
            "IMB_CAMPAIGN": self.plan.campaign or "",
            "IMB_VARIANT": self.plan.variants[variant].name,
        }
        log = self.folder / "setup.log"
        with open_private(log, "ab") as output:
            output.write(f"$ {command}\n".encode())
            output.flush()
            start = output.tell()
            process = subprocess.Popen(
                ["/bin/sh", "-c", whole],
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status: int | None = process.wait(self.plan.setup_timeout)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                _end(process)
        if status == 0:
            return None
        how = (
            f"took longer than {self.plan.setup_timeout:g} s (setup_timeout)"
            if status is None
            else _ending(status)
        )
        return f"{step} of {self._name(variant)} {how}{_last_line(log, start)} ({command})"


def _ending(status: int) -> str:
    return f"failed with exit status {status}" if status > 0 else f"was ended by signal {-status}"


def _last_line(log: Path, start: int) -> str:
    lines = log.read_bytes()[start:].decode(errors="replace").split("\n")
    nonblank = [line.strip() for line in lines if line.strip()]
    return f": {hidden_command(nonblank[-1])[:160]}" if nonblank else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(_GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def _signals_deferred() -> Iterator[None]:
    """A context that delays signals that would end `imb` until it is left."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    stops = [n for n in (signal.SIGINT, *_STOPS) if signal.getsignal(n) is not signal.SIG_IGN]
    before = {
        number: signal.signal(number, lambda signal_number, frame: received.append(signal_number))
        for number in stops
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise KeyboardInterrupt
