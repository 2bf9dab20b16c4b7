"""The text above a table: its head, banners, commands, section titles, ends."""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Literal, NamedTuple

from imb.logs.table import Head
from imb.model.catalog import known
from imb.model.records import Mode, State

EventKind = Literal[
    "banner", "fact", "calling", "listed", "title", "command", "passes", "end", "failure", "benchmark", "text"
]


class LogEvent(NamedTuple):
    """A fact in the text, at byte `at` of it."""

    kind: EventKind
    at: int
    text: str = ""
    parts: tuple[str, str, str] = ("", "", "")
    style: str = ""
    state: State | None = None
    benchmark: str = ""
    number: int | None = None


class Preamble(NamedTuple):
    """What was found above a table."""

    head: Head
    events: tuple[LogEvent, ...]


class Titles:
    """The sections that a text is in; levels are the styles of underlining in order of appearance."""

    def __init__(self) -> None:
        self.styles: list[str] = []
        self.names: list[str] = []

    def enter(self, name: str, style: str) -> None:
        if style not in self.styles:
            self.styles.append(style)
        level = self.styles.index(style)
        self.names[level:] = [*[""] * (level - len(self.names)), name]

    def path(self) -> str | None:
        """The titles from the outermost to this one, at most 200 characters; None outside of sections."""
        inner = [name for name in self.names if name]
        return " / ".join(inner)[-200:] or None


_GRID = r"(?:graph )?[\dx ]{1,80}(?:, corners)?|random graph, degree \d{1,10}, seed \d{1,20}"
_BENCHMARKING = re.compile(rf"#?\s*Benchmarking\s+(Multi-)?(\S+)(?:\s+\((?:{_GRID})\))?")
_LABELED = re.compile(
    r"#?\s*Benchmarking\s+(Multi-)?(simple_halo)\s+\(processes: (\d+); threads: (\d+); dimensions: \d+(?:; corners)?\)"
)
_PROCESSES = re.compile(
    r"#?\s*\(?\s*#processes\s*=\s*(\d+)\s*(?:\(threads:\s*(\d+)\))?\s*(?:;\s*(rank order))?"
)
_GROUPS = re.compile(r"#?\s*\(\s*(\d+) groups of (\d+) processes[^)]*\)?\s*(?:\(threads:\s*(\d+)\))?")
_GROUP = re.compile(r"#?\s*Group\s+(\d+):((?:\s+\d+)*)$")
_RANKS = re.compile(r"#((?:\s+\d+)+)$")
_WAITING = re.compile(r"#?\s*\(\s*\d+ additional process(?:es)? waiting")
_MODE = re.compile(r"#?\s*MODE:\s*(NON-)?AGGREGATE")
_INVALID = re.compile(r"#?\s*!!\s*Benchmark\s+(\S+)\s+(?:is\s+)?invalid for (\d+) process")
_UNAVAILABLE = re.compile(r"#?\s*!!\s*Benchmark\s+(\S+) is not available:\s*(.*?)\s*!*$")
_BANNER = re.compile(
    r"#\s*(?:Intel\s?\(R\) MPI Benchmark(?:s| Suite)\s+V?(?P<imb>[^,]+?)|OpenIMB (?P<ours>[^,]+)),\s*"
    r"(?:(?P<part>MPI-(?:IO|NBC|RMA|1|2|4))\b|(?:IMB-)?(?P<other>[\w-]{1,40}) part\b)"
)
_FACT = re.compile(
    r"#\s*(Date|Machine|System|Release|Version|MPI Version|MPI Library|MPI Thread Environment|MPI_Datatype"
    r"|MPI_Datatype for reductions|MPI_Op|Mbytes/sec|Settings|Random partners|Threads|Completion of transfers|Collectives|Off-cache mode|Passes|Results|Minimum message length in bytes"
    r"|Maximum message length in bytes|Minimum io portion in bytes|Maximum io portion in bytes)\s*:\s*(.*)$"
)
_ENDED = re.compile(
    r"#\s*(?:(All processes entering MPI_Finalize)|(Finished with .*)|(Interrupted|Aborted)(?: by (.+?))?: \d+ points?\b)"
)
# Behind a table that was measured in passes; its content is also in the cells of rows.
PASSES_NOTE = re.compile(
    r"# note: (?:\d+ of \d+ rows? not within |samples at several levels in |(?:group \d+: )?the machine changed between "
    r"|\d+ rows? with too few samples |\d+ rows? from the samples of a launch that was cut off)"
)
_PASSES = re.compile(
    r"# (\d{1,9}) pass(?:es)? in ([\d.]{1,12}) s, (\d{1,3}) % of it in timed regions(?:; no probes: .{1,80})?$"
)
_COMMAND = re.compile(
    r"\s*+[+$>%]*+\s*+((?:\w++=\S*+\s++)*+(?:\S*/)?(?:mpirun|mpiexec(?:\.\w+)?|orterun|srun|aprun|jsrun|prun)\s.*)$"
)
_RULE = re.compile(r"#?\s*-{5,}")
_KNOWN_LINES = re.compile(
    r"# Message lengths were user defined|# List of Benchmarks|# (?:window_size|pairs) = \d{1,9}$"
    r"|# New default behavior from Version|# the number of iterations per message size|# dynamically when a certain run"
    r"|# is expected to be exceeded|# SECS_PER_SAMPLE|# or through the flag|# For nonblocking benchmarks"
    r"|# Function CPU_Exploit|# performance of\s+[\d.]+ MFlops|#\s+(The benchmark measures|1\)|2\)) ?.*|::\s*$"
)
_TIME = re.compile(
    rb"(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?"
)  # of a line, as `ts` writes it
_UNDERLINES = frozenset(string.punctuation) - frozenset("#|{}[]()<>")
_LONGEST = 4096  # bytes of a line that are examined: no known line is longer
_remembered: dict[tuple[bytes, bytes], Preamble] = {}


def starts_something(text: str) -> bool:
    """Whether a line, blanks cut, begins a new part of a log and cannot be text between rows."""
    return bool(
        _BENCHMARKING.match(text)
        or _COMMAND.match(text)
        or _RULE.match(text)
        or _ENDED.match(text)
        or _is_underline(text)
    )


def without(line: bytes, prefix: bytes) -> bytes:
    """The line without quote marks, a tag, or a time that differs from line to line. Another rank's tag or a lost mark is
    not cut."""
    if not prefix:
        return line
    if line.startswith(prefix):
        return line[len(prefix) :]
    found = timed.match(line) if (timed := _with_any_time(prefix)) else None
    return line[found.end() :] if found else line


@lru_cache(maxsize=1000)
def _with_any_time(prefix: bytes) -> re.Pattern[bytes] | None:
    """The prefix with any time in place of its own; None where it has none."""
    found = _TIME.search(prefix)
    if found is None:
        return None
    time = re.sub(rb"\d+", rb"\\d+", re.escape(found[0]))
    return re.compile(re.escape(prefix[: found.start()]) + time + re.escape(prefix[found.end() :]))


def command_in(line: str) -> str | None:
    """The launch of an MPI program that a line shows; None where it shows none."""
    found = _COMMAND.match(line)
    return found[1][:4000] if found else None


def read_preamble(text: bytes, prefix: bytes) -> Preamble:
    """The facts in the text. Pure, so short texts, which are most, are cached."""
    key = (text, prefix)
    found = _remembered.get(key)
    if found is None:
        found = _read(text, prefix)
        if len(text) < 2000:
            if len(_remembered) > 5000:
                _remembered.clear()
            _remembered[key] = found
    return found


def _is_underline(line: str) -> bool:
    return len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line)


def _read(text: bytes, prefix: bytes) -> Preamble:
    events: list[LogEvent] = []
    head = Head("")
    excerpt = ""  # of a list of benchmarks that was cut out together with the table
    groups: list[list[int]] = []
    mapped = collecting = False
    state = ""
    lines = text.split(b"\n")
    here = at = skip = 0
    for index, raw in enumerate(lines):
        before, here, at = here, at, at + len(raw) + 1
        if skip:
            skip -= 1
            continue
        raw = without(raw, prefix)
        line = raw[:_LONGEST].decode("utf-8", "replace").rstrip()
        bare = line.strip()
        if not bare or bare == "#":
            if bare == "#" and state in ("calling", "called"):
                state = "called" if state == "calling" else ""
            continue
        if found := _BENCHMARKING.fullmatch(bare):
            head = Head(found[2], multi="summary" if found[1] else None)
            groups, mapped, collecting, state = [], False, True, ""
            events.append(LogEvent("benchmark", here, found[2]))
        elif found := _LABELED.fullmatch(bare):
            head = Head(
                found[2],
                multi="summary" if found[1] else None,
                processes=_whole(found[3]),
                threads=_whole(found[4]) or 1,
                group_count=1,
            )
            groups, mapped, collecting, state = [], False, True, ""
            events.append(LogEvent("benchmark", here, found[2]))
        elif found := _ENDED.match(bare):
            ended: State = (
                "complete" if found[1] or found[2] else "aborted" if found[3] == "Aborted" else "interrupted"
            )
            reason = found[4] or "" if ended != "complete" else ""
            events.append(LogEvent("end", here, reason[:200], state=ended))
            head, state = Head(""), ""
        elif found := _PASSES.match(bare):
            events.append(LogEvent("passes", here, parts=(found[1], found[2], found[3])))
            head, state = Head(""), ""
        elif found := _BANNER.match(bare):
            program = "OpenIMB" if found["ours"] else "Intel MPI Benchmarks"
            version = (found["ours"] or found["imb"]).strip()
            start = (
                here
                if index == 0 or not _RULE.match(lines[index - 1].decode("utf-8", "replace").strip())
                else before
            )
            events.append(
                LogEvent("banner", start, parts=(program, version, found["part"] or found["other"]))
            )
            head, state = Head(""), "banner"
        elif collecting and (found := _PROCESSES.match(bare)):
            head = head._replace(
                processes=_whole(found[1]), threads=_whole(found[2] or "1") or 1, group_count=1
            )
            mapped = bool(found[3])
            groups = [[]] if mapped else []
        elif collecting and (found := _GROUPS.match(bare)):
            head = head._replace(
                group_count=_whole(found[1]),
                processes=_whole(found[2]),
                threads=_whole(found[3] or "1") or 1,
            )
        elif collecting and (found := _GROUP.match(bare)):
            groups.append([int(rank) for rank in found[2].split()[:100_000] if len(rank) < 12])
        elif collecting and groups and (found := _RANKS.match(bare)):
            groups[-1].extend(int(rank) for rank in found[1].split() if len(rank) < 12)
        elif _WAITING.match(bare):
            pass
        elif found := _MODE.match(bare):
            mode: Mode = "non_aggregate" if found[1] else "aggregate"
            head = head._replace(mode=mode)
        elif found := _INVALID.match(bare):
            events.append(
                LogEvent(
                    "failure", here, bare.strip("# !")[:300], benchmark=found[1], number=_whole(found[2])
                )
            )
        elif found := _UNAVAILABLE.match(bare):
            events.append(LogEvent("failure", here, found[2][:300], benchmark=found[1]))
        elif found := _FACT.match(bare):
            state = "banner"
            events.append(LogEvent("fact", here, found[2].strip(), parts=(found[1], "", "")))
        elif bare.startswith("# Calling sequence was"):
            state = "calling"
        elif bare.startswith("# List of Benchmarks to run"):
            state = "list"
        elif state in ("calling", "called") and bare.startswith("#"):
            events.append(LogEvent("calling", here, bare[1:].strip()))
            state = "banner"
        elif _RULE.match(bare) and not _is_title(lines, index):
            state = ""
        elif state == "list" and (found := re.fullmatch(r"# ?(\S+)", bare)):
            events.append(LogEvent("listed", here, found[1]))
        elif found := re.fullmatch(r"# ?(\w+)", bare):
            if found[1] in known():
                excerpt = found[1]
            else:
                events.append(LogEvent("text", here, bare))
        elif (
            PASSES_NOTE.match(bare) or _KNOWN_LINES.match(bare) or (state == "list" and bare.startswith("# "))
        ):
            pass
        elif found := _COMMAND.match(line):
            words = found[1].rstrip("\\ ")
            while line.endswith("\\") and index + skip + 1 < len(lines):
                skip += 1
                line = lines[index + skip].decode("utf-8", "replace").strip()
                words += " " + line.rstrip("\\ ")
            events.append(LogEvent("command", here, words[:4000]))
        elif _is_underline(bare) and raw[:1].strip():
            if title := _title(lines, index):
                if events and events[-1].kind == "text" and events[-1].text == title[0]:
                    start = events.pop().at
                else:
                    start = here
                events.append(LogEvent("title", start, title[0][:200], style=title[1]))
        elif found := re.match(r"##+\s+(\S.*)", bare):
            events.append(LogEvent("title", here, found[1][:200], style=bare.split()[0]))
        else:
            events.append(LogEvent("text", here, bare[:200]))
    if not head.benchmark and excerpt:
        head = head._replace(benchmark=excerpt)
    kept = tuple(tuple(group) for group in groups if group)
    if kept:
        head = head._replace(groups=kept)
    return Preamble(head, tuple(event for event in events if event.kind != "benchmark"))


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) < 12 else None


def _is_title(lines: list[bytes], index: int) -> bool:
    return _title(lines, index) is not None


def _title(lines: list[bytes], index: int) -> tuple[str, str] | None:
    """The title that the underline at `index` belongs to, and its style: the character, twice with an overline."""
    line = lines[index].decode("utf-8", "replace").rstrip()
    if index == 0 or not _is_underline(line):
        return None
    title = lines[index - 1].decode("utf-8", "replace").rstrip()
    if (
        not title.strip()
        or _is_underline(title.strip())
        or title.lstrip().startswith("#")
        or len(title) > len(line) + 3
    ):
        return None
    over = index >= 2 and lines[index - 2].decode("utf-8", "replace").rstrip() == line
    return title.strip(), line[0] * (2 if over else 1)
