"""Refuses to compare launches with sessions of another host, MPI or environment."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

from imb.health.checks import HealthFile, HealthLaunch, transport_variables
from imb.model.errors import ImbError


class ChangedConditions(ImbError):
    """The sessions of the file cannot be compared with this host, MPI or environment. `changed`: what
    differs."""

    def __init__(self, path: Path, changed: str) -> None:
        super().__init__(f"{path} has sessions of {changed}; remove it and learn again")
        self.changed = f"sessions of {changed}"


def refuse_other_host(path: Path, learned: HealthFile) -> None:
    """Raises ChangedConditions if the sessions belong to another host."""
    _refuse_changes(path, {"host": (learned.host, socket.gethostname())})


def refuse_other_launch(path: Path, learned: HealthFile, launch: HealthLaunch) -> None:
    """Raises ChangedConditions if the sessions belong to another MPI or to other settings of its transports."""
    compared = {"MPI": (learned.library, launch.library)}
    if None not in (learned.settings, launch.settings):
        old, new = transport_variables(learned.mpi, learned.settings or {}), launch.settings or {}
        compared |= {
            f"${name}": (old.get(name, "unset"), new.get(name, "unset")) for name in sorted({*old, *new})
        }
    _refuse_changes(path, compared)


def _refuse_changes(path: Path, compared: Mapping[str, tuple[str | None, str | None]]) -> None:
    changed = [
        f"{name} {old}, now {new}"
        for name, (old, new) in compared.items()
        if None not in (old, new) and old != new
    ]
    if changed:
        raise ChangedConditions(path, " and ".join(changed))
