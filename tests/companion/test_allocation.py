"""What schedulers give to a job, read in one place, and what follows from it for a launch."""

import os
import re
from pathlib import Path

import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.model.intent import Intent
from imb.model.mpis import Host
from imb.mpi.allocation import Allocation, offered_hosts
from imb.mpi.installations import Installation
from imb.mpi.launchers import launch_command
from imb.runner.session import is_in_job

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NUM_NODES": "3",
    "SLURM_JOB_NODELIST": "n[01-02],fat",
    "SLURM_NTASKS": "96",
    "SLURM_JOB_CPUS_PER_NODE": "32(x2),48",
}
PBS_LINES = "n1\nn1\nn2\nn2\nn3\nn3\n"
LSF = {"LSB_JOBID": "7", "LSB_DJOB_NUMPROC": "6"}
FLUX = {"FLUX_JOB_ID": "7", "FLUX_JOB_NNODES": "4", "FLUX_JOB_SIZE": "8"}
PE_LINES = "n1 8 all.q@n1 UNDEFINED\nn2 8 all.q@n2 UNDEFINED\n"


@pytest.mark.parametrize(
    ("variables", "file", "given"),
    [
        ({}, "", Allocation()),
        ({"SLURM_NTASKS": "96", "SLURM_NNODES": "3"}, "", Allocation()),  # settings for srun, no job
        (SLURM, "", Allocation("Slurm", 3, ("n01", "n02", "fat"), 96, 32)),
        ({"SLURM_JOB_ID": "7", "SLURM_NNODES": "2", "SLURM_CPUS_ON_NODE": "16"}, "", Allocation("Slurm", 2, (), None, 16)),
        ({"PBS_JOBID": "7", "PBS_NODEFILE": "FILE", "NCPUS": "32"}, PBS_LINES, Allocation("PBS", 3, ("n1", "n2", "n3"), 6, 32)),
        ({"PBS_JOBID": "7", "PBS_NUM_NODES": "2", "PBS_NUM_PPN": "4", "PBS_NP": "8"}, "", Allocation("PBS", 2, (), 8, 4)),
        ({"PBS_JOBID": "7", "PBS_NODEFILE": "/no/such/file"}, "", Allocation("PBS")),
        ({**LSF, "LSB_DJOB_HOSTFILE": "FILE"}, "a\na\na\nb\nb\nb\n", Allocation("LSF", 2, ("a", "b"), 6)),
        ({**LSF, "LSB_MCPU_HOSTS": "a 3 b 3"}, "", Allocation("LSF", 2, ("a", "b"), 6)),
        ({"LSB_JOBID": "7", "LSB_HOSTS": "a a b"}, "", Allocation("LSF", 2, ("a", "b"), 3)),
        ({"PE_HOSTFILE": "FILE", "NSLOTS": "16", "NHOSTS": "2"}, PE_LINES, Allocation("Grid Engine", 2, ("n1", "n2"), 16)),
        ({"SGE_JOB_SPOOL_DIR": "/spool"}, "", Allocation("Grid Engine")),
        ({"FLUX_JOB_ID": "f7", "FLUX_JOB_NNODES": "4", "FLUX_JOB_SIZE": "128"}, "", Allocation("Flux", 4, (), 128)),
    ],
)  # fmt: skip
def test_what_each_scheduler_gives(
    tmp_path: Path, variables: dict[str, str], file: str, given: Allocation
) -> None:
    (tmp_path / "hosts").write_text(file)
    found = {name: str(tmp_path / "hosts") if value == "FILE" else value for name, value in variables.items()}
    assert Allocation.of(found) == given


def test_what_a_flux_batch_job_has_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its script gets no variables of the size; the instance may run in a job of Slurm, of which it has a part."""
    flux = tmp_path / "flux"
    flux.write_text('#!/bin/sh\n[ "$1 $2 $5 $6" = "resource list -no {nnodes} {ncores}" ] && echo 4 128\n')
    flux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert Allocation.of({"FLUX_URI": str(tmp_path), **SLURM}) == Allocation("Flux", 4, (), None, 32)
    flux.unlink()
    assert Allocation.of({"FLUX_URI": "another"}) == Allocation("Flux")
    assert Allocation.of({"FLUX_URI": "another", **SLURM}).scheduler == "Slurm"


OPENMPI = Installation(
    flavor="openmpi", version="Open MPI 5.0.9", major=5, wrapper="mpicxx", launcher="mpiexec"
)


@pytest.mark.parametrize(
    ("ranks", "nodes", "crowded"),
    [(128, 4, False), (129, 4, True), (32, 0, False), (33, 0, True), (64, 1, True)],
)
def test_ranks_that_share_no_cores_of_an_allocation_are_bound(ranks: int, nodes: int, crowded: bool) -> None:
    command = launch_command(OPENMPI, Intent(ranks=ranks), ["P"], Host(32, nodes=nodes))
    assert ("--oversubscribe" in command.words) == ("none" in command.words) == crowded
    command = launch_command(OPENMPI, Intent(ranks=ranks, launcher="srun"), ["P"], Host(32, nodes=nodes))
    assert ("--overcommit" in command.words) == (crowded and nodes > 0)


def test_how_many_hosts_are_offered() -> None:
    assert (
        offered_hosts([], SLURM) == 3 and offered_hosts(["a", "b"], SLURM) == 2 and offered_hosts([], {}) == 1
    )
    assert offered_hosts([], {**LSF, "LSB_MCPU_HOSTS": "a 3 b 3 c 1 d 1"}) == 4
    assert offered_hosts([], FLUX) == 4
    assert offered_hosts([], {"PE_HOSTFILE": "/none", "NSLOTS": "16", "NHOSTS": "4"}) == 4


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        (["--ppn", "32"], 64),
        (["--ppn", "32", "--np", "48"], 48),
        (["--ppn", "32", "--hosts", "a,b,c"], 96),
        (["--hosts", "a,b,c"], 3),
        ([], 2),
    ],
)
def test_ppn_counts_on_every_host_of_the_allocation(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], ranks: int
) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    for name, value in {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_ON_NODE": "32"}.items():
        monkeypatch.setenv(name, value)
    said = imb("run", "PingPong", *options, *words, "--dry-run")
    assert said.code == 0 and f" -n {ranks} " in said.out, said


def test_variables_of_schedulers_are_read_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_in_job()
    monkeypatch.setenv("LSB_JOBID", "7")
    assert is_in_job()
    reads = re.compile(
        r"(?:environ|environment|variables)\w*(?:\[|\.get\()\s*[\"'](?:SLURM|PBS|LSB|PE_|NSLOTS|FLUX)"
    )
    sources = Path(__file__).parents[2] / "python" / "imb"
    assert {path.name for path in sources.rglob("*.py") if reads.search(path.read_text())} == {
        "allocation.py"
    }
