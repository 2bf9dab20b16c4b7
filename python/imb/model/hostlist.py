"""Lists of host names with ranges, as Slurm writes them: `node[001-128],login1`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from imb.model.errors import ImbError
from imb.model.text import one_line

MOST = 100_000  # host names in one list; more are an error, as a mistyped range would fill the memory
_PART = re.compile(r"[^][,\s]+|\[[^][\s]*\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?$", re.ASCII)


def expand_hosts(text: str) -> list[str]:
    """The names in the order of the list, each once. Raises ImbError if the list is malformed or has more than MOST names."""
    names: dict[str, None] = {}
    for word in _words(text):
        parts = _PART.findall(word)
        if "".join(parts) != word:
            raise _range_error(word)
        choices = [list(_numbers(part, word)) if part[0] == "[" else [part] for part in parts]
        count = 1
        for choice in choices:
            count *= len(choice)
        if count + len(names) > MOST:
            raise _too_many_hosts(word)
        names |= dict.fromkeys(map("".join, itertools.product(*choices)))
    return list(names)


def _words(text: str) -> Iterator[str]:
    """Yields the parts between commas or blanks; those within brackets do not separate."""
    yield from re.findall(r"(?:\[[^]]*\]?|[^\[,\s])+", text)


def _numbers(part: str, word: str) -> Iterator[str]:
    """Yields the numbers in brackets: 001, 002, 003, 7 for `[001-003,7]`."""
    total = 0
    for item in part[1:-1].split(","):
        match = _RANGE.match(item)
        if not match or len(item) > 40:
            raise _range_error(word)
        first, last = match[1], match[2] or match[1]
        low, high = int(first), int(last)
        total += high - low + 1
        if high < low:
            raise _range_error(word)
        if total > MOST:
            raise _too_many_hosts(word)
        yield from (str(number).zfill(len(first)) for number in range(low, high + 1))


def _range_error(word: str) -> ImbError:
    return ImbError(f"not a list of hosts: {_shorten(word)}; write names or ranges such as node[001-128]")


def _too_many_hosts(word: str) -> ImbError:
    return ImbError(f"{_shorten(word)}: more than {MOST:,} hosts; give a shorter list")


def _shorten(word: str) -> str:
    return one_line(word if len(word) <= 60 else word[:60] + "...")
