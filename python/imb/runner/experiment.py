"""What a command that launches is to its session: which launches follow, the verdict on them, and how it is shown.

An `Experiment` is one object for each session and process. `imb.experiments.session_loop` carries it out, `imb run --resume` makes it again from the
plan, and `imb.registry` lists the classes by the command that plans their sessions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from imb.runner.session import FinishedLaunch, Plan, settings_of
from imb.store.store import Archive


class NoSettings(msgspec.Struct, frozen=True):
    """Of an experiment whose plan says everything."""


class Shows(NamedTuple):
    """What is shown of launches beside the experiment's own result. `measured`: their commands, and a line for each that was measured;
    `failures`: a line for each other one, and a warning of other processes; `tables`: the rows of the only launch of a session; `on_stdout`:
    these lines are the result, else they go to standard error."""

    measured: bool = True
    failures: bool = True
    tables: bool = False
    on_stdout: bool = False


class Next(NamedTuple):
    """What follows. `plan`: with more launches at its end, or with other settings; `stop`: why no more are launched."""

    plan: Plan | None = None
    stop: str | None = None


class SessionEnd(NamedTuple):
    """A session after its launches. `left_out`: launches whose variant could not be set up or started; `stopped`: why no more were launched, if
    the session stops when decided; `plan`: with the launches that followed; `usage_errors`: the suite refused the arguments of all launches."""

    over: list[FinishedLaunch]
    left_out: int
    stopped: str | None
    plan: Plan
    usage_errors: bool = False


Say = Callable[[str], None]
S = TypeVar("S", bound=msgspec.Struct)  # settings
R = TypeVar("R")  # result


class Experiment(ABC, Generic[S, R]):
    """A session of a command. `Settings`: what the plan records of the command's options; `grows`: launches follow that are not planned
    yet, so that a session is over when `next` has no more."""

    Settings: ClassVar[type[msgspec.Struct]] = NoSettings
    shows: ClassVar[Shows] = Shows()
    grows: ClassVar[bool] = False

    def __init__(self, archive: Archive, plan: Plan) -> None:
        """Raises ImbError where the plan has no such settings."""
        self.archive = archive
        self.settings: S = settings_of(plan, self.Settings)  # type: ignore[assignment]

    def next(self, plan: Plan, over: Sequence[FinishedLaunch], turn: int | None, say: Say) -> Next:
        """What follows after the launches that are over. `turn`: the round that would begin, or None if all that is planned was launched."""
        return Next()

    @abstractmethod
    def judge(self, executed: SessionEnd) -> R:
        """The result. Raises ImbError where there is none."""

    @abstractmethod
    def render(self, result: R, executed: SessionEnd) -> int:
        """Prints the result; the exit status. Raises ImbError."""

    def conclude(self, executed: SessionEnd) -> int:
        """Judges and prints; the exit status. Raises ImbError."""
        return self.render(self.judge(executed), executed)
