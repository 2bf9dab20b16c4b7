"""Divides a log into launches by the text between its tables."""

from __future__ import annotations

from collections.abc import Callable

from imb.model.catalog import kind_of
from imb.model.records import End, Failure
from imb.readers.imb_facts import end_of, run_of, unsupported_component
from imb.readers.messages import WARNING_OF_SUITE, FailureMessages
from imb.readers.parsed_log import Log, LoggedLaunch
from imb.readers.preamble import LogEvent, Titles


class Launches:
    """The launches so far. Tables belong to `current`; the events since its last table may begin another launch."""

    def __init__(self, log: Log, line_of: Callable[[int], int]) -> None:
        self.log, self.line_of = log, line_of
        self.current: LoggedLaunch | None = None
        self.titles = Titles()
        self.pending: list[LogEvent] = []  # events since the last table
        self.pending_start = 0
        self.closed = False  # whether the log shows the end of the current launch
        self.is_open = False  # whether a further table belongs to the current launch; read for each table
        self.passes: tuple[str, str, str] | None = (
            None  # number of passes, seconds, percent of the seconds in timed regions
        )
        self.failed = FailureMessages()
        self.passed_over: list[tuple[int, str]] = []
        self.more = 0  # number of further skipped lines
        self.asks_for_multi = False  # whether the command line of the current launch has -multi

    def take(self, events: tuple[LogEvent, ...], start: int) -> None:
        """Takes the events in the text at `start`."""
        for event in events:
            if event.kind == "text":
                self.take_other_text(start + event.at, event.text)
            elif event.kind == "failure":
                self.add_benchmark_failure(event, start)
            elif event.kind == "passes":
                self.passes = event.parts
            elif event.kind == "end":
                self.flush(table=False)
                if self.current is not None:
                    self.current.end = end_of(event, self.passes)
                    self.closed, self.is_open = True, False
                self.passes = None
            else:
                if not self.pending:
                    self.pending_start = start + event.at
                elif event.kind == "banner" and any(earlier.kind == "banner" for earlier in self.pending):
                    self.flush(table=False)  # a launch without a table
                    self.pending_start = start + event.at
                self.pending.append(event)
                self.is_open = False

    def take_other_text(self, at: int, text: str) -> None:
        """Takes a line outside of tables. Keeps it if it may state why the launch before it failed."""
        if WARNING_OF_SUITE.match(text):  # about the launch itself
            return
        if self.current is not None and not self.pending and self.failed.take(text):
            return
        self.passed_over.append((at, text))

    def end_current(self) -> None:
        """Gives the current launch an end record if messages show that it failed."""
        why = self.failed.reason()
        if why is None or self.current is None:
            return
        if self.current.end is None:
            self.current.end = End(state="aborted")
        self.current.end.reason = self.current.end.reason or why

    def add_benchmark_failure(self, event: LogEvent, start: int) -> None:
        """Adds a failure for a line `# !! Benchmark X invalid for N processes !!`."""
        if self.current is None or self.pending:
            self.flush(table=True, at=start + event.at)
        assert self.current is not None
        self.current.items.append(
            Failure(
                benchmark=event.benchmark,
                kind=kind_of(event.benchmark, self.current.run.component),
                processes=event.number,
                cause="invalid_processes" if event.number is not None else "unavailable",
                detail=event.text,
                line=self.line_of(start + event.at),
            )
        )

    def flush(self, *, table: bool, at: int = 0) -> None:
        """Begins a launch with the events since the last table, if they or a table require one."""
        banner = any(event.kind == "banner" for event in self.pending)
        for event in self.pending:
            if event.kind == "title":
                self.titles.enter(event.text, event.style)
        if table or banner:
            start = self.pending_start if self.pending else at
            facts = run_of([event for event in self.pending if event.kind != "title"])
            other = unsupported_component(self.pending)
            self.end_current()
            # Text before the first launch belongs to that launch, so that the runs contain the whole file.
            self.current = LoggedLaunch(
                facts,
                0 if not self.log.launches else start,
                label=self.titles.path(),
                items=[],
                unsupported=other,
            )
            self.log.launches.append(self.current)
            options = (word.lower().partition("=")[0] for word in facts.command_line or [])
            self.asks_for_multi = any(option in ("-multi", "--multi") for option in options)
            self.pending = []
            self.closed, self.is_open = False, True
        elif not table:
            self.pending = [event for event in self.pending if event.kind != "title"]
            self.is_open = self.current is not None and not self.pending and not self.closed
