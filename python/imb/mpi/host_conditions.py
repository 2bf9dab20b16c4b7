"""Gathers the conditions of a launch on this host: the machine, its load, the MPI and the variables that influence it. Unknown values
are None."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec
import psutil

from imb.model.conditions import Cache, Conditions, Interface, Machine
from imb.model.errors import UNDECODABLE
from imb.model.mpis import SETTINGS
from imb.model.schedulers import RECORDED_VARIABLES
from imb.model.secrecy import hide_secrets
from imb.model.text import now, readable_text
from imb.mpi import host_gpus, nvml
from imb.mpi.host import answer_of, physical_cores
from imb.mpi.host_gpus import text_of
from imb.mpi.installations import Installation, output_of

_OF_GUESTS = re.compile(r"(veth|docker|br-|virbr|vnet|tap|cni|cali|flannel|lxc)")


def gather(mpi: Installation | None = None, *, with_gpus: bool = False) -> Conditions:
    """The current conditions. Except for the first call, this reads only files and takes a few milliseconds. `with_gpus` also asks NVML."""
    return Conditions(
        time=now(),
        machine=machine(),
        governors=governors(),
        frequency_megahertz=_frequency(),
        clock_source=text_of(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        load=answer_of(lambda: round(os.getloadavg()[0], 2)),
        memory_free_bytes=answer_of(lambda: psutil.virtual_memory().available),
        mpi=mpi.version if mpi else None,
        mpi_wrapper=mpi.place if mpi else None,
        launcher=mpi.launcher if mpi else None,
        interfaces=interfaces(),
        gpus=nvml.add_figures(host_gpus.gpus_of_host()).gpus if with_gpus else [],
        environment=steering_variables(os.environ.items()),
    )


def interfaces(rdma: Path = Path("/sys/class/infiniband")) -> list[Interface]:
    """Network interfaces sorted by name, without temporary ones of containers and virtual machines; then RDMA ports, with the names in
    records (`mlx5_0`, or `mlx5_0:2` if a device has several ports)."""
    addresses = answer_of(psutil.net_if_addrs) or {}
    all_interfaces = [
        Interface(
            name=readable_text(name),
            up=about.isup,
            addressed=any(
                address.family in (socket.AF_INET, socket.AF_INET6) for address in addresses.get(name, [])
            ),
            speed=about.speed * 1e6 if about.speed > 0 else None,
        )
        for name, about in sorted((answer_of(psutil.net_if_stats) or {}).items())
        if not _OF_GUESTS.match(name)
    ]
    for device in sorted(rdma.glob("*")):
        ports = sorted(device.glob("ports/*"))
        for port in ports:
            rate = re.match(r"([\d.]+) Gb/sec", text_of(port / "rate") or "")
            all_interfaces.append(
                Interface(
                    name=f"{device.name}:{port.name}" if len(ports) > 1 else device.name,
                    rdma=True,
                    up="ACTIVE" in (text_of(port / "state") or ""),
                    speed=float(rate[1]) * 1e9 if rate else None,
                )
            )
    return all_interfaces


def steering_variables(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment variables that influence MPI, transports and threads. Values that may be secret are hidden."""
    return hide_secrets(
        {
            name: readable_text(value)
            for name, value in sorted(variables)
            if SETTINGS.match(name) or RECORDED_VARIABLES.match(name)
        }
    )


@lru_cache
def machine() -> Machine:
    """Properties of this machine, from lscpu, /sys and /proc."""
    facts = lscpu(output_of(["lscpu", "-J"], {"LC_ALL": "C"})[1])
    allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", text_of(Path("/proc/self/status")) or "")
    return Machine(
        host=socket.gethostname(),
        system=_distribution(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu_model=facts.get("Model name"),
        cpus=answer_of(psutil.cpu_count),
        cpus_allowed=allowed[1] if allowed else None,
        cores=physical_cores(),
        sockets=_integer(facts.get("Socket(s)")),
        threads_per_core=_integer(facts.get("Thread(s) per core")),
        numa_nodes=_integer(facts.get("NUMA node(s)")),
        caches=[
            Cache(name.removesuffix(" cache"), value)
            for name, value in facts.items()
            if name.endswith(" cache")
        ],
        memory_bytes=answer_of(lambda: psutil.virtual_memory().total),
        virtual_machine=facts.get("Hypervisor vendor"),
        container=_container(),
    )


class _Field(msgspec.Struct):
    field: str
    data: str | None = None
    children: list[_Field] = []


class _Lscpu(msgspec.Struct):
    lscpu: list[_Field]


def lscpu(text: str) -> dict[str, str]:
    """Field -> value in the output of `lscpu -J`; newer versions nest fields. Empty if the text is not such output."""
    try:
        fields = msgspec.json.decode(text, type=_Lscpu).lscpu
    except UNDECODABLE:
        return {}
    values: dict[str, str] = {}
    while fields:
        values |= {field.field.removesuffix(":"): field.data for field in fields if field.data}
        fields = [child for field in fields for child in field.children]
    return values


def governors() -> list[str] | None:
    """The active frequency governors, each once, or None if the kernel shows none, as in most virtual machines."""
    files = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")
    return sorted({governor for file in files if (governor := text_of(file))}) or None


def _container() -> str | None:
    if os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if Path("/.dockerenv").exists():
        return "docker"
    if Path("/run/.containerenv").exists():
        return "podman"
    match = re.search(r"docker|kubepods|containerd|lxc", text_of(Path("/proc/1/cgroup")) or "")
    return match[0] if match else None


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def _integer(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _frequency() -> float | None:
    frequency = answer_of(psutil.cpu_freq)
    return round(frequency.current) if frequency and frequency.current else None
