"""Other people's text -> records."""

from __future__ import annotations

from collections.abc import Sequence

from imb.logs import imb_rows, imb_text, osu_text
from imb.logs.table import Log
from imb.model.records import Problem, Record, Records


def parse_many(files: Sequence[tuple[bytes, str]]) -> list[Log]:
    """The content of logs of IMB, OpenIMB or OSU's benchmarks. Never fails: unreadable lines are problems.

    `files`: text, and its name in problems.
    """
    with_osu = [osu_text.looks_like(text) for text, _ in files]
    of_osu = [osu and imb_rows.MARK not in text for osu, (text, _) in zip(with_osu, files, strict=True)]
    of_imb = iter(imb_text.read_many([file for file, osu in zip(files, of_osu, strict=True) if not osu]))
    logs = [
        osu_text.read_osu(*file) if osu else next(of_imb) for file, osu in zip(files, of_osu, strict=True)
    ]
    for log, (_, name), osu, some in zip(logs, files, of_osu, with_osu, strict=True):
        if some and not osu and log.launches:
            log.problems.append(
                Problem(
                    name, 0, "tables of OSU and of IMB in one file: those of OSU are skipped; split the file"
                )
            )
    return logs


def parse(text: bytes, name: str) -> Log:
    """`parse_many` of one file."""
    return parse_many([(text, name)])[0]


def read_log(text: bytes, name: str) -> Records:
    """`parse`, as records in the order of the log."""
    log = parse(text, name)
    records: list[Record] = [record for launch in log.launches for record in launch.records()]
    return Records(records, log.problems)
