"""Names of variables that schedulers set. Only imb.mpi.allocation reads their values."""

from __future__ import annotations

import re

_SLURM = "SLURM_"
JOB_ID = f"{_SLURM}JOB_ID"
# Variables of a job that conditions record.
RECORDED_VARIABLES = re.compile(rf"{_SLURM}(JOB_ID|JOB_NODELIST|JOB_PARTITION|CPU_BIND)$")
# Variables of jobs and of the processes that schedulers start in them. A launcher that sees them uses the allocation.
JOB_VARIABLES = re.compile(
    rf"({_SLURM}|(SLURMD|SRUN|SPANK|PBS|LSB|LSF|LS|SGE|PE|FLUX|PMI|PMIX|PALS|ALPS)_|(NHOSTS|NSLOTS|NCPUS|JOB_ID)$)"
)
# Values of a variable that chooses the launcher.
SCHEDULERS = frozenset(
    (
        "slurm",
        "srun",
        "pbs",
        "pbsdsh",
        "tm",
        "lsf",
        "blaunch",
        "sge",
        "qrsh",
        "alps",
        "pals",
        "flux",
        "ll",
        "cobalt",
    )
)
