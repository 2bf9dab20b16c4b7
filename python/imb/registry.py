"""The registry of commands and slices. A slice is a capability that lives in one folder; the core knows it by its line in `SLICES` only.
All names are dotted, so that nothing is imported before it is used: `imb --help` imports no command."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from imb.model.errors import ImbError

# In the order of their commands in `imb --help`.
SLICES = (
    "imb.latency",
    "imb.startup",
    "imb.fabric",
    "imb.tune",
    "imb.health",
)


class CommandEntry(NamedTuple):
    """A command. `group`: its heading in `imb --help`. `module`: the module of the command. It has a function `command`, whose docstring is the
    rest of the help, and may have a `command_class`, which parses the words. A module with several commands has a Typer `app` instead.
    `main`: a function that replaces `imb.cli.main`. It gets the words of the command line and a function that runs them and returns the
    exit status."""

    group: str
    summary: str
    module: str
    main: str | None = None


class WatchEntry(NamedTuple):
    """Lines that a slice adds to `imb watch`. `lines`: a function ("module:function") that gets an archive and returns them; `help`: a sentence
    on them for the help of `imb watch`."""

    lines: str
    help: str


class Entries(NamedTuple):
    """What is registered of the core or of a slice. `commands` by name. `experiments`: classes (imb.runner.experiment), by the command that plans
    their sessions; `imb run` and `imb campaign` have the key None. `watch`: what `imb watch` prints in addition."""

    commands: Mapping[str, CommandEntry]
    experiments: Mapping[str | None, str] = {}
    watch: Sequence[WatchEntry] = ()


CORE = Entries(
    commands={
        "run": CommandEntry(
            "Measure",
            "Run benchmarks and keep records, output, errors, exit status and conditions.",
            "imb.cli.run",
        ),
        "campaign": CommandEntry(
            "Measure",
            "Run a matrix of variants, benchmarks and numbers of ranks in random order.",
            "imb.cli.campaign",
        ),
        "ab": CommandEntry(
            "Measure", "Measure two variants in interleaved launches and compare B with A.", "imb.cli.ab"
        ),
        "compare": CommandEntry(
            "Judge",
            "Compare two sets of runs and print a verdict per size band and per row.",
            "imb.cli.compare",
        ),
        "baseline": CommandEntry(
            "Judge", "Keep reference results and check later ones against them.", "imb.cli.baseline"
        ),
        "watch": CommandEntry(
            "Judge",
            "Find the sessions of a history at which results became slower or faster.",
            "imb.cli.watch",
        ),
        "diagnose": CommandEntry(
            "Judge", "Find anomalies in results and suggest what to check next.", "imb.cli.diagnose"
        ),
        "report": CommandEntry(
            "Judge",
            "Write an HTML report of one sample set or several, or draw their curves.",
            "imb.cli.report",
        ),
        "ls": CommandEntry(
            "Archive", "List the runs of the archive, newest first by the date measured.", "imb.cli.ls"
        ),
        "show": CommandEntry(
            "Archive", "Show a run, or the medians over the runs of a label.", "imb.cli.show"
        ),
        "query": CommandEntry("Archive", "Query the archive in SQL (DuckDB), read only.", "imb.cli.query"),
        "import": CommandEntry(
            "Archive", "Import logs of IMB and of the OSU benchmarks into the archive.", "imb.cli.import_"
        ),
        "export": CommandEntry("Archive", "Export results for other programs.", "imb.cli.export"),
        "archive": CommandEntry(
            "Archive", "Label, remove, restore and verify runs of the archive.", "imb.cli.archive"
        ),
        "doctor": CommandEntry("Machine", "Check that this machine is ready to measure.", "imb.cli.doctor"),
        "build": CommandEntry(
            "Machine", "Build the suite for one or several MPIs from the packaged sources.", "imb.cli.build"
        ),
    },
    experiments={
        None: "imb.experiments.run_experiment:RunExperiment",
        "ab": "imb.experiments.ab_experiment:AbExperiment",
        "baseline": "imb.experiments.baseline_experiment:RecheckExperiment",
    },
)


@cache
def entries() -> Sequence[Entries]:
    """The entries of the core, then the entries of each slice."""
    return [CORE, *(importlib.import_module(name).ENTRIES for name in SLICES)]


@cache
def commands() -> Mapping[str, CommandEntry]:
    """All commands by name, in the order of `imb --help`."""
    registered = {name: command for each in entries() for name, command in each.commands.items()}
    groups = list(dict.fromkeys(command.group for command in registered.values()))
    return dict(sorted(registered.items(), key=lambda item: groups.index(item[1].group)))


def load(name: str) -> Any:
    """The object that "module:attribute" names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def experiment(command: str | None) -> Any:
    """The class of the sessions of a command. Raises ImbError if no entry has it."""
    for each in entries():
        if command in each.experiments:
            return load(each.experiments[command])
    raise ImbError(f"this imb has no command {command}, which began the session")


def watch_entries() -> list[WatchEntry]:
    """What slices add to `imb watch`."""
    return [entry for each in entries() for entry in each.watch]
