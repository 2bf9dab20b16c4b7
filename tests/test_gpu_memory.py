"""-memory, -gpu, -gpu_check and -load with fake GPUs (tests/fake_gpu): every benchmark, every driver call that fails."""

from __future__ import annotations

import ctypes.util
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import gpu
import jsonschema
import lab
import pytest

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((lab.TOP / "schema" / "record.schema.json").read_text())
)
COMPONENTS = [name for name in lab.COMPONENTS if name != "IO"]
FEW = f"-check -time 60 -warm_up off {lab.SHORT_LOAD}"
# A message within a page, and one that is sent when the receiver is ready.
BOTH_LENGTHS = f"{FEW} -iter 2,1,2 -msgsize 72,70000"
SHORT = f"{FEW} -iter 2,1,2 -msgsize 72"
# Of every kind: point to point, collective, reduction.
SOME = "PingPong Exchange Allreduce Reduce_scatter Alltoallv"
TRUST = "-gpu_check trust"
# They copy without MPI, in a window of the host's.
LOADS_AND_STORES = {"Shared_store", "Shared_load"}


def good(done: gpu.Run, *, reports: int = 2, code: int = 0) -> gpu.Run:
    """Ended in order, everything right, everything given back to the driver."""
    assert done.code == code, done.text[-3000:] + done.errors[-3000:]
    measured = [*done.rows, *done.pairs]
    assert measured
    assert {row["defects"] for row in measured} == {0}
    # Open MPI's launcher ends the other ranks once one has left with another status than 0.
    assert len(done.reports) == reports or (code and done.reports)
    assert done.unbalanced() == []
    for record in done.records:
        VALIDATOR.validate(record)
    return done


def refused(done: gpu.Run, *words: str) -> str:
    """A usage error: one line, which has these words, and no table."""
    assert done.code == 2, (done.code, done.text[-2000:], done.errors[-2000:])
    (line,) = done.own_errors
    assert all(word in line for word in words), line
    assert "# Benchmarking" not in done.text
    return line


def run_record(done: gpu.Run) -> dict:
    (record,) = [one for one in done.records if one["record"] == "run"]
    return record


def failures(done: gpu.Run) -> list[dict]:
    return [one for one in done.records if one["record"] == "failure"]


@pytest.mark.parametrize("kinds", ["cuda", "cuda,host"])
@pytest.mark.parametrize("component", COMPONENTS)
def test_every_benchmark_in_device_memory(mpi, component, kinds, tmp_path):
    names = lab.right_names(mpi, component, on_two=True)
    length = BOTH_LENGTHS if kinds == "cuda" else SHORT
    words = f"{length} {lab.SHORT_WINDOW.get(component, '')} -memory {kinds} {TRUST} {' '.join(names)}"
    without = LOADS_AND_STORES & set(names)
    done = gpu.Machine(mpi).run(words, component=component, folder=tmp_path, timeout=120)
    good(done, code=3 if without else 0)
    assert {row["benchmark"] for row in [*done.rows, *done.pairs]} == set(names) - without
    assert {one["benchmark"] for one in failures(done)} == without
    assert all("loads and stores" in one["detail"] for one in failures(done))
    assert done.calls("cuMemAlloc_v2") >= 2 and done.calls("cuMemcpyHtoD_v2") >= 2


@pytest.mark.parametrize(
    "kinds", ["host,cuda", "cuda_managed", "pinned", "pinned,cuda_managed", "D H", "M,D"]
)
def test_other_kinds_of_memory(mpi, kinds, tmp_path):
    done = good(gpu.Machine(mpi).run(f"{SHORT} {TRUST} -memory {kinds} {SOME}", folder=tmp_path))
    letters = {"D": "cuda", "H": "host", "M": "cuda_managed"}
    sides = [letters.get(kind, kind) for kind in kinds.replace(" ", ",").split(",")]
    assert run_record(done)["options"]["memory"] == ",".join(dict.fromkeys((sides[0], sides[-1])))
    calls = {"cuda": "cuMemAlloc_v2", "cuda_managed": "cuMemAllocManaged", "pinned": "cuMemHostAlloc"}
    for kind, call in calls.items():
        assert (done.calls(call) > 0) == (kind in sides), kind


@pytest.mark.parametrize(
    ("words", "kind"), [("device", "cuda"), ("shared", "cuda_managed"), ("host", "pinned")]
)
def test_words_of_imb_mpi1_gpu(mpi, words, kind, tmp_path):
    done = gpu.Machine(mpi).run(
        f"{SHORT} {TRUST} -mem_alloc_type {words} -gpu_select 1 PingPong", folder=tmp_path
    )
    assert run_record(good(done))["options"]["memory"] == kind
    assert [one["index"] for one in run_record(done)["gpus"]] == [1]


@pytest.mark.parametrize(
    ("component", "words"),
    [
        ("MPI1", f"-off_cache 0.5,64 {SOME}"),
        ("MPI1", f"-precision 50 -budget 0.2 {SOME}"),
        ("MPI1", "-data_type int -red_data_type double Allreduce Reduce"),
        ("MPI1", f"-in_place on -root_shift on -multi 0 -npmin 1 {SOME} Reduce Gather"),
        ("MPI1", "-send_mode synchronous PingPong Exchange"),
        ("MPI1", "-send_mode buffered PingPong Exchange"),
        ("MPI1", "-layout vector:2:5 PingPong Exchange Bcast"),
        ("MPI1", "-layout indexed PingPong Exchange Bcast"),
        ("MPI1", "-topo graph Neighbor_alltoall Neighbor_allgatherv"),
        ("NBC", "-progress 3 -sync on -show_tail yes Ibcast Iallreduce"),
        ("RMA", "-window dynamic Unidir_put Bidir_get Accumulate"),
        ("RMA", "-sync_mode lock_all Unidir_put Unidir_get"),
        ("EXT", "-sync_mode pscw Unidir_Put Bidir_Get"),
        ("MT", "-thread_level multiple -threads 2 SendRecvMT AllReduceMT"),
        ("P2P", "-halo 1 Halo Corandom"),
    ],
)
def test_modes(mpi, component, words, tmp_path):
    words = f"{SHORT} {TRUST} -memory cuda {words}"
    done = good(gpu.Machine(mpi).run(words, component=component, folder=tmp_path))
    assert failures(done) == []


def test_driver_calls_between_samples_are_copies_of_images(mpi, tmp_path):
    """Thrice as many repetitions and passes: not an allocation more."""
    counts = []
    for amount in ("-iter 2,1,2 -passes 1", "-iter 6,1,6 -passes 3"):
        words = f"{FEW} {amount} -msgsize 72 -memory cuda {TRUST} {SOME}"
        done = good(gpu.Machine(mpi).run(words, folder=tmp_path))
        counts.append([report["calls"] for report in sorted(done.reports, key=lambda one: one["rank"])])
    for few, many in zip(*counts, strict=True):
        differing = {name for name in few.keys() | many.keys() if few.get(name) != many.get(name)}
        assert differing <= {"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuCtxSynchronize"}, (few, many)


def test_a_benchmark_that_touches_device_memory_is_caught(mpi, tmp_path):
    machine = gpu.Machine(mpi, programs="bin/all")
    for name, caught in (("LooksAway", False), ("Peeks", True), ("PeeksInFlight", True)):
        words = f"-iter 2 -msgsize 72 -memory cuda {TRUST} {name}"
        done = machine.run(words, component="SEEDED", folder=tmp_path)
        assert (done.code != 0) == caught, (name, done.text, done.errors)
        assert (gpu.TOUCHED in done.errors) == caught, (name, done.text, done.errors)


def test_host_memory_loads_no_driver(mpi, tmp_path):
    done = gpu.Machine(mpi).run(f"{SHORT} -memory host PingPong", folder=tmp_path)
    good(done, reports=0)
    record = run_record(done)
    assert not {"gpus", "gpu_support"} & record.keys() and record["options"]["memory"] == "host"


@pytest.mark.parametrize("programs", ["bin", "bin/all"])
def test_executables_depend_on_an_mpi_and_the_system_only(mpi, programs):
    system = r"lib(stdc\+\+|gcc_s|c|m|dl|pthread)\.so|ld-linux"
    for path in sorted((mpi.build / programs).glob("IMB-*")):
        text = subprocess.run(["readelf", "-d", str(path)], check=True, capture_output=True, text=True).stdout
        needed = [line for line in text.splitlines() if "(NEEDED)" in line]
        assert needed
        others = [line for line in needed if not re.search(rf"\[(libmpi\w*\.so|{system})", line)]
        assert others == []


@pytest.mark.skipif(
    ctypes.util.find_library("cuda") is not None or Path("/dev/kfd").exists(), reason="this machine has a GPU"
)
@pytest.mark.parametrize("kind", ["cuda", "rocm", "D", "pinned"])
def test_no_driver(mpi, kind, tmp_path):
    done = gpu.Machine(mpi, apis=()).run(f"-memory {kind} PingPong", folder=tmp_path)
    words = ["libcuda.so.1", "cannot open shared object file"]
    if kind == "rocm":  # the one of this machine finds no GPU
        words = ["hipInit"] if ctypes.util.find_library("amdhip64") else ["libamdhip64.so", "cannot open"]
    refused(done, "-memory", *words)


def test_a_driver_that_cannot_be_loaded(mpi, tmp_path):
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    done = gpu.Machine(mpi, apis=(str(tmp_path),)).run("-memory cuda PingPong", folder=tmp_path)
    refused(done, "-memory cuda: rank 0 on ", ": libcuda.so.1", "file too short")


@pytest.mark.parametrize(
    ("words", "count", "expected"),
    [
        ("", 2, {0: [0], 1: [1]}),
        ("-gpu local_rank", 1, {0: [0, 1]}),
        ("-gpu round_robin", 2, {0: [0], 1: [1]}),
        ("-gpu 1", 2, {1: [0, 1]}),
    ],
)
def test_choice_of_the_gpu(mpi, words, count, expected, tmp_path):
    words = f"{SHORT} -memory cuda {words} PingPong"
    done = good(gpu.Machine(mpi).run(words, folder=tmp_path, FAKE_GPU_COUNT=count))
    record = run_record(done)
    assert {one["index"]: one["ranks"] for one in record["gpus"]} == expected
    for one in record["gpus"]:
        assert one["name"] == f"Fake GPU {one['index']}"
        assert one["bus_address"].lower() == f"0000:{0x1B + one['index']:02x}:00.0"
        assert (one["api"], one["driver"]) == ("cuda", "12.8")
        assert (one["memory_bytes"], one["l2_bytes"]) == (1 << 30, 1 << 20)
        assert one["name"] in done.text and one["bus_address"] in done.text
    assert record["gpu_support"]["answer"] == "yes"
    assert "Query_cuda_support" in record["gpu_support"]["source"]


def test_a_gpu_that_is_not_there(mpi, tmp_path):
    machine = gpu.Machine(mpi)
    refused(machine.run("-memory cuda -gpu 2 PingPong", folder=tmp_path), "-gpu 2", "2 GPUs")
    refused(machine.run("-memory cuda PingPong", folder=tmp_path, FAKE_GPU_COUNT=0), "-memory cuda", "GPU")
    refused(machine.run("-gpu 0 PingPong", folder=tmp_path), "-gpu", "-memory")
    refused(machine.run("-memory cuda,rocm PingPong", folder=tmp_path), "-memory")
    refused(machine.run("-memory cuda S_Read_Expl", component="IO", folder=tmp_path), "-memory", "IMB-IO")


def test_an_mpi_that_does_not_handle_device_memory(mpi, tmp_path):
    machine = gpu.Machine(mpi)
    words = f"{SHORT} -memory cuda PingPong"
    line = refused(machine.run(words, folder=tmp_path, FAKE_GPU_ANSWER=0), "-memory cuda", "-gpu_check trust")
    assert "Query_cuda_support" in line
    done = good(machine.run(f"{words} {TRUST}", folder=tmp_path, FAKE_GPU_ANSWER=0))
    assert run_record(done)["gpu_support"]["answer"] == "no"
    good(machine.run(f"{SHORT} -memory pinned PingPong", folder=tmp_path, FAKE_GPU_ANSWER=0))
    managed = f"{SHORT} -memory cuda_managed PingPong"
    refused(machine.run(managed, folder=tmp_path, FAKE_GPU_ANSWER=0), "-memory cuda_managed", "trust")


@pytest.mark.parametrize(
    ("component", "measured", "refused"),
    [
        ("MPI1", "Allreduce Reduce Reduce_scatter_block Scan Exscan", "Reduce_scatter Reduce_local"),
        ("RMA", "", "Unidir_put Bidir_get Accumulate"),
        ("NBC", "Ibcast", "Iallreduce"),
    ],
)
def test_calls_that_open_mpi_does_not_have_for_gpus(mpi, component, measured, refused, tmp_path):
    words = f"{SHORT} -memory cuda {measured} {refused}"
    done = gpu.Machine(mpi).run(words, component=component, folder=tmp_path)
    if mpi.key != "openmpi":
        good(done)
        assert failures(done) == []
        return
    assert {row["benchmark"] for row in done.rows} == set(measured.split())
    assert {one["benchmark"] for one in failures(done)} == set(refused.split())
    assert all("-gpu_check trust" in one["detail"] for one in failures(done))
    assert done.code == 3 and done.unbalanced() == []


def test_off_cache_passes_the_larger_cache(mpi, tmp_path):
    """The GPU's, where it is larger than the host's: 2 GiB here, which no host has, nor -mem."""
    words = f"{SHORT} -memory cuda,host {TRUST} -off_cache -1 -mem 0.001 PingPong"
    done = gpu.Machine(mpi).run(words, folder=tmp_path, FAKE_GPU_L2=(1 << 31) - 1)
    expected = {"cache_size_bytes": (1 << 31) - 1, "cache_line_bytes": 128}
    assert run_record(done)["off_cache"] == expected and done.code == 0


def test_managed_memory_that_a_gpu_does_not_have(mpi, tmp_path):
    machine = gpu.Machine(mpi)
    words = f"{SHORT} -memory cuda_managed Ibcast"
    refused(machine.run(words, component="NBC", folder=tmp_path, FAKE_GPU_MANAGED=0), "no managed memory")
    good(machine.run(words, component="NBC", folder=tmp_path, FAKE_GPU_MANAGED=1))
    beside = f"{words} -load device"
    refused(machine.run(beside, component="NBC", folder=tmp_path, FAKE_GPU_MANAGED=1), "-load cpu")


def test_ranks_that_share_a_gpu_compute_one_after_the_other(mpi, tmp_path):
    words = f"{SHORT} {TRUST} -memory cuda -load device Ibcast"
    done = good(gpu.Machine(mpi).run(words, component="NBC", folder=tmp_path, FAKE_GPU_COUNT=1))
    assert "2 ranks use Fake GPU 0" in done.errors


def test_too_little_memory_on_the_gpu(mpi, tmp_path):
    """As on the host: failure rows, and what fits is measured."""
    words = f"{FEW} -iter 2,1,2 -msgsize 72,3000000 -memory cuda {TRUST} PingPong Sendrecv"
    done = gpu.Machine(mpi).run(words, folder=tmp_path, FAKE_GPU_MEMORY=1_000_000)
    assert {row["bytes"] for row in done.rows} == {72}
    assert {row["benchmark"] for row in failures(done)} == {"PingPong", "Sendrecv"}
    (line,) = done.own_errors
    assert "out of memory" in line
    assert done.unbalanced() == []


ENDS_BEFORE = {  # setup of the GPU: a usage error
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetPCIBusId",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "hipInit",
    "hipDriverGetVersion",
    "hipGetDeviceCount",
    "hipDeviceGetName",
    "hipDeviceGetPCIBusId",
    "hipDeviceTotalMem",
}


def ended_in_order(done: gpu.Run, seconds: float, what: object) -> None:
    """In rows, or in one line with the exit status of a usage error or of an error of the driver; and soon."""
    assert seconds < 20, what
    shown = (what, done.code, done.text[-1500:], done.errors[-1500:])
    assert gpu.TOUCHED not in done.errors, shown
    if done.code in (0, 3):
        assert len(done.own_errors) <= 1 and (done.rows or failures(done)), shown
        return
    assert done.code in (2, 5), shown
    assert len(done.own_errors) == 1, shown


@pytest.mark.parametrize("kinds", ["cuda,cuda_managed", "pinned", "rocm,rocm_managed"])
def test_every_driver_call_may_fail(mpi, kinds, tmp_path):
    """The first call of every name and a late one, on one rank of two."""
    hip = "rocm" in kinds
    words = f"{SHORT} -memory {kinds} {'' if hip else '-load device'} {TRUST} Iallreduce"
    machine = gpu.Machine(mpi, apis=("hip" if hip else "cuda",))

    def launch(**settings: Any) -> gpu.Run:
        return machine.run(words, component="NBC", folder=tmp_path, timeout=30, FAIL_RANK=1, **settings)

    (counts,) = [report["calls"] for report in good(launch()).reports if report["rank"] == 1]
    names = [name for name in counts if kinds != "pinned" or "Host" in name]
    assert names
    for name in names:
        last = {
            "cuMemAlloc_v2": 2,  # out of memory
            "cuMemcpyHtoD_v2": 719,  # the device is lost
            "cuMemcpyDtoH_v2": 700,
            "cuDeviceGet": 101,  # invalid device
            "cuCtxSetCurrent": 101,
            "cuDevicePrimaryCtxRetain": 101,
            "hipSetDevice": 101,
            "hipMalloc": 2,
        }.get(name, 999)
        # How often the load is started differs a little.
        late = counts[name] if counts[name] < 15 else counts[name] // 2
        for at, code in {(1, 2), (late, last)} if mpi.key == "mpich" else {(late, last)}:
            start = time.monotonic()
            log = tmp_path / "failed"
            log.unlink(missing_ok=True)
            done = launch(FAIL_CALL=name, FAIL_AT=at, FAIL_CODE=code, FAIL_LOG=log)
            assert log.exists(), (name, at)
            ended_in_order(done, time.monotonic() - start, (name, at, code))
            if name in ENDS_BEFORE and at == 1:
                assert done.code == 2 and name.split("_v2")[0] in done.own_errors[0], done.errors
                assert ": rank 1 on " in done.own_errors[0]
            if done.code == 2 and code == 2:  # the device is not lost
                assert done.unbalanced() == [], name


def test_load_on_the_gpu(mpi, tmp_path):
    """The computation is started and waited for; its time is the asked one."""
    words = "-iter 4,1,4 -warm_up off -time 60 -set TARGET_CPU_SECS=0.005 -msgsize 72 -check"
    words += f" -memory cuda -load device {TRUST} Ibcast"
    done = good(gpu.Machine(mpi).run(words, component="NBC", folder=tmp_path))
    assert done.calls("cuLaunchKernel") >= 8
    assert run_record(done)["options"]["load"] == "device"
    refused(
        gpu.Machine(mpi).run("-load device Ibcast", component="NBC", folder=tmp_path), "-load device", "-gpu"
    )


@pytest.mark.parametrize("apis", [("hip",), ("cuda", "hip")])
def test_memory_of_rocm(mpi, apis, tmp_path):
    """D: of the driver that is there, CUDA before ROCm."""
    machine = gpu.Machine(mpi, apis=apis)
    good(machine.run(f"{SHORT} {TRUST} -memory rocm {SOME}", folder=tmp_path), reports=2)
    done = machine.run(f"{SHORT} {TRUST} -memory D {SOME}", folder=tmp_path)
    good(done, reports=2 * len(done.reports) // 2)
    assert run_record(done)["gpus"][0]["api"] == apis[0]
    beside = machine.run("-memory rocm -load device Ibcast", component="NBC", folder=tmp_path)
    refused(beside, "-load device")
