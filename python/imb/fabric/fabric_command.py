"""imb fabric"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from imb.cli import help
from imb.cli.common import (
    USUAL_RELEVANT,
    ArchiveOption,
    LabelOption,
    VerdictFormatOption,
    examine_page,
)
from imb.cli.launching import (
    CpusOption,
    EnvOption,
    LauncherOption,
    MpiOption,
    PpnOption,
    ProgramsOption,
    TimeoutOption,
    build_for,
    intent_of,
    prepare,
    refuse_missing_cpus,
)
from imb.cli.option_groups import ACTING, JUDGMENT, METHOD, PLACE, SESSION, SUBJECT, Form
from imb.fabric.judging.effort import DOUBLED, FIRST, FURTHER, QUICK_FIRST
from imb.model.errors import ImbError
from imb.model.hostlist import expand_hosts
from imb.model.suite_arguments import option_name
from imb.model.units import share_of
from imb.report.terminal import say
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.fabric.fabric_planning import SweepSettings

BENCHMARKS = ("Pair_Latency", "Pair_Bandwidth", "Pair_Bidirectional")
SIZES = (("Pair_Latency", 8), ("Pair_Bandwidth", 1 << 20))
_ARGUMENTS = "imb.fabric.arguments"
# The form with RESULTS, which judges earlier records and launches nothing.
_JUDGED = Form("cannot be combined with RESULTS, which are judged, not run; omit it")


class SweepCommand(help.HelpCommand):
    """A command that keeps words after `--` apart from RESULTS, because a result may look like a benchmark."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


command_class = SweepCommand


def command(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RESULTS...] [-- IMB arguments]",
            help="Judge these instead of running: files of records of IMB-FABRIC, labels or runs.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts",
            metavar="H1,H2",
            help="Launch on these hosts; ranges such as 'node[01-16]'.",
            rich_help_panel=PLACE,
        ),
    ] = None,
    endpoint: Annotated[
        Literal["host", "socket", "numa", "core"] | None,
        typer.Option(
            "--endpoint",
            help="What a rank stands for.",
            show_default="host; on one host core",
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Start with at most 2 log2(N) + 4 rounds; measure more of them if a slow host could be missed, then only rounds that separate suspects.",
            rich_help_panel=METHOD,
        ),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=2,
            max=10_000_000,
            metavar="SECONDS",
            help="Limit the total duration, and judge what was measured.",
            show_default=f"no limit; extra passes stop after {FURTHER:g} s",
            rich_help_panel=METHOD,
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="NAME:BYTES",
            help="Measure this; may be repeated.",
            show_default=" and ".join(f"{name}:{length}" for name, length in SIZES),
            rich_help_panel=SUBJECT,
        ),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="Run all rounds N times, with both directions of pairs in turn.",
            show_default=f"{FIRST}, and as many again while a slow host could be missed, up to {FIRST << DOUBLED};"
            f" with --quick {QUICK_FIRST} to {QUICK_FIRST << DOUBLED}",
            rich_help_panel=METHOD,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            min=1,
            metavar="K",
            help="Each endpoint meets K others.",
            show_default="all",
            rich_help_panel=METHOD,
        ),
    ] = None,
    serial: Annotated[
        bool, typer.Option("--serial", help="Measure one pair at a time.", rich_help_panel=METHOD)
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=2**31 - 1,
            metavar="N",
            help="Order of rounds.",
            show_default="random",
            rich_help_panel=METHOD,
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            metavar="FILE",
            help="Switches: lines `leaf1: node[01-16]`, Slurm's topology.conf, or the output of ibnetdiscover.",
            rich_help_panel=JUDGMENT,
        ),
        _JUDGED,
    ] = None,
    relevant: Annotated[
        str,
        typer.Option(
            "--relevant",
            "-r",
            metavar="PERCENT",
            help="Smallest relevant slowdown.",
            rich_help_panel=JUDGMENT,
        ),
        _JUDGED,
    ] = USUAL_RELEVANT,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Compare each pair with its own past: a label, run or file of records.",
            rich_help_panel=JUDGMENT,
        ),
        _JUDGED,
    ] = None,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain",
            help="Run the printed `scontrol` commands, which drain hosts in Slurm.",
            rich_help_panel=SESSION,
        ),
        _JUDGED,
        ACTING,
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print launches, rounds, passes and estimated time; run nothing.",
            rich_help_panel=SESSION,
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            metavar="FILE",
            help="Write an HTML page with the matrix of all pairs.",
            rich_help_panel=SESSION,
        ),
        _JUDGED,
    ] = None,
    format: Annotated[VerdictFormatOption, _JUDGED] = "terminal",
    timeout: TimeoutOption = None,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    ppn: PpnOption = None,
    cpus: CpusOption = None,
    env: EnvOption = None,
    launcher: LauncherOption = "mpiexec",
    label: LabelOption = None,
    archive: ArchiveOption = None,
) -> None:
    """Find the slow host, core, link or switch of a fabric, with known error rates.

    Pairs of endpoints are measured with IMB-FABRIC, on --hosts, in the allocation of a scheduler, or on the cores of this
    host. A host, core, link or switch is named if its pairs are slower than the pairs of its peers, and again in passes that confirm it. On a healthy fabric,
    the probability that anything is named is at most 1 %. Links and switches need --topology. Each launch is kept as a
    run; after Ctrl-C or a crash, `imb run --resume` continues.

    With RESULTS, nothing is run; the records of earlier runs are judged. IMB arguments follow --; `IMB-FABRIC -help all` lists them.

    \b
    Examples:
      imb fabric --hosts 'node[001-064]' --topology topology.conf --page fabric.html
      imb fabric --quick --budget 30                 # first step of a job
      imb fabric --endpoint core
      imb fabric records.jsonl --format json
      imb fabric --hosts 'node[001-064]' --baseline acceptance

    Exit status: 0 healthy, 10 bad (a part of the fabric is named, or a host does not answer), 11 inconclusive, 2 usage error, 130 interrupted.
    """
    from msgspec.structs import replace

    from imb.experiments.session_loop import carry_out
    from imb.fabric import fabric_planning
    from imb.fabric.fabric_experiment import (
        FabricExperiment,
        dry_run_lines,
        refuse_reserved_arguments,
    )
    from imb.mpi.allocation import offered_hosts
    from imb.runner import session

    arguments: list[str] = ctx.meta[_ARGUMENTS]
    least = share_of(relevant, "--relevant")
    if drain and names:
        raise ImbError("--drain needs a measurement of now; omit RESULTS, or run the printed commands")
    if names:
        _JUDGED.refuse_others(ctx)
        if arguments:
            raise ImbError(f"RESULTS are judged, not run; omit the IMB arguments {' '.join(arguments)}")
    if quick and (rounds or serial):
        raise ImbError("--quick has rounds of its own; omit --rounds and --serial")
    if page:
        examine_page("imb fabric", page)
    store = Archive(archive)
    settings = fabric_planning.SweepSettings(
        relevant=least,
        topology=str(topology) if topology else None,
        baseline=baseline,
        quick=quick,
        page=str(page) if page else None,
        drain=drain,
        format=format,
    )
    if names:
        raise typer.Exit(_judge(store, names, settings))
    refuse_reserved_arguments(
        arguments, BENCHMARKS, quick=quick, rounds=bool(rounds), budget=budget is not None
    )
    sizes = list(dict.fromkeys(map(_size, benchmark or []))) or list(SIZES)
    bare = intent_of(None, _expand_hosts(hosts), ppn, None, cpus, env, launcher)
    kind: fabric_planning.EndpointKind = endpoint or ("host" if offered_hosts(bare.hosts) > 1 else "core")
    if ppn and kind == "host":
        raise ImbError("--ppn needs endpoints smaller than hosts; add --endpoint socket, numa or core")
    intent = fabric_planning.intent_for(bare, kind, ppn=ppn)
    refuse_missing_cpus(intent)
    installation, folder = prepare(mpi, programs)
    pattern = (["-rounds", str(rounds)] if rounds else []) + (["-serial"] if serial else [])
    settings = replace(
        settings,
        topology=str(topology.absolute()) if topology else None,
        page=str(page.absolute()) if page else None,
        sizes=sizes,
        endpoint=kind,
        arguments=[*pattern, *arguments],
        passes=passes,
        seed=session.new_seed() if seed is None else seed,
        budget=budget,
        labels=label or [],
        one_stage=bool(rounds) or _choose_pairs(arguments),
    )
    plan = session.growing_plan("fabric", settings, installation, folder, intent, timeout)
    fabric = FabricExperiment(store, plan)  # the time of the budget begins, and files are read
    if dry_run:
        say(*dry_run_lines(settings, intent.ranks))
        return
    build_for([fabric_planning.add_launch(plan, settings, sizes[0])], installation, programs)
    session.save(store, plan)
    raise typer.Exit(carry_out(fabric, plan))


def _judge(store: Archive, names: Sequence[str], settings: SweepSettings) -> int:
    """Judge earlier records, print the verdict, and return the exit status. Raises ImbError."""
    from imb.fabric import evaluation
    from imb.fabric.fabric_experiment import sweep_reference
    from imb.fabric.fabric_output import conclude

    sources = evaluation.sources_named(store, names)
    against = sweep_reference(store, settings, sources)
    notes: list[str] = []
    launches = evaluation.launches_of(sources, notes)
    judged, topology = evaluation.judge_launches(launches, sources, against, notes)
    return conclude(judged, topology, against, settings)


def _expand_hosts(hosts: str | None) -> str | None:
    """The hosts with ranges expanded to names, which launchers need."""
    return ",".join(expand_hosts(hosts)) if hosts else hosts


def _choose_pairs(arguments: Sequence[str]) -> bool:
    """Whether IMB arguments choose the pairs. A launch with other pairs would have a different load, so there
    is only one stage."""
    return any(option_name(argument) in ("rounds", "halves") for argument in arguments)


def _size(text: str) -> tuple[str, int]:
    """Benchmark and bytes of `Pair_Latency:8`. Raises ImbError."""
    name, _, length = text.partition(":")
    benchmark = next((spelling for spelling in BENCHMARKS if spelling.lower() == name.lower()), None)
    if benchmark is None or not length.isdecimal() or not 0 <= int(length) < 2**31:
        raise ImbError(
            f"--benchmark: not NAME:BYTES: {text}; give {', '.join(BENCHMARKS)} with a message size, such as Pair_Latency:8"
        )
    return benchmark, int(length)
