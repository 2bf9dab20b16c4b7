"""Every format that is read: one line of READERS each. The only place that decides on the format of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from imb.model.records import RECORD, Problem, Record, Records, read
from imb.readers import imb_text, osu_text
from imb.readers.table import Log

File: TypeAlias = tuple[bytes, str]  # text, and its name in problems


class Reader(NamedTuple):
    """`format`: as imported runs have it; `title`: as messages call it. `detect`: whether there may be output of it in a text.
    `read` never fails: lines that are not understood are problems, which stay with the log. It gets several files, since many
    at once are read faster."""

    format: str
    title: str
    detect: Callable[[bytes], object]
    read: Callable[[Sequence[File]], list[Log]]


def _read_records(files: Sequence[File]) -> list[Log]:
    logs = []
    for text, name in files:
        content = read(text, name)
        logs.append(Log(name, RECORDS, records=content.records, problems=content.problems))
    return logs


RECORDS = "openimb-record"
# The first that detects a file reads it.
READERS = (
    Reader(RECORDS, "records", re.compile(rb"\s*" + re.escape(RECORD)).match, _read_records),
    Reader(imb_text.FORMAT, "IMB", imb_text.detect, imb_text.read_many),
    Reader(osu_text.FORMAT, "OSU's benchmarks", osu_text.detect, osu_text.read_many),
)
_OF_LOGS = READERS[1:]


def reader_of(text: bytes) -> Reader:
    """The reader of a text; that of IMB also where no format is detected."""
    return next((reader for reader in READERS if reader.detect(text)), _OF_LOGS[0])


def tables_in_words() -> str:
    """What a log may have tables of."""
    return " or of ".join(reader.title for reader in _OF_LOGS)


def parse_many(files: Sequence[File]) -> list[Log]:
    """The content of each file, in their order."""
    chosen = [reader_of(text) for text, _ in files]
    logs: dict[int, Log] = {}
    for reader in READERS:
        numbers = [number for number, choice in enumerate(chosen) if choice is reader]
        if numbers:
            logs.update(zip(numbers, reader.read([files[number] for number in numbers]), strict=True))
    for number, (text, name) in enumerate(files):
        if logs[number].launches:
            _note_others(logs[number], text, name, chosen[number])
    return [logs[number] for number in range(len(files))]


def _note_others(log: Log, text: bytes, name: str, chosen: Reader) -> None:
    """A file has one format; tables of others in it are a problem."""
    for other in _OF_LOGS[_OF_LOGS.index(chosen) + 1 :]:
        if other.detect(text):
            message = f"tables of {other.title} and of {chosen.title} in one file: those of {other.title} are skipped"
            log.problems.append(Problem(name, 0, f"{message}; split the file"))


def parse(text: bytes, name: str) -> Log:
    """`parse_many` of one file."""
    return parse_many([(text, name)])[0]


def read_log(text: bytes, name: str) -> Records:
    """The log of a run, as records in its order."""
    log = parse(text, name)
    records: list[Record] = [record for launch in log.launches for record in launch.records()]
    return Records(log.records or records, log.problems)
