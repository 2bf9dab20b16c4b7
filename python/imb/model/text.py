"""Text and times as records and manifests hold them."""

from datetime import UTC, datetime


def now() -> str:
    """UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def readable(text: str) -> str:
    r"""What the system said, for JSON: bytes that are no UTF-8, which Python keeps as surrogates, become \xff."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def one_line(text: str) -> str:
    """The text on one line, for people: line breaks and tabs are blanks, and what would steer a terminal or turn the
    direction of writing (control, format and bidirectional characters, lone surrogates) is `?`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def without_controls(text: str) -> str:
    r"""Text of several lines, cleaned as by `one_line` line by line; only \n ends a line, and \t stays."""
    return "\n".join("\t".join(map(one_line, line.split("\t"))) for line in text.split("\n"))
