"""The drivers' interface as the suite declares it, held against the vendors' headers; the load, by their assembler."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import lab
import pytest

DEVICE = lab.TOP / "src" / "device"
LOOK_UP = re.compile(r'look_up\(library, "(\w+)", (\w+)\)')
# What a function type is to a caller: the size of integers, and that pointers are pointers.
SHAPE = r"""
#include <cstddef>
#include <tuple>
#include <type_traits>
template <int size> struct Number {};
struct Pointer {};
template <class T> using shape_of =
    std::conditional_t<std::is_pointer_v<T>, Pointer, Number<std::is_void_v<T> ? 0 : int(sizeof(T))>>;
template <class F> struct Shape;
template <class R, class... A> struct Shape<R (*)(A...)> { using type = std::tuple<shape_of<R>, shape_of<A>...>; };
template <class A, class B> constexpr bool alike = std::is_same_v<typename Shape<A>::type, typename Shape<B>::type>;
"""


def vendor(package: str, path: str) -> Path:
    """A file of one of NVIDIA's packages from the index."""
    found = importlib.util.find_spec(f"nvidia.{package}")
    folders = list(found.submodule_search_locations or []) if found else []
    for folder in folders:
        if (Path(folder) / path).exists():
            return Path(folder) / path
    assert not lab.IN_CI, f"nvidia.{package} is not installed"
    pytest.skip(f"nvidia.{package} is not installed")


def look_ups(source: str) -> dict[str, str]:
    """Names of the driver's functions, and of the members that call them."""
    found = dict(LOOK_UP.findall((DEVICE / source).read_text()))
    assert found
    return found


def compiles(text: str, *words: str) -> None:
    done = subprocess.run(
        ["c++", "-std=c++20", "-fsyntax-only", f"-I{lab.TOP / 'src'}", *words, "-x", "c++", "-"],
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("package", ["cuda_runtime", "cu13"])  # of CUDA 12 and 13
@pytest.mark.slow
def test_functions_and_constants_of_cuda(package: str) -> None:
    header = vendor(package, "include/cuda.h")
    names = look_ups("cuda.cpp")
    # A declaration of the header has the name of the exported function: cuda.h maps cuMemAlloc to cuMemAlloc_v2.
    lines = [
        f"static_assert(alike<decltype(&::{name}), decltype(openimb::cuda::Calls::{member})>, "
        f'"{name} is another function");'
        for name, member in names.items()
    ]
    constants = {
        "success": "CUDA_SUCCESS",
        "out_of_memory": "CUDA_ERROR_OUT_OF_MEMORY",
        "not_ready": "CUDA_ERROR_NOT_READY",
        "multiprocessor_count": "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
        "l2_cache_bytes": "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE",
        "managed_memory": "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY",
        "concurrent_managed_access": "CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS",
        "attach_global": "CU_MEM_ATTACH_GLOBAL",
        "non_blocking": "CU_STREAM_NON_BLOCKING",
    }
    lines += [
        f"static_assert(int(openimb::cuda::{ours}) == int({theirs}));" for ours, theirs in constants.items()
    ]
    text = ['#include "device/cuda_calls.h"', f'#include "{header}"', SHAPE, *lines]
    compiles("\n".join(text))


def installed_header_of_hip() -> Path:
    header = Path(os.environ.get("HIP_INCLUDE_DIR", "/usr/include")) / "hip" / "hip_runtime_api.h"
    if not header.exists():
        assert not lab.IN_CI, "libamdhip64-dev is not installed"
        pytest.skip("no header of HIP")
    return header


def header_of_rocm_7() -> Path:
    return lab.TOP / "tests" / "fake_gpu" / "hip-7.2.h"


@pytest.mark.parametrize("find", [installed_header_of_hip, header_of_rocm_7])
@pytest.mark.slow
def test_functions_and_constants_of_hip(find: Callable[[], Path]) -> None:
    header = find()
    lines = [
        f"static_assert(alike<decltype(&::{name}), decltype(hip::Calls::{member})>, "
        f'"{name} is another function");'
        for name, member in look_ups("hip.cpp").items()
    ]
    constants = {
        "success": "hipSuccess",
        "out_of_memory": "hipErrorOutOfMemory",
        "to_device": "hipMemcpyHostToDevice",
        "to_host": "hipMemcpyDeviceToHost",
        "l2_cache_bytes": "hipDeviceAttributeL2CacheSize",
        "managed_memory": "hipDeviceAttributeManagedMemory",
        "concurrent_managed_access": "hipDeviceAttributeConcurrentManagedAccess",
        "attach_global": "hipMemAttachGlobal",
        "pinned_by_default": "hipHostMallocDefault",
    }
    lines += [f"static_assert(int(hip::{ours}) == int({theirs}));" for ours, theirs in constants.items()]
    # Its declarations are inside of the file. C++ functions of the header are overloads of those in use.
    text = [
        f'#include "{DEVICE / "hip.cpp"}"',
        "#define __HIP_PLATFORM_AMD__",
        "#define __HIP_DISABLE_CPP_FUNCTIONS__",
        f'#include "{header}"',
        SHAPE,
        "namespace openimb {",
        *lines,
        "}",
    ]
    compiles("\n".join(text), f"-I{header.parent.parent}")


@pytest.mark.parametrize("architecture", ["sm_50", "sm_70", "sm_90", "sm_120"])
def test_the_load_is_assembled(architecture: str, tmp_path: Path) -> None:
    assembler = vendor("cuda_nvcc", "bin/ptxas")
    (text,) = re.findall(r'R"\((\.version.*?)\)"', (DEVICE / "cuda.cpp").read_text(), re.DOTALL)
    (tmp_path / "load.ptx").write_text(text)
    words = [str(assembler), f"-arch={architecture}", "load.ptx", "-o", "load.cubin"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_functions_are_compared() -> None:
    """The comparison above fails where a function is another one."""
    text = SHAPE + "int ours(int, void*); int theirs(long, void*);\n"
    compiles(text + "static_assert(!alike<decltype(&ours), decltype(&theirs)>);")
    compiles(text + "static_assert(alike<decltype(&ours), decltype(&ours)>);")
