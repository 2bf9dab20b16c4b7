"""What `imb tune` chooses: algorithms of an MPI's collectives, the cells in which they apply, and settings
that switch a choice on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from imb.model.units import count_of, size


@dataclass(frozen=True, order=True)
class Algorithm:
    """An algorithm of a collective, by the library's own name. `number`: its id in the library's files (Open
    MPI), or None; `segment`: bytes of a segment, 0 for none; `fanout`: fan-out of its tree, 0 for the
    library's default."""

    name: str
    number: int | None = None
    segment: int = 0
    fanout: int = 0

    def __str__(self) -> str:
        """`pipeline, segment 65536, fan-out 4`"""
        parts = [
            self.name,
            f"segment {self.segment}" if self.segment else "",
            f"fan-out {self.fanout}" if self.fanout else "",
        ]
        return ", ".join(filter(None, parts))


DEFAULT = Algorithm("default")  # the choice of the library


@dataclass(frozen=True, order=True)
class Cell:
    """A collective (IMB's name) on a communicator of `ranks` ranks at one message size (bytes, as IMB prints
    it)."""

    collective: str
    ranks: int
    bytes: int

    def __str__(self) -> str:
        """`Allreduce, 4 ranks, 64 KiB`"""
        return f"{self.collective}, {count_of(self.ranks, 'rank')}, {size(self.bytes)}"


Choices: TypeAlias = Mapping[Cell, Algorithm]  # only cells that leave the default


@dataclass(frozen=True)
class Switch:
    """Settings of a launch that put a file or a forced algorithm into effect. `arguments`: launcher
    arguments."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...] = ()
