"""SimGrid's SMPI as machines of known truth: their networks, the algorithms of a collective, and launches of the suite on them.

Nothing but the network takes time, so that two launches have the same times to the last bit, and each algorithm of a collective can be forced.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SETTINGS = (
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    *(f"smpi/{call}:0" for call in ("wtime", "init", "test", "iprobe")),
    *(f"smpi/{call}:0:0:0" for call in ("os", "or", "ois")),
    "network/model:CM02",
    *(f"network/{factor}-factor:1" for factor in ("latency", "bandwidth")),
    *(f"network/{factor}:0" for factor in ("weight-S", "TCP-gamma", "crosstraffic")),
)
CHOOSERS = ("default", "automatic", "ompi", "mpich", "impi", "mvapich2")  # choose among the algorithms
AS_OPEN_MPI = "smpi/coll-selector:ompi"
KILLED = -signal.SIGKILL
_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="machine" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="500ns"
 topology="{topology}" topo_parameters="{parameters}"/>
</platform>
"""


class Machine(NamedTuple):
    """One rank per host. `parameters`: SimGrid's, of the topology."""

    title: str
    ranks: int
    topology: str
    parameters: str

    def platform(self) -> str:
        """The file of SimGrid."""
        return _PLATFORM.format(last=self.ranks - 1, topology=self.topology, parameters=self.parameters)


MACHINES = {
    "tree-16": Machine("fat tree, 16 ranks", 16, "FAT_TREE", "2;4,4;1,2;1,1"),
    "dragonfly-16": Machine("dragonfly, 16 ranks", 16, "DRAGONFLY", "2,1;2,1;2,1;2"),
    "tree-64": Machine("fat tree, 64 ranks", 64, "FAT_TREE", "2;8,8;1,4;1,1"),
    "tree-256": Machine("fat tree, 256 ranks", 256, "FAT_TREE", "2;16,16;1,8;1,1"),
}


class Simulated(NamedTuple):
    """What a launch left: exit status (KILLED: it was ended at its limit), output, records, seconds that it took."""

    code: int
    text: str
    records: list[dict[str, Any]]
    wall: float

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Its records of results."""
        return [one for one in self.records if one["record"] == "result"]

    @property
    def why_bad(self) -> str | None:
        """Why an algorithm cannot be used; None: it can."""
        if self.code == KILLED:
            return "hangs"
        if any(row.get("defects") for row in self.rows):
            return "delivers wrong data"
        return "ends badly" if self.code else None


def simulated(
    machine: Machine,
    program: Path,
    words: Sequence[str],
    settings: Iterable[str],
    *,
    smpirun: str = "smpirun",
    limit: float | None = None,
    logged: Iterable[str] = ("xbt_cfg.thresh:warning",),
    environment: Mapping[str, str] | None = None,
) -> Simulated:
    """Launches a program of the suite with these IMB arguments. `limit`: seconds, after which it is killed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(machine.platform())
        (folder / "hosts.txt").write_text("".join(f"n{host}\n" for host in range(machine.ranks)))
        command = [smpirun, "-np", str(machine.ranks), "-platform", "platform.xml"]
        command += ["-hostfile", "hosts.txt", "-no-privatize"]
        command += [f"--log={one}" for one in logged]
        command += [f"--cfg={one}" for one in (*SETTINGS, *settings)]
        command += [str(program), *words, "-json", "records.jsonl"]
        begin = time.monotonic()
        with (folder / "out.txt").open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(environment or {})},
                start_new_session=limit is not None,
            )
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = KILLED
        wall = time.monotonic() - begin
        text = (folder / "out.txt").read_text(errors="replace")
        kept = folder / "records.jsonl"
        lines = kept.read_text().splitlines() if kept.exists() else []
        return Simulated(code, text, [json.loads(line) for line in lines if line.endswith("}")], wall)


def algorithms_of(program: Path, collective: str, *, smpirun: str = "smpirun") -> list[str]:
    """Those that SMPI lists where it does not know one, without those that choose among others."""
    machine = MACHINES["tree-16"]
    asked = [f"smpi/{collective.lower()}:bogus"]
    done = simulated(machine, program, ["Barrier"], asked, smpirun=smpirun, limit=60)
    found = re.search(r"Valid algorithms: (.*)\.", done.text)
    chosen = [name for name in found[1].split(", ") if name not in CHOOSERS] if found else []
    if not chosen:
        raise SystemExit(f"no algorithms of {collective} listed (status {done.code}):\n{done.text[-2000:]}")
    return chosen
