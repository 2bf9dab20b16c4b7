"""Finds the facts of a launch in a log of IMB: the run record, and the unit of Mbytes/sec."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from imb.model.catalog import component_of, facts_of
from imb.model.gpus import DEVICE, KINDS, SHARED, UNKNOWN
from imb.model.records import (
    PARTS,
    Component,
    End,
    Failure,
    File,
    Mpi,
    OptionValue,
    Platform,
    Problem,
    Run,
)
from imb.model.suite_arguments import options_of
from imb.model.units import count_of
from imb.readers.parsed_log import MEAN_AND_RATE, MEGABYTES, Log, LoggedLaunch, megabyte_of
from imb.readers.preamble import LogEvent

_PART: dict[str, Component] = {
    name: component for component, part in PARTS.items() for name in (part, component)
}
_ROUNDING = 0.01  # relative rounding error of printed numbers; with larger errors, units that differ by 4.9 % cannot be told apart
_PROGRAM = re.compile(rf"IMB-({'|'.join(PARTS)})\b")


def unsupported_component(events: Sequence[LogEvent]) -> str | None:
    """The component of a launch according to the events above it, if this reader does not support it; else None."""
    parts = [event.parts[2] for event in events if event.kind == "banner"]
    return parts[-1] if parts and parts[-1] not in _PART else None


def last_of(launch: LoggedLaunch) -> str:
    """The last row of a launch, `Allreduce, 8 bytes`, or empty if it has no rows."""
    item = launch.items[-1] if launch.items else None
    if item is None:
        return ""
    if isinstance(item, Failure):
        name, length = item.benchmark, item.bytes
    else:
        (row,) = item.rows(last=1)
        name, cells = item.head.benchmark, dict(zip(item.columns, row, strict=True))
        length = None if cells.get("bytes") is None else int(cells["bytes"] or 0)
    return name if length is None else f"{name}, {count_of(length, 'byte')}"


def unit_by_version(run: Run) -> float | None:
    """The bytes in a megabyte by the version, or None if unknown: 2^20 in IMB up to 4.x, 10^6 from 2018 on."""
    if not run.program or not (major := re.match(r"\D{0,2}(\d+)", run.version or "")):
        return None
    if run.program == "OpenIMB":
        return 2.0**20
    return 1e6 if int(major[1]) >= 2017 else 2.0**20


def unit_by_arithmetic(launch: LoggedLaunch) -> float | None:
    """The bytes in a megabyte for which message size / time (or message size times messages per second) equals the printed Mbytes/sec. Uses
    the rows that distinguish the units; None if they have no majority."""
    votes = dict.fromkeys(MEGABYTES, 0)
    for stretch in launch.stretches():
        facts = facts_of(stretch.head.benchmark, launch.run.component)
        for row in stretch.rows(last=8):
            cells = dict(zip(stretch.columns, row, strict=True))
            rate, length = cells.get("mbytes/sec") or 0, cells.get("bytes") or 0
            t, messages = cells.get("t", cells.get("t_max")) or 0, cells.get("msg/sec") or 0
            unit = None
            if messages and rate and 0.5 / messages + 0.005 / rate < _ROUNDING:
                unit = megabyte_of(length * messages, rate)
            if (
                unit is None
                and t
                and rate
                and facts
                and facts.turnover
                and 0.005 / t + 0.005 / rate < _ROUNDING
            ):
                unit = megabyte_of(facts.turnover * length / (t * 1e-6), rate)
            if unit is not None:
                votes[unit] += 1
    best = max(votes, key=lambda unit: votes[unit])
    return best if votes[best] > sum(votes.values()) / 2 else None


def run_of(events: Sequence[LogEvent]) -> Run:
    """The run record of a launch, from its banner and the command before it."""
    facts: dict[str, str] = {}
    listed: list[str] = []
    gpu = False
    run = Run()
    for event in events:
        if event.kind == "banner":
            facts["program"], facts["version"], facts["part"] = event.parts
            gpu = gpu or "(GPU)" in event.text
        elif event.kind == "fact":
            facts.setdefault(event.parts[0], event.text)
        elif event.kind == "listed":
            listed.append(event.text)
        elif event.kind in ("command", "calling"):
            facts[event.kind] = event.text
    command = facts.get("calling") or facts.get("command")
    launcher = _PROGRAM.search(command or "")
    run.program, run.version = facts.get("program"), facts.get("version")
    run.component = _PART.get(facts.get("part", "")) or (launcher[1] if launcher else None)  # type: ignore[assignment]
    run.date = _date(facts.get("Date"))
    run.command_line = command.split() if command else None
    run.benchmarks = listed or None
    platform = Platform(
        machine=facts.get("Machine"),
        system=facts.get("System"),
        release=facts.get("Release"),
        kernel=facts.get("Version"),
    )
    run.platform = platform if platform != Platform() else None
    mpi = Mpi(
        standard=facts.get("MPI Version"),
        name=facts.get("MPI Library"),
        thread_level=facts.get("MPI Thread Environment") or None,
    )
    run.mpi = mpi if mpi != Mpi() else None
    options: dict[str, OptionValue] = {}
    for fact, option in (("MPI_Datatype", "data_type"), ("MPI_Datatype for reductions", "red_data_type")):
        if match := re.match(r"MPI_(\w+)(?: \((\w+)\))?", facts.get(fact) or ""):
            options[option] = match[1].lower()
            options["contig_type"] = match[2] or "base"
    if unit := re.match(r"([\d.eE+]+) bytes per second", facts.get("Mbytes/sec", "")):
        with suppress(ValueError):
            options["mbyte"] = float(unit[1])
    if "Passes" in facts:
        options |= _limits(facts["Passes"])
    if "Results" in facts:
        options["check"] = "verified" in facts["Results"]
    _take_statements(facts, run, options)
    gpu = gpu or any(word.rpartition("/")[2] == "IMB-MPI1-GPU" for word in run.command_line or [])
    if gpu and "memory" not in options:
        options["memory"] = _gpu_memory(run.command_line or [])
    run.options = options or None
    return run


def _take_statements(facts: Mapping[str, str], run: Run, options: dict[str, OptionValue]) -> None:
    """Takes what OpenIMB's banner states about files and options that differ from the default."""
    if place := re.fullmatch(r"(.+?)(?: \(([\w./-]{1,40})\))?", facts.get("File", "")):
        run.file = File(path=place[1], file_system=place[2])
    if "Completion of writes" in facts:
        options["fsync"] = "never" if "never" in facts["Completion of writes"] else "standard"
    for title, option in (("Sends", "send_mode"), ("Completion of transfers", "sync_mode")):
        if match := re.match(rf"-{option} (\S+)", facts.get(title, "")):
            options[option] = match[1]
    for option in ("sync_start", "arrival"):
        if match := re.search(rf"-{option} (\S+)", facts.get("Start of repetitions", "")):
            options[option] = match[1]
    if match := re.match(r"-layout (\S+)", facts.get("Messages", "")):
        options["layout"] = match[1]
    if match := re.fullmatch(r"were written by rank \+ (\d{1,9})", facts.get("Files that are read", "")):
        options["reorder"] = int(match[1])
    kinds = "|".join(KINDS)
    if match := re.match(
        rf"({kinds})(?: \(send\), ({kinds}) \(receive\))?(; load on the GPU)?$", facts.get("Memory", "")
    ):
        options["memory"] = ",".join(filter(None, (match[1], match[2])))
        options["load"] = "device" if match[3] else "cpu"


def _gpu_memory(command: Sequence[str]) -> str:
    """The kind of memory of IMB-MPI1-GPU's messages. Without the option it is unknown, since the default depends on the version."""
    kinds = {"device": DEVICE, "cpu": "host", "host": "pinned", "shared": SHARED}
    return kinds.get(options_of(command).get("mem_alloc_type", "").lower(), UNKNOWN)


def _limits(text: str) -> dict[str, OptionValue]:
    precision, passes, budget = (
        re.search(pattern, text)
        for pattern in (
            r"within \+-([\d.]{1,12}) %",
            r"(\d{1,9}) pass(?:es)? (?:is|are) done",
            r"([\d.]{1,12}) s have",
        )
    )
    limits: dict[str, OptionValue] = {
        "passes": int(passes[1]) if passes else None,
        "precision": None,
        "budget": None,
    }
    with suppress(ValueError):
        limits["precision"] = float(precision[1]) if precision else None
        limits["budget"] = float(budget[1]) if budget else None
    return limits


def _date(text: str | None) -> str | None:
    """A date of ctime in ISO 8601, without a time zone, since logs have none. Other text is returned unchanged."""
    if not text:
        return None
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return text


def end_of(event: LogEvent, passes: tuple[str, str, str] | None) -> End:
    """The end record of a launch, from the line of its end and the line about its passes."""
    end = End(state=event.state or "complete", reason=event.text or None)
    if passes:
        with suppress(ValueError):
            end.passes, end.seconds = int(passes[0]), float(passes[1])
            end.measuring_seconds = end.seconds * int(passes[2]) / 100
    return end


def drop_repeated_banners(launches: list[LoggedLaunch]) -> None:
    """If several equal launches follow each other and only the last one has tables, removes the others: several ranks, or a wrapper, printed
    one banner several times."""
    kept: list[LoggedLaunch] = []
    for launch in launches:
        if kept and not kept[-1].items and kept[-1].end is None and kept[-1].run == launch.run:
            launch.start = kept.pop().start
        kept.append(launch)
    launches[:] = kept


def complete(launch: LoggedLaunch, log: Log) -> None:
    """Sets what is known only after the whole launch was read: its component, and the unit of Mbytes/sec."""
    run = launch.run
    if run.component is None:
        rated = any(set(item.columns) >= MEAN_AND_RATE for item in launch.stretches())
        run.component = component_of({item.head.benchmark for item in launch.stretches()}, rated=rated)
    if run.component == "MT" and run.program != "OpenIMB" and launch.end is None and launch.items:
        launch.end = End(state="complete")  # IMB-MT prints no end
    if (stated := run.option("mbyte", float)) is not None:
        launch.bytes_per_megabyte = stated
        return
    unit = unit_by_version(run) or unit_by_arithmetic(launch)
    if unit is None and any("mbytes/sec" in stretch.columns for stretch in launch.stretches()):
        line = next(launch.stretches()).line
        message = "unit of Mbytes/sec unknown (no version, no row that decides it); assumed 2^20 bytes"
        log.assumed.append(Problem(log.name, line, message))
    launch.bytes_per_megabyte = unit or 2.0**20
    run.set_option("mbyte", launch.bytes_per_megabyte)
