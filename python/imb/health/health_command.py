"""imb health"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import named_path
from imb.cli.launching import MpiOption, ProgramsOption, chosen_mpi, prepare, ready_programs
from imb.cli.option_groups import ALL_FORMS, JUDGMENT, METHOD, OUTPUT, SUBJECT, Form, is_given
from imb.health.status import BAD
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.text import now
from imb.model.units import count_of, percent_text, us
from imb.report.terminal import Screen, say

if TYPE_CHECKING:
    from imb.health.checks import CheckResult, HealthFile, HealthLaunch
    from imb.health.figure_state import FigureState, Session
    from imb.health.limits import HealthCheck, Verdict

BENCHMARKS = ("PingPong", "Allreduce")
LENGTHS = "8,1048576"
BUDGET = "0.2"  # seconds for the passes of a launch
LIMIT = 60.0  # time limit of a launch of a session, in seconds
RESERVED = 0.3  # seconds that a check needs to judge, write and exit
# Less than an hour, because an hourly job may start some minutes early. Equal to imb.compare.pairing.APART, whose import
# takes longer than a check may.
SESSIONS_APART = timedelta(minutes=50)
STATUS = {"healthy": Status.GOOD, "suspect": Status.UNDECIDED, "inconclusive": Status.UNDECIDED, "bad": BAD}
_NO_VERDICT = ("inconclusive", "cannot judge")
_STYLES = {"healthy": "bold green", "bad": "bold red"}
_LEARNING = Form("cannot be combined with --learn")
_CHECK = Form("needs --learn; checks measure what the sessions measured")
_LISTING = Form("cannot be combined with --list")


def command(
    context: typer.Context,
    learn: Annotated[
        bool,
        typer.Option(
            "--learn",
            help="Measure a session and add it to the file; nothing is judged.",
            rich_help_panel=METHOD,
        ),
        _LEARNING,
    ] = False,
    list_hosts: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List the hosts of all files in the folder of --file; nothing is measured.",
            rich_help_panel=OUTPUT,
        ),
        _LISTING,
    ] = False,
    within: Annotated[
        float,
        typer.Option(
            "--within",
            min=1,
            max=600,
            metavar="SECONDS",
            help="Limit the duration of the check: 2, 5 or 10 s.",
            rich_help_panel=METHOD,
        ),
        _CHECK,
    ] = 5,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Also report errors and undecided checks in the exit status.",
            rich_help_panel=JUDGMENT,
        ),
        ALL_FORMS,
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            parser=named_path,
            metavar="FILE",
            envvar="IMB_HEALTH",
            show_envvar=True,
            show_default="openimb/health-HOST.json under the user's XDG state",
            help="File of the sessions of this host, and of suspects.",
            rich_help_panel=OUTPUT,
        ),
        ALL_FORMS,
    ] = None,
    np: Annotated[
        int | None,
        typer.Option(
            "--np",
            min=2,
            metavar="N",
            help="With --learn: ranks.",
            show_default="one for each core",
            rich_help_panel=SUBJECT,
        ),
        _LEARNING,
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="NAME",
            help="With --learn: watch this benchmark; may be repeated.",
            show_default=" and ".join(BENCHMARKS),
            rich_help_panel=SUBJECT,
        ),
        _LEARNING,
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            "--bytes",
            metavar="N[,N]",
            help="With --learn: message sizes.",
            show_default=LENGTHS.replace(",", " and "),
            rich_help_panel=SUBJECT,
        ),
        _LEARNING,
    ] = None,
    mpi: Annotated[MpiOption, _LEARNING] = None,
    programs: Annotated[ProgramsOption, _LEARNING] = None,
) -> None:
    """Check within seconds that this host is as fast as it was.

    Run it in health checks and prologs. First measure sessions on the idle host, an hour or more apart: imb health --learn.
    A check needs 16 sessions; with 50 it finds smaller slowdowns. All later sessions and the checks measure what the first
    session measured (--mpi, --np, --benchmark, --bytes).

    \b
    Examples:
      imb health --learn              # hourly, until there are 50 sessions
      imb health --within 2
      imb health --file /var/lib/imb/health.json --strict
      imb health --list               # hosts that share a home: bad and suspect ones first

    Exit status: 1 the host is bad; else 0, as any other status drains a node in most schedulers. With --strict: 11 suspect or
    inconclusive, 2 usage error or too few sessions; --list exits with the status of the worst host.
    \f
    A check launches up to four times. A metric with all four values beyond its limit is a suspect, and bad if a check five
    minutes later or more finds it again, and no check between them found it within the limit. The limit is the r-th largest of n
    values, one of each session: r is 1 for n = 16 and 5 for n = 50. For any distribution of independent values, at most
    1 check in 4500 has a false suspect, per metric. Values that follow each other share the state of the machine, so
    suspects are more frequent: the number of this host's own sessions that would have been suspects is printed, as well as
    the slowdown that a check can see. A check that runs out of time continues in the next one.

    A launch beside other processes is no evidence of a slow host, nor is a failed one: such a check is inconclusive.
    Variables of schedulers are removed from launches, since launchers fail with them in a prolog. Pairs of hosts are not
    checked: see imb fabric, as the first step of a job.
    """
    from imb.health import checks
    from imb.mpi import allocation

    began = _start_of_process()
    if list_hosts:
        _LISTING.refuse_others(context)
        raise typer.Exit(_list(file or checks.default_file()))
    allocation.leave()
    if learn:
        _LEARNING.refuse_others(context)
    else:
        _CHECK.refuse_others(context)
    path = file or checks.default_file()
    if not learn and not path.exists():
        raise _too_few_sessions(path, 0)
    try:
        with checks.hold_file(path):
            kept = checks.load_file(path)
            if not learn:
                raise typer.Exit(_check(path, kept, began + within - RESERVED))
            named_mpi = mpi if is_given(context, "mpi") else None
            if kept and _wants_other_measurement(kept, named_mpi, programs, np, benchmark, lengths):
                raise ImbError(
                    f"{path} has sessions of another MPI, --np, --benchmark or --bytes; omit these, or remove it to begin anew"
                )
            _learn(
                path, kept, kept or _new_file(mpi, programs, np, benchmark or BENCHMARKS, lengths or LENGTHS)
            )
    except OSError as error:
        raise ImbError(f"{error.filename or path}: {error.strerror or error}") from error


class ChangedConditions(ImbError):
    """The sessions of the file cannot be compared with this host, MPI or environment. `changed`: what
    differs."""

    def __init__(self, path: Path, changed: str) -> None:
        super().__init__(f"{path} has sessions of {changed}; remove it and learn again")
        self.changed = f"sessions of {changed}"


def _list(path: Path) -> int:
    """Print the hosts whose files are in this folder, or in the folder of this file, the worst first. Returns
    the exit status with --strict. Raises ImbError if there are no files."""
    from imb.health import checks
    from imb.health.limits import FEWEST
    from imb.model.text import natural_key
    from imb.report.terminal import columns

    folder = path if path.is_dir() else path.parent
    hosts: list[HealthFile] = []
    unreadable = False
    for file in sorted(folder.glob("*.json")):
        try:
            hosts += filter(None, [checks.load_file(file, to_execute=False)])
        except (ImbError, OSError) as error:
            say(f"imb: {error}", err=True)
            unreadable = True
    if not hosts:
        raise ImbError(f"no files of imb health in {folder}; measure sessions with `imb health --learn`")
    worst_first = (
        "bad", "suspect", checks.CANNOT_JUDGE, "inconclusive", "not checked", "learning", "healthy",
    )  # fmt: skip

    def state(kept: HealthFile) -> str:
        if kept.last:
            return kept.last.verdict
        if any(watched.suspect for watched in kept.watched.values()):
            return "suspect"
        return "learning" if len(kept.sessions) < FEWEST else "not checked"

    def order(kept: HealthFile) -> tuple[object, ...]:
        name = state(kept)
        return worst_first.index(name) if name in worst_first else -1, natural_key(kept.host)

    rows = [
        (
            state(kept),
            kept.host,
            kept.last.at if kept.last else "",
            str(len(kept.sessions)),
            str(kept.checks),
            str(kept.suspects),
            "; ".join(
                [
                    *(
                        f"{figure} since {watched.suspect}"
                        for figure, watched in kept.watched.items()
                        if watched.suspect
                    ),
                    *filter(None, [kept.last.why if kept.last else ""]),
                ]
            ),
        )
        for kept in sorted(hosts, key=order)
    ]
    say(*columns(("verdict", "host", "checked", "sessions", "checks", "suspects", "metrics"), rows))
    if any(row[0] == "bad" for row in rows):
        return BAD
    if unreadable:
        return Status.USAGE
    return Status.GOOD if all(row[0] == "healthy" for row in rows) else Status.UNDECIDED


def _start_of_process() -> float:
    """When this process began, by the monotonic clock, so that the startup of Python counts."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        age = time.process_time()
    return time.monotonic() - max(age, 0.0)


def _new_file(
    mpi: str | None, programs: Path | None, np: int | None, names: Sequence[str], lengths: str
) -> HealthFile:
    """The content of a new file, without sessions. Raises ImbError."""
    import socket

    from imb.health import checks
    from imb.model.intent import Intent
    from imb.mpi.host import allowed_cpus, cores
    from imb.runner import selection

    by_component = selection.select(names)
    if len(by_component) > 1 or not all(by_component.values()):
        raise ImbError(
            f"--benchmark: one launch has benchmarks of one component, not of {', '.join(by_component)}"
        )
    [(component, benchmarks)] = by_component.items()
    if not all(word.strip().isdecimal() for word in lengths.split(",")):
        raise ImbError(f"--bytes: not message sizes: {lengths}; give some such as 8,1048576")
    installation, folder = prepare(mpi, programs)
    if programs is None:
        try:
            folder = ready_programs(installation, None, [component])
        except typer.Exit as failed:  # with the status of a bad host
            raise ImbError(f"no programs for {installation.version}") from failed
    usable = min(cores(), len(allowed_cpus() or range(cores())))
    ranks = np or max(usable, 2)
    pairs = ["-multi", "0"] if component in ("MPI1", "P2P") else []
    return checks.HealthFile(
        host=socket.gethostname(),
        mpi=installation,
        programs=str(folder.absolute()),
        intent=Intent(ranks=ranks, bind="core" if ranks <= usable else None),
        component=component,
        arguments=[*benchmarks, "-npmin", str(ranks), *pairs, "-msgsize", lengths, "-budget", BUDGET],
    )


def _wants_other_measurement(
    kept: HealthFile,
    mpi: str | None,
    programs: Path | None,
    np: int | None,
    benchmark: Sequence[str] | None,
    lengths: str | None,
) -> bool:
    """Whether the command line asks for something that the sessions did not measure. Raises ImbError."""
    from imb.runner import selection

    words = " ".join(kept.arguments)
    if mpi and chosen_mpi(mpi, programs) != kept.mpi:
        return True
    if benchmark:
        names = [name for group in selection.select(benchmark).values() for name in group]
        if names != words.partition(" -npmin ")[0].split():
            return True
    return (
        (programs is not None and str(programs.absolute()) != kept.programs)
        or np not in (None, kept.intent.ranks)
        or (lengths is not None and f" -msgsize {lengths} " not in f"{words} ")
    )


def _learn(path: Path, before: HealthFile | None, kept: HealthFile) -> None:
    """Add a session to the file, whose content was `before`. Raises ImbError, OSError."""
    from msgspec.structs import replace

    from imb.health import checks, limits

    _refuse_other_host(path, kept)
    start = now()
    if len(kept.sessions) >= limits.ENOUGH:
        say(f"{count_of(len(kept.sessions), 'session')} in {path}: enough; nothing measured")
        return
    # If the clock was set back, the age is unknown.
    if kept.sessions and timedelta(0) <= (age := _time_between(kept.sessions[-1].at, start)) < SESSIONS_APART:
        say(
            f"the last session in {path} began {age.total_seconds() / 60:.0f} min ago; nothing measured, since sessions"
            f" {SESSIONS_APART.total_seconds() / 60:.0f} min apart show how they differ"
        )
        return
    if suspects := [figure for figure, watched in kept.watched.items() if watched.suspect]:
        say(
            f"{', '.join(suspects)} of {kept.host} suspect; nothing measured before a check has found the host healthy"
        )
        return
    launches = []
    for _ in range(limits.LAUNCHES):
        launches.append(checks.measure(kept, LIMIT))
        _refuse_other_launch(path, kept, launches[-1])
    values = {figure: [launch.values[figure] for launch in launches] for figure in launches[0].values}
    session = checks.LearnedSession(
        at=start, seconds=round(max(launch.seconds for launch in launches), 3), values=values
    )
    kept = replace(
        kept,
        library=kept.library or launches[0].library,
        settings=launches[0].settings if kept.settings is None else kept.settings,
        sessions=[*kept.sessions, session],
    )
    checks.save(path, kept, before)
    say(f"session {len(kept.sessions)} of {limits.ENOUGH} in {path}: {_medians([values])}")
    if (other_cpus := max(launch.others or 0.0 for launch in launches)) > checks.BUSY:
        say(
            f"imb: warning: other processes used {other_cpus:.1f} CPUs; limits of a busy host are high",
            err=True,
        )
    if len(kept.sessions) >= limits.FEWEST:
        say(*_sensitivity(kept))


def _check_to_list(
    last: CheckResult | None, watched: Mapping[str, FigureState], verdict: str, why: str = ""
) -> CheckResult:
    """The check that `--list` prints for the host. It is this one, unless this one has no verdict and a
    suspect or bad one is still open."""
    from imb.health.checks import CheckResult

    open_suspect = any(figure.suspect for figure in watched.values())
    if last and last.verdict in ("bad", "suspect") and verdict in _NO_VERDICT and open_suspect:
        return last
    return CheckResult(at=now(), verdict=verdict, why=why)


def _check(path: Path, kept: HealthFile | None, deadline: float) -> int:
    """Measure and judge. Returns the exit status with --strict. Raises ImbError, OSError."""
    from msgspec.structs import replace

    from imb.health import checks, limits

    count = len(kept.sessions) if kept else 0
    if kept is None or count < limits.FEWEST:
        raise _too_few_sessions(path, count)
    _refuse_other_host(path, kept)
    check = limits.HealthCheck(limits.limits_of(kept.values()), kept.watched)
    try:
        reason = _launch(path, kept, check, deadline)
    except ChangedConditions as error:
        last = _check_to_list(kept.last, kept.watched, checks.CANNOT_JUDGE, error.changed)
        checks.save(path, replace(kept, last=last), kept)
        raise ImbError(f"{checks.CANNOT_JUDGE}: {error}") from error
    verdict, since = check.verdict(now())
    checked = replace(
        kept,
        watched=check.watched,
        checks=kept.checks + 1,
        suspects=kept.suspects + bool(since),
        last=_check_to_list(kept.last, check.watched, verdict),
    )
    checks.save(path, checked, kept)
    try:
        _print(kept, check, verdict, since, reason)
    except OSError as error:
        if verdict != "bad":
            raise
        say(f"imb: {kept.host} is bad; {error.filename}: {error.strerror}", err=True)
    return STATUS[verdict]


def _too_few_sessions(path: Path, sessions: int) -> ImbError:
    from imb.health.limits import FEWEST

    return ImbError(
        f"no limits: {path} has {count_of(sessions, 'session')}, a check needs {FEWEST};"
        " measure one with `imb health --learn`, hourly"
    )


def _launch(path: Path, kept: HealthFile, check: HealthCheck, deadline: float) -> str:
    """Launch until all figures are decided or time is up. Returns why it ended early, or an empty text.
    Raises ImbError, OSError."""
    from statistics import median

    from imb.health import checks

    launch_seconds = median(session.seconds for session in kept.sessions)
    while check.undecided:
        seconds_left = deadline - time.monotonic() - checks.GRACE
        if launch_seconds > seconds_left:
            return f"time is up: a launch takes {launch_seconds:.1f} s"
        try:
            launch = checks.measure(kept, seconds_left)
        except checks.MeasurementError as error:
            return str(error)
        _refuse_other_launch(path, kept, launch)
        if (launch.others or 0.0) > checks.BUSY and (slow := check.exceeding_figures(launch.values)):
            return f"{', '.join(slow)} beyond the limit while other processes used {launch.others:.1f} CPUs"
        check.add(launch.values)
        launch_seconds = max(launch_seconds, launch.seconds)
    return ""


def _refuse_other_host(path: Path, kept: HealthFile) -> None:
    """Raises ChangedConditions if the sessions belong to another host."""
    import socket

    _refuse_changes(path, {"host": (kept.host, socket.gethostname())})


def _refuse_other_launch(path: Path, kept: HealthFile, launch: HealthLaunch) -> None:
    """Raises ChangedConditions if the sessions belong to another MPI or to other settings of its transports."""
    from imb.health import checks

    compared = {"MPI": (kept.library, launch.library)}
    if None not in (kept.settings, launch.settings):
        old, new = checks.transport_variables(kept.mpi, kept.settings or {}), launch.settings or {}
        compared |= {
            f"${name}": (old.get(name, "unset"), new.get(name, "unset")) for name in sorted({*old, *new})
        }
    _refuse_changes(path, compared)


def _refuse_changes(path: Path, compared: Mapping[str, tuple[str | None, str | None]]) -> None:
    changed = [
        f"{name} {old}, now {new}"
        for name, (old, new) in compared.items()
        if None not in (old, new) and old != new
    ]
    if changed:
        raise ChangedConditions(path, " and ".join(changed))


def _print(
    kept: HealthFile, check: HealthCheck, verdict: Verdict, since: dict[str, str], reason: str
) -> None:
    """Print the verdict on one line, and for a healthy host also what the check can detect."""
    from imb.health import limits

    sessions = kept.values()
    details = [
        f"{figure} takes {percent_text(limits.slowdown_of(check.values[figure], sessions, figure))} longer than the median of"
        f" {count_of(len(sessions), 'session')}, {us(min(check.values[figure]))} or more in {count_of(len(check.values[figure]), 'launch')},"
        f" limit {us(check.limits[figure])}"
        + (f"; suspect since {first}" if verdict == "bad" else "; a check 5 min later decides")
        for figure, first in since.items()
    ]
    if reason:
        details.append(reason)
    if verdict == "healthy":
        details = [_medians([check.values])]
    for figure in check.undecided:
        if beyond := check.watched[figure].beyond:
            details.append(
                f"{figure} beyond the limit in {beyond} of {count_of(limits.LAUNCHES, 'launch')}; the next check continues"
            )
    Screen().line((verdict, _STYLES.get(verdict, "bold yellow")), f": {kept.host}: {'; '.join(details)}")
    if verdict == "healthy":
        say(*_sensitivity(kept))


def _medians(sessions: Sequence[Session]) -> str:
    from statistics import median

    figures = sessions[0]
    return ", ".join(
        f"{figure} {us(median(value for session in sessions for value in session[figure]))}"
        for figure in figures
    )


def _sensitivity(kept: HealthFile) -> list[str]:
    """Lines on what a check can detect, and how often it is wrong."""
    from imb.health import limits

    sessions = kept.values()
    count = len(sessions)
    slowdowns = ", ".join(
        f"{percent_text(entry.slowdown) if entry.slowdown < 1 else f'a factor of {1 + entry.slowdown:.1f}'} ({entry.figure})"
        for entry in limits.sensitivity(sessions)
    )
    share = limits.false_alarms(count, limits.rank_of_limit(count)) * len(sessions[0])
    lines = [
        f"sees slowdowns of {slowdowns} in {100 * limits.found_share(sessions):.0f} of 100 checks",
        f"false suspects: 1 in {1 / share:,.0f} checks if values are independent; of the {count_of(count, 'session')} in their order"
        f" {limits.false_suspects(sessions)}",
    ]
    if kept.checks:
        lines[1] += f", of {count_of(kept.checks, 'check')} so far {kept.suspects} (true ones included)"
    return lines


def _time_between(first: str, later: str) -> timedelta:
    return datetime.fromisoformat(later) - datetime.fromisoformat(first)
