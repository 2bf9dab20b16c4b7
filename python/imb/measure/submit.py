"""A session as a job of a scheduler, through PSI/J: the job is `imb run --resume` on the same archive."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from imb.archive.store import Archive
from imb.measure.session import Plan, folder_of, intent_of
from imb.model.errors import ImbError

Scheduler: TypeAlias = Literal["local", "slurm"]


def submit(
    archive: Archive,
    made: Plan,
    scheduler: Scheduler,
    *,
    minutes: float | None = None,
    queue: str | None = None,
    account: str | None = None,
) -> tuple[str, int | None]:
    """Submits; returns the scheduler's name of the job, and of a local one, which is waited for, the exit status.

    What the job prints is in the session's folder, job.out and job.err. Raises ImbError where PSI/J is missing or the
    scheduler refuses.
    """
    try:
        import psij
    except ImportError:
        raise ImbError("--submit needs PSI/J: `pip install psij-python`") from None
    folder = folder_of(archive, made.id)
    intents = [intent_of(made, item) for item in made.items]
    hosts = list(dict.fromkeys(host for intent in intents for host in intent.hosts))
    nodes = len(hosts) or max(-(-one.ranks // one.ppn) if one.ppn else 1 for one in intents)
    per_node = max(one.per_host for one in intents)
    attributes = psij.JobAttributes(queue_name=queue, account=account)
    if minutes is not None:
        attributes.duration = timedelta(minutes=minutes)
    if scheduler == "slurm":
        # PSI/J has no words of its own for these.
        named = {"slurm.nodelist": ",".join(hosts)} if hosts else {}
        attributes.custom_attributes = {"slurm.job-name": f"imb-{made.id}", **named}
    job = psij.Job(
        psij.JobSpec(
            executable=sys.executable,
            arguments=["-m", "imb", "run", "--resume", made.id, "--archive", str(archive.folder)],
            directory=Path.cwd(),
            stdout_path=folder / "job.out",
            stderr_path=folder / "job.err",
            resources=psij.ResourceSpecV1(node_count=nodes, processes_per_node=per_node),
            attributes=attributes,
            launcher="single",  # `imb` starts the ranks itself, with the launcher of the session's MPI
        )
    )
    try:
        psij.JobExecutor.get_instance(scheduler).submit(job)
        if scheduler != "local":
            return str(job.native_id), None
        status = job.wait()
    except (psij.SubmitException, psij.InvalidJobException, ValueError) as error:
        raise ImbError(
            f"{scheduler} does not take the job: {' '.join(str(error).split())};"
            f" `imb run --resume {made.id} --submit {scheduler}` tries again"
        ) from error
    except KeyboardInterrupt:
        job.cancel()
        raise
    code = status.exit_code if status else None
    return str(job.native_id), 1 if code is None else code
