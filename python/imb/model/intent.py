"""The requested properties of a launch: ranks, their placement, variables. Plans store them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Bind: TypeAlias = Literal["core", "socket", "numa", "none"]
LauncherName: TypeAlias = Literal["mpiexec", "srun"]


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """The request for a launch. `cpus`: the system's numbers of the CPUs to which ranks are pinned, in order of rank; if there are more ranks
    than CPUs, the list starts again. `extra`: further launcher arguments, passed on unchanged."""

    ranks: int
    hosts: tuple[str, ...] = ()
    ppn: int | None = None
    bind: Bind | None = None
    cpus: tuple[int, ...] = ()
    env: Mapping[str, str] = {}
    launcher: LauncherName = "mpiexec"
    extra: tuple[str, ...] = ()

    def per_host(self, nodes: int = 0) -> int:
        """The largest number of ranks on a host. Without `hosts`, the ranks are on `nodes` nodes, or on one if `nodes` is 0."""
        return self.ppn or -(-self.ranks // (len(self.hosts) or nodes or 1))
