"""GPUs of a host with their links, and the memory of messages (-memory). Pure; imb.mpi.gpus reads them from the system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import msgspec

from imb.model.errors import ImbError
from imb.model.records import Memory, Run
from imb.model.text import one_line

KINDS = ("host", "pinned", "cuda", "cuda_managed", "rocm", "rocm_managed")
LETTERS = ("H", "D", "M")  # of OSU's benchmarks: host, device, managed
_ON_DEVICE = {"cuda", "rocm"}

# Share of a link's transfers that is data, by GT/s: 8b/10b up to generation 2, 128b/130b up to 5, then FLIT mode.
_ENCODING = (
    (2.5, 0.8),
    (5.0, 0.8),
    (8.0, 128 / 130),
    (16.0, 128 / 130),
    (32.0, 128 / 130),
    (64.0, 242 / 256),
)


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A PCIe link: GT/s per lane and lanes, now and at most. `slot_speed`: the most that the port above it can."""

    speed: float | None = None
    width: int | None = None
    max_speed: float | None = None
    max_width: int | None = None
    slot_speed: float | None = None

    @property
    def best_speed(self) -> float | None:
        """GT/s under load. An idle GPU lowers the current speed, so that is not a limit."""
        known = [speed for speed in (self.max_speed, self.slot_speed) if speed]
        return min(known) if known else self.speed

    @property
    def rate(self) -> float | None:
        """Bytes per second in one direction, after the encoding of the line; headers of packets are not subtracted."""
        speed, lanes = self.best_speed, self.width or self.max_width
        share = next((share for most, share in _ENCODING if speed and speed <= most), None)
        return speed * 1e9 * lanes * share / 8 if speed and lanes and share else None

    def __str__(self) -> str:
        """`PCIe 16 GT/s x16`."""
        return (
            f"PCIe {self.best_speed:g} GT/s x{self.width or self.max_width}" if self.rate else "PCIe, unknown"
        )


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of a host. `driver` is the kernel's, with its version where it is known. Figures of NVML are None without it:
    `nvlinks` are its active NVLinks, `nvlink_rate` bytes per second of all of them in one direction."""

    address: str
    vendor: str
    name: str
    driver: str | None = None
    numa_node: int | None = None
    link: Link = Link()
    nvlinks: int | None = None
    nvlinks_down: int | None = None
    nvlink_rate: float | None = None
    pcie_replays: int | None = None
    ecc: bool | None = None
    uncorrected_errors: int | None = None
    memory_bytes: int | None = None

    def __str__(self) -> str:
        """As a condition: without what varies from moment to moment."""
        words = [self.name, f"at {self.address}", self.driver and f"driver {self.driver}"]
        words += [str(self.link) if self.link.rate else None]
        words += [f"{self.nvlinks} NVLinks" if self.nvlinks else None]
        return one_line(", ".join(filter(None, words)))


def gpus_in(said: object) -> list[Gpu]:
    """Those of recorded conditions; none where there are none, or others than these."""
    listed = said.get("gpus") if isinstance(said, dict) else None
    try:
        return msgspec.convert(listed or [], list[Gpu])
    except msgspec.ValidationError:
        return []


def same_address(a: str, b: str) -> bool:
    """Of PCI: drivers write the domain with 4 or with 8 digits, in either case."""
    return _plain(a) == _plain(b)


def _plain(address: str) -> str:
    domain, colon, rest = address.lower().partition(":")
    return f"{domain.lstrip('0') or '0'}{colon}{rest}"


def memory_of(run: Run) -> str | None:
    """`host`, `cuda`, `cuda to host`; None where the records have no options. Records without the field used host memory."""
    options = run.options
    if options is None or (not options.memory and options.settings is None):
        return None
    return str(options.memory) if options.memory else "host"


def of_device(memory: Memory) -> bool:
    """Whether a side is in memory that only a GPU accesses."""
    return bool({memory.send, memory.receive} & _ON_DEVICE)


def arguments(memory: str | None, gpu: str | int | None, where: str = "--") -> list[str]:
    """The suite's -memory and -gpu. `where` precedes the names of the options in messages. Raises ImbError."""
    words = ["-memory", _memory(memory, where)] if memory is not None else []
    return words + (["-gpu", _gpu(str(gpu), where)] if gpu is not None else [])


def _memory(text: str, where: str) -> str:
    kinds = [_kind(word.strip(), where) for word in text.split(",")]
    if len(kinds) > 2:
        raise ImbError(f"{where}memory: too many kinds: {one_line(text)}; give one, or two for send,receive")
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
    raise ImbError(f"{where}gpu: no GPU: {one_line(text)}; give a number, local_rank or round_robin")


def uses_gpu(words: Sequence[str]) -> bool:
    """Whether these arguments of the suite name memory other than the host's, a GPU, or its load. Both `-memory D,H` and
    `-memory D H`, and the names of IMB-MPI1-GPU."""
    said = [word.lower() for word in words]
    for at, word in enumerate(said):
        if word in ("-gpu", "-gpu_select"):
            return True
        value = said[at + 1] if at + 1 < len(said) else ""
        if word == "-load" and value == "device":
            return True
        kinds = {*value.split(","), *(one for one in said[at + 2 : at + 3] if one in ("d", "m"))}
        if word == "-memory" and kinds - {"host", "h", ""}:
            return True
        if word == "-mem_alloc_type" and value not in ("", "cpu", "host"):
            return True
    return False
