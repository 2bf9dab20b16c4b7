"""Rules about launches: wrong data, failed rows, launches that were cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from imb.diagnose.case import Case, Finding
from imb.model.facts import fact
from imb.model.mpis import TRANSPORT_CHOICES
from imb.model.observations import Key, Launch
from imb.model.outcomes import incomplete_reason, with_message
from imb.model.records import Failure, Problem
from imb.model.statuses import SuiteStatus
from imb.model.text import shell_word
from imb.model.units import count_of, size, sizes


def defects(case: Case) -> Iterator[Finding]:
    """Yield wrong bytes that -check found."""
    for curve in case.curves:
        wrong = curve.numbers(lambda row: row.defects)
        if np.nansum(wrong) > 0:
            at = int(np.argmax(np.nan_to_num(wrong).sum(axis=0)))
            rows = int((np.nan_to_num(wrong) > 0).sum())
            yield Finding(
                level="problem",
                rule="defects",
                where=str(curve.key),
                found=f"-check found {int(np.nansum(wrong)):,} defects in {count_of(rows, 'row')}, most at "
                f"{size(curve.keys[at].bytes)}: ranks did not receive what was sent",
                advice="do not use results of this MPI or transport; repeat with another transport "
                f"({TRANSPORT_CHOICES}) to find the defective one, and test memory and NIC",
                evidence={"defects": int(np.nansum(wrong)), "rows": rows},
                weight=float(rows),
            )


_FAILED = {
    "out_of_memory": "give more (-- -mem GB), or measure smaller messages (-- -msglog N)",
    "int_overflow": "the count does not fit an int: use an MPI with large counts, or smaller messages",
    "time_out": "give more time (-- -time SECONDS), or find why it is slow: see the message sizes before it",
    "no_space": "choose another folder (-- -file PATH)",
    "io_error": "check the file system and the error message",
    "invalid_processes": "launch it with the required number of processes",
    "unavailable": "this MPI lacks the function; use one that has it",
}


def failures(case: Case) -> Iterator[Finding]:
    """Yield rows that could not be measured."""
    by_cause: dict[tuple[Key, str | None], list[tuple[Key, Failure]]] = {}
    for launch in case.side.launches:
        for key, failure in launch.failures.items():
            by_cause.setdefault((key.curve(), failure.cause), []).append((key, failure))
    for (key, cause), rows in by_cause.items():
        is_expected = cause in ("invalid_processes", "unavailable")
        lengths = sorted({row_key.bytes for row_key, _ in rows if row_key.bytes is not None})
        at = f" at {sizes(lengths)}" if lengths else ""
        detail = next((failure.detail for _, failure in rows if failure.detail), "")
        yield Finding(
            level="information" if is_expected else "problem" if cause == "io_error" else "warning",
            rule="failures",
            where=str(key),
            found=f"{rows[0][1].cause_text}{at}, {count_of(len(rows), 'row')} not measured"
            + (f" ({detail[:120]})" if detail else ""),
            advice=_FAILED.get(cause or "", "see the output of the launch"),
            evidence={"cause": cause or "failure", "rows": len(rows), "bytes": lengths},
            weight=float(len(rows)),
        )


_RANKS = re.compile(r" --?(?:np?|ntasks)[ =](\d{1,6}) ")  # launcher arguments, between blanks
_ALONE = (
    "the launcher does not belong to the MPI library of the program, so no process finds the others (PMI): use the mpiexec of that"
    " library, or with Slurm srun --mpi=pmix or --mpi=pmi2 (srun --mpi=list); `imb doctor` checks a launch"
)


def separate_ranks(case: Case) -> Iterator[Finding]:
    """Yield processes that were each started as a launch of one rank, so that benchmarks that need several
    were not measured."""
    by_source: dict[str, list[Launch]] = {}  # by file or run
    for launch in case.side.launches:
        processes = {key.processes for key in (*launch.rows, *launch.failures)}
        if processes == {1} and _invalid_benchmarks(launch):
            by_source.setdefault(launch.name.rpartition("#")[0] or launch.name, []).append(launch)
    for name, launches in by_source.items():
        requested = max(map(_requested_ranks, launches))
        many = len(launches) + case.side.copies  # such launches print the same text
        certain = many > 1 or requested > 1
        if not certain and any(launch.rows for launch in launches):
            continue  # collectives of one process have their rows
        benchmarks = ", ".join(
            dict.fromkeys(name for launch in launches for name in _invalid_benchmarks(launch))
        )
        count = f"{count_of(many, 'launch')} of 1 process" + (" each" if many > 1 else "")
        if requested > 1:
            count += f" instead of {requested} processes"
        problem = (
            "every process was started alone" if certain else "1 process was started, or every process alone"
        )
        yield Finding(
            level="problem" if certain else "warning",
            rule="started alone",
            where=launches[0].name if len(launches) == 1 else name,
            found=f"{problem}: {count}; {benchmarks} needs at least 2 ranks",
            advice=_ALONE,
            evidence={"launches": [launch.name for launch in launches], "asked": requested},
            weight=float(many),
        )


def _invalid_benchmarks(launch: Launch) -> list[str]:
    """Benchmarks that one process cannot run."""
    return [key.benchmark for key, failure in launch.failures.items() if failure.cause == "invalid_processes"]


def _requested_ranks(launch: Launch) -> int:
    """The number of ranks that was requested, or 1 if it is unknown."""
    if (ranks := fact(int, launch.facts, "intent", "ranks")) is not None:
        return ranks
    words = launch.facts.get("command") or launch.run.command_line or []
    match = _RANKS.search(f" {' '.join(map(str, words))} ")
    return int(match[1]) if match else 1


def unread_lines(case: Case) -> Iterator[Finding]:
    """Yield lines that look like results but could not be read."""
    files: dict[str, list[Problem]] = {}
    for problem in case.side.unread:
        files.setdefault(problem.file, []).append(problem)
    for name, problems in files.items():
        rows = sum(problem.rows for problem in problems if problem.line)
        first = f"line {problems[0].line}: {problems[0].text}" if rows else problems[0].text
        yield Finding(
            level="problem",
            rule="unreadable lines",
            where=name,
            found=f"{count_of(rows, 'row')} skipped; first: {first}" if rows else first,
            advice="restore these lines in the log; values and findings come from the other rows",
            evidence={"rows": rows, "lines": [problem.line for problem in problems]},
            weight=float(max(rows, 1)),
        )


def failed_launch(name: str, facts: Mapping[str, Any], reason: str | None) -> Finding:
    """The finding about a FailedLaunch."""
    status, problem = fact(int, facts, "exit_status"), fact(str, facts, "problem")
    outcome = fact(str, facts, "outcome") or "failed"
    why = incomplete_reason(outcome, status, problem) or "no row in its records"
    if outcome == "failed":
        reason = reason or "no reason was printed"
    return Finding(
        level="problem",
        rule="incomplete",
        where=f"launch {name}",
        found=f"no result: {with_message(why, problem or reason)}",
        advice=f"see the end of its output (imb show {shell_word(name)}); `imb doctor` checks the MPI",
        evidence={"exit_status": status, "rows": 0},
    )


def ends(case: Case) -> Iterator[Finding]:
    """Yield launches that did not end normally. Failure rows and defects have their own rules."""
    for launch in case.side.launches:
        if launch.name in case.failed:
            continue
        status, problem = fact(int, launch.facts, "exit_status"), fact(str, launch.facts, "problem")
        outcome = fact(str, launch.facts, "outcome") or "measured"
        if problem:
            ending = with_message(incomplete_reason(outcome, status, problem), problem)
        elif launch.is_cut_off:
            ending = "no end: the launch was cut off" + (f" after {launch.last}" if launch.last else "")
        elif launch.end is not None and launch.end.state != "complete":
            ending = f"it was {launch.end.state}" + (f" ({launch.end.reason})" if launch.end.reason else "")
        elif outcome == "measured" or status in (SuiteStatus.ROWS, SuiteStatus.WRONG_DATA):
            continue
        else:
            ending = incomplete_reason(outcome, status, None)
        yield Finding(
            level="warning",
            rule="incomplete",
            where=f"launch {launch.name}",
            found=f"{ending}; {count_of(len(launch.rows), 'row')} kept",
            advice=f"see its output (imb show {shell_word(launch.name)} --output), and repeat it",
            evidence={"exit_status": status, "rows": len(launch.rows)},
        )
