"""Escapes for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from imb.model.text import one_line


def escape_html(text: str) -> str:
    """Text from outside as one line, with all markup of Markdown and HTML escaped."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&" else c for c in " ".join(one_line(text).split()))


def escape_pipes(cells: Sequence[str]) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
