"""The interface between a command that launches and its session: which launches follow, the verdict, and how it is shown.

There is one `Experiment` object per session and process. Most commands keep their launches: `imb.experiments.session_loop` executes an
`ArchivedExperiment`, `imb run --resume` creates it again from the plan, and `imb.registry` maps commands to their classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from imb.runner.session import FinishedLaunch, Plan, settings_of
from imb.store.store import Archive


class NoSettings(msgspec.Struct, frozen=True):
    """The settings of an experiment that needs only its plan."""


class Shows(NamedTuple):
    """Which lines about launches are shown in addition to the experiment's result. `measured`: the commands, and a line for each measured launch;
    `failures`: a line for each other launch, and a warning if other processes were active; `tables`: the rows, if the session has a
    single launch; `on_stdout`: whether these lines are the result and go to standard output instead of standard error."""

    measured: bool = True
    failures: bool = True
    tables: bool = False
    on_stdout: bool = False


class Next(NamedTuple):
    """How a session continues. `plan`: the plan with more launches at its end or with other settings, or None if it stays; `stop`: why the
    session stops before its planned launches are over, or None if it does not."""

    plan: Plan | None = None
    stop: str | None = None


class SessionEnd(NamedTuple):
    """A session after its launches. `over`: the launches that ended; `left_out`: the number of launches whose variant could not be set up or
    started; `stopped`: why the session stopped before all launches, or None if it did not; `plan`: the plan with all launches that were
    added; `usage_errors`: whether the suite refused the arguments of all launches."""

    over: list[FinishedLaunch]
    left_out: int
    stopped: str | None
    plan: Plan
    usage_errors: bool = False


Say = Callable[[str], None]
S = TypeVar("S", bound=msgspec.Struct)  # settings
R = TypeVar("R")  # result


class Experiment(ABC, Generic[S, R]):
    """A session of a command. `Settings`: the command's options that the plan records. If `Plan.grows`, the session is over when `next` adds no
    launches."""

    Settings: ClassVar[type[msgspec.Struct]] = NoSettings

    def __init__(self, plan: Plan) -> None:
        """Raises ImbError if the plan does not have these settings."""
        self.settings: S = settings_of(plan, self.Settings)  # type: ignore[assignment]

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        """How the session continues after the launches that are over. `turn`: the next round, or None if all planned launches are over."""
        return Next()

    @abstractmethod
    def judge(self, executed: SessionEnd) -> R:
        """Computes the result. Raises ImbError if the launches yield none."""

    @abstractmethod
    def render(self, result: R, executed: SessionEnd) -> int:
        """Prints the result and returns the exit status. Raises ImbError."""

    def conclude(self, executed: SessionEnd) -> int:
        """Calls `judge` and `render`; returns the exit status. Raises ImbError."""
        return self.render(self.judge(executed), executed)


class ArchivedExperiment(Experiment[S, R]):
    """An experiment whose launches become runs of the archive, so an interrupted session can be resumed. `shows`: lines about its launches."""

    shows: ClassVar[Shows] = Shows()

    def __init__(self, archive: Archive, plan: Plan) -> None:
        """Raises ImbError if the plan does not have these settings."""
        super().__init__(plan)
        self.archive = archive

    def hint_on_interrupt(self) -> str | None:
        """What a user who interrupted the session can do with its results so far, or None if there is nothing to say."""
        return None
