"""Executes the experiments of `imb health`. It is the loop of imb.experiments.session_loop without an archive: the results of
launches stay in memory, so a check leaves nothing but its file."""

from __future__ import annotations

from typing import Any

from imb.health import checks
from imb.health.health_experiment import HealthExperiment
from imb.report.terminal import say
from imb.runner.experiment import SessionEnd
from imb.runner.session import FinishedLaunch, Item, Plan


def carry_out(experiment: HealthExperiment[Any, Any], plan: Plan) -> int:
    """Launches, judges and prints; returns the exit status. Raises ImbError, OSError."""
    return experiment.conclude(launch_all(experiment, plan))


def launch_all(experiment: HealthExperiment[Any, Any], plan: Plan) -> SessionEnd:
    """Runs the planned launches and those that the experiment adds. Raises ImbError, OSError."""
    over: list[FinishedLaunch] = []
    while True:
        for item in plan.items[len(over) :]:
            if stop := experiment.next(plan, over, item.turn, _say).stop:
                return SessionEnd(over, 0, stop, plan)
            over.append(_launch(experiment, plan, item))
        following = experiment.next(plan, over, None, _say)
        if following.stop or following.plan is None:
            return SessionEnd(over, 0, following.stop, plan)
        plan = following.plan


def _launch(experiment: HealthExperiment[Any, Any], plan: Plan, item: Item) -> FinishedLaunch:
    sessions = experiment.learned.sessions
    try:
        launch = checks.measure(plan, item, sessions[0].values if sessions else ())
    except checks.MeasurementError as error:
        experiment.failure = error
        return FinishedLaunch(number=item.number, run="", outcome="failed", problem=str(error))
    experiment.measured.append(launch)
    return FinishedLaunch(number=item.number, run="", outcome="measured", seconds=launch.seconds)


def _say(line: str) -> None:
    say(line, err=True)
