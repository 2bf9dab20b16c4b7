"""Reads the tables of IMB 3.x to 2021 and of OpenIMB, in logs or within other text.

It searches for header rows (they contain "#repetitions"), reads the lines above a header row as its head, and the rows below it
line by line.
"""

from __future__ import annotations

from itertools import zip_longest

from imb.model.catalog import kind_of
from imb.model.records import Multi, Problem
from imb.readers import decoration, labeled_rows
from imb.readers.imb_facts import complete, drop_repeated_banners
from imb.readers.imb_rows import (
    MARK,
    Cells,
    Header,
    Rows,
    continues_rows,
    failure_of,
    further_columns,
    header_of,
    quantiles_of,
    row_of,
)
from imb.readers.logged_launches import Launches
from imb.readers.parsed_log import Head, Log, Stretch, lacks_time, time_problem
from imb.readers.preamble import Preamble, read_preamble, starts_part
from imb.readers.skipped_lines import (
    UnreadRow,
    is_broken,
    is_damaged,
    items_outside,
    limit_problems,
    looks_like_row,
    notes_of,
    problems_of,
)

FORMAT = "imb"
_SOON = 5  # most lines of other text within a table after which a row of any message size continues it
_LATER = 1000  # most lines of other text after which a row can continue a table


def detect(text: bytes) -> bool:
    """Whether the text may contain tables of IMB."""
    return MARK in text


def read(text: bytes, name: str) -> Log:
    """All launches in a log. Never raises: a line that is not understood becomes a problem. Text that other programs added around the lines of
    a table is removed."""
    reader = _Reader(text, decoration.CleanText(decoration.plain_text(text)), name)
    reader.scan()
    if reader.tagged or not reader.log.launches:
        untagged = decoration.clean_tags(reader.text)
        if untagged.text is not reader.text:
            reader = _Reader(text, untagged, name)
            reader.scan()
    return reader.finish()


class _Reader:
    """Reads one file in one pass."""

    def __init__(self, original: bytes, cleaned: decoration.CleanText, name: str) -> None:
        self.original, self.cleaned = original, cleaned
        self.text = cleaned.text
        self.log = Log(name, FORMAT)
        self.launches = Launches(self.log, self.line_of)
        self.line_at, self.line = (
            0,
            1,
        )  # the last position with a known line number, so that lines are counted only once
        self.unread: list[UnreadRow] = []
        self.apart, self.items_before = (
            False,
            0,
        )  # text above the table at hand; items of its launch before it
        self.tagged = False  # a heading, or a title of simple_halo, has other text around it
        self.headers: dict[bytes, Header | None] = {}

    def scan(self) -> None:
        text, at, start, labeled = self.text, 0, 0, self.text.find(labeled_rows.MARK)
        while max(mark := text.find(MARK, at), labeled) >= 0:
            if 0 <= labeled < at:
                labeled = text.find(labeled_rows.MARK, at)
                continue
            if labeled >= 0 and not 0 <= mark < labeled:
                above_table, start = start, self.labeled_table(start, labeled)
                at = start
                self.divide_repeated(above_table)
                continue
            row_end = text.find(b"\n", mark)
            row_start = text.rfind(b"\n", 0, mark) + 1
            row_end = len(text) if row_end < 0 else row_end
            header = self.header(text[row_start:row_end])
            if header is None or header.tagged:
                self.tagged |= header is not None
                at = row_end
                continue
            preamble = self.read_above(start, row_start)
            above_table, rows_at = start, min(row_end + 1, len(text))
            start = at = self.table(preamble.head, header.columns, row_start, rows_at)
            self.divide_repeated(above_table)
        self.read_above(start, len(text), last=True)

    # --- Lines ---------------------------------------------------------------------------------------

    def line_of(self, at: int) -> int:
        """The line number at this byte; fast if called with increasing bytes."""
        if at == self.line_at:
            return self.line
        if at < self.line_at:
            self.line_at, self.line = 0, 1
        self.line += self.text.count(b"\n", self.line_at, at)
        self.line_at = at
        return self.line

    def add_problem(self, line: int, text: str) -> None:
        self.log.problems.append(Problem(self.log.name, line, text))

    def header(self, row: bytes) -> Header | None:
        """The columns that a header row names, or None if the line only mentions #repetitions."""
        if row not in self.headers:
            if len(self.headers) > 1000:
                self.headers.clear()
            self.headers[row] = header_of(row)
        return self.headers[row]

    # --- Above a table -------------------------------------------------------------------------------

    def read_above(self, start: int, stop: int, *, last: bool = False) -> Preamble:
        """Reads the text before a table, or after the last one."""
        preamble = read_preamble(self.text[start:stop])
        self.apart = any(event.kind == "text" for event in preamble.events)
        self.items_before = len(self.launches.current.items) if self.launches.current else 0
        self.launches.more += preamble.more
        if preamble.events:
            self.launches.take(preamble.events, start)
        if last:
            self.launches.flush(table=False)
        elif not self.launches.is_open:
            self.launches.flush(table=True, at=start)
            self.items_before = 0
        return preamble

    def divide_repeated(self, start: int) -> None:
        """Begins a new launch with the text from `start` and the table after it, if the current launch already has such a table with the same
        message sizes. That happens if a log has only the tables of two launches. If the launch has a banner, there must be text between
        the tables, since a user may name a benchmark twice."""
        launch = self.launches.current
        if launch is None or not self.items_before or (launch.run.program and not self.apart):
            return
        items = launch.items[self.items_before :]
        earlier = [item for item in launch.items[: self.items_before] if isinstance(item, Stretch)]
        if any(
            (one.head, one.columns) == (other.head, other.columns) and one.lengths() & other.lengths()
            for one in items
            if isinstance(one, Stretch)
            for other in earlier
        ):
            del launch.items[self.items_before :]
            self.launches.flush(table=True, at=start)
            assert self.launches.current is not None
            self.launches.current.items = items

    # --- Tables --------------------------------------------------------------------------------------

    def table(self, head: Head, columns: tuple[str, ...], header_at: int, start: int) -> int:
        """Reads the rows from `start`; returns the end of the table."""
        launch = self.launches.current
        assert launch is not None
        line = self.line_of(header_at)
        if not head.benchmark:
            nameless = {each.line for each in launch.stretches() if each.head.benchmark[:7] == "unknown"}
            name = f"unknown-{len(nameless) + 1}" if nameless else "unknown"
            head = head._replace(benchmark=name)
            self.add_problem(
                line, f"a table without a line '# Benchmarking NAME'; its benchmark is called {name}"
            )
        grouped = "group" in columns
        head = self.set_multi(head, grouped)
        below = self.text.find(b"\n", start)
        if below >= 0 and (more := further_columns(self.text[start:below], columns)):
            return self.rows(head, (*columns, *more), line, below + 1, wrapped=len(columns))
        return self.rows(head, columns, line, start)

    def set_multi(self, head: Head, grouped: bool) -> Head:
        """The head with `multi` set from title, columns and command line."""
        option: Multi = "summary" if self.launches.asks_for_multi else "off"
        return head._replace(multi="each_group" if grouped else head.multi or option)

    def rows(self, head: Head, columns: tuple[str, ...], line: int, start: int, *, wrapped: int = 0) -> int:
        """Reads the rows from `start`, between which there may be failures, quantiles or other text; returns the end of the table. If `wrapped` is
        not 0, each row is wrapped after this many columns."""
        launch = self.launches.current
        assert launch is not None
        rows = Rows(head, columns, line)
        end, width = start, 0
        at_line = self.line_of(start) - 1
        foreign: list[tuple[int, str]] = []
        blank = interrupted = False  # other text came after the last row
        last: Cells | None = None
        at = start
        while at < len(self.text):
            stop = self.text.find(b"\n", at)
            torn = stop < 0
            stop = len(self.text) if torn else stop
            raw = self.text[at:stop]
            at_line += 1
            line_start, at = at, stop + 1
            words = raw.decode("utf-8", "replace").rstrip()
            text = words.strip()
            if not text:
                blank = True
                continue
            if wrapped and len(words.split()) == wrapped:
                stop = self.text.find(b"\n", at)
                rest = self.text[at : max(stop, 0)].decode("utf-8", "replace")
                if len(rest.split()) == len(columns) - wrapped:
                    words, at, at_line = f"{words} {rest}", stop + 1, at_line + 1
            if torn and width and len(words) < width and text[0] in "0123456789":
                self.add_problem(at_line, "incomplete last row; skipped")
                end = at
                break
            row = row_of(words, columns) if text[0] in "0123456789" else None
            if row is not None:
                if interrupted and not self.continues_table(end, line_start, last, row, columns):
                    break
                width, last = width or len(words), row
                rows.add(row)
                if None in row and lacks_time(row, columns, text):
                    self.add_problem(at_line, time_problem(text))
            elif text[0] == "[" and rows.values and (quantiles := quantiles_of(text)) is not None:
                rows.quantiles[len(rows.values) - 1] = quantiles
            elif text[0] == "#" and rows.take_note(text, launch):
                pass
            elif failure := failure_of(text, columns, head, at_line):
                cells: Cells = [failure.bytes if name == "bytes" else None for name in columns]
                if interrupted and not self.continues_table(end, line_start, last, cells, columns):
                    break
                failure.kind = kind_of(head.benchmark, launch.run.component)
                rows.move_to(launch)
                launch.items.append(failure)
            elif starts_part(text) or self.is_heading(raw) or len(foreign) >= _LATER:
                break
            elif not interrupted and (is_damaged(text) or (not blank and is_broken(text))):
                self.unread.append(UnreadRow(at_line, line, columns, text))
            else:
                foreign.append((line_start, text))
                interrupted |= blank or len(foreign) > _SOON
                continue
            for each in foreign:  # these lines are within the table
                self.launches.take_other_text(*each)
            foreign.clear()
            blank, interrupted, end = False, False, at
        rows.move_to(launch)
        return min(end, len(self.text))

    def is_heading(self, line: bytes) -> bool:
        """Whether another table begins with this line."""
        header = self.header(line) if MARK in line else None
        return header is not None and not header.tagged

    def continues_table(
        self, end: int, line_start: int, last: Cells | None, row: Cells, columns: tuple[str, ...]
    ) -> bool:
        """Whether the row at `line_start` continues a table although other text begins at `end`. `last`: the table's last row."""
        if last is not None and not continues_rows(last, row, columns):
            return False
        between = read_preamble(self.text[end:line_start])
        return between.head_at is None and all(event.kind == "text" for event in between.events)

    def labeled_table(self, start: int, mark: int) -> int:
        """Reads the table whose title contains position `mark`, and the text from `start` above it; returns its end."""
        title_at, rows_at = labeled_rows.head_at(self.text, mark)
        self.tagged |= bool(self.text[title_at:mark].partition(b"#")[0].strip())
        head = self.read_above(start, rows_at).head
        launch = self.launches.current
        if head.benchmark != labeled_rows.BENCHMARK or launch is None:
            return rows_at  # the title is part of a line of other text
        heads = self.set_multi(head, grouped=False), self.set_multi(head, grouped=True)
        place = labeled_rows.RowsPosition(self.text, rows_at, self.line_of(title_at))
        return labeled_rows.read_table(place, heads, launch, self.line_of(rows_at), self.add_problem)

    # --- The end -------------------------------------------------------------------------------------

    def finish(self) -> Log:
        self.launches.end_current()
        launches = self.log.launches
        launches[:] = [launch for launch in launches if launch.items or launch.run.program]
        drop_repeated_banners(launches)
        for launch, following in zip_longest(launches, launches[1:]):
            launch.stop = following.start if following else len(self.text)
        if launches:
            launches[0].start = 0
        passed_over = sorted(self.launches.passed_over)
        self.unread += [
            UnreadRow(self.line_of(at), 0, (), text) for at, text in passed_over if looks_like_row(text)
        ]
        self.launches.passed_over = [(at, text) for at, text in passed_over if not looks_like_row(text)]
        self.leave_out_unsupported()
        for launch in launches:
            complete(launch, self.log)
        self.log.notes += notes_of(self.log.name, self.launches.passed_over, self.line_of, self.launches.more)
        decoration.restore_positions(self.log, self.cleaned, self.original)
        self.log.problems += problems_of(
            self.log.name, [row.move_lines(self.cleaned.line) for row in self.unread]
        )
        self.log.problems.sort(key=lambda problem: problem.line)
        self.log.problems = limit_problems(self.log.problems)
        return self.log

    def leave_out_unsupported(self) -> None:
        """Replaces all that was found in a launch of an unsupported component by one problem."""
        others = [launch for launch in self.log.launches if launch.unsupported]
        self.log.launches[:] = [launch for launch in self.log.launches if not launch.unsupported]
        if not others:
            return
        places = [(other.start, other.stop) for other in others]
        lines = [(self.line_of(start), self.line_of(stop)) for start, stop in places]
        if places[-1][1] == len(self.text):  # its last line may lack a newline
            lines[-1] = (lines[-1][0], lines[-1][1] + 1)
        self.launches.passed_over = items_outside(places, self.launches.passed_over, lambda entry: entry[0])
        self.unread = items_outside(lines, self.unread, lambda row: row.line)
        self.log.problems = items_outside(lines, self.log.problems, lambda problem: problem.line)
        for other, (line, _) in zip(others, lines, strict=True):
            self.add_problem(line, f"component {other.unsupported} is not supported; skipped")
