"""The file of `imb health`, and its launches. A check must end within two seconds, so it imports little
besides this module."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from imb.health.figure_state import FigureState, SessionSeconds
from imb.model.errors import UNDECODABLE, ImbError
from imb.model.folders import state_folder
from imb.model.intent import Intent
from imb.model.mpis import Host, chooses_transports
from imb.model.outcomes import incomplete_reason, other_ranks_problem, unfinished_problem
from imb.model.records import Component, End, Failure, Result, Run, read
from imb.model.statuses import Status
from imb.model.units import size
from imb.mpi import launch, load
from imb.mpi.host import cores
from imb.mpi.installations import Installation, missing_program
from imb.mpi.launchers import launch_command
from imb.readers.launch_errors import reason
from imb.runner import ownership
from imb.runner.session import Item, Plan, program_of
from imb.store.durable_files import write_whole

FORMAT = "openimb-health/1"
CANNOT_JUDGE = "cannot judge"  # no check can judge until its file or its surroundings change
GRACE = 0.3  # seconds that a launch has to exit before it is killed
LINGER = 1.0  # seconds that a launch has to exit after its last record
BUSY = 0.5  # CPUs; if other processes use more, a slow launch is no evidence


class LearnedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session. `at`: when it began, ISO 8601; `seconds`: duration of its slowest launch; `values`: seconds
    of its launches, by figure."""

    at: str
    seconds: float
    values: dict[str, list[float]]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The last check. `verdict`: its verdict, or CANNOT_JUDGE, and `why`."""

    at: str
    verdict: str
    why: str = ""


class HealthFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file: what is launched on which host, the sessions that define the limits, and the state that a
    check leaves for the next one. `library`: the name that the MPI library reports. `settings`: environment
    variables of the ranks that choose its transports, or None if unknown. `checks`, `suspects`: numbers of
    checks and of suspects so far."""

    format: str = FORMAT
    host: str
    mpi: Installation
    programs: str
    intent: Intent
    component: Component
    arguments: list[str]
    library: str | None = None
    settings: dict[str, str] | None = None
    sessions: list[LearnedSession] = []
    watched: dict[str, FigureState] = {}
    checks: int = 0
    suspects: int = 0
    last: CheckResult | None = None

    def values(self) -> list[SessionSeconds]:
        """The values of each session."""
        return [session.values for session in self.sessions]


class HealthLaunch(NamedTuple):
    """`values`: seconds by figure; `seconds`: duration of the launch; `library`, `settings`: as in
    HealthFile; `others`: CPUs that other processes used. None if unknown."""

    values: dict[str, float]
    seconds: float
    library: str | None
    settings: dict[str, str] | None
    others: float | None


class MeasurementError(ImbError):
    """A launch did not yield the required values."""


def default_file() -> Path:
    """The file of this host. Its name has the host, because hosts may share a home."""
    return state_folder("--file") / f"health-{socket.gethostname()}.json"


@contextlib.contextmanager
def hold_file(path: Path) -> Iterator[None]:
    """Lock the file against other processes while the context lasts. Raises ImbError if another process holds
    it, and OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MeasurementError(
                f"{path}: another imb health is running; nothing measured", status=Status.UNDECIDED
            ) from None
        yield
    finally:
        os.close(number)


def load_file(path: Path, *, to_execute: bool = True) -> HealthFile | None:
    """The content of the file, or None if it does not exist. `to_execute`: the programs that it names will be
    executed, so it must belong to this user. Raises ImbError, OSError."""
    try:
        file = ownership.examine_file(path)
    except FileNotFoundError:
        return None
    if to_execute and not file.is_own:
        raise ImbError(
            f"{path} belongs to another user, or others may write it; it names the programs to execute"
        )
    advice = "remove it and learn again" if to_execute else "ignored"
    try:
        kept = msgspec.json.decode(file.text, type=HealthFile)
    except UNDECODABLE as error:
        raise ImbError(f"{path} is not a file of imb health ({error}); {advice}") from error
    if kept.format != FORMAT:
        raise ImbError(f"{path} is a file of another version ({kept.format}); {advice}")
    return kept


def save(path: Path, kept: HealthFile, before: HealthFile | None) -> None:
    """Replace the content `before` of the file. Raises ImbError if the file changed since then, and OSError."""
    if load_file(path) != before:
        raise ImbError(f"{path} was changed or removed meanwhile; nothing added to it")
    write_whole(path, msgspec.json.format(msgspec.json.encode(kept)) + b"\n", mode=0o644)


def measure(plan: Plan, item: Item, figures: Collection[str]) -> HealthLaunch:
    """Launch once, for at most the time limit and the time that the exit takes. `figures`: required ones; empty: any. Raises
    MeasurementError, OSError."""
    variant = plan.variants[item.variant]
    program, timeout = program_of(plan, item), item.timeout
    if not os.access(program, os.X_OK):
        raise MeasurementError(missing_program(program))
    host = Host(cores(), os.geteuid() == 0)
    with tempfile.TemporaryDirectory(prefix="imb-health-", ignore_cleanup_errors=True) as folder:
        records_file, errors = Path(folder, "records.jsonl"), Path(folder, "stderr.txt")
        words = [str(program), *item.arguments, "-json", str(records_file)]
        began, before = time.monotonic(), load.moment()
        ended = launch.run(
            launch_command(variant.mpi, variant.intent, words, host),
            output=Path(folder, "output.txt"),
            errors=errors,
            timeout=timeout,
            at_most=timeout,
            is_over=lambda: _is_complete(records_file),
            grace=GRACE,
            linger=LINGER,
        )
        during = load.load_between(before, load.moment())
        seconds = time.monotonic() - began
        if ended.outcome == "interrupted":
            raise KeyboardInterrupt
        records = read(records_file.read_bytes(), "records").records if records_file.exists() else []
        stderr = errors.read_bytes()
    runs = [record for record in records if isinstance(record, Run)]
    if not any(isinstance(record, End) for record in records):
        why = reason(stderr) if ended.outcome == "finished" else None
        if not why and ended.outcome == "finished" and ended.status == 0:
            why = unfinished_problem(ended.status, has_records=bool(records))
        outcome = "timed_out" if ended.outcome == "timed_out" else "failed"
        clause = why or incomplete_reason(outcome, ended.status, None, timeout)
        raise MeasurementError(f"the launch did not complete: {clause}", status=Status.UNDECIDED)
    if failed := next((record for record in records if isinstance(record, Failure)), None):
        raise MeasurementError(
            f"{failed.benchmark} was not measured: {failed.reason}", status=Status.UNDECIDED
        )
    ranks = len(runs[0].ranks or [])
    if ranks not in (0, variant.intent.ranks):
        raise MeasurementError(other_ranks_problem(ranks, variant.intent.ranks), status=Status.UNDECIDED)
    others = during.other_cpus + during.stolen_cpus if during else None
    times = {
        row.benchmark if row.bytes is None else f"{row.benchmark} {size(row.bytes)}": row.time_max_seconds
        or row.time_avg_seconds
        for row in records
        if isinstance(row, Result)
    }
    values = {figure: value for figure, value in times.items() if value}
    if missing := ", ".join(sorted({*(figures or times)} - values.keys())):
        raise MeasurementError(f"the launch has no time of {missing}", status=Status.UNDECIDED)
    if not values:
        raise MeasurementError("the launch has no times", status=Status.UNDECIDED)
    library = runs[0].mpi.known_as if runs[0].mpi else None
    return HealthLaunch(values, seconds, library, _settings(runs[0], variant.mpi), others)


def _settings(run: Run, mpi: Installation) -> dict[str, str] | None:
    if run.environment is None:
        return None
    return transport_variables(mpi, run.environment)


def transport_variables(mpi: Installation, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that choose transports of this MPI. Variables of other MPIs have no effect."""
    return {name: text for name, text in sorted(variables.items()) if chooses_transports(mpi.product, name)}


def _is_complete(records: Path) -> bool:
    try:
        return records.read_bytes().rpartition(b"\n{")[2].startswith(b'"record":"end"')
    except FileNotFoundError:
        return False
