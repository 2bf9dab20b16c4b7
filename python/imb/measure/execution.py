"""Carries out the plan of a session: its launches one after another or interleaved, each stored as it ends."""

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

from imb.archive.durable import write_whole
from imb.archive.reading import each_readable, readable_json
from imb.archive.store import SHORT, Archive, Content
from imb.logs.launch_errors import reason
from imb.measure.interleave import Conductor
from imb.measure.progress import Progress, limit_in_words
from imb.measure.session import (
    Done,
    Item,
    NotStarted,
    Plan,
    command_of,
    done,
    done_files,
    elsewhere,
    folder_of,
    intent_of,
    interrupted_file,
    interrupted_runs,
    refuse_missing_programs,
    reporting_archive,
    secrets_of,
    spool_of,
    without_secrets,
)
from imb.measure.transports import reported_transports
from imb.model.confidential import hidden_command
from imb.model.errors import ImbError
from imb.model.gpus import uses_gpu
from imb.model.repeats import FACT as REPEATS
from imb.model.sequential_design import FACT
from imb.model.text import now
from imb.mpi import arguments, conditions, launch, load
from imb.mpi.launchers import Command


class _Started(NamedTuple):
    """A launch at work: where it writes, its command as it is and without secrets, these, what is known of it so far."""

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
    made: Plan,
    items: Sequence[Item],
    *,
    on_start: Callable[[Item, Command], None] = lambda item, command: None,
    on_progress: Callable[[Progress, float], None] = lambda p, s: None,
    on_problem: Callable[[Item, str], None] = lambda item, line: None,
    on_measured: Callable[[Item, Path], None] = lambda item, records: None,
) -> list[Done]:
    """Launches, several interleaved, and puts what came of it into the archive, whatever that is. To be called by who holds
    the session (imb.measure.lock).

    `on_measured` gets the file of records of a complete launch, before it is stored, and before MPI has ended where the
    launch is alone. `on_progress` gets the progress of the first of them; `on_problem` one line where a launch makes no
    progress, or is ended because it stopped. Raises NotStarted, ImbError.
    """
    began = time.monotonic()
    told = set[int]()

    def tell(one: _Started) -> None:
        kept = one.spool / "records.jsonl"
        if one.item.number not in told and kept.exists():
            told.add(one.item.number)
            on_measured(one.item, kept)

    with contextlib.ExitStack() as stack:
        turns = None
        if made.parts > 1 and not items[0].alone:
            intents = [intent_of(made, item) for item in items]
            seed = (made.seed or 0) + items[0].number
            ranks = [intent.ranks for intent in intents]
            turns = stack.enter_context(
                Conductor(ranks, seed, everywhere=any(map(elsewhere, intents)), limit=made.turn_limit)
            )
        for item in items:
            _adopt(archive, made, item)
        refuse_missing_programs(made, items)  # of all, before one leaves anything
        started = [
            _start(archive, made, item, turns.words(side, made.parts) if turns else [])
            for side, item in enumerate(items)
        ]
        for one in started:
            on_start(one.item, one.shown)
        before = load.moment()
        if turns is None:
            _see_through(made, started[0], on_progress, on_problem, tell)
        else:
            _see_all_through(made, started, turns, on_progress, on_problem)
        # Ranks that srun starts are not our children: their CPU time is not known here.
        ours = all(intent_of(made, item).launcher != "srun" for item in items)
        if ours and (during := load.load_between(before, load.moment())):
            for one in started:
                one.facts["load"] = msgspec.to_builtins(during)
    seconds = (time.monotonic() - began) / len(items)
    for one in started:
        if one.facts["outcome"] == "measured":
            tell(one)
    interrupted = any(_ask_transports(made, one) for one in started)
    over = [
        _store(archive, made, one.item, one.facts, None if "note" in one.facts else seconds)
        for one in started  # a launch that lingered does not predict the duration of others
    ]
    for item, one_over in zip(items, over, strict=True):  # as close together as can be
        _finish(archive, made, item, one_over)
    if interrupted:
        raise KeyboardInterrupt
    return over


def _start(archive: Archive, made: Plan, item: Item, turns: Sequence[str]) -> _Started:
    spool = spool_of(archive, made, item)
    spool.mkdir()
    command, shown = (command_of(made, item, spool, turns, shown=shown) for shown in (False, True))
    variant, intent = made.variants[item.variant], intent_of(made, item)
    facts: dict[str, Any] = {
        "kind": "launch",
        "campaign": made.campaign or made.id,
        # What the judge pairs launches by, and which of them share a session.
        "session": made.id,
        "number": item.number,
        "turn": item.turn,
        "cell": item.cell,
        "host": socket.gethostname(),
        "command": shown.words,
        "command_environment": shown.env,
        "component": item.component,
        "arguments": item.arguments,
        "programs": variant.programs,
        "intent": msgspec.to_builtins(without_secrets(intent)),
        "started": now(),
        "conditions": msgspec.to_builtins(conditions.gather(variant.mpi, with_gpus=uses_gpu(item.arguments))),
    }
    if made.campaign:
        facts |= {"variant": variant.name, "setup": [hidden_command(command) for command in variant.setup]}
        facts["seed"] = made.seed
    if item.repeats:
        facts[REPEATS] = item.repeats
    if made.until:
        facts[FACT] = msgspec.to_builtins(made.until.design)
    write_whole(spool / "facts.json", msgspec.json.encode(facts))
    return _Started(item, spool, command, shown, secrets_of(made, item), facts, Progress())


class _Stopped(KeyboardInterrupt):
    """Ends a launch that stopped, as an interrupt does."""


def _see_through(
    made: Plan,
    one: _Started,
    on_progress: Callable[[Progress, float], None],
    on_problem: Callable[[Item, str], None],
    on_complete: Callable[[_Started], None] = lambda one: None,
) -> None:
    """Launches, and completes the facts. `on_complete`: all records are there, though MPI may take a second to end."""
    spool, facts, progress = one.spool, one.facts, one.progress
    ranks = intent_of(made, one.item).ranks
    stopped: str | None = None

    def tick(seconds: float) -> None:
        nonlocal stopped
        if line := progress.stall(seconds):
            on_problem(one.item, f"{line}; {limit_in_words(one.item.timeout or made.timeout, made.id)}")
        try:
            on_progress(progress, seconds)
        except _Stopped as stop:
            stopped = str(stop)
            raise
        if (end := progress.end) and not end.exit_status and progress.ranks in (None, ranks):
            on_complete(one)

    try:
        ended = launch.run(
            one.command,
            output=spool / "output.txt",
            errors=spool / "stderr.txt",
            timeout=one.item.timeout or made.timeout,
            hide=one.secrets,
            follow=spool / "records.jsonl",
            on_line=progress.feed,
            on_tick=tick,
            is_over=lambda: progress.end is not None,
        )
    except ImbError as error:
        if not (spool / "records.jsonl").exists():  # nothing has run
            shutil.rmtree(spool)
        raise NotStarted(str(error)) from error
    outcome, status = str(ended.outcome), ended.status
    said = (spool / "stderr.txt").read_bytes()
    if (
        outcome == "finished"
        and status
        and not (spool / "records.jsonl").exists()
        and arguments.refused(said)
    ):
        shutil.rmtree(spool)  # nothing has run
        raise ImbError(f"{one.command.words[0]} refused its arguments: {reason(said)}")
    if outcome == "lingered" and progress.end:
        outcome, status = "finished", progress.end.exit_status
        facts["note"] = (
            f"launcher did not exit within {launch.LINGER:g} s of the last record and was killed; exit status from the records"
        )
    if stopped:
        outcome, facts["problem"] = "stopped", stopped
    if outcome == "finished":
        # A launcher of another MPI starts N programs of one rank each, which all end well.
        alone = progress.ranks not in (None, ranks)
        cut = progress.end is None and (spool / "records.jsonl").exists()
        # The suite's exit status is 0 for rows beyond its limits; a session has them to be measured.
        short = progress.end is not None and bool(progress.end.exit_status)
        outcome = "failed" if status or cut or alone or short else "measured"
        if alone:
            facts["problem"] = f"{progress.ranks} instead of {ranks} ranks: are launcher and MPI of one kind?"
    facts |= {
        "exit_status": status,
        "ended": now(),
        "outcome": outcome,
        "seconds": round(ended.seconds, 3),
        "launched_at": ended.launched_at,
        "exited_at": ended.exited_at,
    }


def _see_all_through(
    made: Plan,
    started: Sequence[_Started],
    turns: Conductor,
    on_progress: Callable[[Progress, float], None],
    on_problem: Callable[[Item, str], None],
) -> None:
    """The same at the same time, a thread each; Ctrl-C interrupts all of them."""
    stop = threading.Event()

    def see(side: int, one: _Started) -> None:
        def tick(progress: Progress, seconds: float) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            if (lost := turns.lost(side)) and progress.end is None:
                on_problem(
                    one.item,
                    f"{lost}; launch ended, its pair is lost; turn_timeout in a campaign file sets the limit",
                )
                raise _Stopped(lost)
            if side == 0:
                on_progress(progress, seconds)

        try:
            _see_through(made, one, tick, on_problem)
        finally:
            turns.leave(side)

    under_way: list[Future[None]] = []
    interrupted = False
    with launch.sigterm_interrupts(), ThreadPoolExecutor(len(started)) as pool:
        try:
            for side, one in enumerate(started):
                under_way.append(pool.submit(see, side, one))
            wait(under_way, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        # Where one could not be started, what the others measure has no counterpart.
        stop.set()
        while not all(future.done() for future in under_way):
            with contextlib.suppress(KeyboardInterrupt):
                wait(under_way)
    for future in under_way:
        future.result()
    if interrupted or any(one.facts["outcome"] == "interrupted" for one in started):
        for one in started:  # those that were over would have no partner when the others are repeated
            one.facts["outcome"] = "interrupted"
            one.facts.setdefault("exit_status", None)  # of one that was not launched any more


def _ask_transports(made: Plan, one: _Started) -> bool:
    """Records the transports that the MPI reports, where the launch ended by itself. Afterwards, so that a launch that fails or
    hangs does so once. Returns whether that was interrupted."""
    if one.item.alone or one.facts["outcome"] not in ("measured", "failed") or one.progress.end is None:
        return False
    reported, interrupted = reported_transports(made, one.item, one.secrets)
    one.facts["conditions"]["transports"] = reported
    return interrupted


_UNREAD = "what its launch left is stored without conditions"


def settle(archive: Archive, made: Plan) -> None:
    """Launches that are in the archive, but not recorded as over (the disk was full, or the file is damaged), are over now. For
    the owner of the session's lock."""
    over, recorded = done(archive, made), done_files(folder_of(archive, made.id))
    left: dict[object, tuple[Item, object]] = {}  # by number; with the start, None: any
    for item in made.items:
        kept = spool_of(archive, made, item) / "facts.json"
        if item.number not in over and (kept.exists() or item.number in recorded):
            known = readable_json(kept, dict[str, Any], _UNREAD) if kept.exists() else None
            left[item.number] = item, (known or {}).get("started")
    runs = archive.ids() if left else []
    for run, facts in each_readable(runs, lambda run: (run, archive.run(run).facts()), optional=True):
        if facts.get("session") == made.id and facts.get("outcome") not in (None, "interrupted"):
            for item, started in (one for number, one in left.items() if number == facts.get("number")):
                if started in (None, facts.get("started")):
                    archive.label(run, add=_labels(made, item, facts))
                    _finish(archive, made, item, _over(item, run, facts, None))


def _adopt(archive: Archive, made: Plan, item: Item) -> None:
    """What a killed `imb run` left of this launch becomes a run too; then the launch is repeated."""
    spool = spool_of(archive, made, item)
    if (spool / "facts.json").exists():
        known = {
            "kind": "launch",
            "session": made.id,
            "number": item.number,
            "turn": item.turn,
            "cell": item.cell,
        } | ({REPEATS: item.repeats} if item.repeats else {})
        facts: dict[str, Any] = readable_json(spool / "facts.json", dict[str, Any], _UNREAD) or known
        over = _store(archive, made, item, facts | {"outcome": "interrupted", "exit_status": None})
        _finish(archive, made, item, over)
    elif spool.exists():
        shutil.rmtree(spool)


def _store(
    archive: Archive, made: Plan, item: Item, facts: dict[str, Any], wall: float | None = None
) -> Done:
    """Makes a run of what a launch left."""
    spool = spool_of(archive, made, item)

    def part(name: str) -> bytes | None:
        return (spool / name).read_bytes() if (spool / name).exists() else None

    records = part("records.jsonl")
    content = Content(
        records=records or None,
        output=part("output.txt"),
        stderr=part("stderr.txt"),
        facts=facts,
        labels=_labels(made, item, facts),
    )
    return _over(item, archive.add(content).id, facts, wall)


def _labels(made: Plan, item: Item, facts: dict[str, Any]) -> list[str]:
    """A launch of a campaign that was cut off is made again, and counts once (others: see _finish); one that stopped was
    measured in part without its partner, and does not count."""
    return [] if made.campaign and facts["outcome"] in ("interrupted", "stopped") else item.labels


def _over(item: Item, run: str, facts: dict[str, Any], wall: float | None) -> Done:
    return Done(
        number=item.number,
        run=run,
        outcome=facts["outcome"],
        status=facts.get("exit_status"),
        seconds=facts.get("seconds"),
        wall=None if wall is None else round(wall, 3),
        problem=facts.get("problem"),
        note=facts.get("note"),
    )


def _finish(archive: Archive, made: Plan, item: Item, over: Done) -> None:
    """From now on this launch is over, unless it was interrupted. Its interrupted runs lose their labels then: the launch
    counts once."""
    interrupted, runs = interrupted_file(archive, made, item), interrupted_runs(archive, made, item)
    if over.outcome == "interrupted":
        if not made.campaign:
            write_whole(interrupted, "\n".join([*runs, over.run]).encode())
    else:
        if item.labels:
            for run in set(runs) - {over.run}:
                archive.label(run, remove=item.labels, note=f"interrupted; repeated as {over.run[:SHORT]}")
        interrupted.unlink(missing_ok=True)
        write_whole(
            folder_of(archive, made.id) / f"{item.number:04d}.json", msgspec.json.encode(over) + b"\n"
        )
    if (spool := spool_of(archive, made, item)).exists():
        shutil.rmtree(spool)
