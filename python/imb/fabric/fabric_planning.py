"""The plan of `imb fabric`: launches of IMB-FABRIC, with all rounds or with the rounds of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from imb.fabric.judging.verdict import BenchmarkSize
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.mpi.allocation import offered_hosts
from imb.mpi.host import cores
from imb.runner.session import Item, Plan, examine, folder_of
from imb.store.durable_files import write_whole
from imb.store.store import Archive

EndpointKind = Literal["host", "socket", "numa", "core"]
BINDS: Mapping[str, Literal["core", "socket", "numa"]] = {"core": "core", "socket": "socket", "numa": "numa"}
PAIR_TIMEOUT = "-pair_timeout"  # the only argument of a launch that depends on the remaining time


class SweepSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a sweep is judged, and what its launches share. `relevant`: smallest relevant slowdown, a share;
    `arguments`: IMB arguments; `passes`: passes of the only launch, or None for as many as a decision needs;
    `one_stage`: the arguments define the rounds, and no stage follows the first one. `ended`: why no launch
    follows ("" if none is needed), or None if launches may follow. `drain`: whether hosts are drained."""

    relevant: float
    topology: str | None = None
    baseline: str | None = None
    quick: bool = False
    page: str | None = None
    drain: bool = False
    format: Literal["terminal", "json", "junit"] = "terminal"
    sizes: list[BenchmarkSize] = []
    endpoint: EndpointKind | None = None
    arguments: list[str] = []
    passes: int | None = None
    seed: int = 0
    budget: float | None = None
    labels: list[str] = []
    one_stage: bool = False
    ended: str | None = None


def add_launch(
    plan: Plan,
    settings: SweepSettings,
    size: BenchmarkSize,
    *,
    stage: int = 1,
    arguments: Sequence[str] = (),
    rounds: Path | None = None,
    timeout: float | None = None,
) -> Plan:
    """The plan with another launch of this benchmark and size. `arguments`: IMB arguments besides those of
    all launches; `rounds`: a file with the rounds to measure, as numbers of endpoints; `timeout`: seconds, or
    None to use the plan's. Raises ImbError if a launcher does not support the request."""
    item = Item(
        len(plan.items) + 1,
        "FABRIC",
        _arguments(settings, size, arguments, rounds),
        turn=stage,
        labels=settings.labels,
        cell=settings.sizes.index(size),
        timeout=timeout,
    )
    extended = msgspec.structs.replace(plan, items=[*plan.items, item])
    examine(extended)
    return extended


def _arguments(
    settings: SweepSettings, size: BenchmarkSize, arguments: Sequence[str], rounds: Path | None
) -> list[str]:
    name, length = size
    pairs = [] if rounds is None else ["-pairs_file", str(rounds)]
    assert settings.endpoint is not None  # a sweep that launches has one
    common = ["-endpoint", settings.endpoint, *arguments, *settings.arguments]
    return [name, *common, "-msgsize", str(length), *pairs]


def is_as_decided(
    item: Item, settings: SweepSettings, size: BenchmarkSize, arguments: Sequence[str], rounds: Path | None
) -> bool:
    """Whether a planned launch equals the one that would be planned now, except for the remaining time and
    the path of the archive."""
    planned = list(item.arguments)
    if settings.budget is not None and PAIR_TIMEOUT in planned:
        at = planned.index(PAIR_TIMEOUT)
        del planned[at : at + 2]
    decided = _arguments(settings, size, arguments, rounds)
    return [*planned[:-1], Path(planned[-1]).name] == [*decided[:-1], Path(decided[-1]).name]


def rounds_file(archive: Archive, plan: Plan, stage: int) -> Path:
    """The file with the rounds of a stage that measures only some pairs."""
    return folder_of(archive, plan.id) / f"rounds-{stage}.txt"


def write_rounds(archive: Archive, file: Path, rounds: Iterable[Iterable[tuple[int, int]]]) -> None:
    """Write rounds to a file in the folder of a saved plan. Raises ImbError."""
    try:
        write_whole(file, rounds_text(rounds).encode())
    except OSError as error:
        raise archive.refusal(error) from error


def rounds_text(rounds: Iterable[Iterable[tuple[int, int]]]) -> str:
    """The text of a file for -pairs_file: one round per line."""
    return "".join(" ".join(f"{a}-{b}" for a, b in pairs) + "\n" for pairs in rounds)


def endpoints_per_host(endpoint: EndpointKind, ppn: int | None) -> int:
    """The number of endpoints of a host that has the hardware of this one."""
    if endpoint == "host":
        return 1
    if ppn:
        return ppn
    if endpoint == "core":
        return cores()
    if endpoint == "numa":
        return max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))
    ids = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/physical_package_id")
    return max(1, len({path.read_text() for path in ids}))


def intent_for(intent: Intent, endpoint: EndpointKind, *, ppn: int | None) -> Intent:
    """The intent with one rank per endpoint. Raises ImbError if there is only one endpoint."""
    hosts = offered_hosts(intent.hosts)
    each = endpoints_per_host(endpoint, ppn)
    if hosts == 1 and ppn and not intent.cpus and ppn > (most := max(endpoints_per_host(endpoint, None), 2)):
        raise ImbError(
            f"--ppn {ppn}: this host has {most} endpoints of kind {endpoint}; give as many or fewer"
        )
    ranks = len(intent.cpus) if intent.cpus and hosts == 1 else hosts * each
    if ranks < 2:
        where = f"{ranks} {endpoint} on this host" if hosts == 1 else f"{ranks} hosts"
        raise ImbError(f"nothing to compare: {where}; give --hosts, an allocation or --endpoint core")
    bind = intent.bind or (None if intent.cpus else BINDS.get(endpoint))
    if os.cpu_count() == 1 and hosts == 1:
        bind = None
    return msgspec.structs.replace(intent, ranks=ranks, ppn=each if hosts > 1 else None, bind=bind)
