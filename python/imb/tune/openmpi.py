"""Open MPI: the algorithms of its component `tuned`, the rule files of `tuned`, and the file of HAN, which
decides whether `tuned` is used on several hosts.

Sources: `ompi_info`; the documentation of `tuned`; the behavior of the library
(tests/companion/tune/test_tuning_files.py tests each fact).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from imb.model.errors import ImbError
from imb.model.mpis import OpenMpi
from imb.model.text import one_line
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch
from imb.tune.tuner import (
    Executed,
    Tuner,
    Watch,
    cells_lines,
    measured_cells,
    no_rules_problem,
    ranges,
    shared_rule_problem,
    text_of,
)
from imb.tune.watch_library import (
    FOLDER,
    LibraryFunction,
    NoWatch,
    compile_library,
    executed_algorithms,
    library_of,
    symbols,
)

TUNED, HAN = "coll_tuned", "coll_han"
_PREFIX = OpenMpi.variables[0]


class _Collective(NamedTuple):
    """How rule files treat a collective. `number`: its id; `lookup`: whether a rule's size counts the
    "message" as IMB prints it, or the "total" of all ranks; `chain`: the variable that the fan-out of a file
    replaces."""

    number: int
    name: str
    lookup: str = "message"
    chain: str = "tree"

    def compared_size(self, length: int, ranks: int) -> int:
        """The size in bytes that a rule compares, for a message of `length` bytes."""
        return length * (ranks if self.lookup == "total" else 1)


_COLLECTIVES = {
    "Allgather": _Collective(0, "allgather", "total"),
    "Allreduce": _Collective(2, "allreduce"),
    "Alltoall": _Collective(3, "alltoall", "total"),
    "Barrier": _Collective(6, "barrier"),
    "Bcast": _Collective(7, "bcast", chain="chain"),
    "Reduce": _Collective(11, "reduce", chain="chain"),
    "Reduce_scatter": _Collective(12, "reduce_scatter", chain="chain"),
    "Reduce_scatter_block": _Collective(13, "reduce_scatter_block", chain="chain"),
}
# Number, name, and why a file cannot decide the collective by message size.
_OTHERS = {
    "Allgatherv": (
        1,
        "allgatherv",
        "ranks of an Allgatherv with different send types find different rules, and hang",
    ),
    "Alltoallv": (4, "alltoallv", "Alltoallv has no rule by message size"),
    "Exscan": (8, "exscan", "Exscan has no rule by message size"),
    "Gather": (
        9,
        "gather",
        "the root of a Gather in place finds another rule than the other ranks, and fails",
    ),
    "Scan": (14, "scan", "Scan has no rule by message size"),
    "Scatter": (
        15,
        "scatter",
        "ranks that pass no send count to Scatter find another rule than the root, and receive wrong data",
    ),
}
_BY_HAN = ("Allgather", "Allreduce", "Barrier", "Bcast", "Reduce")
# Collectives that an algorithm calls on the whole communicator, so that their rules apply.
_CALLS = {
    ("Allreduce", "nonoverlapping"): ("Bcast", "Reduce"),
    ("Allgather", "linear"): ("Bcast", "Gather"),
    ("Reduce_scatter", "non-overlapping"): ("Reduce", "Scatterv"),
    ("Reduce_scatter_block", "basic_linear"): ("Reduce", "Scatter"),
}
# Segment sizes that are tried. Without segments, these algorithms have no pipeline.
_SEGMENTS = {
    **{("Bcast", name): (8192, 65536) for name in ("chain", "pipeline", "split_binary_tree", "binary_tree")},
    **{("Reduce", name): (8192, 65536) for name in ("chain", "pipeline", "binary")},
    ("Allreduce", "segmented_ring"): (65536, 1048576),
}
# A fan-out of 0 in a file turns a chain into a pipeline, with a warning; the default of the variable is 4.
_FANOUTS = {("Bcast", "chain"): 4, ("Reduce", "chain"): 4}
# Names of functions that differ from the names of their algorithms.
_FUNCTIONS = {
    "linear": ("linear", "basic_linear"),
    "rabenseifner": ("redscat_allgather", "redscat_gather"),
    "segmented_ring": ("ring_segmented",),
    "neighbor": ("neighborexchange",),
    "two_proc": ("two_procs",),
    "modified_bruck": ("bruck",),
    "split_binary_tree": ("split_bintree",),
    "binary_tree": ("bintree",),
    "recursive_halving": ("recursivehalving", "basic_recursivehalving"),
}
_BASE = re.compile(
    r"ompi_coll_base_((allgatherv?|allreduce|alltoallv?|barrier|bcast|exscan|gather|reduce_scatter_block|reduce_scatter|reduce"
    r"|scan|scatter)_(?:intra_(?!generic)\w+|basic_linear))$"
)
_HAN = re.compile(r"mca_coll_(han_([a-z]+)_intra(?:_(?!dynamic)\w+)?)$")
_FILE, _HAN_FILE = "openmpi-tuned.conf", "openmpi-han.conf"


class OpenMpiTuner(Tuner):
    """On several hosts, HAN may take precedence over `tuned`."""

    tried = "Open MPI 4 and 5"
    last_major = 5
    files = "rule file of coll/tuned"
    complaint = re.compile(
        r"(?m)^.*(?:algorithm\w* \d+ .*(?:does not exist|out of range|not )|MPI_ERR_\w+:.*)$"
    )

    @cached_property
    def _parameters(self) -> dict[str, dict[str, str]]:
        """Value, source, status and other facts about each parameter of `tuned` and HAN."""
        parameters: dict[str, dict[str, str]] = {}
        for component in ("tuned", "han"):
            text = self.mpi.ask("ompi_info", "--param", "coll", component, "--level", "9", "--parsable") or ""
            for name, fact, value in re.findall(r"(?m)^mca:coll:\w+:param:(\w+):(\w+):(.*)$", text):
                if fact == "enumerator":
                    number, _, label = value.removeprefix("value:").partition(":")
                    parameters.setdefault(name, {})[f"enumerator {number}"] = label
                else:
                    parameters.setdefault(name, {})[fact] = value
        if f"{TUNED}_use_dynamic_rules" not in parameters:
            raise ImbError(
                f"{self.mpi.version}: ompi_info does not list the parameters of coll/tuned; install it beside the launcher"
            )
        self._refuse_settings(parameters)
        return parameters

    def _refuse_settings(self, parameters: Mapping[str, Mapping[str, str]]) -> None:
        """Raises ImbError if the user has set a variable that takes precedence over the rules of a file."""
        for name, facts in parameters.items():
            is_rule = re.search(r"_algorithm|_dynamic|_use_|_priority$|_module$", name)
            if is_rule and facts.get("source", "default") != "default":
                raise ImbError(
                    f"{name} is set ({facts['source']}); unset it, since it comes before the rules of a tuning file"
                )

    def _has(self, parameter: str) -> bool:
        return parameter in self._parameters

    def collectives(self) -> Sequence[str]:
        return [
            name for name, traits in _COLLECTIVES.items() if self._has(f"{TUNED}_{traits.name}_algorithm")
        ]

    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        name = _COLLECTIVES[collective].name if collective in _COLLECTIVES else _OTHERS[collective][1]
        facts = self._parameters.get(f"{TUNED}_{name}_algorithm", {})
        algorithms = []
        for fact, label in facts.items():
            number = int(fact.removeprefix("enumerator ")) if fact.startswith("enumerator ") else 0
            if number:
                key = (collective, label)
                segments = _SEGMENTS.get(key, (0,))
                algorithms += [
                    Algorithm(label, number, segment, _FANOUTS.get(key, 0)) for segment in segments
                ]
        return algorithms

    def rule_problem(self, cell: Cell) -> str | None:
        if cell.collective in _OTHERS:
            return _OTHERS[cell.collective][2]
        if cell.collective not in _COLLECTIVES:
            return no_rules_problem(cell.collective)
        # A rule for 0 bytes would also apply to Allgather and Alltoall in place, at any size: MPI ignores their counts.
        return shared_rule_problem(cell)

    def exclusion_reason(self, cell: Cell, algorithm: Algorithm) -> str | None:
        if algorithm.name == "two_proc" and cell.ranks != 2:
            return "for two ranks only"
        if algorithm.segment and cell.bytes <= algorithm.segment:
            return "the message is one segment"
        return None

    def related_collectives(self, collective: str, algorithm: Algorithm) -> Sequence[str]:
        if algorithm == DEFAULT:
            return ("Allreduce", "Bcast", "Gather", "Reduce") if self._han_decides(collective) else ()
        return _CALLS.get((collective, algorithm.name), ())

    def _han_decides(self, collective: str) -> bool:
        values = [
            int(self._parameters.get(f"{component}_priority", {}).get("value", -1))
            for component in (HAN, TUNED)
        ]
        return self.hosts > 1 and values[0] > values[1] and collective in _BY_HAN

    # --- Switches ---

    def base(self) -> Switch:
        return Switch({f"{_PREFIX}{TUNED}_use_dynamic_rules": "1"})

    def _settings(self, collective: str, algorithm: Algorithm) -> dict[str, str]:
        traits = _COLLECTIVES[collective]
        prefix = f"{TUNED}_{traits.name}_algorithm"
        values = {
            prefix: str(algorithm.number),
            f"{prefix}_segmentsize": str(algorithm.segment),
            f"{prefix}_{traits.chain}_fanout": str(algorithm.fanout),
        }
        numbers = (algorithm.number, algorithm.segment, algorithm.fanout)
        settings = {
            name: value for (name, value), is_used in zip(values.items(), numbers, strict=True) if is_used
        }
        # Without HAN, tuned serves the whole communicator.
        return {**settings, **({f"{HAN}_priority": "0"} if self._han_decides(collective) else {})}

    def variables(self, collective: str, algorithm: Algorithm) -> Mapping[str, str] | None:
        if algorithm == DEFAULT:
            return {}
        settings = self._settings(collective, algorithm)
        if any(self._parameters.get(name, {}).get("status") != "writeable" for name in settings):
            return None
        return settings

    def forcing_switch(self, collective: str, algorithm: Algorithm) -> Switch:
        if algorithm == DEFAULT:
            return self.base()
        settings = self._settings(collective, algorithm)
        return Switch(
            {**self.base().environment, **{f"{_PREFIX}{name}": value for name, value in settings.items()}}
        )

    # --- Files ---

    def write(
        self, choices: Choices, measured: Iterable[Cell], folder: Path, header: Sequence[str]
    ) -> Switch:
        measured = self.expressible_cells(choices, measured)
        chosen_ranges = ranges(choices, measured)
        lines = [one_line(line) for line in (*header, *cells_lines(measured))]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _FILE).write_text(_classic_file(chosen_ranges, lines))
        by_han = {key: runs for key, runs in chosen_ranges.items() if self._han_decides(key[0])}
        if by_han:
            (folder / _HAN_FILE).write_text(_han_file(by_han, lines))
        else:
            (folder / _HAN_FILE).unlink(missing_ok=True)
        return self._switch(folder)

    def _switch(self, folder: Path) -> Switch:
        environment = dict(self.base().environment)
        environment[f"{_PREFIX}{TUNED}_dynamic_rules_filename"] = str((folder / _FILE).absolute())
        if (folder / _HAN_FILE).exists():
            environment[f"{_PREFIX}{HAN}_use_dynamic_file_rules"] = "1"
            environment[f"{_PREFIX}{HAN}_dynamic_rules_filename"] = str((folder / _HAN_FILE).absolute())
        return Switch(environment)

    def read(self, folder: Path) -> tuple[dict[Cell, Algorithm], list[Cell], Switch]:
        path = folder / _FILE
        text = text_of(path)
        try:
            rules, comments = _rules_of_classic(text), re.findall(r"(?m)^#(.*)$", text)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ImbError(f"{path}: not a rule file that imb tune wrote") from error
        measured = measured_cells(path, comments)
        choices = {}
        for cell in measured:
            number, segment, fanout = _decide(rules, cell)
            if number:
                known = {algorithm.number: algorithm.name for algorithm in self.algorithms(cell.collective)}
                if number not in known:
                    raise ImbError(
                        f"{path}: {self.mpi.version} has no algorithm {number} of {cell.collective}"
                    )
                choices[cell] = Algorithm(known[number], number, segment, fanout)
        return choices, measured, self._switch(folder)

    # --- Proof ---

    @cached_property
    def _functions(self) -> list[LibraryFunction]:
        library = library_of(self.mpi)
        places = [library]
        plugins = re.search(
            r"(?m)^path:pkglibdir:(.+)$", self.mpi.ask("ompi_info", "--path", "pkglibdir", "--parsable") or ""
        )
        if plugins and (Path(plugins[1]) / "mca_coll_han.so").exists():
            places.append(Path(plugins[1]) / "mca_coll_han.so")
        functions = {}
        for place in places:
            for name, is_defined in symbols(place).items():
                if is_defined and (base := _BASE.match(name)):
                    functions[name] = LibraryFunction(name, base[1], base[2])
                elif is_defined and (han := _HAN.match(name)):
                    functions[name] = LibraryFunction(name, han[1], han[2])
        self._plugin = str(places[-1]) if len(places) > 1 else ""
        return [functions[name] for name in sorted(functions)]

    def watch(self, folder: Path) -> Watch:
        functions = self._functions
        if not any(watched.function.startswith("ompi_coll_base_") for watched in functions):
            return Watch(None, reason=f"{self.mpi.version} does not export its algorithms")
        definitions = ["-DOPEN_MPI_ABI", *([f'-DPLUGIN="{self._plugin}"'] if self._plugin else [])]
        try:
            library = compile_library(self.mpi, functions, definitions)
        except NoWatch as error:
            return Watch(None, reason=str(error))
        folder.mkdir(parents=True, exist_ok=True)
        switch = Switch({"LD_PRELOAD": str(library), FOLDER: str(folder.absolute())})
        return Watch(switch, "functions of coll/base and HAN, counted by a preloaded library")

    def executed_algorithms(self, folder: Path) -> Executed:
        # The first call on a communicator creates HAN's communicators.
        return executed_algorithms(folder, by_rank=False, rare=0.5 if self.hosts > 1 else 0)

    def replacement(self, cell: Cell, algorithm: Algorithm, executed: Executed) -> str | None:
        names = _FUNCTIONS.get(
            algorithm.name,
            (re.sub(r"_(?=doubling|ring)|-", "", algorithm.name), algorithm.name.replace("-", "_")),
        )
        collective = _COLLECTIVES[cell.collective].name
        expected = {f"{collective}_intra_{name}" for name in names} | {
            f"{collective}_{name}" for name in names
        }
        functions = {function.partition("/")[0] for function in executed.get(cell, ())}
        return None if not functions or functions <= expected else " and ".join(sorted(functions - expected))


_Ranges = Mapping[tuple[str, int], Sequence[tuple[int, int, Algorithm]]]
_Rule = tuple[
    int, int, int, int
]  # message size, algorithm, fan-out, segment: in the order of a line of the file


def _steps(runs: Sequence[tuple[int, int, Algorithm]], scale: int) -> list[tuple[int, Algorithm]]:
    """Message sizes in bytes, the first one 0, and the algorithm that is used from each size on."""
    steps: list[tuple[int, Algorithm]] = []
    for low, high, algorithm in runs:
        if steps and steps[-1][0] == low * scale:
            steps.pop()
        elif not steps and low:
            steps.append((0, DEFAULT))
        steps += [(low * scale, algorithm), (high * scale + 1, DEFAULT)]
    return steps


def _group_by_collective(
    chosen_ranges: _Ranges,
) -> dict[str, dict[int, Sequence[tuple[int, int, Algorithm]]]]:
    grouped: dict[str, dict[int, Sequence[tuple[int, int, Algorithm]]]] = {}
    for (collective, ranks), runs in chosen_ranges.items():
        grouped.setdefault(collective, {})[ranks] = runs
    return dict(sorted(grouped.items(), key=lambda item: _COLLECTIVES[item[0]].number))


def _sizes(
    runs_by_ranks: Mapping[int, Sequence[tuple[int, int, Algorithm]]], first: int
) -> list[tuple[int, Sequence[tuple[int, int, Algorithm]]]]:
    """Communicator sizes with their ranges. A size applies up to the next one, so `first` and the neighbor
    above each changed size have no ranges."""
    sizes = dict.fromkeys((first, *(ranks + 1 for ranks in runs_by_ranks)), ())
    return sorted({**sizes, **runs_by_ranks}.items())


def _classic_file(chosen_ranges: _Ranges, comments: Sequence[str]) -> str:
    """The file for Open MPI 4.1 and 5.0. It lacks the version line of 5.0 (version 2), because 4.1 silently
    ignores a file with it. The first communicator size and the first message size must be 0."""
    grouped = _group_by_collective(chosen_ranges)
    lines = [*(f"# {line}" for line in comments), f"{len(grouped)} # collectives"]
    for collective, runs_by_ranks in grouped.items():
        traits = _COLLECTIVES[collective]
        sizes = _sizes(runs_by_ranks, 0)
        lines += [f"{traits.number} # {collective}", f"{len(sizes)} # communicator sizes"]
        for ranks, runs in sizes:
            steps = _steps(runs, traits.compared_size(1, ranks)) or [(0, DEFAULT)]
            lines += [f"{ranks} {len(steps)}"]
            lines += [
                f"{start} {algorithm.number or 0} {algorithm.fanout} {algorithm.segment}"
                for start, algorithm in steps
            ]
    return "\n".join(lines) + "\n"


def _rules_of_classic(text: str) -> dict[int, dict[int, list[_Rule]]]:
    """Rules by collective and communicator size. Raises ValueError."""
    numbers = iter([int(word) for line in text.splitlines() for word in line.partition("#")[0].split()])
    rules: dict[int, dict[int, list[_Rule]]] = {}
    try:
        for _ in range(next(numbers)):
            of_collective = rules.setdefault(next(numbers), {})
            for _ in range(next(numbers)):
                size, count = next(numbers), next(numbers)
                of_collective[size] = [
                    (next(numbers), next(numbers), next(numbers), next(numbers)) for _ in range(count)
                ]
    except (StopIteration, RuntimeError) as error:
        raise ValueError("truncated") from error
    if next(numbers, None) is not None:
        raise ValueError("more than announced")
    return rules


def _decide(rules: Mapping[int, Mapping[int, Sequence[_Rule]]], cell: Cell) -> tuple[int, int, int]:
    """Algorithm, segment and fan-out of a cell, as the library would choose them."""
    if cell.collective not in _COLLECTIVES:
        return 0, 0, 0
    sizes = rules.get(_COLLECTIVES[cell.collective].number, {})
    fitting = [size for size in sizes if size <= cell.ranks]
    length = _COLLECTIVES[cell.collective].compared_size(cell.bytes, cell.ranks)
    of_size = [rule for rule in sizes[max(fitting)] if rule[0] <= length] if fitting else []
    _, number, fanout, segment = max(of_size) if of_size else (0, 0, 0, 0)
    return number, segment, fanout


def _han_file(chosen_ranges: _Ranges, comments: Sequence[str]) -> str:
    """The file of HAN for Open MPI 5.0, which says which component serves a whole communicator (topology
    level 2). The first size must be 1. Message sizes count one rank's message."""
    grouped = _group_by_collective(chosen_ranges)
    lines = [*(f"# {line}" for line in comments), str(len(grouped))]
    for collective, runs_by_ranks in grouped.items():
        sizes = _sizes(runs_by_ranks, 1)
        lines += [str(_COLLECTIVES[collective].number), "1", "2", str(len(sizes))]
        for ranks, runs in sizes:
            steps = _steps(runs, 1) or [(0, DEFAULT)]
            lines += [f"{ranks} {len(steps)}"]
            lines += [f"{start} {'han' if algorithm == DEFAULT else 'tuned'}" for start, algorithm in steps]
    return "\n".join(lines) + "\n"
