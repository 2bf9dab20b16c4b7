"""What `imb tune` launches next: reference, screening, rounds of the search, looks of the proof, the final
file.

All decisions follow from the plan and the records of its launches. So an interrupted session continues where
it stopped: the stages run again, and completed launches are read instead of launched.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from imb import __version__
from imb.model.errors import ImbError
from imb.model.outcomes import failure_detail
from imb.model.statuses import Status
from imb.model.text import now
from imb.model.units import count_of, rough_duration
from imb.readers.launch_errors import reason
from imb.report.terminal import say
from imb.runner import passes
from imb.runner.experiment import ArchivedExperiment, Next, Say, SessionEnd, Shows
from imb.runner.session import FinishedLaunch, Plan, folder_of
from imb.store.durable_files import write_whole
from imb.store.store import Archive
from imb.tune import tune_planning, tuned_files
from imb.tune.cells import DEFAULT, Algorithm, Cell, Switch
from imb.tune.search import (
    FAILED,
    FAMILY,
    FIRST,
    LOOKS,
    MOST,
    CellResult,
    Proof,
    RejectedCandidate,
    Search,
    TuneResult,
)
from imb.tune.tune_planning import Group, LaunchFigures, PlannedLaunch, Row, TuneSettings
from imb.tune.tuner import Executed, Tuner, proof, tuner_of

if TYPE_CHECKING:
    from imb.stats.arrays import Values

SEARCH_SHARE = 0.4  # share of the budget after which a search ends, if it has its first rounds
FIRST_SHARE = 0.7  # share of the budget after which a search ends without its first rounds
CORRECTED = 3  # attempts to write a file without the cells in which it has no effect
_LONGEST = 32.0  # largest factor by which a launch is lengthened
_AT_ONCE = 6  # candidates whose launches are interleaved with one launch of the default

_REVERTED = {
    "below the margin": "gain below the margin",
    "slower": "slower",
    "no time": "not confirmed within the budget",
}

Forced: TypeAlias = Mapping[tuple[str, Algorithm], Executed]
_T = TypeVar("_T")
# A generator that yields launches, receives their figures, and returns a _T.
TuneStage: TypeAlias = Generator[list[PlannedLaunch], list[LaunchFigures], _T]


class TuneExperiment(ArchivedExperiment[TuneSettings, TuneResult]):
    """Sessions of `imb tune`: stages of launches. `finished`: no launch follows, and `result` is complete."""

    Settings = TuneSettings
    shows = Shows(measured=False)

    def __init__(self, archive: Archive, plan: Plan) -> None:
        super().__init__(archive, plan)
        self.folder = folder_of(archive, plan.id) / "tuning"
        self._session = plan.id
        self.mpi = plan.variants[0].mpi
        self.ppn = plan.variants[0].intent.ppn
        self.tuner: Tuner = tuner_of(self.mpi, self.settings.hosts)
        self.result = TuneResult()
        self.finished = False
        self._spent = 0.0
        self._pair_seconds = 0.0  # seconds of a pair of launches of the usual duration
        self._proof_seconds = 0.0  # seconds of the launches that show whether a file takes effect
        self._spent_before = 0.0  # seconds spent when the present proof began
        self._proofs_left = 1  # numbers of ranks still to be proven; they share the rest of the budget
        self._unwatchable = ""  # why further launches are not watched, or empty
        self._longer: dict[Group, float] = {}
        self._lengths: dict[Group, list[int]] = {}  # message sizes of a file that is verified
        self._over = 0  # number of launches whose figures the stages have received
        self._failures: dict[Group, str] = {}  # last reason why launches of a group failed
        self._undecided: dict[Cell, str] = {}  # cells without a choice because launches failed, and why
        self._steps = self._run_stages()
        self._next_launches: list[PlannedLaunch] | None = next(self._steps, None)

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        """The plan with the launches of the next stage, or without change while launches are outstanding or
        if no stage follows."""
        if turn is not None or len(over) < len(plan.items):
            return Next()
        ended = {launch.number: launch for launch in over}
        while self._next_launches is not None:
            end = self._over + len(self._next_launches)
            if end > len(plan.items):
                return Next(tune_planning.grow_plan(plan, self.settings, self._next_launches))
            self._refuse_others(plan, self._next_launches)
            numbers = range(self._over + 1, end + 1)
            results = [tune_planning.figures_of(self.archive, plan, ended[number]) for number in numbers]
            self._over = end
            self._spent += sum(figures.wall for figures in results)
            try:
                self._next_launches = self._steps.send(results)
            except StopIteration:
                self._next_launches = None
        self.finished = True
        return Next()

    def judge(self, executed: SessionEnd) -> TuneResult:
        if not self.finished:
            missing = len(executed.plan.items) - len(executed.over)
            raise ImbError(
                f"{count_of(missing, 'launch')} skipped; retry with `imb tune --resume {executed.plan.id}`",
                status=Status.USAGE if executed.usage_errors else Status.FAILED,
            )
        return self.result

    def render(self, result: TuneResult, executed: SessionEnd) -> int:
        from imb.tune.tune_output import print_result

        return print_result(self.archive, result, executed.plan, self.settings)

    def _refuse_others(self, plan: Plan, launches: Sequence[PlannedLaunch]) -> None:
        """Raises ImbError if the plan has other launches than these stages would plan."""
        for item, launch in zip(plan.items[self._over :], launches, strict=False):
            planned = item.arguments, item.ranks, item.turn, plan.variants[item.variant].name
            if planned != (launch.arguments, launch.ranks, launch.turn, launch.name):
                raise ImbError(
                    f"session {plan.id}: launch {item.number} was planned by another version of imb, or for other files; start a new session"
                )

    def _report(self, line: str) -> None:
        say(f"imb: {rough_duration(self._spent)} of {rough_duration(self._budget)}: {line}", err=True)

    def _lengthen(self, groups: Iterable[Group], results: Iterable[LaunchFigures]) -> None:
        """Make later launches of these groups longer if some rows had no sample."""
        if any(figures.short for figures in results):
            for group in groups:
                self._longer[group] = min(2 * self._longer.get(group, 1.0), _LONGEST)

    # --- All stages ---

    def _run_stages(self) -> TuneStage[None]:
        settings = self.settings
        groups = [Group(collective, ranks) for ranks in settings.ranks for collective in settings.collectives]
        chosen_before: dict[Cell, Algorithm] = {}
        if settings.verify:
            chosen_before, measured, _ = self.tuner.read(Path(settings.verify))
            for cell in sorted(measured):
                self._lengths.setdefault(Group(cell.collective, cell.ranks), []).append(cell.bytes)
            groups = list(self._lengths)
        cells, without, durations = yield from self._reference(groups)
        candidates = {
            group: [
                algorithm
                for algorithm in self.tuner.algorithms(group.collective)
                if not settings.verify
                or any(
                    algorithm == choice and (cell.collective, cell.ranks) == group
                    for cell, choice in chosen_before.items()
                )
            ]
            for group in cells
        }
        alive, forced = yield from self._screening(cells, candidates, durations)
        yield from self._examine_launcher(cells, candidates, alive)
        if settings.verify:
            proposed = {
                cell: choice for cell, choice in chosen_before.items() if alive.get((cell, choice), False)
            }
            lost = sorted(chosen_before.keys() - proposed.keys() - self._undecided.keys())
            if lost:
                self.result.notes.append(
                    f"{count_of(len(lost), 'cell')} of the file cannot be confirmed, as screening shows"
                )
                self.result.slower = True
            estimates: dict[Cell, float] = {}
        else:
            proposed, estimates = yield from self._search(cells, candidates, alive)
        for group_cells in cells.values():
            for cell in group_cells:
                tried = proposed.get(cell, DEFAULT)
                why = FAILED if cell in self._undecided else ""
                self.result.cells.append(
                    CellResult(cell, DEFAULT, tried, estimates.get(cell, 1.0), None, why)
                )
        self.result.failed.update(self._undecided.values())
        if not proposed:
            return
        final: dict[Cell, Algorithm] = {}
        stopped: dict[int, str] = {}
        all_ranks = list(dict.fromkeys(group.ranks for group in cells))
        for at, ranks in enumerate(all_ranks):
            cells_of_ranks = {
                group: group_cells for group, group_cells in cells.items() if group.ranks == ranks
            }
            choices = {cell: choice for cell, choice in proposed.items() if cell.ranks == ranks}
            self._spent_before, self._proofs_left = self._spent, len(all_ranks) - at
            final |= yield from self._proof(cells_of_ranks, choices, without, forced, len(all_ranks))
            if self.result.stopped:
                stopped[ranks], self.result.stopped = self.result.stopped, ""
        if stopped and (settings.verify or not final):
            self.result.stopped = next(iter(stopped.values()))
            return
        self.result.notes += [
            f"{count_of(ranks, 'rank')}: not decided: {why}" for ranks, why in stopped.items()
        ]
        if settings.verify:
            self._record_proof(Path(settings.verify))
        elif final:
            yield from self._write_final_file(cells, final, without, forced)

    def _reference(
        self, groups: Sequence[Group]
    ) -> TuneStage[tuple[dict[Group, list[Cell]], Executed, dict[Group, float]]]:
        """Launch the library's default with -check. Returns the cells of each group, what ranks executed, and
        the duration of each group's launch in seconds."""
        launches = {}
        for group in groups:
            arguments = self._checking_arguments(group)
            limit = tune_planning.time_limit(arguments, group.ranks)
            launches[f"default-{group.collective}-{group.ranks}"] = PlannedLaunch(
                "reference", group.ranks, arguments, self.tuner.base(), limit
            )
        results = yield from self._launch_watched(launches)
        cells: dict[Group, list[Cell]] = {}
        without: dict[Cell, frozenset[str]] = {}
        durations: dict[Group, float] = {}
        for group, figures in zip(groups, results, strict=True):
            if why := figures.problem:
                self.result.notes.append(
                    f"{group.collective} on {count_of(group.ranks, 'rank')} is left out: {why} with the library's own choice"
                )
                continue
            cells[group], durations[group] = tune_planning.cells_of(group, figures), figures.wall
            without |= self._executed_algorithms(f"default-{group.collective}-{group.ranks}")
        count = sum(map(len, cells.values()))
        self._report(f"{count_of(count, 'cell')} (a collective on a number of ranks at one message size)")
        return cells, without, durations

    def _checking_arguments(self, group: Group) -> list[str]:
        return tune_planning.checking_arguments(group, self.settings, self._lengths.get(group, []))

    def _screening(
        self,
        cells: Mapping[Group, list[Cell]],
        candidates: Mapping[Group, list[Algorithm]],
        durations: Mapping[Group, float],
    ) -> TuneStage[tuple[dict[tuple[Cell, Algorithm], bool], Forced]]:
        """Launch every candidate once, with -check, through a file of the final form. Returns which
        candidates are usable in each cell, and what ranks executed."""
        launches: dict[str, PlannedLaunch] = {}
        tried = []
        alive: dict[tuple[Cell, Algorithm], bool] = {}
        reasons: dict[tuple[Group, Algorithm], dict[Cell, str]] = {}
        limits: dict[Cell, str] = {}
        for group, group_cells in cells.items():
            limits |= {cell: why for cell in group_cells if (why := self.tuner.rule_problem(cell))}
            for algorithm in candidates[group]:
                excluded = {
                    cell: why
                    for cell in group_cells
                    if (why := limits.get(cell) or self.tuner.exclusion_reason(cell, algorithm))
                }
                known = {cell: why for cell, why in excluded.items() if cell not in limits}
                # Do not report messages that are shorter than a segment.
                reasons[group, algorithm] = known if len(excluded) == len(group_cells) else {}
                usable = [cell for cell in group_cells if cell not in excluded]
                if not usable:
                    continue
                name = f"{group.collective}-{group.ranks}-{tune_planning.label_of(algorithm)}"
                file = self._write_files(dict.fromkeys(usable, algorithm), group_cells, f"screen-{name}")
                limit = max(tune_planning.SCREENED, tune_planning.SCREENED * durations[group])
                launches[name] = PlannedLaunch(
                    "screen", group.ranks, self._checking_arguments(group), file, limit
                )
                tried.append((group, algorithm, usable, name))
        for why in limits.values():
            self.result.limited[why] = self.result.limited.get(why, 0) + 1
        if launches:
            self._report(
                f"screening: {count_of(len(launches), 'algorithm')} with -check, each through a tuning file"
            )
        results = (yield from self._launch_watched(launches)) if launches else []
        forced: dict[tuple[str, Algorithm], dict[Cell, frozenset[str]]] = {}
        for (group, algorithm, usable, name), figures in zip(tried, results, strict=True):
            executed = {} if figures.why else self._executed_algorithms(name)
            why = "delivers wrong data" if figures.defects else figures.why
            why = (
                why
                or self.tuner.find_complaint(figures.errors)
                or self._reading_problem(launches[name].switch, figures)
            )
            forced.setdefault((group.collective, algorithm), {}).update(executed)
            if figures.why:
                self._failures[group] = _failure_of(figures)
            for cell in usable:
                is_measured = Row(cell.collective, "", cell.bytes) in figures.seconds
                problem = (
                    why
                    or ("" if is_measured else "not measured")
                    or self.tuner.replacement(cell, algorithm, executed)
                )
                if problem:
                    reasons[group, algorithm][cell] = problem
                alive[cell, algorithm] = not problem
        for (group, algorithm), excluded in reasons.items():
            for why in dict.fromkeys(excluded.values()):
                count = sum(reason == why for reason in excluded.values())
                self.result.screened.append(
                    RejectedCandidate(*group, algorithm, why, count, len(cells[group]))
                )
        return alive, forced

    def _examine_launcher(
        self,
        cells: Mapping[Group, list[Cell]],
        candidates: Mapping[Group, list[Algorithm]],
        alive: Mapping[tuple[Cell, Algorithm], bool],
    ) -> TuneStage[None]:
        """If all candidates of a group failed, launch the default again. If that also fails, the candidates
        are not the cause."""
        suspects = [
            group
            for group, group_cells in cells.items()
            if group in self._failures
            and not any(alive.get((cell, one)) for cell in group_cells for one in candidates[group])
        ]
        launches = []
        for group in suspects:
            arguments = self._checking_arguments(group)
            limit = tune_planning.time_limit(arguments, group.ranks)
            launches.append(PlannedLaunch("reference", group.ranks, arguments, self.tuner.base(), limit))
        results = (yield launches) if launches else []
        for group, figures in zip(suspects, results, strict=True):
            if figures.why:
                self._undecided |= dict.fromkeys(cells[group], _failure_of(figures))

    def _search(
        self,
        cells: Mapping[Group, list[Cell]],
        candidates: Mapping[Group, list[Algorithm]],
        alive: Mapping[tuple[Cell, Algorithm], bool],
    ) -> TuneStage[tuple[dict[Cell, Algorithm], dict[Cell, float]]]:
        """Launch rounds of all groups that are not settled, in random order. Returns the proposed algorithms
        and the estimated speedups."""
        races: dict[Group, tuple[list[Algorithm], Search]] = {}
        for group, group_cells in cells.items():
            usable = [
                algorithm
                for algorithm in candidates[group]
                if any(alive.get((cell, algorithm)) for cell in group_cells)
            ]
            mask = np.array(
                [
                    [True, *(alive.get((cell, algorithm), False) for algorithm in usable)]
                    for cell in group_cells
                ]
            )
            races[group] = (
                [DEFAULT, *usable],
                Search(len(group_cells), len(usable) + 1, self.settings.margin, mask),
            )
        turn = 0
        next_seconds = 0.0  # seconds of the next round
        failures: dict[Group, str] = {}
        out_of_time = False
        while unsettled := {group: race for group, race in races.items() if race[1].rounds_needed()}:
            share = SEARCH_SHARE if turn >= FIRST else FIRST_SHARE
            if self._spent + next_seconds > share * self._budget:
                if not turn:
                    self.result.stopped = self._time_problem("before the search")
                    return {}, {}
                undecided = sum(int((~race.settled).sum()) for _, race in unsettled.values())
                self.result.notes.append(
                    f"search ended after {count_of(turn, 'round')} by the budget; {count_of(undecided, 'cell')} chosen by estimates"
                )
                out_of_time = True
                break
            turn += 1
            before, longer = self._spent, dict(self._longer)
            order = list(unsettled)
            Random(f"{self.settings.seed}/{turn}").shuffle(order)
            launches = {group: self._round(group, cells[group], *unsettled[group], turn) for group in order}
            if turn == 1 or turn % 5 == 0:
                undecided = sum(int((~race.settled).sum()) for _, race in unsettled.values())
                self._report(
                    f"search, round {turn} of {MOST} at most: {count_of(undecided, 'cell')} without a clear choice"
                )
            results = iter((yield [launch for planned in launches.values() for launch in planned]))
            for group, planned in launches.items():
                figures = [next(results) for _ in planned]
                algorithms, race = unsettled[group]
                if why := next((_failure_of(launched) for launched in figures if launched.why), ""):
                    failures[group] = why
                self._lengthen([group], figures)
                race.add(self._logs(cells[group], algorithms, figures)[None])
            growth = max(
                (factor / longer.get(group, 1.0) for group, factor in self._longer.items()), default=1.0
            )
            next_seconds = growth * (self._spent - before)
        proposed: dict[Cell, Algorithm] = {}
        estimates: dict[Cell, float] = {}
        late = 0
        for group, (algorithms, race) in races.items():
            few_rounds = race.undecided_cells()
            for cell, choice, gain, few in zip(
                cells[group], race.choices(), race.gain, few_rounds, strict=True
            ):
                estimates[cell] = math.exp(float(gain))
                if choice:
                    proposed[cell] = algorithms[choice]
                elif few and group in failures:
                    self._undecided[cell] = failures[group]
                else:
                    late += few
            if group in failures and not all(few_rounds):
                lost = race.unmeasured_candidates().sum(axis=0)
                self.result.screened += [
                    RejectedCandidate(
                        *group, algorithm, f"not measured: {failures[group]}", int(many), len(cells[group])
                    )
                    for algorithm, many in zip(algorithms, lost, strict=True)
                    if many
                ]
        if late and out_of_time and not proposed:
            self.result.stopped = self._time_problem(f"after {count_of(turn, 'round')} of the search")
        return proposed, estimates

    def _round(
        self, group: Group, cells: Sequence[Cell], algorithms: Sequence[Algorithm], race: Search, turn: int
    ) -> list[PlannedLaunch]:
        """One launch in which candidates alternate, or several interleaved launches."""
        places, candidates = race.next_round()
        lengths = [cells[index].bytes for index in places]
        needed = [algorithms[index] for index in candidates if index]
        variables = {algorithm: self.tuner.variables(group.collective, algorithm) for algorithm in needed}
        if all(variables.values()):
            text = tune_planning.variants_text(
                {
                    DEFAULT: {},
                    **{algorithm: dict(values or {}) for algorithm, values in variables.items()},
                }
            )
            # Equal content gives one file, so that equal launches have the same command.
            name = hashlib.sha256(text.encode()).hexdigest()[:12]
            path = self.folder / f"alternate-{group.collective}-{group.ranks}-{name}.txt"
            if not path.exists():
                self._write_file(path, text)
            longer = self._longer.get(group, 1.0)
            arguments = tune_planning.alternating_arguments(
                group, lengths, path, len(needed) + 1, self.settings, longer
            )
            limit = tune_planning.time_limit(arguments, group.ranks)
            return [PlannedLaunch("search", group.ranks, arguments, self.tuner.base(), limit, turn)]
        launches = []
        for begin in range(0, len(needed), _AT_ONCE):
            batch = [DEFAULT, *needed[begin : begin + _AT_ONCE]]
            arguments, _ = tune_planning.interleaved_arguments(
                [group.collective],
                group.ranks,
                lengths,
                self.settings,
                len(batch),
                self._longer.get(group, 1.0),
            )
            limit = tune_planning.time_limit(arguments, group.ranks, len(batch))
            number = (
                1
                + begin // _AT_ONCE
                + 1000 * (1 + sorted(self.settings.collectives).index(group.collective))
                + 100_000 * group.ranks
            )
            for algorithm in batch:
                switch = (
                    self.tuner.base()
                    if algorithm == DEFAULT
                    else self.tuner.forcing_switch(group.collective, algorithm)
                )
                name = f"search-{tune_planning.label_of(algorithm)}"
                launches.append(PlannedLaunch(name, group.ranks, arguments, switch, limit, turn, number))
        return launches

    def _logs(
        self, cells: Sequence[Cell], algorithms: Sequence[Algorithm], figures: Sequence[LaunchFigures]
    ) -> Values:
        """Logarithms of seconds, shape (cells, candidates), NaN if not measured. For interleaved launches
        they are relative to the default of their batch, and corrected by the difference of the launches in
        rows that no file changes."""
        logs = np.full((len(cells), len(algorithms)), np.nan)
        if len(figures) == 1:
            for cell_index, cell in enumerate(cells):
                for algorithm_index, algorithm in enumerate(algorithms):
                    seconds = figures[0].seconds.get(
                        Row(cell.collective, tune_planning.label_of(algorithm), cell.bytes)
                    )
                    if seconds is not None:
                        logs[cell_index, algorithm_index] = math.log(seconds)
            return logs
        return self._logs_of_launches(cells, algorithms, figures, logs)

    def _logs_of_launches(
        self,
        cells: Sequence[Cell],
        algorithms: Sequence[Algorithm],
        figures: Sequence[LaunchFigures],
        logs: Values,
    ) -> Values:
        columns = self._launched_algorithms(figures, algorithms)
        default: LaunchFigures | None = None
        for column, launched in zip(columns, figures, strict=True):
            if column == 0:
                default = launched
            if default is None or launched.why or default.why:
                continue
            level = launched.control() - default.control()
            for cell_index, cell in enumerate(cells):
                row = Row(cell.collective, "", cell.bytes)
                seconds, default_seconds = launched.seconds.get(row), default.seconds.get(row)
                if seconds is not None and default_seconds is not None:
                    # The default is at 0 in every batch.
                    logs[cell_index, column] = (
                        0.0
                        if column == 0
                        else math.log(seconds / default_seconds) - (level if math.isfinite(level) else 0.0)
                    )
        return logs

    @staticmethod
    def _launched_algorithms(figures: Sequence[LaunchFigures], algorithms: Sequence[Algorithm]) -> list[int]:
        """The index of each launch's algorithm, from the names of their variants."""
        places = {
            f"search-{tune_planning.label_of(algorithm)}": at for at, algorithm in enumerate(algorithms)
        }
        return [places[launched.name] for launched in figures]

    def _proof(
        self,
        cells: Mapping[Group, list[Cell]],
        proposed: dict[Cell, Algorithm],
        without: Executed,
        forced: Forced,
        families: int,
    ) -> TuneStage[dict[Cell, Algorithm]]:
        """Launch pairs on one number of ranks. Returns the choices that are confirmed."""
        all_cells = [cell for group_cells in cells.values() for cell in group_cells]
        ranks = all_cells[0].ranks if all_cells else 0
        verify = bool(self.settings.verify)
        if not proposed:
            return {}
        choices = dict(proposed)
        pairs_before = self.result.pairs
        failures: list[str] = []
        judge: Proof | None = None
        confirmation = 0
        file: Switch | None = None
        while True:
            if judge is None or (not judge.over and judge.confirmation != confirmation):
                confirmation = judge.confirmation if judge else 1
                if judge:
                    choices = {
                        cell: choices[cell]
                        for cell, kept in zip(all_cells, judge.changed, strict=True)
                        if kept
                    }
                file = yield from self._find_working_file(
                    cells, choices, without, forced, f"file-{ranks}-{confirmation}"
                )
                if file is None or not choices:
                    return {}
                if judge:
                    judge.changed = np.array([cell in choices for cell in all_cells])
                else:
                    judge = Proof(
                        [cell in choices for cell in all_cells],
                        self.settings.margin,
                        FAMILY / families,
                        1 if verify else 5,
                    )
            if file is None or not judge.pairs_needed():
                break
            pairs = self._affordable_pairs(cells, judge)
            if pairs:
                measured = yield from self._pairs(cells, ranks, file, judge, pairs)
                judge.add(*self._gains(all_cells, measured))
                failures += [_failure_of(figures) for pair in measured for figures in pair if figures.why]
                if pairs >= LOOKS[0] and all(none.why or with_file.why for none, with_file in measured):
                    break
            elif judge.pairs_launched >= LOOKS[0]:
                judge.end()
            else:
                needs = f"{LOOKS[0]} pairs of launches need {rough_duration(LOOKS[0] * self._seconds_of_pair(cells, judge))}"
                when = "before the proof" if confirmation == 1 else f"before confirmation {confirmation}"
                self.result.stopped = self._time_problem(when, f" and {needs}", ranks)
                break
            self._report_verdicts(judge, confirmation)
        self._record_decisions(all_cells, choices, judge, failures[-1] if failures else "")
        late = any(judged.verdict == "no time" for _, judged in judge.reverted)
        slower = any(judged.verdict == "slower" for judged in judge.judged)
        if late and not judge.changed.any() and not (verify and slower):
            launched = count_of(self.result.pairs - pairs_before, "pair")
            self.result.stopped = self._time_problem(f"after {launched} of launches", ranks=ranks)
        unchanged = [
            judged
            for at, judged in enumerate(judge.judged)
            if at not in dict(judge.reverted) and not judge.changed[at]
        ]
        if verify:
            self.result.slower |= slower
        elif choices and any(judged.verdict == "slower" for judged in unchanged):
            self.result.notes.append(
                f"{count_of(ranks, 'rank')}: cells that the file does not change are slower with it; no file for this number of ranks"
            )
        return choices if judge.is_proven else {}

    def _seconds_of_pair(self, cells: Mapping[Group, list[Cell]], judge: Proof) -> float:
        pair_seconds = self._pair_seconds * self._length_factor(cells)
        if not judge.pairs_launched:  # earlier pairs may have had fewer ranks
            _, seconds = self._arguments_of_pair(cells)
            pair_seconds = max(pair_seconds, seconds + 2 * passes.START)
        return pair_seconds

    def _affordable_pairs(self, cells: Mapping[Group, list[Cell]], judge: Proof) -> int:
        """The number of pairs to launch next within the budget, 0 for none."""
        share = (self._budget - self._spent_before) / self._proofs_left
        remaining = share - (self._spent - self._spent_before)
        pair_seconds = self._seconds_of_pair(cells, judge)
        return judge.affordable_pairs(
            max(0, int(remaining / pair_seconds)), self._proof_seconds / pair_seconds
        )

    def _length_factor(self, cells: Iterable[Group]) -> float:
        """The factor by which launches of these groups are longer than usual."""
        return max(self._longer.get(group, 1.0) for group in cells)

    def _arguments_of_pair(self, cells: Mapping[Group, list[Cell]]) -> tuple[list[str], float]:
        """IMB arguments of the launches of a pair, and the seconds that they measure."""
        lengths = sorted({cell.bytes for group_cells in cells.values() for cell in group_cells})
        names = [group.collective for group in cells]
        ranks = next(iter(cells)).ranks
        return tune_planning.interleaved_arguments(
            names, ranks, lengths, self.settings, 2, self._length_factor(cells)
        )

    def _pairs(
        self, cells: Mapping[Group, list[Cell]], ranks: int, file: Switch, judge: Proof, pairs: int
    ) -> TuneStage[list[tuple[LaunchFigures, LaunchFigures]]]:
        """Launch `pairs` more pairs, with the file and without, each pair in random order. Returns the
        figures of each pair: without, with."""
        longer, confirmation = self._length_factor(cells), judge.confirmation
        arguments, _ = self._arguments_of_pair(cells)
        self._report(
            f"proof, confirmation {confirmation}, {count_of(ranks, 'rank')}: {count_of(pairs, 'pair')} of launches, with the file and without"
        )
        limit = tune_planning.time_limit(arguments, ranks, 2)
        launches = []
        for number in range(judge.pairs_launched + 1, judge.pairs_launched + pairs + 1):
            turn = 1000 * confirmation + number
            sides = [
                PlannedLaunch("none", ranks, arguments, Switch({}), limit, turn, ranks),
                PlannedLaunch("file", ranks, arguments, file, limit, turn, ranks),
            ]
            launches += (
                sides if Random(f"{self.settings.seed}/{ranks}/{turn}").random() < 0.5 else sides[::-1]
            )
        before = self._spent
        results = yield launches
        self._pair_seconds = (self._spent - before) / pairs / longer
        self._lengthen(list(cells), results)
        named = [(figures.name, figures) for figures in results]
        self.result.evidence += [figures.run for figures in results]
        self.result.pairs += pairs
        return [
            (first[1], second[1]) if first[0] == "none" else (second[1], first[1])
            for first, second in zip(named[::2], named[1::2], strict=True)
        ]

    @staticmethod
    def _gains(
        all_cells: Sequence[Cell], pairs: Sequence[tuple[LaunchFigures, LaunchFigures]]
    ) -> tuple[Values, Values, Values]:
        """Logarithms of the speedup, shape (pairs, cells); probes of both launches in seconds, shape (pairs,
        2); and the mean logarithm of the speedup of rows that no file changes, shape (pairs,)."""
        gains = np.full((len(pairs), len(all_cells)), np.nan)
        for pair_index, (none, file) in enumerate(pairs):
            for cell_index, cell in enumerate(all_cells):
                row = Row(cell.collective, "", cell.bytes)
                before, after = none.seconds.get(row), file.seconds.get(row)
                if before is not None and after is not None:
                    gains[pair_index, cell_index] = math.log(before / after)
        probes = np.array([[none.probe, file.probe] for none, file in pairs])
        control = np.array([none.control() - file.control() for none, file in pairs])
        return gains, probes, control

    @property
    def _budget(self) -> float:
        """Seconds for all launches. Decisions that were made before the budget was raised are kept."""
        raised = [seconds for over, seconds in self.settings.raised if over <= self._over]
        return raised[-1] if raised else self.settings.budget

    def _time_problem(self, when: str, needed: str = "", ranks: int = 0) -> str:
        """Why a session stops undecided, and what to do. `ranks`: the ranks of a proof, which has only a
        share of the time if there are several numbers of ranks; 0 for other stages."""
        budget, spent = rough_duration(self._budget), rough_duration(self._spent)
        if ranks and len(self.settings.ranks) > 1:
            # Launches of other ranks may follow; a continued session would have to repeat them.
            share = f"its share of the budget of {budget} ends {when}: {spent} are spent in all{needed}"
            return f"{share}; give --np {ranks} and the whole budget to a new session"
        more = math.ceil(2 * self._budget / 60)
        advice = f"continue with `imb tune --resume {self._session} --budget {more}m`"
        return f"the budget of {budget} ends {when}: {spent} are spent{needed}; {advice}"

    def _report_verdicts(self, judge: Proof, confirmation: int) -> None:
        good = sum(judged.verdict == "confirmed" for judged in judge.judged)
        if judge.confirmation != confirmation and not self.settings.verify:
            self._report(
                f"{count_of(len(judge.reverted), 'cell')} back at the default; {int(judge.changed.sum())} to be confirmed again"
            )
        elif judge.judged:
            self._report(
                f"{good} of {count_of(int(judge.changed.sum()), 'changed cell')} confirmed after {count_of(judge.pairs_launched, 'pair')}"
            )

    def _record_decisions(
        self, all_cells: Sequence[Cell], choices: Mapping[Cell, Algorithm], judge: Proof, failure: str
    ) -> None:
        """Record the decision on each cell in the result. `failure`: why launches failed, or empty; a cell
        with fewer pairs than the first look needs is then undecided."""
        reverted = dict(judge.reverted)
        for at, cell in enumerate(all_cells):
            place = next(index for index, entry in enumerate(self.result.cells) if entry.cell == cell)
            before = self.result.cells[place]
            in_file = bool(self.settings.verify) or (judge.is_proven and at not in reverted)
            chosen = choices.get(cell, DEFAULT) if in_file else DEFAULT
            if at in reverted:
                judged = reverted[at]
                why = _REVERTED.get(judged.verdict, "not confirmed")
                if failure and judged.verdict == "failed" and judged.pairs < LOOKS[0]:
                    why = FAILED
                    self.result.failed[failure] += 1
                self.result.cells[place] = before._replace(chosen=chosen, judged=judged, why=why)
            elif judge.judged:
                self.result.cells[place] = before._replace(chosen=chosen, judged=judge.judged[at])
            elif failure and cell in choices:
                self.result.cells[place] = before._replace(chosen=chosen, why=FAILED)
                self.result.failed[failure] += 1

    def _find_working_file(
        self,
        cells: Mapping[Group, list[Cell]],
        choices: dict[Cell, Algorithm],
        without: Executed,
        forced: Forced,
        name: str,
    ) -> TuneStage[Switch | None]:
        """A file of these choices that takes effect where it should. If it does not in a cell, the choice is
        removed from `choices`. None if there is no such file."""
        all_cells = [cell for group_cells in cells.values() for cell in group_cells]
        for attempt in range(CORRECTED):
            if not choices:
                return None
            label = f"{name}-{attempt}"
            file = self._write_files(choices, all_cells, label)
            if self.settings.verify:
                file = self.tuner.read(Path(self.settings.verify))[2]
            wrong, why = yield from self._examine_file(cells, choices, without, forced, file, label)
            if why:
                self.result.stopped = why
                return None
            if not wrong:
                return file
            interacting = {
                collective
                for cell, choice in choices.items()
                for collective in self.tuner.related_collectives(cell.collective, choice)
            }
            bad = [cell for cell in choices if cell in wrong]
            if not bad:  # cells change that should not
                bad = [
                    cell
                    for cell, choice in choices.items()
                    if self.tuner.related_collectives(cell.collective, choice)
                ]
            if not bad or self.settings.verify:
                cell, executed = next(iter(wrong.items()))
                self.result.stopped = (
                    f"the file does not take effect as it should: {cell} executes {executed}"
                )
                return None
            for cell in bad:
                at = next(index for index, entry in enumerate(self.result.cells) if entry.cell == cell)
                problem = wrong.get(cell, f"changes {', '.join(sorted(interacting))} as well")
                self.result.cells[at] = self.result.cells[at]._replace(
                    why=f"does not take effect in the file: {problem}"
                )
                del choices[cell]
        self.result.stopped = (
            f"the file does not take effect as it should after {count_of(CORRECTED, 'correction')}"
        )
        return None

    def _examine_file(
        self,
        cells: Mapping[Group, list[Cell]],
        choices: Mapping[Cell, Algorithm],
        without: Executed,
        forced: Forced,
        file: Switch,
        label: str,
    ) -> TuneStage[tuple[Mapping[Cell, str], str]]:
        """Launch with the file and -check. Returns the cells in which the file does not take effect as it should,
        with what ranks execute, and what is wrong with the file as a whole or an empty text."""
        before = self._spent
        launches = {
            f"{label}-{group.collective}-{group.ranks}": PlannedLaunch(
                "check",
                group.ranks,
                arguments := self._checking_arguments(group),
                file,
                tune_planning.time_limit(arguments, group.ranks),
            )
            for group in cells
        }
        results = yield from self._launch_watched(launches)
        self._proof_seconds = self._spent - before
        executed: dict[Cell, frozenset[str]] = {}
        for group, (name, launch), figures in zip(cells, launches.items(), results, strict=True):
            if figures.why and not figures.defects:
                self.result.failed[_failure_of(figures)] += len(choices)
            if why := figures.problem:
                return {}, f"{group.collective} on {count_of(group.ranks, 'rank')} with the file: {why}"
            if unread := self._reading_problem(launch.switch, figures):
                return {}, unread
            executed |= self._executed_algorithms(name)
        watch = self.tuner.watch(self.folder)
        if watch.switch is None or self._unwatchable:
            self.result.unproven = watch.reason or self._unwatchable
            return {}, ""
        all_cells = [cell for group_cells in cells.values() for cell in group_cells]
        findings = proof(
            choices, all_cells, without=without, with_file=executed, forced=forced, evidence=watch.evidence
        )
        if findings.missing:
            self.result.unproven = f"{count_of(len(findings.missing), 'cell')} not executed by any rank"
        self.result.alike = len(findings.alike)
        self.result.proof = findings.evidence
        return findings.wrong, ""

    def _write_final_file(
        self,
        cells: Mapping[Group, list[Cell]],
        final: dict[Cell, Algorithm],
        without: Executed,
        forced: Forced,
    ) -> TuneStage[None]:
        """Write the file for all numbers of ranks into the folder of --output."""
        all_cells = [cell for group_cells in cells.values() for cell in group_cells]
        tried = self._write_files(final, all_cells, "final")
        wrong, why = yield from self._examine_file(cells, final, without, forced, tried, "final")
        if why or wrong:
            cell, executed = next(iter(wrong.items()), (None, ""))
            where = str(cell) if cell else ""
            self.result.stopped = (
                why or f"the file does not take effect as it should: {where} executes {executed}"
            )
            self.result.cells = [entry._replace(chosen=DEFAULT) for entry in self.result.cells]
            return
        settings, output = self.settings, Path(self.settings.output)
        try:
            output.mkdir(parents=True, exist_ok=True)
            switch = self.tuner.write(final, all_cells, output, self._header())
            lines = [f"# {line}" for line in self._header()]
            lines += [f"export {name}={shlex.quote(value)}" for name, value in switch.environment.items()]
            lines += [f"# launcher arguments: {shlex.join(switch.arguments)}"] if switch.arguments else []
            tuned_files.write_switch(output, lines, self.mpi, settings.name)
        except OSError as error:
            raise ImbError(f"cannot write {output}: {error.strerror or error}") from error
        self.result.switch = switch

    def _record_proof(self, folder: Path) -> None:
        """Record the MPI with which the files are now proven."""
        if not self.result.is_confirmed():
            return
        try:
            tuned_files.prove_again(folder, self.mpi, self.settings.name)
        except OSError as error:
            self.result.notes.append(
                f"{folder / tuned_files.SWITCH} does not record this: {error.strerror or error}"
            )

    # --- Files ---

    def _header(self) -> list[str]:
        evidence = hashlib.sha256("\n".join(sorted(self.result.evidence)).encode()).hexdigest()[:16]
        settings = self.settings
        ranks = ", ".join(map(str, settings.ranks))
        per_host = f", {count_of(self.ppn, 'rank')} per host" if self.ppn else ""
        return [
            f"imb tune {__version__}, {now()}, session {settings.name}",
            f"{self.mpi.version}; {count_of(settings.hosts, 'host')}{per_host}; ranks: {ranks}",
            f"margin {settings.margin:.3g}; confirmed by {count_of(self.result.pairs, 'pair')} of launches; evidence {evidence}",
            f"another version of the MPI, other hosts or another number of ranks per host: imb tune --verify {settings.output or '.'}",
        ]

    def _write_files(self, choices: Mapping[Cell, Algorithm], measured: Iterable[Cell], name: str) -> Switch:
        folder = self.folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return self.tuner.write(choices, list(measured), folder, ["written by imb tune to be tried"])
        except OSError as error:
            raise self.archive.refusal(error) from error

    def _write_file(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text.encode())
        except OSError as error:
            raise self.archive.refusal(error) from error

    def _launch_watched(self, launches: Mapping[str, PlannedLaunch]) -> TuneStage[list[LaunchFigures]]:
        """Run launches, by name, whose ranks report what they execute. Launches that fail are repeated
        without the report. If one then succeeds, no further launches are watched."""
        switches = {name: self._watch(name) for name in launches}
        results = yield [
            launch._replace(switch=merge_switches(switches[name], launch.switch))
            for name, launch in launches.items()
        ]
        failed = [
            at
            for at, (name, figures) in enumerate(zip(launches, results, strict=True))
            if figures.why and not figures.defects and not figures.hung and switches[name].environment
        ]
        if failed:
            plain = list(launches.values())
            again = yield [plain[at] for at in failed]
            for at, figures in zip(failed, again, strict=True):
                if not figures.why:
                    self._unwatchable = f"launches fail while ranks are watched: {results[at].why}"
                    self.result.unproven = self._unwatchable
                    results[at] = figures
        return results

    def _watch(self, name: str) -> Switch:
        if self._unwatchable:
            return Switch({})
        folder = self.folder / f"watch-{name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self.archive.refusal(error) from error
        watch = self.tuner.watch(folder)
        if watch.switch is None:
            self.result.unproven = watch.reason
        return watch.switch or Switch({})

    def _reading_problem(self, switch: Switch, figures: LaunchFigures) -> str:
        # The library reports which files it reads only while it is watched.
        file = "" if self._unwatchable else self.tuner.unread_file(switch, figures.output + figures.errors)
        return f"the library did not read {file}" if file else ""

    def _executed_algorithms(self, name: str) -> Executed:
        folder = self.folder / f"watch-{name}"
        if self._unwatchable or self.tuner.watch(folder).switch is None:
            return {}
        try:
            return self.tuner.executed_algorithms(folder)
        except ImbError as error:
            self.result.unproven = str(error)
            return {}


def _failure_of(figures: LaunchFigures) -> str:
    """Why a launch failed, with the message of the launcher."""
    return failure_detail(figures.why, reason(figures.errors.encode()))


def merge_switches(*switches: Switch) -> Switch:
    """All switches in one. If several set a variable, the last one wins."""
    environment: dict[str, str] = {}
    for switch in switches:
        environment |= switch.environment
    return Switch(environment, tuple(word for switch in switches for word in switch.arguments))
