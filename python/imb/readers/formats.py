"""The formats of logs: READERS has a line for each. Only this module decides on the format of a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from imb.model.notes import note_unread
from imb.model.records import RECORD, Problem, Record, Records, read_launches
from imb.model.units import count_of
from imb.readers import imb_text, osu_text
from imb.readers.parsed_log import Log


class Reader(NamedTuple):
    """A reader. `format`: the name in imported runs; `title`: the name in messages; `detect`: returns a true value if a text may contain this
    format; `read`: never raises; lines that it does not understand become problems of the log."""

    format: str
    title: str
    detect: Callable[[bytes], object]
    read: Callable[[bytes, str], Log]


def _read_records(text: bytes, name: str) -> Log:
    launches = read_launches(text, name)
    problems = [problem for launch in launches for problem in launch.problems]
    return Log(name, RECORDS, recorded=launches, problems=problems)


RECORDS = "openimb-record"
# The first that detects a file reads it.
READERS = (
    Reader(RECORDS, "records", re.compile(rb"\s*" + re.escape(RECORD)).match, _read_records),
    Reader(imb_text.FORMAT, "IMB", imb_text.detect, imb_text.read),
    Reader(osu_text.FORMAT, "OSU's benchmarks", osu_text.detect, osu_text.read),
)
_OF_LOGS = READERS[1:]


def reader_of(text: bytes) -> Reader:
    """The reader for a text. If no format is detected, the reader of IMB."""
    return next((reader for reader in READERS if reader.detect(text)), _OF_LOGS[0])


def tables_in_words() -> str:
    """The programs whose tables can be read, as text."""
    return " or of ".join(reader.title for reader in _OF_LOGS)


def parse(text: bytes, name: str) -> Log:
    """The content of a file."""
    reader = reader_of(text)
    log = reader.read(text, name)
    if log.launches:
        _note_others(log, text, name, reader)
    if name:  # a user has named this file
        note_unread(log.assumed, lost=False)
    return log


def _note_others(log: Log, text: bytes, name: str, chosen: Reader) -> None:
    """Adds a problem if the file also has tables of another format, since a file is read in one format."""
    for other in _OF_LOGS[_OF_LOGS.index(chosen) + 1 :]:
        if other.detect(text):
            rows = max(other.read(text, "").counts()[1], 1)
            message = (
                f"tables of {chosen.title} and of {other.title} in one file: {count_of(rows, 'row')} of {other.title}"
                f" {'is' if rows == 1 else 'are'} skipped; split the file"
            )
            log.problems.append(Problem(name, 0, message, rows))


def read_log(text: bytes, name: str) -> Records:
    """The records of a log, in its order."""
    log = parse(text, name)
    recorded = [record for launch in log.recorded for record in launch.records]
    records: list[Record] = [record for launch in log.launches for record in launch.records()]
    return Records(recorded or records, log.problems)
