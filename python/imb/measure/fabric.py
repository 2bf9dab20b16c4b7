"""The plan of `imb fabric`: launches of IMB-FABRIC, with rounds of its own or with those of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from imb.archive.durable import write_whole
from imb.archive.store import Archive
from imb.measure.session import Item, Plan, Variant, folder_of, plan_of
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.mpi.allocation import Allocation
from imb.mpi.host import cores
from imb.mpi.installations import Installation

Endpoint = Literal["host", "socket", "numa", "core"]
BINDS: Mapping[str, Literal["core", "socket", "numa"]] = {"core": "core", "socket": "socket", "numa": "numa"}


def plan_sweep(
    archive: Archive,
    *,
    mpi: Installation,
    programs: Path,
    intent: Intent,
    endpoint: Endpoint,
    sizes: Sequence[tuple[str, int]],
    arguments: Sequence[str],
    timeout: float | None,
    labels: Sequence[str],
    rounds: Iterable[Iterable[tuple[int, int]]] | None = None,
) -> Plan:
    """One launch for each benchmark and size. `rounds`: exactly these, of endpoints by number. The folder of the session has
    their file. Raises ImbError."""
    words = ["-endpoint", endpoint, *arguments]
    items = [
        Item(n, "FABRIC", [name, *words, "-msgsize", str(length)], labels=list(labels), cell=n - 1)
        for n, (name, length) in enumerate(sizes, 1)
    ]
    variant = Variant(mpi=mpi, programs=str(programs.absolute()), intent=intent)
    made = plan_of(items, variant, timeout)
    if rounds is not None:
        path = folder_of(archive, made.id) / "rounds.txt"
        for item in items:
            item.arguments.extend(["-pairs_file", str(path)])
    return made


def write_rounds(archive: Archive, made: Plan, rounds: Iterable[Iterable[tuple[int, int]]]) -> None:
    """The file of a plan that is saved. Raises ImbError."""
    try:
        write_whole(folder_of(archive, made.id) / "rounds.txt", rounds_text(rounds).encode())
    except OSError as error:
        raise archive.refusal(error) from error


def rounds_text(rounds: Iterable[Iterable[tuple[int, int]]]) -> str:
    """For -pairs_file: a round per line."""
    return "".join(" ".join(f"{a}-{b}" for a, b in one) + "\n" for one in rounds)


def hosts_offered(hosts: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """How many hosts there are: those of the option, of the allocation, or this one."""
    return len(hosts) or Allocation.of(environment).nodes or 1


def endpoints_per_host(endpoint: Endpoint, ppn: int | None) -> int:
    """Of hosts like this one."""
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


def intent_for(intent: Intent, endpoint: Endpoint, *, ppn: int | None) -> Intent:
    """A rank for each endpoint. Raises ImbError where there is only one."""
    from msgspec.structs import replace

    hosts = hosts_offered(intent.hosts)
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
    return replace(intent, ranks=ranks, ppn=each if hosts > 1 else None, bind=bind)
