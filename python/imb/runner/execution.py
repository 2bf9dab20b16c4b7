"""Executes the plan of a session: runs its launches one after another or interleaved, and stores each when it ends."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from imb.model.errors import ImbError
from imb.model.gpus import uses_gpu
from imb.model.outcomes import other_ranks_problem, stalled_problem, unfinished_problem
from imb.model.repeats import FACT as REPEATS
from imb.model.secrecy import hidden_command
from imb.model.sequential_design import FACT
from imb.model.text import now
from imb.mpi import arguments, host_conditions, launch, load
from imb.mpi.launchers import Command
from imb.readers.launch_errors import reason
from imb.runner.interleave import Conductor
from imb.runner.progress import Progress, limit_in_words
from imb.runner.session import (
    FinishedLaunch,
    Item,
    Plan,
    StartError,
    command_of,
    done_file,
    done_files,
    finished_launches,
    folder_of,
    intent_of,
    interrupted_file,
    interrupted_runs,
    is_remote,
    refuse_missing_programs,
    remove_secrets,
    reporting_archive,
    secrets_of,
    spool_of,
    stall_limit,
    waits_for_allocation,
)
from imb.runner.transports import TransportReports
from imb.store.durable_files import write_whole
from imb.store.reading import read_each, readable_json
from imb.store.store import SHORT, Archive, Content


class _RunningLaunch(NamedTuple):
    """A running launch. `spool`: the folder into which it writes; `shown`: its command without secrets; `facts`: its facts so far."""

    item: Item
    spool: Path
    command: Command
    shown: Command
    secrets: set[str]
    facts: dict[str, Any]
    progress: Progress


@reporting_archive
def execute(
    archive: Archive,
    plan: Plan,
    items: Sequence[Item],
    *,
    transports: TransportReports,
    on_start: Callable[[Item, Command], None] = lambda item, command: None,
    on_progress: Callable[[Progress, float], None] = lambda progress, seconds: None,
    on_problem: Callable[[Item, str], None] = lambda item, line: None,
    on_measured: Callable[[Item, Path], None] = lambda item, records: None,
) -> list[FinishedLaunch]:
    """Launches these items, interleaved if there are several, and stores the output of each in the archive, even if it failed. The
    caller must own the session's lock (imb.runner.lock).

    `on_measured` gets the file of records of a complete launch before it is stored; for a single launch, before MPI has ended.
    `on_progress` gets the progress of the first launch. `on_problem` gets a line if a launch makes no progress or is killed because
    it stopped. Raises StartError, ImbError.
    """
    began = time.monotonic()
    reported = set[int]()

    def report_measured(running: _RunningLaunch) -> None:
        records = running.spool / "records.jsonl"
        if running.item.number not in reported and records.exists():
            reported.add(running.item.number)
            on_measured(running.item, records)

    with contextlib.ExitStack() as stack:
        conductor = None
        if plan.parts > 1 and not items[0].alone:
            intents = [intent_of(plan, item) for item in items]
            seed = (plan.seed or 0) + items[0].number
            ranks = [intent.ranks for intent in intents]
            conductor = stack.enter_context(
                Conductor(ranks, seed, everywhere=any(map(is_remote, intents)), limit=plan.turn_limit)
            )
        for item in items:
            _adopt(archive, plan, item)
        refuse_missing_programs(plan, items)  # for all launches, before the first one writes anything
        started = [
            _start(archive, plan, item, conductor.words(side, plan.parts) if conductor else [])
            for side, item in enumerate(items)
        ]
        for running in started:
            on_start(running.item, running.shown)
        before = load.moment()
        if conductor is None:
            _launch(plan, started[0], on_progress, on_problem, report_measured)
        else:
            _launch_interleaved(plan, started, conductor, on_progress, on_problem)
        # Ranks that srun starts are not child processes of this one, so their CPU time is unknown.
        ours = all(intent_of(plan, item).launcher != "srun" for item in items)
        if ours and (during := load.load_between(before, load.moment())):
            for running in started:
                running.facts["load"] = msgspec.to_builtins(during)
    seconds = (time.monotonic() - began) / len(items)
    for running in started:
        if running.facts["outcome"] == "measured":
            report_measured(running)
    interrupted = any(_ask_transports(plan, running, transports) for running in started)
    results = [
        _store(archive, plan, running.item, running.facts, None if "note" in running.facts else seconds)
        for running in started  # the time of a launch that lingered does not predict the duration of others
    ]
    for item, result in zip(items, results, strict=True):  # as close to each other in time as possible
        _finish(archive, plan, item, result)
    if interrupted:
        raise KeyboardInterrupt
    return results


def _start(archive: Archive, plan: Plan, item: Item, turns: Sequence[str]) -> _RunningLaunch:
    spool = spool_of(archive, plan, item)
    spool.mkdir()
    command, shown = (command_of(plan, item, spool, turns, shown=shown) for shown in (False, True))
    variant, intent = plan.variants[item.variant], intent_of(plan, item)
    facts: dict[str, Any] = {
        **_place_in_session(plan, item),
        "campaign": plan.campaign or plan.id,
        "host": socket.gethostname(),
        "command": shown.words,
        "command_environment": shown.env,
        "component": item.component,
        "arguments": item.arguments,
        "programs": variant.programs,
        "intent": msgspec.to_builtins(remove_secrets(intent)),
        "started": now(),
        "conditions": msgspec.to_builtins(
            host_conditions.gather(variant.mpi, with_gpus=uses_gpu(item.arguments))
        ),
    }
    if plan.campaign:
        facts |= {"variant": variant.name, "setup": [hidden_command(command) for command in variant.setup]}
        facts["seed"] = plan.seed
    if plan.until:
        facts[FACT] = msgspec.to_builtins(plan.until.design)
    write_whole(spool / "facts.json", msgspec.json.encode(facts))
    return _RunningLaunch(item, spool, command, shown, secrets_of(plan, item), facts, Progress())


def _place_in_session(plan: Plan, item: Item) -> dict[str, Any]:
    """The facts that assign a launch to a session and pair it with others."""
    place = {
        "kind": "launch",
        "session": plan.id,
        "number": item.number,
        "turn": item.turn,
        "cell": item.cell,
    }
    return place | ({REPEATS: item.repeats} if item.repeats else {})


class _LaunchStopped(KeyboardInterrupt):
    """Raised in a launch that stopped, to end it like an interrupt."""


def _launch(
    plan: Plan,
    running: _RunningLaunch,
    on_progress: Callable[[Progress, float], None],
    on_problem: Callable[[Item, str], None],
    on_complete: Callable[[_RunningLaunch], None] = lambda running: None,
) -> None:
    """Runs a launch and completes its facts. `on_complete` is called when all records are written; MPI may take another second to end."""
    spool, facts, progress = running.spool, running.facts, running.progress
    intent = intent_of(plan, running.item)
    ranks = intent.ranks
    limit = stall_limit(plan, running.item)
    may_queue = waits_for_allocation(intent)
    stopped: str | None = None
    stalled: str | None = None

    def tick(seconds: float) -> None:
        nonlocal stopped, stalled
        line = progress.stall(seconds)
        stall_counts = progress.begun or not may_queue
        if line:
            words = limit_in_words(
                running.item.timeout or plan.timeout, limit if stall_counts else None, plan.id
            )
            on_problem(running.item, f"{line}; {words}")
        if limit is not None and stall_counts and progress.stalled > limit:
            stalled = stalled_problem(limit)
            raise _LaunchStopped(stalled)
        try:
            on_progress(progress, seconds)
        except _LaunchStopped as stop:
            stopped = str(stop)
            raise
        if (end := progress.end) and not end.exit_status and progress.ranks in (None, ranks):
            on_complete(running)

    try:
        ended = launch.run(
            running.command,
            output=spool / "output.txt",
            errors=spool / "stderr.txt",
            timeout=running.item.timeout or plan.timeout,
            hide=running.secrets,
            follow=spool / "records.jsonl",
            on_line=progress.feed,
            on_tick=tick,
            is_over=lambda: progress.end is not None,
        )
    except ImbError as error:
        if not (spool / "records.jsonl").exists():  # nothing has run
            shutil.rmtree(spool)
        raise StartError(str(error)) from error
    outcome, status = str(ended.outcome), ended.status
    stderr = (spool / "stderr.txt").read_bytes()
    if (
        outcome == "finished"
        and status
        and not (spool / "records.jsonl").exists()
        and arguments.is_refusal(stderr)
    ):
        shutil.rmtree(spool)  # nothing has run
        raise ImbError(f"{running.command.words[0]} refused its arguments: {reason(stderr)}")
    if outcome == "lingered" and progress.end:
        outcome, status = "finished", progress.end.exit_status
        facts["note"] = (
            f"launcher did not exit within {launch.LINGER:g} s of the last record and was killed; exit status from the records"
        )
    if stopped:
        outcome, facts["problem"] = "stopped", stopped
    if stalled:
        outcome, facts["problem"] = "timed_out", stalled
    if outcome == "finished":
        # A launcher of another MPI starts N programs of one rank each, which all exit with status 0.
        separate = progress.ranks not in (None, ranks)
        # The suite also exits with status 0 if its limits excluded rows; a session needs these rows.
        incomplete = progress.end is None or bool(progress.end.exit_status)
        outcome = "failed" if status or separate or incomplete else "measured"
        if separate:
            facts["problem"] = other_ranks_problem(progress.ranks or 0, ranks)
        elif not status and progress.end is None:
            facts["problem"] = unfinished_problem(status, has_records=_has_content(spool / "records.jsonl"))
    facts |= {
        "exit_status": status,
        "ended": now(),
        "outcome": outcome,
        "seconds": round(ended.seconds, 3),
        "launched_at": ended.launched_at,
        "exited_at": ended.exited_at,
    }


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _launch_interleaved(
    plan: Plan,
    started: Sequence[_RunningLaunch],
    conductor: Conductor,
    on_progress: Callable[[Progress, float], None],
    on_problem: Callable[[Item, str], None],
) -> None:
    """Calls `_launch` for several launches at the same time, each in its thread. Ctrl-C interrupts all of them."""
    stop = threading.Event()

    def run(side: int, running: _RunningLaunch) -> None:
        def tick(progress: Progress, seconds: float) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            if (lost := conductor.stop_reason(side)) and progress.end is None:
                on_problem(
                    running.item,
                    f"{lost}; launch ended, its pair is lost; turn_timeout in a campaign file sets the limit",
                )
                raise _LaunchStopped(lost)
            if side == 0:
                on_progress(progress, seconds)

        try:
            _launch(plan, running, tick, on_problem)
        finally:
            conductor.leave(side)

    launched: list[Future[None]] = []
    interrupted = False
    with launch.sigterm_interrupts(), ThreadPoolExecutor(len(started)) as pool:
        try:
            for side, running in enumerate(started):
                launched.append(pool.submit(run, side, running))
            wait(launched, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        # If one launch could not be started, the results of the others have no counterpart.
        stop.set()
        while not all(future.done() for future in launched):
            with contextlib.suppress(KeyboardInterrupt):
                wait(launched)
    for future in launched:
        future.result()
    if interrupted or any(running.facts["outcome"] == "interrupted" for running in started):
        for (
            running
        ) in started:  # the others will be repeated, so a launch that has ended would have no partner
            running.facts["outcome"] = "interrupted"
            running.facts.setdefault("exit_status", None)  # for a launch that was not started


def _ask_transports(plan: Plan, running: _RunningLaunch, transports: TransportReports) -> bool:
    """Records the transports that the MPI reports, unless the launch was killed. A further launch asks for them, after the measuring one, so
    that a failure or hang shows in the measuring one only. Returns whether the user interrupted it."""
    if (
        running.item.alone
        or running.facts["outcome"] not in ("measured", "failed")
        or running.progress.end is None
    ):
        return False
    reported, interrupted = transports.ask(plan, running.item, running.secrets)
    running.facts["conditions"]["transports"] = reported
    return interrupted


_UNREAD = "what its launch left is stored without conditions"


def settle(archive: Archive, plan: Plan) -> None:
    """Writes the missing or damaged NUMBER.json files of launches that are in the archive; the disk may have been full. The caller must own
    the session's lock."""
    over, recorded = finished_launches(archive, plan), done_files(folder_of(archive, plan.id))
    unsettled: dict[
        object, tuple[Item, object]
    ] = {}  # number -> launch and its start, or None to accept any start
    for item in plan.items:
        kept = spool_of(archive, plan, item) / "facts.json"
        if item.number not in over and (kept.exists() or item.number in recorded):
            known = readable_json(kept, dict[str, Any], _UNREAD) if kept.exists() else None
            unsettled[item.number] = item, (known or {}).get("started")
    runs = archive.ids() if unsettled else []
    for run, facts in read_each(runs, lambda run: (run, archive.run(run).facts()), optional=True):
        if facts.get("session") == plan.id and facts.get("outcome") not in (None, "interrupted"):
            for item, started in (
                entry for number, entry in unsettled.items() if number == facts.get("number")
            ):
                if started in (None, facts.get("started")):
                    archive.label(run, add=_labels(plan, item, facts))
                    _finish(archive, plan, item, _finished_launch(item, run, facts, None))


def _adopt(archive: Archive, plan: Plan, item: Item) -> None:
    """Stores the files that a killed `imb run` left of this launch as an interrupted run. The caller repeats the launch."""
    spool = spool_of(archive, plan, item)
    if (spool / "facts.json").exists():
        known = readable_json(spool / "facts.json", dict[str, Any], _UNREAD)
        facts = known or _place_in_session(plan, item)
        over = _store(archive, plan, item, facts | {"outcome": "interrupted", "exit_status": None})
        _finish(archive, plan, item, over)
    elif spool.exists():
        shutil.rmtree(spool)


def _store(
    archive: Archive, plan: Plan, item: Item, facts: dict[str, Any], wall: float | None = None
) -> FinishedLaunch:
    """Stores the files of a launch as a run of the archive."""
    spool = spool_of(archive, plan, item)

    def part(name: str) -> bytes | None:
        return (spool / name).read_bytes() if (spool / name).exists() else None

    records = part("records.jsonl")
    content = Content(
        records=records or None,
        output=part("output.txt"),
        stderr=part("stderr.txt"),
        facts=facts,
        labels=_labels(plan, item, facts),
    )
    return _finished_launch(item, archive.add(content).id, facts, wall)


def _labels(plan: Plan, item: Item, facts: dict[str, Any]) -> list[str]:
    """The labels of a run. In a campaign, an interrupted launch gets no labels, since it is repeated and must count once (see _finish for
    other sessions). Neither does a launch that stopped, since part of it was measured without its partner."""
    return [] if plan.campaign and facts["outcome"] in ("interrupted", "stopped") else item.labels


def _finished_launch(item: Item, run: str, facts: dict[str, Any], wall: float | None) -> FinishedLaunch:
    return FinishedLaunch(
        number=item.number,
        run=run,
        outcome=facts["outcome"],
        status=facts.get("exit_status"),
        seconds=facts.get("seconds"),
        wall=None if wall is None else round(wall, 3),
        problem=facts.get("problem"),
        note=facts.get("note"),
    )


def _finish(archive: Archive, plan: Plan, item: Item, over: FinishedLaunch) -> None:
    """Records that this launch is over, or remembers its run if it was interrupted. When it is over, its interrupted runs lose their labels,
    so that it counts once. Removes its spool."""
    interrupted, runs = interrupted_file(archive, plan, item), interrupted_runs(archive, plan, item)
    if over.outcome == "interrupted":
        if not plan.campaign:
            write_whole(interrupted, "\n".join([*runs, over.run]).encode())
    else:
        if item.labels:
            for run in set(runs) - {over.run}:
                archive.label(run, remove=item.labels, note=f"interrupted; repeated as {over.run[:SHORT]}")
        interrupted.unlink(missing_ok=True)
        write_whole(done_file(archive, plan, item), msgspec.json.encode(over) + b"\n")
    if (spool := spool_of(archive, plan, item)).exists():
        shutil.rmtree(spool)
