"""Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from imb.model.text import one_line


def escape_html(text: str) -> str:
    """Text of others, of which nothing is markup of Markdown or HTML."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#&" else c for c in " ".join(one_line(text).split()))


def escape_pipes(cells: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
