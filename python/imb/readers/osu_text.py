"""Reads the output of OSU micro-benchmarks, one or several in a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from imb.model.gpus import KINDS, UNKNOWN
from imb.model.records import End, Problem, Run
from imb.model.units import count_of
from imb.readers.decoration import clean_tags, plain_text, restore_positions
from imb.readers.messages import FailureMessages
from imb.readers.parsed_log import (
    Head,
    Log,
    LoggedLaunch,
    Stretch,
    arrays_of,
    lacks_time,
    number,
    time_problem,
)
from imb.readers.preamble import Titles, read_preamble
from imb.readers.skipped_lines import UnreadRow, limit_problems, problems_of

FORMAT = "osu"
MARK = b"# OSU "
PROGRAM = "OSU Micro-Benchmarks"
_TRIES = 1000  # most letters O to examine
_PASSED_OVER = "passed over"
_TITLE = re.compile(
    r"# OSU (?P<title>\S.*?)(?:\sv(?P<version>\d[\w.\-]*)|(?<=Test) \(Version (?P<old>\d[\w.]*)\)|(?<=Test))(?:\s{2,}\S.*)?$"
)
_LIKE_TITLE = re.compile(r"# OSU .*\bTest\b")
_PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d{1,9})\s*\]")
_DATATYPE = re.compile(r"#\s*Datatype:\s*MPI_(\w{1,40})\.?$")
_BUFFERS = re.compile(r"#\s*Send Buffer on \w+ \(([DHM])\) and Receive Buffer on \w+ \(([DHM])\)$")
_PROGRAM = re.compile(r"(?:[^\s=]*/)?(osu_\w+)(?:\.(?:exe|x|out))?")
_RANKS = re.compile(r"(?:^|\s)(?:--?np?|--?ntasks)[ =]?(\d{1,9})(?=\s|$)")
_NODES, _EACH = (
    re.compile(rf"(?:^|\s)(?:{name})[ =]?(\d{{1,9}})(?=\s|$)") for name in ("-N|--nodes", "--ntasks-per-node")
)
_LIKE_ROW = re.compile(r"(?:^|\s)\d{1,18}(?:\s+\d{1,15}\.\d+)+(?:\s|$)|^[\d.]+(?:\s+\d+\.\d\d)+$")
_FULL = ("t_min", "t_max", "repetitions")  # further columns with option -f
_ITEM = re.compile(r"\d{1,3}[.)]\s+[A-Za-z`*\[]")  # an item of a list
_WORD = re.compile(r"(?<!\S)[A-Za-z]{2,}[.,:;]?(?!\S)")
# Benchmarks in which one rank sends to another: letters H, D, M in the command say where each has its buffers. Others use device memory.
_TRANSFER = re.compile(r"osu_(?:latency|bw|bibw|mbw_mr|multi_lat|(?:put|get|acc|get_acc|cas|fop)_)")
_INIT = re.compile(r"nprocs: (\d{1,9}), min: (\d{1,12}) ms, max: (\d{1,12}) ms, avg: (\d{1,12}) ms$")
# Name in a header row -> column of imb.readers.parsed_log.FIELDS, or a quantile. 1 MB is 10^6 bytes.
_COLUMNS = {
    r"Size": "bytes",
    r"Avg Lat(?:ency)?\s?\(us\)|Latency\s?\(us\)": "t_avg",
    r"Min Lat(?:ency)?\s?\(us\)": "t_min",
    r"Max Lat(?:ency)?\s?\(us\)": "t_max",
    r"Iterations": "repetitions",
    r"Bandwidth\s?\(MB/s\)|MB/s": "mbytes/sec",
    r"Messages/s|Message Rate": "msg/sec",
    r"Overall\s?\(us\)": "t_ovrl",
    r"Compute\s?\(us\)": "t_cpu",
    r"Pure Comm\.\s?\(us\)": "t_pure",
    r"Overlap\s?\(%\)": "overlap",
    r"P(?P<quantile>\d+) Tail Lat\(us\)": "quantile",
    r"Validation": "validation",
    r"(?:Coll\. Init|MPI_Test|MPI_Wait|Min Comm\.|Max Comm\.|Transfer Size)\s?\((?:us|B)\)|Transfer Size|P\d+ Tail BW\(MB/s\)": _PASSED_OVER,
}
_CELL = re.compile("|".join(re.sub(r"\(\?P<quantile>", "(?:", name) for name in _COLUMNS))
# Titles do not contain the names of programs. Phrase of a title (or a whole title) -> the form in a program's name.
_SHORT = {
    "all-to-all": "alltoall",
    " personalized exchange": "",
    "broadcast": "bcast",
    "compare_and_swap": "cas",
    "fetch_and_op": "fop",
    "accumulate": "acc",
    "bi-directional bandwidth": "bibw",
    "multiple bandwidth / message rate": "mbw_mr",
    "bandwidth": "bw",
    "multi latency": "multi_lat",
    "multi-threaded latency": "latency_mt",
    "multi-process latency": "latency_mp",
    "hello world": "hello",
}


def detect(text: bytes) -> bool:
    """Whether the text may contain output of OSU's benchmarks."""
    # Capital O is rare in tables of numbers, and a search for one byte is forty times as fast as a search for several.
    at = text.find(b"O")
    for _ in range(_TRIES):
        if at < 0 or text.startswith(b"OSU ", at):
            break
        at = text.find(b"O", at + 1)
    return at >= 0 and text.find(MARK, max(at - len(MARK), 0)) >= 0


def read(text: bytes, name: str) -> Log:
    """The benchmarks in a file, each as a launch. Never raises: a line that is not understood becomes a problem."""
    cleaned = clean_tags(plain_text(text))
    reader = _Reader(cleaned.text, name)
    reader.read()
    log = reader.log
    restore_positions(log, cleaned, text)
    log.problems += problems_of(name, [row.move_lines(cleaned.line) for row in reader.unread])
    log.problems.sort(key=lambda problem: problem.line)
    log.problems, log.notes = limit_problems(log.problems), limit_problems(log.notes)
    return log


class _Reader:
    """Reads one file in one pass. Other lines are collected until the next line of an OSU benchmark."""

    def __init__(self, text: bytes, name: str) -> None:
        self.text = text
        self.log = Log(name, FORMAT)
        self.launch: LoggedLaunch | None = None
        self.head, self.columns, self.table_line = Head(""), (), 0  # type: tuple[Head, tuple[str, ...], int]
        self.rows: list[Any] = []
        self.titles = Titles()
        self.command: list[str] | None = None  # command of the next launch
        self.next_start: int | None = None  # position of its title or command
        self.title_line = 0
        self.title = ""
        self.api = ""  # API of the GPU according to the title
        self.buffers = False  # whether a line states where buffers are
        self.unfit: list[UnreadRow] = []  # rows of this table whose columns differ from its heading
        self.unread: list[UnreadRow] = []
        self.other: tuple[int, int] | None = None  # byte and line at which text begins that is not read yet
        self.failed = FailureMessages()

    def read(self) -> None:
        at = 0
        for line_number, raw in enumerate(self.text.split(b"\n"), start=1):
            line_start, at = at, at + len(raw) + 1
            line = raw.decode("utf-8", "replace").strip()
            # Nearly all relevant lines begin with a digit or a comment sign; a heading may lack the sign.
            is_known = line and (line[0] in "#0123456789n" or line[-1] == ")")
            if is_known and self.take(line, line_start, line_number, torn=at > len(self.text)):
                continue
            if self.other is None:
                self.other = line_start, line_number
        self.take_other(len(self.text))
        self.end_launch()
        log = self.log
        log.launches[:] = [launch for launch in log.launches if launch.items or launch.end]
        for each, following in zip_longest(log.launches, log.launches[1:]):
            each.stop = following.start if following else len(self.text)
        if log.launches:
            log.launches[0].start = 0

    def add_problem(self, line: int, message: str) -> None:
        self.log.problems.append(Problem(self.log.name, line, message))

    def take(self, line: str, line_start: int, line_number: int, *, torn: bool) -> bool:
        """Reads a line. Returns False if it does not come from an OSU benchmark."""
        if line[0] == "#" and _LIKE_ROW.search(line):
            self.add_problem(line_number, f"a row after other text: {line[:60]!r}; skipped")
        if line[0] == "#" and (match := _TITLE.match(line)):
            if self.is_again(match[0], line_start):
                self.other = None
                return True
            self.take_other(line_start)
            self.begin(match, line_start, line_number)
        elif _LIKE_TITLE.match(line):
            self.take_other(line_start)
            self.end_launch()
            self.launch = None
            self.add_problem(
                line_number, f"a title that is not understood: {line[:60]!r}; its rows are skipped"
            )
        elif self.launch is None:
            return False
        elif self.columns and line[0].isdigit() and not _is_sentence(line):
            self.take_other(line_start)
            if not self.columns:  # a title or a command has ended the table
                return False
            self.take_row(line, line_number, torn=torn)
        elif line[0] == "#" and self.take_fact(line):
            self.take_other(line_start)
        elif match := _INIT.match(line):
            self.take_other(line_start)
            self.end_table()
            self.head = self.head._replace(processes=int(match[1]))
            self.columns, self.table_line = ("t_min", "t_max", "t_avg"), line_number
            self.rows.append(([1e3 * int(match[i]) for i in (2, 3, 4)], {}))
            self.end_table()
            self.columns = ()
        elif names := _header(line):
            self.take_other(line_start)
            self.end_table()
            self.columns, self.table_line = names, line_number
            if "Tail BW" in line:
                message = "quantiles of bandwidth are not kept: records have quantiles of times"
                self.log.assumed.append(Problem(self.log.name, line_number, message))
        else:
            return False
        return True

    def begin(self, title: re.Match[str], line_start: int, line_number: int) -> None:
        """Begins a launch at its title, or at the command above it."""
        self.end_launch()
        self.title, self.buffers = title[0], False
        start = line_start if self.next_start is None else self.next_start
        run = Run(program=PROGRAM, version=title["version"] or title["old"], command_line=self.command)
        self.launch = LoggedLaunch(run, start, label=self.titles.path(), bytes_per_megabyte=1e6, items=[])
        self.log.launches.append(self.launch)
        benchmark = _benchmark(title["title"])
        processes = processes_of(self.command or [], benchmark)
        self.head = Head(benchmark, multi="off", processes=processes)
        self.columns, self.command, self.next_start, self.title_line = (), None, None, line_number
        device = re.match(r"MPI-(\w+) ", title["title"])
        self.api = device[1].lower() if device else ""

    def take_fact(self, line: str) -> bool:
        """Takes a fact from a comment line. Returns False if the line has no fact that records can store."""
        assert self.launch is not None
        run = self.launch.run
        if match := _PAIRS.match(line):
            self.head = self.head._replace(processes=2 * int(match[1]))
        elif match := _DATATYPE.match(line):
            run.set_option("data_type", match[1].lower())
        elif match := _BUFFERS.match(line):
            self.buffers = True
            if match[1] != "H" or match[2] != "H":
                run.set_option("memory", _memory(match[1], match[2], self.api))
        else:
            return False
        return True

    def take_row(self, line: str, line_number: int, *, torn: bool) -> None:
        if torn:
            self.add_problem(line_number, "incomplete last row; skipped")
            return
        row = _row(line, self.columns)
        if row is None:
            self.unfit.append(UnreadRow(line_number, self.table_line, self.columns, line))
            return
        self.rows.append(row)
        if lacks_time(row[0], _field_columns(self.columns), line):
            self.add_problem(line_number, time_problem(line))

    def is_again(self, title: str, line_start: int) -> bool:
        """Whether a title repeats the title directly above it, because another rank printed it or it was copied twice."""
        between = self.text[self.other[0] : line_start] if self.other else b""
        is_first = self.launch is None or self.launch.items or self.columns
        return title == self.title and not is_first and not between.strip()

    def take_memory(self) -> None:
        """Sets the memory of messages if no line states it: since OSU 7.4, only the command and the title have it."""
        assert self.launch is not None
        command = self.launch.run.command_line or []
        words = command[_program_at(command, self.head.benchmark) + 1 :]
        named = re.search(r"(?:^|\s)(?:-d|--accelerator)[ =]?(\w+)", " ".join(words))
        api = named[1].lower() if named and not self.api else self.api
        letters = [word for word in words if word in ("H", "D", "M")]
        if self.buffers or not (api or letters):
            return
        if len(letters) >= 2:
            memory = _memory(letters[-2], letters[-1], api)
        elif words and _TRANSFER.match(self.head.benchmark):
            memory = UNKNOWN  # letters in the command decide, and they may be in a variable
        else:
            memory = _memory("D", "D", api)
        self.launch.run.set_option("memory", memory)

    def take_other(self, stop: int) -> None:
        """Reads the collected other text before byte `stop`: titles, commands, messages."""
        if self.other is None:
            return
        (start, first_line), self.other = self.other, None
        line, counted = first_line, start
        for event in read_preamble(self.text[start:stop]).events:
            line, counted = line + self.text.count(b"\n", counted, start + event.at), start + event.at
            if event.kind == "title":
                self.titles.enter(event.text, event.style)
            if event.kind in ("title", "command"):
                self.end_table()
                self.columns = ()
                self.next_start = counted if self.next_start is None else self.next_start
                if event.kind == "command":
                    self.command = event.text.split()
            elif self.launch is not None and self.next_start is None and self.failed.take(event.text):
                pass
            elif self.launch is not None and _LIKE_ROW.search(event.text):
                self.add_problem(line, f"a row without a heading: {event.text[:60]!r}; skipped")
            else:
                self.log.notes.append(Problem(self.log.name, line, f"skipped: {event.text[:100]}"))

    def end_table(self) -> None:
        if self.unfit and not self.rows and (rows := _full_rows(self.unfit, self.columns)):
            self.columns, self.rows[:] = (*self.columns, *_FULL), rows
            self.unfit.clear()
        self.unread += self.unfit
        self.unfit.clear()
        if self.rows and self.launch is not None:
            stretch = _stretch(self.head, self.columns, self.table_line, self.rows)
            self.rows.clear()
            lengths = stretch.lengths()
            if any(lengths & other.lengths() for other in self.launch.stretches()):
                message = "under a second heading have message sizes of the same run; skipped: each table needs its title"
                text = f"{count_of(stretch.count, 'row')} {message}"
                problem = Problem(self.log.name, self.table_line, text, stretch.count)
                self.log.problems.append(problem)
                return
            if len(lengths) < stretch.count:
                self.add_problem(
                    self.table_line, "message sizes repeat in this table: it has rows of several runs"
                )
            self.launch.items.append(stretch)

    def end_launch(self) -> None:
        """Ends the launch. If messages show that it failed, it gets an end record. If it did not fail but has no rows, adds a problem."""
        self.end_table()
        if self.launch is None:
            return
        self.take_memory()
        if why := self.failed.reason():
            self.launch.end = End(state="aborted", reason=why)
        elif not self.launch.items and not any(row.line > self.title_line for row in self.unread):
            self.add_problem(self.title_line, f"{self.head.benchmark} has no row that can be read; skipped")


def _program_at(command: Sequence[str], benchmark: str) -> int:
    """The index of the program among the words of a command, or the number of words if it is not there. A launcher argument, such as the name
    of a host file, may also contain the name of a benchmark."""
    named = [
        (at, match[1]) for at, word in enumerate(command) if (match := _PROGRAM.fullmatch(word.strip("'\"`")))
    ]
    same = [at for at, name in named if name == benchmark or benchmark.startswith(f"{name}_")]
    return (same or [at for at, _ in reversed(named)] or [len(command)])[0]


def processes_of(command: Sequence[str], benchmark: str) -> int | None:
    """The number of processes that the launcher arguments request, or None if they state none."""
    words = " ".join(command[: _program_at(command, benchmark)] if ":" not in command else command)
    if counts := _RANKS.findall(words):
        return sum(map(int, counts))
    nodes, each = _NODES.search(words), _EACH.search(words)
    return int(nodes[1]) * int(each[1]) if nodes and each else None


def _benchmark(title: str) -> str:
    """The program for a title: osu_allreduce for "MPI Allreduce Latency Test", or osu_allreduce_cuda if buffers are in a GPU."""
    name = re.sub(r"\s+", " ", title.lower().removesuffix("test")).strip()
    one_sided = name.startswith("mpi_")
    device = re.match(r"mpi-(\w+) ", name)
    name = name[device.end() :] if device else name[4:] if name.startswith(("mpi ", "mpi_")) else name
    nonblocking = name.startswith("non-blocking ")
    name = name.removeprefix("non-blocking ")
    for long, short in _SHORT.items():
        name = name.replace(long, short)
    if not one_sided and name != "latency":
        name = name.removesuffix(" latency")
    program = f"osu_{'i' if nonblocking else ''}" + re.sub(r"\W+", "_", name).strip("_")
    return f"{program}_{device[1]}" if device else program


def _header(line: str) -> tuple[str, ...]:
    """The columns that a heading names; empty if the line is not a heading. Some versions print headings without `#`."""
    if line[0] != "#" and "(" not in line:
        return ()
    rest = line.lstrip("# ")
    columns: list[str] = []
    for cell in _CELL.finditer(rest):
        for pattern, column in _COLUMNS.items():
            if match := re.fullmatch(pattern, cell[0]):
                columns.append(f"p{match['quantile']}" if column == "quantile" else column)
                break
    complete = not _CELL.sub("", rest).strip()
    kept = [name for name in columns if name != _PASSED_OVER]
    return tuple(columns) if complete and kept and len(kept) == len(set(kept)) else ()


def _memory(send: str, receive: str, api: str) -> str:
    """The value of -memory for OSU's letters of send and receive buffers."""
    device = api if api in KINDS else "cuda"
    kinds = {"H": "host", "D": device, "M": f"{device}_managed"}
    return ",".join(dict.fromkeys((kinds[send], kinds[receive])))


def _is_sentence(line: str) -> bool:
    """Whether a line that begins with a digit is text, such as an item of a list."""
    return not _LIKE_ROW.search(line) and bool(_ITEM.match(line) or len(_WORD.findall(line)) > 1)


def _full_rows(unfit: Sequence[UnreadRow], columns: tuple[str, ...]) -> list[Any]:
    """The rows of option -f, if the heading lacks its columns; empty if one of the lines is not such a row."""
    if columns[-1:] != ("t_avg",):
        return []
    rows = [_row(each.text, (*columns, *_FULL)) for each in unfit]
    for row in rows:
        mean, least, most = row[0][-4:-1] if row else (None, None, None)
        if mean is None or least is None or most is None or not least <= mean <= most:
            return []
    return rows


def _is_quantile(column: str) -> bool:
    return column[0] == "p" and column[1:].isdigit()


def _field_columns(columns: Sequence[str]) -> list[str]:
    """The columns that become fields of rows."""
    return [name for name in columns if name != _PASSED_OVER and not _is_quantile(name)]


def _row(
    line: str, columns: tuple[str, ...]
) -> tuple[list[float | int | None], dict[str, float | None]] | None:
    """The numbers of the columns in `_field_columns`, and the quantiles in seconds; None if the line is not a row of these columns."""
    tokens = line.split()
    if len(tokens) != len(columns):
        return None
    values: list[float | int | None] = []
    quantiles: dict[str, float | None] = {}
    try:
        for token, name in zip(tokens, columns, strict=True):
            if name == "validation":
                values.append({"pass": 0, "fail": 1}.get(token.lower()))
            elif _is_quantile(name):
                quantiles[name] = float(token) / 1e6
            elif name != _PASSED_OVER:
                values.append(number(token, name))
    except ValueError:
        return None
    return values, quantiles


def _stretch(head: Head, columns: tuple[str, ...], line: int, rows: list[Any]) -> Stretch:
    """The rows as a stretch. `defects` is 1 if OSU's validation failed, since it does not count bytes."""
    kept = _field_columns(columns)
    arrays = arrays_of(kept, [values for values, _ in rows])
    names = tuple("defects" if name == "validation" else name for name in kept)
    stretch = Stretch(head, names, line, arrays)
    stretch.quantiles = {i: quantiles for i, (_, quantiles) in enumerate(rows) if quantiles} or None
    return stretch
