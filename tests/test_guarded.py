"""All components in one executable; and nothing but MPI calls and a Memory touches message memory.

bin/all/IMB-* and bin/guarded/IMB-* are each one executable with all catalogs (tests/guarded). The guarded one links
another kind of memory: pages without access rights, opened by an MPI call when it begins and closed when it returns,
and in the same way by Memory::write and Memory::read. Whatever else reads or writes a message dies of SIGSEGV.

What a run without a fault proves, of the paths that it takes: no code of the suite looks at message memory between
MPI calls, also while messages, collectives and one-sided transfers are in flight. Not covered:

 - memory between start and wait of nonblocking and split calls on files, which stays open: a thread of the C library
   or the kernel works on it;
 - bytes of `allocate` and `shared` windows that share a page with others;
 - reduction operations of our own, which MPI calls inside its calls (16-bit floats).

Single-copy transports are off: there the other rank's kernel reads memory between this rank's calls.
"""

import dataclasses
import re
from pathlib import Path

import lab
import pytest

NAMES = {component: lab.names(component) for component in lab.COMPONENTS}
ONE = {
    "MPI1": "Sendrecv",
    "EXT": "Bidir_Put",
    "RMA": "Bidir_put",
    "NBC": "Iallreduce",
    "IO": "P_Write_Priv",
    "MPI4": "Allreduce_persist",
    "P2P": "Birandom",
    "MT": "SendRecvMT",
    "FABRIC": "Pair_Bidirectional",
}
# A message within a page; and one over many, which is sent when the receiver is ready.
LENGTHS = "-msgsize 72,300000"
QUIET = "-set TARGET_CPU_SECS=0.0005"


def linked(mpi: lab.Mpi, kind: str) -> lab.Mpi:
    """`mpi` with the programs of that kind."""
    found = dataclasses.replace(
        mpi, programs=f"bin/{kind}", env={**mpi.env, **lab.COPIES_TWICE.get(mpi.flavor, {})}
    )
    if not found.program().exists():
        lab.missing(f"{found.program()}: build with TESTS=programs")
    return found


def shape(done: lab.Launch) -> list[tuple]:
    """All that two runs have in common."""
    keys = ("record", "benchmark", "mode", "processes", "bytes", "repetitions", "defects")
    return [tuple(record.get(key) for key in keys) for record in done.records]


@pytest.mark.parametrize("component", NAMES)
def test_one_executable_has_all_components(mpi, component, tmp_path):
    """Listed, and run, as by the executable that has one."""
    one = linked(mpi, "all")
    assert (
        lab.run(one, 1, "-list", component=component).text
        == lab.run(mpi, 1, "-list", component=component).text
    )
    words = f"-iter 2 -msgsize 72 -check {QUIET if component == 'IO' else ''} {ONE[component]}"
    shapes = []
    for which in (one, mpi):
        folder = tmp_path / which.programs.replace("/", "-")
        folder.mkdir()
        done = lab.run(which, 2, words, component=component, records=folder, folder=folder)
        assert done.code == 0, done.text + done.errors
        shapes.append(shape(done))
    assert shapes[0] == shapes[1] and len(shapes[0]) >= 3


def test_no_type_of_the_suite_has_two_definitions():
    """All catalogs in one program: what two headers define under one name would be one of the two by chance."""
    found: dict[str, set[str]] = {}
    for path in sorted((lab.TOP / "src").rglob("*.h")):
        for kind, name in re.findall(
            r"(?m)^(?:template <.*>\n)?(struct|class|enum class) (\w+)[^;]*?\{", path.read_text()
        ):
            found.setdefault(f"{kind} {name}", set()).add(str(path.relative_to(lab.TOP)))
    assert len(found) > 100
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def guarded_run(mpi: lab.Mpi, component: str, words: str, folder: Path) -> lab.Launch:
    return lab.run(linked(mpi, "guarded"), 2, words, component=component, records=folder, folder=folder)


@pytest.mark.parametrize("component", NAMES)
def test_nothing_else_touches_message_memory(mpi, component, tmp_path):
    names = lab.right_names(mpi, component, on_two=True)
    words = f"{LENGTHS} -check -time 60 -warm_up off -iter 2,1,2 {lab.SHORT_LOAD} {' '.join(names)}"
    words += f" {QUIET}" if component == "IO" else f" {lab.SHORT_WINDOW.get(component, '')}"
    done = guarded_run(mpi, component, words, tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    measured = done.pairs if component == "FABRIC" else done.rows
    assert {row["benchmark"] for row in measured} == set(names)
    assert {row["defects"] for row in measured} == {0}


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("MPI1", "-off_cache 0.5,64 -msgsize 20000"),
        ("NBC", "-progress 3 -sync on -show_tail yes -msgsize 20000"),
        ("RMA", "-window allocate -msgsize 72,20000"),
        ("EXT", "-window shared -msgsize 72,20000"),
        ("RMA", "-window dynamic -msgsize 72,20000"),
    ],
)
def test_nothing_else_touches_message_memory_in_other_modes(mpi, component, words, tmp_path):
    few = f"-warm_up off -iter 2,1,2 -check -time 60 {lab.SHORT_LOAD} {lab.SHORT_WINDOW.get(component, '')}"
    words = f"{words} {few} {' '.join(lab.right_names(mpi, component, on_two=True))}"
    done = guarded_run(mpi, component, words, tmp_path)
    assert done.code == 0, done.text[-3000:] + done.errors[-3000:]
    assert {row["defects"] for row in done.rows} == {0}


FAULT = "guard: message memory touched outside of MPI calls and of its Memory"


def test_a_benchmark_that_looks_at_its_message_is_caught(mpi, tmp_path):
    words = "-iter 2 -msgsize 72"
    for kind, names, caught in (
        ("all", "Peeks PeeksInFlight", False),
        ("guarded", "LooksAway", False),
        ("guarded", "Peeks", True),
        ("guarded", "PeeksInFlight", True),
    ):
        which = linked(mpi, kind)
        done = lab.run(which, 2, f"{words} {names}", component="SEEDED", folder=tmp_path)
        assert (done.code != 0) == caught, (kind, names, done.text, done.errors)
        assert (FAULT in done.errors) == caught
