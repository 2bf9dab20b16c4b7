"""MPICH: the algorithms that its variables name, and its selection trees.

The trees are read from the library, changed in some cells, and written as JSON. Sources: `mpivars`; the
trees, plain JSON in the library; the behavior of the library (tests/companion/tune/test_tuning_files.py tests
each fact).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from imb.model.errors import ImbError
from imb.model.mpis import Mpich
from imb.model.text import one_line
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch
from imb.tune.tuner import (
    Executed,
    Tuner,
    Watch,
    cells_lines,
    choices_in,
    choices_lines,
    measured_cells,
    no_rules_problem,
    ranges,
    shared_rule_problem,
    text_of,
)
from imb.tune.watch_library import (
    FOLDER,
    NoWatch,
    compile_library,
    executed_algorithms,
    library_bytes,
    library_of,
    symbols,
)

_Tree: TypeAlias = dict[str, Any]  # the values are again trees, which mypy cannot express here

_PREFIX = Mpich.variables[0]
GENERIC, COMPOSITIONS = (f"{_PREFIX}{device}COLL_SELECTION_TUNING_JSON_FILE" for device in ("", "CH4_"))
_FILE, _COMPOSITION_FILE = "mpich-algorithms.json", "mpich-compositions.json"
_MOST_BYTES = 2**31 - 1  # the library reads message sizes in trees by atoi


class _Collective(NamedTuple):
    """How trees treat a collective. `length`: the name of its size condition, which counts the bytes of `all`
    ranks or of one rank. `reduces`: conditions that guard a leaf, because a tree does not check whether an
    algorithm supports an operation."""

    length: str
    all: bool = False
    reduces: tuple[str, ...] = ()

    def compared_size(self, length: int, ranks: int) -> int:
        """The size in bytes that a tree compares, for a message of `length` bytes."""
        return length * (ranks if self.all else 1)


_COMMUTATIVE, _BUILT_IN, _ENOUGH = "is_commutative=yes", "is_op_built_in=yes", "count=any"
_COLLECTIVES = {
    "Allgather": _Collective("total_msg_size", all=True),
    "Allreduce": _Collective("avg_msg_size", reduces=(_COMMUTATIVE, _BUILT_IN, _ENOUGH)),
    "Alltoall": _Collective("avg_msg_size"),
    "Barrier": _Collective(""),
    "Bcast": _Collective("avg_msg_size"),
    "Reduce": _Collective("avg_msg_size", reduces=(_COMMUTATIVE, _BUILT_IN, _ENOUGH)),
    "Reduce_scatter": _Collective("total_msg_size", reduces=(_COMMUTATIVE,)),
    "Reduce_scatter_block": _Collective("total_msg_size", reduces=(_COMMUTATIVE,)),
}
_OPPOSITES = {_COMMUTATIVE: "is_commutative=no", _BUILT_IN: "is_op_built_in=no", _ENOUGH: "count<pow2"}
# Algorithms that a tree must not name, and why.
_NEVER = {
    "smp": "MPICH uses it for parts of a communicator alone",
    "ccl": "it needs a library for GPUs",
}
_IN_PLACE = {("Alltoall", "pairwise_sendrecv_replace")}
_POWERS_OF_TWO = {
    ("Allgather", "recursive_doubling"),
    ("Bcast", "scatter_recursive_doubling_allgather"),
    ("Reduce_scatter", "noncommutative"),
    ("Reduce_scatter_block", "noncommutative"),
}
_MANY_ELEMENTS = {
    ("Allreduce", "reduce_scatter_allgather"),
    ("Allreduce", "k_reduce_scatter_allgather"),
    ("Reduce", "reduce_scatter_gather"),
}
# The parameters of a leaf, and the variables with their values (without the prefix and the collective) for the same algorithm.
PARAMETERS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Allreduce", "recursive_multiplying"): {"k": "RECURSIVE_MULTIPLYING_KVAL"},
    ("Allreduce", "tree"): {
        "tree_type": "TREE_TYPE",
        "k": "TREE_KVAL",
        "chunk_size": "TREE_PIPELINE_CHUNK_SIZE",
        "buffer_per_child": "TREE_BUFFER_PER_CHILD",
        "topo_overhead": "TOPO_OVERHEAD",
        "topo_diff_groups": "TOPO_DIFF_GROUPS",
        "topo_diff_switches": "TOPO_DIFF_SWITCHES",
        "topo_same_switches": "TOPO_SAME_SWITCHES",
    },
    ("Allreduce", "recexch"): {"k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV"},
    ("Allreduce", "k_reduce_scatter_allgather"): {
        "k": "RECEXCH_KVAL",
        "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV",
    },
    ("Bcast", "tree"): {
        "tree_type": "TREE_TYPE",
        "k": "TREE_KVAL",
        "is_non_blocking": "IS_NON_BLOCKING",
        "topo_overhead": "TOPO_OVERHEAD",
        "topo_diff_groups": "TOPO_DIFF_GROUPS",
        "topo_diff_switches": "TOPO_DIFF_SWITCHES",
        "topo_same_switches": "TOPO_SAME_SWITCHES",
    },
    ("Bcast", "pipelined_tree"): {
        "tree_type": "TREE_TYPE",
        "k": "TREE_KVAL",
        "is_non_blocking": "IS_NON_BLOCKING",
        "chunk_size": "TREE_PIPELINE_CHUNK_SIZE",
        "recv_pre_posted": "RECV_PRE_POST",
    },
    ("Allgather", "k_brucks"): {"k": "BRUCKS_KVAL"},
    ("Allgather", "recexch_doubling"): {
        "k": "RECEXCH_KVAL",
        "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV",
    },
    ("Allgather", "recexch_halving"): {"k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV"},
    ("Alltoall", "k_brucks"): {"k": "BRUCKS_KVAL"},
    ("Barrier", "k_dissemination"): {"k": "DISSEM_KVAL"},
    ("Barrier", "recexch"): {"k": "RECEXCH_KVAL", "single_phase_recv": "RECEXCH_SINGLE_PHASE_RECV"},
}


class MpichTuner(Tuner):
    tried = "MPICH 5.0"
    files = "file of selection trees (JSON)"
    complaint = re.compile(r"(?m)^.*(?:unknown key|Assertion failed|opencolltuningfile).*$")

    @cached_property
    def _library(self) -> bytes:
        return library_bytes(self.mpi)

    @cached_property
    def _trees(self) -> dict[str, _Tree]:
        """The trees of the library: `algorithm` for any communicator, `composition` for one that spans nodes
        or fills one."""
        trees: dict[str, _Tree] = {}
        for mark in re.finditer(rb'\{"collective=', self._library):
            end = self._library.find(b"\0", mark.start())
            try:
                tree = json.loads(self._library[mark.start() : end])
            except ValueError:
                continue
            leaves = list(_leaves(tree))
            kind = "composition" if all(leaf.startswith("composition=") for leaf in leaves) else "algorithm"
            if not any(
                "POSIX" in leaf for leaf in leaves
            ):  # skip trees of algorithms in shared memory, which compositions choose
                trees[kind] = tree
        if set(trees) != {"algorithm", "composition"}:
            raise ImbError(
                f"{self.mpi.version}: its library has no selection trees as JSON; imb tune has been tried with {self.tried}"
            )
        return trees

    @cached_property
    def _variables(self) -> tuple[dict[str, str], dict[str, str]]:
        """Values and descriptions of the library's MPI_T variables."""
        text = self.mpi.ask("mpivars") or ""
        pattern = rf"(?ms)^\t({_PREFIX}\w+) *=([^\t\n]*)\tSCOPE_\w+\t[^\t]*\t\w+\t\w+\t(.*?)(?=^\t|\Z)"
        rows = re.findall(pattern, text)
        if not rows:
            raise ImbError(f"{self.mpi.version}: mpivars lists no variables; install it beside the launcher")
        return {name: value for name, value, _ in rows}, {name: description for name, _, description in rows}

    @cached_property
    def _leaf_names(self) -> frozenset[str]:
        """Algorithms that a tree can name."""
        leaves = re.findall(rb"algorithm=(MPIR_\w+_(?:intra|allcomm)_\w+)\0", self._library)
        return frozenset(name.decode() for name in leaves)

    def collectives(self) -> Sequence[str]:
        names = [name for name in _COLLECTIVES if f"collective={name.lower()}" in self._trees["algorithm"]]
        known = [name for name in names if self.algorithms(name)]
        if not known:
            raise ImbError(
                f"{self.mpi.version}: its variables do not list their values line by line; imb tune has been tried with {self.tried}"
            )
        return known

    def algorithms(self, collective: str) -> Sequence[Algorithm]:
        """The algorithms that the variable's description lists and a tree can name, numbered in the order of
        the description."""
        description = self._variables[1].get(_variable(collective, "INTRA_ALGORITHM"), "")
        names = re.findall(r"(?m)^(\w+) +- ", description)
        usable = [
            name for name in names if name not in _NEVER and self._leaf(collective, name) in self._leaf_names
        ]
        return [
            Algorithm(name, names.index(name))
            for name in usable
            if (collective, name) not in _IN_PLACE and self._parameters(collective, name) is not None
        ]

    def _leaf(self, collective: str, name: str) -> str:
        return f"MPIR_{collective}_allcomm_nb" if name == "nb" else f"MPIR_{collective}_intra_{name}"

    def _parameters(self, collective: str, name: str) -> dict[str, str] | None:
        """The parameters of a leaf with the values of their variables, or None if the library lacks one of
        the variables."""
        values = self._variables[0]
        variables = PARAMETERS.get((collective, name), {})
        parameters = {
            parameter: values.get(_variable(collective, variable))
            for parameter, variable in variables.items()
        }
        parameters = {
            key: value
            for key, value in parameters.items()
            if value is not None or not key.startswith("topo_")
        }
        return (
            {key: str(value) for key, value in parameters.items()}
            if None not in parameters.values()
            else None
        )

    def rule_problem(self, cell: Cell) -> str | None:
        traits = _COLLECTIVES.get(cell.collective)
        if traits is None:
            return no_rules_problem(cell.collective)
        if traits.compared_size(cell.bytes, cell.ranks) > _MOST_BYTES:
            return "trees of MPICH have no message sizes of 2 GiB and more"
        return shared_rule_problem(cell)

    def exclusion_reason(self, cell: Cell, algorithm: Algorithm) -> str | None:
        key = (cell.collective, algorithm.name)
        if key in _POWERS_OF_TWO and cell.ranks & (cell.ranks - 1):
            return "for powers of two only"
        if key in _MANY_ELEMENTS and cell.bytes // 4 < 1 << (cell.ranks.bit_length() - 1):
            return "fewer elements than ranks"
        return None

    def related_collectives(self, collective: str, algorithm: Algorithm) -> Sequence[str]:
        if algorithm == DEFAULT and self.hosts > 1:  # compositions use the trees for nodes and their leaders
            return [name for name in ("Allreduce", "Barrier", "Bcast", "Reduce") if name != collective]
        return ()

    # --- Switches ---

    def _settings(self, collective: str) -> dict[str, str]:
        """Variables with which the chosen algorithm serves whole communicators. Without them, algorithms of
        the device take precedence."""
        return {_variable(collective, "DEVICE_COLLECTIVE"): "0"}

    def variables(self, collective: str, algorithm: Algorithm) -> Mapping[str, str] | None:
        if algorithm == DEFAULT:
            return {}
        number = str(algorithm.number)  # MPI_T has no names for the values
        return {_variable(collective, "INTRA_ALGORITHM"): number, **self._settings(collective)}

    def forcing_switch(self, collective: str, algorithm: Algorithm) -> Switch:
        if algorithm == DEFAULT:
            return self.base()
        return Switch(
            {_variable(collective, "INTRA_ALGORITHM"): algorithm.name, **self._settings(collective)}
        )

    # --- Files ---

    def write(
        self, choices: Choices, measured: Iterable[Cell], folder: Path, header: Sequence[str]
    ) -> Switch:
        measured = self.expressible_cells(choices, measured)
        chosen_ranges = ranges(choices, measured)
        comments = [*header, *cells_lines(measured), *choices_lines(choices)]
        folder.mkdir(parents=True, exist_ok=True)

        def algorithm(collective: str, chosen: Algorithm) -> _Tree:
            parameters = self._parameters(collective, chosen.name) or {}
            return {
                f"algorithm={self._leaf(collective, chosen.name)}": {
                    f"{key}={value}": {} for key, value in parameters.items()
                }
            }

        def composition(collective: str, chosen: Algorithm) -> _Tree:
            return self._network_composition(collective)

        (folder / _FILE).write_text(
            _text(_change(self._trees["algorithm"], chosen_ranges, algorithm), comments)
        )
        composed = {key: runs for key, runs in chosen_ranges.items() if self._network_composition(key[0])}
        if composed:
            tree = _change(self._trees["composition"], composed, composition)
            (folder / _COMPOSITION_FILE).write_text(_text(tree, comments))
        else:
            (folder / _COMPOSITION_FILE).unlink(missing_ok=True)
        return self._switch(folder)

    def _network_composition(self, collective: str) -> _Tree:
        """The composition that passes a whole communicator to the tree of algorithms if other compositions
        take precedence: the one that the library uses on communicators without hierarchy. Empty if the
        library always uses it. Raises ImbError if the tree is unknown."""
        tree = self._trees["composition"].get(f"collective={collective.lower()}", {})
        leaves = set(_leaves(tree))
        if len(leaves) < 2:
            return {}
        plain = next(_subtrees(tree, "comm_hierarchy=any"), {})
        if len(plain) != 1 or not next(iter(plain)).startswith("composition="):
            raise ImbError(
                f"{self.mpi.version}: its tree of compositions is not known; {collective} cannot be tuned"
            )
        return plain

    def _switch(self, folder: Path) -> Switch:
        environment = {GENERIC: str((folder / _FILE).absolute())}
        if (folder / _COMPOSITION_FILE).exists():
            environment[COMPOSITIONS] = str((folder / _COMPOSITION_FILE).absolute())
        return Switch(environment)

    def read(self, folder: Path) -> tuple[dict[Cell, Algorithm], list[Cell], Switch]:
        path = folder / _FILE
        text = text_of(path)
        comments = text.partition("*/")[0].splitlines() if text.startswith("/*") else []
        try:
            choices = choices_in(comments)
            tree = json.loads(text.partition("*/")[2] if comments else text)
            wrong = [
                cell
                for cell, algorithm in choices.items()
                if _decide(tree, cell) != f"algorithm={self._leaf(cell.collective, algorithm.name)}"
            ]
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise ImbError(f"{path}: not a tree that imb tune wrote") from error
        measured = measured_cells(path, comments)
        if wrong:
            cell = wrong[0]
            raise ImbError(f"{path}: the tree has another algorithm than its header for {cell}")
        return choices, measured, self._switch(folder)

    # --- Proof ---

    def watch(self, folder: Path) -> Watch:
        if "ucp_tag_send_nbx" not in symbols(library_of(self.mpi)):
            return Watch(
                None, reason=f"{self.mpi.version} does not send through UCX, where messages could be counted"
            )
        try:
            library = compile_library(self.mpi, (), ["-DWATCH_SENDS"])
        except NoWatch as error:
            return Watch(None, reason=str(error))
        folder.mkdir(parents=True, exist_ok=True)
        # Messages in shared memory cannot be counted, so all are sent through UCX.
        environment = {
            "LD_PRELOAD": str(library),
            FOLDER: str(folder.absolute()),
            Mpich.transport_choice: "1",
            f"{_PREFIX}CH4_NETMOD": "ucx",
            **Mpich.report,
        }
        return Watch(
            Switch(environment),
            f"messages of each rank, counted by a preloaded library without shared memory ({Mpich.transport_choice}), and the"
            f" files that the library reports ({', '.join(Mpich.report)})",
        )

    def executed_algorithms(self, folder: Path) -> Executed:
        return executed_algorithms(folder, by_rank=True)

    def unread_file(self, switch: Switch, output: str) -> str | None:
        for variable, level in ((GENERIC, "MPIR"), (COMPOSITIONS, "MPID")):
            if (path := switch.environment.get(variable)) and f"{level}: {path}" not in output:
                return path
        return None


def _variable(collective: str, name: str) -> str:
    return f"{_PREFIX}{collective.upper()}_{name}"


def _leaves(tree: _Tree) -> Iterator[str]:
    for key, below in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            yield key
        else:
            yield from _leaves(below)


def _subtrees(tree: _Tree, name: str) -> Iterator[_Tree]:
    for key, below in tree.items():
        if key == name:
            yield below
        yield from _subtrees(below, name)


def _change(
    tree: _Tree,
    chosen_ranges: Mapping[tuple[str, int], Sequence[tuple[int, int, Algorithm]]],
    leaf: Callable[[str, Algorithm], _Tree],
) -> _Tree:
    """The tree with leaves for these ranges of message sizes. Other sizes reach the same leaves as before."""
    changed = dict(tree)
    for collective in dict.fromkeys(name for name, _ in chosen_ranges):
        key = f"collective={collective.lower()}"
        before = tree[key]["comm_type=intra"]
        sizes: _Tree = {}
        # A tree has no "=", so smaller sizes are decided first. Avoid "comm_size<": the library sometimes reads it as "<=".
        covered = 1
        for (name, ranks), runs in sorted(chosen_ranges.items()):
            if name == collective:
                if ranks - 1 > covered:
                    sizes[f"comm_size<={ranks - 1}"] = before
                lengths = _lengths(collective, ranks, runs, before, leaf)
                sizes[f"comm_size<={ranks}"] = _guard(collective, lengths, before)
                covered = ranks
        sizes["comm_size=any"] = before
        changed[key] = {**tree[key], "comm_type=intra": sizes}
    return changed


def _lengths(
    collective: str,
    ranks: int,
    runs: Sequence[tuple[int, int, Algorithm]],
    before: _Tree,
    leaf: Callable[[str, Algorithm], _Tree],
) -> _Tree:
    traits = _COLLECTIVES[collective]
    if not traits.length:
        return leaf(collective, runs[0][2])
    lengths: _Tree = {}
    for low, high, algorithm in runs:
        # The key exists if the range begins where the last one ends.
        lengths.setdefault(f"{traits.length}<={traits.compared_size(low, ranks) - 1}", before)
        lengths[f"{traits.length}<={traits.compared_size(high, ranks)}"] = leaf(collective, algorithm)
    lengths[f"{traits.length}=any"] = before
    return lengths


def _guard(collective: str, lengths: _Tree, before: _Tree) -> _Tree:
    """Exclude operations that an algorithm may not support, because a tree does not check that."""
    guarded = lengths
    for condition in reversed(_COLLECTIVES[collective].reduces):
        guarded = {_OPPOSITES[condition]: before, condition: guarded}
    if collective == "Alltoall":
        guarded = {"is_sendbuf_inplace=yes": before, "is_sendbuf_inplace=no": guarded}
    return guarded


def _text(tree: _Tree, comments: Sequence[str]) -> str:
    lines = [one_line(line).replace("*/", "* /") for line in comments]
    return "\n".join(["/*", *lines, "*/", json.dumps(tree, indent=1)]) + "\n"


def _decide(tree: _Tree, cell: Cell) -> str:
    """The leaf that the tree chooses for a cell, for a sum of numbers on one node."""
    traits = _COLLECTIVES[cell.collective]
    facts = {"comm_size": cell.ranks, traits.length: traits.compared_size(cell.bytes, cell.ranks)}
    truths = {
        "comm_type=intra",
        "comm_hierarchy=parent",
        "is_commutative=yes",
        "is_op_built_in=yes",
        "is_sendbuf_inplace=no",
    }
    node = tree[f"collective={cell.collective.lower()}"]
    while True:
        for key, below in node.items():
            if key.startswith("algorithm="):
                return str(key)
            limit = re.match(r"(\w+)(<=?)(\d+)$", key)
            if limit and limit[1] in facts:
                value, most = facts[limit[1]], int(limit[3])
                holds = value <= most if limit[2] == "<=" else value < most
            elif key == "comm_size=pow2":
                holds = not cell.ranks & (cell.ranks - 1)
            else:
                holds = key in truths or key.endswith("=any")
            if holds:
                node = below
                break
        else:
            raise KeyError(cell)
