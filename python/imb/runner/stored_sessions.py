"""Finds sessions in the archive: the one to resume, and the durations of earlier launches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from imb.model.errors import ImbError
from imb.model.notes import note
from imb.runner import ownership, passes
from imb.runner.lock import is_held
from imb.runner.session import FinishedLaunch, Plan, done_files, finished_launches, is_over
from imb.store.reading import UnreadableFile, json_of, names_in, read_json
from imb.store.store import Archive


def find_session(
    archive: Archive,
    name: str | None = None,
    *,
    command: str | None = None,
    campaign: str | None = None,
    ended: bool = False,
    force_owner: bool = False,
) -> Plan:
    """The session that --resume continues: the session whose name begins with `name`, or the newest unfinished session of this user. A session
    is unfinished if it is neither over nor executed by a process; if there is none, the newest session is returned. `command`: its sessions only,
    or None for all commands; `campaign`: sessions of this campaign only; `ended`: sessions that are over count as well, as a larger budget
    continues them.

    Raises ImbError if there is no such session or, without `force_owner`, if another user has or may have written it.
    """
    if name is not None and not name.strip():
        raise ImbError("a name is empty; give a session, or --resume alone for your newest")
    files = _files(archive, name or "")
    if not name and not force_owner:
        own = (plan for plan in _own_plans(reversed(files)) if _is_of(plan, command, campaign))
        if (newest := _newest_unfinished(archive, own, ended=ended)) is None:
            of = f" of campaign {campaign}" if campaign else f" of imb {command}" if command else ""
            raise ImbError(
                f"you have no session{of} in {archive.folder}; start one, or name any session: `imb run --resume SESSION`"
            )
        return find_session(archive, newest.id)
    if not files:
        raise ImbError(
            f"no session {name} in {archive.folder}; `--resume` alone continues your newest"
            if name
            else f"no session in {archive.folder}; start one first"
        )
    if name and len(files) > 1:
        raise ImbError(f"{name} matches {len(files)} sessions; give more of the name")
    try:
        written = ownership.examine_file(files[-1], folder=True)
    except OSError as error:
        raise ImbError(f"cannot read {files[-1]} ({error.strerror})") from error
    plan = _decode(files[-1], written.text)
    if not force_owner:
        ownership.refuse_others(f"session {plan.id}", written, [plan.owner])
    if not _is_of(plan, command, campaign):
        raise ImbError(
            f"session {plan.id} is no session of imb {command}; continue it with `imb run --resume {plan.id}`"
        )
    return plan


def _is_of(plan: Plan, command: str | None, campaign: str | None) -> bool:
    """Whether the session was begun by this command, and by this campaign; None stands for any."""
    began = plan.command or ("campaign" if plan.campaign else "run")
    return command in (None, began) and campaign in (None, plan.campaign)


def _newest_unfinished(archive: Archive, newest_first: Iterable[Plan], *, ended: bool) -> Plan | None:
    """The newest unfinished session, else the newest session; None if there are no sessions."""
    newest: Plan | None = None
    for plan in newest_first:
        newest = newest or plan
        if (ended or not is_over(archive, plan)) and not is_held(archive, plan):
            return plan
    return newest


def set_timeout(plan: Plan, timeout: float | None) -> Plan:
    """The plan with this time limit (seconds) for its launches; None keeps its own limit. Raises ImbError if the planned measurements take
    longer than the limit."""
    if timeout is None:
        return plan
    budget = max((passes.budget_of(item.arguments) or 0.0 for item in plan.items), default=0.0)
    if budget >= timeout:
        raise ImbError(
            f"--timeout {timeout:g}: launches of session {plan.id} measure for {budget:g} s; give a longer limit"
        )
    return msgspec.structs.replace(plan, timeout=timeout)


def command_plans(archive: Archive, command: str) -> Iterator[Plan]:
    """The plans of this user's sessions of a command, oldest first."""
    return (plan for plan in _own_plans(_files(archive)) if plan.command == command)


def _files(archive: Archive, start: str = "") -> list[Path]:
    """The plan files of sessions whose names begin with `start`, oldest first."""
    folder = archive.sessions
    plans = (folder / name / "plan.json" for name in names_in(folder) if name.startswith(start))
    return [plan for plan in plans if not _is_missing(plan)]


def _is_missing(plan: Path) -> bool:
    try:
        plan.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # a folder of another user; the attempt to read it will tell the reason
        pass
    return False


def _own_plans(files: Iterable[Path]) -> Iterator[Plan]:
    """Yields the plans of this user. Does not read plans of other users, which may be anything. Adds a note for a plan that cannot be read."""
    for file in files:
        try:
            written = ownership.examine_file(file, folder=True, own=True)
            if written.strangers or (plan := _decode(file, written.text)).owner not in (None, os.geteuid()):
                continue
        except UnreadableFile as error:
            note(f"{error}; left out")
        except (PermissionError, FileNotFoundError):  # private to another user, or deleted
            pass
        except OSError as error:
            note(f"{UnreadableFile(file, error)}; left out")
        else:
            yield plan


def _decode(file: Path, text: bytes) -> Plan:
    return json_of(file, text, Plan)


def unreadable_files(archive: Archive) -> Iterator[UnreadableFile]:
    """Yields plans and NUMBER.json files that cannot be read, except private ones of other users."""
    for plan in _files(archive):
        if (error := _problem_of(plan, Plan)) and isinstance(error.error, PermissionError):
            continue
        ends = [_problem_of(file, FinishedLaunch) for file in done_files(plan.parent).values()]
        yield from filter(None, [error, *ends])


def _problem_of(file: Path, kind: type[Any]) -> UnreadableFile | None:
    try:
        read_json(file, kind)
    except UnreadableFile as error:
        return error
    return None


def expected_seconds(archive: Archive, plan: Plan) -> dict[tuple[object, ...], float]:
    """`Item.work_key` -> seconds that such launches took in earlier sessions of this user's campaign. For launches in passes that never ran, the
    most seconds that they may take."""
    most = {item.work_key(): passes.most_seconds(item.arguments) for item in plan.items}
    names = {variant.name: index for index, variant in enumerate(plan.variants)}
    took: dict[tuple[object, ...], list[float]] = {}
    for old in _own_plans(_files(archive)) if plan.campaign else ():
        if old.campaign != plan.campaign:
            continue
        numbered = {item.number: item for item in old.items}
        for number, ended in finished_launches(archive, old).items():
            item = numbered[number]
            name = old.variants[item.variant].name
            if ended.wall is not None and name in names:
                work_key = msgspec.structs.replace(item, variant=names[name]).work_key()
                took.setdefault(work_key, []).append(ended.wall)
    return {work_key: seconds for work_key, seconds in most.items() if seconds is not None} | {
        work_key: sum(times) / len(times) for work_key, times in took.items()
    }
