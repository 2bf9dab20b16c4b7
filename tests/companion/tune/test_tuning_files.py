"""Tuning files and real libraries: a file takes effect in the cells that it names and nowhere else; what a library ignores without a word.

Each fact that `imb.tune` relies on, and each trap that its files avoid, has a test here.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import lab
import msgspec
import pytest
from companion import cluster
from companion.cluster import Hosts
from imb.model.errors import ImbError
from imb.mpi.installations import Installation, mpi_of
from imb.tune.cells import DEFAULT, Algorithm, Cell, Choices, Switch
from imb.tune.mpich import COMPOSITIONS, GENERIC, PARAMETERS, MpichTuner
from imb.tune.openmpi import OpenMpiTuner
from imb.tune.tuner import Executed, FileProof, Tuner, proof, tuner_of
from imb.tune.watch_library import compile_library

pytestmark = pytest.mark.needs_mpi

OPEN_MPIS = ("openmpi", "deb-openmpi")
LENGTHS = "-iter 8 -time 0.3 -msglog 3:7"  # 0, 8 ... 128 bytes; each of four ranks is the root


def prove(
    tuner: Tuner,
    choices: Choices,
    measured: Iterable[Cell],
    switch: Switch,
    folder: Path,
    launch: Callable[[Switch, Sequence[Cell]], str],
) -> FileProof:
    """Proves that the files of `switch` act, by launches of its own, a few repetitions of each cell: one without files, one with them, one
    for each chosen algorithm of a collective. `launch` runs these cells with a switch and returns what ranks and launcher printed;
    `folder` is empty, and all hosts see it."""
    measured = sorted({*measured, *choices})
    watched = tuner.watch(folder / "without")
    assert watched.switch, watched.reason

    def executed(name: str, cells: Sequence[Cell], more: Switch) -> tuple[Executed, str]:
        watch = tuner.watch(folder / name).switch
        assert watch
        both = Switch({**more.environment, **watch.environment}, (*more.arguments, *watch.arguments))
        printed = launch(both, cells)
        return tuner.executed_algorithms(folder / name), printed

    without, _ = executed("without", measured, Switch({}))
    with_file, printed = executed("file", measured, switch)
    assert not tuner.unread_file(switch, printed)
    forced = {}
    for number, (collective, algorithm) in enumerate(
        sorted({(cell.collective, used) for cell, used in choices.items()})
    ):
        cells = [cell for cell, used in choices.items() if (cell.collective, used) == (collective, algorithm)]
        found, _ = executed(f"forced-{number}", sorted(cells), tuner.forcing_switch(collective, algorithm))
        forced[collective, algorithm] = found
    return proof(
        choices, measured, without=without, with_file=with_file, forced=forced, evidence=watched.evidence
    )


def mpi_with(key: str) -> lab.Mpi:
    found = lab.ALL.get(key)
    if found is None or not found.program().exists():
        lab.missing(f"programs for {key}")
    return found


def installation(mpi: lab.Mpi) -> Installation:
    return mpi_of(Path(mpi.wrapper))


def open_mpi(key: str, hosts: int = 1) -> tuple[lab.Mpi, OpenMpiTuner]:
    mpi = mpi_with(key)
    return mpi, OpenMpiTuner(installation(mpi), hosts)


class Watched:
    """Launches of one MPI that report what they execute, each in a folder of its own."""

    def __init__(self, mpi: lab.Mpi, tuner: Tuner, folder: Path) -> None:
        self.mpi, self.tuner, self.folder = mpi, tuner, folder
        self.launches = 0
        self.last: lab.Launch

    def variables(self, switches: Sequence[Switch]) -> list[str]:
        self.launches += 1
        watch = self.tuner.watch(self.folder / f"watch-{self.launches}")
        assert watch.switch, watch.reason
        named: dict[str, str] = {}
        for switch in (watch.switch, *switches):
            named |= switch.environment
        return ["env", *(f"{name}={value}" for name, value in named.items())]

    def __call__(self, ranks: int, words: str, *switches: Switch, code: int = 0) -> Executed:
        self.last = lab.run(self.mpi, ranks, f"{words} -npmin {ranks}", wrap=self.variables(switches))
        assert self.last.code == code, self.last.errors
        return self.tuner.executed_algorithms(self.folder / f"watch-{self.launches}")

    def in_place(self, collective: str, length: int) -> set[str]:
        """What the last launch executed in place, which is no cell."""
        found = set()
        for path in (self.folder / f"watch-{self.launches}").iterdir():
            found |= set(re.findall(rf"(?m)^{collective} \d+ {length} 1 (\S+)", path.read_text()))
        return found


def chosen(tuner: Tuner, collective: str, name: str) -> Algorithm:
    return next(one for one in tuner.algorithms(collective) if one.name == name)


def named(executed: Executed, collective: str, ranks: int, length: int) -> str:
    return " and ".join(sorted(executed[Cell(collective, ranks, length)]))


def rules(path: Path, text: str) -> Switch:
    """A rule file of one's own, its lines separated by `|`."""
    path.write_text(text.replace("|", "\n") + "\n")
    return Switch(
        {
            "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
            "OMPI_MCA_coll_tuned_dynamic_rules_filename": str(path),
        }
    )


# --- Open MPI --------------------------------------------------------------------------------------------------------

EVERYTHING = "Allreduce Bcast Allgather Alltoall Reduce_scatter Reduce_scatter_block Reduce Barrier Scan Gather Scatter"
CHANGED = {
    Cell("Allreduce", 4, 64): "ring",
    Cell("Allgather", 4, 16): "neighbor",
    Cell("Alltoall", 4, 32): "pairwise",
    Cell("Reduce_scatter", 4, 32): "ring",
    Cell("Reduce_scatter_block", 4, 32): "butterfly",
    Cell("Barrier", 4, 0): "tree",
    Cell("Bcast", 4, 64): "knomial",
    Cell("Reduce", 4, 64): "linear",
}


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_rules_act_in_their_cells_and_nowhere_else(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    assert set(tuner.collectives()) == {cell.collective for cell in CHANGED}
    words = f"{EVERYTHING} {LENGTHS}"
    without = watched(4, words)
    measured = [cell for cell in without if tuner.rule_problem(cell) is None and cell.ranks == 4]
    choices = {cell: chosen(tuner, cell.collective, name) for cell, name in CHANGED.items()}
    switch = tuner.write(choices, measured, tmp_path / "files", ["by a test"])
    with_file = watched(4, words, switch)
    forced = {}
    for cell, algorithm in choices.items():
        executed = watched(
            4, f"{cell.collective} {LENGTHS}", tuner.forcing_switch(cell.collective, algorithm)
        )
        assert tuner.replacement(cell, algorithm, executed) is None
        forced[cell.collective, algorithm] = executed
    judged = proof(choices, [*without], without=without, with_file=with_file, forced=forced)
    assert not judged.wrong and not judged.missing, judged
    assert not judged.alike
    assert {cell for cell in without if without[cell] != with_file[cell]} == set(choices)
    assert tuner.read(tmp_path / "files") == (choices, sorted({*measured, *choices}), switch)
    # A launch that ignores the file is no proof.
    assert set(proof(choices, [*without], without=without, with_file=without, forced=forced).wrong) == set(
        choices
    )


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_neighbors_of_a_cell_keep_the_default(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    (tmp_path / "lengths").write_text("65532\n65536\n65540\n")
    words = f"Allreduce -iter 4 -msglen {tmp_path / 'lengths'}"
    ring = chosen(tuner, "Allreduce", "recursive_doubling")
    switch = tuner.write({Cell("Allreduce", 4, 65536): ring}, [], tmp_path / "files", [])
    for ranks in (3, 4, 5):
        without, with_file = watched(ranks, words), watched(ranks, words, switch)
        changed = {cell for cell in without if without[cell] != with_file[cell]}
        assert changed == ({Cell("Allreduce", 4, 65536)} if ranks == 4 else set())


RING_AT_64 = "1|2|3|0 1|0 0 0 0|4 3|0 0 0 0|64 4 0 0|65 0 0 0|5 1|0 0 0 0"
IGNORED = {
    "a first length that is not 0": RING_AT_64.replace("4 3|0 0 0 0", "4 3|1 0 0 0"),
    "truncated": RING_AT_64.removesuffix("|5 1|0 0 0 0"),
    "no number": RING_AT_64.replace("64 4", "64 ring"),
    "of one more collective than there are": RING_AT_64.replace("1|2", "99|2", 1),
}


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_ignores_bad_files_without_a_word(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    words, cell = f"Allreduce {LENGTHS}", ("Allreduce", 4, 64)
    assert named(watched(4, words, rules(tmp_path / "good", RING_AT_64)), *cell) == "allreduce_intra_ring"
    missing = rules(tmp_path / "missing", "")
    (tmp_path / "missing").unlink()
    for switch in (missing, *(rules(tmp_path / "bad", text) for text in IGNORED.values())):
        assert named(watched(4, words, switch), *cell) == "allreduce_intra_recursivedoubling"
        assert "rule" not in watched.last.errors


def test_open_mpi_line_of_version_2(tmp_path: Path) -> None:
    """The line has to be the first one for 5.0, and makes 4.1 ignore the file: none is written."""
    first = f"rule-file-version-2|{RING_AT_64}"
    for key, text, wanted in (
        ("openmpi", first, "allreduce_intra_ring"),
        ("openmpi", f"# comment|{first}", "allreduce_intra_recursivedoubling"),
        ("deb-openmpi", first, "allreduce_intra_recursivedoubling"),
    ):
        mpi, tuner = open_mpi(key)
        watched = Watched(mpi, tuner, tmp_path / key / str(len(text)))
        executed = watched(4, f"Allreduce {LENGTHS}", rules(tmp_path / "rules", text))
        assert named(executed, "Allreduce", 4, 64) == wanted
        tuner.write({Cell("Allreduce", 4, 64): chosen(tuner, "Allreduce", "ring")}, [], tmp_path, [])
        assert "version" not in (tmp_path / "openmpi-tuned.conf").read_text()


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_applies_the_first_size_to_smaller_communicators(key: str, tmp_path: Path) -> None:
    """So files begin with size 0."""
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    words = f"Allreduce {LENGTHS}"
    without = watched(2, words)
    assert named(without, "Allreduce", 2, 64) == "allreduce_intra_recursivedoubling"
    for_four = watched(2, words, rules(tmp_path / "rules", "1|2|1|4 3|0 0 0 0|64 4 0 0|65 0 0 0"))
    assert named(for_four, "Allreduce", 2, 64) == "allreduce_intra_ring"
    ring = chosen(tuner, "Allreduce", "ring")
    own = tuner.write({Cell("Allreduce", 4, 64): ring}, [], tmp_path / "files", [])
    assert watched(2, words, own) == without


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_fails_at_the_call_for_an_unknown_number(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    switch = rules(tmp_path / "rules", RING_AT_64.replace("64 4", "64 77"))
    done = lab.run(
        mpi,
        4,
        f"Allreduce -npmin 4 {LENGTHS}",
        wrap=["env", *(f"{k}={v}" for k, v in switch.environment.items())],
    )
    assert done.code
    assert tuner.find_complaint(done.errors)
    with pytest.raises(ImbError, match="no algorithm 77"):
        (tmp_path / "openmpi-tuned.conf").write_text(
            "# measured Allreduce 4: 64\n" + (tmp_path / "rules").read_text()
        )
        tuner.read(tmp_path)


def ignored_arguments(
    mpi: lab.Mpi, folder: Path, what: str, variables: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Runs tests/ignored_arguments.cpp with 4 ranks."""
    program = folder / "ignored_arguments"
    if not program.exists():
        source = lab.TOP / "tests" / "ignored_arguments.cpp"
        subprocess.run([mpi.wrapper, "-DOMPI_SKIP_MPICXX", source, "-o", program], check=True)
    words = [*mpi.launcher, *mpi.oversubscribe, "-n", "4", *(variables or ["env"]), str(program), what]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


ALL_RIGHT = [f"rank {rank}: 0 wrong" for rank in range(4)]


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_in_place_calls_take_the_rule_of_0_bytes(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    cell = Cell("Allgather", 4, 1024)
    own = tuner.write({cell: chosen(tuner, "Allgather", "neighbor")}, [], tmp_path / "files", [])
    of_0_bytes = rules(tmp_path / "rules", "1|0|1|0 2|0 5 0 0|1 0 0 0")  # limits() has no such cell
    seen = []
    for switches in ([], [own], [of_0_bytes]):
        done = ignored_arguments(mpi, tmp_path, "allgather", watched.variables(switches))
        assert sorted(done.stdout.splitlines()) == ALL_RIGHT, done.stderr
        seen.append(watched.in_place("Allgather", 1024))
    assert seen[0] == seen[1]
    assert seen[2] == {"allgather_intra_neighborexchange"} != seen[0]
    assert tuner.rule_problem(Cell("Allgather", 4, 0))


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_looks_scan_up_by_the_size_of_its_type(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    of_a_float_on_four_ranks = "1|14|1|0 3|0 0 0 0|16 2 0 0|17 0 0 0"
    executed = watched(4, f"Scan {LENGTHS}", rules(tmp_path / "rules", of_a_float_on_four_ranks))
    assert {named(executed, "Scan", 4, length) for length in (8, 16, 128)} == {"scan_intra_recursivedoubling"}
    assert tuner.rule_problem(Cell("Scan", 4, 16))


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_rules_by_length_break_rooted_collectives(key: str, tmp_path: Path) -> None:
    """Ranks look up different rules, since arguments that a rank need not pass are looked at: no file has such rules."""
    mpi, tuner = open_mpi(key)
    for what, number, algorithm in (("gather", 9, 2), ("scatter", 15, 1)):
        text = f"1|{number}|3|0 1|0 0 0 0|4 3|0 0 0 0|4096 {algorithm} 0 0|4097 0 0 0|5 1|0 0 0 0"
        variables = ["env", *(f"{k}={v}" for k, v in rules(tmp_path / "rules", text).environment.items())]
        assert sorted(ignored_arguments(mpi, tmp_path, what).stdout.splitlines()) == ALL_RIGHT
        done = ignored_arguments(mpi, tmp_path, what, variables)
        assert sorted(done.stdout.splitlines()) != ALL_RIGHT
        assert bool(done.returncode) == (what == "gather")
        assert tuner.rule_problem(Cell(what.capitalize(), 4, 1024))
        assert what.capitalize() not in tuner.collectives()


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_algorithms_that_use_other_rules(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    # Of Bcast, Gather and Reduce, whatever the length: others than the library's own choice.
    others = rules(tmp_path / "others", "3|7|1|0 1|0 7 0 0|9|1|0 1|0 1 0 0|11|1|0 1|0 1 0 0")
    names = ("Allgather", "Allreduce", "Reduce_scatter", "Reduce_scatter_block")
    seen = set()
    for number in range(1, 8):  # an algorithm of each at once
        of_these = [(one, used) for one in names for used in tuner.algorithms(one) if used.number == number]
        serving = [
            (one, used)
            for one, used in of_these
            if tuner.exclusion_reason(Cell(one, 4, 1 << 22), used) is None
        ]
        words = f"{' '.join(one for one, _ in serving)} -iter 8 -msglog 6:6"
        forced = [tuner.forcing_switch(*one) for one in serving]
        executed, with_others = watched(4, words, *forced), watched(4, words, *forced, others)
        for collective, used in serving:
            cell = Cell(collective, 4, 64)
            is_other = executed[cell] != with_others[cell]
            assert is_other == bool(tuner.related_collectives(collective, used)), (collective, used)
            seen |= {collective} if is_other else set()
    assert seen == set(names)
    # And a rule for one of these is seen in the other's cell, so that a proof fails.
    nonoverlapping = tuner.forcing_switch("Allreduce", chosen(tuner, "Allreduce", "nonoverlapping"))
    before = watched(4, f"Allreduce {LENGTHS}", nonoverlapping)
    after = watched(
        4,
        f"Allreduce {LENGTHS}",
        nonoverlapping,
        rules(tmp_path / "rules", RING_AT_64.replace("1|2", "1|7").replace("64 4", "64 7")),
    )
    assert {cell.bytes for cell in before if before[cell] != after[cell]} == {64}


@pytest.mark.parametrize("key", OPEN_MPIS)
def test_open_mpi_silent_replacements_are_seen(key: str, tmp_path: Path) -> None:
    mpi, tuner = open_mpi(key)
    watched = Watched(mpi, tuner, tmp_path)
    for ranks, collective, name, length, seen in (
        (3, "Allgather", "recursive_doubling", 64, "bruck"),
        (3, "Allgather", "neighbor", 64, "ring"),
        (4, "Allreduce", "ring", 4, "recursivedoubling"),
    ):
        algorithm = chosen(tuner, collective, name)
        executed = watched(
            ranks, f"{collective} -iter 2 -msglog 2:6", tuner.forcing_switch(collective, algorithm)
        )
        said = tuner.replacement(Cell(collective, ranks, length), algorithm, executed)
        assert said
        assert said.endswith(seen)


def test_open_mpi_variables_are_there_and_can_be_written() -> None:
    for key in OPEN_MPIS:
        _, tuner = open_mpi(key)
        for collective in tuner.collectives():
            for algorithm in tuner.algorithms(collective):
                assert tuner.variables(collective, algorithm), (key, collective, algorithm)
            assert tuner.variables(collective, DEFAULT) == {}


def test_a_library_without_a_compiler_is_not_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi, _ = open_mpi("openmpi")
    alone = OpenMpiTuner(msgspec.structs.replace(installation(mpi), wrapper="", launcher=mpi.launcher[0]))
    monkeypatch.setenv("PATH", str(tmp_path))
    watch = alone.watch(tmp_path / "watch")
    assert watch.switch is None
    assert "no C compiler" in watch.reason


# --- Two hosts -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with cluster.hosts(tmp_path_factory.mktemp("hosts")) as found:
        yield found


def test_han_decides_all_but_the_changed_cells(two: Hosts, tmp_path: Path) -> None:
    mpi, tuner = open_mpi("openmpi", hosts=2)
    count = 0

    def watched(words: str, *switches: Switch) -> Executed:
        nonlocal count
        count += 1
        folder = tmp_path / f"watch-{count}"
        watch = tuner.watch(folder)
        assert watch.switch
        variables = {**cluster.ACROSS["openmpi"], cluster.DEVICE["openmpi"]: "eth0"}
        variables["OMPI_MCA_mpi_yield_when_idle"] = "1"  # hosts share the cores
        for switch in (watch.switch, *switches):
            variables |= switch.environment
        line = [*mpi.launcher, *mpi.oversubscribe, "--host", "h1:2,h2:2", "--bind-to", "none", "-n", "4"]
        line += ["env", *(f"{name}={value}" for name, value in variables.items())]
        line += [str(mpi.program()), *words.split(), "-npmin", "4"]
        done = subprocess.run(
            two.on("h1", line), env=two.environment(), capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return tuner.executed_algorithms(folder)

    words = f"Allreduce Bcast Allgather Reduce Alltoall Barrier {LENGTHS}"
    without = watched(words)
    assert all(what.startswith("han_") for what in without[Cell("Allreduce", 4, 64)])
    names = {
        "Allreduce": "ring",
        "Bcast": "knomial",
        "Allgather": "neighbor",
        "Reduce": "linear",
        "Alltoall": "pairwise",
    }
    choices = {Cell(one, 4, 32): chosen(tuner, one, name) for one, name in names.items()}
    choices[Cell("Barrier", 4, 0)] = chosen(tuner, "Barrier", "tree")
    measured = [Cell(one, 4, length) for one in names for length in (8, 16, 32, 64, 128)]
    switch = tuner.write(choices, measured, tmp_path / "files", ["by a test"])
    with_file = watched(words, switch)
    forced: dict[tuple[str, Algorithm], Executed] = {}
    for collectives in (("Allreduce", "Bcast", "Alltoall"), ("Allgather", "Reduce", "Barrier")):
        of_these = [
            (cell.collective, used) for cell, used in choices.items() if cell.collective in collectives
        ]
        together = [tuner.forcing_switch(*one) for one in of_these]
        forced |= dict.fromkeys(of_these, watched(f"{' '.join(collectives)} {LENGTHS}", *together))
    judged = proof(choices, measured, without=without, with_file=with_file, forced=forced)
    assert not judged.wrong and not judged.missing, judged
    # Without HAN's file the rules have no effect on what HAN serves: they reach its parts alone.
    tuned_alone = {name: value for name, value in switch.environment.items() if "coll_han" not in name}
    alone = watched(words, Switch(tuned_alone))
    assert all(what.startswith("han_") for what in alone[Cell("Allreduce", 4, 32)])
    assert alone[Cell("Alltoall", 4, 32)] == with_file[Cell("Alltoall", 4, 32)]
    assert tuner.read(tmp_path / "files")[0] == choices


# --- MPICH -----------------------------------------------------------------------------------------------------------

MPICH_CHANGED = {
    Cell("Allreduce", 4, 64): "ring",
    Cell("Allgather", 4, 16): "ring",
    Cell("Alltoall", 4, 32): "brucks",
    Cell("Reduce_scatter", 4, 32): "pairwise",
    Cell("Reduce_scatter_block", 4, 32): "pairwise",
    Cell("Barrier", 4, 0): "recexch",
    Cell("Bcast", 4, 64): "scatter_ring_allgather",
    Cell("Reduce", 4, 64): "reduce_scatter_gather",
}
MPICH_COLLECTIVES = "Allreduce Bcast Allgather Alltoall Reduce_scatter Reduce_scatter_block Reduce Barrier"


def mpich() -> tuple[lab.Mpi, MpichTuner]:
    mpi = mpi_with("mpich")
    return mpi, MpichTuner(installation(mpi))


def test_mpich_trees_act_in_their_cells_and_nowhere_else(tmp_path: Path) -> None:
    mpi, tuner = mpich()
    watched = Watched(mpi, tuner, tmp_path)
    words = f"{MPICH_COLLECTIVES} {LENGTHS}"
    without = watched(4, words)
    assert watched(4, words) == without  # messages are the same in each launch
    measured = [cell for cell in without if tuner.rule_problem(cell) is None and cell.ranks == 4]
    choices = {cell: chosen(tuner, cell.collective, name) for cell, name in MPICH_CHANGED.items()}
    switch = tuner.write(choices, measured, tmp_path / "files", ["by a test */ x"])
    with_file = watched(4, words, switch)
    assert tuner.unread_file(switch, watched.last.text + watched.last.errors) is None
    assert tuner.unread_file(Switch({GENERIC: "/other"}), watched.last.text + watched.last.errors) == "/other"

    def launch(both: Switch, cells: Sequence[Cell]) -> str:
        words = f"{' '.join(sorted({cell.collective for cell in cells}))} {LENGTHS} -npmin 4"
        variables = (f"{name}={value}" for name, value in both.environment.items())
        done = lab.run(mpi, 4, words, wrap=["env", *variables])
        return done.text + done.errors

    judged = prove(tuner, choices, measured, switch, tmp_path / "proof", launch)
    assert not judged.wrong and not judged.missing, judged
    assert "messages" in judged.evidence
    nothing = tuner.write({}, measured, tmp_path / "nothing", [])
    assert set(prove(tuner, choices, measured, nothing, tmp_path / "no-proof", launch).wrong) == set(choices)
    assert {cell for cell in without if without[cell] != with_file[cell]} == set(choices)
    assert tuner.read(tmp_path / "files") == (choices, sorted({*measured, *choices}), switch)
    # Other communicator sizes.
    for ranks in (2, 3):
        assert watched(ranks, words) == watched(ranks, words, switch)
    # And as users have it, with shared memory.
    done = lab.run(
        mpi,
        4,
        f"{words} -npmin 4 -check on",
        wrap=["env", *(f"{k}={v}" for k, v in switch.environment.items())],
    )
    assert done.code == 0, done.errors
    assert "defects" in done.text
    rows = [row for table in lab.tables(done.text) for row in table.rows]
    assert rows
    assert all(float(row[-1]) == 0 for row in rows)


def test_mpich_parameters_of_leaves_are_those_of_the_variables(tmp_path: Path) -> None:
    """A leaf without its parameters ends the launch; with them it executes what the variables do."""
    mpi, tuner = mpich()
    watched = Watched(mpi, tuner, tmp_path)
    for collective in ("Allreduce", "Bcast", "Allgather", "Alltoall", "Barrier"):
        length = 0 if collective == "Barrier" else 64
        cell = Cell(collective, 4, length)
        for algorithm in tuner.algorithms(collective):
            if (collective, algorithm.name) in PARAMETERS and tuner.exclusion_reason(cell, algorithm) is None:
                words = f"{collective} -iter 8 -msglog 5:6"
                forced = watched(4, words, tuner.forcing_switch(collective, algorithm))
                switch = tuner.write({cell: algorithm}, [], tmp_path / "files", [])
                assert watched(4, words, switch)[cell] == forced[cell], algorithm


def test_mpich_other_operations_keep_the_tree_of_the_library(tmp_path: Path) -> None:
    """A sum of few elements, for which the chosen algorithm does not serve, ends the launch without the guard."""
    mpi, tuner = mpich()
    cell = Cell("Allreduce", 4, 64)
    switch = tuner.write({cell: chosen(tuner, "Allreduce", "reduce_scatter_allgather")}, [], tmp_path, [])
    watched = Watched(mpi, tuner, tmp_path)
    words = "Allreduce -iter 4 -msglog 6:6 -data_type"
    (own,) = {watched(3, f"{words} float")[Cell("Allreduce", 3, 64)]}
    assert watched(3, f"{words} float", switch)[Cell("Allreduce", 3, 64)] == own
    text = (tmp_path / "mpich-algorithms.json").read_text()
    assert '"count<pow2"' in text
    assert '"is_commutative=no"' in text
    assert tuner.exclusion_reason(
        Cell("Allreduce", 4, 8), chosen(tuner, "Allreduce", "reduce_scatter_allgather")
    )
    assert "smp" not in {one.name for one in tuner.algorithms("Allreduce")}  # wrong data by way of a tree


def test_mpich_both_files_on_one_node(tmp_path: Path) -> None:
    """Collectives that have algorithms in shared memory are passed to the tree by a second file."""
    mpi, tuner = mpich()
    with_two = tuner.write({Cell("Allreduce", 4, 64): chosen(tuner, "Allreduce", "ring")}, [], tmp_path, [])
    assert set(with_two.environment) == {GENERIC, COMPOSITIONS}
    assert (
        '"composition=MPIDI_Allreduce_intra_composition_beta"'
        in (tmp_path / "mpich-compositions.json").read_text()
    )
    with_one = tuner.write({Cell("Allgather", 4, 64): chosen(tuner, "Allgather", "ring")}, [], tmp_path, [])
    assert set(with_one.environment) == {GENERIC}
    assert not (tmp_path / "mpich-compositions.json").exists()
    done = lab.run(mpi, 2, "Allgather -msglog 3:3 -iter 1", wrap=["env", f"{GENERIC}={tmp_path / 'missing'}"])
    assert done.code  # a file that is not there ends the launch


def test_mpich_numbers_of_variables_are_those_of_mpi_t() -> None:
    _, tuner = mpich()
    assert chosen(tuner, "Allreduce", "ring").number == 8
    assert tuner.variables("Allreduce", chosen(tuner, "Allreduce", "ring")) == {
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "8",
        "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE": "0",
    }


# --- Any -------------------------------------------------------------------------------------------------------------


def test_watches_are_compiled_once(tmp_path: Path) -> None:
    for key in ("openmpi", "mpich"):
        tuner = tuner_of(installation(mpi_with(key)))
        first = tuner.watch(tmp_path / "one").switch
        second = tuner.watch(tmp_path / "two").switch
        assert first
        assert second
        assert first.environment["LD_PRELOAD"] == second.environment["LD_PRELOAD"]
    assert compile_library(installation(mpi_with("mpich")), (), ["-DWATCH_SENDS"]).exists()


def test_old_mpich_says_what_it_lacks() -> None:
    mpi = lab.ALL.get("deb-mpich") or lab.missing("MPICH 4.0 (Debian: libmpich-dev)")
    with pytest.raises(ImbError, match=r"MPICH 4\.0\.2: .*"):
        tuner_of(installation(mpi)).collectives()
