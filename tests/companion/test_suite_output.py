"""The suite's text says to the importer what its records say."""

from pathlib import Path

import lab
import pytest
from imb.model.options import pass_limits
from imb.model.records import End, Failure, Result, Run, read
from imb.readers.formats import parse

# What text does not tell, or tells otherwise: the order of a group's ranks as one list, the mean of passive targets,
# what a benchmark's name says.
UNSAID = {
    "line", "slowest_rank", "slowest_thread", "time_of_threads_seconds", "kind", "group_count", "groups",
    "time_min_seconds", "time_max_seconds", "time_avg_seconds", "row", "passes", "evidence", "window_kind",
}  # fmt: skip
CASES = [
    ("MPI1", 2, "PingPong Sendrecv Uniband Barrier Bcast -check -show_tail yes"),
    ("MPI1", 4, "PingPong Exchange Allreduce Barrier -multi 1 -check"),
    ("MPI1", 4, "PingPong Allreduce -multi 0 -map 2x2 -mbyte 1e6"),
    ("MPI1", 2, "PingPong Alltoall -mem 0.00001"),
    ("MPI1", 2, "PingPong Uniband Barrier -passes 6 -check"),
    ("MPI1", 2, "Uniband Biband -msgsize 8,100000 -mem 0.01 -check -passes 1"),
    ("MPI1", 4, "PingPong Allreduce -precision 0.1 -budget 0.5 -multi 1"),
    ("NBC", 2, "Iallreduce Ibarrier -passes 3"),
    ("EXT", 2, "Window Unidir_Put Accumulate"),
    ("NBC", 2, "Iallreduce Ibarrier Ibcast_pure"),
    ("NBC", 2, "Iallreduce Ibarrier -multi 1 -npmin 1 -show_tail yes"),
    ("NBC", 2, "Ialltoall -msgsize 8,1m,64 -mem 100k"),
    ("MT", 2, "PingPongMT UniBandMT BarrierMT BcastMT -threads 2 -check"),
    ("MT", 4, "SendRecvMT AllReduceMT -threads 2 -npmin 2 -multi 1"),
    ("RMA", 2, "Unidir_put One_put_all Truly_passive_put"),
    ("RMA", 2, "Rput Rget_accumulate Raccumulate Shared_store Shared_load -check"),
    ("P2P", 4, "PingPong Birandom Stencil2D Stencil3D SendRecv_Replace Halo Multi_pair -check"),
    ("P2P", 2, "simple_halo PingPong -check -show_tail yes -mbyte 1e6"),
    ("P2P", 2, "simple_halo -npmin 1 -multi 1 -passes 6 -check -halo 1,corners"),
    ("P2P", 2, "simple_halo -msgsize 8,1m,64 -mem 1m"),
    (
        "MPI4",
        2,
        f"Bcast_persist Bcast_persist_pure Exchange_persist Comm_split Partitioned_overlap {lab.SHORT_LOAD}",
    ),
    ("MPI1", 3, "Neighbor_allgather Neighbor_alltoallw PingPong_mprobe -topo graph:1d -check"),
    ("NBC", 2, f"Ineighbor_alltoall Ineighbor_allgatherv_pure -topo random:1 {lab.SHORT_LOAD}"),
]


def said(failure: Failure) -> tuple[str, int | None, str | None, int | None]:
    """Text of a benchmark that is not available has no number of processes."""
    processes = None if failure.cause == "unavailable" else failure.processes
    return failure.benchmark, processes, failure.cause, failure.bytes


@pytest.mark.parametrize(("component", "ranks", "arguments"), CASES, ids=[f"{c}-{a}" for c, _, a in CASES])
def test_text_and_records_agree(
    mpi: lab.Mpi, tmp_path: Path, component: str, ranks: int, arguments: str
) -> None:
    lengths = "" if "-msgsize" in arguments else "-msglog 3"
    done = lab.run(mpi, ranks, f"{arguments} -iter 10 {lengths}", component=component, records=tmp_path)
    wanted = read((tmp_path / "records.jsonl").read_bytes(), "records.jsonl")
    log = parse(done.text.encode(), "output")
    assert not log.problems and not log.notes
    [launch] = log.launches
    found = list(launch.records())
    assert launch.run.component == component
    run = next(wanted.of(Run))
    assert (
        launch.run.version == run.version
        and launch.run.mpi
        and run.mpi
        and launch.run.mpi.name == run.mpi.name
    )
    assert pass_limits(launch.run) == pass_limits(run)
    end = next(wanted.of(End))
    assert launch.end and launch.end.passes == end.passes
    unit = run.option("mbyte", float)
    assert launch.bytes_per_megabyte == unit
    failures = [said(f) for f in found if isinstance(f, Failure)]
    assert failures == [said(f) for f in wanted.of(Failure)]
    pairs = list(zip([r for r in found if isinstance(r, Result)], wanted.of(Result), strict=True))
    assert pairs
    for seen, meant in pairs:
        labeled = meant.benchmark == "simple_halo"  # prints six significant digits
        unsaid = UNSAID | {"repetitions"} if labeled else UNSAID
        rel = 5.1e-6 if labeled else 0
        for name in set(meant.__struct_fields__) - unsaid:
            mine, theirs = getattr(seen, name), getattr(meant, name)
            if name == "load_drift" and theirs is not None:  # a note in whole percents where it is above 10 %
                noted = abs(theirs) > 0.1
                assert mine == (pytest.approx(theirs, abs=0.0051) if noted else None), name
            elif name == "quantiles" and theirs:
                assert mine.keys() == theirs.keys()
                assert list(mine.values()) == pytest.approx(list(theirs.values()), abs=6e-9)
            elif isinstance(theirs, float) and mine is not None:
                step = (
                    0.51 * (unit or 1) / 100
                    if name == "bytes_per_second"
                    else 0.51
                    if "messages" in name
                    else 0.0051
                )
                assert mine == pytest.approx(
                    theirs, rel=rel, abs=step if "seconds" not in name else 5.1e-9
                ), name
            elif not (mine is None and isinstance(theirs, float)):
                assert mine == theirs, name
        assert (seen.passes is None) == (meant.passes is None)
        assert seen.half_width == (meant.half_width and pytest.approx(meant.half_width, abs=5.1e-5))
        assert seen.time_max_seconds is None or seen.time_max_seconds == pytest.approx(
            meant.time_max_seconds, rel=rel, abs=5.1e-9
        )
