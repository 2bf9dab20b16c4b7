"""Text and times as records and manifests hold them."""

import os
import pwd
import re
import shlex
import unicodedata
from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user_name(uid: int) -> str:
    """The name of a user, or the number where the system knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def readable_text(text: str) -> str:
    r"""Text of the system, for JSON: bytes that are no UTF-8, which Python keeps as surrogates, become \xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def numbers_in(text: str) -> set[int]:
    """Numbers of a list as Linux writes it, `0-3,8`; none where it is no such list."""
    numbers: set[int] = set()
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", piece, re.ASCII)
        if not match:
            return set()
        numbers |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return numbers


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key: n2 is before n10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", name)
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part) for part in parts
    )


def shell_word(text: str) -> str:
    """The text as an argument in a command that is shown, quoted where a shell needs that."""
    return text if re.fullmatch(r"[\w@%+=:,./-][\w@%+=:,./#-]*", text, re.ASCII) else shlex.quote(text)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def csv_text(text: str) -> str:
    """A text as a cell of CSV: a spreadsheet takes one that begins with =, +, -, @ or a blank control for a formula, unless an
    apostrophe is before it. Numbers stay numbers."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(text) else text


def named_bytes(text: str) -> str:
    r"""The inverse of `readable_text`, as a name of a file: `\xff` is that byte."""
    parts = re.split(r"\\x([89a-f][0-9a-f])", text)
    return "".join(os.fsdecode(bytes.fromhex(part)) if at % 2 else part for at, part in enumerate(parts))


_JOINS = {"\u200c", "\u200d"}  # within emoji and words of some scripts


def is_printable(text: str) -> bool:
    """Whether it can be shown as it is: no control, format or bidirectional characters; joiners between characters, and any blank
    that stays on the line, are text."""
    inner = text.strip("".join(_JOINS))
    return all(map(_is_text, inner)) and len(inner) == len(text)


def one_line(text: str) -> str:
    r"""The text on one line, for people: line breaks and tabs are blanks, and what would control a terminal or reverse the
    direction of writing (control, format and bidirectional characters) is `?`. Bytes that are no UTF-8 are `\udcff`."""
    return text if is_printable(text) else "".join(map(_shown, text))


def _is_text(c: str) -> bool:
    return c.isprintable() or c in _JOINS or unicodedata.category(c) == "Zs"


def _shown(c: str) -> str:
    if _is_text(c):
        return c
    if "\ud800" <= c <= "\udfff":
        return f"\\u{ord(c):04x}"
    return " " if c.isspace() else "?"


def strip_controls(text: str) -> str:
    r"""Text of several lines, cleaned as by `one_line` line by line; only \n ends a line, and \t stays."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.split("\n"))
