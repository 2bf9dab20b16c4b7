"""Reads properties of NVIDIA's GPUs from NVML, if its Python package (extra `gpu`) and the driver's library are installed."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from imb.model.gpus import SWITCH, Gpu
from imb.mpi.host_gpus import shown_text

_WITHOUT_LINKS = (2, 3)  # NVML_ERROR_INVALID_ARGUMENT, _NOT_SUPPORTED
_ABSENT = (9, 12)  # NVML_ERROR_DRIVER_NOT_LOADED, _LIBRARY_NOT_FOUND
_HIDDEN = (2, 4, 6)  # errors for GPUs of other containers: _INVALID_ARGUMENT, _NO_PERMISSION, _NOT_FOUND
_BROKEN = (15, 16)  # NVML_ERROR_GPU_IS_LOST, _RESET_REQUIRED
_FIRST_NVLINKS = 18  # most links of a GPU, for packages that lack NVML_NVLINK_MAX_LINKS
_TO_GPU, _TO_CPU, _TO_SWITCH = 0, 1, 2  # NVML_NVLINK_DEVICE_TYPE_...
_SMI = "see `nvidia-smi`; after an update of the driver, reload its modules or restart the host"


class Answer(NamedTuple):
    """GPUs, with NVML's properties if it has them. `found`: how NVML answered, empty if there is nothing to report; `failed`: whether NVML
    should have answered but did not."""

    gpus: list[Gpu]
    found: str = ""
    advice: str = ""
    failed: bool = False


def add_figures(gpus: list[Gpu]) -> Answer:
    """The GPUs from sysfs with NVML's properties added. NVML may need a second to start. If it fails, the GPUs are returned unchanged."""
    needed = any(gpu.vendor == "NVIDIA" for gpu in gpus)
    bound = any((gpu.driver or "").startswith("nvidia") for gpu in gpus)
    try:
        import pynvml
    except ImportError:
        advice = "pip install nvidia-ml-py for names, NVLinks and errors"
        return Answer(gpus, "not asked, its Python package is missing", advice) if needed else Answer(gpus)
    try:
        pynvml.nvmlInit()
    except Exception as error:
        if _code(error) in _ABSENT and not needed:
            return Answer(gpus)
        return Answer(gpus, shown_text(f"no answer: {error}"), _SMI, failed=bound or not needed)
    try:
        return _answered(pynvml, gpus)
    except Exception as error:
        return Answer(gpus, shown_text(f"no answer: {error}"), _SMI, failed=True)
    finally:
        with contextlib.suppress(Exception):
            pynvml.nvmlShutdown()


def _answered(nvml: Any, present: list[Gpu]) -> Answer:
    asking = _Query(nvml)
    if not any(gpu.vendor == "NVIDIA" for gpu in present):
        present = [*present, *asking.all_gpus()]
    gpus = [asking.add_details(gpu) if gpu.vendor == "NVIDIA" else gpu for gpu in present]
    version = asking.driver()
    if asking.broken:
        return Answer(
            gpus, shown_text("; ".join(asking.broken)), "see `dmesg` for Xid errors, and `nvidia-smi`", True
        )
    return Answer(
        gpus, f"driver {version}" if version and any(gpu.vendor == "NVIDIA" for gpu in gpus) else ""
    )


def _code(error: Exception | None) -> object:
    """The code of an NVML error, or None."""
    return getattr(error, "value", None)


class _Query:
    """Calls NVML. An error counts as no answer, since old versions of the package lack some calls."""

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.gpu = ""  # the GPU that the calls concern
        self.broken: dict[str, None] = {}  # GPUs with their errors, each once
        self.error: Exception | None = None  # error of the last call

    def ask(self, call: Callable[[], Any]) -> Any:
        """The result of a call, or None if this GPU, driver or package does not support it."""
        self.error = None
        try:
            return call()
        except Exception as error:
            self.error = error
            if _code(error) in _BROKEN:
                self.broken[f"{self.gpu}: {error}"] = None
            return None

    def driver(self) -> str | None:
        return _word(self.ask(lambda: self.nvml.nvmlSystemGetDriverVersion()))

    def all_gpus(self) -> list[Gpu]:
        """The GPUs that NVML lists."""
        count = self.ask(lambda: self.nvml.nvmlDeviceGetCount()) or 0
        return [gpu for index in range(count) if (gpu := self.gpu_at(index))]

    def gpu_at(self, index: int) -> Gpu | None:
        nvml, self.gpu = self.nvml, f"GPU {index}"
        bus = self.ask(lambda: _word(nvml.nvmlDeviceGetPciInfo(nvml.nvmlDeviceGetHandleByIndex(index)).busId))
        if not bus:
            return None
        address = re.sub(
            "^0000(?=....:)", "", bus.lower()
        )  # the kernel writes the domain with four digits less
        return Gpu(address=address, vendor="NVIDIA", name="NVIDIA GPU")

    def add_details(self, gpu: Gpu) -> Gpu:
        nvml, self.gpu = self.nvml, gpu.address
        handle = self.ask(lambda: nvml.nvmlDeviceGetHandleByPciBusId(gpu.address.encode("ascii", "replace")))
        if handle is None:
            if _code(self.error) not in _HIDDEN:
                self.broken[f"{self.gpu}: {self.error}"] = None
            return gpu
        name, version = self.ask(lambda: nvml.nvmlDeviceGetName(handle)), self.driver()
        ecc = self.ask(lambda: nvml.nvmlDeviceGetEccMode(handle)[0])
        mig = self.ask(lambda: nvml.nvmlDeviceGetMigMode(handle)[0])
        return msgspec.structs.replace(
            gpu,
            name=_word(name) or gpu.name,
            driver=f"nvidia {version}" if version else gpu.driver,
            pcie_replays=self.ask(lambda: nvml.nvmlDeviceGetPcieReplayCounter(handle)),
            ecc=None if ecc is None else bool(ecc),
            mig=None if mig is None else bool(mig),
            uncorrected_errors=self.ask(
                lambda: nvml.nvmlDeviceGetTotalEccErrors(
                    handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
                )
            ),
            memory_bytes=self.ask(lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).total)),
            **self.nvlinks(handle),
        )

    def nvlinks(self, handle: Any) -> dict[str, Any]:
        """The NVLink fields of a Gpu; empty if NVML does not provide them."""
        nvml, active, down = self.nvml, [], 0
        for link in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", _FIRST_NVLINKS)):
            state = self.ask(partial(nvml.nvmlDeviceGetNvLinkState, handle, link))
            if state is None and link == 0 and _code(self.error) not in _WITHOUT_LINKS:
                return {}
            active += [link] if state == 1 else []
            down += state == 0
        if not active:
            return {"nvlinks": 0, "nvlinks_down": down, "nvlink_peers": {}}
        ends = [self.other_end(handle, link) for link in active]
        return {
            "nvlinks": len(active),
            "nvlinks_down": down,
            "nvlink_rate": self.ask(lambda: _speed(nvml, handle)),
            "nvlink_peers": None if None in ends else dict(Counter(ends)),
        }

    def other_end(self, handle: Any, link: int) -> str | None:
        """The other end of a link: a PCI address, SWITCH, or None if unknown."""
        nvml = self.nvml
        kind = self.ask(lambda: nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link))
        if kind == _TO_SWITCH:
            return SWITCH
        if kind not in (_TO_GPU, _TO_CPU):
            return None
        info = self.ask(lambda: nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link))
        return _word(info.busId) if info else None


def _speed(nvml: Any, handle: Any) -> float | None:
    """Bytes per second of one link in one direction, or None if unknown."""
    (field,) = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON])
    known = field.nvmlReturn == nvml.NVML_SUCCESS
    return int(field.value.uiVal) * 1e6 or None if known else None


def _word(text: str | bytes | None) -> str | None:
    """The text for display; older packages return bytes."""
    return shown_text(text.decode("utf-8", "replace") if isinstance(text, bytes) else text) if text else None
