"""Live progress of a session on standard error."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from imb.model.text import one_line
from imb.model.units import noun_for, rough_duration
from imb.report.terminal import Screen, fold_text, text_width

if TYPE_CHECKING:
    from imb.runner.session import FinishedLaunch, Item, Plan

LONGEST_SILENCE = 4.0  # most seconds without a line if there is no bar


class Display:
    """Shows progress. On a terminal, a bar has the launch, benchmark, message size and remaining time. Elsewhere, lines have the commands and,
    at the beginning of a round, the remaining time.

    `commands`: whether to show commands; `verbose`: whether to show the complete command of every launch. If the plan grows, the
    number of launches and the remaining time are not shown.
    """

    def __init__(
        self,
        plan: Plan,
        expected_seconds: dict[tuple[object, ...], float],
        *,
        commands: bool = True,
        verbose: bool = False,
    ) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.plan = plan
        self.expected_seconds = expected_seconds
        self.commands = commands
        self.verbose = verbose
        self.commands_shown: set[tuple[object, ...]] = set()
        self.total = len(plan.items)
        self.screen = Screen(err=True)
        self.live = self.screen.console.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[left]}"), console=self.screen.console,
            transient=True, disable=not self.live, redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self.task = self.bar.add_task("starting", total=self.total, left="")
        self.number = 0
        self.turn = 0
        self.count = 0
        self.at_once = 1
        self.remaining_at_begin: float | None = None
        self.last_line_at = time.monotonic()

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def say(self, line: str) -> None:
        """Remove the bar and print a line."""
        self.bar.stop()
        self.warn(line)

    def warn(self, line: str) -> None:
        """Print a line above the bar while launches run. May be called from any thread."""
        self.last_line_at = time.monotonic()
        self.screen.line(line)

    def show_time_left(self, over: list[FinishedLaunch], turn: int | None) -> None:
        """Print the remaining time at the beginning of a campaign's round, if it is known."""
        from imb.runner import session

        rounds = max(item.turn for item in self.plan.items)
        seconds_left = session.remaining_seconds(self.plan, over, self.expected_seconds)
        if self.plan.campaign and turn not in (None, self.turn) and seconds_left is not None:
            self.turn = turn or 0
            limit = " at most" if self.plan.until else ""
            self.say(f"round {turn} of{limit} {rounds}: about {rough_duration(seconds_left)} left{limit}")

    def begin(self, items: Sequence[Item], over: list[FinishedLaunch]) -> None:
        """Show that `items` will be launched now, interleaved if there are several."""
        from imb.runner import session

        self.show_time_left(over, items[0].turn)
        self.number = items[0].number
        self.at_once = len(items)
        self.remaining_at_begin = session.remaining_seconds(self.plan, over, self.expected_seconds)
        self.count = len(over)
        if not (self.live or self.commands) and time.monotonic() > self.last_line_at + LONGEST_SILENCE:
            self.say(f"launch {self.number}" if self.plan.grows else f"launch {self.number} of {self.total}")

    def show_command(self, item: Item, command: object) -> None:
        """Print the command, without the file of records, once for all launches that do the same work. The facts of each run have the whole
        command."""
        if self.verbose:
            self.say(f"$ {command}")
        elif self.commands and item.work_key() not in self.commands_shown:
            self.commands_shown.add(item.work_key())
            text, _, _ = str(command).partition(" -json ")
            for line in fold_text(f"$ {text}", text_width(err=True), end=" \\"):
                self.say(line)
        self.bar.start()

    def show(self, progress: object, seconds: float) -> None:
        from imb.runner.progress import Progress

        assert isinstance(progress, Progress)
        total = "" if self.plan.grows else f"/{self.total}"
        seconds_left = (
            progress.seconds_left(seconds)
            if self.remaining_at_begin is None
            else max(self.remaining_at_begin - seconds, 0)
        )
        if seconds_left is not None and self.remaining_at_begin is None:
            seconds_left += (self.total - self.count - self.at_once) / self.at_once * (seconds + seconds_left)
        length = "" if progress.bytes is None else f" {progress.bytes} {noun_for(progress.bytes, 'byte')}"
        in_pass = "" if progress.pass_ is None else f" pass {progress.pass_}"
        self.bar.update(
            self.task,
            description=one_line(
                f"launch {self.number}{total}{in_pass} {progress.benchmark or 'starting'}{length}"
            ),
            completed=self.count + progress.fraction,
            left="" if seconds_left is None or self.plan.grows else f"{rough_duration(seconds_left)} left",
        )

    def end(self) -> None:
        """Remove the bar before the lines of these launches are printed on standard output."""
        self.bar.update(self.task, completed=self.count + self.at_once, description="", left="")
        self.bar.stop()
