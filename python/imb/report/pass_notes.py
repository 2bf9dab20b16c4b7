"""Notes on rows measured in passes; the suite prints the same notes as comments after a table."""

from __future__ import annotations

from collections.abc import Iterator

from imb.model.options import PassLimits
from imb.model.records import Result
from imb.model.units import count_of, known_width, percent_text, us

_SHORTFALLS = {
    "budget": "the budget was spent",
    "passes": "all passes are done",
    "interrupted": "the launch was interrupted",
}


def notes_on_passes(rows: list[Result], limits: PassLimits) -> Iterator[str]:
    """Yield the notes of PassNotes in src/report/text.cpp, with ± and µs, and a note on rows that imb
    computed from samples."""
    sampled = [(row, row.passes) for row in rows if row.passes and row.passes.samples]
    complete = [(row, passes) for row, passes in sampled if passes.shortfall != "cut_off"]
    if short := [(row, passes) for row, passes in complete if passes.shortfall != "none"]:
        widest, where = max(
            ((passes.half_width or 0, row) for row, passes in short), key=lambda pair: pair[0]
        )
        named = f" ({place})" if (place := row_place(where)) else ""
        width = f", worst ±{percent_text(widest, 2)}" if known_width(widest) else ", worst more than ±100 %"
        at_most = f"{width}{named}" if widest else ""
        yield (
            f"note: {len(short)} of {count_of(len(complete), 'row')} missed {limits.precision_text}"
            f"{at_most}: {_SHORTFALLS[short[-1][1].shortfall]}"
        )
    if leveled := [(row, passes) for row, passes in complete if passes.levels]:
        row, passes = leveled[0]
        place = f" {row_place(row)}:" if row_place(row) else ""
        levels = [(level.time_seconds, level.samples) for level in passes.levels or []]
        yield (
            f"note: samples at several levels in {count_of(len(leveled), 'row')}, for example{place}"
            f" {_levels(levels, passes.used)}"
        )
    mixed = sum(not passes.reference_state for _, passes in complete)
    for group in sorted({row.group for row, _ in complete}, key=lambda group: -1 if group is None else group):
        of_group = [passes for row, passes in complete if row.group == group]
        if len(states := of_group[-1].states) < 2:
            continue
        inside = [sum(p.states[k].samples for p in of_group if k < len(p.states)) for k in range(len(states))]
        levels = [(state.probe_seconds, count) for state, count in zip(states, inside, strict=True)]
        all_samples = sum(passes.samples or 0 for passes in of_group)
        between = sum(passes.between_states for passes in of_group)
        changing = f", between them ({percent_text(between / all_samples, 0)})" if between else ""
        used = "all samples: too few are in the first" if mixed == len(complete) else "samples of the first"
        yield (
            f"note: {'' if group is None else f'group {group}: '}the machine changed between {len(states)} states:"
            f" probes of {_levels(levels, all_samples)}{changing}; rows use {used}"
        )
    if mixed and mixed < len(complete):
        yield (
            f"note: {count_of(mixed, 'row')} with too few samples in the fastest state; all samples are used"
        )
    if cut_off := len(sampled) - len(complete):
        yield (
            f"note: {count_of(cut_off, 'row')} from the samples of a launch that was cut off: plain medians of them"
        )


def _levels(levels: list[tuple[float, int]], samples: int | None) -> str:
    return ", ".join(
        f"{us(seconds)} ({percent_text(count / (samples or 1), 0)})" for seconds, count in levels
    )


def row_place(row: Result) -> str:
    """What distinguishes a row from other rows of its table."""
    where = [] if row.kind == "synchronisation" else [f"{row.bytes or 0} B"]
    where += [f"group {row.group}"] if row.group is not None else []
    return ", ".join(where)
