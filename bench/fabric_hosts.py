#!/usr/bin/env python3
"""How often `imb fabric` names what is slow among eight hosts, in real launches.

    bench/fabric_hosts.py [--repetitions 10] [--mpi openmpi,mpich] [--keep FOLDER]

The hosts are namespaces of this machine (Linux, root), four below each of two switches, with a token bucket of 100 Mbit/s at each
port and of 400 Mbit/s at the trunk. Conditions: all as said; the wire of h3 at 90 Mbit/s; the trunk at 100 Mbit/s; a core of h6 taken from
its rank for 30 of every 50 ms. Each repetition has all of them, for each MPI. `alone`: the launch alone is judged; `baseline`: against a launch
of the same MPI with all as said. The trunk of two switches is crossed by all pairs of a distance, so alone it cannot be named. `among`: the slow one is significant, perhaps with others
that the same pairs do not separate it from.

--keep: archive of the launches and their verdicts, in which a later call goes on. Exit status: 0 when everything ran.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
sys.path.remove(str(TOP / "bench"))  # its companion.py has the name of a package in tests
sys.path.insert(0, str(TOP / "tests"))

import lab  # noqa: E402
from companion import cluster  # noqa: E402
from companion.fabric.switched import TOPOLOGY, Switched, switched  # noqa: E402

PORT, TRUNK = 100.0, 400.0  # Mbit/s
CONDITIONS = {"healthy": "", "host": "h3", "link": "core - leaf1", "busy core": "h6"}
MEASURED = ["-b", "Pair_Bandwidth:32768"]
ARGUMENTS = ["-iter", "3"]


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fabric-hosts-")))
        keep = options.keep or folder / "kept"
        keep.mkdir(parents=True, exist_ok=True)
        network = folder / "net"
        network.mkdir()
        net = stack.enter_context(switched(network))
        bench = Bench(net, keep)
        mpis = [lab.ALL[name] for name in options.mpi.split(",")]
        for mpi in mpis:
            bench.launch(mpi, "baseline", 0)
        for repetition in range(1, options.repetitions + 1):
            for mpi in mpis:
                for condition in CONDITIONS:
                    bench.launch(mpi, condition, repetition)
        print(table(bench.verdicts(), [mpi.key for mpi in mpis]))


class Bench:
    """Launches and their verdicts, in a folder that is kept."""

    def __init__(self, net: Switched, keep: Path) -> None:
        self.net, self.keep = net, keep
        self.topology = keep / "topology"
        self.topology.write_text(TOPOLOGY)
        self.log = keep / "launches.jsonl"
        self.launched: list[dict[str, Any]] = []
        if self.log.exists():
            self.launched = [json.loads(line) for line in self.log.read_text().splitlines()]

    def launch(self, mpi: lab.Mpi, condition: str, repetition: int) -> None:
        """One launch under a condition, unless it was before."""
        what = {"mpi": mpi.key, "condition": condition, "repetition": repetition}
        if any(one.items() >= what.items() for one in self.launched):
            return
        net = self.net
        for host in net.names:
            net.limit_host(host, 0.9 * PORT if (condition, host) == ("host", "h3") else PORT)
        net.limit_trunk(PORT if condition == "link" else TRUNK)
        environment = {**cluster.ACROSS[mpi.key], cluster.DEVICE[mpi.key]: "eth0"}
        if mpi.key == "openmpi":
            environment["OMPI_MCA_mpi_yield_when_idle"] = "1"  # more ranks than cores
        words = ["--hosts", "h[1-8]", "--mpi", mpi.wrapper, "--programs", mpi.build / "bin", *MEASURED]
        for name, value in environment.items():
            words += ["--env", f"{name}={value}"]
        began = time.monotonic()
        busy = net.busy("h6", 0.6, 0.03) if condition == "busy core" else contextlib.nullcontext()
        with busy:
            said = self._imb([*words, "--", *ARGUMENTS])
        found = json.loads(said) if said.startswith("{") else {"sources": [], "said": said}
        self.launched.append({**what, "seconds": time.monotonic() - began, "runs": found["sources"]})
        with self.log.open("a") as file:
            file.write(json.dumps(self.launched[-1]) + "\n")
        print(
            f"{mpi.key} {condition} {repetition}: {time.monotonic() - began:.0f} s: {found.get('summary')}",
            flush=True,
        )

    def verdicts(self) -> list[dict[str, Any]]:
        """Of all launches: alone and against the baseline."""
        base = {one["mpi"]: one["runs"] for one in self.launched if one["condition"] == "baseline"}
        found = []
        for one in self.launched:
            if one["condition"] == "baseline" or not one["runs"]:
                continue
            for how, more in (("alone", []), ("baseline", ["--baseline", *base[one["mpi"]]])):
                found.append({**one, "how": how, "verdict": json.loads(self._imb([*one["runs"], *more]))})
        return found

    def _imb(self, words: list[object]) -> str:
        options = ["--topology", self.topology, "--format", "json", "--archive", self.keep / "archive"]
        split = words.index("--") if "--" in words else len(words)
        command = [sys.executable, "-m", "imb", "fabric", *words[:split], *options, *words[split:]]
        done = subprocess.run(
            self.net.on("h1", command), env=self.net.environment(), capture_output=True, text=True
        )
        return done.stdout or done.stderr


def table(found: list[dict[str, Any]], mpis: list[str]) -> str:
    """How often which element was named."""
    lines = [
        f"{'MPI':10} {'condition':10} {'judged':9} {'n':>3} {'named':>6} {'other':>6}  states; other names"
    ]
    for mpi in mpis:
        for condition, right in CONDITIONS.items():
            for how in ("alone", "baseline"):
                verdicts = [
                    one["verdict"]
                    for one in found
                    if (one["mpi"], one["condition"], one["how"]) == (mpi, condition, how)
                ]
                names = [
                    {s["name"]: {s["name"], *s["alternatives"]} for s in one["suspects"] if s["named"]}
                    for one in verdicts
                ]
                named = sum(any(right in also for also in one.values()) for one in names) if right else 0
                among = sum(
                    any(
                        right in (s["name"], *s["alternatives"]) and s["p_value"] <= one["level"]
                        for s in one["suspects"]
                    )
                    for one in verdicts
                )
                others = Counter(
                    n for one in names for n, also in one.items() if not right or right not in also
                )
                states = Counter(one["state"] for one in verdicts)
                words = ", ".join(f"{state} {count}" for state, count in states.items())
                more = "; " + ", ".join(f"{name} {count}" for name, count in others.items()) if others else ""
                wrong = sum(any(not right or right not in also for also in one.values()) for one in names)
                lines.append(
                    f"{mpi:10} {condition:10} {how:9} {len(verdicts):3} {named:6} {among if right else 0:6} {wrong:6}  {words}{more}"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
