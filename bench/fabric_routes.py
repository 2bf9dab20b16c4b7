#!/usr/bin/env python3
"""Whether the fabrics of bench/fabric.py are those of SimGrid: every cable between switches is crossed by the same pairs, and with one
that takes 10 % longer, the same pairs take 10 % longer, and no other.

    bench/fabric_routes.py [--hosts 64,256,1024] [--cables 3]

Needs SimGrid (libsimgrid-dev) and a C++ compiler. --cables: slowed, drawn at random, one simulation each. Exit status: 1 where they differ.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from fabric import DRAGONFLY, FAT_TREE, Network, crosses, dragonfly, fat_tree

SOURCE = Path(__file__).with_suffix(".cpp")
SLOWER = 10.0  # percent


class Simulated:
    """`a`, `b`, `seconds`: of pairs; `crossing`: of each cable between switches, the pairs, by index."""

    def __init__(self, command: list[str]) -> None:
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        names: dict[int, str] = {}
        rows: list[list[str]] = []
        for line in text.splitlines():
            words = line.split()
            if words[0] == "cable":
                names[int(words[1])] = words[2]
            else:
                rows.append(words)
        self.a = np.array([int(row[0]) for row in rows], dtype=np.int32)
        self.b = np.array([int(row[1]) for row in rows], dtype=np.int32)
        self.seconds = np.array([float(row[2]) for row in rows])
        crossing: dict[int, list[int]] = {}
        for pair, row in enumerate(rows):
            for cable in row[3:]:
                crossing.setdefault(int(cable), []).append(pair)
        hosts = int(self.b.max()) + 1
        # A host's own cable is crossed by all its pairs and no other: no cable between switches is.
        self.crossing = {
            names[cable]: np.array(pairs)
            for cable, pairs in crossing.items()
            if not (len(pairs) == hosts - 1 and _common_end(self.a[pairs], self.b[pairs]))
        }
        self.hosts = len(crossing) - len(self.crossing)


def _common_end(a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]) -> bool:
    return any(bool(np.all((a == one) | (b == one))) for one in (a[0], b[0]))


def compared(
    network: Network, command: list[str], cables: int, random: np.random.Generator
) -> tuple[str, bool]:
    """A line, and whether all is the same."""
    plain = Simulated(command)
    ours = {np.flatnonzero(crosses(one, plain.a, plain.b)).tobytes(): one.name for one in network.slowable}
    theirs = {pairs.tobytes(): name for name, pairs in plain.crossing.items()}
    hosts = len(network.topology.hosts)
    same = ours.keys() == theirs.keys() and len(theirs) == len(plain.crossing) and plain.hosts == hosts
    right = 0
    for name in random.choice(sorted(plain.crossing), cables, replace=False).tolist():
        slow = Simulated([*command, name, str(SLOWER)])
        hit = np.zeros(len(plain.a), dtype=bool)
        hit[plain.crossing[name]] = True
        ratio = slow.seconds / plain.seconds
        right += bool(np.allclose(ratio, 1 + SLOWER / 100 * hit, atol=1e-3))
    line = (
        f"{network.name}, {hosts} hosts: {len(theirs)} cables between switches, "
        f"{len(ours.keys() & theirs.keys())} crossed by the same pairs; slowed cables with the times expected: {right} of {cables}"
    )
    return line, same and right == cables


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--hosts", default="64,256,1024")
    parser.add_argument("--cables", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    good = True
    with tempfile.TemporaryDirectory(prefix="fabric-routes-") as folder:
        program = f"{folder}/routes"
        subprocess.run(["g++", "-std=c++20", "-O1", "-o", program, SOURCE, "-lsimgrid"], check=True)
        for hosts in map(int, options.hosts.split(",")):
            size = FAT_TREE[hosts]
            tree = [program, "fat_tree", str(size), str(hosts // size)]
            fly = [program, "dragonfly", *map(str, DRAGONFLY[hosts])]
            for network, command in ((fat_tree(hosts), tree), (dragonfly(hosts), fly)):
                line, same = compared(network, command, options.cables, random)
                print(line, flush=True)
                good &= same
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
