"""The rails of this host: interfaces that two such hosts can use at once, and CPUs near them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from imb.model.conditions import Interface, usable_interfaces
from imb.model.text import numbers_in
from imb.mpi import host_conditions
from imb.mpi.host import allowed_cpus
from imb.mpi.host_gpus import text_of

_CLASSES = ("infiniband", "net")


def rails_here() -> list[Interface]:
    """RDMA ports if there are any, else network interfaces with an address."""
    interfaces = usable_interfaces(host_conditions.interfaces())
    return [interface for interface in interfaces if interface.rdma] or interfaces


def cpus_of_rails(rails: Sequence[Interface], system: Path = Path("/sys")) -> tuple[int, ...]:
    """For each rail, a CPU of its NUMA node, without repetition as long as there are enough. Empty if a node
    is unknown."""
    allowed = allowed_cpus() or set(range(os.cpu_count() or 1))
    chosen: list[int] = []
    for rail in rails:
        node = _node_of(rail.name, system)
        listed = text_of(system / "devices" / "system" / "node" / f"node{node}" / "cpulist") or ""
        near = sorted(numbers_in(listed) & allowed)
        if node is None or not near:
            return ()
        chosen.append(min(near, key=lambda cpu: (chosen.count(cpu), cpu)))
    return tuple(chosen)


def _node_of(name: str, system: Path) -> int | None:
    files = [
        system / "class" / folder / name.partition(":")[0] / "device" / "numa_node" for folder in _CLASSES
    ]
    node = next(filter(None, map(text_of, files)), "")
    return int(node) if node.isdecimal() else None  # -1: the firmware does not say
