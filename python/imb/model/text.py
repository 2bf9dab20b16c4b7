"""Text and times as records and manifests hold them."""

import re
import shlex
from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def readable(text: str) -> str:
    r"""What the system said, for JSON: bytes that are no UTF-8, which Python keeps as surrogates, become \xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def numbers_in(text: str) -> set[int]:
    """Numbers of a list as Linux writes it, `0-3,8`; none where it is no such list."""
    found: set[int] = set()
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", piece, re.ASCII)
        if not match:
            return set()
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return found


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key: n2 is before n10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", name)
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part) for part in parts
    )


def shell_word(text: str) -> str:
    """As an argument in a command that is shown: quoted where a shell would not take it as it is."""
    return text if re.fullmatch(r"[\w@%+=:,./-][\w@%+=:,./#-]*", text, re.ASCII) else shlex.quote(text)


def one_line(text: str) -> str:
    r"""The text on one line, for people: line breaks and tabs are blanks, and what would steer a terminal or turn the
    direction of writing (control, format and bidirectional characters) is `?`. Bytes that are no UTF-8 are `\udcff`."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(c: str) -> str:
    if c.isprintable():
        return c
    if "\ud800" <= c <= "\udfff":
        return f"\\u{ord(c):04x}"
    return " " if c.isspace() else "?"


def without_controls(text: str) -> str:
    r"""Text of several lines, cleaned as by `one_line` line by line; only \n ends a line, and \t stays."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.split("\n"))
