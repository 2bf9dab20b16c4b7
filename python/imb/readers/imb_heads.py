"""Heads of tables that were read before, by the bytes of their text: they repeat within a log, and from log to log."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from imb.model.records import Multi
from imb.readers.table import CELL, Head

LONGEST = 2000  # bytes; a text of this length or longer is not kept
_MOST = 20_000  # texts


class KnownHead(NamedTuple):
    """What the text from the end of one table to the end of the next one's header row means."""

    head: Head
    columns: tuple[str, ...]
    width: int  # bytes of a regular row, its newline included
    lines: int  # from the first byte to the header row


class KnownHeads:
    """Texts that are a head and nothing else."""

    def __init__(self) -> None:
        self.by_text: dict[bytes, KnownHead] = {}
        self.get = self.by_text.get  # called for each table

    def keep(self, text: bytes, head: Head, columns: tuple[str, ...]) -> None:
        """`text` ends with the header row, without its newline."""
        if len(text) >= LONGEST:
            return
        if len(self.by_text) >= _MOST:
            self.by_text.clear()
        self.by_text[text] = KnownHead(head, columns, CELL * len(columns) + 1, text.count(b"\n"))


# By whether the command line of the launch has -multi: it decides what a head without groups means.
KNOWN = {False: KnownHeads(), True: KnownHeads()}


@lru_cache(maxsize=5000)
def with_multi(head: Head, grouped: bool, multi_option: bool) -> Head:
    """The head with `multi`: `grouped`: the table has a column of groups; `multi_option`: the command line has -multi."""
    multi: Multi = "each_group" if grouped else head.multi or ("summary" if multi_option else "off")
    return head._replace(multi=multi)
