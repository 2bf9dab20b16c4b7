"""The columns of the index's table of runs."""

import pyarrow as pa

RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("added", pa.string()),
        ("kind", pa.string()),
        ("program", pa.string()),
        ("version", pa.string()),
        ("component", pa.string()),
        ("date", pa.string()),
        ("benchmarks", pa.string()),
        ("processes", pa.int64()),
        ("nodes", pa.string()),
        ("mpi", pa.string()),
        ("command", pa.string()),
        ("exit_status", pa.int64()),
        ("state", pa.string()),
        ("rows", pa.int64()),
        ("failures", pa.int64()),
        ("defects", pa.int64()),
        ("problems", pa.int64()),
        ("passes", pa.int64()),
        ("bytes", pa.int64()),
        ("origin", pa.string()),
        ("host", pa.string()),
        ("campaign", pa.string()),
        ("conditions", pa.string()),
    ]
)
