"""The result of `imb tune`: on the terminal, verdict first, and as a value for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from imb.judge.tuning import FAMILY, CellResult, Tuned
from imb.model.tuning import DEFAULT
from imb.model.units import as_percent, counted, size

HEADINGS = ["collective", "ranks", "bytes", "in the file", "tried", "speedup", "interval", "pairs", "verdict"]
RIGHT = (1, 2, 5, 7)


def headline(result: Tuned, margin: float, *, verify: bool) -> str:
    """What came of it, and nothing else."""
    changed, many = result.changed(), len(result.cells)
    if result.stopped and not (verify and result.slower):
        return f"not decided: {result.stopped}"
    if verify:
        return _verified(result)
    if not many:
        return "nothing measured; no file"
    if not any(one.tried != DEFAULT for one in result.cells):
        return f"no algorithm is faster than the library's own choice by {as_percent(margin)} in any of {counted(many, 'cell')}: no file"
    if not changed or result.switch is None:
        return f"no algorithm is confirmed to be faster than the library's own choice in any of {counted(many, 'cell')}: no file"
    gains = [one.judged.speedup for one in changed if one.judged]
    least, most = f"{min(gains):.2f}x", f"{max(gains):.2f}x"
    return (
        f"faster in {len(changed)} of {counted(many, 'cell')}, {least if least == most else f'{least} to {most}'}, confirmed by"
        f" {counted(result.pairs, 'pair')} of fresh launches; probability that a changed cell is slower: at most {as_percent(FAMILY)}"
    )


def _verified(result: Tuned) -> str:
    slower = [one for one in result.cells if one.judged and one.judged.verdict == "slower"]
    open_ = [one for one in result.changed() if not one.judged or one.judged.verdict != "confirmed"]
    many = counted(len(result.changed()), "changed cell")
    if slower or result.slower:
        return (
            f"slower in {counted(len(slower), 'cell')} with the file: do not use it"
            if slower
            else "algorithms of the file do not work: do not use it"
        )
    if open_:
        return f"inconclusive: {len(open_)} of {many} not confirmed to be faster"
    return f"confirmed: {many} faster with the file, none slower"


def rows(result: Tuned, *, every: bool) -> Iterator[list[str]]:
    """Cells that were tried, or all of them."""
    for one in result.cells:
        if not every and one.tried == DEFAULT and one.chosen == DEFAULT and not _is_slower(one):
            continue
        judged = one.judged
        yield [
            one.cell.collective,
            str(one.cell.ranks),
            size(one.cell.bytes),
            str(one.chosen),
            str(one.tried) if one.tried != one.chosen else "",
            f"{judged.speedup:.2f}x" if judged else f"({one.estimate:.2f}x)" if one.tried != DEFAULT else "",
            f"[{judged.low:.2f}, {judged.high:.2f}]" if judged and judged.low == judged.low else "",
            str(judged.pairs) if judged else "",
            _verdict(one),
        ]


def _verdict(one: CellResult) -> str:
    if one.why or one.judged is None:
        return one.why.partition(": ")[0] or ("kept" if one.tried == DEFAULT else "not judged")
    if one.judged.verdict == "confirmed" and one.chosen == DEFAULT:
        return "confirmed, but not in a file"
    return one.judged.verdict


def _is_slower(one: CellResult) -> bool:
    return one.judged is not None and one.judged.verdict == "slower"


def notes(result: Tuned) -> Iterator[str]:
    """What is to be known besides."""
    kept = [one for one in result.cells if one.chosen == DEFAULT and one.tried == DEFAULT]
    if kept:
        open_ = sum(one.judged is not None and one.judged.verdict == "inconclusive" for one in kept)
        unclear = f"; {open_} of them not shown to be as fast as without the file" if open_ else ""
        yield f"{counted(len(kept), 'cell')}: the library's own choice stays{unclear}"
    if any(one.tried != DEFAULT and one.judged is None for one in result.cells):
        yield "speedups in parentheses are estimates of the search, not proven"
    late = sum(one.judged is not None and one.judged.verdict == "no time" for one in result.cells)
    if late and result.switch:
        yield f"{counted(late, 'cell')} not confirmed within the budget; a new session with a larger --budget may confirm {'it' if late == 1 else 'them'}"
    for one in result.cells:
        if ": " in one.why:
            cell = one.cell
            yield f"{cell.collective}, {counted(cell.ranks, 'rank')}, {size(cell.bytes)}: {one.why}"
    for why, many in result.limited.items():
        yield f"{counted(many, 'cell')} cannot be in a file: {why}"
    if result.acts and not result.unproven:
        yield f"proven that the file acts in the cells that it names and in no other: {result.acts}"
    if result.alike:
        same = "ranks execute the same functions without the file; only times show its effect"
        yield f"{counted(result.alike, 'changed cell')}: {same}"
    if result.unproven:
        yield f"not proven that the file acts: {result.unproven}"
    yield from result.notes


def screened(result: Tuned) -> Iterator[str]:
    """Candidates that are out, those of the same reason together."""
    for (collective, ranks, why), names in _by_reason(result).items():
        yield f"{collective}, {counted(ranks, 'rank')}: {'; '.join(names)}: {why}"


def _by_reason(result: Tuned) -> dict[tuple[str, int, str], list[str]]:
    found: dict[tuple[str, int, str], list[str]] = {}
    for one in result.screened:
        part = "" if one.cells == one.of else f" ({one.cells} of {counted(one.of, 'length')})"
        found.setdefault((one.collective, one.ranks, one.why), []).append(f"{one.algorithm}{part}")
    return found


def value(result: Tuned, margin: float, session: str, mpi: str, *, verify: bool) -> dict[str, Any]:
    """For JSON."""
    return {
        "session": session,
        "mpi": mpi,
        "margin": margin,
        "verdict": headline(result, margin, verify=verify),
        "file": result.switch is not None,
        "environment": dict(result.switch.environment) if result.switch else {},
        "launcher_arguments": list(result.switch.arguments) if result.switch else [],
        "pairs": result.pairs,
        "acts": result.acts or None,
        "unproven": result.unproven or None,
        "cells": [
            {
                "collective": one.cell.collective,
                "ranks": one.cell.ranks,
                "bytes": one.cell.bytes,
                "chosen": str(one.chosen),
                "tried": str(one.tried),
                "estimate": one.estimate,
                "verdict": one.judged.verdict if one.judged else None,
                "speedup": one.judged.speedup if one.judged else None,
                "interval": [one.judged.low, one.judged.high] if one.judged else None,
                "pairs": one.judged.pairs if one.judged else 0,
                "why": one.why or None,
            }
            for one in result.cells
        ],
        "screened": [
            {
                "collective": one.collective,
                "ranks": one.ranks,
                "algorithm": str(one.algorithm),
                "why": one.why,
                "cells": one.cells,
                "of": one.of,
            }
            for one in result.screened
        ],
        "limited": result.limited,
        "notes": result.notes,
        "reasons": dict(Counter(one.why for one in result.cells if one.why)),
    }
