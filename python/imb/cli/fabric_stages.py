"""The launches of `imb fabric`: a whole sweep, then further passes where they decide; with --quick a few rounds, then rounds that separate suspects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from imb.archive.store import Archive
from imb.cli.launch_words import problem_of
from imb.cli.launching import build_for
from imb.model.errors import ImbError
from imb.model.units import counted
from imb.render.terminal import say

if TYPE_CHECKING:
    from imb.fabric.rounds import Round
    from imb.fabric.stages import Stage
    from imb.fabric.verdict import Verdict
    from imb.measure.fabric import Endpoint
    from imb.measure.session import Done, Plan
    from imb.mpi.installations import Installation
    from imb.mpi.launch import Intent

USAGE = 2  # exit status of the suite for options that it refuses
_LEAST = 2.0  # seconds that a launch needs at least
_FURTHER = 600.0  # seconds within which further passes end, without --budget
Sources = list[tuple[str, Path]]


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
    began: float = msgspec.field(default_factory=time.monotonic)
    sources: Sources = []
    notes: list[str] = []
    looks: int = 0  # stages that were launched

    def sweep(self, judge: Callable[[Sources, float], Verdict], wanted: float) -> None:
        """All rounds, as the arguments want them; then, where a host slower by `wanted` could be missed or a suspect is undecided,
        further passes, unless `passes` are given. `judge` gets the share of the level."""
        from imb.fabric.stages import Stage, share_of_look, sweep_search

        if self.passes is not None:
            self._launch(Stage(None, self.passes, self.sizes))
            return
        self._run(
            sweep_search(
                self.sizes, wanted, lambda look: judge(self.sources, share_of_look(look, quick=False))
            )
        )

    def quick(self, judge: Callable[[Sources, float], Verdict], wanted: float) -> None:
        """Few rounds and further passes of them; then, while something is undecided, rounds for the suspects so far."""
        from imb.fabric.rounds import whole_sweep
        from imb.fabric.stages import quick_search, share_of_look

        verdict: Verdict | None = None

        def look(number: int) -> Verdict:
            nonlocal verdict
            verdict = judge(self.sources, share_of_look(number, quick=True))
            return verdict

        ranks = self.intent.ranks
        ran = self._run(
            quick_search(ranks, self.seed, self.sizes, wanted, look, self.passes),
            lambda: _suspected(verdict) if verdict else "",
        )
        self.notes.append(f"{counted(ran, 'round')} in all; a whole sweep has {whole_sweep(ranks)}")

    def _run(self, stages: Iterator[Stage], suspected: Callable[[], str] = str) -> int:
        """As long as there is time for the next one; the number of different rounds."""
        from imb.fabric.rounds import whole_sweep

        first: list[Round] | None = None
        rounds = passes = work = 0
        for stage in stages:
            again = self.looks > 0 and stage.rounds == first
            many = whole_sweep(self.intent.ranks) if stage.rounds is None else len(stage.rounds)
            if self.looks:
                took = time.monotonic() - self.began
                wanted = max(took * many * stage.passes / work, _LEAST * len(stage.sizes))
                if wanted > min(self._left(), _FURTHER - took):
                    self.notes.append(
                        f"undecided; {counted(stage.passes, 'further pass')} would take some {wanted:.0f} s: "
                        f"give a longer --budget or --passes {passes + stage.passes}"
                        if again
                        else f"no time for {counted(many, 'round')} more on {suspected()}: give a longer --budget"
                    )
                    break
                more = (
                    f"undecided after {counted(passes, 'pass')}; {stage.passes} more"
                    if again
                    else f"{counted(many, 'round')} more on {suspected()}"
                )
                say(f"imb: {more}", err=True)
            self._launch(stage)
            if not self.looks:
                first = stage.rounds
            self.looks += 1
            passes += stage.passes if again or not passes else 0
            rounds += 0 if again else many
            work += many * stage.passes
        return rounds

    def _left(self) -> float:
        """Seconds of the budget."""
        return float("inf") if self.budget is None else self.budget - (time.monotonic() - self.began)

    def _launch(self, stage: Stage) -> None:
        """One launch for each benchmark and size; what they leave is kept as runs, whatever comes of them."""
        from imb.measure import execution, fabric, lock, session

        options = ["-seed", str((self.seed + self.looks) % 2**31), "-passes", str(stage.passes)]
        rounds = stage.rounds
        for number, one in enumerate(stage.sizes):
            share = self._left() / (len(stage.sizes) - number)
            if share < _LEAST and self.sources:
                self.notes.append(f"--budget is used up; {one[0]}, {one[1]} bytes was not measured")
                continue
            made = fabric.plan_sweep(
                self.archive,
                mpi=self.mpi,
                programs=self.programs,
                intent=self.intent,
                endpoint=self.endpoint,
                sizes=[one],
                arguments=[*self._patience(share), *options, *self.arguments],
                timeout=min(self.timeout, max(share, _LEAST)),
                labels=self.labels,
                rounds=rounds,
            )
            build_for([made], self.mpi, self.given)
            session.save(self.archive, made)
            if rounds is not None:
                fabric.write_rounds(self.archive, made, rounds)
            with lock.held(self.archive, made, lambda line: say(f"imb: {line}", err=True)):
                self._see(execution.execute, made)

    def _patience(self, share: float) -> list[str]:
        """With --budget, an endpoint that does not answer is left out in time for the others to be measured."""
        return [] if self.budget is None else ["-pair_timeout", f"{min(30.0, max(1.0, share / 4)):.3g}"]

    def _see(self, execute: Callable[..., list[Done]], made: Plan) -> None:
        [over] = execute(
            self.archive, made, made.items, on_problem=lambda item, line: say(f"imb: {line}", err=True)
        )
        if over.outcome == "interrupted":
            raise KeyboardInterrupt
        run = self.archive.run(over.run)
        recorded = "records.jsonl" in run.manifest.files
        if why := problem_of(self.archive, made, over):
            if over.status == USAGE and not recorded and not self.sources:
                raise ImbError(why)
            self.notes.append(f"{run.name}: {why}")
        if recorded:
            self.sources.append((run.name, run.folder / "records.jsonl"))


def _suspected(verdict: Verdict) -> str:
    names = [one.name for one in verdict.suspects]
    return (
        f"{', '.join(names[:3])}{f' and {len(names) - 3} others' if len(names) > 3 else ''}"
        or "all endpoints"
    )
