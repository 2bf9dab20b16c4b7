"""The experiments of `imb health`: a session adds values to the file, and a check judges the host by them. Their launches are not
stored."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from imb.health import checks, health_text, limits
from imb.health.changed_conditions import ChangedConditions, refuse_other_launch
from imb.health.checks import CheckResult, HealthFile, HealthLaunch, LearnedSession, MeasurementError
from imb.health.figure_state import FigureState
from imb.health.health_planning import HealthCheckSettings, LearnSettings, add_launch
from imb.health.status import BAD
from imb.model.errors import ImbError
from imb.model.session_spacing import SESSIONS_APART
from imb.model.statuses import Status
from imb.model.text import now
from imb.model.units import count_of
from imb.report.terminal import say
from imb.runner.experiment import Experiment, Next, R, Say, SessionEnd
from imb.runner.session import FinishedLaunch, Plan

STATUS = {"healthy": Status.GOOD, "suspect": Status.UNDECIDED, "inconclusive": Status.UNDECIDED, "bad": BAD}
_NO_VERDICT = ("inconclusive", checks.CANNOT_JUDGE)
H = TypeVar("H", bound=LearnSettings)


class HealthExperiment(Experiment[H, R]):
    """An experiment whose launches are not stored. `learned`: the content of its file; `measured`: the results of its launches; `failure`:
    why the last launch has none, or None. imb.health.health_loop sets both."""

    def __init__(self, plan: Plan, learned: HealthFile) -> None:
        super().__init__(plan)
        self.path = Path(self.settings.file)
        self.learned = learned
        self.measured: list[HealthLaunch] = []
        self.failure: MeasurementError | None = None


class LearnExperiment(HealthExperiment[LearnSettings, "HealthFile | None"]):
    """`imb health --learn`: a session of launches. Its result is the file with the session, or None if nothing was measured."""

    Settings = LearnSettings

    def __init__(self, plan: Plan, learned: HealthFile, before: HealthFile | None) -> None:
        """`before`: the content of the file, or None if there is no file yet."""
        super().__init__(plan, learned)
        self._before = before

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        if not over:
            return Next(stop=self._obstacle(plan.created))
        if self.failure:
            raise self.failure
        refuse_other_launch(self.path, self.learned, self.measured[-1])
        return Next()

    def _obstacle(self, start: str) -> str | None:
        """Why no session is measured now, or None."""
        sessions = self.learned.sessions
        if len(sessions) >= limits.ENOUGH:
            return f"{count_of(len(sessions), 'session')} in {self.path}: enough; nothing measured"
        # If the clock was set back, the age is unknown.
        if sessions and timedelta(0) <= (age := _time_between(sessions[-1].at, start)) < SESSIONS_APART:
            return (
                f"the last session in {self.path} began {age.total_seconds() / 60:.0f} min ago; nothing measured, since sessions"
                f" {SESSIONS_APART.total_seconds() / 60:.0f} min apart show how they differ"
            )
        if suspects := [figure for figure, watched in self.learned.watched.items() if watched.suspect]:
            return (
                f"{', '.join(suspects)} of {self.learned.host} suspect; nothing measured before a check has found the host"
                " healthy"
            )
        return None

    def judge(self, executed: SessionEnd) -> HealthFile | None:
        if executed.stopped:
            return None
        launches, learned = self.measured, self.learned
        session = LearnedSession(
            at=executed.plan.created,
            seconds=round(max(launch.seconds for launch in launches), 3),
            values={figure: [launch.values[figure] for launch in launches] for figure in launches[0].values},
        )
        return replace(
            learned,
            library=learned.library or launches[0].library,
            settings=launches[0].settings if learned.settings is None else learned.settings,
            sessions=[*learned.sessions, session],
        )

    def render(self, result: HealthFile | None, executed: SessionEnd) -> int:
        if result is None:
            say(str(executed.stopped))
            return Status.GOOD
        values = result.sessions[-1].values
        say(
            f"session {len(result.sessions)} of {limits.ENOUGH} in {self.path}: {health_text.medians([values])}"
        )
        if (other_cpus := max(launch.others or 0.0 for launch in self.measured)) > checks.BUSY:
            say(
                f"imb: warning: other processes used {other_cpus:.1f} CPUs; limits of a busy host are high",
                err=True,
            )
        if len(result.sessions) >= limits.FEWEST:
            say(*health_text.sensitivity_lines(result))
        return Status.GOOD

    def conclude(self, executed: SessionEnd) -> int:
        """Also writes the file."""
        result = self.judge(executed)
        if result:
            checks.save(self.path, result, self._before)
        return self.render(result, executed)


class CheckOutcome(NamedTuple):
    """`verdict`: the verdict or CANNOT_JUDGE; `since`: for each suspect, when a check found it first; `checked`: the content of the file
    after the check."""

    verdict: str
    since: dict[str, str]
    checked: HealthFile


class CheckExperiment(HealthExperiment[HealthCheckSettings, CheckOutcome]):
    """A check: launches until all figures are decided or time is up."""

    Settings = HealthCheckSettings

    def __init__(self, plan: Plan, learned: HealthFile) -> None:
        super().__init__(plan, learned)
        self._check = limits.HealthCheck(limits.limits_of(learned.values()), learned.watched)
        self._launch_seconds = median(session.seconds for session in learned.sessions)
        self._changed: ChangedConditions | None = None

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        if turn is not None:
            return Next()
        if over and (stop := self._add_newest()):
            return Next(stop=stop)
        if not self._check.undecided:
            return Next()
        seconds_left = self.settings.deadline - time.monotonic() - checks.GRACE
        if self._launch_seconds > seconds_left:
            return Next(stop=f"time is up: a launch takes {self._launch_seconds:.1f} s")
        return Next(add_launch(plan, self.learned, seconds_left))

    def _add_newest(self) -> str | None:
        """Adds the values of the launch that just ended. Returns why the check ends, or None."""
        if self.failure:
            return str(self.failure)
        launch = self.measured[-1]
        try:
            refuse_other_launch(self.path, self.learned, launch)
        except ChangedConditions as error:
            self._changed = error
            return error.changed
        if (launch.others or 0.0) > checks.BUSY and (slow := self._check.exceeding_figures(launch.values)):
            return f"{', '.join(slow)} beyond the limit while other processes used {launch.others:.1f} CPUs"
        self._check.add(launch.values)
        self._launch_seconds = max(self._launch_seconds, launch.seconds)
        return None

    def judge(self, executed: SessionEnd) -> CheckOutcome:
        learned, check = self.learned, self._check
        if self._changed:
            last = _check_to_list(learned.last, learned.watched, checks.CANNOT_JUDGE, self._changed.changed)
            return CheckOutcome(checks.CANNOT_JUDGE, {}, replace(learned, last=last))
        verdict, since = check.verdict(now())
        checked = replace(
            learned,
            watched=check.watched,
            checks=learned.checks + 1,
            suspects=learned.suspects + bool(since),
            last=_check_to_list(learned.last, check.watched, verdict),
        )
        return CheckOutcome(verdict, since, checked)

    def render(self, result: CheckOutcome, executed: SessionEnd) -> int:
        if self._changed:
            raise ImbError(f"{checks.CANNOT_JUDGE}: {self._changed}") from self._changed
        try:
            health_text.print_verdict(
                self.learned, self._check, result.verdict, result.since, executed.stopped
            )
        except OSError as error:
            if result.verdict != "bad":
                raise
            say(f"imb: {self.learned.host} is bad; {error.filename}: {error.strerror}", err=True)
        return STATUS[result.verdict]

    def conclude(self, executed: SessionEnd) -> int:
        """Also writes the file, before the verdict is printed."""
        result = self.judge(executed)
        checks.save(self.path, result.checked, self.learned)
        return self.render(result, executed)


def _check_to_list(
    last: CheckResult | None, watched: Mapping[str, FigureState], verdict: str, why: str = ""
) -> CheckResult:
    """The check that `--list` prints for the host. It is this one, unless this one has no verdict and a
    suspect or bad one is still open."""
    open_suspect = any(figure.suspect for figure in watched.values())
    if last and last.verdict in ("bad", "suspect") and verdict in _NO_VERDICT and open_suspect:
        return last
    return CheckResult(at=now(), verdict=verdict, why=why)


def _time_between(first: str, later: str) -> timedelta:
    return datetime.fromisoformat(later) - datetime.fromisoformat(first)
