"""The output of the OSU micro-benchmarks, one or several in a file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from imb.logs.preamble import command_in
from imb.logs.table import WHOLE, Head, Log, LoggedLaunch, Stretch, lacks_time, no_time, number
from imb.model.records import Element, Options, Problem, Run

FORMAT = "osu"
MARK = b"# OSU "
PROGRAM = "OSU Micro-Benchmarks"
_TRIES = 1000
_TITLE = re.compile(
    r"# OSU (?P<title>\S.*?)(?:\sv(?P<version>\d[\w.\-]*)|(?<=Test) \(Version (?P<old>\d[\w.]*)\)|(?<=Test))$"
)
_PAIRS = re.compile(r"#\s*\[\s*pairs:\s*(\d{1,9})\s*\]")
_DATATYPE = re.compile(r"#\s*Datatype:\s*MPI_(\w{1,40})\.?$")
_INIT = re.compile(r"nprocs: (\d{1,9}), min: (\d{1,12}) ms, max: (\d{1,12}) ms, avg: (\d{1,12}) ms$")
# Names in a header row -> columns of imb.logs.table.FIELDS, or a quantile. MB/s are 10^6 bytes.
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
    r"P(?P<quantile>\d+) Tail (?:Lat|BW)\((?:us|MB/s)\)": "quantile",
    r"Validation": "validation",
    r"(?:Coll\. Init|MPI_Test|MPI_Wait|Min Comm\.|Max Comm\.|Transfer Size)\s?\((?:us|B)\)|Transfer Size": "passed over",
}
_CELL = re.compile("|".join(re.sub(r"\(\?P<quantile>", "(?:", name) for name in _COLUMNS))
# Titles do not name programs. Of the rest of a title, what a program calls it; and whole names that do not follow.
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


def looks_like(text: bytes) -> bool:
    """Whether there may be output of OSU's benchmarks in it."""
    # Capital O is rare in tables of numbers, and one byte is searched for forty times as fast as several.
    at = text.find(b"O")
    for _ in range(_TRIES):
        if at < 0 or text.startswith(b"OSU ", at):
            break
        at = text.find(b"O", at + 1)
    return at >= 0 and text.find(MARK, max(at - len(MARK), 0)) >= 0


def read_osu(text: bytes, name: str) -> Log:
    """Every benchmark in a file as a launch. Never fails: what is not understood becomes a problem with its line."""
    log = Log(name, FORMAT)
    launch: LoggedLaunch | None = None
    head, columns, rows, table_line = Head(""), (), [], 0  # type: tuple[Head, tuple[str, ...], list[Any], int]
    command: tuple[int, str] | None = None
    prefix = ""  # quote marks or a launcher's tag before the title, which its rows have too
    at = 0

    def end_table() -> None:
        if rows and launch is not None:
            launch.items.append(_stretch(head, columns, table_line, rows))
            rows.clear()

    for line_number, raw in enumerate(text.split(b"\n"), start=1):
        here, at = at, at + len(raw) + 1
        torn = at > len(text)
        line = raw.decode("utf-8", "replace").strip()
        title_at = line.find("# OSU ")
        line = line.removeprefix(prefix).strip() if title_at < 0 else line
        if not line:
            continue
        if title_at >= 0 and (found := _TITLE.match(line, title_at)):
            end_table()
            prefix = line[:title_at].strip()
            start = command[0] if command else here
            run = Run(
                program=PROGRAM,
                version=found["version"] or found["old"],
                command_line=command[1].split() if command else None,
            )
            launch = LoggedLaunch(run, start if log.launches else 0, bytes_per_megabyte=1e6, items=[])
            log.launches.append(launch)
            head, columns, command = Head(_benchmark(found["title"]), multi="off"), (), None
        elif launch and (found := _PAIRS.match(line)):
            head = head._replace(processes=2 * int(found[1]))
        elif launch and (found := _DATATYPE.match(line)):
            launch.run.options = Options(data=Element(found[1].lower(), "base"))
        elif launch and (found := _INIT.match(line)):
            end_table()
            head = head._replace(processes=int(found[1]))
            columns, table_line = ("t_min", "t_max", "t_avg"), line_number
            rows.append(([1e3 * int(found[i]) for i in (2, 3, 4)], {}))
            end_table()
            columns = ()
        elif launch and line.startswith("#") and (names := _header(line)):
            end_table()
            columns, table_line = names, line_number
        elif words := command_in(line):
            end_table()
            command, columns = (here, words), ()
        elif columns and line[0].isdigit():
            row = _row(line, columns)
            if row is None or torn:
                words = (
                    "incomplete last row; skipped"
                    if torn
                    else f"not a row of {len(columns)} columns: {line[:60]!r}"
                )
                log.problems.append(Problem(name, line_number, words))
            else:
                rows.append(row)
                known = [column for column in columns if column != "passed over" and column[:1] != "p"]
                if lacks_time(row[0], known, line):
                    log.problems.append(Problem(name, line_number, no_time(line)))
        else:
            log.notes.append(Problem(name, line_number, f"skipped: {line[:100]}"))
    end_table()
    for i, each in enumerate(log.launches):
        each.stop = log.launches[i + 1].start if i + 1 < len(log.launches) else len(text)
    return log


def _benchmark(title: str) -> str:
    """The program of a title: "MPI Allreduce Latency Test" is osu_allreduce, with buffers of a GPU osu_allreduce_cuda."""
    words = re.sub(r"\s+", " ", title.lower().removesuffix("test")).strip()
    one_sided = words.startswith("mpi_")
    device = re.match(r"mpi-(\w+) ", words)
    words = words[device.end() :] if device else words[4:] if words.startswith(("mpi ", "mpi_")) else words
    nonblocking = words.startswith("non-blocking ")
    words = words.removeprefix("non-blocking ")
    for said, short in _SHORT.items():
        words = words.replace(said, short)
    if not one_sided and words != "latency":
        words = words.removesuffix(" latency")
    name = f"osu_{'i' if nonblocking else ''}" + re.sub(r"\W+", "_", words).strip("_")
    return f"{name}_{device[1]}" if device else name


def _header(line: str) -> tuple[str, ...]:
    """The columns that a header row names; () where the line is something else."""
    rest = line.lstrip("# ")
    columns: list[str] = []
    for cell in _CELL.finditer(rest):
        for pattern, column in _COLUMNS.items():
            if found := re.fullmatch(pattern, cell[0]):
                columns.append(f"p{found['quantile']}" if column == "quantile" else column)
                break
    complete = not _CELL.sub("", rest).strip()
    kept = [name for name in columns if name != "passed over"]
    return tuple(columns) if complete and kept and len(kept) == len(set(kept)) else ()


def _row(
    line: str, columns: tuple[str, ...]
) -> tuple[list[float | int | None], dict[str, float | None]] | None:
    """The numbers of the columns that records have, and the quantiles in seconds."""
    tokens = line.split()
    if len(tokens) != len(columns):
        return None
    values: list[float | int | None] = []
    quantiles: dict[str, float | None] = {}
    try:
        for token, name in zip(tokens, columns, strict=True):
            if name == "validation":
                values.append({"pass": 0, "fail": 1}.get(token.lower()))
            elif name[0] == "p" and name[1:].isdigit():
                quantiles[name] = float(token) / 1e6
            elif name != "passed over":
                values.append(number(token, name))
    except ValueError:
        return None
    return values, quantiles


def _stretch(head: Head, columns: tuple[str, ...], line: int, rows: list[Any]) -> Stretch:
    """`defects` is 1 where OSU's own validation failed: it does not count bytes."""
    kept = [name for name in columns if name != "passed over" and not (name[0] == "p" and name[1:].isdigit())]
    by_column = zip(*(values for values, _ in rows), strict=True)
    arrays = [
        np.array([np.nan if v is None else v for v in values], np.int64 if name in WHOLE else np.float64)
        for name, values in zip(kept, by_column, strict=True)
    ]
    names = tuple("defects" if name == "validation" else name for name in kept)
    stretch = Stretch(head, names, line, 0, len(rows), arrays=arrays)
    stretch.quantiles = {i: quantiles for i, (_, quantiles) in enumerate(rows) if quantiles} or None
    return stretch
