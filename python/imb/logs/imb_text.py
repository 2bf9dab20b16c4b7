"""The tables of IMB 3.x to 2021 and of OpenIMB, in logs or inside other text.

The way: find header rows (they hold "#repetitions"), read the lines above one as its head, and take the rows below
it as one block where they are regular, line by line where they are not. What stands above a table repeats all over a
log, so its meaning is remembered by its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from imb.logs import labeled_rows
from imb.logs import preamble as above
from imb.logs.imb_facts import (
    complete,
    drop_repeated_banners,
    end_of,
    run_of,
    unsupported,
)
from imb.logs.imb_heads import KNOWN, LONGEST, with_multi
from imb.logs.imb_rows import (
    MARK,
    NOTE,
    Header,
    Rows,
    converted,
    failure_of,
    header_of,
    quantiles_of,
    regular_rows,
    regular_until_blank,
    row_of,
)
from imb.logs.line_ends import as_in_file, without_cr
from imb.logs.table import Head, Log, LoggedLaunch, Stretch, lacks_time, no_time
from imb.logs.unread import (
    UnreadRow,
    bounded,
    is_broken,
    is_damaged,
    looks_like_row,
    notes_of,
    outside,
    problems_of,
)
from imb.model.catalog import kind_of
from imb.model.records import Failure, Problem

FORMAT = "imb"


def read_many(files: Sequence[tuple[bytes, str]]) -> list[Log]:
    """Every launch in each log. Never fails: what is not understood becomes a problem with its line.

    `files`: text, and the name that problems call it. Many at once are read faster than one by one.
    """
    readers = [_Reader(text, name) for text, name in files]
    for reader in readers:
        reader.scan()
    _convert(readers)
    return [reader.finish() for reader in readers]


def _convert(readers: Sequence[_Reader]) -> None:
    """Turns all blocks into numbers together; those that turn out not to be plain are read again, row by row."""
    launches = [launch for reader in readers for launch in reader.log.launches]
    odd = converted(stretch for launch in launches for stretch in launch.stretches())
    if odd:
        for reader in readers:
            reader.read_again(odd)


class _Reader:
    """One pass over one file."""

    def __init__(self, text: bytes, name: str) -> None:
        self.original = text
        self.text = without_cr(text)
        self.log = Log(name, FORMAT)
        self.launch: LoggedLaunch | None = None
        self.titles = above.Titles()
        self.pending: list[above.LogEvent] = []  # since the last table
        self.pending_start = 0
        self.closed = False  # the end of the current launch was printed
        self.passes: tuple[str, str, str] | None = None  # number, seconds, percent of them in timed regions
        self.line_at, self.line = 0, 1  # line numbers are counted once, along the way
        self.passed_over: list[tuple[int, str]] = []
        self.unread: list[UnreadRow] = []
        self.prefix = b""  # of the last table's lines
        self.headers: dict[bytes, Header | None] = {}
        self.known = KNOWN[False]

    def scan(self) -> None:
        text, at, start, labeled = self.text, 0, 0, self.text.find(labeled_rows.MARK)
        while max(mark := text.find(MARK, at), labeled) >= 0:
            if 0 <= labeled < at:
                labeled = text.find(labeled_rows.MARK, at)
                continue
            if labeled >= 0 and not 0 <= mark < labeled:
                start = at = self.labeled_table(start, labeled)
                continue
            row_end = text.find(b"\n", mark)
            if next_start := self.known_table(start, row_end):
                start = at = next_start
                continue
            row_start = text.rfind(b"\n", 0, mark) + 1
            row_end = len(text) if row_end < 0 else row_end
            header = self.header(text[row_start:row_end])
            if header is None:
                at = row_end
                continue
            self.prefix = header.prefix
            found = self.read_above(start, row_start, header.prefix)
            next_start = self.table(found.head, header, row_start, min(row_end + 1, len(text)))
            self.remember(found, start, row_end, header)
            start = at = next_start
        self.read_above(start, len(text), self.prefix, last=True)

    def known_table(self, start: int, row_end: int) -> int:
        """Takes the table whose header row ends at `row_end` if its head, the text from `start`, is known and its rows are
        regular; returns where the table ends. Else 0, and nothing is changed.

        Most tables of a log are read here. It is `read_above` and `table` for these, and copies the rows only.
        """
        if self.launch is None or self.pending or self.closed or not 0 <= row_end < start + LONGEST:
            return 0
        known = self.known.get(self.text[start:row_end])
        count = regular_until_blank(self.text, row_end + 1, known.width) if known else 0
        if known is None or not count:
            return 0
        line, first = self.line_of(start) + known.lines, row_end + 1
        end = first + count * known.width
        block = self.text[first : end - 1]
        self.launch.items.append(Stretch(known.head, known.columns, line, first, count, block))
        self.line_at, self.line = end, line + 1 + count
        return end

    def remember(self, found: above.Preamble, start: int, row_end: int, header: Header) -> None:
        """Keeps what the text from `start` to the end of the header row means, if it is a head and nothing else."""
        if found.events or not found.head.benchmark or header.prefix or "group" in header.columns:
            return
        head = self.with_multi(found.head, grouped=False)
        self.known.keep(self.text[start:row_end], head, header.columns)

    # --- Lines ---------------------------------------------------------------------------------------

    def line_of(self, at: int) -> int:
        """Number of the line at this byte; cheap as long as bytes are asked for in order."""
        if at == self.line_at:
            return self.line
        if at < self.line_at:
            self.line_at, self.line = 0, 1
        self.line += self.text.count(b"\n", self.line_at, at)
        self.line_at = at
        return self.line

    def problem(self, line: int, text: str) -> None:
        self.log.problems.append(Problem(self.log.name, line, text))

    def header(self, row: bytes) -> Header | None:
        """The columns that a header row names; None where the line only talks of #repetitions."""
        if row not in self.headers:
            if len(self.headers) > 1000:
                self.headers.clear()
            self.headers[row] = header_of(row)
        return self.headers[row]

    # --- Above a table -------------------------------------------------------------------------------

    def read_above(self, start: int, stop: int, prefix: bytes, *, last: bool = False) -> above.Preamble:
        """Reads the text before a table, or behind the last one."""
        found = above.read_preamble(self.text[start:stop], prefix)
        if found.events:
            self.events(found.events, start)
        if last:
            self.flush_events(table=False)
        elif self.launch is None or self.pending or self.closed:
            self.flush_events(table=True, at=start)
        return found

    def events(self, events: tuple[above.LogEvent, ...], start: int) -> None:
        for event in events:
            if event.kind == "text":
                self.passed_over.append((start + event.at, event.text))
            elif event.kind == "failure":
                self.benchmark_failure(event, start)
            elif event.kind == "passes":
                self.passes = event.parts
            elif event.kind == "end":
                self.flush_events(table=False)
                if self.launch is not None:
                    self.launch.end = end_of(event, self.passes)
                    self.closed = True
                self.passes = None
            elif event.kind == "benchmark":
                pass  # in the head
            else:
                if not self.pending:
                    self.pending_start = start + event.at
                elif event.kind == "banner" and any(earlier.kind == "banner" for earlier in self.pending):
                    self.flush_events(table=False)  # a launch without a table
                    self.pending_start = start + event.at
                self.pending.append(event)

    def benchmark_failure(self, event: above.LogEvent, start: int) -> None:
        """`# !! Benchmark X invalid for N processes !!`"""
        if self.launch is None or self.pending:
            self.flush_events(table=True, at=start + event.at)
        assert self.launch is not None
        self.launch.items.append(
            Failure(
                benchmark=event.benchmark,
                kind=kind_of(event.benchmark, self.launch.run.component),
                processes=event.number,
                cause="invalid_processes" if event.number is not None else "unavailable",
                detail=event.text,
                line=self.line_of(start + event.at),
            )
        )

    def flush_events(self, *, table: bool, at: int = 0) -> None:
        """Starts a launch with the events since the last table, if they or a table ask for one."""
        banner = any(event.kind == "banner" for event in self.pending)
        for event in self.pending:
            if event.kind == "title":
                self.titles.enter(event.text, event.style)
        if table or banner:
            start = self.pending_start if self.pending else at
            facts = run_of([event for event in self.pending if event.kind != "title"])
            other = unsupported(self.pending)
            # A text without launches before it belongs to its first one: nothing of a file is left over.
            self.launch = LoggedLaunch(
                facts,
                0 if not self.log.launches else start,
                label=self.titles.path(),
                items=[],
                unsupported=other,
            )
            self.log.launches.append(self.launch)
            self.known = KNOWN[self.asks_for_multi()]
            self.pending = []
            self.closed = False
        elif not table:
            self.pending = [event for event in self.pending if event.kind != "title"]

    # --- Tables --------------------------------------------------------------------------------------

    def table(self, head: Head, header: Header, header_at: int, start: int) -> int:
        """Takes the rows from `start`; returns where the table ends."""
        assert self.launch is not None
        line = self.line_of(header_at)
        if not head.benchmark:
            head = head._replace(benchmark="unknown")
            self.problem(
                line, "a table without a line '# Benchmarking NAME'; its benchmark is called unknown"
            )
        grouped = "group" in header.columns
        head = self.with_multi(head, grouped)
        stop = mark if (mark := self.text.find(b"#", start)) >= 0 else len(self.text)
        if not header.prefix and (stop < len(self.text) or self.text.endswith(b"\n")):
            rows = block = self.text[start:stop].rstrip()
            # A comment at once after a row may stand within the table. Our notes stand after the blank line that ends it.
            ended = self.text.startswith(b"\n\n", start + len(rows)) and not self.text.startswith(NOTE, stop)
            within = stop < len(self.text) and not ended
            if grouped:
                block = block.replace(b"\n\n", b"\n").lstrip(b"\n")
            if not within and (count := regular_rows(block, len(header.columns))):
                self.launch.items.append(Stretch(head, header.columns, line, start, count, block))
                return start + len(rows) + 1
        return self.irregular(head, header, line, start)

    def with_multi(self, head: Head, grouped: bool) -> Head:
        """The head with `multi` according to its title, its columns and the command line."""
        return with_multi(head, grouped, self.asks_for_multi())

    def asks_for_multi(self) -> bool:
        """Whether the command line of the launch has -multi."""
        words = self.launch.run.command_line if self.launch else None
        return words is not None and "-multi" in words

    def irregular(self, head: Head, header: Header, line: int, start: int) -> int:
        """The rows one by one: indented, quoted, mixed with failures, quantiles or other text, or torn."""
        assert self.launch is not None
        rows = Rows(head, header.columns, line)
        at_line, end, width = line, start, 0
        foreign: list[tuple[int, str]] = []
        blank = False
        at = start
        while at < len(self.text):
            stop = self.text.find(b"\n", at)
            torn = stop < 0
            stop = len(self.text) if torn else stop
            raw = self.text[at:stop]
            at_line += 1
            here, at = at, stop + 1
            words = above.without(raw, header.prefix).decode("utf-8", "replace").rstrip()
            text = words.strip()
            if not text:
                blank = True
                continue
            if torn and width and len(words) < width and text[0] in "0123456789":
                self.problem(at_line, "incomplete last row; skipped")
                end = at
                break
            row = row_of(words, header.columns)
            if row is not None:
                width = width or len(words)
                rows.add(row)
                if lacks_time(row, header.columns, text):
                    self.problem(at_line, no_time(text))
            elif text[0] == "[" and rows.values and (quantiles := quantiles_of(text)) is not None:
                rows.quantiles[len(rows.values) - 1] = quantiles
            elif text[0] == "#" and rows.take_note(text, self.launch):
                pass
            elif failure := failure_of(text, header.columns, head, at_line):
                failure.kind = kind_of(head.benchmark, self.launch.run.component)
                rows.move_to(self.launch)
                self.launch.items.append(failure)
            elif above.starts_something(text) or (text[0] == "#" and (blank or not rows.values)):
                break
            elif is_damaged(text) or (not blank and is_broken(text)):
                self.unread.append(UnreadRow(at_line, line, header.columns, text))
            elif blank or len(foreign) >= 5:
                break
            else:
                foreign.append((here, text))
                continue
            self.passed_over.extend(foreign)  # it stood within the table
            foreign.clear()
            blank, end = False, at
        rows.move_to(self.launch)
        return min(end, len(self.text))

    def labeled_table(self, start: int, mark: int) -> int:
        """Takes the table whose title holds `mark`, with the text from `start` above it; returns where it ends."""
        title_at, rows_at, self.prefix = labeled_rows.head_at(self.text, mark)
        head = self.read_above(start, rows_at, self.prefix).head
        if head.benchmark != labeled_rows.BENCHMARK or self.launch is None:
            return rows_at  # the title is text in a line of something else
        heads = self.with_multi(head, grouped=False), self.with_multi(head, grouped=True)
        place = labeled_rows.RowsAt(self.text, rows_at, self.prefix, self.line_of(title_at))
        return labeled_rows.read_table(place, heads, self.launch, self.line_of(rows_at), self.problem)

    def read_again(self, odd: set[int]) -> None:
        """Replaces the stretches with these ids, which look regular and are not, by what is in them."""
        for launch in self.log.launches:
            items: list[Stretch | Failure] = []
            for item in launch.items:
                if id(item) not in odd or not isinstance(item, Stretch):
                    items.append(item)
                    continue
                self.launch = LoggedLaunch(launch.run, 0, items=items)
                stop = mark if (mark := self.text.find(b"#", item.at)) >= 0 else len(self.text)
                end = self.irregular(item.head, Header(b"", item.columns), item.line, item.at)
                for event in above.read_preamble(self.text[end:stop], b"").events:
                    self.passed_over.append((end + event.at, event.text))
            launch.items = items

    # --- The end -------------------------------------------------------------------------------------

    def finish(self) -> Log:
        launches = self.log.launches
        launches[:] = [launch for launch in launches if launch.items or launch.run.program]
        drop_repeated_banners(launches)
        for launch, following in zip_longest(launches, launches[1:]):
            launch.stop = following.start if following else len(self.text)
        if launches:
            launches[0].start = 0
        self.passed_over.sort()
        self.unread += [
            UnreadRow(self.line_of(at), 0, (), text) for at, text in self.passed_over if looks_like_row(text)
        ]
        self.passed_over = [(at, text) for at, text in self.passed_over if not looks_like_row(text)]
        self.leave_out_unsupported()
        for launch in launches:
            complete(launch, self.log)
        as_in_file(launches, self.original)
        self.log.problems += problems_of(self.log.name, self.unread)
        self.log.problems.sort(key=lambda problem: problem.line)
        self.log.notes += notes_of(self.log.name, self.passed_over, self.line_of)
        self.log.problems = bounded(self.log.problems)
        return self.log

    def leave_out_unsupported(self) -> None:
        """Launches of components that are not read become a problem each, instead of all that is in them."""
        others = [launch for launch in self.log.launches if launch.unsupported]
        self.log.launches[:] = [launch for launch in self.log.launches if not launch.unsupported]
        if not others:
            return
        places = [(other.start, other.stop) for other in others]
        lines = [(self.line_of(start), self.line_of(stop)) for start, stop in places]
        if places[-1][1] == len(self.text):  # its last line may lack a newline
            lines[-1] = (lines[-1][0], lines[-1][1] + 1)
        self.passed_over = outside(places, self.passed_over, lambda one: one[0])
        self.unread = outside(lines, self.unread, lambda row: row.line)
        self.log.problems = outside(lines, self.log.problems, lambda problem: problem.line)
        for other, (line, _) in zip(others, lines, strict=True):
            self.problem(line, f"component {other.unsupported} is not supported; skipped")
