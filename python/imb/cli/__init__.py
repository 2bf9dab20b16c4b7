"""The command `imb`: a module per command, each load -> compute -> render."""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import io
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import typer
import typer.core
import typer.main

from imb import __version__
from imb.model.errors import ImbError
from imb.model.notes import Note, noted
from imb.render.terminal import IN_ASCII, say

# By what people do, in the order of `imb --help`. The module imb.cli.NAME (a Python keyword has a _ behind it) has a function `command`,
# whose docstring is the help, or a Typer `app` of several. It imports what is slow to import when it is called, not before.
GROUPS = {
    "Measure": ("run", "campaign", "ab", "latency", "startup", "fabric"),
    "Judge": ("compare", "baseline", "watch", "diagnose", "report", "plot"),
    "Archive": ("ls", "show", "query", "import", "export", "label", "rm", "restore", "verify"),
    "Machine": ("doctor", "build"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)


_NOTES = 5  # that are printed: an archive may have thousands of files of another user
# Allocations between two garbage collections. With Python's default they take a sixth of the time of a long list.
_OBJECTS = 100_000


class _Commands(Mapping[str, Any]):
    """Imported when they are asked for: all of them take as long as a short command itself."""

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _imported(name)


class _InOrder(typer.core.TyperGroup):
    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.commands = cast(Any, _Commands())

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands in the help, under the heading of their group."""
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            rows = [(name.ljust(width), self.commands[name].get_short_help_str(limit=100)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)


app = typer.Typer(
    name="imb",
    cls=_InOrder,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run imb COMMAND --help for its options and exit status. Exit status 2 is a usage error.",
)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"imb {__version__}")
        raise typer.Exit


@app.callback()
def imb(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run MPI benchmarks, keep their results and compare them: the companion of OpenIMB."""


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Report Ctrl-C as an error, which Typer would not."""

    @functools.wraps(command)
    def wrapped(*words: object, **options: object) -> None:
        try:
            command(*words, **options)
        except KeyboardInterrupt:
            raise ImbError("interrupted", status=130) from None

    return wrapped


@functools.cache
def _imported(name: str) -> Any:
    module = importlib.import_module(f"imb.cli.{name}_" if name == "import" else f"imb.cli.{name}")
    if hasattr(module, "app"):  # several commands under one name
        for one in module.app.registered_commands:
            one.callback = _interruptible(one.callback)
        made = typer.main.get_command(module.app)
    else:
        alone = typer.Typer(rich_markup_mode=None, add_completion=False)
        alone.command(name, cls=getattr(module, "Command", None))(_interruptible(module.command))
        made = typer.main.get_command(alone)
    made.name = name
    return made


# Options that change other machines, jobs or what is stored: never suggested for a misspelled one.
_ACTING = ("--drain", "--submit", "--remove", "--force", "--force-owner")
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of the click that this Typer uses


def main(words: list[str] | None = None) -> None:
    """Run `imb`. A usage error is one line on standard error and exit status 2, never a traceback. Lines of files that were not
    read end the output of every command, with exit status 1."""
    gc.set_threshold(_OBJECTS)
    unread: dict[
        str, bool
    ] = {}  # lines that are not read, in order; whether rows of a named file are missing
    if sys.stderr is None:  # closed, `2>&-`
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:  # the next file that is opened would take its place
        sys.exit(_complain("standard output is closed; redirect it, for example to /dev/null", 2))
    for stream in (sys.stdout, sys.stderr):
        # A name of a file may hold any bytes, and a terminal know few characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=IN_ASCII)
    try:
        Path.cwd()
    except OSError as error:  # relative names mean nothing, and libraries fail
        sys.exit(_complain(f"the current folder: {error.strerror}; change to another one", 2))
    try:
        with _notes(unread):
            status = app(args=words, prog_name="imb", standalone_mode=False)
        if _unread_lines(unread):
            status = 1
    except ImbError as error:
        _unread_lines(unread)
        sys.exit(_complain(str(error), error.status))
    except UnicodeEncodeError as error:  # an argument of the command line, which would get into JSON
        sys.exit(_complain(f"not valid UTF-8: {error.object[:60]!r}; give text", 2))
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `imb` alone: its message is the help
            say(*_message(error).split("\n"), err=True)
            sys.exit(2)
        sys.exit(_complain(_usage(error, words if words is not None else sys.argv[1:]), 2))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_complain("interrupted", 130))
    except BrokenPipeError:  # `imb ls | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        sys.exit(_complain(f"{error.filename or 'the system'}: {error.strerror or error}", 2))
    sys.exit(status if isinstance(status, int) else 0)


# What Typer prints for a value that it refuses, and what is printed instead.
_PLAINER = (
    ("Value error, ", ""),
    ("Input should be greater than or equal to ", "give a number of at least "),
    ("Input should be less than or equal to ", "give a number of at most "),
    (r"Input should be a valid (\w+), unable to parse .*", r"not a valid \1"),
)


def _message(error: Exception) -> str:
    if possible := getattr(error, "possibilities", None):
        error.possibilities = [one for one in possible if one not in _ACTING]  # type: ignore[attr-defined]
    return str(getattr(error, "format_message", lambda: error)())


def _usage(error: Exception, arguments: list[str]) -> str:
    words = " ".join(_message(error).split())
    for pattern, plain in _PLAINER:
        words = re.sub(pattern, plain, words)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "imb"
    own = itertools.takewhile(lambda word: word != "--", arguments)
    if path == "imb run" and any(re.fullmatch(r"-[a-z_]{2,}", word) for word in own):
        words = f"{words.rstrip('.')}; IMB arguments follow `--`"
    return f"{words.rstrip('.')}; see `{path} --help`"


def _unread_lines(unread: Mapping[str, bool]) -> bool:
    """Print what the command did not read; whether rows of a file are missing."""
    if unread:
        say(*(f"imb: {line}" for line in unread), err=True)
    return any(unread.values())


@contextlib.contextmanager
def _notes(unread: dict[str, bool]) -> Iterator[None]:
    """Print notes of what cannot be read: the first, and how many more there are. Lines are kept in `unread`."""
    count = 0

    def tell(one: Note) -> None:
        nonlocal count
        if one.is_row:
            unread[one.text] = one.lost or unread.get(one.text, False)
            return
        count += 1
        if count <= _NOTES:
            say(f"imb: note: {one.text}", err=True)

    try:
        with noted(tell):
            yield
    finally:
        if count > _NOTES:
            say(f"imb: note: {count - _NOTES} more files cannot be read; `imb verify` lists them", err=True)


def _complain(line: str, status: int) -> int:
    say(f"imb: {line}", err=True)
    return status
