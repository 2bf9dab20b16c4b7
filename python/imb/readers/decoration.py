"""Removes what other programs add to each line of a log: terminal codes, a launcher's tag, a time, a line number, a frame.

Readers get the lines without these. A line stays a line, so line numbers are the same as in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from imb.readers.parsed_log import Log

_CODES = re.compile(
    rb"\x1b\[[0-9:;<=>?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[()*+][A-Z0-9]|\x1b[=>78cDEHMN]|\x0f"
)
_DAY, _MONTH = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = re.compile(
    rb"(?:" + _DAY + rb",?\s+)?"
    rb"(?:" + _MONTH + rb"\s+\d{1,2},?\s+(?:\d{4},?\s+)?|\d{1,2}[ -]" + _MONTH + rb"[ -]\d{2,4}\s+"
    rb"|\d{4}[-/.]\d\d[-/.]\d\d[T ,]\s*|\d\d[-/.]\d\d[-/.]\d{2,4}[ ,]\s*)?"
    rb"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?:\s?(?:Z|UTC|[AP]M|[+-]\d\d:?\d\d))?(?:\s+(?:[A-Z]{3,4}\s+)?(?:19|20)\d\d\b)?"
    rb"|\b\d{9,11}(?:\.\d+)?\b|\b\d{1,7}\.\d{3,9}\b"
)
_PART_OF_TIME = re.compile(rb"\d+|[A-Za-z]+|\s+|.", re.DOTALL)
_IN_HTML = re.compile(rb"&nbsp;|&#160;|<br ?/?>|<pre\b", re.IGNORECASE)
_MARKUP = re.compile(
    rb"</?(?:br|p|pre|code|tt|samp|span|div|font|blockquote)\b[^<>\n]{0,200}>", re.IGNORECASE
)
_ENTITIES = (
    (b"&nbsp;", b" "),
    (b"&#160;", b" "),
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&amp;", b"&"),
)
_ROW = re.compile(rb"\s*\d{1,18}(?:\s+\d{1,18}){0,2}(?:\s+\d{1,15}\.\d+)+(?![\d.])")
_ROW_IN = re.compile(rb"(?:^|[\s:>\])])" + _ROW.pattern)
_ROW_AT_END = re.compile(rb"(?:^|\s)\d{1,18}(?:\s+\d{1,18}){0,2}(?:\s+\d{1,15}\.\d+)+\s*$")
_LONGEST_JOINED = 4096  # most bytes of a line that may consist of several joined lines
_LONGEST = 200  # most bytes of a tag
_AROUND = 8  # lines before and after a line whose numbers must count up, if its tag is a line number
# Text with which a line of a log begins, always in the first column.
_ANCHOR = re.compile(
    rb"# Benchmarking |# OSU |#    (?:Intel\s?\(R\) MPI|OpenIMB)|#\s*(?:bytes|repetitions|Size\b|(?:Avg |Overall|Latency|Bandwidth).*\()"
    rb"|(?<=\s)#repetitions"
)
_HEADING = re.compile(
    rb"(?:Group +)?#(?:bytes|repetitions)|# Size\b|#\s*(?:Avg Lat(?:ency)?|Latency|Overall|Bandwidth)\s?\("
)
_HEADING_OF_PAGE = re.compile(rb"\s*##+\s+\S")
_LABELED = re.compile(rb"# Benchmarking (?:Multi-)?simple_halo \(processes: [^)]*\)")
# OSU's benchmarks have column names with blanks.
_COLUMN = re.compile(
    rb"\s*(?:#?[A-Za-z_+/-]+\[(?:usec|\xc2\xb5sec|\xce\xbcsec|%)\]|#?(?:bytes|repetitions|rep\.s)|Group(?= )|M[Bb](?:yte|ytes)?/s(?:ec)?"
    rb"|[Mm]sgs?/sec|defects|# Size|#|(?:(?:Avg|Min|Max) )?Lat(?:ency)?\s?\(us\)|Iterations|Bandwidth\s?\(MB/s\)|Messages/s"
    rb"|Message Rate|(?:Overall|Compute|Pure Comm\.|Coll\. Init|MPI_Test|MPI_Wait|Min Comm\.|Max Comm\.)\s?\(us\)"
    rb"|Overlap\s?\(%\)|P\d+ Tail (?:Lat|BW)\((?:us|MB/s)\)|Validation|Transfer Size(?:\s?\(B\))?)(?=\s|$|(?<=[\])]))"
)


class _Tag(NamedTuple):
    """Text at the beginning or the end of the lines around line `line`. `number`: the number in the tag of line `line`, if the tag counts lines."""

    pattern: re.Pattern[bytes]
    line: int
    number: int | None = None
    distinct: bool = False  # if found again within a line, another line begins there

    def cut(self, line: bytes, number: int) -> re.Match[bytes] | None:
        match = self.pattern.match(line)
        if match and self.number is not None and int(match["count"]) != self.number + number - self.line:
            return None
        return match


class CleanText(NamedTuple):
    """The text of a log as readers get it. `breaks`: (line number, offset) of each line that was split off a line of the file because a line
    feed was missing; the offset is its first byte in the file's line."""

    text: bytes
    breaks: tuple[tuple[int, int], ...] = ()

    def line(self, number: int) -> int:
        """The line number in the file for a line number in this text."""
        return number - bisect_right(self.breaks, number, key=lambda each: each[0])


def plain_text(text: bytes) -> bytes:
    """The text with LF for CR LF, and without terminal control codes and HTML. Returns the same object if nothing changes."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"\x1b" in text:
        text = _CODES.sub(b"", text)
    if _IN_HTML.search(text):
        text = _MARKUP.sub(b"", text)
        for entity, sign in _ENTITIES:
            text = text.replace(entity, sign)
    return text


def restore_positions(log: Log, read: CleanText, text: bytes) -> None:
    """Changes `start`, `stop` and line numbers of launches from positions in `read` to positions in `text`."""
    if read.text is text:
        return
    ends, ends_in_file = (
        np.concatenate([[-1], np.flatnonzero(np.frombuffer(each, np.uint8) == 10)])
        for each in (read.text, text)
    )
    within = dict(read.breaks)

    def place(at: int) -> int:
        if at >= len(read.text):
            return len(text)
        number = int(np.searchsorted(ends, at))
        start = int(ends_in_file[read.line(number) - 1]) + 1 + within.get(number, 0)
        return start + at - int(ends[number - 1]) - 1

    for launch in log.launches:
        launch.start, launch.stop = place(launch.start), place(launch.stop)
    if read.breaks:
        for launch in log.launches:
            for item in launch.items:
                item.line = read.line(item.line or 0)
        for problems in (log.problems, log.assumed, log.notes):
            problems[:] = [replace(problem, line=read.line(problem.line)) for problem in problems]


def clean_tags(text: bytes) -> CleanText:
    """The text without tags before and after the lines of tables. Times and line numbers in tags may differ from line to line. Tags of
    another rank stay. If a line contains several rows, or a heading and a row, each gets its own line. Returns the same object as
    `text` if nothing changes."""
    lines = text.split(b"\n")
    fronts, backs = _tags(lines)
    result: list[bytes] = []
    breaks: list[tuple[int, int]] = []
    front_at = back_at = 0
    for number, line in enumerate(lines):
        while front_at < len(fronts) - 1 and fronts[front_at].line < number:
            front_at += 1
        while back_at < len(backs) - 1 and backs[back_at].line < number:
            back_at += 1
        # The next tag that was found after this line, and the last one before it.
        near = [fronts[at] for at in (front_at, front_at - 1) if 0 <= at < len(fronts)]
        near_back = [backs[at] for at in (back_at, back_at - 1) if 0 <= at < len(backs)]
        for start, piece in _pieces(line, number, near):
            for tag in near_back:
                if match := tag.cut(piece, number):
                    piece = piece[: match.start("tag")]
                    break
            result.append(piece)
            if start:
                breaks.append((len(result), start))
    if not fronts and not backs and not breaks:
        return CleanText(text)
    return CleanText(b"\n".join(result), tuple(breaks))


def _pieces(line: bytes, number: int, tags: Sequence[_Tag]) -> Iterator[tuple[int, bytes]]:
    """Yields (offset, text) for each line that was joined to this line, without tags. The offset of the first is 0."""
    begin, tag = 0, next((tag for tag in tags if tag.cut(line, number)), None)
    match = tag.cut(line, number) if tag else None
    rest = _strip_front(line, match) if match else line
    at = len(line) - len(rest)  # where `rest` begins
    while b"." in rest and len(rest) <= _LONGEST_JOINED:
        join = _join(rest, tag)
        if join is None:
            break
        yield begin, rest[: join[0]]
        begin, at = at + join[0], at + join[1]
        rest = line[at:]
    yield begin, rest


def _join(line: bytes, tag: _Tag | None) -> tuple[int, int] | None:
    """If two lines were joined without a line feed: the end of the first, and the beginning of the second after its tag. Else None."""
    places = [match.span() for match in tag.pattern.finditer(line, 1)] if tag and tag.distinct else []
    places += [(match.start(), match.start()) for match in _ANCHOR.finditer(line, 1)]
    if _HEADING.match(line.lstrip()) and (row := _text_after_columns(line.lstrip())):
        places.append((len(line) - len(row),) * 2)
    for end, start in sorted(places):
        before, after = line[:end], line[start:]
        heading = bool(_HEADING.match(before.lstrip()))
        if _ROW_AT_END.search(before) or (_ROW.match(after) and (heading or end < start)):
            return end, start
    return None


def _strip_front(line: bytes, match: re.Match[bytes]) -> bytes:
    """The line without the tag in front. A quoted heading keeps its `>` signs, which tell its depth."""
    is_heading = not match[0].strip(b"> \t") and _HEADING_OF_PAGE.match(line, match.end())
    return line if is_heading else line[match.end() :]


def _tags(lines: Sequence[bytes]) -> tuple[list[_Tag], list[_Tag]]:
    """The tags before lines and the tags after lines, one for each line from which a tag can be told."""
    fronts: list[_Tag] = []
    backs: list[_Tag] = []
    last = (-2, b"")
    for number, line in enumerate(lines):
        if b"#" not in line or not (anchor := _ANCHOR.search(line[: _LONGEST + 200])):
            continue
        start = anchor.start()
        if fronts and (known := fronts[-1].cut(line, number)):
            again = fronts[-1].distinct and fronts[-1].pattern.search(line, max(known.end(), 1))
            # Twice in a row, it is one tag, unless it quotes a quotation.
            if again and (line[known.end() : again.start()].strip() or not known[0].strip(b"> \t")):
                line = line[: again.start()]
        if start >= len(line) or _ROW_IN.search(line[:start]):  # another line precedes it in the same line
            continue
        rest = line[start:]
        if last[0] == number - 1 and last[1] == rest:  # another rank's line
            last = (number, rest)
            continue
        last = (number, rest)
        heading = _HEADING.match(rest)
        if group := re.search(rb"Group +$", line[:start]):
            start = group.start()
        front = line[:start]
        if front.strip() and len(front) <= _LONGEST and not _is_cut(fronts, line, number, start):
            fronts.append(
                _front_tag(lines, number, front, cells=bool(heading) and not rest.startswith(b"# Size"))
            )
        back = _text_after_columns(line[start:]) if heading else _text_after_label(rest)
        if back and not _ROW_IN.search(back) and not (backs and backs[-1].cut(line, number)):
            backs += _back_tags(lines, number, back)
    return fronts, backs


def _is_cut(fronts: Sequence[_Tag], line: bytes, number: int, start: int) -> bool:
    """Whether the last tag also covers the front of this line, whose text begins at `start`."""
    match = fronts[-1].cut(line, number) if fronts else None
    return match is not None and match.end() <= start and not line[match.end() : start].strip()


def _text_after_columns(heading: bytes) -> bytes:
    """The text after the last column name, including blanks; empty if there is none or the line has fewer than two names."""
    at = names = 0
    while match := _COLUMN.match(heading, at):
        at, names = match.end(), names + 1
    rest = heading[at:]
    return rest if names > 1 and rest.strip() and len(rest) <= _LONGEST else b""


def _text_after_label(title: bytes) -> bytes:
    """The text after the title of a table without a heading; empty if there is none."""
    match = _LABELED.match(title)
    return title[match.end() :] if match and title[match.end() :].strip() else b""


def _front_tag(lines: Sequence[bytes], number: int, front: bytes, *, cells: bool) -> _Tag:
    """The tag for this text before a line. `cells`: the blanks after it belong to the first cell."""
    core = front.rstrip()
    blanks = 0 if cells else len(front) - len(core)
    end = rb"[ \t]{0,%d}" % blanks
    if not cells and front == core:
        end = b""
    for at in _numbers(core):
        pattern = re.compile(
            _pattern(core[: at.start()].rstrip(b" "))
            + rb" *(?P<count>\d{1,9})"
            + _pattern(core[at.end() :])
            + end
        )
        tag = _Tag(pattern, number, int(at[0]))
        if _counts(lines, tag):
            return tag
    return _Tag(re.compile(_pattern(core) + end), number, distinct=bool(core.strip(b"0123456789. \t")))


def _back_tags(lines: Sequence[bytes], number: int, back: bytes) -> list[_Tag]:
    """A list with the tag for this text after a line; empty if the text may be a number of the row."""
    core = back.strip()
    for at in _numbers(core):
        pattern = re.compile(
            rb".*?(?P<tag>\s*"
            + _pattern(core[: at.start()])
            + rb"(?P<count>\d{1,9})"
            + _pattern(core[at.end() :])
            + rb"\s*)$"
        )
        tag = _Tag(pattern, number, int(at[0]))
        if _counts(lines, tag):
            return [tag]
    if re.fullmatch(rb"[\d.,\s]+", core):
        return []
    return [_Tag(re.compile(rb".*?(?P<tag>\s*" + _pattern(core) + rb"\s*)$"), number)]


def _numbers(core: bytes) -> list[re.Match[bytes]]:
    """The whole numbers in a tag that are not part of a time."""
    times = [match.span() for match in _TIME.finditer(core)]
    return [
        match
        for match in re.finditer(rb"\d{1,9}(?!\d)", core)
        if not any(first <= match.start() < last for first, last in times)
    ]


def _counts(lines: Sequence[bytes], tag: _Tag) -> bool:
    """Whether the numbers in the lines around the tag's line count up by one per line."""
    first, last = max(0, tag.line - _AROUND), min(len(lines), tag.line + _AROUND + 1)
    near = [number for number in range(first, last) if lines[number].strip()]
    right = [number for number in near if tag.cut(lines[number], number)]
    following = any(second - first == 1 for first, second in pairwise(right))
    return following and len(right) >= min(3, len(near)) and 2 * len(right) > len(near)


def _pattern(core: bytes) -> bytes:
    """A regular expression for the text of a tag with any time in place of the one in it."""
    pattern, at = b"", 0
    for match in _TIME.finditer(core):
        before = core[at : match.start()]
        text = before.rstrip(b" ")
        # A number may be padded with blanks, of which a longer one has fewer.
        pattern += re.escape(text) + (rb" *" if text != before else b"")
        for part in _PART_OF_TIME.findall(match[0]):
            pattern += (
                rb"\d+"
                if part.isdigit()
                else rb"[A-Za-z]+"
                if part.isalpha()
                else rb"\s+"
                if part.isspace()
                else re.escape(part)
            )
        at = match.end()
    return pattern + re.escape(core[at:])
