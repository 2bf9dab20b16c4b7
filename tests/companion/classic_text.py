"""Records -> the classic text of IMB's logs, in the layout of src/report/text.cpp: imb.readers reads it back to the same records, rounded to
what the columns show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from imb.model.options import PassLimits, pass_limits
from imb.model.records import PARTS, QUANTILES, End, Failure, Record, Result, Run
from imb.model.units import NOT_KNOWN, count_of
from imb.readers.parsed_log import CELL
from imb.report.pass_notes import notes_on_passes, row_place

_NOTICEABLE_DRIFT = 0.1  # as in src/result/measurement.h
_RULE = "#" + "-" * 64
_FAILURES = {
    "out_of_memory": 'out-of-mem.; needed X={gigabytes:8.3f} GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
    "int_overflow": "int-overflow.; The production rank*size caused int overflow for given sample",
    "no_space": 'out-of-space.; needed X={gigabytes:8.3f} GB, free {free:8.3f} GB; use flag "-file PATH"',
    "io_error": "io-error.; {detail}",
    "over_budget": 'over-budget.; the budget was spent before the first sample; use flag "-budget X"',
    "no_answer": "no-answer.; {detail}",
    "time_out": 'time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X" or SECS_PER_SAMPLE (IMB_settings.h) to increase time limit.',
}


class _Place(NamedTuple):
    """The content of a table's head: rows with the same one are one table."""

    benchmark: str
    mode: str | None
    variant: str | None
    multi: str | None
    processes: int | None
    threads: int
    group_count: int | None


def text(records: Iterable[Record]) -> str:
    """A log with all tables. Mbytes/sec are in the unit that the run record names, else 2^20 bytes."""
    return "".join(_parts(list(records)))


def _parts(records: list[Record]) -> Iterator[str]:
    run = next((record for record in records if isinstance(record, Run)), Run())
    unit = run.option("mbyte", float) or 2.0**20
    yield _banner(run, unit)
    rows = [record for record in records if isinstance(record, Result | Failure)]
    for _, table in groupby(
        rows,
        key=lambda row: (_place(row), _columns(row, run.component) if isinstance(row, Result) else None),
    ):
        same = list(table)
        if isinstance(same[0], Failure):
            yield from _failures([row for row in same if isinstance(row, Failure)])
        else:
            yield _table([row for row in same if isinstance(row, Result)], run, unit)
    ends = [record for record in records if isinstance(record, End)]
    if ends:
        yield f"{_passes_line(ends[-1])}\n\n# {_ending(ends[-1])}\n\n"


def _place(row: Result | Failure) -> _Place:
    return _Place(
        row.benchmark, row.mode, row.variant, row.multi, row.processes, row.threads, row.group_count
    )


def _banner(run: Run, unit: float) -> str:
    program = "OpenIMB" if run.program in (None, "OpenIMB") else "Intel(R) MPI Benchmarks"
    platform, mpi = run.platform, run.mpi
    lines = [
        _RULE,
        f"#    {program} {run.version or '0'}, {PARTS[run.component or 'MPI1']} part",
        _RULE,
    ]
    facts = {
        "Date": run.date,
        "Machine": platform and platform.machine,
        "System": platform and platform.system,
        "Release": platform and platform.release,
        "Version": platform and platform.kernel,
        "MPI Version": mpi and mpi.standard,
        "MPI Library": mpi and mpi.name,
        "MPI Thread Environment": mpi and mpi.thread_level,
    }
    lines += [f"# {name:<22}: {_one_line(value)}" for name, value in facts.items() if value]
    if run.command_line:
        lines += ["", "", "# Calling sequence was: ", "", "# " + _one_line(" ".join(run.command_line)), ""]
    lines += [f"# {'Mbytes/sec':<31}:   {unit:.15g} bytes per second"]
    if limits := pass_limits(run):
        lines.append(f"# {'Passes':<31}:   {str(limits).replace('±', '+-')}; figures are medians over passes")
    lines += ["#", ""]
    if run.benchmarks:
        lines += ["# List of Benchmarks to run:", "", *(f"# {name}" for name in run.benchmarks)]
    return "\n".join(lines) + "\n"


def _one_line(value: str) -> str:
    return " ".join(value.split())


def _head(row: Result | Failure, columns: list[str]) -> str:
    rule = "#" + "-" * (max(1, len(columns)) * CELL - 1)
    several = (row.group_count or 1) > 1
    lines = ["", rule, f"# Benchmarking {'Multi-' if several else ''}{row.benchmark} "]
    threads = f" (threads: {row.threads})" if row.threads > 1 else ""
    if several:
        lines.append(
            f"# ( {row.group_count} groups of {row.processes} processes each running simultaneous ){threads} "
        )
    elif row.processes is not None:
        lines.append(f"# #processes = {row.processes}{threads} ")
    lines += [f"# variant = {row.variant}"] if row.variant is not None else []
    lines.append(rule)
    if row.mode:
        lines += ["#", f"#    MODE: {'AGGREGATE' if row.mode == 'aggregate' else 'NON-AGGREGATE'} ", "#"]
    return "\n".join(lines) + "\n" + "".join(f"{name:>{CELL}}" for name in columns) + "\n"


def _columns(row: Result, component: str | None) -> tuple[str, ...]:
    columns = ["Group"] if row.group is not None else []
    synchronisation = row.kind == "synchronisation"
    columns += ["#repetitions"] if synchronisation else ["#bytes", "#repetitions"]
    if row.time_cpu_seconds is not None or row.overlap_percent is not None:
        columns += ["t_ovrl[usec]", "t_pure[usec]", "t_CPU[usec]", "overlap[%]"]
    elif row.time_overlapped_seconds is not None:
        columns += ["t_pure[usec]", "t_ovrl[usec]"]
    elif row.messages_per_second is not None:
        if component == "P2P":
            columns += ["t[usec]"]
        elif row.benchmark.endswith("MT"):  # has the time of a message, too
            columns += ["t_avg[usec]"]
        columns += ["Mbytes/sec", "Msg/sec"]
    else:
        plain = row.time_min_seconds is None and row.time_avg_seconds is None
        single = row.kind in ("single_transfer", "multiple_transfer") and row.multi != "summary"
        with_rate = row.bytes_per_second is not None
        columns += (
            ["t[usec]"] if plain or (single and with_rate) else ["t_min[usec]", "t_max[usec]", "t_avg[usec]"]
        )
        columns += ["Mbytes/sec"] if with_rate else []
    columns += ["+-[%]"] if row.passes else []
    return (*columns, "defects") if row.defects is not None else tuple(columns)


def _table(rows: list[Result], run: Run, unit: float) -> str:
    columns = list(_columns(rows[0], run.component))
    lines: list[str] = []
    size: int | None = None
    for row in rows:
        if row.group is not None and row.bytes != size:
            lines.append("")
        size = row.bytes
        lines.append("".join(_with_blank(_cell(name, row, unit)) for name in columns))
        if row.quantiles:
            times = ", ".join(f"{(row.quantiles.get(name) or 0) * 1e6:.2f}" for name in QUANTILES)
            lines.append(f"[ {times} ]")
    # A note that is the same for several groups is printed once.
    notes = list(dict.fromkeys(note for row in rows if (note := _in_flight_note(row, run))))
    notes += [note for row in rows if (note := _note(row))]
    on_passes = notes_on_passes(rows, pass_limits(run) or PassLimits())
    notes += ["# " + note.replace("±", "+-").replace("µs", "usec") for note in on_passes]
    if notes:
        lines += ["", *notes]
    return _head(rows[0], columns) + "\n".join(lines) + "\n"


def _in_flight_note(row: Result, run: Run) -> str | None:
    if row.in_flight is None:
        return None
    most, window = run.option("mem", float), run.option("window_size", int)
    limit = f" {most:.6g}" if most else ""
    return (
        f"# note: {row.bytes or 0} B: {count_of(row.in_flight, 'message')} in flight instead of "
        f"{window or 'more'}, which exceed -mem{limit}"
    )


def _note(row: Result) -> str | None:
    """What a reader must know about a row, as a comment line after the table."""
    if row.load_drift is None or abs(row.load_drift) <= _NOTICEABLE_DRIFT:
        return None
    where = row_place(row)
    return (
        f"# note: {where}{': ' if where else ''}CPU load ran {100 * abs(row.load_drift):.0f} % "
        f"{'slower' if row.load_drift > 0 else 'faster'} than calibrated; t_CPU and overlap of this row are unreliable"
    )


def _passes_line(end: End) -> str:
    if not end.passes:
        return ""
    share = 100 * (end.measuring_seconds or 0) / end.seconds if end.seconds else 0
    probes = "; no probes: exchanges take too long" if end.probes is False else ""
    number = "1 pass" if end.passes == 1 else f"{end.passes} passes"
    return f"\n# {number} in {end.seconds or 0:.1f} s, {share:.0f} % of it in timed regions{probes}\n"


def _with_blank(cell: str) -> str:
    """The cell with a blank before it, also if it is as wide as its column."""
    return cell if cell.startswith(" ") else f" {cell}"


def _cell(column: str, row: Result, unit: float) -> str:
    passive = row.time_cpu_seconds is None and row.time_overlapped_seconds is not None
    micro = {
        "t[usec]": row.time_max_seconds if row.messages_per_second is None else row.time_avg_seconds,
        "t_min[usec]": row.time_min_seconds,
        "t_max[usec]": row.time_max_seconds,
        "t_avg[usec]": row.time_avg_seconds,
        "t_ovrl[usec]": row.time_overlapped_seconds,
        "t_pure[usec]": row.time_max_seconds if passive else row.time_pure_seconds,
        "t_CPU[usec]": row.time_cpu_seconds,
    }
    whole = {"Group": row.group, "#bytes": row.bytes, "#repetitions": row.repetitions}
    if column in whole:
        return f"{whole[column] or 0:{CELL}d}"
    if column == "Msg/sec":
        return f"{row.messages_per_second or 0:{CELL}.0f}"
    if column in micro:
        seconds = micro[column]
        return f"{NOT_KNOWN:>{CELL}}" if seconds is None else f"{seconds * 1e6:{CELL}.2f}"
    if column == "+-[%]":
        width = NOT_KNOWN if row.half_width is None else f"{row.half_width * 100:.2f}%"
        return f"{width:>{CELL}}"
    number = {
        "Mbytes/sec": (row.bytes_per_second or 0) / unit,
        "overlap[%]": row.overlap_percent or 0,
        "defects": row.defects or 0,
    }[column]
    return f"{number:{CELL}.2f}"


def _failures(failures: list[Failure]) -> Iterator[str]:
    headed = False
    for failure in failures:
        if failure.cause == "invalid_processes":
            yield f"\n# !! Benchmark {failure.benchmark} invalid for {failure.processes or 0} processes !! \n"
        elif failure.cause == "unavailable":
            yield f"\n# !! Benchmark {failure.benchmark} is not available: {_one_line(failure.detail or '')} !! \n"
        else:
            if not headed:
                yield _head(failure, ["#bytes", "#repetitions"])
                headed = True
            message = _FAILURES[failure.cause or "time_out"].format(
                gigabytes=(failure.needed_bytes or 0) / 2**30,
                free=(failure.free_bytes or 0) / 2**30,
                detail=failure.detail or "",
            )
            yield f"{failure.bytes or 0:{CELL}d} {message}\n"


def _ending(end: End) -> str:
    if end.state == "complete":
        nouns = ((end.failed, "failure row"), (end.defects, "wrong byte"))
        lacking = " and ".join(count_of(number, noun) for number, noun in nouns if number)
        warning = ": do not trust these results" if end.defects else ""
        return (
            f"Finished with {lacking}{warning}\n# " if lacking else ""
        ) + "All processes entering MPI_Finalize"
    by = f" by {_one_line(end.reason)}" if end.reason else ""
    return f"{end.state.title()}{by}: {end.measured or 0} points measured"
