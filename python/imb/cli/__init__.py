"""The command `imb`: a module per command, each load -> compute -> render. What `imb --version` and `imb --help` do not need is imported later."""

from __future__ import annotations

import gc
import io
import os
import sys
from pathlib import Path

from imb import __version__
from imb.report.terminal import IN_ASCII, say

# Commands by what people do, in the order of `imb --help`, each with its summary. The module imb.cli.NAME (NAME_ where NAME is a Python keyword)
# has a function `command`, whose docstring is the rest of the help, or a Typer `app` with several commands. Slow imports are inside the function.
GROUPS = {
    "Measure": {
        "run": "Run benchmarks and keep records, output, errors, exit status and conditions.",
        "campaign": "Run a matrix of variants, benchmarks and process counts in random order.",
        "ab": "Measure two variants in random order and compare B with A.",
        "latency": "Measure the one-way latency between two cores or two hosts.",
        "startup": "Measure how long an MPI takes to start ranks, and which part takes how long.",
        "rails": "Measure the bandwidth between two hosts over all their rails at once.",
        "tune": "Write a tuning file of the MPI library that is proven not slower than its own choices.",
        "fabric": "Find the slow host, core, link or switch of a fabric, with known error rates.",
    },
    "Judge": {
        "compare": "Compare two sets of runs and print a verdict per size band and per row.",
        "baseline": "Keep reference results and check later ones against them.",
        "watch": "Find the sessions of a history at which results became slower or faster.",
        "diagnose": "Find anomalies in results and suggest what to check next.",
        "report": "Write an HTML report of one sample set or several, or draw their curves.",
    },
    "Archive": {
        "ls": "List the runs of the archive, newest first by the date measured.",
        "show": "Show a run, or the medians over the runs of a label.",
        "query": "Query the archive in SQL (DuckDB), read only.",
        "import": "Import logs of IMB and of the OSU benchmarks into the archive.",
        "export": "Export results for other programs.",
        "archive": "Label, remove, restore and verify runs of the archive.",
    },
    "Machine": {
        "doctor": "Check that this machine is ready to measure.",
        "health": "Check within seconds that this host is as fast as it was.",
        "build": "Build the suite for one or several MPIs from the packaged sources.",
    },
}
COMMANDS = tuple(name for summaries in GROUPS.values() for name in summaries)


INTERRUPTED = 130  # the exit status after Ctrl-C, as in a shell
# Allocations between two garbage collections. With Python's default, collections take a sixth of the time of a long list.
_OBJECTS = 100_000
BAD = 111  # the status of `imb health` for a bad host, which no error has; `main` exits with 1 for it
_OWN_ERROR = 3  # the status of `imb health --strict` for an error of imb


def main(words: list[str] | None = None) -> None:
    """Run `imb`. A usage error is one line on standard error and exit status 2, never a traceback."""
    words = sys.argv[1:] if words is None else words
    if words[:1] != ["health"]:
        sys.exit(_status(words))
    # A scheduler drains a host whose health check does not exit with 0. So the status of an error is 0. With --strict it is not 0, but never 1,
    # which is the status of a bad host.
    try:
        status = _status(words)
    except Exception as error:
        status = _complain(f"an error of imb: {type(error).__name__}: {error}", _OWN_ERROR)
    strict = {1: _OWN_ERROR}.get(status, status) if "--strict" in words else 0
    sys.exit(1 if status == BAD else strict)


def _status(words: list[str]) -> int:
    gc.set_threshold(_OBJECTS)
    if sys.stderr is None:  # closed, `2>&-`
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdout is None:  # the next file that is opened would get its number
        return _complain("standard output is closed; redirect it, for example to /dev/null", 2)
    for stream in (sys.stdout, sys.stderr):
        # File names may hold any bytes, and a terminal may lack characters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=IN_ASCII)
    try:
        Path.cwd()
    except OSError as error:  # relative names mean nothing, and libraries fail
        return _complain(f"the current folder: {error.strerror}; change to another one", 2)
    try:
        return _run(words)
    except UnicodeEncodeError as error:  # an argument of the command line, which would get into JSON
        return _complain(f"not valid UTF-8: {error.object[:60]!r}; give text", 2)
    except KeyboardInterrupt:
        return _complain("interrupted", INTERRUPTED)
    except BrokenPipeError:  # `imb ls | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'the system'}: {error.strerror or error}", 2)


def _run(words: list[str]) -> int:
    if words == ["--version"]:  # at once: Typer takes longer than all else
        say(f"imb {__version__}")
        return 0
    from imb.cli import app

    return app.run(words)


def _complain(line: str, status: int) -> int:
    say(f"imb: {line}", err=True)
    return status
