"""A session: the launches of one `imb run` or campaign, each of which becomes a run of the archive; interrupted, it goes on.

ARCHIVE/sessions/ID/plan.json    what is to be launched
    0003.json                    launch 3 is over: its run and how it ended
    0003.part/                   launch 3 while it runs; adopted by --resume where its `imb` was killed
    standing.json, setup.log     which variant is set up, and what set-ups and tear-downs said (imb.measure.setup_teardown)
"""

from __future__ import annotations

import contextlib
import functools
import glob
import os
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import msgspec
import psutil

from imb.archive.store import Archive, Content, write_whole
from imb.measure import ownership, passes
from imb.measure.interleave import TURN_LIMIT, Conductor
from imb.measure.progress import Progress
from imb.model.confidential import hidden, revealed
from imb.model.errors import ImbError
from imb.model.records import Component, End
from imb.model.sequential_design import FACT, Design
from imb.model.text import now
from imb.mpi import conditions, launch, load
from imb.mpi.installations import Installation

BEAT = 10.0  # seconds between signs of life of a launch that runs
_DEAD = 6 * BEAT  # without one for so long, and its host is taken to be down


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """How launches are made; `imb run` has one, without a name. `setup` and `teardown`: shell commands that surround
    its launches."""

    name: str = ""
    mpi: Installation
    programs: str
    intent: launch.Intent
    setup: list[str] = []
    teardown: list[str] = []


class Item(msgspec.Struct, frozen=True):
    """One launch: `arguments` are IMB's, `turn` counts repetitions of the same (rounds) from 1, `variant` is an index,
    `ranks` take the place of those of the variant; `cell` is what is measured, whatever the variant."""

    number: int
    component: Component
    arguments: list[str]
    turn: int = 1
    variant: int = 0
    ranks: int | None = None
    labels: list[str] = []
    cell: int = 0

    def like(self) -> tuple[object, ...]:
        """The same for all launches of the same, which take about the same time."""
        return self.variant, self.component, *self.arguments, self.ranks


class Until(msgspec.Struct, frozen=True, kw_only=True):
    """Launches go on until every band is decided at `relevant` by `metric`, variants against the first, or for `budget`
    seconds (None: no limit); at most until the plan is over."""

    design: Design
    relevant: float = 0.05
    metric: str = "time"
    budget: float | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """plan.json. `campaign`, `seed` and `source` (a hash of the file) are those of a campaign; `timeout` is of a launch,
    `setup_timeout` of a set-up or tear-down command, in seconds. `parts`, above 1: launches of a round that measure the same
    run at the same time, and measure every row by turns in so many parts (imb.measure.interleave). `until`: when to stop before
    all is launched (imb.cli.deciding); None: never. `turn_limit`: seconds that a turn may last at least (imb.measure.interleave).
    `owner`: user id of who planned it."""

    id: str
    created: str
    timeout: float | None
    variants: list[Variant]
    items: list[Item]
    campaign: str | None = None
    seed: int | None = None
    source: str | None = None
    setup_timeout: float = 300
    parts: int = 1
    until: Until | None = None
    turn_limit: float = TURN_LIMIT
    owner: int | None = None

    @property
    def surrounded(self) -> bool:
        """Whether there are commands to set up or tear down."""
        return any(variant.setup or variant.teardown for variant in self.variants)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """NUMBER.json. `seconds` of the launch, `wall` with all that `imb` does around it; its share, where several ran at the
    same time."""

    number: int
    run: str
    outcome: str
    status: int | None = None
    seconds: float | None = None
    wall: float | None = None
    problem: str | None = None
    note: str | None = None


class Owner(msgspec.Struct, frozen=True):
    """Who carries out a launch. `born`: when the process began, since numbers of processes are used again."""

    host: str
    pid: int
    born: float


def plan(
    *,
    mpi: Installation,
    programs: Path,
    intent: launch.Intent,
    selection: dict[Component, list[str]],
    arguments: Sequence[str],
    launches: int,
    timeout: float | None,
    labels: Sequence[str],
    sampling: passes.Sampling,
) -> Plan:
    """What is to be launched: all components in turn, `launches` times. Raises ImbError."""
    words = {
        c: [
            *names,
            *arguments,
            *passes.words_of(sampling, c, names, arguments, intent.ranks, timeout=timeout),
        ]
        for c, names in selection.items()
    }
    items = [(c, words[c], turn, cell) for turn in range(launches) for cell, c in enumerate(selection)]
    made = Plan(
        id=new_id(),
        created=now(),
        timeout=timeout,
        variants=[Variant(mpi=mpi, programs=str(programs.absolute()), intent=intent)],
        items=[
            Item(n, c, said, turn + 1, labels=list(labels), cell=cell)
            for n, (c, said, turn, cell) in enumerate(items, 1)
        ],
    )
    examine(made)
    return made


def new_id() -> str:
    """A name for a session; later ones sort behind earlier ones."""
    return f"{now().replace(':', '').replace('-', '')}-{secrets.token_hex(3)}"


def examine(made: Plan) -> None:
    """Raises ImbError where a program is missing, or a launcher has no words for what is wanted."""
    for item in {item.like(): item for item in made.items}.values():
        if any(word.lstrip("-") in ("json", "input", "turns") and word[:1] == "-" for word in item.arguments):
            raise ImbError(
                "leave -json, -input and -turns out: imb keeps the records itself; name the benchmarks instead"
            )
        command_of(made, item, Path())


def save(archive: Archive, made: Plan) -> None:
    """Writes the plan down without secrets, so that it can be resumed by the same user. Raises ImbError."""
    kept = msgspec.structs.replace(made, owner=os.geteuid(), variants=[_shown(one) for one in made.variants])
    text = msgspec.json.format(msgspec.json.encode(kept)) + b"\n"
    folder = folder_of(archive, made.id)
    try:
        folder.mkdir(parents=True)
        write_whole(folder / "plan.json", text)
    except OSError as error:
        raise archive.refusal(error) from error


def folder_of(archive: Archive, session: str) -> Path:
    """Of a session's files."""
    return archive.folder / "sessions" / session


def spool_of(archive: Archive, made: Plan, item: Item) -> Path:
    """Where a launch writes while it runs."""
    return folder_of(archive, made.id) / f"{item.number:04d}.part"


def find(archive: Archive, session: str | None = None, *, force_owner: bool = False) -> Plan:
    """The plan of this session, of which the beginning is enough; None: of the newest of this user.

    Raises ImbError where there is none, and where it is another user's, unless `force_owner`.
    """
    plans = sorted((archive.folder / "sessions").glob(f"{glob.escape(session or '')}*/plan.json"))
    if not plans:
        raise ImbError(f"no session {session or 'to resume'} in {archive.folder}; `imb run` makes one")
    if session and len(plans) > 1:
        raise ImbError(f"{len(plans)} sessions begin with {session}; give more of the name")
    if session or force_owner:
        made = _read(plans[-1])
        if not force_owner:
            ownership.refuse_strangers(made.id, plans[-1], made.owner)
        return made
    if (own := next(_own(reversed(plans)), None)) is None:
        raise ImbError(f"no session of yours in {archive.folder}; name the session to see whose it is")
    return own


def of_campaign(archive: Archive, name: str | None, *, own: bool = False) -> list[Plan]:
    """The plans of sessions of this campaign, None: of any; the oldest first. `own`: only of this user. Raises ImbError."""
    files = sorted((archive.folder / "sessions").glob("*/plan.json"))
    plans = _own(files) if own else map(_read, files)
    return [made for made in plans if made.campaign and name in (None, made.campaign)]


def _own(files: Iterable[Path]) -> Iterator[Plan]:
    """The plans of this user. Those of others are not even read: they may be anything."""
    for file in files:
        if not ownership.strangers(file, None) and not ownership.strangers(file, (made := _read(file)).owner):
            yield made


def _read(file: Path) -> Plan:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Plan)
    except msgspec.MsgspecError as error:
        raise ImbError(f"{file} cannot be read ({error}); another version of imb wrote it") from error


def done(archive: Archive, made: Plan) -> dict[int, Done]:
    """What is over, by number. An interrupted launch is in the archive but not over."""
    files = sorted(folder_of(archive, made.id).glob("[0-9]*.json"))
    return {one.number: one for one in (msgspec.json.decode(f.read_bytes(), type=Done) for f in files)}


def program_of(made: Plan, item: Item) -> Path:
    """The executable of a launch. Raises ImbError where there is none."""
    program = Path(made.variants[item.variant].programs, f"IMB-{item.component}")
    if not os.access(program, os.X_OK):
        raise ImbError(f"no program {program}; `imb build` makes it")
    return program


def together(made: Plan, todo: Sequence[Item]) -> list[list[Item]]:
    """What is to be launched in its order; what is in one list at the same time."""
    if made.parts == 1:
        return [[item] for item in todo]
    found: dict[tuple[int, int], list[Item]] = {}
    for item in todo:
        found.setdefault((item.turn, item.cell), []).append(item)
    return list(found.values())


def command_of(
    made: Plan, item: Item, spool: Path, turns: Sequence[str] = (), *, shown: bool = False
) -> launch.Command:
    """The exact command of a launch that writes into `spool`; `turns` is of Conductor.words. `shown`: without secrets.

    Raises ImbError where a variable was not recorded because it may be secret, and is not in the environment.
    """
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    words = [str(program_of(made, item)), *item.arguments, *turns, "-json", str(spool / "records.jsonl")]
    variant, intent = made.variants[item.variant], intent_of(made, item)
    env = hidden(intent.env) if shown else revealed(intent.env)
    intent = msgspec.structs.replace(intent, env=env)
    return launch.spell(variant.mpi, intent, words, cores=cores, root=os.geteuid() == 0)


def _shown(variant: Variant) -> Variant:
    """A variant as it may be recorded."""
    return msgspec.structs.replace(variant, intent=_without_secrets(variant.intent))


def _without_secrets(intent: launch.Intent) -> launch.Intent:
    return msgspec.structs.replace(intent, env=hidden(intent.env))


def intent_of(made: Plan, item: Item) -> launch.Intent:
    """What is wanted of a launch."""
    intent = made.variants[item.variant].intent
    return msgspec.structs.replace(intent, ranks=item.ranks) if item.ranks else intent


def elsewhere(intent: launch.Intent) -> bool:
    """Whether ranks may be on other hosts, as far as one can know: an allocation, or words for the launcher, may say so."""
    words = {"-f", "-hosts", "-host", "--host", "-hostfile", "--hostfile", "-machinefile", "--machinefile"}
    allocated = any(
        name in os.environ for name in ("SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "PE_HOSTFILE")
    )
    return bool(intent.hosts or intent.ppn or words & set(intent.extra) or allocated)


Rest = ParamSpec("Rest")
Made = TypeVar("Made")


def _refusing(
    function: Callable[Concatenate[Archive, Rest], Made],
) -> Callable[Concatenate[Archive, Rest], Made]:
    """A full or read-only disk in words. What the launch itself does is an outcome, no OSError."""

    @functools.wraps(function)
    def wrapped(archive: Archive, /, *words: Rest.args, **options: Rest.kwargs) -> Made:
        try:
            return function(archive, *words, **options)
        except OSError as error:
            raise archive.refusal(error) from error

    return wrapped


class _Started(NamedTuple):
    """A launch at work: where it writes, its command as it is and without secrets, what is known of it so far."""

    item: Item
    spool: Path
    command: launch.Command
    shown: launch.Command
    facts: dict[str, Any]
    progress: Progress


@_refusing
def execute(
    archive: Archive,
    made: Plan,
    items: Sequence[Item],
    *,
    on_start: Callable[[Item, launch.Command], None] = lambda item, command: None,
    on_progress: Callable[[Progress, float], None] = lambda p, s: None,
    on_problem: Callable[[Item, str], None] = lambda item, line: None,
) -> list[Done]:
    """Launches, several at the same time by turns, and puts what came of it into the archive, whatever that is.

    `on_progress` gets the progress of the first of them; `on_problem` one line where a launch makes no progress, or is ended
    because it stopped. Raises ImbError.
    """
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        turns = None
        if made.parts > 1:
            intents = [intent_of(made, item) for item in items]
            seed = (made.seed or 0) + items[0].number
            ranks = [intent.ranks for intent in intents]
            turns = stack.enter_context(
                Conductor(ranks, seed, everywhere=any(map(elsewhere, intents)), limit=made.turn_limit)
            )
        started = [
            _start(archive, made, item, turns.words(side, made.parts) if turns else [])
            for side, item in enumerate(items)
        ]
        for one in started:
            on_start(one.item, one.shown)
        before = load.moment()
        if turns is None:
            _see_through(made, started[0], on_progress, on_problem)
        else:
            _see_all_through(made, started, turns, on_progress, on_problem)
        # Ranks that srun starts are not our children: their CPU time is not known here.
        ours = all(intent_of(made, item).launcher != "srun" for item in items)
        if ours and (during := load.between(before, load.moment())):
            for one in started:
                one.facts["load"] = msgspec.to_builtins(during)
    seconds = (time.monotonic() - began) / len(items)
    over = [
        _store(archive, made, one.item, one.facts, None if "note" in one.facts else seconds)
        for one in started  # a launch that lingered says nothing about how long others take
    ]
    for item, one_over in zip(items, over, strict=True):  # as close together as can be
        _finish(archive, made, item, one_over)
    return over


def _start(archive: Archive, made: Plan, item: Item, turns: Sequence[str]) -> _Started:
    spool = spool_of(archive, made, item)
    _adopt(archive, made, item)
    spool.mkdir()
    (spool / "owner.json").write_bytes(msgspec.json.encode(myself()))
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
        "intent": msgspec.to_builtins(_without_secrets(intent)),
        "started": now(),
        "conditions": msgspec.to_builtins(conditions.gather(variant.mpi)),
    }
    if made.campaign:
        facts |= {"variant": variant.name, "setup": variant.setup, "seed": made.seed}
    if made.until:
        facts[FACT] = msgspec.to_builtins(made.until.design)
    write_whole(spool / "facts.json", msgspec.json.encode(facts))
    return _Started(item, spool, command, shown, facts, Progress())


class _Stopped(KeyboardInterrupt):
    """Ends a launch that stopped, as an interrupt does."""


def _see_through(
    made: Plan,
    one: _Started,
    on_progress: Callable[[Progress, float], None],
    on_problem: Callable[[Item, str], None],
) -> None:
    """Launches, and completes the facts."""
    spool, facts, progress = one.spool, one.facts, one.progress
    beat = 0.0
    stopped: str | None = None

    def tick(seconds: float) -> None:
        nonlocal beat, stopped
        if seconds > beat:
            beat = seconds + BEAT
            (spool / "owner.json").touch()
        if line := progress.stall(seconds):
            on_problem(one.item, line)
        try:
            on_progress(progress, seconds)
        except _Stopped as stop:
            stopped = str(stop)
            raise

    try:
        ended = launch.run(
            one.command,
            output=spool / "output.txt",
            errors=spool / "stderr.txt",
            timeout=made.timeout,
            follow=spool / "records.jsonl",
            on_line=progress.feed,
            on_tick=tick,
            is_over=lambda: progress.end is not None,
        )
    except ImbError:  # nothing has run
        shutil.rmtree(spool)
        raise
    outcome: str = ended.outcome
    status = ended.status
    if outcome == "lingered" and progress.end:
        outcome, status = "finished", progress.end.exit_status
        facts["note"] = (
            f"it was still there {launch.LINGER:g} s after its last record, and was ended; exit status by the records"
        )
    if stopped:
        outcome, facts["problem"] = "stopped", stopped
    if outcome == "finished":
        # A launcher of another MPI starts N programs of one rank each, which all end well.
        ranks = intent_of(made, one.item).ranks
        alone = progress.ranks not in (None, ranks)
        cut = progress.end is None and (spool / "records.jsonl").exists()
        outcome = "failed" if status or cut or alone else "measured"
        if alone:
            facts["problem"] = f"{progress.ranks} instead of {ranks} ranks: are launcher and MPI of one kind?"
    facts |= {
        "exit_status": status,
        "ended": now(),
        "outcome": outcome,
        "seconds": round(ended.seconds, 3),
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
                on_problem(one.item, f"{lost}; launch ended, its pair is lost; --turn-timeout sets the limit")
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


def _adopt(archive: Archive, made: Plan, item: Item) -> None:
    """What a killed `imb run` left of this launch becomes a run too; then the launch is repeated."""
    spool = spool_of(archive, made, item)
    refuse_if_alive(made, spool / "owner.json")
    if (spool / "facts.json").exists():
        facts = msgspec.json.decode((spool / "facts.json").read_bytes(), type=dict[str, Any])
        over = _store(archive, made, item, facts | {"outcome": "interrupted", "exit_status": None})
        _finish(archive, made, item, over)
    elif spool.exists():
        shutil.rmtree(spool)


def myself() -> Owner:
    """This process."""
    return Owner(socket.gethostname(), os.getpid(), psutil.Process().create_time())


def refuse_if_alive(made: Plan, file: Path) -> None:
    """Raises ImbError where the owner that `file` names, another process, is at work on this session."""
    owner = _alive(file)
    if owner and (owner.host, owner.pid) != (socket.gethostname(), os.getpid()):
        raise ImbError(
            f"session {made.id} is being carried out by process {owner.pid} on {owner.host};"
            " `imb run --resume NAME` goes on with another one"
        )


def _alive(file: Path) -> Owner | None:
    """The owner of a launch that is running still; None where there is none, or it is gone."""
    try:
        owner = msgspec.json.decode(file.read_bytes(), type=Owner)
        if owner.host != socket.gethostname():
            return owner if time.time() - file.stat().st_mtime < _DEAD else None
        if owner.pid == os.getpid():
            return None
        return owner if abs(psutil.Process(owner.pid).create_time() - owner.born) < 1 else None
    except (OSError, msgspec.MsgspecError, psutil.Error):
        return None


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
        # A launch of a campaign that was cut off is made again, and counts once; one that stopped was measured in part without
        # its partner, and does not count.
        labels=[] if made.campaign and facts["outcome"] in ("interrupted", "stopped") else item.labels,
    )
    added = archive.add(content)
    return Done(
        number=item.number,
        run=added.id,
        outcome=facts["outcome"],
        status=facts["exit_status"],
        seconds=facts.get("seconds"),
        wall=None if wall is None else round(wall, 3),
        problem=facts.get("problem"),
        note=facts.get("note"),
    )


def _finish(archive: Archive, made: Plan, item: Item, over: Done) -> None:
    """From now on this launch is over, unless it was interrupted."""
    if over.outcome != "interrupted":
        write_whole(
            folder_of(archive, made.id) / f"{item.number:04d}.json", msgspec.json.encode(over) + b"\n"
        )
    shutil.rmtree(spool_of(archive, made, item))


def rows_of(archive: Archive, over: Done) -> str:
    """How much a launch measured, in words."""
    end: End | None = None
    rows = failed = 0
    for record in archive.run(over.run).records().records:
        name = type(record).__name__
        rows += name == "Result"
        failed += name == "Failure"
        end = record if isinstance(record, End) else end
    words = f"{rows} rows" + (f", {failed} not measured" if failed else "")
    return words + (f", {end.defects} defects" if end and end.defects else "")


def seconds_of(
    made: Plan, over: Iterable[Done], known: Mapping[tuple[object, ...], float] | None = None
) -> float | None:
    """How long the launches that are not over will take; None where nothing is known to judge by.

    Each as the mean of its like so far; else as `known` says (seconds by `Item.like`); else as the mean of all so far.
    """
    items = {item.number: item for item in made.items}
    took: dict[tuple[object, ...], list[float]] = {}
    for one in over:
        item = items.pop(one.number)
        if one.wall is not None:
            took.setdefault(item.like(), []).append(one.wall)
    usual = {**(known or {}), **{like: sum(times) / len(times) for like, times in took.items()}}
    every = [seconds for times in took.values() for seconds in times] or list(usual.values())
    if items and not every:
        return None
    mean = sum(every) / len(every) if every else 0.0
    return sum(usual.get(item.like(), mean) for item in items.values())


def usual_seconds(archive: Archive, made: Plan) -> dict[tuple[object, ...], float]:
    """Seconds by `Item.like` that launches of the same took in earlier sessions of this campaign; of those in passes that were
    never made, what they may take at most."""
    most = {item.like(): passes.most_seconds(item.arguments) for item in made.items}
    names = {variant.name: index for index, variant in enumerate(made.variants)}
    took: dict[tuple[object, ...], list[float]] = {}
    for old in of_campaign(archive, made.campaign or "") if made.campaign else []:
        numbered = {item.number: item for item in old.items}
        for one in done(archive, old).values():
            item = numbered[one.number]
            name = old.variants[item.variant].name
            if one.wall is not None and name in names:
                like = msgspec.structs.replace(item, variant=names[name]).like()
                took.setdefault(like, []).append(one.wall)
    return {like: seconds for like, seconds in most.items() if seconds is not None} | {
        like: sum(times) / len(times) for like, times in took.items()
    }
