"""imb tune"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import (
    RESUMED,
    ArchiveOption,
    FormatOption,
    ResumeOption,
    RowsOption,
    examine_page,
    names_and_arguments,
    session_named,
)
from imb.cli.launching import (
    BindOption,
    CpusOption,
    EnvOption,
    HostsOption,
    LauncherOption,
    MpiOption,
    PpnOption,
    ProgramsOption,
    TimeoutOption,
    VerboseOption,
    build_for,
    intent_of,
    placed_ranks,
    prepare,
    print_launches_left,
    refuse_missing_cpus,
)
from imb.cli.option_groups import JUDGMENT, METHOD, OUTPUT, SESSION, SUBJECT, Form, is_given
from imb.model.errors import ImbError
from imb.model.units import count_of, rough_duration, share_of
from imb.report.terminal import say
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.runner.session import Plan
    from imb.tune.tune_planning import TuneSettings
    from imb.tune.tuner import Tuner

_SEARCH = Form("cannot be combined with --verify, which measures the cells of the files")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def command(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COLLECTIVE...] [-- IMB arguments]",
            help="Collectives of IMB-MPI1; with --resume a session.",
            show_default="all that a file can decide",
        ),
    ] = None,
    np: Annotated[
        str | None,
        typer.Option(
            "--np",
            "-n",
            metavar="N,N...",
            help="Numbers of ranks.",
            show_default="2, or from --hosts, --ppn",
            rich_help_panel=SUBJECT,
        ),
        _SEARCH,
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            "--budget", metavar="TIME", help="Limit the total duration: 600, 30m, 2h.", rich_help_panel=METHOD
        ),
        RESUMED,
    ] = "30m",
    margin: Annotated[
        str,
        typer.Option(
            "--margin",
            metavar="PERCENT",
            help="Smallest gain that is searched for.",
            rich_help_panel=JUDGMENT,
        ),
    ] = "5%",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the files there.",
            show_default="tuned-MPI",
            rich_help_panel=OUTPUT,
        ),
        _SEARCH,
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            "--verify",
            metavar="FOLDER",
            help="Confirm the files in FOLDER again; search nothing.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    resume: ResumeOption = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the stages and the predicted duration; launch nothing.",
            rich_help_panel=SESSION,
        ),
        RESUMED,
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Seed of the random order.",
            show_default="random",
            rich_help_panel=METHOD,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Label runs NAME/none, NAME/file ...",
            show_default="a new one",
            rich_help_panel=SESSION,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help="Write an HTML page with a heat map of all cells.",
            rich_help_panel=SESSION,
        ),
    ] = None,
    rows: RowsOption = False,
    format: FormatOption = "terminal",
    timeout: Annotated[TimeoutOption, RESUMED] = None,
    verbose: Annotated[VerboseOption, RESUMED] = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    hosts: HostsOption = None,
    ppn: PpnOption = None,
    bind: BindOption = None,
    cpus: CpusOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    archive: ArchiveOption = None,
) -> None:
    """Write a tuning file of the MPI library that is verified not slower than the library's defaults.

    For each cell (collective, number of ranks, message size), all algorithms of the library are measured. The file changes a cell
    only if fresh launches, with the file and without, confirm that the change is faster; all other cells keep the library's own choice.
    If nothing is faster, no file is written. FOLDER/switch.sh sets the variables that switch a file on.

    \b
    Examples:
      imb tune --mpi openmpi --np 64 --ppn 32 Allreduce Bcast
      imb tune --np 4 Alltoall --dry-run -- -msglog 6:18
      imb tune --mpi openmpi --verify tuned-openmpi

    Exit status: 0 a file was written (with --verify: confirmed), or nothing is faster; 1 launches failed; 2 usage error; 10 the file is
    slower (--verify); 11 not decided within the budget; 130 interrupted.
    \f
    Stages: the library's own choice with -check; every algorithm once, with -check, through a file; rounds of all algorithms that are
    left (in one launch where the library can change algorithms in it, else in interleaved launches); pairs of launches with the file and
    without, looked at after 5, 10, 20 and 40. docs/evidence/tuning.md has the error rates. --resume continues after Ctrl-C.

    When the budget ends, cells that are not confirmed go back to the default, and if there is time the rest is confirmed again. A session
    with one number of ranks that is not decided then (status 11) continues with --resume and a larger --budget.

    If there are several hosts, archive and FOLDER must be on a file system that all of them share.

    A file is valid only for this version of the MPI, these hosts and this number of ranks per host. `imb tune --verify` confirms it again.
    """
    import secrets

    import msgspec

    from imb.experiments.session_loop import carry_out, carry_out_plan
    from imb.mpi.allocation import offered_hosts
    from imb.runner import session, stored_sessions
    from imb.runner.campaign_definition import examine_name
    from imb.tune import tune_planning
    from imb.tune.tune_experiment import TuneExperiment
    from imb.tune.tuned_files import difference
    from imb.tune.tuner import tuner_of, usable_tuner_of

    if resume:
        RESUMED.refuse_others(context)
        new_budget = _seconds(budget) if is_given(context, "budget") else None
        store = Archive(archive)
        plan = _find_session(store, session_named(names or []), new_budget, dry_run=dry_run)
        plan = stored_sessions.set_timeout(plan, timeout)
        if dry_run:
            print_launches_left(store, plan)
            return
        raise typer.Exit(carry_out_plan(store, plan, verbose=verbose))
    if name is not None:
        examine_name(name)
    if verify is not None:
        if names:
            raise ImbError(f"COLLECTIVE {_SEARCH.refusal}")
        _SEARCH.refuse_marked(context)
    collectives, arguments = names_and_arguments(names or [])
    tune_planning.refuse_reserved_arguments(arguments)
    installation, folder = prepare(mpi, programs)
    hosts_named = [host for host in (hosts or "").split(",") if host]
    placed = None if np else placed_ranks(hosts_named, ppn)
    ranks = _numbers(str(max(placed, 2)) if placed else np)
    if verify is not None:
        ranks = sorted({cell.ranks for cell in tuner_of(installation).read(verify)[1]})
        if mismatch := difference(verify, installation):
            say(f"imb: {mismatch}", err=True)
    # srun may still make the allocation, so the hosts also follow from --ppn.
    host_count = max(offered_hosts(hosts_named), -(-ranks[-1] // (ppn or ranks[-1])))
    tuner = usable_tuner_of(installation, host_count)
    intent = intent_of(ranks[-1], hosts, ppn, bind, cpus, env, launcher)
    refuse_missing_cpus(intent)
    session_name = name or f"tune-{secrets.token_hex(3)}"
    settings = tune_planning.TuneSettings(
        name=session_name,
        collectives=_collectives(collectives, tuner),
        ranks=ranks,
        arguments=arguments,
        margin=share_of(margin, "--margin"),
        budget=_seconds(budget),
        mpi=str(Path(mpi).absolute()) if mpi and Path(mpi).exists() else mpi,
        hosts=host_count,
        segments=1 if launcher == "srun" else tune_planning.SEGMENTS,  # steps of srun share no CPUs
        output=str((output or Path(f"tuned-{installation.flavor}")).absolute()),
        verify=str(verify.absolute()) if verify else None,
        page=str(page.absolute()) if page else None,
        seed=session.new_seed() if seed is None else seed,
        format=format,
        rows=rows,
    )
    if page is not None:
        examine_page("imb tune", page)
    if verify is None:
        _refuse_nonempty(Path(settings.output))
    plan = tune_planning.new_plan(settings, installation, folder, intent, timeout)
    if dry_run:
        say(*_forecast_lines(settings, tuner))
        return
    build_for([msgspec.structs.replace(plan, items=[session.Item(1, "MPI1", [])])], installation, programs)
    store = Archive(archive)
    session.save(store, plan)
    raise typer.Exit(carry_out(TuneExperiment(store, plan), plan, verbose=verbose))


def _find_session(store: Archive, name: str | None, budget: float | None, *, dry_run: bool) -> Plan:
    """The session to resume. With a larger budget, sessions that are over can be resumed as well; the plan is stored with that budget, unless
    `dry_run`. Raises ImbError."""
    from imb.runner import lock, session, stored_sessions

    plan = stored_sessions.find_session(store, name, command="tune", ended=budget is not None)
    if budget is None:
        return plan
    if dry_run:
        return _raise_budget(plan, budget)
    with lock.hold_lock(store, plan, lambda line: say(f"imb: {line}", err=True)):
        plan = stored_sessions.find_session(store, plan.id)  # another process may have continued it
        plan = _raise_budget(plan, budget)
        session.extend(store, plan)
    return plan


def _raise_budget(plan: Plan, budget: float) -> Plan:
    """The plan with a larger budget for its further launches. Raises ImbError if it is not larger."""
    import msgspec

    from imb.runner import session
    from imb.tune.tune_planning import TuneSettings

    settings = session.settings_of(plan, TuneSettings)
    old_budget = settings.raised[-1][1] if settings.raised else settings.budget
    if budget <= old_budget:
        raise ImbError(
            f"--budget: session {plan.id} has {rough_duration(old_budget)}; give more than that, or omit it"
        )
    raised = [*settings.raised, (len(plan.items), budget)]
    return session.set_settings(plan, "tune", msgspec.structs.replace(settings, raised=raised))


def _numbers(text: str | None) -> list[int]:
    words = (text or "2").split(",")
    if not all(word.isdecimal() and int(word) > 1 for word in words):
        raise ImbError(f"--np: not numbers of ranks: {text}; give some such as 4 or 2,4,8")
    return sorted(set(map(int, words)))


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", text.strip())
    if not match or not float(match[1]):
        raise ImbError(f"--budget: not a duration: {text}; give one such as 600, 30m or 2h")
    return float(match[1]) * _UNITS[match[2]]


def _collectives(names: Sequence[str], tuner: Tuner) -> list[str]:
    """The collectives in IMB's spelling, or all if none is named. Raises ImbError for one that a file cannot
    decide."""
    from difflib import get_close_matches

    from imb.model.catalog import suite_benchmarks
    from imb.tune.cells import Cell

    by_name = {collective.lower(): collective for collective in tuner.collectives()}
    for name in names:
        if name.lower() not in by_name:
            if spelled := next(
                (collective for collective in suite_benchmarks() if collective.lower() == name.lower()), None
            ):
                reason = tuner.rule_problem(Cell(spelled, 2, 64)) or "unknown algorithms"
                raise ImbError(f"{spelled} cannot be tuned by a {tuner.files}: {reason}; omit it")
            near = get_close_matches(name.lower(), by_name, 1)
            hint = (
                f"did you mean {by_name[near[0]]}?" if near else f"choose from {', '.join(by_name.values())}"
            )
            raise ImbError(f"{name} cannot be tuned by a {tuner.files}; {hint}")
    return list(dict.fromkeys(by_name[name.lower()] for name in names)) or list(by_name.values())


def _refuse_nonempty(output: Path) -> None:
    """Raises ImbError if the folder has files."""
    try:
        has_files = output.exists() and any(output.iterdir())
    except OSError as error:
        raise ImbError(f"--output: {output}: {error.strerror}; give a new or an empty folder") from error
    if has_files:
        raise ImbError(f"--output: {output} has files; give a new or an empty folder, or --verify {output}")


def _forecast_lines(settings: TuneSettings, tuner: Tuner) -> list[str]:
    """One line per stage, and the shortest and longest total duration."""
    from imb.tune.search import FIRST, LOOKS, MOST
    from imb.tune.tune_planning import forecast

    expected = forecast(settings, tuner)
    launches = count_of(expected.groups, "launch")
    lines = [
        f"reference: {launches} with -check, the library's own choice",
        f"screening: {count_of(expected.candidates, 'launch')} with -check, one for each algorithm, about {rough_duration(expected.screening)}",
    ]
    if not settings.verify:
        lines += [
            f"search: {FIRST} to {MOST} rounds of {launches}, about {rough_duration(expected.round)} each at first"
        ]
    may_end = " may end it before" if expected.most > settings.budget else ""
    lines += [
        f"proof: {', '.join(map(str, LOOKS[:-1]))} or {LOOKS[-1]} pairs of launches with the file and without, about {rough_duration(expected.pair)} each;"
        " again where cells go back to the default",
        f"about {rough_duration(expected.least)} to {rough_duration(expected.most)} in all; --budget {rough_duration(settings.budget)}{may_end};"
        " nothing was run",
    ]
    return lines
