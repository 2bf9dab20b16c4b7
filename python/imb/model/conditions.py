"""What surrounds a run, as its facts hold it: the machine, its load, its interfaces, the MPI. imb.mpi.conditions gathers it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from imb.model.gpus import Gpu


class Cache(msgspec.Struct, frozen=True):
    """All caches of one level, as lscpu words their size."""

    name: str
    size: str


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change while it runs. `threads_per_core` above 1: hyperthreads are on."""

    host: str
    system: str
    kernel: str
    cpu_model: str | None = None
    cpus: int | None = None
    cpus_allowed: str | None = None
    cores: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None
    numa_nodes: int | None = None
    caches: list[Cache] = []
    memory_bytes: int | None = None
    virtual_machine: str | None = None
    container: str | None = None


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """A network interface, or a port of an RDMA device. `speed`: bits per second; `addressed`: it has an IP address."""

    name: str
    rdma: bool = False
    up: bool = False
    addressed: bool = False
    speed: float | None = None

    @property
    def link(self) -> str:
        """`10 Gb/s`; empty: unknown."""
        return f"{self.speed / 1e9:g} Gb/s" if self.speed else ""

    def __str__(self) -> str:
        """`eth0 (10 Gb/s)`, `eth1 (down)`."""
        return self.name + (f" ({self.link or 'up'})" if self.up else " (down)")


# Physical interfaces, as kernel and udev call them.
_PHYSICAL = re.compile(r"(eth|en|em|ib|hsn|p\d+p)\w*$")


def usable(interfaces: Iterable[Interface]) -> list[Interface]:
    """Those that could carry messages."""
    return [
        one for one in interfaces if one.up and (one.rdma or (one.addressed and _PHYSICAL.match(one.name)))
    ]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """At one moment, on the host that launches. `load` is the number of runnable processes, mean of a minute; `transports`
    are those that the MPI itself reports (imb.mpi.own_word), None where it reports none. `gpus`: of launches that use them."""

    time: str
    machine: Machine
    governors: list[str] | None = None
    frequency_megahertz: float | None = None
    clock_source: str | None = None
    load: float | None = None
    memory_free_bytes: int | None = None
    mpi: str | None = None
    mpi_wrapper: str | None = None
    launcher: str | None = None
    transports: str | None = None
    interfaces: list[Interface] = []
    gpus: list[Gpu] = []
    environment: dict[str, str] = {}


def interfaces_in(said: object) -> list[Interface]:
    """Those of recorded conditions; none where there are none, or others than these."""
    listed = said.get("interfaces") if isinstance(said, dict) else None
    try:
        return msgspec.convert(listed or [], list[Interface])
    except msgspec.ValidationError:
        return []


def cores_in(said: object) -> int | None:
    """Cores of the host of recorded conditions; None where they are not known."""
    machine = said.get("machine") if isinstance(said, dict) else None
    cores = machine.get("cores") if isinstance(machine, dict) else None
    return cores if isinstance(cores, int) else None
