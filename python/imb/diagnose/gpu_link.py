"""A rule about messages in GPU memory: their bandwidth compared with the links of the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from imb.diagnose.case import Case, Finding, FindingLevel
from imb.diagnose.expectations import BestRate, best_rate
from imb.model import options
from imb.model.gpus import (
    UNKNOWN,
    are_device_memory,
    are_same_gpu,
    gpu_of,
    is_device_memory,
    is_managed_memory,
    nvlink_rate,
)
from imb.model.observations import Launch
from imb.model.units import percent_text, size


class Limit(NamedTuple):
    """A rate in bytes per second in one direction, and the link that has this rate."""

    rate: float
    name: str


def bandwidth(case: Case) -> Iterator[Finding]:
    """Yield the best bandwidth from or to device memory as a share of the GPU link's; a warning if it is far
    below or above."""
    if case.memory is None or not is_device_memory(case.memory):
        if case.limits.gpu_link:
            unknown = case.memory is not None and UNKNOWN in case.memory
            case.note(
                "--gpu-link: the log does not show whether messages are in device memory"
                if unknown
                else "--gpu-link: messages are not in device memory (imb run --memory cuda)"
            )
        return
    limit = _limit(case)
    if isinstance(limit, str):
        case.note(f"bandwidth against the GPU's link: {limit}")
        return
    best = best_rate(case)
    if best is None:
        case.note("bandwidth against the GPU's link: needs a transfer of 64 KiB or more, such as PingPong")
        return
    yield _finding(case, best, limit)


def _finding(case: Case, best: BestRate, limit: Limit) -> Finding:
    share, threshold = best.rate / limit.rate, case.thresholds.gpu_link_share
    level: FindingLevel = "warning"
    weight = share
    if share < threshold:
        weight = threshold / max(share, 1e-9)
        advice = (
            "messages pass host memory, or another path: check GPUDirect and peer access (UCX_TLS, nvidia-smi topo -m), the"
            " NUMA node of ranks (--cpus), and the link under load (imb doctor)"
        )
    elif share > 1.05:
        advice = "messages do not use that link only: is there another, or is a given rate in bits instead of bytes?"
    else:
        level, advice = "information", "none needed; headers of packets take 10 to 20 % of a PCIe link"
    return Finding(
        level=level,
        rule="gpu-link",
        where=str(best.curve.key),
        found=f"{best.rate / 1e9:.3g} of {limit.rate / 1e9:.3g} GB/s of {limit.name} ({percent_text(share, 0)}) at {size(best.bytes)}",
        advice=advice,
        evidence={"bandwidth": best.rate, "link": limit.rate, "name": limit.name, "bytes": int(best.bytes)},
        weight=weight,
    )


def _limit(case: Case) -> Limit | str:
    """The smallest limit of all launches, or the reason why one is unknown."""
    by_launch = [_launch_limit(case, launch) for launch in case.side.launches]
    limits = [limit for limit in by_launch if isinstance(limit, Limit)]
    return (
        next(limit for limit in by_launch if isinstance(limit, str))
        if len(limits) < len(by_launch)
        else min(limits)
    )


def _launch_limit(case: Case, launch: Launch) -> Limit | str:
    memory = options.memory(launch.run)
    if memory and launch.run.gpus is None and not is_managed_memory(memory) and case.limits.gpu_link:
        case.note("whether ranks 0 and 1 use two GPUs of one host: the log does not have them; assumed")
        return Limit(case.limits.gpu_link, "--gpu-link")
    used = {rank: gpu for gpu in launch.run.gpus or [] for rank in gpu.ranks}
    first, second = used.get(0), used.get(1)
    if not memory or first is None or second is None:
        return "the records do not have the GPUs of ranks 0 and 1"
    if is_managed_memory(memory):
        return "one side is managed memory, whose pages move between host and GPU"
    if are_device_memory(memory) and are_same_gpu(first, second):
        return "ranks 0 and 1 use one GPU, so no message passes its link"
    if first.host != second.host:
        return _host_pair_limit(case)
    if case.limits.gpu_link:
        return Limit(case.limits.gpu_link, "--gpu-link")
    gpus = [gpu for device in (first, second) if (gpu := gpu_of(launch.facts.get("conditions"), device))]
    if len(gpus) < 2:
        return "the conditions do not have the links of both GPUs; give --gpu-link"
    if are_device_memory(memory):
        direct = nvlink_rate(*gpus)
        if direct is None:
            return (
                "links between its GPUs are not known; pip install nvidia-ml-py (NVIDIA), or give --gpu-link"
            )
        if direct:
            return Limit(direct, "the NVLinks between these GPUs")
    slowest = min(gpus, key=lambda gpu: gpu.link.rate or float("inf"))
    if slowest.link.rate is None:
        return "the kernel does not show its speed and width; give --gpu-link"
    return Limit(slowest.link.rate, f"this PCIe link ({str(slowest.link).removeprefix('PCIe ')})")


def _host_pair_limit(case: Case) -> Limit | str:
    """The limit of messages that pass the links of both GPUs and the network, or the reason why it is
    unknown."""
    link, gpu_link = case.limits.link, case.limits.gpu_link
    if not link or not gpu_link:
        return "messages between hosts pass the network as well; give --gpu-link and --link"
    return min(Limit(gpu_link, "--gpu-link"), Limit(link, "--link"))
