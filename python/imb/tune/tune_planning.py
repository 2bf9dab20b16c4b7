"""The launches of `imb tune`: one session that grows stage by stage, and the contents of its records.

Each launch measures one collective on one number of ranks; launches of the proof measure all collectives. The
folder of the session has the other files of a stage: rule files, variants of -alternate, reports of ranks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.observations import completion_time_of
from imb.model.outcomes import WRONG_DATA, incomplete_reason
from imb.model.records import Failure, Result
from imb.model.suite_arguments import (
    LENGTHS,
    NAME_LISTS,
    NOT_IN_PASSES,
    NOTHING_MEASURED,
    PASSES,
    option_name,
)
from imb.mpi.installations import Installation
from imb.runner import passes
from imb.runner.session import FinishedLaunch, Item, Plan, examine, growing_plan
from imb.store.store import Archive
from imb.tune.cells import DEFAULT, Algorithm, Cell, Switch
from imb.tune.search import FIRST, LOOKS, MOST
from imb.tune.tuner import Tuner

CONTROL = "Sendrecv"  # part of every launch that is compared with others; no tuning file changes it
SEGMENTS = 50  # segments of interleaved launches
SECONDS_PER_ROW = 0.05  # seconds that a launch measures for each row and variant
LEAST = 2.0  # least seconds that a launch measures
CHECKED = ["-check", "-iter", "3", "-iter_policy", "off", "-time", "5"]
SCREENED = 20.0  # least time limit of a candidate, in seconds, and as a multiple of the time of the library's default
_OURS = (
    "alternate",
    "npmin",
    "check",
    *PASSES,
    *NAME_LISTS,
    "iter",
    "iter_policy",
)
_UNSUITED = (*NOTHING_MEASURED, *NOT_IN_PASSES, "multi", "map", "input")


class TuneSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The request, as the plan keeps it. `mpi`: the user's choice, or None for the usual MPI; `hosts`: number
    of hosts; `segments`: segments of interleaved launches, 1 if launches run one after the other; `output`:
    folder of the files; `page`: file of the page; `verify`: folder whose files are confirmed instead of a
    search. `margin`: smallest relevant gain, a share. `budget`: seconds of all launches; `raised`: for each
    increase of the budget, the number of launches planned before it, and the new budget."""

    name: str
    collectives: list[str]
    ranks: list[int]
    arguments: list[str] = []
    margin: float
    budget: float
    raised: list[tuple[int, float]] = []
    mpi: str | None = None
    hosts: int = 1
    segments: int = SEGMENTS
    output: str = ""
    verify: str | None = None
    page: str | None = None
    seed: int = 1
    rows: bool = False
    format: str = "terminal"


class Group(NamedTuple):
    """What a launch of a search measures: one collective on one number of ranks."""

    collective: str
    ranks: int


class PlannedLaunch(NamedTuple):
    """A launch to be planned. `switch`: settings that it needs; `at_once`: launches with the same number are
    interleaved, or None to run alone."""

    name: str
    ranks: int
    arguments: list[str]
    switch: Switch
    timeout: float | None
    turn: int = 1
    at_once: int | None = None


class Row(NamedTuple):
    """A row of a launch. `variant`: variant of -alternate, "" if the launch has none."""

    benchmark: str
    variant: str
    bytes: int


class LaunchFigures(NamedTuple):
    """The results of a launch. `seconds`: by row; `why`: why it is incomplete, or empty if it is complete;
    `output`, `errors`: what it printed; `probe`: seconds of its state probe, NaN without one; `wall`:
    duration in seconds."""

    run: str
    name: str  # name of its variant
    seconds: Mapping[Row, float]
    defects: frozenset[tuple[str, int]]
    why: str
    output: str
    errors: str
    probe: float
    wall: float
    hung: bool
    short: bool  # whether some rows have no sample

    @property
    def problem(self) -> str:
        """Why the launch cannot be used, or empty."""
        return WRONG_DATA if self.defects else self.why

    def control(self) -> float:
        """Mean logarithm of seconds over the rows that no tuning file changes; NaN if there are none."""
        logs = [math.log(time) for row, time in self.seconds.items() if row.benchmark == CONTROL and time > 0]
        return sum(logs) / len(logs) if logs else math.nan


class Forecast(NamedTuple):
    """What a session launches, and approximately how long it takes. `groups`: number of groups, each with a
    reference launch and a launch of each round; `candidates`: number of algorithms to screen. In seconds:
    `screening` of all candidates, a `round` of the search (0 without one), a `pair` of launches of the proof for
    each number of ranks, and the shortest (`least`) and longest (`most`) session."""

    groups: int
    candidates: int
    screening: float
    round: float
    pair: float
    least: float
    most: float


def refuse_reserved_arguments(arguments: Sequence[str]) -> None:
    """Raises ImbError for IMB arguments that `imb tune` sets itself, or that it cannot use."""
    for word in arguments:
        name = option_name(word)
        if name in _OURS:
            raise ImbError(f"{word} is set by imb tune; omit it")
        if name in _UNSUITED:
            raise ImbError(f"{word} cannot be combined with imb tune; omit it")


def forecast(settings: TuneSettings, tuner: Tuner) -> Forecast:
    """The launches that this request needs, and their duration."""
    if settings.verify:
        cells = tuner.read(Path(settings.verify))[1]
        groups = {Group(cell.collective, cell.ranks) for cell in cells}
        lengths = max(1, -(-len(cells) // len(groups)))
        algorithms = dict.fromkeys(groups, 1)
    else:
        groups = {Group(collective, ranks) for ranks in settings.ranks for collective in settings.collectives}
        lengths = passes.rows_of("MPI1", settings.collectives[:1], ["-npmin", "2", *settings.arguments], 2)
        algorithms = {group: len(tuner.algorithms(group.collective)) for group in groups}
    check = passes.START + SECONDS_PER_ROW * lengths
    searched = () if settings.verify else algorithms.values()
    round_seconds = sum(passes.START + _measured_seconds(lengths * (count + 1)) for count in searched)
    collectives = Counter(group.ranks for group in groups)
    pair_seconds = sum(
        2 * passes.START + _measured_seconds(lengths * (count + 1) * 2) for count in collectives.values()
    )
    candidates = sum(algorithms.values())
    fixed = check * (2 * len(groups) + candidates)
    return Forecast(
        groups=len(groups),
        candidates=candidates,
        screening=check * candidates,
        round=round_seconds,
        pair=pair_seconds,
        least=fixed + FIRST * round_seconds + LOOKS[0] * pair_seconds,
        most=fixed + MOST * round_seconds + 2 * LOOKS[-1] * pair_seconds,
    )


def _measured_seconds(rows: int) -> float:
    """Seconds that a launch measures if it has this many rows, over all variants and interleaved launches."""
    return max(LEAST, SECONDS_PER_ROW * rows)


def new_plan(
    settings: TuneSettings, mpi: Installation, programs: Path, intent: Intent, timeout: float | None
) -> Plan:
    """A session that has no launches yet."""
    plan = growing_plan("tune", settings, mpi, programs, intent, timeout)
    return msgspec.structs.replace(plan, seed=settings.seed, parts=settings.segments)


def grow_plan(plan: Plan, settings: TuneSettings, launches: Iterable[PlannedLaunch]) -> Plan:
    """The plan with these launches after its own. Raises ImbError if a launcher does not support one."""
    base = plan.variants[0]
    variants, items = list(plan.variants), list(plan.items)
    known: dict[tuple[object, ...], int] = {}
    for launch in launches:
        key = launch.name, *sorted(launch.switch.environment.items()), *launch.switch.arguments
        if key not in known:
            known[key] = len(variants)
            intent = msgspec.structs.replace(
                base.intent,
                env={**base.intent.env, **launch.switch.environment},
                extra=(*base.intent.extra, *launch.switch.arguments),
            )
            variants.append(msgspec.structs.replace(base, name=launch.name, intent=intent))
        items.append(
            Item(
                number=len(items) + 1,
                component="MPI1",
                arguments=launch.arguments,
                turn=launch.turn,
                variant=known[key],
                ranks=launch.ranks,
                labels=[f"{settings.name}/{launch.name}"],
                cell=launch.at_once or 0,
                timeout=launch.timeout,
                alone=launch.at_once is None,
            )
        )
    extended = msgspec.structs.replace(plan, variants=variants, items=items)
    examine(extended)
    return extended


def checking_arguments(group: Group, settings: TuneSettings, lengths: Sequence[int] = ()) -> list[str]:
    """IMB arguments of a launch that verifies data, at these message sizes, or at the requested ones if
    `lengths` is empty."""
    if lengths:
        return [*_measuring_arguments([group.collective], group.ranks, lengths, settings), *CHECKED]
    return [group.collective, "-npmin", str(group.ranks), *CHECKED, *settings.arguments]


def alternating_arguments(
    group: Group, lengths: Sequence[int], variants: Path, count: int, settings: TuneSettings, longer: float
) -> list[str]:
    """IMB arguments of a launch in which `count` variants alternate. `longer`: factor on the usual duration."""
    seconds = longer * _measured_seconds(len(lengths) * count)
    words = [
        *_measuring_arguments([group.collective], group.ranks, lengths, settings),
        "-alternate",
        str(variants),
    ]
    return [*words, "-precision", "1", "-budget", f"{seconds:.6g}"]


def interleaved_arguments(
    collectives: Sequence[str],
    ranks: int,
    lengths: Sequence[int],
    settings: TuneSettings,
    at_once: int,
    longer: float,
) -> tuple[list[str], float]:
    """IMB arguments of a launch that is compared with others running at the same time, and the seconds that
    it measures."""
    names = [*collectives, CONTROL]
    seconds = longer * _measured_seconds(len(lengths) * len(names) * at_once)
    words = _measuring_arguments(names, ranks, lengths, settings)
    more = passes.sampling_arguments(
        passes.Sampling(budget=seconds), "MPI1", names, words, ranks, parts=settings.segments
    )
    return [*words, *more], seconds


def time_limit(arguments: Sequence[str], ranks: int, at_once: int = 1) -> float | None:
    """Seconds after which such a launch counts as hung, or None."""
    return passes.time_limit("MPI1", arguments, ranks, at_once)


def _measuring_arguments(
    names: Sequence[str], ranks: int, lengths: Sequence[int], settings: TuneSettings
) -> list[str]:
    sizes = ["-msgsize", ",".join(map(str, lengths))] if any(lengths) else []
    return [*names, "-npmin", str(ranks), *sizes, *drop_length_options(settings.arguments)]


def drop_length_options(arguments: Sequence[str]) -> list[str]:
    """IMB arguments without those that choose message sizes."""
    kept: list[str] = []
    drop = False
    for word in arguments:
        if option_name(word) in LENGTHS:
            drop = True
        elif drop:
            drop = False
        else:
            kept.append(word)
    return kept


def label_of(algorithm: Algorithm) -> str:
    """The algorithm as one word, for -alternate and for file names."""
    parts = [algorithm.name.replace(" ", "_")]
    parts += [f"s{algorithm.segment}"] if algorithm.segment else []
    parts += [f"f{algorithm.fanout}"] if algorithm.fanout else []
    return "+".join(parts)


def variants_text(variants: Mapping[Algorithm, Mapping[str, str]]) -> str:
    """The text of a file for -alternate."""
    lines = []
    for algorithm, variables in variants.items():
        assert (algorithm == DEFAULT) == (not variables)
        lines.append(
            " ".join([label_of(algorithm), *(f"{name}={value}" for name, value in variables.items())])
        )
    return "\n".join(lines) + "\n"


def figures_of(archive: Archive, plan: Plan, ended: FinishedLaunch) -> LaunchFigures:
    """The figures of a completed launch."""
    stored = archive.run(ended.run)
    seconds: dict[Row, float] = {}
    defects: set[tuple[str, int]] = set()
    probe = math.nan
    records = stored.records()
    for row in records.of(Result):
        variant = row.variant or ""
        time = completion_time_of(row)
        if time is not None and time > 0:
            seconds.setdefault(Row(row.benchmark, variant, row.bytes or 0), time)
        if row.defects:
            defects.add((row.benchmark, row.bytes or 0))
        if math.isnan(probe) and row.passes and row.passes.states:
            probe = row.passes.states[0].probe_seconds
    output, errors = (
        (stored.part(file) or b"").decode(errors="replace") for file in ("output.txt", "stderr.txt")
    )
    return LaunchFigures(
        ended.run,
        plan.variants[plan.items[ended.number - 1].variant].name,
        seconds,
        frozenset(defects),
        incomplete_reason(
            ended.outcome, ended.status, ended.problem, plan.items[ended.number - 1].timeout or plan.timeout
        ),
        output,
        errors,
        probe,
        ended.counted_seconds,
        ended.outcome == "timed_out",
        next(records.of(Failure), None) is not None,
    )


def cells_of(group: Group, figures: LaunchFigures) -> list[Cell]:
    """The cells of a launch. A cell of 0 bytes is left out if there are others."""
    lengths = sorted({row.bytes for row in figures.seconds if row.benchmark == group.collective})
    positive = [length for length in lengths if length]
    return [Cell(group.collective, group.ranks, length) for length in positive or lengths]
