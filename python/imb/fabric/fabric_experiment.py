"""What `imb fabric` launches next.

It starts with a whole sweep or, with --quick, a few rounds; then it measures other rounds or further passes
if they can decide, and launches that confirm suspects. All decisions follow from the plan, the records of its
launches, and the remaining time. A resumed session repeats the decisions for the launches of its plan, and
continues after them. Launches are planned one at a time, because the limits of each depend on the time.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from imb.experiments.launch_lines import problem_of
from imb.fabric import fabric_planning
from imb.fabric.fabric_planning import SweepSettings
from imb.fabric.judging.effort import DOUBLED, FIRST, FURTHER, QUICK_FIRST
from imb.fabric.judging.verdict import BenchmarkSize
from imb.model.errors import ImbError
from imb.model.statuses import SuiteStatus
from imb.model.suite_arguments import LENGTHS, NAME_LISTS, NOTHING_MEASURED, option_name
from imb.model.units import count_of, list_first, size
from imb.report.terminal import say
from imb.runner import session
from imb.runner.experiment import ArchivedExperiment, Next, Say, SessionEnd, Shows
from imb.store.names import unreachable_of
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.fabric.evaluation import SweepReference
    from imb.fabric.fabric_text import SweepReport
    from imb.fabric.judging.stages import SweepStage
    from imb.fabric.judging.topology import Topology
    from imb.fabric.judging.verdict import SweepVerdict
    from imb.fabric.pair_records import PairLaunch
    from imb.runner.session import FinishedLaunch, Item, Plan

_LEAST = 2.0  # least seconds of a launch
FIRST_ALONE = 4  # passes of a sweep with a single stage
_ROUND = 0.1  # approximate seconds of a round
Sources = list[tuple[str, Path]]


class FabricExperiment(ArchivedExperiment[SweepSettings, "tuple[SweepReport, Topology | None]"]):
    """Sessions of `imb fabric`: stages of launches. `sources`: runs with records; `notes`: problems of
    launches, and what was left out; `unreachable`: hosts that the launcher could not reach, and why."""

    Settings = SweepSettings
    shows = Shows(measured=False, failures=False)

    def __init__(self, archive: Archive, plan: Plan) -> None:
        """Raises ImbError, also if a file that the sweep is judged by cannot be read."""
        super().__init__(archive, plan)
        self._plan = plan
        self._was_over = session.is_over(archive, plan)
        self.against = sweep_reference(archive, self.settings, [])
        self.sources: Sources = []
        self.notes: list[str] = []
        self._failed: dict[str, list[str]] = {}  # incomplete launches, by reason
        self.unreachable: dict[str, str] = {}
        self._over: Mapping[int, FinishedLaunch] = session.finished_launches(archive, plan)
        self._began = time.monotonic() - sum(ended.counted_seconds for ended in self._over.values())
        self._launches_read = 0  # number of the last launch of the plan that was read
        self._recorded: dict[BenchmarkSize, int] = {}  # number of stages with records
        self._round_seconds: dict[BenchmarkSize, float] = {}  # seconds of the last launch per round and pass
        self._launches: list[PairLaunch] = []
        self._judged: tuple[int, tuple[SweepReport, Topology | None]] | None = (
            None  # with the number of sources
        )
        self._plans = self._sweep()

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        """The plan with the next launch, or without change if no launch follows."""
        if turn is not None:
            return Next()
        self._plan, self._over = plan, {ended.number: ended for ended in over}
        grown = next(self._plans, None)
        self._plan = grown or plan
        return Next(grown)

    def judge(self, executed: SessionEnd) -> tuple[SweepReport, Topology | None]:
        from imb.fabric import evaluation
        from imb.fabric.fabric_output import nothing_measured_error

        if not self.sources:
            raise nothing_measured_error(self.unreachable, self._all_notes())
        judged, topology = self.judge_measured()
        judged = judged._replace(notes=[*self._all_notes(), *judged.notes])
        judged = evaluation.add_missing(judged, self.settings.sizes)
        if self.settings.quick:
            judged = evaluation.add_next_step(judged)
        return judged, topology

    def render(self, result: tuple[SweepReport, Topology | None], executed: SessionEnd) -> int:
        from imb.fabric.fabric_output import conclude

        return conclude(*result, self.against, self.settings, was_over=self._was_over)

    def hint_on_interrupt(self) -> str | None:
        """The command that judges what was measured."""
        names = self.recorded_runs()
        return f"judge what was measured: imb fabric {' '.join(names)}" if names else None

    def judge_measured(self) -> tuple[SweepReport, Topology | None]:
        """The verdict on all that was measured, and the topology or None. Raises ImbError."""
        from imb.fabric import evaluation

        read = self._judged[0] if self._judged else 0
        if self._judged is None or read < len(self.sources):
            self._launches += evaluation.launches_of(self.sources[read:], self.notes)
            verdict = evaluation.judge_launches(self._launches, self.sources, self.against, [])
            self._judged = len(self.sources), verdict
        return self._judged[1]

    def recorded_runs(self) -> list[str]:
        """Names of all runs that have records by now, including a launch that was interrupted."""
        over = session.finished_launches(self.archive, self._plan)
        runs = [ended.run for ended in over.values()]
        for item in self._plan.items:
            if item.number not in over:
                runs += session.interrupted_runs(self.archive, self._plan, item)[-1:]
        stored = map(self.archive.run, runs)
        return [run.name for run in stored if "records.jsonl" in run.manifest.files]

    def _verdict(self) -> SweepVerdict:
        return self.judge_measured()[0].verdict

    # --- Stages ---

    def _sweep(self) -> Iterator[Plan]:
        """Yield plans, each with the next launch. The sweep ends if nothing is undecided, there is no time
        for the next stage, or a stage has no records."""
        from imb.fabric.judging.round_plans import whole_sweep
        from imb.fabric.judging.sensitivity import MISSED
        from imb.fabric.judging.stages import SweepStage, search

        settings, ranks = self.settings, self._plan.variants[0].intent.ranks
        stages: Iterator[SweepStage] = search(
            ranks,
            settings.seed,
            settings.sizes,
            MISSED * self.against.least,
            self._verdict,
            quick=settings.quick,
            passes=settings.passes,
        )
        if settings.one_stage:
            stages = iter([SweepStage(None, settings.passes or FIRST_ALONE, settings.sizes)])
        rounds = passes = 0  # different rounds, and passes of the first ones
        ended = ""
        for number, stage in enumerate(stages, 1):
            again = stage.why == "again"
            if rounds and not any(item.turn >= number for item in self._plan.items):
                if settings.ended is not None:
                    ended = settings.ended
                    break
                more = self._work_text(stage)
                if ended := self._time_problem(stage, more, passes):
                    break
                so_far = count_of(passes, "pass") if again else count_of(rounds, "round")
                word = "suspected" if stage.why == "confirm" else "undecided"
                say(f"imb: {word} after {so_far}: {more}", err=True)
            if not (yield from self._stage(number, stage)):
                break
            passes += stage.passes if again or not rounds else 0
            if stage.why != "confirm":
                rounds = self._rounds(stage) + (rounds if stage.rounds is not None else 0)
        if self._launches_read < len(self._plan.items):
            self._read_rest()
            return
        self.notes += [ended] if ended else []
        if settings.quick and rounds:
            self.notes.append(
                f"{rounds} of {count_of(whole_sweep(ranks), 'round')}, {count_of(passes, 'pass')}"
            )
        if settings.ended is None:
            settings = msgspec.structs.replace(settings, ended=ended)
            yield session.set_settings(self._plan, "fabric", settings)

    def _stage(self, number: int, stage: SweepStage) -> Generator[Plan, None, bool]:
        """Yield plans with one launch for each benchmark and size. Returns whether all launches are over and
        some left records."""
        settings, sources = self.settings, len(self.sources)
        seed = (settings.seed + max(self._recorded.values(), default=0)) % 2**31
        options = ["-seed", str(seed), "-passes", str(stage.passes)]
        file = None if stage.rounds is None else fabric_planning.rounds_file(self.archive, self._plan, number)
        for index, benchmark_size in enumerate(stage.sizes):
            item = self._planned_launch(number, benchmark_size)
            if item is None:
                share = self._remaining_seconds() / (len(stage.sizes) - index)
                if (share < _LEAST and self.sources) or self._is_left_out(number, benchmark_size):
                    self.notes.append(f"--budget is used up; {_size_names([benchmark_size])} not measured")
                    continue
                if file and stage.rounds is not None:
                    fabric_planning.write_rounds(self.archive, file, stage.rounds)
                limit = max(share, _LEAST)
                yield fabric_planning.add_launch(
                    self._plan,
                    settings,
                    benchmark_size,
                    stage=number,
                    arguments=[*self._pair_timeout(share), *options],
                    rounds=file,
                    timeout=limit if limit < (self._plan.timeout or float("inf")) else None,
                )
                item = self._plan.items[-1]
            if not fabric_planning.is_as_decided(item, settings, benchmark_size, options, file):
                self.notes.append(
                    f"launch {item.number} was planned by another version of imb, or for other files; no launch was planned after it"
                )
                return False
            if not self._read_stage_launch(item, benchmark_size, stage.passes * self._rounds(stage)):
                return False
        return len(self.sources) > sources

    def _planned_launch(self, number: int, benchmark_size: BenchmarkSize) -> Item | None:
        """The launch of a stage, or None if the plan lacks it."""
        place = self._place(number, benchmark_size)
        return next((item for item in self._plan.items if (item.turn, item.cell) == place), None)

    def _is_left_out(self, number: int, benchmark_size: BenchmarkSize) -> bool:
        """Whether a launch that the plan lacks was left out earlier: others follow it, or the sweep has
        ended."""
        place = self._place(number, benchmark_size)
        later = any((item.turn, item.cell) > place for item in self._plan.items)
        return later or self.settings.ended is not None

    def _place(self, number: int, benchmark_size: BenchmarkSize) -> tuple[int, int]:
        return number, self.settings.sizes.index(benchmark_size)

    def _read_stage_launch(self, item: Item, benchmark_size: BenchmarkSize, work: int) -> bool:
        """Read the records of a launch of a stage. Returns whether the launch is over. `work`: its rounds
        times its passes."""
        if (ended := self._over.get(item.number)) is None:
            return False
        sources = len(self.sources)
        self._read_launch(item, ended)
        if len(self.sources) > sources:
            self._recorded[benchmark_size] = self._recorded.get(benchmark_size, 0) + 1
            self._round_seconds[benchmark_size] = ended.counted_seconds / max(work, 1)
        return True

    def _read_rest(self) -> None:
        """Read the records of the remaining launches of the plan, which belong to other stages than these."""
        for item in self._plan.items[self._launches_read :]:
            if ended := self._over.get(item.number):
                self._read_launch(item, ended)
            else:
                self.notes.append(f"launch {item.number} was not executed")

    def _read_launch(self, item: Item, ended: FinishedLaunch) -> None:
        self._launches_read = item.number
        run = self.archive.run(ended.run)
        recorded = "records.jsonl" in run.manifest.files
        refused = ended.status == SuiteStatus.USAGE and not recorded and not self.sources
        if recorded:
            self.sources.append((run.name, run.folder / "records.jsonl"))
        if not (why := problem_of(self.archive, self._plan, ended, budgeted=True)):
            return
        if refused:
            raise ImbError(why)
        self._failed.setdefault(why, []).append(run.name)
        if not recorded:
            hosts = self._plan.variants[item.variant].intent.hosts
            self.unreachable |= unreachable_of(run, hosts)

    def _all_notes(self) -> list[str]:
        """Each reason of incomplete launches once, then the other notes."""
        return [
            *(
                f"{why} (launch{'es' if len(runs) > 1 else ''} {', '.join(runs)})"
                for why, runs in self._failed.items()
            ),
            *self.notes,
        ]

    # --- Time ---

    def _rounds(self, stage: SweepStage) -> int:
        from imb.fabric.judging.round_plans import whole_sweep

        return whole_sweep(self._plan.variants[0].intent.ranks) if stage.rounds is None else len(stage.rounds)

    def _work_text(self, stage: SweepStage) -> str:
        """What a stage would measure, as text for a message."""
        rounds = count_of(self._rounds(stage), "round")
        if stage.why == "confirm":
            return (
                f"{count_of(stage.passes, 'pass')} of {rounds} to confirm {_suspect_names(self._verdict())}"
            )
        amount = rounds if stage.why == "wider" else count_of(stage.passes, "pass")
        return f"{amount} more of {_size_names(stage.sizes)}"

    def _time_problem(self, stage: SweepStage, more: str, passes: int) -> str:
        """Why there is no time for a stage after `passes` passes, or an empty text. A quick search gets no
        advice on passes here; its last note has it."""
        settings, work = self.settings, self._rounds(stage) * stage.passes
        needed = sum(
            max(_LEAST, self._round_seconds.get(benchmark_size, 0) * work) for benchmark_size in stage.sizes
        )
        left = self._remaining_seconds() if settings.budget is not None else FURTHER - self._spent_seconds()
        if needed <= left:
            return ""
        advice = (
            f" or --passes {passes + stage.passes}" if stage.why == "again" and not settings.quick else ""
        )
        return f"no time for {more}: some {needed:.0f} s, {max(left, 0):.0f} s left; give --budget{advice}"

    def _spent_seconds(self) -> float:
        """Seconds since the sweep began, without the time between processes that executed it."""
        return time.monotonic() - self._began

    def _remaining_seconds(self) -> float:
        """Remaining seconds of the budget."""
        return float("inf") if self.settings.budget is None else self.settings.budget - self._spent_seconds()

    def _pair_timeout(self, share: float) -> list[str]:
        """With --budget, the option that leaves out an endpoint that does not answer in time for the others
        to be measured."""
        if self.settings.budget is None:
            return []
        return [fabric_planning.PAIR_TIMEOUT, f"{min(30.0, max(1.0, share / 4)):.3g}"]


def dry_run_lines(settings: SweepSettings, ranks: int) -> list[str]:
    """Lines on the first launches, and on launches that may follow."""
    from imb.fabric.judging.inference import FEWEST_ENDPOINTS
    from imb.fabric.judging.round_plans import few_rounds, whole_sweep
    from imb.fabric.judging.stages import CONFIRMING

    quick = settings.quick
    whole, first = whole_sweep(ranks), QUICK_FIRST if quick else FIRST
    rounds, passes = few_rounds(ranks) if quick else whole, settings.passes or first
    each = "the rounds of the arguments" if settings.one_stage else count_of(rounds, "round")
    seconds = max(_LEAST, _ROUND * rounds * passes)
    lines = [
        f"launch {number}: {name} {size(length)}, {count_of(ranks, 'rank')} ({settings.endpoint}), {each}, {count_of(passes, 'pass')}"
        + ("" if settings.one_stage else f", about {seconds:.0f} s")
        for number, (name, length) in enumerate(settings.sizes, 1)
    ]
    if settings.passes is None and not settings.one_stage and ranks >= FEWEST_ENDPOINTS:
        budget = settings.budget
        within = f"{budget:g} s (--budget)" if budget is not None else f"{FURTHER:.0f} s"
        lines += [
            f"then, while a slow host could be missed: {'other rounds, up to ' + count_of(whole, 'round') + ', then ' if quick else ''}"
            f"as many passes again, up to {first << DOUBLED}, within {within}",
            f"then, of what is suspected: {count_of(2 * CONFIRMING, 'pass')} of 2 to {count_of(whole, 'round')} that confirm it, twice at most",
        ]
    return [*lines, f"times at {_ROUND:g} s for a round; nothing was run"]


def sweep_reference(store: Archive, settings: SweepSettings, sources: Sources) -> SweepReference:
    """What a sweep is judged by. Raises ImbError, also if the page would overwrite a file that is read."""
    from imb.fabric import evaluation
    from imb.store.outputs import refuse_overwriting

    topology = Path(settings.topology) if settings.topology else None
    against = evaluation.SweepReference(settings.relevant)
    past_sources = [] if settings.baseline is None else evaluation.sources_named(store, [settings.baseline])
    if settings.page:
        read = [path for _, path in (*sources, *past_sources)] + ([topology] if topology else [])
        refuse_overwriting(store, Path(settings.page), read, "--page")
    if topology:
        against = against._replace(network=evaluation.network_in(topology), network_file=topology)
    if settings.baseline is not None:
        past = evaluation.launches_of(past_sources, [])
        against = against._replace(past=past, past_name=settings.baseline)
    return against


def _suspect_names(verdict: SweepVerdict) -> str:
    names = [suspect.name for suspect in verdict.suspects]
    if verdict.screened and not names:
        return f"{count_of(len(verdict.screened), 'pair')} that may be slow"
    return list_first(names) or "all endpoints"


def _size_names(sizes: Sequence[BenchmarkSize]) -> str:
    return ", ".join(f"{name} {size(length)}" for name, length in sizes)


def refuse_reserved_arguments(
    arguments: Sequence[str], benchmarks: Sequence[str], *, quick: bool, rounds: bool, budget: bool
) -> None:
    """Raises ImbError for IMB arguments that `imb fabric` sets itself, for arguments that measure nothing,
    and for words that are no arguments."""
    instead = {
        "passes": "give --passes",
        "seed": "give --seed",
        "endpoint": "give --endpoint",
        "pairs_file": "run IMB-FABRIC itself",
    }
    instead |= dict.fromkeys((*LENGTHS, *NAME_LISTS), "give -b NAME:BYTES")
    if rounds:
        instead["rounds"] = "give --rounds"
    if quick:
        instead |= dict.fromkeys(("rounds", "halves"), "omit --quick")
    if budget:
        instead["pair_timeout"] = "omit --budget"
    spelling = {benchmark.lower(): benchmark for benchmark in benchmarks}
    for number, argument in enumerate(arguments):
        name = option_name(argument)
        if name in instead:
            raise ImbError(f"{argument} is set by imb fabric; {instead[name]} instead")
        if name in NOTHING_MEASURED:
            raise ImbError(f"{argument} measures nothing; run IMB-FABRIC {argument} itself")
        if benchmark := next(
            (spelling[word] for word in argument.lower().split(",") if word in spelling), None
        ):
            raise ImbError(
                f"{argument}: a benchmark is not named after --; give -b {benchmark}:BYTES instead"
            )
        if not number and not argument.startswith("-"):
            raise ImbError(f"{argument}: not an IMB argument; NAME goes before --")
