"""imb health"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import named_path
from imb.cli.launching import MpiOption, ProgramsOption, chosen_mpi, prepare, ready_programs
from imb.cli.option_groups import ALL_FORMS, JUDGMENT, METHOD, OUTPUT, SUBJECT, Form, is_given
from imb.model.errors import ImbError

if TYPE_CHECKING:
    from imb.health.checks import HealthFile

BENCHMARKS = ("PingPong", "Allreduce")
LENGTHS = "8,1048576"
RESERVED = 0.3  # seconds that a check needs to judge, write and exit
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
    from imb.health import checks, health_experiment, health_planning
    from imb.health.health_loop import carry_out
    from imb.mpi import allocation

    began = _start_of_process()
    if list_hosts:
        from imb.health.health_list import print_hosts

        _LISTING.refuse_others(context)
        raise typer.Exit(print_hosts(file or checks.default_file()))
    allocation.leave()
    if learn:
        _LEARNING.refuse_others(context)
    else:
        _CHECK.refuse_others(context)
    path = file or checks.default_file()
    if not learn and not path.exists():
        raise health_planning.too_few_sessions(path, 0)
    try:
        with checks.hold_file(path):
            kept = checks.load_file(path)
            if not learn:
                if kept is None:
                    raise health_planning.too_few_sessions(path, 0)
                plan = health_planning.plan_check(path, kept, began + within - RESERVED)
                raise typer.Exit(carry_out(health_experiment.CheckExperiment(plan, kept), plan))
            named_mpi = mpi if is_given(context, "mpi") else None
            if kept and _wants_other_measurement(kept, named_mpi, programs, np, benchmark, lengths):
                raise ImbError(
                    f"{path} has sessions of another MPI, --np, --benchmark or --bytes; omit these, or remove it to begin anew"
                )
            learned = kept or _new_file(mpi, programs, np, benchmark or BENCHMARKS, lengths or LENGTHS)
            plan = health_planning.learning_plan(path, learned)
            raise typer.Exit(carry_out(health_experiment.LearnExperiment(plan, learned, kept), plan))
    except OSError as error:
        raise ImbError(f"{error.filename or path}: {error.strerror or error}") from error


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
    """The content of a new file, without sessions; builds the programs that it needs. Raises ImbError."""
    from imb.health import health_planning
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
    return health_planning.new_file(installation, folder, np, component, benchmarks, lengths)


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
