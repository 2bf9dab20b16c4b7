"""Clusters on one machine, as root: a Slurm of its own, and hosts that are network namespaces.

Nothing outlives them: daemons run in the foreground as children, in a folder of their own, on ports that were free.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import lab
import psutil
import pytest

PATIENCE = 60.0  # seconds that daemons and jobs have on a busy machine
# TCP between hosts, by MPI. Two namespaces have one memory and the machine's cores, which these do not look for.
ACROSS = {
    "mpich": {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
    "openmpi": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
}
# The variable that chooses the interface.
DEVICE = {"openmpi": "OMPI_MCA_btl_tcp_if_include", "mpich": "FI_TCP_IFACE"}


def need(packages: str, *programs: str) -> None:
    """Skips the test, in CI fails it, where these programs of Debian's `packages` are missing or this is not root."""
    absent = [name for name in programs if not _program(name)]
    if absent:
        lab.missing(f"{', '.join(absent)} (Debian: {packages})")
    if os.geteuid():
        lab.missing("root, whom daemons and namespaces need")


def _program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


# --- Slurm -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def slurm(
    folder: Path, nodes: int = 2, cpus: int = 2, more: Sequence[str] = (), on: Hosts | None = None
) -> Iterator[Path]:
    """A Slurm with `more` lines of configuration; yields its slurm.conf, for $SLURM_CONF. Its nodes n1, n2 ... all are this machine;
    with `on` they are those two hosts, and commands of Slurm are called on the first one."""
    need("munge slurmctld slurmd slurm-client", "munged", "slurmctld", "slurmd", "sbatch", "srun")
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    socket_file = folder / "munge.socket"
    conf = folder / "slurm.conf"
    names = list(on.addresses) if on else [f"n{number}" for number in range(1, nodes + 1)]
    text = _slurm_conf(folder, socket_file, names, cpus, on)
    conf.write_text(text + "".join(f"{line}\n" for line in more))
    for name in ("state", *(f"{what}.{name}" for name in names for what in ("spool", "tmp"))):
        (folder / name).mkdir()
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    with contextlib.ExitStack() as stack:
        daemon = Daemons(folder, environment, stack)
        daemon(
            *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_file}"),
            *(f"--{what}-file={folder}/munged.{what}" for what in ("pid", "log", "seed")),
        )
        until(socket_file.exists, daemon.said)

        def at(name: str, *words: str) -> list[str]:
            return on.on(name, [_program(words[0]), *words[1:]]) if on else list(words)

        daemon(*at(names[0], "slurmctld", "-D", "-c", "-f", str(conf)))
        for name in names:
            daemon(*at(name, "slurmd", "-D", "-N", name, "-f", str(conf)))

        def idle() -> bool:
            return _said(at(names[0], "sinfo", "-h", "-o", "%T"), environment).split() == ["idle"]

        until(idle, daemon.said)
        yield conf
        _said(at(names[0], "scancel", "--user=root", "--signal=KILL", "--full"), environment)
        until(lambda: not _said(at(names[0], "squeue", "-h"), environment), daemon.said)


def _slurm_conf(folder: Path, munge: Path, names: Sequence[str], cpus: int, on: Hosts | None) -> str:
    host = names[0] if on else socket.gethostname().partition(".")[0]
    addresses = on.addresses if on else dict.fromkeys(names, "127.0.0.1")
    control, *ports = _free_ports(len(names) + 1)
    # TmpFS by node: else the step daemons of one job fight over PMIx's folder.
    text = f"""
        ClusterName=lab
        SlurmctldHost={host}({addresses[names[0]]})
        SlurmctldPort={control}
        SlurmUser=root
        SlurmdUser=root
        AuthType=auth/munge
        AuthInfo=socket={munge}
        CryptoType=crypto/munge
        StateSaveLocation={folder}/state
        SlurmdSpoolDir={folder}/spool.%n
        TmpFS={folder}/tmp.%n
        SlurmctldPidFile={folder}/slurmctld.pid
        SlurmdPidFile={folder}/slurmd.%n.pid
        ProctrackType=proctrack/linuxproc
        TaskPlugin=task/none
        JobAcctGatherType=jobacct_gather/none
        SelectType=select/cons_tres
        SelectTypeParameters=CR_CPU
        SwitchType=switch/none
        MpiDefault=none
        ReturnToService=2
        KillWait=5
        SlurmdParameters=config_overrides
        SchedulerParameters=sched_interval=1
        PartitionName=short Nodes=ALL Default=YES MaxTime=60 State=UP
        """
    lines = [line.strip() for line in text.strip().splitlines()]
    for name, port in zip(names, ports, strict=True):
        words = f"NodeAddr={addresses[name]} Port={port} CPUs={cpus} RealMemory=1000 State=UNKNOWN"
        lines.append(f"NodeName={name} NodeHostname={name if on else host} {words}")
    return "\n".join(lines) + "\n"


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


# --- Hosts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hosts:
    """Two hosts with one file system, joined by a wire. `remote_shell` is ssh with the keys to them."""

    first: int  # processes that hold the namespaces
    second: int
    remote_shell: Path
    addresses: Mapping[str, str]  # by name

    def on(self, host: str, words: Sequence[object]) -> list[str]:
        """The words that run a command on a host."""
        process = dict(zip(self.addresses, (self.first, self.second), strict=True))[host]
        return ["nsenter", f"--target={process}", "--net", "--uts", "--mount", "--", *map(str, words)]

    def environment(self) -> dict[str, str]:
        """What tells the launchers of Open MPI 5, Open MPI 4 and Hydra their remote shell; and Open MPI 5 not to bind,
        since the first core of both hosts is the same."""
        names = ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC")
        shell = dict.fromkeys(names, str(self.remote_shell))
        return {**os.environ, **shell, "PRTE_MCA_hwloc_default_binding_policy": "none"}


@contextlib.contextmanager
def hosts(folder: Path, names: tuple[str, str] = ("h1", "h2")) -> Iterator[Hosts]:
    """Each has a network, a name, an /etc/hosts and an sshd of its own; all end with the last process in them."""
    addresses = dict(zip(names, ("10.77.0.1", "10.77.0.2"), strict=True))
    shell = remote_shell(folder, addresses)
    with contextlib.ExitStack() as stack:
        daemon = Daemons(folder, dict(os.environ), stack)
        inside = begin_hosts(daemon, folder, addresses)
        first, second = inside.values()
        found = Hosts(first, second, shell, addresses)
        ends = [["name", "eth0", "netns", str(process)] for process in inside.values()]
        subprocess.run(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]], check=True)
        for name, address in addresses.items():
            subprocess.run(
                found.on(name, ["ip", "address", "add", f"{address}/24", "dev", "eth0"]), check=True
            )
            subprocess.run(found.on(name, ["ip", "link", "set", "eth0", "up"]), check=True)
        for there, other in (names, names[::-1]):
            words = found.on(there, [shell, other, "hostname"])
            until(lambda words=words, other=other: _said(words) == other, daemon.said)  # type: ignore[misc]
        yield found


def remote_shell(folder: Path, addresses: Mapping[str, str]) -> Path:
    """Keys, names and a shell for hosts with these addresses. Skips the test where there can be none."""
    need("openssh-server openssh-client iproute2", "sshd", "ssh", "ssh-keygen", "ip", "nsenter", "unshare")
    refused = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True)
    if refused.returncode:
        pytest.skip(f"network namespaces: {refused.stderr.strip()}")  # no package helps
    folder.chmod(0o700)
    (folder / "hosts").write_text(
        "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items())
    )
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    (folder / "ssh.conf").write_text(
        f"Host *\n User root\n IdentityFile {folder}/user\n StrictHostKeyChecking no\n"
        " UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
    shell = folder / "ssh"
    shell.write_text(f'#!/bin/sh\nexec ssh -F {folder}/ssh.conf "$@"\n')
    shell.chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd's unprivileged half goes; Debian's service makes it
    return shell


def begin_hosts(daemon: Daemons, folder: Path, names: Iterable[str]) -> dict[str, int]:
    """The processes that hold the namespaces; none has a network yet."""
    inside = {}
    for name in names:
        begin = (
            f"hostname {name}; mount --bind {folder}/hosts /etc/hosts; ip link set lo up; touch {folder}/{name}.up;"
            f" exec {_program('sshd')} -D -e -f /dev/null -h {folder}/host -o AuthorizedKeysFile={folder}/user.pub"
            " -o PermitRootLogin=prohibit-password -o UsePAM=no -o StrictModes=no -o PidFile=none -o MaxStartups=100"
        )
        inside[name] = daemon("unshare", "--net", "--uts", "--mount", "sh", "-c", begin)
    until(lambda: all((folder / f"{name}.up").exists() for name in inside), daemon.said)
    return inside


def second_wire(two: Hosts) -> None:
    """Another wire between the hosts, eth1 at both ends, with addresses of another network."""
    ends = [["name", "eth1", "netns", str(process)] for process in (two.first, two.second)]
    subprocess.run(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]], check=True)
    for name, address in (("h1", "10.78.0.1"), ("h2", "10.78.0.2")):
        subprocess.run(two.on(name, ["ip", "address", "add", f"{address}/24", "dev", "eth1"]), check=True)
        subprocess.run(two.on(name, ["ip", "link", "set", "eth1", "up"]), check=True)


# --- Daemons ---------------------------------------------------------------------------------------------------------


class Daemons:
    """Starts daemons whose words go to files in `folder`; they end, with what they started, in reverse order."""

    def __init__(self, folder: Path, environment: dict[str, str], stack: contextlib.ExitStack) -> None:
        self.folder, self.environment, self.stack = folder, environment, stack
        self.logs: list[Path] = []

    def __call__(self, name: str, *words: str) -> int:
        log = self.folder / f"{len(self.logs)}-{name}.log"
        self.logs.append(log)
        with log.open("wb") as file:
            process = subprocess.Popen(
                [_program(name) or name, *words],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.stack.callback(_end, process)
        return process.pid

    def said(self) -> str:
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-800:]}" for log in self.logs)


def _end(process: subprocess.Popen[bytes]) -> None:
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(family[1:], timeout=0.1)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(3)
    for each in (family[0], *alive):
        with contextlib.suppress(psutil.Error):
            each.kill()
    process.wait()


def _said(words: Sequence[object], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(list(map(str, words)), env=environment, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr}"


def until(what: Callable[[], bool], why: Callable[[], str] = lambda: "it does not come") -> None:
    """Waits for `what` to be so; `why` says what there is instead."""
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            raise AssertionError(why())
        time.sleep(0.05)
