"""The resources that a scheduler allocated to the job of this process. Only this module reads the variables of schedulers.

Sources: the manual pages of sbatch (Slurm), qsub and pbs_environment (PBS, OpenPBS, Torque), sge_pe and qsub (Grid Engine),
flux-environment (Flux), the environment variable reference of IBM Spectrum LSF.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from imb.model.errors import ImbError
from imb.model.hostlist import expand_hosts
from imb.model.mpis import LAUNCHER_CHOICES
from imb.model.schedulers import JOB_VARIABLES, SCHEDULERS
from imb.mpi.installations import output_of


class Allocation(NamedTuple):
    """An allocation. `scheduler`: its name, empty if there is none; `nodes`: 0 if unknown; `hosts`: the known names; `tasks`: requested
    ranks, or None if unknown; `cpus`: CPUs of the smallest node, or None if unknown."""

    scheduler: str = ""
    nodes: int = 0
    hosts: tuple[str, ...] = ()
    tasks: int | None = None
    cpus: int | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> Allocation:
        """The allocation according to `environment`; None stands for the variables of this process."""
        variables = os.environ if environment is None else environment
        allocations = [read(variables) for mark, read in _READERS.items() if mark in variables]
        return next((allocation for allocation in allocations if allocation.nodes), (*allocations, cls())[0])


def _slurm(variables: Mapping[str, str]) -> Allocation:
    hosts: list[str] = []
    with suppress(ImbError):
        hosts = expand_hosts(variables.get("SLURM_JOB_NODELIST", ""))
    nodes = _number(variables, "SLURM_JOB_NUM_NODES", "SLURM_NNODES") or len(hosts)
    listed = re.findall(r"(\d+)(?:\(x\d+\))?", variables.get("SLURM_JOB_CPUS_PER_NODE", ""))  # 16(x2),8
    cpus = min(map(int, listed)) if listed else _number(variables, "SLURM_CPUS_ON_NODE")
    return Allocation("Slurm", nodes, tuple(hosts), _number(variables, "SLURM_NTASKS"), cpus)


def _pbs(variables: Mapping[str, str]) -> Allocation:
    """Reads PBS_NODEFILE, which has a line for each rank, or in Torque for each CPU."""
    lines = _words_of(variables.get("PBS_NODEFILE"))
    hosts = tuple(dict.fromkeys(lines))
    nodes = len(hosts) or _number(variables, "PBS_NUM_NODES") or 0
    tasks = len(lines) or _number(variables, "PBS_NP")
    return Allocation("PBS", nodes, hosts, tasks, _number(variables, "NCPUS", "PBS_NUM_PPN"))


def _lsf(variables: Mapping[str, str]) -> Allocation:
    """Reads a list with a host per slot (a file, or a variable if it is short), or a list of hosts with their slots. A slot is a CPU unless
    the site defines it differently."""
    listed = _words_of(variables.get("LSB_DJOB_HOSTFILE")) or variables.get("LSB_HOSTS", "").split()
    slots = Counter(listed)
    pairs = variables.get("LSB_MCPU_HOSTS", "").split()
    if not slots:
        slots = Counter(
            {host: int(n) for host, n in zip(pairs[::2], pairs[1::2], strict=False) if n.isdecimal()}
        )
    tasks = _number(variables, "LSB_DJOB_NUMPROC") or slots.total() or None
    return Allocation("LSF", len(slots), tuple(slots), tasks)


def _grid_engine(variables: Mapping[str, str]) -> Allocation:
    """Reads PE_HOSTFILE, whose lines are `host slots queue processors`. A serial job has no such file."""
    lines = [line.split() for line in _text_of(variables.get("PE_HOSTFILE")).splitlines()]
    hosts = tuple(dict.fromkeys(words[0] for words in lines if words))
    nodes = len(hosts) or _number(variables, "NHOSTS") or 0
    return Allocation("Grid Engine", nodes, hosts, _number(variables, "NSLOTS"))


def _flux(variables: Mapping[str, str]) -> Allocation:
    """Reads the variables that `flux run` sets. Within `flux batch` or `flux alloc`, asks the Flux instance."""
    if nodes := _number(variables, "FLUX_JOB_NNODES"):
        return Allocation("Flux", nodes, (), _number(variables, "FLUX_JOB_SIZE"))
    nodes, cores = _flux_resources(variables.get("FLUX_URI", ""))
    return Allocation("Flux", nodes, (), None, cores // nodes if nodes else None)


@lru_cache
def _flux_resources(instance: str) -> tuple[int, int]:
    """Nodes and cores of the Flux instance; 0 and 0 if it does not answer."""
    status, output = output_of(["flux", "resource", "list", "-s", "up", "-no", "{nnodes} {ncores}"])
    match = re.fullmatch(r"\s*(\d+) (\d+)\s*", output) if status == 0 else None
    return (int(match[1]), int(match[2])) if match else (0, 0)


# A variable that each scheduler sets in its jobs; Grid Engine's JOB_ID could come from another program. Flux is first: its instance may
# run in a job of another scheduler, inherits that scheduler's variables, and allocates a part of that job.
_READERS = {
    "FLUX_JOB_ID": _flux,
    "FLUX_URI": _flux,
    "SLURM_JOB_ID": _slurm,
    "PBS_JOBID": _pbs,
    "PBS_NODEFILE": _pbs,
    "LSB_JOBID": _lsf,
    "LSB_HOSTS": _lsf,
    "PE_HOSTFILE": _grid_engine,
    "SGE_JOB_SPOOL_DIR": _grid_engine,
}


def leave() -> None:
    """Removes a scheduler's variables, and the choice of a scheduler as launcher, from the environment of this process and its children.
    A prolog is not a job, and there a launcher that tries to use the scheduler fails or hangs. Also sets HOME if it is missing, as in
    Slurm's prologs, since Open MPI 5 fails without it."""
    for name, value in list(os.environ.items()):
        chosen = (
            {Path(word.strip()).name for word in value.split(",")} if LAUNCHER_CHOICES.match(name) else set()
        )
        if JOB_VARIABLES.match(name) or chosen & SCHEDULERS:
            del os.environ[name]
    if not os.environ.get("HOME"):
        with suppress(RuntimeError):  # the user has no entry in passwd
            os.environ["HOME"] = str(Path.home())


def _number(variables: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables that is a number above 0, or None."""
    return next(
        (int(value) for name in names if (value := variables.get(name, "")).isdecimal() and int(value)), None
    )


def _words_of(file: str | None) -> list[str]:
    return _text_of(file).split()


def _text_of(file: str | None) -> str:
    """The text of a file of hosts; empty if it cannot be read."""
    with suppress(OSError):
        return Path(file).read_text(errors="replace") if file else ""
    return ""


def offered_hosts(hosts: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """The number of available hosts: `hosts` if the user gives them, else the allocation's nodes, else 1 (this host)."""
    return len(hosts) or Allocation.of(environment).nodes or 1
