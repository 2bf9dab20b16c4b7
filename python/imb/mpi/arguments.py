"""Merges launcher arguments, and detects that a launcher refused its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from imb.model.mpis import ASSIGNING_OPTIONS, MPIS, NAMED_OPTIONS, OPTION_SYNONYMS, join_patterns

_REFUSED = re.compile(
    join_patterns((*(mpi.refusal for mpi in MPIS), r'Try "srun --help" for more information'))
)


def override_arguments(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """Merges two sets of arguments. If both set the same thing (`--mca NAME`, `-x NAME`, `--map-by`), keeps only the one in `then`, since
    some launchers reject an option that they get twice."""
    overridden = {_setting(group) for group in groups(then)}
    kept = [word for group in groups(first) if _setting(group) not in overridden for word in group]
    return [*kept, *then]


def groups(words: Sequence[str]) -> Iterator[list[str]]:
    """Yields each option together with the values that follow it."""
    group: list[str] = []
    for word in words:
        if word.startswith("-") and group:
            yield group
            group = []
        group.append(word)
    if group:
        yield group


def _setting(group: Sequence[str]) -> tuple[str, ...]:
    """A key that is equal for options that set the same thing."""
    option = group[0].partition("=")[0].lstrip("-")
    option = OPTION_SYNONYMS.get(option, option)
    named = option in ASSIGNING_OPTIONS or option in NAMED_OPTIONS
    return (option, group[1].partition("=")[0]) if named and len(group) > 1 else (option,)


def is_refusal(errors: bytes) -> bool:
    """Whether a launcher printed that it rejects its arguments, so that another launch would also fail."""
    return bool(_REFUSED.search(errors.decode(errors="replace")))
