"""Findings on the GPUs of this host and their links, for `imb doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from imb.model.gpus import Gpu, generation
from imb.model.mpis import GPU_TITLES
from imb.model.text import numbers_in
from imb.model.units import count_of
from imb.mpi import host_gpus
from imb.mpi.host import allowed_cpus
from imb.mpi.installations import Installation
from imb.mpi.nvml import Answer
from imb.mpi.readiness_checks import Check

NODES = Path("/sys/devices/system/node")
_APIS = {"NVIDIA": "cuda", "AMD": "rocm"}  # vendor -> API of its GPUs, as in -memory


def checks(answer: Answer) -> Iterator[Check]:
    """Yields several findings for each GPU."""
    if not answer.gpus:
        yield Check("ok", "GPUs", "none")
    if answer.found:
        yield Check("warning" if answer.failed else "ok", "NVML", answer.found, answer.advice)
    for gpu in answer.gpus:
        subject = f"GPU {gpu.address}"
        yield _named(subject, gpu)
        yield _link(subject, gpu)
        yield _nearness(subject, gpu)
        yield from _nvlinks(subject, gpu)
        yield from _errors(subject, gpu)


def _named(subject: str, gpu: Gpu) -> Check:
    if gpu.driver is None:
        return Check(
            "warning", subject, f"{gpu.name}, no driver", "load the driver of its vendor (`lspci -k`)"
        )
    memory = f", {gpu.memory_bytes / 2**30:.0f} GiB" if gpu.memory_bytes else ""
    mig = ", MIG is on" if gpu.mig else ""
    if gpu.driver.partition(" ")[0] in ("nouveau", "vfio-pci"):
        advice = "CUDA needs the vendor's driver; vfio-pci hands the GPU to a virtual machine"
        return Check("warning", subject, f"{gpu.name}{memory}, driver {gpu.driver}", advice)
    return Check("ok", subject, f"{gpu.name}{memory}, driver {gpu.driver}{mig}")


def _link(subject: str, gpu: Gpu) -> Check:
    link, subject = gpu.link, f"{subject}: PCIe"
    if not (link.speed and link.width):
        return Check("ok", subject, "no link of its own, or not shown by the kernel")
    rate = f", {link.rate / 1e9:.1f} GB/s in one direction" if link.rate else ""
    current = _lanes(link.speed, link.width)
    best = _lanes(link.max_speed or link.speed, link.max_width or link.width)
    if link.max_width and link.width < link.max_width:
        advice = f"{link.width} of {link.max_width} lanes: use a slot with all lanes, or seat the card or riser again"
        return Check("warning", subject, f"{current} of {best}{rate}", advice)
    if link.max_speed and link.port_speed and link.port_speed < link.max_speed:
        advice = f"the port above it reaches PCIe {generation(link.port_speed)} only: use a slot of the card's generation"
        return Check("warning", subject, f"{current} of {best}{rate}", advice)
    if link.max_speed and link.speed < link.max_speed:
        advice = "an idle GPU lowers its speed: repeat while it transfers data; if it stays, check slot, riser and BIOS"
        return Check("warning", subject, f"{current} of {best}{rate} at most", advice)
    return Check("ok", subject, f"{current}{rate}")


def _lanes(speed: float, width: int) -> str:
    """`5.0 x16 (32 GT/s)`"""
    return f"{generation(speed)} x{width} ({speed:g} GT/s)"


def _nearness(subject: str, gpu: Gpu) -> Check:
    """The finding whether this process may run on CPUs near the GPU; ranks inherit its allowed CPUs."""
    subject = f"{subject}: NUMA"
    if gpu.numa_node is None:
        return Check("ok", subject, "one node, or not known to the firmware")
    near_gpu = _cpus(gpu.numa_node)
    allowed = allowed_cpus() or set[int]()
    far = _distance(gpu.numa_node, allowed)
    if near_gpu and allowed and not near_gpu & allowed:
        advice = "messages cross the link between sockets: start ranks on CPUs of the GPU's node (--cpus)"
        return Check("warning", subject, f"node {gpu.numa_node}, no allowed CPU on it{far}", advice)
    return Check("ok", subject, f"node {gpu.numa_node}{far}")


def _distance(node: int, allowed: set[int]) -> str:
    """`, distance 21`: the firmware's distance to the nearest NUMA node that has allowed CPUs (10 is the same node). Empty if unknown."""
    distances = (host_gpus.text_of(NODES / f"node{node}" / "distance") or "").split()
    online = sorted(numbers_in(host_gpus.text_of(NODES / "online") or ""))
    near = [
        int(far)
        for other, far in zip(online, distances, strict=False)
        if far.isdecimal() and _cpus(other) & allowed
    ]
    return f", distance {min(near)}" if near else ""


def _cpus(node: int) -> set[int]:
    return numbers_in(host_gpus.text_of(NODES / f"node{node}" / "cpulist") or "")


def _nvlinks(subject: str, gpu: Gpu) -> Iterator[Check]:
    if gpu.nvlinks is None:
        return
    subject = f"{subject}: NVLink"
    rate = f", {gpu.nvlinks * gpu.nvlink_rate / 1e9:.0f} GB/s in one direction" if gpu.nvlink_rate else ""
    if gpu.nvlinks_down:
        advice = (
            "see `nvidia-smi nvlink -s` and the fabric manager's log; a card without a bridge has none up"
        )
        total = count_of(gpu.nvlinks + gpu.nvlinks_down, "link")
        yield Check("warning", subject, f"{gpu.nvlinks} of {total} up{rate}", advice)
    else:
        yield Check("ok", subject, f"{count_of(gpu.nvlinks, 'link')} up{rate}" if gpu.nvlinks else "none")


def _errors(subject: str, gpu: Gpu) -> Iterator[Check]:
    if gpu.pcie_replays:
        advice = "packets were sent again: a bad contact or riser; does the number grow (`nvidia-smi -q`)?"
        yield Check("warning", f"{subject}: PCIe replays", str(gpu.pcie_replays), advice)
    elif gpu.pcie_replays == 0:
        yield Check("ok", f"{subject}: PCIe replays", "0")
    if gpu.ecc is None:
        return
    if gpu.uncorrected_errors:
        advice = "memory of the GPU is defective: reset it, and replace it if errors return"
        text = f"{count_of(gpu.uncorrected_errors, 'uncorrected error')} since the driver was loaded"
        yield Check("problem", f"{subject}: ECC", text, advice)
    elif gpu.ecc:
        yield Check("ok", f"{subject}: ECC", "on")
    else:
        advice = "nothing detects wrong bits in its memory: `nvidia-smi -e 1` as root, then a reset"
        yield Check("warning", f"{subject}: ECC", "off", advice)


def support_checks(mpi: Installation, gpus: list[Gpu]) -> Iterator[Check]:
    """Yields a finding for each kind of GPU in this host: a warning if the MPI does not support its memory."""
    present: Sequence[str | None] = sorted(
        {_APIS[gpu.vendor] for gpu in gpus if gpu.vendor in _APIS and gpu.driver}
    )
    for api in present or [None]:
        support = mpi.gpu_support(api)
        yield Check(
            "warning" if support.answer == "no" and api else "ok",
            f"{mpi.version}: GPU memory{f' ({GPU_TITLES[api]})' if api else ''}",
            f"{support.answer} ({support.source})",
            support.change if api else "",
        )
