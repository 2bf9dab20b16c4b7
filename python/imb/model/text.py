"""Text and times in the form that records and manifests use."""

import os
import pwd
import re
import shlex
import unicodedata
from datetime import UTC, datetime


def now() -> str:
    """The time now: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user_name(uid: int) -> str:
    """The name of a user, or the number if the system knows no name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def readable_text(text: str) -> str:
    r"""Text from the system, for JSON. Bytes that are not UTF-8, which Python keeps as surrogates, become escapes such as `\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def numbers_in(text: str) -> set[int]:
    """The numbers in a list in Linux's format, `0-3,8`; empty if the text is not such a list."""
    numbers: set[int] = set()
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", piece, re.ASCII)
        if not match:
            return set()
        numbers |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return numbers


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key that puts n2 before n10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", name)
    return tuple(
        (0, int(part), "") if part.isdecimal() and len(part) < 19 else (1, 0, part) for part in parts
    )


def shell_word(text: str) -> str:
    """The text as an argument of a displayed command, quoted if a shell needs quotes."""
    return text if re.fullmatch(r"[\w@%+=:,./-][\w@%+=:,./#-]*", text, re.ASCII) else shlex.quote(text)


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def csv_text(text: str) -> str:
    """A text as a cell of CSV. A spreadsheet takes a cell that begins with =, +, -, @, a tab or a carriage return for a formula, so
    such a text gets an apostrophe in front. Numbers are unchanged."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") and not _NUMBER.fullmatch(text) else text


def named_bytes(text: str) -> str:
    r"""A file name from the result of `readable_text`: `\xff` becomes that byte again."""
    parts = re.split(r"\\x([89a-f][0-9a-f])", text)
    return "".join(os.fsdecode(bytes.fromhex(part)) if at % 2 else part for at, part in enumerate(parts))


_JOINS = {"\u200c", "\u200d"}  # used within emoji and words of some scripts


def is_printable(text: str) -> bool:
    """Whether the text can be shown unchanged: it has no control, format or bidirectional characters. Joiners between characters and
    blanks that stay on the line are allowed."""
    inner = text.strip("".join(_JOINS))
    return all(map(_is_text, inner)) and len(inner) == len(text)


def one_line(text: str) -> str:
    r"""The text on one line, for people. Line breaks and tabs become blanks. Characters that could control a terminal or reverse the
    direction of writing (control, format and bidirectional characters) become `?`. Bytes that are not UTF-8 become `\udcff`."""
    return text if is_printable(text) else "".join(map(_escape, text))


def _is_text(c: str) -> bool:
    return c.isprintable() or c in _JOINS or unicodedata.category(c) == "Zs"


def _escape(c: str) -> str:
    if _is_text(c):
        return c
    if "\ud800" <= c <= "\udfff":
        return f"\\u{ord(c):04x}"
    return " " if c.isspace() else "?"


def strip_controls(text: str) -> str:
    r"""Applies `one_line` to each line of a text. Only \n ends a line; \t stays."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.split("\n"))
