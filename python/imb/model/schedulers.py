"""Names of variables that schedulers set. Their values are read in imb.mpi.allocation alone."""

from __future__ import annotations

import re

_SLURM = "SLURM_"
JOB_ID = f"{_SLURM}JOB_ID"
# What conditions keep of a job.
RECORDED_VARIABLES = re.compile(rf"{_SLURM}(JOB_ID|JOB_NODELIST|JOB_PARTITION|CPU_BIND)$")
# Variables of jobs, and of the processes that schedulers start in them. Launchers that see them use the allocation.
JOB_VARIABLES = re.compile(
    rf"({_SLURM}|(SLURMD|SRUN|SPANK|PBS|LSB|LSF|LS|SGE|PE|FLUX|PMI|PMIX|PALS|ALPS)_|(NHOSTS|NSLOTS|NCPUS|JOB_ID)$)"
)
# What a variable that chooses the launcher may name.
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
