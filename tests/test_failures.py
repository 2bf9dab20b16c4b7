"""What happens when one thing fails on one rank: an allocation, a window, a file, a call of MPI. In every case the launch
ends soon, with words or a failure row and the documented exit status; never with a hang, a figure that was not measured,
or nothing at all."""

from __future__ import annotations

import bisect
import functools
import itertools
import os
import random
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import lab
import pytest

ROW, ABORTED = 3, 5  # exit status: a failure row; a rank that could not go on

# A launch that takes longer hangs; without a failure one takes 0.1 to 1 s.
LAUNCH_SECONDS = float(os.environ.get("OPENIMB_LAUNCH_SECONDS", "45"))
PROMPT_SECONDS = 3 * lab.AT_ONCE  # from a failure that ends the job to its end
# Launches at once of one test. Ranks of MPICH poll: two launches on two cores take four times as long as one. Open MPI's launcher mostly
# waits while it ends a job.
AT_ONCE = {"mpich": 1, "openmpi": 3 if lab.AT_ONCE == 1 else 1}
MOST_COMPLAINTS = 4  # a walk that found so many faults stops

# The walk over allocations: every STRIDE-th call site of a rank, and for one component not longer than this.
# OPENIMB_WALK=all: every site, however long it takes.
WHOLE_WALK = os.environ.get("OPENIMB_WALK") == "all"
WALK_SECONDS = float("inf") if WHOLE_WALK else 2
STRIDE = {"mpich": {0: 3, 1: 1}, "openmpi": {0: 12, 1: 4}}

SELECTIONS = {
    "MPI1": "-check -show_tail on -iter 2 -msglog 2:3 PingPong Allreduce Allgatherv Uniband",
    "NBC": "-check -iter 2 -msglog 2:3 -set TARGET_CPU_SECS=0.0005 Iallreduce Ibcast",
    "RMA": "-check -iter 2 -msglog 2:3 Unidir_put All_get_all Get_accumulate",
    "EXT": "-check -iter 2,1,2 -msglog 2:3 Window Unidir_Put Accumulate",
    "IO": "-check -iter 2,1,2 -msglog 2:3 -set TARGET_CPU_SECS=0.0005 "
    "P_Read_Expl P_Write_Shared S_IWrite_Indv C_Read_Indv Open_Close",
    "MPI4": "-check -iter 2 -msglog 2:3 -set TARGET_CPU_SECS=0.0005 "
    "Allreduce_persist Alltoallv_persist_pure Sendrecv_persist Partitioned_Exchange Comm_create Session_init",
    "P2P": "-check -iter 2 -msglog 2:3 -window_size 4 PingPong Unirandom Corandom Halo Multi_pair",
    "MT": "-check -repeat 2 -count 1,2 -window_size 4 -threads 2 PingPongMT UniBandMT AllReduceMT BarrierMT",
    "FABRIC": "-check -passes 2 -iter 2 -msgsize 4,8 -window_size 4",
    "MPI1, passes": "-check -passes 12 -precision 0.001 -iter 2 -msglog 2:2 PingPong Allreduce",
}
# Where a program may go on with less: facts about the machine that cannot be read are left empty.
RECOVERS = "openimb::system::"

Libraries = Callable[[lab.Mpi, str], Path]


@dataclass
class Outcome:
    """A launch with a failure in it. `log`: what the injector says that it did; `done` is None after a hang."""

    injection: str
    done: lab.Launch | None
    log: list[str]
    ended: float
    hang: str = ""

    @property
    def injected(self) -> bool:
        return any(" at " in line for line in self.log)

    @property
    def seconds(self) -> float:
        """From the first injection to the end; 0 where it is not known when that was."""
        times = [float(line.split()[3].rstrip(":")) for line in self.log if " at " in line]
        return self.ended - min(times, default=self.ended)


class Injector:
    """Launches of one component with one library interposed, each in a folder of its own."""

    def __init__(self, mpi: lab.Mpi, component: str, preload: Path, folder: Path) -> None:
        self.mpi, self.component, self.preload, self.folder = mpi, component, preload, folder
        self._numbers = itertools.count()

    def launch(self, arguments: str, wrap: Iterable[str] = (), **variables: object) -> Outcome:
        folder = self.folder / f"launch{next(self._numbers)}"
        folder.mkdir()
        log = folder / "log"
        settings = [f"{name}={value}" for name, value in variables.items()]
        words = ["env", f"LD_PRELOAD={self.preload}", f"FAIL_LOG={log}", *settings, *wrap]
        injection = (
            f"{self.mpi.key} IMB-{self.component} {arguments}: {self.preload.stem} {' '.join(settings)}"
        )
        done, hang = None, ""
        try:
            done = lab.run(
                self.mpi, 2, arguments, component=self.component, records=folder, wrap=words,
                timeout=LAUNCH_SECONDS, folder=folder,
            )  # fmt: skip
        except lab.Hangs as stuck:
            hang = str(stuck)
        ended = time.monotonic()
        errors = log.with_suffix(".errors")
        if done and errors.exists():
            done = replace(done, errors=errors.read_text() + done.errors)
        lines = log.read_text().splitlines() if log.exists() else []
        return Outcome(injection, done, lines, ended, hang)

    def baseline(self, arguments: str, **variables: object) -> Outcome:
        """The same launch without a failure: which rows there must be."""
        outcome = self.launch(arguments, (), **variables)
        assert outcome.done, outcome.hang
        assert outcome.done.code == 0, f"{outcome.injection}: {outcome.done.errors}"
        return outcome

    def count(self, arguments: str, rank: int, **variables: object) -> tuple[lab.Launch, int]:
        """The baseline, and how often `rank` does what could fail."""
        outcome = self.baseline(arguments, FAIL_RANK=rank, **variables)
        counts = [int(line.split()[-1]) for line in outcome.log if line.startswith(f"rank {rank} counted ")]
        assert outcome.done and len(counts) == 1, f"{outcome.injection}: {outcome.log}"
        return outcome.done, counts[0]


def key_of(record: dict) -> tuple:
    return tuple(record.get(name) for name in ("benchmark", "mode", "processes", "group", "bytes"))


def failures_in(done: lab.Launch) -> list[dict]:
    return [record for record in done.records if record["record"] == "failure"]


def fault_of_rows(done: lab.Launch, baseline: lab.Launch, causes: set[str]) -> str:
    """What is wrong with a launch that went on after a failure; empty where nothing is."""
    failures = failures_in(done)
    if not failures:
        return "no failure row"
    if found := {failure["cause"] for failure in failures} - causes:
        return f"failure rows with cause {found}, not {causes}"
    reasons = [failure["detail"] for failure in failures if failure["cause"] == "io_error"]
    if any(not reason or reason not in done.text for reason in reasons):
        return "a failure row without the reason in the text"
    failed = {key_of(failure) for failure in failures}
    whole_tables = {key_of(failure)[:3] for failure in failures if failure.get("bytes") is None}
    measured = {key_of(row) for row in done.rows}
    if both := {key for key in measured if key in failed or key[:3] in whole_tables}:
        return f"rows with figures and a failure: {both}"
    missing = [key for row in baseline.rows if (key := key_of(row)) not in measured | failed]
    if missing := [key for key in missing if key[:3] not in whole_tables]:
        return f"rows missing: {missing}"
    if any(row.get("defects") for row in done.rows):
        return "defects"
    if done.records[-1].get("state") != "complete":
        return f"last record {done.records[-1]}"
    return ""


def fault_of(
    outcome: Outcome, component: str, rank: int, baseline: lab.Launch, causes: set[str], words: str = ""
) -> str:
    """What is wrong with a launch in which something failed on `rank`: it must end with `words` of that rank and exit
    status 5, or with failure rows for these `causes`, all other rows, and exit status 3. Empty where nothing is
    wrong."""
    done = outcome.done
    if done is None:
        return f"hangs; {outcome.hang}"
    said = "; stderr: " + " | ".join(done.errors.splitlines()[-6:])
    if done.code == ABORTED:
        own = [line for line in done.own_errors if ": warning: " not in line]  # of threads that share CPUs
        if len(own) != 1:
            return f"exit status {ABORTED} with {len(own)} lines of words, not 1{said}"
        # Before MPI_Init a rank has no number.
        number = "" if any("before MPI" in line for line in outcome.log) else f"rank {rank}: "
        if not re.match(rf"IMB-{component}: {number}.*{words}", own[0]):
            return f"words are not of rank {rank} with {words!r}: {own[0]}"
        if outcome.seconds > PROMPT_SECONDS:
            return f"ended {outcome.seconds:.1f} s after the failure"
        # A rank that fails before it knows where to send its reason leaves rank 0 to the launcher's signal (interrupted); after the last
        # row the record is complete, or where rank 0 fails, missing.
        last = done.records[-1] if done.records else {}
        after_rows = len(done.rows) == len(baseline.rows)
        if len(done.records) > 1 and last["record"] != "end" and not (after_rows and rank == 0):
            return f"last record {last}"
        if last.get("state") == "complete" and not after_rows:
            return f"last record {last}"
        if last.get("state") == "interrupted" and (rank == 0 or done.rows):
            return f"last record {last}"
        return ""
    if done.code == ROW:
        fault = fault_of_rows(done, baseline, causes)
        return fault and f"exit status {ROW}: {fault}{said}"
    return f"exit status {done.code}{said}"


def walk(mpi: lab.Mpi, cases: Iterable, judge: Callable[..., str]) -> None:
    """Judges all cases, some at once; stops after a few complaints."""
    complaints: list[str] = []

    def unless_enough(case: tuple) -> str:
        return judge(*case) if len(complaints) < MOST_COMPLAINTS else ""

    with ThreadPoolExecutor(AT_ONCE[mpi.flavor]) as pool:
        for complaint in pool.map(unless_enough, cases):
            if complaint:
                complaints.append(complaint)
    if complaints:
        pytest.fail("\n\n".join(complaints), pytrace=False)


@functools.cache
def symbols(program: Path) -> tuple[list[int], list[str]]:
    done = subprocess.run(
        ["nm", "-C", "--defined-only", str(program)], capture_output=True, text=True, check=True
    )
    found = sorted(
        (int(at, 16), name) for at, _, name in (line.split(" ", 2) for line in done.stdout.splitlines())
    )
    return [at for at, _ in found], [name for _, name in found]


def functions_in(log: list[str], program: Path) -> str:
    """The functions that a failed allocation was in, innermost first; the frames of the log are addresses."""
    places, names = symbols(program)
    frames = [
        int(word, 16) for line in log if " frames " in line for word in line.split(" frames ")[1].split()
    ]
    return " < ".join(names[bisect.bisect_right(places, frame - 1) - 1][:80] for frame in frames)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_an_allocation_that_fails_anywhere(mpi, selection, liars: Libraries, scratch):
    """Which of them a rank can do without is the program's matter; that the others wait for it is not."""
    component = selection.split(",")[0]
    arguments = " ".join(
        word for word in SELECTIONS[selection].split() if word not in lab.WRONG.get(mpi.key, ())
    )
    injector = Injector(mpi, component, liars(mpi, "fail_allocation.cpp"), scratch)
    causes = {"out_of_memory"}
    cases = []
    for rank, stride in STRIDE[mpi.key].items():
        baseline, sites = injector.count(arguments, rank, FAIL_SITE=0)
        assert sites > 20, f"rank {rank}: {sites} sites"
        cases += [(rank, site, baseline) for site in range(1, sites + 1, 1 if WHOLE_WALK else stride)]
    random.Random(selection).shuffle(cases)  # a walk that is cut short is thin everywhere
    end = time.monotonic() + WALK_SECONDS
    left_out = []

    def judge(rank: int, site: int, baseline: lab.Launch) -> str:
        if time.monotonic() > end:
            left_out.append(site)
            return ""
        outcome = injector.launch(arguments, FAIL_RANK=rank, FAIL_SITE=site)
        if not outcome.injected:
            # Where ranks wait for each other decides about a few sites, which another launch may not have.
            return (
                ""
                if outcome.done and outcome.done.code == 0
                else f"{outcome.injection}: ends without a failure"
            )
        fault = fault_of(outcome, component, rank, baseline, causes, "out of memory")
        functions = functions_in(outcome.log, mpi.program(component))
        if fault and outcome.done and outcome.done.code == 0 and RECOVERS in functions:
            same = list(map(key_of, outcome.done.rows)) == list(map(key_of, baseline.rows))
            fault = "" if same else "exit status 0, and rows are missing"
        return fault and f"{outcome.injection}: {outcome.log} in {functions}: {fault}"

    walk(mpi, cases, judge)
    if left_out:
        warnings.warn(f"{len(left_out)} of {len(cases)} sites left out after {WALK_SECONDS} s", stacklevel=1)


def only_on(rank: int, kibibytes: int) -> list[str]:
    """Words before a program of which one rank may not have more address space than this. That rank's errors go into a
    file: when a library aborts, a launcher may end before it has passed on the last words."""
    script = (
        f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = {rank} ] || exec "$0" "$@"; '
        f'ulimit -v {kibibytes}; exec "$0" "$@" 2> "$FAIL_LOG.errors"'
    )
    return ["bash", "-c", script]


def peaks(outcome: Outcome) -> dict[int, tuple[int, int]]:
    """Of every rank, in kB: its peaks of resident and of virtual memory."""
    found = [line.split() for line in outcome.log if " peak " in line]
    return {int(words[1]): (int(words[3]), int(words[4])) for words in found}


# How a library says that it is the one that got no memory.
LIBRARY_WORDS = re.compile(
    r"Abort\(|Fatal error|UCX +ERROR|MPI_ERR|Cannot allocate|out of (memory|resource)", re.IGNORECASE
)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("component", "arguments"),
    [
        ("IO", "-iter 1,1,1 -aggregate_mode aggregate -msgsize 4096,{},8192 P_Write_Shared P_Read_Expl"),
        ("MPI1", "-iter 1 -msgsize 4096,{},8192 PingPong Allgather"),
    ],
    ids=["IO", "MPI1"],
)
def test_one_rank_without_memory(mpi, component, arguments, rank, liars: Libraries, scratch):
    """How far a point of 24 MiB per rank gets depends on how much room there is."""
    injector = Injector(mpi, component, liars(mpi, "peak_memory.cpp"), scratch)
    arguments = f"-check -npmin 2 {arguments}"
    size = "48m" if component == "IO" else "24m"
    bare = peaks(injector.baseline(arguments.format("2048")))[rank][1]
    baseline = injector.baseline(arguments.format(size)).done
    assert baseline

    def judge(room: int) -> str:
        outcome = injector.launch(arguments.format(size), wrap=only_on(rank, bare + room * 1024))
        done = outcome.done
        fault = fault_of(outcome, component, rank, baseline, {"out_of_memory"}, "out of memory")
        if done and done.code == 0 and len(done.rows) == len(baseline.rows):
            fault = ""  # there was room
        if done and done.code not in (0, ROW, ABORTED) and LIBRARY_WORDS.search(done.errors):
            fault = ""
        return fault and f"{outcome.injection} with room for {room} MiB on rank {rank}: {fault}"

    walk(mpi, [(room,) for room in (10, 20, 30, 40, 50, 60)], judge)


@pytest.mark.parametrize("transport", ["default", "rdma"])
@pytest.mark.parametrize("kind", ["create", "allocate", "shared", "dynamic"])
def test_windows_without_locks_are_enough_for_fences(mpi, kind, transport, tmp_path, monkeypatch):
    if transport == "rdma":
        if mpi.flavor != "openmpi":
            pytest.skip("Open MPI has several transports for windows")
        if kind == "shared":
            pytest.skip("Open MPI's osc/rdma makes no shared windows")
        monkeypatch.setenv("OMPI_MCA_osc", "rdma")
    words = f"-check -iter 4,1,4 -msglog 2:4 -window {kind} -info no_locks=true"
    done = lab.run(mpi, 2, words, component="EXT", records=tmp_path, timeout=LAUNCH_SECONDS * 2)
    assert done.code == 0, done.text[-2000:] + done.errors
    assert len({row["benchmark"] for row in done.rows}) == 6
    assert not any(row["defects"] for row in done.rows)


OPEN_CLOSE = "-iter 100,40,100,off -npmin 1 Open_Close"


@pytest.mark.parametrize("rank", [None, 0, 1])
def test_opens_that_fail_are_a_row(mpi, rank, liars: Libraries, scratch):
    if mpi.flavor == "openmpi" and rank == 1:
        pytest.skip("Open MPI 5.0.11 hangs in MPI_File_open if it fails on another rank than 0 alone")
    injector = Injector(mpi, "IO", liars(mpi, "fail_files.cpp"), scratch)
    where = {} if rank is None else {"FAIL_RANK": rank}
    outcome = injector.launch(OPEN_CLOSE, FAIL_OPEN=8, **where)
    done = outcome.done
    assert outcome.injected and done, outcome.hang
    assert done.code == ROW, done.text[-1500:] + done.errors[-1500:]
    # Rank 1 waits while one process opens and closes.
    failed = [2] if rank == 1 else [1, 2]
    assert [row["processes"] for row in done.rows] == [n for n in (1, 2) if n not in failed]
    failures = failures_in(done)
    assert [(failure["processes"], failure["cause"]) for failure in failures] == [
        (n, "io_error") for n in failed
    ]
    for failure in failures:
        assert re.match(r"rank [01]: .", failure["detail"]) and failure["detail"] in done.text
        # The library knows the reason only for its last 128 errors, so it must be asked at once. Where one rank fails,
        # that the open failed is all that the other one hears.
        if mpi.flavor == "mpich":
            assert ("open" if rank == 1 else "Too many open files") in failure["detail"], failure["detail"]


CLOSES = {
    "Open_Close": "-check -iter 10,1,10,off -npmin 2 Open_Close",
    "writes": "-iter 2,1,2 -msglog 12:13 -npmin 2 S_Write_Expl P_Write_Shared C_Write_Indv S_Read_Expl",
    "checked": "-check -iter 2,1,2 -msglog 12:12 -npmin 2 P_Write_Priv C_Read_Expl",
}


@pytest.mark.parametrize("what", CLOSES)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_close_that_reports_a_quota_is_one_row(mpi, rank, what, liars: Libraries, scratch):
    """EDQUOT often shows when a file is closed. One file is lost, so one row is; the rows after it are good."""
    injector = Injector(mpi, "IO", liars(mpi, "fail_files.cpp"), scratch)
    arguments = CLOSES[what]
    baseline, closes = injector.count(arguments, rank, FAIL_CLOSE=0)
    assert closes > 3
    silent = []

    def judge(at: int) -> str:
        outcome = injector.launch(arguments, FAIL_RANK=rank, FAIL_CLOSE=at)
        if not outcome.injected:
            return f"{outcome.injection}: the file was not closed; {outcome.hang}"
        if any("returned success" in line for line in outcome.log):
            silent.append(at)
            return ""
        done = outcome.done
        fault = fault_of(outcome, "IO", rank, baseline, {"io_error"})
        if not fault and done and done.code == ROW:
            details = [failure["detail"] for failure in failures_in(done)]
            if len(details) != 1:
                fault = f"one file failed, and there are {len(details)} failure rows"
            elif not re.match(rf"rank {rank}: .*[Qq]uota", details[0]):
                fault = f"the reason is {details[0]}"
        return fault and f"{outcome.injection}: {fault}"

    walk(mpi, [(at,) for at in range(1, closes + 1, max(1, closes // (8 if WHOLE_WALK else 4)))], judge)
    if silent:
        assert mpi.flavor == "openmpi", f"MPI_File_close succeeds: {silent}"
        pytest.skip("Open MPI 5.0.11: MPI_File_close returns MPI_SUCCESS whatever close() reports")


MEMORY_ALLOWANCE = 24 << 10  # kB above -mem: the library's own buffers for files, and what is small


def test_checking_files_keeps_to_the_memory_limit(mpi, liars: Libraries, scratch):
    """A buffer of 96 MiB fits; the same again, to read back what was written, does not."""
    limit = int(0.11 * (1 << 20))  # kB
    names = "-iter 1,1,1 -npmin 2 S_Write_Expl P_Write_Shared"
    injector = Injector(mpi, "IO", liars(mpi, "peak_memory.cpp"), scratch)
    bare = peaks(injector.baseline(f"-msgsize 4096 {names}"))
    outcome = injector.launch(f"-check -mem 0.11 -msgsize 4096,96m {names}")
    assert outcome.done, outcome.hang
    assert outcome.done.code in (0, ROW), outcome.done.errors
    assert {failure["cause"] for failure in failures_in(outcome.done)} <= {"out_of_memory"}
    assert len(outcome.done.rows) + len(failures_in(outcome.done)) == 8
    used = {rank: peak[0] - bare[rank][0] for rank, peak in peaks(outcome).items()}
    assert len(used) == 2 and max(used.values()) <= limit + MEMORY_ALLOWANCE, (
        f"kB by rank: {used}, limit {limit}"
    )


WINDOWS = {
    "Window": ("EXT", "-check -iter 2,1,2 -msglog 2:3 -npmin 2 Window Unidir_Put"),
    "fences": ("EXT", "-check -iter 2,1,2 -msglog 2:3 -npmin 2 Unidir_Put Accumulate"),
    "locks": ("RMA", "-check -iter 2 -msglog 2:3 -npmin 2 Unidir_put All_get_all"),
}


@pytest.mark.parametrize("what", WINDOWS)
@pytest.mark.parametrize("kind", ["create", "allocate", "shared", "dynamic"])
def test_a_window_that_one_rank_cannot_make_is_a_row(mpi, kind, what, liars: Libraries, scratch):
    component, arguments = WINDOWS[what]
    arguments += f" -window {kind}"
    injector = Injector(mpi, component, liars(mpi, "fail_mpi.cpp"), scratch)
    baseline, made = injector.count(arguments, 1, FAIL_CALL="MPI_Win", FAIL_AT=0)
    assert made >= 6

    def judge(rank: int, at: int) -> str:
        outcome = injector.launch(arguments, FAIL_CALL="MPI_Win", FAIL_RANK=rank, FAIL_AT=at)
        fault = fault_of(outcome, component, rank, baseline, {"out_of_memory", "unavailable"})
        # Window makes windows in its timed loop, where ranks cannot agree on anything, and a new window has MPI's own
        # error handler, which ends the job with MPI's text and status.
        if (
            what == "Window"
            and kind == "dynamic"
            and outcome.done
            and outcome.done.code not in (0, ROW, ABORTED)
        ):
            fault = "" if re.search("[Ff]atal error|MPI_ERRORS_ARE_FATAL", outcome.done.errors) else fault
        if not fault and outcome.done and outcome.done.code != ROW and what != "Window":
            fault = f"exit status {outcome.done.code}: {outcome.done.own_errors}"
        return fault and f"{outcome.injection}: {outcome.log}: {fault}"

    walk(mpi, [(rank, at) for rank in (0, 1) for at in range(1, 7)], judge)


@pytest.mark.parametrize("rank", [0, 1])
def test_an_mpi_that_does_not_start_on_one_rank_ends_the_job_with_a_line(
    mpi, rank, liars: Libraries, scratch
):
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), scratch)
    outcome = injector.launch("PingPong", FAIL_CALL="MPI_Init_thread", FAIL_RANK=rank, FAIL_AT=1)
    assert outcome.injected and outcome.done, outcome.hang
    assert (outcome.done.code, outcome.done.own_errors) == (
        ABORTED,
        ["IMB-MPI1: MPI_Init_thread returned an error; the run is aborted"],
    ), outcome.done.errors
    assert outcome.seconds < PROMPT_SECONDS


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("topology", "call"), [("3d", "MPI_Cart_create"), ("random:1", "MPI_Dist_graph_create_adjacent")]
)
def test_a_topology_that_one_rank_cannot_make_ends_the_job_with_a_line(
    mpi, topology, call, rank, liars: Libraries, scratch
):
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), scratch)
    arguments = f"-topo {topology} -iter 2 -npmin 2 -msgsize 64 Neighbor_allgather"
    outcome = injector.launch(arguments, FAIL_CALL=call, FAIL_RANK=rank, FAIL_AT=2)
    assert outcome.injected and outcome.done, outcome.hang
    assert outcome.done.code == ABORTED, outcome.done.errors
    [line] = outcome.done.own_errors
    assert re.fullmatch(rf"IMB-MPI1: rank {rank}: .*MPI reports: .+; the run is aborted", line)


# By call: what makes it, and which of its calls fails. The first MPI_Win_... is of a window that is only tried.
LOCAL_CALLS = {
    "MPI_Type_contiguous": ("MPI1", "-contig_type base_vec PingPong", 1),
    "MPI_Type_create_resized": ("MPI1", "-contig_type resize PingPong", 1),
    "MPI_Type_commit": ("MPI1", "-contig_type resize PingPong", 1),
    "MPI_Type_free": ("MPI1", "-contig_type resize_vec PingPong", 1),
    "MPI_Type_vector": ("MPI1", "-layout vector:1:2 PingPong", 1),
    "MPI_Type_indexed": ("MPI1", "-layout indexed PingPong", 1),
    "MPI_Type_create_struct": ("MPI1", "-layout struct PingPong", 1),
    "MPI_Type_size": ("MPI1", "-send_mode buffered PingPong", 1),
    "MPI_Pack_size": ("MPI1", "-send_mode buffered PingPong", 1),
    "MPI_Op_create": ("MPI1", "-contig_type resize Allreduce", 1),
    "MPI_Op_free": ("MPI1", "-contig_type resize Allreduce", 1),
    "MPI_Info_create": ("EXT", "-info no_locks=true Unidir_Put", 1),
    "MPI_Info_set": ("EXT", "-info no_locks=true Unidir_Put", 1),
    "MPI_Group_incl": ("EXT", "-sync_mode pscw Unidir_Put", 1),
    "MPI_Comm_dup": ("MPI1", "-sync_start clock Allreduce", 2),
    "MPI_Comm_split": ("MPI1", "PingPong", 1),
    "MPI_Win_create_dynamic": ("EXT", "Attach_detach", 2),
    "MPI_Win_attach": ("EXT", "Attach_detach", 3),
    "MPI_Win_detach": ("EXT", "Attach_detach", 1),
}


def test_a_call_that_fails_between_the_timed_ones_ends_the_job_with_a_line(mpi, liars: Libraries, scratch):
    """Whichever communicator the library reports it to."""
    injectors = {}
    for component in ("MPI1", "EXT"):
        (scratch / component).mkdir()
        injectors[component] = Injector(mpi, component, liars(mpi, "fail_mpi.cpp"), scratch / component)

    def judge(number: int, call: str, component: str, arguments: str, at: int) -> str:
        rank, on = number % 2, ("world", "self")[(number // 2 + (mpi.flavor == "mpich")) % 2]
        few = "-iter 2,1,2" if component == "EXT" else "-iter 2"
        outcome = injectors[component].launch(
            f"{few} -npmin 2 -msgsize 64 {arguments}", FAIL_CALL=call, FAIL_RANK=rank, FAIL_AT=at, FAIL_ON=on
        )
        done = outcome.done
        if not outcome.injected or not done:
            return f"{call}: not called; {outcome.hang}"
        line = rf"IMB-{component}: rank {rank}: .*MPI reports: .+; the run is aborted"
        if done.code != ABORTED or len(done.own_errors) != 1 or not re.fullmatch(line, done.own_errors[0]):
            return f"{call}, {on}: exit status {done.code}: {done.errors}"
        if done.records[-1].get("state") != "aborted":
            return f"{call}, {on}: last record {done.records[-1]}"
        return ""

    walk(mpi, [(number, call, *how) for number, (call, how) in enumerate(LOCAL_CALLS.items())], judge)


def test_a_buffer_that_one_rank_cannot_attach_is_a_row(mpi, liars: Libraries, scratch):
    arguments = "-check -iter 2 -msglog 2:3 -npmin 2 -send_mode buffered PingPong Exchange"
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), scratch)
    name = "MPI_Buffer_attach"
    baseline, attached = injector.count(arguments, 1, FAIL_CALL=name, FAIL_AT=0)
    assert attached >= 6

    def judge(rank: int, at: int) -> str:
        outcome = injector.launch(arguments, FAIL_CALL=name, FAIL_RANK=rank, FAIL_AT=at)
        # Where the warm-up cannot have it, the table is unavailable.
        fault = fault_of(outcome, "MPI1", rank, baseline, {"out_of_memory", "unavailable"})
        return fault and f"{outcome.injection}: {outcome.log}: {fault}"

    walk(mpi, [(rank, at) for rank in (0, 1) for at in range(1, 7)], judge)


# Deleting is left out: what is left of a file goes when the launch ends, and no figure depends on it.
FILE_CALLS = ["open", "set_view", "write_at", "write", "read_at_all", "sync", "close", "get_size"]
# In the timed loop return codes are not looked at: MPI calls the file's error handler.
TIMED_CALLS = {"write_at", "write", "read_at_all", "sync"}
FILE_BENCHMARKS = (
    "-check -iter 2,1,2 -msgsize 4096 -npmin 2 S_Write_Expl P_Write_Indv P_Write_Expl C_Read_Expl Open_Close"
)


@pytest.mark.parametrize("call", FILE_CALLS)
@pytest.mark.parametrize("handler", [True, False], ids=["handler", "code only"])
def test_a_file_call_that_fails_on_one_rank(mpi, call, handler, liars: Libraries, scratch):
    """The first, one in the middle and the last one. With an error code alone, as MPICH's MPI_File_close has it, and as the
    standard says, with the file's error handler before. Open_Close opens in its timed loop, where ranks cannot agree: what
    fails on one rank alone ends the launch there."""
    if call in TIMED_CALLS and not handler:
        pytest.skip("MPI 3.1, section 8.3: an error of a file calls the file's error handler")
    injector = Injector(mpi, "IO", liars(mpi, "fail_mpi.cpp"), scratch)
    name = f"MPI_File_{call}"
    cases = []
    for rank in (0, 1):
        baseline, calls = injector.count(FILE_BENCHMARKS, rank, FAIL_CALL=name, FAIL_AT=0)
        cases += [(rank, at, baseline) for at in sorted({1, calls // 2, calls} - {0}) if calls > 0]
    assert cases, f"{name} is never called"

    def judge(rank: int, at: int, baseline: lab.Launch) -> str:
        outcome = injector.launch(
            FILE_BENCHMARKS, FAIL_CALL=name, FAIL_RANK=rank, FAIL_AT=at, FAIL_HANDLER=int(handler)
        )
        fault = fault_of(outcome, "IO", rank, baseline, {"io_error"})
        if not fault and outcome.done and outcome.done.code == ROW:
            details = {failure["detail"].split(":")[0] for failure in failures_in(outcome.done)}
            fault = "" if details == {f"rank {rank}"} else f"failure rows are of {details}"
        return fault and f"{outcome.injection}: {fault}"

    walk(mpi, cases, judge)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("how", "at"), [("", 2), ("-passes 300", 60)], ids=["classic", "passes"])
def test_a_call_that_fails_in_a_repetition_names_benchmark_and_length(
    mpi, how, at, rank, liars: Libraries, scratch
):
    """And the rows that the end record counts are written: samples of earlier passes are none."""
    injector = Injector(mpi, "MPI1", liars(mpi, "fail_mpi.cpp"), scratch)
    arguments = f"-warm_up off -iter 20 -npmin 2 -msgsize 64 {how} Allgather"
    outcome = injector.launch(arguments, FAIL_CALL="MPI_Allgather", FAIL_RANK=rank, FAIL_AT=at)
    assert outcome.injected and outcome.done, outcome.hang
    done = outcome.done
    assert done.code == ABORTED, done.errors
    reason = r"Allgather, 2 processes, 64 B: MPI reports: .+"
    assert len(done.own_errors) == 1
    assert re.fullmatch(rf"IMB-MPI1: rank {rank}: {reason}; the run is aborted", done.own_errors[0])
    end = done.records[-1]
    assert (end["state"], end["measured"], end["failed"]) == ("aborted", 0, 0)
    assert re.fullmatch(reason, end["reason"])
    assert {record["record"] for record in done.records} == {
        "run",
        "end",
        *(["row", "sample"] if how else []),
    }
