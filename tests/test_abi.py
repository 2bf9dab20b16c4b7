"""bench/abi.py: what it reads of callgrind's files, and its errors. Its counts are in docs/evidence/abi.md."""

import subprocess
import sys

import lab
import pytest

sys.path.insert(0, str(lab.TOP / "bench"))
import abi
from abi import Cost

# Of Callgrind 3.19: 1000 and more parts, of which these are left; callers above MPI_Send shortened.
RECORDED = """# callgrind format
version: 1
part: 1

desc: Trigger: --dump-after=PMPI_Send

positions: line
events: Ir
summary: 886


ob=(6) /usr/libexec/openimb/mpich/IMB-MPI1
fl=(149) ???
fn=(43548) 0x00000000000823c0
cob=(15) /usr/lib/libmpi.so.12
cfi=(269) ???
cfn=(43566) PMPI_Send
calls=1 0
0 886

fn=(43568) 0x000000000015a6d0
0 107
+3 627

fn=(43566)
0 142
cfn=(43568)
calls=1 0
0 734
0 10

totals: 886

part: 2

desc: Trigger: --dump-after=PMPI_Send

ob=(15)
fl=(269)
fn=(43568)
0 105
* 627

fn=(43566)
0 142
cfn=(43568)
calls=1 0
-2 732
0 10

totals: 884

part: 3

desc: Trigger: Program termination

fn=(43566)
0 3

totals: 3
"""


def test_costs_of_each_call():
    """What the function calls is in the total alone; the part of the end of the program is of no call."""
    assert abi.costs(RECORDED.splitlines(), "PMPI_Send") == [Cost(886, 152), Cost(884, 152)]


def test_the_count_is_that_of_a_call_that_does_not_wait():
    polled, first = Cost(1066, 100), Cost(90000, 100)
    found = abi.counted([first, *[polled] * 60, *[Cost(889, 100)] * 37, *[Cost(886, 100)] * 2])
    assert (found.cost, found.share) == (Cost(889, 100), 0.37)
    with pytest.raises(abi.Failed, match="less load"):
        abi.counted([Cost(number, 1) for number in range(40)])


def test_without_an_mpi_that_has_both_interfaces(tmp_path):
    done = subprocess.run(
        [sys.executable, lab.TOP / "bench/abi.py"],
        env={"OPENIMB_ENV": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    message = "bench/abi.py: no MPI with libmpi.so.12 and libmpi_abi.so.1: make build MPI=mpich\n"
    assert (done.returncode, done.stderr) == (2, message)
