"""Reads x86-64 machine code with objdump: functions, their calls and loops, and what one repetition executes.

tests/test_codegen.py asserts on what this finds, bench/run.py shows it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PREFIXES = {
    "notrack",
    "bnd",
    "data16",
    "addr32",
    "lock",
    "rep",
    "repz",
    "repnz",
    "cs",
    "ds",
    "es",
    "fs",
    "gs",
    "ss",
}
JUMPS = {"jmp", "jmpq"}
CALLS = {"call", "callq"}
ENDS = {"ret", "retq", "ud2", "hlt"}
CLOCK = "MPI_Wtime"
LOAD = "openimb::CpuLoad::compute(long)"
COPY = "openimb::copy_on_cpu(void*, void const*, long)"
WITH_LOAD = "openimb::LoadLoop<"
COMPLETED = "openimb::WriteCompletionLoop<"
IN_TURNS = "openimb::TurnLoop<"
MARKED = "openimb::TeamMarkedPattern<"
OF_THREAD = "openimb::ThreadContext<"
FILE_SYNCS = {"(openimb::FileSync)0": "standard", "(openimb::FileSync)1": "never"}

Calls = tuple[str | None, ...]  # callees in the order of the calls; None: through a pointer


@dataclass(frozen=True)
class Instruction:
    address: int
    mnemonic: str
    operands: str

    @property
    def is_call(self) -> bool:
        return self.mnemonic in CALLS

    @property
    def is_jump(self) -> bool:
        """Of any kind, conditional ones too."""
        return self.mnemonic.startswith("j")

    @property
    def is_division(self) -> bool:
        """Integer, x87 and vector ones alike."""
        return re.match(r"v?f?i?div", self.mnemonic) is not None

    def is_packed(self, operation: str) -> bool:
        """Whether it does "mul" or "add" to several floats at once, fused ones do both."""
        return re.fullmatch(rf"v?{operation}ps|vfmadd[0-9]+ps", self.mnemonic) is not None

    @property
    def target(self) -> int | None:
        """Where a direct call or jump goes."""
        found = re.match(r"([0-9a-f]+)\b", self.operands)
        return int(found[1], 16) if found and (self.is_call or self.is_jump) else None

    @property
    def callee(self) -> str | None:
        """The name behind a direct call, through the PLT or (-fno-plt) the GOT; None for a call through a pointer."""
        if self.operands.startswith("*") and "(%rip)" not in self.operands:
            return None
        found = re.search(r"<(.*)>", self.operands)
        return re.sub(r"(@.*|\+0x[0-9a-f]+)$", "", found[1]) if found else None

    def __str__(self) -> str:
        return f"{self.address:x}: {self.mnemonic} {self.operands}".rstrip()


class Function:
    def __init__(self, name: str, code: list[Instruction]) -> None:
        self.name = name
        self.code = code
        self._at = {instruction.address: index for index, instruction in enumerate(code)}

    def leaves(self, instruction: Instruction) -> bool:
        """A jump to somewhere else: a tail call, or a part that the compiler has split off."""
        return instruction.is_jump and instruction.target not in self._at

    @cached_property
    def successors(self) -> list[list[int]]:
        following = []
        for index, instruction in enumerate(self.code):
            after: list[int] = []
            if instruction.is_jump and instruction.target in self._at:
                after.append(self._at[instruction.target])
            if instruction.mnemonic not in JUMPS | ENDS and index + 1 < len(self.code):
                after.append(index + 1)
            following.append(after)
        return following

    @cached_property
    def predecessors(self) -> list[list[int]]:
        before: list[list[int]] = [[] for _ in self.code]
        reached, waiting = {0}, [0]  # padding between blocks is never executed and leads nowhere
        while waiting:
            here = waiting.pop()
            for after in self.successors[here]:
                before[after].append(here)
                if after not in reached:
                    reached.add(after)
                    waiting.append(after)
        return before

    def calls_near(self, index: int, ways: list[list[int]]) -> set[str | None]:
        """What is called next on any way from there (`ways`: successors) or was called last (predecessors)."""
        found: set[str | None] = set()
        seen: set[int] = set()
        waiting = list(ways[index])
        while waiting:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            if self.code[here].is_call:
                found.add(self.code[here].callee)
            else:
                waiting += ways[here]
        return found

    @cached_property
    def loops(self) -> list[Loop]:
        """The outermost loops, in the order of their addresses."""
        return self.loops_among(set(range(len(self.code))))

    def loops_among(self, indices: set[int]) -> list[Loop]:
        found = []
        for component in _cycles(self.successors, indices):
            heads = {index for index in component if not component.issuperset(self.predecessors[index])}
            if len(heads) != 1:  # entered in several places: the point that most of its cycles go through
                heads = {min(component, key=lambda index: self._cyclic_without(component, index))}
            found.append(Loop(self, frozenset(component), heads.pop()))
        return sorted(found, key=lambda loop: loop.head)

    def calls_outside_loops(self) -> set[Calls]:
        """What each way from the entry to the end calls, loops aside."""
        inside: set[int] = set().union(*(loop.body for loop in self.loops))
        found: set[Calls] = set()
        seen: set[tuple[int, Calls]] = set()
        waiting: list[tuple[int, Calls]] = [(0, ())]
        while waiting:
            here, calls = waiting.pop()
            if (here, calls) in seen:
                continue
            seen.add((here, calls))
            if here not in inside:
                calls = _extended(calls, self.code[here])
            if not self.successors[here]:
                found.add(calls)
            waiting += [(after, calls) for after in self.successors[here]]
        return found

    def _cyclic_without(self, component: set[int], index: int) -> tuple[int, int]:
        return sum(map(len, _cycles(self.successors, component - {index}))), index


@dataclass(frozen=True)
class Loop:
    """One outermost loop. A pass goes from the head back to it; loops within are passed through once."""

    function: Function
    body: frozenset[int]
    head: int

    @cached_property
    def _forward(self) -> tuple[list[int], set[tuple[int, int]]]:
        """The body in topological order from the head, and the edges that lead back."""
        order: list[int] = []
        back: set[tuple[int, int]] = set()
        open_nodes: set[int] = {self.head}
        done: set[int] = set()
        stack = [(self.head, iter(self._within(self.head)))]
        while stack:
            here, following = stack[-1]
            for after in following:
                if after in open_nodes:
                    back.add((here, after))
                elif after not in done:
                    open_nodes.add(after)
                    stack.append((after, iter(self._within(after))))
                    break
            else:
                stack.pop()
                open_nodes.discard(here)
                done.add(here)
                order.append(here)
        return order[::-1], back

    def _within(self, index: int) -> list[int]:
        return [after for after in self.function.successors[index] if after in self.body]

    @cached_property
    def inner(self) -> list[Loop]:
        """The loops within."""
        return self.function.loops_among(set(self.body) - {self.head})

    @cached_property
    def innermost(self) -> list[Loop]:
        """The loops at any depth that have none within: this one, if it has none."""
        return [each for loop in self.inner for each in loop.innermost] or [self]

    def calls(self) -> set[Calls]:
        """What each pass calls."""
        order, back = self._forward
        found: set[Calls] = set()
        before: dict[int, set[Calls]] = {self.head: {()}}
        for here in order:
            after_this = {_extended(calls, self.function.code[here]) for calls in before[here]}
            for after in self._within(here):
                if (here, after) not in back:
                    before.setdefault(after, set()).update(after_this)
                elif after == self.head:
                    found |= after_this
        return found

    def longest(self, weight: Callable[[Instruction], int]) -> list[Instruction]:
        """The pass with the largest sum of weights, as the instructions it executes."""
        order, back = self._forward
        sums = {self.head: weight(self.function.code[self.head])}
        came_from: dict[int, int] = {}
        for here in order:
            for after in self._within(here):
                if (here, after) in back:
                    continue
                total = sums[here] + weight(self.function.code[after])
                if after not in sums or total > sums[after]:
                    sums[after] = total
                    came_from[after] = here
        here = max((tail for tail, head in back if head == self.head), key=lambda index: sums[index])
        path = [here]
        while here != self.head:
            here = came_from[here]
            path.append(here)
        return [self.function.code[index] for index in reversed(path)]

    def most(self, weight: Callable[[Instruction], int]) -> int:
        return sum(weight(instruction) for instruction in self.longest(weight))

    def least(self, weight: Callable[[Instruction], int]) -> int:
        return -self.most(lambda instruction: -weight(instruction))

    def counts(self, matches: Callable[[Instruction], bool]) -> set[int]:
        """How often a pass executes what matches: the least and the most."""
        return {self.least(lambda i: int(matches(i))), self.most(lambda i: int(matches(i)))}

    @property
    def instructions(self) -> list[Instruction]:
        return [self.function.code[index] for index in sorted(self.body)]


def _extended(calls: Calls, instruction: Instruction) -> Calls:
    return (*calls, instruction.callee) if instruction.is_call else calls


def _cycles(successors: list[list[int]], among: set[int]) -> list[set[int]]:
    """The strongly connected parts of the graph `among` these nodes that hold a cycle (Kosaraju's algorithm)."""
    order: list[int] = []
    seen: set[int] = set()
    before: dict[int, list[int]] = {index: [] for index in among}
    for root in sorted(among):
        stack = [] if root in seen else [(root, iter(successors[root]))]
        seen.add(root)
        while stack:
            here, following = stack[-1]
            for after in following:
                if after in among:
                    before[after].append(here)
                    if after not in seen:
                        seen.add(after)
                        stack.append((after, iter(successors[after])))
                        break
            else:
                stack.pop()
                order.append(here)
    found = []
    taken: set[int] = set()
    for root in reversed(order):
        component, waiting = set(), [root]
        while waiting:
            here = waiting.pop()
            if here not in taken:
                taken.add(here)
                component.add(here)
                waiting += before[here]
        if len(component) > 1 or any(root in successors[index] for index in component):
            found.append(component)
    return found


@dataclass(frozen=True)
class TimedLoop:
    """An instantiation of openimb::drive."""

    pattern: str
    loaded: bool  # computes between start and wait: openimb::LoadLoop
    aggregate: bool  # completed once, behind the loop
    large: bool  # MPI_Count instead of int
    iterations: tuple[bool, bool, bool]  # moving buffers, moving root, moving place in a file
    record: str  # TotalTimer, RepetitionTimer or SyncTimer
    file_sync: str  # openimb::WriteCompletionLoop: -fsync standard or never; empty where no file is written
    function: Function
    threads: str = ""  # of threads: "tagged" (tags of their own), "in turns", "marked" (the parts of a message); empty: the ordinary loop

    def __str__(self) -> str:
        moving = [
            name for name, moves in zip(("buffers", "root", "offset"), self.iterations, strict=True) if moves
        ]
        count = "MPI_Count" if self.large else "int"
        name = self.pattern + ", loaded" * self.loaded + ", aggregate" * self.aggregate
        name += f", -fsync {self.file_sync}" * bool(self.file_sync) + f", {self.threads}" * bool(self.threads)
        return f"{name}, {self.record}, {count}, moving: {' and '.join(moving) or 'nothing'}"


def unavailable() -> str:
    """Why machine code cannot be read here; empty if it can."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return f"reading {platform.machine()} machine code"
    return "" if shutil.which("objdump") else "objdump (binutils)"


def functions(program: Path, wanted: str) -> list[Function]:
    """Those with `wanted` in their demangled names."""
    listing = subprocess.run(
        [
            "objdump",
            "--disassemble",
            "--demangle",
            "--wide",
            "--no-show-raw-insn",
            "--section=.text",
            str(program),
        ],
        env={**os.environ, "LC_ALL": "C"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = []
    for block in re.split(r"\n\n(?=[0-9a-f]+ <)", listing):
        head, *lines = block.splitlines()
        name = re.fullmatch(r"[0-9a-f]+ <(.*)>:", head)
        if name and wanted in name[1]:
            found.append(Function(name[1], [_instruction(line) for line in lines if ":\t" in line]))
    return found


def _instruction(line: str) -> Instruction:
    address, _, text = line.partition(":\t")
    words = text.strip().split(maxsplit=1)
    while words[0] in PREFIXES and len(words) > 1:
        words = words[1].split(maxsplit=1)
    return Instruction(int(address, 16), words[0], words[1] if len(words) > 1 else "")


def timed_loops(program: Path) -> list[TimedLoop]:
    found = []
    for function in functions(program, "openimb::drive<"):
        pattern, _clock, aggregate, context, iterations, record, *_state = _template_arguments(
            function.name, "openimb::drive<"
        )
        buffers, root, offset = (
            word == "true" for word in _template_arguments(iterations, "openimb::Iterations<")
        )
        loaded = pattern.startswith(WITH_LOAD)
        if loaded:
            pattern = _template_arguments(pattern, WITH_LOAD)[0]
        file_sync = ""
        if pattern.startswith(COMPLETED):
            pattern, policy = _template_arguments(pattern, COMPLETED)
            file_sync = FILE_SYNCS[policy]
        threads = "tagged" if context.startswith(OF_THREAD) else ""
        if pattern.startswith(IN_TURNS):
            (pattern,), threads = _template_arguments(pattern, IN_TURNS), "in turns"
        if pattern.startswith(MARKED):
            (pattern,), threads = _template_arguments(pattern, MARKED), "marked"
        found.append(
            TimedLoop(
                _benchmark_of(pattern, loaded),
                loaded,
                aggregate == "true",
                "Context<int>" not in context,
                (buffers, root, offset),
                record.partition("<")[0].rpartition("::")[2],
                file_sync,
                function,
                threads,
            )
        )
    return found


ATOMIC = {
    "Add": "Accumulate",
    "FetchAndAdd": "Get_accumulate",
    "FetchAndOp": "Fetch_and_op",
    "CompareAndSwap": "Compare_and_swap",
}
SYNC_MODES = ("standard", "fence", "pscw", "lock", "lock_all", "flush", "flush_local")
SEND_MODES = ("standard", "synchronous", "buffered")
LOCAL = ", -sync_mode flush_local"
# By the calls: processes (parallel, collective) and position.
FILE_CALLS = {
    "IndividualPointerCalls": ("P", "Indv"),
    "OffsetCalls": ("P", "Expl"),
    "SharedPointerCalls": ("P", "Shared"),
    "CollectiveIndividualCalls": ("C", "Indv"),
    "CollectiveOffsetCalls": ("C", "Expl"),
    "OrderedCalls": ("C", "Shared"),
}


def _benchmark_of(pattern: str, loaded: bool) -> str:
    """The type's name, or of one that benchmarks have in common the benchmark that same_code names them by."""
    name = re.sub(r"openimb::| ", "", pattern)
    if found := re.fullmatch(r"NonblockingLoop<(\w+)>", name):
        return f"I{found[1].lower()}"
    if found := re.fullmatch(r"RequestLoop<(\w+)>", name):
        return f"R{ATOMIC.get(found[1], found[1]).lower()}"
    if found := re.fullmatch(r"FileCalls<(\w+),call::(\w+)>", name):
        who, place = FILE_CALLS[found[2]]
        return f"{who}_{'I' * loaded}{found[1]}_{place}"
    if found := re.fullmatch(r"PeerLoop<(\w+),(\w+)Completion>", name):
        if found[1] in ATOMIC:
            return ATOMIC[found[1]] + (LOCAL if found[2] == "Origin" else "")
        return f"Unidir_{found[1].lower()}" if found[2] == "Target" else f"{found[1]}_local"
    if found := re.fullmatch(r"NeighborsLoop<(\w+),(\w+)Completion>", name):
        return f"Exchange_{found[1].lower()}" + (LOCAL if found[2] == "Origin" else "")
    if found := re.fullmatch(r"SyncLoop<(\w+),\(SyncMode\)(\d)>", name):
        return f"{found[1]}, -sync_mode {SYNC_MODES[int(found[2])]}"
    if found := re.fullmatch(r"SendModeLoop<(\w+),\(SendMode\)(\d)>", name):
        return f"{found[1]}, -send_mode {SEND_MODES[int(found[2])]}"
    if found := re.fullmatch(r"AllTargetsLoop<(\w+),(\w+)Completion>", name):
        return f"One_{found[1].lower()}_all" if found[2] == "Target" else f"{found[1]}_all_local"
    name = name.rpartition("::")[2]
    return {"StencilLoop": "Stencil2D"}.get(name, name)


def same_code(benchmark: str) -> str:
    """One name for all benchmarks whose repetitions are the same calls with the same arguments, and so one loop."""
    if found := re.fullmatch(r"[SP]_I?(Write|Read)_(\w+)", benchmark):
        return f"P_{found[1]}_{'Indv' if found[2] == 'Priv' else found[2]}"
    if found := re.fullmatch(r"C_I(Write|Read)_(\w+)", benchmark):
        return f"C_{found[1]}_{found[2]}"
    if found := re.fullmatch(r"(?:Unidir|Bidir|Truly_passive)_(put|get)", benchmark):
        return f"Unidir_{found[1]}"
    if found := re.fullmatch(r"(?:One|All)_(put|get)_all", benchmark):
        return f"One_{found[1]}_all"
    same = {
        "Stencil3D": "Stencil2D",
        "Halo": "Stencil2D",
        "simple_halo": "Stencil2D",
        "Partitioned_overlap": "Partitioned_PingPong",
    }
    if benchmark.endswith("_persist_pure"):
        return "PersistentLoop"
    return same.get(benchmark, benchmark.removesuffix("_pure").removesuffix("MT"))


def default_loop(loops: Iterable[TimedLoop], benchmark: str) -> TimedLoop:
    """As the suite runs it when nothing else is asked for. `benchmark`: its name, or "NAME, aggregate"."""
    pattern, _, aggregate = benchmark.partition(", ")
    if aggregate.startswith("-"):  # an option that has loops of its own
        pattern, aggregate = benchmark, ""

    def fits(loop: TimedLoop) -> bool:
        plain = not (loop.loaded or loop.large or loop.iterations[0] or loop.threads)
        mode = loop.record == "TotalTimer" and loop.file_sync != "never" and loop.aggregate == bool(aggregate)
        return plain and mode and same_code(loop.pattern) == same_code(pattern)

    return next(loop for loop in sorted(filter(fits, loops), key=lambda loop: loop.pattern != pattern))


def _template_arguments(name: str, template: str) -> list[str]:
    text = name.partition(template)[2]
    found, depth, begin = [], 0, 0
    for index, letter in enumerate(text):
        if letter in ",>" and depth == 0:
            found.append(text[begin:index].strip())
            begin = index + 1
            if letter == ">":
                break
        depth += (letter in "<({") - (letter in ">)}")
    return found


def without_compiled_headers(words: list[str]) -> list[str]:
    """A compiler's command that reads each header itself."""
    if "-Winvalid-pch" not in words:
        return words
    at = words.index("-Winvalid-pch")  # before -include and the compiled headers
    return words[:at] + words[at + 3 :]


def compile_like_suite(build: Path, wrapper: str, env: dict[str, str], source: Path, target: Path) -> Path:
    """An executable of one source: the command that compiled the suite's loops, and the wrapper to link."""
    entries = json.loads((build / "compile_commands.json").read_text())
    entry = next(entry for entry in entries if entry["file"].endswith("src/benchmarks/mpi1.cpp"))
    words = without_compiled_headers(shlex.split(entry["command"]))
    words[words.index("-o") + 1] = str(target.with_suffix(".o").absolute())
    words[words.index("-c") + 1] = str(source.absolute())
    link = [wrapper, str(target.with_suffix(".o")), "-o", str(target)]
    for command in (words, link):
        done = subprocess.run(
            command, cwd=entry["directory"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")
    return target
