"""imb rails: which CPUs the pairs of ranks are pinned to."""

from __future__ import annotations

import os
from pathlib import Path

from imb.fabric.host_rails import cpus_of_rails
from imb.model.conditions import Interface


def test_pairs_are_pinned_near_their_rail(tmp_path: Path) -> None:
    """A CPU of its NUMA node for each, different ones as far as there are enough; none where a node is not known."""
    cpus = sorted(os.sched_getaffinity(0))[:2]

    def rail(kind: str, name: str, node: int) -> Interface:
        file = tmp_path / "class" / kind / name / "device" / "numa_node"
        file.parent.mkdir(parents=True)
        file.write_text(f"{node}\n")
        return Interface(name=name, rdma=kind == "infiniband", up=True)

    for node, cpu in enumerate((cpus[0], cpus[-1])):
        (tmp_path / "devices/system/node" / f"node{node}").mkdir(parents=True)
        (tmp_path / "devices/system/node" / f"node{node}" / "cpulist").write_text(f"{cpu}\n")
    near = [rail("infiniband", "mlx5_0", 1), rail("infiniband", "mlx5_1", 0), rail("net", "eth0", 0)]
    assert cpus_of_rails(near, tmp_path) == (cpus[-1], cpus[0], cpus[0])
    (tmp_path / "devices/system/node/node0/cpulist").write_text(f"{cpus[0]},{cpus[-1]}\n")
    assert cpus_of_rails(near[1:], tmp_path) == (cpus[0], cpus[-1])
    assert cpus_of_rails([*near, rail("net", "eth1", -1)], tmp_path) == ()
