"""Other people's text -> records."""

from __future__ import annotations

from imb.logs import imb_text
from imb.logs.table import Log
from imb.records import Record, Records


def parse(text: bytes, name: str) -> Log:
    """What a log of IMB, OpenIMB or OSU's benchmarks says. Never fails: what is not understood is a problem.

    `name` is what problems call the file.
    """
    return imb_text.read_many([(text, name)])[0]


def read_log(text: bytes, name: str) -> Records:
    """`parse`, as records in the order of the log."""
    log = parse(text, name)
    records: list[Record] = [record for launch in log.launches for record in launch.records()]
    return Records(records, log.problems)
