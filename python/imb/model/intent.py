"""What a launch is to have: ranks, where they are, variables. Plans store it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

Bind: TypeAlias = Literal["core", "socket", "numa", "none"]


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus`: the system's numbers of the CPUs that ranks are pinned to, in order of rank, again from the start where there
    are more ranks. `extra`: further launcher arguments, as they are."""

    ranks: int
    hosts: tuple[str, ...] = ()
    ppn: int | None = None
    bind: Bind | None = None
    cpus: tuple[int, ...] = ()
    env: Mapping[str, str] = {}
    launcher: Literal["mpiexec", "srun"] = "mpiexec"
    extra: tuple[str, ...] = ()

    def per_host(self, nodes: int = 0) -> int:
        """Ranks on the host that has most of them; without `hosts`, ranks are on `nodes` nodes (0: one)."""
        return self.ppn or -(-self.ranks // (len(self.hosts) or nodes or 1))
