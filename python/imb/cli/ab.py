"""imb ab"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imb.cli.common import (
    USUAL_RELEVANT,
    ArchiveOption,
    FormatOption,
    RelevantOption,
    RowsOption,
    names_and_arguments,
)
from imb.cli.launching import (
    ClassicOption,
    ClassOption,
    GpuOption,
    LaunchBudgetOption,
    MemoryOption,
    MpiOption,
    PrecisionOption,
    ProgramsOption,
    TimeoutOption,
    VerboseOption,
    build_variants,
    locate_variant,
    note_classic,
    refuse_missing_cpus_of,
    sampling_of,
    warn_of_equal_variants,
    warn_of_noise,
)
from imb.cli.option_groups import JUDGMENT, METHOD, SESSION, SUBJECT
from imb.cli.submitting import (
    AccountOption,
    Job,
    MinutesOption,
    QueueOption,
    SubmitOption,
    hand_over,
)
from imb.model.defaults import LAUNCHES, SEGMENTS
from imb.model.errors import ImbError
from imb.model.sequential_design import MOST
from imb.model.units import share_of
from imb.report.terminal import explain_wait, say
from imb.runner.passes import MOST_SEGMENTS
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.runner.campaign_definition import Campaign
    from imb.runner.session import Plan

VARIANT = (
    "Settings of variant A: NAME=VALUE ..., mpi=, bind=, cpus=0,3 ..., launcher options; see SETTINGS above."
)

VARIABLE = "Control variable (MPI_T) of %s; may be repeated."


def command(
    context: typer.Context,
    a: Annotated[
        str | None, typer.Option("--a", metavar="SETTINGS", help=VARIANT, rich_help_panel=SUBJECT)
    ] = None,
    b: Annotated[
        str | None,
        typer.Option(
            "--b",
            metavar="SETTINGS",
            help="Settings of variant B, in the same form.",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    a_cvar: Annotated[
        list[str] | None,
        typer.Option("--a-cvar", metavar="NAME=VALUE", help=VARIABLE % "A", rich_help_panel=SUBJECT),
    ] = None,
    b_cvar: Annotated[
        list[str] | None,
        typer.Option("--b-cvar", metavar="NAME=VALUE", help=VARIABLE % "B", rich_help_panel=SUBJECT),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...] [-- IMB arguments]", help="Benchmarks or components.", show_default="mpi1"
        ),
    ] = None,
    both: Annotated[
        str,
        typer.Option(
            "--both", metavar="SETTINGS", help="Settings of both variants.", rich_help_panel=SUBJECT
        ),
    ] = "",
    launches: Annotated[
        int | None,
        typer.Option(
            "--launches",
            min=1,
            metavar="N",
            help="Launches of each variant; with --until-decided the maximum.",
            show_default=f"{LAUNCHES}, or {MOST} at most",
            rich_help_panel=METHOD,
        ),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="Stop when no band is inconclusive.", rich_help_panel=METHOD),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=0.01,
            metavar="SECONDS",
            help="With --until-decided: limit the total duration.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(
            "--segments",
            min=1,
            max=MOST_SEGMENTS,
            metavar="N",
            show_default=str(SEGMENTS),
            help="Interleave the launches of both variants in N segments.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            min=0,
            metavar="N",
            help="Repeat at most N launches outside the dominant state; 0: none.",
            show_default="a quarter of the launches",
            rich_help_panel=METHOD,
        ),
    ] = None,
    launch_by_launch: Annotated[
        bool,
        typer.Option(
            "--launch-by-launch",
            help="Run one launch after the other, not interleaved.",
            rich_help_panel=METHOD,
        ),
    ] = False,
    classic: ClassicOption = False,
    precision: PrecisionOption = None,
    launch_budget: LaunchBudgetOption = None,
    np: Annotated[
        int,
        typer.Option("--np", "-n", min=1, metavar="N", help="Ranks.", rich_help_panel=SUBJECT),
    ] = 2,
    kind: ClassOption = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Label runs NAME/a and NAME/b.",
            show_default="a new one",
            rich_help_panel=SESSION,
        ),
    ] = None,
    timeout: TimeoutOption = None,
    verbose: VerboseOption = False,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Seed of the random order.", rich_help_panel=METHOD),
    ] = None,
    relevant: RelevantOption = USUAL_RELEVANT,
    metric: Annotated[
        str, typer.Option("--metric", "-m", metavar="NAME", help="See imb compare.", rich_help_panel=JUDGMENT)
    ] = "time",
    rows: RowsOption = False,
    format: FormatOption = "terminal",
    memory: MemoryOption = None,
    gpu: GpuOption = None,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    submit: SubmitOption = None,
    minutes: MinutesOption = None,
    queue: QueueOption = None,
    account: AccountOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Measure two variants in interleaved launches and compare B with A.

    SETTINGS are separated by blanks: mpi=, compiler=, programs=, launcher=, bind=, cpus=0,3, hosts=n1,n2, ppn=, memory=, gpu= and
    arguments='...' (IMB arguments). Any other NAME=VALUE sets a variable for all ranks. The first word with a leading -
    and all after it are launcher arguments. "" is a variant without settings.

    Both launches of a round run at the same time and measure in alternating segments of every row (a duet), so that disturbances
    affect both. After Ctrl-C, `imb run --resume` continues and compares.

    \b
    Examples:
      imb ab --a "mpi=openmpi" --b "mpi=mpich" --both "cpus=0,1" -- PingPong Exchange
      imb ab --a "--mca btl self,sm" --b "--mca btl self,tcp" --mpi openmpi PingPong
      imb ab --a "UCX_TLS=rc" --b "UCX_TLS=tcp" --both "hosts=n1,n2 ppn=1" -- PingPong
      imb ab --b-cvar MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial --mpi mpich --np 8 Bcast
      imb ab --a "bind=core" --b "bind=none" --until-decided --launches 40 -- PingPong

    Exit status, as for imb compare: 0 same, faster or not slower, 10 slower or mixed, 11 inconclusive, 12 differs. Also: 1 launches failed
    and nothing is left to compare; 2 usage error; 130 interrupted.
    \f
    Each round launches both variants once, in random order (--a-cvar, --b-cvar: one launch in which their samples alternate), with the
    given number of ranks only (-npmin N, unless given). If both cannot run at the same time (IMB-IO, srun, GPU memory, classic
    launches), one runs after the other. With --classic give -- -time 0.2. A launch outside the machine's dominant state is
    repeated at the end, with its partner, and the repeat is judged (not with --classic). With --until-decided, results are
    checked after each round from the fifth on.

    With --submit, the command that compares is printed, to be run after the job.
    """
    from imb.compare.comparison import CompareSettings
    from imb.experiments.ab_experiment import AbExperiment, AbSettings
    from imb.experiments.session_loop import carry_out
    from imb.runner import session

    settings = CompareSettings(metric=metric, relevant=share_of(relevant, "--relevant"))
    sampling = sampling_of(classic, precision, launch_budget)
    store = Archive(archive)
    if a_cvar or b_cvar:
        if a or b or until_decided or segments or sampling.classic:
            raise ImbError(
                "--a-cvar and --b-cvar cannot be combined with --a, --b, --until-decided, --segments or --classic; give settings of both with --both"
            )
        file = _variants_file(store, a_cvar or [], b_cvar or [])
        names, launch_by_launch, repeats = [*(names or ["mpi1"]), "-alternate", str(file)], True, 0
        settings_of_sides: tuple[str, str, str] | str = both
    elif a is None or b is None:
        raise ImbError(f"no variant {'A' if a is None else 'B'}: give --a and --b, or --a-cvar and --b-cvar")
    else:
        settings_of_sides = a, b, both
    if budget is not None and not until_decided:
        raise ImbError(
            "--budget limits the session and needs --until-decided; --launch-budget limits one launch"
        )
    if launch_by_launch and (segments or 1) > 1:
        raise ImbError("--launch-by-launch and --segments cannot be combined; give one of them")
    job = Job(submit, minutes, queue, account)
    job.examine(context)
    with explain_wait("examining the MPI and this machine"):
        campaign, plan = _plan_campaign(
            names or [], settings_of_sides, (mpi, programs, memory, gpu), seed, name=name, processes=np, class_=kind, launches=launches,
            until_decided=until_decided, budget=budget, relevant=settings.relevant, metric=metric, segments=1 if launch_by_launch else segments, repeats=repeats,
            timeout=timeout, classic=sampling.classic, precision=sampling.precision, launch_budget=sampling.budget,
        )  # fmt: skip
    if a_cvar or b_cvar:
        if set(a_cvar or []) == set(b_cvar or []):
            warn_of_noise("variants a and b")
    else:
        warn_of_equal_variants(plan)
    if not submit:  # for a job, the command that compares is printed instead
        refuse_missing_cpus_of([plan])
        options = AbSettings(
            cvars=bool(a_cvar or b_cvar),
            relevant=settings.relevant,
            metric=metric,
            rows=rows,
            format=format,
        )
        plan = session.set_settings(plan, "ab", options)
    build_variants(campaign, [plan])
    session.refuse_missing_programs(plan)
    session.save(store, plan)
    if submit:
        status = hand_over(store, [plan], job)
        compare_options = [] if relevant == USUAL_RELEVANT else ["--relevant", relevant]
        compare_options += [] if metric == "time" else ["--metric", metric]
        compare_options += ["--rows"] if rows else []
        compare_options += [] if format == "terminal" else ["--format", format]
        sides = [f"{plan.campaign}/{variant}" for variant in "ab"]
        if a_cvar or b_cvar:
            sides = [*[f"{plan.campaign}/ab"] * 2, "--variants", "a,b"]
        say(shlex.join(["imb", "compare", *sides, *compare_options]))
        raise typer.Exit(status)
    raise typer.Exit(carry_out(AbExperiment(store, plan), plan, verbose=verbose))


def _variants_file(store: Archive, a: list[str], b: list[str]) -> Path:
    """Write the file of -alternate into the archive, which all hosts can read, and return its path. Raises
    ImbError."""
    import hashlib

    from imb.store.durable_files import write_whole

    for word in (*a, *b):
        name, equals, _ = word.partition("=")
        if not name or not equals or any(letter.isspace() or letter == "#" for letter in word):
            raise ImbError(f"a control variable: {word!r} is not NAME=VALUE, without blanks")
    text = "".join(" ".join([label, *words]) + "\n" for label, words in (("a", a), ("b", b)))
    file = store.folder / "variants" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, text.encode())
    except OSError as error:
        raise ImbError(f"cannot write {file}: {error.strerror}") from error
    return file


def _plan_campaign(
    words: list[str],
    texts: tuple[str, str, str] | str,
    options: tuple[str | None, Path | None, str | None, str | None],
    seed: int | None,
    *,
    name: str | None,
    segments: int | None,
    repeats: int | None,
    **keys: Any,
) -> tuple[Campaign, Plan]:
    """A campaign and its plan. `texts`: --a, --b and --both, or only --both if each launch has both variants.
    `options`: --mpi, --programs, --memory, --gpu; `keys`: other keys of a campaign file. Raises ImbError."""
    import secrets

    from imb.runner import planning, session
    from imb.runner.campaign_definition import (
        Campaign,
        VariantSettings,
        classic_argument,
        merge_settings,
        parse_variant,
    )

    benchmarks, arguments = names_and_arguments(words)
    *settings, both = map(parse_variant, [texts] if isinstance(texts, str) else texts)
    variants = dict(zip("ab", settings, strict=True)) if settings else {"ab": VariantSettings()}
    mpi, programs, memory, gpu = options
    defaults = VariantSettings(mpi=mpi, programs=str(programs) if programs else None, memory=memory, gpu=gpu)
    campaign = Campaign(
        name=name or f"ab-{secrets.token_hex(3)}",
        benchmarks=list(benchmarks or ["mpi1"]),
        arguments=arguments,
        common=merge_settings(defaults, both),
        variants=variants,
        **{key: value for key, value in keys.items() if value is not None},
    )
    campaign, reason = planning.complete_campaign(campaign, segments, repeats)
    if reason:
        say(f"imb: note: launches run one after the other, not interleaved: {reason}", err=True)
    note_classic(classic_argument(campaign))
    seed = session.new_seed() if seed is None else seed
    return campaign, planning.campaign_plan(campaign, locate_variant, seed=seed)
