"""Hosts that are namespaces, below two switches which a trunk joins, with a token bucket at every port (Linux, root).

h1 to h4 are at leaf1, h5 to h8 at leaf2. All namespaces, those of the switches too, end with the processes that hold them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import lab
import psutil
from companion.cluster import Daemons, begin_hosts, remote_shell, until

RATE = 200.0  # Mbit/s of a port
TOPOLOGY = "leaf1: h[1-4]\nleaf2: h[5-8]\ncore: leaf1 leaf2\n"


@dataclass
class Switched:
    """`holders`: by host the process that holds its namespaces; `switches`: the one of both switches."""

    holders: dict[str, int]
    switches: int
    remote_shell: Path
    limits: dict[tuple[int, str], float] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        return list(self.holders)

    def on(self, host: str, words: Sequence[object]) -> list[str]:
        """The words that run a command on a host."""
        return _inside(self.holders[host], "--uts", "--mount", words=words)

    def environment(self) -> dict[str, str]:
        """For launchers: their remote shell, and for Open MPI no binding, since all hosts have the same cores. More ranks than
        cores: waiting ranks yield."""
        names = ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC")
        shell = dict.fromkeys(names, str(self.remote_shell))
        return {**os.environ, **shell, "PRTE_MCA_hwloc_default_binding_policy": "none"}

    def limit_host(self, host: str, rate: float = RATE) -> None:
        """Both directions of its wire, Mbit/s."""
        self._limit(self.holders[host], "eth0", rate)
        self._limit(self.switches, f"to-{host}", rate)

    def limit_trunk(self, rate: float = 4 * RATE) -> None:
        """Both directions, Mbit/s."""
        for end in ("trunk1", "trunk2"):
            self._limit(self.switches, end, rate)

    def heal(self) -> None:
        """All limits as at first."""
        for host in self.holders:
            self.limit_host(host)
        self.limit_trunk()

    def unplug(self, host: str) -> None:
        """Takes its port down: no answer to anything."""
        subprocess.run(_inside(self.switches, words=["ip", "link", "set", f"to-{host}", "down"]), check=True)

    def plug(self, host: str) -> None:
        subprocess.run(_inside(self.switches, words=["ip", "link", "set", f"to-{host}", "up"]), check=True)

    def _limit(self, process: int, device: str, rate: float) -> None:
        if self.limits.get((process, device)) == rate:
            return
        subprocess.run(_inside(process, words=_bucket("replace", device, rate)), check=True)
        self.limits[process, device] = rate

    @contextlib.contextmanager
    def stopped(self, host: str, ready: Callable[[], bool]) -> Iterator[None]:
        """The rank of IMB-FABRIC on a host stops for good, as soon as it is there and `ready`."""
        found: list[psutil.Process] = []

        def stop(over: threading.Event) -> None:
            while not over.wait(0.1) and not found:
                found.extend(_ranks_in(self.holders[host]) if ready() else [])
            for one in found:
                with contextlib.suppress(psutil.Error):
                    one.suspend()

        try:
            with _beside(stop):
                yield
        finally:
            for one in found:
                with contextlib.suppress(psutil.Error):
                    one.kill()

    @contextlib.contextmanager
    def busy(self, host: str, share: float, slice_seconds: float = 0.004) -> Iterator[None]:
        """A core of the host is busy with something else for this share of the time: its rank of IMB-FABRIC does not run then. The
        hosts share few cores, so a process that is busy would slow other hosts too; this one stops the rank instead."""

        def steal(over: threading.Event) -> None:
            found: list[psutil.Process] = []
            while not over.is_set():
                found = [one for one in found if one.is_running()] or _ranks_in(self.holders[host])
                for action, seconds in (
                    (signal.SIGSTOP, slice_seconds),
                    (signal.SIGCONT, slice_seconds * (1 - share) / share),
                ):
                    for one in found:
                        with contextlib.suppress(psutil.Error):
                            one.send_signal(action)
                    time.sleep(seconds if found else 0.05)

        with _beside(steal):
            yield


@contextlib.contextmanager
def _beside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """`work` runs in a thread until its event is set."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _ranks_in(holder: int) -> list[psutil.Process]:
    space = Path(f"/proc/{holder}/ns/net").readlink()
    found = []
    for one in psutil.process_iter(["name"]):
        with contextlib.suppress(OSError):
            if one.info["name"] == "IMB-FABRIC" and Path(f"/proc/{one.pid}/ns/net").readlink() == space:
                found.append(one)
    return found


def _bucket(action: str, device: str, rate: float) -> list[str]:
    """`rate`: Mbit/s."""
    bucket = ["tbf", "rate", f"{rate * 1000:.0f}kbit", "burst", "32kb", "latency", "50ms"]
    return ["tc", "qdisc", action, "dev", device, "root", *bucket]


def _inside(process: int, *spaces: str, words: Sequence[object]) -> list[str]:
    return ["nsenter", f"--target={process}", "--net", *spaces, "--", *map(str, words)]


@contextlib.contextmanager
def switched(folder: Path, hosts: int = 8) -> Iterator[Switched]:
    """The hosts, each with an sshd, and all their wires. Skips the test where there can be none."""
    addresses = {f"h{number}": f"10.77.0.{number}" for number in range(1, hosts + 1)}
    shell = remote_shell(folder, addresses)
    with contextlib.ExitStack() as stack:
        daemon = Daemons(folder, dict(os.environ), stack)
        switches = daemon("unshare", "--net", "sh", "-c", f"touch {folder}/switches.up; exec sleep 1000000")
        until((folder / "switches.up").exists, daemon.said)
        holders = begin_hosts(daemon, folder, addresses)
        commands = [["link", "add", name, "type", "bridge"] for name in ("leaf1", "leaf2")]
        commands.append(["link", "add", "trunk1", "type", "veth", "peer", "name", "trunk2"])
        for number, host in enumerate(addresses):
            ends = ["eth0", "netns", str(holders[host]), "type", "veth", "peer", "name", f"to-{host}"]
            commands.append(["link", "add", *ends])
            commands.append(
                ["link", "set", f"to-{host}", "master", "leaf1" if number < hosts / 2 else "leaf2"]
            )
        commands += [["link", "set", f"trunk{n}", "master", f"leaf{n}"] for n in (1, 2)]
        ports = [f"to-{host}" for host in addresses]
        commands += [["link", "set", name, "up"] for name in ("leaf1", "leaf2", "trunk1", "trunk2", *ports)]
        for words in commands:
            subprocess.run(_inside(switches, words=["ip", *words]), check=True)
        found = Switched(holders, switches, shell)
        for host, address in addresses.items():
            for words in (["address", "add", f"{address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                subprocess.run(found.on(host, ["ip", *words]), check=True)
        refused = subprocess.run(
            _inside(switches, words=_bucket("add", "trunk1", 1000)), capture_output=True, text=True
        )
        if refused.returncode:
            lab.missing(f"token buckets: {refused.stderr.strip()}")
        found.heal()
        for host in addresses:
            words = found.on("h1", [shell, host, "hostname"])
            until(
                lambda words=words, host=host: (  # type: ignore[misc]
                    subprocess.run(words, capture_output=True, text=True).stdout.strip() == host
                ),
                daemon.said,
            )
        yield found
