"""imb fabric"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from imb.archive.names import unreachable_of
from imb.archive.store import Archive
from imb.cli import help
from imb.cli.common import ArchiveOption, LabelOption, VerdictFormatOption, refuse_options, share_of
from imb.cli.launch_lines import problem_of
from imb.cli.launching import (
    Carried,
    CpusOption,
    EnvOption,
    LauncherOption,
    LimitOption,
    MpiOption,
    PpnOption,
    ProgramsOption,
    intent_of,
    prepare,
    refuse_missing_cpus,
)
from imb.model.errors import ImbError
from imb.model.hostlist import expanded
from imb.model.units import counted
from imb.render.terminal import data, say

if TYPE_CHECKING:
    from imb.cli.fabric_judging import Against
    from imb.cli.fabric_stages import Sources
    from imb.fabric.topology import Topology
    from imb.fabric.verdict import Verdict
    from imb.measure.drain import Drain
    from imb.measure.session import Done, Plan
    from imb.model.pairs import PairLaunch
    from imb.render.fabric import Judged

EXIT = {"healthy": 0, "bad": 10, "inconclusive": 11}
BENCHMARKS = ("Pair_Latency", "Pair_Bandwidth", "Pair_Bidirectional")
SIZES = (("Pair_Latency", 8), ("Pair_Bandwidth", 1 << 20))
_ARGUMENTS = "imb.fabric.arguments"
# What the form with NAME uses; all else is of launches.
_OF_JUDGING = {"names", "topology", "relevant", "baseline", "drain", "page", "format", "archive"}


class Command(help.Command):
    """Words behind `--` are kept apart: a NAME may look like a benchmark."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


FIRST = ("--hosts", "--endpoint", "--quick", "--budget", "--topology", "--baseline", "--page", "--format")


def command(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]... [-- IMB arguments]",
            help="Judge these instead of running: files of records of IMB-FABRIC, labels or runs.",
            show_default=False,
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="H1,H2", help="Launch on these hosts; ranges such as 'node[01-16]'."),
    ] = None,
    endpoint: Annotated[
        Literal["host", "socket", "numa", "core"] | None,
        typer.Option("--endpoint", help="What a rank stands for.", show_default="host; on one host core"),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Start with at most 2 log2(N) + 4 rounds; measure more of them if a slow host could be missed, then only rounds that separate suspects.",
        ),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=2,
            max=10_000_000,
            metavar="SECONDS",
            help="End after this time, and judge what is there.",
            show_default="none; further passes end within 600 s",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="NAME:BYTES",
            help="Measure this; may be repeated.",
            show_default="Pair_Latency:8 and Pair_Bandwidth:1048576",
        ),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="Run all rounds N times, with both directions of pairs in turn.",
            show_default="4, and as many again while a slow host could be missed, up to 64; with --quick 3 to 48",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", min=1, metavar="K", help="Each endpoint meets K others.", show_default="all"
        ),
    ] = None,
    serial: Annotated[bool, typer.Option("--serial", help="Measure one pair at a time.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, max=2**31 - 1, metavar="N", help="Order of rounds.", show_default="drawn"
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            metavar="FILE",
            help="Switches: lines `leaf1: node[01-16]`, Slurm's topology.conf, or the output of ibnetdiscover.",
        ),
    ] = None,
    relevant: Annotated[
        str, typer.Option("--relevant", "-r", metavar="PERCENT", help="Smallest relevant slowdown.")
    ] = "5%",
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Compare each pair with its own past: a label, run or file of records.",
        ),
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="Run the printed `scontrol` commands, which drain hosts in Slurm.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print launches, rounds, passes and estimated time; run nothing."),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write an HTML page with the matrix of all pairs."),
    ] = None,
    format: VerdictFormatOption = "terminal",
    timeout: LimitOption = 3600,
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
    host. A component is named if its pairs are slower than those of its peers, and again in passes that confirm it: with a probability of at
    most 1 %, anything is named on a healthy fabric. Links and switches need --topology. Each launch is kept as a run.

    With NAME, nothing is run; the records of earlier runs are judged. IMB arguments follow --; `IMB-FABRIC -help all` lists them.

    \b
    Examples:
      imb fabric --hosts 'node[001-064]' --topology topology.conf --page fabric.html
      imb fabric --quick --budget 30                 # first step of a job
      imb fabric --endpoint core
      imb fabric records.jsonl --format json
      imb fabric --hosts 'node[001-064]' --baseline acceptance

    Exit status: 0 healthy, 10 bad (a component is named, a host does not answer, or a rail is quiet), 11 inconclusive, 2 usage error, 130 interrupted.
    """
    from imb.cli import fabric_judging as judging
    from imb.cli.extras import need
    from imb.cli.fabric_stages import kept_named

    arguments: list[str] = ctx.meta[_ARGUMENTS]
    share_of(relevant, "--relevant")
    if drain and names:
        raise ImbError("--drain needs a measurement of now; omit NAME, or run the printed commands")
    if names:
        refuse_options(ctx, _OF_JUDGING, "cannot be combined with NAME, which is judged, not run; omit it")
        if arguments:
            raise ImbError(f"NAME is judged, not run; omit the IMB arguments {' '.join(arguments)}")
    if quick and (rounds or serial):
        raise ImbError("--quick has rounds of its own; omit --rounds and --serial")
    if page:
        need("imb fabric --page", "jinja2", "plotly")
        if page.is_dir() or not page.absolute().parent.is_dir():
            raise ImbError(f"--page: cannot write {page}; give a file in a folder that exists")
    store = Archive(archive)
    sources = judging.sources_named(store, names) if names else []
    options = {
        "relevant": relevant,
        "topology": str(topology.absolute()) if topology else None,
        "baseline": baseline,
        "quick": quick,
        "page": str(page.absolute()) if page else None,
        "format": format,
    }
    against = _against(store, options, sources, topology, page)  # before launches, for the errors of files
    notes: list[str] = []
    launches: list[PairLaunch] = []
    read = 0
    looked: tuple[int, tuple[Judged, Topology | None]] | None = None  # the last verdict, and of how many
    if not names:
        from imb.cli.fabric_stages import Stages, refuse_own
        from imb.fabric.verdict import NOTHING
        from imb.measure.fabric import hosts_offered, intent_for

        refuse_own(arguments, BENCHMARKS, quick=quick, rounds=bool(rounds), budget=budget is not None)
        wanted_sizes = list(dict.fromkeys(map(_size, benchmark or []))) or list(SIZES)
        bare = intent_of(None, _expanded(hosts), ppn, None, cpus, env, launcher)
        wanted: Any = endpoint or ("host" if hosts_offered(bare.hosts) > 1 else "core")
        if ppn and wanted == "host":
            raise ImbError("--ppn is of smaller endpoints than hosts; add --endpoint socket, numa or core")
        intent = intent_for(bare, wanted, ppn=ppn)
        refuse_missing_cpus(intent)
        installation, folder = prepare(mpi, programs)
        drawn = secrets.randbelow(2**31) if seed is None else seed
        pattern = (["-rounds", str(rounds)] if rounds else []) + (["-serial"] if serial else [])
        stages = Stages(
            archive=store,
            mpi=installation,
            programs=folder,
            given=programs,
            intent=intent,
            endpoint=wanted,
            sizes=wanted_sizes,
            arguments=[*pattern, *arguments],
            passes=passes,
            seed=drawn,
            timeout=timeout,
            budget=budget,
            labels=label or [],
            report={**options, "sizes": wanted_sizes},
            alone=bool(rounds) or _own_rounds(arguments),
        )

        def judge(sofar: Sources) -> Verdict:
            nonlocal read, looked
            if not sofar:
                return NOTHING
            if new := sofar[read:]:
                launches.extend(judging.launches_of(new, stages.notes))
                read = len(sofar)
            looked = len(sofar), judging.judged_of(launches, sofar, against, [])
            return looked[1][0].verdict

        missed = judging.DETECTED * against.least
        if dry_run:
            say(*stages.planned(quick=quick))
            return
        with kept_named(stages.sources):
            stages.sweep(judge, missed, quick=quick)
        sources, notes = stages.sources, stages.notes
        if not sources:
            raise _nothing_measured(stages.unreachable, notes)
    if new := sources[read:]:
        launches.extend(judging.launches_of(new, notes))
    if looked and looked[0] == len(sources):
        judged, known = looked[1]
        judged = judged._replace(notes=[*notes, *judged.notes])
    else:
        with kept_named([] if names else sources):
            judged, known = judging.judged_of(launches, sources, against, notes)
    if not names:
        judged = judging.with_missing(judged, wanted_sizes)
    if quick:
        judged = judging.with_next_of_quick(judged)
    raise typer.Exit(_conclude(judged, known, against, page, format, drain=drain))


def _nothing_measured(unreachable: Mapping[str, str], problems: Sequence[str]) -> ImbError:
    """A host that the launcher cannot reach does not answer, which is bad."""
    if unreachable:
        text = "; ".join(f"host {host} cannot be reached ({why})" for host, why in unreachable.items())
        return ImbError(f"bad: {text}; nothing was measured", status=10)
    return ImbError(f"inconclusive: no launch has records: {'; '.join(problems) or 'nothing ran'}", status=11)


def _unreachable(store: Archive, plan: Plan, over: Sequence[Done]) -> dict[str, str]:
    hosts = [host for variant in plan.variants for host in variant.intent.hosts or ()]
    found: dict[str, str] = {}
    for each in over:
        found |= unreachable_of(store.run(each.run), hosts)
    return found


def report(store: Archive, carried: Carried) -> int:
    """The verdict on a launch that was interrupted and those before it; the exit status. Raises ImbError."""
    from imb.cli import fabric_judging as judging

    plan, options = carried.plan, {"relevant": "5%", "format": "terminal", **carried.plan.report}
    problems = [why for over in carried.over if (why := problem_of(store, plan, over))]
    runs = [*options.get("earlier", []), *(over.run for over in carried.over)]
    recorded = [run for run in map(store.run, runs) if "records.jsonl" in run.manifest.files]
    if not recorded:
        raise _nothing_measured(_unreachable(store, plan, carried.over), problems)
    sources = [(run.name, run.folder / "records.jsonl") for run in recorded]
    page = Path(options["page"]) if options.get("page") else None
    topology = Path(options["topology"]) if options.get("topology") else None
    against = _against(store, options, sources, topology, page)
    notes = [
        *problems,
        "resumed after an interruption: launches that it would have needed next were not planned",
    ]
    launches = judging.launches_of(sources, notes)
    judged, known = judging.judged_of(launches, sources, against, notes)
    judged = judging.with_missing(judged, [(name, length) for name, length in options.get("sizes", [])])
    if options.get("quick"):
        judged = judging.with_next_of_quick(judged)
    return _conclude(judged, known, against, page, options["format"])


def _against(
    store: Archive, options: Mapping[str, Any], sources: Sources, topology: Path | None, page: Path | None
) -> Against:
    """What a sweep is judged by. Raises ImbError, also where the page would replace a file that is read."""
    from imb.archive.outputs import refuse_overwriting
    from imb.cli import fabric_judging as judging

    baseline = options.get("baseline")
    against = judging.Against(share_of(options["relevant"], "--relevant"))
    past_sources = [] if baseline is None else judging.sources_named(store, [baseline])
    if page:
        read = [path for _, path in (*sources, *past_sources)] + ([topology] if topology else [])
        refuse_overwriting(store, page, read, "--page")
    if topology:
        against = against._replace(network=judging.network_in(topology), network_file=topology)
    if baseline is not None:
        against = against._replace(past=judging.launches_of(past_sources, []), past_name=baseline)
    return against


def _conclude(
    judged: Judged,
    known: Topology | None,
    against: Against,
    page: Path | None,
    format: str,
    *,
    drain: bool = False,
) -> int:
    """Prints the verdict and writes the page; the exit status."""
    from imb.archive.outputs import write_output
    from imb.cli import fabric_judging as judging

    drains, unnamable = judging.drains_of(judged, against.network)
    results = judging.execute(judged, drains) if drain else {}
    status = EXIT[judged.verdict.state]
    if page:
        from imb.render.fabric_page import fabric_page

        text = fabric_page(
            judged, known, [str(drain_command) for drain_command in drains], now=datetime.now()
        )
        write_output(page, text.encode())
    if format == "json":
        listed = [
            {
                "node": drain_command.node,
                "command": str(drain_command),
                "drained": None if drain_command not in results else results[drain_command] is None,
            }
            | ({"error": results[drain_command]} if results.get(drain_command) else {})
            for drain_command in drains
        ]
        from imb.render.fabric import value

        data(value(judged, status, listed))
    elif format == "junit":
        from imb.render import junit

        data(junit.document([junit.Suite("imb fabric", judged.verdict.state, junit.of_fabric(judged))]))
    else:
        _print(judged, drains, unnamable, results)
        if page:
            say(f"page: {page}")
    return status


def _print(
    judged: Judged, drains: Sequence[Drain], unnamable: Sequence[str], results: Mapping[Drain, str | None]
) -> None:
    """The verdict first."""
    from imb.render.fabric import HEADINGS, after_table, basis, sweep_headline, table_rows
    from imb.render.terminal import Screen

    style = {"healthy": "bold green", "bad": "bold red"}.get(judged.verdict.state, "bold yellow")
    Screen().line((sweep_headline(judged), style))
    say(basis(judged))
    rows, more = table_rows(judged)
    if rows:
        say("")
        Screen().table(HEADINGS, rows, right=(3, 5), fold=(2, 7))
        if more:
            say(f"and {counted(more, 'component')} more; --format json has all")
        if any(row[0].startswith("(") for row in rows):
            say("(in brackets: suspect, not confirmed, or not separated from others)")
        say("")
    say(*after_table(judged))
    for drain_command in drains:
        say(
            str(drain_command)
            if drain_command not in results
            else f"drained: {drain_command.node}"
            if results[drain_command] is None
            else str(drain_command)
        )
        if results.get(drain_command):
            say(f"imb: {drain_command.node}: {results[drain_command]}", err=True)
    for host in unnamable:
        say(f"imb: warning: no drain command for {host}: not the name of a node of Slurm", err=True)


def _expanded(hosts: str | None) -> str | None:
    """Ranges as names, which launchers need."""
    return ",".join(expanded(hosts)) if hosts else hosts


def _own_rounds(arguments: Sequence[str]) -> bool:
    """Whether IMB arguments choose the pairs: no other launch has the same load."""
    return any(
        re.sub("^--?", "", argument).lower() in ("rounds", "halves")
        for argument in arguments
        if argument.startswith("-")
    )


def _size(text: str) -> tuple[str, int]:
    """`Pair_Latency:8`. Raises ImbError."""
    name, _, length = text.partition(":")
    benchmark = next((known for known in BENCHMARKS if known.lower() == name.lower()), None)
    if benchmark is None or not length.isdecimal() or not 0 <= int(length) < 2**31:
        raise ImbError(
            f"--benchmark: not NAME:BYTES: {text}; give {', '.join(BENCHMARKS)} with a length, such as Pair_Latency:8"
        )
    return benchmark, int(length)
