"""Launcher arguments: those of two sets together, secrets that are passed by environment, arguments that a launcher refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from imb.model.confidential import NAMED_OPTIONS, is_secret
from imb.model.errors import ImbError

_SAME = {"omca": "mca", "gomca": "gmca"}  # two names of one option of Open MPI
# With these, Hydra does not pass all variables to other hosts.
_NOT_ALL = {"genvnone", "genvlist", "envnone", "envlist", "genvexcl"}
_REFUSED = re.compile(
    r"error parsing parameters"  # Hydra, Intel MPI
    r"|unrecognized option was included|more than once on the command line|command line option requires"
    r"|(?:directive|policy) is not recognized"
    r"|correct your command line|Type '[^']* --help' for usage|listed multiple times on the\s+command line"
    r'|Try "srun --help" for more information'
)


def overriding(first: Sequence[str], then: Sequence[str]) -> list[str]:
    """Both; where they set the same (`--mca NAME`, `-x NAME`, `--map-by`), what `then` says holds: some launchers refuse an
    option that they get twice."""
    settled = {_setting(group) for group in _groups(then)}
    kept = [word for group in _groups(first) if _setting(group) not in settled for word in group]
    return [*kept, *then]


def _groups(words: Sequence[str]) -> Iterator[list[str]]:
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
    option = _SAME.get(option, option)
    named = option == "x" or option in NAMED_OPTIONS
    return (option, group[1].partition("=")[0]) if named and len(group) > 1 else (option,)


def open_and_secret(words: Sequence[str], launcher: str) -> tuple[list[str], dict[str, str]]:
    """Arguments that every user of the host may see (ps), and the variables with a value that may be secret, which the launcher
    is to get in its environment instead. `launcher`: openmpi, hydra or srun. What else the arguments have stays."""
    shown: list[str] = []
    secret: dict[str, str] = {}
    for group in _groups(words):
        if launcher == "srun" and group[0] == "--export" and len(group) > 1:
            group = [f"--export={group[1]}", *group[2:]]
        option, values = group[0].lstrip("-"), group[1:]
        if launcher == "openmpi" and option == "x" and values and "=" in values[0]:
            name, _, value = values[0].partition("=")
            if is_secret(name):
                secret[name] = value
                group = [group[0], name, *values[1:]]
        elif launcher == "hydra" and option in ("genv", "env") and values:
            name, equals, value = values[0].partition("=")  # NAME=value or NAME value
            after = values[1:] if equals else values[2:]
            if is_secret(name) and (equals or len(values) > 1):
                secret[name] = value if equals else values[1]
                group = after
        elif launcher == "srun" and option.startswith("export="):
            parts = [part.partition("=") for part in group[0].partition("=")[2].split(",")]
            secret |= {name: value for name, equals, value in parts if equals and is_secret(name)}
            listed = (name if name in secret else name + equals + value for name, equals, value in parts)
            group = [f"--export={','.join(listed)}", *values]
        shown += group
    return shown, secret


def refuse_hidden_variables(words: Sequence[str], names: Sequence[str]) -> None:
    """Raises ImbError where Hydra would not pass these variables of its environment on."""
    stops = next((word for word in words if word.lstrip("-") in _NOT_ALL), None)
    if stops and names:
        raise ImbError(
            f"launcher argument {stops}: {', '.join(names)} may be secret and is passed by environment, which it"
            f" restricts; omit {stops}"
        )


def refused(errors: bytes) -> bool:
    """Whether this is what a launcher prints that does not take its arguments: another launch would not change that."""
    return bool(_REFUSED.search(errors.decode(errors="replace")))
