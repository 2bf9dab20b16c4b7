"""`imb ab`: compares the launches of variant A with the launches of variant B."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from imb.experiments.launch_lines import report_incomplete
from imb.experiments.rounds import Rounds
from imb.model.units import count_of
from imb.report.terminal import explain_wait, write_json
from imb.runner.experiment import SessionEnd

if TYPE_CHECKING:
    from imb.compare.comparison import Comparison


class AbSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How two variants are compared. `cvars`: each launch measures both, as variants of -alternate."""

    cvars: bool = False
    relevant: float
    metric: str
    rows: bool = False
    format: Literal["terminal", "json"] = "terminal"


class AbExperiment(Rounds[AbSettings, "Comparison"]):
    """Sessions of `imb ab`."""

    Settings = AbSettings

    def judge(self, executed: SessionEnd) -> Comparison:
        from imb.compare.comparison import CompareSettings, compare
        from imb.experiments.peers import comparable_launches
        from imb.model.observations import variant_side
        from imb.store.names import side_of

        plan, options = executed.plan, self.settings
        # A launch that stopped has no partner any more.
        kept = [done for done in executed.over if done.outcome != "stopped"]
        if options.cvars:
            both = side_of(self.archive, [done.run for done in kept], plan.campaign or "")
            sides = [variant_side(both, label) for label in "ab"]
        else:
            sides = [
                side_of(
                    self.archive,
                    [done.run for done in kept if plan.items[done.number - 1].variant == index],
                    f"{plan.campaign}/{label}",
                )
                for index, label in enumerate("ab")
            ]
        launches = [launch for side in sides for launch in side.launches]
        settings = CompareSettings(metric=options.metric, relevant=options.relevant)
        with explain_wait(f"comparing {count_of(len(launches), 'launch')}"):
            comparison = compare(sides[0], sides[1], settings, comparable_launches(self.archive, launches))
        if comparison.sequential:
            looks = msgspec.structs.replace(comparison.sequential, stopped=executed.stopped)
            comparison = msgspec.structs.replace(comparison, sequential=looks)
        return comparison

    def render(self, result: Comparison, executed: SessionEnd) -> int:
        from imb.compare.comparison import EXIT
        from imb.report.comparison_text import print_comparison

        report_incomplete(executed)
        if self.settings.format == "json":
            write_json(result)
        else:
            print_comparison(result, all_rows=self.settings.rows)
        return EXIT[result.verdict]
