"""Finds the GPUs of this host in sysfs, without any library."""

from __future__ import annotations

import os
import re
from pathlib import Path

from imb.model.gpus import Gpu, Link
from imb.model.text import one_line, readable_text

DEVICES = Path("/sys/bus/pci/devices")
MODULES = Path("/sys/module")
VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
# PCI classes of VGA, 3D and other display controllers; AMD's accelerators are "processing accelerators".
_CLASSES = ("0x0300", "0x0302", "0x0380")
_ACCELERATOR = "0x1200"
_MOST_NAME = 80


def gpus_of_host() -> list[Gpu]:
    """The GPUs of this host, in the order of their addresses."""
    folders = sorted(DEVICES.glob("*"), key=lambda folder: folder.name)
    return [gpu for folder in folders if (gpu := _gpu(folder))]


def _gpu(folder: Path) -> Gpu | None:
    """The GPU at this PCI device, or None if the device is not a GPU."""
    vendor = VENDORS.get(text_of(folder / "vendor") or "")
    kind = (text_of(folder / "class") or "")[:6]
    if vendor is None or not (kind in _CLASSES or (kind == _ACCELERATOR and vendor == "AMD")):
        return None
    driver = _driver(folder)
    if driver is None and (folder / "physfn").exists():
        return None  # a virtual function for a guest
    node = text_of(folder / "numa_node") or ""
    card = _card(folder)
    name = text_of(folder / "product_name") or f"{vendor} {text_of(folder / 'device') or 'GPU'}"
    return Gpu(
        address=shown_text(folder.name),
        vendor=vendor,
        name=shown_text(name),
        driver=driver,
        numa_node=int(node) if node.isdecimal() else None,  # -1: unknown to the firmware
        link=Link(
            speed=_speed(card / "current_link_speed"),
            width=_width(card / "current_link_width"),
            max_speed=_speed(card / "max_link_speed"),
            max_width=_width(card / "max_link_width"),
            slot_speed=_speed(card.parent / "max_link_speed"),
        ),
    )


def _card(folder: Path) -> Path:
    """The device whose link connects the card to the host. AMD's and Intel's cards have a switch; there, it is the switch's upstream port.
    A port of the same vendor without a device above it belongs to the host."""
    card = folder.resolve()
    vendor = text_of(card / "vendor")
    while text_of(card.parent / "vendor") == vendor and text_of(card.parent.parent / "vendor"):
        card = card.parent
    return card


def _driver(folder: Path) -> str | None:
    """The kernel driver and its version, `nvidia 570.86.10`, or None if no driver is bound to the device."""
    try:
        name = (folder / "driver").readlink().name
    except OSError:
        return None
    return shown_text(" ".join(filter(None, [name, text_of(MODULES / name / "version")])))


def _speed(path: Path) -> float | None:
    """16.0 for a file with `16.0 GT/s PCIe`; None if the speed is unknown."""
    match = re.match(r"(\d+(?:\.\d+)?) GT/s", text_of(path) or "")
    return float(match[1]) or None if match else None


def _width(path: Path) -> int | None:
    """The number of lanes. None for 0 and 255, which mean that the device has no link of its own."""
    text = text_of(path) or ""
    lanes = int(text) if re.fullmatch(r"\d{1,3}", text, re.ASCII) else 0
    return lanes if 0 < lanes <= 32 else None


def text_of(path: Path) -> str | None:
    """The text of a file in /sys or /proc, encodable in JSON, or None if it cannot be read."""
    try:
        return readable_text(os.fsdecode(path.read_bytes())).strip()
    except OSError:
        return None


def shown_text(text: str) -> str:
    """The text in a form that may be recorded and shown."""
    return one_line(readable_text(text))[:_MOST_NAME]
