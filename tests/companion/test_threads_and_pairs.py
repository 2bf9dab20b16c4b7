"""Records of threads, of pairs and of partitioned messages: import, compare, diagnose, export."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from companion.door import Imb
from imb.store.store import Archive, Content

EXAMPLES = Path(__file__).resolve().parents[2] / "schema" / "examples"
LAUNCHES = 8


def launches(example: str, factor: float) -> Iterator[bytes]:
    """The example's times as a number of launches have them, up to 1 % longer."""
    records = [json.loads(line) for line in (EXAMPLES / f"{example}.jsonl").read_text().splitlines()]
    for number in range(LAUNCHES):
        longer = factor * (1 + number / (100 * LAUNCHES))
        lines = []
        for record in records:
            times = {name: value for name, value in record.items() if name.startswith("time_")}
            scaled = {
                name: [longer * each for each in value] if isinstance(value, list) else longer * value
                for name, value in times.items()
            }
            rates = {
                name: record[name] / longer
                for name in ("bytes_per_second", "messages_per_second")
                if name in record
            }
            lines.append(json.dumps({**record, **scaled, **rates}) + "\n")
        yield "".join(lines).encode()


@pytest.mark.parametrize(
    ("example", "component", "threads", "benchmarks"),
    [
        ("threads", "MT", 2, ["PingPongMT", "UniBandMT"]),
        ("pairs", "P2P", 1, ["Birandom", "Halo", "Multi_pair"]),
        ("partitioned", "MPI4", 4, ["Partitioned_overlap"]),
    ],
)
def test_records_are_compared_diagnosed_and_exported(
    imb: Imb, archive: Archive, example: str, component: str, threads: int, benchmarks: list[str]
) -> None:
    for label, factor in (("before", 1.0), ("after", 1.5)):
        archive.add_many(
            Content(records=records, labels=[label], facts={"session": "s"})
            for records in launches(example, factor)
        )
    compared = json.loads(imb("compare", "before", "after", "--format", "json").out)
    assert compared["verdict"] == "slower"
    for of_lengths in (
        [(band["curve"], band["effect"]) for band in compared["bands"]],
        [(row["key"], row["effect"]) for row in compared["rows"]],
    ):
        assert [(key["component"], key["benchmark"]) for key, _ in of_lengths] == [
            (component, benchmark) for benchmark in benchmarks
        ]
        assert {(key["threads"], effect["verdict"]) for key, effect in of_lengths} == {(threads, "slower")}
        assert [effect["speed"] for _, effect in of_lengths] == pytest.approx([1 / 1.5] * len(benchmarks))
    found = imb("diagnose", "after", "--format", "json")
    assert found.code in (0, 1) and not found.err
    rows = list(csv.DictReader(io.StringIO(imb("export", "before").out)))
    assert [(row["component"], row["benchmark"], row["threads"]) for row in rows] == [
        (component, benchmark, str(threads)) for benchmark in benchmarks
    ] * LAUNCHES
    assert all(float(row["time_max_seconds"]) == pytest.approx(2e-6, rel=0.01) for row in rows)
