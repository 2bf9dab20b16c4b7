"""Options that several commands share, and functions that read their values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from imb.cli.extras import require
from imb.cli.option_groups import ALL_FORMS, JUDGMENT, OUTPUT, SESSION, SUBJECT, Form
from imb.model.defaults import RELEVANT
from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.model.units import count_of, percent_option
from imb.report.terminal import explain_wait
from imb.store.labels import check_labels
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.model.observations import Side
    from imb.store.files import FileRun
    from imb.store.store import StoredRun

BandsOption = Annotated[
    str,
    typer.Option(
        "--bands", metavar="BANDS", help="Size bands in bytes; K is 2^10.", rich_help_panel=JUDGMENT
    ),
]
BenchmarkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--benchmark",
        "-b",
        metavar="NAME",
        help="Only this benchmark; may be repeated.",
        rich_help_panel=SUBJECT,
    ),
]


def named_path(text: str) -> Path:
    """The path. Raises ImbError for an empty name, such as the value of an unset shell variable, which as a
    path would be the current folder."""
    if not text.strip():
        raise ImbError("a name of a file or folder is empty; give one, or . for the current folder")
    return Path(text)


ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        parser=named_path,
        metavar="FOLDER",
        envvar="IMB_ARCHIVE",
        show_envvar=True,
        show_default="a folder under the user's XDG data",
        help="Archive to use.",
        rich_help_panel=OUTPUT,
    ),
    ALL_FORMS,
]


def _check_given_labels(labels: list[str] | None) -> list[str] | None:
    return check_labels(labels) if labels else labels


LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        "-l",
        metavar="LABEL",
        callback=_check_given_labels,
        help="Label every run; may be repeated.",
        rich_help_panel=SESSION,
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="First digits of a run's name (4 or more), a label that only one run has, or a file that is stored.",
    ),
]
FORMAT = typer.Option(
    "--format", "-f", help="Output format.", rich_help_panel=OUTPUT
)  # the type of a parameter lists its formats
FormatOption = Annotated[Literal["terminal", "json"], FORMAT]
VerdictFormatOption = Annotated[Literal["terminal", "json", "junit"], FORMAT]
USUAL_RELEVANT = percent_option(RELEVANT)
RelevantOption = Annotated[
    str,
    typer.Option(
        "--relevant", "-r", metavar="PERCENT", help="Smallest relevant change.", rich_help_panel=JUDGMENT
    ),
]
RowsOption = Annotated[
    bool, typer.Option("--rows", help="Show all rows, not only those that changed.", rich_help_panel=OUTPUT)
]
ForceOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Compare even if placement (intra-node, inter-node) or method (passes, classic) differs.",
        rich_help_panel=JUDGMENT,
    ),
]
AssumeOneSessionOption = Annotated[
    bool,
    typer.Option(
        "--assume-one-session",
        help="Judge all launches as if one session had made them, such as logs of one day.",
        rich_help_panel=JUDGMENT,
    ),
]
AssumeStableOption = Annotated[
    bool,
    typer.Option(
        "--assume-stable",
        help="Judge launches of one session that were not interleaved: the machine did not drift between A and B.",
        rich_help_panel=JUDGMENT,
    ),
]
SIDE = (
    "A label (all its runs), the first digits of a run's name, a file or folder of logs or records, one launch of a file with "
    "several (FILE#2), or a query ('sql:SELECT run FROM runs ...'). Several names separated by commas form one sample set."
)
SideArgument = Annotated[str | None, typer.Argument(metavar="RESULTS", help=SIDE, show_default=False)]


def readable_sources(archive: Archive, names: Sequence[str]) -> list[StoredRun | FileRun]:
    """The distinct runs of these names. Raises ImbError."""
    from imb.store.names import readable_runs

    return list({(run.id, run.name): run for run in readable_runs(archive, *names)}.values())


def runs_named(archive: Archive, names: Sequence[str]) -> list[list[StoredRun | FileRun]]:
    """The runs of each name. On a terminal, a long wait is explained. Raises ImbError."""
    from imb.store.names import named_runs

    with explain_wait("looking up runs"):
        return [list(named_runs(archive, name)) for name in names]


def sides_from(runs: Sequence[Sequence[StoredRun | FileRun]], names: Sequence[str]) -> list[Side]:
    """The sample sets of the runs that `runs_named` returned. On a terminal, a long wait is explained. Raises
    ImbError."""
    from imb.store.names import side_from

    with explain_wait(f"reading {count_of(sum(map(len, runs)), 'run')}"):
        return [
            side_from(runs_of_name, name, status=Status.USAGE)
            for runs_of_name, name in zip(runs, names, strict=True)
        ]


def sides_named(archive: Archive, *names: str) -> list[Side]:
    """The sample set of each name, as `imb.store.names.load` reads it. Raises ImbError."""
    return sides_from(runs_named(archive, names), names)


# The form that continues a session; all other options come from its plan.
RESUMED = Form(
    "cannot be combined with --resume, which executes the recorded plan; omit --resume to start a new session"
)
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume", help="Resume your newest unfinished session, or SESSION.", rich_help_panel=SESSION
    ),
    RESUMED,
]


def session_named(words: Sequence[str]) -> str | None:
    """The session that is named with --resume, or None. Raises ImbError for several words."""
    if len(words) > 1:
        raise ImbError(
            f"--resume: too many arguments: {' '.join(words)}; give one session and no IMB arguments"
        )
    return words[0] if words else None


def examine_page(command: str, page: Path) -> None:
    """Raises ImbError if a library for pages is missing, or the file cannot be written."""
    require(f"{command} --page", "jinja2", "plotly")
    if page.is_dir() or not page.absolute().parent.is_dir():
        raise ImbError(f"--page: cannot write {page}; give a file in a folder that exists")


def names_and_arguments(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Benchmark names and IMB arguments. The first word with a leading - and all words after it are IMB
    arguments."""
    split = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    return list(words[:split]), list(words[split:])
