"""GPUs of a host with their links, and the kind of memory of messages (-memory). Pure: imb.mpi.host_gpus reads the system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from imb.model import options
from imb.model.errors import ImbError
from imb.model.facts import fact
from imb.model.options import Memory
from imb.model.records import Run, UsedGpu
from imb.model.suite_arguments import option_name
from imb.model.text import one_line

KINDS = ("host", "pinned", "cuda", "cuda_managed", "rocm", "rocm_managed")
LETTERS = ("H", "D", "M")  # host, device, managed in OSU's benchmarks
DEVICE, SHARED = "device", "shared"  # memory of a GPU of any vendor, as in logs of IMB-MPI1-GPU
UNKNOWN = "unknown"  # for a log with GPUs that does not state where messages are
_ON_DEVICE = {"cuda", "rocm", DEVICE}
_MANAGED = {"cuda_managed", "rocm_managed", SHARED}

# GT/s -> PCIe generation and the share of transfers that is data, which depends on the encoding (8b/10b, 128b/130b, FLIT mode).
_GENERATIONS = {
    2.5: ("1.0", 0.8),
    5.0: ("2.0", 0.8),
    8.0: ("3.0", 128 / 130),
    16.0: ("4.0", 128 / 130),
    32.0: ("5.0", 128 / 130),
    64.0: ("6.0", 242 / 256),
}
SWITCH = "switch"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A PCIe link: current and maximum speed (GT/s per lane) and width (lanes). `slot_speed`: maximum speed of the upstream port."""

    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None
    slot_speed: float | None = None

    @property
    def port_speed(self) -> float | None:
        """`slot_speed`, or None if the link is faster now: a virtual machine then made up the port."""
        return self.slot_speed if (self.slot_speed or 0.0) >= (self.speed or 0.0) else None

    @property
    def best_speed(self) -> float | None:
        """GT/s under load. An idle GPU lowers its current speed, so the current speed is used only if no maximum is known."""
        known = [speed for speed in (self.max_speed, self.port_speed) if speed]
        return min(known) if known else self.speed

    @property
    def rate(self) -> float | None:
        """Bytes per second in one direction, without the overhead of the line encoding but with packet headers. None if unknown."""
        speed, lanes = self.best_speed, self.width or self.max_width
        _, share = _GENERATIONS.get(speed or 0.0, (None, None))
        return speed * 1e9 * lanes * share / 8 if speed and lanes and share else None

    def __str__(self) -> str:
        """`PCIe 4.0 x16`."""
        lanes = self.width or self.max_width
        return (
            f"PCIe {generation(self.best_speed)} x{lanes}" if self.best_speed and lanes else "PCIe, unknown"
        )


def generation(speed: float) -> str:
    """`5.0` for 32 GT/s; `30 GT/s` for a speed of no PCIe generation."""
    return _GENERATIONS[speed][0] if speed in _GENERATIONS else f"{speed:g} GT/s"


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a host. `driver` is the kernel driver, with its version if known. Fields that NVML supplies are None without NVML.

    `nvlinks`: number of active NVLinks; `nvlink_rate`: signaling rate of one NVLink (bytes per second, one direction);
    `nvlink_peers`: PCI address of the device at the other end, or `switch` -> number of NVLinks to it.
    """

    address: str
    vendor: str
    name: str
    driver: str | None = None
    numa_node: int | None = None
    link: Link = Link()
    nvlinks: int | None = None
    nvlinks_down: int | None = None
    nvlink_rate: float | None = None
    nvlink_peers: dict[str, int] | None = None
    pcie_replays: int | None = None
    ecc: bool | None = None
    mig: bool | None = None
    uncorrected_errors: int | None = None
    memory_bytes: int | None = None


def nvlink_rate(a: Gpu, b: Gpu) -> float | None:
    """Bytes per second in one direction over all NVLinks between two GPUs of one host: 0 if there are none, None if unknown."""
    rates = (_rate_to(a, b), _rate_to(b, a))
    if 0.0 in rates:
        return 0.0
    known = [rate for rate in rates if rate is not None]
    return min(known) if len(known) == len(rates) else None


def _rate_to(gpu: Gpu, peer: Gpu) -> float | None:
    """Bytes per second over the NVLinks from `gpu` to this peer or to a switch, or None if unknown."""
    if gpu.nvlinks == 0:
        return 0.0
    if gpu.nvlink_peers is None or gpu.nvlink_rate is None:
        return None
    ends = gpu.nvlink_peers.items()
    return gpu.nvlink_rate * sum(
        count for end, count in ends if end == SWITCH or are_same_address(end, peer.address)
    )


def gpu_of(conditions: object, used: UsedGpu) -> Gpu | None:
    """The GPU of a rank, as recorded conditions describe it. They describe only the launching host: None for a GPU of another host."""
    host = fact(str, conditions, "machine", "host") or ""
    if not used.bus_address or host.partition(".")[0] != used.host.partition(".")[0]:
        return None
    address, gpus = used.bus_address, fact(list[Gpu], conditions, "gpus") or []
    return next((gpu for gpu in gpus if are_same_address(gpu.address, address)), None)


def are_same_gpu(a: UsedGpu, b: UsedGpu) -> bool:
    """Whether two ranks use the same GPU. Compares PCI addresses, and indices only if an address is missing: an index counts the GPUs that a
    rank sees, and ranks may see different ones."""
    if a.host != b.host:
        return False
    if a.bus_address and b.bus_address:
        return are_same_address(a.bus_address, b.bus_address)
    return a.index == b.index


def are_same_address(a: str, b: str) -> bool:
    """Whether two PCI addresses are the same. Drivers write the domain with 4 or 8 digits, in upper or lower case."""
    return _short_address(a) == _short_address(b)


def _short_address(address: str) -> str:
    domain, colon, rest = address.lower().partition(":")
    return f"{domain.lstrip('0') or '0'}{colon}{rest}"


def memory_of(run: Run) -> str | None:
    """`host`, `cuda`, `cuda to host`, or None if the records do not state it."""
    memory = options.memory(run)
    return None if memory is None else str(memory)


def is_device_memory(memory: Memory) -> bool:
    """Whether the send or the receive buffer is in memory that only a GPU accesses."""
    return bool({*memory} & _ON_DEVICE)


def are_device_memory(memory: Memory) -> bool:
    """Whether both buffers are in memory that only a GPU accesses."""
    return {*memory} <= _ON_DEVICE


def is_managed_memory(memory: Memory) -> bool:
    """Whether the send or the receive buffer is in memory that migrates between host and GPU."""
    return bool({*memory} & _MANAGED)


def arguments(memory: str | None, gpu: str | int | None, where: str = "--") -> list[str]:
    """The suite's arguments -memory and -gpu. In `memory`, a comma or a blank separates the kinds for send and receive buffers. Messages
    put `where` in front of option names. Raises ImbError if there is no such memory or GPU."""
    words = ["-memory", _memory(memory, where)] if memory is not None else []
    return words + (["-gpu", _gpu(str(gpu), where)] if gpu is not None else [])


def refuse_twice(memory: str | None, gpu: str | int | None, words: Sequence[str], where: str = "--") -> None:
    """Raises ImbError if IMB's arguments repeat -memory or -gpu: the suite would silently use the last one."""
    for name, value in (("memory", memory), ("gpu", gpu)):
        if value is not None and {f"-{name}", f"--{name}"} & {word.lower() for word in words}:
            raise ImbError(
                f"{where}{name} and the IMB argument -{name} cannot be combined: {one_line(str(value))}; give one of them"
            )


def _memory(text: str, where: str) -> str:
    kinds = [_kind(word, where) for word in re.split(r"\s*,\s*|\s+", text.strip())]
    if len(kinds) > 2:
        raise ImbError(f"{where}memory: too many kinds: {one_line(text)}; give one, or two for send,receive")
    apis = {kind.removesuffix("_managed") for kind in kinds} & _ON_DEVICE
    if len(apis) > 1:
        raise ImbError(f"{where}memory: CUDA and ROCm cannot be combined: {one_line(text)}")
    return ",".join(kinds)


def _kind(word: str, where: str) -> str:
    if word.lower() in KINDS:
        return word.lower()
    if word.upper() in LETTERS:
        return word.upper()
    near = get_close_matches(word.lower(), KINDS, 1)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join((*KINDS, *LETTERS))}"
    raise ImbError(f"{where}memory: no such kind: {one_line(word) or 'an empty word'}; {hint}")


def _gpu(text: str, where: str) -> str:
    if re.fullmatch(r"\d{1,4}", text, re.ASCII) or text in ("local_rank", "round_robin"):
        return text
    raise ImbError(
        f"{where}gpu: not the choice of a GPU: {one_line(text)}; give a number, local_rank or round_robin"
    )


_NOT_OF_THE_HOST = {*KINDS, *map(str.lower, LETTERS)} - {"host", "h"}


def uses_gpu(words: Sequence[str]) -> bool:
    """Whether these arguments of the suite choose GPU memory, a GPU, or a load on the GPU. Knows `-memory D,H`, `-memory D H` and the
    options of IMB-MPI1-GPU."""
    lowered = [word.lower() for word in words]
    for at, word in enumerate(words):
        option = option_name(word)
        if option == "gpu":
            return True
        value = lowered[at + 1] if at + 1 < len(lowered) else ""
        if option == "load" and value == "device":
            return True
        second = lowered[at + 2] if at + 2 < len(lowered) else ""  # a kind of memory, or a benchmark
        if option == "memory" and _NOT_OF_THE_HOST & {*value.split(","), second}:
            return True
        if option == "mem_alloc_type" and value in ("host", "device", "shared"):  # host: pinned
            return True
    return False
