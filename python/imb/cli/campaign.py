"""imb campaign"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imb.cli.common import RESUMED, ArchiveOption, ResumeOption
from imb.cli.launching import (
    TimeoutOption,
    VerboseOption,
    build_variants,
    locate_variant,
    note_classic,
    print_launches_left,
    refuse_missing_cpus_of,
    warn_of_equal_variants,
)
from imb.cli.option_groups import METHOD, SESSION
from imb.cli.submitting import (
    AccountOption,
    Job,
    MinutesOption,
    QueueOption,
    SubmitOption,
    hand_over,
    pairs_of,
)
from imb.model.errors import ImbError
from imb.model.suite import suite_folder
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.runner import session
    from imb.runner.campaign_definition import Campaign


def command(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="Campaign in TOML; with --resume the newest session of FILE, or a session."
        ),
    ] = None,
    launches: Annotated[
        int | None,
        typer.Option(
            "--launches", min=1, metavar="N", help="Number of rounds, overrides FILE.", rich_help_panel=METHOD
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            help="Seed of the random order.",
            show_default="the file's, or a new one",
            rich_help_panel=METHOD,
        ),
    ] = None,
    timeout: Annotated[TimeoutOption, RESUMED] = None,
    verbose: Annotated[VerboseOption, RESUMED] = False,
    resume: ResumeOption = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print commands and predicted duration, and launch nothing.",
            rich_help_panel=SESSION,
        ),
        RESUMED,
    ] = False,
    submit: Annotated[SubmitOption, RESUMED] = None,
    minutes: Annotated[MinutesOption, RESUMED] = None,
    queue: Annotated[QueueOption, RESUMED] = None,
    account: Annotated[AccountOption, RESUMED] = None,
    archive: ArchiveOption = None,
) -> None:
    """Run a matrix of variants, benchmarks and numbers of ranks in random order.

    FILE lists variants and what to measure with each. Every round launches each cell of the matrix once, in random order,
    so that drift of the machine affects all cells equally. Every run is labeled CAMPAIGN/VARIANT, for `imb compare`.
    examples/ of the sources has campaigns; docs/comparing.md lists all keys of FILE.

    \b
    A FILE:
      benchmarks = ["PingPong", "Allreduce"]
      processes = 2                              # or a list
      launches = 10                              # of each variant
      # until_decided = true                     # stop when every band is; launches is the maximum
      # budget = 3600                            # ... or after this many seconds
      # segments = 100                           # interleave launches in 100 segments (without setup)
      # jobs = 3                                 # with --submit: jobs in sequence, each resumes
      # host_pairs = ["n1", "n2", "n3"]          # with --submit: a job per pair of hosts
      precision = "1%"                           # measure in passes until rows are within 1 %; or classic = true
      launch_budget = 30                         # maximum seconds of a launch in passes
      timeout = 120                              # time limit of a launch in seconds
      arguments = "-msglog 16"                   # IMB arguments
      [common]                                   # settings of all variants
      mpi = "openmpi"                            # also: compiler, programs, launcher, hosts, ppn, memory, gpu
      bind = "core"                              # or cpus = [0, 3]
      [variants.shm]
      launcher_options = "--mca btl self,sm"
      [variants.tcp]
      launcher_options = "--mca btl self,tcp"
      env = { UCX_LOG_LEVEL = "error" }
      setup = "modprobe xyz"                     # before its launches; teardown: after them

    Exit status: 0 all measured; 1 a launch, setup or teardown failed; 2 usage error; 130 interrupted.
    \f
    Commands in `setup` run before launches of their variant, commands in `teardown` after them, even if a command
    fails, a launch hangs, or after Ctrl-C or SIGTERM. A variant whose setup fails is skipped. If imb was killed,
    --resume starts with the teardown. Both kinds of commands should be idempotent. The seed is printed and recorded.

    With --submit a job executes the session (see imb run). --resume --submit continues in another job. host_pairs
    submits the campaign once per pair of hosts, under the names CAMPAIGN/n1-n2 ...; a pair is also "n1:n2".

    A launch that exceeds the time limit (--timeout, else `timeout` of FILE) is killed, and the others follow. After Ctrl-C,
    --resume continues, with --timeout under that time limit.

    \b
    Examples:
      imb campaign examples/transports-openmpi.toml --dry-run
      imb campaign examples/transports-openmpi.toml --submit slurm --queue short
      imb campaign --resume
      imb compare transports-openmpi/shm transports-openmpi/tcp
    """
    from imb.experiments import session_loop
    from imb.runner import session, stored_sessions

    store = Archive(archive)
    job = Job(submit, minutes, queue, account, timeout if resume else None)
    job.examine(context)
    if resume:
        RESUMED.refuse_others(context)
        plans = [stored_sessions.set_timeout(_find_session(store, file), timeout)]
    else:
        campaign, source = _campaign_of(file, launches, timeout)
        plans = _plan_campaign(campaign, source, seed, job)
    if not resume:
        warn_of_equal_variants(plans[0])
    if not submit:
        refuse_missing_cpus_of(plans)
    if dry_run:
        for plan in plans:
            print_launches_left(store, plan)
        return
    if not resume:
        build_variants(campaign, plans)
        for plan in plans:
            session.refuse_missing_programs(plan)
            session.save(store, plan)
    if submit:
        raise typer.Exit(hand_over(store, plans, job))
    raise typer.Exit(session_loop.carry_out_plan(store, plans[0], verbose=verbose))


def _campaign_of(file: Path | None, launches: int | None, timeout: float | None) -> tuple[Campaign, str]:
    """The campaign, with the values of options, and a hash of its file. Raises ImbError."""
    import msgspec

    from imb.runner.campaign_definition import classic_argument, examine_campaign

    if file is None:
        raise ImbError(f"FILE is missing; give a campaign, or --resume; {_place_of_examples()}")
    campaign, source = _read(file)
    campaign = msgspec.structs.replace(
        campaign, launches=launches or campaign.launches, timeout=timeout or campaign.timeout
    )
    examine_campaign(campaign)
    note_classic(classic_argument(campaign))
    return campaign, source


def _read(file: Path) -> tuple[Campaign, str]:
    """The campaign and a hash of its file. Raises ImbError."""
    from imb.runner.campaign_definition import read_campaign

    try:
        return read_campaign(file)
    except FileNotFoundError:
        raise ImbError(f"{file}: no such file; {_place_of_examples()}") from None


def _place_of_examples() -> str:
    folder = suite_folder() / "examples"
    return f"examples are in {folder if folder.is_dir() else 'examples/ of the sources; an installed wheel has none'}"


def _plan_campaign(campaign: Campaign, source: str, seed: int | None, job: Job) -> list[session.Plan]:
    """The plan, or one plan for each pair of hosts. Raises ImbError."""
    from imb.runner import planning, session

    if seed is None:
        seed = session.new_seed() if campaign.seed is None else campaign.seed
    job.refuse_several_jobs(campaign.jobs)
    pairs = pairs_of(campaign.host_pairs, job) if campaign.host_pairs else []
    campaigns = [planning.place_campaign(campaign, pair) for pair in pairs] or [campaign]
    return [planning.campaign_plan(each, locate_variant, seed=seed, source=source) for each in campaigns]


def _find_session(store: Archive, word: Path | None) -> session.Plan:
    """The session to resume: the newest unfinished one, of a campaign's file if `word` is one, or the session that `word` names. Raises ImbError."""
    from imb.runner import stored_sessions

    if word is None or not (word.exists() or word.suffix):
        return stored_sessions.find_session(store, str(word) if word else None, command="campaign")
    campaign, source = _read(word)
    plan = stored_sessions.find_session(store, command="campaign", campaign=campaign.name)
    if plan.source != source:
        raise ImbError(
            f"{word} has changed since session {plan.id} began; omit --resume to start anew, or continue"
            f" the old plan with `imb campaign --resume {plan.id}`"
        )
    return plan
