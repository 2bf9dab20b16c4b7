"""The transports that an MPI reports: settings that make it print them when ranks start, and that text in short.

Sources: Open MPI's `hook comm_method` component (ompi_display_comm), MPICH's MPIR_CVAR_DEBUG_SUMMARY, Intel MPI's I_MPI_DEBUG.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection
from pathlib import Path

from imb.mpi import launch

_SECONDS = 20.0  # until a launch that hangs is given up; it takes one second

_ASKING = {
    # The first is for Open MPI 5, the second for 4.1.
    "openmpi": {
        "OMPI_MCA_ompi_display_comm": "mpi_init",
        "OMPI_MCA_hook_comm_method_enable_mpi_init": "1",
    },
    "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1"},
    "intel": {"I_MPI_DEBUG": "2"},
}


def asking(flavor: str) -> dict[str, str]:
    """Variables for a launch whose output is ours to read; empty where the MPI has none."""
    return dict(_ASKING.get(flavor, {}))


def answered(flavor: str, command: launch.Command, hide: Collection[str] = ()) -> tuple[str | None, bool]:
    """The transports that the MPI reports in this launch, which is only made for that; whether it was interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        ended = launch.run(command, output=output, errors=Path(folder, "errors"), timeout=_SECONDS, hide=hide)
        return transports_in(flavor, output.read_text(errors="replace")), ended.outcome == "interrupted"


def transports_in(flavor: str, text: str) -> str | None:
    """`on-host sm`, `netmod ucx`, `provider tcp`: from what ranks printed; None where it reports none."""
    found: list[str] = []
    if flavor == "openmpi":
        pairs = re.findall(r"^\s*(on|off)-host:\s+(?:all connections are )?(.+?)\s*$", text, re.MULTILINE)
        found = [f"{place}-host {name[:60]}" for place, name in pairs if name != "n/a"]
    elif flavor == "mpich":
        netmod = re.search(r"^==== (\w+) (?:netmod )?Capability", text, re.MULTILINE | re.IGNORECASE)
        found += [f"netmod {netmod[1].lower()}"] if netmod else []
    if flavor in ("mpich", "intel"):  # not `provider: NAME, score = ...`, which lists candidates
        provider = re.search(r"libfabric provider: *([\w;]+)", text)
        found += [f"provider {provider[1]}"] if provider else []
    return ", ".join(found) or None
