"""Logs as people have them: tags, boxes, messages, wrapped rows. What an import makes of each, figure by figure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from companion.door import Imb

CASES = Path(__file__).parent / "data" / "cases"
UNITS = {
    "time_min_seconds": 1e-6,
    "time_max_seconds": 1e-6,
    "time_avg_seconds": 1e-6,
    "time_overlapped_seconds": 1e-6,
    "time_pure_seconds": 1e-6,
    "time_cpu_seconds": 1e-6,
    "bytes_per_second": 1e6,
    "messages_per_second": 1,
}


class Rows(NamedTuple):
    """Rows of one table: the figures as the log prints them, in the order of `fields`. `megabyte`: of Mbytes/sec."""

    benchmark: str
    processes: int | None
    fields: Sequence[str]
    values: Sequence[Sequence[float | int]]
    megabyte: float = 1e6


class Launch(NamedTuple):
    """One run of a file."""

    tables: Sequence[Rows]
    state: str | None = None
    reason: str | None = None
    label: str | None = None
    command: str | None = None
    memory: str | None = None
    file: dict[str, str] | None = None


class Case(NamedTuple):
    """What becomes of a file. `errors`: lines on standard error, without the file's name. `notes`: whether other text is skipped.
    `assumed`: further lines on standard error, which leave the exit status 0."""

    launches: Sequence[Launch]
    errors: Sequence[str] = ()
    notes: bool | None = None
    assumed: Sequence[str] = ()


TRANSFER = ("bytes", "repetitions", "time_max_seconds", "bytes_per_second")
FIVE = (
    (0, 1000, 1.00, 0.00),
    (1, 1000, 1.10, 0.91),
    (2, 1000, 1.20, 1.67),
    (4, 1000, 1.30, 3.08),
    (8, 1000, 1.40, 5.71),
)
PINGPONG = Rows("PingPong", 2, TRANSFER, FIVE)
OWN = "IMB-MPI1 PingPong"
COMPLETE = Launch([PINGPONG], "complete", command=OWN)
TAGGED = Rows(
    "osu_latency",
    None,
    ("bytes", "time_avg_seconds"),
    ((0, 1.0), (1, 1.1), (2, 1.2), (4, 2100.56), (8, 1.25)),
)
BANDWIDTH = ("bytes", "bytes_per_second")
LATENCY = ("bytes", "time_avg_seconds")
TWO = ((0, 1.00), (1, 1.10))
RANGE = (
    "bytes",
    "repetitions",
    "time_min_seconds",
    "time_max_seconds",
    "time_avg_seconds",
    "bytes_per_second",
)
FOUR = (
    (0, 1000, 0.05, 0.06, 0.05),
    (4, 1000, 2.10, 2.30, 2.20),
    (8, 1000, 2.20, 2.40, 2.30),
    (16, 1000, 2.30, 2.50, 2.40),
    (32, 1000, 2.40, 2.60, 2.50),
)
EXPECTED = {
    "A1-osu-changing-tag.txt": Case([Launch([TAGGED])]),
    "A2-osu-iso-time.txt": Case([Launch([TAGGED])]),
    "B1-box-in-table.txt": Case([COMPLETE]),
    "B2-trace-in-table.txt": Case(
        [COMPLETE._replace(reason="a rank was ended by a signal: Segmentation fault (11)")]
    ),
    "B3-defects-row.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "PingPong",
                        2,
                        (*TRANSFER, "defects"),
                        ((0, 1000, 1.00, 0.00, 0), (1, 1000, 1.10, 0.91, 0), (2, 1000, 1.20, 1.67, 1)),
                    )
                ],
                "complete",
                command=OWN,
            )
        ]
    ),
    "C1-launcher-message.txt": Case(
        [
            Launch(
                [Rows("osu_latency", 2, LATENCY, TWO)],
                "aborted",
                "mpirun noticed that process rank 1 with PID 4711 on node n1 exited on signal 9 (Killed).",
                command="mpirun -np 2 ./osu_latency",
            ),
            Launch(
                [Rows("osu_latency", None, LATENCY, TWO)],
                "aborted",
                "mpiexec detected that one or more processes exited with non-zero status",
            ),
            Launch([Rows("osu_latency", None, LATENCY, TWO)]),
        ]
    ),
    "C2-help-box-label.txt": Case([COMPLETE]),
    "D1-line-number-behind.txt": Case([COMPLETE]),
    "D2-erase-line.txt": Case([COMPLETE]),
    "D3-colour.txt": Case([COMPLETE]),
    "E1-osu-ibarrier.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "osu_ibarrier",
                        None,
                        (
                            "bytes",
                            "time_overlapped_seconds",
                            "time_cpu_seconds",
                            "time_pure_seconds",
                            "overlap_percent",
                        ),
                        ((0, 20.10, 10.20, 9.90, 1.00),),
                    )
                ]
            )
        ]
    ),
    "E2-osu-hello.txt": Case([], [":1: osu_hello has no row that can be read; skipped"]),
    "G1-osu-titles.txt": Case(
        [
            Launch(
                [Rows("osu_allreduce", 4, LATENCY, values)],
                label=label,
                command="mpirun -np 4 -ppn 2 ./osu_allreduce",
            )
            for label, values in (
                ("MPI alpha; 2 nodes", ((4, 3.00), (8, 3.10))),  # a comma divides labels
                ("MPI beta; 2 nodes", ((4, 6.00), (8, 6.20))),
            )
        ]
    ),
    "G2-osu-prompt.txt": Case(
        [
            Launch(
                [Rows("osu_alltoall", processes, LATENCY, ((1, time),))],
                command=f"mpirun -np {processes} --map-by node ./osu_alltoall",
            )
            for processes, time in ((96, 10.0), (192, 30.0))
        ]
    ),
    "H1-osu-device.txt": Case(
        [
            Launch(
                [Rows("osu_bw_cuda", None, ("bytes", "bytes_per_second"), ((1, 0.5), (4194304, 46500.0)))],
                memory="cuda",
            )
        ]
    ),
    "I1-wrapped-rows.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "Sendrecv",
                        2,
                        RANGE,
                        (
                            (0, 1000, 1.00, 1.10, 1.05, 0.00),
                            (1, 1000, 1.10, 1.21, 1.16, 1.58),
                            (2, 1000, 1.20, 1.32, 1.26, 2.89),
                            (4, 1000, 1.30, 1.43, 1.37, 5.34),
                            (8, 1000, 1.40, 1.54, 1.47, 9.91),
                        ),
                        2**20,
                    )
                ]
            )
        ]
    ),
    "I2-wrapped-last-column.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "Exchange",
                        2,
                        RANGE,
                        (
                            (0, 1000, 1.00, 1.10, 1.05, 0.00),
                            (1, 1000, 1.10, 1.21, 1.16, 3.15),
                            (2, 1000, 1.20, 1.32, 1.26, 5.78),
                            (4, 1000, 1.30, 1.43, 1.37, 10.67),
                            (8, 1000, 1.40, 1.54, 1.47, 19.82),
                        ),
                        2**20,
                    )
                ]
            )
        ]
    ),
    "J1-tmux-counter.txt": Case([COMPLETE]),
    "J2-pmb-title.txt": Case(
        [
            Launch(
                [
                    Rows("PingPing", None, TRANSFER, ((0, 1000, 1.00, 0.00), (8, 1000, 1.40, 5.45)), 2**20),
                    Rows("Exchange", None, TRANSFER, ((0, 1000, 3.00, 0.00), (8, 1000, 4.40, 6.94)), 2**20),
                ]
            )
        ]
    ),
    "Q1-labels.md": Case(
        [
            COMPLETE._replace(label="1. With MPI alpha / 1-1. PingPong"),
            COMPLETE._replace(label="1. With MPI alpha / 1-2. Again"),
            COMPLETE._replace(label="2. With MPI beta"),
        ]
    ),
    "Q2-frames.txt": Case([COMPLETE._replace(label=label) for label in ("MPI over TCP", "MPI over RDMA")]),
    "W1-own-header.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "S_Read_Indv",
                        1,
                        TRANSFER,
                        ((0, 3, 1.32, 0.00), (1, 3, 2.07, 0.46), (2, 3, 2.21, 0.86), (4, 3, 1.19, 3.21)),
                        2**20,
                    )
                ],
                "complete",
                command="./IMB-IO -npmin 20 -msglog 2 -iter 3 -file /scratch/IMB_out S_Read_indv",
                file={"path": "/scratch/IMB_out", "file_system": "ext4"},
            )
        ],
        notes=False,
    ),
    "S1-error-behind-table.txt": Case(
        [
            Launch(
                [Rows("Alltoall", 20, TRANSFER, FIVE, 2**20)],
                "aborted",
                "*** An error occurred in MPI_Alltoall",
            )
        ],
        assumed=[":5: unit of Mbytes/sec unknown (no version, no row that decides it); assumed 2^20 bytes"],
    ),
    "AA-msgrate-unit.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "Uniband",
                        2,
                        ("bytes", "repetitions", "bytes_per_second", "messages_per_second"),
                        (
                            (0, 1000, 0.00, 2000000),
                            (1, 1000, 2.00, 2000000),
                            (64, 1000, 112.00, 1750000),
                            (1024, 1000, 1024.00, 1000000),
                            (1048576, 40, 10485.76, 10000),
                        ),
                    )
                ]
            )
        ]
    ),
    "AB-osu-joined-heading.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "osu_igather",
                        None,
                        (
                            "bytes",
                            "time_overlapped_seconds",
                            "time_cpu_seconds",
                            "time_pure_seconds",
                            "overlap_percent",
                        ),
                        (
                            (1, 2.10, 1.30, 0.80, 0.00),
                            (2, 2.20, 1.40, 0.90, 11.11),
                            (4, 2.30, 1.50, 1.00, 20.00),
                        ),
                    )
                ]
            )
        ]
    ),
    "AB2-imb-joined-heading.txt": Case([Launch([Rows("Allreduce", 4, RANGE[:-1], FOUR[:3])])]),
    "AC-imb-joined-rows.txt": Case([Launch([Rows("Allreduce", 4, RANGE[:-1], FOUR)])]),
    "AL-imb-and-osu.md": Case(
        [Launch([Rows("PingPong", 2, TRANSFER, FIVE[:3])], "complete", label="PingPong", command=OWN)],
        [
            ": tables of IMB and of OSU's benchmarks in one file: 3 rows of OSU's benchmarks are skipped; split the file"
        ],
    ),
    "AN-html-nbsp.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "PingPong",
                        2,
                        TRANSFER,
                        ((0, 1000, 1.00, 0.00), (1024, 1000, 2.00, 512.00), (1048576, 40, 250.00, 4194.30)),
                    )
                ]
            )
        ]
    ),
    "AD-front-matter.md": Case(
        [
            Launch(
                [Rows("osu_latency", 2, LATENCY, ((0, 1.00), (1, 1.10), (2, 1.20)))],
                label="Parallel jobs in containers / Point to point",
                command="mpirun -n 2 ./osu_latency",
            )
        ]
    ),
    "AE-content-tabs.md": Case(
        [
            Launch(
                [Rows("osu_bw", 2, BANDWIDTH, values)],
                label=f"Performance of the library / Bandwidth / {name}",
                command=f"srun {nodes} -n2 ./osu_bw",
            )
            for name, nodes, values in (
                ("same node", "-N1", ((1, 1.00), (2, 2.00), (4194304, 40000.00))),
                ("two nodes", "-N2", ((1, 0.50), (2, 1.00), (4194304, 24000.00))),
            )
        ]
    ),
    "AI-repeated-tables.txt": Case(
        [
            Launch([Rows("PingPong", 2, TRANSFER, values)])
            for values in (
                ((0, 1000, 2.00, 0.00), (1024, 1000, 4.00, 256.00), (1048576, 40, 500.00, 2097.15)),
                ((0, 1000, 1.00, 0.00), (1024, 1000, 2.00, 512.00), (1048576, 40, 250.00, 4194.30)),
            )
        ]
    ),
    "AK-running-comment.txt": Case(
        [
            Launch(
                [Rows("osu_latency", 2, LATENCY, ((0, 1.80), (1, 1.90), (2, 2.00)))],
                command="srun -n2 -N2 -t00:8:00 --exclusive -c2 ./osu_latency",
            )
        ]
    ),
    "AQ-quoted-titles.md": Case(
        [
            Launch(
                [Rows("osu_latency", None, LATENCY, [(n, time + n / 10) for n in range(3)])],
                label=f"Course / Exercise on {nodes} / Expected output",
            )
            for nodes, time in (("one node", 0.4), ("two nodes", 1.4))
        ]
    ),
    "AR-bold-titles.md": Case(
        [
            Launch(
                [
                    Rows(
                        "osu_mbw_mr",
                        4,
                        (*BANDWIDTH, "messages_per_second"),
                        ((1, rate, rate * 1e6), (2, 2 * rate, rate * 1e6)),
                    )
                ],
                label=f"Local performance / {name}",
            )
            for name, rate in (("Group 1", 2.00), ("Group 2", 1.00))
        ]
    ),
    "AF-numbered-list.md": Case(
        [
            Launch(
                [Rows("osu_bw", 2, BANDWIDTH, ((1, 1.00), (2, 2.00), (4194304, 24000.00)))],
                label="Bandwidth of two nodes",
                command="mpirun -n 2 ./osu_bw",
            )
        ]
    ),
    "AG-title-twice.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "osu_mbw_mr",
                        8,
                        (*BANDWIDTH, "messages_per_second"),
                        ((1, 10.00, 1e7), (2, 20.00, 1e7), (4194304, 40000.00, 9536.74)),
                    )
                ]
            )
        ]
    ),
    "AH-argument-with-name.txt": Case(
        [
            Launch(
                [Rows("osu_allreduce", processes, LATENCY, [(4 << i, time + i / 10) for i in range(3)])],
                command=command,
            )
            for processes, time, command in (
                (4, 2.1, "srun --environment=$PWD/osu_gpu.toml -n4 -N2 ./osu_allreduce"),
                (8, 3.1, "mpirun --hostfile osu_hosts -x OSU_DIR=/opt/osu -np 8 ./osu_allreduce"),
            )
        ]
    ),
    "AJ-osu75-device.txt": Case(
        [
            Launch(
                [Rows("osu_bw_cuda", 2, BANDWIDTH, ((1, 0.50), (2, 1.00), (4194304, 46500.00)))],
                command="mpirun -n 2 ./osu_bw -d cuda D D",
                memory="cuda",
            )
        ]
    ),
    "AM-osu-f-short-heading.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "osu_reduce",
                        8,
                        (*LATENCY, "time_min_seconds", "time_max_seconds", "repetitions"),
                        [(1 << i, 50.0 + i, 18.0 + i, 89.0 + i, 1000) for i in range(3)],
                    )
                ],
                command="mpirun -np 8 ./osu_reduce -f",
            )
        ]
    ),
    "AS-imb-gpu-part.txt": Case(
        [
            Launch(
                [
                    Rows(
                        "PingPong",
                        2,
                        TRANSFER,
                        (
                            (0, 1000, 10.00, 0.00),
                            (1024, 1000, 20.00, 51.20),
                            (4194304, 10, 100.00, 41943.04),
                        ),
                    )
                ],
                "complete",
                command="IMB-MPI1-GPU PingPong -mem_alloc_type device",
                memory="device",
            )
        ]
    ),
}


def test_every_file_has_its_right_values() -> None:
    assert sorted([*EXPECTED, *JUDGED]) == sorted(path.name for path in CASES.iterdir())


# tests/companion/test_cases_judged.py has what commands make of these.
JUDGED = (
    "F1-two-launches.txt",
    "R1-twelve-launches.txt",
    "T1-overlapped-slower.txt",
    "U1-alone.txt",
    "V1-lost-row.txt",
)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_an_import_makes_of_a_file(imb: Imb, name: str) -> None:
    path, case = CASES / name, EXPECTED[name]
    said = imb("import", path)
    assert said.code == bool(case.errors)
    assert said.err.splitlines() == [f"imb: {path}{line}" for line in (*case.errors, *case.assumed)]
    assert case.notes is None or ("other text skipped" in said.out) == case.notes
    if not case.launches:
        assert "; 0 runs, 0 of them new" in said.out
        return
    records = [json.loads(line) for line in imb("export", path, "-f", "jsonl").out.splitlines()]
    starts = [at for at, record in enumerate(records) if record["record"] == "run"]
    found = [records[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    assert len(found) == len(case.launches)
    for launch, of_launch in zip(case.launches, found, strict=True):
        compare(launch, of_launch)
    labels = imb("query", "-f", "csv", "SELECT label FROM labels ORDER BY label").out.splitlines()[1:]
    assert labels == sorted(launch.label for launch in case.launches if launch.label)
    counted = imb("query", "-f", "csv", "SELECT count(*) FROM results").out.split()[1]
    assert int(counted) == sum(len(table.values) for launch in case.launches for table in launch.tables)


def compare(launch: Launch, records: list[dict[str, Any]]) -> None:
    run = records[0]
    assert run["command_line"] == (launch.command.split() if launch.command else None)
    assert (run["options"] or {}).get("memory") == launch.memory
    assert run.get("file") == launch.file
    ends = [(record["state"], record["reason"]) for record in records if record["record"] == "end"]
    assert ends == ([(launch.state, launch.reason)] if launch.state else [])
    rows = [record for record in records if record["record"] == "result"]
    expected = [(table, values) for table in launch.tables for values in table.values]
    assert len(rows) == len(expected)
    for row, (table, values) in zip(rows, expected, strict=True):
        assert (row["benchmark"], row["processes"]) == (table.benchmark, table.processes)
        for field, value in zip(table.fields, values, strict=True):
            unit = table.megabyte if field == "bytes_per_second" else UNITS.get(field, 1)
            assert row[field] == pytest.approx(value * unit), (field, row)
        others = {*UNITS, "overlap_percent", "defects", "quantiles"} - set(table.fields)
        assert {field: row[field] for field in others if row.get(field) is not None} == {}
