"""Submits a session as a job to a scheduler, through PSI/J. The job runs `imb run --resume` on the same archive."""

from __future__ import annotations

import itertools
import math
import sys
from datetime import timedelta
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from imb.model.errors import ImbError
from imb.model.statuses import Status
from imb.runner.session import Plan, finished_launches, folder_of, intent_of, remaining_seconds
from imb.store.store import Archive

Scheduler: TypeAlias = Literal["local", "slurm"]


LEAST_MINUTES = 10.0


class SubmittedJob(NamedTuple):
    """A job. `name`: the scheduler's identifier; `output`, `errors`: the files of its output; `status`: the exit status of a local job."""

    name: str
    output: Path
    errors: Path
    status: int | None = None


def submit(
    archive: Archive,
    plan: Plan,
    scheduler: Scheduler,
    *,
    minutes: float | None = None,
    queue: str | None = None,
    account: str | None = None,
    after: str | None = None,
    timeout: float | None = None,
) -> SubmittedJob:
    """Submits a job; waits for it if it is local. The output goes to the session's folder: job.out and job.err for the first job,
    job-2.out and job-2.err for the next.

    The job begins when the job `after` has ended. `timeout`: replaces the plan's time limit of launches, in seconds. Raises ImbError if
    PSI/J is missing or the scheduler refuses the job.
    """
    import psij

    folder = folder_of(archive, plan.id)
    output, errors = _files(folder)
    intents = [intent_of(plan, item) for item in plan.items]
    hosts = list(dict.fromkeys(host for intent in intents for host in intent.hosts))
    nodes = len(hosts) or max(-(-intent.ranks // intent.ppn) if intent.ppn else 1 for intent in intents)
    per_node = max(intent.per_host() for intent in intents)
    attributes = psij.JobAttributes(queue_name=queue, account=account)
    if minutes is not None:
        attributes.duration = timedelta(minutes=minutes)
    if scheduler == "slurm":
        # PSI/J has no attribute for these options.
        custom = {"slurm.nodelist": ",".join(hosts)} if hosts else {}
        custom |= {"slurm.dependency": f"afterany:{after}"} if after else {}
        attributes.custom_attributes = {"slurm.job-name": f"imb-{plan.id}", **custom}
    job = psij.Job(
        psij.JobSpec(
            executable=sys.executable,
            arguments=[
                *("-m", "imb", "run", "--resume", plan.id, "--archive", str(archive.folder)),
                *(["--timeout", repr(timeout)] if timeout else []),
            ],
            directory=Path.cwd(),
            stdout_path=output,
            stderr_path=errors,
            # Other jobs on the nodes would disturb the measurement.
            resources=psij.ResourceSpecV1(
                node_count=nodes, processes_per_node=per_node, exclusive_node_use=True
            ),
            attributes=attributes,
            launcher="single",  # `imb` itself starts the ranks, with the launcher of the session's MPI
        )
    )
    try:
        psij.JobExecutor.get_instance(scheduler).submit(job)
        if scheduler != "local":
            output.touch()  # reserves the name
            return SubmittedJob(str(job.native_id), output, errors)
        status = job.wait()
    except (psij.SubmitException, psij.InvalidJobException, ValueError) as error:
        raise ImbError(
            f"{scheduler} rejected the job: {' '.join(str(error).split())};"
            f" retry with `imb run --resume {plan.id} --submit {scheduler}`"
        ) from error
    except KeyboardInterrupt:
        job.cancel()
        raise
    code = status.exit_code if status else None
    return SubmittedJob(str(job.native_id), output, errors, Status.FAILED if code is None else code)


def default_minutes(archive: Archive, plan: Plan) -> float:
    """The default time limit of a session's job: half more than the predicted duration of the remaining launches, at least LEAST_MINUTES."""
    from imb.runner.stored_sessions import expected_seconds

    over = finished_launches(archive, plan).values()
    seconds = remaining_seconds(plan, over, expected_seconds(archive, plan))
    return max(LEAST_MINUTES, math.ceil(1.5 * (seconds or 0.0) / 60))


def _files(folder: Path) -> tuple[Path, Path]:
    """The files for a job's output and errors, with names that no earlier job of this session has."""
    names = itertools.chain(["job"], (f"job-{number}" for number in itertools.count(2)))
    name = next(name for name in names if not (folder / f"{name}.out").exists())
    return folder / f"{name}.out", folder / f"{name}.err"
