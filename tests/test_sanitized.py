"""Memory errors and undefined behavior: every benchmark in every mode, in programs that end at the first one.

build/sanitized (tools/builds.mk) is the suite with AddressSanitizer and UndefinedBehaviorSanitizer, for MPICH. Its library is
not instrumented, but the memory that its calls copy from and to is checked there, too. A launch has all benchmarks that an
option serves, a few repetitions and lengths, and -check.
"""

import dataclasses

import lab
import pytest

# Leaks: MPI libraries have some at their end. Link order: crowded ranks get a library in front (lab.yielding).
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
FEW = f"-check -iter 2,1,2 -time 60 {lab.SHORT_LOAD}"
LENGTHS = "-msgsize 0,29,70000"  # the last one is beyond what surrounds a buffer that is empty
MATRIX = [  # ranks, component, options; names, where not all: buffers of a launch only grow, which hides what one lacks
    (2, "MPI1", "-show_tail on"),
    (
        4,
        "MPI1",
        "-map 2x2 -multi 1 -npmin 2 -sync on -imb_barrier on -contig_type resize_vec -data_type float",
    ),
    (2, "MPI1", "-in_place on -off_cache 0.05,64 -root_shift off"),
    (2, "MPI1", "-layout vector:1:2"),
    (2, "MPI1", "-layout vector:1:2", "Bcast"),
    (2, "MPI1", "-layout indexed -send_mode synchronous"),
    (2, "MPI1", "-layout struct -send_mode buffered"),
    (3, "MPI1", "-topo random:1 -seed 3 -passes 2"),
    (2, "NBC", "-progress 2 -layout vector:1:2"),
    (2, "NBC", "-in_place on -passes 2"),
    (2, "EXT", "-window allocate -show_tail on"),
    (2, "EXT", "-sync_mode pscw -window dynamic -off_cache 0.05,64"),
    (2, "RMA", "-window shared -show_tail on"),
    (2, "RMA", "-window dynamic -sync_mode lock_all -passes 2"),
    (2, "IO", "-msgsize 29 -reorder 1 -fsync never -off_cache 0.05,64"),
    (2, "MPI4", "-partitions 4 -threads 2 -in_place on"),
    (4, "P2P", "-pairs 2 -halo 2 -show_tail on"),
    (4, "P2P", "-layout struct"),
    (2, "MT", "-threads 2 -thread_level multiple -malloc_algo parallel"),
    (2, "MT", "-threads 2 -comm shared -malloc_algo continuous -passes 2", "PingPongMT", "UniBandMT"),
    (3, "FABRIC", "-passes 2"),
]


@pytest.fixture(scope="module")
def sanitized() -> lab.Mpi:
    found = [mpi for mpi in lab.MAIN if mpi.key == "mpich"]
    if not found:
        lab.missing("MPICH")
    (mpi,) = found
    programs = dataclasses.replace(
        mpi, programs="../sanitized/bin/all", env={**mpi.env, **SANITIZERS, "UCX_MEM_EVENTS": "no"}
    )
    if not programs.program().exists():
        lab.missing(f"{programs.program()}: make -f tools/builds.mk sanitized")
    return programs


@pytest.mark.needs_mpi
@pytest.mark.parametrize("launch", MATRIX, ids=lambda launch: " ".join(map(str, launch)))
def test_every_benchmark_in_every_mode(sanitized, launch, tmp_path):
    ranks, component, words, *names = launch
    names = names or lab.names(component)
    lengths = "" if "-msgsize" in words else LENGTHS
    lengths += f" {lab.SHORT_WINDOW.get(component, '')}"
    done = lab.run(
        sanitized,
        ranks,
        f"{FEW} {lengths} {words} {' '.join(names)}",
        component=component,
        records=tmp_path,
        folder=tmp_path,
    )
    assert done.code in (0, 3), done.errors[-6000:]  # 3: rows that an option excludes, with the reason
    assert done.records[-1]["record"] == "end" and done.records[-1]["state"] == "complete"
    measured = done.pairs if component == "FABRIC" else done.rows
    assert measured and {row.get("defects") for row in measured} <= {0, None}
