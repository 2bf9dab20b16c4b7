"""Measuring in passes: one short sample of each row a pass, rows that are medians over them; budgets, ends, errors."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import lab
import pytest
from test_endings import tiny_disk, wait_for  # noqa: F401, a fixture
from test_faults import ranks_of, records_in
from test_simulated import SWITCH, TRANSFERS, Switch, about, simulate, times

COMPONENTS = [name for name in lab.COMPONENTS if name != "FABRIC"]  # which has pairs, not rows
QUICK = "-time 60 -set TARGET_CPU_SECS=0.0005"
POINT = (
    "benchmark",
    "kind",
    "mode",
    "multi",
    "processes",
    "threads",
    "group_count",
    "group",
    "groups",
    "bytes",
)
SIX_DIGITS = 1e-5


def point_of(record: dict) -> list:
    """Which row of which table a record is about."""
    return [record.get(key) for key in POINT]


def samples_by_row(records: list[dict]) -> dict[int, list[dict]]:
    """Each row announced before its first sample, once; passes in order."""
    rows: dict[int, list[dict]] = {}
    for record in records:
        if record["record"] == "row":
            assert record["row"] not in rows
            rows[record["row"]] = []
        elif record["record"] == "sample":
            rows[record["row"]].append(record)
    for samples in rows.values():
        passes = [sample["pass"] for sample in samples]
        assert samples and passes == sorted(set(passes)) and passes[0] >= 1
    at = [record["at_seconds"] for record in records if record["record"] == "sample"]
    assert at == sorted(at)
    return rows


def figures(record: dict) -> dict[str, float]:
    return {
        key: value for key, value in record.items() if key.startswith("time_") or key == "overlap_percent"
    }


def check_results(done: lab.Launch, *, text: bool = True) -> dict[int, list[dict]]:
    """Results follow from their samples, and, `text`, tables from results. Returns the samples of each row."""
    rows = samples_by_row(done.records)
    announced = {record["row"]: record for record in done.records if record["record"] == "row"}
    for result in done.rows:
        samples, passes = rows[result["row"]], result["passes"]
        assert point_of(result) == point_of(announced[result["row"]])
        assert passes["samples"] == len(samples)
        assert result["time_min_seconds"] <= result["time_max_seconds"] * (1 + SIX_DIGITS)
        assert passes["used"] + passes["between_states"] <= len(samples) or not passes["reference_state"]
        if passes["states"]:  # there are probes
            in_states = sum(state["samples"] for state in passes["states"])
            assert in_states + passes["between_states"] == len(samples)
        if passes["used"] < len(samples):
            continue  # which of them are in the fastest state is not in the records
        assert figures(result).keys() == figures(samples[0]).keys()
        for key, value in figures(result).items():
            median = statistics.median(sample[key] for sample in samples)
            assert value == pytest.approx(median, rel=SIX_DIGITS, abs=1e-15), (key, result)
    if not text:
        return rows
    tables = lab.tables(done.text)
    shown = list(itertools.chain.from_iterable(column_of(table) for table in tables))
    wide = [result["passes"]["half_width"] for result in done.rows]
    assert shown == ["n/a" if each is None else f"{100 * each:.2f}%" for each in wide]
    return rows


def column_of(table: lab.Table) -> list[str]:
    """+-[%] of a table's rows, without those that failed."""
    at = table.columns.index("+-[%]") - len(table.columns)
    return [row[at] for row in table.rows if len(row) == len(table.columns)]


def end_of(done: lab.Launch) -> dict:
    end = done.records[-1]
    assert end["record"] == "end"
    return end


def failures_of(done: lab.Launch) -> list[dict]:
    return [record for record in done.records if record["record"] == "failure"]


# --- Rows and samples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_row_has_a_sample_of_each_pass(mpi, component, scratch):
    """The rows of a launch without passes, in the same order; three samples of each."""
    few = "-iter 3,1,2" if component in ("EXT", "IO") else "-iter 6"
    words = f"{few} -msgsize 0,72 {QUICK}"
    for folder in ("plain", "passes"):
        (scratch / folder).mkdir()

    def launch(folder: str, option: str) -> lab.Launch:
        place = scratch / folder
        return lab.run(mpi, 2, f"{words} {option}", component=component, records=place, folder=place)

    plain = launch("plain", "")
    done = launch("passes", "-passes 3")
    assert plain.code == done.code == 0, done.text + done.errors
    assert [point_of(row) for row in done.rows] == [point_of(row) for row in plain.rows]
    assert [row["row"] for row in done.rows] == list(range(len(plain.rows)))
    rows = check_results(done)
    assert rows.keys() == set(range(len(plain.rows)))
    for samples in rows.values():
        assert [sample["pass"] for sample in samples] == [1, 2, 3]
    for result in done.rows:
        assert result["passes"]["interval_seconds"] is None and result["passes"]["shortfall"] == "none"
    end = end_of(done)
    assert (end["state"], end["passes"], end["measured"]) == ("complete", 3, len(plain.rows))
    assert 0 < end["measuring_seconds"] < end["seconds"]
    assert [table.name for table in lab.tables(done.text)] == [table.name for table in lab.tables(plain.text)]
    assert "# 3 passes in " in done.text and "All processes entering MPI_Finalize" in done.text
    assert "# Passes                         :   until 3 passes are done" in done.text
    assert not list((scratch / "passes").glob("IMB_out*"))


# Those of IMB-IO send no messages.
@pytest.mark.parametrize("component", [name for name in COMPONENTS if name != "IO"])
def test_probes_do_not_disturb_any_benchmark(mpi, component, scratch):
    """With idle ranks too, which are at their next probe while others still receive from any source."""
    few = f"{'-iter 3,1,2' if component == 'EXT' else '-iter 3'} {lab.SHORT_WINDOW.get(component, '')}"
    for ranks in (4,) if mpi.key == "openmpi" else (3, 7):
        names = " ".join(lab.right_names(mpi, component))
        words = f"-passes 2 {few} -msgsize 72 {QUICK} -npmin {ranks} {names}"
        done = lab.run(mpi, ranks, words, component=component, records=scratch, folder=scratch)
        failures = failures_of(done)
        assert done.code == (3 if failures else 0), done.errors
        assert {each["cause"] for each in failures} <= {"invalid_processes"}  # no grid of so many
        assert {len(samples) for samples in samples_by_row(done.records).values()} == {2}
        measured = {row["benchmark"] for row in done.rows} | {each["benchmark"] for each in failures}
        assert measured == set(lab.right_names(mpi, component))


SELECTION = "PingPong Sendrecv Bcast Reduce Allreduce Alltoall Barrier"


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (1, "-msgsize 8 Allreduce Barrier Bcast"),
        (2, "-multi 0"),
        (2, "-multi 1"),
        (2, "-off_cache 0.1,64"),
        (2, "-sync on -imb_barrier on"),
        (2, "-root_shift off"),
        (2, "-iter_policy off -iter 10"),
        (2, "-iter 20,multiple_np"),
        (2, "-iter 1"),
        (2, "-warm_up off"),
        (2, "-msgsize 100000,0,4 -data_type int -contig_type resize"),
        (3, "-msgsize 8 PingPong Bcast Allreduce"),
        (3, "-npmin 3 -iter 8 -iter_policy multiple_np -msgsize 8 Bcast Allreduce"),
        (4, "-map 2x2 -multi 1 -msgsize 8 PingPong Allreduce"),
    ],
    ids=lambda value: str(value) or "plain",
)
def test_modes(mpi, ranks, words, tmp_path):
    lengths = "" if "-msgsize" in words else "-msgsize 0,72"
    few = "" if "-iter" in words else "-iter 8"
    names = "" if any(word[0].isupper() for word in words.split()) else SELECTION
    words = f"{lengths} {few} -check {words} {names}"
    plain = lab.run(mpi, ranks, words, records=tmp_path)
    done = lab.run(mpi, ranks, f"{words} -passes 3", records=tmp_path)
    assert plain.code == done.code == 0, done.text + done.errors
    assert [point_of(row) for row in done.rows] == [point_of(row) for row in plain.rows]
    rows = check_results(done)
    assert {len(samples) for samples in rows.values()} == {3}
    assert {row["defects"] for row in done.rows} == {0} and end_of(done)["defects"] == 0
    if "-iter_policy off" in words:
        assert {row["repetitions"] for row in done.rows} == {10}


def test_a_rotating_root_goes_on_where_the_last_pass_ended(mpi, tmp_path):
    """One repetition a sample: with a fixed root, rank 0 would be it in every pass."""
    words = "-npmin 3 -iter 1 -iter_policy off -warm_up off -msgsize 8 -check -passes 9 Bcast Gather Reduce"
    done = lab.run(mpi, 3, words, records=tmp_path)
    assert done.code == 0, done.errors
    assert {len(samples) for samples in check_results(done).values()} == {9}


@pytest.mark.parametrize("lie", ["flip", "drop"])
def test_check_finds_a_lying_mpi_in_passes(mpi, liars, lie, tmp_path):
    """Before the first sample, with the buffers that all passes use."""
    wrap = ["env", f"LD_PRELOAD={liars(mpi, 'lying_mpi.cpp')}", f"LIE_HOW={lie}", "LIE_RANK=1"]
    names = "Sendrecv Bcast Allreduce Alltoall"
    done = lab.run(mpi, 2, f"-check -iter 4 -msgsize 64 -passes 3 {names}", records=tmp_path, wrap=wrap)
    assert done.code == 4, done.errors
    assert all(row["defects"] > 0 for row in done.rows) and len(done.rows) == 4
    assert end_of(done)["defects"] == sum(row["defects"] for row in done.rows)
    for table in lab.tables(done.text):
        assert table.columns[-1] == "defects" and float(table.rows[0][-1]) > 0
    assert "wrong bytes: do not trust these results\n" in done.text


def test_many_passes_of_one_row_have_an_interval(mpi, tmp_path, monkeypatch):
    monkeypatch.setattr(lab, "AT_ONCE", 1)  # exchanges of ranks that sleep are very slow
    words = "-msgsize 8 -iter 20 -passes 300 PingPong"
    launches = (lab.run(mpi, 2, words, records=tmp_path) for _ in range(10))
    # A launch that finds exchanges very slow, as they are on a busy machine, makes no probes.
    done = next(done for done in launches if done.code or end_of(done)["probes"])
    assert done.code == 0, done.errors
    (samples,) = check_results(done).values()
    assert [sample["pass"] for sample in samples] == list(range(1, 301))
    for sample in samples:
        assert sample["probe_before_seconds"] > 0 and sample["probe_after_seconds"] > 0
    (row,) = done.rows
    passes = row["passes"]
    if passes["interval_seconds"]:
        low, high = passes["interval_seconds"]
        assert low <= row["time_max_seconds"] <= high
        wider = max(high - row["time_max_seconds"], row["time_max_seconds"] - low)
        assert passes["half_width"] == pytest.approx(wider / row["time_max_seconds"])


# --- Failure rows ----------------------------------------------------------------------------------------------------


def test_rows_that_fail_are_said_once_and_the_others_measured(mpi, tmp_path):
    """Too little memory, too little time: no row of a later pass, and each in its place in the table."""
    words = "-msgsize 16,2m,8,32 -mem 1m -iter 5 -passes 4 PingPong Sendrecv"
    done = lab.run(mpi, 2, words, records=tmp_path)
    assert done.code == 0
    check_results(done)
    assert [(each["cause"], each["bytes"]) for each in failures_of(done)] == [("out_of_memory", 1 << 21)] * 2
    for table in lab.tables(done.text):
        assert [int(row[0]) for row in table.rows] == [16, 1 << 21, 8, 32]
    assert "All processes entering MPI_Finalize" in done.text

    done = lab.run(mpi, 2, "-msgsize 8m,0 -time 0.0001 -iter 5 -passes 4 PingPong", records=tmp_path)
    assert done.code == 0
    causes = {each["bytes"]: each["cause"] for each in failures_of(done)}
    assert causes[8 << 20] == "time_out"
    (table,) = lab.tables(done.text)
    assert [int(row[0]) for row in table.rows] == [8 << 20, 0]


def test_memory_that_a_later_table_cannot_have_is_not_missing_in_the_next_pass(mpi, tmp_path):
    """The second table asks for more than there is and goes on with shorter messages; the first one still needs what
    it had."""
    limit = ["bash", "-c", 'ulimit -d 900000; exec "$0" "$@"']
    words = "-mem 64 -msgsize 256m,32 -passes 2 -iter 2 PingPong Alltoall"
    done = lab.run(mpi, 2, words, records=tmp_path, wrap=limit)
    assert done.code == 3, (done.code, done.errors)
    rows = [(row["benchmark"], row["bytes"]) for row in done.rows]
    assert rows == [("PingPong", 256 << 20), ("PingPong", 32), ("Alltoall", 32)]
    assert [(each["benchmark"], each["cause"]) for each in failures_of(done)] == [
        ("Alltoall", "out_of_memory")
    ]
    assert {len(samples) for samples in check_results(done).values()} == {2}


@pytest.mark.parametrize("words", ["-budget 0.5", "-passes 1000", "-precision 5"])
def test_a_launch_ends_when_no_row_is_left_to_measure(mpi, words, tmp_path):
    """All rows failed in the first pass: there is no other."""
    done = lab.run(mpi, 1, f"{words} PingPong PingPing", records=tmp_path)
    assert done.code == 3 and not done.rows
    assert {each["cause"] for each in failures_of(done)} == {"invalid_processes"}
    end = end_of(done)
    assert (end["state"], end["measured"], end["failed"]) == ("complete", 0, 2)
    assert end["passes"] == 1


# --- Budget and precision --------------------------------------------------------------------------------------------


def test_a_budget_too_small_for_all_rows_is_failure_rows(mpi, tmp_path):
    done = lab.run(mpi, 2, "-budget 0.1 -msglog 0:24 PingPong Sendrecv Bcast Allreduce", records=tmp_path)
    assert done.code == 0
    failures = failures_of(done)
    assert failures and {each["cause"] for each in failures} == {"over_budget"}
    check_results(done)
    measured = {(row["benchmark"], row["bytes"]) for row in done.rows}
    failed = {(each["benchmark"], each["bytes"]) for each in failures}
    assert not measured & failed and len(measured | failed) == len(done.rows) + len(failures)
    lengths = [0, *(1 << power for power in range(25))]
    tables = lab.tables(done.text)
    assert [table.name for table in tables] == ["PingPong", "Sendrecv", "Bcast", "Allreduce"]
    assert [[int(row[0]) for row in table.rows] for table in tables][:3] == [lengths] * 3
    assert done.text.count("over-budget.") == len(failures)
    end = end_of(done)
    assert (end["state"], end["measured"], end["failed"]) == ("complete", len(done.rows), len(failures))
    assert f"# Finished with {len(failures)} failure row" in done.text


@pytest.mark.alone
def test_a_loose_precision_ends_the_launch_when_all_rows_have_it(mpi, tmp_path):
    words = "-precision 90 -passes 5000 -budget 30 -msgsize 8,1024 PingPong Sendrecv"
    done = lab.run(mpi, 2, words, records=tmp_path)
    assert done.code == 0, done.errors
    rows = check_results(done)
    end = end_of(done)
    assert end["state"] == "complete" and end["passes"] < 5000
    for row in done.rows:
        assert row["passes"]["shortfall"] == "none" and row["passes"]["half_width"] <= 0.9
    assert max(len(samples) for samples in rows.values()) <= end["passes"]
    assert " missed +-" not in done.text


@pytest.mark.parametrize(("words", "why"), [("-passes 12", "passes"), ("-budget 0.3", "budget")])
def test_a_precision_that_is_not_reached_is_a_note_and_no_error(mpi, words, why, tmp_path):
    """Exit status 0: the figures are as good as any, and their intervals say how good."""
    done = lab.run(mpi, 2, f"-precision 0.001 {words} -msgsize 8 PingPong", records=tmp_path)
    assert done.code == 0, done.errors
    check_results(done)
    (row,) = done.rows
    assert row["passes"]["shortfall"] == why
    said = {"passes": "all passes are done", "budget": "the budget was spent"}[why]
    # Readers of IMB's output take every line before the blank one for a row.
    assert re.search(r"\n {12}8 .*\n\n# note: 1 of 1 row missed \+-0.001 %", done.text)
    assert said in done.text
    assert why == "budget" or end_of(done)["passes"] == 12


def test_what_is_asked_for_is_in_the_run_record(mpi, tmp_path):
    words = "-passes 2 -precision 2.5 -budget 7 -msgsize 8 -iter 2 PingPong"
    done = lab.run(mpi, 2, words, records=tmp_path)
    limits = {"passes": 2, "precision": 2.5, "budget": 7}
    assert limits.items() <= done.records[0]["options"].items()
    done = lab.run(mpi, 2, "-iter 2 -msgsize 8 PingPong", records=tmp_path)
    assert dict.fromkeys(limits).items() <= done.records[0]["options"].items() and "passes" not in end_of(
        done
    )
    assert {record["record"] for record in done.records} == {"run", "result", "end"}


# --- Ends ------------------------------------------------------------------------------------------------------------

ENDLESS = "-passes 1000000 -msgsize 8,1024 PingPong Sendrecv"


def start_and_wait_for_samples(mpi: lab.Mpi, records: Path, samples: int = 40) -> subprocess.Popen:
    """A launcher that does not get its ranks going, as was seen once with Open MPI, is started once more."""

    def going() -> bool:
        return records.exists() and records.read_text().count('"record":"sample"') >= samples

    for _ in range(2):
        process = lab.start(mpi, 2, [*ENDLESS.split(), "-json", str(records)])
        try:
            wait_for(going, 30)
        except AssertionError:
            kept = records.read_text()[-300:] if records.exists() else "no records"
            table = subprocess.run(
                ["ps", "-eo", "pid,ppid,stat,wchan:20,args"], capture_output=True, text=True, check=False
            )
            ours = [line for line in table.stdout.splitlines() if "IMB-" in line or "prte" in line]
            os.kill(process.pid, signal.SIGKILL)
            warnings.warn(f"{mpi.key}: no samples after 30 s: {kept}; {ours}", stacklevel=2)
        else:
            return process
    pytest.fail("two launches did not get going")


@pytest.mark.parametrize(
    ("name", "target"),
    [("SIGTERM", 0), ("SIGINT", 1), ("SIGTERM", "launcher"), ("SIGINT", "launcher")],
)
def test_a_signal_keeps_samples_and_prints_the_rows_so_far(mpi, name, target, tmp_path):
    """Rank 0 leaves without rows if it takes longer than launchers wait, which a crowded machine may make happen: hence
    three attempts."""
    number = getattr(signal, name)
    for attempt in range(3):
        records = tmp_path / f"records-{attempt}.jsonl"
        process = start_and_wait_for_samples(mpi, records)
        victim = process.pid if target == "launcher" else ranks_of(process.pid, mpi.program())[target]
        os.kill(victim, number)
        done = lab.finish(process, 60)
        assert done.code in lab.codes_after(mpi, number, target)
        assert "All processes entering MPI_Finalize" not in done.text
        done.records = records_in(records)
        assert sum(map(len, samples_by_row(done.records).values())) >= 40
        end = end_of(done)
        assert (end["state"], end["measured"], end["failed"]) == ("interrupted", 4, 0)
        assert end["passes"] >= 10
        if done.rows:
            break
    assert len(done.rows) == 4
    # Open MPI's launcher passes no more text on, once it is to stop.
    check_results(done, text=mpi.flavor == "mpich" or target != "launcher")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_leaves_whole_samples(mpi, victim, tmp_path):
    records = tmp_path / "records.jsonl"
    process = start_and_wait_for_samples(mpi, records)
    os.kill(ranks_of(process.pid, mpi.program())[victim], signal.SIGKILL)
    done = lab.finish(process, 60)
    assert done.code in lab.codes_after(mpi, signal.SIGKILL, victim)
    kept = records_in(records)
    assert kept[0]["record"] == "run" and sum(map(len, samples_by_row(kept).values())) >= 40


def test_a_disk_without_room_is_said_once_and_the_rows_are_printed(mpi):
    done = lab.run(mpi, 2, "-json /dev/full -passes 3 -iter 4 -msglog 2 PingPong")
    assert done.code == 3
    assert done.own_errors == ['IMB-MPI1: cannot write "/dev/full": No space left on device']
    assert len(lab.tables(done.text)[0].rows) == 4


def test_every_line_is_whole_when_the_disk_fills_up_with_samples(mpi, tiny_disk):  # noqa: F811
    file = tiny_disk / "lines"
    done = lab.run(mpi, 2, f"-passes 60 -iter 4 -json {file} -msgsize 8 PingPong")
    assert done.code == 3
    assert done.own_errors == [f'IMB-MPI1: cannot write "{file}": No space left on device']
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert kept[0]["record"] == "run" and len(lab.tables(done.text)[0].rows) == 1


def test_a_disk_without_room_under_the_tables_is_said_too(mpi):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(mpi.program()), *["-passes", "2", "-iter", "2", "-msgsize", "8", "Sendrecv"]],
            env=lab.environment(mpi), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 3 and "No space left on device" in done.stderr


# --- Progress --------------------------------------------------------------------------------------------------------

# Runs a program whose standard error is a terminal of its own, and keeps what it writes there.
TERMINAL = """
import os, subprocess, sys
terminal, theirs = os.openpty()
child = subprocess.Popen(sys.argv[2:], stderr=theirs, close_fds=False)
os.close(theirs)
with open(f"{sys.argv[1]}/seen-{os.getpid()}", "wb") as seen:
    try:
        while data := os.read(terminal, 4096):
            seen.write(data)
    except OSError:
        pass
sys.exit(child.wait())
"""
PROGRESS = re.compile(r"pass (\d+), (\d+) of 2 rows done, (\d+) s left")


def test_progress_is_written_to_a_terminal_and_to_nothing_else(mpi, tmp_path):
    """One line of rank 0, which overwrites itself and is gone in the end."""
    words = "-budget 2 -msgsize 0,8 PingPong"
    wrap = [sys.executable, "-c", TERMINAL, str(tmp_path)]
    done = lab.run(mpi, 2, words, wrap=wrap)
    assert done.code == 0
    seen = sorted((file.read_bytes().decode() for file in tmp_path.glob("seen-*")), key=len)
    assert len(seen) == 2 and not PROGRESS.search(seen[0])
    *pieces, last = seen[1].split("\r")
    shown = [one for one in pieces if "rows done" in one]
    assert last == "\x1b[K"
    matches = [PROGRESS.fullmatch(one.removesuffix("\x1b[K")) for one in shown]
    assert shown and all(matches), shown
    passes, ready, left = zip(*(map(int, match.groups()) for match in matches if match), strict=True)
    assert passes == tuple(sorted(passes)) and set(ready) == {0} and set(left) <= {0, 1, 2}
    assert "rows done" not in done.text

    plain = lab.run(mpi, 2, words.replace("-budget 2", "-budget 0.5"))
    assert plain.code == 0 and "rows done" not in plain.text + plain.errors
    assert "\x1b" not in plain.text + plain.errors


# --- Usage errors ----------------------------------------------------------------------------------------------------

WRONG = [
    *(f"-passes {value}" for value in ("0", "-1", "x", "1.5", "1000001")),
    *(f"-precision {value}" for value in ("0", "101", "nan", "5%")),
    *(f"-budget {value}" for value in ("0", "0.05", "inf", "-1", "1s")),
]
CONTRADICTIONS = [
    "-show_tail yes -passes 3",
    "-dumpfile times.txt -precision 5",
    "-msg_pause on -budget 1",
]


@pytest.mark.parametrize("words", [*WRONG, *CONTRADICTIONS])
def test_usage_errors(mpi, words, tmp_path):
    command = [str(mpi.program()), *words.split(), "Barrier"]
    done = subprocess.run(
        command, env=lab.environment(mpi), capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("IMB-")]
    assert done.returncode == 2 and len(lines) == 1
    assert lines[0].startswith((f"IMB-MPI1: {words.split()[0]}: ", f"IMB-MPI1: {words.split()[0]} and -"))
    assert not list(tmp_path.iterdir())


def test_help_names_the_three_options_beside_each_other(mpi):
    for option in ("passes", "precision", "budget"):
        done = lab.run(mpi, 1, f"-help {option}")
        assert done.code == 0 and done.text.startswith(f"-{option} ") and "-passes" in done.text
        assert max(map(len, done.text.splitlines())) <= 80


# --- On a simulated machine ------------------------------------------------------------------------------------------

# So many repetitions, whatever the resolution of the clock, which is 10 us there: too coarse for probes.
FIXED = "-msgsize 1024,2048 -iter_policy off -iter"


@pytest.mark.needs_mpi
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_machine_that_does_not_change_gives_the_same_time_in_every_pass(ranks, tmp_path):
    """As without passes, whatever the number of repetitions; the interval has no width."""
    words = f"{' '.join(TRANSFERS)} -npmin {ranks} -window_size 4 {FIXED} 8 -passes 12"
    done = simulate(tmp_path, ranks, words)
    rows = check_results(done)
    assert len(done.rows) == 2 * len(TRANSFERS) == len(rows)
    for row in done.rows:
        wanted = TRANSFERS[row["benchmark"]](SWITCH, ranks, row["bytes"])
        assert list(times(row)) == [pytest.approx(wanted, rel=1e-9)] * 3, row
        passes = row["passes"]
        assert (passes["samples"], passes["used"], row["repetitions"]) == (12, 12, 8)
        assert passes["half_width"] == pytest.approx(0, abs=1e-6)
        for sample in rows[row["row"]]:
            assert sample["time_max_seconds"] == pytest.approx(wanted, rel=SIX_DIGITS)
    assert {cell for table in lab.tables(done.text) for cell in column_of(table)} == {"0.00%"}
    assert "# note" not in done.text


@pytest.mark.needs_mpi
def test_a_machine_that_does_not_change_is_known_at_the_second_look(tmp_path):
    """Nothing to wait for: the launch ends long before its budget, and before the most passes."""
    done = simulate(tmp_path, 2, f"PingPong Sendrecv {FIXED} 8 -precision 0.1 -budget 1000")
    assert {len(samples) for samples in check_results(done).values()} == {end_of(done)["passes"]}
    assert end_of(done)["passes"] == 24
    assert {row["passes"]["shortfall"] for row in done.rows} == {"none"}


@pytest.mark.needs_mpi
def test_groups_have_rows_of_their_own_in_passes(tmp_path):
    """Each pair has its own cable lengths: samples of a group are that group's."""
    switch = Switch(growth=1 / 16)
    words = "PingPong -multi 1 -msgsize 0,1024 -iter 8 -iter_policy off -passes 3"
    done = simulate(tmp_path, 4, words, switch=switch)
    rows = check_results(done)
    assert [(row["row"], row["bytes"], row["groups"]) for row in done.rows] == [
        (0, 0, [[0, 1]]), (1, 0, [[2, 3]]), (2, 1024, [[0, 1]]), (3, 1024, [[2, 3]]),
    ]  # fmt: skip
    for row in done.rows:
        ((a, b),) = row["groups"]
        seconds = switch.cable(a) + switch.cable(b) + (row["bytes"] + 16) / switch.bandwidth
        assert row["time_min_seconds"] == about(seconds), row
        for sample in rows[row["row"]]:
            assert sample["time_min_seconds"] == pytest.approx(seconds, rel=SIX_DIGITS)


@pytest.mark.needs_mpi
def test_the_root_rotates_over_passes(tmp_path):
    """One repetition a sample, no two cables alike: the longest time of a Gather depends on where the root is. Over
    as many passes as ranks each rank is the root once; so is it in the next round."""
    switch = Switch(growth=1)
    words = "Gather -npmin 4 -msgsize 1024 -iter 1 -iter_policy off -warm_up off -passes 8"
    done = simulate(tmp_path, 4, words, switch=switch)
    (samples,) = check_results(done).values()
    found = [sample["time_max_seconds"] for sample in samples]
    assert found[:4] == [pytest.approx(each, rel=SIX_DIGITS) for each in found[4:]]
    assert len({f"{each:.4g}" for each in found[:4]}) > 1
