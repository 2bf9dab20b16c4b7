"""GPUs of this host: from sysfs, without any library, and with NVML's figures where its Python package and driver are there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from imb.model.gpus import Gpu, Link
from imb.model.text import one_line, readable

DEVICES = Path("/sys/bus/pci/devices")
MODULES = Path("/sys/module")
VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
# VGA, 3D and other display controllers; AMD's accelerators are "processing accelerators".
_CLASSES = ("0x0300", "0x0302", "0x0380")
_ACCELERATOR = "0x1200"
_MOST_NVLINKS = 18
_MOST_NAME = 80


def of_host(*, nvml: bool = False) -> list[Gpu]:
    """In the order of their addresses. `nvml`: with NVML's figures, whose start may take a second."""
    folders = sorted(DEVICES.glob("*"), key=lambda folder: folder.name)
    found = [gpu for folder in folders if (gpu := _gpu(folder))]
    return _enriched(found) if nvml and any(gpu.vendor == "NVIDIA" for gpu in found) else found


def _gpu(folder: Path) -> Gpu | None:
    """Of one PCI device; None where it is no GPU."""
    vendor = VENDORS.get(text_of(folder / "vendor") or "")
    kind = (text_of(folder / "class") or "")[:6]
    if vendor is None or not (kind in _CLASSES or (kind == _ACCELERATOR and vendor == "AMD")):
        return None
    node = text_of(folder / "numa_node") or ""
    name = text_of(folder / "product_name") or f"{vendor} {text_of(folder / 'device') or 'GPU'}"
    return Gpu(
        address=_text(folder.name),
        vendor=vendor,
        name=_text(name),
        driver=_driver(folder),
        numa_node=int(node) if node.isdecimal() else None,  # -1: the firmware does not say
        link=Link(
            speed=_speed(folder / "current_link_speed"),
            width=_width(folder / "current_link_width"),
            max_speed=_speed(folder / "max_link_speed"),
            max_width=_width(folder / "max_link_width"),
            slot_speed=_speed(folder.resolve().parent / "max_link_speed"),
        ),
    )


def _driver(folder: Path) -> str | None:
    """`nvidia 570.86.10`; None where no driver is bound to it."""
    try:
        name = (folder / "driver").readlink().name
    except OSError:
        return None
    return _text(" ".join(filter(None, [name, text_of(MODULES / name / "version")])))


def _speed(path: Path) -> float | None:
    """GT/s of `16.0 GT/s PCIe`."""
    found = re.match(r"(\d+(?:\.\d+)?) GT/s", text_of(path) or "")
    return float(found[1]) or None if found else None


def _width(path: Path) -> int | None:
    """Lanes; 0 and 255 are of devices without a link of their own."""
    text = text_of(path) or ""
    lanes = int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) else 0
    return lanes if 0 < lanes <= 32 else None


def text_of(path: Path) -> str | None:
    """Of a file of the kernel; None where it cannot be read."""
    try:
        return os.fsdecode(path.read_bytes()).strip()
    except OSError:
        return None


def _text(text: str) -> str:
    """As it may be recorded and shown."""
    return one_line(readable(text))[:_MOST_NAME]


def _enriched(gpus: list[Gpu]) -> list[Gpu]:
    """With what NVML knows; as they are where its package or its library is missing."""
    try:
        import pynvml
    except ImportError:
        return gpus
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return gpus
    try:
        return [_with_nvml(pynvml, gpu) if gpu.vendor == "NVIDIA" else gpu for gpu in gpus]
    finally:
        pynvml.nvmlShutdown()


def _with_nvml(nvml: Any, gpu: Gpu) -> Gpu:
    def asked(call: Callable[..., Any], *words: Any) -> Any:
        """The answer; None where this GPU or driver does not have it."""
        try:
            return call(*words)
        except nvml.NVMLError:
            return None

    handle = asked(nvml.nvmlDeviceGetHandleByPciBusId, gpu.address.encode("ascii", "replace"))
    if handle is None:
        return gpu
    states = [asked(nvml.nvmlDeviceGetNvLinkState, handle, link) for link in range(_MOST_NVLINKS)]
    active = states.count(1)
    name, version = asked(nvml.nvmlDeviceGetName, handle), asked(nvml.nvmlSystemGetDriverVersion)
    ecc = asked(nvml.nvmlDeviceGetEccMode, handle)
    memory = asked(nvml.nvmlDeviceGetMemoryInfo, handle)
    return msgspec.structs.replace(
        gpu,
        name=_word(name) or gpu.name,
        driver=f"nvidia {_word(version)}" if version else gpu.driver,
        nvlinks=active if set(states) != {None} else None,
        nvlinks_down=states.count(0) if active else None,
        nvlink_rate=_nvlink_rate(nvml, handle, active, asked),
        pcie_replays=asked(nvml.nvmlDeviceGetPcieReplayCounter, handle),
        ecc=bool(ecc[0]) if ecc else None,
        uncorrected_errors=asked(
            nvml.nvmlDeviceGetTotalEccErrors,
            handle,
            nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
            nvml.NVML_VOLATILE_ECC,
        ),
        memory_bytes=memory.total if memory else None,
    )


def _word(said: str | bytes | None) -> str | None:
    """Older packages answer in bytes."""
    return _text(said.decode("utf-8", "replace") if isinstance(said, bytes) else said) if said else None


def _nvlink_rate(nvml: Any, handle: Any, active: int, asked: Callable[..., Any]) -> float | None:
    """Bytes per second of all active links in one direction."""
    if not active:
        return None
    fields = asked(nvml.nvmlDeviceGetFieldValues, handle, [nvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON])
    field = fields[0] if fields else None
    if field is None or field.nvmlReturn != nvml.NVML_SUCCESS or not field.value.uiVal:
        return None
    return active * int(field.value.uiVal) * 1e6
