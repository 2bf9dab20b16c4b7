"""imb build"""

from __future__ import annotations

from typing import Annotated

import typer

from imb.cli.option_groups import PLACE
from imb.model.mpis import CHOICES
from imb.report.terminal import say


def command(
    mpi: Annotated[
        list[str] | None,
        typer.Option(
            "--mpi",
            metavar="MPI",
            help=f"{CHOICES}; a folder with bin/mpicxx; a C++ wrapper. May be repeated.",
            show_default="$IMB_MPI, else the first that `imb doctor` lists",
            rich_help_panel=PLACE,
        ),
    ] = None,
    compiler: Annotated[
        str | None,
        typer.Option(
            "--compiler",
            metavar="C++",
            help="Build with this compiler.",
            show_default="the wrapper's",
            rich_help_panel=PLACE,
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Build again even if there is a build.", rich_help_panel=PLACE)
    ] = False,
) -> None:
    """Build the suite for one or several MPIs from the packaged sources.

    Builds are kept in the user's XDG cache by MPI, compiler and sources. `imb run` builds what it needs; in a checkout
    it takes what `make` built. Requires CMake 3.20 and a C++20 compiler. Prints the folder of the programs, one line
    per MPI.

    Exit status: 0 built, 1 a build failed (with the compiler's output), 2 usage error.

    \b
    Examples:
      imb build
      imb build --mpi mpich --mpi /opt/openmpi-5 --compiler clang++
      $(imb build --mpi mpich)/IMB-MPI1 -list
    """
    from imb.cli.launching import build_programs, chosen_mpi

    choices: list[str | None] = [*mpi] if mpi else [None]
    for choice in choices:
        say(str(build_programs(chosen_mpi(choice), compiler, again=again)))
