"""The result of `imb tune`: on the terminal, verdict first, and as a value for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from imb.model.units import count_of, percent_text, size
from imb.report.marks import interval_text, is_estimable
from imb.tune.cells import DEFAULT
from imb.tune.search import FAILED, FAMILY, CellResult, TuneResult

HEADINGS = ["collective", "ranks", "bytes", "in the file", "tried", "speedup", "interval", "pairs", "verdict"]
RIGHT = (1, 2, 5, 7)


def headline(result: TuneResult, margin: float, *, verify: bool) -> str:
    """The verdict on one line."""
    changed, decided = result.changed_cells(), [each for each in result.cells if each.why != FAILED]
    many = len(decided)
    if result.stopped and not (verify and result.slower):
        return f"not decided: {result.stopped}"
    if result.failed and not (result.slower if verify else result.switch):
        why = f"{FAILED}: {next(iter(result.failed))}"
        where = f" in {len(result.cells) - many} of {count_of(len(result.cells), 'cell')}" if many else ""
        return f"not decided: {why}" if verify else f"not decided{where}: {why}; no file"
    if verify:
        return _verification(result)
    if not many:
        return "nothing measured; no file"
    if not any(each.tried != DEFAULT for each in decided):
        return f"no algorithm is faster than the library's own choice by {percent_text(margin)} in any of {count_of(many, 'cell')}: no file"
    if not changed or result.switch is None:
        return f"no algorithm is confirmed to be faster than the library's own choice in any of {count_of(many, 'cell')}: no file"
    gains = [each.judged.speedup for each in changed if each.judged]
    least, most = f"{min(gains):.2f}x", f"{max(gains):.2f}x"
    return (
        f"faster in {len(changed)} of {count_of(many, 'cell')}, {least if least == most else f'{least} to {most}'}, confirmed by"
        f" {count_of(result.pairs, 'pair')} of fresh launches; probability that a changed cell is slower: at most {percent_text(FAMILY)}"
    )


def _verification(result: TuneResult) -> str:
    slower = [each for each in result.cells if each.judged and each.judged.verdict == "slower"]
    unconfirmed = [
        each for each in result.changed_cells() if not each.judged or each.judged.verdict != "confirmed"
    ]
    many = count_of(len(result.changed_cells()), "changed cell")
    if slower or result.slower:
        return (
            f"slower in {count_of(len(slower), 'cell')} with the file: do not use it"
            if slower
            else "algorithms of the file do not work: do not use it"
        )
    if unconfirmed:
        return f"inconclusive: {len(unconfirmed)} of {many} not confirmed to be faster"
    return f"confirmed: {many} faster with the file, none slower"


def rows(result: TuneResult, *, every: bool) -> Iterator[list[str]]:
    """Yield table rows of the cells in which something was tried, or of all cells if `every`."""
    for outcome in result.cells:
        if not every and outcome.tried == DEFAULT and outcome.chosen == DEFAULT and not _is_slower(outcome):
            continue
        judged = outcome.judged
        yield [
            outcome.cell.collective,
            str(outcome.cell.ranks),
            size(outcome.cell.bytes),
            str(outcome.chosen),
            str(outcome.tried) if outcome.tried != outcome.chosen else "",
            f"{judged.speedup:.2f}x"
            if judged
            else f"({outcome.estimate:.2f}x)"
            if outcome.tried != DEFAULT
            else "",
            interval_text(judged.low, judged.high) if judged else "",
            str(judged.pairs) if judged else "",
            _verdict(outcome),
        ]


def _verdict(outcome: CellResult) -> str:
    if outcome.why or outcome.judged is None:
        return outcome.why.partition(": ")[0] or ("kept" if outcome.tried == DEFAULT else "not judged")
    if outcome.judged.verdict == "confirmed" and outcome.chosen == DEFAULT:
        return "confirmed, but not in a file"
    return outcome.judged.verdict


def _is_slower(outcome: CellResult) -> bool:
    return outcome.judged is not None and outcome.judged.verdict == "slower"


def notes(result: TuneResult) -> Iterator[str]:
    """Yield notes after the table: cells without a proof, reasons, and whether the file takes effect."""
    decided = [each for each in result.cells if each.why != FAILED]
    kept = [each for each in decided if each.chosen == DEFAULT and each.tried == DEFAULT]
    if kept:
        inconclusive = sum(each.judged is not None and each.judged.verdict == "inconclusive" for each in kept)
        unclear = (
            f"; {inconclusive} of them not shown to be as fast as without the file" if inconclusive else ""
        )
        yield f"{count_of(len(kept), 'cell')}: the library's own choice stays{unclear}"
    if any(each.tried != DEFAULT and each.judged is None for each in result.cells):
        yield "speedups in parentheses are estimates of the search, not proven"
    late = sum(each.judged is not None and each.judged.verdict == "no time" for each in result.cells)
    if late and result.switch:
        yield f"{count_of(late, 'cell')} not confirmed within the budget; a new session with a larger --budget may confirm {'it' if late == 1 else 'them'}"
    for outcome in result.cells:
        if ": " in outcome.why:
            yield f"{outcome.cell}: {outcome.why}"
    for why, many in result.failed.items() if result.switch else ():
        yield f"{count_of(many, 'cell')} not decided: {FAILED}: {why}"
    for why, many in result.limited.items():
        yield f"{count_of(many, 'cell')} cannot be in a file: {why}"
    if result.proof and not result.unproven:
        yield f"proven that the file takes effect in the cells that it names and in no other: {result.proof}"
    if result.alike:
        same = "ranks execute the same functions without the file; only times show its effect"
        yield f"{count_of(result.alike, 'changed cell')}: {same}"
    if result.unproven:
        yield f"not proven that the file takes effect: {result.unproven}"
    yield from result.notes


def screened_lines(result: TuneResult) -> Iterator[str]:
    """Yield rejected candidates, one line per collective, ranks and reason."""
    for (collective, ranks, why), names in _group_by_reason(result).items():
        yield f"{collective}, {count_of(ranks, 'rank')}: {'; '.join(names)}: {why}"


def _group_by_reason(result: TuneResult) -> dict[tuple[str, int, str], list[str]]:
    by_reason: dict[tuple[str, int, str], list[str]] = {}
    for candidate in result.screened:
        part = (
            ""
            if candidate.cells == candidate.of
            else f" ({candidate.cells} of {count_of(candidate.of, 'message size')})"
        )
        by_reason.setdefault((candidate.collective, candidate.ranks, candidate.why), []).append(
            f"{candidate.algorithm}{part}"
        )
    return by_reason


def tuning_json(result: TuneResult, margin: float, session: str, mpi: str, *, verify: bool) -> dict[str, Any]:
    """The result as a value for JSON."""
    return {
        "session": session,
        "mpi": mpi,
        "margin": margin,
        "verdict": headline(result, margin, verify=verify),
        "file": result.switch is not None,
        "environment": dict(result.switch.environment) if result.switch else {},
        "launcher_arguments": list(result.switch.arguments) if result.switch else [],
        "pairs": result.pairs,
        "acts": result.proof or None,
        "unproven": result.unproven or None,
        "cells": [
            {
                "collective": outcome.cell.collective,
                "ranks": outcome.cell.ranks,
                "bytes": outcome.cell.bytes,
                "chosen": str(outcome.chosen),
                "tried": str(outcome.tried),
                "estimate": outcome.estimate,
                "verdict": outcome.judged.verdict if outcome.judged else None,
                "speedup": outcome.judged.speedup if outcome.judged else None,
                "interval": [outcome.judged.low, outcome.judged.high]
                if outcome.judged and is_estimable(outcome.judged.low, outcome.judged.high)
                else None,
                "pairs": outcome.judged.pairs if outcome.judged else 0,
                "why": outcome.why or None,
            }
            for outcome in result.cells
        ],
        "screened": [
            {
                "collective": candidate.collective,
                "ranks": candidate.ranks,
                "algorithm": str(candidate.algorithm),
                "why": candidate.why,
                "cells": candidate.cells,
                "of": candidate.of,
            }
            for candidate in result.screened
        ],
        "limited": result.limited,
        "notes": result.notes,
        "failed": dict(result.failed),
        "reasons": dict(Counter(each.why for each in result.cells if each.why)),
    }
