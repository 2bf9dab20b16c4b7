"""Options of the commands that launch, and functions that read them, choose the MPI and build the suite."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.option_groups import METHOD, OUTPUT, PLACE, SUBJECT
from imb.model.errors import ImbError
from imb.model.intent import Bind, LauncherName
from imb.model.mpis import CHOICES
from imb.model.statuses import Status
from imb.model.units import count_of, percent_option
from imb.report.terminal import Screen, say
from imb.runner import passes
from imb.runner.passes import Sampling, precision_share

if TYPE_CHECKING:
    from imb.model.intent import Intent
    from imb.mpi.installations import Installation
    from imb.runner.campaign_definition import Campaign, VariantSettings
    from imb.runner.session import Plan
    from imb.store.store import Archive

MpiOption = Annotated[
    str | None,
    typer.Option(
        "--mpi",
        envvar="IMB_MPI",
        show_envvar=True,
        metavar="MPI",
        help=f"{CHOICES}; a folder with bin/mpicxx; a C++ wrapper.",
        show_default="the first that `imb doctor` lists",
        rich_help_panel=PLACE,
    ),
]
ProgramsOption = Annotated[
    Path | None,
    typer.Option(
        "--programs",
        metavar="FOLDER",
        help="Use the programs in FOLDER; without --mpi, with the MPI that they are linked with.",
        show_default="those of `imb build`, else of the package",
        rich_help_panel=PLACE,
    ),
]
BindOption = Annotated[
    Bind | None,
    typer.Option("--bind", help="Bind each rank to one of these.", rich_help_panel=PLACE),
]
HostsOption = Annotated[
    str | None, typer.Option("--hosts", metavar="H1,H2", help="Launch on these hosts.", rich_help_panel=PLACE)
]
PpnOption = Annotated[
    int | None, typer.Option("--ppn", min=1, metavar="N", help="Ranks per host.", rich_help_panel=PLACE)
]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="Set a variable for all ranks, or forward its current value; may be repeated.",
        rich_help_panel=PLACE,
    ),
]
CpusOption = Annotated[
    str | None,
    typer.Option(
        "--cpus",
        metavar="0,3",
        help="Pin rank 0 to CPU 0, rank 1 to CPU 3 (as the system numbers them).",
        rich_help_panel=PLACE,
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="SECONDS",
        help="Kill a launch that takes longer, and continue.",
        show_default=f"{passes.STALL_LEAST:g} s without a new row",
        rich_help_panel=PLACE,
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", help="Show the whole command of each launch.", rich_help_panel=OUTPUT)
]
ClassOption = Annotated[
    Literal["single", "parallel", "collective"] | None,
    typer.Option("--class", help="Select only benchmarks of this class.", rich_help_panel=SUBJECT),
]
LauncherOption = Annotated[
    LauncherName,
    typer.Option("--launcher", help="The MPI's own launcher, or Slurm's.", rich_help_panel=PLACE),
]

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="KIND[,KIND]",
        help="Where send and receive buffers live: host, pinned, cuda, cuda_managed, rocm, rocm_managed.",
        show_default="host",
        rich_help_panel=SUBJECT,
    ),
]
GpuOption = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="N",
        help="GPU of each rank: a number, local_rank or round_robin.",
        show_default="local_rank",
        rich_help_panel=SUBJECT,
    ),
]
ClassicOption = Annotated[
    bool,
    typer.Option(
        "--classic",
        help="Measure each row in one burst, as IMB does, instead of in passes.",
        rich_help_panel=METHOD,
    ),
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="PERCENT",
        help="Measure in passes until the 95 % interval of each row's median is within this.",
        show_default=percent_option(passes.PRECISION),
        rich_help_panel=METHOD,
    ),
]


LaunchBudgetOption = Annotated[
    float | None,
    typer.Option(
        "--launch-budget",
        min=passes.SHORTEST_BUDGET,
        max=passes.LONGEST_BUDGET,
        metavar="SECONDS",
        help="Limit the duration of the passes of each launch.",
        show_default=f"{passes.USUAL_ROW_BUDGET:g} per row (IMB-IO: {passes.ROW_BUDGET['IO']:g} per row), at least {passes.LEAST_BUDGET:g}",
        rich_help_panel=METHOD,
    ),
]


def sampling_of(classic: bool, precision: str | None, budget: float | None) -> Sampling:
    """The sampling that the options describe. Raises ImbError."""
    return Sampling(
        classic=classic, precision=_share(precision) if precision is not None else None, budget=budget
    )


def _share(text: str) -> float:
    """The share 0.02 from `2%` or `2`. Raises ImbError if the suite would refuse it."""
    try:
        return precision_share(text)
    except ImbError as error:
        raise ImbError(f"--precision: {error}") from error


def note_classic(reason: str | None) -> None:
    """Print why rows are measured classic instead of in passes. Print nothing if `reason` is None."""
    if reason:
        say(f"imb: note: measuring classic (each row in one burst), because of {reason}", err=True)


def intent_of(
    np: int | None,
    hosts: str | None,
    ppn: int | None,
    bind: Bind | None,
    cpus: str | None,
    env: list[str] | None,
    launcher: LauncherName,
) -> Intent:
    """The ranks and their placement that the options describe. Raises ImbError."""
    from imb.model.intent import Intent

    names = tuple(filter(None, (hosts or "").split(",")))
    if hosts is not None and not names:
        raise ImbError("--hosts: no host; give names such as node1,node2, or omit it")
    numbers = (cpus or "").split(",") if cpus else []
    if not all(number.isdecimal() for number in numbers):
        raise ImbError(f"--cpus: not CPU numbers: {cpus}; give some such as 0,3")
    variables = [
        variable if "=" in variable or variable not in os.environ else f"{variable}={os.environ[variable]}"
        for variable in env or []
    ]
    if invalid := next((variable for variable in variables if not re.match(r"[^\s=]+=", variable)), None):
        raise ImbError(
            f"--env: not NAME=VALUE: {invalid}; give one such as UCX_TLS=tcp, or NAME of a variable that is set"
        )
    ranks = np or placed_ranks(names, ppn) or len(numbers) or 2
    if len(numbers) > ranks:
        raise ImbError(
            f"--cpus: {len(numbers)} CPUs for {count_of(ranks, 'rank')}: {cpus}; give at most one per rank"
        )
    return Intent(
        ranks=ranks,
        hosts=names,
        ppn=ppn,
        bind=bind,
        cpus=tuple(map(int, numbers)),
        env=dict(variable.split("=", 1) for variable in variables),
        launcher=launcher,
    )


def placed_ranks(hosts: Sequence[str], ppn: int | None) -> int | None:
    """The number of ranks that --hosts and --ppn request, or None if neither does. Without --hosts, --ppn
    applies to the hosts of the allocation."""
    from imb.mpi.allocation import offered_hosts

    if ppn:
        return ppn * offered_hosts(hosts)
    return len(hosts) if len(hosts) > 1 else None


def refuse_missing_cpus(intent: Intent, setting: str = "--cpus") -> None:
    """Raises ImbError if a rank is to be pinned to a CPU that this host does not have. Remote launches are
    not checked."""
    from imb.runner import session

    present = os.sysconf("SC_NPROCESSORS_CONF")
    missing = [cpu for cpu in intent.cpus if cpu >= present]
    if missing and not session.is_remote(intent):
        raise ImbError(f"{setting}: no CPU {missing[0]} on this host; give numbers from 0 to {present - 1}")


def refuse_missing_cpus_of(plans: Sequence[Plan]) -> None:
    """`refuse_missing_cpus` for all variants."""
    for variant in (variant for plan in plans for variant in plan.variants):
        refuse_missing_cpus(variant.intent, f"variant {variant.name}: cpus")


def prepare(
    choice: str | None, programs: Path | None, compiler: str | None = None
) -> tuple[Installation, Path]:
    """The MPI, and the folder that has, or will have (`build_for`), the suite's programs for it. Raises
    ImbError."""
    from imb.mpi import suite_build

    mpi = chosen_mpi(choice, programs)
    return mpi, programs or suite_build.place_of(mpi, compiler)


def chosen_mpi(choice: str | None, programs: Path | None = None) -> Installation:
    """The MPI of --mpi; with `programs`, one that can launch them. If a name such as `mpich` matches several
    MPIs, prints the chosen one. Raises ImbError."""
    from imb.mpi import installations

    mpi = installations.find_for(choice, programs) if programs else installations.find(choice)
    if word := choice or os.environ.get("IMB_MPI"):
        _print_choice(word, mpi)
    return mpi


_printed: set[tuple[str, str]] = set()  # choices already printed: one line for all variants of an MPI


def _print_choice(word: str, mpi: Installation) -> None:
    from imb.mpi import installations

    if (word, mpi.launcher) in _printed or not installations.is_name(word):
        return
    _printed.add((word, mpi.launcher))
    others = {
        each.launcher: f"{each.version}, {each.place}"
        for each in reversed(installations.installations_of(mpi.product))
    }
    others.pop(mpi.launcher, None)
    if others:
        say(
            f"imb: {word} is {mpi.version}, {mpi.place}; there is also {'; '.join(others.values())}", err=True
        )


def warn_of_equal_variants(plan: Plan) -> None:
    """Print a warning if variants have the same settings, as in an A/A test."""
    from msgspec import json, structs

    names: dict[bytes, list[str]] = {}
    for index, variant in enumerate(plan.variants):
        measured = {item.work_key()[1:]: None for item in plan.items if item.variant == index}
        settings = json.encode((structs.replace(variant, name=""), sorted(map(repr, measured))))
        names.setdefault(settings, []).append(variant.name)
    for equal in names.values():
        if len(equal) > 1:
            warn_of_noise(f"variants {' and '.join(equal)}")


def warn_of_noise(variants: str) -> None:
    say(
        f"imb: warning: {variants} have the same settings: differences between them are noise (an A/A test)",
        err=True,
    )


def components_of(plans: Sequence[Plan]) -> set[str]:
    return {item.component for plan in plans for item in plan.items}


def build_for(plans: Sequence[Plan], mpi: Installation, programs: Path | None) -> None:
    """Build the suite for these plans if needed, unless its programs are given. Raises ImbError if a program
    is missing."""
    from imb.runner import session

    if programs is None:
        ready_programs(mpi, None, components_of(plans))
    for plan in plans:
        session.refuse_missing_programs(plan)


def print_launches_left(store: Archive, plan: Plan) -> None:
    """Print one command for each kind of launch that is not over, and the predicted duration of a campaign."""
    from imb.model.units import rough_duration
    from imb.runner import session, stored_sessions

    over = session.finished_launches(store, plan)
    left = [item for item in plan.items if item.number not in over]
    for items in session.group_equal_launches(plan, left):
        variant, heading = plan.variants[items[0].variant], count_of(len(items), "launch")
        if plan.campaign:
            heading = f"{variant.name}, {count_of(items[0].ranks or variant.intent.ranks, 'rank')}: {heading}"
        headings = [f"# {heading}"] if plan.campaign or len(items) > 1 else []
        say(*headings, str(session.command_of(plan, items[0], Path(), shown=True)))
    if plan.grows and not session.is_over(store, plan):
        say("further launches follow from the results", err=True)
    if not plan.campaign:
        return
    seconds = session.remaining_seconds(plan, over.values(), stored_sessions.expected_seconds(store, plan))
    duration = "duration unknown" if seconds is None else f"about {rough_duration(seconds)}"
    limit = (
        " at most" if plan.until else f", at most {count_of(plan.repeats, 'repeat')}" if plan.repeats else ""
    )
    say(f"{count_of(len(left), 'launch')}{limit}, seed {plan.seed}: {duration}", err=True)


def locate_variant(settings: VariantSettings) -> tuple[Installation, Path]:
    """`prepare` for a variant of a campaign."""
    return prepare(settings.mpi, Path(settings.programs) if settings.programs else None, settings.compiler)


def build_variants(campaign: Campaign, plans: Sequence[Plan]) -> None:
    """Build the programs that the plans of a campaign need, for each of its MPIs and compilers."""
    from imb.runner.campaign_definition import variants

    components = components_of(plans)
    builds = {
        (settings.mpi, settings.compiler) for settings in variants(campaign).values() if not settings.programs
    }
    for choice, compiler in sorted(builds, key=str):
        ready_programs(chosen_mpi(choice), compiler, components)


def ready_programs(mpi: Installation, compiler: str | None, components: Collection[str] = ()) -> Path:
    """The folder of the suite's programs for an MPI, with at least these components, built if needed. Exits
    with 1 if the build fails."""
    from imb.mpi import suite_build

    place = suite_build.place_of(mpi, compiler)
    return place if suite_build.has_programs(place, components) else build_programs(mpi, compiler, components)


BUILD_BEAT = 4.0  # seconds between progress lines of a build without a terminal


def build_programs(
    mpi: Installation, compiler: str | None, components: Collection[str] = (), *, again: bool = False
) -> Path:
    """Build the suite for an MPI, with progress, and return its folder; only return the folder if it is built
    already. Exits with 1 if the build fails. `components`: the required ones; all if empty."""
    from rich.progress import Progress

    from imb.mpi import suite_build

    place = suite_build.build_folder(suite_build.build_key(mpi, compiler))
    make_folder = suite_build.folder_of_make(mpi, compiler)
    components = components or suite_build.all_components()
    if suite_build.has_programs(place, components) and not again:
        return place
    missing = f"what is missing in {make_folder}; " if make_folder else ""
    screen = Screen(err=True)
    screen.line(f"building the suite for {mpi.version} ({missing}{mpi.wrapper}) ...")
    console = screen.console
    began = time.monotonic()
    percent_done = 0.0
    finished = threading.Event()

    def beat() -> None:
        while not finished.wait(BUILD_BEAT):
            screen.line(f"building the suite: {percent_done:.0f} % after {time.monotonic() - began:.0f} s")

    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("building", total=100)

        def show(percent: float) -> None:
            nonlocal percent_done
            percent_done = percent
            bar.update(task, completed=percent)

        if not console.is_terminal:
            threading.Thread(target=beat, daemon=True).start()
        try:
            return suite_build.build(mpi, compiler, components, on_percent=show)
        except suite_build.BuildError as error:
            bar.stop()
            say(*error.words.splitlines(), f"imb: {error}", err=True)
            raise typer.Exit(Status.FAILED) from None
        finally:
            finished.set()
