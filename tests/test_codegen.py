"""The timed loop as machine code: MPI calls and what hands them their arguments, nothing else (docs/methodology.md).

Each benchmark in each mode is an instantiation of openimb::drive; each is read from the Release executables and held
to what src/engine/timed_loop.h says of itself.
"""

import sys
from collections import Counter
from functools import cache
from pathlib import Path

import lab
import pytest

sys.path.insert(0, str(lab.TOP / "bench"))
import machine_code
from machine_code import CLOCK, Function, Instruction, Loop, TimedLoop

# The MPI calls of one repetition. With a window there are more of the first ones, and of Uniband one or the other.
BENCHMARKS = {
    "PingPong": "Send Recv",
    "PingPongSpecificSource": "Send Recv",
    "PingPing": "Isend Recv Wait",
    "PingPingSpecificSource": "Isend Recv Wait",
    "Sendrecv": "Sendrecv",
    "Exchange": "Isend Isend Recv Recv Waitall",
    "Uniband": "Isend Irecv Waitall",
    "Biband": "Isend Irecv Waitall",
    "Bcast": "Bcast",
    "Allgather": "Allgather",
    "Allgatherv": "Allgatherv",
    "Scatter": "Scatter",
    "Scatterv": "Scatterv",
    "Gather": "Gather",
    "Gatherv": "Gatherv",
    "Alltoall": "Alltoall",
    "Alltoallv": "Alltoallv",
    "Reduce": "Reduce",
    "Allreduce": "Allreduce",
    "Reduce_scatter": "Reduce_scatter",
    "Reduce_scatter_block": "Reduce_scatter_block",
    "Reduce_local": "Reduce_local",
    "Barrier": "Barrier",
}
ROOTED = {"Bcast", "Scatter", "Scatterv", "Gather", "Gatherv", "Reduce"}
WINDOWED = {"Uniband", "Biband"}
WITHOUT_COUNT = {"Wait", "Waitall", "Barrier"}
CLOCK_READS = {"Total": 0, "EveryRepetition": 1, "Synchronised": 2}  # per repetition

ARGUMENTS = {
    **{"Send": 6, "Recv": 7, "Isend": 7, "Irecv": 7, "Sendrecv": 12, "Wait": 2, "Waitall": 3, "Barrier": 1},
    **{"Bcast": 5, "Allgather": 7, "Allgatherv": 8, "Scatter": 8, "Scatterv": 9, "Gather": 8, "Gatherv": 9},
    **{"Alltoall": 7, "Alltoallv": 9, "Reduce": 7, "Allreduce": 6, "Reduce_scatter": 6},
    **{"Reduce_scatter_block": 6, "Reduce_local": 5},
}
IN_REGISTERS = 6  # System V ABI; further arguments lie on the stack
STACK = 3  # to align it before a call with more arguments, and to clear it afterwards
LOOP = 3  # add, compare, branch

# Instructions per repetition beyond a hand-written loop's. g++ 12 needs, in this order: 0, 17, 10, 6.
ALLOWANCE = 2  # a register spilled by another compiler
FOR_WINDOW = 18  # inner loops over the window, and the role: once per window (256 messages)
FOR_MOVING_BUFFERS = 10  # -off_cache: two strides, the slot, the spills that these bring
FOR_MOVING_ROOT = 6  # rotating root: step, compare, wrap


@pytest.fixture(autouse=True)
def _readable() -> None:
    if reason := machine_code.unavailable():
        lab.missing(reason)


@cache
def loops_of(mpi: lab.Mpi) -> list[TimedLoop]:
    if "CMAKE_BUILD_TYPE:STRING=Release\n" not in (mpi.build / "CMakeCache.txt").read_text():
        lab.missing(f"a Release build of {mpi.key}")
    return machine_code.timed_loops(mpi.program())


def has_large_count(mpi: lab.Mpi) -> bool:
    return "-DOPENIMB_LARGE_COUNT" in (mpi.build / "compile_commands.json").read_text()


def faults(loop: TimedLoop) -> list[str]:
    """What is in the function that must not be there. Its few lines outside the loop are held to the same."""
    function = loop.function
    found = []
    for instruction in function.code:
        if instruction.is_call and instruction.callee and not instruction.callee.startswith("MPI_"):
            found.append(f"calls {instruction.callee}: {instruction}")
        if function.leaves(instruction):
            found.append(f"jumps out of the loop's function: {instruction}")
        if instruction.is_division:
            found.append(f"division: {instruction}")
    found += faults_of_pointer_calls(loop)
    if not function.loops:
        found.append("no loop")
    for each in function.loops:
        reads = each.counts(lambda i: i.is_call and i.callee == CLOCK)
        if reads != {CLOCK_READS[loop.record]}:
            found.append(f"reads the clock {sorted(reads)} times per repetition")
    return [f"{loop}: {fault}" for fault in found]


def faults_of_pointer_calls(loop: TimedLoop) -> list[str]:
    """There is one call through a pointer: -sync on may use either MPI_Barrier or our own barrier, and an instantiation
    for each would double the number of loops for a call that is not timed. The clock must be read right before it (the
    repetition before has ended) and right after it (this one begins), on every way."""
    function = loop.function
    found = []
    for index, instruction in enumerate(function.code):
        if not instruction.is_call or instruction.callee:
            continue
        if loop.record != "Synchronised":
            found.append(f"calls through a pointer: {instruction}")
            continue
        for ways in (function.predecessors, function.successors):
            if function.calls_near(index, ways) != {CLOCK}:
                found.append(f"barrier inside the clock: {instruction}")
    for each in function.loops if loop.record == "Synchronised" else []:
        barriers = each.counts(lambda i: i.is_call and i.callee is None)
        if barriers != {1}:
            found.append(f"{sorted(barriers)} barriers per repetition")
    return found


def name_of_call(instruction: Instruction) -> str:
    return (instruction.callee or "").removeprefix("MPI_").removesuffix("_c")


def beyond_floor(instruction: Instruction) -> int:
    """1, or for a call minus what the arguments cost: over a loop the instructions that the calls do not explain."""
    if not instruction.is_call:
        return 1
    arguments = ARGUMENTS[name_of_call(instruction)]
    return -arguments - (STACK if arguments > IN_REGISTERS else 0)


def excess(loop: Loop) -> int:
    return loop.most(beyond_floor) - LOOP


def allowance(loop: TimedLoop) -> int:
    return (
        ALLOWANCE
        + (FOR_WINDOW if loop.pattern in WINDOWED else 0)
        + (FOR_MOVING_BUFFERS if loop.laps[0] else 0)
        + (FOR_MOVING_ROOT if loop.laps[1] else 0)
    )


def over_budget(loop: TimedLoop) -> list[str]:
    return [
        f"{loop}: {excess(each)} instructions more than a hand-written loop, {allowance(loop)} allowed:\n"
        + "\n".join(f"    {instruction}" for instruction in each.longest(beyond_floor))
        for each in loop.function.loops
        if excess(each) > allowance(loop)
    ]


def test_every_benchmark_is_there_in_every_mode(mpi):
    expected = {
        (pattern, large, (moving, pattern in ROOTED), record)
        for pattern in BENCHMARKS
        for large in ({False, True} if has_large_count(mpi) else {False})
        for moving in (False, True)
        for record in CLOCK_READS
    }
    assert {(loop.pattern, loop.large, loop.laps, loop.record) for loop in loops_of(mpi)} == expected


def under_test(instruction: Instruction) -> bool:
    return instruction.is_call and instruction.callee not in (None, CLOCK)


def test_a_repetition_is_its_mpi_calls(mpi):
    for loop in loops_of(mpi):
        calls = [
            f"MPI_{name}" + ("_c" if loop.large and name not in WITHOUT_COUNT else "")
            for name in BENCHMARKS[loop.pattern].split()
        ]
        for each in loop.function.loops:
            if loop.pattern in WINDOWED:
                assert {i.callee for i in each.instructions if under_test(i)} == set(calls), loop
            else:
                made = [i.callee for i in each.longest(lambda i: 1) if under_test(i)]
                assert Counter(made) == Counter(calls), loop
                assert each.counts(under_test) == {len(calls)}, loop


def test_nothing_but_mpi_in_the_timed_loop(mpi):
    found = [fault for loop in loops_of(mpi) for fault in faults(loop)]
    assert not found, "\n".join(found)


def test_default_loop_costs_what_a_hand_written_one_does(mpi):
    found = [line for loop in loops_of(mpi) if loop.record == "Total" for line in over_budget(loop)]
    assert not found, "\n".join(found)


def compiled(mpi: lab.Mpi, source: Path, target: Path) -> Path:
    return machine_code.compile_like_suite(mpi.build, mpi.wrapper, lab.environment(mpi), source, target)


@pytest.mark.parametrize(("pattern", "by_hand"), [("PingPong", "ping_pong"), ("Allreduce", "allreduce")])
def test_hand_written_loop_confirms_the_count(mpi, pattern, by_hand, tmp_path):
    """bench/bare_loop.cpp, compiled like the suite: what we call its cost is its cost, and ours is no higher."""
    bare = compiled(mpi, lab.TOP / "bench/bare_loop.cpp", tmp_path / "bare_loop")
    [function] = machine_code.functions(bare, f"{by_hand}(")
    [ours] = [
        loop.function
        for loop in loops_of(mpi)
        if (loop.pattern, loop.large, loop.laps, loop.record) == (pattern, False, (False, False), "Total")
    ]
    assert all(abs(excess(loop)) <= ALLOWANCE for loop in function.loops), listing(function)
    assert most(ours) <= most(function) + ALLOWANCE, listing(ours)


def most(function: Function) -> int:
    return max(loop.most(lambda i: 1) for loop in function.loops)


def listing(function: Function) -> str:
    return "\n".join(map(str, function.code))


# --- The test of the test: each of these must be found ---------------------------------------------------------------

SEEDED = """
#include <vector>
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
  struct name { template <class C> static void step(const C& c, const Lap& lap) { __VA_ARGS__ } };
PATTERN(Clean, send(c, lap.send);)
PATTERN(Divides, send(c, lap.send + turn++ % c.ranks);)
PATTERN(DividesFloats, sum = (sum + 1) / c.ranks; send(c, lap.send);)
PATTERN(Allocates, seen.push_back(c.rank); send(c, lap.send);)
PATTERN(Virtual, chosen->run(); send(c, lap.send);)
PATTERN(CallsOwn, own(); send(c, lap.send);)
PATTERN(ReadsClock, sum += MPI_Wtime(); send(c, lap.send);)
PATTERN(Wastes, for (volatile int& each : watched) each = each + 1; send(c, lap.send);)

namespace wrong {
template <class Clock, class Barrier>
struct Synchronised : openimb::Synchronised<Clock, Barrier> {
  void before() {
    this->begin = Clock::now();
    this->barrier();
  }
};
}  // namespace wrong

template <class Pattern, class Record>
void run(int argc, Record record) {
  Context<int> context;
  context.comm = MPI_COMM_WORLD;
  context.count = context.peer = context.rank = context.ranks = argc;
  sum += drive<Pattern, Clock>(context, Laps<false, false>(LapPlan{}), argc, record);
}

}  // namespace openimb

using namespace openimb;

int main(int argc, char** argv) {
  One one;
  Two two;
  chosen = argc > 1 ? static_cast<Step*>(&one) : &two;
  run<Clean>(argc, Total{});
  run<Divides>(argc, Total{});
  run<DividesFloats>(argc, Total{});
  run<Allocates>(argc, Total{});
  run<Virtual>(argc, Total{});
  run<CallsOwn>(argc, Total{});
  run<ReadsClock>(argc, Total{});
  run<Wastes>(argc, Total{});
  double samples[8];
  const auto barrier = [call = argc > 2 ? &MPI_Barrier : nullptr] { call(MPI_COMM_WORLD); };
  using Barrier = decltype(barrier);
  run<Clean>(argc, EveryRepetition<Clock>{samples});
  run<Clean>(argc, Synchronised<Clock, Barrier>{samples, barrier});
  run<Divides>(argc, wrong::Synchronised<Clock, Barrier>{{samples, barrier}});
  return sum > 0 && argv != nullptr;
}
"""

SEEDED_FAULTS = {
    ("Divides", "Total"): "division",
    ("DividesFloats", "Total"): "division",
    ("Allocates", "Total"): "calls ",
    ("Virtual", "Total"): "through a pointer",
    ("CallsOwn", "Total"): "calls openimb::own",
    ("ReadsClock", "Total"): "reads the clock [1] times",
    ("Wastes", "Total"): "more than a hand-written loop",
    ("Divides", "Synchronised"): "barrier inside the clock",
}


def test_seeded_faults_are_found(mpi, tmp_path):
    source = tmp_path / "seeded.cpp"
    source.write_text(SEEDED)
    loops = machine_code.timed_loops(compiled(mpi, source, tmp_path / "seeded"))
    assert {(loop.pattern, loop.record) for loop in loops} == {
        *SEEDED_FAULTS,
        *(("Clean", record) for record in CLOCK_READS),
    }
    for loop in loops:
        found = faults(loop)
        if not found and loop.record == "Total":
            found = over_budget(loop)
        if loop.pattern == "Clean":
            assert not found
        else:
            expected = SEEDED_FAULTS[loop.pattern, loop.record]
            assert any(expected in line for line in found), f"{loop}: {expected!r} not in {found}"
