"""What other programs put around each line of a log: terminal codes, a launcher's tag, a time, a line number, a frame.

Readers get the lines without it. A line stays a line, so numbers of lines are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from imb.readers.table import LoggedLaunch

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
_LONGEST = 200  # bytes of a tag
_AROUND = 8  # lines before and after one that must continue the count of line numbers
# What begins a line of a log, and does so at its first column.
_ANCHOR = re.compile(
    rb"# Benchmarking |# OSU |#    (?:Intel\s?\(R\) MPI|OpenIMB)|#\s*(?:bytes|repetitions|Size\b|(?:Avg |Overall|Latency|Bandwidth).*\()"
    rb"|(?<=\s)#repetitions"
)
_HEADING = re.compile(
    rb"(?:Group +)?#(?:bytes|repetitions)|# Size\b|#\s*(?:Avg Lat(?:ency)?|Latency|Overall|Bandwidth)\s?\("
)
_HEADING_OF_PAGE = re.compile(rb"\s*##+\s+\S")
_LABELED = re.compile(rb"# Benchmarking (?:Multi-)?simple_halo \(processes: [^)]*\)")
# Names with blanks are those of OSU's benchmarks.
_COLUMN = re.compile(
    rb"\s*(?:#?[A-Za-z_+/-]+\[(?:usec|\xc2\xb5sec|\xce\xbcsec|%)\]|#?(?:bytes|repetitions|rep\.s)|Group(?= )|M[Bb](?:yte|ytes)?/s(?:ec)?"
    rb"|[Mm]sgs?/sec|defects|# Size|#|(?:(?:Avg|Min|Max) )?Lat(?:ency)?\s?\(us\)|Iterations|Bandwidth\s?\(MB/s\)|Messages/s"
    rb"|Message Rate|(?:Overall|Compute|Pure Comm\.|Coll\. Init|MPI_Test|MPI_Wait|Min Comm\.|Max Comm\.)\s?\(us\)"
    rb"|Overlap\s?\(%\)|P\d+ Tail (?:Lat|BW)\((?:us|MB/s)\)|Validation|Transfer Size(?:\s?\(B\))?)(?=\s|$|(?<=[\])]))"
)


class _Tag(NamedTuple):
    """Text at the beginning or the end of the lines around line `line`. `number`: the number in it at this line, where it counts lines."""

    pattern: re.Pattern[bytes]
    line: int
    number: int | None = None

    def cut(self, line: bytes, number: int) -> re.Match[bytes] | None:
        match = self.pattern.match(line)
        if match and self.number is not None and int(match["count"]) != self.number + number - self.line:
            return None
        return match


def plain(text: bytes) -> bytes:
    """The text with LF for each CR LF, and without codes that control a terminal; the same object where it has none."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    return _CODES.sub(b"", text) if b"\x1b" in text else text


def as_in_file(launches: Sequence[LoggedLaunch], read: bytes, text: bytes) -> None:
    """Changes `start` and `stop` of launches from positions in `read` to positions in `text`, which has the same lines."""
    if read is text:
        return
    ends, ends_in_file = (
        np.concatenate([[-1], np.flatnonzero(np.frombuffer(each, np.uint8) == 10)]) for each in (read, text)
    )

    def place(at: int) -> int:
        if at >= len(read):
            return len(text)
        line = int(np.searchsorted(ends, at)) - 1
        return int(ends_in_file[line]) + at - int(ends[line])

    for launch in launches:
        launch.start, launch.stop = place(launch.start), place(launch.stop)


def untagged(text: bytes) -> bytes:
    """The text without what is before each line of a table, and after it. Times and line numbers may differ from line
    to line; the tags of another rank are not removed. The same object where there is no such text."""
    lines = text.split(b"\n")
    fronts, backs = _tags(lines)
    if not fronts and not backs:
        return text
    rest = _cut(lines, fronts, _without_front)
    return b"\n".join(_cut(rest, backs, lambda line, match: line[: match.start("tag")]))


def _without_front(line: bytes, match: re.Match[bytes]) -> bytes:
    """A quoted heading keeps the signs of its quote: they are its depth."""
    is_heading = not match[0].strip(b"> \t") and _HEADING_OF_PAGE.match(line, match.end())
    return line if is_heading else line[match.end() :]


def _cut(
    lines: list[bytes], tags: Sequence[_Tag], cut: Callable[[bytes, re.Match[bytes]], bytes]
) -> list[bytes]:
    """The lines, each without the tag that was found next after it, or last before it."""
    if not tags:
        return lines
    result: list[bytes] = []
    at = 0
    for number, line in enumerate(lines):
        while at < len(tags) - 1 and tags[at].line < number:
            at += 1
        for tag in (tags[at], tags[at - 1]) if at else (tags[at],):
            if match := tag.cut(line, number):
                line = cut(line, match)
                break
        result.append(line)
    return result


def _tags(lines: Sequence[bytes]) -> tuple[list[_Tag], list[_Tag]]:
    """What is before the lines, and after them, at each line that shows it."""
    fronts: list[_Tag] = []
    backs: list[_Tag] = []
    last = (-2, b"")
    for number, line in enumerate(lines):
        if b"#" not in line or not (anchor := _ANCHOR.search(line[: _LONGEST + 200])):
            continue
        start, rest = anchor.start(), line[anchor.start() :]
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
                _front(lines, number, front, cells=bool(heading) and not rest.startswith(b"# Size"))
            )
        back = _after_columns(line[start:]) if heading else _after_labeled(rest)
        if back and not (backs and backs[-1].cut(line, number)):
            backs += _back(lines, number, back)
    return fronts, backs


def _is_cut(fronts: Sequence[_Tag], line: bytes, number: int, start: int) -> bool:
    """Whether the last tag is also the one of this line, whose text begins at `start` or with blanks before it."""
    match = fronts[-1].cut(line, number) if fronts else None
    return match is not None and match.end() <= start and not line[match.end() : start].strip()


def _after_columns(heading: bytes) -> bytes:
    """The text after the last name of a column, blanks included; empty where there is none, or fewer than two names."""
    at = names = 0
    while match := _COLUMN.match(heading, at):
        at, names = match.end(), names + 1
    rest = heading[at:]
    return rest if names > 1 and rest.strip() and len(rest) <= _LONGEST else b""


def _after_labeled(title: bytes) -> bytes:
    """The text after a title whose table has no heading."""
    match = _LABELED.match(title)
    return title[match.end() :] if match and title[match.end() :].strip() else b""


def _front(lines: Sequence[bytes], number: int, front: bytes, *, cells: bool) -> _Tag:
    """The tag of this text before a line. `cells`: the blanks after it belong to the first cell."""
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
    return _Tag(re.compile(_pattern(core) + end), number)


def _back(lines: Sequence[bytes], number: int, back: bytes) -> list[_Tag]:
    """The tag of this text after a line; empty where the text may be a figure."""
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
    """The whole numbers in a tag that are no part of a time."""
    times = [match.span() for match in _TIME.finditer(core)]
    return [
        match
        for match in re.finditer(rb"\d{1,9}(?!\d)", core)
        if not any(first <= match.start() < last for first, last in times)
    ]


def _counts(lines: Sequence[bytes], tag: _Tag) -> bool:
    """Whether the lines around that of a tag have its number, increased by one each."""
    first, last = max(0, tag.line - _AROUND), min(len(lines), tag.line + _AROUND + 1)
    near = [number for number in range(first, last) if lines[number].strip()]
    right = [number for number in near if tag.cut(lines[number], number)]
    following = any(second - first == 1 for first, second in pairwise(right))
    return following and len(right) >= min(3, len(near)) and 2 * len(right) > len(near)


def _pattern(core: bytes) -> bytes:
    """The text of a tag with any other time in place of its own."""
    pattern, at = b"", 0
    for match in _TIME.finditer(core):
        pattern += re.escape(core[at : match.start()])
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
