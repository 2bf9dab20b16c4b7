"""Reads the text above a table: its head, banners, commands, section titles, ends of launches."""

from __future__ import annotations

import re
import string
from typing import Literal, NamedTuple

from imb.model.catalog import all_benchmarks
from imb.model.records import EndState, Mode
from imb.readers.imb_rows import PASSES_NOTE
from imb.readers.messages import LAUNCHER, is_about_launcher, is_message, may_state_failure, states_failure
from imb.readers.parsed_log import Head
from imb.readers.skipped_lines import looks_like_row

EventKind = Literal[
    "banner", "fact", "calling", "listed", "title", "command", "passes", "end", "failure", "text"
]


class LogEvent(NamedTuple):
    """A fact in a text, at byte `at`."""

    kind: EventKind
    at: int
    text: str = ""
    parts: tuple[str, str, str] = ("", "", "")
    style: str = ""
    state: EndState | None = None
    benchmark: str = ""
    number: int | None = None


class Preamble(NamedTuple):
    """The facts above a table. `head_at`: the position of its title, or None if it has none; `more`: the number of lines of other text that are
    not in `events`."""

    head: Head
    events: tuple[LogEvent, ...]
    head_at: int | None = None
    more: int = 0


class Titles:
    """The sections that contain the current text. A title's style determines its level: styles have the order in which they first appear, but
    Markdown headings have their own order. Each heading ends the tabs and the paragraphs used as titles below it."""

    def __init__(self) -> None:
        self.styles: list[str] = []
        self.names: list[str] = []

    def enter(self, name: str, style: str) -> None:
        if style not in self.styles:
            inner = [
                at
                for at, each in enumerate(self.styles)
                if each[0] == style[0] == "#" and len(each) > len(style)
            ]
            if style[0] == "#":
                inner += [at for at, each in enumerate(self.styles) if each.startswith(_BELOW)]
            at = min(inner, default=len(self.styles))
            self.styles.insert(at, style)
            self.names[at:at] = [""] if at < len(self.names) else []
        level = self.styles.index(style)
        self.names[level:] = [*[""] * (level - len(self.names)), name]

    def path(self) -> str | None:
        """The titles from the outermost to the innermost, at most 200 characters; None outside of sections."""
        inner = [name for name in self.names if name]
        return " / ".join(inner)[-200:] or None


_BELOW = ("tab", "paragraph")  # styles of titles that are below all headings
_GRID = r"(?:graph )?[\dx ]{1,80}(?:, corners)?|random graph, degree \d{1,10}, seed \d{1,20}"
_BENCHMARKING = re.compile(rf"#?\s*Benchmarking\s+(Multi-)?(\S+)(?:\s+\((?:{_GRID})\))?(?:\s{{2,}}\S.*)?")
_PALLAS = re.compile(r"Test Type: Pallas MPI Benchmark / (\w+)")  # PMB, the predecessor of IMB
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
_VARIANT = re.compile(r"# variant = (\S{1,60})$")
_MODE = re.compile(r"#?\s*MODE:\s*(NON-)?AGGREGATE")
_INVALID = re.compile(r"#?\s*!!\s*Benchmark\s+(\S+)\s+(?:is\s+)?invalid for (\d+) process")
_UNAVAILABLE = re.compile(r"#?\s*!!\s*Benchmark\s+(\S+) is not available:\s*(.*?)\s*!*$")
_BANNER = re.compile(
    r"#\s*(?:Intel\s?\(R\) MPI Benchmark(?:s| Suite)\s+V?(?P<imb>[^,]+?)|OpenIMB (?P<ours>[^,]+)),\s*"
    r"(?:(?P<part>MPI-(?:IO|NBC|RMA|1|2|4))\b|(?:IMB-)?(?P<other>[\w-]{1,40}) part\b)"
)
_FACT = re.compile(
    r"#\s*(Date|Machine|System|Release|Version|MPI Version|MPI Library|MPI Thread Environment|MPI_Datatype"
    r"|MPI_Datatype for reductions|MPI_Op|Mbytes/sec|Settings|Minimum message length in bytes"
    r"|Maximum message length in bytes|Minimum io portion in bytes|Maximum io portion in bytes)\s*:\s*(.*)$"
)
_STATEMENT = re.compile(r"# ([A-Z][\w /-]{1,30}?) *:   (.*)$")  # a fact within a banner, as OpenIMB prints it
_ENDED = re.compile(
    r"#\s*(?:(All processes entering MPI_Finalize)|(Finished with .*)|(Interrupted|Aborted)(?: by (.+?))?: \d+ points?\b)"
)
_PASSES = re.compile(
    r"# (\d{1,9}) pass(?:es)? in ([\d.]{1,12}) s, (\d{1,3}) % of it in timed regions(?:; no probes: .{1,80})?$"
)
_COMMAND = re.compile(
    r"(?:[#*>\s]{0,12}(?i:running|executing|launching|executed|command(?: line)?|cmd|run|ran|exec|launch)(?: command| with)?\s*[:=]\s*)?`{0,3}"
    r"(?:\s*+(?:\(\w{1,40}\)\s*+)?+\[?[\w.-]{1,60}+@[\w.-]{1,60}+[: ][^$#%>]{0,200}+[$#%>]|\s*+[\w.-]{1,60}+[$#%>](?=\s))?+"  # a prompt
    r"\s*+[+$>%]*+\s*+((?:(?:time|exec|nohup|\w++=\S*+)\s++)*+(?:\S*/)?" + LAUNCHER + r"\s.*)$"
)
_RULE = re.compile(r"#?\s*-{5,}")
_KNOWN_LINES = re.compile(
    r"# Message lengths were user defined|# List of Benchmarks|# (?:window_size|pairs) = \d{1,9}$"
    r"|# New default behavior from Version|# the number of iterations per message size|# dynamically when a certain run"
    r"|# is expected to be exceeded|# SECS_PER_SAMPLE|# or through the flag|# For nonblocking benchmarks"
    r"|# Function CPU_Exploit|# performance of\s+[\d.]+ MFlops|#\s+(The benchmark measures|1\)|2\)) ?.*|::\s*$"
)
_BEGINNINGS = ("Benchmarking", "Group", "MODE", "Test Type")
_FENCES = ("```", "~~~")
_YAML = re.compile(rb"\s*(?:#.*|-(?:\s.*)?|[\"']?[\w. /-]{1,60}[\"']?\s*:(?:\s.*)?|[>|\]}[{].*|\s+\S.*)?$")
_TITLE_OF_PAGE = re.compile(r"title\s*:\s*(\S.*)")
_TAB = re.compile(r"(?:===[!+]?|\?\?\?\+?|!!!)\s+(?:[\w -]{1,40}\s+)?[\"'](\S.*?)[\"']")
_QUOTED = re.compile(r"((?:>\s*)+)(#{2,6})\s+(\S.*)$")
_SUMMARY = re.compile(
    r"(?:<details[^<>]*>\s*)?<(?:summary|h[1-6]|b|strong)\b[^<>]*>(?:<b>)?([^<>]+)(?:</\w+>)*(?:<br ?/?>)?"
)
_BOLD = re.compile(r"(?:>\s*)*(?:\*\*([^\s*][^*]*?):?\*\*|__([^\s_][^_]*?):?__):?")
_MAY_BE_TITLE = frozenset("=?!><*_")
_FENCE_BYTES = tuple(fence.encode() for fence in _FENCES)
_ONE_LINE_TITLE = re.compile(r"([=*~+-])\1{2,}\s*+([^=*~+-].*?)\s*\1{3,}$")
_UNDERLINES = frozenset(string.punctuation) - frozenset("#|{}[]()<>")
_LONGEST = 4096  # most bytes of a line to examine; no known line is longer
_SENTENCE = re.compile(r"[.!?,;]$")
_LONGEST_BOX = 60  # lines
_MOST_TEXTS = 2000  # most lines of other text to keep above one table
_preambles: dict[bytes, Preamble] = {}


def starts_part(text: str) -> bool:
    """Whether a line without blanks around it begins a new part of a log and so cannot be text between rows."""
    if text[0] == "#":
        return bool(
            _BENCHMARKING.match(text) or _RULE.match(text) or _ENDED.match(text) or _BANNER.match(text)
        )
    return bool(_BENCHMARKING.match(text) or _PALLAS.match(text) or _command(text))


def _command(line: str) -> str | None:
    """The command in a line that launches an MPI program, or None if there is none."""
    if not (match := _COMMAND.match(line)) or is_about_launcher(match[1]):
        return None
    return match[1].rstrip("`* ")


def read_preamble(text: bytes) -> Preamble:
    """The facts in the text. As the function is pure, results for short texts (most are short) are cached."""
    preamble = _preambles.get(text)
    if preamble is None:
        preamble = _read(text)
        if len(text) < 2000:
            if len(_preambles) > 5000:
                _preambles.clear()
            _preambles[text] = preamble
    return preamble


def _is_text(line: str) -> bool:
    """Whether a line can only be other text: a quick test that covers most lines that do not belong to a log."""
    return (
        (line[0].isalnum() or line[0] == "[")
        and "run" not in line
        and "exec" not in line
        and not line.startswith(_BEGINNINGS)
    )


def _is_underline(line: str) -> bool:
    return len(line) >= 3 and line[0] in _UNDERLINES and line == line[0] * len(line) and line not in _FENCES


def _read(text: bytes) -> Preamble:
    events: list[LogEvent] = []
    head, head_at = Head(""), None
    excerpt = ""  # part of a list of benchmarks that was copied together with the table
    groups: list[list[int]] = []
    mapped = collecting = False
    incomplete = -1  # number of events at "Finished with", or -1
    state = ""
    lines = text.split(b"\n")
    boxed = _boxed_lines(lines)
    matter = _front_matter(lines)
    has_fences = any(fence in text for fence in _FENCE_BYTES)
    fences = sum(line.strip().startswith(_FENCE_BYTES) for line in lines) if has_fences else 0  # from here on
    texts = more = 0
    may_fail = may_state_failure(text)
    line_start = at = skip = 0
    for index, raw in enumerate(lines):
        before, line_start, at = line_start, at, at + len(raw) + 1
        if skip:
            skip -= 1
            continue
        line = raw[:_LONGEST].decode("utf-8", "replace").rstrip()
        bare = line.strip()
        if "." in bare and looks_like_row(bare):  # the row may be within a line of other text
            events.append(LogEvent("text", line_start, bare[:200]))
        if index < matter:
            if match := _TITLE_OF_PAGE.match(line):
                events.append(LogEvent("title", line_start, match[1].strip("\"' ")[:200], style="page"))
            continue
        if title := _title_in_page(line, lines, index):
            events.append(LogEvent("title", line_start, title[0][:200], style=title[1]))
            continue
        if not bare or bare == "#":
            if bare == "#" and state in ("calling", "called"):
                state = "called" if state == "calling" else ""
            continue
        if index in boxed or _is_text(bare):
            if texts < _MOST_TEXTS or looks_like_row(bare) or (may_fail and states_failure(bare)):
                events.append(LogEvent("text", line_start, bare[:200]))
                texts += 1
            else:
                more += 1
        elif match := _BENCHMARKING.fullmatch(bare):
            head = Head(match[2], multi="summary" if match[1] else None)
            groups, mapped, collecting, state = [], False, True, ""
            head_at = line_start
        elif match := _PALLAS.fullmatch(bare):
            head, head_at, groups, collecting, state = Head(match[1]), line_start, [], True, ""
        elif match := _LABELED.fullmatch(bare):
            head = Head(
                match[2],
                multi="summary" if match[1] else None,
                processes=_integer(match[3]),
                threads=_integer(match[4]) or 1,
                group_count=1,
            )
            groups, mapped, collecting, state = [], False, True, ""
            head_at = line_start
        elif match := _ENDED.match(bare):
            if match[1] and len(events) == incomplete:
                continue  # after a line about missing rows, IMB's line is not a second end
            ended: EndState = (
                "complete" if match[1] or match[2] else "aborted" if match[3] == "Aborted" else "interrupted"
            )
            reason = match[4] or "" if ended != "complete" else ""
            events.append(LogEvent("end", line_start, reason[:200], state=ended))
            incomplete = len(events) if match[2] else -1
            head, state = Head(""), ""
        elif match := _PASSES.match(bare):
            events.append(LogEvent("passes", line_start, parts=(match[1], match[2], match[3])))
            head, state = Head(""), ""
        elif match := _BANNER.match(bare):
            program = "OpenIMB" if match["ours"] else "Intel MPI Benchmarks"
            version = (match["ours"] or match["imb"]).strip()
            start = (
                line_start
                if index == 0 or not _RULE.match(lines[index - 1].decode("utf-8", "replace").strip())
                else before
            )
            events.append(
                LogEvent("banner", start, bare, parts=(program, version, match["part"] or match["other"]))
            )
            head, state = Head(""), "banner"
        elif collecting and (match := _PROCESSES.match(bare)):
            head = head._replace(
                processes=_integer(match[1]), threads=_integer(match[2] or "1") or 1, group_count=1
            )
            mapped = bool(match[3])
            groups = [[]] if mapped else []
        elif collecting and (match := _GROUPS.match(bare)):
            head = head._replace(
                group_count=_integer(match[1]),
                processes=_integer(match[2]),
                threads=_integer(match[3] or "1") or 1,
            )
        elif collecting and (match := _GROUP.match(bare)):
            groups.append([int(rank) for rank in match[2].split()[:100_000] if len(rank) < 12])
        elif collecting and groups and (match := _RANKS.match(bare)):
            groups[-1].extend(int(rank) for rank in match[1].split() if len(rank) < 12)
        elif _WAITING.match(bare):
            pass
        elif collecting and (match := _VARIANT.match(bare)):
            head = head._replace(variant=match[1])
        elif match := _MODE.match(bare):
            mode: Mode = "non_aggregate" if match[1] else "aggregate"
            head = head._replace(mode=mode)
        elif match := _INVALID.match(bare):
            events.append(
                LogEvent(
                    "failure",
                    line_start,
                    bare.strip("# !")[:300],
                    benchmark=match[1],
                    number=_integer(match[2]),
                )
            )
        elif match := _UNAVAILABLE.match(bare):
            events.append(LogEvent("failure", line_start, match[2][:300], benchmark=match[1]))
        elif match := _FACT.match(bare):
            state = "banner"
            events.append(LogEvent("fact", line_start, match[2].strip(), parts=(match[1], "", "")))
        elif state == "banner" and (match := _STATEMENT.match(bare)):
            events.append(LogEvent("fact", line_start, match[2].strip(), parts=(match[1], "", "")))
        elif bare.startswith("# Calling sequence was"):
            state = "calling"
        elif bare.startswith("# List of Benchmarks to run"):
            state = "list"
        elif state in ("calling", "called") and bare.startswith("#"):
            events.append(LogEvent("calling", line_start, bare[1:].strip()))
            state = "banner"
        elif bare.startswith(_FENCES):
            fences -= 1
        elif (match := _ONE_LINE_TITLE.fullmatch(bare)) and not is_message(bare):
            events.append(LogEvent("title", line_start, match[2][:200], style="line"))
        elif _RULE.match(bare) and not _is_title(lines, index):
            state = ""
        elif state == "list" and (match := re.fullmatch(r"# ?(\S+)", bare)):
            events.append(LogEvent("listed", line_start, match[1]))
        elif (match := re.fullmatch(r"# ?(\w+)", bare)) and (fences % 2 == 0 or match[1] in all_benchmarks()):
            if match[1] in all_benchmarks():
                excerpt = match[1]
            else:
                events.append(LogEvent("text", line_start, bare))
        elif (
            PASSES_NOTE.match(bare) or _KNOWN_LINES.match(bare) or (state == "list" and bare.startswith("# "))
        ):
            pass
        elif words := _command(line) or "":
            words = words.rstrip("\\ ")
            while line.endswith("\\") and index + skip + 1 < len(lines):
                skip += 1
                line = lines[index + skip].decode("utf-8", "replace").strip()
                words += " " + line.rstrip("\\ ")
            events.append(LogEvent("command", line_start, words[:4000]))
        elif _is_underline(bare) and raw[:1].strip():
            if title := _title(lines, index):
                start = events.pop().at if events and events[-1].at == before else line_start
                events.append(LogEvent("title", start, title[0][:200], style=title[1]))
        elif match := re.match(
            r"##+\s+(\S.*)" if not has_fences or fences % 2 == 0 else r"#+\s+(\S.*)", bare
        ):
            name = match[1].rstrip("# ")
            events.append(LogEvent("title", line_start, name[:200], style=bare.split()[0]))
        else:
            events.append(LogEvent("text", line_start, bare[:200]))
    if not head.benchmark and excerpt:
        head = head._replace(benchmark=excerpt)
    kept = tuple(tuple(group) for group in groups if group)
    if kept:
        head = head._replace(groups=kept)
    return Preamble(head, tuple(events), head_at, more)


def _front_matter(lines: list[bytes]) -> int:
    """The number of lines in the front matter of a page (YAML between two lines `---`); 0 if it has none."""
    if lines[0].strip() != b"---":
        return 0
    for at, line in enumerate(lines[1:_LONGEST_BOX], 1):
        if line.strip() == b"---":
            return at + 1
        if not _YAML.match(line):
            return 0
    return 0


def _title_in_page(line: str, lines: list[bytes], index: int) -> tuple[str, str] | None:
    """The title and style if the line is the title of a tab, a folded part, a quoted section or a paragraph; else None."""
    bare = line.strip()
    if bare[:1] not in _MAY_BE_TITLE and bare[-1:] != ":":
        return None
    if match := _TAB.fullmatch(bare):
        return match[1], f"tab{len(line) - len(line.lstrip()):03}"
    if match := _QUOTED.match(bare):
        # Headings in a deeper quote are below the headings of the quote around it.
        return match[3].rstrip("# "), "#" * (6 * match[1].count(">") + len(match[2]))
    if match := _SUMMARY.fullmatch(bare) or _BOLD.fullmatch(bare):
        name = next(filter(None, match.groups())).strip()
        return None if is_message(name) or _command(name) or looks_like_row(name) else (name, "paragraph")
    following = next((each.strip() for each in lines[index + 1 :] if each.strip()), b"")
    is_apart = not index or not lines[index - 1].strip()
    if (
        bare[-1:] == ":"
        and bare[0].isalnum()
        and len(bare) <= _LONGEST_BOX
        and is_apart
        and following[:3] in _FENCE_BYTES
    ):
        return None if is_message(bare) or _command(bare) else (bare.rstrip(": "), "paragraph")
    return None


def _boxed_lines(lines: list[bytes]) -> frozenset[int]:
    """The numbers of lines between two equal rules, including the rules, if these are messages of several lines, such as help texts of MPI
    libraries."""
    rules = [
        at
        for at, line in enumerate(lines)
        if len(line) >= 20 and line[:1] in b"-=*" and line.rstrip() == line[:1] * len(line.rstrip())
    ]
    boxed: set[int] = set()
    at = 0
    while at < len(rules) - 1:
        first, last = rules[at], rules[at + 1]
        above = lines[first - 1].decode("utf-8", "replace").rstrip() if first else ""
        is_underline = (
            above
            and not (above[0].isspace() or above[0] == "#")
            and not (_SENTENCE.search(above) or is_message(above) or looks_like_row(above) or _command(above))
            and not is_message(lines[first + 1].decode("utf-8", "replace"))
        )
        # A box contains no lines of IMB, so the text between two boxes does not count as a box.
        equal = lines[first].rstrip() == lines[last].rstrip() and not any(
            line.startswith(b"#") for line in lines[first:last]
        )
        if equal and not is_underline and 2 < last - first <= _LONGEST_BOX:
            boxed.update(range(first, last + 1))
            at += 2
        elif equal and not is_underline and last - first == 2:  # a title in a frame, or a message of one line
            if is_message(lines[first + 1].decode("utf-8", "replace")):
                boxed.update(range(first, last + 1))
            at += 2
        else:
            at += 1
    return frozenset(boxed)


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) < 12 else None


def _is_title(lines: list[bytes], index: int) -> bool:
    return _title(lines, index) is not None


def _title(lines: list[bytes], index: int) -> tuple[str, str] | None:
    """The title above the underline at `index`, and its style: the underline's character, doubled if there is an overline. None if it has no
    title."""
    line = lines[index].decode("utf-8", "replace").rstrip()
    if index == 0 or not _is_underline(line):
        return None
    title = lines[index - 1].decode("utf-8", "replace").rstrip()
    if (
        not title.strip()
        or _is_underline(title.strip())
        or title.lstrip().startswith("#")
        or len(title) > len(line) + 3
        or is_message(title)
        or _command(title)
    ):
        return None
    if index >= 2 and lines[index - 2].decode("utf-8", "replace").rstrip() == line:
        return title.strip().strip(line[0]).strip() or title.strip(), "frame"
    if title[0].isspace() or title.endswith("."):  # part of a message
        return None
    return title.strip(), line[0]
