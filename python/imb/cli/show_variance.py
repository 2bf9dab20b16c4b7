"""Variance components on the terminal, for a label and for one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from imb.model.errors import refuse_missing_benchmarks
from imb.model.units import count_of, decimal
from imb.report.terminal import Screen, say
from imb.store.store import Archive, StoredRun

if TYPE_CHECKING:
    from imb.model.observations import Launch, Side
    from imb.model.records import Records
    from imb.store.files import FileRun


def show_side(archive: Archive, side: Side, benchmarks: Sequence[str]) -> None:
    """Print the launches of a label, and the medians of each row with the variance components, once for each
    MPI library and method (passes, classic)."""
    import msgspec

    from imb.compare.kinds import group_by_kind

    if benchmarks:
        refuse_missing_benchmarks(benchmarks, [key.benchmark for key in side.all_keys()])
        lower_names = {benchmark.lower() for benchmark in benchmarks}
        kept = [
            msgspec.structs.replace(
                launch,
                rows={key: row for key, row in launch.rows.items() if key.benchmark.lower() in lower_names},
            )
            for launch in side.launches
        ]
        side = msgspec.structs.replace(side, launches=kept)
    kinds = group_by_kind(side.launches)
    for number, (kind, launches) in enumerate(kinds.items()):
        if number:
            say("")
        name = f"{side.name}, {kind}" if kind and len(kinds) > 1 else side.name
        _show_kind(archive, msgspec.structs.replace(side, launches=launches), name)


def _show_kind(archive: Archive, side: Side, name: str) -> None:
    from imb.compare.kinds import library_of
    from imb.experiments.peers import variance_of
    from imb.model.mpis import library_name
    from imb.report.variance_tables import block, legend, meanings, tables

    screen = Screen()
    library = next(filter(None, (library_of(launch.run) for launch in side.launches)), None)
    head = f"{name}: {count_of(len(side.launches), 'launch')}"
    screen.line(f"{head}, {library_name(library)}" if library and library not in name else head)
    components = variance_of(archive, side)
    curves = tables(components)
    if curves:
        screen.line(legend(curves))
    for title, headings, lines in curves:
        screen.line()
        screen.table(headings, lines, title=title, right=range(len(headings)))
    say("", *block(components), *meanings(curves))
    say("", "launches", *(f"  {_launch(launch)}" for launch in side.launches))


def _launch(launch: Launch) -> str:
    """One line on a launch: date, method, and probe time in its fastest state."""
    from imb.compare.dominant_state import references_of

    probes = " and ".join(decimal(seconds * 1e6) for seconds in references_of(launch).values())
    words = [
        launch.name,
        launch.run.date,
        count_of(len(launch.rows), "row"),
        launch.passes(),
        f"probes of the fastest state {probes} µs" if probes else None,
        launch.end.state if launch.end and launch.end.state != "complete" else None,
    ]
    return ", ".join(filter(None, words))


def state_sentences(archive: Archive, run: StoredRun | FileRun, records: Records) -> list[str]:
    """Sentences on launches of a run that were outside the dominant state of their machine."""
    from imb.compare.dominant_state import launches_outside_dominant_state, sentences_of
    from imb.experiments.peers import comparable_launches
    from imb.model.observations import launches_of

    launches = list(launches_of(records, run.name, run.facts()))
    return sentences_of(launches_outside_dominant_state(launches, comparable_launches(archive, launches)))
