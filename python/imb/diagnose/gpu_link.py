"""A rule on messages in GPU memory: their bandwidth against that of the links of their GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from imb.diagnose.case import Case, Curve, Finding
from imb.diagnose.expected import pair_rates
from imb.model.gpus import Gpu, gpus_in, of_device, same_address
from imb.model.observations import Launch
from imb.model.records import UsedGpu
from imb.model.units import size


class Limit(NamedTuple):
    """Bytes per second in one direction, and what has it."""

    rate: float
    name: str


def bandwidth(case: Case) -> Iterator[Finding]:
    """The best bandwidth from or to device memory is far from that of the link of the GPU."""
    if case.memory is None or not of_device(case.memory):
        if case.limits.gpu_link:
            case.note("--gpu-link: messages are not in device memory (imb run --memory cuda)")
        return
    limit = _limit(case)
    if isinstance(limit, str):
        case.note(f"bandwidth against the GPU's link: {limit}")
        return
    best: tuple[float, Curve, float] | None = None
    for curve, lengths, rates in pair_rates(case):
        at = int(np.argmax(rates))
        best = max(
            filter(None, [best, (float(rates[at]), curve, float(lengths[at]))]), key=lambda one: one[0]
        )
    if best is None:
        case.note("bandwidth against the GPU's link: needs a transfer of 64 KiB or more, such as PingPong")
        return
    yield _finding(case, best, limit)


def _finding(case: Case, best: tuple[float, Curve, float], limit: Limit) -> Finding:
    rate, curve, length = best
    share, threshold = rate / limit.rate, case.thresholds.gpu_link_share
    found = f"{rate / 1e9:.3g} of {limit.rate / 1e9:.3g} GB/s of {limit.name} ({share:.0%}) at {size(length)}"
    level, weight = "information", share
    advice = "none needed; headers of packets take 10 to 20 % of a PCIe link"
    if share < threshold:
        level, weight = "warning", threshold / max(share, 1e-9)
        advice = (
            "messages pass host memory, or another path: check GPUDirect and peer access (UCX_TLS, nvidia-smi topo -m), the"
            " NUMA node of ranks (--cpus), and the link under load (imb doctor)"
        )
    elif share > 1.05:
        level = "warning"
        advice = "messages do not use that link only: is there an NVLink, or is --gpu-link in bits instead of bytes?"
    return Finding(
        level="warning" if level == "warning" else "information",
        rule="gpu-link",
        where=str(curve.key),
        found=found,
        advice=advice,
        evidence={"bandwidth": rate, "link": limit.rate, "name": limit.name, "bytes": int(length)},
        weight=weight,
    )


def _limit(case: Case) -> Limit | str:
    """Of the slowest launch; or why there is none."""
    found = [_of_launch(case, launch) for launch in case.side.launches]
    limits = [one for one in found if isinstance(one, Limit)]
    return next(one for one in found if isinstance(one, str)) if len(limits) < len(found) else min(limits)


def _of_launch(case: Case, launch: Launch) -> Limit | str:
    memory = launch.run.options.memory if launch.run.options else None
    used = {rank: gpu for gpu in launch.run.gpus or [] for rank in gpu.ranks}
    first, second = used.get(0), used.get(1)
    if not memory or first is None or second is None:
        return "the records do not have the GPUs of ranks 0 and 1"
    both = of_device(memory) and {memory.send, memory.receive} <= {"cuda", "rocm"}
    if both and (first.host, first.index) == (second.host, second.index):
        return "ranks 0 and 1 use one GPU, so no message passes its link"
    if case.limits.gpu_link:
        return Limit(case.limits.gpu_link, "--gpu-link")
    links = [_link_of(launch, gpu) for gpu in (first, second)]
    known = [gpu for gpu in links if gpu]
    if len(known) < 2:
        return "the link is recorded for GPUs of the host that launches only; give --gpu-link"
    if both and first.host == second.host and all(gpu.nvlink_rate for gpu in known):
        return Limit(min(gpu.nvlink_rate or 0.0 for gpu in known), "the NVLinks of this GPU")
    slowest = min(known, key=lambda gpu: gpu.link.rate or float("inf"))
    if slowest.link.rate is None:
        return "the kernel does not show its speed and width; give --gpu-link"
    return Limit(slowest.link.rate, f"this PCIe link ({str(slowest.link).removeprefix('PCIe ')})")


def _link_of(launch: Launch, used: UsedGpu) -> Gpu | None:
    """Of the conditions, which are those of the host that launched."""
    outside = launch.facts.get("conditions")
    machine = outside.get("machine") if isinstance(outside, dict) else None
    if (
        not isinstance(machine, dict)
        or str(machine.get("host")).partition(".")[0] != used.host.partition(".")[0]
    ):
        return None
    address = used.bus_address or ""
    return next((gpu for gpu in gpus_in(outside) if same_address(gpu.address, address)), None)
