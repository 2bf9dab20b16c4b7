"""The commands of `imb` for Typer. Each command is imported only when it is called."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, cast

import typer
import typer.core
import typer.main

from imb import __version__, registry
from imb.cli.help import HelpCommand
from imb.cli.option_groups import ACTING, marks_of
from imb.model.errors import ImbError
from imb.model.notes import Note, listen_to_notes
from imb.model.statuses import Status
from imb.report.terminal import say


class _Commands(Mapping[str, Any]):
    """Commands by name. Each is imported on lookup: importing all takes as long as a short command."""

    def __iter__(self) -> Iterator[str]:
        return iter(registry.commands())

    def __len__(self) -> int:
        return len(registry.commands())

    def __getitem__(self, name: str) -> Any:
        if name not in registry.commands():
            raise KeyError(name)
        return _import_command(name)


class _CommandGroup(typer.core.TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, _Commands())

    def list_commands(self, ctx: object) -> list[str]:
        return list(registry.commands())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in the help, under the heading of their group, without importing them."""
        commands = registry.commands()
        width = max(map(len, commands))
        for heading in dict.fromkeys(command.group for command in commands.values()):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.summary)
                        for name, command in commands.items()
                        if command.group == heading
                    ]
                )


app = typer.Typer(
    name="imb",
    cls=_CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run imb COMMAND --help for the options of a command. A usage error has exit status 2.",
)


def _version(value: bool) -> None:
    if value:
        say(f"imb {__version__}")
        raise typer.Exit


@app.callback()
def imb(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run MPI benchmarks, keep their results and compare them: the companion of OpenIMB."""


def _guard(command: Callable[..., None]) -> Callable[..., None]:
    """Refuse infinity and NaN as the value of an option, which Typer accepts in a range without a limit (older versions
    accept NaN in any range), and report Ctrl-C as an error, which Typer would not."""

    @functools.wraps(command)
    def run_command(*words: object, **options: object) -> None:
        for name, value in options.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(f"'--{name.replace('_', '-')}': {value} is no number")
        try:
            command(*words, **options)
        except KeyboardInterrupt:
            raise ImbError("interrupted", status=Status.INTERRUPTED) from None

    return run_command


@functools.cache
def _import_command(name: str) -> Any:
    module = importlib.import_module(registry.commands()[name].module)
    if hasattr(module, "app"):  # several commands under one name
        for registered in module.app.registered_commands:
            registered.callback = _guard(registered.callback)
        command = typer.main.get_command(module.app)
    else:
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        single.command(name, cls=getattr(module, "command_class", HelpCommand))(_guard(module.command))
        command = typer.main.get_command(single)
    command.name = name
    return command


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # the class in the click that this Typer uses


_NOTES = 5  # most notes that are printed: an archive may have thousands of files of another user


def run(words: list[str]) -> int:
    """Run a command and return the exit status. An error is one line on standard error. Lines of files that
    could not be read are printed last; the exit status is 1 if rows of a named file are missing."""
    unread: dict[str, bool] = {}  # line to print -> whether rows of a named file are missing
    try:
        with _print_notes(unread):
            status = _status(words)
    except ImbError as error:
        _print_unread(unread)
        say(f"imb: {error}", err=True)
        return error.status
    return Status.FAILED if _print_unread(unread) else status


def _status(words: list[str]) -> int:
    """Run the command and return its exit status. Raises ImbError, also for a usage error."""
    try:
        status = app(args=words, prog_name="imb", standalone_mode=False)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # `imb` alone: its message is the help
            say(*_message(error).split("\n"), err=True)
            return Status.USAGE
        raise ImbError(_usage_message(error, words)) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    return status if isinstance(status, int) else 0


def _print_unread(unread: Mapping[str, bool]) -> bool:
    """Print what the command could not read, and return whether rows of a file are missing."""
    if unread:
        say(*(f"imb: {line}" for line in unread), err=True)
    return any(unread.values())


@contextlib.contextmanager
def _print_notes(unread: dict[str, bool]) -> Iterator[None]:
    """Print the first notes on what cannot be read, and the number of the others. Notes on lines are
    collected in `unread`."""
    count = 0

    def print_first(note: Note) -> None:
        nonlocal count
        if note.is_row:
            unread[note.text] = note.lost or unread.get(note.text, False)
            return
        count += 1
        if count <= _NOTES:
            say(f"imb: note: {note.text}", err=True)

    try:
        with listen_to_notes(print_first):
            yield
    finally:
        if count > _NOTES:
            say(
                f"imb: note: {count - _NOTES} more files cannot be read; `imb archive verify` lists them",
                err=True,
            )


# Typer's messages for a value that it refuses, and the messages that replace them.
_PLAIN_MESSAGES = (
    ("Value error, ", ""),
    ("Input should be greater than or equal to ", "give a number of at least "),
    ("Input should be less than or equal to ", "give a number of at most "),
    (r"Input should be a valid (\w+), unable to parse .*", r"not a valid \1"),
)


def _message(error: Exception) -> str:
    if possible := getattr(error, "possibilities", None):
        command = error.ctx.command  # type: ignore[attr-defined]
        marks = marks_of(command)
        acting = {name for each in command.params if ACTING in marks.get(each.name, ()) for name in each.opts}
        error.possibilities = [option for option in possible if option not in acting]  # type: ignore[attr-defined]
    return str(getattr(error, "format_message", lambda: error)())


def _usage_message(error: Exception, arguments: list[str]) -> str:
    """The message of a usage error, with the command that lists the options."""
    message = " ".join(_message(error).split())
    for pattern, plain in _PLAIN_MESSAGES:
        message = re.sub(pattern, plain, message)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "imb"
    before_dashes = itertools.takewhile(lambda word: word != "--", arguments)
    if path == "imb run" and any(re.fullmatch(r"-[a-z_]{2,}", word) for word in before_dashes):
        message = f"{message.rstrip('.')}; IMB arguments follow `--`"
    return f"{message.rstrip('.')}; see `{path} --help`"
