"""What an MPI library offers `imb tune`: its algorithms, its tuning files, and proof that a file takes effect. There
is one tuner per library."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from imb.model.catalog import kind_of
from imb.model.errors import ImbError
from imb.model.text import shell_word
from imb.mpi.installations import Installation, installations_of
from imb.registry import load
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch

# Tuners, by the key of the MPI's class in imb.model.mpis.
TUNERS = {
    "openmpi": "imb.tune.openmpi:OpenMpiTuner",
    "mpich": "imb.tune.mpich:MpichTuner",
}

# What ranks executed in each cell, as reported under a tuner's `watch`: names of functions, or counts of messages.
Executed: TypeAlias = Mapping[Cell, frozenset[str]]


@dataclass(frozen=True)
class Watch:
    """Settings of a launch whose ranks report what they execute. `switch`: None if this is impossible;
    `reason` then says why. `evidence`: what a report contains."""

    switch: Switch | None
    evidence: str = ""
    reason: str = ""


@dataclass(frozen=True)
class FileProof:
    """Whether a file takes effect in the cells that it names and nowhere else. `wrong`: cells in which it does not,
    with what was executed; `missing`: cells that were not executed; `alike`: changed cells whose evidence is
    the same for the algorithm and the library's default, for example because only segments differ."""

    evidence: str = ""
    wrong: Mapping[Cell, str] = field(default_factory=dict)
    missing: tuple[Cell, ...] = ()
    alike: tuple[Cell, ...] = ()


class Tuner(ABC):
    """What is known about one MPI library. Methods raise ImbError if the installed library does not answer.

    `hosts`: number of hosts of a launch. `tried`: the versions whose files are known; `last_major`: the last
    of them. `files`: the kind of file that `write` writes: "rule file of coll/tuned". `complaint`: matches a
    line of standard error with which the library refuses or replaces an algorithm.
    """

    tried: str
    last_major: int | None = None
    files: str
    complaint: re.Pattern[str]

    def __init__(self, mpi: Installation, hosts: int = 1) -> None:
        self.mpi = mpi
        self.hosts = hosts

    @abstractmethod
    def collectives(self) -> Sequence[str]:
        """IMB's names of the collectives for which a file of this library can decide by message size."""

    @abstractmethod
    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        """The algorithms of the installed library, without DEFAULT."""

    @abstractmethod
    def rule_problem(self, cell: Cell) -> str | None:
        """Why a file cannot express this cell, or None if it can."""

    def exclusion_reason(self, cell: Cell, algorithm: Algorithm) -> str | None:
        """Why an algorithm is no candidate in a cell, if this is known before it is tried (`two_proc` on 4
        ranks), or None to try it."""
        return None

    def related_collectives(self, collective: str, algorithm: Algorithm) -> Sequence[str]:
        """Collectives whose rules the algorithm also uses, so their cells must be measured together."""
        return ()

    def base(self) -> Switch:
        """The switch of every launch of a search, including launches of the library's default."""
        return Switch({})

    def variables(self, collective: str, algorithm: Algorithm) -> Mapping[str, str] | None:
        """MPI_T variables that select the algorithm on a new communicator, for -alternate, or None if it
        cannot change within a launch."""
        return None

    @abstractmethod
    def forcing_switch(self, collective: str, algorithm: Algorithm) -> Switch:
        """The switch that selects the algorithm for all message sizes of a launch."""

    @abstractmethod
    def write(
        self, choices: Choices, measured: Iterable[Cell], folder: Path, header: Sequence[str]
    ) -> Switch:
        """Write the files of these choices, and return their switch. Sizes between two measured neighbors
        with the same choice also get it; all others keep the library's default. `header`: comment lines."""

    def expressible_cells(self, choices: Choices, measured: Iterable[Cell]) -> list[Cell]:
        """The cells of a file, including the chosen ones. Raises ImbError if it cannot express a chosen one."""
        for cell in choices:
            if reason := self.rule_problem(cell):
                raise ImbError(f"{cell}: {reason}")
        return sorted({cell for cell in measured if self.rule_problem(cell) is None} | set(choices))

    @abstractmethod
    def read(self, folder: Path) -> tuple[dict[Cell, Algorithm], list[Cell], Switch]:
        """The choices, the measured cells and the switch of files that `write` wrote. Raises ImbError."""

    @abstractmethod
    def watch(self, folder: Path) -> Watch:
        """Settings with which the ranks of a launch write what they execute to `folder`."""

    @abstractmethod
    def executed_algorithms(self, folder: Path) -> Executed:
        """What ranks wrote to `folder`. Raises ImbError."""

    def replacement(self, cell: Cell, algorithm: Algorithm, executed: Executed) -> str | None:
        """What the library executed instead of a forced algorithm. None if it executed the algorithm, or if
        this is unknown because messages have no names."""
        return None

    def unread_file(self, switch: Switch, output: str) -> str | None:
        """A file of the switch that a launch under `watch` does not report as read, or None if it reports all
        files, or the library reports none."""
        return None

    def find_complaint(self, errors: str) -> str | None:
        """The first line of standard error that is a complaint, or None."""
        match = self.complaint.search(errors)
        return match[0].strip() if match else None


def no_rules_problem(benchmark: str) -> str:
    """Why a library has no rules for a benchmark that its tuner does not list."""
    return f"{benchmark} {'has no rules' if kind_of(benchmark, 'MPI1') == 'collective' else 'is not a collective'}"


def shared_rule_problem(cell: Cell) -> str | None:
    """Why no library's file can express this cell, or None if no reason is known."""
    if cell.ranks < 2:
        return "one rank has no choice of algorithms"
    if cell.bytes == 0 and cell.collective != "Barrier":
        return "no algorithm is called for 0 bytes"
    if cell.collective == "Reduce_scatter_block" and cell.bytes % (4 * cell.ranks):
        return "MPI rounds the block up, so that the rule would apply to a larger message"
    return None


def tuner_of(mpi: Installation, hosts: int = 1) -> Tuner:
    """The tuner of an MPI whose launches use `hosts` hosts. Raises ImbError if this MPI cannot be tuned."""
    kind: type[Tuner] | None = load(TUNERS[mpi.flavor]) if mpi.flavor in TUNERS else None
    if kind is None or mpi.major > (kind.last_major or mpi.major):
        tried = " and of ".join(load(name).tried for name in TUNERS.values())
        raise ImbError(f"{mpi.version} cannot be tuned; imb tune has been tried with files of {tried}")
    return kind(mpi, hosts)


def usable_tuner_of(mpi: Installation, hosts: int = 1) -> Tuner:
    """The tuner of a library that has what a file needs. Otherwise raises ImbError with the installed MPIs of
    this kind that have it."""
    try:
        tuner = tuner_of(mpi, hosts)
        tuner.collectives()
    except ImbError as error:
        usable = [
            other
            for other in installations_of(mpi.product)
            if other.launcher != mpi.launcher and _is_usable(other)
        ]
        if not usable:
            raise
        choices = " or ".join(f"--mpi {shell_word(other.place)} ({other.version})" for other in usable)
        raise ImbError(f"{error}; give {choices}") from error
    return tuner


def _is_usable(mpi: Installation) -> bool:
    try:
        tuner_of(mpi).collectives()
    except ImbError:
        return False
    return True


def proof(
    choices: Choices,
    measured: Iterable[Cell],
    *,
    without: Executed,
    with_file: Executed,
    forced: Mapping[tuple[str, Algorithm], Executed],
    evidence: str = "",
) -> FileProof:
    """Compare launches under `Tuner.watch`: without a file, with it, and with each chosen algorithm of a
    collective forced. A changed cell must execute what the forced algorithm executes there; any other cell
    must execute what the library executes without a file."""
    wrong, missing, alike = {}, [], []
    for cell in sorted({*measured, *choices}):
        algorithm = choices.get(cell, DEFAULT)
        by_default = without.get(cell)
        expected = (
            by_default if algorithm == DEFAULT else forced.get((cell.collective, algorithm), {}).get(cell)
        )
        actual = with_file.get(cell)
        if not actual or not expected:
            missing.append(cell)
        elif actual != expected:
            wrong[cell] = f"{_list_names(actual)} in place of {_list_names(expected)}"
        elif algorithm != DEFAULT and actual == by_default:
            alike.append(cell)
    return FileProof(evidence, wrong, tuple(missing), tuple(alike))


def _list_names(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def ranges(
    choices: Choices, measured: Iterable[Cell]
) -> dict[tuple[str, int], list[tuple[int, int, Algorithm]]]:
    """For each collective and number of ranks with a choice: first size, last size (bytes) and algorithm of
    each range, ascending. Neighbors with the same choice and no measured size between them form one range; a
    single size is also a range."""
    lengths: dict[tuple[str, int], set[int]] = {}
    for cell in {*measured, *choices}:
        lengths.setdefault((cell.collective, cell.ranks), set()).add(cell.bytes)
    by_key: dict[tuple[str, int], list[tuple[int, int, Algorithm]]] = {}
    for key, key_lengths in lengths.items():
        runs: list[tuple[int, int, Algorithm]] = []
        before = DEFAULT
        for length in sorted(key_lengths):
            algorithm = choices.get(Cell(*key, length), DEFAULT)
            if algorithm != DEFAULT and algorithm == before:
                runs[-1] = (runs[-1][0], length, algorithm)
            elif algorithm != DEFAULT:
                runs.append((length, length, algorithm))
            before = algorithm
        if runs:
            by_key[key] = runs
    return dict(sorted(by_key.items()))


def text_of(path: Path) -> str:
    """The text of a file. Raises ImbError if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ImbError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not text'}") from error


# --- The cells of a file, in its comments: rules do not contain them ---


def cells_lines(measured: Iterable[Cell]) -> list[str]:
    """Comment lines with the measured cells: `measured Allreduce 4: 1024 2048`."""
    lengths: dict[tuple[str, int], list[int]] = {}
    for cell in sorted(set(measured)):
        lengths.setdefault((cell.collective, cell.ranks), []).append(cell.bytes)
    return [
        f"measured {name} {ranks}: {' '.join(map(str, key_lengths))}"
        for (name, ranks), key_lengths in lengths.items()
    ]


def cells_in(lines: Iterable[str]) -> Iterator[Cell]:
    """Yield the cells in lines of `cells_lines`, whatever precedes `measured` in them."""
    for line in lines:
        words = line.partition("measured ")[2].replace(":", " ").split()
        if len(words) > 2 and all(word.isdecimal() for word in words[1:]):
            yield from (Cell(words[0], int(words[1]), int(length)) for length in words[2:])


def measured_cells(path: Path, lines: Iterable[str]) -> list[Cell]:
    """The cells in these lines of a file. Raises ImbError if there are none."""
    measured = list(cells_in(lines))
    if not measured:
        raise ImbError(f"{path}: does not list the measured message sizes; give a file that imb tune wrote")
    return measured


def choices_lines(choices: Choices) -> list[str]:
    """Comment lines with the choices: `chosen Allreduce 4 1024: ring 4 0 0`, which is algorithm, number,
    segment and fan-out. They serve formats that do not contain these."""
    return [
        f"chosen {cell.collective} {cell.ranks} {cell.bytes}: {algorithm.name} {algorithm.number or 0} {algorithm.segment} {algorithm.fanout}"
        for cell, algorithm in sorted(choices.items())
    ]


def choices_in(lines: Iterable[str]) -> dict[Cell, Algorithm]:
    """The choices in lines of `choices_lines`, whatever precedes `chosen` in them. Raises ValueError."""
    choices = {}
    for line in lines:
        words = line.partition("chosen ")[2].replace(":", " ").split()
        if words:
            collective, ranks, length, name, number, segment, fanout = words
            cell = Cell(collective, int(ranks), int(length))
            choices[cell] = Algorithm(name, int(number) or None, int(segment), int(fanout))
    return choices
