"""Sides: what a word names, and its rows by launch."""

from pathlib import Path

import numpy as np
import pytest
from companion.door import Imb
from imb.model.errors import ImbError
from imb.model.records import Rank, Result, Run, write
from imb.report.panels import layout_of
from imb.report.tables import tables_of
from imb.store.names import load
from imb.store.store import Archive, Content


def launch(seconds: float, hosts: tuple[str, ...] = ("a", "a")) -> bytes:
    ranks = [Rank(number, host) for number, host in enumerate(hosts)]
    row = Result(
        benchmark="PingPong", multi="off", processes=2, group_count=1, bytes=8, time_avg_seconds=seconds
    )
    return write([Run(component="MPI1", ranks=ranks), row])


def test_a_label_names_all_its_runs(archive: Archive) -> None:
    archive.add_many(Content(records=launch(t), labels=["a"]) for t in (1.0, 2.0, 3.0))
    archive.add(Content(records=launch(9.0), labels=["b"]))
    side = load(archive, "a")
    (key,) = side.all_keys()
    assert sorted(side.values(key)) == [1.0, 2.0, 3.0]
    assert str(key) == "PingPong, 2 ranks, 8 bytes"
    assert np.isnan(side.values(key, "bandwidth")).all()


def test_rows_of_different_numbers_of_threads_never_mix(archive: Archive) -> None:
    rows = [
        Result(benchmark="PingPong", processes=2, threads=n, bytes=8, time_avg_seconds=float(n))
        for n in (1, 2)
    ]
    archive.add(Content(records=write([Run(component="MPI1"), *rows]), labels=["a"]))
    side = load(archive, "a")
    assert {str(key): side.values(key).tolist() for key in side.all_keys()} == {
        "PingPong, 2 ranks, 8 bytes": [1.0],
        "PingPong, 2 ranks, 2 threads, 8 bytes": [2.0],
    }
    assert [layout_of(key) for key in side.all_keys()] == ["2 ranks", "2 ranks, 2 threads"]
    assert [table.title for table in tables_of(rows)] == [
        "PingPong, 2 ranks",
        "PingPong, 2 ranks, 2 threads",
    ]


def test_names_queries_and_files(archive: Archive, tmp_path: Path) -> None:
    added = archive.add(Content(records=launch(1.0)))
    (tmp_path / "some.jsonl").write_bytes(launch(2.0) + launch(3.0))
    both = load(archive, f"{added.id[:8]},{tmp_path / 'some.jsonl'}")
    assert both.values(both.all_keys()[0]).tolist() == [1.0, 2.0, 3.0]
    assert len({one.name for one in both.launches}) == 3
    assert len(load(archive, "sql:SELECT run FROM runs").launches) == 1


def test_placement(archive: Archive) -> None:
    archive.add(Content(records=launch(1.0), labels=["intra"]))
    archive.add(Content(records=launch(1.0, ("a", "b")), labels=["inter"]))
    assert [load(archive, name).launches[0].placement() for name in ("intra", "inter")] == [
        "intra-node",
        "inter-node",
    ]


@pytest.mark.parametrize("what", ["nothing", "", "sql:SELECT 1", "sql:SELECT run FROM nowhere"])
def test_what_is_not_there_is_an_error(archive: Archive, what: str) -> None:
    archive.add(Content(records=launch(1.0)))
    with pytest.raises(ImbError):
        load(archive, what)


def test_logs_of_others_are_sides_too(imb: Imb, archive: Archive) -> None:
    log = Path(__file__).parents[1] / "reference"
    side = load(archive, str(next(log.rglob("*.txt"))))
    assert side.all_keys()
