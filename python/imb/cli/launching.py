"""Options of the commands that launch, and the execution of a session with live progress."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import typer

from imb import registry
from imb.cli import INTERRUPTED
from imb.cli.display import Display
from imb.cli.launch_lines import is_usage_error, launch_line, launch_name, title_of, warn_of_others
from imb.model.errors import ImbError
from imb.model.units import counted
from imb.report.terminal import Screen, say
from imb.runner.passes import Sampling
from imb.store.store import Archive, ArchiveFull

if TYPE_CHECKING:
    from imb.model.intent import Intent
    from imb.mpi.installations import Installation
    from imb.runner.campaign import Campaign, VariantSettings
    from imb.runner.session import Done, Item, Plan, Variant

MpiOption = Annotated[
    str | None,
    typer.Option(
        "--mpi",
        envvar="IMB_MPI",
        show_envvar=True,
        metavar="MPI",
        help="openmpi, mpich or intel; a folder with bin/mpicxx; a C++ wrapper.",
        show_default="the first that `imb doctor` lists",
    ),
]
ProgramsOption = Annotated[
    Path | None,
    typer.Option(
        "--programs",
        metavar="FOLDER",
        help="Use the programs in FOLDER; without --mpi, with the MPI that they are linked with.",
        show_default="those of `imb build`, else of the package",
    ),
]
BindOption = Annotated[
    Literal["core", "socket", "numa", "none"] | None,
    typer.Option("--bind", help="Bind each rank to one of these."),
]
HostsOption = Annotated[str | None, typer.Option("--hosts", metavar="H1,H2", help="Launch on these hosts.")]
PpnOption = Annotated[int | None, typer.Option("--ppn", min=1, metavar="N", help="Ranks per host.")]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="Set a variable for all ranks, or pass it on as it is set; may be repeated.",
    ),
]
CpusOption = Annotated[
    str | None,
    typer.Option(
        "--cpus", metavar="0,3", help="Pin rank 0 to CPU 0, rank 1 to CPU 3 (as the system numbers them)."
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout", min=0.1, metavar="SECONDS", help="Kill a launch that takes longer, and continue."
    ),
]
LimitOption = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="End a launch that takes longer.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show the whole command of each launch.")]
ClassOption = Annotated[
    Literal["single", "parallel", "collective"] | None,
    typer.Option("--class", help="Select only benchmarks of this class."),
]
LauncherOption = Annotated[
    Literal["mpiexec", "srun"], typer.Option("--launcher", help="The MPI's own launcher, or Slurm's.")
]

MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="KIND[,KIND]",
        help="Memory of sends, of receives: host, pinned, cuda, cuda_managed, rocm, rocm_managed.",
        show_default="host",
    ),
]
GpuOption = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="N",
        help="GPU of each rank: a number, local_rank or round_robin.",
        show_default="local_rank",
    ),
]
ClassicOption = Annotated[
    bool, typer.Option("--classic", help="Measure each row in one burst, as IMB does, instead of in passes.")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="PERCENT",
        help="Measure in passes until the 95 % interval of each row's median is within this.",
        show_default="2%",
    ),
]


def _budget(name: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        name,
        min=0.1,
        max=1e7,
        metavar="SECONDS",
        help="Limit the duration of the passes of a launch.",
        show_default="2, or 0.1 per row (IMB-IO: 1 per row)",
    )
    return option


BudgetOption = Annotated[float | None, _budget("--budget")]
LaunchBudgetOption = Annotated[float | None, _budget("--launch-budget")]


def sampling_of(classic: bool, precision: str | None, budget: float | None) -> Sampling:
    """The sampling that the options describe. Raises ImbError."""
    return Sampling(classic=classic, precision=_share(precision) if precision else None, budget=budget)


def _share(text: str) -> float:
    """0.02 from `2%` or `2`. Raises ImbError where the suite would refuse it."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 1e-5 <= share <= 1:
        raise ImbError(f"--precision: not a percentage from 0.001 to 100: {text}; give one such as 2%")
    return share


def note_classic(reason: str | None) -> None:
    """Print why rows are measured classic, not in passes; None: they are measured as the options have it."""
    if reason:
        say(f"imb: note: measuring classic, one burst per row, because of {reason}", err=True)


def intent_of(
    np: int | None,
    hosts: str | None,
    ppn: int | None,
    bind: Literal["core", "socket", "numa", "none"] | None,
    cpus: str | None,
    env: list[str] | None,
    launcher: Literal["mpiexec", "srun"],
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
    ranks = (
        np
        or ((ppn or 1) * len(names) if len(names) > 1 or (ppn and names) else 0)
        or ppn
        or len(numbers)
        or 2
    )
    if len(numbers) > ranks:
        raise ImbError(
            f"--cpus: {len(numbers)} CPUs for {counted(ranks, 'rank')}: {cpus}; give at most one per rank"
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


def refuse_missing_cpus(intent: Intent, setting: str = "--cpus") -> None:
    """Raises ImbError where a rank is to be pinned to a CPU that this host, which launches, does not have."""
    from imb.runner import session

    present = os.sysconf("SC_NPROCESSORS_CONF")
    missing = [cpu for cpu in intent.cpus if cpu >= present]
    if missing and not session.elsewhere(intent):
        raise ImbError(f"{setting}: no CPU {missing[0]} on this host; give numbers from 0 to {present - 1}")


def refuse_missing_cpus_of(plans: Sequence[Plan]) -> None:
    """`refuse_missing_cpus` for all variants."""
    for variant in (variant for plan in plans for variant in plan.variants):
        refuse_missing_cpus(variant.intent, f"variant {variant.name}: cpus")


def prepare(
    choice: str | None, programs: Path | None, compiler: str | None = None
) -> tuple[Installation, Path]:
    """The MPI, and the folder where the suite's programs for it are, or will be (`build_for`)."""
    from imb.mpi import build

    mpi = chosen_mpi(choice, programs)
    return mpi, programs or build.place_of(mpi, compiler)


def chosen_mpi(choice: str | None, programs: Path | None = None) -> Installation:
    """The MPI of --mpi, which is one that can launch these programs. Prints which of several MPIs a name like `mpich` means. Raises
    ImbError."""
    from imb.mpi import installations

    mpi = installations.find_for(choice, programs) if programs else installations.find(choice)
    if word := choice or os.environ.get("IMB_MPI"):
        _print_choice(word, mpi)
    return mpi


_printed: set[tuple[str, str]] = set()  # one line, however many variants use the MPI


def _print_choice(word: str, mpi: Installation) -> None:
    from imb.mpi import installations

    if (word, mpi.launcher) in _printed or not installations.is_name(word):
        return
    _printed.add((word, mpi.launcher))
    others = {
        each.launcher: f"{each.version}, {each.place}" for each in reversed(installations.of_kind(mpi.known))
    }
    others.pop(mpi.launcher, None)
    if others:
        say(
            f"imb: {word} is {mpi.version}, {mpi.place}; there is also {'; '.join(others.values())}", err=True
        )


def warn_of_equal_variants(plan: Plan) -> None:
    """Warns where variants have the same settings, as in an A/A test."""
    from msgspec import json, structs

    names: dict[bytes, list[str]] = {}
    for index, variant in enumerate(plan.variants):
        measured = {item.like()[1:]: None for item in plan.items if item.variant == index}
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
    """Builds the suite for these plans if needed, unless its programs are given. Raises ImbError where one is missing."""
    from imb.runner import session

    if programs is None:
        ready(mpi, None, components_of(plans))
    for plan in plans:
        session.refuse_missing_programs(plan)


def locate_variant(settings: VariantSettings) -> tuple[Installation, Path]:
    """`prepare` for a variant of a campaign."""
    return prepare(settings.mpi, Path(settings.programs) if settings.programs else None, settings.compiler)


def build_variants(campaign: Campaign, plans: Sequence[Plan]) -> None:
    """Builds the programs that the plans of a campaign need, for each of its MPIs and compilers."""
    from imb.runner.campaign import variants

    components = components_of(plans)
    builds = {
        (settings.mpi, settings.compiler) for settings in variants(campaign).values() if not settings.programs
    }
    for choice, compiler in sorted(builds, key=str):
        ready(chosen_mpi(choice), compiler, components)


def ready(mpi: Installation, compiler: str | None, components: Collection[str] = ()) -> Path:
    """The suite's programs for an MPI, those of these components at least, built if need be; exits with 1 where that fails."""
    from imb.mpi import build

    place = build.place_of(mpi, compiler)
    return place if build.has(place, components) else built(mpi, compiler, components)


BUILD_BEAT = 4.0  # seconds between lines of progress of a build, without a terminal


def built(
    mpi: Installation, compiler: str | None, components: Collection[str] = (), *, again: bool = False
) -> Path:
    """The suite built for an MPI, with progress where it has to be built; exits with 1 where that fails. `components`: those that
    are needed; empty: all."""
    from rich.progress import Progress

    from imb.mpi import build

    place = build.build_folder(build.build_key(mpi, compiler))
    make_folder = build.folder_of_make(mpi, compiler)
    components = components or build.all_components()
    if build.has(place, components) and not again:
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
            return build.build(mpi, compiler, components, on_percent=show)
        except build.BuildError as error:
            bar.stop()
            say(*error.words.splitlines(), f"imb: {error}", err=True)
            raise typer.Exit(1) from None
        finally:
            finished.set()


class SessionEnd(NamedTuple):
    """A session after its launches."""

    over: list[Done]  # the launches that ended
    left_out: int  # launches whose variant could not be set up or started
    stopped: str | None  # why no more were launched, if the session stops when decided
    plan: Plan  # with the launches that were repeated
    usage_errors: bool = False  # the suite refused the arguments of all launches


def carry_out(archive: Archive, plan: Plan, *, verbose: bool = False) -> None:
    """Runs the launches of the session that are not done yet, with live progress; exits with 1 or 2 unless all were complete."""
    from imb.cli.variance import after_session
    from imb.runner import session

    before = len(session.done(archive, plan))
    executed = launch_all(archive, plan, verbose=verbose)
    if len(executed.over) > before:
        after_session(archive, executed.plan, executed.over)
    if not all_measured(executed):
        raise typer.Exit(2 if executed.usage_errors else 1)


def resume(archive: Archive, plan: Plan, *, verbose: bool = False) -> None:
    """`carry_out` of a session that another process began: it ends with the report of the command that began it."""
    name = plan.command
    if name is None:
        carry_out(archive, plan, verbose=verbose)
        return
    show_launches = name not in ("fabric", "latency", "rails", "startup")  # their report has every launch
    module = registry.experiment_module(name)
    grow = getattr(module, "grow", None)  # where launches depend on those before
    executed = launch_all(
        archive,
        plan,
        results_to_stderr=True,
        commands=show_launches and not grow,
        failures=name != "fabric",
        verbose=verbose,
        grow=grow,
    )
    raise typer.Exit(module.report(archive, executed))


def all_measured(executed: SessionEnd) -> bool:
    """Whether every launch was complete; reports on standard error if not."""
    over, left_out = executed.over, executed.left_out
    incomplete = sum(ended.outcome != "measured" for ended in over)
    if incomplete:
        say(f"imb: {incomplete} of {len(over)} launches incomplete; see `imb show RUN`", err=True)
    if left_out:
        say(
            f"imb: {counted(left_out, 'launch')} skipped; retry with `imb run --resume {executed.plan.id}`",
            err=True,
        )
    return not incomplete and not left_out


# From a session and its launches that ended: the session with the launches that follow; None: none follow.
Grow: TypeAlias = "Callable[[Archive, Plan, Sequence[Done]], Plan | None]"


def launch_all(
    archive: Archive,
    plan: Plan,
    *,
    results_to_stderr: bool = False,
    commands: bool = True,
    failures: bool = True,
    verbose: bool = False,
    grow: Grow | None = None,
) -> SessionEnd:
    """Runs the launches of the session that are not done yet, or fewer where it stops when decided; exits with 130 when interrupted.
    `commands`: whether they, and a line of each launch that was measured, are shown. `failures`: whether there is a line of each other
    launch, and a warning of other processes; False: the caller's report has all that concerns launches. `verbose`: all commands are
    shown, whole. `grow`: which launches follow, also the first ones of a plan that has none; None: repeats.

    Raises ImbError where another process executes the session.
    """
    from imb.cli.deciding import with_repeats
    from imb.runner import lock, session

    try:
        with lock.held(archive, plan, lambda line: say(f"imb: {line}", err=True)):
            for variant in plan.variants:
                warn_of_ignored_variables(variant)
            # The variants of a session that grows are on the same CPUs: one is examined.
            for variant in plan.variants[:1] if grow else plan.variants:
                ranks = [item.ranks or variant.intent.ranks for item in plan.items]
                most_ranks = max(ranks, default=variant.intent.ranks)
                examine_shared_cpus(variant.intent, most_ranks, variant.name)
            options = {
                "results_to_stderr": results_to_stderr,
                "commands": commands,
                "failures": failures,
                "verbose": verbose,
                "grows": bool(grow),
            }
            executed = SessionEnd([], 0, None, plan, usage_errors=False)
            if plan.items:
                executed = _launch_all(archive, plan, **options)
            while extended := (grow or with_repeats)(archive, executed.plan, executed.over):
                session.extend(archive, extended)
                announced = bool(grow and executed.plan.items)
                executed = _launch_all(archive, extended, **options, announced=announced)
            if grow:
                session.stop(archive, executed.plan, "its last stage has ended")
            return executed
    except ArchiveFull as error:
        raise ImbError(f"{error}, then `imb run --resume {plan.id}` continues") from error
    except KeyboardInterrupt:
        raise ImbError(
            f"interrupted; continue with `imb run --resume {plan.id}`", status=INTERRUPTED
        ) from None


def _launch_all(
    archive: Archive,
    plan: Plan,
    *,
    results_to_stderr: bool,
    commands: bool,
    failures: bool,
    verbose: bool,
    grows: bool,
    announced: bool = False,
) -> SessionEnd:
    """`grows`: launches follow that are not planned yet; `announced`: the caller has printed what follows."""
    from imb.cli.deciding import Deciding
    from imb.cli.show import print_tables
    from imb.model import records
    from imb.runner import execution, session, stored_sessions
    from imb.runner.setup_teardown import SetupState

    execution.settle(archive, plan)
    before = session.done(archive, plan)
    todo = [item for item in plan.items if item.number not in before]
    session.refuse_without_secrets(plan, todo)
    versions = ", ".join(dict.fromkeys(variant.mpi.version for variant in plan.variants))
    limit = " at most" if plan.until else ""
    may_repeat = plan.repeats and not any(item.repeats for item in plan.items)
    limit += f", at most {plan.repeats} repeats" if may_repeat else ""
    if announced:
        pass
    elif todo:
        count = counted(len(todo), "launch") if grows else f"{len(todo)} of {len(plan.items)} launches"
        say(f"{title_of(plan)}: {count} to run{' first' if grows else ''}{limit}, {versions}", err=True)
    else:
        nothing_left = "" if grows else "nothing left to run, "
        say(f"{title_of(plan)}: {nothing_left}{counted(len(plan.items), 'launch')} done", err=True)
    over = list(before.values())
    left_out = 0
    refused: set[tuple[object, ...]] = set()  # launches whose arguments the suite refuses, every time
    missing: set[tuple[object, ...]] = set()  # launches that cannot be started, every time
    skipped = 0
    stopped: str | None = None

    def show_table(item: Item, file: Path) -> None:
        if len(plan.items) == 1 and not results_to_stderr and sys.stdout.isatty():
            display.end()
            print_tables(records.read(file.read_bytes(), file.name))

    deciding = Deciding(archive, plan, over)
    with (
        Display(
            plan,
            stored_sessions.usual_seconds(archive, plan),
            commands=commands,
            verbose=verbose,
            grows=grows,
        ) as display,
        SetupState(archive, plan, display.say) as setup_state,
    ):
        if not plan.until:  # else the session may be decided already
            display.show_time_left(over, todo[0].turn if todo else None)
        for items in session.launch_batches(plan, todo):
            if stopped := deciding.before(items[0].turn, over, display.say):
                break
            if any(item.like() in refused for item in items):
                skipped += len(items)
                continue
            if any(item.like() in missing for item in items):
                left_out += len(items)
                continue
            if not setup_state.switch(items[0].variant):  # several at the same time have no setup
                left_out += len(items)
                continue
            display.begin(items, over)
            try:
                now_over = execution.execute(
                    archive,
                    plan,
                    items,
                    on_start=display.show_command,
                    on_progress=display.show,
                    on_problem=lambda item, line: display.warn(f"imb: {launch_name(plan, item)}: {line}"),
                    on_measured=show_table,
                )
            except session.NotStarted as error:
                missing |= {item.like() for item in items}
                if not over and missing.issuperset(item.like() for item in todo):
                    raise
                display.say(f"imb: {launch_name(plan, items[0])}: {error}; skipped, also in later rounds")
                left_out += len(items)
                continue
            finally:
                display.end()
            over += now_over
            for ended in now_over:
                if commands if ended.outcome == "measured" else failures:
                    say(launch_line(archive, plan, ended), err=results_to_stderr)
            refused |= {
                plan.items[ended.number - 1].like() for ended in now_over if is_usage_error(archive, ended)
            }
            if any(ended.outcome == "interrupted" for ended in now_over):
                raise KeyboardInterrupt
        if skipped:
            display.say(f"imb: {counted(skipped, 'launch')} skipped after a usage error")
        stopped = stopped or deciding.at_the_end(over, display.say)
    if stopped:
        session.stop(archive, plan, stopped)
    # With `until`, the last line is the reason for stopping.
    if not plan.until and failures and not announced:
        warn_of_others(archive, (ended.run for ended in over if ended.number not in before))
    all_refused = bool(over) and all(plan.items[ended.number - 1].like() in refused for ended in over)
    return SessionEnd(over, left_out, stopped, plan, all_refused)


# Prefixes of variables, and the MPIs that read them. "mpich" includes the libraries that are made from it.
_READ_BY = {"MPIR_CVAR_": ("mpich", "intel"), "OMPI_MCA_": ("openmpi",), "I_MPI_": ("intel",)}


def warn_of_ignored_variables(variant: Variant) -> None:
    """Warns where a variant sets variables of another MPI than its own."""
    variant_text = f"variant {variant.name}: " if variant.name else ""
    for prefix, flavors in _READ_BY.items():
        names = [name for name in variant.intent.env if name.startswith(prefix)]
        if names and variant.mpi.flavor not in (*flavors, "other"):
            say(
                f"imb: warning: {variant_text}{variant.mpi.version} ignores {', '.join(names)}; choose the MPI by --mpi",
                err=True,
            )


_MOST_PER_CORE = 100  # ranks


def examine_shared_cpus(intent: Intent, ranks: int, name: str = "") -> None:
    """Warns where --cpus pins several of `ranks` ranks on this host to one CPU, and where it has fewer cores than ranks. Raises
    ImbError where they are so many that the host would not respond."""
    from imb.mpi import host
    from imb.runner import session

    if session.elsewhere(intent):
        return
    prefix = f"variant {name}: " if name else ""
    pinned = [intent.cpus[rank % len(intent.cpus)] for rank in range(ranks)] if intent.cpus else []
    cores = host.cores()
    if ranks > _MOST_PER_CORE * cores:
        raise ImbError(
            f"{prefix}{ranks} ranks on {counted(cores, 'core')} would stall this host; give --np of at most {_MOST_PER_CORE * cores},"
            " or --hosts"
        )
    if not pinned and ranks > cores:
        say(f"imb: warning: {prefix}{ranks} ranks on {counted(cores, 'core')}: ranks share cores", err=True)
    if len(set(pinned)) == len(pinned):
        return
    shared = next(cpu for cpu in pinned if pinned.count(cpu) > 1)
    sharing = [str(rank) for rank, cpu in enumerate(pinned) if cpu == shared]
    listed = " and ".join(sharing) if len(sharing) < 4 else f"{sharing[0]} and {len(sharing) - 1} others"
    say(f"imb: warning: {prefix}ranks {listed} share CPU {shared}; times include waiting for it", err=True)
