"""Spellings of version 0.1: they work in this version, and one line on standard error has the new one. Later versions drop them: delete a row here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

COMMANDS = {
    "label": "archive label",
    "rm": "archive rm",
    "restore": "archive restore",
    "verify": "archive verify",
    "plot": "report",
}
# By command. A spelling with a blank replaces a flag by an option with its value.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "ab": {"--parts": "--segments"},
    "ls": {"--json": "--format json"},
    "startup": {"--json": "--format json"},
    "doctor": {"--json": "--format json"},
    "diagnose": {"--memory": "--memory-bandwidth"},
    "report": {"--memory": "--memory-bandwidth"},
}
# By command: options that are keys of a campaign's file now. Hidden options read them.
_JOBS = {"--jobs": "jobs", "--host-pairs": "host_pairs"}
TO_FILE: Mapping[str, Mapping[str, str]] = {
    "run": _JOBS,
    "campaign": _JOBS,
    "ab": {**_JOBS, "--turn-timeout": "turn_timeout"},
}
KEYS = {"parts": "segments"}  # of a campaign's file
_END = "the old spelling ends with this version"


def current(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a command line in their current spelling, and a line for each that is old."""
    if not words:
        return [], []
    name, lines = words[0], list[str]()
    command, rest = [name], list(words[1:])
    if name in COMMANDS:
        command = COMMANDS[name].split()
        if name == "plot" and not any(word.startswith(("-o", "--output")) for word in rest):
            command += ["--format", "terminal"]  # a file has its format in its name
        lines.append(_line(f"imb {name}", f"imb {' '.join(command)}"))
    end = rest.index("--") if "--" in rest else len(rest)
    options, to_file = OPTIONS.get(name, {}), TO_FILE.get(name, {})
    for word in rest[:end]:
        option, equals, value = word.partition("=")
        if option in options:
            lines.append(_line(option, options[option]))
            command += f"{options[option]}{equals}{value}".split(" ", 1)
        else:
            if option in to_file:
                lines.append(
                    f"{option} is now {to_file[option]} in the file of imb campaign; the option ends with this version"
                )
            command.append(word)
    return [*command, *rest[end:]], list(dict.fromkeys(lines))


def current_keys(table: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """`current` for the table of a campaign's file: the table with current keys, and a line for each old one."""
    old = [key for key in KEYS if key in table and KEYS[key] not in table]
    return {KEYS[key] if key in old else key: value for key, value in table.items()}, [
        _line(key, KEYS[key]) for key in old
    ]


def _line(old: str, new: str) -> str:
    return f"{old} is now {new}; {_END}"
