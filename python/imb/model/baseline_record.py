"""Baselines: named results with which later results are compared. A baseline belongs to one machine and placement and is never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from imb.model.errors import ImbError
from imb.model.facts import fact
from imb.model.observations import Launch, Side, launches_of
from imb.model.records import OptionValue, Records, Run, read
from imb.model.units import count_of

FORMAT = "openimb-baseline/1"


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """The machine of a baseline. If the results come from a log, some or all fields are unknown."""

    nodes: int | None = None
    hosts: list[str] = []
    cpu_model: str | None = None
    cores: int | None = None
    sockets: int | None = None
    threads_per_core: int | None = None

    def kind(self) -> tuple[object, ...]:
        """All fields except the host names. Results of machines of the same kind may be compared."""
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "hosts")

    def is_same(self, other: Hardware) -> bool | None:
        """Whether both machines have the same kind. If a CPU model is unknown: whether the hosts are the same, or None if unknown."""
        if self.cpu_model and other.cpu_model:
            return self.kind() == other.kind()
        return set(self.hosts) == set(other.hosts) if self.hosts and other.hosts else None

    def __str__(self) -> str:
        """`2 nodes of 2 x Xeon Gold 6148, 40 cores`, or the hosts if the CPU model is unknown."""
        nodes = f"{self.nodes} nodes of " if (self.nodes or 1) > 1 else ""
        if not self.cpu_model:
            return nodes + (",".join(self.hosts) or "unknown machine")
        cores = f", {count_of(self.cores, 'core')}" if self.cores else ""
        sockets = f", {self.sockets} sockets" if (self.sockets or 1) > 1 else ""
        return f"{nodes}{self.cpu_model}{cores}{sockets}"


class BaselineLaunch(msgspec.Struct, frozen=True):
    """One launch: the name of its run or file, facts, records as JSON lines, and `content` as in Launch.

    `foreign`: whether a user other than the one who set the baseline may have written the facts; a check executes commands from them.
    `options`: the options of the run record. They are stored apart from `records`, so that versions of imb with other options can read
    `records`.
    """

    name: str
    facts: dict[str, Any]
    records: str
    foreign: bool
    content: str
    options: dict[str, OptionValue] | None

    def read(self) -> Records:
        """Its records."""
        records = read(self.records.encode(), self.name)
        for run in records.of(Run) if self.options is not None else ():
            run.options = self.options
        return records


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a baseline's file. `tolerances`: metric -> the smallest change that matters, as a share (0.05 is 5 %). `sha256`: hash of
    the file with an empty `sha256`, which must stay the last field."""

    format: str = FORMAT
    name: str
    version: int = 0
    created: str
    by: str
    origin: str
    note: str | None = None
    machine: Hardware
    placement: str | None
    tolerances: dict[str, float]
    launches: list[BaselineLaunch]
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    def side(self) -> Side:
        """The launches as a sample set for a comparison. Raises ImbError."""
        launches: list[Launch] = []
        for kept in self.launches:
            restored = launches_of(kept.read(), kept.name, kept.facts)
            launches += (msgspec.structs.replace(launch, content=kept.content) for launch in restored)
        return Side(name=f"baseline {self}", launches=launches)


def placement_of(side: Side) -> str | None:
    """`intra-node`, `inter-node`, or None if unknown. Raises ImbError if the launches have different placements."""
    placements = {launch.placement() for launch in side.launches if launch.rows} - {None}
    if len(placements) > 1:
        raise ImbError(
            f"{side.name} has both intra-node and inter-node launches; select launches of one placement"
        )
    return next(iter(placements), None)


def placements_of(baselines: Sequence[Baseline]) -> str:
    """The distinct placements and machines: `intra-node on 8 cores ...; inter-node on ...`."""
    return "; ".join(
        dict.fromkeys(
            f"{baseline.placement or 'unknown placement'} on {baseline.machine}" for baseline in baselines
        )
    )


def machine_of(side: Side) -> Hardware:
    """The machine of these launches. Raises ImbError if they ran on machines of several kinds."""
    machines = {machine.kind(): machine for machine in map(_machine, side.launches)}
    if len(machines) > 1:
        raise ImbError(
            f"{side.name} has launches of several machines ({'; '.join(map(str, machines.values()))}); select launches of one"
        )
    hosts = dict.fromkeys(host for launch in side.launches for host in launch.hosts())
    return msgspec.structs.replace(next(iter(machines.values())), hosts=list(hosts))


def _machine(launch: Launch) -> Hardware:
    hardware = fact(Hardware, launch.facts, "conditions", "machine") or Hardware()
    return msgspec.structs.replace(hardware, nodes=len(launch.hosts()) or None, hosts=launch.hosts())
