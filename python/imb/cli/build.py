"""imb build"""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    mpi: Annotated[
        list[str] | None,
        typer.Option(
            "--mpi",
            metavar="MPI",
            help="openmpi, mpich or intel; a folder with bin/mpicxx; a C++ wrapper. May be repeated.",
            show_default="$IMB_MPI, else the first that `imb doctor` lists",
        ),
    ] = None,
    compiler: Annotated[
        str | None,
        typer.Option(
            "--compiler", metavar="C++", help="Build with this compiler.", show_default="the wrapper's"
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Build also what is built already.")] = False,
) -> None:
    """Builds the suite for one MPI or several, from the sources that the package brings.

    Builds lie side by side in the user's XDG cache, named by MPI, compiler and sources; what is there already is not
    built again. `imb run` builds by itself what it needs. Needs CMake 3.20 and a C++20 compiler. Prints the folder
    with the programs, one line per MPI.

    Exit status: 0 built, 1 a build failed (the compiler's words are shown), 2 a mistake.

    \b
    Examples:
      imb build
      imb build --mpi mpich --mpi /opt/openmpi-5 --compiler clang++
      $(imb build --mpi mpich)/IMB-MPI1 -list
    """
    from imb.cli.launching import built
    from imb.mpi import installations

    choices: list[str | None] = [*mpi] if mpi else [None]
    for choice in choices:
        typer.echo(built(installations.find(choice), compiler, again=again))
