"""What several commands share: the option --archive, and how runs are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
RunArgument = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The beginning of a run's name (4 digits or more), or a label that only one run has.",
    ),
]
