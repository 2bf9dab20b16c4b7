"""Jobs: options of the commands that submit, pairs of hosts, submission of sessions to a scheduler."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from imb.cli.extras import require
from imb.cli.option_groups import ACTING, SESSION, Form
from imb.model.errors import ImbError
from imb.report.terminal import say
from imb.runner.submit import LEAST_MINUTES, Scheduler
from imb.store.store import Archive

if TYPE_CHECKING:
    from imb.runner.session import Plan

SubmitOption = Annotated[
    Scheduler | None,
    typer.Option(
        "--submit", help="Run as a job, through PSI/J; wait for a local job.", rich_help_panel=SESSION
    ),
    ACTING,
]
_JOB = Form("is an option of jobs; add --submit slurm or --submit local")
MinutesOption = Annotated[
    float | None,
    typer.Option(
        "--minutes",
        min=1,
        metavar="N",
        help="Time limit of a job.",
        show_default=f"half more than predicted, at least {LEAST_MINUTES:g}",
        rich_help_panel=SESSION,
    ),
    _JOB,
]
QueueOption = Annotated[
    str | None,
    typer.Option("--queue", metavar="NAME", help="Queue of a job.", rich_help_panel=SESSION),
    _JOB,
]
AccountOption = Annotated[
    str | None,
    typer.Option("--account", metavar="NAME", help="Account of a job.", rich_help_panel=SESSION),
    _JOB,
]


class Job(NamedTuple):
    """Options of a job. `timeout`: time limit of launches, or None to use the plan's."""

    scheduler: Scheduler | None
    minutes: float | None
    queue: str | None
    account: str | None
    timeout: float | None = None

    def examine(self, context: typer.Context) -> None:
        """Raises ImbError for job options without --submit, and if the job cannot be submitted."""
        if self.scheduler is None:
            _JOB.refuse_marked(context)
        elif self.scheduler == "local" and (name := _JOB.first_given(context)):
            raise ImbError(f"{name}: a local job has no scheduler; omit it, or give --submit slurm")
        if self.scheduler:
            require("--submit", "psij")

    def refuse_several_jobs(self, jobs: int) -> None:
        """Raises ImbError for several local jobs, which have no time limit to resume after."""
        if jobs > 1 and self.scheduler == "local":
            raise ImbError(
                "jobs: a local job has no time limit to resume after; omit it, or give --submit slurm"
            )


def pairs_of(words: Sequence[str], job: Job) -> list[tuple[str, str]]:
    """All pairs of hosts `n1`, `n2`, `n3`, or the given pairs `n1:n2`, `n3:n4`; each pair is a job. Raises
    ImbError."""
    if job.scheduler is None:
        raise ImbError("host_pairs needs a job; add --submit slurm or --submit local")
    if any(":" in word for word in words):
        pairs = [(first, second) for first, _, second in (word.partition(":") for word in words)]
    else:
        pairs = list(itertools.combinations(dict.fromkeys(words), 2))
    if not pairs or any(not first or not second or first == second for first, second in pairs):
        raise ImbError(
            f'host_pairs {",".join(words)}: give two or more hosts, ["n1", "n2", "n3"], or pairs, ["n1:n2", "n3:n4"]'
        )
    return pairs


def hand_over(archive: Archive, plans: Sequence[Plan], job: Job) -> int:
    """Submit each session as a job or a chain of jobs, and print the output of local jobs. Returns the exit
    status of the last job that failed, else 0. Raises ImbError."""
    status = 0
    for plan in plans:
        status = _hand_over(archive, plan, job) or status
    return status


def _hand_over(archive: Archive, plan: Plan, job: Job) -> int:
    from imb.runner import session
    from imb.runner.submit import default_minutes, submit

    assert job.scheduler
    over = session.finished_launches(archive, plan)
    session.refuse_without_secrets(
        plan, (item for item in plan.items if item.number not in over), recorded=True
    )
    after: str | None = None
    job.refuse_several_jobs(plan.jobs)
    for _ in range(plan.jobs):
        submitted = submit(
            archive, plan, job.scheduler, minutes=job.minutes or default_minutes(archive, plan), queue=job.queue,
            account=job.account, after=after, timeout=job.timeout,
        )  # fmt: skip
        after = submitted.name
        say(f"{job.scheduler} job {submitted.name}, session {plan.id}: {submitted.output}")
    if submitted.status is not None:
        say(*submitted.output.read_text(errors="replace").splitlines())
    if submitted.status:
        say(*submitted.errors.read_text(errors="replace").splitlines(), err=True)
    return submitted.status or 0
