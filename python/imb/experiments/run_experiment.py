"""`imb run` and `imb campaign`: each launch is a result; at the end, shows how the launches of each variant vary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from imb.experiments.launch_lines import disturbance, report_incomplete
from imb.experiments.rounds import Rounds
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.text import shell_word
from imb.report.terminal import Screen, say
from imb.runner import session
from imb.runner.experiment import NoSettings, SessionEnd, Shows
from imb.runner.session import Plan
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.compare.variance import Variance

Variances = list[tuple[str, "Variance"]]  # (label of a variant, its variance components)


class RunExperiment(Rounds[NoSettings, Variances]):
    """Sessions of `imb run` and `imb campaign`."""

    shows = Shows(tables=True, on_stdout=True)

    def __init__(self, archive: Archive, plan: Plan) -> None:
        """Remembers in `over_before` the launches that are over, since a session without new launches has nothing to add."""
        super().__init__(archive, plan)
        self.over_before = len(session.finished_launches(archive, plan))

    def judge(self, executed: SessionEnd) -> Variances:
        """The variance components of each variant, if there are launches to compare."""
        from imb.experiments.peers import variance_of
        from imb.store.names import side_of

        plan, over = executed.plan, executed.over
        if len(over) <= self.over_before:
            return []
        if len(over) == 1 and self.archive.ids() == [over[0].run]:
            return []  # the archive has no other run to compare with
        found: Variances = []
        for number, variant in enumerate(plan.variants):
            runs = [
                ended.run
                for ended in over
                if plan.items[ended.number - 1].variant == number and ended.outcome != "interrupted"
            ]
            try:
                side = side_of(self.archive, runs, variant.name or plan.id)
            except ImbError:  # the launches have no results, which was reported already
                continue
            components = variance_of(self.archive, side)
            if components.outside_launches or len(side.launches) > 1:
                found.append((f"{plan.campaign}/{variant.name}" if plan.campaign else "", components))
        return found

    def render(self, result: Variances, executed: SessionEnd) -> int:
        """Prints tables of medians for `imb run`, and what limits their precision, unless that is other processes, which was reported already."""
        from imb.report.variance_tables import legend, short_block, tables

        plan, over = executed.plan, executed.over
        is_disturbed = disturbance(self.archive, (ended.run for ended in over)) is not None
        for label, components in result:
            curves = [] if plan.campaign or components.all_launches < 2 else tables(components, spread=False)
            for curve in curves:
                say("")
                screen = Screen()
                screen.table(curve.headings, curve.lines, title=curve.title, right=range(len(curve.headings)))
            if curves:
                say(legend(curves))
            if lines := short_block(components, cause_known=is_disturbed or components.all_launches < 2):
                title = f"{label}: " if label else ""
                say(*([] if curves else [""]), title + lines[0], *lines[1:])
        complete = not report_incomplete(executed)
        if command := _next_command(plan, [label for label, _ in result]):
            say(f"next: `{command}`")
        if complete:
            return Status.GOOD
        return Status.USAGE if executed.usage_errors else Status.FAILED


def _next_command(plan: Plan, measured: Sequence[str]) -> str | None:
    """The command that shows more about these variants, or None if launches have no label."""
    if plan.campaign:
        return f"imb compare {' '.join(map(shell_word, measured[:2]))}" if len(measured) > 1 else None
    label = next((label for item in plan.items for label in item.labels), None)
    return f"imb show {shell_word(label)}" if measured and label else None
