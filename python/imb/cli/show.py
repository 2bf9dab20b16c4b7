"""imb show"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from imb.cli.common import ArchiveOption, BenchmarkOption, readable_sources
from imb.cli.extras import is_installed, require
from imb.cli.option_groups import OUTPUT
from imb.cli.show_variance import show_side, state_sentences
from imb.model.errors import ImbError, refuse_missing_benchmarks
from imb.model.facts import fact
from imb.model.notes import note_unread
from imb.model.options import pass_limits
from imb.model.records import End, Failure, Records, Result, Run, Sample
from imb.model.units import count_of
from imb.report.terminal import say, write_data
from imb.store.labels import Tags
from imb.store.store import Archive, StoredRun

if TYPE_CHECKING:
    from imb.store.files import FileRun


LAST = 20  # number of last output lines that are shown of a failed launch


def command(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="First digits of a run's name (4 or more), a label, a file of a log or records, one launch in it (FILE#2), or 'sql:SELECT run ...'.",
            show_default=False,
        ),
    ],
    benchmark: BenchmarkOption = None,
    chart: Annotated[
        bool | None,
        typer.Option(
            "--chart/--no-chart", help="Draw charts.", show_default="on a terminal", rich_help_panel=OUTPUT
        ),
    ] = None,
    output: Annotated[
        bool,
        typer.Option(
            "--output", "-o", help="Print the standard output of the run, unchanged.", rich_help_panel=OUTPUT
        ),
    ] = False,
    archive: ArchiveOption = None,
) -> None:
    """Show a run, or the medians over the runs of a label.

    For one run, print its conditions, tables and charts. A file is read, not stored.

    Times are microseconds per repetition. t_min, t_max and t_avg are the minimum, maximum and mean over ranks of each
    rank's mean time. 1 MB is 10^6 bytes. For a launch in passes, ± is half the width of the 95 % confidence interval in percent of
    the median; "system events" lists context switches, page faults and traffic during all samples of a table.

    For a label of several runs, print medians over the launches, ± as half the width of the 95 % interval of the mean over launches, and the
    spread of each row as standard deviations: within a launch (error of its median) and between launches (what remains).
    A line below names the larger part. Columns that are zero in all rows are omitted. Launches of different MPI libraries have
    tables of their own, and so have launches in passes and classic ones.

    \b
    Examples:
      imb show 3fa9
      imb show baseline --benchmark PingPong --chart
      imb show 3fa9 --output > the.log
      imb show results/monday.log
    """
    from imb.store import names

    if output and (benchmark or chart is not None):
        raise ImbError(
            "--output prints the whole output unchanged; omit --benchmark, --chart and --no-chart, or --output"
        )
    if chart:
        require("imb show --chart", "plotext")
    store = Archive(archive)
    runs = readable_sources(store, [run])
    if len(runs) > 1:
        if output or chart:
            if any(isinstance(each, StoredRun) for each in runs):
                raise names.ambiguous_error(run, [each.name for each in runs])
            raise ImbError(
                f"{run} has {len(runs)} runs; --output and --chart take one: `imb import` it first"
            )
        _show_together(store, run, runs, benchmark or [])
        return
    source = runs[0]
    if output:
        write_data(source.part("output.txt") or b"")
        return
    records = source.records()
    say(*_facts(source, records, store.tags().get(source.id) or Tags()))
    for line in state_sentences(store, source, records):
        say(f"! {line}")
    note_unread(records.problems, lost=not source.is_stored)
    lower_names = {name.lower() for name in benchmark or []}
    present = dict.fromkeys(
        record.benchmark for record in records.records if isinstance(record, Result | Failure)
    )
    if present:
        refuse_missing_benchmarks(benchmark or [], present)
    draw = sys.stdout.isatty() and is_installed("plotext") if chart is None else chart
    from imb.report.run_tables import print_tables

    print_tables(records, lower_names, chart=draw)
    if _lacks_result(source, records):
        _print_last_lines(source)


def _show_together(
    archive: Archive, name: str, runs: Sequence[StoredRun | FileRun], benchmarks: list[str]
) -> None:
    """Show the runs of a label, query or file together. If no run has a result, show the facts of each."""
    from imb.store.names import NoResult, side_from

    try:
        side = side_from(runs, name)
        show_side(archive, side, benchmarks)
        if side.copies:
            have = "has" if side.copies == 1 else "have"
            say(f"! {count_of(side.copies, 'run')} {have} the same content as others: each is counted once")
    except NoResult:
        say(f"{name}: {count_of(len(runs), 'run')} without a result")
        tags = archive.tags()
        for run in runs:
            say("", *_facts(run, run.records(), tags.get(run.id) or Tags()))


def _facts(source: StoredRun | FileRun, records: Records, tags: Tags) -> list[str]:
    from imb.store.names import reason_of

    run: Run = next(records.of(Run), Run())
    end: End | None = next(records.of(End), None)
    facts = source.facts()
    command = facts.get("command") or run.command_line or []
    other_cpus = fact(float, facts, "load", "other_cpus")
    fields = {
        **_place(source),
        "program": " ".join(filter(None, [run.program, run.version, run.component])),
        "measured": run.date,
        "command": " ".join(map(str, command)),
        "mpi": run.mpi.known_as if run.mpi else None,
        "nodes": ", ".join(run.hosts()),
        **_gpus(run),
        "path": _path(run, records, source),
        "conditions": _conditions(facts),
        "other load": None if other_cpus is None else f"{other_cpus:.2f} CPUs",
        "exit status": facts.get("exit_status"),
        "outcome": facts.get("problem") or facts.get("outcome"),
        "reason": reason_of(source) if _lacks_result(source, records) else None,
        "remark": facts.get("note"),
        "state": end.state + (f" ({end.reason})" if end.reason else "")
        if end
        else "ended without closing its records"
        if facts.get("kind") == "launch"
        else "unknown: the log has no end",
        "passes": _passes(run, end),
        "labels": ", ".join(tags.labels),
        "notes": "; ".join(tags.notes),
        "problems": len(records.problems) or None,
    }
    return [f"{name:<12} {value}" for name, value in fields.items() if value not in (None, "")]


def _lacks_result(source: StoredRun | FileRun, records: Records) -> bool:
    """Whether the launch failed, timed out or has no row."""
    if source.facts().get("outcome") in ("failed", "timed_out"):
        return True
    return next(records.of(Result), None) is None


def _print_last_lines(source: StoredRun | FileRun) -> None:
    """Print the last lines of standard error and of standard output of the launch."""
    for title, name in (("stderr", "stderr.txt"), ("output", "output.txt")):
        lines = (source.part(name) or b"").decode(errors="replace").splitlines()
        if lines:
            last = lines[-LAST:]
            say("", f"{title}, last {len(last)} of {count_of(len(lines), 'line')}:", *last)


def _place(source: StoredRun | FileRun) -> dict[str, str | None]:
    """Where the run is stored, or its file."""
    if isinstance(source, StoredRun):
        added = f"{source.manifest.added} on {source.manifest.host}"
        return {"run": source.name, "added": added, "from": source.manifest.origin}
    if source.is_stored:
        return {"run": f"{source.name}, one of its launches"}
    return {"file": f"{source.name} (read, not stored)"}


def _passes(run: Run, end: End | None) -> str | None:
    """`40 in 5.3 s: until each row is within ±1 % or 5 s have passed`."""
    limits = pass_limits(run)
    done = f"{end.passes} in {end.seconds or 0:.1f} s" if end and end.passes else ""
    return ": ".join(filter(None, [done, str(limits) if limits else ""])) or None


def _gpus(run: Run) -> dict[str, str | None]:
    """Memory of messages if it is not host memory, GPUs with their ranks, and the GPU support that the MPI
    reports."""
    from imb.model.gpus import memory_of

    memory = memory_of(run)
    gpus = [
        f"{gpu.name or 'GPU'} {gpu.index} on {gpu.host}"
        f"{f' at {gpu.bus_address}' if gpu.bus_address else ''}, ranks {', '.join(map(str, gpu.ranks))}"
        for gpu in run.gpus or []
    ]
    return {
        "memory": None if memory == "host" else memory,
        "GPUs": "; ".join(gpus),
        "GPU support": str(run.gpu_support) if run.gpu_support else None,
    }


def _path(run: Run, records: Records, source: StoredRun | FileRun) -> str | None:
    """`within a host: shared memory (the MPI itself: on-host sm; OMPI_MCA_btl=self,sm)`: the path according
    to the bytes that interfaces counted, the transport that the MPI reports, and its settings. None if the
    path is unknown."""
    from imb.model import path
    from imb.model.conditions import transport_settings

    set_by_user = transport_settings(run, source.facts())
    settings = ", ".join(f"{name}={value}" for name, value in set_by_user.items())
    details = "; ".join(filter(None, [path.transports_reported(source.facts()), settings]))
    mean = path.mean_repetitions(source.records(samples=True).of(Sample))
    summary = path.paths_summary(path.message_paths(run, path.set_repetitions(records.of(Result), mean)))
    return f"{summary}{f' ({details})' if details else ''}" if summary else None


def _conditions(facts: Mapping[str, Any]) -> str | None:
    """A summary of the recorded conditions, or None; `imb query` shows all."""
    from imb.model.conditions import Conditions

    conditions = fact(Conditions, facts, "conditions")
    if conditions is None:
        return None
    machine = conditions.machine
    parts = [
        machine.cpu_model,
        count_of(machine.cores, "core") if machine.cores else None,
        machine.kernel,
        f"load {conditions.load:.2f}" if conditions.load is not None else None,
        f"governor {', '.join(conditions.governors)}" if conditions.governors else None,
        machine.virtual_machine,
        machine.container,
        conditions.mpi,
    ]
    return ", ".join(filter(None, parts))
