"""The launches of `imb fabric`: a whole sweep or, with --quick, a few rounds; then others or further passes where they decide, and those that confirm suspects."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from imb.archive.names import unreachable_of
from imb.archive.store import Archive, StoredRun
from imb.cli.launch_lines import problem_of
from imb.cli.launching import build_for
from imb.model.errors import ImbError
from imb.model.units import counted, size
from imb.render.terminal import say

if TYPE_CHECKING:
    from imb.fabric.stages import Stage
    from imb.fabric.verdict import Verdict
    from imb.measure.fabric import Endpoint
    from imb.measure.session import Done, Plan
    from imb.model.intent import Intent
    from imb.mpi.installations import Installation

USAGE = 2  # exit status of the suite for options that it refuses
_LEAST = 2.0  # seconds that a launch needs at least
FIRST_ALONE = 4  # passes
_ROUND = 0.1  # seconds of a round, about
_FURTHER = 600.0  # seconds within which further passes end, without --budget
Sources = list[tuple[str, Path]]
Size = tuple[str, int]


class Stages(msgspec.Struct, kw_only=True):
    """What all launches have in common. `given`: the folder of --programs; `arguments` are IMB's; `passes`: None: as many as decide."""

    archive: Archive
    mpi: Installation
    programs: Path
    given: Path | None
    intent: Intent
    endpoint: Endpoint
    sizes: list[tuple[str, int]]
    arguments: list[str]
    passes: int | None
    seed: int
    timeout: float
    budget: float | None
    labels: list[str]
    report: dict[str, Any]
    began: float = msgspec.field(default_factory=time.monotonic)
    sources: Sources = []
    notes: list[str] = []
    unreachable: dict[str, str] = {}  # hosts of launches without records, and why
    alone: bool = False  # rounds are those of the arguments, and no launch follows the first one
    looked: dict[Size, int] = {}  # stages with records, of each size
    took: dict[Size, float] = {}  # seconds of the last launch of each, per round and pass

    def sweep(self, judge: Callable[[Sources], Verdict], wanted: float, *, quick: bool) -> None:
        """All rounds, as the arguments want them, or few of them (`quick`); then what a host slower by `wanted` that could be missed, or a suspect, needs. With
        rounds of their own, the launches are not followed by others."""
        from imb.fabric.rounds import whole_sweep
        from imb.fabric.stages import Stage, search

        verdict: Verdict | None = None

        def look() -> Verdict:
            nonlocal verdict
            verdict = judge(self.sources)
            return verdict

        ranks = self.intent.ranks
        stages = search(ranks, self.seed, self.sizes, wanted, look, quick=quick, passes=self.passes)
        if self.alone:
            stages = iter([Stage(None, self.passes or FIRST_ALONE, self.sizes)])
        rounds, passes = self._run(stages, lambda: _suspected(verdict) if verdict else "", quick=quick)
        if quick and rounds:
            self.notes.append(
                f"{counted(rounds, 'round')} in all, the first ones in {counted(passes, 'pass')}; "
                f"a whole sweep has {whole_sweep(ranks)}"
            )

    def planned(self, *, quick: bool) -> list[str]:
        """The first launches, and those that may follow."""
        from imb.fabric.inference import FEWEST_ENDPOINTS
        from imb.fabric.rounds import few_rounds, whole_sweep
        from imb.fabric.stages import CONFIRMING, DOUBLED, FIRST, QUICK_FIRST

        ranks = self.intent.ranks
        whole, first = whole_sweep(ranks), QUICK_FIRST if quick else FIRST
        rounds, passes = few_rounds(ranks) if quick else whole, self.passes or first
        each = "those of the arguments" if self.alone else counted(rounds, "round")
        seconds = max(_LEAST, _ROUND * rounds * passes)
        lines = [
            f"launch {number}: {name} {size(length)}, {counted(ranks, 'rank')} ({self.endpoint}), {each}, {counted(passes, 'pass')}"
            + ("" if self.alone else f", about {seconds:.0f} s")
            for number, (name, length) in enumerate(self.sizes, 1)
        ]
        if self.passes is None and not self.alone and ranks >= FEWEST_ENDPOINTS:
            within = f"{self.budget:g} s (--budget)" if self.budget is not None else f"{_FURTHER:.0f} s"
            lines += [
                f"then, while a slow host could be missed: {'other rounds, up to ' + counted(whole, 'round') + ', then ' if quick else ''}"
                f"as many passes again, up to {first << DOUBLED}, within {within}",
                f"then, of what is suspected: {counted(2 * CONFIRMING, 'pass')} of {min(whole, 8)} to {counted(whole, 'round')} that confirm it, twice at most",
            ]
        return [*lines, f"times at {_ROUND:g} s for a round; nothing was run"]

    def _run(self, stages: Iterator[Stage], suspected: Callable[[], str], *, quick: bool) -> tuple[int, int]:
        """As long as there is time for the next one, and it leaves records; different rounds, and passes of the first ones. A quick search has
        advice of its own on passes."""
        from imb.fabric.rounds import whole_sweep

        rounds = passes = 0
        for stage in stages:
            again = stage.why == "again"
            many = whole_sweep(self.intent.ranks) if stage.rounds is None else len(stage.rounds)
            if rounds:
                more = (
                    f"{counted(stage.passes, 'pass')} of {counted(many, 'round')} to confirm {suspected()}"
                    if stage.why == "confirm"
                    else f"{counted(many, 'round')} more of {_listed(stage.sizes)}"
                    if stage.why == "wider"
                    else f"{counted(stage.passes, 'pass')} more of {_listed(stage.sizes)}"
                )
                needed = sum(
                    max(_LEAST, self.took.get(measured, 0) * many * stage.passes) for measured in stage.sizes
                )
                left = self._left() if self.budget is not None else _FURTHER - (time.monotonic() - self.began)
                if needed > left:
                    self.notes.append(
                        f"no time for {more}: some {needed:.0f} s, {max(left, 0):.0f} s left; give --budget"
                        + (f" or --passes {passes + stage.passes}" if again and not quick else "")
                    )
                    break
                so_far = counted(passes, "pass") if again else counted(rounds, "round")
                word = "suspected" if stage.why == "confirm" else "undecided"
                say(f"imb: {word} after {so_far}: {more}", err=True)
            before = len(self.sources)
            self._launch(stage)
            if len(self.sources) == before:
                break
            passes += stage.passes if again or not rounds else 0
            if stage.why != "confirm":
                rounds = many if stage.rounds is None else rounds + many
        return rounds, passes

    def _left(self) -> float:
        """Seconds of the budget."""
        return float("inf") if self.budget is None else self.budget - (time.monotonic() - self.began)

    def _launch(self, stage: Stage) -> None:
        """One launch for each benchmark and size; what they leave is kept as runs, whatever comes of them."""
        from imb.fabric.rounds import whole_sweep
        from imb.measure import execution, fabric, lock, session

        stages = max(self.looked.values(), default=0)
        options = ["-seed", str((self.seed + stages) % 2**31), "-passes", str(stage.passes)]
        rounds = stage.rounds
        work = stage.passes * (whole_sweep(self.intent.ranks) if rounds is None else len(rounds))
        for number, benchmark_size in enumerate(stage.sizes):

            def planned(share: float, benchmark_size: Size = benchmark_size) -> Plan:
                return fabric.plan_sweep(
                    self.archive,
                    mpi=self.mpi,
                    programs=self.programs,
                    intent=self.intent,
                    endpoint=self.endpoint,
                    sizes=[benchmark_size],
                    arguments=[*self._patience(share), *options, *self.arguments],
                    timeout=min(self.timeout, max(share, _LEAST)),
                    labels=self.labels,
                    rounds=rounds,
                )

            build_for([planned(_LEAST)], self.mpi, self.given)  # before its share, as it takes time
            share = self._left() / (len(stage.sizes) - number)
            if share < _LEAST and self.sources:
                self.notes.append(f"--budget is used up; {_listed([benchmark_size])} not measured")
                continue
            report = {**self.report, "earlier": [name for name, _ in self.sources]}
            plan = msgspec.structs.replace(planned(share), command="fabric", report=report)
            session.save(self.archive, plan)
            if rounds is not None:
                fabric.write_rounds(self.archive, plan, rounds)
            with lock.held(self.archive, plan, lambda line: say(f"imb: {line}", err=True)):
                before, begun = len(self.sources), time.monotonic()
                self._see(execution.execute, plan)
                if len(self.sources) > before:
                    self.looked[benchmark_size] = self.looked.get(benchmark_size, 0) + 1
                    self.took[benchmark_size] = (time.monotonic() - begun) / max(work, 1)

    def _patience(self, share: float) -> list[str]:
        """With --budget, an endpoint that does not answer is left out in time for the others to be measured."""
        return [] if self.budget is None else ["-pair_timeout", f"{min(30.0, max(1.0, share / 4)):.3g}"]

    def _see(self, execute: Callable[..., list[Done]], plan: Plan) -> None:
        from imb.measure import session

        try:
            [over] = execute(
                self.archive, plan, plan.items, on_problem=lambda item, line: say(f"imb: {line}", err=True)
            )
        except KeyboardInterrupt:  # behind the launch
            for ended in session.done(self.archive, plan).values():
                self._keep(self.archive.run(ended.run))
            raise
        run = self.archive.run(over.run)
        recorded = "records.jsonl" in run.manifest.files
        if over.outcome == "interrupted":
            self._keep(run)
            raise KeyboardInterrupt
        if why := problem_of(self.archive, plan, over):
            if over.outcome == "timed_out" and (plan.timeout or 0) < self.timeout:
                why = f"killed after {plan.timeout:.3g} s (--budget)"
            if over.status == USAGE and not recorded and not self.sources:
                raise ImbError(why)
            if not recorded:
                self.unreachable |= unreachable_of(run, plan.variants[0].intent.hosts or ())
            self.notes.append(f"{why} (launch {run.name})" if not recorded else f"{run.name}: {why}")
        self._keep(run)

    def _keep(self, run: StoredRun) -> None:
        if "records.jsonl" in run.manifest.files:
            self.sources.append((run.name, run.folder / "records.jsonl"))


def _suspected(verdict: Verdict) -> str:
    names = [suspect.name for suspect in verdict.suspects]
    return (
        f"{', '.join(names[:3])}{f' and {len(names) - 3} others' if len(names) > 3 else ''}"
        or "all endpoints"
    )


def _listed(sizes: Sequence[Size]) -> str:
    return ", ".join(f"{name} {size(length)}" for name, length in sizes)


@contextmanager
def kept_named(sources: Sources) -> Iterator[None]:
    """When interrupted, prints how to judge the runs that have records by then."""
    try:
        yield
    except KeyboardInterrupt:
        if sources:
            names = " ".join(name for name, _ in sources)
            say(f"imb: judge what was measured: imb fabric {names}", err=True)
        raise


def refuse_own(
    arguments: Sequence[str], benchmarks: Sequence[str], *, quick: bool, rounds: bool, budget: bool
) -> None:
    """IMB arguments that `imb fabric` gives itself, that measure nothing, or that are none. Raises ImbError."""
    own = {
        "passes": "give --passes",
        "seed": "give --seed",
        "endpoint": "give --endpoint",
        "pairs_file": "run IMB-FABRIC itself",
    }
    own |= dict.fromkeys(("msgsize", "msgsz", "msglen", "msglog", "include", "exclude"), "give -b NAME:BYTES")
    if rounds:
        own["rounds"] = "give --rounds"
    if quick:
        own |= dict.fromkeys(("rounds", "halves"), "omit --quick")
    if budget:
        own["pair_timeout"] = "omit --budget"
    known = {benchmark.lower(): benchmark for benchmark in benchmarks}
    for number, argument in enumerate(arguments):
        name = (
            re.sub("^--?", "", argument).lower() if argument.startswith("-") else ""
        )  # as the suite reads it
        if name in own:
            raise ImbError(f"{argument} is set by imb fabric; {own[name]} instead")
        if name in ("help", "h", "list", "version"):
            raise ImbError(f"{argument} measures nothing; run IMB-FABRIC {argument} itself")
        if benchmark := next((known[word] for word in argument.lower().split(",") if word in known), None):
            raise ImbError(
                f"{argument}: a benchmark is not named after --; give -b {benchmark}:BYTES instead"
            )
        if not number and not argument.startswith("-"):
            raise ImbError(f"{argument}: not an IMB argument; NAME goes before --")
