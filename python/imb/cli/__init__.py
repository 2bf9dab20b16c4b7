"""The command `imb`: one module per command (imb.registry), each load -> compute -> render.

Modules that `imb --version` and `imb --help` do not need are imported later.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path

from imb import __version__, registry
from imb.model.statuses import Status
from imb.report.terminal import IN_ASCII, say

# Allocations between two garbage collections. With Python's default, collections take a sixth of the time of a long `imb ls`.
_OBJECTS = 100_000


def main(words: list[str] | None = None) -> None:
    """Run `imb`. A usage error is one line on standard error and exit status 2, never a traceback."""
    words = sys.argv[1:] if words is None else words
    command = registry.commands().get(words[0]) if words else None
    sys.exit(registry.load(command.main)(words, _status) if command and command.main else _status(words))


def _status(words: list[str]) -> int:
    gc.set_threshold(_OBJECTS)
    if sys.stderr is None:  # closed, `2>&-`
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:  # the next file that is opened would get its descriptor
        return _complain("standard output is closed; redirect it, for example to /dev/null", Status.USAGE)
    for stream in (sys.stdout, sys.stderr):
        # File names may hold any bytes, and a terminal may lack characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=IN_ASCII)
    try:
        Path.cwd()
    except OSError as error:  # relative names would fail, and libraries as well
        return _complain(f"the current folder: {error.strerror}; change to another one", Status.USAGE)
    try:
        return _run(words)
    except UnicodeEncodeError as error:  # an argument of the command line that would end in JSON
        return _complain(f"not valid UTF-8: {error.object[:60]!r}; give text", Status.USAGE)
    except KeyboardInterrupt:
        return _complain("interrupted", Status.INTERRUPTED)
    except BrokenPipeError:  # `imb ls | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'the system'}: {error.strerror or error}", Status.USAGE)


def _run(words: list[str]) -> int:
    if words == ["--version"]:  # without Typer, whose import takes longer than everything else
        say(f"imb {__version__}")
        return 0
    from imb.cli import app

    return app.run(words)


def _complain(line: str, status: int) -> int:
    say(f"imb: {line}", err=True)
    return status
