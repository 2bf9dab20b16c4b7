"""imb baseline"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.archive.store import Archive
from imb.cli.common import ArchiveOption, columns_of_text, share_of
from imb.cli.judging import show as show_comparison
from imb.cli.judging import worst
from imb.cli.launching import MpiOption, ProgramsOption, all_measured, built, launch_all
from imb.model.errors import ImbError
from imb.model.units import counted

if TYPE_CHECKING:
    from imb.model.baselines import Baseline
    from imb.model.observations import Side

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Keeps results that later ones are held against: set, list, show, check.

    Baselines have a name, and are kept apart by machine (CPU model, cores, sockets, threads per core, number of
    nodes; of logs that do not say it, the hosts) and by placement: intra-node and inter-node are two things. They
    never change: another one of the same name is its next version, NAME@2. They lie in the archive and need the
    runs they were made of no more.

    \b
    Examples:
      imb run PingPong Allreduce --launches 10 --label new-fabric
      imb baseline set fabric new-fabric --tolerance time=5%
      imb baseline check fabric                  # measures the same again, and judges
      imb baseline check fabric after-update     # judges what is there
    """,
)
Named = Annotated[str, typer.Argument(metavar="NAME", help="Of the baseline; NAME@2: version 2.")]
ToleranceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        "-t",
        metavar="METRIC=PERCENT",
        help="The smallest change that matters, of this metric (of imb compare); may be repeated.",
    ),
]
Told = Annotated[Literal["terminal", "json"], typer.Option("--format", "-f", help="How to tell it.")]


def _tolerances(words: list[str] | None) -> dict[str, float]:
    parts = [word.partition("=") for word in words or []]
    return {
        metric if equals else "time": share_of(text if equals else metric, "--tolerance")
        for metric, equals, text in parts
    }


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the baseline: one word.")],
    side: Annotated[str, typer.Argument(metavar="SIDE", help="The results: as for imb compare.")],
    tolerance: ToleranceOption = None,
    note: Annotated[
        str | None, typer.Option("--note", "-n", metavar="TEXT", help="To be kept with it.")
    ] = None,
    archive: ArchiveOption = None,
) -> None:
    """Makes results a baseline: of one machine, and either intra-node or inter-node.

    SIDE is a label, a run's name, a file, a folder or a query. Take three sessions (days, boots, allocations) or more, of
    five launches or more each, under one label: how far sessions differ is known from sessions only. Without --tolerance a change of 5% of the time matters.

    \b
    Examples:
      imb baseline set fabric new-fabric
      imb baseline set fabric new-fabric --tolerance time=10% --tolerance bandwidth=3% --note "after the new switch"
    """
    from imb.archive import baselines
    from imb.archive.names import load

    store = Archive(archive)
    made = baselines.make(name, load(store, side), _tolerances(tolerance) or {"time": 0.05}, note=note)
    typer.echo(_line(baselines.add(store, made)))
    if lack := _lack(made):
        typer.echo(f"imb: {made.name} has {lack}", err=True)


def _lack(made: Baseline) -> str | None:
    """What a baseline has and should have more of; None: it has enough."""
    from imb.judge.pairing import session_of
    from imb.judge.stats import FEWEST

    sessions = [session_of(launch) for launch in made.side().launches]
    many = len(set(sessions) - {None})
    has = counted(len(sessions), "launch")
    wanted = f"take {FEWEST} sessions (days, boots, allocations) of five launches or more"
    if None in sessions:
        return f"{has} of unknown session (not launched by imb); {wanted}"
    if many < FEWEST:
        return f"{has} of {counted(many, 'session')}; {wanted}"
    return None


@app.command("list")
def list_(archive: ArchiveOption = None) -> None:
    """Lists all baselines, a version a line."""
    from imb.archive import baselines

    found, bad = [], []
    for path in baselines.files(Archive(archive)):
        try:
            found.append(baselines.load(path))
        except ImbError as error:
            bad.append(str(error))
    rows = [
        (str(b), b.created[:10], b.placement or "unknown", str(len(b.launches)), _limits(b.tolerances), str(b.machine), b.note or "")
        for b in found
    ]  # fmt: skip
    if rows:
        headings = ("BASELINE", "DATE", "PLACEMENT", "LAUNCHES", "TOLERANCES", "MACHINE", "NOTE")
        typer.echo(columns_of_text(headings, rows))
    for line in bad:
        typer.echo(f"imb: {line}", err=True)
    if bad:
        raise typer.Exit(2)


@app.command("show")
def show(name: Named, format: Told = "terminal", archive: ArchiveOption = None) -> None:
    """Shows the versions of a baseline: of what they are, and what was launched."""
    import msgspec

    from imb.archive import baselines

    found = baselines.named(Archive(archive), name)
    if format == "json":
        typer.echo(msgspec.json.format(msgspec.json.encode(found)))
        return
    for one in found:
        typer.echo(_line(one))
        typer.echo(
            f"    set {one.created} by {one.by} from {one.origin}" + (f": {one.note}" if one.note else "")
        )
        typer.echo(
            f"    hosts {', '.join(one.machine.hosts) or 'unknown'}; runs {', '.join(k.name for k in one.launches)}"
        )
        said = (" ".join(kept.facts.get("command") or ()) for kept in one.launches)
        for words in dict.fromkeys(text.partition(" -json ")[0] for text in said):
            if words:
                typer.echo(f"    $ {words}")


@app.command("check")
def check(
    name: Named,
    side: Annotated[
        str | None, typer.Argument(metavar="[SIDE]", help="Results to judge; without, they are measured now.")
    ] = None,
    tolerance: ToleranceOption = None,
    placement: Annotated[
        Literal["intra-node", "inter-node"] | None,
        typer.Option("--placement", help="Which to measure, where NAME has both."),
    ] = None,
    launches: Annotated[
        int | None,
        typer.Option("--launches", min=1, metavar="N", help="To measure.", show_default="the baseline's"),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, metavar="SECONDS", help="End a launch that takes longer."),
    ] = None,
    with_old: Annotated[
        bool,
        typer.Option(
            "--with-old",
            help="Measure the baseline's MPI and programs again, interleaved with those of --mpi or --programs.",
        ),
    ] = False,
    assume_one_session: Annotated[
        bool, typer.Option("--assume-one-session", help="As of imb compare.")
    ] = False,
    mpi: MpiOption = None,
    programs: ProgramsOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Judge also by a baseline of another machine or placement.")
    ] = False,
    rows: Annotated[bool, typer.Option("--rows", help="All rows, not only those that changed.")] = False,
    format: Told = "terminal",
    archive: ArchiveOption = None,
) -> None:
    """Judges results by a baseline, or measures the same again and judges that.

    Of the versions of NAME the newest counts that is of the same machine and placement. Without SIDE the baseline's
    launches are repeated, with its MPI and programs unless --mpi or --programs (after an update, say) name others;
    the runs are labelled baseline-check/NAME. Each metric that has a tolerance is compared.

    A baseline and results of different sessions are judged by session: take three sessions of each. With --with-old the
    MPI and programs of the baseline are measured again, in turns with the new ones, and these launches are judged: ten of
    each (--launches) find small changes in one session.

    Exit status: as of imb compare (0 same or faster, 10 slower, 11 inconclusive, 12 differs), the worst of the metrics;
    1 a launch failed while nothing was found to be slower; 2 a mistake, or no baseline of this machine and
    placement; 130 interrupted.

    \b
    Examples:
      imb baseline check fabric
      imb baseline check fabric --with-old --mpi /opt/openmpi-next --format json
      imb baseline check fabric@1 after-update --tolerance time=10%
    """
    from imb.archive import baselines, names
    from imb.cli.peers import earlier
    from imb.judge import baseline
    from imb.judge.compare import EXIT
    from imb.model.baselines import machine_of, placement_of

    store = Archive(archive)
    found = baselines.named(store, name)
    well, old = True, None
    if side is not None and with_old:
        raise ImbError(f"--with-old measures now; it does not go with results that are there ({side})")
    if side is not None:
        results = names.load(store, side)
    else:
        here = _of_here(found, placement, force)
        results, old, well = _measure(store, here, mpi, programs, launches, timeout, with_old=with_old)
    chosen = found[-1] if force else baseline.choose(found, machine_of(results), placement_of(results))
    launched = [*(old.launches if old else ()), *results.launches]
    judged = baseline.check(
        chosen,
        results,
        _tolerances(tolerance),
        old=old,
        earlier=earlier(store, launched),
        force=force,
        assume_one_session=assume_one_session,
    )
    verdict = worst(judged.comparisons)
    if format == "json":
        import msgspec

        told = {"verdict": verdict, **msgspec.to_builtins(judged)}
        typer.echo(msgspec.json.format(msgspec.json.encode(told)))
    else:
        for warning in judged.warnings:
            typer.echo(f"! {warning}")
        for one in judged.comparisons:
            show_comparison(one, all_rows=rows)
    raise typer.Exit(EXIT[verdict] if well or verdict == "slower" else 1)


def _of_here(found: list[Baseline], placement: str | None, force: bool) -> Baseline:
    """The baseline to measure again on this machine."""
    from imb.measure import recheck

    here = [
        one
        for one in found
        if placement in (None, one.placement)
        and (force or one.machine.same(recheck.this_machine(one.machine.nodes or 1)) is not False)
    ]
    if not here:
        have = "; ".join(
            dict.fromkeys(f"{one.placement or 'unknown placement'} on {one.machine}" for one in found)
        )
        raise ImbError(
            f"baseline {found[-1].name} has nothing for {placement or 'launches'} on this machine, only: {have}"
        )
    if len({one.placement for one in here}) > 1:
        raise ImbError(
            f"baseline {found[-1].name} has intra-node and inter-node results; choose with --placement"
        )
    return here[-1]


def _measure(
    store: Archive,
    chosen: Baseline,
    mpi: str | None,
    programs: Path | None,
    launches: int | None,
    timeout: float | None,
    *,
    with_old: bool,
) -> tuple[Side, Side | None, bool]:
    """Results; with_old: those of the baseline's MPI and programs; whether all was measured."""
    from imb.archive import names
    from imb.measure import recheck, session
    from imb.mpi import installations

    recheck.refuse_if_imported(chosen)
    wrapper = (chosen.launches[0].facts.get("conditions") or {}).get("mpi_wrapper")
    found = installations.find(mpi or wrapper)
    if programs is None and found.wrapper != wrapper:
        programs = built(found, None)
    if with_old:
        seed = secrets.randbelow(2**31)
        before = installations.find(wrapper)
        made = recheck.plan_with_old(chosen, before, found, programs, launches, timeout, seed=seed)
    else:
        made = recheck.plan(chosen, found, programs, launches, timeout)
    session.save(store, made)
    carried = launch_all(store, made, results_to_stderr=True)
    well = all_measured(made, carried)

    def side(variant: str | None, name: str) -> Side:
        runs = [
            one.run
            for one in carried.over
            if variant in (None, made.variants[made.items[one.number - 1].variant].name)
        ]
        return names.side_of(store, runs, f"{name} in session {made.id}")

    if not with_old:
        return side(None, "measured"), None, well
    return side("new", "new, measured"), side("old", f"old ({chosen}), measured"), well


def _limits(tolerances: dict[str, float]) -> str:
    return ", ".join(f"{metric}={share * 100:.3g}%" for metric, share in tolerances.items())


def _line(one: Baseline) -> str:
    return (
        f"{one}: {counted(len(one.launches), 'launch')}, {one.placement or 'unknown placement'}, {one.machine};"
        f" {_limits(one.tolerances)}"
    )
