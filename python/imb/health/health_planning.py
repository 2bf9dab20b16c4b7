"""Plans the launches of `imb health`: what a new file measures, and the plans of a session and of a check, which no file keeps."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

import msgspec

from imb.health import limits
from imb.health.changed_conditions import refuse_other_host
from imb.health.checks import HealthFile
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.records import Component
from imb.model.text import now
from imb.model.units import count_of
from imb.mpi.host import allowed_cpus, cores
from imb.mpi.installations import Installation
from imb.runner.session import Item, Plan, Variant, new_id, set_settings

BUDGET = "0.2"  # seconds for the passes of a launch
LIMIT = 60.0  # time limit of a launch of a session, in seconds


class LearnSettings(msgspec.Struct, frozen=True):
    """`file`: the file of sessions."""

    file: str


class HealthCheckSettings(LearnSettings, frozen=True):
    """`deadline`: when the check must be ready to judge, by the monotonic clock."""

    deadline: float


def new_file(
    mpi: Installation,
    programs: Path,
    np: int | None,
    component: Component,
    names: Sequence[str],
    lengths: str,
) -> HealthFile:
    """The content of a new file, without sessions. `np`: ranks, or None for one on each core."""
    usable = min(cores(), len(allowed_cpus() or range(cores())))
    ranks = np or max(usable, 2)
    pairs = ["-multi", "0"] if component in ("MPI1", "P2P") else []
    return HealthFile(
        host=socket.gethostname(),
        mpi=mpi,
        programs=str(programs.absolute()),
        intent=Intent(ranks=ranks, bind="core" if ranks <= usable else None),
        component=component,
        arguments=[*names, "-npmin", str(ranks), *pairs, "-msgsize", lengths, "-budget", BUDGET],
    )


def learning_plan(path: Path, learned: HealthFile) -> Plan:
    """The plan of a session. Raises ImbError if the file belongs to another host."""
    refuse_other_host(path, learned)
    plan = _empty_plan(learned, LearnSettings(str(path)))
    for _ in range(limits.LAUNCHES):
        plan = add_launch(plan, learned, LIMIT)
    return plan


def plan_check(path: Path, learned: HealthFile, deadline: float) -> Plan:
    """The plan of a check, which grows. Raises ImbError if the file has too few sessions or belongs to another host."""
    if len(learned.sessions) < limits.FEWEST:
        raise too_few_sessions(path, len(learned.sessions))
    refuse_other_host(path, learned)
    plan = _empty_plan(learned, HealthCheckSettings(str(path), deadline))
    return msgspec.structs.replace(plan, grows=True)


def too_few_sessions(path: Path, sessions: int) -> ImbError:
    """The error of a check that has no limits."""
    return ImbError(
        f"no limits: {path} has {count_of(sessions, 'session')}, a check needs {limits.FEWEST};"
        " measure one with `imb health --learn`, hourly"
    )


def add_launch(plan: Plan, learned: HealthFile, timeout: float) -> Plan:
    """The plan with one more launch of what the file measures."""
    number = len(plan.items) + 1
    item = Item(number, learned.component, learned.arguments, turn=number, timeout=timeout)
    return msgspec.structs.replace(plan, items=[*plan.items, item])


def _empty_plan(learned: HealthFile, settings: LearnSettings) -> Plan:
    variant = Variant(mpi=learned.mpi, programs=learned.programs, intent=learned.intent)
    plan = Plan(id=new_id(), created=now(), timeout=None, variants=[variant], items=[])
    return set_settings(plan, "health", settings)
