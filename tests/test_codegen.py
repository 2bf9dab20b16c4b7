"""The timed loop as machine code: MPI calls and what hands them their arguments, nothing else (docs/methodology.md).

Each benchmark in each mode is an instantiation of openimb::drive; each is read from the Release executables and held
to what src/engine/timed_loop.h says of itself.
"""

import itertools
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import lab
import pytest
from collectives import COLLECTIVES

sys.path.insert(0, str(lab.TOP / "bench"))
import machine_code
from machine_code import CLOCK, COPY, LOAD, Calls, Function, Instruction, Loop, TimedLoop


class Repetition(NamedTuple):
    """The MPI calls of one repetition: its step, in as many ways as there are roles, and what completes it. A step whose
    calls lie in a loop of their own has them once here."""

    step: str
    completion: str = ""
    aggregates: bool = False  # has a loop that leaves the completion to what is behind it
    in_vain: str = ""  # any: in any arrangement; or further ways, of a loop within that has no turn, or of a window that there is not
    overlaps: bool = False  # has a loop that computes between the last two calls of its step
    loaded: str = ""  # that loop's step, where it is another one
    counted: bool = True  # transfers what a length says
    late: bool = False  # computes between its calls, not before the last one
    opening: str = ""  # what begins what the completion ends, as often

    @property
    def file_syncs(self) -> set[str]:
        return {"standard", "never"} if self.completion == FILE_SYNC else {""}

    def completion_of(self, loop: TimedLoop) -> str:
        return "Barrier" if loop.file_sync == "never" else self.completion


COPY_CALL = "copy"  # COPY has blanks in its name
OPEN_FAILS = "openimb::FileErrors::all_opened(bool)"  # only where no file was opened
OPEN_FAILS_CALL = "all_opened"
FILE_SYNC = "File_sync Barrier File_sync"


def fenced(step: str) -> Repetition:
    return Repetition(step, "Win_fence", True)


def flushed(step: str, where: str = "") -> Repetition:
    return Repetition(step, f"Win_flush{where}", True)


def to_all(step: str, where: str = "") -> Repetition:
    flush = f"Win_flush{where}_all"
    return Repetition(step, flush, in_vain=flush)


MOVES = {
    "Put": "Put",
    "Get": "Get",
    "Add": "Accumulate",
    "FetchAndAdd": "Get_accumulate",
    "FetchAndOp": "Fetch_and_op",
    "CompareAndSwap": "Compare_and_swap",
}


def in_sync(move: str) -> dict[str, Repetition]:
    """-sync_mode: what all benchmarks with that move have in common. Transfers and targets are in loops of their own."""
    call = MOVES[move]
    post, start, done, wait = (f"Win_{what}" for what in ("post", "start", "complete", "wait"))
    return {
        f"{move}, -sync_mode fence": Repetition(call, "Win_fence", True, in_vain="any"),
        f"{move}, -sync_mode pscw": Repetition(
            call,
            f"{done} {wait}",
            True,
            opening=f"{post} {start}",
            in_vain="any",
        ),
        f"{move}, -sync_mode lock": Repetition(
            call,
            "Win_unlock",
            True,
            opening="Win_lock",
            in_vain="any",
        ),
        f"{move}, -sync_mode lock_all": Repetition(
            call, "Win_unlock_all", True, opening="Win_lock_all", in_vain="any"
        ),
    }


def on_file(name: str, call: str, nonblocking: str, writes: bool) -> dict[str, Repetition]:
    """A blocking benchmark, as S_Write_Expl, and its nonblocking flavor, S_IWrite_Expl, of which only what is written has
    something to complete."""
    completion = FILE_SYNC if writes else ""
    who, _, what = name.partition("_")
    return {
        name: Repetition(call, completion, writes),
        f"{who}_I{what}": Repetition(call, completion, overlaps=True, loaded=nonblocking),
    }


def on_files() -> dict[str, Repetition]:
    suffixes = {"Indv": "", "Expl": "_at", "Shared": "_shared", "Priv": ""}
    collective = {"Indv": "_all", "Expl": "_at_all", "Shared": "_ordered"}
    found: dict[str, Repetition] = {}
    for verb in ("Write", "Read"):
        stem, writes = verb.lower(), verb == "Write"
        for who, places in (("S", ("Indv", "Expl")), ("P", tuple(suffixes))):
            for place in places:
                call = f"{stem}{suffixes[place]}"
                found |= on_file(f"{who}_{verb}_{place}", f"File_{call}", f"File_i{call} Wait", writes)
        for place, suffix in collective.items():
            call = f"File_{stem}{suffix}"
            found |= on_file(f"C_{verb}_{place}", call, f"{call}_begin {call}_end", writes)
    return found


# Of those with a nonblocking form, the name of that.
NONBLOCKING = {name: f"I{name.lower()}" for name, row in COLLECTIVES.items() if row.nonblocking}
NEIGHBORHOOD = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")

BENCHMARKS = {
    "MPI1": {
        "PingPong": Repetition("Send Recv | Recv Send"),
        "PingPongSpecificSource": Repetition("Send Recv | Recv Send"),
        "PingPong_persist": Repetition("Startall Waitall | Start Wait Start Wait"),
        "PingPong_mprobe": Repetition("Send Mprobe Mrecv | Mprobe Mrecv Send"),
        "PingPing": Repetition("Isend Recv Wait"),
        "PingPingSpecificSource": Repetition("Isend Recv Wait"),
        "Sendrecv": Repetition("Sendrecv"),
        "Exchange": Repetition("Isend Isend Recv Recv Waitall"),
        "Uniband": Repetition("Isend Waitall | Irecv Waitall", in_vain="Waitall"),
        "Biband": Repetition("Irecv Isend Waitall", in_vain="Waitall"),
        **{name: Repetition(row.calls or name) for name, row in COLLECTIVES.items()},
        **{f"Neighbor_{what}": Repetition(f"Neighbor_{what}") for what in NEIGHBORHOOD},
    },
    "NBC": {
        **{name: Repetition(f"{name} Wait", overlaps=True) for name in NONBLOCKING.values()},
        **{f"{name}_pure": Repetition(f"{name} Wait") for name in NONBLOCKING.values()},
        **{f"Ineighbor_{what}": Repetition(f"Ineighbor_{what} Wait", overlaps=True) for what in NEIGHBORHOOD},
        **{f"Ineighbor_{what}_pure": Repetition(f"Ineighbor_{what} Wait") for what in NEIGHBORHOOD},
    },
    "MPI4": {
        "PersistentLoop": Repetition("Start Wait", overlaps=True),
        "Sendrecv_persist": Repetition("Startall Waitall"),
        "Exchange_persist": Repetition("Startall Waitall"),
        "Partitioned_PingPong": Repetition(
            "Start Start Pready Wait Wait | Start Wait Start Pready Wait",
            in_vain="Start Start Wait Wait | Start Wait Start Wait",
            counted=False,
        ),
        "Partitioned_overlap": Repetition(
            "Start Start Pready Wait Wait | Start Wait Start Pready Wait",
            in_vain="Start Start Wait Wait | Start Wait Start Wait",
            overlaps=True,
            counted=False,
            late=True,
        ),
        "Partitioned_Exchange": Repetition(
            "Startall Pready Pready Waitall",
            in_vain="Startall Pready Waitall | Startall Waitall",
            counted=False,
        ),
        "Comm_create": Repetition("Comm_create Comm_free"),
        "Comm_split": Repetition("Comm_split Comm_free"),
        "Session_init": Repetition("Session_init Session_finalize"),
    },
    "EXT": {
        "WindowCreation": Repetition(
            "Win_create Win_fence Put Win_fence Win_free"
            " | Win_allocate Win_fence Put Win_fence Win_free"
            " | Win_allocate_shared Win_fence Put Win_fence Win_free"
            " | Win_create_dynamic Win_attach Win_fence Put Win_fence Win_free",
            in_vain="Win_fence Put Win_fence Win_free | Win_create_dynamic Win_fence Put Win_fence Win_free",
        ),
        "Unidir_Get": fenced("Get | "),  # rank 1 only fences
        "Unidir_Put": fenced("Put | "),
        "Bidir_Get": fenced("Get"),
        "Bidir_Put": fenced("Put"),
        "FencedAccumulate": fenced("Accumulate"),
        "Attach_detach": Repetition("Win_attach Win_detach"),
    },
    "RMA": {
        "Unidir_put": flushed("Put"),
        "Bidir_put": flushed("Put"),
        "Unidir_get": flushed("Get"),
        "Bidir_get": flushed("Get"),
        "Put_local": flushed("Put", "_local"),
        "Get_local": flushed("Get", "_local"),
        "Accumulate": flushed("Accumulate"),
        "Get_accumulate": flushed("Get_accumulate"),
        "Fetch_and_op": flushed("Fetch_and_op"),
        "Compare_and_swap": flushed("Compare_and_swap"),
        "Truly_passive_put": Repetition("Put", "Win_flush"),
        "One_put_all": to_all("Put"),
        "All_put_all": to_all("Put"),
        "One_get_all": to_all("Get"),
        "All_get_all": to_all("Get"),
        "Put_all_local": to_all("Put", "_local"),
        "Get_all_local": to_all("Get", "_local"),
        "Exchange_put": Repetition("Put Put", "Win_flush Win_flush"),
        "Exchange_get": Repetition("Get Get", "Win_flush Win_flush"),
        "Rput": Repetition("Rput Wait"),
        "Rget": Repetition("Rget Wait"),
        "Raccumulate": Repetition("Raccumulate Wait"),
        "Rget_accumulate": Repetition("Rget_accumulate Wait"),
        "Shared_store": Repetition(f"{COPY_CALL} Win_sync"),
        "Shared_load": Repetition(f"Win_sync {COPY_CALL}"),
    },
    "IO": {
        **on_files(),
        "Open_Close": Repetition(
            "File_open File_write_at File_close", in_vain=f"File_open {OPEN_FAILS_CALL}", counted=False
        ),
    },
}
BENCHMARKS["P2P"] = {
    "PairsPingPong": Repetition("Send Recv | Recv Send"),
    "PairsPingPing": Repetition("Irecv Send Wait"),
    "Unirandom": Repetition("Send | Recv"),
    "Birandom": Repetition("Irecv Send Wait"),
    "Corandom": Repetition("Irecv Send Wait"),
    **dict.fromkeys(
        ("Stencil2D", "Stencil3D", "Halo", "simple_halo"),
        Repetition("Irecv Isend Waitall", in_vain="Waitall"),
    ),
    "SendRecv_Replace": Repetition("Sendrecv_replace"),
    "Multi_pair": Repetition("Isend Waitall | Irecv Waitall", in_vain="Waitall"),
}
# A hub has several partners, who lie in a loop; an endpoint without one has no turn of it.
BENCHMARKS["FABRIC"] = {
    "Pair_Latency": Repetition("Send Recv | Recv Send", in_vain="Send | Recv | "),
    "Pair_Bandwidth": Repetition("Isend Waitall | Irecv Waitall", in_vain="Waitall"),
    "Pair_Bidirectional": Repetition(
        "Irecv Isend Waitall", in_vain="Irecv Waitall | Isend Waitall | Waitall"
    ),
}
# The loops of IMB-MT are those of IMB-MPI1: of each pattern, the benchmark.
OF_THREADS = {
    **{
        "PingPong": "PingPongMT",
        "PingPing": "PingPingMT",
        "Sendrecv": "SendRecvMT",
        "Exchange": "ExchangeMT",
    },
    **{"Uniband": "UniBandMT", "Biband": "BiBandMT", "Barrier": "BarrierMT", "Bcast": "BcastMT"},
    **{"Reduce": "ReduceMT", "Allreduce": "AllReduceMT", "Reduce_scatter": "ReduceScatterMT"},
    **{
        name: f"{name}MT"
        for name in (
            "Scatter",
            "Scatterv",
            "Gather",
            "Gatherv",
            "Allgather",
            "Allgatherv",
            "Alltoall",
            "Alltoallv",
        )
    },
}
BENCHMARKS["MT"] = {pattern: BENCHMARKS["MPI1"][pattern] for pattern in OF_THREADS}
TRANSFERS_OF_THREADS = {"PingPong", "PingPing", "Sendrecv", "Exchange", "Uniband", "Biband"}
# What -sync_mode has further loops for.
LOCAL = machine_code.LOCAL
IN_SYNC: dict[str, dict[str, Repetition]] = {
    "EXT": {
        name: repetition
        for move in ("Put", "Get", "Add")
        for name, repetition in in_sync(move).items()
        if name.endswith("pscw")
    },
    "RMA": {
        **{name: repetition for move in MOVES for name, repetition in in_sync(move).items()},
        **{f"{name}{LOCAL}": flushed(name, "_local") for name in machine_code.ATOMIC.values()},
        f"Exchange_put{LOCAL}": Repetition("Put Put", "Win_flush_local Win_flush_local"),
        f"Exchange_get{LOCAL}": Repetition("Get Get", "Win_flush_local Win_flush_local"),
    },
}


# The same of -send_mode.
def in_send_mode(letter: str, names: list[str]) -> dict[str, Repetition]:
    """The calls of the definition, with another one of MPI's sends."""

    def sent(step: str) -> str:
        return step.replace("Isend", f"I{letter}send").replace("Send", f"{letter.upper()}send")

    mine = BENCHMARKS["MPI1"]
    return {name: mine[name]._replace(step=sent(mine[name].step)) for name in names}


SENT = [
    *("PingPong", "PingPongSpecificSource", "PingPong_mprobe", "PingPing", "PingPingSpecificSource"),
    *("Exchange", "Uniband", "Biband"),
]
IN_SEND_MODE = {
    f"{name}, -send_mode {mode}": repetition
    for mode, them in (
        ("synchronous", in_send_mode("s", SENT)),
        ("buffered", in_send_mode("b", [name for name in SENT if name != "Uniband"])),
    )
    for name, repetition in them.items()
}
IN_MODE = {**IN_SYNC, "MPI1": IN_SEND_MODE}
REPETITIONS = {name: {**mine, **IN_MODE.get(name, {})} for name, mine in BENCHMARKS.items()}
BLOCKING_ROOTED = {name for name, row in COLLECTIVES.items() if row.rooted}
RANDOM = {"Unirandom", "Birandom", "Corandom"}
ROOTED = {
    *BLOCKING_ROOTED,
    *(NONBLOCKING[name] + flavor for name in BLOCKING_ROOTED for flavor in ("", "_pure")),
    *RANDOM,  # the round of partners moves as a root does
}
STENCILS = {"Stencil2D", "Stencil3D", "Halo", "simple_halo"}
IN_LISTS = STENCILS | BENCHMARKS["FABRIC"].keys()  # partners of a hub lie in a list, too
IN_FLIGHT = {"Uniband", "Biband", "Multi_pair"}
RECEIVED_AT_ONCE = {*IN_FLIGHT, "Pair_Bandwidth", "Pair_Bidirectional"}
WINDOWED = {*IN_FLIGHT, *STENCILS}
WINDOWED |= {"Partitioned_PingPong", "Partitioned_overlap", "Partitioned_Exchange"}
# Collectives: what -sync on puts a barrier before.
SYNCHRONIZED = {
    *(name + flavor for name in NONBLOCKING.values() for flavor in ("", "_pure")),
    *(*COLLECTIVES, "FencedAccumulate", "WindowCreation", "Attach_detach"),
    *(f"{kind}_{what}" for kind in ("Neighbor", "Ineighbor") for what in NEIGHBORHOOD),
    *(f"Ineighbor_{what}_pure" for what in NEIGHBORHOOD),
    "PersistentLoop",
    *(name for name in BENCHMARKS["IO"] if name.startswith("C_")),
} - {"Barrier", "Ibarrier", "Ibarrier_pure"}
TO_ALL = {"One_put_all", "All_put_all", "One_get_all", "All_get_all", "Put_all_local", "Get_all_local"}
WITHOUT_COUNT = {
    *(
        "Start",
        "Startall",
        "Wait",
        "Waitall",
        "Test",
        "Barrier",
        "Ibarrier",
        "Mprobe",
        *("Comm_create", "Comm_split", "Comm_free", "Session_init", "Session_finalize", "Pready"),
        "Fetch_and_op",
        "Compare_and_swap",
    ),
    *("Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic", "Win_attach"),
    *("Win_free", "Win_fence", "Win_flush", "Win_flush_local", "Win_flush_all", "Win_flush_local_all"),
    *("Win_post", "Win_start", "Win_complete", "Win_wait", "Win_lock", "Win_unlock", "Win_lock_all"),
    *("Win_unlock_all", "Win_sync", "Win_detach"),
    *("File_open", "File_close", "File_sync"),
    *(
        f"File_{call}_end"
        for verb in ("write", "read")
        for call in (f"{verb}_all", f"{verb}_at_all", f"{verb}_ordered")
    ),
}
ONE_SIDED = {
    "Rput",
    "Rget",
    "Raccumulate",
    "Rget_accumulate",
    "Put",
    "Get",
    "Accumulate",
    "Get_accumulate",
    "Fetch_and_op",
    "Compare_and_swap",
}
CLOCK_READS = {"TotalTimer": 0, "RepetitionTimer": 1, "SyncTimer": 2, "GateTimer": 2}  # per repetition
GATE = "openimb::Gate::wait(double*)"  # -sync_start clock: before the clock
CLOCK_READS_OF_LOAD = 2  # before and after it
TESTED: Calls = (LOAD, "MPI_Test")  # a part of the load with a test behind it

ARGUMENTS = {
    **{name: row.arguments for name, row in COLLECTIVES.items() if row.arguments},
    **{NONBLOCKING[name]: COLLECTIVES[name].arguments + 1 for name in NONBLOCKING},  # the request
    **{"Test": 3, LOAD: 2},
    **{
        "Send": 6,
        "Recv": 7,
        "Isend": 7,
        "Irecv": 7,
        "Sendrecv": 12,
        "Sendrecv_replace": 9,
        "Wait": 2,
        "Waitall": 3,
    },
    **{"Ssend": 6, "Bsend": 6, "Issend": 7, "Ibsend": 7},
    **{"Start": 1, "Startall": 2, "Mprobe": 5, "Mrecv": 5},
    **{"Neighbor_allgather": 7, "Neighbor_allgatherv": 8, "Neighbor_alltoall": 7, "Neighbor_alltoallv": 9},
    **{"Neighbor_alltoallw": 9, "Ineighbor_allgather": 8, "Ineighbor_allgatherv": 9, "Ineighbor_alltoall": 8},
    **{"Ineighbor_alltoallv": 10, "Ineighbor_alltoallw": 10},
    **{"Put": 8, "Get": 8, "Accumulate": 9, "Get_accumulate": 12, "Fetch_and_op": 7, "Compare_and_swap": 7},
    **{
        "Win_create": 6,
        "Win_allocate": 6,
        "Win_allocate_shared": 6,
        "Win_create_dynamic": 3,
        "Win_attach": 3,
    },
    **{"Win_free": 1, "Win_fence": 2, "Win_detach": 2, "Win_sync": 1, COPY: 3},
    **{
        "Comm_create": 3,
        "Comm_split": 4,
        "Comm_free": 1,
        "Session_init": 3,
        "Session_finalize": 1,
        "Pready": 2,
    },
    **{"Win_post": 3, "Win_start": 3, "Win_complete": 1, "Win_wait": 1},
    **{"Win_lock": 4, "Win_unlock": 2, "Win_lock_all": 2, "Win_unlock_all": 1},
    **{"Rput": 9, "Rget": 9, "Raccumulate": 10, "Rget_accumulate": 13},
    **{"Win_flush": 2, "Win_flush_local": 2, "Win_flush_all": 1, "Win_flush_local_all": 1},
    **{"File_open": 5, "File_close": 1, "File_sync": 1},
}
for verb in ("write", "read"):
    for call, count in {"": 5, "_at": 6, "_shared": 5}.items():
        ARGUMENTS |= {f"File_{verb}{call}": count, f"File_i{verb}{call}": count}
    for call, count in {"_all": 5, "_at_all": 6, "_ordered": 5}.items():
        ARGUMENTS |= {
            f"File_{verb}{call}": count,
            f"File_{verb}{call}_begin": count - 1,
            f"File_{verb}{call}_end": 3,
        }
IN_REGISTERS = 6  # System V ABI; further arguments lie on the stack
STACK = 3  # to align it before a call with more arguments, and to clear it afterwards
LOOP = 3  # add, compare, branch

# Instructions per repetition beyond a hand-written loop's. g++ 12 needs, in this order: 0, 17, 10, 7,
# 2, 4, 9, 14, 15, 1, 1, 2; what is above its line is within ALLOWANCE.
ALLOWANCE = 2  # a register spilled by another compiler
FOR_WINDOW = 18  # inner loops over the window, and the role: once per window (256 messages)
FOR_PLACES = 3  # the next message's place in the receive buffer, which a hand-written loop needs too
FOR_BOTH_WAYS = 3  # registers that change between the loops of receives and of sends, once per window
FOR_PARTNERS = 4  # the round's row in the table of partners, and who they are
FOR_NEIGHBORS = 21  # the ends of two loops over neighbors or partners, and a turn of each
FOR_NEIGHBOR = (
    12  # a turn: the neighbor's rank, tag, message and request, which a hand-written loop needs too
)
FOR_MOVING_BUFFERS = 10  # -off_cache: two strides, the slot, the spills that these bring
FOR_MOVING_ROOT = 6  # rotating root: step, compare, wrap
FOR_DISPLACEMENT = 2  # in a window: where the target's bases lie, and the addition of its base to the offset
FOR_TARGET = 3  # a turn of the loop over the targets: the next one's rank, its message in the window
FOR_TARGETS = 10  # once per repetition: this loop's beginning and one turn of it
FOR_LISTS = 40  # -sync_mode: once per repetition, loops over its targets and its transfers, and the role
FOR_KIND = 14  # IMB-EXT's Window: which kind, what comes back from MPI, at most one element
FOR_LOAD = 15  # the sum of its times, whether there are tests, and a turn of the loop over them
FOR_LATE_PART = 10  # the role, twice, and the number of early parts
FOR_TEST = 1  # a turn of that loop: done = 0
FOR_OFFSET = 1  # the next place in a file, which a hand-written loop needs too
# Open_Close: three return codes to keep, and whether there is a file, which a hand-written loop needs too.
FOR_ERRORS = 22
FOR_NO_REQUEST = 2  # MPI_REQUEST_NULL to test, between the halves of a collective call on a file


@pytest.fixture(autouse=True)
def _readable() -> None:
    if reason := machine_code.unavailable():
        lab.missing(reason)


@pytest.fixture(params=BENCHMARKS)
def component(request) -> str:
    return str(request.param)


@cache
def loops_of(mpi: lab.Mpi, component: str) -> list[TimedLoop]:
    """Without those of threads that take turns or mark parts, which wait for each other."""
    if "CMAKE_BUILD_TYPE:STRING=Release\n" not in (mpi.build / "CMakeCache.txt").read_text():
        lab.missing(f"a Release build of {mpi.key}")
    waiting = ("in turns", "marked")
    return [loop for loop in machine_code.timed_loops(mpi.program(component)) if loop.threads not in waiting]


def has_large_count(mpi: lab.Mpi) -> bool:
    return "-DOPENIMB_LARGE_COUNT" in (mpi.build / "compile_commands.json").read_text()


def faults(loop: TimedLoop) -> list[str]:
    """What is in the function that must not be there. Its few lines outside the loop are held to the same."""
    function = loop.function
    found = []
    for instruction in function.code:
        if instruction.is_call and not may_call(loop, instruction.callee):
            found.append(f"calls {instruction.callee}: {instruction}")
        if function.leaves(instruction):
            found.append(f"jumps out of the loop's function: {instruction}")
        if instruction.is_division:
            found.append(f"division: {instruction}")
    found += faults_of_pointer_calls(loop)
    if not function.loops:
        found.append("no loop")
    for each in loops_of_repetitions(loop):
        reads = each.counts(lambda i: i.is_call and i.callee == CLOCK)
        if reads != {CLOCK_READS[loop.record] + (CLOCK_READS_OF_LOAD if loop.loaded else 0)}:
            found.append(f"reads the clock {sorted(reads)} times per repetition")
    return [f"{loop}: {fault}" for fault in found]


def loops_of_repetitions(loop: TimedLoop) -> list[Loop]:
    """Without those around it, aggregate, in which each target is locked or unlocked."""
    locks = {("MPI_Win_lock",), ("MPI_Win_unlock",)}
    return [each for each in loop.function.loops if not (loop.aggregate and each.calls() <= locks)]


def may_call(loop: TimedLoop, callee: str | None) -> bool:
    """Calls through a pointer have their own rules."""
    copies = loop.pattern.startswith("Shared_") and callee == COPY
    fails = loop.pattern == "Open_Close" and callee == OPEN_FAILS
    if callee == GATE:
        return loop.record == "GateTimer"
    return callee is None or callee.startswith("MPI_") or (loop.loaded and callee == LOAD) or copies or fails


def faults_of_pointer_calls(loop: TimedLoop) -> list[str]:
    """There is one call through a pointer: -sync on may use either MPI_Barrier or our own barrier, and an instantiation
    for each would double the number of loops for a call that is not timed. The clock must be read right before it (the
    repetition before has ended) and right after it (this one begins), on every way."""
    function = loop.function
    found = []
    for index, instruction in enumerate(function.code):
        is_gate = instruction.is_call and instruction.callee == GATE
        if not is_gate and (not instruction.is_call or instruction.callee):
            continue
        if not is_gate and loop.record != "SyncTimer":
            found.append(f"calls through a pointer: {instruction}")
            continue
        for ways in (function.predecessors, function.successors):
            if function.calls_near(index, ways) != {CLOCK}:
                found.append(f"barrier inside the clock: {instruction}")
    for each in function.loops if loop.record in ("SyncTimer", "GateTimer") else []:
        barriers = each.counts(lambda i: i.is_call and i.callee in (None, GATE))
        if barriers != {1}:
            found.append(f"{sorted(barriers)} barriers per repetition")
    return found


def name_of_call(instruction: Instruction) -> str:
    return (instruction.callee or "").removeprefix("MPI_").removesuffix("_c")


def beyond_floor(instruction: Instruction) -> int:
    """1, or for a call minus what the arguments cost: over a loop the instructions that the calls do not explain."""
    if not instruction.is_call:
        return 1
    arguments = ARGUMENTS.get(name_of_call(instruction), 0)  # what is no MPI call is a fault elsewhere
    return -arguments - (STACK if arguments > IN_REGISTERS else 0)


def excess(loop: Loop) -> int:
    return loop.most(beyond_floor) - LOOP


def allowance(loop: TimedLoop, each: Loop) -> int:
    return (
        ALLOWANCE
        + FOR_DISPLACEMENT * each.most(lambda i: int(name_of_call(i) in ONE_SIDED))
        + (FOR_WINDOW if loop.pattern.partition(",")[0] in WINDOWED else 0)
        + (FOR_PLACES if loop.pattern.partition(",")[0] in RECEIVED_AT_ONCE else 0)
        + (FOR_BOTH_WAYS if loop.pattern.partition(",")[0] == "Pair_Bidirectional" else 0)
        + (FOR_TARGETS if loop.pattern in TO_ALL else 0)
        + (FOR_PARTNERS if loop.pattern in RANDOM else 0)
        + (FOR_NEIGHBORS if loop.pattern in IN_LISTS else 0)
        + (FOR_LISTS if ", -sync_mode" in loop.pattern and not loop.pattern.endswith(LOCAL) else 0)
        + (FOR_KIND if loop.pattern == "WindowCreation" else 0)
        + (FOR_ERRORS if loop.pattern == "Open_Close" else 0)
        + (FOR_LOAD if loop.loaded else 0)
        + (FOR_LATE_PART if loop.loaded and loop.pattern == "Partitioned_overlap" else 0)
        + (FOR_MOVING_BUFFERS if loop.iterations[0] else 0)
        + (FOR_MOVING_ROOT if loop.iterations[1] else 0)
        + (FOR_OFFSET if loop.iterations[2] else 0)
        + (FOR_NO_REQUEST if loop.loaded and each.most(is_half) else 0)
    )


def is_half(instruction: Instruction) -> int:
    return int(name_of_call(instruction).endswith("_begin"))


def over_budget(loop: TimedLoop) -> list[str]:
    budgets = [(each, allowance(loop, each)) for each in loop.function.loops]
    if loop.pattern in TO_ALL or loop.loaded:
        turn = ALLOWANCE + (FOR_TEST if loop.loaded else FOR_DISPLACEMENT + FOR_TARGET)
        budgets += [(inner, turn) for each in loop.function.loops for inner in each.inner]
    if loop.pattern in IN_LISTS:
        budgets += [(inner, ALLOWANCE + FOR_NEIGHBOR) for each in loop.function.loops for inner in each.inner]
    return [
        f"{loop}: {excess(each)} instructions more than a hand-written loop, {allowed} allowed:\n"
        + "\n".join(f"    {instruction}" for instruction in each.longest(beyond_floor))
        for each, allowed in budgets
        if excess(each) > allowed
    ]


def ways(text: str, large: bool) -> set[Calls]:
    """From `A B | C` to the callees of each way."""

    def callee(name: str) -> str:
        if name == COPY_CALL:
            return COPY
        if name == OPEN_FAILS_CALL:
            return OPEN_FAILS
        return f"MPI_{name}_c" if large and name not in WITHOUT_COUNT else f"MPI_{name}"

    return {tuple(callee(name) for name in way.split()) for way in text.split("|")}


def rotated(calls: Calls) -> Calls:
    """A loop may be entered anywhere: the same for all passes that are one cycle."""
    turned = ((*calls[i:], *calls[:i]) for i in range(len(calls)))
    return min(turned, key=lambda each: [callee or "" for callee in each], default=())


def some_of(calls: Calls) -> list[Calls]:
    """What is called by role, or for each target in a loop of its own."""
    return [each for n in range(len(calls) + 1) for each in itertools.combinations(calls, n)]


def timed(way: Calls, loop: TimedLoop) -> Calls:
    """With the clock, and the barrier through a pointer, where the loop has them."""
    before = {"SyncTimer": (None, CLOCK), "GateTimer": (GATE, CLOCK)}.get(loop.record, ())
    after = () if loop.record == "TotalTimer" else (CLOCK,)
    return rotated((*before, *way, *after))


def named(calls: Calls) -> str:
    return " ".join(callee or "(pointer)" for callee in calls)


def with_load(way: Calls) -> list[Calls]:
    """Without a test between the parts of the load, and with one, which stands for all."""
    *start, wait = way
    return [(*start, CLOCK, *parts, LOAD, CLOCK, wait) for parts in ((), TESTED)]


def wrong_passes(loop: TimedLoop, expected: set[Calls]) -> list[str]:
    """Of a repetition with roles and with loops over targets, which compilers arrange in many ways: no other calls, none
    missing. Their order is that of the source; test_simulated_one_sided.py has the times that follow from it."""
    wanted = set().union(*expected)
    repetitions = loops_of_repetitions(loop)
    found = {code.callee for each in repetitions for code in each.instructions if code.is_call}
    return [f"a repetition: {callee}" for callee in found - wanted] + [f"lacks {it}" for it in wanted - found]


def wrong_calls(loop: TimedLoop, repetition: Repetition) -> list[str]:
    """Calls that are not a repetition's, in the loop; and not the clock's and a completion's, before and behind it."""
    found = {rotated(calls) for each in loops_of_repetitions(loop) for calls in each.calls()}
    [completion] = ways(repetition.completion_of(loop), loop.large)
    step = repetition.loaded if loop.loaded and repetition.loaded else repetition.step
    steps = list(ways(step, loop.large and repetition.counted))
    if loop.loaded:
        steps = [loaded for way in steps for loaded in with_load(way)]
    [opening] = ways(repetition.opening, loop.large)
    first, last = ((), ()) if loop.aggregate else (opening, completion)
    expected = {timed((*first, *way, *last), loop) for way in steps}
    # A loop of nothing may be there or not.
    optional: set[Calls] = {()} if loop.aggregate else set()
    if repetition.in_vain and repetition.in_vain != "any":
        optional |= {timed(way, loop) for way in ways(repetition.in_vain, loop.large)}
    faults = []
    late = loop.loaded and repetition.late
    if repetition.in_vain == "any" or late:
        faults = wrong_passes(loop, expected)
    else:
        for what, which in (("", found - expected - optional), ("lacks ", expected - optional - found)):
            faults += [f"{what}a repetition: {named(calls) or 'no call'}" for calls in which]
    if late:
        return faults
    if loop.loaded:
        turns = {
            rotated(calls) for each in loop.function.loops for inner in each.inner for calls in inner.calls()
        }
        faults += [f"between parts of the load: {named(calls)}" for calls in turns - {rotated(TESTED)}]
    # The last repetition's own time gets the completion too.
    around: set[Calls] = {(CLOCK, CLOCK)}
    if loop.aggregate:
        clock = [CLOCK] * CLOCK_READS[loop.record]
        around = {
            (CLOCK, *before, *behind, *clock, CLOCK)
            for before in some_of(opening)
            for behind in (some_of(completion) if opening else [completion])
        }
    outside = loop.function.calls_outside_loops()
    if not outside or not outside <= around:
        faults.append(f"around the loop, not {around}: {sorted(outside, key=str)}")
    return [f"{loop}: {fault}" for fault in faults]


def synchronized(component: str, pattern: str) -> bool:
    return pattern in SYNCHRONIZED or (component == "EXT" and pattern.startswith("Add,"))


def gated(component: str, pattern: str) -> bool:
    """-sync_start clock: blocking collectives of IMB-MPI1, and Barrier."""
    return component == "MPI1" and (pattern in COLLECTIVES or pattern.startswith("Neighbor_"))


def test_every_benchmark_is_there_in_every_mode(mpi, component):
    def key(pattern: str, *mode: object) -> tuple[object, ...]:
        return (machine_code.same_code(pattern), *mode)

    expected = {
        key(
            pattern,
            loaded,
            aggregate,
            large,
            (moving, pattern in ROOTED, pattern.endswith("_Expl")),
            record,
            sync,
            threads,
        )
        for pattern, repetition in REPETITIONS[component].items()
        for loaded in ({False, True} if repetition.overlaps else {False})
        for aggregate in ({False, True} if repetition.aggregates else {False})
        for large in ({False, True} if has_large_count(mpi) else {False})
        for moving in (False, True)
        for record in CLOCK_READS
        for sync in repetition.file_syncs
        for threads in ({"", "tagged"} if component == "MT" and pattern in TRANSFERS_OF_THREADS else {""})
        if not (aggregate and loaded)
        if record != "SyncTimer" or (synchronized(component, pattern) and not aggregate)
        if record != "GateTimer" or gated(component, pattern)
        if moving or not (large or record in ("SyncTimer", "GateTimer"))  # one loop serves both
    }
    found = {
        key(
            loop.pattern,
            loop.loaded,
            loop.aggregate,
            loop.large,
            loop.iterations,
            loop.record,
            loop.file_sync,
            loop.threads,
        )
        for loop in loops_of(mpi, component)
    }
    assert found == expected


def test_a_repetition_is_its_mpi_calls(mpi, component):
    found = [
        fault
        for loop in loops_of(mpi, component)
        for fault in wrong_calls(loop, REPETITIONS[component][loop.pattern])
    ]
    assert not found, "\n".join(found)


def test_nothing_but_mpi_in_the_timed_loop(mpi, component):
    found = [fault for loop in loops_of(mpi, component) for fault in faults(loop)]
    assert not found, "\n".join(found)


def test_default_loop_costs_what_a_hand_written_one_does(mpi, component):
    found = [
        line for loop in loops_of(mpi, component) if loop.record == "TotalTimer" for line in over_budget(loop)
    ]
    assert not found, "\n".join(found)


def test_threads_run_the_loops_of_single_processes(mpi):
    """The same instantiation, instruction by instruction: the addresses differ."""

    def code(component: str, pattern: str) -> list[str]:
        loop = machine_code.default_loop(loops_of(mpi, component), pattern)
        return [
            f"{one.mnemonic} {one.callee or ''}" if one.is_call else one.mnemonic
            for one in loop.function.code
        ]

    def name(component: str, pattern: str) -> str:
        return machine_code.default_loop(loops_of(mpi, component), pattern).function.name

    for pattern in OF_THREADS:
        assert name("MT", pattern) == name("MPI1", pattern)
        assert code("MT", pattern) == code("MPI1", pattern)


def test_threads_that_take_turns_have_loops(mpi):
    if not mpi.program("MT").exists():
        lab.missing(f"IMB-MT of {mpi.key}")
    in_turns = [loop for loop in machine_code.timed_loops(mpi.program("MT")) if loop.threads == "in turns"]
    assert {loop.pattern for loop in in_turns} == set(OF_THREADS)


def test_partitioned_messages_have_loops_for_a_team(mpi):
    if not mpi.program("MPI4").exists():
        lab.missing(f"IMB-MPI4 of {mpi.key}")
    marked = [loop for loop in machine_code.timed_loops(mpi.program("MPI4")) if loop.threads == "marked"]
    named = {name for name in BENCHMARKS["MPI4"] if name.startswith("Partitioned")}
    assert {loop.pattern for loop in marked} == named


def faults_of_load(function: Function) -> list[str]:
    """What computes between start and wait: along a column, several rows at once, and without calling anything but what
    copies and clears memory."""
    found = []
    for instruction in function.code:
        callee = instruction.callee or "a pointer"
        if (instruction.is_call or function.leaves(instruction)) and callee not in ("memcpy", "memset"):
            found.append(f"leaves for {callee}: {instruction}")
        if instruction.is_division:
            found.append(f"division: {instruction}")
    loops = [each for loop in function.loops for each in loop.innermost]
    packed = any(
        all(any(i.is_packed(operation) for i in each.instructions) for operation in ("mul", "add"))
        for each in loops
    )
    return found if packed else [*found, "not vectorised"]


def test_load_is_vectorised_and_calls_nothing(mpi):
    loops_of(mpi, "NBC")  # a Release build
    [function] = machine_code.functions(mpi.program("NBC"), LOAD)
    found = faults_of_load(function)
    assert not found, "\n".join([*found, listing(function)])


def compiled(mpi: lab.Mpi, source: Path, target: Path) -> Path:
    return machine_code.compile_like_suite(mpi.build, mpi.wrapper, lab.environment(mpi), source, target)


@pytest.fixture(scope="module")
def hand_written(tmp_path_factory):
    """The program of an MPI and a source in bench/, compiled once."""

    @cache
    def program(mpi: lab.Mpi, source: str) -> Path:
        return compiled(mpi, lab.TOP / f"bench/{source}.cpp", tmp_path_factory.mktemp(mpi.key) / source)

    return program


@pytest.mark.parametrize(
    ("source", "in_component", "pattern", "by_hand", "more"),
    [
        ("bare_loop", "MPI1", "PingPong", "ping_pong", 0),
        ("bare_loop", "MPI1", "PingPong_persist", "ping_pong_persistent", 0),
        ("bare_loop", "MPI1", "Allreduce", "allreduce", 0),
        ("bare_loop", "NBC", "Iallreduce_pure", "iallreduce_and_wait", 0),
        ("bare_loop", "RMA", "Unidir_put", "put_and_flush", FOR_DISPLACEMENT),
        ("bare_loop", "EXT", "Unidir_Put", "put_and_fence", FOR_DISPLACEMENT),
        ("bare_loop", "IO", "P_Write_Expl", "write_and_sync", 0),
        ("bare_loop", "IO", "P_Write_Expl, aggregate", "write_all_and_sync", 0),
        ("bare_loop", "IO", "P_Read_Expl", "read_all", 0),
        ("bare_loop", "IO", "Open_Close", "open_and_close", 0),
        ("bare_today", "MPI1", "Neighbor_alltoall", "neighbor_alltoall", 0),
        ("bare_today", "MPI1", "PingPong_mprobe", "ping_pong_with_probe", 0),
        ("bare_today", "RMA", "Rput", "put_and_wait", FOR_DISPLACEMENT),
        ("bare_today", "P2P", "SendRecv_Replace", "send_receive_replace", 0),
        ("bare_today", "MPI1", "Neighbor_allgather", "neighbor_allgather", 0),
        ("bare_today", "MPI1", "PingPong, -send_mode synchronous", "ping_pong_synchronous", 0),
        ("bare_today", "NBC", "Ineighbor_alltoall_pure", "ineighbor_alltoall_and_wait", 0),
        ("bare_today", "RMA", "Rget", "get_and_wait", FOR_DISPLACEMENT),
        ("bare_today", "RMA", "Raccumulate", "accumulate_and_wait", FOR_DISPLACEMENT),
        ("bare_today", "EXT", "Attach_detach", "attach_and_detach", 0),
        ("bare_today", "P2P", "PairsPingPong", "paired_pingpong", 0),
        ("bare_today", "P2P", "PairsPingPing", "paired_pingping", 0),
        ("bare_today", "MPI4", "Comm_split", "split_and_free", 0),
        ("bare_today", "MPI4", "Exchange_persist", "start_four_and_wait", 0),
        ("bare_today", "MPI4", "Sendrecv_persist", "start_two_and_wait", 0),
        ("bare_today", "MPI4", "Allreduce_persist_pure", "start_and_wait", 0),
        ("bare_today", "MT", "PingPongMT", "ping_pong", 0),
    ],
)
def test_hand_written_loop_confirms_the_count(
    mpi, hand_written, source, in_component, pattern, by_hand, more
):
    """In bench/, compiled like the suite: what we call its cost is its cost, and ours is no higher."""
    [function] = machine_code.functions(hand_written(mpi, source), f"{by_hand}(")
    ours = machine_code.default_loop(loops_of(mpi, in_component), pattern)
    needed = (FOR_OFFSET if ours.iterations[2] else 0) + (FOR_ERRORS if pattern == "Open_Close" else 0)
    assert all(abs(excess(loop) - needed) <= ALLOWANCE for loop in function.loops), listing(function)
    assert most(ours.function) <= most(function) + ALLOWANCE + more, listing(ours.function)


def most(function: Function) -> int:
    return max(loop.most(lambda i: 1) for loop in function.loops)


def listing(function: Function) -> str:
    return "\n".join(map(str, function.code))


# --- The test of the test: each of these must be found ---------------------------------------------------------------

SEEDED = """
#include <vector>
#include "engine/overlap.h"
#include "engine/pattern.h"

namespace openimb {

struct Clock { static double now() { return MPI_Wtime(); } };

inline long turn = 0;
inline double sum = 0;
inline std::vector<long> seen;
inline volatile int watched[4];
struct Step { virtual void run() = 0; };
struct One : Step { void run() override { ++turn; } };
struct Two : Step { void run() override { --turn; } };
inline Step* chosen = nullptr;
[[gnu::noinline]] void own() { asm volatile(""); }

template <class C>
void send(const C& c, const char* from) { call::send(from, c.count, c.type, c.peer, message_tag, c.comm); }

#define PATTERN(name, ...) \\
  struct name : PatternBase { template <class C> static void step(const C& c, const Iteration& it) { __VA_ARGS__ } };
PATTERN(Clean, send(c, it.send);)
PATTERN(Divides, send(c, it.send + turn++ % c.ranks);)
PATTERN(DividesFloats, sum = (sum + 1) / c.ranks; send(c, it.send);)
PATTERN(Allocates, seen.push_back(c.rank); send(c, it.send);)
PATTERN(Virtual, chosen->run(); send(c, it.send);)
PATTERN(CallsOwn, own(); send(c, it.send);)
PATTERN(ReadsClock, sum += MPI_Wtime(); send(c, it.send);)
PATTERN(Loses, if (watched[0] != it.root) send(c, it.send);)
PATTERN(Wastes, for (volatile int& each : watched) each = each + 1; send(c, it.send);)

template <class C>
void flush(const C& c) { MPI_Win_flush(c.peer, c.win); }

struct Flushes : PatternBase {
  template <class C> static void step(const C& c, const Iteration& it) { send(c, it.send); }
  template <class C> static void close(const C& c) { flush(c); }
};
struct FlushesEach : Flushes {
  template <class C> static void step(const C& c, const Iteration& it) { send(c, it.send); flush(c); }
};
struct FlushesTwice : Flushes {
  template <class C> static void close(const C& c) { flush(c); flush(c); }
};

// Weak: the compiler must not look into it, as in the suite, where it lies in a file of its own.
[[gnu::weak, gnu::noinline]] void CpuLoad::compute(std::int64_t units) { watched[0] = static_cast<int>(units); }
inline CpuLoad* cpu = nullptr;
struct Gate { void wait(double* stamps); };
[[gnu::weak, gnu::noinline]] void Gate::wait(double* stamps) { *stamps = 0; }
inline Gate* gate = nullptr;

struct Overlaps : PatternBase {
  template <class C>
  static void post(const C& c, const Iteration&, MPI_Request* request) { MPI_Ibarrier(c.comm, request); }
};
struct ComputesTwice : Overlaps {
  template <class C>
  static void post(const C& c, const Iteration& it, MPI_Request* request) {
    Overlaps::post(c, it, request);
    cpu->compute(c.count);
  }
};
PATTERN(Computes, cpu->compute(c.count); send(c, it.send);)
PATTERN(Waits, double stamps; gate->wait(&stamps); send(c, it.send);)

float columns[100][100], product[100], factors[100];
[[gnu::weak, gnu::noinline]] void packed() {
  for (const auto& column : columns) {
    for (int row = 0; row < 100; ++row) product[row] += column[row] * factors[row];
  }
}
// Each sum depends on the order of its terms.
[[gnu::weak, gnu::noinline]] void row_by_row() {
  for (int row = 0; row < 100; ++row) {
    float total = 0;
    for (int i = 0; i < 100; ++i) total += columns[row][i] * factors[i];
    product[row] = total;
  }
}
[[gnu::weak, gnu::noinline]] void packed_but_calls() { packed(); own(); packed(); }

namespace wrong {
template <class Clock, class Barrier>
struct SyncTimer : openimb::SyncTimer<Clock, Barrier> {
  void before() {
    this->begin = Clock::now();
    this->barrier();
  }
};
template <class Clock, class Gate>
struct GateTimer : openimb::GateTimer<Clock, Gate> {
  void before() {
    this->next[1] = Clock::now();
    this->gate->wait(this->next);
  }
};
}  // namespace wrong

WindowContext<int> context_of(int argc) {
  WindowContext<int> context;
  context.comm = MPI_COMM_WORLD;
  context.count = context.peer = context.rank = context.ranks = argc;
  return context;
}

template <class Pattern, bool aggregate = false, class Record>
void run(int argc, Record record) {
  sum += drive<Pattern, Clock, aggregate>(context_of(argc), Iterations<false, false>(IterationPlan{}), argc, record);
}

template <class Pattern, class Record>
void run_loaded(int argc, Record record) {
  LoadUse use{.units = argc, .tests = argc};
  const LoadContext<WindowContext<int>> context{context_of(argc), plan_load(*cpu, use)};
  sum += drive<LoadLoop<Pattern, Clock>, Clock>(context, Iterations<false, false>(IterationPlan{}), argc, record);
}

}  // namespace openimb

using namespace openimb;

int main(int argc, char** argv) {
  One one;
  Two two;
  chosen = argc > 1 ? static_cast<Step*>(&one) : &two;
  run<Clean>(argc, TotalTimer{});
  run<Divides>(argc, TotalTimer{});
  run<DividesFloats>(argc, TotalTimer{});
  run<Allocates>(argc, TotalTimer{});
  run<Virtual>(argc, TotalTimer{});
  run<CallsOwn>(argc, TotalTimer{});
  run<ReadsClock>(argc, TotalTimer{});
  run<Loses>(argc, TotalTimer{});
  run<Wastes>(argc, TotalTimer{});
  CpuLoad load;
  cpu = &load;
  run<Computes>(argc, TotalTimer{});
  run_loaded<Overlaps>(argc, TotalTimer{});
  run_loaded<ComputesTwice>(argc, TotalTimer{});
  packed();
  row_by_row();
  packed_but_calls();
  run<Flushes>(argc, TotalTimer{});
  run<Flushes, true>(argc, TotalTimer{});
  run<FlushesEach, true>(argc, TotalTimer{});
  run<FlushesTwice, true>(argc, TotalTimer{});
  double samples[8];
  const auto barrier = [call = argc > 2 ? &MPI_Barrier : nullptr] { call(MPI_COMM_WORLD); };
  using Barrier = decltype(barrier);
  run<Clean>(argc, RepetitionTimer<Clock>{samples});
  run_loaded<Overlaps>(argc, RepetitionTimer<Clock>{samples});
  run<Flushes, true>(argc, RepetitionTimer<Clock>{samples});
  run<Clean>(argc, SyncTimer<Clock, Barrier>{samples, barrier});
  run_loaded<Overlaps>(argc, SyncTimer<Clock, Barrier>{samples, barrier});
  run<Divides>(argc, wrong::SyncTimer<Clock, Barrier>{{samples, barrier}});
  Gate opens;
  gate = &opens;
  run<Waits>(argc, TotalTimer{});
  run<Clean>(argc, GateTimer<Clock, Gate>{samples, gate});
  run<CallsOwn>(argc, GateTimer<Clock, Gate>{samples, gate});
  run<Divides>(argc, wrong::GateTimer<Clock, Gate>{{samples, gate}});
  return sum > 0 && argv != nullptr;
}
"""

SEEDED_FAULTS = {
    ("Divides", "TotalTimer"): "division",
    ("DividesFloats", "TotalTimer"): "division",
    ("Allocates", "TotalTimer"): "calls ",
    ("Virtual", "TotalTimer"): "through a pointer",
    ("CallsOwn", "TotalTimer"): "calls openimb::own",
    ("ReadsClock", "TotalTimer"): "reads the clock [1] times",
    ("Loses", "TotalTimer"): "a repetition: no call",
    ("Wastes", "TotalTimer"): "more than a hand-written loop",
    ("Computes", "TotalTimer"): f"calls {LOAD}",
    ("ComputesTwice", "TotalTimer"): f"a repetition: MPI_Ibarrier {LOAD} {CLOCK}",
    ("FlushesEach", "TotalTimer"): "a repetition: MPI_Send MPI_Win_flush",
    ("FlushesTwice", "TotalTimer"): "around the loop, not",
    ("Divides", "SyncTimer"): "barrier inside the clock",
    ("Waits", "TotalTimer"): "calls openimb::Gate::wait",
    ("CallsOwn", "GateTimer"): "calls openimb::own",
    ("Divides", "GateTimer"): "barrier inside the clock",
}
WITHOUT_FAULT = {
    *(
        (pattern, False, record)
        for pattern in ("Clean", "Overlaps")
        for record in ("TotalTimer", "RepetitionTimer", "SyncTimer")
    ),
    *(("Flushes", aggregate, "TotalTimer") for aggregate in (False, True)),
    ("Flushes", True, "RepetitionTimer"),
    ("Clean", False, "GateTimer"),
}
SEEDED_FAULTS_OF_LOAD = {
    "packed": None,
    "row_by_row": "not vectorised",
    "packed_but_calls": "leaves for openimb::own",
}


def test_seeded_faults_are_found(mpi, tmp_path):
    source = tmp_path / "seeded.cpp"
    source.write_text(SEEDED)
    program = compiled(mpi, source, tmp_path / "seeded")
    loops = machine_code.timed_loops(program)
    clean = {loop for loop in loops if (loop.pattern, loop.aggregate, loop.record) in WITHOUT_FAULT}
    assert len(clean) == len(WITHOUT_FAULT)
    assert {(loop.pattern, loop.record) for loop in loops if loop not in clean} == set(SEEDED_FAULTS)
    for loop in loops:
        completion = "Win_flush" if loop.pattern.startswith("Flushes") else ""
        step = "Ibarrier Wait" if loop.loaded else "Send"
        found = faults(loop) or wrong_calls(loop, Repetition(step, completion))
        if not found and loop.record == "TotalTimer":
            found = over_budget(loop)
        if loop in clean:
            assert not found
        else:
            expected = SEEDED_FAULTS[loop.pattern, loop.record]
            assert any(expected in line for line in found), f"{loop}: {expected!r} not in {found}"
    for name, fault in SEEDED_FAULTS_OF_LOAD.items():
        [function] = machine_code.functions(program, f"openimb::{name}(")
        found = faults_of_load(function)
        assert found == [] if fault is None else any(fault in line for line in found), f"{name}: {found}"


@pytest.mark.needs_mpi
@pytest.mark.parametrize(
    "source", ["bare_modes", "bare_overlap", "evidence_cost", "made_up", "repeated_memory", "slow_mpi"]
)
def test_programs_of_bench_that_no_other_test_builds_compile(source: str) -> None:
    """They use headers of the suite and of its unit tests, which change."""
    wrapper = lab.MAIN[0].wrapper if lab.MAIN else lab.missing("Open MPI or MPICH")
    words = [wrapper, "-std=c++20", "-fsyntax-only", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX", "-Isrc"]
    done = subprocess.run([*words, f"bench/{source}.cpp"], cwd=lab.TOP, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
