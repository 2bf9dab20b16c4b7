"""A session: the launches of one `imb run` or campaign. Each launch becomes a run of the archive. An interrupted session can be resumed.

ARCHIVE/sessions/ID/plan.json    the planned launches
    0003.json                    exists when launch 3 is over: its run and how it ended
    0003.part/                   the files of launch 3 while it runs; if its `imb` was killed, --resume stores them
    0003.interrupted             the interrupted runs of launch 3, until it is over
    (other names)                files that its experiment needs
    stopped.json                 why no more launches follow, if the session stopped when decided or grows
    lock, owner.json             the process that executes the session (imb.runner.lock)
    standing.json, setup.log     the variant that is set up, and output of setups and teardowns (imb.runner.setup_teardown)
"""

from __future__ import annotations

import functools
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import msgspec

from imb.model.defaults import RELEVANT
from imb.model.errors import ImbError
from imb.model.intent import Intent
from imb.model.mpis import HOST_OPTIONS, Host
from imb.model.records import Component, End
from imb.model.secrecy import (
    hidden_arguments,
    hidden_command,
    hide_secrets,
    reveal_secrets,
    revealed_arguments,
    revealed_command,
    secret_values,
)
from imb.model.sequential_design import SequentialDesign
from imb.model.suite_arguments import SET_BY_IMB, option_name
from imb.model.text import now
from imb.model.units import count_of
from imb.mpi.allocation import Allocation
from imb.mpi.host import cores
from imb.mpi.installations import Installation, executable, missing_program
from imb.mpi.launchers import Command, launch_command
from imb.runner import passes
from imb.runner.interleave import TURN_LIMIT
from imb.runner.ownership import make_session_folder
from imb.store.durable_files import write_whole
from imb.store.reading import names_in, readable_json
from imb.store.store import Archive

_STOPPED = "stopped.json"
_DONE = re.compile(r"(\d{1,9})\.json", re.ASCII)
_Rest = ParamSpec("_Rest")
_Returned = TypeVar("_Returned")
_Settings = TypeVar("_Settings", bound=msgspec.Struct)


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """How launches are started. `imb run` has one variant, without a name. `setup` and `teardown`: shell commands before and after its
    launches."""

    name: str = ""
    mpi: Installation
    programs: str
    intent: Intent
    setup: list[str] = []
    teardown: list[str] = []


class Item(msgspec.Struct, frozen=True):
    """One launch. `arguments`: IMB's; `turn`: the round, from 1; `variant`: index in the plan; `ranks`: replaces the number in the variant;
    `cell`: the same for launches that measure the same thing with different variants; `repeats`: the number of the launch that it
    replaces (imb.model.repeats); `timeout`: replaces the plan's; `alone`: neither interleaved nor compared with other launches of its
    round and cell, so the MPI is not asked for its transports."""

    number: int
    component: Component
    arguments: list[str]
    turn: int = 1
    variant: int = 0
    ranks: int | None = None
    labels: list[str] = []
    cell: int = 0
    repeats: int | None = None
    timeout: float | None = None
    alone: bool = False

    def work_key(self) -> tuple[object, ...]:
        """A key that is equal for launches that do the same work, and so take about the same time."""
        return self.variant, self.component, *self.arguments, self.ranks


class StoppingRule(msgspec.Struct, frozen=True, kw_only=True):
    """When a session stops: when the comparison of each variant with the first one is decided in every band (by `metric`, with `relevant` as
    the smallest change that matters), after `budget` seconds if that is set, or when all planned launches are over."""

    design: SequentialDesign
    relevant: float = RELEVANT
    metric: str = "time"
    budget: float | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The content of plan.json.

    `campaign`, `seed`, `source`: name, seed and hash of the file of a campaign. `timeout`, `setup_timeout`: time limits in seconds of a
    launch and of a setup or teardown command. `parts`: if above 1, launches of a round with the same cell run interleaved, and each row
    is divided into this many segments (imb.runner.interleave). `until`: when to stop before all launches are over, or None for never
    (imb.experiments.rounds). `turn_limit`: the least time limit of a turn in seconds (imb.runner.interleave). `repeats`: the most
    launches to repeat because the machine was outside its dominant state (imb.experiments.rounds). `jobs`: the number of consecutive
    jobs that execute it, if submitted. `command`: the command whose experiment this is (imb.registry), or None if the session only
    lists its results; `settings`: the options of that command. `grows`: the session plans further launches from earlier ones, so it
    may continue when all launches of the plan are over. `owner`: user id of its author.
    """

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
    until: StoppingRule | None = None
    turn_limit: float = TURN_LIMIT
    repeats: int = 0
    jobs: int = 1
    command: str | None = None
    grows: bool = False
    settings: msgspec.Raw = msgspec.Raw(b"{}")
    owner: int | None = None

    def __post_init__(self) -> None:
        """Raises ValueError if the content is inconsistent, as a file may be; the decoder reports it."""
        if [item.number for item in self.items] != list(range(1, len(self.items) + 1)):
            raise ValueError("launches are not numbered from 1")
        if any(not 0 <= item.variant < len(self.variants) for item in self.items):
            raise ValueError("a launch of a variant that is not there")
        if any(item.repeats is not None and not 0 < item.repeats < item.number for item in self.items):
            raise ValueError("a launch that repeats none before it")

    @property
    def has_setup(self) -> bool:
        """Whether there are commands to set up or tear down."""
        return any(variant.setup or variant.teardown for variant in self.variants)


class FinishedLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """The content of NUMBER.json. `run`: its name, empty if the launch is not stored; `seconds`: duration of the launch; `wall`: duration
    including the work of `imb` around it. If several launches were interleaved, `wall` is the total divided by their number."""

    number: int
    run: str
    outcome: str
    status: int | None = None
    seconds: float | None = None
    wall: float | None = None
    problem: str | None = None
    note: str | None = None

    @property
    def counted_seconds(self) -> float:
        """The seconds that the launch uses of a budget: `wall`, or `seconds` if it outlived its `imb` and so has no `wall`."""
        return self.wall or self.seconds or 0.0


def plan_launches(
    *,
    mpi: Installation,
    programs: Path,
    intent: Intent,
    selection: dict[Component, list[str]],
    arguments: Sequence[str],
    launches: int,
    timeout: float | None,
    labels: Sequence[str],
    sampling: passes.Sampling,
) -> Plan:
    """A plan that launches all components one after another, `launches` times. Raises ImbError."""
    words = {
        component: [
            *names,
            *arguments,
            *passes.sampling_arguments(sampling, component, names, arguments, intent.ranks, timeout=timeout),
        ]
        for component, names in selection.items()
    }
    items = [
        (component, words[component], turn, cell)
        for turn in range(launches)
        for cell, component in enumerate(selection)
    ]
    return plan_of(
        [
            Item(number, component, imb_arguments, turn + 1, labels=list(labels), cell=cell)
            for number, (component, imb_arguments, turn, cell) in enumerate(items, 1)
        ],
        Variant(mpi=mpi, programs=str(programs.absolute()), intent=intent),
        timeout,
    )


def plan_of(items: list[Item], variant: Variant, timeout: float | None) -> Plan:
    """The plan of a new session with one variant. Raises ImbError if its launcher does not support the request."""
    plan = Plan(id=new_id(), created=now(), timeout=timeout, variants=[variant], items=items)
    examine(plan)
    return plan


def growing_plan(
    command: str,
    settings: msgspec.Struct,
    mpi: Installation,
    programs: Path,
    intent: Intent,
    timeout: float | None,
) -> Plan:
    """The plan of a new session without launches. `command` adds launches later, from `settings` and earlier launches."""
    variant = Variant(mpi=mpi, programs=str(programs.absolute()), intent=intent)
    plan = set_settings(plan_of([], variant, timeout), command, settings)
    return msgspec.structs.replace(plan, grows=True)


def set_settings(plan: Plan, command: str, settings: msgspec.Struct | None = None) -> Plan:
    """The plan with this command and its settings."""
    encoded = msgspec.Raw(b"{}" if settings is None else msgspec.json.encode(settings))
    return msgspec.structs.replace(plan, command=command, settings=encoded)


def settings_of(plan: Plan, type_: type[_Settings]) -> _Settings:
    """The options of the plan's command that the plan records. Raises ImbError if they cannot be read as this type."""
    try:
        return msgspec.json.decode(plan.settings, type=type_)
    except msgspec.DecodeError as error:
        raise ImbError(f"session {plan.id}: plan.json: settings: {error}") from error


def new_id() -> str:
    """A new session name; names sort by time."""
    return f"{now().replace(':', '').replace('-', '')}-{secrets.token_hex(3)}"


def new_seed() -> int:
    """A seed for the random order of launches."""
    return secrets.randbelow(2**31)


def examine(plan: Plan) -> None:
    """Raises ImbError if a launcher does not support the request. Programs need not be built yet."""
    for item in {item.work_key(): item for item in plan.items}.values():
        if any(option_name(word) in SET_BY_IMB for word in item.arguments):
            raise ImbError(
                "-json, -input and -turns are set by imb; omit them, and name the benchmarks instead of -input"
            )
        command_of(plan, item, Path())


def stall_limit(plan: Plan, item: Item) -> float | None:
    """Seconds without a record after which a launch is killed, or None if it has a time limit instead."""
    if item.timeout or plan.timeout:
        return None
    batches = launch_batches(plan, plan.items)
    at_once = next((len(batch) for batch in batches if item in batch), 1)
    return passes.stall_limit(item.arguments, at_once)


def waits_for_allocation(intent: Intent) -> bool:
    """Whether the launcher may wait in a queue before it starts anything."""
    return intent.launcher == "srun" and not is_in_job()


def save(archive: Archive, plan: Plan) -> None:
    """Writes the plan without secrets, so that the same user can resume it. Raises ImbError."""
    try:
        make_session_folder(folder_of(archive, plan.id))
        _write_plan(archive, plan)
    except OSError as error:
        raise archive.refusal(error) from error


def _write_plan(archive: Archive, plan: Plan) -> None:
    kept = msgspec.structs.replace(
        plan, owner=os.geteuid(), variants=[_recordable(variant) for variant in plan.variants]
    )
    text = msgspec.json.format(msgspec.json.encode(kept)) + b"\n"
    write_whole(folder_of(archive, plan.id) / "plan.json", text, mode=0o600)


def reporting_archive(
    function: Callable[Concatenate[Archive, _Rest], _Returned],
) -> Callable[Concatenate[Archive, _Rest], _Returned]:
    """A decorator that converts an OSError of a file in the archive, such as a full disk, to an ImbError. Other OSErrors (of a launcher, a
    socket) pass."""

    @functools.wraps(function)
    def wrapped(archive: Archive, /, *arguments: _Rest.args, **options: _Rest.kwargs) -> _Returned:
        try:
            return function(archive, *arguments, **options)
        except OSError as error:
            if not archive.concerns(error):
                raise
            raise archive.refusal(error) from error

    return wrapped


@reporting_archive
def extend(archive: Archive, plan: Plan) -> None:
    """Writes the plan of a session that has more launches now, so it is not over. The caller must own its lock."""
    _write_plan(archive, plan)
    (folder_of(archive, plan.id) / _STOPPED).unlink(missing_ok=True)


def folder_of(archive: Archive, session: str) -> Path:
    """The folder of a session's files."""
    return archive.sessions / session


def spool_of(archive: Archive, plan: Plan, item: Item) -> Path:
    """The folder into which a launch writes while it runs."""
    return folder_of(archive, plan.id) / f"{item.number:04d}.part"


def finished_launches(archive: Archive, plan: Plan) -> dict[int, FinishedLaunch]:
    """Number -> launch, for the launches that are over. An interrupted launch is in the archive but not over. If a file cannot be read, adds a
    note."""
    planned = {item.number for item in plan.items}
    files = done_files(folder_of(archive, plan.id)).items()
    stored = {number: readable_json(file, FinishedLaunch) for number, file in files if number in planned}
    return {number: ended for number, ended in stored.items() if ended and ended.number == number}


def done_file(archive: Archive, plan: Plan, item: Item) -> Path:
    """The file that says how a launch ended; it exists when the launch is over."""
    return folder_of(archive, plan.id) / f"{item.number:04d}.json"


def interrupted_file(archive: Archive, plan: Plan, item: Item) -> Path:
    """The file with the names of the runs of an interrupted launch."""
    return folder_of(archive, plan.id) / f"{item.number:04d}.interrupted"


def interrupted_runs(archive: Archive, plan: Plan, item: Item) -> list[str]:
    """The runs of an interrupted launch, oldest first; empty if the launch is over."""
    file = interrupted_file(archive, plan, item)
    text = file.read_text(errors="replace") if file.exists() else ""
    return list(dict.fromkeys(run for run in text.split() if len(run) == 64 and run.isalnum()))


def stop(archive: Archive, plan: Plan, reason: str) -> None:
    """Records that no more launches follow, even if planned ones are left. The caller must own the session's lock."""
    write_whole(folder_of(archive, plan.id) / _STOPPED, msgspec.json.encode({"reason": reason}) + b"\n")


def is_over(archive: Archive, plan: Plan) -> bool:
    """Whether no more launches follow."""
    if (folder_of(archive, plan.id) / _STOPPED).exists():
        return True
    return not plan.grows and len(finished_launches(archive, plan)) == len(plan.items)


def done_files(folder: Path) -> dict[int, Path]:
    """Number -> NUMBER.json, for the launches that are over in this folder of a session."""
    names = (_DONE.fullmatch(name) for name in names_in(folder))
    return {int(name[1]): folder / name[0] for name in names if name}


class StartError(ImbError):
    """Raised if a launch cannot be started because its program or launcher is missing. It left no files, and other launches may start."""


def program_of(plan: Plan, item: Item) -> Path:
    """The executable of a launch, which may be missing."""
    return executable(Path(plan.variants[item.variant].programs), item.component)


def refuse_missing_programs(plan: Plan, items: Iterable[Item] | None = None) -> None:
    """Raises StartError if the executable of one of these launches is missing; None checks all launches of the plan."""
    for program in {program_of(plan, item): None for item in (plan.items if items is None else items)}:
        if not os.access(program, os.X_OK):
            raise StartError(missing_program(program))


def launch_batches(plan: Plan, todo: Sequence[Item]) -> list[list[Item]]:
    """The launches in order. The launches of an inner list run interleaved."""
    if plan.parts == 1:
        return [[item] for item in todo]
    batches: dict[tuple[int, int, bool, int], list[Item]] = {}
    for item in todo:
        separate = item.number if item.alone else 0
        batches.setdefault((item.turn, item.cell, item.repeats is not None, separate), []).append(item)
    return list(batches.values())


def command_of(
    plan: Plan, item: Item, spool: Path, turns: Sequence[str] = (), *, shown: bool = False
) -> Command:
    """The exact command of a launch that writes into `spool`. `turns`: the result of Conductor.words; `shown`: hides secrets.

    Raises ImbError if a hidden value is not in the environment.
    """
    words = [str(program_of(plan, item)), *item.arguments, *turns, "-json", str(spool / "records.jsonl")]
    variant, intent = plan.variants[item.variant], intent_of(plan, item)
    return _command_on_hosts(
        variant.mpi, remove_secrets(intent) if shown else _restore_secrets(intent), words
    )


def asking_command_of(plan: Plan, item: Item) -> Command | None:
    """The command of a launch like this one that measures nothing and makes the MPI report its transports, or None if the MPI has no
    setting for that."""
    variant, intent = plan.variants[item.variant], _restore_secrets(intent_of(plan, item))
    if not (report := variant.mpi.product.report):
        return None
    intent = msgspec.structs.replace(intent, env={**report, **intent.env})
    return _command_on_hosts(variant.mpi, intent, [str(program_of(plan, item)), "-version"])


def secrets_of(plan: Plan, item: Item) -> set[str]:
    """The secrets that this launch may print and that must not be recorded. Raises ImbError if a hidden value is not in the environment."""
    variant, intent = plan.variants[item.variant], _restore_secrets(intent_of(plan, item))
    commands = (*variant.setup, *variant.teardown)
    return secret_values(os.environ, intent.env, arguments=intent.extra, commands=commands)


def _command_on_hosts(mpi: Installation, intent: Intent, words: Sequence[str]) -> Command:
    """The command for the hosts of the launch: the hosts of the allocation, which may not include this one, or this host."""
    allocation = Allocation.of()
    outside = bool(allocation.hosts) and not {
        socket.gethostname(),
        socket.gethostname().partition(".")[0],
    } & {*allocation.hosts}
    cpus = min(filter(None, (allocation.cpus, None if outside and allocation.cpus else cores())))
    return launch_command(mpi, intent, words, Host(cpus, os.geteuid() == 0, allocation.nodes))


def _recordable(variant: Variant) -> Variant:
    """A variant as it may be recorded."""
    return msgspec.structs.replace(
        variant,
        intent=remove_secrets(variant.intent),
        setup=[hidden_command(command) for command in variant.setup],
        teardown=[hidden_command(command) for command in variant.teardown],
    )


def remove_secrets(intent: Intent) -> Intent:
    """The intent as it may be recorded."""
    return msgspec.structs.replace(intent, env=hide_secrets(intent.env), extra=hidden_arguments(intent.extra))


def _restore_secrets(intent: Intent) -> Intent:
    """The intent with hidden values from the environment, as it is launched. Raises ImbError if one is missing."""
    return msgspec.structs.replace(
        intent, env=reveal_secrets(intent.env), extra=revealed_arguments(intent.extra)
    )


def refuse_without_secrets(plan: Plan, todo: Iterable[Item], *, recorded: bool = False) -> None:
    """Raises ImbError if the environment lacks a hidden value that these launches or their setups need. `recorded`: the plan will be read
    again from its file before it is executed."""
    for index in {item.variant for item in todo}:
        variant = _recordable(plan.variants[index]) if recorded else plan.variants[index]
        _restore_secrets(variant.intent)
        for command in (*variant.setup, *variant.teardown):
            revealed_command(command)


def intent_of(plan: Plan, item: Item) -> Intent:
    """The intent of a launch."""
    intent = plan.variants[item.variant].intent
    return msgspec.structs.replace(intent, ranks=item.ranks) if item.ranks else intent


def is_remote(intent: Intent) -> bool:
    """Whether ranks may be on other hosts, because of the intent, launcher arguments or a scheduler's job."""
    return bool(intent.hosts or intent.ppn or HOST_OPTIONS & set(intent.extra) or is_in_job())


def is_in_job() -> bool:
    """Whether this process is part of a scheduler's job."""
    return bool(Allocation.of().scheduler)


def group_equal_launches(plan: Plan, items: Iterable[Item]) -> list[list[Item]]:
    """Groups of items with the same variant and the same work, in the order of the plan's variants."""
    alike: dict[tuple[object, ...], list[Item]] = {}
    for item in sorted(items, key=lambda item: item.variant):
        alike.setdefault(item.work_key(), []).append(item)
    return list(alike.values())


def measured_amount(archive: Archive, over: FinishedLaunch) -> str:
    """How much a launch measured, as text: rows, failures, defects."""
    end: End | None = None
    rows = failed = 0
    for record in archive.run(over.run).records().records:
        name = type(record).__name__
        rows += name == "Result"
        failed += name == "Failure"
        end = record if isinstance(record, End) else end
    text = count_of(rows, "row") + (f", {failed} not measured" if failed else "")
    return text + (f", {count_of(end.defects, 'defect')}" if end and end.defects else "")


def remaining_seconds(
    plan: Plan, over: Iterable[FinishedLaunch], known: Mapping[tuple[object, ...], float] | None = None
) -> float | None:
    """The expected seconds of the launches that are not over, or None if no duration is known.

    The expected duration of a launch is the mean of finished launches with the same `Item.work_key`; else the value in `known`, by
    that key; else the mean of all finished launches.
    """
    items = {item.number: item for item in plan.items}
    took: dict[tuple[object, ...], list[float]] = {}
    for ended in over:
        item = items.pop(ended.number)
        if ended.wall is not None:
            took.setdefault(item.work_key(), []).append(ended.wall)
    expected = {**(known or {}), **{work_key: sum(times) / len(times) for work_key, times in took.items()}}
    every = [seconds for times in took.values() for seconds in times] or list(expected.values())
    if items and not every:
        return None
    mean = sum(every) / len(every) if every else 0.0
    return sum(expected.get(item.work_key(), mean) for item in items.values())
