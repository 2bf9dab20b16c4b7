"""The only module that prints (tests/test_architecture.py). Text of logs, archives and users is data: it
stays text on its line.

`imb.model.text.one_line` cleans it.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from imb.model.text import one_line, strip_controls
from imb.report import shorten

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


# The mark of a finding and its color, by level.
LEVEL_MARKS = {
    "ok": ("✓", "green"),
    "information": ("i", "cyan"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "red"),
}

# Replacements for our symbols, and for lines and dots of charts, if the encoding of a terminal lacks them.
_ASCII = str.maketrans("▲▼≈✓✗µ…│─\u2013\u00d7", "^v~+xu.|--x") | str.maketrans(
    {"±": "+-", "→": "->", "△": "(^)", "▽": "(v)", "Δ": "change "}
)
_ASCII |= dict.fromkeys(map(ord, "┌┐└┘├┤┬┴┼"), "+") | dict.fromkeys(range(0x2580, 0x25A0), "*")


def _escape_to_ascii(error: UnicodeError) -> tuple[str, int]:
    """Error handler: other characters become JSON escapes, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_ASCII)
    return json.dumps(text)[1:-1], error.end


IN_ASCII = "imb.in_ascii"  # name of the handler of encoding errors
codecs.register_error(IN_ASCII, _escape_to_ascii)


def say(*lines: str, err: bool = False) -> None:
    """Print each argument as one line; without arguments, an empty line. A line break inside an argument
    becomes a blank."""
    with _name_stdout(err):
        print("\n".join(map(one_line, lines)), file=sys.stderr if err else sys.stdout, flush=True)


PATIENCE = 2.0  # seconds without output before a wait is explained


@contextlib.contextmanager
def explain_wait(wait: str) -> Iterator[None]:
    """Print `imb: reading 20 runs ...` to standard error if the block takes longer than PATIENCE, but only on
    a terminal: mails of cron, and programs that read the output, get errors and warnings only."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(PATIENCE, say, [f"imb: {wait} ..."], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # its line is complete before the next one


def write_data(content: str | bytes) -> None:
    """Write data for another program to standard output: unchanged to a file or pipe, without control
    characters to a terminal."""
    with _name_stdout():
        if sys.stdout.isatty():
            text = content if isinstance(content, str) else content.decode("utf-8", "replace")
            sys.stdout.write(strip_controls(text))
        elif isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        sys.stdout.flush()


def write_json(value: Any) -> None:
    """Write a value as an indented JSON document, by `write_data`."""
    import msgspec

    write_data(msgspec.json.format(msgspec.json.encode(value)) + b"\n")


@contextlib.contextmanager
def _name_stdout(err: bool = False) -> Iterator[None]:
    """Name standard output in its errors, such as a full disk, as errors of files name the file. A message
    that standard error cannot take is lost: it stops no launch, and the exit status is unchanged."""
    try:
        yield
    except OSError as error:
        if not err:
            error.filename = error.filename or "standard output"
            raise


def _raise_again() -> NoReturn:
    raise  # the error that is being handled


def columns(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    width: int | None = None,
    least: Mapping[str, int] | None = None,
) -> Iterator[str]:
    """Yield lines of aligned columns without rules: fast with thousands of rows, and easy for other programs
    to cut. If lines are wider than `width`, columns are shortened in the order of `least`, to at least that
    many characters each; columns with 0 are left out."""
    cells = [[one_line(cell) for cell in row] for row in (names, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, smallest in (least or {}).items():
        at = names.index(name)
        over = sum(widths) + 2 * (len(widths) - 1) - (width or _NO_LIMIT)
        if over > 0:
            kept = max(widths[at] - over, min(smallest, widths[at]))
            widths[at] = 0 if kept < len(name) and not smallest else kept
            for row in cells:
                row[at] = shorten(row[at], widths[at]) if widths[at] else ""
    if 0 in widths:
        cells = [[cell for cell, wide in zip(row, widths, strict=True) if wide] for row in cells]
        widths = [wide for wide in widths if wide]
    line = "  ".join(f"%-{width}s" for width in widths)  # one format per line: half the time of one per cell
    for row in cells:
        yield (line % tuple(row)).rstrip()


PIPED = 100  # columns of text for people in a file or pipe


def text_width(*, err: bool = False) -> int:
    """Columns of text for people: the width of the terminal, or PIPED in a file or pipe."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return PIPED
    setting = os.environ.get("COLUMNS", "")
    return (
        int(setting if setting.isdecimal() else 0) or os.get_terminal_size(stream.fileno()).columns or PIPED
    )


def fold_text(text: str, width: int, *, end: str) -> list[str]:
    """`text` as lines of at most `width` columns, broken at blanks outside quotes; later lines have an
    indent. Every line except the last ends with `end`. A word that is longer than a line has its own line."""
    lines = [""]
    for word in re.findall(r"(?:'[^']*'|\"[^\"]*\"|\S)+", one_line(text)):
        longer = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if len(longer) + len(end) > width and lines[-1].strip():
            lines[-1] += end
            lines.append("    " + word)
        else:
            lines[-1] = longer
    return lines


def wrap_text(text: str, *, indent: int = 2) -> list[str]:
    """`text` as lines of `text_width`; later lines have an indent larger by `indent`. Blanks within the text
    stay, for alignment."""
    line = one_line(text)
    begin = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line,
        text_width(),
        subsequent_indent=begin + " " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


_NAME = 16  # least width of the first column of a table, which has names
_NO_LIMIT = 10_000  # columns of a table in a file or pipe


class Screen:
    """Lines and tables, with color if the terminal supports it. No text is interpreted as markup."""

    def __init__(self, *, err: bool = False, width: int | None = None) -> None:
        """`width`: columns; by default those of the terminal, without a limit in a file or pipe."""
        from rich.console import Console

        stream = sys.stderr if err else sys.stdout
        self.console: Console = Console(
            stderr=err, highlight=False, markup=False, emoji=False, soft_wrap=width is None,
            width=width or (None if stream.isatty() else _NO_LIMIT),
        )  # fmt: skip

        # Otherwise Rich would exit and close standard output, whichever stream broke.
        self.console.on_broken_pipe = _raise_again  # type: ignore[method-assign]

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.console.width

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of parts; a pair is a text and its style. The line is wrapped only if `width` was
        given."""
        with _name_stdout(self.console.stderr):
            self.console.print(_assemble(parts), no_wrap=False if not self.console.soft_wrap else None)

    def table(
        self,
        headings: Sequence[str],
        rows: Iterable[Sequence[str | tuple[str, str]]],
        *,
        title: str | None = None,
        right: Sequence[int] = (),
        fold: Sequence[int] = (),
    ) -> None:
        """Print a table without rules. `right`: numbers of right-aligned columns; `fold`: numbers of columns
        that may break over lines. Other columns are never broken or shortened, even if the line is then
        longer than the terminal."""
        from rich.table import Table

        if title is not None:  # Rich would fold the title at the width of the table
            self.line((title, "italic"))
        shown = Table(box=None)
        shown.pad_edge = False
        cells = [list(row) for row in rows]
        for number, heading in enumerate(headings):
            texts = [cell if isinstance(cell, str) else cell[0] for cell in (row[number] for row in cells)]
            longest = max(map(len, map(one_line, [heading, *texts])), default=0)
            least = longest if number not in fold else min(longest, _NAME) if number == 0 else None
            shown.add_column(
                _assemble([heading]),
                justify="right" if number in right else "left",
                no_wrap=number not in fold,
                overflow="fold" if number in fold else "crop",
                min_width=least,
            )
        for row in cells:
            shown.add_row(*(_assemble([cell]) for cell in row))
        with _name_stdout(self.console.stderr):
            self.console.print(shown, soft_wrap=False, crop=False)


def _assemble(parts: Iterable[str | tuple[str, str]]) -> Text:
    from rich.text import Text

    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((one_line(text), style) for text, style in pairs))
