"""What several commands share: the option --archive, and how runs are shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from imb.archive.labels import checked
from imb.model.errors import ImbError

ArchiveOption = Annotated[
    Path | None,
    typer.Option(
        "--archive",
        metavar="FOLDER",
        envvar="IMB_ARCHIVE",
        show_envvar=True,
        show_default="a folder under the user's XDG data",
        help="The archive to use.",
    ),
]


def _checked(labels: list[str] | None) -> list[str] | None:
    return checked(labels) if labels else labels


LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label", "-l", metavar="LABEL", callback=_checked, help="Label every run; may be repeated."
    ),
]
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The beginning of a run's name (4 digits or more), or a label that only one run has.",
    ),
]
SIDE = (
    "A label (all runs that have it), the beginning of a run's name, a file or folder of logs or records; several with "
    "commas between them are one side. Or a query: 'sql:SELECT run FROM runs ...'."
)
SideArgument = Annotated[str | None, typer.Argument(metavar="SIDE", help=SIDE, show_default=False)]


def share_of(text: str, option: str) -> float:
    """0.05 of `5%` or `5`. Raises ImbError for what is no share above 0."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 100:
        raise ImbError(f"{option} {text}: a share in percent above 0 is wanted, such as 5%")
    return share


def columns_of_text(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns without lines: quick with thousands of rows, and easy for other programs to cut."""
    cells = [list(names), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    line = "  ".join(
        f"%-{width}s" for width in widths
    )  # one formatting per line: half the time of one per cell
    return "\n".join((line % tuple(row)).rstrip() for row in cells)
