"""The progress of a launch, from the records that it has written."""

from __future__ import annotations

import re

from imb.model.errors import UNDECODABLE
from imb.model.options import PassLimits, pass_limits
from imb.model.outcomes import stalled_problem
from imb.model.records import End, Failure, Pair, Result, Run, Sample, SampledRow, decode
from imb.model.units import noun_for
from imb.runner.passes import USUAL_LENGTHS, lengths_of_powers, process_counts

QUIET = 60.0  # seconds without a record before the first report; each further report after twice as many


def limit_in_words(timeout: float | None, stall_limit: float | None, session: str) -> str:
    """States when a launch that hangs is killed, or how the user can end it."""
    if timeout is not None:
        return f"it is killed after {timeout:g} s (--timeout)"
    if stall_limit is not None:
        return f"it is killed after {stall_limit:g} s without one, unless --timeout is given"
    return f"no time limit; end it with Ctrl-C, then continue with `imb run --resume {session} --timeout SECONDS`"


class Progress:
    """The progress of one launch; `feed` takes its JSON lines. `fraction` is an estimate that gives all rows the same weight. In passes, it is the
    used share of budget or passes; a launch may end before 1 if its rows are precise earlier."""

    def __init__(self) -> None:
        self.benchmark: str | None = None
        self.bytes: int | None = None
        self.pass_: int | None = None
        self.points = 0
        self.end: End | None = None
        self.ranks: int | None = None
        self._names: list[str] = []
        self._lengths = USUAL_LENGTHS
        self._tables: dict[tuple[object, ...], int] = {}
        self._layouts = 1
        self._limits: PassLimits | None = None
        self._share = 0.0  # used share of the limits
        self.begun = False  # whether there are records
        self.stalled = 0.0  # seconds without a new one
        self._fed = False  # whether a record came since the last call of `stall`
        self._last = 0.0  # seconds after the start at which the last record came
        self._quiet = QUIET
        self._rows: dict[int, SampledRow] = {}

    def feed(self, line: bytes) -> None:
        """Takes one line; ignores it if it is not a record."""
        try:
            record = decode(line)
        except UNDECODABLE:
            return
        self._fed = self.begun = True
        if isinstance(record, Run):
            self._begin(record)
        elif isinstance(record, End):
            self.end = record
        elif isinstance(record, SampledRow):
            self._rows[record.row] = record
        elif isinstance(record, Sample):
            self._sample(record)
        elif isinstance(record, Pair):
            self.benchmark, self.bytes, self.pass_ = record.benchmark, record.bytes, record.pass_
        else:
            self._point(record)

    def _begin(self, run: Run) -> None:
        self._names = run.benchmarks or []
        self._limits = pass_limits(run)
        if lengths := run.option("msgsize", list) or run.option("count", list):
            self._lengths = len(lengths)
        elif exponents := re.fullmatch(r"(\d{1,2}):(\d{1,2})", run.option("msglog", str) or ""):
            self._lengths = lengths_of_powers(int(exponents[1]), int(exponents[2]))
        self.ranks = len(run.ranks) if run.ranks else None
        self._layouts = process_counts(run.option("npmin", int) or 2, self.ranks or 0)

    def _sample(self, sample: Sample) -> None:
        if row := self._rows.get(sample.row):
            self.benchmark, self.bytes = row.benchmark, row.bytes
        self.pass_ = sample.pass_
        if self._limits and self._limits.budget:
            self._share = max(self._share, (sample.at_seconds or 0) / self._limits.budget)
        if self._limits and self._limits.passes:
            self._share = max(self._share, (sample.pass_ - 1) / self._limits.passes)

    def _point(self, record: Result | Failure) -> None:
        self.benchmark, self.bytes = record.benchmark, record.bytes
        self.points += 1
        table = (record.benchmark, record.processes, record.threads, record.mode, record.variant)
        self._tables[table] = self._tables.get(table, 0) + 1

    @property
    def fraction(self) -> float:
        """The estimated completed share, from 0 to 1."""
        if self.end:
            return 1.0
        if self._limits:
            return min(self._share, 1.0)
        if not self._names or not self.benchmark:
            return 0.0
        names = [name.lower() for name in self._names]
        where = names.index(self.benchmark.lower()) if self.benchmark.lower() in names else 0
        points = sum(
            min(n / self._lengths, 1) for table, n in self._tables.items() if table[0] == self.benchmark
        )
        return min((where + min(points / self._layouts, 1)) / len(names), 1.0)

    def stall(self, seconds: float) -> str | None:
        """A line to report if the launch, now `seconds` after its start, has written no record for long; else None. Updates `stalled`."""
        if self._fed or self.end:
            self._fed, self._last, self._quiet = False, seconds, QUIET
        self.stalled = seconds - self._last
        if self.stalled < self._quiet:
            return None
        quiet, self._quiet = self._quiet, 2 * self._quiet
        where = f"the last one is {self.benchmark}" if self.benchmark else "no record was written yet"
        length = "" if self.bytes is None else f", {self.bytes} {noun_for(self.bytes, 'byte')}"
        return f"{stalled_problem(quiet)}: {where}{length}"

    def seconds_left(self, seconds: float) -> float | None:
        """The estimated remaining seconds of this launch, now `seconds` after its start; None until that can be estimated."""
        fraction = self.fraction
        return seconds * (1 - fraction) / fraction if fraction > 0.02 else None
