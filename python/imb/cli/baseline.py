"""imb baseline"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.common import (
    ArchiveOption,
    AssumeOneSessionOption,
    AssumeStableOption,
    FormatOption,
    RowsOption,
    VerdictFormatOption,
)
from imb.cli.help import HelpCommand
from imb.cli.launching import (
    MpiOption,
    ProgramsOption,
    TimeoutOption,
    VerboseOption,
    chosen_mpi,
    ready_programs,
)
from imb.cli.option_groups import ACTING, JUDGMENT, METHOD, SESSION, SUBJECT, Form
from imb.model.defaults import RELEVANT
from imb.model.errors import ImbError
from imb.model.facts import fact
from imb.model.statuses import Status
from imb.model.units import count_of, percent_option, share_of
from imb.report.terminal import columns, say, write_json
from imb.store.store import Archive, StoredRun

if TYPE_CHECKING:
    from imb.model.baseline_record import Baseline
    from imb.runner.session import Plan

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Keep reference results and check later ones against them.

    A baseline is identified by name, machine (CPU model, cores, sockets, threads per core, number of nodes; else the
    hosts) and placement (intra-node or inter-node). A baseline never changes: setting it again makes the next version,
    NAME@2. Baselines are stored in the archive, independent of the runs they were set from.

    \b
    Examples:
      imb run PingPong Allreduce --launches 10 --label new-fabric
      imb baseline set fabric new-fabric --tolerance time=5%
      imb baseline check fabric                  # repeat the measurement and check
      imb baseline check fabric after-update     # check existing runs
    """,
)
Named = Annotated[str, typer.Argument(metavar="NAME", help="Name of the baseline; NAME@2: version 2.")]
ToleranceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        "-t",
        metavar="METRIC=PERCENT",
        help="Smallest relevant change of a metric (see imb compare); may be repeated.",
        rich_help_panel=JUDGMENT,
    ),
]


def _tolerances(words: list[str] | None) -> dict[str, float]:
    parts = [word.partition("=") for word in words or []]
    return {
        metric if equals else "time": share_of(text if equals else metric, "--tolerance")
        for metric, equals, text in parts
    }


@app.command("set", cls=HelpCommand)
def set_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the baseline, without blanks.")],
    side: Annotated[str, typer.Argument(metavar="RESULTS", help="What to keep, named as for imb compare.")],
    tolerance: ToleranceOption = None,
    note: Annotated[
        str | None, typer.Option("--note", "-n", metavar="TEXT", help="Note to keep with it.")
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Set a baseline from results of one machine and one placement.

    RESULTS is a label, a run's name, a file, a folder or a query. Take five sessions (days, boots, allocations) or more, of
    five launches or more each, under one label: only sessions show how
    much sessions differ, and from five on a check of one session is judged. The default tolerance is time=5%.

    \b
    Examples:
      imb baseline set fabric new-fabric
      imb baseline set fabric new-fabric --tolerance time=10% --tolerance bandwidth=3% --note "after the new switch"
    """
    from imb.history.baseline_check import shortage_of
    from imb.runner import ownership
    from imb.store import baseline_versions
    from imb.store.names import named_runs, side_from

    store = Archive(archive)
    runs = list(named_runs(store, side))
    results = side_from(runs, side, status=Status.USAGE)
    foreign = {
        run.id
        for run in runs
        if not ownership.is_own(run.folder if isinstance(run, StoredRun) else run.path.parent, run.facts())
    }
    limits = _tolerances(tolerance) or {"time": RELEVANT}
    baseline = baseline_versions.make(name, results, limits, note=note, foreign=foreign)
    say(_line(baseline_versions.add(store, baseline)))
    if lack := shortage_of(baseline):
        say(f"imb: note: {baseline.name} has {lack}", err=True)


@app.command("list", cls=HelpCommand)
def list_(archive: ArchiveOption = None) -> None:
    """List all baselines, one version per line."""
    from imb.store import baseline_versions

    readable, errors = [], []
    for path in baseline_versions.files(Archive(archive)):
        try:
            readable.append(baseline_versions.load_baseline(path))
        except ImbError as error:
            errors.append(str(error))
    rows = [
        (
            str(baseline),
            baseline.created[:10],
            baseline.placement or "unknown",
            str(len(baseline.launches)),
            _limits(baseline.tolerances),
            str(baseline.machine),
            baseline.note or "",
        )
        for baseline in readable
    ]
    if rows:
        headings = ("BASELINE", "DATE", "PLACEMENT", "LAUNCHES", "TOLERANCES", "MACHINE", "NOTE")
        say(*columns(headings, rows))
    for line in errors:
        say(f"imb: {line}", err=True)
    if errors:
        raise typer.Exit(Status.USAGE)


@app.command("show", cls=HelpCommand)
def show(name: Named, format: FormatOption = "terminal", archive: ArchiveOption = None) -> None:
    """Show the versions of a baseline with machine, runs and commands."""
    from imb.store import baseline_versions

    versions = baseline_versions.baseline_versions(Archive(archive), name)
    if format == "json":
        write_json(versions)
        return
    for version in versions:
        say(_line(version))
        say(
            f"    set {version.created} by {version.by} from {version.origin}"
            + (f": {version.note}" if version.note else "")
        )
        say(
            f"    hosts {', '.join(version.machine.hosts) or 'unknown'}; runs {', '.join(launch.name for launch in version.launches)}"
        )
        commands = (" ".join(launch.facts.get("command") or ()) for launch in version.launches)
        for command in dict.fromkeys(text.partition(" -json ")[0] for text in commands):
            if command:
                say(f"    $ {command}")


# The form of `check` with RESULTS, which measures nothing.
_WITH_RESULTS = Form()


@app.command("check", cls=HelpCommand)
def check(
    context: typer.Context,
    name: Named,
    side: Annotated[
        str | None, typer.Argument(metavar="[RESULTS]", help="What to check; default: measure now.")
    ] = None,
    tolerance: Annotated[ToleranceOption, _WITH_RESULTS] = None,
    placement: Annotated[
        Literal["intra-node", "inter-node"] | None,
        typer.Option("--placement", help="Placement to measure, if NAME has both.", rich_help_panel=SUBJECT),
    ] = None,
    launches: Annotated[
        int | None,
        typer.Option(
            "--launches",
            min=1,
            metavar="N",
            help="Number of launches.",
            show_default="the baseline's",
            rich_help_panel=METHOD,
        ),
    ] = None,
    timeout: TimeoutOption = None,
    verbose: VerboseOption = False,
    with_old: Annotated[
        bool,
        typer.Option(
            "--with-old",
            help="Measure the baseline's MPI, programs and settings again, interleaved with the new ones.",
            rich_help_panel=SUBJECT,
        ),
    ] = False,
    setting: Annotated[
        str | None,
        typer.Option(
            "--setting",
            metavar="TEXT",
            help="With --with-old: new settings, written as a variant of imb ab: 'UCX_TLS=tcp bind=core'.",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    assume_one_session: Annotated[AssumeOneSessionOption, _WITH_RESULTS] = False,
    assume_stable: Annotated[AssumeStableOption, _WITH_RESULTS] = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Use even a baseline of another machine or placement.", rich_help_panel=JUDGMENT
        ),
        _WITH_RESULTS,
        ACTING,
    ] = False,
    force_owner: Annotated[
        bool,
        typer.Option(
            "--force-owner",
            help="Repeat launches that another user may have recorded.",
            rich_help_panel=SESSION,
        ),
        ACTING,
    ] = False,
    rows: Annotated[RowsOption, _WITH_RESULTS] = False,
    format: Annotated[VerdictFormatOption, _WITH_RESULTS] = "terminal",
    archive: ArchiveOption = None,
) -> None:
    """Check results against a baseline, or repeat its measurement and check that.

    The newest version of NAME for the same machine and placement is used. Without RESULTS the launches of the baseline are
    repeated, with its MPI and programs unless --mpi or --programs (after an update, for example) are given; the runs are
    labeled baseline-check/NAME. Each metric with a tolerance is compared.

    \b
    Examples:
      imb baseline check fabric
      imb baseline check fabric --with-old --mpi /opt/openmpi-next --format json
      imb baseline check fabric --with-old --setting "UCX_TLS=tcp bind=core"
      imb baseline check fabric@1 after-update --tolerance time=10%

    The worst metric determines the exit status, as for imb compare: 0 same, faster or not slower, 10 slower or mixed, 11 inconclusive, 12 differs. Also:
    1 a launch failed and nothing was slower; 2 usage error, or no baseline of this machine and placement; 130 interrupted.
    \f
    A baseline and results of different sessions are judged by session: take three sessions of each. One session of results
    is judged by the prediction interval of five sessions of the baseline or more: at most 1 false alarm in
    1000 checks. With fewer, only a band in which every launch is more than
    four times as slow as those of the baseline is slower. Notes state which slowdowns a check can find. With --with-old the
    MPI, programs and settings of the baseline are measured again, interleaved with the new ones, and these launches are
    judged: ten of each (--launches) find small changes in one session. The new ones take --mpi, --programs and
    --setting, and the variables of MPIs and transports that are set now. The old launches get the recorded variables. What
    cannot be restored is printed, such as setup commands and a variable that was not set then.
    """
    from imb.experiments.baseline_experiment import CheckSettings, RecheckExperiment, check_of, print_check
    from imb.experiments.session_loop import carry_out
    from imb.runner import recheck, session
    from imb.store import baseline_versions, names

    store = Archive(archive)
    versions = baseline_versions.baseline_versions(store, name)
    options = CheckSettings(
        name=name,
        tolerances=_tolerances(tolerance),
        force=force,
        assume_one_session=assume_one_session,
        assume_stable=assume_stable,
        rows=rows,
        format=format,
    )
    if side is not None:
        _WITH_RESULTS.refuse_others(context, f"cannot be combined with existing results: {side}; omit it")
    if setting is not None and not with_old:
        raise ImbError("--setting requires --with-old; without it, the baseline's settings are measured")
    if side is not None:
        raise typer.Exit(print_check(check_of(store, options, names.load(store, side)), options))
    baseline = recheck.baseline_to_repeat(versions, placement, force)
    if not force_owner:
        _refuse_others(store, baseline)
    plan = _plan_check(baseline, mpi, programs, launches, timeout, with_old=with_old, setting=setting)
    plan = session.set_settings(plan, "baseline", options)
    session.save(store, plan)
    raise typer.Exit(carry_out(RecheckExperiment(store, plan), plan, verbose=verbose))


def _refuse_others(store: Archive, baseline: Baseline) -> None:
    """Raises ImbError if another user recorded, or may have recorded, what is executed: launcher, programs,
    arguments."""
    from imb.runner import ownership
    from imb.store import baseline_versions

    path = baseline_versions.path_of_baseline(store, baseline)
    try:
        written = ownership.examine_file(path)
    except OSError as error:
        raise ImbError(f"{path} cannot be read ({error.strerror})") from error
    if baseline_versions.load_baseline(path, written.text) != baseline:
        raise ImbError(f"{path} was replaced while it was read; try again")
    foreign = [launch.name for launch in baseline.launches if launch.foreign]
    ownership.refuse_others(f"baseline {baseline}", written, runs=foreign)


def _plan_check(
    baseline: Baseline,
    mpi: str | None,
    programs: Path | None,
    launches: int | None,
    timeout: float | None,
    *,
    with_old: bool,
    setting: str | None,
) -> Plan:
    """The plan that launches the baseline again. `with_old`: also launch its own MPI and programs,
    interleaved. Raises ImbError."""
    from imb.runner import recheck, session
    from imb.runner.campaign_definition import parse_variant

    recheck.refuse_if_imported(baseline)
    wrapper = fact(str, baseline.launches[0].facts, "conditions", "mpi_wrapper")
    installation = chosen_mpi(mpi or wrapper)
    if programs is None and installation.place != wrapper:
        programs = ready_programs(
            installation, None, {launch.facts["component"] for launch in baseline.launches}
        )
    if with_old:
        old_installation = chosen_mpi(wrapper)
        new_settings = None if setting is None else parse_variant(setting)
        plan = recheck.plan_with_old(
            baseline,
            old_installation,
            installation,
            programs,
            launches,
            timeout,
            seed=session.new_seed(),
            setting=new_settings,
        )
        if not_restored := recheck.environment_of(baseline)[1]:
            say(f"imb: note: {baseline} not restored: {', '.join(not_restored)}", err=True)
    else:
        plan = recheck.baseline_plan(baseline, installation, programs, launches, timeout)
    return plan


def _limits(tolerances: dict[str, float]) -> str:
    return ", ".join(f"{metric}={percent_option(share)}" for metric, share in tolerances.items())


def _line(baseline: Baseline) -> str:
    return (
        f"{baseline}: {count_of(len(baseline.launches), 'launch')}, {baseline.placement or 'unknown placement'}, {baseline.machine};"
        f" {_limits(baseline.tolerances)}"
    )
