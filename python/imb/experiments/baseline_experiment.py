"""`imb baseline check`: compares new launches or existing results with a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from imb.experiments.launch_lines import report_incomplete
from imb.experiments.rounds import Rounds
from imb.model.statuses import Status
from imb.report.terminal import say, write_data, write_json
from imb.runner.experiment import SessionEnd
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.history.baseline_check import BaselineCheck
    from imb.model.observations import Side


class CheckSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How results are checked. `name`: the baseline's name; `tolerances`: metric -> share; if empty, the baseline's tolerances apply."""

    name: str
    tolerances: dict[str, float] = {}
    force: bool = False
    assume_one_session: bool = False
    assume_stable: bool = False
    rows: bool = False
    format: Literal["terminal", "json", "junit"] = "terminal"


class CheckedResults(NamedTuple):
    """Results and their check."""

    results: Side
    check: BaselineCheck


class RecheckExperiment(Rounds[CheckSettings, CheckedResults]):
    """Sessions of `imb baseline check`."""

    Settings = CheckSettings

    def judge(self, executed: SessionEnd) -> CheckedResults:
        from imb.store import names

        plan = executed.plan

        def side(variant: str | None, name: str) -> Side:
            runs = [
                ended.run
                for ended in executed.over
                if variant in (None, plan.variants[plan.items[ended.number - 1].variant].name)
            ]
            return names.side_of(self.archive, runs, f"{name} in session {plan.id}")

        if len(plan.variants) == 1:
            return check_of(self.archive, self.settings, side(None, "measured"))
        old = side("old", f"old ({self.settings.name}), measured")
        return check_of(self.archive, self.settings, side("new", "new, measured"), old)

    def render(self, result: CheckedResults, executed: SessionEnd) -> int:
        complete = not report_incomplete(executed)
        return print_check(result, self.settings, complete=complete)


def check_of(
    archive: Archive, settings: CheckSettings, results: Side, old: Side | None = None
) -> CheckedResults:
    """The check of `results`. `old`: new launches with the baseline's settings, if there are any. Raises ImbError."""
    from imb.experiments.peers import comparable_launches
    from imb.history import baseline_check
    from imb.model.baseline_record import machine_of, placement_of
    from imb.store import baseline_versions

    versions = baseline_versions.baseline_versions(archive, settings.name)
    version = (
        versions[-1]
        if settings.force
        else baseline_check.choose(versions, machine_of(results), placement_of(results))
    )
    launches = [*(old.launches if old else ()), *results.launches]
    check = baseline_check.check(
        version,
        results,
        settings.tolerances,
        old=old,
        earlier=comparable_launches(archive, launches),
        force=settings.force,
        assume_one_session=settings.assume_one_session,
        assume_stable=settings.assume_stable,
    )
    return CheckedResults(results, check)


def print_check(checked: CheckedResults, settings: CheckSettings, *, complete: bool = True) -> int:
    """Prints the check and returns the exit status. `complete`: whether all launches were complete."""
    from imb.compare.comparison import EXIT, worst_verdict

    judged = checked.check
    verdict = worst_verdict(judged.comparisons)
    if settings.format == "json":
        write_json({"verdict": verdict, **msgspec.to_builtins(judged)})
    elif settings.format == "junit":
        from imb.report import junit

        suites = [
            junit.Suite(
                f"imb baseline check {judged.name}, {comparison.settings.metric}",
                comparison.verdict,
                junit.comparison_cases(comparison, checked.results),
            )
            for comparison in judged.comparisons
        ]
        write_data(junit.document(suites))
    else:
        from imb.report.comparison_text import print_comparison

        several = len(judged.comparisons) > 1
        for number, comparison in enumerate(judged.comparisons):
            if number:
                say("")
            print_comparison(
                comparison,
                all_rows=settings.rows,
                title=f"{comparison.settings.metric.replace('_', ' ')}: " if several else "",
                notes=() if number else judged.warnings,
            )
    return EXIT[verdict] if complete or verdict == "slower" else Status.FAILED
