"""The final output of `imb fabric`: verdict, page, and draining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.units import count_of
from imb.report.terminal import say, write_data

if TYPE_CHECKING:
    from imb.fabric.drain import Drain
    from imb.fabric.evaluation import SweepReference
    from imb.fabric.fabric_planning import SweepSettings
    from imb.fabric.fabric_text import SweepReport
    from imb.fabric.judging.topology import Topology

_WAS_OVER = "not drained: the session was over; run the command if you are sure"
EXIT = {"healthy": Status.GOOD, "bad": Status.WORSE, "inconclusive": Status.UNDECIDED}


def nothing_measured_error(unreachable: Mapping[str, str], problems: Sequence[str]) -> ImbError:
    """The error of a sweep without records. If the launcher cannot reach a host, this host does not answer,
    so the fabric is bad."""
    if unreachable:
        text = "; ".join(f"host {host} cannot be reached ({why})" for host, why in unreachable.items())
        return ImbError(f"bad: {text}; nothing was measured", status=EXIT["bad"])
    return ImbError(
        f"inconclusive: no launch has records: {'; '.join(problems) or 'nothing ran'}",
        status=EXIT["inconclusive"],
    )


def conclude(
    judged: SweepReport,
    topology: Topology | None,
    against: SweepReference,
    settings: SweepSettings,
    *,
    was_over: bool = False,
) -> int:
    """Print the verdict, write the page and drain nodes. Returns the exit status. `was_over`: nothing was
    measured now, so no node is drained."""
    from imb.fabric import evaluation
    from imb.store.outputs import write_output

    drains, unnamable = evaluation.drains_of(judged, against.network)
    results: Mapping[Drain, str | None] = {}
    if settings.drain:
        results = dict.fromkeys(drains, _WAS_OVER) if was_over else evaluation.drain_hosts(judged, drains)
    status = EXIT[judged.verdict.state]
    if settings.page:
        from imb.fabric.fabric_page import fabric_page

        text = fabric_page(
            judged, topology, [str(drain_command) for drain_command in drains], now=datetime.now()
        )
        write_output(Path(settings.page), text.encode())
    if settings.format == "json":
        listed = [
            {
                "node": drain_command.node,
                "command": str(drain_command),
                "drained": None if drain_command not in results else results[drain_command] is None,
            }
            | ({"error": results[drain_command]} if results.get(drain_command) else {})
            for drain_command in drains
        ]
        from imb.fabric.fabric_text import fabric_json

        write_data(fabric_json(judged, status, listed))
    elif settings.format == "junit":
        from imb.fabric.fabric_junit import cases_of
        from imb.report import junit

        write_data(junit.document([junit.Suite("imb fabric", judged.verdict.state, cases_of(judged))]))
    else:
        _print(judged, drains, unnamable, results)
        if settings.page:
            say(f"page: {settings.page}")
    return status


def _print(
    judged: SweepReport,
    drains: Sequence[Drain],
    unnamable: Sequence[str],
    results: Mapping[Drain, str | None],
) -> None:
    """Print the verdict, then its evidence."""
    from imb.fabric.fabric_text import HEADINGS, basis, notes_below_table, sweep_headline, table_rows
    from imb.report.terminal import Screen

    style = {"healthy": "bold green", "bad": "bold red"}.get(judged.verdict.state, "bold yellow")
    Screen().line((sweep_headline(judged), style))
    say(basis(judged))
    rows, more = table_rows(judged)
    if rows:
        say("")
        Screen().table(HEADINGS, rows, right=(3, 5), fold=(2, 7))
        if more:
            say(f"and {count_of(more, 'part')} more; --format json has all")
        if any(row[0].startswith("(") for row in rows):
            say("(in brackets: suspect, not confirmed, or not separated from others)")
        say("")
    say(*notes_below_table(judged))
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
