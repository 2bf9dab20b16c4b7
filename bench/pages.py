"""Figures as tables, and into the pages that show them."""

from __future__ import annotations

import re


def table_of(rows: list[list[str]]) -> str:
    """A table that reads well as it is, and is one of Markdown."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def written_into(page: str, name: str, figures: str) -> str:
    """The page with these figures between its marks `<!-- NAME: ... -->` and `<!-- end of NAME -->`. Ends the program where
    it has none."""
    marks = rf"(<!-- {name}: .*? -->\n).*?(<!-- end of {name} -->)"
    text, count = re.subn(marks, lambda found: f"{found[1]}\n{figures}\n\n{found[2]}", page, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"the page has no marks `<!-- {name}: ... -->` and `<!-- end of {name} -->`")
    return text
