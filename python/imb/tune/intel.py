"""Intel MPI: presets of its collectives, and the variables I_MPI_ADJUST_* that select them by length.

Sources: the descriptions of its MPI_T variables, text in the library; the developer reference, "I_MPI_ADJUST Family"; what the library
does (tests/companion/tune/test_tuning_files.py has a test of each fact).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from imb.model.errors import ImbError
from imb.model.text import one_line
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch
from imb.tune.tuner import (
    Executed,
    Tuner,
    Watch,
    cells_in,
    cells_lines,
    choices_in,
    choices_lines,
    ranges,
    shared_limits,
    text_of,
)
from imb.tune.watch import FOLDER, NoWatch, compiled, executed_in, library_bytes

_COLLECTIVES = ("Allgather", "Allreduce", "Alltoall", "Reduce_scatter", "Reduce_scatter_block")
_OWN_CHOICE = ("Bcast", "Reduce")  # of which preset 0 is not what the library uses without a variable
_MOST = 2**31 - 1
_FILE = "intel-adjust.sh"


class IntelTuner(Tuner):
    files = "file of variables I_MPI_ADJUST_*"
    complaint = re.compile(r"(?m)^.*Incorrect (?:algorithm|adjust value):.*$")

    @cached_property
    def _presets(self) -> dict[str, int]:
        """The largest preset of each collective."""
        pattern = rb"algorithm presets\.[^\0]{0,80}?range: 0-(\d+)[^\0]{0,20}?@Alias:# (I_MPI_ADJUST_\w+)"
        presets = {name.decode(): int(most) for most, name in re.findall(pattern, library_bytes(self.mpi))}
        if not presets:
            raise ImbError(f"{self.mpi.version}: its library does not describe presets of collectives")
        return presets

    def collectives(self) -> Sequence[str]:
        return [name for name in _COLLECTIVES if _variable(name) in self._presets]

    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        return [
            Algorithm(f"preset-{number}", number)
            for number in range(1, self._presets.get(_variable(collective), 0) + 1)
        ]

    def limits(self, cell: Cell) -> str | None:
        if cell.collective in _OWN_CHOICE:
            return f"the variable cannot leave other lengths to the library: preset 0 is not its own choice for {cell.collective}"
        if cell.collective not in _COLLECTIVES:
            return f"rules of {cell.collective} by length are not known to act"
        if cell.bytes >= _MOST:
            return "I_MPI_ADJUST has no lengths of 2 GiB and more"
        return shared_limits(cell)

    def forced(self, collective: str, algorithm: Algorithm) -> Switch:
        return self.base() if algorithm == DEFAULT else Switch({_variable(collective): str(algorithm.number)})

    def write(
        self, choices: Choices, measured: Iterable[Cell], folder: Path, header: Sequence[str]
    ) -> Switch:
        measured = self.expressible(choices, measured)
        sizes = {cell.ranks for cell in choices}
        if len(sizes) > 1:
            raise ImbError(
                f"{self.mpi.version} ignores communicator sizes in I_MPI_ADJUST: a file for"
                f" {' and '.join(map(str, sorted(sizes)))} ranks cannot be written; tune one number of ranks at a time"
            )
        environment = _adjusted(choices, measured)
        comments = [*header, *cells_lines(measured), *choices_lines(choices)]
        lines = [*(f"# {one_line(line)}" for line in comments)]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text("\n".join(lines) + "\n")
        return Switch(environment)

    def read(self, folder: Path) -> tuple[dict[Cell, Algorithm], list[Cell], Switch]:
        path = folder / _FILE
        text = text_of(path)
        comments = [line for line in text.splitlines() if line.startswith("#")]
        measured = list(cells_in(comments))
        try:
            choices = choices_in(comments)
            exports = re.findall(r"(?m)^export (I_MPI_ADJUST_\w+)=(.*)$", text)
            environment = {name: "".join(shlex.split(value)) for name, value in exports}
        except ValueError as error:
            raise ImbError(f"{path}: not a file that imb tune wrote") from error
        if not measured or environment != _adjusted(choices, measured):
            raise ImbError(f"{path}: its variables are not those of its header; write it again with imb tune")
        return choices, measured, Switch(environment)

    def watch(self, folder: Path) -> Watch:
        try:
            library = compiled(self.mpi, (), ["-DWATCH_SOCKETS"])
        except NoWatch as error:
            return Watch(None, reason=str(error))
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            "LD_PRELOAD": str(library),
            FOLDER: str(folder.absolute()),
            "I_MPI_FABRICS": "ofi",
            "FI_PROVIDER": "tcp",
            "I_MPI_COLL_INTRANODE": "pt2pt",
        }
        return Watch(
            Switch(environment),
            "messages of each rank, counted by a preloaded library over TCP (I_MPI_FABRICS=ofi, FI_PROVIDER=tcp,"
            " I_MPI_COLL_INTRANODE=pt2pt)",
        )

    def executed(self, folder: Path) -> Executed:
        return executed_in(folder, by_rank=True, rare=0.5)


def _variable(collective: str) -> str:
    return f"I_MPI_ADJUST_{collective.upper()}"


def _adjusted(choices: Choices, measured: Iterable[Cell]) -> dict[str, str]:
    """The variables. Parts are read as a chain of upper limits, so they cover all lengths. Sizes of communicators (`@4-4`) are left out:
    the library then uses one part for all lengths. So the rules are those of all communicators of a launch."""
    parts: dict[str, list[str]] = {}
    for (collective, ranks), runs in ranges(choices, measured).items():
        chain, next_length = parts.setdefault(_variable(collective), []), 0
        # For Reduce_scatter_block the library counts one block.
        shares = ranks if collective == "Reduce_scatter_block" else 1
        for first, last, algorithm in runs:
            low, high = first // shares, last // shares
            if low > next_length:
                chain.append(f"0:{next_length}-{low - 1}")
            chain.append(f"{algorithm.number}:{low}-{high}")
            next_length = high + 1
        chain.append(f"0:{next_length}-{_MOST}")
    return {name: ";".join(chain) for name, chain in parts.items()}
