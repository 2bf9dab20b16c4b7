"""`imb run` and `imb campaign`: each launch is a result; at the end, how the launches of each variant vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imb.experiments.launch_lines import all_measured
from imb.experiments.rounds import Rounds
from imb.model.errors import ImbError
from imb.report.terminal import say
from imb.runner import session
from imb.runner.experiment import NoSettings, SessionEnd, Shows
from imb.runner.session import Plan
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.compare.variance import Variance

Variances = list[tuple[str, "Variance"]]  # with the title of each


class RunsExperiment(Rounds[NoSettings, Variances]):
    """Sessions of `imb run` and `imb campaign`."""

    shows = Shows(tables=True, on_stdout=True)

    def __init__(self, archive: Archive, plan: Plan) -> None:
        """`over_before`: launches that were over; a session without new ones has nothing to add."""
        super().__init__(archive, plan)
        self.over_before = len(session.done(archive, plan))

    def judge(self, executed: SessionEnd) -> Variances:
        """The variance components of each variant, where there is something to compare."""
        from imb.experiments.peers import variance_of
        from imb.store.names import side_of

        plan, over = executed.plan, executed.over
        if len(over) <= self.over_before:
            return []
        if len(over) == 1 and self.archive.ids() == [over[0].run]:
            return []  # the only run of the archive: there is nothing to compare it with
        found: Variances = []
        for number, variant in enumerate(plan.variants):
            runs = [
                ended.run
                for ended in over
                if plan.items[ended.number - 1].variant == number and ended.outcome != "interrupted"
            ]
            try:
                side = side_of(self.archive, runs, variant.name or plan.id)
            except ImbError:  # nothing was measured, which was reported already
                continue
            components = variance_of(self.archive, side)
            if components.unusual or len(side.launches) > 1:
                found.append((f"{plan.campaign}/{variant.name}: " if plan.campaign else "", components))
        return found

    def render(self, result: Variances, executed: SessionEnd) -> int:
        from imb.report.variance_tables import block

        for title, components in result:
            if lines := block(components):
                say("", title + lines[0], *lines[1:])
        if all_measured(executed):
            return 0
        return 2 if executed.usage_errors else 1
