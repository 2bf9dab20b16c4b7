"""-in_place: the calls that get MPI_IN_PLACE, as an interposed library counts them, on the root and on another rank."""

import re

import lab
import pytest
from collectives import COLLECTIVES

EVERYWHERE, ROOT_SENDS, ROOT_RECEIVES = (
    {name for name, row in COLLECTIVES.items() if row.in_place == where}
    for where in ("everywhere", "root sends", "root receives")
)
NEVER = {"Reduce_scatter"}
KINDS = EVERYWHERE | ROOT_SENDS | ROOT_RECEIVES | NEVER


def kind_of(call: str) -> str:
    """The blocking call of a nonblocking or persistent one."""
    name = call.removesuffix("_init")
    return name if name in KINDS else name.removeprefix("I").capitalize()


def call_of(benchmark: str) -> str:
    name = benchmark.removesuffix("_pure")
    return name.removesuffix("_persist") + "_init" if name.endswith("_persist") else name


@pytest.mark.parametrize(
    ("component", "switch"), [("MPI1", "off"), ("MPI1", "on"), ("NBC", "on"), ("MPI4", "on")]
)
def test_every_call_under_test_is_in_place(mpi, liars, component, switch):
    names = [name for name in lab.right_names(mpi, component) if kind_of(call_of(name)) in KINDS]
    words = f"-in_place {switch} -check -iter 3 -msgsize 64 -time 60 {lab.SHORT_LOAD} {' '.join(names)}"
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'counting_in_place.cpp')}"]
    done = lab.run(mpi, 2, words, component=component, wrap=wrap)
    assert done.code == 0, done.errors
    counted = re.findall(r"in place: (\d) (\w+) (\d+) (\d+) (\d+)", done.errors)
    assert {call for _, call, *_ in counted} == {call_of(name) for name in names}
    for rank, call, *numbers in counted:
        every, no_send, no_receive = map(int, numbers)
        kind, root, on = kind_of(call), rank == "0", switch == "on"
        sends = on and (kind in EVERYWHERE or (kind in ROOT_SENDS and root))
        assert (no_send, no_receive) == (
            every if sends else 0,
            every if on and kind in ROOT_RECEIVES and root else 0,
        ), (rank, call)
