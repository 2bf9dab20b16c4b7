"""Rules about launches: wrong bytes, rows that failed, launches cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from imb.diagnose.case import Case, Finding
from imb.model.observations import Key
from imb.model.units import counted, size, sizes


def defects(case: Case) -> Iterator[Finding]:
    """Bytes that -check found wrong."""
    for curve in case.curves:
        wrong = curve.numbers(lambda row: row.defects)
        if np.nansum(wrong) > 0:
            at = int(np.argmax(np.nan_to_num(wrong).sum(axis=0)))
            rows = int((np.nan_to_num(wrong) > 0).sum())
            yield Finding(
                level="problem",
                rule="defects",
                where=str(curve.key),
                found=f"-check found {int(np.nansum(wrong)):,} defects in {counted(rows, 'row')}, most at "
                f"{size(curve.keys[at].bytes)}: ranks did not receive what was sent",
                advice="do not use results of this MPI or transport; repeat with another transport (UCX_TLS, "
                "OMPI_MCA_pml, FI_PROVIDER) to find the defective one, and test memory and adapter",
                evidence={"defects": int(np.nansum(wrong)), "rows": rows},
                weight=float(rows),
            )


_FAILED = {
    "out_of_memory": "give more (-mem), or measure shorter messages (-msglog)",
    "int_overflow": "the count does not fit an int: use an MPI with large counts, or shorter messages",
    "time_out": "give more time (-time), or find why it is slow: see the lengths before it",
    "no_space": "choose another folder (-file)",
    "io_error": "check the file system and the error message",
    "invalid_processes": "launch it with the required number of processes",
    "unavailable": "this MPI lacks the function; use one that has it",
}


def failures(case: Case) -> Iterator[Finding]:
    """Rows that could not be measured."""
    found: dict[tuple[Key, str], list[tuple[Key, str]]] = {}
    for launch in case.side.launches:
        for key, failure in launch.failures.items():
            said = (key, failure.detail or "")
            found.setdefault((key.curve(), failure.cause or "failure"), []).append(said)
    for (key, cause), rows in found.items():
        natural = cause in ("invalid_processes", "unavailable")
        lengths = sorted({one.bytes for one, _ in rows if one.bytes is not None})
        at = f" at {sizes(lengths)}" if lengths else ""
        detail = next((text for _, text in rows if text), "")
        yield Finding(
            level="information" if natural else "problem" if cause == "io_error" else "warning",
            rule="failures",
            where=str(key),
            found=f"{cause.replace('_', ' ')}{at}, {counted(len(rows), 'row')} not measured"
            + (f" ({detail[:120]})" if detail else ""),
            advice=_FAILED.get(cause, "see the output of the launch"),
            evidence={"cause": cause, "rows": len(rows), "bytes": lengths},
            weight=float(len(rows)),
        )


def failed_launch(name: str, facts: Mapping[str, Any], reason: str | None) -> Finding:
    """Of a FailedLaunch."""
    status, outcome = facts.get("exit_status"), str(facts.get("outcome", "failed")).replace("_", " ")
    why = facts.get("problem") or reason or "no reason was printed"
    return Finding(
        level="problem",
        rule="end",
        where=f"launch {name}",
        found=f"{outcome}, exit status {status}, no result: {why}",
        advice=f"see the end of its output (imb show {name}); `imb doctor` checks the MPI",
        evidence={"exit_status": status, "rows": 0},
    )


def ends(case: Case) -> Iterator[Finding]:
    """Launches that did not end normally; failure rows and defects have their own rules."""
    for launch in case.side.launches:
        if launch.name in case.failed:
            continue
        status, problem = launch.facts.get("exit_status"), launch.facts.get("problem")
        if problem:
            what = str(problem)
        elif launch.cut_off:
            what = "no end: the launch was cut off" + (f" after {launch.last}" if launch.last else "")
        elif launch.end is not None and launch.end.state != "complete":
            what = f"it was {launch.end.state}" + (f" ({launch.end.reason})" if launch.end.reason else "")
        elif launch.facts.get("outcome") in (None, "measured") or status in (3, 4):
            continue
        else:
            what = f"it {launch.facts['outcome']}, exit status {status}"
        yield Finding(
            level="warning",
            rule="end",
            where=f"launch {launch.name}",
            found=f"{what}; {counted(len(launch.rows), 'row')} kept",
            advice=f"see its output (imb show {launch.name} --output), and repeat it",
            evidence={"exit_status": status, "rows": len(launch.rows)},
        )
