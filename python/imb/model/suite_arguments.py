"""How the suite reads its arguments (src/cli/option_table.cpp), and the options that the companion must know (src/cli/options.cpp)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

PASSES = ("passes", "precision", "budget")
NOT_IN_PASSES = ("show_tail", "dumpfile", "msg_pause", "pause")  # `.excludes = in_passes`
LENGTHS = ("msglog", "msgsize", "msgsz", "msglen", "count")  # choose message sizes
NAME_LISTS = ("include", "exclude")  # have names of benchmarks as values
NOTHING_MEASURED = ("help", "list", "version")
SET_BY_IMB = ("json", "input", "turns")  # set by every command that launches
_ALIASES = {"h": "help", "gpu_select": "gpu"}


def option_name(word: str) -> str:
    """`msglog` for `-msglog` and `--MsgLog`; empty if the word is a value or a benchmark, as `-5` is."""
    name = word.removeprefix("-").removeprefix("-").lower()
    if not word.startswith("-") or name[:1].isdigit() or name.startswith("."):
        return ""
    return _ALIASES.get(name, name)


def options_of(arguments: Sequence[str]) -> dict[str, str]:
    """Option -> following word, the last one if the option is repeated."""
    return {option: value for option, value in _pairs(arguments) if option}


def values_of(arguments: Sequence[str], name: str) -> list[str]:
    """The values of an option that may be repeated."""
    return [value for option, value in _pairs(arguments) if option == name]


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    return [(option_name(word), value) for word, value in itertools.pairwise([*arguments, ""])]
