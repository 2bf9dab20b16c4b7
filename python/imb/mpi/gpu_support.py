"""What an installed MPI says about the memory of GPUs, before anything is launched. A launch asks the library itself
(`gpu_support` of records)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from imb.model.gpus import Gpu
from imb.mpi import installations
from imb.mpi.doctor import Check
from imb.mpi.installations import Installation


class Support(NamedTuple):
    """`answer`: yes, no or unknown; `source`: where it is said; `change`: what to do where it is no."""

    answer: str
    source: str
    change: str = ""


def support(mpi: Installation) -> Support:
    """By the MPI's own tools and settings."""
    match mpi.flavour:
        case "openmpi":
            return _of_openmpi(mpi)
        case "mpich":
            return _of_mpich(mpi)
        case "intel":
            return _of_intel()
        case _:
            return Support("unknown", "it has no setting that is known")


def _beside(mpi: Installation, name: str) -> str | None:
    """A program of the MPI, by its wrapper's folder or its launcher's."""
    folders = {Path(place).parent for place in (mpi.place, mpi.launcher) if place}
    suffix = Path(mpi.place).suffix
    files = [folder / f"{name}{end}" for folder in folders for end in (suffix, "")]
    return next((str(file) for file in files if file.is_file()), None)


def _of_openmpi(mpi: Installation) -> Support:
    program = _beside(mpi, "ompi_info")
    said = installations.output_of([program, "--parsable", "--all"], mpi.env)[1] if program else ""
    built = re.search(r"mpi_built_with_cuda_support:value:(\w+)", said)
    parts = sorted(set(re.findall(r"^mca:accelerator:(\w+):version:", said, re.MULTILINE)) - {"null"})
    if not built and not parts:
        return Support(
            "unknown", "ompi_info shows neither CUDA nor accelerators" if program else "there is no ompi_info"
        )
    words = [f"mpi_built_with_cuda_support {built[1]}"] if built else []
    words += [f"accelerator components: {', '.join(parts) or 'none'}"] if "mca:accelerator:" in said else []
    if (built and built[1] == "true") or parts:
        return Support("yes", f"ompi_info: {'; '.join(words)}")
    change = "use an Open MPI that was configured --with-cuda or --with-rocm"
    return Support("no", f"ompi_info: {'; '.join(words)}", change)


def _of_mpich(mpi: Installation) -> Support:
    program = _beside(mpi, "mpichversion")
    words = [program] if program else [mpi.launcher, "--version"]
    told = "mpichversion" if program else "mpiexec --version"
    said = installations.output_of(words, mpi.env)[1]
    options = re.findall(r"--(with(?:out)?)-(cuda|hip|ze)(=\S*?)?(?=['\s]|$)", said)
    wanted = [f"--{how}-{api}{value}" for how, api, value in options]
    for_gpus = {api for how, api, value in options if how == "with" and value != "=no"}
    if for_gpus:
        variable = os.environ.get("MPIR_CVAR_ENABLE_GPU")
        if variable == "0":
            return Support("no", "MPIR_CVAR_ENABLE_GPU=0", "set MPIR_CVAR_ENABLE_GPU=1")
        return Support("yes", f"{told}: {' '.join(wanted)}")
    if wanted:
        return Support(
            "no", f"{told}: {' '.join(wanted)}", "use an MPICH that was configured --with-cuda or --with-hip"
        )
    if "onfigure" not in said:
        return Support("unknown", f"{told} shows no configure options")
    return Support(
        "unknown", f"{told}: configured with neither --with-cuda nor --with-hip, which may be found without"
    )


def _of_intel() -> Support:
    value = os.environ.get("I_MPI_OFFLOAD")
    if value in (None, "0"):
        return Support("no", f"I_MPI_OFFLOAD {'is unset' if value is None else '= 0'}", "set I_MPI_OFFLOAD=1")
    return Support("yes", f"I_MPI_OFFLOAD={value}")


def checks(mpi: Installation, gpus: list[Gpu]) -> Iterator[Check]:
    """A warning where this host has a GPU whose memory the MPI does not handle."""
    found = support(mpi)
    discrete = any(gpu.vendor != "Intel" and gpu.driver for gpu in gpus)
    yield Check(
        "warning" if found.answer == "no" and discrete else "ok",
        f"{mpi.version}: GPU memory",
        f"{found.answer} ({found.source})",
        found.change if discrete else "",
    )
