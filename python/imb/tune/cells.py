"""What `imb tune` chooses: algorithms of an MPI's collectives, the cells that they serve, and how a choice is switched on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, order=True)
class Algorithm:
    """One way in which a library carries out a collective, by the library's own name. `number`: its id in the library's files
    (Open MPI). `segment`: bytes of a segment, 0: none. `fanout`: of its tree, 0: the library's own."""

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


DEFAULT = Algorithm("default")  # the library's own choice


@dataclass(frozen=True, order=True)
class Cell:
    """A collective (IMB's name) on a communicator of so many ranks at one message length (bytes, as IMB prints it)."""

    collective: str
    ranks: int
    bytes: int


Choices: TypeAlias = Mapping[Cell, Algorithm]  # only cells that leave the default


@dataclass(frozen=True)
class Switch:
    """What a launch needs so that a file or a forced algorithm is in force. `arguments`: of the launcher."""

    environment: Mapping[str, str]
    arguments: tuple[str, ...] = ()
