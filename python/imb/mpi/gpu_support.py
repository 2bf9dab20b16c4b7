"""Support of GPU memory by an installed MPI, before anything is launched. A launch asks the library itself (`gpu_support` of
records). Settings are those of src/plan/gpu_support.cpp."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from imb.model.gpus import Gpu
from imb.model.text import readable
from imb.mpi import installations
from imb.mpi.doctor import Check
from imb.mpi.installations import Installation

APIS = {"NVIDIA": "cuda", "AMD": "rocm"}  # of the vendors' GPUs, as in -memory
_TITLES = {"cuda": "CUDA", "rocm": "ROCm"}
_OF_MPICH = {"cuda": "cuda", "rocm": "hip"}  # in options of its configure script
OFF = ("", "0", "no", "off", "false")


class Setting(NamedTuple):
    """A variable of the environment. `needed`: support is off unless it is set; `rocm`: it is for AMD's GPUs, too."""

    name: str
    needed: bool
    rocm: bool


SETTINGS = {
    "cray": Setting("MPICH_GPU_SUPPORT_ENABLED", needed=True, rocm=True),
    "intel": Setting("I_MPI_OFFLOAD", needed=True, rocm=False),
    "mpich": Setting("MPIR_CVAR_ENABLE_GPU", needed=False, rocm=True),
}
OFFLOAD_MODE = "I_MPI_OFFLOAD_MODE"  # auto, level_zero or cuda


class Support(NamedTuple):
    """`answer`: yes, no or unknown; `source`: where it comes from; `change`: what to do if it is no."""

    answer: str
    source: str
    change: str = ""


def support(mpi: Installation, api: str | None = None) -> Support:
    """By the MPI's own tools and settings. `api`: cuda or rocm; None: of any GPU."""
    if mpi.flavor == "openmpi":
        return _of_openmpi(mpi, api)
    if mpi.flavor == "intel":
        return _of_intel(api)
    told = _beside(mpi, "mpichversion")
    said = installations.output_of([told], mpi.env)[1] if told else ""
    if "CRAY MPICH" in said or (mpi.flavor == "other" and "CRAY_MPICH_VERSION" in os.environ):
        found = _of_setting(SETTINGS["cray"])
        library = f"libmpi_gtl_{'hsa' if api == 'rocm' else 'cuda'}.so"
        return found._replace(change=f"{found.change} and LD_PRELOAD={library}") if found.change else found
    if mpi.flavor != "mpich":
        return Support("unknown", "it has no setting that is known")
    if (set_off := _of_setting(SETTINGS["mpich"])).answer == "no":
        return set_off
    if not told:
        said = installations.output_of([mpi.launcher, "--version"], mpi.env)[1]
    return _of_mpich("mpichversion" if told else "mpiexec --version", said, api)


def _of_intel(api: str | None) -> Support:
    setting = SETTINGS["intel"]
    if api == "rocm" and not setting.rocm:
        return Support(
            "no", "Intel MPI is for other GPUs", f"use an MPI that was configured {_options('hip', ())}"
        )
    found = _of_setting(setting)
    mode = os.environ.get(OFFLOAD_MODE, "auto")
    if found.answer == "yes" and mode not in ("auto", "cuda"):
        return Support("no", f"{OFFLOAD_MODE}={readable(mode)}", f"set {OFFLOAD_MODE}=cuda")
    return found


def _of_setting(setting: Setting) -> Support:
    value = os.environ.get(setting.name)
    source = f"{setting.name} is not set" if value is None else f"{setting.name}={readable(value)}"
    off = setting.needed if value is None else value in OFF
    return Support("no", source, f"set {setting.name}=1") if off else Support("yes", source)


def _beside(mpi: Installation, name: str) -> str | None:
    """A program of the MPI, by its wrapper's folder, else by its launcher's."""
    folders = [Path(place).parent for place in (mpi.place, mpi.launcher) if place]
    suffix = Path(mpi.place).suffix
    files = [folder / f"{name}{end}" for folder in folders for end in (suffix, "")]
    return next((str(file) for file in files if file.is_file()), None)


def _of_openmpi(mpi: Installation, api: str | None) -> Support:
    program = _beside(mpi, "ompi_info")
    if not program:
        return Support("unknown", "there is no ompi_info")
    said = installations.output_of([program, "--parsable", "--all"], mpi.env)[1]
    built = re.search(r"mpi_built_with_cuda_support:value:(\w+)", said)
    parts = sorted(set(re.findall(r"^mca:accelerator:(\w+):version:", said, re.MULTILINE)) - {"null"})
    lists_parts = "mca:accelerator:" in said  # from version 5 on; older ones report CUDA only
    if not lists_parts and (not built or api == "rocm"):
        return Support("unknown", f"ompi_info does not show {_TITLES.get(api or '', 'CUDA')} or accelerators")
    words = [f"mpi_built_with_cuda_support {built[1]}"] if built else []
    words += [f"accelerator components: {', '.join(parts) or 'none'}"] if lists_parts else []
    source = f"ompi_info: {'; '.join(words)}"
    handled = {*parts, *(["cuda"] if built and built[1] == "true" else [])}
    if api in handled or (api is None and handled):
        return Support("yes", source)
    return Support("no", source, f"use an Open MPI that was configured {_options(api, ('cuda', 'rocm'))}")


def _of_mpich(told: str, said: str, api: str | None) -> Support:
    """By the configure line; its support is of one kind of GPU."""
    options = re.findall(r"--(with(?:out)?)-(cuda|hip|ze)(=\S*?)?(?=['\s]|$)", said)
    source = f"{told}: {' '.join(f'--{how}-{name}{value}' for how, name, value in options)}"
    chosen = {name for how, name, value in options if how == "with" and value != "=no"}
    left_out = {name for _, name, _ in options} - chosen
    wanted = _OF_MPICH[api] if api else None
    if wanted in chosen or (wanted is None and chosen):
        return Support("yes", source)
    if chosen or (left_out if wanted is None else wanted in left_out):
        return Support("no", source, f"use an MPICH that was configured {_options(wanted, ('cuda', 'hip'))}")
    if "onfigure" not in said:
        return Support("unknown", f"{told} shows no configure options")
    return Support(
        "unknown",
        f"{told}: configured without {_options(wanted, ('cuda', 'hip'))}, which may be found without",
    )


def _options(name: str | None, others: tuple[str, ...]) -> str:
    return " or ".join(f"--with-{one}" for one in ((name,) if name else others))


def checks(mpi: Installation, gpus: list[Gpu]) -> Iterator[Check]:
    """For each kind of GPU of this host; a warning if the MPI does not handle its memory."""
    present: Sequence[str | None] = sorted(
        {APIS[gpu.vendor] for gpu in gpus if gpu.vendor in APIS and gpu.driver}
    )
    for api in present or [None]:
        found = support(mpi, api)
        yield Check(
            "warning" if found.answer == "no" and api else "ok",
            f"{mpi.version}: GPU memory{f' ({_TITLES[api]})' if api else ''}",
            f"{found.answer} ({found.source})",
            found.change if api else "",
        )
