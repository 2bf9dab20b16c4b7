"""Draining of hosts in Slurm: the command as shell text, and its execution."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping
from typing import NamedTuple

from imb.mpi.allocation import Allocation

TIMEOUT = 30.0  # seconds
_NODE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?$", re.ASCII)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ,.;:%+_/-]", re.ASCII)


class Drain(NamedTuple):
    """The draining of one node. Both texts contain only characters that neither a shell nor Slurm interprets."""

    node: str
    reason: str

    @property
    def words(self) -> list[str]:
        """The command as arguments for the system."""
        return ["scontrol", "update", f"nodename={self.node}", "state=drain", f"reason={self.reason}"]

    def __str__(self) -> str:
        """The command as text for a shell."""
        return f'scontrol update nodename={self.node} state=drain reason="{self.reason}"'


def drain_of(
    host: str, reason: str, environment: Mapping[str, str] | None = None, listed: Collection[str] = ()
) -> Drain | None:
    """The draining of a host, or None if its name cannot be the name of a Slurm node: Slurm would read
    brackets and commas as a list, and a shell would interpret other characters. If the allocation or `listed`
    (the hosts of a topology file) has the short name of the host, this name is used."""
    node = node_of(host, environment, listed)
    if not _NODE.match(node):
        return None
    return Drain(node, _NOT_PLAIN.sub("?", reason)[:200])


def node_of(host: str, environment: Mapping[str, str] | None = None, listed: Collection[str] = ()) -> str:
    """The name of a host in Slurm."""
    short = host.partition(".")[0]
    allocation = Allocation.of(environment)
    for hosts in (allocation.hosts if allocation.scheduler == "Slurm" else (), listed):
        if host in hosts:
            return host
        if short in hosts:
            return short
    return host


def drain_node(drain: Drain) -> str | None:
    """Drain the node. Returns why this failed, or None."""
    try:
        completed = subprocess.run(
            drain.words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
        )
    except OSError as error:
        return f"cannot start scontrol: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"scontrol did not end within {TIMEOUT:g} s"
    if completed.returncode:
        output = " ".join((completed.stderr or completed.stdout).split())
        return f"scontrol failed with exit status {completed.returncode}" + (
            f": {output[:200]}" if output else ""
        )
    return None
