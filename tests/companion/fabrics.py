"""Records of IMB-FABRIC, simulated: hosts below leaf switches, some of them slow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BASE = {"Pair_Latency": 1.5e-6, "Pair_Bandwidth": 9e-5}
BYTES = {"Pair_Latency": 8, "Pair_Bandwidth": 1 << 20}


def circle(count: int, most: int | None = None) -> list[list[tuple[int, int]]]:
    """All pairs in rounds of disjoint ones, or so many of these rounds; `count` is even."""
    ring = list(range(count))
    rounds = []
    for _ in range(count - 1 if most is None else most):
        rounds.append(
            [
                (min(x, y), max(x, y))
                for x, y in zip(ring[: count // 2], ring[: count // 2 - 1 : -1], strict=True)
            ]
        )
        ring = [ring[0], ring[-1], *ring[1:-1]]
    return rounds


def records(
    names: Sequence[str],
    *,
    slow: Mapping[int, float] = {},
    slow_leaf: int | None = None,
    slow_pairs: float = 0.0,
    silent: Sequence[int] = (),
    leaf: int = 16,
    passes: int = 3,
    noise: float = 0.01,
    seed: int = 1,
    benchmarks: Sequence[str] = ("Pair_Latency",),
    endpoint: str = "host",
    end: bool = True,
    most_rounds: int | None = None,
    kind: str = "circle",
    cause: str = "time_out",
    failed_pair: tuple[int, int] | None = None,
) -> bytes:
    """`slow`: by number, 0.5 takes 50 % longer. `slow_leaf`: pairs between this leaf switch and others take 50 % longer.
    `slow_pairs`: share of pairs that do, no matter which. `cause`: of the failures of `silent` endpoints and of `failed_pair`. Pairs of two leaf switches take 30 % longer than those of one."""
    random = np.random.default_rng(seed)
    places: list[dict[str, Any]] = [
        {"rank": n, "host": host, "cpus": [n if endpoint == "core" else 0]} for n, host in enumerate(names)
    ]
    options = {
        "endpoint": endpoint,
        "seed": seed,
        "rounds": {"some": len(names) - 1, "one_to_all": kind, "all_to_one": kind}.get(kind),
        "halves": kind == "halves",
        "pairs_file": True if kind == "listed" else None,
        "serial": False,
    }
    run = {
        "record": "run",
        "schema": "openimb-record/2",
        "program": "OpenIMB",
        "component": "FABRIC",
        "options": options,
        "endpoints": places,
    }
    lines = [json.dumps(run, separators=(",", ":"))]
    rounds = circle(len(names), most_rounds)
    for benchmark in benchmarks:
        length = BYTES[benchmark]
        for number in range(1, passes + 1):
            for order, at in enumerate(random.permutation(len(rounds)), 1):
                wobble = np.exp(random.normal(0, noise, len(names)))
                for (a, b), by in zip(rounds[at], wobble, strict=False):
                    where = f'"benchmark":"{benchmark}","bytes":{length},"pass":{number},"round":{order},"a":{a},"b":{b}'
                    if a in silent or b in silent or (a, b) == failed_pair:
                        lines.append(f'{{"record":"failure",{where},"cause":"{cause}"}}')
                        continue
                    seconds = BASE[benchmark] * (1 if a // leaf == b // leaf else 1.3)
                    if (slow_leaf is not None and (a // leaf == slow_leaf) != (b // leaf == slow_leaf)) or (
                        (a * 7919 + b * 104729) % 1000 < 1000 * slow_pairs
                    ):
                        seconds *= 1.5
                    seconds *= by * (1 + max(slow.get(a, 0.0), slow.get(b, 0.0)))
                    lines.append(
                        f'{{"record":"pair",{where},"repetitions":100,"time_seconds":{seconds!r}}}'.replace(
                            "np.float64(", ""
                        ).replace(")}", "}")
                    )
    if end:
        lines.append('{"record":"end","state":"complete"}')
    return ("\n".join(lines) + "\n").encode()


def hosts(count: int) -> list[str]:
    """n001 and so on."""
    return [f"n{number:03}" if count < 1000 else f"n{number:04}" for number in range(1, count + 1)]


def topology_file(path: Path, names: Sequence[str], leaf: int = 16) -> Path:
    """The same switches as a topology file."""
    leaves = [names[at : at + leaf] for at in range(0, len(names), leaf)]
    lines = [f"leaf{number}: {' '.join(below)}" for number, below in enumerate(leaves, 1)]
    lines.append("spine: " + " ".join(f"leaf{number}" for number in range(1, len(leaves) + 1)))
    path.write_text("\n".join(lines) + "\n")
    return path
