"""Launcher arguments: those of two sets together, and arguments that a launcher refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from imb.model.mpis import ASSIGNING_OPTIONS, MPIS, NAMED_OPTIONS, OPTION_SYNONYMS, joined

_REFUSED = re.compile(joined((*(mpi.refusal for mpi in MPIS), r'Try "srun --help" for more information')))


def override_arguments(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """Both sets of arguments. Where they set the same (`--mca NAME`, `-x NAME`, `--map-by`), only that of `then` is kept: some
    launchers reject an option that they get twice."""
    overridden = {_setting(group) for group in groups(then)}
    kept = [word for group in groups(first) if _setting(group) not in overridden for word in group]
    return [*kept, *then]


def groups(words: Sequence[str]) -> Iterator[list[str]]:
    """Each option with the values that follow it."""
    group: list[str] = []
    for word in words:
        if word.startswith("-") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _setting(group: Sequence[str]) -> tuple[str, ...]:
    """What an option sets."""
    option = group[0].partition("=")[0].lstrip("-")
    option = OPTION_SYNONYMS.get(option, option)
    named = option in ASSIGNING_OPTIONS or option in NAMED_OPTIONS
    return (option, group[1].partition("=")[0]) if named and len(group) > 1 else (option,)


def is_refusal(errors: bytes) -> bool:
    """Whether a launcher printed that it rejects its arguments: another launch would not change that."""
    return bool(_REFUSED.search(errors.decode(errors="replace")))
