"""GPUs of a host and memory of messages: doctor, launches. Without a GPU: a tree of sysfs, and NVML in Python."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest
from companion import fake_mpi
from companion.door import Imb
from imb.model import mpis
from imb.model.gpus import Link, arguments, uses_gpu
from imb.mpi import gpu_checks, host_gpus, installations
from imb.mpi import nvml as nvml_of
from imb.mpi.installations import Installation
from imb.mpi.readiness_checks import Check
from imb.runner import campaign_definition
from imb.store.store import Archive

NVIDIA = "0000:17:00.0"


def device(tree: Path, address: str = NVIDIA, *, slot: str = "32.0 GT/s PCIe", **files: str) -> Path:
    """A device of PCI below a port, and its link in the folder of devices."""
    told = {
        "vendor": "0x10de",
        "device": "0x2335",
        "class": "0x030200",
        "numa_node": "0",
        "current_link_speed": "32.0 GT/s PCIe",
        "current_link_width": "16",
        "max_link_speed": "32.0 GT/s PCIe",
        "max_link_width": "16",
    } | files
    port = tree / "devices" / f"port-{address}"
    folder = port / address
    folder.mkdir(parents=True)
    (port / "max_link_speed").write_text(slot + "\n")
    for name, text in told.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape") + b"\n")
    (tree / "modules" / "nvidia").mkdir(parents=True, exist_ok=True)
    (tree / "modules" / "nvidia" / "version").write_text("570.86.10\n")
    (folder / "driver").symlink_to(tree / "modules" / "nvidia")
    (tree / "pci").mkdir(exist_ok=True)
    (tree / "pci" / address).symlink_to(folder)
    return folder


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host without GPUs and without NVML."""
    monkeypatch.setattr(host_gpus, "DEVICES", tmp_path / "pci")
    monkeypatch.setattr(host_gpus, "MODULES", tmp_path / "modules")
    monkeypatch.setattr(gpu_checks, "NODES", tmp_path / "nodes")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    return tmp_path


NOT_SUPPORTED, NOT_FOUND, DRIVER_NOT_LOADED, LIBRARY_NOT_FOUND, LOST, MISMATCH = 3, 6, 9, 12, 15, 18


class NVMLError(Exception):
    """As the package has it."""

    def __init__(self, value: int = NOT_SUPPORTED) -> None:
        super().__init__(f"error {value}")
        self.value = value


def nvml(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> list[str]:
    """NVML of one GPU; an answer that is an exception is raised. Returns the calls of its start and end."""
    calls: list[str] = []
    module = ModuleType("pynvml")
    speed = SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=26562))
    said: dict[str, Any] = {
        "nvmlDeviceGetHandleByPciBusId": "handle",
        "nvmlDeviceGetCount": 0,
        "nvmlSystemGetDriverVersion": b"570.86.10",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetNvLinkState": NVMLError(),
        "nvmlDeviceGetNvLinkRemoteDeviceType": 2,
        "nvmlDeviceGetMigMode": NVMLError(),
        "nvmlDeviceGetFieldValues": [speed],
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=141 * 2**30),
        "nvmlDeviceGetPcieReplayCounter": 0,
        "nvmlDeviceGetTotalEccErrors": 0,
    } | answers

    def answering(answer: Any) -> Callable[..., Any]:
        def call(*words: Any) -> Any:
            value = answer(*words) if callable(answer) else answer
            if isinstance(value, BaseException):
                raise value
            return value

        return call

    for name, answer in said.items():
        setattr(module, name, answering(answer))
    constants = {
        "nvmlInit": lambda: calls.append("init"),
        "nvmlShutdown": lambda: calls.append("shutdown"),
        "NVML_SUCCESS": 0,
        "NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON": 90,
        "NVML_MEMORY_ERROR_TYPE_UNCORRECTED": 1,
        "NVML_VOLATILE_ECC": 0,
        "NVML_NVLINK_MAX_LINKS": 36,
    }
    for name, value in constants.items():
        if name not in answers:
            setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return calls


def findings() -> dict[str, Check]:
    return {one.what: one for one in gpu_checks.checks(nvml_of.add_figures(host_gpus.gpus_of_host()))}


def test_a_host_without_gpus_has_none(tree: Path) -> None:
    assert host_gpus.gpus_of_host() == []
    assert findings()["GPUs"].found == "none"


def test_gpus_are_found_without_any_library(tree: Path) -> None:
    device(tree)
    device(tree, "0000:63:00.0", vendor="0x1002", **{"class": "0x120000"}, product_name="Instinct")
    device(tree, "0000:00:02.0", vendor="0x8086", **{"class": "0x030000"})
    device(tree, "0000:01:00.0", **{"class": "0x020000"})  # a network adapter
    device(tree, "0000:02:00.0", vendor="0x1a03", **{"class": "0x030000"})  # a console
    device(tree, "0000:03:00.0", vendor="0x8086", **{"class": "0x120000"})  # no GPU of Intel has this class
    found = {gpu.address: gpu for gpu in host_gpus.gpus_of_host()}
    assert list(found) == ["0000:00:02.0", NVIDIA, "0000:63:00.0"]
    assert [gpu.vendor for gpu in found.values()] == ["Intel", "NVIDIA", "AMD"]
    assert found[NVIDIA].name == "NVIDIA 0x2335" and found["0000:63:00.0"].name == "Instinct"
    assert found[NVIDIA].driver == "nvidia 570.86.10"
    assert found[NVIDIA].link.rate == pytest.approx(63.0e9, rel=1e-3)


def bridge(folder: Path, vendor: str, speed: str, width: str) -> Path:
    """A port of PCIe in a folder of devices."""
    folder.mkdir(parents=True)
    link = {"current_link_speed": speed, "max_link_speed": speed}
    link |= {"current_link_width": width, "max_link_width": width}
    for name, text in {"vendor": vendor, "class": "0x060400", **link}.items():
        (folder / name).write_text(text + "\n")
    return folder


@pytest.mark.parametrize("host", ["0x1002", "0x1022"])
def test_the_link_of_a_card_with_a_switch_is_that_of_its_upstream_port(tree: Path, host: str) -> None:
    """AMD's cards, and Intel's: the link of the GPU itself is inside of the card."""
    root = bridge(tree / "pci0000:00" / "0000:00:01.0", host, "8.0 GT/s PCIe", "16")
    upstream = bridge(root / "0000:01:00.0", "0x1002", "16.0 GT/s PCIe", "8")
    downstream = bridge(upstream / "0000:02:00.0", "0x1002", "2.5 GT/s PCIe", "1")
    inside = {"current_link_speed": "2.5 GT/s PCIe", "current_link_width": "1"}
    folder = device(tree, "0000:03:00.0", vendor="0x1002", **inside)
    folder.rename(downstream / folder.name)
    (tree / "pci" / folder.name).unlink()
    (tree / "pci" / folder.name).symlink_to(downstream / folder.name)
    (gpu,) = host_gpus.gpus_of_host()
    assert gpu.link == Link(speed=16.0, width=8, max_speed=16.0, max_width=8, slot_speed=8.0)


def test_virtual_functions_without_a_driver_are_no_gpus(tree: Path) -> None:
    folder = device(tree)
    (folder / "physfn").symlink_to(tree)
    assert [gpu.address for gpu in host_gpus.gpus_of_host()] == [NVIDIA]  # passed on to this container
    (folder / "driver").unlink()
    assert host_gpus.gpus_of_host() == []


@pytest.mark.parametrize(
    ("speed", "width", "rate"),
    [(2.5, 16, 4e9), (5.0, 8, 4e9), (8.0, 16, 15.754e9), (16.0, 16, 31.508e9), (64.0, 16, 121e9)],
)
def test_rates_of_pcie_links(speed: float, width: int, rate: float) -> None:
    assert Link(speed=speed, width=width).rate == pytest.approx(rate, rel=1e-3)


def test_an_idle_link_is_limited_by_what_it_can_and_by_its_port() -> None:
    idle = Link(speed=2.5, width=8, max_speed=32.0, max_width=16, slot_speed=16.0)
    assert str(idle) == "PCIe 4.0 x8"
    assert Link().rate is None and Link(speed=2.5).rate is None


def test_a_port_that_is_slower_than_its_link_is_virtual() -> None:
    passed_through = Link(speed=16.0, width=16, max_speed=32.0, max_width=16, slot_speed=2.5)
    assert passed_through.best_speed == 32.0


@pytest.mark.parametrize(
    ("files", "rate", "advice"),
    [
        ({"current_link_width": "8"}, "31.5 GB/s in one direction", "8 of 16 lanes"),
        (
            {"slot": "16.0 GT/s PCIe", "current_link_speed": "16.0 GT/s PCIe"},
            "31.5 GB/s in one direction",
            "the port above it reaches PCIe 4.0 only",
        ),
        ({"current_link_speed": "2.5 GT/s PCIe"}, "63.0 GB/s in one direction at most", "an idle GPU lowers"),
    ],
)
def test_a_link_below_its_maximum_is_a_warning(
    tree: Path, files: dict[str, str], rate: str, advice: str
) -> None:
    device(tree, **files)
    found = findings()[f"GPU {NVIDIA}: PCIe"]
    assert found.level == "warning" and advice in found.advice
    assert found.found.endswith(" of 5.0 x16 (32 GT/s), " + rate)


def test_a_port_of_a_virtual_machine_is_no_limit(tree: Path) -> None:
    device(tree, slot="2.5 GT/s PCIe")
    found = findings()[f"GPU {NVIDIA}: PCIe"]
    assert (found.level, found.found) == ("ok", "5.0 x16 (32 GT/s), 63.0 GB/s in one direction")


def test_a_healthy_gpu_gives_no_warning(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    calls = nvml(monkeypatch, nvmlDeviceGetNvLinkState=lambda _, link: 1 if link < 12 else NVMLError())
    found = findings()
    assert {one.level for one in found.values()} == {"ok"}
    assert found["NVML"].found == "driver 570.86.10"
    assert found[f"GPU {NVIDIA}: PCIe"].found == "5.0 x16 (32 GT/s), 63.0 GB/s in one direction"
    assert found[f"GPU {NVIDIA}"].found == "NVIDIA H200, 141 GiB, driver nvidia 570.86.10"
    assert found[f"GPU {NVIDIA}: NVLink"].found == "12 links up, 319 GB/s in one direction"
    assert calls == ["init", "shutdown"]


def test_nvml_findings(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    nvml(
        monkeypatch,
        nvmlDeviceGetNvLinkState=lambda _, link: [1, 0][link] if link < 2 else NVMLError(),
        nvmlDeviceGetPcieReplayCounter=7,
        nvmlDeviceGetTotalEccErrors=2,
    )
    found = findings()
    assert found[f"GPU {NVIDIA}: NVLink"].level == "warning"
    assert found[f"GPU {NVIDIA}: PCIe replays"].found == "7"
    assert found[f"GPU {NVIDIA}: ECC"].level == "problem"
    nvml(monkeypatch, nvmlDeviceGetEccMode=[0, 0])
    assert findings()[f"GPU {NVIDIA}: ECC"].level == "warning"


def test_gpus_without_nvlinks(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    nvml(monkeypatch)
    assert findings()[f"GPU {NVIDIA}: NVLink"].found == "none"
    nvml(monkeypatch, nvmlDeviceGetNvLinkState=NVMLError(999))
    assert f"GPU {NVIDIA}: NVLink" not in findings()


def test_all_nvlinks_down(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    nvml(monkeypatch, nvmlDeviceGetNvLinkState=lambda _, link: 0 if link < 20 else NVMLError(2))
    found = findings()[f"GPU {NVIDIA}: NVLink"]
    assert (found.level, found.found) == ("warning", "0 of 20 links up")


def test_what_nvlinks_end_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)

    def peers(**answers: Any) -> dict[str, int] | None:
        nvml(
            monkeypatch,
            nvmlDeviceGetNvLinkState=lambda _, link: 1 if link < 6 else NVMLError(2),
            nvmlDeviceGetNvLinkRemotePciInfo=lambda _, link: SimpleNamespace(
                busId=f"00000000:{0x18 + link // 4:02X}:00.0".encode()
            ),
            **answers,
        )
        (gpu,) = nvml_of.add_figures(host_gpus.gpus_of_host()).gpus
        assert gpu.nvlinks == 6 and gpu.nvlink_rate == 26.562e9
        return gpu.nvlink_peers

    assert peers() == {"switch": 6}
    direct = {"00000000:18:00.0": 4, "00000000:19:00.0": 2}
    assert peers(nvmlDeviceGetNvLinkRemoteDeviceType=0) == direct
    assert peers(nvmlDeviceGetNvLinkRemoteDeviceType=255) is None
    assert peers(nvmlDeviceGetNvLinkRemoteDeviceType=NVMLError(13)) is None


def test_gpus_in_instances_are_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    nvml(monkeypatch, nvmlDeviceGetMigMode=[1, 1])
    assert findings()[f"GPU {NVIDIA}"].found == "NVIDIA H200, 141 GiB, driver nvidia 570.86.10, MIG is on"


def test_nvml_that_knows_nothing_leaves_what_sysfs_has(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree)
    plain = host_gpus.gpus_of_host()
    nvml(monkeypatch, nvmlDeviceGetHandleByPciBusId=NVMLError(NOT_FOUND))  # of another container
    assert nvml_of.add_figures(plain).gpus == plain and findings()["NVML"].level == "ok"
    calls = nvml(monkeypatch, nvmlInit=NVMLError(MISMATCH))
    assert nvml_of.add_figures(plain).gpus == plain and calls == []


@pytest.mark.parametrize(
    ("answers", "level", "text"),
    [
        ({"nvmlInit": NVMLError(MISMATCH)}, "warning", "error 18"),
        ({"nvmlInit": NVMLError(LIBRARY_NOT_FOUND)}, "warning", "error 12"),
        ({"nvmlInit": OSError("no\nway")}, "warning", "no way"),
        ({"nvmlDeviceGetHandleByPciBusId": NVMLError(LOST)}, "warning", f"{NVIDIA}: error 15"),
        ({"nvmlDeviceGetHandleByPciBusId": NVMLError(999)}, "warning", f"{NVIDIA}: error 999"),
        ({"nvmlDeviceGetName": NVMLError(LOST)}, "warning", f"{NVIDIA}: error 15"),
    ],
)
def test_why_nvml_has_no_answer(
    tree: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], level: str, text: str
) -> None:
    device(tree)
    nvml(monkeypatch, **answers)
    found = findings()["NVML"]
    assert found.level == level and text in found.found and "nvidia-smi" in found.advice


def test_without_the_package_nvml_is_not_asked(tree: Path) -> None:
    device(tree)
    found = findings()["NVML"]
    assert (found.level, found.found) == ("ok", "not asked, its Python package is missing")
    assert "nvidia-ml-py" in found.advice


def test_hosts_without_nvidia_have_no_finding_on_nvml(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(findings()) == ["GPUs"]
    for code in (LIBRARY_NOT_FOUND, DRIVER_NOT_LOADED):
        nvml(monkeypatch, nvmlInit=NVMLError(code))
        assert list(findings()) == ["GPUs"]
    nvml(monkeypatch, nvmlInit=NVMLError(MISMATCH))
    assert findings()["NVML"].level == "warning"


def test_gpus_that_only_nvml_shows(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In WSL2 and in sandboxes, sysfs has none."""
    nvml(
        monkeypatch,
        nvmlDeviceGetCount=1,
        nvmlDeviceGetHandleByIndex="handle",
        nvmlDeviceGetPciInfo=SimpleNamespace(busId=b"00000000:C1:00.0"),
    )
    found = findings()
    assert found["GPU 0000:c1:00.0"].found == "NVIDIA H200, 141 GiB, driver nvidia 570.86.10"
    assert {one.level for one in found.values()} == {"ok"}


def test_no_answer_of_nvml_ends_a_launch(
    tree: Path, imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tree)
    nvml(
        monkeypatch,
        nvmlDeviceGetName=UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        nvmlDeviceGetMemoryInfo="no structure",
        nvmlShutdown=NVMLError(999),
    )
    monkeypatch.delattr(sys.modules["pynvml"], "NVML_VOLATILE_ECC")
    said = imb("run", *fake_mpi.make(tree / "mpi"), "--memory", "cuda", "PingPong", "--classic")
    assert said.code == 0, said.err
    (name,) = archive.ids()
    (one,) = archive.run(name).facts()["conditions"]["gpus"]
    assert one["address"] == NVIDIA and one["driver"] == "nvidia 570.86.10"


def test_doctor_prints_the_machine_before_it_asks_nvml(
    tree: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that hangs leaves its name on the screen."""
    nvml(monkeypatch, nvmlInit=lambda: KeyboardInterrupt())
    said = imb("doctor")
    assert said.code == 130 and "host: " in said.out and "GPU" not in said.out


def nodes(tree: Path, told: dict[int, tuple[str, str]]) -> None:
    """NUMA nodes: their CPUs, and their distances to all of them in this order."""
    for node, (cpus, distances) in told.items():
        (tree / "nodes" / f"node{node}").mkdir(parents=True)
        (tree / "nodes" / f"node{node}" / "cpulist").write_text(cpus + "\n")
        (tree / "nodes" / f"node{node}" / "distance").write_text(distances + "\n")
    (tree / "nodes" / "online").write_text(",".join(map(str, told)) + "\n")


def test_distances_are_of_the_nodes_that_are_online(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """POWER numbers its nodes 0 and 8."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {80})
    nodes(tree, {0: ("0-79", "10 40"), 8: ("80-159", "40 10")})
    device(tree, numa_node="0")
    assert findings()[f"GPU {NVIDIA}: NUMA"].found == "node 0, no allowed CPU on it, distance 40"


def test_a_gpu_of_another_numa_node(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    nodes(tree, {0: ("0-1", "10 21"), 1: ("2-3", "21 10")})
    device(tree, numa_node="1")
    device(tree, "0000:18:00.0", numa_node="0")
    device(tree, "0000:19:00.0", numa_node="-1")
    found = findings()
    far = found[f"GPU {NVIDIA}: NUMA"]
    assert (far.level, far.found) == ("warning", "node 1, no allowed CPU on it, distance 21")
    near = found["GPU 0000:18:00.0: NUMA"]
    assert (near.level, near.found) == ("ok", "node 0, distance 10")
    assert found["GPU 0000:19:00.0: NUMA"].level == "ok"


def test_a_gpu_without_a_driver(tree: Path) -> None:
    (device(tree) / "driver").unlink()
    found = findings()[f"GPU {NVIDIA}"]
    assert (found.level, found.found) == ("warning", "NVIDIA 0x2335, no driver")


def test_names_of_devices_are_data(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device(tree, vendor="0x1002", product_name="\x1b[31mevil\u202e\nname\udcff")
    (gpu,) = host_gpus.gpus_of_host()
    assert gpu.name == "?[31mevil? name\\xff"
    device(tree, "0000:18:00.0", current_link_width="²", numa_node="x", max_link_speed="Unknown")
    nvml(monkeypatch, nvmlDeviceGetName=b"\x1b]0;title\x07")
    assert nvml_of.add_figures(host_gpus.gpus_of_host()).gpus[1].name == "?]0;title?"


# What MPIs say


def mpi_of(folder: Path, flavor: Any, version: str = "MPI 1.0", **tools: str) -> Installation:
    (folder / "bin").mkdir(parents=True)
    for name, text in {"mpicxx": "", "mpiexec": "", **tools}.items():
        (folder / "bin" / name).write_text(
            f"#!/bin/sh\ncat <<'EOF_'\n{text}\nEOF_\nexit {int(name == 'mpicxx')}\n"
        )  # compiles nothing
        (folder / "bin" / name).chmod(0o755)
    wrapper, launcher = (str(folder / "bin" / name) for name in ("mpicxx", "mpiexec"))
    return Installation(flavor=flavor, version=version, major=1, wrapper=wrapper, launcher=launcher)


CUDA = "mca:mpi:base:param:mpi_built_with_cuda_support:value:"
ROCM = "mca:accelerator:null:version:mca:2.1.0\nmca:accelerator:rocm:version:component:5.0.7"


@pytest.mark.parametrize(
    ("text", "any_gpu", "cuda", "rocm"),
    [
        (f"{CUDA}true", "yes", "yes", "unknown"),
        (f"{CUDA}false", "no", "no", "unknown"),
        (f"{CUDA}false\n{ROCM}", "yes", "no", "yes"),
        (ROCM, "yes", "no", "yes"),
        (f"{CUDA}false\nmca:accelerator:null:version:mca:2.1", "no", "no", "no"),
        ("mca:btl:self:version:mca:2.1.0", "unknown", "unknown", "unknown"),
    ],
)
def test_open_mpi_by_ompi_info(tmp_path: Path, text: str, any_gpu: str, cuda: str, rocm: str) -> None:
    mpi = mpi_of(tmp_path / "mpi", "openmpi", ompi_info=text)
    found = {api: mpi.gpu_support(api) for api in (None, "cuda", "rocm")}
    assert {api: one.answer for api, one in found.items()} == {None: any_gpu, "cuda": cuda, "rocm": rocm}
    assert all("ompi_info" in one.source for one in found.values())
    assert found["rocm"].answer != "no" or "--with-rocm" in found["rocm"].change


@pytest.mark.parametrize(
    ("options", "any_gpu", "cuda", "rocm"),
    [
        ("'--prefix=/opt' '--with-cuda=/usr/local/cuda' '--with-device=ch4:ucx'", "yes", "yes", "no"),
        ("--with-hip=/opt/rocm", "yes", "no", "yes"),
        ("--with-ze --with-device=ch4:ofi", "yes", "no", "no"),
        ("--without-cuda --with-device=ch4:ofi", "no", "no", "unknown"),
        ("--with-cuda=no", "no", "no", "unknown"),
        ("--with-device=ch4:ofi", "unknown", "unknown", "unknown"),
    ],
)
def test_mpich_by_its_configure_line(
    tmp_path: Path, options: str, any_gpu: str, cuda: str, rocm: str
) -> None:
    mpi = mpi_of(tmp_path / "mpi", "mpich", mpichversion=f"MPICH Version: 4.3\nMPICH configure: {options}")
    found = {api: mpi.gpu_support(api) for api in (None, "cuda", "rocm")}
    assert {api: one.answer for api, one in found.items()} == {None: any_gpu, "cuda": cuda, "rocm": rocm}
    assert all(one.source.startswith("mpichversion") for one in found.values())


CRAY = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"


@pytest.mark.parametrize(
    ("flavor", "text", "name", "unset"),
    [
        ("other", CRAY, "MPICH_GPU_SUPPORT_ENABLED", "no"),
        ("intel", "", "I_MPI_OFFLOAD", "no"),
        ("mpich", "MPICH configure: --with-cuda=/usr", "MPIR_CVAR_ENABLE_GPU", "yes"),
    ],
)
def test_settings_switch_support_on_and_off_as_in_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flavor: str, text: str, name: str, unset: str
) -> None:
    version = "Cray MPICH 8.1.28.15" if text == CRAY else "MPI 1.0"
    mpi = mpi_of(tmp_path / "mpi", flavor, version, mpichversion=text)
    monkeypatch.delenv(name, raising=False)
    found = mpi.gpu_support("cuda")
    assert found.answer == unset
    besides = " and LD_PRELOAD=libmpi_gtl_cuda.so" if text == CRAY else ""
    assert unset == "yes" or found[1:] == (f"{name} is not set", f"set {name}=1{besides}")
    for value in ("0", "no", "off", "false", ""):
        monkeypatch.setenv(name, value)
        assert mpi.gpu_support("cuda") == ("no", f"{name}={value}", f"set {name}=1{besides}")
    monkeypatch.setenv(name, "1")
    assert mpi.gpu_support("cuda").answer == "yes"


def test_cray_mpich_by_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its launcher is in another folder, without mpichversion."""
    monkeypatch.setenv("CRAY_MPICH_VERSION", "8.1.28")
    monkeypatch.setenv("MPICH_GPU_SUPPORT_ENABLED", "1")
    found = mpi_of(tmp_path / "mpi", "other").gpu_support("rocm")
    assert found == ("yes", "MPICH_GPU_SUPPORT_ENABLED=1", "")


def test_cray_mpich_is_found_though_srun_starts_it(
    imb: Imb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder has no launcher. Another MPI is preferred where none is chosen."""
    for name, text in {"cray/mpicxx": "", "cray/mpichversion": f"echo '{CRAY}'", "slurm/srun": ""}.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
    options = fake_mpi.make(tmp_path / "mpi")
    monkeypatch.delenv("IMB_MPI", raising=False)
    folders = [tmp_path / "cray", tmp_path / "mpi" / "bin"]
    monkeypatch.setattr(installations, "_folders", lambda: folders)
    monkeypatch.setenv("PATH", f"{tmp_path}/slurm")
    cray = next(mpi for mpi in installations.find_all() if mpi.place == f"{tmp_path}/cray/mpicxx")
    assert (cray.flavor, cray.version) == ("other", "Cray MPICH 8.1.28.15")
    assert cray.launcher == f"{tmp_path}/slurm/srun" and installations.find(None).flavor != "other"
    words = ["run", "PingPong", "--mpi", cray.place, "--programs", options[3], "--dry-run"]
    said = imb(*words, "--launcher", "srun")
    assert said.code == 0 and said.out.startswith("srun --mpi=pmi2"), said.err
    said = imb(*words)
    assert said.code == 2 and "unsupported launcher (Cray MPICH 8.1.28.15)" in said.err
    (tmp_path / "slurm" / "srun").unlink()
    said = imb(*words)
    assert said.code == 2 and "no launcher for Cray MPICH 8.1.28.15" in said.err


def test_settings_are_those_of_the_suite() -> None:
    source = (Path(__file__).parents[2] / "src" / "model" / "mpi_products.cpp").read_text()
    body = source[source.index("bool is_off") :].partition("}")[0]
    assert {*re.findall(r'value == "(\w+)"', body), ""} == set(mpis.OFF) and "value.empty()" in body
    table = re.findall(r'\{"(\w+)", "[^"]+", (true|false), (true|false)\}', source)
    assert {(name, needed == "true", rocm == "true") for name, needed, rocm in table} == {
        tuple(one.gpu_setting) for one in mpis.MPIS if one.gpu_setting
    }
    assert f'offload_mode = "{mpis.INTEL_MPI.offload_mode}"' in source


@pytest.mark.parametrize(
    ("mode", "api", "answer"),
    [
        (None, "cuda", "yes"),
        ("auto", "cuda", "yes"),
        ("level_zero", "cuda", "no"),
        (None, "rocm", "no"),
    ],
)
def test_intel_mpi_with_gpus_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str | None, api: str, answer: str
) -> None:
    monkeypatch.setenv("I_MPI_OFFLOAD", "1")
    monkeypatch.delenv("I_MPI_OFFLOAD_MODE", raising=False)
    if mode:
        monkeypatch.setenv("I_MPI_OFFLOAD_MODE", mode)
    found = mpi_of(tmp_path / "mpi", "intel").gpu_support(api)
    assert found.answer == answer and bool(found.change) == (answer == "no")


def test_an_mpi_without_known_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAY_MPICH_VERSION", raising=False)
    assert mpi_of(tmp_path / "mpi", "other").gpu_support().answer == "unknown"


def test_values_that_are_no_utf_8_are_readable(tree: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch) -> None:
    mpi = mpi_of(tree / "mpi", "intel")
    monkeypatch.setattr(installations, "find", lambda _: mpi)
    monkeypatch.setattr(installations, "installations_of", lambda _: [mpi])
    monkeypatch.setenv("I_MPI_OFFLOAD", "\udcff")
    said = imb("doctor", "--mpi", "intel", "--format", "json")
    assert "yes (I_MPI_OFFLOAD=\\\\xff)" in said.out


def test_programs_beside_the_wrapper_go_before_those_beside_the_launcher(tmp_path: Path) -> None:
    mpi = mpi_of(tmp_path / "a", "mpich", mpichversion="MPICH configure: --with-cuda")
    other = mpi_of(tmp_path / "b", "mpich", mpichversion="MPICH configure: --without-cuda")
    assert msgspec.structs.replace(mpi, launcher=other.launcher).gpu_support().answer == "yes"


def test_no_support_is_a_warning_only_where_there_is_a_gpu(tree: Path) -> None:
    mpi = mpi_of(tree / "mpi", "mpich", mpichversion="MPICH configure: --without-cuda")
    (without,) = gpu_checks.support_checks(mpi, [])
    assert (without.what, without.level, without.advice) == ("MPI 1.0: GPU memory", "ok", "")
    device(tree)
    device(tree, "0000:63:00.0", vendor="0x1002", **{"class": "0x120000"})
    cuda, rocm = gpu_checks.support_checks(mpi, host_gpus.gpus_of_host())
    assert cuda.what == "MPI 1.0: GPU memory (CUDA)"
    assert cuda.level == "warning" and "--with-cuda" in cuda.advice
    assert rocm.what == "MPI 1.0: GPU memory (ROCm)" and rocm.level == "ok"


def test_doctor_lists_gpus_and_what_the_mpi_says(
    tree: Path, imb: Imb, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tree, current_link_width="8")
    mpi = mpi_of(
        tree / "mpi", "openmpi", ompi_info="mca:mpi:base:param:mpi_built_with_cuda_support:value:true"
    )
    monkeypatch.setattr(installations, "find", lambda _: mpi)
    monkeypatch.setattr(installations, "installations_of", lambda _: [mpi])
    said = imb("doctor", "--mpi", "openmpi", "--format", "json")
    found = {one["what"]: one for one in map(json.loads, said.out.splitlines())}
    assert found[f"GPU {NVIDIA}: PCIe"]["level"] == "warning"
    assert found["MPI 1.0: GPU memory (CUDA)"]["found"] == "yes (ompi_info: mpi_built_with_cuda_support true)"


# Launches


@pytest.mark.parametrize(
    ("memory", "gpu", "words"),
    [
        (None, None, []),
        ("cuda", None, ["-memory", "cuda"]),
        ("CUDA, host", "1", ["-memory", "cuda,host", "-gpu", "1"]),
        ("d,H", "round_robin", ["-memory", "D,H", "-gpu", "round_robin"]),
        ("D H", None, ["-memory", "D,H"]),
        (None, 0, ["-gpu", "0"]),
    ],
)
def test_options_of_the_suite(memory: str | None, gpu: Any, words: list[str]) -> None:
    assert arguments(memory, gpu) == words


@pytest.mark.parametrize(
    ("memory", "gpu", "message"),
    [
        ("cude", None, "--memory: no such kind: cude; did you mean cuda?"),
        ("", None, "--memory: no such kind: an empty word; choose from host"),
        ("cuda,host,host", None, "--memory: too many kinds"),
        ("cuda,rocm_managed", None, "--memory: CUDA and ROCm cannot be combined"),
        ("\x1b[31m", None, r"--memory: no such kind: ?[31m"),
        ("cuda", "first", "--gpu: not the choice of a GPU: first; give a number, local_rank or round_robin"),
        ("cuda", "-1", "--gpu: not the choice of a GPU: -1"),
    ],
)
def test_wrong_kinds_are_usage_errors(imb: Imb, tmp_path: Path, memory: str, gpu: Any, message: str) -> None:
    words = ["run", *fake_mpi.make(tmp_path / "mpi"), f"--memory={memory}", "PingPong", "--dry-run"]
    said = imb(*words, *([f"--gpu={gpu}"] if gpu else []))
    assert (said.code, said.out) == (2, "") and message in said.err


def test_run_passes_memory_and_gpu_on(imb: Imb, tmp_path: Path) -> None:
    fake = fake_mpi.make(tmp_path / "mpi")
    said = imb(
        "run", *fake, "--memory", "cuda,host", "--gpu", "1", "PingPong", "--dry-run", "--", "-msglog", "4"
    )
    assert said.code == 0, said.err
    assert "PingPong -memory cuda,host -gpu 1 -msglog 4" in said.out
    assert "-memory" not in imb("run", *fake, "PingPong", "--dry-run").out


def test_launches_with_gpu_memory_record_the_gpus_of_the_host(
    tree: Path, imb: Imb, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    device(tree)
    nvml(monkeypatch)
    fake = fake_mpi.make(tree / "mpi")
    for label, words in (("device", ["--memory", "cuda"]), ("host", [])):
        said = imb("run", *fake, *words, "PingPong", "--label", label, "--classic")
        assert said.code == 0, said.err
    labels = {run: tags.labels[0] for run, tags in archive.tags().items()}
    found = {labels[name]: archive.run(name).facts()["conditions"]["gpus"] for name in archive.ids()}
    assert found["host"] == []
    (one,) = found["device"]
    assert (one["name"], one["address"], one["link"]["width"]) == ("NVIDIA H200", NVIDIA, 16)


def test_ab_passes_memory_to_variants_that_have_none(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    fake = fake_mpi.make(tmp_path / "mpi")
    words = ["--a", "", "--b", "memory=host", "--memory", "cuda", "--gpu", "1", "--launches", "1"]
    said = imb("ab", *words, *fake, "--name", "x", "--classic", "PingPong")
    assert said.code in (0, 10, 11, 12), said.err
    commands = {
        tuple(tags.labels): archive.run(run).facts()["command"] for run, tags in archive.tags().items()
    }
    texts = {labels[0]: " ".join(command) for labels, command in commands.items()}
    assert "-memory cuda -gpu 1" in texts["x/a"] and "-memory host -gpu 1" in texts["x/b"]


def test_memory_is_given_once(imb: Imb, tmp_path: Path) -> None:
    fake = fake_mpi.make(tmp_path / "mpi")
    for words, says in (
        (
            ["--memory", "cuda", "--", "-memory", "host"],
            "--memory and the IMB argument -memory cannot be combined",
        ),
        (
            ["--gpu", "1", "--", "-off_cache", "-1", "--GPU", "0"],
            "--gpu and the IMB argument -gpu cannot be combined",
        ),
    ):
        said = imb("run", *fake, "PingPong", "--dry-run", *words)
        assert said.code == 2 and says in said.err and len(said.err.splitlines()) == 1
    assert imb("run", *fake, "PingPong", "--dry-run", "--", "-memory", "host").code == 0
    variants = ["--a", "", "--b", "memory=host arguments='-memory cuda'"]
    said = imb("ab", *fake, *variants, "PingPong")
    assert said.code == 2 and "variant b: memory and the IMB argument -memory cannot be combined" in said.err


def test_files_have_no_gpu_memory(imb: Imb, tmp_path: Path) -> None:
    said = imb("run", *fake_mpi.make(tmp_path / "mpi"), "--memory", "cuda", "io", "--dry-run")
    assert said.code == 2 and "IMB-IO" in said.err


def test_a_campaign_over_kinds_of_memory(imb: Imb, tmp_path: Path) -> None:
    options = fake_mpi.make(tmp_path / "mpi")
    text = f"""benchmarks = ["PingPong"]
[common]
mpi = "{options[1]}"
programs = "{options[3]}"
[variants.host]
[variants.device]
memory = "cuda"
gpu = 0
"""
    (tmp_path / "c.toml").write_text(text)
    said = imb("campaign", tmp_path / "c.toml", "--launches", "1", "--dry-run")
    assert said.code == 0, said.err
    assert sum("-memory cuda -gpu 0" in line for line in said.out.splitlines()) == 1
    assert sum("IMB-MPI1" in line and "-memory" not in line for line in said.out.splitlines()) == 1
    (tmp_path / "c.toml").write_text(text.replace('"cuda"', '"cude"'))
    said = imb("campaign", tmp_path / "c.toml", "--dry-run")
    assert said.code == 2 and "variant device: memory: no such kind: cude; did you mean cuda?" in said.err


TOP = Path(__file__).parents[2]
READY = TOP / "examples" / "gpu-memory.toml"


def test_the_ready_campaign() -> None:
    made, _ = campaign_definition.read_campaign(READY)
    found = {
        name: campaign_definition.gpu_arguments(one)
        for name, one in campaign_definition.variants(made).items()
    }
    assert found["host"] == ["-memory", "host"]
    assert found["device"] == ["-memory", "D"] and found["managed"] == ["-memory", "M"]


def test_documented_commands_on_gpu_memory_are_accepted(imb: Imb, tmp_path: Path, archive: Archive) -> None:
    """All but imb doctor: first those of the ready campaign, then more of the cookbook."""
    fake = fake_mpi.make(tmp_path / "mpi")
    ready = READY.read_text()
    common = f'[common]\nmpi = "{fake[1]}"\nprograms = "{fake[3]}"\n'
    (tmp_path / "gpu-memory.toml").write_text(ready.replace("[common]\n", common))
    page = (TOP / "docs" / "cookbook.md").read_text().partition("\n## GPU memory\n")[2].partition("\n## ")[0]
    words = re.compile(r"imb (?:run|ab|campaign|compare|diagnose) [^\n#`&]+")
    commands = [text.strip() for one in (ready, page) for text in words.findall(one)]
    assert len(commands) == 10 and len(set(commands)) == 6
    statuses = {"compare": (0, 10, 11, 12), "diagnose": (0, 1), "ab": (0, 10, 11, 12)}
    for text in dict.fromkeys(commands):
        _, *one = shlex.split(text)
        match one[0]:
            case "campaign":
                one = ["campaign", str(tmp_path / "gpu-memory.toml"), "--launches", "1"]
            case "ab":
                one[1:1] = [*map(str, fake), "--launches", "1", "--classic"]
            case "run":
                one[1:1] = [*map(str, fake), "--dry-run"]
        said = imb(*one)
        assert said.code in statuses.get(one[0], (0,)), f"{text}: {said.err}"


def test_variants_of_ab_say_their_memory() -> None:
    assert campaign_definition.parse_variant("memory=cuda,host gpu=1").memory == "cuda,host"
    both = campaign_definition.merge_settings(
        campaign_definition.VariantSettings(memory="cuda"),
        campaign_definition.parse_variant("UCX_TLS=tcp memory=host"),
    )
    assert campaign_definition.gpu_arguments(both) == ["-memory", "host"]


@pytest.mark.parametrize(
    ("words", "uses"),
    [
        (["-memory", "host"], False),
        (["-memory", "H,H"], False),
        (["-memory", "H", "D"], True),
        (["-memory", "host,cuda"], True),
        (["-memory", "pinned"], True),
        (["-mem_alloc_type", "cpu"], False),
        (["-mem_alloc_type", "device"], True),
        (["-mem_alloc_type", "host"], True),
        (["-memory", "host", "cuda"], True),
        (["-memory", "host", "PingPong"], False),
        (["-gpu", "0"], True),
        (["--GPU", "0"], True),
        (["-GPU_select", "0"], True),
        (["-load", "device"], True),
        (["--load", "device"], True),
        (["-load", "cpu"], False),
        (["PingPong"], False),
        (["-memory"], False),
    ],
)
def test_which_launches_use_gpus(words: list[str], uses: bool) -> None:
    assert uses_gpu(words) is uses
